"""What a session starts with is kept by project and day, and never past an erasure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from theorex_lab import Lab, Settings
from theorex_lab.core.clock import MICROSECONDS_PER_DAY, FixedClock
from theorex_lab.journal.event import Event, new_event
from theorex_lab.memory.briefing import compose, kept_start, personal_rules
from theorex_lab.memory.briefing.compose import (
    kept_start_candidates,
    start_candidates,
)
from theorex_lab.memory.briefing.kept_start import (
    RecordedStart,
    as_json_row,
    line_of_json_row,
    sayings_of_json_rows,
)
from theorex_lab.memory.briefing.rule_reversals import standing_sayings
from theorex_lab.memory.briefing.rule_sayings import Saying, sayings_of
from theorex_lab.memory.briefing.session_log import recorded_sessions
from theorex_lab.search.embed import HashedNgramEmbedder

NOW = 1_770_000_000_000_000
MINUTE = 60_000_000
PROMPTS = (
    "Never push the main branch yourself.",
    "Please look at the till, it rounds half up.",
    "Always run make test before you commit.",
    "The receipts are wrong again, see app/till.py.",
)
WISH = "Always answer me in short sentences, please."


def session_events(project: str, number: int, texts: tuple[str, ...]) -> list[Event]:
    """Return the events of a session that asks, runs a command and answers."""
    events = []
    at = NOW - (20 - number) * 60 * MINUTE
    shared: dict[str, Any] = {
        "agent": "main",
        "session": f"{project}-{number}",
    }
    for text in texts:
        at += MINUTE
        prompt = {"text": text, "source": "user", "project": project}
        call = {
            "tool": "Bash",
            "source": "tool",
            "command": "make test",
            "input": "make test",
            "response": "12 passed",
            "ok": True,
            "paths": {"read": [], "edited": ["app/till.py"]},
            "project": project,
        }
        events.append(new_event("prompt", prompt, at=at, **shared))
        events.append(new_event("tool_used", call, at=at + MINUTE // 2, **shared))
    return events


def fill(lab: Lab) -> None:
    for project in ("till", "shop", "attic"):
        for number in range(4):
            texts = (*PROMPTS, WISH, f"Count the {project} receipts of day {number}.")
            lab.journal.append(session_events(project, number, texts))


def opened_at(folder: Path, now: int = NOW, project: str = "till") -> Lab:
    lab = Lab(
        folder,
        clock=FixedClock(now),
        settings=Settings(snapshot_after_events=5),
        embedder=HashedNgramEmbedder(),
    )
    return lab.in_project(project)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with Lab(tmp_path, clock=FixedClock(NOW)) as lab:
        fill(lab)
    return tmp_path


@pytest.fixture
def n_made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note what is made of events, and not taken from what is kept."""
    made: list[str] = []
    lines = kept_start_candidates
    personal = personal_rules._personal_sayings

    def made_lines(*arguments: Any) -> Any:
        made.append("lines")
        return lines(*arguments)

    def made_personal(*arguments: Any) -> Any:
        made.append("personal")
        return personal(*arguments)

    monkeypatch.setattr(compose, "kept_start_candidates", made_lines)
    monkeypatch.setattr(personal_rules, "_personal_sayings", made_personal)
    return made


def test_another_process_takes_what_is_kept(folder: Path, n_made: list[str]) -> None:
    with opened_at(folder) as lab:
        first = lab.briefing()
    assert sorted(n_made) == ["lines", "personal", "personal"]
    n_made.clear()
    with opened_at(folder) as lab:
        again = lab.briefing()
    assert n_made == []
    assert again.lines == first.lines
    assert again.text == first.text
    assert any("short sentences" in line.text for line in first.lines)


def test_no_session_is_read_where_lines_are_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened_at(folder) as lab:
        first = lab.briefing()

    def refused(*arguments: Any) -> Any:
        raise AssertionError("the sessions are read")

    monkeypatch.setattr(kept_start, "recorded_sessions", refused)
    with opened_at(folder) as lab:
        assert lab.briefing().text == first.text


def test_lines_come_back_as_they_were_made(folder: Path) -> None:
    with opened_at(folder) as lab:
        sessions = recorded_sessions(lab.home, NOW)
        lines = start_candidates(sessions, NOW)
        sayings = list(sayings_of(sessions))
    assert lines
    assert [line_of_json_row(as_json_row(line)) for line in lines] == lines
    assert sayings
    assert sayings_of_json_rows([as_json_row(saying) for saying in sayings]) == sayings


def test_what_is_recorded_in_the_project_makes_them_new(
    folder: Path, n_made: list[str]
) -> None:
    with opened_at(folder) as lab:
        lab.briefing()
    n_made.clear()
    with opened_at(folder) as lab:
        lab.journal.append(session_events("till", 9, ("Never delete a receipt.",)))
    with opened_at(folder) as lab:
        text = lab.briefing().text
    assert n_made == ["lines"]
    assert "Never delete a receipt" in text


def test_what_is_recorded_elsewhere_leaves_them(
    folder: Path, n_made: list[str]
) -> None:
    with opened_at(folder) as lab:
        lab.briefing()
        lab.journal.append(session_events("shop", 9, ("Never delete a receipt.",)))
    n_made.clear()
    with opened_at(folder) as lab:
        lab.briefing()
    assert n_made == ["personal"], "of the other project alone"


def test_the_next_day_makes_them_new(folder: Path, n_made: list[str]) -> None:
    with opened_at(folder) as lab:
        lab.briefing()
    n_made.clear()
    with opened_at(folder, NOW + MICROSECONDS_PER_DAY) as lab:
        lab.briefing()
    assert n_made == ["lines"]


def test_a_time_before_the_newest_event_takes_nothing_that_is_kept(
    folder: Path, n_made: list[str]
) -> None:
    with opened_at(folder) as lab:
        lab.briefing()
    n_made.clear()
    before_last_session = NOW - 17 * 60 * MINUTE - MINUTE
    with opened_at(folder, before_last_session) as lab:
        earlier = RecordedStart(lab.home, before_last_session)
        assert {session.id for session in earlier.sessions} == {
            "till-0",
            "till-1",
            "till-2",
        }
        lab.briefing()
    assert sorted(n_made) == ["lines", "personal", "personal"]


@pytest.fixture
def n_compared(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Note how many sayings are looked at for which of them stand."""
    compared: list[int] = []

    def counted(sayings: Sequence[Saying], later: Sequence[Saying] = ()) -> Any:
        if later:
            compared.append(len(sayings) + len(later))
        return standing_sayings(sayings, later)

    monkeypatch.setattr(personal_rules, "standing_sayings", counted)
    return compared


def test_which_rules_about_the_person_stand_is_kept_without_a_word(
    folder: Path, n_compared: list[int]
) -> None:
    with opened_at(folder) as lab:
        first = lab.briefing()
    (n_sayings,) = n_compared
    assert n_sayings > 2
    with opened_at(folder, NOW + MICROSECONDS_PER_DAY) as lab:
        lab.briefing()
    with opened_at(folder) as lab:
        assert lab.briefing().lines == first.lines
    assert n_compared == [n_sayings], "the same sayings are not looked at again"
    files = [*(folder / "views").glob("standing_sayings@*/*/*.npy")]
    assert files
    assert not [path for path in files if b"sentences" in path.read_bytes()]


def test_other_sayings_are_compared_again(folder: Path, n_compared: list[int]) -> None:
    def text_after(project: str, said: str) -> str:
        with opened_at(folder) as lab:
            lab.journal.append(session_events(project, 9, (said,)))
        with opened_at(folder) as lab:
            return lab.briefing().text

    with opened_at(folder) as lab:
        lab.briefing()
    text_after("shop", "Never delete a receipt without asking me first.")
    text_after("attic", "Never delete a receipt without asking me first.")
    text_after("till", "From now on never answer me in short sentences.")
    assert len(n_compared) == 3, "one project alone says no rule about the person"
    assert len(set(n_compared)) == 3


def test_an_erasure_removes_which_rules_stand(
    folder: Path, n_compared: list[int]
) -> None:
    with opened_at(folder) as lab:
        lab.briefing()
        lab.erase(match="short sentences")
        assert not list((folder / "views").glob("standing_sayings@*/*/*.npy"))


def test_a_small_project_keeps_nothing(tmp_path: Path) -> None:
    with Lab(tmp_path, clock=FixedClock(NOW)) as lab:
        fill(lab)
        lab.in_project("till").briefing()
        assert list(lab.views.folder.glob("*@*")) == []


def test_nothing_erased_stays_in_what_is_kept(folder: Path, n_made: list[str]) -> None:
    with opened_at(folder) as lab:
        lab.briefing()
        assert kept_bytes(folder, "short sentences")
        n_made.clear()
        lab.erase(match="short sentences")
        assert not kept_bytes(folder, "short sentences")
    with opened_at(folder) as lab:
        assert "short sentences" not in lab.briefing().text
    assert "lines" in n_made


def kept_bytes(folder: Path, text: str) -> list[Path]:
    """Return the files of the home's views that hold a text."""
    files = [path for path in (folder / "views").rglob("*") if path.is_file()]
    return [path for path in files if text.encode() in path.read_bytes()]


def test_a_merge_of_projects_makes_them_new(folder: Path, n_made: list[str]) -> None:
    with opened_at(folder) as lab:
        lab.briefing()
        lab.merge_projects("attic", "till")
    n_made.clear()
    with opened_at(folder) as lab:
        lab.briefing()
        sessions = RecordedStart(lab.home, NOW).sessions
    assert "attic-0" in {session.id for session in sessions}


def test_a_damaged_file_is_passed_over(folder: Path, n_made: list[str]) -> None:
    with opened_at(folder) as lab:
        first = lab.briefing()
    for path in (folder / "views").glob("*@*/*/content.npy"):
        content = bytearray(path.read_bytes())
        content[-3] ^= 1
        path.write_bytes(content)
    n_made.clear()
    with opened_at(folder) as lab:
        assert lab.briefing().text == first.text
    assert sorted(n_made) == ["lines", "personal", "personal"]


def test_what_comes_before_sessions_are_read_does_not_outlive_its_erasure(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process records after a briefing began, and before it reads sessions."""
    texts = ("Never feed the zebrastripes receipts twice.",)

    def read_later(*arguments: Any) -> Any:
        with opened_at(folder) as other:
            other.journal.append(session_events("till", 9, texts))
        return recorded_sessions(*arguments)

    with opened_at(folder) as lab:
        with monkeypatch.context() as patched:
            patched.setattr(kept_start, "recorded_sessions", read_later)
            start = RecordedStart(lab.home, NOW)
        assert any("zebrastripes" in line.text for line in start.lines)
        assert any("zebrastripes" in saying.text for saying in start.sayings)
        lab.erase(match="zebrastripes")
        assert kept_bytes(folder, "zebrastripes") == []
    with opened_at(folder) as lab:
        assert "zebrastripes" not in lab.briefing().text
