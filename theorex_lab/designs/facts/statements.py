"""What a sentence states: its subject, the relation, the value, and a cue of change; by
general English, no model.
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
GENERIC, WEAK, _COPULA, _PLACE = (
    _WORDS[name] for name in ("generic", "weak", "copula", "place")
)
_BEFORE_VALUE, _ENDING_VERBS, _RELATIVE = (
    _WORDS[name] for name in ("before_value", "ending_verbs", "relative")
)
_ARTICLES, _SUBJECTLESS = (_WORDS[name] for name in ("articles", "subjectless"))
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

    subject: in lower case, what it is about.  relation: its words, as stems, and the
    names of known relations after "=". value: in lower case; empty where none was
    found.  cue: whether it says that something ends, replaces, or adds. holds: how many
    values the relation is known to hold; empty where that is not known.
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
def _known() -> dict[str, KnownRelation]:
    table: dict[str, KnownRelation] = {}
    for relation in RELATIONS:
        table.update(dict.fromkeys(relation.words.split(), relation))
    return table


@cache
def _cue_patterns() -> tuple[tuple[Cue, re.Pattern[str]], ...]:
    phrases = {
        cue: sorted(map(re.escape, _SECTIONS[cue].splitlines()), key=len, reverse=True)
        for cue in _CUES
    }
    forms = (
        (cue, rf"(?<![\w-])(?:{'|'.join(said)})(?![\w-])")
        for cue, said in phrases.items()
    )
    return tuple((cue, re.compile(form, re.I)) for cue, form in forms)


def cue_of(text: str) -> tuple[Cue, str]:
    """The first cue of change that a text has, of those that end, replace, add; and the
    text without it.

    >>> cue_of("Ann no longer likes tea")
    ('ends', 'Ann likes tea')
    """
    for cue, pattern in _cue_patterns():
        if pattern.search(text):
            return cue, " ".join(pattern.sub(_without_cue, text).split())
    return "", text


def _without_cue(cue: re.Match[str]) -> str:
    """What stands for a cue: a verb stays one, and one that names the relation stays
    itself.
    """
    last = cue[0].lower().split()[-1]
    if last in _known() or (
        last.endswith("ed") and last not in ("stopped", "ceased", "dropped")
    ):
        return cue[0]
    return (
        " has "
        if last in _ENDING_VERBS or cue[0].lower().split()[0] in ("has", "have")
        else " "
    )


def as_statement(entity: str, text: str) -> str:
    """A fact of an entity as a sentence that says whom it is about: of "I", "my", or a
    verb without a subject.

    >>> (
    ...     as_statement("people/ann", "Prefers Bun over Node.js"),
    ...     as_statement("people/ann", "I moved to my house in Bath"),
    ... )
    ('Ann prefers Bun over Node.js', "Ann moved to Ann's house in Bath")
    """
    name = entity.partition("/")[2].replace("-", " ").title()
    for pattern, form in _FIRST_PERSON if _MAY_BE_FIRST.search(text) else ():
        text = pattern.sub(form.format(name), text)
    first = text.partition(" ")[0].strip(",.").lower()
    begins = first in _SUBJECTLESS or word_kinds().get(first.removesuffix("s")) == VERB
    return (
        f"{name} {text[:1].lower()}{text[1:]}"
        if begins and not text.startswith(name)
        else text
    )


@lru_cache(1_024)  # who writes a fact and who folds it read the same
def read_statement(text: str) -> Statement:
    """Read what a text states, by its first sentence.

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
    tokens = [kept for token in _TOKEN.findall(rest) if (kept := token.rstrip("."))]
    if not tokens:
        return Statement("", frozenset(), "", cue)
    mentions = _mentions(tokens)
    verb = _main_verb(tokens, mentions)
    before = [mention for mention in mentions if mention.end <= verb]
    return _read(
        tokens,
        verb,
        before,
        [mention for mention in mentions if mention.start > verb],
        cue,
    )


def _read(
    tokens: list[str],
    verb: int,
    before: list[_NameMention],
    after: list[_NameMention],
    cue: Cue,
) -> Statement:
    subject = before[-1] if before else _NameMention(0, verb)
    value = (
        _NameMention(after[0].start, after[-1].end)
        if after
        else _NameMention(_tail(tokens, verb), len(tokens))
    )
    if after and tokens[after[-1].end - 1].lower().endswith(("'s", "’s")):
        value = after[0]
    first = _text(tokens[subject.start : subject.end])
    second = _text(tokens[value.start : value.end])
    inside = {*range(subject.start, subject.end), *range(value.start, value.end)}
    outside = [token for place, token in enumerate(tokens) if place not in inside]
    relation, known = _relation(outside, second, _preposition(tokens, verb, value))
    if after and before and _is_object(tokens, verb, value, known):
        first, second = second, first
    return Statement(first, relation, second, cue, known[0].holds if known else "")


def _is_object(
    tokens: list[str], verb: int, value: _NameMention, known: Sequence[KnownRelation]
) -> bool:
    """Whether what follows the verb is what the statement is about."""
    between = [token.lower() for token in tokens[verb + 1 : value.start]]
    if tokens[verb].lower() in _COPULA:
        if between and between[0] in _RELATIVE:
            return True
        role = [token for token in between if token != "the"]
        article = bool(role) and role[0] in {"a", "an", "one", "another"}
        named = (
            len(role) > 1
            and role[-1] == "of"
            and word_kinds().get(role[0]) != PARTICIPLE
        )
        return (
            named
            and not article
            and role[0] not in _PLACE
            and not (role[0].endswith("ed") or role[0] == "born")
        )
    active = word_kinds().get(tokens[verb].lower()) != PARTICIPLE or "by" not in between
    theirs = (
        len(tokens) > value.end - 1
        and _POSSESSIVE.search(tokens[value.end - 1]) is not None
    )
    if (
        theirs
        or tokens[verb].lower().startswith("belong")
        or tokens[value.start][0].isdigit()
    ):
        return False
    return active and any("object" in relation.marks for relation in known)


def _relation(
    words: Sequence[str], value: str, preposition: str
) -> tuple[frozenset[str], list[KnownRelation]]:
    """The words of a relation, with known relations by their names, and those."""
    stemmer = Stemmer.Stemmer("english", 0)
    table = _known()
    lower = [_POSSESSIVE.sub("", word.lower()) for word in words]
    said = [word for word in lower if word not in GENERIC and word[:1].isalnum()]
    named = [word for word in said if word in table]
    known = [table[word] for word in named if word not in WEAK] or [
        table[word] for word in named
    ]
    if any(relation.holds != "open" for relation in known):
        known = [relation for relation in known if relation.holds != "open"]
    if not known and (kind := _kind_of_value(value)):
        known = [table[kind]]
    found = {f"={relation.name}" for relation in known} | {
        stemmer.stemWord(word) for word in said if word not in table
    }
    if preposition == "as" or (
        preposition in _PLACE
        and not any("place" in relation.marks for relation in known)
    ):
        found |= {preposition} if found else {preposition, "be"}
    return frozenset(found or lower[-1:] or {"be"}), known


def _kind_of_value(value: str) -> str:
    """A relation that a value in such a form speaks of; empty where it says nothing."""
    if re.fullmatch(r"v?\d+(\.\d+)+[\w.-]*", value):
        return "version"
    return "email" if re.fullmatch(r"[\w.+-]+@[\w-]+\.[\w.]+", value) else ""


def _preposition(tokens: list[str], verb: int, value: _NameMention) -> str:
    """The word after the verb that tells relations apart: "as", or that of a place
    after a participle ("was made in").
    """
    after = [token.lower() for token in tokens[verb : min(verb + 3, value.start)]]
    made = any(word_kinds().get(token) == PARTICIPLE for token in after)
    return next(
        (token for token in after if token == "as" or (made and token in _PLACE)), ""
    )


def _text(tokens: Sequence[str]) -> str:
    return _POSSESSIVE.sub(
        "",
        " ".join([token.lower() for token in tokens if token.lower() not in _ARTICLES]),
    )


def _is_name(token: str, place: int, previous: str = "") -> bool:
    """Whether a token is a name, an identifier or a number; a capital at the beginning
    says little.
    """
    lower = _POSSESSIVE.sub("", token.lower())
    joined = (
        re.search(r"\w[-_/@.]\w", token) is not None
        and previous not in _ARTICLES
        and lower not in _known()
    )
    if joined or any(sign.isdigit() for sign in token):
        return True
    if not token[:1].isupper() or lower in _ARTICLES:
        return token[1:2].isupper()
    return place > 0 or not (
        lower in GENERIC or lower in word_kinds() or lower in _known()
    )


def _mentions(tokens: list[str]) -> list[_NameMention]:
    """Runs of names; an abbreviation after "its", "the", "as" or "a" is an ordinary
    word, such as CEO.
    """
    found: list[_NameMention] = []
    for place, token in enumerate(tokens):
        if (
            not _is_name(token, place, tokens[place - 1].lower() if place else "")
            or token.lower() in _known()
        ):
            continue
        if (
            found
            and found[-1].end == place
            and not _POSSESSIVE.search(tokens[place - 1])
        ):
            found[-1] = _NameMention(found[-1].start, place + 1)
        else:
            found.append(_NameMention(place, place + 1))
    return found


def _main_verb(tokens: list[str], mentions: list[_NameMention]) -> int:
    """The place of the main verb; of what begins "the R that S does" or "what S does",
    the last form of "to be".
    """
    inside = {
        place for mention in mentions for place in range(mention.start, mention.end)
    }
    verbs = [
        place
        for place in range(1, len(tokens))
        if place not in inside and _verbal(tokens, place)
    ]
    if not verbs:
        return next(
            (mention.end for mention in mentions if mention.end < len(tokens)),
            min(1, len(tokens) - 1),
        )
    copulas = [place for place in verbs if tokens[place].lower() in _COPULA]
    if copulas and any(token.lower() in _RELATIVE for token in tokens[: verbs[0]]):
        return copulas[-1]
    return verbs[0]


def _verbal(tokens: list[str], place: int) -> bool:
    lower = tokens[place].lower()
    before = tokens[place - 1]
    if lower in _COPULA and lower != "'s":
        return True
    if before.lower() in _ARTICLES or _POSSESSIVE.search(before):
        return False
    kind = word_kinds().get(lower)
    if kind in (VERB, AUXILIARY, MODAL, PARTICIPLE):
        return True
    formed = lower.endswith(("s", "ed")) or lower in ("wrote", "left", "led")
    return formed and before[:1].isalnum() and (kind is not None or lower in _known())


def _tail(tokens: list[str], verb: int) -> int:
    """Where the value begins after a verb without a name: after the last "of", "in",
    "to" …, else after the verb.
    """
    places = [
        place
        for place in range(verb + 1, len(tokens) - 1)
        if tokens[place].lower() in _BEFORE_VALUE
    ]
    return (places[-1] + 1) if places else min(verb + 1, len(tokens))
