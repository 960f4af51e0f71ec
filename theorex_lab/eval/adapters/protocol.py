"""How a memory is driven to be compared: its methods, a log, and what it is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from theorex_lab.memory.contract import Item

if TYPE_CHECKING:
    from theorex_lab.eval.datasets.needs_rows import LogNeeds
    from theorex_lab.journal.event import Event


class EvalQuery(NamedTuple):
    """A question at a time, and what a right answer rests on.

    Attributes:
        at: When it is asked, in µs UTC.
        query: The text of the question.
        answers: The ids of the events that answer it.
        words: Words that must be readable in the answer.
        stale: The ids of events that must not come back, since later ones correct them
            or they answer something else.
        kind: What makes it hard, where the data set says so.
        project: The project in which it is asked, '' where that makes no difference.
    """

    at: int
    query: str
    answers: frozenset[str] = frozenset()
    words: tuple[str, ...] = ()
    stale: frozenset[str] = frozenset()
    kind: str = ""
    project: str = ""


class SessionLine(NamedTuple):
    """What a coding session says at a time, in full.

    It is a prompt, the last message of a turn, or a tool call.

    Attributes:
        at: When it was said, in µs UTC.
        session: The id of the session.
        prompt: The text of a prompt; '' for any other line.
        message: The last message of a turn; '' for any other line.
        inputs: The texts in a tool's input.
        reads: The paths that the tool reads, from the project's root.
        edits: The paths that it edits, from the project's root.
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

    Attributes:
        name: The name of its data set, `set/part` for a part of one.
        events: The events; they hold previews of long texts.
        probes: The questions that are asked.
        lines: The full lines of coding sessions, which a score of contexts is read
            from.
        needs: What its sessions needed to know, where readers wrote that down.
    """

    name: str
    events: Sequence[Event]
    probes: Sequence[EvalQuery] = ()
    lines: Sequence[SessionLine] = ()
    needs: LogNeeds | None = None


class MemoryDesign(Protocol):
    """Anything that remembers, so that it can be compared.

    It is a design, a baseline, or an adapter to another system. Times are in µs UTC.

    It may have a method `enter(project)` too. In a log of several projects that is
    called before anything is asked, with the project of whoever asks, '' for none.
    """

    def observe(self, events: Sequence[Event]) -> None:
        """Take in what a hook, a dispatch or a person appended, in journal order.

        Args:
            events: The events, each once.
        """

    def consolidate(self, now: int) -> None:
        """Run the maintenance; repeating it changes nothing.

        Args:
            now: The present, in µs UTC.
        """

    def inject(self, now: int, tokens: int) -> Sequence[Item]:
        """Return what a session starts with, unasked, within a budget.

        Args:
            now: When the session starts, in µs UTC.
            tokens: The budget, in tokens.
        """

    def retrieve(
        self,
        query: str,
        now: int,
        tokens: int,
    ) -> Sequence[Item]:
        """Return what a question or a first prompt gets within a budget, best first.

        Args:
            query: The text of the question.
            now: When it is asked, in µs UTC.
            tokens: The budget, in tokens.
        """
