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
from theorex_lab.journal.view import View
from theorex_lab.memory.briefing.session_log import are_own_words

# What is said in a session, of which `SessionList.steps` has the seqs.
WORDS = ("prompt", "turn_ended", "turn_message")


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
        self._numbers: dict[tuple[int, ...], int] = {}
        self._touches: dict[tuple[int, int], int] = {}

    def _after_load(self) -> None:
        keys = [self.rows[name].tolist() for name in ("agent", "session", "project")]
        for number, key in enumerate(zip(*keys, strict=True)):
            self._numbers[key] = number
        touches = [self.touched[name].tolist() for name in ("session", "path")]
        for number, touch in enumerate(zip(*touches, strict=True)):
            self._touches[touch] = number

    def apply(self, events: Sequence[Event]) -> None:
        """Count each event in its session, and note what it touches and says."""
        for event in events:
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
        key = (
            self.agents.number(event.agent),
            self.sessions.number(event.session or to_iso(event.at)[:10]),
            self.projects.number(event.body.get("project", "")),
        )
        row = self._numbers.get(key)
        if row is None:
            agent, session, project = key
            row = self.rows.add(
                agent=agent,
                session=session,
                project=project,
                first_at=event.at,
                last_at=event.at,
            )
            self._numbers[key] = row
        return row

    def _count(self, row: int, event: Event) -> None:
        columns = self.rows
        columns["events"][row] += 1
        columns["first_at"][row] = min(int(columns["first_at"][row]), event.at)
        columns["last_at"][row] = max(int(columns["last_at"][row]), event.at)

    def _note_prompt(self, row: int, event: Event) -> None:
        """Count a prompt, and note the first in a person's own words."""
        columns = self.rows
        columns["prompts"][row] += 1
        is_own = are_own_words(event.body["text"])
        is_first = not columns["first_prompt"][row]
        if is_first or (is_own and not columns["is_own"][row]):
            columns["first_prompt"][row] = event.seq
            columns["is_own"][row] = is_own

    def _note_paths(self, row: int, event: Event) -> None:
        """Note the files that a tool call read or edited."""
        paths = event.body.get("paths") or {}
        has_failed = event.body.get("ok") is False
        for use in ("edited", "read"):
            is_edited = use == "edited" and not has_failed
            for path in paths.get(use, ()):
                self._touch(row, path, is_edited=is_edited)

    def _touch(self, row: int, path: str, *, is_edited: bool) -> None:
        touch = (row, self.paths.number(path))
        number = self._touches.get(touch)
        if number is None:
            number = self.touched.add(session=row, path=touch[1])
            self._touches[touch] = number
        if is_edited:
            self.touched["edited"][number] = True

    def of_projects(self, projects: Sequence[str] | None) -> list[int]:
        """Return the rows of some projects' sessions, the one that began last first.

        Args:
            projects: The projects, None for all.
        """
        rows = np.arange(len(self.rows))
        if projects is not None:
            numbers = self.projects.numbers(*projects)
            rows = rows[np.isin(self.rows["project"], numbers)]
        newest_first = np.argsort(-self.rows["first_at"][rows], kind="stable")
        ordered: list[int] = rows[newest_first].tolist()
        return ordered

    def session_row(self, row: int) -> SessionRow:
        """Return one session."""
        numbers = {name: int(self.rows[name][row]) for name in _NUMBERS}
        touched = np.flatnonzero(self.touched["session"] == row)
        is_edited = self.touched["edited"][touched]
        edited_first = [*touched[is_edited].tolist(), *touched[~is_edited].tolist()]
        paths = self.touched["path"]
        return SessionRow(
            agent=self.agents[int(self.rows["agent"][row])],
            session=self.sessions[int(self.rows["session"][row])],
            project=self.projects[int(self.rows["project"][row])],
            files=tuple(self.paths[int(paths[number])] for number in edited_first),
            edited=int(np.count_nonzero(is_edited)),
            **numbers,
        )

    def seqs_of(
        self, agent: str, session: str, projects: Sequence[str] | None
    ) -> list[int]:
        """Return the seqs of a session's prompts and messages, in journal order.

        Args:
            agent: The agent.
            session: The session's name.
            projects: The projects in which they were said, None for all.
        """
        is_meant = self.rows["agent"] == _number(self.agents, agent)
        is_meant &= self.rows["session"] == _number(self.sessions, session)
        if projects is not None:
            numbers = self.projects.numbers(*projects)
            is_meant &= np.isin(self.rows["project"], numbers)
        is_said = np.isin(self.steps["session"], np.flatnonzero(is_meant))
        seqs: list[int] = self.steps["seq"][is_said].tolist()
        return sorted(seqs)


def _number(names: Names, name: str) -> int:
    """Return the number of a name, one that no row has where it was never seen."""
    number = names.find(name)
    return -1 if number is None else number


_NUMBERS = ("first_at", "last_at", "events", "prompts", "first_prompt")
