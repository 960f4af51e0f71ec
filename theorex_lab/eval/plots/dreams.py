"""Pictures of dreams: strategies as a graph, where a way no longer fits, and both as
sliders change them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import networkx as nx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from theorex_lab.designs.dreams.strategies import (
    EdgeRow,
    Strategy,
    all_edges,
    vectors_of,
)
from theorex_lab.eval.plots import axes
from theorex_lab.search.embed import Embedder
from theorex_lab.store.lab import Lab
from theorex_lab.text.line import one_line

Traces = Mapping[str, Mapping[str, Any]]  # by name, as `lab.dreams.capture` takes them
Way = Sequence[
    tuple[str, str, float]
]  # contexts in words, what a step there gives, cosine with the strategy
Dreamt = tuple[Sequence[Strategy], Sequence[EdgeRow], Way]
_MOST_ROWS = 20
_MOST_STEPS = 14
_WORDS = 52
_KINDS = {
    "goal": "#444444",
    "step": "#56B4E9",
    "step seen again": "#0072B2",
    "done instead": "#E69F00",
    "not to be done": "#D55E00",
}
_PATHS = {
    "memory_traversal": "#009E73",
    "context_jump": "#E69F00",
    "zero_shot": "#8C8C8C",
}


def plot_strategies(
    strategies: Sequence[Strategy],
    edges: Sequence[EdgeRow] = (),
    *,
    ax: Axes | None = None,
) -> Axes:
    """Each strategy as a row of its steps, above them what was done instead and what is
    not to be done; links as arrows.

    edges: as `strategies.all_edges` gives them. The newest 20 are drawn, of each the
    first 14 steps.
    """
    newest = [*strategies][-_MOST_ROWS:]
    ax = axes.new_axes(ax, width=9.0, height=1.4 + 0.36 * max(len(newest), 2))
    graph = nx.DiGraph()
    ids = {strategy.id for strategy in newest}
    for row, strategy in enumerate(newest):
        kinds = [
            "goal",
            *(
                "step seen again" if step.seen > 1 else "step"
                for step in strategy.steps[:_MOST_STEPS]
            ),
        ]
        ways = [
            (strategy.id if not place else f"{strategy.id}.{place - 1}", kind)
            for place, kind in enumerate(kinds)
        ]
        for place, (node, kind) in enumerate(ways):
            graph.add_node(node, at=(place, row), kind=kind)
        nx.add_path(graph, [node for node, _ in ways])
        beside = [(branch.after + 1.5, "done instead") for branch in strategy.branches]
        beside += [(0.5, "not to be done")] * bool(strategy.constraints)
        for number, (after, kind) in enumerate(beside):
            graph.add_node(
                (strategy.id, number), at=(min(after, len(kinds)), row - 0.3), kind=kind
            )
    places = nx.get_node_attributes(graph, "at")
    leads = nx.DiGraph(
        [
            edge[1:3]
            for edge in edges
            if edge.type == "causal" and ids.issuperset(edge[1:3])
        ]
    )
    colours = [_KINDS[kind] for kind in nx.get_node_attributes(graph, "kind").values()]
    nx.draw_networkx_nodes(
        graph,
        places,
        ax=ax,
        node_size=70,
        node_color=colours,
        edgecolors=_KINDS["goal"],
    )
    nx.draw_networkx_edges(
        graph, places, ax=ax, edge_color="#BBBBBB", arrowsize=6, node_size=70
    )
    nx.draw_networkx_edges(
        leads,
        places,
        ax=ax,
        edge_color="#CC79A7",
        connectionstyle="arc3,rad=0.4",
        node_size=70,
    )
    labels = [
        f"{strategy.goal} (v{strategy.version}, {strategy.confidence:.0%})"
        for strategy in newest
    ]
    axes.name_rows(ax, [one_line(words, _WORDS) for words in labels], fontsize=8)
    ax.tick_params(left=False, labelleft=True)
    keys = [axes.key(kind, "o", color=colour) for kind, colour in _KINDS.items()]
    axes.legend_below(
        ax, [*keys, axes.key("leads to", ls="-", color="#CC79A7")], columns=3
    )
    return axes.finish_axes(
        ax,
        title=f"{len(strategies)} strategies",
        hidden=("top", "right", "bottom", "left"),
    )


def plot_way(way: Way, limit: float, *, ax: Axes | None = None) -> Axes:
    """Contexts on a way by what they give, and the threshold of drift as a line."""
    ax = axes.new_axes(ax, height=1.4 + 0.36 * max(len(way), 2))
    ax.barh(
        np.arange(len(way)),
        [cosine for *_, cosine in way],
        color=[_PATHS[path] for _, path, _ in way],
        height=0.6,
    )
    ax.axvline(limit, color="black", ls="--")
    axes.name_rows(ax, [one_line(words, _WORDS) for words, *_ in way], fontsize=8)
    keys = [
        axes.key(path.replace("_", " "), "s", color=colour)
        for path, colour in _PATHS.items()
    ]
    axes.legend_below(ax, keys, columns=3)
    return axes.finish_axes(
        ax,
        xlim=(0, 1),
        xlabel="cosine with the strategy",
        title="Does the strategy still fit?",
    )


def dreamt(
    traces: Traces,
    contexts: Sequence[str],
    merge: float = 0.85,
    drift: float = 0.3,
    embedder: Embedder | None = None,
) -> Dreamt:
    """Strategies, edges and a way: dream of traces in a home of its own, one a night,
    then follow the first context's strategy.

    merge, drift: the settings mergeSimilarity and driftThreshold.
    """
    designs = {"dreams": {"mergeSimilarity": merge, "driftThreshold": drift}}
    with Lab.temporary(embedder=embedder, designs=designs) as lab:
        for trace in traces.values():
            lab.dreams.capture(**trace)
            lab.dreams.dream()
        strategies = lab.dreams.strategies()
        entry = lab.dreams.query(contexts[0]).entry_point
        way: Way = []
        if entry is not None:
            own_texts = [
                entry.text,
                *entry.goals,
                *(step.action for step in entry.steps),
            ]
            cosines = vectors_of(lab.home, own_texts) @ vectors_of(lab.home, contexts).T
            states = [lab.dreams.begin_traversal(entry.id) for _ in contexts]
            paths = [
                lab.dreams.next_step(state, words).path
                for state, words in zip(states, contexts, strict=True)
            ]
            way = [*zip(contexts, paths, cosines.max(0).tolist(), strict=True)]
        return strategies, all_edges(lab.home, strategies), way


def draw_dream(
    strategies: Sequence[Strategy],
    edges: Sequence[EdgeRow],
    way: Way,
    limit: float = 0.3,
) -> Figure:
    """The strategies, and below them the way through the contexts."""
    figure = Figure(figsize=(9, 5 + 0.4 * len(strategies)), layout="constrained")
    above, below = figure.subplots(
        2, height_ratios=(max(len(strategies), 3), max(len(way), 3))
    )
    plot_strategies(strategies, edges, ax=above)
    plot_way(way, limit, ax=below)
    return figure
