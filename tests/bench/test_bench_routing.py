"""The confidence matrix from a million records beside pandas, and one record more beside a plain dict."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from corpus import NOW
from measure import compare
from pytest_benchmark.fixture import BenchmarkFixture

from theorex_lab.memory.evidence import AMOUNTS, Coded, EvidenceTable
from theorex_lab.routing.confidence import QUERY_TYPES, MatrixResult, matrix

RECORDS = 1_000_000
KEYS = [f"query_type/{name}" for name in QUERY_TYPES]
MODELS = ["small", "medium", "large", "larger", "largest"]


def records() -> dict[str, Any]:
    """Columns of traces: codes, success, time, latency (some without) and tokens."""
    generator = np.random.default_rng(0)
    latency_ms = generator.gamma(2.0, 500.0, RECORDS)
    latency_ms[generator.random(RECORDS) < 0.03] = np.nan
    return {
        "query_type": generator.integers(0, len(KEYS), RECORDS, dtype=np.int8),
        "model": generator.integers(0, len(MODELS), RECORDS, dtype=np.int8),
        "success": generator.random(RECORDS) < 0.8,
        "at": np.sort(NOW - generator.integers(0, 10**12, RECORDS)),
        "latency_ms": latency_ms,
        "tokens": generator.integers(1, 2_000, RECORDS).astype(np.float64),
    }


def built(columns: dict[str, Any]) -> MatrixResult:
    """The matrix, from the columns to its cells."""
    table = EvidenceTable()
    table.add_columns(
        Coded(columns["query_type"], KEYS), Coded(columns["model"], MODELS), columns["success"], columns["at"],
        columns["latency_ms"], columns["tokens"],
    )  # fmt: skip
    return matrix(table.cells())


def grouped(frame: Any) -> tuple[Any, Any]:
    """Runs, and mean success, latency and tokens by query type and model."""
    groups = frame.groupby(["query_type", "model"], observed=True, sort=False)
    return groups.size(), groups[["success", "latency_ms", "tokens"]].mean()


@pytest.mark.parametrize("kind", ["categoricals", "plain codes"])
def test_matrix_beside_pandas(benchmark: BenchmarkFixture, kind: str) -> None:
    import pandas as pd

    columns = records()
    frame = pd.DataFrame(columns)
    if kind == "categoricals":
        for name, names in (("query_type", KEYS), ("model", MODELS)):
            frame[name] = pd.Categorical.from_codes(columns[name], names)
    sizes, means = grouped(frame)
    for cell in built(columns):
        key, model = KEYS.index(f"query_type/{cell.query_type}"), MODELS.index(cell.model)
        place = (KEYS[key], MODELS[model]) if kind == "categoricals" else (key, model)
        assert cell.n == sizes[place]
        assert np.allclose(means.loc[place], [cell.success_rate, cell.latency_ms, cell.tokens])
    compare(
        benchmark,
        f"confidence matrix of {RECORDS:,} records",
        lambda: built(columns),
        lambda: grouped(frame),
        peer_name=f"pandas groupby, {kind}",
        at_most=0.5,
        rounds=15,
    )


class DictTable:
    """The sums of an EvidenceTable as lists in a dict, without any check."""

    def __init__(self) -> None:
        self.cells: dict[tuple[str, str], list[float]] = {}

    def add(
        self,
        key: str,
        option: str,
        success: bool,
        *,
        at: int,
        latency_ms: float | None = None,
        tokens: float | None = None,
        cost: float | None = None,
    ) -> None:
        """Count one run."""
        cell = self.cells.get((key, option))
        if cell is None:
            cell = self.cells[key, option] = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -math.inf]
        cell[0] += 1.0
        if success:
            cell[1] += 1.0
        if latency_ms is not None:
            cell[2] += latency_ms
            cell[3] += 1.0
        if tokens is not None:
            cell[4] += tokens
            cell[5] += 1.0
        if cost is not None:
            cell[6] += cost
            cell[7] += 1.0
        if at > cell[8]:
            cell[8] = at


def test_one_record_more_beside_a_dict(benchmark: BenchmarkFixture) -> None:
    generator = np.random.default_rng(0)
    runs = [
        ((KEYS[key], MODELS[model], success), {"at": NOW + number, **dict(zip(AMOUNTS, amounts, strict=True))})
        for number, (key, model, success, amounts) in enumerate(
            zip(
                generator.integers(0, len(KEYS), 20_000).tolist(),
                generator.integers(0, len(MODELS), 20_000).tolist(),
                (generator.random(20_000) < 0.8).tolist(),
                generator.gamma(2.0, 500.0, (20_000, len(AMOUNTS))).tolist(),
                strict=True,
            )
        )
    ]
    ours, peer = EvidenceTable(), DictTable()

    def add_all(table: EvidenceTable | DictTable) -> None:
        for names, values in runs:
            table.add(*names, **values)

    compare(
        benchmark,
        "evidence of one record more",
        lambda: add_all(ours),
        lambda: add_all(peer),
        peer_name="a plain dict of the same sums",
        at_most=3,
        rounds=15,
    )
    cells = ours.cells()
    for number, pair in enumerate(zip(cells.keys, cells.options, strict=True)):
        assert (cells.n[number], cells.successes[number], cells.last[number]) == tuple(
            peer.cells[pair][k] for k in (0, 1, 8)
        )
