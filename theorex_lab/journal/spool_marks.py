"""How far a spool was forwarded, and how far the shared journal was looked at.

A mark is a small file in the home, replaced as a whole and synced. It only saves work:
where it is missing or lags behind, events are sent again, and their ids are known
already. It never counts where the journal that it was made with is another by now.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from theorex_lab.core.files import write_atomically, writing
from theorex_lab.journal.base import Journal

SENT_FILE = "spool-sent.json"
PULLED_FILE = "spool-pulled.json"
REFUSED_FILE = "spool-refused.json"
_LAYOUT = 1
_PRIVATE = 0o600  # as all else in a home


class Position(NamedTuple):
    """An event of a journal, by which the journal is recognized.

    Attributes:
        seq: Its seq, 0 for the start.
        id: Its id, '' for the start.
    """

    seq: int = 0
    id: str = ""

    def is_in(self, journal: Journal) -> bool:
        """Return whether the journal has this event at this seq."""
        return not self.seq or journal.event_id(self.seq) == self.id


class Mark(NamedTuple):
    """How far a journal was read, and what both journals were then.

    Attributes:
        read: The last event that was read.
        other: The newest event of the other journal after that.
    """

    read: Position = Position()
    other: Position = Position()


def position_of(journal: Journal, seq: int) -> Position:
    """Return the position of the event at `seq`."""
    return Position(seq, journal.event_id(seq) or "")


def newest_position(journal: Journal) -> Position:
    """Return the position of the newest event."""
    return position_of(journal, journal.last_seq())


def read_mark(path: Path) -> Mark:
    """Return what a file says; the start where there is none that can be read."""
    try:
        content = json.loads(path.read_bytes())
        if content["layout"] != _LAYOUT:
            return Mark()
        read_seq, read_id = content["read"]
        other_seq, other_id = content["other"]
        return Mark(
            Position(int(read_seq), str(read_id)),
            Position(int(other_seq), str(other_id)),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return Mark()


def write_mark(path: Path, mark: Mark) -> None:
    """Replace the file as a whole; it is on disk when this returns.

    Raises:
        StorageError: It cannot be written.
    """
    content = {
        "layout": _LAYOUT,
        "read": list(mark.read),
        "other": list(mark.other),
    }
    with writing(path, "nothing is lost: what was sent is sent again"):
        write_atomically(path, json.dumps(content).encode(), mode=_PRIVATE)


def read_refused(path: Path) -> dict[str, str]:
    """Return why events were refused, by their ids; nothing where no file can be read."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return {str(event_id): str(reason) for event_id, reason in content.items()}


def note_refused(path: Path, reasons: Mapping[str, str]) -> None:
    """Keep on disk that events were refused, and why, by their ids.

    Raises:
        StorageError: It cannot be written.
    """
    content = {**read_refused(path), **reasons}
    with writing(path, "nothing is lost: the events are sent again"):
        write_atomically(path, json.dumps(content).encode(), mode=_PRIVATE)
