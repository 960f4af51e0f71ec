"""A journal as one agent may read it: what is its own, and what is shared.

Views over it hold nothing else, so that no answer made of them can tell more. In a large
journal the directory tells which events these are.
"""

from __future__ import annotations

from contextlib import contextmanager

from theorex_lab.core.ids import SCANNER
from theorex_lab.journal import directed
from theorex_lab.journal.base import Journal
from theorex_lab.journal.erasing import ERASURE
from theorex_lab.journal.places import KINDS as PLACE_KINDS

TYPE_CHECKING = False  # what type checkers take for true
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from theorex_lab.journal.directory import EventDirectory
    from theorex_lab.journal.event import Event
    from theorex_lab.journal.head_page import HeadPage
    from theorex_lab.journal.places import Places

# What holds no agent's words: where projects are, what was erased, what the owner of
# the home said of items, when maintenance ran, and the settings that were learnt.
_OPEN_KINDS = frozenset(
    {
        *PLACE_KINDS,
        ERASURE,
        "dismissed",
        "gated",
        "lease",
        "lost",
        "nightly",
        "pinned",
        "policy",
        "salvaged",
        "trusted",
    }
)


# How many events of the directory are looked at in one go.
_STRETCH_EVENTS = 50_000


class AgentJournal(Journal):
    """A journal that gives an agent's own events, and shared ones.

    What is appended goes into the whole journal.

    Args:
        whole: The whole journal.
        agent: The agent.
        shared_kinds: The kinds of events by which agents share what they know.
        directory: Gives the directory of the whole journal, current; None looks through
            the journal.

    Attributes:
        agent: The agent.
        open_kinds: The kinds of events that every agent may read, whosever they are.
    """

    def __init__(
        self,
        whole: Journal,
        agent: str,
        shared_kinds: Iterable[str] = (),
        *,
        directory: Callable[[], EventDirectory] | None = None,
    ) -> None:
        self._whole = whole
        self._directory = directory
        self.agent = agent
        self.open_kinds = _OPEN_KINDS | frozenset(shared_kinds)
        self._read_upto = 0
        self._hides = False
        self.clock = whole.clock
        self.notice = whole.notice

    @property
    def local(self) -> Journal:
        """See `Journal`."""
        return self._whole.local

    def shows(self, event: Event) -> bool:
        """Return whether the agent may read an event."""
        return event.agent == self.agent or event.kind in self.open_kinds

    def hides_any(self) -> bool:
        """Return whether the journal holds what another agent alone may read.

        What maintenance noted is of that agent whose events it read. Each event is
        looked at once.
        """
        if self._hides:
            return True
        last = self._whole.last_seq()
        if last < self._read_upto:  # the journal was replaced
            self._read_upto = 0
        self._hides = self._hides_between(self._read_upto, last)
        self._read_upto = last
        return self._hides

    def _hides_between(self, after: int, upto: int) -> bool:
        """Return whether another agent alone may read an event of a stretch."""
        directory = self._directory_at(after, upto)
        if directory is not None:
            with directory.lock:
                if directory.hides_any((self.agent, SCANNER), self.open_kinds, after):
                    return True
                # An event of a kind that nobody declared is in no directory.
                if directory.n_events(after, upto) == upto - after:
                    return False
        events = self._whole.tail(after, upto=upto)
        return any(self._is_hidden(event) for event in events)

    def _directory_at(self, after: int, upto: int) -> EventDirectory | None:
        """Return the directory; None where a stretch is better looked through."""
        if self._directory is None or upto - after < directed.FEWEST_EVENTS:
            return None
        directory = self._directory()
        return None if directory.seq < upto else directory

    def _is_hidden(self, event: Event) -> bool:
        return event.agent != SCANNER and not self.shows(event)

    def append(
        self, events: Sequence[Event], *, allow_future: bool = False
    ) -> list[int]:
        """See `Journal`."""
        return self._whole.append(events, allow_future=allow_future)

    def exclusive(self) -> AbstractContextManager[Callable[[Event], int]]:
        """See `Journal`."""
        return self._whole.exclusive()

    @contextmanager
    def decoding_once(self) -> Iterator[None]:
        """See `Journal`."""
        with self._whole.decoding_once():
            yield

    def read(
        self, *, seqs: Sequence[int] = (), ids: Sequence[str] = (), erased: bool = False
    ) -> list[Event]:
        """See `Journal`."""
        events = self._whole.read(seqs=seqs, ids=ids, erased=erased)
        return [event for event in events if self.shows(event)]

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
        events = self._whole.tail(
            after,
            kinds=kinds,
            upto=upto,
            projects=projects,
            lacking=lacking,
            erased=erased,
        )
        return filter(self.shows, events)

    def outlines(
        self,
        after: int,
        *,
        kinds: Sequence[str] | None = None,
        upto: int | None = None,
        erased: bool = False,
    ) -> Iterator[Event]:
        """See `Journal`."""
        events = self._whole.outlines(after, kinds=kinds, upto=upto, erased=erased)
        return filter(self.shows, events)

    def head_pages(
        self,
        after: int,
        *,
        kinds: Collection[str],
        upto: int,
        whole_kinds: Collection[str] = (),
    ) -> Iterator[HeadPage]:
        """See `Journal`: of a large journal they are those that the directory has."""
        directory = None if whole_kinds else self._directory_at(after, upto)
        if directory is None or not set(kinds).issubset(directory.kinds):
            yield from super().head_pages(
                after, kinds=kinds, upto=upto, whole_kinds=whole_kinds
            )
            return
        for start in range(after, upto, _STRETCH_EVENTS):
            end = min(upto, start + _STRETCH_EVENTS)
            with directory.lock:
                heads = directory.readable_heads(
                    self.agent, self.open_kinds, start, end
                )
            if heads.seqs:
                yield heads

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
        """Leave the whole journal open, which others read."""
