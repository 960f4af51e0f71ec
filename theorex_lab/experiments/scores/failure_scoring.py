"""Measures for failure review: hits with intervals, Brier score, shrunken success rates, paired tests. Pure functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theorex_lab.errors import InvalidInput

Floats = NDArray[np.float64]

NEWTON_STEPS = 50
_STRENGTHS = np.exp(np.linspace(-3.0, 4.0, 141))


def brier_scores(chances: ArrayLike, outcomes: ArrayLike) -> Floats:
    """The squared error of each forecast chance (0..1) of an outcome (0 or 1). Brier (1950).

    Raises InvalidInput for columns of different length, and values out of range.

    >>> brier_scores([0.5, 1.0], [1, 1]).tolist()
    [0.25, 0.0]
    """
    chance, outcome = np.asarray(chances, dtype=np.float64), np.asarray(outcomes, dtype=np.float64)
    if chance.shape != outcome.shape:
        raise InvalidInput(f"got {chance.shape} chances for {outcome.shape} outcomes; allowed is one each")
    if not (np.all((chance >= 0) & (chance <= 1)) and np.all((outcome == 0) | (outcome == 1))):
        raise InvalidInput("got a chance outside 0..1 or an outcome that is neither 0 nor 1")
    return (chance - outcome) ** 2


@dataclass(frozen=True, slots=True)
class BetaPrior:
    """A beta distribution of success rates. mean: 0..1.  strength: how many trials it counts for, above 0."""

    mean: float
    strength: float

    def posterior_mean(self, successes: ArrayLike, n_trials: int) -> Floats:
        """The expected success rate after `successes` in `n_trials`, shrunken towards the mean."""
        return (self.mean * self.strength + np.asarray(successes, dtype=np.float64)) / (self.strength + n_trials)


def fit_beta_prior(successes: ArrayLike, n_trials: int) -> BetaPrior:
    """The beta prior of largest beta-binomial likelihood, its mean being the overall rate.

    successes: whole numbers 0..n_trials, one a task. Raises InvalidInput where they are out of range or there are none.

    >>> prior = fit_beta_prior([0, 0, 3, 3], 3)
    >>> prior.mean, prior.strength < 0.1
    (0.5, True)
    """
    count = np.asarray(successes, dtype=np.float64)
    if not len(count) or n_trials < 1 or np.any((count < 0) | (count > n_trials)):
        raise InvalidInput(
            f"got successes {count.tolist()!r} of {n_trials} trials; allowed are 0 to the number of trials"
        )
    mean = float(np.clip(count.mean() / n_trials, 1e-3, 1 - 1e-3))
    tasks_with = np.bincount(count.astype(np.int64), minlength=n_trials + 1).tolist()
    likelihoods = [_beta_binomial_log(tasks_with, mean, float(strength)) for strength in _STRENGTHS]
    return BetaPrior(mean, float(_STRENGTHS[int(np.argmax(likelihoods))]))


def _beta_binomial_log(tasks_with: Sequence[int], mean: float, strength: float) -> float:
    """tasks_with[k]: the number of tasks with k successes."""
    a, b, n = mean * strength, (1 - mean) * strength, len(tasks_with) - 1
    return sum(tasks * (_log_beta(a + k, b + n - k) - _log_beta(a, b)) for k, tasks in enumerate(tasks_with))


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def mcnemar(only_first: int, only_second: int) -> float:
    """Two-sided exact p of McNemar's test, from the pairs on which just one of two methods succeeded.

    Raises InvalidInput for negative counts.

    >>> mcnemar(0, 5)
    0.0625
    """
    if only_first < 0 or only_second < 0:
        raise InvalidInput(f"got counts {only_first!r} and {only_second!r}; allowed are 0 and above")
    n = only_first + only_second
    tail = sum(math.comb(n, k) for k in range(min(only_first, only_second) + 1))
    return min(1.0, 2 * tail / (1 << n))


def fit_logistic(
    features: Floats, outcomes: Floats, ridge: float, intercept_ridge: float = 1e-6
) -> tuple[float, Floats]:
    """(intercept, weights) of a logistic regression with a ridge on the weights and one on the intercept, by Newton steps.

    Raises InvalidInput for rows that do not match the outcomes, or a ridge that is not above 0.
    """
    if len(features) != len(outcomes) or not len(outcomes) or not ridge > 0:
        raise InvalidInput(
            f"got {len(features)} rows, {len(outcomes)} outcomes and ridge {ridge!r}; allowed is one outcome a row, one or more, and a ridge above 0"
        )
    design = np.column_stack([np.ones(len(features)), features])
    penalty = np.r_[intercept_ridge, np.full(features.shape[1], ridge)]
    weights = np.zeros(design.shape[1])
    for _ in range(NEWTON_STEPS):
        chance = 0.5 * (1.0 + np.tanh(0.5 * (design @ weights)))
        slope = design.T @ (outcomes - chance) - penalty * weights
        curvature = (design * (chance * (1.0 - chance))[:, None]).T @ design + np.diag(penalty)
        step = np.clip(np.linalg.solve(curvature, slope), -2.0, 2.0)  # a full step can overshoot without end
        weights += step
        if np.abs(step).max() < 1e-9:
            break
    return float(weights[0]), weights[1:]
