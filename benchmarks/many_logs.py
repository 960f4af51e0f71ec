"""Compare three designs on many logs while workers are killed.

    python -m benchmarks.many_logs                    200 logs × 3 designs, on processes
    python -m benchmarks.many_logs --scheduler dask   the same on Dask's local cluster
    python -m benchmarks.many_logs --logs 50 --kills 0

Every log is drawn from the seed. First all is compared in one process, for the frame that
the others must give; then with two workers, of which `--kills` die after drawn numbers of
trials. Printed are whether both frames are equal, how many trials were begun again, and
the peaks of memory of this process and of its workers.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd
import psutil

from theorex_lab import new_event
from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.core.ids import derived_event_id
from theorex_lab.eval import Comparison, EvalLog, EvalQuery, compare

DESIGNS = ("sessions", "fts5", "bm25")
N_WORKERS = 2
BEGIN = 1_767_225_600_000_000  # 2026-01-01, in µs UTC
SAMPLE_SECONDS = 0.1
MEGABYTE = 1_000_000
WORDS = ("till", "scale", "ledger", "printer", "drawer", "scanner", "kiosk", "label")


def logs(n_logs: int, n_events: int, seed: int) -> Iterator[EvalLog]:
    """Yield logs of facts that are said once and asked for at the end."""
    draws = random.Random(seed)
    for number in range(n_logs):
        yield _log(f"log{number:05}", n_events, draws)


def _log(name: str, n_events: int, draws: random.Random) -> EvalLog:
    events = []
    queries = []
    for number in range(n_events):
        thing = f"{draws.choice(WORDS)} {draws.randrange(1_000)}"
        port = str(draws.randrange(1_024, 65_536))
        event = new_event(
            "prompt",
            {"text": f"The port of {thing} is {port}", "source": "user", "project": ""},
            agent="main",
            session=f"{name}-{number // 5}",
            at=BEGIN + number * MICROSECONDS_PER_DAY // 10,
            event_id=derived_event_id(name, number),
        )
        events.append(event)
        if number % 5 == 0:
            asked_at = BEGIN + n_events * MICROSECONDS_PER_DAY
            question = f"which port has {thing}?"
            queries.append(EvalQuery(asked_at, question, frozenset({event.id})))
    return EvalLog(name, events, queries)


class Watcher:
    """Samples the memory of this process and its workers, and kills some of them."""

    def __init__(self, trials: Path, kills: int, n_trials: int, seed: int) -> None:
        self.peak = 0
        self.worker_peak = 0
        self.killed = 0
        self._draws = random.Random(seed)
        self._trials = trials
        self._moments = sorted(self._draws.sample(range(1, n_trials - 1), kills))
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Watcher:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        process = psutil.Process()
        while not self._ended.wait(SAMPLE_SECONDS):
            self.peak = max(self.peak, process.memory_info().rss)
            workers = process.children(recursive=True)
            for worker in workers:
                with suppress(psutil.Error):
                    self.worker_peak = max(self.worker_peak, worker.memory_info().rss)
            self._kill_one(workers)

    def _kill_one(self, workers: Sequence[psutil.Process]) -> None:
        """Kill a worker where so many trials are there as was drawn."""
        if not self._moments or not self._trials.is_dir():
            return
        n_finished = len(list(self._trials.glob("*.json")))
        candidates = [worker for worker in workers if _does_trials(worker)]
        if n_finished >= self._moments[0] and candidates:
            del self._moments[0]
            with suppress(ProcessLookupError):
                os.kill(self._draws.choice(candidates).pid, signal.SIGKILL)
                self.killed += 1


def _does_trials(process: psutil.Process) -> bool:
    """Return whether a process is a worker, and none that only watches others."""
    try:
        words = " ".join(process.cmdline())
    except psutil.Error:
        return False
    return not process.children() and "resource_tracker" not in words


@contextmanager
def executor_of(scheduler: str) -> Iterator[Executor | None]:
    """Give Dask's executor, or None for processes."""
    if scheduler != "dask":
        yield None
        return
    distributed: Any = import_module("distributed")
    with (
        distributed.LocalCluster(
            n_workers=N_WORKERS, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
        client.get_executor() as executor,
    ):
        yield executor


def run(arguments: argparse.Namespace, **more: Any) -> Comparison:
    """Compare the designs on all logs."""
    drawn = logs(arguments.logs, arguments.events, arguments.seed)
    return compare(drawn, DESIGNS, budgets=(150,), progress=False, **more)


def main(words: Sequence[str] | None = None) -> int:
    """Run what was asked for, and print it.

    Returns:
        0 where both frames are equal, else 1.
    """
    parser = argparse.ArgumentParser(description="Many logs with killed workers.")
    parser.add_argument("--logs", type=int, default=200)
    parser.add_argument("--events", type=int, default=20)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--scheduler", choices=("processes", "dask"), default="processes"
    )
    arguments = parser.parse_args(words)
    n_trials = arguments.logs * len(DESIGNS)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shared = folder / "shared"
        with (
            executor_of(arguments.scheduler) as executor,
            Watcher(
                shared / "trials", arguments.kills, n_trials, arguments.seed
            ) as watcher,
        ):
            compared = run(arguments, executor=executor, workers=N_WORKERS, out=shared)
        n_kept = len(list((shared / "trials").glob("*.json")))
        shared_peak = watcher.peak
        again = run(arguments, out=shared)
        with Watcher(folder, 0, n_trials, 0) as alone_watcher:
            alone = run(arguments)
    are_equal = _are_equal(compared.frame, alone.frame)
    rows = {
        "trials": n_trials,
        "files of trials": n_kept,
        "workers killed": watcher.killed,
        "trials lost": len(compared.lost),
        "taken over by a second run": again.n_taken_over,
        "frame as of one process": are_equal,
        "peak of this process, MB": round(shared_peak / MEGABYTE),
        "peak of a worker, MB": round(watcher.worker_peak / MEGABYTE),
        "peak of all in one process, MB": round(alone_watcher.peak / MEGABYTE),
    }
    sys.stdout.write(f"{pd.Series(rows).to_string()}\n")
    return 0 if are_equal else 1


def _are_equal(one: pd.DataFrame, other: pd.DataFrame) -> bool:
    try:
        pd.testing.assert_frame_equal(one, other)
    except AssertionError as error:
        sys.stderr.write(f"{error}\n")
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
