"""A server run as a child until it ends or this process is told to end: then nothing of it is left."""

from __future__ import annotations

import math
import os
import secrets
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue

import psutil

from theorex_lab.serve.signals import on_end, restore

_MARK = "THEOREX_SERVER_RUN"
_LOOK_SECONDS = 1.0
_STOP_SECONDS = 10.0  # for the server to stop its kernels, and again for what it left behind


def run_server(arguments: Sequence[str], *, stop_seconds: float = _STOP_SECONDS) -> int:
    """Run the command and return its exit code; 128 and the signal's number where this process was told to end.

    Ctrl-C reaches the server itself, which asks, and stops its kernels before it ends. SIGTERM and SIGHUP are handed on
    as SIGTERM; what then still runs of it, kernels too, is ended after `stop_seconds`, or at a second signal.
    """
    told: SimpleQueue[int | None] = SimpleQueue()  # safe to put to in a handler; None: the server has ended
    mark = secrets.token_hex(8)

    def watch(server: subprocess.Popen[bytes]) -> None:
        server.wait()
        told.put(None)

    before = on_end(lambda number, _: told.put(number))
    interrupted = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        with subprocess.Popen(arguments, env={**os.environ, _MARK: mark}) as server:
            threading.Thread(target=watch, args=[server], daemon=True).start()
            sign = _heard(told, math.inf)
            if sign is None:
                return server.returncode
            _stop(server, told, mark, stop_seconds)
            return 128 + sign
    finally:
        signal.signal(signal.SIGINT, interrupted)
        restore(before)


def _stop(server: subprocess.Popen[bytes], told: SimpleQueue[int | None], mark: str, stop_seconds: float) -> None:
    server.terminate()
    with suppress(Empty):
        if _heard(told, stop_seconds) is not None:
            stop_seconds = 0
    server.kill()  # nothing where it has ended
    left = _marked(mark)
    for process in left:
        with suppress(psutil.NoSuchProcess):
            process.terminate()
    for process in psutil.wait_procs(left, timeout=stop_seconds)[1]:
        with suppress(psutil.NoSuchProcess):
            process.kill()


def _heard(told: SimpleQueue[int | None], seconds: float) -> int | None:
    """What is told next; raises Empty after so long. Looks every second: a signal may be given to a thread that waits for
    something else, and then wakes nobody here."""
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        with suppress(Empty):
            return told.get(timeout=min(left, _LOOK_SECONDS))
    raise Empty


def _marked(mark: str) -> list[psutil.Process]:
    """What the server has started, and these in turn. Kernels have sessions of their own, and lose their parent when the
    server dies of what it was sent too; their environment stays."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):  # another user's, or gone meanwhile
            if process.environ().get(_MARK) == mark:
                found.append(process)
    return found
