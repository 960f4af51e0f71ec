"""Records of a file that others append to, without reading all of them into memory."""

import mmap
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

Records = npt.NDArray[Any]
Numbers = npt.NDArray[np.int64]

# What is in memory is copied whenever a record is added.
_MOST_IN_MEMORY = 256  # records
_NUMBER_BYTES = 4  # records are whole numbers of them


class RecordFile:
    """The records of a file: most of them are mapped, the newest are in memory.

    A new map has none of its pages at hand, and the first reading of each costs a page
    fault. So the file is mapped again only where many records have come.

    Args:
        record: The type of a record, of a multiple of 4 bytes.
    """

    def __init__(self, record: np.dtype[Any]) -> None:
        self._record = record
        self._mapped: Records = np.zeros(0, record)
        self._newest: Records = np.zeros(0, record)

    def __len__(self) -> int:
        return len(self._mapped) + len(self._newest)

    def take_in(
        self,
        file: BinaryIO,
        n_records: int,
    ) -> Records:
        """Follow a file that has so many records now; return the new ones.

        They are fewer than the file was said to have where it was cut meanwhile.

        Args:
            file: The file, open for reading in binary.
            n_records: How many whole records it has, more than there are here.
        """
        start = len(self)
        n_beyond_map = n_records - len(self._mapped)
        is_empty = start == 0
        if is_empty or n_beyond_map > _MOST_IN_MEMORY:
            self._mapped = _mapped(
                file,
                self._record,
                n_records,
            )
            self._newest = np.zeros(0, self._record)
            return self._mapped[start:]
        records = self._read(
            file,
            start,
            n_records,
        )
        newest = (self._newest, records)
        self._newest = np.concatenate(newest)
        return records

    def _read(
        self,
        file: BinaryIO,
        start: int,
        end: int,
    ) -> Records:
        """Return the records from a number to before another, as far as they are there."""
        size = self._record.itemsize
        n_bytes = (end - start) * size
        file.seek(start * size)
        content = file.read(n_bytes)
        n_read = len(content) // size
        return np.frombuffer(
            content,
            self._record,
            n_read,
        )

    def chosen(self, numbers: Numbers) -> Records:
        """Return copies of the records with these numbers, from 0, in their order."""
        n_mapped = len(self._mapped)
        is_newest = numbers >= n_mapped
        if not is_newest.any():
            return _taken(self._mapped, numbers)
        # The newest get the last mapped one at first.
        last_mapped = n_mapped - 1
        mapped_numbers = np.minimum(numbers, last_mapped)
        records = _taken(self._mapped, mapped_numbers)
        newest_numbers = numbers[is_newest] - n_mapped
        newest = _taken(self._newest, newest_numbers)
        rows = _rows_of(records)
        rows[is_newest] = _rows_of(newest)
        return records

    def between(self, start: int, end: int) -> Records:
        """Return the records from a number to before another; not to be changed."""
        n_mapped = len(self._mapped)
        if end <= n_mapped:
            return self._mapped[start:end]
        newest_start = max(start - n_mapped, 0)
        newest_end = end - n_mapped
        newest = self._newest[newest_start:newest_end]
        if start >= n_mapped:
            return newest
        mapped = self._mapped[start:]
        return np.concatenate((mapped, newest))


def _mapped(
    file: BinaryIO,
    record: np.dtype[Any],
    count: int,
) -> Records:
    """Return the first `count` records of a file, read-only."""
    size = count * record.itemsize
    number = file.fileno()
    mapped = mmap.mmap(
        number,
        size,
        access=mmap.ACCESS_READ,
    )
    return np.frombuffer(
        mapped,
        record,
        count,
    )


def _taken(records: Records, numbers: Numbers) -> Records:
    """Return copies of the records with these numbers."""
    rows = _rows_of(records)
    taken = np.take(rows, numbers, axis=0)
    taken_records = taken.view(records.dtype)
    return taken_records.reshape(-1)


def _rows_of(records: Records) -> npt.NDArray[np.float32]:
    """Return records as rows of numbers, which are theirs.

    numpy copies records field by field, four times as slowly.
    """
    record = records.dtype
    n_numbers = record.itemsize // _NUMBER_BYTES
    flat = records.view(np.float32)
    return flat.reshape(-1, n_numbers)
