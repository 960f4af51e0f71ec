"""How far back erasures reach: which folds of the journal still hold what was erased, and which are as good as before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from theorex_lab.journal.base import Journal
from theorex_lab.journal.event import Event
from theorex_lab.journal.sqlite.erase import ERASURE


class Erasures:
    """The erasures of a journal after some seq, each with the lowest seq that it reached of each kind."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        # An erasure that was itself erased, or does not say, may have reached anything.
        self._reached = [(event.seq, None if event.erased else event.body["first_seqs"]) for event in events]

    @classmethod
    def after(cls, journal: Journal, seq: int, *, upto: int | None = None) -> Erasures:
        """The erasures with `seq` < their own seq ≤ `upto` (default: the newest there is)."""
        return cls(journal.tail(seq, kinds=[ERASURE], upto=upto, erased=True))

    def reach(self, kinds: Sequence[str] | None, seq: int) -> bool:
        """Whether one of them erased something that was folded from events of these kinds (None: of any) up to `seq`."""
        return any(
            seq < at and (first is None or kinds is None or any(first.get(kind, at) <= seq for kind in kinds))
            for at, first in self._reached
        )
