"""The journal's interface, whatever keeps the events.

Everything above the journal relies on this interface alone. Standard library only, and
cheap to import: agents start a process for every event.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager

from theorex_lab.core.clock import EARLIEST, LATEST, to_iso
from theorex_lab.core.errors import AlreadyThere, InvalidInput

TYPE_CHECKING = False  # what type checkers take for true
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from contextlib import AbstractContextManager

    from theorex_lab.core.clock import Clock
    from theorex_lab.journal.event import Event
    from theorex_lab.journal.head_page import HeadPage
    from theorex_lab.journal.places import Places

_PAGE_EVENTS = 2_000
FUTURE_TOLERANCE_MICROSECONDS = 5 * 60 * 1_000_000


class Journal(ABC):
    """An append-only journal of events, in the order of their seqs 1, 2, 3, ….

    Many threads may use one journal at once.

    Attributes:
        clock: Tells when an event is dated too far ahead.
        notice: What whoever opens the journal should know.
    """

    clock: Clock
    notice = ""  # what whoever opens it should know

    @property
    def local(self) -> Journal:
        """The journal of this machine's folders and captures: by default this one."""
        return self

    @property
    def rows_of(self) -> Journal:
        """The journal whose rows are read here: by default this one."""
        return self

    def shared_time(self) -> int:
        """Return the time on which all who write to the journal agree (µs UTC).

        That is the clock's, but for a journal that machines share: their clocks differ.
        """
        return self.clock.now()

    @abstractmethod
    def append(
        self, events: Sequence[Event], *, allow_future: bool = False
    ) -> list[int]:
        """Append all the events or none of them, and return their seqs.

        The events are kept for good when this returns.

        Args:
            events: The events, in the order in which they get their seqs.
            allow_future: Whether an event may be dated ahead of the clock.

        Raises:
            InvalidInput: An event cannot be stored, or is dated more than five minutes
                ahead of the clock without `allow_future`.
            AlreadyThere: An id is there already.
            StorageError: Nothing can be written.
        """

    @abstractmethod
    def exclusive(self) -> AbstractContextManager[Callable[[Event], int]]:
        """Return a context in which what is read stays so: others wait to write.

        The context yields what appends an event, of any date. It is for decisions that
        rest on all that was written before them, and are made within a second.

        Raises:
            InvalidInput: As `append`.
            AlreadyThere: As `append`.
            StorageError: As `append`.
        """

    @abstractmethod
    def read(
        self, *, seqs: Sequence[int] = (), ids: Sequence[str] = (), erased: bool = False
    ) -> list[Event]:
        """Return the events of these seqs or ids, in journal order.

        What is not there is left out.

        Args:
            seqs: The seqs.
            ids: The ids.
            erased: Whether erased events come too. What was set aside (see
                `journal.event.readable`) counts as erased.

        Raises:
            CorruptJournal: An event of the journal cannot be found, or is not as it
                was written.
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
        """Yield the events with `after` < seq ≤ `upto`, in journal order.

        Args:
            after: The seq behind which they begin.
            kinds: The kinds of the events, None for all.
            upto: The last seq, None for the newest.
            projects: The projects of the events, None for all. '' stands for events
                that know none.
            lacking: A text that leaves out the bodies that hold it, and one that lets
                them in again, both as `encode` writes them.
            erased: Whether erased events come too. Where projects are named none comes:
                nobody knows which project an erased event was of.

        Raises:
            CorruptJournal: An event in between is lost, or is not as it was written.
        """

    def outlines(
        self,
        after: int,
        *,
        kinds: Sequence[str] | None = None,
        upto: int | None = None,
        erased: bool = False,
    ) -> Iterator[Event]:
        """Yield the events that `tail` yields, tool calls without their long texts.

        What is left out says `journal.outlines.LEFT_OUT`. Several events may have one
        body, which nobody may change.

        Args:
            after: The seq behind which they begin.
            kinds: The kinds of the events, None for all.
            upto: The last seq, None for the newest.
            erased: Whether erased events come too.

        Raises:
            CorruptJournal: As `tail`.
        """
        from theorex_lab.journal.outlines import outline_of

        for event in self.tail(after, kinds=kinds, upto=upto, erased=erased):
            yield outline_of(event)

    def head_pages(
        self,
        after: int,
        *,
        kinds: Collection[str],
        upto: int,
        whole_kinds: Collection[str] = (),
    ) -> Iterator[HeadPage]:
        """Yield the heads of the events with `after` < seq ≤ `upto`, in pages.

        Erased events are among them.

        Args:
            after: The seq behind which they begin.
            kinds: The kinds of the events.
            upto: The last seq.
            whole_kinds: The kinds whose events stand as a whole beside their heads;
                none that is in `head_page.LONG_TEXTS`.

        Raises:
            CorruptJournal: As `tail`.
        """
        from itertools import islice

        from theorex_lab.journal.head_page import HeadPage

        events = self.outlines(
            after,
            kinds=list(kinds),
            upto=upto,
            erased=True,
        )
        while page := list(islice(events, _PAGE_EVENTS)):
            heads = HeadPage.of(page)
            heads.keep_whole(page, whole_kinds)
            yield heads

    @abstractmethod
    def last_seq(self) -> int:
        """Return the seq of the newest event, 0 in an empty journal."""

    @abstractmethod
    def event_id(self, seq: int) -> str | None:
        """Return the id of the event at `seq`, None where there is none.

        The event's body is not read.
        """

    @contextmanager
    def decoding_once(self) -> Iterator[None]:
        """Return a context in which an event need not be decoded more than once.

        It is for work that looks at the same events through many views and steps. What
        is kept is dropped at its end, and before that as soon as anything is erased. A
        journal may also keep nothing.
        """
        yield

    def places(self) -> Places:
        """Return what the events say of projects: their places, and the merged ones."""
        from theorex_lab.journal.places import KINDS, Places

        last = self.last_seq()
        return Places().after(
            self.tail(0, kinds=KINDS, upto=last), last, self.event_id(last) or ""
        )

    def keep_places(self) -> None:  # noqa: B027 - a journal need not
        """Keep what `places` returns where hooks find it without asking the journal."""

    def has_project(self, project: str) -> bool:
        """Return whether any event is of a project."""
        return next(self.tail(0, projects=[project]), None) is not None

    @abstractmethod
    def check(self) -> tuple[list[str], dict[str, int]]:
        """Return what is wrong with the stored events, and how many a kind has.

        Damage is listed in words; it never raises.
        """

    @abstractmethod
    def close(self) -> None:
        """Let go of files and connections."""

    def set_aside(self, after: int = 0, *, upto: int | None = None) -> Iterator[Event]:
        """Yield the events whose bodies are not what their kinds say.

        `Event.set_aside` says why of each. All events in between are read.

        Args:
            after: The seq behind which they begin.
            upto: The last seq, None for the newest.

        Raises:
            CorruptJournal: As `tail`.
        """
        for event in self.tail(after, upto=upto, erased=True):
            if event.set_aside:
                yield event


def append_once(journal: Journal, events: Sequence[Event]) -> bool:
    """Append the events of one step, all or none of them.

    Returns:
        False where the step was taken meanwhile, that is where an id is there already,
        or where a source of it, an event of the lineages, was erased. Then none of the
        events is appended.
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


def append_each_once(journal: Journal, steps: Sequence[Sequence[Event]]) -> list[bool]:
    """Append the events of several steps, as `append_once` does those of each.

    They are appended in one transaction, which costs less than many. Where one of the
    steps was taken meanwhile, each is appended by itself.

    Returns:
        Of each step whether it was appended.
    """
    events: list[Event] = []
    for step in steps:
        events += step
    if not events:
        return []
    if append_once(journal, events):
        return [True] * len(steps)
    return [append_once(journal, step) for step in steps]


def is_wanted(
    event: Event,
    kinds: Collection[str] | None,
    projects: Sequence[str] | None,
    *,
    erased: bool,
) -> bool:
    """Return whether `Journal.tail` gives an event that lies between its bounds."""
    if event.erased and (not erased or projects is not None):
        return False
    return (kinds is None or event.kind in kinds) and (
        projects is None or event.body.get("project", "") in projects
    )


def check_time(event: Event, now: int, *, allow_future: bool) -> None:
    """Refuse an event whose time no journal may hold.

    Args:
        event: The event.
        now: The time now (µs UTC).
        allow_future: Whether it may be dated ahead of `now`.

    Raises:
        InvalidInput: The event is outside the years 1 to 9999, or more than five
            minutes ahead of `now`.
    """
    if not EARLIEST <= event.at <= LATEST:
        raise InvalidInput(
            f"got an event at {event.at} µs; allowed are the years 1 to 9999"
        )
    if not allow_future and event.at > now + FUTURE_TOLERANCE_MICROSECONDS:
        date = to_iso(event.at)
        ahead = f"got an event dated {date}, more than 5 minutes ahead of the clock"
        raise InvalidInput(f"{ahead}; set the clock right, or import it")
