"""Policies that choose which model a query should go to, from how the models did on earlier queries.

All have the same verbs: `fit(training)`, then `choose(queries)`. They are what the router that ships is compared with.
A bandit sees only how the model it chose did, and must try models to learn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theorex_lab.errors import InvalidInput

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def achieved(scores: Floats, choices: Ints) -> Floats:
    """What the chosen model scored on each query, (queries,). Raises InvalidInput for shapes or choices that do not fit.

    >>> achieved(np.array([[0.0, 1.0], [0.5, 0.25]]), np.array([1, 0]))
    array([1. , 0.5])
    """
    if scores.ndim != 2 or choices.shape != scores.shape[:1]:
        shapes = f"scores {scores.shape} and choices {choices.shape}"
        raise InvalidInput(f"got {shapes}; allowed are (queries, models), (queries,)")
    if len(choices) and not 0 <= choices.min() <= choices.max() < scores.shape[1]:
        raise InvalidInput(f"got choices {choices.min()} to {choices.max()}; allowed are 0 to {scores.shape[1] - 1}")
    return np.asarray(scores[np.arange(len(scores)), choices])


@dataclass(frozen=True, eq=False)
class Queries:
    """What a policy may know of queries before they are answered.

    texts    one a query
    tasks    one a query: the kind of work, any text; the key under which evidence is pooled
    """

    texts: Sequence[str]
    tasks: Sequence[str]

    def __post_init__(self) -> None:
        if len(self.texts) != len(self.tasks):
            raise InvalidInput(f"got {len(self.texts)} texts and {len(self.tasks)} tasks; allowed is one of each")

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, rows: Ints) -> Queries:
        """The queries of these rows, in their order."""
        return Queries([self.texts[row] for row in rows], [self.tasks[row] for row in rows])


@dataclass(frozen=True, eq=False)
class Training:
    """Queries and how every model scored on them: (queries, models), 0 to 1."""

    queries: Queries
    scores: Floats

    def __post_init__(self) -> None:
        shape = self.scores.shape
        if len(shape) != 2 or shape[0] != len(self.queries) or not min(shape):
            got = f"got scores {shape} of {len(self.queries)} queries"
            raise InvalidInput(f"{got}; allowed is (queries, models), one or more of each")
        if not (np.isfinite(self.scores).all() and self.scores.min() >= 0.0 and self.scores.max() <= 1.0):
            raise InvalidInput("got a score that is not a number from 0 to 1; scale scores into that range")

    def take(self, rows: Ints) -> Training:
        """The training queries of these rows, in their order."""
        return Training(self.queries.take(rows), self.scores[rows])


class Heuristic:
    """What needs no evidence: the query's words tell its size of model, small, medium or large.

    `sizes` orders the models, say their price or parameters: small is the lowest, large the highest, medium the one in
    the middle. `tier_of` tells the size from a query's text.
    """

    name = "heuristic"

    def __init__(self, sizes: ArrayLike, tier_of: Callable[[str], str]) -> None:
        order = np.argsort(np.asarray(sizes, dtype=np.float64), kind="stable")
        self.model_of = {"small": order[0], "medium": order[(len(order) - 1) // 2], "large": order[-1]}
        self.tier_of = tier_of

    def fit(self, training: Training) -> Self:
        """Nothing is learned. Raises InvalidInput where the training is of other models than `sizes`."""
        if max(self.model_of.values()) >= training.scores.shape[1]:
            raise InvalidInput(f"got scores of {training.scores.shape[1]} models; allowed is one for each of the sizes")
        return self

    def choose(self, queries: Queries) -> Ints:
        """The model of each query's size."""
        return np.array([self.model_of[self.tier_of(text)] for text in queries.texts], dtype=np.int64)


class TaskMatrix:
    """Mean scores by (task, model); an unknown task gets the models' overall means. Of equal models the first is chosen.

    >>> training = Training(Queries(["a", "b"], ["x", "y"]), np.array([[0.0, 1.0], [0.5, 0.0]]))
    >>> TaskMatrix().fit(training).choose(Queries(["c", "d"], ["x", "y"]))
    array([1, 0])
    """

    name = "task matrix"

    def fit(self, training: Training) -> Self:
        """Means by task."""
        tasks = np.asarray(training.queries.tasks, dtype=object)
        self.means = {task: training.scores[tasks == task].mean(axis=0) for task in set(training.queries.tasks)}
        self.overall = training.scores.mean(axis=0)
        return self

    def predict(self, queries: Queries) -> Floats:
        """The expected score of each model: (queries, models), the means of each query's task."""
        found = [self.means.get(task, self.overall) for task in queries.tasks]
        return np.array(found, np.float64).reshape(len(queries), len(self.overall))

    def choose(self, queries: Queries) -> Ints:
        """The model of the highest expected score for each query."""
        return np.asarray(self.predict(queries).argmax(axis=1), dtype=np.int64)


class BestSingle(TaskMatrix):
    """The model of the highest mean score, for every query.

    >>> training = Training(Queries(["a", "b"], ["x", "x"]), np.array([[0.0, 1.0], [0.5, 0.5]]))
    >>> BestSingle().fit(training).choose(Queries(["c"], ["y"]))
    array([1])
    """

    name = "best single"

    def predict(self, queries: Queries) -> Floats:
        """The mean scores, for each query."""
        return np.tile(self.overall, (len(queries), 1))


class ThompsonSampling:
    """A bandit: draws a success rate of each model from Beta(1 + successes, 1 + failures) and takes the highest draw.

    Its evidence is kept by task; what is met of tasks that were never met is one more. A reward between 0 and 1 counts as that
    part of a success. Source: Thompson, Biometrika (1933); Chapelle and Li, An empirical evaluation of Thompson sampling,
    NIPS 2011.
    """

    name = "Thompson sampling"

    def __init__(self, *, seed: int = 0) -> None:
        self.seed = seed

    def fit(self, training: Training) -> Self:
        """Start anew and `play` the training queries in their order."""
        self.row_of = {task: row for row, task in enumerate(sorted(set(training.queries.tasks)))}
        shape = len(self.row_of) + 1, training.scores.shape[1]
        self.counts, self.sums = np.zeros(shape), np.zeros(shape)
        self.random = np.random.default_rng(self.seed)
        self.play(training)
        return self

    def play(self, met: Training) -> Ints:
        """Meet queries one by one, learning from each the score of the model that was chosen; returns the choices."""
        choices = np.empty(len(met.queries), dtype=np.int64)
        for number, row in enumerate(self._rows(met.queries)):
            model = choices[number] = self._pick(row)
            self.counts[row, model] += 1.0
            self.sums[row, model] += met.scores[number, model]
        return choices

    def choose(self, queries: Queries) -> Ints:
        """A model for each query, from what is known now."""
        return np.array([self._pick(row) for row in self._rows(queries)], dtype=np.int64)

    def _pick(self, row: int) -> int:
        successes = self.sums[row]
        return int(self.random.beta(1.0 + successes, 1.0 + np.maximum(self.counts[row] - successes, 0.0)).argmax())

    def _rows(self, queries: Queries) -> list[int]:
        return [self.row_of.get(task, len(self.row_of)) for task in queries.tasks]


RoutingPolicy = Heuristic | TaskMatrix | ThompsonSampling
