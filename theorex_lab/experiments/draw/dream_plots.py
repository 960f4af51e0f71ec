"""Pictures of dreams: what was done and what was made of it as a graph, row by row; what survives; where a way no longer fits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import networkx as nx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from theorex_lab.designs.dreams.strategies import EdgeRow, Strategy
from theorex_lab.experiments.draw import axes
from theorex_lab.text.line import one_line

_MOST_ROWS, _MOST_STEPS, _WORDS = 20, 14, 46
_KINDS = {
    "goal": "#444444",
    "step": "#56B4E9",
    "step seen again": "#0072B2",
    "done instead": "#E69F00",
    "not to be done": "#D55E00",
}
_PATHS = {"memory_traversal": "#009E73", "context_jump": "#E69F00", "zero_shot": "#8C8C8C"}
_KEPT = {"found": "past goals that find their strategy in the first three", "readable": "past steps that can be read"}


def plot_strategies(strategies: Sequence[Strategy], edges: Sequence[EdgeRow] = (), *, ax: Axes | None = None) -> Axes:
    """Each strategy as a row of its steps, above them what was done instead and what is not to be done; links as arrows.

    edges: as `strategies.all_edges` gives them. The newest 20 are drawn, of each the first 14 steps.
    """
    shown = [*strategies][-_MOST_ROWS:]
    ax = axes.new_axes(ax, width=9.0, height=1.4 + 0.36 * max(len(shown), 2))
    graph, ids = nx.DiGraph(), {one.id for one in shown}
    for row, one in enumerate(shown):
        kinds = ["goal", *("step seen again" if step.count > 1 else "step" for step in one.steps[:_MOST_STEPS])]
        ways = [(one.id if not place else f"{one.id}.{place - 1}", kind) for place, kind in enumerate(kinds)]
        for place, (node, kind) in enumerate(ways):
            graph.add_node(node, at=(place, row), kind=kind)
        nx.add_path(graph, [node for node, _ in ways])
        beside = [(branch.after + 1.5, "done instead") for branch in one.branches] + [(0.5, "not to be done")] * bool(
            one.constraints
        )
        for number, (place, kind) in enumerate(beside):
            graph.add_node((one.id, number), at=(min(place, len(kinds)), row - 0.3), kind=kind)
    places, links = (
        nx.get_node_attributes(graph, "at"),
        [(edge.source, edge.target) for edge in edges if edge.type == "causal"],
    )
    leads = nx.DiGraph([link for link in links if ids.issuperset(link)])
    colours = [_KINDS[kind] for kind in nx.get_node_attributes(graph, "kind").values()]
    nx.draw_networkx_nodes(graph, places, ax=ax, node_size=70, node_color=colours, edgecolors=_KINDS["goal"])
    nx.draw_networkx_edges(graph, places, ax=ax, edge_color="#BBBBBB", arrowsize=6, node_size=70)
    nx.draw_networkx_edges(leads, places, ax=ax, edge_color="#CC79A7", connectionstyle="arc3,rad=0.4", node_size=70)
    axes.name_rows(
        ax, [one_line(f"{one.goal} (v{one.version}, {one.confidence:.0%})", _WORDS) for one in shown], fontsize=8
    )
    ax.tick_params(left=False, labelleft=True)
    keys = [axes.key(kind, "o", color=colour) for kind, colour in _KINDS.items()]
    axes.legend_below(ax, [*keys, axes.key("leads to", ls="-", color="#CC79A7")], columns=6)
    return axes.finish_axes(ax, title=f"{len(strategies)} strategies", hidden=("top", "right", "bottom", "left"))


def plot_kept(cycles: Any, *, ax: Axes | None = None) -> Axes:
    """What `dream_tests.survivors` found, cycle by cycle: goals that find their strategy and steps that can be read."""
    ax, number = axes.new_axes(ax), axes.columns_of(cycles, "cycle")[0]
    for place, (name, label) in enumerate(_KEPT.items()):
        ax.plot(number, axes.columns_of(cycles, name)[0], label=label, **axes.look_of(place))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend_below(ax, columns=1)
    return axes.finish_axes(ax, xlabel="cycles of dreams", ylabel="share", ylim=(0, 1.05), title="What survives dreams")


def plot_way(way: Sequence[tuple[str, str, float]], limit: float, *, ax: Axes | None = None) -> Axes:
    """Contexts on a way as (words, path, cosine with the strategy), by path, and the threshold of drift as a line."""
    ax = axes.new_axes(ax, height=1.4 + 0.36 * max(len(way), 2))
    ax.barh(np.arange(len(way)), [cosine for *_, cosine in way], color=[_PATHS[path] for _, path, _ in way], height=0.6)
    ax.axvline(limit, color="black", ls="--")
    axes.name_rows(ax, [one_line(words, _WORDS) for words, *_ in way], fontsize=8)
    axes.legend_below(
        ax, [axes.key(path.replace("_", " "), "s", color=colour) for path, colour in _PATHS.items()], columns=3
    )
    return axes.finish_axes(
        ax, xlim=(min(0.0, limit), 1), xlabel="cosine with the strategy", title="Does the strategy still fit?"
    )
