"""Pictures of routing: pure functions that draw on the Axes given, or on a new figure, and return the Axes."""

from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle

from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.draw import axes
from theorex_lab.experiments.scores.routing_runs import query_types

# Its brightness rises evenly, so that it is read with any of the common colour blindnesses.
RATE_COLOURS = "viridis"
CHOSEN_COLOUR = "#D55E00"
HEURISTIC = "heuristic"  # what decides where the matrix knows too little
_UNUSABLE: dict[str, Any] = {"facecolor": "#F2F2F2", "edgecolor": "#DDDDDD", "hatch": "///"}
_CHOSEN: dict[str, Any] = {"fill": False, "edgecolor": CHOSEN_COLOUR, "linewidth": 3}
_BOUNDS = ("oracle", "cascade, perfect check")
_WIDE = 50  # times the lowest cost, from which costs stand on a logarithmic scale

Choices = Mapping[str, str | None]


def plot_matrix(cells: Any, *, choices: Choices | None = None, ax: Axes | None = None) -> Axes:
    """Success by query type and model as a heat map, with runs and the 95 % Wilson interval in each cell.

    `cells` (a MatrixResult, or its frame) has the columns query_type, model, n, success_rate, low, high and usable;
    cells without enough runs are grey and hatched. `choices`: the model of each type whose cell is framed. Raises
    InvalidInput where a column is missing.
    """
    frame = axes.frame_of(cells, "query_type", "model", "n", "success_rate", "low", "high", "usable")
    kinds, models = query_types(frame["query_type"]), sorted(set(frame["model"]))
    shape = len(kinds), len(models)
    wide = 1.7 if shape[1] < 5 else 1.1
    ax = axes.new_axes(ax, width=2.4 + wide * max(shape[1], 2), height=1.6 + 0.58 * max(shape[0], 2))
    if frame.empty:
        return axes.say(ax, "No runs yet: dispatch some tasks first")
    rates, texts = np.full(shape, np.nan), np.full(shape, "", dtype=object)
    for row in frame.itertuples():
        place = kinds.index(row.query_type), models.index(row.model)
        rate = "–" if np.isnan(row.success_rate) else f"{row.success_rate:.0%}"
        texts[place] = f"{rate}\nn {_runs(row.n)}, {100 * row.low:.0f}–{row.high:.0%}"
        if row.usable:
            rates[place] = row.success_rate
        else:
            ax.add_patch(Rectangle((place[1] - 0.5, place[0] - 0.5), 1, 1, linewidth=0, **_UNUSABLE))
        if choices and choices.get(row.query_type) == row.model:
            ax.add_patch(Rectangle((place[1] - 0.46, place[0] - 0.44), 0.92, 0.88, zorder=3, **_CHOSEN))
    broken = ["\n".join(wrap(model, 13)) for model in models]
    picture = axes.heat_map(ax, rates, texts, rows=kinds, columns=broken, cmap=RATE_COLOURS, vmin=0, vmax=1)
    beside = ax.inset_axes((1.02, 0.0, 0.03, 1.0))
    axes.figure_of(ax).colorbar(picture, cax=beside, label="Share of successes", ticks=[0, 0.5, 1])
    marks = [Patch(**_UNUSABLE, label="too few runs"), Patch(**_CHOSEN, label="chosen")]
    axes.legend_below(ax, marks if choices else marks[:1], columns=2)
    ax.tick_params(length=0, labelsize=8)  # of three lines the legend stays clear
    ax.set_title("Success by type of query and model\n(in each cell: runs n, 95 % interval)", fontsize=11)
    return axes.finish_axes(ax, hidden=list(ax.spines))


def plot_choices(cells: Any, before: Choices, after: Choices, *, ax: Axes | None = None) -> Axes:
    """The score of each usable cell, and at the right which model is chosen for each type, before → after.

    `cells` (of the settings after) has the columns query_type, model, score and usable; None in `before` or `after`: the
    heuristic decides. A choice that flipped is bold and coloured. Raises InvalidInput where a column is missing, or the
    types before and after differ.
    """
    frame = axes.frame_of(cells, "query_type", "model", "score", "usable")
    if before.keys() != after.keys():
        raise InvalidInput(f"got choices for {list(before)} before and {list(after)} after; allowed are the same types")
    kinds, models = query_types(after), sorted(set(frame["model"]))
    ax = axes.new_axes(ax, width=8.5, height=1.6 + 0.45 * max(len(kinds), 2))
    if not kinds:
        return axes.say(ax, "No runs yet: nothing to choose from")
    for number, model in enumerate(models):
        rows = frame[(frame["model"] == model) & frame["usable"]]
        # Above each other, so that equal scores show.
        aside = 0.2 * (number - (len(models) - 1) / 2) / max(len(models) - 1, 1)
        look = axes.look_of(number, ls="", markersize=7, markeredgecolor="white", label=model)
        ax.plot(rows["score"], [kinds.index(kind) + aside for kind in rows["query_type"]], **look)
    for row, kind in enumerate(kinds):
        was, now = before[kind] or HEURISTIC, after[kind] or HEURISTIC
        text, colour, weight = (now, "black", "normal") if was == now else (f"{was} → {now}", CHOSEN_COLOUR, "bold")
        axes.note(ax, text, (1, row), 10, in_width=True, color=colour, fontweight=weight)
    axes.name_rows(ax, kinds)
    ax.set(xlim=(-0.03, 1.03), xticks=[0, 0.5, 1], xlabel="Score (0 to 1)")
    ax.grid(axis="y", color="#E5E5E5")
    ax.set_axisbelow(True)
    flipped = sum(before[kind] != after[kind] for kind in kinds)
    ax.set_title(f"Which model is chosen: {flipped} of {len(kinds)} flipped", fontsize=11)
    axes.legend_below(ax)
    return axes.finish_axes(ax)


def plot_costs(scores: Sequence[Any], unit: str, dataset: str, *, ax: Axes | None = None) -> Axes:
    """The mean score of ways to choose against their mean cost, with 95 % intervals; what no other beats in both is joined.

    `scores`: of `PolicyScore`. What nobody can be, the oracle and a cascade whose check knows the truth, is left out of the line.
    """
    ax = axes.new_axes(ax, width=8.5, height=4.8)
    if not scores:
        return axes.say(ax, "No policy yet: nothing to compare")
    real = sorted((score.cost, -score.score) for score in scores if score.policy not in _BOUNDS)
    best = [(cost, -lost) for place, (cost, lost) in enumerate(real) if all(lost < other for _, other in real[:place])]
    ax.step(*zip(*best, strict=True), where="post", color="#444444", label="frontier", zorder=1)
    for number, score in enumerate(scores):
        shape = axes.SHAPES[(number + number // len(axes.LINE_COLOURS)) % len(axes.SHAPES)]
        look = {"fmt": shape, "color": axes.colour_of(number), "markersize": 8, "label": score.policy}
        axes.draw_interval(ax, score.cost, score.score, score.low, score.high, **look)
    costs = [score.cost for score in scores]
    ax.set_xscale("log" if 0 < min(costs) < max(costs) / _WIDE else "linear")
    axes.legend_beside(ax)
    ax.set(xlabel=f"Mean cost\n({unit})", ylabel="Mean score (0 to 1)", ylim=(0, 1))
    return axes.finish_axes(ax, title=f"What a better answer costs on {dataset} (bars: 95 % intervals)")


def plot_policies(scores: Sequence[Any], names: Mapping[str, str], *, ax: Axes | None = None) -> Axes:
    """The mean score of ways to choose a model, the best at the top, with 95 % intervals.

    `scores`: of `PolicyScore`.  names: which of them are drawn, and how they are called there. Raises InvalidInput for a
    name that was not scored.
    """
    if missing := sorted(set(names) - {score.policy for score in scores}):
        raise InvalidInput(f"got the policies {missing}; allowed are {', '.join(score.policy for score in scores)}")
    shown = sorted((score for score in scores if score.policy in names), key=lambda score: -score.score)
    ax = axes.new_axes(ax, width=8.5, height=1.4 + 0.42 * max(len(shown), 2))
    if not shown:
        return axes.say(ax, "No policy yet: nothing to compare")
    middle, low, high = ([getattr(score, name) for score in shown] for name in ("score", "low", "high"))
    axes.draw_interval(ax, middle, range(len(shown)), low, high, level=True, fmt="o", color=axes.LINE_COLOURS[0], ms=8)
    for row, score in enumerate(shown):
        axes.note(ax, f"{score.score:.3f} [{score.low:.3f}, {score.high:.3f}]", (1, row), 10, in_width=True)
    axes.name_rows(ax, [names[score.policy] for score in shown])
    title = "What each way of choosing earns (bars: 95 % intervals)"
    return axes.finish_axes(ax, xlim=(0, 1), xlabel="Mean score of the held-back queries (0 to 1)", title=title)


def _runs(n: float) -> str:
    """A number of runs, which is a fraction where evidence has aged."""
    return f"{n:.0f}" if n >= 10 or n == int(n) else f"{n:.1f}"
