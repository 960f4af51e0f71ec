"""Processes that write to a home beside each other, started as copies of a small one.

With all tests collected, the process of the tests is several times as large as one that
imported the package. To copy it and to end the copy takes longer than much of what such
a process does. And it may have the journal open, whose locks are not those of a copy.
So these are copies of a process that has imported this module alone.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from multiprocessing import forkserver
from multiprocessing.context import BaseContext
from pathlib import Path

from conftest import NOW, observation
from faults import VIEWS, opened, tool_event
from shared_file import spooled

from theorex_lab import FixedClock
from theorex_lab.files.formats.home_files import export_home
from theorex_lab.journal.event import new_event
from theorex_lab.journal.sqlite.store import SqliteJournal

SECRET = "the vault opens with 4711"


def context() -> BaseContext:
    """Return how these processes are started."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    # The process that is copied imports this module before it gets this path.
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    try:
        forkserver.ensure_running()
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before
    return context


def write(folder: Path, name: str, done: int, target: int) -> None:
    """Append events up to a target, and note each that the journal acknowledged."""
    journal = SqliteJournal(folder / "home" / "theorex.db", clock=FixedClock(NOW))
    with _notes(folder, name).open("a", buffering=1) as acknowledged:
        for number in range(done, target):
            event = observation(f"{name} {number}", labels=[f"concept {number % 20}"])
            journal.append([event])
            acknowledged.write(event.id + "\n")


def keep(folder: Path, name: str) -> None:
    """Work beside the writers, over and over.

    One process scans and writes snapshots, another archives, erases and exports.
    """
    while not (folder / "stop").exists():
        with opened(folder / "home", snapshotAfterEvents=100) as lab:
            if name == "scan":
                lab.theorex.scan()
                for kind in VIEWS:
                    lab.views.snapshot(lab.views.get(kind))
                continue
            ended = new_event("session_ended", {}, agent="main", session="s1", at=NOW)
            events = [observation(SECRET), tool_event("ok"), tool_event(SECRET), ended]
            lab.journal.append(events)
            lab.archive(NOW + 1)
            lab.erase(match=SECRET)
            export_home(lab.home, lab.searcher, folder / "export", replace=True)


def write_to_spool(folder: Path, home: str, name: str, n_events: int) -> None:
    """Append events to the spool of a home, note each, and forward now and then."""
    journal = spooled(folder / home, folder / "shared.db")
    with _notes(folder, name).open("a", buffering=1) as acknowledged:
        for number in range(n_events):
            event = observation(f"{name} {number}")
            journal.append([event])
            acknowledged.write(event.id + "\n")
            if number % 100 == 50:
                journal.forward()


def acknowledged_ids(folder: Path, name: str) -> list[str]:
    """Return the ids of the events that a writer noted."""
    file = _notes(folder, name)
    return file.read_text().splitlines() if file.exists() else []


def _notes(folder: Path, name: str) -> Path:
    return folder / f"acknowledged-{name}"
