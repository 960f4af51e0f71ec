"""Files of others are parsed in a process of their own.

It may die, hang or want more memory than it gets.
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
    """Return what a module's function makes of a file, as JSON holds it.

    The process lives on for the next file; its memory is bounded.

    Args:
        parse: A function of a module, which takes the file's ending and content.
        suffix: The ending.
        content: The content.
        seconds: How long it may take.

    Raises:
        InvalidInput: Where it fails.
        ImportError: Where a package is lacking.
    """
    process = _running_process()
    function_path = f"{parse.__module__}:{parse.__name__}"
    head = json.dumps([function_path, suffix, len(content)])
    reply = _reply(process, head.encode() + b"\n" + content, seconds)
    if reply:
        return json.loads(reply)
    del _PROCESSES["it"]
    _, error_output = process.communicate()
    error_text = error_output.decode("utf-8", "replace")
    error_lines = error_text.strip().splitlines()
    if process.returncode < 0 or not error_lines:
        raise InvalidInput(
            f"it could not be read within {seconds:g} seconds and"
            f" {_MOST_BYTES >> 20} MiB of memory"
        )
    raise _error_of(error_lines[-1])


def _running_process() -> Process:
    """Return the process that lives, or a new one."""
    process = _PROCESSES.get("it")
    if process is None or process.poll() is not None:
        process = start_python(__name__)
        _PROCESSES["it"] = process
    return process


def _reply(
    process: Process,
    request: bytes,
    seconds: float,
) -> bytes:
    """Return what the process answers, b"" where it ended or was ended."""
    assert process.stdin is not None
    assert process.stdout is not None
    timer = threading.Timer(seconds, process.kill)
    timer.start()
    try:
        process.stdin.write(request)
        process.stdin.flush()
        return process.stdout.readline()
    except BrokenPipeError:
        return b""
    finally:
        timer.cancel()


def _error_of(line: str) -> Exception:
    """Return the error that the last line of the process reports."""
    kind, _, why = line.partition(": ")
    if kind in ("ModuleNotFoundError", "ImportError"):
        package = why.split("'")[1] if "'" in why else why
        return ImportError(why, name=package)
    return InvalidInput(f"it is broken: {why or kind}")


def _serve() -> None:
    """Do what standard input asks for, one file after another.

    An error ends the process, and is printed on standard error.
    """
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, _MOST_BYTES))
    source = sys.stdin.buffer
    replies = sys.stdout.buffer
    # Whatever a library prints is no reply, and nobody would read it: the pipe would be
    # full. Told is the error that ends this.
    errors = sys.stderr
    sys.stdout = None
    sys.stderr = None
    sys.excepthook = lambda kind, error, _: print(
        f"{kind.__name__}: {' '.join(str(error).split())}", file=errors
    )
    while line := source.readline():
        function_path, suffix, size = json.loads(line)
        parse = import_string(function_path)
        content = source.read(size)
        reply = json.dumps(parse(suffix, content))
        replies.write(reply.encode() + b"\n")
        replies.flush()


if __name__ == "__main__":
    _serve()
