"""`python -m benchmarks`: measure the toolkit beside its peers."""

from __future__ import annotations

import os
import sys
from typing import Any, NoReturn

import click

from theorex_lab.app.cli import run_command
from theorex_lab.files.command_line import command, emit, given_options

# Before numpy is imported: idle threads that wait for work would count as processor
# time.
THREADS = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


@command("bench", "Measure the toolkit beside its peers.")
@click.argument("names", nargs=-1, metavar="[ROW]...")
@click.option(
    "--rounds",
    type=click.IntRange(1, 1_000),
    default=5,
    help="How often each is measured.",
)
@click.option(
    "--scale",
    type=click.Choice(["1k", "10k", "100k"]),
    default="10k",
    help="Rows of data.",
)
def bench(names: tuple[str, ...], rounds: int, scale: str) -> None:
    """Without a ROW all of them. Processor time of ours and of a peer, turn by turn in
    one run, as a ratio; below 1 ours takes less.

    Each line is printed as it is measured, so that an interrupted run keeps what it
    has. A row whose peer is not installed is skipped and says what to install. 100k
    takes many minutes.

    JSON: {machine, lines}
    """
    for variable in THREADS:
        os.environ.setdefault(variable, "1")
    from benchmarks import table

    picked = table.chosen(names)
    about = table.machine(table.SCALES[scale], rounds)
    results: dict[str, Any] = {"machine": about, "lines": []}
    as_json = bool(given_options().get("as_json"))
    click.echo(table.HEAD, err=as_json)
    try:
        for row in picked:
            line = table.measure(row, scale=table.SCALES[scale], rounds=rounds)
            results["lines"].append(line.result())
            click.echo(str(line), err=as_json)
    except KeyboardInterrupt:
        results["error"] = "interrupted"
    emit(results, f"\n{about}")
    if "error" in results:
        sys.exit(1)


def main() -> NoReturn:
    """Run the measurements; exit code 0 ok, 1 failed or interrupted, 2 wrong usage."""
    run_command(bench, "python -m benchmarks")


if __name__ == "__main__":
    main()
