"""A look back on many outcomes: how often each tag won, whether it gets better, and
which tags stand out.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theorex_lab.evolution.outcomes import Outcomes
from theorex_lab.memory.intervals import wilson_of_one

MIN_OUTCOMES = 4  # fewer say nothing of a tag's trend, nor whether it wins
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
    """How often a tag's outcomes were successes: `rate` of `n` with its 95 % Wilson
    interval, all 0..1.

    trend: rising, declining or steady; None where there are fewer than four outcomes.
    """

    tag: str
    n: int
    rate: float
    low: float
    high: float
    trend: str | None


@dataclass(frozen=True)
class Review:
    """What a look back found.

    success_rate: None without outcomes.  tags: most outcomes first.  top, weak: tags
    that win or lose, surest first; a tag is in one of them at most.
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
    """Win rates of an agent's outcomes, or of all, with since ≤ time ≤ until (µs UTC;
    None: no bound).

    A tag is top with at least four outcomes and a rate from .6, weak with a rate up to
    .4; the surest by the bound of its Wilson interval come first, five at most.
    """
    rows = rows_between(view, agent=agent, since=since, until=until)
    success = view.rows["success"][rows]
    tags = _tag_rates(view, rows)
    enough = [tag for tag in tags if tag.n >= MIN_OUTCOMES]
    top = sorted(
        (tag for tag in enough if tag.rate >= TOP_RATE),
        key=lambda tag: (-tag.low, tag.tag),
    )
    weak = sorted(
        (tag for tag in enough if tag.rate <= WEAK_RATE),
        key=lambda tag: (tag.high, tag.tag),
    )
    rate = float(success.mean()) if len(rows) else None
    return Review(len(rows), rate, tags, top[:MOST_LISTED], weak[:MOST_LISTED])


def rows_between(
    view: Outcomes,
    *,
    agent: str | None = None,
    since: int | None = None,
    until: int | None = None,
) -> NDArray[np.int64]:
    """Rows of the outcomes of an agent, or of all, in these times (µs), in the order of
    their times.
    """
    rows = view.select(agent=agent, since=since)
    at = view.rows["at"][rows]
    rows, at = (rows, at) if until is None else (rows[at <= until], at[at <= until])
    return rows[np.argsort(at, kind="stable")]


def rows_by_tag(
    view: Outcomes, rows: NDArray[np.int64]
) -> dict[str, NDArray[np.int64]]:
    """tag -> those of `rows`, in their order, that carry it."""
    place = np.full(len(view.rows), -1)
    place[rows] = np.arange(len(rows))
    places = place[view.tagged["outcome"]]
    tags = view.tagged["tag"]
    chosen = np.flatnonzero(places >= 0)
    chosen = chosen[np.lexsort((places[chosen], tags[chosen]))]
    numbers, starts = np.unique(tags[chosen], return_index=True)
    parts = np.split(rows[places[chosen]], starts[1:])
    return {
        view.tags[number]: part
        for number, part in zip(numbers.tolist(), parts, strict=False)
    }


def trend(successes: Sequence[bool] | NDArray[np.bool_]) -> str | None:
    """Whether the later half of outcomes in the order of their times won more often, by
    .1 or more; None below four.

    Of an odd number the one in the middle belongs to the later half.

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
    gain = float(np.mean(successes[middle:])) - float(np.mean(successes[:middle]))
    if abs(gain) < TREND_MARGIN - _ROUNDING:
        return STEADY
    return RISING if gain > 0 else DECLINING


def _tag_rates(view: Outcomes, rows: NDArray[np.int64]) -> list[TagRate]:
    found = []
    for tag, own in rows_by_tag(view, rows).items():
        success = view.rows["success"][own]
        n = len(own)
        won = int(success.sum())
        found.append(TagRate(tag, n, won / n, *wilson_of_one(won, n), trend(success)))
    return sorted(found, key=lambda tag: (-tag.n, tag.tag))
