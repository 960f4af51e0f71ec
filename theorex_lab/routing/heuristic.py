"""The kind of a query, by its words, and the size of model that suits the kind."""

import re
import unicodedata
from collections.abc import Sequence
from typing import Literal, NamedTuple

from theorex_lab.core.remembering import remembered
from theorex_lab.core.settings import ModelTier, QueryType
from theorex_lab.routing import query_signs


class Signs(NamedTuple):
    """The signs of a type of query.

    Attributes:
        words: Whole words in lower case.
        phrases: A pattern of phrases in lower case.
        marks: A pattern of marks in the text as it stands, None without one.
    """

    words: frozenset[str]
    phrases: re.Pattern[str]
    marks: re.Pattern[str] | None


def _signs(query_type: QueryType) -> Signs:
    """Return the signs of a type, with their patterns compiled."""
    phrases = "|".join(query_signs.PHRASES[query_type])
    for name, part in query_signs.PARTS.items():
        phrases = phrases.replace(name, part)
    # One test for the beginning of a word serves all phrases of a type: they are tried
    # on every query.
    phrase_pattern = re.compile(rf"\b(?=\w)(?:{phrases})")
    marks = query_signs.MARKS.get(query_type)
    mark_pattern = re.compile("|".join(marks)) if marks else None
    words = frozenset(query_signs.WORDS[query_type].split())
    return Signs(words, phrase_pattern, mark_pattern)


# The order is the order of the trials.
SIGNS = {query_type: _signs(query_type) for query_type in query_signs.WORDS}


Complexity = Literal["low", "high"]
LONG_QUERY_CHARACTERS = 200
MANY_TOKENS = 500
CROWDED_CONTEXT_PCT = 50.0
_READ_CHARACTERS = 4_000
_SIGN_CHARACTERS = 40


class QueryClass(NamedTuple):
    """A query's type, and the word or sign that shows it ('' where none does).

    Attributes:
        query_type: The type.
        sign: The word or sign.
        unread: Why the type is guessed: the words are of a language or script that has
            no signs here; '' where they could be read.
    """

    query_type: QueryType
    sign: str
    unread: str = ""


# How sure the rules are of a type that they guessed.
GUESSED_CONFIDENCE = 0.1


class Advice(NamedTuple):
    """A size of model, how sure the rule is (0 to 1), and the rule in words."""

    tier: ModelTier
    confidence: float
    reason: str


_WORD = re.compile(r"\w+")
_FEWEST_WORDS = 4  # of a query without any common word, to be of another language
# Common words of the languages that have signs, by which a query of them is known.
_READ_WORDS = frozenset(query_signs.COMMON_WORDS.split())


@remembered(1 << 13)
def classify(query: str) -> QueryClass:
    """Return the first type, in this order, whose sign the query shows.

    The order is safety, code, math, retrieval, creative, synthesis. A query without a
    sign is synthesis above 200 characters, else general. Words count whole, in any
    case; English, with the commonest signs in German, French and Spanish. The type of a
    query in another language is guessed, unless it shows a sign.

    >>> classify("search the code for the number").query_type
    'code'
    >>> classify("What is 17 * 23?")
    QueryClass(query_type='math', sign='17 * 23', unread='')
    >>> classify("写一个排序函数").unread
    'most of its letters are of a script that the rules do not read'
    """
    text = unicodedata.normalize("NFC", _both_ends(query))
    lower = text.lower()
    words = _WORD.findall(lower)
    distinct_words = frozenset(words)
    for query_type, signs in SIGNS.items():
        if not signs.words.isdisjoint(distinct_words):
            word = next(word for word in words if word in signs.words)
            return QueryClass(query_type, word)
        match = signs.phrases.search(lower)
        if match is None and signs.marks is not None:
            match = signs.marks.search(text)
        if match is not None:
            sign = " ".join(match[0].split())
            return QueryClass(query_type, sign[:_SIGN_CHARACTERS])
    unread = _why_unread(lower, words)
    if len(query) > LONG_QUERY_CHARACTERS:
        return QueryClass("synthesis", f"{len(query)} characters", unread)
    return QueryClass("general", "", unread)


def _why_unread(text: str, words: Sequence[str]) -> str:
    """Return why the words of a query without a sign cannot be read, '' where they can.

    >>> _why_unread("sprawdź pogodę", ["sprawdź", "pogodę"])
    'no word of it is known to the rules'
    """
    if _is_of_another_script(text):
        return "most of its letters are of a script that the rules do not read"
    has_accents = not all(map(str.isascii, words))
    is_telling = has_accents or len(words) >= _FEWEST_WORDS
    if is_telling and _READ_WORDS.isdisjoint(words):
        return "no word of it is known to the rules"
    return ""


def _is_of_another_script(text: str) -> bool:
    """Return whether most letters of a text are none of the Latin script."""
    if text.isascii():
        return False
    n_letters = 0
    n_others = 0
    for sign in text:
        if not sign.isalpha():
            continue
        n_letters += 1
        if not unicodedata.name(sign, "").startswith("LATIN "):
            n_others += 1
    return n_others * 2 > n_letters


def _both_ends(query: str) -> str:
    """Return the query, or the beginning and the end of a long one.

    What a query asks stands at its beginning or its end. A pasted book may be between
    them.
    """
    if len(query) <= _READ_CHARACTERS:
        return query
    half = _READ_CHARACTERS // 2
    return f"{query[:half]}\n{query[-half:]}"


def estimated_tokens(text: str) -> int:
    """Return the number of tokens of a text, at four characters a token.

    >>> estimated_tokens("twelve signs")
    3
    """
    return len(text) // 4


def advise(
    query_type: QueryType,
    *,
    urgent: bool = False,
    context_pct: float = 0.0,
    query_tokens: int = 0,
) -> Advice:
    """Return the size of model for a query: the first rule that holds.

    Urgent: small (0.95). `context_pct` (0 to 100) of at least 50: large (0.9). More
    than 500 `query_tokens`: large (0.85). Code or math: large (0.8). Retrieval: medium
    (0.75). Else medium (0.6).

    >>> advise("code")
    Advice(tier='large', confidence=0.8, reason='code')
    """
    if urgent:
        return Advice("small", 0.95, "urgent")
    if context_pct >= CROWDED_CONTEXT_PCT:
        return Advice("large", 0.9, f"{context_pct:g} % of the context is in use")
    if query_tokens > MANY_TOKENS:
        return Advice("large", 0.85, f"{query_tokens} tokens")
    if query_type in ("code", "math"):
        return Advice("large", 0.8, query_type)
    if query_type == "retrieval":
        return Advice("medium", 0.75, query_type)
    return Advice("medium", 0.6, query_type)


def complexity_of(
    query_type: QueryType, *, context_pct: float = 0.0, query_tokens: int = 0
) -> Complexity:
    """Return high where a large model is advised, urgent or not; else low.

    >>> complexity_of("math"), complexity_of("retrieval")
    ('high', 'low')
    """
    advice = advise(query_type, context_pct=context_pct, query_tokens=query_tokens)
    return "high" if advice.tier == "large" else "low"
