"""A graph of neighbours over many vectors, kept on disk beside them.

A walk through the graph finds the vectors nearest to a query's without comparing all
(Malkov and Yashunin, "Efficient and robust approximate nearest neighbor search using
Hierarchical Navigable Small World graphs", TPAMI 2018). The package hnswlib builds it.
"""

import hashlib
import json
import os
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from theorex_lab.core.files import drafted, make_file, write_atomically
from theorex_lab.search.fuse import Ids

if TYPE_CHECKING:
    import hnswlib

_FORMAT = 1
# Links of a vector, and vectors that are looked at to choose them.
_LINKS = 16
_CONSIDERED = 100
# Vectors that a search looks at at least: with 400 it finds .99 of the ten nearest of
# 200,000 sentences, with 200 it finds .98.
_LOOKED_AT = 400
_SEED = 1
_READ_AT_ONCE = 1 << 20  # bytes
Vectors = npt.NDArray[np.float32]
KeyPairs = npt.NDArray[np.uint64]


class NeighbourGraph:
    """Vectors of records, of length one each, and their links.

    >>> graph = NeighbourGraph(2, capacity=3)
    >>> vectors = np.array([[1, 0], [0, 1], [0.6, 0.8]], np.float32)
    >>> graph.add(np.arange(3), vectors, n_records=3)
    >>> graph.nearest(np.array([0, 1], np.float32), 2).tolist()
    [1, 2]

    Attributes:
        n_records: How many records of the file of vectors it was made of.
    """

    def __init__(self, dimensions: int, *, capacity: int) -> None:
        """Begin without vectors.

        Args:
            dimensions: How many numbers a vector has.
            capacity: How many vectors it will hold at most.
        """
        self.n_records = 0
        self._index = _empty_index(dimensions)
        self._index.init_index(
            max(capacity, 1),
            M=_LINKS,
            ef_construction=_CONSIDERED,
            random_seed=_SEED,
        )

    def add(self, numbers: Ids, vectors: Vectors, *, n_records: int) -> None:
        """Add the vectors of new records.

        Args:
            numbers: The numbers of the records.
            vectors: Their vectors, (numbers, dimensions).
            n_records: How many records the graph stands for from now on.
        """
        if len(numbers):
            self._index.add_items(vectors, numbers, num_threads=1)
        self.n_records = n_records

    def nearest(self, query: Vectors, limit: int) -> Ids:
        """Return the numbers of about the nearest records, nearest first."""
        n_wanted = min(limit, self._index.get_current_count())
        if n_wanted < 1:
            return np.zeros(0, np.int64)
        self._index.set_ef(max(_LOOKED_AT, n_wanted))
        numbers, _ = self._index.knn_query(query, n_wanted, num_threads=1)
        return np.asarray(numbers[0]).astype(np.int64)

    def save(self, path: Path, keys: KeyPairs) -> None:
        """Replace the graph's file, and what says of what it was made.

        Args:
            path: The file.
            keys: The keys of the file of vectors, (n, 2).

        Raises:
            OSError: A file cannot be written.
        """
        with drafted(path) as draft:
            make_file(str(draft))
            self._index.save_index(str(draft))
            with draft.open("rb+") as file:
                os.fsync(file.fileno())
            checksum = _checksum(draft)
        state = _state(self.n_records, keys, checksum)
        write_atomically(_state_path(path), state.encode())

    @classmethod
    def load(
        cls, path: Path, dimensions: int, keys: KeyPairs, *, capacity: int
    ) -> Self | None:
        """Return the graph of a file.

        Args:
            path: The file.
            dimensions: How many numbers a vector has.
            keys: The keys of the file of vectors as it is now, (n, 2).
            capacity: How many vectors it will hold at most.

        Returns:
            The graph; None where there is none, or the file is torn or was made of
            other records.
        """
        n_records = known_records(path, keys)
        # hnswlib trusts what it reads: nothing but what it wrote is given to it.
        if not n_records or not is_intact(path):
            return None
        graph = cls(dimensions, capacity=1)
        graph._index = _empty_index(dimensions)
        try:
            graph._index.load_index(str(path), max_elements=max(capacity, n_records))
        except (OSError, RuntimeError):
            return None
        # Another process may have put another file there meanwhile.
        if known_records(path, keys) != n_records:
            return None
        graph.n_records = n_records
        return graph


def _empty_index(dimensions: int) -> "hnswlib.Index":
    """Return an index of vectors by their products, of which the greatest is nearest."""
    # A sweep, which needs none, is not to load it.
    import hnswlib

    return hnswlib.Index("ip", dimensions)


def known_records(path: Path, keys: KeyPairs) -> int:
    """Return of how many of these records a graph's file was made.

    It is 0 where there is no file, or one that was made of other records.
    """
    try:
        state = json.loads(_state_path(path).read_text())
        n_records = int(state["records"])
        checksum = int(state["crc"])
    except (OSError, ValueError, TypeError, KeyError):
        return 0
    if not 0 < n_records <= len(keys) or not path.exists():
        return 0
    if state != json.loads(_state(n_records, keys, checksum)):
        return 0
    return n_records


def is_intact(path: Path) -> bool:
    """Return whether a graph's file is as it was written; it is read whole."""
    try:
        state = json.loads(_state_path(path).read_text())
        return bool(state["crc"] == _checksum(path))
    except (OSError, ValueError, TypeError, KeyError):
        return False


def remove_graph(path: Path) -> None:
    """Remove a graph's file, which holds the vectors that it was made of.

    Raises:
        OSError: A file cannot be removed.
    """
    _state_path(path).unlink(missing_ok=True)
    path.unlink(missing_ok=True)


def _state_path(path: Path) -> Path:
    """Return the file that says of what a graph's file was made."""
    return path.with_name(f"{path.name}-state")


def _state(n_records: int, keys: KeyPairs, checksum: int) -> str:
    """Return what says of which records a graph was made, and which file holds it."""
    first_keys = np.ascontiguousarray(keys[:n_records])
    digest = hashlib.blake2b(first_keys.tobytes(), digest_size=16)
    state = {
        "format": _FORMAT,
        "records": n_records,
        "keys": digest.hexdigest(),
        "crc": checksum,
    }
    return json.dumps(state)


def _checksum(path: Path) -> int:
    """Return the CRC-32 of a file."""
    checksum = 0
    with path.open("rb") as file:
        while content := file.read(_READ_AT_ONCE):
            checksum = zlib.crc32(content, checksum)
    return checksum
