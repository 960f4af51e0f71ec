"""What of a spool stays in it, since the shared journal cannot keep it.

Such an event is noted in a file of the home with the reason. It is read on no machine;
an erasure reaches it as it reaches others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from theorex_lab.journal.base import Journal
from theorex_lab.journal.erasing import EraseSelection
from theorex_lab.journal.event import Event
from theorex_lab.journal.spool_marks import note_refused, read_refused
from theorex_lab.journal.sqlite.store import SqliteJournal

OTHER_EVENT = (
    "the shared journal has another event of this id, which came first from elsewhere;"
    " write this one again, so that it gets an id of its own"
)


def differing_ids(spool: Journal, shared: Journal, ids: Sequence[str]) -> list[str]:
    """Return the ids by which two journals have different events, neither erased.

    Args:
        spool: The one.
        shared: The other.
        ids: The ids to look at; those that one of them lacks are passed over.
    """
    shared_events = _by_id(shared, ids)
    own_events = _by_id(spool, ids)
    differing: list[str] = []
    for event_id, event in own_events.items():
        other = shared_events.get(event_id, event)
        if other != event:
            differing.append(event_id)
    return differing


def _by_id(journal: Journal, ids: Sequence[str]) -> dict[str, Event]:
    """Return events by their ids, without their places in the journal."""
    events: dict[str, Event] = {}
    for event in journal.read(ids=ids):
        unplaced = event._replace(seq=0)
        events[event.id] = unplaced
    return events


class RefusedEvents:
    """The events of a spool that its shared journal cannot keep.

    Args:
        spool: The spool.
        path: The file that names them.
    """

    def __init__(self, spool: SqliteJournal, path: Path) -> None:
        self._spool = spool
        self._path = path

    def note(self, ids: Iterable[str], reason: str) -> None:
        """Keep on disk why the shared journal refuses events.

        Raises:
            StorageError: It cannot be written.
        """
        reasons = dict.fromkeys(ids, reason)
        if reasons:
            note_refused(self._path, reasons)

    def other_ids(self) -> set[str]:
        """Return the ids that the shared journal has given to other events."""
        other_ids: set[str] = set()
        for event_id, reason in read_refused(self._path).items():
            if reason == OTHER_EVENT:
                other_ids.add(event_id)
        return other_ids

    def reasons(self) -> dict[str, str]:
        """Return by id why events were refused, without those that were erased since."""
        reasons = read_refused(self._path)
        left: dict[str, str] = {}
        for event in self._spool.read(ids=[*reasons]):
            left[event.id] = reasons[event.id]
        return left

    def reached_by(self, chosen: EraseSelection) -> list[str]:
        """Return the ids of those that an erasure would reach, in journal order."""
        refused = self.reasons()
        part = _with_ids(chosen, refused)
        if not refused or not _still_chooses(chosen, part):
            return []
        reached: list[str] = []
        for event_id in self._spool.reached_by(part):
            if event_id in refused:
                reached.append(event_id)
        return reached


def chosen_of_shared(
    shared: Journal, chosen: EraseSelection, refused: Collection[str]
) -> EraseSelection | None:
    """Return what a selection chooses in the shared journal, None for nothing.

    Args:
        shared: The shared journal.
        chosen: The selection, which may name events that only the spool has.
        refused: The ids of the events that stay in the spool.
    """
    unsent = _with_ids(chosen, refused).ids
    if not unsent:
        return chosen
    events = shared.read(ids=unsent, erased=True)
    present = {event.id for event in events}
    left = set(chosen.ids)
    left -= set(unsent)
    left |= present
    part = _with_ids(chosen, left)
    return part if _still_chooses(chosen, part) else None


def _with_ids(chosen: EraseSelection, ids: Collection[str]) -> EraseSelection:
    """Return a selection without the ids that are none of these."""
    left = [event_id for event_id in chosen.ids if event_id in ids]
    return chosen._replace(ids=left)


def _still_chooses(chosen: EraseSelection, part: EraseSelection) -> bool:
    """Return whether a selection chooses by something after ids were taken out of it.

    Within a project an event must be named by each that is given, so that a selection
    by ids chooses nothing without them.

    Args:
        chosen: The selection as it was.
        part: The same with fewer ids.
    """
    if part.ids or not chosen.ids:
        return True
    if part.project:
        return False
    if part.match:
        return True
    return part.agent is not None
