"""Read the packaged simulation of failed runs of teams of agents.

Nobody ran these teams. The runs have the type of Who&When's, and the second tries that
of Reflexion's trials, so that every measure and picture of those works on them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from pydantic import ConfigDict

from theorex_lab.core.errors import InvalidInput
from theorex_lab.eval.datasets.parsing import (
    FailedRun,
    LabelledStep,
    Reflection,
    Reflexion,
)
from theorex_lab.eval.datasets.sources import packaged, read_lines

_MARK = {"simulation": True, "of": "failed runs of teams of agents"}
_FILE_VERSION = 1
_FILE = "simulated_failures.jsonl.gz"
_LICENCE = "as the project; a simulation, not recorded work"


@dataclass(frozen=True, slots=True)
class SimulatedFailure:
    """A failed run, its fix, and the second tries with and without the fix.

    Attributes:
        run: The run, with the labelled step.
        failure_class: The kind of mistake that was built in.
        fix: The written fix.
        with_fix: For each further trial whether the task was solved by then, with the
            fix.
        without: The same without it.
        successful_sibling: The steps of the same task done rightly; empty for most.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    run: FailedRun
    failure_class: str
    fix: str
    with_fix: tuple[bool, ...]
    without: tuple[bool, ...]
    successful_sibling: tuple[LabelledStep, ...] = ()


class SimulatedFailures(NamedTuple):
    """The failures of the simulation in the order of their numbers."""

    failures: tuple[SimulatedFailure, ...]
    licence: str

    @property
    def runs(self) -> tuple[FailedRun, ...]:
        """Return the failed runs alone, as `fetch_whoandwhen` gives them."""
        return tuple(failure.run for failure in self.failures)

    @property
    def failure_classes(self) -> tuple[str, ...]:
        """Return the kinds of mistakes, the most frequent first."""
        counts = Counter(failure.failure_class for failure in self.failures)
        return tuple(sorted(counts, key=lambda name: (-counts[name], name)))

    def second_tries(self, failure_class: str | None = None) -> Reflexion:
        """Return the paired second tries, as `effect_of_fixes` takes them.

        Args:
            failure_class: The kind of mistakes; None for all.

        Raises:
            InvalidInput: No failure is of this kind.
        """
        chosen = [
            failure
            for failure in self.failures
            if failure_class in (None, failure.failure_class)
        ]
        if not chosen:
            raise InvalidInput(
                f"got the failure class {failure_class!r}; allowed are"
                f" {', '.join(self.failure_classes)}"
            )
        with_fix = [(False, *failure.with_fix) for failure in chosen]
        without = [(False, *failure.without) for failure in chosen]
        return Reflexion(
            tuple(failure.run.id for failure in chosen),
            np.array(with_fix, dtype=np.bool_).T,
            np.array(without, dtype=np.bool_).T,
            tuple(Reflection(k, 0, failure.fix) for k, failure in enumerate(chosen)),
            self.licence,
        )


@cache
def load_simulated_failures() -> SimulatedFailures:
    """Return the packaged simulation of failed runs of teams of agents.

    Returns:
        The failures; `.runs` has the type of Who&When's runs, `.second_tries()` that of
        Reflexion's trials.

    >>> simulation = load_simulated_failures()
    >>> len(simulation.runs) >= 150, "wrong_plan" in simulation.failure_classes
    (True, True)
    """
    _, failures = read_lines(packaged(_FILE), SimulatedFailure, _MARK, _FILE_VERSION)
    return SimulatedFailures(tuple(failures), _LICENCE)
