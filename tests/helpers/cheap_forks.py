"""Forks that cost little, though this process holds thousands of collected tests.

A fork copies the table of the parent's pages, and its end gives that back. A table of
small pages has an entry for every four kilobytes: with all tests collected, a child that
does nothing took 43 ms of processor time. Gathered in huge pages, the same memory has
one entry for two megabytes.

Linux gathers pages since 6.1. Elsewhere a fork costs what it costs.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

HUGE_PAGE = 2 << 20
MADV_COLLAPSE = 25
# Who forks less often gains less than it takes to gather.
FORKS_BEFORE = 20
# What parent and child write to is split into small pages again.
FORKS_BETWEEN = 400


def gather_before_forks() -> None:
    """Gather this process's memory before it forks often, and now and then later."""
    if sys.platform == "linux":
        forks = count()
        os.register_at_fork(before=lambda: _gather_if_due(next(forks)))


def _gather_if_due(n_forks: int) -> None:
    if n_forks % FORKS_BETWEEN == FORKS_BEFORE:
        gather_memory()


def gather_memory() -> None:
    """Let the system put this process's own memory into huge pages, where it can.

    It is no error where it cannot: nothing but the time of a fork depends on it.
    """
    system = ctypes.CDLL(None)
    for start, end in _huge_ranges(Path("/proc/self/maps").read_text("utf-8")):
        length = ctypes.c_size_t(end - start)
        system.madvise(ctypes.c_void_p(start), length, MADV_COLLAPSE)


def _huge_ranges(maps: str) -> Iterator[tuple[int, int]]:
    """Yield those ranges of the process's own memory that huge pages may fill."""
    for line in maps.splitlines():
        addresses, rights, _offset, _device, _inode, *name = line.split()
        is_own = rights == "rw-p" and name in ([], ["[heap]"])
        start, end = (int(address, 16) for address in addresses.split("-"))
        first = -(-start // HUGE_PAGE) * HUGE_PAGE
        last = end // HUGE_PAGE * HUGE_PAGE
        if is_own and first < last:
            yield first, last
