"""The directory of a journal: when each event happened, and of which kind it is.

With it the events of one project, or of a rare kind, are read by their seqs, where
without it the whole journal is looked through. An index in the journal's file could hide
an event behind a flipped bit; this is a view, whose snapshots have checksums.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from theorex_lab.journal.base import Journal
from theorex_lab.journal.columns import Names, Table
from theorex_lab.journal.event import VERSIONS, Event
from theorex_lab.journal.folding import View
from theorex_lab.journal.head_page import HeadPage
from theorex_lab.journal.heads import Heads, Integers, NameColumn, renumbered

_NONE = 0  # the number of no project, and of no session


class EventDirectory(View):
    """The heads of all events, erased ones among them, see `heads`.

    An event of which the project is not known, such as an erased one, counts as one of
    no project. So the directory may name an event that is not wanted; it leaves none
    out.

    Attributes:
        kind_names: The kinds of the events.
        agents: The agents of the events.
        sessions: The sessions of the events; '' is none, and the first.
        projects: The projects of the events; '' is none, and the first.
        rows: The seq of each event, its time (µs UTC), the numbers of its kind, agent,
            session and project, and whether nothing can be read of it, in journal order.
    """

    name = "event_directory"
    code = 2
    takes_unreadable = True
    reads_outlines = True
    forgets = True

    def __init__(self) -> None:
        super().__init__()
        self.kind_names = Names()
        self.agents = Names()
        self.sessions = Names()
        self.projects = Names()
        self.rows = Table(
            seq="i8",
            at="i8",
            kind="i2",
            agent="i4",
            session="i4",
            project="i4",
            is_unreadable="i1",
        )
        self.sessions.number("")
        self.projects.number("")

    def apply(self, events: Sequence[Event]) -> None:
        """Note the heads of events."""
        self.take_page(HeadPage.of(events))

    def take_all(
        self, journal: Journal, upto: int, whole_kinds: Collection[str] = ()
    ) -> Iterator[Event]:
        """Note the heads of what came since, and yield the events of some kinds.

        Args:
            journal: The journal.
            upto: The seq up to which heads are noted.
            whole_kinds: The kinds of events that are yielded, see `Journal.head_pages`.

        Raises:
            CorruptJournal: An event is not as it was written.
        """
        pages = journal.head_pages(
            self.seq,
            kinds=frozenset(self.kinds),
            upto=upto,
            whole_kinds=whole_kinds,
        )
        for page in pages:
            self.take_page(page)
            self.seq = page.seqs[-1]
            yield from page.events
        self.seq = upto

    def take_page(self, page: HeadPage) -> None:
        """Note a page of heads."""
        where = self.rows.grow(len(page.seqs))
        self.rows.put(
            where,
            seq=page.seqs,
            at=page.times,
            kind=_numbered(self.kind_names, page.kinds),
            agent=_numbered(self.agents, page.agents),
            session=_numbered(self.sessions, page.sessions),
            project=_numbered(self.projects, page.projects),
            is_unreadable=page.is_unreadable,
        )

    def unreadable_seqs(self, after: int, upto: int) -> Integers:
        """Return the seqs of the events that were erased or set aside.

        Args:
            after: The seq behind which they begin.
            upto: The last seq.
        """
        stretch = self._stretch(after, upto)
        is_unreadable = self.rows["is_unreadable"][stretch]
        seqs: Integers = self.rows["seq"][stretch][is_unreadable != 0]
        return seqs

    def n_events(self, after: int, upto: int) -> int:
        """Return how many events lie in a stretch, erased ones among them.

        Args:
            after: The seq behind which they begin.
            upto: The last seq.
        """
        stretch = self._stretch(after, upto)
        n_events: int = stretch.stop - stretch.start
        return n_events

    def hides_any(
        self, agents: Sequence[str], open_kinds: Collection[str], after: int
    ) -> bool:
        """Return whether there is an event of another agent that is of no open kind.

        Args:
            agents: The agents whose events do not count.
            open_kinds: The kinds of events that every agent may read.
            after: The seq behind which the events begin.
        """
        stretch = self._stretch(after, self.seq)
        may_read = self._may_read(
            agents,
            open_kinds,
            stretch,
        )
        is_unreadable = self.rows["is_unreadable"][stretch] != 0
        is_of_nobody_else = may_read | is_unreadable
        return not is_of_nobody_else.all()

    def readable_heads(
        self, agent: str, open_kinds: Collection[str], after: int, upto: int
    ) -> HeadPage:
        """Return the heads of what an agent may read, erased events among them.

        Args:
            agent: The agent.
            open_kinds: The kinds of events that every agent may read.
            after: The seq behind which they begin.
            upto: The last seq.
        """
        stretch = self._stretch(after, upto)
        may_read = self._may_read(
            [agent],
            open_kinds,
            stretch,
        )
        rows = stretch.start + np.flatnonzero(may_read)
        page = HeadPage()
        page.seqs = self.rows["seq"][rows].tolist()
        page.times = self.rows["at"][rows].tolist()
        heads = self._heads_of(rows)
        page.kinds = heads.kind.texts()
        page.agents = heads.agent.texts()
        page.sessions = heads.session.texts()
        page.projects = heads.project.texts()
        is_unreadable = self.rows["is_unreadable"][rows]
        page.is_unreadable = is_unreadable.astype(bool).tolist()
        return page

    def _may_read(
        self, agents: Sequence[str], open_kinds: Collection[str], stretch: slice
    ) -> NDArray[np.bool_]:
        """Return of each event whether it is of one of the agents or of an open kind."""
        is_of_agents = _mask(self.agents, agents)
        is_open = _mask(self.kind_names, open_kinds)
        agent_numbers = self.rows["agent"][stretch]
        kind_numbers = self.rows["kind"][stretch]
        may_read: NDArray[np.bool_] = (
            is_of_agents[agent_numbers] | is_open[kind_numbers]
        )
        return may_read

    def heads(self, kinds: Sequence[str], after: int, upto: int) -> Heads:
        """Return the heads of the events that can be read.

        Args:
            kinds: Their kinds.
            after: The seq behind which they begin.
            upto: The last seq.
        """
        stretch = self._stretch(after, upto)
        is_of_kind = _mask(self.kind_names, kinds)
        kind_numbers = self.rows["kind"][stretch]
        is_wanted = is_of_kind[kind_numbers]
        is_wanted &= self.rows["is_unreadable"][stretch] == 0
        rows = stretch.start + np.flatnonzero(is_wanted)
        return self._heads_of(rows)

    def _heads_of(self, rows: Integers) -> Heads:
        """Return the heads in some rows."""
        return Heads(
            seq=self.rows["seq"][rows],
            at=self.rows["at"][rows],
            kind=self._names_of("kind", self.kind_names, rows),
            agent=self._names_of("agent", self.agents, rows),
            session=self._names_of("session", self.sessions, rows),
            project=self._names_of("project", self.projects, rows),
        )

    def _names_of(self, column: str, names: Names, rows: Integers) -> NameColumn:
        """Return the names that some rows have in a column."""
        numbers = self.rows[column][rows]
        return NameColumn(list(names), numbers)

    def _stretch(self, after: int, upto: int) -> slice:
        """Return the rows of the events with `after` < seq ≤ `upto`."""
        bounds = np.searchsorted(self.rows["seq"], (after, upto), side="right")
        return slice(*bounds.tolist())

    def seqs_of(
        self,
        kinds: Sequence[str],
        projects: Sequence[str] | None,
        after: int,
        upto: int,
    ) -> Integers:
        """Return the seqs of the events that may be wanted, in journal order.

        Args:
            kinds: Their kinds.
            projects: Their projects, '' for none; None for all.
            after: The seq behind which they begin.
            upto: The last seq.
        """
        if not self.kind_names.numbers(*kinds):
            return np.empty(0, np.int64)
        stretch = self._stretch(after, upto)
        is_of_kind = _mask(self.kind_names, kinds)
        kind_numbers = self.rows["kind"][stretch]
        is_wanted = is_of_kind[kind_numbers]
        if projects is not None:
            is_of_project = _mask(self.projects, projects)
            # An event that is of no known project may have been erased.
            is_of_project[_NONE] = True
            project_numbers = self.rows["project"][stretch]
            is_wanted &= is_of_project[project_numbers]
        wanted_seqs: Integers = self.rows["seq"][stretch][is_wanted]
        return wanted_seqs

    def in_time_order(self, seqs: Integers) -> tuple[Integers, Integers]:
        """Return which of some events can be read, and when they happened (µs UTC).

        Args:
            seqs: The seqs of the events, in journal order.

        Returns:
            Their seqs and their times, both in time order. Of one time the one that was
            appended first comes first.
        """
        seq_column = self.rows["seq"]
        time_column = self.rows["at"]
        unreadable_column = self.rows["is_unreadable"]
        rows = np.searchsorted(seq_column, seqs)
        is_readable = unreadable_column[rows] == 0
        rows = rows[is_readable]
        times = time_column[rows]
        order = np.argsort(
            times,
            kind="stable",
        )
        rows = rows[order]
        return (
            seq_column[rows],
            time_column[rows],
        )

    def forget(self, seqs: Sequence[int]) -> None:
        """Let go of the sessions and projects of events that were erased.

        The columns are then those of a fold from nothing.

        Args:
            seqs: The seqs of the events.
        """
        is_erased = np.isin(self.rows["seq"], seqs)
        erased_rows = np.flatnonzero(is_erased)
        self.rows["is_unreadable"][erased_rows] = 1
        for column in ("session", "project"):
            self.rows[column][erased_rows] = _NONE
        self.sessions = renumbered(self.sessions, self.rows["session"])
        self.projects = renumbered(self.projects, self.rows["project"])


def _mask(names: Names, wanted: Collection[str]) -> NDArray[np.bool_]:
    """Return by number whether a name is one of those that are wanted."""
    mask = np.zeros(len(names), np.bool_)
    numbers = names.numbers(*wanted)
    mask[numbers] = True
    return mask


def _numbered(names: Names, texts: Sequence[str]) -> Integers:
    """Return the number of each text among names, which get those that are new."""
    numbers: dict[str, int] = {}
    for text in dict.fromkeys(texts):
        numbers[text] = names.number(text)
    text_numbers = map(numbers.__getitem__, texts)
    return np.fromiter(text_numbers, np.int64, len(texts))


def directory_view() -> type[EventDirectory]:
    """Return the directory for the kinds that there are, the same for the same kinds."""
    return _directory_of(tuple(sorted(VERSIONS)))


@cache
def _directory_of(kinds: tuple[str, ...]) -> type[EventDirectory]:
    return type(
        "DirectoryOfKinds",
        (EventDirectory,),
        {"kinds": kinds},
    )
