"""Read what a sentence states: its subject, the relation, the value, a cue of change.

The reading goes by general English, without a model.
"""

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Literal, NamedTuple

import Stemmer

from theorex_lab.core.sections import read_sections
from theorex_lab.designs.facts.relations import RELATIONS, Holds, KnownRelation
from theorex_lab.text.lexicon import AUXILIARY, MODAL, PARTICIPLE, VERB, word_kinds

Cue = Literal["ends", "replaces", "adds", ""]
_CUES: tuple[Cue, ...] = ("ends", "replaces", "adds")
_TOKEN = re.compile(r"[^\s,;:!?()\"“”„«»]+|[,;:!?()]")
_POSSESSIVE = re.compile(r"['’]s?$")
_SECTIONS = read_sections(__file__, "statement_words.txt")
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
_MAY_BE_FIRST = re.compile(r"\b(?:I|[Mm]y|She|He|They|We)\b")
# How a fact in the first person is told of its entity, whose name stands for {}.
_FIRST_PERSON = (
    (re.compile(r"\bI(?:'m| am)\b"), "{} is"),
    (re.compile(r"\bI(?:'ve| have)\b"), "{} has"),
    (re.compile(r"\b[Mm]y\b"), "{}'s"),
    (re.compile(r"\bI\b|^(?:She|He|They|We)\b"), "{}"),
)


class Statement(NamedTuple):
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
        phrases = map(re.escape, _SECTIONS[cue].splitlines())
        alternatives = "|".join(sorted(phrases, key=len, reverse=True))
        form = rf"(?<![\w-])(?:{alternatives})(?![\w-])"
        patterns.append((cue, re.compile(form, re.I)))
    return tuple(patterns)


def cue_of(text: str) -> tuple[Cue, str]:
    """Return the first cue of change in a text, and the text without it.

    Cues are those that end, replace, add, in this order.

    >>> cue_of("Ann no longer likes tea")
    ('ends', 'Ann likes tea')
    """
    for cue, pattern in _cue_patterns():
        if pattern.search(text):
            return cue, " ".join(pattern.sub(_without_cue, text).split())
    return "", text


def _without_cue(cue: re.Match[str]) -> str:
    """Return what stands for a cue.

    A verb stays one, and a cue that names the relation stays itself.
    """
    words = cue[0].lower().split()
    last = words[-1]
    if last in _relation_by_word():
        return cue[0]
    if last.endswith("ed") and last not in ("stopped", "ceased", "dropped"):
        return cue[0]
    if last in _ENDING_VERBS or words[0] in ("has", "have"):
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
    name = entity.partition("/")[2].replace("-", " ").title()
    if _MAY_BE_FIRST.search(text):
        for pattern, form in _FIRST_PERSON:
            text = pattern.sub(form.format(name), text)
    first = text.partition(" ")[0].strip(",.").lower()
    is_verb = word_kinds().get(first.removesuffix("s")) == VERB
    lacks_subject = first in _SUBJECTLESS or is_verb
    if lacks_subject and not text.startswith(name):
        return f"{name} {text[:1].lower()}{text[1:]}"
    return text


@lru_cache(1_024)  # who writes a fact and who folds it read the same
def read_statement(text: str) -> Statement:
    """Return what a text states, by its first sentence.

    The subject is what stands before the verb, or, of "the R of S is V" and "V is the R
    of S", S; of a verb such as "leads" and "wrote", its object.

    >>> read_statement("The mayor of Bath is Ann Lee.")
    Statement(subject='bath', relation=frozenset({'=mayor'}), value='ann lee', cue='', holds='one')
    >>> (
    ...     read_statement("Ann Lee is mayor of Bath.")[0],
    ...     read_statement("Ann no longer speaks Welsh.")[:4],
    ... )
    ('bath', ('ann', frozenset({'=speaks'}), 'welsh', 'ends'))
    """
    cue, rest = cue_of(text.strip())
    without_dots = (token.rstrip(".") for token in _TOKEN.findall(rest))
    tokens = [token for token in without_dots if token]
    if not tokens:
        return Statement("", frozenset(), "", cue)
    mentions = _mentions(tokens)
    verb = _main_verb(tokens, mentions)
    before = [mention for mention in mentions if mention.end <= verb]
    after = [mention for mention in mentions if mention.start > verb]
    return _read(tokens, verb, before, after, cue)


def _read(
    tokens: list[str],
    verb: int,
    before: list[_NameMention],
    after: list[_NameMention],
    cue: Cue,
) -> Statement:
    """Return the statement of tokens whose verb and names are known."""
    subject = before[-1] if before else _NameMention(0, verb)
    value = _value_mention(tokens, verb, after)
    subject_text = _text(tokens[subject.start : subject.end])
    value_text = _text(tokens[value.start : value.end])
    inside = {*range(subject.start, subject.end), *range(value.start, value.end)}
    outside = [token for index, token in enumerate(tokens) if index not in inside]
    preposition = _preposition(tokens, verb, value)
    relation, relations = _relation(outside, value_text, preposition)
    holds: Holds = relations[0].holds if relations else ""
    if after and before and _is_object(tokens, verb, value, relations):
        return Statement(value_text, relation, subject_text, cue, holds)
    return Statement(subject_text, relation, value_text, cue, holds)


def _value_mention(
    tokens: list[str], verb: int, after: list[_NameMention]
) -> _NameMention:
    """Return where the value stands: the names after the verb, else the tail."""
    if not after:
        return _NameMention(_tail(tokens, verb), len(tokens))
    if tokens[after[-1].end - 1].lower().endswith(("'s", "’s")):
        return after[0]
    return _NameMention(after[0].start, after[-1].end)


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
    if _POSSESSIVE.search(tokens[value.end - 1]) or verb_word.startswith("belong"):
        return False
    if tokens[value.start][0].isdigit():
        return False
    if word_kinds().get(verb_word) == PARTICIPLE and "by" in between:
        return False
    return any("object" in relation.marks for relation in relations)


def _is_role_of(between: list[str]) -> bool:
    """Return whether the words after "is" name a role of what follows: "mayor of"."""
    if between and between[0] in _RELATIVE:
        return True
    role = [token for token in between if token != "the"]
    if len(role) < 2 or role[-1] != "of":
        return False
    first = role[0]
    if first in {"a", "an", "one", "another"} or first in _PLACE:
        return False
    if first.endswith("ed") or first == "born":
        return False
    return word_kinds().get(first) != PARTICIPLE


def _relation(
    words: Sequence[str], value: str, preposition: str
) -> tuple[frozenset[str], list[KnownRelation]]:
    """Return the words of a relation, with known relations by their names, and those."""
    lower = [_POSSESSIVE.sub("", word.lower()) for word in words]
    content = [word for word in lower if word not in GENERIC and word[:1].isalnum()]
    relations = _known_relations(content, value)
    parts = {f"={relation.name}" for relation in relations}
    parts |= _unknown_stems(content)
    if _tells_apart(preposition, relations):
        parts = (parts or {"be"}) | {preposition}
    return frozenset(parts or lower[-1:] or {"be"}), relations


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
    named = [word for word in words if word in table]
    strong = [word for word in named if word not in WEAK]
    relations = [table[word] for word in strong or named]
    closed = [relation for relation in relations if relation.holds != "open"]
    if closed:
        return closed
    kind = _kind_of_value(value)
    if not relations and kind:
        return [table[kind]]
    return relations


def _tells_apart(preposition: str, relations: Sequence[KnownRelation]) -> bool:
    """Return whether a preposition makes another relation of the same words."""
    if preposition == "as":
        return True
    names_place = any("place" in relation.marks for relation in relations)
    return preposition in _PLACE and not names_place


def _kind_of_value(value: str) -> str:
    """Return the relation that a value in such a form speaks of, or ''."""
    if re.fullmatch(r"v?\d+(\.\d+)+[\w.-]*", value):
        return "version"
    return "email" if re.fullmatch(r"[\w.+-]+@[\w-]+\.[\w.]+", value) else ""


def _preposition(tokens: list[str], verb: int, value: _NameMention) -> str:
    """Return the word after the verb that tells relations apart, or ''.

    It is "as", or that of a place after a participle ("was made in").
    """
    after = [token.lower() for token in tokens[verb : min(verb + 3, value.start)]]
    has_participle = any(word_kinds().get(token) == PARTICIPLE for token in after)
    for token in after:
        if token == "as" or (has_participle and token in _PLACE):
            return token
    return ""


def _text(tokens: Sequence[str]) -> str:
    """Return tokens as a text in lower case, without articles or a last possessive."""
    words = [token.lower() for token in tokens if token.lower() not in _ARTICLES]
    return _POSSESSIVE.sub("", " ".join(words))


def _is_name(token: str, index: int, previous: str = "") -> bool:
    """Return whether a token is a name, an identifier or a number.

    A capital at the beginning of a sentence says little.
    """
    lower = _POSSESSIVE.sub("", token.lower())
    if any(sign.isdigit() for sign in token):
        return True
    is_identifier = re.search(r"\w[-_/@.]\w", token) is not None
    is_relation = lower in _relation_by_word()
    if is_identifier and previous not in _ARTICLES and not is_relation:
        return True
    if not token[:1].isupper() or lower in _ARTICLES:
        return token[1:2].isupper()
    if index > 0:
        return True
    return not (lower in GENERIC or lower in word_kinds() or is_relation)


def _mentions(tokens: list[str]) -> list[_NameMention]:
    """Return the runs of names.

    An abbreviation after "its", "the", "as" or "a" is an ordinary word, such as CEO.
    """
    mentions: list[_NameMention] = []
    previous = ""
    for index, token in enumerate(tokens):
        is_relation = token.lower() in _relation_by_word()
        if _is_name(token, index, previous.lower()) and not is_relation:
            last = mentions[-1] if mentions else None
            if last and last.end == index and not _POSSESSIVE.search(previous):
                mentions[-1] = _NameMention(last.start, index + 1)
            else:
                mentions.append(_NameMention(index, index + 1))
        previous = token
    return mentions


def _main_verb(tokens: list[str], mentions: list[_NameMention]) -> int:
    """Return the index of the main verb.

    Of what begins "the R that S does" or "what S does", it is the last form of "to be".
    Without any verb, it is the end of the first name.
    """
    verbs = _verbs(tokens, mentions)
    if not verbs:
        ends = [mention.end for mention in mentions if mention.end < len(tokens)]
        return ends[0] if ends else min(1, len(tokens) - 1)
    copulas = [index for index in verbs if tokens[index].lower() in _COPULA]
    before = {token.lower() for token in tokens[: verbs[0]]}
    begins_with_relative = not before.isdisjoint(_RELATIVE)
    return copulas[-1] if copulas and begins_with_relative else verbs[0]


def _verbs(tokens: list[str], mentions: list[_NameMention]) -> list[int]:
    """Return the indices of the tokens that stand as verbs, outside of names."""
    inside = set[int]()
    for mention in mentions:
        inside.update(range(mention.start, mention.end))
    verbs: list[int] = []
    for index in range(1, len(tokens)):
        if index not in inside and _is_verb(tokens, index):
            verbs.append(index)
    return verbs


def _is_verb(tokens: list[str], index: int) -> bool:
    """Return whether a token stands as a verb."""
    lower = tokens[index].lower()
    previous = tokens[index - 1]
    if lower in _COPULA and lower != "'s":
        return True
    if previous.lower() in _ARTICLES or _POSSESSIVE.search(previous):
        return False
    kind = word_kinds().get(lower)
    if kind in (VERB, AUXILIARY, MODAL, PARTICIPLE):
        return True
    if not previous[:1].isalnum():
        return False
    has_verb_form = lower.endswith(("s", "ed")) or lower in ("wrote", "left", "led")
    return has_verb_form and (kind is not None or lower in _relation_by_word())


def _tail(tokens: list[str], verb: int) -> int:
    """Return where the value begins after a verb without a name.

    It begins after the last "of", "in", "to" …, else after the verb.
    """
    for index in reversed(range(verb + 1, len(tokens) - 1)):
        if tokens[index].lower() in _BEFORE_VALUE:
            return index + 1
    return min(verb + 1, len(tokens))
