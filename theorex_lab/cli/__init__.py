"""The `theorex` command. A command's module is imported when the command is called: agents start it often."""

from __future__ import annotations

import errno
import json
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from theorex_lab import console
from theorex_lab.cli.address_space import mind_limit
from theorex_lab.designs.theorex.command_names import COMMANDS as THEOREX
from theorex_lab.errors import InvalidInput, TheorexError

if TYPE_CHECKING:
    from collections.abc import Callable

    from theorex_lab.design import Design
    from theorex_lab.lab import Lab

_THEOREX = "theorex_lab.designs.theorex.commands"
# name -> (module, one line of help); the module holds a function of that name, with _ for -. One without a dot lies here.
COMMANDS: dict[str, tuple[str, str]] = {
    "write": ("memory", "Write a text into an agent's memory."),
    "search": ("memory", "Search what is remembered."),
    "status": ("memory", "Show what is remembered, by agent and tier."),
    **{name: (_THEOREX, about) for name, about in THEOREX.items()},
    "boot-inject": ("memory", "Render the context of the next session into a file."),
    "embed": ("memory", "Compute the vectors that are still queued."),
    "route": ("routing", "Say which model a query should go to, and why."),
    "role-route": ("routing", "Say which agent a query should go to."),
    "roles": ("routing", "Show the agents' roles."),
    "energy-check": ("routing", "Say which sizes of model the machine's power allows."),
    "trace-stats": ("routing", "Show how calls of models went."),
    "matrix-build": ("routing", "Bring the confidence matrix up to date."),
    "matrix-show": ("routing", "Show the confidence matrix with its intervals."),
    "dispatch": ("dispatch", "Give a task to a model, and keep a trace of it."),
    "trace-show": ("dispatch", "Show one trace."),
    "model": ("dispatch", "Start, stop or look at the offline model."),
    "outcome": ("outcomes", "Record how something went, or set right what was recorded."),
    "judge": ("outcomes", "Let a model score outcomes that no judge has scored."),
    "evolve-status": ("outcomes", "Show how outcomes went, by tag, and which failures wait."),
    "trace-review": ("evolve", "Review failures, and write down their fixes."),
    "evolve-review": ("evolve", "Review failures, act on win rates, promote, render the context."),
    "policy-snapshot": ("nightly", "Keep the policy in force, with how it scores."),
    "policy-list": ("nightly", "Show the policies that were kept."),
    "policy-rollback": ("nightly", "Put an earlier policy in force again."),
    "gate": ("nightly", "Propose a policy, and put it in force where it does better."),
    "nightly": ("nightly", "Run a night's steps, from the review of failures to the next context."),
    "schedule": ("nightly", "Print what runs the nightly steps every day."),
    "audit": ("outcomes", "Show what befell the memory."),
    "a2a-send": ("tasks", "Ask another agent for work."),
    "a2a-tasks": ("tasks", "Show the tasks of an agent."),
    "a2a-claim": ("tasks", "Take the oldest task that waits."),
    "a2a-complete": ("tasks", "Report a task as done."),
    "a2a-fail": ("tasks", "Report a task as failed."),
    "mcp-start": ("serve", "Serve the memory over the Model Context Protocol."),
    "home": ("home", "Look after the files of a home: backup, restore, salvage, verify."),
    "backup": ("home", "Copy the whole memory into one file, while others write."),
    "restore": ("home", "Put a backup in the place of the memory."),
    "verify": ("home", "Read the whole journal, fold every view anew, compare."),
    "erase": ("home", "Erase events and all that was derived from them."),
    "config": ("config", "Show every setting with its value, default, range and unit; set or unset one."),
    "export": ("exchange", "Write the memory into a folder of files."),
    "import": ("exchange", "Take in what was exported, or transcripts of coding agents."),
    "archive": ("exchange", "Move old raw events into compressed segment files."),
    "install-hooks": ("hooks", "Put the hook into a coding agent's settings, or take it out again."),
    "tune": ("research", "Fit decay laws to an access log and compare them."),
    "eval": ("evaluate", "Score a part of the toolkit on a public data set."),
    "record-runs": ("evaluate", "Run the packaged tasks on the models of this machine and record how they went."),
    "tour": ("research", "From a git history to a fitted memory and its context."),
    "lab": ("research", "Open JupyterLab on the numbered notebooks."),
}
# How threads and shared libraries say that there is no memory for them.
_NO_ROOM = ("can't start new thread", "failed to map segment", "cannot allocate memory", "Cannot allocate memory")


class Group(click.Group):
    """The `theorex` command: knows its commands by name and imports one when it is called.

    A design's own commands are a group under the design's name.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """All commands, in the order of a day's work, then the designs that have some."""
        return [*COMMANDS, *_groups()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the command's module and return the command."""
        if cmd_name not in COMMANDS:
            design = _groups().get(cmd_name)
            return None if design is None or design.commands is None else _group_of(design, design.commands())
        name = COMMANDS[cmd_name][0]
        module = import_module(name if "." in name else f"theorex_lab.cli.{name}")
        attribute = "import_" if cmd_name == "import" else cmd_name.replace("-", "_")
        found: click.Command = getattr(module, attribute)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands from the table, without importing any of them."""
        rows = [(name, text) for name, (_, text) in COMMANDS.items()]
        with formatter.section("Commands"):
            formatter.write_dl(rows + [(name, f"Commands of the design {name}.") for name in _groups()])


def _group_of(design: Design, commands: click.Group) -> console.CommandGroup:
    about = commands.help or f"Commands of the design {design.name}."
    return console.group(design.name, about, *commands.commands.values())


def _groups() -> dict[str, Design]:
    """The designs that bring commands, by name."""
    from theorex_lab.designs import installed

    return {
        design.name: design for design in installed() if design.commands is not None and design.name not in COMMANDS
    }


def command(name: str, about: str = "") -> Callable[[Callable[..., Any]], console.Command]:
    """Declare the function below as the command `name`; its first line of help is `about`, else the table's."""
    return console.command(name, about or COMMANDS[name][1])


def group(name: str, *commands: click.Command) -> console.CommandGroup:
    """The commands under one name of the table."""
    return console.group(name, COMMANDS[name][1], *commands)


def open_lab(*, all_projects: bool = False) -> Lab:
    """The lab of the home that the options name, for the project that they name, else the working folder's."""
    from theorex_lab.lab import Lab

    named = "" if all_projects else click.get_current_context().ensure_object(dict).get("project")
    here = "" if named == "" else _project_here()
    lab = Lab(console.named_home(), clock=console.named_clock(), project=here)
    click.get_current_context().call_on_close(lab.close)
    if named:
        lab.home.project = _project_called(lab, named)
    return lab


def _project_here() -> str:
    from theorex_lab.project import project_of

    try:
        return project_of(str(Path.cwd()))
    except OSError:  # the folder was removed
        return ""


def _project_called(lab: Lab, name: str) -> str:
    """The project of that name, else of the folder at that path. Raises InvalidInput where there is neither."""
    from theorex_lab.memory.projects import find_project
    from theorex_lab.project import project_of

    try:
        return find_project(lab.home, name)
    except InvalidInput:
        if (folder := Path(name).expanduser()).is_dir():
            return project_of(str(folder.absolute()))
        raise


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]}, params=console.common_options())
@click.version_option(package_name="theorex-lab")
@click.pass_context
def theorex(ctx: click.Context, /, **_: Any) -> None:
    """Memory for LLM agents, and the lab that finds out which memory works."""
    console.merge_options(ctx)
    ctx.obj["open_lab"] = open_lab


def main() -> NoReturn:
    """Run the command line; exit code 0 ok, 1 failed, 2 wrong usage."""
    # click's own parser has not run yet when a usage error is reported, so the flag is looked for by hand.
    as_json = "--json" in sys.argv[1:]
    mind_limit()
    try:
        theorex.main(standalone_mode=False, obj={}, prog_name="theorex")
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
        problem = _of_the_machine(error)
        if not problem:
            raise
        console.fail(problem, as_json=as_json)
    sys.exit(0)


def _of_the_machine(error: Exception) -> str:
    """What the machine had no room for, or would not do, in a sentence; '' for a fault of the program's own."""
    reason = str(error)
    is_memory = isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
    if is_memory or any(hint in reason for hint in _NO_ROOM):
        return (
            "there is too little memory for this; what was written before is whole: allow more (ulimit -v), close "
            "other programs, or ask for less at once"
        )
    if not isinstance(error, OSError):
        return ""
    where = f"{error.filename}: " if error.filename is not None else ""
    return f"{where}{error.strerror or reason}; what was written before is whole: check the disk and its permissions, and repeat"
