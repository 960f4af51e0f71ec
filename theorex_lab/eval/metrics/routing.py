"""Score how well routing does on public sets.

It is compared with trivial baselines and with policies fitted on the same training.
`route` itself is scored, with the settings that ship, after the training was recorded in a
home. Everything that is learned comes from the training queries. Policies have the same
verbs, `fit(training)`, then `choose(queries)`. Where a test query is also among those,
as in llmrouter, figures are given twice: with the training as published, and without
the repeated queries.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple
from functools import cache
from html import escape
from itertools import chain
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.settings import ModelSettings, ModelTier
from theorex_lab.dispatch.bus import CallEnd, CallStart
from theorex_lab.dispatch.llm import Attempt
from theorex_lab.eval.datasets.routing_sets import (
    Floats,
    Ints,
    Queries,
    RoutingSet,
    TrainingScores,
    load_routing_set,
)
from theorex_lab.journal.event import Event
from theorex_lab.memory.intervals import bootstrap_means, bootstrap_ratio
from theorex_lab.memory.rows import table_html, table_text
from theorex_lab.routing.energy import Power
from theorex_lab.routing.heuristic import classify
from theorex_lab.store.lab import Lab

Chooser = Callable[[str], str]
Paid = tuple[Floats, Floats]  # of each query what an answer scored, and what it cost
OURS = "route, as it ships"
# the score from which an answer counts as a success, as an outcome of that score would
SUCCESS_FROM = 0.5
MAINS = Power(None, False)
_AT = 0
_TIERS: tuple[ModelTier, ...] = ("small", "medium", "large")


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
        tasks = np.asarray(training.queries.tasks, dtype=object)
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


COMPARED_WITH = TaskMatrix.name


class PolicyScore(NamedTuple):
    """A policy on the test queries.

    It has the mean score, the regret to the best model of each query, the mean cost,
    its gain over the task matrix, its score less that of the best single model
    (`difference`), and its cost by that of the best single model (None where that costs
    nothing). Comparisons are paired by query; `ci_low` and `ci_high` are bounds of 95 %
    intervals.
    """

    policy: str
    score: float
    ci_low: float
    ci_high: float
    regret: float
    cost: float
    gain: float
    gain_ci_low: float
    gain_ci_high: float
    difference: float = 0.0
    difference_ci_low: float = 0.0
    difference_ci_high: float = 0.0
    cost_ratio: float | None = None
    cost_ratio_ci_low: float | None = None
    cost_ratio_ci_high: float | None = None


class RoutingScore(NamedTuple):
    """What `score_routing` found.

    without_repeats  scores where training queries that are also test queries were left
    out of the training, oracle and
                     uniform among them; how many they are is `n_repeated`
    policies         the same with the training as published, where recalling those
    queries is a gain
    """

    dataset: str
    n: int
    n_train: int
    n_repeated: int
    models: tuple[str, ...]
    cost_unit: str
    policies: tuple[PolicyScore, ...]
    without_repeats: tuple[PolicyScore, ...]
    published: dict[str, float]

    def __repr__(self) -> str:
        scores = {row.policy: row.score for row in self.policies}
        best = f"{scores['best single']:.3f} for the best single model"
        return f"RoutingScore({self.dataset}, {self.n} queries: {scores[OURS]:.3f}, {best})"

    def __str__(self) -> str:
        return f"{self!r}\n{table_text(self.frame)}"

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{table_html(self.frame)}"

    @property
    def frame(self) -> pd.DataFrame:
        """Return a row a policy, on the split as published."""
        return pd.DataFrame(self.policies)

    def result(self) -> dict[str, Any]:
        """Return the figures as values for JSON.

        They are dataset, n, metrics, baselines and policies on the split as published,
        where `n_repeated` test queries are training queries too; the same without
        those; figures of others and how it was done.
        """
        parts = self.policies, self.without_repeats
        by_policy, by_policy_without_repeats = (
            {each.policy: each._asdict() for each in part} for part in parts
        )
        fields = ("dataset", "n", "n_train", "n_repeated", "published", "cost_unit")
        baselines = ("best single", COMPARED_WITH, "uniform", "oracle")
        return {key: getattr(self, key) for key in fields} | {
            "metrics": by_policy[OURS],
            "metrics_without_repeats": by_policy_without_repeats[OURS],
            "baselines": {
                policy.replace(" ", "_"): by_policy[policy]["score"]
                for policy in baselines
            },
            "policies": [*by_policy.values()],
            "policies_without_repeats": [*by_policy_without_repeats.values()],
        }


def score_routing(
    dataset: str | RoutingSet = "llmrouter",
    *,
    policies: Mapping[str, Chooser] | None = None,
    seed: int = 0,
) -> RoutingScore:
    """Ask the router that ships where each test query goes, and score it.

    It is compared with policies fitted on the same training.

    Args:
        dataset: A name of ROUTING_SETS, or a set.
        policies: Those of one's own by name, each a function that takes the text of a
            query and returns the name of a model of the set.
        seed: Draws the bootstrap.

    Returns:
        The scores (0 to 1) and mean costs of the router and the other policies, each
        with its 95 % interval.

    Raises:
        InvalidInput: The set is unknown, or a policy returns another name.
        StorageError: The set is nowhere and cannot be downloaded.
    """
    routing_set = (
        load_routing_set(dataset, seed=seed) if isinstance(dataset, str) else dataset
    )
    calls = calls_of(routing_set.train, routing_set.models, routing_set.costs)
    rows = np.setdiff1d(np.arange(len(calls)), routing_set.repeated)
    own_choices = {
        name: _choices_of(name, choose, routing_set)
        for name, choose in (policies or {}).items()
    }
    without = scored = _scored(routing_set, routing_set.train, calls, own_choices, seed)
    if len(rows) < len(calls):
        without = _scored(
            routing_set,
            routing_set.train_without_repeats,
            [calls[row] for row in rows],
            own_choices,
            seed,
        )
    sizes = (
        len(routing_set.test.scores),
        len(routing_set.train.scores),
        len(routing_set.repeated),
    )
    return RoutingScore(
        routing_set.name,
        *sizes,
        routing_set.models,
        routing_set.cost_unit,
        scored,
        without,
        dict(routing_set.published),
    )


def _choices_of(
    name: str,
    choose: Chooser,
    dataset: RoutingSet,
) -> Ints:
    """Return the model that a policy of one's own chooses for each test query.

    A model is a column of the scores.
    """
    names = [choose(text) for text in dataset.test.queries.texts]
    if unknown := [each for each in names if each not in dataset.models]:
        raise InvalidInput(
            f"got {unknown[0]!r:.100} from the policy {name!r}; allowed are"
            f" {', '.join(dataset.models)}"
        )
    return np.array([dataset.models.index(each) for each in names], np.int64)


def _scored(
    dataset: RoutingSet,
    training: TrainingScores,
    calls: Sequence[tuple[Event, Event]],
    own_choices: Mapping[str, Ints],
    seed: int,
) -> tuple[PolicyScore, ...]:
    """Return the scores after this training.

    They are those of the policies, of the router after these calls of it, and of `own`
    choices.
    """
    scores = dataset.test.scores
    recorded = [event for call in calls for event in call]
    choices = {
        **own_choices,
        OURS: shipped_choices(
            recorded, dataset.test.queries, dataset.models, dataset.sizes
        ),
    }
    choices |= {
        each.name: each.fit(training).choose(dataset.test.queries)
        for each in (BestSingle(), TaskMatrix())
    }
    return policy_scores(
        bounds_of(dataset) | taken(dataset, choices), scores.max(axis=1), seed
    )


def taken(dataset: RoutingSet, choices: Mapping[str, Ints]) -> dict[str, Paid]:
    """Return what policies get for the models that they chose for the test queries."""
    rows = np.arange(len(dataset.test.scores))
    return {
        name: (dataset.test.scores[rows, each], dataset.costs[each])
        for name, each in choices.items()
    }


def bounds_of(dataset: RoutingSet) -> dict[str, Paid]:
    """Return what nobody can know, and what chance brings.

    The first is the cheapest of the best models of each query; the other is a model
    drawn at random, expected.
    """
    scores = dataset.test.scores
    best = np.lexsort((np.broadcast_to(dataset.costs, scores.shape), -scores), axis=1)[
        :, 0
    ]
    uniform = scores.mean(axis=1), np.full(len(scores), dataset.costs.mean())
    return taken(dataset, {"oracle": best}) | {"uniform": uniform}


def policy_scores(
    values: Mapping[str, Paid], oracle: Floats, seed: int
) -> tuple[PolicyScore, ...]:
    """Return the rows of policies by what each query brought and cost.

    The task matrix and the best single model are among them.

    Args:
        values: What each policy brought and cost.
        oracle: The best score of each query, shape (queries,).
        seed: Draws the bootstrap.
    """
    single, paid = values[BestSingle.name]
    achieved = np.column_stack([scores for scores, _ in values.values()])
    compared = [
        achieved,
        achieved - values[COMPARED_WITH][0][:, None],
        achieved - single[:, None],
    ]
    intervals = bootstrap_means(np.hstack(compared), seed=seed)
    policies = []
    for index, (name, (scores, cost)) in enumerate(values.items()):
        score, *gains = map(astuple, intervals[index :: len(values)])
        ratio = (
            astuple(bootstrap_ratio(cost, paid, seed=seed))
            if paid.mean() > 0
            else (None, None, None)
        )
        row = *score, float((oracle - scores).mean()), float(cost.mean())
        policies.append(PolicyScore._make((name, *row, *chain(*gains), *ratio)))
    return tuple(policies)


def shipped_choices(
    calls: list[Event], queries: Queries, models: Sequence[str], sizes: Floats
) -> Ints:
    """Return the model that `route` picks for each query, shape (queries,).

    It picks in a home of its own that recorded these calls. Every setting is the
    default's but the models, whose tiers are the thirds of `sizes`.
    """
    with Lab.temporary(models=models_of(models, sizes)) as lab:
        lab.journal.append(calls)
        number = {name: index for index, name in enumerate([*models])}
        picked = cache(
            lambda text: number[lab.route(text, power=MAINS).model or models[0]]
        )
        return np.array([picked(text) for text in queries.texts], np.int64)


def models_of(names: Sequence[str], sizes: Floats) -> dict[str, ModelSettings]:
    """Return the models as settings.

    >>> [each.tier for each in models_of(["a", "b"], np.array([0.0, 1.0])).values()]
    ['small', 'large']
    """
    rank = np.argsort(np.argsort(sizes, kind="stable"))
    tier_indices = (
        np.rint(rank / max(len(rank) - 1, 1) * (len(_TIERS) - 1)).astype(int).tolist()
    )
    return {
        name: ModelSettings(tier=_TIERS[tier_index])
        for name, tier_index in zip(names, tier_indices, strict=True)
    }


def calls_of(
    training: TrainingScores, models: Sequence[str], costs: Floats
) -> list[tuple[Event, Event]]:
    """Return the start and the end of a call for each training query.

    They are as a file of traces imported with --trusted gives them. A call holds an
    attempt of every model, which succeeds from a score of SUCCESS_FROM and costs what
    `costs`, (models,), says.
    """
    good = (training.scores >= SUCCESS_FROM).tolist()
    calls = []
    for number, (text, successes) in enumerate(
        zip(training.queries.texts, good, strict=True)
    ):
        start = CallStart(
            f"training-{number}",
            "main",
            _AT,
            text,
            classify(text).query_type,
            models[0],
        )
        results = zip(models, successes, costs.tolist(), strict=True)
        attempts = tuple(
            Attempt(name, success, cost=cost) for name, success, cost in results
        )
        end = CallEnd(
            start.trace_id,
            _AT,
            any(successes),
            models[0],
            attempts=attempts,
        )
        calls.append((start.event(), end.event(start)))
    return calls
