"""Replay what a memory under other settings would have done.

The replay says what it would have kept, given back, forgotten and been asked for again.
The events are read once, into columns. A replay scans at every point of a grid of times
and fills a context there, in which all concepts are one agent's own words and no
sentences stand. Nothing is promoted to long-term or removed from the index.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from theorex_lab.core.clock import MICROSECONDS_PER_DAY, to_iso
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.settings import Settings
from theorex_lab.designs.theorex.scores import law_of
from theorex_lab.eval.replay.event_log import EventLog, Memory, last_mention
from theorex_lab.memory.briefing.token_budget import (
    CONCEPT_HEADING_TOKENS,
    HEADING_TOKENS,
    Mask,
    TokenBudget,
    count_tokens,
)
from theorex_lab.memory.counts import Integers
from theorex_lab.memory.decay import Law, Tier, rank_order, tiers
from theorex_lab.memory.rows import Rows

MAX_STEPS = 100_000
_AGENT = "log"  # whose concepts the items are
_TOLD = (
    "Replay({items} items, {sleeping} archived; {mean_context_tokens:.0f} tokens a"
    " context; asked again {asked_again}, archived then {asleep_rate:.1%})"
)
_CODES = tuple(int(tier) for tier in Tier)
# As the columns have the tiers.
_CODE_ORDER = [int(Tier[name]) for name in ("ACTIVE", "MILD", "LESS", "SLEEPING")]
_MILD = int(Tier.MILD)
_LESS = int(Tier.LESS)
# The name of a law, its parameters, and the half-life of what it reads.
_LawKey = tuple[str, tuple[tuple[str, float], ...], float]
_COLUMNS = (
    "active mild less sleeping context_items context_tokens asked_again asked_asleep"
    " asked_absent".split()
)


def replay_log(
    recorded: EventLog,
    settings: Settings,
    *,
    every_days: float = 1.0,
    now: int | None = None,
) -> Replay:
    """Return what a memory under these settings would have held.

    Args:
        recorded: The mentions.
        settings: The settings of the memory.
        every_days: The days from one scan to the next, above 0.
        now: The end of the grid of scans, in µs UTC; the last mention by default. What
            came after it is left out.

    Returns:
        A row a scan; `.summary()` has the figures.

    Raises:
        InvalidInput: Nothing was mentioned by then, `every_days` is not above 0 or
            gives over 100,000 scans, or the settings get a law wrong.

    >>> from theorex_lab.eval.metrics.access_log import AccessLog
    >>> day = 86_400_000_000
    >>> log = AccessLog.of(
    ...     [
    ...         (0, "a", None, False),
    ...         (35 * day, "b", None, False),
    ...         (60 * day, "a", None, False),
    ...     ]
    ... )
    >>> seen = replay_log(EventLog.of(log), Settings()).summary()
    >>> seen["active"], seen["less"], seen["asked_again"], seen["asked_asleep"]
    (1, 1, 1, 1)
    """
    return replay_all(recorded, [settings], every_days=every_days, now=now)[0]


def replay_all(
    recorded: EventLog,
    settings: Sequence[Settings],
    *,
    every_days: float = 1.0,
    now: int | None = None,
) -> list[Replay]:
    """Return the `replay_log` under each of the settings.

    What does not hang on them is computed once for all.

    Args:
        recorded: The mentions.
        settings: The settings of each memory.
        every_days: The days from one scan to the next, above 0.
        now: The end of the grid of scans, in µs UTC; the last mention by default.

    Returns:
        A replay a setting, in their order.

    Raises:
        InvalidInput: As `replay_log`.
    """
    times = _grid(recorded, every_days, now)
    policies = [_Policy(recorded, each) for each in settings]
    memory = Memory(recorded)
    half_lives = tuple({each.half_life_days for each in settings})
    for now in times.tolist():
        item = np.unique(recorded.item[memory.new(now)])
        for policy in policies:
            policy.ask(item[memory.counts.count[item] > 0], item)
        memory.take_in(now, half_lives)
        rankings: dict[_LawKey, _Ranking] = {}
        for policy in policies:
            ranking = rankings.get(policy.law_key)
            if ranking is None:
                ranking = _Ranking(memory, policy.law, policy.settings)
                rankings[policy.law_key] = ranking
            policy.scan(memory, ranking)
    return [
        Replay(recorded, policy.settings, times, np.array(policy.steps, np.int64))
        for policy in policies
    ]


def _grid(
    recorded: EventLog,
    every_days: float,
    now: int | None,
) -> Integers:
    """Return times of the scans: backwards from the last to the first mention."""
    end = last_mention(recorded) if now is None else now
    first = int(recorded.time[0]) if len(recorded.time) else end + 1
    if not first <= end:
        raise InvalidInput(
            f"got no mention up to {to_iso(end)}; write something first, or give a"
            " later now"
        )
    if (
        not 0 < every_days < np.inf
        or (end - first) / MICROSECONDS_PER_DAY >= every_days * MAX_STEPS
    ):
        raise InvalidInput(
            f"got every_days {every_days!r}; allowed is above 0 with at most"
            f" {MAX_STEPS:,} scans"
        )
    step = round(every_days * MICROSECONDS_PER_DAY)
    return end - step * np.arange(
        (end - first) // step,
        -1,
        -1,
        dtype=np.int64,
    )


class _Order(NamedTuple):
    """Known items, hottest first.

    Attributes:
        positions: Their positions among the known items.
        prices: The tokens of each.
    """

    positions: Integers
    prices: Integers


class _Ranking:
    """The known items by a law at one scan, for all settings that have this law.

    Attributes:
        importance: The importance of each known item, 0 to 1.
        cheapest: The tokens of the shortest of them.
    """

    def __init__(self, memory: Memory, law: Law, settings: Settings) -> None:
        self._memory = memory
        self._raw = law.raw(memory.items(settings))
        self.importance = law.importance(self._raw)
        self._prices = memory.recorded.item_tokens[memory.rows]
        self.cheapest = int(self._prices.min())
        self._orders: dict[int, _Order] = {}

    def hottest(self, n: int) -> _Order:
        """Return the hottest items, at least so many, or all."""
        if 2 * n >= len(self._raw):
            n = len(self._raw)
        if n not in self._orders:
            self._orders[n] = self._order(n)
        return self._orders[n]

    def _order(self, n: int) -> _Order:
        raw = self._raw
        positions = np.arange(len(raw))
        if n < len(raw):  # sorting all of them is dear
            positions = np.flatnonzero(raw >= np.partition(raw, -n)[-n])
        item_ids = self._memory.rows[positions]
        order = rank_order(
            raw[positions],
            self._memory.count[positions],
            self._memory.counts.last[item_ids],
            item_ids,
        )
        ordered = positions[order]
        return _Order(ordered, self._prices[ordered])


class _Policy:
    """One setting's memory while the steps pass.

    It knows what is archived, what the context shows, and what was asked for again.
    """

    def __init__(self, recorded: EventLog, settings: Settings) -> None:
        n = len(recorded.names)
        self.settings = settings
        self.law = law_of(settings)
        params = tuple(self.law.params.items())
        self.law_key: _LawKey = (self.law.name, params, settings.half_life_days)
        self.asleep = np.zeros(n, np.bool_)
        self.shown = np.zeros(n, np.bool_)
        self.section_price = np.array([CONCEPT_HEADING_TOKENS + count_tokens(_AGENT)])
        self.asked = list[int]()
        self.steps = list[list[int]]()  # as `_COLUMNS` has them

    def ask(self, known_items: Integers, mentioned: Integers) -> None:
        """Note that known items are mentioned again since the last scan.

        A mention restores what was archived.
        """
        self.asked = [
            len(known_items),
            int(self.asleep[known_items].sum()),
            int((~self.shown[known_items]).sum()),
        ]
        self.asleep[mentioned] = False

    def scan(self, memory: Memory, ranking: _Ranking) -> None:
        """Recompute tiers and fill the context."""
        settings = self.settings
        rows = memory.rows
        tier = tiers(
            ranking.importance, settings.active_threshold, settings.mild_threshold
        )
        is_awake = tier >= _MILD
        is_due = (tier == _LESS) & (memory.age >= settings.sleep_after_days)
        is_asleep = self.asleep[rows] | is_due
        is_awake &= ~is_asleep
        tier[is_asleep] = Tier.SLEEPING
        self.asleep[rows] = is_asleep
        tier_counts = np.bincount(tier, minlength=len(_CODES))[_CODE_ORDER].tolist()
        room = TokenBudget(settings.context_tokens, used=HEADING_TOKENS)
        items = rows[self._in_context(ranking, is_awake, room)]
        self.shown[:] = False
        self.shown[items] = True
        self.steps.append(
            [
                *tier_counts,
                len(items),
                settings.context_tokens - room.left,
                *self.asked,
            ]
        )

    def _in_context(
        self, ranking: _Ranking, is_awake: Mask, room: TokenBudget
    ) -> Integers:
        """Return positions of the awake items that find room, hottest first."""
        n_fitting = max(room.left, 0) // ranking.cheapest + 1
        before = room.left
        for n_items in (2 * n_fitting, len(is_awake)):
            room.left = before
            order = ranking.hottest(n_items)
            is_candidate = is_awake[order.positions]
            candidates = order.positions[is_candidate]
            prices = order.prices[is_candidate]
            is_taken = room.fill(
                prices, np.zeros_like(prices), self.section_price, room.left
            )
            if len(order.positions) == len(is_awake) or room.left < ranking.cheapest:
                break  # else a cooler one may find room
        return candidates[is_taken]


@dataclass(frozen=True, eq=False)
class Replay(Rows[dict[str, Any]]):
    """What a memory under `settings` would have done: a row a scan.

    `.summary()` has the figures. A row holds timestamp, at_days (since the first scan), the
    items by tier, context_items, context_tokens (those charged against the budget: each
    line as of one of thirteen days, headings included), and for the time since the scan
    before asked_again (known items mentioned again), asked_asleep and asked_absent
    (those absent from the last context).
    """

    recorded: EventLog
    settings: Settings
    times: Integers
    steps: Integers

    def _records(self) -> Sequence[dict[str, Any]]:
        return self.frame.assign(
            timestamp=[to_iso(at) for at in self.times.tolist()]
        ).to_dict("records")  # type: ignore[return-value]

    @property
    def frame(self) -> pd.DataFrame:
        """Return the rows as a DataFrame, times as UTC timestamps."""
        table = pd.DataFrame(self.steps, columns=_COLUMNS)
        table.insert(
            0,
            "timestamp",
            pd.to_datetime(self.times, unit="us", utc=True),
        )
        table.insert(
            1,
            "at_days",
            (self.times - self.times[0]) / MICROSECONDS_PER_DAY,
        )
        return table

    def summary(self) -> dict[str, float]:
        """Return plain numbers.

        At the last scan: `items`, `active`, `mild`, `less`, `sleeping` (archived). Over all
        scans: means of what was not archived and what was in the context. `asked_*`:
        known items mentioned again, the archived and the absent ones among them, also
        as rates 0..1.
        """
        tier_counts = self.steps[-1, :4].tolist()
        context = self.steps[:, 4:6].mean(axis=0).tolist()
        asked = self.steps[:, 6:].sum(axis=0).tolist()
        n_asked = max(asked[0], 1)
        last_scan = {
            "items": sum(tier_counts),
            **dict(zip(_COLUMNS, tier_counts, strict=False)),
        }
        awake = float(self.steps[:, :3].sum(axis=1).mean())
        means = {
            "mean_awake": awake,
            "mean_context_items": context[0],
            "mean_context_tokens": context[1],
        }
        rates = {"asleep_rate": asked[1] / n_asked, "absent_rate": asked[2] / n_asked}
        return {
            **last_scan,
            **means,
            **dict(zip(_COLUMNS[6:], asked, strict=True)),
            **rates,
        }

    def __repr__(self) -> str:
        return _TOLD.format(**self.summary())

    def _shown(self) -> pd.DataFrame:
        return pd.DataFrame(self.summary().items(), columns=["figure", "value"])
