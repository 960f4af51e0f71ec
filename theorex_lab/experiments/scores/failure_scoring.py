"""Measures of fits and reviews: a logistic regression, a paired test. Pure functions."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from theorex_lab.errors import InvalidInput

Floats = NDArray[np.float64]

NEWTON_STEPS = 50


def mcnemar(only_first: int, only_second: int) -> float:
    """Two-sided exact p of McNemar's test, from the pairs on which just one of two methods succeeded.

    Raises InvalidInput for negative counts.

    >>> mcnemar(0, 5)
    0.0625
    """
    if only_first < 0 or only_second < 0:
        raise InvalidInput(f"got counts {only_first!r} and {only_second!r}; allowed are 0 and above")
    n = only_first + only_second
    return min(1.0, 2 * sum(math.comb(n, k) for k in range(min(only_first, only_second) + 1)) / (1 << n))


def fit_logistic(
    features: Floats, outcomes: Floats, ridge: float, intercept_ridge: float = 1e-6
) -> tuple[float, Floats]:
    """(intercept, weights) of a logistic regression with a ridge on the weights and one on the intercept, by Newton steps.

    Raises InvalidInput for rows that do not match the outcomes, or a ridge that is not above 0.
    """
    if len(features) != len(outcomes) or not len(outcomes) or not ridge > 0:
        got = f"got {len(features)} rows, {len(outcomes)} outcomes and ridge {ridge!r}"
        raise InvalidInput(f"{got}; allowed is one outcome a row, one or more, and a ridge above 0")
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
