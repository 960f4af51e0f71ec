"""The journal: one SQLite file that only ever grows.

Standard library only, since agents start a process for every event; and paths are texts
here, since importing pathlib would cost every start 6 ms.
"""

from __future__ import annotations

import os
from _thread import RLock, allocate_lock
from contextlib import contextmanager

from theorex_lab.core import light_json as json
from theorex_lab.core.clock import LATEST, Clock, SystemClock
from theorex_lab.core.errors import CorruptJournal, StorageError
from theorex_lab.core.light_sqlite import sqlite3
from theorex_lab.journal.base import check_time, is_wanted
from theorex_lab.journal.event import RAW_KINDS, Body, Event, segment_of
from theorex_lab.journal.sqlite import connection as connections
from theorex_lab.journal.sqlite.connection import damaged, explained, transaction
from theorex_lab.journal.sqlite.inserting import insert, next_seq
from theorex_lab.journal.sqlite.last_written import id_sum, write_last
from theorex_lab.journal.sqlite.opening import (
    check_file,
    create,
    newest_known,
    refuse_unfinished,
)
from theorex_lab.journal.stored import (
    COLUMNS,
    NEWEST,
    StoredJournal,
    of_project_now,
    parts_of_keys,
)

TYPE_CHECKING = False  # what type checkers take for true
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path
    from typing import Any

    from theorex_lab.journal.base import Journal
    from theorex_lab.journal.erasing import ErasedPart, EraseSelection
    from theorex_lab.journal.head_page import HeadPage
    from theorex_lab.journal.segments import Segments
    from theorex_lab.journal.sqlite.head_reading import HeadReader
    from theorex_lab.journal.sqlite.last_written import LastWritten
    from theorex_lab.journal.sqlite.outline_reading import OutlineReader

# These two and the table are made by `schema.sql`.
# marks the file as ours, so that a foreign database is never taken for an empty memory
APPLICATION_ID = 0x7E0_4E3
# From layout 2 on, the checksum of a new row covers its seq; a journal of layout 1 becomes
# one of layout 2 when it is written to.
SCHEMA_VERSION = 2


class SqliteJournal(StoredJournal):
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
        super().__init__(os.path.dirname(self._file), clock or SystemClock())
        self._layout = SCHEMA_VERSION
        self._connections: list[sqlite3.Connection] = []
        self._lock = allocate_lock()
        self._segments: Segments | None = None
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
                        newest = connection.execute(NEWEST).fetchone()
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

        condition, parameters = self._tail_condition(kinds, None)
        last = self.last_seq() if upto is None else upto
        outline_reading.prepare(self.connection())
        reader = outline_reading.OutlineReader(self._decoded)

        def select(where: str, parameters: Sequence[object]) -> list[Event]:
            return self._select_outlines(reader, where, parameters)

        wanted = None if kinds is None else frozenset(kinds)
        for event in self._paged(after, last, condition, parameters, select=select):
            if is_wanted(event, wanted, None, erased=erased):
                yield event

    def head_pages(
        self,
        after: int,
        *,
        kinds: Collection[str],
        upto: int,
        whole_kinds: Collection[str] = (),
    ) -> Iterator[HeadPage]:
        """See `Journal`: pages of plain rows are made without decoding an event."""
        from theorex_lab.journal.sqlite import head_reading

        reader = head_reading.HeadReader(frozenset(whole_kinds))
        while after < upto:
            last = min(upto, after + head_reading.PAGE_ROWS)
            page = self._plain_heads(reader, after, last)
            if page is None or not set(page.kinds).issubset(kinds):
                yield from super().head_pages(
                    after, kinds=kinds, upto=last, whole_kinds=whole_kinds
                )
            else:
                yield page
            after = last

    def _plain_heads(
        self, reader: HeadReader, after: int, last: int
    ) -> HeadPage | None:
        """Return the heads of all events in between; None where a row is not plain."""
        where = "WHERE seq > ? AND seq <= ? ORDER BY seq"
        query = f"SELECT {COLUMNS}, crc FROM events {where}"
        with self.explained():
            connection = self.connection()
            try:
                rows = connection.execute(query, (after, last)).fetchall()
            except sqlite3.OperationalError:  # a column is no text
                return None
        seqs = [row[0] for row in rows]
        if seqs != list(range(after + 1, last + 1)):
            return None
        page, odd_positions, whole_positions = reader.page(rows)
        merged = self.places().merged
        if merged:
            projects = [merged.get(project, project) for project in page.projects]
            page.projects = projects
        odd_seqs = [seqs[position] for position in odd_positions]
        odd_events = self.read(seqs=odd_seqs, erased=True) if odd_seqs else []
        page.put(odd_positions, odd_events)
        whole_events: list[Event] = []
        for position in whole_positions:
            event = self._decoded(rows[position])
            whole_events.append(of_project_now(event, merged))
        page.put(whole_positions, whole_events)
        page.keep_whole([*odd_events, *whole_events], reader.whole_kinds)
        return page

    def last_seq(self) -> int:
        """See `Journal`."""
        self._refuse_replaced(log=False)
        return int(self._row("SELECT max(seq) FROM events")[0] or 0)

    def has_project(self, project: str) -> bool:
        """See `Journal`."""
        query = (
            "SELECT 1 FROM events WHERE instr(body, ?) > 0 AND json_extract(body,"
            " '$.project') = ? LIMIT 1"
        )
        return self._row(query, project, project) is not None

    def check(self) -> tuple[list[str], dict[str, int]]:
        """See `journal.sqlite.check.check_rows`."""
        from theorex_lab.journal.sqlite.check import check_rows

        return check_rows(self.path)

    def close(self) -> None:
        """Close every thread's connection; a later call opens a new one."""
        with self._lock:
            connections = self._connections
            self._connections = []
            self._forget_threads()
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

    def _select_outlines(
        self, reader: OutlineReader, where: str, parameters: Sequence[object]
    ) -> list[Event]:
        """Return the outlines of the events of these rows, of kept ones without a look."""
        from theorex_lab.journal.outlines import outline_of

        decoded = self._decoded_events()
        if not decoded:
            return self._read_outlines(reader, where, parameters)
        events, missing = self._select_kept(
            decoded,
            where,
            parameters,
        )
        outlines = [outline_of(event) for event in events]
        for seqs in parts_of_keys(missing):
            marks = ",".join("?" * len(seqs))
            outlines += self._read_outlines(reader, f"WHERE seq IN ({marks})", seqs)
        return sorted(outlines)

    def _read_outlines(
        self, reader: OutlineReader, where: str, parameters: Sequence[object]
    ) -> list[Event]:
        """Return the outlines of the events of these rows, as the reader makes them."""
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
            events = [of_project_now(event, merged) for event in events]
        if whole_seqs:
            whole = self.read(seqs=whole_seqs, erased=True)
            events = sorted([*events, *map(outline_of, whole)])
        return events

    def reached_by(self, chosen: EraseSelection) -> list[str]:
        """See `StoredJournal`."""
        from theorex_lab.journal.sqlite.erase import reached

        with self.explained():
            return reached(self, self.connection(), chosen)

    def erase_part(self, chosen: EraseSelection, *, agent: str, at: int) -> ErasedPart:
        """See `StoredJournal`."""
        from theorex_lab.journal.sqlite.erase import erase_part

        return erase_part(self, chosen, agent=agent, at=at)

    def erase_archived(self) -> None:
        """See `StoredJournal`: it may lie in segments."""
        from theorex_lab.journal.sqlite.archive import erase_from_segments

        erase_from_segments(self)

    def wipe(self) -> None:
        """See `StoredJournal`."""
        from theorex_lab.journal.sqlite.erase import wipe

        wipe(self)

    def damaged(self, what: object) -> CorruptJournal:
        """See `StoredJournal`."""
        return damaged(self._file, what)

    def _in_transaction(self) -> bool:
        return self.connection().in_transaction

    def _whole_body(self, event_id: str, kind: str, content: Any) -> Any:
        """Return what an event says, which may lie in a segment."""
        is_stub = kind in RAW_KINDS and isinstance(content, dict)
        if is_stub and segment_of(content):
            return self._archived(event_id, content)
        return content

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
        thread = self._thread()
        connection: sqlite3.Connection | None = getattr(thread, "connection", None)
        if connection is None:
            with _opening, self.explained():
                connection, self.read_only = connections.connect_as_allowed(self._file)
                _open_here[self._identity] = _open_here.get(self._identity, 0) + 1
            thread.connection = connection
            with self._lock:
                self._connections.append(connection)
        return connection

    def _after_fork(self) -> None:
        self._connections = []

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
        last, event_id = self._row(NEWEST) or (0, "")
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


def in_file(journal: Journal, *, instead: str = "") -> SqliteJournal:
    """Return the journal where it lies in a file of this machine.

    Args:
        journal: The journal.
        instead: What is done where it lies elsewhere, for the error.

    Raises:
        StorageError: It is another, which has no bytes to wipe here.
    """
    if isinstance(journal, SqliteJournal):
        return journal
    lies_elsewhere = "is shared with other machines, in the database of journalUrl"
    is_shared = journal.local is not journal
    what = lies_elsewhere if is_shared else f"is a {type(journal).__name__}"
    raise StorageError(
        f"this home's journal {what}; allowed here is one in an SQLite"
        f" file{instead and f': {instead}'}"
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
