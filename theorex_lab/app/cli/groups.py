"""The groups of commands, which import a command's module when it is called."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import TYPE_CHECKING, Any

import click

from theorex_lab.app.cli.command_table import GROUPS as COMMAND_GROUPS
from theorex_lab.app.cli.command_table import CommandEntry
from theorex_lab.files import command_line
from theorex_lab.files.command_line import COMMON_OPTIONS, command, emit

if TYPE_CHECKING:
    from theorex_lab.memory.contract import Design

# What `theorex --help` shows beside the groups.
EVERYDAY = (
    "write search briefing status route outcome nightly backup tune"
    " tour lab install-hooks commands"
).split()


def _list_of_commands() -> click.Command:
    return commands


# The command that stands in no group, since it lists them all.
UNGROUPED = (
    CommandEntry(
        "commands",
        "commands",
        _list_of_commands,
        "List every command: its names, what it does, its JSON keys.",
    ),
)


def members(group: str) -> dict[str, str]:
    """Return the flat names of a group's commands by their names in it.

    Where two have the same name, it is the first.
    """
    flat_names: dict[str, str] = {}
    for flat, entry in COMMANDS.items():
        if entry.group == group and entry.short:
            flat_names.setdefault(entry.short, flat)
    return flat_names


def _commands() -> dict[str, CommandEntry]:
    """Return the commands by their flat names, each with its group.

    They stand in the order of the table.
    """
    commands = {entry.name: entry for entry in UNGROUPED}
    for group in COMMAND_GROUPS:
        for entry in group.commands:
            commands[entry.name] = entry._replace(group=group.name)
    return commands


GROUPS = {group.name: group.about for group in COMMAND_GROUPS}
COMMANDS = _commands()


def load(flat: str) -> click.Command:
    """Import the command of that flat name; its help begins with the table's line."""
    entry = COMMANDS[flat]
    loaded = copy(entry.load())
    loaded.name = flat
    loaded.short_help = entry.about
    loaded.help = f"{entry.about}\n\n{loaded.help}"
    return loaded


class Group(command_line.CommandGroup):
    """A group of the table, such as `theorex memory`."""

    def __init__(self, name: str) -> None:
        super().__init__(name, help=GROUPS[name], params=[*command_line.COMMON_OPTIONS])
        self._members = members(name)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Their names in the group, in the order of the table."""
        return [*self._members]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the command's module and return the command."""
        return load(self._members[cmd_name]) if cmd_name in self._members else None

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the group's help.

        Of the command that has the group's own name it is that command's, with the
        others below.
        """
        if self.name not in COMMANDS:
            super().format_help(ctx, formatter)
            return
        load(self.name).format_help(ctx, formatter)
        self.format_commands(ctx, formatter)

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002
        formatter: click.HelpFormatter,
    ) -> None:
        """List the commands from the table, without importing any of them."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, COMMANDS[flat].about) for name, flat in self._members.items()]
            )


class Root(command_line.CommandGroup):
    """The `theorex` command.

    It has its groups, every command under its flat name, and the designs that bring
    commands.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the groups, the flat names, the designs."""
        return [*dict.fromkeys([*GROUPS, *COMMANDS, *designs()])]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return the command of this flat name, else the group."""
        if cmd_name in COMMANDS:
            return load(cmd_name)
        return Group(cmd_name) if cmd_name in GROUPS else design_group(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> command_line.Resolved:
        """Resolve a name as click does.

        A name of both a group and a command is the group when one of its commands
        follows.
        """
        name, *arguments = args
        if (
            name in GROUPS
            and name in COMMANDS
            and _first_word(arguments) in (*members(name), *ctx.help_option_names)
        ):
            return name, Group(name), arguments
        return super().resolve_command(ctx, args)

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002
        formatter: click.HelpFormatter,
    ) -> None:
        """List the groups and what is used every day."""
        with formatter.section("Groups (theorex GROUP --help lists its commands)"):
            formatter.write_dl(
                [
                    *GROUPS.items(),
                    *((name, f"Commands of the design {name}.") for name in designs()),
                ]
            )
        with formatter.section(
            "Every day (each command works without its group's name too)"
        ):
            formatter.write_dl([(name, COMMANDS[name].about) for name in EVERYDAY])


def _first_word(arguments: list[str]) -> str:
    """Return the first word that is neither a common option nor the value of one.

    Where there is none, it is ''.
    """
    is_flag = {}
    for option in command_line.COMMON_OPTIONS:
        for name in option.opts:
            is_flag[name] = option.is_flag
    words = iter(arguments)
    for word in words:
        name, equals, _ = word.partition("=")
        if name not in is_flag:
            return word
        if not is_flag[name] and not equals:
            next(words, None)  # its value
    return ""


def designs() -> dict[str, Design]:
    """Return the designs of other packages that bring commands, by name.

    Those of built-in ones stand in the table.
    """
    from theorex_lab.designs import others

    reserved = (*COMMANDS, *GROUPS)
    return {
        design.name: design
        for design in others()
        if design.commands and design.name not in reserved
    }


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


@command("commands")
def commands() -> None:
    """Without a group's name each works too, under its flat name.

    Settings are listed by `theorex config`.

    Each takes --json, --home and --now, before its name or after it. Exit code 0 is ok,
    1 failed, 2 wrong usage. What gives memory back gives that of this folder's project
    (--project P, --all-projects); what tends it takes all projects.

    JSON: {commands: [{name, path, usage, about, details, keys}]}
    """
    rows = list[dict[str, Any]]()
    for name, entry in COMMANDS.items():
        rows += _rows(load(name), name, entry.path)
    for name in designs():
        rows += _rows(design_group(name), "", name)
    emit({"commands": rows}, "\n\n".join(map(_text, rows)))


def _rows(
    declared: click.Command | None, name: str, path: str
) -> Iterator[dict[str, Any]]:
    """Yield the row of a command, then those of the commands below it.

    A group that does nothing itself has no row.
    """
    assert declared is not None
    below = declared.commands if isinstance(declared, click.Group) else {}
    if not below or declared.callback is not None:
        text, _, keys = (declared.help or "").partition(_KEYS)
        about, _, details = text.partition("\n\n")
        usage = " ".join(filter(None, map(_usage, declared.params)))
        yield {
            "name": name,
            "path": path,
            "usage": usage,
            "about": about,
            "details": details,
            "keys": " ".join(keys.split()),
        }
    for short, subcommand in below.items():
        yield from _rows(
            subcommand, f"{name} {short}" if name else "", f"{path} {short}"
        )


def _usage(parameter: click.Parameter) -> str:
    """Return how a parameter is given, such as [--agent AGENT].

    For an option that every command takes it is ''.
    """
    if parameter in COMMON_OPTIONS:
        return ""
    kind = parameter.type
    option = parameter.opts[0]
    if parameter.metavar:
        value = parameter.metavar
    elif isinstance(kind, click.Choice):
        value = "|".join(kind.choices)
    else:
        value = option.lstrip("-").upper()
    if isinstance(parameter, click.Argument):
        usage = f"{value}…" if parameter.nargs == -1 else value
    elif isinstance(parameter, click.Option) and parameter.is_flag:
        usage = option
    else:
        usage = f"{option} {value}"
    if parameter.required or usage.startswith("["):
        return usage
    return f"[{usage}]"


def _text(row: dict[str, Any]) -> str:
    flat = (
        f"   (also: theorex {row['name']})"
        if row["name"] not in ("", row["path"])
        else ""
    )
    words = f"{row['about']} {row['details']}".split()
    lines = [
        f"theorex {row['path']} {row['usage']}".rstrip() + flat,
        f"    {' '.join(words)}",
    ]
    return "\n".join([*lines, *([f"    --json: {row['keys']}"] if row["keys"] else [])])
