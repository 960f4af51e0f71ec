"""The command that enters the hook into an agent's settings.json and takes it out again.

The file is edited as text: what stands in it stays as it was written, to the byte.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable
from difflib import unified_diff
from pathlib import Path
from typing import Any, NamedTuple

import click

from theorex_lab.cli import command, emit, fail
from theorex_lab.errors import InvalidInput, StorageError
from theorex_lab.ids import check_agent
from theorex_lab.journal.files import write_atomically

EVENTS = ("PostToolUse", "UserPromptSubmit", "Stop", "SessionStart", "SessionEnd")
_WITH_MATCHER = frozenset({"PostToolUse"})
_TIMEOUT_SECONDS = 30
_OURS = re.compile(r"(?:^|[\s/\\\"'])theorex-hook(?:\.exe)?[\"']?\s*\Z")
_BLANK = re.compile(r"[ \t\r\n]*")


@command("install-hooks")
@click.option("--settings", metavar="F", default="~/.claude/settings.json", show_default=True, help="The file.")
@click.option("--agent", default=None, help="Record as this agent; default $THEOREX_AGENT of the session, else main.")
@click.option("--uninstall", is_flag=True, help="Take the hooks out again.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def install_hooks(settings: str, agent: str | None, uninstall: bool, yes: bool) -> None:
    """Shows the difference and asks before it writes; the former file is kept beside the new one."""
    options = click.get_current_context().ensure_object(dict)
    as_json = bool(options.get("as_json"))
    # The file itself where the name is a link, so that the link stays one.
    path = Path(settings).expanduser().resolve()
    before = _read(path)
    after = _uninstalled(path, before) if uninstall else _installed(path, before, hook_command(options.get("home"), agent))
    difference = _difference(path, before, after)
    result: dict[str, Any] = {"file": str(path), "changed": False, "backup": None, "diff": difference}
    if after == before:
        emit(result, f"{path}: {'no hooks of ours' if uninstall else 'the hooks are there already'}; nothing was changed")
        return
    click.echo(difference, nl=False, err=as_json)
    if not yes:
        if not sys.stdin.isatty():
            fail("nothing was changed; add --yes to write this", as_json=as_json, **result)
        if not click.confirm(f"Write this to {path}?", err=as_json):
            fail("nothing was changed", as_json=as_json, **result)
    backup = _replace(path, before, after)
    result |= {"changed": True, "backup": None if backup is None else str(backup)}
    emit(result, f"{path}: written" + ("" if backup is None else f"; the former file is {backup}"))


def hook_command(home: str | None, agent: str | None) -> str:
    """The shell command of the hook: the program beside this Python where it is there, else its name.

    >>> hook_command(None, "qwen-sage").startswith("THEOREX_AGENT=qwen-sage ")
    True
    """
    name = "theorex-hook.exe" if sys.platform == "win32" else "theorex-hook"
    program = Path(sys.executable).absolute().parent / name
    words = [] if home is None else [f"THEOREX_HOME={shlex.quote(str(Path(home).expanduser().absolute()))}"]
    words += [] if agent is None else [f"THEOREX_AGENT={shlex.quote(check_agent(agent))}"]
    return " ".join([*words, shlex.quote(str(program)) if program.is_file() else "theorex-hook"])


def install(text: str | None, hook: str) -> str:
    """The settings with the command `hook` in each of the events; `text` is None where there is no file.

    What is there already stays as it is; an entry of ours with another command is replaced. Raises InvalidInput for a
    text that is not a JSON object, or whose hooks have another form.

    >>> install('{"model": "x"}', "theorex-hook")[:53]
    '{"model": "x", "hooks": {"PostToolUse": [{"matcher": '
    """
    text = "{}\n" if text is None else text
    _check(text)
    for event in EVENTS:
        if hook in _commands(text, event):
            continue
        text = _strip(text, event)
        group = {"hooks": [{"type": "command", "command": hook, "timeout": _TIMEOUT_SECONDS}]}
        if event in _WITH_MATCHER:
            group = {"matcher": "*", **group}
        if (hooks := _find(text, "hooks")) is None:
            text = _insert(text, _start(text), "hooks", {event: [group]})
        elif (groups := _find(text, "hooks", event)) is None:
            text = _insert(text, hooks.start, event, [group])
        else:
            text = _insert(text, groups.start, None, group)
    return text


def uninstall(text: str) -> str:
    """The settings without any entry of ours, and without the containers that this empties.

    >>> uninstall(install('{"model": "x"}', "theorex-hook"))
    '{"model": "x"}'
    """
    _check(text)
    for event in list(_load(text).get("hooks", {})):
        text = _strip(text, event)
    return text


class _Child(NamedTuple):
    """One member of an object or item of an array in the text: text[begin:end], its value from `start` on."""

    key: str | None
    begin: int
    start: int
    end: int


def _load(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the settings are not JSON ({error}); repair the file first, nothing was changed") from error


def _check(text: str) -> None:
    settings = _load(text)
    if not isinstance(settings, dict):
        raise InvalidInput(f"the settings are a JSON {type(settings).__name__}; allowed is an object")
    hooks = settings.get("hooks", {})
    if not isinstance(hooks, dict):
        raise InvalidInput(f"`hooks` in the settings is a {type(hooks).__name__}; allowed is an object of lists")
    for event, groups in hooks.items():
        if not isinstance(groups, list):
            raise InvalidInput(f"`hooks.{event}` in the settings is a {type(groups).__name__}; allowed is a list")


def _start(text: str) -> int:
    """Where the value of the whole text starts."""
    return _blank(text, 0)


def _blank(text: str, position: int) -> int:
    match = _BLANK.match(text, position)
    return position if match is None else match.end()


def _children(text: str, start: int) -> list[_Child]:
    """What stands in the object or array that starts at `start` of a text that is JSON."""
    decode = json.JSONDecoder().raw_decode
    found: list[_Child] = []
    position = _blank(text, start + 1)
    while text[position] not in "}]":
        begin, key = position, None
        if text[start] == "{":
            key, position = decode(text, position)
            position = _blank(text, _blank(text, position) + 1)
        end = decode(text, position)[1]
        found.append(_Child(key, begin, position, end))
        position = _blank(text, end)
        if text[position] == ",":
            position = _blank(text, position + 1)
    return found


def _find(text: str, *keys: str) -> _Child | None:
    """The member that these keys lead to; of a key that is there twice the last one, as JSON readers take it."""
    child: _Child | None = None
    start = _start(text)
    for key in keys:
        child = next((member for member in reversed(_children(text, start)) if member.key == key), None)
        if child is None:
            return None
        start = child.start
    return child


def _commands(text: str, event: str) -> list[str]:
    """The commands of ours under an event."""
    groups = _load(text).get("hooks", {}).get(event, [])
    entries = [entry for group in groups if isinstance(group, dict) for entry in _list(group.get("hooks"))]
    return [entry["command"] for entry in entries if _is_ours(entry)]


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_ours(entry: object) -> bool:
    given = entry.get("command") if isinstance(entry, dict) else None
    return isinstance(given, str) and _OURS.search(given) is not None


def _strip(text: str, event: str) -> str:
    """Take our entries out from under an event, then the group, the event and `hooks` that are empty by that."""
    while _commands(text, event):
        path = _path_of_ours(text, event)
        while len(path) > 1 and len(_children(text, path[-2].start)) == 1:
            path.pop()  # it holds nothing but ours, and goes as a whole
            if path[-1].key is None or path[-1].key in {event, "hooks"}:
                continue
        text = _remove(text, path)
    return text


def _path_of_ours(text: str, event: str) -> list[_Child]:
    """The way to our first entry under an event: `hooks`, the event, the group, its `hooks`, the entry."""
    raise NotImplementedError
