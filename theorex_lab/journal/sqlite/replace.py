"""Putting another database into a home.

It is made complete beside the old one, then swapped in; what was there is set aside,
not lost.
"""

import json
import os
import secrets
import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from theorex_lab.core.errors import StorageError
from theorex_lab.core.files import (
    FOLDER_MODE,
    exclusive,
    make_file,
    sync_folder,
    write_atomically,
)
from theorex_lab.journal.sqlite.connection import explained
from theorex_lab.journal.sqlite.inserting import INSERT
from theorex_lab.journal.sqlite.last_written import LAST_WRITTEN_FILE
from theorex_lab.journal.sqlite.opening import (
    DATABASE_FILE,
    UNFINISHED_FILE,
    VIEWS_FOLDER,
    fill,
)

LOCK_FILE = "replacing.lock"
# What rests on the journal's file, and may not lie beside another one: its log, what
# was folded and computed from it.
_DEPENDENT = (
    DATABASE_FILE,
    f"{DATABASE_FILE}-wal",
    f"{DATABASE_FILE}-shm",
    LAST_WRITTEN_FILE,
    "briefing.db",
    "briefing.db-wal",
    "briefing.db-shm",
    "recall.db",  # of earlier releases
    "recall.db-wal",
    "recall.db-shm",
    VIEWS_FOLDER,
    "vectors",
    "SHARED_CONTEXT.md",
    "contexts",
    "projects.json",
)


@contextmanager
def replacing(home: Path) -> Iterator[Path]:
    """Yield a folder in the home for the drafts of what will replace its database.

    Nobody else replaces it meanwhile. What a process that died had begun to swap in is
    first brought to its end.

    Raises:
        StorageError: The home cannot be written.
    """
    try:
        home.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        with exclusive(home / LOCK_FILE, wait=True):
            finish_replacement(home)
            folder = home / f".replacing-{secrets.token_hex(4)}"
            folder.mkdir(mode=FOLDER_MODE)
            try:
                yield folder
            finally:
                shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        advice = (
            "make room or permit it, and repeat: what was there is untouched or set"
            " aside in the home"
        )
        raise StorageError(
            f"{error.filename or home}: {error.strerror}; {advice}"
        ) from error


def make_database(path: Path, rows: Iterable[tuple[Any, ...]]) -> None:
    """Write a journal's file with these rows, `seq` to `crc`, in one transaction.

    It is on disk when this returns. Of two rows with one seq or id the first stays.
    """
    make_file(str(path))
    with explained(str(path)):
        fill(str(path))
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("BEGIN")
            for row in rows:
                with suppress(sqlite3.IntegrityError):
                    connection.execute(INSERT, row)
            connection.execute("COMMIT")


def put_in_place(home: Path, drafts: Path, aside: str) -> Path:
    """Swap in what lies in `drafts`: the database, perhaps the archive and config.json.

    Killed at any point, the home refuses to be opened until `finish_replacement` has
    run: it never mixes old and new.

    Returns:
        Where the old files lie.
    """
    sync_folder(drafts)
    unfinished = {
        "drafts": drafts.name,
        "aside": aside,
        "names": sorted(path.name for path in drafts.iterdir()),
    }
    write_atomically(home / UNFINISHED_FILE, json.dumps(unfinished).encode())
    finish_replacement(home)
    return home / aside


def finish_replacement(home: Path) -> bool:
    """Bring a swap that was begun to its end; False where none was."""
    try:
        unfinished = json.loads((home / UNFINISHED_FILE).read_bytes())
        drafts = home / unfinished["drafts"]
        aside = home / unfinished["aside"]
    except FileNotFoundError:
        return False
    except (ValueError, KeyError, TypeError) as error:
        advice = "look which files of the home are whole, and remove it"
        raise StorageError(
            f"{home / UNFINISHED_FILE} cannot be read ({error}); {advice}"
        ) from error
    aside.mkdir(mode=FOLDER_MODE, exist_ok=True)
    names = unfinished["names"]
    for name in {*_DEPENDENT, *names}:
        # A draft that is there no more was put into its place already.
        is_replaced = name in names and not (drafts / name).exists()
        if not is_replaced and os.path.lexists(home / name):
            (home / name).replace(aside / name)
    for name in names:
        if (drafts / name).exists():
            (drafts / name).replace(home / name)
    for folder in (aside, home):
        sync_folder(folder)
    (home / UNFINISHED_FILE).unlink()
    sync_folder(home)
    shutil.rmtree(drafts, ignore_errors=True)
    return True
