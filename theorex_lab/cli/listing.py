"""The list of all commands: theorex commands."""

from collections.abc import Iterator
from typing import Any

import click

from theorex_lab.cli.groups import COMMANDS, design_group, designs, load
from theorex_lab.console import COMMON_OPTIONS, command, emit

_KEYS = "\n\nJSON: "


@command("commands")
def commands() -> None:
    """Without a group's name each works too, under its flat name. Settings are listed by `theorex config`.

    Each takes --json, --home and --now, before its name or after it. Exit code 0 is ok, 1 failed, 2 wrong usage. What
    gives memory back gives that of this folder's project (--project P, --all-projects); what tends it takes all projects.

    JSON: {commands: [{name, path, usage, about, details, keys}]}
    """
    rows = [row for name, entry in COMMANDS.items() for row in _rows(load(name), name, entry.path)]
    for name in designs():
        rows += _rows(design_group(name), "", name)
    emit({"commands": rows}, "\n\n".join(map(_text, rows)))


def _rows(made: click.Command | None, name: str, path: str) -> Iterator[dict[str, Any]]:
    """The row of a command, then those of the commands below it; a group that does nothing itself has none."""
    assert made is not None
    below = made.commands if isinstance(made, click.Group) else {}
    if not below or made.callback is not None:
        text, _, keys = (made.help or "").partition(_KEYS)
        about, _, details = text.partition("\n\n")
        usage = " ".join(filter(None, map(_usage, made.params)))
        yield {"name": name, "path": path, "usage": usage, "about": about, "details": details, "keys": keys}
    for short, subcommand in below.items():
        yield from _rows(subcommand, f"{name} {short}" if name else "", f"{path} {short}")


def _usage(parameter: click.Parameter) -> str:
    """How a parameter is given, such as [--agent AGENT]; '' for an option that every command takes."""
    if parameter in COMMON_OPTIONS:
        return ""
    kind, given = parameter.type, parameter.opts[0]
    value = "|".join(kind.choices) if isinstance(kind, click.Choice) else given.lstrip("-").upper()
    if isinstance(parameter, click.Argument):
        shown = (parameter.metavar or value) + ("…" if parameter.nargs == -1 else "")
    else:
        is_flag = isinstance(parameter, click.Option) and parameter.is_flag
        shown = given if is_flag else f"{given} {parameter.metavar or value}"
    return shown if parameter.required or shown.startswith("[") else f"[{shown}]"


def _text(row: dict[str, Any]) -> str:
    flat = f"   (also: theorex {row['name']})" if row["name"] not in ("", row["path"]) else ""
    said = f"{row['about']} {row['details']}".split()
    lines = [f"theorex {row['path']} {row['usage']}".rstrip() + flat, f"    {' '.join(said)}"]
    return "\n".join([*lines, *([f"    --json: {row['keys']}"] if row["keys"] else [])])
