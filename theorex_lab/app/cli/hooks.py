"""The command that enters the hook into an agent's settings.json.

Where asked it enters the MCP server into the agent's list of servers too. It takes them
out again. What stands in a file keeps its value and its order; the former bytes are
kept beside it.
"""

import codecs
import json
import re
import shlex
import sys
from collections.abc import Callable, Mapping
from difflib import unified_diff
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, cast

import click

from theorex_lab.core.errors import ConfigError, InvalidInput, StorageError
from theorex_lab.core.files import write_atomically, writing
from theorex_lab.core.ids import check_agent
from theorex_lab.core.processes import script_beside_python
from theorex_lab.core.strict_json import unambiguous
from theorex_lab.files.command_line import (
    command,
    confirm,
    emit,
    fail,
    given_options,
)
from theorex_lab.files.command_line.options import agent_option

# Newer ones stand last: installed over older ones they come out where a first
# installation puts them.
EVENTS = (
    "PostToolUse",
    "UserPromptSubmit",
    "Stop",
    "SessionStart",
    "SessionEnd",
    "PostToolUseFailure",
    "PreCompact",
    "SubagentStop",
)
_WITH_MATCHER = frozenset({"PostToolUse", "PostToolUseFailure"})
_TIMEOUT_SECONDS = 30
_BYTE_ORDER_MARK = "\ufeff"  # editors of Windows put it in front; it stays where it is
_SERVERS = "mcpServers"
_SERVER = "theorex"
# The settings, or the list of servers, of an agent: a file of JSON.
JsonObject = dict[str, Any]
_OURS = re.compile(r"(?:^|[\s/\\\"'])theorex-hook(?:\.exe)?[\"']?\s*\Z")
_NEW = "{}\n"


@command("install-hooks")
@click.option(
    "--settings",
    metavar="F",
    default="~/.claude/settings.json",
    help="The coding agent's settings file.",
)
@click.option(
    "--mcp",
    "servers",
    metavar="F",
    help="Also enter the MCP server in this file, which is .mcp.json in a project.",
)
@agent_option(
    "Record the sessions under this name; default: the session's $THEOREX_AGENT, else main."
)
@click.option(
    "--uninstall",
    "remove",
    is_flag=True,
    help="Take the hooks out again; with --mcp take out the server too.",
)
@click.option("--yes", is_flag=True, help="Write without asking.")
def install_hooks(
    settings: str, servers: str | None, agent: str | None, remove: bool, yes: bool
) -> None:
    """From then on the memory records the agent's sessions and gives it briefings.

    A hook is a command that the coding agent runs at an event, such as the start of a
    session or the end of a tool call. The command shows which lines of the settings
    file change, and asks before it writes. The former file is kept beside the new one.

    With --mcp the agent can also search and write the memory by itself, over the Model
    Context Protocol. --uninstall takes out only what this command entered, and removes
    a file in which nothing else stands. The exit code is 1 where you decline, or where
    nobody can be asked and --yes is missing.

    Next: start a session of the agent, then `theorex doctor` checks the connection.

    JSON: {file, changed, backup, diff, mcp}
    """
    options = given_options()
    as_json = bool(options.get("as_json"))
    hook = hook_command(options.get("home"), agent)
    entry = server_entry(options.get("home"), agent)
    if remove:
        plans = _plans(settings, servers, None, None)
    else:
        plans = _plans(settings, servers, hook, entry)
    changed = [plan for plan in plans if plan.after != plan.before]
    if not changed:
        state = "nothing of theorex is there" if remove else "all is there already"
        path = plans[0].path
        emit(_result(plans), f"{path}: {state}; nothing was changed")
        return
    difference = "".join(plan.difference for plan in changed)
    click.echo(difference, nl=False, err=as_json)
    if not yes:
        _confirm(plans, changed, as_json=as_json)
    _write(plans, changed)


class _Plan(NamedTuple):
    """A file, its text and what it is to be; None stands for no file."""

    path: Path
    before: str | None
    after: str | None

    @property
    def difference(self) -> str:
        """The lines that change, as diff shows them."""
        nothing = "/dev/null"
        name_before = nothing if self.before is None else str(self.path)
        name_after = nothing if self.after is None else str(self.path)
        before = (self.before or "").splitlines()
        after = (self.after or "").splitlines()
        lines = unified_diff(before, after, name_before, name_after, lineterm="")
        return "".join(f"{line}\n" for line in lines)


def _plans(
    settings: str, servers: str | None, hook: str | None, entry: JsonObject | None
) -> list[_Plan]:
    """Return what is to become of the settings file, and of the file of servers.

    Without a hook, or an entry, what is ours is taken out.
    """
    plans = [_plan(settings, install, hook)]
    if servers is None:
        return plans
    plans.append(_plan(servers, install_server, entry))
    if plans[0].path == plans[1].path:
        raise InvalidInput(
            f"got the settings file {servers!r} for --mcp; allowed is another file"
        )
    return plans


def _write(plans: list[_Plan], changed: list[_Plan]) -> None:
    """Write the files that change, and tell where the former ones are."""
    backups: dict[Path, Path | None] = {}
    lines: list[str] = []
    for plan in changed:
        backup = _replace(plan.path, plan.before, plan.after)
        backups[plan.path] = backup
        backup_note = f"; the former file is {backup}" if backup else ""
        lines.append(f"{plan.path}: written{backup_note}")
    emit(_result(plans, backups), "\n".join(lines))


def _plan(file: str, change: Callable[[str | None, Any], str], entry: object) -> _Plan:
    """Return what is to become of a file.

    `change` enters what is ours, or takes it out where that is None: then no file stays
    in which nothing else stood.
    """
    # The file itself where the name is a link, so that the link stays one.
    path = Path(file).expanduser().resolve()
    before = _read(path)
    try:
        after = change(before, entry)
        is_taken_out = entry is None and after != before
        if is_taken_out and not _object(after):
            return _Plan(path, before, None)
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from error
    return _Plan(path, before, after)


def _confirm(plans: list[_Plan], changed: list[_Plan], *, as_json: bool) -> None:
    """Ask whether the files are to be written; end the command where not."""
    if not sys.stdin.isatty():
        fail(
            "nothing was changed: nobody can be asked here; add --yes to write it",
            **_result(plans),
        )
    paths = " and ".join(str(plan.path) for plan in changed)
    if not confirm(f"Write this to {paths}?", err=as_json):
        fail("nothing was changed", **_result(plans))


def _result(
    plans: list[_Plan], backups: Mapping[Path, Path | None] = MappingProxyType({})
) -> dict[str, Any]:
    """Return the report on the settings, and under `mcp` on the servers.

    The latter is None where it was not asked for.
    """
    parts = []
    for plan in plans:
        backup = backups.get(plan.path)
        parts.append(
            {
                "file": str(plan.path),
                "changed": plan.path in backups,
                "diff": plan.difference,
                "backup": str(backup) if backup else None,
            }
        )
    result = parts[0]
    result["mcp"] = parts[1] if len(parts) > 1 else None
    return result


def hook_command(home: str | None, agent: str | None) -> str:
    """Return the shell command of the hook.

    That is the program beside this Python where it is there, else its name.

    >>> hook_command(None, "qwen-sage").startswith("THEOREX_AGENT=qwen-sage ")
    True
    """
    words: list[str] = []
    if home is not None:
        folder = shlex.quote(_absolute(home))
        words.append(f"THEOREX_HOME={folder}")
    if agent is not None:
        name = shlex.quote(check_agent(agent))
        words.append(f"THEOREX_AGENT={name}")
    program = _program("theorex-hook")
    words.append(shlex.quote(program))
    return " ".join(words)


def server_entry(home: str | None, agent: str | None) -> JsonObject:
    """Return how an agent starts the MCP server over standard input and output.

    >>> server_entry(None, "qwen-sage")["args"]
    ['mcp', '--stdio', '--agent', 'qwen-sage']
    """
    arguments = ["mcp", "--stdio"]
    if home is not None:
        arguments = ["--home", _absolute(home), *arguments]
    if agent is not None:
        arguments += ["--agent", check_agent(agent)]
    return {"command": _program("theorex"), "args": arguments}


def _absolute(home: str) -> str:
    return str(Path(home).expanduser().absolute())


def _program(name: str) -> str:
    return script_beside_python(name) or name


def install(text: str | None, hook: str | None) -> str:
    """Return the settings with the command `hook` in each of the events.

    What is there already keeps its value and its place; an entry of ours with another
    command is replaced. Without a hook any entry of ours is taken out, and the
    containers that this empties.

    Args:
        text: The settings as JSON; None where there is no file.
        hook: The shell command of the hook, None to take it out.

    Raises:
        InvalidInput: The text is not a JSON object or has a key twice, or its hooks
            have another form.

    >>> install('{"model": "x"}', "theorex-hook")[:53]
    '{"model": "x", "hooks": {"PostToolUse": [{"matcher": '
    >>> install(install('{"model": "x"}', "theorex-hook"), None)
    '{"model": "x"}'
    """
    settings = _settings(text)
    for event in EVENTS:
        if _ours(settings, event) == [hook]:
            continue
        _strip(settings, event)
        if hook is None:
            continue
        entry = {"type": "command", "command": hook, "timeout": _TIMEOUT_SECONDS}
        group: dict[str, Any] = {}
        if event in _WITH_MATCHER:
            group["matcher"] = "*"
        group["hooks"] = [entry]
        hooks = settings.setdefault("hooks", {})
        hooks.setdefault(event, []).append(group)
    return _as_json(settings, text)


def install_server(text: str | None, entry: object) -> str:
    """Return the list of servers with ours in place of one of its name.

    Without an entry ours is taken out, and the object that this empties.

    Args:
        text: The list as JSON; None where there is no file.
        entry: How an agent starts our server, None to take it out.

    Raises:
        InvalidInput: The text is not a JSON object or has a key twice, or its servers
            are none.

    >>> install_server('{"mcpServers": {}}', {"command": "theorex"})
    '{"mcpServers": {"theorex": {"command": "theorex"}}}'
    >>> install_server(
    ...     '{"a": 1, "mcpServers": {"theorex": {"command": "theorex"}}}', None
    ... )
    '{"a": 1}'
    """
    document = _object(text)
    listed = document.get(_SERVERS, {})
    servers = dict(_checked(listed, dict, f"`{_SERVERS}` in the file"))
    if entry is not None:
        servers[_SERVER] = entry
        document[_SERVERS] = servers
    elif _SERVER in servers:
        del servers[_SERVER]
        document[_SERVERS] = servers
        if not servers:
            del document[_SERVERS]
    return _as_json(document, text)


def _checked(value: Any, kind: type, where: str) -> Any:
    if not isinstance(value, kind):
        allowed = "an object" if kind is dict else "a list"
        type_name = type(value).__name__
        raise InvalidInput(f"{where} is a {type_name}; allowed is {allowed}")
    return value


def _object(text: str | None) -> JsonObject:
    try:
        content = _NEW if text is None else text.removeprefix(_BYTE_ORDER_MARK)
        document = json.loads(
            content, object_pairs_hook=partial(unambiguous, "the file")
        )
    except ConfigError:
        raise
    except (ValueError, RecursionError) as error:
        advice = "repair it first, nothing was changed"
        if _COMMENT.search(content):
            advice = "JSON has no comments: take them out first, nothing was changed"
        raise InvalidInput(f"the file is not JSON ({error}); {advice}") from error
    checked = _checked(document, dict, "the JSON of the file")
    return cast(JsonObject, checked)


_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_COMMENT = re.compile(r"^\s*(?://|/\*)|[,{\[]\s*(?://|/\*)", re.MULTILINE)


def _settings(text: str | None) -> JsonObject:
    """Return the settings in a text.

    Raises:
        InvalidInput: The hooks in them have another form.
    """
    settings = _object(text)
    hooks = settings.get("hooks", {})
    _checked(hooks, dict, "`hooks` in the settings")
    for event in EVENTS:
        groups = hooks.get(event, [])
        _checked(groups, list, f"`hooks.{event}` in the settings")
    return settings


def _as_json(value: JsonObject, text: str | None) -> str:
    """Return the object as JSON in the layout of `text`, its indentation and line ends.

    It is `text` itself where that says the same.
    """
    text = _NEW if text is None else text
    before = _object(text)
    content = text.rstrip()
    indented = re.search(r"\n([ \t]*)\S", content)
    indent = "  " if not before else indented and indented[1]
    try:
        if value == before:
            return text
        after = json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)
        after.encode()
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"the file cannot be written again ({error}); repair it first, all is as it was"
        ) from error
    if "\r\n" in text:
        after = after.replace("\n", "\r\n")
    if text.startswith(_BYTE_ORDER_MARK):
        after = _BYTE_ORDER_MARK + after
    return after + text[len(content) :]


def _entries(group: object) -> list[Any]:
    """Return the entries of a group of hooks."""
    if not isinstance(group, dict):
        return []
    entries = group.get("hooks")
    return entries if isinstance(entries, list) else []


def _shell(entry: object) -> str | None:
    """Return the command of an entry of ours, None of any other."""
    if not isinstance(entry, dict):
        return None
    shell = entry.get("command")
    if isinstance(shell, str) and _OURS.search(shell):
        return shell
    return None


def _ours(settings: JsonObject, event: str) -> list[str]:
    """Return our commands under an event."""
    hooks = settings.get("hooks", {})
    shells: list[str] = []
    for group in hooks.get(event, []):
        for entry in _entries(group):
            shell = _shell(entry)
            if shell:
                shells.append(shell)
    return shells


def installed_commands(file: str) -> dict[str, list[str]]:
    """Return our commands in a settings file, by event.

    Raises:
        InvalidInput: The file has another form.
        StorageError: The file cannot be read.
    """
    settings = _settings(_read(Path(file).expanduser()))
    return {event: _ours(settings, event) for event in EVENTS}


def _strip(settings: JsonObject, event: str) -> None:
    """Take our entries out from under an event.

    A group, an event and `hooks` that held nothing else go with them.
    """
    if not _ours(settings, event):
        return
    hooks = settings["hooks"]
    groups = []
    for group in hooks[event]:
        entries = _entries(group)
        others = [entry for entry in entries if not _shell(entry)]
        if others:
            groups.append({**group, "hooks": others})
        elif not entries:  # it was empty before
            groups.append(group)
    hooks[event] = groups
    if not groups:
        del hooks[event]
    if not hooks:
        del settings["hooks"]


def _read(path: Path) -> str | None:
    """Return the file's text as it is, or None where there is none."""
    try:
        content = path.read_bytes()
        if content.startswith(_UTF16_MARKS):
            raise InvalidInput(
                f"{path} is in UTF-16; save it as UTF-8 first, nothing was changed"
            )
        return content.decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{path} is not JSON in UTF-8 ({error.reason}); nothing was changed"
        ) from error
    except OSError as error:
        raise StorageError(
            f"{path} cannot be read: {error.strerror}; name another file with --settings"
        ) from error


def _replace(path: Path, before: str | None, after: str | None) -> Path | None:
    """Write the file as a whole, or remove it.

    Returns:
        Where its former bytes are kept, None where there was no file.
    """
    if _read(path) != before:
        raise StorageError(
            f"{path} was changed by another program meanwhile; nothing was written, try again"
        )
    mode = None
    backup = None
    with writing(path, "the file is as it was"):
        path.parent.mkdir(parents=True, exist_ok=True)
        if before is not None:
            mode = path.stat().st_mode & 0o7777
            backup = _next_backup(path)
            write_atomically(backup, before.encode(), mode=mode)
        if after is None:
            path.unlink()
        else:
            write_atomically(path, after.encode(), mode=mode)
    return backup


def _next_backup(path: Path) -> Path:
    """Return where the former bytes of a file are kept: the next number beside it."""
    begin = f"{path.name}.theorex-backup-"
    newest = 0
    for other in path.parent.glob("*.theorex-backup-*"):
        end = other.name.removeprefix(begin)
        if end.isdecimal():
            newest = max(newest, int(end))
    return path.with_name(f"{begin}{newest + 1}")
