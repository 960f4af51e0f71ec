"""Processes that read files apart, which go on from one run to the next.

Each run starts a process of its own, which costs a tenth of a second of processor time,
and a property is tested by dozens of runs. Here a run takes over the process that the
run before it is done with. All else is as it is for a user: a file is read in a process
apart, through the same pipes, within the same limits.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.processes import python_variables, start_python
from theorex_lab.files.isolated import process as process_module
from theorex_lab.files.isolated.process import ReaderProcess

if TYPE_CHECKING:
    from theorex_lab.core.processes import Process

Environment = dict[str, str]
# Variables that differ from test to test, and that no reader looks at.
UNREAD_VARIABLES = ("HOME", "PYTEST_CURRENT_TEST", "THEOREX_AGENT", "THEOREX_HOME")
MOST_IDLE = 2


class SpareReaders:
    """Processes that have answered all they were asked, and wait for more.

    A fork of this process starts its own: two that share pipes would mix their answers.
    """

    def __init__(self) -> None:
        self._owner = os.getpid()
        self._idle: list[Process] = []
        self._environments: dict[int, Environment] = {}
        self._n_awaited: Counter[int] = Counter()

    def start(self, module: str, *words: str) -> Process:
        """Return a process that was started in the same environment, or a new one."""
        if self._is_fork():
            return start_python(module, *words)
        environment = environment_now()
        for process in self._idle:
            if self._environments[process.pid] == environment:
                self._idle.remove(process)
                return process
        process = start_python(module, *words)
        self._environments[process.pid] = environment
        return process

    def take(self, reader: ReaderProcess) -> bool:
        """Take over a reader's process, and return whether it may be asked by others."""
        process = reader._process
        is_awaited = self._n_awaited.pop(id(reader), 0) > 0
        if process is None or is_awaited or self._is_fork():
            return False
        reader._process = None
        reader._watch.stop()
        self._idle.append(process)
        self.end(keeping=MOST_IDLE)
        return True

    def note_request(self, reader: ReaderProcess) -> None:
        """Note that one more answer is awaited."""
        self._n_awaited[id(reader)] += 1

    def note_answer(self, reader: ReaderProcess) -> None:
        """Note that all of an answer has come."""
        self._n_awaited[id(reader)] -= 1

    def end(self, keeping: int = 0) -> None:
        """End the processes that have waited longest, but for so many."""
        while len(self._idle) > keeping:
            process = self._idle.pop(0)
            process.kill()
            process.communicate()

    def _is_fork(self) -> bool:
        return os.getpid() != self._owner


def environment_now() -> Environment:
    """Return those variables that a process would be started with and may look at."""
    variables = python_variables()
    for name in UNREAD_VARIABLES:
        variables.pop(name, None)
    return variables


@contextmanager
def shared_readers() -> Iterator[None]:
    """Let each run take over the process that the run before it is done with."""
    spare = SpareReaders()
    request = ReaderProcess._request
    values = ReaderProcess._values
    end = ReaderProcess.end

    def noted_request(
        reader: ReaderProcess,
        function: Callable[..., Any],
        arguments: list[object],
        content: bytes | None,
        verb: str,
    ) -> None:
        if verb == "function":
            spare.note_request(reader)
        request(reader, function, arguments, content, verb)

    def noted_values(reader: ReaderProcess) -> Iterator[Any]:
        try:
            yield from values(reader)
        except (InvalidInput, ImportError):
            # The process told of an error, and waits; or it was ended.
            spare.note_answer(reader)
            raise
        spare.note_answer(reader)

    def end_unless_spare(reader: ReaderProcess) -> None:
        if not spare.take(reader):
            end(reader)

    with (
        patch.object(process_module, "start_python", spare.start),
        patch.object(ReaderProcess, "_request", noted_request),
        patch.object(ReaderProcess, "_values", noted_values),
        patch.object(ReaderProcess, "end", end_unless_spare),
    ):
        try:
            yield
        finally:
            spare.end()
