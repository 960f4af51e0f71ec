"""Comparisons that go on where one ended: what is kept, lost workers, other machines."""

from __future__ import annotations

import gc
import json
import os
import random
import signal
import sys
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from conftest import NOW, Run
from forked_workers import fork_server, forked_workers

from theorex_lab import InvalidInput, new_event
from theorex_lab.eval import Comparison, EvalLog, EvalQuery, compare
from theorex_lab.eval.metrics import compare as compare_module
from theorex_lab.eval.metrics.comparison_jobs import result_of
from theorex_lab.eval.replay import job_runs
from theorex_lab.eval.replay.baselines import Bm25, LastPrompts
from theorex_lab.eval.replay.job_runs import JobRun
from theorex_lab.eval.replay.trial_files import write_log
from theorex_lab.journal.event import Event

pytestmark = pytest.mark.usefixtures("shared_logs")

# A memory that notes in a file each time that it is made, and dies where a file says so.
COUNTING = """
import os, signal, time
from pathlib import Path
from theorex_lab.eval.replay.baselines import Bm25

NOTES = Path({notes!r})


class Counting(Bm25):
    def __init__(self):
        super().__init__()
        self.slow = (NOTES / "slow").exists()

    def observe(self, events):
        super().observe(events)
        name = events[0].session if events else "none"
        deaths = NOTES / f"dies-{{name}}"
        if deaths.exists():
            left = int(deaths.read_text())
            if left:
                deaths.write_text(str(left - 1))
                os.kill(os.getpid(), signal.SIGKILL)
        with open(NOTES / "made", "a") as file:
            file.write(name + "\\n")
        if self.slow:
            time.sleep(0.05)
"""
MEMORY = "counting_memory:Counting"
# Many times more than are held at once.
N_LOGS = 40


@pytest.fixture(scope="module")
def _fork_server() -> Iterator[None]:
    with fork_server():
        yield


@pytest.fixture
def _forked(_fork_server: None) -> Iterator[None]:
    """The workers of a test's cluster are forked."""
    with forked_workers():
        yield


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the folder in which the memory of this test notes what it does."""
    folder = tmp_path / "notes"
    folder.mkdir()
    code = tmp_path / "code"
    code.mkdir()
    (code / "counting_memory.py").write_text(COUNTING.format(notes=str(folder)))
    monkeypatch.syspath_prepend(code)
    monkeypatch.delitem(sys.modules, "counting_memory", raising=False)
    return folder


def made_in(notes: Path) -> list[str]:
    file = notes / "made"
    return sorted(file.read_text().split()) if file.exists() else []


def check_made(notes: Path, names: list[str]) -> None:
    """Check what was made where the worker of another log died.

    The first death takes the other worker of the pool with it, and the one trial that
    ran there. Later ones take none, since what was lost runs alone.
    """
    made = made_in(notes)
    assert sorted(set(made)) == names
    assert len(made) <= len(names) + 1


def log_of(name: str, n_events: int = 6) -> EvalLog:
    def said(number: int) -> Event:
        text = f"The port of till {number} of {name} is 80{number:02}"
        return new_event(
            "prompt", {"text": text}, agent="main", session=name, at=NOW + number
        )

    events = [said(number) for number in range(n_events)]
    queries = [
        EvalQuery(
            NOW + 1_000, f"port of till {number} of {name}", frozenset({event.id})
        )
        for number, event in enumerate(events)
    ]
    return EvalLog(name, events, queries)


@pytest.fixture(scope="module")
def logs() -> list[EvalLog]:
    return [log_of(f"log{number}") for number in range(4)]


def run_of(logs: list[EvalLog], **more: Any) -> Comparison:
    return compare(logs, [MEMORY, "bm25"], budgets=(60,), progress=False, **more)


def same(one: Comparison, other: Comparison) -> None:
    pd.testing.assert_frame_equal(one.frame, other.frame)


# What is kept


def test_a_second_run_does_nothing_twice(
    notes: Path, logs: list[EvalLog], tmp_path: Path
) -> None:
    first = run_of(logs, out=tmp_path / "out")
    assert (first.n_taken_over, made_in(notes)) == (0, [log.name for log in logs])
    again = run_of(logs, out=tmp_path / "out")
    assert again.n_taken_over == 8
    assert made_in(notes) == [log.name for log in logs]
    same(first, again)
    same(first, run_of(logs))
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["trials"]


def test_more_logs_and_memories_take_over_what_is_there(
    notes: Path, logs: list[EvalLog], tmp_path: Path
) -> None:
    run_of(logs[:2], out=tmp_path / "out")
    more = compare(
        logs, [MEMORY, "fts5"], budgets=(60,), progress=False, out=tmp_path / "out"
    )
    assert more.n_taken_over == 2
    assert made_in(notes) == [log.name for log in logs]


@pytest.mark.parametrize("change", ["plan", "log", "code"])
def test_what_depends_on_something_else_is_done_again(
    notes: Path, logs: list[EvalLog], tmp_path: Path, change: str
) -> None:
    run_of(logs[:1], out=tmp_path / "out")
    budgets = (61,) if change == "plan" else (60,)
    log = logs[0]
    if change == "log":
        log = EvalLog(log.name, log.events[:-1], log.probes)
    if change == "code":
        with (tmp_path / "code" / "counting_memory.py").open("a") as file:
            file.write("# changed\n")
    again = compare(
        [log], [MEMORY], budgets=budgets, progress=False, out=tmp_path / "out"
    )
    assert again.n_taken_over == 0
    assert len(made_in(notes)) == 2


@pytest.mark.parametrize("damage", ["torn", "foreign", "no JSON", "a folder"])
def test_a_file_that_is_no_trial_is_told_and_done_again(
    notes: Path, logs: list[EvalLog], tmp_path: Path, damage: str
) -> None:
    first = run_of(logs[:1], out=tmp_path / "out")
    for file in (tmp_path / "out" / "trials").iterdir():
        content = file.read_bytes()
        file.unlink()
        if damage == "a folder":
            file.mkdir()
            (file / "x").write_text("")
        else:
            file.write_bytes(
                {"torn": content[:-9], "foreign": b"{}", "no JSON": b"\xff"}[damage]
            )
    if damage == "a folder":
        with pytest.raises(Exception, match="give another folder"):
            run_of(logs[:1], out=tmp_path / "out")
        return
    again = run_of(logs[:1], out=tmp_path / "out")
    assert again.n_taken_over == 0
    assert len(again.file_problems) == 2
    assert all("is no trial" in problem for problem in again.file_problems)
    same(first, again)
    assert run_of(logs[:1], out=tmp_path / "out").file_problems == ()


def test_a_log_that_was_changed_under_way_is_refused(
    logs: list[EvalLog], tmp_path: Path
) -> None:
    reference = write_log(logs[0], tmp_path)
    assert reference.read().events == logs[0].events
    other = reference._replace(name="other")
    Path(reference.file).write_bytes(b"cos\nsystem\n(S'exit'\ntR.")
    with pytest.raises(InvalidInput, match="changed since the log"):
        other.read()


# What is not mistaken for something else


@pytest.mark.parametrize("change", ["another trial", "another version"])
def test_a_sound_file_of_another_trial_is_told_and_done_again(
    logs: list[EvalLog], tmp_path: Path, change: str
) -> None:
    names = ["bm25", "nothing"]
    out = tmp_path / "out"
    first = compare(logs[:1], names, budgets=(60,), progress=False, out=out)
    one, other = sorted((out / "trials").iterdir())
    if change == "another trial":
        one.write_bytes(other.read_bytes())
    else:
        content = json.loads(one.read_bytes())
        one.write_text(json.dumps({**content, "version": 99}))
    again = compare(logs[:1], names, budgets=(60,), progress=False, out=out)
    assert again.n_taken_over == 1
    assert len(again.file_problems) == 1
    same(first, again)


def test_a_class_or_function_in_no_file_runs_again(
    logs: list[EvalLog], tmp_path: Path
) -> None:
    class Changed(Bm25):
        def retrieve(self, query: str, now: int, tokens: int) -> list[Any]:
            return []

    out = tmp_path / "out"
    for memory in (lambda: Bm25(), Changed):
        compared = compare(
            logs[:2], {"mine": memory}, budgets=(60,), progress=False, out=out
        )
        assert compared.n_taken_over == 0
        (problem,) = compared.file_problems
        assert problem.startswith("mine runs again each time")
        same(
            compared,
            compare(logs[:2], {"mine": memory}, budgets=(60,), progress=False),
        )


def test_two_classes_of_one_module_under_one_name_are_two(
    logs: list[EvalLog], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    for memory, n_taken_over in ((Bm25, 0), (LastPrompts, 0), (Bm25, 1)):
        compared = compare(
            logs[:1], {"mine": memory}, budgets=(60,), progress=False, out=out
        )
        assert compared.n_taken_over == n_taken_over


def test_an_agents_files_are_read_again(logs: list[EvalLog], tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    names = [f"files:{folder}"]
    for text in ("The port of till 1 of log0 is 8001", "Nothing of the kind"):
        (folder / "MEMORY.md").write_text(text)
        compared = compare(
            logs[:1], names, budgets=(60,), progress=False, out=tmp_path / "out"
        )
        assert compared.n_taken_over == 0
        same(compared, compare(logs[:1], names, budgets=(60,), progress=False))


def test_a_memory_that_could_not_be_opened_is_tried_again(
    notes: Path, logs: list[EvalLog], tmp_path: Path
) -> None:
    code = tmp_path / "code" / "counting_memory.py"
    sound = code.read_text()
    gate = tmp_path / "missing"
    code.write_text(
        sound.replace(
            "        super().__init__()\n",
            f"        super().__init__()\n        os.stat({str(gate)!r})\n",
        )
    )
    first = run_of(logs[:1], out=tmp_path / "out")
    assert any(problem.startswith("opening") for problem in first.trials[0].problems)
    gate.write_text("")
    again = run_of(logs[:1], out=tmp_path / "out")
    assert again.n_taken_over == 1
    assert not again.trials[0].problems
    assert made_in(notes) == [logs[0].name]


# Workers that are lost


@pytest.mark.parametrize("deaths", [1, 2])
def test_a_worker_that_dies_is_tried_again(
    notes: Path, logs: list[EvalLog], tmp_path: Path, deaths: int
) -> None:
    (notes / "dies-log1").write_text(str(deaths))
    compared = run_of(logs, workers=2, out=tmp_path / "out")
    assert compared.lost == []
    check_made(notes, [log.name for log in logs])
    same(compared, run_of(logs))


def test_a_trial_that_no_worker_survives_is_named_and_the_rest_is_there(
    notes: Path, logs: list[EvalLog], tmp_path: Path
) -> None:
    (notes / "dies-log2").write_text("99")
    compared = run_of(logs, workers=2, out=tmp_path / "out")
    (lost,) = compared.lost
    assert (lost.log, lost.design) == ("log2", MEMORY)
    assert next(iter(lost.problems)).startswith("its worker was lost 3 times")
    check_made(notes, ["log0", "log1", "log3"])
    (notes / "dies-log2").unlink()
    again = run_of(logs, workers=2, out=tmp_path / "out")
    assert again.n_taken_over == 7
    same(again, run_of(logs))


def test_the_command_ends_with_an_error_and_has_all_others(
    run: Run, notes: Path, tmp_path: Path
) -> None:
    words = [
        "compare",
        "--log",
        "simulated_team",
        "--design",
        MEMORY,
        "--design",
        "bm25",
    ]
    words += ["--budgets", "60", "--workers", "2", "--out", str(tmp_path / "out")]
    code = tmp_path / "code" / "counting_memory.py"
    sound = code.read_text()
    code.write_text(
        sound.replace("if deaths.exists():", "if True:")
        .replace("left = int(deaths.read_text())", "left = 1")
        .replace("deaths.write_text(str(left - 1))", "pass")
    )
    ended = run(*words)
    assert ended.code == 1
    assert "the process died each time" in ended.err
    assert "bm25" in ended.out
    for name in ("comparison.json", "scores.csv", "report.html"):
        assert (tmp_path / "out" / name).stat().st_size > 100
    assert "its worker was lost" in (tmp_path / "out" / "report.html").read_text()


def kill(victim: int) -> None:
    """Kill a worker, unless it has ended by then."""
    with suppress(ProcessLookupError):
        os.kill(victim, signal.SIGKILL)


@pytest.mark.parametrize("seed", range(5))
def test_workers_killed_at_random_change_nothing(
    notes: Path,
    logs: list[EvalLog],
    tmp_path: Path,
    seed: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A worker is killed after a drawn number of trials; no finished one is repeated."""
    (notes / "slow").write_text("")
    pools: list[ProcessPoolExecutor] = []
    submit = ProcessPoolExecutor.submit
    draws = random.Random(seed)
    moments = {draws.randrange(1, 8) for _ in range(2)}
    submitted: list[object] = []

    def killing(pool: ProcessPoolExecutor, *given: Any) -> Any:
        future = submit(pool, *given)
        submitted.append(given)
        if len(submitted) in moments:
            pools.append(pool)
            victim = draws.choice(sorted(pool._processes))  # type: ignore[attr-defined]
            delay = draws.random() * 0.06
            threading.Timer(delay, kill, (victim,)).start()
        return future

    with monkeypatch.context() as patched:
        patched.setattr(ProcessPoolExecutor, "submit", killing)
        compared = run_of(logs, workers=2, out=tmp_path / "out")
    assert pools
    assert compared.lost == []
    finished = len(list((tmp_path / "out" / "trials").glob("*.json")))
    assert finished == 8
    # What was under way when a worker died is done again, and nothing else.
    assert len(made_in(notes)) <= 4 + 2 * len(moments)
    same(compared, run_of(logs))


def test_an_executor_that_is_broken_gives_up_rather_than_waits() -> None:
    class Broken(ThreadPoolExecutor):
        def submit(self, *_: Any, **__: Any) -> Any:
            raise job_runs.BrokenExecutor("gone")

    run = JobRun(str, lambda: Broken(1), 2)
    finished = list(run.run([1, 2, 3]))
    assert sorted(done.job for done in finished) == [1, 2, 3]
    assert all(done.was_given_up for done in finished)


def test_an_error_of_a_job_is_raised() -> None:
    run: JobRun[Any] = JobRun(int, lambda: ThreadPoolExecutor(1), 1)
    with pytest.raises(ValueError, match="no number"):
        list(run.run(["1", "no number", "3"]))


# Many logs, other machines


def test_many_logs_are_not_held_at_once(tmp_path: Path) -> None:
    alive: weakref.WeakSet[EvalLog] = weakref.WeakSet()
    most = [0]

    def logs() -> Iterator[EvalLog]:
        for number in range(N_LOGS):
            log = log_of(f"log{number}", 3)
            alive.add(log)
            gc.collect(0)
            most[0] = max(most[0], len(alive))
            yield log

    compared = compare(
        logs(),
        ["bm25", "nothing", "full_history"],
        budgets=(60,),
        progress=False,
        out=tmp_path / "out",
    )
    assert len(compared.logs) == N_LOGS
    assert len(compared.trials) == 3 * N_LOGS
    assert most[0] <= 4


@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("_forked")
def test_dask_gives_what_one_process_gives(logs: list[EvalLog], tmp_path: Path) -> None:
    distributed: Any = pytest.importorskip("distributed")
    names = ["bm25", "fts5"]
    alone = compare(logs, names, budgets=(60,), progress=False)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
        client.get_executor() as executor,
    ):
        compared = compare(
            logs,
            names,
            budgets=(60,),
            progress=False,
            executor=executor,
            out=tmp_path / "out",
        )
    same(compared, alone)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("_forked")
def test_workers_of_dask_killed_at_random_change_nothing(
    notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Five workers are killed, after drawn numbers of trials; none is repeated."""
    distributed: Any = pytest.importorskip("distributed")
    draws = random.Random(0)
    many = [log_of(f"log{number}") for number in range(10)]
    moments = set(draws.sample(range(1, 17), 5))
    ended: list[object] = []
    variables = {"PYTHONPATH": str(tmp_path / "code")}
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, env=variables
        ) as cluster,
        distributed.Client(cluster) as client,
        client.get_executor() as executor,
        monkeypatch.context() as patched,
    ):
        killed: list[int] = []

        def killing(done: Any) -> Any:
            ended.append(done)
            if len(ended) in moments:
                nannies = [*cluster.workers.values()]
                victims = [nanny.pid for nanny in nannies if nanny.pid]
                killed.append(draws.choice(sorted(victims)))
                kill(killed[-1])
            return result_of(done)

        patched.setattr(compare_module, "result_of", killing)
        compared = run_of(many, executor=executor, out=tmp_path / "out")
    assert len(killed) == 5
    assert compared.lost == []
    assert len(list((tmp_path / "out" / "trials").glob("*.json"))) == 20
    # A worker has one thread, so a kill costs at most the one trial that ran there.
    made = made_in(notes)
    assert sorted(set(made)) == sorted(log.name for log in many)
    assert len(made) <= len(many) + len(killed)
    same(compared, run_of(many))


def test_others_go_on_where_an_executor_outlives_its_worker() -> None:
    class KilledWorker(Exception):
        """As Dask tells it."""

    attempts: list[int] = []

    def call(job: int) -> int:
        attempts.append(job)
        if job == 2:
            raise KilledWorker
        return job

    run: JobRun[int] = JobRun(call, lambda: ThreadPoolExecutor(2), 2)
    finished = {done.job: done for done in run.run([1, 2, 3, 4])}
    assert {job for job, done in finished.items() if done.was_given_up} == {2}
    assert sorted(attempts) == [1, 2, 2, 2, 3, 4]


def test_what_an_executor_gave_up_is_another_call_at_the_next_attempt() -> None:
    class Remembering(ThreadPoolExecutor):
        """Gives one answer to the same call, as Dask does."""

        def submit(self, *call: Any, **options: Any) -> Any:
            if call not in futures:
                futures[call] = super().submit(*call, **options)
            return futures[call]

    class KilledWorker(Exception):
        """As Dask tells it."""

    futures: dict[Any, Any] = {}
    attempts: list[int] = []

    def call(job: int) -> int:
        attempts.append(job)
        if job == 2 and attempts.count(2) < 3:
            raise KilledWorker
        return job

    run: JobRun[int] = JobRun(call, lambda: Remembering(2), 2)
    finished = {done.job: done for done in run.run([1, 2, 3])}
    assert finished[2] == (2, 2, 2)
    assert sorted(attempts) == [1, 2, 2, 2, 3]


def dies_twice(job: tuple[Path, int]) -> int:
    """Return the number of a job; the worker of number 1 dies at its first attempts."""
    note, number = job
    if number == 1:
        with note.open("a") as file:
            file.write(".")
        if note.stat().st_size < 3:
            kill(os.getpid())
    return number


@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("_forked")
def test_a_worker_of_dask_that_dies_twice_loses_nothing(tmp_path: Path) -> None:
    """Dask gives up at once what a dead worker ran, and what waited there."""
    dask: Any = pytest.importorskip("dask")
    distributed: Any = pytest.importorskip("distributed")
    note = tmp_path / "attempts"
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
        client.get_executor() as executor,
    ):
        run = JobRun(dies_twice, lambda: nullcontext(executor), 16)
        finished = list(run.run([(note, number) for number in range(3)]))
    assert note.stat().st_size == 3
    assert sorted(done.result for done in finished) == [0, 1, 2]


def test_a_report_shows_every_row_and_escapes_names(tmp_path: Path) -> None:
    first = log_of("first")
    named = EvalLog("<b>log</b>", first.events, first.probes)
    logs = [named, log_of("other")]
    compared = compare(
        logs, ["bm25", "fts5", "nothing"], budgets=(20, 60, 200), progress=False
    )
    compared.write_report(tmp_path, "nothing")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<b>log</b>" not in page
    assert "&lt;b&gt;log" in page
    assert "..." not in page
    assert page.count("<tr") >= len(compared.cells)
    assert page.index("evidence_recall") < page.index("tokens</td>")
    assert len((tmp_path / "scores.csv").read_text().splitlines()) == 1 + len(
        compared.frame
    )
