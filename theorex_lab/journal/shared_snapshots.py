"""Snapshots of views, carried between the machines that share a journal.

A machine that joins a large journal would fold it from the first event. Another machine
has done so: it pushes its snapshots to where the journal is, and the new one pulls them
and folds the rest. What is pulled is as untrusted as a file that anybody may have
written: it is used where its checksums hold, where it has the columns of its view, and
where the journal has the event that it ends with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from theorex_lab.core.files import exclusive, writing
from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.journal import snapshot as snapshots
from theorex_lab.journal.columns import Array, Columns
from theorex_lab.journal.folding import PROJECT_SCOPE, View
from theorex_lab.journal.snapshot import BODY_RULES, MANIFEST, Erasures, Snapshot
from theorex_lab.journal.view import Views

MOST_BYTES = 1 << 30  # of one snapshot: more is neither pushed nor pulled
MOST_MANIFEST_BYTES = 1 << 22
_GROWTH = 3  # as of snapshots on disk: pushed again after a third as many events more
_SCOPED_NAME = lazy_pattern(r"(?P<view>\w+)@[0-9a-f]{16}", re.ASCII)


class SnapshotHead(NamedTuple):
    """What a store says of a snapshot.

    Attributes:
        key: What the store finds it by.
        name: The name of the view; for one of a project followed by a digest of that.
        code: See `Snapshot`, as the following.
        seq: The seq up to which events were folded.
        event_id: The id of the event at `seq`.
        kinds: The kinds of the events that were folded.
        n_bytes: The bytes of the columns' files.
    """

    key: str
    name: str
    code: int
    seq: int
    event_id: str
    kinds: tuple[str, ...]
    n_bytes: int


class SnapshotStore(Protocol):
    """Where the machines that share a journal keep snapshots for each other."""

    def heads(self) -> list[SnapshotHead]:
        """Return the newest snapshot of each name."""

    def put(
        self, head: SnapshotHead, manifest: bytes, files: Mapping[str, Path]
    ) -> bool:
        """Keep a snapshot in the place of an older one of its name.

        Args:
            head: What it is; its key is given by the store.
            manifest: Its manifest.
            files: The files of its columns, by their names.

        Returns:
            False where none was kept: one that is as new is there, or something of it
            was erased.
        """

    def manifest(self, head: SnapshotHead) -> bytes | None:
        """Return the manifest of a snapshot; None where it was removed or is too long."""

    def parts(self, head: SnapshotHead, column: str) -> Iterator[bytes]:
        """Yield the bytes of a column's file, no more than the head says in all."""


class SnapshotTransfer(NamedTuple):
    """What a push or a pull did.

    Attributes:
        names: The snapshots that were carried over.
        n_bytes: Their bytes.
        refused: The snapshots that a pull did not take though they were newer: they are
            not sound, are of another journal, or hold what was erased since.
    """

    names: list[str]
    n_bytes: int
    refused: list[str]


def push_snapshots(
    views: Views,
    kinds: Sequence[type[View]],
    store: SnapshotStore,
    *,
    only_grown: bool = False,
) -> SnapshotTransfer:
    """Push the newest snapshots of this machine that the store does not have.

    Args:
        views: The views of a home that shares a journal.
        kinds: The views' classes.
        store: Where the snapshots go.
        only_grown: Whether a snapshot is left here until it holds a third more events
            than the one in the store, and as many as one on disk is worth.

    Raises:
        StorageError: The store cannot be reached, or this role may not write to it.
    """
    views = views.whole
    stored: dict[str, SnapshotHead] = {}
    for head in store.heads():
        stored[head.name] = head
    names: list[str] = []
    n_bytes = 0
    for name, kind in _named_folders(views, kinds):
        folder = views.folder / name
        with _locked(folder):
            snapshot = views.usable_snapshot(kind, folder)
            if snapshot is None or _is_reached(views, kind, snapshot.seq):
                continue
            least = 1
            if only_grown:
                part_of_all = snapshot.seq // (_GROWTH + 1)
                least = max(views.snapshot_after_events, part_of_all)
            if _n_new_events(snapshot, stored.get(name)) < least:
                continue
            pushed_bytes = _push(store, name, folder, snapshot)
        if pushed_bytes:
            names.append(name)
            n_bytes += pushed_bytes
    return SnapshotTransfer(names, n_bytes, [])


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Let no other process write or remove snapshots in a folder.

    Raises:
        StorageError: The folder cannot be written.
    """
    with (
        writing(folder, "make the home writable"),
        exclusive(folder / "lock", wait=True),
    ):
        yield


def _named_folders(
    views: Views, kinds: Sequence[type[View]]
) -> Iterator[tuple[str, type[View]]]:
    """Yield the folders of snapshots of these views, with the class of each."""
    by_name = {kind.name: kind for kind in kinds}
    for path in sorted(views.folder.glob("*/")):
        kind = _view_of(path.name, by_name)
        if kind is not None:
            yield path.name, kind


def _view_of(name: str, by_name: Mapping[str, type[View]]) -> type[View] | None:
    """Return the view whose snapshots have a name; None for none of this home."""
    scoped = _SCOPED_NAME.fullmatch(name)
    if scoped is None:
        return by_name.get(name)
    kind = by_name.get(scoped["view"])
    if kind is None or kind.scope != PROJECT_SCOPE:
        return None
    return kind


def _n_new_events(snapshot: Snapshot, head: SnapshotHead | None) -> int:
    """Return by how many events a snapshot is newer than the one in the store."""
    if head is None or head.code < snapshot.code:
        return snapshot.seq
    if head.code > snapshot.code:  # of a later release
        return 0
    return snapshot.seq - head.seq


def _push(store: SnapshotStore, name: str, folder: Path, snapshot: Snapshot) -> int:
    """Push a snapshot; return its bytes, 0 where it was not kept."""
    path = snapshots.snapshot_path(folder, snapshot.code, snapshot.seq)
    files: dict[str, Path] = {}
    n_bytes = 0
    for column in snapshot.columns:
        file = path / f"{column}.npy"
        files[column] = file
        n_bytes += file.stat().st_size
    manifest = (path / MANIFEST).read_bytes()
    if n_bytes > MOST_BYTES or len(manifest) > MOST_MANIFEST_BYTES:
        return 0
    head = SnapshotHead(
        key="",
        name=name,
        code=snapshot.code,
        seq=snapshot.seq,
        event_id=snapshot.event_id,
        kinds=tuple(snapshot.kinds),
        n_bytes=n_bytes,
    )
    if not store.put(head, manifest, files):
        return 0
    return n_bytes


def pull_snapshots(
    views: Views, kinds: Sequence[type[View]], store: SnapshotStore
) -> SnapshotTransfer:
    """Pull the snapshots that are newer than those of this machine.

    Args:
        views: The views of a home that shares a journal. Those that are open stay as
            they are.
        kinds: The views' classes.
        store: Where the snapshots are.

    Raises:
        StorageError: The store cannot be reached, or the home not be written.
    """
    views = views.whole
    by_name = {kind.name: kind for kind in kinds}
    names: list[str] = []
    refused: list[str] = []
    n_bytes = 0
    for head in store.heads():
        kind = _view_of(head.name, by_name)
        if kind is None or head.code != kind.code:
            continue
        folder = views.folder / head.name
        with _locked(folder):
            newest = views.usable_snapshot(kind, folder)
            if newest is not None and newest.seq >= head.seq:
                continue
            is_taken = _pull(views, kind, store, head)
        if is_taken:
            names.append(head.name)
            n_bytes += head.n_bytes
        else:
            refused.append(head.name)
    return SnapshotTransfer(names, n_bytes, refused)


def _pull(
    views: Views, kind: type[View], store: SnapshotStore, head: SnapshotHead
) -> bool:
    """Write a snapshot of the store into the home, where it is sound."""
    if head.n_bytes > MOST_BYTES or _is_reached(views, kind, head.seq):
        return False
    manifest = store.manifest(head)
    if manifest is None:
        return False
    folder = views.folder / head.name

    def parts_of(column: str) -> Iterable[bytes]:
        return store.parts(head, column)

    def is_wanted(snapshot: Snapshot) -> bool:
        if snapshot.code != head.code or snapshot.seq != head.seq:
            return False
        if not _is_of_view(snapshot, kind):
            return False
        return views.is_usable(kind, snapshot)

    path = snapshots.write_foreign_snapshot(folder, manifest, parts_of, is_wanted)
    if path is None:
        return False
    if _is_reached(views, kind, head.seq):  # meanwhile
        snapshots.drop_snapshots(path)
        return False
    return True


def _is_reached(views: Views, kind: type[View], seq: int) -> bool:
    """Return whether something was erased since of what a view folded up to a seq."""
    return Erasures.after(views.journal, seq).reach(kind.kinds, seq)


def _is_of_view(snapshot: Snapshot, kind: type[View]) -> bool:
    """Return whether a snapshot is what the view of this home would write.

    What it says of itself is believed by whoever removes what was erased.
    """
    if snapshot.body_rules != BODY_RULES:
        return False
    if set(snapshot.kinds) != set(kind.kinds):
        return False
    reads_now = kind.reads or kind.kinds
    if set(snapshot.reads) != set(reads_now):
        return False
    for seq, why in snapshot.passed_over.items():
        if not seq.isdecimal() or not isinstance(why, str):
            return False
    return _has_columns_of(snapshot.columns, kind)


def _has_columns_of(columns: Columns, kind: type[View]) -> bool:
    """Return whether columns have the names, the types and the ends of a view's."""
    expected = kind().columns()
    if columns.keys() != expected.keys():
        return False
    for name, column in columns.items():
        pattern = expected[name]
        if column.dtype != pattern.dtype:
            return False
        if column.ndim != pattern.ndim:
            return False
        table, _, part = name.rpartition(".")
        if part == "offsets" and not _are_offsets(
            column,
            columns.get(f"{table}.blob"),
        ):
            return False
    return True


def _are_offsets(offsets: Array, texts: Array | None) -> bool:
    """Return whether offsets rise from 0 to the end of their texts."""
    if len(offsets) == 0 or offsets[0] != 0:
        return False
    if texts is not None and offsets[-1] != len(texts):
        return False
    steps = np.diff(offsets)
    return bool((steps >= 0).all())
