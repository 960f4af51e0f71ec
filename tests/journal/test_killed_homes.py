"""Homes that kills leave are looked at once for each state, and no state is left out."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from faults import boundaries, quick_folder
from killed_homes import copied, every, killed_homes, states_of

from theorex_lab import Lab

pytestmark = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="needs processes that are forked"
)


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with quick_folder() as folder:
        yield folder


class OnlyHome:
    """Gives the folder of a home rather than a lab."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def __enter__(self) -> Any:
        return SimpleNamespace(folder=self.home)

    def __exit__(self, *_ended: object) -> None:
        pass


def _template(folder: Path) -> Path:
    home = folder / "template"
    (home / "deeper").mkdir(parents=True)
    (home / "file").write_bytes(b"old")
    (home / "deeper" / "file").write_bytes(bytes(100_000))
    return home


def _flip(home: Path) -> None:
    """Change a byte of an open file, as of one mapped to memory, and hide the time."""
    path = home / "deeper" / "file"
    before = path.stat()
    file = os.open(path, os.O_RDWR)
    os.pwrite(file, b"x", 50_000)
    os.close(file)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES: dict[str, Callable[[Path], object]] = {
    "a byte": _flip,
    "a name": lambda home: (home / "file").rename(home / "other"),
    "a file": lambda home: (home / "new").touch(),
    "a folder": lambda home: (home / "new").mkdir(),
    "an end": lambda home: os.truncate(home / "deeper" / "file", 99_999),
    "a right": lambda home: (home / "file").chmod(0o400),
    "a time": lambda home: os.utime(home / "file", ns=(1, 1)),
    "equal bytes": lambda home: shutil.copy(home / "file", home / "new").replace(
        home / "file"
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_whatever_a_step_changes_is_another_state(name: str, tmp_path: Path) -> None:
    template = _template(tmp_path)

    def step(lab: Lab) -> None:
        os.fsync(lab_file)
        os.fsync(lab_file)
        CHANGES[name](lab.folder)
        os.fsync(lab_file)
        os.fsync(lab_file)

    lab_file = os.open(template / "file", os.O_RDONLY)
    passed = boundaries(template, tmp_path, step, opening=OnlyHome)
    states = []
    for killed in killed_homes(
        template, tmp_path, step, every(passed), opening=OnlyHome
    ):
        states.append((killed.boundaries, states_of(killed.home)))
    os.close(lab_file)
    numbers = [number for names, _ in states for number in names]
    assert numbers == [*every(passed)], "each boundary belongs to one state"
    first, last = states[0], states[-1]
    assert [*first[0].values()][:2] == ["fsync", "fsync"]
    assert [*last[0].values()] == ["fsync", "fsync", "end"]
    assert len(states) >= 2


def test_a_process_that_outlives_its_kill_is_an_error(tmp_path: Path) -> None:
    template = _template(tmp_path)
    with pytest.raises(AssertionError):
        list(killed_homes(template, tmp_path, print, {9: "end"}, opening=OnlyHome))


def test_a_copy_is_the_home_and_nothing_of_it(tmp_path: Path) -> None:
    """Names, bytes, rights and times are equal; the files are others."""
    home = _template(tmp_path)
    (home / "file").chmod(0o640)
    os.utime(home / "file", ns=(5, 7))
    copy = copied(home, tmp_path / "copy")
    shutil.copytree(home, tmp_path / "usual")
    of_home, of_copy, usual = (
        _below(folder) for folder in (home, copy, tmp_path / "usual")
    )
    assert of_copy == of_home == usual
    numbers = {state.number for state in states_of(home).values()}
    assert not numbers & {state.number for state in states_of(copy).values()}


def _below(home: Path) -> dict[str, tuple[int, int, bytes]]:
    return {
        path.removeprefix(str(home)): (state.rights, state.changed_at, state.content)
        for path, state in states_of(home).items()
    }
