"""The simulated failures: made again byte for byte, hard to guess, and with fixes that
help, do nothing, or harm.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from simulate_failures import KINDS, save_failures, simulate_failures

from theorex_lab import InvalidInput
from theorex_lab.app.cli.evaluate import report
from theorex_lab.eval import load_simulated_failures, score_failures
from theorex_lab.eval.datasets.parsing import FailedRun
from theorex_lab.eval.datasets.simulated_failures import SimulatedFailure
from theorex_lab.eval.datasets.sources import describe_source, packaged
from theorex_lab.eval.metrics.failures import effect_of_fixes, run_steps
from theorex_lab.evolution.failure_signs import read_run

FILE = "simulated_failures.jsonl.gz"
SIMULATION = load_simulated_failures()


def test_the_packaged_failures_are_made_again_byte_for_byte(tmp_path: Path) -> None:
    made = tmp_path / "failures.jsonl.gz"
    assert save_failures(7, made) == len(SIMULATION.failures) >= 150
    assert made.read_bytes() == packaged(FILE).read_bytes()
    assert made.stat().st_size < 1_500_000
    assert "simulation of failed runs" in describe_source(packaged(FILE))


def test_another_seed_gives_other_failures() -> None:
    assert simulate_failures(seed=3, n_runs=9) == simulate_failures(seed=3, n_runs=9)
    assert simulate_failures(seed=3, n_runs=9) != simulate_failures(seed=4, n_runs=9)


def test_runs_have_the_type_of_whoandwhen_and_labels_that_fit() -> None:
    for run in SIMULATION.runs:
        assert isinstance(run, FailedRun)
        assert run.steps[run.mistake_step].agent == run.mistake_agent
        assert run.mistake_agent in run.agents
        assert run.mistake_reason
        assert "{" not in run.mistake_reason
    assert set(SIMULATION.failure_classes) == set(KINDS)
    ids = [run.question_id for run in SIMULATION.runs]
    assert len(set(ids)) == len(ids)


def gives_truth(failure: SimulatedFailure, last: str) -> bool:
    """Return whether the last words of a run state the right answer."""
    answer = re.escape(failure.run.ground_truth)
    return bool(re.search(rf"(?:answer:|Result:|report|all\.) {answer}(?!\w)", last))


def test_no_run_ends_with_the_right_answer_and_siblings_do() -> None:
    siblings = [each for each in SIMULATION.failures if each.successful_sibling]
    assert len(siblings) > 30
    for failure in siblings:
        assert gives_truth(failure, failure.successful_sibling[-1].text)
    for failure in SIMULATION.failures:
        assert not gives_truth(failure, failure.run.steps[-1].text)


def test_texts_are_varied() -> None:
    texts = [step.text for run in SIMULATION.runs for step in run.steps]
    _, often = Counter(texts).most_common(1)[0]
    assert often < len(texts) / 50
    assert len(set(texts)) > 0.7 * len(texts)
    assert len({run.question for run in SIMULATION.runs}) > 0.9 * len(SIMULATION.runs)


def test_failed_calls_are_seldom_the_mistake() -> None:
    """A word of an error or a failed result stands in runs of every kind."""
    kinds: Counter[str] = Counter()
    for failure in SIMULATION.failures:
        if any(reading.failed for reading in read_run(run_steps(failure.run))):
            kinds[failure.failure_class] += 1
    assert len(kinds) >= 6


def test_guesses_and_rules_lie_between_chance_and_perfect() -> None:
    table = score_failures(SIMULATION.runs, half="all").frame.set_index("method")
    for kind, most in (("agent_accuracy", 0.6), ("step_accuracy", 0.4)):
        chance = table[kind]["random"]
        for method in ("find_decisive", "first_code", "before_first_error_word"):
            assert chance < table[kind][method] < most, (kind, method)


@pytest.mark.parametrize(
    ("failure_class", "low", "high"),
    [
        ("wrong_plan", 0.2, 1.0),
        ("wrong_tool_arguments", 0.1, 1.0),
        ("ignored_colleague", -1.0, -0.2),
    ],
)
def test_a_fix_helps_or_harms_by_kind(
    failure_class: str, low: float, high: float
) -> None:
    first = effect_of_fixes(SIMULATION.second_tries(failure_class)).frame.iloc[0]
    assert low < first["difference"] < high
    assert first["p_value"] < 0.05


def test_a_fix_does_nothing_for_code() -> None:
    first = effect_of_fixes(SIMULATION.second_tries("wrong_code")).frame.iloc[0]
    assert first["difference_ci_low"] < 0 < first["difference_ci_high"]


def test_solved_stays_solved_and_all_pairs_are_counted() -> None:
    tries = SIMULATION.second_tries()
    assert tries.success.shape == tries.base_success.shape == (4, len(SIMULATION.runs))
    for solved in (tries.success, tries.base_success):
        assert not solved[0].any()
        assert (np.diff(solved.astype(int), axis=0) >= 0).all()
    assert sum(
        SIMULATION.second_tries(name).success.shape[1]
        for name in SIMULATION.failure_classes
    ) == len(SIMULATION.runs)


def test_an_unknown_kind_names_the_kinds() -> None:
    with pytest.raises(InvalidInput, match="wrong_plan"):
        SIMULATION.second_tries("bad luck")


def test_the_command_scores_it_and_counts_its_second_tries() -> None:
    result, text = report("simulated_failures")
    assert result["dataset"] == "simulated_failures"
    assert result["n"] == len(SIMULATION.runs)
    assert result["published"] == {}
    assert 0 < result["metrics"]["step_accuracy"] < 1
    trials = result["trials"]
    assert trials["1"]["only_with"] > trials["1"]["only_without"]
    assert "a simulation" in text
