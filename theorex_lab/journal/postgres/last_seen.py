"""The newest event that a home saw of a journal, kept in the home.

A server that was put back from a backup, or replaced by a standby that lagged behind,
lost events that were acknowledged, and looks sound. What is kept here tells.
"""

import os

from theorex_lab.journal.sqlite.last_written import (
    LastWritten,
    id_sum,
    newest_slot,
    write_slot,
)


def has_id(seen: LastWritten, event_id: str | None) -> bool:
    """Return whether an event that was noted has this id."""
    return event_id is not None and id_sum(event_id) == seen.id_sum


class LastSeen:
    """The newest event that a home saw of one journal."""

    def __init__(self, folder: str, journal_id: str) -> None:
        """Take the folder of the home, and the id of the journal."""
        self._path = os.path.join(folder, f"postgres-{journal_id}-last")
        self._folder = folder

    def note(self, seq: int, event_id: str) -> None:
        """Note that the journal holds an event."""
        write_slot(self._path, seq, event_id)

    def newest(self) -> LastWritten:
        """Return the newest event that was noted; its seq is 0 for none."""
        return newest_slot(self._path)
