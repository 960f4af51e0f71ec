"""Files that others made: read to their end and no further, whatever they are.

Standard library only.

A name may stand for a pipe, which is waited for, or for a device without end.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from theorex_lab.core.errors import InvalidInput, StorageError

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)


@contextmanager
def open_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading.

    Raises:
        InvalidInput: For what is no file.
        StorageError: Where it cannot be read.
    """
    try:
        _refuse_other(path, path.stat().st_mode)
        # Should it have become a pipe since: with this flag none is waited for.
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        with open(os.open(path, flags), "rb") as file:  # noqa: PTH123 - pathlib opens no handles
            _refuse_other(path, os.fstat(file.fileno()).st_mode)
            yield file
    except OSError as error:
        raise StorageError(
            f"cannot read {path}: {error.strerror}; check the path and its permissions"
        ) from error


def check_inside(folder: Path, file: Path) -> None:
    """Raise InvalidInput for a file that a link in the folder takes from elsewhere.

    It is not the folder's to give.
    """
    if file.is_file() and not file.resolve().is_relative_to(folder.resolve()):
        raise InvalidInput(
            "got a file that a link takes from outside of the folder; allowed are files of its own"
        )


def read_file(path: Path) -> bytes:
    """Return the bytes of a file; raise as `open_file` does."""
    with open_file(path) as file:
        return file.read()


def _refuse_other(path: Path, mode: int) -> None:
    if stat.S_ISREG(mode):
        return
    kind = "a device"
    for is_kind, name in _KINDS:
        if is_kind(mode):
            kind = name
    raise InvalidInput(f"got {path}, which is {kind}; allowed is a file")
