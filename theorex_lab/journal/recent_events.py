"""The last events of a journal, read once for all views that take them in."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from theorex_lab.journal.base import Journal, is_wanted
from theorex_lab.journal.directed import DirectedJournal
from theorex_lab.journal.event import Event

# A longer stretch is read by each view for itself, in pages.
MOST_EVENTS = 64


class RecentEvents(DirectedJournal):
    """A journal of which the last events are in memory.

    They are as they were when they were read. An erasure since then is a later event,
    so that who asks up to the newest seq is never given what was erased before.

    Args:
        whole: The journal.
        after: The seq behind which the events are in memory.
        upto: The newest seq.
        kinds: Their kinds.
    """

    def __init__(
        self, whole: Journal, after: int, upto: int, kinds: Collection[str]
    ) -> None:
        super().__init__(whole, None)
        self._after = after
        self._upto = upto
        self._kinds = frozenset(kinds)
        sorted_kinds = sorted(self._kinds)
        events = whole.tail(after, kinds=sorted_kinds, upto=upto, erased=True)
        self._events = list(events)

    def holds(
        self, after: int, upto: int | None, kinds: Collection[str] | None
    ) -> bool:
        """Return whether the events of a stretch are in memory.

        Args:
            after: The seq behind which it begins.
            upto: The newest seq; None for one that is not known.
            kinds: The kinds of the events; None for all.
        """
        if after < self._after or upto != self._upto or kinds is None:
            return False
        return self._kinds.issuperset(kinds)

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
        is_plain = projects is None and lacking is None
        if is_plain and self.holds(after, upto, kinds):
            return self._tail_in_memory(after, kinds, erased=erased)
        return super().tail(
            after,
            kinds=kinds,
            upto=upto,
            projects=projects,
            lacking=lacking,
            erased=erased,
        )

    def _tail_in_memory(
        self, after: int, kinds: Sequence[str] | None, *, erased: bool
    ) -> Iterator[Event]:
        """Yield the events of these kinds behind a seq."""
        for event in self._events:
            if event.seq > after and is_wanted(event, kinds, None, erased=erased):
                yield event
