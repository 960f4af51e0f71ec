"""A journal whose events are found by its directory."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from theorex_lab.journal.base import Journal, is_wanted
from theorex_lab.journal.event import Event
from theorex_lab.journal.head_page import HeadPage
from theorex_lab.journal.heads import Heads
from theorex_lab.journal.outlines import outline_of
from theorex_lab.journal.places import Places

if TYPE_CHECKING:
    from theorex_lab.journal.directory import EventDirectory

# A stretch of fewer events is looked through.
FEWEST_EVENTS = 20_000
# The share of a stretch from which on looking through it is cheaper than reading by seqs.
_MOST_SHARE = 0.5
_PAGE_EVENTS = 2_000


class TimedEvents(NamedTuple):
    """Events in time order, those of one time in journal order.

    Attributes:
        seqs: Their seqs. Some of them may be of events that are not wanted.
        newest_at: When the last of them happened (µs UTC); 0 where there is none.
        events: The events. They can be gone through once.
    """

    seqs: array[int]
    newest_at: int
    events: Iterable[Event]


class DirectedJournal(Journal):
    """A journal whose events are found by its directory where that is cheaper.

    Args:
        whole: The journal.
        directory: Gives the directory, current, when it is first needed; None looks
            through the journal.
        projects: Those whose events alone are read, '' for those of none; None for all.
            Erased events are read of all projects: nobody knows of which they were.
    """

    def __init__(
        self,
        whole: Journal,
        directory: Callable[[], EventDirectory] | None,
        projects: Sequence[str] | None = None,
    ) -> None:
        self.clock = whole.clock
        self.notice = whole.notice
        self._whole = whole
        self._directory = directory
        self._projects = projects

    def append(
        self, events: Sequence[Event], *, allow_future: bool = False
    ) -> list[int]:
        """See `Journal`."""
        return self._whole.append(events, allow_future=allow_future)

    def exclusive(self) -> AbstractContextManager[Callable[[Event], int]]:
        """See `Journal`."""
        return self._whole.exclusive()

    def read(
        self, *, seqs: Sequence[int] = (), ids: Sequence[str] = (), erased: bool = False
    ) -> list[Event]:
        """See `Journal`: events of other projects come too."""
        return self._whole.read(seqs=seqs, ids=ids, erased=erased)

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
        """See `Journal`."""
        if projects is None and not erased:
            projects = self._projects
        last = self.last_seq() if upto is None else upto
        seqs = None
        if kinds is not None and lacking is None and not erased:
            seqs = self._seqs_of(kinds, projects, after, last)
        if seqs is None:
            return self._whole.tail(
                after,
                kinds=kinds,
                upto=last,
                projects=projects,
                lacking=lacking,
                erased=erased,
            )
        return self._read_pages(seqs, kinds, projects)

    def newest(
        self,
        most: int,
        *,
        kinds: Sequence[str],
        projects: Sequence[str] | None = None,
        after: int = 0,
        upto: int | None = None,
    ) -> list[Event]:
        """Return the last events that `tail` yields, in journal order.

        In a large journal the events before them are not read.

        Args:
            most: How many are returned at most.
            kinds: See `tail`, as the following.
            projects: See `tail`.
            after: See `tail`.
            upto: See `tail`.
        """
        if projects is None:
            projects = self._projects
        last = self.last_seq() if upto is None else upto
        seqs = self._directory_seqs(kinds, projects, after, last)
        if seqs is None:
            events = self.tail(after, kinds=kinds, projects=projects, upto=last)
            return list(deque(events, maxlen=most))
        newest: deque[Event] = deque()
        while len(seqs) and len(newest) < most:
            # Some of them may have been erased.
            n_lacking = most - len(newest)
            page = self._read_pages(seqs[-n_lacking:], kinds, projects)
            seqs = seqs[:-n_lacking]
            newest.extendleft(reversed(list(page)))
        return list(newest)

    def in_time_order(
        self,
        kinds: Sequence[str],
        *,
        projects: Sequence[str] | None = None,
        upto: int,
    ) -> TimedEvents:
        """Return the events that `tail` yields, in time order.

        In a large journal they are read page by page, as they are gone through.

        Args:
            kinds: See `tail`, as the following.
            projects: See `tail`.
            upto: See `tail`.
        """
        if projects is None:
            projects = self._projects
        seqs = self._directory_seqs(kinds, projects, 0, upto)
        if seqs is None or self._directory is None:
            events = list(self.tail(0, kinds=kinds, projects=projects, upto=upto))
            events.sort(key=_time_of)
            newest_at = events[-1].at if events else 0
            seqs_in_time = array("q", [event.seq for event in events])
            return TimedEvents(seqs_in_time, newest_at, events)
        directory = self._directory()
        with directory.lock:
            ordered_seqs, times = directory.in_time_order(seqs)
        newest_at = int(times[-1]) if len(times) else 0
        pages = self._read_pages(ordered_seqs, kinds, projects, in_time_order=True)
        seqs_in_time = array("q")
        seqs_in_time.frombytes(ordered_seqs.astype(np.int64, copy=False).tobytes())
        return TimedEvents(seqs_in_time, newest_at, pages)

    def outlines(
        self,
        after: int,
        *,
        kinds: Sequence[str] | None = None,
        upto: int | None = None,
        erased: bool = False,
    ) -> Iterator[Event]:
        """See `Journal`."""
        last = self.last_seq() if upto is None else upto
        if self._projects is None or erased:
            is_found = kinds is not None and not erased
            if not is_found or self._seqs_of(kinds or (), None, after, last) is None:
                return self._whole.outlines(
                    after, kinds=kinds, upto=last, erased=erased
                )
        return map(outline_of, self.tail(after, kinds=kinds, upto=last))

    def head_pages(
        self,
        after: int,
        *,
        kinds: Collection[str],
        upto: int,
        whole_kinds: Collection[str] = (),
    ) -> Iterator[HeadPage]:
        """See `Journal`."""
        pages_of = super().head_pages
        if self._projects is None:
            pages_of = self._whole.head_pages
        return pages_of(after, kinds=kinds, upto=upto, whole_kinds=whole_kinds)

    def unreadable(self, after: int, *, upto: int) -> Iterator[Event] | None:
        """Return the events that were erased or set aside; None as `heads`."""
        directory = self._directory_at(after, upto)
        if directory is None:
            return None
        with directory.lock:
            seqs = directory.unreadable_seqs(after, upto)
        return self._read_pages(
            seqs,
            None,
            None,
            erased=True,
        )

    def heads(self, after: int, *, kinds: Sequence[str], upto: int) -> Heads | None:
        """Return the heads of the events with `after` < seq ≤ `upto`.

        Erased events have none. It is None where events are better looked through.

        Args:
            after: The seq behind which they begin.
            kinds: Their kinds.
            upto: The last seq.
        """
        directory = self._directory_at(after, upto)
        if directory is None or not set(kinds).issubset(directory.kinds):
            return None
        with directory.lock:
            return directory.heads(kinds, after, upto)

    def _directory_at(self, after: int, upto: int) -> EventDirectory | None:
        """Return the directory; None where a stretch is better looked through."""
        if self._directory is None or self._projects is not None:
            return None
        if upto - after < FEWEST_EVENTS:
            return None
        directory = self._directory()
        return None if directory.seq < upto else directory

    def n_directed(self, after: int, *, kinds: Sequence[str], upto: int) -> int | None:
        """Return how many events would be read by their seqs; None where none is.

        Args:
            after: The seq behind which they begin.
            kinds: Their kinds.
            upto: The last seq.
        """
        seqs = self._seqs_of(kinds, None, after, upto)
        return None if seqs is None else len(seqs)

    def _seqs_of(
        self,
        kinds: Sequence[str],
        projects: Sequence[str] | None,
        after: int,
        upto: int,
    ) -> NDArray[np.int64] | None:
        """Return the seqs of the events; None where they are better looked for."""
        seqs = self._directory_seqs(kinds, projects, after, upto)
        if seqs is None or len(seqs) > _MOST_SHARE * (upto - after):
            return None
        return seqs

    def _directory_seqs(
        self,
        kinds: Sequence[str],
        projects: Sequence[str] | None,
        after: int,
        upto: int,
    ) -> NDArray[np.int64] | None:
        """Return the seqs of the events; None where the directory is not asked."""
        if upto - after < FEWEST_EVENTS or self._directory is None:
            return None
        directory = self._directory()
        with directory.lock:
            if not set(kinds).issubset(directory.kinds) or directory.seq < upto:
                return None
            names = None if projects is None else self._names_now(projects)
            return directory.seqs_of(
                kinds,
                names,
                after,
                upto,
            )

    def _names_now(self, projects: Sequence[str]) -> list[str]:
        """Return what projects are called now, after all merges."""
        places = self.places()
        return [places.current(project) for project in projects]

    def _read_pages(
        self,
        seqs: NDArray[np.int64],
        kinds: Sequence[str] | None,
        projects: Sequence[str] | None,
        *,
        erased: bool = False,
        in_time_order: bool = False,
    ) -> Iterator[Event]:
        """Yield the events of these seqs that are of the kinds and projects.

        Args:
            seqs: The seqs, in the order in which the events are yielded.
            kinds: See `tail`, as the following.
            projects: See `tail`.
            erased: See `tail`.
            in_time_order: Whether that is the order of time; else it is the journal's.
        """
        names = None if projects is None else self._names_now(projects)
        for start in range(0, len(seqs), _PAGE_EVENTS):
            page = seqs[start : start + _PAGE_EVENTS].tolist()
            events = self._whole.read(seqs=page, erased=erased)
            if in_time_order:
                events.sort(key=_time_of)
            for event in events:
                if is_wanted(event, kinds, names, erased=erased):
                    yield event

    def last_seq(self) -> int:
        """See `Journal`."""
        return self._whole.last_seq()

    def event_id(self, seq: int) -> str | None:
        """See `Journal`."""
        return self._whole.event_id(seq)

    def places(self) -> Places:
        """See `Journal`."""
        return self._whole.places()

    def keep_places(self) -> None:
        """See `Journal`."""
        self._whole.keep_places()

    def check(self) -> tuple[list[str], dict[str, int]]:
        """See `Journal`."""
        return self._whole.check()

    def close(self) -> None:
        """Leave the journal open, which others read."""


def _time_of(event: Event) -> tuple[int, int]:
    """Return what sorts events by time, those of one time by their seqs."""
    return event.at, event.seq
