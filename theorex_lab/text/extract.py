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
   precision and is meant: links between texts and the graduation of concepts depend on
   the recall of words such as "cache" or "deployment".
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
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import concept_id
from theorex_lab.text import lexicon as lex
from theorex_lab.text.lexicon_tables import ALIASES

EXTRACTOR_VERSION = 1
MAX_PHRASE_WORDS = 3
MAX_TOKEN_CHARACTERS = 128  # longer runs are encoded data, not names
MAX_WORD_CHARACTERS = 40  # the same for a token without dots, slashes or underscores
SENTIMENT_CHARACTERS = 4096

_W = lex.WORD_CHARACTER
# What a text is cut into; <<word>> stands for a sign of a word.
_PIECE = re.compile(
    r"""
      ```[\s\S]*?(?:```|\Z)                                  # fenced code
    | [A-Za-z][a-z0-9+]{1,15}+://[^\s<>"'`)\]}]++            # URL
    | [A-Za-z]:\\[^\s"'<>|,;]++                              # Windows path
    | </?[A-Za-z][^<>\n]{0,200}>                             # markup tag
    | \b[Ll]ines?\ \d++
    | ['’]s\b
    | (?:(?:~|\.{1,2})?/(?=[\w.])|\.(?=[A-Za-z]))?
      <<word>>++(?:(?:[./@\u200c\u200d-]|::|&(?=[A-Z])|['’](?!s\b)|/\.)(?=\w)<<word>>++)*+
      (?:(?::\d++)++|\(\)|\+\+|\#(?!\w))?
    | \n(?![ \t]{0,16}[a-z])
    | [^\s\w]
    """.replace("<<word>>", _W),
    re.VERBOSE,
)
_NUMBER = re.compile(
    r"""
      (?:[vV])?\d[\d.,_:/]*(?:[A-Za-zµ%]{1,3})?
      (?:-\d[\d.:TZ]*|-(?:rc|beta|alpha|dev|post)[\d.]*)*
    | \d+-[A-Za-z-]+
    | 0x[0-9a-fA-F]+
    | \d+e-?\d+
    """,
    re.VERBOSE,
)
_HASH = re.compile(
    r"""
      (?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{7,}
    | [0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}
    """,
    re.VERBOSE,
)
_WORDLIKE = re.compile(rf"(?:{_W}|[.@/'&:+#()~-])+")
_LETTER = re.compile(r"[^\W\d_]")
_NOT_LATIN = re.compile(
    r"(?![\u00aa\u00ba\u00c0-\u024f\u1e00-\u1eff])[^\W\d_\x00-\x7f]"
)
_CAMEL = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2,}[a-z]{2,}")
_PLURAL_ACRONYM = re.compile(r"[A-Z]{2,5}s")
_FILE_ENDING = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,7}$")
# Endings that tell a plural even in a name: "GitHub Actions", but not "Adams".
_CLEAR_PLURAL = ("ies", "ches", "shes", "xes", "sses", "ings", "ions", "ments")

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
_STATE_AFTER = dict.fromkeys(
    (lex.DETERMINER, lex.PREPOSITION, lex.AUXILIARY, lex.GENERIC, lex.NUMBER), _OPEN
)
_STATE_AFTER |= dict.fromkeys((lex.VERB, lex.PARTICIPLE, lex.GERUND), _OPEN)
_STATE_AFTER |= {
    lex.PRONOUN: _VERB_NEXT,
    lex.MODAL: _VERB_NEXT,
    lex.SENTENCE: _START,
    lex.CONJUNCTION: _OTHER,
}
_STATE_AFTER |= {
    lex.TO: _TO_NEXT,
    lex.RELATIVE: _AFTER_RELATIVE,
    lex.STOP_NOUN: _AFTER_NOUN,
}
_OBJECT_STARTS = (lex.DETERMINER, lex.PRONOUN)
_FINITE = (lex.VERB, lex.MODAL, lex.AUXILIARY)
_BEFORE_GERUND = ("by", "without", "while", "when")
_LOOKAHEAD_TOKENS = 6


@dataclass(frozen=True, slots=True)
class Mention:
    """A concept as one text mentions it.

    `label` is the canonical form, `surface` the spelling at its first place (NFKC,
    white space as single spaces), `count` the whole-word occurrences of the canonical
    form in the text, at least 1.
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


_END = _Token(lex.SENTENCE, "", "", "", _LOWER)


def extract(text: str, *, limit: int = 64) -> list[Mention]:
    """The concepts of a text, in the order of their first occurrence; each once.

    Beyond `limit` (1 or more) the most frequent are kept, then the earliest. Time and
    memory grow linearly with the text. Raises InvalidInput for what is not a text, for
    NUL bytes and for a limit below 1.

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
    tokens = _tokens(text)
    canonicals = [token.canonical for token in tokens]
    first: dict[str, _Phrase] = {}
    for phrase in _phrases(tokens, canonicals):
        first.setdefault(phrase.label, phrase)
    counts = _occurrences(tokens, canonicals, first.values())
    times = {label: max(1, counts[phrase.words]) for label, phrase in first.items()}
    mentions = [
        Mention(_concept_id(label), label, said.surface, times[label])
        for label, said in first.items()
    ]
    most_frequent = sorted(
        range(len(mentions)), key=lambda index: -mentions[index].count
    )[:limit]
    return [mentions[index] for index in sorted(most_frequent)]


def sentiment(text: str) -> float:
    """How glad (1) or angry (-1) a text sounds, rounded to 4 digits; 0 is neutral or
    unknown.

    VADER's compound score (Hutto and Gilbert 2014) with the words of technical failure
    and success added, which general lexicons score 0. Only the first 4,096 characters
    are scored. Raises InvalidInput as `extract` does.

    >>> sentiment("The deploy crashed") < 0 < sentiment("All tests are green")
    True
    """
    _check_text(text)
    return round(
        float(_analyzer().polarity_scores(text[:SENTIMENT_CHARACTERS])["compound"]), 4
    )


@cache
def _analyzer() -> Any:
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    analyzer = SentimentIntensityAnalyzer()
    analyzer.lexicon.update(lex.SENTIMENT_WORDS)
    return analyzer


_concept_id = lru_cache(maxsize=16_384)(concept_id)


def _check_text(text: str) -> None:
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
    tokens: list[_Token] = []
    for piece in _PIECE.findall(text):
        if len(piece) <= MAX_TOKEN_CHARACTERS:
            tokens += _classify(piece)
        else:
            tokens += _classify_long(piece)
    return _join_aliases(tokens)


def _mark(kind: int = lex.MARK, surface: str = "") -> tuple[_Token, ...]:
    return (_Token(kind, surface, "", "", _LOWER),)


def _atom(surface: str, label: str = "") -> _Token:
    # A few letters stand for whole sayings (U+FDFA): their expansion has spaces.
    canonical = (
        unicodedata.normalize("NFKC", label or surface).lower().replace(" ", "_")
    )
    return _Token(lex.ATOM, surface, canonical, canonical, _TECHNICAL)


def _classify_long(piece: str) -> tuple[_Token, ...]:
    if piece.startswith("```"):
        return _code_names(piece)
    if "://" in piece:
        return _classify_url(piece)
    return _classify_other_script(piece) if _NOT_LATIN.search(piece) else _mark()


@lru_cache(maxsize=16_384)
def _classify(piece: str) -> tuple[_Token, ...]:
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
        return (_atom(piece.rstrip(".:\\")),)
    if not piece.isascii():
        piece = unicodedata.normalize("NFKC", piece.replace("’", "'"))
        if _NOT_LATIN.search(piece):
            return _classify_other_script(piece)
        if not _WORDLIKE.fullmatch(piece):
            return _mark()
    return _classify_latin(piece)


def _classify_mark(piece: str) -> tuple[_Token, ...]:
    if piece[0].isalnum() or piece[-1].isalnum():
        return _mark(lex.NUMBER)
    if piece in ".!?;:\n—–-•。！？；：…|":
        return _mark(lex.SENTENCE, piece)
    return _mark(lex.COMMA if piece in ",&，、" else lex.MARK, piece)


def _classify_url(piece: str) -> tuple[_Token, ...]:
    host = (
        piece.split("://", 1)[1]
        .split("/", 1)[0]
        .rsplit("@", 1)[-1]
        .split(":", 1)[0]
        .removeprefix("www.")
    )
    host = host.rstrip(".,;!?")
    if (
        not _LETTER.search(host)
        or len(host) > MAX_TOKEN_CHARACTERS
        or not _WORDLIKE.fullmatch(host)
    ):
        return _mark()
    return (_atom(host),)


def _classify_latin(piece: str) -> tuple[_Token, ...]:
    """The tokens of one piece of Latin letters, digits and joining signs."""
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
        return (_Token(lex.NOUN, piece, lower, lower, _TECHNICAL),)
    if piece.endswith("()"):
        is_keyword = lex.word_kinds().get(lower[:-2], lex.NOUN) < lex.VERB
        return (_atom(piece[:-2]),) if len(piece) > 4 and not is_keyword else _mark()
    bare = re.sub(r"(?::\d+)+$|[+#]+$", "", piece)
    if bare != piece:
        return _classify(bare)
    return _classify_joined(piece, lower)


def _classify_joined(piece: str, lower: str) -> tuple[_Token, ...]:
    """Return the tokens of a piece by the signs that join its parts."""
    if "@" in piece or "::" in piece:
        return (_atom(piece.strip("/.")),)
    if "/" in piece:
        return _classify_slashed(piece)
    if "." in piece:
        return _classify_dotted(piece)
    if "_" in piece:
        return _classify_underscored(piece)
    return (_unknown_word(piece, lower),)


def _classify_word(piece: str, lower: str) -> tuple[_Token, ...]:
    if (kind := lex.word_kinds().get(lower)) is None:
        return (_unknown_word(piece, lower),)
    shape = _LOWER if piece == lower else _CAPITALISED
    if kind >= lex.NOUN and 1 < len(piece) <= 6 and piece.isupper():
        shape = _TECHNICAL
    return (_Token(kind, piece, lower, lex.singular(lower), shape),)


def _classify_slashed(piece: str) -> tuple[_Token, ...]:
    parts = piece.strip("/").split("/")
    if (
        piece[0] in "/~."
        or len(parts) > 2
        or _FILE_ENDING.search(piece)
        or "_" in piece
    ):
        return (_atom(piece),)
    if piece.isupper():
        return (_Token(lex.NOUN, piece, piece.lower(), piece.lower(), _TECHNICAL),)
    return _classify_parts(filter(None, parts), lex.COMMA)


def _classify_parts(parts: Iterable[str], mark_kind: int) -> tuple[_Token, ...]:
    """Return the tokens of all parts, with a mark of this kind between them."""
    tokens: list[_Token] = []
    for part in parts:
        tokens += (*_classify(part), *_mark(mark_kind))
    return tuple(tokens[:-1])


def _classify_dotted(piece: str) -> tuple[_Token, ...]:
    """A file or dotted name, initials, or two sentences that lack the space between
    them.
    """
    parts = [part for part in piece.split(".") if part]
    if parts[0] in ("self", "this", "cls") and len(parts) > 1:
        return _classify(piece.split(".", 1)[1])
    if all(len(part) == 1 for part in parts):
        letters = "".join(parts)
        return (_Token(lex.NOUN, piece, letters.lower(), letters.lower(), _TECHNICAL),)
    kinds = lex.word_kinds()
    if len(parts) == 1 and kinds.get(parts[0].lower(), lex.NOUN) < lex.NOUN:
        return _classify(parts[0])
    if any(map(_is_function_word, parts[1:])):
        return _classify_parts(parts, lex.SENTENCE)
    return (_atom(piece),)


def _is_function_word(part: str) -> bool:
    """Return whether a part of two letters or more is a listed word before verbs."""
    kind = lex.word_kinds().get(part.lower(), lex.NOUN)
    return lex.SENTENCE < kind < lex.VERB and len(part) > 1


def _classify_underscored(piece: str) -> tuple[_Token, ...]:
    bare = piece.strip("_")
    if "_" in bare or (piece.startswith("__") and piece.endswith("__")):
        return (_atom(piece),)
    return _classify(bare) if bare else _mark()


def _unknown_word(piece: str, lower: str) -> _Token:
    """A word of no list: by its shape a technical name, else by its ending a kind of
    word.
    """
    if _PLURAL_ACRONYM.fullmatch(piece):
        return _Token(lex.NOUN, piece, lower, lower[:-1], _TECHNICAL)
    if "-" in piece:
        return _hyphenated(piece, lower)
    if _is_technical(piece):
        is_name = 1 < len(piece) <= MAX_WORD_CHARACTERS
        kind = lex.NOUN if is_name else lex.MARK
        canonical = lower if piece.isupper() else lex.singular(lower)
        return _Token(kind, piece, lower, canonical, _TECHNICAL)
    if len(piece) > MAX_WORD_CHARACTERS:
        return _mark()[0]
    shape = _LOWER if piece == lower else _CAPITALISED
    if lower in lex.SHORT_TECHNICAL or lower in ALIASES:
        shape = _TECHNICAL
    kind = lex.NOUN if shape == _TECHNICAL else lex.kind_by_form(lower)
    return _Token(kind, piece, lower, lex.singular(lower), shape)


def _is_technical(piece: str) -> bool:
    """Return whether a word has digits, CamelCase, or a few capitals alone."""
    if any(map(str.isdigit, piece)) or _CAMEL.search(piece):
        return True
    return piece.isupper() and len(piece) <= 6


def _hyphenated(piece: str, lower: str) -> _Token:
    first = lower.split("-", 1)[0]
    last = lower.rsplit("-", 1)[1]
    if any(character.isdigit() for character in piece) or piece.isupper():
        return _Token(lex.NOUN, piece, lower, lower, _TECHNICAL)
    kind = lex.word_kinds().get(last) or lex.kind_by_form(last)
    if kind in (lex.PARTICIPLE, lex.GERUND, lex.GENERIC, lex.ADJECTIVE):
        kind = lex.ADJECTIVE
    elif kind != lex.GERUND_NOUN and not (first == "re" and kind >= lex.VERB):
        kind = lex.NOUN
    return _Token(
        kind,
        piece,
        lower,
        lex.singular(lower),
        _CAPITALISED if piece[0].isupper() else _LOWER,
    )


def _code_names(fence: str) -> tuple[_Token, ...]:
    """The file, dotted, snake_case and CamelCase names of fenced code, each on its own."""
    names: list[_Token] = []
    for piece in _PIECE.findall(fence.strip("`")):
        if len(piece) <= MAX_TOKEN_CHARACTERS and not piece.startswith("```"):
            for token in _classify(piece):
                if token.kind == lex.ATOM or (
                    token.kind == lex.NOUN and _CAMEL.search(token.surface)
                ):
                    names.append(token._replace(kind=lex.ATOM))
    return (*_mark(lex.SENTENCE), *names, *_mark(lex.SENTENCE))


def _classify_other_script(piece: str) -> tuple[_Token, ...]:
    tokens: list[_Token] = []
    for surface, is_latin in lex.cut_other_script(piece):
        if not is_latin:
            tokens.append(_atom(surface, lex.without_marks(surface)))
        elif len(surface) <= MAX_TOKEN_CHARACTERS:
            tokens += (*_mark(), *_classify_latin(surface), *_mark())
    return tuple(tokens)


def _join_aliases(tokens: list[_Token]) -> list[_Token]:
    """One token in place of each abbreviation of the alias table, and of each phrase
    that one stands for.
    """
    if lex.alias_starts().keys().isdisjoint([token.canonical for token in tokens]):
        return tokens
    joined = []
    index = 0
    while index < len(tokens):
        token, length = _alias_at(tokens, index)
        joined.append(token)
        index += length
    return joined


def _alias_at(tokens: list[_Token], index: int) -> tuple[_Token, int]:
    """The token for the alias that starts here, else the one that stands here, and how
    many tokens it is for.
    """
    for words, canonical in lex.alias_starts().get(tokens[index].canonical, ()):
        meant = tokens[index : index + len(words)]
        if len(words) == 1 or tuple([token.canonical for token in meant]) == words:
            surface = " ".join(token.surface for token in meant)
            return _Token(lex.ATOM, surface, canonical, canonical, _TECHNICAL), len(
                words
            )
    return tokens[index], 1


# Phrases


def _phrases(tokens: list[_Token], canonicals: list[str]) -> list[_Phrase]:
    """Every phrase in its order; the canonical forms of names are put into
    `canonicals`.
    """
    phrases: list[_Phrase] = []
    run: list[int] = []
    state = _START
    imperative = False
    leads_to = False
    for index, token in enumerate(tokens):
        kind = _kind_in_context(tokens, index, state, leads_to)
        if kind == _NAME:
            kind = lex.NOUN
            is_plural = token.lower.endswith(_CLEAR_PLURAL)
            canonicals[index] = token.canonical if is_plural else token.lower
        if kind == lex.NOUN:
            run.append(index)
            state = _AFTER_NOUN
            continue
        if run and (kind != lex.ADJECTIVE or tokens[run[-1]].kind != lex.ADJECTIVE):
            phrases += _cut(run, tokens, canonicals)
            run = []
        if kind == lex.ADJECTIVE:
            run.append(index)
            state = _OPEN
        elif kind == lex.ATOM:
            phrases.append(_Phrase(token.canonical, token.surface, (token.canonical,)))
            state = _AFTER_NOUN
        else:
            if kind == lex.SENTENCE:
                imperative = False
                leads_to = False
            elif lex.VERB <= kind <= lex.GERUND:
                imperative = imperative or state == _START
                leads_to = token.lower in lex.to_takers()
            state = _next_state(token, kind, state, imperative)
    return phrases + _cut(run, tokens, canonicals)


def _kind_in_context(
    tokens: list[_Token], index: int, state: int, leads_to: bool
) -> int:
    """Return the kind that a token has among its neighbours; _NAME for a name."""
    token = tokens[index]
    kind = token.kind
    if token.shape == _CAPITALISED and state != _START and _is_name(tokens, index):
        return _NAME
    if kind >= lex.GERUND_NOUN and kind not in (lex.ADJECTIVE, lex.ATOM):
        return lex.VERB if _is_verb(tokens, index, state, leads_to) else lex.NOUN
    is_noun_or_verb = kind in (lex.NOUN, lex.VERB)
    if state == _START and is_noun_or_verb and _is_commit_type(tokens, index):
        return lex.MARK
    return kind


def _next_state(token: _Token, kind: int, state: int, imperative: bool) -> int:
    if kind == lex.ADVERB:
        return (
            _VERB_NEXT
            if state == _START and token.lower in ("never", "always")
            else state
        )
    if kind in (lex.COMMA, lex.COORDINATOR):
        return _COORDINATED if imperative else _OTHER
    if kind == lex.MARK:
        return _START if state == _START or token.surface in ('"', "“") else _OTHER
    return _STATE_AFTER[kind]


def _is_commit_type(tokens: list[_Token], index: int) -> bool:
    """Whether this is the type of a conventional commit: "feat(memory): add decay"."""
    following = tokens[index + 1] if index + 1 < len(tokens) else None
    return (
        following is not None
        and tokens[index].lower in lex.COMMIT_TYPES
        and following.surface in (":", "(")
    )


def _is_name(tokens: list[_Token], index: int) -> bool:
    """Whether a capitalised word inside a sentence is a name: an unlisted word, or a
    noun beside a capital.
    """
    token = tokens[index]
    if token.kind == lex.NOUN:
        return True
    if token.kind < lex.VERB or token.kind in (lex.ATOM, lex.STOP_NOUN):
        return False
    beside = tokens[max(0, index - 1) : index] + tokens[index + 1 : index + 2]
    return any(
        other.kind == lex.NOUN and other.shape == _CAPITALISED for other in beside
    )


def _is_verb(tokens: list[_Token], index: int, state: int, leads_to: bool) -> bool:
    """Return whether a word that is noun or verb is a verb among its neighbours."""
    token = tokens[index]
    following = _token_at(tokens, index + 1)
    third_person = token.kind >= lex.STRONG_S
    is_gerund = token.kind == lex.GERUND_NOUN
    if is_gerund and index and tokens[index - 1].lower in _BEFORE_GERUND:
        return following.kind >= lex.GENERIC
    if state == _OPEN:
        return False
    if state == _TO_NEXT:
        return not third_person and not (leads_to and _closes_compound(following))
    if state == _VERB_NEXT or following.kind in _OBJECT_STARTS:
        return True
    if is_gerund:
        return False
    if state in (_START, _COORDINATED):
        return _opens_clause(tokens, index)
    if state == _AFTER_RELATIVE:
        return third_person
    return state == _AFTER_NOUN and _is_verb_after_noun(tokens, index)


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
    """Whether what follows a word lets it be a noun after "to": "to upload worker", not
    "to upload files".
    """
    if following.kind >= lex.NOUN:
        return following.kind != lex.ADJECTIVE and not _is_plural(following)
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
    nearby = tokens[index + 1 : index + 1 + _LOOKAHEAD_TOKENS]
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
    return token.lower != token.canonical


def _cut(run: list[int], tokens: list[_Token], canonicals: list[str]) -> list[_Phrase]:
    """The phrases of one run of adjectives and nouns, each of at most three words."""
    if not any(_may_stand_alone(tokens[index]) for index in run):
        return []
    if len(run) <= MAX_PHRASE_WORDS:
        pieces = [run]
    else:
        border = _name_border(run, tokens)
        pieces = [*_thirds(run[:border]), *_thirds(run[border:])]
    return [
        _phrase_of(piece, tokens, canonicals)
        for piece in pieces
        if len(piece) > 1 or _stands_alone(tokens[piece[0]])
    ]


def _may_stand_alone(token: _Token) -> bool:
    """Return whether a token is more than an adjective in lower case."""
    return token.kind != lex.ADJECTIVE or token.shape != _LOWER


def _name_border(run: list[int], tokens: list[_Token]) -> int:
    """Return how many capitalised words begin a run, 0 for one or for all of them."""
    n_capitals = 0
    while n_capitals < len(run) and tokens[run[n_capitals]].shape == _CAPITALISED:
        n_capitals += 1
    return n_capitals if 2 <= n_capitals < len(run) else 0


def _thirds(run: list[int]) -> list[list[int]]:
    return [
        run[max(0, end - MAX_PHRASE_WORDS) : end]
        for end in reversed(range(len(run), 0, -MAX_PHRASE_WORDS))
    ]


def _phrase_of(
    piece: list[int], tokens: list[_Token], canonicals: list[str]
) -> _Phrase:
    words = (*[tokens[index].lower for index in piece[:-1]], canonicals[piece[-1]])
    return _Phrase(
        " ".join(words), " ".join([tokens[index].surface for index in piece]), words
    )


def _stands_alone(token: _Token) -> bool:
    """Whether a single word is a concept: technical, a name, or a noun of four letters
    or more.
    """
    if not _may_stand_alone(token):
        return False
    if token.shape == _TECHNICAL or len(token.canonical) >= 4:
        return True
    return (
        token.shape == _CAPITALISED
        and len(token.lower) > 1
        and token.lower not in lex.word_kinds()
    )


def _occurrences(
    tokens: list[_Token], canonicals: list[str], phrases: Iterable[_Phrase]
) -> Counter[tuple[str, ...]]:
    """How often each word and, where phrases need them, each pair and triple of words
    stands in the text.
    """
    lengths = {len(phrase.words) for phrase in phrases}
    counts: Counter[tuple[str, ...]] = Counter()
    if 1 in lengths:
        counts.update(zip(canonicals))
    lowers = [token.lower for token in tokens] if max(lengths, default=0) > 1 else []
    if 2 in lengths:
        counts.update(zip(lowers, canonicals[1:], strict=False))
    if 3 in lengths:
        counts.update(zip(lowers, lowers[1:], canonicals[2:], strict=False))
    return counts
