"""Pictures of routing."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from textwrap import wrap
from typing import Any, Literal, NamedTuple, Unpack

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import StrMethodFormatter

from theorex_lab.eval.plots import axes
from theorex_lab.eval.plots.point_labels import Line, PointLabel, label_points
from theorex_lab.routing.confidence import query_types

# The colour of each way to choose, the same in every picture.
POLICY_COLOURS = {
    "oracle": "#000000",
    "route, as it ships": "#0072B2",
    "task matrix": "#009E73",
    "best single": "#D55E00",
    "uniform": "#8C8C8C",
    "task matrix, not worse": "#56B4E9",
    "route, as it shipped before": "#999933",
    "nearest neighbours": "#AA4499",
    "cheapest": "#882255",
    "Thompson sampling": "#CC79A7",
    "cascade, perfect check": "#000000",
    "cascade, noisy check": "#E69F00",
    "cascade, expected success": "#7A5C00",
}
# The names that people read, where the name of a policy says too little.
POLICY_NAMES = {
    "oracle": "oracle (hindsight)",
    "route, as it ships": "route: recall and matrix",
    "task matrix": "matrix by the set's tasks",
    "task matrix, not worse": "the rule by the set's tasks",
    "cheapest": "cheapest model",
    "best single": "best single model",
    "uniform": "a random model",
    "cascade, perfect check": "cascade, perfect check (bound)",
}
_MODEL_COLOUR = "#666666"
_OTHER_COLOUR = "#332288"
_UNUSABLE: dict[str, Any] = {
    "facecolor": "#F2F2F2",
    "edgecolor": "#DDDDDD",
    "hatch": "///",
}
_CHOSEN: dict[str, Any] = {
    "fill": False,
    "edgecolor": "#D55E00",
    "linewidth": 3,
}
_BOUNDS = ("oracle", "cascade, perfect check")
_FROM_WHOLE = 100  # from which on a number is shown without its fraction
_WIDE = 50  # times the lowest cost, from which costs stand on a logarithmic scale

Choices = Mapping[str, str | None]


_SUCCESS = "success_rate"
Measure = Literal["success", "latency", "cost"]


class _Look(NamedTuple):
    """How a measure of a cell is shown.

    Attributes:
        column: The column of the cells that holds it.
        label: What the colours mean.
        title: The title of the picture.
        colours: The name of the colours.
    """

    column: str
    label: str
    title: str
    colours: str

    def text_of(self, cell: Any) -> str:
        """Return what a cell says."""
        if self.column == _SUCCESS:
            return _cell_text(cell)
        return _number_text(getattr(cell, self.column))

    def most_of(self, values: Any) -> float:
        """Return the value of the strongest colour; a share has 1."""
        stated = values[np.isfinite(values)]
        if self.column == _SUCCESS or not stated.size:
            return 1.0
        return float(stated.max())


_LOOKS: dict[Measure, _Look] = {
    "success": _Look(
        _SUCCESS,
        "Share of successes",
        "Success by type of query and model\n(in each cell: runs n, 95 % interval)",
        "viridis",
    ),
    "latency": _Look(
        "latency_ms",
        "Mean latency (ms)",
        "Latency by type of query and model\n(in each cell: the mean, in ms)",
        "cividis_r",
    ),
    "cost": _Look(
        "cost",
        "Mean cost of a run",
        "Cost by type of query and model\n(in each cell: the mean of a run)",
        "cividis_r",
    ),
}


def plot_matrix(
    cells: Any,
    *,
    choices: Choices | None = None,
    measure: Measure = "success",
    ax: Axes | None = None,
) -> Axes:
    """Draw success, latency or cost by query type and model as a heat map.

    A cell of success has its runs and the 95 % Wilson interval. Cells without enough
    runs are grey and hatched; a latency or cost that nobody stated is blank.

    Args:
        cells: A MatrixResult, or its frame: columns query_type, model, n, success_rate
            (0..1), ci_low, ci_high and usable.
        choices: The model of each type whose cell is framed.
        measure: What is drawn; latency and cost need the columns latency_ms and cost.
        ax: Where it is drawn; a new figure by default.

    Returns:
        The Axes.

    Raises:
        InvalidInput: A column is missing.
    """
    look = _LOOKS[measure]
    frame = axes.frame_of(
        cells,
        "query_type",
        "model",
        "n",
        "success_rate",
        "ci_low",
        "ci_high",
        "usable",
        look.column,
    )
    kinds = query_types(frame["query_type"])
    models, is_by_cost = _in_order(frame)
    n_models = len(models)
    width, height = matrix_size(len(kinds), n_models)
    ax = axes.new_axes(ax, width=width, height=height)
    if frame.empty:
        return axes.say(ax, "No runs yet: dispatch some tasks first")
    values = np.full((len(kinds), n_models), np.nan)
    texts = np.full(values.shape, "", dtype=object)
    chosen = dict(choices or {})
    for cell in frame.itertuples():
        row = kinds.index(cell.query_type)
        column = models.index(cell.model)
        texts[row, column] = look.text_of(cell)
        if cell.usable:
            values[row, column] = getattr(cell, look.column)
        else:
            _hatch(ax, row, column)
        if chosen.get(cell.query_type) == cell.model:
            _frame(ax, row, column)
    most = look.most_of(values)
    picture = axes.heat_map(
        ax,
        values,
        texts,
        rows=kinds,
        columns=["\n".join(wrap(model, 13)) for model in models],
        cmap=look.colours,
        vmin=0,
        vmax=most,
    )
    beside = ax.inset_axes((1.02, 0.0, 0.03, 1.0))
    axes.figure_of(ax).colorbar(
        picture,
        cax=beside,
        label=look.label,
        ticks=[0, most / 2, most],
        format=_tick_form(most),
    )
    marks = _marks(frame, choices)
    if is_by_cost:
        marks.append(axes.key("models from cheap (left) to expensive"))
    axes.legend_below(ax, marks, columns=3)
    ax.tick_params(length=0, labelsize=8)  # of three lines the legend stays clear
    ax.set_title(look.title, fontsize=11)
    return axes.finish_axes(ax, hidden=list(ax.spines))


def _tick_form(most: float) -> StrMethodFormatter:
    """Return how numbers up to `most` are written beside the colours."""
    return StrMethodFormatter("{x:.1f}" if most <= 1.0 else "{x:,.0f}")


def _marks(frame: Any, choices: Choices | None) -> list[Artist]:
    """Return the marks of the legend: those that the picture has."""
    marks: list[Artist] = []
    if not frame["usable"].all():
        marks.append(Patch(**_UNUSABLE, label="too few runs"))
    if choices and any(choices.values()):
        marks.append(Patch(**_CHOSEN, label="chosen"))
    return marks


def matrix_size(n_types: int, n_models: int) -> tuple[float, float]:
    """Return width and height of the picture of a matrix, in inches."""
    column_inches = 1.7 if n_models < 5 else 1.25
    return 2.4 + column_inches * max(n_models, 2), 2.0 + 0.58 * max(n_types, 2)


def _in_order(frame: Any) -> tuple[list[str], bool]:
    """Return the models from cheap to expensive, and whether all costs are known.

    They stand by name where one is not.
    """
    if "cost" in frame and not frame.empty:
        costs = frame.groupby("model")["cost"].mean()
        if costs.notna().all():
            return sorted(costs.index, key=lambda model: (costs[model], model)), True
    return sorted(set(frame["model"])), False


def _number_text(value: float) -> str:
    """Return a latency or a cost as a cell says it; – where it is not known."""
    if not np.isfinite(value):
        return "–"
    return f"{value:,.0f}" if value >= _FROM_WHOLE else f"{value:.3g}"


def _cell_text(cell: Any) -> str:
    """Return what a cell says: the share of successes, the runs, and the interval."""
    rate = "–"
    if not np.isnan(cell.success_rate):
        rate = f"{cell.success_rate:.0%}"
    n = f"{cell.n:,.1f}".removesuffix(".0")  # a fraction where evidence has aged
    return f"{rate}\nn {n}, {100 * cell.ci_low:.0f}–{cell.ci_high:.0%}"


def _hatch(
    ax: Axes,
    row: int,
    column: int,
) -> None:
    """Hatch a cell whose runs are too few."""
    corner = (column - 0.5, row - 0.5)
    ax.add_patch(
        Rectangle(
            corner,
            1,
            1,
            linewidth=0,
            **_UNUSABLE,
        )
    )


def _frame(
    ax: Axes,
    row: int,
    column: int,
) -> None:
    """Frame a cell that is chosen."""
    corner = (column - 0.46, row - 0.44)
    ax.add_patch(
        Rectangle(
            corner,
            0.92,
            0.88,
            zorder=3,
            **_CHOSEN,
        )
    )


def plot_costs(
    scores: Sequence[Any],
    unit: str,
    dataset: str,
    *,
    models: Sequence[Any] = (),
    ax: Axes | None = None,
) -> Axes:
    """Draw the mean score of ways to choose against their mean cost.

    Each has its 95 % interval; what no other beats in both is joined. What nobody can
    be, the oracle and a cascade whose check knows the truth, is hollow and left out of
    the line.

    Args:
        scores: A row a policy, as `score_costs` makes them.
        unit: The unit of the costs.
        dataset: The name of the set, for the title.
        models: A row a model that is asked everything, drawn in grey.
        ax: Where it is drawn; a new figure by default.

    Returns:
        The Axes.
    """
    ax = axes.new_axes(ax, width=9.5, height=6.0)
    if not scores:
        return axes.say(ax, "No policy yet: nothing to compare")
    policy_positions = {_position(score) for score in scores}
    others = [model for model in models if _position(model) not in policy_positions]
    points = [*scores, *others]
    frontier_costs, frontier_scores = _frontier(points)
    ax.step(
        frontier_costs,
        frontier_scores,
        where="post",
        color="#AAAAAA",
        label="frontier",
        zorder=1,
    )
    for model in others:
        _draw_point(ax, model, fmt="s", color=_MODEL_COLOUR, markersize=5)
    for score in scores:
        _draw_policy(ax, score)
    _scale_costs(ax, [score.cost for score in points])
    lowest = min(score.ci_low for score in points)
    ax.set(
        xlabel=f"Mean cost of a query: {unit}",
        ylabel="Mean score",
        ylim=(max(lowest - 0.05, 0.0), 1.02),
    )
    axes.finish_axes(
        ax,
        title=f"What does a better answer cost on {dataset}?\n"
        "(grey squares: one model for all; bars: 95 % intervals;"
        " line: nothing is both better and cheaper)",
    )
    ax.title.set_fontsize(10)
    steps = _steps(frontier_costs, frontier_scores)
    label_points(ax, _labels(points, models), lines=[*_bars(points), *steps])
    return ax


def plot_curve(curve: Any, *, ax: Axes | None = None) -> Axes:
    """Draw what routing brings at each cost, a line a policy, with 95 % intervals.

    Each point is a setting of the knob, which is written beside it.

    Args:
        curve: A RoutingCurve, as `score_curve` makes it.
        ax: Where it is drawn; a new figure by default.

    Returns:
        The Axes.
    """
    ax = axes.new_axes(ax, width=9.5, height=6.0)
    labels: list[PointLabel] = []
    bars = _bars(curve.baselines)
    for name in dict.fromkeys(point.policy for point in curve.points):
        points = [point for point in curve.points if point.policy == name]
        labels += _draw_line(ax, name, points)
        bars += _bars(points)
    for score in curve.baselines:
        _draw_policy(ax, score)
        labels.append(_label(score, None))
    everything = [*curve.points, *curve.baselines]
    _scale_costs(ax, [row.cost for row in everything])
    lowest = min(row.ci_low for row in everything)
    ax.set(
        xlabel=f"Mean cost of a query: {curve.cost_unit}",
        ylabel="Mean score",
        ylim=(max(lowest - 0.05, 0.0), 1.02),
    )
    axes.finish_axes(
        ax,
        title=f"What does the {curve.knob} buy on {curve.dataset}?\n"
        f"(a point is one {curve.knob}; bars: 95 % intervals)",
    )
    ax.title.set_fontsize(10)
    ax.legend(loc="lower right", fontsize=8, frameon=False)
    label_points(ax, labels, lines=bars)
    return ax


def _draw_line(ax: Axes, policy: str, points: Sequence[Any]) -> list[PointLabel]:
    """Draw the points of a policy as a line; return what stands beside them."""
    colour = POLICY_COLOURS.get(policy, _OTHER_COLOUR)
    costs = [point.cost for point in points]
    scores = [point.score for point in points]
    label = POLICY_NAMES.get(policy, policy)
    ax.plot(costs, scores, color=colour, linewidth=1.2, label=label, zorder=1)
    for point in points:
        _draw_point(ax, point, fmt="o", color=colour, markersize=5)
    distinct = {_position(point): point for point in reversed(points)}
    labels = []
    for point in distinct.values():
        labels.append(PointLabel(f"{point.value:g}", point.cost, point.score, colour))
    return labels


def _scale_costs(ax: Axes, costs: Sequence[float]) -> None:
    """Scale the axis of costs: by logarithms where they lie far apart."""
    is_wide = 0 < min(costs) < max(costs) / _WIDE
    ax.set_xscale("log" if is_wide else "linear")
    if is_wide:
        ax.xaxis.set_major_formatter("{x:g}")
    ax.margins(x=0.12)


def _bars(points: Sequence[Any]) -> list[Line]:
    """Return the upright bars of the intervals."""
    bars: list[Line] = []
    for score in points:
        low = (score.cost, score.ci_low)
        high = (score.cost, score.ci_high)
        bars.append((low, high))
    return bars


def _labels(points: Sequence[Any], models: Sequence[Any]) -> list[PointLabel]:
    """Return the names of the points."""
    names = {_position(model): model.policy for model in models}
    return [_label(score, names.get(_position(score))) for score in points]


def _steps(costs: Sequence[float], scores: Sequence[float]) -> list[Line]:
    """Return the level and upright parts of a line of steps."""
    lines: list[Line] = []
    points = zip(costs, scores, strict=True)
    for (cost, score), (next_cost, next_score) in pairwise(points):
        lines.append(((cost, score), (next_cost, score)))
        lines.append(((next_cost, score), (next_cost, next_score)))
    return lines


def _draw_policy(ax: Axes, score: Any) -> None:
    """Draw a way to choose; what nobody can be is hollow."""
    colour = POLICY_COLOURS.get(score.policy, _OTHER_COLOUR)
    filling = "white" if score.policy in _BOUNDS else colour
    _draw_point(ax, score, fmt="o", color=colour, markersize=8, mfc=filling)


def _draw_point(ax: Axes, score: Any, **look: Unpack[axes.LineLook]) -> None:
    """Draw a score with its interval at its cost."""
    axes.draw_interval(
        ax, score.cost, score.score, ci_low=score.ci_low, ci_high=score.ci_high, **look
    )


def _position(score: Any) -> tuple[float, float]:
    """Return where a score stands in the picture."""
    return score.cost, score.score


def _label(score: Any, model: str | None) -> PointLabel:
    """Return the name that stands beside a policy or a model.

    A policy that does as one model does has the name of that too.
    """
    text = POLICY_NAMES.get(score.policy, score.policy)
    if model not in (None, score.policy):
        text += f"\n({model})"
    is_known = score.policy in POLICY_COLOURS
    return PointLabel(
        text, score.cost, score.score, "#222222" if is_known else _MODEL_COLOUR
    )


def _frontier(scores: Sequence[Any]) -> tuple[list[float], list[float]]:
    """Return cost and score of the policies that no other beats in both.

    They stand in the order of their costs; what nobody can be is left out.
    """
    real = [score for score in scores if score.policy not in _BOUNDS]
    cheapest_first = sorted((score.cost, -score.score) for score in real)
    costs: list[float] = []
    best_scores: list[float] = []
    for cost, negative_score in cheapest_first:
        score = -negative_score
        if not best_scores or score > best_scores[-1]:
            costs.append(cost)
            best_scores.append(score)
    return costs, best_scores
