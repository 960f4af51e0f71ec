"""`theorex-hook`: one event of an agent, read from standard input, goes into the
journal. Standard library only.

An agent starts this program for every tool call, so each module is imported in the
branch that needs it, and whatever goes wrong becomes a line in the home's `hook.log`:
the agent always sees exit code 0.
"""

# Paths are texts here: importing pathlib would cost every start 5 ms.
from __future__ import annotations

import os
import sys

# what type checkers take for true; importing `typing` for it would cost every start 5
# ms
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from sqlite3 import Connection
    from typing import Any, BinaryIO, NoReturn, TypeVar

    from theorex_lab.core.project import Repository
    from theorex_lab.journal.event import Event
    from theorex_lab.journal.sqlite.store import SqliteJournal
    from theorex_lab.memory.hook_payloads import WorkingFolder

    T = TypeVar("T")
    HookEvent = Mapping[str, Any]

DEFAULT_HOME = "~/.theorex"
DEFAULT_AGENT = "main"
CONTEXT_FILE = "SHARED_CONTEXT.md"
CONTEXTS_FOLDER = "contexts"
NO_PROJECT_FILE = "none.md"
CONFIG_FILE = "config.json"
LOG_FILE = "hook.log"
CACHE_FILE = "recall.db"
NOTHING_YET = (
    b"_Nothing is remembered yet."  # as a context says that has nothing to give
)
LARGEST_EVENT_BYTES = 16 << 20
LARGEST_CONTEXT_BYTES = 256 << 10
LARGEST_LOG_BYTES = 1 << 20
LARGEST_CONFIG_BYTES = 1 << 20
OFF = "THEOREX_OFF"
# Where the settings recallTokens and contextTokens are not set.
RECALL_TOKENS = 300
CONTEXT_TOKENS = 2_000
RENDER_AFTER_SECONDS = 300
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
    """Take the event on standard input; raises nothing, what went wrong stands in
    `hook.log`.

    Where the environment says THEOREX_OFF=1, nothing is taken and nothing printed.
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
        problem = _describe(error)
    if problem:
        _log(home, problem)


def take(payload: bytes | None, home: str) -> str:
    """Act on one event in Claude Code's hook form; `payload` is None where it was too
    large.

    Returns the problem in a few words that hold nothing of the payload, '' where there
    was none. Raises StorageError where the journal cannot be written, NewerVersion
    where it is a later release's, OSError from files.
    """
    if payload is None:
        return f"an event of more than {LARGEST_EVENT_BYTES} bytes was refused"
    import json

    try:
        event = json.loads(
            payload.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
        )
    except (ValueError, RecursionError):
        return "what came in is not JSON, or nested too deeply; it was refused"
    if not isinstance(event, dict):
        return "what came in is not a JSON object; it was refused"
    if (name := event.get("hook_event_name")) == "SessionStart":
        return _show_context(home, event)
    from theorex_lab.memory.hook_payloads import BODIES

    if not isinstance(name, str) or name not in BODIES:
        return "an event with an unknown name was ignored"
    agent, problem = _agent()
    return problem or _capture(home, *BODIES[name], event, agent)


def _agent() -> tuple[str, str]:
    """Return who the agent is, or what is wrong with its name."""
    from theorex_lab.core.errors import InvalidInput
    from theorex_lab.core.ids import check_agent

    try:
        return check_agent(os.environ.get("THEOREX_AGENT") or DEFAULT_AGENT), ""
    except InvalidInput as error:
        return "", f"THEOREX_AGENT: {error}"


def _capture(
    home: str,
    kind: str,
    body_of: Callable[..., dict[str, Any]],
    event: HookEvent,
    agent: str,
) -> str:
    """Append what the event says; at the end of a session, and before it is summarized,
    see to what it leaves.
    """
    from theorex_lab.core.ids import session_of

    session = session_of(event.get("session_id"))
    problem = ""
    journal = _open(home)
    from theorex_lab.journal.event import new_event
    from theorex_lab.memory.hook_payloads import WorkingFolder, folder_of

    try:
        folder = WorkingFolder(
            folder_of(event),
            name_project=lambda repository: _bound_project(home, journal, repository),
        )
        body = body_of(event, folder)
        if body.get("message") and _setting(home, "keepMessages", True) is not True:
            body["message"] = ""
        journal.append(
            [
                new_event(
                    kind, body, agent=agent, session=session, at=journal.clock.now()
                )
            ]
        )
        if kind == "prompt":
            problem = _remind(home, journal, body, agent, session)
    finally:
        journal.close()
    if kind in ("session_ended", "compacting") and session:
        start_flush(home, agent, session)
    return problem


def _bound_project(home: str, journal: SqliteJournal, repository: Repository) -> str:
    """Return the project of a folder; one that was never seen gets its id now."""
    from theorex_lab.journal.places import known_project

    project, places = known_project(home, repository)
    if project and places is not None and journal.holds_places(places):
        return project
    from theorex_lab.journal.identity import project_in

    project = project_in(journal, repository, bind=True)
    journal.keep_places()
    return project


def _seen_project(home: str, repository: Repository) -> str:
    """Return the project of a folder as far as it is known, and what stands for it
    where it is not; nothing is written.
    """
    from theorex_lab.journal.identity import project_in, unseen_project
    from theorex_lab.journal.places import Places, known_project, place_of
    from theorex_lab.journal.sqlite.opening import DATABASE_FILE

    project, _ = known_project(home, repository)
    if not project and not os.path.exists(os.path.join(home, DATABASE_FILE)):
        project = Places().project_at(place_of(repository))
    elif not project:
        journal = _open(home)
        try:
            project = project_in(journal, repository, bind=False)
        finally:
            journal.close()
    return project or unseen_project(repository)


def _remind(
    home: str, journal: SqliteJournal, body: Mapping[str, Any], agent: str, session: str
) -> str:
    """Print what is remembered that fits a prompt, if anything does, and note that it
    was given.
    """
    tokens = _setting(home, "recallTokens", RECALL_TOKENS)
    if type(tokens) is not int or _setting(home, "recallOnPrompt", True) is not True:
        return ""
    from theorex_lab.memory.briefing.prompt_matches import fitting, note_given, rendered

    query = body["text"]
    project = body["project"]

    def give(cache: Connection) -> None:
        text, items, n_tokens = rendered(
            fitting(cache, query, project, session), tokens
        )
        if text:
            _print(text.encode())
            subject = {"agent": agent, "session": session, "project": project}
            event = _recalled(
                "prompt", journal, items, n_tokens, query=query, **subject
            )
            note_given(cache, session, items, event.at)

    return _with_cache(home, give, None)[1]


def _with_cache(home: str, act: Callable[[Connection], T], nothing: T) -> tuple[T, str]:
    """Return what is made of the cache of reminders, and '' or what is wrong with it;
    nothing where there is none.
    """
    path = os.path.join(home, CACHE_FILE)
    if not os.path.exists(path):
        return nothing, ""
    import sqlite3

    from theorex_lab.memory.briefing.prompt_matches import cache_at

    try:
        with cache_at(path) as cache:
            return act(cache), ""
    except sqlite3.Error as error:
        return nothing, f"{CACHE_FILE}: {error}; the next flush or night rebuilds it"


def _recalled(
    trigger: str, journal: SqliteJournal, items: list[str], tokens: int, **about: str
) -> Event:
    from theorex_lab.memory.context_served import recalled_event

    event = recalled_event(
        trigger, items=items, tokens=tokens, at=journal.clock.now(), **about
    )
    journal.append([event])
    return event


def _setting(home: str, name: str, default: object) -> object:
    """Return a setting as config.json has it; None where the file cannot be read, since
    what was wished is not known then.
    """
    path = os.path.join(home, CONFIG_FILE)
    if not os.path.lexists(path):
        return default
    import json

    try:
        if not os.path.isfile(path):
            return None
        with open(path, "rb") as file:
            settings = json.loads(file.read(LARGEST_CONFIG_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(settings, dict):
        return None
    snake = "".join(
        f"_{letter.lower()}" if letter.isupper() else letter for letter in name
    )
    return settings.get(name, settings.get(snake, default))


def start_flush(home: str, agent: str, session: str) -> None:
    """Start `theorex flush` for the session in a process of its own, which outlives
    this one and writes to the log.
    """
    _start(home, ["flush", "--session", session, "--agent", agent, "--home", home])


def start_rendering(home: str, project: str) -> None:
    """Start `theorex boot-inject` for the project in a process of its own, unless one
    was started within the last minutes.
    """
    stamp = os.path.join(home, STAMP_FILE)
    if not _is_old(stamp):
        return
    from pathlib import Path

    from theorex_lab.core.files import exclusive

    with exclusive(Path(f"{stamp}.lock"), wait=False) as is_locked:
        if not is_locked or not _is_old(stamp):
            return
        Path(stamp).write_bytes(b"")
    _start(
        home,
        [
            "boot-inject",
            *(["--project", project] if project else ["--all-projects"]),
            "--home",
            home,
        ],
    )


def _is_old(path: str) -> bool:
    import time

    try:
        return abs(time.time() - os.stat(path).st_mtime) > RENDER_AFTER_SECONDS
    except FileNotFoundError:
        return True


def _start(home: str, words: list[str]) -> None:
    """Start a command of theorex that outlives this process and writes to the log."""
    from theorex_lab.core.files import open_private
    from theorex_lab.core.processes import start_in_background

    with open(_log_path(home), "ab", opener=open_private) as log:
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


def _open(home: str) -> SqliteJournal:
    """Return the home's journal, to be closed."""
    from theorex_lab.journal.sqlite.store import open_journal

    return open_journal(home)


def _print(text: bytes) -> None:
    # Straight to the file: what Python buffers, it writes when it ends, and a closed
    # pipe then changes the exit code.
    while text:
        text = text[os.write(1, text) :]


def _show_context(home: str, event: Mapping[str, Any]) -> str:
    """Print the context of the agent's project, note in the journal that it was given,
    and see that it is rendered again.

    A project without one gets what the cache of reminders has of it; else what is of no
    project. The context for all is for sessions without a known project: a project is
    shown nothing of another.
    """
    from theorex_lab.memory.hook_payloads import WorkingFolder, folder_of

    folder = WorkingFolder(
        folder_of(event),
        name_project=lambda repository: _seen_project(home, repository),
    )
    project = folder.project
    problem = ""
    names = (f"{project}.md", NO_PROJECT_FILE)
    project_paths = [os.path.join(home, CONTEXTS_FOLDER, name) for name in names]
    paths = project_paths if project else [os.path.join(home, CONTEXT_FILE)]
    path = next(filter(os.path.isfile, paths), "")
    rendered_context = ("", list[str](), 0)
    tokens = 0
    text = _context_in(home, path) if path else b""
    items = list[str]()
    if path != paths[0] or NOTHING_YET in text:
        rendered_context, problem = _with_cache(
            home, lambda cache: _first_context(home, cache, project), rendered_context
        )
    is_known = bool(rendered_context[0]) or (path == paths[0] and _is_old(path))
    if rendered_context[0]:
        text = rendered_context[0].encode()
        items = rendered_context[1]
        tokens = rendered_context[2]
    elif path:
        from theorex_lab.memory.context_served import given_of

        items, tokens = given_of(path, text)
    if text:
        _print(text)
        problem = _note_start(home, event, items, tokens, folder) or problem
    if is_known:
        start_rendering(home, project)
    return problem


def _first_context(
    home: str, cache: Connection, project: str
) -> tuple[str, list[str], int]:
    from theorex_lab.memory.briefing.prompt_matches import first_rows, rendered

    tokens = _setting(home, "contextTokens", CONTEXT_TOKENS)
    return rendered(
        first_rows(cache, project), tokens if type(tokens) is int else CONTEXT_TOKENS
    )


def _context_in(home: str, path: str) -> bytes:
    with open(path, "rb") as file:
        text = file.read(LARGEST_CONTEXT_BYTES + 1)
    if len(text) <= LARGEST_CONTEXT_BYTES:
        return text
    _log(
        home,
        f"{os.path.basename(path)} is larger than {LARGEST_CONTEXT_BYTES} bytes and was cut",
    )
    return text[: text.rfind(b"\n", 0, LARGEST_CONTEXT_BYTES) + 1]


def _note_start(
    home: str,
    event: Mapping[str, Any],
    items: list[str],
    tokens: int,
    folder: WorkingFolder,
) -> str:
    """Note what a session starts with.

    Its prompts may be given again what was given before, unless it is resumed.
    """
    from theorex_lab.core.ids import session_of

    agent, problem = _agent()
    if problem:
        return problem
    session = session_of(event.get("session_id"))
    journal = _open(home)
    try:
        subject = {"agent": agent, "session": session, "project": folder.project}
        at = _recalled("session_start", journal, items, tokens, **subject).at
    finally:
        journal.close()

    def note(cache: Connection) -> None:
        from theorex_lab.memory.briefing.prompt_matches import note_given

        note_given(cache, session, items, at, afresh=event.get("source") != "resume")

    return _with_cache(home, note, None)[1]


def _describe(error: BaseException) -> str:
    """Return what broke and where; an error's own text only where it cannot hold any of
    the payload.
    """
    from theorex_lab.core.errors import NewerVersion, StorageError

    if isinstance(error, StorageError | NewerVersion):
        return f"{type(error).__name__}: {error}"
    if isinstance(error, OSError) and error.strerror:
        return f"{type(error).__name__}: {error.strerror}"
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    where = (
        f" in {os.path.basename(step.tb_frame.f_code.co_filename)}, line {step.tb_lineno}"
        if step
        else ""
    )
    return f"{type(error).__name__}{where}; the event was not taken"


def _log_path(home: str) -> str:
    """Return the log's path, after an overlong log was put aside."""
    path = os.path.join(home, LOG_FILE)
    try:
        if os.stat(path).st_size > LARGEST_LOG_BYTES:
            os.replace(path, f"{path}.1")
    except FileNotFoundError:
        pass  # no log yet, or another process has just put it aside
    return path


def _log(home: str, problem: str) -> None:
    """Write one line to the log, or to standard error where the home cannot be written."""
    from theorex_lab.core.clock import SystemClock, to_iso

    line = f"{to_iso(SystemClock().now())} {' '.join(problem.split())}\n".encode(
        "utf-8", "replace"
    )
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
