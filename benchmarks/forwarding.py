"""Forwarding a spool beside single appends to the same PostgreSQL server.

    python -m benchmarks.forwarding --url postgresql://USER@HOST/DATABASE \
        [--events 100000] [--single 2000]

The database must be empty: a throw-away one. Events are prompts of some 250 letters. The
single appends are those of a machine without a spool: one durable transaction an event.
Both are timed in the same process, CPU and wall; the CPU is this process's own, without
the server's.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import click

from theorex_lab import Event, new_event
from theorex_lab.core.clock import SystemClock
from theorex_lab.journal.opened import open_journal
from theorex_lab.journal.shared_postgres import connected_to
from theorex_lab.journal.spool import SpooledJournal
from theorex_lab.journal.sqlite.store import SqliteJournal

_PER_TRANSACTION = 5_000
_WORDS = ("till", "rounds", "cents", "cache", "stale", "deploy", "rollback", "tests")


class Cost(NamedTuple):
    """What some work took an event, in µs."""

    cpu: float
    wall: float


def prompts(n_events: int, seed: int) -> list[Event]:
    """Return prompts with some 250 letters each."""
    draw = random.Random(seed)
    events = []
    for number in range(n_events):
        words = " ".join(draw.choices(_WORDS, k=40))
        body = {
            "text": f"{number} {words}",
            "source": "user",
            "project": "shop-1a2b3c4d",
        }
        events.append(new_event("prompt", body, agent="main", at=number))
    return events


def cost_of(work: Callable[[], object], n_events: int) -> Cost:
    """Run some work, and return what it took an event."""
    wall = time.perf_counter()
    cpu = time.process_time()
    work()
    cpu = time.process_time() - cpu
    wall = time.perf_counter() - wall
    return Cost(cpu / n_events * 1e6, wall / n_events * 1e6)


def main() -> None:
    """Print what an event takes each way."""
    options = argparse.ArgumentParser()
    options.add_argument("--url", required=True)
    options.add_argument("--events", type=int, default=100_000)
    options.add_argument("--single", type=int, default=2_000)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        spool = SqliteJournal(home / "theorex.db")
        events = prompts(chosen.events, seed=1)
        for start in range(0, len(events), _PER_TRANSACTION):
            spool.append(events[start : start + _PER_TRANSACTION])
        direct = open_journal(home / "direct", url=chosen.url)
        singles = prompts(chosen.single, seed=2)

        def append_singly() -> None:
            for event in singles:
                direct.append([event])

        single = cost_of(append_singly, chosen.single)
        clock = SystemClock()
        journal = SpooledJournal(
            spool, lambda: connected_to(chosen.url, home, clock=clock)
        )
        _ = journal.connected  # a sync's connection is made once
        forwarded = cost_of(journal.forward, chosen.events)
        assert direct.last_seq() == chosen.events + chosen.single
        click.echo(
            f"one append an event  {single.cpu:8.1f} µs CPU {single.wall:8.1f} µs wall"
        )
        click.echo(
            f"forwarded            {forwarded.cpu:8.1f} µs CPU"
            f" {forwarded.wall:8.1f} µs wall"
        )
        cpu_ratio = single.cpu / forwarded.cpu
        wall_ratio = single.wall / forwarded.wall
        click.echo(
            f"ratio                {cpu_ratio:8.1f} x CPU  {wall_ratio:8.1f} x wall"
        )
        journal.close()
        direct.close()


if __name__ == "__main__":
    main()
