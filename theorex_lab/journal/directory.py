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
from theorex_lab.journal.folding import View

Integers = NDArray[np.int64]
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
        self.rows = Table(
            seq="i8",
            kind="i2",
            project="i4",
        )
        self.projects.number("")

    def apply(self, events: Sequence[Event]) -> None:
        """Note of which kind and project events are."""
        where = self.rows.grow(len(events))
        seqs = [event.seq for event in events]
        self.rows["seq"][where] = seqs
        kinds = [event.kind for event in events]
        kind_numbers = _numbered(self.kind_names, kinds)
        self.rows["kind"][where] = kind_numbers
        projects = [_project_of(event) for event in events]
        project_numbers = _numbered(self.projects, projects)
        self.rows["project"][where] = project_numbers

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
        seqs = self.rows["seq"]
        bounds = np.searchsorted(seqs, (after, upto), side="right")
        stretch = slice(*bounds.tolist())
        is_of_kind = _mask(self.kind_names, kinds)
        kind_numbers = self.rows["kind"][stretch]
        is_wanted = is_of_kind[kind_numbers]
        if projects is not None:
            is_of_project = _mask(self.projects, projects)
            # An event that is of no known project may have been erased.
            is_of_project[_NONE] = True
            project_numbers = self.rows["project"][stretch]
            is_wanted &= is_of_project[project_numbers]
        wanted_seqs: Integers = seqs[stretch][is_wanted]
        return wanted_seqs

    def forget(self, seqs: Sequence[int]) -> None:
        """Let go of the projects of events that were erased.

        The columns are then those of a fold from nothing.

        Args:
            seqs: The seqs of the events.
        """
        erased_seqs = np.array(seqs, np.int64)
        is_erased = np.isin(self.rows["seq"], erased_seqs)
        numbers = self.rows["project"]
        numbers[is_erased] = _NONE
        # Names are numbered in the order in which they first stand in a row.
        used, first_rows = np.unique(numbers, return_index=True)
        order = np.argsort(first_rows)
        names = list(self.projects)
        new_numbers = np.zeros(len(names), np.int32)
        self.projects = Names()
        self.projects.number("")
        for number in used[order].tolist():
            name = names[number]
            new_numbers[number] = self.projects.number(name)
        numbers[:] = new_numbers[numbers]


def _mask(names: Names, wanted: Sequence[str]) -> NDArray[np.bool_]:
    """Return by number whether a name is one of those that are wanted."""
    mask = np.zeros(len(names), np.bool_)
    numbers = names.numbers(*wanted)
    mask[numbers] = True
    return mask


def _numbered(names: Names, texts: Sequence[str]) -> list[int]:
    """Return the number of each text among names, which get those that are new."""
    numbers: dict[str, int] = {}
    for text in dict.fromkeys(texts):
        numbers[text] = names.number(text)
    return [numbers[text] for text in texts]


def _project_of(event: Event) -> str:
    """Return the project that an event says it is of, '' for none."""
    project = event.body.get("project", "")
    if isinstance(project, str):
        return project
    return ""


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
