"""`theorex-hook` takes one event of an agent, read from standard input.

Standard library only. An agent starts this program for every tool call, so each module
is imported in the branch that needs it, and whatever goes wrong becomes a line in the
home's `hook.log`: the agent always sees exit code 0. What is done with an event stands
in `store.lifecycle`.
"""

# Paths are texts here: importing pathlib would cost every start 5 ms.
from __future__ import annotations

import os
import sys

# what type checkers take for true; importing `typing` for it would cost every start 5
# ms
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, BinaryIO, NoReturn

    HookEvent = Mapping[str, Any]

DEFAULT_HOME = "~/.theorex"
DEFAULT_AGENT = "main"
LARGEST_EVENT_BYTES = 16 << 20
OFF = "THEOREX_OFF"
STAMP_FILE = os.path.join("views", "rendering.stamp")


def main() -> NoReturn:
    """Take the event on standard input and end with 0."""
    import gc

    # all that a hook makes it needs to its end; looking for what is left costs every
    # start 1 ms
    gc.disable()
    run()
    # All is on disk; without tearing down the interpreter the process needs a tenth
    # less time, and ends with 0 always.
    os._exit(0)


def run() -> None:
    """Take the event on standard input.

    It raises nothing: what went wrong stands in `hook.log`. Where the environment says
    THEOREX_OFF=1, nothing is taken and nothing printed.
    """
    home = DEFAULT_HOME
    try:
        if os.environ.get(OFF, "") not in ("", "0"):
            _read(sys.stdin.buffer)
            return
        home = os.path.abspath(
            os.path.expanduser(os.environ.get("THEOREX_HOME") or DEFAULT_HOME)
        )
        problem = take(_read(sys.stdin.buffer), home)
    # The one place that catches everything: an agent must never be stopped by its
    # memory, whatever broke in it.
    except BaseException as error:  # noqa: BLE001
        from theorex_lab.app.hook_log import describe

        problem = describe(error)
    if problem:
        from theorex_lab.app.hook_log import log

        log(home, problem)


def take(payload: bytes | None, home: str) -> str:
    """Act on one event in Claude Code's hook form, by the steps of `store.lifecycle`.

    Args:
        payload: The event as JSON; None where it was too large.
        home: The folder of the home.

    Returns:
        The problem in a few words that hold nothing of the payload, '' where there was
        none.

    Raises:
        StorageError: The journal cannot be written.
        NewerVersion: The journal is a later release's.
        OSError: A file cannot be read or written.
    """
    if payload is None:
        return f"an event of more than {LARGEST_EVENT_BYTES} bytes was refused"
    from theorex_lab.core import light_json as json

    try:
        event = json.loads(
            payload.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
        )
    except (ValueError, RecursionError):
        return "what came in is not JSON, or nested too deeply; it was refused"
    if not isinstance(event, dict):
        return "what came in is not a JSON object; it was refused"
    if event.get("hook_event_name") == "SessionStart":
        return _start_session(home, event)
    return _take_event(home, event)


def _take_event(home: str, event: HookEvent) -> str:
    """Take an event of a session; at its end start what sees to what it leaves."""
    name = event.get("hook_event_name")
    from theorex_lab.memory.hook_payloads import BODIES

    if not isinstance(name, str) or name not in BODIES:
        return "an event with an unknown name was ignored"
    agent, problem = _agent()
    if problem:
        return problem
    from theorex_lab.store.lifecycle import SessionHome, take_event, take_prompt

    session_home = SessionHome(home)
    try:
        if name == "UserPromptSubmit":
            matches = take_prompt(session_home, event, agent=agent, give=_print)
            return "; ".join(matches.problems)
        captured = take_event(session_home, event, agent=agent)
    finally:
        session_home.close()
    if captured.kind in ("session_ended", "compacting") and captured.session:
        start_flush(home, agent, captured.session)
    return ""


def _start_session(home: str, event: HookEvent) -> str:
    """Print the briefing that a session starts with.

    A stale one is rendered again, for the next session.
    """
    from theorex_lab.store.lifecycle import SessionHome, start_session

    agent, agent_problem = _agent()
    session_home = SessionHome(home)
    try:
        briefing = start_session(session_home, event, agent=agent, give=_print)
    finally:
        session_home.close()
    problems = briefing.problems
    if briefing.text and agent_problem:
        problems.append(agent_problem)
    if problems:
        from theorex_lab.app.hook_log import log

        for problem in problems:
            log(home, problem)
    if briefing.is_stale:
        start_rendering(home, briefing.project)
    return ""


def _agent() -> tuple[str, str]:
    """Return who the agent is, or what is wrong with its name."""
    from theorex_lab.core.errors import InvalidInput
    from theorex_lab.core.ids import check_agent

    try:
        return check_agent(os.environ.get("THEOREX_AGENT") or DEFAULT_AGENT), ""
    except InvalidInput as error:
        return "", f"THEOREX_AGENT: {error}"


def start_flush(home: str, agent: str, session: str) -> None:
    """Start the end of the session in a process of its own.

    That process outlives this one, writes to the log, and takes the last step of the
    session: `designs.theorex.commands.flush` calls `store.lifecycle.end_session`.
    """
    _start(
        home, ["tiers", "flush", "--session", session, "--agent", agent, "--home", home]
    )


def start_rendering(home: str, project: str) -> None:
    """Start `theorex briefing --save` for the project in a process of its own.

    Nothing is started where one was within the last minutes.
    """
    from theorex_lab.store.lifecycle import RENDER_AFTER_SECONDS, is_older

    stamp = os.path.join(home, STAMP_FILE)
    if not is_older(stamp, RENDER_AFTER_SECONDS):
        return
    from pathlib import Path

    from theorex_lab.core.files import exclusive

    with exclusive(Path(f"{stamp}.lock"), wait=False) as is_locked:
        if not is_locked or not is_older(stamp, RENDER_AFTER_SECONDS):
            return
        Path(stamp).write_bytes(b"")
    scope = ["--project", project] if project else ["--all-projects"]
    _start(home, ["briefing", "--save", *scope, "--home", home])


def _start(home: str, words: list[str]) -> None:
    """Start a command of theorex that outlives this process and writes to the log."""
    from theorex_lab.app.hook_log import log_path
    from theorex_lab.core.files import open_private
    from theorex_lab.core.processes import start_in_background

    with open(log_path(home), "ab", opener=open_private) as log:
        start_in_background(words, home, log)


def _read(stream: BinaryIO) -> bytes | None:
    payload = stream.read(LARGEST_EVENT_BYTES + 1)
    if len(payload) <= LARGEST_EVENT_BYTES:
        return payload
    # Read to the end all the same: an agent that cannot finish writing may take that
    # for a failure.
    while stream.read(1 << 20):
        pass
    return None


def _print(text: bytes) -> None:
    # Straight to the file: what Python buffers, it writes when it ends, and a closed
    # pipe then changes the exit code.
    while text:
        text = text[os.write(1, text) :]


if __name__ == "__main__":
    main()
