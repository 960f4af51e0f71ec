"""Read the rows of a SQLite file that others made.

Nothing is written, beside the file neither. What is a view, a virtual table or a
computed column is not read, since it may run anything.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from theorex_lab.core.errors import InvalidInput, StorageError
from theorex_lab.files.formats.foreign import open_file

LARGEST_ROW_BYTES = 16 << 20
_SMALLEST_ROW_BYTES = 4
_OUT_OF_REACH = ("CANTOPEN", "BUSY", "LOCKED", "IOERR", "READONLY", "PERM", "AUTH")
_PRAGMAS = (
    "trusted_schema = OFF",
    "query_only = ON",
    "cell_size_check = ON",
    "mmap_size = 0",
)
_LISTED = """
SELECT type, rootpage
FROM main.sqlite_master
WHERE name = ? COLLATE NOCASE
AND type IN ('table', 'view')
"""
Cells = dict[str, bytes | None]


def table_rows(
    path: Path, table: str, *, needed: Sequence[str], wanted: Sequence[str]
) -> Iterator[Cells]:
    """Yield the rows of a table in their order.

    Each has the bytes of those wanted columns that the table has, None for NULL.

    Args:
        path: The file.
        table: The table, a name of ours.
        needed: The columns without which it is not read.
        wanted: The columns that are read.

    Raises:
        InvalidInput: The file is something else, or claims to hold more than a file of
            its size can.
        StorageError: It cannot be read.
    """
    size = _size_of(path)
    try:
        with closing(sqlite3.connect(_address(path), uri=True)) as connection:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_ROW_BYTES)
            for pragma in _PRAGMAS:
                connection.execute(f"PRAGMA {pragma}").fetchall()
            stored = _stored_columns(path, connection, table, needed)
            names = [name for name in wanted if name in stored]
            yield from _rows(path, connection, table, names, size)
    except sqlite3.DatabaseError as error:
        name = getattr(error, "sqlite_errorname", "")
        if name.removeprefix("SQLITE_").startswith(_OUT_OF_REACH):
            raise StorageError(
                f"cannot read {path}: {error}; check the path and its permissions"
            ) from error
        raise InvalidInput(
            f"got {path}, whose table {table} cannot be read: {error}; allowed is a"
            f" SQLite file with rows of up to {LARGEST_ROW_BYTES} bytes"
        ) from error


def _rows(
    path: Path,
    connection: sqlite3.Connection,
    table: str,
    names: Sequence[str],
    size: int,
) -> Iterator[Cells]:
    """Yield the rows of a table that was checked.

    Args:
        path: The file, as an error names it.
        connection: The open file.
        table: The table.
        names: The columns that are read.
        size: The bytes of the file.

    Raises:
        InvalidInput: The rows hold more than fits into the file.
    """
    columns = ", ".join(f"CAST({name} AS BLOB)" for name in names)
    n_bytes = 0
    # NOT INDEXED, since an index may be one of anything.
    statement = f"SELECT {columns} FROM main.{table} NOT INDEXED"
    for row in connection.execute(statement):
        n_bytes += _SMALLEST_ROW_BYTES + sum(len(data or b"") for data in row)
        if n_bytes > 4 * size:  # a number is longer written out than it is stored
            raise InvalidInput(
                f"got {path}, whose rows hold more than fits into its {size} bytes;"
                " it is damaged"
            )
        yield dict(zip(names, row, strict=True))


def _size_of(path: Path) -> int:
    """Return the bytes of a file and of the log beside it."""
    n_bytes = 0
    for file in (path, path.with_name(f"{path.name}-wal")):
        if file.is_file():
            n_bytes += file.stat().st_size
    return n_bytes


def _address(path: Path) -> str:
    """Return the URI of a file, to be read and not written.

    One with the mark of a log and no log beside it is open nowhere. It is read as it
    is, so that no log is made for it.
    """
    with open_file(path) as file:
        has_log_mark = file.read(20)[18:] == b"\2\2"
    address = f"{path.absolute().as_uri()}?mode=ro"
    if has_log_mark and not path.with_name(f"{path.name}-wal").exists():
        address += "&immutable=1"
    return address


def _stored_columns(
    path: Path, connection: sqlite3.Connection, table: str, needed: Sequence[str]
) -> set[str]:
    """Return the columns of a table that are stored.

    Args:
        path: The file, as an error names it.
        connection: The open file.
        table: The table.
        needed: The columns without which it is not read.

    Raises:
        InvalidInput: There is no such table.
    """
    allowed = f"the table {table}({', '.join(needed)})"
    listed = connection.execute(_LISTED, [table]).fetchall()
    if not listed:
        raise InvalidInput(f"got {path}, a database without {allowed}")
    kind, page = listed[0]
    if kind != "table" or not page:  # a virtual table has no page of its own
        raise InvalidInput(
            f"got {path}, in which {table} is a view or a virtual table; allowed is"
            f" {allowed}"
        )
    rows = connection.execute(f"PRAGMA main.table_xinfo({table})").fetchall()
    stored = {str(row[1]).lower() for row in rows if row[6] == 0}
    if len(stored) < len(rows) or not stored.issuperset(needed):
        raise InvalidInput(
            f"got {path}, in which {table} lacks columns or computes some; allowed is"
            f" {allowed}"
        )
    return stored
