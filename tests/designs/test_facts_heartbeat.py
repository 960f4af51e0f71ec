"""The heartbeat: its phases, and faults: killed, failing, two at once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import DAY, NOW, Run
from faults import forked, opened, quick_folder

from theorex_lab import Event, FixedClock, HashedNgramEmbedder, Lab, StorageError
from theorex_lab.core.clock import to_iso
from theorex_lab.core.settings import check_settings
from theorex_lab.designs.facts import commands, heartbeat
from theorex_lab.designs.facts.heartbeat import (
    ExtractionReport,
    HeartbeatReport,
    Phase,
    keep_watermark,
)
from theorex_lab.designs.facts.unread import watermark
from theorex_lab.eval.adapters.protocol import EvalLog
from theorex_lab.eval.datasets.logs import load_logs
from theorex_lab.evolution.lease import Lease, LeaseLost, lease_holder, leased

pytestmark = pytest.mark.usefixtures("shared_logs")

MONDAY = FixedClock.at("2026-03-02T09:00:00Z").now()
LENGTH = 600_000_000  # µs that a lease lasts
ALL = ["state", "extract", "synthesis", "domains", "validate"]
PHASES = ALL[1:]
SAID = [
    "I prefer tabs over spaces.",
    "We decided to ship on Friday.",
    "ok",
    "working on the parser",
    "Remember to run the linter.",
]
needs_fork = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="needs processes that are forked"
)


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with quick_folder() as folder:
        yield folder


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with _said(tmp_path / "home") as made:
        yield made


def _said(folder: Path) -> Lab:
    """A home on a Monday, with what a person said."""
    lab = opened(folder, at=MONDAY)
    for text in SAID:
        lab.agent("main").write(text, source="user")
    return lab


def _clock(lab: Lab) -> FixedClock:
    assert isinstance(lab.clock, FixedClock)
    return lab.clock


def _status(done: HeartbeatReport) -> dict[str, str]:
    return {phase.name: phase.status for phase in done.phases}


def _phase(done: HeartbeatReport, name: str) -> Phase:
    return next(phase for phase in done.phases if phase.name == name)


def _events(lab: Lab, *kinds: str) -> list[Event]:
    return list(lab.journal.tail(0, kinds=kinds))


def _known(lab: Lab) -> tuple[list[str], list[str], bool]:
    """The facts, the weeks' summaries, and whether nothing waits: what must not depend
    on who was killed when.
    """
    summed = [event.body["entity"] for event in _events(lab, "summarized")]
    waits = list(lab.journal.tail(watermark(lab.home), kinds=["observation"]))
    return (
        sorted(f"{fact.entity} {fact.text}" for fact in lab.facts.list(active=None)),
        sorted(summed),
        not waits,
    )


def test_a_heartbeat_does_each_phase_and_reports(lab: Lab) -> None:
    done = lab.facts.beat()
    status = {**dict.fromkeys(ALL, "ok"), "domains": "idle"}
    assert (_status(done), done.word) == (status, "HEARTBEAT_OK")
    assert _phase(done, "state").stats == {
        "waiting": {"main": 5},
        "today": 5,
        "plan": "working on the parser",
    }
    assert _phase(done, "extract").stats["facts_written"] == 3
    assert watermark(lab.home) == _phase(done, "extract").stats["new_watermark"]
    assert _events(lab, "heartbeat")[0].body["phases"] == done.to_dict()["phases"]
    assert lease_holder(lab.home) is None
    assert lab.verify().ok


def test_a_second_heartbeat_writes_nothing_twice(lab: Lab) -> None:
    lab.facts.beat()
    known = _known(lab)
    done = lab.facts.beat()
    assert _status(done) == {
        **dict.fromkeys(ALL, "ok"),
        "extract": "idle",
        "synthesis": "idle",
        "domains": "idle",
    }
    assert _known(lab) == known
    assert len(_events(lab, "extracted")) == 1
    assert len(_events(lab, "heartbeat")) == 2


def test_synthesis_is_on_mondays_once_a_week(lab: Lab) -> None:
    due = []
    for _ in range(15):
        done = lab.facts.beat()
        due.append(_phase(done, "synthesis").status == "ok")
        _clock(lab).advance(days=1)
    assert [day for day, was in enumerate(due) if was] == [0, 7, 14]
    weeks = [event.body["week"] for event in _events(lab, "summarized")]
    assert sorted(set(weeks)) == ["2026-03-02", "2026-03-09", "2026-03-16"]
    assert all(
        event.body["tokens"] > 0 and event.body["facts"] > 0
        for event in _events(lab, "summarized")
    )


@pytest.mark.parametrize(
    ("zone", "due"),
    [("Asia/Tokyo", "ok"), ("UTC", "idle"), ("America/New_York", "idle")],
)
def test_monday_is_that_of_the_time_zone(tmp_path: Path, zone: str, due: str) -> None:
    sunday = FixedClock.at("2026-03-01T20:00:00Z")
    settings = check_settings({"designs": {"facts": {"timezone": zone}}})
    with Lab(
        tmp_path / "home",
        clock=sunday,
        settings=settings,
        embedder=HashedNgramEmbedder(),
    ) as lab:
        lab.agent("main").write("I prefer tabs over spaces.", source="user")
        assert _phase(lab.facts.beat(), "synthesis").status == due


def test_what_needs_someone_is_an_alert(lab: Lab) -> None:
    for number in range(21):
        lab.facts.observe(
            f"trouble {number} with tool{number} on host{number}", "friction"
        )
    done = lab.facts.beat()
    assert (done.ok, done.word) == (True, "HEARTBEAT_ALERT")
    assert any("21" in alert for alert in done.alerts)


def test_the_maintenance_beats_too_and_a_second_one_at_once_changes_nothing(
    lab: Lab,
) -> None:
    report = lab.maintain(reviewer="heuristic")
    step = next(step for step in report.steps if step.name == "heartbeat")
    assert (step.ok, "3 facts of 5 captures" in step.detail) == (True, True)
    assert _events(lab, "heartbeat") == [], "the maintenance reports it"
    seq = lab.journal.last_seq()
    assert lab.maintain(reviewer="heuristic").ok
    assert {event.kind for event in lab.journal.tail(seq)} == {"lease"}


# Faults


def _around(
    phase: str, before: Callable[[], object], after: Callable[[], object]
) -> Callable[..., Any]:
    """A phase of the heartbeat with something done before it, and after it."""
    own = getattr(heartbeat, f"_{phase}")

    def run(*given: Any) -> Any:
        before()
        found = own(*given)
        after()
        return found

    return run


def test_a_watermark_goes_forwards_alone(lab: Lab) -> None:
    lab.facts.beat()
    upto = watermark(lab.home)
    lab.agent("main").write("I prefer spaces over tabs.", source="user")
    assert not keep_watermark(lab.home, ExtractionReport(2, captures=1, facts=1))
    assert watermark(lab.home) == upto


def test_a_phase_that_fails_stops_no_other(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise StorageError("the disk is full")

    for week, broken in enumerate(("_state", "_validate", "_synthesis", "_extract")):
        _clock(lab).microseconds = MONDAY + 7 * week * DAY
        with monkeypatch.context() as patched:
            patched.setattr(heartbeat, broken, fails)
            done = lab.facts.beat()
        assert _status(done)[broken[1:]] == "error", broken
        assert [phase.name for phase in done.phases] == ALL
        assert _events(lab, "heartbeat")[-1].body["phases"] == done.to_dict()["phases"]
    assert lab.facts.beat().ok
    weeks = [
        event.body["week"]
        for event in _events(lab, "summarized")
        if event.body["entity"] == "people/user"
    ]
    assert weeks == ["2026-03-02", "2026-03-09", "2026-03-23"], (
        "what failed on a Monday would be done later that day"
    )


def test_of_two_heartbeats_at_once_one_runs(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    others: list[HeartbeatReport] = []

    def meanwhile() -> None:
        seq = lab.journal.last_seq()
        others.append(lab.facts.beat())
        assert lab.maintain(reviewer="heuristic").ran is False
        assert lab.journal.last_seq() == seq, "who is refused appends nothing"

    for phase in PHASES:
        monkeypatch.setattr(heartbeat, f"_{phase}", _around(phase, meanwhile, int))
    assert lab.facts.beat().ok
    assert [other.word for other in others] == ["HEARTBEAT_SKIPPED"] * len(PHASES)
    assert all(
        other.holder is not None and other.holder.what == "heartbeat"
        for other in others
    )
    assert len(_events(lab, "heartbeat")) == 1
    with leased(lab.home, "nightly"):
        assert lab.facts.beat().to_dict()["held_by"].startswith("maintenance/")


@pytest.mark.parametrize("phase", PHASES)
def test_who_lost_the_lease_stops_and_appends_nothing_more(
    lab: Lab, phase: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seqs = []

    def lose() -> None:
        _clock(lab).advance(seconds=600)
        assert Lease(lab.home, "heartbeat").take()
        seqs.append(lab.journal.last_seq())

    with monkeypatch.context() as patched:
        if phase == "extract":  # what it read is kept by who still has the lease
            read = heartbeat.extract_facts
            patched.setattr(
                heartbeat, "extract_facts", lambda home: (read(home), lose())[0]
            )
        else:
            patched.setattr(heartbeat, f"_{phase}", _around(phase, int, lose))
        with pytest.raises(LeaseLost, match="appends nothing more"):
            lab.facts.beat()
    assert lab.journal.last_seq() == seqs[0]
    _clock(lab).advance(seconds=600)
    assert lab.facts.beat().ok
    assert len(lab.facts.list()) == 3


def test_a_clock_that_was_set_back_stops_no_heartbeat(lab: Lab) -> None:
    assert Lease(lab.home, "heartbeat").take()
    _clock(lab).advance(days=-1)
    assert lab.facts.beat().ok
    assert len(lab.facts.list()) == 3
    assert lab.verify().ok


@needs_fork
@pytest.mark.parametrize("phase", [*PHASES, "report"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_heartbeat_killed_in_a_phase_is_made_good_by_the_next(
    tmp_path: Path, phase: str, when: str
) -> None:
    folder = tmp_path / "home"
    other = tmp_path / "undisturbed"
    with _said(folder), _said(other) as undisturbed:
        undisturbed.facts.beat()
        expected = _known(undisturbed)

    def kill() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def killed() -> None:
        with opened(folder, at=MONDAY) as lab:
            report = heartbeat._report
            append = Lease.append
            if phase == "report":
                heartbeat._report = lambda *given: (
                    kill() if when == "before" else report(*given)
                )  # type: ignore[func-returns-value,assignment,return-value]
                Lease.append = lambda self, events: (append(self, events), kill())  # type: ignore[method-assign,assignment,return-value,func-returns-value]
            else:
                ends = (kill, int) if when == "before" else (int, kill)
                setattr(heartbeat, f"_{phase}", _around(phase, *ends))
            lab.facts.beat()

    assert forked(killed) == -signal.SIGKILL
    with opened(folder, at=MONDAY) as lab:
        # The process that held the lease is gone, so it is not waited for.
        assert lab.facts.beat().ok
        assert _known(lab) == expected
        assert lab.verify().ok


# The command


def test_the_command(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(commands.waiting, "wait", waits.append)
    at = ("--now", to_iso(NOW))
    run("write", "I prefer tabs over spaces.", "--source", "user", *at)
    handlers = [signal.getsignal(sign) for sign in (signal.SIGTERM, signal.SIGINT)]
    done = run("facts", "heartbeat", "--once", "--json", *at)
    assert handlers == [
        signal.getsignal(sign) for sign in (signal.SIGTERM, signal.SIGINT)
    ]
    assert (done.code, done.json["heartbeat"], done.json["ran"], done.json["ok"]) == (
        0,
        "HEARTBEAT_OK",
        True,
        True,
    )
    assert [phase["name"] for phase in done.json["phases"]] == ALL
    text = run("facts", "heartbeat", *at).out.splitlines()
    assert text[-1] == "HEARTBEAT_OK"
    assert [line.split()[:2] for line in text[:2]] == [
        ["ok", "state"],
        ["-", "extract"],
    ]
    several = run(
        "facts", "heartbeat", "--every", "45m", "--limit-beats", "3", "--json", *at
    )
    assert [json.loads(line)["heartbeat"] for line in several.out.splitlines()] == [
        "HEARTBEAT_OK"
    ] * 3
    assert waits == [2_700, 2_700]
    run("facts", "heartbeat", "--every", "--limit-beats", "2", *at)
    assert waits[2:] == [1_800]
    for wrong in (
        ["--every", "0m"],
        ["--every", "25h"],
        ["--every", "1s"],
        ["--limit-beats", "2"],
        ["--once", "--every", "5m"],
    ):
        assert run("facts", "heartbeat", *wrong).code == 2, wrong

    def full(*_: object) -> None:
        raise StorageError("the disk is full")

    monkeypatch.setattr(heartbeat, "_state", full)
    failed = run("facts", "heartbeat", *at)
    assert (failed.code, failed.out.splitlines()[-1]) == (1, "HEARTBEAT_ERROR")
    assert "FAILED state      the disk is full" in failed.out


def test_the_command_says_who_holds_the_lease(run: Run, tmp_path: Path) -> None:
    with opened(tmp_path / "home") as lab, leased(lab.home, "nightly") as lease:
        told = run("facts", "heartbeat", "--now", to_iso(NOW))
        assert (told.code, "maintenance is under way, held by" in told.out) == (0, True)
        held = run("facts", "heartbeat", "--json", "--now", to_iso(NOW)).json
        assert (held["ran"], held["heartbeat"], held["held_by"]) == (
            False,
            "HEARTBEAT_SKIPPED",
            lease.holder.shown_owner,
        )


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_order(tmp_path: Path, sign: signal.Signals) -> None:
    command = [
        sys.executable,
        "-m",
        "theorex_lab",
        "--home",
        str(tmp_path / "home"),
        "facts",
        "heartbeat",
        "--every",
        "30m",
        "--json",
    ]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        first = json.loads(process.stdout.readline())
        assert first["heartbeat"] == "HEARTBEAT_OK"
        process.send_signal(sign)
        assert process.wait(20) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""
    with opened(tmp_path / "home", at=time.time_ns() // 1_000) as lab:
        assert lease_holder(lab.home) is None


# Real daily notes


def _append_meetings(lab: Lab, meetings: Iterable[EvalLog], at: int) -> int:
    """Append the first 60 turns of meetings as notes of one moment; return how many."""
    n_turns = 0
    for meeting in meetings:
        events = [event._replace(seq=0, at=at) for event in meeting.events[:60]]
        lab.journal.append(events)
        n_turns += len(events)
    return n_turns


@needs_fork
@pytest.mark.skipif(
    not os.environ.get("THEOREX_DATA"), reason="needs the data sets of THEOREX_DATA"
)
def test_meetings_come_in_once_although_heartbeats_are_killed(tmp_path: Path) -> None:
    """35 meetings as daily notes, five a day; the first heartbeat of each day is killed
    after it has written its facts.
    """
    meetings = load_logs("qmsum")[:35]
    assert len(meetings) == 35
    folder = tmp_path / "home"

    def dying() -> None:
        with opened(folder, at=at) as lab:
            heartbeat.keep_watermark = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[assignment]
            lab.facts.beat()

    n_turns = 0
    with opened(tmp_path / "undisturbed", at=NOW) as undisturbed:
        for day in range(7):
            at = NOW + day * DAY
            of_day = meetings[5 * day : 5 * day + 5]
            with opened(folder, at=at) as lab:
                n_turns += _append_meetings(lab, of_day, at)
            assert forked(dying) == -signal.SIGKILL
            with opened(folder, at=at + LENGTH) as lab:
                n_facts = len(_events(lab, "fact"))
                assert lab.facts.beat().ok
                assert len(_events(lab, "fact")) == n_facts, "it was killed too early"
            _clock(undisturbed).microseconds = at
            _append_meetings(undisturbed, of_day, at)
            assert undisturbed.facts.beat().ok
        expected = _known(undisturbed)
    with opened(folder, at=at + LENGTH) as lab:
        assert _known(lab) == expected
        n_read = sum(event.body["captures"] for event in _events(lab, "extracted"))
        assert n_read == n_turns
        facts = _events(lab, "fact")
        assert facts, "no heartbeat that was killed had written a fact"
        assert len(facts) == len({event.id for event in facts})
        turns = {event.id for meeting in meetings for event in meeting.events[:60]}
        assert {event.lineage[0] for event in facts} <= turns
        assert lab.facts.beat().ok
        assert len(_events(lab, "fact")) == len(facts)
