"""Files of others are parsed in a process of their own, which may die, hang or want
more memory than it gets.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.imports import import_string
from theorex_lab.core.processes import start_python

if TYPE_CHECKING:
    from theorex_lab.core.processes import Process

_MOST_BYTES = 2 << 30
_SECONDS = 60.0
_PROCESSES: dict[str, Process] = {}


def call_apart(
    parse: Callable[[str, bytes], object],
    suffix: str,
    content: bytes,
    *,
    seconds: float = _SECONDS,
) -> Any:
    """What a module's function makes of a file's ending and content, as JSON holds it.

    The process lives on for the next file; its memory is bounded, and its time by
    `seconds` a file. Raises InvalidInput where it fails, and ImportError where a
    package is lacking.
    """
    process = _PROCESSES.get("it")
    if process is None or process.poll() is not None:
        process = start_python(__name__)
        _PROCESSES["it"] = process
    assert process.stdin is not None
    assert process.stdout is not None
    function_path = f"{parse.__module__}:{parse.__name__}"
    timer = threading.Timer(seconds, process.kill)
    timer.start()
    try:
        process.stdin.write(
            json.dumps([function_path, suffix, len(content)]).encode() + b"\n" + content
        )
        process.stdin.flush()
        reply = process.stdout.readline()
    except BrokenPipeError:
        reply = b""
    finally:
        timer.cancel()
    if reply:
        return json.loads(reply)
    error_lines = (
        _PROCESSES.pop("it")
        .communicate()[1]
        .decode("utf-8", "replace")
        .strip()
        .splitlines()
    )
    if process.returncode < 0 or not error_lines:
        raise InvalidInput(
            f"it could not be read within {seconds:g} seconds and {_MOST_BYTES >> 20} MiB of memory"
        )
    error, _, why = error_lines[-1].partition(": ")
    if error in ("ModuleNotFoundError", "ImportError"):
        raise ImportError(why, name=why.split("'")[1] if "'" in why else why)
    raise InvalidInput(f"it is broken: {why or error}")


def _serve() -> None:
    """Do what standard input asks for, one file after another; an error ends it, and is
    told on standard error.
    """
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, _MOST_BYTES))
    source = sys.stdin.buffer
    replies = sys.stdout.buffer
    # Whatever a library prints is no reply, and nobody would read it: the pipe would be
    # full. Told is the error that ends this.
    errors, sys.stdout, sys.stderr = sys.stderr, None, None
    sys.excepthook = lambda kind, error, _: print(
        f"{kind.__name__}: {' '.join(str(error).split())}", file=errors
    )
    while line := source.readline():
        function_path, suffix, size = json.loads(line)
        replies.write(
            json.dumps(import_string(function_path)(suffix, source.read(size))).encode()
            + b"\n"
        )
        replies.flush()


if __name__ == "__main__":
    _serve()
