"""Counts of uses over time: the one kernel of concepts, replays and fits.

An item was used so often, first and last at these times (µs), and its uses add up to so
much where each fades by one of six half-lives. That is all a decay law reads of an item
by itself. Links count the uses of two items together.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theorex_lab.core.clock import LATEST, MICROSECONDS_PER_DAY
from theorex_lab.core.light_dataclass import dataclass
from theorex_lab.memory import decay
from theorex_lab.memory.decay import Floats

Integers = NDArray[np.int64]
Positions = Any  # an array of rows, or a slice of them
ALL = slice(None)

_HALF_LIVES_DAYS = np.array(decay.COUNT_HALF_LIVES_DAYS)
# After so many even the strongest link is gone.
_LINK_HALF_LIVES = math.log2(decay.LINK_CAP / decay.LINK_DROP_BELOW)


def remaining(days: ArrayLike) -> Floats:
    """Return what is left of a use after these days at each of the six half-lives.

    It is of shape (n, 6), each 0..1; the future counts as now.

    >>> remaining([2.0])[0, 2:4].round(2).tolist()
    [0.5, 0.82]
    """
    age = np.maximum(np.asarray(days), 0.0)
    halvings = age[:, None] / _HALF_LIVES_DAYS
    return np.asarray(np.exp2(-halvings))


@dataclass(frozen=True, eq=False)
class Counts:
    """Uses of items, a row each.

    The arrays are changed in place, so that a table may lend its columns.

    Attributes:
        count: How many uses.
        first: The time of the first use (µs), LATEST before it.
        last: The time of the latest use (µs), −LATEST before the first.
        decayed: (n, 6), Σ 2^(−age / h) at `last`.
    """

    count: Integers
    first: Integers
    last: Integers
    decayed: Floats

    @classmethod
    def empty(cls, n: int) -> "Counts":
        """Return the counts of n items that were never used."""
        n_half_lives = len(_HALF_LIVES_DAYS)
        return cls(
            count=np.zeros(n, np.int64),
            first=np.full(n, LATEST),
            last=np.full(n, -LATEST),
            decayed=np.zeros((n, n_half_lives)),
        )

    def take_in(self, rows: Integers, times: ArrayLike, at: Integers) -> Integers:
        """Count uses of rows, and return the rows touched.

        Args:
            rows: The rows, in any order, also repeated.
            times: How many uses of each.
            at: The time of each (µs).

        >>> counts = Counts.empty(2)
        >>> counts.take_in(
        ...     np.array([1, 1]), 1, np.array([0, 2 * MICROSECONDS_PER_DAY])
        ... ).tolist()
        [1]
        >>> counts.count.tolist(), counts.decayed[1, 2].item()
        ([0, 2], 1.5)
        """
        touched = self._distinct(rows)
        before = self.last[touched]
        np.add.at(self.count, rows, times)
        np.minimum.at(self.first, rows, at)
        np.maximum.at(self.last, rows, at)
        # Decayed counts stand at `last`: bring the old ones there, then add each use at
        # its own age.
        days_before = _days(self.last[touched] - before)
        self.decayed[touched] *= remaining(days_before)
        age = _days(self.last[rows] - at)
        # numpy adds to one column far faster than to rows of six.
        for column, half_life in enumerate(_HALF_LIVES_DAYS):
            left = np.exp2(-age / half_life)
            decayed = self.decayed[:, column]
            np.add.at(decayed, rows, times * left)
        return touched

    def _distinct(self, rows: Integers) -> Integers:
        """Return each of these rows once, in order."""
        # Sorting a whole log costs more than all the rest.
        if len(rows) < len(self.count):
            # As `np.unique` does, which imports masked arrays for it.
            ordered = np.sort(rows)
            steps = np.diff(
                ordered,
                prepend=-1,
            )
            is_first = steps > 0
            distinct: Integers = ordered[is_first]
            return distinct
        return np.flatnonzero(np.bincount(rows))

    def age_days(self, now: int, rows: Positions = ALL) -> Floats:
        """Return the days since the last use; below 0 for one in the future."""
        return _days(now - self.last[rows])

    def first_age_days(self, now: int, rows: Positions = ALL) -> Floats:
        """Return the days since the first use."""
        return _days(now - self.first[rows])

    def columns(self, now: int, rows: Positions = ALL) -> dict[str, Any]:
        """Return what the laws read of these items by themselves.

        The columns have the names of `Items.of`.
        """
        age = self.age_days(now, rows)
        return {
            "age_days": age,
            "count": self.count[rows],
            "first_age_days": self.first_age_days(now, rows),
            "decayed_counts": self.decayed[rows] * remaining(age),
        }


def _days(microseconds: Integers) -> Floats:
    """Return spans of time in days."""
    return np.asarray(microseconds / MICROSECONDS_PER_DAY)


@dataclass(frozen=True, eq=False)
class Links:
    """Uses of two items together, a row each link; the arrays are changed in place.

    Attributes:
        first: The row of one item.
        second: The row of the other item.
        count: How many uses, 0 for a link that was dropped.
        last: The time of the latest use (µs).
    """

    first: Integers
    second: Integers
    count: Integers
    last: Integers

    @classmethod
    def none(cls, ends: Integers) -> "Links":
        """Return links between the rows `ends`, shape (n, 2), before any was used."""
        first, second = ends.T
        n = len(ends)
        return cls(
            first=first,
            second=second,
            count=np.zeros(n, np.int64),
            last=np.full(n, -LATEST),
        )

    def take_in(self, rows: Integers, at: Integers) -> None:
        """Count a use of both ends at each time, µs."""
        np.add.at(self.count, rows, 1)
        np.maximum.at(self.last, rows, at)

    def strengths(self, now: int, half_life_days: float) -> Floats:
        """Return the effective strength of every link, 0..1.

        It is 0 for a link that is gone, or too weak to be kept.
        """
        # Of a year's links most are too old to be there, whatever their count: then
        # only the others are computed.
        longest_days = _LINK_HALF_LIVES * half_life_days + 1.0
        oldest = now - longest_days * MICROSECONDS_PER_DAY
        is_recent = self.last >= oldest
        rows: Positions = is_recent
        n_recent = np.count_nonzero(is_recent)
        if 2 * n_recent > len(is_recent):
            rows = ALL
        strengths = np.zeros(len(self.count))
        days = _days(now - self.last[rows])
        stored = decay.stored_link_strength(self.count[rows])
        strengths[rows] = decay.effective_link_strength(stored, days, half_life_days)
        return strengths

    def present(self, now: int, half_life_days: float) -> tuple[Integers, Floats]:
        """Return the rows of the links that are present, and their strengths."""
        strengths = self.strengths(now, half_life_days)
        rows = np.flatnonzero(strengths)
        return rows, strengths[rows]

    def keep(self, present: NDArray[np.bool_]) -> None:
        """Drop the links of all other rows: they start anew."""
        self.count[~present] = 0
