"""What a line of a briefing may be, before the lines that fit are chosen."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import blake2b

from theorex_lab.core.patterns import lazy_pattern

# The titles of the sections, in the order in which a briefing has them.
RULES = "Standing rules"
COMMANDS = "Commands that work here"
WORK = "Recent work"
PITFALLS = "Known pitfalls"
DECISIONS = "Decisions"
PLACES = "Where things are"
ASKED = "About this prompt"
SECTIONS = (RULES, COMMANDS, WORK, PITFALLS, DECISIONS, PLACES, ASKED)
# Those whose lines are put together from what several events tell.
COMPUTED_SECTIONS = frozenset({COMMANDS, PITFALLS, PLACES})

LONGEST_LINE = 240  # bytes of a line, with its mark
LINE_MARK = "- "
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
_DAY = rf"\d{{1,2}}\ (?:{'|'.join(_MONTHS)})"
# What a line says at its end of when, and how often, it was said or run.
_TIMES = lazy_pattern(
    rf"\((?:\d+\ sessions?,\ last\ )?{_DAY}\)\.?$",
    re.VERBOSE,
)
# The same of edits.
_EDITS = lazy_pattern(
    rf":?\s(?:edited|changed)\ in\ \d+\ \w+\b.*,\ last\ {_DAY}\.?$",
    re.VERBOSE,
)
# The full stop of a sentence, not the last one of `./...`.
_LAST_STOP = lazy_pattern(r"(?<=[\w`\"')])\.$")
# How a line begins that holds a user's request: what became of it says no more of it.
_LABEL = lazy_pattern(r"asked(?:\ [\w, ]{1,40}|,\ [\w, ]{1,40})?:\s+", re.I)
# What a word of a line may have around it that says nothing.
_AROUND_A_WORD = "`\"'“”‘’,;:!?()[]"
_ID_BYTES = 6
_REMEMBERED_TIMES = 256  # what one message says is dated statement by statement


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
        words: Its content words, by which lines that say the same are recognised.
        events: The ids of the events that it rests on.
        why: Why it is there, in words a person understands.
        features: By name what its weight was made of.
        own_id: The id that it has whatever its words are: of the item that it shows, or
            of the line in whose place it stands. '' gives it an id by its words.
        is_pinned: Whether a person wants it first, and before all others.
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
    own_id: str = ""
    is_pinned: bool = False

    @property
    def id(self) -> str:
        """The id by which a person names it, also when it is made again another day."""
        return self.own_id or line_id(self.text)


def line_id(text: str) -> str:
    """Return the id of a line by what it says: 12 hexadecimal digits.

    Dates, counts, case and punctuation do not change it.

    >>> line_id("Never commit to git (2 sessions, last 24 Feb).")
    'ef0c9b2a0c5d'
    >>> line_id("never commit to git (1 Mar).")
    'ef0c9b2a0c5d'
    """
    words: list[str] = []
    for raw_word in bare_text(text).lower().split():
        if raw_word.isalnum():  # most words, around which nothing stands
            words.append(raw_word)
            continue
        word = raw_word.strip(_AROUND_A_WORD)
        if word.endswith(".") and any(map(str.isalnum, word)):
            word = word.rstrip(".")
        if word:
            words.append(word)
    content = " ".join(words).encode()
    return blake2b(content, digest_size=_ID_BYTES).hexdigest()


def bare_text(text: str) -> str:
    """Return what a line says, without when and how often it was said.

    >>> bare_text("Test with `make test` (3 sessions, last 2 Mar).")
    'Test with `make test`'
    >>> bare_text("`app/till.py`: edited in 4 sessions, last 2 Mar.")
    '`app/till.py`'
    """
    unlabelled = text.strip()
    label = _LABEL.match(unlabelled)
    if label is not None:
        unlabelled = unlabelled[label.end() :]
    without_note = _without_note(unlabelled)
    if without_note.endswith((".", ".\n")):
        return _LAST_STOP.sub("", without_note)
    return without_note


def _without_note(text: str) -> str:
    """Return a line without its note on when it was said, run or edited."""
    start = text.rfind("(")
    if start >= 0 and _TIMES.match(text, start):
        return text[:start].rstrip()
    if ", last " in text:
        return _EDITS.sub("", text)
    return text


def dated(text: str, at: int) -> str:
    """Return a line with the day of a time (µs UTC) at its end.

    >>> dated("The cache is per session.", 1_740_400_000_000_000)
    'The cache is per session (24 Feb).'
    """
    sentence = text.rstrip().removesuffix(".")
    return f"{sentence} ({short_date(at)})."


@lru_cache(_REMEMBERED_TIMES)
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
