"""Run the code on standard input, out of reach of files, sockets and processes.

It is started as a program of its own, with the seconds that it may take and the file
that takes what it prints, whose size is bounded. That holds off
a model's mistakes; no audit hook holds off an attacker.
"""

import os
import sys

_LIMITS = (("AS", 1 << 29), ("FSIZE", 1 << 20), ("CORE", 0))
_REFUSED = frozenset(
    (
        "socket",
        "subprocess",
        "ctypes",
        "os",
        "shutil",
        "pty",
        "signal",
        "resource",
        "mmap",
        "fcntl",
        "winreg",
        "sqlite3",
    )
)
_LISTING = ("os.listdir", "os.scandir")
_LIBRARY = os.path.realpath(os.__file__).removesuffix("os.py")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


def _limit(seconds: int) -> None:
    """Bound memory, time and what is written, where the system can."""
    try:
        import resource

        for name, amount in (*_LIMITS, ("CPU", seconds)):
            limit = getattr(resource, f"RLIMIT_{name}")
            resource.setrlimit(limit, (amount, amount))
    except (ImportError, ValueError, OSError):
        pass


def _print_into(file: str) -> None:
    """Let everything that is printed go into a file."""
    printed = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    for number in (1, 2):
        os.dup2(printed, number)


def _is_inside(path: object) -> bool:
    """Return whether a path is of the standard library, or no path at all."""
    if not isinstance(path, str | bytes):
        return True
    real = os.path.realpath(os.fsdecode(path))
    return (real + os.sep).startswith(_LIBRARY)


def _only_reads(mode: object, flags: object) -> bool:
    if mode not in (None, "r", "rb", "rt"):
        return False
    return not (isinstance(flags, int) and flags & _WRITING)


def _guard(event: str, arguments: tuple[object, ...]) -> None:
    """Refuse what reaches out of the process.

    Raises:
        PermissionError: It does.
    """
    if event == "open":
        path, mode, flags = arguments[:3]
        if not (_is_inside(path) and _only_reads(mode, flags)):
            raise PermissionError("files are out of reach here")
    if event in _LISTING:
        if not _is_inside(arguments[0]):
            raise PermissionError("files are out of reach here")
        return
    if event.partition(".")[0] in _REFUSED:
        raise PermissionError(f"{event} is out of reach here")


if __name__ == "__main__":
    _code = sys.stdin.read()
    _print_into(sys.argv[2])
    _limit(int(sys.argv[1]))
    _compiled = compile(_code, "<calc>", "exec")
    sys.addaudithook(_guard)
    exec(_compiled, {"__name__": "__main__"})
