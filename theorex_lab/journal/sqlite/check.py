"""Reading a whole journal to find what is wrong with it.

That is SQLite's own check, every row's checksum, and the segments.
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from theorex_lab.journal.checked import MOST_PROBLEMS, checked_rows
from theorex_lab.journal.event import RAW_KINDS, segment_of
from theorex_lab.journal.segments import ARCHIVE_FOLDER, check_segment
from theorex_lab.journal.sqlite.connection import (
    WAYS_OUT,
    connect_as_allowed,
)
from theorex_lab.journal.stored import COLUMNS


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
            query = f"PRAGMA integrity_check({MOST_PROBLEMS})"
            for (text,) in connection.execute(query).fetchall():
                if text != "ok":
                    problems.append(f"{path}: {text}")
            for row in checked_rows(all_rows(connection), path, problems):
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


def all_rows(connection: sqlite3.Connection) -> Iterable[tuple[Any, ...]]:
    """Return every row of a journal, `seq` to `crc`, in the order of the seqs."""
    return connection.execute(f"SELECT {COLUMNS}, crc FROM events ORDER BY seq")
