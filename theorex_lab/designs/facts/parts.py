"""Read the parts of a fact: its subject, its attribute and its value.

"The default port of the till is 8080" gives the "default port" of the "till" the value
"8080"; in "The till listens on port 8080" the verb is the attribute.
"""

import re
from dataclasses import replace
from typing import NamedTuple

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.designs.facts import statement_cues as cues
from theorex_lab.designs.facts.subjects import property_and_owner
from theorex_lab.memory.assertions import as_statement
from theorex_lab.memory.claims import Clause, clause_of, denies, is_bound
from theorex_lab.text import lexicon

WANTS = "wants"  # the attribute of a wish, which has no verb of its own
PART_CHARACTERS = 300
_PREPOSITION = lazy_pattern(
    r"""
    (?P<word> on|to|in|at|with|by|from|for|as|via|through|over|into|against|of|under
      |inside|within|between )
    \s+ (?=\S)
    """,
    re.I | re.VERBOSE,
)
_IS = lazy_pattern(
    r"(?:is|are|was|were|be)",
)
_FILLER = lazy_pattern(
    r"\b(?:now|also|always|only|then|still|already)\s+",
)
_DETERMINER = lazy_pattern(
    r"^(?:the|a|an|our|all|this)\s+",
)
_DENIAL = lazy_pattern(
    r"\s+(no longer|never|not)$",
    re.I,
)
# Verbs of a change after which a property has the value that follows.
_CHANGES_OF_VALUE = frozenset(
    (
        "raised to",
        "lowered to",
        "increased to",
        "reduced to",
        "bumped to",
        "switched to",
        "changed to",
        "updated to",
    )
)
# Behind "do not" and the like.
_ADVERB = lazy_pattern(r"(?:(?<=n't)|(?<=n’t)|(?<= not))\s+\w+ly$")
_BASE_FORMS = (lexicon.VERB, lexicon.WEAK, lexicon.MIDDLE, lexicon.STRONG)
_CODE = lazy_pattern(r"`[^`]*`")
_PLACEHOLDER = lazy_pattern(r"`code(\d+)`")
_WORD = lazy_pattern(r"\w+")
_SIGNS = lazy_pattern(r"[`\"“”*]")


class FactParts(NamedTuple):
    """What a fact says of what; all '' where that is not read.

    Attributes:
        subject: The words for what it is about, in lower case.
        attribute: What it says of it: a property, or the verb.
        value: What follows.
        is_property: Whether the attribute is a property with one value at a time.
    """

    subject: str = ""
    attribute: str = ""
    value: str = ""
    is_property: bool = False


_NOT_READ = FactParts()


def fact_parts(entity: str, text: str) -> FactParts:
    """Return the parts of a fact.

    Args:
        entity: The path of what it is about, such as people/ann.
        text: The fact.

    >>> tuple(fact_parts("projects/till", "The default port of the till is 8080"))
    ('till', 'default port', '8080', True)
    >>> tuple(fact_parts("people/ann", "Prefers tabs over spaces"))
    ('ann', 'prefers', 'tabs over spaces', False)
    """
    statement = as_statement(entity, text.strip().rstrip("."))
    change = cues.TOLD_CHANGE.fullmatch(statement)
    if change is not None:
        verb = change["verb"].lower()
        return _parts(
            change["subject"],
            f"{verb} to",
            change["value"],
        )
    clause = _clause_with_code(statement)
    if clause is None or clause.is_order or is_bound(statement):
        return _wish(entity, statement)
    if not _is_of(entity, clause.subject):
        return _wish(entity, statement)
    return _clause_parts(clause)


def gives_property_anew(newer: FactParts, older: FactParts) -> bool:
    """Return whether two facts give a property of one thing different values.

    >>> new = fact_parts("projects/till", "The till's default port is 9090")
    >>> gives_property_anew(new, fact_parts("projects/till", "The default port of the till is 80"))
    True
    """
    if not newer.is_property or not older.is_property:
        return False
    if newer.subject != older.subject:
        return False
    if newer.attribute != older.attribute:
        return False
    if denies(newer.value) or denies(older.value):
        return False
    new_value = _plain(newer.value)
    old_value = _plain(older.value)
    return new_value != old_value


def says_again(newer: FactParts, older: FactParts) -> bool:
    """Return whether two facts say the same of a thing that one names more fully.

    >>> new = fact_parts("projects/till", "The `Till` class has the `port` field")
    >>> says_again(new, fact_parts("projects/till", "`Till` has the `port` field"))
    True
    """
    if not newer.attribute:
        return False
    if newer.attribute != older.attribute:
        return False
    new_value = _plain(newer.value)
    old_value = _plain(older.value)
    if new_value != old_value:
        return False
    new_words = set(newer.subject.split())
    old_words = set(older.subject.split())
    return new_words <= old_words or old_words <= new_words


def _wish(entity: str, text: str) -> FactParts:
    """Return the parts of what a person wants; none where it is not of a person."""
    folder, _, name = entity.partition("/")
    if folder != "people":
        return _NOT_READ
    return FactParts(
        subject=name.replace("-", " "),
        attribute=WANTS,
        value=text[:PART_CHARACTERS],
    )


def _clause_with_code(statement: str) -> Clause | None:
    """Return the first clause of a statement; no clause ends within code."""
    codes: list[str] = []

    def put_aside(match: re.Match[str]) -> str:
        codes.append(match[0])
        return f"`code{len(codes) - 1}`"

    def put_back(match: re.Match[str]) -> str:
        return codes[int(match[1])]

    clause = clause_of(_CODE.sub(put_aside, statement))
    if clause is None:
        return None
    return replace(
        clause,
        subject=_PLACEHOLDER.sub(put_back, clause.subject),
        verb=_PLACEHOLDER.sub(put_back, clause.verb),
        rest=_PLACEHOLDER.sub(put_back, clause.rest),
    )


def _is_of(entity: str, subject: str) -> bool:
    """Return whether a subject is an entity: of a person only what names them."""
    folder, _, name = entity.partition("/")
    if folder != "people":
        return bool(subject)
    words = _WORD.findall(subject.lower())
    return not set(words).isdisjoint(name.split("-"))


def _clause_parts(clause: Clause) -> FactParts:
    """Return the parts of a statement."""
    verb, value = _with_main_verb(clause)
    subject, denial = _without_denial(clause.subject)
    if denial:
        verb = f"{denial} {verb}"
    preposition = _PREPOSITION.match(value)
    property_name, _ = property_and_owner(subject)
    if property_name and _IS.fullmatch(verb):
        return _parts(subject, "", value)
    if preposition is not None:
        verb = f"{verb} {preposition['word'].lower()}"
        value = value[preposition.end() :]
    return _parts(
        subject,
        verb,
        value,
    )


def _with_main_verb(clause: Clause) -> tuple[str, str]:
    """Return the verb, and what follows; no adverb stands for the verb.

    "doesn't quietly drop rows" is read as the verb "doesn't drop".
    """
    verb = _FILLER.sub("", clause.verb.lower())
    main_verb, _, value = clause.rest.partition(" ")
    adverb = _ADVERB.search(verb)
    if adverb is None or lexicon.word_kinds().get(main_verb) not in _BASE_FORMS:
        return verb, clause.rest
    return f"{verb[: adverb.start()]} {main_verb}", value


def _without_denial(subject: str) -> tuple[str, str]:
    """Return a subject without "no longer" or "never" at its end, and that."""
    match = _DENIAL.search(subject)
    if match is None:
        return subject, ""
    return subject[: match.start()], match[1].lower()


def _parts(subject: str, verb: str, value: str) -> FactParts:
    """Return the parts of a statement by its subject, its verb and what follows.

    The verb is '' where it is a form of "to be" after a property.
    """
    property_name, owner = property_and_owner(subject)
    attribute = verb
    is_property = False
    if property_name:
        attribute = _plain(property_name)
        gives_value = not verb or verb in _CHANGES_OF_VALUE
        if gives_value:
            is_property = _is_of_one_value(attribute)
        else:
            attribute = f"{attribute} {verb}"
    value = value.strip()
    if not attribute or not value:
        return _NOT_READ
    return FactParts(
        subject=_plain(owner or subject),
        attribute=attribute[:PART_CHARACTERS],
        value=value[:PART_CHARACTERS],
        is_property=is_property,
    )


def _is_of_one_value(property_name: str) -> bool:
    """Return whether a thing has one of a property: its port, and not its ports."""
    _, _, head = f" {property_name}".rpartition(" ")
    if head not in cues.PROPERTIES:
        return False
    return lexicon.singular(head) == head


def _plain(phrase: str) -> str:
    """Return a phrase in lower case without "the" and without marks."""
    bare = _SIGNS.sub("", phrase.lower()).strip()
    return _DETERMINER.sub("", bare).strip()
