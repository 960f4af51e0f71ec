"""A folder that one export at a time writes into, and that another one replaces at once.

The lock is on the folder itself, so that no file is left beside it, and the system gives
it back when the process dies.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from theorex_lab.core.errors import StorageError
from theorex_lab.core.files import make_folder

_AT_CURRENT_FOLDER = -100
_EXCHANGE = 2


@contextmanager
def export_folder(folder: Path, *, shown: Path | None = None) -> Iterator[None]:
    """Make a folder where there is none, and hold it as the one export that writes there.

    On a system that cannot lock folders (Windows) nobody is kept out.

    Args:
        folder: The folder.
        shown: The folder that the error names; None for the same.

    Raises:
        StorageError: Another export writes into it now.
    """
    make_folder(str(folder))
    try:
        import fcntl
    except ImportError:
        yield
        return
    while True:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(descriptor)
            raise StorageError(
                f"another export writes into {shown or folder} now; allowed is one at a"
                " time: wait until it has ended, or give another folder"
            ) from error
        if _is_at(descriptor, folder):
            break
        os.close(descriptor)  # it has been moved to its place meanwhile
        make_folder(str(folder))
    try:
        yield
    finally:
        os.close(descriptor)


def _is_at(descriptor: int, folder: Path) -> bool:
    """Return whether an open folder still has this path."""
    try:
        return os.path.samestat(os.fstat(descriptor), folder.stat())
    except FileNotFoundError:
        return False


def exchange(folder: Path, other: Path) -> bool:
    """Let two folders take each other's names at once; False where that cannot be.

    Nobody ever sees that one of the names is missing. Linux can do it, on most of its
    file systems.

    Args:
        folder: The one.
        other: The other.
    """
    if sys.platform != "linux":
        return False
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    here = ctypes.c_int(_AT_CURRENT_FOLDER)
    names = [ctypes.c_char_p(os.fsencode(path)) for path in (folder, other)]
    failed = rename(here, names[0], here, names[1], ctypes.c_uint(_EXCHANGE))
    return not failed
