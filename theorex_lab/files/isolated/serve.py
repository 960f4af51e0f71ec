"""The process in which files of others are read, one after another.

Standard library only: a reader imports what it needs when it is first asked.

A request is a line of JSON, with the bytes of a file behind it. A reply is what `frames`
says.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from typing import Any, BinaryIO

from theorex_lab.core import light_json
from theorex_lab.core.errors import InvalidInput
from theorex_lab.files.isolated.frames import END, ERROR, START, VALUE, frame_head
from theorex_lab.files.isolated.limits import (
    FileNotRead,
    ReadLimits,
    in_mebibytes,
    set_limits,
)
from theorex_lab.files.isolated.readers import patience_of

_FRAME_BYTES = 1 << 17
# Beyond what it is waited for; whoever waits says why it is ended.
_CPU_FACTOR = 2
_CPU_MORE_SECONDS = 5.0
_LOOK_EVERY_SECONDS = 2.0


def serve() -> None:
    """Do what standard input asks for, until it ends."""
    threading.Thread(target=_end_with, args=[os.getppid()], daemon=True).start()
    requests = sys.stdin.buffer
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    _be_silent()
    while line := requests.readline():
        request = json.loads(line)
        if "prepare" in request:
            _prepare(request["prepare"])
            continue
        size = request["content"]
        if size is not None:
            request["arguments"].append(requests.read(size))
        _answer(request, replies)


def _end_with(parent: int) -> None:
    """End this process once the one that started it has ended, whatever it does."""
    while os.getppid() == parent:
        time.sleep(_LOOK_EVERY_SECONDS)
    os._exit(1)


def _be_silent() -> None:
    """Drop what libraries print: nobody reads it, and a pipe would be full."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for channel in (1, 2):
        os.dup2(nowhere, channel)
    sys.stdout = None
    sys.stderr = None
    # A key press ends the process that waits, which then ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _prepare(place: str) -> None:
    """Import a function's module; the call says what is wrong with it."""
    module, _, _ = place.partition(":")
    with suppress(Exception):
        import_module(module)


def _answer(request: dict[str, Any], replies: BinaryIO) -> None:
    """Answer a request, by an error where it fails."""
    limits = ReadLimits(*request["limits"])
    answer = _Answer(limits, replies)
    try:
        _bound_memory(limits.memory_bytes)
        set_limits(limits)
        module, _, name = request["function"].partition(":")
        function = getattr(import_module(module), name)
        answer.begin(patience_of(function))
        answer.give(function(*request["arguments"]))
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 - a library may raise anything
        answer.fail(error)


class _Answer:
    """The reply to one request."""

    def __init__(self, limits: ReadLimits, replies: BinaryIO) -> None:
        self._limits = limits
        self._replies = replies
        self._cpu_seconds = 0.0
        self._allow(1)

    def begin(self, patience: int) -> None:
        """Say that the reader begins, which may take so many times the seconds."""
        self._allow(patience)
        self._send(START, b"")

    def _allow(self, patience: int) -> None:
        """Set for how long this process may work on a file."""
        seconds = self._limits.seconds * patience
        self._cpu_seconds = seconds * _CPU_FACTOR + _CPU_MORE_SECONDS
        self._bound_time()

    def give(self, value: object) -> None:
        """Send a value, or what an iterator yields in lists of some size."""
        if isinstance(value, Iterator):
            self._give_each(value)
        else:
            self._send(VALUE, self._encoded(value))
        self._send(END, b"")

    def fail(self, error: Exception) -> None:
        """Send an error."""
        kind = "broken"
        says = " ".join(str(error).split()) or type(error).__name__
        if isinstance(error, MemoryError):
            kind = "left out"
            most = in_mebibytes(self._limits.memory_bytes)
            says = (
                f"left out: needed more than {most} of memory (setting readMemoryBytes)"
            )
        elif isinstance(error, FileNotRead):
            kind = "left out"
        elif isinstance(error, InvalidInput):
            kind = "invalid"
        elif isinstance(error, ImportError):
            kind = "lacking"
        encoded = json.dumps([kind, says, getattr(error, "name", None)])
        self._send(ERROR, encoded.encode())

    def _give_each(self, values: Iterator[object]) -> None:
        pieces = list[bytes]()
        size = _FRAME_BYTES  # the first is awaited
        try:
            for value in values:
                piece = self._encoded(value)
                pieces.append(piece)
                size += len(piece)
                if size >= _FRAME_BYTES:
                    self._send_list(pieces)
                    pieces = []
                    size = 0
        finally:  # also what comes before an error
            self._send_list(pieces)

    def _send_list(self, pieces: list[bytes]) -> None:
        if pieces:
            self._send(VALUE, b"[" + b",".join(pieces) + b"]")

    def _encoded(self, value: object) -> bytes:
        encoded = light_json.dumps(value).encode()
        most = self._limits.output_bytes
        if len(encoded) > most:
            raise FileNotRead(
                f"left out: gives more than {in_mebibytes(most)} (setting"
                " readOutputBytes)"
            )
        return encoded

    def _send(self, sign: bytes, payload: bytes) -> None:
        self._replies.write(frame_head(sign, len(payload)) + payload)
        self._replies.flush()
        self._bound_time()

    def _bound_time(self) -> None:
        """End this process where it works for too long and nobody else ends it."""
        if sys.platform != "win32":
            signal.setitimer(signal.ITIMER_PROF, self._cpu_seconds)


def _bound_memory(most: int) -> None:
    if sys.platform != "win32":
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        if hard != resource.RLIM_INFINITY:
            most = min(most, hard)
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))


if __name__ == "__main__":
    serve()
