"""`python -m benchmarks.growth`: how costs grow with the number of events, every
command in a process of its own, under a limit.
"""

from __future__ import annotations

import json
import shutil
import statistics
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import click

from benchmarks import measure, table
from benchmarks.growth_fit import LINEAR, Growth, draw_growth, fit_growth
from benchmarks.growth_homes import (
    GrowthGround,
    add_written_texts,
    lay_transcripts,
    project_name,
)
from theorex_lab.app.cli import run_command
from theorex_lab.core.errors import TheorexError
from theorex_lab.files.command_line import command, emit, given_options
from theorex_lab.journal.directory import EventDirectory
from theorex_lab.store.lab import Lab

SIZES = {
    "1k": 1_000,
    "10k": 10_000,
    "30k": 30_000,
    "100k": 100_000,
    "300k": 300_000,
    "1M": 1_000_000,
}
_SNAPSHOTS = "views"
_MOST_IMPORTS = 20
_ONCE_FROM = 20.0  # seconds: what takes longer is measured once
_OPEN = (
    "import sys; from theorex_lab.store.lab import Lab\n"
    "with Lab(sys.argv[1]) as lab: lab.journal.last_seq()"
)


class ProcessCost(NamedTuple):
    """What a process took; `stopped` where it had not ended within the limit."""

    seconds: float
    peak_bytes: int
    stopped: bool = False


@dataclass
class _SizeRun:
    """The measurements at one size, on a home that is made for them."""

    ground: GrowthGround
    home: Path
    limit: int
    rounds: int
    costs: dict[str, list[ProcessCost]] = field(default_factory=dict)
    snapshot_bytes: int = 0
    n_events: int = 0  # in the journal: a session's start is a line, and no event

    def run(self, *program: str | Path) -> ProcessCost:
        """Run a program in a fresh process. Raises TheorexError where it fails."""
        launcher = (measure.PYTHON, "-m", "benchmarks.limited", str(self.limit))
        output = measure.run(*launcher, *program, cwd=self.home.parent)
        cost = json.loads(output)
        if cost["code"] and not cost["stopped"]:
            raise TheorexError(
                f"{' '.join(map(str, program))[-200:]}: {cost['errors']}"
            )
        return ProcessCost(cost["seconds"], cost["peak_bytes"], cost["stopped"])

    def theorex(self, *arguments: str) -> ProcessCost:
        """Run a command on the home, at the ground's present."""
        code = "from theorex_lab.app.cli import main; main()"
        options = ("--home", str(self.home), "--now", self.ground.now)
        return self.run(measure.PYTHON, "-c", code, *options, *arguments)

    def measure(
        self,
        name: str,
        *arguments: str,
        before: Callable[[], object] = lambda: None,
    ) -> None:
        """Measure a command some times over, `before` ahead of each."""
        self.costs[name] = []
        for _ in range(self.rounds):
            before()
            cost = self.theorex(*arguments)
            self.costs[name].append(cost)
            if cost.stopped or cost.seconds > _ONCE_FROM:
                break

    def forget_snapshots(self) -> None:
        """Leave the home cold: the journal alone."""
        shutil.rmtree(self.home / _SNAPSHOTS, ignore_errors=True)

    def forget_folded(self) -> None:
        """Leave the directory of the journal, as a release does that changes views."""
        for folder in (self.home / _SNAPSHOTS).glob("*/"):
            if folder.name != EventDirectory.name:
                shutil.rmtree(folder)

    def add_tail(self) -> None:
        """Write what a scan then has to look at."""
        self.theorex("write", "TTL invalidation prevents the stampede of checkout")

    def scan_tail(self) -> None:
        """Write a text, and scan."""
        self.add_tail()
        self.theorex("tiers", "scan")

    def import_home(self) -> None:
        """Measure the import that makes the home, and add texts that agents wrote."""
        folder = str(self.ground.transcripts)
        arguments = ("import", "--transcripts", folder, "--trusted")
        cost = self.theorex(*arguments)
        self.costs["import"] = [cost]
        # An import that was stopped goes on where it was; its own row is unfinished.
        for _ in range(_MOST_IMPORTS):
            if not cost.stopped:
                break
            cost = self.theorex(*arguments)
        if cost.stopped:
            raise TheorexError(
                f"the import of {self.ground.events:,} events was stopped"
                f" {_MOST_IMPORTS} times after {self.limit} s; give a larger --limit"
            )
        add_written_texts(self.home, self.ground)
        with Lab(self.home) as lab:
            self.n_events = lab.journal.last_seq()
        for warm in (("tiers", "scan"), ("status",), ("briefing", "--all-projects")):
            self.theorex(*warm)

    def event_id(self) -> str:
        """Return the id of an event in the middle of those that are still there."""
        with Lab(self.home) as lab:
            middle = lab.journal.last_seq() // 2 + len(self.costs["erase one"])
            return next(iter(lab.journal.tail(middle))).id


def measure_size(run: _SizeRun) -> None:
    """Measure every row at one size, from the import on."""
    run.import_home()
    run.costs["open"] = [
        run.run(measure.PYTHON, "-c", _OPEN, run.home) for _ in range(run.rounds)
    ]
    run.measure("status, warm", "status")
    run.measure("briefing, warm", "briefing", "--all-projects")
    run.measure("briefing, one project", "briefing", "--project", project_name(7))
    run.measure("search by words", *_search())
    snapshots = (run.home / _SNAPSHOTS).rglob("*")
    run.snapshot_bytes = sum(file.stat().st_size for file in snapshots)
    run.measure("scan of a tail", "tiers", "scan", before=run.add_tail)
    run.measure("status, after a scan", "status", before=run.scan_tail)
    _measure_erasure(run)
    run.measure("status, views anew", "status", before=run.forget_folded)
    run.measure("status, cold", "status", before=run.forget_snapshots)
    run.measure(
        "briefing, cold",
        *("briefing", "--all-projects"),
        before=run.forget_snapshots,
    )


def _search() -> tuple[str, ...]:
    words = measure.texts(1)[0].split()[:3]
    return ("search", "--all-agents", "--all-projects", "--vectors", "never", *words)


def _measure_erasure(run: _SizeRun) -> None:
    run.costs["erase one"] = []
    for _ in range(run.rounds):
        cost = run.theorex("erase", run.event_id())
        run.costs["erase one"].append(cost)
        if cost.stopped or cost.seconds > _ONCE_FROM:
            break


def table_rows(runs: list[_SizeRun]) -> dict[str, dict[str, Any]]:
    """Return of every row the median seconds and peak memory at each size, NaN where a
    process did not end, and the growth of both.
    """
    rows = dict[str, dict[str, Any]]()
    for name in runs[0].costs:
        seconds = [_median(run.costs[name], "seconds") for run in runs]
        megabytes = [_median(run.costs[name], "peak_bytes") / 1e6 for run in runs]
        unfinished = [
            run.n_events
            for run in runs
            if any(cost.stopped for cost in run.costs[name])
        ]
        rows[name] = {
            "seconds": seconds,
            "megabytes": megabytes,
            "unfinished": unfinished,
        }
    sizes = [float(run.snapshot_bytes) / 1e6 for run in runs]
    rows["snapshots"] = {"megabytes on disk": sizes, "unfinished": []}
    events = [run.n_events for run in runs]
    for row in rows.values():
        row["growth"] = {
            member: fit_growth(events, amounts)
            for member, amounts in row.items()
            if member in ("seconds", "megabytes", "megabytes on disk")
        }
    return rows


def _median(costs: list[ProcessCost], member: str) -> float:
    if any(cost.stopped for cost in costs):
        return float("nan")
    amounts = [float(getattr(cost, member)) for cost in costs]
    return statistics.median(amounts)


def table_lines(sizes: list[int], rows: dict[str, dict[str, Any]]) -> list[str]:
    """Return the Markdown lines of the table, one for each row and measure."""
    heads = " | ".join(f"{size:,}" for size in sizes)
    lines = [
        f"| row | measure | {heads} | exponent [95 %] | last step |",
        "|---|---|" + "---|" * (len(sizes) + 2),
    ]
    for name, row in rows.items():
        for member, growth in row["growth"].items():
            amounts = " | ".join(_shown(amount) for amount in row[member])
            lines.append(f"| {name} | {member} | {amounts} | {_growth_shown(growth)} |")
    return lines


def _shown(amount: float) -> str:
    return "unfinished" if amount != amount else table.number(amount)


def _growth_shown(growth: Growth | None) -> str:
    if growth is None:
        return "– | –"
    mark = f" **> {LINEAR}**" if growth.is_marked else ""
    interval = f"[{growth.ci_low:.2f}, {growth.ci_high:.2f}]"
    return f"{growth.exponent:.2f} {interval} | {growth.last_step:.2f}{mark}"


class MeasuredGrowth(NamedTuple):
    """What every command took at every size.

    Attributes:
        sizes: Events of each home.
        rows: Amounts and fits, by the name of a row, as `table_rows` gives them.
        machine: What was measured with, and on what.
    """

    sizes: list[int]
    rows: dict[str, dict[str, Any]]
    machine: str

    def lines(self) -> list[str]:
        """Return the Markdown lines of the table."""
        return table_lines(self.sizes, self.rows)

    def draw(self, picture: Path) -> None:
        """Draw seconds and memory into a PNG file."""
        drawn = {name: row for name, row in self.rows.items() if name != "snapshots"}
        draw_growth(self.sizes, drawn, picture)


def measured_growth(
    sizes: list[int], *, folder: Path | None = None, rounds: int, limit: int
) -> MeasuredGrowth:
    """Measure every row at every size.

    Args:
        sizes: Events of the homes, which are made for it.
        folder: Where the simulated sessions are kept for the next run.
        rounds: How often a row is measured.
        limit: Seconds of processor time after which a process is stopped.
    """
    runs = list[_SizeRun]()
    with tempfile.TemporaryDirectory(prefix="theorex-growth-") as scratch:
        for size in sizes:
            ground = lay_transcripts(folder or Path(scratch), size)
            home = Path(scratch) / f"home-{size}"
            run = _SizeRun(ground, home, limit, rounds)
            click.echo(f"{size:,} events", err=True)
            measure_size(run)
            runs.append(run)
            shutil.rmtree(home)
    n_events = [run.n_events for run in runs]
    about = table.machine(sizes[-1], rounds)
    return MeasuredGrowth(n_events, table_rows(runs), about)


@command("growth", "Measure how costs grow with the number of events.")
@click.option("--from", "smallest", type=click.Choice([*SIZES]), default="10k")
@click.option("--to", "largest", type=click.Choice([*SIZES]), default="1M")
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    help="Where the simulated sessions are kept for the next run.",
)
@click.option("--rounds", type=click.IntRange(1, 100), default=3)
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=600,
    help="Seconds of processor time after which a process is stopped.",
)
@click.option(
    "--picture", type=click.Path(path_type=Path), help="Draw it into this PNG file."
)
def growth(
    smallest: str,
    largest: str,
    folder: Path | None,
    rounds: int,
    limit: int,
    picture: Path | None,
) -> None:
    """Every command runs in a process of its own; its processor time and its peak of
    resident memory count.

    The exponent is the slope of the logarithms. One above 1.05 is marked, of all sizes
    or of the last step. A process that does not end within the limit is said to be
    unfinished, and its size is left out of the fit.

    JSON: {machine, sizes, rows}
    """
    sizes = [
        size for size in SIZES.values() if SIZES[smallest] <= size <= SIZES[largest]
    ]
    measured = measured_growth(sizes, folder=folder, rounds=rounds, limit=limit)
    if picture:
        measured.draw(picture)
    as_json = bool(given_options().get("as_json"))
    click.echo("\n".join(measured.lines()), err=as_json)
    result = {
        "machine": measured.machine,
        "sizes": measured.sizes,
        "rows": _as_json(measured.rows),
    }
    emit(result, f"\n{measured.machine}")


def _as_json(rows: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the rows as JSON holds them: null for what did not end or has no bound."""
    result = dict[str, dict[str, Any]]()
    for name, row in rows.items():
        members = {
            member: [_finite(amount) for amount in amounts]
            for member, amounts in row.items()
            if member != "growth"
        }
        fits = {
            member: {key: _finite(value) for key, value in fit._asdict().items()}
            for member, fit in row["growth"].items()
            if fit is not None
        }
        result[name] = {**members, "growth": fits}
    return result


def _finite(value: float) -> float | None:
    return value if abs(value) < float("inf") else None


def main() -> NoReturn:
    """Run the measurement; exit code 0 ok, 1 failed, 2 wrong usage."""
    run_command(growth, "python -m benchmarks.growth")


if __name__ == "__main__":
    main()
