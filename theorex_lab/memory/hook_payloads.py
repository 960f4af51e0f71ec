"""What an agent's hook event says, as the body of a raw event. Standard library only:
each tool call waits for it.

The events are those of Claude Code's public hook reference
(https://code.claude.com/docs/en/hooks): PostToolUse "runs immediately after a tool
completes successfully", PostToolUseFailure brings `error` and `is_interrupt` in place
of a response, Stop and SubagentStop bring `last_assistant_message`, PreCompact
`trigger`, and each `cwd` and `session_id`.
"""

# Paths are texts here: importing pathlib would cost every start 5 ms.
from __future__ import annotations

import os

from theorex_lab.text.redact.preview import masked_start, preview

# what type checkers take for true; importing `typing` for it would cost every start 5
# ms
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from theorex_lab.core.project import Repository

    HookEvent = Mapping[str, Any]
    ProjectNamer = Callable[[Repository], str]
    Body = dict[str, Any]

FAILURE = "PostToolUseFailure"
TOOL_CHARACTERS = 128
INPUT_CHARACTERS = 300
RESPONSE_CHARACTERS = 500
COMMAND_CHARACTERS = 1_000
PROMPT_CHARACTERS = 6_000
MESSAGE_CHARACTERS = 4_000
TRIGGER_CHARACTERS = 32
_PATH_CHARACTERS = 4_096
_PATCH_CHARACTERS = 1 << 18
_PATH_MEMBERS = ("file_path", "path", "notebook_path", "filePath", "relative_path")
_MOVE_MEMBERS = ("source", "destination")  # of a tool that moves a file
_PATH_LISTS = ("paths",)
_MOST_LISTED = 200  # paths of one call
_COMMAND_MEMBERS = ("command", "cmd")
# Tools that run a command, their names folded as `tool_key` does.
_SHELLS = frozenset(
    (
        "bash bashtool exec execcommand executecommand localshell powershell runcommand"
        " runshellcommand runterminalcmd runinterminal shell shellcommand terminal"
    ).split()
)
# One of these stands in every command that moves, removes, brings back or makes a file;
# see `text.file_moves`.
_NAMING = (
    "mv",
    "rm",
    "unlink",
    "rimraf",
    "trash",
    "mkdir",
    "restore",
    "checkout",
    "move",
    "ren",
    "del",
    "erase",
    "rd",
    "mi",
    "rni",
    "ri",
)
_MOVERS = frozenset({"movefile", "renamefile"})
_EXIT_CODES = ("exit_code", "exitCode", "returnCode", "return_code", "returncode")
_DONE = frozenset(
    {"ok", "success", "succeeded", "completed", "complete", "done", "finished"}
)
_FAILED = frozenset(
    "error failed failure cancelled canceled interrupted killed timeout timed_out".split()
)


def folder_of(event: HookEvent) -> str:
    """The folder that the agent works in; '' where the event names no absolute one that
    a system could have.
    """
    from theorex_lab.core.project import is_folder_name

    folder = event.get("cwd")
    if (
        not isinstance(folder, str)
        or len(folder) > _PATH_CHARACTERS
        or not is_folder_name(folder)
    ):
        return ""
    return (
        folder if folder.encode(errors="ignore").decode() == folder else ""
    )  # no lone surrogates


class WorkingFolder:
    """Where an agent works. folder: as its event names it.  real: the same without
    links.  root: of its checkout.
    """

    __slots__ = ("folder", "project", "real", "root")

    def __init__(
        self, folder: str, project: str = "", named: ProjectNamer | None = None
    ) -> None:
        """What the file system says of a folder; with '', or where it cannot be looked
        at, only `project` is known.

        named: gives the project's name for a repository; by default that of its path
        alone.
        """
        self.folder = folder
        self.real = ""
        self.root = ""
        self.project = project
        if not folder:
            return
        from theorex_lab.core.project import (
            checkout_root,
            project_by_path,
            repository_of,
        )

        try:
            self.root = checkout_root(folder)
            self.real = os.path.realpath(folder) if os.path.isabs(folder) else folder
            repository = repository_of(self.root)
        except OSError:
            return
        self.project = (
            project_by_path(repository.root) if named is None else named(repository)
        )


def project(event: HookEvent) -> str:
    """The project of the folder that the agent works in, '' where there is none or the
    folder cannot be looked at.
    """
    return WorkingFolder(folder_of(event)).project


def tool_used(event: HookEvent, place: WorkingFolder | None = None) -> Body:
    """Of a tool call, done or failed: its name, previews, `ok`, the project's paths it
    read and edited, its command.
    """
    given = event.get("tool_input")
    place = place or WorkingFolder(folder_of(event))
    response = (
        event.get("error")
        if event.get("tool_response") is None
        else event["tool_response"]
    )
    name = preview(event.get("tool_name"), TOOL_CHARACTERS)
    trace_id = _trace_id()
    texts = {
        "input": preview(given, INPUT_CHARACTERS),
        "response": preview(response, RESPONSE_CHARACTERS),
    }
    command = _command(name, given, place)
    did = {
        "ok": succeeded(event),
        "paths": _paths(name, given, place),
        "command": command,
    }
    started_for = {"trace_id": trace_id} if trace_id else {}
    moved = _moved(name, given, place)
    return {
        "tool": name,
        **texts,
        "source": "tool",
        **did,
        **moved,
        "project": place.project,
        **started_for,
    }


def succeeded(event: HookEvent) -> bool | None:
    """Whether the tool did its work, by what the event itself states; None where it
    leaves that open.

    A failure stated anywhere counts. A response that states nothing is one of a tool
    that succeeded, since PostToolUse is sent for no other; one that is still running in
    the background leaves it open. No prose is read.

    >>> succeeded(
    ...     {
    ...         "hook_event_name": "PostToolUse",
    ...         "tool_response": {"stdout": "Error!", "exit_code": 0},
    ...     }
    ... )
    True
    >>> succeeded(
    ...     {
    ...         "hook_event_name": "PostToolUse",
    ...         "tool_response": {"success": True, "exitCode": 2},
    ...     }
    ... )
    False
    """
    name = event.get("hook_event_name")
    response = event.get("tool_response")
    stated = [signs for signs in (event, response) if isinstance(signs, dict)]
    if name == FAILURE or any(_states_failure(signs) for signs in stated):
        return False
    if isinstance(response, dict):
        status = response.get("status")
        running = response.get("backgroundTaskId") or (
            isinstance(status, str) and status.lower() not in _DONE
        )
        return None if running else True
    return True if name == "PostToolUse" else None


def _states_failure(signs: HookEvent) -> bool:
    status = signs.get("status")
    flags = any(
        signs.get(name) is True for name in ("is_error", "isError", "interrupted")
    )
    codes = any(
        isinstance(code := signs.get(name), int) and code != 0 for name in _EXIT_CODES
    )
    return (
        flags
        or codes
        or signs.get("success") is False
        or (isinstance(status, str) and status.lower() in _FAILED)
    )


def _paths(tool: str, given: object, place: WorkingFolder) -> dict[str, list[str]]:
    """The project's paths in a tool's input, from the root of the agent's checkout, by
    what the tool does to them.
    """
    from theorex_lab.journal.event import paths_by_use

    if not (named := _named(tool, given)):
        return paths_by_use(tool, ())
    from theorex_lab.text.redact.masking import mask

    found = [_in_project(path, place) for path in named]
    return paths_by_use(
        tool, [path for path in dict.fromkeys(found) if path and mask(path) == path]
    )


def _named(tool: str, given: object) -> list[object]:
    """Paths as a tool's input names them, in members of their own or in the lines of a
    patch that say what it is for.
    """
    members = given if isinstance(given, dict) else {}
    named = [members[name] for name in _PATH_MEMBERS if name in members]
    listed = (members.get(name) for name in _PATH_LISTS)
    named += [
        path
        for paths in listed
        if isinstance(paths, list)
        for path in paths[:_MOST_LISTED]
    ]
    from theorex_lab.journal.event import tool_key

    if tool_key(tool) in _MOVERS:
        named += [members[name] for name in _MOVE_MEMBERS if name in members]
    if tool_key(tool) == "applypatch":
        import re

        for text in (given, *members.values()):
            if isinstance(text, str):
                lines = r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.{1,4096})$"
                found = re.findall(lines, text[:_PATCH_CHARACTERS], re.MULTILINE)
                named += [path.removesuffix("\r") for path in found]
    return named


def _moved(tool: str, given: object, place: WorkingFolder) -> Body:
    """What tells of files that a tool moved or removed: of a command that may the
    folder that it began in, from the root; of a patch, and of a tool that moves a file,
    [old path, new path] each, '' for a file that is gone.
    """
    from theorex_lab.journal.event import tool_key

    key = tool_key(tool)
    if key in _SHELLS:
        command = _given_command(given).lower()
        if not any(word in command for word in _NAMING):
            return {}
        is_inside = bool(place.root) and f"{place.real}/".startswith(f"{place.root}/")
        return {"folder": place.real[len(place.root) :].strip("/")} if is_inside else {}
    if key in _MOVERS and isinstance(given, dict):
        old, new = (_in_project(given.get(name), place) for name in _MOVE_MEMBERS)
        return {"moves": [[old, new]]} if old else {}
    if key != "applypatch":
        return {}
    import re

    members = given if isinstance(given, dict) else {}
    moves: list[list[str]] = []
    for text in (given, *members.values()):
        if not isinstance(text, str):
            continue
        old = ""
        lines = r"^\*\*\* (Add File|Update File|Delete File|Move to): (.{1,4096})$"
        for what, path in re.findall(lines, text[:_PATCH_CHARACTERS], re.MULTILINE):
            shown = _in_project(path.removesuffix("\r"), place)
            if what == "Move to" and old:
                moves.append([old, shown])
            elif what == "Delete File" and shown:
                moves.append([shown, ""])
            old = shown if what == "Update File" else ""
    return {"moves": moves} if moves else {}


def _in_project(path: object, place: WorkingFolder) -> str:
    """The path from the project's root: a relative one starts at the folder, which may
    itself be named through a link.
    """
    from theorex_lab.text.paths import leads_elsewhere, project_path

    if not isinstance(path, str) or not path or "\0" in path or not place.root:
        return project_path(path)
    if not os.path.isabs(place.root):
        return project_path(_inside_windows(path, place))
    if not path.startswith("/"):
        inside = "" if leads_elsewhere(path) else os.path.join(place.real, path)
        return project_path(inside, place.root)
    inside = os.path.normpath(place.folder).rstrip("/") + "/"
    if path.startswith(inside):
        path = os.path.join(place.real, path[len(inside) :])
    return project_path(path, place.root)


def _inside_windows(path: str, place: WorkingFolder) -> str:
    """The path from the root of a folder of Windows that is read elsewhere, with
    slashes; '' where it leads out of it.
    """
    import ntpath

    whole = ntpath.normpath(ntpath.join(place.folder, path))
    start = place.root.rstrip("\\") + "\\"
    is_inside = ntpath.normcase(whole).startswith(ntpath.normcase(start))
    return whole[len(start) :].replace("\\", "/") if is_inside else ""


def _command(tool: str, given: object, place: WorkingFolder) -> str:
    """The command that a tool ran, masked, with the project's paths from its root and
    without those that lead out of it.
    """
    from theorex_lab.journal.event import tool_key

    command = _given_command(given) if tool_key(tool) in _SHELLS else ""
    if not command:
        return ""
    from theorex_lab.text.paths import without_far_paths

    text = masked_start(command, 4 * COMMAND_CHARACTERS)
    if place.root and not os.path.isabs(place.root):
        import re

        start = re.escape(place.root.rstrip("\\")).replace(r"\\", r"[\\/]")
        text = re.sub(rf"(?<![\w.@+:/\\~-]){start}[\\/]", "", text, flags=re.IGNORECASE)
    elif place.root and place.root in text:
        import re

        text = re.sub(
            rf"(?<![\w.@+:/~-]){re.escape(place.root)}/(?=[^\s\"'`;&|)])", "", text
        )
        text = re.sub(
            rf"(?<![\w.@+:/~-]){re.escape(place.root)}/?(?![\w.@+/-])", ".", text
        )
    return preview(without_far_paths(text), COMMAND_CHARACTERS)


def _given_command(given: object) -> str:
    """The command in what a shell was given, whole; '' where there is none."""
    members = given if isinstance(given, dict) else {}
    command = next(
        (members[name] for name in _COMMAND_MEMBERS if name in members), None
    )
    if isinstance(command, list):
        command = " ".join(word for word in command if isinstance(word, str))
    return command if isinstance(command, str) else ""


def _trace_id() -> str:
    """The trace that the agent was started for, '' where there is none or its id is
    outside the rule.
    """
    from theorex_lab.core.errors import InvalidInput
    from theorex_lab.core.ids import check_session

    try:
        return check_session(os.environ.get("THEOREX_TRACE_ID", ""))
    except InvalidInput:
        return ""


def prompt(event: HookEvent, place: WorkingFolder | None = None) -> Body:
    """What a person asked."""
    text = preview(event.get("prompt"), PROMPT_CHARACTERS)
    return {"text": text, "source": "user", "project": _project(event, place)}


def turn_ended(event: HookEvent, place: WorkingFolder | None = None) -> Body:
    """The end of an answer, with the last message where the event has it; `subagent`
    tells a helper's from the agent's.

    transcript_bytes: how large the agent's transcript is by then, where that is known.
    """
    message = preview(event.get("last_assistant_message"), MESSAGE_CHARACTERS)
    subagent = event.get("hook_event_name") == "SubagentStop"
    body = {
        "message": message,
        "source": "agent",
        "subagent": subagent,
        "project": _project(event, place),
    }
    size = None if subagent else _transcript_bytes(event)
    return body if size is None else {**body, "transcript_bytes": size}


def _transcript_bytes(event: HookEvent) -> int | None:
    path = event.get("transcript_path")
    if not isinstance(path, str) or "\0" in path or len(path) > _PATH_CHARACTERS:
        return None
    path = os.path.expanduser(path)
    try:
        return os.stat(path).st_size if os.path.isabs(path) else None
    except (OSError, UnicodeEncodeError):  # it is not there, or not ours to look at
        return None


def compacting(event: HookEvent, place: WorkingFolder | None = None) -> Body:
    """That the context is about to be summarized, and what called for it."""
    return {
        "trigger": preview(event.get("trigger"), TRIGGER_CHARACTERS),
        "project": _project(event, place),
    }


def session_ended(event: HookEvent, place: WorkingFolder | None = None) -> Body:
    """The end of a session."""
    return {"project": _project(event, place)}


def _project(event: HookEvent, place: WorkingFolder | None) -> str:
    return project(event) if place is None else place.project


# Hook event -> the kind of event that it becomes, and what makes its body, of the event
# and of its place where that is
# known already. SessionStart becomes one only where something was shown.
BODIES: dict[str, tuple[str, Callable[..., Body]]] = {
    **dict.fromkeys(("PostToolUse", FAILURE), ("tool_used", tool_used)),
    "UserPromptSubmit": ("prompt", prompt),
    **dict.fromkeys(("Stop", "SubagentStop"), ("turn_ended", turn_ended)),
    "PreCompact": ("compacting", compacting),
    "SessionEnd": ("session_ended", session_ended),
}
