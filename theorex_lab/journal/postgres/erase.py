"""Erasure in a PostgreSQL database.

The trigger that refuses every change lets a body become its erased form. What the
server does not overwrite is written anew without it: see `wipe`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import psycopg

from theorex_lab.core.errors import StorageError
from theorex_lab.journal.erasing import (
    DONE,
    BodyEraser,
    ErasedPart,
    EraseSelection,
    OnlyOwnerWipes,
    RowChooser,
    project_of_row,
    reached_rows,
    refuse_no_choice,
    refuse_unknown_id,
)
from theorex_lab.journal.postgres.connection import Connection
from theorex_lab.journal.postgres.rows import unnumbered_row
from theorex_lab.journal.stored import row_checksum

if TYPE_CHECKING:
    from psycopg.errors import Diagnostic

    from theorex_lab.journal.postgres.store import PostgresJournal

_PAGE_ROWS = 5_000
_COLUMNS = "seq, id, agent, session, kind, lineage, body"
_REPEAT = "repeat the command, or run `theorex sync` when the server can be reached"
_FIRST_NUMBER = re.compile(r"\d+")


def reached_in_database(journal: PostgresJournal, chosen: EraseSelection) -> list[str]:
    """Return the ids of what is chosen, and of all derived from that, in journal order.

    Raises:
        InvalidInput: An id is unknown, or nothing was chosen by.
    """
    refuse_no_choice(chosen)
    old_ids = journal.known_ids(chosen.ids)
    for event_id in sorted(chosen.ids):
        if event_id not in old_ids:
            refuse_unknown_id(event_id)
    projects: list[str] = []
    if chosen.project:
        projects = journal.places().names_of(chosen.project)
    is_chosen = RowChooser(chosen, None, projects)
    return reached_rows(_candidates(journal, chosen), is_chosen)


def _candidates(
    journal: PostgresJournal, chosen: EraseSelection
) -> Iterator[tuple[str, str, str, str, str, str]]:
    """Yield the rows, `id` to `body`, that may be chosen or derived, in journal order."""
    condition = ""
    parameters: list[Any] = []
    after = 0
    if chosen.agent is None and not chosen.match and not chosen.project:
        ids = list(chosen.ids)
        condition = "AND (lineage <> '[]' OR id = ANY(?))"
        parameters = [ids]
        first = journal.fetch("SELECT min(seq) FROM events WHERE id = ANY(?)", [ids])
        after = first[0][0] - 1
    query = (
        f"SELECT {_COLUMNS} FROM events WHERE seq > ? {condition}"
        f" ORDER BY seq LIMIT {_PAGE_ROWS}"
    )
    while True:
        page = journal.fetch(query, [after, *parameters])
        for row in page:
            yield row[1:]
        if len(page) < _PAGE_ROWS:
            return
        after = page[-1][0]


def erase_in_database(
    journal: PostgresJournal, chosen: EraseSelection, *, agent: str, at: int
) -> ErasedPart:
    """Erase the bodies of what is chosen, and of all derived, and note it as an event.

    All in one transaction, so that nothing is derived from them in between. The old
    bytes are there until `wipe_database`. Safe to repeat.

    Args:
        journal: The journal.
        chosen: What to erase by.
        agent: The agent of the note.
        at: The time of the note (µs).

    Raises:
        InvalidInput: An id is unknown, or nothing was chosen by.
        StorageError: The journal cannot be written.
    """
    eraser = BodyEraser()
    seq = 0
    with journal.writing() as writing:
        ids = reached_in_database(journal, chosen)
        projects = _erase_rows(writing.connection, ids, eraser)
        note = eraser.event(agent, at)
        if note is not None:
            seq = writing.append([unnumbered_row(note)])[0]
    return ErasedPart(ids, frozenset(projects), seq)


def _erase_rows(
    connection: Connection, ids: Sequence[str], eraser: BodyEraser
) -> set[str]:
    """Erase events, and return the projects that they were of."""
    columns = "at, agent, kind, lineage, body, seq"
    projects: set[str] = set()
    for event_id in ids:
        query = f"SELECT {columns} FROM events WHERE id = %s"
        row = connection.execute(query, [event_id]).fetchone()
        if row is None:
            continue
        at, agent, kind, lineage, body, seq = row
        projects.add(project_of_row(None, event_id, kind, body))
        rest = eraser.left_of(body)
        if not rest:
            continue
        crc = row_checksum(seq, event_id, at, agent, "", kind, lineage, rest)
        connection.execute(
            "UPDATE events SET session = '', body = %s, crc = %s WHERE seq = %s",
            [rest, crc, seq],
        )
        eraser.note(event_id, kind, seq)
    return projects


def wipe_database(journal: PostgresJournal) -> None:
    """Write the tables anew, without the rows that were replaced or removed.

    A plain VACUUM only marks their room as free. The server's own write-ahead log, its
    backups and its standbys keep what they hold for as long as they are set up to.

    Raises:
        OnlyOwnerWipes: The role does not own the table.
        StorageError: Another program still reads what was there before; or the server
            cannot be reached.
    """
    tables = ["events"]
    if journal.layout > 1:
        tables += ["snapshots", "snapshot_parts"]
    left = f"{DONE}, but old bytes are left in {journal.url}"
    for table in tables:
        try:
            n_left = _rows_left_in(journal.connection(), table)
        except psycopg.Error as error:
            text = " ".join(str(error).split())
            raise StorageError(f"{left} ({text}): {_REPEAT}") from error
        if not n_left:
            names = ", ".join(f"theorex.{name}" for name in tables)
            raise OnlyOwnerWipes(
                f"{left}: only the owner of the tables may rewrite them; let the owner"
                f" run VACUUM FULL {names}"
            )
        if any(n_left):
            raise StorageError(
                f"{left}: another program still reads what was there before; close it,"
                f" and {_REPEAT}"
            )


def _rows_left_in(connection: Connection, table: str) -> list[int]:
    """Write a table anew; return how many replaced rows were left, as the server says.

    It says nothing where the role may not do so.
    """
    n_left: list[int] = []

    def take_notice(notice: Diagnostic) -> None:
        number = _FIRST_NUMBER.search(notice.message_detail or "")
        if number is not None:
            n_left.append(int(number.group()))

    connection.add_notice_handler(take_notice)
    try:
        connection.execute(f"VACUUM (FULL, VERBOSE) {table}")
    finally:
        connection.remove_notice_handler(take_notice)
    return n_left
