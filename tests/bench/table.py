"""Run the benchmarks and print the table of the README: `python tests/bench/table.py [pytest options]`."""

# ruff: noqa: T201
from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
COMMAND = (
    sys.executable, "-m", "pytest", str(HERE), "--override-ini", "addopts=", "--ignore", str(HERE / "test_soak.py"),
)  # fmt: skip


def main(options: list[str]) -> int:
    """Run every benchmark, print one line each, and return pytest's exit code: 0 where every target is reached."""
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "record.json"
        done = subprocess.run([*COMMAND, f"--benchmark-json={record}", *options], stdout=sys.stderr, check=False)
        taken = json.loads(record.read_bytes())["benchmarks"] if record.exists() else []
        # One that failed before its figures were noted has none; the exit code tells.
        rows = [entry["extra_info"] for entry in taken if "ratios" in entry["extra_info"]]
    print("| path | against | median [min–max] | target | reached |", "|---|---|---|---|---|", sep="\n")
    for row in rows:
        print(line(row))
    return done.returncode


def line(row: dict[str, Any]) -> str:
    """One line of the table.

    >>> line({"path": "a", "peer": "b", "ratios": [1.0, 2.5], "median": 1.75, "target": "≤ 3", "reached": True})
    '| a | b | 1.75 [1.00–2.50] | ≤ 3 | yes |'
    """
    low, high = _number(min(row["ratios"])), _number(max(row["ratios"]))
    reached = "yes" if row["reached"] else "**no**"
    return f"| {row['path']} | {row['peer']} | {_number(row['median'])} [{low}–{high}] | {row['target']} | {reached} |"


def _number(value: float) -> str:
    """Three significant digits, or the whole number where it has more.

    >>> _number(0.98765), _number(123456.7)
    ('0.988', '123,457')
    """
    return f"{value:,.0f}" if value >= 100 else f"{value:.{2 if value >= 1 else 3}f}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
