"""The rows by name, their measurement one after the other, and the lines of the table."""

from __future__ import annotations

import gc
import os
import sqlite3
import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.bench.measure import ROWS, BenchRow, Ground
from theorex_lab.experiments.data import local_runs

FAMILIES = ("computing", "memory", "processes", "facts", "dreams")
SCALES = {"10k": 10_000, "100k": 100_000}
HEAD = "| row | measured | beside | ours ÷ peer, median [min–max] | target |\n|---|---|---|---|---|"
_PACKAGES = (
    "theorex-lab", "numpy", "pandas", "networkx", "rank-bm25", "bm25s", "numba", "mcp", "chromadb", "mem0ai",
    "faiss-cpu", "onnxruntime",
)  # fmt: skip


class BenchLine(NamedTuple):
    """A line of the table: the ratio of every round, or why there is none."""

    row: BenchRow
    what: str
    ratios: Sequence[float] = ()
    skipped: str = ""

    @property
    def at_most(self) -> float | None:
        """The target of this line."""
        target = self.row.at_most
        return target.get(self.what) if isinstance(target, Mapping) else target

    def result(self) -> dict[str, Any]:
        """The line as JSON holds it."""
        row = self.row
        told = {"row": row.name, "about": row.about, "peer": row.peer, "what": self.what, "at_most": self.at_most}
        if self.skipped:
            return {**told, "skipped": self.skipped}
        return {**told, "ratios": list(self.ratios), "median": statistics.median(self.ratios)}

    def __str__(self) -> str:
        row = self.row
        target = "" if self.at_most is None else f"≤ {self.at_most:g}"
        peer = f"{row.peer}: {self.what}" if self.what else row.peer
        if self.skipped:
            return f"| {row.name} | {row.about} | {peer} | skipped: {self.skipped} | {target} |"
        low, high = number(min(self.ratios)), number(max(self.ratios))
        median = statistics.median(self.ratios)
        missed = " **missed**" if self.at_most is not None and median > self.at_most else ""
        return f"| {row.name} | {row.about} | {peer} | {number(median)} [{low}–{high}] | {target}{missed} |"


def number(value: float) -> str:
    """Three significant digits, or the whole number where it has more.

    >>> number(0.98765), number(1.0), number(123456.7)
    ('0.988', '1.00', '123,457')
    """
    return f"{value:,.0f}" if value >= 100 else f"{value:#.3g}"


def rows() -> dict[str, BenchRow]:
    """All rows by name."""
    for family in FAMILIES:
        import_module(f"theorex_lab.experiments.bench.{family}")
    return ROWS


def chosen(names: Sequence[str]) -> list[BenchRow]:
    """The rows of these names, all where none is given. Raises InvalidInput for an unknown name."""
    known = rows()
    if unknown := [name for name in names if name not in known]:
        raise InvalidInput(f"got the row {unknown[0]!r}; allowed are {', '.join(known)}")
    return [known[name] for name in names or known]


def measure(row: BenchRow, *, scale: int, rounds: int) -> Iterator[BenchLine]:
    """The lines of one row, from a folder of its own that is gone afterwards; skipped where its peer is not installed."""
    if scale < row.target_from:
        row = replace(row, at_most=None)
    if any(find_spec(module) is None for module in row.needs):
        yield BenchLine(row, "", skipped=f"pip install 'theorex-lab[{row.extra}]'")
        return
    with (
        tempfile.TemporaryDirectory(prefix="theorex-bench-", ignore_cleanup_errors=True) as folder,
        row.prepare(Ground(Path(folder), scale)) as one_round,
    ):
        if row.most_rounds is None:
            list(one_round())
        gc.collect()
        gc.freeze()  # what was laid is no business of the collector while either side is measured
        ratios: dict[str, list[float]] = {}
        for _ in range(min(rounds, row.most_rounds or rounds)):
            for amounts in one_round():
                ratios.setdefault(amounts.what, []).append(amounts.ours / amounts.peer)
        gc.unfreeze()
    yield from (BenchLine(row, what, found) for what, found in ratios.items())


def machine(scale: int, rounds: int) -> str:
    """One line: what was measured with, and on what."""
    here, load = local_runs.machine(_PACKAGES), os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    packages = ", ".join(f"{name} {version}" for name, version in here["packages"].items())
    return (
        f"{scale:,} rows, {rounds} rounds; Python {here['python']}, SQLite {sqlite3.sqlite_version}, {packages}; "
        f"{here['system']}, {here['cores']} processors" + ("" if load is None else f", load {load:.1f}")
    )
