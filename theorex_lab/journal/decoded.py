"""Events that were read and checked, kept in memory while a long piece of work lasts.

Maintenance looks at the same events through many views and steps. Without this each of
them reads, checks and decodes its events again. Standard library only.
"""

from __future__ import annotations

TYPE_CHECKING = False  # what type checkers take for true
if TYPE_CHECKING:
    from collections.abc import Sequence

    from theorex_lab.journal.event import Event

# Characters of bodies, with what an event takes beside its body. Beyond them events are
# read again, so that a journal of a million events does not fill the memory.
_MOST_CHARACTERS = 32_000_000
_CHARACTERS_BESIDE_BODY = 1_000
# How many times as many events a journal has as are kept, where these save too little
# of what is read for the memory that they take.
_TOO_MANY_EVENTS = 10


class DecodedEvents:
    """The events of a journal that were decoded, by their seqs.

    What is full takes in nothing more, and lets go of nothing: a journal is read from
    its beginning to its end again and again, and what is used last would push out what
    is needed next. What is full with less than a tenth of a journal lets go of all of
    it, and keeps nothing any longer.

    Attributes:
        checked_upto: The seq up to which no erasure was found since the first was kept.

    >>> from theorex_lab.journal.event import Event
    >>> events = DecodedEvents(most_characters=1_010)
    >>> first = Event(1, "a", 0, "main", "", "lost", (), {})
    >>> events.add(first, 2)
    >>> events.add(first._replace(seq=2, id="b"), 20)  # there is no room for it
    >>> events.get(1) is first, events.get(2)
    (True, None)
    >>> events.add(first._replace(seq=11, id="c"), 20)  # one of eleven at least
    >>> len(events)
    0
    """

    def __init__(self, most_characters: int = _MOST_CHARACTERS) -> None:
        self.checked_upto = 0
        self._most_characters = most_characters
        self._n_characters = 0
        self._by_seq: dict[int, Event] = {}

    def __len__(self) -> int:
        return len(self._by_seq)

    def get(self, seq: int) -> Event | None:
        """Return the event of a seq, None where it is not kept."""
        return self._by_seq.get(seq)

    def missing(self, seqs: Sequence[int]) -> list[int]:
        """Return those of the seqs whose events are not kept."""
        by_seq = self._by_seq
        return [seq for seq in seqs if seq not in by_seq]

    def add(self, event: Event, n_characters: int) -> None:
        """Keep an event, as long as there is room.

        Args:
            event: The event, as it was written.
            n_characters: How many characters its stored body has.
        """
        n_added = n_characters + _CHARACTERS_BESIDE_BODY
        if self._n_characters + n_added <= self._most_characters:
            self._n_characters += n_added
            self._by_seq[event.seq] = event
        elif event.seq > _TOO_MANY_EVENTS * len(self._by_seq):
            self.clear()
            self._most_characters = 0

    def clear(self) -> None:
        """Let go of every event."""
        self._by_seq.clear()
        self._n_characters = 0
