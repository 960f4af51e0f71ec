"""Search in a process: words, vectors, and both together."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

import numpy as np
from rank_bm25 import BM25Okapi

from theorex_lab.clock import FixedClock
from theorex_lab.experiments.bench.made import NOW, GivenVectors, Matrix, lay_home, texts, unit_rows
from theorex_lab.experiments.bench.measure import Ground, Round, alternately, in_turn, row
from theorex_lab.lab import Lab
from theorex_lab.search.fuse import best_first
from theorex_lab.search.lexical import LexicalIndex, tokenize
from theorex_lab.search.vectors import VectorCache, text_key


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


@row("nearest", "ten nearest vectors, by signs first", "hnswlib, its graph built", at_most=4)
def _nearest(ground: Ground) -> Iterator[Round]:
    rows, queries = unit_rows(ground.rows), unit_rows(50, seed=1)
    cache = VectorCache(ground.folder, "bench", rows.shape[1])
    cache.add([text_key(str(number)) for number in range(len(rows))], rows)
    cache.refresh()
    numbers = np.arange(len(rows))
    graph = import_module("hnswlib").Index(space="ip", dim=rows.shape[1])
    graph.init_index(len(rows), ef_construction=200, M=16, random_seed=0)
    graph.add_items(rows, num_threads=1)
    graph.set_ef(128)

    def ours(query: Matrix) -> object:
        likely = cache.likely(numbers, query, 10)
        return best_first(likely, cache.read(likely)[1] @ query, 10)

    def theirs(query: Matrix) -> object:
        return graph.knn_query(query[None], k=10, num_threads=1)

    yield alternately(in_turn(ours, [*queries]), in_turn(theirs, [*queries]), calls=50)


@row("hybrid", "search by words and vectors", "BM25 of all, and a product with all vectors")
def _hybrid(ground: Ground) -> Iterator[Round]:
    """The parts: BM25 of every text, and the products of the query's vector and all others, as they lie in one array."""
    embedder = GivenVectors()
    home, questions = lay_home(ground.folder, ground.rows, embedder), texts(50, length=3, seed=5)
    vector, matrix = unit_rows(1, seed=1)[0], embedder.embed(texts(ground.rows))
    with Lab(home, clock=FixedClock(NOW), embedder=embedder) as lab:
        index = lab.views.get(lab.home.item_view)

        def parts(question: str) -> object:
            scores = matrix @ vector
            return index.lexical.search(tokenize(question), limit=100), best_first(np.arange(len(scores)), scores, 100)

        yield alternately(in_turn(lab.search, questions), in_turn(parts, questions), calls=20)
