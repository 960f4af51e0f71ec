"""Snapshots of views in the journal's database, for other machines.

A snapshot that is pushed must hold nothing that was erased. Whoever erases removes what
is reached, holds the writers' lock, and writes the tables anew afterwards, for which all
who push must have ended. So a push first takes part in the tables, and looks for
erasures twice: before anything of it is in the database, and under the writers' lock
before it is seen by others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from theorex_lab.core.errors import StorageError
from theorex_lab.journal.postgres import connection as connections
from theorex_lab.journal.postgres.connection import Connection
from theorex_lab.journal.shared_snapshots import MOST_BYTES, SnapshotHead
from theorex_lab.journal.snapshot import Erasures

if TYPE_CHECKING:
    from theorex_lab.journal.postgres.store import PostgresJournal

_PART_BYTES = 1 << 20
_HEADS = """
    SELECT id::text, name, code, seq, event_id, kinds, n_bytes FROM snapshots
    ORDER BY name, code DESC, seq DESC
"""
_INSERT_HEAD = """
    INSERT INTO snapshots (name, code, seq, event_id, kinds, n_bytes, manifest)
    VALUES (%s, %s, %s, %s, %s, %s, %s) RETURNING id
"""
_NEWER = """
    SELECT 1 FROM snapshots
    WHERE name = %s AND id <> %s AND (code > %s OR (code = %s AND seq >= %s)) LIMIT 1
"""
_COPY_PARTS = "COPY snapshot_parts (snapshot, column_name, number, data) FROM STDIN"


class DatabaseSnapshots:
    """See `journal.shared_snapshots.SnapshotStore`."""

    def __init__(self, journal: PostgresJournal) -> None:
        self._journal = journal

    def heads(self) -> list[SnapshotHead]:
        """See `SnapshotStore`.

        Raises:
            StorageError: The database has no such tables yet, or this role may not read
                them.
        """
        if self._journal.layout < 2:
            raise StorageError(
                f"{self._journal.url} keeps no snapshots yet: its owner has to open it"
                " once with this release"
            )
        newest: dict[str, SnapshotHead] = {}
        for row in self._journal.fetch(_HEADS, ()):
            key, name, code, seq, event_id, kinds, n_bytes = row
            head = SnapshotHead(
                key=key,
                name=name,
                code=code,
                seq=seq,
                event_id=event_id,
                kinds=tuple(kinds),
                n_bytes=n_bytes,
            )
            newest.setdefault(name, head)
        return list(newest.values())

    def put(
        self, head: SnapshotHead, manifest: bytes, files: Mapping[str, Path]
    ) -> bool:
        """See `SnapshotStore`."""
        with self._transaction() as connection:
            if self._is_reached(head):
                return False
            key = _insert(connection, head, manifest, files)
            connection.execute(self._journal.lock_statement)
            code = head.code
            newer = connection.execute(_NEWER, [head.name, key, code, code, head.seq])
            if newer.fetchone() is not None or self._is_reached(head):
                return False
            older = "DELETE FROM snapshots WHERE name = %s AND id <> %s"
            connection.execute(older, [head.name, key])
            connections.commit(connection)
        return True

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        """Yield a connection in a transaction that takes part in the tables.

        What was not committed is taken back at the end.
        """
        with connections.server_errors_explained(self._journal.url):
            connection = self._journal.connection()
            connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
            try:
                for table in ("snapshots", "snapshot_parts"):
                    connection.execute(f"LOCK TABLE {table} IN ROW EXCLUSIVE MODE")
                yield connection
            finally:
                connections.roll_back(connection)

    def _is_reached(self, head: SnapshotHead) -> bool:
        erasures = Erasures.after(self._journal, head.seq)
        return erasures.reach(head.kinds, head.seq)

    def manifest(self, head: SnapshotHead) -> bytes | None:
        """See `SnapshotStore`: the table keeps no longer ones than are allowed."""
        query = "SELECT manifest FROM snapshots WHERE id = ?::uuid"
        rows = self._journal.fetch(query, [head.key])
        return bytes(rows[0][0]) if rows else None

    def parts(self, head: SnapshotHead, column: str) -> Iterator[bytes]:
        """See `SnapshotStore`: a part at a time is in memory."""
        query = (
            "SELECT data FROM snapshot_parts"
            " WHERE snapshot = ?::uuid AND column_name = ? AND number = ?"
        )
        left = min(head.n_bytes, MOST_BYTES)
        number = 0
        while left > 0:
            rows = self._journal.fetch(query, [head.key, column, number])
            if not rows:
                return
            part = bytes(rows[0][0])
            yield part[:left]
            left -= len(part)
            number += 1


def _insert(
    connection: Connection,
    head: SnapshotHead,
    manifest: bytes,
    files: Mapping[str, Path],
) -> str:
    """Insert a snapshot with its parts, and return its key."""
    values = [head.name, head.code, head.seq, head.event_id]
    kinds = list(head.kinds)
    cursor = connection.execute(
        _INSERT_HEAD,
        [*values, kinds, head.n_bytes, manifest],
    )
    row = cursor.fetchone()
    assert row is not None
    key = str(row[0])
    with cursor.copy(_COPY_PARTS) as copy:
        for column, path in files.items():
            for number, data in enumerate(_parts_of(path)):
                copy.write_row((key, column, number, data))
    return key


def _parts_of(path: Path) -> Iterator[bytes]:
    """Yield the bytes of a file in parts of one row each."""
    with path.open("rb") as file:
        while data := file.read(_PART_BYTES):
            yield data
