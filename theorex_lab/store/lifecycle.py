"""The life cycle of a session, for every design.

One function says what happens at each point: `start_session`, `take_prompt`,
`take_event` (a tool use, the end of an answer, a compaction, the end of a session),
`end_session`, and `maintain` for all sessions. The hook, the commands, the
servers and `store.lab.Lab` call these functions and add nothing to the memory.

An agent starts a process for every hook event. So nothing but the standard library is
imported here, each step imports what it needs, and paths are texts: importing pathlib
would cost every start 5 ms.
"""

from __future__ import annotations

import os
from contextlib import contextmanager

# what type checkers take for true; importing `typing` for it would cost every start 5
# ms
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from sqlite3 import Connection
    from typing import Any, TypeVar

    from theorex_lab.core.clock import Clock
    from theorex_lab.core.project import Repository
    from theorex_lab.core.settings import Settings
    from theorex_lab.evolution.maintenance import MaintenanceReport, ReviewFailures
    from theorex_lab.journal.base import Journal
    from theorex_lab.journal.event import Event
    from theorex_lab.memory.contract import Home, SessionsEnd
    from theorex_lab.memory.hook_payloads import WorkingFolder
    from theorex_lab.memory.retrieve import Searcher

    T = TypeVar("T")
    HookEvent = Mapping[str, Any]
    Give = Callable[[bytes], None]

CONTEXT_FILE = "SHARED_CONTEXT.md"
CONTEXTS_FOLDER = "contexts"
CONFIG_FILE = "config.json"
# How a briefing begins that has nothing to give.
NOTHING_YET = b"_Nothing is remembered"
LARGEST_CONTEXT_BYTES = 256 << 10
LARGEST_CONFIG_BYTES = 1 << 20
# Where the settings recallTokens and contextTokens are not set.
RECALL_TOKENS = 500
RENDER_AFTER_SECONDS = 300
# The end of one or two sessions renders as many projects; the maintenance renders the others.
_MOST_PROJECTS = 3
_EMBEDDING_SECONDS = 2.0


class SessionHome:
    """A home as the steps within a session need it.

    It costs nothing to make. The journal is opened by the first step that needs it.

    Attributes:
        folder: The folder of the home.
        project: The project of sessions whose event names no folder.
        shared_journal: The journal that stays open, None for the folder's own.
    """

    def __init__(
        self,
        folder: str,
        *,
        journal: Journal | None = None,
        settings: Settings | None = None,
        clock: Clock | None = None,
        project: str = "",
    ) -> None:
        """Name a home.

        Args:
            folder: The folder of the home.
            journal: The journal, which stays open; by default the folder's own, which
                `close` closes.
            settings: The settings in force; by default those of config.json.
            clock: Tells the time; by default the journal's clock.
            project: The project of sessions whose event names no folder.
        """
        self.folder = folder
        self.project = project
        self.shared_journal = journal
        self._own_journal: Journal | None = None
        self._settings = settings
        self._clock = clock

    @property
    def journal(self) -> Journal:
        """The journal; opened, or created, when it is first needed."""
        journal = self.shared_journal or self._own_journal
        if journal is None:
            from theorex_lab.journal.opened import open_journal

            # Hooks never wait for a server: what they say is kept on this machine.
            journal = self._own_journal = open_journal(self.folder)
        return journal

    @property
    def has_journal(self) -> bool:
        """Whether there is a journal already, so that reading it creates none."""
        from theorex_lab.journal.sqlite.opening import DATABASE_FILE

        if self.shared_journal is not None or self._own_journal is not None:
            return True
        return os.path.exists(self.path(DATABASE_FILE))

    def now(self) -> int:
        """Return the time (µs UTC)."""
        clock = self._clock
        if clock is None and self.has_journal:
            clock = self.journal.clock
        if clock is None:
            from theorex_lab.core.clock import SystemClock

            clock = SystemClock()
        return clock.now()

    def path(self, name: str) -> str:
        """Return the path of a file in the home."""
        return os.path.join(self.folder, name)

    def setting(self, name: str, default: object) -> object:
        """Return a setting in force.

        Args:
            name: The name as config.json has it, in camelCase.
            default: The value where it is not set.

        Returns:
            The value; None where config.json cannot be read, since what was wished is
            not known then.
        """
        snake = "".join(
            f"_{letter.lower()}" if letter.isupper() else letter for letter in name
        )
        if self._settings is not None:
            value: object = getattr(self._settings, snake)
            return value
        path = self.path(CONFIG_FILE)
        if not os.path.lexists(path):
            return default
        from theorex_lab.core import light_json as json

        try:
            if not os.path.isfile(path):
                return None
            with open(path, "rb") as file:
                settings = json.loads(file.read(LARGEST_CONFIG_BYTES))
        except (OSError, ValueError, RecursionError):
            return None
        if not isinstance(settings, dict):
            return None
        return settings.get(name, settings.get(snake, default))

    def opened(self, project: str) -> Home:
        """Return the home with its designs, for a project.

        Importing what it needs costs a second.

        Args:
            project: The project, '' for all.

        Raises:
            ConfigError: config.json is broken.
        """
        from pathlib import Path

        from theorex_lab.designs import installed
        from theorex_lab.memory.contract import Home

        home = Home(
            Path(self.folder),
            journal=self.journal,
            settings=self._settings,
            clock=self._clock or self.journal.clock,
            designs=installed,
            project=project,
        )
        if self._is_spool():
            home.keep_no_snapshots()
        return home

    def _is_spool(self) -> bool:
        """Return whether the journal here is only what waits before a shared one.

        The views that lie in the home are of the shared one then.
        """
        journal = self.journal
        return journal.local is journal and bool(self.setting("journalUrl", ""))

    def close(self) -> None:
        """Close the journal, where it was opened here."""
        if self._own_journal is not None:
            self._own_journal.close()
            self._own_journal = None


class Given:
    """What an agent is given of its memory.

    Attributes:
        text: The text in UTF-8, b"" for nothing.
        items: The ids of the items in it, as far as they are known.
        tokens: How long it is.
        project: The project that it is of, '' for none.
        is_stale: Whether the project's briefing should be rendered again.
        problems: What went wrong beside, each in a few words that hold nothing of what
            the agent sent.
    """

    def __init__(
        self,
        text: bytes = b"",
        items: Sequence[str] = (),
        tokens: int = 0,
        *,
        is_stale: bool = False,
    ) -> None:
        self.text = text
        self.items = list(items)
        self.tokens = tokens
        self.project = ""
        self.is_stale = is_stale
        self.problems: list[str] = []


def start_session(
    home: SessionHome, event: HookEvent, *, agent: str, give: Give
) -> Given:
    """Give a session the briefing of its project, and note that it was given.

    1. Name the project of the session's folder; nothing is written for that.
    2. Read the briefing that was written for the project. Where none was, it is made
       now. A project is given nothing of another.
    3. Give the briefing.
    4. Note in the journal what was given.
    5. Note in the index of prompts what was given, so that no prompt gives it again.

    Args:
        home: The home.
        event: The start in Claude Code's hook form: session_id, cwd and source. Each
            may be missing. What a resumed session was given before still counts.
        agent: The agent; '' where it has no allowed name: then nothing is noted.
        give: Hands the text to the agent. It is called once, or not at all where there
            is nothing to give.

    Returns:
        What was given.

    Raises:
        StorageError: The journal cannot be written.
    """
    from theorex_lab.core.ids import session_of
    from theorex_lab.text.redact.redaction_scope import kept_id

    folder = _folder_of(home, event, name_project=_seen_project)
    briefing = _briefing_for(home, folder)
    briefing.project = folder.project
    if not briefing.text:
        return briefing
    give(briefing.text)
    if not agent:
        return briefing
    session = kept_id(session_of(event.get("session_id")))
    noted = note_served(
        home,
        "session_start",
        briefing,
        agent=agent,
        session=session,
        project=folder.project,
    )

    def note_in_index(index: Connection) -> None:
        from theorex_lab.memory.briefing.index_file import note_text_given

        text = briefing.text.decode()
        is_afresh = event.get("source") != "resume"
        note_text_given(index, session, text, noted.at, afresh=is_afresh)

    _with_index(home, note_in_index, None, briefing.problems)
    return briefing


def take_prompt(
    home: SessionHome, event: HookEvent, *, agent: str, give: Give
) -> Given:
    """Keep what a person asked, and give what is remembered that fits it.

    1. Append the prompt, as `take_event` does.
    2. Look in the index of prompts for what the project's sessions said that fits it.
    3. Give the lines that fit into recallTokens, as a briefing.
    4. Note in the journal what was given.
    5. Note in the index what was given, so that no prompt gives it again.

    Args:
        home: The home.
        event: The prompt in Claude Code's hook form: hook_event_name, prompt,
            session_id and cwd.
        agent: The agent.
        give: Hands the text to the agent. It is called once, or not at all where
            nothing fits.

    Returns:
        What was given.

    Raises:
        StorageError: The journal cannot be written.
        InvalidInput: The agent's name is outside the rule.
    """
    prompt = take_event(home, event, agent=agent)
    nothing = Given()
    problems: list[str] = []
    tokens = home.setting("recallTokens", RECALL_TOKENS)
    is_wanted = home.setting("recallOnPrompt", True) is True
    if type(tokens) is not int or not is_wanted:
        return nothing
    query = prompt.body["text"]
    project = prompt.body["project"]

    def give_lines(index: Connection) -> Given:
        from theorex_lab.memory.briefing.index_file import note_lines_given
        from theorex_lab.memory.briefing.prompt_lines import (
            lines_for_prompt,
            prompt_text,
            room_for_lines,
        )
        from theorex_lab.text.line import count_tokens

        lines = lines_for_prompt(
            index,
            project,
            query,
            prompt.at,
            tokens=room_for_lines(tokens),
            session=prompt.session,
        )
        if not lines:
            return nothing
        text = prompt_text(lines)
        ids = [line.id for line in lines]
        answer = Given(text.encode(), ids, count_tokens(text))
        give(answer.text)
        noted = note_served(
            home,
            "prompt",
            answer,
            query=query,
            agent=agent,
            session=prompt.session,
            project=project,
        )
        words = {line.id: line.words for line in lines}
        with _told_of_index(problems):
            note_lines_given(index, prompt.session, words, noted.at)
        return answer

    answer = _with_index(home, give_lines, nothing, problems)
    answer.project = project
    answer.problems = problems
    return answer


def take_event(home: SessionHome, event: HookEvent, *, agent: str) -> Event:
    """Keep what happened in a session, as an event of the journal.

    1. Name the project of the agent's folder; one that was never seen gets its id.
    2. Make the body, as `memory.hook_payloads.BODIES` has it for the event's name:
       `memory.hook_payloads.tool_used`, or `prompt`, `turn_ended`, `compacting` and
       `session_ended` there.
    3. Name the trace that the agent was started for, of a tool use.
    4. Leave the agent's own words out, where the setting keepMessages is off.
    5. Append the event.

    Args:
        home: The home.
        event: The event in Claude Code's hook form. Its hook_event_name is one of
            BODIES.
        agent: The agent.

    Returns:
        The event that was appended.

    Raises:
        StorageError: The journal cannot be written.
        InvalidInput: The agent's name is outside the rule.
    """
    from theorex_lab.core.ids import session_of
    from theorex_lab.journal.event import new_event
    from theorex_lab.memory.hook_payloads import BODIES, running_trace
    from theorex_lab.text.redact.redaction_scope import kept_id

    journal = home.journal
    session = kept_id(session_of(event.get("session_id")))
    folder = _folder_of(home, event, name_project=_bound_project)
    kind, body_of = BODIES[event["hook_event_name"]]
    body = body_of(event, folder)
    trace_id = running_trace() if kind == "tool_used" else ""
    if trace_id:
        body["trace_id"] = trace_id
    if body.get("message") and home.setting("keepMessages", True) is not True:
        body["message"] = ""
    captured = new_event(kind, body, agent=agent, session=session, at=home.now())
    journal.append([captured])
    return captured


def end_session(
    home: Home, searcher: Searcher, session: str | None = None, *, agent: str
) -> SessionsEnd:
    """Let every design take in a session that ended or is about to be summarized.

    Where machines share a journal, the home is synced with it first.

    1. Find the sessions: the named one, else all of the agent that wait in a design
       (`Home.waiting_sessions`).
    2. Check a named session, where a design wishes that (`Home.check_session`).
    3. Let each design take in each session (`Home.flush`, which calls each
       `Design.flush`).
    4. Compute vectors of texts that wait for one, newest first, for two seconds.
    5. Bring the briefings and the index of prompts up to date.

    Repeating it changes nothing.

    Args:
        home: The home.
        searcher: Search over the home, which computes vectors.
        session: The session; None for all of the agent that wait.
        agent: The agent.

    Returns:
        How many sessions there were, and what became of their events.

    Raises:
        InvalidInput: The agent or the session is outside the rules.
        StorageError: The journal or a briefing cannot be written.
    """
    from theorex_lab.core.ids import check_agent, check_session
    from theorex_lab.evolution.briefing import refresh
    from theorex_lab.evolution.syncing import sync_if_shared
    from theorex_lab.memory.contract import SessionsEnd

    check_agent(agent)
    sync_if_shared(home)
    if session is None:
        sessions = home.waiting_sessions(agent)
    else:
        sessions = [check_session(session)]
        home.check_session(agent, session)
    result = home.flush(agent, sessions)
    problem = searcher.vectors.embed_some(_EMBEDDING_SECONDS)
    refresh(home, _MOST_PROJECTS)
    return SessionsEnd(len(sessions), result.kept, result.discarded, problem)


def maintain(
    home: Home,
    *,
    review: ReviewFailures,
    agent: str | None,
    asks_models: bool,
    progress: bool | None = None,
) -> MaintenanceReport:
    """Run the steps of maintenance: what is learned from all sessions together.

    1. Take the lease, so that one process at a time tends the home.
    2. Judge outcomes, and review failures.
    3. Run the designs' steps that come before the acceptance test (`Design.steps`).
    4. Judge the policy that is proposed, and put it in force where it gains enough.
    5. Run the designs' other steps.
    6. Compute vectors, and bring the briefings and the index of prompts up to date.
    7. Append the report, and let go of the lease.

    Where machines share a journal, the home is synced with it first; the lease is taken
    there, so that one machine at a time tends the memory. The steps are those of
    `evolution.maintenance.run_maintenance`, which runs each for itself:
    one that fails is reported, and stops none after it. Repeating it changes nothing.

    Args:
        home: The home.
        review: Reviews the failures.
        agent: The agent, None for all.
        asks_models: Whether a model may judge outcomes.
        progress: Whether a bar is shown; None: in a terminal or notebook.

    Returns:
        How each step ended.

    Raises:
        InvalidInput: The agent is outside the rule.
        StorageError: The report cannot be written.
        LeaseLost: Another process has taken over.
    """
    from theorex_lab.evolution.maintenance import run_maintenance
    from theorex_lab.evolution.syncing import sync_if_shared

    sync_if_shared(home)
    return run_maintenance(
        home,
        review=review,
        agent=agent,
        asks_models=asks_models,
        progress=progress,
    )


def note_served(
    home: SessionHome,
    how: str,
    served: Given,
    *,
    query: str = "",
    agent: str,
    session: str,
    project: str,
) -> Event:
    """Note in the journal what an agent is given; see `recalled_event`.

    Args:
        home: The home.
        how: By which door, as session_start.
        served: What is given.
        query: What was asked, '' for nothing.
        agent: The agent.
        session: The session, '' for none.
        project: The project, '' for none.

    Returns:
        The event that was appended.
    """
    from theorex_lab.memory.context_served import recalled_event

    event = recalled_event(
        how,
        query=query,
        items=served.items,
        tokens=served.tokens,
        project=project,
        at=home.now(),
        agent=agent,
        session=session,
    )
    home.journal.append([event])
    return event


def _folder_of(
    home: SessionHome,
    event: HookEvent,
    *,
    name_project: Callable[[SessionHome, Repository], str],
) -> WorkingFolder:
    """Return where the agent works, with its project by this function."""
    from theorex_lab.memory.hook_payloads import WorkingFolder, folder_of

    return WorkingFolder(
        folder_of(event),
        home.project,
        name_project=lambda repository: name_project(home, repository),
    )


def _bound_project(home: SessionHome, repository: Repository) -> str:
    """Return the project of a folder; one that was never seen gets its id now."""
    from theorex_lab.journal.places import known_project

    journal = home.journal.local
    project, places = known_project(home.folder, repository)
    if project and places is not None:
        is_of_journal = journal.event_id(places.seq) == places.event_id
        if is_of_journal:
            return project
    from theorex_lab.journal.identity import project_in

    project = project_in(journal, repository, bind=True)
    journal.keep_places()
    return project


def _seen_project(home: SessionHome, repository: Repository) -> str:
    """Return the project of a folder as far as it is known; nothing is written.

    Where it is not known, what stands for it is returned.
    """
    from theorex_lab.journal.identity import project_in, unseen_project
    from theorex_lab.journal.places import Places, known_project, place_of

    project, _ = known_project(home.folder, repository)
    if project:
        return project
    if home.has_journal:
        project = project_in(home.journal, repository, bind=False)
    else:
        project = Places().project_at(place_of(repository))
    return project or unseen_project(repository)


def _briefing_for(home: SessionHome, folder: WorkingFolder) -> Given:
    """Return what a session in a folder starts with.

    That is the briefing that was written for its project. Where none was, it is made
    now. The briefing for all is for sessions without a known project.
    """
    problems: list[str] = []
    path = _briefing_path(home, folder.project)
    if not os.path.isfile(path):
        return _briefing_made_now(home, folder)
    text = _read_briefing(path, problems)
    briefing = Given(is_stale=is_older(path, RENDER_AFTER_SECONDS))
    if NOTHING_YET not in text:
        from theorex_lab.memory.context_served import given_of

        briefing.text = text
        briefing.items, briefing.tokens = given_of(path, text)
    briefing.problems = problems
    return briefing


def _briefing_path(home: SessionHome, project: str) -> str:
    """Return the file that holds a project's briefing, or the one for all."""
    if not project:
        return home.path(CONTEXT_FILE)
    return os.path.join(home.path(CONTEXTS_FOLDER), f"{project}.md")


def _briefing_made_now(home: SessionHome, folder: WorkingFolder) -> Given:
    """Make the briefing of a folder's project, and keep it where the project is known.

    This costs seconds, and happens once a project.
    """
    has_history = bool(folder.root) and os.path.exists(f"{folder.root}/.git")
    if not home.has_journal and not has_history:
        return Given()
    from theorex_lab.core.errors import TheorexError
    from theorex_lab.evolution.briefing import first_briefing

    history = folder.root if has_history else ""
    briefing_given = Given()
    try:
        opened = home.opened(folder.project) if home.has_journal else None
        briefing = first_briefing(opened, history, home.now())
    except TheorexError as error:
        briefing_given.problems.append(f"no briefing could be made: {error}")
        return briefing_given
    if briefing.lines:
        briefing_given.text = briefing.text.encode()
        briefing_given.items = list(briefing.items)
        briefing_given.tokens = briefing.tokens
    if briefing.problem:
        briefing_given.problems.append(briefing.problem)
    return briefing_given


def _read_briefing(path: str, problems: list[str]) -> bytes:
    """Return a written briefing, cut between two lines where it is too large."""
    with open(path, "rb") as file:
        text = file.read(LARGEST_CONTEXT_BYTES + 1)
    if len(text) <= LARGEST_CONTEXT_BYTES:
        return text
    name = os.path.basename(path)
    problems.append(f"{name} is larger than {LARGEST_CONTEXT_BYTES} bytes and was cut")
    return text[: text.rfind(b"\n", 0, LARGEST_CONTEXT_BYTES) + 1]


def is_older(path: str, seconds: int) -> bool:
    """Return whether a file is missing, or was last written longer ago than this."""
    import time

    try:
        return abs(time.time() - os.stat(path).st_mtime) > seconds
    except FileNotFoundError:
        return True


@contextmanager
def _told_of_index(problems: list[str]) -> Iterator[None]:
    """Add what is wrong with the index of prompts to the problems."""
    from theorex_lab.core.light_sqlite import sqlite3
    from theorex_lab.memory.briefing.index_file import INDEX_FILE

    try:
        yield
    except sqlite3.Error as error:
        problems.append(
            f"{INDEX_FILE}: {error}; the next end of a session or `theorex maintain` rebuilds it"
        )


def _with_index(
    home: SessionHome,
    act: Callable[[Connection], T],
    nothing: T,
    problems: list[str],
) -> T:
    """Return the result of reading the index of prompts; `nothing` without an index.

    What is wrong with the index is added to the problems.
    """
    from theorex_lab.memory.briefing.index_file import INDEX_FILE, prompt_index_at

    path = home.path(INDEX_FILE)
    if not os.path.exists(path):
        return nothing
    made = nothing
    with _told_of_index(problems), prompt_index_at(path) as index:
        made = act(index)
    return made
