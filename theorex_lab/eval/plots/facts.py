"""Pictures of facts: the graph of entities and replacements, and the growth of tokens."""

from collections.abc import Sequence

import networkx as nx
from matplotlib.axes import Axes

from theorex_lab.core.clock import to_iso
from theorex_lab.designs.facts.facts import Fact
from theorex_lab.designs.facts.settings import FactSettings
from theorex_lab.designs.facts.summaries import tier
from theorex_lab.eval.plots import axes
from theorex_lab.eval.plots.axes import TIER_COLOURS
from theorex_lab.eval.replay.token_growth import TokenGrowth

# Tiers are told apart by shade as well as by colour.
_TIERS = ("hot", "warm", "cold", "superseded")
COLOURS = {
    name: TIER_COLOURS[level]
    for name, level in zip(_TIERS, ("ACTIVE", "MILD", "LESS", "NEUTRAL"), strict=True)
}
_MOST = 40
_LINE_STYLES = ("-", "--", ":")


def _state(fact: Fact, now: int) -> str:
    ended = fact.superseded_at is not None and fact.superseded_at <= now
    return "superseded" if ended else tier(fact, now, FactSettings())


def _keys(marker: str) -> list[object]:
    return [axes.key(name, marker, color=colour) for name, colour in COLOURS.items()]


def plot_fact_graph(
    facts: Sequence[Fact], now: int, *, seed: int = 0, ax: Axes | None = None
) -> Axes:
    """Draw entities as squares and their newest facts as circles, coloured by tier.

    An arrow leads from a fact to the one in whose place it stands; at most 40 facts are
    drawn.

    Args:
        facts: The facts.
        now: The time at which tiers are looked at, µs UTC.
        seed: Draws the layout.
        ax: Where it is drawn; a new figure by default.
    """
    ax = axes.new_axes(ax, width=9.0, height=6.0)
    newest = sorted(facts, key=lambda fact: fact.at)[-_MOST:]
    if not newest:
        return axes.say(ax, "No facts yet")
    entities = list(dict.fromkeys(fact.entity for fact in newest))
    graph = nx.Graph([(fact.entity, fact.id) for fact in newest])
    replaced = _replacements(newest)
    positions = nx.spring_layout(
        nx.compose(graph, replaced.to_undirected()),
        seed=seed,
        k=1.6 / len(graph) ** 0.5,
    )
    nx.draw_networkx_edges(graph, positions, ax=ax, edge_color="#D0D0D0")
    nx.draw_networkx_edges(replaced, positions, ax=ax, node_size=180)
    nx.draw_networkx_nodes(
        graph,
        positions,
        entities,
        node_shape="s",
        node_color="#444444",
        node_size=90,
        ax=ax,
    )
    look = {
        "node_color": [COLOURS[_state(fact, now)] for fact in newest],
        "edgecolors": "#444444",
        "node_size": 150,
    }
    fact_ids = [fact.id for fact in newest]
    nx.draw_networkx_nodes(graph, positions, fact_ids, ax=ax, **look)
    clear = {
        "fc": "white",
        "ec": "none",
        "alpha": 0.7,
        "pad": 0,
    }
    for entity in entities:
        position = tuple(positions[entity])
        axes.note(
            ax,
            entity,
            position,
            above=7,
            weight="bold",
            bbox=clear,
        )
    ax.margins(0.12)
    entity_key = axes.key("entity", "s", color="#444444")
    arrow_key = axes.key("stands in the place of", ls="-", color="black")
    axes.legend_below(
        ax,
        [entity_key, *_keys("o"), arrow_key],
        columns=6,
    )
    ax.set_axis_off()
    return axes.finish_axes(
        ax, title=f"{len(newest)} facts of {len(entities)} entities, {to_iso(now)[:10]}"
    )


def _replacements(facts: Sequence[Fact]) -> nx.DiGraph:
    """Return the graph of arrows from each fact to those that it replaced."""
    ids = {fact.id for fact in facts}
    graph = nx.DiGraph()
    for fact in facts:
        for replaced_id in fact.supersedes:
            if replaced_id in ids:
                graph.add_edge(fact.id, replaced_id)
    return graph


def plot_token_growth(growth: TokenGrowth, *, ax: Axes | None = None) -> Axes:
    """Draw what a session's start costs over the days: notes, pages and a query.

    Args:
        growth: The measurements.
        ax: Where it is drawn; a new figure by default.
    """
    ax = axes.new_axes(ax, width=8.0, height=4.5)
    days = [point.n_days for point in growth.points]
    curves = {
        "all daily notes": [point.notes for point in growth.points],
        "pages of all entities": [point.summaries for point in growth.points],
        "answer to a query": [point.query for point in growth.points],
    }
    for (label, values), style in zip(curves.items(), _LINE_STYLES, strict=True):
        ax.plot(days, values, style, label=label)
    ax.set_yscale("symlog", linthresh=100)
    ax.set_xlabel("days since the log begins")
    ax.set_ylabel("tokens")
    ax.legend()
    return ax
