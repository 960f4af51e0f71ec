"""Pictures of sweeps: a metric over two settings, and what keeping costs against what forgetting costs."""

from collections.abc import Mapping
from itertools import cycle
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.draw import axes
from theorex_lab.experiments.replay.sweep import frontier

_ANNOTATED_CELLS = 120
Marks = Mapping[str, Mapping[str, Any]]


def draw_sweep(table: Any, x: str, y: str, metric: str, *, maximise: bool, ax: Axes | None) -> Axes:
    """The metric over a grid of two settings, columns of `table` as it is; see `Sweep.plot`."""
    best = table.loc[table[metric].idxmax() if maximise else table[metric].idxmin()]
    cells = table.pivot(index=y, columns=x, values=metric)
    ax = axes.new_axes(ax, width=1.6 + 0.72 * max(len(cells.columns), 6), height=1.6 + 0.5 * max(len(cells.index), 4))
    values = cells.to_numpy(dtype=np.float64)
    texts = [[f"{value:.3g}" if values.size <= _ANNOTATED_CELLS else "" for value in row] for row in values]
    columns, rows = ([tick if isinstance(tick, str) else f"{tick:.4g}" for tick in axis] for axis in cells.axes[::-1])
    picture = axes.heat_map(ax, values, texts, rows=rows, columns=columns, size=7.5, drop=-0.28, cmap="viridis")
    ax.invert_yaxis()
    place = cells.columns.get_loc(best[x]), cells.index.get_loc(best[y])
    look: dict[str, Any] = {"color": axes.LINE_COLOURS[4], "markersize": 9, "markeredgecolor": "white"}
    ax.plot(*place, "D", **look, label=f"best: {best[metric]:.4g}")
    axes.figure_of(ax).colorbar(picture, ax=ax, label=_words(metric))
    ax.set(xlabel=_words(x), ylabel=_words(y), title=f"{_words(metric)} by {_words(x).lower()} and {_words(y).lower()}")
    axes.legend_below(ax)
    return ax


def _words(name: str) -> str:
    return name.replace("_", " ").capitalize()


def plot_frontier(table: Any, cost: str, loss: str, *, marks: Marks | None = None, ax: Axes | None = None) -> Axes:
    """All settings as dots of cost and loss, the frontier as a line, and named settings (`default`, `fitted`) marked.

    marks: for each name what holds its cost and loss, such as a replay's summary. Raises InvalidInput as `frontier`, and
    for a mark without either.
    """
    best, frame = frontier(table, cost, loss), getattr(table, "frame", table)
    if lacking := [name for name, mark in (marks or {}).items() if not {cost, loss} <= set(mark)]:
        raise InvalidInput(f"got the marks {', '.join(lacking)}; give each a dictionary with {cost} and {loss}")
    ax = axes.new_axes(ax, width=7.0, height=4.6)
    ax.plot(frame[cost], frame[loss], ".", color="#BBBBBB", label="settings tried")
    ax.step(best[cost], best[loss], "o-", where="post", color=axes.LINE_COLOURS[0], markersize=4, label="frontier")
    for (name, mark), marker, colour in zip((marks or {}).items(), cycle("D^sP"), cycle((4, 1, 2, 3)), strict=False):
        look: dict[str, Any] = {"color": axes.LINE_COLOURS[colour], "markersize": 9, "markeredgecolor": "white"}
        ax.plot(mark[cost], mark[loss], marker, **look, label=name)
    ax.set(xlabel=f"{_words(cost)} (cost of keeping)", ylabel=f"{_words(loss)} (cost of forgetting)")
    ax.legend(frameon=False)
    return axes.finish_axes(ax, title="What keeping costs against what forgetting costs")
