"""The journal: one SQLite file that only ever grows.

Standard library only, since agents start a process for every event; and paths are texts
here, since importing pathlib would cost every start 6 ms.
"""

from __future__ import annotations

import os
from _thread import RLock, allocate_lock
from _thread import (
    _local as local,
)  # `threading` has them from here, and would cost every hook 1 ms
from contextlib import contextmanager, suppress

from theorex_lab.core import light_json as json
from theorex_lab.core.clock import LATEST, Clock, SystemClock
from theorex_lab.core.errors import CorruptJournal, InvalidInput, StorageError
from theorex_lab.core.light_sqlite import sqlite3
from theorex_lab.journal.base import Journal, check_time, is_wanted
from theorex_lab.journal.event import (
    RAW_KINDS,
    VERSIONS,
    Body,
    Event,
    encode,
    readable,
    segment_of,
)
from theorex_lab.journal.redaction import kept_event
from theorex_lab.journal.sqlite import connection as connections
from theorex_lab.journal.sqlite.connection import (
    COLUMNS,
    damaged,
    explained,
    has_checksum,
    row_checksum,
    transaction,
)
from theorex_lab.journal.sqlite.last_written import id_sum, write_last
from theorex_lab.journal.sqlite.opening import (
    DATABASE_FILE,
    check_file,
    create,
    newest_known,
    refuse_unfinished,
)

TYPE_CHECKING = False  # what type checkers take for true
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path
    from typing import Any

    from theorex_lab.journal.places import Places
    from theorex_lab.journal.segments import Segments
    from theorex_lab.journal.sqlite.decoded import DecodedEvents
    from theorex_lab.journal.sqlite.last_written import LastWritten
    from theorex_lab.journal.sqlite.outline_reading import OutlineReader

# These two and the table are made by `schema.sql`.
# marks the file as ours, so that a foreign database is never taken for an empty memory
APPLICATION_ID = 0x7E0_4E3
# From layout 2 on, the checksum of a new row covers its seq; a journal of layout 1 becomes
# one of layout 2 when it is written to.
SCHEMA_VERSION = 2
_PAGE_ROWS = 5_000
_KEYS_PER_QUERY = 500
_PLACES_AFTER = 1_000  # events, after which what they say of projects is kept again

_NEWEST = "SELECT seq, id FROM events ORDER BY seq DESC LIMIT 1"

INSERT = f"INSERT INTO events ({COLUMNS}, crc) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"


class SqliteJournal(Journal):
    """The append-only journal in one SQLite file.

    Many threads and processes may use it at once.

    >>> import tempfile
    >>> from theorex_lab.core.clock import FixedClock
    >>> from theorex_lab.journal.event import new_event
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     journal = SqliteJournal(f"{folder}/theorex.db", clock=FixedClock(0))
    ...     seqs = journal.append(
    ...         [new_event("erasure", {"ids": []}, agent="main", at=0)]
    ...     )
    ...     kinds = [event.kind for event in journal.tail(0)]
    ...     journal.close()
    >>> seqs, kinds
    ([1], ['erasure'])
    """

    def __init__(self, path: str | Path, *, clock: Clock | None = None) -> None:
        """Open the journal at `path`, or create it.

        One that may only be read is opened for reading.

        Raises:
            StorageError: The folder cannot be written.
            CorruptJournal: The file is damaged or cut, is not a journal, is gone
                although something that was made from it is there, or ends before that.
        """
        self._file = os.path.abspath(path)
        self._folder = os.path.dirname(self._file)
        self.clock: Clock = clock or SystemClock()
        self.read_only = False
        self._layout = SCHEMA_VERSION
        self._local = local()
        self._connections: list[sqlite3.Connection] = []
        self._pid = os.getpid()
        self._lock = allocate_lock()
        self._segments: Segments | None = None
        self._places: Places | None = None
        refuse_unfinished(self._folder)
        if not os.path.exists(self._file):
            create(self._file)
        self._identity = _identity(self._file)
        try:
            self._check()
        except BaseException:
            self.close()
            raise

    @property
    def path(self) -> Path:
        """The journal's file."""
        from pathlib import Path

        return Path(self._file)

    def append(
        self, events: Sequence[Event], *, allow_future: bool = False
    ) -> list[int]:
        """See `Journal`: they are on disk when this returns."""
        now = LATEST if allow_future else self.clock.now()
        for event in events:
            check_time(event, now, allow_future=allow_future)
        if not events:
            return []
        with self.writing(events[-1].id) as connection:
            seq = next_seq(connection)
            return [
                insert(connection, event, number)
                for number, event in enumerate(events, seq)
            ]

    @contextmanager
    def exclusive(self) -> Iterator[Callable[[Event], int]]:
        """See `Journal`."""
        last = 0

        def append(event: Event) -> int:
            nonlocal last
            # Nobody else writes meanwhile, so the first look at the seqs is enough.
            last = insert(connection, event, last + 1 if last else None)
            return last

        with self.writing() as connection:
            yield append

    @contextmanager
    def writing(self, last_id: str = "") -> Iterator[sqlite3.Connection]:
        """Keep one transaction open, for the journal's own package.

        By `last_id`, the id of its last event, it is known after a failure whether any
        of it may have been kept. What the newest event is by then is noted beside the
        file, so that a file or log that lost it is refused.

        Raises:
            StorageError: The file at the path is another by now.
        """
        try:
            with self.explained():
                connection = self.connection()
                with transaction(
                    connection, lambda: connections.log_holds(self._file, last_id)
                ):
                    self._raise_layout(connection)
                    n_changes = connection.total_changes
                    yield connection
                    self._refuse_replaced()
                    newest = None
                    if connection.total_changes != n_changes:
                        newest = connection.execute(_NEWEST).fetchone()
            if newest is not None:
                write_last(self._file, *newest)
        except BaseException:
            self._places = None  # it may hold what was taken back
            decoded = self._decoded_events()
            if decoded is not None:  # and so may they
                decoded.clear()
            raise

    def _raise_layout(self, connection: sqlite3.Connection) -> None:
        """Mark a file of an earlier layout, before a row of this one is written."""
        if self._layout < SCHEMA_VERSION:
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            self._layout = SCHEMA_VERSION

    def read(
        self, *, seqs: Sequence[int] = (), ids: Sequence[str] = (), erased: bool = False
    ) -> list[Event]:
        """See `Journal`."""
        events: list[Event] = []
        for start in range(0, len(seqs), _KEYS_PER_QUERY):
            part = [int(seq) for seq in seqs[start : start + _KEYS_PER_QUERY]]
            events += self._select_by("seq", part)
        for start in range(0, len(ids), _KEYS_PER_QUERY):
            events += self._select_by("id", ids[start : start + _KEYS_PER_QUERY])
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
                raise damaged(self._file, f"event {seq} of {last} is not found")

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
        condition, parameters = _tail_condition(kinds, lacking)
        last = self.last_seq() if upto is None else upto
        if projects is not None:
            places = self.places()
            projects = [places.current(project) for project in projects]
            of_projects, names = self._project_condition(projects)
            condition += of_projects
            parameters += names
        for event in self._paged(after, last, condition, parameters):
            if is_wanted(event, kinds, projects, erased=erased):
                yield event

    def _project_condition(self, projects: Sequence[str]) -> tuple[str, list[str]]:
        """Return the condition of rows that may be of projects, with its parameters.

        Events of a project that was merged into one of them are its own.
        """
        from theorex_lab.journal.sqlite import outline_reading

        places = self.places()
        names: list[str] = []
        for project in projects:
            names += places.names_of(project)
        outline_reading.prepare(self.connection())
        return outline_reading.project_condition(names)

    def outlines(
        self,
        after: int,
        *,
        kinds: Sequence[str] | None = None,
        upto: int | None = None,
        erased: bool = False,
    ) -> Iterator[Event]:
        """See `Journal`: read in pages as `tail` does."""
        from theorex_lab.journal.sqlite import outline_reading

        condition, parameters = _tail_condition(kinds, None)
        last = self.last_seq() if upto is None else upto
        outline_reading.prepare(self.connection())
        reader = outline_reading.OutlineReader(self._decoded)

        def select(where: str, parameters: Sequence[object]) -> list[Event]:
            return self._select_outlines(reader, where, parameters)

        wanted = None if kinds is None else frozenset(kinds)
        for event in self._paged(after, last, condition, parameters, select=select):
            if is_wanted(event, wanted, None, erased=erased):
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
            raise damaged(self._file, f"event {seq} stands behind event {before}")

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
        expected = last - after
        if (
            row != (expected, expected * (expected + 1) // 2)
            and self.last_seq() >= last
        ):
            raise damaged(
                self._file,
                f"{row[0]} events stand where events {after + 1} to {last} should",
            )

    def last_seq(self) -> int:
        """See `Journal`."""
        self._refuse_replaced(log=False)
        return int(self._row("SELECT max(seq) FROM events")[0] or 0)

    def event_id(self, seq: int) -> str | None:
        """See `Journal`: its body, which may be a large scan's, is not read."""
        row = self._row("SELECT id FROM events WHERE seq = ?", seq)
        return None if row is None else str(row[0])

    def places(self) -> Places:
        """See `Journal`: what was read of them before is read no more."""
        from theorex_lab.journal.places import KINDS

        places = self._places or self._kept_places()
        n_scanned = 0
        last, event_id = self._row(_NEWEST) or (0, "")
        if last > places.seq:
            n_scanned = last - places.seq
            where = "WHERE seq > ? AND seq <= ? AND kind IN (?, ?, ?) ORDER BY seq"
            rows = self._rows(where, [places.seq, last, *KINDS])
            events = (self._as_written(row) for row in rows)
            places = places.after(events, last, event_id)
        self._places = places
        may_write = not self.read_only and not self.connection().in_transaction
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
        with suppress(FileNotFoundError):
            os.remove(os.path.join(self._folder, CACHE_FILE))

    def holds_places(self, places: Places) -> bool:
        """Return whether they were read from this journal."""
        return self.event_id(places.seq) == places.event_id

    def has_project(self, project: str) -> bool:
        """See `Journal`."""
        query = (
            "SELECT 1 FROM events WHERE instr(body, ?) > 0 AND json_extract(body,"
            " '$.project') = ? LIMIT 1"
        )
        return self._row(query, project, project) is not None

    def _kept_places(self) -> Places:
        """Return those that are kept beside the journal, where they are its own.

        Else there are none.
        """
        from theorex_lab.journal.places import Places, read_cache

        places = read_cache(self._folder)
        if places is None or not self.holds_places(places):
            return Places()
        return places

    def check(self) -> tuple[list[str], dict[str, int]]:
        """See `journal.sqlite.check.check_rows`."""
        from theorex_lab.journal.sqlite.check import check_rows

        return check_rows(self.path)

    def close(self) -> None:
        """Close every thread's connection; a later call opens a new one."""
        with self._lock:
            connections = self._connections
            self._connections = []
            self._local = local()
        if self._pid == os.getpid() and connections:
            with _opening:
                for connection in connections:
                    connection.close()
                _open_here[self._identity] -= len(connections)

    def _row(self, query: str, *parameters: object) -> Any:
        with self.explained():
            return self.connection().execute(query, parameters).fetchone()

    def _rows(
        self,
        where: str,
        parameters: Sequence[object],
        columns: str = f"{COLUMNS}, crc",
    ) -> list[Any]:
        query = f"SELECT {columns} FROM events {where}"
        with self.explained():
            return self.connection().execute(query, parameters).fetchall()

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
        merged = self.places().merged if events else {}
        return (
            [_of_project_now(event, merged) for event in events] if merged else events
        )

    @contextmanager
    def decoding_once(self) -> Iterator[None]:
        """See `Journal`: this thread keeps what it reads, up to some 32 MB of bodies."""
        if self._decoded_events() is not None:
            yield
            return
        from theorex_lab.journal.sqlite.decoded import DecodedEvents

        self.connection()  # in a process that was forked it makes a new `_local`
        local_of_thread = self._local
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
        with self.explained():
            query = f"SELECT seq FROM events {where}"
            seq_rows = self.connection().execute(query, parameters).fetchall()
        seqs: list[int] = [seq for (seq,) in seq_rows]
        missing = decoded.missing(seqs)
        fresh: dict[int, Event] = {}
        for start in range(0, len(missing), _KEYS_PER_QUERY):
            part = missing[start : start + _KEYS_PER_QUERY]
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

    def _select_outlines(
        self, reader: OutlineReader, where: str, parameters: Sequence[object]
    ) -> list[Event]:
        """Return the outlines of the events of these rows."""
        from theorex_lab.journal.outlines import outline_of
        from theorex_lab.journal.sqlite.outline_reading import OUTLINE_COLUMNS

        rows = self._rows(where, parameters, OUTLINE_COLUMNS)
        merged = self.places().merged if rows else {}
        events: list[Event] = []
        whole_seqs: list[int] = []
        for row in rows:
            event = reader.event(row)
            if event is None:
                whole_seqs.append(row[0])
            else:
                events.append(event)
        if merged:
            events = [_of_project_now(event, merged) for event in events]
        if whole_seqs:
            whole = self.read(seqs=whole_seqs, erased=True)
            events = sorted([*events, *map(outline_of, whole)])
        return events

    def _as_written(
        self, row: tuple[int, str, int, str, str, str, str, str, int]
    ) -> Event:
        if not has_checksum(row):
            raise damaged(self._file, f"event {row[0]} does not have its checksum")
        return self._decoded(row)

    def _decoded(self, row: tuple[Any, ...]) -> Event:
        """Return the event of a row that has its checksum."""
        seq, event_id, at, agent, session, kind, lineage, body, _ = row
        try:
            parents = () if lineage == "[]" else tuple(json.loads(lineage))
            content = _content(body)
        except (ValueError, TypeError) as error:
            raise damaged(self._file, f"event {seq} is not JSON: {error}") from error
        if kind in RAW_KINDS and isinstance(content, dict) and segment_of(content):
            content = self._archived(event_id, content)
        return readable(
            Event(seq, event_id, at, agent, session, kind, parents, content)
        )

    def _archived(self, event_id: str, stub: Body) -> Body:
        """Return the body that a stub stands for."""
        if self._segments is None:
            from theorex_lab.journal.segments import ARCHIVE_FOLDER, Segments

            self._segments = Segments(self.path.parent / ARCHIVE_FOLDER)
        body = self._segments.body(stub["archived"], event_id)
        if body is not None:
            return body
        now: Body = json.loads(
            self._row("SELECT body FROM events WHERE id = ?", event_id)[0]
        )
        if now == stub:
            segment = self._segments.folder / stub["archived"]
            raise CorruptJournal(
                f"{segment} lacks the event {event_id}; {connections.WAYS_OUT}"
            )
        return now  # it was erased meanwhile

    def connection(self) -> sqlite3.Connection:
        """This thread's connection; for the journal's own package."""
        if self._pid != os.getpid():  # a connection must not be carried across a fork
            self._pid = os.getpid()
            self._local = local()
            self._connections = []
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            with _opening, self.explained():
                connection, self.read_only = connections.connect_as_allowed(self._file)
                _open_here[self._identity] = _open_here.get(self._identity, 0) + 1
            self._local.connection = connection
            with self._lock:
                self._connections.append(connection)
        return connection

    def _check(self) -> None:
        """Refuse a file that is not a journal, or not all of one.

        This comes before anything takes it for an empty one.
        """
        newest = newest_known(self._file)
        with _opening, self.explained():
            if not _open_here.get(self._identity):
                check_file(self._file)
            connection = self.connection()
            marks = [
                connection.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("application_id", "user_version")
            ]
        if marks[0] != APPLICATION_ID:
            raise damaged(self._file, "it is an SQLite file, but not a journal")
        if marks[1] > SCHEMA_VERSION:
            has = (
                f"{self._file} has the layout {marks[1]}, this release reads"
                f" {SCHEMA_VERSION}"
            )
            raise StorageError(f"{has}; install a later release")
        self._layout = marks[1]
        last, event_id = self._row(_NEWEST) or (0, "")
        if last < newest.seq:
            raise damaged(
                self._file,
                f"it ends at event {last}, yet {newest.source} goes up to event"
                f" {newest.seq}",
            )
        self._refuse_other_event(newest)
        if last > newest.seq and not self.read_only:
            write_last(self._file, last, event_id)  # a home of an earlier release

    def _refuse_other_event(self, newest: LastWritten) -> None:
        """Raise CorruptJournal where another event has the seq of one that was kept."""
        if not newest.id_sum:
            return
        event_id = self.event_id(newest.seq)
        if event_id is None or id_sum(event_id) != newest.id_sum:
            raise damaged(
                self._file,
                f"its event {newest.seq} is not the one that was written here: the file"
                " or its log was replaced",
            )

    def _refuse_replaced(self, *, log: bool = True) -> None:
        """Refuse to go on where the file at the path is not what is open here.

        With `log` the log beside it must be there as well.

        Raises:
            StorageError: It was removed or replaced.
        """
        if _identity(self._file) != self._identity or (
            log and not os.path.exists(f"{self._file}-wal")
        ):
            what = f"{self._file} was removed or replaced while it was open here"
            raise StorageError(
                f"{what}; nothing more is kept in it. Open the home again"
            )

    def explained(self) -> AbstractContextManager[None]:
        """Turn SQLite's errors into ones that say what to do."""
        return explained(self._file)


def _tail_condition(
    kinds: Sequence[str] | None, lacking: tuple[str, str] | None
) -> tuple[str, list[str]]:
    """Return the condition of `Journal.tail` for its kinds and texts, in SQL.

    An event whose kind was damaged is of no kind that there is, and must be looked at
    like those that were asked for.
    """
    condition = ""
    parameters: list[str] = []
    if kinds is not None:
        parameters = [kind for kind in VERSIONS if kind not in kinds]
    if parameters:
        marks = ",".join("?" * len(parameters))
        condition = f"AND (kind IN ({marks})) IS NOT 1"
    if lacking:
        condition += " AND (instr(body, ?) = 0 OR instr(body, ?) > 0)"
        parameters += lacking
    return condition, parameters


def _content(body: str) -> Any:
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


def open_journal(home: str | Path, *, clock: Clock | None = None) -> SqliteJournal:
    """Return the journal of a home, opened or created.

    Raises:
        StorageError: As `SqliteJournal`.
        CorruptJournal: As `SqliteJournal`.
    """
    return SqliteJournal(os.path.join(home, DATABASE_FILE), clock=clock)


def in_file(journal: Journal) -> SqliteJournal:
    """Return the journal where it lies in a file of this machine.

    Raises:
        StorageError: It is another, which has no bytes to wipe here.
    """
    if isinstance(journal, SqliteJournal):
        return journal
    raise StorageError(
        f"this home's journal is a {type(journal).__name__}; allowed here is one in an"
        " SQLite file"
    )


# How many connections this process has to a file, by device and inode: while it has
# any, it must not open and close the
# file otherwise, since that would give back the locks that SQLite holds on it.
_open_here: dict[tuple[int, int], int] = {}
_opening = RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_opening.acquire,
        after_in_parent=_opening.release,
        after_in_child=_opening.release,
    )


def _identity(path: str) -> tuple[int, int]:
    """Return the file's device and inode, (0, 0) where there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return 0, 0
    return status.st_dev, status.st_ino


def _of_project_now(event: Event, merged: dict[str, str]) -> Event:
    now = merged.get(event.body.get("project", ""))
    if now is None:
        return event
    return event._replace(body={**event.body, "project": now})


def insert(connection: sqlite3.Connection, event: Event, seq: int | None = None) -> int:
    """Insert one event inside the caller's transaction, and return its seq.

    Its secrets are masked: this is the one place that every event passes.

    Args:
        connection: The connection.
        event: The event.
        seq: The seq, None for the next one.

    Raises:
        InvalidInput: The body is not what its kind says.
    """
    masked_event, body = kept_event(event)
    lineage = encode(list(masked_event.lineage)) if masked_event.lineage else "[]"
    if seq is None:
        seq = next_seq(connection)
    row = (seq, *masked_event[1:6], lineage, body)
    connection.execute(INSERT, (*row, row_checksum(*row)))
    return seq


def next_seq(connection: sqlite3.Connection) -> int:
    """Return the seq of the next event, inside the caller's transaction."""
    last = connection.execute("SELECT max(seq) FROM events").fetchone()
    return int(last[0] or 0) + 1
