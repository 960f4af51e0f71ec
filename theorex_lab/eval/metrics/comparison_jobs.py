"""The jobs of a comparison: a log and a memory each, or a log and a system of needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import TypeAdapter

from theorex_lab.core.errors import InvalidInput
from theorex_lab.eval.adapters.protocol import EvalLog
from theorex_lab.eval.datasets.needs_rows import ProjectNeeds
from theorex_lab.eval.replay.baselines import (
    Memory,
    ReplayAdapterMaker,
    is_baseline,
)
from theorex_lab.eval.replay.job_runs import Finished
from theorex_lab.eval.replay.kept_calls import finished_calls
from theorex_lab.eval.replay.memory_contexts import MemoryContexts
from theorex_lab.eval.replay.needs import score_needs
from theorex_lab.eval.replay.needs_contexts import SystemMaker
from theorex_lab.eval.replay.needs_systems import needs_systems
from theorex_lab.eval.replay.trial_files import (
    NOT_KEPT,
    LogReference,
    TrialFolder,
    file_key,
    memory_code,
    package_code,
    write_log,
)
from theorex_lab.eval.replay.trials import OPENING, MemoryFailure, Plan, Trial, try_out

LogSource = EvalLog | LogReference
LOST = "its worker was lost"


class NeedsRow(NamedTuple):
    """How much of what the sessions of a log needed to know a system's contexts cover.

    Attributes:
        log: The name of the log.
        system: The name of the system, one of `eval.replay.needs_systems`, or of a memory
            that is compared.
        column: What is shown, one of `eval.replay.needs.NEEDS_COLUMNS`.
        value: The mean over sessions.
        ci_low: The lower end of its 95 % bootstrap interval.
        ci_high: The upper end.
        n: The sessions.
    """

    log: str
    system: str
    column: str
    value: float
    ci_low: float
    ci_high: float
    n: int


class TrialJob(NamedTuple):
    """A log that is replayed to a memory.

    Attributes:
        log: The log, or where it is.
        name: The name of the memory.
        memory: The memory.
        others: The logs whose events `shuffled` gives.
        plan: How it is tried.
        key: The name of its file; '' where nothing is kept.
        folder: Where it is kept.
    """

    log: LogSource
    name: str
    memory: Memory
    others: tuple[LogSource, ...]
    plan: Plan
    key: str = ""
    folder: str = ""


class NeedsJob(NamedTuple):
    """A log whose sessions' needs a system or memory is scored by.

    Attributes:
        log: The log, or where it is.
        system: The name of the system or memory.
        plan: How a memory is tried, and what draws the intervals.
        memory: The memory; None for one of `eval.replay.needs_systems`.
        key: The name of its file; '' where nothing is kept.
        folder: Where it is kept.
    """

    log: LogSource
    system: str
    plan: Plan
    memory: Memory | None = None
    key: str = ""
    folder: str = ""


Job = TrialJob | NeedsJob
TRIAL = TypeAdapter(Trial)
NEEDS = TypeAdapter(list[NeedsRow])


def result_of(done: Finished[Job]) -> Any:
    """Return the result of a job; where no worker survived it, one that says so."""
    if not done.was_given_up:
        return done.result
    job = done.job
    if isinstance(job, NeedsJob):
        return list[NeedsRow]()
    trial = Trial(job.log.name, job.name)
    trial.problems[f"{LOST} {done.lost} times; nothing was scored"] = 1
    return trial


def read_log(source: LogSource) -> EvalLog:
    """Return a log, from its file where it is elsewhere."""
    return source if isinstance(source, EvalLog) else source.read()


def run_job(job: Job) -> Any:
    """Return the trial or the rows of a job.

    Where another process has finished it meanwhile, what that one kept is returned.
    """
    adapter = adapter_of(job)
    folder = TrialFolder(Path(job.folder)) if job.key else None
    result = folder.read(job.key, adapter) if folder else None
    if result is None:
        result = _trial(job) if isinstance(job, TrialJob) else _needs_rows(job)
        if folder and _is_kept(result):
            folder.write(job.key, result, adapter)
    return result


def _is_kept(result: Any) -> bool:
    """Return whether a result is one of the memory, which was opened.

    A package that is missing may be there the next time.
    """
    if not isinstance(result, Trial):
        return bool(result)
    return all(not problem.startswith(OPENING) for problem in result.problems)


def adapter_of(job: Job) -> TypeAdapter[Any]:
    """Return what reads and writes the result of a job."""
    return TRIAL if isinstance(job, TrialJob) else NEEDS


def _trial(job: TrialJob) -> Trial:
    other: list[Any] = []
    for source in job.others:
        other += read_log(source).events
    maker = ReplayAdapterMaker(job.memory, tuple(other))
    return try_out(read_log(job.log), job.name, maker, job.plan)


def _needs_rows(job: NeedsJob) -> list[NeedsRow]:
    """Return what one system or memory covers of the needs of one project."""
    log = read_log(job.log)
    if log.needs is None:
        return []
    project = ProjectNeeds(log.name, log.needs.sessions, log, log.needs.touched_files)
    make = needs_systems()[job.system] if job.memory is None else _contexts_maker(job)
    makers = {job.system: make}
    try:
        score = score_needs([project], makers, seed=job.plan.seed, progress=False)
    except MemoryFailure:
        # It cannot be made, which its trial on this log says.
        return []
    columns = score.columns(job.system, project=project.name)
    rows = list[NeedsRow]()
    for column, mean in columns.items():
        row = NeedsRow(log.name, job.system, column, *mean)
        rows.append(row)
    return rows


def _contexts_maker(job: NeedsJob) -> SystemMaker:
    """Return what makes the system that asks the memory of a job."""
    assert job.memory is not None
    maker = ReplayAdapterMaker(job.memory)
    return partial(MemoryContexts, maker, job.plan)


class Sources:
    """The logs of a comparison, in memory or in files.

    Attributes:
        logs: The logs, or where they are, in their order.
    """

    def __init__(self, logs: Iterable[EvalLog], folder: Path | None) -> None:
        """Take the logs.

        Args:
            logs: The logs, one after the other.
            folder: Where each gets a file, and is let go; None to hold them.

        Raises:
            InvalidInput: There is none, or two have one name.
        """
        self._folder = folder
        self.logs: list[LogSource] = []
        names = list[str]()
        for log in logs:
            if log.name in names:
                raise _unusable([*names, log.name])
            names.append(log.name)
            self.logs.append(write_log(log, folder) if folder else log)
        if not self.logs:
            raise _unusable(names)

    def jobs(
        self, memories: Mapping[str, Memory], plan: Plan, folder: TrialFolder | None
    ) -> list[Job]:
        """Return the jobs: those of needs first, then a log after the other.

        Args:
            memories: The memories by name.
            plan: How they are tried.
            folder: Where trials are kept; None where nothing is.
        """
        jobs: list[Job] = []
        for source in self.logs:
            if _has_needs(source):
                jobs += self._needs_jobs(source, memories, plan, folder)
        for number, source in enumerate(self.logs):
            for name, memory in memories.items():
                others = self._others(number) if name == "shuffled" else ()
                job = TrialJob(source, name, memory, others, plan)
                jobs.append(_kept_in(job, folder))
        return jobs

    def _needs_jobs(
        self,
        source: LogSource,
        memories: Mapping[str, Memory],
        plan: Plan,
        folder: TrialFolder | None,
    ) -> Iterator[Job]:
        """Yield the jobs of the systems, and of memories that are none of them.

        Baselines are left out: the systems have those of their own.
        """
        systems = needs_systems()
        for system in systems:
            yield _kept_in(NeedsJob(source, system, plan), folder)
        for name, memory in memories.items():
            if name not in systems and not is_baseline(memory):
                yield _kept_in(NeedsJob(source, name, plan, memory), folder)

    def _others(self, number: int) -> tuple[LogSource, ...]:
        """Return the next log.

        Where there is one alone, they are those of the packaged simulation, unless it
        is that.
        """
        if len(self.logs) > 1:
            return (self.logs[(number + 1) % len(self.logs)],)
        return self._simulated

    @cached_property
    def _simulated(self) -> tuple[LogSource, ...]:
        from theorex_lab.eval.datasets.logs import load_logs

        sources = list[LogSource]()
        for log in load_logs("simulated_team"):
            if log.name == self.logs[0].name:
                continue
            sources.append(write_log(log, self._folder) if self._folder else log)
        return tuple(sources)


def _kept_in(job: Job, folder: TrialFolder | None) -> Job:
    """Return a job with the name of the file in which it is kept."""
    if folder is None or isinstance(job.log, EvalLog):
        return job
    content = job.log.content
    path = str(folder.folder)
    if isinstance(job, NeedsJob):
        return _needs_kept_in(job, content, path)
    code = memory_code(job.memory)
    if code is None:
        folder.add_problem(f"{job.name} runs again each time: {NOT_KEPT}")
        return job
    others = list[str]()
    for source in job.others:
        if isinstance(source, LogReference):
            others.append(source.content)
    key = file_key(content, job.name, code, repr(job.plan), *others)
    return job._replace(key=key, folder=path)


def _needs_kept_in(job: NeedsJob, content: str, path: str) -> NeedsJob:
    """Return a job of needs with the name of its file in a folder, where it has one."""
    if job.memory is None:
        key = file_key(content, job.system, package_code(), str(job.plan.seed))
        return job._replace(key=key, folder=path)
    code = memory_code(job.memory)
    if code is None:
        return job
    key = file_key(content, "needs", job.system, code, repr(job.plan))
    return job._replace(key=key, folder=path)


def _has_needs(source: LogSource) -> bool:
    if isinstance(source, EvalLog):
        return source.needs is not None
    return source.has_needs


def _unusable(names: Sequence[str]) -> InvalidInput:
    return InvalidInput(
        f"got the logs {', '.join(names) or 'none'}; allowed is one or more, each once"
    )


def finished_jobs(
    jobs: Sequence[Job], *, executor: Executor | None, workers: int
) -> Iterator[Finished[Job]]:
    """Yield the jobs as they end.

    Args:
        jobs: The jobs.
        executor: What runs them; None for processes of their own, or this one.
        workers: How many processes, where no executor is given.
    """
    return finished_calls(run_job, jobs, executor=executor, workers=workers)
