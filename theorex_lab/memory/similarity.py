"""Sets that are like a set, found by the parts that they share with it."""

from __future__ import annotations

from array import array
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from theorex_lab.journal.columns import Table

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class PartIndex:
    """Sets of parts, numbered as they are added, found by how many parts they share
    (Jaccard).

    >>> index = PartIndex()
    >>> for parts in ({"log_error", "slow"}, {"slow"}, {"quick"}):
    ...     index.add(parts)
    >>> numbers, likeness = index.alike({"slow"}, 0.34)
    >>> numbers.tolist(), likeness.tolist()
    ([0, 1], [0.5, 1.0])
    """

    def __init__(self) -> None:
        self._sizes = Table(size="i8")
        self._holders: dict[
            str, array[int]
        ] = {}  # by part the numbers of the sets that hold it

    def __len__(self) -> int:
        return len(self._sizes)

    def add(self, parts: Collection[str]) -> None:
        """Add a set under the next number; an empty one is like no other."""
        distinct = set(parts)
        number = self._sizes.add(size=len(distinct))
        for part in distinct:
            self._holders.setdefault(part, array("q")).append(number)

    def alike(self, parts: Collection[str], floor: float) -> tuple[Ints, Floats]:
        """The numbers of the sets whose likeness to `parts` (distinct) is `floor` or
        more, 0 < floor ≤ 1, and their likeness.
        """
        held = [
            np.frombuffer(self._holders[part], np.int64)
            for part in parts
            if part in self._holders
        ]
        shared = np.bincount(
            np.concatenate([np.zeros(0, np.int64), *held]), minlength=len(self)
        )
        likeness = shared / np.maximum(len(parts) + self._sizes["size"] - shared, 1)
        found = np.flatnonzero(likeness >= floor)
        return found, likeness[found]
