"""How costs of a PostgreSQL journal grow with its events.

    python -m benchmarks.postgres_growth --url postgresql://USER@HOST/DATABASE \
        --source HOME [--sizes 10000 100000]

The database must be empty: a throw-away one. It is filled from the journal of HOME, an
SQLite home, up to each size in turn, and measured there: forwarding an event,
opening, and a project's briefing, each command in a process of its own. Times are
processor time of the client, without the server's. Printed is JSON, a line for each size.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from benchmarks import measure
from theorex_lab.core.clock import SystemClock
from theorex_lab.journal.shared_postgres import SharedPostgres, connected_to
from theorex_lab.journal.sqlite.batches import stored_rows
from theorex_lab.journal.sqlite.store import SqliteJournal

_BATCH_ROWS = 5_000
_LIMIT_SECONDS = "600"


def processor_seconds(work: Callable[[], object]) -> float:
    """Return the processor time that some work takes in this process."""
    start = time.process_time()
    work()
    return time.process_time() - start


def fill(shared: SharedPostgres, source: SqliteJournal, upto: int) -> None:
    """Forward the rows of a file behind the newest that the database has, up to a seq."""
    seq = shared.journal.last_seq()
    while seq < upto:
        rows = stored_rows(source, seq, upto, _BATCH_ROWS)
        shared.append_rows(rows)
        seq = rows[-1].seq


def briefing_cost(home: Path, project: str) -> dict[str, Any]:
    """Return what the briefing of a project takes in a process of its own."""
    program = (
        *(measure.PYTHON, "-m", "benchmarks.limited", _LIMIT_SECONDS),
        *(measure.PYTHON, "-m", "theorex_lab", "--home", str(home)),
        *("briefing", "--project", project),
    )
    cost: dict[str, Any] = json.loads(measure.run(*program))
    return cost


def measured(url: str, source: SqliteJournal, size: int) -> dict[str, float]:
    """Return the figures of a database that holds a number of events of the source."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        content = json.dumps({"journalUrl": url})
        (home / "config.json").write_text(content, encoding="utf-8")
        clock = SystemClock()
        shared = connected_to(url, home, clock=clock)
        n_before = shared.journal.last_seq()
        forwarding = processor_seconds(lambda: fill(shared, source, size))
        newest = shared.journal.read(seqs=[size])[0]
        opening = processor_seconds(lambda: connected_to(url, home, clock=clock))
        first = briefing_cost(home, newest.body["project"])
        again = briefing_cost(home, newest.body["project"])
        shared.journal.close()
    return {
        "events": size,
        "forward_us": round(forwarding / max(1, size - n_before) * 1e6, 1),
        "open_ms": round(opening * 1e3, 2),
        "first_briefing_s": round(first["seconds"], 2),
        "first_briefing_mb": round(first["peak_bytes"] / 1e6),
        "briefing_s": round(again["seconds"], 2),
        "briefing_mb": round(again["peak_bytes"] / 1e6),
    }


def main() -> None:
    """Print the figures of each size."""
    options = argparse.ArgumentParser()
    options.add_argument("--url", required=True)
    options.add_argument("--source", type=Path, required=True)
    options.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    chosen = options.parse_args()
    source = SqliteJournal(chosen.source / "theorex.db")
    for size in chosen.sizes:
        figures = measured(chosen.url, source, size)
        click.echo(json.dumps(figures))
        sys.stdout.flush()
    source.close()


if __name__ == "__main__":
    main()
