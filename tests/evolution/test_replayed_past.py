"""A past that is replayed is as if the memory had been there from the first day."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import DAY, NOW, observation

from theorex_lab import Event, FixedClock, HashedNgramEmbedder, Lab, new_event
from theorex_lab.eval.replay.design_systems import PUBLISHED
from theorex_lab.evolution import replay as replaying
from theorex_lab.evolution.lease import leased
from theorex_lab.journal.replayed import ReplayedJournal

SESSIONS = Path(__file__).parents[2] / "datasets" / "simulated_sessions.jsonl.gz"
FIRST_DAY = NOW // DAY - 19
LATER = NOW + 200 * DAY
HOUR = DAY // 24
PROJECT = "till-1a2b3c4d"
# Thirty times what it takes, so that a busy machine does not fail it.
MOST_SECONDS = 300

PROMPTS = (
    "We decided that the ledger parser rounds each line down. Mend the ledger parser.",
    "The receipt printer jams again; I prefer small commits for the receipt printer.",
    "Review the ledger parser once more, and always run the till tests first.",
)
COMMANDS = (
    "grep -rn round src | head -5",
    "pytest -q tests/test_ledger.py",
    "git commit -am 'Round each line down'",
)


def _event(kind: str, body: dict[str, Any], at: int) -> Event:
    day = at // DAY
    common = {"source": "user", "project": PROJECT}
    return new_event(kind, common | body, agent="main", session=f"day-{day}", at=at)


def _tool(command: str, at: int) -> Event:
    ok = "pytest" not in command or at // DAY % 2 == 0
    body = {
        "tool": "Bash",
        "input": json.dumps({"command": command}),
        "response": "ok" if ok else "FAILED tests/test_ledger.py::test_round",
        "source": "tool",
        "ok": ok,
        "command": command,
        "paths": {"read": ["src/ledger.py"], "edited": []},
    }
    return _event("tool_used", body, at)


def _days() -> list[list[Event]]:
    """Twenty days, on fourteen of which something happened, some of it late at night."""
    days = []
    for number in range(20):
        if number % 10 in (4, 5, 8):
            continue
        hour = 22 if number % 3 == 0 else 9
        at = (FIRST_DAY + number) * DAY + hour * HOUR
        events = []
        for step in range(6):
            moment = at + step * 60_000_000
            prompt = PROMPTS[(number + step) % len(PROMPTS)]
            events.append(_event("prompt", {"text": prompt}, moment))
            events.append(_tool(COMMANDS[step % len(COMMANDS)], moment + 5_000_000))
            ended = {"message": "The ledger parser is mended.", "source": "agent"}
            events.append(_event("turn_ended", ended, moment + 9_000_000))
        days.append(events)
    return days


DAYS = _days()


def _opened(folder: Path, now: int) -> Lab:
    return Lab(folder, clock=FixedClock(now), embedder=HashedNgramEmbedder())


def _evening_of(day: int) -> int:
    return (day + 1) * DAY - 1


def _lived(folder: Path) -> None:
    """Append each day's events on that day, with maintenance that evening and the next."""
    busy = {events[0].at // DAY for events in DAYS}
    evenings = sorted(busy | {day + 1 for day in busy})
    by_day = {events[0].at // DAY: events for events in DAYS}
    with _opened(folder, 0) as lab:
        for day in evenings:
            assert isinstance(lab.clock, FixedClock)
            lab.clock.microseconds = _evening_of(day)
            lab.journal.append(by_day.get(day, []))
            assert lab.maintain(reviewer="heuristic", designs=PUBLISHED).ok


def _imported(folder: Path) -> None:
    """Append the events of all days long afterwards."""
    with _opened(folder, LATER) as lab:
        for events in DAYS:
            lab.journal.append(events)


def _replayed(folder: Path) -> replaying.ReplayReport:
    with _opened(folder, LATER) as lab:
        return lab.replay(progress=False, designs=PUBLISHED)


def _memory(folder: Path) -> dict[str, Any]:
    """What a home holds as of the evening after the last day."""
    with _opened(folder, _evening_of(DAYS[-1][0].at // DAY + 1)) as lab:
        assert lab.verify().ok
        axon = lab.theorex.axon().frame()
        events = [*lab.journal.tail(0)]
        status = lab.status()
    written: dict[str, list[Any]] = {}
    for event in events:
        if event.kind in ("lease", "nightly"):
            continue
        body = {name: each for name, each in event.body.items() if name != "upto"}
        written.setdefault(event.kind, []).append((event.at, event.agent, body))
    return {
        "axon": axon.to_dict("records"),
        "facts": status["facts"],
        "dreams": status["dreams"],
        "agents": status["agents"],
        "graduated": written.get("graduated", []),
        "fact": written.get("fact", []),
        "digest": written.get("digest", []),
        "scan": written.get("scan", []),
        "short_term": written.get("short_term", []),
        "flushed": written.get("flushed", []),
        "attempt": len(written.get("attempt", [])),
        "strategy": len(written.get("strategy", [])),
    }


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Give what a home holds that was there every day."""
    folder = tmp_path_factory.mktemp("lived")
    _lived(folder)
    return _memory(folder)


def test_a_replayed_past_is_as_if_it_had_been_lived_day_by_day(
    lived: dict[str, Any], tmp_path: Path
) -> None:
    _imported(tmp_path)
    report = _replayed(tmp_path)
    assert report.ok, report
    assert report.days == len(DAYS)
    replayed = _memory(tmp_path)
    for name, expected in lived.items():
        assert replayed[name] == expected, name
    labels = [row["canonical_form"] for row in replayed["axon"]]
    assert "ledger parser" in labels
    assert replayed["fact"]
    assert replayed["strategy"]
    assert replayed["digest"]
    assert report.results["concepts promoted to long-term"] == len(lived["graduated"])


def test_what_a_replay_appends_carries_the_time_of_its_evening(tmp_path: Path) -> None:
    _imported(tmp_path)
    with _opened(tmp_path, LATER) as lab:
        last = lab.journal.last_seq()
        lab.replay(vectors=False, progress=False)
        appended = [
            event for event in lab.journal.tail(last) if event.kind not in ("lease",)
        ]
    end = _evening_of(DAYS[-1][0].at // DAY + 1)
    assert appended
    assert all(event.at <= end for event in appended)
    evenings = [event.at for event in appended if event.kind == "nightly"]
    assert evenings == sorted(evenings)
    assert evenings[0] == _evening_of(FIRST_DAY)


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("evening", [1, 9])
def test_a_killed_replay_goes_on_where_it_stopped(
    lived: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    evening: int,
) -> None:
    _imported(tmp_path)
    n_evenings = 0
    hand_on = ReplayedJournal.unstored

    def killed(journal: ReplayedJournal) -> list[Event]:
        nonlocal n_evenings
        n_evenings += 1
        if n_evenings > evening:
            raise Killed
        return hand_on(journal)

    with monkeypatch.context() as patched:
        patched.setattr(ReplayedJournal, "unstored", killed)
        with pytest.raises(Killed):
            _replayed(tmp_path)
    report = _replayed(tmp_path)
    assert report.ok
    assert 0 < report.days < len(DAYS)
    replayed = _memory(tmp_path)
    for name, expected in lived.items():
        assert replayed[name] == expected, name


def test_repeating_a_replay_changes_nothing(tmp_path: Path) -> None:
    _imported(tmp_path)
    _replayed(tmp_path)
    with _opened(tmp_path, LATER + DAY) as lab:
        before = [event for event in lab.journal.tail(0) if event.kind != "lease"]
        report = lab.replay(progress=False)
        after = [event for event in lab.journal.tail(0) if event.kind != "lease"]
    assert report.evenings == 0
    assert after == before


def test_what_maintenance_has_seen_is_not_replayed(tmp_path: Path) -> None:
    _imported(tmp_path)
    with _opened(tmp_path, LATER) as lab:
        lab.maintain(reviewer="heuristic")
        assert lab.replay(progress=False).days == 0
        lab.journal.append([_event("prompt", {"text": PROMPTS[0]}, NOW + DAY)])
        assert lab.replay(progress=False).days == 1


def test_days_that_come_later_are_replayed_later(tmp_path: Path) -> None:
    with _opened(tmp_path, LATER) as lab:
        for events in DAYS[:5]:
            lab.journal.append(events)
        assert lab.replay(vectors=False, progress=False).days == 5
        for events in DAYS[5:]:
            lab.journal.append(events)
        report = lab.replay(vectors=False, progress=False)
        assert (report.ok, report.days) == (True, len(DAYS) - 5)
        assert lab.verify().ok


def test_the_day_that_is_not_over_is_replayed_as_of_now(tmp_path: Path) -> None:
    now = DAYS[0][-1].at + 1
    with _opened(tmp_path, now) as lab:
        lab.journal.append(DAYS[0])
        report = lab.replay(vectors=False, progress=False)
        assert (report.days, report.evenings) == (1, 1)
        (evening,) = lab.journal.tail(0, kinds=["nightly"])
        assert evening.at == now


def test_an_observation_is_there_from_its_day_on(tmp_path: Path) -> None:
    text = observation("x", labels=["cache", "ttl"], at=DAYS[3][0].at)
    with _opened(tmp_path, LATER) as lab:
        for events in DAYS[:6]:
            lab.journal.append(events)
        lab.journal.append([text])
        assert lab.replay(vectors=False, progress=False).ok
        assert lab.verify().ok
        labels = lab.theorex.axon().frame()["canonical_form"].tolist()
    assert "cache" in labels


def test_another_process_that_tends_the_home_is_named(tmp_path: Path) -> None:
    with _opened(tmp_path, LATER) as lab:
        lab.journal.append(DAYS[0])
        with leased(lab.home, "nightly"):
            report = lab.replay(progress=False)
        assert not report.ran
        assert report.to_dict()["held_by"].startswith("maintenance/")
        assert not [*lab.journal.tail(0, kinds=["nightly"])]


def test_a_step_that_fails_is_told_and_stops_no_evening(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from theorex_lab.core.errors import StorageError
    from theorex_lab.designs.theorex import upkeep

    def failing(*_: object) -> str:
        raise StorageError("the disk is full")

    monkeypatch.setattr(upkeep, "scan_all", failing)
    _imported(tmp_path)
    report = _replayed(tmp_path)
    assert report.failed == {"scan": "the disk is full"}
    assert report.days == len(DAYS)
    assert not report.ok


@pytest.fixture(scope="module")
def simulated(
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[int], Lab]:
    """Give what opens the packaged sessions, replayed, at a time."""
    folder = tmp_path_factory.mktemp("simulated")
    with Lab(folder, embedder=HashedNgramEmbedder()) as lab:
        lab.import_transcripts(SESSIONS, trusted=True, progress=False)
        started = time.process_time()
        report = lab.replay(vectors=False, progress=False)
        seconds = time.process_time() - started
    assert report.ok
    assert report.days == 62
    assert seconds < MOST_SECONDS
    return lambda now: _opened(folder, now)


def test_an_imported_year_promotes_concepts_to_long_term(
    simulated: Callable[[int], Lab],
) -> None:
    with simulated(LATER) as lab:
        graduated = [*lab.journal.tail(0, kinds=["graduated"])]
        assert len(graduated) >= 20
        days = {event.at // DAY for event in graduated}
    assert len(days) > 5


def _tool_words(command: str) -> set[str]:
    """The programs and options of a line of the shell."""
    words = set[str]()
    for part in re.split(r"[|&;]+", command):
        tokens = part.split()
        words.update(tokens[:2])
        words.update(token.lstrip("-") for token in tokens if token.startswith("-"))
    return words


def test_the_hottest_concepts_are_subjects_and_no_tool_words(
    simulated: Callable[[int], Lab],
) -> None:
    words = set[str]()
    prompts = ""
    with simulated(LATER) as lab:
        for event in lab.journal.tail(0, kinds=["prompt", "tool_used"]):
            words.update(_tool_words(str(event.body.get("command", ""))))
            prompts += str(event.body.get("text", "")).lower()
            last = event.at
    with simulated(last) as lab:
        labels = lab.theorex.axon().frame()["canonical_form"].head(10).tolist()
    assert len(labels) == 10
    assert {"git", "pytest", "python"} & words
    assert not words.intersection(labels)
    for label in labels:
        assert label.split()[0] in prompts
