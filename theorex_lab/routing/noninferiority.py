"""Choose a cheaper model only where it is shown to be not worse than the best.

A model is shown to be not worse where the lower bound of its difference to the best
lies above minus a margin. Few runs give a wide interval and show nothing, so that the
best model stays. This is a test of non-inferiority (Schuirmann 1987,
doi:10.1007/BF01068419, one of his two one-sided tests).

The difference of two models on a kind of query is estimated in steps:

1. On queries that both answered, by pairs, with the adjusted interval of Bonett and
   Price (2012, doi:10.3102/1076998611411915); otherwise from the rates of both, with
   that of Agresti and Caffo (2000, doi:10.2307/2685779).
2. It is drawn to the mean difference on the other kinds of queries, by the variance
   between kinds (DerSimonian and Laird 1986, doi:10.1016/0197-2456(86)90046-2).
3. It is drawn to the differences of the other models, by the variance between models.
   Of many models one looks good by chance; this lessens that (Gelman, Hill and Yajima
   2012, doi:10.1080/19345747.2011.618213).

The confidence is that of one comparison. It does not hold for the whole choice where
several models lie at the margin itself: in simulations at a confidence of 80 %, one of
19 such models was chosen in 26 % of cases after 500 queries, and in 70 % after 2,000.

Steps 2 and 3 are the normal empirical Bayes estimate of Morris (1983,
doi:10.1080/01621459.1983.10477920).
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.light_dataclass import dataclass
from theorex_lab.core.settings import ROUTE_CONFIDENCE, ROUTE_MARGIN, Settings

Floats = NDArray[np.float64]
# What is assumed of the deviation between kinds of queries and between models before
# any was seen, and as how many kinds or models that counts.
KIND_DEVIATION = 0.1
MODEL_DEVIATION = 0.2
ASSUMED_WEIGHT = 2.0
# The deviation between queries like one query, and its kind. It was chosen on training
# queries of llmrouter, routellm and simulated_calls alone.
LIKE_DEVIATION = 0.4


@dataclass(frozen=True)
class RouteRule:
    """When a cheaper model is taken.

    Attributes:
        margin: By how much its success may be lower than that of the best, 0 to 1.
        confidence: How sure that must be, 0.5 to below 1; one-sided.
        willingness: What a point of success (0.01) is worth, in the unit of the costs
            of a run. A model may then be worse by as many points as what it saves is
            worth, in place of the margin. None: the margin counts.
        takes_cheaper: Whether a cheaper model is taken at all.

    Raises:
        InvalidInput: A number is outside its range.
    """

    margin: float = ROUTE_MARGIN
    confidence: float = ROUTE_CONFIDENCE
    willingness: float | None = None
    takes_cheaper: bool = True

    def __post_init__(self) -> None:
        if not 0 <= self.margin <= 1:
            raise InvalidInput(
                f"got a margin of {self.margin!r}; allowed is 0 to 1, such as 0.03"
            )
        if not 0.5 <= self.confidence < 1:
            raise InvalidInput(
                f"got a confidence of {self.confidence!r}; allowed is 0.5 to below 1"
            )
        willingness = self.willingness
        if willingness is not None and not 0 < willingness < math.inf:
            raise InvalidInput(
                f"got a willingness of {willingness!r}; allowed is a number above 0:"
                " what a point of success is worth, in the unit of the costs"
            )

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Return the rule of a home's settings."""
        return cls(
            margin=settings.route_margin,
            confidence=settings.route_confidence,
            willingness=settings.route_willingness,
            takes_cheaper=settings.route_prefers == "cheapest",
        )

    def allowed_loss(self, saving: float) -> float:
        """Return by how much a model may be worse that saves so much a run."""
        if self.willingness is None:
            return self.margin
        if not math.isfinite(saving):
            return 0.0
        points = saving / self.willingness
        return min(points / 100.0, 1.0)


def with_knobs(
    settings: Settings, *, margin: float | None, willingness: float | None
) -> Settings:
    """Return settings in which a margin or a willingness takes the place of theirs.

    Args:
        settings: The settings.
        margin: See `RouteRule`; None for the settings' own. It takes the place of a
            willingness, too.
        willingness: See `RouteRule`; None for the settings' own.

    Raises:
        InvalidInput: A number is outside its range.
    """
    changes: dict[str, float | None] = {}
    if margin is not None:
        changes["route_margin"] = margin
        changes["route_willingness"] = willingness
    if willingness is not None:
        changes["route_willingness"] = willingness
    if not changes:
        return settings
    changed = settings.replaced(**changes)
    RouteRule.of(changed)  # refuses what is outside its range
    return changed


class Scope(NamedTuple):
    """How models did on some queries: a kind of them, or those like one query.

    Attributes:
        n: The runs of each model, shape (models,).
        successes: Their sum of scores (0 to 1), likewise.
        pair_n: The queries that both answered, shape (models, models).
        pair_sum: The sum of the row's scores less the column's on these, likewise.
        pair_square: The sum of the squares of these differences, likewise.
    """

    n: Floats
    successes: Floats
    pair_n: Floats
    pair_sum: Floats
    pair_square: Floats


class Differences(NamedTuple):
    """By how much the model of a row does better than that of a column.

    Attributes:
        mean: Shape (models, models); 0.01 is a point of success.
        variance: The variance of its error, likewise.
    """

    mean: Floats
    variance: Floats


class PooledDifferences(NamedTuple):
    """How models differ on each kind of query, with what the other kinds say.

    Attributes:
        by_kind: The differences on each kind.
        new_kind: Those to expect on a kind that is new.
        quality: By how much each model does better than the mean of all on all kinds,
            shape (models,).
    """

    by_kind: dict[str, Differences]
    new_kind: Differences
    quality: Floats

    def on(self, kind: str) -> Differences:
        """Return the differences on a kind of query."""
        return self.by_kind.get(kind, self.new_kind)

    def best(self, costs: Sequence[tuple[float, ...]]) -> int:
        """Return the number of the model that does best on all kinds.

        Of equal ones it is the cheapest.
        """
        qualities = self.quality.round(9).tolist()
        return min(
            range(len(costs)), key=lambda index: (-qualities[index], costs[index])
        )


class Verdict(NamedTuple):
    """The model that a rule chooses, and what was shown of it.

    Attributes:
        chosen: The number of the model.
        best: The number of the best model, which it was compared with.
        difference: The success of the chosen less that of the best, 0 for the best.
        ci_low: The lower bound of that at the confidence of the rule.
        allowed_loss: By how much the chosen might have been worse.
        n_compared: How many cheaper models were compared with the best.
    """

    chosen: int
    best: int
    difference: float
    ci_low: float
    allowed_loss: float
    n_compared: int


def scored_scope(scores: Floats, weights: Floats | None = None) -> Scope:
    """Return how models did on queries.

    Args:
        scores: Shape (queries, models), 0 to 1; NaN where a model did not answer.
        weights: What each query weighs, shape (queries,), None for 1. They are scaled
            to the effective number of queries, (Σw)² / Σw² (Kish 1965).

    >>> scope = scored_scope(np.array([[1.0, 0.0], [1.0, 1.0], [0.0, np.nan]]))
    >>> scope.n.tolist(), float(scope.pair_n[0, 1]), float(scope.pair_sum[0, 1])
    ([3.0, 2.0], 2.0, 1.0)
    """
    is_answered = np.isfinite(scores)
    answered = is_answered.astype(np.float64)
    values = np.where(
        is_answered,
        scores,
        0.0,
    )
    scale = _scaled(weights, len(scores))
    weighted_answered = answered * scale
    weighted_values = values * scale
    row_sums = weighted_values.T @ answered
    row_squares = (values * weighted_values).T @ answered
    products = weighted_values.T @ values
    squares = row_squares + row_squares.T
    return Scope(
        n=weighted_answered.sum(axis=0),
        successes=weighted_values.sum(axis=0),
        pair_n=weighted_answered.T @ answered,
        pair_sum=row_sums - row_sums.T,
        pair_square=squares - 2.0 * products,
    )


def _scaled(weights: Floats | None, n: int) -> Floats:
    """Return weights scaled to their effective number, shape (n, 1)."""
    if weights is None:
        return np.ones((n, 1))
    total = float(weights.sum())
    squares = float((weights**2).sum())
    if not squares:
        return np.zeros((n, 1))
    scaled = weights * (total / squares)
    return scaled[:, None]


def counted_scope(n: Sequence[float], successes: Sequence[float]) -> Scope:
    """Return how models did by counts alone, without pairs."""
    nothing = np.zeros((len(n), len(n)))
    return Scope(
        np.asarray(n, np.float64),
        np.asarray(successes, np.float64),
        nothing,
        nothing,
        nothing,
    )


def differences_in(scope: Scope) -> Differences:
    """Return the differences of the models on these queries alone.

    Of pairs and rates the one with the lower variance counts.

    >>> scope = counted_scope([100, 100], [80, 70])
    >>> round(float(differences_in(scope).mean[0, 1]), 3)
    0.098
    """
    paired = _paired(scope)
    by_rates = _by_rates(scope)
    has_pairs = scope.pair_n > 0
    is_closer = paired.variance <= by_rates.variance
    takes_pairs = has_pairs & is_closer
    return Differences(
        np.where(takes_pairs, paired.mean, by_rates.mean),
        np.where(takes_pairs, paired.variance, by_rates.variance),
    )


def _paired(scope: Scope) -> Differences:
    """Return the differences by pairs, with a discordant pair more of each kind."""
    n = scope.pair_n + 2.0
    mean = scope.pair_sum / n
    square = np.maximum(scope.pair_square, 0.0) + 2.0
    mean_square = square / n
    variance = (mean_square - mean**2) / n
    return Differences(
        mean,
        variance,
    )


def _by_rates(scope: Scope) -> Differences:
    """Return the differences of the rates, with a success and a failure more of each."""
    n = scope.n + 2.0
    rates = (scope.successes + 1.0) / n
    failure_rates = 1.0 - rates
    variances = rates * failure_rates / n
    return Differences(
        np.subtract.outer(rates, rates),
        np.add.outer(variances, variances),
    )


def pooled(scopes: Mapping[str, Scope]) -> PooledDifferences:
    """Return the differences on each kind of query, drawn to those on the others.

    Args:
        scopes: How the same models did on each kind, one or more.
    """
    alone = [differences_in(scope) for scope in scopes.values()]
    means = np.stack([estimate.mean for estimate in alone])
    variances = np.stack([estimate.variance for estimate in alone])
    between = _between(
        means,
        variances,
        KIND_DEVIATION,
    )
    weights = 1.0 / (variances + between)
    sums = weights * means
    total_weights = weights.sum(axis=0)
    total_sums = sums.sum(axis=0)
    expected = _expected(
        total_weights,
        total_sums,
        between,
    )
    drawn = alone
    if len(alone) > 1:
        drawn = []
        for kind, estimate in enumerate(alone):
            other_weights = total_weights - weights[kind]
            other_sums = total_sums - sums[kind]
            prior = _expected(
                other_weights,
                other_sums,
                between,
            )
            drawn.append(_combined(estimate, prior))
    by_kind = dict(zip(scopes, drawn, strict=True))
    quality = _quality(scopes, drawn)
    return PooledDifferences(
        by_kind,
        expected,
        quality,
    )


def _quality(scopes: Mapping[str, Scope], drawn: Sequence[Differences]) -> Floats:
    """Return how well models do on all kinds, each kind by its runs.

    Differences within a kind are averaged, so that a model that was asked the easy kinds
    alone has no gain of it.
    """
    runs = np.array([scope.n.sum() for scope in scopes.values()])
    means = np.stack([estimate.mean.mean(axis=1) for estimate in drawn])
    total = max(float(runs.sum()), 1.0)
    weighted_means = runs @ means
    return np.asarray(
        weighted_means / total,
        np.float64,
    )


def narrowed(prior: Differences, scope: Scope) -> Differences:
    """Return the differences on queries like one query, drawn to those of its kind."""
    wide = Differences(
        prior.mean,
        prior.variance + LIKE_DEVIATION**2,
    )
    return _combined(differences_in(scope), wide)


def choose_model(
    differences: Differences,
    costs: Sequence[tuple[float, ...]],
    rule: RouteRule,
    *,
    known: int,
) -> Verdict:
    """Return the model for a kind of query.

    The best model is the one that does best on all kinds, unless another is shown to be
    not worse than it on this kind and does better there. Of the models that are shown
    to be not worse than the best, the cheapest is chosen.

    Args:
        differences: Of the models on this kind.
        costs: What a run of each model costs, then what it takes otherwise, such as its
            latency; the first that differ decide. Infinity is not known.
        rule: When a cheaper model is taken.
        known: The number of the model that does best on all kinds.

    >>> differences = differences_in(counted_scope([2_000, 2_000], [1_600, 1_604]))
    >>> choose_model(differences, [(1.0,), (9.0,)], RouteRule(), known=1).chosen
    0
    >>> few = differences_in(counted_scope([20, 20], [16, 16]))
    >>> choose_model(few, [(1.0,), (9.0,)], RouteRule(), known=1).chosen
    1
    """
    best = _best_here(
        differences,
        rule,
        known,
    )
    bounds = _bounds_to(
        differences,
        best,
        rule.confidence,
    )
    cheaper = []
    for model, cost in enumerate(costs):
        if cost < costs[best]:
            cheaper.append(model)
    chosen = best
    chosen_loss = 0.0
    for model in cheaper if rule.takes_cheaper else ():
        saving = costs[best][0] - costs[model][0]
        allowed_loss = rule.allowed_loss(saving)
        is_shown = bounds.ci_low[model] > -allowed_loss
        if is_shown and costs[model] < costs[chosen]:
            chosen = model
            chosen_loss = allowed_loss
    return Verdict(
        chosen=chosen,
        best=best,
        difference=float(bounds.mean[chosen]),
        ci_low=float(bounds.ci_low[chosen]),
        allowed_loss=chosen_loss,
        n_compared=len(cheaper),
    )


def _best_here(differences: Differences, rule: RouteRule, known: int) -> int:
    """Return the number of the model that does best on this kind of query.

    It is the one that does best on all kinds, unless another is shown to be not worse.
    """
    best = known
    bounds = _bounds_to(
        differences,
        known,
        rule.confidence,
    )
    for model in range(len(bounds.mean)):
        is_shown = model != known and bounds.ci_low[model] > -rule.margin
        if is_shown and bounds.mean[model] > bounds.mean[best]:
            best = model
    return best


class _Bounds(NamedTuple):
    """The differences of all models to one of them, and their lower bounds."""

    mean: Floats
    ci_low: Floats


def _bounds_to(differences: Differences, best: int, confidence: float) -> _Bounds:
    """Return how much better each model is than one, 0 for that one itself."""
    n_models = len(differences.mean)
    others = np.arange(n_models) != best
    mean = np.zeros(n_models)
    ci_low = np.zeros(n_models)
    if not others.any():
        return _Bounds(
            mean,
            ci_low,
        )
    alone = Differences(
        differences.mean[others, best],
        differences.variance[others, best],
    )
    drawn = _drawn_to_models(alone)
    # Slow to import, and views import this module for the scope of an outcome.
    from statistics import NormalDist

    errors_wide = NormalDist().inv_cdf(confidence)
    half_width = errors_wide * np.sqrt(drawn.variance)
    mean[others] = drawn.mean
    ci_low[others] = drawn.mean - half_width
    return _Bounds(
        mean,
        ci_low,
    )


def _drawn_to_models(alone: Differences) -> Differences:
    """Return the differences of models to one, each drawn to those of the others."""
    if len(alone.mean) < 2:
        return alone
    between = _between(
        alone.mean,
        alone.variance,
        MODEL_DEVIATION,
    )
    weights = 1.0 / (alone.variance + between)
    sums = weights * alone.mean
    other_weights = weights.sum() - weights
    other_sums = sums.sum() - sums
    prior = _expected(
        other_weights,
        other_sums,
        between,
    )
    return _combined(
        alone,
        prior,
    )


def _between(means: Floats, variances: Floats, deviation: float) -> Floats:
    """Return the variance between kinds or models, along the first axis.

    It is the estimate of DerSimonian and Laird, averaged with what is assumed.
    """
    weights = 1.0 / variances
    total = weights.sum(axis=0)
    weighted_means = weights * means
    centre = weighted_means.sum(axis=0) / total
    deviations = means - centre
    weighted_squares = weights * deviations**2
    spread = weighted_squares.sum(axis=0)
    degrees = len(means) - 1.0
    weight_squares = weights**2
    scale = total - weight_squares.sum(axis=0) / total
    excess = np.maximum(
        spread - degrees,
        0.0,
    )
    estimate = excess / np.maximum(scale, 1e-12)
    assumed = ASSUMED_WEIGHT * deviation**2
    total_degrees = degrees + ASSUMED_WEIGHT
    averaged = (degrees * estimate + assumed) / total_degrees
    return np.asarray(
        averaged,
        np.float64,
    )


def _expected(weights: Floats, sums: Floats, between: Floats) -> Differences:
    """Return what is expected of another kind or model, by the weights of those seen."""
    variance = 1.0 / weights
    return Differences(
        sums * variance,
        variance + between,
    )


def _combined(estimate: Differences, prior: Differences) -> Differences:
    """Return an estimate and what was expected of it, each by its precision."""
    weight = 1.0 / estimate.variance
    prior_weight = 1.0 / prior.variance
    total = weight + prior_weight
    weighted_mean = estimate.mean * weight
    weighted_prior = prior.mean * prior_weight
    mean = (weighted_mean + weighted_prior) / total
    return Differences(
        mean,
        1.0 / total,
    )
