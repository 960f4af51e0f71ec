"""The other side of `sandbox`: a script that gives up every right and then calls a function that a model wrote.

Standard input holds source, name and arguments; standard output takes `ISOLATED` once the process is, then the result.
"""

from __future__ import annotations

import ast
import ctypes
import itertools  # noqa: F401 - what answers import is loaded before no file can be read
import json
import math  # noqa: F401
import os
import platform
import string  # noqa: F401
import struct
import sys
import warnings
from typing import Any

ISOLATED = b"isolated\n"
UNSAFE = "--allow-unsafe"
_CPU_SECONDS = 1
_MEMORY_BYTES = 256 * 2**20
_OUTPUT_BYTES = 64 * 2**10
_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2
_LOAD, _IF_EQUAL, _RETURN = 0x20, 0x15, 0x06  # instructions of the kernel's packet filter
_ALLOW, _DENY = 0x7FFF0000, 0x00050001  # the second is EPERM
# By machine its audit number and the only system calls left: write, exit, exit_group, memory (mmap, munmap, mremap, brk,
# madvise), futex, clock_gettime, getrandom, and the return from a signal.
_CALLS = {
    "x86_64": (0xC000003E, (1, 60, 231, 9, 11, 25, 12, 28, 202, 228, 318, 15)),
    "aarch64": (0xC00000B7, (64, 93, 94, 222, 215, 216, 214, 233, 98, 113, 278, 139)),
}


def main() -> None:
    """Call the function; an error ends the process without a result."""
    source, name, arguments = json.load(sys.stdin)
    _set_limits()
    if _isolated():
        os.write(1, ISOLATED)
    elif UNSAFE not in sys.argv:
        return
    scope: dict[str, Any] = {"__name__": "answer"}
    exec(compile(_functions(source), "answer", "exec"), scope)
    os.write(1, ascii(scope[name](*ast.literal_eval(arguments))).encode("ascii"))
    os._exit(0)


def _set_limits() -> None:
    if sys.platform == "win32":
        return
    import resource

    limits = {"CPU": _CPU_SECONDS, "AS": _MEMORY_BYTES, "FSIZE": _OUTPUT_BYTES, "NPROC": 0, "CORE": 0}
    for limit, value in limits.items():
        resource.setrlimit(getattr(resource, f"RLIMIT_{limit}"), (value, value))


def _isolated() -> bool:
    """Have the system refuse every call but those above, for good; False where it cannot."""
    if sys.platform != "linux" or platform.machine() not in _CALLS:
        return False
    machine, calls = _CALLS[platform.machine()]
    steps = [(_LOAD, 0, 0, 4), (_IF_EQUAL, 1, 0, machine), (_RETURN, 0, 0, _DENY), (_LOAD, 0, 0, 0)]
    steps += [(_IF_EQUAL, len(calls) - done, 0, call) for done, call in enumerate(calls)]
    steps += [(_RETURN, 0, 0, _DENY), (_RETURN, 0, 0, _ALLOW)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("HP", len(steps), ctypes.addressof(code)))
    control = ctypes.CDLL(None).prctl
    control.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
    refused = control(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or control(_SET_SECCOMP, _FILTER, ctypes.addressof(program), 0, 0)
    return not refused


def _functions(source: str) -> ast.Module:
    """The functions in the longest beginning of the source that parses: a model talks on, or was cut off."""
    lines = source.splitlines()
    warnings.simplefilter("ignore")  # of odd escapes in the model's texts
    for last in range(len(lines), 0, -1):
        try:
            parsed = ast.parse("\n".join(lines[:last]))
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            continue
        return ast.Module([node for node in parsed.body if isinstance(node, ast.FunctionDef)], [])
    raise SystemExit("no function was found")


if __name__ == "__main__":
    main()
