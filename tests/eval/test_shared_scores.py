"""Scores with workers: `tune` and `score_needs` give what one process gives."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import DAY, NOW, Run

from theorex_lab.eval import load_session_needs, score_needs, tune
from theorex_lab.eval.metrics import fitting
from theorex_lab.eval.metrics.access_log import AccessLog
from theorex_lab.eval.replay import needs_contexts
from theorex_lab.eval.replay.needs_systems import give_nothing
from theorex_lab.memory.decay import Law

N_CALLS = len(fitting.CANDIDATES) + 2  # with the thresholds and the held-out events


class NewestFirst(Law):
    """A law of one's own."""

    name = "newest_first"

    def _raw(self, items: Any) -> Any:
        return -items.age_days


class KillsItsWorker(NewestFirst):
    name = "kills_its_worker"

    def _raw(self, items: Any) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture(scope="module")
def log() -> AccessLog:
    draws = np.random.default_rng(0)
    rows = []
    for number in range(120):
        for item in draws.choice(12, size=2, replace=False, p=np.arange(1, 13) / 78):
            rows.append((NOW + number * DAY // 3, f"item {item}", number, False))
    return AccessLog.of(rows)


def same(one: Any, other: Any) -> None:
    assert one.result() == other.result()
    assert dict(one.thresholds) == dict(other.thresholds)


def test_laws_tried_by_workers_score_as_in_one_process(
    log: AccessLog, tmp_path: Path
) -> None:
    alone = tune(log, laws=[NewestFirst()])
    out = tmp_path / "out"
    shared = tune(log, laws=[NewestFirst()], workers=2, out=out)
    same(shared, alone)
    assert shared.n_taken_over == 0
    again = tune(log, laws=[NewestFirst()], out=out)
    same(again, alone)
    assert again.n_taken_over == N_CALLS + 1
    assert [path.name for path in out.iterdir()] == ["trials"]
    with ThreadPoolExecutor(2) as executor:
        same(tune(log, laws=[NewestFirst()], executor=executor), alone)


def test_a_law_that_kills_its_worker_is_named_and_the_others_are_scored(
    log: AccessLog, tmp_path: Path
) -> None:
    alone = tune(log)
    tuned = tune(log, laws=[KillsItsWorker()], workers=2, out=tmp_path / "out")
    assert tuned.lost == ("the law kills_its_worker",)
    assert tuned.fit.scores == alone.fit.scores
    assert not tuned.advice["adopt"]
    assert "the law kills_its_worker could not be scored" in tuned.advice["why"]
    assert len(list((tmp_path / "out" / "trials").glob("*.json"))) == N_CALLS


def test_needs_asked_by_workers_score_as_in_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    projects = load_session_needs("simulated_sessions")
    sessions = [row.session for row in projects[0].sessions[:3]]
    systems = ["fts5", "nothing", "last_message"]
    how: dict[str, Any] = {"budgets": (150,), "sessions": sessions, "progress": False}
    alone = score_needs(projects, systems, **how)
    out = tmp_path / "out"
    shared = score_needs(projects, systems, workers=2, out=out, **how)
    assert repr(shared.results) == repr(alone.results)
    # What is kept is not asked for again.
    monkeypatch.setattr(needs_contexts, "contexts_of", None)
    again = score_needs(projects, systems, out=out, **how)
    assert repr(again.results) == repr(alone.results)
    assert (again.n_taken_over, again.lost) == (3, ())


def test_a_system_that_kills_its_worker_is_named_and_the_others_are_scored() -> None:
    projects = load_session_needs("simulated_sessions")
    sessions = [projects[0].sessions[0].session]
    systems = {"nothing": silent, "dies": dying}
    score = score_needs(
        projects, systems, sessions=sessions, budgets=(150,), workers=2, progress=False
    )
    assert score.lost == (f"dies on {projects[0].name}",)
    assert score.systems == ["nothing"]


def silent() -> Any:
    return give_nothing


def dying() -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def test_the_commands_share_their_work(run: Run, tmp_path: Path) -> None:
    words = ["eval", "needs", "--dataset", "simulated_needs", "--system", "nothing"]
    words += ["--budgets", "150", "--json"]
    alone = run(*words)
    out = str(tmp_path / "needs")
    shared = run(*words, "--workers", "2", "--out", out)
    assert shared.code == 0, shared.err
    assert shared.json == alone.json
    refused = run("eval", "causal", "--workers", "2")
    assert "got --workers with causal; it is allowed with needs" in refused.err
    refused = run("tune", "--log", "simulated_team", "--scheduler", "tcp://x:1")
    assert "got --scheduler without --out" in refused.err
