"""A PostgreSQL journal as spools need it.

The package psycopg is imported when the server is asked for the first time.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from theorex_lab.core.clock import Clock
from theorex_lab.core.errors import CorruptJournal
from theorex_lab.core.files import make_folder, writing
from theorex_lab.journal.erasing import ErasedPart, EraseSelection, OnlyOwnerWipes
from theorex_lab.journal.sqlite.batches import StoredRow

if TYPE_CHECKING:
    from theorex_lab.journal.postgres.store import PostgresJournal
    from theorex_lab.journal.shared_snapshots import SnapshotStore

# In the home: what is kept of the server's journal, apart from the spool's.
SHARED_FOLDER = "shared"
_UNWIPED_FILE = "unwiped"


class SharedPostgres:
    """See `journal.spool.SharedJournal`.

    Attributes:
        journal: The journal.

    Args:
        journal: The journal.
        folder: The folder of the home in which is kept that old bytes must be wiped.
    """

    def __init__(self, journal: PostgresJournal, folder: Path) -> None:
        self.journal = journal
        self._unwiped = folder / _UNWIPED_FILE

    def snapshots(self) -> SnapshotStore:
        """See `SharedJournal`: they lie in the database."""
        from theorex_lab.journal.postgres.snapshots import DatabaseSnapshots

        return DatabaseSnapshots(self.journal)

    def append_rows(self, rows: Sequence[StoredRow]) -> int:
        """See `SharedJournal`: all in one transaction, by COPY.

        The rows are taken as they are: they were checked and masked when they were
        appended to the spool.
        """
        unique = {row.id: row for row in rows}
        if not unique:
            return 0
        with self.journal.writing() as writing:
            present = self.journal.known_ids(unique)
            new_rows = [row[1:] for row in unique.values() if row.id not in present]
            return len(writing.insert(new_rows))

    def erase(self, selection: EraseSelection, *, agent: str, at: int) -> ErasedPart:
        """See `SharedJournal`."""
        with writing(self._unwiped, "nothing was erased: make the home writable"):
            self._unwiped.touch(mode=0o600)
        erased = self.journal.erase_part(selection, agent=agent, at=at)
        self._wipe()
        return erased

    def finish_erasures(self) -> None:
        """See `SharedJournal`."""
        if self._unwiped.exists():
            self._wipe()

    def wait_for_events(self, after: int, seconds: float) -> bool:
        """See `SharedJournal`: the server tells of them."""
        return self.journal.wait_for_events(after, seconds)

    def _wipe(self) -> None:
        """Wipe, and keep that it was done, or that this role never can."""
        try:
            self.journal.wipe()
        except OnlyOwnerWipes:
            self._unwiped.unlink(missing_ok=True)
            raise
        self._unwiped.unlink(missing_ok=True)


def connected_to(url: str, home: Path, *, clock: Clock) -> SharedPostgres:
    """Connect a home to the journal at a URL.

    Raises:
        StorageError: The server cannot be reached; or psycopg is missing.
        CorruptJournal: The journal lost events that this home had seen.
    """
    folder = home / SHARED_FOLDER
    with writing(folder, "make the home writable"):
        make_folder(str(folder))
    from theorex_lab.journal.postgres.store import PostgresJournal

    try:
        journal = PostgresJournal(url, folder, clock=clock)
    except CorruptJournal as error:
        raise CorruptJournal(
            f"{error}. Where an earlier backup of the database was put back on purpose,"
            f" remove {folder} on each machine and run `theorex sync`: what the server"
            " lost is sent again from the spools"
        ) from error
    return SharedPostgres(journal, folder)
