"""What a line of a briefing may be, before the lines that fit are chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

# The titles of the sections, in the order in which a briefing has them.
RULES = "Standing rules"
COMMANDS = "Commands that work here"
WORK = "Recent work"
PITFALLS = "Known pitfalls"
DECISIONS = "Decisions"
PLACES = "Where things are"
ASKED = "About this prompt"
SECTIONS = (RULES, COMMANDS, WORK, PITFALLS, DECISIONS, PLACES, ASKED)

LONGEST_LINE = 240  # bytes of a line, with its mark
LINE_MARK = "- "
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()


@dataclass(frozen=True, slots=True)
class Candidate:
    """One line that a briefing may have.

    Attributes:
        section: The title of its section, one of SECTIONS.
        kind: What it is within its section, such as 'check' or 'asked'.
        text: The line itself, without its mark.
        weight: How much it is worth, 0..1.
        at: When what it says was last said or done (µs UTC).
        session: The session that it is of, '' for many.
        words: Its content words, by which lines that say the same are told.
        events: The ids of the events that it rests on.
        why: Why it is there, in words a person understands.
        features: By name what its weight was made of.
    """

    section: str
    kind: str
    text: str
    weight: float
    at: int
    session: str
    words: frozenset[str]
    events: tuple[str, ...]
    why: str
    features: Mapping[str, float] = field(default_factory=dict)


def dated(text: str, at: int) -> str:
    """Return a line with the day of a time (µs UTC) at its end.

    >>> dated("The cache is per session.", 1_740_400_000_000_000)
    'The cache is per session (24 Feb).'
    """
    sentence = text.rstrip().removesuffix(".")
    return f"{sentence} ({short_date(at)})."


def short_date(at: int) -> str:
    """Return the day and month of a time (µs UTC).

    >>> short_date(1_740_400_000_000_000)
    '24 Feb'
    """
    moment = _EPOCH + timedelta(microseconds=at)
    return f"{moment.day} {_MONTHS[moment.month - 1]}"


def fits_a_line(text: str) -> bool:
    """Return whether a text is one line that is not too long with its mark."""
    if "\n" in text:
        return False
    return len(f"{LINE_MARK}{text}".encode()) <= LONGEST_LINE
