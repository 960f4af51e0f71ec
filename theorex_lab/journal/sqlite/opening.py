"""What is looked at before a journal's file is opened, and how a new one is made.

No damage passes for an empty memory. Standard library only, and paths are texts: agents
start a process for every event.
"""

import os
from _thread import get_ident
from contextlib import suppress

from theorex_lab.core.errors import CorruptJournal, StorageError
from theorex_lab.core.files import make_file, make_folder, sync_folder
from theorex_lab.core.light_sqlite import sqlite3
from theorex_lab.journal.sqlite.connection import (
    LOG_HEADER_BYTES,
    WAYS_OUT,
    damaged,
    explained,
    log_size,
)
from theorex_lab.journal.sqlite.last_written import LastWritten, last_written

DATABASE_FILE = "theorex.db"
VIEWS_FOLDER = "views"
# While this file lies in a home, another database is being put into its place.
UNFINISHED_FILE = "replacing.json"
_MAGIC = b"SQLite format 3\0"
_LOOKS = 3


def refuse_unfinished(folder: str) -> None:
    """Refuse a home into which another database was being put.

    Raises:
        StorageError: A process died at it, or is still at it.
    """
    if os.path.exists(os.path.join(folder, UNFINISHED_FILE)):
        what = "a restore or salvage is under way, or was interrupted"
        raise StorageError(
            f"{folder}: {what}; wait for it, or finish it with `theorex verify --salvage`"
        )


def check_file(path: str) -> None:
    """Refuse a damaged file before SQLite opens it.

    Such a file was cut, or its write-ahead log lost a commit. Not to be called in a
    process that has the file open: to close a file gives back the locks that it holds
    there.

    Raises:
        CorruptJournal: The file is damaged; nothing was written.
    """
    if log_size(path) > LOG_HEADER_BYTES:
        # Imported here, since a home at rest has no log.
        from theorex_lab.journal.sqlite.wal import lost_commits

        problem = lost_commits(path)
    else:
        problem = _lasting_cut(path)
    if problem:
        raise damaged(path, problem)


def _lasting_cut(path: str) -> str:
    """Return what `_cut` says of a file where it goes on to say so; '' where not.

    Between two looks of ours, another process may shrink the file.
    """
    problem = _cut(path)
    for _ in range(_LOOKS):
        if not problem:
            return ""
        if log_size(path) > LOG_HEADER_BYTES:
            return ""
        before = problem
        problem = _cut(path)
        if problem != before:
            return ""
    return problem


def _cut(path: str) -> str:
    """Return what says that the end of the file is missing; '' where nothing does."""
    try:
        with open(path, "rb") as file:
            header = file.read(100)
            size = os.fstat(file.fileno()).st_size
    except OSError:
        return ""  # SQLite says why it cannot be opened
    if not header:
        return "it has no bytes"
    if not header.startswith(_MAGIC) or len(header) < 100:
        return "it is no SQLite file"
    page = int.from_bytes(header[16:18], "big")
    if page == 1:
        page = 65_536
    if page < 512 or size % page:
        return f"it was cut: its {size} bytes are no multiple of a page"
    n_pages = size // page
    n_stated = 0
    # The number of pages holds where the file was changed last by a SQLite that states
    # it.
    if header[24:28] == header[92:96]:
        n_stated = int.from_bytes(header[28:32], "big")
    if n_pages < n_stated:
        return f"it was cut: it has {n_pages} of {n_stated} pages"
    return ""


def newest_known(path: str) -> LastWritten:
    """Return the newest event of which something beside a journal knows.

    Its seq is 0 where nothing does.
    """
    folder = os.path.dirname(path)
    newest = last_written(path)
    snapshot = newest_snapshot(folder)
    if snapshot > newest.seq:
        return LastWritten(snapshot, "", f"a snapshot in {VIEWS_FOLDER}")
    return newest


def newest_snapshot(folder: str) -> int:
    """Return the seq of the newest snapshot in a home, 0 where there is none.

    A snapshot's folder is named `code-seq`.
    """
    newest = 0
    with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        for view in os.listdir(os.path.join(folder, VIEWS_FOLDER)):
            with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
                for name in os.listdir(os.path.join(folder, VIEWS_FOLDER, view)):
                    code, _, seq = name.partition("-")
                    if code.isdecimal() and seq.isdecimal():
                        newest = max(newest, int(seq))
    return newest


def create(path: str) -> None:
    """Make the file complete under another name, then link it.

    It is in WAL mode, and never seen half made.

    Raises:
        CorruptJournal: The file is gone, yet something beside it knows of its events.
        StorageError: The home cannot be written.
    """
    folder = os.path.dirname(path)
    # The file is looked for again: another process may have made it, and its log, since
    # it was missed.
    newest = newest_known(path)
    has_traces = newest.seq or log_size(path)
    if has_traces and not os.path.exists(path):
        left = "its log is there"
        if newest.seq:
            left = f"{newest.source} goes up to event {newest.seq}"
        raise CorruptJournal(f"{path} is gone, yet {left}; {WAYS_OUT}")
    draft = f"{path}.new-{os.getpid()}-{get_ident()}"
    try:
        make_folder(folder)
        make_file(draft)
        with explained(path):
            fill(draft)
        os.link(draft, path)
        sync_folder(folder)
    except FileExistsError:
        pass  # another process was first
    except OSError as error:
        advice = "choose a home that can be written, with --home or THEOREX_HOME"
        raise StorageError(
            f"cannot make the journal {path}: {error.strerror}; {advice}"
        ) from error
    finally:
        for name in (draft, f"{draft}-wal", f"{draft}-shm"):
            with suppress(FileNotFoundError):
                os.unlink(name)


def fill(draft: str) -> None:
    """Make an empty file a database in WAL mode with the schema of a journal.

    All of it is on the disk when this returns.
    """
    with open(
        os.path.join(os.path.dirname(__file__), "schema.sql"), encoding="utf-8"
    ) as file:
        schema = file.read()
    connection = sqlite3.connect(draft, isolation_level=None)
    try:
        # In WAL mode from the start: who opens it first must not have to switch it,
        # which SQLite does not wait for.
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
        connection.execute("PRAGMA synchronous = FULL")
        connection.executescript(f"BEGIN; {schema} COMMIT;")
    finally:
        connection.close()
