"""How far an observed rate may lie from the true one."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theorex_lab.core.errors import InvalidInput

Floats = NDArray[np.float64]
Bounds = tuple[Floats, Floats]  # from, to
BOOTSTRAPS = 1_000
Z_95 = 1.96  # standard deviations to each side that hold 95 %
_QUANTILES_95 = [0.025, 0.975]
# Draws of more rows are made anew each time: those of 1,000 rows take 8 MB.
_MOST_ROWS_KEPT = 1_000


def wilson(successes: ArrayLike, n: ArrayLike, z: float = Z_95) -> Bounds:
    """Return the Wilson score interval of a success rate, 0..1.

    Source: Wilson (1927), doi:10.1080/01621459.1927.10502953.

    Args:
        successes: Of any shape; fractions are allowed.
        n: The runs, of a shape that fits; 0 gives (0, 1).
        z: How many standard deviations wide to each side, 1.96 for 95 %.

    Raises:
        InvalidInput: Unless 0 <= successes <= n < inf and 0 < z < inf.

    >>> ci_low, ci_high = wilson([9, 0], [10, 0])
    >>> ci_low.round(3).tolist(), ci_high.round(3).tolist()
    ([0.596, 0.0], [0.982, 1.0])
    """
    hits = np.asarray(successes, np.float64)
    runs = np.asarray(n, np.float64)
    is_share = (hits >= 0) & (hits <= runs)
    is_finite = runs < np.inf
    if not np.all(is_share & is_finite):
        raise InvalidInput(
            f"got {successes!r:.80} successes of {n!r:.80}; allowed is 0 <= successes"
            " <= n, finite"
        )
    if not 0 < z < math.inf:
        raise InvalidInput(
            f"got z = {z!r}; allowed is a number above 0, such as 1.96 for 95 %"
        )
    divisor = np.where(runs > 0, runs, 1.0)
    ci_low, ci_high = _bounds(hits, divisor, z, runs)
    return np.maximum(ci_low, 0.0), np.minimum(ci_high, 1.0)


def wilson_of_one(successes: float, n: float, z: float = Z_95) -> tuple[float, float]:
    """Return what `wilson` does, of plain numbers and unchecked.

    Some dozens of them cost less so than an array does.

    >>> [round(bound, 3) for bound in wilson_of_one(9, 10)]
    [0.596, 0.982]
    """
    divisor = n or 1.0
    ci_low, ci_high = _bounds(successes, divisor, z, n)
    return max(ci_low, 0.0), min(ci_high, 1.0)


def _bounds(hits: Any, divisor: Any, z: float, runs: Any) -> tuple[Any, Any]:
    """Return the bounds of numbers or arrays.

    Args:
        hits: The successes.
        divisor: The runs, 1 in place of 0.
        z: How many standard deviations wide to each side.
        runs: The runs.
    """
    square = z * z
    failed_share = (runs - hits) / divisor
    variance = hits * failed_share + square / 4
    half = z * variance**0.5
    centre = hits + square / 2
    width = runs + square
    ci_low = (centre - half) / width
    ci_high = (centre + half) / width
    return ci_low, ci_high


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its 95 % bootstrap interval."""

    mean: float
    ci_low: float
    ci_high: float

    def __str__(self) -> str:
        bounds = f"{self.ci_low:.3f}, {self.ci_high:.3f}"
        return f"{self.mean:.3f} [{bounds}]"

    def named(self, name: str) -> dict[str, float]:
        """Return the members as {name, name_ci_low, name_ci_high}."""
        return {
            name: self.mean,
            f"{name}_ci_low": self.ci_low,
            f"{name}_ci_high": self.ci_high,
        }


def bootstrap_means(
    values: ArrayLike,
    *,
    seed: int = 0,
    draws: int = BOOTSTRAPS,
    groups: Sequence[object] | None = None,
) -> list[Interval]:
    """Return the mean of each column with its 95 % interval.

    One set of resamples serves all.

    For a paired comparison, hand in differences.

    Args:
        values: The values, (n, k) or (n,).
        seed: The seed of the draws.
        draws: How many resamples are drawn.
        groups: A group for each row, where whole groups are drawn and not rows.

    Raises:
        InvalidInput: There are no values or draws, values are not finite, or the groups
            have another length.

    >>> bootstrap_means([[0.25, 1.0], [0.25, 1.0]])[1]
    Interval(mean=1.0, ci_low=1.0, ci_high=1.0)
    """
    columns = np.asarray(values, np.float64)
    if columns.ndim == 1:
        columns = columns[:, None]
    n = len(columns)
    is_table = n > 0 and columns.ndim == 2
    is_finite = np.isfinite(columns).all()
    if draws < 1 or not is_table or not is_finite:
        raise InvalidInput(
            f"got {n} values and {draws} draws; allowed is one or more of each, all"
            " values finite"
        )
    sums = columns
    sizes = np.ones(n)
    if groups is not None:
        if len(groups) != n:
            raise InvalidInput(
                f"got {len(groups)} groups for {n} values; allowed is one group each"
            )
        sums, sizes = _summed_by_group(columns, groups)
    resampled = _resamples(len(sizes), seed, draws)
    n_drawn = resampled @ sizes
    drawn_sums = resampled @ sums
    drawn_means = drawn_sums / n_drawn[:, None]
    means = columns.mean(axis=0)
    ci_low, ci_high = np.quantile(drawn_means, _QUANTILES_95, axis=0)
    rows = np.stack([means, ci_low, ci_high], axis=1)
    return [Interval(*row) for row in rows.tolist()]


def _summed_by_group(
    columns: Floats, groups: Sequence[object]
) -> tuple[Floats, Floats]:
    """Return the sums of each column by group, and how many rows each group has."""
    names = [str(group) for group in groups]
    _, group_of = np.unique(names, return_inverse=True)
    sums = []
    for column in columns.T:
        sums.append(np.bincount(group_of, weights=column))
    sizes = np.bincount(group_of).astype(np.float64)
    return np.stack(sums, axis=1), sizes


def _resamples(m: int, seed: int, draws: int) -> Floats:
    """Return how often each of m rows was drawn in each resample, (draws, m).

    The scores of one set have equal draws, so the last two are kept.
    """
    if m > _MOST_ROWS_KEPT:
        return _drawn(m, seed, draws)
    return _kept_draws(m, seed, draws)


def _drawn(m: int, seed: int, draws: int) -> Floats:
    """Draw the resamples; nothing may change them."""
    generator = np.random.default_rng(seed)
    chances = np.full(m, 1 / m)
    drawn = generator.multinomial(m, chances, size=draws).astype(np.float64)
    drawn.flags.writeable = False
    return drawn


_kept_draws = lru_cache(maxsize=2, typed=True)(_drawn)


def bootstrap_ratio(
    values: ArrayLike, base: ArrayLike, *, seed: int = 0, draws: int = BOOTSTRAPS
) -> Interval:
    """Return the mean of `values` over the mean of `base`, with its 95 % interval.

    Both are of shape (n,); rows are drawn in pairs.

    Raises:
        InvalidInput: The base has no value above 0, or as `bootstrap_means`.

    >>> bootstrap_ratio([1.0, 1.0], [4.0, 4.0])
    Interval(mean=0.25, ci_low=0.25, ci_high=0.25)
    """
    pairs = np.column_stack([values, base])
    pairs = pairs.astype(np.float64)
    value_interval, base_interval = bootstrap_means(pairs, seed=seed, draws=1)
    base_mean = base_interval.mean
    if not base_mean > 0:
        raise InvalidInput(
            f"got a base whose mean is {base_mean}; allowed is one above 0"
        )
    resampled = _resamples(len(pairs), seed, draws)
    value_sums, base_sums = (resampled @ pairs).T
    # A resample may have a base that is 0 throughout.
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = value_sums / base_sums
        ci_low, ci_high = np.nanquantile(ratios, _QUANTILES_95).tolist()
    return Interval(value_interval.mean / base_mean, ci_low, ci_high)


def bootstrap_mean(
    values: ArrayLike,
    seed: int = 0,
    groups: Sequence[object] | None = None,
) -> Interval:
    """Return what `bootstrap_means` does, of one column (n,).

    >>> str(bootstrap_mean([1.0, 1.0]))
    '1.000 [1.000, 1.000]'
    """
    intervals = bootstrap_means(values, seed=seed, groups=groups)
    return intervals[0]
