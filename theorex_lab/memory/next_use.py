"""Measure decay laws by the rank of the next used item, before it is used.

The items are ranked within the budget of a context. This is the one measure of a decay
law, for the acceptance test and `tune`. Before a use the known items of all agents are
ranked together, since all agents get one context, and in the order of the context: by
raw score, then count, then last use, then id. The context takes
lines in that order until its tokens are spent (tokens, since they are what a line costs
a reader; every line is priced as one of thirteen days, so that no law gains by an
item's age) and none whose importance is below the MILD threshold. The score is 1 / rank
of the first needed item in the context, or 0 where it holds none: a reader reads the
first lines with most care. An item that was not known yet does not count, since no law
could have ranked it.

The caller chooses the questions. A log has many uses of 1 to 20 items at once: the last
third is scored, and laws are chosen on the part before. More items at once, such as a
reformatting, say little about what was needed. A home has few outcomes: all of them
count, halved into earlier and later ones, and weighed by how good they were. `tune`
fits laws to logs before there are thresholds and ranks without the strengths of links,
which differ by half-life.
"""

import numpy as np
from numpy.typing import NDArray

from theorex_lab.core.light_dataclass import dataclass
from theorex_lab.memory.briefing import token_budget
from theorex_lab.text.line import escape, one_line

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Numbers = Floats | Integers
Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]
MOST_AT_ONCE = 20
_NOTE_BYTES = len(" _(13 days)_")  # what a concept's line says beside its name


def name_bytes(name: str) -> int:
    """Return the bytes in UTF-8 of a name as a briefing's line shows it."""
    shown = escape(one_line(name))
    return len(shown.encode())


def line_tokens(bytes_of_name: token_budget.Size) -> token_budget.Size:
    """Return the tokens of a line of a briefing by `name_bytes`.

    The bytes are a number, or an array of them.

    >>> line_tokens(name_bytes("cache *stampede*"))
    9
    """
    return token_budget.price_of(bytes_of_name + _NOTE_BYTES)


_SHORTEST_TOKENS = line_tokens(1)


@dataclass(frozen=True)
class Candidates:
    """The items known before a use, row by row.

    They have their scores, what orders equal ones, and their lines' tokens.
    """

    raw: Floats
    count: Numbers
    last: Numbers
    ids: Integers
    tokens: Integers


@dataclass(frozen=True)
class NeedRanks:
    """Where the needed items stood.

    These are their rows, their ranks from 1 on, and whether the budget reached them.
    """

    rows: Rows
    ranks: Rows
    inside: Mask

    def score(
        self, importance: Floats | None = None, mild_threshold: float = 0.0
    ) -> float:
        """Return 1 / rank of the first needed item in the briefing; 0 without one.

        Args:
            importance: The importance of every candidate, 0..1.
            mild_threshold: The lowest importance that a briefing shows.
        """
        shown = self.inside
        if importance is not None:
            is_mild = importance[self.rows] >= mild_threshold
            shown = shown & is_mild
        if not shown.any():
            return 0.0
        foremost = self.ranks[shown].min()
        return float(1.0 / foremost)


def needed_next(candidates: Candidates, rows: Rows, context_tokens: int) -> NeedRanks:
    """Return how high these rows of the candidates, one or more, ranked.

    It says also whether a briefing of so many tokens held them.

    >>> zeros = np.zeros(3, np.int64)
    >>> known = Candidates(
    ...     np.array([0.2, 0.9, 0.2]), zeros, zeros, np.arange(3), zeros + 10
    ... )
    >>> asked = needed_next(known, np.array([0, 2]), token_budget.HEADING_TOKENS + 20)
    >>> asked.ranks.tolist(), asked.inside.tolist(), asked.score()
    ([2, 3], [True, False], 0.5)
    """
    raw = candidates.raw
    room = context_tokens - token_budget.HEADING_TOKENS
    needed_raw = raw[rows, None]
    # By needed row, which candidates stand before it.
    ahead = raw > needed_raw
    needed, level = np.nonzero(raw == needed_raw)
    if len(needed) > len(rows):  # else each is level with itself alone
        first = _comes_first(candidates, level, rows[needed])
        needed = needed[first]
        level = level[first]
        ahead[needed, level] = True
    ranks = 1 + np.count_nonzero(ahead, axis=1)
    inside = ranks <= room // _SHORTEST_TOKENS
    tokens = candidates.tokens
    for number in np.flatnonzero(inside).tolist():
        used = tokens[ahead[number]].sum()
        row = rows[number]
        inside[number] = used + tokens[row] <= room
    return NeedRanks(rows, ranks, inside)


def _comes_first(candidates: Candidates, rows: Rows, others: Rows) -> Mask:
    """Return whether each row comes before another of the same raw score.

    Their order is that of `rank_order`.
    """
    count = candidates.count[rows]
    other_count = candidates.count[others]
    last = candidates.last[rows]
    other_last = candidates.last[others]
    is_lower_id = candidates.ids[rows] < candidates.ids[others]
    by_id = (last == other_last) & is_lower_id
    is_later = (last > other_last) | by_id
    by_time = (count == other_count) & is_later
    return np.asarray((count > other_count) | by_time)
