"""Recorded events as columns, read once, and the memory that they leave by any time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from theorex_lab.clock import EARLIEST
from theorex_lab.config import Settings
from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.scores.access_log import MAX_EVENT_ITEMS, AccessLog, together
from theorex_lab.journal.base import Journal
from theorex_lab.journal.columns import Names
from theorex_lab.journal.event import Event
from theorex_lab.lab import Lab
from theorex_lab.memory.counts import Counts, Integers, Links
from theorex_lab.memory.decay import Items, link_columns
from theorex_lab.memory.needed_next import line_tokens, name_bytes
from theorex_lab.memory.observation import FIX_TYPE

_LOG_AGENT = "log"


@dataclass(frozen=True, eq=False)
class EventLog:
    """Recorded events as columns, in the order of time; `EventLog.of` reads them.

    names, item_id, item_agent (position in `agents`), item_tokens (those of its line in a context)   of each item
    time (µs), item, count, fix_count (those in a trace_fix)   of each mention
    link_ends (two items) of each link; together_time, together_link of each time that both were mentioned
    """

    names: tuple[str, ...]
    agents: tuple[str, ...]
    item_id: Integers
    item_agent: Integers
    item_tokens: Integers
    time: Integers
    item: Integers
    count: Integers
    fix_count: Integers
    link_ends: Integers
    together_time: Integers
    together_link: Integers

    @classmethod
    def of(cls, source: Journal | Lab | AccessLog) -> EventLog:
        """The mentions in a journal, in a lab's journal, or in an access log; events whose bodies were erased are gone.

        A concept that a file stated counts as that many mentions at its last one. Of an access log an item is a
        concept of one agent, events of up to 20 items link them, and removals are left out. Raises
        InvalidInput for anything else.

        >>> log = AccessLog.of([(0, "a", "x", False), (0, "b", "x", False), (9, "a", None, False)])
        >>> EventLog.of(log)
        EventLog(3 mentions of 2 items by 1 agents)
        """
        if isinstance(source, AccessLog):
            items = {(0, number): name for number, name in enumerate(source.items)}
            one = np.ones_like(source.time)
            mentions = np.column_stack([source.time, source.item, one, 0 * one, source.event])[~source.deleted]
            return _recorded(items, [_LOG_AGENT], mentions, MAX_EVENT_ITEMS)
        if not isinstance(source, Journal | Lab):
            raise InvalidInput(f"got a {type(source).__name__} to replay; allowed are a Journal, a Lab or an AccessLog")
        journal, agents = source.journal if isinstance(source, Lab) else source, Names()
        items, rows, places = {}, [], dict[tuple[int, int], int]()
        for event in journal.tail(0, kinds=("observation", "imported")):
            for at, (concept, _, surface, count), fixes, number in _mentions(event):
                key = agents.number(event.agent), concept
                items.setdefault(key, surface)
                rows.append((at, places.setdefault(key, len(places)), count, fixes, number))
        return _recorded(items, list(agents), np.array(rows, np.int64).reshape(-1, 5), None)

    def __repr__(self) -> str:
        return f"EventLog({len(self.time)} mentions of {len(self.names)} items by {len(self.agents)} agents)"


def _mentions(event: Event) -> list[tuple[int, list[Any], int, int]]:
    """Time, concept, how often in a fix, and the event's number (-1 for a file that states it) of each mention."""
    body = event.body
    if event.kind == "observation":
        is_fix = body["type"] == FIX_TYPE
        rows = body["concepts"] if body.get("counted", True) else []
        return [(event.at, concept, concept[3] * is_fix, event.seq) for concept in rows]
    known = body["last_seen"] != EARLIEST  # else its time could not be read
    return [(body["last_seen"], body["concepts"][0], body["fix_count"], -1)] if known else []


def _recorded(items: dict[tuple[int, int], str], agents: list[str], mentions: Integers, most: int | None) -> EventLog:
    """Columns of rows (time, item, count, fix count, event); `most` items of an event are linked."""
    time, item, count, fix_count, event = np.ascontiguousarray(mentions[np.argsort(mentions[:, 0], kind="stable")].T)
    rows, link, ends = together(event, item, np.flatnonzero(event >= 0), most)
    agent, ids = np.array(list(items), np.int64).reshape(-1, 2).T
    names = tuple(items.values())
    tokens = line_tokens(np.array([name_bytes(name) for name in names], np.int64))
    return EventLog(names, tuple(agents), ids, agent, tokens, time, item, count, fix_count, ends, time[rows], link)


class Memory:
    """What is known of every item after some mentions: what laws read of it, whatever the settings.

    rows: the known items.  columns: what laws read of these by themselves.  now: µs.
    """

    def __init__(self, recorded: EventLog) -> None:
        self.recorded, self.counts = recorded, Counts.empty(len(recorded.names))
        self.fix_count = np.zeros(len(recorded.names), np.int64)
        self.links: dict[float, Links] = {}  # by half-life, by which they fade and are dropped
        self._seen = self._together = 0

    def new(self, now: int) -> slice:
        """The mentions up to `now` (µs) that were not taken in yet."""
        return slice(self._seen, int(np.searchsorted(self.recorded.time, now, "right")))

    def take_in(self, now: int, half_lives: tuple[float, ...] = ()) -> None:
        """Count all up to `now`, for links that fade by these half-lives (days)."""
        recorded, new = self.recorded, self.new(now)
        item = recorded.item[new]
        if len(item):
            self.counts.take_in(item, recorded.count[new], recorded.time[new])
            np.add.at(self.fix_count, item, recorded.fix_count[new])
        both = slice(self._together, int(np.searchsorted(recorded.together_time, now, "right")))
        for half_life in half_lives:
            links = self.links.setdefault(half_life, Links.none(recorded.link_ends))
            links.take_in(recorded.together_link[both], recorded.together_time[both])
            links.keep(links.strengths(now, half_life) > 0)
        self._seen, self._together, self.now = new.stop, both.stop, now
        self.rows = np.flatnonzero(self.counts.count)
        self.columns = self.counts.columns(now, self.rows)
        self.age, self.count = self.columns["age_days"], self.columns["count"]
        self.only_fixes = self.fix_count[self.rows] == self.count
        self._linked: dict[float, dict[str, Any]] = {}

    def items(self, settings: Settings) -> Items:
        """What the laws read of the known items."""
        half_life, links = settings.half_life_days, self.links[settings.half_life_days]
        if half_life not in self._linked:
            present, strength = links.present(self.now, half_life)
            ends = links.first[present], links.second[present]
            strongest, mean = link_columns(len(self.counts.count), *ends, strength)
            self._linked[half_life] = {"link_strength": strongest[self.rows], "mean_link_strength": mean[self.rows]}
        caps = np.where(self.only_fixes, settings.fix_half_life_days, np.inf)
        return Items.of(**self.columns, **self._linked[half_life], half_life_cap_days=caps)


def last_mention(recorded: EventLog) -> int:
    """Time of the last mention, µs. Raises InvalidInput where there is none."""
    if not len(recorded.time):
        raise InvalidInput("got a recording without a mention; write something first, or take another")
    return int(recorded.time[-1])
