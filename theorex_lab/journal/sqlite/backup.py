"""Backups: the whole journal in one file, taken while others write.

A backup is put back by `restore`.
"""

import os
import re
import secrets
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from theorex_lab.core.errors import CorruptJournal, InvalidInput
from theorex_lab.core.files import (
    FOLDER_MODE,
    drafted,
    make_file,
    write_atomically,
    writing,
)
from theorex_lab.journal.checked import checked_rows
from theorex_lab.journal.segments import ARCHIVE_FOLDER
from theorex_lab.journal.sqlite.check import all_rows, check_rows
from theorex_lab.journal.sqlite.connection import (
    connect_as_allowed,
    connect_to_read,
    explained,
)
from theorex_lab.journal.sqlite.opening import DATABASE_FILE
from theorex_lab.journal.sqlite.replace import make_database, put_in_place, replacing
from theorex_lab.journal.sqlite.store import (
    APPLICATION_ID,
    SCHEMA_VERSION,
    SqliteJournal,
)

CONFIG_FILE = "config.json"
_FILE_HEADER = b"SQLite format 3\x00"
_SEGMENT = re.compile(r"[0-9]{12}-[0-9]{12}\.jsonl\.gz")
_FILES_TABLE = (
    "CREATE TABLE backup_files (name TEXT PRIMARY KEY, content BLOB NOT NULL) STRICT"
)


class Backup(NamedTuple):
    """A backup that was written.

    Attributes:
        file: The file of the backup.
        events: How many events it holds.
        segments: How many segments it holds.
        bytes: The size of the file.
    """

    file: str
    events: int
    segments: int
    bytes: int


class RestoreReport(NamedTuple):
    """What a home holds after a restore.

    Attributes:
        file: The file that was restored.
        events: How many events the home holds now.
        set_aside: Where what was there before lies, '' where nothing was.
    """

    file: str
    events: int
    set_aside: str


def backup(journal: SqliteJournal, file: Path, *, replace: bool = False) -> Backup:
    """Copy the journal, its segments and the settings into one SQLite file.

    The file is read again before it counts. It is consistent while other processes
    write: it holds what was written when it began.

    Args:
        journal: The journal.
        file: The file to write.
        replace: Whether a file that is there may be replaced.

    Raises:
        InvalidInput: The file is there and `replace` is off.
        CorruptJournal: The journal is damaged.
        StorageError: The disk is full.
    """
    if file.exists() and (not replace or not file.is_file()):
        raise InvalidInput(
            f"{file} is there already; choose another name, or replace a backup with"
            " --replace"
        )
    with writing(file, "make room, or choose another"):
        file.parent.mkdir(parents=True, exist_ok=True)
        with drafted(file) as draft:
            make_file(str(draft))
            with _pinned(journal) as (source, segments):
                _copy(source, draft, [*segments, journal.path.parent / CONFIG_FILE])
            events = _read_again(draft)
            size = draft.stat().st_size
    return Backup(str(file), events, len(segments), size)


@contextmanager
def _pinned(journal: SqliteJournal) -> Iterator[tuple[sqlite3.Connection, list[Path]]]:
    """Yield a connection that sees the journal as it is now, and its segments.

    The segments are links to those that belong to this state.
    """
    links = journal.path.parent / f".backup-{secrets.token_hex(4)}"
    with journal.explained():
        source, _ = connect_as_allowed(journal.path)
    with closing(source), journal.explained():
        segments: list[Path] = []
        try:
            # Who archives or erases waits for a moment, so that file and segments are
            # of one state.
            with nullcontext() if journal.read_only else journal.writing():
                source.execute("BEGIN")
                source.execute("SELECT max(seq) FROM events").fetchone()
                segments = _linked(
                    journal.path.parent / ARCHIVE_FOLDER, links, copy=journal.read_only
                )
            yield source, segments
        finally:
            shutil.rmtree(links, ignore_errors=True)


def _linked(folder: Path, links: Path, *, copy: bool) -> list[Path]:
    """Return second names of the segments, which stay when the segments are rewritten.

    In a home to read, these are the files themselves.
    """
    segments = sorted(folder.glob("*.jsonl.gz"))
    if copy or not segments:
        return segments
    links.mkdir(mode=FOLDER_MODE)
    for path in segments:
        try:
            os.link(path, links / path.name)
        except OSError:  # a file system without links
            shutil.copy2(path, links / path.name)
    return [links / path.name for path in segments]


def _copy(source: sqlite3.Connection, draft: Path, files: list[Path]) -> None:
    """Copy the journal's pages as they are, and each file that exists as a row."""
    with (
        explained(str(draft)),
        closing(sqlite3.connect(draft, isolation_level=None)) as target,
    ):
        source.backup(target)
        # One file, without a log beside it, whose size is the whole of it.
        target.execute("PRAGMA journal_mode = DELETE").fetchall()
        target.execute("PRAGMA synchronous = FULL")
        target.execute("BEGIN")
        target.execute(_FILES_TABLE)
        for path in files:
            if path.is_file():
                target.execute(
                    "INSERT INTO backup_files VALUES (?, ?)",
                    [path.name, path.read_bytes()],
                )
        target.execute("COMMIT")


def _read_again(draft: Path) -> int:
    """Return how many events a backup holds.

    Raises:
        CorruptJournal: The backup, and so the journal, is not sound.
    """
    with TemporaryDirectory(dir=draft.parent, prefix=f"{draft.name}-") as folder:
        with closing(connect_to_read(draft)) as connection:
            _unpack(connection, draft, Path(folder))
        problems, counts = check_rows(draft, Path(folder))
    if problems:
        damage = f"the journal is damaged: {'; '.join(problems[:3])}"
        raise CorruptJournal(
            f"no backup was made, since {damage}. Keep what is sound with `theorex verify"
            " --salvage`"
        )
    return sum(counts.values())


def _unpack(connection: sqlite3.Connection, file: Path, folder: Path) -> None:
    """Write the segments that a backup holds into `folder`.

    Those of another home's file lie beside it.
    """
    if not _has_files(connection):
        for path in (file.parent / ARCHIVE_FOLDER).glob("*.jsonl.gz"):
            shutil.copy2(path, folder / path.name)
        return
    for name, content in connection.execute("SELECT name, content FROM backup_files"):
        if (
            isinstance(name, str)
            and isinstance(content, bytes)
            and _SEGMENT.fullmatch(name)
        ):
            write_atomically(folder / name, content, mode=0o400)


def _has_files(connection: sqlite3.Connection) -> bool:
    table = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'backup_files'"
    return connection.execute(table).fetchone() is not None


def restore(home: Path, file: Path, *, aside: str) -> RestoreReport:
    """Put a backup, or another home's theorex.db, in the place of a home's journal.

    Every row of it is read and checked first. A config.json that is there stays.

    Args:
        home: The home.
        file: The backup.
        aside: The folder of the home into which the old journal, its log, snapshots,
            vectors and segments are moved.

    Raises:
        InvalidInput: The file is no backup.
        CorruptJournal: The backup is damaged; then nothing was changed.
        StorageError: The disk is full.
    """
    if not file.is_file():
        raise InvalidInput(
            f"{file} is no file; give one that `theorex backup FILE` has written"
        )
    if not _begins_as_database(file):
        raise _no_backup(file)
    with replacing(home) as drafts:
        folder = drafts / ARCHIVE_FOLDER
        folder.mkdir(mode=FOLDER_MODE)
        problems: list[str] = []
        with explained(str(file)), closing(connect_to_read(file)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")
            _refuse_foreign(connection, file)
            _unpack(connection, file, folder)
            make_database(
                drafts / DATABASE_FILE,
                checked_rows(all_rows(connection), file, problems),
            )
            _restore_config(connection, home, drafts)
        more, counts = check_rows(drafts / DATABASE_FILE, folder)
        problems += more
        if problems:
            raise CorruptJournal(
                f"{file} is damaged, and nothing was changed: {'; '.join(problems[:3])}"
            )
        had_journal = (home / DATABASE_FILE).exists()
        old_files = put_in_place(home, drafts, aside)
    return RestoreReport(
        file=str(home / DATABASE_FILE),
        events=sum(counts.values()),
        set_aside=str(old_files) if had_journal else "",
    )


def _begins_as_database(file: Path) -> bool:
    """Return whether a file is one of SQLite's, or cannot be read, which it then says."""
    try:
        with file.open("rb") as opened:
            return opened.read(len(_FILE_HEADER)) == _FILE_HEADER
    except OSError:
        return True


def _no_backup(file: Path) -> InvalidInput:
    return InvalidInput(
        f"{file} is no backup; give one that `theorex backup FILE` has written"
    )


def _refuse_foreign(connection: sqlite3.Connection, file: Path) -> None:
    marks = [
        connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("application_id", "user_version")
    ]
    table = connection.execute(
        "SELECT type FROM sqlite_schema WHERE name = 'events'"
    ).fetchone()
    if marks[0] != APPLICATION_ID or table != ("table",):
        raise _no_backup(file)
    if marks[1] > SCHEMA_VERSION:
        raise InvalidInput(
            f"{file} has the layout {marks[1]}, here is read {SCHEMA_VERSION}; install"
            " a later release"
        )


def _restore_config(connection: sqlite3.Connection, home: Path, drafts: Path) -> None:
    """Keep the settings of the backup, for a home that has none of its own."""
    if (home / CONFIG_FILE).exists() or not _has_files(connection):
        return
    row = connection.execute(
        "SELECT content FROM backup_files WHERE name = ?", [CONFIG_FILE]
    ).fetchone()
    if row is not None and isinstance(row[0], bytes):
        write_atomically(drafts / CONFIG_FILE, row[0], mode=0o600)
