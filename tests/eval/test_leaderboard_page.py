"""The page that compares memories on public logs: its tables, pins, and what went wrong."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import leaderboard
from theorex_lab.core.errors import InvalidInput
from theorex_lab.eval import load_session_needs

pytestmark = pytest.mark.usefixtures("shared_logs")

SET = "simulated_questions/harbour fees"
MEMORIES = ["sessions", "fts5", "full_history"]


def run(
    words: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> tuple[int, Any]:
    monkeypatch.setattr(sys, "argv", ["leaderboard", *words, "--json"])
    with pytest.raises(SystemExit) as ended:
        leaderboard.main()
    code = ended.value.code
    assert isinstance(code, int)
    return code, json.loads(capsys.readouterr().out)


def test_the_page_has_a_row_for_each_memory_and_goes_on_where_it_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    words = ["--out", str(tmp_path / "out"), "--docs", str(docs), "--any-versions"]
    words += ["--set", SET]
    for name in MEMORIES:
        words += ["--memory", name]
    code, answer = run(words, monkeypatch, capsys)
    assert code == 0
    assert answer["memories"] == MEMORIES
    assert answer["problems"] == []
    page = (docs / "leaderboard.md").read_text(encoding="utf-8")
    [row] = [line for line in page.splitlines() if line.startswith("| `full_history`")][
        :1
    ]
    assert "[" in row
    assert "▼" in row, "the newest that was said answers fewer of the questions"
    assert (docs / "pictures/leaderboard.png").stat().st_size > 1_000

    trials = list((tmp_path / "out/simulated_questions-harbour fees/trials").iterdir())
    times = {file.name: file.stat().st_mtime_ns for file in trials}
    code, _ = run(words, monkeypatch, capsys)
    assert code == 0
    assert page == (docs / "leaderboard.md").read_text(encoding="utf-8")
    assert times == {file.name: file.stat().st_mtime_ns for file in trials}


def test_needs_are_shown_by_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load() -> list[Any]:
        return load_session_needs("simulated_sessions")

    monkeypatch.setattr("theorex_lab.eval.load_session_needs", load)
    monkeypatch.setattr(leaderboard, "NEEDS_SYSTEMS", ("nothing",))
    sets = ["session_needs/simulated_sessions"]
    needs = leaderboard.needs_of(MEMORIES, sets, tmp_path / "out", 1)
    assert needs.projects == ["simulated_sessions"]
    again = leaderboard.needs_of(MEMORIES, ["session_needs"], tmp_path / "out", 1)
    assert again.n_taken_over == len(again.systems)
    assert needs.systems == ["nothing", "fts5", "full_history"]
    leaderboard.write_page({}, needs, {"chromadb": "1"}, tmp_path)
    page = (tmp_path / "leaderboard.md").read_text(encoding="utf-8")
    assert "| memory | simulated_sessions | all |" in page
    assert "| `nothing` | 0.00 [0.00, 0.00] | 0.00 [0.00, 0.00] |" in page
    assert "Measured with chromadb 1." in page


def test_other_versions_than_the_pinned_ones_are_refused() -> None:
    pinned = leaderboard.pinned_versions()
    assert {"chromadb", "mem0ai", "langgraph"} <= set(pinned)
    leaderboard.check_versions(pinned)
    with pytest.raises(
        InvalidInput, match=r"chromadb 0\.1, not .*mem0ai not installed"
    ):
        leaderboard.check_versions({**pinned, "chromadb": "0.1", "mem0ai": ""})
