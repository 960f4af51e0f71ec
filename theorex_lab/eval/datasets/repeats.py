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
_HAS_DIGIT = re.compile(r"\d")


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
    words = _WORD.findall(folded)
    if not words:
        words = folded.split()
    return " ".join(words)


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
    training_forms = _forms_of(training)
    test_forms = _forms_of(test)
    training_rows = set(_rows_among(training_forms, test_forms))
    test_rows = set(_rows_among(test_forms, training_forms))
    index = _WordIndex(training_forms)
    for test_row, form in enumerate(test_forms):
        near_rows = index.nearly_same(form)
        if near_rows:
            test_rows.add(test_row)
            training_rows.update(near_rows)
    return RepeatedQueries(
        np.array(sorted(training_rows), np.int64),
        np.array(sorted(test_rows), np.int64),
    )


def _forms_of(texts: Sequence[str]) -> list[str]:
    """Return the form in which each text is compared."""
    forms = []
    for text in texts:
        form = same_text(text)
        forms.append(form)
    return forms


def _rows_among(forms: Sequence[str], others: Sequence[str]) -> list[int]:
    """Return the rows of the texts that stand among others."""
    other_forms = set(others)
    rows = []
    for row, form in enumerate(forms):
        if form in other_forms:
            rows.append(row)
    return rows


class _WordIndex:
    """Texts by their rarest words.

    Args:
        forms: The texts, as `same_text` gives them.
    """

    def __init__(self, forms: Sequence[str]) -> None:
        self._words: list[set[str]] = []
        self._n_texts = Counter[str]()
        for form in forms:
            words = set(form.split())
            self._words.append(words)
            self._n_texts.update(words)
        self._rows = defaultdict[str, list[int]](list)
        for row, words in enumerate(self._words):
            for word in self._rarest(words):
                rows = self._rows[word]
                rows.append(row)

    def nearly_same(self, form: str) -> set[int]:
        """Return the rows of the texts that are nearly the same as this one."""
        words = set(form.split())
        candidates: set[int] = set()
        for word in self._rarest(words):
            rows = self._rows.get(word, ())
            candidates.update(rows)
        near_rows = set()
        for row in candidates:
            row_words = self._words[row]
            if _is_nearly_same(words, row_words):
                near_rows.add(row)
        return near_rows

    def _rarest(self, words: set[str]) -> list[str]:
        """Return the rarest words, of which near duplicates share one.

        There are none of few words.
        """
        if len(words) < LEAST_WORDS:
            return []
        least_shared = math.ceil(NEARLY_SAME * len(words))
        n_prefix = len(words) - least_shared + 1
        by_name = sorted(words)
        by_rarity = sorted(
            by_name,
            key=self._n_texts.__getitem__,
        )
        return by_rarity[:n_prefix]


def _is_nearly_same(words: set[str], others: set[str]) -> bool:
    """Return whether two queries share nearly all words, and every number."""
    n_shared = len(words & others)
    n_all = len(words | others)
    if n_shared < NEARLY_SAME * n_all:
        return False
    other_words = words ^ others
    return not any(map(_HAS_DIGIT.search, other_words))
