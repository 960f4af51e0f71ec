"""Find the test queries that also stand in the training.

A router that has met a query knows its answers, so that such queries flatter it. Two
queries are the same where they differ in case, white space or punctuation alone. They
are nearly the same where they share nine words of ten and every number.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# The Jaccard similarity of the sets of words from which queries are nearly the same.
NEARLY_SAME = 0.9
# Shorter queries are the same or not: a word more makes another query of them.
LEAST_WORDS = 10
_WORD = re.compile(r"\w+")


class RepeatedQueries(NamedTuple):
    """The queries that stand in the training and in the test.

    Attributes:
        training_rows: Their rows in the training.
        test_rows: Their rows in the test.
    """

    training_rows: NDArray[np.int64]
    test_rows: NDArray[np.int64]


def same_text(text: str) -> str:
    r"""Return the form in which two texts are compared.

    Case, white space and punctuation do not count, unless there is nothing else.

    >>> same_text(" Who  is\nshe? ")
    'who is she'
    """
    folded = text.casefold()
    return " ".join(_WORD.findall(folded)) or " ".join(folded.split())


def repeated_queries(training: Sequence[str], test: Sequence[str]) -> RepeatedQueries:
    """Return the rows of queries that stand in both parts, the same or nearly.

    Near duplicates are found by prefix filtering (Chaudhuri, Ganti and Kaushik 2006,
    doi:10.1109/ICDE.2006.9): two sets of words of a similarity share one of their rarest
    words, so that few pairs are compared.

    Args:
        training: The training queries.
        test: The test queries.

    >>> both = repeated_queries(["Who is she?", "And he?"], ["who is she", "Me?"])
    >>> both.training_rows.tolist(), both.test_rows.tolist()
    ([0], [0])
    """
    training_forms = [same_text(text) for text in training]
    test_forms = [same_text(text) for text in test]
    is_repeated_training = np.isin(training_forms, test_forms)
    is_repeated_test = np.isin(test_forms, training_forms)
    training_words = [set(form.split()) for form in training_forms]
    test_words = [set(form.split()) for form in test_forms]
    n_texts = Counter(word for words in training_words for word in words)
    rows_by_word = defaultdict[str, list[int]](list)
    for row, words in enumerate(training_words):
        for word in _rarest(words, n_texts):
            rows_by_word[word].append(row)
    for test_row, words in enumerate(test_words):
        candidates: set[int] = set()
        for word in _rarest(words, n_texts):
            candidates.update(rows_by_word.get(word, ()))
        for row in candidates:
            if _is_nearly_same(words, training_words[row]):
                is_repeated_test[test_row] = True
                is_repeated_training[row] = True
    return RepeatedQueries(
        np.flatnonzero(is_repeated_training), np.flatnonzero(is_repeated_test)
    )


def _rarest(words: set[str], n_texts: Counter[str]) -> list[str]:
    """Return the rarest words, of which near duplicates share one; none of few words."""
    if len(words) < LEAST_WORDS:
        return []
    n_prefix = len(words) - math.ceil(NEARLY_SAME * len(words)) + 1
    by_rarity = sorted(words, key=lambda word: (n_texts[word], word))
    return by_rarity[:n_prefix]


def _is_nearly_same(words: set[str], others: set[str]) -> bool:
    """Return whether two queries share nearly all words, and every number."""
    n_shared = len(words & others)
    if n_shared < NEARLY_SAME * len(words | others):
        return False
    return not any(any(map(str.isdigit, word)) for word in words ^ others)
