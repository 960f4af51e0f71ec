"""The failure queue to look through and to label: a thin wrapper over a pure drawing and `FailureQueue`."""

from html import escape
from pathlib import Path
from typing import Any

import ipywidgets as widgets
from matplotlib.figure import Figure

from theorex_lab.errors import InvalidInput, TheorexError
from theorex_lab.evolution.cases import Case, ReviewVerdict
from theorex_lab.evolution.decisive import FailureClass
from theorex_lab.experiments.data.failure_labels import NOTE_CHARACTERS, FailureQueue, Label
from theorex_lab.experiments.draw.explorer import control, paragraph, to_png
from theorex_lab.experiments.draw.failure_plots import plot_timeline, timeline_size
from theorex_lab.text.line import one_line

_TITLE_CHARACTERS = 60
_TIPS = {
    "Label": "Write this label into the journal",
    "Next": "Go to the next failure without a label",
    "Undo": "Take back the newest label",
    "Export": "Write all labels into the file",
}


def draw_failure(case: Case, verdict: ReviewVerdict, label: Label | None = None) -> Figure:
    """The run of a failure as a timeline: the decisive step as the review found it, and as a person labelled it.

    >>> from theorex_lab.evolution.decisive import RunStep
    >>> from theorex_lab.evolution.outcomes import Outcome
    >>> outcome = Outcome("o1", "main", "deploy", "it broke", False, "2026-03-02T09:00:00Z")
    >>> case = Case(outcome, None, (RunStep(0, "main", "deploy"),))
    >>> draw_failure(case, ReviewVerdict(0.5, "Try it first.", "rules", 0, "wrong_plan")).axes[0].get_title()
    'main: deploy\\nfound: wrong_plan at step 0'
    """
    figure = Figure(figsize=timeline_size(len(case.steps)), layout="constrained")
    labelled = None if label is None else label.decisive_step
    ax = plot_timeline(case.steps, found=verdict.decisive_step, labelled=labelled, ax=figure.add_subplot())
    told = f"found: {_at_step(verdict.failure_class, verdict.decisive_step)}"
    if label is not None:
        told += f"; labelled: {_at_step(label.failure_class, label.decisive_step)}"
    ax.set_title(f"{_title(case)}\n{told}", parse_math=False)
    return figure


def failure_explorer(queue: FailureQueue, export_file: str | Path) -> Any:
    """The failures one by one: each run drawn, a class, a step and a note to give, undo, and export to a file.

    Label writes to the journal at once and draws the label into the run; Next goes to the next failure without one;
    Undo takes back the newest label and shows its failure; Export writes all of them into `export_file` as JSON Lines.
    The line of status always speaks of the failure that is shown. Returns an ipywidgets VBox that works by mouse and
    by keyboard. Raises InvalidInput where the queue is empty.
    """
    if not queue.ids:
        raise InvalidInput("got a queue without failures; record one: theorex outcome --fail")
    return _Explorer(queue, str(export_file)).box


class _Explorer:
    """The controls of one queue and what they do."""

    def __init__(self, queue: FailureQueue, export_file: str) -> None:
        look: dict[str, Any] = {"width": "48em", "label_width": "9em"}
        self.queue = queue
        self.failure = control("Dropdown", "Failure", **look)
        self.kind = control("Dropdown", "Class", options=[str(kind) for kind in FailureClass], **look)
        self.step = control("Dropdown", "Decisive step", **look)
        self.note = control("Text", "Note", placeholder=f"up to {NOTE_CHARACTERS} characters", **look)
        self.file = control("Text", "Export to", value=export_file, **look)
        self.status, self.fix, self.picture = widgets.HTML(), widgets.HTML(), widgets.Image(format="png")
        buttons = [widgets.Button(description=name, tooltip=tip) for name, tip in _TIPS.items()]
        for button in buttons:
            button.on_click(self.act)
        self.failure.observe(self.show, names="value")
        self.go_to(queue.ids[0])
        shown = [self.failure, self.picture, self.fix, self.kind, self.step, self.note, self.file]
        self.box = widgets.VBox([*shown, widgets.HBox(buttons), self.status])

    def show(self, _: Any = None) -> None:
        """The chosen failure: its run, and its label, or else what the rules find."""
        chosen = self.failure.value
        case, verdict, label = self.queue.case(chosen), self.queue.verdict(chosen), self.queue.labels().get(chosen)
        self.step.options = [("not said", None), *((str(step.index), step.index) for step in case.steps)]
        self.kind.value = verdict.failure_class if label is None else label.failure_class
        self.step.value = verdict.decisive_step if label is None else label.decisive_step
        self.note.value = "" if label is None else label.note
        self.fix.value = f"<p>proposed fix: {escape(verdict.fix_description or verdict.problem or '')}</p>"
        self.picture.value = to_png(draw_failure(case, verdict, label))
        found = f"no label yet; the rules find {_at_step(verdict.failure_class, verdict.decisive_step)}"
        self.say(found if label is None else f"labelled as {_at_step(label.failure_class, label.decisive_step)}")

    def go_to(self, outcome_id: str) -> None:
        """Choose a failure, and mark again those that are labelled."""
        labels = self.queue.labels()
        self.failure.unobserve(self.show, names="value")
        self.failure.options = [
            (f"{'✓ ' if failure in labels else ''}{number}. {_title(self.queue.case(failure))}", failure)
            for number, failure in enumerate(self.queue.ids, 1)
        ]
        self.failure.value = outcome_id
        self.failure.observe(self.show, names="value")
        self.show()

    def say(self, what: str) -> None:
        """One line of status on the failure that is shown, with how far the labelling is."""
        number = self.queue.ids.index(self.failure.value) + 1
        count = f"{len(self.queue.labels())} of {len(self.queue.ids)} are labelled"
        self.status.value = paragraph(f"Failure {number}: {what}. {count}.")

    def act(self, button: Any) -> None:
        """Do what the button says; why it cannot be done stands in the line of status."""
        try:
            getattr(self, button.description.lower())()
        except TheorexError as error:
            self.say(str(error))

    def label(self) -> None:
        """Label the chosen failure, which stays in view with its label."""
        self.queue.label(self.failure.value, self.kind.value, decisive_step=self.step.value, note=self.note.value)
        self.go_to(self.failure.value)

    def next(self) -> None:
        """Go to the first failure without a label after this one, round the end; stay where no other is left."""
        ids, labels, shown = self.queue.ids, self.queue.labels(), self.failure.value
        after = ids.index(shown) + 1
        self.go_to(next((failure for failure in ids[after:] + ids[:after] if failure not in labels), shown))

    def undo(self) -> None:
        """Take back the newest label and go to its failure."""
        if (taken := self.queue.undo()) is None:
            self.say("nothing to undo")
            return
        self.go_to(taken.outcome_id)
        self.say(f"taken back: {_at_step(taken.failure_class, taken.decisive_step)}")

    def export(self) -> None:
        """Write all labels into the file that is named."""
        self.say(f"labels in {self.file.value}: {self.queue.export(self.file.value)}")


def _title(case: Case) -> str:
    return one_line(f"{case.outcome.agent_id}: {case.outcome.decision}", _TITLE_CHARACTERS)


def _at_step(failure_class: str, step: int | None) -> str:
    return failure_class if step is None else f"{failure_class} at step {step}"
