"""What is measured under many settings at once: items by tier.

Under the product law an item with count and links is at or above a threshold θ if and only if the half-life is at least
age / log2(amplifier · boost / θ), its critical half-life. One sort of those gives the counts at all half-lives.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cache

import numpy as np

from theorex_lab.config import Settings
from theorex_lab.designs.theorex.scores import law_of
from theorex_lab.experiments.replay.event_log import EventLog, Memory, last_mention
from theorex_lab.memory.counts import Integers
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
    Where nothing is linked, settings that share a threshold and differ in the half-life are counted by one sort, all
    others item by item. Raises InvalidInput where there are no mentions, ConfigError for a law that settings get wrong.
    """
    memory = Memory(recorded)
    half_lives = tuple({each.half_life_days for each in settings})
    fade = any(each.decay_law == MultiScale.name for each in settings)
    memory.take_in(last_mention(recorded) if at is None else at, half_lives, fade=fade)
    reached = np.zeros((len(settings), 3), np.int64)  # ACTIVE; MILD or more; of those, unseen for long enough to sleep
    alike: dict[tuple[object, ...], list[int]] = {}
    linked = recorded.together_time.min(initial=memory.now + 1) <= memory.now
    for number, each in enumerate(settings):
        law, caps = law_of(each), each.fix_half_life_days
        params = {} if law.name == Product.name and not linked else law.params | {"links": each.half_life_days}
        alike.setdefault((law.name, *params.values(), caps), []).append(number)
    for numbers in alike.values():
        law, some = law_of(settings[numbers[0]]), [settings[number] for number in numbers]
        items = memory.items(some[0], law)
        if law.name == Product.name and not linked and len(numbers) >= SORT_PAYS:
            _sort(items, some, numbers, reached)
        else:
            _score(items, some, numbers, reached)
    active, mild, late = reached.T
    ages = np.sort(memory.age)
    sleeping = len(ages) - np.searchsorted(ages, [each.sleep_after_days for each in settings]) - late
    return np.column_stack([active, mild - active, len(memory.rows) - mild - sleeping, sleeping])


def _score(items: Items, settings: Sequence[Settings], numbers: Sequence[int], reached: Integers) -> None:
    """Count the items by scoring each."""
    for number, each in zip(numbers, settings, strict=True):
        law = law_of(each)
        importance = law.importance(law.raw(items))
        mild = importance >= each.mild_threshold
        held = importance >= each.active_threshold, mild, mild & (items.age_days >= each.sleep_after_days)
        reached[number] = [np.count_nonzero(column) for column in held]


def _sort(items: Items, settings: Sequence[Settings], numbers: Sequence[int], reached: Integers) -> None:
    """Count the items by their critical half-lives."""

    @cache
    def unseen(days: float) -> CriticalHalfLives:
        return CriticalHalfLives(items.take(np.flatnonzero(items.age_days >= days)))

    alike: dict[tuple[float, ...], dict[int, float]] = defaultdict(dict)  # by thresholds, half-life of each number
    for number, each in zip(numbers, settings, strict=True):
        half_life = float(each.decay_params.get("half_life_days", each.half_life_days))
        alike[each.active_threshold, each.mild_threshold, each.sleep_after_days][number] = half_life
    for (active, mild, days), chosen in alike.items():
        rows, half_lives, everything = [*chosen], np.array([*chosen.values()]), unseen(-np.inf)
        counts = everything.reached(active, half_lives), everything.reached(mild, half_lives)
        reached[rows] = np.column_stack([*counts, unseen(days).reached(mild, half_lives)])
