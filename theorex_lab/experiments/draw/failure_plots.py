"""Pictures of failures: a run with its decisive step."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes

from theorex_lab.errors import InvalidInput
from theorex_lab.evolution.cases import Case, ReviewVerdict
from theorex_lab.evolution.failure_signs import RunStep, read_run
from theorex_lab.experiments.draw import axes
from theorex_lab.text.line import one_line

TIMELINE_STEPS = 24  # of a longer run the beginning, the end and what is around the marks are drawn
FOUND_COLOUR, LABEL_COLOUR = axes.TIER_COLOURS["ACTIVE"], axes.LINE_COLOURS[0]
_RINGS = {FOUND_COLOUR: 15, LABEL_COLOUR: 20}  # points; the one lies in the other
_TEXT_LANES = 9  # the texts are as wide as so many columns
_TEXT_CHARACTERS = 88
_NAME_CHARACTERS, _TITLE_CHARACTERS = 24, 60
_ENDS = 3
Steps = Sequence[RunStep]
Mark = int | None


def plot_failure(case: Case, verdict: ReviewVerdict, *, ax: Axes | None = None) -> Axes:
    """The run of a failure as a timeline, with the decisive step as the review found it.

    >>> from theorex_lab.evolution.outcomes import Outcome
    >>> outcome = Outcome("o1", "main", "deploy", "it broke", False, "2026-03-02T09:00:00Z")
    >>> case = Case(outcome, None, (RunStep(0, "main", "deploy"),))
    >>> plot_failure(case, ReviewVerdict(0.5, "Try it first.", "rules", 0, "wrong_plan")).get_title()
    'main: deploy\\nfound: wrong_plan at step 0'
    """
    ax = plot_timeline(case.steps, found=verdict.decisive_step, ax=ax)
    title = one_line(f"{case.outcome.agent_id}: {case.outcome.decision}", _TITLE_CHARACTERS)
    at_step = "" if verdict.decisive_step is None else f" at step {verdict.decisive_step}"
    ax.set_title(f"{title}\nfound: {verdict.failure_class}{at_step}", parse_math=False)
    return ax


def plot_timeline(steps: Steps, *, found: Mark = None, labelled: Mark = None, ax: Axes | None = None) -> Axes:
    """A run from top to bottom: who took each step, what was said, and which step decided the failure.

    found, labelled: indices of the decisive step as the review found it and as a person labelled it; None for none.
    Answers of tools are squares, steps that failed are crosses. Of more than 24 steps the beginning, the end and those
    around the marks are drawn, and the axis says so. Raises InvalidInput for a mark that is no step of the run.
    """
    marks = [mark for mark in (found, labelled) if mark is not None]
    if wrong := set(marks) - {step.index for step in steps}:
        raise InvalidInput(f"got the decisive step {wrong.pop()!r} of a run of {len(steps)} steps; name one of its own")
    ax = axes.new_axes(ax, width=10.5, height=1.7 + 0.27 * max(min(len(steps), TIMELINE_STEPS), 3))
    if not steps:
        return axes.say(ax, "No steps yet: no run was recorded")
    rows = _rows(steps, marks)
    lanes = list(dict.fromkeys(steps[k].agent for k in rows))
    _draw_steps(ax, steps, rows, lanes, {FOUND_COLOUR: found, LABEL_COLOUR: labelled})
    names = [one_line(lane, _NAME_CHARACTERS) for lane in lanes]
    ax.set_xticks(range(len(lanes)), names, rotation=20, ha="left", fontsize=8, parse_math=False)
    ax.xaxis.tick_top()
    ax.tick_params(axis="x", length=0)
    ax.set_yticks(range(len(rows)), [str(steps[k].index) for k in rows], fontsize=8)
    ax.set(xlim=(-0.5, len(lanes) - 0.5 + _TEXT_LANES), ylim=(len(rows) - 0.5, -0.7))
    left_out = len(steps) - len(rows)
    ax.set_ylabel("Step" if not left_out else f"Step ({left_out} are not drawn)")
    kinds = (("an agent's step", "o", "#444444"), ("what came back", "s", "#444444"), ("failed", "X", FOUND_COLOUR))
    keys = [axes.key(name, marker, color=colour, ms=6) for name, marker, colour in kinds]
    rings = (("found", found, FOUND_COLOUR), ("labelled", labelled, LABEL_COLOUR))
    keys += [axes.key(f"decisive, {name}", "o", mfc="none", mec=colour, mew=2, ms=11)
             for name, mark, colour in rings if mark is not None]  # fmt: skip
    ax.legend(handles=keys, loc="upper left", bbox_to_anchor=(0.0, 0.0), ncols=len(keys), frameon=False, fontsize=8)
    title = "The run" if found is labelled is None else "The run, and the step that decided its failure"
    return axes.finish_axes(ax, hidden=("top", "right", "bottom"), title=title)


def _rows(steps: Sequence[RunStep], marks: Sequence[int]) -> list[int]:
    """Positions of the steps that are drawn, in order."""
    n = len(steps)
    if n <= TIMELINE_STEPS:
        return list(range(n))
    centres = [k for k, step in enumerate(steps) if step.index in marks] or [0]
    ends = {*range(_ENDS), *range(n - _ENDS, n)}
    near = sorted(set(range(n)) - ends, key=lambda k: (min(abs(k - centre) for centre in centres), k))
    return sorted([*ends, *near][:TIMELINE_STEPS])


def _draw_steps(ax: Axes, steps: Steps, rows: list[int], lanes: list[str], marks: Mapping[str, Mark]) -> None:
    """Each step in the column of its agent with the beginning of its text, and a ring of its colour around each mark."""
    readings = read_run(steps)
    columns = [lanes.index(steps[k].agent) for k in rows]
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
