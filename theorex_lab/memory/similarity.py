"""Find sets that are like a set, by the parts that they share with it."""

from __future__ import annotations

from array import array
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from theorex_lab.journal.columns import Table

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class PartIndex:
    """Sets of parts, found by how many parts they share (Jaccard).

    They are numbered as they are added.

    >>> index = PartIndex()
    >>> for parts in ({"log_error", "slow"}, {"slow"}, {"quick"}):
    ...     index.add(parts)
    >>> numbers, likeness = index.alike({"slow"}, 0.34)
    >>> numbers.tolist(), likeness.tolist()
    ([0, 1], [0.5, 1.0])
    """

    def __init__(self) -> None:
        self._sizes = Table(size="i8")
        # By part, the numbers of the sets that hold it.
        self._holders: dict[str, array[int]] = {}

    def __len__(self) -> int:
        return len(self._sizes)

    def add(self, parts: Collection[str]) -> None:
        """Add a set under the next number; an empty one is like no other."""
        distinct = set(parts)
        number = self._sizes.add(size=len(distinct))
        for part in distinct:
            holders = self._holders.setdefault(part, array("q"))
            holders.append(number)

    def alike(self, parts: Collection[str], floor: float) -> tuple[Ints, Floats]:
        """Return the numbers of the sets that are like these parts, and their likeness.

        Args:
            parts: The parts, each once.
            floor: The lowest likeness, 0 < floor ≤ 1.
        """
        numbers = [np.zeros(0, np.int64)]
        for part in parts:
            holders = self._holders.get(part)
            if holders is not None:
                numbers.append(np.frombuffer(holders, np.int64))
        all_numbers = np.concatenate(numbers)
        n_shared = np.bincount(all_numbers, minlength=len(self))
        sizes = self._sizes["size"]
        n_united = len(parts) + sizes - n_shared
        likeness = n_shared / np.maximum(n_united, 1)
        alike = np.flatnonzero(likeness >= floor)
        return alike, likeness[alike]
