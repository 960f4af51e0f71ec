"""When sessions began and ended, and how many of them wait."""

from collections.abc import Iterable, Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.designs.sessions.sentences import TEXT_OF
from theorex_lab.journal.columns import Names, Table
from theorex_lab.journal.event import Event
from theorex_lab.journal.heads import Heads, NameColumn, heads_of
from theorex_lab.journal.view import View
from theorex_lab.memory.contract import MAINTAIN, Holding, Home

Ints = NDArray[np.int64]


def _is_digest(event: Event) -> bool:
    """Return whether an event says up to where its session was digested."""
    return event.kind == "digest"


def _stretches(heads: Heads) -> Ints:
    """Return where stretches of events begin that are of one session and project.

    What is of no session is of one a day.
    """
    columns = (
        heads.agent.numbers,
        heads.session.numbers,
        heads.project.numbers,
        heads.at // MICROSECONDS_PER_DAY,
    )
    is_start = np.zeros(len(heads.seq), np.bool_)
    is_start[:1] = True
    for column in columns:
        is_start[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(is_start)


class SessionEnds(View):
    """When each session began and ended.

    Attributes:
        ends: Of each session project, first_at, last_at (µs), first_seq, last_seq, and
            the seq up to which it was digested.
    """

    name = "session_ends"
    code = 1
    reads_outlines = True
    reads_heads = True
    whole_kinds = ("digest",)
    kinds = (*TEXT_OF, "tool_used", "digest")

    def __init__(self) -> None:
        super().__init__()
        self.projects = Names()
        self.sessions = Names()
        self.ends = Table(
            project="i4",
            first_at="i8",
            last_at="i8",
            first_seq="i8",
            last_seq="i8",
            digested="i8",
        )

    def apply(self, events: Sequence[Event]) -> None:
        """Take in when something was said or done."""
        for is_digest, group in groupby(events, _is_digest):
            run = list(group)
            if is_digest:
                self._note_digests(run)
            else:
                self._take_in_run(run)

    def apply_heads(self, heads: Heads) -> None:
        """Take in when something was said or done, by the heads of events."""
        self._rows_taken_in(heads)

    def _take_in_run(self, events: Sequence[Event]) -> None:
        """Take in events that are no digests."""
        self._rows_taken_in(heads_of(events))

    def _rows_taken_in(self, heads: Heads) -> Ints:
        """Take in heads, and return the row of each event's session."""
        starts = _stretches(heads)
        stretches = heads.rows(starts)
        n_before = len(self.ends)
        rows = self._rows_of_sessions(stretches)
        # A new session has a row that is greater than all before it.
        rows_before = np.append(n_before - 1, rows[:-1])
        is_new = rows > np.maximum.accumulate(rows_before)
        new_rows = rows[is_new]
        self.ends.grow(len(new_rows))
        self.ends["first_at"][new_rows] = stretches.at[is_new]
        self.ends["first_seq"][new_rows] = stretches.seq[is_new]
        newest_at = np.maximum.reduceat(heads.at, starts)
        np.maximum.at(
            self.ends["last_at"],
            rows,
            newest_at,
        )
        next_starts = np.append(starts[1:], len(heads.seq))
        self.ends["last_seq"][rows] = heads.seq[next_starts - 1]
        self._note_projects(rows, stretches.project)
        return np.repeat(rows, next_starts - starts)

    def _rows_of_sessions(
        self,
        heads: Heads,
    ) -> Ints:
        """Return the row of each event's session, which may be new."""
        agents = heads.agent.texts()
        sessions = heads.session.texts()
        days = heads.at // MICROSECONDS_PER_DAY
        columns = zip(
            agents,
            sessions,
            days.tolist(),
            strict=True,
        )
        names = [f"{agent}/{session or day}" for agent, session, day in columns]
        rows = self.sessions.numbered(names)
        return np.array(rows, np.int64)

    def _note_projects(
        self,
        rows: Ints,
        projects: NameColumn,
    ) -> None:
        """Note the last project that the events of each session name."""
        is_named = np.array([name != "" for name in projects.names])
        has_project = is_named[projects.numbers]
        named = projects.rows(has_project)
        numbers = named.numbers_in(self.projects)
        named_rows = rows[has_project]
        self.ends["project"][named_rows] = numbers + 1

    def _note_digests(
        self,
        events: Iterable[Event],
    ) -> None:
        for event in events:
            row = self.sessions.find(f"{event.agent}/{event.session}")
            if row is None:
                continue
            digested = self.ends["digested"]
            before = int(digested[row])
            digested[row] = max(before, event.body["upto"])

    def of_project(
        self, numbers: NDArray[np.int32], projects: Sequence[str] | None
    ) -> NDArray[np.bool_]:
        """Return a mask of the numbers that are of some projects or of none.

        Args:
            numbers: Numbers of projects.
            projects: The names of the projects; None: all.
        """
        if projects is None:
            return np.ones(len(numbers), np.bool_)
        allowed = [0]
        for name in projects:
            number = self.projects.find(name)
            if number is not None:
                allowed.append(number + 1)
        return np.isin(numbers, allowed)


def session_holdings(home: Home, agent: str | None) -> list[Holding]:
    """Return how many sessions there are, and how many wait to be put in short."""
    with home.views.reading(SessionEnds) as view:
        ends = view.ends
        is_counted = view.of_project(ends["project"], home.projects)
        is_waiting = ends["last_seq"] > ends["digested"]
        if agent is not None:
            owners = [name.partition("/")[0] for name in view.sessions]
            is_counted &= np.array([owner == agent for owner in owners], np.bool_)
        n_sessions = int(is_counted.sum())
        n_waiting = int((is_counted & is_waiting).sum())
    return [
        Holding("sessions", n_sessions),
        Holding("sessions not yet in short", n_waiting, MAINTAIN),
    ]
