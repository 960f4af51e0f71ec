"""Columns that grow: numpy arrays with spare room, and text as one blob with offsets."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

Columns = dict[str, NDArray[Any]]


class Table:
    """Named columns of equal length; a new row is zeros until it is filled in.

    >>> table = Table(count="i8", weights=("f8", 2))
    >>> row = table.grow(1)
    >>> table["count"][row] = 7
    >>> len(table), table["weights"].shape
    (1, (1, 2))
    """

    def __init__(self, **types: DTypeLike | tuple[str, int]) -> None:
        self._length = 0
        self._arrays: Columns = {
            name: np.zeros(0, kind) for name, kind in types.items()
        }

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._arrays[name][: self._length]

    def grow(self, rows: int) -> slice:
        """Append rows of zeros and return where they are.

        The room doubles where it is spent, so that a row costs O(1).
        """
        start = self._length
        self._length = self._length + rows
        for name, array in self._arrays.items():
            if self._length > len(array):
                room = np.zeros(
                    (max(self._length, 2 * len(array), 16), *array.shape[1:]),
                    array.dtype,
                )
                room[:start] = array[:start]
                self._arrays[name] = room
        return slice(start, self._length)

    def extend(self, names: Sequence[str], rows: Sequence[Sequence[int]]) -> slice:
        """Append rows that hold a whole number for each of these columns.

        Returns:
            Where the rows are.

        >>> Table(seq="i8", at="i8").extend(("at", "seq"), [(5, 1), (7, 2)])
        slice(0, 2, None)
        """
        where = self.grow(len(rows))
        for name, column in zip(
            names, np.array(rows, np.int64).reshape(-1, len(names)).T, strict=True
        ):
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
        kept = np.flatnonzero(mask)
        self._arrays = {
            name: array[: self._length][kept] for name, array in self._arrays.items()
        }
        self._length = len(kept)

    def columns(self, prefix: str) -> Columns:
        """The columns, named `prefix.name`."""
        return {f"{prefix}.{name}": self[name] for name in self._arrays}

    def load(self, prefix: str, columns: Columns) -> None:
        """Take over columns written by `columns`; they may be maps of files."""
        self._arrays = {name: columns[f"{prefix}.{name}"] for name in self._arrays}
        self._length = len(next(iter(self._arrays.values())))


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
        self._new: list[str] = list(texts)

    def __len__(self) -> int:
        return len(self._offsets) - 1 + len(self._new)

    def __getitem__(self, index: int) -> str:
        stored = len(self._offsets) - 1
        if index >= stored:
            return self._new[index - stored]
        return (
            self._blob[self._offsets[index] : self._offsets[index + 1]]
            .tobytes()
            .decode()
        )

    def __iter__(self) -> Iterator[str]:
        return (self[index] for index in range(len(self)))

    def append(self, text: str) -> None:
        """Append one text."""
        self._new.append(text)

    def columns(self, prefix: str) -> Columns:
        """Return the blob of the texts (uint8) and its offsets (int64).

        They are named `prefix.blob` and `prefix.offsets`.
        """
        encoded = [text.encode() for text in self._new]
        ends = self._offsets[-1] + np.cumsum(
            [len(text) for text in encoded], dtype=np.int64
        )
        blob = np.concatenate([self._blob, np.frombuffer(b"".join(encoded), np.uint8)])
        return {
            f"{prefix}.blob": blob,
            f"{prefix}.offsets": np.concatenate([self._offsets, ends]),
        }

    def load(self, prefix: str, columns: Columns) -> None:
        """Take over columns written by `columns`; they may be maps of files."""
        self._blob = columns[f"{prefix}.blob"]
        self._offsets = columns[f"{prefix}.offsets"]
        self._new = []


class Names(Strings):
    """A list of distinct texts with their numbers: agents, types, tags.

    >>> names = Names()
    >>> names.number("main"), names.number("sage"), names.number("main"), names[1]
    (0, 1, 0, 'sage')
    """

    def __init__(self) -> None:
        super().__init__()
        self._numbers: dict[str, int] = {}

    def number(self, name: str) -> int:
        """The number of `name`, given out on first sight."""
        if (known := self._numbers.get(name)) is None:
            known = self._numbers[name] = len(self)
            self.append(name)
        return known

    def find(self, name: str) -> int | None:
        """The number of `name`, or None where it was never seen."""
        return self._numbers.get(name)

    def numbers(self, *names: str) -> list[int]:
        """The numbers of those of these names that were seen."""
        return [self._numbers[name] for name in names if name in self._numbers]

    def load(self, prefix: str, columns: Columns) -> None:
        """Take over columns written by `columns`; they may be maps of files."""
        super().load(prefix, columns)
        self._numbers = {name: number for number, name in enumerate(self)}


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
        """Everything that it knows, as arrays."""
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
