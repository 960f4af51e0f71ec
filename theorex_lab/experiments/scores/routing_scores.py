"""Scores of routing: what the chosen models achieved, what was lost to the best choice, and whether a gain is real.

Scores are 0 to 1, of shape (queries, models): how well each model answered each query. Choices are columns of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theorex_lab.errors import InvalidInput

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class CostQuality:
    """The mean score when ever more queries go to the strong model, those of the largest expected gain first.

    share    of queries sent to the strong model, 0 to 1, rising
    quality  mean score at that share
    """

    share: Floats
    quality: Floats

    @property
    def area(self) -> float:
        """Mean quality over all shares: the area under the curve."""
        return float(np.diff(self.share) @ (self.quality[1:] + self.quality[:-1]) / 2)

    def at(self, share: float) -> float:
        """Quality at a share of strong answers, interpolated.

        >>> CostQuality(np.array([0.0, 1.0]), np.array([0.5, 0.75])).at(0.5)
        0.625
        """
        return float(np.interp(share, self.share, self.quality))


def achieved(scores: Floats, choices: Ints) -> Floats:
    """What the chosen model scored on each query, (queries,). Raises InvalidInput for shapes or choices that do not fit.

    >>> achieved(np.array([[0.0, 1.0], [0.5, 0.25]]), np.array([1, 0]))
    array([1. , 0.5])
    """
    if scores.ndim != 2 or choices.shape != scores.shape[:1]:
        raise InvalidInput(
            f"got scores {scores.shape} and choices {choices.shape}; allowed are (queries, models), (queries,)"
        )
    if len(choices) and not 0 <= choices.min() <= choices.max() < scores.shape[1]:
        raise InvalidInput(
            f"got the choices {choices.min()} to {choices.max()}; allowed are 0 to {scores.shape[1] - 1}"
        )
    return np.asarray(scores[np.arange(len(scores)), choices])


def cost_quality_curve(weak: Floats, strong: Floats, advantage: Floats) -> CostQuality:
    """The curve of sending queries to the strong model in the order of their expected advantage, highest first.

    `weak` and `strong` are both models' scores and `advantage` the expected difference, each (queries,). Queries of one
    advantage go in random order, in expectation: a constant advantage gives the line of random routing, and
    `strong - weak` itself the oracle's curve. Raises InvalidInput for shapes that differ or no queries.

    >>> cost_quality_curve(np.array([0.0, 1.0]), np.array([1.0, 1.0]), np.array([0.9, 0.1])).quality
    array([0.5, 1. , 1. ])
    """
    if not len(weak) or not weak.shape == strong.shape == advantage.shape == (len(weak),):
        raise InvalidInput(
            f"got scores {weak.shape}, {strong.shape} and advantages {advantage.shape}; allowed is one length from 1"
        )
    n = len(weak)
    _, group, sizes = np.unique(-advantage, return_inverse=True, return_counts=True)
    gain = np.repeat(np.bincount(group, weights=strong - weak) / sizes, sizes)
    quality = weak.mean() + np.concatenate([[0.0], np.cumsum(gain)]) / n
    return CostQuality(np.arange(n + 1) / n, quality)


def area_gains(weak: Floats, strong: Floats, advantage: Floats) -> Floats:
    """What each query adds to the area of `cost_quality_curve` over that of random routing, times their number: (queries,).

    Its mean is the difference of the areas, its bootstrap that difference's interval (the order of queries held fixed).

    >>> float(area_gains(np.array([0.0, 1.0]), np.array([1.0, 1.0]), np.array([0.9, 0.1])).mean())
    0.125
    """
    _, group, sizes = np.unique(-advantage, return_inverse=True, return_counts=True)
    middle = (np.cumsum(sizes) - sizes / 2) / len(advantage)
    return np.asarray((strong - weak) * (0.5 - middle[group]))


def cumulative_regret(rewards: Floats, reference: Floats) -> Floats:
    """What a learner has lost so far to a reference, after each query: the running sum of reference − rewards.

    Both are of shape (queries,) or (runs, queries), in the order in which the queries came; below 0 the learner is ahead.

    >>> cumulative_regret(np.array([0.0, 1.0]), np.array([1.0, 0.5]))
    array([1. , 0.5])
    """
    return np.asarray(np.cumsum(reference - rewards, axis=-1))
