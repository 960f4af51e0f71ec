"""How a row is measured: an amount of ours and of a peer, turn by turn in one run, and their ratio."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

from theorex_lab.errors import TheorexError

PYTHON = sys.executable
OFFLINE = {
    "ANONYMIZED_TELEMETRY": "False", "MEM0_TELEMETRY": "False", "POSTHOG_DISABLED": "1", "DO_NOT_TRACK": "1",
    "HF_HUB_OFFLINE": "1",
}  # fmt: skip
Timed = Callable[[], object]
Meter = Callable[[Timed], float]


class Amounts(NamedTuple):
    """What one round measured: an amount of ours and of the peer's in the same unit, and of what where a row has several."""

    ours: float
    peer: float
    what: str = ""


Round = Callable[[], Iterable[Amounts]]


class Ground(NamedTuple):
    """Where a row is measured: an empty folder, and how many rows of data it gets."""

    folder: Path
    rows: int

    @property
    def events(self) -> int:
        """Events of the rows that read a long log."""
        return min(100 * self.rows, 1_000_000)


@dataclass(frozen=True)
class BenchRow:
    """A row of the table. `prepare` lays its data and gives the function that measures one round.

    at_most: the target for ours ÷ peer, or one for some of what a row measures, from so many rows of data as `target_from` says.  needs: modules of the peer that may not be installed, by the extra that brings
    them.  most_rounds: for what takes minutes; such a row is not run once before it is measured.
    """

    name: str
    about: str
    peer: str
    prepare: Callable[[Ground], AbstractContextManager[Round]]
    at_most: float | Mapping[str, float] | None = None
    target_from: int = 10_000
    needs: Sequence[str] = field(default=())
    extra: str = "bench"
    most_rounds: int | None = None


ROWS: dict[str, BenchRow] = {}  # by name, as the modules of FAMILIES are imported


def row(name: str, about: str, peer: str, **more: Any) -> Callable[[Callable[[Ground], Iterator[Round]]], None]:
    """Enter the function below, which lays the data, yields the round and cleans up, as a row; the rest as in `BenchRow`."""

    def enter(prepare: Callable[[Ground], Iterator[Round]]) -> None:
        ROWS[name] = BenchRow(name, about, peer, contextmanager(prepare), **more)

    return enter


def processor_seconds(call: Timed) -> float:
    """Processor time that this process spends in `call`, all its threads together."""
    start = time.process_time()
    call()
    return time.process_time() - start


def elapsed(call: Timed) -> float:
    """Seconds that pass: most of what a durable append takes is waiting for the disk."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def child_seconds(call: Timed) -> float:
    """Processor time of the processes that `call` starts and waits for."""
    import resource  # not on Windows

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    call()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def alternately(ours: Timed, peer: Timed, *, calls: int = 1, meter: Meter = processor_seconds) -> Round:
    """A round of `calls` calls of the peer, then as many of ours."""

    def measured(call: Timed) -> float:
        return meter(lambda: [call() for _ in range(calls)])

    def one_round() -> Iterator[Amounts]:
        peers = measured(peer)
        yield Amounts(measured(ours), peers)

    return one_round


def in_turn(call: Callable[[Any], object], things: Sequence[Any]) -> Timed:
    """`call` with the next of the things, over and over."""
    turns = cycle(things)
    return lambda: call(next(turns))


def run(*command: str | Path, given: bytes = b"", cwd: Path | None = None) -> bytes:
    """What a process prints, run as a user's is: its modules compiled, offline. Raises TheorexError where it fails."""
    done = subprocess.run(command, input=given, env=environment(), cwd=cwd, capture_output=True, check=False)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()[-500:]
        raise TheorexError(f"{' '.join(map(str, command))[:200]} ended with code {done.returncode}: {said}")
    return done.stdout


def environment() -> dict[str, str]:
    """The variables of a process that is measured; none of its imports finds a tracker or the network to be wanted."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, **OFFLINE, "PYTHONPATH": str(Path(__file__).parents[3])}


def theorex(home: Path, *arguments: str) -> tuple[str, ...]:
    """The command `theorex` on a home, as its entry point runs it."""
    from theorex_lab.experiments.bench.made import NOW_TEXT

    code = "from theorex_lab.cli import main; main()"
    return PYTHON, "-c", code, "--home", str(home), "--now", NOW_TEXT, *arguments
