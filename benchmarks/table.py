"""The rows by name, their measurement one after the other, and the lines of the table."""

import gc
import os
import sqlite3
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.measure import ROWS, BenchRow, Ground
from theorex_lab.core.errors import InvalidInput
from theorex_lab.eval.datasets import recorded_runs

SCALES = {"1k": 1_000, "10k": 10_000, "100k": 100_000}
HEAD = "| row | measured | beside | ours ÷ peer, median [min–max] | target |\n|---|---|---|---|---|"
_PACKAGES = (
    "theorex-lab numpy pandas networkx rank-bm25 bm25s numba mcp onnxruntime".split()
)


class BenchLine(NamedTuple):
    """A line of the table: the ratio of every round, or why there is none."""

    row: BenchRow
    ratios: Sequence[float] = ()
    skipped: str = ""

    def result(self) -> dict[str, Any]:
        """Return the line as JSON holds it."""
        row = self.row
        members = {
            "row": row.name,
            "about": row.about,
            "peer": row.peer,
            "at_most": row.at_most,
        }
        if self.skipped:
            return {**members, "skipped": self.skipped}
        return {
            **members,
            "ratios": list(self.ratios),
            "median": statistics.median(self.ratios),
        }

    def __str__(self) -> str:
        row = self.row
        measured = f"skipped: {self.skipped}"
        missed = ""
        if not self.skipped:
            low = min(self.ratios)
            middle = statistics.median(self.ratios)
            high = max(self.ratios)
            measured = f"{number(middle)} [{number(low)}–{number(high)}]"
            missed = (
                " **missed**"
                if row.at_most is not None and middle > row.at_most
                else ""
            )
        target = "" if row.at_most is None else f"≤ {row.at_most:g}{missed}"
        return f"| {row.name} | {row.about} | {row.peer} | {measured} | {target} |"


def number(value: float) -> str:
    """Return three significant digits, or the whole number where it has more.

    >>> number(0.98765), number(1.0), number(123456.7)
    ('0.988', '1.00', '123,457')
    """
    return f"{value:,.0f}" if value >= 100 else f"{value:#.3g}"


def rows() -> dict[str, BenchRow]:
    """Return all rows by name."""
    for family in ("peers", "stores", "designs"):
        import_module(f"benchmarks.{family}")
    return ROWS


def chosen(names: Sequence[str]) -> list[BenchRow]:
    """Return the rows of these names, all where none is given. Raises InvalidInput for
    an unknown name.
    """
    all_rows = rows()
    if unknown := [name for name in names if name not in all_rows]:
        raise InvalidInput(
            f"got the row {unknown[0]!r}; allowed are {', '.join(all_rows)}"
        )
    return [all_rows[name] for name in names or all_rows]


def measure(row: BenchRow, *, scale: int, rounds: int) -> BenchLine:
    """Return the line of one row, from a folder of its own that is gone afterwards;
    skipped where its peer is not installed.
    """
    if scale < row.target_from:
        row = replace(row, at_most=None)
    if any(find_spec(module) is None for module in row.needs):
        return BenchLine(row, skipped="pip install 'theorex-lab[bench]'")
    scratch = tempfile.TemporaryDirectory(
        prefix="theorex-bench-", ignore_cleanup_errors=True
    )
    with scratch as folder, row.prepare(Ground(Path(folder), scale)) as one_round:
        one_round()
        gc.collect()
        # what was laid is no business of the collector while either side is measured
        gc.freeze()
        ratios = [ours / peer for ours, peer in (one_round() for _ in range(rounds))]
        gc.unfreeze()
    return BenchLine(row, ratios)


def machine(scale: int, rounds: int) -> str:
    """Return one line: what was measured with, and on what."""
    here = recorded_runs.machine(_PACKAGES)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    packages = ", ".join(
        f"{name} {version}" for name, version in here["packages"].items()
    )
    software = f"Python {here['python']}, SQLite {sqlite3.sqlite_version}, {packages}"
    machine = f"{here['system']}, {here['cores']} processors" + (
        "" if load is None else f", load {load:.1f}"
    )
    return f"{scale:,} rows, {rounds} rounds; {software}; {machine}"
