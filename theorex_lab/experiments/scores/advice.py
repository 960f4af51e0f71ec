"""Policies that advise which model a query should go to, learned from how the models did on earlier queries.

All have the same verbs: `fit(training)`, then `predict(queries)` (the score expected of each model) and
`choose(queries)` (its highest). They are what the router that ships is compared with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.scores.routing_scores import Floats, Ints


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
            raise InvalidInput(
                f"got {len(self.texts)} texts and {len(self.tasks)} tasks; allowed is one of each a query"
            )

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
        if len(shape) != 2 or not shape[0] == len(self.queries) or not min(shape):
            raise InvalidInput(
                f"got scores {shape} of {len(self.queries)} queries; allowed is (queries, models), one or more of each"
            )
        if not (np.isfinite(self.scores).all() and self.scores.min() >= 0.0 and self.scores.max() <= 1.0):
            raise InvalidInput("got a score that is not a number from 0 to 1; scale scores into that range")

    def take(self, rows: Ints) -> Training:
        """The training queries of these rows, in their order."""
        return Training(self.queries.take(rows), self.scores[rows])


class RoutingPolicy(Protocol):
    """Anything that learns from training queries which model to choose."""

    name: str

    def fit(self, training: Training) -> Self:
        """Learn from training queries, forgetting what was learned before."""
        ...

    def choose(self, queries: Queries) -> Ints:
        """A model for each query, as column of the training scores: (queries,)."""
        ...


class Predictor:
    """A policy that expects a score of each model and chooses the highest; of equals the first model."""

    name = "predictor"

    def fit(self, training: Training) -> Self:
        """Learn from training queries, forgetting what was learned before."""
        raise NotImplementedError

    def predict(self, queries: Queries) -> Floats:
        """The expected score of each model: (queries, models)."""
        raise NotImplementedError

    def choose(self, queries: Queries) -> Ints:
        """The model of the highest expected score for each query."""
        return np.asarray(self.predict(queries).argmax(axis=1), dtype=np.int64)


class BestSingle(Predictor):
    """The model of the highest mean score, for every query.

    >>> training = Training(Queries(["a", "b"], ["x", "x"]), np.array([[0.0, 1.0], [0.5, 0.5]]))
    >>> BestSingle().fit(training).choose(Queries(["c"], ["y"]))
    array([1])
    """

    name = "best single"

    def fit(self, training: Training) -> Self:
        """Mean scores."""
        self.means = training.scores.mean(axis=0)
        return self

    def predict(self, queries: Queries) -> Floats:
        """The mean scores, for each query."""
        return np.tile(self.means, (len(queries), 1))


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


class TaskMatrix(Predictor):
    """Mean scores by (task, model); an unknown task gets the models' overall means.

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
        """The means of each query's task."""
        found = [self.means.get(task, self.overall) for task in queries.tasks]
        return np.array(found, np.float64).reshape(len(queries), len(self.overall))
