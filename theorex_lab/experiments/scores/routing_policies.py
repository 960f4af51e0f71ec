"""Policies that choose which model a query should go to, from how the models did on earlier queries.

All have the same verbs: `fit(training)`, then `choose(queries)`. They are what the router that ships is compared with.
Bandits see only how the model they chose did, and must try models to learn. Their evidence is kept by context, a whole
number from 0: a task, or one for all. Contexts do not touch one another, so that many runs go side by side as contexts
of their own.
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
AS_ONE = ", all tasks as one"  # behind the name of a bandit that does not tell tasks apart


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


class Bandit:
    """What all bandits share: counts and sums of rewards (0 to 1) by context and model.

    `choose` and `learn` take queries; `pick` and `update` take contexts, each at most once a call. Where `per_task` is
    off, all tasks are one context. `seed` draws what is drawn.
    """

    name = "bandit"

    def __init__(self, *, per_task: bool = True, seed: int = 0) -> None:
        self.per_task, self.seed = per_task, seed
        if not per_task:
            self.name += AS_ONE

    def start(self, contexts: int, models: int) -> Self:
        """Forget everything; contexts 0 to `contexts` − 1 are known from here on. Raises InvalidInput below 1."""
        if contexts < 1 or models < 1:
            raise InvalidInput(f"got {contexts} contexts and {models} models; allowed is one or more of each")
        self.counts, self.sums = np.zeros((contexts, models)), np.zeros((contexts, models))
        self.random = np.random.default_rng(self.seed)
        return self

    def pick(self, contexts: Ints) -> Ints:
        """A model for each of these contexts."""
        raise NotImplementedError

    def update(self, contexts: Ints, models: Ints, rewards: Floats | float) -> None:
        """What the models picked in these contexts were worth."""
        self.counts[contexts, models] += 1.0
        self.sums[contexts, models] += rewards

    def fit(self, training: Training) -> Self:
        """Start anew and `play` the training queries in their order."""
        tasks = sorted(set(training.queries.tasks)) if self.per_task else [""]
        self.context_of = {task: number for number, task in enumerate(tasks)}
        # The last context is for tasks that were never met.
        self.start(len(tasks) + 1, training.scores.shape[1])
        self.play(training)
        return self

    def play(self, met: Training) -> Ints:
        """Meet queries one by one, learning from each the score of the model that was chosen; returns the choices."""
        choices = np.empty(len(met.queries), dtype=np.int64)
        for number, context in enumerate(self._contexts(met.queries)[:, None]):
            choices[number] = self.pick(context)[0]
            self.update(context, choices[number : number + 1], met.scores[number, choices[number]])
        return choices

    def choose(self, queries: Queries) -> Ints:
        """A model for each query, from what is known now."""
        return self.pick(self._contexts(queries))

    def _contexts(self, queries: Queries) -> Ints:
        if not self.per_task:
            return np.zeros(len(queries), dtype=np.int64)
        unknown = len(self.context_of)
        return np.array([self.context_of.get(task, unknown) for task in queries.tasks], dtype=np.int64)


class ThompsonSampling(Bandit):
    """Draws a success rate of each model from Beta(1 + successes, 1 + failures) and takes the highest draw.

    A reward between 0 and 1 counts as that part of a success. Source: Thompson, Biometrika (1933); Chapelle and Li,
    An empirical evaluation of Thompson sampling, NIPS 2011.

    >>> bandit = ThompsonSampling(seed=1).start(contexts=1, models=2)
    >>> for _ in range(50): bandit.update(np.array([0]), np.array([1]), np.array([1.0]))
    >>> bandit.pick(np.array([0]))
    array([1])
    """

    name = "Thompson sampling"

    def pick(self, contexts: Ints) -> Ints:
        """The model of the highest draw in each context."""
        successes, counts = self.sums[contexts], self.counts[contexts]
        drawn = self.random.beta(1.0 + successes, 1.0 + np.maximum(counts - successes, 0.0))
        return np.asarray(drawn.argmax(axis=1), dtype=np.int64)


class UCB1(Bandit):
    """Takes the model of the highest mean + exploration · √(2 ln t / n), t and n counted in the context.

    Every model is tried once first, in order; nothing is drawn. Source: Auer, Cesa-Bianchi and Fischer, Finite-time
    analysis of the multiarmed bandit problem, Machine Learning 47 (2002), where `exploration` is 1.

    >>> UCB1().start(contexts=1, models=3).pick(np.array([0]))
    array([0])
    """

    name = "UCB1"

    def __init__(self, *, per_task: bool = True, exploration: float = 1.0, seed: int = 0) -> None:
        if not exploration >= 0:
            raise InvalidInput(f"got the exploration {exploration!r}; allowed is a number from 0")
        super().__init__(per_task=per_task, seed=seed)
        self.exploration = exploration

    def pick(self, contexts: Ints) -> Ints:
        """The model of the highest bound in each context; one never tried comes first."""
        counts = self.counts[contexts]
        tried = np.maximum(counts, 1.0)
        total = np.log(np.maximum(counts.sum(axis=1, keepdims=True), 1.0))
        bound = self.sums[contexts] / tried + self.exploration * np.sqrt(2.0 * total / tried)
        return np.asarray(np.where(counts > 0, bound, np.inf).argmax(axis=1), dtype=np.int64)


def rewards_over_orders(bandit: Bandit, scores: Floats, contexts: Ints, orders: Ints) -> Floats:
    """What a bandit earns on queries in several random orders, from nothing in each: (orders, queries).

    `scores` (queries, models); `contexts` (queries,) from 0, ignored where the bandit takes all tasks as one; `orders`
    (orders, queries) of rows of `scores`. All orders go side by side.
    """
    runs, n = orders.shape
    own = contexts if bandit.per_task else np.zeros_like(contexts)
    kinds = int(own.max()) + 1
    bandit.start(runs * kinds, scores.shape[1])
    offset, rewards = np.arange(runs) * kinds, np.empty((runs, n))
    for step in range(n):
        rows = orders[:, step]
        keys = offset + own[rows]
        models = bandit.pick(keys)
        rewards[:, step] = achieved(scores[rows], models)
        bandit.update(keys, models, rewards[:, step])
    return rewards


def bandits(seed: int = 0) -> list[Bandit]:
    """The bandits that are compared: each with a context a task, and with one for all tasks."""
    return [kind(per_task=per_task, seed=seed) for kind in (ThompsonSampling, UCB1) for per_task in (True, False)]


RoutingPolicy = Heuristic | TaskMatrix | Bandit
