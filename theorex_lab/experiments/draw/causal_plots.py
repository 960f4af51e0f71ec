"""Pictures of causal memory: what was tried about an error, how often that helped, what advice makes of it, and for how long."""

import textwrap
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from theorex_lab.clock import MICROSECONDS_PER_DAY, FixedClock
from theorex_lab.designs.causal.advice import advice_from
from theorex_lab.designs.causal.items import CausalSettings, gene_text, runs_of
from theorex_lab.designs.causal.selector import Selection, select_gene
from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.data.logs import load_logs
from theorex_lab.experiments.draw import axes
from theorex_lab.experiments.draw.explorer import Explorer, control, paragraph
from theorex_lab.journal.event import Event
from theorex_lab.lab import Lab
from theorex_lab.memory.evidence import AMOUNTS, EvidenceTable, evidence_view
from theorex_lab.memory.intervals import wilson
from theorex_lab.text.line import one_line

Labs = Mapping[str, Callable[[], Lab]]
HALF_LIVES_DAYS = {"7": 7.0, "30": 30.0, "45": 45.0, "∞": None}  # None: evidence never ages
_MOST_ROWS, _MOST_KEYS, _MOST_GENES, _WORDS, _POINTS, _DRAWS = 14, 8, 6, 44, 60, 100
_GREEN, _RED = "#009E73", "#D55E00"
_STATES = {"tried": "#D9D9D9", "preferred": _GREEN, "banned": _RED}
_ENDS = {"success": ("it then succeeded", _GREEN), "failed": ("it failed again", _RED)}


def filled(name: str) -> Lab:
    """A temporary lab on the day after a recorded log, in which what was tried after failing calls is filled in."""
    logs = load_logs(name)
    lab = Lab.temporary(clock=FixedClock(max(log.events[-1].at for log in logs) + MICROSECONDS_PER_DAY))
    for log in logs:
        lab.journal.append(log.events)
    lab.causal.fill()
    return lab


def closed(lab: Lab) -> list[Event]:
    """The attempts of a home of which it is known what came of them, by time."""
    _ = lab.home.designs  # whose kinds are known from then on
    found = lab.journal.tail(0, kinds=["attempt_closed"])
    return sorted((event for event in found if event.body["gene"]), key=lambda event: event.at)


def commonest(lab: Lab) -> list[str]:
    """The signals under which most was tried. Raises InvalidInput for a home in which no attempt has an outcome."""
    if not (keys := Counter(event.body["signal"]["key"] for event in closed(lab))):
        raise InvalidInput(
            "got a home without an outcome of an attempt; record some, or fill them in: lab.causal.fill()"
        )
    return max(keys, key=keys.__getitem__).split("|")


def _words(lab: Lab) -> dict[str, str]:
    return {gene["id"]: one_line(gene_text(gene), _WORDS) for gene in lab.causal.genes()}


def _where(key: str) -> str:
    """Signals in words: without the one that all have, and errors by four letters of their hash."""
    parts = sorted(part for part in key.split("|") if part != "log_error")
    return ", ".join(
        f"error {part[-8:-4]}" if part.startswith("errsig") else part.partition(":")[2] or part for part in parts
    )


def _tried(lab: Lab) -> Any:
    """The evidence under signals as columns, most runs first: signals, gene, n, successes, last."""
    import pandas as pd

    with lab.home.views.reading(evidence_view(lab.home)) as view:
        cells = view.table.cells("causal/signal:")
    keys = [key.partition(":")[2] for key in cells.keys]
    told = pd.DataFrame({"key": keys, "gene": cells.options, "n": cells.n, "hits": cells.successes, "last": cells.last})
    return told.sort_values(["n", "key", "gene"], ascending=[False, True, True])


def plot_causes(lab: Lab, *, ax: Axes | None = None) -> Axes:
    """One error from left to right: its signals, what was tried about it, and what came of that; the six genes that were tried most.

    The error under whose signals most was tried. A line to an end is as thick as there were attempts.
    """
    ax = axes.new_axes(ax, width=11.0, height=4.5)
    here = [event for event in closed(lab) if event.body["signal"]["key"].split("|") == [*commonest(lab)]]
    told = Counter((event.body["gene"]["id"], event.body["outcome"]["status"]) for event in here)
    genes = [gene for gene, _ in Counter(event.body["gene"]["id"] for event in here).most_common(_MOST_GENES)]
    graph, words, hub = nx.DiGraph(), _words(lab), f"{len(here)} attempts"
    for layer, nodes in enumerate((dict.fromkeys(here[-1].body["signal"]["signals"]), [hub], genes, _ENDS)):
        graph.add_nodes_from(nodes, layer=layer)
        ways = [(node, hub) if layer == 0 else (hub, node) for node in nodes if layer in (0, 2)]
        graph.add_edges_from(ways, width=1, color="#BBBBBB")
    for (gene, status), times in told.items():
        if gene in genes:
            graph.add_edge(gene, status, width=times, color=_ENDS[status][1])
    places = nx.multipartite_layout(graph, subset_key="layer")
    looks = ([*nx.get_edge_attributes(graph, name).values()] for name in ("width", "color"))
    nx.draw_networkx_edges(graph, places, ax=ax, arrows=False, **dict(zip(("width", "edge_color"), looks, strict=True)))
    for node, place in places.items():
        times = sum(number for pair, number in told.items() if node in pair)
        said = f"{_ENDS[node][0] if node in _ENDS else words.get(node, node)}{f' ({times})' if times else ''}"
        box = {"boxstyle": "round", "fc": "white", "ec": "#444444"}
        axes.note(ax, textwrap.fill(one_line(said, 70), 30), tuple(place), ha="center", fontsize=8, bbox=box)
    ax.margins(0.14, 0.12)
    ax.set_axis_off()
    return axes.finish_axes(ax, title="What was there, what was tried, what came of it")


def plot_success(lab: Lab, *, half_life_days: float = 30.0, ax: Axes | None = None) -> Axes:
    """Success of each gene under each signals with its 95 % Wilson interval, and beside it what is expected of it today.

    The fourteen pairs that were tried most. What is expected: (successes + 1) / (runs + 2), half for each half-life since.
    """
    rows, words = _tried(lab)[:_MOST_ROWS], _words(lab)
    ax, places = axes.new_axes(ax, width=10.0, height=1.8 + 0.34 * len(rows)), np.arange(len(rows))
    age = (lab.home.clock.now() - rows["last"]) / MICROSECONDS_PER_DAY
    bounds = wilson(rows["hits"], rows["n"])
    axes.draw_interval(
        ax, rows["hits"] / rows["n"], places, *bounds, level=True, fmt="o", color=axes.colour_of(0), label="observed"
    )
    today = (rows["hits"] + 1) / (rows["n"] + 2) * 0.5 ** (age / half_life_days)
    ax.plot(today, places, "X", color=_RED, ms=8, ls="", label="expected today")
    names = [one_line(f"{_where(row.key)}: {words.get(row.gene, row.gene)}", 78) for row in rows.itertuples()]
    axes.name_rows(ax, [f"{name} ({runs:.0f})" for name, runs in zip(names, rows["n"], strict=True)], fontsize=8)
    axes.legend_below(ax)
    return axes.finish_axes(
        ax, xlim=(-0.03, 1.03), xlabel="success (runs in brackets)", title="What helped, and how sure that is"
    )


def plot_bans(lab: Lab, *, ax: Axes | None = None) -> Axes:
    """Signals by genes: the one that advice prefers, those that it bans, those that were tried; white: nothing is known there.

    In a cell successes of runs. The eight signals and fourteen genes that were tried most.
    """
    tried, words = _tried(lab), _words(lab)
    keys, genes = (tried[name].unique().tolist()[:most] for name, most in (("key", _MOST_KEYS), ("gene", _MOST_ROWS)))
    values, texts = np.full((len(keys), len(genes)), np.nan), np.full((len(keys), len(genes)), "", dtype=object)
    for one in tried[tried["key"].isin(keys) & tried["gene"].isin(genes)].itertuples():
        place = keys.index(one.key), genes.index(one.gene)
        values[place], texts[place] = 0, f"{one.hits:.0f}/{one.n:.0f}"
    for row, key in enumerate(keys):
        advice = lab.causal.get_advice(key.split("|"), genes)
        for state, chosen in enumerate(([advice.preferred_gene_id], advice.banned_gene_ids), start=1):
            values[row, [genes.index(gene) for gene in chosen if gene]] = state
    ax = axes.new_axes(ax, width=10.0, height=2.6 + 0.4 * len(keys))
    rows, columns = (
        [one_line(_where(key), _WORDS) for key in keys],
        [one_line(words.get(gene, gene), 30) for gene in genes],
    )
    cmap = ListedColormap([*_STATES.values()])
    axes.heat_map(ax, values, texts, rows=rows, columns=columns, cmap=cmap, vmin=-0.5, vmax=2.5)
    ax.tick_params(axis="x", top=True, labeltop=True, bottom=False, labelbottom=False, labelsize=8)
    for label in ax.get_xticklabels():
        label.set(rotation=35, ha="left", rotation_mode="anchor")
    axes.legend_below(ax, [axes.key(state, "s", color=colour) for state, colour in _STATES.items()], columns=3)
    return axes.finish_axes(ax, title="Preferred, banned, unknown")


class Followed(NamedTuple):
    """Advice over time. times: µs.  scores: by gene, at each time.  preferred: the gene at each time, None where nothing is known."""

    times: list[int]
    scores: dict[str, list[float]]
    preferred: list[str | None]

    @property
    def changes(self) -> int:
        """How often another gene came to be preferred."""
        return sum(one != other for one, other in pairwise(filter(None, self.preferred)))


def followed(lab: Lab, half_life_days: float | None) -> Followed:
    """What advice for the commonest signals would have been at 60 times until now, had evidence this half-life (None: never ages)."""
    waiting, signals, table = closed(lab), commonest(lab), EvidenceTable()
    genes = [*dict.fromkeys(event.body["gene"]["id"] for event in waiting)]
    settings = CausalSettings(edge_half_life_days=half_life_days, gene_half_life_days=half_life_days)
    times = np.linspace(waiting[0].at, lab.home.clock.now(), _POINTS).astype(np.int64).tolist()
    said = []
    for at in times:
        while waiting and waiting[0].at <= at:
            event = waiting.pop(0)
            for key, option, success, *amounts in runs_of(event):
                table.add(f"causal/{key}", option, success, at=event.at, **dict(zip(AMOUNTS, amounts, strict=True)))
        said.append(advice_from(table, signals, genes, settings, at))
    scores = {gene: [advice.scores[gene] for advice in said] for gene in genes}
    return Followed(times, scores, [advice.preferred_gene_id for advice in said])


def draw_half_life(lab: Lab, half_life_days: float | None) -> Figure:
    """Scores of the six genes that were preferred most often, and below them a band of which one was."""
    figure, story, words = Figure(figsize=(9, 5.2), layout="constrained"), followed(lab, half_life_days), _words(lab)
    ax, days = figure.add_subplot(), (np.array(story.times) - story.times[0]) / MICROSECONDS_PER_DAY
    for number, (gene, _) in enumerate(Counter(filter(None, story.preferred)).most_common(_MOST_GENES)):
        colour, own = axes.colour_of(number), days[[gene == one for one in story.preferred]]
        ax.plot(days, story.scores[gene], color=colour, label=words.get(gene, gene))
        ax.plot(own, np.full(len(own), -0.06), "s", color=colour, ms=6)
    axes.legend_below(ax, columns=2)
    labels = {
        "xlabel": "days (squares: which one is preferred)",
        "ylabel": "score",
        "title": "What advice would have said",
    }
    axes.finish_axes(ax, ylim=(-0.12, 1.12), **labels)
    return figure


def half_life_explorer(labs: Labs) -> Any:
    """A slider of half-lives over `draw_half_life`; returns an ipywidgets VBox. Raises InvalidInput for no lab."""
    explorer: Explorer[Lab] = Explorer(labs, "a lab")
    slider = control("SelectionSlider", "Half-life (days)", options=[*HALF_LIVES_DAYS], value="30")

    def drawn(lab: Lab) -> tuple[str, Figure]:
        story = followed(lab, HALF_LIVES_DAYS[slider.value])
        told = f"{len({*story.preferred} - {None})} genes were preferred, the choice changed {story.changes} times"
        return paragraph(f"half-life {slider.value}: {told}"), draw_half_life(lab, HALF_LIVES_DAYS[slider.value])

    return explorer.box([slider], lambda _=None: explorer.show(drawn))


def choices(lab: Lab, genes: int, drift: bool) -> list[Selection]:
    """What is chosen for the commonest signals by 100 seeds among so many of the genes that are known."""
    pool, signals = lab.causal.genes()[:genes], commonest(lab)
    return [select_gene(lab.home, signals, pool, drift_enabled=drift, seed=seed) for seed in range(_DRAWS)]


def draw_choices(lab: Lab, found: Sequence[Selection]) -> Figure:
    """How often each gene was chosen, none at times; `found`: as `choices` gives it."""
    times = Counter(one.selected["id"] for one in found if one.selected).most_common(_MOST_ROWS)
    banned, words = lab.causal.get_advice(commonest(lab), [gene for gene, _ in times]).banned_gene_ids, _words(lab)
    figure = Figure(figsize=(9, 1.6 + 0.34 * max(len(times), 3)), layout="constrained")
    ax, colours = figure.add_subplot(), [_RED if gene in banned else _GREEN for gene, _ in times]
    ax.barh(range(len(times)), [number / len(found) for _, number in times], color=colours)
    axes.name_rows(ax, [words[gene] for gene, _ in times], fontsize=8)
    axes.legend_below(
        ax, [axes.key("may be tried", "s", color=_GREEN), axes.key("banned without drift", "s", color=_RED)]
    )
    axes.finish_axes(
        ax, xlim=(0, 1), xlabel=f"share of {len(found)} choices", title=f"Intensity of drift: {found[0].intensity:.2f}"
    )
    return figure


def drift_explorer(labs: Labs) -> Any:
    """How many genes there are and whether drift is on, over `draw_choices`; returns a VBox. Raises InvalidInput for no lab."""
    explorer: Explorer[Lab] = Explorer(labs, "a lab")
    slider = control("IntSlider", "Genes to choose among", value=5, min=1, max=60)
    drift = control("Checkbox", "Drift is on", value=False)

    def drawn(lab: Lab) -> tuple[str, Figure]:
        found = choices(lab, slider.value, drift.value)
        chosen = {one.selected["id"] for one in found if one.selected}
        return paragraph(f"intensity {found[0].intensity:.2f}: {len(chosen)} genes are chosen"), draw_choices(
            lab, found
        )

    return explorer.box([slider, drift], lambda _=None: explorer.show(drawn))
