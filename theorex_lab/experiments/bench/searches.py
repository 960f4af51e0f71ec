"""Search in a process: words, vectors, and both together."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

import numpy as np
from rank_bm25 import BM25Okapi

from theorex_lab.clock import FixedClock
from theorex_lab.experiments.bench.made import DIMENSIONS, NOW, GivenVectors, lay_home, texts, unit_rows
from theorex_lab.experiments.bench.measure import Ground, Round, alternately, in_turn, row
from theorex_lab.lab import Lab
from theorex_lab.search.lexical import LexicalIndex, tokenize
from theorex_lab.search.vectors import VectorIndex, exact_search


def _corpus(ground: Ground) -> tuple[list[list[str]], LexicalIndex, list[list[str]]]:
    """Tokenised documents, an index of them, and tokenised queries."""
    corpus, index = [tokenize(text) for text in texts(ground.rows)], LexicalIndex()
    index.add(corpus)
    return corpus, index, [tokenize(text) for text in texts(50, length=3, seed=5)]


@row("words-rank-bm25", "search by words", "rank_bm25", at_most=0.01, target_from=100_000)
def _rank_bm25(ground: Ground) -> Iterator[Round]:
    corpus, index, queries = _corpus(ground)
    peer = BM25Okapi(corpus, epsilon=0.0)

    def ten_best(tokens: list[str]) -> object:
        return np.argpartition(peer.get_scores(tokens), -10)[-10:]

    yield alternately(in_turn(index.search, queries), in_turn(ten_best, queries), calls=5)


@row("words-bm25s", "search by words", "bm25s with numba", at_most=4, needs=("bm25s", "numba"))
def _bm25s(ground: Ground) -> Iterator[Round]:
    corpus, index, queries = _corpus(ground)
    peer = import_module("bm25s").BM25(backend="numba")
    peer.index(corpus, show_progress=False)

    def ten_best(tokens: list[str]) -> object:
        return peer.retrieve([tokens], k=10, show_progress=False, n_threads=1)

    yield alternately(in_turn(index.search, queries), in_turn(ten_best, queries), calls=50)


@row("vectors", f"exact search by vectors of {DIMENSIONS}", "matmul and argpartition", at_most=1.3)
def _exact(ground: Ground) -> Iterator[Round]:
    matrix, query = unit_rows(ground.rows), unit_rows(1, seed=1)[0]

    def bare() -> object:
        scores = matrix @ query
        return np.argpartition(scores, -10)[-10:]

    yield alternately(lambda: exact_search(matrix, query), bare, calls=max(1, 500_000 // ground.rows))


@row("hybrid", "search by words and vectors", "its two parts", at_most=1.3)
def _hybrid(ground: Ground) -> Iterator[Round]:
    """The parts are given the same mask of what is awake, and find as many."""
    embedder = GivenVectors()
    home, questions = lay_home(ground.folder, ground.rows, embedder), texts(50, length=3, seed=5)
    with Lab(home, clock=FixedClock(NOW), embedder=embedder) as lab:
        searcher, vectors = lab.searcher, VectorIndex(DIMENSIONS)
        searcher.coverage()
        index = lab.views.get(lab.home.item_view)
        assert searcher._vectors is not None
        vectors.add(searcher._vectors.matrix)  # as they lie in the search itself
        vector, allowed = unit_rows(1, seed=1)[0], index.allowed() & searcher._awake(index)

        def parts(question: str) -> object:
            return index.lexical.search(tokenize(question), allowed, 200), vectors.search(vector, allowed, 200)

        yield alternately(in_turn(searcher.search, questions), in_turn(parts, questions), calls=20)
