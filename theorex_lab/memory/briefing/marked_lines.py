"""Lines of a briefing as a person wants them: pinned, dismissed, corrected, trusted.

A line is known again by its id, and by words that nearly repeat it. Both the start of a
session and a prompt apply the same marks. Standard library only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.journal.event import Event
from theorex_lab.memory.briefing.candidates import (
    ASKED,
    COMPUTED_SECTIONS,
    DECISIONS,
    RULES,
    SECTIONS,
    WORK,
    Candidate,
    bare_text,
    dated,
    fits_a_line,
)
from theorex_lab.memory.briefing.selection import are_near_duplicates
from theorex_lab.text.line import folded
from theorex_lab.text.wording import content_words, specifics

TRUSTED = "trusted"  # the kind of a line that a person made a rule
CORRECTED = "corrected"  # the kind of a line in a person's words
_PINNED_WORTH = 1.0
_TRUSTED_WORTH = 0.9
# How much a correction is worth on its day, where nothing else says it any more.
_CORRECTION_WORTH = 0.5
_HALF_LIFE_DAYS = 60.0
_FEWEST_SHARED = 2  # words, from which on two lines are compared
_SIGNS_OF_CODE = '`"'


@dataclass(frozen=True, slots=True)
class Wording:
    """What a text says, to compare it with another.

    Attributes:
        text: The text in lower case, without its date.
        words: Its content words.
        names: What it names exactly: code, paths, numbers, quotations.
    """

    text: str
    words: frozenset[str]
    names: frozenset[str]


def wording_of(text: str) -> Wording:
    """Return what a line says, to compare it with another.

    >>> sorted(wording_of("Set `ttl` to 30 (2 Mar).").names)
    ['30', 'ttl']
    """
    statement = bare_text(text)
    names = [name.strip(_SIGNS_OF_CODE).lower() for name in specifics(statement)]
    return Wording(
        text=statement.lower(),
        words=content_words(statement),
        names=frozenset(names),
    )


def is_said_again(wording: Wording, other: Wording) -> bool:
    """Return whether two texts say the same in other words.

    Texts say different things that each name something exactly, such as a command or a
    number, of which the other one has nothing.

    >>> rule = wording_of("Never push the main branch yourself")
    >>> is_said_again(rule, wording_of("Remember to never push the main branch"))
    True
    >>> port = wording_of("The api server listens on port 8080")
    >>> is_said_again(port, wording_of("The api server listens on port 7070"))
    False
    """
    if not are_near_duplicates(wording.words, other.words):
        return False
    if not wording.names or not other.names:
        return True
    return _names_some_of(wording, other) or _names_some_of(other, wording)


def _names_some_of(wording: Wording, other: Wording) -> bool:
    """Return whether a text has one of another's names."""
    names = "|".join(re.escape(name) for name in sorted(other.names))
    return re.search(rf"(?<!\w)(?:{names})(?!\w)", wording.text) is not None


@dataclass(frozen=True, slots=True)
class LineMark:
    """What a person says of a line of a briefing, or of an item, up to now.

    Attributes:
        id: The id of the line or item.
        event: The id of the event that says the last of it.
        at: When that was (µs UTC).
        section: The section of the line; of an item the one where notes stand.
        text: The line as it was when it was marked, '' where it made none.
        is_line: Whether it is of a line, not of an item.
        is_pinned: Whether it comes first.
        is_dismissed: Whether it comes no more.
        trusted_at: When it was made a rule (µs UTC), 0 where it was not.
        correction: The person's words in its place, '' for none.
        corrected_at: When they were written (µs UTC).
        wordings: What it says, in its own words and in the person's.
    """

    id: str
    event: str
    at: int
    section: str = DECISIONS
    text: str = ""
    is_line: bool = False
    is_pinned: bool = False
    is_dismissed: bool = False
    trusted_at: int = 0
    correction: str = ""
    corrected_at: int = 0
    wordings: tuple[Wording, ...] = field(default=(), repr=False)

    @property
    def is_in_force(self) -> bool:
        """Whether it says anything, after all that was taken back."""
        if self.is_pinned or self.is_dismissed or self.correction:
            return True
        return self.trusted_at > 0

    @property
    def is_known_by_words(self) -> bool:
        """Whether a line that says the same is meant as well."""
        return self.is_dismissed or bool(self.correction)

    def may_be_of(self, section: str, words: frozenset[str]) -> bool:
        """Return whether a line is worth comparing with the marked one.

        A command, a pitfall and a place that have the same words are still three things.

        Args:
            section: The section of the line.
            words: Its content words.
        """
        sections = {self.section, section}
        if len(sections) > 1 and not sections.isdisjoint(COMPUTED_SECTIONS):
            return False
        return any(_shares_words(words, wording) for wording in self.wordings)

    def is_of(self, wording: Wording) -> bool:
        """Return whether a text says the same as the marked one."""
        return any(is_said_again(wording, other) for other in self.wordings)


def line_marks_of(events: Iterable[Event]) -> list[LineMark]:
    """Return what mark events say, the line or item first that was marked first.

    A pin, a correction and trust take a dismissal back. A dismissal takes a pin and
    trust back.

    Args:
        events: The events of the kinds `search.items.MARKS`, in journal order.
    """
    marks: dict[str, LineMark] = {}
    for event in events:
        item = event.body["item"]
        earlier = marks.get(item, LineMark(item, event.id, event.at))
        marks[item] = _after(earlier, event)
    in_force = [mark for mark in marks.values() if mark.is_in_force]
    return [_with_wordings(mark) for mark in in_force]


def _after(mark: LineMark, event: Event) -> LineMark:
    """Return a mark after one more event of it."""
    changes: dict[str, Any] = {"event": event.id, "at": event.at}
    changes |= _shown_in(event)
    holds = not event.body["undo"]
    if event.kind == "corrected":
        changes["correction"] = event.body.get("text", "") if holds else ""
        changes["corrected_at"] = event.at
    elif event.kind == "trusted":
        changes["trusted_at"] = event.at if holds else 0
    elif event.kind == "pinned":
        changes["is_pinned"] = holds
    if event.kind == "dismissed":
        changes["is_dismissed"] = holds
        if holds:
            changes |= {"is_pinned": False, "trusted_at": 0}
    elif holds:
        changes["is_dismissed"] = False
    return replace(mark, **changes)


def _shown_in(event: Event) -> dict[str, Any]:
    """Return what an event says of the line that was marked, as it was shown."""
    line = event.body.get("line")
    if line is not None:
        return {"section": line["section"], "text": line["text"], "is_line": True}
    text = event.body.get("item_text", "")
    return {"text": text} if text else {}


def _with_wordings(mark: LineMark) -> LineMark:
    """Return a mark with what it says, where lines are compared with it."""
    texts = [text for text in (mark.text, mark.correction) if text]
    if not mark.is_known_by_words:
        return mark
    wordings = [wording_of(text) for text in texts]
    return replace(mark, wordings=tuple(wordings))


def marked_candidates(
    candidates: Iterable[Candidate],
    marks: Sequence[LineMark],
    now: int,
) -> list[Candidate]:
    """Return the lines of a session's start as a person wants them.

    A dismissed line is left out, and so is one that says the same. A corrected line has
    the person's words. A pinned one is marked as such. What is pinned, trusted or
    corrected is given also where no candidate says it any more.

    Args:
        candidates: The lines that sessions and notes give.
        marks: What the person says of lines and items.
        now: The time of the briefing (µs UTC).

    Returns:
        The lines, those that are given by a mark alone last. One that is too long is
        left out.
    """
    lookup = MarkLookup(marks)
    lines: list[Candidate] = []
    shown_ids: set[str] = set()
    for candidate in candidates:
        mark = lookup.mark_of(candidate.id, candidate.section, candidate.text)
        if mark is None:
            lines.append(candidate)
        elif mark.id not in shown_ids and _may_stand(mark):
            shown_ids.add(mark.id)
            lines.append(_as_marked(candidate, mark))
    lines += _lines_of_marks(marks, shown_ids, now)
    return [line for line in lines if fits_a_line(line.text)]


class MarkLookup:
    """Tells which mark is of a line."""

    def __init__(self, marks: Sequence[LineMark]) -> None:
        self._by_id = {mark.id: mark for mark in marks}
        self._by_words = [mark for mark in marks if mark.is_known_by_words]
        # The dismissed ones first: what says the same as one of them stays away.
        self._by_words.sort(key=_is_not_dismissed)

    def mark_of(self, line_id: str, section: str, text: str) -> LineMark | None:
        """Return the mark of a line by its id, else the first by what it says."""
        mark = self._by_id.get(line_id)
        if mark is not None or not self._by_words:
            return mark
        words = content_words(text)
        likely = [other for other in self._by_words if other.may_be_of(section, words)]
        if not likely:
            return None
        wording = wording_of(text)
        for other in likely:
            if other.is_of(wording):
                return other
        return None


def _shares_words(words: frozenset[str], wording: Wording) -> bool:
    return len(words & wording.words) >= _FEWEST_SHARED


def _is_not_dismissed(mark: LineMark) -> bool:
    return not mark.is_dismissed


def _may_stand(mark: LineMark) -> bool:
    """Return whether a marked line may stand in the place of its candidate.

    Where it was made a rule, the rule says it instead.
    """
    return not mark.is_dismissed and mark.trusted_at == 0


def _as_marked(candidate: Candidate, mark: LineMark) -> Candidate:
    """Return a line that is offered, as its mark has it."""
    line = replace(candidate, own_id=mark.id)
    if mark.correction:
        line = replace(
            line,
            text=dated(folded(mark.correction), mark.corrected_at),
            words=content_words(mark.correction),
            at=mark.corrected_at,
            events=(*candidate.events, mark.event),
            why=f"{line.why.rstrip('.')}, in your words",
        )
    return _pinned(line) if mark.is_pinned else line


def _pinned(line: Candidate) -> Candidate:
    return replace(
        line,
        weight=_PINNED_WORTH,
        why=f"{line.why.rstrip('.')}, pinned by you",
        is_pinned=True,
    )


def _lines_of_marks(
    marks: Iterable[LineMark], shown_ids: set[str], now: int
) -> list[Candidate]:
    """Return the lines that marks give by themselves, where nothing shows them yet."""
    lines: list[Candidate] = []
    for mark in marks:
        if mark.is_dismissed or mark.id in shown_ids:
            continue
        line = _line_of(mark, now)
        if line is not None:
            lines.append(_pinned(line) if mark.is_pinned else line)
    return lines


def _line_of(mark: LineMark, now: int) -> Candidate | None:
    """Return the line that a mark gives by itself, None where it gives none."""
    statement = mark.correction or bare_text(mark.text)
    if mark.trusted_at and statement:
        text = dated(folded(statement), mark.trusted_at)
        return _own_line(
            mark,
            RULES,
            text,
            weight=_TRUSTED_WORTH,
            at=mark.trusted_at,
            why="you made it a rule",
        )
    if mark.correction and (mark.is_pinned or mark.section != WORK):
        age_days = (now - mark.corrected_at) / MICROSECONDS_PER_DAY
        return _own_line(
            mark,
            _section_at_start(mark),
            dated(folded(mark.correction), mark.corrected_at),
            weight=_CORRECTION_WORTH * 0.5 ** (age_days / _HALF_LIFE_DAYS),
            at=mark.corrected_at,
            why="you corrected what was there",
        )
    if mark.is_pinned and mark.text:
        return _own_line(
            mark,
            _section_at_start(mark),
            folded(mark.text),
            weight=_PINNED_WORTH,
            at=mark.at,
            why="it is shown as it was when it was marked",
        )
    return None


def _section_at_start(mark: LineMark) -> str:
    """Return where a line stands at a start: what a prompt brought is a fact there."""
    if mark.section == ASKED or mark.section not in SECTIONS:
        return DECISIONS
    return mark.section


def _own_line(
    mark: LineMark, section: str, text: str, *, weight: float, at: int, why: str
) -> Candidate:
    return Candidate(
        section=section,
        kind=TRUSTED if mark.trusted_at else CORRECTED,
        text=text,
        weight=weight,
        at=at,
        session="",
        words=content_words(text),
        events=(mark.event,),
        why=why,
        own_id=mark.id,
    )
