"""Snapshots: a view's columns as .npy files beside a manifest. A cache; the journal alone is the truth."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from theorex_lab.journal.columns import Columns
from theorex_lab.journal.files import sync_folder, write_atomically

_KEPT = 2  # the newest and the one before it, which another process may be about to map


def write_snapshot(folder: Path, columns: Columns, *, code: int, seq: int, event_id: str) -> Path:
    """Write `columns` to `folder/<code>-<seq>`, manifest last, and remove what is older.

    `event_id` is the id of the event at `seq`: it ties the snapshot to this journal.
    """
    final = folder / f"{code}-{seq:012d}"
    if (final / "manifest.json").exists():
        return final
    draft = folder / f".draft-{os.getpid()}-{secrets.token_hex(4)}"
    draft.mkdir(parents=True)
    try:
        listed = {name: _write_column(draft / f"{name}.npy", array) for name, array in columns.items()}
        manifest = {"code": code, "seq": seq, "event_id": event_id, "columns": listed}
        write_atomically(draft / "manifest.json", json.dumps(manifest).encode())
        if final.exists():
            shutil.rmtree(final)
        draft.rename(final)
        sync_folder(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    for old in _snapshots(folder, code=None)[_KEPT:]:
        shutil.rmtree(old, ignore_errors=True)
    return final


def open_snapshots(folder: Path, code: int) -> Iterator[tuple[int, str, Columns]]:
    """Yield (seq, event id, columns) of each sound snapshot written by `code`, newest first.

    Columns are copy-on-write maps: changing them changes no file. A snapshot that is incomplete or whose bytes do
    not have the noted checksum is passed over.
    """
    for path in _snapshots(folder, code):
        try:
            manifest = json.loads((path / "manifest.json").read_bytes())
            columns = {name: _open_column(path / f"{name}.npy", noted) for name, noted in manifest["columns"].items()}
            seq, event_id = int(manifest["seq"]), str(manifest["event_id"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue
        yield seq, event_id, columns


def drop_snapshots(folder: Path) -> None:
    """Remove every snapshot below `folder`."""
    if folder.exists():
        shutil.rmtree(folder)


def _write_column(path: Path, array: np.ndarray[Any, Any]) -> int:
    with path.open("xb") as file:
        np.save(file, array, allow_pickle=False)
        file.flush()
        os.fsync(file.fileno())
    return _checksum(array)


def _open_column(path: Path, noted: int) -> np.ndarray[Any, Any]:
    array: np.ndarray[Any, Any] = np.load(path, mmap_mode="c", allow_pickle=False)
    if _checksum(array) != noted:
        raise ValueError(f"{path} is damaged")
    return array.view(np.ndarray)


def _checksum(array: np.ndarray[Any, Any]) -> int:
    head = f"{array.dtype.str}{array.shape}".encode()
    return (
        zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data, zlib.crc32(head))
        if array.size
        else zlib.crc32(head)
    )


def _snapshots(folder: Path, code: int | None) -> list[Path]:
    """Snapshot folders, of this code or of any, newest first."""
    pattern = "[0-9]*-[0-9]*" if code is None else f"{code}-[0-9]*"
    return sorted(folder.glob(pattern), key=lambda path: path.name.rpartition("-")[2], reverse=True)
