"""Counts of what became of each line of a transcript.

Every line told something, told nothing (counted by kind), or could not be read. A line
that holds several objects of JSON counts once for each, and of a Markdown file each part
counts as a line. An empty line holds nothing and does not count.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

MOST_KINDS = 60  # what is beyond them counts as of other kinds
OTHER_KINDS = "of other kinds"
EMPTY = "empty"


@dataclass
class LineCounts:
    """What became of the lines of some transcripts.

    A message or a call may wait for the line that makes something of it: the end of its
    turn, or its answer.

    Attributes:
        with_captures: How many told something that the hook would have captured.
        left_out: By kind, how many told nothing.
        unread: How many could not be read, wholly or from some place on.
        substituted: How many hold characters that no text has, for which ? or \ufffd
            stands.
    """

    with_captures: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    unread: int = 0
    substituted: int = 0
    _waiting: dict[int | str, str] = field(default_factory=dict)
    _kinds: dict[str, str] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """Return how many lines there were, without those that still wait."""
        n_left_out = self.left_out.total()
        return self.with_captures + n_left_out + self.unread

    def as_json(self) -> list[object]:
        """Return the counts without the lines that still wait, as JSON holds them."""
        return [self.with_captures, self.left_out, self.unread, self.substituted]

    @classmethod
    def of_json(
        cls,
        with_captures: int,
        left_out: Mapping[str, int],
        unread: int,
        substituted: int,
    ) -> Self:
        """Return the counts of `as_json`."""
        return cls(with_captures, Counter(left_out), unread, substituted)

    def add(self, other: Self) -> None:
        """Add the counts of another transcript, which has ended."""
        self.with_captures += other.with_captures
        self.unread += other.unread
        self.substituted += other.substituted
        for kind, count in other.left_out.items():
            self._add(kind, count)

    def told_later(self, row: int | str) -> None:
        """Note that a line before this one has told something after all.

        Args:
            row: The number of that line.
        """
        kind = self._waiting.pop(row, None)
        if kind is not None:
            self.with_captures += 1

    def waits(
        self,
        row: int | str,
        kind: str,
    ) -> None:
        """Note that a line has told nothing yet.

        Args:
            row: The number of the line.
            kind: What kind of line it is.
        """
        shared_kind = self._kinds.setdefault(kind, kind)
        self._waiting[row] = shared_kind

    def leave_out(self, kind: str) -> None:
        """Count a line that told nothing.

        Args:
            kind: What kind of line it is.
        """
        self._add(kind, 1)

    def _add(self, kind: str, count: int) -> None:
        is_new = kind not in self.left_out
        if is_new and len(self.left_out) >= MOST_KINDS:
            kind = OTHER_KINDS
        self.left_out[kind] += count

    def end(self) -> None:
        """Count what still waits at a transcript's end as what told nothing."""
        for kind in self._waiting.values():
            self.leave_out(kind)
        self._waiting.clear()
        self._kinds.clear()
