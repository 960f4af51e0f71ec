"""The command of settings: theorex config, config set, config unset."""

import json
from pathlib import Path
from typing import Any

import click

from theorex_lab.cli import open_lab
from theorex_lab.config import Settings, describe_settings, read_value, save_part, save_settings
from theorex_lab.config_record import SettingsRecord, to_camel, to_snake
from theorex_lab.console import COMMON_OPTIONS, CommandGroup, command, emit, named_home


@command("set", "Change a setting in config.json.")
@click.argument("key", metavar="KEY")
@click.argument("value", metavar="VALUE", type=click.UNPROCESSED)
def set_(key: str, value: str) -> None:
    """KEY is camelCase or snake_case; VALUE a number or a text, lists and objects as JSON. What is wrong is not written.

    The file is replaced as a whole; what else is in it stays. A design's own setting is DESIGN.KEY.

    JSON: {file, setting}
    """
    _change(key, value)


@command("unset", "Take a setting out of config.json, so that its default holds again.")
@click.argument("key", metavar="KEY")
def unset(key: str) -> None:
    """Also a KEY that is no setting, where config.json holds it by mistake.

    JSON: {file, setting}
    """
    _change(key, None)


def _show() -> None:
    if click.get_current_context().invoked_subcommand is not None:
        return
    lab = open_lab()
    rows = describe_settings(lab.settings)
    for design in (design for design in lab.home.designs if design.settings is not None):
        rows += describe_settings(lab.home.settings_of(design), before=f"{design.name}.")
    lines = [f"# {lab.config_file}"]
    for row in rows:
        lines += [_line(row), f"    {row['description']}"]
    emit({"file": str(lab.config_file), "settings": rows}, "\n".join(lines))


def _file() -> Path:
    from theorex_lab.journal.files import make_folder

    # No lab is opened: where config.json is wrong, none can be, and this is how it is put right.
    home = Path(named_home()).expanduser()
    make_folder(str(home))
    return home / "config.json"


def _change(key: str, value: str | None) -> None:
    """Set a setting of the home, or for DESIGN.KEY one of that design; None takes it out."""
    from theorex_lab.designs import installed

    name, _, member = key.partition(".")
    kind = next((design.settings for design in installed() if member and design.name == name), None)
    before, inner = ("", key) if kind is None else (f"{name}.", member)
    changes = {} if value is None else {inner: read_value(inner, value, kind or Settings)}
    unset = [inner] if value is None else []
    settings: SettingsRecord
    if kind is None:
        settings = save_settings(_file(), changes, unset=unset)
    else:
        settings = save_part(_file(), name, kind, changes, unset=unset)
    row = {row["key"]: row for row in describe_settings(settings, before=before)}.get(to_camel(to_snake(key)))
    text = _line(row) if row is not None else f"{key} is taken out"
    emit({"file": str(_file()), "setting": row}, text)


def _line(row: dict[str, Any]) -> str:
    unit = f" {row['unit']}" if row["unit"] else ""
    default = json.dumps(row["default"])
    return f"{row['key']} = {json.dumps(row['value'])}{unit}   ({row['source']}; default {default}; {row['range']})"


# A value such as -1 is a value, and refused as one, not taken for an option.
set_.context_settings["ignore_unknown_options"] = True
_KEYS = "\n\nJSON: {file, settings: [{key, value, default, range, unit, source, description}]}"
_ABOUT = f"Settings stand in config.json in the home, camelCase or snake_case.{_KEYS}"
_how: dict[str, Any] = {"help": _ABOUT, "params": [*COMMON_OPTIONS], "invoke_without_command": True}
config = CommandGroup("config", {"set": set_, "unset": unset}, callback=_show, **_how)
