"""Lines of what agents and people wrote down by hand, and of what a person pinned."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.journal.event import Event
from theorex_lab.memory.annotations import Marks
from theorex_lab.memory.briefing.candidates import (
    DECISIONS,
    Candidate,
    dated,
    fits_a_line,
)
from theorex_lab.memory.contract import Home
from theorex_lab.memory.observation import AVOID_TYPE, DEFAULT_TYPE, TRUST
from theorex_lab.text.line import folded
from theorex_lab.text.wording import content_words

# How likely a note of each type is worth reading on the day it was written. Notes of
# other types are shown by the parts that make them.
_WORTH = {"decision": 0.5, AVOID_TYPE: 0.45, DEFAULT_TYPE: 0.3, "change": 0.25}
_HALF_LIFE_DAYS = 60.0
_MOST_NOTES = 500  # the newest, that are looked at
_PINNED_WORTH = 1.0


def note_candidates(home: Home, now: int) -> list[Candidate]:
    """Return the notes of the home's project or of none, as lines.

    A note that is too long for a line is left out: search finds it. A dismissed note is
    left out, a corrected one has its correction's words, and a pinned one comes first.
    Untrusted notes are left out.

    Args:
        home: The home.
        now: The time of the briefing (µs UTC).
    """
    marks = home.views.get(Marks)
    with marks.lock:
        pinned = frozenset(marks.pinned)
        dismissed = frozenset(marks.dismissed)
        corrected = dict(marks.corrected)
    lines = []
    for event in _notes(home, now):
        if event.id in dismissed:
            continue
        text: str = corrected.get(event.id) or event.body["text"]
        line = _line(event, text, now, is_pinned=event.id in pinned)
        if fits_a_line(line.text):
            lines.append(line)
    return lines


def _notes(home: Home, now: int) -> Iterator[Event]:
    """Yield the newest trusted notes up to a time."""
    projects = None
    if home.projects is not None:
        projects = [*home.projects, ""]
    events = home.journal.tail(0, kinds=["observation"], projects=projects)
    for event in deque(events, maxlen=_MOST_NOTES):
        is_trusted = TRUST[event.body["source"]] >= TRUST["agent"]
        if event.at <= now and is_trusted and event.body["type"] in _WORTH:
            yield event


def _line(event: Event, text: str, now: int, *, is_pinned: bool) -> Candidate:
    """Return the line of one note."""
    age_days = (now - event.at) / MICROSECONDS_PER_DAY
    kind = event.body["type"]
    recency = 0.5 ** (age_days / _HALF_LIFE_DAYS)
    weight = _WORTH[kind] * recency
    why = f"{event.agent} wrote it down as a {kind}"
    if is_pinned:
        weight = _PINNED_WORTH
        why += ", pinned by you"
    plain_text = folded(text)
    return Candidate(
        section=DECISIONS,
        kind=kind,
        text=dated(plain_text, event.at),
        weight=weight,
        at=event.at,
        session=event.session,
        words=content_words(plain_text),
        events=(event.id,),
        why=why,
        features={"recency": recency, "pinned": float(is_pinned)},
    )
