"""How costs of a journal grow with its events, in a PostgreSQL database or a file.

    python -m benchmarks.postgres_growth --source HOME \
        [--url postgresql://USER@HOST/DATABASE] [--sizes 10000 100000 1000000]

The database must be empty: a throw-away one. Without a URL, an SQLite home in a
temporary folder is measured. It is filled from the journal of HOME, an SQLite home, up
to each size in turn, and measured there: an event of a batch, an event alone, opening,
and the briefing of the project with most events, each command in a process of its own.
Times are processor time of the client, without the server's. Printed is JSON, a line
for each size, and one with the exponents.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import click
import numpy as np

from benchmarks import measure
from benchmarks.growth_fit import fit_growth
from theorex_lab import Lab
from theorex_lab.core.clock import SystemClock
from theorex_lab.journal.base import Journal
from theorex_lab.journal.directory import directory_view
from theorex_lab.journal.event import Event, new_event
from theorex_lab.journal.shared_postgres import connected_to
from theorex_lab.journal.sqlite.batches import stored_rows
from theorex_lab.journal.sqlite.opening import DATABASE_FILE
from theorex_lab.journal.sqlite.store import SqliteJournal

_BATCH_ROWS = 5_000
_N_SINGLE = 200
_N_REOPENED = 3
_LIMIT_SECONDS = "900"


def processor_seconds(work: Callable[[], object]) -> float:
    """Return the processor time that some work takes in this process."""
    start = time.process_time()
    work()
    return time.process_time() - start


class MeasuredJournal(Protocol):
    """A journal that is filled and opened."""

    def fill(self, source: SqliteJournal, after: int, upto: int) -> float:
        """Take in the events of a stretch; return the seconds that this took."""

    def opened(self) -> Journal:
        """Return the journal, opened anew."""


class FileJournal:
    """The journal of an SQLite home."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def fill(self, source: SqliteJournal, after: int, upto: int) -> float:
        """See `MeasuredJournal`: reading the source is not counted."""
        journal = self.opened()
        seconds = 0.0
        batch: list[Event] = []
        for event in source.tail(after, upto=upto):
            batch.append(event)
            if len(batch) == _BATCH_ROWS or event.seq == upto:
                start = time.process_time()
                journal.append(batch, allow_future=True)
                seconds += time.process_time() - start
                batch = []
        journal.close()
        return seconds

    def opened(self) -> Journal:
        """See `MeasuredJournal`."""
        return SqliteJournal(self.home / DATABASE_FILE)


class DatabaseJournal:
    """The journal of a PostgreSQL database, forwarded to as from a spool."""

    def __init__(self, home: Path, url: str) -> None:
        self.home = home
        self.url = url
        content = json.dumps({"journalUrl": url})
        (home / "config.json").write_text(content, encoding="utf-8")

    def fill(self, source: SqliteJournal, after: int, upto: int) -> float:
        """See `MeasuredJournal`."""
        shared = connected_to(self.url, self.home, clock=SystemClock())
        start = time.process_time()
        while after < upto:
            rows = stored_rows(source, after, upto, _BATCH_ROWS)
            shared.append_rows(rows)
            after = rows[-1].seq
        seconds = time.process_time() - start
        shared.journal.close()
        return seconds

    def opened(self) -> Journal:
        """See `MeasuredJournal`."""
        return connected_to(self.url, self.home, clock=SystemClock()).journal


def append_each(journal: Journal) -> None:
    """Append events one by one, of a project that is not measured."""
    for number in range(_N_SINGLE):
        body = {
            "text": f"Count the receipts of day {number}.",
            "source": "user",
            "project": "appended-alone",
        }
        event = new_event(
            "prompt",
            body,
            agent="main",
            session="appended-alone",
            at=journal.clock.now(),
        )
        journal.append([event])


def fullest_project(home: Path) -> str:
    """Return the project with most events; the directory of the home is folded for it."""
    with Lab(home) as lab:
        directory = lab.views.get(directory_view())
        counts = np.bincount(directory.rows["project"])
        counts[0] = 0  # of no project
        return directory.projects[int(counts.argmax())]


def briefing_cost(home: Path, project: str) -> dict[str, Any]:
    """Return what the briefing of a project takes in a process of its own."""
    program = (
        *(measure.PYTHON, "-m", "benchmarks.limited", _LIMIT_SECONDS),
        *(measure.PYTHON, "-m", "theorex_lab", "--home", str(home)),
        *("briefing", "--project", project),
    )
    cost: dict[str, Any] = json.loads(measure.run(*program))
    return cost


def measured(
    target: MeasuredJournal, home: Path, source: SqliteJournal, stretch: tuple[int, int]
) -> dict[str, float]:
    """Return the figures of a journal that takes in a stretch of a source.

    Args:
        target: The journal.
        home: Its home.
        source: The journal that it is filled from.
        stretch: The seq behind which the stretch begins, and its last seq.
    """
    after, size = stretch
    filling = target.fill(source, after, size)
    journal = target.opened()
    appending = processor_seconds(lambda: append_each(journal))
    journal.close()
    opening = processor_seconds(target.opened)
    project = fullest_project(home)
    first = briefing_cost(home, project)
    again = [briefing_cost(home, project) for _ in range(_N_REOPENED)]
    return {
        "events": size,
        "batch_us": round(filling / (size - after) * 1e6, 1),
        "append_us": round(appending / _N_SINGLE * 1e6, 1),
        "open_ms": round(opening * 1e3, 2),
        "first_briefing_s": round(first["seconds"], 2),
        "first_briefing_mb": round(first["peak_bytes"] / 1e6),
        "briefing_s": round(min(cost["seconds"] for cost in again), 2),
        "briefing_mb": round(max(cost["peak_bytes"] for cost in again) / 1e6),
    }


def exponents(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    """Return the slope of the logarithm of each figure over that of the events."""
    sizes = [int(row["events"]) for row in rows]
    slopes: dict[str, float] = {}
    for name in rows[0]:
        growth = fit_growth(sizes, [row[name] for row in rows])
        if name != "events" and growth is not None:
            slopes[name] = round(growth.exponent, 2)
    return slopes


def main() -> None:
    """Print the figures of each size."""
    options = argparse.ArgumentParser()
    options.add_argument("--url", default="")
    options.add_argument("--source", type=Path, required=True)
    options.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    chosen = options.parse_args()
    source = SqliteJournal(chosen.source / DATABASE_FILE)
    rows: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        target: MeasuredJournal = FileJournal(home)
        if chosen.url:
            target = DatabaseJournal(home, chosen.url)
        after = 0
        for size in chosen.sizes:
            figures = measured(target, home, source, (after, size))
            click.echo(json.dumps(figures))
            rows.append(figures)
            after = size
    click.echo(json.dumps({"exponents": exponents(rows)}))
    source.close()


if __name__ == "__main__":
    main()
