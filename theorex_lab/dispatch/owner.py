"""Whose a running call is, and when a call that has no END is given up as lost.

A START names its owner by a lock file, which its process holds until the call has ended; in the name is the place, a hash of machine and container.

- The lock is of this place and nobody holds it: the call is lost. The system gives a lock back when a process dies; a
  child that was forked during a call holds it too.
- The lock is of another place, or the system has no such locks: the call is lost once
  `lost_after_seconds` have passed since its START. The START states them: ten times what the call may take at most,
  and an hour at least, since clocks differ and machines sleep.
- Nobody is named, as in a trace that was imported: the call is lost.
"""

import hashlib
import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from theorex_lab.dispatch.bus import End, Start
from theorex_lab.dispatch.traces import Traces
from theorex_lab.ids import derived_event_id, new_event_id
from theorex_lab.journal.base import Journal, append_once
from theorex_lab.journal.event import Body, Event
from theorex_lab.journal.files import exclusive, told
from theorex_lab.journal.view import Views

LOST = "the process ended during the call"
OUT_OF_SIGHT = "no end came, and nobody here can see the process that made the call"
_LOCK = re.compile(r"[0-9a-f]{16}-[0-9a-f-]{36}")
_LONGEST_TIMES, _SHORTEST_SECONDS = 10.0, 3_600.0
# Containers often have no number of their machine, and may be given one name on several: then a boot tells them apart.
_MACHINE_FILES = ("/etc/machine-id", "/var/lib/dbus/machine-id", "/proc/sys/kernel/random/boot_id")
_HAS_FLOCK = find_spec("fcntl") is not None
_PID_NAMESPACE = Path("/proc/self/ns/pid")


def lost_after_seconds(longest_seconds: float) -> float:
    """How long after its START a call is waited for that nobody can see, where it takes `longest_seconds` at most.

    >>> lost_after_seconds(30), lost_after_seconds(1_800)
    (3600.0, 18000.0)
    """
    return max(_SHORTEST_SECONDS, _LONGEST_TIMES * longest_seconds)


@contextmanager
def alive(folder: Path, at: int) -> Iterator[Body]:
    """Hold the lock of a call inside: a sign of life that the system gives back when the process dies.

    Yields what a START says of its owner; `at`: µs UTC. Raises StorageError where the lock file cannot be made.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with alive(Path(folder), 0) as owner:
    ...         held = [path.stem == owner["lock"] for path in Path(folder).iterdir()]
    ...     left = list(Path(folder).iterdir())
    >>> held, left
    ([True], [])
    """
    lock = f"{this_place()}-{new_event_id(at)}"
    draft = folder / f".{lock}"
    with ExitStack() as held:
        with told(f"cannot lock {draft}", "make the folder one that can be written"):
            held.enter_context(exclusive(draft, wait=True))
            # Named once it is locked, so that nobody ever finds the file of a living process without its lock.
            if draft.exists():  # it does not where the system has no flock
                draft.rename(_lock_file(folder, lock))
        try:
            yield {"lock": lock}
        finally:
            with suppress(OSError):  # without its lock a file says nothing; the next who opens removes it
                _lock_file(folder, lock).unlink(missing_ok=True)


def close_lost(views: Views, folder: Path, at: int) -> list[str]:
    """Close the open traces that are lost by the rule above; returns their ids, in the order of their STARTs.

    `folder`: where the owners' lock files are; those of this place that nobody holds are removed. `at`: µs UTC.
    """
    with views.reading(Traces) as view:
        ids = [derived_event_id("trace started", trace_id) for trace_id in view.open]
    closed = []
    for start in views.journal.read(ids=ids):
        with _given_up(start, folder, at) as problem:
            if problem and _close(views.journal, start, at, problem):
                closed.append(start.body["trace_id"])
    for path in folder.glob(f"{this_place()}-*.lock"):
        with _is_free(folder, path.stem):
            pass
    return closed


@contextmanager
def _given_up(start: Event, folder: Path, at: int) -> Iterator[str]:
    """Why the call is lost, '' where it is not; its lock is held meanwhile."""
    owner = start.body.get("owner")
    lock = owner.get("lock") if isinstance(owner, dict) else None
    if not isinstance(owner, dict):
        yield LOST
    elif _HAS_FLOCK and isinstance(lock, str) and _LOCK.fullmatch(lock) and lock.startswith(this_place()):
        with _is_free(folder, lock) as free:
            yield LOST if free else ""
    else:
        yield OUT_OF_SIGHT if (at - start.at) / 1e6 > start.body["lost_after_seconds"] else ""


@contextmanager
def _is_free(folder: Path, lock: str) -> Iterator[bool]:
    """Whether nobody holds the lock; it is held meanwhile, and its file is removed."""
    path = _lock_file(folder, lock)
    with ExitStack() as held:
        try:
            free = held.enter_context(exclusive(path, wait=False))
        except OSError:  # another user's, for instance
            free = False
        yield free
        if free:
            with suppress(OSError):  # it is tried again when a home is opened
                path.unlink(missing_ok=True)


def _close(journal: Journal, started: Event, at: int, problem: str) -> bool:
    """Append the END of a lost trace; False where it has ended meanwhile."""
    body = started.body
    start = Start(body["trace_id"], started.agent, started.at, "", body["query_type"], session=started.session)
    end = End(start.trace_id, at, success=False, model=body["model"] or "", error=problem, lost=True)
    return append_once(journal, [end.event(start)])


def _lock_file(folder: Path, lock: str) -> Path:
    return folder / f"{lock}.lock"


@cache
def this_place() -> str:
    """A hash of the machine and the container, in which the locks of processes are seen.

    >>> len(this_place()), this_place() == this_place()
    (16, True)
    """
    stated = (file.read_text().strip() for file in map(Path, _MACHINE_FILES) if file.is_file())
    machine = next(filter(None, stated), "")
    container = str(_PID_NAMESPACE.stat().st_ino) if _PID_NAMESPACE.exists() else ""
    place = "\x1f".join((machine, socket.gethostname(), container))
    return hashlib.sha256(place.encode("utf-8", "surrogateescape")).hexdigest()[:16]
