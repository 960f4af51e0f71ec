"""Folds from the heads of events, which the directory of the journal holds."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import groupby, islice

import numpy as np

from theorex_lab.journal import directed
from theorex_lab.journal.base import Journal
from theorex_lab.journal.directed import DirectedJournal
from theorex_lab.journal.directory import EventDirectory
from theorex_lab.journal.event import Event
from theorex_lab.journal.folding import View
from theorex_lab.journal.head_page import LONG_TEXTS
from theorex_lab.journal.heads import Heads, heads_tell

# A view that takes in a greater share of a stretch is folded in a pass over all events.
_FEW = 0.05
_BATCH_EVENTS = 2_000  # that are decoded at once


def _takes_heads(view: View, upto: int) -> bool:
    """Return whether a view is folded up to a seq by the directory of the journal.

    It is where it reads heads, and is so far behind that the directory serves.
    """
    is_far_behind = upto - view.seq >= directed.FEWEST_EVENTS
    return is_far_behind and (
        view.reads_heads
        or view.reads_unreadable_alone
        or isinstance(view, EventDirectory)
    )


def views_by_directory(
    views: Sequence[View], journal: DirectedJournal, upto: int
) -> list[View]:
    """Return the views that are better folded by the directory than in a pass.

    Those are the views that read heads of events, and beside them those that read few.

    Args:
        views: The views.
        journal: The journal.
        upto: The seq up to which they are to be folded.
    """
    chosen = [view for view in views if _takes_heads(view, upto)]
    if not chosen:
        return []
    for view in views:
        n_events = journal.n_directed(view.seq, kinds=view.kinds, upto=upto)
        is_few = n_events is not None and n_events <= _FEW * (upto - view.seq)
        if is_few and not view.takes_unreadable and view not in chosen:
            chosen.append(view)
    return chosen


def reads_beside(view: View, directory: EventDirectory) -> bool:
    """Return whether a view reads events of which the directory needs the bodies too.

    Then both can be folded from them at once.
    """
    if view is directory or view.seq != directory.seq:
        return False
    if view.takes_unreadable or view.reads_heads:
        return False
    is_long = not LONG_TEXTS.keys().isdisjoint(view.kinds)
    return not is_long and set(view.kinds).issubset(directory.kinds)


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
    if isinstance(view, EventDirectory):
        deque(view.take_all(journal, upto), maxlen=0)  # no event comes out of it
        return True
    if not isinstance(journal, DirectedJournal):
        return False
    if view.reads_unreadable_alone:
        return _fold_unreadable(view, journal, upto)
    if view.reads_heads:
        return _fold_heads(view, journal, upto)
    return False


def _fold_unreadable(view: View, journal: DirectedJournal, upto: int) -> bool:
    """Fold what was erased or set aside; return whether the journal can tell it."""
    events = journal.unreadable(view.seq, upto=upto)
    if events is None:
        return False
    view.apply(list(events))
    return True


def _fold_heads(view: View, journal: DirectedJournal, upto: int) -> bool:
    """Fold the heads of events; return whether the journal has them."""
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
        for batch in _batches(group):
            view.apply(batch)
        start = end
    _take_in(view, heads, start, len(heads.seq))
    view.seq = upto
    return True


def _batches(events: Iterator[Event]) -> Iterator[list[Event]]:
    """Yield events a few at a time: all that stand at one place may be very many."""
    while True:
        batch = list(islice(events, _BATCH_EVENTS))
        if not batch:
            return
        yield batch


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
