"""Connections to the journal's database, opened alike everywhere.

Passwords come from ~/.pgpass or the environment, never from the settings. Errors say
what to do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from theorex_lab.core.errors import (
    AlreadyThere,
    ConfigError,
    InvalidInput,
    ServerAway,
    StorageError,
)
from theorex_lab.core.settings import journal_url_problem
from theorex_lab.journal.postgres.answering import (
    CONNECT_TIMEOUT_SECONDS,
    LOST_LINE,
    RefusedConnection,
    Row,
    answering_connection,
)

Connection = psycopg.Connection[Row]

SCHEMA = "theorex"
LOCK_TIMEOUT_SECONDS = 60
# Longer than what is computed between two statements of a transaction.
_IDLE_MINUTES = 10
_DEFAULTS: dict[str, int | str] = {
    "connect_timeout": CONNECT_TIMEOUT_SECONDS,
    "application_name": "theorex",
    **LOST_LINE,
}
_UNKNOWN_OUTCOME = "the commit failed"
_ONLY_READ = "nothing was to be written"
# What may be lost with the server is not kept, whatever the server does by default. And
# a machine that is gone, or stopped, does not keep the writers' lock for others.
_SESSION = f"""
    SET search_path = {SCHEMA};
    SET lock_timeout = '{LOCK_TIMEOUT_SECONDS}s';
    SET tcp_keepalives_idle = 30;
    SET tcp_keepalives_interval = 10;
    SET tcp_keepalives_count = 3;
    SET tcp_user_timeout = '{LOCK_TIMEOUT_SECONDS}s';
    SET idle_in_transaction_session_timeout = '{_IDLE_MINUTES}min';
    SELECT set_config('synchronous_commit', 'on', false)
    WHERE current_setting('synchronous_commit') = 'off';
"""


def server_connection(url: str) -> Connection:
    """Return a connection as every reader and writer of the journal must have it.

    Each statement is a transaction of its own, unless one is begun.

    Raises:
        ConfigError: The URL is outside the rule of the setting journalUrl.
    """
    problem = journal_url_problem(url)
    if problem:
        raise ConfigError(f"journalUrl {problem}")
    try:
        parameters = conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        raise ConfigError(
            f"journalUrl is no URL that PostgreSQL reads: {error}"
        ) from error
    for name, value in _DEFAULTS.items():
        parameters.setdefault(name, value)
    parameters["client_encoding"] = "UTF8"
    conninfo = make_conninfo("", **parameters)
    connection = answering_connection(conninfo)
    try:
        connection.execute(_SESSION)
    except BaseException:
        connection.close()
        raise
    return connection


def is_idle(connection: Connection) -> bool:
    """Return whether no transaction was begun in a connection."""
    return connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


def commit(connection: Connection, *, notify: str = "") -> None:
    """Commit, and tell those who listen on a channel of the database.

    An error carries a note that says that the outcome is not known.

    Args:
        connection: The connection.
        notify: The channel, '' for none.
    """
    statement = f"NOTIFY {notify}; COMMIT" if notify else "COMMIT"
    try:
        connection.execute(statement)
    except BaseException as error:
        error.add_note(_UNKNOWN_OUTCOME)
        raise


def roll_back(connection: Connection) -> None:
    """Take back what was done since the transaction began, where that still goes on."""
    if connection.closed or is_idle(connection):
        return
    try:
        connection.execute("ROLLBACK")
    except psycopg.Error:
        connection.close()  # then the server takes it back


@contextmanager
def server_errors_explained(url: str, *, only_read: bool = False) -> Iterator[None]:
    """Turn PostgreSQL's errors into ones that say what to do.

    Args:
        url: The database.
        only_read: Whether nothing is to be written.
    """
    try:
        yield
    except psycopg.Error as error:
        if only_read:
            error.add_note(_ONLY_READ)
        raise _explanation(url, error) from error


def _explanation(
    url: str, error: psycopg.Error
) -> StorageError | AlreadyThere | InvalidInput:
    text = " ".join(str(error).split())
    if isinstance(error, errors.UniqueViolation):
        return already_there(text)
    if isinstance(error, psycopg.DataError | errors.ProgramLimitExceeded):
        # What follows the first line may quote the row.
        reason = str(error).partition("\n")[0]
        return InvalidInput(
            f"PostgreSQL keeps no such event: {reason}; {_outcome(error)}"
        )
    if isinstance(error, errors.LockNotAvailable):
        wait = f"another program kept it locked for {LOCK_TIMEOUT_SECONDS} s"
        return StorageError(f"{url}: {wait}; {_outcome(error)}: try again")
    # Tables of a schema that a role may not use are none for it.
    if isinstance(error, errors.InsufficientPrivilege | errors.UndefinedTable):
        text = text.partition(" LINE ")[0]
        grant = "let its owner grant this role what theorex needs"
        return StorageError(f"{url}: {text}; {grant}, see docs/adr/051")
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return StorageError(
            f"{url}: {text}; it is a standby, or the database or the role is set to"
            " read only: name the primary server in journalUrl, or a role that may write"
        )
    if isinstance(error, errors.DiskFull):
        return StorageError(
            f"{url}: the server's disk is full ({text}); make room, and"
            f" {_outcome(error)}"
        )
    if isinstance(error, RefusedConnection):
        advice = (
            "the server runs; see that journalUrl names a database (made with createdb)"
            " and a role that are there, and that ~/.pgpass or PGPASSWORD has the role's"
            " password"
        )
        return StorageError(
            f"{url}: the server refuses the connection ({text}); {advice}: {_outcome(error)}"
        )
    if isinstance(error, psycopg.OperationalError):
        advice = "see that the server runs, that journalUrl is right, and ~/.pgpass"
        return ServerAway(
            f"{url}: the server cannot be reached ({text}); {advice}: {_outcome(error)}"
        )
    return StorageError(f"{url}: {text}; {_outcome(error)}")


def _outcome(error: psycopg.Error) -> str:
    """Return what became of a read or a write that failed."""
    notes: Sequence[str] = getattr(error, "__notes__", ())
    if _ONLY_READ in notes:
        return "nothing in it was changed"
    if _UNKNOWN_OUTCOME in notes:
        look = "look with `theorex audit --limit 5`, and repeat it if it is missing"
        return f"whether this write is kept is not known: {look}"
    return "nothing was written"


def already_there(cause: str) -> AlreadyThere:
    """Return the error for an event whose id the journal has already."""
    return AlreadyThere(
        f"the event was not appended: {cause}; every event needs an id of its own"
    )
