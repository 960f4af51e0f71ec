"""Files that a crash cannot tear, and locks that the system gives back.

Standard library only.
"""

from __future__ import annotations

import os
from contextlib import contextmanager

from theorex_lab.core.errors import StorageError

TYPE_CHECKING = (
    False  # what type checkers take for true; agents start a process for every event
)
if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

# A home is its owner's alone.
FILE_MODE = 0o600
FOLDER_MODE = 0o700


def make_folder(folder: str) -> None:
    """Make a folder that only its owner may enter, where there is none.

    The folders above it are made too.

    Raises:
        OSError: The system refuses it.
    """
    above = os.path.dirname(folder)
    if above and above != folder and not os.path.isdir(above):
        make_folder(above)
    os.makedirs(folder or ".", mode=FOLDER_MODE, exist_ok=True)


def open_private(path: str, flags: int) -> int:
    """Open a file, as `open` takes an opener, so that only its owner may read it.

    That holds for a file that it makes.
    """
    return os.open(path, flags, FILE_MODE)


def make_file(path: str) -> None:
    """Make an empty file that only its owner may read.

    Raises:
        OSError: The system refuses it, or the file is there.
    """
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE))


@contextmanager
def told(what: str, advice: str = "remove it by hand, and repeat") -> Iterator[None]:
    """Turn what the system refuses within into a StorageError.

    Args:
        what: What cannot be done.
        advice: What to do about it.

    Raises:
        StorageError: The system refused something; it says what cannot be done, why,
            and what to do.
    """
    try:
        yield
    except OSError as error:
        raise StorageError(f"{what}: {error.strerror}; {advice}") from error


def writing(place: object, advice: str) -> AbstractContextManager[None]:
    """Turn refusals into errors as `told`, for a path that cannot be written."""
    return told(f"{place} cannot be written", advice)


def write_atomically(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Replace a file as a whole: temporary file, fsync, rename, fsync of the folder.

    After a crash there is the old content or the new, never a part. Without `mode`,
    other users may do with the file no more than with its folder.
    """
    with drafted(path) as draft, draft.open("xb") as file:
        if os.name != "nt":
            made = os.fstat(file.fileno()).st_mode
            os.fchmod(
                file.fileno(),
                made & path.parent.stat().st_mode & 0o777 if mode is None else mode,
            )
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def drafted(path: Path) -> Iterator[Path]:
    """Yield the path at which to write what takes the place of a file.

    It takes its place at the end, as a whole. Where that fails, nothing is left.

    Args:
        path: The file.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}")
    try:
        yield draft
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    sync_folder(path.parent)


def sync_folder(folder: str | Path) -> None:
    """Make what was linked or renamed in `folder` durable.

    Nothing is done where the system cannot open a folder.
    """
    if os.name == "nt":
        return
    handle = os.open(folder or ".", os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def exclusive(path: Path, *, wait: bool) -> Iterator[bool]:
    """Hold the lock file at `path`, and yield whether it is held.

    The system gives the lock back when the process dies. Where there is no flock
    (Windows) it always yields True: snapshots are written under names of their own, so
    that two writers waste work but break nothing.

    Args:
        path: The lock file.
        wait: Whether to wait for it; if not, False is yielded at once where it is
            taken.
    """
    try:
        import fcntl
    except ImportError:
        yield True
        return
    make_folder(str(path.parent))
    with open(path, "ab", opener=open_private) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        yield True
