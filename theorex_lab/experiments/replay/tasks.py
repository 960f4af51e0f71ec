"""Work of many tasks, such as a comparison: in process or on an executor."""

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Executor, as_completed
from contextlib import closing
from typing import Any, TypeVar

from theorex_lab.progress import bar

T = TypeVar("T")


def run_all(work: Callable[..., Sequence[T]], tasks: Sequence[tuple[Any, ...]], total: int, *, executor: Executor | None,
            progress: bool | None, unit: str, what: str) -> list[T]:  # fmt: skip
    """What `work` gives for each task, one after the other, `total` of it.

    executor: None for this process; what has not begun there is cancelled where one fails or this is interrupted.
    progress: a bar (None: in a terminal or notebook).
    """
    found: dict[int, Sequence[T]] = {}
    with closing(bar(total, 0, progress, unit, what)) as shown, closing(_results(work, tasks, executor)) as results:
        for number, rows in results:
            found[number] = rows
            shown.update(len(rows))
    return [row for number in sorted(found) for row in found[number]]


def _results(work: Callable[..., Sequence[T]], tasks: Sequence[tuple[Any, ...]],
             executor: Executor | None) -> Generator[tuple[int, Sequence[T]], None, None]:  # fmt: skip
    """Each task's number and rows, as they are done."""
    if executor is None:
        yield from ((number, work(*given)) for number, given in enumerate(tasks))
        return
    futures = {executor.submit(work, *given): number for number, given in enumerate(tasks)}
    try:
        yield from ((futures[future], future.result()) for future in as_completed(futures))
    finally:
        for future in futures:
            future.cancel()
