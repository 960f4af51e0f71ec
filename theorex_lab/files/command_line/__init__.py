"""The parts of commands: common options, the lab that they open, and printed results.

A design builds its own commands with these. The command line itself is above the
designs.
"""

import json
import os
import sys
from collections.abc import Callable
from functools import wraps
from inspect import cleandoc
from pathlib import Path
from typing import Any, NoReturn, TypeVar, cast

import click

from theorex_lab.core.clock import Clock, FixedClock, SystemClock
from theorex_lab.core.progress import end_notice, noticed, paused_notice
from theorex_lab.files.command_line.options import (
    OWN_AGENT,
    nearest,
    own_agent,
    printable,
)

# What every command takes, before its name and after it; `given_options` has them by
# their names.
COMMON_OPTIONS: tuple[click.Option, ...] = (
    click.Option(
        ["--json", "as_json"], is_flag=True, default=None, help="Print one JSON object."
    ),
    click.Option(
        ["--home"],
        metavar="DIR",
        help="The folder of the memory; default: $THEOREX_HOME, else ~/.theorex.",
    ),
    click.Option(
        ["--now"],
        metavar="ISO",
        help="Use this time as the present, for reproducible runs.",
    ),
    click.Option(
        ["--preset"],
        metavar="NAME",
        help="Use a named set of settings: paper (as published) or none.",
    ),
)
_ERROR_PREFIX = "Error: "
F = TypeVar("F", bound=Callable[..., Any])
# A command by its name, and the words behind it.
Resolved = tuple[str | None, click.Command | None, list[str]]


class _Merging(click.Command):
    """A command or group.

    The options given after its name count before those given ahead of it.
    """

    def invoke(self, ctx: click.Context) -> Any:
        merge_options(ctx)
        return super().invoke(ctx)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments as click does; an error knows the command it is about."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise


class Command(_Merging):
    """A command that takes the common options too and hands them on in `context.obj`.

    It is made by click, so its arguments are those of `click.Command`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for option in self.params:
            if isinstance(option, click.Option) and option.default == "":
                option.show_default = False  # `[default: ""]` tells nobody anything
        self.params += COMMON_OPTIONS

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; in a terminal a notice says after two seconds that it runs."""
        with noticed(f"{ctx.command_path} runs"):
            return super().invoke(ctx)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments as click does.

        An option whose metavar ends in … takes all that stands up to the next option.
        """
        long_options = set[str]()
        for option in self.params:
            metavar = option.metavar or ""
            if metavar.endswith("…"):
                long_options.update(option.opts)
        return super().parse_args(ctx, _repeated(args, long_options))


def _repeated(args: list[str], long_options: set[str]) -> list[str]:
    """Return the arguments with each long option repeated before all that it takes."""
    spread = list[str]()
    current = ""
    for arg in args:
        if arg.startswith("--"):
            current = arg if arg in long_options else ""
        if arg in long_options:
            continue
        if current:
            spread.append(current)
        spread.append(arg)
    return spread


def merge_options(ctx: click.Context) -> None:
    """Lay the options given here over those given before."""
    options = ctx.ensure_object(dict)
    for option in COMMON_OPTIONS:
        name = str(option.name)
        value = ctx.params.pop(name, None)
        if value is not None:
            options[name] = value


class CommandGroup(_Merging, click.Group):
    """Commands under a name of their own, such as `theorex projects`.

    It takes the common options too.
    """

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Resolved:
        """Find the command as click does; refuse an unknown name with the nearest."""
        name, *arguments = args
        subcommand = self.get_command(ctx, name)
        if subcommand is None and not ctx.resilient_parsing:
            near = nearest(name, self.list_commands(ctx))
            all_listed = f"`{ctx.find_root().info_name} commands` lists all"
            ctx.fail(
                f"got the command {name!r}; the nearest is {near!r}, and {all_listed}"
            )
        return name, subcommand, arguments


def group(name: str, about: str, *commands: click.Command) -> CommandGroup:
    """Return the commands under one name."""
    named = {str(command.name): command for command in commands}
    return CommandGroup(name, named, help=about, params=[*COMMON_OPTIONS])


def command(name: str, about: str = "") -> Callable[[Callable[..., Any]], Command]:
    """Declare the function below as the command `name`.

    For the commands of the command line's own table the first line of the help stands
    there. What begins with "JSON: " in the docstring names the keys of the result.

    Args:
        name: The command's name.
        about: The first line of its help; the function's docstring is the rest.
    """

    def declare(function: Callable[..., Any]) -> Command:
        paragraphs = [about, cleandoc(function.__doc__ or "")]
        text = "\n\n".join(filter(None, paragraphs))
        decorate = click.command(name=name, cls=Command, help=text, short_help=about)
        built = decorate(function)
        assert isinstance(built, Command)
        return built

    return declare


def home_command(
    name: str,
    about: str,
    run: Callable[..., tuple[dict[str, Any], str]],
    *options: Callable[[Any], Any],
) -> Command:
    """Declare a command whose function gets the home and what the options give.

    It reads a project; where it names an agent it writes, and `--keep-secrets` is its
    option too. Click hands the values of the options on by their names.

    Args:
        name: The command's name.
        about: The first line of its help.
        run: The function; returns the result and the text for people.
        options: The options, each as click declares it.
    """
    writes = OWN_AGENT in options

    def body(agent: str | None = None, **values: Any) -> None:
        home = open_lab().home
        _ = home.designs  # their kinds of events become known
        if writes:
            values["agent"] = own_agent(agent)
        result, text = run(home, **values)
        emit(result, text)

    body.__doc__ = run.__doc__
    for option in reversed(options):
        body = option(body)
    if writes:
        body = keeps_secrets(body)
    return command(name, about)(reads_project(body))


def given_options() -> dict[str, Any]:
    """Return the common options as they were given.

    What else the running command hands on is among them.
    """
    return cast(dict[str, Any], click.get_current_context().ensure_object(dict))


def keeps_secrets(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command that writes `--keep-secrets`.

    Its result then says how many secrets were masked, or that they stayed. Click hands
    the other options on by their names.
    """

    @wraps(function)
    def run(*args: Any, keep_secrets: bool, **kwargs: Any) -> Any:
        from theorex_lab.text.redact.redaction_scope import door

        with door(keep_secrets=keep_secrets) as secret_door:
            given_options()["door"] = secret_door
            return function(*args, **kwargs)

    add_option = click.option(
        "--keep-secrets",
        is_flag=True,
        help="Keep texts that look like secrets; default: they are masked.",
    )
    return add_option(run)


def reads_project(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command that shows memory `--project` and `--all-projects`.

    The default is the working folder's project. Click hands the other options on by
    their names.
    """

    @_project_option(
        "The project, by name or folder; default: the working folder's.", _named_project
    )
    @click.option("--all-projects", is_flag=True, help="Include all other projects.")
    @wraps(function)
    def run(*args: Any, project: str | None, all_projects: bool, **kwargs: Any) -> Any:
        if all_projects and project is not None:
            raise click.UsageError("Give one of --project and --all-projects.")
        given_options()["project"] = "" if all_projects else project
        return function(*args, **kwargs)

    return run


def tends_project(function: F) -> F:
    """Give a command that keeps the memory in order `--project`; default are all."""
    return _project_option(
        "Only this project, by name or folder; default: all projects.",
        _tended,
        expose_value=False,
    )(function)


def _project_option(
    about: str,
    callback: Callable[..., Any],
    *,
    expose_value: bool = True,
) -> Callable[[F], F]:
    return click.option(
        "--project",
        callback=callback,
        metavar="P",
        help=about,
        expose_value=expose_value,
    )


def _tended(
    context: click.Context,
    parameter: click.Parameter,
    value: str | None,
) -> None:
    context.ensure_object(dict)["project"] = (
        _named_project(context, parameter, value) or ""
    )


def _named_project(
    context: click.Context,  # noqa: ARG001
    parameter: click.Parameter,  # noqa: ARG001
    value: str | None,
) -> str | None:
    if value == "":
        raise click.BadParameter(
            "got an empty name; allowed is a project's name or folder"
        )
    return value


def named_home() -> str:
    """Return the home that the options name, as it was given."""
    return given_options().get("home") or os.environ.get("THEOREX_HOME") or "~/.theorex"


def named_clock() -> Clock:
    """Return the clock that the options name."""
    now = given_options().get("now")
    return FixedClock.at(now) if now else SystemClock()


def open_lab() -> Any:
    """Return the lab of the home that the options name.

    Whoever runs the command says how it is opened.
    """
    return given_options()["open_lab"]()


def emit(result: dict[str, Any], text: str) -> None:
    """Print the result.

    Args:
        result: What is printed as one JSON object where --json was given.
        text: What is printed for people otherwise.
    """
    end_notice()
    options = given_options()
    secret_door = options.get("door")
    masking = {} if secret_door is None else secret_door.told()
    if secret_door is not None and masking:
        result = {**result, **masking}
        if secret_door.masked:
            text += f"\n({secret_door.masked} secrets were masked)"
        else:
            text += "\n(secrets were kept)"
    if options.get("as_json"):
        click.echo(json.dumps(result, ensure_ascii=False))
    else:
        click.echo(printable(text))


def confirm(question: str, *, default: bool = False, err: bool = True) -> bool:
    """Ask the user, and return whether the answer is yes.

    Args:
        question: The question.
        default: What an empty answer means.
        err: Whether it is written to standard error, as beside a printed result.

    Raises:
        click.Abort: The user breaks off.
    """
    with paused_notice():
        return click.confirm(question, default=default, err=err)


def write_whole(
    file: Path,
    content: bytes,
    option: str,
) -> None:
    """Write a whole file, its folder too.

    Args:
        file: The file.
        content: What it will hold.
        option: The option that names another file, for the error.

    Raises:
        StorageError: Where it cannot be written.
    """
    from theorex_lab.core.files import write_atomically, writing

    with writing(file, f"choose another with {option}"):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, content)


def one_row(text: str) -> str:
    """Return the text without line breaks, so that none of it passes for another row."""
    return text.replace("\n", " ").replace("\t", " ")


def fail(
    message: str,
    *,
    as_json: bool | None = None,
    code: int = 1,
    **more: Any,
) -> NoReturn:
    """Say what went wrong and end with an exit code.

    Args:
        message: What went wrong.
        as_json: Print it as JSON on standard output too; None where the options say so.
        code: The exit code.
        more: What else the JSON object holds; its keys are the command's own.
    """
    end_notice()
    if as_json is None:
        as_json = bool(given_options().get("as_json"))
    if as_json:
        click.echo(json.dumps({**more, "error": message}, ensure_ascii=False))
    # What a tool answers an agent begins so already.
    plain_message = message.removeprefix(_ERROR_PREFIX)
    click.echo(printable(f"{_ERROR_PREFIX}{plain_message}"), err=True)
    sys.exit(code)
