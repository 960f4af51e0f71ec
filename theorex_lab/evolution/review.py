"""A look back on many outcomes.

It says how often each tag won, whether it gets better, and which tags stand out.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from theorex_lab.core.light_dataclass import dataclass
from theorex_lab.evolution.outcomes import Outcomes
from theorex_lab.memory.intervals import wilson_of_one

MIN_OUTCOMES = 4  # fewer do not show a tag's trend, nor whether it wins
TREND_MARGIN = 0.1
TOP_RATE = 0.6
WEAK_RATE = 0.4
MOST_LISTED = 5
_ROUNDING = 1e-9
RISING = "rising"
DECLINING = "declining"
STEADY = "steady"


@dataclass(frozen=True)
class TagRate:
    """How often a tag's outcomes were successes.

    Attributes:
        tag: The tag.
        n: Its outcomes.
        rate: The share of successes, 0..1.
        ci_low: The lower end of its 95 % Wilson interval.
        ci_high: The upper end of it.
        trend: rising, declining or steady; None where there are fewer than four
            outcomes.
    """

    tag: str
    n: int
    rate: float
    ci_low: float
    ci_high: float
    trend: str | None


@dataclass(frozen=True)
class Review:
    """The result of a look back.

    A tag is in `top` or in `weak`, or in neither.

    Attributes:
        outcomes: How many there are.
        success_rate: None without outcomes.
        tags: Most outcomes first.
        top: Tags that win, surest first.
        weak: Tags that lose, surest first.
    """

    outcomes: int
    success_rate: float | None
    tags: list[TagRate]
    top: list[TagRate]
    weak: list[TagRate]


def look_back(
    view: Outcomes,
    *,
    agent: str | None = None,
    since: int | None = None,
    until: int | None = None,
) -> Review:
    """Return win rates of an agent's outcomes, or of all.

    A tag is top with at least four outcomes and a rate from .6, weak with a rate up to
    .4. The surest by the bound of its Wilson interval come first, five at most.

    Args:
        view: The outcomes.
        agent: The agent, None for all.
        since: The first time, in µs UTC; None for no bound.
        until: The last time, in µs UTC; None for no bound.
    """
    rows = rows_between(view, agent=agent, since=since, until=until)
    success = view.rows["success"][rows]
    tags = _tag_rates(view, rows)
    return Review(
        outcomes=len(rows),
        success_rate=float(success.mean()) if len(rows) else None,
        tags=tags,
        top=_surest_winners(tags),
        weak=_surest_losers(tags),
    )


def _surest_winners(tags: list[TagRate]) -> list[TagRate]:
    """Return the tags that win, by the lower end of their intervals."""
    winners = [tag for tag in tags if tag.n >= MIN_OUTCOMES and tag.rate >= TOP_RATE]
    winners.sort(key=lambda tag: (-tag.ci_low, tag.tag))
    return winners[:MOST_LISTED]


def _surest_losers(tags: list[TagRate]) -> list[TagRate]:
    """Return the tags that lose, by the upper end of their intervals."""
    losers = [tag for tag in tags if tag.n >= MIN_OUTCOMES and tag.rate <= WEAK_RATE]
    losers.sort(key=lambda tag: (tag.ci_high, tag.tag))
    return losers[:MOST_LISTED]


def rows_between(
    view: Outcomes,
    *,
    agent: str | None = None,
    since: int | None = None,
    until: int | None = None,
) -> NDArray[np.int64]:
    """Return the rows of outcomes of an agent, or of all, in the order of their times.

    Args:
        view: The outcomes.
        agent: The agent, None for all.
        since: The first time, in µs UTC; None for no bound.
        until: The last time, in µs UTC; None for no bound.
    """
    times = view.rows["at"]
    rows = view.select(agent=agent, since=since)
    if until is not None:
        is_before = times[rows] <= until
        rows = rows[is_before]
    order = np.argsort(times[rows], kind="stable")
    return rows[order]


def rows_by_tag(
    view: Outcomes, rows: NDArray[np.int64]
) -> dict[str, NDArray[np.int64]]:
    """Return by tag those of `rows`, in their order, that carry it."""
    position_of_row = np.full(len(view.rows), -1)
    position_of_row[rows] = np.arange(len(rows))
    positions = position_of_row[view.tagged["outcome"]]
    tags = view.tagged["tag"]
    # The entries of `tagged` about these rows, by tag, then in the order of the rows.
    entries = np.flatnonzero(positions >= 0)
    order = np.lexsort((positions[entries], tags[entries]))
    entries = entries[order]
    tag_numbers, starts = np.unique(tags[entries], return_index=True)
    entry_rows = rows[positions[entries]]
    rows_of_tags = np.split(entry_rows, starts[1:])
    pairs = zip(tag_numbers.tolist(), rows_of_tags, strict=False)
    return {view.tags[number]: tag_rows for number, tag_rows in pairs}


def trend(successes: Sequence[bool] | NDArray[np.bool_]) -> str | None:
    """Return whether the later half of outcomes won more often, by .1 or more.

    The outcomes are in the order of their times. With an odd number the middle one
    belongs to the later half. The result is None below four outcomes.

    >>> (
    ...     trend([False, False, True, True]),
    ...     trend([True, False, True, False]),
    ...     trend([True, False]),
    ... )
    ('rising', 'steady', None)
    """
    if len(successes) < MIN_OUTCOMES:
        return None
    middle = len(successes) // 2
    earlier_rate = float(np.mean(successes[:middle]))
    later_rate = float(np.mean(successes[middle:]))
    gain = later_rate - earlier_rate
    if abs(gain) < TREND_MARGIN - _ROUNDING:
        return STEADY
    return RISING if gain > 0 else DECLINING


def _tag_rates(view: Outcomes, rows: NDArray[np.int64]) -> list[TagRate]:
    """Return how often each tag won among these rows, most outcomes first."""
    rates = []
    for tag, tag_rows in rows_by_tag(view, rows).items():
        success = view.rows["success"][tag_rows]
        n = len(tag_rows)
        n_won = int(success.sum())
        ci_low, ci_high = wilson_of_one(n_won, n)
        rates.append(
            TagRate(
                tag,
                n,
                n_won / n,
                ci_low,
                ci_high,
                trend(success),
            )
        )
    return sorted(rates, key=lambda rate: (-rate.n, rate.tag))
