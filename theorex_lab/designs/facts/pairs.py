"""Measure how alike two sentences are, and whether they contradict each other.

It also finds the sentences that may be compared.

The measures go by the words that only one sentence has, by negation, and by values of
one kind. They know English and Russian, and use no model. `theorex eval duplicates` and
`theorex eval contradictions` measure them on public pairs. Exact duplicates have the
same normal form, whose SHA-256 stands for it, and the same tokens whose signs carry
meaning.
"""

import hashlib
import unicodedata
from array import array
from collections import defaultdict
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
import Stemmer

from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.core.sections import read_sections
from theorex_lab.search.lexical import STOP_WORDS
from theorex_lab.text.lexicon import word_kinds

_SECTIONS = read_sections(__file__, "polarity.txt")
# Words and phrases that turn a sentence round, English, then Russian.
_NEGATIONS = (
    r"(?:no|any) (?:longer|more)",
    r"anymore",
    r"not",
    r"no",
    r"never",
    r"none",
    r"nobody",
    r"nothing",
    r"neither",
    r"nor",
    r"nowhere",
    r"without",
    r"cannot",
    r"\w+n['’]t",
    r"hardly",
    r"barely",
    r"against",
    r"formerly",
    r"previously",
    r"used to",
    r"yet to",
    r"turned down",
    (
        r"(?:fail|refus|avoid|declin|reject|den[iy]|lack|stop|quit|ceas)(?:s|es|ed|e"
        r"|y|ing|ped|ping|ting)?"
    ),
    r"unable",
    r"incapable",
    r"unsuccessful(?:ly)?",
    r"(?:больше|уже|ещё|еще) не",
    r"не",
    r"нет",
    r"ни",
    r"никогда",
    r"никто",
    r"ничего",
    r"нигде",
    r"без",
    r"раньше",
    r"прежде",
    r"отказал(?:ся|ась|ись)",
    r"переста(?:л|ла|ли|ть)",
    r"бросил[аи]?",
)
_NEGATION = lazy_pattern(rf"(?i)\b(?:{'|'.join(_NEGATIONS)})\b")
_WORD = lazy_pattern(r"[^\W\d_]*\d+(?:[.,:]\d+)+|[^\W_]+(?:['’][^\W_]+)?")
_ENDING = lazy_pattern(r"(?<=\d)(?:st|nd|rd|th)$|['’]s?$")
# Words for numbers; "one" is as often no number.
_NUMBER_WORDS = {
    "1": "first",
    "2": "two second два две",
    "3": "three third три",
    "4": "four fourth четыре",
    "5": "five fifth пять",
    "6": "six sixth шесть",
    "7": "seven seventh семь",
    "8": "eight eighth восемь",
    "9": "nine ninth девять",
    "10": "ten tenth десять",
    "11": "eleven eleventh одиннадцать",
    "12": "twelve twelfth двенадцать",
}
_NUMBERS = dict[str, str]()
for _number, _words in _NUMBER_WORDS.items():
    _NUMBERS.update(dict.fromkeys(_words.split(), _number))
_INDEFINITE = frozenset(_SECTIONS["indefinite"].split())
_PRONOUNS = frozenset(_SECTIONS["pronouns"].split())
_EMPTY = frozenset(_SECTIONS["empty"].split())
# Letters that words of one root have in common at least, and half of the longer.
_ROOT = 4
# Weights of likeness: least squares on the pairs of stsb whose SHA-256 is even, for
# judgements from 0 to 1.
_CONSTANT = -0.042
_COSINE = 0.809
_WORDS = 0.219
_SWAPPED = -0.198
# A skipped fact is lost: the least likeness from which 9 in 10 of those even pairs say
# the same (4 or more of 5).
NEAR_DUPLICATE = 0.92
NEAR_WARN = 0.71  # a warning costs little: the largest F1 there
# Engram's, of words alone; the rules above would choose 0.82 and 0.54.
WORDS_SKIP = 0.65
WORDS_WARN = 0.5
# The largest F1, as a mean of the even pairs of sick and of fever_symmetric.
CONTRADICTS = 0.42
# Chosen on the even pairs of fever_symmetric.
_MIDDLING = 0.6
_BY_COSINE = 0.3
_SWAP = 0.9
_NONE = np.zeros(0, np.int32)
# Engram's, of candidates.
_LEAST_SHARED = 2
_LEAST_JACCARD = 0.3


@lru_cache(maxsize=65536)
def _stem(word: str) -> str:
    language = "english" if word.isascii() else "russian"
    return str(Stemmer.Stemmer(language, 0).stemWord(word))


@cache
def _kind_by_stem() -> dict[str, str]:
    """Return the kind of each word that has one, by its stem."""
    table = dict[str, str]()
    for kind in _SECTIONS["kinds"].splitlines():
        for word in kind.split():
            table[_stem(word)] = kind
    return table


class SentenceFeatures(NamedTuple):
    """What is read of a sentence.

    Attributes:
        stems: The stems of the words that say something.
        subject: Those of the name that the sentence begins with.
        values: Those that are numbers, months, opposites …, each with its kind.
        negative: Whether the sentence is negated.
        pronoun: Whether a pronoun is among its first three words.
        particular: Whether it speaks of something that is known already.
    """

    stems: tuple[str, ...]
    subject: frozenset[str]
    values: dict[str, str]
    negative: bool
    pronoun: bool
    particular: bool


@lru_cache(maxsize=4096)
def sentence_words(text: str) -> SentenceFeatures:
    """Return what is read of a sentence."""
    rest, n_negations = _NEGATION.subn(" ", text)
    words = [_ENDING.sub("", word) for word in _WORD.findall(rest)]
    lower = [_NUMBERS.get(word.lower(), word.lower()) for word in words]
    stems = _stems_by_index(lower)
    names = [index for index in stems if _is_name(words, lower, index)]
    distinct_stems = dict.fromkeys(stems.values())
    first_name = [stems[index] for index in _first_name(names)]
    is_definite = bool(lower) and lower[0] not in _INDEFINITE
    names_later = max(names, default=0) > 0
    return SentenceFeatures(
        stems=tuple(distinct_stems),
        subject=frozenset(first_name),
        values=_values_of(distinct_stems),
        negative=n_negations > 0,
        pronoun=not _PRONOUNS.isdisjoint(lower[:3]),
        particular=is_definite or names_later,
    )


def _values_of(stems: Iterable[str]) -> dict[str, str]:
    """Return the stems that are numbers, months, opposites …, each with its kind."""
    kinds = _kind_by_stem()
    values = dict[str, str]()
    for stem in stems:
        if stem[-1].isdigit():
            values[stem] = "number"
        elif stem in kinds:
            values[stem] = kinds[stem]
    return values


def _stems_by_index(words: list[str]) -> dict[int, str]:
    """Return the stems of the words that say something, by their index."""
    stems = dict[int, str]()
    for index, word in enumerate(words):
        if word not in STOP_WORDS and word not in _EMPTY:
            stems[index] = _stem(word)
    return stems


def _is_name(words: list[str], lower: list[str], index: int) -> bool:
    """Return whether a word is a name; the first one is none where it is a word too."""
    if not words[index][0].isupper():
        return False
    return index > 0 or lower[index] not in word_kinds()


def _first_name(names: list[int]) -> list[int]:
    """Return the indices of the name that a sentence begins with, side by side."""
    if not names or names[0] > 1:
        return []
    first = names[0]
    return [index for offset, index in enumerate(names) if index == first + offset]


def _only_in(features: SentenceFeatures, other: SentenceFeatures) -> set[str]:
    """Return the stems of a sentence for which the other has none of the same root."""
    stems = set[str]()
    for stem in features.stems:
        if not any(_are_akin(stem, other_stem) for other_stem in other.stems):
            stems.add(stem)
    return stems


def _are_akin(first: str, second: str) -> bool:
    """Return whether two stems have so many letters in common that they are of one root.

    Digits never are.
    """
    if first == second:
        return True
    if first[-1].isdigit():
        return False
    longer = max(len(first), len(second))
    half = (longer + 1) // 2
    n_letters = max(_ROOT, half)
    return first[:n_letters] == second[:n_letters]


def _has_swap(features: SentenceFeatures, other: SentenceFeatures) -> bool:
    """Return whether the other sentence has another value of a kind instead of one."""
    other_kinds = other.values.values()
    for value, kind in features.values.items():
        if value not in other.values and kind in other_kinds:
            return True
    return False


def likeness_signs(
    first: str, second: str, cosine: float
) -> tuple[float, float, float]:
    """Return what likeness weighs.

    It is the cosine, the share of words in common, and the cosine where a value was
    swapped, else 0.
    """
    shorter, longer = _ordered(first, second)
    n_shorter = len(shorter.stems)
    n_shared = n_shorter - len(_only_in(shorter, longer))
    n_words = n_shorter + len(_only_in(longer, shorter))
    share = n_shared / max(1, n_words)
    swapped = cosine * _has_swap(shorter, longer)
    return cosine, share, swapped


def likeness(first: str, second: str, cosine: float | None = None) -> float:
    """Return how alike two sentences are, 0..1; `cosine` is that of their vectors.

    With a cosine, NEAR_DUPLICATE and NEAR_WARN are its thresholds. Without one it is
    the share of words in common, words of one root counting as one; its thresholds are
    WORDS_SKIP and WORDS_WARN. It does not tell a sentence from its negation: ask
    `contradiction` first.

    >>> (
    ...     likeness("Ann writes the tests", "Tests are written by Ann"),
    ...     round(likeness("It takes 5 s", "It takes 9 s", 0.9), 2),
    ... )
    (1.0, 0.58)
    """
    near, words, swapped = likeness_signs(first, second, cosine or 0.0)
    if cosine is None:
        return words
    weighed = _CONSTANT + _COSINE * near + _WORDS * words + _SWAPPED * swapped
    return min(1.0, max(0.0, weighed))


def contradiction(first: str, second: str, cosine: float | None = None) -> float:
    """Return how far two sentences contradict each other, 0..1.

    It is for sentences that share words; from CONTRADICTS on they do. The shorter
    sentence is compared with the longer. Changed is the share of its words, the name it
    begins with aside, that the longer has not; 0.9 at least where an opposite, or
    another value of the same kind, stands there instead. Where one of the two is
    negated, the score is high if little is changed; else if much is, and 0 where one of
    them speaks of something new ("A dog …"). Sentences that share no word, or begin
    with different names, score less the less alike their vectors are, and 0 without a
    cosine.

    >>> (
    ...     round(contradiction("Ann uses tabs", "Ann no longer uses tabs"), 2),
    ...     contradiction("Ann uses tabs", "Ann uses tabs"),
    ... )
    (0.88, 0.0)
    """
    shorter, longer = _ordered(first, second)
    only_shorter = _only_in(shorter, longer)
    near = _MIDDLING
    if cosine is not None:
        near = min(1.0, max(0.0, cosine))
    changed = _changed(shorter, longer, only_shorter)
    if shorter.negative != longer.negative:
        far = 1 - near
        score = (1 - changed) * (1 - _BY_COSINE * far)
    elif shorter.particular and longer.particular:
        score = changed * (1 - _BY_COSINE * near)
    else:
        score = 0.0
    if shorter.pronoun or longer.pronoun:
        return score
    if _related(shorter, longer, only_shorter):
        return score
    if cosine is None:
        return 0.0
    weighed: float = score * near**0.5
    return weighed


def _changed(
    shorter: SentenceFeatures, longer: SentenceFeatures, only_shorter: set[str]
) -> float:
    """Return the share of the shorter sentence's words that the longer has not, 0..1.

    The name that it begins with is left aside where the longer has it too.
    """
    subject = shorter.subject
    if not longer.pronoun and subject <= only_shorter:
        subject = frozenset()
    n_words = len(set(shorter.stems) - subject)
    n_changed = len(only_shorter - subject)
    share = n_changed / max(1, n_words)
    if _has_swap(shorter, longer):
        return max(share, _SWAP)
    return share


def _ordered(first: str, second: str) -> list[SentenceFeatures]:
    """Return the sentence that says less, then the other."""
    sentences = [sentence_words(first), sentence_words(second)]
    return sorted(sentences, key=lambda features: len(features.stems))


def _related(
    shorter: SentenceFeatures, longer: SentenceFeatures, only_shorter: set[str]
) -> bool:
    """Return whether two share a word, and their names where both begin with one."""
    if len(only_shorter) >= len(shorter.stems):
        return False
    if not (shorter.subject and longer.subject):
        return True
    names_differ = shorter.subject.isdisjoint(longer.stems)
    return not (names_differ and longer.subject.isdisjoint(shorter.stems))


def marks_of(text: str) -> frozenset[str]:
    """Return what candidates are to share.

    It is stems, and the kinds of values, so that one value may stand in another's
    place.
    """
    words = sentence_words(text)
    return frozenset(words.stems).union(words.values.values())


class SharedWords:
    """Texts by their ids, and for another text those that share marks with it.

    They are inverted lists, in memory. One query counts the entries of the lists of its
    marks, so that it costs what these hold and no more.

    >>> facts = SharedWords()
    >>> facts.add("a", "The parser runs on port 8080")
    >>> facts.add("b", "The office has two doors")
    >>> facts.near("The parser runs on port 9090", 5)
    [('a', 0.6666666666666666, 4)]
    """

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._sizes = array("i")  # marks of each
        self._entries: dict[str, tuple[int, frozenset[str]]] = {}
        self._lists: dict[str, array[int]] = defaultdict(lambda: array("i"))

    def add(self, id: str, text: str) -> None:
        """Take in a text, in the place of the one of that id."""
        self.remove(id)
        number = len(self._ids)
        marks = marks_of(text)
        self._entries[id] = (number, marks)
        for mark in marks:
            self._lists[mark].append(number)
        self._ids.append(id)
        self._sizes.append(len(marks))

    def remove(self, id: str) -> None:
        """Leave a text out; an unknown id is let be."""
        number, marks = self._entries.pop(id, (0, ()))
        for mark in marks:
            self._lists[mark].remove(number)

    def near(self, text: str, limit: int = 10) -> list[tuple[str, float, int]]:
        """Return the texts that share two marks with it and a Jaccard of .3.

        Of equally near texts the one added last comes first. Nothing comes back for a
        limit below 1.

        Returns:
            The id, the Jaccard, and the number of shared marks of each, the nearest
            first.
        """
        marks = marks_of(text)
        lists = [_NONE]
        for mark in marks:
            if self._lists.get(mark):
                lists.append(np.frombuffer(self._lists[mark], np.int32))
        all_numbers = np.concatenate(lists)
        counts = np.bincount(all_numbers)
        numbers = np.flatnonzero(counts >= _LEAST_SHARED)
        shared = counts[numbers]
        sizes = np.frombuffer(self._sizes, np.int32)[numbers]
        jaccard = shared / (len(marks) + sizes - shared)
        candidates = np.flatnonzero(jaccard >= _LEAST_JACCARD)
        order = np.lexsort((-numbers[candidates], -jaccard[candidates]))
        best = candidates[order][: max(limit, 0)]
        matches: list[tuple[str, float, int]] = []
        for position in best.tolist():
            id = self._ids[numbers[position]]
            likeness = float(jaccard[position])
            n_shared = int(shared[position])
            matches.append((id, likeness, n_shared))
        return matches


# Tokens with a digit, or with a sign that a name ends in or begins with: "C++", "c#",
# ".net", "v1.2", "-5", "50%".
_SIGNED = lazy_pattern(
    r"(?:(?<!\w)[-+±<>≤≥~$€£.]+)?\w+(?:[.,:/+*_-]+\w+)*(?:[+#%!°]+|\*+)?"
)
_PLAIN_JOIN = lazy_pattern(r"(?<=[^\W\d_])[-.](?=[^\W\d_])")


def normal_form(text: str) -> str:
    """Return a text in lower case, with letters, digits and single blanks alone.

    >>> normal_form("Prefers Bun over  Node.js")
    'prefers bun over nodejs'
    """
    lower = unicodedata.normalize("NFKC", text).lower()
    signs = [sign for sign in lower if _is_in_form(sign)]
    words = "".join(signs).split()
    return " ".join(words)


def _is_in_form(sign: str) -> bool:
    """Return whether a sign stands in the normal form."""
    if sign.isalnum() or sign.isspace():
        return True
    return unicodedata.combining(sign) > 0


def fact_hash(text: str) -> str:
    """Return the SHA-256 of the normal form, in hexadecimal digits.

    >>> fact_hash("Prefers Bun over Node.js")[:8]
    '5c035831'
    """
    return hashlib.sha256(normal_form(text).encode()).hexdigest()


def signed_tokens(text: str) -> tuple[str, ...]:
    """Return the tokens, in order, that lose signs with a meaning in the normal form.

    Dots and hyphens between letters have none.

    >>> signed_tokens("Node.js and C++ v1.2 at -5, not 5.")
    ('c++', 'v1.2', '-5')
    """
    lower = unicodedata.normalize("NFKC", text).lower()
    with_minus = lower.replace("\u2212", "-")
    tokens: list[str] = []
    for match in _SIGNED.findall(with_minus):
        token = _PLAIN_JOIN.sub("", match.rstrip("!"))
        has_signs = not token.replace("_", "a").isalnum()
        if has_signs:
            tokens.append(token)
    return tuple(tokens)


def same_fact(first: str, second: str) -> bool:
    """Return whether two texts are exact duplicates.

    They have the same normal form, and the same signs where these carry meaning. A text
    without letters or digits is a duplicate of the same text alone.

    >>> (
    ...     same_fact("He likes tea.", "he likes tea"),
    ...     same_fact("Writes C++", "writes C"),
    ...     same_fact("at -5", "at 5"),
    ... )
    (True, False, False)
    """
    form = normal_form(first)
    if form != normal_form(second):
        return False
    if form:
        return signed_tokens(first) == signed_tokens(second)
    return first.strip() == second.strip()
