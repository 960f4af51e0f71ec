"""Hold notes and tensions, and make the event of a tension.

Notes and the writing of facts share it.
"""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from theorex_lab.core.clock import to_iso
from theorex_lab.designs.facts import STATUSES
from theorex_lab.designs.facts.words import check_word
from theorex_lab.journal.columns import Names, Strings, Table
from theorex_lab.journal.event import Body, Event, new_event
from theorex_lab.journal.view import View
from theorex_lab.memory.contract import Home

TENSION = "tension"


class Note(NamedTuple):
    """A note.

    Attributes:
        category: friction, surprise, quality or tension.
        status: One of `STATUSES`.
        facts: The facts that a tension is of.
        fact: What it was promoted to, or what a tension was resolved for.
        at: In µs UTC.
        reviewed_at: In µs UTC, 0 where it is pending.
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
        """Return the note in the members of Engram's files, with those that they lack.

        Times are ISO.
        """
        document: dict[str, Any] = {"id": self.id}
        if self.facts:
            document[TENSION] = self.text
            document["factRefs"] = list(self.facts)
        else:
            document["observation"] = self.text
        document |= {
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
        return document


class Notes(View):
    """A row a note.

    It has the columns status (a place in `STATUSES`), reviewed_at (µs) and fact (a
    number of `facts`), and in `written` its event as JSON.
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
            row = self.ids.find(event.body["note_id"])
            if event.kind == "note_reviewed":
                if row is not None:
                    self._review(row, event)
            elif row is None:
                self.ids.number(event.body["note_id"])
                self.notes.add(fact=self.facts.number(""))
                entry = [event.at, event.id, event.agent, event.body]
                self.written.append(json.dumps(entry))

    def _review(self, row: int, event: Event) -> None:
        body = event.body
        self.notes.put(
            row,
            status=STATUSES.index(body["status"]),
            reviewed_at=0 if body["undo"] else event.at,
            fact=self.facts.number(body["fact"]),
        )

    def note(self, row: int) -> Note:
        """Return the note in a row."""
        at, event_id, agent, body = json.loads(self.written[row])
        notes = self.notes
        return Note(
            id=self.ids[row],
            text=body["text"],
            category=body.get("category", TENSION),
            status=STATUSES[notes["status"][row]],
            facts=tuple(body.get("facts", ())),
            fact=self.facts[notes["fact"][row]],
            source=body["source"],
            at=at,
            reviewed_at=notes["reviewed_at"][row].item(),
            event_id=event_id,
            project=body.get("project", ""),
            agent=agent,
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
    """Return the event of a tension between facts, under the next free id.

    It is to be made and appended inside `journal.exclusive`.

    Args:
        home: Where the facts are.
        facts: Their ids.
        at: When it is noted, µs UTC.
        agent: Whose note it is.
        source: Who says so, a key of `TRUST`.
        lineage: The ids of the events that it rests on.
        text: What is the matter, in words.
    """
    body: Body = {
        "text": text or f"{', '.join(facts)} may not hold side by side",
        "facts": [*facts],
        "source": source,
        "note_id": next_id(home, TENSION),
        "project": home.project,
    }
    return new_event("tension_noted", body, agent=agent, at=at, lineage=lineage)


def next_id(home: Home, prefix: str) -> str:
    """Return the next free id of `obs` or `tension`.

    Inside `journal.exclusive` nobody else takes it.
    """
    last = 0
    with home.views.reading(Notes) as view:
        for note_id in view.ids:
            if note_id.startswith(f"{prefix}-"):
                last = max(last, int(note_id.rpartition("-")[2]))
    return f"{prefix}-{last + 1:04d}"


def notes_of(
    home: Home, status: str | None = None, *, tensions: bool | None = None
) -> list[Note]:
    """Return notes of the home's project or of none, in the order of their writing.

    Args:
        home: Whose notes they are.
        status: Only of this status.
        tensions: These alone, those that are none, or with None both.

    Raises:
        InvalidInput: There is no such status.
    """
    if status is not None:
        check_word("status", status, STATUSES)
    notes: list[Note] = []
    with home.views.reading(Notes) as view:
        for row in range(len(view.notes)):
            note = view.note(row)
            if status not in (None, note.status):
                continue
            if home.projects is not None and note.project not in ("", *home.projects):
                continue
            if tensions in (None, note.category == TENSION):
                notes.append(note)
    return notes


def note_by_id(home: Home, note_id: str) -> Note:
    """Return the note of this id.

    Raises:
        InvalidInput: There is none.
    """
    notes = {note.id: note for note in notes_of(home)}
    return notes[check_word("note", note_id, notes)]
