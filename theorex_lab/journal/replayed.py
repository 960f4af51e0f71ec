"""A journal as it stood on an earlier day, which goes on day by day.

Maintenance that is replayed reads and writes here. What had not happened yet is not
there. What maintenance appends stands behind the events of its day, as it would had it
run that evening. At the end of each day it is handed on to the real journal, where it
stands behind everything else.

So one event has two seqs: one here, one in the real journal. Bodies that name a seq,
which their kinds declare with `journal.shapes.SEQ`, are translated on the way in and on
the way out.
"""

from __future__ import annotations

import json
import threading
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from heapq import merge
from typing import NamedTuple

from theorex_lab.core.clock import Clock
from theorex_lab.core.errors import AlreadyThere
from theorex_lab.journal.base import Journal, check_time, is_wanted
from theorex_lab.journal.event import FIELDS, Event, encode, readable
from theorex_lab.journal.places import KINDS, MERGED, Places
from theorex_lab.journal.redaction import kept_event
from theorex_lab.journal.shapes import with_seqs


class _Entry(NamedTuple):
    """Where an event that is there stands in the real journal.

    Attributes:
        stored: Its seq there, 0 while it is not there.
        captured: The seq there of the newest event up to this one that no replay
            appended.
    """

    stored: int
    captured: int


class ReplayedJournal(Journal):
    """Events in memory, of which some wait until their day has come.

    >>> from theorex_lab.core.clock import FixedClock
    >>> from theorex_lab.journal.event import new_event
    >>> journal = ReplayedJournal(FixedClock(5))
    >>> event = new_event("erasure", {"ids": []}, agent="main", at=4)
    >>> journal.reveal([event._replace(seq=7)])
    >>> journal.append([event._replace(id="new")])
    [2]
    >>> [(event.seq, event.id) for event in journal.unstored()]
    [(2, 'new')]
    """

    def __init__(
        self, clock: Clock, taken_ids: Iterable[str] = (), last_stored: int = 0
    ) -> None:
        """Make an empty one.

        Args:
            clock: The clock that is moved from day to day.
            taken_ids: The ids of all events of the real journal, which no new event may
                have.
            last_stored: The last seq of the real journal.
        """
        self.clock = clock
        self._taken_ids = set(taken_ids)
        self._last_stored = last_stored
        self._events: list[Event] = []
        self._entries: list[_Entry] = []
        self._seqs_by_id: dict[str, int] = {}
        self._seqs_by_kind: dict[str, list[int]] = {}
        # Of what no replay appended: the seqs in the real journal, sorted, and those
        # here by them.
        self._stored_seqs: list[int] = []
        self._seqs_by_stored: dict[int, int] = {}
        self._lock = threading.RLock()
        self._places = Places()

    def reveal(self, events: Iterable[Event], *, replayed: bool = False) -> None:
        """Let events of the real journal be there from now on.

        Args:
            events: The events, with the seqs that they have in the real journal.
            replayed: Whether an earlier replay appended them.
        """
        with self._lock:
            for event in events:
                as_here = self._translated(event, self._seq_here)
                self._add(as_here, event.seq, replayed=replayed)

    def unstored(self) -> list[Event]:
        """Return what was appended and is not in the real journal yet.

        Bodies name the seqs of the real journal.
        """
        with self._lock:
            events = []
            for index in self._unstored():
                event = self._events[index]
                as_there = self._translated(event, self._seq_there)
                events.append(as_there)
            return events

    def note_stored(self, seqs: Sequence[int]) -> None:
        """Note the seqs that the events of `unstored` got in the real journal."""
        with self._lock:
            indexes = self._unstored()
            for index, stored in zip(indexes, seqs, strict=True):
                entry = self._entries[index]
                self._entries[index] = entry._replace(stored=stored)

    def append(
        self, events: Sequence[Event], *, allow_future: bool = False
    ) -> list[int]:
        """See `Journal`."""
        now = self.clock.now()
        for event in events:
            check_time(event, now, allow_future=allow_future)
        seqs = []
        with self.exclusive() as append:
            for event in events:
                seq = append(event)
                seqs.append(seq)
        return seqs

    @contextmanager
    def exclusive(self) -> Iterator[Callable[[Event], int]]:
        """See `Journal`."""
        with self._lock:
            n_before = len(self._events)
            try:
                yield self._append_one
            except BaseException:
                self._take_back(n_before)
                raise

    def read(
        self, *, seqs: Sequence[int] = (), ids: Sequence[str] = (), erased: bool = False
    ) -> list[Event]:
        """See `Journal`."""
        last = len(self._events)
        wanted = set[int]()
        for seq in map(int, seqs):
            is_there = 1 <= seq <= last
            if is_there:
                wanted.add(seq)
        for event_id in ids:
            if event_id not in self._seqs_by_id:
                continue
            seq = self._seqs_by_id[event_id]
            wanted.add(seq)
        events = map(self._at, sorted(wanted))
        if erased:
            return list(events)
        readable_events = []
        for event in events:
            if not event.erased:
                readable_events.append(event)
        return readable_events

    def tail(
        self,
        after: int,
        *,
        kinds: Sequence[str] | None = None,
        upto: int | None = None,
        projects: Sequence[str] | None = None,
        lacking: tuple[str, str] | None = None,
        erased: bool = False,
    ) -> Iterator[Event]:
        """See `Journal`."""
        last = len(self._events)
        if upto is not None:
            last = min(last, upto)
        if projects is not None:
            places = self.places()
            projects = [places.current(project) for project in projects]
        for seq in self._seqs_between(max(after, 0), last, kinds):
            event = self._at(seq)
            if not is_wanted(event, kinds, projects, erased=erased):
                continue
            if lacking is None or _is_let_in(event, lacking):
                yield event

    def last_seq(self) -> int:
        """See `Journal`."""
        return len(self._events)

    def event_id(self, seq: int) -> str | None:
        """See `Journal`."""
        if not 1 <= seq <= len(self._events):
            return None
        event = self._events[seq - 1]
        return event.id

    def places(self) -> Places:
        """See `Journal`: what was read of them before is read no more."""
        last = len(self._events)
        if last > self._places.seq:
            seqs = self._seqs_between(self._places.seq, last, KINDS)
            events = []
            for seq in seqs:
                event = self._events[seq - 1]
                events.append(event)
            newest = self._events[-1]
            self._places = self._places.after(events, last, newest.id)
        return self._places

    def check(self) -> tuple[list[str], dict[str, int]]:
        """See `Journal`."""
        counts = Counter(event.kind for event in self._events)
        return [], dict(counts)

    def close(self) -> None:
        """See `Journal`; nothing is open."""

    def _append_one(self, event: Event) -> int:
        is_here = event.id in self._seqs_by_id
        is_there = event.id in self._taken_ids
        if is_here or is_there:
            raise AlreadyThere(f"the event {event.id} is there already")
        masked_event, text = kept_event(event)
        as_written = masked_event._replace(body=json.loads(text))
        as_read = readable(as_written)
        return self._add(as_read, 0, replayed=True)

    def _add(self, event: Event, stored: int, *, replayed: bool) -> int:
        seq = len(self._events) + 1
        captured = 0
        if self._entries:
            newest = self._entries[-1]
            captured = newest.captured
        if not replayed:
            captured = stored
            position = bisect_left(self._stored_seqs, stored)
            self._stored_seqs.insert(position, stored)
            self._seqs_by_stored[stored] = seq
        self._events.append(event._replace(seq=seq))
        entry = _Entry(stored, captured)
        self._entries.append(entry)
        self._seqs_by_id[event.id] = seq
        seqs_of_kind = self._seqs_by_kind.setdefault(event.kind, [])
        seqs_of_kind.append(seq)
        return seq

    def _take_back(self, n_events: int) -> None:
        """Forget what was appended behind the first so many events."""
        while len(self._events) > n_events:
            event = self._events.pop()
            self._entries.pop()
            del self._seqs_by_id[event.id]
            seqs_of_kind = self._seqs_by_kind[event.kind]
            seqs_of_kind.pop()
        if self._places.seq > n_events:
            self._places = Places()

    def _unstored(self) -> range:
        """Return where what is not in the real journal yet stands: it is the last."""
        end = len(self._entries)
        first = end
        while first > 0:
            entry = self._entries[first - 1]
            if entry.stored:
                break
            first -= 1
        return range(first, end)

    def _seqs_between(
        self, after: int, last: int, kinds: Sequence[str] | None
    ) -> Iterable[int]:
        """Return the seqs of events of these kinds with `after` < seq ≤ `last`."""
        if kinds is None:
            return range(after + 1, last + 1)
        parts = []
        for kind in dict.fromkeys(kinds):
            seqs = self._seqs_by_kind.get(kind, [])
            start = bisect_right(seqs, after)
            end = bisect_right(seqs, last)
            part = seqs[start:end]
            parts.append(part)
        return merge(*parts)

    def _at(self, seq: int) -> Event:
        """Return an event, with its project as it is called since projects were merged."""
        event = self._events[seq - 1]
        if MERGED not in self._seqs_by_kind:
            return event
        project = event.body.get("project", "")
        places = self.places()
        current = places.merged.get(project)
        if current is None:
            return event
        body = event.body | {"project": current}
        return event._replace(body=body)

    def _translated(self, event: Event, change: Callable[[int], int]) -> Event:
        """Return an event with the seqs changed that its body names."""
        fields = FIELDS.get(event.kind, {})
        if event.erased:
            return event
        body = with_seqs(event.body, fields, change)
        return event._replace(body=body)

    def _seq_here(self, stored: int) -> int:
        """Return the seq here of what a seq of the real journal reaches to."""
        if stored > self._last_stored:
            return stored
        position = bisect_right(self._stored_seqs, stored)
        if position == 0:
            return 0
        newest = self._stored_seqs[position - 1]
        return self._seqs_by_stored[newest]

    def _seq_there(self, seq: int) -> int:
        """Return the seq in the real journal of what a seq here reaches to.

        Where the newest event of these was appended by a replay, it is that of the
        newest one before it that no replay appended.
        """
        if seq > len(self._entries):
            return seq
        if seq < 1:
            return 0
        entry = self._entries[seq - 1]
        return entry.captured


def _is_let_in(event: Event, lacking: tuple[str, str]) -> bool:
    """Return whether a body lacks a text, or holds what lets it in again."""
    text = encode(event.body)
    left_out, let_in = lacking
    if left_out not in text:
        return True
    return let_in in text
