"""The root of the command line and the groups of the designs.

They import a command's module when it is called.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from copy import copy
from typing import TYPE_CHECKING, Any

import click

from theorex_lab.app.cli.command_table import DESIGN_GROUPS, JOBS, CommandEntry
from theorex_lab.app.cli.former_names import KEPT, new_name
from theorex_lab.files import command_line
from theorex_lab.files.command_line import COMMON_OPTIONS, command, emit

if TYPE_CHECKING:
    from theorex_lab.memory.contract import Design


def _list_of_commands() -> click.Command:
    return commands


# The command that belongs to no job, since it lists them all.
_LISTING = CommandEntry(
    "commands",
    _list_of_commands,
    "List all commands with their options and the keys of their JSON.",
)


def _product_commands() -> dict[str, CommandEntry]:
    """Return the commands of the toolkit by their names, in the table's order."""
    entries = {}
    for job in JOBS:
        for entry in job.commands:
            entries[entry.name] = entry
    entries[_LISTING.name] = _LISTING
    return entries


COMMANDS = _product_commands()
GROUPS = {group.name: group for group in DESIGN_GROUPS}


def load(entry: CommandEntry, name: str = "") -> click.Command:
    """Import a command; its help begins with the table's line.

    Args:
        entry: The command.
        name: The name that it is called by; default: that of the table.
    """
    loaded = copy(entry.load())
    loaded.name = name or entry.name
    loaded.short_help = entry.about
    loaded.help = f"{entry.about}\n\n{loaded.help}"
    return loaded


class DesignCommands(command_line.CommandGroup):
    """The commands of a published design, such as `theorex facts`.

    The names that its document prints are accepted too.
    """

    def __init__(self, name: str) -> None:
        group = GROUPS[name]
        text = f"{group.about}\n\n{group.words}"
        super().__init__(name, help=text, params=[*COMMON_OPTIONS])
        self._left_out = dict(group.left_out)
        self._entries: dict[str, CommandEntry] = {}
        self._printed: dict[str, CommandEntry] = {}
        for entry in group.commands:
            self._entries[entry.name] = entry
            if entry.printed:
                self._printed[entry.printed] = entry

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names, in the order of the table."""
        return [*self._entries]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the command's module and return the command."""
        entry = self._entries.get(cmd_name)
        if entry is None:
            entry = self._printed.get(cmd_name)
        if entry is None:
            return None
        return load(entry, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> command_line.Resolved:
        """Find the command; refuse a name that is left out with the reason."""
        reason = self._left_out.get(args[0])
        if reason is not None and not ctx.resilient_parsing:
            ctx.fail(f"got the command {args[0]!r}, which is left out: {reason}")
        return super().resolve_command(ctx, args)

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002
        formatter: click.HelpFormatter,
    ) -> None:
        """List the commands from the table, without importing any of them."""
        rows = []
        for name, entry in self._entries.items():
            rows.append((name, entry.about))
        _write_section(formatter, "Commands", rows)
        printed_rows = []
        for printed, entry in self._printed.items():
            printed_rows.append((printed, f"Do the same as {entry.name}."))
        if printed_rows:
            _write_section(formatter, "Names that the document prints", printed_rows)


class Root(command_line.CommandGroup):
    """The `theorex` command.

    It has the commands of the toolkit, a group for each published design, and one for
    each other design that brings commands.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of the commands and of the groups."""
        return [*COMMANDS, *GROUPS, *designs()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return the command or the group of this name."""
        if cmd_name in COMMANDS:
            return load(COMMANDS[cmd_name])
        if cmd_name in GROUPS:
            return DesignCommands(cmd_name)
        return design_group(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> command_line.Resolved:
        """Find the command; say the new name of one that was renamed.

        A name that programs have written into other programs' files still runs.
        """
        name, *arguments = args
        if name in KEPT:
            return super().resolve_command(ctx, [KEPT[name], *arguments])
        renamed = new_name(args)
        if renamed and not ctx.resilient_parsing:
            ctx.fail(f"`theorex {renamed.former}` is now `theorex {renamed.present}`.")
        return super().resolve_command(ctx, args)

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002
        formatter: click.HelpFormatter,
    ) -> None:
        """List the first day's commands, the names by job, and the designs' groups."""
        first_day, *jobs = JOBS
        first_rows = []
        for entry in first_day.commands:
            first_rows.append((entry.name, entry.about))
        _write_section(formatter, first_day.name, first_rows)

        job_rows = []
        for job in jobs:
            names = [entry.name for entry in job.commands]
            job_rows.append((job.name, ", ".join(names)))
        job_rows.append(("List all commands", _LISTING.name))
        _write_section(formatter, "By job (theorex COMMAND --help)", job_rows)

        group_rows = []
        for group in DESIGN_GROUPS:
            group_rows.append((group.name, group.about))
        for name in designs():
            group_rows.append((name, f"Commands of the design {name}."))
        title = "Published designs (theorex GROUP --help)"
        _write_section(formatter, title, group_rows)


def _write_section(
    formatter: click.HelpFormatter, title: str, rows: list[tuple[str, str]]
) -> None:
    """Write a section of a help: names, and what stands for each."""
    with formatter.section(title):
        formatter.write_dl(rows)


def designs() -> dict[str, Design]:
    """Return the designs of other packages that bring commands, by name.

    Those of built-in ones stand in the table.
    """
    from theorex_lab.designs import others

    reserved = (*COMMANDS, *GROUPS)
    with_commands: dict[str, Design] = {}
    for design in others():
        if design.commands and design.name not in reserved:
            with_commands[design.name] = design
    return with_commands


def design_group(name: str) -> command_line.CommandGroup | None:
    """Return the commands of a design as a group.

    It is None where no design of that name brings any.
    """
    design = designs().get(name)
    if design is None or design.commands is None:
        return None
    group = design.commands()
    return command_line.group(
        name, group.help or f"Commands of the design {name}.", *group.commands.values()
    )


_KEYS = "\n\nJSON: "
# What click takes for the sign of a paragraph whose lines stay as they are.
_AS_IT_IS = "\b\n"


@command("commands")
def commands() -> None:
    """Each command is shown with its options, what it does, and the keys of its JSON.

    Every command takes --json, --home, --now and --preset, before or after its name.
    The exit code is 0 where it succeeded, 1 where it failed, and 2 for wrong usage.

    Commands that read the memory read that of the working folder's project, unless
    --project P or --all-projects is given. Commands that maintain the memory take all
    projects.

    Next: `theorex COMMAND --help` explains one command, `theorex config` lists the
    settings.

    JSON: {commands: [{path, job, usage, about, details, keys}]}
    """
    rows = list[dict[str, Any]]()
    for job in JOBS:
        for entry in job.commands:
            loaded = load(entry)
            rows += _rows(loaded, entry.name, job.name)
    listing = load(_LISTING)
    rows += _rows(listing, _LISTING.name, "")
    for group in DESIGN_GROUPS:
        for entry in group.commands:
            loaded = load(entry)
            path = f"{group.name} {entry.name}"
            rows += _rows(loaded, path, group.name)
    for name in designs():
        made = design_group(name)
        rows += _rows(made, name, name)
    texts = map(_text, rows)
    emit({"commands": rows}, "\n\n".join(texts))


def _rows(
    declared: click.Command | None, path: str, job: str
) -> Iterator[dict[str, Any]]:
    """Yield the row of a command, then those of the commands below it.

    A group that does nothing itself has no row.
    """
    assert declared is not None
    below: MutableMapping[str, click.Command] = {}
    if isinstance(declared, click.Group):
        below = declared.commands
    if not below or declared.callback is not None:
        text, _, keys = (declared.help or "").partition(_KEYS)
        text = text.replace(_AS_IT_IS, "")
        about, _, details = text.partition("\n\n")
        usages = []
        for parameter in declared.params:
            usage = _usage(parameter)
            if usage:
                usages.append(usage)
        key_words = keys.split()
        yield {
            "path": path,
            "job": job,
            "usage": " ".join(usages),
            "about": about,
            "details": details,
            "keys": " ".join(key_words),
        }
    for name, subcommand in below.items():
        yield from _rows(subcommand, f"{path} {name}", job)


def _usage(parameter: click.Parameter) -> str:
    """Return how a parameter is given, such as [--agent AGENT].

    For an option that every command takes it is ''.
    """
    if parameter in COMMON_OPTIONS:
        return ""
    option = parameter.opts[0]
    value = _value_of(parameter)
    if isinstance(parameter, click.Argument) and parameter.nargs == -1:
        usage = f"{value}…"
    elif isinstance(parameter, click.Argument):
        usage = value
    elif isinstance(parameter, click.Option) and parameter.is_flag:
        usage = option
    else:
        usage = f"{option} {value}"
    if parameter.required or usage.startswith("["):
        return usage
    return f"[{usage}]"


def _value_of(parameter: click.Parameter) -> str:
    """Return what stands for the value of a parameter, such as AGENT."""
    if parameter.metavar:
        return parameter.metavar
    kind = parameter.type
    if isinstance(kind, click.Choice):
        return "|".join(kind.choices)
    option = parameter.opts[0]
    name = option.lstrip("-")
    return name.upper()


def _text(row: dict[str, Any]) -> str:
    """Return a command for people: its usage, what it does, its JSON fields."""
    path = row["path"]
    usage = row["usage"]
    about = row["about"]
    details = row["details"]
    keys = row["keys"]
    first = f"theorex {path} {usage}"
    words = f"{about} {details}".split()
    description = " ".join(words)
    lines = [
        first.rstrip(),
        f"    {description}",
    ]
    if keys:
        lines.append(f"    --json: {keys}")
    return "\n".join(lines)
