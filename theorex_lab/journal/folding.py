"""What a view is: columns that are folded from events."""

from __future__ import annotations

import threading
from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from theorex_lab.journal.columns import Parts
from theorex_lab.journal.event import Event
from theorex_lab.journal.heads import Heads

NO_SCOPE = "none"
PROJECT_SCOPE = "project"


class View(Parts, ABC):
    """Columns folded from events.

    They are those of its tables, names and texts, by the names of its attributes (see
    `Parts`).

    A fold is pure: it reads the events it is given and its own columns, no other view,
    no clock, no model; and it gives the same columns however the events are cut into
    batches (floating-point columns up to rounding).

    >>> from theorex_lab import Lab
    >>> from theorex_lab.journal.columns import Table
    >>> class Times(View):
    ...     name = "times"
    ...     code = 1
    ...     kinds = ("observation",)
    ...
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.rows = Table(at="i8")
    ...
    ...     def _observation(self, event):
    ...         self.rows.add(at=event.at)
    >>> with Lab.temporary() as lab:
    ...     _ = lab.agent("main").write("The till rounds half up")
    ...     len(lab.views.get(Times).rows)
    1
    """

    name: ClassVar[str]
    # Raised whenever the fold or the columns change, so that older snapshots are passed
    # over.
    code: ClassVar[int]
    kinds: ClassVar[tuple[str, ...]]
    # Where views of one name differ in what they read: each kind after who reads it and
    # a colon. Else the kinds.
    reads: ClassVar[tuple[str, ...]] = ()
    # Whether events come to it that were set aside or erased.
    takes_unreadable: ClassVar[bool] = False
    # Whether the outlines of tool calls are enough for the fold, see `Journal.outlines`.
    reads_outlines: ClassVar[bool] = False
    # Whether the heads of events are enough for the fold, but for `whole_kinds`; then
    # `apply_heads` takes them in, where the directory of the journal has them.
    reads_heads: ClassVar[bool] = False
    whole_kinds: ClassVar[tuple[str, ...]] = ()
    # Whether the fold takes in nothing but what was erased or set aside.
    reads_unreadable_alone: ClassVar[bool] = False
    # What a view of a home that is opened for a project is folded from: with "project" the
    # project's events and those of none, see `view_scopes`; with "none" all events. In an
    # agent's home every view is folded from what the agent may read, whatever this says.
    scope: ClassVar[str] = NO_SCOPE
    # Whether `forget` takes out of it what was erased, so that it is not folded again.
    forgets: ClassVar[bool] = False

    def __init__(self) -> None:
        self.seq = 0
        self.lock = threading.RLock()
        # Why the fold left out events of kinds that declare no fields, by seq: it
        # raised on them.
        self.passed_over: dict[int, str] = {}

    def apply(self, events: Sequence[Event]) -> None:
        """Take in events of `kinds`, in journal order, none of them erased.

        Each kind is taken in by a method `_KIND`.
        """
        for event in events:
            getattr(self, f"_{event.kind}")(event)

    def apply_heads(self, heads: Heads) -> None:
        """Take in events by their heads; the columns are then those after `apply`.

        Only for views that say so by `reads_heads`.

        Args:
            heads: The heads of events of `kinds` without `whole_kinds`, none erased.
        """
        raise NotImplementedError(f"the view {self.name} reads whole events")

    def forget(self, seqs: Sequence[int]) -> None:
        """Take out of the columns what events that were erased left in them.

        The columns are then those of a fold from nothing. Only for views that say so by
        `forgets`.

        Args:
            seqs: The seqs of the erased events.
        """
        raise NotImplementedError(f"the view {self.name} is folded again")
