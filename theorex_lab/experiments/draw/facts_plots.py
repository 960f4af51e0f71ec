"""Pictures of facts: the graph of entities, chains of what replaced what, beliefs, and growth."""

from collections.abc import Sequence

import networkx as nx
from matplotlib.axes import Axes

from theorex_lab.clock import to_iso
from theorex_lab.designs.facts.facts import Fact
from theorex_lab.designs.facts.items import FactSettings
from theorex_lab.designs.facts.summaries import tier
from theorex_lab.experiments.draw import axes
from theorex_lab.experiments.draw.axes import TIER_COLOURS
from theorex_lab.experiments.scores.growth import DOCUMENT, Growth

# Tiers are told apart by shade as well as by colour.
_TIERS = ("hot", "warm", "cold", "superseded")
COLOURS = {name: TIER_COLOURS[level] for name, level in zip(_TIERS, ("ACTIVE", "MILD", "LESS", "NEUTRAL"), strict=True)}
_GREY, _MOST = "#7F7F7F", 40
_CURVES = {
    "notes": "all daily notes", "summaries": "summaries of all entities", "query": "one query of at most 600 tokens"}  # fmt: skip


def _state(fact: Fact, now: int) -> str:
    ended = fact.superseded_at is not None and fact.superseded_at <= now
    return "superseded" if ended else tier(fact, now, FactSettings())


def _keys(marker: str) -> list[object]:
    return [axes.key(name, marker, color=colour) for name, colour in COLOURS.items()]


def plot_fact_graph(facts: Sequence[Fact], now: int, *, seed: int = 0, ax: Axes | None = None) -> Axes:
    """Entities as squares and their newest facts as circles, coloured by tier at `now` (µs UTC).

    An arrow leads from a fact to the one in whose place it stands; at most 40 facts are drawn.
    """
    ax = axes.new_axes(ax, width=9.0, height=6.0)
    shown = sorted(facts, key=lambda fact: fact.at)[-_MOST:]
    if not shown:
        return axes.say(ax, "No facts yet")
    entities, ids = list(dict.fromkeys(fact.entity for fact in shown)), {fact.id for fact in shown}
    replaced = nx.DiGraph([(fact.id, old) for fact in shown for old in fact.supersedes if old in ids])
    graph = nx.Graph([(fact.entity, fact.id) for fact in shown])
    places = nx.spring_layout(nx.compose(graph, replaced.to_undirected()), seed=seed, k=1.6 / len(graph) ** 0.5)
    nx.draw_networkx_edges(graph, places, ax=ax, edge_color="#D0D0D0")
    nx.draw_networkx_edges(replaced, places, ax=ax, node_size=180)
    nx.draw_networkx_nodes(graph, places, entities, node_shape="s", node_color="#444444", node_size=90, ax=ax)
    look = {"node_color": [COLOURS[_state(fact, now)] for fact in shown], "edgecolors": "#444444", "node_size": 150}
    nx.draw_networkx_nodes(graph, places, [fact.id for fact in shown], ax=ax, **look)
    clear = {"fc": "white", "ec": "none", "alpha": 0.7, "pad": 0}
    for entity in entities:
        axes.note(ax, entity, tuple(places[entity]), above=7, weight="bold", bbox=clear)
    ax.margins(0.12)
    arrow = axes.key("stands in the place of", ls="-", color="black")
    axes.legend_below(ax, [axes.key("entity", "s", color="#444444"), *_keys("o"), arrow], columns=6)
    ax.set_axis_off()
    return axes.finish_axes(ax, title=f"{len(shown)} facts of {len(entities)} entities, {to_iso(now)[:10]}")


def plot_growth(growth: Growth, ax: Axes | None = None) -> Axes:
    """Tokens at a session's start, day by day, in three ways, beside the document's figures (crosses); a log scale."""

    ax, frame = axes.new_axes(ax, width=9.0), growth.frame

    for number, (name, label) in enumerate(_CURVES.items()):
        ax.plot(frame["day"], frame[name].where(frame[name] > 0), color=axes.colour_of(number), label=label)
        ax.plot(DOCUMENT["day"], DOCUMENT[name], "X", color=axes.colour_of(number), ms=9)
    handles = [*ax.get_legend_handles_labels()[0], axes.key("the document's figure", "X", color="#444444")]
    if growth.own_days < len(frame):
        ax.axvspan(growth.own_days, len(frame), color="#EEEEEE", zorder=0)
        axes.note(ax, "the log's days\nagain, word for word", (growth.own_days + 2, 4 * DOCUMENT["query"]), fontsize=8)
    ax.set_yscale("log")
    axes.legend_below(ax, handles, columns=2)
    title = f"{growth.dataset}: what a session's start costs"
    return axes.finish_axes(ax, xlabel="days", ylabel="tokens at a session's start", title=title)
