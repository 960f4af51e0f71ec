"""Vectors: exact search, approximate search for processes that live long, and a durable cache by text hash."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import mmap
import os
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from io import FileIO
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from theorex_lab.errors import InvalidInput, StorageError
from theorex_lab.journal.columns import Table
from theorex_lab.journal.files import exclusive
from theorex_lab.journal.private import open_private
from theorex_lab.search.fuse import Ids, Mask, Scores, best_first, check_mask

Matrix = npt.NDArray[np.float32]
Keys = Sequence[bytes] | npt.NDArray[np.uint64]  # of 16 bytes each, or their two halves, (n, 2)

KEY_BYTES = 16
_BLOCK_RECORDS = 256
_SELECTIVE = 0.25  # below this share of allowed rows, copying them out is quicker than multiplying all
# Measured on one core with 384 dimensions, sentence vectors and their mixtures: at 100,000 rows a graph of this shape
# takes 110 s to build (1.3 ms a row at the end) and answers in 0.55 ms with recall@10 of .995 (.979 in 0.36 ms at
# breadth 64); exact search takes 15 ms, so that building pays back after 7,500 queries (5,000 at 20,000 rows).
_LINKS = 16
_BUILD_BREADTH = 200
_SEARCH_BREADTH = 128
_ROWS_PER_QUERY = 32
APPROXIMATE_FROM_ROWS = 20_000  # below, exact search takes 3 ms or less
PAYBACK_QUERIES = 6_000


def exact_search(matrix: Matrix, query: Matrix, allowed: Mask | None = None, limit: int = 10) -> tuple[Ids, Scores]:
    """Rows of `matrix` (n, d) with the highest inner product with `query` (d,), best first, at most `limit`.

    Of equal scores the higher (newer) row comes first. `allowed` is a mask of shape (n,). Rows of length one make the
    scores cosines. Raises InvalidInput for shapes that do not fit, a query that is not finite, a limit below 0.

    >>> exact_search(np.eye(3, dtype=np.float32), np.array([0, 1, 0], dtype=np.float32), limit=1)
    (array([1]), array([1.]))
    """
    _check_query(query, allowed, matrix.shape)
    if allowed is None:
        return best_first(np.arange(len(matrix)), matrix @ query, limit)
    rows = np.flatnonzero(allowed)
    selective = len(rows) < _SELECTIVE * len(matrix)
    return best_first(rows, matrix[rows] @ query if selective else (matrix @ query)[rows], limit)


def resting_backend() -> str:
    """How a search would look for vectors at first; see `VectorIndex.backend`."""
    return VectorIndex(1, approximate=True).backend


class VectorIndex:
    """Vectors of length one, numbered from 0 in the order of their adding, and the nearest of them to a query.

    Search is exact, unless `approximate` is asked, hnswlib is installed, there are `approximate_from_rows` or more, and
    exact search has read the matrix `payback_queries` times: by then a graph (Malkov and Yashunin, arXiv:1603.09320)
    would have paid for its building. From there on each query adds a few rows to it, so that none waits for the
    whole, and it answers once every row is in. `backend` says which of these is at work.

    >>> index = VectorIndex(2)
    >>> index.add(np.array([[1, 0], [0, 1]], dtype=np.float32))
    >>> index.search(np.array([0.6, 0.8], dtype=np.float32), limit=1)[0], index.backend
    (array([1]), 'exact')
    """

    def __init__(
        self,
        dimensions: int,
        *,
        approximate: bool = False,
        approximate_from_rows: int = APPROXIMATE_FROM_ROWS,
        payback_queries: int = PAYBACK_QUERIES,
    ) -> None:
        if dimensions < 1:
            raise InvalidInput(f"got {dimensions} dimensions; allowed is 1 or more")
        self.dimensions = dimensions
        self._rows = Table(vector=("f4", dimensions))
        self._approximate = approximate and importlib.util.find_spec("hnswlib") is not None
        self._missing = approximate and not self._approximate
        self._approximate_from_rows = approximate_from_rows
        self._payback_queries = payback_queries
        self._rows_read = 0
        self._graph: Any = None

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def matrix(self) -> Matrix:
        """Every vector, (rows, dimensions), without copying."""
        return self._rows["vector"]

    @property
    def backend(self) -> str:
        """`exact`, `exact (hnswlib is not installed)`, or `hnswlib` once its graph answers."""
        if self._missing:
            return "exact (hnswlib is not installed)"
        return "hnswlib" if self._graph_rows() == len(self) > 0 else "exact"

    def add(self, matrix: Matrix) -> None:
        """Append rows, (n, dimensions), each of length one (or zero, which is near to nothing)."""
        if matrix.ndim != 2 or matrix.shape[1] != self.dimensions:
            raise InvalidInput(f"got vectors of the shape {matrix.shape}; allowed is (n, {self.dimensions})")
        lengths = np.sqrt(np.einsum("ij,ij->i", matrix, matrix))
        wrong = np.flatnonzero(~((np.abs(lengths - 1.0) < 1e-3) | (lengths == 0.0)))
        if len(wrong):
            raise InvalidInput(f"got a vector of length {lengths[wrong[0]]} in row {wrong[0]}; allowed is 1 (or 0)")
        where = self._rows.grow(len(matrix))
        self._rows["vector"][where] = matrix

    def search(self, query: Matrix, allowed: Mask | None = None, limit: int = 10) -> tuple[Ids, Scores]:
        """The rows nearest to `query` (dimensions,), best first; see `exact_search`, whose scores these are."""
        _check_query(query, allowed, self.matrix.shape)
        if self._pays_back():
            self._grow_graph()
            found = self._search_graph(query, allowed, limit)
            if found is not None:
                return found
        self._rows_read += len(self)
        return exact_search(self.matrix, query, allowed, limit)

    def _pays_back(self) -> bool:
        if not self._approximate or len(self) < self._approximate_from_rows:
            return False
        return self._graph is not None or self._rows_read >= self._payback_queries * len(self)

    def _graph_rows(self) -> int:
        return self._graph.get_current_count() if self._graph is not None else 0

    def _grow_graph(self) -> None:
        import hnswlib

        if self._graph is None:
            self._graph = hnswlib.Index(space="ip", dim=self.dimensions)
            self._graph.init_index(2 * len(self), ef_construction=_BUILD_BREADTH, M=_LINKS, random_seed=0)
        start = self._graph_rows()
        stop = min(start + _ROWS_PER_QUERY, len(self))
        if stop > self._graph.get_max_elements():
            self._graph.resize_index(2 * stop)
        if stop > start:
            self._graph.add_items(self.matrix[start:stop], np.arange(start, stop), num_threads=1)

    def _search_graph(self, query: Matrix, allowed: Mask | None, limit: int) -> tuple[Ids, Scores] | None:
        """None where the graph lacks rows, or a filter leaves too few of what it finds."""
        share = 1.0 if allowed is None else np.count_nonzero(allowed) / len(self)
        wanted = min(limit, round(share * len(self)))
        if self._graph_rows() < len(self) or share < _SELECTIVE or not wanted:
            return None
        fetched = min(len(self), int(2 * limit / share) if share < 1.0 else limit)
        self._graph.set_ef(max(_SEARCH_BREADTH, 2 * fetched))
        try:
            labels, _ = self._graph.knn_query(query[None, :], k=fetched, num_threads=1)
        except RuntimeError:  # the graph's reachable part holds fewer rows than were asked
            return None
        rows = labels[0].astype(np.int64)
        rows = rows if allowed is None else rows[allowed[rows]]
        return best_first(rows, self.matrix[rows] @ query, limit) if len(rows) >= wanted else None


def text_key(text: str) -> bytes:
    """The 16 bytes under which a text's vector is kept: its BLAKE2b hash.

    >>> text_key("cache stampede").hex()[:8]
    'add4e93d'
    """
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=KEY_BYTES).digest()


class VectorCache:
    """Vectors of one embedder on disk, by text hash; processes may read and add at once.

    One file of records `key (16 bytes), float32 x dimensions, CRC-32`, appended to under a lock and synchronised. A
    record cut short by a killed process is dropped by the next `add`; one that is damaged counts as missing; of two
    with one key the newer counts. Adding needs `fcntl` (Linux, macOS).
    """

    def __init__(self, folder: Path | str, embedder_id: str, dimensions: int) -> None:
        if dimensions < 1 or not embedder_id:
            raise InvalidInput(
                f"got the embedder id {embedder_id!r} and {dimensions} dimensions; allowed are an id, 1+"
            )
        slug = re.sub(r"[^a-z0-9]+", "-", embedder_id.lower())[:40].strip("-")
        digest = hashlib.blake2b(embedder_id.encode(errors="surrogatepass"), digest_size=8).hexdigest()
        self.path = Path(folder) / f"{slug}-{digest}-{dimensions}.vectors"
        self.dimensions = dimensions
        self._record = record_type(dimensions)
        self._forget()

    def __len__(self) -> int:
        """Records in the file, damaged ones included."""
        self._refresh()
        return len(self._records)

    def get(self, keys: Keys) -> tuple[Mask, Matrix]:
        """Which of the keys are held, (n,), and their vectors, (n, dimensions), zeros where not held."""
        numbers = self.find(keys)
        found = np.zeros(len(numbers), dtype=np.bool_)
        matrix = np.zeros((len(numbers), self.dimensions), dtype=np.float32)
        likely = np.flatnonzero(numbers >= 0)
        # In blocks, so that no second matrix is filled on the way.
        for rows in np.array_split(likely, len(likely) // _BLOCK_RECORDS + 1):
            intact = rows[self._intact(numbers[rows])]
            found[intact] = True
            matrix[intact] = self._records["vector"][numbers[intact]]
        return found, matrix

    def find(self, keys: Keys) -> npt.NDArray[np.int64]:
        """The number of each key's record, -1 where there is none; whether a record is damaged shows when it is read."""
        self._refresh()
        wanted = _key_pairs(keys)
        if not len(self._records):
            return np.full(len(wanted), -1, dtype=np.int64)
        # In rising order the search runs through the sorted keys once, instead of jumping about in them.
        order = np.argsort(wanted[:, 0])
        places = np.empty(len(wanted), np.int64)
        places[order] = np.searchsorted(self._sorted_keys, wanted[order, 0], side="right") - 1
        numbers = self._numbers[np.maximum(places, 0)]
        held = self._keys[numbers]
        return np.where((held[:, 0] == wanted[:, 0]) & (held[:, 1] == wanted[:, 1]), numbers, -1)

    def nearest(
        self, numbers: npt.NDArray[np.int64], query: Matrix, allowed: Mask, limit: int
    ) -> tuple[Ids, Scores] | None:
        """As `exact_search` over these records, read where they lie in the file, without taking them into memory.

        Only what is returned is checked for damage: None where some of it, or any score, is not sound.
        """
        with np.errstate(all="ignore"):
            scores = (self._records["vector"] @ query)[numbers]
        rows = np.flatnonzero(allowed)
        if not np.isfinite(scores).all():
            return None
        best = best_first(rows, scores[rows], limit)
        return best if self._intact(numbers[best[0]]).all() else None

    @property
    def file_number(self) -> int:
        """Which file the numbers of records belong to; 0 where there is none."""
        return self._file_number

    def add(self, keys: Keys, matrix: Matrix, *, wanted: Callable[[], Mask] | None = None) -> None:
        """Append those that are not held yet; durable when this returns.

        `wanted` is asked which of the keys are wanted still, (keys,), while no other process adds or sweeps. Raises
        InvalidInput for keys not of 16 bytes or a matrix that is not finite and of shape (keys, dimensions), StorageError
        where the file cannot be written.
        """
        if matrix.shape != (len(keys), self.dimensions) or not np.isfinite(matrix).all():
            raise InvalidInput(f"got vectors {matrix.shape}; allowed is ({len(keys)}, {self.dimensions}), finite")
        pairs = _key_pairs(keys)
        with locked(self.path):
            missing = ~self.get(keys)[0]
            if wanted is not None:
                missing &= wanted()
            records = np.zeros(np.count_nonzero(missing), dtype=self._record)
            records["key"], records["vector"] = pairs[missing], matrix[missing]
            records["crc"] = _checksums(records, np.arange(len(records)))
            _append(self.path, records)

    def _forget(self) -> None:
        self._file_number = 0
        self._records = np.zeros(0, dtype=self._record)
        self._keys = np.zeros((0, 2), dtype=np.uint64)  # copied from the records, which lie far apart
        self._sorted_keys = np.zeros(0, dtype=np.uint64)
        self._numbers = np.zeros(0, dtype=np.int64)

    def _refresh(self) -> None:
        """Map what other processes have appended, and sort its keys in; begin again where the file is another one."""
        try:
            status = self.path.stat()  # at every search: opening the file would take much longer
            if (status.st_ino, status.st_size // self._record.itemsize) == (self._file_number, len(self._records)):
                return
            file = self.path.open("rb")
        except FileNotFoundError:
            self._forget()
            return
        except OSError as error:
            raise StorageError(f"cannot read {self.path}: {error.strerror}; check its permissions") from error
        with file:
            status = os.fstat(file.fileno())
            count = status.st_size // self._record.itemsize
            if status.st_ino != self._file_number or count < len(self._records):
                self._forget()
            known = len(self._records)
            if count > known:
                self._records = _mapped(file, self._record, count)
                self._keys = np.concatenate([self._keys, self._records["key"][known:]])
                self._sort_in(np.ascontiguousarray(self._keys[known:, 0]), known)
            # The map keeps the file's number from being given to another file.
            self._file_number = status.st_ino

    def _sort_in(self, keys: npt.NDArray[np.uint64], first_number: int) -> None:
        order = np.argsort(keys, kind="stable")
        if not first_number:
            self._sorted_keys, self._numbers = keys[order], order
            return
        places = np.searchsorted(self._sorted_keys, keys[order], side="right")
        self._sorted_keys = np.insert(self._sorted_keys, places, keys[order])
        self._numbers = np.insert(self._numbers, places, order + first_number)

    def _intact(self, numbers: npt.NDArray[np.int64]) -> Mask:
        return np.asarray(self._records["crc"][numbers] == _checksums(self._records, numbers))


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep other processes from writing to a cache's file."""
    try:
        import fcntl  # noqa: F401
    except ImportError as error:
        raise StorageError("vectors cannot be kept on this system, which has no fcntl; use Linux or macOS") from error
    try:
        # A file of its own, which stays when the cache's is replaced, so that all processes lock the same one.
        with exclusive(path.with_suffix(".lock"), wait=True):
            yield
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror}; check space and permissions") from error


def record_type(dimensions: int) -> np.dtype[Any]:
    """A record of a cache's file."""
    return np.dtype([("key", "<u8", (2,)), ("vector", "<f4", (dimensions,)), ("crc", "<u4")])


def _mapped(file: BinaryIO, record: np.dtype[Any], count: int) -> npt.NDArray[Any]:
    """The first `count` records of the file, read-only; all of them are about to be read, so their pages come at once."""
    size = count * record.itemsize
    if hasattr(mmap, "MAP_POPULATE"):
        held = mmap.mmap(file.fileno(), size, mmap.MAP_SHARED | mmap.MAP_POPULATE, mmap.PROT_READ)
    else:
        held = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
    return np.frombuffer(held, dtype=record, count=count)


def _append(path: Path, records: npt.NDArray[Any]) -> None:
    """Write whole records after the last whole one; what a failed write left is taken back."""
    with open(path, "ab", buffering=0, opener=open_private) as file:
        end = file.tell() // records.itemsize * records.itemsize
        file.truncate(end)
        try:
            write_vectors(file, records)
            os.fsync(file.fileno())
        except OSError:
            os.ftruncate(file.fileno(), end)
            raise


def write_vectors(file: FileIO, records: npt.NDArray[Any]) -> None:
    """Write records whole to an unbuffered file."""
    rest = memoryview(records.tobytes())
    while rest:
        rest = rest[file.write(rest) :]


def _checksums(records: npt.NDArray[Any], numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.uint32]:
    size = records.itemsize
    content = records.view(np.uint8).data
    sums = [zlib.crc32(content[start : start + size - 4]) for start in (numbers * size).tolist()]
    return np.array(sums, dtype=np.uint32)


def _key_pairs(keys: Keys) -> npt.NDArray[np.uint64]:
    if isinstance(keys, np.ndarray):
        return keys
    if any(len(key) != KEY_BYTES for key in keys):
        raise InvalidInput(f"got a key that is not of {KEY_BYTES} bytes; make keys with text_key()")
    return np.frombuffer(b"".join(keys), dtype="<u8").reshape(-1, 2)


def _check_query(query: Matrix, allowed: Mask | None, shape: tuple[int, ...]) -> None:
    if query.shape != shape[1:] or not np.isfinite(query).all():
        raise InvalidInput(f"got a query of the shape {query.shape}; allowed is {shape[1:]}, finite")
    check_mask(allowed, shape[0])
