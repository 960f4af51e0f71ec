"""Lines of what agents and people wrote down by hand."""

from __future__ import annotations

from collections.abc import Iterator

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.journal.event import Event
from theorex_lab.memory.briefing.candidates import (
    DECISIONS,
    Candidate,
    dated,
)
from theorex_lab.memory.briefing.kept_events import newest_events
from theorex_lab.memory.briefing.standing import standing_lines
from theorex_lab.memory.contract import Home
from theorex_lab.memory.observation import AVOID_TYPE, DEFAULT_TYPE, TRUST
from theorex_lab.memory.replaced_texts import StoredText
from theorex_lab.text.line import folded
from theorex_lab.text.wording import content_words

# How likely a note of each type is worth reading on the day it was written. Notes of
# other types are shown by the parts that make them.
_WORTH = {"decision": 0.5, AVOID_TYPE: 0.45, DEFAULT_TYPE: 0.3, "change": 0.25}
_HALF_LIFE_DAYS = 60.0
_MOST_NOTES = 500  # the newest, that are looked at


def note_candidates(home: Home, now: int) -> list[Candidate]:
    """Return the notes of the home's project or of none, as lines.

    Untrusted notes are left out, and those that a newer one replaces. What a person
    says of notes is applied afterwards, by `marked_lines`, and there a note is left out
    that is too long for a line: search finds it.

    Args:
        home: The home.
        now: The time of the briefing (µs UTC).
    """
    notes = list(_notes(home, now))
    candidates = [_line(note, now) for note in notes]
    statements = [
        StoredText(
            folded(note.body["text"]),
            note.at,
            note.body.get("project", ""),
            TRUST[note.body["source"]],
        )
        for note in notes
    ]
    return standing_lines(candidates, statements)


def _notes(home: Home, now: int) -> Iterator[Event]:
    """Yield the newest trusted notes up to a time."""
    for event in newest_events(home, ["observation"], most=_MOST_NOTES):
        is_trusted = TRUST[event.body["source"]] >= TRUST["agent"]
        if event.at <= now and is_trusted and event.body["type"] in _WORTH:
            yield event


def _line(event: Event, now: int) -> Candidate:
    """Return the line of one note."""
    age_days = (now - event.at) / MICROSECONDS_PER_DAY
    kind = event.body["type"]
    recency = 0.5 ** (age_days / _HALF_LIFE_DAYS)
    plain_text = folded(event.body["text"])
    return Candidate(
        section=DECISIONS,
        kind=kind,
        text=dated(plain_text, event.at),
        weight=_WORTH[kind] * recency,
        at=event.at,
        session=event.session,
        words=content_words(plain_text),
        events=(event.id,),
        why=f"{event.agent} wrote it down as a {kind}",
        features={"recency": recency},
        own_id=event.id,
    )
