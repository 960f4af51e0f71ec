"""Read plain statements of facts: two whole names, and the words between them.

"The author of A Wizard of Earthsea is Ursula K. Le Guin" names two things. Words in
lower case stand around them: before the first, between both, after the second. Where a
name ends is often open ("The Lord of the Rings", "This Is Us", "association football"),
so each statement has several readings. What other statements of the same collection
say in the same words decides, with the form of the names.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from theorex_lab.core.sections import read_sections
from theorex_lab.memory.relation_senses import (
    RelationSense,
    kinds_by_stem,
    plain_stem,
    relation_stem,
    sense_of,
)
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

_SECTIONS = read_sections(
    __file__,
    "fact_words.txt",
)
_WORDS = {name: frozenset(text.split()) for name, text in _SECTIONS.items()}
_COPULA = _WORDS["copula"]
_ARTICLES = _WORDS["articles"]
_PREPOSITIONS = _WORDS["prepositions"]
_RELATIVES = _WORDS["relatives"]
_CONNECTORS = _WORDS["connectors"]
_ADVERBS = _WORDS["adverbs"]
_VERBS = _WORDS["verbs"]
_OWN_ROLES = _WORDS["own roles"]
_NEGATIONS = _WORDS["negations"]
_FUNCTION = _WORDS["function"]
_NO_VERBS = _PREPOSITIONS | _ARTICLES | _CONNECTORS
_CLOSING = _PREPOSITIONS | _ARTICLES | _ADVERBS
_OPENING = _PREPOSITIONS | _RELATIVES | _ARTICLES
# Words with which a verb has no object that a statement is about.
_DONE_TO_SUBJECT = frozenset("by in for with from at".split())
_NO_LAST_WORDS = _CONNECTORS | _PREPOSITIONS | _COPULA | _ADVERBS
_AGENTIVE = frozenset(plain_stem(word) for word in _WORDS["agentive"])
_ENDING_PHRASES = _WORDS["ending verbs"]
_VERB_KINDS = (VERB, AUXILIARY, MODAL, PARTICIPLE, WEAK_S, MIDDLE_S, STRONG_S)
_ROLE_COPULAS = _COPULA | {"as"}
_LEADING = re.compile(
    r"^(?:\d+[.):]\s+|(?:actually|correction|update|news|now|today|currently|also|in fact"
    r"|as of [^,]{1,20}|since [^,]{1,20})[,:]\s*)+",
    re.I,
)
_TRAILING = re.compile(
    r",?\s+(?:now|today|these days|nowadays|instead|at present|at the moment|again"
    r"|(?:since|as of|from) (?:\w+ )?\d{4}|in \d{4}|, not [^,]+)$"
)
_POSSESSIVE = re.compile(r"(?:['’]s|(?<=s)['’])$")
_ACRONYM = re.compile(r"(?:CEO|CFO|CTO|HQ|PM|MP)['’]?s?")
_IDENTIFIER = re.compile(r"\w[-_/@.]\w|\d")
_VERSION = re.compile(r"v?\d+(?:\.\d+)+[\w.-]*")
_NO_VERB_ENDINGS = ("ss", "us", "is", "ics")
_QUOTES = '"“”„«»`'
_MOST_TOKENS = 40
_FREQUENCY_WEIGHT = 0.8
_LEAST_COUNT = 0.1  # of a form that is in no other statement
_ROUNDS = 3
_MIXED_COST = 0.5  # of a name such as "American football"
_SAYS_NOTHING = 3.0
# Prepositions that make another relation of the same words.
_TELLING_APART = frozenset({"@as", "@in", "@on", "@at"})


Form = tuple[tuple[str, ...], ...]  # the words around the names
Frequency = dict[Form, float]


class FactStatement(NamedTuple):
    """What a statement says.

    Attributes:
        subject: What it is about: a whole name, as it is written.
        value: What it says of it.
        stems: The stems of the words that name the relation; "@in" for a preposition
            before the value.
        sense: What they mean; None where that is not known.
        has_ended: Whether it says that this no longer holds.
    """

    subject: str
    value: str
    stems: tuple[str, ...]
    sense: RelationSense | None
    has_ended: bool = False

    @property
    def relation(self) -> str:
        """The relation in a form in which it is compared."""
        if self.sense is not None:
            return self.sense.name
        telling = [stem for stem in self.stems if _tells_relation(stem)]
        return " ".join(sorted(set(telling or self.stems)))


def _tells_relation(stem: str) -> bool:
    """Return whether a stem tells a relation apart that has no known sense."""
    if stem.startswith("@"):
        return stem in _TELLING_APART
    return stem not in kinds_by_stem()


class _Reading(NamedTuple):
    """Two names in a statement, by the tokens at which they begin and end."""

    tokens: tuple[str, ...]
    lower: tuple[str, ...]  # the tokens in lower case, without commas
    start: int
    end: int
    value_start: int
    value_end: int

    @property
    def before(self) -> tuple[str, ...]:
        return self.lower[: self.start]

    @property
    def between(self) -> tuple[str, ...]:
        return self.lower[self.end : self.value_start]

    @property
    def after(self) -> tuple[str, ...]:
        return self.lower[self.value_end :]

    @property
    def form(self) -> tuple[tuple[str, ...], ...]:
        return self.before, self.between, self.after


def read_fact(text: str) -> FactStatement | None:
    """Return what one statement says; None where two names are not found.

    >>> read_fact("The author of A Wizard of Earthsea is Ursula K. Le Guin.")[:2]
    ('A Wizard of Earthsea', 'Ursula K. Le Guin')
    >>> fact = read_fact("Jan Novak is affiliated with the religion of Catholicism.")
    >>> fact.subject, fact.relation, fact.value
    ('Jan Novak', 'religion', 'Catholicism')
    """
    return read_facts([text])[0]


def read_facts(texts: Sequence[str]) -> list[FactStatement | None]:
    """Return what each of several statements says.

    Words that stand around the names of many statements are taken for the words of a
    relation, so that names are found whole.

    Args:
        texts: A sentence each.

    Returns:
        For each what it says; None where two names are not found in it.
    """
    readings = [list(_readings(text)) for text in texts]
    frequency = _frequency_of_forms(readings)
    chosen = [
        _best(
            choices,
            frequency,
        )
        for choices in readings
    ]
    agentive = _agentive_stems(chosen)
    return [
        None
        if reading is None
        else _fact_of(
            reading,
            agentive,
        )
        for reading in chosen
    ]


def _lower(tokens: Iterable[str]) -> tuple[str, ...]:
    return tuple(token.strip(",").lower() for token in tokens)


def _tokens(text: str) -> tuple[str, ...]:
    """Return the words of a statement, with the signs that belong to them."""
    sentence = _LEADING.sub(
        "",
        text.strip(),
    )
    if sentence.endswith((".", "!", "。")):
        sentence = sentence[:-1]
    sentence = _TRAILING.sub(
        "",
        sentence,
    )
    return tuple(sentence.split()[:_MOST_TOKENS])


@lru_cache(1 << 16)
def _is_low(token: str) -> bool:
    """Return whether a token is an ordinary word by its form."""
    if _ACRONYM.fullmatch(token):
        return True
    return token[:1].islower() and not any(sign.isupper() for sign in token[1:])


def _is_identifier(token: str) -> bool:
    """Return whether a token in lower case is a name by its form: "till-api"."""
    return _IDENTIFIER.search(token) is not None


@lru_cache(1 << 16)
def _is_verb(word: str) -> bool:
    """Return whether a word in lower case may be a verb that was inflected."""
    if word in _COPULA or word in _VERBS:
        return True
    if word in _NO_VERBS:
        return False
    if len(word) > 3 and _has_verb_ending(word):
        return True
    return word_kinds().get(word) in _VERB_KINDS


def _has_verb_ending(word: str) -> bool:
    """Return whether a word ends as verbs do: "printed", "captains"."""
    if word.endswith("ed"):
        return True
    return word.endswith("s") and not word.endswith(_NO_VERB_ENDINGS)


def _frequency_of_forms(readings: Sequence[Sequence[_Reading]]) -> Frequency:
    """Return of how many statements each form is, by how likely each reading is.

    Counts and likelihoods are made of each other by turns, as in expectation
    maximization (Dempster, Laird and Rubin 1977). So "the head of state in Kenya" lends
    little to the form "the head of X" where many have the form "the head of state in X".
    """
    frequency: Frequency = {}
    for _ in range(_ROUNDS):
        counted: Frequency = defaultdict(float)
        for choices in readings:
            for form, share in _shares(choices, frequency).items():
                counted[form] += share
        frequency = counted
    return frequency


def _shares(choices: Sequence[_Reading], frequency: Frequency) -> Frequency:
    """Return how likely each form of a statement is; the sum is 1 or less."""
    weights = [math.exp(_worth(reading, frequency)) for reading in choices]
    total = sum(weights)
    shares: Frequency = {}
    for reading, weight in zip(choices, weights, strict=True):
        share = weight / total
        shares[reading.form] = max(share, shares.get(reading.form, 0.0))
    return shares


def _readings(text: str) -> Iterator[_Reading]:
    """Yield the ways in which a statement may be read."""
    tokens = _tokens(text)
    lower = _lower(tokens)
    for start in _starts(tokens):
        for end in range(
            start + 1,
            len(tokens) - 1,
        ):
            if not _may_end(
                tokens,
                start,
                end,
            ):
                continue
            for value_start, value_end in _values(
                tokens,
                end,
            ):
                yield _Reading(
                    tokens,
                    lower,
                    start,
                    end,
                    value_start,
                    value_end,
                )


def _starts(tokens: Sequence[str]) -> list[int]:
    """Return where the first name may begin: at the start, or behind words."""
    starts = [0]
    if tokens and tokens[0].lower() in _PREPOSITIONS:
        starts.append(1)
    for index in range(
        2,
        len(tokens) - 2,
    ):
        if not _is_low(tokens[index - 1]):
            break
        if _may_start(
            tokens,
            index,
        ):
            starts.append(index)
    return starts


def _may_start(
    tokens: Sequence[str],
    index: int,
) -> bool:
    """Return whether a name may begin behind words in lower case."""
    if not _is_low(tokens[index]) or _is_identifier(tokens[index]):
        return True
    return tokens[index - 1].lower() in _OPENING


def _may_end(
    tokens: Sequence[str],
    start: int,
    end: int,
) -> bool:
    """Return whether a first name may end before a token."""
    token = tokens[end].lower()
    if not _is_low(tokens[end]):
        return False
    last = tokens[end - 1]
    if _POSSESSIVE.search(last) or last.endswith(","):
        return True
    if _is_verb(token) or token in _ADVERBS or token in _NEGATIONS:
        return True
    if token in _RELATIVES:
        return True
    return start > 0 and token not in _CONNECTORS and token not in _PREPOSITIONS


def _values(
    tokens: Sequence[str],
    end: int,
) -> Iterator[tuple[int, int]]:
    """Yield where the second name may begin and end, behind the end of the first."""
    has_verb = False
    for index in range(
        end,
        len(tokens) - 1,
    ):
        if not _is_low(tokens[index]):
            return
        has_verb = has_verb or _is_verb(tokens[index].lower())
        if not has_verb:
            continue
        for value_end in _value_ends(
            tokens,
            index + 1,
        ):
            yield index + 1, value_end


def _value_ends(
    tokens: Sequence[str],
    value_start: int,
) -> list[int]:
    """Return where a value may end: at the end, or before "as its capital".

    It ends before a verb in "… is where Ann works".
    """
    ends = [len(tokens)]
    is_relative = tokens[value_start - 1] in _RELATIVES
    for index in range(
        value_start + 1,
        len(tokens),
    ):
        tail = tokens[index:]
        if not all(
            map(
                _is_low,
                tail,
            )
        ):
            continue
        is_name_before = not _is_low(tokens[index - 1])
        is_clause = is_relative and is_name_before and _is_verb(tail[0])
        if is_clause or _is_role_tail(
            tail,
            is_name_before,
        ):
            ends.append(index)
    return ends


def _is_role_tail(
    tail: Sequence[str],
    is_name_before: bool,
) -> bool:
    """Return whether words say as what a value is named: "as its capital"."""
    if tail[0] != "as" or len(tail) == 1:
        return False
    return is_name_before or tail[1] in _ARTICLES


def _best(readings: Sequence[_Reading], frequency: Frequency) -> _Reading | None:
    """Return the likeliest reading of one statement; of equal ones the first."""
    return max(
        readings,
        key=lambda reading: _worth(reading, frequency),
        default=None,
    )


def _worth(reading: _Reading, frequency: Frequency) -> float:
    """Return how likely a reading is, without a unit."""
    worth = _likelihood(reading)
    if not _says_something(reading):
        return worth - _SAYS_NOTHING
    count = frequency.get(reading.form, 0.0)
    return worth + _FREQUENCY_WEIGHT * math.log2(_LEAST_COUNT + count)


def _says_something(reading: _Reading) -> bool:
    """Return whether one of the words around the names tells of a relation."""
    words = (*reading.before, *reading.between, *reading.after)
    return any(word not in _FUNCTION for word in words)


def _likelihood(reading: _Reading) -> float:
    """Return how well the forms of the names and of the words fit, without a unit."""
    first = reading.tokens[reading.start : reading.end]
    second = reading.tokens[reading.value_start : reading.value_end]
    score = _name_score(
        first,
        is_first=reading.start == 0,
    )
    score += _name_score(
        second,
        is_first=False,
    )
    score += _frame_score(reading)
    score += _between_score(reading)
    if reading.value_end < len(reading.tokens):
        score += 1.0
    return score


def _name_score(
    tokens: Sequence[str],
    *,
    is_first: bool,
) -> float:
    """Return how much a run of tokens looks like a name."""
    score = _start_score(
        tokens[0],
        is_first,
    ) + _end_score(tokens)
    is_low = _is_low(tokens[0])
    for token in tokens[1:-1]:
        if _is_low(token):
            score -= _inner_cost(
                token,
                is_low,
            )
    return score


def _start_score(
    token: str,
    is_first: bool,
) -> float:
    """Return how well a name may begin with a token."""
    if is_first:
        return 0.5
    if not _is_low(token):
        return 1.0
    if token in _ARTICLES:
        return -0.5
    if token in _PREPOSITIONS or token in _COPULA:
        return -2.0
    return -1.0 if token.endswith("ed") else 0.0


def _end_score(tokens: Sequence[str]) -> float:
    """Return how well a name may end with the last of its tokens."""
    score = 0.0
    last = tokens[-1]
    if not _is_low(last):
        score += 0.5
    elif last.lower() in _NO_LAST_WORDS:
        score -= 2.0
    elif not _is_low(tokens[0]):
        score -= _MIXED_COST
    if _is_low(tokens[0]) and last[:1].isdigit():
        score -= 2.0
    return score


def _inner_cost(
    token: str,
    is_low_name: bool,
) -> float:
    """Return how badly a word in lower case stands inside of a name."""
    if token in _COPULA or token in _RELATIVES:
        return 1.0
    if token not in _CONNECTORS and token not in _ARTICLES:
        return 0.4
    if not is_low_name:
        return 0.0
    return 1.2 if token == "of" else 0.3


def _frame_score(reading: _Reading) -> float:
    """Return how well the words before the first name fit."""
    before = reading.before
    if not before:
        opens_role = reading.lower[0] in _ARTICLES and _is_low(reading.tokens[1])
        return -1.5 if opens_role else 0.0
    if before[-1] in _RELATIVES:
        n_verbs = sum(
            map(
                _is_verb,
                reading.between,
            )
        )
        return 1.0 if n_verbs > 1 else -2.0
    score = 0.0
    first = before[0]
    if first in _OPENING or first == "it":
        score += 1.0
    elif first not in word_kinds():
        score -= 1.0
    if before[-1] in _ARTICLES:
        score -= 0.3
    return score


def _between_score(reading: _Reading) -> float:
    """Return how well the words between both names fit."""
    first = reading.between[0]
    last = reading.between[-1]
    is_closed = last in _CLOSING or _is_verb(last)
    score = 0.5 if is_closed else -0.8
    if last in _ARTICLES:
        score -= 0.1
    name_end = reading.tokens[reading.end - 1]
    if _POSSESSIVE.search(name_end):
        return score + (-1.0 if first in _COPULA else 1.0)
    starts_clause = first in _ADVERBS or first in _RELATIVES or _is_verb(first)
    return score if starts_clause else score - 0.5


def _agentive_stems(readings: Iterable[_Reading | None]) -> frozenset[str]:
    """Return the stems of verbs whose object is what a statement is about.

    They are known ones, and those that other statements have with "by".
    """
    stems = set(_AGENTIVE)
    for reading in readings:
        if reading is None or "by" not in reading.between:
            continue
        index = reading.between.index("by")
        if index:
            stems.add(plain_stem(reading.between[index - 1]))
    return frozenset(stems)


def _fact_of(
    reading: _Reading,
    agentive: frozenset[str],
) -> FactStatement:
    """Return what a reading says."""
    first = _name(reading.tokens[reading.start : reading.end])
    second = _name(reading.tokens[reading.value_start : reading.value_end])
    words = (*reading.before, *reading.between, *reading.after)
    if _is_reversed(
        reading,
        agentive,
    ):
        subject = second
        value = first
    else:
        subject = first
        value = second
    stems = tuple(
        _relation_stems(
            _words_of_role(words),
            reading.between,
        )
    )
    sense = sense_of(
        stems,
        value,
    )
    if sense is None and _VERSION.fullmatch(value):
        sense = sense_of(["version"])
    text = " ".join(words)
    has_ended = not _NEGATIONS.isdisjoint(words) or "no longer" in text
    has_ended = has_ended or not _ENDING_PHRASES.isdisjoint(words)
    return FactStatement(
        subject,
        value,
        stems,
        sense,
        has_ended,
    )


def _name(tokens: Sequence[str]) -> str:
    """Return a name as it is written, without signs around it."""
    text = " ".join(tokens)
    text = _POSSESSIVE.sub(
        "",
        text.strip(","),
    )
    for article in ("the ", "The "):
        rest = text.removeprefix(article)
        if rest != text and rest[:1].islower():
            return rest
    return text.strip(_QUOTES)


def _words_of_role(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words that name a relation: those behind "as", where there are any.

    "took over as editor of" says the same as "is the editor of".
    """
    if "as" not in words:
        return words
    role = words[words.index("as") + 1 :]
    names_role = any(word not in _FUNCTION for word in role)
    return role if names_role else words


def _relation_stems(
    words: Sequence[str],
    between: Sequence[str],
) -> Iterator[str]:
    """Yield the stems of the words that name a relation, then its prepositions."""
    for word in words:
        bare = _POSSESSIVE.sub(
            "",
            word,
        ).strip(_QUOTES)
        if bare and bare not in _FUNCTION:
            yield relation_stem(bare)
    if "where" in between:
        yield "where"
    for word in between:
        if word in _PREPOSITIONS and word not in ("of", "as"):
            yield f"@{word}"


def _is_reversed(
    reading: _Reading,
    agentive: frozenset[str],
) -> bool:
    """Return whether a statement is about its second name: "wrote", "is mayor of"."""
    is_framed = reading.before[:1] not in ((), ("it",))
    is_number = reading.tokens[reading.value_start][:1].isdigit()
    between = [word for word in reading.between if word not in _ADVERBS]
    if is_framed or is_number or not between:
        return False
    if between[-1] in _RELATIVES and reading.after:
        return True
    verb_words = between[1:] if between[0] in _RELATIVES else between
    return _names_role(verb_words) or _is_done_by_first(verb_words, agentive)


def _names_role(between: Sequence[str]) -> bool:
    """Return whether words say which role of the second name the first one is."""
    if len(between) < 3 or between[-1] not in ("of", "behind", "for", "at", "in"):
        return False
    starts = [index for index, word in enumerate(between) if word in _ROLE_COPULAS]
    if not starts:
        return False
    role = between[starts[-1] + 1 : -1]
    if between[-1] != "of" and "the" not in role:
        return False
    if not role or role[0] in ("a", "an"):
        return False
    return all(
        map(
            _may_be_role,
            role,
        )
    )


def _may_be_role(word: str) -> bool:
    """Return whether a word may stand in a role: "chief", and not "written" or "in"."""
    if word in _OWN_ROLES or word == "born":
        return False
    if word in _PREPOSITIONS:
        return word == "of"
    is_participle = word_kinds().get(word) == PARTICIPLE
    return not (is_participle or word.endswith("ed") or word in _VERBS)


def _is_done_by_first(
    between: Sequence[str],
    agentive: frozenset[str],
) -> bool:
    """Return whether the verb is one whose object a statement is about."""
    is_passive = bool(between) and between[0] in _COPULA
    if is_passive or not _DONE_TO_SUBJECT.isdisjoint(between):
        return False
    content = [word for word in between if word not in _FUNCTION]
    if not content or content[1:] not in ([], ["up"]):
        return False
    return plain_stem(content[0]) in agentive
