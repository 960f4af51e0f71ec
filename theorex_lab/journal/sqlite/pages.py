"""The rows of a damaged journal, as far as SQLite itself can still read them, of a copy of its file.

A row counts only if it has its checksum. What a damaged page held is skipped; where the first page is damaged, which holds
the schema alone, that of a new journal stands in its place.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

from theorex_lab.journal.private import make_file
from theorex_lab.journal.sqlite.opening import fill
from theorex_lab.journal.sqlite.store import COLUMNS, checksum

_PAGE_BYTES = 4_096  # what journals are made with
_LEAST_ROW_BYTES = 32
_FAILURES = (sqlite3.DatabaseError, sqlite3.ProgrammingError, UnicodeDecodeError)


class StoredRow(NamedTuple):
    """One row of the table of events, as it was stored."""

    seq: int
    id: str
    at: int
    agent: str
    session: str
    kind: str
    lineage: str
    body: str
    crc: int


class SoundRows(NamedTuple):
    """The sound rows of a journal, by seq, and the last seq that anything in its file names."""

    rows: list[StoredRow]
    last_seq: int


def sound_rows(path: Path, drafts: Path) -> SoundRows:
    """What can be read of the journal at `path` and of its log, from a copy in the folder `drafts`. Raises OSError."""
    copy = _copied(path, drafts / "damaged.db")
    most = sum(file.stat().st_size for file in copy.parent.glob("damaged.db*")) // _LEAST_ROW_BYTES
    try:
        for ours in (False, True):  # under its own first page, and where nothing can be read so, under ours
            if ours:
                _put_first_page(copy)
            with closing(sqlite3.connect(copy, isolation_level=None)) as connection, suppress(*_FAILURES):
                # Then a file that was cut is read as far as it goes.
                connection.execute("PRAGMA writable_schema = ON")
                if rows := [row for row in _rows(connection, most) if 0 < row.seq <= most]:
                    return SoundRows(rows, max(rows[-1].seq, min(_last_in_index(connection), most)))
    finally:
        for file in drafts.glob("damaged.db*"):
            file.unlink(missing_ok=True)
    return SoundRows([], 0)


def _copied(path: Path, copy: Path) -> Path:
    make_file(str(copy))
    for end in ("", "-wal"):
        if (file := Path(f"{path}{end}")).is_file():
            shutil.copyfile(file, f"{copy}{end}")
    return copy


def _put_first_page(copy: Path) -> None:
    new = copy.with_name("damaged.db.new")
    make_file(str(new))
    fill(str(new))
    pages = max(copy.stat().st_size // _PAGE_BYTES, 1)
    first = bytearray(new.read_bytes()[:_PAGE_BYTES])
    first[28:32] = pages.to_bytes(4, "big")
    with copy.open("r+b") as file:
        file.write(first)


def _rows(connection: sqlite3.Connection, most: int) -> Iterator[StoredRow]:
    """Sound rows in order of seq. After a row that cannot be read, the next one is looked for by its seq."""
    after, failures, waiting = 0, 0, None
    while failures <= most:
        try:
            for row in connection.execute(f"SELECT {COLUMNS}, crc FROM events WHERE seq > ? ORDER BY seq", [after]):
                # A damaged seq stands out of order: the row before a lower one is left out.
                if waiting is not None and waiting.seq < row[0]:
                    yield waiting
                after, waiting = row[0], _checked(row)
        except _FAILURES:
            after, failures = after + 1, failures + 1
            continue
        break
    if waiting is not None:
        yield waiting


def _checked(row: tuple[Any, ...]) -> StoredRow | None:
    return StoredRow._make(row) if checksum(*row[1:-1]) == row[-1] else None


def _last_in_index(connection: sqlite3.Connection) -> int:
    """The highest seq in the index of ids, which may be whole where the table is not; 0 where it cannot be read."""
    with suppress(*_FAILURES):
        asked = (
            "SELECT max(rowid) FROM (SELECT rowid, id FROM events INDEXED BY sqlite_autoindex_events_1 WHERE id > '')"
        )
        return int(connection.execute(asked).fetchone()[0] or 0)
    return 0
