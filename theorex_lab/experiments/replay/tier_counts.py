"""Items by tier under many settings at once.

Under the product law an item with count and links is at or above a threshold θ if and only if the half-life is at least
age / log2(amplifier · boost / θ), its critical half-life. One sort of those gives the counts at all half-lives.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theorex_lab.config import Settings
from theorex_lab.config_laws import HALF_LIFE
from theorex_lab.designs.theorex.scores import law_of
from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.replay.event_log import EventLog, Moment, memory_at
from theorex_lab.memory.counts import Integers, Links
from theorex_lab.memory.decay import LINK_BOOST, Floats, Items, MultiScale, Product, tiers

SORT_PAYS = 4  # below this many half-lives that share a threshold, scoring every item is quicker than sorting
_ROUNDING = 1e-12  # in half-lives: nearer to its bound than this, an item is scored


class CriticalHalfLives:
    """How many of some items reach a threshold at any half-life, under the product law; links must not depend on it."""

    def __init__(self, items: Items) -> None:
        self.items = items
        self.age = np.maximum(items.age_days, 0.0)
        amplifier = np.where(items.count < 1, 0.0, 1.0 + np.log(np.maximum(items.count, 1.0)))
        boosted = amplifier * (1.0 + LINK_BOOST * np.clip(items.link_strength, 0.0, 1.0))
        self.level = np.log2(np.maximum(boosted, np.finfo(np.float64).smallest_subnormal))
        self.bounds: dict[float, tuple[Floats, ...]] = {}

    def reached(self, threshold: float, half_lives: Floats) -> Integers:
        """Number of items whose importance is at least `threshold` (0..1) at each of the half-lives (days)."""
        if threshold <= 0:
            return np.full(len(half_lives), len(self.items), np.int64)
        if threshold not in self.bounds:
            self.bounds[threshold] = self._sorted_bounds(threshold)
        maybe, surely, maybe_sorted, surely_sorted = self.bounds[threshold]
        sure = np.searchsorted(surely_sorted, half_lives, "right")
        open_ = np.flatnonzero(np.searchsorted(maybe_sorted, half_lives, "right") > sure)
        for number in open_.tolist():  # within rounding of the bound: score them
            near = self.items.take(np.flatnonzero((maybe <= half_lives[number]) & (surely > half_lives[number])))
            law = Product(half_life_days=float(half_lives[number]))
            sure[number] += np.count_nonzero(law.importance(law.raw(near)) >= threshold)
        return sure

    def _sorted_bounds(self, threshold: float) -> tuple[Floats, ...]:
        """Half-lives from which an item may reach the threshold, and from which it surely does; inf for never."""
        allowed = self.level - np.log2(threshold)
        bounds = []
        for slack in (_ROUNDING, -_ROUNDING):
            elapsed = allowed + slack * (1.0 + np.abs(allowed))
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                critical = np.where(elapsed > 0, self.age / elapsed, np.inf)
            critical[np.isnan(self.age)] = np.inf
            bounds.append(np.where(critical > self.items.half_life_cap_days, np.inf, critical))
        return *bounds, *(np.sort(column) for column in bounds)


def tier_counts_over_half_lives(
    items: Items, half_lives: ArrayLike, active_threshold: float, mild_threshold: float
) -> Integers:
    """How many items are ACTIVE, MILD and LESS under the product law at each half-life, shape (n_half_lives, 3).

    Items keep their own link strength, and their cap on the half-life. Raises InvalidInput for half-lives outside .01 to
    36,500 days, or thresholds outside 0 <= mild <= active <= 1.

    >>> tier_counts_over_half_lives(Items.of([0.0, 14.0, 60.0]), [2.0, 14.0, 50.0], 0.6, 0.3).tolist()
    [[1, 0, 2], [1, 1, 1], [2, 1, 0]]
    """
    tiers([], active_threshold, mild_threshold)  # refuses thresholds that contradict each other
    days = np.asarray(half_lives, np.float64)
    wrong = days[~((days >= HALF_LIFE.low) & (days <= HALF_LIFE.high))]
    if days.ndim != 1 or len(wrong):
        raise InvalidInput(f"got half_lives {days.tolist()!r:.200}; allowed is a list of numbers, {HALF_LIFE.allowed}")
    critical = CriticalHalfLives(items)
    active, mild = critical.reached(active_threshold, days), critical.reached(mild_threshold, days)
    return np.column_stack([active, mild - active, len(items) - mild])


def tier_counts(recorded: EventLog, settings: Sequence[Settings], at: int | None = None) -> Integers:
    """How many items are ACTIVE, MILD, LESS and SLEEPING under each of the settings, shape (n_settings, 4).

    As one scan at `at` (µs; default: the last mention) leaves them, with no scan before; later mentions do not count.
    Settings that share a threshold and differ in the half-life are counted by one sort, the others item by item. Raises
    InvalidInput where there are no mentions, ConfigError for a law that settings get wrong.
    """
    fade = any(each.decay_law == MultiScale.name for each in settings)
    moment, links = memory_at(recorded, at, fade=fade)
    reached = np.zeros((len(settings), 3), np.int64)  # ACTIVE; MILD or more; of those, unseen for long enough to sleep
    ages = np.sort(moment.age)
    asleep = len(ages) - np.searchsorted(ages, [each.sleep_after_days for each in settings])
    by_sort = _sortable(settings)
    linked = np.zeros(len(recorded.names), np.bool_)
    linked[recorded.link_ends[links.count > 0]] = True
    tied = linked[moment.rows]
    _score(
        moment,
        links,
        np.arange(len(moment.rows)),
        settings,
        [n for n in range(len(settings)) if n not in by_sort],
        reached,
    )
    _score(moment, links, np.flatnonzero(tied), settings, sorted(by_sort), reached)
    _sort(moment, np.flatnonzero(~tied), settings, sorted(by_sort), reached)
    active, mild, late = reached.T
    sleeping = asleep - late
    return np.column_stack([active, mild - active, len(moment.rows) - mild - sleeping, sleeping])


def _sortable(settings: Sequence[Settings]) -> set[int]:
    """Positions of those under the product law whose thresholds enough half-lives share."""
    alike: dict[tuple[float, ...], dict[float, list[int]]] = {}
    for number, each in enumerate(settings):
        if each.decay_law == Product.name:
            key = (each.active_threshold, each.mild_threshold, each.sleep_after_days, each.fix_half_life_days)
            alike.setdefault(key, {}).setdefault(_half_life(each), []).append(number)
    return {
        number
        for half_lives in alike.values()
        if len(half_lives) >= SORT_PAYS
        for numbers in half_lives.values()
        for number in numbers
    }


def _half_life(settings: Settings) -> float:
    return float(settings.decay_params.get("half_life_days", settings.half_life_days))


def _score(
    moment: Moment,
    links: Links,
    rows: NDArray[np.intp],
    settings: Sequence[Settings],
    chosen: Sequence[int],
    reached: Integers,
) -> None:
    """Add the counts of these items by scoring each under every law among the chosen settings."""
    if not len(rows):
        return
    alike: dict[tuple[object, ...], list[int]] = {}
    for number in chosen:
        each = settings[number]
        law = law_of(each)
        key = (law.name, *law.params.values(), each.half_life_days, each.fix_half_life_days)
        alike.setdefault(key, []).append(number)
    for numbers in alike.values():
        law = law_of(settings[numbers[0]])
        items = moment.items(settings[numbers[0]], law, links)
        importance = law.importance(law.raw(items if len(rows) == len(items) else items.take(rows)))
        for number in numbers:
            each = settings[number]
            mild = importance >= each.mild_threshold
            late = moment.age[rows] >= each.sleep_after_days
            reached[number] += (
                np.count_nonzero(importance >= each.active_threshold),
                np.count_nonzero(mild),
                np.count_nonzero(mild & late),
            )


def _sort(
    moment: Moment, rows: NDArray[np.intp], settings: Sequence[Settings], chosen: Sequence[int], reached: Integers
) -> None:
    """Add the counts of these items, which have no links, by their critical half-lives."""
    by_cap: dict[float, list[int]] = {}
    for number in chosen:
        by_cap.setdefault(settings[number].fix_half_life_days, []).append(number)
    for cap_days, numbers in by_cap.items():
        caps = np.where(moment.only_fixes[rows], cap_days, np.inf)
        items = Items.of(
            moment.age[rows],
            moment.count[rows],
            decayed_counts=moment.columns["decayed_counts"][rows],
            half_life_cap_days=caps,
        )
        everything = CriticalHalfLives(items)
        unseen: dict[float, CriticalHalfLives] = {}
        questions: dict[tuple[int, float, float], list[int]] = {}
        for number in numbers:
            each = settings[number]
            late = each.sleep_after_days
            if late not in unseen:
                unseen[late] = CriticalHalfLives(items.take(items.age_days >= late))
            for column, threshold in enumerate((each.active_threshold, each.mild_threshold, each.mild_threshold)):
                questions.setdefault((column, threshold, late if column == 2 else 0.0), []).append(number)
        for (column, threshold, late), asking in questions.items():
            half_lives = np.array([_half_life(settings[number]) for number in asking])
            reached[asking, column] += (unseen[late] if column == 2 else everything).reached(threshold, half_lives)
