"""Read from a message the facts that stand alone.

A fact is a declarative statement that is understood without its conversation: it names
its subject, points at nothing outside, asks, requests and plans nothing, and holds
beyond the moment.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from theorex_lab.designs.facts import statement_cues as cues
from theorex_lab.designs.facts.subjects import Subject, subject_named
from theorex_lab.memory.briefing.rule_wording import without_shouting
from theorex_lab.memory.claims import USE, Clause, clause_of
from theorex_lab.text import lexicon
from theorex_lab.text.spoken import Speaker, sentences_of
from theorex_lab.text.statements import Statement, statements_in
from theorex_lab.text.wording import content_words

_FEWEST_WORDS = 4
_MOST_WORDS = 34
_MOST_CHARACTERS = 240
_FEWEST_VALUE_WORDS = 1
_SCANNED = 4_000
_CLOSING = re.compile(r"[.!]?$")
_BASE_FORMS = (lexicon.VERB, lexicon.STRONG, lexicon.MIDDLE, lexicon.WEAK)
# A letter or an exact name.
_OPENING = re.compile(r"[^\W\d_]|[`@.~/_-]")
_LABEL = re.compile(r"[^`:]{1,60}:\s")
_IMPORTED = re.compile(r"\b(?:imports?|comments?|todos?)\b", re.I)
_ASIDE = re.compile(r"[:(✅✓⚠❌]|\s[–—-](?:\s|$)")


class StandingFact(NamedTuple):
    """A statement that is understood by itself.

    Attributes:
        text: The statement.
        subject: What it is about.
        attribute: The verb, or the name of the attribute that several verbs name.
        value: What stands after the verb.
        is_change: Whether it tells that a value has changed.
    """

    text: str
    subject: Subject
    attribute: str
    value: str
    is_change: bool = False


def standing_facts(text: str, speaker: Speaker) -> list[StandingFact]:
    """Return the statements of a message that stand alone.

    Args:
        text: The message.
        speaker: Whose message it is.

    >>> [
    ...     (fact.subject.name, fact.text)
    ...     for fact in standing_facts(
    ...         "It is done. The till rounds each line. Should I go on?", "agent"
    ...     )
    ... ]
    [('till', 'The till rounds each line')]
    """
    facts: list[StandingFact] = []
    for sentence in _sentences(text[:_SCANNED], speaker):
        fact = standing_fact(sentence)
        if fact is not None:
            facts.append(fact)
    return facts


def _sentences(text: str, speaker: Speaker) -> Iterator[str]:
    """Yield the sentences of a message that are its speaker's own."""
    if speaker == "user":
        for span in sentences_of(text, speaker):
            yield span.text
        return
    for statement in statements_in(text):
        if _may_hold(statement):
            yield statement.text


def _may_hold(statement: Statement) -> bool:
    """Return whether a statement of an agent stands where facts are told."""
    if statement.quoted:
        return False
    return cues.PASSING_HEADING.search(statement.heading) is None


def standing_fact(sentence: str) -> StandingFact | None:
    """Return the fact that a sentence states by itself; None where it states none."""
    bare = cues.POSITION.sub("", sentence.strip())
    text = _CLOSING.sub("", cues.POSITION_IN_NAME.sub(r"\1", bare))
    lead_in = cues.LEAD_IN.match(text)
    if lead_in:
        text = text[lead_in.end() :]
    reported = _change(text) or _told_change(text)
    reported = reported or _addition(text) or _removal(text)
    if reported is not None:
        return reported
    text = cues.LEFT_OUT.sub("", _without_label(text))
    if not _is_plain(text):
        return None
    clause = clause_of(text)
    if clause is None or clause.is_order or clause.is_event:
        return None
    predicate = f"{clause.verb} {clause.rest}"
    if cues.OF_TEXTS.match(predicate):
        return None
    if _is_noun(clause):
        return None
    subject = subject_named(clause.subject, predicate)
    if subject is None or not _tells_something(clause, subject):
        return None
    first_word = text.partition(" ")[0]
    if first_word.isalpha() and first_word.islower():
        text = text[:1].upper() + text[1:]
    return StandingFact(text, subject, clause.attribute, clause.rest)


def _is_noun(clause: Clause) -> bool:
    """Return whether what was read as a verb is a noun: "the exit point of …"."""
    is_base = clause.verb.lower() in ("point", "read", "write")
    return is_base and not clause.subject.endswith("s")


def _change(text: str) -> StandingFact | None:
    """Return the change of a value that a sentence reports: "Renamed `a` to `b`"."""
    match = cues.REPORTED_CHANGE.fullmatch(text)
    if match is None or cues.POINTING.search(match["subject"] + " " + match["value"]):
        return None
    value = match["value"]
    names_both = cues.EXACT_VALUE.search(match["subject"]) and cues.EXACT_VALUE.search(
        value
    )
    if not names_both or cues.OF_ONE_RUN.search(text):
        return None
    subject = subject_named(match["subject"])
    if subject is None:
        return None
    verb = match["verb"].lower()
    rest = text[match.end("subject") :]
    statement = f"{match['subject']} was {verb}{rest}"
    return StandingFact(statement, subject, verb, value, is_change=True)


def _told_change(text: str) -> StandingFact | None:
    """Return the change of a named thing to an exact value: "`a.go` moved to `b/`"."""
    match = cues.TOLD_CHANGE.fullmatch(text)
    if match is None or len(text.split()) > _MOST_WORDS:
        return None
    if cues.POINTING.search(text) or cues.OF_ONE_RUN.search(text):
        return None
    value = match["value"]
    if _ASIDE.search(match["subject"]):
        return None
    subject = subject_named(match["subject"])
    if subject is None or subject.kind != "thing" or not cues.EXACT_VALUE.search(value):
        return None
    verb = match["verb"].lower()
    return StandingFact(text, subject, verb, value, is_change=True)


def _addition(text: str) -> StandingFact | None:
    """Return what a thing was given: "Added the `--all` flag to `tasks list`"."""
    match = cues.REPORTED_ADDITION.fullmatch(text)
    if match is None or cues.POINTING.search(text) or cues.OF_ONE_RUN.search(text):
        return None
    subject = subject_named(match["owner"])
    if subject is None:
        return None
    owner = match["owner"]
    owner = owner[:1].upper() + owner[1:] if owner.startswith("the ") else owner
    value = f"{match['addition']}{match['rest'] or ''}"
    return StandingFact(f"{owner} has the {value}", subject, "have", value)


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
    if owner is None:
        return StandingFact(f"{removed} was removed", subject, "removed", "", True)
    owner = owner[:1].upper() + owner[1:] if owner.startswith("the ") else owner
    statement = f"{owner} no longer has the {removed}"
    return StandingFact(statement, subject, "have", removed, is_change=True)


def _without_label(text: str) -> str:
    """Return "`a`: prints b" as "`a` prints b"."""
    match = cues.LABELLED.match(text)
    if match is None:
        return text
    first_word, space, rest = match[2].partition(" ")
    verb = _third_person(first_word.lower())
    joined = f"{match[1]} {verb}{space}{rest}"
    clause = clause_of(joined)
    if clause is None or clause.subject != match[1]:
        return text
    return joined


def _third_person(word: str) -> str:
    """Return a verb in its base form in the third person; any other word as it is."""
    if lexicon.word_kinds().get(word) not in _BASE_FORMS:
        return word
    if lexicon.singular(word) != word:
        return word
    return lexicon.inflections(word)[0]


def _is_plain(text: str) -> bool:
    """Return whether a text is one statement that points nowhere and will hold."""
    n_words = len(text.split())
    if not _FEWEST_WORDS <= n_words <= _MOST_WORDS or len(text) > _MOST_CHARACTERS:
        return False
    if text.endswith(("?", ":", ",", ";", "…", "...")) or "; " in text or "``" in text:
        return False
    if not _OPENING.match(text) or _LABEL.match(text):
        return False
    if without_shouting(text) != text:
        return False
    refusals = (cues.POINTING, cues.PASSING, cues.JUDGING, cues.OF_ONE_RUN)
    without_code = re.sub(r"`[^`]*`", "`x`", text)
    return not any(refusal.search(without_code) for refusal in refusals)


def _uses_named(clause: Clause) -> bool:
    """Return whether a clause says that something with a name of its own is used."""
    if clause.attribute != USE:
        return False
    first_word = clause.rest.split()[0].lower()
    return first_word.isalpha() and first_word not in lexicon.word_kinds()


def _tells_something(clause: Clause, subject: Subject) -> bool:
    """Return whether what is said of a subject is worth a fact."""
    if not clause.rest:
        return False
    is_exact = cues.EXACT_VALUE.search(clause.rest) is not None
    first_verb = clause.verb.split()[0].lower()
    is_named = cues.EXACT_NAME.search(clause.subject) is not None
    if first_verb in cues.WEAK_VERBS and not (is_exact or is_named):
        return False
    if subject.kind == "project" and not (is_exact or _uses_named(clause)):
        return False
    return is_exact or len(content_words(clause.rest)) >= _FEWEST_VALUE_WORDS
