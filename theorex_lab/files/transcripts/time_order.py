"""The entries of a file in the order of their time.

Programs list what they recorded in many orders: as it ended, the latest first, by machine.
What a span was given is told when it began, and what came of it when it ended, so that
the order of a file does not matter.

The entries of a file are held, packed. Of a file that is too large for it, so many are
put in order at a time.
"""

from __future__ import annotations

import json
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from theorex_lab.core.errors import InvalidInput
from theorex_lab.files.transcripts.pieces import Piece, PieceForm, TraceEntry

MOST_PACKED_BYTES = 128 << 20
MOST_BYTES = 512 << 20
_PACKING_LEVEL = 1
_UNSTEADY_MICROSECONDS = 1_000_000
_MOST_UNPACKED = 16  # entries that have begun and are unpacked
_TOO_DEEP = "nested too deeply"
# Which of two at the same time comes first: what ends makes room for what begins.
_ENDS = 0
_BEGINS = 1


class HeldPieces(NamedTuple):
    """What an entry tells at one time.

    Attributes:
        number: The number of its line.
        pieces: What it tells, each with the bytes by which it is measured.
    """

    number: int | str
    pieces: Iterator[tuple[Piece, bytes]]


class _Moment(NamedTuple):
    """When an entry begins or ends.

    Attributes:
        at: When.
        phase: Whether it ends.
        shorter: Puts a longer one around a shorter one.
        tie: Its place in the file.
        is_end: Whether it ends. It ends after it began.
    """

    at: int
    phase: int
    shorter: int
    tie: int
    is_end: bool


class _PackedEntry(NamedTuple):
    """An entry that waits for its time.

    Attributes:
        packed: Its object.
        entry: The rest of it, without the object.
        content: Its line where bytes in it are no text, else none.
    """

    packed: bytes
    entry: TraceEntry
    content: bytes


class HeldEntries:
    """The entries of one file, until they are put in order.

    Args:
        form: Finds their pieces.
        most_bytes: How many bytes of them are held.
    """

    def __init__(self, form: PieceForm, most_bytes: int = MOST_BYTES) -> None:
        self._form = form
        self._most_bytes = most_bytes
        self._entries = list[_PackedEntry]()
        self._n_bytes = 0
        self._n_packed_bytes = 0
        self._unpacked: OrderedDict[int, tuple[TraceEntry, bytes]] = OrderedDict()
        self._measured = set[int]()

    @property
    def is_full(self) -> bool:
        """Return whether no more can be held."""
        is_packed_full = self._n_packed_bytes > MOST_PACKED_BYTES
        return is_packed_full or self._n_bytes > self._most_bytes

    def add(self, entry: TraceEntry, content: bytes = b"") -> None:
        """Hold an entry.

        Args:
            entry: The entry.
            content: Its line where bytes in it are no text.

        Raises:
            InvalidInput: It nests too deeply.
        """
        try:
            text = json.dumps(entry.row).encode()
        except RecursionError as error:
            raise InvalidInput(_TOO_DEEP) from error
        packed = zlib.compress(text, _PACKING_LEVEL)
        without_row = entry._replace(row={})
        self._entries.append(_PackedEntry(packed, without_row, content))
        self._n_bytes += len(text)
        self._n_packed_bytes += len(packed)

    def in_time_order(self) -> Iterator[HeldPieces]:
        """Yield what the entries tell, and hold them no longer.

        An entry without a time has that of the one before it in the file.
        """
        for moment in sorted(self._moments()):
            index = abs(moment.tie)
            number = self._entries[index].entry.number
            yield HeldPieces(number, self._pieces(index, moment.is_end))
        self._entries.clear()
        self._unpacked.clear()
        self._measured.clear()
        self._n_bytes = 0
        self._n_packed_bytes = 0

    def _moments(self) -> Iterator[_Moment]:
        """Yield when each entry begins and ends."""
        starts = self._starts()
        if not self._has_ends() and _is_in_order(starts):
            starts = [0] * len(starts)
        sign = -1 if _is_latest_first(starts) else 1
        for index, held in enumerate(self._entries):
            start = starts[index]
            end = max(held.entry.end or start, start)
            tie = sign * index
            begins = _Moment(
                start,
                _BEGINS,
                -end,
                tie,
                is_end=False,
            )
            yield begins
            if end > start:
                yield _Moment(
                    end,
                    _ENDS,
                    -start,
                    tie,
                    is_end=True,
                )
            else:
                yield begins._replace(is_end=True)

    def _has_ends(self) -> bool:
        return any(held.entry.end is not None for held in self._entries)

    def _starts(self) -> list[int]:
        """Return when each entry began; 0 before the first time that is stated."""
        starts = list[int]()
        start = 0
        for held in self._entries:
            stated = held.entry.start
            start = start if stated is None else stated
            starts.append(start)
        return starts

    def _pieces(self, index: int, is_end: bool) -> Iterator[tuple[Piece, bytes]]:
        """Yield what an entry tells when it begins or ends.

        The first piece is measured by the whole entry.
        """
        entry, content = self._entry(index)
        if is_end:
            self._unpacked.pop(index)
            pieces = self._form.ending(entry)
        else:
            pieces = self._form.beginning(entry)
        for piece in pieces:
            is_measured = index in self._measured
            self._measured.add(index)
            yield piece, b"" if is_measured else content

    def _entry(self, index: int) -> tuple[TraceEntry, bytes]:
        """Return an entry and its bytes."""
        if index not in self._unpacked:
            held = self._entries[index]
            text = zlib.decompress(held.packed)
            entry = held.entry._replace(row=json.loads(text))
            self._unpacked[index] = (entry, held.content or text)
            if len(self._unpacked) > _MOST_UNPACKED:
                self._unpacked.popitem(last=False)
        return self._unpacked[index]


def by_time(
    values: Sequence[object], time_in: Callable[[object], int | None]
) -> list[object]:
    """Return values in the order of time; as they stand where one has none.

    Args:
        values: The values.
        time_in: Returns the time (µs) that a value states, None for none.
    """
    starts = list[int]()
    for value in values:
        start = time_in(value)
        if start is None:
            return list(values)
        starts.append(start)
    if _is_in_order(starts):
        return list(values)
    sign = -1 if _is_latest_first(starts) else 1
    order = sorted(range(len(values)), key=lambda index: (starts[index], sign * index))
    return [values[index] for index in order]


def _is_in_order(starts: list[int]) -> bool:
    """Return whether entries stand in order, but for clocks that differ a little.

    An answer may have a slightly earlier time than its question.
    """
    latest = 0
    for start in starts:
        latest = max(latest, start)
        if latest - start >= _UNSTEADY_MICROSECONDS:
            return False
    return True


def _is_latest_first(starts: list[int]) -> bool:
    """Return whether more entries of a file precede earlier ones than later ones.

    >>> _is_latest_first([3, 2, 1, 2]), _is_latest_first([1, 2, 2])
    (True, False)
    """
    n_earlier = 0
    n_later = 0
    for start, following in pairwise(starts):
        n_earlier += following < start
        n_later += following > start
    return n_earlier > n_later
