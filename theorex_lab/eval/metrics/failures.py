"""Failure review, scored: who and which step failed, and what written fixes are worth.

Who&When is split by question: those whose SHA-1 is even are for development (weights,
cross-validation), the odd ones are reported.
"""

import hashlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from theorex_lab.core.errors import InvalidInput
from theorex_lab.eval.datasets import recorded_runs
from theorex_lab.eval.datasets.parsing import FailedRun, Reflexion
from theorex_lab.eval.metrics.step_calibration import StepCalibration
from theorex_lab.eval.metrics.trivial_guesses import TRIVIAL_GUESSES, Guess
from theorex_lab.evolution import failure_signs
from theorex_lab.evolution.decisive import find_decisive
from theorex_lab.memory.decay import Floats
from theorex_lab.memory.intervals import bootstrap_mean
from theorex_lab.memory.rows import Rows

Half = Literal["development", "report", "all"]

# Shares of Zhang et al. (2025), "Which agent causes task failures and when?": the best
# language model on the
# algorithm-generated part, ground truth given, over all its runs.
PUBLISHED = {"agent_accuracy": 0.5433, "step_accuracy": 0.2551}
_ADDRESS = re.compile(r"\(([^()]*)\)\s*\Z")


@dataclass(frozen=True, eq=False)
class FailureScores(Rows[dict[str, Any]]):
    """How well the decisive step of failed runs is found: a row a method.

    A row holds agent and step accuracy with 95 % intervals, and the paired gains of
    `find_decisive` over the method.

    hits: method → (agent right, step right) for each run, 0..1 (chances for `random`).
    n: runs. half: which questions: development, report or all.
    stated: the chance that `find_decisive` gives its step, for each run.
    likely_hits: whether the labelled step is among its three likeliest, for each run.
    """

    half: str
    n: int
    hits: dict[str, tuple[Floats, Floats]]
    seed: int
    stated: Floats
    likely_hits: Floats

    @property
    def calibration(self) -> StepCalibration:
        """Return how often the stated chances of a step were right."""
        _, right = self.hits["find_decisive"]
        return StepCalibration(self.stated, right, self.likely_hits)

    def _records(self) -> Sequence[dict[str, Any]]:
        return [
            {"method": method, **self._accuracy(hits)}
            for method, hits in self.hits.items()
        ]

    def _accuracy(self, hits: tuple[Floats, Floats]) -> dict[str, float]:
        row: dict[str, float] = {}
        ours = self.hits["find_decisive"]
        for number, kind in enumerate(("agent", "step")):
            right = hits[number]
            gains = ours[number] - right
            accuracy = bootstrap_mean(right, self.seed)
            gain = bootstrap_mean(gains, self.seed)
            row |= accuracy.named(f"{kind}_accuracy")
            row |= gain.named(f"{kind}_gain")
        return row

    def __repr__(self) -> str:
        agent_hits, step_hits = self.hits["find_decisive"]
        agent = bootstrap_mean(agent_hits, self.seed)
        step = bootstrap_mean(step_hits, self.seed)
        return f"FailureScores({self.half}: agent {agent}, step {step}; {self.n} runs)"


@dataclass(frozen=True, eq=False)
class FixEffect(Rows[dict[str, Any]]):
    """Solved or not by each trial, with written fixes and without.

    It covers the environments whose first trial failed alike. There is a row a later
    trial: solved with and without, pairs solved by one alone, the difference of shares,
    its exact p.

    Attributes:
        with_fixes: Shape (n_trials, n_environments); trial 0 is the same failure in
            both.
        without: The same shape.
    """

    with_fixes: Floats
    without: Floats
    seed: int

    def _records(self) -> Sequence[dict[str, Any]]:
        return [self._trial(trial) for trial in range(1, len(self.with_fixes))]

    def _trial(self, trial: int) -> dict[str, Any]:
        fixed = self.with_fixes[trial]
        plain = self.without[trial]
        is_fixed_alone = fixed > plain
        is_plain_alone = plain > fixed
        solved = {
            "solved_with": int(fixed.sum()),
            "solved_without": int(plain.sum()),
        }
        alone = {
            "only_with": int(is_fixed_alone.sum()),
            "only_without": int(is_plain_alone.sum()),
        }
        difference = bootstrap_mean(fixed - plain, self.seed).named("difference")
        return {
            "trial": trial,
            **solved,
            **alone,
            **difference,
            "p_value": mcnemar(*alone.values()),
        }

    def __repr__(self) -> str:
        gains = self.with_fixes[-1] - self.without[-1]
        spread = bootstrap_mean(gains, self.seed)
        pairs = self.with_fixes.shape[1]
        return (
            f"FixEffect(by trial {len(self)}: {spread} more solved with fixes; {pairs}"
            " pairs)"
        )


def half_of(question_id: str) -> Half:
    """Return whether a question is for development (even SHA-1) or reported (odd).

    >>> half_of("what-is-it")
    'report'
    """
    digest = hashlib.sha1(
        question_id.encode(),
        usedforsecurity=False,
    )
    number = int(digest.hexdigest(), 16)
    if number % 2:
        return "report"
    return "development"


def score_failures(
    runs: Sequence[FailedRun] | None = None, *, half: Half = "report", seed: int = 0
) -> FailureScores:
    """Return agent and step accuracy of `find_decisive` and of simple rules.

    The runs are those of Who&When.

    Args:
        runs: Failed runs whose decisive step is labelled; read from the public set by
            default.
        half: Which half of the runs is scored: development, report, or all.
        seed: Draws the intervals.

    Returns:
        The accuracies of each method, 0..1, each with its 95 % interval.

    Raises:
        InvalidInput: No run is left.
    """
    chosen_runs = _half(runs, half)
    findings = [find_decisive(run_steps(run), task=run.question) for run in chosen_runs]
    guesses = [(finding.step, finding.agent) for finding in findings]
    hits = {"find_decisive": _hits(chosen_runs, guesses)}
    for name, guess in TRIVIAL_GUESSES.items():
        hits[name] = _hits(chosen_runs, [guess(run) for run in chosen_runs])
    agent_shares = [_share_of_mistaken(run) for run in chosen_runs]
    step_shares = [1 / len(run.steps) for run in chosen_runs]
    hits["random"] = (np.array(agent_shares), np.array(step_shares))
    stated = [finding.confidence for finding in findings]
    likely_hits = []
    for run, finding in zip(chosen_runs, findings, strict=True):
        likely_steps = {likely.step for likely in finding.likely_steps}
        is_hit = run.mistake_step in likely_steps
        likely_hits.append(float(is_hit))
    return FailureScores(
        half,
        len(chosen_runs),
        hits,
        seed,
        np.array(stated),
        np.array(likely_hits),
    )


def _share_of_mistaken(run: FailedRun) -> float:
    """Return the share of the steps that the labelled agent took."""
    n_mistaken = 0
    for step in run.steps:
        n_mistaken += _is_agent(step.agent, run.mistake_agent)
    return n_mistaken / len(run.steps)


def _is_agent(name: str, label: str) -> bool:
    """Return whether a label means this agent, whatever its case and spacing.

    >>> _is_agent("WebSurfer", "Web surfer")
    True
    """
    return _plain(name) == _plain(label)


def _plain(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def effect_of_fixes(runs: Reflexion | None = None, *, seed: int = 0) -> FixEffect:
    """Return what was solved with written fixes and without, on Reflexion's ALFWorld.

    Environments are paired. Both arms share their first trial, and differ from the
    second on; only environments that it failed can tell, over the trials that both arms
    have. Limits: one run of each arm, so that luck of the model is not averaged out;
    the effect of what a fix says and of the longer prompt cannot be separated; from the
    third trial on the fixes add up.

    Raises:
        InvalidInput: The arms differ in their first trial.
    """
    both = runs if runs is not None else recorded_runs.fetch_reflexion_alfworld()
    if not np.array_equal(both.success[0], both.base_success[0]):
        raise InvalidInput(
            "got arms that differ in their first trial; allowed are arms that share it,"
            " to be paired"
        )
    n = min(len(both.success), len(both.base_success))
    failed = ~both.success[0]
    if n < 2 or not failed.any():
        raise InvalidInput(
            f"got {n} common trials and {int(failed.sum())} first failures; allowed are"
            " 2 and 1 or more"
        )
    with_fixes = both.success[:n, failed]
    without = both.base_success[:n, failed]
    return FixEffect(
        with_fixes.astype(np.float64),
        without.astype(np.float64),
        seed,
    )


def run_steps(run: FailedRun) -> list[failure_signs.RunStep]:
    """Return the steps of a recorded run, numbered from 0.

    What a role adds in brackets, as in `Orchestrator (-> WebSurfer)`, is the address of
    the step.
    """
    steps = []
    for position, step in enumerate(run.steps):
        address = ""
        bracket = _ADDRESS.search(step.role)
        if bracket is not None:
            address = bracket[1].strip()
        run_step = failure_signs.RunStep(
            position,
            step.agent,
            step.text,
            address=address,
        )
        steps.append(run_step)
    return steps


def _half(runs: Sequence[FailedRun] | None, half: Half) -> list[FailedRun]:
    if runs is None:
        runs = recorded_runs.fetch_whoandwhen().runs
    all_runs = list(runs)
    runs_of_half = all_runs
    if half != "all":
        runs_of_half = [run for run in all_runs if half_of(run.question_id) == half]
    if not runs_of_half:
        raise InvalidInput(
            f"got {len(all_runs)} runs, none of the half {half!r}; allowed are"
            " development, report and all"
        )
    return runs_of_half


def _hits(runs: Sequence[FailedRun], guesses: Sequence[Guess]) -> tuple[Floats, Floats]:
    """Return for each run whether the agent is right, and whether the step is."""
    n_runs = len(runs)
    agent_hits = np.zeros(n_runs)
    step_hits = np.zeros(n_runs)
    for position, run in enumerate(runs):
        step, agent = guesses[position]
        agent_hits[position] = _is_agent(agent, run.mistake_agent)
        step_hits[position] = step == run.mistake_step
    return agent_hits, step_hits


def mcnemar(only_first: int, only_second: int) -> float:
    """Return the two-sided exact p of McNemar's test.

    Args:
        only_first: The pairs on which just the first method succeeded.
        only_second: Those on which just the second did.

    Raises:
        InvalidInput: A count is negative.

    >>> mcnemar(0, 5)
    0.0625
    """
    if only_first < 0 or only_second < 0:
        raise InvalidInput(
            f"got counts {only_first!r} and {only_second!r}; allowed are 0 and above"
        )
    n = only_first + only_second
    fewer = min(only_first, only_second)
    n_as_uneven = 0
    for k in range(fewer + 1):
        n_as_uneven += math.comb(n, k)
    n_all = 1 << n
    return min(1.0, 2 * n_as_uneven / n_all)
