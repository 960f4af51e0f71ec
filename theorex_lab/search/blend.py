"""Score how well texts answer a query, by several signals put together.

There are signals of words, of meaning, and of what stands around a text.

A signal is standardised over the candidates and a few imagined texts that fit nothing,
so that it says how far a text stands out, also where few are remembered; the weighted
sum decides. Weights were chosen on LoCoMo and QMSum: see notebook 04.

What stands around a text is a passage: whole texts of its session before and after it,
added in turn until there are enough words, since a short text says little alone.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from theorex_lab.search.fuse import Ids, Scores
from theorex_lab.search.lexical import LexicalIndex, saturated
from theorex_lab.search.passages import Integers, Passages

# Of all texts, a share that is looked for in the whole array faster than listed.
_MANY = 0.25

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
# Of code: many functions share the words of a query, and their meaning tells them apart.
# Chosen on the functions of click by their docstrings, .5 to 1; httpx confirms it.
CODE_WEIGHTS = {
    **WEIGHTS,
    "vector": 1.0,
    "passage_vector": 1.0,
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


def _count_in_passages(
    passages: Passages,
    documents: NDArray[np.integer],
    counts: NDArray[np.integer],
    passage_counts: Scores,
) -> Integers:
    """Count how often passages hold a token; return the texts that they are around.

    Args:
        passages: The passages.
        documents: The texts that hold the token.
        counts: How often each of these does.
        passage_counts: By text, 0; how often its passage holds the token is put there.

    Returns:
        The texts; one may stand there several times.
    """
    reached = []
    n_reached = 0
    numbers = documents.astype(np.int64)
    for texts, is_held in passages.holding(numbers):
        passage_counts[texts] += counts[is_held]
        reached.append(texts)
        n_reached += len(texts)
    if n_reached > _MANY * len(passage_counts):
        return np.flatnonzero(passage_counts)
    return np.concatenate(reached)


def word_scores(
    index: LexicalIndex,
    tokens: Sequence[str],
    passages: Passages,
) -> WordScores:
    """Return BM25 (see `LexicalIndex`) of texts and of their passages.

    Args:
        index: The index.
        tokens: The tokens of the query.
        passages: The passages of the index's documents, with those that duplicate
            another one.
    """
    n_texts = len(index)
    lengths = index.lengths
    words = np.zeros(n_texts)
    passage = np.zeros(n_texts) if passages.any else words
    passage_counts = np.zeros(n_texts)
    held = np.zeros(n_texts)
    all_weights = 0.0
    matches = index.matches(
        tokens,
        passages.echo,
    )
    for documents, counts, weight in matches:
        all_weights += weight
        held[documents] += weight
        shares = saturated(
            counts,
            lengths[documents],
            passages.mean_text,
        )
        words[documents] += weight * shares
        if not passages.any:
            continue
        near = _count_in_passages(
            passages,
            documents,
            counts,
            passage_counts,
        )
        near_counts = passage_counts[near]
        shares = saturated(
            near_counts,
            passages.words[near],
            passages.mean_passage,
        )
        # A text that stands there twice gets the same sum twice.
        passage[near] = passage[near] + weight * shares
        passage_counts[near] = 0.0
    if all_weights:
        held /= all_weights
    return WordScores(words, passage, held)


def weights_for(
    columns: Mapping[str, Scores],
    given: Mapping[str, float] | None,
    *,
    of_code: bool = False,
) -> Mapping[str, float]:
    """Return the weights of these signals.

    Args:
        columns: The signals; the weights that ship are others where there are vectors.
        given: Weights that stand in the place of those that ship; None for none.
        of_code: Whether all candidates are symbols of code.
    """
    shipped = WORD_WEIGHTS
    if "vector" in columns:
        shipped = CODE_WEIGHTS if of_code else WEIGHTS
    return {**shipped, **(given or {})}


def blend(
    columns: Mapping[str, Scores],
    weights: Mapping[str, float],
) -> tuple[Scores, Columns]:
    """Return the weighted sum of the signals, and what each of them adds to it.

    Args:
        columns: By signal, a value for each candidate; NaN where it is not known, as of
            a text without a vector. What the other candidates with these words have
            takes its place.
        weights: By signal, its weight.

    Raises:
        KeyError: A signal has no weight.
    """
    # Without vectors the words have their weight too, so that sums mean the same.
    used_weights = [weights[name] for name in columns if name in STANDARDISED]
    scale = _ALL / (sum(used_weights) or _ALL)
    parts: Columns = {}
    for name, column in standardised(columns).items():
        weight = weights[name]
        if name in STANDARDISED:
            weight = weight * scale
        parts[name] = weight * column
    total = np.sum(list(parts.values()), axis=0)
    return total, parts


def standardised(columns: Mapping[str, Scores]) -> Columns:
    """Return the signals as `blend` weighs them."""
    changed: Columns = {}
    for name in STANDARDISED:
        if name in columns:
            column = _filled(columns[name], columns["words"])
            changed[name] = _standardised(name, column)
    if "length" in columns:
        lengths = columns["length"]
        above = lengths - lengths.mean()
        deviation = float(above.std())
        changed["length"] = above / max(deviation, 1e-9)
    return {**columns, **changed}


def shown(total: Scores) -> Scores:
    """Return sums as scores in 0..1: 0 for what stands out in nothing.

    >>> shown(np.array([-1.0, 2.5, 7.5])).tolist()
    [0.0, 0.5, 0.75]
    """
    above = np.maximum(total, 0.0)
    return np.asarray(above / (above + _HALFWAY))


def _standardised(name: str, column: Scores) -> Scores:
    """Return a signal in standard deviations from its mean.

    Both are over the candidates and the imagined texts.
    """
    mean = 0.0
    deviation = 0.0
    if name in VECTOR_SIGNALS:
        mean, deviation = _UNRELATED
    size = len(column) + _IMAGINED
    imagined_sum = _IMAGINED * mean
    centre = (column.sum() + imagined_sum) / size
    from_centre = column - centre
    squares = (from_centre**2).sum()
    imagined_square = (mean - centre) ** 2 + deviation**2
    variance = (squares + _IMAGINED * imagined_square) / size
    if variance > 0:
        return np.asarray(from_centre / np.sqrt(variance))
    return np.asarray(column * 0.0)


def _filled(column: Scores, words: Scores) -> Scores:
    """Return the column with each NaN replaced.

    In its place stands what a line through the other values says for the words' score.
    """
    has_value = ~np.isnan(column)
    if has_value.all():
        return column
    if not has_value.any():
        return np.zeros(len(column))
    words_with_value = words[has_value]
    values = column[has_value]
    mean_words = words_with_value.mean()
    mean_value = values.mean()
    across = words_with_value - mean_words
    up = values - mean_value
    square = across @ across
    slope = 0.0
    if square > 0:
        slope = (across @ up) / square
    on_line = mean_value + slope * (words - mean_words)
    return np.where(has_value, column, on_line)


def likeliest(scores: Scores, allowed: NDArray[np.bool_], limit: int) -> Ids:
    """Return the allowed documents with the highest scores above 0, in no order.

    They are at most `limit`.
    """
    documents = np.flatnonzero((scores > 0) & allowed)
    n_worse = len(documents) - limit
    if n_worse > 0:
        order = np.argpartition(scores[documents], n_worse)
        documents = documents[order[n_worse:]]
    return documents.astype(np.int64)
