"""Whether the chance that a review states for its step is as often right as it says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from theorex_lab.evolution.decisive import KNOWN_FROM
from theorex_lab.memory.decay import Floats
from theorex_lab.memory.intervals import wilson_of_one
from theorex_lab.memory.rows import Rows

_N_BINS = 5


class CalibrationBin(NamedTuple):
    """Runs whose stated chances are alike.

    Attributes:
        stated_from: The lower bound of the bin, 0..1.
        stated_to: The upper bound, not included but in the last bin.
        n: The runs in it.
        stated: The mean of their chances; None without runs.
        right: The share in which the step is the labelled one; None without runs.
        ci_low: The lower end of the 95 % Wilson interval of `right`.
        ci_high: The upper end of it.
    """

    stated_from: float
    stated_to: float
    n: int
    stated: float | None
    right: float | None
    ci_low: float
    ci_high: float


@dataclass(frozen=True, eq=False)
class StepCalibration(Rows[CalibrationBin]):
    """Stated chances of the decisive step against how often it was right, in bins.

    Attributes:
        stated_chances: For each run, 0..1.
        right: Whether the step was the labelled one, 0 or 1.
        likely_hits: Whether the labelled step is among the three likeliest.
    """

    row_class = CalibrationBin
    stated_chances: Floats
    right: Floats
    likely_hits: Floats

    def _records(self) -> Sequence[CalibrationBin]:
        numbers = np.minimum(self.stated_chances * _N_BINS, _N_BINS - 1).astype(int)
        return [self._bin(number, numbers == number) for number in range(_N_BINS)]

    def _bin(self, number: int, is_in: NDArray[np.bool_]) -> CalibrationBin:
        n = int(is_in.sum())
        stated = None
        right = None
        n_right = float(self.right[is_in].sum())
        if n:
            stated = float(self.stated_chances[is_in].mean())
            right = n_right / n
        ci_low, ci_high = wilson_of_one(n_right, n)
        return CalibrationBin(
            number / _N_BINS,
            (number + 1) / _N_BINS,
            n,
            stated,
            right,
            ci_low,
            ci_high,
        )

    @property
    def brier(self) -> float:
        """Return the mean squared distance of the chances from what was right."""
        return float(np.mean((self.stated_chances - self.right) ** 2))

    @property
    def base_rate_brier(self) -> float:
        """Return the same for the best constant: the share that was right here."""
        return float(np.mean((self.right.mean() - self.right) ** 2))

    def named(self) -> dict[str, float]:
        """Return how often a step is named, and how often it is right then.

        `coverage` is the share of runs with a named step, `named_accuracy` its share of
        right ones, `unnamed_likely_accuracy` the share of the other runs whose labelled
        step is among the three likeliest. Each has a 95 % Wilson interval.
        """
        is_named = self.stated_chances > KNOWN_FROM
        shares = {
            "coverage": is_named.astype(np.float64),
            "named_accuracy": self.right[is_named],
            "unnamed_accuracy": self.right[~is_named],
            "unnamed_likely_accuracy": self.likely_hits[~is_named],
        }
        row: dict[str, float] = {}
        for name, values in shares.items():
            ci_low, ci_high = wilson_of_one(float(values.sum()), len(values))
            mean = float(values.mean()) if len(values) else math.nan
            row |= {name: mean, f"{name}_ci_low": ci_low, f"{name}_ci_high": ci_high}
        return row

    def __repr__(self) -> str:
        named = self.named()
        return (
            f"StepCalibration({len(self.right)} runs: Brier {self.brier:.3f}, base rate"
            f" {self.base_rate_brier:.3f}; a step is named in {named['coverage']:.0%},"
            f" right in {named['named_accuracy']:.0%} of these)"
        )
