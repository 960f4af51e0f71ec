"""Replay a log of accesses, and measure how well an order predicts its events.

The question asked of a law: before every event of 1 to 20 items, at least one of them
known, rank every known item that is not deleted. MRR is the mean of `needed_next`, that
is 1 / rank of the first item touched, or 0 where a context has no room for it;
recall@10 the mean share of the touched items among the first ten. The last third of
such events, 1,500 at most, is scored; the events before them are there to train on.

Bounds for big logs: the scored part holds at most 4 million (event, item) rows, beyond
which its events are thinned evenly; training looks at 1,500 events, thinned at 16
million rows, and in each at the 64 foremost items of every column.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from theorex_lab.core.clock import EARLIEST, LATEST, MICROSECONDS_PER_DAY
from theorex_lab.core.errors import InvalidInput
from theorex_lab.memory.briefing.token_budget import HEADING_TOKENS
from theorex_lab.memory.counts import Counts, Integers
from theorex_lab.memory.decay import Floats, Items, Law
from theorex_lab.memory.next_use import (
    MOST_AT_ONCE,
    Candidates,
    line_tokens,
    name_bytes,
    needed_next,
)

Booleans = NDArray[np.bool_]
Pair = tuple[Floats, Floats]

MAX_EVENT_ITEMS = MOST_AT_ONCE
MAX_SCORED = 1_500
MAX_TRAINED = 1_500
MAX_ROWS = 4_000_000
# looked at, not kept: of each event only the foremost items stay in memory
MAX_ROWS_TRAINED = 16_000_000
POOL = 64
MIN_QUESTIONS = 6
RECALL_AT = 10
CONTEXT_TOKENS = 2_000


@dataclass(frozen=True, eq=False)
class AccessLog:
    """A log of accesses in order of time: which items each event touched.

    An event's accesses share one time and touch each item once. `AccessLog.of` brings
    any rows into this form.

    Attributes:
        items: Names, shape (n_items,).
        time: Microseconds since 1970-01-01 UTC of each access, shape (n,), never
            falling.
        item: The position in `items` of each access, shape (n,).
        event: The number of the event (a commit, a message) of each access: 0, 1, 2, …
            without a gap.
        deleted: Whether the access removed the item; it is unknown until it is touched
            again.
        of_files: Whether the items are files.
    """

    items: tuple[str, ...]
    time: Integers
    item: Integers
    event: Integers
    deleted: Booleans
    of_files: bool = False

    @classmethod
    def of(
        cls, rows: Iterable[tuple[int, str, object, bool]], *, of_files: bool = False
    ) -> AccessLog:
        """Return the log of some rows, in any order of time.

        Rows of one event become one event at its earliest time; a row without an event
        is one by itself. Where an event names an item twice, its last row tells whether
        it was deleted.

        Args:
            rows: The accesses, each (time in microseconds, item, event or None,
                deleted).
            of_files: Whether the items are files.

        Raises:
            InvalidInput: A time is outside of the years 1 to 9999.

        >>> AccessLog.of(
        ...     [(5, "b", None, False), (1, "a", "x", False), (1, "b", "x", False)]
        ... ).n_events
        2
        """
        items: dict[str, int] = {}
        events: dict[object, int] = {}  # an event's number is that of its first row

        def values() -> Iterator[int]:  # one row after the other is read
            for row, (time, item, event, deleted) in enumerate(rows):
                first = row if event is None else events.setdefault(event, row)
                yield from (time, items.setdefault(item, len(items)), first, deleted)

        columns = np.fromiter(values(), np.int64).reshape(-1, 4)
        table = pd.DataFrame(columns, columns=["time", "item", "event", "deleted"])
        if not table["time"].between(EARLIEST, LATEST).all():
            raise InvalidInput(
                "access log got a time outside the years 1 to 9999; give microseconds"
                " since 1970 UTC"
            )
        times_of_event = table.groupby("event")["time"]
        table["time"] = times_of_event.transform("min")
        deletions = table.groupby(["event", "item"])["deleted"]
        table["deleted"] = deletions.transform("last")
        table = table.drop_duplicates(["event", "item"])
        table = table.sort_values(["time", "event"], kind="stable")
        # Items and events are numbered in the order of their first access.
        item, item_rows = pd.factorize(table["item"])
        event, _ = pd.factorize(table["event"])
        all_names = np.array(list(items), object)
        return cls(
            items=tuple(all_names[item_rows].tolist()),
            time=table["time"].to_numpy(),
            item=item,
            event=event,
            deleted=table["deleted"].to_numpy(np.bool_),
            of_files=of_files,
        )

    @property
    def n_events(self) -> int:
        """Return the number of events."""
        if not len(self.event):
            return 0
        return int(self.event[-1]) + 1

    @property
    def starts(self) -> Integers:
        """Return the first row of each event."""
        return np.searchsorted(self.event, np.arange(self.n_events))

    def days(self, events: Integers) -> Floats:
        """Return when these events happened, in days since the log began."""
        times = self.time[self.starts[events]]
        since_start = times - self.time[0]
        return np.asarray(since_start / MICROSECONDS_PER_DAY)

    def __repr__(self) -> str:
        return (
            f"AccessLog({self.n_events} events, {len(self.time)} accesses,"
            f" {len(self.items)} items)"
        )


def together(
    event: Integers, item: Integers, counted_rows: Integers
) -> tuple[Integers, ...]:
    """Return each pair of items in an event of up to MOST_AT_ONCE.

    Links are numbered in the order in which they first occur.

    Args:
        event: The number of the event of each access.
        item: The item of each access.
        counted_rows: The rows that count.

    Returns:
        For each pair a row of its event and its link, both of shape (n,); the links'
        ends, shape (links, 2).
    """
    event_begins = np.diff(event[counted_rows], prepend=-1)
    starts = np.flatnonzero(event_begins)
    bounds = np.append(starts, len(counted_rows))
    sizes = np.diff(bounds)
    n_items = int(item.max(initial=0)) + 1
    # A pair has a key of both items, and a row that says where its event begins.
    key_parts = [np.zeros(0, np.int64)]
    row_parts = [np.zeros(0, np.int64)]
    for size in np.unique(sizes).tolist():
        if not 1 < size <= MOST_AT_ONCE:
            continue
        first = starts[sizes == size]
        positions = first[:, None] + np.arange(size)
        items = np.sort(item[counted_rows[positions]], axis=1)
        left, right = np.triu_indices(size, 1)  # in the order of `combinations`
        pairs = items[:, left] * n_items + items[:, right]
        key_parts.append(pairs.ravel())
        row_parts.append(np.repeat(first, len(left)))
    rows = np.concatenate(row_parts)
    order = np.argsort(rows, kind="stable")
    keys = np.concatenate(key_parts)[order]
    link_keys, first_pair, link = np.unique(
        keys,
        return_index=True,
        return_inverse=True,
    )
    order_of_links = np.argsort(first_pair)
    number = np.argsort(order_of_links)
    ends = np.divmod(link_keys[order_of_links], n_items)
    return counted_rows[rows[order]], number[link], np.stack(ends, axis=1)


@dataclass(frozen=True, eq=False)
class Snapshots:
    """The known items before each of some events, stacked.

    Rows offsets[k]..offsets[k+1] belong to snapshot k. Within a snapshot the most
    recent item comes first.

    Attributes:
        items: What laws read of each row.
        id: The position of each row in the log's items.
        tokens: What its line takes in a context.
        offsets: Where each snapshot begins, and the end.
        needed: Marks the rows that the event touched.
        reuse_days: The days until each row's next use (inf: never again).
    """

    items: Items
    id: Integers
    tokens: Integers
    offsets: Integers
    needed: Booleans
    reuse_days: Floats

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def touched(self) -> Integers:
        """Return the rows that their event touched."""
        return np.flatnonzero(self.needed)

    def part(self, first: int, last: int) -> Snapshots:
        """Return the snapshots first..last-1."""
        rows = slice(self.offsets[first], self.offsets[last])
        return Snapshots(
            self.items.take(rows),
            self.id[rows],
            self.tokens[rows],
            self.offsets[first : last + 1] - rows.start,
            self.needed[rows],
            self.reuse_days[rows],
        )


def _questions(
    starts: Integers, item: Integers, deleted: Booleans
) -> tuple[Integers, Integers]:
    """Return events of 1 to 20 items with at least one known.

    Args:
        starts: Where each event's rows begin in the columns `item` and `deleted`.
        item: The item of each access.
        deleted: Whether the access removed it.

    Returns:
        The events, and how many items were known before each.
    """
    live: set[int] = set()
    names = item.tolist()
    removed = deleted.tolist()
    bounds = [*starts.tolist(), len(item)]
    events = []
    sizes = []
    for event, (start, end) in enumerate(pairwise(bounds)):
        touched = names[start:end]
        if len(set(touched)) <= MAX_EVENT_ITEMS and not live.isdisjoint(touched):
            events.append(event)
            sizes.append(len(live))
        for name, is_removed in zip(touched, removed[start:end], strict=True):
            if is_removed:
                live.discard(name)
            else:
                live.add(name)
    return np.array(events, dtype=np.int64), np.array(sizes, dtype=np.int64)


def _thin(
    events: Integers,
    sizes: Integers,
    most: int,
    most_rows: int,
) -> Integers:
    """Return at most `most` events, spread evenly, with the last one.

    They are fewer where they hold over `most_rows` items.
    """
    n_events = min(most, len(events))
    if len(events):
        mean_size = max(sizes.mean(), 1.0)
        within_rows = int(most_rows / mean_size)
        n_events = max(1, min(n_events, within_rows))
    # From the last one back, so that it is among them.
    positions = np.linspace(
        len(events) - 1,
        0,
        n_events,
    ).round()
    return events[positions.astype(np.int64)[::-1]]


def split(log: AccessLog) -> tuple[Integers, Integers]:
    """Return the training events and the scored events.

    The last third of the questions, 1,500 at most, is scored.

    Raises:
        InvalidInput: The log asks fewer than six questions.
    """
    events, sizes = _questions(log.starts, log.item, log.deleted)
    if len(events) < MIN_QUESTIONS:
        got = (
            f"got a log with {len(events)} events of 1 to {MAX_EVENT_ITEMS} items that"
            " touch a known item"
        )
        raise InvalidInput(
            f"{got}; allowed are {MIN_QUESTIONS} or more: use a longer log"
        )
    n_scored = min(len(events) // 3, MAX_SCORED)
    end = len(events) - n_scored
    earlier = slice(max(end - MAX_TRAINED, 0), end)
    training = _thin(events[earlier], sizes[earlier], MAX_TRAINED, MAX_ROWS_TRAINED)
    later = slice(end, None)
    scored = _thin(events[later], sizes[later], MAX_SCORED, MAX_ROWS)
    return training, scored


class LogReplay:
    """A log replayed up to the events that are asked for, without links.

    An event must come after those asked for before.
    """

    def __init__(self, log: AccessLog) -> None:
        n_items = len(log.items)
        self.log = log
        self._next = 0
        self._bounds = np.append(log.starts, len(log.time))
        self._live = np.zeros(n_items, np.bool_)
        self._counts = Counts.empty(n_items)
        self._next_use = np.full(n_items, LATEST)
        times_of_item = pd.Series(log.time).groupby(log.item)
        self._following = times_of_item.shift(-1, fill_value=LATEST).to_numpy()
        sizes = np.array([name_bytes(name) for name in log.items], np.int64)
        self._tokens = line_tokens(sizes)

    def snapshots(self, events: ArrayLike, *, foremost: bool = False) -> Snapshots:
        """Return snapshots before `events`, with every known item.

        Args:
            events: Numbers of events; those that were passed already are left out.
            foremost: Only the foremost items are kept: the 64 highest of every column,
                and the items touched.
        """
        parts = []
        for event in np.unique(np.asarray(events, dtype=np.int64)).tolist():
            if event < self._next:
                continue
            self._pass(event)
            columns = self._known_items(event)
            if foremost:
                is_taken = _foremost(columns) | columns["needed"]
                rows = np.flatnonzero(is_taken)
                columns = {name: column[rows] for name, column in columns.items()}
            parts.append(columns)
        return self._stacked(parts)

    def _pass(self, event: int) -> None:
        """Take in the events before this one.

        Of what an item's rows set, the last one stays.
        """
        rows = slice(self._bounds[self._next], self._bounds[event])
        self._next = event
        item = self.log.item[rows]
        self._counts.take_in(item, 1, self.log.time[rows])
        self._live[item] = ~self.log.deleted[rows]
        self._next_use[item] = self._following[rows]

    def _known_items(self, event: int) -> dict[str, NDArray[Any]]:
        """Return the columns of `Items` and `Snapshots` before an event.

        The most recent item comes first.
        """
        live = np.flatnonzero(self._live)
        newest_first = np.argsort(-self._counts.last[live], kind="stable")
        item_ids = live[newest_first]
        start = self._bounds[event]
        end = self._bounds[event + 1]
        now = int(self.log.time[start])
        next_use = self._next_use[item_ids]
        days_until = (next_use - now) / MICROSECONDS_PER_DAY
        return {
            **self._counts.columns(now, item_ids),
            "id": item_ids,
            "needed": np.isin(item_ids, self.log.item[start:end]),
            "reuse_days": np.where(next_use < LATEST, days_until, np.inf),
        }

    def _stacked(self, parts: Sequence[dict[str, NDArray[Any]]]) -> Snapshots:
        """Return the columns of several snapshots as one, taken out of `parts`.

        Without parts the columns are those of no item.
        """
        sizes = [len(part["id"]) for part in parts]
        if not parts:
            known_items = self._known_items(self._next)
            parts = [{name: column[:0] for name, column in known_items.items()}]
        columns: dict[str, NDArray[Any]] = {}
        for name in list(parts[0]):
            # Each part gives its column away, so that both need not fit into memory.
            column_parts = [part.pop(name) for part in parts]
            columns[name] = np.concatenate(column_parts)
        ids = columns.pop("id")
        needed = columns.pop("needed")
        reuse_days = columns.pop("reuse_days")
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return Snapshots(
            items=Items.of(**columns),
            id=ids,
            tokens=self._tokens[ids],
            offsets=offsets,
            needed=needed,
            reuse_days=reuse_days,
        )


def _foremost(columns: Mapping[str, NDArray[Any]]) -> Booleans:
    """Return which rows are among the POOL highest of any column; newer is higher."""
    signals = np.stack(
        [
            *columns["decayed_counts"].T,
            -columns["age_days"],
            -columns["first_age_days"],
            columns["count"],
        ]
    )
    n_rows = signals.shape[1]
    is_foremost = np.full(n_rows, n_rows <= POOL)
    if not is_foremost.all():
        order = np.argpartition(signals, -POOL, axis=1)
        is_foremost[order[:, -POOL:]] = True
    return is_foremost


def score_snapshots(
    snapshots: Snapshots, raw: ArrayLike, *, context_tokens: int = CONTEXT_TOKENS
) -> Pair:
    """Return (`needed_next` of the touched items, recall@10 of them), shape (n,) each.

    Args:
        snapshots: The known items before each of n events.
        raw: What a law makes of the rows of the snapshots.
        context_tokens: The budget of the context in which items are looked for.
    """
    values = np.asarray(raw, dtype=np.float64)
    items = snapshots.items
    reciprocal = np.empty(len(snapshots))
    recall = np.empty(len(snapshots))
    for number, (start, end) in enumerate(pairwise(snapshots.offsets)):
        rows = slice(start, end)
        touched = np.flatnonzero(snapshots.needed[rows])
        candidates = Candidates(
            values[rows],
            items.count[rows],
            -items.age_days[rows],
            snapshots.id[rows],
            snapshots.tokens[rows],
        )
        standing = needed_next(candidates, touched, context_tokens)
        reciprocal[number] = standing.score()
        recall[number] = np.mean(standing.ranks <= RECALL_AT)
    return reciprocal, recall


def shares_in_context(
    log: AccessLog, laws: Mapping[str, Law], *, tokens: int = 500
) -> pd.DataFrame:
    """Return the share of each scored event that stood in a context filled before it.

    Events are those that `split` leaves for scoring: laws that were fitted by `tune`
    have not seen them.

    Args:
        log: The accesses.
        laws: Decay laws by the name of their column; each fills a context by rank.
        tokens: The budget of a context.

    Returns:
        Columns at (UTC), `oracle`, then one a law, each 0..1. The oracle is an
        upper bound with hindsight: it holds all that was seen before and has room; what
        it misses is new, and in no memory.

    Raises:
        InvalidInput: The log asks fewer than six questions.

    >>> day = 86_400_000_000
    >>> log = AccessLog.of([(n * day, f"file{n % 2}", None, False) for n in range(12)])
    >>> shares_in_context(log, {}, tokens=50).columns.tolist()
    ['timestamp', 'oracle']
    """
    replayed = LogReplay(log)
    _, events = split(log)
    n_touched = np.bincount(log.event)[events]
    counts = []
    for event in events.tolist():
        before = replayed.snapshots([event])
        counts.append(_n_in_context(before, laws, tokens))
    shares = np.array(counts) / n_touched[:, None]
    table = pd.DataFrame(shares, columns=["oracle", *laws])
    times = log.time[log.starts[events]]
    table.insert(
        0,
        "timestamp",
        pd.to_datetime(times, unit="us", utc=True),
    )
    return table


def _n_in_context(
    before: Snapshots,
    laws: Mapping[str, Law],
    tokens: int,
) -> list[int]:
    """Return how many touched items the context of the oracle and each law holds."""
    rows = before.touched
    items = before.items
    # The oracle holds the cheapest lines of what is needed.
    cheapest_first = np.cumsum(np.sort(before.tokens[rows]))
    is_held = cheapest_first <= tokens - HEADING_TOKENS
    counts = [int(np.count_nonzero(is_held))]
    for law in laws.values():
        candidates = Candidates(
            law.raw(items),
            items.count,
            -items.age_days,
            before.id,
            before.tokens,
        )
        standing = needed_next(candidates, rows, tokens)
        counts.append(int(np.count_nonzero(standing.inside)))
    return counts
