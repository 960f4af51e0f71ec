"""Read what a sentence states: its subject, the relation, the value, a cue of change.

It is read by rules of general English, without a model.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Literal, NamedTuple

import Stemmer

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.core.remembering import remembered
from theorex_lab.core.sections import read_sections
from theorex_lab.memory.relations import RELATIONS, Holds, KnownRelation
from theorex_lab.text.lexicon import (
    AUXILIARY,
    MIDDLE_S,
    MODAL,
    PARTICIPLE,
    STRONG_S,
    VERB,
    WEAK_S,
    word_kinds,
)

Relation = frozenset[str]
Cue = Literal["ends", "replaces", "adds", ""]
_CUES: tuple[Cue, ...] = ("ends", "replaces", "adds")
_TOKEN = lazy_pattern(r"[^\s,;:!?()\"“”„«»]+|[,;:!?()]")
_POSSESSIVE = lazy_pattern(r"['’]s?$")
_VERSION = lazy_pattern(r"v?\d+(\.\d+)+[\w.-]*")
_EMAIL = lazy_pattern(r"[\w.+-]+@[\w-]+\.[\w.]+")
_IDENTIFIER = lazy_pattern(r"\w[-_/@.]\w")
# "New York" within a sentence is a name.
_NO_NAME = r"(?!(?-i:(?<=\s)New\s[A-Z]))"
_SECTIONS = read_sections(__file__, "assertion_words.txt")
_WORDS = {name: frozenset(text.split()) for name, text in _SECTIONS.items()}
GENERIC = _WORDS["generic"]
WEAK = _WORDS["weak"]
_COPULA = _WORDS["copula"]
_PLACE = _WORDS["place"]
_BEFORE_VALUE = _WORDS["before_value"]
_ENDING_VERBS = _WORDS["ending_verbs"]
_RELATIVE = _WORDS["relative"]
_ARTICLES = _WORDS["articles"]
_SUBJECTLESS = _WORDS["subjectless"]
_VERB_KINDS = (VERB, AUXILIARY, MODAL, PARTICIPLE)
_NOUN_OR_VERB = (WEAK_S, MIDDLE_S, STRONG_S)  # with an s: "builds", "reads"
_IRREGULAR = ("wrote", "left", "led")
_ENDED = ("stopped", "ceased", "dropped")
# Prepositions that make another relation of the same words.
_TELLING_APART = frozenset({"as", "in", "on", "at"})
_INDEFINITE = frozenset({"a", "an", "one", "another"})
_MAY_BE_FIRST = lazy_pattern(r"\b(?:I|[Mm]y|She|He|They|We)\b")
# What begins behind a verb, and not behind a noun: "reads a book".
_DETERMINER = lazy_pattern(r"(?:the|an?|his|her|their|its|my|our)\b")
# What begins behind a verb in the past, and seldom behind an adjective that looks like
# one: "fixed the bug", and not "fixed prices are fair".
_AFTER_PAST_VERB = lazy_pattern(
    r"(?:(?:the|an?|all|his|her|their|its|my|our|to|in|on|at|with|from|for|by|as)\b"
    r"|[A-Z`\"]|\S*\d)"
)
# How a fact in the first person is told of its entity, whose name stands for {}.
_FIRST_PERSON = (
    (lazy_pattern(r"\bI(?:'m| am)\b"), "{} is"),
    (lazy_pattern(r"\bI(?:'ve| have)\b"), "{} has"),
    (lazy_pattern(r"\b[Mm]y\b"), "{}'s"),
    (lazy_pattern(r"\bI\b|^(?:She|He|They|We)\b"), "{}"),
)


class Assertion(NamedTuple):
    """What a text states.

    Attributes:
        subject: What it is about, in lower case.
        relation: Its words, as stems, and the names of known relations after "=".
        value: In lower case; empty where the text has none.
        cue: Whether it says that something ends, replaces, or adds.
        holds: How many values the relation is known to hold; empty where that is not
            known.
    """

    subject: str
    relation: frozenset[str]
    value: str
    cue: Cue
    holds: Holds = ""


class _NameMention(NamedTuple):
    start: int
    end: int


@cache
def _relation_by_word() -> dict[str, KnownRelation]:
    table: dict[str, KnownRelation] = {}
    for relation in RELATIONS:
        table.update(dict.fromkeys(relation.words.split(), relation))
    return table


@cache
def _cue_patterns() -> tuple[tuple[Cue, re.Pattern[str]], ...]:
    patterns: list[tuple[Cue, re.Pattern[str]]] = []
    for cue in _CUES:
        phrases = [re.escape(phrase) for phrase in _SECTIONS[cue].splitlines()]
        phrases.sort(key=len, reverse=True)
        alternatives = "|".join(phrases)
        form = rf"(?<![\w-]){_NO_NAME}(?:{alternatives})(?![\w-])"
        patterns.append((cue, lazy_pattern(form, re.I)))
    return tuple(patterns)


def cue_of(text: str) -> tuple[Cue, str]:
    """Return the first cue of change in a text, and the text without it.

    Cues are those that end, replace, add, in this order.

    >>> cue_of("Ann no longer likes tea"), cue_of("Ann likes New York")
    (('ends', 'Ann likes tea'), ('', 'Ann likes New York'))
    """
    for cue, pattern in _cue_patterns():
        if pattern.search(text):
            rest = pattern.sub(_without_cue, text)
            return cue, " ".join(rest.split())
    return "", text


def _without_cue(cue: re.Match[str]) -> str:
    """Return what stands for a cue.

    A verb stays one, and a cue that names the relation stays itself.
    """
    phrase = cue[0]
    words = phrase.lower().split()
    first = words[0]
    last = words[-1]
    if last in _relation_by_word():
        return phrase
    is_past = last.endswith("ed")
    if is_past and last not in _ENDED:
        return phrase
    if last in _ENDING_VERBS:
        return " has "
    if first in ("has", "have"):
        return " has "
    return " "


def as_statement(entity: str, text: str) -> str:
    """Return a fact of an entity as a sentence that says whom it is about.

    The entity's name stands for "I", "my", or before a verb without a subject.

    >>> (
    ...     as_statement("people/ann", "Prefers Bun over Node.js"),
    ...     as_statement("people/ann", "I moved to my house in Bath"),
    ... )
    ('Ann prefers Bun over Node.js', "Ann moved to Ann's house in Bath")
    """
    _, _, slug = entity.partition("/")
    name = slug.replace("-", " ").title()
    if _MAY_BE_FIRST.search(text):
        for pattern, form in _FIRST_PERSON:
            text = pattern.sub(form.format(name), text)
    if text.startswith(name):
        return text
    if _lacks_subject(text):
        return f"{name} {text[:1].lower()}{text[1:]}"
    return text


def _lacks_subject(text: str) -> bool:
    """Return whether a text begins with a verb, so that a subject is missing."""
    first_word, _, rest = text.partition(" ")
    first = first_word.strip(",.").lower()
    if first in _SUBJECTLESS:
        return True
    kind = word_kinds().get(first)
    if kind == PARTICIPLE:
        return _AFTER_PAST_VERB.match(rest) is not None
    if kind in _NOUN_OR_VERB:
        return _DETERMINER.match(rest) is not None
    infinitive = first.removesuffix("s")
    return word_kinds().get(infinitive) == VERB


def relation_group(relation: Relation) -> Relation:
    """Return what two relations share that are the same.

    It is the known relations and what distinguishes them, else all their words.
    """
    names = relation_names(relation)
    if not names:
        return relation
    prepositions = relation & _TELLING_APART
    return names | prepositions


def relation_names(relation: Relation) -> Relation:
    """Return the names of known relations among the words of one."""
    return frozenset(word for word in relation if word.startswith("="))


def kinds_of_value(statement: Assertion) -> set[str]:
    """Return the words of a relation that tell which kind of thing its value is.

    "editor" and "editing" are one.
    """
    kinds = set[str]()
    for word in statement.relation:
        is_name = word.startswith("=")
        if is_name or len(word) <= 2:
            continue
        stem = word.removesuffix("or")
        kinds.add(stem.removesuffix("er"))
    return kinds


@remembered(1_024)  # who writes a fact and who folds it read the same
def read_assertion(text: str) -> Assertion:
    """Return what a text states, by its first sentence.

    The subject is what stands before the verb, or, of "the R of S is V" and "V is the R
    of S", S; of a verb such as "leads" and "wrote", its object.

    >>> read_assertion("The mayor of Bath is Ann Lee.")
    Assertion(subject='bath', relation=frozenset({'=mayor'}), value='ann lee', cue='', holds='one')
    >>> (
    ...     read_assertion("Ann Lee is mayor of Bath.")[0],
    ...     read_assertion("Ann no longer speaks Welsh.")[:4],
    ... )
    ('bath', ('ann', frozenset({'=speaks'}), 'welsh', 'ends'))
    """
    cue, rest = cue_of(text.strip())
    tokens = _tokens(rest)
    if not tokens:
        return Assertion("", frozenset(), "", cue)
    mentions = _mentions(tokens)
    verb = _main_verb(tokens, mentions)
    before = [mention for mention in mentions if mention.end <= verb]
    after = [mention for mention in mentions if mention.start > verb]
    return _read(tokens, verb, before, after, cue)


def _tokens(text: str) -> list[str]:
    """Return the words and signs of a text, without dots at their end."""
    tokens: list[str] = []
    for raw_token in _TOKEN.findall(text):
        token = raw_token.rstrip(".")
        if token:
            tokens.append(token)
    return tokens


def _read(
    tokens: list[str],
    verb: int,
    before: list[_NameMention],
    after: list[_NameMention],
    cue: Cue,
) -> Assertion:
    """Return the statement of tokens whose verb and names are known."""
    subject = _NameMention(0, verb)
    if before:
        subject = before[-1]
    value = _value_mention(tokens, verb, after)
    subject_text = _text(tokens[subject.start : subject.end])
    value_text = _text(tokens[value.start : value.end])
    outside = _outside(tokens, [subject, value])
    preposition = _preposition(tokens, verb, value)
    relation, relations = _relation(outside, value_text, preposition)
    holds: Holds = ""
    if relations:
        holds = relations[0].holds
    if not after and _is_done(tokens, verb) and _has_mark("object", relations):
        # One may have written many things.
        holds = "many"
    has_both = bool(before and after)
    if has_both and _is_object(tokens, verb, value, relations):
        return Assertion(
            subject=value_text,
            relation=relation,
            value=subject_text,
            cue=cue,
            holds=holds,
        )
    return Assertion(
        subject=subject_text,
        relation=relation,
        value=value_text,
        cue=cue,
        holds=holds,
    )


def _outside(tokens: list[str], mentions: Iterable[_NameMention]) -> list[str]:
    """Return the tokens that stand in none of the mentions."""
    inside = _indices_inside(mentions)
    return [token for index, token in enumerate(tokens) if index not in inside]


def _indices_inside(mentions: Iterable[_NameMention]) -> set[int]:
    """Return the indices of the tokens that stand in one of the mentions."""
    inside = set[int]()
    for mention in mentions:
        inside.update(range(mention.start, mention.end))
    return inside


def _value_mention(
    tokens: list[str], verb: int, after: list[_NameMention]
) -> _NameMention:
    """Return where the value stands: the names after the verb, else the tail."""
    if not after:
        start = _tail(tokens, verb)
        return _NameMention(start, len(tokens))
    first = after[0]
    last = after[-1]
    last_token = tokens[last.end - 1].lower()
    if last_token.endswith(("'s", "’s")):
        return first
    return _NameMention(first.start, last.end)


def _is_object(
    tokens: list[str],
    verb: int,
    value: _NameMention,
    relations: Sequence[KnownRelation],
) -> bool:
    """Return whether what follows the verb is what the statement is about."""
    between = [token.lower() for token in tokens[verb + 1 : value.start]]
    verb_word = tokens[verb].lower()
    if verb_word in _COPULA:
        return _is_role_of(between)
    if verb_word.startswith("belong"):
        return False
    first_token = tokens[value.start]
    last_token = tokens[value.end - 1]
    if _POSSESSIVE.search(last_token):
        return False
    if first_token[0].isdigit():
        return False
    is_passive = word_kinds().get(verb_word) == PARTICIPLE
    if is_passive and "by" in between:
        return False
    return _has_mark("object", relations)


def _is_done(tokens: list[str], verb: int) -> bool:
    """Return whether a verb tells what the subject did: it "wrote the parser"."""
    behind = {token.lower() for token in tokens[verb + 1 :]}
    is_past = word_kinds().get(tokens[verb].lower()) == PARTICIPLE
    return is_past and "by" not in behind and not behind.isdisjoint(_ARTICLES)


def _has_mark(mark: str, relations: Iterable[KnownRelation]) -> bool:
    return any(mark in relation.marks for relation in relations)


def _is_role_of(between: list[str]) -> bool:
    """Return whether the words after "is" name a role of what follows: "mayor of"."""
    if between and between[0] in _RELATIVE:
        return True
    role = [token for token in between if token != "the"]
    if len(role) < 2 or role[-1] != "of":
        return False
    return _may_be_role(role[0])


def _may_be_role(word: str) -> bool:
    """Return whether a word may name a role: no article, place or participle does."""
    if word in _INDEFINITE or word in _PLACE:
        return False
    if word.endswith("ed") or word == "born":
        return False
    return word_kinds().get(word) != PARTICIPLE


def _relation(
    words: Sequence[str], value: str, preposition: str
) -> tuple[frozenset[str], list[KnownRelation]]:
    """Return the words of a relation, and the known relations among them.

    Known relations stand among the words by their names.
    """
    lower = [_POSSESSIVE.sub("", word.lower()) for word in words]
    content = [word for word in lower if _says_something(word)]
    relations = _known_relations(content, value)
    parts = {f"={relation.name}" for relation in relations}
    parts |= _unknown_stems(content)
    if _tells_apart(preposition, relations):
        if not parts:
            parts.add("be")
        parts.add(preposition)
    if not parts:
        # The last word is all that names the relation, even if it is a generic one.
        parts.update(lower[-1:] or ["be"])
    return frozenset(parts), relations


def _says_something(word: str) -> bool:
    """Return whether a word is one, and not too general to name a relation."""
    return word not in GENERIC and word[:1].isalnum()


def _unknown_stems(words: Sequence[str]) -> set[str]:
    """Return the stems of the words that name no known relation."""
    stemmer = Stemmer.Stemmer("english", 0)
    table = _relation_by_word()
    return {stemmer.stemWord(word) for word in words if word not in table}


def _known_relations(words: list[str], value: str) -> list[KnownRelation]:
    """Return the known relations that words name, the weak ones only by themselves.

    Those that are open to any value give way to others. Where the words name none, the
    form of the value may.
    """
    table = _relation_by_word()
    relations = _relations_of(words)
    closed = [relation for relation in relations if relation.holds != "open"]
    if closed:
        return closed
    if relations:
        return relations
    kind = _kind_of_value(value)
    if kind:
        return [table[kind]]
    return []


def _relations_of(words: list[str]) -> list[KnownRelation]:
    """Return the known relations that words name, the weak ones only by themselves."""
    table = _relation_by_word()
    names = [word for word in words if word in table]
    strong_names = [word for word in names if word not in WEAK]
    if strong_names:
        names = strong_names
    return [table[name] for name in names]


def _tells_apart(preposition: str, relations: Sequence[KnownRelation]) -> bool:
    """Return whether a preposition makes another relation of the same words."""
    if preposition == "as":
        return True
    if preposition not in _PLACE:
        return False
    return not _has_mark("place", relations)


def _kind_of_value(value: str) -> str:
    """Return the relation that a value in such a form speaks of, or ''."""
    if _VERSION.fullmatch(value):
        return "version"
    if _EMAIL.fullmatch(value):
        return "email"
    return ""


def _preposition(tokens: list[str], verb: int, value: _NameMention) -> str:
    """Return the word after the verb that tells relations apart, or ''.

    It is "as", or that of a place after a participle ("was made in").
    """
    end = min(verb + 3, value.start)
    after = [token.lower() for token in tokens[verb:end]]
    kinds = [word_kinds().get(token) for token in after]
    has_participle = PARTICIPLE in kinds
    for token in after:
        if token == "as":
            return token
        if has_participle and token in _PLACE:
            return token
    return ""


def _text(tokens: Sequence[str]) -> str:
    """Return tokens as a text in lower case, without articles or a last possessive."""
    lower = [token.lower() for token in tokens]
    words = [word for word in lower if word not in _ARTICLES]
    text = " ".join(words)
    return _POSSESSIVE.sub("", text)


def _is_name(token: str, index: int, previous: str = "") -> bool:
    """Return whether a token is a name, an identifier or a number.

    A capital at the beginning of a sentence says little.
    """
    if any(sign.isdigit() for sign in token):
        return True
    lower = _POSSESSIVE.sub("", token.lower())
    is_relation = lower in _relation_by_word()
    is_identifier = _IDENTIFIER.search(token) is not None
    if is_identifier and previous not in _ARTICLES and not is_relation:
        return True
    is_capitalized = token[:1].isupper() and lower not in _ARTICLES
    if not is_capitalized:
        return token[1:2].isupper()
    if index > 0:
        return True
    return not (is_relation or _is_common(lower))


def _is_common(word: str) -> bool:
    """Return whether a word is an ordinary one, so that its capital says little."""
    return word in GENERIC or word in word_kinds()


def _mentions(tokens: list[str]) -> list[_NameMention]:
    """Return the runs of names.

    An abbreviation after "its", "the", "as" or "a" is an ordinary word, such as CEO.
    """
    mentions: list[_NameMention] = []
    previous = ""
    for index, token in enumerate(tokens):
        is_relation = token.lower() in _relation_by_word()
        if not is_relation and _is_name(token, index, previous.lower()):
            _add_mention(mentions, index, previous)
        previous = token
    return mentions


def _add_mention(mentions: list[_NameMention], index: int, previous: str) -> None:
    """Add a token to the run of names before it, or begin another."""
    end = index + 1
    last = mentions[-1] if mentions else None
    continues = last is not None and last.end == index
    if last and continues and not _POSSESSIVE.search(previous):
        mentions[-1] = _NameMention(last.start, end)
    else:
        mentions.append(_NameMention(index, end))


def _main_verb(tokens: list[str], mentions: list[_NameMention]) -> int:
    """Return the index of the main verb.

    After "the R that S does" or "what S does" it is the last form of "to be".
    Without any verb, it is the end of the first name.
    """
    verbs = _verbs(tokens, mentions)
    if not verbs:
        return _end_of_first_name(tokens, mentions)
    first = verbs[0]
    copulas = [index for index in verbs if tokens[index].lower() in _COPULA]
    before = {token.lower() for token in tokens[:first]}
    begins_with_relative = not before.isdisjoint(_RELATIVE)
    if copulas and begins_with_relative:
        return copulas[-1]
    return first


def _end_of_first_name(tokens: list[str], mentions: list[_NameMention]) -> int:
    """Return where the first name ends, or the first word where no name does."""
    for mention in mentions:
        if mention.end < len(tokens):
            return mention.end
    return min(1, len(tokens) - 1)


def _verbs(tokens: list[str], mentions: list[_NameMention]) -> list[int]:
    """Return the indices of the tokens that stand as verbs, outside of names."""
    inside = _indices_inside(mentions)
    verbs: list[int] = []
    for index in range(1, len(tokens)):
        if index in inside:
            continue
        if _is_verb(tokens, index):
            verbs.append(index)
    return verbs


def _is_verb(tokens: list[str], index: int) -> bool:
    """Return whether a token stands as a verb."""
    lower = tokens[index].lower()
    previous = tokens[index - 1]
    if lower in _COPULA and lower != "'s":
        return True
    if previous.lower() in _ARTICLES:
        return False
    if _POSSESSIVE.search(previous):
        return False
    kind = word_kinds().get(lower)
    if kind in _VERB_KINDS:
        return True
    if not previous[:1].isalnum():
        return False
    if not _has_verb_form(lower):
        return False
    return kind is not None or lower in _relation_by_word()


def _has_verb_form(word: str) -> bool:
    """Return whether a word in lower case looks like a verb that was inflected."""
    if word in _IRREGULAR:
        return True
    return word.endswith(("s", "ed"))


def _tail(tokens: list[str], verb: int) -> int:
    """Return where the value begins after a verb without a name.

    It begins after the last "of", "in", "to" …, else after the verb.
    """
    after_verb = verb + 1
    for index in reversed(range(after_verb, len(tokens) - 1)):
        word = tokens[index].lower()
        if word in _BEFORE_VALUE:
            return index + 1
    return min(after_verb, len(tokens))
