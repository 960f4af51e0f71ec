"""Journals whose events are rows of a table, whichever database has the table.

What a row looks like, how events are read from rows in pages, what is refused on the
way, and what is kept of them in memory. A database adds its connections and its SQL.
Standard library only, since agents start a process for every event.
"""

from __future__ import annotations

import os
import zlib
from _thread import (
    _local as local,
)  # `threading` has it from here, and would cost every hook 1 ms
from abc import abstractmethod
from contextlib import contextmanager, suppress

from theorex_lab.core import light_json as json
from theorex_lab.core.errors import CorruptJournal, InvalidInput
from theorex_lab.journal.base import Journal, is_wanted
from theorex_lab.journal.event import VERSIONS, Event, encode, readable

TYPE_CHECKING = False  # what type checkers take for true
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any, TypeVar

    from theorex_lab.core.clock import Clock
    from theorex_lab.journal.decoded import DecodedEvents
    from theorex_lab.journal.erasing import ErasedPart, EraseSelection
    from theorex_lab.journal.places import Places

    _Key = TypeVar("_Key")

# of an event, as it is stored; `crc` comes after them
COLUMNS = "seq, id, at, agent, session, kind, lineage, body"
NEWEST = "SELECT seq, id FROM events ORDER BY seq DESC LIMIT 1"
# In a checksum that covers the seq of its row too.
_COVERS_SEQ = 1 << 32
_PAGE_ROWS = 5_000
_KEYS_PER_QUERY = 500
_PLACES_AFTER = 1_000  # events, after which what they say of projects is kept again


def checksum(*fields: object) -> int:
    """Return the CRC-32 over the columns of one stored row, `id` to `body`.

    Earlier releases wrote it alone, which does not tell where a row belongs; see
    `row_checksum`.
    """
    joined = "\x1f".join(map(str, fields))
    content = joined.encode()
    return zlib.crc32(content)


def row_checksum(seq: int, *fields: object) -> int:
    """Return the checksum of a stored row, over its columns from `seq` to `body`.

    A bit above the CRC-32 marks it, so that the rows of earlier releases, whose
    checksum does not cover the seq, are told from those of this one.
    """
    return _COVERS_SEQ | checksum(seq, *fields)


def has_checksum(row: Sequence[object]) -> bool:
    """Return whether a stored row, `seq` to `crc`, is as it was written.

    >>> row = (7, "e", 0, "main", "", "lost", "[]", "{}")
    >>> has_checksum((*row, row_checksum(*row)))
    True
    >>> has_checksum((8, *row[1:], row_checksum(*row)))
    False
    >>> has_checksum((*row, checksum(*row[1:])))
    True
    """
    crc = row[-1]
    fields = row[:-1]
    if isinstance(crc, int) and crc & _COVERS_SEQ:
        return crc == _COVERS_SEQ | checksum(*fields)
    return crc == checksum(*fields[1:])


class StoredJournal(Journal):
    """A journal whose events are rows of the table `events`.

    In the SQL of this class `?` stands for a parameter.

    Attributes:
        position: The function of the database that finds a text in another.
        read_only: Whether nothing can be written here.
    """

    position = "instr"

    def __init__(self, folder: str, clock: Clock) -> None:
        """Take the folder of the home, in which caches lie, and the clock."""
        self.clock = clock
        self.read_only = False
        self._folder = folder
        self._local = local()
        self._pid = os.getpid()
        self._places: Places | None = None

    @abstractmethod
    def damaged(self, what: object) -> CorruptJournal:
        """Return the error for a damaged journal, with the ways out of it."""

    @abstractmethod
    def _row(self, query: str, *parameters: object) -> Any:
        """Return the first row that a query gives, None without any."""

    @abstractmethod
    def _rows(
        self,
        where: str,
        parameters: Sequence[object],
        columns: str = f"{COLUMNS}, crc",
    ) -> list[Any]:
        """Return the rows of events that meet a condition."""

    @abstractmethod
    def _project_condition(self, projects: Sequence[str]) -> tuple[str, list[str]]:
        """Return the condition of rows that may be of projects, with its parameters.

        Events of a project that was merged into one of them are its own.
        """

    @abstractmethod
    def _in_transaction(self) -> bool:
        """Return whether this thread is within a transaction."""

    @abstractmethod
    def reached_by(self, chosen: EraseSelection) -> list[str]:
        """Return the ids of what an erasure would reach, as `erasing.select` does."""

    @abstractmethod
    def erase_part(self, chosen: EraseSelection, *, agent: str, at: int) -> ErasedPart:
        """Erase what is chosen and all derived from it, and note it as an event.

        The old bytes are there until `wipe`. Safe to repeat.

        Args:
            chosen: What to erase by.
            agent: The agent of the note.
            at: The time of the note (µs).

        Raises:
            InvalidInput: An id is unknown, or nothing was chosen by.
            StorageError: The journal cannot be written.
        """

    def erase_archived(self) -> None:
        """Erase also what lies outside of the table."""

    @abstractmethod
    def wipe(self) -> None:
        """Wipe the bytes of erased bodies from where the database keeps its table.

        Raises:
            StorageError: Old bytes are left, because others read or may not be written.
        """

    def _whole_body(self, event_id: str, kind: str, content: Any) -> Any:  # noqa: ARG002
        """Return what an event says; `content` where its row holds all of it."""
        return content

    def _thread(self) -> Any:
        """Return what this thread keeps for the journal.

        Nothing of it may be carried across a fork.
        """
        if self._pid != os.getpid():
            self._pid = os.getpid()
            self._after_fork()
            self._local = local()
        return self._local

    def _forget_threads(self) -> None:
        """Let go of what the threads keep for the journal."""
        self._local = local()

    def _after_fork(self) -> None:
        """Let go of what belongs to the process that this one was forked from."""

    def read(
        self, *, seqs: Sequence[int] = (), ids: Sequence[str] = (), erased: bool = False
    ) -> list[Event]:
        """See `Journal`."""
        events: list[Event] = []
        numbers = [int(seq) for seq in seqs]
        for some_seqs in parts_of_keys(numbers):
            events += self._select_by("seq", some_seqs)
        for some_ids in parts_of_keys(ids):
            events += self._select_by("id", some_ids)
        if seqs and len(events) < len(seqs):
            self._refuse_lost(seqs, {event.seq for event in events})
        return sorted(event for event in events if erased or not event.erased)

    def _select_by(self, column: str, keys: Sequence[int | str]) -> list[Event]:
        """Return the events whose column is one of the keys, in journal order."""
        marks = ",".join("?" * len(keys))
        return self._select(f"WHERE {column} IN ({marks}) ORDER BY seq", keys)

    def _refuse_lost(self, seqs: Sequence[int], read_seqs: set[int]) -> None:
        """Raise CorruptJournal where a seq of the journal was not read."""
        last = self.last_seq()
        for seq in seqs:
            if 1 <= seq <= last and int(seq) not in read_seqs:
                raise self.damaged(f"event {seq} of {last} is not found")

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
        """See `Journal`.

        Read in pages: no read transaction stays open between them, so that a slow
        reader holds nobody up.
        """
        condition, parameters = self._tail_condition(kinds, lacking)
        last = self.last_seq() if upto is None else upto
        if projects is not None:
            places = self.places()
            current = [places.current(project) for project in projects]
            of_projects, names = self._project_condition(current)
            condition += of_projects
            parameters += names
            projects = current
        for event in self._paged(after, last, condition, parameters):
            if is_wanted(event, kinds, projects, erased=erased):
                yield event

    def _paged(
        self,
        after: int,
        last: int,
        condition: str,
        parameters: Sequence[str],
        *,
        select: Callable[[str, Sequence[object]], list[Event]] | None = None,
    ) -> Iterator[Event]:
        """Yield the events with `after` < seq ≤ `last` that meet a condition, in order.

        Args:
            after: The seq behind which they begin.
            last: The last seq.
            condition: What is asked of their rows, in SQL.
            parameters: The parameters of the condition.
            select: Reads the events of a page; None for whole ones.
        """
        select = select or self._select
        self._expect_all(after, last)
        where = (
            f"WHERE seq > ? AND seq <= ? {condition} ORDER BY seq LIMIT {_PAGE_ROWS}"
        )
        while after < last:
            page = select(where, [after, last, *parameters])
            for event in page:
                self._refuse_disorder(after, event.seq)
                after = event.seq
                yield event
            if len(page) < _PAGE_ROWS:
                return

    def _refuse_disorder(self, before: int, seq: int) -> None:
        """Raise CorruptJournal where an event comes out of the order of seqs."""
        if seq <= before:
            raise self.damaged(f"event {seq} stands behind event {before}")

    def _expect_all(self, after: int, last: int) -> None:
        """Refuse a file that does not hold each seq in between once.

        Raises:
            CorruptJournal: A seq is missing.
        """
        if after >= last:
            return
        row = self._row(
            "SELECT count(*), sum(seq - ?) FROM events WHERE seq > ? AND seq <= ?",
            after,
            after,
            last,
        )
        n_expected = last - after
        sum_expected = n_expected * (n_expected + 1) // 2
        if row == (n_expected, sum_expected):
            return
        if self.last_seq() >= last:
            raise self.damaged(
                f"{row[0]} events stand where events {after + 1} to {last} should",
            )

    def event_id(self, seq: int) -> str | None:
        """See `Journal`: its body, which may be a large scan's, is not read."""
        row = self._row("SELECT id FROM events WHERE seq = ?", seq)
        return None if row is None else str(row[0])

    def places(self) -> Places:
        """See `Journal`: what was read of them before is read no more."""
        from theorex_lab.journal.places import KINDS

        places = self._places
        if places is None:
            places = self._kept_places()
        n_scanned = 0
        last, event_id = self._row(NEWEST) or (0, "")
        if last > places.seq:
            n_scanned = last - places.seq
            where = "WHERE seq > ? AND seq <= ? AND kind IN (?, ?, ?) ORDER BY seq"
            rows = self._rows(where, [places.seq, last, *KINDS])
            events = (self._as_written(row) for row in rows)
            places = places.after(events, last, event_id)
        self._places = places
        may_write = not self.read_only and not self._in_transaction()
        if n_scanned > _PLACES_AFTER and may_write:
            self.keep_places()
        return places

    def keep_places(self) -> None:
        """See `Journal`."""
        from theorex_lab.journal.places import write_cache

        write_cache(self._folder, self.places())

    def forget_places(self) -> None:
        """Remove what is kept of them: an event that said it was erased.

        Raises:
            OSError: That fails.
        """
        from theorex_lab.journal.places import CACHE_FILE

        self._places = None
        path = os.path.join(self._folder, CACHE_FILE)
        with suppress(FileNotFoundError):
            os.remove(path)

    def holds_places(self, places: Places) -> bool:
        """Return whether they were read from this journal."""
        return self.event_id(places.seq) == places.event_id

    def _kept_places(self) -> Places:
        """Return those that are kept beside the journal, where they are its own.

        Else there are none.
        """
        from theorex_lab.journal.places import Places, read_cache

        places = read_cache(self._folder)
        if places is None or not self.holds_places(places):
            return Places()
        return places

    def _select(self, where: str, parameters: Sequence[object]) -> list[Event]:
        """Return the events of these rows.

        Those of a project that was merged into another come as that one's.
        """
        decoded = self._decoded_events()
        if decoded is None:
            rows = self._rows(where, parameters)
            events = [self._as_written(row) for row in rows]
        else:
            events = self._select_once(decoded, where, parameters)
        return self._of_projects_now(events)

    def _of_projects_now(self, events: list[Event]) -> list[Event]:
        """Return events, those of a project that was merged as the other one's."""
        if not events:
            return []
        merged = self.places().merged
        if not merged:
            return events
        return [of_project_now(event, merged) for event in events]

    @contextmanager
    def decoding_once(self) -> Iterator[None]:
        """See `Journal`: this thread keeps what it reads, up to some 32 MB of bodies."""
        if self._decoded_events() is not None:
            yield
            return
        from theorex_lab.journal.decoded import DecodedEvents

        local_of_thread = self._thread()
        local_of_thread.decoded = DecodedEvents()
        try:
            yield
        finally:
            local_of_thread.decoded = None

    def _decoded_events(self) -> DecodedEvents | None:
        """Return what this thread keeps, None outside of `decoding_once`."""
        if self._pid != os.getpid():
            return None
        decoded: DecodedEvents | None = getattr(self._local, "decoded", None)
        return decoded

    def _select_once(
        self, decoded: DecodedEvents, where: str, parameters: Sequence[object]
    ) -> list[Event]:
        """Return the events of these rows, and decode those that are not kept."""
        self._forget_erased(decoded)
        seq_rows = self._rows(where, parameters, "seq")
        seqs: list[int] = [seq for (seq,) in seq_rows]
        missing = decoded.missing(seqs)
        fresh: dict[int, Event] = {}
        for part in parts_of_keys(missing):
            marks = ",".join("?" * len(part))
            for row in self._rows(f"WHERE seq IN ({marks})", part):
                event = self._as_written(row)
                fresh[event.seq] = event
                decoded.add(event, len(row[7]))
        events: list[Event] = []
        for seq in seqs:
            selected = fresh.get(seq) or decoded.get(seq)
            if selected is not None:
                events.append(selected)
        return events

    def _select_kept(
        self, decoded: DecodedEvents, where: str, parameters: Sequence[object]
    ) -> tuple[list[Event], list[int]]:
        """Return the events of these rows that are kept, and the seqs of the others."""
        self._forget_erased(decoded)
        events: list[Event] = []
        missing: list[int] = []
        seq_rows = self._rows(
            where,
            parameters,
            "seq",
        )
        for (seq,) in seq_rows:
            event = decoded.get(seq)
            if event is None:
                missing.append(seq)
            else:
                events.append(event)
        return self._of_projects_now(events), missing

    def _forget_erased(self, decoded: DecodedEvents) -> None:
        """Let go of every kept event where one was erased, or the journal replaced."""
        last = self.last_seq()
        if last == decoded.checked_upto:
            return
        is_outdated = last < decoded.checked_upto
        if len(decoded) and not is_outdated:
            query = "SELECT 1 FROM events WHERE seq > ? AND kind = 'erasure' LIMIT 1"
            is_outdated = self._row(query, decoded.checked_upto) is not None
        if is_outdated:
            decoded.clear()
        decoded.checked_upto = last

    def _as_written(
        self, row: tuple[int, str, int, str, str, str, str, str, int]
    ) -> Event:
        if not has_checksum(row):
            raise self.damaged(f"event {row[0]} does not have its checksum")
        return self._decoded(row)

    def _decoded(self, row: tuple[Any, ...]) -> Event:
        """Return the event of a row that has its checksum."""
        seq, event_id, at, agent, session, kind, lineage, body, _ = row
        parents: tuple[str, ...] = ()
        try:
            if lineage != "[]":
                parents = tuple(json.loads(lineage))
            content = body_content(body)
        except (ValueError, TypeError) as error:
            raise self.damaged(f"event {seq} is not JSON: {error}") from error
        content = self._whole_body(event_id, kind, content)
        return readable(
            Event(seq, event_id, at, agent, session, kind, parents, content)
        )

    def _tail_condition(
        self, kinds: Sequence[str] | None, lacking: tuple[str, str] | None
    ) -> tuple[str, list[str]]:
        """Return the condition of `Journal.tail` for its kinds and texts, in SQL.

        An event whose kind was damaged is of no kind that there is, and must be looked at
        like those that were asked for.
        """
        condition = ""
        parameters: list[str] = []
        if kinds is not None:
            wanted = frozenset(kinds)
            parameters = [kind for kind in VERSIONS if kind not in wanted]
        if parameters:
            marks = ",".join("?" * len(parameters))
            condition = f"AND (kind IN ({marks})) IS NOT TRUE"
        if lacking:
            position = self.position
            condition += f" AND ({position}(body, ?) = 0 OR {position}(body, ?) > 0)"
            parameters += lacking
        return condition, parameters


def parts_of_keys(keys: Sequence[_Key]) -> Iterator[Sequence[_Key]]:
    """Yield the keys in parts that one query takes."""
    n_keys = len(keys)
    for start in range(0, n_keys, _KEYS_PER_QUERY):
        end = start + _KEYS_PER_QUERY
        yield keys[start:end]


def body_content(body: str) -> Any:
    """Return what a stored body holds.

    What no release writes, a body that cannot be written again, is read as None, which
    is no body.

    Raises:
        JSONDecodeError: It is no JSON.
    """
    try:
        content = json.loads(body)
        # Signs stand in the file as they are; only what has an escape may be half of
        # one.
        if "\\ud" in body:
            encode(content)
    except (RecursionError, InvalidInput):
        return None
    return content


def of_project_now(event: Event, merged: dict[str, str]) -> Event:
    """Return an event as one of the project that its own was merged into."""
    project = event.body.get("project", "")
    now = merged.get(project)
    if now is None:
        return event
    body = {**event.body, "project": now}
    return event._replace(body=body)
