"""Read from a message the facts that stand alone.

A fact is a declarative statement that is understood without its conversation: it names
its subject, points at nothing outside, asks, requests and plans nothing, and holds
beyond the moment.
"""

import re
from collections.abc import Iterator, Sequence

from theorex_lab.designs.facts import statement_cues as cues
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
_CLOSING = re.compile(r"[.!]?$")
_CODE = re.compile(r"`[^`]*`")
_BASE_FORMS = (
    lexicon.VERB,
    lexicon.STRONG,
    lexicon.MIDDLE,
    lexicon.WEAK,
)
_THIRD_PERSONS = (lexicon.STRONG_S, lexicon.MIDDLE_S, lexicon.WEAK_S)
# Third persons that are no nouns where a preposition follows: "defaults to".
_NO_NOUNS = frozenset(
    "lives points belongs defaults runs starts returns resets works".split()
)
_ADVERBS = frozenset("always also only then first".split())
_VERB_FORMS = (lexicon.VERB, *_THIRD_PERSONS)
# Words that an object begins with.
_OBJECT_STARTS = frozenset(
    "the a an all any each every both its whether if how what when where current new existing"
    " specific another".split()
)
# A letter or an exact name.
_OPENING = re.compile(r"[^\W\d_]|[`@.~/_-]")
_LABEL = re.compile(r"[^`:]{1,60}:\s")
# "`a`: the parser reads …", "A case — the parser reads …".
_LABEL_IN_SUBJECT = re.compile(r":(?:\s|$)|\s[–—-](?:\s|$)")
_ADDRESS = re.compile(r"`(?:GET|POST|PUT|PATCH|DELETE)\s")
_ASIDE = re.compile(r"\s[–—-]\s|\s\(")
_OPEN_ENDS = ("?", ":", ",", ";", "…", "...")
# Parts two statements, or is what is left of a name that was lost.
_BROKEN = re.compile(r";\s|``|[✅❌✓✔⇒]|/\[\w+\]")
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
    text = cues.LEFT_OUT.sub("", _without_label(text))
    if not _is_plain(text):
        return None
    clause = clause_of(text)
    if clause is None or not _is_state(clause):
        return None
    predicate = f"{clause.verb} {clause.rest}"
    subject = subject_named(clause.subject, predicate)
    if subject is None:
        return None
    _, _, told = text.partition(clause.verb)
    if is_tautology(clause, told) or not _tells_something(clause, subject, told):
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


def _without_label(text: str) -> str:
    """Return "`a`: prints b" as "`a` prints b"."""
    match = cues.LABELLED.match(text)
    if match is None:
        return text
    first_word, space, rest = match[2].partition(" ")
    first_word = first_word.lower()
    is_address = _ADDRESS.match(match[1]) is not None
    if not _may_be_predicate(first_word, rest, is_address=is_address):
        return text
    verb = _third_person(first_word)
    joined = f"{match[1]} {verb}{space}{rest}"
    clause = clause_of(joined)
    if clause is None or clause.subject != match[1]:
        return text
    return joined


def _third_person(word: str) -> str:
    """Return a verb in its base form in the third person; any other word as it is."""
    kind = lexicon.word_kinds().get(word)
    if kind not in _BASE_FORMS or lexicon.singular(word) != word:
        return word
    third, _, _ = lexicon.inflections(word)
    return third


def _may_be_predicate(first_word: str, rest: str, *, is_address: bool) -> bool:
    """Return whether what a label stands before is a verb with its object.

    What stands after an address of an interface is one: "`GET /a` - Poll for b".

    "Prints all items" is; "file patterns", "list of items" and "call site" are none.
    """
    kind = lexicon.word_kinds().get(_third_person(first_word))
    next_word, *others = [*rest.lower().split(), ""]
    next_word = next_word.strip("(,")
    if first_word == "has":
        return True
    if kind not in _VERB_FORMS or next_word == "of":
        return False
    has_form = kind == lexicon.VERB or first_word.endswith("s") or is_address
    if has_form or next_word in _OBJECT_STARTS or next_word.startswith("`"):
        return True
    if kind == lexicon.WEAK_S or not next_word[:1].isalpha():
        return False
    is_preposition = lexicon.word_kinds().get(next_word) == lexicon.PREPOSITION
    return not is_preposition and not _begins_with_verb(others)


def _begins_with_verb(words: Sequence[str]) -> bool:
    """Return whether words begin with a verb in the third person and its object."""
    first, second, *_ = [*words, "", ""]
    if lexicon.word_kinds().get(first) not in _THIRD_PERSONS:
        return False
    return second in _OBJECT_STARTS or second.startswith("`")


def _is_plain(text: str) -> bool:
    """Return whether a text is one statement that points nowhere and will hold."""
    if not _FEWEST_WORDS <= len(text.split()) <= MOST_WORDS:
        return False
    if len(text) > _MOST_CHARACTERS or text.endswith(_OPEN_ENDS):
        return False
    has_open_code = text.count("`") % 2 == 1
    if has_open_code or _BROKEN.search(text) or _LABEL.match(text):
        return False
    if not _OPENING.match(text) or without_shouting(text) != text:
        return False
    without_code = _CODE.sub("`x`", text)
    return not any(refusal.search(without_code) for refusal in _REFUSALS)


def _is_state(clause: Clause) -> bool:
    """Return whether a clause says how something is, and not what happened."""
    if clause.is_order or clause.is_event or _is_noun_phrase(clause):
        return False
    if _LABEL_IN_SUBJECT.search(clause.subject):
        return False
    predicate = f"{clause.verb} {clause.rest}"
    if cues.OF_TEXTS.match(predicate):
        return False
    # What was read as a verb may be a noun: "the exit point of …".
    may_be_noun = clause.verb.lower() in ("point", "read", "write")
    return clause.subject.endswith("s") or not may_be_noun


def _is_noun_phrase(clause: Clause) -> bool:
    """Return whether what was read as the verb is a noun, or a participle.

    "Inline keyboard buttons for navigation", "Database tables created in a file".
    """
    verb, *others = clause.verb.lower().split()
    kind = lexicon.word_kinds().get(verb)
    if not others and kind == lexicon.PARTICIPLE:
        return True
    if others or kind not in _THIRD_PERSONS:
        return False
    following = [word for word in clause.rest.lower().split() if word not in _ADVERBS]
    next_word, *_ = [*following, ""]
    next_kind = lexicon.word_kinds().get(next_word.strip("(,:"))
    if next_kind in (lexicon.PARTICIPLE, lexicon.GERUND):
        return True
    is_before_preposition = next_kind == lexicon.PREPOSITION or not next_word
    if verb in _NO_NOUNS or not is_before_preposition:
        return False
    if kind == lexicon.STRONG_S:
        return cues.EXACT_VALUE.search(clause.rest) is None
    return (
        not _is_definite(clause.subject)
        and cues.EXACT_NAME.search(clause.subject) is None
    )


def _tells_something(clause: Clause, subject: Subject, told: str) -> bool:
    """Return whether what is said of a subject is worth a fact."""
    main_part, *_ = _ASIDE.split(told, maxsplit=1)
    if cues.EXACT_VALUE.search(main_part):
        return True
    property_name, _ = property_and_owner(clause.subject)
    if property_name and clause.rest[:1].isupper():
        return True
    if not content_words(clause.rest):
        return False
    if subject.kind == "project" and not property_name:
        return _uses_named(clause)
    has_exact_name = cues.EXACT_NAME.search(clause.subject) is not None
    if subject.kind == "thing" and not has_exact_name:
        return _is_definite(clause.subject) and _tells_of_ordinary(clause)
    first_verb, *_ = clause.verb.lower().split()
    return first_verb not in cues.WEAK_VERBS or has_exact_name


def _is_definite(phrase: str) -> bool:
    first_word, _, _ = phrase.lower().partition(" ")
    return first_word in ("the", "our", "each", "every") or "'s " in phrase


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
