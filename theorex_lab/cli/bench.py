"""The command bench."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import click

from theorex_lab.console import command, emit, given_options, write_whole

# Before numpy is imported: idle threads that wait for work would count as processor time.
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@command("bench")
@click.argument("names", nargs=-1, metavar="[ROW]...")
@click.option("--rounds", type=click.IntRange(1, 1_000), default=5, help="How often each is measured.")
@click.option("--scale", type=click.Choice(["10k", "100k"]), default="10k", help="Rows of data.")
@click.option("--list", "list_only", is_flag=True, help="Name the rows and measure nothing.")
@click.option("--output", metavar="F", help="Write the table, or with --json the object, into this file too.")
def bench(names: tuple[str, ...], rounds: int, scale: str, list_only: bool, output: str | None) -> None:
    """Without a ROW all of them. Processor time of ours and of a peer, turn by turn in one run, as a ratio; below 1 ours takes less.

    Each line is printed as it is measured, and --output written, so that an interrupted run keeps what it has. A row whose
    peer is not installed is skipped and says what to install. 100k takes many minutes.

    JSON: {machine, lines}
    """
    for variable in _THREADS:
        os.environ.setdefault(variable, "1")
    from theorex_lab.experiments.bench import table

    picked = table.chosen(names)
    if list_only:
        listed = [{"row": row.name, "about": row.about, "peer": row.peer, "at_most": row.at_most} for row in picked]
        emit({"rows": listed}, "\n".join(f"{row.name:<16} {row.about}, beside {row.peer}" for row in picked))
        return
    about = table.machine(table.SCALES[scale], rounds)
    told: dict[str, Any] = {"machine": about, "lines": []}
    shown = [table.HEAD]
    as_json = bool(given_options().get("as_json"))
    click.echo(shown[0], err=as_json)
    try:
        for row in picked:
            for line in table.measure(row, scale=table.SCALES[scale], rounds=rounds):
                told["lines"].append(line.result())
                shown.append(str(line))
                click.echo(shown[-1], err=as_json)
                if output is not None:
                    kept = json.dumps(told) if as_json else "\n".join([*shown, "", about])
                    write_whole(Path(output), f"{kept}\n".encode(), "--output")
    except KeyboardInterrupt:
        told["error"] = "interrupted"
    emit(told, f"\n{about}")
    if "error" in told:
        sys.exit(1)
