"""Writing rows into the table of events, within a transaction of the journal."""

from __future__ import annotations

from collections.abc import Sequence

import psycopg

from theorex_lab.core.errors import InvalidInput
from theorex_lab.journal.event import Event, encode
from theorex_lab.journal.postgres.answering import Row
from theorex_lab.journal.postgres.connection import Connection, already_there
from theorex_lab.journal.redaction import kept_event
from theorex_lab.journal.stored import COLUMNS, row_checksum

_COPY_FROM_ROWS = 20  # fewer are inserted one by one
_LONGEST_PROJECT = 100  # letters of one in the column `project`
_INSERT = (
    f"INSERT INTO events ({COLUMNS}, crc) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)"
)
_COPY = f"COPY events ({COLUMNS}, crc) FROM STDIN"

# A row before it has its seq: `id` to `body`.
UnnumberedRow = tuple[str, int, str, str, str, str, str]
# With its seq before it, and its checksum behind it.
_FullRow = tuple[int, str, int, str, str, str, str, str, int]


class RowWriting:
    """A transaction in which nobody else writes.

    Attributes:
        connection: The connection.
        newest: The seq and the id of the last event that it appended; None without any.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.newest: tuple[int, str] | None = None
        self._last: int | None = None

    def append(self, rows: Sequence[UnnumberedRow]) -> list[int]:
        """Append rows, none of whose ids is in the journal; return their seqs.

        Raises:
            AlreadyThere: An id is there already, or is twice in the rows.
        """
        ids: list[str] = []
        for row in rows:
            ids.append(row[0])
        n_different = len(set(ids))
        query = "SELECT id FROM events WHERE id = ANY(%s) LIMIT 1"
        cursor = self.connection.execute(query, [ids])
        is_old = cursor.fetchone() is not None
        if is_old or n_different < len(ids):
            raise already_there("an event with this id is there already")
        return self.insert(rows)

    def insert(self, rows: Sequence[UnnumberedRow]) -> list[int]:
        """Insert rows whose ids are known to be new; return their seqs."""
        if not rows:
            return []
        seq = self._last_seq()
        seqs: list[int] = []
        full_rows: list[_FullRow] = []
        for row in rows:
            seq += 1
            crc = row_checksum(seq, *row)
            seqs.append(seq)
            full_rows.append((seq, *row, crc))
        with self.connection.cursor() as cursor:
            _write(cursor, full_rows)
        newest = rows[-1]
        self._last = seq
        self.newest = (seq, newest[0])
        return seqs

    def _last_seq(self) -> int:
        if self._last is None:  # nobody else writes meanwhile
            query = "SELECT coalesce(max(seq), 0) FROM events"
            cursor = self.connection.execute(query)
            row = cursor.fetchone()
            self._last = int(row[0]) if row else 0
        return self._last


def _write(cursor: psycopg.Cursor[Row], full_rows: Sequence[_FullRow]) -> None:
    """Write rows into the table."""
    if len(full_rows) < _COPY_FROM_ROWS:
        for full_row in full_rows:
            cursor.execute(_INSERT, full_row)
        return
    with cursor.copy(_COPY) as copy:
        for full_row in full_rows:
            copy.write_row(full_row)


def unnumbered_row(event: Event) -> UnnumberedRow:
    """Return an event as its row has it, with its secrets masked.

    Raises:
        InvalidInput: Its body is not what its kind says, or the database cannot hold it.
    """
    masked_event, body = kept_event(event)
    _, event_id, at, agent, session, kind, parents, _ = masked_event
    names = (event_id, agent, session, kind)
    encode(names)  # refuses what is no text in UTF-8
    if "\0" in "".join(names):
        raise InvalidInput(
            f"got the event {event_id!r} with the sign U+0000 in its id, agent, session"
            " or kind; allowed is text without it"
        )
    lineage = encode(list(parents)) if parents else "[]"
    return event_id, at, agent, session, kind, lineage, body


def project_in_column(project: str) -> str:
    """Return a project as the column `project` has it."""
    quoted = encode(project)
    written = quoted[1:-1]
    return written[:_LONGEST_PROJECT]
