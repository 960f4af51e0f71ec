"""What is measured under many settings at once: items by tier.

Under the product law an item with count and links is at or above a threshold θ if and only if the half-life is at least
age / log2(amplifier · boost / θ), its critical half-life. One sort of those gives the counts at all half-lives.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from theorex_lab.config import Settings
from theorex_lab.designs.theorex.scores import law_of
from theorex_lab.experiments.replay.event_log import EventLog, KnownItems, memory_at
from theorex_lab.memory.counts import Integers, Links
from theorex_lab.memory.decay import LINK_BOOST, Floats, Items, MultiScale, Product

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
    linked = np.zeros(len(recorded.names), np.bool_)
    linked[recorded.link_ends[links.count > 0]] = True
    tied = linked[moment.rows]
    groups = _sortable(settings)
    by_sort = sorted(number for group in groups for number in group)
    by_item = sorted({*range(len(settings))} - {*by_sort})
    _score(moment, links, np.arange(len(moment.rows)), settings, by_item, reached)
    _score(moment, links, np.flatnonzero(tied), settings, by_sort, reached)
    _sort(moment, np.flatnonzero(~tied), settings, groups, reached)
    active, mild, late = reached.T
    sleeping = asleep - late
    return np.column_stack([active, mild - active, len(moment.rows) - mild - sleeping, sleeping])


def _sortable(settings: Sequence[Settings]) -> list[list[int]]:
    """Positions of those under the product law that differ in the half-life alone, where enough do."""
    alike: dict[tuple[float, ...], list[int]] = {}
    for number, each in enumerate(settings):
        if each.decay_law == Product.name:
            key = (each.active_threshold, each.mild_threshold, each.sleep_after_days, each.fix_half_life_days)
            alike.setdefault(key, []).append(number)
    return [group for group in alike.values() if len({_half_life(settings[number]) for number in group}) >= SORT_PAYS]


def _half_life(settings: Settings) -> float:
    return float(settings.decay_params.get("half_life_days", settings.half_life_days))


def _score(
    moment: KnownItems,
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
        importance = law.importance(law.raw(moment.items(settings[numbers[0]], law, links)))[rows]
        for number in numbers:
            each = settings[number]
            mild = importance >= each.mild_threshold
            late = moment.age[rows] >= each.sleep_after_days
            held = (importance >= each.active_threshold, mild, mild & late)
            reached[number] += [np.count_nonzero(column) for column in held]


def _sort(
    moment: KnownItems,
    rows: NDArray[np.intp],
    settings: Sequence[Settings],
    groups: Sequence[Sequence[int]],
    reached: Integers,
) -> None:
    """Add the counts of these items, which have no links, by their critical half-lives."""

    @cache
    def unseen(days: float, cap_days: float) -> CriticalHalfLives:
        late = rows[moment.age[rows] >= days]
        caps = np.where(moment.only_fixes[late], cap_days, np.inf)
        counts = moment.columns["decayed_counts"][late]
        return CriticalHalfLives(
            Items.of(moment.age[late], moment.count[late], decayed_counts=counts, half_life_cap_days=caps)
        )

    for numbers in groups:
        alike = settings[numbers[0]]
        half_lives = np.array([_half_life(settings[number]) for number in numbers])
        everything = unseen(-np.inf, alike.fix_half_life_days)
        late = unseen(alike.sleep_after_days, alike.fix_half_life_days)
        reached[numbers, 0] += everything.reached(alike.active_threshold, half_lives)
        reached[numbers, 1] += everything.reached(alike.mild_threshold, half_lives)
        reached[numbers, 2] += late.reached(alike.mild_threshold, half_lives)
