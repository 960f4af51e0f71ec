"""Homes whose process was killed at each boundary of a step, one for each state.

A step passes boundaries at which nothing is written yet: SQLite holds the rows of a
transaction back until its commit, and a lock that is taken leaves no byte. Whoever is
killed at two such boundaries leaves the same home. What is done with that home next
depends on its bytes and on the clock, which stands still in these tests. So a second
look at the same bytes can show nothing that the first did not.

The process is still killed at each boundary. Chance draws ids and names of drafts, so
that two processes never leave the same bytes. So the process that is to be killed waits
at the boundary of the home that was looked at last. What its home holds then is
compared with what it holds after the kill: each file with all its bytes, and also its
number, its rights and the time of its last change. Where one of these differs, the home
is another state and is looked at.
"""

from __future__ import annotations

import os
import shutil
import signal
import stat
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from faults import Boundaries, Opening, Step, documented


class KilledHome(NamedTuple):
    """A home that a kill left, and each boundary that leaves the same one."""

    home: Path
    boundaries: dict[int, str]


class FileState(NamedTuple):
    """All of a file that whoever opens its home may read."""

    number: int
    rights: int
    changed_at: int
    content: bytes


def every(passed: Sequence[str]) -> dict[int, str]:
    """Return the names of all boundaries by their numbers, from 1 on."""
    return dict(enumerate(passed, 1))


def killed_homes(
    template: Path,
    folder: Path,
    step: Step,
    boundaries: Mapping[int, str],
    *,
    opening: Opening = documented,
) -> Iterator[KilledHome]:
    """Kill a step at each of these boundaries, and yield each state that a kill left.

    A home is removed when the next one is asked for.

    Args:
        template: The home of which each killed process has a copy.
        folder: Where the copies are made.
        step: What is killed.
        boundaries: Names by their numbers, which ascend: see `faults.boundaries`.
        opening: How the step's home is opened.
    """
    last: KilledHome | None = None
    for number, name in boundaries.items():
        home = copied(template, folder / f"killed-{number}")
        looked_at = min(last.boundaries) if last else 0
        killing = Killing(home, step, opening)
        if killing.changed_since(looked_at, number):
            if last:
                yield last
                shutil.rmtree(last.home)
            last = KilledHome(home, {number: name})
        else:
            assert last
            last.boundaries[number] = name
            shutil.rmtree(home)
    if last:
        yield last
        shutil.rmtree(last.home)


class Killing(NamedTuple):
    """A step that a child of this process does in a home until it is killed."""

    home: Path
    step: Step
    opening: Opening

    def changed_since(self, earlier: int, number: int) -> bool:
        """Kill the step at a boundary: whether the home changed since an earlier one.

        It counts as changed where the earlier one is 0, at which no process waits.
        """
        waits, tell_waiting = os.pipe()
        may_go_on, let_go_on = os.pipe()

        def wait() -> None:
            os.write(tell_waiting, b".")
            os.read(may_go_on, 1)

        child = os.fork()
        if child == 0:
            seen = Boundaries(self.home, number, wait_at=earlier, wait=wait)
            self._do_as_child(seen)
        os.close(tell_waiting)
        # It ends without a byte where the child ended before it waited.
        is_waiting = os.read(waits, 1) != b""
        before = states_of(self.home) if is_waiting else None
        os.write(let_go_on, b".")
        ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        for end in (waits, may_go_on, let_go_on):
            os.close(end)
        assert ended == -signal.SIGKILL
        assert is_waiting == (earlier > 0)
        return before is None or before != states_of(self.home)

    def _do_as_child(self, seen: Boundaries) -> None:
        """Do the step, which kills this process. It never returns."""
        try:
            seen.install()
            with self.opening(self.home) as lab:
                self.step(lab)
                seen.reach("end")
        # Whatever happens ends here: above stands a copy of the test run.
        except BaseException:  # noqa: BLE001
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(1)


def states_of(home: Path) -> dict[str, FileState]:
    """Return everything in a home by its path; a folder has no content."""
    states = {}
    for folder, _folders, names in os.walk(home):
        states[folder] = _state(Path(folder).lstat(), b"")
        for name in names:
            path = f"{folder}/{name}"
            states[path] = _state(*_read(path))
    return states


def _state(status: os.stat_result, content: bytes) -> FileState:
    return FileState(status.st_ino, status.st_mode, status.st_mtime_ns, content)


def _read(path: str) -> tuple[os.stat_result, bytes]:
    """Return a file's status and content, by as few calls of the system as it takes."""
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        status = os.fstat(file)
        content = os.read(file, status.st_size)
    finally:
        os.close(file)
    assert len(content) == status.st_size, path
    return status, content


def copied(home: Path, target: Path) -> Path:
    """Copy a home as `shutil.copytree` does, in half of its time.

    A home has hundreds of small files, and nothing but files and folders.
    """
    target.mkdir()
    with os.scandir(home) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                copied(home / entry.name, target / entry.name)
            else:
                _copy_file(entry.path, f"{target}/{entry.name}")
    shutil.copystat(home, target)
    return target


def _copy_file(path: str, target: str) -> None:
    status, content = _read(path)
    file = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        assert os.write(file, content) == len(content), target
        os.fchmod(file, stat.S_IMODE(status.st_mode))
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    finally:
        os.close(file)
