"""Ways to choose a model that routing is compared with.

They have the same verbs, `fit(training)`, then `choose_model(queries)`, and learn from the
training alone.
"""

from collections.abc import Sequence
from typing import Protocol, Self

import numpy as np

from theorex_lab.eval.datasets.routing_sets import (
    Floats,
    Ints,
    Queries,
    TrainingScores,
)
from theorex_lab.memory.evidence import Option, cheapest_not_worse, not_worse
from theorex_lab.routing.heuristic import classify
from theorex_lab.routing.noninferiority import (
    PooledDifferences,
    RouteRule,
    choose_model,
    pooled,
    scored_scope,
)
from theorex_lab.routing.recall import (
    NOTHING_RECALLED,
    Nearest,
    Recall,
)

NEIGHBOURS = 50
# The score from which an answer counts as a success, as an outcome of that score would.
SUCCESS_FROM = 0.5
# How the router chose before: of similar calls and of runs of the matrix.
_FORMER_CALLS = 150
_FORMER_PRIOR_RUNS = 0.5
_FORMER_LEAST_WEIGHT = 1.0


class RoutingPolicy(Protocol):
    """A way to choose a model for each query."""

    name: str

    def fit(self, training: TrainingScores) -> Self:
        """Learn from the training; return the policy."""
        ...

    def choose(self, queries: Queries) -> Ints:
        """Return the number of a model for each query."""
        ...


class TaskMatrix:
    """Mean scores by (task, model); an unknown task gets the models' overall means.

    Of equal models the first is chosen.

    >>> training = TrainingScores(
    ...     Queries(["a", "b"], ["x", "y"]), np.array([[0.0, 1.0], [0.5, 0.0]])
    ... )
    >>> TaskMatrix().fit(training).choose(Queries(["c", "d"], ["x", "y"]))
    array([1, 0])
    """

    name = "task matrix"

    def fit(self, training: TrainingScores) -> Self:
        """Take the means by task; return the policy."""
        tasks = np.asarray(
            training.queries.tasks,
            dtype=object,
        )
        self.means = {
            task: training.scores[tasks == task].mean(axis=0)
            for task in set(training.queries.tasks)
        }
        self.overall = training.scores.mean(axis=0)
        return self

    def predict(self, queries: Queries) -> Floats:
        """Return the expected score of each model, shape (queries, models).

        It is the mean of each query's task.
        """
        means = [self.means.get(task, self.overall) for task in queries.tasks]
        return np.array(means, np.float64).reshape(len(queries), len(self.overall))

    def choose(self, queries: Queries) -> Ints:
        """Return the model of the highest expected score for each query."""
        return np.asarray(self.predict(queries).argmax(axis=1), dtype=np.int64)


class BestSingle(TaskMatrix):
    """The model of the highest mean score, for every query.

    >>> training = TrainingScores(
    ...     Queries(["a", "b"], ["x", "x"]), np.array([[0.0, 1.0], [0.5, 0.5]])
    ... )
    >>> BestSingle().fit(training).choose(Queries(["c"], ["y"]))
    array([1])
    """

    name = "best single"

    def predict(self, queries: Queries) -> Floats:
        """Return the mean scores, for each query."""
        return np.tile(self.overall, (len(queries), 1))


class CheapestModel:
    """The cheapest model, for every query; of equal ones the first.

    >>> CheapestModel(np.array([2.0, 1.0])).choose(Queries(["c"], ["y"]))
    array([1])
    """

    name = "cheapest"

    def __init__(self, costs: Floats) -> None:
        self.costs = costs

    def fit(self, _training: TrainingScores) -> Self:
        """Return the policy: there is nothing to learn."""
        return self

    def choose(self, queries: Queries) -> Ints:
        """Return the cheapest model for each query."""
        return np.full(len(queries), self.costs.argmin(), np.int64)


class TaskRule:
    """The rule of `routing.noninferiority` on the tasks that the set names.

    It is what the router would do that knew the task of a query.
    """

    name = "task matrix, not worse"

    def __init__(self, costs: Floats, rule: RouteRule | None = None) -> None:
        self.costs: list[tuple[float, ...]] = [(cost,) for cost in costs.tolist()]
        self.rule = rule or RouteRule()

    def fit(self, training: TrainingScores) -> Self:
        """Compare the models on each task; return the policy."""
        tasks = np.asarray(
            training.queries.tasks,
            dtype=object,
        )
        scopes = {}
        for task in sorted(set(training.queries.tasks)):
            scopes[task] = scored_scope(training.scores[tasks == task])
        self.known = pooled(scopes)
        return self

    def choose(self, queries: Queries) -> Ints:
        """Return the model that the rule chooses for the task of each query."""
        return _by_task(
            queries.tasks,
            self.known,
            self.costs,
            self.rule,
        )


def _by_task(
    tasks: Sequence[str],
    known: PooledDifferences,
    costs: Sequence[tuple[float, ...]],
    rule: RouteRule,
) -> Ints:
    """Return the model for each task."""
    best = known.best(costs)
    chosen = {}
    for task in set(tasks):
        chosen[task] = choose_model(known.on(task), costs, rule, known=best).chosen
    return np.array([chosen[task] for task in tasks], np.int64)


class NearestNeighbours:
    """The model that did best on the training queries that are most alike.

    Queries are as alike as their words, each by its rarity (see `routing.recall`).
    Where no query is alike, or models are equal, the best single model is chosen.
    """

    name = "nearest neighbours"

    def __init__(self, recall: Recall) -> None:
        self.recall = recall

    def fit(self, training: TrainingScores) -> Self:
        """Take the scores of the training, a row a call; return the policy."""
        self.scores = training.scores
        return self

    def choose(self, queries: Queries) -> Ints:
        """Return the model of the highest mean score for each query."""
        overall = self.scores.mean(axis=0)
        chosen = np.zeros(len(queries), np.int64)
        for row, text in enumerate(queries.texts):
            nearest = self.recall.nearest(text, NEIGHBOURS)
            weights = nearest.weights
            sums = weights @ self.scores[nearest.calls]
            # Their own means decide; the overall ones count as a thousandth of a query.
            chosen[row] = (sums + 0.001 * overall).argmax()
        return chosen


class FormerRule:
    """How the router chose before: the cheapest that is not distinguishably worse.

    A model was held for as good as the best unless its success was lower at a chance of
    error below 0.3. What is not shown was so taken for equal.
    """

    name = "route, as it shipped before"

    def __init__(self, recall: Recall, models: Sequence[str], costs: Floats) -> None:
        self.models = models
        self.costs = costs
        self.recall = recall

    def fit(self, training: TrainingScores) -> Self:
        """Count the successes on each type of query; return the policy."""
        successes = training.scores >= SUCCESS_FROM
        types = np.array([classify(text).query_type for text in training.queries.texts])
        self.options = {}
        for query_type in set(types.tolist()):
            of_type = successes[types == query_type]
            runs = np.full(len(self.models), float(len(of_type)))
            n_successes = of_type.sum(axis=0)
            self.options[query_type] = self._options(
                runs,
                n_successes,
            )
        return self

    def choose(self, queries: Queries) -> Ints:
        """Return the model for each query."""
        return np.array([self._model_of(text) for text in queries.texts], np.int64)

    def _model_of(self, text: str) -> int:
        """Return the model for a query."""
        query_type = classify(text).query_type
        of_type = self.options.get(query_type, [])
        nearest = self.recall.nearest(text, _FORMER_CALLS)
        similar = self._similar(
            nearest,
            of_type,
        )
        if not similar:
            return cheapest_not_worse(of_type) if of_type else 0
        left = not_worse(similar)
        if of_type:
            best = left[0]
            near = {best, *not_worse(of_type)}
            left = [index for index in left if index in near]
        return min(left, key=self.costs.__getitem__)

    def _similar(self, nearest: Nearest, of_type: list[Option]) -> list[Option]:
        """Return how the models did on similar queries, drawn to those of the type."""
        runs = self.recall.runs_of(nearest)
        of_models = [runs.get(model, NOTHING_RECALLED) for model in self.models]
        weights = np.array([each.weight for each in of_models])
        successes = np.array([each.successes for each in of_models])
        if (weights < _FORMER_LEAST_WEIGHT).all():
            return []
        rates = np.full(len(self.models), 0.5)
        if of_type:
            rates = np.array([option.successes / option.n for option in of_type])
        prior_successes = _FORMER_PRIOR_RUNS * rates
        return self._options(
            weights + _FORMER_PRIOR_RUNS,
            successes + prior_successes,
        )

    def _options(self, runs: Floats, successes: Floats) -> list[Option]:
        """Return the models as options of the former comparison."""
        options = []
        columns = (runs, successes, self.costs)
        numbers = (column.tolist() for column in columns)
        rows = zip(self.models, *numbers, strict=True)
        for name, n, n_successes, cost in rows:
            options.append(Option(name, n, n_successes, cost))
        return options
