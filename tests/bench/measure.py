"""How a benchmark is taken: processor time of ours and of a peer, turn by turn in one run, as a ratio."""

from __future__ import annotations

import gc
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pytest_benchmark.fixture import BenchmarkFixture

PYTHON = sys.executable
Timed = Callable[[], object]
Meter = Callable[[Timed], float]


@dataclass(frozen=True)
class Row:
    """One line of the table: the ratio in every round, and whether its median is on the right side of the target."""

    path: str
    peer: str
    target: str
    ratios: list[float]
    median: float
    reached: bool


def processor_seconds(call: Timed) -> float:
    """Processor time that this process spends in `call`, all of its threads together."""
    start = time.process_time()
    call()
    return time.process_time() - start


def child_seconds(call: Timed) -> float:
    """Processor time of the processes that `call` starts and waits for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    call()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare(
    benchmark: BenchmarkFixture,
    path: str,
    ours: Timed,
    peer: Timed,
    *,
    peer_name: str,
    at_most: float | None = None,
    at_least: float | None = None,
    rounds: int = 7,
    calls: int = 1,
    meter: Meter = processor_seconds,
) -> None:
    """Run the peer and ours in turn, note the ratios, and assert that their median reaches the target.

    The ratio is ours / peer where the target is `at_most`, peer / ours where it is `at_least` (times faster). `calls`:
    how often each is called in one round, for what is too short to be timed alone. Both run once before they are timed.
    """
    ours_seconds: list[float] = []
    peer_seconds: list[float] = []

    def measured(call: Timed) -> float:
        return meter(lambda: [call() for _ in range(calls)])

    def one_round() -> None:
        peer_seconds.append(measured(peer))
        ours_seconds.append(measured(ours))

    ours(), peer()
    # What the set-up made is no business of the collector while either side is timed.
    gc.collect()
    gc.freeze()
    benchmark.pedantic(one_round, rounds=rounds)
    gc.unfreeze()
    pairs = list(zip(ours_seconds, peer_seconds, strict=True))
    ratios = [first / second if at_most is not None else second / first for first, second in pairs]
    note(benchmark, path, peer_name, ratios, at_most=at_most, at_least=at_least)


def note(
    benchmark: BenchmarkFixture,
    path: str,
    peer_name: str,
    ratios: Sequence[float],
    *,
    at_most: float | None = None,
    at_least: float | None = None,
) -> None:
    """Put a row into the run's record and assert that the median of its ratios reaches the target."""
    median = statistics.median(ratios)
    if at_most is not None:
        target, reached = f"≤ {at_most:g}", median <= at_most
    else:
        assert at_least is not None
        target, reached = f"≥ {at_least:,g}", median >= at_least
    row = Row(path, peer_name, target, [*ratios], median, reached)
    benchmark.extra_info.update(asdict(row))
    assert reached, f"{path}: {median:.3g} × {peer_name}; the target is {target}"


def run(command: Sequence[str | Path], *, given: bytes = b"", home: Path | None = None) -> bytes:
    """Run a process to its end as a user's is run: with compiled modules kept, one thread for linear algebra."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    if home is not None:
        environment["THEOREX_HOME"] = str(home)
    return subprocess.run(command, input=given, env=environment, capture_output=True, check=True).stdout


def launcher(folder: Path, name: str, target: str) -> Path:
    """The script that an installer writes for an entry point `module:function`."""
    module, _, function = target.partition(":")
    path = folder / name
    path.write_text(f"#!{PYTHON}\nimport sys\nfrom {module} import {function}\nsys.exit({function}())\n")
    path.chmod(0o755)
    return path
