"""Which process this is, told from every other one: its machine, container, boot, number and start."""

import hashlib
import os
import socket
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

_MACHINE_ID_FILES = ("/etc/machine-id", "/var/lib/dbus/machine-id")
_BOOT_ID_FILE = "/proc/sys/kernel/random/boot_id"
_PID_NAMESPACE = "/proc/self/ns/pid"
_HASH_CHARACTERS = 16


class Process(NamedTuple):
    """A process. machine: a hash, equal on one machine only; container: its number space of processes, '' where there is
    one alone; boot: of the system, '' where that is not told; started: see `started`."""

    machine: str
    container: str
    boot: str
    pid: int
    started: str

    @property
    def place(self) -> str:
        """A hash of machine and container: where processes see each other by number."""
        return _hashed(self.machine, self.container)


def this_process() -> Process:
    """The process that asks; after a fork the child.

    >>> this_process() == this_process(), this_process().pid == os.getpid()
    (True, True)
    """
    return _process(os.getpid())


@lru_cache(maxsize=1)
def _process(pid: int) -> Process:
    boot = _text(_BOOT_ID_FILE)
    machine_id = next(filter(None, map(_text, _MACHINE_ID_FILES)), "")
    # Containers often have no number of their machine, and may be given one name on several: then a boot tells them apart.
    machine = _hashed(machine_id or boot, socket.gethostname())
    try:
        container = str(Path(_PID_NAMESPACE).stat().st_ino)
    except OSError:
        container = ""
    return Process(machine, container, boot, pid, started(pid))


def lives(given: dict[str, Any]) -> bool | None:
    """Whether the process lives that these values of a `Process` name; None where nobody can tell from here.

    Told is it of processes of this container, and of all of this machine that an earlier boot had.
    """
    here = this_process()
    if given.get("machine") != here.machine:
        return None
    if given.get("boot") != here.boot:
        return False
    pid = given.get("pid")
    if given.get("container") != here.container or os.name == "nt" or type(pid) is not int or pid < 1:
        return None
    found = started(pid)
    if not found and _is_hidden(pid):
        return None
    return found != "" and found == given.get("started")


def started(pid: int) -> str:
    """When the process began, as text that no later process with this pid has; '' where it has ended."""
    try:
        # The name in brackets may hold anything; after it come the state, and as the 20th the start in clock ticks.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        boot = Path(_BOOT_ID_FILE).read_text().strip()
    except FileNotFoundError:
        return "" if Path("/proc/self/stat").exists() else _started_by_ps(pid)
    except ProcessLookupError:
        return ""
    return "" if fields[0] in "ZX" else f"{boot} {fields[19]}"


def _started_by_ps(pid: int) -> str:
    asked = ["ps", "-o", "stat=,lstart=", "-p", str(pid)]
    try:
        shown = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.split(maxsplit=1)
    except OSError:  # there is no such command
        return ""
    return "" if len(shown) < 2 or shown[0].startswith("Z") else shown[1].strip()


def _is_hidden(pid: int) -> bool:
    """Whether the process is another user's: a system may hide those."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return False


def _text(file: str) -> str:
    try:
        return Path(file).read_text().strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _hashed(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:_HASH_CHARACTERS]
