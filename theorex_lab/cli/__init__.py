"""The `theorex` command. A command's module is imported when the command is called: agents start it often."""

from __future__ import annotations

import errno
import json
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from theorex_lab import console
from theorex_lab.cli.groups import Root
from theorex_lab.errors import InvalidInput, TheorexError
from theorex_lab.journal.identity import project_in, unseen_project
from theorex_lab.project import checkout_root, repository_of

if TYPE_CHECKING:
    from theorex_lab.lab import Lab

# How threads and shared libraries say that there is no memory for them.
_NO_ROOM = ("can't start new thread", "failed to map segment", "cannot allocate memory", "Cannot allocate memory")


def open_lab(*, all_projects: bool = False, bind: bool = False) -> Lab:
    """The lab of the home that the options name, for the project that they name, else the working folder's.

    A command that writes, or `bind`, gives a folder that was never seen its id; to one that reads nothing is of it.
    """
    from theorex_lab.core.settings import load_settings
    from theorex_lab.lab import Lab

    named = "" if all_projects else console.given_options().get("project")
    lab = Lab(console.named_home(), clock=console.named_clock())
    click.get_current_context().call_on_close(lab.close)
    if (preset := console.given_options().get("preset")) is not None:
        lab.settings = load_settings(lab.config_file, preset=preset)
    is_writing = "door" in console.given_options() and not click.get_current_context().params.get("dry_run")
    if named is None:
        lab.home.project = _project_here(lab, bind=bind or is_writing)
    elif named:
        lab.home.project = _project_called(lab, named, bind=bind or is_writing)
    return lab


def write_picture(picture: str | None, plot: Callable[..., Any]) -> None:
    """Write what `plot(ax=…)` draws into a PNG file, where one is asked for."""
    if picture is not None:
        from theorex_lab.experiments.draw.explorer import drawn

        console.write_whole(Path(picture), drawn(plot), "--picture")


def _project_here(lab: Lab, *, bind: bool) -> str:
    try:
        repository = repository_of(checkout_root(str(Path.cwd())))
    except OSError:  # the folder was removed
        return ""
    return project_in(lab.journal, repository, bind=bind) or unseen_project(repository)


def _project_called(lab: Lab, name: str, *, bind: bool) -> str:
    """The project of that name, else of the folder at that path. Raises InvalidInput where there is neither."""
    from theorex_lab.memory.projects import find_project

    try:
        return find_project(lab.home, name)
    except InvalidInput:
        if (folder := Path(name).expanduser()).is_dir():
            repository = repository_of(checkout_root(str(folder.absolute())))
            return project_in(lab.journal, repository, bind=bind) or unseen_project(repository)
        raise


_SHOWN = {"help_option_names": ["-h", "--help"], "show_default": True}


@click.group(cls=Root, context_settings=_SHOWN, params=[*console.COMMON_OPTIONS])
@click.version_option(package_name="theorex-lab")
@click.pass_context
def theorex(ctx: click.Context, /, **_: Any) -> None:
    """Memory for LLM agents, and the lab that finds out which memory works."""
    console.merge_options(ctx)
    ctx.obj["open_lab"] = open_lab


def main() -> NoReturn:
    """Run the command line; exit code 0 ok, 1 failed, 2 wrong usage."""
    run_command(theorex, "theorex")


def run_command(command: click.Command, program: str) -> NoReturn:
    """Run a command as a program of that name, with what went wrong as a sentence and as an exit code."""
    # click's own parser has not run yet when a usage error is reported, so the flag is looked for by hand.
    as_json = "--json" in sys.argv[1:]
    try:
        command.main(standalone_mode=False, obj={}, prog_name=program)
    except click.UsageError as error:
        error.show()
        if as_json:
            click.echo(json.dumps({"error": error.format_message()}, ensure_ascii=False))
        sys.exit(2)
    except click.exceptions.Exit as error:
        sys.exit(error.exit_code)
    except click.Abort:
        console.fail("interrupted", as_json=as_json, code=1)
    except TheorexError as error:
        console.fail(str(error), as_json=as_json)
    except BrokenPipeError:
        # The reader of the output went away; nothing can be said to it any more.
        sys.stdout = None
        sys.exit(1)
    except (MemoryError, OSError, ImportError, RuntimeError) as error:
        if not (problem := _of_the_machine(error)):
            raise
        console.fail(problem, as_json=as_json)
    sys.exit(0)


def _of_the_machine(error: Exception) -> str:
    """One sentence about a failure of the machine (no room, refused); '' for a fault of the program."""
    reason = str(error)
    is_memory = isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
    if is_memory or any(hint in reason for hint in _NO_ROOM):
        advice = "allow more (ulimit -v), close other programs, or ask for less at once"
        return f"there is too little memory for this; what was written before is whole: {advice}"
    if not isinstance(error, OSError):
        return ""
    where = f"{error.filename}: " if error.filename is not None else ""
    return f"{where}{error.strerror or reason}; what was written before is whole: check the disk and its permissions, and repeat"


def ending() -> list[signal.Signals]:
    """The signals that ask this process to end, as the system knows them.

    One that is ignored is none: `nohup` means a process to outlive its terminal.
    """
    known = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    return [sign for sign in known if signal.getsignal(sign) is not signal.SIG_IGN]


@contextmanager
def ended_in_order() -> Iterator[None]:
    """Within, a signal that asks to end ends the process as an exception does, so that what is begun is put in order."""

    def end(number: int, _: object) -> NoReturn:
        for sign in ending():  # a terminal that closes sends both, and the second would break off the writing
            signal.signal(sign, signal.SIG_IGN)
        sys.exit(128 + number)

    before = {sign: signal.signal(sign, end) for sign in ending()}
    try:
        yield
    finally:
        for sign, handler in before.items():
            signal.signal(sign, handler)
