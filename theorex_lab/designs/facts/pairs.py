"""How alike two sentences are, and whether they contradict each other: a few signs of words and meaning, weighed.

A sign is a number; what each adds is a linear weight that was fitted to public pairs (see `theorex eval duplicates` and
`theorex eval contradictions`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import Stemmer
from numpy.typing import NDArray

from theorex_lab.errors import InvalidInput
from theorex_lab.search.embed import Embedder
from theorex_lab.search.lexical import STOP_WORDS
from theorex_lab.text.sections import read_sections

Floats = NDArray[np.float64]
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_SECTIONS = read_sections(__file__, "polarity.txt")
NEGATIONS, LIMITS, NUMBERS = (frozenset(_SECTIONS[name].split()) for name in ("negations", "limits", "numbers"))
_ROUNDS = 200


class Words(NamedTuple):
    """A sentence as the signs see it: stems in order, those that are no function words, and its numbers."""

    stems: tuple[str, ...]
    content: frozenset[str]
    numbers: frozenset[str]
    negations: int
    limits: int
    names: frozenset[str]
    grams: Counter[str]


@cache
def opposites() -> dict[str, frozenset[str]]:
    """For the stem of a word the stems of its opposites."""
    stem = Stemmer.Stemmer("english", 0).stemWord
    found: dict[str, frozenset[str]] = {}
    for line in _SECTIONS["opposites"].splitlines():
        sides = [{stem(word) for word in side.split()} for side in line.split(" | ")]
        for side, other in (sides, sides[::-1]):
            for word in side:
                found[word] = found.get(word, frozenset()) | other
    return found


def words_of(text: str) -> Words:
    """Read a sentence for its signs."""
    stemmer = Stemmer.Stemmer("english", 0)
    said = [word.lower().replace("’", "'") for word in _WORD.findall(text)]
    negations = sum(word in NEGATIONS or word.endswith("n't") for word in said)
    stems = tuple(stemmer.stemWord(word) for word in said)
    content = [stem for stem, word in zip(stems, said, strict=True) if word not in STOP_WORDS and word not in NEGATIONS]
    numbers = frozenset(_NUMBER.findall(text)) | NUMBERS.intersection(said)
    names = frozenset(stemmer.stemWord(word.lower()) for word in _WORD.findall(text)[1:] if word[0].isupper())
    padded = " ".join(("", *stems, ""))
    grams = Counter(padded[at : at + 3] for at in range(len(padded) - 2))
    limits = sum(word in LIMITS for word in said)
    return Words(stems, frozenset(content), numbers, negations, limits, names, grams)


SIGNS = (
    "cosine", "cosine_squared", "overlap", "content", "held", "grams", "pairs", "numbers", "negation", "opposite",
    "length", "limits", "names", "left", "one_left", "both_left", "left_cosine", "alike_negation", "alike_left", "alike_opposite",
)  # fmt: skip
# Signs that something changed: each may only speak for a contradiction, never against it.
CHANGES = (
    "negation", "alike_negation", "opposite", "alike_opposite", "numbers", "limits", "names", "left_cosine",
)  # fmt: skip


def signs(first: Sequence[str], second: Sequence[str], embedder: Embedder | None = None) -> Floats:
    """The SIGNS of pairs of sentences, (pairs, len(SIGNS)); without an embedder, cosines are those of character triples."""
    read = [(words_of(one), words_of(other)) for one, other in zip(first, second, strict=True)]
    grams = np.array([_cosine(one.grams, other.grams) for one, other in read])
    cosine = left = grams
    if embedder is not None:
        cosine = _cosines(embedder, first, second)
        rests = [_rests(one, other) for one, other in read]
        left = _cosines(embedder, [one or "nothing" for one, _ in rests], [other or "nothing" for _, other in rests])
    rows = [
        _signs(one, other, float(near), float(gram), float(rest))
        for (one, other), near, gram, rest in zip(read, cosine, grams, left, strict=True)
    ]
    return np.array(rows).reshape(len(rows), len(SIGNS))


def _signs(one: Words, other: Words, cosine: float, grams: float, left_cosine: float) -> tuple[float, ...]:
    ours, theirs = one.content - other.content, other.content - one.content
    smaller = max(1, min(len(one.content), len(other.content)))
    content = _share(one.content, other.content)
    negation = float((one.negations > 0) != (other.negations > 0))
    opposite = float(any(opposites().get(word, frozenset()) & theirs for word in ours))
    numbers = float(bool(one.numbers and other.numbers and one.numbers != other.numbers))
    lengths = sorted((len(one.stems), len(other.stems)))
    names = float(bool(one.names - other.names and other.names - one.names))
    left = (len(ours) + len(theirs)) / max(1, len(one.content) + len(other.content))
    return (
        cosine, cosine * cosine, _share(frozenset(one.stems), frozenset(other.stems)), content,
        len(one.content & other.content) / smaller, grams, _pairs(one, other), numbers, negation, opposite,
        lengths[0] / max(1, lengths[1]), float(one.limits != other.limits), names, left, float(bool(ours) != bool(theirs)),
        float(bool(ours and theirs)), left_cosine, negation * cosine, float(bool(ours and theirs)) * cosine,
        opposite * cosine,
    )  # fmt: skip


def _rests(one: Words, other: Words) -> tuple[str, str]:
    """The words of each that the other has not."""
    return (
        " ".join(word for word in one.stems if word in one.content - other.content),
        " ".join(word for word in other.stems if word in other.content - one.content),
    )


def _share(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one | other else 1.0


def _pairs(one: Words, other: Words) -> float:
    both = [frozenset(zip(each.stems, each.stems[1:], strict=False)) for each in (one, other)]
    union = both[0] | both[1]
    return len(both[0] & both[1]) / len(union) if union else 1.0


def _cosine(one: Counter[str], other: Counter[str]) -> float:
    dot = sum(count * other[gram] for gram, count in one.items())
    sizes = [sum(count * count for count in each.values()) for each in (one, other)]
    return float(dot / (sizes[0] * sizes[1]) ** 0.5) if all(sizes) else 0.0


def _cosines(embedder: Embedder, first: Sequence[str], second: Sequence[str]) -> Floats:
    found: Floats = (embedder.embed(list(first)) * embedder.embed(list(second))).sum(axis=1).astype(np.float64)
    return found


class Weights(NamedTuple):
    """Of each column of a table of signs its mean, standard deviation and weight, and what stands for a mean pair."""

    mean: Floats
    deviation: Floats
    weight: Floats
    constant: float


def fit(table: Floats, told: Floats, *, penalty: float = 30.0, rising: bool = False) -> Weights:
    """Weights by ridge regression of what people said, (pairs,), on signs, (pairs, signs), standardised.

    rising: no weight is below 0; found by coordinate descent. Raises InvalidInput for tables of other shapes.
    """
    if table.ndim != 2 or told.shape != table.shape[:1] or not len(told):
        raise InvalidInput(
            f"got signs {table.shape} and judgements {told.shape}; allowed are (pairs, signs) and (pairs,)"
        )
    mean, deviation = table.mean(axis=0), table.std(axis=0) + 1e-9
    centred = (table - mean) / deviation
    gram = centred.T @ centred + penalty * np.eye(table.shape[1])
    pull = centred.T @ (told - told.mean())
    weight: Floats = np.zeros(table.shape[1]) if rising else np.linalg.solve(gram, pull)
    for _ in range(_ROUNDS if rising else 0):
        for sign in range(len(weight)):
            weight[sign] = max(0.0, weight[sign] + (pull[sign] - gram[sign] @ weight) / gram[sign, sign])
    return Weights(mean, deviation, weight, float(told.mean()))


def weigh(table: Floats, weights: Weights) -> Floats:
    """What the signs of pairs, (pairs, signs), say together, (pairs,)."""
    found: Floats = (table - weights.mean) / weights.deviation @ weights.weight + weights.constant
    return found
