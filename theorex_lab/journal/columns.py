"""Columns that grow: numpy arrays with spare room.

Texts are one blob with offsets.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

Array = NDArray[Any]
Columns = dict[str, Array]
# A type of numpy, with the width of each row where a row holds several numbers.
ColumnType = DTypeLike | tuple[str, int]
_LEAST_ROOM = 16  # rows
# How many names are searched for after a load before all of them are numbered, and how
# often the bytes of one may stand in other names.
_MOST_SEARCHES = 16
_MOST_HITS = 16


class Table:
    """Named columns of equal length; a new row is zeros until it is filled in.

    >>> table = Table(count="i8", weights=("f8", 2))
    >>> row = table.grow(1)
    >>> table["count"][row] = 7
    >>> len(table), table["weights"].shape
    (1, (1, 2))
    """

    def __init__(self, **types: ColumnType) -> None:
        self._length = 0
        self._arrays: Columns = {}
        for name, column_type in types.items():
            self._arrays[name] = np.zeros(0, column_type)

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, name: str) -> Array:
        array = self._arrays[name]
        return array[: self._length]

    def grow(self, rows: int) -> slice:
        """Append rows of zeros and return where they are.

        The room doubles where it is spent, so that a row costs O(1).
        """
        start = self._length
        end = start + rows
        for name, array in self._arrays.items():
            if end <= len(array):
                continue
            twice = 2 * len(array)
            length = max(end, twice, _LEAST_ROOM)
            width = array.shape[1:]
            room = np.zeros((length, *width), array.dtype)
            room[:start] = array[:start]
            self._arrays[name] = room
        self._length = end
        return slice(start, end)

    def extend(self, names: Sequence[str], rows: Sequence[Sequence[int]]) -> slice:
        """Append rows that hold a whole number for each of these columns.

        Returns:
            Where the rows are.

        >>> Table(seq="i8", at="i8").extend(("at", "seq"), [(5, 1), (7, 2)])
        slice(0, 2, None)
        """
        where = self.grow(len(rows))
        values = np.array(rows, np.int64)
        table = values.reshape(-1, len(names))
        for name, column in zip(names, table.T, strict=True):
            self[name][where] = column
        return where

    def add(self, **values: object) -> int:
        """Append a row with these values, zeros in the other columns.

        The names of the columns are the table's own, so they are open here.

        Returns:
            The row's number.

        >>> Table(seq="i8", at="i8").add(at=5)
        0
        """
        row: int = self.grow(1).start
        self.put(row, **values)
        return row

    def put(self, rows: int | slice, **values: object) -> None:
        """Fill in columns of a row, or of several."""
        for name, value in values.items():
            self._arrays[name][rows] = value

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Drop the rows where the mask is False."""
        rows = np.flatnonzero(mask)
        arrays: Columns = {}
        for name in self._arrays:
            arrays[name] = self[name][rows]
        self._arrays = arrays
        self._length = len(rows)

    def columns(self, prefix: str) -> Columns:
        """Return the columns, named `prefix.name`."""
        columns: Columns = {}
        for name in self._arrays:
            full_name = f"{prefix}.{name}"
            columns[full_name] = self[name]
        return columns

    def load(self, prefix: str, columns: Columns) -> None:
        """Take over columns written by `columns`; they may be maps of files."""
        for name in self._arrays:
            column = columns[f"{prefix}.{name}"]
            self._arrays[name] = column
            self._length = len(column)


class Strings:
    """A growing list of texts.

    What came from a snapshot stays one blob until a text of it is asked for.

    >>> names = Strings()
    >>> names.append("cache stampede")
    >>> names[0], len(names)
    ('cache stampede', 1)
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._blob = np.zeros(0, np.uint8)
        self._offsets = np.zeros(1, np.int64)
        self._n_stored = 0  # texts in the blob
        self._new: list[str] = list(texts)

    def __len__(self) -> int:
        return self._n_stored + len(self._new)

    def __getitem__(self, index: int) -> str:
        n_stored = self._n_stored
        if index >= n_stored:
            return self._new[index - n_stored]
        start = self._offsets[index]
        end = self._offsets[index + 1]
        encoded = self._blob[start:end].tobytes()
        return encoded.decode()

    def __iter__(self) -> Iterator[str]:
        stored = self._blob.tobytes()
        for start, end in pairwise(self._offsets.tolist()):
            yield stored[start:end].decode()
        yield from self._new

    def append(self, text: str) -> None:
        """Append one text."""
        self._new.append(text)

    def columns(self, prefix: str) -> Columns:
        """Return the blob of the texts (uint8) and its offsets (int64).

        They are named `prefix.blob` and `prefix.offsets`.
        """
        encoded = [text.encode() for text in self._new]
        lengths = [len(text) for text in encoded]
        new_bytes = np.frombuffer(b"".join(encoded), np.uint8)
        new_ends = np.cumsum(lengths, dtype=np.int64)
        last_end = self._offsets[-1]
        blob = np.concatenate([self._blob, new_bytes])
        offsets = np.concatenate([self._offsets, last_end + new_ends])
        return {
            f"{prefix}.blob": blob,
            f"{prefix}.offsets": offsets,
        }

    def load(self, prefix: str, columns: Columns) -> None:
        """Take over columns written by `columns`; they may be maps of files."""
        self._blob = columns[f"{prefix}.blob"]
        self._offsets = columns[f"{prefix}.offsets"]
        self._n_stored = len(self._offsets) - 1
        self._new = []


class Names(Strings):
    """A list of distinct texts with their numbers: agents, types, tags.

    >>> names = Names()
    >>> names.number("main"), names.number("sage"), names.number("main"), names[1]
    (0, 1, 0, 'sage')
    """

    def __init__(self) -> None:
        super().__init__()
        # None after a load, until a number is asked for: many readers ask for none.
        self._by_name: dict[str, int] | None = {}
        self._n_searches = 0  # since a load

    @property
    def _numbers(self) -> dict[str, int]:
        """The number of each name."""
        if self._by_name is None:
            self._by_name = {name: number for number, name in enumerate(self)}
        return self._by_name

    def number(self, name: str) -> int:
        """Return the number of `name`, given out on first sight."""
        number = self.find(name)
        if number is None:
            number = len(self)
            if self._by_name is not None:
                self._by_name[name] = number
            self.append(name)
        return number

    def numbered(self, names: Iterable[str]) -> list[int]:
        """Return the number of each of these names, given out on first sight.

        >>> names = Names()
        >>> names.numbered(["main", "sage", "main"]), list(names)
        ([0, 1, 0], ['main', 'sage'])
        """
        if self._by_name is None:
            return [self.number(name) for name in names]
        number_of = self._by_name.get
        numbers: list[int] = []
        for name in names:
            number = number_of(name)
            if number is None:
                number = self.number(name)
            numbers.append(number)
        return numbers

    def find(self, name: str) -> int | None:
        """Return the number of `name`, or None where it was never seen."""
        if self._by_name is None and self._n_searches < _MOST_SEARCHES:
            self._n_searches += 1
            return self._search(name)
        return self._numbers.get(name)

    def numbers(self, *names: str) -> list[int]:
        """Return the numbers of those of these names that were seen."""
        numbers = []
        for name in names:
            number = self.find(name)
            if number is not None:
                numbers.append(number)
        return numbers

    def _search(self, name: str) -> int | None:
        """Return what `find` does, without numbering all names."""
        if name in self._new:
            position = self._new.index(name)
            return self._n_stored + position
        if not name:
            return self._empty_name()
        sought = name.encode("utf-8", "surrogatepass")
        stored = self._blob.tobytes()
        start = -1
        for _ in range(_MOST_HITS):
            start = stored.find(sought, start + 1)
            if start < 0:
                return None
            row = self._starting_at(start)
            if row is None:
                continue
            if self[row] == name:
                return row
        return self._numbers.get(name)

    def _empty_name(self) -> int | None:
        """Return the number of the stored name '', None where it was never seen."""
        lengths = np.diff(self._offsets)
        is_empty = lengths == 0
        if not is_empty.any():
            return None
        number = is_empty.argmax()
        return int(number)

    def _starting_at(self, start: int) -> int | None:
        """Return the row of the stored name that starts at a byte, None for none."""
        rows = np.searchsorted(self._offsets, start, side="right")
        row = int(rows) - 1
        if self._offsets[row] == start:
            return row
        return None

    def load(self, prefix: str, columns: Columns) -> None:
        """Take over columns written by `columns`; they may be maps of files."""
        super().load(prefix, columns)
        self._by_name = None
        self._n_searches = 0


class Parts:
    """What is made of tables, names, texts and other `Parts`.

    Its columns are theirs together, by the names of its attributes.

    A leading underscore is no part of a name. Columns of other `Parts` have no prefix.

    >>> class Seen(Parts):
    ...     def __init__(self) -> None:
    ...         self.agents, self._events = Names(), Table(seq="i8")
    >>> sorted(Seen().columns())
    ['agents.blob', 'agents.offsets', 'events.seq']
    """

    def columns(self) -> Columns:
        """Return everything that it knows, as arrays."""
        columns: Columns = {}
        for name, part in vars(self).items():
            if isinstance(part, Table | Strings):
                columns |= part.columns(name.lstrip("_"))
            elif isinstance(part, Parts):
                columns |= part.columns()
        return columns

    def load(self, columns: Columns) -> None:
        """Take over columns given by `columns`; they may be maps of files."""
        for name, part in vars(self).items():
            if isinstance(part, Table | Strings):
                part.load(name.lstrip("_"), columns)
            elif isinstance(part, Parts):
                part.load(columns)
        self._after_load()

    def _after_load(self) -> None:
        """Compute again what is kept beside the columns."""
