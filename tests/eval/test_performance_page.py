"""The page on performance: what it says of rows that were measured."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from benchmarks import growth, page, table
from benchmarks.measure import Amounts, BenchRow, Ground, Round


@contextmanager
def _fixed(ours: float) -> Iterator[Round]:
    yield lambda: Amounts(ours, 2.0)


def row_of(name: str, ours: float) -> BenchRow:
    def prepare(_: Ground) -> Any:
        return _fixed(ours)

    return BenchRow(name, f"{name} of ours", "a peer", prepare)


def test_the_page_names_the_rows_in_which_a_peer_is_faster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [row_of("slow", 6.0), row_of("fast", 1.0)]
    monkeypatch.setattr(table, "chosen", lambda _names: rows)
    sizes: list[list[int]] = []

    def measured_growth(asked: list[int], **_: Any) -> growth.MeasuredGrowth:
        sizes.append(asked)
        amounts = {"seconds": [1.0, 2.0], "growth": {"seconds": None}}
        return growth.MeasuredGrowth([1_000, 10_000], {"open": amounts}, "a machine")

    monkeypatch.setattr(growth, "measured_growth", measured_growth)
    words = ["page", "--scale", "1k", "--grow-to", "10k", "--docs", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", [*words, "--json"])
    with pytest.raises(SystemExit) as ended:
        page.main()
    assert ended.value.code == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["rows"] == 2
    assert answer["peers_faster"] == ["slow (1k)"]
    assert sizes == [[1_000, 10_000]]
    text = (tmp_path / "performance.md").read_text(encoding="utf-8")
    assert "The peer is faster in: slow." in text
    assert "| slow | slow of ours | a peer | 3.00 [3.00–3.00] |" in text
    assert "| open | seconds | 1.00 | 2.00 |" in text
    assert (tmp_path / "pictures/growth.png").stat().st_size > 1_000


def test_a_page_of_rows_that_are_all_faster_says_so() -> None:
    lines = [table.BenchLine(row_of("fast", 1.0), [0.5])]
    assert "No peer is faster." in page.scale_section(lines, 1_000, 3)
