"""The view of notes and tensions, and the event of a tension, which notes and the
writing of facts share.
"""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from theorex_lab.core.clock import to_iso
from theorex_lab.designs.facts import STATUSES
from theorex_lab.journal.columns import Names, Strings, Table
from theorex_lab.journal.event import Body, Event, new_event
from theorex_lab.journal.view import View
from theorex_lab.memory.contract import Home

TENSION = "tension"


class Note(NamedTuple):
    """A note. category: friction, surprise, quality or tension.  status: one of
    `STATUSES`.  facts: that a tension is of.

    fact: what it was promoted to, or what a tension was resolved for.  at, reviewed_at:
    µs UTC, 0 where it is pending.
    """

    id: str
    text: str
    category: str
    status: str
    facts: tuple[str, ...]
    fact: str
    source: str
    at: int
    reviewed_at: int
    event_id: str
    project: str
    agent: str

    def to_dict(self) -> dict[str, Any]:
        """The note in the members of Engram's files, with those that they lack; times
        as ISO.
        """
        told = (
            {TENSION: self.text, "factRefs": [*self.facts]}
            if self.facts
            else {"observation": self.text}
        )
        return {
            "id": self.id,
            **told,
            "category": self.category,
            "status": self.status,
            "fact": self.fact or None,
            "createdAt": to_iso(self.at),
            "updatedAt": to_iso(self.reviewed_at or self.at),
            "trust": self.source,
            "project": self.project,
            "agent": self.agent,
            "event": self.event_id,
        }


class Notes(View):
    """A row a note: status (a place in `STATUSES`), reviewed_at (µs), fact (a number of
    `facts`); written: its event as JSON.
    """

    name = "notes"
    code = 1
    kinds = ("friction_noted", "tension_noted", "note_reviewed")

    def __init__(self) -> None:
        super().__init__()
        self.ids = Names()
        self.facts = Names()
        self.written = Strings()
        self.notes = Table(status="i1", reviewed_at="i8", fact="i4")

    def apply(self, events: Sequence[Event]) -> None:
        """Take in notes, and what became of them."""
        for event in events:
            body, row = event.body, self.ids.find(event.body["note_id"])
            if event.kind == "note_reviewed" and row is not None:
                at = 0 if body["undo"] else event.at
                status = STATUSES.index(body["status"])
                self.notes.put(
                    row,
                    status=status,
                    reviewed_at=at,
                    fact=self.facts.number(body["fact"]),
                )
            elif event.kind != "note_reviewed" and row is None:
                self.ids.number(body["note_id"])
                self.notes.add(fact=self.facts.number(""))
                self.written.append(json.dumps([event.at, event.id, event.agent, body]))

    def note(self, row: int) -> Note:
        """The note in a row."""
        (at, event_id, agent, body), about = json.loads(self.written[row]), self.notes
        category = body.get("category", TENSION)
        facts = tuple(body.get("facts", ()))
        return Note(
            self.ids[row],
            body["text"],
            category,
            STATUSES[about["status"][row]],
            facts,
            self.facts[about["fact"][row]],
            body["source"],
            at,
            about["reviewed_at"][row].item(),
            event_id,
            body.get("project", ""),
            agent,
        )


def tension_event(
    home: Home,
    facts: Sequence[str],
    *,
    at: int,
    agent: str,
    source: str,
    lineage: Sequence[str],
    text: str = "",
) -> Event:
    """The event of a tension between facts, under the next free id; to be made and
    appended inside `journal.exclusive`.
    """
    body: Body = {
        "text": text or f"{', '.join(facts)} may not hold side by side",
        "facts": [*facts],
        "source": source,
    }
    body |= {"note_id": next_id(home, TENSION), "project": home.project}
    return new_event("tension_noted", body, agent=agent, at=at, lineage=lineage)


def next_id(home: Home, prefix: str) -> str:
    """The next free id of `obs` or `tension`; inside `journal.exclusive` nobody else
    takes it.
    """
    with home.views.reading(Notes) as view:
        taken = [
            note_id.rpartition("-")[2]
            for note_id in view.ids
            if note_id.startswith(f"{prefix}-")
        ]
    return f"{prefix}-{max(map(int, taken), default=0) + 1:04d}"
