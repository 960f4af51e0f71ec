"""Okapi BM25 by the library rank_bm25."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from theorex_lab.eval.adapters.stored_texts import StoredTexts
from theorex_lab.search.lexical import tokenize


class RankBm25(StoredTexts):
    """Gives the texts with the highest score of `rank_bm25.BM25Okapi`.

    Words are those of our search, so that the ranking is all that differs. `epsilon` is
    0: a word of more than half of the texts counts nothing rather than something.
    """

    def __init__(self) -> None:
        super().__init__()
        self._texts: list[str] = []
        self._words: list[list[str]] = []
        # Made again at the first query after new texts.
        self._index: Any = None

    def add(self, texts: Sequence[str], at: Sequence[int]) -> None:
        """Keep them with their words."""
        self._index = None
        self._texts += texts
        for text in texts:
            words = tokenize(text)
            self._words.append(words)

    def find(self, query: str, limit: int) -> Sequence[str]:
        """Score all, and give those above 0."""
        from rank_bm25 import BM25Okapi

        if self._index is None:
            self._index = BM25Okapi(self._words, epsilon=0.0)
        words = tokenize(query)
        scores = np.asarray(self._index.get_scores(words))
        best_first = np.argsort(-scores, kind="stable")
        hits = list[str]()
        for row in best_first[:limit]:
            if scores[row] > 0:
                hits.append(self._texts[row])
        return hits
