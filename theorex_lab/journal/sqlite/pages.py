"""The rows of a damaged journal, read from the pages of its file one by one: no index, no tree, no schema is needed.

The format is SQLite's (sqlite.org/fileformat2.html). A row counts only if it has its checksum, so that whatever else
lies in a page is passed over. Standard library only.
"""

from collections import Counter, namedtuple
from collections.abc import Iterator
from pathlib import Path

from theorex_lab.journal.sqlite import wal
from theorex_lab.journal.sqlite.store import checksum

_LEAF = 0x0D
_POINTERS_START = 8  # in a leaf page, after its header
_COLUMNS = 9
_INTEGER_BYTES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
_LEAST_ROW_BYTES = 32
_PAGE_SIZES = [1 << power for power in range(9, 17)]


# One row of the table of events, as it was stored: the fields of an event as numbers and texts, then its checksum.
StoredRow = namedtuple("StoredRow", "seq id at agent session kind lineage body crc")


class Pages:
    """The pages of a database file and of the write-ahead log beside it, whose commits stand before the file's pages.

    Frames of the log count whatever their checksums say: the rows have checksums of their own.
    """

    def __init__(self, path: Path) -> None:
        """Raises OSError where a file cannot be read."""
        self._file = path.read_bytes() if path.is_file() else b""
        log = Path(f"{path}-wal")
        self._log = log.read_bytes() if log.is_file() else b""
        frames = list(wal.current_frames(self._log))
        committed = max((frame.number for frame in frames if frame.commits), default=0)
        self._frames = {frame.page: frame.start for frame in frames if frame.number <= committed}
        stated = int.from_bytes(self._file[16:18], "big")
        self.size = wal.page_size(self._log) if self._frames else (65_536 if stated == 1 else stated)
        if self.size not in _PAGE_SIZES:
            self.size = 4_096  # what journals are made with
        self.last_seq = 0  # of the events that stand in the pages read so far, the damaged ones too

    def __getitem__(self, number: int) -> bytes:
        """The page of this number, from 1; empty where there is none, short where the file was cut."""
        if (start := self._frames.get(number)) is not None:
            return self._log[start : start + self.size]
        return self._file[(number - 1) * self.size : number * self.size]

    def rows(self) -> Iterator[StoredRow]:
        """Every row of the table of events that can be found, page by page; one may come twice."""
        last = max(-(-len(self._file) // self.size), *self._frames, 0)
        most = (len(self._file) + len(self._log)) // _LEAST_ROW_BYTES
        for number in range(2, last + 1):
            for row in self._rows_of(self[number]):
                if 0 < row.seq <= most:
                    yield row

    def _rows_of(self, page: bytes) -> list[StoredRow]:
        """The sound rows of one leaf. Their seqs follow each other, so that a wrong one is set right by the others."""
        found: list[tuple[int, StoredRow]] = []
        for place in range((len(page) - _POINTERS_START) // 2):
            start = int.from_bytes(page[_POINTERS_START + 2 * place :][:2], "big")
            if not _POINTERS_START + 2 * place + 2 <= start < len(page):
                break
            try:
                row = self._row(page, start)
            except (IndexError, ValueError):  # no row stands there
                continue
            found.append((place, row))
        if not found:
            return []
        ((first, _),) = Counter(row.seq - place for place, row in found).most_common(1)
        cells = int.from_bytes(page[3:5], "big") if page[0] == _LEAF else 0
        if _POINTERS_START + 2 * cells <= len(page):
            self.last_seq = max(self.last_seq, first + cells - 1)
        return [row._replace(seq=first + place) for place, row in found]

    def _row(self, page: bytes, start: int) -> StoredRow:
        """The row whose cell begins at `start`. Raises ValueError or IndexError where none does."""
        size, start = _varint(page, start)
        seq, start = _varint(page, start)
        row = StoredRow._make([seq, *_record(self._payload(page, start, size))[1:]])
        if checksum(*row[1:-1]) != row.crc:
            raise ValueError("the row does not have its checksum")
        return row

    def _payload(self, page: bytes, start: int, size: int) -> bytes:
        """A record of `size` bytes: what of it is in the page, then what its chain of overflow pages holds."""
        most, least = self.size - 35, (self.size - 12) * 32 // 255 - 23
        if size > len(self._file) + len(self._log):
            raise ValueError("the record is longer than the file")
        local = size
        if size > most:
            local = least + (size - least) % (self.size - 4)
            local = local if local <= most else least
        parts, left = [page[start : start + local]], size - local
        following = int.from_bytes(page[start + local : start + local + 4], "big")
        while left > 0:
            overflow = self[following] if following > 0 else b""
            if len(overflow) < 4:
                raise ValueError("the chain of pages breaks off")
            following = int.from_bytes(overflow[:4], "big")
            parts.append(overflow[4 : 4 + left])
            left -= self.size - 4
        return b"".join(parts)


def _varint(data: bytes, start: int) -> tuple[int, int]:
    """The number at `start`, and where it ends."""
    value = 0
    for place in range(8):
        byte = data[start + place]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, start + place + 1
    return value << 8 | data[start + 8], start + 9


def _record(payload: bytes) -> list[int | str | None]:
    """The columns of a record of nine columns. Raises ValueError for any other."""
    end, place = _varint(payload, 0)
    kinds: list[int] = []
    while place < end and len(kinds) <= _COLUMNS:
        kind, place = _varint(payload, place)
        kinds.append(kind)
    if len(kinds) != _COLUMNS or kinds[0] != 0:
        raise ValueError("that is no event")
    columns: list[int | str | None] = []
    for kind in kinds:
        if kind >= 13 and kind % 2:
            columns.append(payload[place : place + (kind - 13) // 2].decode())
            place += (kind - 13) // 2
        elif kind in _INTEGER_BYTES:
            columns.append(int.from_bytes(payload[place : place + _INTEGER_BYTES[kind]], "big", signed=True))
            place += _INTEGER_BYTES[kind]
        elif kind in (0, 8, 9):
            columns.append(None if kind == 0 else kind - 8)
        else:
            raise ValueError("an event has no such column")
    return columns
