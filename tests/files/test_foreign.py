"""Files that others made: whatever they are, an import reads them to an end or says why
not, and names the file.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_exchange import home, take

from theorex_lab import InvalidInput
from theorex_lab.files.formats import foreign

needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")


@pytest.fixture(autouse=True)
def ends() -> Iterator[None]:
    """What hangs fails."""

    def late(*_: object) -> None:
        raise AssertionError("it has not ended")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(120)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


NAMES = [
    "axon.json",
    "agents/a/axon.json",
    "shared-axon.json",
    "observations.jsonl",
    "short-term/2026-01-01.jsonl",
    "stm.jsonl",
    "outcomes/a.json",
    "traces/a.json",
]


@needs_pipes
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["a pipe", "a folder", "a device"])
def test_what_is_no_file_is_told_and_the_others_are_imported(
    tmp_path: Path, name: str, kind: str
) -> None:
    path = tmp_path / "given" / name
    good = tmp_path / "given" / "outcomes" / "z.json"
    for each in (path, good):
        each.parent.mkdir(parents=True, exist_ok=True)
    good.write_text(json.dumps({"decision": "x", "result": "y", "success": True}))
    make = {
        "a pipe": os.mkfifo,
        "a folder": os.mkdir,
        "a device": lambda at: at.symlink_to("/dev/zero"),
    }
    make[kind](path)
    with home(tmp_path / "home") as lab:
        reports = take(lab, tmp_path / "given")
        (problem,) = (problem for report in reports for problem in report.problems)
        assert f"{path}, which is {kind}" in problem
        assert sum(report.imported for report in reports) == 1
        if kind == "a folder":
            return
        with pytest.raises(InvalidInput, match=f"got {path}"):
            take(lab, path)


@needs_pipes
def test_a_file_that_becomes_a_pipe_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "x")
    found = Path(__file__).stat()
    monkeypatch.setattr(Path, "stat", lambda *_, **__: found)
    with pytest.raises(InvalidInput, match="a pipe"):
        foreign.read_file(tmp_path / "x")
