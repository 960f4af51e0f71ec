"""A home is its owner's alone: 0700, its files 0600. Standard library only; paths are texts."""

from __future__ import annotations

import os

FILE_MODE, FOLDER_MODE = 0o600, 0o700


def make_folder(folder: str) -> None:
    """Make a folder that only its owner may enter, and those above it, where there are none. Raises OSError."""
    above = os.path.dirname(folder)
    if above and above != folder and not os.path.isdir(above):
        make_folder(above)
    os.makedirs(folder or ".", mode=FOLDER_MODE, exist_ok=True)


def open_private(path: str, flags: int) -> int:
    """What `open` takes as its opener: a file that it makes only its owner may read."""
    return os.open(path, flags, FILE_MODE)


def make_file(path: str) -> None:
    """Make an empty file that only its owner may read. Raises OSError, also where it is there."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE))
