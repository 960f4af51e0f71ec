"""How a memory is driven to be compared: its methods, a log, and what it is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from theorex_lab.memory.contract import Item

if TYPE_CHECKING:
    from theorex_lab.journal.event import Event


class EvalQuery(NamedTuple):
    """A question at a time (µs UTC): the ids of the events that answer it, and words
    that must be readable.

    stale: ids of events that must not come back, since later ones correct them or they
    answer something else.
    """

    at: int
    query: str
    answers: frozenset[str] = frozenset()
    words: tuple[str, ...] = ()
    stale: frozenset[str] = frozenset()


class SessionLine(NamedTuple):
    """What a coding session says at a time (µs UTC), in full: a prompt, the last
    message of a turn, or a tool call.

    inputs: the texts in a tool's input.  reads, edits: paths from the project's root.
    """

    at: int
    session: str
    prompt: str = ""
    message: str = ""
    inputs: str = ""
    reads: tuple[str, ...] = ()
    edits: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class EvalLog:
    """Recorded events in journal order, and what is asked of whoever lived them.

    name: of its data set, `set/part` for a part of one.  lines: of coding sessions,
    what a score of contexts is read from; events hold previews.
    """

    name: str
    events: Sequence[Event]
    probes: Sequence[EvalQuery] = ()
    lines: Sequence[SessionLine] = ()


class MemoryDesign(Protocol):
    """Anything that remembers, so that it can be compared: a design, a baseline, an
    adapter to another system.
    """

    def observe(self, events: Sequence[Event]) -> None:
        """Take in what a hook, a dispatch or a person appended, in journal order."""

    def consolidate(self, now: int) -> None:
        """The night; repeating it changes nothing. `now` in µs UTC."""

    def inject(self, now: int, tokens: int) -> Sequence[Item]:
        """Return what a session starts with, unasked, within a budget."""

    def retrieve(self, query: str, now: int, tokens: int) -> Sequence[Item]:
        """Return what a question or a first prompt gets within a budget, best first."""
