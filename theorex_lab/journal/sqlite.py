"""The journal: one SQLite file that only ever grows.

Standard library only, since agents start a process for every event; and paths are texts here, since importing pathlib
would cost every start 6 ms.
"""

# ruff: noqa: PTH100, PTH103, PTH108, PTH110, PTH113, PTH118, PTH119, PTH120, PTH123, PTH202
from __future__ import annotations

import json
import os
import sqlite3
import threading
import zlib
from contextlib import contextmanager, suppress

from theorex_lab.clock import EARLIEST, LATEST, Clock, SystemClock, to_iso
from theorex_lab.errors import AlreadyThere, CorruptJournal, InvalidInput, StorageError
from theorex_lab.journal.event import RAW_KINDS, Body, Event, encode, segment_of, upcast

TYPE_CHECKING = False  # what type checkers take for true
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from theorex_lab.journal.segments import Segments

APPLICATION_ID = 0x7E0_4E3  # marks the file as ours, so that a foreign database is never taken for an empty memory
SCHEMA_VERSION = 1
FUTURE_TOLERANCE_MICROSECONDS = 5 * 60 * 1_000_000
BUSY_TIMEOUT_SECONDS = 60.0
_PAGE_ROWS = 5_000
_NETWORK_FILE_SYSTEMS = frozenset(
    "nfs nfs4 cifs smb3 smbfs ncpfs afs ceph glusterfs lustre fuse.sshfs fuse.glusterfs fuse.s3fs fuse.rclone".split()
)

# An update may only replace a body by its erased form, which takes the session along, or a whole one by its archived
# form; everything else about an event stands for ever.
CHANGE_TRIGGER = """
CREATE TRIGGER events_are_not_changed BEFORE UPDATE ON events
WHEN NEW.seq IS NOT OLD.seq OR NEW.id IS NOT OLD.id OR NEW.at IS NOT OLD.at OR NEW.agent IS NOT OLD.agent
    OR NEW.kind IS NOT OLD.kind OR NEW.lineage IS NOT OLD.lineage
    OR NOT (NEW.session IS OLD.session OR (NEW.session IS '' AND json_extract(NEW.body, '$.erased') IS 1))
    OR NOT (json_extract(NEW.body, '$.erased') IS 1 OR (
        json_type(NEW.body, '$.archived') IS 'text' AND json_type(NEW.body, '$.sha256') IS 'text'
        AND json_type(OLD.body, '$.archived') IS NULL AND json_type(OLD.body, '$.erased') IS NULL))
BEGIN SELECT RAISE(ABORT, 'events are never changed'); END;
"""
_SCHEMA = f"""
CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    at INTEGER NOT NULL,
    agent TEXT NOT NULL,
    session TEXT NOT NULL,
    kind TEXT NOT NULL,
    lineage TEXT NOT NULL,
    body TEXT NOT NULL,
    crc INTEGER NOT NULL
) STRICT;
CREATE TRIGGER events_are_not_replaced BEFORE INSERT ON events
WHEN EXISTS (SELECT 1 FROM events WHERE seq = NEW.seq OR id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'an event with this id is there already'); END;
CREATE TRIGGER events_are_not_deleted BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'events are never deleted'); END;
{CHANGE_TRIGGER}
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {SCHEMA_VERSION};
"""
_INSERT = "INSERT INTO events (id, at, agent, session, kind, lineage, body, crc) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_COLUMNS = "seq, id, at, agent, session, kind, lineage, body"


def checksum(*fields: object) -> int:
    """CRC-32 over the columns of one stored row, `id` to `body`; `verify` compares it, so that silent damage to the file is found."""
    return zlib.crc32("\x1f".join(map(str, fields)).encode())


class Journal:
    """The append-only journal in one SQLite file; many threads and processes may use it at once.

    >>> import tempfile
    >>> from theorex_lab.clock import FixedClock
    >>> from theorex_lab.journal.event import new_event
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     journal = Journal(f"{folder}/theorex.db", clock=FixedClock(0))
    ...     seqs = journal.append([new_event("erasure", {"ids": []}, agent="main", at=0)])
    ...     kinds = [event.kind for event in journal.tail(0)]
    ...     journal.close()
    >>> seqs, kinds
    ([1], ['erasure'])
    """

    def __init__(self, path: str | Path, *, clock: Clock | None = None) -> None:
        """Open the journal at `path`, or create it.

        Raises StorageError where the folder cannot be written or lies on a network drive, CorruptJournal where
        the file is damaged, is not a journal, or is gone although snapshots of it are there.
        """
        self._file = os.fspath(path)
        self._folder = os.path.dirname(self._file)
        self.clock: Clock = clock or SystemClock()
        self._local = threading.local()
        self._connections: list[sqlite3.Connection] = []
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._segments: Segments | None = None
        refuse_network_drive(self._folder)
        if not os.path.exists(self._file):
            self._create()
        self._check()

    @property
    def path(self) -> Path:
        """The journal's file."""
        from pathlib import Path

        return Path(self._file)

    def append(self, events: Sequence[Event], *, allow_future: bool = False) -> list[int]:
        """Append all the events or none of them; they are on disk when this returns.

        Returns their seqs. Raises InvalidInput for an event that cannot be stored, is dated more than five minutes
        ahead of the clock (unless `allow_future`), AlreadyThere where an id is there already; StorageError on a full disk.
        """
        latest = LATEST if allow_future else self.clock.now() + FUTURE_TOLERANCE_MICROSECONDS
        for event in events:
            _check_time(event, latest)
        if not events:
            return []
        connection = self.connection()
        with self.explained(), transaction(connection):
            return [insert(connection, event) for event in events]

    @contextmanager
    def exclusive(self) -> Iterator[Callable[[Event], int]]:
        """What is read in here stays so until the end: others wait to write. Yields what appends an event, of any date.

        For decisions that rest on all that was written before them, and are made within a second. Raises as `append`.
        """
        connection = self.connection()
        with self.explained(), transaction(connection):
            yield lambda event: insert(connection, event)

    def read(self, *, seqs: Sequence[int] = (), ids: Sequence[str] = ()) -> list[Event]:
        """The events of these seqs or ids, in journal order; what is not there is left out."""
        found: list[Event] = []
        for column, keys in (("seq", seqs), ("id", ids)):
            for start in range(0, len(keys), 500):
                part = [key if isinstance(key, str) else int(key) for key in keys[start : start + 500]]
                marks = ",".join("?" * len(part))
                found += self._select(f"WHERE {column} IN ({marks}) ORDER BY seq", part)
        return sorted(found)

    def tail(self, after: int, *, kinds: Sequence[str] | None = None, upto: int | None = None) -> Iterator[Event]:
        """The events with `after` < seq ≤ `upto` in order, of these kinds or of all.

        Read in pages: no read transaction stays open between them, so that a slow reader holds nobody up.
        """
        condition = f"AND kind IN ({','.join('?' * len(kinds))})" if kinds is not None else ""
        last = self.last_seq() if upto is None else upto
        while after < last:
            page = self._select(
                f"WHERE seq > ? AND seq <= ? {condition} ORDER BY seq LIMIT {_PAGE_ROWS}", [after, last, *(kinds or ())]
            )
            yield from page
            if len(page) < _PAGE_ROWS:
                return
            after = page[-1].seq

    def last_seq(self) -> int:
        """The seq of the newest event, 0 in an empty journal."""
        with self.explained():
            row = self.connection().execute("SELECT max(seq) FROM events").fetchone()
        return int(row[0] or 0)

    def close(self) -> None:
        """Close every thread's connection; a later call opens a new one."""
        with self._lock:
            connections, self._connections = self._connections, []
            self._local = threading.local()
        if self._pid == os.getpid():
            for connection in connections:
                connection.close()

    def _select(self, where: str, parameters: Sequence[object]) -> list[Event]:
        with self.explained():
            rows = self.connection().execute(f"SELECT {_COLUMNS} FROM events {where}", parameters).fetchall()
        return [self._event(row) for row in rows]

    def _event(self, row: tuple[int, str, int, str, str, str, str, str]) -> Event:
        seq, event_id, at, agent, session, kind, lineage, body = row
        try:
            parents = () if lineage == "[]" else tuple(json.loads(lineage))
            content = json.loads(body)
            if kind in RAW_KINDS and segment_of(content):
                content = self._archived(event_id, content)
            return upcast(Event(seq, event_id, at, agent, session, kind, parents, content))
        except (json.JSONDecodeError, TypeError) as error:
            raise CorruptJournal(f"{self._damaged()} (event {seq} is not JSON: {error})") from error

    def _archived(self, event_id: str, stub: Body) -> Body:
        """The body that a stub stands for."""
        if self._segments is None:
            from theorex_lab.journal.segments import ARCHIVE_FOLDER, Segments

            self._segments = Segments(self.path.parent / ARCHIVE_FOLDER)
        found = self._segments.body(stub["archived"], event_id)
        if found is not None:
            return found
        with self.explained():
            row = self.connection().execute("SELECT body FROM events WHERE id = ?", [event_id]).fetchone()
        now: Body = json.loads(row[0])
        if now == stub:
            raise CorruptJournal(
                f"{self._segments.folder / stub['archived']} lacks the event {event_id}; put it back from a backup"
            )
        return now  # it was erased meanwhile

    def connection(self) -> sqlite3.Connection:
        """This thread's connection; for the journal's own package."""
        if self._pid != os.getpid():  # a connection must not be carried across a fork
            self._pid, self._local, self._connections = os.getpid(), threading.local(), []
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            with self.explained():
                connection = connect(self._file)
            self._local.connection = connection
            with self._lock:
                self._connections.append(connection)
        return connection

    def _create(self) -> None:
        """Make the file complete under another name, then link it: a journal's file is never seen half made."""
        if any(self.path.parent.glob("views/*/*/manifest.json")):
            raise CorruptJournal(
                f"{self._file} is gone, yet there are snapshots of it in {os.path.join(self._folder, 'views')}; put the "
                "file back from a backup, or remove that folder to start with an empty memory"
            )
        draft = f"{self._file}.new-{os.getpid()}-{threading.get_ident()}"
        try:
            os.makedirs(self._folder or ".", exist_ok=True)
            with self.explained():
                connection = sqlite3.connect(draft, isolation_level=None)
                try:
                    connection.execute("PRAGMA synchronous = FULL")
                    connection.executescript(f"BEGIN; {_SCHEMA} COMMIT;")
                finally:
                    connection.close()
            os.link(draft, self._file)
        except FileExistsError:
            pass  # another process was first
        except OSError as error:
            raise StorageError(
                f"cannot make the journal {self._file}: {error.strerror}; choose a home that can be written, "
                "with --home or THEOREX_HOME"
            ) from error
        finally:
            with suppress(FileNotFoundError):
                os.unlink(draft)

    def _check(self) -> None:
        """Refuse a file that is not a journal, before anything takes it for an empty one."""
        if os.path.isfile(self._file) and os.path.getsize(self._file) == 0:
            raise CorruptJournal(f"{self._damaged()} (it has no bytes)")
        with self.explained():
            connection = self.connection()
            marks = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
        if marks[0] != APPLICATION_ID:
            raise CorruptJournal(f"{self._damaged()} (it is an SQLite file, but not a journal)")
        if marks[1] > SCHEMA_VERSION:
            raise StorageError(
                f"{self._file} has the layout {marks[1]}, this release reads {SCHEMA_VERSION}; install a later release"
            )

    def _damaged(self) -> str:
        return (
            f"{self._file} is damaged; nothing was changed. Put back a backup of it, or keep what can be read with "
            f"`sqlite3 {os.path.basename(self._file)} .recover`"
        )

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn SQLite's errors into ones that say what to do."""
        try:
            yield
        except sqlite3.IntegrityError as error:
            raise AlreadyThere(f"the event was not appended: {error}; every event needs an id of its own") from error
        except sqlite3.DatabaseError as error:
            name = getattr(error, "sqlite_errorname", "") or ""
            raise _explain(self._file, name, error, self._damaged()) from error


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All that is written inside, or nothing; other processes wait to write until it is done."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:  # an interruption too must leave neither half of it nor the lock
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _check_time(event: Event, latest: int) -> None:
    if not EARLIEST <= event.at <= LATEST:
        raise InvalidInput(f"got an event at {event.at} µs; allowed are the years 1 to 9999")
    if event.at > latest:
        raise InvalidInput(
            f"got an event dated {to_iso(event.at)}, more than 5 minutes ahead of the clock; set the clock right, or "
            "import it"
        )


def insert(connection: sqlite3.Connection, event: Event) -> int:
    """Insert one event inside the caller's transaction and return its seq. Raises InvalidInput for a bad body."""
    body = encode(event.body)
    lineage = encode(list(event.lineage))
    crc = checksum(event.id, event.at, event.agent, event.session, event.kind, lineage, body)
    row = (event.id, event.at, event.agent, event.session, event.kind, lineage, body, crc)
    return int(connection.execute(_INSERT, row).lastrowid or 0)


def connect(path: str | Path) -> sqlite3.Connection:
    """A connection as every user of the file must have it: WAL, synced at each commit, erased bytes overwritten."""
    connection = sqlite3.connect(
        f"{_uri(path)}?mode=rw",
        uri=True,
        timeout=BUSY_TIMEOUT_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "secure_delete = ON"):
            connection.execute(f"PRAGMA {pragma}").fetchall()
    except sqlite3.DatabaseError:
        connection.close()
        raise
    return connection


def _uri(path: str | Path) -> str:
    """The file URI of a path (RFC 8089), every unusual byte of it percent-encoded."""
    name = os.fsencode(os.path.abspath(path).replace(os.sep, "/"))
    safe = "".join(
        chr(byte) if (chr(byte).isalnum() and byte < 128) or byte in b"/._-~:" else f"%{byte:02X}" for byte in name
    )
    return f"file://{'' if safe.startswith('/') else '/'}{safe}"


def _explain(path: str, name: str, error: sqlite3.DatabaseError, damaged: str) -> StorageError:
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")) or "malformed" in str(error):
        return CorruptJournal(f"{damaged} ({error})")
    if name == "SQLITE_ERROR" and "no such table" in str(error):
        return CorruptJournal(f"{damaged} ({error})")
    if name.startswith("SQLITE_BUSY"):
        return StorageError(f"{path}: another process kept it locked for {BUSY_TIMEOUT_SECONDS:.0f} s; try again")
    if name == "SQLITE_FULL" or name.startswith("SQLITE_IOERR"):
        return StorageError(f"{path}: nothing was written, the disk is full or failing ({error}); make room, try again")
    return StorageError(
        f"{path}: {error} ({name}); choose a home that can be written, with --home or THEOREX_HOME, or make this one so"
    )


def refuse_network_drive(folder: str | Path, mounts: str | Path = "/proc/self/mounts") -> None:
    """Raise StorageError where `folder` lies on a network drive: the write-ahead log needs shared memory.

    Known where the system lists its mounts in a file (Linux); elsewhere nothing is refused.
    """
    try:
        with open(mounts, encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read().splitlines()
    except OSError:
        return
    inside = os.path.join(os.path.realpath(folder), "")
    longest, found = 0, ""
    for line in lines:
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        where = os.path.join(fields[1].replace("\\040", " "), "")
        if inside.startswith(where) and len(where) >= longest:
            longest, found = len(where), fields[2]
    if found in _NETWORK_FILE_SYSTEMS:
        raise StorageError(f"{folder} lies on a network drive ({found}); choose a home on a local disk")
