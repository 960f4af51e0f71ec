"""What the hook says of its problems, and the file in which they stand.

Standard library only; imported where there is a problem, or a command is started that
writes to the log.
"""

# Paths are texts here: importing pathlib would cost 5 ms.
from __future__ import annotations

import os

LOG_FILE = "hook.log"
LARGEST_LOG_BYTES = 1 << 20


def describe(error: BaseException) -> str:
    """Return what broke and where.

    An error's own text is shown only where it cannot hold any of the payload.
    """
    from theorex_lab.core.errors import NewerVersion, StorageError

    name = type(error).__name__
    if isinstance(error, StorageError | NewerVersion):
        return f"{name}: {error}"
    if isinstance(error, OSError) and error.strerror:
        return f"{name}: {error.strerror}"
    step = error.__traceback__
    if step is None:
        return f"{name}; the event was not taken"
    while step.tb_next is not None:
        step = step.tb_next
    code = step.tb_frame.f_code
    file = os.path.basename(code.co_filename)
    return f"{name} in {file}, line {step.tb_lineno}; the event was not taken"


def log_path(home: str) -> str:
    """Return the log's path, after an overlong log was put aside."""
    path = os.path.join(home, LOG_FILE)
    try:
        size = os.stat(path).st_size
        if size > LARGEST_LOG_BYTES:
            os.replace(path, f"{path}.1")
    except FileNotFoundError:
        pass  # no log yet, or another process has just put it aside
    return path


def log(home: str, problem: str) -> None:
    """Write one line to the log, or to standard error where there can be no log."""
    from theorex_lab.core.clock import SystemClock, to_iso

    at = to_iso(SystemClock().now())
    one_line = " ".join(problem.split())
    line = f"{at} {one_line}\n".encode("utf-8", "replace")
    try:
        os.makedirs(home, mode=0o700, exist_ok=True)
        path = log_path(home)
        flags = os.O_WRONLY
        flags |= os.O_APPEND
        flags |= os.O_CREAT
        file = os.open(path, flags, 0o600)
        try:
            os.write(file, line)
        finally:
            os.close(file)
    except OSError:
        from contextlib import suppress

        line = b"theorex-hook: " + line
        with suppress(OSError):
            os.write(2, line)
