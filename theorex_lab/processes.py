"""How this package starts other programs: this module alone does, and nothing in the user's folder is run for it.

A program is started by its absolute path, in a folder that the caller names, with the variables that the caller names.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from theorex_lab.errors import TheorexError

# What a program needs to run at all, on one system or another; none of them says what it does.
_PLAIN_VARIABLES = ("DYLD_LIBRARY_PATH", "LD_LIBRARY_PATH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR")


class Finished(NamedTuple):
    """How a program ended: its exit code, and what it wrote to standard output and standard error."""

    code: int
    output: bytes
    errors: bytes


class ProgramTimeout(TheorexError):
    """A program did not end within its time, and was stopped."""


def search_path() -> str:
    """The entries of PATH that name a whole folder; an empty or relative one is the folder of whoever calls."""
    entries = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(entry for entry in entries if os.path.isabs(entry))


def find_program(name: str) -> str | None:
    """The absolute path of a program, by its bare name; None where no whole folder of PATH holds it."""
    endings = os.environ.get("PATHEXT", ".EXE").split(os.pathsep) if os.name == "nt" else [""]
    for folder in search_path().split(os.pathsep):
        for ending in endings:
            program = os.path.join(folder, name + ending)
            if folder and os.path.isfile(program) and os.access(program, os.X_OK):
                return program
    return None


def plain_variables() -> dict[str, str]:
    """The variables that a program needs to run, and none that steer it."""
    variables = {name: os.environ[name] for name in _PLAIN_VARIABLES if name in os.environ}
    variables["PATH"] = search_path()
    return variables


def root_folder() -> str:
    """The root of the file system: a folder that nobody's project is."""
    return os.path.abspath(os.sep)


def run_program(
    program: str,
    arguments: Sequence[str | os.PathLike[str]],
    *,
    variables: Mapping[str, str],
    folder: str | os.PathLike[str] | None = None,
    given: bytes = b"",
    seconds: float | None = None,
) -> Finished:
    """Run a program to its end.

    Args:
        program: Its absolute path.
        arguments: What it is called with.
        variables: Its whole environment; nothing else is inherited.
        folder: Where it runs; the root of the file system by default.
        given: What it reads from standard input.
        seconds: How long it may take; without limit by default.

    Raises:
        ProgramTimeout: It took longer.
        OSError: It could not be started.
    """
    import subprocess

    _check_absolute(program)
    try:
        ended = subprocess.run(
            [program, *arguments],
            input=given,
            capture_output=True,
            cwd=folder or root_folder(),
            env=dict(variables),
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ProgramTimeout(f"{program} took longer than {seconds:g} seconds, and was stopped") from error
    return Finished(ended.returncode, ended.stdout, ended.stderr)


def _check_absolute(program: str) -> None:
    if not os.path.isabs(program):
        raise ValueError(f"got the program {program!r}; allowed is an absolute path")
