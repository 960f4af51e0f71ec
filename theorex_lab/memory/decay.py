"""Decay laws: how age, mentions and links become an item's importance.

They give also its order in a list and its tier. Every law reads the same columns
(`Items`), orders items by `raw` and decides tiers by `importance` in 0..1. The
exponential law is the default, not the rule: which law fits is a question for the data.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import fields
from enum import IntEnum
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.light_dataclass import dataclass
from theorex_lab.core.settings import LAW_PARAMETERS, Parameter, check_params

Floats = NDArray[np.float64]

COUNT_HALF_LIVES_DAYS = (0.1, 0.5, 2.0, 7.0, 30.0, 120.0)
PRODUCT_HALF_LIVES_DAYS = (1.0, 3.0, 7.0, 14.0, 30.0, 60.0, 120.0)
ACTIVE_THRESHOLD = 0.6
MILD_THRESHOLD = 0.3
LINK_FIRST = 0.1
LINK_STEP = 0.05
LINK_CAP = 1.0
LINK_DROP_BELOW = 0.01
LINK_BOOST = 0.25
POWER_AGES_DAYS = (0.1, 1_000.0)  # where the power law is approximated
TINY = 1e-12  # keeps the logarithm of an item without mentions finite
UNREADABLE_RAW = -1e300  # finite, so that sums and sorts over raw scores stay finite


class Tier(IntEnum):
    """How present an item is.

    `NEUTRAL` was never scored. `SLEEPING`, shown as archived, is set by the life cycle
    alone.
    """

    NEUTRAL = 0
    LESS = 1
    MILD = 2
    ACTIVE = 3
    SLEEPING = 4


def tiers(
    importance: ArrayLike,
    active_threshold: float = ACTIVE_THRESHOLD,
    mild_threshold: float = MILD_THRESHOLD,
) -> NDArray[np.int8]:
    """Return the tier codes of importances in 0..1.

    Both bounds are inclusive, and NaN (never scored) is NEUTRAL.

    Raises:
        InvalidInput: Unless 0 <= mild_threshold <= active_threshold <= 1.

    >>> [Tier(code).name for code in tiers([0.6, 0.3, 0.29, float("nan")])]
    ['ACTIVE', 'MILD', 'LESS', 'NEUTRAL']
    """
    if not 0.0 <= mild_threshold <= active_threshold <= 1.0:
        got = (
            f"active_threshold {active_threshold!r} and mild_threshold"
            f" {mild_threshold!r}"
        )
        raise InvalidInput(
            f"got {got}; allowed is 0 <= mild_threshold <= active_threshold <= 1"
        )
    values = np.asarray(importance, dtype=np.float64)
    codes = np.full(values.shape, Tier.LESS, dtype=np.int8)
    codes[values >= mild_threshold] = Tier.MILD
    codes[values >= active_threshold] = Tier.ACTIVE
    codes[np.isnan(values)] = Tier.NEUTRAL
    return codes


def rank_order(
    raw: ArrayLike,
    count: ArrayLike,
    last_seen: ArrayLike,
    ids: ArrayLike,
) -> NDArray[np.intp]:
    """Return the positions from first to last.

    They are ordered by raw, then count, then last_seen, all descending, then id
    ascending.

    >>> rank_order([1.0, 2.0, 1.0], [1, 1, 3], [0, 0, 0], ["a", "b", "c"]).tolist()
    [1, 2, 0]
    """
    highest_first = -np.asarray(raw)
    most_first = -np.asarray(count)
    latest_first = -np.asarray(last_seen)
    lowest_id_first = np.asarray(ids)
    # The last key is the one that counts first.
    return np.lexsort(
        (
            lowest_id_first,
            latest_first,
            most_first,
            highest_first,
        )
    )


def stored_link_strength(co_count: ArrayLike) -> Floats:
    """Return the strength of a link seen `co_count` times.

    It is .1 at first, .05 more each further time, at most 1.

    >>> stored_link_strength([0, 1, 2, 19, 40]).round(2).tolist()
    [0.0, 0.1, 0.15, 1.0, 1.0]
    """
    times = np.asarray(co_count)
    uncapped = LINK_FIRST + LINK_STEP * (times - 1.0)
    strength = np.minimum(uncapped, LINK_CAP)
    return np.where(times < 1, 0.0, strength)


def effective_link_strength(
    stored: ArrayLike,
    days_since: ArrayLike,
    half_life_days: float,
) -> Floats:
    """Return the stored strength × 2^(−days since the last co-occurrence / half-life).

    It is 0 once below .01, where the link is dropped. It is computed from stored
    values, so that a second pass at the same time changes nothing. A future
    co-occurrence counts as now.

    Raises:
        InvalidInput: The half-life is not positive.

    >>> effective_link_strength([0.4, 0.4], [14.0, 140.0], half_life_days=14.0).tolist()
    [0.2, 0.0]
    """
    if not half_life_days > 0:
        raise InvalidInput(
            f"got half_life_days {half_life_days!r}; allowed is a number above 0"
        )
    # In one array as far as it goes: with millions of links, fresh ones cost as much as
    # the arithmetic.
    days = np.asarray(days_since, dtype=np.float64)
    left = np.asarray(np.maximum(days, 0.0))
    np.divide(left, -half_life_days, out=left)
    np.exp2(left, out=left)
    stored_strength = np.asarray(stored, dtype=np.float64)
    strength = np.asarray(stored_strength * left)
    strength[strength < LINK_DROP_BELOW] = 0.0
    return strength


def link_columns(
    n: int,
    first: ArrayLike,
    second: ArrayLike,
    strength: ArrayLike,
) -> tuple[Floats, Floats]:
    """Return (link_strength, mean_link_strength) of n items.

    They come from undirected links between positions.

    link_strength is 1 − ∏(1 − s) over an item's links of strength above 0; both columns
    are 0 without links.

    >>> [
    ...     column.round(3).tolist()
    ...     for column in link_columns(3, [0, 0], [1, 2], [0.5, 0.1])
    ... ]
    [[0.55, 0.5, 0.1], [0.3, 0.5, 0.1]]
    """
    firsts = np.asarray(first, dtype=np.intp)
    seconds = np.asarray(second, dtype=np.intp)
    ends = np.concatenate([firsts, seconds])
    strengths = np.asarray(strength, dtype=np.float64)
    twice = np.tile(strengths, 2)
    each = np.clip(twice, 0.0, 1.0)
    degree = np.bincount(ends, weights=each > 0, minlength=n)
    total = np.bincount(ends, weights=each, minlength=n)
    mean = total / np.maximum(degree, 1.0)
    with np.errstate(divide="ignore"):
        log_rest = np.log1p(-each)
        log_rests = np.bincount(ends, weights=log_rest, minlength=n)
        rest = np.exp(log_rests)
    return 1.0 - rest, mean


@dataclass(frozen=True, eq=False)
class Items:
    """What the laws read of n items, as columns of float64.

    Build it with `Items.of`, which fills what the caller does not know. Each column is
    of length n, `decayed_counts` of shape (n, 6).

    Attributes:
        age_days: Days since the last mention. Negative (the future) counts as now, NaN
            is an unreadable time.
        first_age_days: Days since the first mention.
        count: The mentions.
        decayed_counts: Σ over mentions of 2^(−age / h), for h in COUNT_HALF_LIVES_DAYS.
        link_strength: 1 − ∏(1 − s) over present links, 0..1 (see `link_columns`).
        mean_link_strength: The mean over present links, 0..1.
        half_life_cap_days: No half-life of the item is longer: inf, or 7 for an item
            seen in trace_fix only.

    Raises:
        InvalidInput: A column has another length, or holds NaN (age_days and
            first_age_days may).
    """

    age_days: Floats
    first_age_days: Floats
    count: Floats
    decayed_counts: Floats
    link_strength: Floats
    mean_link_strength: Floats
    half_life_cap_days: Floats

    def __post_init__(self) -> None:
        n = len(self.age_days)
        wrong = []
        for field in fields(self):
            column: Floats = getattr(self, field.name)
            name = field.name
            shape: tuple[int, ...] = (n,)
            if name == "decayed_counts":
                shape = (n, len(COUNT_HALF_LIVES_DAYS))
            may_be_nan = name.endswith("age_days")
            if column.shape != shape:
                wrong.append(f"{name} of shape {column.shape}, allowed {shape}")
            elif may_be_nan or not n:
                continue
            elif np.isnan(column.min()):
                wrong.append(f"{name} with NaN, allowed are numbers")
        if wrong:
            raise InvalidInput("got " + "; ".join(wrong))

    @classmethod
    def of(
        cls,
        age_days: ArrayLike,
        count: ArrayLike = 1.0,
        *,
        decayed_counts: ArrayLike | None = None,
        first_age_days: ArrayLike | None = None,
        link_strength: ArrayLike = 0.0,
        mean_link_strength: ArrayLike = 0.0,
        half_life_cap_days: ArrayLike = math.inf,
    ) -> "Items":
        """Return columns from arrays or single numbers.

        Without a history every mention counts as the last one.

        Args:
            age_days: As the attribute, like the following.
            count: One mention where it is not given.
            decayed_counts: Computed from `age_days` and `count` where it is None.
            first_age_days: `age_days` where it is None.
            link_strength: 0..1.
            mean_link_strength: 0..1.
            half_life_cap_days: inf for no cap.

        Raises:
            InvalidInput: As `Items`.

        >>> Items.of([0.0, 7.0], count=[1, 2]).decayed_counts[:, 3].tolist()
        [1.0, 1.0]
        """
        age = np.atleast_1d(np.asarray(age_days, dtype=np.float64))
        n = len(age)
        mentions = _column(count, n)
        if first_age_days is None:
            first_age_days = age
        if decayed_counts is None:
            known_age = np.nan_to_num(age, nan=math.inf)
            elapsed = np.maximum(known_age, 0.0)
            half_lives = np.array(COUNT_HALF_LIVES_DAYS)
            halvings = -elapsed[:, None] / half_lives
            left = np.exp2(halvings)
            decayed_counts = mentions[:, None] * left
        return cls(
            age_days=age,
            first_age_days=_column(first_age_days, n),
            count=mentions,
            decayed_counts=np.asarray(decayed_counts, dtype=np.float64),
            link_strength=_column(link_strength, n),
            mean_link_strength=_column(mean_link_strength, n),
            half_life_cap_days=_column(half_life_cap_days, n),
        )

    def __len__(self) -> int:
        return len(self.age_days)

    def take(self, rows: ArrayLike | slice) -> "Items":
        """Return the items at these positions, in a slice, or where a mask is true."""
        chosen = rows if isinstance(rows, slice) else np.asarray(rows)
        columns: dict[str, Floats] = {}
        for field in fields(self):
            column: Floats = getattr(self, field.name)
            columns[field.name] = column[chosen]
        return Items(**columns)


def _column(values: ArrayLike, n: int) -> Floats:
    column = np.asarray(values, dtype=np.float64)
    if column.ndim == 0:
        # Of a number, a column that takes no memory.
        return np.broadcast_to(column, n)
    return column


class Law(ABC):
    """A decay law: `raw` orders items, `importance` of a raw score decides their tier.

    `params` holds every parameter by name as a float, what was not given at its
    default, so that a law is written into a config as its name and that dictionary. A
    law of one's own names itself and its `parameters`, and defines `_raw`; so the names
    of parameters are open here.

    Raises:
        InvalidInput: It names every unknown parameter and every value outside its
            range.

    >>> class NewestFirst(Law):
    ...     name = "newest_first"
    ...
    ...     def _raw(self, items):
    ...         return 1.0 / (1.0 + items.age_days)
    >>> NewestFirst().importance(NewestFirst().raw(Items.of([0.0, 1.0]))).tolist()
    [1.0, 0.5]
    """

    name: ClassVar[str]
    parameters: ClassVar[dict[str, Parameter]] = {}
    unreadable_raw: ClassVar[float] = 0.0

    def __init_subclass__(cls) -> None:
        if "name" in vars(cls):
            cls.parameters = LAW_PARAMETERS.get(cls.name, cls.parameters)

    def __init__(self, **params: float) -> None:
        check_params(self.name, self.parameters, params)
        self.params = {
            name: float(params.get(name, spec.default))
            for name, spec in self.parameters.items()
        }

    def raw(self, items: Items) -> Floats:
        """Return finite scores of shape (n,) that order items.

        An unreadable age scores lowest.
        """
        scores = self._raw(items)
        unreadable = np.isnan(items.age_days)
        return (
            np.where(unreadable, self.unreadable_raw, scores)
            if unreadable.any()
            else scores
        )

    def importance(self, raw: ArrayLike) -> Floats:
        """Return the importance in 0..1 of raw scores, in their order.

        They are cut at 1.
        """
        scores = np.asarray(raw, dtype=np.float64)
        return np.clip(scores, 0.0, 1.0)

    @abstractmethod
    def _raw(self, items: Items) -> Floats: ...

    def __repr__(self) -> str:
        name = type(self).__name__
        params = []
        for param, value in self.params.items():
            params.append(f"{param}={value:g}")
        listed = ", ".join(params)
        return f"{name}({listed})"


def _half_lives_elapsed(items: Items, half_life_days: float) -> Floats:
    return np.asarray(
        np.maximum(items.age_days, 0.0)
        / np.minimum(half_life_days, items.half_life_cap_days)
    )


def _scale_columns(items: Items) -> tuple[Floats, Floats]:
    """Return the decayed counts and the plain count.

    A capped item repeats the one at its longest allowed half-life beyond it.
    """
    capped = np.flatnonzero(items.half_life_cap_days < math.inf)
    if not len(capped):
        return items.decayed_counts, items.count
    counts = items.decayed_counts.copy()
    count = items.count.copy()
    caps = items.half_life_cap_days[capped]
    # How many of the half-lives are allowed.
    n_allowed = np.searchsorted(
        COUNT_HALF_LIVES_DAYS,
        caps,
        side="right",
    )
    longest = np.maximum(n_allowed - 1, 0)
    all_columns = np.arange(counts.shape[1])
    columns = np.minimum(all_columns, longest[:, None])
    counts[capped] = np.take_along_axis(counts[capped], columns, axis=1)
    count[capped] = counts[capped, longest]
    return counts, count


class Product(Law):
    """recency × (1 + ln count) × (1 + .25 · link strength); importance is min(1, raw).

    >>> law = Product(half_life_days=14.0)
    >>> law.importance(law.raw(Items.of([0.0, 14.0, 34.0], count=[1, 1, 10]))).round(
    ...     6
    ... ).tolist()
    [1.0, 0.5, 0.613453]
    """

    name = "product"

    def _raw(self, items: Items) -> Floats:
        elapsed = _half_lives_elapsed(items, self.params["half_life_days"])
        recency = np.exp2(-elapsed)
        count = items.count
        log_count = np.log(np.maximum(count, 1.0))
        amplifier = np.where(count < 1, 0.0, 1.0 + log_count)
        link_strength = np.clip(items.link_strength, 0.0, 1.0)
        boost = 1.0 + LINK_BOOST * link_strength
        return np.asarray(recency * amplifier * boost)


class WeightedSum(Law):
    """A weighted sum of recency, log count and mean link strength.

    The log count is 1 at `saturation_count`; the sum is cut at 1.

    >>> law = WeightedSum()
    >>> law.raw(Items.of([0.0, 14.0], count=[100, 0])).round(6).tolist()
    [0.75, 0.2]
    """

    name = "weighted_sum"

    def _raw(self, items: Items) -> Floats:
        params = self.params
        elapsed = _half_lives_elapsed(items, params["half_life_days"])
        recency = np.exp2(-elapsed)
        log_count = np.log1p(np.maximum(items.count, 0.0))
        log_saturation = np.log1p(params["saturation_count"])
        frequency = np.minimum(log_count / log_saturation, 1.0)
        link_strength = np.clip(items.mean_link_strength, 0.0, 1.0)
        scores = params["recency_weight"] * recency
        scores = scores + params["count_weight"] * frequency
        scores = scores + params["link_weight"] * link_strength
        return np.asarray(scores)


class Recency(Law):
    """Age alone, counted in half-lives; importance is 2^(−half-lives).

    The raw score stays in half-lives, since powers of very old items would all be 0 and
    tie.
    """

    name = "recency"
    unreadable_raw = UNREADABLE_RAW

    def _raw(self, items: Items) -> Floats:
        elapsed = _half_lives_elapsed(items, self.params["half_life_days"])
        return np.maximum(-elapsed, UNREADABLE_RAW)

    def importance(self, raw: ArrayLike) -> Floats:
        """Return the importance in 0..1: 2 to the raw score."""
        scores = np.asarray(raw, dtype=np.float64)
        at_most_now = np.minimum(scores, 0.0)
        return np.exp2(at_most_now)


class Frequency(Law):
    """Count alone: ln(1 + count) / ln(1 + saturation_count), importance cut at 1."""

    name = "frequency"

    def _raw(self, items: Items) -> Floats:
        log_count = np.log1p(np.maximum(items.count, 0.0))
        log_saturation = np.log1p(self.params["saturation_count"])
        return np.asarray(log_count / log_saturation)


class Constant(Law):
    """The same importance for every item.

    Nothing decays, and ties are left to what orders them next.
    """

    name = "constant"

    def _raw(self, items: Items) -> Floats:
        return np.full(len(items), self.params["level"])


class LogisticLaw(Law):
    """A law whose scale is not 0..1.

    importance = 1 / (1 + exp(−slope · (raw − midpoint))).
    """

    unreadable_raw = UNREADABLE_RAW

    def importance(self, raw: ArrayLike) -> Floats:
        """Return the importance in 0..1 through the logistic function.

        Its settings are `logistic_midpoint` and `logistic_slope`.
        """
        scores = np.asarray(raw, dtype=np.float64)
        offset = scores - self.params["logistic_midpoint"]
        half_slope = 0.5 * self.params["logistic_slope"]
        # tanh neither overflows nor leaves a remainder at the lowest score.
        height = np.tanh(half_slope * offset)
        return np.asarray(0.5 * (1.0 + height))


class PowerLaw(LogisticLaw):
    """ACT-R base-level activation, ln Σ age^−d over mentions.

    It is computed from decayed counts instead of event times.

    age^−d is replaced by a non-negative mixture of the exponentials of
    COUNT_HALF_LIVES_DAYS and a constant, within 16 % for ages of .1 to 1,000 days at d
    = .5 (ages below .1 day count as about .1 day). The default logistic gives one
    mention .6 at 10.3 days and .3 at 24.3 days, where `product` has them. Source:
    Anderson and Schooler, Reflections of the environment in memory (1991).
    """

    name = "power"

    def __init__(self, **params: float) -> None:
        super().__init__(**params)
        self._weights = power_mixture(self.params["exponent"])

    def _raw(self, items: Items) -> Floats:
        counts, count = _scale_columns(items)
        lasting_weight = self._weights[-1]
        fading = counts @ self._weights[:-1]
        lasting = count * lasting_weight
        total = np.maximum(fading + lasting, TINY)
        return np.asarray(np.log(total))


@lru_cache(maxsize=64)
def power_mixture(exponent: float) -> Floats:
    """Return weights w ≥ 0 with Σ w_k 2^(−age / h_k) ≈ age^−exponent.

    They are of shape (7,), the last half-life being infinite.

    Least squares of the relative error over a logarithmic grid of ages, by coordinate
    descent.
    """
    grid = np.geomspace(*POWER_AGES_DAYS, 300)
    ages = grid[:, None]
    half_lives = np.array([*COUNT_HALF_LIVES_DAYS, math.inf])
    scales = np.exp2(-ages / half_lives)
    relative = scales * ages**exponent
    gram = relative.T @ relative
    target = relative.sum(axis=0)
    weights = np.zeros(scales.shape[1])
    for _ in range(2_000):
        for k in range(len(weights)):
            rest = target[k] - gram[k] @ weights
            step = rest / gram[k, k]
            moved = weights[k] + step
            weights[k] = max(0.0, moved)
    weights.setflags(write=False)
    return weights


_LAWS: tuple[type[Law], ...] = (
    Product,
    WeightedSum,
    PowerLaw,
    Constant,
    Recency,
    Frequency,
)
LAWS = {law.name: law for law in _LAWS}


def make_law(name: str, **params: float) -> Law:
    """Return the law of that name with these parameters, the others at their defaults.

    The names of the parameters are those of the law.

    Args:
        name: The name of the law.
        **params: Its parameters by their names, each within the range that the law allows.

    Raises:
        InvalidInput: The name, a parameter or a value is outside what is allowed.

    >>> make_law("product", half_life_days=7.0)
    Product(half_life_days=7)
    """
    if name not in LAWS:
        raise InvalidInput(f"got the law {name!r}; allowed are {', '.join(LAWS)}")
    return LAWS[name](**params)
