"""A cheaper model is taken only where it is shown to be not worse than the best.

The rule by itself, its properties, and simulations that count how often it errs.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from theorex_lab import InvalidInput, Settings
from theorex_lab.memory.evidence import Option, cheapest_not_worse
from theorex_lab.routing.noninferiority import (
    RouteRule,
    Scope,
    Verdict,
    choose_model,
    counted_scope,
    differences_in,
    narrowed,
    pooled,
    scored_scope,
    with_knobs,
)

Floats = NDArray[np.float64]


def chosen_on(
    scores: Floats, costs: list[float], rule: RouteRule | None = None
) -> Verdict:
    """The verdict on one kind of query that every model answered."""
    known = pooled({"all": scored_scope(scores)})
    by_cost = [(cost,) for cost in costs]
    best = known.best(by_cost)
    return choose_model(known.on("all"), by_cost, rule or RouteRule(), known=best)


# The estimate


def test_pairs_count_where_there_are_some_and_rates_otherwise() -> None:
    scores = np.array([[1.0, 1.0]] * 60 + [[0.0, 0.0]] * 40)
    paired = differences_in(scored_scope(scores))
    unpaired = differences_in(counted_scope([100, 100], [60, 60]))
    assert paired.mean[0, 1] == unpaired.mean[0, 1] == 0.0
    assert paired.variance[0, 1] < unpaired.variance[0, 1] / 10, (
        "models that answer the same queries alike are known to be alike"
    )


def test_the_paired_interval_is_that_of_bonett_and_price() -> None:
    scores = np.array([[1, 1]] * 49 + [[1, 0]] * 12 + [[0, 1]] * 5 + [[0, 0]] * 34)
    estimate = differences_in(scored_scope(scores.astype(float)))
    p12 = 13 / 102
    p21 = 6 / 102
    assert estimate.mean[0, 1] == pytest.approx(7 / 102)
    variance = (p12 + p21 - (7 / 102) ** 2) / 102
    assert estimate.variance[0, 1] == pytest.approx(variance)


def test_weights_count_as_their_effective_number_of_queries() -> None:
    scores = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])
    equal = scored_scope(scores, np.full(4, 7.0))
    for weighted, plain in zip(equal, scored_scope(scores), strict=True):
        assert weighted == pytest.approx(plain)
    one = scored_scope(scores, np.array([1.0, 0.0, 0.0, 0.0]))
    assert one.n.tolist() == [1.0, 1.0]
    assert not scored_scope(scores, np.zeros(4)).n.any()


def test_a_kind_with_few_runs_is_drawn_to_the_others() -> None:
    many = counted_scope([500, 500], [450, 250])
    few = counted_scope([2, 2], [0, 2])
    known = pooled({"a": many, "b": many, "c": many, "new": few})
    alone = differences_in(few).mean[0, 1]
    assert alone < 0 < known.on("new").mean[0, 1] < known.on("a").mean[0, 1] + 1e-9
    assert known.on("never seen").mean[0, 1] > 0.3


def test_a_model_that_got_the_easy_kinds_is_not_the_best() -> None:
    known = pooled(
        {
            "easy": counted_scope([200, 20], [180, 19]),
            "hard": counted_scope([20, 200], [2, 60]),
        }
    )
    assert 180 + 2 > 19 + 60
    assert known.best([(1.0,), (1.0,)]) == 1


def test_of_equal_models_the_cheapest_is_the_best() -> None:
    verdict = chosen_on(np.array([[1.0, 1.0], [0.0, 0.0]]), [9.0, 1.0])
    assert (verdict.chosen, verdict.best) == (1, 1)


# The rule


def test_few_runs_show_nothing_and_many_do() -> None:
    pattern = np.array([[1.0, 1.0]] * 8 + [[0.0, 0.0]] * 2 + [[0.0, 1.0]])
    assert chosen_on(pattern, [1.0, 9.0]).chosen == 1
    alike = np.array([[1.0, 1.0]] * 300 + [[0.0, 0.0]] * 100 + [[0.0, 1.0]] * 2)
    verdict = chosen_on(alike, [1.0, 9.0])
    assert (verdict.chosen, verdict.best) == (0, 1)
    assert verdict.difference == pytest.approx(-0.005, abs=0.001)
    assert -0.03 < verdict.ci_low < verdict.difference
    assert verdict.n_compared == 1
    success = RouteRule(takes_cheaper=False)
    assert chosen_on(alike, [1.0, 9.0], success).chosen == 1


def test_a_willingness_allows_what_the_saving_is_worth() -> None:
    scores = np.array([[1.0, 1.0]] * 300 + [[0.0, 0.0]] * 100 + [[0.0, 1.0]] * 30)
    costs = [1.0, 9.0]
    assert chosen_on(scores, costs).chosen == 1, "it is seven points worse"
    willing = chosen_on(scores, costs, RouteRule(willingness=0.5))
    assert (willing.chosen, willing.allowed_loss) == (0, 0.16)
    assert chosen_on(scores, costs, RouteRule(willingness=2.0)).chosen == 1
    unknown = RouteRule(willingness=0.01).allowed_loss(math.inf)
    assert unknown == 0.0, "what a model saves whose cost is not known is not known"
    assert RouteRule(willingness=0.01).allowed_loss(100.0) == 1.0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"margin": -0.1}, "got a margin of -0.1; allowed is 0 to 1"),
        ({"confidence": 1.0}, "got a confidence of 1.0; allowed is 0.5 to below 1"),
        ({"willingness": 0.0}, "got a willingness of 0.0; allowed is a number above 0"),
        ({"willingness": math.inf}, "got a willingness of inf"),
    ],
)
def test_a_knob_outside_its_range_is_refused(
    values: dict[str, float], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        RouteRule(**values)


def test_knobs_take_the_place_of_the_settings() -> None:
    settings = Settings(route_margin=0.1, route_willingness=5.0)
    assert with_knobs(settings, margin=None, willingness=None) is settings
    margin = RouteRule.of(with_knobs(settings, margin=0.2, willingness=None))
    assert (margin.margin, margin.willingness) == (0.2, None)
    willing = RouteRule.of(with_knobs(settings, margin=None, willingness=3.0))
    assert (willing.margin, willing.willingness) == (0.1, 3.0)
    with pytest.raises(InvalidInput, match="got a margin of 2"):
        with_knobs(settings, margin=2, willingness=None)


# Properties

_MODELS = 4
counts = st.lists(
    st.tuples(st.integers(0, 80), st.floats(0, 1)),
    min_size=_MODELS,
    max_size=_MODELS,
)
kinds = st.lists(counts, min_size=1, max_size=4)
costs_of_models = st.lists(
    st.sampled_from([1.0, 2.0, 5.0, math.inf]), min_size=_MODELS, max_size=_MODELS
)


def scopes_from(drawn: list[list[tuple[int, float]]]) -> dict[str, Scope]:
    scopes = {}
    for number, models in enumerate(drawn):
        runs = [float(n) for n, _ in models]
        successes = [float(round(n * rate)) for n, rate in models]
        scopes[f"kind {number}"] = counted_scope(runs, successes)
    return scopes


@given(kinds, costs_of_models, st.floats(0, 0.3), st.floats(0.5, 0.99))
def test_what_holds_of_every_verdict(
    drawn: list[list[tuple[int, float]]],
    costs: list[float],
    margin: float,
    confidence: float,
) -> None:
    known = pooled(scopes_from(drawn))
    by_cost = [(cost,) for cost in costs]
    rule = RouteRule(margin, confidence)
    best = known.best(by_cost)
    for kind in (*known.by_kind, "a new kind"):
        differences = known.on(kind)
        assert np.isfinite(differences.mean).all()
        assert (differences.variance > 0).all()
        assert differences.mean == pytest.approx(-differences.mean.T, abs=1e-9)
        verdict = choose_model(differences, by_cost, rule, known=best)
        if verdict.chosen != verdict.best:
            assert by_cost[verdict.chosen] < by_cost[verdict.best]
            assert verdict.ci_low > -margin
        else:
            assert verdict.difference == verdict.ci_low == 0.0
        assert verdict == choose_model(differences, by_cost, rule, known=best)


@given(kinds, st.floats(0, 0.2), st.floats(0, 0.2), st.floats(0.5, 0.98))
def test_a_wider_margin_and_less_confidence_cost_no_more(
    drawn: list[list[tuple[int, float]]], low: float, more: float, confidence: float
) -> None:
    """The best model is held fixed, which a wider margin may change, too."""
    known = pooled(scopes_from(drawn))
    by_cost = [(1.0,), (2.0,), (5.0,), (9.0,)]
    differences = known.on("kind 0")

    def cost_at(margin: float, at: float) -> tuple[tuple[float, ...], int]:
        rule = RouteRule(margin, at)
        verdict = choose_model(differences, by_cost, rule, known=3)
        return by_cost[verdict.chosen], verdict.best

    narrow = cost_at(low, confidence)
    for wide in (cost_at(low + more, confidence), cost_at(low, 0.5)):
        if wide[1] == narrow[1]:
            assert wide[0] <= narrow[0]


@given(counts)
def test_no_run_of_like_queries_leaves_the_kind_as_it_is(
    drawn: list[tuple[int, float]],
) -> None:
    known = pooled(scopes_from([drawn])).on("kind 0")
    nothing = counted_scope([0.0] * _MODELS, [0.0] * _MODELS)
    near = narrowed(known, nothing)
    assert np.sign(near.mean.round(9)).tolist() == np.sign(known.mean.round(9)).tolist()


# Simulations: how often the rule errs


def answers_of(rates: Floats, n: int, seed: int) -> Floats:
    """Whether models succeed: queries are hard for all or for none, by one half."""
    generator = np.random.default_rng(seed)
    hardness = generator.normal(size=(n, 1))
    luck = generator.normal(size=(n, len(rates)))
    level = (hardness + luck) / 2.0  # N(0, ½), whose distribution function follows
    chance = 0.5 * (1.0 + np.vectorize(math.erf)(level))
    return (chance < rates).astype(float)


def former_choice(scores: Floats, costs: list[float]) -> int:
    """The cheapest that is not distinguishably worse, as it was before."""
    n = float(len(scores))
    options = []
    for column, cost in enumerate(costs):
        options.append(Option(str(column), n, float(scores[:, column].sum()), cost))
    return cheapest_not_worse(options)


def share_wrong(
    rates: Floats,
    n: int,
    rule: RouteRule,
    choice: Callable[[Floats, list[float]], int] | None = None,
    draws: int = 150,
) -> float:
    """How often a model is chosen that is worse than the best by the margin or more.

    The last model is the best and the dearest.
    """
    costs = [float(number) for number in range(1, len(rates) + 1)]
    n_wrong = 0
    for seed in range(draws):
        scores = answers_of(rates, n, seed)
        if choice is not None:
            chosen = choice(scores, costs)
        else:
            verdict = chosen_on(scores, costs, rule)
            is_cheaper = verdict.chosen != verdict.best
            chosen = verdict.chosen if is_cheaper else len(rates) - 1
        n_wrong += rates[chosen] <= rates[-1] - rule.margin + 1e-9
    return n_wrong / draws


@pytest.mark.parametrize("n", [60, 500, 2_000])
def test_one_comparison_errs_no_more_often_than_stated(n: int) -> None:
    """At the margin itself the error is greatest, and below 1 − confidence."""
    rule = RouteRule()
    rates = np.array([0.67, 0.70])
    assert share_wrong(rates, n, rule, draws=400) <= 1.0 - rule.confidence


@pytest.mark.parametrize("n_models", [2, 5, 20])
@pytest.mark.parametrize("n", [60, 500, 2_000])
def test_of_many_models_one_that_is_five_points_worse_is_chosen_as_rarely(
    n_models: int, n: int
) -> None:
    """Nearer to the margin it is not so: the confidence is that of one comparison."""
    rule = RouteRule()
    rates = np.full(n_models, 0.65)
    rates[-1] = 0.70
    assert share_wrong(rates, n, rule) <= 1.0 - rule.confidence


def test_what_was_taken_for_equal_before_was_wrong_much_more_often() -> None:
    rates = np.full(20, 0.65)
    rates[-1] = 0.70
    before = share_wrong(rates, 500, RouteRule(), former_choice)
    now = share_wrong(rates, 500, RouteRule())
    assert before > 0.3
    assert now < 0.2 < before


def test_models_that_are_as_good_are_found_with_enough_queries() -> None:
    """A test that never errs because it never chooses would be of no use."""
    rates = np.array([0.7, 0.7])
    n_cheaper = 0
    for seed in range(60):
        scores = answers_of(rates, 3_000, seed)
        n_cheaper += chosen_on(scores, [1.0, 9.0]).chosen == 0
    assert n_cheaper >= 54
    assert chosen_on(answers_of(np.array([0.4, 0.8]), 3_000, 0), [1.0, 9.0]).chosen == 1


def test_errors_are_as_stated_over_kinds_that_differ() -> None:
    """Twenty kinds of forty queries; on each the cheap model differs by its own."""
    rule = RouteRule()
    n_chosen = 0
    n_wrong = 0
    for seed in range(40):
        generator = np.random.default_rng(seed)
        losses = generator.normal(0.04, 0.06, size=20)
        scopes = {}
        for kind, loss in enumerate(losses):
            rates = np.array([0.7 - loss, 0.7]).clip(0.05, 0.95)
            scopes[str(kind)] = scored_scope(answers_of(rates, 40, 100 * seed + kind))
        known = pooled(scopes)
        for kind, loss in enumerate(losses):
            costs = [(1.0,), (9.0,)]
            chosen = choose_model(known.on(str(kind)), costs, rule, known=1).chosen
            n_chosen += chosen == 0
            n_wrong += chosen == 0 and loss > rule.margin
    assert n_chosen > 0
    assert n_wrong / 800 <= 1.0 - rule.confidence
    assert n_wrong / n_chosen <= 0.35, "of what it chooses most is right"
