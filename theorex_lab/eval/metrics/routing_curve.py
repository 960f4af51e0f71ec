"""What quality costs: routing under one margin after the other.

The knob is the margin of `routing.noninferiority`, or a willingness to pay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from theorex_lab.core.errors import InvalidInput
from theorex_lab.eval.datasets.routing_sets import Ints, RoutingSet, load_routing_set
from theorex_lab.eval.metrics.routing import (
    OURS,
    PolicyScore,
    bounds_of,
    calls_of,
    models_of,
    policy_scores,
    routed,
    taken,
)
from theorex_lab.eval.metrics.routing_policies import (
    BestSingle,
    CheapestModel,
    RoutingPolicy,
    TaskMatrix,
    TaskRule,
)
from theorex_lab.memory.rows import Rows
from theorex_lab.routing.noninferiority import RouteRule
from theorex_lab.store.lab import Lab

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARGINS = (0.0, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.4)
Knob = Literal["margin", "willingness"]


class CurvePoint(NamedTuple):
    """A policy at a setting of the knob.

    Attributes:
        policy: The policy.
        value: The setting of the knob.
        score: Its mean score, 0 to 1.
        ci_low: The lower end of the 95 % interval of it.
        ci_high: The upper end.
        cost: Its mean cost.
        cost_ratio: That by the cost of the best single model, None where it is free.
        difference: Its score less that of the best single model, paired by query.
        difference_ci_low: The lower end of the 95 % interval of it.
        difference_ci_high: The upper end.
    """

    policy: str
    value: float
    score: float
    ci_low: float
    ci_high: float
    cost: float
    cost_ratio: float | None
    difference: float
    difference_ci_low: float
    difference_ci_high: float


@dataclass(frozen=True, eq=False)
class RoutingCurve(Rows[CurvePoint]):
    """Quality and cost of routing at each setting of a knob.

    Attributes:
        dataset: The name of the set.
        n: The number of test queries.
        cost_unit: The unit of the costs.
        knob: What was turned: the margin, or the willingness.
        points: A row a policy and setting.
        baselines: A row for each policy without a knob.
        models: A row for each model that is asked every query.
        notes: What was left out of the training.
    """

    row_class = CurvePoint
    dataset: str
    n: int
    cost_unit: str
    knob: Knob
    points: tuple[CurvePoint, ...]
    baselines: tuple[PolicyScore, ...]
    models: tuple[PolicyScore, ...]
    notes: tuple[str, ...]

    def _records(self) -> tuple[CurvePoint, ...]:
        return self.points

    def __repr__(self) -> str:
        return f"RoutingCurve({self.dataset}, {len(self)} points, {self.n} queries)"

    def result(self) -> dict[str, Any]:
        """Return the figures as values for JSON."""
        return {
            "dataset": self.dataset,
            "n": self.n,
            "cost_unit": self.cost_unit,
            "knob": self.knob,
            "notes": [*self.notes],
            "points": self.to_dict(),
            "baselines": [row._asdict() for row in self.baselines],
        }

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the mean score at each mean cost, a line a policy."""
        from theorex_lab.eval.plots.routing import plot_curve

        return plot_curve(self, ax=ax)


def score_curve(
    dataset: str | RoutingSet = "llmrouter",
    *,
    margins: Sequence[float] = MARGINS,
    willingness: Sequence[float] = (),
    seed: int = 0,
) -> RoutingCurve:
    """Return what routing brings and costs at each setting of a knob.

    It is that of the router that ships, and of the same rule where the task of a query
    is known. All learn from the training without the queries that are in the test.

    Args:
        dataset: A name of ROUTING_SETS, or a set.
        margins: By how much a cheaper model may be worse, each 0 to 1.
        willingness: What a point of success is worth, in the set's unit of costs; where
            there are any, they are turned in place of the margins.
        seed: Splits sets that are not split, and draws the bootstrap.

    Raises:
        InvalidInput: The set is unknown, there is nothing to turn, or a value is
            outside its range.
        StorageError: The set is nowhere and cannot be downloaded.
    """
    routing_set = dataset
    if isinstance(routing_set, str):
        routing_set = load_routing_set(routing_set, seed=seed)
    rules = _rules(margins, willingness)
    turned = {}
    for (name, value), choices in _choices(routing_set, rules).items():
        turned[_PointName(name, value)] = choices
    baselines = _baselines(routing_set)
    alone = {}
    n = len(routing_set.test.scores)
    for number, name in enumerate(routing_set.models):
        alone[name] = np.full(n, number, np.int64)
    by_text = {str(name): choices for name, choices in turned.items()}
    values = taken(routing_set, {**baselines, **alone, **by_text})
    best_scores = routing_set.test.scores.max(axis=1)
    scored = policy_scores(bounds_of(routing_set) | values, best_scores, seed)
    rows = {row.policy: row for row in scored}
    return RoutingCurve(
        dataset=routing_set.name,
        n=n,
        cost_unit=routing_set.cost_unit,
        knob="willingness" if willingness else "margin",
        points=tuple(_point(name, rows[str(name)]) for name in turned),
        baselines=tuple(rows[name] for name in ("oracle", "uniform", *baselines)),
        models=tuple(rows[name] for name in alone),
        notes=(*routing_set.notes, routing_set.repeat_note),
    )


class _PointName(NamedTuple):
    """A policy and the setting of the knob."""

    policy: str
    value: float

    def __str__(self) -> str:
        return f"{self.policy} {self.value}"


def _rules(
    margins: Sequence[float], willingness: Sequence[float]
) -> dict[float, RouteRule]:
    """Return the rule of each setting of the knob.

    Raises:
        InvalidInput: There is none, or one is outside its range.
    """
    if willingness:
        return {value: RouteRule(willingness=value) for value in willingness}
    if not margins:
        raise InvalidInput("got no margin; allowed are one or more, each 0 to 1")
    return {value: RouteRule(value) for value in margins}


def _choices(
    dataset: RoutingSet, rules: dict[float, RouteRule]
) -> dict[tuple[str, float], Ints]:
    """Return the model for each test query, by policy and setting of the knob."""
    training = dataset.train_without_repeats
    calls = calls_of(training, dataset.models, dataset.costs)
    queries = dataset.test.queries
    choices = {}
    with Lab.temporary(models=models_of(dataset.models, dataset.sizes)) as lab:
        lab.journal.append(list(chain.from_iterable(calls)))
        by_rule = routed(lab, queries, dataset.models, list(rules.values()))
    for value, chosen in zip(rules, by_rule, strict=True):
        choices[OURS, value] = chosen
    for value, rule in rules.items():
        policy = TaskRule(dataset.costs, rule).fit(training)
        choices[policy.name, value] = policy.choose(queries)
    return choices


def _baselines(dataset: RoutingSet) -> dict[str, Ints]:
    """Return the model for each test query by policies without a knob."""
    policies: list[RoutingPolicy] = [
        BestSingle(),
        TaskMatrix(),
        CheapestModel(dataset.costs),
    ]
    choices = {}
    for policy in policies:
        fitted = policy.fit(dataset.train_without_repeats)
        choices[policy.name] = fitted.choose(dataset.test.queries)
    return choices


def _point(name: _PointName, row: PolicyScore) -> CurvePoint:
    """Return a point of the curve."""
    return CurvePoint(
        policy=name.policy,
        value=name.value,
        score=row.score,
        ci_low=row.ci_low,
        ci_high=row.ci_high,
        cost=row.cost,
        cost_ratio=row.cost_ratio,
        difference=row.difference,
        difference_ci_low=row.difference_ci_low,
        difference_ci_high=row.difference_ci_high,
    )
