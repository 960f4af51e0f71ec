"""Homes of a given number of events, that look like those of years of work: fifty
projects, simulated coding sessions in each, and texts that agents wrote.
"""

import json
import sys
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.measure import observations
from theorex_lab.core.clock import (
    MICROSECONDS_PER_DAY,
    FixedClock,
    to_datetime,
    to_microseconds,
)
from theorex_lab.journal.event import Event
from theorex_lab.store.lab import Lab

PROJECTS = 50
WRITTEN_SHARE = 0.1  # of all events: texts that agents wrote
_START = to_microseconds("2026-01-05T00:00:00Z")
_LINES_A_DAY = 10  # of one project, fewer than the simulation makes on average
_MOST_DAYS = 3_650
_HELPERS = Path(__file__).parents[1] / "tests" / "helpers"
_TRANSCRIPTS = "transcripts"


class GrowthGround(NamedTuple):
    """The data of one size: hook lines of each project in a folder, and the time after
    the last of them.
    """

    transcripts: Path
    events: int
    days: int

    @property
    def now(self) -> str:
        """The present of every command that is measured, ISO 8601."""
        end = to_datetime(_START + (self.days + 2) * MICROSECONDS_PER_DAY)
        return f"{end:%Y-%m-%dT%H:%M:%SZ}"


def lay_transcripts(folder: Path, events: int) -> GrowthGround:
    """Return the hook lines of so many events; they are made where the folder has none.

    The same projects go on for longer in a larger home: as many days as it takes.
    Each project is the simulation of another seed.
    """
    lines_of_project = ceil(events * (1 - WRITTEN_SHARE) / PROJECTS)
    days = min(_MOST_DAYS, ceil(lines_of_project / _LINES_A_DAY) + 10)
    ground = GrowthGround(folder / f"{_TRANSCRIPTS}-{events}", events, days)
    if ground.transcripts.is_dir():
        return ground
    simulate = _simulation()
    partial_folder = ground.transcripts.with_suffix(".partial")
    partial_folder.mkdir(parents=True, exist_ok=True)
    for number in range(PROJECTS):
        lines = simulate(seed=number, days=days)[:lines_of_project]
        file = partial_folder / f"{project_name(number)}.jsonl"
        file.write_text("".join(_encoded(lines, number)), encoding="utf-8")
    partial_folder.rename(ground.transcripts)
    return ground


def project_name(number: int) -> str:
    """Return what a project is called.

    >>> project_name(7)
    'growth-07'
    """
    return f"growth-{number:02d}"


def _encoded(lines: list[dict[str, Any]], number: int) -> Iterator[str]:
    """Yield the lines with a session and a folder that no other project has."""
    for line in lines:
        session = f"{project_name(number)}-{line['session_id']}"
        folder = f"/srv/{project_name(number)}"
        yield json.dumps({**line, "session_id": session, "cwd": folder}) + "\n"


def _simulation() -> Any:
    """Return the project's own simulation of sessions, which its tests hold too."""
    if str(_HELPERS) not in sys.path:
        sys.path.append(str(_HELPERS))
    return partial(import_module("simulate_sessions").simulate_sessions)


def written_texts(ground: GrowthGround) -> Iterator[Event]:
    """Yield the texts that agents wrote, spread evenly over the days."""
    count = int(ground.events * WRITTEN_SHARE)
    span = ground.days * MICROSECONDS_PER_DAY
    times = np.linspace(_START, _START + span, count).astype(int).tolist()
    for event, at in zip(observations(count), times, strict=True):
        yield event._replace(at=at)


def add_written_texts(home: Path, ground: GrowthGround) -> None:
    """Append the texts that agents wrote to a home."""
    clock = FixedClock.at(ground.now)
    with Lab(home, clock=clock) as lab:
        lab.journal.append(list(written_texts(ground)))
