"""Make the body of a raw event of what an agent's hook event says.

Standard library only: each tool call waits for it.

The events are those of Claude Code's public hook reference
(https://code.claude.com/docs/en/hooks): PostToolUse "runs immediately after a tool
completes successfully", PostToolUseFailure brings `error` and `is_interrupt` in place
of a response, Stop and SubagentStop bring `last_assistant_message`, PreCompact
`trigger`, and each `cwd` and `session_id`.
"""

# Paths are texts here: importing pathlib would cost every start 5 ms.
from __future__ import annotations

import os

from theorex_lab.core.remembering import remembered
from theorex_lab.journal.event import paths_by_use, tool_key
from theorex_lab.text.redact.masking import mask
from theorex_lab.text.redact.preview import masked_start, preview

# what type checkers take for true; importing `typing` for it would cost every start 5
# ms
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
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
_MOST_TOOLS = 256  # whose names are remembered
_MOST_LISTED = 200  # paths of one call
_MOST_PATHS = 2_000  # that a folder remembers
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
_ERROR_SIGNS = ("is_error", "isError", "interrupted")
_STATING_FAILURE = frozenset({*_ERROR_SIGNS, *_EXIT_CODES, "success", "status"})
_DONE = frozenset(
    {"ok", "success", "succeeded", "completed", "complete", "done", "finished"}
)
_FAILED = frozenset(
    "error failed failure cancelled canceled interrupted killed timeout timed_out".split()
)


def folder_of(event: HookEvent) -> str:
    """Return the folder that the agent works in.

    It is '' where the event names no absolute folder that a system could have.
    """
    from theorex_lab.core.project import is_folder_name

    folder = event.get("cwd")
    if not isinstance(folder, str) or len(folder) > _PATH_CHARACTERS:
        return ""
    if not is_folder_name(folder):
        return ""
    if folder.encode(errors="ignore").decode() != folder:
        return ""  # it has lone surrogates
    return folder


class WorkingFolder:
    """Where an agent works.

    Attributes:
        folder: The folder as the agent's event names it.
        project: The project of its repository.
        real: The folder without links.
        root: The root of its checkout.
        plain_paths: By name, the paths in the project that tools were given.
    """

    __slots__ = ("folder", "plain_paths", "project", "real", "root")

    def __init__(
        self, folder: str, project: str = "", name_project: ProjectNamer | None = None
    ) -> None:
        """Look at a folder in the file system.

        Args:
            folder: The folder. With '', or where it cannot be looked at, only `project`
                is known.
            project: The project where the folder does not tell it.
            name_project: Gives the project's name for a repository; by default that of
                its path alone.
        """
        self.folder = folder
        self.plain_paths: dict[str, str] = {}
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
        if name_project is None:
            self.project = project_by_path(repository.root)
        else:
            self.project = name_project(repository)


def project(event: HookEvent) -> str:
    """Return the project of the folder that the agent works in.

    It is '' where there is none or the folder cannot be looked at.
    """
    return WorkingFolder(folder_of(event)).project


def tool_used(event: HookEvent, folder: WorkingFolder | None = None) -> Body:
    """Return the body of a tool call, done or failed.

    It holds the tool's name, previews, `ok`, the project's paths that it read and
    edited, and its command.
    """
    folder = folder or WorkingFolder(folder_of(event))
    tool_input = event.get("tool_input")
    response = event.get("tool_response")
    if response is None:
        response = event.get("error")
    tool = _tool_name(event.get("tool_name"))
    command = _command(tool, tool_input, folder)
    return {
        "tool": tool,
        "input": preview(tool_input, INPUT_CHARACTERS),
        "response": preview(response, RESPONSE_CHARACTERS),
        "source": "tool",
        "ok": succeeded(event),
        "paths": _paths(tool, tool_input, folder),
        "command": command,
        **_moved(tool, tool_input, folder),
        "project": folder.project,
    }


def _tool_name(name: object) -> str:
    """Return the name of a tool, masked and cut; most calls are of the same few."""
    if isinstance(name, str) and len(name) <= TOOL_CHARACTERS:
        return _short_tool_name(name)
    return preview(name, TOOL_CHARACTERS)


@remembered(_MOST_TOOLS)
def _short_tool_name(name: str) -> str:
    """Return the name of a tool, masked."""
    return preview(name, TOOL_CHARACTERS)


def succeeded(event: HookEvent) -> bool | None:
    """Return whether the tool did its work; None where the event leaves that open.

    Only what the event itself states counts.

    A failure stated anywhere counts. A response that states nothing is one of a tool
    that succeeded, since PostToolUse is sent for no other. A response of what still
    runs in the background leaves it open. No prose is read.

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
    if name == FAILURE:
        return False
    if isinstance(event, dict) and _states_failure(event):
        return False
    if isinstance(response, dict):
        if _states_failure(response):
            return False
        return None if _is_running(response) else True
    return True if name == "PostToolUse" else None


def _is_running(response: HookEvent) -> bool:
    """Return whether a response is of what still runs."""
    if response.get("backgroundTaskId"):
        return True
    status = response.get("status")
    return isinstance(status, str) and status.lower() not in _DONE


def _states_failure(signs: HookEvent) -> bool:
    """Return whether an event or a response states a failure."""
    if _STATING_FAILURE.isdisjoint(signs):
        return False
    for name in _ERROR_SIGNS:
        if signs.get(name) is True:
            return True
    for name in _EXIT_CODES:
        code = signs.get(name)
        if isinstance(code, int) and code != 0:
            return True
    if signs.get("success") is False:
        return True
    status = signs.get("status")
    return isinstance(status, str) and status.lower() in _FAILED


def _paths(
    tool: str, tool_input: object, folder: WorkingFolder
) -> dict[str, list[str]]:
    """Return the project's paths in a tool's input, by what the tool does to them.

    They lead from the root of the agent's checkout.
    """
    names = _named_paths(tool, tool_input)
    if not names:
        return paths_by_use(tool, ())
    paths = dict.fromkeys(_plain_path(name, folder) for name in names)
    paths.pop("", None)
    return paths_by_use(tool, list(paths))


def _plain_path(name: object, folder: WorkingFolder) -> str:
    """Return the path from the project's root; '' also for one that holds a secret.

    A session names the same paths again and again: its folder remembers them.
    """
    if not isinstance(name, str):
        return ""
    path = folder.plain_paths.get(name)
    if path is None:
        path = _in_project(name, folder)
        if mask(path) != path:
            path = ""
        is_short = len(name) <= _PATH_CHARACTERS
        if is_short and len(folder.plain_paths) < _MOST_PATHS:
            folder.plain_paths[name] = path
    return path


def _named_paths(tool: str, tool_input: object) -> list[object]:
    """Return paths as a tool's input names them.

    They stand in members of their own or in the lines of a patch that say what it is
    for.
    """
    members = tool_input if isinstance(tool_input, dict) else {}
    paths = _values_of(members, _PATH_MEMBERS)
    for name in _PATH_LISTS:
        if isinstance(members.get(name), list):
            paths += members[name][:_MOST_LISTED]
    key = tool_key(tool)
    if key in _MOVERS:
        paths += _values_of(members, _MOVE_MEMBERS)
    if key == "applypatch":
        paths += _patched_paths(tool_input)
    return paths


def _values_of(members: dict[str, Any], names: Iterable[str]) -> list[object]:
    """Return the values of those of these members that an object has."""
    return [members[name] for name in names if name in members]


def _patched_paths(tool_input: object) -> list[str]:
    """Return the paths that a patch says that it is for."""
    import re

    pattern = r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.{1,4096})$"
    paths = []
    for text in _patches(tool_input):
        for path in re.findall(pattern, text, re.MULTILINE):
            paths.append(path.removesuffix("\r"))
    return paths


def _patches(tool_input: object) -> list[str]:
    """Return the texts of a tool's input that may be patches.

    They are cut where they are long.
    """
    members = tool_input if isinstance(tool_input, dict) else {}
    texts = (tool_input, *members.values())
    return [text[:_PATCH_CHARACTERS] for text in texts if isinstance(text, str)]


def _moved(tool: str, tool_input: object, folder: WorkingFolder) -> Body:
    """Return what shows which files a tool moved or removed.

    For a command that may do so it is the folder in which the command began, from the
    project's root. For a patch, and for a tool that moves a file, it is [old path, new
    path] each, with '' for a removed file.
    """
    key = tool_key(tool)
    if key in _SHELLS:
        return _start_folder(_given_command(tool_input), folder)
    if key in _MOVERS and isinstance(tool_input, dict):
        old_path, new_path = (
            _in_project(tool_input.get(name), folder) for name in _MOVE_MEMBERS
        )
        return {"moves": [[old_path, new_path]]} if old_path else {}
    if key != "applypatch":
        return {}
    moves: list[list[str]] = []
    for patch in _patches(tool_input):
        moves += _moves_of(patch, folder)
    return {"moves": moves} if moves else {}


def _start_folder(command: str, folder: WorkingFolder) -> Body:
    """Return the folder from the project's root, for a command that may move files."""
    lowered = command.lower()
    if not folder.root or not any(word in lowered for word in _NAMING):
        return {}
    if not f"{folder.real}/".startswith(f"{folder.root}/"):
        return {}
    return {"folder": folder.real[len(folder.root) :].strip("/")}


def _moves_of(patch: str, folder: WorkingFolder) -> list[list[str]]:
    """Return old and new path of each file that a patch moves or deletes."""
    import re

    pattern = r"^\*\*\* (Add File|Update File|Delete File|Move to): (.{1,4096})$"
    moves: list[list[str]] = []
    updated_path = ""  # of the line before, where it says Update File
    for operation, name in re.findall(pattern, patch, re.MULTILINE):
        path = _in_project(name.removesuffix("\r"), folder)
        if operation == "Move to" and updated_path:
            moves.append([updated_path, path])
        elif operation == "Delete File" and path:
            moves.append([path, ""])
        updated_path = path if operation == "Update File" else ""
    return moves


def _in_project(path: object, folder: WorkingFolder) -> str:
    """Return the path from the project's root.

    A relative path starts at the folder, which may itself be named through a link.
    """
    from theorex_lab.text.paths import leads_elsewhere, project_path

    if not isinstance(path, str) or not path or "\0" in path or not folder.root:
        return project_path(path)
    if not os.path.isabs(folder.root):
        return project_path(_inside_windows(path, folder))
    if not path.startswith("/"):
        inside = "" if leads_elsewhere(path) else os.path.join(folder.real, path)
        return project_path(inside, folder.root)
    named_folder = os.path.normpath(folder.folder).rstrip("/") + "/"
    if path.startswith(named_folder):
        path = os.path.join(folder.real, path[len(named_folder) :])
    return project_path(path, folder.root)


def _inside_windows(path: str, folder: WorkingFolder) -> str:
    """Return the path from the root of a folder of Windows that is read elsewhere.

    It has slashes, and is '' where it leads out of the root.
    """
    import ntpath

    whole = ntpath.normpath(ntpath.join(folder.folder, path))
    start = folder.root.rstrip("\\") + "\\"
    if not ntpath.normcase(whole).startswith(ntpath.normcase(start)):
        return ""
    return whole[len(start) :].replace("\\", "/")


def _command(tool: str, tool_input: object, folder: WorkingFolder) -> str:
    """Return the command that a tool ran, masked.

    The project's paths lead from its root; those that lead out of it are left out.
    """
    command = _given_command(tool_input) if tool_key(tool) in _SHELLS else ""
    if not command:
        return ""
    from theorex_lab.text.paths import without_far_paths

    text = masked_start(command, 4 * COMMAND_CHARACTERS)
    text = _without_root(text, folder.root)
    return preview(without_far_paths(text), COMMAND_CHARACTERS)


def _given_command(tool_input: object) -> str:
    """Return the command in what a shell was given, whole; '' where there is none."""
    members = tool_input if isinstance(tool_input, dict) else {}
    command = _command_member(members)
    if isinstance(command, list):
        command = " ".join(word for word in command if isinstance(word, str))
    return command if isinstance(command, str) else ""


def _command_member(members: dict[str, Any]) -> object:
    """Return the member of a tool's input that holds a command, None without one."""
    for name in _COMMAND_MEMBERS:
        if name in members:
            return members[name]
    return None


def _without_root(text: str, root: str) -> str:
    """Return a command with the paths below a root cut to what follows the root."""
    if not root:
        return text
    if not os.path.isabs(root):
        import re

        start = re.escape(root.rstrip("\\")).replace(r"\\", r"[\\/]")
        pattern = rf"(?<![\w.@+:/\\~-]){start}[\\/]"
        return re.sub(pattern, "", text, flags=re.IGNORECASE)
    from theorex_lab.text.paths import without_root_path

    return without_root_path(text, root)


def running_trace() -> str:
    """Return the trace that the agent was started for whose hook runs now.

    It is '' where there is none or its id is outside the rule.
    """
    trace_id = os.environ.get("THEOREX_TRACE_ID", "")
    if not trace_id:
        return ""
    from theorex_lab.core.errors import InvalidInput
    from theorex_lab.core.ids import check_session

    try:
        return check_session(trace_id)
    except InvalidInput:
        return ""


def prompt(event: HookEvent, folder: WorkingFolder | None = None) -> Body:
    """Return the body of what a person asked."""
    text = preview(event.get("prompt"), PROMPT_CHARACTERS)
    return {"text": text, "source": "user", "project": _project(event, folder)}


def turn_ended(event: HookEvent, folder: WorkingFolder | None = None) -> Body:
    """Return the body of the end of an answer.

    It holds the last message where the event has it.

    subagent tells a helper's answer from the agent's. transcript_bytes is how large the
    agent's transcript is by then, where that is known.
    """
    is_subagent = event.get("hook_event_name") == "SubagentStop"
    body: Body = {
        "message": preview(event.get("last_assistant_message"), MESSAGE_CHARACTERS),
        "source": "agent",
        "subagent": is_subagent,
        "project": _project(event, folder),
    }
    if not is_subagent:
        size = _transcript_bytes(event)
        if size is not None:
            body["transcript_bytes"] = size
    return body


def _transcript_bytes(event: HookEvent) -> int | None:
    """Return the size of the transcript that the event names.

    It is None where the transcript cannot be looked at.
    """
    path = event.get("transcript_path")
    if not isinstance(path, str) or "\0" in path or len(path) > _PATH_CHARACTERS:
        return None
    path = os.path.expanduser(path)
    try:
        return os.stat(path).st_size if os.path.isabs(path) else None
    except (OSError, UnicodeEncodeError):  # it is not there, or not ours to look at
        return None


def compacting(event: HookEvent, folder: WorkingFolder | None = None) -> Body:
    """Return the body of a context that is about to be summarized.

    It says what called for that.
    """
    return {
        "trigger": preview(event.get("trigger"), TRIGGER_CHARACTERS),
        "project": _project(event, folder),
    }


def session_ended(event: HookEvent, folder: WorkingFolder | None = None) -> Body:
    """Return the body of the end of a session."""
    return {"project": _project(event, folder)}


def _project(event: HookEvent, folder: WorkingFolder | None) -> str:
    """Return the project of a folder; that of the event's folder where it is None."""
    return project(event) if folder is None else folder.project


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
