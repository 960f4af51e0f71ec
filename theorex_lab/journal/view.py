"""Views: columns folded from the journal, kept current, and checked against a fold from nothing."""

from __future__ import annotations

import gc
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np

from theorex_lab.errors import StorageError
from theorex_lab.journal.check import check_rows
from theorex_lab.journal.columns import Columns
from theorex_lab.journal.event import Event
from theorex_lab.journal.files import exclusive
from theorex_lab.journal.snapshot import drop_snapshots, open_snapshots, write_snapshot
from theorex_lab.journal.sqlite import Journal

_BATCH_EVENTS = 2_000
ERASURE = "erasure"


class View(ABC):
    """Columns folded from events.

    A fold is pure: it reads the events it is given and its own columns, no other view, no clock, no model; and it
    gives the same columns however the events are cut into batches (floating-point columns up to rounding).
    """

    name: ClassVar[str]
    code: ClassVar[int]  # raised whenever the fold or the columns change, so that older snapshots are passed over
    kinds: ClassVar[tuple[str, ...]]

    def __init__(self) -> None:
        self.seq = 0
        self.lock = threading.RLock()

    @abstractmethod
    def fold(self, events: Sequence[Event]) -> None:
        """Take in events of `kinds`, in journal order, none of them erased."""

    @abstractmethod
    def columns(self) -> Columns:
        """Everything that the view knows, as arrays."""

    @abstractmethod
    def load(self, columns: Columns) -> None:
        """Take over columns given by `columns`; they may be maps of files."""


V = TypeVar("V", bound=View)


class Views:
    """The views of one home: opened from their snapshots when first asked for, and current at every `get`."""

    def __init__(self, journal: Journal, folder: Path, *, snapshot_after_events: int = 2_000) -> None:
        self.journal = journal
        self.folder = folder
        self.snapshot_after_events = snapshot_after_events
        self._open: dict[type[View], View] = {}
        self._lock = threading.Lock()

    def get(self, kind: type[V], *, upto: int | None = None) -> V:
        """The view, holding every event that was appended before this call, or with `upto` those up to that seq at least.

        Hold its `lock` while reading from it where other threads use the same home.
        """
        with self._lock:
            view = self._open.get(kind)
            if view is None:
                view = self._open[kind] = self._from_snapshot(kind)
        assert isinstance(view, kind)
        with view.lock:
            try:
                folded = 0 if upto is not None and upto <= view.seq else self._refresh(view)
            except BaseException:
                self._open.pop(kind, None)  # it may hold half a batch
                raise
            if folded >= self.snapshot_after_events:
                self.snapshot(view)
        return view

    def opened(self) -> list[str]:
        """Names of the views that were opened."""
        return [view.name for view in self._open.values()]

    def snapshot(self, view: View) -> bool:
        """Write a snapshot unless another process is at it; False where none was written.

        A snapshot is only a cache: where there is no room for it, the memory goes on without.
        """
        event_id = self._event_id(view.seq)
        if event_id is None:
            return False
        folder = self.folder / view.name
        try:
            with exclusive(folder / "lock", wait=False) as held:
                if held:
                    write_snapshot(folder, view.columns(), code=view.code, seq=view.seq, event_id=event_id)
                return held
        except OSError:
            return False

    def drop(self) -> None:
        """Forget every view and remove every snapshot."""
        with self._lock:
            self._open.clear()
        drop_snapshots(self.folder)

    def _from_snapshot(self, kind: type[V]) -> V:
        for seq, event_id, columns in open_snapshots(self.folder / kind.name, kind.code):
            if self._event_id(seq) != event_id:
                continue  # the journal was replaced, by an older backup for instance
            view = kind()
            view.load(columns)
            view.seq = seq
            return view
        return kind()

    def _event_id(self, seq: int) -> str | None:
        """The id of the event at `seq`; its body, which may be a large scan's, is not read."""
        with self.journal.explained():
            row = self.journal.connection().execute("SELECT id FROM events WHERE seq = ?", [seq]).fetchone()
        return None if row is None else str(row[0])

    def _refresh(self, view: View) -> int:
        """Fold what came since; an erasure among it means that what was folded before must be forgotten."""
        last = self.journal.last_seq()
        if last == view.seq:
            return 0
        if last < view.seq or any(self.journal.tail(view.seq, kinds=[ERASURE], upto=last)):
            drop_snapshots(self.folder / view.name)
            fresh = type(view)()
            view.__dict__.update({key: value for key, value in vars(fresh).items() if key != "lock"})
        return fold_into(view, self.journal, last)


def fold_into(view: View, journal: Journal, upto: int) -> int:
    """Fold the events after the view's seq up to `upto`; returns how many seqs that were."""
    start = view.seq
    events = (event for event in journal.tail(start, kinds=view.kinds, upto=upto) if not event.erased)
    with _collector_paused():
        for batch in _batches(events):
            view.fold(batch)
            view.seq = batch[-1].seq
    view.seq = upto
    return upto - start


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Keep the search for cycles of garbage from running: bodies hold none, and it takes a fifth of a fold's time."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def _batches(events: Iterable[Event]) -> Iterator[list[Event]]:
    iterator = iter(events)
    while batch := list(islice(iterator, _BATCH_EVENTS)):
        yield batch


def differing_columns(one: View, other: View) -> list[str]:
    """Names of the columns in which two views differ; floating-point ones may differ by rounding."""
    mine, theirs = one.columns(), other.columns()
    return sorted(
        name
        for name in mine.keys() | theirs.keys()
        if name not in mine or name not in theirs or not _same(mine[name], theirs[name])
    )


def _same(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if one.dtype.kind == "f":
        return bool(np.allclose(one, other, rtol=1e-6, atol=1e-9, equal_nan=True))
    return bool(np.array_equal(one, other))


@dataclass(frozen=True)
class Verification:
    """What `verify` found: ok, the number of events, and per view the columns that differ (none when sound)."""

    ok: bool
    events: int
    views: dict[str, list[str]]
    problems: list[str]
    kinds: dict[str, int]


def verify(views: Views, kinds: Sequence[type[View]]) -> Verification:
    """Read the whole journal, and fold every view from nothing to compare it with the one in use.

    Never raises for damage: what is wrong is listed in `problems`.
    """
    journal = views.journal
    problems, counts = check_rows(journal.path)
    different: dict[str, list[str]] = {}
    if not problems:
        for kind in kinds:
            try:
                current = views.get(kind)
                with current.lock:
                    fresh = kind()
                    fold_into(fresh, journal, current.seq)
                    different[kind.name] = differing_columns(current, fresh)
            except StorageError as error:
                problems.append(str(error))
        problems += [f"view {name}: {', '.join(columns)} differ" for name, columns in different.items() if columns]
    return Verification(not problems, sum(counts.values()), different, problems, counts)
