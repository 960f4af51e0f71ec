"""Score how well routing does on public sets.

It is compared with trivial baselines, with policies fitted on the same training, and
with the router as it was before. `route` itself is scored, with the settings that ship,
after the training was recorded in a home. Everything that is learned comes from the
training queries, and those that are also test queries are left out of it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple
from html import escape
from itertools import chain
from typing import Any, NamedTuple

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
from theorex_lab.eval.metrics.routing_policies import (
    SUCCESS_FROM,
    BestSingle,
    CheapestModel,
    FormerRule,
    NearestNeighbours,
    RoutingPolicy,
    TaskMatrix,
    TaskRule,
)
from theorex_lab.journal.event import Event
from theorex_lab.memory.intervals import bootstrap_means, bootstrap_ratio
from theorex_lab.memory.rows import table_html, table_text
from theorex_lab.routing.energy import Power
from theorex_lab.routing.heuristic import classify
from theorex_lab.routing.noninferiority import RouteRule, with_knobs
from theorex_lab.routing.recall import Recall
from theorex_lab.routing.router import routes_in
from theorex_lab.store.lab import Lab

Chooser = Callable[[str], str]
Paid = tuple[Floats, Floats]  # of each query what an answer scored, and what it cost
OURS = "route, as it ships"
MAINS = Power(None, False)
# The sets that `theorex eval routing --dataset all` scores.
ALL_SETS = (
    "llmrouter",
    "routellm_mmlu",
    "routellm_gsm8k",
    "simulated_calls",
    "local_runs",
)
_AT = 0
_TIERS: tuple[ModelTier, ...] = ("small", "medium", "large")


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

    Attributes:
        dataset: The name of the set.
        n: The number of test queries.
        n_train: The number of training queries that were learned from.
        n_repeated: The number of test queries that stood in the training.
        n_left_out: The number of queries that were left out of it for that.
        models: The names of the models.
        cost_unit: The unit of the costs.
        policies: A row a policy.
        published: Figures that others had on the same set; most of them learned from
            the repeated queries too.
        repeat_note: How many test queries stood in the training, in a sentence.
        notes: What was left out, a sentence each.
    """

    dataset: str
    n: int
    n_train: int
    n_repeated: int
    n_left_out: int
    models: tuple[str, ...]
    cost_unit: str
    policies: tuple[PolicyScore, ...]
    published: dict[str, float]
    repeat_note: str
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        scores = {row.policy: row.score for row in self.policies}
        best = f"{scores['best single']:.3f} for the best single model"
        return f"RoutingScore({self.dataset}, {self.n} queries: {scores[OURS]:.3f}, {best})"

    def __str__(self) -> str:
        return f"{self!r}\n{self.repeat_note}\n{table_text(self.frame)}"

    def _repr_html_(self) -> str:
        heading = f"<p>{escape(repr(self))}; {escape(self.repeat_note)}</p>"
        return heading + table_html(self.frame)

    @property
    def frame(self) -> pd.DataFrame:
        """Return a row a policy."""
        return pd.DataFrame(self.policies)

    def result(self) -> dict[str, Any]:
        """Return the figures as values for JSON.

        They are dataset, n, what was left out of the training, metrics, baselines and
        policies, and figures of others.
        """
        by_policy = {each.policy: each._asdict() for each in self.policies}
        fields = ("dataset", "n", "n_train", "n_repeated", "n_left_out", "published")
        values = {key: getattr(self, key) for key in (*fields, "cost_unit")}
        baselines = {}
        for name, row in by_policy.items():
            if name != OURS:
                baselines[name.replace(" ", "_")] = row["score"]
        return values | {
            "notes": [*self.notes],
            "metrics": by_policy[OURS],
            "baselines": baselines,
            "policies": [*by_policy.values()],
        }


def score_routing(
    dataset: str | RoutingSet = "llmrouter",
    *,
    policies: Mapping[str, Chooser] | None = None,
    rule: RouteRule | None = None,
    seed: int = 0,
) -> RoutingScore:
    """Ask the router that ships where each test query goes, and score it.

    It is compared with policies fitted on the same training, from which the queries
    that are also test queries are left out.

    Args:
        dataset: A name of ROUTING_SETS, or a set.
        policies: Those of one's own by name, each a function that takes the text of a
            query and returns the name of a model of the set.
        rule: When a cheaper model is taken; None for the default.
        seed: Splits sets that are not split, and draws the bootstrap.

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
    choices: dict[str, Ints] = {}
    for name, chooser in (policies or {}).items():
        choices[name] = _choices_of(name, chooser, routing_set)
    choices |= policy_choices(routing_set, rule or RouteRule())
    values = bounds_of(routing_set) | taken(routing_set, choices)
    return RoutingScore(
        dataset=routing_set.name,
        n=len(routing_set.test.scores),
        n_train=len(routing_set.train_without_repeats.scores),
        n_repeated=len(routing_set.repeats.test_rows),
        n_left_out=len(routing_set.repeated),
        models=routing_set.models,
        cost_unit=routing_set.cost_unit,
        policies=policy_scores(values, routing_set.test.scores.max(axis=1), seed),
        published=dict(routing_set.published),
        repeat_note=routing_set.repeat_note,
        notes=(*routing_set.notes, routing_set.repeat_note),
    )


def policy_choices(dataset: RoutingSet, rule: RouteRule) -> dict[str, Ints]:
    """Return the model that each policy chooses for each test query.

    The router that ships is the first of them.

    Args:
        dataset: The set; all learn from its training without repeated queries.
        rule: When a cheaper model is taken.
    """
    training = dataset.train_without_repeats
    calls = calls_of(training, dataset.models, dataset.costs)
    recorded = list(chain.from_iterable(calls))
    recall = Recall()
    recall.apply(recorded)
    fitted: list[RoutingPolicy] = [
        FormerRule(recall, dataset.models, dataset.costs),
        NearestNeighbours(recall),
        TaskRule(dataset.costs, rule),
        TaskMatrix(),
        BestSingle(),
        CheapestModel(dataset.costs),
    ]
    queries = dataset.test.queries
    choices = {
        OURS: shipped_choices(
            recorded, queries, dataset.models, dataset.sizes, rule=rule
        )
    }
    for policy in fitted:
        choices[policy.name] = policy.fit(training).choose(queries)
    return choices


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
    calls: list[Event],
    queries: Queries,
    models: Sequence[str],
    sizes: Floats,
    *,
    rule: RouteRule | None = None,
) -> Ints:
    """Return the model that `route` picks for each query, shape (queries,).

    It picks in a home of its own that recorded these calls. Every setting is the
    default's but the models, whose tiers are the thirds of `sizes`, and the rule.

    Args:
        calls: The events of the calls.
        queries: The queries.
        models: The names of the models.
        sizes: Their sizes, shape (models,).
        rule: When a cheaper model is taken; None for the default.
    """
    with Lab.temporary(models=models_of(models, sizes)) as lab:
        lab.journal.append(calls)
        (choices,) = routed(lab, queries, models, [rule or RouteRule()])
    return choices


def routed(
    lab: Lab, queries: Queries, models: Sequence[str], rules: Sequence[RouteRule]
) -> list[Ints]:
    """Return the model that a lab picks for each query, shape (queries,), by rule."""
    number = {name: index for index, name in enumerate(models)}
    settings = []
    for rule in rules:
        changed = with_knobs(
            lab.settings, margin=rule.margin, willingness=rule.willingness
        )
        settings.append(changed)
    texts = list(dict.fromkeys(queries.texts))
    rows = []
    for decisions in routes_in(lab.home, texts, settings, power=MAINS):
        rows.append([number[each.model or models[0]] for each in decisions])
    row_of = {text: row for row, text in enumerate(texts)}
    of_queries = [rows[row_of[text]] for text in queries.texts]
    return list(np.array(of_queries, np.int64).reshape(-1, len(rules)).T)


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
