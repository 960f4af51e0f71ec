"""Pages of the heads of events, as a journal gives them to its directory.

Standard library only, since each journal has them.
"""

from __future__ import annotations

TYPE_CHECKING = False  # what type checkers take for true
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Self

    from theorex_lab.journal.event import Body, Event


# Kinds whose heads are made without their long texts, by the kind the members that have
# those. Each may be any text.
LONG_TEXTS = {
    "tool_used": ("input", "response", "command"),
    "prompt": ("text",),
    "turn_ended": ("message",),
}


class HeadPage:
    """The heads of some events, in journal order.

    Attributes:
        seqs: Their seqs.
        times: When they happened (µs UTC).
        agents: Whose they are.
        sessions: Their sessions; '' is none.
        kinds: Their kinds.
        projects: Their projects; '' is none, and where nobody can tell.
        is_unreadable: Of each whether it was erased or set aside.
        events: Those of the events that were asked for as a whole, but for unreadable
            ones.
    """

    def __init__(self) -> None:
        self.seqs: Sequence[int] = []
        self.times: Sequence[int] = []
        self.agents: Sequence[str] = []
        self.sessions: Sequence[str] = []
        self.kinds: Sequence[str] = []
        self.projects: list[str] = []
        self.is_unreadable: list[bool] = []
        self.events: list[Event] = []

    @classmethod
    def of(cls, events: Sequence[Event]) -> Self:
        """Return the heads of events, at least of one."""
        page = cls()
        columns = zip(*events, strict=True)
        (
            page.seqs,
            _,
            page.times,
            page.agents,
            page.sessions,
            page.kinds,
            _,
            bodies,
        ) = columns
        page.projects = [project_of_body(body) for body in bodies]
        page.is_unreadable = ["erased" in body for body in bodies]
        return page

    def keep_whole(self, events: Sequence[Event], kinds: Collection[str]) -> None:
        """Keep the events of some kinds as a whole, but for unreadable ones.

        Args:
            events: Events of the page, in any order.
            kinds: The kinds.
        """
        chosen = [event for event in events if event.kind in kinds]
        self.events = sorted(event for event in chosen if not event.erased)

    def put(self, positions: Sequence[int], events: Sequence[Event]) -> None:
        """Put in what events say of their projects, and whether they can be read.

        Args:
            positions: Where the events stand in the page, in order.
            events: The events.
        """
        for position, event in zip(positions, events, strict=True):
            self.projects[position] = project_of_body(event.body)
            self.is_unreadable[position] = event.erased


def project_of_body(body: Body) -> str:
    """Return the project that an event says it is of, '' for none.

    >>> project_of_body({"project": "till"}), project_of_body({"project": 7})
    ('till', '')
    """
    project = body.get("project", "")
    if isinstance(project, str):
        return project
    return ""
