"""Vectors of texts on disk, by text hash, and which of them may be near to a query's.

Of each vector the signs of its numbers are kept in memory, a bit each: few bits differ
where two vectors are near (Charikar, "Similarity estimation techniques from rounding
algorithms", STOC 2002). The ones with most equal signs are compared in full.
"""

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

from theorex_lab.core.errors import InvalidInput, StorageError
from theorex_lab.core.files import drafted, exclusive, open_private, told
from theorex_lab.search.fuse import Ids, Mask

Matrix = npt.NDArray[np.float32]
Keys = (
    Sequence[bytes] | npt.NDArray[np.uint64]
)  # of 16 bytes each, or their two halves, (n, 2)
_Records = npt.NDArray[Any]

KEY_BYTES = 16
_BLOCK_RECORDS = 256
# Of 100 sentence vectors nearest to a query among 5,882, the 500 with most equal signs
# held .980, of 30 .999, and of 10 all.
_COMPARED, _COMPARED_ALWAYS = (
    5,
    100,
)  # vectors in full for each that is wanted, and at least
_SIGNED_FROM = 128  # dimensions; the signs of fewer say too little


def text_key(text: str) -> bytes:
    """The 16 bytes under which a text's vector is kept: its BLAKE2b hash.

    >>> text_key("cache stampede").hex()[:8]
    'add4e93d'
    """
    return hashlib.blake2b(
        text.encode(errors="surrogatepass"), digest_size=KEY_BYTES
    ).digest()


class VectorCache:
    """Vectors of one embedder on disk, by text hash; processes may read and add at
    once.

    One file of records `key (16 bytes), float32 x dimensions, CRC-32`, appended to
    under a lock and synchronised. A record cut short by a killed process is dropped by
    the next `add`; one that is damaged counts as missing; of two with one key the newer
    counts. Adding needs `fcntl` (Linux, macOS).
    """

    def __init__(self, folder: Path | str, embedder_id: str, dimensions: int) -> None:
        if dimensions < 1 or not embedder_id:
            got = f"the embedder id {embedder_id!r} and {dimensions} dimensions"
            raise InvalidInput(f"got {got}; allowed are an id, 1+")
        slug = re.sub(r"[^a-z0-9]+", "-", embedder_id.lower())[:40].strip("-")
        digest = hashlib.blake2b(
            embedder_id.encode(errors="surrogatepass"), digest_size=8
        ).hexdigest()
        self.path = Path(folder) / f"{slug}-{digest}-{dimensions}.vectors"
        self.dimensions = dimensions
        self._file_number = 0
        self.generation = 0  # numbers of records hold while it is the same
        self._record = record_type(dimensions)
        self._forget()

    def __len__(self) -> int:
        """Records in the file when it was last looked into, damaged ones included."""
        return len(self._keys)

    def get(self, keys: Keys) -> tuple[Mask, Matrix]:
        """Which of the keys are held in the file as it is now, (n,), and their vectors,
        (n, dimensions), zeros where not held.
        """
        self.refresh()
        return self.read(self.find(keys))

    def find(self, keys: Keys) -> Ids:
        """The number of each key's record, -1 where there is none; most damaged ones
        show when they are read.

        Numbers hold until `generation` is another one, which only `refresh`, `get` and
        `add` bring about.
        """
        wanted = _key_pairs(keys)
        if not len(self):
            return np.full(len(wanted), -1, dtype=np.int64)
        # In rising order the search runs through the sorted keys once, instead of
        # jumping about in them.
        order = np.argsort(wanted[:, 0])
        after = np.searchsorted(self._sorted_keys, wanted[order, 0], side="right")
        positions = np.empty(len(wanted), np.int64)
        positions[order] = after - 1
        numbers = self._numbers[np.maximum(positions, 0)]
        keys = self._keys[numbers]
        same = (keys[:, 0] == wanted[:, 0]) & (keys[:, 1] == wanted[:, 1])
        return np.where(same & ~self._damaged[numbers], numbers, -1)

    def read(self, numbers: Ids) -> tuple[Mask, Matrix]:
        """Return which of these numbers have a sound record, (n,), and their vectors,
        (n, dimensions), zeros where not.
        """
        has_record = numbers >= 0
        record_numbers = numbers[has_record]
        records = self._mapped[record_numbers]
        self._check(records, record_numbers)
        is_sound = has_record.copy()
        is_sound[has_record] = ~self._damaged[record_numbers]
        if is_sound.all():
            return is_sound, records["vector"]
        matrix = np.zeros((len(numbers), self.dimensions), dtype=np.float32)
        matrix[is_sound] = records["vector"][is_sound[has_record]]
        return is_sound, matrix

    def sound(self, numbers: Ids) -> Mask:
        """Return which of these records are not damaged; each is looked at once,
        without reading all into memory.
        """
        new = numbers[~self._checked[numbers]]
        for part in np.array_split(new, len(new) // _BLOCK_RECORDS + 1):
            self._check(self._mapped[part], part)
        return ~self._damaged[numbers]

    def likely(self, numbers: Ids, query: Matrix, limit: int) -> Ids:
        """Which of these records, by their places in `numbers`, are to be compared with
        a query for the `limit` nearest.
        """
        wanted = max(_COMPARED * limit, _COMPARED_ALWAYS)
        if len(numbers) <= wanted or not len(self._signs):
            return np.arange(len(numbers))
        differ = np.zeros(len(self), np.uint16)
        for signs, query_signs in zip(self._signs, _signs(query[None]), strict=True):
            differ += np.bitwise_count(signs ^ query_signs)
        differ = differ[numbers]
        most = int(np.searchsorted(np.cumsum(np.bincount(differ)), wanted))
        nearer = np.flatnonzero(differ < most)
        equal = np.flatnonzero(differ == most)
        return np.concatenate(
            (nearer, equal[len(nearer) - wanted :])
        )  # of equal ones the newer

    def add(
        self, keys: Keys, matrix: Matrix, *, wanted: Callable[[], Mask] | None = None
    ) -> None:
        """Append those that are not held yet; durable when this returns.

        `wanted` is asked which of the keys are wanted still, (keys,), while no other
        process adds or sweeps. Raises InvalidInput for keys not of 16 bytes or a matrix
        that is not finite and of shape (keys, dimensions), StorageError where the file
        cannot be written.
        """
        if (
            matrix.shape != (len(keys), self.dimensions)
            or not np.isfinite(matrix).all()
        ):
            raise InvalidInput(
                f"got vectors {matrix.shape}; allowed is ({len(keys)}, {self.dimensions}), finite"
            )
        pairs = _key_pairs(keys)
        with locked(self.path):
            missing = ~self.get(keys)[0]
            if wanted is not None:
                missing &= wanted()
            records = np.zeros(np.count_nonzero(missing), dtype=self._record)
            records["key"], records["vector"] = pairs[missing], matrix[missing]
            records["crc"] = _checksums(records, np.arange(len(records)))
            _append(self.path, records)
        self.refresh()

    def refresh(self) -> None:
        """Map what other processes have appended, and sort the keys; begin again where
        the file is another one.
        """
        try:
            status = (
                self.path.stat()
            )  # at every search: opening the file would take much longer
            if (status.st_ino, status.st_size // self._record.itemsize) == (
                self._file_number,
                len(self),
            ):
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
            count = status.st_size // self._record.itemsize
            if status.st_ino != self._file_number or count < len(self):
                self._forget()
            if count > len(self):
                self._mapped = _mapped(file, self._record, count)
                self._take_in(self._mapped[len(self) :])
            # The map keeps the file's number from being given to another file.
            self._file_number = status.st_ino

    def _forget(self) -> None:
        self.generation += 1
        self._file_number = 0
        self._mapped = np.zeros(0, dtype=self._record)  # as they lie in the file
        self._keys = np.zeros(
            (0, 2), dtype=np.uint64
        )  # copied from the records, which lie far apart
        self._signs = np.zeros((-(-self.dimensions // 64), 0), dtype=np.uint64)
        if self.dimensions < _SIGNED_FROM:
            self._signs = self._signs[:0]
        self._checked, self._damaged = np.zeros((2, 0), dtype=np.bool_)
        self._sorted_keys = np.zeros(0, dtype=np.uint64)
        self._numbers = np.zeros(0, dtype=np.int64)

    def _take_in(self, records: _Records) -> None:
        unknown = np.zeros(len(records), dtype=np.bool_)
        self._keys = np.concatenate([self._keys, records["key"]])
        if len(self._signs):
            starts = range(0, len(records), _BLOCK_RECORDS)
            new = [
                _signs(records["vector"][start : start + _BLOCK_RECORDS])
                for start in starts
            ]
            self._signs = np.concatenate([self._signs, *new], axis=1)
        self._checked, self._damaged = (
            np.concatenate([old, unknown]) for old in (self._checked, self._damaged)
        )
        first_halves = np.ascontiguousarray(self._keys[:, 0])
        self._numbers = np.argsort(first_halves, kind="stable")
        self._sorted_keys = first_halves[self._numbers]

    def _check(self, records: _Records, numbers: Ids) -> None:
        """Look for damage in these records; in each once."""
        rows = np.flatnonzero(~self._checked[numbers])
        if len(rows):
            self._damaged[numbers[rows]] = records["crc"][rows] != _checksums(
                records, rows
            )
            self._checked[numbers[rows]] = True


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep other processes from writing to a cache's file."""
    if importlib.util.find_spec("fcntl") is None:
        raise StorageError(
            "vectors cannot be kept on this system, which has no fcntl; use Linux or macOS"
        )
    # A file of its own, which stays when the cache's is replaced, so that all processes
    # lock the same one.
    with (
        told(f"cannot write {path}", "check space and permissions"),
        exclusive(path.with_suffix(".lock"), wait=True),
    ):
        yield


def record_type(dimensions: int) -> np.dtype[Any]:
    """A record of a cache's file."""
    return np.dtype(
        [("key", "<u8", (2,)), ("vector", "<f4", (dimensions,)), ("crc", "<u4")]
    )


def _mapped(file: BinaryIO, record: np.dtype[Any], count: int) -> _Records:
    """The first `count` records of the file, read-only."""
    size = count * record.itemsize
    mapped = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
    return np.frombuffer(mapped, dtype=record, count=count)


def _signs(matrix: Matrix) -> npt.NDArray[np.uint64]:
    """The signs of the numbers, by 64 in a row: (dimensions / 64, vectors)."""
    with np.errstate(invalid="ignore"):  # damaged ones are seen when they are read
        bits = np.packbits(matrix > 0, axis=1)
    if missing := -bits.shape[1] % 8:
        bits = np.pad(bits, ((0, 0), (0, missing)))
    return bits.view(np.uint64).T


def _append(path: Path, records: _Records) -> None:
    """Write whole records after the last whole one; what a failed write left is taken
    back.
    """
    with open(path, "ab", buffering=0, opener=open_private) as file:
        end = file.tell() // records.itemsize * records.itemsize
        file.truncate(end)
        try:
            write_vectors(file, records)
            os.fsync(file.fileno())
        except OSError:
            os.ftruncate(file.fileno(), end)
            raise


def write_vectors(file: FileIO, records: _Records) -> None:
    """Write records whole to an unbuffered file."""
    rest = memoryview(records.tobytes())
    while rest:
        rest = rest[file.write(rest) :]


def _checksums(
    records: _Records, numbers: npt.NDArray[np.int64]
) -> npt.NDArray[np.uint32]:
    size = records.itemsize
    content = records.view(np.uint8).data
    sums = [
        zlib.crc32(content[start : start + size - 4])
        for start in (numbers * size).tolist()
    ]
    return np.array(sums, dtype=np.uint32)


def _key_pairs(keys: Keys) -> npt.NDArray[np.uint64]:
    if isinstance(keys, np.ndarray):
        return keys
    if any(len(key) != KEY_BYTES for key in keys):
        raise InvalidInput(
            f"got a key that is not of {KEY_BYTES} bytes; make keys with text_key()"
        )
    return np.frombuffer(b"".join(keys), dtype="<u8").reshape(-1, 2)


_RECORDS_AT_ONCE = 4_096


def sweep_vectors(
    folder: Path, wanted: Callable[[npt.NDArray[np.uint64]], Mask]
) -> int:
    """Remove from every cache in the folder the vectors whose keys are not wanted;
    returns how many those were.

    `wanted` tells it of keys, two halves each, (n, 2), while no other process adds. A
    file is rewritten, and those who read it follow. What a killed process left goes
    too. Raises StorageError where a file cannot be written.
    """
    dropped = 0
    # A lock stands before its file: whoever holds it now may be about to write the
    # first vectors.
    for path in sorted(
        {lock.with_suffix(".vectors") for lock in folder.glob("*.lock")}
        | {*folder.glob("*.vectors")}
    ):
        with locked(path):
            for draft in folder.glob(f".{path.name}.*"):
                draft.unlink()
            dropped += _sweep_file(path, wanted) if path.exists() else 0
    return dropped


def _sweep_file(path: Path, wanted: Callable[[npt.NDArray[np.uint64]], Mask]) -> int:
    record = record_type(_dimensions(path))
    keys = np.concatenate(
        [np.zeros((0, 2), np.uint64), *(part["key"] for part in _parts(path, record))]
    )
    is_wanted = wanted(keys)
    if is_wanted.all() and path.stat().st_size == len(keys) * record.itemsize:
        return 0
    with (
        drafted(path) as draft,
        open(draft, "xb", buffering=0, opener=open_private) as file,
    ):
        start = 0
        for part in _parts(path, record):
            write_vectors(file, part[is_wanted[start : start + len(part)]])
            start += len(part)
        os.fsync(file.fileno())
    return int(np.count_nonzero(~is_wanted))


def _parts(path: Path, record: np.dtype[Any]) -> Iterator[_Records]:
    """The whole records of a file in parts, so that it is never in memory as a whole."""
    with path.open("rb") as file:
        while content := file.read(_RECORDS_AT_ONCE * record.itemsize):
            yield np.frombuffer(content, record, len(content) // record.itemsize)


def _dimensions(path: Path) -> int:
    """Of the vectors in a cache's file, whose name ends with it.

    Raises StorageError for a file of another name.
    """
    number = path.stem.rpartition("-")[2]
    if not number.isdecimal() or not int(number):
        raise StorageError(
            f"{path} is not named as a file of vectors is; remove it by hand, and repeat"
        )
    return int(number)
