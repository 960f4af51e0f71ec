"""The command that enters the hook into an agent's settings.json, and where asked the MCP server into its list of servers.

It takes them out again. A file is edited as text: what stands in it stays as it was written, to the byte.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable, Mapping
from difflib import unified_diff
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import click

from theorex_lab.cli import command
from theorex_lab.console import emit, fail
from theorex_lab.console.agents import agent_option
from theorex_lab.errors import InvalidInput, StorageError
from theorex_lab.ids import check_agent
from theorex_lab.journal.files import write_atomically

# Newer ones stand last: installed over older ones they come out where a first installation puts them.
EVENTS = (
    "PostToolUse", "UserPromptSubmit", "Stop", "SessionStart", "SessionEnd",
    "PostToolUseFailure", "PreCompact", "SubagentStop",
)  # fmt: skip
_WITH_MATCHER = frozenset({"PostToolUse", "PostToolUseFailure"})
_TIMEOUT_SECONDS = 30
_SERVERS, _SERVER = "mcpServers", "theorex"
_OURS = re.compile(r"(?:^|[\s/\\\"'])theorex-hook(?:\.exe)?[\"']?\s*\Z")
_BLANK = re.compile(r"[ \t\r\n]*")


@command("install-hooks")
@click.option("--settings", metavar="F", default="~/.claude/settings.json", show_default=True, help="The file.")
@click.option("--mcp", "servers", metavar="F", help="Enter the MCP server too, in this file: .mcp.json in a project.")
@agent_option("Record as this agent; default $THEOREX_AGENT of the session, else main.")
@click.option("--uninstall", "remove", is_flag=True, help="Take the hooks out again; with --mcp, the server too.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def install_hooks(settings: str, servers: str | None, agent: str | None, remove: bool, yes: bool) -> None:
    """Shows the difference and asks before it writes; the former file is kept beside the new one."""
    options = click.get_current_context().ensure_object(dict)
    as_json = bool(options.get("as_json"))
    home = options.get("home")
    hook, entry = hook_command(home, agent), server_entry(home, agent)
    plans = [_plan(settings, _without_hooks if remove else lambda _, text: install(text, hook))]
    if servers is not None:
        plans.append(_plan(servers, _without_server if remove else lambda _, text: install_server(text, entry)))
        if plans[0].path == plans[1].path:
            raise InvalidInput(f"got the settings file {servers!r} for --mcp; allowed is another file")
    changed = [plan for plan in plans if plan.after != plan.before]
    if not changed:
        found = "nothing of ours" if remove else "all is there already"
        emit(_result(plans), f"{_names(plans)}: {found}; nothing was changed")
        return
    click.echo("".join(plan.difference for plan in changed), nl=False, err=as_json)
    if not yes:
        if not sys.stdin.isatty():
            fail("nothing was changed; add --yes to write this", as_json=as_json, **_result(plans))
        if not click.confirm(f"Write this to {_names(changed)}?", err=as_json):
            fail("nothing was changed", as_json=as_json, **_result(plans))
    written = {plan.path: _replace(plan.path, plan.before, plan.after) for plan in changed}
    lines = [f"{path}: written" + (f"; the former file is {kept}" if kept else "") for path, kept in written.items()]
    emit(_result(plans, written), "\n".join(lines))


class _Plan(NamedTuple):
    """A file, its text and what it is to be; None stands for no file."""

    path: Path
    before: str | None
    after: str | None

    @property
    def difference(self) -> str:
        names = ["/dev/null" if text is None else str(self.path) for text in (self.before, self.after)]
        lines = [(text or "").splitlines() for text in (self.before, self.after)]
        return "".join(f"{line}\n" for line in unified_diff(lines[0], lines[1], names[0], names[1], lineterm=""))


def _plan(file: str, change: Callable[[Path, str | None], str | None]) -> _Plan:
    # The file itself where the name is a link, so that the link stays one.
    path = Path(file).expanduser().resolve()
    before = _read(path)
    try:
        return _Plan(path, before, change(path, before))
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from error


def _names(plans: list[_Plan]) -> str:
    return " and ".join(str(plan.path) for plan in plans)


def _result(plans: list[_Plan], written: Mapping[Path, Path | None] = MappingProxyType({})) -> dict[str, Any]:
    """What the command says of the settings, and under `mcp` of the servers, None where they were not asked for."""
    parts = [
        {
            "file": str(plan.path),
            "changed": plan.path in written,
            "backup": str(kept) if (kept := written.get(plan.path)) else None,
            "diff": plan.difference,
        }
        for plan in plans
    ]
    return {**parts[0], "mcp": parts[1] if len(parts) > 1 else None}


def hook_command(home: str | None, agent: str | None) -> str:
    """The shell command of the hook: the program beside this Python where it is there, else its name.

    >>> hook_command(None, "qwen-sage").startswith("THEOREX_AGENT=qwen-sage ")
    True
    """
    words = [] if home is None else [f"THEOREX_HOME={shlex.quote(_absolute(home))}"]
    words += [] if agent is None else [f"THEOREX_AGENT={shlex.quote(check_agent(agent))}"]
    return " ".join([*words, shlex.quote(_program("theorex-hook"))])


def server_entry(home: str | None, agent: str | None) -> dict[str, Any]:
    """How an agent starts the MCP server over standard input and output.

    >>> server_entry(None, "qwen-sage")["args"]
    ['mcp-start', '--stdio', '--agent', 'qwen-sage']
    """
    first = [] if home is None else ["--home", _absolute(home)]
    last = [] if agent is None else ["--agent", check_agent(agent)]
    return {"command": _program("theorex"), "args": [*first, "mcp-start", "--stdio", *last]}


def _absolute(home: str) -> str:
    return str(Path(home).expanduser().absolute())


def _program(name: str) -> str:
    program = Path(sys.executable).absolute().parent / (f"{name}.exe" if sys.platform == "win32" else name)
    return str(program) if program.is_file() else name


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
        if [shell for shell, _ in _ours(text, event)] == [hook]:
            continue
        text = _strip(text, event)
        entry = {"type": "command", "command": hook, "timeout": _TIMEOUT_SECONDS}
        group = {**({"matcher": "*"} if event in _WITH_MATCHER else {}), "hooks": [entry]}
        if (hooks := _member(text, _blank(text, 0), "hooks")) is None:
            text = _insert(text, _blank(text, 0), "hooks", {event: [group]})
        elif (groups := _member(text, hooks.start, event)) is None:
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
    for event in EVENTS:
        text = _strip(text, event)
    return text


def install_server(text: str | None, entry: dict[str, Any]) -> str:
    """The list of servers with ours, `entry`, in place of one of its name; `text` is None where there is no file.

    Raises InvalidInput for a text that is not a JSON object, or whose servers are none.

    >>> install_server('{"mcpServers": {}}', {"command": "theorex"})
    '{"mcpServers": {"theorex": {"command": "theorex"}}}'
    """
    text = "{}\n" if text is None else text
    if _server(text) == entry:
        return text
    text = uninstall_server(text)
    root = _blank(text, 0)
    servers = _member(text, root, _SERVERS)
    if servers is None:
        return _insert(text, root, _SERVERS, {_SERVER: entry})
    return _insert(text, servers.start, _SERVER, entry)


def uninstall_server(text: str) -> str:
    """The list of servers without ours, and without the object that this empties.

    >>> uninstall_server('{"a": 1, "mcpServers": {"theorex": {"command": "theorex"}}}')
    '{"a": 1}'
    """
    _server(text)
    root = _blank(text, 0)
    while (servers := _member(text, root, _SERVERS)) and (ours := _member(text, servers.start, _SERVER)):
        alone = len(_children(text, servers.start)) == 1
        text = _remove(text, root, servers) if alone else _remove(text, servers.start, ours)
    return text


def _server(text: str) -> object:
    """Our entry in the list of servers, None where there is none."""
    servers = _object(text).get(_SERVERS, {})
    if not isinstance(servers, dict):
        raise InvalidInput(f"`{_SERVERS}` in the file is a {type(servers).__name__}; allowed is an object")
    return servers.get(_SERVER)


class _Child(NamedTuple):
    """One member of an object or item of an array in the text: text[begin:end], its value from `start` on."""

    key: str | None
    begin: int
    start: int
    end: int


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the file is not JSON ({error}); repair it first, nothing was changed") from error
    if not isinstance(found, dict):
        raise InvalidInput(f"the file is a JSON {type(found).__name__}; allowed is an object")
    return found


def _check(text: str) -> None:
    hooks = _object(text).get("hooks", {})
    if not isinstance(hooks, dict):
        raise InvalidInput(f"`hooks` in the settings is a {type(hooks).__name__}; allowed is an object of lists")
    for event in EVENTS:
        groups = hooks.get(event, [])
        if not isinstance(groups, list):
            raise InvalidInput(f"`hooks.{event}` in the settings is a {type(groups).__name__}; allowed is a list")


def _blank(text: str, position: int) -> int:
    """Where the blank space that begins at `position` ends."""
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


def _member(text: str, start: int, key: str) -> _Child | None:
    """The member of this name; of a name that is there twice the last, as JSON readers take it."""
    if text[start] != "{":
        return None
    return next((member for member in reversed(_children(text, start)) if member.key == key), None)


def _ours(text: str, event: str) -> list[tuple[str, list[_Child]]]:
    """Our commands under an event, each with the way to it: `hooks`, event, group, its `hooks`, entry."""
    hooks = _member(text, _blank(text, 0), "hooks")
    groups = None if hooks is None else _member(text, hooks.start, event)
    if hooks is None or groups is None or text[groups.start] != "[":
        return []
    found = []
    for group in _children(text, groups.start):
        entries = _member(text, group.start, "hooks")
        if entries is None or text[entries.start] != "[":
            continue
        for entry in _children(text, entries.start):
            value = json.loads(text[entry.start : entry.end])
            shell = value.get("command") if isinstance(value, dict) else None
            if isinstance(shell, str) and _OURS.search(shell):
                found.append((shell, [hooks, groups, group, entries, entry]))
    return found


def _strip(text: str, event: str) -> str:
    """Take our entries out from under an event; a group, an event and `hooks` that held nothing else go with them."""
    while found := _ours(text, event):
        way = found[0][1]
        container, child = _blank(text, 0), way[0]
        for outer, inner in ((0, 1), (1, 2), (3, 4)):
            if len(_children(text, way[outer].start)) > 1:
                container, child = way[outer].start, way[inner]
        text = _remove(text, container, child)
    return text


def _remove(text: str, start: int, child: _Child) -> str:
    """The text without one child of the container at `start`, and without its comma."""
    children = _children(text, start)
    place = children.index(child)
    if place > 0:
        return text[: children[place - 1].end] + text[child.end :]
    if len(children) > 1:
        return text[: child.begin] + text[children[1].begin :]
    return text[: start + 1] + text[_blank(text, child.end) :]


def _insert(text: str, start: int, key: str | None, value: object) -> str:
    """The text with a last child in the container at `start`, indented as its neighbours are."""
    newline = "\r\n" if "\r\n" in text else "\n"
    root = _blank(text, 0)
    top = _children(text, root)
    margin = text[root + 1 : top[0].begin] if top else newline + "  "
    unit = margin.rpartition("\n")[2]
    spaced = not top or text[top[0].start - 1].isspace()
    children = _children(text, start)
    if children:
        lead, tail = text[start + 1 : children[0].begin], ""
        head, rest = text[: children[-1].end] + ",", text[children[-1].end :]
    else:
        line = text[text.rfind("\n", 0, start) + 1 : start]
        tail = newline + line[: _blank(line, 0)] if "\n" in margin else ""
        lead = tail + unit if tail else ""
        head, rest = text[: start + 1], text[_blank(text, start + 1) :]
    if "\n" in lead:
        written = json.dumps(value, indent=unit, ensure_ascii=False)
        written = written.replace("\n", newline + lead.rpartition("\n")[2])
    else:
        lead = " " if children and spaced else ""
        written = json.dumps(value, ensure_ascii=False, separators=(", ", ": ") if spaced else (",", ":"))
    name = "" if key is None else json.dumps(key) + (": " if spaced else ":")
    return head + lead + name + written + tail + rest


def _read(path: Path) -> str | None:
    """The file's text as it is, or None where there is none."""
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is not JSON in UTF-8 ({error.reason}); nothing was changed") from error
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror}; name another file with --settings") from error


def _without_hooks(path: Path, text: str | None) -> str | None:
    def again(former: str | None) -> str:
        return install(former, next(shell for event in EVENTS for shell, _ in _ours(text or "", event)))

    return _without(path, text, uninstall, again)


def _without_server(path: Path, text: str | None) -> str | None:
    def again(former: str | None) -> str:
        entry = _server(text or "")
        return install_server(former, entry if isinstance(entry, dict) else {})

    return _without(path, text, uninstall_server, again)


def _without(
    path: Path, text: str | None, take: Callable[[str], str], again: Callable[[str | None], str]
) -> str | None:
    """The file's text without our entries: what stood there before, where nobody changed the file since.

    `take` takes them out of a text, `again` puts those of the file into another.
    """
    if text is None or (gone := take(text)) == text:
        return text
    for number in range(_last_backup(path), -1, -1):
        # Number 0 stands for no file.
        former = _read(_backup(path, number)) if number else None
        if number and former is None:
            continue
        try:
            if again(former) == text and (former is None or take(former) == former):
                return former
        except InvalidInput:
            continue
    return gone


def _backup(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.theorex-backup-{number}")


def _last_backup(path: Path) -> int:
    """The number of the newest backup, 0 where there is none."""
    ends = (other.name.removeprefix(f"{path.name}.theorex-backup-") for other in path.parent.glob("*.theorex-backup-*"))
    return max((int(end) for end in ends if end.isdecimal()), default=0)


def _replace(path: Path, before: str | None, after: str | None) -> Path | None:
    """Write the file as a whole, or remove it; returns where its former bytes are kept."""
    if _read(path) != before:
        raise StorageError(f"{path} was changed by another program meanwhile; nothing was written, try again")
    try:
        mode, backup = None, None
        path.parent.mkdir(parents=True, exist_ok=True)
        if before is not None:
            mode = path.stat().st_mode & 0o7777
            backup = _backup(path, _last_backup(path) + 1)
            write_atomically(backup, before.encode(), mode=mode)
        if after is None:
            path.unlink()
        else:
            write_atomically(path, after.encode(), mode=mode)
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror}; the file is as it was") from error
    return backup
