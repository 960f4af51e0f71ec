"""`theorex bench`: every row runs end to end at a tiny size, and the table says what was measured; no figure is judged."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import Run

from theorex_lab.cli import research as command
from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.bench import systems, table
from theorex_lab.experiments.bench.measure import Amounts, BenchRow, Ground, Round
from theorex_lab.experiments.bench.table import BenchLine

TINY = 40
ROWS = table.rows()


@contextmanager
def _halves(ground: Ground) -> Iterator[Round]:
    """Ours takes 1 and 2, the peer 4, in what it does first and then."""
    amounts = iter([1.0, 1.0, 2.0])
    yield lambda: (Amounts(next(amounts), 4.0, "first"),)


def row_of(**more: Any) -> BenchRow:
    return BenchRow(**({"name": "halves", "about": "half of it", "peer": "all of it", "prepare": _halves} | more))


@pytest.fixture
def halves(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of one row that measures nothing."""
    monkeypatch.setattr(table, "rows", lambda: {"halves": row_of(at_most=0.3, target_from=1)})
    for variable in command._THREADS:
        monkeypatch.setenv(variable, "1")


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if not name.startswith("store-")])
def test_every_row_runs_or_says_what_to_install(name: str) -> None:
    row = ROWS[name]
    lines = list(table.measure(row, scale=TINY, rounds=1))
    assert lines
    for line in lines:
        if row.needs and line.skipped:
            assert line.skipped == f"pip install 'theorex-lab[{row.extra}]'"
        else:
            assert all(ratio > 0 for ratio in line.ratios)


def test_a_store_is_measured_in_processes_of_its_own() -> None:
    lines = list(table.measure(ROWS["store-fts5"], scale=TINY, rounds=1))
    assert [line.what for line in lines] == [
        "add", "search", "add one and find it", "bytes on disk", "peak memory, process", "open and search, process",
    ]  # fmt: skip
    assert all(line.ratios[0] > 0 for line in lines)


@pytest.mark.parametrize("name", ["theorex", "fts5"])
def test_systems_find_what_they_were_given_also_when_opened_again(tmp_path: Path, name: str) -> None:
    took = systems.fill(systems.SYSTEMS[name](tmp_path), tmp_path, TINY)
    assert took["bytes on disk"] > 0
    again = systems.SYSTEMS[name](tmp_path)
    text, vector = next((texts[3], vectors[3]) for texts, vectors in systems.batches(TINY))
    assert again.search(text, vector)[0] == text
    again.close()


def test_a_system_that_does_not_find_what_was_added_is_no_peer(tmp_path: Path) -> None:
    class Forgetful(systems.Fts5):
        def search(self, *_: Any) -> list[str]:
            return []

    with pytest.raises(LookupError, match="Forgetful did not find"):
        systems.fill(Forgetful(tmp_path), tmp_path, TINY)


def test_a_peer_that_is_not_installed_skips_the_row() -> None:
    row = row_of(needs=("json", "no_such_module"), extra="bench")
    [line] = table.measure(row, scale=TINY, rounds=2)
    assert "skipped: pip install 'theorex-lab[bench]'" in str(line)
    assert line.result()["skipped"]


def test_an_unknown_row_is_refused_with_those_there_are(run: Run) -> None:
    ended = run("bench", "scam", "--json")
    assert (ended.code, "got the row 'scam'; allowed are" in ended.json["error"]) == (1, True)
    with pytest.raises(InvalidInput, match="scan"):
        table.chosen(["scam"])


def test_the_table_shows_median_range_target_and_machine(halves: None, run: Run) -> None:
    ended = run("bench", "--rounds", "2")
    assert "| halves | half of it | all of it: first | 0.375 [0.250–0.500] | ≤ 0.3 **missed** |" in ended.out
    assert f"Python {sys.version.split()[0]}" in ended.out


def test_an_interrupted_run_keeps_what_was_measured(halves: None, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def interrupted(ground: Ground) -> Iterator[Round]:
        raise KeyboardInterrupt
        yield

    rows = {"halves": row_of(), "late": row_of(name="late", prepare=interrupted)}
    monkeypatch.setattr(table, "rows", lambda: rows)
    ended = run("bench", "--rounds", "1", "--json")
    assert (ended.code, ended.json["error"]) == (1, "interrupted")
    assert [line["row"] for line in ended.json["lines"]] == ["halves"]


def test_no_figure_of_a_line_is_typed_by_hand() -> None:
    """Every digit stands in the row's own words or its target, or is one of the ratios."""
    line = BenchLine(row_of(at_most=2.0), "", [0.123, 45.6, 7890.0])
    assert re.findall(r"\d[\d.,]*", str(line)) == ["45.6", "0.123", "7,890", "2"]
    assert not re.search(r"\d", table.HEAD)
    for row in ROWS.values():
        assert not re.search(r"\d\.\d|\b\d+ ?(×|%|ms|µs)", f"{row.about} {row.peer}"), row.name


def test_the_command_imports_no_peer() -> None:
    """Listing, and collecting doctests, load none of what may not be installed."""
    modules = sorted({name.split(".")[0] for row in ROWS.values() if row.extra == "bench" for name in row.needs})
    code = "from theorex_lab.experiments.bench import systems, table; table.rows(); import sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert modules
    assert not set(modules) & set(loaded.split())
