"""Tell what a statement is about: the thing, role or person that its subject names."""

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.designs.facts import statement_cues as cues
from theorex_lab.designs.facts.exact_names import exact_name_in, tells_which
from theorex_lab.text import lexicon

_WORD = lazy_pattern(r"`[^`]+`|[^\s,;:!?\"“”()]+")
_POSSESSIVE = lazy_pattern(r"(?P<owner>.+?)['’]s\s+(?P<property>.+)")
_OF = lazy_pattern(r"(?P<property>.+?)\s+(?:of|for|in)\s+(?P<owner>.+)")
_ABBREVIATION = lazy_pattern(r"[A-Z]{2,}s?")
_NAMED_BY_MODIFIER = frozenset("endpoint command flag".split())
_LIVES_IN_CODE = lazy_pattern(
    r"lives\b.*`",
)
# Things that are counted are those of one text: "the four events".
_COUNTING = frozenset(
    "one two three four five six seven eight nine ten both other others".split(),
)
_PLAIN_NAMES = frozenset("get set check success return find add delete create".split())
_RELATIVE = frozenset(
    "+ that which who whose where when if and or to not".split(),
)
_DETERMINERS = frozenset(
    "the a an our all".split(),
)
_PRONOUNS = frozenset("it they them he she we you i what there here some any".split())
_ADVERBS = frozenset(
    "now also only always then still already explicitly not no longer never".split()
)
_PREPOSITIONS = frozenset(
    "in on at with without for under of from to by per via".split()
)
_SHORT_LY = 4  # letters up to which a word in -ly is no adverb
_VERB_KINDS = (
    lexicon.VERB,
    lexicon.PARTICIPLE,
    lexicon.GERUND,
    lexicon.STRONG,
    lexicon.STRONG_S,
    lexicon.MIDDLE_S,
    lexicon.ADVERB,
    lexicon.MODAL,
    lexicon.PREPOSITION,
    lexicon.CONJUNCTION,
    lexicon.RELATIVE,
)
_BASE_KINDS = (lexicon.MIDDLE, lexicon.WEAK, lexicon.WEAK_S)
_OBJECT_STARTS = frozenset("the a an some all any each no it its this that".split())
_MOST_WORDS = 7
_PERSON = lazy_pattern(r"[A-Z][a-z]+(?: [A-Z][a-z]+)?")
_PLACED = lazy_pattern(
    r"""
    (?:are|live|go|stay|run)\b
    (?:\ \w+)?
    \ (?:in|at|under|on|from|to|by|with|as)\b
    """,
    re.I | re.VERBOSE,
)


class Subject(NamedTuple):
    """What a statement is about.

    Attributes:
        name: Its name as it is written, without "the"; '' for the project as a whole.
        kind: Of what kind it is.
    """

    name: str
    kind: Literal["thing", "person", "project"]


_PROJECT = Subject("", "project")
_NAMELESS_HEADS = cues.EMPTY_HEADS | cues.CODE_HEADS


def subject_named(phrase: str, predicate: str = "") -> Subject | None:
    """Return what a subject names; None where it names nothing by itself.

    Args:
        phrase: The words before the verb.
        predicate: The verb and what follows, by which persons are known.

    >>> subject_named("The default port of the till"), subject_named("The fix")
    (Subject(name='till', kind='thing'), None)
    >>> subject_named("Ann", "owns the parser"), subject_named("We", "use pnpm")
    (Subject(name='Ann', kind='person'), Subject(name='', kind='project'))
    """
    words = _without_adverbs(_WORD.findall(phrase))
    phrase = " ".join(words)
    lower = phrase.lower().split()
    if _names_project(lower):
        return _PROJECT
    if not _may_name(words):
        return None
    if _is_person(phrase, predicate):
        return Subject(phrase, "person")
    _, owner = property_and_owner(phrase)
    if owner:
        return subject_named(owner, predicate)
    n_words = len(words)
    words = _before_preposition(words)
    phrase = " ".join(words)
    lower = phrase.lower().split()
    if cues.EXACT_NAME.search(phrase):
        return _exact_subject(words)
    named = _common_subject(words)
    if named is not None:
        return named
    return _plural_subject(lower, predicate, is_qualified=len(words) < n_words)


def _is_person(phrase: str, predicate: str) -> bool:
    """Return whether a phrase is a person's name, and no noun with a capital."""
    if not _PERSON.fullmatch(phrase):
        return False
    if not cues.OF_PERSONS.match(predicate):
        return False
    if _LIVES_IN_CODE.match(predicate):
        return False
    for word in phrase.lower().split():
        if word in cues.GENERIC_NOUNS or word in lexicon.word_kinds():
            return False
    return True


def _before_preposition(words: Sequence[str]) -> list[str]:
    """Return the words that name a thing, without where or of what kind it is."""
    for index, word in enumerate(words):
        if index and word.lower() in _PREPOSITIONS:
            return list(words[:index])
    return list(words)


def _without_adverbs(words: Sequence[str]) -> list[str]:
    """Return the words of a subject without adverbs at its end: "the till now"."""
    trimmed = list(words)
    while len(trimmed) > 1 and _is_adverb(trimmed[-1].lower()):
        trimmed.pop()
    return trimmed


def _is_adverb(word: str) -> bool:
    if word in _ADVERBS:
        return True
    return word.endswith("ly") and len(word) > _SHORT_LY


def _names_project(lower: Sequence[str]) -> bool:
    """Return whether words name the project as a whole: "we", "our project"."""
    bare = _without_determiners(lower)
    if len(bare) != 1:
        return False
    (noun,) = bare
    return noun in cues.PROJECT_NOUNS


def _without_determiners(words: Sequence[str]) -> list[str]:
    """Return words without "the" and the like."""
    others: list[str] = []
    for word in words:
        if word.lower() not in _DETERMINERS:
            others.append(word)
    return others


def _may_name(words: Sequence[str]) -> bool:
    """Return whether words may be a name: few, without pronouns, and no verb first."""
    if not 1 <= len(words) <= _MOST_WORDS:
        return False
    lower = [word.lower() for word in words]
    if not _RELATIVE.isdisjoint(lower):
        return False
    if not _PRONOUNS.isdisjoint(lower):
        return False
    if lower[0] in cues.NO_OPENING:
        return False
    is_determined = lower[0] in _DETERMINERS
    if is_determined and not _COUNTING.isdisjoint(lower[1:2]):
        return False
    return not _begins_with_verb(lower)


def _begins_with_verb(lower: Sequence[str]) -> bool:
    """Return whether a phrase is no noun but begins with a verb or an adverb."""
    first = lower[0]
    if first in _DETERMINERS or not first.isalpha():
        return False
    kind_by_form = lexicon.kind_by_form(first)
    kind = lexicon.word_kinds().get(first, kind_by_form)
    if kind in _VERB_KINDS:
        return True
    has_object = not _OBJECT_STARTS.isdisjoint(lower[1:2])
    return kind in _BASE_KINDS and has_object


def property_and_owner(phrase: str) -> tuple[str, str]:
    """Return a property and whose it is, each '' where a phrase names no property.

    >>> property_and_owner("The till's port"), property_and_owner("The port of the till")
    (('port', 'The till'), ('The port', 'the till'))
    """
    match = _POSSESSIVE.fullmatch(phrase)
    if match is not None:
        return match["property"], match["owner"]
    match = _OF.fullmatch(phrase)
    if match is None:
        return "", ""
    property_words = _WORD.findall(match["property"])
    last = lexicon.singular(property_words[-1].lower())
    if last in cues.PROPERTIES or last in cues.GENERIC_NOUNS:
        return match["property"], match["owner"]
    return "", ""


def _exact_subject(words: Sequence[str]) -> Subject | None:
    """Return the subject that has an exact name: "the `shop list` command"."""
    bare = _without_determiners(words)
    head = lexicon.singular(bare[-1].lower())
    if head in cues.EMPTY_HEADS:
        return None
    if len(bare) > 1 and _has_only_abbreviations(bare):
        named = _common_subject(words)
        return named or Subject(" ".join(_nouns_among(bare)), "thing")
    name = exact_name_in(bare)
    if not tells_which(name):
        return None
    if len(bare) == 1 and _is_plain_word(name):
        return None
    return Subject(name, "thing")


def _has_only_abbreviations(words: Sequence[str]) -> bool:
    """Return whether the only exact names are such as "CLI", "IDs": no name by itself."""
    for word in words:
        is_exact = cues.EXACT_NAME.search(word) is not None
        if is_exact and not _ABBREVIATION.fullmatch(word):
            return False
    return True


def _is_plain_word(name: str) -> bool:
    """Return whether an exact name is a word of everyone: `get`, `list`, `type`."""
    lower = name.lower()
    if lower in cues.GENERIC_NOUNS:
        return True
    return lower in _PLAIN_NAMES


def _common_subject(words: Sequence[str]) -> Subject | None:
    """Return the subject that ordinary words name: "the session record"."""
    nouns = _nouns_among(words)
    if not nouns:
        return None
    *modifiers, last_noun = nouns
    head = lexicon.singular(last_noun.lower())
    first_word = words[0].lower()
    is_definite = first_word in _DETERMINERS
    is_modified = is_definite and bool(modifiers)
    if _is_nameless(head, is_modified=is_modified):
        return None
    if is_definite and head in cues.ROLES:
        role = " ".join(nouns)
        return Subject(role, "person")
    if _is_telling(nouns, is_definite=is_definite):
        name = " ".join([*modifiers, head])
        return Subject(name, "thing")
    if not modifiers and _is_proper_name(last_noun):
        return Subject(last_noun, "thing")
    return None


def _is_nameless(head: str, *, is_modified: bool) -> bool:
    """Return whether a noun names nothing: "the fix", and "the endpoint" alone."""
    if head not in _NAMELESS_HEADS:
        return False
    return not is_modified or head not in _NAMED_BY_MODIFIER


def _nouns_among(words: Sequence[str]) -> list[str]:
    """Return the words of a subject that tell more than "the", "new" or "main"."""
    nouns: list[str] = []
    for word in words:
        if word.lower() not in cues.VAGUE_ADJECTIVES:
            nouns.append(word)
    return nouns


def _is_telling(nouns: Sequence[str], *, is_definite: bool) -> bool:
    """Return whether nouns tell which thing of many is meant."""
    has_telling = False
    for noun in nouns:
        head = lexicon.singular(noun.lower())
        if head not in cues.GENERIC_NOUNS:
            has_telling = True
    if len(nouns) > 1:
        return has_telling or is_definite
    return has_telling and is_definite


def _is_proper_name(word: str) -> bool:
    """Return whether a first word has its capital because it is a name."""
    lower = word.lower()
    if lower in lexicon.word_kinds() or lower.endswith("s"):
        return False
    return word[:1].isupper()


def _plural_subject(
    lower: Sequence[str], predicate: str, *, is_qualified: bool
) -> Subject | None:
    """Return what a bare plural names where its predicate is exact.

    "Tasks live in `tasks.md`" is understood by itself, and so is a plural that is
    qualified: "readers without a card get `Refused`".
    """
    bare = _without_determiners(lower)
    if len(bare) != 1:
        return None
    (noun,) = bare
    head = lexicon.singular(noun)
    is_plural = noun.isalpha() and head != noun
    if not is_plural or head in cues.EMPTY_HEADS:
        return None
    if not cues.EXACT_VALUE.search(predicate):
        return None
    if not is_qualified and not _PLACED.match(predicate):
        return None
    return Subject(head, "thing")
