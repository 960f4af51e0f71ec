"""Find the concepts of a text: noun phrases, names and identifiers, without a model.

`sentiment` also says how glad or angry a text sounds.

How a text becomes concepts:

1. It is cut into tokens. A file path, a dotted or snake_case name, an e-mail address
   and a URL (only its host is kept) are one token and one concept each. Of fenced code
   only such names are kept; hashes, versions and quantities yield nothing.
2. Noun phrases lie between stop words, verbs and punctuation. A word that is noun or
   verb ("cache", "test") is decided by its neighbours: a noun after a determiner,
   adjective, preposition or verb; a verb after "to", a pronoun or a modal, before a
   determiner, between two nouns with -s, and at the head of a commit subject.
3. "New", "several" and the like are stripped; "stale" and the like stay before a noun.
   Phrases are cut at the 54 stop nouns and into pieces of at most three words, counted
   from the head, which is the last word.
4. A single word is kept where it looks technical (acronym, CamelCase, digits), is a
   name, or is a noun whose singular has at least four letters. The last rule costs
   precision on purpose: links between texts, and which concepts are kept for long,
   depend on the recall of words such as "cache" or "deployment".
5. The canonical form is NFKC, lower case, with the last word in the singular; names
   keep a final s. Abbreviations and what they stand for share one form
   (`lexicon_tables.ALIASES`) and stand alone: "ML model" is machine learning and model.
6. Other scripts: with spaces, each word of three letters or more outside a short stop
   list is a concept (Hangul from two). Without spaces, runs are cut where the script
   changes and at particles; up to six letters stay whole (four times as many for Thai
   and its neighbours), longer ones become overlapping pairs (of four letters in Thai,
   and for long Katakana). Hiragana between other scripts is grammar and dropped.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, pairwise
from typing import Any, NamedTuple

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import concept_id
from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.core.remembering import remembered
from theorex_lab.text import lexicon as lex
from theorex_lab.text.lexicon_tables import ALIASES
from theorex_lab.text.tone import compound_score

EXTRACTOR_VERSION = 1
MAX_PHRASE_WORDS = 3
MAX_TOKEN_CHARACTERS = 128  # longer runs are encoded data, not names
MAX_WORD_CHARACTERS = 40  # the same for a token without dots, slashes or underscores
SENTIMENT_CHARACTERS = 4096
MOST_MENTIONS = 64  # that are returned of one text, unless more are asked for

_W = lex.WORD_CHARACTER
# What a text is cut into; <<word>> stands for a sign of a word.
_PIECE = lazy_pattern(
    r"""
      ```[\s\S]*?(?:```|\Z)                                  # fenced code
    | [A-Za-z][a-z0-9+]{1,15}+://[^\s<>"'`)\]}]++            # URL
    | [A-Za-z]:\\[^\s"'<>|,;]++                              # Windows path
    | </?[A-Za-z][^<>\n]{0,200}>                             # markup tag
    | \b[Ll]ines?\ \d++
    | ['’]s\b
    | (?:(?:~|\.{1,2})?/(?=[\w.])|\.(?=[A-Za-z]))?
      <<word>>++
      (?>(?:(?:[./@\u200c\u200d-]|::|&(?=[A-Z])|['’](?!s\b)|/\.)(?=\w)<<word>>++)*)
      (?:(?>(?::\d++)+)|\(\)|\+\+|\#(?!\w))?
    | \n(?![ \t]{0,16}[a-z])
    | [^\s\w]
    """.replace("<<word>>", _W),
    re.VERBOSE,
)
_NUMBER = lazy_pattern(
    r"""
      (?:[vV])?\d[\d.,_:/]*(?:[A-Za-zµ%]{1,3})?
      (?:-\d[\d.:TZ]*|-(?:rc|beta|alpha|dev|post)[\d.]*)*
    | \d+-[A-Za-z-]+
    | 0x[0-9a-fA-F]+
    | \d+e-?\d+
    """,
    re.VERBOSE,
)
_HASH = lazy_pattern(
    r"""
      (?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{7,}
    | [0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}
    """,
    re.VERBOSE,
)
_WORDLIKE = lazy_pattern(rf"(?:{_W}|[.@/'&:+#()~-])+")
_LETTER = lazy_pattern(r"[^\W\d_]")
_NOT_LATIN = lazy_pattern(
    r"(?![\u00aa\u00ba\u00c0-\u024f\u1e00-\u1eff])[^\W\d_\x00-\x7f]"
)
_CAMEL = lazy_pattern(r"[a-z0-9][A-Z]|[A-Z]{2,}[a-z]{2,}")
_PLURAL_ACRONYM = lazy_pattern(r"[A-Z]{2,5}s")
_FILE_ENDING = lazy_pattern(r"\.[A-Za-z][A-Za-z0-9]{0,7}$")
# Endings that tell a plural even in a name: "GitHub Actions", but not "Adams".
_CLEAR_PLURAL = (
    "ies",
    "ches",
    "shes",
    "xes",
    "sses",
    "ings",
    "ions",
    "ments",
)

_LOWER, _CAPITALISED, _TECHNICAL = range(3)
_NAME = -1  # the kind of a word that is a name where it stands
# What the token before leads one to expect.
(
    _OPEN,
    _START,
    _COORDINATED,
    _VERB_NEXT,
    _TO_NEXT,
    _AFTER_NOUN,
    _AFTER_RELATIVE,
    _OTHER,
) = range(8)
_STATE_AFTER = {
    lex.DETERMINER: _OPEN,
    lex.PREPOSITION: _OPEN,
    lex.AUXILIARY: _OPEN,
    lex.GENERIC: _OPEN,
    lex.NUMBER: _OPEN,
    lex.VERB: _OPEN,
    lex.PARTICIPLE: _OPEN,
    lex.GERUND: _OPEN,
    lex.PRONOUN: _VERB_NEXT,
    lex.MODAL: _VERB_NEXT,
    lex.SENTENCE: _START,
    lex.CONJUNCTION: _OTHER,
    lex.TO: _TO_NEXT,
    lex.RELATIVE: _AFTER_RELATIVE,
    lex.STOP_NOUN: _AFTER_NOUN,
}
# The same for words that are what they are wherever they stand: no noun, no verb, and
# nothing that a sentence or a list rests on.
_STATE_AFTER_PLAIN_WORD = {
    kind: state
    for kind, state in _STATE_AFTER.items()
    if lex.SENTENCE < kind < lex.VERB
}
# The same for words that only a capital may make a name.
_STATE_AFTER_LOWER_WORD = {
    kind: _STATE_AFTER[kind] for kind in (lex.GENERIC, lex.NUMBER, lex.STOP_NOUN)
}
# No word of these kinds is a name, or anything else, by its neighbours.
_MARK_KINDS = frozenset({lex.SENTENCE, lex.COMMA, lex.MARK})
_OPEN_QUOTES = frozenset('"“')  # behind which a sentence may begin
_OBJECT_STARTS = (lex.DETERMINER, lex.PRONOUN)
_FINITE = (
    lex.VERB,
    lex.MODAL,
    lex.AUXILIARY,
)
_BEFORE_GERUND = (
    "by",
    "without",
    "while",
    "when",
)
_ADJECTIVAL = (
    lex.PARTICIPLE,
    lex.GERUND,
    lex.GENERIC,
    lex.ADJECTIVE,
)
_LONGEST_ACRONYM = 6
_LOOKAHEAD_TOKENS = 6


@dataclass(frozen=True, slots=True)
class Mention:
    """A concept as one text mentions it.

    Attributes:
        concept_id: The id of the concept.
        label: The canonical form.
        surface: The spelling at its first place (NFKC, white space as single spaces).
        count: The whole-word occurrences of the canonical form in the text, at least 1.
    """

    concept_id: int
    label: str
    surface: str
    count: int


class _Token(NamedTuple):
    kind: int
    surface: str
    lower: str
    canonical: str
    shape: int


class _Phrase(NamedTuple):
    label: str
    surface: str
    words: tuple[str, ...]  # the key under which its occurrences are counted


class _Reading(NamedTuple):
    """What was read of a text.

    Attributes:
        tokens: Its tokens.
        canonicals: The canonical form of each, where it stands.
        phrases: Its phrases in their order, one for each canonical form.
    """

    tokens: list[_Token]
    canonicals: list[str]
    phrases: list[_Phrase]


_LONGEST_REMEMBERED_CHARACTERS = 8_000

_END = _Token(lex.SENTENCE, "", "", "", _LOWER)


def extract(text: str, *, limit: int = MOST_MENTIONS) -> list[Mention]:
    """Return the concepts of a text, in the order of their first occurrence; each once.

    Time and memory grow linearly with the text.

    Args:
        text: The text.
        limit: How many are returned at most, 1 or more. Beyond it the most frequent
            are kept, then the earliest.

    Raises:
        InvalidInput: It is not a text, has NUL bytes, or the limit is below 1.

    >>> [
    ...     mention.label
    ...     for mention in extract("TTL invalidation prevents cache stampedes")
    ... ]
    ['ttl invalidation', 'cache stampede']
    >>> extract("We use ML and machine learning")[0].count
    2
    """
    _check_text(text)
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise InvalidInput(
            f"got the limit {limit!r}; allowed is a whole number of 1 or more"
        )
    if len(text) > _LONGEST_REMEMBERED_CHARACTERS:
        return _mentions_in(text, limit)
    return list(_remembered_mentions(text, limit))


def extract_among(
    text: str, concept_ids: Container[int], surfaces: Container[str]
) -> list[Mention]:
    """Return what `extract` returns of a text, as far as it is looked for.

    That is what has one of these ids or of these spellings. It takes less time than
    `extract` where most concepts of the text are not looked for.

    Args:
        text: The text.
        concept_ids: Ids of concepts.
        surfaces: Spellings, as `Mention.surface` has them.

    Raises:
        InvalidInput: It is not a text, or has NUL bytes.

    >>> text = "The cache in net/client.py grows with the sessions"
    >>> among = extract_among(text, {concept_id("cache")}, {"net/client.py"})
    >>> [mention.label for mention in among]
    ['cache', 'net/client.py']
    """
    _check_text(text)
    if len(text) > _LONGEST_REMEMBERED_CHARACTERS:
        reading = _reading_of(text)
    else:
        reading = _remembered_reading(text)
    if len(reading.phrases) > MOST_MENTIONS:  # the rarest fall away, wanted or not
        mentions = _most_frequent(_counted(reading, reading.phrases), MOST_MENTIONS)
        return [
            mention
            for mention in mentions
            if mention.surface in surfaces or mention.concept_id in concept_ids
        ]
    wanted = [
        phrase
        for phrase in reading.phrases
        if phrase.surface in surfaces or _concept_id(phrase.label) in concept_ids
    ]
    return _counted(reading, wanted)


# Maintenance reads a prompt for several purposes.
@remembered(1 << 11)
def _remembered_mentions(text: str, limit: int) -> tuple[Mention, ...]:
    """Return the concepts of a text of moderate length, as `extract`."""
    return tuple(_mentions_in(text, limit))


def _mentions_in(text: str, limit: int) -> list[Mention]:
    """Return the concepts of a text, as `extract`."""
    reading = _reading_of(text)
    return _most_frequent(_counted(reading, reading.phrases), limit)


def _reading_of(text: str) -> _Reading:
    """Read a text."""
    tokens = _tokens(text)
    canonicals = [token.canonical for token in tokens]
    first_phrases: dict[str, _Phrase] = {}
    for phrase in _PhraseReader(tokens, canonicals).read():
        first_phrases.setdefault(phrase.label, phrase)
    return _Reading(tokens, canonicals, [*first_phrases.values()])


# The files of a session are read and edited again and again, in the same words.
_remembered_reading = remembered(1 << 10)(_reading_of)


def _counted(reading: _Reading, phrases: Sequence[_Phrase]) -> list[Mention]:
    """Return phrases of a text as mentions, with how often each occurs there."""
    if not phrases:
        return []
    counts = _occurrences(reading.tokens, reading.canonicals, phrases)
    mentions = []
    for phrase in phrases:
        mention = Mention(
            concept_id=_concept_id(phrase.label),
            label=phrase.label,
            surface=phrase.surface,
            count=max(1, counts[phrase.words]),
        )
        mentions.append(mention)
    return mentions


def _most_frequent(mentions: list[Mention], limit: int) -> list[Mention]:
    """Return the most frequent mentions, then the earliest, in the order of the text."""
    if len(mentions) <= limit:
        return mentions
    by_count = sorted(
        range(len(mentions)),
        key=lambda index: -mentions[index].count,
    )
    most_frequent = by_count[:limit]
    return [mentions[index] for index in sorted(most_frequent)]


def sentiment(text: str) -> float:
    """Return how glad (1) or angry (-1) a text sounds, rounded to 4 digits.

    0 is neutral or unknown. It is VADER's compound score (Hutto and Gilbert 2014) with
    the words of technical failure and success added, which general lexicons score 0.
    Only the first 4,096 characters are scored.

    Raises:
        InvalidInput: It is not a text, or has NUL bytes.

    >>> sentiment("The deploy crashed") < 0 < sentiment("All tests are green")
    True
    """
    _check_text(text)
    beginning = text[:SENTIMENT_CHARACTERS]
    return round(compound_score(beginning, _analyzer()), 4)


@cache
def _analyzer() -> Any:
    """Return VADER's analyser with our words; loaded at its first use."""
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    analyzer = SentimentIntensityAnalyzer()
    analyzer.lexicon.update(lex.SENTIMENT_WORDS)
    return analyzer


_concept_id = remembered(1 << 15)(concept_id)


def _check_text(text: str) -> None:
    """Raise InvalidInput for what is not a text, and for NUL bytes."""
    if not isinstance(text, str):
        raise InvalidInput(
            f"got a {type(text).__name__}; allowed is a text (str); decode bytes first"
        )
    if "\0" in text:
        raise InvalidInput(
            f"got a text with a NUL byte at {text.index(chr(0))}; remove it"
        )


# Tokens


def _tokens(text: str) -> list[_Token]:
    """Return the tokens of a text, in order."""
    pieces = _PIECE.findall(text)
    if max(map(len, pieces), default=0) <= MAX_TOKEN_CHARACTERS:
        tokens = list(chain.from_iterable(map(_classify, pieces)))
    else:
        tokens = list(chain.from_iterable(map(_classify_any, pieces)))
    return _join_aliases(tokens)


def _mark(kind: int = lex.MARK, surface: str = "") -> tuple[_Token, ...]:
    """Return a token that is no word."""
    token = _Token(
        kind=kind,
        surface=surface,
        lower="",
        canonical="",
        shape=_LOWER,
    )
    return (token,)


def _atom(surface: str, label: str = "") -> _Token:
    """Return a token that is a concept as it is."""
    # A few letters stand for whole sayings (U+FDFA): their expansion has spaces.
    normal = unicodedata.normalize("NFKC", label or surface)
    canonical = normal.lower().replace(" ", "_")
    return _Token(
        kind=lex.ATOM,
        surface=surface,
        lower=canonical,
        canonical=canonical,
        shape=_TECHNICAL,
    )


def _technical_noun(surface: str, lower: str) -> _Token:
    """Return the token of a technical name with no plural."""
    return _Token(
        kind=lex.NOUN,
        surface=surface,
        lower=lower,
        canonical=lower,
        shape=_TECHNICAL,
    )


def _classify_any(piece: str) -> tuple[_Token, ...]:
    """Return the tokens of one piece of a text, of any length."""
    if len(piece) <= MAX_TOKEN_CHARACTERS:
        return _classify(piece)
    return _classify_long(piece)


def _classify_long(piece: str) -> tuple[_Token, ...]:
    """Return the tokens of a piece that is too long for a name."""
    if piece.startswith("```"):
        return _code_names(piece)
    if "://" in piece:
        return _classify_url(piece)
    if _NOT_LATIN.search(piece):
        return _classify_other_script(piece)
    return _mark()


@remembered(1 << 15)
def _classify(piece: str) -> tuple[_Token, ...]:
    """Return the tokens of one piece of a text."""
    if piece.startswith("```"):
        return _code_names(piece)
    if piece.isascii() and piece.isalpha():
        return _classify_word(piece, piece.lower())
    if not _LETTER.search(piece):
        return _classify_mark(piece)
    if "://" in piece:
        return _classify_url(piece)
    if piece[0] == "<":
        return _mark()
    if piece[1:3] == ":\\":
        path = piece.rstrip(".:\\")
        return (_atom(path),)
    if piece.isascii():
        return _classify_latin(piece)
    return _classify_beyond_ascii(piece)


def _classify_beyond_ascii(piece: str) -> tuple[_Token, ...]:
    """Return the tokens of a piece with letters that are not in ASCII."""
    straight = piece.replace("’", "'")
    normal = unicodedata.normalize("NFKC", straight)
    if _NOT_LATIN.search(normal):
        return _classify_other_script(normal)
    if not _WORDLIKE.fullmatch(normal):
        return _mark()
    return _classify_latin(normal)


def _classify_mark(piece: str) -> tuple[_Token, ...]:
    """Return the token of a piece without letters."""
    if piece[0].isalnum() or piece[-1].isalnum():
        return _mark(lex.NUMBER)
    if piece in ".!?;:\n—–-•。！？；：…|":
        return _mark(lex.SENTENCE, piece)
    kind = lex.COMMA if piece in ",&，、" else lex.MARK
    return _mark(kind, piece)


def _classify_url(piece: str) -> tuple[_Token, ...]:
    """Return the host of a URL as a token."""
    _, _, address = piece.partition("://")
    authority, _, _ = address.partition("/")
    _, _, host_and_port = authority.rpartition("@")
    host, _, _ = host_and_port.partition(":")
    host = host.removeprefix("www.")
    host = host.rstrip(".,;!?")
    if not _LETTER.search(host):
        return _mark()
    if len(host) > MAX_TOKEN_CHARACTERS:
        return _mark()
    if not _WORDLIKE.fullmatch(host):
        return _mark()
    return (_atom(host),)


def _classify_latin(piece: str) -> tuple[_Token, ...]:
    """Return the tokens of one piece of Latin letters, digits and joining signs."""
    lower = piece.lower()
    if lower in lex.word_kinds():
        return _classify_word(piece, lower)
    if lower in ("'s", "’s"):
        return _mark(lex.DETERMINER)
    if _NUMBER.fullmatch(piece) and lower not in lex.SHORT_TECHNICAL:
        return _mark(lex.NUMBER)
    if _HASH.fullmatch(piece) or lower.startswith(("line ", "lines ")):
        return _mark()
    if lower in lex.SPECIAL_NAMES:
        return (_technical_noun(piece, lower),)
    if piece.endswith("()"):
        return _classify_call(piece)
    bare = re.sub(r"(?::\d+)+$|[+#]+$", "", piece)
    if bare != piece:
        return _classify(bare)
    return _classify_joined(piece, lower)


def _classify_call(piece: str) -> tuple[_Token, ...]:
    """Return the name of a function that is called, `parse()`, as a token."""
    name = piece[:-2]
    kind = lex.word_kinds().get(name.lower(), lex.NOUN)
    is_keyword = kind < lex.VERB
    if is_keyword or len(name) <= 2:
        return _mark()
    return (_atom(name),)


def _classify_joined(piece: str, lower: str) -> tuple[_Token, ...]:
    """Return the tokens of a piece by the signs that join its parts."""
    if "@" in piece or "::" in piece:
        name = piece.strip("/.")
        return (_atom(name),)
    if "/" in piece:
        return _classify_slashed(piece)
    if "." in piece:
        return _classify_dotted(piece)
    if "_" in piece:
        return _classify_underscored(piece)
    return (_unknown_word(piece, lower),)


def _classify_word(piece: str, lower: str) -> tuple[_Token, ...]:
    """Return the token of one word."""
    kind = lex.word_kinds().get(lower)
    if kind is None:
        return (_unknown_word(piece, lower),)
    shape = _LOWER if piece == lower else _CAPITALISED
    is_acronym = piece.isupper() and 1 < len(piece) <= _LONGEST_ACRONYM
    if is_acronym and kind >= lex.NOUN:
        shape = _TECHNICAL
    token = _Token(
        kind=kind,
        surface=piece,
        lower=lower,
        canonical=lex.singular(lower),
        shape=shape,
    )
    return (token,)


def _classify_slashed(piece: str) -> tuple[_Token, ...]:
    """Return the tokens of a path, or of words with a slash between them."""
    parts = piece.strip("/").split("/")
    if piece[0] in "/~." or len(parts) > 2:
        return (_atom(piece),)
    if "_" in piece or _FILE_ENDING.search(piece):
        return (_atom(piece),)
    if piece.isupper():
        return (_technical_noun(piece, piece.lower()),)
    return _classify_parts(filter(None, parts), lex.COMMA)


def _classify_parts(parts: Iterable[str], mark_kind: int) -> tuple[_Token, ...]:
    """Return the tokens of all parts, with a mark of this kind between them."""
    tokens: list[_Token] = []
    for part in parts:
        tokens += _classify(part)
        tokens += _mark(mark_kind)
    return tuple(tokens[:-1])


def _classify_dotted(piece: str) -> tuple[_Token, ...]:
    """Return the tokens of a piece with dots.

    It is a file, a dotted name, initials, or two sentences that lack the space between
    them.
    """
    parts = [part for part in piece.split(".") if part]
    first = parts[0]
    is_alone = len(parts) == 1
    if first in ("self", "this", "cls") and not is_alone:
        _, _, member = piece.partition(".")
        return _classify(member)
    if all(len(part) == 1 for part in parts):
        letters = "".join(parts)
        return (_technical_noun(piece, letters.lower()),)
    kind = lex.word_kinds().get(first.lower(), lex.NOUN)
    if is_alone and kind < lex.NOUN:
        return _classify(first)
    if any(map(_is_function_word, parts[1:])):
        return _classify_parts(parts, lex.SENTENCE)
    return (_atom(piece),)


def _is_function_word(part: str) -> bool:
    """Return whether a part of two letters or more is a listed word before verbs."""
    kind = lex.word_kinds().get(part.lower(), lex.NOUN)
    return lex.SENTENCE < kind < lex.VERB and len(part) > 1


def _classify_underscored(piece: str) -> tuple[_Token, ...]:
    """Return the tokens of a name with underscores, or of a word between them."""
    bare = piece.strip("_")
    is_dunder = piece.startswith("__") and piece.endswith("__")
    if "_" in bare or is_dunder:
        return (_atom(piece),)
    if not bare:
        return _mark()
    return _classify(bare)


def _unknown_word(piece: str, lower: str) -> _Token:
    """Return the token of a word of no list.

    By its shape it is a technical name, else by its ending a kind of word.
    """
    if _PLURAL_ACRONYM.fullmatch(piece):
        acronym = _technical_noun(piece, lower)
        return acronym._replace(canonical=lower[:-1])
    if "-" in piece:
        return _hyphenated(piece, lower)
    if _is_technical(piece):
        return _technical_word(piece, lower)
    if len(piece) > MAX_WORD_CHARACTERS:
        return _mark()[0]
    if lower in lex.SHORT_TECHNICAL or lower in ALIASES:
        kind = lex.NOUN
        shape = _TECHNICAL
    else:
        kind = lex.kind_by_form(lower)
        shape = _LOWER if piece == lower else _CAPITALISED
    return _Token(
        kind=kind,
        surface=piece,
        lower=lower,
        canonical=lex.singular(lower),
        shape=shape,
    )


def _technical_word(piece: str, lower: str) -> _Token:
    """Return the token of a word that looks technical; no name is very long."""
    is_name = 1 < len(piece) <= MAX_WORD_CHARACTERS
    token = _technical_noun(piece, lower)
    if not piece.isupper():
        token = token._replace(canonical=lex.singular(lower))
    if not is_name:
        token = token._replace(kind=lex.MARK)
    return token


def _is_technical(piece: str) -> bool:
    """Return whether a word has digits, CamelCase, or a few capitals alone."""
    if any(map(str.isdigit, piece)):
        return True
    if _CAMEL.search(piece):
        return True
    return piece.isupper() and len(piece) <= _LONGEST_ACRONYM


def _hyphenated(piece: str, lower: str) -> _Token:
    """Return the token of a word with hyphens; its last part tells its kind."""
    if piece.isupper() or any(map(str.isdigit, piece)):
        return _technical_noun(piece, lower)
    first, _, _ = lower.partition("-")
    _, _, last = lower.rpartition("-")
    kind = lex.word_kinds().get(last) or lex.kind_by_form(last)
    is_repeated_verb = first == "re" and kind >= lex.VERB
    if kind in _ADJECTIVAL:
        kind = lex.ADJECTIVE
    elif kind != lex.GERUND_NOUN and not is_repeated_verb:
        kind = lex.NOUN
    return _Token(
        kind=kind,
        surface=piece,
        lower=lower,
        canonical=lex.singular(lower),
        shape=_CAPITALISED if piece[0].isupper() else _LOWER,
    )


def _code_names(fence: str) -> tuple[_Token, ...]:
    """Return the names of fenced code, each on its own.

    Those are file, dotted, snake_case and CamelCase names.
    """
    code = fence.strip("`")
    tokens: list[_Token] = [*_mark(lex.SENTENCE)]
    for piece in _PIECE.findall(code):
        if len(piece) > MAX_TOKEN_CHARACTERS or piece.startswith("```"):
            continue
        names = filter(_is_code_name, _classify(piece))
        tokens += [name._replace(kind=lex.ATOM) for name in names]
    tokens += _mark(lex.SENTENCE)
    return tuple(tokens)


def _is_code_name(token: _Token) -> bool:
    """Return whether a token of code is a name."""
    if token.kind == lex.ATOM:
        return True
    if token.kind != lex.NOUN:
        return False
    return _CAMEL.search(token.surface) is not None


def _classify_other_script(piece: str) -> tuple[_Token, ...]:
    """Return the tokens of a piece with letters outside the Latin script."""
    tokens: list[_Token] = []
    for surface, is_latin in lex.cut_other_script(piece):
        if not is_latin:
            label = lex.without_marks(surface)
            tokens.append(_atom(surface, label))
        elif len(surface) <= MAX_TOKEN_CHARACTERS:
            tokens += _mark()
            tokens += _classify_latin(surface)
            tokens += _mark()
    return tuple(tokens)


def _join_aliases(tokens: list[_Token]) -> list[_Token]:
    """Return the tokens with one in place of each alias.

    An alias is an abbreviation of the alias table, or a phrase that one stands for.
    """
    canonicals = [token.canonical for token in tokens]
    if lex.alias_starts().keys().isdisjoint(canonicals):
        return tokens
    joined = []
    index = 0
    while index < len(tokens):
        token, length = _alias_at(tokens, index)
        joined.append(token)
        index += length
    return joined


def _alias_at(tokens: list[_Token], index: int) -> tuple[_Token, int]:
    """Return the token for the alias that starts here, else the one that stands here.

    Returns:
        The token, and how many tokens it is for.
    """
    first = tokens[index]
    for words, canonical in lex.alias_starts().get(first.canonical, ()):
        n_words = len(words)
        alias = tokens[index : index + n_words]
        alias_words = tuple([token.canonical for token in alias])
        if alias_words == words:
            surface = " ".join([token.surface for token in alias])
            name = _technical_noun(surface, canonical)
            return name._replace(kind=lex.ATOM), n_words
    return first, 1


# Phrases


class _PhraseReader:
    """Reads the phrases of a text token by token."""

    def __init__(self, tokens: list[_Token], canonicals: list[str]) -> None:
        """Begin at the first token.

        Args:
            tokens: The tokens of the text.
            canonicals: Their canonical forms; those of names are put in here.
        """
        self._tokens = tokens
        self._canonicals = canonicals
        self._phrases: list[_Phrase] = []
        # The indexes of the adjectives and nouns that may belong to one phrase.
        self._run: list[int] = []
        self._state = _START
        self._is_imperative = False
        # Whether "to" leads to a place after the verb before.
        self._leads_to = False

    def read(self) -> list[_Phrase]:
        """Return every phrase in its order."""
        for index, token in enumerate(self._tokens):
            # Most words and marks are the same in every context, and need not be
            # looked at there.
            kind = token.kind
            next_state = _STATE_AFTER_PLAIN_WORD.get(kind)
            if next_state is None:
                next_state = self._state_after_plain(token)
            if next_state is not None:
                if self._run:
                    self._end_run()
                self._state = next_state
            elif kind == lex.ATOM:
                self._add_atom(token)
            elif kind == lex.NOUN and self._is_plain_noun(token):
                self._run.append(index)
                self._state = _AFTER_NOUN
            else:
                self._read_token(index)
        self._end_run()
        return self._phrases

    def _state_after_plain(self, token: _Token) -> int | None:
        """Return what a token leads one to expect that is what it is anywhere.

        Returns:
            The state; None where the token depends on its neighbours, or is of a phrase.
        """
        if token.kind in _MARK_KINDS:
            return self._state_after_mark(token)
        if token.shape == _LOWER:
            return _STATE_AFTER_LOWER_WORD.get(token.kind)
        return None

    def _state_after_mark(self, token: _Token) -> int:
        """Return what a mark leads one to expect."""
        if token.kind == lex.SENTENCE:
            self._is_imperative = False
            self._leads_to = False
            return _START
        if token.kind == lex.MARK:
            opens_sentence = self._state == _START or token.surface in _OPEN_QUOTES
            return _START if opens_sentence else _OTHER
        return _COORDINATED if self._is_imperative else _OTHER

    def _is_plain_noun(self, token: _Token) -> bool:
        """Return whether a noun is one whatever its neighbours are."""
        return token.shape != _CAPITALISED and self._state != _START

    def _read_token(self, index: int) -> None:
        """Read the next token."""
        token = self._tokens[index]
        kind = _kind_in_context(self._tokens, index, self._state, self._leads_to)
        if kind == _NAME:
            is_plural = token.lower.endswith(_CLEAR_PLURAL)
            self._canonicals[index] = token.canonical if is_plural else token.lower
            kind = lex.NOUN
        if kind == lex.NOUN:
            self._run.append(index)
            self._state = _AFTER_NOUN
            return
        if self._run and not self._may_go_on(kind):
            self._end_run()
        if kind == lex.ADJECTIVE:
            self._run.append(index)
            self._state = _OPEN
        else:
            self._pass_word(token, kind)

    def _may_go_on(self, kind: int) -> bool:
        """Return whether the run goes on: only an adjective stands after another."""
        last = self._tokens[self._run[-1]]
        return kind == lex.ADJECTIVE and last.kind == lex.ADJECTIVE

    def _end_run(self) -> None:
        """Add the phrases of the run, and begin another."""
        self._phrases += _cut(self._run, self._tokens, self._canonicals)
        self._run = []

    def _add_atom(self, token: _Token) -> None:
        """Add a token that is a concept as it is."""
        if self._run:
            self._end_run()
        label = token.canonical
        self._phrases.append(_Phrase(label, token.surface, (label,)))
        self._state = _AFTER_NOUN

    def _pass_word(self, token: _Token, kind: int) -> None:
        """Pass a word or a mark that stands in no phrase."""
        if kind == lex.SENTENCE:
            self._is_imperative = False
            self._leads_to = False
        elif lex.VERB <= kind <= lex.GERUND:
            if self._state == _START:
                self._is_imperative = True
            self._leads_to = token.lower in lex.to_takers()
        self._state = _next_state(token, kind, self._state, self._is_imperative)


def _kind_in_context(
    tokens: list[_Token],
    index: int,
    state: int,
    leads_to: bool,
) -> int:
    """Return the kind that a token has among its neighbours; _NAME for a name."""
    token = tokens[index]
    kind = token.kind
    is_start = state == _START
    may_be_name = token.shape == _CAPITALISED and not is_start
    if may_be_name and _is_name(tokens, index):
        return _NAME
    if kind >= lex.GERUND_NOUN and kind not in (lex.ADJECTIVE, lex.ATOM):
        is_verb = _is_verb(tokens, index, state, leads_to)
        return lex.VERB if is_verb else lex.NOUN
    may_be_type = is_start and kind in (lex.NOUN, lex.VERB)
    if may_be_type and _is_commit_type(tokens, index):
        return lex.MARK
    return kind


def _next_state(
    token: _Token,
    kind: int,
    state: int,
    is_imperative: bool,
) -> int:
    """Return what a word or a mark that stands in no phrase leads one to expect."""
    if kind == lex.MARK:
        opens_sentence = state == _START or token.surface in _OPEN_QUOTES
        return _START if opens_sentence else _OTHER
    if kind == lex.ADVERB:
        is_command = state == _START and token.lower in ("never", "always")
        return _VERB_NEXT if is_command else state
    if kind in (lex.COMMA, lex.COORDINATOR):
        return _COORDINATED if is_imperative else _OTHER
    return _STATE_AFTER[kind]


def _is_commit_type(tokens: list[_Token], index: int) -> bool:
    """Return whether this is the type of a conventional commit.

    It is one in "feat(memory): add decay".
    """
    following = _token_at(tokens, index + 1)
    if following.surface not in (":", "("):
        return False
    return tokens[index].lower in lex.COMMIT_TYPES


def _is_name(tokens: list[_Token], index: int) -> bool:
    """Return whether a capitalised word inside a sentence is a name.

    It is one where it is an unlisted word, or a noun beside a capital.
    """
    token = tokens[index]
    if token.kind == lex.NOUN:
        return True
    if token.kind < lex.VERB or token.kind in (lex.ATOM, lex.STOP_NOUN):
        return False
    if index and _is_capitalised_noun(tokens[index - 1]):
        return True
    return _is_capitalised_noun(_token_at(tokens, index + 1))


def _is_capitalised_noun(token: _Token) -> bool:
    """Return whether a token is a noun with a capital."""
    return token.kind == lex.NOUN and token.shape == _CAPITALISED


def _is_verb(
    tokens: list[_Token],
    index: int,
    state: int,
    leads_to: bool,
) -> bool:
    """Return whether a word that is noun or verb is a verb among its neighbours."""
    token = tokens[index]
    following = _token_at(tokens, index + 1)
    is_gerund = token.kind == lex.GERUND_NOUN
    if is_gerund and _follows_gerund_word(tokens, index):
        return following.kind >= lex.GENERIC
    if state == _OPEN:
        return False
    if state == _TO_NEXT:
        return _is_infinitive(token, following, leads_to)
    if state == _VERB_NEXT:
        return True
    if following.kind in _OBJECT_STARTS:
        return True
    if is_gerund:
        return False
    return _is_finite_verb(tokens, index, state)


def _follows_gerund_word(tokens: list[_Token], index: int) -> bool:
    """Return whether a word stands after "by" and the like, which take a gerund."""
    return index > 0 and tokens[index - 1].lower in _BEFORE_GERUND


def _is_infinitive(token: _Token, following: _Token, leads_to: bool) -> bool:
    """Return whether a word after "to" is a verb."""
    if token.kind >= lex.STRONG_S:
        return False
    return not (leads_to and _closes_compound(following))


def _is_finite_verb(tokens: list[_Token], index: int, state: int) -> bool:
    """Return whether a word that is no gerund is a verb by what stands before it."""
    if state in (_START, _COORDINATED):
        return _opens_clause(tokens, index)
    if state == _AFTER_RELATIVE:
        return tokens[index].kind >= lex.STRONG_S
    if state == _AFTER_NOUN:
        return _is_verb_after_noun(tokens, index)
    return False


def _token_at(tokens: list[_Token], index: int) -> _Token:
    """Return a token, _END behind the last."""
    return tokens[index] if index < len(tokens) else _END


def _is_verb_after_noun(tokens: list[_Token], index: int) -> bool:
    """Return whether a word after a noun is its verb: "cache fails on ARM"."""
    token = tokens[index]
    following = _token_at(tokens, index + 1)
    if token.kind >= lex.STRONG_S:
        return _is_third_person(token, following, _token_at(tokens, index + 2))
    if not _is_plural(tokens[index - 1]):
        return False
    if following.kind >= lex.NOUN:
        return True
    return token.kind != lex.WEAK and following.kind not in _FINITE


def _is_third_person(token: _Token, following: _Token, second: _Token) -> bool:
    """Return whether a word in -s after a noun is a verb, by the two words after it."""
    is_verb_next = following.kind in (lex.STRONG, lex.MIDDLE, lex.WEAK)
    if is_verb_next and second.kind in _OBJECT_STARTS:
        return False
    if following.kind >= lex.GENERIC and following.kind != lex.STOP_NOUN:
        return True
    return token.kind == lex.STRONG_S and following.kind == lex.PREPOSITION


def _closes_compound(following: _Token) -> bool:
    """Return whether what follows a word lets it be a noun after "to".

    It does in "to upload worker", and not in "to upload files".
    """
    if following.kind == lex.ADJECTIVE:
        return False
    if following.kind >= lex.NOUN:
        return not _is_plural(following)
    return following.kind not in (*_OBJECT_STARTS, lex.GENERIC)


def _opens_clause(tokens: list[_Token], index: int) -> bool:
    """Return whether the first word of a clause is an imperative.

    It is one in "Fix race in parser", and none in "Build fails on ARM".
    """
    kind = tokens[index].kind
    following = _token_at(tokens, index + 1)
    if following.kind in _FINITE or following.kind < lex.ADVERB:
        return False
    if kind in (lex.STRONG, lex.STRONG_S):
        return kind == lex.STRONG or following.kind >= lex.GENERIC
    if following.kind == lex.GENERIC:
        return kind in (lex.MIDDLE, lex.WEAK)
    if following.kind < lex.NOUN or kind in (lex.MIDDLE_S, lex.WEAK_S):
        return False
    return _has_object_after(tokens, index)


def _has_object_after(tokens: list[_Token], index: int) -> bool:
    """Return whether the nouns after a word are its object, and no verb is theirs."""
    kind = tokens[index].kind
    has_plural = False
    start = index + 1
    nearby = tokens[start : start + _LOOKAHEAD_TOKENS]
    for token, after in pairwise((*nearby, _END)):
        is_passive = token.kind == lex.PARTICIPLE and after.lower != "by"
        if token.kind in _FINITE or is_passive:
            return False
        if token.kind < lex.NOUN:
            is_middle = kind == lex.MIDDLE and token.kind >= lex.CONJUNCTION
            return has_plural or is_middle
        if _is_plural(token) and token.kind < lex.STRONG_S:
            has_plural = True
    return has_plural


def _is_plural(token: _Token) -> bool:
    """Return whether a word is no singular."""
    return token.lower != token.canonical


def _cut(
    run: list[int],
    tokens: list[_Token],
    canonicals: list[str],
) -> list[_Phrase]:
    """Return the phrases of one run of adjectives and nouns.

    Each has at most three words.
    """
    if len(run) == 1:
        token = tokens[run[0]]
        if not _stands_alone(token):
            return []
        label = canonicals[run[0]]
        return [_Phrase(label, token.surface, (label,))]
    if not any(_may_stand_alone(tokens[index]) for index in run):
        return []
    if len(run) <= MAX_PHRASE_WORDS:
        pieces = [run]
    else:
        border = _name_border(run, tokens)
        pieces = _thirds(run[:border])
        pieces += _thirds(run[border:])
    phrases = []
    for piece in pieces:
        is_alone = len(piece) == 1
        if is_alone and not _stands_alone(tokens[piece[0]]):
            continue
        phrases.append(_phrase_of(piece, tokens, canonicals))
    return phrases


def _may_stand_alone(token: _Token) -> bool:
    """Return whether a token is more than an adjective in lower case."""
    return token.kind != lex.ADJECTIVE or token.shape != _LOWER


def _name_border(run: list[int], tokens: list[_Token]) -> int:
    """Return how many capitalised words begin a run, 0 for one or for all of them."""
    n_capitals = 0
    for index in run:
        if tokens[index].shape != _CAPITALISED:
            break
        n_capitals += 1
    if n_capitals in (1, len(run)):
        return 0
    return n_capitals


def _thirds(run: list[int]) -> list[list[int]]:
    """Return a run in pieces of three words, counted from its end."""
    pieces = []
    for end in range(len(run), 0, -MAX_PHRASE_WORDS):
        start = max(0, end - MAX_PHRASE_WORDS)
        pieces.append(run[start:end])
    pieces.reverse()
    return pieces


def _phrase_of(
    piece: list[int],
    tokens: list[_Token],
    canonicals: list[str],
) -> _Phrase:
    """Return the phrase of these words, of which the last is the head."""
    head = piece[-1]
    if len(piece) == 1:
        label = canonicals[head]
        return _Phrase(label, tokens[head].surface, (label,))
    words = [tokens[index].lower for index in piece[:-1]]
    words.append(canonicals[head])
    surfaces = [tokens[index].surface for index in piece]
    return _Phrase(" ".join(words), " ".join(surfaces), tuple(words))


def _stands_alone(token: _Token) -> bool:
    """Return whether a single word is a concept.

    It is one where it is technical, a name, or a noun of four letters or more.
    """
    if token.shape == _TECHNICAL:
        return True
    if not _may_stand_alone(token):
        return False
    if len(token.canonical) >= 4:
        return True
    if token.shape != _CAPITALISED or len(token.lower) <= 1:
        return False
    return token.lower not in lex.word_kinds()


def _occurrences(
    tokens: list[_Token],
    canonicals: list[str],
    phrases: Iterable[_Phrase],
) -> Counter[tuple[str, ...]]:
    """Return how often the words of each phrase stand in the text.

    Counted are single words and, where phrases need them, pairs and triples.
    """
    counts: Counter[tuple[str, ...]] = Counter()
    lengths: set[int] = set()
    n_words = Counter(canonicals)
    for phrase in phrases:
        lengths.add(len(phrase.words))
        if len(phrase.words) == 1:
            counts[phrase.words] = n_words[phrase.words[0]]
    if max(lengths, default=0) < 2:
        return counts
    lowers = [token.lower for token in tokens]
    if 2 in lengths:
        pairs = zip(lowers, canonicals[1:], strict=False)
        counts.update(pairs)
    if 3 in lengths:
        triples = zip(lowers, lowers[1:], canonicals[2:], strict=False)
        counts.update(triples)
    return counts
