"""Dreams to try out: what merging makes of the same traces, and where a way no longer fits, by two sliders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from matplotlib.figure import Figure

from theorex_lab.designs.dreams.strategies import EdgeRow, Strategy, all_edges, vectors_of
from theorex_lab.experiments.draw.dream_plots import plot_strategies, plot_way
from theorex_lab.experiments.draw.explorer import Explorer, control, paragraph
from theorex_lab.lab import Lab
from theorex_lab.search.embed import Embedder

Traces = Mapping[str, Mapping[str, Any]]  # by name, as `lab.dreams.capture` takes them


class Dreamt(NamedTuple):
    """What traces became, and a way through contexts: each with its words, path and cosine with the first one's strategy."""

    strategies: Sequence[Strategy]
    edges: Sequence[EdgeRow]
    way: Sequence[tuple[str, str, float]]
    drift: float


def dreamt(
    traces: Traces, contexts: Sequence[str], merge: float = 0.85, drift: float = 0.3, embedder: Embedder | None = None
) -> Dreamt:
    """Dream of traces in a home of its own, one a night, then follow the strategy for the first context through all of them.

    merge, drift: the settings mergeSimilarity and driftThreshold.
    """
    own = {"dreams": {"mergeSimilarity": merge, "driftThreshold": drift}}
    with Lab.temporary(embedder=embedder, designs=own) as lab:
        for trace in traces.values():
            lab.dreams.capture(**trace)
            lab.dreams.dream()
        found, entry = lab.dreams.strategies(), lab.dreams.query(contexts[0]).entry
        way: list[tuple[str, str, float]] = []
        if entry is not None:
            own_texts = [entry.text, *entry.goals, *(step.action for step in entry.steps)]
            cosines = vectors_of(lab.home, own_texts) @ vectors_of(lab.home, contexts).T
            states = [lab.dreams.begin_traversal(entry.id) for _ in contexts]
            paths = [lab.dreams.next_step(state, words).path for state, words in zip(states, contexts, strict=True)]
            way = [*zip(contexts, paths, cosines.max(0).tolist(), strict=True)]
        return Dreamt(found, all_edges(lab.home, found), way, drift)


def draw_dream(found: Dreamt) -> Figure:
    """The strategies, and below them the way through the contexts."""
    figure = Figure(figsize=(9, 5 + 0.4 * len(found.strategies)), layout="constrained")
    above, below = figure.subplots(2, height_ratios=(max(len(found.strategies), 3), max(len(found.way), 3)))
    plot_strategies(found.strategies, found.edges, ax=above)
    plot_way(found.way, found.drift, ax=below)
    return figure


def dream_explorer(sources: Mapping[str, Traces], contexts: Sequence[str]) -> Any:
    """Sliders for mergeSimilarity and driftThreshold over `draw_dream`; returns an ipywidgets VBox. Raises InvalidInput for no source."""
    explorer: Explorer[Traces] = Explorer({name: partial(dict, traces) for name, traces in sources.items()}, "traces")
    merge = control("FloatSlider", "Merge from a cosine of", value=0.85, min=0.3, max=1.0, step=0.05)
    drift = control("FloatSlider", "Drift below a cosine of", value=0.3, min=0.0, max=1.0, step=0.05)

    def drawn(traces: Traces) -> tuple[str, Figure]:
        found = dreamt(traces, contexts, merge.value, drift.value)
        jumps = sum(path == "context_jump" for _, path, _ in found.way)
        told = (
            f"{len(traces)} traces became {len(found.strategies)} strategies; {jumps} of {len(contexts)} contexts jump"
        )
        return paragraph(told), draw_dream(found)

    explorer.source.description = "Traces"
    return explorer.box([merge, drift], lambda _=None: explorer.show(drawn))
