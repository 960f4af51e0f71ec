"""The scores of the order of files, and what `tune` says of it."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest

from theorex_lab.app.cli import main
from theorex_lab.core.errors import InvalidInput
from theorex_lab.eval.metrics.access import _unless_simpler_is_better, load_project_log
from theorex_lab.eval.metrics.access_log import AccessLog
from theorex_lab.eval.metrics.file_order_scores import (
    BEST_HALF_LIFE,
    IN_FORCE,
    score_file_order,
    steps_of_access_log,
)
from theorex_lab.memory.file_order import FREQUENCY, RECENCY, START_LAW, WorkStep

DAY = 86_400_000_000


def _steps(n_steps: int, seed: int = 0) -> list[WorkStep]:
    draw = random.Random(seed)
    steps: list[WorkStep] = []
    for number in range(n_steps):
        files = {f"f{int(draw.expovariate(0.4))}" for _ in range(2)}
        steps.append(WorkStep(number * DAY, frozenset(files)))
    return steps


def test_the_figures_are_of_the_last_third() -> None:
    scores = score_file_order(_steps(90))
    assert scores.n_steps == 90
    assert 25 <= scores.n_scored <= 30
    laws = [row["law"] for row in scores]
    assert laws[:4] == [IN_FORCE, RECENCY, FREQUENCY, BEST_HALF_LIFE]
    mine = scores.row_of(IN_FORCE)
    assert mine["gain"] == mine["gain_low"] == mine["gain_high"] == 0
    for row in scores:
        assert 0 < row["ci_low"] <= row["mrr"] <= row["ci_high"] <= 1
        assert row["gain"] == pytest.approx(mine["mrr"] - row["mrr"])


def test_what_comes_after_changes_no_law_that_was_in_force() -> None:
    """A file that is new at the end changes the score of no step before it."""
    steps = _steps(60)
    other = [*steps[:-1], WorkStep(steps[-1].at, frozenset({"new", "f0"}))]
    first = score_file_order(steps)
    second = score_file_order(other)
    assert first.law == second.law
    assert first.half_life == second.half_life


def test_the_half_life_is_chosen_on_the_steps_before() -> None:
    steps = _steps(90)
    last_day = steps[-1].at
    changed = [step for step in steps if step.at < 0.65 * last_day]
    later = [WorkStep(step.at, frozenset({"f0"})) for step in steps[len(changed) :]]
    assert (
        score_file_order(steps).half_life
        == score_file_order([*changed, *later]).half_life
    )


def test_too_short_a_history_is_refused() -> None:
    with pytest.raises(InvalidInput, match="use a longer history"):
        score_file_order(_steps(4))


def test_steps_of_a_log_know_what_was_removed() -> None:
    log = AccessLog.of(
        [(1, "a", "x", False), (1, "b", "x", False), (2, "a", "y", True)],
        of_files=True,
    )
    assert steps_of_access_log(log) == [
        WorkStep(1, frozenset({"a", "b"}), frozenset()),
        WorkStep(2, frozenset(), frozenset({"a"})),
    ]


def test_a_log_that_is_not_of_files_has_no_steps(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    file.write_text('{"time": 1, "item": "a"}\n')
    assert load_project_log(file).steps == ()


@pytest.mark.parametrize(("ci_low", "adopts"), [(0.01, False), (-0.01, True)])
def test_a_law_that_recency_beats_is_not_advised(ci_low: float, adopts: bool) -> None:
    advice = {"adopt": True, "config": {"decayLaw": "power"}, "why": "adopt: it"}
    gains = {
        "recency": {"mean": 0.1, "ci_low": ci_low, "ci_high": 0.2},
        "frequency": {"mean": -0.1, "ci_low": -0.2, "ci_high": -0.05},
    }
    guarded = _unless_simpler_is_better(advice, gains)
    assert guarded["adopt"] is adopts
    assert bool(guarded["config"]) is adopts
    assert ("recency ranks the held-out events better" in guarded["why"]) is not adopts


def test_tune_shows_the_order_of_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines: list[str] = []
    for step in reversed(_steps(90)):
        lines.append(f"\x01{step.at} {step.at // 1_000_000}")
        lines += [f"M\t{name}" for name in sorted(step.changed)]
    file = tmp_path / "touches.log"
    file.write_text("\n".join(lines) + "\n")
    home = str(tmp_path / "home")
    arguments = ["tune", "--log", str(file), "--home", home, "--json"]
    monkeypatch.setattr(sys, "argv", ["theorex", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    order = result["order_of_files"]
    assert order["unit"] == "commits"
    assert order["law"] == START_LAW
    assert order["n_steps"] == 90
    assert {RECENCY, FREQUENCY} <= {row["law"] for row in order["scores"]}
