"""The journal's interface: what everything above it relies on, whatever keeps the
events.

Standard library only, and cheap to import: agents start a process for every event.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from theorex_lab.core.clock import EARLIEST, LATEST, to_iso
from theorex_lab.core.errors import AlreadyThere, InvalidInput

TYPE_CHECKING = False  # what type checkers take for true
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from theorex_lab.core.clock import Clock
    from theorex_lab.journal.event import Event
    from theorex_lab.journal.places import Places

FUTURE_TOLERANCE_MICROSECONDS = 5 * 60 * 1_000_000


class Journal(ABC):
    """An append-only journal of events, in the order of their seqs 1, 2, 3, …; many
    threads may use one at once.

    `clock` tells when an event is dated too far ahead.
    """

    clock: Clock
    notice = ""  # what whoever opens it should know

    @abstractmethod
    def append(
        self, events: Sequence[Event], *, allow_future: bool = False
    ) -> list[int]:
        """Append all the events or none of them; they are kept for good when this
        returns. Returns their seqs.

        Raises InvalidInput for an event that cannot be stored or is dated more than
        five minutes ahead of the clock (unless `allow_future`), AlreadyThere where an
        id is there already, StorageError where nothing can be written.
        """

    @abstractmethod
    def exclusive(self) -> AbstractContextManager[Callable[[Event], int]]:
        """What is read in here stays so until the end: others wait to write.

        Yields what appends an event, of any date.

        For decisions that rest on all that was written before them, and are made within
        a second. Raises as `append`.
        """

    @abstractmethod
    def read(
        self, *, seqs: Sequence[int] = (), ids: Sequence[str] = (), erased: bool = False
    ) -> list[Event]:
        """The events of these seqs or ids, in journal order; what is not there is left
        out, and what was erased unless `erased`.

        What was set aside (see `event.readable`) counts as erased.

        Raises CorruptJournal where an event of the journal cannot be found, or is not
        as it was written.
        """

    @abstractmethod
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
        """The events with `after` < seq ≤ `upto` in order, of these kinds and projects,
        or of all.

        A project '' stands for events that know none. Erased ones come only if
        `erased`, and none of them where projects are named: which was theirs nobody
        knows. `lacking`: a text that leaves out the bodies that hold it, and one that
        lets them in again, both as `encode` writes them.

        Raises CorruptJournal where an event in between is lost, or is not as it was
        written.
        """

    @abstractmethod
    def last_seq(self) -> int:
        """The seq of the newest event, 0 in an empty journal."""

    @abstractmethod
    def event_id(self, seq: int) -> str | None:
        """The id of the event at `seq`, None where there is none; its body is not read."""

    def places(self) -> Places:
        """What its events say of projects: where they are, and which were merged."""
        from theorex_lab.journal.places import KINDS, Places

        last = self.last_seq()
        return Places().after(
            self.tail(0, kinds=KINDS, upto=last), last, self.event_id(last) or ""
        )

    def keep_places(self) -> None:  # noqa: B027 - a journal need not
        """Keep what `places` gives where hooks find it without asking the journal."""

    def has_project(self, project: str) -> bool:
        """Whether any event is of a project."""
        return next(self.tail(0, projects=[project]), None) is not None

    @abstractmethod
    def check(self) -> tuple[list[str], dict[str, int]]:
        """What is wrong with the stored events, in words, and how many there are of
        each kind. Never raises for damage.
        """

    @abstractmethod
    def close(self) -> None:
        """Let go of files and connections."""

    def set_aside(self, after: int = 0, *, upto: int | None = None) -> Iterator[Event]:
        """The events with `after` < seq ≤ `upto` whose bodies are not what their kinds
        say, each with why: `Event.set_aside`.

        All events in between are read. Raises as `tail`.
        """
        for event in self.tail(after, upto=upto, erased=True):
            if event.set_aside:
                yield event


def append_once(journal: Journal, events: Sequence[Event]) -> bool:
    """Append the events of one step; False, and none of them, where it was taken
    meanwhile or a source of it was erased.

    It was taken where an id is there already; its sources are the lineages.
    """
    source_ids: set[str] = set()
    for event in events:
        source_ids.update(event.lineage)
    sources = sorted(source_ids)
    try:
        with journal.exclusive() as append:
            if any(event.erased for event in journal.read(ids=sources, erased=True)):
                return False
            for event in events:
                append(event)
    except AlreadyThere:
        return False
    return True


def is_wanted(
    event: Event,
    kinds: Sequence[str] | None,
    projects: Sequence[str] | None,
    *,
    erased: bool,
) -> bool:
    """Whether `Journal.tail` gives an event that lies between its bounds."""
    if event.erased and (not erased or projects is not None):
        return False
    return (kinds is None or event.kind in kinds) and (
        projects is None or event.body.get("project", "") in projects
    )


def check_time(event: Event, now: int, *, allow_future: bool) -> None:
    """Raise InvalidInput for an event outside the years 1 to 9999, or more than five
    minutes ahead of `now` (µs UTC).
    """
    if not EARLIEST <= event.at <= LATEST:
        raise InvalidInput(
            f"got an event at {event.at} µs; allowed are the years 1 to 9999"
        )
    if not allow_future and event.at > now + FUTURE_TOLERANCE_MICROSECONDS:
        ahead = f"got an event dated {to_iso(event.at)}, more than 5 minutes ahead of the clock"
        raise InvalidInput(f"{ahead}; set the clock right, or import it")
