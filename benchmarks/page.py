"""`python -m benchmarks.page`: measure every row, and write the page on performance."""

from __future__ import annotations

import os
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from benchmarks.__main__ import THREADS
from theorex_lab.app.cli import run_command
from theorex_lab.core.files import write_atomically
from theorex_lab.files.command_line import command, emit

if TYPE_CHECKING:
    from benchmarks import table

DOCS = Path(__file__).parents[1] / "docs"
_PAGE = "performance.md"
_PICTURE = "pictures/growth.png"
_HEAD = """# Performance

Each row has a peer that was measured in the same run, turn by turn. The figure is
processor time of ours ÷ the peer's: 1 is the same, 2 is twice as slow. Processor time of
all threads counts; waiting does not.

`python -m benchmarks.page` writes this page again. `pip install 'theorex-lab[bench]'`
brings the peers.

A search here does more than most peers do: it looks by words and by vectors, leaves out
what was replaced or belongs to others, tells why each hit is there, and keeps that it was
asked. A figure above 1 is the price of that, or ours to mend.
"""
_GROWTH = """## As a home grows

Every command runs in a process of its own, on a home of simulated coding sessions that was
imported for it. `seconds` is the processor time of the whole process, its start included.
The exponent is the slope of the logarithms: 1 grows as the number of events does, 0 stays
the same. `unfinished` is what did not end within {limit} s.

![Processor time and peak memory of each command over the number of events](pictures/growth.png)
"""


@command("page", "Measure every row, and write the page on performance.")
@click.option(
    "--scale",
    "scales",
    multiple=True,
    type=click.Choice(["1k", "10k", "100k"]),
    default=("1k", "10k"),
    help="Rows of data; may be given several times.",
)
@click.option("--rounds", type=click.IntRange(1, 1_000), default=3)
@click.option(
    "--grow-to",
    type=click.Choice(["10k", "30k", "100k", "300k", "1M"]),
    default="30k",
    help="The largest home of the table of growth.",
)
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=600,
    help="Seconds of processor time after which a process is stopped.",
)
@click.option(
    "--docs",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    default=DOCS,
    help="The folder of the documentation.",
)
def page(
    scales: tuple[str, ...], rounds: int, grow_to: str, limit: int, docs: Path
) -> None:
    """It takes many minutes. Lines are printed as they are measured; the page is
    written at the end.

    JSON: {page, rows, peers_faster}
    """
    for variable in THREADS:
        os.environ.setdefault(variable, "1")
    from benchmarks import growth, table

    sections = [_HEAD]
    n_rows = 0
    slower = list[str]()
    for scale in scales:
        lines = list[table.BenchLine]()
        for row in table.chosen(()):
            line = table.measure(row, scale=table.SCALES[scale], rounds=rounds)
            click.echo(str(line), err=True)
            lines.append(line)
        n_rows += len(lines)
        slower += [f"{line.row.name} ({scale})" for line in lines if is_slower(line)]
        sections.append(scale_section(lines, table.SCALES[scale], rounds))
    sizes = [size for size in growth.SIZES.values() if size <= growth.SIZES[grow_to]]
    measured = growth.measured_growth(sizes, rounds=rounds, limit=limit)
    (docs / _PICTURE).parent.mkdir(exist_ok=True)
    measured.draw(docs / _PICTURE)
    table_text = "\n".join(measured.lines())
    sections += [_GROWTH.format(limit=limit), f"{table_text}\n\n{measured.machine}\n"]
    write_atomically(docs / _PAGE, "\n".join(sections).encode())
    result = {"page": str(docs / _PAGE), "rows": n_rows, "peers_faster": slower}
    emit(result, f"{n_rows} rows, in {len(slower)} the peer is faster: {docs / _PAGE}")


def is_slower(line: table.BenchLine) -> bool:
    """Return whether the peer took less than ours."""
    return bool(line.ratios) and statistics.median(line.ratios) > 1


def scale_section(lines: list[table.BenchLine], n_texts: int, rounds: int) -> str:
    """Return the section of one size: the table, and where the peer is faster."""
    from benchmarks import table

    slower = ", ".join(line.row.name for line in lines if is_slower(line))
    remark = f"The peer is faster in: {slower}." if slower else "No peer is faster."
    rows = "\n".join(map(str, lines))
    about = table.machine(n_texts, rounds)
    return f"## With {n_texts:,} texts\n\n{table.HEAD}\n{rows}\n\n{remark}\n\n{about}\n"


def main() -> NoReturn:
    """Run it; exit code 0 ok, 1 failed, 2 wrong usage."""
    run_command(page, "python -m benchmarks.page")


if __name__ == "__main__":
    main()
