"""Sweeping: vectors of texts that are no longer remembered leave the caches' files, and the others stay."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theorex_lab.errors import StorageError
from theorex_lab.journal.files import sync_folder
from theorex_lab.journal.private import open_private
from theorex_lab.journal.view import Views
from theorex_lab.search.index import ItemIndex
from theorex_lab.search.vectors import locked, record_type, write_vectors

_RECORDS_AT_ONCE = 4_096


def sweep_vectors(folder: Path, wanted: Callable[[NDArray[np.uint64]], NDArray[np.bool_]]) -> int:
    """Remove from every cache in the folder the vectors whose keys are not wanted; returns how many those were.

    `wanted` tells it of keys, two halves each, (n, 2), while no other process adds. A file is rewritten, and those who
    read it follow. What a killed process left goes too. Raises StorageError where a file cannot be written.
    """
    dropped = 0
    # A lock stands before its file: whoever holds it now may be about to write the first vectors.
    for path in sorted({lock.with_suffix(".vectors") for lock in folder.glob("*.lock")} | {*folder.glob("*.vectors")}):
        with locked(path):
            for draft in folder.glob(f".{path.name}.*"):
                draft.unlink()
            dropped += _sweep_file(path, wanted) if path.exists() else 0
    return dropped


def sweep_forgotten(folder: Path, views: Views, index: type[ItemIndex]) -> None:
    """Remove from the folder's caches the vectors of texts that left the index. Raises as `sweep_vectors`."""
    if not any(folder.glob("*")):
        return
    held = views.get(index)
    with held.lock:
        # What others have written and embedded meanwhile stays: the index is asked while they cannot add.
        sweep_vectors(folder, lambda keys: views.get(index).holds(keys))


def _sweep_file(path: Path, wanted: Callable[[NDArray[np.uint64]], NDArray[np.bool_]]) -> int:
    record = record_type(_dimensions(path))
    keys = np.concatenate([np.zeros((0, 2), np.uint64), *(part["key"] for part in _parts(path, record))])
    kept = wanted(keys)
    if kept.all() and path.stat().st_size == len(keys) * record.itemsize:
        return 0
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with open(draft, "xb", buffering=0, opener=open_private) as file:
        start = 0
        for part in _parts(path, record):
            write_vectors(file, part[kept[start : start + len(part)]])
            start += len(part)
        os.fsync(file.fileno())
    draft.replace(path)
    sync_folder(path.parent)
    return int(np.count_nonzero(~kept))


def _parts(path: Path, record: np.dtype[Any]) -> Iterator[NDArray[Any]]:
    """The whole records of a file in parts, so that it is never in memory as a whole."""
    with path.open("rb") as file:
        while content := file.read(_RECORDS_AT_ONCE * record.itemsize):
            yield np.frombuffer(content, record, len(content) // record.itemsize)


def _dimensions(path: Path) -> int:
    """Of the vectors in a cache's file, whose name ends with it. Raises StorageError for a file of another name."""
    number = path.stem.rpartition("-")[2]
    if not number.isdecimal() or not int(number):
        raise StorageError(f"{path} is not named as a file of vectors is; remove it by hand, and repeat")
    return int(number)
