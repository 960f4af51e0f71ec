"""The `theorex` command. A command's module is imported when the command is called: agents start it often."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from theorex_lab.cli.address_space import mind_limit
from theorex_lab.errors import InvalidInput, TheorexError

if TYPE_CHECKING:
    from theorex_lab.clock import Clock
    from theorex_lab.lab import Lab

# name -> (module, one line of help); the module holds a function of that name, with _ for -.
COMMANDS: dict[str, tuple[str, str]] = {
    "write": ("memory", "Write a text into an agent's memory."),
    "search": ("memory", "Search what is remembered."),
    "status": ("memory", "Show what is remembered, by agent and tier."),
    "scan": ("memory", "Set tiers anew; put to sleep what faded."),
    "prune": ("memory", "Take faded concepts out of the axon."),
    "flush": ("cycle", "Move what mattered in a session to short-term memory."),
    "graduate": ("cycle", "Take into the axon what was kept on seven days in a row."),
    "promote": ("cycle", "Give an agent's concepts to the shared web."),
    "query-shared": ("cycle", "Search the shared web."),
    "flash-inject": ("cycle", "Show what a running session knows now."),
    "boot-aware": ("cycle", "Show an agent's context, cut to a model's budget."),
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
    "confirm": ("evolve", "Vouch for a fix that was only heard."),
    "policy-snapshot": ("nightly", "Keep the policy in force, with how it scores."),
    "policy-list": ("nightly", "Show the policies that were kept."),
    "policy-rollback": ("nightly", "Put an earlier policy in force again."),
    "gate": ("nightly", "Propose a policy, and put it in force where it does better."),
    "nightly": ("nightly", "Run a night's steps, from the review of failures to the next context."),
    "schedule": ("nightly", "Print what runs the nightly steps every day."),
    "moment": ("outcomes", "Write a story worth keeping, with the places it tells of."),
    "drift": ("outcomes", "Show whether what an agent's moments anchor is still ACTIVE."),
    "audit": ("outcomes", "Show what befell the memory."),
    "context-monitor": ("outcomes", "Note how full a context is; sum the session up where it is due."),
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
    "import": ("exchange", "Take in a folder or a file that was exported."),
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
COMMON_OPTIONS = ("as_json", "home", "now")
F = TypeVar("F", bound=Callable[..., Any])


def common_options() -> list[click.Option]:
    """The options that every command takes, before its name and after it."""
    return [
        click.Option(["--json", "as_json"], is_flag=True, default=None, help="Print one JSON object."),
        click.Option(["--home"], metavar="DIR", help="The home; default $THEOREX_HOME, else ~/.theorex."),
        click.Option(["--now"], metavar="ISO", help="Take this time for the present, for reproducible runs."),
    ]


class Command(click.Command):
    """A command that takes the common options too and hands them on in `context.obj`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += common_options()

    def invoke(self, ctx: click.Context) -> Any:
        """Merge the options given after the command's name over those given before it."""
        _merge_options(ctx)
        return super().invoke(ctx)


class Group(click.Group):
    """The `theorex` command: knows its commands by name and imports one when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """All commands, in the order of a day's work."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the command's module and return the command."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"theorex_lab.cli.{COMMANDS[cmd_name][0]}")
        attribute = "import_" if cmd_name == "import" else cmd_name.replace("-", "_")
        command: click.Command = getattr(module, attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands from the table, without importing any of them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


def _merge_options(ctx: click.Context) -> None:
    options = ctx.ensure_object(dict)
    for name in COMMON_OPTIONS:
        value = ctx.params.pop(name, None)
        if value is not None:
            options[name] = value


class CommandGroup(click.Group):
    """Commands under a name of their own, such as `theorex home salvage`; takes the common options too."""

    def invoke(self, ctx: click.Context) -> Any:
        """Merge the options given after the group's name over those given before it."""
        _merge_options(ctx)
        return super().invoke(ctx)


def group(name: str, *commands: click.Command) -> CommandGroup:
    """The commands under one name of the table."""
    return CommandGroup(
        name, {str(each.name): each for each in commands}, help=COMMANDS[name][1], params=[*common_options()]
    )


def command(name: str, about: str = "") -> Callable[[Callable[..., Any]], Command]:
    """Declare the function below as the command `name`; its first line of help is `about`, else the table's."""
    first = about or COMMANDS[name][1]

    def declare(function: Callable[..., Any]) -> Command:
        details = cleandoc(function.__doc__ or "")
        text = first + (f"\n\n{details}" if details else "")
        made = click.command(name=name, cls=Command, help=text, short_help=first)(function)
        assert isinstance(made, Command)
        return made

    return declare


def keeps_secrets(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command that writes `--keep-secrets`; its result then says how many secrets were masked, or that they stayed."""

    @wraps(function)
    def run(*args: Any, keep_secrets: bool, **kwargs: Any) -> Any:
        from theorex_lab.text.doors import door

        with door(keep_secrets=keep_secrets) as here:
            click.get_current_context().ensure_object(dict)["door"] = here
            return function(*args, **kwargs)

    return click.option("--keep-secrets", is_flag=True, help="Do not mask what looks like a secret.")(run)


def reads_project(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command that gives memory back `--project` and `--all-projects`; default is the working folder's project."""

    @click.option(
        "--project", callback=_named_project, metavar="P", help="A project's name or folder; default: this folder's."
    )
    @click.option("--all-projects", is_flag=True, help="What is of other projects too.")
    @wraps(function)
    def run(*args: Any, project: str | None, all_projects: bool, **kwargs: Any) -> Any:
        if all_projects and project is not None:
            raise click.UsageError("Give one of --project and --all-projects.")
        click.get_current_context().ensure_object(dict)["project"] = "" if all_projects else project
        return function(*args, **kwargs)

    return run


def tends_project(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command that keeps the memory in order `--project`; default are all."""

    @click.option(
        "--project",
        callback=_named_project,
        metavar="P",
        help="Only this project, by its name or folder; default: all.",
    )
    @wraps(function)
    def run(*args: Any, project: str | None, **kwargs: Any) -> Any:
        click.get_current_context().ensure_object(dict)["project"] = project or ""
        return function(*args, **kwargs)

    return run


def _named_project(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:  # noqa: ARG001
    if value == "":
        raise click.BadParameter("got an empty name; allowed is a project's name or folder")
    return value


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]}, params=common_options())
@click.version_option(package_name="theorex-lab")
@click.pass_context
def theorex(ctx: click.Context, /, **_: Any) -> None:
    """Memory for LLM agents, and the lab that finds out which memory works."""
    _merge_options(ctx)


def named_home() -> str:
    """The home that the options name, as it was given."""
    return click.get_current_context().ensure_object(dict).get("home") or os.environ.get("THEOREX_HOME") or "~/.theorex"


def named_clock() -> Clock:
    """The clock that the options name."""
    from theorex_lab.clock import FixedClock, SystemClock

    now = click.get_current_context().ensure_object(dict).get("now")
    return FixedClock.at(now) if now else SystemClock()


def open_lab(*, all_projects: bool = False) -> Lab:
    """The lab of the home that the options name, for the project that they name, else the working folder's."""
    from theorex_lab.lab import Lab

    named = "" if all_projects else click.get_current_context().ensure_object(dict).get("project")
    lab = Lab(named_home(), clock=named_clock(), project="" if named == "" else _project_here())
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


def emit(result: dict[str, Any], text: str, *, styled: bool = False) -> None:
    """Print the result: as one JSON object where --json was given, else the text for people.

    `styled`: the text holds styles of ours, and its caller has made the rest printable.
    """
    options = click.get_current_context().ensure_object(dict)
    masked = options.get("door")
    if masked is not None and (told := masked.told()):
        result = {**result, **told}
        text += f"\n({masked.masked} masked as secrets)" if masked.masked else "\n(secrets were kept)"
    shown = text if styled else printable(text)
    click.echo(json.dumps(result, ensure_ascii=False) if options.get("as_json") else shown)


def printable(text: str) -> str:
    """The text without control characters, by which it could rule the terminal."""
    return "".join(letter if letter.isprintable() or letter in "\n\t" else "?" for letter in text)


def one_row(text: str) -> str:
    """The text without line breaks, so that none of it passes for another row."""
    return text.replace("\n", " ").replace("\t", " ")


def fail(message: str, *, as_json: bool, code: int = 1, **more: Any) -> NoReturn:
    """Say what went wrong (as JSON on standard output too, where asked) and end with `code`."""
    if as_json:
        click.echo(json.dumps({**more, "error": message}, ensure_ascii=False))
    click.echo(printable(f"theorex: {message}"), err=True)
    sys.exit(code)


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
        fail("interrupted", as_json=as_json, code=1)
    except TheorexError as error:
        fail(str(error), as_json=as_json)
    except BrokenPipeError:
        # The reader of the output went away; nothing can be said to it any more.
        sys.stdout = None
        sys.exit(1)
    except (MemoryError, OSError, ImportError, RuntimeError) as error:
        problem = _of_the_machine(error)
        if not problem:
            raise
        fail(problem, as_json=as_json)
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
