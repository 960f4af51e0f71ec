"""Weights of search's signals, fitted to queries of which it is known which texts answer them.

A conditional logit: a query chooses among the texts that search considers, by the weighted sum of their signals (McFadden,
"Conditional logit analysis of qualitative choice behavior", 1974). A ridge holds the weights near those that ship.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from theorex_lab.errors import InvalidInput
from theorex_lab.search.blend import STANDARDISED, blend, shown, standardised, weights_for

Floats = NDArray[np.float64]
Weights = Mapping[str, float]
HEAVIEST = 5.0
_RIDGE, _FREE = 10.0, 1e-3  # as much as so many queries
_STEPS, _CLOSE = 30, 1e-6


class Considered(NamedTuple):
    """A query's texts. right: (texts,), which of them answer it.  columns: their signals, see `Searcher.signals`.

    wanted: how many texts answer it, considered or not.
    """

    right: NDArray[np.bool_]
    columns: Mapping[str, Floats]
    wanted: int = 1


def fit_weights(choices: Sequence[Considered], *, kept: Sequence[str] = (), trust: float = 1.0) -> dict[str, float]:
    """The weights, 0..5, under which the right texts stand out most.

    kept: signals that weigh what they ship with: how the queries were made, not what search needs, decides on what they are
    worth here.  trust: 0..1, how far to go from the weights that ship to those fitted. Queries of which search considers
    no right text say nothing. Raises InvalidInput where none is left.

    >>> columns = {"words": np.array([3.0, 1.0, 0.0]), "passage": np.array([1.0, 3.0, 0.0])}
    >>> fitted = fit_weights([Considered(np.array([True, False, False]), columns)] * 20)
    >>> fitted["words"] > fitted["passage"]
    True
    """
    if not (told := [choice for choice in choices if choice.right.any()]):
        raise InvalidInput(f"got {len(choices)} queries and no text that answers one; give a log with more texts")
    ships = {name: weight for name, weight in weights_for(told[0].columns, None).items() if name in told[0].columns}
    names, free = [*ships], np.array([name not in kept for name in ships])
    start = np.array([*ships.values()])
    scaled = [(columns, choice.right) for choice in told if (columns := standardised(choice.columns))]
    rows = [(np.stack([columns[name] for name in names], 1), right / right.sum()) for columns, right in scaled]
    # How sharply sums decide comes first: the ridge holds to weights that decide so.
    sharpness = _newton([(matrix @ start[:, None], right) for matrix, right in rows], np.ones(1), np.zeros(1))
    found = np.maximum(_newton(rows, start * max(sharpness[0], _FREE), np.where(free, _RIDGE, _FREE)), 0.0)
    among = free & np.isin(names, STANDARDISED)
    found *= start[among].sum() / max(found[among].sum(), _FREE)
    weights = np.where(free, start + trust * (np.minimum(found, HEAVIEST) - start), start)
    return dict(zip(names, weights.round(3).tolist(), strict=True))


def shown_right(considered: Considered, weights: Weights, floor: float = 0.0) -> NDArray[np.bool_]:
    """Which of the texts that come back are right, best first, without the rule for texts that hold all words of a query."""
    if not len(considered.right):
        return considered.right
    total, _ = blend(considered.columns, weights)
    order = np.argsort(-total, kind="stable")
    return considered.right[order[shown(total[order]) >= floor]]


def floor_table(asked: Sequence[Considered], weights: Weights, floors: Sequence[float]) -> pd.DataFrame:
    """Columns floor, precision and recall of ten texts at most, means over the queries that something answers."""
    rows = []
    for floor in floors:
        ten = [(shown_right(texts, weights, floor)[:10], texts.wanted) for texts in asked if texts.wanted]
        precision = np.mean([right.mean() if len(right) else 0.0 for right, _ in ten])
        rows.append((floor, float(precision), float(np.mean([right.sum() / wanted for right, wanted in ten]))))
    return pd.DataFrame(rows, columns=["floor", "precision", "recall"])


def _newton(rows: Sequence[tuple[Floats, Floats]], centre: Floats, ridge: Floats) -> Floats:
    """The weights of the least cross-entropy plus ridge, a convex problem; no step changes a weight by more than 1."""
    weights = centre.copy()
    for _ in range(_STEPS):
        slope, bend = ridge * (weights - centre), np.diag(ridge + 1e-6)
        for matrix, right in rows:
            sums = matrix @ weights
            powers = np.exp(sums - sums.max())
            chosen = powers / powers.sum()
            mean = chosen @ matrix
            slope += mean - right @ matrix
            bend += (matrix * chosen[:, None]).T @ matrix - np.outer(mean, mean)
        step = np.clip(np.linalg.solve(bend, slope), -1.0, 1.0)
        weights = weights - step
        if np.abs(step).max() <= _CLOSE:
            break
    return weights
