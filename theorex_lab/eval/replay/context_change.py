"""Say what other settings would change in a context, and whether it was used next.

A context holds the items of a log that come first under a decay law, until its tokens
are spent. Only what was recorded decays: files and concepts. Standing rules do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.settings import Settings
from theorex_lab.designs.sessions.settings import SessionSettings
from theorex_lab.eval.metrics.access_log import AccessLog, LogReplay, Snapshots
from theorex_lab.memory.briefing.token_budget import HEADING_TOKENS
from theorex_lab.memory.counts import Integers
from theorex_lab.memory.decay import Law, make_law, rank_order

NEXT_DAYS = 7.0


@dataclass(frozen=True)
class ContextPolicy:
    """What decides which items a context holds.

    Attributes:
        law: The decay law, which orders the items.
        mild_threshold: The importance below which an item is left out, 0..1.
        tokens: The budget of the context.
    """

    law: Law
    mild_threshold: float = 0.0
    tokens: int = Settings().context_tokens

    def __str__(self) -> str:
        """Return the settings in words."""
        text = law_words(self.law)
        if self.mild_threshold > 0:
            text += f", from importance {self.mild_threshold:.2f}"
        return f"{text}, {self.tokens:,} tokens"


def law_words(law: Law) -> str:
    """Return a decay law in words, with the one setting that matters most.

    >>> law_words(make_law("product")), law_words(make_law("recency"))
    ('product (half-life 14.0 days)', 'recency')
    """
    if law.name == "product":
        return f"product (half-life {law.params['half_life_days']:.1f} days)"
    if law.name == "power":
        return f"power (age^-{law.params['exponent']:.2f})"
    return law.name


def policy_in_force(log: AccessLog, tokens: int | None = None) -> ContextPolicy:
    """Return what ships for the items of a log.

    Files are ordered by the power law of the sessions, without a threshold; concepts by
    `product`, those below MILD left out.

    Args:
        log: The log.
        tokens: The budget; that of a briefing by default.

    >>> str(policy_in_force(AccessLog.of([], of_files=True)))
    'power (age^-0.75), 500 tokens'
    """
    settings = Settings()
    budget = settings.context_tokens if tokens is None else tokens
    if log.of_files:
        law = make_law("power", exponent=SessionSettings().age_power)
        return ContextPolicy(law, 0.0, budget)
    law = make_law("product", half_life_days=settings.half_life_days)
    return ContextPolicy(law, settings.mild_threshold, budget)


@dataclass(frozen=True)
class ContextChange:
    """Two contexts of the same moment.

    Attributes:
        ranking: The known items as the new settings order them, first ones first.
        n_held: How many of them the context holds.
        ranking_before: The same items as the settings order them with which the new
            ones are compared.
        n_before: How many of these that context holds.
        used: The known items that were used in the days after the moment.
        next_days: How many days the log tells of what was used next.
    """

    ranking: tuple[str, ...]
    n_held: int
    ranking_before: tuple[str, ...]
    n_before: int
    used: frozenset[str]
    next_days: float

    @property
    def held(self) -> tuple[str, ...]:
        """Return what the context holds under the new settings."""
        return self.ranking[: self.n_held]

    @property
    def before(self) -> tuple[str, ...]:
        """Return what it holds under the settings that they are compared with."""
        return self.ranking_before[: self.n_before]

    @property
    def gained(self) -> tuple[str, ...]:
        """Return what only the new context holds, first ones first."""
        return _without(self.held, self.before)

    @property
    def lost(self) -> tuple[str, ...]:
        """Return what only the other context holds, first ones first."""
        return _without(self.before, self.held)

    def n_used(self, names: Sequence[str]) -> int:
        """Return how many of these items were used next."""
        return len(self.used.intersection(names))

    def sentence(self) -> str:
        """Return in words what is gained and lost, and what was used of it.

        >>> new = ("a", "b", "c")
        >>> old = ("b", "c", "a")
        >>> ContextChange(new, 2, old, 2, frozenset("a"), 7.0).sentence()
        'Gained 1, of which 1 was used in the next 7 days; lost 1, of which 0 were used.'
        """
        if not self.gained and not self.lost:
            return "Nothing changes in the context."
        gained = self._used_in_words(self.gained)
        lost = self._used_in_words(self.lost)
        span = f"in the next {self.next_days:.2g} days"
        return f"Gained {gained} {span}; lost {lost}."

    def _used_in_words(self, names: Sequence[str]) -> str:
        """Return how many there are, and how many of them were used."""
        n_used = self.n_used(names)
        verb = "was" if n_used == 1 else "were"
        return f"{len(names)}, of which {n_used} {verb} used"


def _without(names: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    """Return the names that are not among the others, in their order."""
    left_out = {*others}
    return tuple(name for name in names if name not in left_out)


@lru_cache(maxsize=8)
def items_before(log: AccessLog, event: int) -> Snapshots:
    """Return the known items of a log as they stood before an event.

    Raises:
        InvalidInput: The log has no such event.
    """
    if not 0 <= event < log.n_events:
        raise InvalidInput(
            f"got the event {event!r} of a log with {log.n_events}; allowed are its"
            " numbers from 0"
        )
    return LogReplay(log).snapshots([event])


def ranked_for_context(
    snapshot: Snapshots, policy: ContextPolicy
) -> tuple[Integers, int]:
    """Return the rows of the known items, first ones first, and how many have room."""
    items = snapshot.items
    raw = policy.law.raw(items)
    order = rank_order(
        raw,
        items.count,
        -items.age_days,
        snapshot.id,
    )
    # Importance never rises along the order, so that what a threshold hides comes last.
    importance = policy.law.importance(raw)
    is_shown = importance >= policy.mild_threshold
    n_shown = np.count_nonzero(is_shown)
    prices = snapshot.tokens[order]
    spent = np.cumsum(prices[:n_shown])
    room = policy.tokens - HEADING_TOKENS
    n_held = np.count_nonzero(spent <= room)
    return order.astype(np.int64), int(n_held)


def context_change(
    log: AccessLog,
    event: int,
    policy: ContextPolicy,
    *,
    compared_with: ContextPolicy | None = None,
) -> ContextChange:
    """Return what other settings would change in the context before an event.

    Args:
        log: The log.
        event: The number of the event.
        policy: The other settings.
        compared_with: `policy_in_force` by default.

    Raises:
        InvalidInput: The log has no such event.

    >>> day = 86_400_000_000
    >>> log = AccessLog.of([(n * day, f"file{n % 3}", None, False) for n in range(9)])
    >>> context_change(log, 8, ContextPolicy(make_law("recency"), tokens=100)).held
    ('file1', 'file0', 'file2')
    """
    in_force = compared_with
    if in_force is None:
        in_force = policy_in_force(log)
    snapshot = items_before(log, event)
    order, n_held = ranked_for_context(snapshot, policy)
    order_before, n_before = ranked_for_context(snapshot, in_force)
    return ContextChange(
        ranking=_names(log, snapshot, order),
        n_held=n_held,
        ranking_before=_names(log, snapshot, order_before),
        n_before=n_before,
        used=_used_next(log, event, snapshot),
        next_days=_next_days(log, event),
    )


def _used_next(
    log: AccessLog,
    event: int,
    snapshot: Snapshots,
) -> frozenset[str]:
    """Return the known items that are used in the days from this event on."""
    start = log.starts[event]
    until = log.time[start] + NEXT_DAYS * MICROSECONDS_PER_DAY
    end = np.searchsorted(log.time, until, "right")
    used_items = log.item[start:end]
    is_used = np.isin(snapshot.id, used_items)
    names = _names(log, snapshot, np.flatnonzero(is_used))
    return frozenset(names)


def _next_days(log: AccessLog, event: int) -> float:
    """Return how many days from this event on the log tells of."""
    now = log.time[log.starts[event]]
    left = int(log.time[-1] - now)
    left_days = left / MICROSECONDS_PER_DAY
    return min(NEXT_DAYS, left_days)


def _names(
    log: AccessLog,
    snapshot: Snapshots,
    rows: Integers,
) -> tuple[str, ...]:
    """Return the names of these rows."""
    item_ids = snapshot.id[rows].tolist()
    return tuple(log.items[item] for item in item_ids)
