"""Measures of failure review on small samples, its experiments on small sets, and the
figures on the public ones.
"""

from __future__ import annotations

import json
import math
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import numpy as np
import pytest
from decisive_standins import airline_failures

from theorex_lab import InvalidInput
from theorex_lab.app.cli.evaluate import report
from theorex_lab.eval.datasets.long_runs import lengthen_run
from theorex_lab.eval.datasets.parsing import FailedRun, LabelledStep, Reflexion
from theorex_lab.eval.datasets.recorded_runs import fetch_whoandwhen, load_failed_runs
from theorex_lab.eval.datasets.simulated_failures import load_simulated_failures
from theorex_lab.eval.metrics.decisive_fit import Choice, fit_choice, fit_decisive
from theorex_lab.eval.metrics.failures import (
    effect_of_fixes,
    half_of,
    mcnemar,
    run_steps,
    score_failures,
)
from theorex_lab.eval.metrics.fitting import fit_logistic
from theorex_lab.eval.metrics.step_calibration import StepCalibration
from theorex_lab.evolution.decisive import find_decisive
from theorex_lab.evolution.failures import UNMENDED_SHARE, _unmended
from theorex_lab.memory.intervals import bootstrap_mean

PUBLIC = pytest.mark.skipif(
    not os.environ.get("THEOREX_DATA"),
    reason="THEOREX_DATA is not set: the recorded runs are not part of the project",
)


def failed(name: str, step: int, *texts: str) -> FailedRun:
    steps = tuple(
        LabelledStep(f"agent{k % 3}", "user", text) for k, text in enumerate(texts)
    )
    return FailedRun(
        name,
        name,
        "How long is the bridge over the river?",
        "7",
        "1",
        {},
        steps,
        f"agent{step % 3}",
        step,
        "",
    )


def few_runs() -> list[FailedRun]:
    """Twenty runs, in each of which the one step with simulated data is at fault."""
    plain = "The archive of the city was opened and read. " * 8
    invented = "We take a simulated bridge of the city here. " * 8
    where = [1 + k % 3 for k in range(20)]
    asked = "How long is the bridge over the river? " * 10
    return [
        failed(
            f"q{k}", at, asked, *[invented if n == at else plain for n in range(1, 5)]
        )
        for k, at in enumerate(where)
    ]


# Measures.


def test_interval_holds_the_mean_and_narrows_with_more_values() -> None:
    few = bootstrap_mean([0, 1] * 10)
    many = bootstrap_mean([0, 1] * 1000)
    assert few.ci_low < few.mean == many.mean == 0.5 < few.ci_high
    assert many.ci_high - many.ci_low < (few.ci_high - few.ci_low) / 5
    assert few.ci_high - few.ci_low == pytest.approx(
        2 * 1.96 * math.sqrt(0.25 / 20), rel=0.15
    )
    uneven = np.random.default_rng(2).normal(size=50)
    assert (
        bootstrap_mean(uneven)
        == bootstrap_mean(uneven)
        != bootstrap_mean(uneven, seed=1)
    )


def test_groups_are_drawn_whole() -> None:
    values = [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0] * 5
    groups = [k // 4 for k in range(40)]
    alone = bootstrap_mean(values)
    grouped = bootstrap_mean(values, groups=groups)
    assert grouped.mean == alone.mean
    assert grouped.ci_high - grouped.ci_low > 1.5 * (alone.ci_high - alone.ci_low)


@pytest.mark.parametrize(
    ("one", "other", "p"),
    [(0, 0, 1.0), (3, 3, 1.0), (1, 7, 0.0703125), (0, 10, 0.001953125)],
)
def test_mcnemar(one: int, other: int, p: float) -> None:
    assert mcnemar(one, other) == mcnemar(other, one) == p


def test_choice_weights_find_what_was_chosen_by() -> None:
    random = np.random.default_rng(0)
    options = [random.normal(size=(6, 2)) for _ in range(600)]
    true = np.array([1.5, -0.5])
    choices = [
        Choice(each, int(np.argmax(each @ true + random.gumbel(size=6))))
        for each in options
    ]
    assert fit_choice(choices, 0.1).tolist() == pytest.approx(true.tolist(), abs=0.2)
    assert np.abs(fit_choice(choices, 1e6)).max() < 1e-3


def test_logistic() -> None:
    random = np.random.default_rng(0)
    features = random.normal(size=(3000, 2))
    outcomes = (
        random.random(3000) < 1 / (1 + np.exp(-(0.5 + features @ [1.0, 0.0])))
    ).astype(float)
    intercept, weights = fit_logistic(features, outcomes, 0.1)
    assert [intercept, *weights.tolist()] == pytest.approx([0.5, 1.0, 0.0], abs=0.15)
    assert np.isfinite(
        fit_logistic(np.array([[0.0], [1.0]]), np.array([0.0, 1.0]), 1.0)[1]
    ).all()


@pytest.mark.parametrize(
    "call",
    [
        lambda: bootstrap_mean([]),
        lambda: bootstrap_mean([1.0, math.nan]),
        lambda: bootstrap_mean([1.0], groups=[1, 2]),
        lambda: mcnemar(-1, 0),
        lambda: fit_logistic(np.ones((2, 1)), np.ones(3), 1.0),
        lambda: fit_logistic(np.ones((2, 1)), np.ones(2), -1.0),
        lambda: score_failures([]),
        lambda: score_failures(
            [each for each in few_runs() if half_of(each.question_id) == "development"]
        ),
        lambda: effect_of_fixes(
            Reflexion(("a",), np.array([[True]]), np.array([[False]]), (), "none")
        ),
        lambda: effect_of_fixes(
            Reflexion(("a",), np.array([[True]]), np.array([[True]]), (), "none")
        ),
        lambda: report("qmsum"),
    ],
)
def test_refused(call: Callable[[], Any]) -> None:
    with pytest.raises(InvalidInput, match="got"):
        call()


# Experiments on small sets.


def test_scores_of_small_runs() -> None:
    scores = score_failures(few_runs(), half="all")
    table = scores.frame.set_index("method")
    assert table["step_accuracy"]["find_decisive"] == 1
    assert table["step_accuracy"]["random"] == pytest.approx(0.2)
    assert table["step_gain"]["random"] == pytest.approx(0.8)
    assert table["step_gain"]["find_decisive"] == 0
    assert scores.n == 20


def test_weights_are_fitted_on_the_development_half_alone() -> None:
    runs = few_runs()
    development = [each for each in runs if half_of(each.question_id) == "development"]
    assert 0 < len(development) < len(runs)
    assert fit_decisive(runs) == fit_decisive(development)
    assert fit_decisive(runs).weights["made_up"] > 0.5
    with pytest.raises(InvalidInput, match="development half"):
        fit_decisive(development[:1])


def test_effect_counts_only_shared_failures() -> None:
    solved = np.array([[1, 0, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]], dtype=bool)
    plain = np.array([[1, 0, 0, 0], [1, 0, 1, 0]], dtype=bool)
    effect = effect_of_fixes(Reflexion(("a", "b", "c", "d"), solved, plain, (), "none"))
    row = effect.frame.iloc[0]
    assert (
        row["trial"],
        row["solved_with"],
        row["solved_without"],
        row["only_with"],
        row["only_without"],
    ) == (
        1,
        2,
        1,
        1,
        0,
    )
    assert row["difference"] == pytest.approx(1 / 3)
    assert row["p_value"] == 1.0
    assert len(effect.frame) == 1


def test_results_are_shown() -> None:
    results = [
        score_failures(few_runs(), half="all"),
        effect_of_fixes(
            Reflexion(
                ("a", "b"),
                np.array([[0, 0], [1, 0]], bool),
                np.zeros((2, 2), bool),
                (),
                "none",
            )
        ),
    ]
    for result in results:
        assert "<table" in result._repr_html_()
        assert repr(result) in result._repr_html_().replace("&#x27;", "'").replace(
            "&lt;", "<"
        ).replace("&gt;", ">")


def test_halves_are_by_question() -> None:
    halves = [half_of(f"question {k}") for k in range(400)]
    assert half_of("question 1") == halves[1]
    assert 160 < halves.count("report") < 240


# The public sets.


@PUBLIC
def test_the_packaged_weights_are_made_again_byte_for_byte() -> None:
    from benchmarks.decisive_weights import WEIGHTS_FILE, weights_text

    assert WEIGHTS_FILE.read_text(encoding="utf-8") == weights_text()


@PUBLIC
@pytest.mark.parametrize(
    ("dataset", "n", "bounds"),
    [
        ("whoandwhen", 59, {"step_accuracy": (0.36, 1), "agent_accuracy": (0.58, 1)}),
        (
            "reflexion_alfworld",
            50,
            {
                "difference": (0.3, 0.6),
                "difference_ci_low": (0.2, 0.5),
                "p_value": (0, 1e-4),
            },
        ),
    ],
)
def test_reports(dataset: str, n: int, bounds: dict[str, tuple[float, float]]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result, text = report(dataset)
    assert (result["dataset"], result["n"]) == (dataset, n)
    for name, (low, high) in bounds.items():
        assert low <= result["metrics"][name] <= high
    assert json.loads(json.dumps(result)) == result
    assert text.startswith(f"{dataset}, n = {n}; ")
    assert result["published"]
    assert result["baselines"]


@PUBLIC
def test_the_last_call_is_as_often_right_as_it_says() -> None:
    runs = [run for run in airline_failures() if any(step.tool for step in run[1])]
    findings = [find_decisive(steps, task=task) for task, steps, _ in runs]
    right = [
        float(finding.step == label)
        for finding, (_, _, label) in zip(findings, runs, strict=True)
    ]
    stated = [finding.confidence for finding in findings]
    assert len(runs) == 102
    calibration = StepCalibration(np.array(stated), np.array(right), np.array(right))
    interval = bootstrap_mean(right)
    assert interval.ci_low < np.mean(stated) < interval.ci_high
    assert calibration.brier < calibration.base_rate_brier - 0.01


@PUBLIC
def test_the_first_unmended_call_is_as_often_right_as_it_says() -> None:
    runs = [(_unmended(steps), label) for _, steps, label in airline_failures()]
    right = [unmended[0] == label for unmended, label in runs if unmended]
    assert len(right) == 11
    assert np.mean(right) == pytest.approx(UNMENDED_SHARE, abs=0.05)


@PUBLIC
def test_confidence_in_runs_of_the_known_kind_is_calibrated() -> None:
    runs = [
        run for run in fetch_whoandwhen().runs if half_of(run.question_id) == "report"
    ]
    found = [find_decisive(run_steps(run), task=run.question) for run in runs]
    right = bootstrap_mean(
        [
            float(each.step == run.mistake_step)
            for each, run in zip(found, runs, strict=True)
        ]
    )
    assert right.ci_low < np.mean([each.confidence for each in found]) < right.ci_high


# Runs of one's own.


def orchestrated(**changed: Any) -> str:
    said = [
        ("human", "How long is it?"),
        ("Orchestrator (thought)", "Plan"),
        ("Orchestrator (-> Surfer)", None),
    ]
    history = [
        {"role": role, "content": text}
        for role, text in [*said, ("Surfer", "It is 7 m.")]
    ]
    run = {
        "history": history,
        "question": "How long is it?",
        "ground_truth": 9,
        "mistake_reason": "",
    }
    return json.dumps(
        run | {"mistake_agent": "Orchestrator (thought)", "mistake_step": "1"} | changed
    )


def test_runs_of_a_file_or_folder_are_all_scored(tmp_path: Path) -> None:
    (tmp_path / "1.json").write_text(orchestrated())
    (tmp_path / "2.json").write_text(
        orchestrated(mistake_agent="Surfer", mistake_step=3)
    )
    for place, n, right in ((tmp_path, 2, 0.5), (tmp_path / "2.json", 1, 1.0)):
        result, text = report("whoandwhen", str(place))
        assert (
            result["n"],
            result["metrics"]["agent_accuracy"],
            result["metrics"]["step_accuracy"],
        ) == (
            n,
            right,
            right,
        )
        assert result["baselines"]["last_step"]["agent_gain"] == 0
        assert result["published"] == {}
        assert str(place) in text
        assert "published" not in text
    first = load_failed_runs(tmp_path).runs[0]
    agents = [step.agent for step in first.steps]
    assert agents == ["human", "Orchestrator", "Orchestrator", "Surfer"]
    assert first.mistake_agent == "Orchestrator"
    addresses = [step.address for step in run_steps(first)]
    assert addresses == ["", "thought", "-> Surfer", ""]


def test_damaged_runs_are_left_out_and_counted(tmp_path: Path) -> None:
    (tmp_path / "1.json").write_text(orchestrated())
    (tmp_path / "2.json").write_text(orchestrated(mistake_step="soon"))
    (tmp_path / "3.json").write_text("{")
    (tmp_path / "4.json").write_text(orchestrated(history=[{"content": "no role"}]))
    loaded = load_failed_runs(tmp_path)
    assert [run.id for run in loaded.runs] == ["1"]
    assert len(loaded.damaged) == 3
    result, text = report("whoandwhen", str(tmp_path))
    assert (result["n"], result["damaged"]) == (1, 3)
    assert "left out: 3 damaged files" in text
    assert "2.json" in text


def test_rows_of_either_form_are_read(tmp_path: Path) -> None:
    history = [
        {"role": "human", "content": "How long?"},
        {"role": "assistant", "name": "Bridge_Expert", "content": "Plan"},
        {"role": "WebSurfer", "name": None, "content": None},
        {"role": "assistant", "name": "Orchestrator (-> Coder)", "content": "Count."},
        {
            "role": "Coder",
            "content": [{"type": "text", "text": "7"}, {"type": "image"}],
        },
    ]
    text = orchestrated(history=history, mistake_step="3", mistake_agent="web surfer")
    (tmp_path / "1.json").write_text(text)
    [run] = load_failed_runs(tmp_path).runs
    assert [(step.agent, step.text) for step in run.steps[1:]] == [
        ("Bridge_Expert", "Plan"),
        ("WebSurfer", ""),
        ("Orchestrator", "Count."),
        ("Coder", "7"),
    ]
    assert [step.directs for step in run_steps(run)] == [
        False,
        False,
        False,
        True,
        False,
    ]


def test_an_agent_is_the_same_whatever_its_spacing(tmp_path: Path) -> None:
    (tmp_path / "1.json").write_text(orchestrated(mistake_agent="orchestrator "))
    result, _ = report("whoandwhen", str(tmp_path))
    assert result["baselines"]["most_frequent_agent"]["agent_accuracy"] == 1.0


# How often the stated chances are right.


def test_calibration_counts_what_was_stated_and_right() -> None:
    stated = np.array([0.1, 0.5, 0.55, 0.9, 1.0])
    right = np.array([0.0, 1.0, 0.0, 1.0, 1.0])
    likely = np.array([1.0, 1.0, 0.0, 1.0, 1.0])
    calibration = StepCalibration(stated, right, likely)
    assert [row.n for row in calibration] == [1, 0, 2, 0, 2]
    assert calibration[1].right is None
    assert calibration[2].right == 0.5
    assert calibration.brier == pytest.approx((0.01 + 0.25 + 0.3025 + 0.01) / 5)
    assert calibration.base_rate_brier == pytest.approx(0.24)
    named = calibration.named()
    assert named["coverage"] == 0.6
    assert named["named_accuracy"] == pytest.approx(2 / 3)
    assert named["unnamed_accuracy"] == 0.5
    assert named["unnamed_likely_accuracy"] == 1.0
    assert "a step is named in 60%" in repr(calibration)


@PUBLIC
def test_chances_on_the_other_half_are_calibrated() -> None:
    scores = score_failures()
    calibration = scores.calibration
    assert calibration.brier < calibration.base_rate_brier
    rows = [row for row in calibration if row.n >= 10]
    assert rows
    assert all(row.ci_low <= row.stated <= row.ci_high for row in rows)


def test_chances_in_the_simulation_are_calibrated() -> None:
    calibration = score_failures(load_simulated_failures().runs, half="all").calibration
    assert calibration.brier < calibration.base_rate_brier - 0.01
    named = calibration.named()
    assert named["named_accuracy_ci_low"] > 0.5
    assert named["unnamed_accuracy"] < 0.35


# Runs that are made long.


def test_a_run_made_long_keeps_its_mistake() -> None:
    for run in load_simulated_failures().runs[:40]:
        long_run = lengthen_run(run, seed=3)
        assert long_run == lengthen_run(run, seed=3)
        assert len(long_run.steps) > 2 * len(run.steps)
        short_text = run.steps[run.mistake_step].text
        assert long_run.steps[long_run.mistake_step].text.endswith(short_text)
        assert long_run.steps[long_run.mistake_step].agent == long_run.mistake_agent
        agents = {step.agent for step in long_run.steps}
        assert agents <= {
            "human",
            "Orchestrator",
            "WebSurfer",
            "Assistant",
            "Coder",
            "FileSurfer",
            "ComputerTerminal",
        }


def test_plans_ledgers_and_browsing_do_not_mislead_the_rules() -> None:
    runs = load_simulated_failures().runs[:120]
    short = score_failures(runs, half="all").frame.set_index("method")
    long_runs = [lengthen_run(run) for run in runs]
    long = score_failures(long_runs, half="all").frame.set_index("method")
    found = long.loc["find_decisive"]
    # They lose something: three times as many steps can be at fault.
    assert found["step_accuracy"] > short.loc["find_decisive", "step_accuracy"] / 2
    for name in ("last_step", "first_step", "most_frequent_agent", "random"):
        assert found["step_accuracy"] > long.loc[name, "step_accuracy"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"history": 3}',
        orchestrated(mistake_step=9),
        orchestrated(mistake_step="x"),
    ],
)
def test_a_broken_run_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "7.json").write_text(text)
    with pytest.raises(InvalidInput, match=r"7\.json.*got"):
        report("whoandwhen", str(tmp_path))


def test_a_path_is_for_runs_alone(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="without a run"):
        report("whoandwhen", str(tmp_path))
    with pytest.raises(InvalidInput, match="whoandwhen"):
        report("reflexion_alfworld", str(tmp_path))
