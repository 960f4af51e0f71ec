"""Pictures of search: what each method finds."""

from typing import Any

from matplotlib.axes import Axes

from theorex_lab.experiments.draw import axes
from theorex_lab.memory.intervals import bootstrap_means


def plot_recall(score: Any, *, ax: Axes | None = None) -> Axes:
    """Recall against how many texts come back, a line a method; `score` is a Retrieval, or a table like its frame.

    Of a Retrieval each point has its 95 % interval over questions.
    """
    depths = (5, 10, 25, 50)
    table = axes.frame_of(score, *(f"recall@{depth}" for depth in depths))
    ax, scores = axes.new_axes(ax), getattr(score, "scores", {})
    if table.empty:
        return axes.say(ax, "nothing was scored yet")
    for number, (method, row) in enumerate(table.iterrows()):
        found = [row[f"recall@{depth}"] for depth in depths]
        look = axes.look_of(number)
        ax.plot(depths, found, label=str(method).replace("_", ", "), **look)
        for depth, span in zip(depths, bootstrap_means(scores[method]) if method in scores else (), strict=False):
            ax.vlines(depth, span.low, span.high, color=look["color"], linewidth=1)
    axes.legend_beside(ax)
    ax.set_xscale("log")
    ax.minorticks_off()
    return axes.finish_axes(ax, xticks=depths, xticklabels=depths, xlabel="Texts that come back", ylabel="Recall",
                       title="Share of the right texts among those that come back")  # fmt: skip
