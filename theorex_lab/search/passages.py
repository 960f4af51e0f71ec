"""Texts of one session as passages: a short text says little without those around it.

A passage is a text with whole texts of its session before and after it, added in turn until there are enough words.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]

PASSAGE_WORDS = 60  # chosen on LoCoMo and QMSum, 30 to 100; see notebook 04
REACH = 3  # texts at most on each side


class Passages:
    """Which texts stand around each text. session: of each text, a number, or below 0 for none.  words: of each, how many.

    >>> passages = Passages(np.array([0, 1, 0, 0]), np.array([50, 9, 5, 100]))
    >>> [part.tolist() for part in (passages.before(), passages.after())]
    [[-1, -1, 0, 2], [2, -1, 3, -1]]
    >>> passages.words.tolist()
    [155, 9, 155, 100]
    """

    def __init__(self, session: NDArray[np.integer], words: NDArray[np.integer]) -> None:
        self._order = np.argsort(session, kind="stable")
        self._place = np.empty(len(session), np.int64)  # of each text in that order
        self._place[self._order] = np.arange(len(session))
        ordered = np.asarray(session)[self._order]
        begins = np.ones(len(ordered), np.bool_)
        begins[1:] = (ordered[1:] != ordered[:-1]) | (ordered[1:] < 0)
        starts = np.flatnonzero(begins)
        group = np.cumsum(begins) - 1
        self._first = starts[group] if len(starts) else starts
        self._last = np.append(starts[1:], len(ordered))[group] - 1 if len(starts) else starts
        self.any = bool((~begins).any())
        total = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.asarray(words, np.int64)[self._order])))
        self._low, self._high = self._grown(total)
        self.words: Integers = (total[self._high + 1] - total[self._low])[self._place]

    def _grown(self, total: Integers) -> tuple[Integers, Integers]:
        """The first and the last place of each passage."""
        low, high = np.arange(len(self._order)), np.arange(len(self._order))
        for _ in range(REACH if self.any else 0):
            for side in (-1, 1):
                short = total[high + 1] - total[low] < PASSAGE_WORDS
                if side < 0:
                    low = np.where(short, np.maximum(low - 1, self._first), low)
                else:
                    high = np.where(short, np.minimum(high + 1, self._last), high)
        return low, high

    def before(self, texts: Integers | slice = slice(None)) -> Integers:
        """The text before each of these in its session, -1 for none."""
        place = self._place[texts]
        return np.where(place > self._first[place], self._order[place - 1], -1)

    def after(self, texts: Integers | slice = slice(None)) -> Integers:
        """The text after each of these in its session, -1 for none."""
        place = self._place[texts]
        return np.where(place < self._last[place], self._order[np.minimum(place + 1, len(self._order) - 1)], -1)

    def holding(self, texts: Integers) -> Iterator[tuple[Integers, Mask]]:
        """By distance, the texts whose passages hold these: which, and of which of these (a mask); each text once a distance."""
        place = self._place[texts]
        for distance in range(-REACH, REACH + 1):
            at = place + distance
            held = (at >= self._first[place]) & (at <= self._last[place])
            near = np.where(held, at, place)
            held &= (self._low[near] <= place) & (place <= self._high[near])
            yield self._order[near[held]], held
