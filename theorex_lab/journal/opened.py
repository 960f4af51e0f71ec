"""Opening the journal of a home, whatever keeps its events.

Standard library only, and paths are texts: agents start a process for every event. The
package psycopg is imported only where a home names a PostgreSQL server.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # what type checkers take for true
if TYPE_CHECKING:
    from pathlib import Path

    from theorex_lab.core.clock import Clock
    from theorex_lab.journal.base import Journal
    from theorex_lab.journal.stored import StoredJournal


def open_journal(
    home: str | Path, *, url: str = "", clock: Clock | None = None
) -> StoredJournal:
    """Return the journal of a home, opened or created.

    Args:
        home: The folder of the home.
        url: The setting journalUrl: the PostgreSQL database that keeps the events; ''
            for the SQLite file in the folder.
        clock: The clock; by default the system's.

    Raises:
        StorageError: It cannot be opened or made; or psycopg is missing, where `url`
            needs it.
        CorruptJournal: It is damaged, or lost events.
        ConfigError: The URL is outside the rule.
    """
    if url:
        from theorex_lab.journal.postgres.store import PostgresJournal

        return PostgresJournal(url, home, clock=clock)
    from theorex_lab.journal.sqlite.opening import DATABASE_FILE
    from theorex_lab.journal.sqlite.store import SqliteJournal

    return SqliteJournal(os.path.join(home, DATABASE_FILE), clock=clock)


def open_home_journal(
    home: str | Path, *, url: str = "", clock: Clock | None = None
) -> Journal:
    """Return the journal that a home reads and writes.

    That is the file in its folder. Where `url` names a shared journal, the file is the
    spool before it; nothing is asked of the server until something is read.

    Args:
        home: The folder of the home.
        url: The setting journalUrl, '' for none.
        clock: The clock; by default the system's.

    Raises:
        StorageError: The file cannot be opened or made.
        CorruptJournal: The file is damaged.
    """
    if not url:
        return open_journal(home, clock=clock)
    from functools import partial
    from pathlib import Path

    from theorex_lab.journal.shared_postgres import connected_to
    from theorex_lab.journal.spool import SpooledJournal
    from theorex_lab.journal.sqlite.opening import DATABASE_FILE
    from theorex_lab.journal.sqlite.store import SqliteJournal

    spool = SqliteJournal(os.path.join(home, DATABASE_FILE), clock=clock)
    connect = partial(connected_to, url, Path(home), clock=spool.clock)
    return SpooledJournal(spool, connect)
