"""Views: columns folded from the journal.

They are kept current, and checked against a fold from nothing.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import field
from functools import cache
from itertools import compress, islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from theorex_lab.core.collector import collector_paused
from theorex_lab.core.errors import StorageError
from theorex_lab.core.files import exclusive
from theorex_lab.core.light_dataclass import dataclass
from theorex_lab.core.progress import bar
from theorex_lab.core.readable import Report
from theorex_lab.journal import directed
from theorex_lab.journal import snapshot as snapshots
from theorex_lab.journal.base import Journal
from theorex_lab.journal.columns import Array, Strings, Table
from theorex_lab.journal.directed import DirectedJournal, TimedEvents
from theorex_lab.journal.directory import EventDirectory, directory_view
from theorex_lab.journal.erasing import ERASURE as ERASURE
from theorex_lab.journal.event import BAD_BODY_ERRORS, FIELDS, VERSIONS, Event
from theorex_lab.journal.folding import NO_SCOPE as NO_SCOPE
from theorex_lab.journal.folding import PROJECT_SCOPE as PROJECT_SCOPE
from theorex_lab.journal.folding import View as View
from theorex_lab.journal.head_folding import (
    fold_by_heads,
    reads_beside,
    views_by_directory,
)
from theorex_lab.journal.outlines import OUTLINED_KIND
from theorex_lab.journal.recent_events import MOST_EVENTS, RecentEvents
from theorex_lab.journal.snapshot import (
    ERASING_KINDS,
    ErasureReader,
    Erasures,
    Snapshot,
    drop_snapshots,
    remove_reached,
    scope_digest,
    write_snapshot,
)

_BATCH_EVENTS = 2_000
# a snapshot is written after a third as many events as the last one holds, so that the
# disk is spared
_GROWTH = 3
# or after as many as take a second to fold, where no more than so many bytes are written
# for each of them: all that is written grows as the events do
_SLOW_FOLD_EVENTS = 10_000
_BYTES_AN_EVENT = 1 << 11
# What is written in the time in which an event is read and folded.
_BYTES_OF_A_FOLD = 1 << 14


V = TypeVar("V", bound=View)


class Views:
    """The views of one home.

    They are opened from their snapshots when first asked for, and current at every
    `get`.

    Attributes:
        journal: The whole journal.
        folder: The folder of the snapshots.
        whole: The views of the whole home.
        scopes: The views of projects that are open, see `view_scopes`.
        erasures: Reads the erasures of the journal.
    """

    def __init__(
        self, journal: Journal, folder: Path, *, snapshot_after_events: int = 2_000
    ) -> None:
        self.journal = journal
        self.folder = folder
        self.snapshot_after_events = snapshot_after_events
        self.whole: Views = self
        self.scopes: dict[str, Views] = {}
        self._open: dict[type[View], View] = {}
        # The seq of the newest snapshot that is known.
        self._kept: dict[type[View], int] = {}
        self._lock = threading.Lock()
        self.erasures = ErasureReader(journal)
        self._directed = DirectedJournal(journal, self.directory)
        self._recent: RecentEvents | None = None

    def directory(self) -> EventDirectory:
        """Return the directory of the journal, current."""
        return self.get(directory_view())

    def scope_of(self, projects: Sequence[str] | None) -> str:
        """Return what tells folders of what is made of projects apart, by their names.

        Args:
            projects: The projects, '' for none; None for all.
        """
        return scope_digest(projects)

    def _folder_of(self, kind: type[View]) -> Path:
        """Return the folder of a view's snapshots."""
        return self.folder / kind.name

    def journal_of(self, kind: type[View]) -> Journal:  # noqa: ARG002 - of one project
        """Return the journal that a view is a fold of."""
        return self.journal

    def events(
        self,
        kinds: Sequence[str],
        *,
        projects: Sequence[str] | None = None,
        after: int = 0,
        upto: int | None = None,
    ) -> Iterator[Event]:
        """Yield what `Journal.tail` yields, in a large journal by its directory.

        Args:
            kinds: The kinds of the events.
            projects: The projects of the events, '' for none; None for all.
            after: The seq behind which they begin.
            upto: The last seq, None for the newest.

        Raises:
            CorruptJournal: An event is not as it was written.
        """
        return self._directed.tail(after, kinds=kinds, upto=upto, projects=projects)

    def newest_events(
        self,
        most: int,
        kinds: Sequence[str],
        *,
        projects: Sequence[str] | None = None,
        after: int = 0,
        upto: int | None = None,
    ) -> list[Event]:
        """Return the last ones of what `events` yields, in journal order.

        Args:
            most: How many are returned at most.
            kinds: See `events`, as the following.
            projects: See `events`.
            after: See `events`.
            upto: See `events`.

        Raises:
            CorruptJournal: An event is not as it was written.
        """
        return self._directed.newest(
            most, kinds=kinds, projects=projects, after=after, upto=upto
        )

    def events_in_time_order(
        self,
        kinds: Sequence[str],
        *,
        projects: Sequence[str] | None = None,
        upto: int,
    ) -> TimedEvents:
        """Return what `events` yields, in time order.

        Args:
            kinds: See `events`, as the following.
            projects: See `events`.
            upto: See `events`.
        """
        return self._directed.in_time_order(kinds, projects=projects, upto=upto)

    def get(self, kind: type[V], *, upto: int | None = None) -> V:
        """Return the view with every event that was appended before this call.

        Hold its `lock` while reading from it where other threads use the same home, as
        `reading` does.

        Args:
            kind: The view's class.
            upto: Events up to this seq at least are enough, None for all.
        """
        with self._lock:
            view = self._open.get(kind)
            if view is None:
                view = self._from_snapshot(kind)
                self._open[kind] = view
        assert isinstance(view, kind)
        with view.lock:
            if upto is not None and upto <= view.seq:
                return view
            try:
                n_folded = self._refresh(view)
            except BaseException:
                self._open.pop(kind, None)  # it may hold half a batch
                raise
            if n_folded:
                self._write(view, always=False)
        return view

    def n_behind(self, kind: type[View]) -> int:
        """Return how many events came since the state of a view that is at hand.

        It is in memory, or in the newest snapshot. Nothing is folded.

        Args:
            kind: The view's class.
        """
        with self._lock:
            view = self._open.get(kind)
        if view is None:
            newest = self._newest_snapshot(kind)
            seq = newest.seq if newest else 0
        else:
            seq = view.seq
        return max(0, self.journal.last_seq() - seq)

    @contextmanager
    def reading(self, kind: type[V], *, upto: int | None = None) -> Iterator[V]:
        """Yield the view as `get` returns it, locked while it is read from."""
        view = self.get(kind, upto=upto)
        with view.lock:
            yield view

    def open_together(self, kinds: Iterable[type[View]]) -> None:
        """Open views in one pass: each event is read once, however many take it in.

        `get` then finds them current. What is open already is left to `get`, as is a
        view whose fold raises, or that was erased from meanwhile; and so is one that is
        far behind and reads heads of events, which the directory has. The directory
        serves views that are far behind: where none of the others is, it is left to
        `get` too, since it is large.

        Args:
            kinds: The views' classes.
        """
        with self._lock:
            unopened = [kind for kind in dict.fromkeys(kinds) if kind not in self._open]
        if not unopened:
            return
        views = self._from_snapshots(unopened)
        last = self.journal.last_seq()
        current = self._free_of_erased(views, last)
        beside = _views_beside_directory(current, last)
        folded = fold_with_directory(beside, self.journal, last)
        self._keep_opened(folded)
        left = [view for view in current if view not in beside]
        passing = self._without_far_behind(left, last)
        passed = fold_together(passing, self.journal, last)
        self._keep_opened(passed)

    def _from_snapshots(self, kinds: Sequence[type[View]]) -> list[View]:
        """Return views as their snapshots have them.

        The directory is among them only where another one is far behind.

        Args:
            kinds: The views' classes.
        """
        directories = [kind for kind in kinds if issubclass(kind, EventDirectory)]
        others = [kind for kind in kinds if kind not in directories]
        views = [self._from_snapshot(kind) for kind in others]
        last = self.journal.last_seq()
        oldest = min((view.seq for view in views), default=last)
        if last - oldest >= directed.FEWEST_EVENTS:
            views += [self._from_snapshot(kind) for kind in directories]
        return views

    def _keep_opened(self, views: Sequence[View]) -> None:
        """Keep views that were folded as those that are open, and their snapshots."""
        for view in views:
            kind = type(view)
            with self._lock:
                opened = self._open.setdefault(kind, view)
            with opened.lock:
                self._write(opened, always=False)

    def _without_far_behind(self, views: Sequence[View], last: int) -> list[View]:
        """Return the views that are folded in a pass; leave the others to `get`."""
        directed_views = views_by_directory(
            views,
            self._directed,
            last,
        )
        with self._lock:
            for view in directed_views:
                kind = type(view)
                self._open.setdefault(kind, view)
        return [view for view in views if view not in directed_views]

    def _free_of_erased(self, views: Sequence[View], last: int) -> list[View]:
        """Return the views that hold nothing that was erased up to a seq."""
        holding = [view for view in views if view.seq]
        seqs = [view.seq for view in holding]
        oldest = min(seqs, default=last)
        erasures = Erasures.after(self.journal, oldest, upto=last)
        free = [view for view in views if view not in holding]
        for view in holding:
            if view.seq <= last and self._is_free_of(view, erasures):
                free.append(view)
        return free

    def snapshot(self, view: View) -> bool:
        """Write a snapshot unless another process is at it.

        A snapshot is only a cache: where there is no room for it, the memory goes on
        without. None is written of what was erased after it was folded.

        Returns:
            False where none was written.
        """
        return self._write(view, always=True)

    def save_grown(self) -> int:
        """Write snapshots of open views where that costs less than another fold.

        Each process that opens a view folds what came after its snapshot. So whoever
        has just read the journal, as maintenance has, spares all others that. Nothing
        is folded here.

        Returns:
            How many were written, those of open projects among them.
        """
        with self._lock:
            views = list(self._open.values())
        n_written = 0
        for view in views:
            with view.lock:
                is_worth_it = self._is_worth_its_bytes(view, _BYTES_OF_A_FOLD)
                if is_worth_it and self.snapshot(view):
                    n_written += 1
        scoped_views = list(self.scopes.values())
        for scoped in scoped_views:
            n_written += scoped.save_grown()
        return n_written

    def let_go(self) -> int:
        """Close the open views that their snapshots give again, to free what they hold.

        Snapshots are written first where `save_grown` finds them worth it. A view that
        would have to fold as many events as a snapshot is written after stays open.

        Returns:
            How many were closed, those of open projects among them.
        """
        self.save_grown()
        self._recent = None
        n_closed = 0
        with self._lock:
            for kind, view in list(self._open.items()):
                n_events = view.seq - self._kept.get(kind, 0)
                if n_events < self.snapshot_after_events:
                    del self._open[kind]
                    n_closed += 1
        scoped_views = list(self.scopes.values())
        for scoped in scoped_views:
            n_closed += scoped.let_go()
        return n_closed

    def _is_worth_its_bytes(self, view: View, event_bytes: int) -> bool:
        """Return whether a snapshot is small for the events that it takes in anew.

        Args:
            view: The view.
            event_bytes: How many bytes may be written for each of them.
        """
        newest_seq = self._kept.get(type(view), 0)
        n_events = view.seq - newest_seq
        if n_events < self.snapshot_after_events:
            return False
        n_bytes = 0
        columns = view.columns()
        for column in columns.values():
            n_bytes += column.nbytes
        return n_bytes <= n_events * event_bytes

    def remove_reached(self, kinds: Sequence[type[View]] = ()) -> None:
        """Remove every snapshot that holds what was erased.

        Args:
            kinds: The views of the home. Those that forget get a new snapshot, without
                what was erased.

        Raises:
            StorageError: That fails.
        """
        self._recent = None
        cleared = self._cleared(kinds)
        self._remove_snapshots()
        for view in cleared:
            with view.lock:
                self.snapshot(view)

    def _cleared(self, kinds: Sequence[type[View]]) -> list[View]:
        """Return the views that forgot what was erased, where they were at hand.

        Those that cannot be read are left out: a later reader folds them again.
        """
        cleared: list[View] = []
        for kind in kinds:
            if not kind.forgets:
                continue
            has_snapshot = snapshots.newest_seq(self._folder_of(kind), kind.code) > 0
            if not has_snapshot and kind not in self._open:
                continue
            with suppress(StorageError):
                cleared.append(self.get(kind))
        return cleared

    def _remove_snapshots(self) -> None:
        """Remove every snapshot that was folded before an erasure reached it."""
        folders = sorted(self.folder.glob("*/"))
        last = self.journal.last_seq()
        # A snapshot is made after the erasures before its seq, and has nothing of them.
        since = last
        for folder in folders:
            since = min(since, snapshots.oldest_seq(folder, default=last))
        erasures = Erasures.after(self.journal, since)
        for folder in folders:
            remove_reached(folder, erasures, wait=True, since=since)

    def outdated(self, view: View) -> bool:
        """Return whether something that was folded into the view was erased since."""
        erasures = Erasures.after(self.journal, view.seq)
        return erasures.reach(view.kinds, view.seq)

    def _is_due(self, view: View) -> bool:
        """Return whether another snapshot is worth its bytes.

        It is where much was folded since the newest one, or where it is small for that.
        """
        last_seq = self._kept.get(type(view), 0)
        n_events = view.seq - last_seq
        if n_events < self.snapshot_after_events:
            return False
        if n_events >= last_seq // _GROWTH:
            return True
        is_slow = n_events >= _SLOW_FOLD_EVENTS
        return is_slow and self._is_worth_its_bytes(view, _BYTES_AN_EVENT)

    def _write(self, view: View, *, always: bool) -> bool:
        if not (always or self._is_due(view)):
            return False
        event_id = self.journal.event_id(view.seq)
        folder = self._folder_of(type(view))
        if event_id is None:
            return False
        try:
            with exclusive(folder / "lock", wait=False) as is_locked:
                if not is_locked:
                    return False
                self._note_newest(view)
                if not (always or self._is_due(view)):
                    return False
                return self._write_locked(view, event_id)
        except OSError:
            return False

    def _note_newest(self, view: View) -> None:
        """Note the snapshot that another process has written meanwhile, if any."""
        kind = type(view)
        last_seq = self._kept.get(kind, 0)
        newest_seq = snapshots.newest_seq(self._folder_of(kind), view.code)
        if newest_seq > last_seq:
            newest = self._newest_snapshot(kind)
            self._kept[kind] = newest.seq if newest else last_seq

    def _write_locked(self, view: View, event_id: str) -> bool:
        """Write a snapshot while no other process does; False where none is left.

        Once an erasure is in the journal, nothing that was folded before it is written;
        and whoever erases waits for the lock. Where there are no locks, the second look
        finds it.
        """
        if self.outdated(view):
            return False
        path = write_snapshot(
            self._folder_of(type(view)),
            view.columns(),
            code=view.code,
            seq=view.seq,
            event_id=event_id,
            kinds=view.kinds,
            reads=view.reads,
            passed_over=view.passed_over,
        )
        if self.outdated(view):
            drop_snapshots(path)
            return False
        kind = type(view)
        last_seq = self._kept.get(kind, 0)
        self._kept[kind] = max(last_seq, view.seq)
        return True

    def _newest_snapshot(self, kind: type[View]) -> Snapshot | None:
        """Return the newest snapshot of a view here that can be used, None for none."""
        return self.usable_snapshot(kind, self._folder_of(kind))

    def usable_snapshot(self, kind: type[View], folder: Path) -> Snapshot | None:
        """Return the newest snapshot in a folder that can be used, None for none.

        It is of this journal, and holds what is read now, and nothing that was erased
        since.

        Args:
            kind: The view's class.
            folder: The folder of its snapshots, or of those of a project.
        """
        for snapshot in snapshots.open_snapshots(folder, kind.code):
            if self.is_usable(kind, snapshot):
                return snapshot
        return None

    def is_usable(self, kind: type[View], snapshot: Snapshot) -> bool:
        """Return whether a snapshot of a view can be used, see `usable_snapshot`.

        Args:
            kind: The view's class.
            snapshot: A sound snapshot of the code of that class.
        """
        seq = snapshot.seq
        # The journal may have been replaced, by an older backup for instance.
        if self.journal.event_id(seq) != snapshot.event_id:
            return False
        erasures = self.erasures.after(seq)
        is_reached = erasures.reach(kind.kinds, seq)
        if is_reached and self._erased_seqs(kind, erasures, seq) is None:
            return False
        return self._is_as_read_now(kind, snapshot)

    def _erased_seqs(
        self, kind: type[View], erasures: Erasures, seq: int
    ) -> list[int] | None:
        """Return what a view is to forget that was folded up to a seq.

        None where it has to be folded again.
        """
        ids = erasures.erased_ids(seq) if kind.forgets else None
        if ids is None:
            return None
        events = self.journal.read(ids=ids, erased=True)
        return [event.seq for event in events]

    def _is_free_of(self, view: View, erasures: Erasures) -> bool:
        """Return whether a view holds nothing that was erased, or has forgotten it."""
        if not erasures.reach(view.kinds, view.seq):
            return True
        return self._forget_erased(view, erasures)

    def _forget_erased(self, view: View, erasures: Erasures) -> bool:
        """Let a view forget what was erased since its seq; return whether it can."""
        seqs = self._erased_seqs(type(view), erasures, view.seq)
        if seqs is None:
            return False
        if seqs:
            view.forget(seqs)
        return True

    def _is_as_read_now(self, kind: type[View], snapshot: Snapshot) -> bool:
        """Return whether every event up to a snapshot was folded as it is read now.

        A kind may be read otherwise by now, or no longer, or only now.
        """
        reads_now = kind.reads or kind.kinds
        changed = set()
        for read in set(snapshot.reads).symmetric_difference(reads_now):
            _, _, event_kind = read.rpartition(":")
            changed.add(event_kind)
        if not changed:
            return True
        # An erased one counts: it may have been folded before that.
        events = self.journal.tail(
            0, kinds=sorted(changed), upto=snapshot.seq, erased=True
        )
        return next(events, None) is None

    def _from_snapshot(self, kind: type[V]) -> V:
        view = kind()
        snapshot = self._newest_snapshot(kind)
        if snapshot is None:
            self._kept[kind] = 0
            return view
        self._kept[kind] = snapshot.seq
        view.load(snapshot.columns)
        view.seq = snapshot.seq
        for seq, why in snapshot.passed_over.items():
            view.passed_over[int(seq)] = why
        if kind.forgets:
            self._forget_erased(view, Erasures.after(self.journal, view.seq))
        return view

    def _refresh(self, view: View) -> int:
        """Fold what came since, and return how many seqs that were.

        Where something that was folded before was erased, the view begins at a snapshot
        before that.
        """
        last = self.journal.last_seq()
        if last == view.seq:
            return 0
        recent = self._recent_events(view, last)
        if view.seq:
            erasures = Erasures.after(recent or self.journal, view.seq, upto=last)
            if erasures.reach(view.kinds, view.seq):
                folder = self._folder_of(type(view))
                remove_reached(folder, erasures, wait=False)
            if last < view.seq or not self._is_free_of(view, erasures):
                fresh = self._from_snapshot(type(view))
                _replace_with(view, fresh)
                last = self.journal.last_seq()  # that snapshot may be of a later state
        return fold_into(
            view,
            recent or self._directed,
            last,
            in_outline=_are_outlines_enough([view]),
        )

    def _recent_events(self, view: View, last: int) -> RecentEvents | None:
        """Return the journal with what a view misses of it in memory.

        It is read with what other views miss that are open, so that a few events which
        came since are read and decoded once. It is None where they are many, and for a
        view that reads outlines.

        Args:
            view: The view.
            last: The newest seq.
        """
        is_short = 0 < last - view.seq <= MOST_EVENTS
        if not is_short or _are_outlines_enough([view]):
            return None
        recent = self._recent
        needed_kinds = {*view.kinds, *ERASING_KINDS}
        if recent is None or not recent.holds(view.seq, last, needed_kinds):
            with self._lock:
                open_views = list(self._open.values())
            for other in open_views:
                if other.seq >= view.seq and not _are_outlines_enough([other]):
                    needed_kinds.update(other.kinds)
            recent = RecentEvents(self.journal, view.seq, last, needed_kinds)
            self._recent = recent
        return recent


def fold_into(
    view: View, journal: Journal, upto: int, *, in_outline: bool = False
) -> int:
    """Fold the events after the view's seq up to `upto`.

    An event of a kind that declares no fields may hold anything. Where the fold raises
    on it, the view is folded again from nothing without it, so that no half of it stays
    in the columns; `View.passed_over` has why. Else what the fold raises is raised on.

    Args:
        view: The view.
        journal: The journal.
        upto: The seq up to which it is folded.
        in_outline: Whether the outlines of events are read, which a view must allow.
            `verify` reads whole events, and compares.

    Returns:
        How many seqs that were.
    """
    start = view.seq
    with collector_paused():
        try:
            _fold_on(view, journal, upto, in_outline=in_outline)
        except BAD_BODY_ERRORS:
            if _declare_fields(view.kinds):
                raise
            sound_part = _folded_apart(type(view), journal, upto, view.passed_over)
            _replace_with(view, sound_part)
    view.seq = upto
    return upto - start


def fold_together(views: Sequence[V], journal: Journal, upto: int) -> list[V]:
    """Fold the events up to `upto` into several views, in one pass over the journal.

    Args:
        views: The views, each with its own seq; nobody else uses them yet.
        journal: The journal.
        upto: The seq up to which they are folded.

    Returns:
        Those that took in all of it. One whose fold raises is not among them, and is
        not to be used: `fold_into` says why it raises.
    """
    sound = list(views)
    starts = sorted({view.seq for view in views})
    with collector_paused():
        for start, end in pairwise([*starts, upto]):
            behind = [view for view in sound if view.seq <= start]
            could_not = _fold_stretch(
                behind,
                journal,
                start,
                end,
            )
            sound = [view for view in sound if view not in could_not]
    return sound


def _views_beside_directory(views: Sequence[View], upto: int) -> list[View]:
    """Return the directory, where it is far behind, and what is folded beside it."""
    for directory in views:
        if not isinstance(directory, EventDirectory):
            continue
        if upto - directory.seq < directed.FEWEST_EVENTS:
            continue
        beside = [view for view in views if reads_beside(view, directory)]
        return [directory, *beside]
    return []


def fold_with_directory(
    views: Sequence[View], journal: Journal, upto: int
) -> list[View]:
    """Fold the directory from heads, and views beside it from whole events.

    An event of which both need the body is read and decoded once.

    Args:
        views: The directory, and views at the same seq.
        journal: The journal.
        upto: The seq up to which they are folded.

    Returns:
        Those that took in all of it, as `fold_together` does.
    """
    if not views:
        return []
    directory, *beside = views
    assert isinstance(directory, EventDirectory)
    whole_kinds = set[str]()
    for view in beside:
        whole_kinds.update(view.kinds)
    sound = list(beside)
    with collector_paused():
        events = directory.take_all(
            journal,
            upto,
            whole_kinds,
        )
        while batch := list(islice(events, _BATCH_EVENTS)):
            parts = _Parts(batch)
            sound = [view for view in sound if _takes_in(view, parts)]
    for view in sound:
        view.seq = upto
    return [directory, *sound]


def _fold_stretch(
    views: Sequence[View], journal: Journal, start: int, end: int
) -> list[View]:
    """Fold the events with `start` < seq ≤ `end` into views that are at `start`.

    Only the kinds of these views are read.

    Returns:
        Those whose fold raises.
    """
    wanted = set[str]()
    is_any_taken = False
    for view in views:
        wanted.update(view.kinds)
        if view.takes_unreadable:
            is_any_taken = True
    read: Callable[..., Iterator[Event]] = journal.tail
    if _are_outlines_enough(views):
        read = journal.outlines
    events = read(
        start,
        kinds=sorted(wanted),
        upto=end,
        erased=is_any_taken,
    )
    sound = list(views)
    while batch := list(islice(events, _BATCH_EVENTS)):
        parts = _Parts(batch)
        sound = [view for view in sound if _takes_in(view, parts)]
    for view in sound:
        view.seq = end
    return [view for view in views if view not in sound]


def _are_outlines_enough(views: Sequence[View]) -> bool:
    """Return whether views read tool calls, and none of them their long texts."""
    readers = [view for view in views if OUTLINED_KIND in view.kinds]
    return bool(readers) and all(view.reads_outlines for view in readers)


class _Parts:
    """A batch of events, and the parts of it that views take in.

    Views that read the same of its kinds are given the same part.
    """

    def __init__(self, batch: Sequence[Event]) -> None:
        kinds = [event.kind for event in batch]
        last_event = batch[-1]
        self.last_seq = last_event.seq
        self._batch = batch
        self._kinds = frozenset(kinds)
        self._readable = [event for event in batch if "erased" not in event.body]
        self._parts: dict[tuple[frozenset[str], bool], Sequence[Event]] = {}

    def of(self, view: View) -> Sequence[Event]:
        """Return the events of a view's kinds, those that it takes in."""
        kinds = self._kinds.intersection(view.kinds)
        key = (kinds, view.takes_unreadable)
        part = self._parts.get(key)
        if part is None:
            part = self._batch if view.takes_unreadable else self._readable
            if kinds != self._kinds:
                part = [event for event in part if event.kind in kinds]
            self._parts[key] = part
        return part


def _takes_in(view: View, parts: _Parts) -> bool:
    """Let a view take in its part of a batch; return whether it could."""
    passed_over = view.passed_over
    part = parts.of(view)
    if passed_over:
        part = [event for event in part if event.seq not in passed_over]
    try:
        if part:
            view.apply(part)
    except BAD_BODY_ERRORS:
        return False
    view.seq = parts.last_seq
    return True


def _fold_on(view: View, journal: Journal, upto: int, *, in_outline: bool) -> None:
    """Fold in batches, without what is passed over."""
    if in_outline and fold_by_heads(view, journal, upto):
        return
    events = _events_of(view, journal, upto, in_outline=in_outline)
    while batch := list(islice(events, _BATCH_EVENTS)):
        view.apply(batch)
        view.seq = batch[-1].seq


def _events_of(
    view: View, journal: Journal, upto: int, *, in_outline: bool = False
) -> Iterator[Event]:
    read: Callable[..., Iterator[Event]] = journal.tail
    if in_outline:
        read = journal.outlines
    events = read(
        view.seq,
        kinds=view.kinds,
        upto=upto,
        erased=view.takes_unreadable,
    )
    if not view.passed_over:
        return iter(events)
    return (event for event in events if event.seq not in view.passed_over)


def _folded_apart(
    kind: type[V], journal: Journal, upto: int, passed_over: dict[int, str]
) -> V:
    """Return the view folded from nothing, without the events on which the fold raises.

    They are of kinds without declared fields.
    """
    passed_over = dict(passed_over)
    while True:
        view = kind()
        view.passed_over = passed_over
        for event in _events_of(view, journal, upto):
            try:
                view.apply([event])
            except BAD_BODY_ERRORS as error:
                if event.kind in FIELDS:
                    raise
                problem = f"{type(error).__name__}: {error}"
                passed_over[event.seq] = (
                    f"the view {view.name} cannot take it in: {problem:.100}"
                )
                break
            view.seq = event.seq
        else:
            return view


def _replace_with(view: View, other: View) -> None:
    """Let a view hold what another one holds; whoever has its lock keeps it."""
    for name, value in vars(other).items():
        if name != "lock":
            setattr(view, name, value)


def differing_columns(one: View, other: View) -> list[str]:
    """Return the names of the columns in which two views differ.

    Floating-point columns may differ by rounding.
    """
    mine = one.columns()
    theirs = other.columns()
    different = []
    for name in sorted(mine.keys() | theirs.keys()):
        is_in_both = name in mine and name in theirs
        if not is_in_both or not _same(mine[name], theirs[name]):
            different.append(name)
    return different


def _same(one: Array, other: Array) -> bool:
    """Return whether two columns are the same, up to rounding."""
    if one.shape != other.shape:
        return False
    if one.dtype != other.dtype:
        return False
    if one.dtype.kind == "f":
        is_close = np.allclose(
            one,
            other,
            rtol=1e-6,
            atol=1e-9,
            equal_nan=True,
        )
        return bool(is_close)
    return bool(np.array_equal(one, other))


class BadEvent(NamedTuple):
    """An event that was set aside, since its body is not what its kind says.

    Attributes:
        seq: Its seq.
        id: Its id.
        kind: Its kind.
        why: What is wrong with its body.
        do: The command that erases it.
    """

    seq: int
    id: str
    kind: str
    why: str
    do: str

    @property
    def told(self) -> str:
        """What is wrong with it, in words."""
        event = f"event {self.seq} ({self.kind})"
        return f"{event} is set aside: {self.why}; `{self.do}` erases it"


class SetAsideEvents(View):
    """The events that were set aside, in order, and why each of them was.

    Attributes:
        rows: The seqs of the events.
        ids: Their ids, one a row.
        events: Their kinds, one a row.
        reasons: Why they were set aside, one a row.
    """

    name = "set_aside"
    code = 1
    takes_unreadable = True
    reads_unreadable_alone = True
    reads_outlines = True
    forgets = True

    def __init__(self) -> None:
        super().__init__()
        self.rows = Table(seq="i8")
        self.ids = Strings()
        self.events = Strings()
        self.reasons = Strings()

    def apply(self, events: Sequence[Event]) -> None:
        """Take in those that were set aside."""
        for event in events:
            if "erased" in event.body and (reason := event.set_aside):
                self.rows.add(seq=event.seq)
                self.ids.append(event.id)
                self.events.append(event.kind)
                self.reasons.append(reason)

    def forget(self, seqs: Sequence[int]) -> None:
        """Let go of events that were erased; an erased event is not set aside."""
        is_erased = np.isin(self.rows["seq"], seqs)
        is_left = ~is_erased
        self.rows.keep(is_left)
        for name in ("ids", "events", "reasons"):
            texts = getattr(self, name)
            setattr(self, name, Strings(compress(texts, is_left)))

    def told(self) -> Iterator[BadEvent]:
        """Yield each of them."""
        seqs = self.rows["seq"].tolist()
        rows = zip(seqs, self.ids, self.events, self.reasons, strict=True)
        for seq, event_id, kind, reason in rows:
            yield _bad_event(seq, event_id, kind, reason)


def set_aside_view() -> type[SetAsideEvents]:
    """Return the class for the kinds that there are, the same for the same kinds."""
    return _set_aside_of(tuple(sorted(VERSIONS)))


@cache
def _set_aside_of(kinds: tuple[str, ...]) -> type[SetAsideEvents]:
    return type("SetAsideOfKinds", (SetAsideEvents,), {"kinds": kinds})


def _bad_event(seq: int, event_id: str, kind: str, why: str) -> BadEvent:
    return BadEvent(seq, event_id, kind, why, f"theorex erase {event_id}")


def bad_events(views: Views, kinds: Sequence[type[View]]) -> list[BadEvent]:
    """Return the events that were set aside, in journal order.

    They were set aside by the declaration of their kind, or by the fold of one of these
    views. What was looked at before is not read again.

    Args:
        views: The views of the home.
        kinds: The classes of the views that may have passed over an event.

    Raises:
        StorageError: The journal cannot be read.
    """
    bad_by_seq: dict[int, BadEvent] = {}
    views = views.whole  # a view of a project has passed over that project's alone
    with views.reading(set_aside_view()) as view:
        for bad in view.told():
            bad_by_seq[bad.seq] = bad
    for kind in kinds:
        if _declare_fields(kind.kinds):
            continue
        with views.reading(kind) as folded:
            passed_over = folded.passed_over
        for event in views.journal.read(seqs=sorted(passed_over)):
            why = passed_over[event.seq]
            bad = _bad_event(event.seq, event.id, event.kind, why)
            bad_by_seq[event.seq] = bad
    return [bad_by_seq[seq] for seq in sorted(bad_by_seq)]


def _declare_fields(kinds: Iterable[str]) -> bool:
    """Return whether all of these kinds declare what their bodies hold."""
    return all(kind in FIELDS for kind in kinds)


@dataclass(frozen=True, repr=False)
class Verification(Report):
    """What `verify` found.

    Attributes:
        ok: Whether nothing is wrong.
        events: The number of events.
        views: By view, the columns that differ: none when sound.
        problems: What is wrong.
        kinds: The number of events by kind.
        bad_events: The events that were set aside.
        upto: The seq of the newest event when it began.
    """

    ok: bool
    events: int
    views: dict[str, list[str]]
    problems: list[str]
    kinds: dict[str, int]
    bad_events: list[BadEvent] = field(default_factory=list)
    upto: int = 0

    def _facts(self) -> tuple[str, ...]:
        outcome = "ok" if self.ok else "damaged"
        n_problems = len(self.problems)
        problems = f"{n_problems} problems" if n_problems else ""
        return (outcome, f"{self.events} events", f"{len(self.views)} views", problems)


def verify(
    views: Views, kinds: Sequence[type[View]], *, progress: bool | None = None
) -> Verification:
    """Read the whole journal, and compare every view with a fold from nothing.

    Never raises for damage: what is wrong is listed in `problems`. It ends beside
    processes that go on writing: the journal and each view are read up to an end that
    is fixed when their turn comes.

    Args:
        views: The views in use.
        kinds: Those that are compared.
        progress: Whether a bar is shown; None: in a terminal or notebook.
    """
    progress_bar = bar(1 + len(kinds), unit="part", what="verify", progress=progress)
    with closing(progress_bar):
        return _verified(views, kinds, progress_bar)


def _verified(
    views: Views, kinds: Sequence[type[View]], progress_bar: Any
) -> Verification:
    """Return what `verify` finds; the bar counts the journal and each view.

    What all views tell alike, as that a server is away, is told once.
    """
    upto = views.journal.last_seq()
    progress_bar.set_postfix_str(f"journal, {upto:,} events")
    problems, counts = views.journal.check()
    progress_bar.update(1)
    different: dict[str, list[str]] = {}
    if not problems:
        for kind in kinds:
            progress_bar.set_postfix_str(f"view {kind.name}")
            try:
                different[kind.name] = _compare(views, kind)
            except StorageError as error:
                problems.append(str(error))
            progress_bar.update(1)
        for name, columns in different.items():
            if not columns:
                continue
            names = ", ".join(columns)
            problems.append(f"view {name}: {names} differ")
    bad: list[BadEvent] = []
    if not problems:
        bad = bad_events(views, kinds)
        problems += [event.told for event in bad]
    return Verification(
        ok=not problems,
        events=sum(counts.values()),
        views=different,
        problems=_each_once(problems),
        kinds=counts,
        bad_events=bad,
        upto=upto,
    )


def _each_once(problems: list[str]) -> list[str]:
    """Return problems without repetitions, in their order.

    That the server of a shared journal is away is told of every view in the same words,
    and there are dozens.
    """
    once: list[str] = []
    for problem in problems:
        if problem not in once:
            once.append(problem)
    return once


def _compare(views: Views, kind: type[View]) -> list[str]:
    """Return the names of the columns in which a fold from nothing differs.

    It is compared with the view in use.
    """
    while True:
        current = views.get(kind)
        with current.lock:
            fresh = kind()
            fresh.passed_over = dict(current.passed_over)
            fold_into(fresh, views.journal_of(kind), current.seq)
            different = differing_columns(current, fresh)
            if not different:
                return different
            # Else another process erased something meanwhile.
            if not views.outdated(current):
                return different
