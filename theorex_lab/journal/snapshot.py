"""Snapshots: a view's columns as .npy files beside a manifest.

A cache; the journal alone is the truth.
"""

import json
import os
import re
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from hashlib import blake2b
from io import BytesIO
from mmap import ACCESS_COPY, mmap
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, Self

import numpy as np

from theorex_lab.core.errors import StorageError
from theorex_lab.core.files import (
    exclusive,
    make_folder,
    open_private,
    sync_folder,
    told,
    write_atomically,
)
from theorex_lab.core.lazy import LazyModule
from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.journal.base import Journal
from theorex_lab.journal.columns import Columns
from theorex_lab.journal.erasing import ERASURE
from theorex_lab.journal.event import Event
from theorex_lab.journal.places import MERGED

# What only writes and removes snapshots: most processes read them alone.
if TYPE_CHECKING:
    import secrets
    import shutil
else:
    secrets = LazyModule("secrets")
    shutil = LazyModule("shutil")

_SCOPE_BYTES = 8
_ALL = "\n\n"  # what no project is called


def scope_digest(projects: Sequence[str] | None) -> str:
    """Return what stands for projects in the name of a folder.

    Their names cannot be read from it.

    Args:
        projects: The projects, '' for none; None for all.
    """
    names = _ALL if projects is None else "\n".join(projects)
    digest = blake2b(
        names.encode(),
        digest_size=_SCOPE_BYTES,
    )
    return digest.hexdigest()


# After which something that was folded may be there no longer, or be of another project.
ERASING_KINDS = (ERASURE, MERGED)


class Erasures:
    """The erasures of a journal after some seq.

    Each comes with the lowest seq that it reached of each kind. A merge of projects
    counts as one: what was folded before it is of other projects by now.
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._events = list(events)
        self._reached = [(event.seq, _reached(event)) for event in self._events]

    @classmethod
    def after(cls, journal: Journal, seq: int, *, upto: int | None = None) -> Self:
        """Return the erasures with `seq` < their own seq ≤ `upto`.

        `upto` is the newest seq where it is not given.
        """
        kinds = ERASING_KINDS
        return cls(journal.tail(seq, kinds=kinds, upto=upto, erased=True))

    def reach(self, kinds: Sequence[str] | None, seq: int) -> bool:
        """Return whether one of them erased something that was folded.

        Args:
            kinds: The kinds of events that were folded, None for any.
            seq: The seq up to which they were folded.
        """
        for erasure_seq, first_seqs in self._reached:
            if seq < erasure_seq and _has_reached(first_seqs, kinds, seq):
                return True
        return False

    def erased_ids(self, seq: int) -> list[str] | None:
        """Return the ids of what was erased since `seq`.

        It is None where that cannot be told, or where projects were merged.
        """
        ids: list[str] = []
        for event in self._events:
            if event.seq <= seq:
                continue
            if event.erased or event.kind == MERGED:
                return None
            ids += event.body["ids"]
        return ids


class ErasureReader:
    """Reads the erasures of a journal, each stretch of it once.

    Args:
        journal: The journal.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._lock = threading.Lock()
        self._forget()

    def _forget(self, seq: int = 0) -> None:
        """Begin anew behind a seq."""
        self._after = seq
        self._upto = seq
        self._last_id: str | None = None
        self._events: list[Event] = []

    def after(self, seq: int) -> Erasures:
        """Return what `Erasures.after` returns up to the newest event.

        Args:
            seq: The seq behind which they begin.
        """
        last = self._journal.last_seq()
        if last <= seq:
            return Erasures()
        with self._lock:
            if seq < self._after or not self._is_same_journal(last):
                self._forget(seq)
            if self._upto == self._after:
                self._forget(seq)
            new_events = self._journal.tail(
                self._upto,
                kinds=ERASING_KINDS,
                upto=last,
                erased=True,
            )
            self._events += list(new_events)
            self._upto = last
            self._last_id = self._journal.event_id(last)
            return Erasures(event for event in self._events if event.seq > seq)

    def _is_same_journal(self, last: int) -> bool:
        """Return whether the journal has the event that was read last."""
        if self._upto > last:
            return False
        return self._journal.event_id(self._upto) == self._last_id


def _has_reached(
    first_seqs: dict[str, int] | None, kinds: Sequence[str] | None, seq: int
) -> bool:
    """Return whether an erasure reached events of these kinds up to `seq`."""
    if first_seqs is None or kinds is None:
        return True
    return any(kind in first_seqs and first_seqs[kind] <= seq for kind in kinds)


# Raised where the journal begins to refuse bodies that were folded before: then older
# snapshots are passed over.
BODY_RULES = 1


def _reached(event: Event) -> dict[str, int] | None:
    """Return by kind the lowest seq that an erasure reached; None where it may be any.

    An erasure may have reached anything where it was itself erased, or does not say;
    and so may one of a merge, by which all is parted again.
    """
    if event.erased or event.kind == MERGED:
        return None
    first: dict[str, int] | None = event.body.get("first_seqs")
    return None if first is None or MERGED in first else first


_KEPT = 2  # the newest and the one before it, which another process may be about to map
_DROP_ATTEMPTS = 20
_HEAD_BYTES = 512  # what is read of a column for its shape and type; they take 128
_READ_BYTES = 16_384  # up to so many, reading a file costs less than mapping it
MANIFEST = "manifest.json"
_COLUMN_NAME = lazy_pattern(r"[A-Za-z]\w{0,60}(\.\w{1,60})?", re.ASCII)


class Snapshot(NamedTuple):
    """What a snapshot's manifest says, and its columns.

    Attributes:
        code: The version of the fold and of its columns.
        seq: The seq up to which events were folded.
        event_id: The id of the event at `seq`; it ties the snapshot to its journal.
        kinds: The kinds of the events that were folded.
        reads: See `View`.
        passed_over: See `View`.
        body_rules: `BODY_RULES` of the release that folded.
        columns: The columns.
    """

    code: int
    seq: int
    event_id: str
    kinds: list[str]
    reads: list[str]
    passed_over: dict[str, str]
    body_rules: int
    columns: Columns


def write_snapshot(
    folder: Path,
    columns: Columns,
    *,
    code: int,
    seq: int,
    event_id: str,
    kinds: Sequence[str],
    reads: Sequence[str] = (),
    passed_over: Mapping[int, str] = MappingProxyType({}),
) -> Path:
    """Write `columns` to `folder/<code>-<seq>`, the manifest last.

    What is older, or was left by a crash, is removed. A sound snapshot that is there
    already is left as it is. To be called under the lock of `folder`.

    Args:
        folder: The folder of the view's snapshots.
        columns: The columns.
        code: See `Snapshot`, as the following.
        seq: The seq up to which they were folded.
        event_id: The id of the event at `seq`.
        kinds: The kinds of events that were folded.
        reads: The kinds that the fold reads, each with how.
        passed_over: Why an event was passed over, by its seq.

    Returns:
        The snapshot's folder.
    """
    noted = {str(passed_seq): why for passed_seq, why in passed_over.items()}
    snapshot = Snapshot(
        code=code,
        seq=seq,
        event_id=event_id,
        kinds=list(kinds),
        reads=list(reads or kinds),
        passed_over=noted,
        body_rules=BODY_RULES,
        columns=columns,
    )
    final = snapshot_path(folder, code, seq)
    if read_snapshot(final) is not None:
        return final
    with _draft(folder) as draft:
        listed = {
            name: _write_column(draft / f"{name}.npy", array)
            for name, array in columns.items()
        }
        content = {**snapshot._asdict(), "columns": listed}
        manifest = {"content": content, "crc": _content_checksum(content)}
        write_atomically(draft / MANIFEST, json.dumps(manifest).encode())
        _put_in_place(draft, final)
    return final


def write_foreign_snapshot(
    folder: Path,
    manifest: bytes,
    parts_of: Callable[[str], Iterable[bytes]],
    is_wanted: Callable[[Snapshot], bool],
) -> Path | None:
    """Write a snapshot that was made elsewhere, where its checksums hold.

    To be called under the lock of `folder`. Nothing is left there of one that is not
    sound or not wanted.

    Args:
        folder: The folder of the view's snapshots.
        manifest: The manifest as it was written.
        parts_of: Returns the bytes of a column's file in parts, by the column's name.
        is_wanted: Tells of the sound snapshot whether it is wanted.

    Returns:
        The snapshot's folder; None where it is not sound or not wanted.
    """
    with _draft(folder) as draft:
        write_atomically(draft / MANIFEST, manifest)
        content = _manifest(draft)
        if content is None or not _is_listed_well(content):
            return None
        for name in content["columns"]:
            with open(draft / f"{name}.npy", "xb", opener=open_private) as file:
                file.writelines(parts_of(name))
                file.flush()
                os.fsync(file.fileno())
        snapshot = read_snapshot(draft)
        if snapshot is None or not is_wanted(snapshot):
            return None
        final = snapshot_path(folder, snapshot.code, snapshot.seq)
        _put_in_place(draft, final)
        return final


def _is_listed_well(content: dict[str, Any]) -> bool:
    """Return whether a manifest names its seq, its code and columns that may be files."""
    for name in ("code", "seq"):
        if type(content.get(name)) is not int:
            return False
    columns = content.get("columns")
    if not isinstance(columns, dict):
        return False
    return all(_COLUMN_NAME.fullmatch(name) for name in columns)


def snapshot_path(folder: Path, code: int, seq: int) -> Path:
    """Return the folder of the snapshot of a code and a seq.

    Args:
        folder: The folder of the view's snapshots.
        code: The version of the fold.
        seq: The seq up to which events were folded.
    """
    return folder / f"{code}-{seq:012d}"


@contextmanager
def _draft(folder: Path) -> Iterator[Path]:
    """Yield a folder to write a snapshot into; what is left of it is removed."""
    for left in folder.glob(".draft-*"):
        shutil.rmtree(left, ignore_errors=True)
    draft = folder / f".draft-{os.getpid()}-{secrets.token_hex(4)}"
    make_folder(str(draft))
    try:
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _put_in_place(draft: Path, final: Path) -> None:
    """Let a whole draft be the snapshot, and remove what is older."""
    folder = final.parent
    if final.exists():
        shutil.rmtree(final)
    draft.rename(final)
    sync_folder(folder)
    for old in _snapshots(folder, code=None)[_KEPT:]:
        shutil.rmtree(old, ignore_errors=True)


def open_snapshots(folder: Path, code: int) -> Iterator[Snapshot]:
    """Yield each sound snapshot written by `code`, newest first.

    Columns are copy-on-write maps: changing them changes no file. A snapshot that is
    incomplete or whose bytes do not have the noted checksums is passed over, and one
    that was folded by other rules of bodies.
    """
    for snapshot in map(read_snapshot, _snapshots(folder, code)):
        if snapshot is not None and snapshot.body_rules == BODY_RULES:
            yield snapshot


def newest_seq(folder: Path, code: int) -> int:
    """Return the seq of the newest snapshot of `code`, sound or not; 0 without one."""
    newest = 0
    for path in _snapshots(folder, code):
        _, _, seq = path.name.rpartition("-")
        newest = max(newest, int(seq))
    return newest


def oldest_seq(folder: Path, *, default: int) -> int:
    """Return the seq of the oldest snapshot of any code, sound or not.

    Args:
        folder: The folder of the view's snapshots.
        default: What is returned where there is none.
    """
    oldest = default
    for path in _snapshots(folder, code=None):
        _, _, seq = path.name.rpartition("-")
        oldest = min(oldest, int(seq))
    return oldest


def remove_reached(
    folder: Path, erasures: Erasures, *, wait: bool, since: int = 0
) -> None:
    """Remove the snapshots of a view that hold what was erased, and what a crash left.

    Args:
        folder: The folder of the view's snapshots.
        erasures: The erasures.
        wait: Whether to wait for a process that writes a snapshot there. What it has
            written is seen then, and what it writes afterwards is none of that, since
            it looks for erasures itself. Without `wait` nothing is done meanwhile.
        since: The seq behind which the erasures were read. A snapshot from before it
            is removed: another process has just written it.

    Raises:
        StorageError: Something cannot be removed.
    """
    if not folder.exists():
        return
    with (
        told(f"cannot remove what is in {folder}"),
        exclusive(folder / "lock", wait=wait) as held,
    ):
        if not held:
            return
        for left in folder.glob(".draft-*"):
            drop_snapshots(left)
        for path in _snapshots(folder, code=None):
            manifest = _manifest(path)
            if manifest is None:
                drop_snapshots(path)
                continue
            kinds = manifest.get("kinds")
            seq = manifest["seq"]
            if seq < since or erasures.reach(kinds, seq):
                drop_snapshots(path)


def drop_snapshots(folder: Path) -> None:
    """Remove every snapshot below `folder`.

    Raises:
        StorageError: That fails.
    """
    # Another process may drop the same files, or write a snapshot meanwhile.
    problem = "another process keeps writing there"
    for _ in range(_DROP_ATTEMPTS):
        if not folder.exists():
            return
        try:
            shutil.rmtree(folder)
        except OSError as error:
            problem = str(error.strerror)
    if folder.exists():
        raise StorageError(
            f"cannot remove {folder}: {problem}; remove it by hand, and repeat"
        )


def _manifest(path: Path) -> dict[str, Any] | None:
    """Return what the manifest of a snapshot says; None where it is damaged."""
    try:
        manifest = json.loads((path / MANIFEST).read_bytes())
        content: dict[str, Any] = manifest["content"]
        return content if _content_checksum(content) == manifest["crc"] else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def read_snapshot(path: Path) -> Snapshot | None:
    """Return the snapshot of a folder with its columns; None where it is not whole."""
    if (content := _manifest(path)) is None:
        return None
    try:
        columns = {
            name: _open_column(path / f"{name}.npy", noted)
            for name, noted in content["columns"].items()
        }
        return Snapshot(**{**content, "columns": columns})
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _content_checksum(content: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(content).encode())


class _Checked:
    """Writes to a file and keeps the CRC-32 of all that was handed over.

    The sum holds whatever becomes of the bytes on the disk.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.crc = 0

    def write(self, data: bytes) -> int:
        """Write bytes as a file does, and return how many."""
        self.crc = zlib.crc32(data, self.crc)
        return self.file.write(data)


def _write_column(path: Path, array: np.ndarray[Any, Any]) -> int:
    """Write one file and return its checksum."""
    with open(path, "xb", opener=open_private) as file:
        checked = _Checked(file)
        np.save(checked, array, allow_pickle=False)
        file.flush()
        os.fsync(file.fileno())
    return checked.crc


def _open_column(path: Path, noted: int) -> np.ndarray[Any, Any]:
    whole = _bytes_of(path)
    if zlib.crc32(whole) != noted:
        raise ValueError(f"{path} is damaged")
    shape, kind, offset = _described(bytes(whole[:_HEAD_BYTES]))
    return np.ndarray(shape, kind, buffer=whole, offset=offset)


def _bytes_of(path: Path) -> bytearray | mmap:
    """Return the bytes of a file, which may be changed in memory alone.

    Those of a small file are read, and those of a larger one mapped.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size <= _READ_BYTES:
            return bytearray(file.read())
        return mmap(file.fileno(), size, access=ACCESS_COPY)


@lru_cache(maxsize=256)
def _described(head: bytes) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    """Return a column's shape, its type, and where its values begin.

    Empty columns of a type have the same head, and most columns of a small home are
    empty.

    Args:
        head: The first bytes of the file.
    """
    file = BytesIO(head)
    np.lib.format.read_magic(file)
    shape, _, kind = np.lib.format.read_array_header_1_0(file)
    return shape, kind, file.tell()


def _snapshots(folder: Path, code: int | None) -> list[Path]:
    """Snapshot folders, of this code or of any, newest first."""
    pattern = "[0-9]*-[0-9]*" if code is None else f"{code}-[0-9]*"
    return sorted(
        folder.glob(pattern),
        key=lambda path: path.name.rpartition("-")[2],
        reverse=True,
    )
