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

    from theorex_lab.journal.event import Event

DEFAULT_HOME = "~/.theorex"
DEFAULT_AGENT = "main"
CONTEXT_FILE = "SHARED_CONTEXT.md"
CONTEXTS_FOLDER = "contexts"
NO_PROJECT_FILE = "none.md"
CONFIG_FILE = "config.json"
LOG_FILE = "hook.log"
LARGEST_EVENT_BYTES = 16 << 20
LARGEST_CONTEXT_BYTES = 256 << 10
LARGEST_LOG_BYTES = 1 << 20
LARGEST_CONFIG_BYTES = 1 << 20


def main() -> NoReturn:
    """Take the event on standard input and end with 0."""
    import gc

    gc.disable()  # all that a hook makes it needs to its end; looking for what is left costs every start 1 ms
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
        return _show_context(home, event)
    from theorex_lab.memory.captured import BODIES

    if not isinstance(name, str) or name not in BODIES:
        return "an event with an unknown name was ignored"
    agent, problem = _agent()
    return problem or _capture(home, *BODIES[name], event, agent)


def _agent() -> tuple[str, str]:
    """Who the agent is, or what is wrong with its name."""
    from theorex_lab.errors import InvalidInput
    from theorex_lab.ids import check_agent

    try:
        return check_agent(os.environ.get("THEOREX_AGENT") or DEFAULT_AGENT), ""
    except InvalidInput as error:
        return "", f"THEOREX_AGENT: {error}"


def _capture(
    home: str, kind: str, body_of: Callable[[Mapping[str, Any]], dict[str, Any]], event: Mapping[str, Any], agent: str
) -> str:
    """Append what the event says; at the end of a session, see to what it leaves."""
    from theorex_lab.ids import session_of

    session, body = session_of(event.get("session_id")), body_of(event)
    keeps_messages = kind not in ("turn_ended", "session_ended") or _keeps_messages(home)
    if not keeps_messages and body.get("message"):
        body["message"] = ""
    from theorex_lab.journal.event import new_event

    _append(home, lambda at: new_event(kind, body, agent=agent, session=session, at=at))
    if kind == "session_ended" and session:
        from theorex_lab.memory.captured import transcript_of

        start_flush(home, agent, session, transcript_of(event) if keeps_messages else "")
    return ""


def _keeps_messages(home: str) -> bool:
    """The setting keepMessages; off too where the file of settings cannot be read, since what was wished is not known."""
    path = os.path.join(home, CONFIG_FILE)
    if not os.path.lexists(path):
        return True
    import json

    try:
        if not os.path.isfile(path):
            return False
        with open(path, "rb") as file:
            settings = json.loads(file.read(LARGEST_CONFIG_BYTES))
    except (OSError, ValueError, RecursionError):
        return False
    if not isinstance(settings, dict):
        return False
    return settings.get("keepMessages", settings.get("keep_messages", True)) is True


def start_flush(home: str, agent: str, session: str, transcript: str = "") -> None:
    """Start `theorex flush` for the session in a process of its own, which outlives this one and writes to the log."""
    import subprocess

    from theorex_lab.journal.private import open_private

    command = [sys.executable, "-m", "theorex_lab", "flush", "--session", session, "--agent", agent, "--home", home]
    command += ["--transcript", transcript] if transcript else []
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


def _append(home: str, made: Callable[[int], Event]) -> None:
    """Append one event to the home's journal; `made` makes it of the present time, in µs."""
    from theorex_lab.journal.sqlite.store import open_journal

    journal = open_journal(home)
    try:
        journal.append([made(journal.clock.now())])
    finally:
        journal.close()
    if journal.notice:
        _log(home, journal.notice)


def _show_context(home: str, event: Mapping[str, Any]) -> str:
    """Print the context of the agent's project, and note in the journal that it was given.

    A project without one gets what is of no project, and the context for all where none was rendered for a project.
    """
    from theorex_lab.memory.captured import project as project_of

    project = project_of(event)
    names = (f"{project}.md", NO_PROJECT_FILE) if project else ()
    paths = [*(os.path.join(home, CONTEXTS_FOLDER, name) for name in names), os.path.join(home, CONTEXT_FILE)]
    path = next(filter(os.path.isfile, paths), "")
    if not path:
        return ""
    with open(path, "rb") as file:
        text = file.read(LARGEST_CONTEXT_BYTES + 1)
    if len(text) > LARGEST_CONTEXT_BYTES:
        text = text[: text.rfind(b"\n", 0, LARGEST_CONTEXT_BYTES) + 1]
        _log(home, f"{os.path.basename(path)} is larger than {LARGEST_CONTEXT_BYTES} bytes and was cut")
    # Straight to the file: what Python buffers, it writes when it ends, and a closed pipe then changes the exit code.
    rest = text
    while rest:
        rest = rest[os.write(1, rest) :]
    return _note_recalled(home, event, path, text, project) if text else ""


def _note_recalled(home: str, event: Mapping[str, Any], path: str, text: bytes, project: str) -> str:
    from theorex_lab.ids import session_of
    from theorex_lab.memory.recalled import given_of, recalled_event

    agent, problem = _agent()
    if problem:
        return problem
    session, (items, tokens) = session_of(event.get("session_id")), given_of(path, text)
    _append(
        home,
        lambda at: recalled_event(
            "session_start", items=items, tokens=tokens, agent=agent, session=session, project=project, at=at
        ),
    )
    return ""


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
