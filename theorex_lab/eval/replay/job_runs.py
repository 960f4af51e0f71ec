"""Run jobs on an executor, and go on where a worker is lost.

A process that dies takes down the pool that it is of, and all that ran in it. What ran
is tried again, one job at a time, so that the one that kills its worker is known; after
three times it is given up and told. Of Dask's workers others go on, and only what Dask
itself gave up is tried again by itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    wait,
)
from contextlib import AbstractContextManager
from typing import Any, Generic, NamedTuple, TypeVar

MOST_LOSSES = 3
Job = TypeVar("Job")
Numbered = tuple[int, Job]
MakeExecutor = Callable[[], AbstractContextManager[Executor]]


class Finished(NamedTuple, Generic[Job]):
    """A job that ended.

    Attributes:
        job: The job.
        result: What it returned.
        lost: How often its worker was lost; `result` is None where it was given up.
    """

    job: Job
    result: Any
    lost: int = 0

    @property
    def was_given_up(self) -> bool:
        """Return whether no worker survived the job."""
        return self.lost >= MOST_LOSSES


class JobRun(Generic[Job]):
    """Runs jobs, as many at once as there are workers.

    Attributes:
        n_workers: How many run at once.
    """

    def __init__(
        self, call: Callable[[Job], Any], make: MakeExecutor, n_workers: int
    ) -> None:
        """Take what each job is called with.

        Args:
            call: Runs one job; it is sent to processes.
            make: Gives a fresh executor. It is called again where one broke.
            n_workers: How many jobs it runs at once.
        """
        self._call = call
        self._make = make
        self.n_workers = n_workers
        self._lost: dict[int, int] = {}
        # Those whose worker was lost while others went on.
        self._killed: list[Numbered[Job]] = []

    def run(self, jobs: Sequence[Job]) -> Iterator[Finished[Job]]:
        """Yield the jobs as they end, in any order.

        Raises:
            Exception: Whatever a job raises; what has not begun is cancelled.
        """
        waiting = deque(enumerate(jobs))
        # Those whose worker was lost run alone.
        suspects: deque[Numbered[Job]] = deque()
        while waiting or suspects:
            queue = waiting or suspects
            at_once = self.n_workers if waiting else 1
            running: dict[Future[Any], Numbered[Job]] = {}
            with self._make() as executor:
                try:
                    yield from self._run_until_lost(executor, queue, running, at_once)
                finally:
                    for future in running:
                        future.cancel()
            lost = [*running.values(), *self._killed]
            self._killed.clear()
            suspects += lost
            yield from self._given_up(suspects, lost)

    def _given_up(
        self, suspects: deque[Numbered[Job]], lost: Iterable[Numbered[Job]]
    ) -> Iterator[Finished[Job]]:
        """Count the losses; yield what was lost too often, and suspect it no longer."""
        for numbered in lost:
            number, job = numbered
            losses = self._lost.get(number, 0) + 1
            self._lost[number] = losses
            if losses >= MOST_LOSSES:
                suspects.remove(numbered)
                yield Finished(job, None, losses)

    def _run_until_lost(
        self,
        executor: Executor,
        queue: deque[Numbered[Job]],
        running: dict[Future[Any], Numbered[Job]],
        at_once: int,
    ) -> Iterator[Finished[Job]]:
        """Yield what ends, until all has ended or the executor breaks.

        No more jobs are handed over than run, so that it is known what ran then: it is
        left in `running`. An executor that lives on when a worker is lost, as Dask's
        does, goes on with the others.
        """
        while queue or running:
            if not self._hand_over(executor, queue, running, at_once):
                return
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            broken = [future for future in done if _is_broken(future)]
            for future in done.difference(broken):
                number, job = running.pop(future)
                if is_lost(future.exception()):
                    self._killed.append((number, job))
                    continue
                yield Finished(job, future.result(), self._lost.get(number, 0))
            if broken:
                return

    def _hand_over(
        self,
        executor: Executor,
        queue: deque[Numbered[Job]],
        running: dict[Future[Any], Numbered[Job]],
        at_once: int,
    ) -> bool:
        """Give the executor jobs up to so many at once; return False where it broke."""
        while queue and len(running) < at_once:
            number, job = queue[0]
            losses = self._lost.get(number, 0)
            try:
                future = executor.submit(
                    _attempt,
                    self._call,
                    job,
                    losses,
                )
            except BrokenExecutor as error:
                if not running:
                    # Nothing else can have broken it.
                    broken: Future[Any] = Future()
                    broken.set_exception(error)
                    running[broken] = queue.popleft()
                return False
            running[future] = (number, job)
            queue.popleft()
        return True


def _attempt(call: Callable[[Job], Any], job: Job, losses: int) -> Any:  # noqa: ARG001
    """Return what a call returns for a job.

    Args:
        call: Runs the job.
        job: The job.
        losses: How often its worker was lost before. It changes nothing here, but makes
            each attempt another call. Dask answers the same call with the same error,
            as long as anything holds on to the one that it gave up.
    """
    return call(job)


def _is_broken(future: Future[Any]) -> bool:
    """Return whether a job ended since its executor broke, with all that ran there."""
    return isinstance(future.exception(), BrokenExecutor)


def is_lost(error: BaseException | None) -> bool:
    """Return whether an error says that a worker was lost.

    Dask tells it by an error of its own, which is known by its name.
    """
    return isinstance(error, BrokenExecutor) or type(error).__name__ == "KilledWorker"
