"""How well routing does on public sets: scores beside trivial baselines, regret of bandits, quality against cost.

`route` itself is scored, with the settings that ship, after the training was recorded in a home. Everything that is
learned comes from the training queries. Where a test query is also among
those, as in llmrouter, figures are given twice: with the training as published, and without the repeated queries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.data.routing_sets import RoutingSet, load_routing_set
from theorex_lab.experiments.scores.advice import BestSingle, Heuristic, RoutingPolicy, TaskMatrix, Training
from theorex_lab.experiments.scores.bandits import UCB1, Bandit, ThompsonSampling, rewards_over_orders
from theorex_lab.experiments.scores.routing_scores import (
    CostQuality,
    Floats,
    Ints,
    achieved,
    area_gains,
    cost_quality_curve,
    cumulative_regret,
)
from theorex_lab.experiments.scores.shipped import calls_of, shipped_choices
from theorex_lab.journal.event import Event
from theorex_lab.memory.intervals import bootstrap_means
from theorex_lab.routing.heuristic import advise, classify, estimated_tokens

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Chooser = Callable[[str], str]
OURS = "route, as it ships"
COMPARED_WITH = "task matrix"
ORDERS = 20
CURVE_POINTS = 200


@dataclass(frozen=True)
class PolicyScore:
    """A policy on the test queries: mean score with its 95 % interval, regret to the best model of each query, mean
    cost, and its gain over the task matrix, paired by query, with the gain's 95 % interval."""

    policy: str
    score: float
    low: float
    high: float
    regret: float
    cost: float
    gain: float
    gain_low: float
    gain_high: float


@dataclass(frozen=True)
class RoutingScore:
    """What `score_routing` found.

    without_repeats  scores where training queries that are also test queries were left out of the training, oracle and
                     uniform among them; how many they are is `n_repeated`
    policies         the same with the training as published, where recalling those queries is a gain
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

    def result(self) -> dict[str, Any]:
        """For JSON: dataset, n, metrics, baselines and policies on the split as published, where `n_repeated` test queries
        are training queries too; the same without those; figures of others and how it was done."""
        named = {each.policy: each for each in self.policies}
        baselines = {"best single": "best_single", COMPARED_WITH: "task_matrix"} | {
            name: name for name in ("uniform", "oracle", "heuristic")
        }
        return {
            "dataset": self.dataset,
            "n": self.n,
            "n_train": self.n_train,
            "n_repeated": self.n_repeated,
            "metrics": asdict(named[OURS]),
            "metrics_without_repeats": asdict(next(each for each in self.without_repeats if each.policy == OURS)),
            "baselines": {key: named[policy].score for policy, key in baselines.items()},
            "published": self.published,
            "policies": [asdict(each) for each in self.policies],
            "policies_without_repeats": [asdict(each) for each in self.without_repeats],
            "cost_unit": self.cost_unit,
        }


def score_routing(
    dataset: str | RoutingSet = "llmrouter", *, policies: Mapping[str, Chooser] | None = None, seed: int = 0
) -> RoutingScore:
    """Ask the router that ships where each test query goes, and score it beside policies fitted on the same training.

    `dataset` is a name of ROUTING_SETS, or a set; what is raised is as in `load_routing_set`. `policies`: those of one's
    own by name, each a function that takes the text of a query and returns the name of a model of the set, else
    InvalidInput is raised. `seed` draws bandits, the order in which they meet the training, and the bootstrap.
    """
    found = load_routing_set(dataset, seed=seed) if isinstance(dataset, str) else dataset
    calls, kept = calls_of(found.train, found.models), np.setdiff1d(np.arange(len(found.train.scores)), found.repeated)
    own = {name: _choices_of(name, choose, found) for name, choose in (policies or {}).items()}
    scored = _scored(found, found.train, calls, own, seed)
    if len(kept) < len(calls):
        without = _scored(found, found.train_without_repeats, [calls[row] for row in kept], own, seed)
    return RoutingScore(
        dataset=found.name,
        n=len(found.test.scores),
        n_train=len(found.train.scores),
        n_repeated=len(found.repeated),
        models=found.models,
        cost_unit=found.cost_unit,
        policies=scored,
        without_repeats=without if len(kept) < len(calls) else scored,
        published=dict(found.published),
    )


def _choices_of(name: str, choose: Chooser, found: RoutingSet) -> Ints:
    """The model (a column of the scores) that a policy of one's own chooses for each test query."""
    chosen = [choose(text) for text in found.test.queries.texts]
    unknown = [each for each in chosen if each not in found.models]
    if unknown:
        raise InvalidInput(f"got {unknown[0]!r:.100} from the policy {name!r}; allowed are {', '.join(found.models)}")
    return np.array([found.models.index(each) for each in chosen], np.int64)


def _scored(
    found: RoutingSet, training: Training, calls: Sequence[tuple[Event, Event]], own: Mapping[str, Ints], seed: int
) -> tuple[PolicyScore, ...]:
    """The scores of the policies after this training, of the router after these calls of it, and of `own` choices."""
    # In random order, since bandits learn from the first queries what they do on the next.
    training = training.take(np.random.default_rng(seed).permutation(len(training.scores)))
    policies: list[RoutingPolicy] = [
        Heuristic(found.sizes, _tier_of).fit(training),
        BestSingle().fit(training),
        TaskMatrix().fit(training),
        *(bandit.fit(training) for bandit in bandits(seed)),
    ]
    scores = found.test.scores
    best = np.lexsort((np.broadcast_to(found.costs, scores.shape), -scores), axis=1)[:, 0]
    values = {
        "oracle": (scores.max(axis=1), float(found.costs[best].mean())),
        "uniform": (scores.mean(axis=1), float(found.costs.mean())),
    }
    recorded = [event for call in calls for event in call]
    chosen = {**own, OURS: shipped_choices(recorded, found.test.queries, found.models, found.sizes)}
    for policy in policies:
        # A bandit goes on learning while it is scored: to explore is its way of choosing.
        asks = policy.play(found.test) if isinstance(policy, Bandit) else policy.choose(found.test.queries)
        chosen[policy.name] = asks
    values |= {name: (achieved(scores, each), float(found.costs[each].mean())) for name, each in chosen.items()}
    return _policy_scores(values, scores.max(axis=1), seed)


def _policy_scores(values: Mapping[str, tuple[Floats, float]], oracle: Floats, seed: int) -> tuple[PolicyScore, ...]:
    achieved_by = np.column_stack([each for each, _ in values.values()])
    gained = achieved_by - values[COMPARED_WITH][0][:, None]
    intervals = bootstrap_means(np.hstack([achieved_by, gained]), seed=seed)
    found = []
    for (name, (each, cost)), score, gain in zip(values.items(), intervals, intervals[len(values) :], strict=False):
        lost = float((oracle - each).mean())
        found.append(PolicyScore(name, score.mean, score.low, score.high, lost, cost, gain.mean, gain.low, gain.high))
    return tuple(found)


def _tier_of(text: str) -> str:
    return advise(classify(text).query_type, query_tokens=estimated_tokens(text)).tier


def bandits(seed: int = 0) -> list[Bandit]:
    """The bandits that are compared: each with a context a task, and with one for all tasks."""
    return [kind(per_task=per_task, seed=seed) for kind in (ThompsonSampling, UCB1) for per_task in (True, False)]


@dataclass(frozen=True, eq=False)
class RegretCurves:
    """What bandits lost over random orders of the same queries; `table` has the columns of `frame`."""

    dataset: str
    orders: int
    table: dict[str, list[Any]]

    @property
    def frame(self) -> pd.DataFrame:
        """Columns policy, queries (met so far), reference (`best single` or `best of each task`, known from the start),
        regret (mean over the orders, in points of score), low and high (of the middle 95 % of the orders)."""
        import pandas as pd

        return pd.DataFrame(self.table)

    @property
    def last(self) -> pd.DataFrame:
        """The rows of `frame` after the last query."""
        return self.frame.groupby(["policy", "reference"], sort=False, as_index=False).last()

    def plot(self, ax: Axes | None = None) -> Axes:
        """Regret to the best single model over queries, with the middle 95 % of the orders as a band."""
        from theorex_lab.experiments.draw import axes

        ax = axes.new_axes(ax)
        shown = self.frame[self.frame.reference == "best single"]
        for number, (name, rows) in enumerate(shown.groupby("policy", sort=False)):
            colour = axes.colour_of(number)
            ax.plot(rows.queries, rows.regret, color=colour, label=str(name))
            ax.fill_between(rows.queries, rows.low, rows.high, color=colour, alpha=0.15, linewidth=0)
        ax.axhline(0.0, color="#555555", linewidth=0.8, linestyle=":")
        ax.set(xlabel="Queries met", ylabel="Points of score lost to the best single model")
        ax.set_title(f"What learning costs on {self.dataset}: {self.orders} orders (below 0: ahead)")
        ax.legend(frameon=False)
        return ax

    def __repr__(self) -> str:
        shown = "; ".join(f"{row.policy} to {row.reference} {row.regret:.0f}" for row in self.last.itertuples())
        return f"RegretCurves({self.dataset}, {self.orders} orders: {shown})"

    def _repr_html_(self) -> str:
        return self.last.to_html(index=False, float_format="{:.1f}".format)


def regret_curves(
    dataset: str | RoutingSet = "llmrouter", *, orders: int = ORDERS, seed: int = 0, limit: int | None = None
) -> RegretCurves:
    """Cumulative regret of the bandits over random orders of a set's training queries (or `limit` of them).

    The references know beforehand which model, or which model of each task, is best on these very queries. Raises
    InvalidInput for fewer than one order, and as `load_routing_set` does.
    """
    if orders < 1 or (limit is not None and limit < 1):
        raise InvalidInput(f"got {orders!r} orders and the limit {limit!r}; allowed is one or more of each")
    found = load_routing_set(dataset, seed=seed) if isinstance(dataset, str) else dataset
    generator = np.random.default_rng(seed)
    rows = generator.permutation(len(found.train.scores))[:limit]
    scores = found.train.scores[rows]
    contexts = np.unique([found.train.queries.tasks[row] for row in rows], return_inverse=True)[1]
    means = np.array([scores[contexts == task].mean(axis=0) for task in range(contexts.max() + 1)])
    references = {
        "best single": scores[:, scores.mean(axis=0).argmax()],
        "best of each task": achieved(scores, means.argmax(axis=1)[contexts]),
    }
    shuffled = generator.permuted(np.tile(np.arange(len(scores)), (orders, 1)), axis=1)
    points = np.unique(np.linspace(0, len(scores) - 1, CURVE_POINTS).round().astype(np.int64))
    table: dict[str, list[Any]] = {name: [] for name in ("policy", "queries", "reference", "regret", "low", "high")}
    for bandit in bandits(seed):
        rewards = rewards_over_orders(bandit, scores, contexts, shuffled)
        for reference, values in references.items():
            lost = cumulative_regret(rewards, values[shuffled])[:, points]
            low, high = np.quantile(lost, [0.025, 0.975], axis=0)
            columns = ([bandit.name] * len(points), points + 1, [reference] * len(points), lost.mean(axis=0), low, high)
            for name, column in zip(table, columns, strict=True):
                table[name].extend(column)
    return RegretCurves(found.name, orders, table)


@dataclass(frozen=True)
class CostQualityScore:
    """Quality against the share sent to the strong model.

    curves  name → curve, `random` and `oracle` among them
    gains   name → (mean, low, high): the area above that of random routing, with its 95 % bootstrap interval
    """

    dataset: str
    n: int
    curves: dict[str, CostQuality]
    gains: dict[str, tuple[float, float, float]]

    @property
    def frame(self) -> pd.DataFrame:
        """A row a policy: columns policy, area, quality_at_half, weak, strong, area_gain, low, high (of that gain)."""
        import pandas as pd

        rows = [
            (name, curve.area, curve.at(0.5), curve.quality[0], curve.quality[-1], *self.gains[name])
            for name, curve in self.curves.items()
        ]
        columns = ["policy", "area", "quality_at_half", "weak", "strong", "area_gain", "low", "high"]
        return pd.DataFrame(rows, columns=columns)

    def plot(self, ax: Axes | None = None) -> Axes:
        """A curve a policy."""
        from theorex_lab.experiments.draw import axes

        ax = axes.new_axes(ax)
        for number, (name, curve) in enumerate(self.curves.items()):
            dashes = "--" if name in ("random", "oracle") else "-"
            ax.plot(curve.share, curve.quality, dashes, color=axes.colour_of(number), label=name)
        ax.set(xlabel="Share of queries sent to the strong model", ylabel="Mean score (0 to 1)")
        ax.set_title(f"Quality against cost on {self.dataset} ({self.n:,} test queries)")
        ax.legend(frameon=False, loc="lower right")
        return ax

    def __repr__(self) -> str:
        shown = "; ".join(f"{row.policy} {row.area:.4f}" for row in self.frame.itertuples())
        return f"CostQualityScore({self.dataset}, {self.n} queries, area: {shown})"

    def _repr_html_(self) -> str:
        return self.frame.to_html(index=False, float_format="{:.4f}".format)


def cost_quality(dataset: str | RoutingSet = "routellm_mmlu", *, seed: int = 0) -> CostQualityScore:
    """The cost–quality curves of a set of two models, the second the strong one, beside random routing and the oracle.

    Policies send first the queries for which they expect most of the strong model; training queries that are also in the
    test are left out. Raises InvalidInput for a set of
    another number of models, and as `load_routing_set` does.
    """
    found = load_routing_set(dataset, seed=seed) if isinstance(dataset, str) else dataset
    if len(found.models) != 2:
        raise InvalidInput(f"got {found.name} with {len(found.models)} models; allowed are two, such as routellm_mmlu")
    weak, strong = found.test.scores.T
    advantages = {"random": np.zeros(len(weak)), "oracle": strong - weak}
    expected = TaskMatrix().fit(found.train_without_repeats).predict(found.test.queries)
    advantages[COMPARED_WITH] = expected[:, 1] - expected[:, 0]
    above = np.column_stack([area_gains(weak, strong, each) for each in advantages.values()])
    gains = dict(zip(advantages, bootstrap_means(above, seed=seed), strict=True))
    return CostQualityScore(
        dataset=found.name,
        n=len(weak),
        curves={name: cost_quality_curve(weak, strong, each) for name, each in advantages.items()},
        gains={name: (gain.mean, gain.low, gain.high) for name, gain in gains.items()},
    )
