"""Files by which a machine sees that a process that held a lease is gone.

Whoever holds a lease keeps a file of the home locked. The system unlocks it when the
process ends, however it ends. So the next one on this machine need not wait until the
lease expires. A lease that another machine holds has no file here.

A file may be copied with its home to another machine, and nothing there would lock it.
So it names the start of the machine that made it, and its own number on the disk.
"""

from __future__ import annotations

import re
from contextlib import ExitStack, suppress
from pathlib import Path

from theorex_lab.core.files import exclusive

_FOLDER = "leases"
_TOKEN = re.compile(r"[0-9A-Za-z]{1,32}", re.ASCII)
_START_OF_MACHINE = Path("/proc/sys/kernel/random/boot_id")
# By their tokens.
_locked: dict[str, ExitStack] = {}


def lock_for(home_folder: Path, token: str) -> None:
    """Lock the file of a lease until `unlock`, or until this process ends.

    Where that cannot be done, the lease ends with its expiry alone.
    """
    path = home_folder / _FOLDER / token
    with suppress(OSError), ExitStack() as stack:
        is_locked = stack.enter_context(exclusive(path, wait=False))
        if is_locked:
            origin = _origin(path)
            path.write_text(origin, encoding="ascii")
            _locked[token] = stack.pop_all()


def unlock(home_folder: Path, token: str, *, is_over: bool) -> None:
    """Unlock the file of a lease, where this process locked it.

    Args:
        home_folder: The folder of the home.
        token: What tells the lease from others.
        is_over: Whether the journal says that the lease is over; else the file stays,
            and tells that nobody works under it.
    """
    stack = _locked.pop(token, None)
    if stack is None:
        return
    path = home_folder / _FOLDER / token
    with suppress(OSError), stack:
        if is_over:
            path.unlink(missing_ok=True)


def remove_abandoned(home_folder: Path) -> None:
    """Remove the files of processes that are gone; their leases must be over."""
    folder = home_folder / _FOLDER
    with suppress(OSError):
        for path in folder.iterdir():
            with exclusive(path, wait=False) as is_unlocked:
                if is_unlocked:
                    path.unlink(missing_ok=True)


def is_abandoned(home_folder: Path, token: str) -> bool:
    """Return whether a process of this machine held a lease, and is gone."""
    if not _TOKEN.fullmatch(token):  # it may come from another machine
        return False
    path = home_folder / _FOLDER / token
    try:
        origin = path.read_text(encoding="ascii")
        if origin != _origin(path):
            return False
        with exclusive(path, wait=False) as is_unlocked:
            return is_unlocked
    except (OSError, ValueError):
        return False


def _origin(path: Path) -> str:
    """Return the start of this machine and the number of a file on its disk.

    Raises:
        OSError: This system does not tell.
    """
    start = _START_OF_MACHINE.read_text(encoding="ascii")
    file_number = path.stat().st_ino
    return f"{start.strip()} {file_number}"
