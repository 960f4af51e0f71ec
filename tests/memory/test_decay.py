"""Decay laws: golden values, and one contract that every law keeps."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theorex_lab import Law, make_law
from theorex_lab.memory.decay import (
    COUNT_HALF_LIVES_DAYS,
    LAWS,
    Items,
    Tier,
    effective_link_strength,
    link_columns,
    power_mixture,
    rank_order,
    stored_link_strength,
    tiers,
)


@pytest.mark.parametrize(
    ("day", "count", "importance", "tier"),
    [
        (0, 1, 1.0, Tier.ACTIVE),
        (10, 1, 0.609507, Tier.ACTIVE),
        (11, 1, 0.580065, Tier.MILD),
        (14, 1, 0.5, Tier.MILD),
        (24, 1, 0.304753, Tier.MILD),
        (25, 1, 0.290032, Tier.LESS),
        (34, 10, 0.613453, Tier.ACTIVE),
        (35, 10, 0.58382, Tier.MILD),
        (-3, 1, 1.0, Tier.ACTIVE),
        (math.nan, 9, 0.0, Tier.LESS),
        (0, 0, 0.0, Tier.LESS),
    ],
)
def test_product_golden_values(
    day: float, count: int, importance: float, tier: Tier
) -> None:
    law = make_law("product")
    got = law.importance(law.raw(Items.of([day], count)))
    assert got[0] == pytest.approx(importance, abs=5e-7)
    assert tiers(got)[0] == tier


def test_product_boost_is_at_most_a_quarter() -> None:
    law = make_law("product")
    raw = law.raw(Items.of([0.0] * 3, link_strength=[0.0, 0.4, 1.0]))
    assert raw == pytest.approx(np.array([1.0, 1.1, 1.25]))
    assert law.importance(raw).tolist() == [1.0, 1.0, 1.0]


def test_weighted_sum_golden_values() -> None:
    raw = make_law("weighted_sum").raw(
        Items.of(
            [0.0, 14.0, 0.0], count=[100, 1, 1e6], mean_link_strength=[0.0, 0.4, 2.0]
        )
    )
    expected = [0.75, 0.2 + 0.35 * math.log(2) / math.log(101) + 0.1, 1.0]
    assert raw == pytest.approx(np.array(expected))


def test_recency_and_frequency_golden_values() -> None:
    recency = make_law("recency", half_life_days=7.0)
    frequency = make_law("frequency")
    items = Items.of([0.0, 7.0, 7e5], count=[1, 100, 1e9])
    assert recency.importance(recency.raw(items)) == pytest.approx(
        np.array([1.0, 0.5, 0.0])
    )
    # Very old items still differ in raw, so that they are ordered.
    assert np.diff(recency.raw(Items.of([7e5, 8e5])))[0] < 0
    assert frequency.importance(frequency.raw(items)) == pytest.approx(
        np.array([math.log(2) / math.log(101), 1, 1])
    )


def test_half_life_cap_holds_in_every_law_with_time() -> None:
    for name in ("product", "weighted_sum", "recency", "power"):
        params = (
            {"half_life_days": 30.0}
            if "half_life_days" in LAWS[name].parameters
            else {}
        )
        law = make_law(name, **params)
        capped, free = law.raw(
            Items.of([60.0, 60.0], 3, half_life_cap_days=[7.0, math.inf])
        )
        assert capped < free, name


@pytest.mark.parametrize(("exponent", "bound"), [(0.2, 0.08), (0.5, 0.16), (0.8, 0.19)])
def test_power_mixture_is_near_the_exact_sum(exponent: float, bound: float) -> None:
    random = np.random.default_rng(0)
    law = make_law("power", exponent=exponent)
    for _ in range(50):
        ages = np.exp(
            random.uniform(np.log(0.1), np.log(1_000.0), random.integers(1, 40))
        )
        counts = np.exp2(-ages[:, None] / np.array(COUNT_HALF_LIVES_DAYS)).sum(axis=0)
        raw = law.raw(Items.of([ages.min()], len(ages), decayed_counts=counts[None]))[0]
        assert math.exp(raw) == pytest.approx((ages**-exponent).sum(), rel=bound)


def test_power_is_within_ten_percent_up_to_a_year() -> None:
    # The bound beyond a year is wider, since the longest half-life is 120 days.
    ages = np.geomspace(0.1, 365.0, 200)
    scales = np.exp2(-ages[:, None] / np.array([*COUNT_HALF_LIVES_DAYS, math.inf]))
    assert np.abs(scales @ power_mixture(0.5) * ages**0.5 - 1).max() < 0.10


def test_power_default_tiers_are_those_of_product() -> None:
    law = make_law("power")
    importance = law.importance(law.raw(Items.of([10.3, 24.3])))
    assert importance == pytest.approx(np.array([0.6, 0.3]), abs=0.05)


# The contract, over every law.

ages = st.floats(-100, 5_000, allow_nan=False)
rows = st.lists(
    st.tuples(
        ages, st.floats(0, 2_000), st.floats(0, 1e4), st.floats(0, 1), st.booleans()
    ),
    min_size=1,
    max_size=8,
)


def items_from(
    drawn: list[tuple[float, float, float, float, bool]], shift: float = 0.0
) -> Items:
    age, older, count, strength, fix = (
        np.array(column, dtype=np.float64) for column in zip(*drawn, strict=True)
    )
    return Items.of(
        age + shift,
        count,
        first_age_days=age + older + shift,
        link_strength=strength,
        mean_link_strength=strength,
        half_life_cap_days=np.where(fix > 0, 7.0, np.inf),
    )


@pytest.fixture(params=list(LAWS))
def law(request: pytest.FixtureRequest) -> Law:
    return make_law(request.param)


SAMPLES = 60
TINY = 1e-9


@pytest.mark.parametrize("name", list(LAWS))
@given(drawn=rows)
@settings(max_examples=SAMPLES, deadline=None)
def test_scores_are_finite_bounded_and_item_by_item(
    name: str, drawn: list[tuple[float, ...]]
) -> None:
    law, items = make_law(name), items_from(drawn)  # type: ignore[arg-type]
    raw = law.raw(items)
    importance = law.importance(raw)
    assert raw.shape == importance.shape == (len(drawn),)
    assert np.isfinite(raw).all()
    assert ((importance >= 0) & (importance <= 1)).all()
    assert np.array_equal(raw, law.raw(items))
    alone = [law.raw(items.take([k]))[0] for k in range(len(drawn))]
    assert alone == pytest.approx(raw.tolist(), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", list(LAWS))
@given(drawn=rows, shift=st.floats(0, 3_000))
@settings(max_examples=SAMPLES, deadline=None)
def test_never_rises_with_age(
    name: str, drawn: list[tuple[float, ...]], shift: float
) -> None:
    law = make_law(name)
    young, old = items_from(drawn), items_from(drawn, shift)  # type: ignore[arg-type]
    assert (law.raw(old) <= law.raw(young) + TINY).all()
    assert (law.importance(law.raw(old)) <= law.importance(law.raw(young)) + TINY).all()


@pytest.mark.parametrize("name", list(LAWS))
@pytest.mark.parametrize(
    "column", ["count", "link_strength", "mean_link_strength", "decayed_counts"]
)
@given(drawn=rows, more=st.floats(0, 3))
@settings(max_examples=15, deadline=None)
def test_never_falls_with_count_or_link(
    name: str, column: str, drawn: list[tuple[float, ...]], more: float
) -> None:
    law, items = make_law(name), items_from(drawn)  # type: ignore[arg-type]
    columns = {field: getattr(items, field) for field in items.__dataclass_fields__}
    raised = Items(**(columns | {column: columns[column] + more}))
    assert (law.raw(raised) >= law.raw(items) - TINY).all()


def test_future_is_now(law: Law) -> None:
    now, future = law.raw(Items.of([0.0, -9.0], 2, first_age_days=[0.0, -9.0]))
    assert now == future


def test_unreadable_age_scores_zero_and_ranks_last(law: Law) -> None:
    items = Items.of(
        [math.nan, 4_000.0, 0.0], [50, 1, 1], link_strength=[1.0, 0.0, 0.0]
    )
    raw = law.raw(items)
    assert np.isfinite(raw).all()
    assert raw[0] == raw.min()
    assert law.importance(raw)[0] == 0.0
    assert tiers(law.importance(raw))[0] == Tier.LESS


def test_no_items_no_scores(law: Law) -> None:
    assert law.importance(law.raw(Items.of([]))).shape == (0,)


def test_importance_keeps_the_order_of_raw(law: Law) -> None:
    raw = np.linspace(-20, 20, 101)
    assert (np.diff(law.importance(raw)) >= 0).all()


def test_params_make_the_same_law_again(law: Law) -> None:
    assert make_law(law.name, **law.params).params == law.params
    assert all(isinstance(value, float) for value in law.params.values())
    assert all(
        spec.low <= spec.default <= spec.high for spec in law.parameters.values()
    )


# Tiers, order and links.


def test_tier_bounds_are_inclusive() -> None:
    below = np.nextafter([0.6, 0.3], 0)
    codes = tiers([0.6, below[0], 0.3, below[1], math.nan])
    assert codes.dtype == np.int8
    assert codes.tolist() == [
        Tier.ACTIVE,
        Tier.MILD,
        Tier.MILD,
        Tier.LESS,
        Tier.NEUTRAL,
    ]


def test_rank_order_breaks_ties_by_count_then_last_seen_then_id() -> None:
    raw = [1.0, 1.0, 1.0, 1.0, 2.0]
    count = [1, 2, 2, 2, 1]
    last_seen = np.array([9, 5, 7, 7, 0], dtype=np.int64)
    ids = ["e", "d", "b", "a", "z"]
    assert rank_order(raw, count, last_seen, ids).tolist() == [4, 3, 2, 1, 0]


def test_links_reach_the_cap_at_the_nineteenth_time() -> None:
    strength = stored_link_strength(np.arange(25))
    assert strength[:3] == pytest.approx(np.array([0.0, 0.1, 0.15]))
    assert strength[18] < 1.0
    assert (strength[19:] == 1.0).all()


def test_effective_strength_is_dropped_below_a_hundredth() -> None:
    got = effective_link_strength([0.1, 0.1, 0.1, 0.1], [-5.0, 14.0, 46.0, 47.0], 14.0)
    assert got == pytest.approx(np.array([0.1, 0.05, 0.1 * 2 ** (-46 / 14), 0.0]))


def test_link_columns() -> None:
    strength, mean = link_columns(4, [0, 0, 1], [1, 2, 2], [0.5, 1.0, 0.0])
    assert strength == pytest.approx(np.array([1.0, 0.5, 1.0, 0.0]))
    assert mean == pytest.approx(np.array([0.75, 0.5, 1.0, 0.0]))
