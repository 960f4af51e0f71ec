"""How fast advice by evidence follows models that change, by the half-life of the evidence: simulated, on real scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple
from itertools import chain, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.data.routing_sets import Floats, Ints, RoutingSet
from theorex_lab.experiments.scores.routing import SUCCESS_FROM
from theorex_lab.memory.intervals import bootstrap_means
from theorex_lab.memory.rows import Rows

HALF_LIVES = (7.0, 30.0, 45.0, None)
SINCE_LAST, EACH_RUN = "the cell, from its last run on", "each run by itself"
WITHIN = 0.05  # of the regret before the change: then advice has recovered
Goods = NDArray[np.bool_]
_WINDOW = 7  # days over which regret is averaged


class DriftScore(NamedTuple):
    """Advice by evidence of a half-life (days, None: it never ages), which ages as `ages` says.

    before, after: mean regret a query in the 14 days before the change and in the 30 after it.  days: until the mean regret of
    the last seven days is within WITHIN of that before; where it never is, the days that were left.  recovered: share of the
    repetitions in which it is. low, high: bounds of 95 % intervals over the repetitions.
    """

    ages: str
    half_life_days: float | None
    before: float
    before_low: float
    before_high: float
    after: float
    after_low: float
    after_high: float
    days: float
    days_low: float
    days_high: float
    recovered: float


class DriftScores(Rows[DriftScore]):
    """A row a half-life and way to age."""

    row_class = DriftScore


def half_lives_under_drift(found: RoutingSet, *, half_lives: Sequence[float | None] = HALF_LIVES, days: int = 150,
                           change: int = 60, per_day: int = 30, repetitions: int = 20, seed: int = 0) -> DriftScores:  # fmt: skip
    """Regret of advice by evidence before and after a day from which on the models' success is swapped, best for worst.

    Each day so many queries of the set are drawn; each goes to the model of the highest of one draw a model from the Beta distribution of
    its cell (task, model), whose counts age, and only the answer of that model is learnt from, at the end of the day. Evidence ages as
    `EvidenceTable.cells` has it, the whole cell from its last run on, or each run by itself. Regret: the success of the best model on
    such tasks less that of the chosen one. Days are simulated. Raises InvalidInput unless 14 <= change <= days - 30.
    """
    if not 14 <= change <= days - 30 or min(per_day, repetitions) < 1:
        got = f"a change on day {change} of {days}, {per_day} queries a day, {repetitions} repetitions"
        raise InvalidInput(
            f"got {got}; allowed is a day from 14 to 30 days before the end, and one or more of the rest"
        )
    good = np.concatenate([found.train.scores, found.test.scores]) >= SUCCESS_FROM
    _, task = np.unique([*found.train.queries.tasks, *found.test.queries.tasks], return_inverse=True)
    order = np.argsort(good.mean(axis=0))
    swapped = np.empty_like(good)
    swapped[:, order] = good[:, order[::-1]]
    rows = []
    for ages, half_life in product((SINCE_LAST, EACH_RUN), half_lives):
        generator, told = np.random.default_rng(seed), []
        for _ in range(repetitions):
            drawn = generator.integers(len(good), size=(days, per_day))
            regrets = _regrets(drawn, task, (good, swapped), change, half_life, ages, generator)
            told.append(_summed(regrets, change))
        amounts = chain.from_iterable(map(astuple, bootstrap_means(np.array(told)[:, :3], seed=seed)))
        rows.append(DriftScore._make((ages, half_life, *amounts, np.mean(told, axis=0)[3].item())))
    return DriftScores(rows)


def _regrets(drawn: Ints, task: Ints, success: tuple[Goods, Goods], change: int, half_life: float | None, ages: str,
             generator: np.random.Generator) -> Floats:  # fmt: skip
    """The mean regret of each day, (days,)."""
    tasks, models = task.max() + 1, success[0].shape[1]
    sizes = np.bincount(task, minlength=tasks)[:, None]
    rates = [np.stack([np.bincount(task, one, tasks) for one in part.T], axis=1) / sizes for part in success]
    counts, last, found = np.zeros((2, tasks, models)), np.zeros((tasks, models)), []
    for day, queries in enumerate(drawn):
        part, kinds = int(day >= change), task[queries]
        shown = counts if half_life is None or ages == EACH_RUN else counts * aged(day - last, half_life)
        chosen = np.argmax(generator.beta(*(1.0 + shown[:, kinds])), axis=1)
        found.append((rates[part].max(axis=1)[kinds] - rates[part][kinds, chosen]).mean())
        right = success[part][queries, chosen]
        np.add.at(counts, (1 - right.astype(int), kinds, chosen), 1.0)
        last[kinds, chosen] = day
        if half_life is not None and ages == EACH_RUN:
            counts *= aged(1.0, half_life)
    return np.array(found)


def aged(days: Floats | float, half_life_days: float) -> Floats:
    """The weight of what is so many days old."""
    return np.exp2(-np.asarray(days) / half_life_days)


def _summed(regrets: Floats, change: int) -> tuple[float, float, float, float]:
    """Regret before and after the change, days to recover, and whether that happened."""
    before, after = regrets[change - 14 : change].mean(), regrets[change : change + 30].mean()
    rolling = np.convolve(regrets[change:], np.full(_WINDOW, 1 / _WINDOW), mode="valid")
    near = np.flatnonzero(rolling <= before + WITHIN)
    return before, after, float(near[0] + _WINDOW if len(near) else len(regrets) - change), float(len(near) > 0)
