"""Signs of a mistake in a run that a conductor leads.

A conductor writes plans, keeps a ledger and tells others what to do, as the
orchestrator of Magentic-One does. The weights here are judgements: no labelled run of
such a team was at hand when they were set. That of `late` was tried on short
labelled runs that `lengthen_run` made long. That of `last` is above 0 because the last
step was known to be the labelled one in about one of eight of Who&When's hand-crafted
runs; its size was not fitted.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.evolution import failure_patterns as patterns
from theorex_lab.evolution.failure_signs import RunStep, StepReading, says

_WORD = lazy_pattern(r"[^\W_]{4,}")
_COMPARED_CHARACTERS = 3_000
_REPEATED_LIKENESS = 0.7
_TAKEN_UP_SHARE = 0.15
_FEWEST_WORDS = 4  # fewer tell nothing of what a text is about


class TeamSign(NamedTuple):
    """A sign in a run that a conductor leads, its weight, and what it is."""

    name: str
    weight: float
    about: str


TEAM_SIGNS = (
    TeamSign("late", -1.0, "how far into the run it stands, 0 first to 1 last"),
    TeamSign("last", 1.4, "the last step that can be at fault"),
    TeamSign(
        "before_stall",
        0.5,
        "the last act before a ledger first says that nothing moves",
    ),
    TeamSign("repeated", 0.5, "an act that is repeated later, where it is done first"),
    TeamSign("off_instruction", 0.3, "takes up little of the instruction before it"),
    TeamSign(
        "missed_form", 0.5, "the last step, without the number that the task asks for"
    ),
    TeamSign("new_plan", 0.3, "a conductor changes the plan"),
)


class TeamRun:
    """A run that a conductor leads, as its signs are read.

    Args:
        steps: The run.
        readings: What each step did.
        positions: Those that can be at fault.
        task: What the run was to do.
    """

    def __init__(
        self,
        steps: Sequence[RunStep],
        readings: Sequence[StepReading],
        positions: Sequence[int],
        task: str,
    ) -> None:
        self.steps = steps
        self.readings = readings
        self.positions = positions
        self.task = task
        conductors = {step.agent for step in steps if step.directs}
        self.work = [
            position
            for position in positions
            if steps[position].agent not in conductors
        ]

    def sums(self) -> list[float]:
        """Return the weighted sum of the signs for each position."""
        sums = [0.0] * len(self.positions)
        for sign in TEAM_SIGNS:
            values = _VALUES[sign.name](self)
            for rank, position in enumerate(self.positions):
                sums[rank] += sign.weight * values.get(position, 0.0)
        return sums

    def late(self) -> dict[int, float]:
        """Return how far into the run each position stands, 0 to 1."""
        n_after_first = max(1, len(self.positions) - 1)
        return {
            position: rank / n_after_first
            for rank, position in enumerate(self.positions)
        }

    def last(self) -> dict[int, float]:
        """Return the last position."""
        return {self.positions[-1]: 1.0}

    def before_stall(self) -> dict[int, float]:
        """Return the last act of a worker before the first record of a stall."""
        for stall, reading in enumerate(self.readings):
            if reading.stalls:
                earlier = [position for position in self.work if position < stall]
                return {earlier[-1]: 1.0} if earlier else {}
        return {}

    def repeated(self) -> dict[int, float]:
        """Return the acts of workers that are done nearly the same again later."""
        values: dict[int, float] = {}
        earlier: list[tuple[int, set[str]]] = []
        for position in self.work:
            words = _words(self.readings[position].prose)
            if len(words) < _FEWEST_WORDS:
                continue
            for first, first_words in earlier:
                if _likeness(words, first_words) >= _REPEATED_LIKENESS:
                    values[first] = 1.0
                    break
            else:
                earlier.append((position, words))
        return values

    def off_instruction(self) -> dict[int, float]:
        """Return the acts that hold few words of the instruction just before them."""
        values: dict[int, float] = {}
        for position in self.work:
            if position == 0 or not self.steps[position - 1].directs:
                continue
            asked = _words(self.steps[position - 1].text)
            shared = asked & _words(self.readings[position].text)
            if len(asked) < _FEWEST_WORDS:
                continue
            if len(shared) < _TAKEN_UP_SHARE * len(asked):
                values[position] = 1.0
        return values

    def missed_form(self) -> dict[int, float]:
        """Return the last position, where a number was asked for and is not given."""
        last = self.positions[-1]
        if not says(patterns.ASKS_NUMBER, self.task):
            return {}
        if says(patterns.NUMBER, self.readings[last].prose):
            return {}
        return {last: 1.0}

    def new_plan(self) -> dict[int, float]:
        """Return the steps of a conductor that change the plan."""
        workers = set(self.work)
        return {
            position: 1.0
            for position in self.positions[1:]
            if position not in workers
            and says(patterns.NEW_PLAN, self.readings[position].prose)
        }


_VALUES: dict[str, Callable[[TeamRun], dict[int, float]]] = {
    "late": TeamRun.late,
    "last": TeamRun.last,
    "before_stall": TeamRun.before_stall,
    "repeated": TeamRun.repeated,
    "off_instruction": TeamRun.off_instruction,
    "missed_form": TeamRun.missed_form,
    "new_plan": TeamRun.new_plan,
}


def _words(text: str) -> set[str]:
    beginning = text[:_COMPARED_CHARACTERS]
    return {word.lower() for word in _WORD.findall(beginning)}


def _likeness(words: set[str], others: set[str]) -> float:
    """Return the share of words that both have (Jaccard)."""
    return len(words & others) / len(words | others)
