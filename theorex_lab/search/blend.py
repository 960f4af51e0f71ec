"""How well texts answer a query: signals of words, of meaning, and of what stands
around a text, put together.

A signal is standardised over the candidates and a few imagined texts that fit nothing,
so that it says how far a text stands out, also where few are remembered; the weighted
sum decides. Weights were chosen on LoCoMo and QMSum: see notebook 04.

What stands around a text is a passage: whole texts of its session before and after it,
added in turn until there are enough words, since a short text says little alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from theorex_lab.search.fuse import Ids, Scores
from theorex_lab.search.lexical import LexicalIndex, saturated

Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]

PASSAGE_WORDS = 60  # chosen on LoCoMo and QMSum, 30 to 100; see notebook 04
REACH = 3  # texts at most on each side


class Passages:
    """Which texts stand around each text. session: of each text, a number, or below 0
    for none.  words: of each, how many.

    >>> passages = Passages(np.array([0, 1, 0, 0]), np.array([50, 9, 5, 100]))
    >>> [part.tolist() for part in (passages.before(), passages.after())]
    [[-1, -1, 0, 2], [2, -1, 3, -1]]
    >>> passages.words.tolist()
    [155, 9, 155, 100]
    """

    def __init__(
        self, session: NDArray[np.integer], words: NDArray[np.integer]
    ) -> None:
        self._order = np.argsort(session, kind="stable")
        self._place = np.empty(len(session), np.int64)  # of each text in that order
        self._place[self._order] = np.arange(len(session))
        ordered = np.asarray(session)[self._order]
        begins = np.ones(len(ordered), np.bool_)
        begins[1:] = (ordered[1:] != ordered[:-1]) | (ordered[1:] < 0)
        starts = np.flatnonzero(begins)
        group = np.cumsum(begins) - 1
        self._first = starts[group] if len(starts) else starts
        self._last = (
            np.append(starts[1:], len(ordered))[group] - 1 if len(starts) else starts
        )
        self.any = bool((~begins).any())
        total = np.concatenate(
            (np.zeros(1, np.int64), np.cumsum(np.asarray(words, np.int64)[self._order]))
        )
        self._low, self._high = self._grown(total)
        self.words: Integers = (total[self._high + 1] - total[self._low])[self._place]

    def _grown(self, total: Integers) -> tuple[Integers, Integers]:
        """The first and the last place of each passage."""
        low = np.arange(len(self._order))
        high = np.arange(len(self._order))
        for _ in range(REACH if self.any else 0):
            for side in (-1, 1):
                short = total[high + 1] - total[low] < PASSAGE_WORDS
                if side < 0:
                    low = np.where(short, np.maximum(low - 1, self._first), low)
                else:
                    high = np.where(short, np.minimum(high + 1, self._last), high)
        return low, high

    def before(self, texts: Integers | slice = slice(None)) -> Integers:
        """The text before each of these in its session, -1 for none."""
        place = self._place[texts]
        return np.where(place > self._first[place], self._order[place - 1], -1)

    def after(self, texts: Integers | slice = slice(None)) -> Integers:
        """The text after each of these in its session, -1 for none."""
        place = self._place[texts]
        return np.where(
            place < self._last[place],
            self._order[np.minimum(place + 1, len(self._order) - 1)],
            -1,
        )

    def holding(self, texts: Integers) -> Iterator[tuple[Integers, Mask]]:
        """By distance, the texts whose passages hold these: which, and of which of
        these (a mask); each text once a distance.
        """
        place = self._place[texts]
        for distance in range(-REACH, REACH + 1):
            at = place + distance
            held = (at >= self._first[place]) & (at <= self._last[place])
            near = np.where(held, at, place)
            held &= (self._low[near] <= place) & (place <= self._high[near])
            yield self._order[near[held]], held


# words: BM25 of the text.  passage: of its passage.  around: of the texts before and
# after it.  vector: cosine of the text.
# passage_vector: of the mean of the text and those before and after it.  speaker: who
# speaks is named in the query.
# asked: a person says it to an agent.  length: logarithm of how many words it has; of
# two that fit, the longer tells more.
WEIGHTS = {
    "words": 0.5,
    "passage": 0.5,
    "around": 0.1,
    "vector": 0.5,
    "passage_vector": 0.5,
}
WEIGHTS |= {"speaker": 0.4, "asked": 0.5, "length": 0.0}
# Where there are no vectors: not below BM25 of the texts alone on either set.
WORD_WEIGHTS = {
    "words": 0.75,
    "passage": 0.25,
    "around": 0.25,
    "speaker": 0.8,
    "asked": 0.5,
    "length": 0.0,
}
VECTOR_SIGNALS = ("vector", "passage_vector")
STANDARDISED = ("words", "passage", "around", *VECTOR_SIGNALS)  # the others are 0 or 1
_ALL = 2.0
_IMAGINED = 10
# Cosines of unrelated sentences, as measured with MiniLM: mean and standard deviation.
_UNRELATED = 0.1, 0.1
_HALFWAY = 2.5  # the sum that is shown as .5

Columns = dict[str, Scores]


class WordScores(NamedTuple):
    """BM25 of every text and of every passage, and the share of the query's words that
    a text holds, by idf; (texts,) each.
    """

    words: Scores
    passage: Scores
    held: Scores


def word_scores(
    index: LexicalIndex,
    tokens: Sequence[str],
    passages: Passages,
    echo: NDArray[np.bool_],
) -> WordScores:
    """BM25 (see `LexicalIndex`) of texts and of their passages; `passages` and `echo`
    are of the index's documents.
    """
    words = np.zeros(len(index))
    lengths = index.lengths
    count = max(len(index) - int(echo.sum()), 1)
    passage, counted = (
        (np.zeros(len(index)), np.zeros(len(index))) if passages.any else (words, words)
    )
    mean_words, mean_passage = (
        max(float(sizes[~echo].sum()) / count, 1.0)
        for sizes in (lengths, passages.words)
    )
    held = np.zeros(len(index))
    all_weights = 0.0
    for documents, counts, weight in index.matches(tokens, echo):
        all_weights += weight
        held[documents] += weight
        words[documents] += weight * saturated(counts, lengths[documents], mean_words)
        if not passages.any:
            continue
        reached = []
        for texts, reach in passages.holding(documents.astype(np.int64)):
            counted[texts] += counts[reach]
            reached.append(texts)
        near = np.concatenate(reached)
        # A text that stands here twice gets the same sum twice.
        passage[near] = passage[near] + weight * saturated(
            counted[near], passages.words[near], mean_passage
        )
        counted[near] = 0.0
    return WordScores(words, passage, held / all_weights if all_weights else held)


def weights_for(
    columns: Mapping[str, Scores], given: Mapping[str, float] | None
) -> Mapping[str, float]:
    """The weights of these signals: those that ship with vectors or without, in whose
    place those given stand.
    """
    return {**(WEIGHTS if "vector" in columns else WORD_WEIGHTS), **(given or {})}


def blend(
    columns: Mapping[str, Scores], weights: Mapping[str, float]
) -> tuple[Scores, Columns]:
    """The weighted sum of the signals of candidates, and what each of them adds to it.

    columns: by signal, a value a candidate; NaN where it is not known, as of a text
    without a vector: there stands what the other candidates with these words have.
    Raises KeyError for a signal without a weight.
    """
    # Without vectors the words have their weight too, so that sums mean the same.
    scale = _ALL / (
        sum(weights[name] for name in columns if name in STANDARDISED) or _ALL
    )
    scaled = {
        name: weights[name] * (scale if name in STANDARDISED else 1.0)
        for name in columns
    }
    parts = {
        name: scaled[name] * column for name, column in standardised(columns).items()
    }
    return np.sum(list(parts.values()), axis=0), parts


def standardised(columns: Mapping[str, Scores]) -> Columns:
    """The signals as `blend` weighs them."""
    there = [name for name in STANDARDISED if name in columns]
    found = {
        name: _standardised(name, _filled(columns[name], columns["words"]))
        for name in there
    }
    if "length" in columns:
        above = columns["length"] - columns["length"].mean()
        found["length"] = above / max(float(above.std()), 1e-9)
    return {**columns, **found}


def shown(total: Scores) -> Scores:
    """Sums as scores in 0..1: 0 for what stands out in nothing.

    >>> shown(np.array([-1.0, 2.5, 7.5])).tolist()
    [0.0, 0.5, 0.75]
    """
    above = np.maximum(total, 0.0)
    return np.asarray(above / (above + _HALFWAY))


def _standardised(name: str, column: Scores) -> Scores:
    mean, deviation = _UNRELATED if name in VECTOR_SIGNALS else (0.0, 0.0)
    size = len(column) + _IMAGINED
    centre = (column.sum() + _IMAGINED * mean) / size
    spread = (
        ((column - centre) ** 2).sum()
        + _IMAGINED * ((mean - centre) ** 2 + deviation**2)
    ) / size
    return np.asarray(
        (column - centre) / np.sqrt(spread) if spread > 0 else column * 0.0
    )


def _filled(column: Scores, words: Scores) -> Scores:
    """The column with each NaN replaced by what a line through the known values says
    for the words' score.
    """
    known = ~np.isnan(column)
    if known.all():
        return column
    if not known.any():
        return np.zeros(len(column))
    across = words[known] - words[known].mean()
    up = column[known] - column[known].mean()
    slope = (across @ up) / (across @ across) if across @ across > 0 else 0.0
    return np.where(
        known, column, column[known].mean() + slope * (words - words[known].mean())
    )


def likeliest(scores: Scores, allowed: NDArray[np.bool_], limit: int) -> Ids:
    """The documents with the highest scores above 0 among the allowed ones, at most
    `limit`, in no order.
    """
    found = np.flatnonzero((scores > 0) & allowed)
    if len(found) > limit:
        found = found[
            np.argpartition(scores[found], len(found) - limit)[len(found) - limit :]
        ]
    return found.astype(np.int64)
