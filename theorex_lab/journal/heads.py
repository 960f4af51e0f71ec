"""Heads of events: when each happened, whose it is, and of which kind and project.

A fold that asks for nothing else takes in columns of a million events at once. The
directory of the journal holds them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from theorex_lab.journal.columns import Names
from theorex_lab.journal.event import FIELDS, Event
from theorex_lab.journal.head_page import HeadPage
from theorex_lab.journal.kinds import PROJECT

Integers = NDArray[np.int64]


class NameColumn(NamedTuple):
    """A name of each event, such as that of its agent.

    Attributes:
        names: The names by their numbers; some may be of no event here.
        numbers: The number of each event's name.

    >>> column = NameColumn(["main", "sage"], np.array([1, 0, 1]))
    >>> column.texts()
    ['sage', 'main', 'sage']
    >>> agents = Names()
    >>> column.numbers_in(agents).tolist(), list(agents)
    ([0, 1, 0], ['sage', 'main'])
    """

    names: Sequence[str]
    numbers: Integers

    @classmethod
    def of(cls, texts: Sequence[str]) -> NameColumn:
        """Return the column of the names of events.

        >>> NameColumn.of(["sage", "main", "sage"]).names
        ['sage', 'main']
        """
        names = list(dict.fromkeys(texts))
        number_of = {name: number for number, name in enumerate(names)}
        numbers = map(number_of.__getitem__, texts)
        return cls(names, np.fromiter(numbers, np.int64, len(texts)))

    def texts(self) -> list[str]:
        """Return the name of each event."""
        names = self.names
        return [names[number] for number in self.numbers.tolist()]

    def rows(self, where: slice | NDArray[np.bool_] | Integers) -> NameColumn:
        """Return the column of some of the events."""
        return NameColumn(self.names, self.numbers[where])

    def numbers_in(self, names: Names) -> Integers:
        """Return the number of each event's name among other names.

        New names are numbered in the order in which they first stand here.
        """
        n_names = len(self.names)
        numbers = first_seen(self.numbers, n_names)
        new_numbers: list[int] = []
        for number in numbers:
            name = self.names[number]
            new_numbers.append(names.number(name))
        return _changed(
            self.numbers,
            numbers,
            new_numbers,
            n_names,
        )


class Heads(NamedTuple):
    """The heads of events, one row an event, in journal order.

    Attributes:
        seq: Their seqs.
        at: When they happened (µs UTC).
        kind: Their kinds.
        agent: Whose they are.
        session: Their sessions; '' is none.
        project: Their projects; '' is none.
    """

    seq: Integers
    at: Integers
    kind: NameColumn
    agent: NameColumn
    session: NameColumn
    project: NameColumn

    def rows(self, where: slice | NDArray[np.bool_] | Integers) -> Heads:
        """Return the heads of some of the events."""
        return Heads(
            seq=self.seq[where],
            at=self.at[where],
            kind=self.kind.rows(where),
            agent=self.agent.rows(where),
            session=self.session.rows(where),
            project=self.project.rows(where),
        )


def heads_of(events: Sequence[Event]) -> Heads:
    """Return the heads of events, at least of one, see `heads_tell`."""
    page = HeadPage.of(events)
    return Heads(
        seq=np.array(page.seqs, np.int64),
        at=np.array(page.times, np.int64),
        kind=NameColumn.of(page.kinds),
        agent=NameColumn.of(page.agents),
        session=NameColumn.of(page.sessions),
        project=NameColumn.of(page.projects),
    )


def heads_tell(kind: str) -> bool:
    """Return whether the head of an event of a kind says of which project it is.

    Of a kind that declares no project, the member of that name may be anything.

    >>> heads_tell("prompt"), heads_tell("of_nobody")
    (True, False)
    """
    fields = FIELDS.get(kind, {})
    declared = fields.get("project", fields.get("project?"))
    return declared is PROJECT


def first_seen(numbers: Integers, n_names: int) -> list[int]:
    """Return each number once, in the order in which they first stand in a column.

    Args:
        numbers: The numbers, from 0 to below `n_names`.
        n_names: How many names there are.

    >>> first_seen(np.array([2, 0, 2, 0]), 4)
    [2, 0]
    """
    n_rows = len(numbers)
    if n_rows < n_names:
        return list(dict.fromkeys(numbers.tolist()))
    first_rows = np.full(n_names, n_rows)
    # Of rows that are assigned to one place the last one stays, which is the first here.
    last_first = numbers[::-1]
    first_rows[last_first] = np.arange(n_rows)[::-1]
    n_used = np.count_nonzero(first_rows < n_rows)
    in_order = np.argsort(first_rows)
    used_numbers: list[int] = in_order[:n_used].tolist()
    return used_numbers


def _changed(
    numbers: Integers, old: Sequence[int], new: Sequence[int], n_names: int
) -> Integers:
    """Return numbers with each of the old ones replaced by its new one."""
    new_numbers = np.zeros(n_names, np.int64)
    new_numbers[old] = new
    changed: Integers = new_numbers[numbers]
    return changed


def renumbered(names: Names, numbers: Integers) -> Names:
    """Return the names that stand in a column, and '' first; number the column anew.

    So they are as a fold from nothing gives them, after rows have lost their names.

    Args:
        names: The names by their numbers.
        numbers: The column, which is changed.
    """
    texts = list(names)
    used_names = Names()
    used_names.number("")
    n_names = len(texts)
    old_numbers = first_seen(numbers, n_names)
    new_numbers: list[int] = []
    for number in old_numbers:
        text = texts[number]
        new_numbers.append(used_names.number(text))
    numbers[:] = _changed(
        numbers,
        old_numbers,
        new_numbers,
        n_names,
    )
    return used_names
