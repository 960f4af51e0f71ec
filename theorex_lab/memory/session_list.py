"""The list of recorded sessions: when, whose, in which project, and what was touched.

It answers at once for a journal of any size, since it is a view. What was said in a
session is read from the journal when a session is opened.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from theorex_lab.core.clock import to_iso
from theorex_lab.journal.columns import Names, Table
from theorex_lab.journal.event import Event
from theorex_lab.journal.view import PROJECT_SCOPE, View

# What is said in a session, of which `SessionList.steps` has the seqs.
WORDS = ("prompt", "turn_ended", "turn_message")
_Numbers = dict[tuple[int, ...], int]  # of rows, by what they are of
_KEY = ("agent", "session", "project")
_TOUCH = ("session", "path")
_DAY_CHARACTERS = 10  # of a time in ISO 8601


class SessionRow(NamedTuple):
    """A recorded session.

    Attributes:
        agent: The agent.
        session: The session's name; the day for what is of no session.
        project: The project, '' for none.
        first_at: When its first event was (µs UTC).
        last_at: When its last event was (µs UTC).
        events: How many events it has.
        prompts: How many prompts were sent in it, those of programs among them.
        first_prompt: The seq of the first prompt in a person's own words, else of the
            first; 0 without one.
        files: The paths that it edited, then those that it read, each once.
        edited: How many of `files` it edited.
    """

    agent: str
    session: str
    project: str
    first_at: int
    last_at: int
    events: int
    prompts: int
    first_prompt: int
    files: tuple[str, ...]
    edited: int


class SessionList(View):
    """The recorded sessions of all agents and projects.

    Attributes:
        rows: A session in a project a row: the numbers of its agent, name and project,
            first_at and last_at (µs), how many events and prompts it has, and the seq
            of its first prompt, and whether that is in a person's own words.
        touched: A file of a session a row: session, path and whether it was edited.
        steps: A prompt or message a row: session and seq.
    """

    name = "session_list"
    code = 1
    kinds = ("tool_used", "session_ended", *WORDS)
    scope = PROJECT_SCOPE

    def __init__(self) -> None:
        super().__init__()
        self.agents = Names()
        self.sessions = Names()
        self.projects = Names()
        self.paths = Names()
        self.rows = Table(
            agent="i4",
            session="i4",
            project="i4",
            first_at="i8",
            last_at="i8",
            events="i8",
            prompts="i8",
            first_prompt="i8",
            is_own="?",
        )
        self.touched = Table(session="i4", path="i4", edited="?")
        self.steps = Table(session="i4", seq="i8")
        # None after a load, until something is folded.
        self._row_of_key: _Numbers | None = {}
        self._row_of_touch: _Numbers | None = {}

    def _after_load(self) -> None:
        self._row_of_key = None
        self._row_of_touch = None

    @property
    def _numbers(self) -> _Numbers:
        """The row of each agent, session and project."""
        if self._row_of_key is None:
            self._row_of_key = _numbers_of(self.rows, _KEY)
        return self._row_of_key

    @property
    def _touches(self) -> _Numbers:
        """The row of each session and path."""
        if self._row_of_touch is None:
            self._row_of_touch = _numbers_of(self.touched, _TOUCH)
        return self._row_of_touch

    def apply(self, events: Sequence[Event]) -> None:
        """Count each event in its session, and note what it touches and says."""
        for event in events:
            if _is_of_a_dispatch(event):
                continue
            row = self._row(event)
            self._count(row, event)
            if event.kind == "tool_used":
                self._note_paths(row, event)
            elif event.kind in WORDS and not event.body.get("subagent"):
                self.steps.add(session=row, seq=event.seq)
                if event.kind == "prompt":
                    self._note_prompt(row, event)

    def _row(self, event: Event) -> int:
        """Return the row of an event's session, which is added where it is new."""
        name = event.session
        if not name:
            name = to_iso(event.at)[:_DAY_CHARACTERS]
        agent = self.agents.number(event.agent)
        session = self.sessions.number(name)
        project = self.projects.number(event.body.get("project", ""))
        key = (agent, session, project)
        if key not in self._numbers:
            self._numbers[key] = self.rows.add(
                agent=agent,
                session=session,
                project=project,
                first_at=event.at,
                last_at=event.at,
            )
        return self._numbers[key]

    def _count(self, row: int, event: Event) -> None:
        first_at = self._at("first_at", row)
        last_at = self._at("last_at", row)
        n_events = self._at("events", row)
        self.rows.put(
            row,
            events=n_events + 1,
            first_at=min(first_at, event.at),
            last_at=max(last_at, event.at),
        )

    def _note_prompt(self, row: int, event: Event) -> None:
        """Count a prompt, and note the first in a person's own words."""
        from theorex_lab.memory.briefing.session_log import are_own_words

        n_prompts = self._at("prompts", row)
        self.rows.put(row, prompts=n_prompts + 1)
        is_own = are_own_words(event.body["text"])
        first_prompt = self._at("first_prompt", row)
        is_first = first_prompt == 0
        had_own = self._at("is_own", row)
        is_first_own = is_own and not had_own
        if is_first or is_first_own:
            self.rows.put(
                row,
                first_prompt=event.seq,
                is_own=is_own,
            )

    def _note_paths(self, row: int, event: Event) -> None:
        """Note the files that a tool call read or edited."""
        body = event.body
        paths = body.get("paths") or {}
        has_failed = body.get("ok") is False
        for path in paths.get("edited", ()):
            self._touch(row, path, is_edited=not has_failed)
        for path in paths.get("read", ()):
            self._touch(row, path, is_edited=False)

    def _touch(self, row: int, path: str, *, is_edited: bool) -> None:
        path_number = self.paths.number(path)
        touch = (row, path_number)
        if touch not in self._touches:
            self._touches[touch] = self.touched.add(
                session=row,
                path=path_number,
            )
        if is_edited:
            number = self._touches[touch]
            self.touched["edited"][number] = True

    def of_projects(self, projects: Sequence[str] | None) -> list[int]:
        """Return the rows of some projects' sessions, the one that began last first.

        Args:
            projects: The projects, None for all.
        """
        began = -self.rows["first_at"]
        rows: list[int] = np.argsort(began, kind="stable").tolist()
        if projects is None:
            return rows
        numbers = self.projects.numbers(*projects)
        rows_of_projects: list[int] = []
        for row in rows:
            if self._at("project", row) in numbers:
                rows_of_projects.append(row)
        return rows_of_projects

    def session_row(self, row: int) -> SessionRow:
        """Return one session."""
        paths = self._paths_of(row, is_edited=True)
        n_edited = len(paths)
        paths += self._paths_of(row, is_edited=False)
        agent = self._at("agent", row)
        session = self._at("session", row)
        project = self._at("project", row)
        return SessionRow(
            agent=self.agents[agent],
            session=self.sessions[session],
            project=self.projects[project],
            first_at=self._at("first_at", row),
            last_at=self._at("last_at", row),
            events=self._at("events", row),
            prompts=self._at("prompts", row),
            first_prompt=self._at("first_prompt", row),
            files=tuple(paths),
            edited=n_edited,
        )

    def _at(self, column: str, row: int) -> int:
        return int(self.rows[column][row])

    def _paths_of(self, row: int, *, is_edited: bool) -> list[str]:
        """Return the paths that a session edited, or those that it only read."""
        touched = self.touched
        is_meant = touched["session"] == row
        is_meant &= touched["edited"] == is_edited
        numbers = touched["path"][is_meant]
        paths: list[str] = []
        for number in numbers.tolist():
            paths.append(self.paths[number])
        return paths

    def seqs_of(
        self, agent: str, session: str, projects: Sequence[str] | None
    ) -> list[int]:
        """Return the seqs of a session's prompts and messages, in journal order.

        Args:
            agent: The agent.
            session: The session's name.
            projects: The projects in which they were said, None for all.
        """
        agent_number = _number(self.agents, agent)
        session_number = _number(self.sessions, session)
        is_meant = self.rows["agent"] == agent_number
        is_meant &= self.rows["session"] == session_number
        if projects is not None:
            numbers = self.projects.numbers(*projects)
            is_meant &= np.isin(self.rows["project"], numbers)
        rows = np.flatnonzero(is_meant)
        is_of_rows = np.isin(self.steps["session"], rows)
        seqs = self.steps["seq"][is_of_rows]
        return sorted(seqs.tolist())


def _is_of_a_dispatch(event: Event) -> bool:
    """Return whether a tool call was made for a task that was dispatched to a model."""
    return not event.session and "trace_id" in event.body


def _numbers_of(table: Table, columns: Sequence[str]) -> _Numbers:
    """Return the number of each row by its values in these columns."""
    values = []
    for column in columns:
        values.append(table[column].tolist())
    numbers: _Numbers = {}
    for key in zip(*values, strict=True):
        numbers[key] = len(numbers)
    return numbers


def _number(names: Names, name: str) -> int:
    """Return the number of a name, one that no row has where it was never seen."""
    number = names.find(name)
    return -1 if number is None else number
