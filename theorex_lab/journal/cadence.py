"""When a snapshot is worth writing: often enough that nobody folds much again, seldom enough that the disk is spared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from theorex_lab.journal.base import Journal

# Of one view, in bytes written for each byte folded. An event is folded by about two views and its row is a third larger
# than what is counted here, so that all views together write less than three times the journal.
_WRITTEN_PER_FOLDED = 1.5
_WRITTEN_AT_ONCE = 1.6  # after a step whose one event changes much, such as a scan
_WORTH_AT_ONCE = 1 / 32  # such a step is one whose events are at least this share of the snapshot
_BYTES_PER_EVENT = 64  # what folding an event costs beside its body
_BYTES_PER_SEQ = 16  # what passing over an event of another kind costs


@dataclass
class Ledger:
    """What was folded into a view and written of it, in bytes, and where its newest snapshot stands.

    snapshot_seq, snapshot_folded, snapshot_size: seq of that snapshot, what had been folded then, and its bytes.
    folded: up to `counted_seq`.  written: all the snapshots since the view was last folded from nothing.
    """

    snapshot_seq: int = 0
    snapshot_folded: int = 0
    snapshot_size: int = 0
    counted_seq: int = 0
    folded: int = 0
    written: int = 0

    def count(self, journal: Journal, kinds: Sequence[str], upto: int) -> None:
        """Count what was folded up to a seq."""
        if upto > self.counted_seq:
            events, size = journal.volume(kinds, self.counted_seq, upto)
            self.folded += size + _BYTES_PER_EVENT * events + _BYTES_PER_SEQ * (upto - self.counted_seq)
            self.counted_seq = upto

    def worth(self, size: int, *, at_once: bool) -> bool:
        """Whether a snapshot of `size` bytes is worth it: what was written stays in proportion to what was folded.

        Also where as much was folded again as the last one held: no process folds more than half of all again.
        """
        new = self.folded - self.snapshot_folded
        if at_once:
            return new >= _WORTH_AT_ONCE * size and self.written + size <= _WRITTEN_AT_ONCE * self.folded
        return new >= self.snapshot_folded or self.written + size <= _WRITTEN_PER_FOLDED * self.folded

    def wrote(self, size: int, seq: int) -> None:
        """Note a snapshot of what was counted."""
        self.snapshot_seq, self.snapshot_folded, self.snapshot_size = seq, self.folded, size
        self.written += size
