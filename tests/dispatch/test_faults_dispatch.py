"""Models that misbehave and processes that die: every call leaves one trace with one
end, and no harm in memory.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW
from faults import VIEWS, Boundaries, forked, opened, quick_folder
from hostile_server import FAILURES, HostileServer, after, completion, hang

from theorex_lab import Event, Lab, StorageError
from theorex_lab.core.ids import derived_event_id
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.dispatch import worker as owners
from theorex_lab.dispatch.bus import CallStart
from theorex_lab.dispatch.worker import (
    LOST,
    OUT_OF_SIGHT,
    alive,
    close_lost,
    machine_hash,
)
from theorex_lab.journal.view import verify
from theorex_lab.memory.evidence import EvidenceView

needs_flock = pytest.mark.skipif(os.name == "nt", reason="needs flock")
CODE = "refactor the python function"
# Run in a process of its own, on a home with one model at the url; prints what the last
# expression gives.
PROGRAM = """
import sys
from theorex_lab import Lab
from theorex_lab.core.settings import check_settings
home, url, trace_id = sys.argv[1:]
settings = check_settings({{"models": {{"only": {{"tier": "medium", "url": url}}}}, "roles": [], "modelTimeoutSeconds": 120}})
lab = Lab(home, settings=settings)
{rest}
"""  # noqa: E501


@pytest.fixture
def home() -> Iterator[Path]:
    with quick_folder() as folder:
        yield folder / "home"


def at_server(home: Path, url: str, **settings: Any) -> Lab:
    """The home with one model, at `url`."""
    models = {"only": {"tier": "medium", "url": url}}
    return opened(
        home, models=models, roles=[], **{"modelTimeoutSeconds": 0.4, **settings}
    )


def started(home: Path, url: str, trace_id: str, rest: str) -> subprocess.Popen[str]:
    program = PROGRAM.format(rest=rest)
    return subprocess.Popen(
        [sys.executable, "-c", program, str(home), url, trace_id],
        stdout=subprocess.PIPE,
        text=True,
    )


def until(condition: Callable[[], object]) -> None:
    """Wait for another process or thread, at most two minutes."""
    for _ in range(24_000):
        if condition():
            return
        time.sleep(0.005)
    raise AssertionError("it did not happen")


def events(lab: Lab, *kinds: str) -> list[Event]:
    return [event for event in lab.journal.tail(0) if not kinds or event.kind in kinds]


def check(lab: Lab) -> None:
    """Each trace has one end at most, after its start; what is remembered has a trace
    that succeeded; views are sound.
    """
    report = verify(lab.views, VIEWS)
    assert report.ok, report.problems
    starts = Counter(event.body["trace_id"] for event in events(lab, "trace_started"))
    ends = Counter(event.body["trace_id"] for event in events(lab, "trace_ended"))
    assert set(starts.values()) | set(ends.values()) <= {1}
    assert ends.keys() <= starts.keys()
    successes = {
        event.id for event in events(lab, "trace_ended") if event.body["success"]
    }
    assert successes == {event.lineage[0] for event in events(lab, "observation")}


# Models that misbehave


@pytest.mark.parametrize("name", FAILURES)
def test_a_hostile_reply_leaves_a_trace_and_memory_as_it_was(
    home: Path, name: str
) -> None:
    with HostileServer(FAILURES[name]) as server, at_server(home, server.url) as lab:
        result = lab.agent("main").dispatch(CODE, trace_id="mine", outcome_id="o")
        assert (result.success, result.written_to_axon, result.latency_ms) == (
            False,
            False,
            None,
        )
        assert result.error
        assert [event.kind for event in events(lab)] == ["trace_started", "trace_ended"]
        trace = lab.trace("mine").to_dict()
        assert (
            trace["success"],
            trace["lost"],
            trace["latency_ms"],
            trace["outcome_id"],
        ) == (False, False, None, "o")
        assert [(each["model"], each["success"]) for each in trace["attempts"]] == [
            ("only", False)
        ]
        assert len(lab.views.get(Axon).observations) == 0
        assert len(trace["error"]) <= 1_000
        check(lab)


def test_a_connection_that_is_refused_is_a_failure_like_another(home: Path) -> None:
    with HostileServer() as server:
        url = server.url
    with at_server(home, url) as lab:
        assert not lab.agent("main").dispatch(CODE).success
        check(lab)


def test_calls_that_overlap_at_a_real_server(home: Path) -> None:
    second_done = threading.Event()
    replies = after(second_done, completion("the first")), completion("the second")
    with (
        HostileServer(*replies) as server,
        at_server(home, server.url, modelTimeoutSeconds=120) as lab,
    ):
        given: dict[str, Any] = {}
        first = threading.Thread(
            target=lambda: given.update(
                first=lab.agent("main").dispatch("one", trace_id="a", session="s")
            )
        )
        first.start()
        until(lambda: server.requests)
        given["second"] = lab.agent("main").dispatch("two", trace_id="b", session="s")
        assert first.is_alive()
        second_done.set()
        first.join()
        for trace_id, name, task in (("a", "first", "one"), ("b", "second", "two")):
            trace = lab.trace(trace_id).to_dict()
            assert (trace["task"], trace["response"], trace["success"]) == (
                task,
                f"the {name}",
                True,
            )
            assert given[name].response == f"the {name}"
        check(lab)


# Processes that die


@needs_flock
def test_a_killed_call_is_closed_as_lost_once_and_a_living_one_is_left_alone(
    home: Path,
) -> None:
    answer = threading.Event()
    # Whoever asks, waits; the killed one's connection is of no consequence.
    with HostileServer(after(answer, completion("late"))) as server:
        rest = (
            "print(lab.agent('main').dispatch('add 2 and 2',"
            " trace_id=trace_id).success); lab.close()"
        )
        dying, living = (
            started(home, server.url, name, rest) for name in ("dying", "living")
        )
        until(lambda: len(server.requests) == 2)
        dying.kill()
        dying.communicate()
        with at_server(home, server.url) as lab:
            lab.clock.advance(days=3_650)  # type: ignore[attr-defined]
            assert {
                event.body["trace_id"] for event in events(lab, "trace_started")
            } == {"dying", "living"}
            assert lab.dispatcher.close_lost() == [], (
                "opening it has closed the lost one"
            )
            (ended,) = events(lab, "trace_ended")
            assert ended.id == derived_event_id("trace ended", "dying")
            body = {
                name: ended.body[name]
                for name in (
                    "trace_id",
                    "success",
                    "lost",
                    "latency_ms",
                    "error",
                    "attempts",
                )
            }
            assert body == {
                "trace_id": "dying",
                "success": False,
                "lost": True,
                "latency_ms": None,
                "error": LOST,
                "attempts": [],
            }
            assert [path.stem for path in (home / "calls").glob("*.lock")] == [
                event.body["owner"]["lock"]
                for event in events(lab, "trace_started")
                if event.body["trace_id"] == "living"
            ]
            assert lab.trace("dying").lost
            assert len(lab.views.get(EvidenceView).table) == 0, (
                "a lost call says nothing of the model"
            )
            answer.set()
            assert living.communicate()[0] == "True\n"
            assert lab.trace("living").success
            assert list((home / "calls").iterdir()) == []
            check(lab)


def lost_trace(lab: Lab, trace_id: str) -> None:
    """A trace as a process leaves it that dies in the call, with its lock file."""
    folder = lab.folder / "calls"
    with alive(folder, NOW) as owner:
        lab.journal.append(
            [CallStart(trace_id, "main", NOW, "a task", "general", owner=owner).event()]
        )
    (
        folder / f"{owner['lock']}.lock"
    ).touch()  # what is left once the system has given back the lock of the dead


@needs_flock
def test_two_that_close_a_lost_trace_at_once_write_one_end(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(home) as lab, opened(home) as other:
        lost_trace(lab, "t")
        inner = owners.append_once
        results = []

        def late(*given: Any) -> bool:
            """The other one comes after this one has decided, and does not see the
            lock, its file being gone.
            """
            monkeypatch.setattr(owners, "append_once", inner)
            for path in (home / "calls").glob("*.lock"):
                path.unlink()
            results.append(close_lost(other.views, home / "calls", NOW))
            return inner(*given)

        monkeypatch.setattr(owners, "append_once", late)
        results.append(close_lost(lab.views, home / "calls", NOW))
        assert results == [["t"], []]
        assert len(events(lab, "trace_ended")) == 1


@needs_flock
def test_a_trace_of_a_living_dispatcher_of_this_process_is_left_alone(
    home: Path,
) -> None:
    looked = threading.Event()
    replies = after(looked, completion("late"))
    with (
        HostileServer(replies) as server,
        at_server(home, server.url, modelTimeoutSeconds=120) as lab,
        ThreadPoolExecutor(1) as pool,
    ):
        pending = pool.submit(lab.dispatcher.dispatch, _task("mine"))
        until(lambda: server.requests)
        with opened(home) as other:
            assert other.dispatcher.close_lost() == []
        assert lab.dispatcher.close_lost() == []
        looked.set()
        assert pending.result(60).success
        check(lab)


@pytest.mark.parametrize("lock", ["", 7, "../../etc/passwd", "a" * 53, "/tmp/x"])
def test_an_owner_that_names_no_lock_is_waited_for_and_names_no_file(
    home: Path, lock: object
) -> None:
    with opened(home) as lab:
        before = sorted(home.parent.rglob("*"))
        for trace_id, owner in (("t", {"lock": lock}), ("nobody", None)):
            lab.journal.append(
                [
                    CallStart(
                        trace_id, "main", NOW, "a task", "general", owner=owner
                    ).event()
                ]
            )
        assert close_lost(lab.views, home / "calls", NOW) == ["nobody"]
        assert close_lost(lab.views, home / "calls", NOW + 1) == ["t"]
        assert {
            path
            for path in {*home.parent.rglob("*")} - {*before}
            if "calls" not in path.parts and path.name != "theorex.db-last"
        } == set()
        assert [path for path in (home / "calls").rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    ("place", "lost"),
    [pytest.param(machine_hash(), True, marks=needs_flock), ("0" * 16, False)],
)
@pytest.mark.parametrize(
    "more",
    [{}, {"machine": "m", "container": "c", "boot": "b", "pid": 1, "started": "s"}],
)
def test_only_a_call_whose_lock_can_be_seen_is_closed_before_its_time(
    home: Path, place: str, lost: bool, more: dict[str, object]
) -> None:
    """Journals of earlier releases name more of an owner than its lock."""
    with opened(home) as lab:
        owner = {**more, "lock": f"{place}-{1:0>36}"}
        start = CallStart(
            "t",
            "main",
            NOW,
            "a task",
            "general",
            owner=owner,
            lost_after_seconds=3_600.0,
        )
        lab.journal.append([start.event()])
        assert lab.dispatcher.close_lost() == []
        assert lab.trace("t").lost == lost, "opening it has closed the lost one"
        lab.clock.advance(seconds=3_600)  # type: ignore[attr-defined]
        assert lab.dispatcher.close_lost() == []
        lab.clock.advance(seconds=0.000001)  # type: ignore[attr-defined]
        assert lab.dispatcher.close_lost() == ["t"] * (not lost)
        assert lab.trace("t").error == (LOST if lost else OUT_OF_SIGHT)
        check(lab)


@needs_flock
def test_a_call_whose_lock_is_held_is_not_lost(home: Path) -> None:
    with opened(home) as lab, alive(home / "calls", NOW) as owner:
        lab.journal.append(
            [CallStart("mine", "main", NOW, "a task", "general", owner=owner).event()]
        )
        assert close_lost(lab.views, home / "calls", NOW) == []
    with opened(home) as lab:
        assert close_lost(lab.views, home / "calls", NOW) == ["mine"]


def test_a_lock_file_of_another_place_is_left_alone(home: Path) -> None:
    theirs, mine = (f"{place}-{0:0>36}.lock" for place in ("0" * 16, machine_hash()))
    (home / "calls").mkdir(parents=True)
    for name in (theirs, mine):
        (home / "calls" / name).touch()
    with opened(home) as lab:
        assert lab.dispatcher.close_lost() == []
    assert [path.name for path in (home / "calls").iterdir()] == [theirs]


@needs_flock
def test_a_lock_file_that_cannot_be_removed_costs_no_answer(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlink = Path.unlink

    def failing(path: Path, *, missing_ok: bool = False) -> None:
        if path.suffix == ".lock":
            raise OSError(errno.EIO, "Input/output error", str(path))
        unlink(path, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", failing)
    with (
        HostileServer(completion("raise earlier")) as server,
        at_server(home, server.url) as lab,
    ):
        assert lab.agent("main").dispatch(CODE).success
        assert lab.dispatcher.close_lost() == []
        assert len(list((home / "calls").iterdir())) == 1
        monkeypatch.undo()
        assert lab.dispatcher.close_lost() == []
        assert list((home / "calls").iterdir()) == []
        check(lab)


def test_a_start_of_version_1_is_waited_for_a_day(home: Path) -> None:
    """It named a lock file alone, and not on which machine that was."""
    with opened(home) as lab:
        for trace_id, owner in (
            ("t", f"{0:0>8}-0000-7000-8000-{0:0>12}"),
            ("imported", ""),
        ):
            event = CallStart(trace_id, "main", NOW, "a task", "general").event()
            del event.body["lost_after_seconds"]
            lab.journal.append(
                [event._replace(body={**event.body, "v": 1, "owner": owner})]
            )
        assert close_lost(lab.views, home / "calls", NOW) == ["imported"]
        lab.clock.advance(days=1)  # type: ignore[attr-defined]
        assert close_lost(lab.views, home / "calls", lab.clock.now()) == []
        lab.clock.advance(seconds=0.000001)  # type: ignore[attr-defined]
        assert close_lost(lab.views, home / "calls", lab.clock.now()) == ["t"]
        check(lab)


@needs_flock
def test_an_erased_start_is_not_closed(home: Path) -> None:
    with opened(home) as lab:
        lost_trace(lab, "t")
        lab.erase(ids=[derived_event_id("trace started", "t")])
        assert close_lost(lab.views, home / "calls", NOW) == []
        assert events(lab, "trace_ended") == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that are forked")
def test_killed_at_any_boundary_a_call_has_no_trace_or_one_with_one_end(
    home: Path,
) -> None:
    noted = home.parent / "boundaries.json"
    with opened(home) as lab:
        lab.agent("main").write("an old observation")

    def run(folder: Path, kill_at: int) -> None:
        seen = Boundaries(folder, kill_at)
        seen.install()
        with opened(
            folder,
            models={"only": {"tier": "medium", "url": "http://localhost:9"}},
            roles=[],
        ) as lab:
            lab.dispatcher._ask = _answered
            assert lab.dispatcher.dispatch(_task("mine")).success
            seen.reach("end")
            noted.write_text(json.dumps(seen.passed))

    counted = shutil.copytree(home, home.parent / "counted")
    assert forked(lambda: run(counted, 0)) == 0
    passed = json.loads(noted.read_text())
    assert sum(name.startswith("COMMIT") for name in passed) >= 2
    outcomes: Counter[str] = Counter()
    for number in range(1, len(passed) + 1):
        copy = shutil.copytree(home, home.parent / f"killed-{number}")
        assert forked(lambda copy=copy, number=number: run(copy, number)) == -9
        with opened(copy) as lab:
            lab.dispatcher.close()
            ends = events(lab, "trace_ended")
            outcomes[
                (
                    "lost"
                    if ends and ends[0].body["lost"]
                    else "answered"
                    if ends
                    else "not started"
                )
            ] += 1
            assert len(events(lab, "trace_started")) == len(ends)
            assert len(events(lab, "observation")) == 1 + sum(
                end.body["success"] for end in ends
            )
            assert not list((copy / "calls").glob("*.lock"))
            report = verify(lab.views, VIEWS)
            assert report.ok, report.problems
        shutil.rmtree(copy)
    assert outcomes.keys() == {"lost", "answered", "not started"}


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
def test_an_interrupted_command_has_written_its_trace(home: Path) -> None:
    with HostileServer(hang) as server:
        rest = (
            "import signal\n"
            # a shell's background job inherits that it is ignored
            "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
            "lab.agent('main').dispatch('add 2 and 2', trace_id=trace_id)"
        )
        process = started(home, server.url, "mine", rest)
        until(lambda: server.requests)
        process.send_signal(signal.SIGINT)
        process.communicate()
        assert process.returncode != 0
    with opened(home) as lab:
        (ended,) = events(lab, "trace_ended")
        assert (ended.body["lost"], ended.body["success"]) == (False, False)
        assert ended.body["error"].startswith("KeyboardInterrupt")
        check(lab)


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_command_that_is_asked_to_end_has_written_its_trace(
    home: Path, name: str
) -> None:
    sign = getattr(signal, name)
    signal.signal(sign, signal.SIG_DFL)  # where the tests run under nohup too
    with HostileServer(hang) as server:
        home.mkdir()
        settings = {
            "models": {"only": {"tier": "medium", "url": server.url}},
            "roles": [],
            "modelTimeoutSeconds": 120,
        }
        (home / "config.json").write_text(json.dumps(settings))
        command = [
            sys.executable,
            "-m",
            "theorex_lab",
            "dispatch",
            "add 2 and 2",
            "--home",
            str(home),
        ]
        process = subprocess.Popen(command)
        until(lambda: server.requests)
        process.send_signal(sign)
        assert process.wait() == 128 + sign
    with opened(home) as lab:
        (ended,) = events(lab, "trace_ended")
        assert (ended.body["lost"], ended.body["error"]) == (
            False,
            f"SystemExit: {128 + sign}",
        )
        check(lab)


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
def test_a_command_that_is_to_outlive_its_terminal_does(home: Path) -> None:
    answer = threading.Event()
    with HostileServer(after(answer, completion("late"))) as server:
        home.mkdir()
        settings = {
            "models": {"only": {"tier": "medium", "url": server.url}},
            "roles": [],
            "modelTimeoutSeconds": 120,
        }
        (home / "config.json").write_text(json.dumps(settings))
        dispatch = [
            sys.executable,
            "-m",
            "theorex_lab",
            "dispatch",
            "add 2 and 2",
            "--home",
            str(home),
        ]
        process = subprocess.Popen(
            ["nohup", *dispatch], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        until(lambda: server.requests)
        process.send_signal(signal.SIGHUP)
        answer.set()
        assert process.wait() == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that are forked")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_an_owner_of_its_own(home: Path) -> None:
    with opened(
        home, models={"only": {"tier": "medium", "url": "http://localhost:9"}}, roles=[]
    ) as lab:
        lab.dispatcher._ask = _answered
        assert lab.dispatcher.dispatch(_task("parent")).success

        def child() -> None:
            assert lab.dispatcher.dispatch(_task("child")).success
            lab.dispatcher.close()

        assert forked(child) == 0
        assert (
            len({event.body["owner"]["lock"] for event in events(lab, "trace_started")})
            == 2
        )
        assert list((home / "calls").iterdir()) == []
        check(lab)


def test_where_the_start_cannot_be_written_no_model_is_called(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        HostileServer() as server,
        at_server(home, server.url, modelTimeoutSeconds=60) as lab,
    ):
        dispatcher = lab.dispatcher

        def full(*_: object, **__: object) -> list[int]:
            raise StorageError("the disk is full")

        monkeypatch.setattr(lab.journal, "append", full)
        with pytest.raises(StorageError):
            lab.agent("main").dispatch(CODE)
        assert server.requests == []
        monkeypatch.undo()
        assert dispatcher.dispatch(_task("mine")).success
        check(lab)


@needs_flock
def test_where_the_end_cannot_be_written_the_next_start_closes_the_trace(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with HostileServer() as server:
        with at_server(home, server.url) as lab:

            def full(*_given: Any) -> bool:
                raise StorageError("the disk is full")

            with monkeypatch.context() as patched:
                patched.setattr("theorex_lab.dispatch.worker.append_once", full)
                with pytest.raises(StorageError):
                    lab.agent("main").dispatch(CODE, trace_id="mine")
        with opened(home) as lab:
            assert lab.dispatcher.close_lost() == []
            assert lab.trace("mine").lost
            check(lab)


@needs_flock
def test_an_answer_to_a_trace_that_was_closed_meanwhile_is_given_and_not_kept(
    home: Path,
) -> None:
    """Somebody has removed the lock file of a living process."""
    answer = threading.Event()
    replies = after(answer, completion("late"))
    with (
        HostileServer(replies) as server,
        at_server(home, server.url, modelTimeoutSeconds=120) as lab,
        ThreadPoolExecutor(1) as pool,
    ):
        pending = pool.submit(lab.dispatcher.dispatch, _task("mine"))
        until(lambda: server.requests)
        for path in (home / "calls").iterdir():
            path.unlink()
        with opened(home) as other:
            other.dispatcher.close()
        answer.set()
        result = pending.result(60)
        assert (result.success, result.response, result.written_to_axon) == (
            True,
            "late",
            False,
        )
        assert lab.trace("mine").lost
        check(lab)


def _task(trace_id: str) -> Any:
    from theorex_lab.dispatch.worker import DispatchTask

    return DispatchTask("1", "main", CODE, trace_id=trace_id)


def _answered(names: Any, prompt: str, settings: Any) -> Any:
    from theorex_lab.dispatch.llm import Attempt, ChainAnswer, Completion

    return ChainAnswer(
        Completion("an answer", "only", 1, 1, 5.0), [Attempt("only", True, 5.0, 2, 0.0)]
    )
