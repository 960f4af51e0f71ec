"""Connections to the journal's file, opened alike everywhere.

The file is private to its owner, and errors say what to do. Standard library only, and
paths are texts: agents start a process for every event.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager

from theorex_lab.core.errors import AlreadyThere, CorruptJournal, StorageError
from theorex_lab.core.light_sqlite import sqlite3

TYPE_CHECKING = False  # what type checkers take for true
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

BUSY_TIMEOUT_SECONDS = 60.0
LOG_HEADER_BYTES = 32  # of a write-ahead log, before its first frame
WAYS_OUT = (
    "put a backup back with `theorex restore FILE`, or keep what is sound with `theorex"
    " verify --salvage`"
)
_SWITCH_WAIT_SECONDS = 0.005
_UNKNOWN_OUTCOME = "the commit failed"
_ROLLED_BACK = "the transaction was rolled back"
_PLAIN = frozenset(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-~:"
)  # of a file URI


def connect(path: str | Path) -> sqlite3.Connection:
    """Return a connection as every writer of the file must have it.

    It is in WAL mode, synced at each commit, and erased bytes are overwritten.
    """
    with _opened(f"{_uri(path)}?mode=rw") as connection:
        _switch_to_wal(connection)
        for pragma in (
            "synchronous = FULL",
            "secure_delete = ON",
            "cell_size_check = ON",
        ):
            connection.execute(f"PRAGMA {pragma}").fetchall()
    return connection


def connect_to_read(path: str | Path) -> sqlite3.Connection:
    """Return a connection to a file that only may be read.

    The file or its folder may not be written.
    """
    alone = log_size(path) == 0
    with _opened(
        f"{_uri(path)}?mode=ro{'&immutable=1' if alone else ''}"
    ) as connection:
        connection.execute("PRAGMA cell_size_check = ON").fetchall()
        connection.execute("SELECT 1 FROM sqlite_schema").fetchone()
    return connection


def connect_as_allowed(path: str | Path) -> tuple[sqlite3.Connection, bool]:
    """Return a connection to write or, where that is not allowed, one to read.

    Returns:
        The connection, and whether it only reads: the folder may not be written.
    """
    try:
        return connect(path), False
    except sqlite3.OperationalError as error:
        names = ("SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM")
        refused = str(getattr(error, "sqlite_errorname", "")).startswith(names)
        if not refused or os.access(
            os.path.dirname(os.path.abspath(path)), os.W_OK | os.X_OK
        ):
            raise
    return connect_to_read(path), True


@contextmanager
def _opened(uri: str) -> Iterator[sqlite3.Connection]:
    """Yield a connection that is closed only where what is done at first fails."""
    wait = BUSY_TIMEOUT_SECONDS
    connection = sqlite3.connect(
        uri, uri=True, timeout=wait, isolation_level=None, check_same_thread=False
    )
    try:
        yield connection
    except BaseException:
        connection.close()
        raise


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    """Make sure that the file is in WAL mode.

    New journals are; a copy made by other tools may not be.

    SQLite does not wait for the lock that the switch needs, so that the wait is here.
    """
    end = time.monotonic() + BUSY_TIMEOUT_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
        time.sleep(_SWITCH_WAIT_SECONDS)


def log_size(path: str | Path) -> int:
    """Bytes in the write-ahead log beside a journal's file; 0 where there is none."""
    try:
        return os.stat(f"{os.fspath(path)}-wal").st_size
    except OSError:
        return 0


def log_holds(path: str, text: str) -> bool:
    """Return whether a text stands in the write-ahead log.

    It may stand in a log that cannot be read, so that counts too.
    """
    try:
        with open(f"{path}-wal", "rb") as file:
            return text.encode() in file.read()
    except OSError:
        return True


@contextmanager
def transaction(
    connection: sqlite3.Connection, reached_log: Callable[[], bool] | None = None
) -> Iterator[None]:
    """Keep all that is written inside, or nothing; others wait to write until then.

    An error of SQLite carries a note that says whether nothing was written, or whether
    that cannot be told: a commit may fail after its last byte was on the disk.

    Args:
        connection: The connection.
        reached_log: Says whether any of it got into the log.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except (
        BaseException
    ) as error:  # an interruption too must leave neither half of it nor the lock
        _roll_back(connection)
        error.add_note(_ROLLED_BACK)
        raise
    try:
        connection.execute("COMMIT")
    except BaseException as error:
        _roll_back(connection)
        error.add_note(
            _UNKNOWN_OUTCOME if reached_log is None or reached_log() else _ROLLED_BACK
        )
        raise


def _roll_back(connection: sqlite3.Connection) -> None:
    if connection.in_transaction:
        connection.execute("ROLLBACK")


@contextmanager
def explained(path: str) -> Iterator[None]:
    """Turn SQLite's errors over the file at `path` into ones that say what to do."""
    start = time.monotonic()
    try:
        yield
    except sqlite3.IntegrityError as error:
        raise AlreadyThere(
            f"the event was not appended: {error}; every event needs an id of its own"
        ) from error
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        raise _explanation(path, error, time.monotonic() - start) from error


def damaged(path: str, what: object) -> CorruptJournal:
    """Return the error for a damaged journal, with both ways out of it."""
    return CorruptJournal(
        f"{path} is damaged ({what}), and nothing was changed; {WAYS_OUT}"
    )


def _explanation(
    path: str, error: sqlite3.DatabaseError | UnicodeDecodeError, seconds: float
) -> StorageError:
    name = getattr(error, "sqlite_errorname", None) or ""
    notes = getattr(error, "__notes__", ())
    # Statements are ours, and do not change: one that is refused, or a text that is
    # none, means a damaged file.
    broken = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_FORMAT", "SQLITE_ERROR")
    if name.startswith(broken) or (
        not name and not isinstance(error, sqlite3.ProgrammingError)
    ):
        return damaged(path, error)
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL")):
        return StorageError(
            f"{path}: another process kept it locked for {seconds:.1f} s; try again"
        )
    if name == "SQLITE_FULL" or name.startswith("SQLITE_IOERR"):
        return StorageError(
            f"{path}: the disk is full or failing ({error}); {_advice(notes)}"
        )
    if name == "SQLITE_NOMEM":
        return StorageError(
            f"{path}: there is too little memory ({error}); free some, and"
            f" {_advice(notes)}"
        )
    advice = (
        "choose a home that can be written, with --home or THEOREX_HOME, or make this"
        " one so"
    )
    return StorageError(f"{path}: {error} ({name}); {advice}")


def _advice(notes: object) -> str:
    if _UNKNOWN_OUTCOME in (notes or ()):  # type: ignore[operator]
        look = (
            "look with `theorex audit --limit 5` or a search, and repeat it if it is"
            " missing"
        )
        return f"whether this write is kept is not known: make room, {look}"
    if _ROLLED_BACK in (notes or ()):  # type: ignore[operator]
        return "nothing was written: make room, try again"
    return "make room, try again"


def _uri(path: str | Path) -> str:
    """Return the file URI of a path (RFC 8089), with unusual bytes percent-encoded."""
    name = os.fsencode(os.path.abspath(path).replace(os.sep, "/"))
    signs = [chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in name]
    safe = "".join(signs)
    return f"file://{'' if safe.startswith('/') else '/'}{safe}"
