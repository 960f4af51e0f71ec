"""Vectors of texts on disk, by text hash, and which of them may be near to a query's.

Memory keeps the signs of each vector's numbers, one bit each: few bits differ
where two vectors are near (Charikar, "Similarity estimation techniques from rounding
algorithms", STOC 2002). The ones with most equal signs are compared in full. Of very
many vectors a graph of neighbours says which are near, see `search.graph`.
"""

import contextlib
import hashlib
import importlib.util
import math
import os
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from theorex_lab.core.errors import InvalidInput, StorageError
from theorex_lab.core.files import drafted, exclusive, open_private, told
from theorex_lab.core.progress import bar
from theorex_lab.search.fuse import Ids, Mask
from theorex_lab.search.graph import (
    NeighbourGraph,
    is_intact,
    known_records,
    remove_graph,
)
from theorex_lab.search.record_file import RecordFile, Records

Matrix = npt.NDArray[np.float32]
# Of 16 bytes each, or their two halves, (n, 2).
Keys = Sequence[bytes] | npt.NDArray[np.uint64]
KeyFilter = Callable[[npt.NDArray[np.uint64]], Mask]

KEY_BYTES = 16
_BLOCK_RECORDS = 256
# Of 100 sentence vectors nearest to a query among 5,882, the 500 with most equal signs
# held .980, of 30 .999, and of 10 all.
_COMPARED = 5  # vectors in full for each that is wanted
# Vectors in full at least: of the ten nearest of 100,000 sentences they held .998, where
# 100 held .94.
_COMPARED_ALWAYS = 500
_SIGNED_FROM = 128  # dimensions; the signs of fewer say too little
_SIGNS_A_NUMBER = 64
_CRC_BYTES = 4
_RECORDS_AT_ONCE = 4_096
# With fewer, signs are as fast and need no graph. See ADR 040.
GRAPH_FROM = 100_000  # records
# Searches of a process by signs before it reads the graph, which takes it half a second
# for 100,000 vectors, and as much memory as they take.
_GRAPH_AFTER = 20
_MOST_BEHIND = 512  # records that a graph misses, which are compared one by one
_GRAPH_SHARE = (
    0.5  # of all records; of fewer, most that a graph finds are not asked for
)
_SPARE = 1.2  # of records that are asked for, where not all are allowed
_GRAPH_AT_ONCE = 1_024  # records that are added to it


def text_key(text: str) -> bytes:
    """Return the 16 bytes under which a text's vector is kept: its BLAKE2b hash.

    >>> text_key("cache stampede").hex()[:8]
    'add4e93d'
    """
    content = text.encode(errors="surrogatepass")
    return hashlib.blake2b(content, digest_size=KEY_BYTES).digest()


class VectorCache:
    """Vectors of one embedder on disk, by text hash.

    Processes may read and add at once. One file of records `key (16 bytes), float32 x
    dimensions, CRC-32`, appended to under a lock and synchronised. A record cut short
    by a killed process is dropped by the next `add`; one that is damaged counts as
    missing; of two with one key the newer counts. Adding needs `fcntl` (Linux, macOS).
    """

    def __init__(self, folder: Path | str, embedder_id: str, dimensions: int) -> None:
        if dimensions < 1 or not embedder_id:
            got = f"the embedder id {embedder_id!r} and {dimensions} dimensions"
            raise InvalidInput(f"got {got}; allowed are an id, 1+")
        name = f"{_file_id(embedder_id)}-{dimensions}.vectors"
        self.path = Path(folder) / name
        self.graph_path = _graph_path(self.path)
        self.dimensions = dimensions
        self._file_number = 0
        self.generation = 0  # numbers of records hold while it is the same
        self._record = record_type(dimensions)
        self._graph: NeighbourGraph | None = None
        self._is_graph_missing = False
        self._n_searches = 0  # that the graph could have served
        self._forget()

    def __len__(self) -> int:
        """Return how many records the file had when it was last looked into.

        Damaged ones are among them.
        """
        return len(self._keys)

    def get(self, keys: Keys) -> tuple[Mask, Matrix]:
        """Return which of the keys the file holds as it is now, and their vectors.

        Returns:
            A mask, (n,), and the vectors, (n, dimensions), zeros where not held.
        """
        self.refresh()
        return self.read(self.find(keys))

    def find(self, keys: Keys) -> Ids:
        """Return the number of each key's record, -1 where there is none.

        Most damaged records show when they are read. Numbers hold until `generation` is
        another one, which only `refresh`, `get` and `add` bring about.
        """
        wanted = _key_pairs(keys)
        if not len(self):
            return np.full(len(wanted), -1, dtype=np.int64)
        first_halves = wanted[:, 0]
        second_halves = wanted[:, 1]
        # In rising order the search runs through the sorted keys once, instead of
        # jumping about in them.
        order = np.argsort(first_halves)
        rising = first_halves[order]
        after = np.searchsorted(
            self._sorted_keys,
            rising,
            side="right",
        )
        positions = np.empty(len(wanted), np.int64)
        positions[order] = after - 1
        positions = np.maximum(positions, 0)
        numbers = self._numbers[positions]
        record_keys = self._keys[numbers]
        is_held = record_keys[:, 0] == first_halves
        is_held &= record_keys[:, 1] == second_halves
        is_held &= ~self._damaged[numbers]
        return np.where(is_held, numbers, -1)

    def read(self, numbers: Ids) -> tuple[Mask, Matrix]:
        """Return which of these numbers have a sound record, and their vectors.

        Returns:
            A mask, (n,), and the vectors, (n, dimensions), zeros without a record.
        """
        has_record = numbers >= 0
        record_numbers = numbers[has_record]
        records = self._records.chosen(record_numbers)
        self._check(record_numbers, records)
        is_sound = has_record.copy()
        is_sound[has_record] = ~self._damaged[record_numbers]
        if is_sound.all():
            return is_sound, records["vector"]
        shape = (len(numbers), self.dimensions)
        matrix = np.zeros(shape, dtype=np.float32)
        matrix[is_sound] = records["vector"][is_sound[has_record]]
        return is_sound, matrix

    def has_damaged(self) -> bool:
        """Return whether a record of the file is damaged; each is looked at once."""
        if not self._checked.all():
            numbers = np.arange(len(self))
            self.sound(numbers)
        is_any_damaged = self._damaged.any()
        return bool(is_any_damaged)

    def sound(self, numbers: Ids) -> Mask:
        """Return which of these records are not damaged.

        Each is looked at once, without reading all into memory.
        """
        unchecked = numbers[~self._checked[numbers]]
        for start in range(0, len(unchecked), _RECORDS_AT_ONCE):
            part = unchecked[start : start + _RECORDS_AT_ONCE]
            self._check(part, self._records.chosen(part))
        return ~self._damaged[numbers]

    def likely(self, numbers: Ids, query: Matrix, limit: int) -> Ids:
        """Return which of these records are to be compared with a query in full.

        Args:
            numbers: The numbers of the records, the newest last.
            query: The vector of the query.
            limit: How many of the nearest are wanted.

        Returns:
            The positions of the records in `numbers`.
        """
        n_compared = max(_COMPARED * limit, _COMPARED_ALWAYS)
        if len(numbers) <= n_compared or self.dimensions < _SIGNED_FROM:
            return np.arange(len(numbers))
        near = self._near_in_graph(numbers, query, limit)
        if len(near) >= limit:
            return near
        return self._near_by_signs(numbers, query, n_compared)

    def _near_in_graph(self, numbers: Ids, query: Matrix, limit: int) -> Ids:
        """Return as `likely` which records the graph names, and those it misses yet.

        They are none where no graph serves.
        """
        share = len(numbers) / len(self)
        if len(self) < GRAPH_FROM or share < _GRAPH_SHARE:
            return np.zeros(0, np.int64)
        self._n_searches += 1
        if self._n_searches <= _GRAPH_AFTER:
            return np.zeros(0, np.int64)
        graph = self._current_graph()
        if graph is None:
            return np.zeros(0, np.int64)
        n_wanted = math.ceil(
            limit * _SPARE / min(share, 1.0),
        )
        named = graph.nearest(query, n_wanted)
        is_near = np.zeros(len(self), np.bool_)
        is_near[named[named < len(self)]] = True
        is_near[graph.n_records :] = True
        return np.flatnonzero(is_near[numbers])

    def _current_graph(self) -> NeighbourGraph | None:
        """Return the graph of this file, read from disk where it is not yet.

        None where there is none, or one that misses many records.
        """
        if self._graph is None and not self._is_graph_missing:
            n_known = known_records(
                self.graph_path,
                self._keys,
            )
            if self._is_near_enough(n_known):
                self._graph = NeighbourGraph.load(
                    self.graph_path,
                    self.dimensions,
                    self._keys,
                    capacity=n_known,
                )
            self._is_graph_missing = self._graph is None
        return self._graph

    def _is_near_enough(self, n_known: int) -> bool:
        """Return whether a graph of so many records misses few of this file's."""
        return n_known > 0 and len(self) - n_known <= _MOST_BEHIND

    def update_graph(self) -> int:
        """Bring the graph up to date where one serves; return how many were added.

        Nothing is done while it misses few records. It takes about half a millisecond
        for each that is added.

        Raises:
            StorageError: The graph cannot be written.
        """
        self.refresh()
        n_records = len(self)
        if n_records < GRAPH_FROM or self.dimensions < _SIGNED_FROM:
            return 0
        n_known = known_records(
            self.graph_path,
            self._keys,
        )
        if self._is_near_enough(n_known) and is_intact(self.graph_path):
            return 0
        generation = self.generation
        graph = NeighbourGraph.load(
            self.graph_path,
            self.dimensions,
            self._keys,
            capacity=n_records,
        )
        if graph is None:
            graph = NeighbourGraph(
                self.dimensions,
                capacity=n_records,
            )
        n_added = self._add_to_graph(graph, n_records)
        with locked(self.path):
            # A vector that was removed meanwhile must not come back in the graph.
            self.refresh()
            if self.generation != generation:
                return 0
            graph.save(self.graph_path, self._keys)
        self._graph = graph
        return n_added

    def _add_to_graph(self, graph: NeighbourGraph, n_records: int) -> int:
        """Add the records that a graph misses; return how many those were."""
        new = np.arange(graph.n_records, n_records)
        progress_bar = bar(
            len(new),
            unit="vectors",
            what="graph of neighbours",
            progress=None,
        )
        with closing(progress_bar):
            for start in range(0, len(new), _GRAPH_AT_ONCE):
                part = new[start : start + _GRAPH_AT_ONCE]
                is_sound, vectors = self.read(part)
                end = int(part[-1]) + 1
                graph.add(part[is_sound], vectors[is_sound], n_records=end)
                progress_bar.update(len(part))
        return len(new)

    def _near_by_signs(self, numbers: Ids, query: Matrix, n_compared: int) -> Ids:
        """Return as `likely` so many records with most signs equal to the query's."""
        differ = np.zeros(len(self), np.uint16)
        all_query_signs = _signs(query[None])
        for signs, query_signs in zip(self._all_signs(), all_query_signs, strict=True):
            differ += np.bitwise_count(signs ^ query_signs)
        differ = differ[numbers]
        n_with_at_most = np.cumsum(np.bincount(differ))
        most = int(np.searchsorted(n_with_at_most, n_compared))
        nearer = np.flatnonzero(differ < most)
        equal = np.flatnonzero(differ == most)
        n_equal = n_compared - len(nearer)
        newest_equal = equal[-n_equal:]
        return np.concatenate((nearer, newest_equal))

    def add(
        self,
        keys: Keys,
        matrix: Matrix,
        *,
        wanted: Callable[[], Mask] | None = None,
    ) -> None:
        """Append those that are not held yet; durable when this returns.

        Args:
            keys: The keys, of 16 bytes each.
            matrix: Their vectors, finite, (keys, dimensions).
            wanted: It is asked which of the keys are wanted still, (keys,), while no
                other process adds or sweeps.

        Raises:
            InvalidInput: The keys or the matrix are of another form.
            StorageError: The file cannot be written.
        """
        shape = (len(keys), self.dimensions)
        if matrix.shape != shape or not np.isfinite(matrix).all():
            raise InvalidInput(
                f"got vectors {matrix.shape}; allowed is {shape}, finite"
            )
        pairs = _key_pairs(keys)
        with locked(self.path):
            is_held, _ = self.get(keys)
            is_new = ~is_held
            if wanted is not None:
                is_new &= wanted()
            n_new = np.count_nonzero(is_new)
            records = np.zeros(n_new, dtype=self._record)
            records["key"] = pairs[is_new]
            records["vector"] = matrix[is_new]
            records["crc"] = _checksums(records, np.arange(n_new))
            _append(self.path, records)
        self.refresh()

    def refresh(self) -> None:
        """Map what other processes have appended, and sort the keys.

        Where the file is another one, it is read from its beginning.

        Raises:
            StorageError: The file cannot be read.
        """
        try:
            # At every search: opening the file would take much longer.
            if self._is_current(self.path.stat()):
                return
            file = self.path.open("rb")
        except FileNotFoundError:
            if self._file_number:
                self._forget()
            return
        except OSError as error:
            raise StorageError(
                f"cannot read {self.path}: {error.strerror}; check its permissions"
            ) from error
        with file:
            status = os.fstat(file.fileno())
            n_records = self._n_records(status)
            if status.st_ino != self._file_number or n_records < len(self):
                self._forget()
            if n_records > len(self):
                new_records = self._records.take_in(file, n_records)
                self._take_in(new_records)
            # A file of which some is mapped keeps its number, which no other file gets.
            self._file_number = status.st_ino

    def _n_records(self, status: os.stat_result) -> int:
        """Return how many whole records a file has."""
        return status.st_size // self._record.itemsize

    def _is_current(self, status: os.stat_result) -> bool:
        """Return whether the file is as it was when it was last looked into."""
        if status.st_ino != self._file_number:
            return False
        return self._n_records(status) == len(self)

    def _forget(self) -> None:
        """Begin with a file of which nothing was read."""
        self.generation += 1
        self._file_number = 0
        self._graph = None
        # As they lie in the file.
        self._records = RecordFile(self._record)
        # Copied from the records, which lie far apart.
        self._keys = np.zeros((0, 2), dtype=np.uint64)
        n_rows = -(-self.dimensions // _SIGNS_A_NUMBER)
        self._signs = np.zeros((n_rows, 0), dtype=np.uint64)
        self._checked = np.zeros(0, dtype=np.bool_)
        self._damaged = np.zeros(0, dtype=np.bool_)
        self._sorted_keys = np.zeros(0, dtype=np.uint64)
        self._numbers = np.zeros(0, dtype=np.int64)

    def _take_in(self, records: Records) -> None:
        """Note the keys of new records; a graph that misses many is looked for again."""
        self._is_graph_missing = False
        not_yet = np.zeros(len(records), dtype=np.bool_)
        self._checked = np.concatenate([self._checked, not_yet])
        self._damaged = np.concatenate([self._damaged, not_yet])
        keys = records["key"]
        self._sort_in(keys[:, 0])
        self._keys = np.concatenate([self._keys, keys])
        if self._graph is None:
            return
        n_known = self._graph.n_records
        if not self._is_near_enough(n_known):
            self._graph = None

    def _sort_in(self, first_halves: npt.NDArray[np.uint64]) -> None:
        """Put the first halves of new keys among the sorted ones; equal ones follow."""
        order = np.argsort(first_halves, kind="stable")
        rising = first_halves[order]
        numbers = len(self._numbers) + order
        where = np.searchsorted(
            self._sorted_keys,
            rising,
            side="right",
        )
        self._sorted_keys = np.insert(self._sorted_keys, where, rising)
        self._numbers = np.insert(self._numbers, where, numbers)

    def _all_signs(self) -> npt.NDArray[np.uint64]:
        """Return the signs of all records, (dimensions / 64, records).

        They are made where they are first asked for.
        """
        n_signed = self._signs.shape[1]
        if n_signed < len(self):
            blocks = [self._signs]
            for start in range(n_signed, len(self), _BLOCK_RECORDS):
                end = min(start + _BLOCK_RECORDS, len(self))
                block = self._records.between(start, end)
                blocks.append(_signs(block["vector"]))
            self._signs = np.concatenate(blocks, axis=1)
        return self._signs

    def _check(self, numbers: Ids, records: Records) -> None:
        """Look for damage in the records with these numbers; in each once."""
        positions = np.flatnonzero(~self._checked[numbers])
        if not len(positions):
            return
        new_numbers = numbers[positions]
        checksums = _checksums(records, positions)
        self._damaged[new_numbers] = records["crc"][positions] != checksums
        self._checked[new_numbers] = True


def _graph_path(path: Path) -> Path:
    """Return the file of the graph over a file of vectors."""
    return path.with_name(f"{path.name}.graph")


def _file_id(embedder_id: str) -> str:
    """Return what an embedder is called in the name of its file."""
    words = re.sub(r"[^a-z0-9]+", "-", embedder_id.lower())
    slug = words[:40].strip("-")
    content = embedder_id.encode(errors="surrogatepass")
    digest = hashlib.blake2b(content, digest_size=8)
    return f"{slug}-{digest.hexdigest()}"


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep other processes from writing to a cache's file.

    Raises:
        StorageError: The system has no `fcntl`, or the file cannot be locked.
    """
    if importlib.util.find_spec("fcntl") is None:
        raise StorageError(
            "vectors cannot be kept on this system, which has no fcntl; use Linux or macOS"
        )
    # A file of its own, which stays when the cache's is replaced, so that all processes
    # lock the same one.
    lock = path.with_suffix(".lock")
    with (
        told(f"cannot write {path}", "check space and permissions"),
        exclusive(lock, wait=True),
    ):
        yield


def record_type(dimensions: int) -> np.dtype[Any]:
    """Return the type of a record of a cache's file."""
    return np.dtype(
        [
            ("key", "<u8", (2,)),
            ("vector", "<f4", (dimensions,)),
            ("crc", "<u4"),
        ]
    )


def _signs(matrix: Matrix) -> npt.NDArray[np.uint64]:
    """Return the signs of the numbers, 64 in each: (dimensions / 64, vectors)."""
    with np.errstate(invalid="ignore"):  # damaged ones are seen when they are read
        is_positive = matrix > 0
    packed = np.packbits(is_positive, axis=1)
    n_missing = -packed.shape[1] % 8
    if n_missing:
        no_rows = (0, 0)
        packed = np.pad(packed, (no_rows, (0, n_missing)))
    return packed.view(np.uint64).T


def _append(path: Path, records: Records) -> None:
    """Write whole records after the last whole one.

    What a failed write left is taken back.
    """
    size = records.itemsize
    with open(path, "ab", buffering=0, opener=open_private) as file:
        n_whole = file.tell() // size
        end = n_whole * size
        file.truncate(end)
        try:
            write_vectors(file, records)
            os.fsync(file.fileno())
        except OSError:
            os.ftruncate(file.fileno(), end)
            raise


def write_vectors(file: FileIO, records: Records) -> None:
    """Write records whole to an unbuffered file."""
    rest = memoryview(records.tobytes())
    while rest:
        rest = rest[file.write(rest) :]


def _checksums(
    records: Records,
    numbers: npt.NDArray[np.int64],
) -> npt.NDArray[np.uint32]:
    """Return the checksums of the records with these numbers."""
    size = records.itemsize
    n_checked_bytes = size - _CRC_BYTES
    content = records.view(np.uint8).data
    checksums = []
    for start in (numbers * size).tolist():
        checked = content[start : start + n_checked_bytes]
        checksums.append(zlib.crc32(checked))
    return np.array(checksums, dtype=np.uint32)


def _key_pairs(keys: Keys) -> npt.NDArray[np.uint64]:
    """Return the two halves of each key, (keys, 2).

    Raises:
        InvalidInput: A key is not of 16 bytes.
    """
    if isinstance(keys, np.ndarray):
        return keys
    if any(len(key) != KEY_BYTES for key in keys):
        raise InvalidInput(
            f"got a key that is not of {KEY_BYTES} bytes; make keys with text_key()"
        )
    halves = np.frombuffer(b"".join(keys), dtype="<u8")
    return halves.reshape(-1, 2)


def sweep_vectors(folder: Path, wanted: KeyFilter) -> int:
    """Remove from every cache in the folder the vectors whose keys are not wanted.

    A file is rewritten, and those who read it follow. What a killed process left goes
    too.

    Args:
        folder: The folder of the caches.
        wanted: Returns which keys are wanted, of two halves each, (n, 2); it is called
            while no other process adds.

    Returns:
        How many vectors were removed.

    Raises:
        StorageError: A file cannot be written.
    """
    n_dropped = 0
    for path in _cache_files(folder):
        with locked(path):
            for draft in folder.glob(f".{path.name}.*"):
                draft.unlink()
            if path.exists():
                n_dropped += _sweep_file(path, wanted)
            else:
                remove_graph(_graph_path(path))
    return n_dropped


def _cache_files(folder: Path) -> list[Path]:
    """Return the files of vectors in a folder, and those that may be about to come.

    A lock stands before its file: whoever holds it now may be about to write the first
    vectors.
    """
    files = set(folder.glob("*.vectors"))
    for lock in folder.glob("*.lock"):
        files.add(lock.with_suffix(".vectors"))
    return sorted(files)


def _sweep_file(path: Path, wanted: KeyFilter) -> int:
    """Remove what is not wanted from a file; return how many vectors those were."""
    record = record_type(_dimensions(path))
    key_parts = [np.zeros((0, 2), np.uint64)]
    for part in _parts(path, record):
        key_parts.append(part["key"])
    keys = np.concatenate(key_parts)
    is_wanted = wanted(keys)
    whole_size = len(keys) * record.itemsize
    graph_path = _graph_path(path)
    # First the graph, which holds vectors too: a sweep that is killed here is repeated.
    if not is_wanted.all() or not known_records(graph_path, keys):
        remove_graph(graph_path)
    if is_wanted.all() and path.stat().st_size == whole_size:
        return 0
    with (
        drafted(path) as draft,
        open(draft, "xb", buffering=0, opener=open_private) as file,
    ):
        start = 0
        for part in _parts(path, record):
            end = start + len(part)
            is_wanted_here = is_wanted[start:end]
            write_vectors(file, part[is_wanted_here])
            start = end
        os.fsync(file.fileno())
    n_wanted = int(np.count_nonzero(is_wanted))
    return len(is_wanted) - n_wanted


def _parts(path: Path, record: np.dtype[Any]) -> Iterator[Records]:
    """Yield the whole records of a file in parts.

    So it is never in memory as a whole.
    """
    part_size = _RECORDS_AT_ONCE * record.itemsize
    with path.open("rb") as file:
        while content := file.read(part_size):
            n_records = len(content) // record.itemsize
            yield np.frombuffer(content, record, n_records)


def _dimensions(path: Path) -> int:
    """Return how many dimensions the vectors in a cache's file have, by its name.

    Raises:
        StorageError: The file has a name that does not end with the dimensions.
    """
    number = path.stem.rpartition("-")[2]
    if not number.isdecimal() or not int(number):
        raise StorageError(
            f"{path} is not named as a file of vectors is; remove it by hand, and repeat"
        )
    return int(number)
