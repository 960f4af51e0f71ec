"""A shared journal with a spool before it: the file of this machine.

What is captured here goes into the spool, which needs no server: hooks, `theorex write`
and programs that write observations append to it as to any home's file. What is read,
and what is decided from what was read, is read from and appended to the shared journal.
Before that, what waits in the spool is forwarded, so that whoever reads finds what was
captured here before. Where the shared journal cannot be reached, nothing is read: half
a memory is never taken for a whole one.

Events are forwarded by their ids: one that the shared journal has is left out. So a
forwarding may be killed at any point and is repeated; nothing is lost, and nothing
arrives twice.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, Protocol

from theorex_lab.core.errors import InvalidInput, ServerAway, StorageError
from theorex_lab.core.files import exclusive
from theorex_lab.journal.base import Journal
from theorex_lab.journal.erasing import ERASURE, ErasedPart, EraseSelection, erasable
from theorex_lab.journal.event import RAW_KINDS, Event
from theorex_lab.journal.places import BOUND, MERGED, ROOTS, Places
from theorex_lab.journal.spool_marks import (
    PULLED_FILE,
    REFUSED_FILE,
    SENT_FILE,
    Mark,
    Position,
    newest_position,
    read_mark,
    write_mark,
)
from theorex_lab.journal.spool_refused import (
    OTHER_EVENT,
    RefusedEvents,
    chosen_of_shared,
    differing_ids,
)
from theorex_lab.journal.sqlite.batches import (
    StoredRow,
    count_rows,
    stored_rows,
)
from theorex_lab.journal.sqlite.erase import erase_as_noted
from theorex_lab.journal.sqlite.store import SqliteJournal

if TYPE_CHECKING:
    from theorex_lab.journal.shared_snapshots import SnapshotStore

# What needs nothing that was read: it waits in the spool while the server is away.
SPOOLED_KINDS = frozenset({*RAW_KINDS, "observation", BOUND, ROOTS})
# What says something of one journal alone: who tends it, and what was erased in it. An
# erasure of the spool is carried out in the shared journal, which notes it in turn.
_STAYING_KINDS = frozenset({ERASURE, "lease"})
_BATCH_ROWS = 5_000
_LOCK_FILE = "spool.lock"


class SharedJournal(Protocol):
    """What a journal must do, beside `Journal`, to be shared through spools."""

    @property
    def journal(self) -> Journal:
        """The journal itself."""

    def snapshots(self) -> SnapshotStore | None:
        """Return where machines keep snapshots for each other; None for nowhere."""

    def append_rows(self, rows: Sequence[StoredRow]) -> int:
        """Append rows whose ids are not there yet; return how many these were."""

    def erase(self, selection: EraseSelection, *, agent: str, at: int) -> ErasedPart:
        """Erase what is selected with all that was derived from it, and wipe it."""

    def finish_erasures(self) -> None:
        """Wipe what an erasure of this home left that was stopped before it had wiped."""

    def wait_for_events(self, after: int, seconds: float) -> bool:
        """Wait at most so long until an event is behind a seq; return whether one is."""


class Pulled(NamedTuple):
    """What the shared journal said since it was looked at last.

    Attributes:
        erased_ids: The ids of the events that were erased there.
        merges: How many projects were merged.
        position: The newest event that was looked at.
    """

    erased_ids: frozenset[str]
    merges: int
    position: Position


class SpooledJournal(Journal):
    """A shared journal with a spool before it; see this module.

    Attributes:
        n_sent: How many events were forwarded through this object.

    Args:
        spool: The journal of this machine.
        connect: Connects to the shared journal; called when something is read first.
    """

    def __init__(
        self, spool: SqliteJournal, connect: Callable[[], SharedJournal]
    ) -> None:
        self._spool = spool
        self._connect = connect
        self._connected: SharedJournal | None = None
        self._connecting = threading.RLock()
        self._sent_seq = -1  # not known yet
        self.n_sent = 0
        self._deciding = threading.local()
        self._folder = spool.path.parent
        self._refused = RefusedEvents(spool, self._folder / REFUSED_FILE)
        self.clock = spool.clock
        self.notice = spool.notice

    @property
    def local(self) -> SqliteJournal:
        """The spool."""
        return self._spool

    @property
    def connected(self) -> SharedJournal:
        """The shared journal as it is, whatever waits in the spool.

        Raises:
            StorageError: It cannot be reached.
        """
        with self._connecting:
            if self._connected is None:
                self._connected = self._reached()
            return self._connected

    def _reached(self) -> SharedJournal:
        """Connect, or say what can be done without the shared journal."""
        try:
            return self._connect()
        except StorageError as error:
            kind = ServerAway if isinstance(error, ServerAway) else StorageError
            raise kind(
                f"{error}. Nothing is lost: {self.n_waiting()} events wait in"
                f" {self._spool.path}, hooks and `theorex write` go on adding to them,"
                " and `theorex sync` forwards them. Reading needs the shared journal:"
                " repeat the command when it can be reached"
            ) from error

    @property
    def shared(self) -> Journal:
        """The shared journal, with all that waited in the spool.

        Raises:
            StorageError: It cannot be reached.
        """
        connected = self.connected
        is_deciding = getattr(self._deciding, "depth", 0)
        if not is_deciding and self._sent_seq < self._spool.last_seq():
            self.forward()
        return connected.journal

    def n_waiting(self) -> int:
        """Return how many events of the spool wait to be forwarded."""
        after = self._sent_mark().read.seq
        return count_rows(self._spool, after, without=_STAYING_KINDS)

    def forward(self) -> int:
        """Forward what waits in the spool, in batches; return how many events arrived.

        An event that the shared journal has already is left out. What was erased in the
        spool is erased there as well.

        Raises:
            StorageError: The shared journal cannot be reached or written. What arrived
                before stays there.
        """
        n_sent = 0
        with exclusive(self._folder / _LOCK_FILE, wait=True):
            connected = self.connected
            connected.finish_erasures()
            mark = self._checked_sent_mark()
            last = self._spool.last_seq()
            seq = mark.read.seq
            while seq < last:
                rows = stored_rows(self._spool, seq, last, _BATCH_ROWS)
                n_sent += self._send(connected, rows)
                seq = rows[-1].seq
                self._note_sent(rows[-1])
            self._sent_seq = seq
            self.n_sent += n_sent
        return n_sent

    def _send(self, connected: SharedJournal, rows: Sequence[StoredRow]) -> int:
        """Forward these rows of the spool, and carry out the erasures among them."""
        n_sent = self._append_rows(
            connected, [row for row in rows if _is_sendable(row)]
        )
        notes = [row.id for row in rows if row.kind == ERASURE]
        other_ids = self._refused.other_ids()
        for note in self._spool.read(ids=notes):
            ids = [
                event_id for event_id in note.body["ids"] if event_id not in other_ids
            ]
            left = connected.journal.read(ids=ids)
            if left:
                selection = EraseSelection(ids=[event.id for event in left])
                connected.erase(selection, agent=note.agent, at=self.clock.now())
        return n_sent

    def _append_rows(self, connected: SharedJournal, rows: Sequence[StoredRow]) -> int:
        """Append rows, without those that the shared journal cannot keep.

        These stay in the spool, and are noted; see `refused`.
        """
        ids = [row.id for row in rows]
        try:
            n_new = connected.append_rows(rows)
        except InvalidInput as error:
            if len(rows) == 1:
                self._refused.note(ids, str(error))
                return 0
        else:
            if n_new < len(rows):
                others = differing_ids(self._spool, connected.journal, ids)
                self._refused.note(others, OTHER_EVENT)
            return n_new
        middle = len(rows) // 2
        n_first = self._append_rows(connected, rows[:middle])
        return n_first + self._append_rows(connected, rows[middle:])

    def refused(self) -> dict[str, str]:
        """Return why the shared journal cannot keep some events of the spool, by id."""
        return self._refused.reasons()

    def reached_by(self, chosen: EraseSelection) -> list[str]:
        """See `ReachedJournal`: in the shared journal, and what it refused."""
        part = chosen_of_shared(self.shared, chosen, self.refused())
        reached = erasable(self.shared).reached_by(part) if part else []
        return [*dict.fromkeys([*reached, *self._refused.reached_by(chosen)])]

    def erase_shared(self, chosen: EraseSelection, *, agent: str) -> list[str]:
        """Erase in the shared journal what is chosen; return the ids.

        Raises:
            InvalidInput: An id is unknown, or nothing was chosen by.
            StorageError: The shared journal cannot be reached or wiped.
        """
        part = chosen_of_shared(self.shared, chosen, self.refused())
        if part is None:
            return []
        return self.connected.erase(part, agent=agent, at=self.clock.now()).ids

    def reached_refused(self, chosen: EraseSelection) -> list[str]:
        """Return the ids of what an erasure reaches of the events in `refused`."""
        return self._refused.reached_by(chosen)

    def _note_sent(self, row: StoredRow) -> None:
        """Keep on disk that the spool was forwarded up to this row."""
        newest = newest_position(self.connected.journal)
        mark = Mark(Position(row.seq, row.id), newest)
        write_mark(self._folder / SENT_FILE, mark)

    def _sent_mark(self) -> Mark:
        """Return how far the spool was forwarded, as far as this machine can tell."""
        mark = read_mark(self._folder / SENT_FILE)
        return mark if mark.read.is_in(self._spool) else Mark()

    def _checked_sent_mark(self) -> Mark:
        """Return how far the spool was forwarded to the shared journal as it is now.

        That is the start where the shared journal was put back from a backup: what it
        lost is sent again from every spool.
        """
        mark = self._sent_mark()
        return mark if mark.other.is_in(self.connected.journal) else Mark()

    def _pulled_mark(self) -> Mark:
        """Return how far the shared journal was looked at, as it is now."""
        mark = read_mark(self._folder / PULLED_FILE)
        return mark if mark.read.is_in(self.connected.journal) else Mark()

    def is_joined(self) -> bool:
        """Return whether this shared journal was looked at from this home before."""
        return self._pulled_mark().read.seq > 0

    def pull(self) -> Pulled:
        """Carry out in the spool what the shared journal erased and merged since.

        It is looked at again from the same event on until `note_pulled` is called, so
        that what a killed process left undone is done by the next.

        Raises:
            StorageError: The shared journal cannot be reached, or the spool not be
                written.
        """
        journal = self.connected.journal
        after = self._pulled_mark().read.seq
        newest = newest_position(journal)
        erased_ids: set[str] = set()
        merges: list[Event] = []
        for event in journal.tail(after, kinds=[ERASURE, MERGED], upto=newest.seq):
            if event.kind == ERASURE:
                erased_ids.update(event.body["ids"])
            else:
                merges.append(event)
        if erased_ids:
            agent = "system"
            erase_as_noted(self._spool, erased_ids, agent=agent, at=self.clock.now())
        n_merges = self._take_merges(merges)
        return Pulled(frozenset(erased_ids), n_merges, newest)

    def _take_merges(self, merges: Sequence[Event]) -> int:
        """Append merges of projects to the spool, by which hooks name projects."""
        ids = [event.id for event in merges]
        present = {event.id for event in self._spool.read(ids=ids, erased=True)}
        missing = [event for event in merges if event.id not in present]
        if missing:
            self._spool.append(missing, allow_future=True)
            self._spool.keep_places()
        return len(missing)

    def note_pulled(self, pulled: Pulled) -> None:
        """Keep on disk that all of it was carried out.

        Raises:
            StorageError: It cannot be written.
        """
        mark = Mark(pulled.position, pulled.position)
        write_mark(self._folder / PULLED_FILE, mark)

    def append(
        self, events: Sequence[Event], *, allow_future: bool = False
    ) -> list[int]:
        """Append what was captured to the spool, anything else to the shared journal.

        Returns:
            The seqs in that journal.

        Raises:
            InvalidInput: As `Journal`.
            AlreadyThere: As `Journal`.
            StorageError: As `Journal`; or the shared journal cannot be reached.
        """
        is_spooled = all(event.kind in SPOOLED_KINDS for event in events)
        journal = self._spool if is_spooled else self.shared
        return journal.append(events, allow_future=allow_future)

    @contextmanager
    def exclusive(self) -> Iterator[Callable[[Event], int]]:
        """See `Journal`: nobody writes to the shared journal meanwhile."""
        with self.shared.exclusive() as append:
            depth = getattr(self._deciding, "depth", 0)
            self._deciding.depth = depth + 1
            try:
                yield append
            finally:
                self._deciding.depth = depth

    @property
    def rows_of(self) -> Journal:
        """See `Journal`: the shared journal."""
        return self.shared

    def read(
        self, *, seqs: Sequence[int] = (), ids: Sequence[str] = (), erased: bool = False
    ) -> list[Event]:
        """See `Journal`: from the shared journal."""
        return self.shared.read(seqs=seqs, ids=ids, erased=erased)

    def tail(
        self,
        after: int,
        *,
        kinds: Sequence[str] | None = None,
        upto: int | None = None,
        projects: Sequence[str] | None = None,
        lacking: tuple[str, str] | None = None,
        erased: bool = False,
    ) -> Iterator[Event]:
        """See `Journal`: of the shared journal."""
        return self.shared.tail(
            after,
            kinds=kinds,
            upto=upto,
            projects=projects,
            lacking=lacking,
            erased=erased,
        )

    def outlines(
        self,
        after: int,
        *,
        kinds: Sequence[str] | None = None,
        upto: int | None = None,
        erased: bool = False,
    ) -> Iterator[Event]:
        """See `Journal`: of the shared journal."""
        return self.shared.outlines(after, kinds=kinds, upto=upto, erased=erased)

    def last_seq(self) -> int:
        """See `Journal`: of the shared journal."""
        return self.shared.last_seq()

    def event_id(self, seq: int) -> str | None:
        """See `Journal`: of the shared journal."""
        return self.shared.event_id(seq)

    @contextmanager
    def decoding_once(self) -> Iterator[None]:
        """See `Journal`."""
        with self.shared.decoding_once():
            yield

    def places(self) -> Places:
        """See `Journal`: what the events of all machines say.

        Which project a folder of this machine is, says `local`.
        """
        return self.shared.places()

    def keep_places(self) -> None:
        """See `Journal`: what hooks of this machine read."""
        self._spool.keep_places()

    def has_project(self, project: str) -> bool:
        """See `Journal`: in the shared journal."""
        return self.shared.has_project(project)

    def check(self) -> tuple[list[str], dict[str, int]]:
        """See `Journal`: both journals are checked, the events of the shared counted."""
        spool_problems, _ = self._spool.check()
        problems, counts = self.shared.check()
        return [*spool_problems, *problems], counts

    def close(self) -> None:
        """See `Journal`."""
        with self._connecting:
            if self._connected is not None:
                self._connected.journal.close()
                self._connected = None
        self._spool.close()


def _is_sendable(row: StoredRow) -> bool:
    """Return whether a row of the spool is forwarded."""
    return row.kind not in _STAYING_KINDS and not row.is_erased
