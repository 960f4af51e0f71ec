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
    """Return what broke and where; an error's own text only where it cannot hold any of
    the payload.
    """
    from theorex_lab.core.errors import NewerVersion, StorageError

    if isinstance(error, StorageError | NewerVersion):
        return f"{type(error).__name__}: {error}"
    if isinstance(error, OSError) and error.strerror:
        return f"{type(error).__name__}: {error.strerror}"
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    where = (
        f" in {os.path.basename(step.tb_frame.f_code.co_filename)}, line {step.tb_lineno}"
        if step
        else ""
    )
    return f"{type(error).__name__}{where}; the event was not taken"


def log_path(home: str) -> str:
    """Return the log's path, after an overlong log was put aside."""
    path = os.path.join(home, LOG_FILE)
    try:
        if os.stat(path).st_size > LARGEST_LOG_BYTES:
            os.replace(path, f"{path}.1")
    except FileNotFoundError:
        pass  # no log yet, or another process has just put it aside
    return path


def log(home: str, problem: str) -> None:
    """Write one line to the log, or to standard error where the home cannot be written."""
    from theorex_lab.core.clock import SystemClock, to_iso

    line = f"{to_iso(SystemClock().now())} {' '.join(problem.split())}\n".encode(
        "utf-8", "replace"
    )
    try:
        os.makedirs(home, mode=0o700, exist_ok=True)
        file = os.open(log_path(home), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, line)
        finally:
            os.close(file)
    except OSError:
        from contextlib import suppress

        with suppress(OSError):
            os.write(2, b"theorex-hook: " + line)
