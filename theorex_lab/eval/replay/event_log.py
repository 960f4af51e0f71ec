"""Read an access log once, as a memory takes it in.

It gives the memory that it leaves by any time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.settings import Settings
from theorex_lab.eval.metrics.access_log import AccessLog, together
from theorex_lab.memory.counts import Counts, Integers, Links
from theorex_lab.memory.decay import Items, link_columns
from theorex_lab.memory.next_use import line_tokens, name_bytes


@dataclass(frozen=True, eq=False)
class EventLog:
    """Mentions of items as columns, in the order of time; `EventLog.of` reads them.

    Attributes:
        names: The name of each item.
        item_tokens: The tokens of each item's line in a context.
        time: When each mention was, in µs UTC.
        item: The item of each mention.
        link_ends: The two items of each link.
        together_time: Each time that both were mentioned, in µs UTC.
        together_link: The link of each such time.
    """

    names: tuple[str, ...]
    item_tokens: Integers
    time: Integers
    item: Integers
    link_ends: Integers
    together_time: Integers
    together_link: Integers

    @classmethod
    def of(cls, log: AccessLog) -> EventLog:
        """Return an access log as a memory takes it in.

        An item is a concept of one agent. Events of up to 20 items link them. Removals
        are left out.

        >>> log = AccessLog.of(
        ...     [(0, "a", "x", False), (0, "b", "x", False), (9, "a", None, False)]
        ... )
        >>> EventLog.of(log)
        EventLog(3 mentions of 2 items)
        """
        mentions = np.flatnonzero(~log.deleted)
        rows, link, ends = together(log.event, log.item, mentions)
        tokens = line_tokens(
            np.array([name_bytes(name) for name in log.items], np.int64)
        )
        return cls(
            log.items,
            tokens,
            log.time[mentions],
            log.item[mentions],
            ends,
            log.time[rows],
            link,
        )

    def __repr__(self) -> str:
        return f"EventLog({len(self.time)} mentions of {len(self.names)} items)"


class Memory:
    """What is known of every item after some mentions, whatever the settings.

    Attributes:
        rows: The known items.
        columns: What laws read of these by themselves.
        now: The present, in µs UTC.
    """

    def __init__(self, recorded: EventLog) -> None:
        self.recorded = recorded
        self.counts = Counts.empty(len(recorded.names))
        # By half-life, by which they fade and are dropped.
        self.links: dict[float, Links] = {}
        self._seen = self._together = 0

    def new(self, now: int) -> slice:
        """Return the mentions up to `now` (µs) that were not taken in yet."""
        return slice(
            self._seen,
            int(
                np.searchsorted(
                    self.recorded.time,
                    now,
                    "right",
                )
            ),
        )

    def take_in(self, now: int, half_lives: tuple[float, ...] = ()) -> None:
        """Count all up to `now`, for links that fade by these half-lives (days)."""
        recorded = self.recorded
        new = self.new(now)
        item = recorded.item[new]
        if len(item):
            self.counts.take_in(item, 1, recorded.time[new])
        both = slice(
            self._together, int(np.searchsorted(recorded.together_time, now, "right"))
        )
        for half_life in half_lives:
            links = self.links.setdefault(half_life, Links.none(recorded.link_ends))
            links.take_in(recorded.together_link[both], recorded.together_time[both])
            links.keep(links.strengths(now, half_life) > 0)
        self._seen = new.stop
        self._together = both.stop
        self.now = now
        self.rows = np.flatnonzero(self.counts.count)
        self.columns = self.counts.columns(now, self.rows)
        self.age = self.columns["age_days"]
        self.count = self.columns["count"]
        self._items: dict[float, Items] = {}

    def items(self, settings: Settings) -> Items:
        """Return what the laws read of the known items.

        Settings with one half-life share them.
        """
        half_life = settings.half_life_days
        items = self._items.get(half_life)
        if items is None:
            links = self.links[half_life]
            present, strength = links.present(self.now, half_life)
            strongest, mean = link_columns(
                len(self.counts.count),
                links.first[present],
                links.second[present],
                strength,
            )
            items = Items.of(
                **self.columns,
                link_strength=strongest[self.rows],
                mean_link_strength=mean[self.rows],
            )
            self._items[half_life] = items
        return items


def last_mention(recorded: EventLog) -> int:
    """Return the time of the last mention, in µs UTC.

    Raises:
        InvalidInput: There is none.
    """
    if not len(recorded.time):
        raise InvalidInput(
            "got a recording without a mention; write something first, or take another"
        )
    return int(recorded.time[-1])
