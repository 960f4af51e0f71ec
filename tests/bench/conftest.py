"""Homes that several benchmarks share, made once a run."""

# ruff: noqa: E402
from __future__ import annotations

import os

# Before numpy is imported: idle threads that wait for work would count as processor time.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

from collections.abc import Callable
from pathlib import Path

import pytest
from corpus import NOW, fill, fill_with_tool_events, home_path, observations

from theorex_lab.clock import FixedClock
from theorex_lab.journal.sqlite.store import SqliteJournal

HomeOf = Callable[[int], Path]


@pytest.fixture(scope="session")
def million_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home whose journal holds a million tool events."""
    home = tmp_path_factory.mktemp("million")
    journal = SqliteJournal(home_path(home), clock=FixedClock(NOW))
    fill_with_tool_events(journal, 1_000_000)
    journal.close()
    return home


@pytest.fixture(scope="session")
def home_of(tmp_path_factory: pytest.TempPathFactory) -> HomeOf:
    """A home with so many observations, the same one for the same number."""
    made: dict[int, Path] = {}

    def make(count: int) -> Path:
        if count not in made:
            made[count] = tmp_path_factory.mktemp(f"home-{count}")
            journal = SqliteJournal(home_path(made[count]), clock=FixedClock(NOW))
            fill(journal, observations(count))
            journal.close()
        return made[count]

    return make
