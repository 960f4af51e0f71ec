"""The directory of a journal: of which kind and project each event is.

With it the events of one project, or of a rare kind, are read by their seqs, where
without it the whole journal is looked through. An index in the journal's file could hide
an event behind a flipped bit; this is a view, whose snapshots have checksums.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from theorex_lab.journal.columns import Names, Table
from theorex_lab.journal.event import VERSIONS, Event
from theorex_lab.journal.view import View

_NONE = 0  # the number of no project


class EventDirectory(View):
    """Of which kind and project each event is, erased ones among them.

    An event of which that is not known, such as an erased one, counts as one of no
    project. So the directory may name an event that is not wanted; it leaves none out.

    Attributes:
        kind_names: The kinds of the events.
        projects: The projects of the events; '' is none, and the first.
        rows: The seq of each event, and the numbers of its kind and project, in journal
            order.
    """

    name = "event_directory"
    code = 1
    takes_unreadable = True
    reads_outlines = True
    forgets = True

    def __init__(self) -> None:
        super().__init__()
        self.kind_names = Names()
        self.projects = Names()
        self.rows = Table(seq="i8", kind="i2", project="i4")
        self.projects.number("")

    def apply(self, events: Sequence[Event]) -> None:
        """Note of which kind and project events are."""
        owners = [(event.kind, _project_of(event)) for event in events]
        numbers: dict[tuple[str, str], tuple[int, int]] = {}
        for kind, project in dict.fromkeys(owners):
            numbers[kind, project] = (
                self.kind_names.number(kind),
                self.projects.number(project),
            )
        rows = []
        for event, owner in zip(events, owners, strict=True):
            rows.append((event.seq, *numbers[owner]))
        self.rows.extend(("seq", "kind", "project"), rows)

    def seqs_of(
        self,
        kinds: Sequence[str],
        projects: Sequence[str] | None,
        after: int,
        upto: int,
    ) -> NDArray[np.int64]:
        """Return the seqs of the events that may be wanted, in journal order.

        Args:
            kinds: Their kinds.
            projects: Their projects, '' for none; None for all.
            after: The seq behind which they begin.
            upto: The last seq.
        """
        seqs = self.rows["seq"]
        start, end = np.searchsorted(seqs, (after, upto), side="right").tolist()
        kind_numbers = self.kind_names.numbers(*kinds)
        is_wanted = np.isin(self.rows["kind"][start:end], kind_numbers)
        if projects is not None:
            # An event that is of no known project may have been erased since.
            numbers = [_NONE, *self.projects.numbers(*projects)]
            is_wanted &= np.isin(self.rows["project"][start:end], numbers)
        chosen: NDArray[np.int64] = seqs[start:end][is_wanted]
        return chosen

    def forget(self, seqs: Sequence[int]) -> None:
        """Let go of the projects of events that were erased.

        The columns are then those of a fold from nothing.

        Args:
            seqs: The seqs of the events.
        """
        is_erased = np.isin(self.rows["seq"], np.array(seqs, np.int64))
        numbers = self.rows["project"]
        numbers[is_erased] = _NONE
        names = list(self.projects)
        used, first_rows = np.unique(numbers, return_index=True)
        order = used[np.argsort(first_rows)]
        in_order = [_NONE, *order[order != _NONE].tolist()]
        new_numbers = np.zeros(len(names), np.int32)
        self.projects = Names()
        for number in in_order:
            new_numbers[number] = self.projects.number(names[number])
        numbers[:] = new_numbers[numbers]


def _project_of(event: Event) -> str:
    """Return the project that an event says it is of, '' for none."""
    project = event.body.get("project", "")
    return project if isinstance(project, str) else ""


def directory_view() -> type[EventDirectory]:
    """Return the directory for the kinds that there are, the same for the same kinds."""
    return _directory_of(tuple(sorted(VERSIONS)))


@cache
def _directory_of(kinds: tuple[str, ...]) -> type[EventDirectory]:
    return type("DirectoryOfKinds", (EventDirectory,), {"kinds": kinds})
