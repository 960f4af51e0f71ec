"""The table of commands, commands.txt: what is called how, so that no module is imported before its command is called."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

# What `theorex --help` shows beside the groups.
EVERYDAY = (
    "write search status boot-inject route dispatch outcome nightly backup restore tune tour lab install-hooks commands"
).split()


class CommandEntry(NamedTuple):
    """A command: its group and its name in it, "" where it has none; its module, with :NAME of another function there."""

    group: str
    short: str
    module: str
    about: str

    @property
    def path(self) -> str:
        """The words after `theorex`, such as "memory write"."""
        return f"{self.group} {self.short}".strip()


def members(group: str) -> dict[str, str]:
    """The flat names of a group's commands by their names in it; where two have the same, the first."""
    found: dict[str, str] = {}
    for flat, entry in COMMANDS.items():
        if entry.group == group and entry.short:
            found.setdefault(entry.short, flat)
    return found


def _read() -> tuple[dict[str, str], dict[str, CommandEntry]]:
    groups: dict[str, str] = {}
    commands: dict[str, CommandEntry] = {}
    group = ""
    for line in Path(__file__).with_name("commands.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith(" "):
            flat, short, module, about = line.split(maxsplit=3)
            commands[flat] = CommandEntry(group, short.removeprefix("-"), module, about)
        elif line and not line.startswith("#"):
            group, groups[group] = line.split(maxsplit=1)
    return groups, commands


GROUPS, COMMANDS = _read()  # a group's line of help, and the commands by their flat names
