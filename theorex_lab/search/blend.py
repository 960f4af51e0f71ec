"""Score how well texts answer a query: signals of words, of meaning, and of what stands
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
    """Which texts stand around each text.

    Positions are those of the texts in order of their sessions.

    >>> passages = Passages(np.array([0, 1, 0, 0]), np.array([50, 9, 5, 100]))
    >>> [part.tolist() for part in (passages.before(), passages.after())]
    [[-1, -1, 0, 2], [2, -1, 3, -1]]
    >>> passages.words.tolist()
    [155, 9, 155, 100]

    Attributes:
        any: Whether any text has another one in its session.
        words: By text, how many words its passage has.
    """

    def __init__(
        self, session: NDArray[np.integer], words: NDArray[np.integer]
    ) -> None:
        """Look for the passages.

        Args:
            session: By text, the number of its session, below 0 for none.
            words: By text, how many words it has.
        """
        n_texts = len(session)
        self._order = np.argsort(session, kind="stable")
        self._position = np.empty(n_texts, np.int64)
        self._position[self._order] = np.arange(n_texts)
        sessions = np.asarray(session)[self._order]
        begins = np.ones(n_texts, np.bool_)
        begins[1:] = (sessions[1:] != sessions[:-1]) | (sessions[1:] < 0)
        starts = np.flatnonzero(begins)
        # By position, the first and the last position of its session.
        self._first = starts
        self._last = starts
        if len(starts):
            group = np.cumsum(begins) - 1
            self._first = starts[group]
            self._last = np.append(starts[1:], n_texts)[group] - 1
        self.any = bool((~begins).any())
        sizes = np.asarray(words, np.int64)[self._order]
        total = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
        self._low, self._high = self._grown(total)
        passage_words = total[self._high + 1] - total[self._low]
        self.words: Integers = passage_words[self._position]

    def _grown(self, total: Integers) -> tuple[Integers, Integers]:
        """Return the first and the last position of each passage.

        Args:
            total: By position, how many words stand before it.
        """
        low = np.arange(len(self._order))
        high = np.arange(len(self._order))
        if not self.any:
            return low, high
        for _ in range(REACH):
            is_short = total[high + 1] - total[low] < PASSAGE_WORDS
            low = np.where(is_short, np.maximum(low - 1, self._first), low)
            is_short = total[high + 1] - total[low] < PASSAGE_WORDS
            high = np.where(is_short, np.minimum(high + 1, self._last), high)
        return low, high

    def before(self, texts: Integers | slice = slice(None)) -> Integers:
        """Return the text before each of these in its session, -1 for none."""
        position = self._position[texts]
        has_before = position > self._first[position]
        return np.where(has_before, self._order[position - 1], -1)

    def after(self, texts: Integers | slice = slice(None)) -> Integers:
        """Return the text after each of these in its session, -1 for none."""
        position = self._position[texts]
        has_after = position < self._last[position]
        next_position = np.minimum(position + 1, len(self._order) - 1)
        return np.where(has_after, self._order[next_position], -1)

    def holding(self, texts: Integers) -> Iterator[tuple[Integers, Mask]]:
        """Yield by distance the texts whose passages hold these: which they are, and
        which of these they hold (a mask); each text once a distance.
        """
        position = self._position[texts]
        first = self._first[position]
        last = self._last[position]
        for distance in range(-REACH, REACH + 1):
            neighbour = position + distance
            is_held = (neighbour >= first) & (neighbour <= last)
            neighbour = np.where(is_held, neighbour, position)
            is_held &= self._low[neighbour] <= position
            is_held &= position <= self._high[neighbour]
            yield self._order[neighbour[is_held]], is_held


# The signals:
# words: BM25 of the text.
# passage: BM25 of its passage.
# around: BM25 of the texts before and after it.
# vector: cosine of the text.
# passage_vector: cosine of the mean of the text and those before and after it.
# speaker: who speaks is named in the query.
# asked: a person says it to an agent.
# length: logarithm of how many words it has; of two that fit, the longer tells more.
WEIGHTS = {
    "words": 0.5,
    "passage": 0.5,
    "around": 0.1,
    "vector": 0.5,
    "passage_vector": 0.5,
    "speaker": 0.4,
    "asked": 0.5,
    "length": 0.0,
}
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
    """Scores of every text by words, (texts,) each.

    Attributes:
        words: BM25 of the text.
        passage: BM25 of its passage.
        held: The share of the query's words that it holds, by idf.
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
    """Return BM25 (see `LexicalIndex`) of texts and of their passages.

    Args:
        index: The index.
        tokens: The tokens of the query.
        passages: The passages of the index's documents.
        echo: A mask of the documents that duplicate another one.
    """
    n_texts = len(index)
    lengths = index.lengths
    n_counted = max(n_texts - int(echo.sum()), 1)
    mean_length = max(float(lengths[~echo].sum()) / n_counted, 1.0)
    mean_passage = max(float(passages.words[~echo].sum()) / n_counted, 1.0)
    words = np.zeros(n_texts)
    passage = np.zeros(n_texts) if passages.any else words
    counted = np.zeros(n_texts)
    held = np.zeros(n_texts)
    all_weights = 0.0
    for documents, counts, weight in index.matches(tokens, echo):
        all_weights += weight
        held[documents] += weight
        words[documents] += weight * saturated(counts, lengths[documents], mean_length)
        if not passages.any:
            continue
        reached = []
        for texts, is_held in passages.holding(documents.astype(np.int64)):
            counted[texts] += counts[is_held]
            reached.append(texts)
        near = np.concatenate(reached)
        # A text that stands here twice gets the same sum twice.
        passage[near] = passage[near] + weight * saturated(
            counted[near], passages.words[near], mean_passage
        )
        counted[near] = 0.0
    if all_weights:
        held = held / all_weights
    return WordScores(words, passage, held)


def weights_for(
    columns: Mapping[str, Scores], given: Mapping[str, float] | None
) -> Mapping[str, float]:
    """Return the weights of these signals: those that ship with vectors or without, in
    whose place those given stand.
    """
    shipped = WEIGHTS if "vector" in columns else WORD_WEIGHTS
    return {**shipped, **(given or {})}


def blend(
    columns: Mapping[str, Scores], weights: Mapping[str, float]
) -> tuple[Scores, Columns]:
    """Return the weighted sum of the signals of candidates, and what each of them adds
    to it.

    Args:
        columns: By signal, a value for each candidate; NaN where it is not known, as of
            a text without a vector. What the other candidates with these words have
            takes its place.
        weights: By signal, its weight.

    Raises:
        KeyError: A signal has no weight.
    """
    # Without vectors the words have their weight too, so that sums mean the same.
    used = sum(weights[name] for name in columns if name in STANDARDISED)
    scale = _ALL / (used or _ALL)
    parts: Columns = {}
    for name, column in standardised(columns).items():
        weight = weights[name]
        if name in STANDARDISED:
            weight = weight * scale
        parts[name] = weight * column
    return np.sum(list(parts.values()), axis=0), parts


def standardised(columns: Mapping[str, Scores]) -> Columns:
    """Return the signals as `blend` weighs them."""
    changed: Columns = {}
    for name in STANDARDISED:
        if name in columns:
            column = _filled(columns[name], columns["words"])
            changed[name] = _standardised(name, column)
    if "length" in columns:
        above = columns["length"] - columns["length"].mean()
        changed["length"] = above / max(float(above.std()), 1e-9)
    return {**columns, **changed}


def shown(total: Scores) -> Scores:
    """Return sums as scores in 0..1: 0 for what stands out in nothing.

    >>> shown(np.array([-1.0, 2.5, 7.5])).tolist()
    [0.0, 0.5, 0.75]
    """
    above = np.maximum(total, 0.0)
    return np.asarray(above / (above + _HALFWAY))


def _standardised(name: str, column: Scores) -> Scores:
    """Return a signal in standard deviations from its mean, over the candidates and the
    imagined texts.
    """
    mean, deviation = _UNRELATED if name in VECTOR_SIGNALS else (0.0, 0.0)
    size = len(column) + _IMAGINED
    centre = (column.sum() + _IMAGINED * mean) / size
    squares = ((column - centre) ** 2).sum()
    imagined_squares = _IMAGINED * ((mean - centre) ** 2 + deviation**2)
    variance = (squares + imagined_squares) / size
    if variance > 0:
        return np.asarray((column - centre) / np.sqrt(variance))
    return np.asarray(column * 0.0)


def _filled(column: Scores, words: Scores) -> Scores:
    """Return the column with each NaN replaced by what a line through the other values
    says for the words' score.
    """
    has_value = ~np.isnan(column)
    if has_value.all():
        return column
    if not has_value.any():
        return np.zeros(len(column))
    mean_words = words[has_value].mean()
    mean_value = column[has_value].mean()
    across = words[has_value] - mean_words
    up = column[has_value] - mean_value
    square = across @ across
    slope = (across @ up) / square if square > 0 else 0.0
    return np.where(has_value, column, mean_value + slope * (words - mean_words))


def likeliest(scores: Scores, allowed: NDArray[np.bool_], limit: int) -> Ids:
    """Return the documents with the highest scores above 0 among the allowed ones, at
    most `limit`, in no order.
    """
    documents = np.flatnonzero((scores > 0) & allowed)
    n_worse = len(documents) - limit
    if n_worse > 0:
        order = np.argpartition(scores[documents], n_worse)
        documents = documents[order[n_worse:]]
    return documents.astype(np.int64)
