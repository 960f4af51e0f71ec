"""Many processes that poll for tasks, and workers that are killed: each task is done
once, and none is lost.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import NOW
from faults import boundaries, forked, opened, quick_folder
from killed_homes import every, killed_homes
from test_faults_processes import together

from theorex_lab import InvalidInput, Lab
from theorex_lab.dispatch.tasks import STATES, Tasks
from theorex_lab.journal.view import verify

pytestmark = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="needs processes that are forked"
)
POLLERS = 8
TASKS = 1_000
AFTER_THE_LEASE = NOW + 300_000_000


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with quick_folder() as folder:
        yield folder


def _fill(home: Path, count: int) -> list[str]:
    with opened(home) as lab:
        return [
            lab.tasks.send("main", "sage", "work", number) for number in range(count)
        ]


def _poll(
    home: Path,
    worker: str,
    *,
    die_at: int = 0,
    meet: Callable[[], object] = lambda: None,
) -> None:
    """Do tasks until none waits, noting each in a file; killed with its task of number
    `die_at` claimed, not done.

    `meet` is called when the first task was claimed.
    """
    with (
        opened(home, snapshotAfterEvents=300) as lab,
        (home / f"{worker}.done").open("a") as done,
    ):
        board = lab.tasks
        number = 0
        while task := board.claim("sage", worker=worker):
            number += 1
            if number == die_at:
                os.kill(os.getpid(), signal.SIGKILL)
            if number == 1:
                meet()
            board.complete(task.id, f"{worker} did {task.payload}", worker=worker)
            done.write(json.dumps(task.id) + "\n")
            done.flush()


def _sound(lab: Lab) -> bool:
    return verify(lab.views, (Tasks,)).ok


def _noted(home: Path) -> list[str]:
    return [
        json.loads(line)
        for file in home.glob("*.done")
        for line in file.read_text().splitlines()
    ]


def test_eight_pollers_do_each_of_a_thousand_tasks_once(tmp_path: Path) -> None:
    sent = _fill(tmp_path, TASKS)
    barrier = multiprocessing.get_context("fork").Barrier(POLLERS, timeout=120)
    pollers = [
        lambda n=n: _poll(tmp_path, f"w{n}", meet=barrier.wait) for n in range(POLLERS)
    ]
    assert together(*pollers) == [0] * POLLERS
    assert sorted(_noted(tmp_path)) == sorted(sent)
    with opened(tmp_path) as lab:
        tasks = lab.tasks.tasks("sage")
        assert [task.id for task in tasks] == sent
        assert {(task.state, task.attempt) for task in tasks} == {("completed", 1)}
        assert [task.result for task in tasks] == [
            f"{task.worker} did {n}" for n, task in enumerate(tasks)
        ]
        assert len({task.worker for task in tasks}) == POLLERS, (
            "they worked side by side"
        )
        kinds = Counter(event.kind for event in lab.journal.tail(0))
        assert kinds == {
            "task_submitted": TASKS,
            "task_claimed": TASKS,
            "task_ended": TASKS,
        }
        assert _sound(lab)


def test_what_killed_workers_held_is_done_by_others_after_the_lease(
    tmp_path: Path,
) -> None:
    sent = _fill(tmp_path, 60)
    workers = [
        lambda n=n: _poll(tmp_path, f"w{n}", die_at=n % 2) for n in range(4)
    ]  # w1 and w3 die at their first
    # The others wait for both to be dead, since they would else leave nothing to claim.
    assert together(*workers[1::2]) == [-signal.SIGKILL] * 2
    assert together(*workers[::2]) == [0, 0]
    with opened(tmp_path) as lab:
        assert Counter(task.state for task in lab.tasks.tasks("sage")) == {
            "completed": 58,
            "working": 2,
        }
        assert lab.tasks.claim("sage", worker="w9") is None
    with opened(tmp_path, at=AFTER_THE_LEASE) as lab:
        for task_id in sent[:2]:
            task = lab.tasks.claim("sage", worker="w9")
            assert task is not None
            assert (task.id, task.attempt) == (task_id, 2)
            lab.tasks.complete(task.id, worker="w9")
        assert {task.state for task in lab.tasks.tasks("sage")} == {"completed"}
        assert len(set(_noted(tmp_path))) == len(_noted(tmp_path)) == 58
        assert _sound(lab)


STEPS = {
    "claim": lambda lab: lab.tasks.claim("sage", worker="w1"),
    "complete": lambda lab: lab.tasks.complete(
        lab.tasks.tasks("sage")[0].id, "done", worker="w1"
    ),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_worker_killed_at_any_moment_leaves_its_step_taken_or_not(
    tmp_path: Path, name: str
) -> None:
    template = tmp_path / "template"
    _fill(template, 2)
    if name == "complete":
        with opened(template) as lab:
            STEPS["claim"](lab)
    before, after = {
        "claim": ("submitted", "working"),
        "complete": ("working", "completed"),
    }[name]
    seen = set()
    passed = boundaries(template, tmp_path, STEPS[name])
    for killed in killed_homes(template, tmp_path, STEPS[name], every(passed)):
        with opened(killed.home) as lab:
            state = lab.tasks.tasks("sage")[0].state
            assert state in (before, after)
            seen.add(state)
        with opened(killed.home, at=AFTER_THE_LEASE) as lab:
            while task := lab.tasks.claim("sage", worker="w2"):
                lab.tasks.complete(task.id, worker="w2")
            assert [task.state for task in lab.tasks.tasks("sage")] == [
                "completed",
                "completed",
            ]
            assert _sound(lab)
    assert seen == {before, after}


def test_a_late_worker_and_a_new_one_at_once_never_both_have_the_task(
    tmp_path: Path,
) -> None:
    """One process reports late while another claims anew: either the report stands, or
    the claim.
    """
    for number in range(10):
        home = tmp_path / f"home-{number}"
        (task_id,) = _fill(home, 1)
        with opened(home) as lab:
            lab.tasks.claim("sage", worker="old")

        def report(home: Path = home, task_id: str = task_id) -> None:
            with opened(home, at=AFTER_THE_LEASE) as lab:
                try:
                    lab.tasks.complete(task_id, "old", worker="old")
                except InvalidInput:
                    os._exit(3)

        def anew(home: Path = home) -> None:
            with opened(home, at=AFTER_THE_LEASE) as lab:
                if lab.tasks.claim("sage", worker="new") is None:
                    os._exit(3)

        codes = together(report, anew)
        with opened(home, at=AFTER_THE_LEASE) as lab:
            task = lab.tasks.task(task_id)
            assert (codes, task.state, task.worker) in [
                ([0, 3], "completed", "old"),
                ([3, 0], "working", "new"),
            ]
            assert _sound(lab)


def test_two_forks_of_one_open_lab_share_nothing(tmp_path: Path) -> None:
    """The board of a parent, carried across a fork, opens a connection of its own."""
    sent = _fill(tmp_path, 20)
    with opened(tmp_path) as lab:
        board = lab.tasks
        assert len(board.tasks("sage")) == 20

        def take() -> None:
            for _ in range(10):
                assert board.claim("sage", worker=str(os.getpid())) is not None

        assert forked(take) == 0
        assert forked(take) == 0
        assert [task.state for task in board.tasks("sage")] == [STATES[1]] * len(sent)
        assert _sound(lab)
