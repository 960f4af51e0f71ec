"""`theorex-hook`: one event of an agent, read from standard input, goes into the journal. Standard library only.

An agent starts this program for every tool call, so each module is imported in the branch that needs it, and
whatever goes wrong becomes a line in the home's `hook.log`: the agent always sees exit code 0.
"""

# Paths are texts here: importing pathlib would cost every start 5 ms.
from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # what type checkers take for true; importing `typing` for it would cost every start 5 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, BinaryIO, NoReturn

DEFAULT_HOME = "~/.theorex"
DEFAULT_AGENT = "main"
CONTEXT_FILE = "SHARED_CONTEXT.md"
LOG_FILE = "hook.log"
LARGEST_EVENT_BYTES = 16 << 20
LARGEST_CONTEXT_BYTES = 256 << 10
LARGEST_LOG_BYTES = 1 << 20
TOOL_CHARACTERS = 128
INPUT_CHARACTERS = 300
RESPONSE_CHARACTERS = 500
PROMPT_CHARACTERS = 2_000
_PATH_MEMBERS = ("file_path", "path", "notebook_path")
_DEEPEST_PREVIEW = 32
# How much further than a preview reaches its text is read, so that a secret at the cut is seen as one.
_LOOKAHEAD_CHARACTERS = 4_096


def main() -> NoReturn:
    """Take the event on standard input and end with 0."""
    run()
    # All is on disk; without tearing down the interpreter the process needs a tenth less time, and ends with 0 always.
    os._exit(0)


def run() -> None:
    """Take the event on standard input; raises nothing, what went wrong stands in `hook.log`."""
    home = DEFAULT_HOME
    try:
        home = os.path.abspath(os.path.expanduser(os.environ.get("THEOREX_HOME") or DEFAULT_HOME))
        problem = take(_read(sys.stdin.buffer), home)
    # The one place that catches everything: an agent must never be stopped by its memory, whatever broke in it.
    except BaseException as error:  # noqa: BLE001
        problem = _describe(error)
    if problem:
        _log(home, problem)


def take(payload: bytes | None, home: str) -> str:
    """Act on one event in Claude Code's hook form; `payload` is None where it was too large.

    Returns the problem in a few words that hold nothing of the payload, '' where there was none. Raises StorageError
    where the journal cannot be written, NewerVersion where it is a later release's, OSError from files.
    """
    if payload is None:
        return f"an event of more than {LARGEST_EVENT_BYTES} bytes was refused"
    import json

    try:
        event = json.loads(payload.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return "what came in is not JSON, or nested too deeply; it was refused"
    if not isinstance(event, dict):
        return "what came in is not a JSON object; it was refused"
    name = event.get("hook_event_name")
    if name == "SessionStart":
        return _show_context(home)
    if not isinstance(name, str) or name not in _BODIES:
        return "an event with an unknown name was ignored"
    from theorex_lab.errors import InvalidInput
    from theorex_lab.ids import check_agent

    try:
        agent = check_agent(os.environ.get("THEOREX_AGENT") or DEFAULT_AGENT)
    except InvalidInput as error:
        return f"THEOREX_AGENT: {error}"
    session = _session(event.get("session_id"))
    kind, body = _BODIES[name]
    _append(home, kind, body(event), agent, session)
    if name == "SessionEnd" and session:
        start_flush(home, agent, session)
    return ""


def start_flush(home: str, agent: str, session: str) -> None:
    """Start `theorex flush` for the session in a process of its own, which outlives this one and writes to the log."""
    import subprocess

    from theorex_lab.journal.private import open_private

    command = [sys.executable, "-m", "theorex_lab", "flush", "--session", session, "--agent", agent, "--home", home]
    with open(_log_path(home), "ab", opener=open_private) as log:
        # In the home, not in the agent's folder: `python -m` would import modules that lie there.
        subprocess.Popen(
            command,
            cwd=home,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            creationflags=getattr(subprocess, "DETACHED_PROCESS", 0),
        )


def _read(stream: BinaryIO) -> bytes | None:
    payload = stream.read(LARGEST_EVENT_BYTES + 1)
    if len(payload) <= LARGEST_EVENT_BYTES:
        return payload
    # Read to the end all the same: an agent that cannot finish writing may take that for a failure.
    while stream.read(1 << 20):
        pass
    return None


def _append(home: str, kind: str, body: dict[str, Any], agent: str, session: str) -> None:
    """Append one event to the home's journal, dated now."""
    from theorex_lab.journal.event import new_event
    from theorex_lab.journal.sqlite.store import open_journal

    journal = open_journal(home)
    try:
        journal.append([new_event(kind, body, agent=agent, session=session, at=journal.clock.now())])
    finally:
        journal.close()
    if journal.notice:
        _log(home, journal.notice)


def _session(given: object) -> str:
    """The session's id; one that the journal does not allow becomes a hash of it, the same each time."""
    from theorex_lab.errors import InvalidInput
    from theorex_lab.ids import check_session

    if given is None:
        return ""
    try:
        return check_session(given)  # type: ignore[arg-type]
    except InvalidInput:
        import hashlib
        import json

        return "hash-" + hashlib.sha256(json.dumps(given, sort_keys=True).encode()).hexdigest()[:32]


def _show_context(home: str) -> str:
    path = os.path.join(home, CONTEXT_FILE)
    if not os.path.isfile(path):
        return ""
    with open(path, "rb") as file:
        text = file.read(LARGEST_CONTEXT_BYTES + 1)
    problem = ""
    if len(text) > LARGEST_CONTEXT_BYTES:
        text = text[: text.rfind(b"\n", 0, LARGEST_CONTEXT_BYTES) + 1]
        problem = f"{CONTEXT_FILE} is larger than {LARGEST_CONTEXT_BYTES} bytes and was cut"
    # Straight to the file: what Python buffers, it writes when it ends, and a closed pipe then changes the exit code.
    while text:
        text = text[os.write(1, text) :]
    return problem


def _tool_used(event: Mapping[str, Any]) -> dict[str, Any]:
    body = {
        "tool": _preview(event.get("tool_name"), TOOL_CHARACTERS),
        "input": _preview(event.get("tool_input"), INPUT_CHARACTERS),
        "response": _preview(event.get("tool_response"), RESPONSE_CHARACTERS),
        "source": "tool",
    }
    paths, trace_id = _paths(event.get("tool_input"), event.get("cwd")), _trace_id()
    return {**body, **({"paths": paths} if paths else {}), **({"trace_id": trace_id} if trace_id else {})}


def _paths(given: object, folder: object) -> list[str]:
    """Paths of a tool's input that lie in the agent's working folder, relative to it."""
    if not isinstance(given, dict) or not any(name in given for name in _PATH_MEMBERS):
        return []
    from theorex_lab.text.masking import mask
    from theorex_lab.text.paths import shown_path

    found = [shown_path(given.get(name), folder) for name in _PATH_MEMBERS]
    return [path for path in dict.fromkeys(found) if path and mask(path) == path]


def _trace_id() -> str:
    """The trace that the agent was started for, '' where there is none or its id is outside the rule."""
    from theorex_lab.errors import InvalidInput
    from theorex_lab.ids import check_session

    try:
        return check_session(os.environ.get("THEOREX_TRACE_ID", ""))
    except InvalidInput:
        return ""


def _prompt(event: Mapping[str, Any]) -> dict[str, Any]:
    return {"text": _preview(event.get("prompt"), PROMPT_CHARACTERS), "source": "user"}


def _nothing(event: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG001
    return {}


_BODIES: dict[str, tuple[str, Callable[[Mapping[str, Any]], dict[str, Any]]]] = {
    "PostToolUse": ("tool_used", _tool_used),
    "UserPromptSubmit": ("prompt", _prompt),
    "Stop": ("turn_ended", _nothing),
    "SessionEnd": ("session_ended", _nothing),
}


def _preview(value: object, limit: int) -> str:
    """At most `limit` characters of a text or, of any other value, of its compact JSON; masked before it is cut."""
    if value is None:
        return ""
    if isinstance(value, str):
        text = _masked_start(value, limit)
    else:
        import json

        text = json.dumps(_trimmed(value, [limit], 0), ensure_ascii=False, separators=(",", ":"))
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    return text.encode("utf-8", "replace").decode()  # a lone surrogate, which the journal refuses, becomes ?


def _trimmed(value: object, budget: list[int], depth: int) -> object:
    """The value masked, with no more of it than the characters in `budget[0]` can show."""
    budget[0] -= 1
    if depth > _DEEPEST_PREVIEW:
        return "…"
    if isinstance(value, str):
        text = _masked_start(value, max(budget[0], 1))
        budget[0] -= len(text)
        return text
    if isinstance(value, list):
        items: list[object] = []
        for item in value:
            if budget[0] <= 0:
                break
            items.append(_trimmed(item, budget, depth + 1))
        return items
    if isinstance(value, dict):
        from theorex_lab.text.masking import MASK, is_secret_member

        members: dict[str, object] = {}
        for key, item in value.items():
            if budget[0] <= 0:
                break
            name = str(_trimmed(key, budget, depth))
            members[name] = MASK if is_secret_member(key, item) else _trimmed(item, budget, depth + 1)
        return members
    return value


def _masked_start(text: str, limit: int) -> str:
    """The masked text, or a start of it longer than `limit` that no secret at its end can reach into."""
    from theorex_lab.text.masking import mask
    from theorex_lab.text.visible import visible  # first, so that no hidden character splits a secret's name

    size = limit + 2 * _LOOKAHEAD_CHARACTERS
    while True:
        masked = mask(visible(text[:size]))
        if size >= len(text):
            return masked
        if len(masked) >= limit + _LOOKAHEAD_CHARACTERS:
            return masked[: limit + 1]
        size *= 4


def _describe(error: BaseException) -> str:
    """What broke and where; an error's own text only where it cannot hold any of the payload."""
    from theorex_lab.errors import NewerVersion, StorageError

    if isinstance(error, StorageError | NewerVersion):
        return f"{type(error).__name__}: {error}"
    if isinstance(error, OSError) and error.strerror:
        return f"{type(error).__name__}: {error.strerror}"
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    where = f" in {os.path.basename(step.tb_frame.f_code.co_filename)}, line {step.tb_lineno}" if step else ""
    return f"{type(error).__name__}{where}; the event was not taken"


def _log_path(home: str) -> str:
    """The log's path, after an overlong log was put aside."""
    path = os.path.join(home, LOG_FILE)
    try:
        if os.stat(path).st_size > LARGEST_LOG_BYTES:
            os.replace(path, f"{path}.1")
    except FileNotFoundError:
        pass  # no log yet, or another process has just put it aside
    return path


def _log(home: str, problem: str) -> None:
    """Write one line to the log, or to standard error where the home cannot be written."""
    from theorex_lab.clock import SystemClock, to_iso

    line = f"{to_iso(SystemClock().now())} {' '.join(problem.split())}\n".encode("utf-8", "replace")
    try:
        os.makedirs(home, mode=0o700, exist_ok=True)
        file = os.open(_log_path(home), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, line)
        finally:
            os.close(file)
    except OSError:
        from contextlib import suppress

        with suppress(OSError):
            os.write(2, b"theorex-hook: " + line)


if __name__ == "__main__":
    main()
