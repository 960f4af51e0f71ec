"""How far an observed rate may lie from the true one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theorex_lab.errors import InvalidInput

Floats = NDArray[np.float64]


def wilson(successes: ArrayLike, n: ArrayLike, z: float = 1.96) -> tuple[Floats, Floats]:
    """The Wilson score interval of a success rate (Wilson 1927, doi:10.1080/01621459.1927.10502953), 0..1.

    successes, n: of any shapes that fit each other, fractions allowed; n = 0 gives (0, 1). `z`: how many standard
    deviations wide to each side, 1.96 for 95 %. Raises InvalidInput unless 0 <= successes <= n < inf and 0 < z < inf.

    >>> low, high = wilson([9, 0], [10, 0])
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.596, 0.0], [0.982, 1.0])
    """
    hits, runs = np.asarray(successes, np.float64), np.asarray(n, np.float64)
    if not (np.all(hits >= 0) and np.all(hits <= runs) and np.all(runs < np.inf)):
        raise InvalidInput(f"got {successes!r:.80} successes of {n!r:.80}; allowed is 0 <= successes <= n, finite")
    if not 0 < z < math.inf:
        raise InvalidInput(f"got z = {z!r}; allowed is a number above 0, such as 1.96 for 95 %")
    low, high = _bounds(hits, np.where(runs > 0, runs, 1.0), z, runs)
    return np.maximum(low, 0.0), np.minimum(high, 1.0)


def wilson_of_one(successes: float, n: float, z: float = 1.96) -> tuple[float, float]:
    """As `wilson`, of plain numbers and unchecked: some dozens of them cost less so than an array does.

    >>> [round(bound, 3) for bound in wilson_of_one(9, 10)]
    [0.596, 0.982]
    """
    low, high = _bounds(successes, n or 1.0, z, n)
    return max(low, 0.0), min(high, 1.0)


def _bounds(hits: Any, divisor: Any, z: float, runs: Any) -> tuple[Any, Any]:
    """The bounds of numbers or arrays; `divisor`: the runs, 1 in place of 0."""
    square = z * z
    half = z * (hits * ((runs - hits) / divisor) + square / 4) ** 0.5
    centre, width = hits + square / 2, runs + square
    return (centre - half) / width, (centre + half) / width
