"""Verdicts: what an outcome says of the answers of the calls that were made for it, or
of the call that it is about.

A verdict says something of an answer only where it was given after it. An outcome is
often there first: a failure is recorded, and then a model is asked why; that failure is
not the model's.
"""

from typing import NamedTuple

from theorex_lab.core.clock import EARLIEST, to_microseconds
from theorex_lab.journal.columns import Names, Parts, Table
from theorex_lab.journal.event import Event

KINDS = ("outcome", "outcome_scored")


class OutcomeVerdict(NamedTuple):
    """Whether it went well, as an outcome says it last; `at`: when it said so, µs UTC."""

    success: bool
    at: int

    def allows(self, at: int) -> bool:
        """Whether an answer of the time `at` may count as good: unless a later verdict
        says that it went wrong.

        >>> OutcomeVerdict(False, at=5).allows(7), OutcomeVerdict(False, at=9).allows(7)
        (True, False)
        """
        return self.success or self.at <= at


NOTHING_SAID = OutcomeVerdict(False, EARLIEST)


def verdict_of(event: Event) -> tuple[str, OutcomeVerdict] | None:
    """The outcome's id and what an event of KINDS says of it; None where it says
    nothing, as a mere score does.
    """
    if (success := event.body.get("success")) is None:
        return None
    outcome_id = event.id if event.kind == "outcome" else event.body["outcome_id"]
    # An imported outcome states a correction of before as its own, with the time of
    # that.
    stated = event.body.get("decided_at")
    return outcome_id, OutcomeVerdict(
        success, event.at if stated is None else to_microseconds(stated)
    )


class Verdicts(Parts):
    """What outcomes said last, and which answers were given for them; it does not
    matter which of the two came first.

    said: success and at, one row an outcome.  answers: outcome, cell (the row of the
    evidence that counts it) and at.

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
        self._answers_of: dict[int, list[int]] = {}

    def say(self, outcome_id: str, verdict: OutcomeVerdict) -> list[tuple[int, int]]:
        """Take in a verdict; returns the cells whose successes change, and by how much."""
        outcome = self._outcome(outcome_id)
        before = self._verdict(outcome)
        self._said["success"][outcome], self._said["at"][outcome] = verdict
        changes = []
        for answer in self._answers_of.get(outcome, ()):
            at = int(self._answers["at"][answer])
            if change := verdict.allows(at) - before.allows(at):
                changes.append((int(self._answers["cell"][answer]), change))
        return changes

    def answer(self, outcome_id: str, *, cell: int, at: int) -> bool:
        """Take in an answer that was given for an outcome; returns whether it counts as
        good.
        """
        outcome = self._outcome(outcome_id)
        row = self._answers.grow(1).start
        (
            self._answers["outcome"][row],
            self._answers["cell"][row],
            self._answers["at"][row],
        ) = outcome, cell, at
        self._answers_of.setdefault(outcome, []).append(row)
        return self._verdict(outcome).allows(at)

    def _after_load(self) -> None:
        self._answers_of = {}
        for row, outcome in enumerate(self._answers["outcome"].tolist()):
            self._answers_of.setdefault(outcome, []).append(row)

    def _outcome(self, outcome_id: str) -> int:
        if (outcome := self._outcomes.number(outcome_id)) == len(self._said):
            where = self._said.grow(1)
            self._said["success"][where], self._said["at"][where] = NOTHING_SAID
        return outcome

    def _verdict(self, outcome: int) -> OutcomeVerdict:
        return OutcomeVerdict(
            bool(self._said["success"][outcome]), int(self._said["at"][outcome])
        )
