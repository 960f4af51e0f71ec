"""Share calls among processes, and keep what each returned in a file of its own.

A comparison does so with its trials, and so do other scores that have many parts: the
systems that are scored by needs, and the laws that are tried on a log.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import TypeAdapter

from theorex_lab.core.processes import worker_pool
from theorex_lab.core.progress import bar
from theorex_lab.eval.replay.job_runs import Finished, JobRun, MakeExecutor
from theorex_lab.eval.replay.trial_files import TrialFolder

# How many jobs an executor gets that does not say how many workers it has.
_AT_ONCE = 16
Job = TypeVar("Job")


class KeptCall(NamedTuple):
    """A call that another process may do.

    Attributes:
        name: What it is called where its worker is lost.
        call: A function that can be imported.
        arguments: What it is called with: names, numbers, references to logs.
        shape: The type of what it returns, which reads and writes its file.
        key: The name of its file; '' where nothing is kept.
        folder: Where it is kept.
    """

    name: str
    call: Callable[..., Any]
    arguments: tuple[Any, ...]
    shape: Any
    key: str = ""
    folder: str = ""


@dataclass
class SharedCalls:
    """Who does calls, and where their results are kept.

    Attributes:
        executor: What does them; None for processes of their own, or this one.
        workers: How many processes, where no executor is given.
        files: Where results are kept; None where nothing is.
        lost: The names of the calls that no worker survived.
        n_taken_over: How many results were there from an earlier run.
    """

    executor: Executor | None = None
    workers: int = 1
    files: TrialFolder | None = None
    lost: list[str] = field(default_factory=list)
    n_taken_over: int = 0

    @classmethod
    def of(
        cls, executor: Executor | None, workers: int, out: str | Path | None
    ) -> SharedCalls:
        """Return who does calls, with the folder of their results.

        Args:
            executor: What does them, if any.
            workers: How many processes, where no executor is given.
            out: The folder, which is made where it is missing; None for none.
        """
        files = None if out is None else TrialFolder(Path(out))
        return cls(executor, workers, files)

    @property
    def file_problems(self) -> tuple[str, ...]:
        """Return what was wrong with files of an earlier run."""
        return tuple(self.files.problems) if self.files else ()

    @property
    def is_shared(self) -> bool:
        """Return whether other processes do the calls."""
        return self.executor is not None or self.workers > 1

    @property
    def needs_references(self) -> bool:
        """Return whether calls get references to logs, and not logs."""
        return self.is_shared or self.files is not None

    @contextmanager
    def log_folder(self) -> Iterator[Path | None]:
        """Give the folder of the logs as long as calls run; None where none is needed."""
        out = self.files.folder if self.files else None
        with log_folder(out, are_shared=self.is_shared) as folder:
            yield folder

    def results(
        self, calls: Sequence[KeptCall], *, what: str, progress: bool | None = None
    ) -> list[Any]:
        """Do calls, but those whose results are kept.

        Args:
            calls: The calls.
            what: What the bar is called.
            progress: Whether there is a bar (None: in a terminal or notebook).

        Returns:
            What they returned, in their order; None where no worker survived, which
            `lost` names.

        Raises:
            Exception: Whatever a call raises.
        """
        results = self._of_earlier_runs(calls)
        left = [call for call in calls if id(call) not in results]
        self.n_taken_over += len(calls) - len(left)
        progress_bar = bar(
            len(left),
            unit="calls",
            what=what,
            progress=progress,
        )
        with closing(progress_bar):
            for done in self._finished(left):
                results[id(done.job)] = done.result
                progress_bar.update(1)
        for call in left:
            if results[id(call)] is None:
                self.lost.append(call.name)
        return [results[id(call)] for call in calls]

    def _of_earlier_runs(self, calls: Sequence[KeptCall]) -> dict[int, Any]:
        """Return the results that are kept, by the identity of the call."""
        results: dict[int, Any] = {}
        if self.files is None:
            return results
        for call in calls:
            if not call.key:
                continue
            adapter: TypeAdapter[Any] = TypeAdapter(call.shape)
            result = self.files.read(call.key, adapter)
            if result is not None:
                results[id(call)] = result
        return results

    def _finished(self, calls: Sequence[KeptCall]) -> Iterator[Finished[KeptCall]]:
        return finished_calls(
            run_call,
            calls,
            executor=self.executor,
            workers=self.workers,
        )


def run_call(call: KeptCall) -> Any:
    """Return what a call returns, and keep it.

    Where another process has finished it meanwhile, what that one kept is returned.
    """
    if not call.key:
        return call.call(*call.arguments)
    adapter: TypeAdapter[Any] = TypeAdapter(call.shape)
    folder = TrialFolder(Path(call.folder))
    result = folder.read(call.key, adapter)
    if result is None:
        result = call.call(*call.arguments)
        folder.write(call.key, result, adapter)
    return result


def finished_calls(
    run: Callable[[Job], Any],
    jobs: Sequence[Job],
    *,
    executor: Executor | None,
    workers: int,
) -> Iterator[Finished[Job]]:
    """Yield jobs as they end.

    Args:
        run: Does a job; it is sent to processes.
        jobs: The jobs.
        executor: What runs them; None for processes of their own, or this one.
        workers: How many processes, where no executor is given.
    """
    if executor is None and workers <= 1:
        for job in jobs:
            yield Finished(job, run(job))
        return
    make: MakeExecutor = partial(worker_pool, workers)
    n_workers = workers
    if executor is not None:
        make = partial(_given, executor)
        n_workers = getattr(executor, "_max_workers", None) or _AT_ONCE
    yield from JobRun(run, make, n_workers).run(jobs)


def _given(executor: Executor) -> AbstractContextManager[Executor]:
    return nullcontext(executor)


@contextmanager
def log_folder(out: Path | None, *, are_shared: bool) -> Iterator[Path | None]:
    """Give the folder of the logs as long as they are read; None where none is needed.

    Args:
        out: The folder of the results, which every worker sees.
        are_shared: Whether other processes read the logs.
    """
    if out is None and not are_shared:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="logs-", dir=out) as folder:
        yield Path(folder)
