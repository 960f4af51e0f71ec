"""The `theorex` command.

A command's module is imported when the command is called: agents start it often.
"""

from __future__ import annotations

import errno
import sys
from typing import Any, NoReturn

import click

from theorex_lab.app.cli.context import open_lab
from theorex_lab.app.cli.groups import Root
from theorex_lab.app.cli.usage_errors import shows_help, usage_message
from theorex_lab.core.collector import collect_more_rarely
from theorex_lab.core.errors import TheorexError
from theorex_lab.files import command_line

# How threads and shared libraries say that there is no memory for them.
_NO_ROOM = (
    "can't start new thread",
    "failed to map segment",
    "cannot allocate memory",
    "Cannot allocate memory",
)


_SHOWN = {"help_option_names": ["-h", "--help"], "show_default": True}


@click.group(cls=Root, context_settings=_SHOWN, params=[*command_line.COMMON_OPTIONS])
@click.version_option(package_name="theorex-lab")
@click.pass_context
def theorex(ctx: click.Context, /, **_: Any) -> None:
    """Memory for LLM agents, and the lab that finds out which memory works.

    Start with `theorex tour`, which needs no set-up.
    """
    command_line.merge_options(ctx)
    ctx.obj["open_lab"] = open_lab


def main() -> NoReturn:
    """Run the command line; exit code 0 ok, 1 failed, 2 wrong usage."""
    collect_more_rarely()
    run_command(theorex, "theorex")


def run_command(command: click.Command, program: str) -> NoReturn:
    """Run a command as a program of that name.

    What went wrong becomes a sentence and an exit code.
    """
    # click's own parser has not run yet when a usage error is reported, so the flag is
    # looked for by hand.
    as_json = "--json" in sys.argv[1:]
    try:
        command.main(standalone_mode=False, obj={}, prog_name=program)
    except click.UsageError as error:
        if shows_help(error) and not as_json:
            error.show()
            sys.exit(2)
        command_line.fail(usage_message(error), as_json=as_json, code=2)
    except click.exceptions.Exit as error:
        sys.exit(error.exit_code)
    except click.Abort:
        command_line.fail("interrupted", as_json=as_json, code=1)
    except TheorexError as error:
        command_line.fail(str(error), as_json=as_json)
    except BrokenPipeError:
        # The reader of the output went away; nothing can be said to it any more.
        sys.stdout = None
        sys.exit(1)
    except (MemoryError, OSError, ImportError, RuntimeError) as error:
        if not (problem := _of_the_machine(error)):
            raise
        command_line.fail(problem, as_json=as_json)
    sys.exit(0)


def _of_the_machine(error: Exception) -> str:
    """Return one sentence about a failure of the machine (no room, refused).

    For a fault of the program it is ''.
    """
    reason = str(error)
    is_memory = isinstance(error, MemoryError) or (
        isinstance(error, OSError) and error.errno == errno.ENOMEM
    )
    if is_memory or any(hint in reason for hint in _NO_ROOM):
        advice = "allow more (ulimit -v), close other programs, or ask for less at once"
        return (
            "there is too little memory for this; what was written before is whole:"
            f" {advice}"
        )
    if not isinstance(error, OSError):
        return ""
    where = f"{error.filename}: " if error.filename is not None else ""
    return (
        f"{where}{error.strerror or reason}; what was written before is whole: check"
        " the disk and its permissions, and repeat"
    )
