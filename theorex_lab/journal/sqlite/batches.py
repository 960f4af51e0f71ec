"""Rows of a journal's file as they are stored, for journals that take them over whole.

What was appended has been checked and masked, so nobody decodes it to hand it on.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

from theorex_lab.journal.event import RAW_KINDS, encode, segment_of
from theorex_lab.journal.sqlite.store import SqliteJournal
from theorex_lab.journal.stored import COLUMNS, has_checksum

_ERASED = '{"erased":1'
_ARCHIVED = '"archived":'
_STUB_START = 24  # letters of a body, in which a stub names its segment


class StoredRow(NamedTuple):
    """An event as a journal stores it.

    Attributes:
        seq: Its seq in the journal that it was read from.
        id: Its id.
        at: When it happened (µs UTC).
        agent: The agent.
        session: The session, '' for none.
        kind: Its kind.
        lineage: The ids of the events that it rests on, as JSON.
        body: The body, as JSON.
    """

    seq: int
    id: str
    at: int
    agent: str
    session: str
    kind: str
    lineage: str
    body: str

    @property
    def is_erased(self) -> bool:
        """Return whether the body was erased."""
        return self.body.startswith(_ERASED)


def stored_rows(
    journal: SqliteJournal, after: int, upto: int, limit: int
) -> list[StoredRow]:
    """Return up to `limit` rows with `after` < seq ≤ `upto`, in journal order.

    A body that lies in a segment is read from there.

    Raises:
        CorruptJournal: A row is not as it was written, or is missing.
    """
    query = (
        f"SELECT {COLUMNS}, crc FROM events WHERE seq > ? AND seq <= ?"
        " ORDER BY seq LIMIT ?"
    )
    with journal.explained():
        cursor = journal.connection().execute(query, [after, upto, limit])
        stored = cursor.fetchall()
    rows: list[StoredRow] = []
    for expected, columns in enumerate(stored, after + 1):
        if columns[0] != expected:
            raise journal.damaged(f"event {expected} is not found")
        if not has_checksum(columns):
            raise journal.damaged(f"event {expected} does not have its checksum")
        row = StoredRow(*columns[:-1])
        rows.append(_whole(journal, row))
    return rows


def _whole(journal: SqliteJournal, row: StoredRow) -> StoredRow:
    """Return a row with its body, where a stub stands for it."""
    is_stub = row.kind in RAW_KINDS and _ARCHIVED in row.body[:_STUB_START]
    if not is_stub or segment_of(json.loads(row.body)) is None:
        return row
    (event,) = journal.read(seqs=[row.seq], erased=True)
    return row._replace(body=encode(event.body))


def count_rows(journal: SqliteJournal, after: int, *, without: Iterable[str]) -> int:
    """Return how many rows behind `after` are neither erased nor of these kinds."""
    query = (
        "SELECT count(*) FROM events WHERE seq > ?"
        " AND kind NOT IN (SELECT value FROM json_each(?))"
        " AND substr(body, 1, ?) <> ?"
    )
    kinds = json.dumps(sorted(without))
    with journal.explained():
        connection = journal.connection()
        parameters = [after, kinds, len(_ERASED), _ERASED]
        row = connection.execute(query, parameters).fetchone()
    return int(row[0])
