"""`tune`, `score_needs` and commands on Dask: the scores of one process, and what kills
cost.
"""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import DAY, NOW, Run
from forked_workers import fork_server, forked_workers

from theorex_lab.eval import load_session_needs, score_needs, tune
from theorex_lab.eval.metrics import fitting
from theorex_lab.eval.metrics.access_log import AccessLog
from theorex_lab.eval.replay import kept_calls
from theorex_lab.eval.replay.needs_systems import give_nothing
from theorex_lab.memory.decay import Law

distributed: Any = pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.usefixtures("shared_logs"),
]
_NOTES = "NOTES_OF_CALLS"
N_LAWS = 8
# Beside laws, the thresholds and the held-out events of two winners.
N_OTHERS = 2


def note(name: str) -> None:
    """Note that a call was begun, in the file that the workers' environment names."""
    if _NOTES in os.environ:
        with Path(os.environ[_NOTES]).open("a", encoding="utf-8") as file:
            file.write(f"{name}\n")


class NotedLaw(Law):
    """A law that notes each replay; each job gets an instance of its own."""

    name = "noted"

    def __init__(self, number: int) -> None:
        super().__init__()
        vars(self)["name"] = f"noted{number}"
        self._number = number
        self._is_noted = False

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_is_noted": False}

    def _raw(self, items: Any) -> Any:
        if not self._is_noted:
            note(self.name)
            self._is_noted = True
        return -items.age_days - self._number * items.count


def noted_system() -> Any:
    note("system")
    return give_nothing


@pytest.fixture(scope="module")
def _fork_server() -> Iterator[None]:
    with fork_server():
        yield


@pytest.fixture
def _forked(_fork_server: None) -> Iterator[None]:
    """The workers of a test's cluster are forked."""
    with forked_workers():
        yield


@pytest.fixture(scope="module")
def log() -> AccessLog:
    draws = np.random.default_rng(0)
    rows = []
    for number in range(60):
        for item in draws.choice(12, size=2, replace=False, p=np.arange(1, 13) / 78):
            rows.append((NOW + number * DAY // 3, f"item {item}", number, False))
    return AccessLog.of(rows)


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return tmp_path / "notes"


def noted_in(notes: Path) -> list[str]:
    return notes.read_text().splitlines() if notes.exists() else []


@contextmanager
def cluster_of(notes: Path, n_workers: int = 2) -> Iterator[tuple[Any, Any]]:
    """Give a local cluster, whose workers note their calls, and its executor."""
    with ExitStack() as stack:
        cluster = stack.enter_context(
            distributed.LocalCluster(
                n_workers=n_workers,
                threads_per_worker=1,
                dashboard_address=None,
                env={_NOTES: str(notes)},
            )
        )
        client = stack.enter_context(distributed.Client(cluster))
        yield cluster, stack.enter_context(client.get_executor())


def killing_at(
    moments: set[int], cluster: Any, draws: random.Random, killed: list[int]
) -> Callable[..., Iterator[Any]]:
    """Return what yields finished calls, and kills a worker after so many of them."""
    finished_calls = kept_calls.finished_calls

    def finished(*arguments: Any, **options: Any) -> Iterator[Any]:
        for done in finished_calls(*arguments, **options):
            yield done
            n_finished[0] += 1
            if n_finished[0] in moments:
                nannies = [*cluster.workers.values()]
                victims = sorted(nanny.pid for nanny in nannies if nanny.pid)
                killed.append(draws.choice(victims))
                with suppress(ProcessLookupError):
                    os.kill(killed[-1], signal.SIGKILL)

    n_finished = [0]
    return finished


def same_fit(one: Any, other: Any) -> None:
    assert one.result() == other.result()
    assert dict(one.thresholds) == dict(other.thresholds)


@pytest.mark.usefixtures("_forked")
def test_killed_workers_of_a_tune_change_nothing_and_repeat_nothing(
    log: AccessLog, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    laws = [NotedLaw(number) for number in range(N_LAWS)]
    alone = tune(log, laws=laws)
    out = tmp_path / "out"
    draws = random.Random(0)
    killed: list[int] = []
    n_calls = len(fitting.CANDIDATES) + N_LAWS + N_OTHERS
    moments = set(draws.sample(range(1, n_calls - 2), 5))
    with cluster_of(notes) as (cluster, executor), monkeypatch.context() as patched:
        killing = killing_at(moments, cluster, draws, killed)
        patched.setattr(kept_calls, "finished_calls", killing)
        tuned = tune(log, laws=laws, executor=executor, out=out)
    assert len(killed) == 5
    assert tuned.lost == ()
    same_fit(tuned, alone)
    # A worker has one thread, so a kill costs at most the one call that ran there.
    made = noted_in(notes)
    assert len(set(made)) == N_LAWS
    n_calls_of_laws = len(noted_alone(log, laws, tmp_path, monkeypatch))
    assert len(made) <= n_calls_of_laws + len(killed)
    # All that ended is kept: a second run computes nothing.
    files = {path: path.stat().st_mtime_ns for path in (out / "trials").iterdir()}
    again = tune(log, laws=laws, out=out)
    same_fit(again, alone)
    assert again.n_taken_over == len(files)
    assert {
        path: path.stat().st_mtime_ns for path in (out / "trials").iterdir()
    } == files
    assert noted_in(notes) == made


def noted_alone(
    log: AccessLog, laws: list[NotedLaw], tmp_path: Path, patch: pytest.MonkeyPatch
) -> list[str]:
    """The calls of a run with workers of which none is killed."""
    notes = tmp_path / "notes of one"
    with cluster_of(notes, 1) as (_, executor):
        tune(log, laws=laws, executor=executor, out=tmp_path / "one")
    return noted_in(notes)


@pytest.mark.usefixtures("_forked")
def test_killed_workers_of_needs_change_nothing_and_repeat_nothing(
    notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    projects = load_session_needs("simulated_sessions")
    sessions = [row.session for project in projects for row in project.sessions[:2]]
    systems = {f"system{number}": noted_system for number in range(10)}
    how: dict[str, Any] = {"budgets": (150,), "sessions": sessions, "progress": False}
    alone = score_needs(projects, systems, **how)
    out = tmp_path / "out"
    draws = random.Random(1)
    killed: list[int] = []
    n_calls = len(systems) * len(projects)
    moments = set(draws.sample(range(1, n_calls - 2), 5))
    with cluster_of(notes) as (cluster, executor), monkeypatch.context() as patched:
        killing = killing_at(moments, cluster, draws, killed)
        patched.setattr(kept_calls, "finished_calls", killing)
        score = score_needs(projects, systems, executor=executor, out=out, **how)
    assert len(killed) == 5
    assert score.lost == ()
    assert repr(score.results) == repr(alone.results)
    made = noted_in(notes)
    assert n_calls <= len(made) <= n_calls + len(killed)
    again = score_needs(projects, systems, out=out, **how)
    assert repr(again.results) == repr(alone.results)
    assert again.n_taken_over == n_calls


def test_the_commands_send_their_calls_to_a_scheduler(
    run: Run, tmp_path: Path, notes: Path
) -> None:
    """Its worker starts an interpreter, as one on another machine does."""
    comparing = ["compare", "--log", "simulated_team", "--design", "nothing"]
    comparing += ["--design", "bm25", "--budgets", "60", "--json"]
    needs = ["eval", "needs", "--dataset", "simulated_needs", "--system", "nothing"]
    needs += ["--budgets", "150", "--json"]
    tuning = ["tune", "--log", "simulated_team", "--json"]
    commands = {"compare": comparing, "needs": needs, "tune": tuning}
    sent = {}
    with cluster_of(notes, 1) as (cluster, _):
        address = ["--scheduler", cluster.scheduler_address]
        for name, words in commands.items():
            ended = run(*words, *address, "--out", str(tmp_path / name))
            assert ended.code == 0, ended.err
            assert list((tmp_path / name / "trials").glob("*.json"))
            sent[name] = ended.json
    assert sent["compare"]["designs"] == run(*comparing).json["designs"]
    assert sent["needs"] == run(*needs).json
    assert sent["tune"] == run(*tuning).json
    assert run(*comparing, *address).code == 1
