"""A home is its owner's alone: 0700, its files 0600. Standard library only; paths are texts."""

from __future__ import annotations

import os
import stat

FILE_MODE, FOLDER_MODE = 0o600, 0o700
_OTHERS = 0o077


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


def tighten(folder: str) -> str:
    """Take from others what they may do with a home and all that is in it; says so where something was changed, else ''.

    Left as they are: folders of another owner, and those that serve others too (sticky ones, mount points, the user's
    own home folder).
    """
    folder = folder or "."
    if os.name == "nt":
        return ""
    found = os.stat(folder)
    if not found.st_mode & _OTHERS or not _is_ours(folder, found):
        return ""
    _take_from_others(folder, found)
    if os.stat(folder).st_mode & _OTHERS:
        return ""  # on a disk that may only be read
    for parent, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = os.path.join(parent, name)
            _take_from_others(path, os.lstat(path))
    return (
        f"{folder} could be read by other users of this machine ({stat.S_IMODE(found.st_mode):o}); now only its owner "
        "can. Nothing in it was lost"
    )


def _is_ours(folder: str, found: os.stat_result) -> bool:
    if found.st_uid != os.geteuid() or found.st_mode & stat.S_ISVTX or os.path.ismount(folder):
        return False
    own = os.path.expanduser("~")
    return not (os.path.isdir(own) and os.path.samefile(folder, own))


def _take_from_others(path: str, found: os.stat_result) -> None:
    """What goes away meanwhile, and what may not be changed, stays as it is."""
    if not found.st_mode & _OTHERS or not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
        return
    try:
        os.chmod(path, stat.S_IMODE(found.st_mode) & ~_OTHERS)
    except OSError:
        return
