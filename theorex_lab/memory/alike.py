"""Sets that are like a set: an inverted list from parts to the sets that hold them."""

import math
from array import array
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class PartIndex:
    """Sets of parts, numbered as they are added, found by how many parts they share (Jaccard).

    >>> index = PartIndex()
    >>> for parts in ({"log_error", "slow"}, {"slow"}, {"quick"}):
    ...     index.add(parts)
    >>> numbers, likeness = index.alike({"slow"}, 0.34)
    >>> numbers.tolist(), likeness.tolist()
    ([0, 1], [0.5, 1.0])
    """

    def __init__(self) -> None:
        self.length = 0
        # By size of a set, then by part, the numbers of the sets that hold it, rising.
        self._lists: dict[int, dict[str, array[int]]] = {}

    def add(self, parts: Collection[str]) -> None:
        """Add a set under the next number; an empty one is like no other."""
        of_size = self._lists.setdefault(len(parts), {})
        for part in parts:
            of_size.setdefault(part, array("q")).append(self.length)
        self.length += 1

    def alike(self, parts: Collection[str], floor: float) -> tuple[Ints, Floats]:
        """The numbers of the sets whose likeness to `parts` (distinct) is `floor` or more, 0 < floor ≤ 1, and their likeness.

        A set that shares enough is in one of the shortest lists, since it cannot be missing in all of them: the long lists of
        common parts are only looked up.
        """
        found = [self._of_size(size, parts, floor) for size in self._lists]
        numbers = np.concatenate([np.zeros(0, np.int64), *(pair[0] for pair in found)])
        return numbers, np.concatenate([np.zeros(0), *(pair[1] for pair in found)])

    def _of_size(self, size: int, parts: Collection[str], floor: float) -> tuple[Ints, Floats]:
        none = np.zeros(0, np.int64), np.zeros(0)
        needed = max(1, math.ceil(floor * (len(parts) + size) / (1.0 + floor) - 1e-9))
        by_part = self._lists[size]
        lists = sorted((by_part[part] for part in parts if part in by_part), key=len)
        short = len(lists) - needed + 1
        if short < 1:
            return none
        held = [np.frombuffer(numbers, np.int64) for numbers in lists]
        numbers, shared = np.unique(np.concatenate(held[:short]), return_counts=True)
        for longer in held[short:]:
            places = np.minimum(np.searchsorted(longer, numbers), len(longer) - 1)
            shared = shared + (longer[places] == numbers)
        likeness = shared / (len(parts) + size - shared)
        kept = likeness >= floor
        return numbers[kept], likeness[kept]
