"""The bench: every row runs end to end at a tiny size, and the table says what was
measured; no figure is judged.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import Ended

from benchmarks import __main__ as command
from benchmarks import peers, table
from benchmarks.measure import NOW, Amounts, BenchRow, Ground, Round, lay_home
from benchmarks.table import BenchLine
from theorex_lab import FixedClock, InvalidInput, Lab
from theorex_lab.journal.event import Event
from theorex_lab.journal.view import differing_columns, fold_into

TINY = 40
ROWS = table.rows()
Bench = Callable[..., Ended]


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Bench:
    """Run the bench in this process."""

    def run(*arguments: str) -> Ended:
        monkeypatch.setattr(sys, "argv", ["bench", *arguments])
        with pytest.raises(SystemExit) as ended:
            command.main()
        captured = capsys.readouterr()
        return Ended(int(ended.value.code or 0), captured.out, captured.err)

    return run


@contextmanager
def _halves(ground: Ground) -> Iterator[Round]:
    """Ours takes 1 and 2, the peer 4."""
    amounts = iter([1.0, 1.0, 2.0])
    yield lambda: Amounts(next(amounts), 4.0)


def row_of(**more: Any) -> BenchRow:
    return BenchRow(
        **(
            {
                "name": "halves",
                "about": "half of it",
                "peer": "all of it",
                "prepare": _halves,
            }
            | more
        )
    )


@pytest.fixture
def halves(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of one row that measures nothing."""
    monkeypatch.setattr(
        table, "rows", lambda: {"halves": row_of(at_most=0.3, target_from=1)}
    )
    for variable in command.THREADS:
        monkeypatch.setenv(variable, "1")


@pytest.mark.parametrize("name", ROWS)
def test_every_row_runs_or_says_what_to_install(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # numba would compile a peer for ten seconds to measure it for a millisecond. No
    # figure is judged here.
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    row = ROWS[name]
    line = table.measure(row, scale=TINY, rounds=1)
    if row.needs and line.skipped:
        assert line.skipped == "pip install 'theorex-lab[bench]'"
    else:
        assert min(line.ratios) > 0


def test_a_peer_that_is_not_installed_skips_the_row() -> None:
    row = row_of(needs=("json", "no_such_module"))
    line = table.measure(row, scale=TINY, rounds=2)
    assert "skipped: pip install 'theorex-lab[bench]'" in str(line)
    assert line.result()["skipped"]


def test_one_pass_opens_the_views_that_folds_apart_give(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_events = 4_000  # more than one batch, and enough for a snapshot
    home_folder = lay_home(tmp_path, n_events)
    with Lab(home_folder, clock=FixedClock(NOW)) as lab:
        journal = lab.journal
        last = journal.last_seq()
        apart = [kind() for kind in peers.folded_kinds(lab.home)]
        for view in apart:
            fold_into(view, journal, last)
        starts: list[int] = []
        tail = journal.tail

        def noted_tail(after: int, **more: Any) -> Iterator[Event]:
            starts.append(after)
            return tail(after, **more)

        monkeypatch.setattr(journal, "tail", noted_tail)
        saved = tmp_path / "saved"
        opened = peers.opened_in_one_pass(lab.home, saved)
        passes = starts.count(0)
        starts.clear()
        peers.opened_in_one_pass(lab.home, saved)
    assert len(opened) == len(apart) > 1
    for view, other in zip(opened, apart, strict=True):
        assert view.seq == other.seq == last
        assert differing_columns(view, other) == []
    assert passes == 1
    assert 0 not in starts, "the snapshots were written"


def test_an_unknown_row_is_refused_with_those_there_are(bench: Bench) -> None:
    ended = bench("scam", "--json")
    assert (ended.code, "got the row 'scam'; allowed are" in ended.json["error"]) == (
        1,
        True,
    )
    with pytest.raises(InvalidInput, match="hybrid"):
        table.chosen(["scam"])


def test_the_table_shows_median_range_target_and_machine(
    halves: None, bench: Bench
) -> None:
    ended = bench("--rounds", "2")
    assert (
        "| halves | half of it | all of it | 0.375 [0.250–0.500] | ≤ 0.3 **missed** |"
        in ended.out
    )
    assert f"Python {sys.version.split()[0]}" in ended.out


def test_an_interrupted_run_keeps_what_was_measured(
    halves: None, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def interrupted(ground: Ground) -> Iterator[Round]:
        raise KeyboardInterrupt
        yield

    rows = {"halves": row_of(), "late": row_of(name="late", prepare=interrupted)}
    monkeypatch.setattr(table, "rows", lambda: rows)
    ended = bench("--rounds", "1", "--json")
    assert (ended.code, ended.json["error"]) == (1, "interrupted")
    assert [line["row"] for line in ended.json["lines"]] == ["halves"]


def test_no_figure_of_a_line_is_typed_by_hand() -> None:
    """Every digit stands in the row's own words or its target, or is one of the ratios."""
    line = BenchLine(row_of(at_most=2.0), [0.123, 45.6, 7890.0])
    assert re.findall(r"\d[\d.,]*", str(line)) == ["45.6", "0.123", "7,890", "2"]
    assert not re.search(r"\d", table.HEAD)
    for row in ROWS.values():
        assert not re.search(r"\d\.\d|\b\d+ ?(×|%|ms|µs)", f"{row.about} {row.peer}"), (
            row.name
        )


def test_the_command_imports_no_peer() -> None:
    """Listing, and collecting doctests, load none of what may not be installed."""
    modules = sorted(
        {name.split(".")[0] for row in ROWS.values() for name in row.needs}
    )
    code = "from benchmarks import table; table.rows(); import sys; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert modules
    assert not set(modules) & set(loaded.split())
