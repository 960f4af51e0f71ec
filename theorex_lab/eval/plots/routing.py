"""Pictures of routing."""

from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle

from theorex_lab.eval.plots import axes
from theorex_lab.routing.confidence import query_types

_UNUSABLE: dict[str, Any] = {
    "facecolor": "#F2F2F2",
    "edgecolor": "#DDDDDD",
    "hatch": "///",
}
_CHOSEN: dict[str, Any] = {"fill": False, "edgecolor": "#D55E00", "linewidth": 3}
_BOUNDS = ("oracle", "cascade, perfect check")
_WIDE = 50  # times the lowest cost, from which costs stand on a logarithmic scale

Choices = Mapping[str, str | None]


def plot_matrix(
    cells: Any, *, choices: Choices | None = None, ax: Axes | None = None
) -> Axes:
    """Draw success by query type and model as a heat map.

    Each cell has its runs and the 95 % Wilson interval. Cells without enough runs are
    grey and hatched.

    Args:
        cells: A MatrixResult, or its frame: columns query_type, model, n, success_rate
            (0..1), low, high and usable.
        choices: The model of each type whose cell is framed.
        ax: Where it is drawn; a new figure by default.

    Returns:
        The Axes.

    Raises:
        InvalidInput: A column is missing.
    """
    frame = axes.frame_of(
        cells, "query_type", "model", "n", "success_rate", "low", "high", "usable"
    )
    kinds = query_types(frame["query_type"])
    models = sorted(set(frame["model"]))
    shape = len(kinds), len(models)
    wide = 1.7 if shape[1] < 5 else 1.1
    ax = axes.new_axes(
        ax, width=2.4 + wide * max(shape[1], 2), height=1.6 + 0.58 * max(shape[0], 2)
    )
    if frame.empty:
        return axes.say(ax, "No runs yet: dispatch some tasks first")
    rates = np.full(shape, np.nan)
    texts = np.full(shape, "", dtype=object)
    for row in frame.itertuples():
        cell = kinds.index(row.query_type), models.index(row.model)
        rate = "–" if np.isnan(row.success_rate) else f"{row.success_rate:.0%}"
        count = f"{row.n:,.1f}".removesuffix(".0")  # a fraction where evidence has aged
        texts[cell] = f"{rate}\nn {count}, {100 * row.low:.0f}–{row.high:.0%}"
        if row.usable:
            rates[cell] = row.success_rate
        else:
            ax.add_patch(
                Rectangle(
                    (cell[1] - 0.5, cell[0] - 0.5), 1, 1, linewidth=0, **_UNUSABLE
                )
            )
        if choices and choices.get(row.query_type) == row.model:
            ax.add_patch(
                Rectangle(
                    (cell[1] - 0.46, cell[0] - 0.44), 0.92, 0.88, zorder=3, **_CHOSEN
                )
            )
    broken = ["\n".join(wrap(model, 13)) for model in models]
    picture = axes.heat_map(
        ax, rates, texts, rows=kinds, columns=broken, cmap="viridis", vmin=0, vmax=1
    )
    beside = ax.inset_axes((1.02, 0.0, 0.03, 1.0))
    axes.figure_of(ax).colorbar(
        picture, cax=beside, label="Share of successes", ticks=[0, 0.5, 1]
    )
    marks = [Patch(**_UNUSABLE, label="too few runs"), Patch(**_CHOSEN, label="chosen")]
    axes.legend_below(ax, marks if choices else marks[:1], columns=2)
    ax.tick_params(length=0, labelsize=8)  # of three lines the legend stays clear
    ax.set_title(
        "Success by type of query and model\n(in each cell: runs n, 95 % interval)",
        fontsize=11,
    )
    return axes.finish_axes(ax, hidden=list(ax.spines))


def plot_costs(
    scores: Sequence[Any], unit: str, dataset: str, *, ax: Axes | None = None
) -> Axes:
    """Draw the mean score of ways to choose against their mean cost.

    Each has its 95 % interval; what no other beats in both is joined. What nobody can
    be, the oracle and a cascade whose check knows the truth, is left out of the line.

    Args:
        scores: A row a policy, as `score_costs` makes them.
        unit: The unit of the costs.
        dataset: The name of the set, for the title.
        ax: Where it is drawn; a new figure by default.

    Returns:
        The Axes.
    """
    ax = axes.new_axes(ax, width=8.5, height=4.8)
    if not scores:
        return axes.say(ax, "No policy yet: nothing to compare")
    real = sorted(
        (score.cost, -score.score) for score in scores if score.policy not in _BOUNDS
    )
    best = [
        (cost, -lost)
        for rank, (cost, lost) in enumerate(real)
        if all(lost < other for _, other in real[:rank])
    ]
    ax.step(
        *zip(*best, strict=True),
        where="post",
        color="#444444",
        label="frontier",
        zorder=1,
    )
    for number, score in enumerate(scores):
        shape = axes.SHAPES[
            (number + number // len(axes.LINE_COLOURS)) % len(axes.SHAPES)
        ]
        look = {
            "fmt": shape,
            "color": axes.colour_of(number),
            "markersize": 8,
            "label": score.policy,
        }
        axes.draw_interval(ax, score.cost, score.score, score.low, score.high, **look)
    costs = [score.cost for score in scores]
    ax.set_xscale("log" if 0 < min(costs) < max(costs) / _WIDE else "linear")
    axes.legend_beside(ax)
    ax.set(xlabel=f"Mean cost\n({unit})", ylabel="Mean score (0 to 1)", ylim=(0, 1))
    return axes.finish_axes(
        ax, title=f"What a better answer costs on {dataset} (bars: 95 % intervals)"
    )
