"""Rows that are added to the journal's file, inside the caller's transaction."""

from __future__ import annotations

from theorex_lab.journal.event import Event, encode
from theorex_lab.journal.redaction import kept_event
from theorex_lab.journal.stored import COLUMNS, row_checksum

TYPE_CHECKING = False  # what type checkers take for true
if TYPE_CHECKING:
    from theorex_lab.core.light_sqlite import sqlite3

INSERT = f"INSERT INTO events ({COLUMNS}, crc) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"


def insert(
    connection: sqlite3.Connection,
    event: Event,
    seq: int | None = None,
) -> int:
    """Insert one event inside the caller's transaction, and return its seq.

    Its secrets are masked: this is the one place that every event passes.

    Args:
        connection: The connection.
        event: The event.
        seq: The seq, None for the next one.

    Raises:
        InvalidInput: The body is not what its kind says.
    """
    masked_event, body = kept_event(event)
    lineage = encode(list(masked_event.lineage)) if masked_event.lineage else "[]"
    if seq is None:
        seq = next_seq(connection)
    row = (
        seq,
        *masked_event[1:6],
        lineage,
        body,
    )
    checksum = row_checksum(*row)
    connection.execute(INSERT, (*row, checksum))
    return seq


def next_seq(connection: sqlite3.Connection) -> int:
    """Return the seq of the next event, inside the caller's transaction."""
    last = connection.execute("SELECT max(seq) FROM events").fetchone()
    return int(last[0] or 0) + 1
