"""Folds from the heads of events, which the directory of the journal holds."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import numpy as np

from theorex_lab.journal import directed
from theorex_lab.journal.base import Journal
from theorex_lab.journal.directed import DirectedJournal
from theorex_lab.journal.event import Event
from theorex_lab.journal.folding import View
from theorex_lab.journal.heads import Heads, heads_tell


def takes_heads(view: View, upto: int) -> bool:
    """Return whether a view is folded up to a seq from heads of events.

    It is where it reads them, and is so far behind that the directory serves.
    """
    return view.reads_heads and upto - view.seq >= directed.FEWEST_EVENTS


def fold_by_heads(view: View, journal: Journal, upto: int) -> bool:
    """Fold the events after the view's seq up to `upto` by their heads.

    Events of `View.whole_kinds`, and of kinds whose heads do not tell their project, are
    read, and come in their place.

    Args:
        view: The view.
        journal: The journal.
        upto: The seq up to which it is folded.

    Returns:
        Whether it is folded. Where it reads no heads, or the journal has none, it is not.
    """
    if not view.reads_heads or not isinstance(journal, DirectedJournal):
        return False
    headed_kinds, whole_kinds = _parted_kinds(view)
    heads = journal.heads(
        view.seq,
        kinds=headed_kinds,
        upto=upto,
    )
    if heads is None:
        return False
    events = _whole_events(
        view,
        journal,
        whole_kinds,
        upto,
    )
    start = 0
    for end, group in groupby(events, lambda event: _position(heads, event)):
        _take_in(view, heads, start, end)
        view.apply(list(group))
        start = end
    _take_in(view, heads, start, len(heads.seq))
    view.seq = upto
    return True


def _parted_kinds(view: View) -> tuple[list[str], list[str]]:
    """Return the kinds that a view takes in by their heads, and those it reads."""
    headed_kinds: list[str] = []
    whole_kinds: list[str] = []
    for kind in view.kinds:
        if heads_tell(kind) and kind not in view.whole_kinds:
            headed_kinds.append(kind)
        else:
            whole_kinds.append(kind)
    return headed_kinds, whole_kinds


def _position(heads: Heads, event: Event) -> int:
    """Return how many of the heads stand before an event."""
    position = np.searchsorted(heads.seq, event.seq)
    return int(position)


def _take_in(view: View, heads: Heads, start: int, end: int) -> None:
    """Let a view take in a stretch of heads, unless it is empty."""
    if start < end:
        stretch = slice(start, end)
        view.apply_heads(heads.rows(stretch))


def _whole_events(
    view: View, journal: DirectedJournal, kinds: list[str], upto: int
) -> Iterator[Event]:
    """Yield the events that a view reads as a whole, but those that it passes over."""
    if not kinds:
        return
    events = journal.tail(
        view.seq,
        kinds=kinds,
        upto=upto,
    )
    for event in events:
        if event.seq not in view.passed_over:
            yield event
