"""Erasure: the one exception to append-only.

A body is replaced by a hash without a key, and so are those derived from it.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from theorex_lab.core.errors import StorageError
from theorex_lab.journal.erasing import (
    DONE,
    BodyEraser,
    ErasedPart,
    EraseSelection,
    RowChooser,
    project_of_row,
    reached_rows,
    refuse_no_choice,
    refuse_unknown_id,
)
from theorex_lab.journal.segments import ARCHIVE_FOLDER, Segments
from theorex_lab.journal.sqlite import connection as connections
from theorex_lab.journal.sqlite.free_space import free_space
from theorex_lab.journal.sqlite.inserting import insert
from theorex_lab.journal.stored import row_checksum

if TYPE_CHECKING:
    from theorex_lab.journal.sqlite.store import SqliteJournal

_RETRY_SECONDS = 0.01
_BUSY = (
    "another process is reading, or writing, for longer than this one could wait;"
    " close it"
)


def compact(journal: SqliteJournal, *, done: str, always: bool = True) -> None:
    """Empty the write-ahead log, rewrite the file, and empty the log again.

    Safe to repeat.

    Args:
        journal: The journal.
        done: What has been done already, for the error.
        always: Whether the file is rewritten also where no old bytes are left in it,
            and little of it is free.

    Raises:
        StorageError: Another process reads or writes for so long that a log could not
            be emptied or the file not be rewritten; or the disk is full.
    """
    try:
        with journal.explained():
            connection = journal.connection()
            # A log that cannot be emptied now cannot be afterwards either, and the
            # rewriting would double it.
            if emptied := _checkpoint(connection):
                if not (always or _is_worth_rewriting(journal)):
                    return
                connection.execute("VACUUM")
                emptied = _checkpoint(connection)
    except StorageError as error:
        raise StorageError(
            f"{done}, but old bytes are left in {journal.path}: {error}; repeat the"
            " command"
        ) from error
    if not emptied:
        left = f"old bytes are left in the write-ahead log of {journal.path}"
        raise StorageError(f"{done}, but {left}: {_BUSY} and repeat the command")


def _is_worth_rewriting(journal: SqliteJournal) -> bool:
    """Return whether old bytes stand in free room of the file, or much of it is free."""
    is_left, free_share = free_space(str(journal.path))
    return is_left or free_share > _MOST_FREE


def _checkpoint(connection: sqlite3.Connection) -> bool:
    """Return whether the whole log was moved into the file and cut to nothing.

    SQLite waits for those who read or write, but not for one who moves the log himself,
    as every writer does at times.
    """
    deadline = time.monotonic() + connections.BUSY_TIMEOUT_SECONDS
    while connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
        if time.monotonic() >= deadline:
            return False
        time.sleep(_RETRY_SECONDS)
    return True


_IDS_PER_QUERY = 500  # parameters; old releases of SQLite allow 999
_MOST_FREE = 0.33  # of a journal's file that is not rewritten


def erase_chosen(
    journal: SqliteJournal, chosen: EraseSelection, *, agent: str, at: int
) -> list[str]:
    """Erase the bodies of what `select` would return, and note it as an event.

    A body is replaced by {erased, hmac_sha256}, and its session becomes ''. All in one
    transaction, so that nothing is derived from them in between. The key of the hash is
    thrown away: nobody can try out what the body was. The old bytes are there until
    `wipe`. Safe to repeat: what was erased before is left alone.

    Args:
        journal: The journal.
        chosen: What to erase by.
        agent: The agent of the note.
        at: The time of the note (µs).

    Returns:
        The ids of the events.

    Raises:
        InvalidInput: As `select`.
        StorageError: The journal cannot be written.
    """
    return erase_part(journal, chosen, agent=agent, at=at).ids


def erase_part(
    journal: SqliteJournal, chosen: EraseSelection, *, agent: str, at: int
) -> ErasedPart:
    """Erase as `erase_chosen` does, and return also of which projects that was.

    The journal does not tell it afterwards.

    Args:
        journal: The journal.
        chosen: What to erase by.
        agent: The agent of the note.
        at: The time of the note (µs).

    Raises:
        InvalidInput: As `select`.
        StorageError: The journal cannot be written.
    """
    segments = Segments(journal.path.parent / ARCHIVE_FOLDER)
    with journal.writing() as connection:
        reached_ids = reached(journal, connection, chosen)
        projects: set[str] = set()
        for event_id in reached_ids:
            projects.add(_project_of(connection, segments, event_id))
        seq = _erase(connection, reached_ids, agent=agent, at=at)
    return ErasedPart(reached_ids, frozenset(projects), seq)


def erase_as_noted(
    journal: SqliteJournal, ids: Iterable[str], *, agent: str, at: int
) -> list[str]:
    """Erase here what was erased in another journal that shares events with this one.

    These are the events of the ids, as far as they are here, and all that was derived
    from any of them, also from one that is not here. Safe to repeat.

    Args:
        journal: The journal.
        ids: The ids that the note of the other journal lists.
        agent: The agent of the note.
        at: The time of the note (µs).

    Returns:
        The ids of the events that were erased now.

    Raises:
        StorageError: The journal cannot be written.
    """
    chosen = frozenset(ids)

    def is_chosen(event_id: str, *columns: str) -> bool:
        lineage = columns[3]
        return event_id in chosen or not chosen.isdisjoint(json.loads(lineage))

    with journal.writing() as connection:
        seqs = _seqs_of(connection, sorted(chosen))
        rows = connection.execute(
            "SELECT id, agent, session, kind, lineage, body FROM events"
            " WHERE lineage <> '[]' OR seq IN (SELECT value FROM json_each(?))"
            " ORDER BY seq",
            [json.dumps([*seqs.values()])],
        )
        reached_ids = reached_rows(rows.fetchall(), is_chosen)
        _erase(connection, reached_ids, agent=agent, at=at)
    return reached_ids


def _project_of(
    connection: sqlite3.Connection, segments: Segments, event_id: str
) -> str:
    """Return the project of an event, '' where it has none or may be of several."""
    query = "SELECT kind, body FROM events WHERE id = ?"
    kind, body = connection.execute(query, [event_id]).fetchone()
    return project_of_row(segments, event_id, kind, body)


def wipe(journal: SqliteJournal) -> None:
    """Wipe the bytes of erased bodies from the journal's file and its write-ahead log.

    SQLite has overwritten them in their rows (`secure_delete`). The file is rewritten
    only where old bytes stand in its free room, as where rows were moved between pages,
    or where much of it is free.

    Raises:
        StorageError: As `compact`.
    """
    compact(journal, done=DONE, always=False)


def reached(
    journal: SqliteJournal, connection: sqlite3.Connection, chosen: EraseSelection
) -> list[str]:
    """Return what `select` does, within the caller's transaction where it has one."""
    refuse_no_choice(chosen)
    _refuse_unknown(connection, chosen.ids)
    projects: list[str] = []
    if chosen.project:
        projects = journal.places().names_of(chosen.project)
    segments = Segments(journal.path.parent / ARCHIVE_FOLDER)
    is_chosen = RowChooser(chosen, segments, projects)
    return reached_rows(_candidates(connection, chosen), is_chosen)


def _candidates(
    connection: sqlite3.Connection, chosen: EraseSelection
) -> Iterable[tuple[str, str, str, str, str, str]]:
    """Yield the rows, `id` to `body`, that may be chosen or derived, in journal order.

    For a choice by ids alone, rows that are neither chosen nor derived from anything are
    left out by the database.
    """
    columns = "id, agent, session, kind, lineage, body"
    if chosen.agent is not None or chosen.match or chosen.project:
        return connection.execute(f"SELECT {columns} FROM events ORDER BY seq")
    seqs = [*_seqs_of(connection, chosen.ids).values()]
    named = "seq IN (SELECT value FROM json_each(?))"
    # The rows themselves are looked at, not an index of lineages: where one is damaged,
    # what was derived would stay.
    return connection.execute(
        f"SELECT {columns} FROM events WHERE seq >= ?"
        f" AND (lineage <> '[]' OR {named}) ORDER BY seq",
        [min(seqs), json.dumps(seqs)],
    )


def _refuse_unknown(connection: sqlite3.Connection, ids: Sequence[str]) -> None:
    """Raise InvalidInput for an event id that is not in the journal."""
    seqs = _seqs_of(connection, ids)
    for event_id in sorted(ids):
        if event_id not in seqs:
            refuse_unknown_id(event_id)


def _seqs_of(connection: sqlite3.Connection, ids: Sequence[str]) -> dict[str, int]:
    """Return the seqs of the events that are there, by their ids.

    Each id is a parameter: in a list as JSON, SQLite would end it at a sign U+0000.
    """
    seqs: dict[str, int] = {}
    for start in range(0, len(ids), _IDS_PER_QUERY):
        part = ids[start : start + _IDS_PER_QUERY]
        marks = ",".join("?" * len(part))
        query = f"SELECT id, seq FROM events WHERE id IN ({marks})"
        seqs.update(connection.execute(query, part))
    return seqs


def _erase(
    connection: sqlite3.Connection, ids: Sequence[str], *, agent: str, at: int
) -> int:
    """Erase these events, and note them in one more event.

    The note says also from where on each kind was reached.

    Returns:
        The seq of the note; 0 where all was erased before, and none is written.
    """
    eraser = BodyEraser()
    for event_id in ids:
        _erase_one(connection, event_id, eraser)
    event = eraser.event(agent, at)
    return insert(connection, event) if event else 0


def _erase_one(
    connection: sqlite3.Connection, event_id: str, eraser: BodyEraser
) -> None:
    """Erase an event, unless it is not there or was erased."""
    query = "SELECT at, agent, kind, lineage, body, seq FROM events WHERE id = ?"
    row = connection.execute(query, [event_id]).fetchone()
    if row is None:
        return
    at, agent, kind, lineage, body, seq = row
    rest = eraser.left_of(body)
    if not rest:
        return
    crc = row_checksum(seq, event_id, at, agent, "", kind, lineage, rest)
    connection.execute(
        "UPDATE events SET session = '', body = ?, crc = ? WHERE id = ?",
        [rest, crc, event_id],
    )
    eraser.note(event_id, kind, seq)
