"""Inputs that the evidence table, the matrix and the traces refuse, each before
anything is counted.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW

from theorex_lab import FixedClock, InvalidInput
from theorex_lab.dispatch.traces import trace
from theorex_lab.journal.sqlite.store import SqliteJournal
from theorex_lab.journal.view import Views
from theorex_lab.memory.evidence import EvidenceTable
from theorex_lab.memory.intervals import wilson
from theorex_lab.routing.confidence import matrix

GOOD: dict[str, Any] = {"at": NOW, "latency_ms": 1.0, "tokens": 1, "cost": 0.0}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"success": "yes"}, "allowed is True or False"),
        ({"success": None}, "allowed is True or False"),
        ({"success": 0.5}, "allowed is True or False"),
        ({"at": 2**63}, "microseconds"),
        ({"at": -(2**62)}, "microseconds"),
        ({"latency_ms": -1.0}, "finite numbers from 0"),
        ({"tokens": -1}, "finite numbers from 0"),
        ({"cost": math.inf}, "finite numbers from 0"),
        ({"latency_ms": -math.inf}, "finite numbers from 0"),
        ({"key": 5}, "allowed are texts"),
        ({"option": None}, "allowed are texts"),
    ],
)
def test_a_run_that_is_refused_counts_nothing(
    changed: dict[str, Any], message: str
) -> None:
    table = EvidenceTable()
    table.add("k", "m", True, **GOOD)
    with pytest.raises(InvalidInput, match=message):
        table.add(**{"key": "k", "option": "m", "success": True, **GOOD, **changed})
    assert len(table) == 1
    assert table.cells().n.tolist() == [1.0]
    assert table.cells().cost.tolist() == [0.0]


@pytest.mark.parametrize(
    ("now", "half_life_days"),
    [(None, 7.0), (NOW, 0.0), (NOW, -1.0), (NOW, math.nan), (NOW, math.inf)],
)
def test_a_half_life_is_a_number_of_days_from_now(
    now: int | None, half_life_days: float
) -> None:
    with pytest.raises(InvalidInput, match="days above 0"):
        EvidenceTable().cells(now=now, half_life_days=half_life_days)


@pytest.mark.parametrize(
    ("successes", "n"), [(2, 1), (-1, 3), (math.nan, 1), (1, math.nan), (1, math.inf)]
)
def test_wilson_wants_successes_among_runs(successes: float, n: float) -> None:
    with pytest.raises(InvalidInput, match="0 <= successes <= n"):
        wilson(successes, n)


@pytest.mark.parametrize("z", [0.0, -1.96, math.nan, math.inf])
def test_wilson_wants_a_width(z: float) -> None:
    with pytest.raises(InvalidInput, match="z = "):
        wilson(1, 2, z)


@pytest.mark.parametrize(
    "wrong",
    [
        {"min_samples": -1},
        {"min_samples": math.nan},
        {"success_weight": 1.01},
        {"success_weight": math.nan},
    ],
)
def test_the_matrix_wants_its_ranges(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidInput, match="min_samples"):
        matrix(EvidenceTable().cells(), **wrong)


@pytest.mark.parametrize("trace_id", [None, 5, "parse-spür", "\ud800"])
def test_a_trace_id_is_plain_text(tmp_path: Path, trace_id: Any) -> None:
    journal = SqliteJournal(tmp_path / "theorex.db", clock=FixedClock(NOW))
    with pytest.raises(InvalidInput, match="allowed are 1 to 128"):
        trace(Views(journal, tmp_path / "views"), trace_id)
    journal.close()
