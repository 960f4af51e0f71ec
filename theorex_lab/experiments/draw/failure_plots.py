"""Pictures of failures: a run with its decisive step, which classes weigh most, who failed when, what fixes changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from theorex_lab.errors import InvalidInput
from theorex_lab.evolution.failure_signs import RunStep, read_run
from theorex_lab.experiments.draw import axes
from theorex_lab.experiments.draw.axes import LINE_COLOURS, TIER_COLOURS, Floats
from theorex_lab.text.line import one_line

TIMELINE_STEPS = 24  # of a longer run the beginning, the end and what is around the marks are drawn
HEAT_AGENTS = 10
HEAT_STEPS = 10
FOUND_COLOUR, LABEL_COLOUR = TIER_COLOURS["ACTIVE"], LINE_COLOURS[0]
DECISIONS = {"accept": ("^", LINE_COLOURS[1]), "refuse": ("X", FOUND_COLOUR), "hold": ("s", "#7F7F7F")}
_RINGS = {FOUND_COLOUR: 15, LABEL_COLOUR: 20}  # points; the one lies in the other
_LANES = 6
_TEXT_LANES = 9  # the texts are as wide as so many columns
_TEXT_CHARACTERS = 88
_NAME_CHARACTERS = 24
_ENDS = 3
_GREY = "#7F7F7F"


def timeline_size(n_steps: int) -> tuple[float, float]:
    """Width and height in inches that a run of so many steps needs."""
    return 10.5, 1.7 + 0.27 * max(min(n_steps, TIMELINE_STEPS), 3)


def plot_timeline(
    steps: Sequence[RunStep], *, found: int | None = None, labelled: int | None = None, ax: Axes | None = None
) -> Axes:
    """A run from top to bottom: who took each step, what was said, and which step decided the failure.

    found, labelled: indices of the decisive step as the review found it and as a person labelled it; None for none.
    Answers of tools are squares, steps that failed are crosses. Of more than 24 steps the beginning, the end and those
    around the marks are drawn, and the axis says so. Raises InvalidInput for a mark that is no step of the run.
    """
    marks = [mark for mark in (found, labelled) if mark is not None]
    wrong = set(marks) - {step.index for step in steps}
    if wrong:
        raise InvalidInput(
            f"got the decisive step {wrong.pop()!r} of a run of {len(steps)} steps; name one of its steps"
        )
    width, height = timeline_size(len(steps))
    ax = axes.new_axes(ax, width=width, height=height)
    if not steps:
        return axes.say(ax, "No steps yet: no run was recorded")
    rows = _rows(steps, marks)
    lanes = _lanes([steps[k].agent for k in rows])
    _draw_steps(ax, steps, rows, lanes, {FOUND_COLOUR: found, LABEL_COLOUR: labelled})
    names = [_short(lane) for lane in lanes]
    ax.set_xticks(range(len(lanes)), names, rotation=20, ha="left", fontsize=8, parse_math=False)
    ax.xaxis.tick_top()
    ax.tick_params(axis="x", length=0)
    ax.set_yticks(range(len(rows)), [str(steps[k].index) for k in rows], fontsize=8)
    ax.set(xlim=(-0.5, len(lanes) - 0.5 + _TEXT_LANES), ylim=(len(rows) - 0.5, -0.7))
    left_out = len(steps) - len(rows)
    ax.set_ylabel("Step" if not left_out else f"Step ({left_out} are not drawn)")
    _legend_of_steps(ax, found, labelled)
    title = "The run" if found is labelled is None else "The run, and the step that decided its failure"
    return axes.finish_axes(ax, hidden=("top", "right", "bottom"), title=title)


def plot_pareto(counts: Mapping[str, int], *, ax: Axes | None = None) -> Axes:
    """Failure classes, most frequent first; the line adds them up, the upper axis reads it as a share of all.

    Raises InvalidInput for a negative count.

    >>> [text.get_text() for text in plot_pareto({"no_answer": 1, "wrong_code": 3}).texts]
    ['3, together 75%', '1, together 100%']
    """
    wrong = {name: count for name, count in counts.items() if count < 0}
    if wrong:
        raise InvalidInput(f"got the counts {wrong}; allowed are counts from 0")
    kept = dict(sorted(((name, count) for name, count in counts.items() if count), key=lambda row: (-row[1], row[0])))
    ax = axes.new_axes(ax, height=1.8 + 0.42 * max(len(kept), 2))
    if not kept:
        return axes.say(ax, "No failure was reviewed yet")
    together = np.cumsum(list(kept.values()))
    total = int(together[-1])
    ax.barh(list(kept), list(kept.values()), color=LINE_COLOURS[0])
    ax.plot(together, range(len(kept)), "o-", color=LINE_COLOURS[4], markersize=4, linewidth=1.2)
    for row, (number, sum_so_far) in enumerate(zip(kept.values(), together.tolist(), strict=True)):
        axes.note(ax, f"{number:,}, together {sum_so_far / total:.0%}", (sum_so_far, row), 8)
    ax.invert_yaxis()
    ax.set(xlim=(0, total * 1.3), xlabel="Failures (line: this class and those above it)")
    share = ax.secondary_xaxis(
        "top", functions=(lambda number: np.asarray(number) / total, lambda part: np.asarray(part) * total)
    )
    share.set_xticks([0, 0.25, 0.5, 0.8, 1.0], ["0%", "25%", "50%", "80%", "100%"])
    return axes.finish_axes(ax, title=f"Failures by class: {total:,}")


def plot_agents_by_step(table: Any, *, ax: Axes | None = None) -> Axes:
    """Who took the decisive step, and which step it was: a row an agent, a column a step, failures counted.

    `table` has the columns agent and step (from 0), a row a failure. The 10 agents of most failures have rows of their
    own, the others share one; steps from 10 on share a column. Raises InvalidInput where a column is missing or a step
    is negative.
    """
    agents, steps = axes.columns_of(table, "agent", "step")
    if len(steps) and int(np.min(steps)) < 0:
        raise InvalidInput(f"got the step {int(np.min(steps))}; allowed are steps from 0")
    names, totals = np.unique(np.asarray(agents, dtype=str), return_counts=True)
    own = names[np.lexsort((names, -totals))][:HEAT_AGENTS].tolist()
    rows = own + ([f"{len(names) - len(own)} others"] if len(names) > len(own) else [])
    ax = axes.new_axes(ax, width=9.0, height=1.8 + 0.36 * max(len(rows), 2))
    if not rows:
        return axes.say(ax, "No failure was reviewed yet")
    counts = np.zeros((len(rows), min(int(np.max(steps)), HEAT_STEPS) + 1))
    for agent, step in zip(agents, steps, strict=True):
        counts[rows.index(str(agent)) if str(agent) in own else len(own), min(int(step), HEAT_STEPS)] += 1
    columns = [f"{step}+" if step == HEAT_STEPS else str(step) for step in range(counts.shape[1])]
    labels = [f"{_short(row)} ({total:.0f})" for row, total in zip(rows, counts.sum(axis=1), strict=True)]
    texts = np.where(counts > 0, counts.astype(int).astype(str), "")
    axes.heat_map(ax, counts, texts, rows=labels, columns=columns, size=10, cmap="Blues", vmin=0)
    title = f"Who took the decisive step of {len(steps):,} failures, and when"
    return axes.finish_axes(ax, hidden=list(ax.spines), xlabel="Decisive step (0 is the first)", title=title)


def plot_pairs(table: Any, *, ax: Axes | None = None) -> Axes:
    """Pairs in which only one was solved: with the memory to the right, without it to the left, and the exact p.

    `table` (a `FixEffect`, or its frame) has the columns trial, only_with, only_without and p_value (McNemar's exact
    test). Raises InvalidInput where one is missing.
    """
    trials, only_with, only_without, p_values = axes.columns_of(table, "trial", "only_with", "only_without", "p_value")
    ax = axes.new_axes(ax, height=1.6 + 0.4 * max(len(trials), 2))
    if not len(trials):
        return axes.say(ax, "No second trials yet")
    rows = np.arange(len(trials))
    longest = max(1, int(np.max(only_with)), int(np.max(only_without)))
    for sign, numbers, colour, name in (
        (1, only_with, LINE_COLOURS[0], "solved only with the memory"),
        (-1, only_without, LINE_COLOURS[5], "solved only without it"),
    ):
        bars = ax.barh(rows, sign * numbers, height=0.6, color=colour, label=name)
        ax.bar_label(bars, [f"{number:,}" for number in numbers], padding=4)
    for row, p_value in enumerate(p_values):
        axes.note(ax, _p_in_words(float(p_value)), (1.3 * longest, row))
    ax.axvline(0, color="#444444", linewidth=0.8)
    ax.set_yticks(rows, [str(trial) for trial in trials])
    ax.invert_yaxis()
    reach = max(int(np.max(only_without)), 0.3 * longest)
    ax.set(xlim=(-1.25 * reach, 1.75 * longest), xlabel="Pairs in which only one was solved", ylabel="Trial")
    ax.xaxis.set_major_formatter(lambda number, _: f"{abs(number):g}")
    axes.legend_beside(ax, ax.containers)
    return axes.finish_axes(ax, hidden=("top", "right", "left"), title="Does what was learned help the next trial?")


def plot_gate(table: Any, *, ax: Axes | None = None) -> Axes:
    """What the gate decided, in order: the score before, the score after, and the bar that a gain had to clear.

    `table` has the columns decision (accept, refuse or hold), before, after (None where the outcomes were too few to
    be scored: then the mark stands on the axis), n (held-back outcomes) and margin (relative). Raises InvalidInput where
    one is missing, or for another decision.
    """
    decisions, *numbers = axes.columns_of(table, "decision", "before", "after", "n", "margin")
    wrong = sorted(set(map(str, decisions)) - set(DECISIONS))
    if wrong:
        raise InvalidInput(f"got the decision {wrong[0]!r}; allowed are {', '.join(DECISIONS)}")
    ax = axes.new_axes(ax, width=8.5)
    if not len(decisions):
        return axes.say(ax, "The gate has decided nothing yet")
    before, after, n, margin = (np.asarray(column, dtype=np.float64) for column in numbers)
    _draw_gated(ax, decisions, before, after, before * (1 + margin))
    tops = np.nan_to_num(np.fmax(before * (1 + margin), after))
    for number, (top, samples) in enumerate(zip(tops, n, strict=True), 1):
        axes.note(ax, f"n={samples:,.0f}", (number, top), above=8, fontsize=8)
    last = len(decisions)
    ax.set(xticks=range(1, last + 1), xlim=(0.4, last + 0.6), ylim=(-0.02, max(1.1, 1.1 * tops.max())))
    ax.set(xlabel="Proposal, in order", ylabel="Score on held-back outcomes")
    return axes.finish_axes(ax, title="What the gate let through")


def _draw_gated(ax: Axes, decisions: Any, before: Floats, after: Floats, bar: Floats) -> None:
    """Marks of each decision with its bar, and the legend."""
    number = np.arange(1, len(decisions) + 1)
    ax.vlines(number, before, after, color="#BBBBBB", linewidth=2, zorder=1)
    ax.plot(number, before, "o", mfc="white", mec=_GREY, ms=7)
    ax.hlines(bar, number - 0.3, number + 0.3, color=_GREY, linestyle=":", linewidth=1.5)
    keys = [axes.key("before", "o", mfc="white", mec=_GREY, ms=7), axes.key("before + margin", ls=":", color=_GREY)]
    for name, (marker, colour) in DECISIONS.items():
        such = np.asarray(decisions) == name
        ax.plot(number[such], np.nan_to_num(after)[such], marker, color=colour, ms=9, zorder=3)
        keys.append(axes.key(f"after: {name} ({int(such.sum())})", marker, color=colour))
    axes.legend_beside(ax, keys)


def _rows(steps: Sequence[RunStep], marks: Sequence[int]) -> list[int]:
    """Positions of the steps that are drawn, in order."""
    n = len(steps)
    if n <= TIMELINE_STEPS:
        return list(range(n))
    centres = [k for k, step in enumerate(steps) if step.index in marks] or [0]
    ends = {*range(_ENDS), *range(n - _ENDS, n)}
    near = sorted(set(range(n)) - ends, key=lambda k: (min(abs(k - centre) for centre in centres), k))
    return sorted([*ends, *near][:TIMELINE_STEPS])


def _lanes(agents: Sequence[str]) -> list[str]:
    """Names of the columns in the order of their first step; what comes after the fifth shares the last."""
    names = list(dict.fromkeys(agents))
    return names if len(names) <= _LANES else [*names[: _LANES - 1], f"{len(names) - _LANES + 1} others"]


def _draw_steps(
    ax: Axes, steps: Sequence[RunStep], rows: Sequence[int], lanes: Sequence[str], marks: Mapping[str, int | None]
) -> None:
    """Each step in the column of its agent with the beginning of its text, and a ring of its colour around each mark."""
    readings = read_run(steps)
    columns = [lanes.index(steps[k].agent) if steps[k].agent in lanes else len(lanes) - 1 for k in rows]
    ax.plot(columns, range(len(rows)), "-", color="#D0D0D0", linewidth=1, zorder=1)
    for row, (k, column) in enumerate(zip(rows, columns, strict=True)):
        reading = readings[k]
        marker = "X" if reading.failed else "s" if reading.is_result else "o"
        ax.plot(column, row, marker, color=FOUND_COLOUR if reading.failed else "#444444", ms=7, zorder=2)
        rings = [colour for colour, mark in marks.items() if mark == steps[k].index]
        for colour in rings:
            ax.plot(column, row, "o", mfc="none", mec=colour, mew=2, ms=_RINGS[colour], zorder=3)
        text = one_line(steps[k].text.replace("```", ""), _TEXT_CHARACTERS)
        axes.note(ax, text, (len(lanes) - 0.4, row), fontsize=8, weight="bold" if rings else "normal")


def _legend_of_steps(ax: Axes, found: int | None, labelled: int | None) -> None:
    keys = [
        axes.key("an agent's step", "o", color="#444444", ms=6),
        axes.key("what came back", "s", color="#444444", ms=6),
        axes.key("failed", "X", color=FOUND_COLOUR, ms=6),
    ]
    rings = (("decisive, found", found, FOUND_COLOUR), ("decisive, labelled", labelled, LABEL_COLOUR))
    keys += [
        axes.key(name, "o", mfc="none", mec=colour, mew=2, ms=11) for name, mark, colour in rings if mark is not None
    ]
    ax.legend(handles=keys, loc="upper left", bbox_to_anchor=(0.0, 0.0), ncols=len(keys), frameon=False, fontsize=8)


def _p_in_words(p_value: float) -> str:
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"


def _short(name: str) -> str:
    return one_line(name, _NAME_CHARACTERS)
