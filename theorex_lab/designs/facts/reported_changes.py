"""Read the changes that a message reports, as statements of what they changed.

"Renamed `a` to `b`", "`a` moved to `b/`", "Added the `--all` flag to `shop list`" and
"Removed the `port` parameter from `serve`".
"""

import re
from typing import NamedTuple

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.designs.facts import statement_cues as cues
from theorex_lab.designs.facts.subjects import Subject, subject_named

_IMPORTED = lazy_pattern(r"\b(?:imports?|comments?|todos?)\b", re.I)
_SHORTEST_NAME = 4  # letters; shorter names are variables of a few lines
# Several places of the code, or a piece of it: "all calls of", "the string literal".
_IN_THE_CODE = lazy_pattern(
    r"^(?:both|every|each|\d+)\b|\ball\b|\b(?:literals?|calls|call sites?|usages?|references?"
    r"|before|after)\b",
    re.I,
)
# "Moved `a` to prevent b" names no place.
_PURPOSE = lazy_pattern(
    r"(?:be|prevent|avoid|allow|make|keep|match|support|ensure|fix|get|use|help|reduce"
    r"|improve|handle|include|the (?:top|end|beginning|bottom|front))\b",
    re.I,
)
# What says only that a thing is gone, and of what there is more to say: "the dependency".
GONE = lazy_pattern(r"\S[^.;]* was removed")
GONE_FROM_USE = lazy_pattern(
    r".*\b(?:dependency|package|endpoint|command|flag|option|table|column|setting)"
    r" was removed"
)
_ASIDE = lazy_pattern(r"[:(✅✓⚠❌]|\s[–—-](?:\s|$)")
MOST_WORDS = 34  # of a statement


class StandingFact(NamedTuple):
    """A statement that is understood by itself.

    Attributes:
        text: The statement.
        subject: What it is about.
        is_change: Whether it tells that a value has changed.
    """

    text: str
    subject: Subject
    is_change: bool = False


def reported_change(text: str) -> StandingFact | None:
    """Return what a sentence reports as changed, if that stands alone.

    >>> fact = reported_change("Renamed `stock.go` to `shelf.go`")
    >>> fact.text, fact.subject.name
    ('`stock.go` was renamed to `shelf.go`', 'stock.go')
    """
    if len(text.split()) > MOST_WORDS:
        return None
    if cues.POINTING.search(text) or cues.OF_ONE_RUN.search(text):
        return None
    for read in _READERS:
        fact = read(text)
        if fact is not None:
            return fact
    return None


def _labelled_change(text: str) -> StandingFact | None:
    """Return the change that stands after a label: "`a.toml` - Changed the port from …"."""
    label = cues.LABELLED.match(text)
    if label is None:
        return None
    match = cues.REPORTED_CHANGE.fullmatch(label[2])
    if match is None or not match["link"].startswith("from"):
        return None
    changed = match["subject"]
    if changed.startswith("`"):
        return None
    located = f"{changed} in {label[1]}"
    rest = label[2][match.end("subject") :]
    return _ordered_change(f"{match['verb']} {located}{rest}")


def _ordered_change(text: str) -> StandingFact | None:
    """Return the change that has no subject: "Renamed `a` to `b`"."""
    match = cues.REPORTED_CHANGE.fullmatch(text)
    if match is None:
        return None
    changed = match["subject"]
    value = match["value"]
    names_old_value = match["link"].startswith("from")
    if not names_old_value and not cues.EXACT_VALUE.search(changed):
        return None
    if _IN_THE_CODE.search(changed) or _PURPOSE.match(value):
        return None
    if not cues.EXACT_VALUE.search(value):
        return None
    if subject_named(changed) is None:
        changed = f"the {changed}"
    verb = match["verb"].lower()
    subject = _changed_subject(changed, verb)
    if subject is None:
        return None
    rest = text[match.end("subject") :]
    return StandingFact(
        text=f"{_at_beginning(changed)} was {verb}{rest}",
        subject=subject,
        is_change=True,
    )


def _changed_subject(changed: str, verb: str) -> Subject | None:
    """Return what was changed; None for a variable of a few lines that was renamed."""
    subject = subject_named(changed)
    if subject is None:
        return None
    is_short = len(subject.name) < _SHORTEST_NAME
    return None if verb == "renamed" and is_short else subject


def _noted_change(text: str) -> StandingFact | None:
    """Return the change of a value that is noted: "Database file: `b` (was `a`)"."""
    match = cues.NOTED_CHANGE.fullmatch(text)
    if match is None:
        return None
    changed = f"The {match['subject'][:1].lower()}{match['subject'][1:]}"
    subject = subject_named(changed)
    if subject is None:
        return None
    return StandingFact(
        text=f"{changed} was changed from {match['old']} to {match['value']}",
        subject=subject,
        is_change=True,
    )


def _told_change(text: str) -> StandingFact | None:
    """Return the change of a named thing to an exact value: "`a.go` moved to `b/`"."""
    match = cues.TOLD_CHANGE.fullmatch(text)
    if match is None or _ASIDE.search(match["subject"]):
        return None
    value = match["value"]
    subject = subject_named(match["subject"])
    if subject is None or subject.kind != "thing":
        return None
    if not cues.EXACT_VALUE.search(value):
        return None
    return StandingFact(
        text=text,
        subject=subject,
        is_change=True,
    )


def _addition(text: str) -> StandingFact | None:
    """Return what a thing was given: "Added the `--all` flag to `shop list`"."""
    match = cues.REPORTED_ADDITION.fullmatch(text)
    if match is None or _IMPORTED.search(match["addition"]):
        return None
    subject = subject_named(match["owner"])
    if subject is None:
        return None
    owner = _at_beginning(match["owner"])
    addition = match["addition"]
    purpose = match["rest"] or ""
    return StandingFact(
        text=f"{owner} has the {addition}{purpose}",
        subject=subject,
    )


def _removal(text: str) -> StandingFact | None:
    """Return what was taken away: "Removed the `port` parameter from `serve`"."""
    match = cues.REPORTED_REMOVAL.fullmatch(text)
    if match is None or _IMPORTED.search(text):
        return None
    removed = match["removed"]
    owner = match["owner"]
    subject = subject_named(owner or removed)
    if subject is None:
        return None
    statement = f"{removed} was removed"
    if owner is not None:
        statement = f"{_at_beginning(owner)} no longer has the {removed}"
    return StandingFact(
        text=statement,
        subject=subject,
        is_change=True,
    )


def _at_beginning(phrase: str) -> str:
    """Return a phrase as a sentence begins with it."""
    first_word, _, _ = phrase.partition(" ")
    if first_word.replace("-", "").isalpha() and first_word.islower():
        return f"{phrase[:1].upper()}{phrase[1:]}"
    return phrase


_READERS = (
    _labelled_change,
    _ordered_change,
    _told_change,
    _noted_change,
    _addition,
    _removal,
)
