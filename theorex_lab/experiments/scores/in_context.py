"""What a context would have held of what was needed next: filled by the order of a law, as far as its tokens reach."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from theorex_lab.experiments.scores.access_log import AccessLog, LogReplay, Snapshots, split
from theorex_lab.memory.decay import Law
from theorex_lab.memory.filling import HEADING_TOKENS
from theorex_lab.memory.needed_next import Candidates, needed_next


def shares_in_context(log: AccessLog, laws: Mapping[str, Law], *, tokens: int = 500) -> pd.DataFrame:
    """For each scored event, the share of what it touched that stood in a context filled just before it.

    Columns at (UTC), `oracle` (it knows what comes, and holds all that was ever seen before and finds room; what is missing
    from it is new, and in no memory), then one a law, each 0..1. Events are those that `split` leaves for scoring: laws
    that were fitted by `tune` have not seen them. Raises InvalidInput for a log that asks fewer than six questions.

    >>> day = 86_400_000_000
    >>> log = AccessLog.of([(n * day, f"file{n % 2}", None, False) for n in range(12)])
    >>> shares_in_context(log, {}, tokens=50).columns.tolist()
    ['at', 'oracle']
    """
    replaying, (_, events) = LogReplay(log), split(log)
    touched = np.bincount(log.event)[events]
    held = [_held(replaying.snapshots([event])[0], laws, tokens) for event in events.tolist()]
    shares = pd.DataFrame(np.array(held) / touched[:, None], columns=["oracle", *laws])
    shares.insert(0, "at", pd.to_datetime(log.time[log.starts[events]], unit="us", utc=True))
    return shares


def _held(before: Snapshots, laws: Mapping[str, Law], tokens: int) -> list[int]:
    """How many of the touched items the oracle's context holds, and that of each law."""
    rows, items = before.touched, before.items
    held = [int(np.count_nonzero(np.cumsum(np.sort(before.tokens[rows])) <= tokens - HEADING_TOKENS))]
    for law in laws.values():
        known = Candidates(law.raw(items), items.count, -items.age_days, before.id, before.tokens)
        held.append(int(np.count_nonzero(needed_next(known, rows, tokens).inside)))
    return held
