"""Reading a whole journal to find what is wrong with it.

That is SQLite's own check, every row's checksum, and the segments.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from theorex_lab.journal.event import RAW_KINDS, segment_of
from theorex_lab.journal.segments import ARCHIVE_FOLDER, check_segment
from theorex_lab.journal.sqlite.connection import (
    COLUMNS,
    WAYS_OUT,
    connect_as_allowed,
    has_checksum,
)

_MOST_PROBLEMS = 20


def check_rows(
    path: Path, archive: Path | None = None
) -> tuple[list[str], dict[str, int]]:
    """Return the problems of a journal, and the number of its events by kind.

    Damage never raises. Twenty problems of the file at most are listed.

    Args:
        path: The journal's file.
        archive: The folder of its segments, None for the one beside the file.
    """
    problems: list[str] = []
    archived: dict[
        str, dict[str, str]
    ] = {}  # segment -> event id -> sha256 of its body
    counts: Counter[str] = Counter()
    try:
        with closing(connect_as_allowed(path)[0]) as connection:
            query = f"PRAGMA integrity_check({_MOST_PROBLEMS})"
            for (text,) in connection.execute(query).fetchall():
                if text != "ok":
                    problems.append(f"{path}: {text}")
            for row in checked_rows(connection, path, problems):
                counts[str(row[5])] += 1
                stub = _stub_of(row)
                segment = segment_of(stub)
                if segment:
                    archived.setdefault(segment, {})[row[1]] = stub["sha256"]
    except (sqlite3.DatabaseError, UnicodeDecodeError, json.JSONDecodeError) as error:
        problems.append(f"{path}: {error}; {WAYS_OUT}")
    folder = archive or path.parent / ARCHIVE_FOLDER
    for segment, hashes in archived.items():
        problems += check_segment(folder / segment, hashes)
    return problems, dict(counts)


def _stub_of(row: tuple[Any, ...]) -> Any:
    """Return the stub of a body that lies in a segment; {} for another body."""
    if row[5] in RAW_KINDS and '"archived":' in row[7]:
        return json.loads(row[7])
    return {}


def checked_rows(
    connection: sqlite3.Connection, path: Path, problems: list[str]
) -> Iterator[tuple[Any, ...]]:
    """Yield every row of the journal, `seq` to `crc`.

    What is wrong with the rows is added to `problems`.
    """
    expected = 1
    for row in connection.execute(f"SELECT {COLUMNS}, crc FROM events ORDER BY seq"):
        seq = row[0]
        if len(problems) < _MOST_PROBLEMS:
            if seq > expected:
                problems.append(f"{path}: events {expected} to {seq - 1} are gone")
            if seq < expected:
                problems.append(f"{path}: event {seq} stands behind {expected - 1}")
            if not has_checksum(row):
                problems.append(f"{path}: event {seq} does not have its checksum")
        expected = seq + 1
        yield row
