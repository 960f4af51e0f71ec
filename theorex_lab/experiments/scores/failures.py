"""Failure review, scored: who and which step failed, the next trial's success, and what written fixes are worth.

Who&When is split by question: those whose SHA-1 is even are for development (weights, cross-validation), the odd ones
are reported. tau-bench's trial to be foretold serves for nothing but its score.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from theorex_lab.errors import InvalidInput
from theorex_lab.evolution import failure_signs
from theorex_lab.evolution.decisive import find_decisive
from theorex_lab.experiments.data import datasets
from theorex_lab.experiments.data.parsing.runs import FailedRun, Reflexion, TauBench, TauRun
from theorex_lab.experiments.scores.failure_scoring import Floats, brier_scores, fit_beta_prior, fit_logistic, mcnemar
from theorex_lab.memory.intervals import Interval, bootstrap_mean
from theorex_lab.memory.rows import Rows

Half = Literal["development", "report", "all"]
Guess = tuple[int, str]

# Shares of Zhang et al. (2025), "Which agent causes task failures and when?": the best language model on the
# algorithm-generated part, ground truth given, over all its runs.
PUBLISHED = {"agent_accuracy": 0.5433, "step_accuracy": 0.2551}
_ERROR_WORD = re.compile(r"\b(?:error|failed|exception|traceback)\b", re.I)
_CHANGES = re.compile(r"(?:add|book|cancel|create|delete|exchange|modify|return|send|update)_")
_HANDS_OVER = re.compile(r"transfer_to_human")
_FOLDS = 10
_LOGIT_RIDGE = 1.0


@dataclass(frozen=True, eq=False)
class FailureScores(Rows[dict[str, Any]]):
    """How well the decisive step of failed runs is found: a row a method.

    A row holds agent and step accuracy with 95 % intervals, and the paired gains of `find_decisive` over the method.

    hits: method → (agent right, step right) for each run, 0..1 (chances for `random`).  n: runs.
    half: which questions: development, report or all.
    """

    half: str
    n: int
    hits: dict[str, tuple[Floats, Floats]]
    seed: int

    def _records(self) -> Sequence[dict[str, Any]]:
        return [{"method": method, **self._accuracy(hits)} for method, hits in self.hits.items()]

    def _accuracy(self, hits: tuple[Floats, Floats]) -> dict[str, float]:
        row: dict[str, float] = {}
        for kind, right, own in zip(("agent", "step"), hits, self.hits["find_decisive"], strict=True):
            row |= _spread(f"{kind}_accuracy", right, self.seed) | _spread(f"{kind}_gain", own - right, self.seed)
        return row

    def __repr__(self) -> str:
        agent, step = (bootstrap_mean(right, self.seed) for right in self.hits["find_decisive"])
        return f"FailureScores({self.half}: agent {agent}, step {step}; {self.n} runs)"


@dataclass(frozen=True, eq=False)
class TrialForecast(Rows[dict[str, Any]]):
    """Chances that a trial of each task succeeds, foretold from the trials before it: a row a design or baseline.

    A row holds the Brier score with its interval, the chosen design's paired gain, and the score on the trials before.

    chosen: the design with the lowest Brier score in cross-validation on the earlier trials alone.
    chances: design or baseline → chance for each task.  earlier: design → that cross-validated Brier score.
    outcomes: 0 or 1 for each task.
    """

    trial: int
    chosen: str
    chances: dict[str, Floats]
    earlier: dict[str, float]
    outcomes: Floats
    seed: int

    @property
    def brier(self) -> Interval:
        """Mean Brier score of the chosen design with its interval over tasks."""
        return bootstrap_mean(brier_scores(self.chances[self.chosen], self.outcomes), self.seed)

    def _records(self) -> Sequence[dict[str, Any]]:
        scores = {design: brier_scores(chance, self.outcomes) for design, chance in self.chances.items()}
        return [
            {"design": design}
            | _spread("brier", score, self.seed)
            | _spread("gain", score - scores[self.chosen], self.seed)
            | {"earlier_brier": self.earlier.get(design, np.nan), "chosen": design == self.chosen}
            for design, score in scores.items()
        ]

    def __repr__(self) -> str:
        return f"TrialForecast(trial {self.trial}, {self.chosen}: Brier {self.brier}; {len(self.outcomes)} tasks)"


@dataclass(frozen=True, eq=False)
class FixEffect(Rows[dict[str, Any]]):
    """Solved or not by each trial, with written fixes and without, for environments whose first trial failed alike.

    A row a later trial: solved with and without, pairs solved by one alone, the difference of shares, its exact p.
    with_fixes, without: shape (n_trials, n_environments), trial 0 the same failure in both.
    """

    with_fixes: Floats
    without: Floats
    seed: int

    def _records(self) -> Sequence[dict[str, Any]]:
        return [self._trial(trial) for trial in range(1, len(self.with_fixes))]

    def _trial(self, trial: int) -> dict[str, Any]:
        fixed, plain = self.with_fixes[trial], self.without[trial]
        solved = {"solved_with": int(fixed.sum()), "solved_without": int(plain.sum())}
        alone = {"only_with": int((fixed > plain).sum()), "only_without": int((plain > fixed).sum())}
        difference = _spread("difference", fixed - plain, self.seed)
        return {"trial": trial, **solved, **alone, **difference, "p_value": mcnemar(*alone.values())}

    def __repr__(self) -> str:
        spread = bootstrap_mean(self.with_fixes[-1] - self.without[-1], self.seed)
        pairs = self.with_fixes.shape[1]
        return f"FixEffect(by trial {len(self)}: {spread} more solved with fixes; {pairs} pairs)"


def half_of(question_id: str) -> Half:
    """Whether a question is for development (even SHA-1) or reported (odd).

    >>> half_of("what-is-it")
    'report'
    """
    return (
        "report"
        if int(hashlib.sha1(question_id.encode(), usedforsecurity=False).hexdigest(), 16) % 2
        else "development"
    )


def score_failures(runs: Sequence[FailedRun] | None = None, *, half: Half = "report", seed: int = 0) -> FailureScores:
    """Agent and step accuracy of `find_decisive` and of simple rules on Who&When.

    runs: read from the public set by default.  Raises InvalidInput where no run is left.
    """
    chosen = _half(runs, half)
    methods: dict[str, Callable[[FailedRun], Guess]] = {
        "find_decisive": _found,
        "first_code": _first_code,
        "before_first_error_word": _before_first_error_word,
    }
    hits = {name: _hits(chosen, [guess(run) for run in chosen]) for name, guess in methods.items()}
    agents = [np.mean([step.agent == run.mistake_agent for step in run.steps]) for run in chosen]
    hits["random"] = (np.array(agents), np.array([1 / len(run.steps) for run in chosen]))
    return FailureScores(half, len(chosen), hits, seed)


def predict_trial(runs: TauBench | None = None, *, trial: int = 3, seed: int = 0) -> TrialForecast:
    """The chance that each task's trial succeeds, from the trials before it, on tau-bench airline.

    Designs: the beta-binomial posterior mean; and logistic regressions on its log-odds and what the earlier traces
    show (number of changes made, hand-overs to a person, messages). Each is fitted on the earlier trials, one of them
    foretold from the others; the design is chosen by cross-validation over tasks on them too.

    Raises InvalidInput where fewer than three trials go before, or one of them is missing.
    """
    bench = runs if runs is not None else datasets.fetch_taubench_airline()
    if not 3 <= trial < bench.rewards.shape[1] or np.isnan(bench.rewards[:, : trial + 1]).any():
        raise InvalidInput(
            f"got trial {trial!r} of {bench.rewards.shape[1]}; allowed are those after three or more complete ones"
        )
    past = bench.rewards[:, :trial]
    traces = _traces([run for run in bench.runs if run.trial < trial], past.shape)
    earlier = {name: _cross_validated(past, traces, used) for name, used in _DESIGNS.items()}
    chances = {name: _Design(past, traces, used).chances(past, list(range(trial))) for name, used in _DESIGNS.items()}
    chances["task_mean"] = past.mean(axis=1)
    chances["base_rate"] = np.full(len(past), past.mean())
    chosen = min(earlier, key=lambda name: earlier[name])
    return TrialForecast(trial, chosen, chances, earlier, bench.rewards[:, trial], seed)


def effect_of_fixes(runs: Reflexion | None = None, *, seed: int = 0) -> FixEffect:
    """Environments solved with written fixes passed on and without, pair by pair, on Reflexion's ALFWorld.

    Both arms share their first trial, and differ from the second on; only environments that it failed can tell, over
    the trials that both arms have. Limits: one run of each arm, so that luck of the model is not averaged out; what a
    fix says is not told apart from the longer prompt; from the third trial on the fixes add up.

    Raises InvalidInput where the arms differ in their first trial.
    """
    both = runs if runs is not None else datasets.fetch_reflexion_alfworld()
    if not np.array_equal(both.success[0], both.base_success[0]):
        raise InvalidInput("got arms that differ in their first trial; allowed are arms that share it, to be paired")
    n_trials, failed = min(len(both.success), len(both.base_success)), ~both.success[0]
    if n_trials < 2 or not failed.any():
        raise InvalidInput(
            f"got {n_trials} common trials and {int(failed.sum())} first failures; allowed are 2 and 1 or more"
        )
    arms = [solved[:n_trials, failed].astype(np.float64) for solved in (both.success, both.base_success)]
    return FixEffect(arms[0], arms[1], seed)


def run_steps(run: FailedRun) -> list[failure_signs.RunStep]:
    """The steps of a recorded run, numbered from 0."""
    return [failure_signs.RunStep(k, step.agent, step.text) for k, step in enumerate(run.steps)]


def _half(runs: Sequence[FailedRun] | None, half: Half) -> list[FailedRun]:
    known: Sequence[FailedRun] = runs if runs is not None else datasets.fetch_whoandwhen().runs
    kept = [run for run in known if half in ("all", half_of(run.question_id))]
    if not kept:
        raise InvalidInput(f"got {len(known)} runs, none of the half {half!r}; allowed are development, report and all")
    return kept


def _found(run: FailedRun) -> Guess:
    finding = find_decisive(run_steps(run), task=run.question)
    return finding.step, finding.agent


def _first_code(run: FailedRun) -> Guess:
    found = next((k for k, step in enumerate(run.steps) if "```" in step.text), 0)
    return found, run.steps[found].agent


def _before_first_error_word(run: FailedRun) -> Guess:
    """The opening where nothing goes before, or no step holds such a word."""
    found = max(0, next((k for k, step in enumerate(run.steps) if _ERROR_WORD.search(step.text)), 0) - 1)
    return found, run.steps[found].agent


def _hits(runs: Sequence[FailedRun], guesses: Sequence[Guess]) -> tuple[Floats, Floats]:
    pairs = list(zip(runs, guesses, strict=True))
    agent = np.array([guess[1] == run.mistake_agent for run, guess in pairs], dtype=np.float64)
    step = np.array([guess[0] == run.mistake_step for run, guess in pairs], dtype=np.float64)
    return agent, step


# What each design knows beside the earlier rewards; None is the posterior mean itself, without a regression.
_DESIGNS: dict[str, tuple[str, ...] | None] = {
    "beta_binomial": None,
    "rewards": (),
    "rewards_changes": ("changes",),
    "rewards_handovers": ("handovers",),
    "rewards_messages": ("messages",),
    "rewards_changes_handovers": ("changes", "handovers"),
}


def _traces(runs: Sequence[TauRun], shape: tuple[int, ...]) -> dict[str, Floats]:
    """ln(1 + count) of what each trial's trace shows, shape (n_tasks, n_trials)."""
    counts = {name: np.zeros(shape) for name in ("changes", "handovers", "messages")}
    for run in runs:
        cell = run.task, run.trial
        counts["changes"][cell] = sum(bool(_CHANGES.match(action.name)) for action in run.actions)
        counts["handovers"][cell] = sum(bool(_HANDS_OVER.match(action.name)) for action in run.actions)
        counts["messages"][cell] = len(run.messages)
    return counts


class _Design:
    """A forecast fitted on some tasks: a beta prior, then, where it uses traces, a logistic regression."""

    def __init__(
        self, past: Floats, traces: dict[str, Floats], used: tuple[str, ...] | None, tasks: Floats | None = None
    ) -> None:
        self.traces, self.used = traces, used
        kept = np.arange(len(past)) if tasks is None else np.flatnonzero(tasks)
        n_trials = past.shape[1]
        self.prior = fit_beta_prior(past[kept].sum(axis=1), n_trials)
        if used is None:
            return
        folds = [self._columns(past, [k for k in range(n_trials) if k != trial])[kept] for trial in range(n_trials)]
        design = np.vstack(folds)
        self.center, self.spread = design.mean(axis=0), design.std(axis=0) + 1e-9
        outcomes = np.concatenate([past[kept, trial] for trial in range(n_trials)])
        self.intercept, self.weights = fit_logistic((design - self.center) / self.spread, outcomes, _LOGIT_RIDGE)

    def _columns(self, past: Floats, trials: list[int]) -> Floats:
        chance = self.prior.posterior_mean(past[:, trials].sum(axis=1), len(trials))
        shown = [np.log1p(self.traces[name][:, trials].mean(axis=1)) for name in self.used or ()]
        return np.column_stack([np.log(chance / (1 - chance)), *shown])

    def chances(self, past: Floats, trials: list[int]) -> Floats:
        """The chance of another trial of each task, from these trials."""
        if self.used is None:
            return self.prior.posterior_mean(past[:, trials].sum(axis=1), len(trials))
        scaled = (self._columns(past, trials) - self.center) / self.spread
        return np.asarray(0.5 * (1.0 + np.tanh(0.5 * (self.intercept + scaled @ self.weights))))


def _cross_validated(past: Floats, traces: dict[str, Floats], used: tuple[str, ...] | None) -> float:
    """Mean Brier score of each trial foretold from the others, its task left out of the fit with its fold."""
    fold_of = np.arange(len(past)) % _FOLDS
    scores = np.zeros_like(past)
    for fold in range(_FOLDS):
        design, out = _Design(past, traces, used, fold_of != fold), fold_of == fold
        for trial in range(past.shape[1]):
            others = [k for k in range(past.shape[1]) if k != trial]
            scores[out, trial] = brier_scores(design.chances(past, others)[out], past[out, trial])
    return float(scores.mean())


def _spread(name: str, values: Floats, seed: int) -> dict[str, float]:
    interval = bootstrap_mean(values, seed)
    return {name: interval.mean, f"{name}_low": interval.low, f"{name}_high": interval.high}
