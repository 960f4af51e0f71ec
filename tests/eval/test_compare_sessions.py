"""Contexts for coding sessions, scored as the set's own measure.py scores them."""

from __future__ import annotations

import importlib.util
import math
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from compared_logs import worked_log

from theorex_lab.eval.adapters.protocol import EvalLog, SessionLine
from theorex_lab.eval.datasets import sources
from theorex_lab.eval.datasets.dataset_table import DATASETS
from theorex_lab.eval.datasets.logs import load_logs
from theorex_lab.eval.metrics.sessions import PathEnds, scenes
from theorex_lab.eval.replay.baselines import ReplayAdapterMaker
from theorex_lab.eval.replay.trials import Plan, try_out

pytestmark = pytest.mark.usefixtures("shared_logs")

needs_data = pytest.mark.skipif(
    not os.environ.get(sources.DATA_VARIABLE),
    reason=f"{sources.DATA_VARIABLE} names no folder with the public sets",
)
THEIR_NAMES = {"mean": "all"}


@pytest.fixture(scope="module")
def coding() -> EvalLog:
    (log,) = load_logs("coding_sessions")
    return log


@pytest.fixture(scope="module")
def measure() -> Any:
    """The program that came with the recordings."""
    path = Path(os.environ[sources.DATA_VARIABLE]) / "coding_sessions" / "measure.py"
    spec = importlib.util.spec_from_file_location("measure", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["measure"] = module
    spec.loader.exec_module(module)
    return module


@needs_data
def test_counts_are_those_published(coding: EvalLog) -> None:
    found = {
        "logs": 1,
        "lines": len(coding.lines),
        "sessions": len({line.session for line in coding.lines}),
    }
    assert found == DATASETS["coding_sessions"].counts


@needs_data
def test_scores_equal_those_of_the_recordings_own_program(
    coding: EvalLog, measure: Any
) -> None:
    file = (
        Path(os.environ[sources.DATA_VARIABLE])
        / "coding_sessions"
        / "getspecstory.jsonl.gz"
    )
    log = measure.Log(str(file))
    theirs = [
        measure.Scene(log, session) for session in log.sessions[measure.FIRST :: 20]
    ]
    ours = {scene.session: scene for scene in scenes(coding)}
    assert len(ours) == 122
    for scene in theirs:
        texts = [
            measure.BASELINES[name](scene, 500, "boot")
            for name in ("last_session", "mix", "oracle_words")
        ]
        texts += [
            "",
            "\n".join(f"/home/me/checkout/{path}" for path in scene.files),
            " ".join(scene.files).upper(),
        ]
        for text in texts:
            for mode in ("boot", "asked"):
                expected = scene.score(text, 500, mode)
                found = ours[scene.session.id].score(
                    text, 500, after_prompt=mode == "asked"
                )
                for name in (
                    "file",
                    "edit",
                    "term",
                    "mean",
                    "repeat",
                    "waste",
                    "tokens",
                ):
                    assert found[name] == pytest.approx(
                        expected[THEIR_NAMES.get(name, name)], nan_ok=True
                    ), name


@needs_data
@pytest.mark.parametrize(
    ("name", "published"), [("recent_files", 0.470), ("oracle_lines", 0.731)]
)
def test_baselines_reach_what_the_set_publishes(
    coding: EvalLog, name: str, published: float
) -> None:
    trial = try_out(coding, name, ReplayAdapterMaker(name), Plan((500,)))
    means = [given.scores["mean"] for given in trial.given if given.mode == "inject"]
    scored = [value for value in means if not math.isnan(value)]
    assert sum(scored) / len(scored) == pytest.approx(published, abs=0.002)


def test_sessions_are_scored_from_the_sixth_on_against_what_was_before() -> None:
    found = scenes(worked_log(n=8))
    assert [scene.session for scene in found] == ["s5", "s6", "s7"]
    assert [len(scene.files) for scene in found] == [1, 1, 1], (
        "the file of the session before is known, its own is not"
    )
    assert scenes(worked_log(n=5)) == []
    assert found[0].score("src/eeeeeeee.py", 500)["file"] == 1.0
    assert found[0].score("the file eeeeeeee.py.", 500)["edit"] == 1.0


def test_an_end_that_two_files_share_names_neither() -> None:
    ends = PathEnds(["a/x.py", "b/x.py", "x.py"])
    assert [ends.file("x.py", known) for known in (0, 1, 2, 3)] == [
        None,
        "a/x.py",
        "",
        "x.py",
    ]


def test_a_session_without_a_prompt_is_not_asked() -> None:
    log = worked_log()
    lines = [line for line in log.lines if not line.prompt]
    trial = try_out(
        EvalLog("silent", log.events, (), lines),
        "recent_files",
        ReplayAdapterMaker("recent_files"),
        Plan((500,)),
    )
    assert {given.mode for given in trial.given} == {"inject"}


def test_what_a_user_says_again_is_a_repeat() -> None:
    rule = "Always regenerate snapshot fixtures before committing."
    lines = [
        SessionLine(at, f"s{at // 10}", prompt=text)
        for at, text in [(0, "Begin"), (1, rule)]
    ]
    lines += [
        SessionLine(at, f"s{at // 10}", prompt=f"Filler number {at}")
        for at in range(10, 60, 10)
    ]
    lines += [SessionLine(60, "s6", prompt="Go on"), SessionLine(61, "s6", prompt=rule)]
    scene = scenes(EvalLog("rules", [], (), lines))[-1]
    assert scene.score(rule, 500)["repeat"] == 1.0
    assert scene.score("regenerate", 500)["repeat"] == 0.0
