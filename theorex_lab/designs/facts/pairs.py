"""How alike two sentences are, whether they contradict each other, and which of many
come into question.

Told by the words that one says and the other does not, by negation, and by values of
one kind; English and Russian, no model. `theorex eval duplicates` and `theorex eval
contradictions` measure it on public pairs. When two say exactly the same is told by
their normal form, its SHA-256, and the tokens whose signs carry meaning.
"""

import hashlib
import re
import unicodedata
from array import array
from collections import defaultdict
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
import Stemmer

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
_NEGATION = re.compile(rf"(?i)\b(?:{'|'.join(_NEGATIONS)})\b")
_WORD = re.compile(r"[^\W\d_]*\d+(?:[.,:]\d+)+|[^\W_]+(?:['’][^\W_]+)?")
_ENDING = re.compile(r"(?<=\d)(?:st|nd|rd|th)$|['’]s?$")
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
_NUMBERS = {
    word: number for number, words in _NUMBER_WORDS.items() for word in words.split()
}
_INDEFINITE, _PRONOUNS, _EMPTY = (
    frozenset(_SECTIONS[name].split()) for name in ("indefinite", "pronouns", "empty")
)
_ROOT = (
    4  # letters that words of one root have in common at least, and half of the longer
)
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
WORDS_SKIP, WORDS_WARN = (
    0.65,
    0.5,
)  # Engram's, of words alone; the rules above would choose 0.82 and 0.54
CONTRADICTS = (
    0.42  # the largest F1, as a mean of the even pairs of sick and of fever_symmetric
)
_MIDDLING, _BY_COSINE, _SWAP = (
    0.6,
    0.3,
    0.9,
)  # chosen on the even pairs of fever_symmetric
_NONE = np.zeros(0, np.int32)
_LEAST_SHARED, _LEAST_JACCARD = 2, 0.3  # Engram's, of candidates


@lru_cache(maxsize=65536)
def _stem(word: str) -> str:
    return str(
        Stemmer.Stemmer("english" if word.isascii() else "russian", 0).stemWord(word)
    )


@cache
def _kinds() -> dict[str, str]:
    """The kind of each word that has one, by its stem."""
    return {
        _stem(word): kind
        for kind in _SECTIONS["kinds"].splitlines()
        for word in kind.split()
    }


class SentenceFeatures(NamedTuple):
    """What is read of a sentence.

    stems: of the words that say something.  subject: those of the name that it begins
    with.  values: those that are numbers, months, opposites …, each with its kind.
    particular: it speaks of something known before.
    """

    stems: tuple[str, ...]
    subject: frozenset[str]
    values: dict[str, str]
    negative: bool
    pronoun: bool
    particular: bool


@lru_cache(maxsize=4096)
def sentence_words(text: str) -> SentenceFeatures:
    """Read a sentence."""
    rest, negations = _NEGATION.subn(" ", text)
    said = [_ENDING.sub("", word) for word in _WORD.findall(rest)]
    lower = [_NUMBERS.get(word.lower(), word.lower()) for word in said]
    stems = {
        at: _stem(word)
        for at, word in enumerate(lower)
        if word not in STOP_WORDS and word not in _EMPTY
    }
    names = [
        at
        for at in stems
        if said[at][0].isupper() and (at or lower[at] not in word_kinds())
    ]
    kinds = (
        (stem, "number" if stem[-1].isdigit() else _kinds().get(stem))
        for stem in stems.values()
    )
    subject = frozenset(
        stems[at]
        for number, at in enumerate(names)
        if at == names[0] + number and names[0] < 2
    )
    values = {stem: kind for stem, kind in kinds if kind}
    pronoun = not _PRONOUNS.isdisjoint(lower[:3])
    particular = bool(lower) and (
        lower[0] not in _INDEFINITE or max(names, default=0) > 0
    )
    return SentenceFeatures(
        tuple(dict.fromkeys(stems.values())),
        subject,
        values,
        negations > 0,
        pronoun,
        particular,
    )


def _left(one: SentenceFeatures, other: SentenceFeatures) -> set[str]:
    """Stems of the one for which the other has none of the same root."""
    return {
        stem for stem in one.stems if not any(_akin(stem, root) for root in other.stems)
    }


def _akin(one: str, other: str) -> bool:
    """Whether two stems have so many letters in common that they are of one root;
    digits never are.
    """
    letters = max(_ROOT, (max(len(one), len(other)) + 1) // 2)
    return one == other or (one[:letters] == other[:letters] and not one[-1].isdigit())


def _swapped(one: SentenceFeatures, other: SentenceFeatures) -> bool:
    """Whether a value of the one is missing from the other, which has another of its
    kind.
    """
    return any(
        kind in other.values.values()
        for value, kind in one.values.items()
        if value not in other.values
    )


def likeness_signs(
    first: str, second: str, cosine: float
) -> tuple[float, float, float]:
    """What likeness weighs: the cosine, the share of words in common, and the cosine
    where a value was swapped, else 0.
    """
    one, other = _ordered(first, second)
    shared = len(one.stems) - len(_left(one, other))
    words = shared / max(1, len(one.stems) + len(_left(other, one)))
    return cosine, words, cosine * _swapped(one, other)


def likeness(first: str, second: str, cosine: float | None = None) -> float:
    """How alike two sentences are, 0..1; `cosine` is that of their vectors.

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
    return min(
        1.0, max(0.0, _CONSTANT + _COSINE * near + _WORDS * words + _SWAPPED * swapped)
    )


def contradiction(first: str, second: str, cosine: float | None = None) -> float:
    """How far two sentences contradict each other, 0..1, for sentences that share
    words; from CONTRADICTS on they do.

    The shorter sentence is compared with the longer. Changed is the share of its words,
    the name it begins with aside, that the longer has not; 0.9 at least where an
    opposite, or another value of the same kind, stands there instead. Where one of the
    two is negated, the score is high if little is changed; else if much is, and 0 where
    one of them speaks of something new ("A dog …"). Sentences that share no word, or
    begin with different names, score less the less alike their vectors are, and 0
    without a cosine.

    >>> (
    ...     round(contradiction("Ann uses tabs", "Ann no longer uses tabs"), 2),
    ...     contradiction("Ann uses tabs", "Ann uses tabs"),
    ... )
    (0.88, 0.0)
    """
    one, other = _ordered(first, second)
    left = _left(one, other)
    pronoun = one.pronoun or other.pronoun
    near = _MIDDLING if cosine is None else min(1.0, max(0.0, cosine))
    subject = one.subject if other.pronoun or not one.subject <= left else frozenset()
    changed = len(left - subject) / max(1, len(set(one.stems) - subject))
    changed = max(changed, _SWAP * _swapped(one, other))
    if one.negative != other.negative:
        found = (1 - changed) * (1 - _BY_COSINE * (1 - near))
    else:
        found = (
            changed * (1 - _BY_COSINE * near) * (one.particular and other.particular)
        )
    return (
        found
        if pronoun or _related(one, other, left)
        else found * near**0.5 * (cosine is not None)
    )


def _ordered(first: str, second: str) -> list[SentenceFeatures]:
    """The one that says less, then the other."""
    return sorted(
        (sentence_words(first), sentence_words(second)),
        key=lambda words: len(words.stems),
    )


def _related(one: SentenceFeatures, other: SentenceFeatures, left: set[str]) -> bool:
    """Whether they share a word, and their names where both begin with one."""
    apart = one.subject.isdisjoint(other.stems) and other.subject.isdisjoint(one.stems)
    return len(left) < len(one.stems) and not (one.subject and other.subject and apart)


def marks_of(text: str) -> frozenset[str]:
    """What candidates are to share: stems, and the kinds of values, so that one value
    may stand in another's place.
    """
    words = sentence_words(text)
    return frozenset(words.stems).union(words.values.values())


class SharedWords:
    """Texts by their ids, and for another text those that share marks with it; inverted
    lists, in memory.

    One query counts the entries of the lists of its marks, so that it costs what these
    hold and no more.

    >>> facts = SharedWords()
    >>> facts.add("a", "The parser runs on port 8080")
    >>> facts.add("b", "The office has two doors")
    >>> facts.near("The parser runs on port 9090", 5)
    [('a', 0.6666666666666666, 4)]
    """

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._sizes = array("i")  # marks of each
        self._held: dict[str, tuple[int, frozenset[str]]] = {}
        self._lists: dict[str, array[int]] = defaultdict(lambda: array("i"))

    def add(self, id: str, text: str) -> None:
        """Take in a text, in the place of the one of that id."""
        self.remove(id)
        self._held[id] = len(self._ids), marks_of(text)
        for mark in self._held[id][1]:
            self._lists[mark].append(len(self._ids))
        self._ids.append(id)
        self._sizes.append(len(self._held[id][1]))

    def remove(self, id: str) -> None:
        """Leave a text out; an unknown id is let be."""
        number, marks = self._held.pop(id, (0, ()))
        for mark in marks:
            self._lists[mark].remove(number)

    def near(self, text: str, limit: int = 10) -> list[tuple[str, float, int]]:
        """(id, Jaccard, shared marks) of those that share two marks with it and a
        Jaccard of .3, the nearest first.

        Of equally near texts the one added last comes first. Nothing comes back for a
        limit below 1.
        """
        own = marks_of(text)
        lists = [
            np.frombuffer(self._lists[mark], np.int32)
            for mark in own
            if self._lists.get(mark)
        ]
        counts = np.bincount(np.concatenate([_NONE, *lists]))
        numbers = np.flatnonzero(counts >= _LEAST_SHARED)
        shared = counts[numbers]
        jaccard = shared / (
            len(own) + np.frombuffer(self._sizes, np.int32)[numbers] - shared
        )
        found = np.flatnonzero(jaccard >= _LEAST_JACCARD)
        best = found[np.lexsort((-numbers[found], -jaccard[found]))][: max(limit, 0)]
        return [
            (self._ids[numbers[at]], float(jaccard[at]), int(shared[at]))
            for at in best.tolist()
        ]


# Tokens with a digit, or with a sign that a name ends in or begins with: "C++", "c#",
# ".net", "v1.2", "-5", "50%".
_SIGNED = re.compile(
    r"(?:(?<!\w)[-+±<>≤≥~$€£.]+)?\w+(?:[.,:/+*_-]+\w+)*(?:[+#%!°]+|\*+)?"
)
_PLAIN_JOIN = re.compile(r"(?<=[^\W\d_])[-.](?=[^\W\d_])")


def normal_form(text: str) -> str:
    """A text in lower case, with letters, digits and single blanks alone.

    >>> normal_form("Prefers Bun over  Node.js")
    'prefers bun over nodejs'
    """
    folded = unicodedata.normalize("NFKC", text).lower()
    kept = (
        sign
        for sign in folded
        if sign.isalnum() or sign.isspace() or unicodedata.combining(sign)
    )
    return " ".join("".join(kept).split())


def fact_hash(text: str) -> str:
    """SHA-256 of the normal form, in hexadecimal digits.

    >>> fact_hash("Prefers Bun over Node.js")[:8]
    '5c035831'
    """
    return hashlib.sha256(normal_form(text).encode()).hexdigest()


def signed_tokens(text: str) -> tuple[str, ...]:
    """Tokens, in order, that lose signs with a meaning in the normal form; dots and
    hyphens between letters do not.

    >>> signed_tokens("Node.js and C++ v1.2 at -5, not 5.")
    ('c++', 'v1.2', '-5')
    """
    folded = unicodedata.normalize("NFKC", text).lower().replace("\u2212", "-")
    tokens = (
        _PLAIN_JOIN.sub("", token.rstrip("!")) for token in _SIGNED.findall(folded)
    )
    return tuple(token for token in tokens if not token.replace("_", "a").isalnum())


def same_fact(first: str, second: str) -> bool:
    """Whether two texts are exact duplicates: the same normal form, and the same signs
    where they carry meaning.

    A text without letters or digits is a duplicate of the same text alone.

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
    return (
        signed_tokens(first) == signed_tokens(second)
        if form
        else first.strip() == second.strip()
    )
