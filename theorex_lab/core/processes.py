"""Start other programs, in this module alone.

Nothing that lies in the user's folder is run. A program is named by its absolute path,
and never found by an empty or relative entry of PATH. It runs in a folder that is not
the user's, by default the root of the file system. A Python of ours does not look for
modules in the folder where it runs (PYTHONSAFEPATH), and of the variables that steer
Python it gets those that name no code.

Standard library only, and little of it: the hook imports this module.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager

from theorex_lab.core.errors import TheorexError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from concurrent.futures import ProcessPoolExecutor
    from subprocess import Popen
    from typing import IO

    Process = Popen[bytes]

# What a program needs to run at all, on one system or another; none of them says what
# it does.
_PLAIN_VARIABLES = (
    "DYLD_LIBRARY_PATH",
    "LD_LIBRARY_PATH",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "TMPDIR",
)
_PYTHON = "PYTHON"
# Of the variables of Python, those that are handed on: how it runs, not what. All
# others are left out, such as
# PYTHONSTARTUP, PYTHONINSPECT, PYTHONBREAKPOINT and PYTHONWARNINGS, by which code is
# run or a process waits for a person.
_PYTHON_SWITCHES = (
    "PYTHONCOERCECLOCALE",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONFAULTHANDLER",
    "PYTHONHASHSEED",
    "PYTHONINTMAXSTRDIGITS",
    "PYTHONIOENCODING",
    "PYTHONNOUSERSITE",
    "PYTHONUNBUFFERED",
    "PYTHONUTF8",
)
# And of those that name a folder, these, where the folder is a whole one.
_PYTHON_FOLDERS = ("PYTHONHOME", "PYTHONPYCACHEPREFIX", "PYTHONUSERBASE")
_PYTHON_PATH = "PYTHONPATH"
_SAFE_PATH = "PYTHONSAFEPATH"
_PACKAGE = "theorex_lab"


class ProgramResult:
    """How a program ended.

    Its members are the exit code, and what the program wrote to standard output and
    standard error.
    """

    def __init__(self, code: int, output: bytes, errors: bytes) -> None:
        self.code = code
        self.output = output
        self.errors = errors


class ProgramTimeout(TheorexError):
    """A program did not end within its time, and was stopped."""


def search_path() -> str:
    """Return the entries of PATH that name a whole folder.

    An empty or relative entry is the folder of whoever calls.
    """
    entries = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(entry for entry in entries if os.path.isabs(entry))


def find_program(name: str) -> str | None:
    """Return the absolute path of a program, by its bare name.

    Returns:
        The path; None where no whole folder of PATH holds the program.
    """
    endings = (
        os.environ.get("PATHEXT", ".EXE").split(os.pathsep) if os.name == "nt" else [""]
    )
    for folder in search_path().split(os.pathsep):
        for ending in endings:
            program = os.path.join(folder, name + ending)
            if folder and os.path.isfile(program) and os.access(program, os.X_OK):
                return program
    return None


def plain_variables() -> dict[str, str]:
    """Return the variables that a program needs to run, and none that steer it."""
    variables = {
        name: os.environ[name] for name in _PLAIN_VARIABLES if name in os.environ
    }
    variables["PATH"] = search_path()
    return variables


def root_folder() -> str:
    """Return the root of the file system: a folder that nobody's project is."""
    return os.path.abspath(os.sep)


def python_program() -> str:
    """Return the absolute path of the interpreter that runs this process."""
    program = sys.executable
    _check_absolute(program)
    return program


def python_command(module: str, *words: str) -> list[str]:
    """Return the command that runs a module as `python -m` does.

    It is safe in the folder and with the variables of this module.
    """
    return [python_program(), "-m", module, *words]


def python_variables(**more: str) -> dict[str, str]:
    """Return the variables for a Python of ours.

    They are the user's, without those by which another folder's code would be run.
    """
    variables = {
        name: value
        for name, value in os.environ.items()
        if not name.upper().startswith(_PYTHON)
    }
    for name in _PYTHON_SWITCHES:
        if name in os.environ:
            variables[name] = os.environ[name]
    for name in _PYTHON_FOLDERS:
        if os.path.isabs(os.environ.get(name, "")):
            variables[name] = os.environ[name]
    folders = _module_folders()
    if folders:
        variables[_PYTHON_PATH] = os.pathsep.join(folders)
    variables[_SAFE_PATH] = "1"
    variables["PATH"] = search_path()
    return {**variables, **more}


def _module_folders() -> list[str]:
    """Return the whole folders of PYTHONPATH, and the one that holds this package.

    The latter is among them where nothing else leads there. An empty or relative entry
    is the folder of whoever calls. Where this package was found by one, it is named
    whole.
    """
    entries = os.environ.get(_PYTHON_PATH, "").split(os.pathsep)
    if entries == [""]:
        entries = []
    folders = [entry for entry in entries if os.path.isabs(entry)]
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    package_folder = os.path.dirname(package)
    real_folder = os.path.realpath(package_folder)
    is_named = real_folder in map(os.path.realpath, entries)
    is_first = real_folder in map(os.path.realpath, sys.path[:1])
    is_installed = real_folder in map(os.path.realpath, sys.path[1:])
    is_found_here = is_named or (is_first and not is_installed)
    if is_found_here and package_folder not in folders:
        folders.append(package_folder)
    return folders


def script_beside_python(name: str) -> str | None:
    """Return the absolute path of a script that was installed with this Python.

    Returns:
        The path; None where the script was not installed.
    """
    ending = ".exe" if os.name == "nt" else ""
    script = os.path.join(
        os.path.dirname(os.path.abspath(sys.executable)), name + ending
    )
    return script if os.path.isfile(script) else None


def theorex_command() -> list[str]:
    """Return what runs `theorex` of this environment, from whatever folder."""
    script = script_beside_python("theorex")
    return [script] if script else [python_program(), "-P", "-m", _PACKAGE]


def run_program(
    program: str,
    arguments: Sequence[str | os.PathLike[str]],
    *,
    variables: Mapping[str, str],
    folder: str | os.PathLike[str] | None = None,
    given: bytes = b"",
    seconds: float | None = None,
) -> ProgramResult:
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
        raise ProgramTimeout(
            f"{program} took longer than {seconds:g} seconds, and was stopped"
        ) from error
    return ProgramResult(ended.returncode, ended.stdout, ended.stderr)


def start_python(module: str, *words: str) -> Process:
    """Start a module in a process of its own, at the root of the file system.

    The process has pipes for what it reads and writes.
    """
    import subprocess

    return subprocess.Popen(
        python_command(module, *words),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=root_folder(),
        env=python_variables(),
    )


def end_process(process: Process, seconds: float) -> None:
    """Wait for a process to end by itself, and kill it after so many seconds."""
    import subprocess

    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()


def start_in_background(words: Sequence[str], home: str, log: IO[bytes]) -> None:
    """Start a command of theorex in the home, apart from this process.

    The command outlives this process, and writes to the log.
    """
    import subprocess

    subprocess.Popen(
        python_command(_PACKAGE, *words),
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        cwd=home,
        env=python_variables(),
        start_new_session=True,
        creationflags=getattr(subprocess, "DETACHED_PROCESS", 0),
    )


def open_in_browser(file: str) -> bool:
    """Open a file of this machine in the user's browser, where there is one.

    The program of the desktop chooses it. It runs apart from this process, at the root
    of the file system.

    Returns:
        Whether it was started.
    """
    if os.name == "nt":
        os.startfile(file)  # type: ignore[attr-defined,unused-ignore]
        return True
    if sys.platform == "darwin":
        program = find_program("open")
    else:
        has_desktop = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
        program = find_program("xdg-open") if has_desktop else None
    if program is None:
        return False
    import subprocess
    import threading

    process = subprocess.Popen(
        [program, file],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=root_folder(),
        env=python_variables(),
        start_new_session=True,
    )
    # So that it is gone from the system's table once it has ended.
    threading.Thread(target=process.wait, daemon=True).start()
    return True


def become_python(command: Sequence[str]) -> None:
    """Run a command of `python_command` in the place of this process.

    The command then has this process's number, signals and exit code. It runs at the
    root of the file system. What it starts in turn finds modules as any Python does.
    """
    _check_absolute(command[0])
    variables = python_variables()
    # At the root there is nothing of the user's to import, and what the program starts
    # elsewhere looks there as usual.
    if not os.environ.get(_SAFE_PATH):
        del variables[_SAFE_PATH]
    os.chdir(root_folder())
    sys.stdout.flush()
    sys.stderr.flush()
    if os.name == "nt":  # where the shell would not wait for it
        import subprocess

        sys.exit(subprocess.call(list(command), env=variables))
    os.execve(command[0], list(command), variables)


def _end_when_asked() -> None:
    """Let SIGTERM end this worker.

    A forked worker inherits what its parent does at that signal. Where a pool has lost a
    worker it sends the signal to the others, and waits for them. One that goes on, and
    has an answer that nobody reads, would keep it waiting without end.
    """
    import signal

    signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextmanager
def worker_pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Return processes that share work.

    Those that start afresh do not look for modules in the user's folder either. All of
    them end when they are asked to, whatever this process does then.
    """
    from concurrent.futures import ProcessPoolExecutor

    before = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    try:
        with ProcessPoolExecutor(workers, initializer=_end_when_asked) as pool:
            yield pool
    finally:
        if before is None:
            del os.environ[_SAFE_PATH]
        else:
            os.environ[_SAFE_PATH] = before


def _check_absolute(program: str) -> None:
    if not program or not os.path.isabs(program):
        raise ValueError(f"got the program {program!r}; allowed is an absolute path")
