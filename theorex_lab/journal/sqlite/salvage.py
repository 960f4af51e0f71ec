"""The way out of a damaged home without a backup.

What is sound is kept, what is lost is written down.
"""

import json
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, cast

from theorex_lab.core.errors import CorruptJournal, InvalidInput
from theorex_lab.core.files import FOLDER_MODE, write_atomically
from theorex_lab.journal.event import RAW_KINDS, new_event, segment_of
from theorex_lab.journal.segments import ARCHIVE_FOLDER, body_hashes
from theorex_lab.journal.sqlite.check import check_rows
from theorex_lab.journal.sqlite.connection import (
    explained,
    log_size,
)
from theorex_lab.journal.sqlite.inserting import insert
from theorex_lab.journal.sqlite.opening import DATABASE_FILE, newest_known
from theorex_lab.journal.sqlite.replace import make_database, put_in_place, replacing
from theorex_lab.journal.sqlite.store import SqliteJournal
from theorex_lab.journal.stored import (
    COLUMNS,
    has_checksum,
)

Gap = tuple[int, int]  # the first and the last seq that are lost
Row = tuple[Any, ...]  # seq to crc
_LEAST_ROW_BYTES = 32
_KEEPER = "theorex"  # the agent of the events that a salvage writes


class SalvageReport(NamedTuple):
    """What a salvage kept and lost.

    Where the home was sound nothing was changed, and `set_aside` is ''.

    Attributes:
        events: How many events are there now.
        lost: The ranges of lost seqs.
        set_aside: Where the old files lie.
        problems: What was wrong.
    """

    events: int
    lost: list[tuple[int, int]]
    set_aside: str
    problems: list[str]


def salvage(home: Path, *, aside: str, at: int) -> SalvageReport:
    """Make a damaged home usable again.

    Its journal is damaged, cut, or behind its snapshots, or its restore was
    interrupted. Every event that has its checksum and that SQLite still finds stays,
    with its seq; each one that is lost leaves an event of the kind `lost` in its place,
    and one event `salvaged` lists them. SQLite finds nothing where the first page of
    the file is damaged, nor what hangs on a damaged page of the tree, nor what stands
    behind a damaged frame of the write-ahead log: of that there are only the files set
    aside.

    Args:
        home: The home.
        aside: The folder of the home into which the damaged files, snapshots and
            vectors are moved.
        at: The time of the events that it writes (µs).

    Raises:
        InvalidInput: There is no memory.
        StorageError: Files cannot be read or written.
    """
    if not home.is_dir():
        raise InvalidInput(f"{home} is no folder; there is nothing to salvage")
    with replacing(home) as drafts:
        problems, events = _problems(home)
        if not problems:
            return SalvageReport(events, [], "", [])
        archive = drafts / ARCHIVE_FOLDER
        database = drafts / DATABASE_FILE
        archive.mkdir(mode=FOLDER_MODE)
        with TemporaryDirectory(dir=drafts) as copies:
            sound_rows = _SoundRows(home / DATABASE_FILE, Path(copies))
            make_database(
                database,
                _without_lost(sound_rows.rows(), home / ARCHIVE_FOLDER, archive),
            )
        last = max(sound_rows.last_seq, newest_known(str(home / DATABASE_FILE)).seq)
        n_events, lost = _note_losses(
            database, last, at, {"set_aside": aside, "problems": problems}
        )
        return SalvageReport(
            n_events, lost, str(put_in_place(home, drafts, aside)), problems
        )


def _problems(home: Path) -> tuple[list[str], int]:
    """Return what is wrong with a home's journal, and how many events it holds."""
    path = home / DATABASE_FILE
    has_traces = newest_known(str(path)).seq or log_size(path)
    if not path.exists() and not has_traces:
        raise InvalidInput(
            f"{path} is not there, and nothing that belongs to it; there is nothing to"
            " salvage"
        )
    try:
        SqliteJournal(path).close()
    except CorruptJournal as error:
        return [str(error).partition("; ")[0]], 0
    problems, counts = check_rows(path)
    return problems, sum(counts.values())


class _SoundRows:
    """What SQLite finds in a copy of a damaged file and of the log beside it.

    The file and its log stay as they are.
    """

    def __init__(self, path: Path, folder: Path) -> None:
        for name in (path.name, f"{path.name}-wal"):
            if path.with_name(name).is_file():
                shutil.copyfile(path.with_name(name), folder / name)
        self._path = folder / path.name
        self._most = (
            sum(copy.stat().st_size for copy in folder.iterdir()) // _LEAST_ROW_BYTES
        )
        # by the number of ids, else by the table's end; 0 where neither can be read
        self.last_seq = 0

    def rows(self) -> Iterator[Row]:
        """Yield the rows of the table of events that have their checksum."""
        last_seqs: list[int] = []
        with (
            suppress(sqlite3.DatabaseError),
            closing(sqlite3.connect(self._path)) as connection,
        ):
            connection.execute(
                "PRAGMA writable_schema = ON"
            )  # else SQLite reads nothing of a file that was cut
            for query in ("SELECT count(*) FROM events", "SELECT max(seq) FROM events"):
                with suppress(sqlite3.DatabaseError):
                    last_seqs.append(
                        min(connection.execute(query).fetchone()[0] or 0, self._most)
                    )
            self.last_seq = last_seqs[0] if last_seqs else 0
            yield from _sound_rows(connection, max(last_seqs, default=self._most))


def _sound_rows(connection: sqlite3.Connection, last: int) -> Iterator[Row]:
    """Yield the rows in order, and go on behind each one that cannot be read.

    A seq that breaks the order is looked up by its id.
    """
    seq = 0
    query = f"SELECT {COLUMNS}, crc FROM events WHERE seq > ? ORDER BY seq"
    while seq <= last:
        try:
            for stored_seq, *fields, crc in connection.execute(query, [seq]):
                at = stored_seq
                if at != seq + 1:
                    at = _seq_by_id(connection, fields[0], stored_seq)
                seq = at if seq < at <= last else seq + 1
                row = (at, *fields, crc)
                if _is_sound(row, last):
                    yield row
            return
        except (sqlite3.DatabaseError, UnicodeDecodeError):
            seq += 1


def _is_sound(row: Row, last: int) -> bool:
    """Return whether a row has a seq from 1 to `last`, and its checksum."""
    if not 0 < row[0] <= last:
        return False
    return has_checksum(row)


def _seq_by_id(connection: sqlite3.Connection, event_id: str, stored_seq: int) -> int:
    """Return the seq of an event as it is found by its id, else the stored one."""
    query = "SELECT seq FROM events WHERE id = ?"
    row = connection.execute(query, [event_id]).fetchone()
    if row is None:
        return stored_seq
    (seq,) = row
    return cast(int, seq)


def _without_lost(rows: Iterable[Row], segments: Path, archive: Path) -> Iterator[Row]:
    """Yield the rows, without those that stand for a body which cannot be read.

    Segments that can be read are put into `archive`.
    """
    hashes: dict[str, dict[str, str]] = {}  # by segment and event id
    for row in rows:
        _, event_id, *_, kind, _, body, _ = row
        stub = {}
        if kind in RAW_KINDS and '"archived":' in body:
            stub = json.loads(body)
        segment = segment_of(stub)
        if segment is None:
            yield row
            continue
        if segment not in hashes:
            hashes[segment] = {}
            path = segments / Path(segment).name
            with suppress(CorruptJournal):
                hashes[segment] = body_hashes(path)
                write_atomically(archive / path.name, path.read_bytes(), mode=0o400)
        if hashes[segment].get(event_id) == stub["sha256"]:
            yield row


def _note_losses(
    database: Path, last: int, at: int, details: Mapping[str, object]
) -> tuple[int, list[Gap]]:
    """Fill the gaps up to the seq `last`, and write one event that lists them.

    Returns:
        How many events are kept, and the gaps.
    """
    with (
        explained(str(database)),
        closing(sqlite3.connect(database, isolation_level=None)) as connection,
    ):
        connection.execute("PRAGMA synchronous = FULL")
        count = connection.execute("SELECT count(*) FROM events").fetchone()
        n_events = int(count[0])
        gaps = []
        expected = 1
        for (seq,) in connection.execute("SELECT seq FROM events ORDER BY seq"):
            if seq > expected:
                gaps.append((expected, seq - 1))
            expected = seq + 1
        if last >= expected:
            gaps.append((expected, last))
        connection.execute("BEGIN")
        for first, end in gaps:
            for seq in range(first, end + 1):
                insert(connection, new_event("lost", {}, agent=_KEEPER, at=at), seq)
        lost = [list(gap) for gap in gaps]
        body = {"events": n_events, "lost": lost, **details}
        note = new_event("salvaged", body, agent=_KEEPER, at=at)
        last_seq = max(expected - 1, last)
        insert(connection, note, last_seq + 1)
        connection.execute("COMMIT")
    return n_events, gaps
