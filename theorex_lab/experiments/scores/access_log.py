"""Replay of a log of accesses: what was known before each event, and how well an order of it foretold the event.

The question asked of a law: before every event of 1 to 20 items, at least one of them known, rank every known
item that is not deleted. MRR is the mean of `needed_next`, that is 1 / rank of the first item touched, or 0 where a
context has no room for it; recall@10 the mean share of the touched items among the first ten. The last third of such
events, 1,500 at most, is scored; the events before them are there to train on.

Bounds for big logs: the scored part holds at most 4 million (event, item) rows, beyond which its events are thinned
evenly; training looks at 1,500 events, thinned at 16 million rows, and in each at the 64 foremost items of every
column.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theorex_lab.clock import EARLIEST, LATEST, MICROSECONDS_PER_DAY
from theorex_lab.config import Settings
from theorex_lab.errors import InvalidInput
from theorex_lab.memory.counts import Counts, Integers
from theorex_lab.memory.decay import Floats, Items, group_activity, linked_activity
from theorex_lab.memory.needed_next import MOST_AT_ONCE, Candidates, line_tokens, name_bytes, needed_next

if TYPE_CHECKING:
    import pandas as pd

Booleans = NDArray[np.bool_]

MAX_EVENT_ITEMS = MOST_AT_ONCE
MAX_SCORED = 1_500
MAX_TRAINED = 1_500
MAX_ROWS = 4_000_000
MAX_ROWS_TRAINED = 16_000_000  # looked at, not kept: of each event only the foremost items stay in memory
POOL = 64
MIN_QUESTIONS = 6
RECALL_AT = 10
CONTEXT_TOKENS: int = Settings.tunables["context_tokens"].default
ACTIVE_LINK_DAYS = 5.0  # ten half-lives of linked activity: what is older adds less than a thousandth
MAX_ACTIVE_ITEMS = 256


@dataclass(frozen=True, eq=False)
class AccessLog:
    """A log of accesses in order of time: which items each event touched.

    items    names of shape (n_items,)
    time     microseconds since 1970-01-01 UTC of each access, shape (n,), never falling
    item     position in `items` of each access
    event    number of the event (a commit, a message) of each access: 0, 1, 2, … without a gap
    deleted  whether the access removed the item; it is unknown until it is touched again
    group    a group's number for each item (its folder), shape (n_items,), or None
    unreadable  what a lenient reader could not read: each row's number and the reason

    An event's accesses share one time and touch each item once. `AccessLog.of` brings any rows into this form.
    Raises InvalidInput naming every column that breaks a rule.
    """

    items: tuple[str, ...]
    time: Integers
    item: Integers
    event: Integers
    deleted: Booleans
    group: Integers | None = None
    unreadable: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        n, n_items = len(self.time), len(self.items)
        wrong = [
            f"{name} of length {len(getattr(self, name))} (allowed: {n}, as time)"
            for name in ("item", "event", "deleted")
            if len(getattr(self, name)) != n
        ]
        if self.group is not None and len(self.group) != n_items:
            wrong.append(f"group of length {len(self.group)} (allowed: {n_items}, as items)")
        if not wrong and n:
            wrong = self._broken_rules()
        if wrong:
            raise InvalidInput("access log got " + "; ".join(wrong))

    def _broken_rules(self) -> list[str]:
        step, same = np.diff(self.event), np.diff(self.event) == 0
        keys = self.event * len(self.items) + self.item
        rules = {
            f"item outside 0..{len(self.items) - 1}": self.item.min() < 0 or self.item.max() >= len(self.items),
            "time outside the years 1 to 9999": self.time.min() < EARLIEST or self.time.max() > LATEST,
            "time that falls (allowed: in order)": (np.diff(self.time) < 0).any(),
            "event not 0, 1, 2, … without a gap": self.event[0] != 0 or (step < 0).any() or (step > 1).any(),
            "an event of two times": (np.diff(self.time)[same] != 0).any(),
            "an event that touches an item twice": len(np.unique(keys)) < len(keys),
        }
        return [rule for rule, broken in rules.items() if broken]

    @classmethod
    def of(
        cls,
        rows: Iterable[tuple[int, str, object, bool]],
        group_of: Callable[[str], str] | None = None,
        unreadable: Iterable[str] = (),
    ) -> AccessLog:
        """From rows of (time in microseconds, item, event or None, deleted), in any order of time.

        Rows of one event become one event at its earliest time; a row without an event is one by itself.
        Where an event names an item twice, its last row tells whether it was deleted. `group_of` gives an
        item's group.

        >>> AccessLog.of([(5, "b", None, False), (1, "a", "x", False), (1, "b", "x", False)]).n_events
        2
        """
        import pandas as pd

        columns, names = _numbered(rows)
        table = _without_repeats(pd.DataFrame(columns.T, columns=["time", "item", "event", "deleted"]))
        item, known = pd.factorize(table["item"])  # in the order of their first access
        items = tuple(names[number] for number in known.tolist())
        return cls(
            items=items,
            time=table["time"].to_numpy(),
            item=item,
            event=pd.factorize(table["event"])[0],
            deleted=table["deleted"].to_numpy(np.bool_),
            group=None if group_of is None else pd.factorize(np.array([group_of(name) for name in items], object))[0],
            unreadable=tuple(unreadable),
        )

    @property
    def n_events(self) -> int:
        """Number of events."""
        return int(self.event[-1]) + 1 if len(self.event) else 0

    def __repr__(self) -> str:
        return f"AccessLog({self.n_events} events, {len(self.time)} accesses, {len(self.items)} items)"


def _numbered(rows: Iterable[tuple[int, str, object, bool]]) -> tuple[Integers, list[str]]:
    """Rows as numbers, shape (4, n): time, item, event, deleted; and the items' names. One row after the other is read."""
    columns = tuple(array("q") for _ in range(4))
    items: dict[str, int] = {}
    events: dict[object, int] = {}
    alone = 0  # events of one row each, which nothing looks up
    for time, item, event, deleted in rows:
        if event is None:
            number = len(events) + alone
            alone += 1
        else:
            number = events.setdefault(event, len(events) + alone)
        for column, value in zip(columns, (time, items.setdefault(item, len(items)), number, deleted), strict=True):
            column.append(value)
    return np.array([np.frombuffer(column, np.int64) for column in columns]).reshape(4, -1), list(items)


def _without_repeats(table: pd.DataFrame) -> pd.DataFrame:
    """Accesses in order: by the earliest time of their event, then by the event's first row, then by their own.

    Of an item that an event names twice the first row tells the place, the last whether it was deleted.
    """
    by_event, by_access = table.groupby("event"), table.groupby(["event", "item"])
    first_row = table.index.to_series().groupby(table["event"]).transform("min")
    once = table.assign(
        time=by_event["time"].transform("min"), deleted=by_access["deleted"].transform("last"), first_row=first_row
    ).drop_duplicates(["event", "item"])
    return once.sort_values(["time", "first_row"], kind="stable")


@dataclass(frozen=True, eq=False)
class Snapshots:
    """The known items before each of some events, stacked: rows offsets[k]..offsets[k+1] belong to snapshot k.

    Within a snapshot the most recent item comes first; `id` is its position in the log's items, `tokens` what its line
    takes in a context. `touched` holds, snapshot by snapshot, the rows that the
    event touched (bounds in `touched_offsets`); `reuse_days` the days until each row's next use (inf: never
    again); `at_days` each snapshot's time in days since the log began; `event` its event.
    """

    items: Items
    id: Integers
    tokens: Integers
    offsets: Integers
    touched: Integers
    touched_offsets: Integers
    reuse_days: Floats
    at_days: Floats
    event: Integers

    def __len__(self) -> int:
        return len(self.event)

    def part(self, first: int, last: int) -> Snapshots:
        """The snapshots first..last-1."""
        low, high = self.offsets[first], self.offsets[last]
        touched_low, touched_high = self.touched_offsets[first], self.touched_offsets[last]
        return Snapshots(
            items=self.items.take(slice(low, high)),
            id=self.id[low:high],
            tokens=self.tokens[low:high],
            offsets=self.offsets[first : last + 1] - low,
            touched=self.touched[touched_low:touched_high] - low,
            touched_offsets=self.touched_offsets[first : last + 1] - touched_low,
            reuse_days=self.reuse_days[low:high],
            at_days=self.at_days[first:last],
            event=self.event[first:last],
        )


class _Memory:
    """The state of all items of a log while its events pass by."""

    def __init__(self, log: AccessLog) -> None:
        n = len(log.items)
        self.log = log
        self.days = (log.time - log.time[0]) / MICROSECONDS_PER_DAY
        self.bounds = np.searchsorted(log.event, np.arange(log.n_events + 1))
        self.live = np.zeros(n, dtype=np.bool_)
        self.counts = Counts.empty(n)
        self.next_use = np.full(n, np.inf)
        self.following = self._following_use()
        self._build_links(n)

    def _following_use(self) -> Floats:
        import pandas as pd

        return pd.Series(self.days).groupby(self.log.item).shift(-1, fill_value=np.inf).to_numpy()

    def _build_links(self, n: int) -> None:
        """Every pair that the log will ever hold, sorted, so that counting one is an addition at its place."""
        keys = [np.empty(0, dtype=np.int64)]
        lengths = np.zeros(self.log.n_events + 1, dtype=np.int64)
        for event in np.flatnonzero((np.diff(self.bounds) > 1) & (np.diff(self.bounds) <= MAX_EVENT_ITEMS)):
            items = self.log.item[self.bounds[event] : self.bounds[event + 1]]
            pairs = (items[:, None] * n + items)[~np.eye(len(items), dtype=np.bool_)]
            keys.append(pairs)
            lengths[event + 1] = len(pairs)
        pair, self.pair_of = np.unique(np.concatenate(keys), return_inverse=True)
        self.pair_bounds = np.cumsum(lengths)
        self.neighbour = pair % n
        self.links_from = np.searchsorted(pair // n, np.arange(n + 1))
        self.co_count = np.zeros(len(pair))

    def pass_events(self, first: int, end: int) -> None:
        """Take in the events first..end-1; of what an item's rows set the last one stays."""
        rows = slice(self.bounds[first], self.bounds[end])
        items = self.log.item[rows]
        self.counts.take_in(items, 1, self.log.time[rows])
        self.live[items] = ~self.log.deleted[rows]
        self.next_use[items] = self.following[rows]
        np.add.at(self.co_count, self.pair_of[self.pair_bounds[first] : self.pair_bounds[end]], 1.0)

    def known(self) -> Integers:
        """The live items, most recent first."""
        live = np.flatnonzero(self.live)
        return live[np.argsort(-self.counts.last[live], kind="stable")]

    def columns(self, known: Integers, now: int) -> dict[str, Floats]:
        """The columns of `Items` at this time, µs."""
        columns = self.counts.columns(now, known)
        columns["linked_activity"] = self._linked(known, columns["age_days"])
        if self.log.group is not None:
            columns["group_activity"] = group_activity(self.log.group[known], columns["decayed_counts"])
        return columns

    def _linked(self, known: Integers, age: Floats) -> Floats:
        active = known[: min(int(np.searchsorted(age, ACTIVE_LINK_DAYS)), MAX_ACTIVE_ITEMS)]
        starts, degree = self.links_from[active], self.links_from[active + 1] - self.links_from[active]
        before = np.cumsum(degree) - degree
        links = np.repeat(starts - before, degree) + np.arange(degree.sum())
        position = np.full(len(self.live), -1)
        position[known] = np.arange(len(known))
        first, second = np.repeat(np.arange(len(active)), degree), position[self.neighbour[links]]
        present = (second >= 0) & (self.co_count[links] > 0)
        co_count = self.co_count[links][present]
        return linked_activity(len(known), first[present], second[present], co_count, self.counts.count[known], age)


def _questions(log: AccessLog) -> tuple[Integers, Integers]:
    """Events of 1 to 20 items with at least one known, and how many items were known before each."""
    live: set[int] = set()
    bounds = np.searchsorted(log.event, np.arange(log.n_events + 1)).tolist()
    items, deleted = log.item.tolist(), log.deleted.tolist()
    events, sizes = [], []
    for event in range(log.n_events):
        touched = items[bounds[event] : bounds[event + 1]]
        if len(touched) <= MAX_EVENT_ITEMS and not live.isdisjoint(touched):
            events.append(event)
            sizes.append(len(live))
        for item, gone in zip(touched, deleted[bounds[event] : bounds[event + 1]], strict=True):
            (live.discard if gone else live.add)(item)
    return np.array(events, dtype=np.int64), np.array(sizes, dtype=np.int64)


def _thin(events: Integers, sizes: Integers, most: int, most_rows: int) -> Integers:
    """At most `most` events, fewer where they hold over `most_rows` items, spread evenly, the last one kept."""
    keep = min(most, len(events))
    if len(events):
        keep = max(1, min(keep, int(most_rows / max(sizes.mean(), 1.0))))
    return events[np.linspace(len(events) - 1, 0, keep).round().astype(np.int64)[::-1]]


def split(log: AccessLog) -> tuple[Integers, Integers]:
    """(training events, scored events): the last third of the questions, 1,500 at most, is scored.

    Raises InvalidInput where the log asks fewer than six questions.
    """
    return split_questions(*_questions(log))


def split_questions(events: Integers, sizes: Integers) -> tuple[Integers, Integers]:
    """`split` of these events, before each of which so many items were known."""
    if len(events) < MIN_QUESTIONS:
        raise InvalidInput(
            f"got a log with {len(events)} events of 1 to {MAX_EVENT_ITEMS} items that touch a known item; "
            f"allowed are {MIN_QUESTIONS} or more: use a longer log"
        )
    scored = min(len(events) // 3, MAX_SCORED)
    training = slice(max(len(events) - scored - MAX_TRAINED, 0), len(events) - scored)
    return (
        _thin(events[training], sizes[training], MAX_TRAINED, MAX_ROWS_TRAINED),
        _thin(events[-scored:], sizes[-scored:], MAX_SCORED, MAX_ROWS),
    )


class LogReplay:
    """A log replayed up to the events that are asked for, which come after those asked for before.

    Link strengths are 0 in it: what links say is in `linked_activity`.
    """

    def __init__(self, log: AccessLog) -> None:
        self.log, self._memory, self._next = log, _Memory(log), 0
        self._tokens = line_tokens(np.array([name_bytes(name) for name in log.items], np.int64))

    def snapshots(self, events: ArrayLike, *, pooled: ArrayLike = ()) -> tuple[Snapshots, Snapshots]:
        """Snapshots before `events` with every known item, and before `pooled` events with the foremost items only.

        Foremost are the 64 highest of every column and the items touched.
        """
        log, memory, full, foremost = self.log, self._memory, _Stack(), _Stack()
        whole, part = (set(np.asarray(chosen, dtype=np.int64).tolist()) for chosen in (events, pooled))
        for event in sorted(each for each in whole | part if each >= self._next):
            memory.pass_events(self._next, event)
            self._next = event
            start = memory.bounds[event]
            now, known = float(memory.days[start]), memory.known()
            columns = memory.columns(known, int(log.time[start]))
            touched = np.isin(known, log.item[start : memory.bounds[event + 1]])
            reuse = memory.next_use[known] - now
            if event in whole:
                full.add(event, now, columns, known, touched, reuse)
            if event in part:
                rows = np.flatnonzero(_foremost(columns) | touched)
                pool = {name: column[rows] for name, column in columns.items()}
                foremost.add(event, now, pool, known[rows], touched[rows], reuse[rows])
        return full.snapshots(self._tokens), foremost.snapshots(self._tokens)


def _foremost(columns: Mapping[str, Floats]) -> Booleans:
    ahead = {name: column for name, column in columns.items() if name != "decayed_counts"}
    signals = [*columns["decayed_counts"].T, -ahead.pop("age_days"), -ahead.pop("first_age_days"), *ahead.values()]
    chosen = np.zeros(len(signals[0]), dtype=np.bool_)
    for signal in signals:
        if len(signal) <= POOL:
            return np.ones(len(signal), dtype=np.bool_)
        chosen[np.argpartition(signal, -POOL)[-POOL:]] = True
    return chosen


class _Stack:
    """Snapshots while they are collected."""

    def __init__(self) -> None:
        self.columns: dict[str, list[Floats]] = {}
        self.rows: list[tuple[int, float, Integers, Integers, Floats]] = []

    def add(
        self, event: int, now: float, columns: Mapping[str, Floats], known: Integers, touched: Booleans, reuse: Floats
    ) -> None:
        for name, column in columns.items():
            self.columns.setdefault(name, []).append(column)
        self.rows.append((event, now, known, np.flatnonzero(touched), reuse))

    def snapshots(self, tokens: Integers) -> Snapshots:
        """All of them; `tokens` of every item of the log."""
        events, times, known, touched, reuse = zip(*self.rows, strict=True) if self.rows else ((), (), (), (), ())
        sizes = [len(ids) for ids in known]
        ids = np.concatenate([np.empty(0, dtype=np.int64), *known])
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        rows = [rows + offset for rows, offset in zip(touched, offsets[:-1], strict=True)]
        columns = {name: np.concatenate(self.columns.pop(name)) for name in [*self.columns]}
        return Snapshots(
            items=Items.of(**columns) if columns else Items.of([]),
            id=ids,
            tokens=tokens[ids],
            offsets=offsets,
            touched=np.concatenate([np.empty(0, dtype=np.int64), *rows]),
            touched_offsets=np.concatenate([[0], np.cumsum([len(part) for part in rows])]).astype(np.int64),
            reuse_days=np.concatenate([np.empty(0), *reuse]),
            at_days=np.array(times, dtype=np.float64),
            event=np.array(events, dtype=np.int64),
        )


def score_snapshots(
    snapshots: Snapshots, raw: ArrayLike, *, context_tokens: int = CONTEXT_TOKENS
) -> tuple[Floats, Floats]:
    """(`needed_next` of the touched items, recall@10 of them) of each snapshot, shape (n,) each.

    context_tokens: the budget of the context in which they are looked for.
    """
    values, items = np.asarray(raw, dtype=np.float64), snapshots.items
    reciprocal, recall = np.empty(len(snapshots)), np.empty(len(snapshots))
    for k in range(len(snapshots)):
        low, high = snapshots.offsets[k], snapshots.offsets[k + 1]
        rows = slice(low, high)
        touched = snapshots.touched[snapshots.touched_offsets[k] : snapshots.touched_offsets[k + 1]] - low
        columns = items.count[rows], -items.age_days[rows], snapshots.id[rows], snapshots.tokens[rows]
        standing = needed_next(Candidates(values[rows], *columns), touched, context_tokens)
        reciprocal[k], recall[k] = standing.score(), np.mean(standing.ranks <= RECALL_AT)
    return reciprocal, recall
