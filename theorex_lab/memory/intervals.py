"""How far an observed rate may lie from the true one."""

from __future__ import annotations

import math

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
    square = z * z
    spread = hits * ((runs - hits) / np.where(runs > 0, runs, 1.0))
    half = z * np.sqrt(spread + square / 4)
    centre, width = hits + square / 2, runs + square
    return np.maximum((centre - half) / width, 0.0), np.minimum((centre + half) / width, 1.0)
