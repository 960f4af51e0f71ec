"""Read from a message the facts that stand alone.

A fact is a declarative statement that is understood without its conversation: it names
its subject, points at nothing outside, asks, requests and plans nothing, and holds
beyond the moment.
"""

from collections.abc import Iterator

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.designs.facts import statement_cues as cues
from theorex_lab.designs.facts.labels import without_label
from theorex_lab.designs.facts.phrases import is_definite, is_phrase
from theorex_lab.designs.facts.reported_changes import (
    MOST_WORDS,
    StandingFact,
    reported_change,
)
from theorex_lab.designs.facts.subjects import (
    Subject,
    property_and_owner,
    subject_named,
)
from theorex_lab.designs.facts.tautologies import is_tautology
from theorex_lab.memory.briefing.rule_wording import without_shouting
from theorex_lab.memory.claims import USE, Clause, clause_of, denies
from theorex_lab.text import lexicon
from theorex_lab.text.spoken import Speaker, sentences_of
from theorex_lab.text.statements import Statement, statements_in
from theorex_lab.text.wording import content_words

_FEWEST_WORDS = 4
_MOST_CHARACTERS = 240
_SCANNED = 4_000  # characters; a longer message is a paste
_CLOSING = lazy_pattern(r"[.!]?$")
_CODE = lazy_pattern(r"`[^`]*`")
# A letter or an exact name.
_OPENING = lazy_pattern(r"[^\W\d_]|[`@.~/_-]")
_LABEL = lazy_pattern(r"[^`:]{1,60}:\s")
# "`a`: the parser reads …", "A case — the parser reads …".
_LABEL_IN_SUBJECT = lazy_pattern(r":(?:\s|$)|\s[–—-](?:\s|$)")
_QUOTED_SENTENCE = lazy_pattern(r"`(?:[^`\s]+\s+){6}")
_ASIDE = lazy_pattern(r"\s[–—-]\s|\s\(")
_OPEN_ENDS = ("?", ":", ",", ";", "…", "...")
# Parts two statements, or is what is left of a name that was lost.
_BROKEN = lazy_pattern(r";\s|``|[✅❌✓✔⇒]|/\[\w+\]|\d\d:\d\d:\d\d")
_REFUSALS = (
    cues.POINTING,
    cues.PASSING,
    cues.JUDGING,
    cues.OF_ONE_RUN,
)


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
    text = _bare(sentence)
    change = reported_change(text)
    if change is not None:
        return change
    text = cues.LEFT_OUT.sub("", without_label(text))
    if not _is_plain(text):
        return None
    clause = clause_of(text)
    if clause is None or not _is_state(clause):
        return None
    subject = subject_named(
        clause.subject,
        f"{clause.verb} {clause.rest}",
    )
    if subject is None:
        return None
    _, _, predicate = text.partition(clause.verb)
    if is_tautology(clause, predicate):
        return None
    if not _tells_something(clause, subject, predicate):
        return None
    return StandingFact(
        text=_begun_with_capital(text),
        subject=subject,
    )


def _bare(sentence: str) -> str:
    """Return a sentence without lead-ins, positions in files and its full stop."""
    text = cues.POSITION.sub("", sentence.strip())
    text = cues.POSITION_IN_NAME.sub(r"\1", text)
    text = _CLOSING.sub("", text)
    lead_in = cues.LEAD_IN.match(text)
    if lead_in is None:
        return text
    return text[lead_in.end() :]


def _is_plain(text: str) -> bool:
    """Return whether a text is one statement that points nowhere and will hold."""
    if not _FEWEST_WORDS <= len(text.split()) <= MOST_WORDS:
        return False
    if len(text) > _MOST_CHARACTERS or text.endswith(_OPEN_ENDS):
        return False
    if _is_broken(text) or _LABEL.match(text):
        return False
    if not _OPENING.match(text) or without_shouting(text) != text:
        return False
    without_code = _CODE.sub("`x`", text)
    return not any(refusal.search(without_code) for refusal in _REFUSALS)


def _is_broken(text: str) -> bool:
    """Return whether a text is two statements, a part of one, or a quotation."""
    has_open_code = text.count("`") % 2 == 1
    if has_open_code or _QUOTED_SENTENCE.match(text):
        return True
    return _BROKEN.search(text) is not None


def _is_state(clause: Clause) -> bool:
    """Return whether a clause says how something is, and not what happened."""
    if clause.is_order or clause.is_event or is_phrase(clause):
        return False
    if _LABEL_IN_SUBJECT.search(clause.subject):
        return False
    predicate = f"{clause.verb} {clause.rest}"
    if cues.OF_TEXTS.match(predicate):
        return False
    # What was read as a verb may be a noun: "the exit point of …".
    may_be_noun = clause.verb.lower() in ("point", "read", "write")
    return clause.subject.endswith("s") or not may_be_noun


def _tells_something(clause: Clause, subject: Subject, predicate: str) -> bool:
    """Return whether what is said of a subject is worth a fact."""
    main_part, *_ = _ASIDE.split(predicate, maxsplit=1)
    if cues.EXACT_VALUE.search(main_part):
        return True
    property_name, _ = property_and_owner(clause.subject)
    if property_name and clause.rest[:1].isupper():
        return True
    if not content_words(clause.rest):
        return False
    if subject.kind == "project" and not property_name:
        return _uses_named(clause)
    if subject.kind == "person" or cues.EXACT_NAME.search(clause.subject):
        return True
    return is_definite(clause.subject) and _tells_of_ordinary(clause)


def _tells_of_ordinary(clause: Clause) -> bool:
    """Return whether a verb tells much of a thing that ordinary words name.

    What such a thing cannot do is mostly what is to be mended.
    """
    first_verb, *_ = clause.verb.lower().split()
    if first_verb in cues.WEAK_VERBS or denies(clause.verb):
        return False
    return "specific" not in clause.rest


def _uses_named(clause: Clause) -> bool:
    """Return whether a clause says that something with a name of its own is used."""
    if clause.attribute != USE:
        return False
    first_word, *_ = clause.rest.lower().split()
    return first_word.isalpha() and first_word not in lexicon.word_kinds()


def _begun_with_capital(text: str) -> str:
    """Return a sentence with a capital, unless it begins with an exact name."""
    first_word, _, _ = text.partition(" ")
    if first_word.isalpha() and first_word.islower():
        return text[:1].upper() + text[1:]
    return text
