"""Tests that fork dozens of times, done in a process that costs little to fork.

A fork copies the table of its parent's pages, and parent and child then copy each page
that either writes to. With all tests collected, this process has some 420 MB of its own.
To kill a child in it took two to four times as much processor time as in one that has
imported the package and one test file alone. So such a test is done by a process of
that size, the forks within it included.

Where few tests are collected, this process is small itself, and does its tests: what
failed is then explained as pytest explains it.
"""

from __future__ import annotations

import functools
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from writing_processes import context

from theorex_lab import installed

# Twice what a process holds that collected one file.
_FEWEST_BYTES_OF_LARGE = 300 << 20
_MEMORY = Path("/proc/self/statm")


class Task(NamedTuple):
    """A test that another process does: where it stands, and what it is called with.

    A `MonkeyPatch` among its fixtures is another one there, and is none of the
    arguments. `active` are the designs that take part by default.
    """

    module: str
    name: str
    arguments: dict[str, Any]
    patched: tuple[str, ...]
    active: frozenset[str]


def in_small_process(test: Callable[..., None]) -> Callable[..., None]:
    """Let a small process do a test, where this one is large.

    Its fixtures are to be what can be sent there, or a `MonkeyPatch`. What they patch
    here is not patched there.
    """

    @functools.wraps(test)
    def sent(**fixtures: Any) -> None:
        if not _is_large():
            test(**fixtures)
            return
        failure = _failure_of(_task(test, fixtures))
        if failure:
            pytest.fail(f"in a process of its own:\n{failure}", pytrace=False)

    return sent


def _task(test: Callable[..., None], fixtures: Mapping[str, Any]) -> Task:
    arguments = dict(fixtures)
    patched = [
        name
        for name, value in fixtures.items()
        if isinstance(value, pytest.MonkeyPatch)
    ]
    for name in patched:
        del arguments[name]
    active = [design.name for design in installed() if design.active_by_default]
    return Task(
        test.__module__, test.__name__, arguments, tuple(patched), frozenset(active)
    )


def _is_large() -> bool:
    """Return whether a fork of this process costs much; not where nobody says it."""
    if not _MEMORY.exists():
        return False
    n_pages = int(_MEMORY.read_text("utf-8").split()[1])
    return n_pages * os.sysconf("SC_PAGE_SIZE") >= _FEWEST_BYTES_OF_LARGE


def _failure_of(task: Task) -> str:
    """Let a small process do a task: how it failed, '' where it did not."""
    processes = context()
    answers, answering = processes.Pipe(duplex=False)
    process = processes.Process(target=_answer, args=(task, answering))
    process.start()
    answering.close()
    with answers:
        try:
            failure = str(answers.recv())
        except EOFError:
            failure = "it ended without an answer"
    process.join()
    if process.exitcode and not failure:
        failure = f"it ended with the code {process.exitcode}"
    process.close()
    return failure


def _answer(task: Task, answering: Connection) -> None:
    """Do a task, and send how it failed. A warning fails it, as everywhere here."""
    warnings.simplefilter("error")
    unraisable: list[str] = []
    sys.unraisablehook = lambda raised: unraisable.append(repr(raised.exc_value))
    try:
        _do(task)
    # Whatever it is: the process that asked says it.
    except BaseException:  # noqa: BLE001
        answering.send(traceback.format_exc())
    else:
        answering.send("\n".join(unraisable))
    answering.close()


def _do(task: Task) -> None:
    for design in installed():
        vars(design)["active_by_default"] = design.name in task.active
    test = getattr(import_module(task.module), task.name).__wrapped__
    with pytest.MonkeyPatch.context() as monkeypatch:
        test(**task.arguments, **dict.fromkeys(task.patched, monkeypatch))
