"""Files that others made: read to their end and no further, whatever they are. Standard library only.

A name may stand for a pipe, which is waited for, or for a device without end.
"""

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import BinaryIO

from theorex_lab.errors import InvalidInput, StorageError

LARGEST_ROW_BYTES = 16 << 20
_SMALLEST_ROW_BYTES = 4
_KINDS = ((stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"))
_OUT_OF_REACH = tuple(f"SQLITE_{name}" for name in ("CANTOPEN", "BUSY", "LOCKED", "IOERR", "READONLY", "PERM", "AUTH"))
_PRAGMAS = ("trusted_schema = OFF", "query_only = ON", "cell_size_check = ON", "mmap_size = 0")


@contextmanager
def open_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading. Raises InvalidInput for what is no file, StorageError where it cannot be read."""
    try:
        _refuse_other(path, path.stat().st_mode)
        # Should it have become a pipe since: with this flag none is waited for.
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        with open(os.open(path, flags), "rb") as file:  # noqa: PTH123 - pathlib opens no handles
            _refuse_other(path, os.fstat(file.fileno()).st_mode)
            yield file
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror}; check the path and its permissions") from error


def check_inside(folder: Path, file: Path) -> None:
    """Raises InvalidInput for a file that a link in the folder takes from elsewhere: it is not the folder's to give."""
    if file.is_file() and not file.resolve().is_relative_to(folder.resolve()):
        raise InvalidInput("got a file that a link takes from outside of the folder; allowed are files of its own")


def read_file(path: Path) -> bytes:
    """The bytes of a file. Raises as `open_file`."""
    with open_file(path) as file:
        return file.read()


def read_column(path: Path, table: str, columns: tuple[str, ...], wanted: str) -> Iterator[bytes]:
    """Yield the bytes of one column of a SQLite table, b'' for NULL; see `read_rows`, which raises what this does."""
    yield from (row[wanted] or b"" for row in read_rows(path, table, columns, (wanted,)))


def read_rows(path: Path, table: str, columns: tuple[str, ...],
              wanted: tuple[str, ...]) -> Iterator[dict[str, bytes | None]]:  # fmt: skip
    """Yield the rows of a SQLite table in their order, the bytes of those `wanted` columns that it has; None for NULL.

    Taken is only a table that has these `columns` as they are stored: no view, no virtual table, no column that is computed.
    Nothing is written, beside the file neither. Raises InvalidInput for a file that is something else or that holds more
    than one of its size can, StorageError for one that cannot be read.
    """
    beside = path.with_name(f"{path.name}-wal")
    size = sum(file.stat().st_size for file in (path, beside) if file.is_file())
    try:
        with closing(sqlite3.connect(_address(path), uri=True)) as connection:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_ROW_BYTES)
            for pragma in _PRAGMAS:
                connection.execute(f"PRAGMA {pragma}").fetchall()
            stored = _check_table(path, connection, table, columns)
            names = [name for name in wanted if name in stored]
            read = ", ".join(f"CAST({name} AS BLOB)" for name in names)
            held = 0
            # NOT INDEXED, for an index may be one of anything; in the order of the rows all the same.
            for row in connection.execute(f"SELECT {read} FROM main.{table} NOT INDEXED"):
                held += _SMALLEST_ROW_BYTES + sum(len(data or b"") for data in row)
                if held > 4 * size:  # a number is longer written out than it is stored
                    held_by = f"whose rows hold more than fits into its {size} bytes"
                    raise InvalidInput(f"got {path}, {held_by}; it is damaged")
                yield dict(zip(names, row, strict=True))
    except sqlite3.DatabaseError as error:
        name = getattr(error, "sqlite_errorname", "")
        if name.startswith(_OUT_OF_REACH):
            raise StorageError(f"cannot read {path}: {error}; check the path and its permissions") from error
        allowed = f"a SQLite file with rows of up to {LARGEST_ROW_BYTES} bytes"
        raise InvalidInput(f"got {path}, which holds no table {table}: {error}; allowed is {allowed}") from error


def _refuse_other(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = next((name for is_kind, name in _KINDS if is_kind(mode)), "a device")
        raise InvalidInput(f"got {path}, which is {kind}; allowed is a file")


def _address(path: Path) -> str:
    """The file's URI. One with a log's mark and no log beside it is open nowhere: read as it is, no log is made for it."""
    with open_file(path) as file:
        logged = file.read(20)[18:] == b"\2\2"
    alone = logged and not path.with_name(f"{path.name}-wal").exists()
    return f"{path.absolute().as_uri()}?mode=ro{'&immutable=1' if alone else ''}"


def _check_table(path: Path, connection: sqlite3.Connection, table: str, columns: tuple[str, ...]) -> set[str]:
    wanted = f"the table {table}({', '.join(columns)})"
    named = "name = ? COLLATE NOCASE AND type IN ('table', 'view')"
    found = connection.execute(f"SELECT type, rootpage FROM main.sqlite_master WHERE {named}", [table]).fetchall()
    if not found:
        raise InvalidInput(f"got {path}, a database without {wanted}")
    if found[0][0] != "table" or not found[0][1]:  # a virtual table has no page of its own
        raise InvalidInput(f"got {path}, in which {table} is a view or a virtual table; allowed is {wanted}")
    rows = connection.execute(f"PRAGMA main.table_xinfo({table})").fetchall()
    stored = {str(row[1]).lower() for row in rows if row[6] == 0}
    if len(stored) < len(rows) or not stored.issuperset(columns):
        raise InvalidInput(f"got {path}, in which {table} lacks columns or computes some; allowed is {wanted}")
    return stored
