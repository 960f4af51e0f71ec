"""Python functions that a model wrote, run in a process of their own that can compute and nothing else.

The process is an interpreter without site packages, environment and home, in an empty folder that is deleted afterwards.
`sandboxed` bounds its CPU time, memory and output, and has the system refuse it files, network, processes and signals.
"""

from __future__ import annotations

import ast
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any

from theorex_lab.errors import TheorexError
from theorex_lab.experiments.data.run_tasks.sandboxed import ISOLATED, UNSAFE

WALL_SECONDS = 10.0  # CPU time ends sooner; this ends what waits
_MAX_SOURCE = 4_000
_MAX_RESULT_BYTES = 4_000
_LAUNCHER = Path(__file__).with_name("sandboxed.py")

_unsafe_allowed: ContextVar[bool] = ContextVar("unsafe_allowed", default=False)


class CodeRefused(Exception):
    """The code defines no such function, raised an error, went over a limit, or returned no plain value."""


class NotIsolated(TheorexError):
    """This system cannot keep code from files and network, and nobody said that it may run all the same."""


@contextmanager
def allowing_unsafe(allowed: bool = True) -> Iterator[None]:
    """Within it, code also runs where the system cannot keep it from files and network."""
    token = _unsafe_allowed.set(allowed)
    try:
        yield
    finally:
        _unsafe_allowed.reset(token)


def call_function(source: str, name: str, arguments: tuple[Any, ...]) -> Any:
    """The result of the function `name` that `source` defines; lines after it that do not parse are left out.

    Arguments and result are literals: numbers, texts, lists, tuples, sets, dicts, True, False and None. Raises Refused for
    code that gives none, NotIsolated where it cannot be run safely (see `allowing_unsafe`).

    >>> call_function("def half(n):\\n    return n / 2\\nand so on", "half", (3,))
    1.5
    """
    # A model that talks on leaves lines that are no code before its function, too.
    found = re.search(r"^def ", source, re.MULTILINE)
    if not found:
        raise CodeRefused("no function was found")
    output = _output(json.dumps([source[found.start() :][:_MAX_SOURCE], name, repr(arguments)]).encode("ascii"))
    result = output.removeprefix(ISOLATED)
    if len(output) > _MAX_RESULT_BYTES:
        raise CodeRefused(f"more than {_MAX_RESULT_BYTES} bytes were written")
    if result == output and not _unsafe_allowed.get():
        raise NotIsolated(
            f"got code of a model to run on {sys.platform}, where it cannot be kept from files and network; "
            "allowed is Linux on x86_64 or aarch64: record there, or pass --allow-unsafe on a machine that holds nothing of worth"
        )
    try:
        return ast.literal_eval(result.decode("ascii"))
    except (SyntaxError, TypeError, ValueError, MemoryError, RecursionError) as error:
        raise CodeRefused(
            f"the function {name} raised an error, went over a limit or returned no plain value"
        ) from error


def _output(request: bytes) -> bytes:
    """What the process wrote until it ended or its time was over, and not much past the limit."""
    command = [sys.executable, "-I", "-S", "-B", str(_LAUNCHER), *([UNSAFE] if _unsafe_allowed.get() else [])]
    # A file takes the output: its size has a limit that the system holds, and nobody need read along.
    with TemporaryDirectory(prefix="theorex-", ignore_cleanup_errors=True) as folder, TemporaryFile() as written:
        with subprocess.Popen(
            command, cwd=folder, env={}, stdin=subprocess.PIPE, stdout=written, stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:  # fmt: skip
            try:
                with suppress(subprocess.TimeoutExpired):
                    process.communicate(request, timeout=WALL_SECONDS)
            finally:
                _kill_group(process)
        written.seek(0)
        return written.read(_MAX_RESULT_BYTES + 1)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """End the process and all that it started."""
    if sys.platform == "win32":
        process.kill()
    else:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
