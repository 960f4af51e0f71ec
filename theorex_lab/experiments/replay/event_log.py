"""Recorded events as columns, read once, and the memory that they leave by any time, whatever the settings."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from theorex_lab.clock import EARLIEST, MICROSECONDS_PER_DAY
from theorex_lab.config import Settings
from theorex_lab.designs.theorex.confirm import short_id
from theorex_lab.designs.theorex.sentences import dedup_key, is_heard
from theorex_lab.designs.theorex.short_term import ShortTerm
from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.scores.access_log import MAX_EVENT_ITEMS, AccessLog, together
from theorex_lab.experiments.scores.fitting import Curve
from theorex_lab.journal.base import Journal
from theorex_lab.journal.columns import Columns, Names
from theorex_lab.journal.event import Event
from theorex_lab.lab import Lab
from theorex_lab.memory.counts import Counts, Integers, Links
from theorex_lab.memory.decay import Floats, Items, Law, link_columns
from theorex_lab.memory.needed_next import name_bytes
from theorex_lab.memory.observation import AVOID_TYPE, FIX_TYPE, TRUST, owner_of
from theorex_lab.text.line import one_line

N = TypeVar("N", int, Integers)

_LOG_AGENT = "log"


@dataclass(frozen=True, eq=False)
class EventLog:
    """Recorded events as columns, in the order of time; `EventLog.of` reads them.

    names, item_id, item_agent (position in `agents`), item_bytes (escaped and plain)   of each item
    time (µs), item, count, fix_count (those in a trace_fix), trust, event (number of what mentions it, -1 for a file that
        states it)   of each mention
    link_ends (two items) of each link; together_time, together_link of each time that both were mentioned
    sentence_time, sentence_owner (position in `owners`), sentence_text (position in `sentence_texts`), sentence_bytes,
    sentence_avoid (1 where it says what to avoid), sentence_same (equal for those of which a context holds the newest),
    sentence_heard (-1 for the owner's own words, else the number of who it was heard from, as `source_number` gives it)
        of each trace fix and each `avoid`
    short_term: as `ShortTerm` has them
    """

    names: tuple[str, ...]
    agents: tuple[str, ...]
    owners: tuple[str, ...]
    sentence_texts: tuple[str, ...]
    item_id: Integers
    item_agent: Integers
    item_bytes: Integers
    time: Integers
    item: Integers
    count: Integers
    fix_count: Integers
    trust: Integers
    event: Integers
    link_ends: Integers
    together_time: Integers
    together_link: Integers
    sentence_time: Integers
    sentence_owner: Integers
    sentence_text: Integers
    sentence_bytes: Integers
    sentence_avoid: Integers
    sentence_same: Integers
    sentence_heard: Integers
    short_term: Columns

    @classmethod
    def of(cls, source: Journal | Lab | AccessLog) -> EventLog:
        """The mentions in a journal, in a lab's journal, or in an access log; events whose bodies were erased are gone.

        A concept that a file stated counts as that many mentions at its last one. Of an access log an item is a
        concept of one trusted agent, events of up to 20 items link them, and removals are left out. Raises
        InvalidInput for anything else.

        >>> log = AccessLog.of([(0, "a", "x", False), (0, "b", "x", False), (9, "a", None, False)])
        >>> EventLog.of(log)
        EventLog(3 mentions of 2 items by 1 agents)
        """
        reader = _Reader()
        if isinstance(source, AccessLog):
            reader.read_log(source)
        elif isinstance(source, Journal | Lab):
            reader.read_journal(source.journal if isinstance(source, Lab) else source)
        else:
            raise InvalidInput(f"got a {type(source).__name__} to replay; allowed are a Journal, a Lab or an AccessLog")
        return reader.recorded()

    def __repr__(self) -> str:
        return f"EventLog({len(self.time)} mentions of {len(self.names)} items by {len(self.agents)} agents)"


_COLUMN_NAMES = tuple(field.name for field in fields(EventLog)[4:-1])


class _Reader:
    """Columns while the events pass by."""

    def __init__(self) -> None:
        self.agents, self.owners, self.texts, self.short_term = Names(), Names(), Names(), ShortTerm()
        self.items: dict[tuple[int, int], int] = {}
        self.names: list[str] = []
        self.mentions: Any = []  # time, item, count, fix_count, trust, event
        self.most_at_once: int | None = None  # items of an event that are linked
        self.sentences: list[tuple[int, ...]] = []  # time, owner, text, bytes, avoid, same, heard
        self.confirmed: set[str] = set()
        self.same: dict[Hashable, int] = {}

    def read_journal(self, journal: Journal) -> None:
        said = journal.tail(0, kinds=("confirmed",))
        self.confirmed = {event.body["observation_id"] for event in said}
        for event in journal.tail(0, kinds=("observation", "imported", "short_term", "imported_links")):
            if event.kind == "observation":
                self._observation(event)
            elif event.kind == "imported":
                self._imported(event)
            else:
                self.short_term.fold([event])
        records = self.short_term.records
        for agent, concept, surface in zip(*(records[name].tolist() for name in ("agent", "concept_id", "surface")), strict=True):  # fmt: skip
            self._item(self.agents.number(self.short_term.agents[agent]), concept, self.short_term.labels[surface])

    def read_log(self, log: AccessLog) -> None:
        agent, one = self.agents.number(_LOG_AGENT), np.ones_like(log.time)
        self.items, self.names = {(agent, number): number for number in range(len(log.items))}, list(log.items)
        columns = [log.time, log.item, one, 0 * one, TRUST["agent"] * one, log.event]
        self.mentions, self.most_at_once = np.column_stack(columns)[~log.deleted], MAX_EVENT_ITEMS

    def _observation(self, event: Event) -> None:
        body, agent = event.body, self.agents.number(event.agent)
        is_fix, trust = body["type"] == FIX_TYPE, TRUST[body["source"]]
        if body["type"] in (FIX_TYPE, AVOID_TYPE):
            heard = is_heard(event) and event.id not in self.confirmed
            said = owner_of(event) + (",confirmed" if event.id in self.confirmed and is_heard(event) else "")
            same = self.same.setdefault(dedup_key(event, heard=heard), len(self.same))
            text = one_line(body["text"])
            size = len(text.encode()) + (len(f", id {short_id(event.id)}".encode()) if heard else 0)
            numbers = self.owners.number(said), self.texts.number(text), size, int(not is_fix), same
            self.sentences.append((event.at, *numbers, source_number(agent, trust) if heard else -1))
        if not body.get("counted", True):
            return
        for concept, _, surface, count in body["concepts"]:
            item = self._item(agent, concept, surface)
            self.mentions.append((event.at, item, count, count * is_fix, trust, event.seq))

    def _imported(self, event: Event) -> None:
        body = event.body
        concept, _, surface, count = body["concepts"][0]
        if body["last_seen"] != EARLIEST:  # else its time could not be read
            item = self._item(self.agents.number(event.agent), concept, surface)
            self.mentions.append((body["last_seen"], item, count, body["fix_count"], TRUST[body["source"]], -1))

    def _item(self, agent: int, concept: int, name: str) -> int:
        item = self.items.setdefault((agent, concept), len(self.names))
        if item == len(self.names):
            self.names.append(name)
        return item

    def recorded(self) -> EventLog:
        agents, ids = np.array(list(self.items), np.int64).reshape(-1, 2).T
        sizes = [(name_bytes(name), len(one_line(name).encode())) for name in self.names]
        time, item, *counted, event = _by_time(self.mentions, 6)
        rows, link, ends = together(event, item, np.flatnonzero(event >= 0), self.most_at_once)
        columns = (  # as `_COLUMN_NAMES` has them
            ids, agents, np.array(sizes, np.int64).reshape(-1, 2),
            time, item, *counted, event,
            ends, time[rows], link,
            *_by_time(self.sentences, 7),
        )  # fmt: skip
        return EventLog(
            tuple(self.names), tuple(self.agents), tuple(self.owners), tuple(self.texts),
            **dict(zip(_COLUMN_NAMES, map(np.ascontiguousarray, columns), strict=True)),
            short_term=self.short_term.columns(),
        )  # fmt: skip


def source_number(agent: N, trust: N) -> N:
    """A number for each agent and each trust below `agent`, of one or of whole columns."""
    return TRUST["agent"] * agent + trust


def _by_time(rows: Any, width: int) -> Integers:
    """The rows as columns, by time, which the first holds."""
    columns = np.array(rows, np.int64).reshape(-1, width).T
    return columns[:, np.argsort(columns[0], kind="stable")]


class Memory:
    """What is known of every item after some mentions, under any settings."""

    def __init__(self, recorded: EventLog) -> None:
        n = len(recorded.names)
        self.counts = Counts.empty(n)
        self.fix_count, self.trust = np.zeros(n, np.int64), np.zeros(n, np.int64)

    def take_in(self, mentions: Columns, *, fade: bool = True) -> None:
        """Count mentions: columns item, time, count, fix_count and trust; `fade`: see `Counts.take_in`."""
        item = mentions["item"]
        if len(item):
            self.counts.take_in(item, mentions["count"], mentions["time"], fade=fade)
            np.add.at(self.fix_count, item, mentions["fix_count"])
            np.maximum.at(self.trust, item, mentions["trust"])


class KnownItems:
    """The known items at one time: what laws and context lines need of them, whatever the settings."""

    def __init__(self, recorded: EventLog, memory: Memory, now: int) -> None:
        self.recorded, self.memory, self.now = recorded, memory, now
        self.rows = np.flatnonzero(memory.counts.count)
        self.last = memory.counts.last[self.rows]
        self.columns = memory.counts.columns(now, self.rows)
        self.age, self.count = self.columns["age_days"], self.columns["count"]
        self.only_fixes = memory.fix_count[self.rows] == self.count
        self.linked: dict[float, tuple[Integers, Floats, Floats]] = {}  # by half-life, since several settings share one

    def items(self, settings: Settings, law: Law, links: Links) -> Items:
        """What this law reads of the known items."""
        counts, half_life = self.memory.counts, settings.half_life_days
        if half_life not in self.linked:
            present, strength = links.present(self.now, half_life)
            ends = links.first[present], links.second[present]
            strongest, mean = link_columns(len(counts.count), *ends, strength)
            self.linked[half_life] = present, strongest[self.rows], mean[self.rows]
        present, link_strength, mean_link_strength = self.linked[half_life]
        activity: Any = 0.0
        if law.params.get("weight_linked"):
            activity = links.activity(present, counts, self.now)[self.rows]
        return Items.of(
            **self.columns,
            link_strength=link_strength,
            mean_link_strength=mean_link_strength,
            linked_activity=activity,
            half_life_cap_days=np.where(self.only_fixes, settings.fix_half_life_days, np.inf),
        )


def memory_at(recorded: EventLog, at: int | None = None, *, fade: bool = True) -> tuple[KnownItems, Links]:
    """The items and links that the mentions up to `at` (µs; default: all) left, graduations apart.

    Without `fade` there are no decayed counts, which take most of the time.
    """
    now = last_mention(recorded) if at is None else at
    memory, links = Memory(recorded), Links.none(recorded.link_ends)
    memory.take_in(mentions_in(recorded, slice(0, int(np.searchsorted(recorded.time, now, "right")))), fade=fade)
    upto = int(np.searchsorted(recorded.together_time, now, "right"))
    links.take_in(recorded.together_link[:upto], recorded.together_time[:upto])
    return KnownItems(recorded, memory, now), links


def mentions_in(recorded: EventLog, where: slice) -> Columns:
    """These mentions, as `Memory.take_in` reads them."""
    return {name: getattr(recorded, name)[where] for name in ("item", "time", "count", "fix_count", "trust")}


def last_mention(recorded: EventLog) -> int:
    """Time of the last mention, µs. Raises InvalidInput where there is none."""
    if not len(recorded.time):
        raise InvalidInput("got a recording without a mention; write something first, or take another")
    return int(recorded.time[-1])


def survival(recorded: EventLog, *, until: str = "reuse", idle_days: float = 30.0, now: int | None = None) -> Curve:
    """Kaplan-Meier estimate of the time until an item's next use (`reuse`), or from its first to its last (`last_use`).

    A mention that nothing followed by `now` (µs; default: the last mention) is cut off there. For `last_use` an item
    unused for `idle_days` or more by then has had its last use; any other is cut off. Columns as of `kaplan_meier`.
    Raises InvalidInput for another `until`, `idle_days` that is not above 0, and where nothing was mentioned by `now`.
    """
    if until not in ("reuse", "last_use") or not idle_days > 0:
        raise InvalidInput(
            f"got until {until!r} and idle_days {idle_days!r}; allowed are reuse, last_use and days above 0"
        )
    end = last_mention(recorded) if now is None else now
    n = int(np.searchsorted(recorded.time, end, "right"))
    order = np.argsort(recorded.item[:n], kind="stable")
    item, days = recorded.item[order], (recorded.time[order] - end) / MICROSECONDS_PER_DAY
    if until == "reuse":
        followed = np.append(item[1:] == item[:-1], False)[:n]
        return kaplan_meier(np.where(followed, np.roll(days, -1), 0.0) - days, followed)
    starts = np.flatnonzero(np.diff(item, prepend=-1))
    last = days[np.append(starts[1:], n) - 1] if n else days
    return kaplan_meier(last - days[starts], -last >= idle_days)


def kaplan_meier(days: ArrayLike, ended: ArrayLike) -> Curve:
    """The share that lasts longer than each time at which one ended, from durations of which some were cut off.

    days: 0 or more, shape (n,); ended: whether it ended then (True) or was cut off. Columns at_days (from 0), surviving
    (0..1) with its 95 % interval low and high (Greenwood's variance), at_risk, ended. Raises InvalidInput for no
    durations, ones below 0 or NaN, or of another length. Source: Kaplan and Meier (1958).

    >>> kaplan_meier([1.0, 2.0, 3.0], [True, False, True]).columns["surviving"].round(3).tolist()
    [1.0, 0.667, 0.0]
    """
    lasted, over = np.asarray(days, np.float64), np.asarray(ended, np.bool_)
    if not len(lasted) or lasted.shape != over.shape or not (lasted >= 0).all():
        raise InvalidInput(
            f"got {lasted.shape} durations with {over.shape} marks; allowed are as many of each, at least one, days from 0"
        )
    at, deaths = np.unique(np.append(0.0, lasted[over]), return_counts=True)
    deaths[0] -= 1  # the 0 put in front is no end
    at_risk = len(lasted) - np.searchsorted(np.sort(lasted), at, "left")
    surviving = np.cumprod(1.0 - deaths / at_risk)
    rest = np.maximum(at_risk - deaths, 1)
    spread = 1.959964 * surviving * np.sqrt(np.cumsum(deaths / (at_risk * rest)))
    columns = {"at_days": at, "surviving": surviving, "low": np.maximum(surviving - spread, 0.0)}
    columns |= {"high": np.minimum(surviving + spread, 1.0), "at_risk": at_risk, "ended": deaths}
    return Curve(columns)
