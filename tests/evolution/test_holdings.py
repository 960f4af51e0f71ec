"""The status says what a home holds, and what waits in it for which command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from conftest import DAY, NOW, observation

from theorex_lab import (
    Design,
    FixedClock,
    HashedNgramEmbedder,
    Lab,
    installed,
    new_event,
)
from theorex_lab.app.cli import theorex
from theorex_lab.evolution.maintained import last_maintenance, waiting_for_maintenance
from theorex_lab.evolution.outcomes import OutcomeLog
from theorex_lab.evolution.replay import replay_maintenance
from theorex_lab.journal.replayed import ReplayedJournal
from theorex_lab.memory.contract import Holding

pytestmark = pytest.mark.usefixtures("every_design_active")

UNSEEN = "events that no maintenance has read"
WEEK = 7 * DAY


def _lab(folder: Path, now: int = NOW, **options: Any) -> Lab:
    return Lab(folder, clock=FixedClock(now), embedder=HashedNgramEmbedder(), **options)


def _capture(lab: Lab, at: int, text: str = "Mend the ledger parser.") -> None:
    body = {"text": text, "source": "user", "project": ""}
    event = new_event("prompt", body, agent="main", session=f"day-{at // DAY}", at=at)
    lab.journal.append([event])


def _waits(lab: Lab) -> dict[str, tuple[int, str]]:
    rows = lab.status()["waits"]
    return {row["what"]: (row["n"], row["do"]) for row in rows}


def test_sessions_that_were_imported_wait_for_a_replay(tmp_path: Path) -> None:
    with _lab(tmp_path) as lab:
        _capture(lab, NOW - WEEK)
        _capture(lab, NOW - WEEK + DAY)
        waits = _waits(lab)
        assert waits[UNSEEN] == (2, "theorex maintain --replay")
        assert waits["messages not yet read for facts"] == (
            2,
            "theorex maintain --replay",
        )
        assert waits["sessions not yet read for concepts"][0] == 2
        lab.replay(vectors=False, progress=False)
        assert UNSEEN not in _waits(lab)
        assert "sessions not yet in short" not in _waits(lab)


def test_what_was_captured_today_waits_for_maintenance(tmp_path: Path) -> None:
    with _lab(tmp_path) as lab:
        _capture(lab, NOW - 5)
        assert _waits(lab)[UNSEEN] == (1, "theorex maintain")
        lab.maintain(reviewer="heuristic")
        assert UNSEEN not in _waits(lab)
        _capture(lab, NOW - 4)
        assert _waits(lab)[UNSEEN] == (1, "theorex maintain")


def test_what_is_captured_after_a_replay_waits(tmp_path: Path) -> None:
    with _lab(tmp_path) as lab:
        _capture(lab, NOW - WEEK)
        lab.replay(vectors=False, progress=False)
        _capture(lab, NOW - WEEK)
        _capture(lab, NOW - 2 * WEEK)
        _capture(lab, NOW - 1)
        assert _waits(lab)[UNSEEN][0] == 3


def test_days_that_a_killed_replay_left_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hand_on = ReplayedJournal.unstored
    evenings = []

    def killed(journal: ReplayedJournal) -> list[Any]:
        evenings.append(journal)
        if len(evenings) > 1:
            raise KeyboardInterrupt
        return hand_on(journal)

    with _lab(tmp_path) as lab:
        for days in (20, 10, 9):
            _capture(lab, NOW - days * DAY)
        monkeypatch.setattr(ReplayedJournal, "unstored", killed)
        with pytest.raises(KeyboardInterrupt):
            lab.replay(vectors=False, progress=False)
        assert _waits(lab)[UNSEEN] == (2, "theorex maintain --replay")


def test_only_what_the_agent_left_is_counted(tmp_path: Path) -> None:
    with _lab(tmp_path) as lab:
        _capture(lab, NOW - 5)
        assert waiting_for_maintenance(lab.home, "main").n == 1
        assert waiting_for_maintenance(lab.home, "other").n == 0


def test_the_status_says_what_each_design_holds(tmp_path: Path) -> None:
    def holdings(_home: object, agent: str | None) -> list[Holding]:
        return [
            Holding("memos", 3 if agent is None else 1),
            Holding("memos without a title", 2, "theorex memos title"),
            Holding("memos without a date", 0, "theorex memos date"),
        ]

    memos = Design("memos", holdings=holdings)
    with _lab(tmp_path, designs=[*installed(), memos]) as lab:
        lab.journal.append([observation("x", labels=["cache"], at=NOW)])
        status = lab.status()
        assert {"what": "memos", "n": 3} in status["holds"]
        assert {"what": "memos", "n": 1} in lab.status(agent="main")["holds"]
        assert _waits(lab)["memos without a title"] == (2, "theorex memos title")
        assert "memos without a date" not in _waits(lab)
        held = {row["what"]: row["n"] for row in status["holds"]}
    assert held["concepts"] == 1
    assert held["sessions"] == 1
    for name in ("facts", "procedures", "insights", "fix templates"):
        assert held[name] == 0


def test_outcomes_and_failures_wait_for_their_commands(tmp_path: Path) -> None:
    with _lab(tmp_path) as lab:
        OutcomeLog(lab.home).record("main", "d", "r", success=False)
        waits = _waits(lab)
    assert waits["outcomes without a judge's score"] == (1, "theorex outcomes --judge")
    assert waits["failures without a review"] == (1, "theorex review")


def test_a_replay_is_dated_by_when_it_ran(tmp_path: Path) -> None:
    with _lab(tmp_path) as lab:
        assert last_maintenance(lab.home) is None
        _capture(lab, NOW - WEEK)
        lab.replay(vectors=False, progress=False)
        last = last_maintenance(lab.home)
        assert last is not None
        assert last.at == NOW
        assert last.replayed_to is not None
        assert last.replayed_to // DAY == (NOW - WEEK) // DAY + 1
        lab.maintain(reviewer="heuristic")
        last = last_maintenance(lab.home)
        assert last is not None
        assert (last.at, last.replayed_to) == (NOW, None)


def test_doctor_and_status_say_so_in_words(tmp_path: Path) -> None:
    with Lab(tmp_path, embedder=HashedNgramEmbedder()) as lab:
        now = lab.clock.now()
        _capture(lab, now - WEEK)
    runner = CliRunner()
    home = ["--home", str(tmp_path)]
    waiting = runner.invoke(theorex, [*home, "status"]).output
    assert f"waits     1 {UNSEEN} → theorex maintain --replay" in waiting
    doctor = runner.invoke(theorex, [*home, "doctor", "--json"])
    assert _maintenance_finding(doctor.stdout)["do"] == "theorex maintain --replay"
    with Lab(tmp_path, embedder=HashedNgramEmbedder()) as lab:
        replay_maintenance(lab.home, review=lambda *_, **__: (), embeds=False)
    doctor = runner.invoke(theorex, [*home, "doctor", "--json"])
    finding = _maintenance_finding(doctor.stdout)
    assert finding["level"] == "ok"
    assert "it last ran 0.0 days ago and replayed the days up to 20" in finding["said"]


def _maintenance_finding(printed: str) -> dict[str, str]:
    findings = json.loads(printed)["findings"]
    (finding,) = [row for row in findings if row["what"] == "maintenance"]
    return dict(finding)
