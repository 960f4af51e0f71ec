"""Verdicts: what an outcome says of answers.

They are those of the calls that were made for it, or of the call that it is about.

A verdict says something of an answer only where it was given after it. An outcome is
often there first: a failure is recorded, and then a model is asked why; that failure is
not the model's.
"""

from typing import NamedTuple

from theorex_lab.core.clock import EARLIEST, to_microseconds
from theorex_lab.journal.columns import Names, Parts, Table
from theorex_lab.journal.event import Event

KINDS = ("outcome", "outcome_scored")
# A row of evidence, and by how much its successes change.
CellChange = tuple[int, int]


class OutcomeVerdict(NamedTuple):
    """What an outcome says last.

    Attributes:
        success: Whether it went well.
        at: When the outcome said so (µs UTC).
    """

    success: bool
    at: int

    def allows(self, at: int) -> bool:
        """Return whether an answer of the time `at` may count as good.

        It may unless a later verdict says that it went wrong.

        >>> OutcomeVerdict(False, at=5).allows(7), OutcomeVerdict(False, at=9).allows(7)
        (True, False)
        """
        return self.success or self.at <= at


NOTHING_SAID = OutcomeVerdict(False, EARLIEST)


def verdict_of(event: Event) -> tuple[str, OutcomeVerdict] | None:
    """Return the outcome's id and what an event of KINDS says of it.

    It is None where the event says nothing, as a mere score does.
    """
    body = event.body
    success = body.get("success")
    if success is None:
        return None
    outcome_id = event.id
    if event.kind != "outcome":
        outcome_id = body["outcome_id"]
    at = event.at
    # An imported outcome states a correction of before as its own, with the time of
    # that.
    decided_at = body.get("decided_at")
    if decided_at is not None:
        at = to_microseconds(decided_at)
    return outcome_id, OutcomeVerdict(success, at)


class Verdicts(Parts):
    """What outcomes said last, and which answers were given for them.

    It does not matter which of the two came first.

    In its columns, `said` has success and at, a row for each outcome. `answers` has
    outcome, cell (the row of the evidence that counts it) and at.

    >>> verdicts = Verdicts()
    >>> (
    ...     verdicts.answer("o", cell=3, at=7),
    ...     verdicts.say("o", OutcomeVerdict(False, at=9)),
    ... )
    (True, [(3, -1)])
    >>> verdicts.say("o", OutcomeVerdict(True, at=9))
    [(3, 1)]
    """

    def __init__(self) -> None:
        self._outcomes = Names()
        self._said = Table(success="?", at="i8")
        self._answers = Table(outcome="i4", cell="i4", at="i8")
        # By outcome, the rows of its answers.
        self._answers_of: dict[int, list[int]] = {}

    def say(self, outcome_id: str, verdict: OutcomeVerdict) -> list[CellChange]:
        """Note a verdict; return the cells whose successes change, and by how much."""
        outcome = self._outcome(outcome_id)
        before = self._verdict(outcome)
        self._put(outcome, verdict)
        cells = self._answers["cell"]
        times = self._answers["at"]
        changes = []
        for answer in self._answers_of.get(outcome, ()):
            at = int(times[answer])
            change = verdict.allows(at) - before.allows(at)
            if change:
                cell = int(cells[answer])
                changes.append((cell, change))
        return changes

    def answer(self, outcome_id: str, *, cell: int, at: int) -> bool:
        """Note an answer that was given for an outcome.

        Args:
            outcome_id: The outcome.
            cell: The row of the evidence that counts the answer.
            at: The time of the answer (µs).

        Returns:
            Whether it counts as good.
        """
        outcome = self._outcome(outcome_id)
        row = self._answers.add(outcome=outcome, cell=cell, at=at)
        rows = self._answers_of.setdefault(outcome, [])
        rows.append(row)
        return self._verdict(outcome).allows(at)

    def _after_load(self) -> None:
        self._answers_of = {}
        outcomes = self._answers["outcome"].tolist()
        for row, outcome in enumerate(outcomes):
            rows = self._answers_of.setdefault(outcome, [])
            rows.append(row)

    def _outcome(self, outcome_id: str) -> int:
        """Return the number of an outcome, which has a row from then on."""
        outcome = self._outcomes.number(outcome_id)
        if outcome == len(self._said):
            self._said.grow(1)
            self._put(outcome, NOTHING_SAID)
        return outcome

    def _put(self, outcome: int, verdict: OutcomeVerdict) -> None:
        """Set the verdict of an outcome."""
        self._said.put(outcome, success=verdict.success, at=verdict.at)

    def _verdict(self, outcome: int) -> OutcomeVerdict:
        """Return the verdict of an outcome."""
        success = self._said["success"][outcome]
        at = self._said["at"][outcome]
        return OutcomeVerdict(bool(success), int(at))
