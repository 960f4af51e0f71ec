"""Writing rows into the table of events, within a transaction of the journal."""

from __future__ import annotations

from collections.abc import Sequence

from theorex_lab.core.errors import InvalidInput
from theorex_lab.journal.event import Event, encode
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
        ids = [row[0] for row in rows]
        query = "SELECT id FROM events WHERE id = ANY(%s) LIMIT 1"
        old = self.connection.execute(query, [ids]).fetchone()
        if old is not None or len(set(ids)) < len(ids):
            raise already_there("an event with this id is there already")
        return self.insert(rows)

    def insert(self, rows: Sequence[UnnumberedRow]) -> list[int]:
        """Insert rows whose ids are known to be new; return their seqs."""
        if not rows:
            return []
        first = self._last_seq() + 1
        numbered = []
        for seq, row in enumerate(rows, first):
            numbered.append((seq, *row, row_checksum(seq, *row)))
        with self.connection.cursor() as cursor:
            if len(numbered) < _COPY_FROM_ROWS:
                for full_row in numbered:
                    cursor.execute(_INSERT, full_row)
            else:
                with cursor.copy(_COPY) as copy:
                    for full_row in numbered:
                        copy.write_row(full_row)
        self._last = first + len(rows) - 1
        self.newest = (self._last, rows[-1][0])
        return list(range(first, self._last + 1))

    def _last_seq(self) -> int:
        if self._last is None:  # nobody else writes meanwhile
            query = "SELECT coalesce(max(seq), 0) FROM events"
            row = self.connection.execute(query).fetchone()
            self._last = int(row[0]) if row else 0
        return self._last


def unnumbered_row(event: Event) -> UnnumberedRow:
    """Return an event as its row has it, with its secrets masked.

    Raises:
        InvalidInput: Its body is not what its kind says, or the database cannot hold it.
    """
    masked_event, body = kept_event(event)
    _, event_id, at, agent, session, kind, parents, _ = masked_event
    if "\\u0000" in encode([event_id, agent, session, kind]):
        raise InvalidInput(
            f"got the event {event_id!r} with the sign U+0000 in its id, agent, session"
            " or kind; allowed is text without it"
        )
    lineage = encode(list(parents)) if parents else "[]"
    return event_id, at, agent, session, kind, lineage, body


def project_in_column(project: str) -> str:
    """Return a project as the column `project` has it."""
    return encode(project)[1:-1][:_LONGEST_PROJECT]
