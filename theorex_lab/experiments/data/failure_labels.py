"""Failures as people label them: kept in the journal, taken back by further events, exported as JSON Lines.

A label is a later word on an outcome and so an `outcome_scored` event whose channels are all empty: it changes no score, does
not end the wait for a review, is on disk at once, and is erased with its outcome.
"""

import json
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from theorex_lab.clock import to_iso
from theorex_lab.dispatch.bus import End, Start
from theorex_lab.dispatch.traces import Trace
from theorex_lab.errors import InvalidInput
from theorex_lab.evolution.cases import Case, ReviewVerdict, case_of
from theorex_lab.evolution.decisive import FailureClass
from theorex_lab.evolution.reviewers import HeuristicReviewer
from theorex_lab.experiments.data.datasets import load_local_runs, prompts
from theorex_lab.journal.event import Event, new_event
from theorex_lab.journal.files import write_atomically, writing
from theorex_lab.lab import Lab
from theorex_lab.memory.observation import check_text

NOTE_CHARACTERS = 300
_OF_OUTCOME = ("outcome_id", "trace_id", "agent_id", "at", "decision", "result")
_OF_LABEL = {"label_class": "failure_class", "label_step": "decisive_step", "note": "note", "labelled_at": "at"}


class Label(NamedTuple):
    """What a person holds for the cause of a failure. decisive_step: of the run's steps; None where it was not said."""

    outcome_id: str
    failure_class: str
    decisive_step: int | None
    note: str
    at: str
    event_id: str


class FailureQueue:
    """The failures of a home, reviewed or not, each with its run, what the rules find in it, and its label.

    lab: the home.  agent: whose failures; None: of all.  limit: the newest so many failures.

    >>> from theorex_lab import Lab
    >>> with Lab.temporary() as lab:
    ...     failed = lab.outcomes.record("main", "deploy", "it broke", success=False)
    ...     queue = FailureQueue(lab)
    ...     _ = queue.label(failed.outcome_id, "wrong_plan", note="no dry run")
    ...     (queue.labels()[failed.outcome_id].note, queue.undo().failure_class, queue.labels())
    ('no dry run', 'wrong_plan', {})
    """

    def __init__(self, lab: Lab, *, agent: str | None = None, limit: int = 200) -> None:
        if not isinstance(limit, int) or limit < 1:
            raise InvalidInput(f"got the limit {limit!r}; allowed is 1 or more")
        self._lab = lab
        self._outcomes = {failed.outcome_id: failed for failed in lab.outcomes.queue(agent=agent, again=True)[-limit:]}
        self.case, self.verdict = cache(self._case), cache(self._verdict)

    @property
    def ids(self) -> list[str]:
        """Ids of the failures, oldest first."""
        return list(self._outcomes)

    def labels(self) -> dict[str, Label]:
        """The labels that stand, by outcome; the newest where an outcome has several."""
        return {label.outcome_id: label for label in self._standing()}

    def label(self, outcome_id: str, failure_class: str, *, decisive_step: int | None = None, note: str = "") -> Label:
        """Label a failure; an earlier label of it is hidden, not lost.

        Raises InvalidInput for an outcome that is not in the queue, a class that is none, a step that the run does not
        have, or a note past 300 characters.
        """
        steps = [step.index for step in self.case(outcome_id).steps]
        if failure_class not in set(FailureClass):
            raise InvalidInput(f"got the failure class {failure_class!r}; allowed are {', '.join(FailureClass)}")
        if decisive_step is not None and decisive_step not in steps:
            raise InvalidInput(f"got the decisive step {decisive_step!r}; allowed are 0 to {len(steps) - 1}, or None")
        if note.strip():
            check_text(note, 4 * NOTE_CHARACTERS)
        if len(note) > NOTE_CHARACTERS:
            raise InvalidInput(f"got a note of {len(note)} characters; allowed are up to {NOTE_CHARACTERS}")
        label = {"failure_class": str(failure_class), "decisive_step": decisive_step}
        return _label_of(self._append(outcome_id, {"reason": note.strip(), "label": label}, [outcome_id]))

    def undo(self) -> Label | None:
        """Take back the newest label that stands; an earlier one of the same outcome then stands again. None without one."""
        if (last := next(reversed(self._standing()), None)) is None:
            return None
        taken_back = {"reason": "the label was taken back", "label": None, "undoes": last.event_id}
        self._append(last.outcome_id, taken_back, [last.outcome_id, last.event_id])
        return last

    @property
    def frame(self) -> pd.DataFrame:
        """A row a failure: the outcome, what the rules find (found_class, found_step), and its label where it has one."""
        labels = self.labels()
        columns = [*_OF_OUTCOME, "found_class", "found_step", *_OF_LABEL]
        table = pd.DataFrame([self._row(failure, labels.get(failure)) for failure in self.ids], columns=columns)
        return table.astype({"found_step": "Int64", "label_step": "Int64"})

    def export(self, file: str | Path) -> int:
        """Write the labelled failures, one JSON object a line with the members of `frame`; returns their number.

        The file is replaced as a whole. Raises StorageError where it cannot be written.
        """
        labels = self.labels()
        rows = [self._row(failure, labels[failure]) for failure in self.ids if failure in labels]
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        with writing(file, "name a file in a folder that exists"):
            write_atomically(Path(file).expanduser(), text.encode())
        return len(rows)

    def _case(self, outcome_id: str) -> Case:
        """The failure with its run. Raises InvalidInput for an outcome that is not in the queue."""
        if (outcome := self._outcomes.get(outcome_id)) is None:
            raise InvalidInput(f"got the outcome {outcome_id!r}, which is no failure of this queue; see its ids")
        trace: Trace | None = None
        with suppress(InvalidInput):  # erased
            trace = self._lab.trace(outcome.trace_id) if outcome.trace_id is not None else None
        return case_of(outcome, trace)

    def _verdict(self, outcome_id: str) -> ReviewVerdict:
        """What the rules find; nothing is written."""
        return HeuristicReviewer().review(self.case(outcome_id))

    def _append(self, outcome_id: str, said: dict[str, Any], lineage: list[str]) -> Event:
        channels = dict.fromkeys(("success", "explicit", "thumbs", "judge"))
        body = {"outcome_id": outcome_id, **channels, "model": "", **said}
        agent = self._outcomes[outcome_id].agent_id
        event = new_event("outcome_scored", body, agent=agent, at=self._lab.clock.now(), lineage=lineage)
        self._lab.journal.append([event])
        return event

    def _standing(self) -> list[Label]:
        """This queue's labels that were not taken back, in the order in which they were given."""
        given: dict[str, Label] = {}
        for event in self._lab.journal.tail(0, kinds=["outcome_scored"]):
            if event.body.get("label"):
                given[event.id] = _label_of(event)
            elif event.body.get("undoes"):
                given.pop(event.body["undoes"], None)
        return [label for label in given.values() if label.outcome_id in self._outcomes]

    def _row(self, outcome_id: str, label: Label | None) -> dict[str, Any]:
        outcome, verdict = self._outcomes[outcome_id], self.verdict(outcome_id)
        told = {column: getattr(outcome, column) for column in _OF_OUTCOME}
        told |= {"found_class": verdict.failure_class, "found_step": verdict.decisive_step}
        return told | {column: getattr(label, name, None) for column, name in _OF_LABEL.items()}


def local_failures(lab: Lab, *, every: int = 4) -> FailureQueue:
    """A queue of a small model's answers that the packaged recording holds and its checks refused; they are recorded in
    `lab`. every: one of so many of them, in the recording's order."""
    failed = [run for run in load_local_runs().runs if run.model == "smollm2-135m greedy" and not run.success]
    for row in failed[::every]:
        start = Start(row.task_id, "local-model", lab.clock.now(), prompts()[row.task_id], row.query_type, row.model)
        end = End(row.task_id, start.at, True, row.model, response=row.response)
        lab.journal.append([start.event(), end.event(start)])
        lab.outcomes.record_of_trace(row.task_id, "the check of the task refused this answer", success=False)
    return FailureQueue(lab)


def _label_of(event: Event) -> Label:
    given = {**event.body["label"], "outcome_id": event.body["outcome_id"], "note": event.body["reason"]}
    return Label(**given, at=to_iso(event.at), event_id=event.id)
