"""The journal in one PostgreSQL database, for several machines.

The events get their seqs under a lock that only writers take: no seq is left out, and
what a reader sees is all that there is up to the newest. A sequence of the database
would leave gaps, and show a later event before an earlier one.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

import psycopg

from theorex_lab.core.clock import LATEST, Clock, SystemClock
from theorex_lab.core.errors import CorruptJournal, StorageError
from theorex_lab.journal.base import check_time
from theorex_lab.journal.checked import checked_rows
from theorex_lab.journal.erasing import ErasedPart, EraseSelection
from theorex_lab.journal.event import Event
from theorex_lab.journal.postgres import connection as connections
from theorex_lab.journal.postgres.connection import SCHEMA, Connection
from theorex_lab.journal.postgres.last_seen import LastSeen, has_id
from theorex_lab.journal.postgres.rows import (
    RowWriting,
    UnnumberedRow,
    project_in_column,
    unnumbered_row,
)
from theorex_lab.journal.stored import COLUMNS, NEWEST, StoredJournal

Key = TypeVar("Key", int, str, int | str)
LAYOUT = 2
CHANNEL = "theorex_events"
# What writers lock: a number of this program's, and one of its journal.
_LOCK = (0x7E0_4E3, 1)
_TAKE_LOCK = f"SELECT pg_advisory_xact_lock({_LOCK[0]}, {_LOCK[1]})"
_BEGIN = f"BEGIN ISOLATION LEVEL READ COMMITTED; {_TAKE_LOCK}"
_IDS_PER_QUERY = 10_000
_PAGE_ROWS = 5_000


class PostgresJournal(StoredJournal):
    """The append-only journal in the schema `theorex` of a PostgreSQL database.

    Many threads, processes and machines may use it at once. A thread that reads or
    writes has a connection of its own.

    Attributes:
        url: The database.
        layout: How its tables are laid out; less than `LAYOUT` where another role has to
            bring them up to date.
    """

    position = "strpos"
    lock_statement = _TAKE_LOCK  # lets a transaction wait for all others who write

    def __init__(
        self, url: str, home: str | Path, *, clock: Clock | None = None
    ) -> None:
        """Open the journal at `url`, or create it.

        Args:
            url: The database, as postgresql://USER@HOST/DATABASE.
            home: The folder of the home, in which caches lie.
            clock: The clock; by default the system's.

        Raises:
            StorageError: The server cannot be reached, or the role may not use it.
            CorruptJournal: It lost events that were there when this home saw it last.
            ConfigError: The URL is outside the rule of the setting journalUrl.
        """
        super().__init__(os.path.abspath(home), clock or SystemClock())
        self.url = url
        self._connections: list[tuple[threading.Thread, Connection]] = []
        self._lock = threading.Lock()
        try:
            with connections.server_errors_explained(url, only_read=True):
                journal_id = self._check_layout()
            self._last_seen = LastSeen(self._folder, journal_id)
            self._refuse_lost_end()
        except BaseException:
            self.close()
            raise

    def append(
        self, events: Sequence[Event], *, allow_future: bool = False
    ) -> list[int]:
        """See `Journal`: they are on the server's disk when this returns."""
        now = LATEST if allow_future else self.clock.now()
        for event in events:
            check_time(event, now, allow_future=allow_future)
        if not events:
            return []
        rows = [unnumbered_row(event) for event in events]
        with self.writing() as writing:
            return writing.append(rows)

    @contextmanager
    def exclusive(self) -> Iterator[Callable[[Event], int]]:
        """See `Journal`."""
        with self.writing() as writing:

            def append(event: Event) -> int:
                return writing.append([unnumbered_row(event)])[0]

            yield append

    def append_batch(self, events: Sequence[Event]) -> int:
        """Append those of the events whose ids are not in the journal.

        They may have any date: they were checked where they were written first. All of
        the new ones are kept, or none.

        Returns:
            How many were new.

        Raises:
            InvalidInput: An event cannot be stored.
            StorageError: Nothing can be written.
        """
        rows: dict[str, UnnumberedRow] = {}
        for event in events:
            check_time(event, LATEST, allow_future=True)
            row = unnumbered_row(event)
            rows.setdefault(row[0], row)
        if not rows:
            return 0
        with self.writing() as writing:
            old_ids = self.known_ids(list(rows))
            new = [row for event_id, row in rows.items() if event_id not in old_ids]
            return len(writing.insert(new))

    def known_ids(self, ids: Collection[str]) -> set[str]:
        """Return those of the ids that events of the journal have."""
        in_order = _storable(ids)
        old_ids: set[str] = set()
        for start in range(0, len(in_order), _IDS_PER_QUERY):
            part = in_order[start : start + _IDS_PER_QUERY]
            rows = self.fetch("SELECT id FROM events WHERE id = ANY(?)", [part])
            old_ids.update(event_id for (event_id,) in rows)
        return old_ids

    @contextmanager
    def writing(self) -> Iterator[RowWriting]:
        """Keep one transaction open, in which nobody else writes.

        Raises:
            StorageError: The server cannot be reached, or this thread writes already.
        """
        with connections.server_errors_explained(self.url):
            writing = RowWriting(self._begin())
            try:
                yield writing
            except BaseException:
                connections.roll_back(writing.connection)
                self._forget_taken_back()
                raise
            try:
                connections.commit(
                    writing.connection, notify=CHANNEL if writing.newest else ""
                )
            except BaseException:
                connections.roll_back(writing.connection)
                self._forget_taken_back()
                raise
        if writing.newest:
            self._last_seen.note(*writing.newest)

    def _forget_taken_back(self) -> None:
        """Let go of what may hold events that were taken back."""
        self._places = None
        decoded = self._decoded_events()
        if decoded is not None:
            decoded.clear()

    def _begin(self) -> Connection:
        """Begin a transaction, and wait for all others who write."""
        connection = self.connection()
        if not connections.is_idle(connection):
            raise StorageError(
                "this thread writes to the journal already; allowed is one write at a"
                " time: end the first one"
            )
        try:
            connection.execute(_BEGIN)
        except psycopg.OperationalError:
            connections.roll_back(connection)
            if not connection.closed:
                raise
            # The server was started anew since this connection was made.
            connection = self.connection()
            connection.execute(_BEGIN)
        except BaseException:  # an interruption too must not leave it half begun
            connections.roll_back(connection)
            raise
        return connection

    def last_seq(self) -> int:
        """See `Journal`."""
        return int(self._row("SELECT max(seq) FROM events")[0] or 0)

    def shared_time(self) -> int:
        """See `Journal`: the server's time, unless the clock is one of an experiment."""
        if not isinstance(self.clock, SystemClock):
            return self.clock.now()
        query = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
        return int(self._row(query)[0])

    def has_project(self, project: str) -> bool:
        """See `Journal`."""
        query = "SELECT 1 FROM events WHERE project = ? LIMIT 1"
        return self._row(query, project_in_column(project)) is not None

    def reached_by(self, chosen: EraseSelection) -> list[str]:
        """See `StoredJournal`."""
        from theorex_lab.journal.postgres.erase import reached_in_database

        return reached_in_database(self, chosen)

    def erase_part(self, chosen: EraseSelection, *, agent: str, at: int) -> ErasedPart:
        """See `StoredJournal`."""
        from theorex_lab.journal.postgres.erase import erase_in_database

        return erase_in_database(self, chosen, agent=agent, at=at)

    def wipe(self) -> None:
        """See `StoredJournal`."""
        from theorex_lab.journal.postgres.erase import wipe_database

        wipe_database(self)

    def wait_for_events(self, after: int, seconds: float) -> bool:
        """Wait until there is an event behind a seq, as a server does.

        Args:
            after: The seq.
            seconds: How long to wait at most.

        Returns:
            Whether there is one.
        """
        with connections.server_errors_explained(self.url, only_read=True):
            deadline = time.monotonic() + seconds
            listener = self._listener()
            # It may be told of events that were read long ago.
            while self.last_seq() <= after:
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                list(listener.notifies(timeout=left, stop_after=1))
        return True

    def check(self) -> tuple[list[str], dict[str, int]]:
        """See `Journal`: every row is read, with its seq and its checksum."""
        problems: list[str] = []
        counts: Counter[str] = Counter()
        try:
            for row in checked_rows(self._all_rows(), self.url, problems):
                counts[str(row[5])] += 1
        except StorageError as error:
            problems.append(str(error))
        return problems, dict(counts)

    def _all_rows(self) -> Iterator[Any]:
        """Yield every row, `seq` to `crc`, in the order of the seqs."""
        after = 0
        while True:
            where = f"WHERE seq > ? ORDER BY seq LIMIT {_PAGE_ROWS}"
            page = self._rows(where, [after])
            yield from page
            if len(page) < _PAGE_ROWS:
                return
            after = page[-1][0]

    def close(self) -> None:
        """Close every thread's connection; a later call opens a new one."""
        with self._lock:
            pairs = self._connections
            self._connections = []
            self._forget_threads()
        if self._pid == os.getpid():
            for _, connection in pairs:
                connection.close()

    def damaged(self, what: object) -> CorruptJournal:
        """See `StoredJournal`."""
        return CorruptJournal(
            f"{self.url} is damaged ({what}), and nothing was changed; put a backup of"
            " the database back, as its administrator does"
        )

    def connection(self) -> Connection:
        """This thread's connection; for the journal's own package."""
        thread = self._thread()
        connection: Connection | None = getattr(thread, "connection", None)
        if connection is None or connection.closed:
            connection = connections.server_connection(self.url)
            thread.connection = connection
            self._keep_open(connection)
        return connection

    def _listener(self) -> Connection:
        """This thread's connection that is told of new events."""
        thread = self._thread()
        listener: Connection | None = getattr(thread, "listener", None)
        if listener is None or listener.closed:
            listener = connections.server_connection(self.url)
            listener.execute(f"LISTEN {CHANNEL}")
            thread.listener = listener
            self._keep_open(listener)
        return listener

    def _keep_open(self, connection: Connection) -> None:
        """Note a connection of this thread; close those of threads that ended."""
        with self._lock:
            living: list[tuple[threading.Thread, Connection]] = []
            for owner, held in self._connections:
                if owner.is_alive() and not held.closed:
                    living.append((owner, held))
                else:
                    held.close()
            living.append((threading.current_thread(), connection))
            self._connections = living

    def _after_fork(self) -> None:
        # To close them here would end the sessions of the other process.
        _of_other_processes.extend(held for _, held in self._connections)
        self._connections = []
        self._lock = threading.Lock()

    def _check_layout(self) -> str:
        """Make the tables where there are none, and refuse those of a later release.

        Returns:
            The id of the journal.
        """
        connection = self.connection()
        columns = _columns(connection)
        if not columns:
            _make_tables(connection)
            columns = _columns(connection)
        if not columns >= _OWN_COLUMNS:
            names = ", ".join(sorted(_tables_of(columns)))
            raise StorageError(_FOREIGN.format(self.url, names))
        standby = connection.execute("SELECT pg_is_in_recovery()").fetchone()
        self.read_only = standby == (True,)
        rows = connection.execute("SELECT id::text, layout FROM journal").fetchall()
        if len(rows) != 1:
            raise self.damaged(f"its table `journal` has {len(rows)} rows, not one")
        journal_id, layout = rows[0]
        if layout < LAYOUT and not self.read_only:
            layout = _with_later_tables(connection)
        self.layout = layout
        if layout > LAYOUT:
            raise StorageError(
                f"{self.url} has the layout {layout}, this release reads {LAYOUT};"
                " install a later release"
            )
        return str(journal_id)

    def _refuse_lost_end(self) -> None:
        """Refuse a journal that ends before what this home saw of it."""
        before = self._last_seen.newest()
        last, event_id = self._row(NEWEST) or (0, "")
        if last < before.seq and not self.read_only:  # a standby may lag behind
            raise self.damaged(
                f"it ends at event {last}, yet {before.source} goes up to event {before.seq}"
            )
        is_there = 0 < before.seq <= last
        if is_there and not has_id(before, self.event_id(before.seq)):
            raise self.damaged(
                f"its event {before.seq} is not the one that was written: the database was"
                " replaced"
            )
        if last > before.seq:
            self._last_seen.note(last, event_id)

    def _select_by(self, column: str, keys: Sequence[int | str]) -> list[Event]:
        """See `StoredJournal`: an id that the database cannot hold is none of its own."""
        storable = _storable(keys)
        return super()._select_by(column, storable) if storable else []

    def _row(self, query: str, *parameters: object) -> Any:
        rows = self.fetch(query, parameters)
        return rows[0] if rows else None

    def _rows(
        self,
        where: str,
        parameters: Sequence[object],
        columns: str = f"{COLUMNS}, crc",
    ) -> list[Any]:
        return self.fetch(f"SELECT {columns} FROM events {where}", parameters)

    def fetch(self, query: str, parameters: Sequence[object]) -> list[Any]:
        """Return the rows that a query gives, in which `?` stands for a parameter."""
        statement = query.replace("?", "%s")
        only_read = not self._is_writing()
        with connections.server_errors_explained(self.url, only_read=only_read):
            connection = self.connection()
            is_alone = connections.is_idle(connection)
            try:
                return connection.execute(statement, parameters).fetchall()
            except psycopg.OperationalError:
                if not (is_alone and connection.closed):
                    raise
            # The server was started anew since this connection was made.
            return self.connection().execute(statement, parameters).fetchall()

    def _is_writing(self) -> bool:
        """Return whether this thread is within a transaction; connect to nothing."""
        connection: Connection | None = getattr(self._thread(), "connection", None)
        if connection is None or connection.closed:
            return False
        return not connections.is_idle(connection)

    def _in_transaction(self) -> bool:
        return not connections.is_idle(self.connection())

    def _project_condition(self, projects: Sequence[str]) -> tuple[str, list[str]]:
        """See `StoredJournal`.

        A row without a project may be one of an earlier version, which an upcaster
        gives one.
        """
        places = self.places()
        names = {""}
        for project in projects:
            names.update(map(project_in_column, places.names_of(project)))
        marks = ",".join("?" * len(names))
        return f" AND project IN ({marks})", sorted(names)


# Kept so that nothing closes them here.
_of_other_processes: list[Connection] = []


def _storable(keys: Iterable[Key]) -> list[Key]:
    """Return those of the keys that PostgreSQL can compare with a column."""
    return [key for key in keys if not isinstance(key, str) or "\0" not in key]


# By these the tables are recognized, whatever their layout.
_OWN_COLUMNS = {"events.id", "events.seq", "journal.id", "journal.layout"}
_FOREIGN = (
    "{}: got a schema `theorex` that another program made (its tables: {}); allowed is"
    " none, an empty one, or the one that theorex makes with the tables events and"
    " journal: name another database in journalUrl, or rename that schema"
)


def _tables(connection: Connection) -> set[str]:
    """Return which tables the schema has, none where there is no schema."""
    return _tables_of(_columns(connection))


def _tables_of(columns: Iterable[str]) -> set[str]:
    """Return the tables of columns, which are written as TABLE.COLUMN."""
    return {column.partition(".")[0] for column in columns}


def _columns(connection: Connection) -> set[str]:
    """Return the columns of the schema's tables, as TABLE.COLUMN."""
    query = (
        "SELECT relname, attname FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid"
        " WHERE relnamespace = to_regnamespace(%s) AND relkind IN ('r', 'p', 'v', 'm', 'f')"
    )
    rows = connection.execute(query, [SCHEMA]).fetchall()
    return {f"{table}.{column}" for table, column in rows}


def _make_tables(connection: Connection) -> None:
    """Make the schema and its tables, unless another process is first."""
    encoding = connection.execute("SHOW server_encoding").fetchone() or ("",)
    if encoding != ("UTF8",):
        raise StorageError(
            f"got a database in the encoding {encoding[0]}; allowed is UTF8: make one with"
            " createdb --encoding UTF8 --template template0"
        )
    connection.execute(_BEGIN)
    try:
        if not _tables(connection):
            has_schema = "SELECT to_regnamespace(%s) IS NOT NULL"
            if connection.execute(has_schema, [SCHEMA]).fetchone() != (True,):
                connection.execute(f"CREATE SCHEMA {SCHEMA}")
            connection.execute(_statements("schema.sql"))
            connection.execute(_statements("snapshots.sql"))
        connections.commit(connection)
    except BaseException:
        connections.roll_back(connection)
        raise


def _statements(file_name: str) -> bytes:
    package = resources.files("theorex_lab.journal.postgres")
    return (package / file_name).read_bytes()


def _with_later_tables(connection: Connection) -> int:
    """Make what the first layout has not, where this role owns the table of events.

    Returns:
        The layout as it is then.
    """
    owns = (
        "SELECT pg_has_role(relowner, 'USAGE') FROM pg_class"
        f" WHERE oid = '{SCHEMA}.events'::regclass"
    )
    is_owner = connection.execute(owns).fetchone() == (True,)
    connection.execute(_BEGIN)
    try:
        row = connection.execute("SELECT layout FROM journal").fetchone()
        layout = int(row[0]) if row else 0
        if layout == 1 and is_owner:
            connection.execute(_statements("snapshots.sql"))
            layout = LAYOUT
        connections.commit(connection)
    except BaseException:
        connections.roll_back(connection)
        raise
    return layout
