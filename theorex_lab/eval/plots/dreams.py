"""Draw dreams: strategies as a graph, and where a way no longer fits.

Sliders change both.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import networkx as nx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from theorex_lab.core.settings import Settings
from theorex_lab.designs.dreams.strategies import Strategy, all_edges, vectors_of
from theorex_lab.designs.dreams.strategy_view import EdgeRow
from theorex_lab.eval.plots import axes
from theorex_lab.eval.replay.repeated_vectors import repeating_model
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
    """Draw each strategy as a row of its steps; links are arrows.

    Above the steps stands what was done instead, and what is not to be done. The newest
    20 strategies are drawn, of each the first 14 steps.

    Args:
        strategies: The strategies, the newest last.
        edges: The links, as `designs.dreams.strategies.all_edges` gives them.
        ax: Where it is drawn; a new figure by default.
    """
    newest = [*strategies][-_MOST_ROWS:]
    ax = axes.new_axes(
        ax,
        width=9.0,
        height=1.4 + 0.36 * max(len(newest), 2),
    )
    graph = nx.DiGraph()
    for row, strategy in enumerate(newest):
        _add_row(graph, strategy, row)
    ids = {strategy.id for strategy in newest}
    links = [
        edge[1:3]
        for edge in edges
        if edge.type == "causal" and ids.issuperset(edge[1:3])
    ]
    positions = nx.get_node_attributes(graph, "at")
    colours = [_KINDS[kind] for kind in nx.get_node_attributes(graph, "kind").values()]
    nx.draw_networkx_nodes(
        graph,
        positions,
        ax=ax,
        node_size=70,
        node_color=colours,
        edgecolors=_KINDS["goal"],
    )
    nx.draw_networkx_edges(
        graph, positions, ax=ax, edge_color="#BBBBBB", arrowsize=6, node_size=70
    )
    nx.draw_networkx_edges(
        nx.DiGraph(links),
        positions,
        ax=ax,
        edge_color="#CC79A7",
        connectionstyle="arc3,rad=0.4",
        node_size=70,
    )
    labels = [
        f"{strategy.goal} (v{strategy.version}, {strategy.confidence:.0%})"
        for strategy in newest
    ]
    axes.name_rows(
        ax,
        [one_line(label, _WORDS) for label in labels],
        fontsize=8,
    )
    ax.tick_params(left=False, labelleft=True)
    keys = [axes.key(kind, "o", color=colour) for kind, colour in _KINDS.items()]
    link_key = axes.key("leads to", ls="-", color="#CC79A7")
    axes.legend_below(ax, [*keys, link_key], columns=3)
    return axes.finish_axes(
        ax,
        title=f"{len(strategies)} strategies",
        hidden=("top", "right", "bottom", "left"),
    )


def _add_row(
    graph: nx.DiGraph,
    strategy: Strategy,
    row: int,
) -> None:
    """Add the nodes of a strategy to a graph: goal, steps, and what stands above.

    Each node has the attributes `at` (its position) and `kind` (of _KINDS).
    """
    graph.add_node(strategy.id, at=(0, row), kind="goal")
    path = [strategy.id]
    for number, step in enumerate(strategy.steps[:_MOST_STEPS]):
        node = f"{strategy.id}.{number}"
        kind = "step seen again" if step.seen > 1 else "step"
        graph.add_node(
            node,
            at=(number + 1, row),
            kind=kind,
        )
        path.append(node)
    nx.add_path(graph, path)
    above = [(branch.after + 1.5, "done instead") for branch in strategy.branches]
    if strategy.constraints:
        above.append((0.5, "not to be done"))
    for number, (after, kind) in enumerate(above):
        column = min(after, len(path))
        graph.add_node(
            (strategy.id, number),
            at=(column, row - 0.3),
            kind=kind,
        )


def plot_way(
    way: Way,
    limit: float,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw contexts on a way by what they give."""
    ax = axes.new_axes(ax, height=1.4 + 0.36 * max(len(way), 2))
    ax.barh(
        np.arange(len(way)),
        [cosine for *_, cosine in way],
        color=[_PATHS[path] for _, path, _ in way],
        height=0.6,
    )
    ax.axvline(limit, color="black", ls="--")
    axes.name_rows(
        ax,
        [one_line(words, _WORDS) for words, *_ in way],
        fontsize=8,
    )
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
    *,
    embedder: Embedder | None = None,
) -> Dreamt:
    """Return strategies, edges and a way, out of traces.

    The traces are dreamt of in a home of its own, one a day; then the strategy for the
    first context is followed.

    Args:
        traces: The traces, by name.
        contexts: What is met at each step of the way.
        merge: The setting mergeSimilarity.
        drift: The setting driftThreshold.
        embedder: The one that compares; the best that there is by default. The bundled
            model computes the same call once in a process.
    """
    designs = {"dreams": {"mergeSimilarity": merge, "driftThreshold": drift}}
    model = embedder or repeating_model(Settings())
    with Lab.temporary(embedder=model, designs=designs) as lab:
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
    """Draw the strategies, and below them the way through the contexts."""
    figure = Figure(figsize=(9, 5 + 0.4 * len(strategies)), layout="constrained")
    above, below = figure.subplots(
        2, height_ratios=(max(len(strategies), 3), max(len(way), 3))
    )
    plot_strategies(strategies, edges, ax=above)
    plot_way(way, limit, ax=below)
    return figure
