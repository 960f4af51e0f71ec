"""The controls over failed runs: browse them, step through one, and write a fix."""

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

import ipywidgets as widgets
from matplotlib.figure import Figure

from theorex_lab.core.errors import TheorexError
from theorex_lab.eval.metrics.reviewed_runs import (
    FailureSource,
    ReviewedRun,
    SecondTries,
    failure_sources,
)
from theorex_lab.eval.plots import axes
from theorex_lab.eval.plots.comparison import TIMELINE_STEPS, plot_timeline
from theorex_lab.eval.widgets.explorer import Explorer, control, paragraph, to_png
from theorex_lab.evolution.decisive import likely_words
from theorex_lab.store.lab import Lab
from theorex_lab.text.line import one_line

ANY = "any"
_TITLE_CHARACTERS = 100
_STEP_CHARACTERS = 6_000
_FIX_CHARACTERS = 110
_BAND_COLOUR = "#FFF2B2"
_SOLVED_COLOUR = "#009E73"
_STEP_STYLE = (
    "white-space: pre-wrap; overflow: auto; max-height: 15em; margin: 0;"
    " padding: 0.5em; border-left: 4px solid"
)
_PLAIN_EDGE = "#BBBBBB"
_FOUND_EDGE = "#D55E00"
_LABEL_EDGE = "#0072B2"


def draw_failure(run: ReviewedRun, step: int | None = None) -> Figure:
    """Draw a failed run, with the suspected and the labelled step, and its second tries.

    Args:
        run: The run.
        step: The index of the step that is looked at, which is shaded; None for none.
    """
    n_rows = max(min(len(run.steps), TIMELINE_STEPS), 3)
    rows_height = 0.27 * n_rows
    figure = Figure(
        figsize=(10.5, 3.3 + rows_height),
        layout="constrained",
    )
    run_axes, tries_axes = figure.subplots(
        2,
        1,
        height_ratios=[1.4 + rows_height, 0.9],
    )
    plot_timeline(
        run.steps,
        found=run.suspected,
        labelled=run.labelled,
        ax=run_axes,
    )
    position = _position_of(run, step)
    if position is not None and len(run.steps) <= TIMELINE_STEPS:
        run_axes.axhspan(
            position - 0.5,
            position + 0.5,
            color=_BAND_COLOUR,
            zorder=0,
            linewidth=0,
        )
    title = one_line(run.title, _TITLE_CHARACTERS)
    kind = run.failure_class.replace("_", " ")
    run_axes.set_title(
        f"{title}\n{kind}",
        parse_math=False,
        fontsize=10,
    )
    _draw_tries(tries_axes, run)
    return figure


def _position_of(run: ReviewedRun, step: int | None) -> int | None:
    """Return the position of the step with this index, None without one."""
    for position, run_step in enumerate(run.steps):
        if run_step.index == step:
            return position
    return None


def _draw_tries(ax: Any, run: ReviewedRun) -> None:
    """Draw for each further trial whether the task was solved by then."""
    fix = one_line(run.fix, _FIX_CHARACTERS) or "none"
    if run.tries is None:
        axes.say(ax, one_line(run.later or "No second tries of this run", 120))
        ax.set_title(
            f"Fix: {fix}",
            fontsize=9,
            parse_math=False,
        )
        return
    arms = (run.tries.with_fix, run.tries.without)
    for row, solved in enumerate(arms):
        for trial, is_solved in enumerate(solved, start=1):
            face = _SOLVED_COLOUR if is_solved else "white"
            ax.plot(
                trial,
                row,
                "s",
                ms=13,
                mfc=face,
                mec="#444444",
            )
            word = "solved" if is_solved else "not solved"
            axes.note(
                ax,
                word,
                (trial, row),
                12,
                fontsize=8,
            )
    axes.name_rows(ax, ["with the fix", "without it"])
    trials = range(1, len(run.tries.with_fix) + 1)
    axes.finish_axes(
        ax,
        hidden=("top", "right", "left", "bottom"),
        xlim=(0.7, len(trials) + 0.7),
        xticks=list(trials),
        xlabel="Trial after the failure (solved stays solved)",
    )
    ax.set_title(
        f"Fix: {fix}",
        fontsize=9,
        parse_math=False,
    )


def describe_failure(run: ReviewedRun) -> list[str]:
    """Return in a few lines what is known of a run: its suspects, and its fix."""
    lines = []
    lines.append(_words_of_suspicion(run))
    if run.labelled is not None:
        agreement = "another one"
        if run.labelled == run.suspected:
            agreement = "the same"
        elif run.labelled in [likely.step for likely in run.likely_steps]:
            agreement = "one of the likely ones"
        lines.append(
            f"Labelled is step {run.labelled} ({agreement}), by {run.label_agent}:"
            f" {run.label_reason}"
        )
    if run.tries is not None:
        lines.append(_words_of_tries(run.tries))
    if run.later:
        lines.append(f"In the memory: {run.later}.")
    return lines


def _words_of_suspicion(run: ReviewedRun) -> str:
    """Return which step the rules name, or that it is not known, and why."""
    reasons = "; ".join(run.reasons)
    if run.suspected is None:
        return f"The rules suspect no step: {reasons}"
    if run.is_known or not run.likely_steps:
        return f"The rules suspect step {run.suspected}: {reasons}"
    likely = likely_words(run.likely_steps)
    sentence = f"The decisive step is not known; most likely it is {likely}"
    return f"{sentence}: {reasons}" if reasons else sentence


def _words_of_tries(tries: SecondTries) -> str:
    """Return what the second tries show of the written fix, in this one pair."""
    with_fix = _first_solved(tries.with_fix)
    without = _first_solved(tries.without)
    return (
        f"Tried again with the written fix: {with_fix}; without it: {without}. One pair"
        " shows little: effect_by_class counts all pairs of a kind."
    )


def _first_solved(solved: Sequence[bool]) -> str:
    if not any(solved):
        return f"not solved in {len(solved)} trials"
    return f"solved in trial {list(solved).index(True) + 1}"


def step_html(run: ReviewedRun, position: int) -> str:
    """Return one step as HTML, every text of the run escaped.

    Args:
        run: The run.
        position: The position of the step, from 0.
    """
    if not run.steps:
        return paragraph("No steps yet: no run was recorded")
    step = run.steps[position]
    marks = []
    edge = _PLAIN_EDGE
    if step.index == run.suspected:
        edge = _FOUND_EDGE
        marks.append(
            "the likeliest"
            if run.likely_steps and not run.is_known
            else "suspected by the rules"
        )
    if step.index == run.labelled:
        edge = _LABEL_EDGE
        marks.append("labelled as decisive")
    mark = f" — <b>{' and '.join(marks)}</b>" if marks else ""
    head = f"Step {step.index}, {one_line(step.agent, 64)}"
    text = step.text[:_STEP_CHARACTERS]
    if len(step.text) > _STEP_CHARACTERS:
        text += "\n… (cut here)"
    return (
        f'<p style="margin: 0.3em 0">{escape(head)}{mark}</p>'
        f'<pre style="{_STEP_STYLE} {edge}">{escape(text)}</pre>'
    )


def failure_explorer(
    sources: Mapping[str, Callable[[], FailureSource]] | None = None,
    *,
    lab: Lab | None = None,
) -> Any:
    """Return controls over failed runs: browse, step through one, write a fix.

    They are a choice of source, kind of mistake, agent and run; buttons and a slider
    for the step; a field for the fix; and a button that keeps it, where the source can.
    They work by mouse and by keyboard.

    Args:
        sources: Failed runs by name, as `failure_sources` gives them; those at hand by
            default. The first is shown, any other is read when it is chosen.
        lab: The home whose failures are browsed and where a fix is kept. Nothing is
            written before the button is pressed.

    Returns:
        An ipywidgets VBox.

    Raises:
        InvalidInput: There is no source.
    """
    chosen = failure_sources(lab) if sources is None else sources
    return _FailureBrowser(chosen).box


class _FailureBrowser:
    """The widgets, and what they do to each other."""

    def __init__(self, sources: Mapping[str, Callable[[], FailureSource]]) -> None:
        self.explorer: Explorer[FailureSource] = Explorer(sources, "FailureSource")
        self.sources = sources
        self.read_sources: dict[str, FailureSource] = {}
        self.data = FailureSource((), "")
        self.runs: list[ReviewedRun] = []
        self.is_filling = False
        self.kind = control(
            "Dropdown",
            "Kind of mistake",
            options=[ANY],
        )
        self.agent = control(
            "Dropdown",
            "Agent",
            options=[ANY],
        )
        self.run = control(
            "Dropdown",
            "Run",
            options=[],
        )
        self.step = control(
            "IntSlider",
            "Step",
            min=0,
            max=1,
        )
        self.previous = widgets.Button(description="Previous step")
        self.next = widgets.Button(description="Next step")
        self.text = widgets.HTML()
        self.fix = control(
            "Textarea",
            "Fix",
            value="",
        )
        self.keep = widgets.Button(
            description="Keep this fix",
            disabled=True,
        )
        self.message = widgets.HTML()
        self._connect()
        buttons = widgets.HBox([self.previous, self.next])
        self.box = widgets.VBox(
            [
                self.explorer.source,
                self.kind,
                self.agent,
                self.run,
                self.step,
                buttons,
                self.text,
                self.explorer.status,
                self.fix,
                self.keep,
                self.message,
                self.explorer.picture,
            ]
        )
        self.read()

    def _connect(self) -> None:
        """Say what each control calls."""
        observed = (
            (self.explorer.source, self.read),
            (self.kind, self.fill_agents),
            (self.agent, self.fill_runs),
            (self.run, self.begin_run),
            (self.step, self.show),
        )
        for widget, action in observed:
            widget.observe(self._unless_filling(action), names="value")
        self.previous.on_click(lambda _: self.move(-1))
        self.next.on_click(lambda _: self.move(1))
        self.keep.on_click(lambda _: self.keep_written())

    def _unless_filling(self, action: Callable[[], None]) -> Callable[[Any], None]:
        """Return the action, which does nothing while options are exchanged."""

        def act(_: Any) -> None:
            if not self.is_filling:
                action()

        return act

    def _fill(self, widget: Any, options: Sequence[Any]) -> None:
        """Exchange the options of a dropdown; the first is chosen."""
        self.is_filling = True
        try:
            widget.options = options
            if options:
                widget.index = 0
        finally:
            self.is_filling = False

    def read(self) -> None:
        """Take up the chosen source, or say why it cannot be read."""
        name = self.explorer.source.value
        try:
            if name not in self.read_sources:
                self.read_sources[name] = self.sources[name]()
            self.data = self.read_sources[name]
            self.explorer.status.value = ""
        except TheorexError as error:
            self.data = FailureSource((), str(error))
        self.keep.disabled = self.data.keep_fix is None
        kinds = sorted({run.failure_class for run in self.data.runs})
        self._fill(self.kind, [ANY, *kinds])
        self.fill_agents()

    def fill_agents(self) -> None:
        """Offer the agents of the chosen kind of mistake."""
        runs = self.data.chosen(_any_as_empty(self.kind.value))
        agents = sorted({run.agent for run in runs if run.agent})
        self._fill(self.agent, [ANY, *agents])
        self.fill_runs()

    def fill_runs(self) -> None:
        """Offer the runs of the chosen kind and agent."""
        self.runs = self._chosen_runs()
        options = [(run.title, number) for number, run in enumerate(self.runs)]
        self._fill(self.run, options)
        self.begin_run()

    def _chosen_runs(self) -> list[ReviewedRun]:
        kind = _any_as_empty(self.kind.value)
        agent = _any_as_empty(self.agent.value)
        return self.data.chosen(kind, agent)

    def begin_run(self) -> None:
        """Show the chosen run at the step that the rules suspect."""
        self.message.value = ""
        run = self.chosen_run()
        if run is None:
            self._show_nothing()
            return
        self.is_filling = True
        try:
            # A slider refuses a value above its end, so the value goes down first.
            self.step.value = 0
            self.step.max = max(0, len(run.steps) - 1)
            self.step.value = _position_of(run, run.suspected) or 0
            self.fix.value = run.fix
        finally:
            self.is_filling = False
        self.show()

    def _show_nothing(self) -> None:
        about = self.data.about or "nothing was recorded"
        self.explorer.status.value = paragraph(f"No failed run here: {about}.")
        self.text.value = ""
        self.fix.value = ""
        self.explorer.picture.value = b""

    def chosen_run(self) -> ReviewedRun | None:
        """Return the run that is looked at, None where there is none."""
        number: int | None = self.run.value
        if number is None or not self.runs:
            return None
        return self.runs[number]

    def show(self) -> None:
        """Show the step, what is known of the run, and the picture."""
        run = self.chosen_run()
        if run is None:
            return
        position = min(self.step.value, len(run.steps) - 1)
        self.text.value = step_html(run, position)
        noun = "run" if len(self.runs) == 1 else "runs"
        source = f"{len(self.runs)} {noun}; {self.data.about}."
        lines = [source, *describe_failure(run)]
        self.explorer.status.value = _status_html(lines)
        step = run.steps[position].index if run.steps else None
        self.explorer.picture.value = to_png(draw_failure(run, step))

    def move(self, by: int) -> None:
        """Go to the step before or after."""
        position = self.step.value + by
        self.step.value = min(max(0, position), self.step.max)

    def keep_written(self) -> None:
        """Keep the fix that stands in the field, and say what became of it."""
        run = self.chosen_run()
        if run is None or self.data.keep_fix is None:
            return
        try:
            result = self.data.keep_fix(run, self.fix.value)
            self._read_again()
        except TheorexError as error:
            result = str(error)
        self.message.value = paragraph(result)

    def _read_again(self) -> None:
        """Read the source again, and show the same run as it stands now."""
        name = self.explorer.source.value
        self.data = self.sources[name]()
        self.read_sources[name] = self.data
        self.runs = self._chosen_runs()
        self.show()


def _status_html(lines: Sequence[str]) -> str:
    """Return lines as one status, each escaped."""
    paragraphs = "".join(
        f'<p style="margin: 0.2em 0">{escape(line)}</p>' for line in lines
    )
    return f'<div role="status">{paragraphs}</div>'


def _any_as_empty(value: str | None) -> str:
    return "" if value in (None, ANY) else str(value)
