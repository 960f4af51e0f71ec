"""Tasks between agents: every transition and every refusal, against a plain model, and
what a claim costs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median_low
from typing import Any

import pytest
from conftest import NOW
from faults import holding, quick_folder
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from theorex_lab import Event, FixedClock, InvalidInput, Lab
from theorex_lab.core.ids import derived_event_id
from theorex_lab.core.settings import check_settings
from theorex_lab.dispatch import tasks
from theorex_lab.dispatch.tasks import STATES, Task, TaskBoard, Tasks
from theorex_lab.journal.base import Journal, append_once
from theorex_lab.journal.sqlite.store import SqliteJournal
from theorex_lab.journal.view import differing_columns, verify

LEASE = 60_000_000  # µs
UNKNOWN = "01950000-0000-7000-8000-000000000000"


@pytest.fixture
def lab(clock: FixedClock) -> Iterator[Lab]:
    with quick_folder() as folder, opened(folder / "home", clock) as lab:
        yield lab


@pytest.fixture
def board(lab: Lab) -> TaskBoard:
    return lab.tasks


def opened(home: Any, clock: FixedClock, **changes: Any) -> Lab:
    return Lab(
        home, clock=clock, settings=check_settings({"taskLeaseSeconds": 60, **changes})
    )


def sound(lab: Lab) -> bool:
    return verify(lab.views, (Tasks,)).ok


def step_id(task_id: str, step: int) -> str:
    return derived_event_id("task", task_id, step)


# One task


def test_the_life_of_a_task(board: TaskBoard, clock: FixedClock) -> None:
    task_id = board.send("main", "sage", "review", {"files": ["a.py"], "deep": None})
    sent = Task(
        task_id,
        "main",
        "sage",
        "review",
        {"files": ["a.py"], "deep": None},
        "submitted",
        0,
        NOW,
    )
    assert board.task(task_id) == sent
    assert board.tasks("sage") == [sent]
    assert board.tasks("main") == []
    clock.advance(seconds=1)
    claimed = board.claim("sage", worker="w1")
    held = {
        "claimed_at": NOW + 1_000_000,
        "lease_until": NOW + 61_000_000,
        "worker": "w1",
    }
    assert claimed == Task(**vars(sent) | {"state": "working", "attempt": 1, **held})
    assert board.claim("sage", worker="w2") is None
    clock.advance(seconds=2)
    done = board.complete(task_id, ["fine"], worker="w1")
    ended = {
        "state": "completed",
        "lease_until": None,
        "completed_at": NOW + 3_000_000,
        "result": ["fine"],
    }
    assert done == Task(**vars(claimed) | ended) == board.task(task_id)
    assert board.tasks("sage", state="completed") == [done]
    assert board.tasks("sage", state="working") == []


def test_as_json_the_sender_is_from_and_times_can_be_read(board: TaskBoard) -> None:
    board.send("main", "sage", "review", "x")
    task = board.claim("sage", worker="w", lease_seconds=1.5)
    assert task is not None
    values = task.as_dict()
    assert list(values) == [
        "id",
        "from",
        "to",
        "type",
        "payload",
        "state",
        "attempt",
        "created_at",
        "claimed_at",
        "lease_until",
        "completed_at",
        "worker",
        "result",
        "from_agent",
        "to_agent",
        "task_type",
        "status",
        "submitted_at",
    ]
    a2a = [
        values[name]
        for name in ("from_agent", "to_agent", "task_type", "status", "submitted_at")
    ]
    assert a2a == [
        values[name] for name in ("from", "to", "type", "state", "created_at")
    ]
    assert (values["from"], values["lease_until"]) == (
        "main",
        "2026-03-01T09:00:01.500000Z",
    )
    assert values["completed_at"] is None


def test_a_failed_task_keeps_its_reason(board: TaskBoard) -> None:
    task_id = board.send("main", "sage", "review", 1)
    board.claim("sage")
    failed = board.fail(task_id, "no such file")
    assert (failed.state, failed.result, failed.worker) == (
        "failed",
        "no such file",
        "sage",
    )
    assert board.tasks("sage", state="failed") == [failed]


def test_the_oldest_is_claimed_first_and_only_by_the_agent_asked(
    board: TaskBoard, clock: FixedClock
) -> None:
    ids = []
    for number in range(4):
        ids.append(board.send("main", "sage", "work", number))
        board.send("main", "other", "work", number)
        clock.advance(
            seconds=-1
        )  # the order is that of the journal, whatever the clock said
    first = board.claim("sage", worker="dead")
    clock.advance(seconds=61)
    assert first is not None
    assert first.id == ids[0]
    again = [board.claim("sage", worker="w") for _ in range(5)]
    assert [task and task.id for task in again] == [*ids, None]
    assert [task.attempt for task in again if task] == [2, 1, 1, 1]


# Leases


def test_a_lease_that_is_over_puts_the_task_back(
    board: TaskBoard, clock: FixedClock
) -> None:
    task_id = board.send("main", "sage", "work", 1)
    board.claim("sage", worker="w1")
    clock.microseconds = NOW + LEASE - 1
    assert board.task(task_id).state == "working"
    assert board.claim("sage", worker="w2") is None
    clock.microseconds += 1
    waiting = board.task(task_id)
    assert (
        waiting.state,
        waiting.attempt,
        waiting.worker,
        waiting.claimed_at,
        waiting.lease_until,
    ) == ("submitted", 1, None, None, None)
    assert board.tasks("sage", state="submitted") == [waiting]
    second = board.claim("sage", worker="w2")
    assert second is not None
    assert (second.worker, second.attempt, second.claimed_at) == ("w2", 2, NOW + LEASE)
    with pytest.raises(InvalidInput, match="claimed by 'w2': leave it to that worker"):
        board.complete(task_id, worker="w1")
    assert board.complete(task_id, worker="w2").attempt == 2


@pytest.mark.parametrize(
    "finish",
    [
        TaskBoard.complete,
        lambda board, task_id, worker: board.fail(task_id, "no", worker=worker),
    ],
)
def test_a_late_end_counts_while_nobody_has_claimed_the_task_anew(
    board: TaskBoard, clock: FixedClock, finish: Callable[..., Task]
) -> None:
    task_id = board.send("main", "sage", "work", 1)
    board.claim("sage", worker="w1")
    clock.advance(seconds=1_000)
    with pytest.raises(InvalidInput, match="claimed by 'w1': claim it first"):
        finish(board, task_id, worker="w2")
    assert finish(board, task_id, worker="w1").completed_at == NOW + 1_000_000_000
    assert board.claim("sage") is None


def test_the_last_moment_that_can_be_told_is_the_end_of_every_lease(
    board: TaskBoard, clock: FixedClock
) -> None:
    clock.microseconds = FixedClock.at("9999-12-31T23:59:30Z").now()
    board.send("main", "sage", "work", 1)
    task = board.claim("sage")
    assert task is not None
    assert task.as_dict()["lease_until"] == "9999-12-31T23:59:59.999999Z"


# What is refused

ENDS: dict[str, Callable[[TaskBoard, str, str], object]] = {
    "complete": lambda board, task_id, worker: board.complete(
        task_id, 1, worker=worker
    ),
    "fail": lambda board, task_id, worker: board.fail(task_id, "no", worker=worker),
}


def _bring_to(board: TaskBoard, state: str) -> str:
    task_id = board.send("main", "sage", "work", 1)
    if state != "submitted":
        board.claim("sage", worker="w1")
    if state in ("completed", "failed"):
        ENDS[{"completed": "complete", "failed": "fail"}[state]](board, task_id, "w1")
    return task_id


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize(
    ("state", "worker", "message"),
    [
        ("submitted", "w1", "nobody holds it; claim it first"),
        ("working", "w2", "claimed by 'w1': leave it"),
        ("completed", "w1", "is completed; what is finished stays"),
        ("failed", "w1", "is failed; what is finished stays"),
    ],
)
def test_no_other_transition(
    lab: Lab, board: TaskBoard, state: str, worker: str, message: str, end: str
) -> None:
    task_id = _bring_to(board, state)
    before = lab.journal.last_seq()
    task = board.task(task_id)
    with pytest.raises(InvalidInput, match=message):
        ENDS[end](board, task_id, worker)
    assert lab.journal.last_seq() == before
    assert board.task(task_id) == task


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize(
    "task_id",
    [UNKNOWN, "", "../x", None, 7, UNKNOWN + "\0", "\udc80" * 36],
    ids=range(7),
)
def test_an_unknown_id_is_refused(board: TaskBoard, task_id: Any, end: str) -> None:
    board.send("main", "sage", "work", 1)
    with pytest.raises(InvalidInput, match="which is not known"):
        ENDS[end](board, task_id, "w1")
    with pytest.raises(InvalidInput, match="which is not known"):
        board.task(task_id)


CIRCLE: list[Any] = []
CIRCLE.append(CIRCLE)
DEEP: Any = 0
for _ in range(65):
    DEEP = {"in": [DEEP]} if _ % 2 else (DEEP,)


BAD = {
    "nan": float("nan"),
    "infinite": float("inf"),
    "set": {1, 2},
    "bytes": b"x",
    "surrogate": "\ud800",
    "object": {"a": object()},
    "circle": CIRCLE,
    "digits": 10**5_000,
    "deep": DEEP,
    "long": "x" * 1_023,
}


@pytest.mark.parametrize("payload", BAD.values(), ids=BAD)
def test_a_payload_or_result_that_cannot_be_kept_is_refused(
    clock: FixedClock, payload: Any
) -> None:
    with Lab.temporary(clock=clock, maxTextBytes=1_024) as lab:
        board = lab.tasks
        with pytest.raises(InvalidInput):
            board.send("main", "sage", "work", payload)
        assert lab.journal.last_seq() == 0
        task_id = board.send(
            "main", "sage", "work", "x" * 1_022
        )  # with its quotes as long as is allowed
        board.claim("sage")
        with pytest.raises(InvalidInput):
            board.complete(task_id, payload)
        assert board.task(task_id).state == "working"


def test_what_was_sent_at_the_deepest_is_read_deep_in_a_program(
    board: TaskBoard,
) -> None:
    payload: Any = 0
    for _ in range(64):
        payload = [payload]
    board.send("main", "sage", "work", payload)

    def below(frames: int) -> Task | None:
        return below(frames - 1) if frames else board.claim("sage")

    task = below(500)
    assert task is not None
    assert task.payload == payload


@pytest.mark.parametrize(
    "call",
    [
        lambda board: board.send("../main", "sage", "work", 1),
        lambda board: board.send("main", "Sage", "work", 1),
        lambda board: board.send("main", "sage", "Work", 1),
        lambda board: board.send("main", "sage", "w" * 33, 1),
        lambda board: board.send("main", "sage", None, 1),
        lambda board: board.tasks("a/b"),
        lambda board: board.tasks("sage", state="done"),
        lambda board: board.claim("a..b"),
        lambda board: board.claim("a..b", worker="w"),
        lambda board: board.claim("sage", worker=""),
        lambda board: board.claim("sage", worker="w" * 129),
        lambda board: board.claim("sage", worker=7),
        lambda board: board.fail(UNKNOWN, " "),
        lambda board: board.fail(UNKNOWN, {"why": 1}),
        *(
            lambda board, lease=lease: board.claim("sage", lease_seconds=lease)
            for lease in (0, -1, float("nan"), float("inf"), 864_001, True, "60")
        ),
    ],
)
def test_input_outside_the_rules_is_refused_and_nothing_written(
    lab: Lab, call: Callable[[TaskBoard], object]
) -> None:
    lab.tasks.send("main", "sage", "work", 1)
    with pytest.raises(InvalidInput, match="got "):
        call(lab.tasks)
    assert lab.journal.last_seq() == 1


# Against a plain model


@dataclass
class Plain:
    """A task as a list of tasks in memory would have it."""

    id: str
    to: str
    payload: int
    created_at: int
    worker: str = ""
    attempt: int = 0
    claimed_at: int = 0
    lease: int = 0
    lease_until: int = 0
    ended: str = ""
    completed_at: int = 0
    result: Any = None

    def task(self, now: int) -> Task:
        base = (self.id, "main", self.to, "work", self.payload)
        if self.ended:
            return Task(
                *base,
                self.ended,
                self.attempt,
                self.created_at,
                self.claimed_at,
                None,
                self.completed_at,
                self.worker,
                self.result,
            )
        if self.attempt and now < self.lease_until:
            return Task(
                *base,
                "working",
                self.attempt,
                self.created_at,
                self.claimed_at,
                self.lease_until,
                None,
                self.worker,
            )
        return Task(*base, "submitted", self.attempt, self.created_at)


AGENTS = st.sampled_from(["sage", "main"])
WORKERS = st.sampled_from(["w1", "w2"])


class Board(RuleBasedStateMachine):
    """Two labs over one home, and a plain list beside them."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = quick_folder()
        self.home = self.folder.__enter__() / "home"
        self.clock = FixedClock(NOW)
        self.labs = [
            opened(self.home, self.clock, snapshotAfterEvents=3) for _ in range(2)
        ]
        self.plain: list[Plain] = []
        self.sent = 0

    def teardown(self) -> None:
        assert sound(self.labs[0])
        assert sound(self.labs[1])
        for lab in self.labs:
            lab.close()
        self.folder.__exit__(None, None, None)

    @rule(lab=st.integers(0, 1), to=AGENTS)
    def send(self, lab: int, to: str) -> None:
        self.sent += 1
        task_id = self.labs[lab].tasks.send("main", to, "work", self.sent)
        self.plain.append(Plain(task_id, to, self.sent, self.clock.now()))

    @rule(lab=st.integers(0, 1), agent=AGENTS, worker=WORKERS, lease=st.integers(1, 90))
    def claim(self, lab: int, agent: str, worker: str, lease: int) -> None:
        now = self.clock.now()
        task = self.labs[lab].tasks.claim(agent, worker=worker, lease_seconds=lease)
        waiting = [
            each
            for each in self.plain
            if each.to == agent and each.task(now).state == "submitted"
        ]
        if not waiting:
            assert task is None
            return
        first = waiting[0]
        first.worker, first.attempt, first.claimed_at = worker, first.attempt + 1, now
        first.lease, first.lease_until = lease * 1_000_000, now + lease * 1_000_000
        assert task == first.task(now)

    @precondition(lambda self: self.plain)
    @rule(
        data=st.data(),
        lab=st.integers(0, 1),
        worker=WORKERS,
        how=st.sampled_from([*ENDS]),
    )
    def follow(self, data: st.DataObject, lab: int, worker: str, how: str) -> None:
        each = data.draw(st.sampled_from(self.plain))
        now = self.clock.now()
        board = self.labs[lab].tasks
        if each.ended or not each.attempt or each.worker != worker:
            with pytest.raises(InvalidInput):
                ENDS[how](board, each.id, worker)
            return
        each.ended, each.completed_at = (
            {"complete": "completed", "fail": "failed"}[how],
            now,
        )
        each.result = {"complete": 1, "fail": "no"}[how]
        assert ENDS[how](board, each.id, worker) == each.task(now)

    @rule(seconds=st.integers(0, 100))
    def wait(self, seconds: int) -> None:
        self.clock.advance(seconds=seconds)

    @rule(lab=st.integers(0, 1))
    def reopen(self, lab: int) -> None:
        self.labs[lab].close()
        self.labs[lab] = opened(self.home, self.clock, snapshotAfterEvents=3)

    @precondition(lambda self: self.plain)
    @rule(data=st.data(), lab=st.integers(0, 1))
    def erase(self, data: st.DataObject, lab: int) -> None:
        gone = data.draw(st.sampled_from(self.plain))
        steps = [step_id(gone.id, step) for step in range(20)]
        known = [event.id for event in self.labs[lab].journal.read(ids=steps)]
        self.labs[1 - lab].close()
        self.labs[lab].erase(ids=[data.draw(st.sampled_from(known))])
        self.plain.remove(gone)

    @invariant()
    def the_lists_agree(self) -> None:
        now = self.clock.now()
        for agent in ("sage", "main"):
            expected = [each.task(now) for each in self.plain if each.to == agent]
            for lab in self.labs:
                assert lab.tasks.tasks(agent) == expected
                for state in STATES:
                    assert lab.tasks.tasks(agent, state=state) == [
                        each for each in expected if each.state == state
                    ]


TestBoard = Board.TestCase
TestBoard.settings = settings(max_examples=20, stateful_step_count=25, deadline=None)


# Two at one step


def _meanwhile(monkeypatch: pytest.MonkeyPatch, other: Callable[[], object]) -> None:
    """Let `other` happen after the next step was decided and before it is appended."""

    def late(journal: Journal, events: Sequence[Event]) -> bool:
        monkeypatch.setattr(tasks, "append_once", append_once)
        other()
        return append_once(journal, events)

    monkeypatch.setattr(tasks, "append_once", late)


def test_of_two_claims_the_later_takes_the_next_task(
    lab: Lab, board: TaskBoard, clock: FixedClock, monkeypatch
) -> None:
    ids = [board.send("main", "sage", "work", number) for number in range(2)]
    with opened(lab.folder, clock) as other:
        taken = []
        _meanwhile(
            monkeypatch, lambda: taken.append(other.tasks.claim("sage", worker="w2"))
        )
        mine = board.claim("sage", worker="w1")
    assert [taken[0].id, mine and mine.id] == ids
    assert [task.worker for task in board.tasks("sage")] == ["w2", "w1"]


def test_a_late_end_after_a_new_claim_is_refused(
    lab: Lab, board: TaskBoard, clock: FixedClock, monkeypatch
) -> None:
    task_id = board.send("main", "sage", "work", 1)
    board.claim("sage", worker="w1")
    clock.advance(seconds=61)
    with opened(lab.folder, clock) as other:
        _meanwhile(monkeypatch, lambda: other.tasks.claim("sage", worker="w2"))
        with pytest.raises(InvalidInput, match="claimed by 'w2'"):
            board.complete(task_id, "late", worker="w1")
        assert other.tasks.complete(task_id, "mine", worker="w2").result == "mine"
    assert board.task(task_id).result == "mine"


def test_a_new_claim_after_a_late_end_finds_nothing(
    lab: Lab, board: TaskBoard, clock: FixedClock, monkeypatch
) -> None:
    task_id = board.send("main", "sage", "work", 1)
    board.claim("sage", worker="w1")
    clock.advance(seconds=61)
    with opened(lab.folder, clock) as other:
        _meanwhile(
            monkeypatch, lambda: other.tasks.complete(task_id, "late", worker="w1")
        )
        assert board.claim("sage", worker="w2") is None
    assert board.task(task_id).result == "late"


def test_a_worker_reports_once_though_it_says_so_twice(
    lab: Lab, board: TaskBoard, clock, monkeypatch
) -> None:
    task_id = board.send("main", "sage", "work", 1)
    board.claim("sage", worker="w1")
    with opened(lab.folder, clock) as other:
        _meanwhile(monkeypatch, lambda: other.tasks.complete(task_id, 1, worker="w1"))
        with pytest.raises(InvalidInput, match="is completed"):
            board.fail(task_id, "no", worker="w1")
    assert board.task(task_id).state == "completed"


# Erasure


@pytest.mark.parametrize("step", range(4))
def test_a_task_of_which_a_step_was_erased_is_gone(
    lab: Lab, board: TaskBoard, clock, step: int
) -> None:
    task_id = board.send("main", "sage", "work", "the payload")
    other = board.send("main", "sage", "work", "kept")
    for _ in range(2):
        board.claim("sage", worker="w1")
        clock.advance(seconds=1_000)
    board.complete(task_id, "the outcome", worker="w1")
    reached = lab.erase(ids=[step_id(task_id, step)])
    assert reached == [step_id(task_id, later) for later in range(step, 4)]
    assert [task.id for task in board.tasks("sage")] == [other]
    for end in ENDS.values():
        with pytest.raises(InvalidInput, match="which is not known"):
            end(board, task_id, "w1")
    assert board.claim("sage").id == other  # type: ignore[union-attr]
    assert board.claim("sage") is None
    assert sound(lab)
    assert holding(lab.folder, "the outcome") == []
    assert bool(holding(lab.folder, "the payload")) == (step > 0)


def test_an_erased_step_is_taken_by_nobody_even_when_its_erasure_was_erased(
    lab: Lab, board: TaskBoard
) -> None:
    task_id = board.send("main", "sage", "work", 1)
    board.claim("sage", worker="w1")
    lab.erase(ids=[step_id(task_id, 1)])
    lab.erase(agent="theorex")
    other = board.send("main", "sage", "work", 2)
    assert board.claim("sage", worker="w2").id == other  # type: ignore[union-attr]
    assert board.claim("sage", worker="w2") is None
    board.complete(other, worker="w2")
    lab.erase(ids=[step_id(other, 2)])
    lab.erase(agent="theorex")
    for end in ENDS.values():
        with pytest.raises(InvalidInput, match="which is not known"):
            end(board, other, "w2")


@pytest.mark.parametrize("step", range(4))
def test_a_task_erased_while_it_is_reported_is_unknown(
    lab: Lab, board: TaskBoard, clock, monkeypatch, step
) -> None:
    """Also where the step that stood in the way (3) was erased, or the one that the
    report follows (2).
    """
    task_id = board.send("main", "sage", "work", 1)
    board.claim("sage", worker="w1")
    with opened(lab.folder, clock) as other:
        clock.advance(seconds=1_000)
        board.claim("sage", worker="w1")

        def erase() -> None:
            if step == 3:
                clock.advance(seconds=1_000)
                other.tasks.claim("sage", worker="w1")
            other.erase(ids=[step_id(task_id, step)])

        _meanwhile(monkeypatch, erase)
        with pytest.raises(InvalidInput, match="which is not known"):
            board.complete(task_id, "late", worker="w1")
        assert other.tasks.tasks("sage") == board.tasks("sage") == []
    assert sound(lab)
    one_by_one = Tasks()
    for event in lab.journal.tail(0, kinds=Tasks.kinds):
        one_by_one.apply([event])
    assert differing_columns(one_by_one, lab.views.get(Tasks)) == []


# What it costs


def _work(journal: SqliteJournal, run: Callable[[], object]) -> tuple[int, int]:
    """Calls of functions in Python and C, and thousands of instructions of the
    database, that `run` needs.
    """
    calls = instructions = 0

    def called(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    def counted() -> int:
        nonlocal instructions
        instructions += 1
        return 0

    journal.connection().set_progress_handler(counted, 10)
    sys.setprofile(called)
    try:
        run()
    finally:
        sys.setprofile(None)
        journal.connection().set_progress_handler(None, 0)
    return calls, instructions


def _usual_work(journal: SqliteJournal, run: Callable[[], object]) -> tuple[int, int]:
    """The median of nine measures of `_work`.

    Ids are drawn at random, and one that looks like a part of a secret is examined
    more closely: a single measure may be up to 130 calls higher.
    """
    calls, instructions = zip(*(_work(journal, run) for _ in range(9)), strict=True)
    return median_low(calls), median_low(instructions)


def test_a_claim_costs_the_same_whatever_is_finished(
    lab: Lab, board: TaskBoard
) -> None:
    def one() -> None:
        board.send("main", "sage", "work", 1)
        task = board.claim("sage")
        assert task is not None
        board.complete(task.id)

    for _ in range(20):
        one()
    few = _usual_work(lab.journal, one)
    for _ in range(500):
        one()
    many = _usual_work(lab.journal, one)
    assert many[0] <= few[0] + 20
    assert many[1] <= 1.3 * few[1] + 5
    with opened(lab.folder, FixedClock(NOW)) as later:  # from a snapshot, too
        lab.views.snapshot(lab.views.get(Tasks))
        later.tasks.claim("sage")
        again = _work(later.journal, lambda: later.tasks.claim("sage"))
    assert again[0] < few[0]
