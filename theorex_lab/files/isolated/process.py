"""Call functions that read files of others, in a process of their own."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.processes import end_process, start_python
from theorex_lab.files.isolated.frames import END, HEAD_BYTES, START, VALUE, size_in
from theorex_lab.files.isolated.limits import FileNotRead, ReadLimits
from theorex_lab.files.isolated.readers import full_name_of, patience_of

if TYPE_CHECKING:
    from theorex_lab.core.processes import Process

_MODULE = "theorex_lab.files.isolated.serve"
_MORE_BYTES = 1 << 20  # of a list of values, beside its last value
# How long a process may take to start and to import what it reads with.
_STARTING_SECONDS = 60.0
_LOOK_EVERY_SECONDS = 0.1
_ENDING_SECONDS = 5.0
# How a process ends that has used up its own clock.
_OUT_OF_TIME = -signal.SIGPROF if hasattr(signal, "SIGPROF") else None
Function = Callable[..., Any]


class ReaderProcess:
    """A process that reads files of others, for one run.

    It starts with the first file, and again after a file that ended it. Leaving the
    `with` block ends it. A run uses it in one thread; other runs have their own.

    Args:
        limits: What one file may cost.
    """

    def __init__(self, limits: ReadLimits | None = None) -> None:
        self._limits = limits or ReadLimits()
        self._process: Process | None = None
        self._watch = _Watch()
        self._left = 0.0
        self._seconds = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()

    def end(self) -> None:
        """End the process, whatever it does."""
        process = self._process
        self._process = None
        self._watch.stop()
        if process is None:
            return
        process.kill()
        # Whoever waits for it also closes the pipes.
        process.communicate()

    def prepare(self, function: Function) -> None:
        """Start the process, and let it import a function's module meanwhile."""
        self._request(function, [], None, "prepare")

    def call(
        self, function: Function, *arguments: object, content: bytes | None = None
    ) -> Any:
        """Return what a function makes of a file, as JSON holds it.

        Args:
            function: A function of a module, marked with `readers.reads_apart`.
            arguments: What it is given; JSON values and paths.
            content: The file's content, where it is given that as its last argument.

        Raises:
            FileNotRead: It took too much, or ended the process.
            InvalidInput: The file is broken.
            ImportError: A package is lacking.
        """
        self.send(function, *arguments, content=content)
        return self.receive()

    def send(
        self, function: Function, *arguments: object, content: bytes | None = None
    ) -> None:
        """Ask for a call, whose value the next `receive` returns.

        Meanwhile this process may do other things.
        """
        self._request(function, [*arguments], content, "function")

    def _request(
        self,
        function: Function,
        arguments: list[object],
        content: bytes | None,
        verb: str,
    ) -> None:
        self._seconds = self._limits.seconds * patience_of(function)
        self._left = max(self._seconds, _STARTING_SECONDS)
        request = {
            verb: full_name_of(function),
            "arguments": [_plain(argument) for argument in arguments],
            "content": None if content is None else len(content),
            "limits": self._limits,
        }
        head = json.dumps(request).encode() + b"\n"
        self._write(head + (content or b""))

    def receive(self) -> Any:
        """Return the value of the call that was asked for; raise as `call`."""
        (value,) = self._values()
        return value

    def each(self, function: Function, *arguments: object) -> Iterator[Any]:
        """Yield what a function yields; raise as `call`, after what came before.

        No other call is made before its end.
        """
        self.send(function, *arguments)
        is_complete = False
        try:
            for values in self._values():
                yield from values
            is_complete = True
        except (InvalidInput, ImportError):
            is_complete = True
            raise
        finally:
            if not is_complete:
                self.end()

    def _values(self) -> Iterator[Any]:
        while True:
            sign, payload = self._frame()
            if sign == START:
                self._left = self._seconds
            elif sign == VALUE:
                yield json.loads(payload)
            elif sign == END:
                return
            else:
                self._raise_told(payload)

    def _raise_told(self, payload: bytes) -> NoReturn:
        """Raise the error that the process tells of."""
        kind, says, name = json.loads(payload)
        if kind == "lacking":
            raise ImportError(says, name=name)
        if kind == "left out":
            # What it has left of its memory is not known.
            self.end()
            raise FileNotRead(says)
        if kind == "invalid":
            raise InvalidInput(says)
        raise InvalidInput(f"it is broken: {says}")

    def _write(self, request: bytes) -> None:
        if self._process is None:
            self._process = start_python(_MODULE)
        stdin = self._process.stdin
        assert stdin is not None
        with self._waiting(self._process), suppress(BrokenPipeError):
            # Where it has ended, `receive` says how.
            stdin.write(request)
            stdin.flush()

    def _frame(self) -> tuple[bytes, bytes]:
        """Return the next part of a reply: its sign and its content."""
        process = self._process
        if process is None:
            raise FileNotRead("left out: the run has ended")
        stdout = process.stdout
        assert stdout is not None
        with self._waiting(process):
            head = stdout.read(HEAD_BYTES)
            size = size_in(head)
            is_allowed = size <= self._limits.output_bytes + _MORE_BYTES
            content = stdout.read(size) if is_allowed else b""
        if len(head) < HEAD_BYTES or len(content) < size:
            self._raise_ended(process)
        return head[:1], content

    @contextmanager
    def _waiting(self, process: Process) -> Iterator[None]:
        """Wait for the process, and end it where its seconds are used up.

        Raises:
            FileNotRead: It was ended.
        """
        start = time.monotonic()
        self._watch.begin(process, start + self._left)
        try:
            yield
        finally:
            is_late = self._watch.end()
            self._left -= time.monotonic() - start
        if is_late:
            self.end()
            self._raise_late()

    def _raise_late(self) -> NoReturn:
        raise FileNotRead(
            f"left out: took more than {self._seconds:g} s (setting readSeconds)"
        )

    def _raise_ended(self, process: Process) -> NoReturn:
        """Raise why the process ended by itself."""
        self._process = None
        end_process(process, _ENDING_SECONDS)
        _, error_output = process.communicate()
        code = process.returncode
        if code == _OUT_OF_TIME:
            self._raise_late()
        says = error_output.decode("utf-8", "replace").strip()
        _, _, last_line = says.rpartition("\n")
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        if last_line:
            how = f"{how}: {last_line}"
        raise FileNotRead(f"left out: its reader crashed ({how})")


class _Watch:
    """Ends a process that is waited for past a time.

    A thread looks at it now and then, since each wait may be the last.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._process: Process | None = None
        self._deadline = 0.0
        self._is_late = False

    def begin(self, process: Process, deadline: float) -> None:
        """Watch a process until a time of the monotonic clock."""
        with self._lock:
            self._process = process
            self._deadline = deadline
            self._is_late = False
        if self._thread is None:
            self._stopped = threading.Event()
            self._thread = threading.Thread(
                target=self._look, args=[self._stopped], daemon=True
            )
            self._thread.start()

    def end(self) -> bool:
        """Watch no more, and return whether the process was ended."""
        with self._lock:
            self._process = None
            return self._is_late

    def stop(self) -> None:
        """End the thread."""
        self._stopped.set()
        self._thread = None

    def _look(self, stopped: threading.Event) -> None:
        while not stopped.wait(_LOOK_EVERY_SECONDS):
            with self._lock:
                process = self._process
                if process is not None and time.monotonic() >= self._deadline:
                    process.kill()
                    self._process = None
                    self._is_late = True


def _plain(argument: object) -> object:
    """Return an argument as JSON holds it.

    A path is whole, since the process runs in another folder.
    """
    return str(argument.absolute()) if isinstance(argument, Path) else argument
