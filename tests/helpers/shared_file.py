"""An SQLite file that several homes share, in the place of a server."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from theorex_lab.core.clock import Clock
from theorex_lab.journal.erasing import ErasedPart, EraseSelection
from theorex_lab.journal.spool import SpooledJournal
from theorex_lab.journal.sqlite.archive import erase_from_segments
from theorex_lab.journal.sqlite.batches import StoredRow
from theorex_lab.journal.sqlite.erase import erase_part, wipe
from theorex_lab.journal.sqlite.inserting import INSERT, next_seq
from theorex_lab.journal.sqlite.store import SqliteJournal
from theorex_lab.journal.stored import row_checksum


class SharedFile:
    """See `journal.spool.SharedJournal`."""

    def __init__(self, path: Path, clock: Clock | None = None) -> None:
        self.journal = SqliteJournal(path, clock=clock)

    def snapshots(self) -> None:
        """A file keeps no snapshots for other homes."""

    def append_rows(self, rows: Sequence[StoredRow]) -> int:
        if not rows:
            return 0
        with self.journal.writing() as connection:
            taken = set(self.present_ids([row.id for row in rows]))
            seq = next_seq(connection)
            inserted: list[tuple[object, ...]] = []
            for row in rows:
                if row.id not in taken:
                    taken.add(row.id)
                    columns = (seq, *row[1:])
                    inserted.append((*columns, row_checksum(*columns)))
                    seq += 1
            connection.executemany(INSERT, inserted)
        return len(inserted)

    def present_ids(self, ids: Iterable[str]) -> frozenset[str]:
        query = "SELECT id FROM events WHERE id IN (SELECT value FROM json_each(?))"
        rows = self.journal.connection().execute(query, [json.dumps(list(ids))])
        return frozenset(event_id for (event_id,) in rows.fetchall())

    def erase(self, selection: EraseSelection, *, agent: str, at: int) -> ErasedPart:
        erased = erase_part(self.journal, selection, agent=agent, at=at)
        erase_from_segments(self.journal)
        wipe(self.journal)
        return erased

    def finish_erasures(self) -> None:
        """Nothing waits for it: tests of erasures that are stopped use PostgreSQL."""

    def wait_for_events(self, after: int, seconds: float) -> bool:
        """Nobody waits here: tests of servers that follow a journal use PostgreSQL."""
        raise NotImplementedError


def spooled(home: Path, shared: Path, clock: Clock | None = None) -> SpooledJournal:
    """Return the journal of a home whose shared journal is a file."""
    spool = SqliteJournal(home / "theorex.db", clock=clock)
    return SpooledJournal(spool, lambda: SharedFile(shared, clock))
