"""Sets that are like a set: those with the same common parts as one group, found by these; the others by their rare parts."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable
from itertools import chain

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
_Lists = dict[str, "array[int]"]
_COMMON = 1024  # sets that hold a part from which it is common


class PartIndex:
    """Sets of parts, numbered as they are added, found by how many parts they share (Jaccard).

    Sets of one size that hold the same common parts are a group: what holds no rare part of those that are asked for is as
    alike as any other of its group. group_of: of each set the number of its group.  members: of each group its sets.  changed:
    groups that lost a set to another, or got one from it; who reads them may clear it.

    >>> index = PartIndex()
    >>> for parts in ({"log_error", "slow"}, {"slow"}, {"quick"}):
    ...     index.add(parts)
    >>> numbers, likeness = index.alike({"slow"}, 0.34)
    >>> numbers.tolist(), likeness.tolist()
    ([0, 1], [0.5, 1.0])
    """

    def __init__(self) -> None:
        self.group_of, self._sizes = array("q"), array("q")  # of each set; of each group's sets
        self.members: list[set[int]] = []
        self.changed: set[int] = set()
        self._groups: dict[tuple[int, frozenset[str]], int] = {}
        self._keys: list[tuple[int, frozenset[str]]] = []
        self._common: _Lists = {}  # by part the groups that hold it
        self._rare: _Lists = {}  # by part the sets that do

    def add(self, parts: Collection[str]) -> None:
        """Add a set under the next number; an empty one is like no other."""
        number, distinct = len(self.group_of), frozenset(parts)
        self.group_of.append(-1)
        common = distinct.intersection(self._common)
        self._join(number, len(distinct), common)
        for part in distinct - common:
            held = self._rare.setdefault(part, array("q"))
            held.append(number)
            if len(held) >= _COMMON:
                self._make_common(part)

    def _make_common(self, part: str) -> None:
        self._common[part] = array("q")
        for number in self._rare.pop(part):
            left = self.group_of[number]
            self.members[left].discard(number)
            size, common = self._keys[left]
            self._join(number, size, common | {part})
            self.changed |= {left, self.group_of[number]}

    def _join(self, number: int, size: int, common: frozenset[str]) -> None:
        group = self._groups.setdefault((size, common), len(self.members))
        if group == len(self.members):
            self.members.append(set())
            self._keys.append((size, common))
            self._sizes.append(size)
            for part in common:
                self._common[part].append(group)
        self.members[group].add(number)
        self.group_of[number] = group

    def alike(self, parts: Collection[str], floor: float) -> tuple[Ints, Floats]:
        """The numbers of the sets whose likeness to `parts` (distinct) is `floor` or more, 0 < floor ≤ 1, and their likeness."""
        groups, of_groups, numbers, likeness = self.nearest(parts, floor)
        alone = set(numbers.tolist())
        others = [sorted(self.members[group] - alone) for group in groups.tolist()]
        told = np.repeat(of_groups, [len(found) for found in others])
        found = np.concatenate([numbers, np.fromiter(chain.from_iterable(others), np.int64)])
        order = np.argsort(found)
        return found[order], np.concatenate([likeness, told])[order]

    def nearest(self, parts: Collection[str], floor: float) -> tuple[Ints, Floats, Ints, Floats]:
        """The groups that are alike by their common parts, and how alike; and the sets that are alike and hold a rare part.

        Such a set may be of such a group too: the likeness beside the set is its own, and the higher one.
        """
        if not self.members:
            return np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64), np.zeros(0)
        sizes = np.frombuffer(self._sizes, np.int64)
        shared = np.bincount(_joined(self._common, parts), minlength=len(sizes))
        likeness = shared / np.maximum(len(parts) + sizes - shared, 1)
        groups = np.flatnonzero(likeness >= floor)
        numbers, rare = np.unique(_joined(self._rare, parts), return_counts=True)
        of_sets = np.frombuffer(self.group_of, np.int64)[numbers]
        both = shared[of_sets] + rare
        alone = both / (len(parts) + sizes[of_sets] - both)
        return groups, likeness[groups], numbers[alone >= floor], alone[alone >= floor]


def _joined(lists: _Lists, parts: Iterable[str]) -> Ints:
    held = [np.frombuffer(lists[part], np.int64) for part in parts if part in lists]
    return np.concatenate([np.zeros(0, np.int64), *held])
