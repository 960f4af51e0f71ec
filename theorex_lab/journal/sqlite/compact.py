"""Compacting: the journal's file is rewritten, so that neither it nor its write-ahead log holds what was replaced."""

import sqlite3
import time

from theorex_lab.errors import StorageError
from theorex_lab.journal.sqlite import connection as connections
from theorex_lab.journal.sqlite.store import SqliteJournal

_RETRY_SECONDS = 0.01
_BUSY = "another process is reading, or writing, for longer than this one could wait; close it"


def compact(journal: SqliteJournal, *, done: str) -> None:
    """Empty the write-ahead log, rewrite the file, and empty the log again.

    `done` says what has been done already, for the error: StorageError where another process reads or writes for so
    long that a log could not be emptied or the file not be rewritten, or where the disk is full. Safe to repeat.
    """
    try:
        with journal.explained():
            connection = journal.connection()
            # A log that cannot be emptied now cannot be afterwards either, and the rewriting would double it.
            if emptied := _checkpoint(connection):
                connection.execute("VACUUM")
                emptied = _checkpoint(connection)
    except StorageError as error:
        raise StorageError(f"{done}, but old bytes are left in {journal.path}: {error}; repeat the command") from error
    if not emptied:
        left = f"old bytes are left in the write-ahead log of {journal.path}"
        raise StorageError(f"{done}, but {left}: {_BUSY} and repeat the command")


def _checkpoint(connection: sqlite3.Connection) -> bool:
    """Whether the whole log was moved into the file and cut to nothing.

    SQLite waits for those who read or write, but not for one who moves the log himself, as every writer does at times.
    """
    deadline = time.monotonic() + connections.BUSY_TIMEOUT_SECONDS
    while connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
        if time.monotonic() >= deadline:
            return False
        time.sleep(_RETRY_SECONDS)
    return True
