"""Search beside its peers: words beside rank_bm25 and bm25s, vectors beside bare numpy, both together beside each alone."""

from __future__ import annotations

import itertools
import time
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from conftest import HomeOf
from corpus import NOW, texts, unit_rows
from measure import compare, note
from numpy.typing import NDArray
from pytest_benchmark.fixture import BenchmarkFixture

from theorex_lab import FixedClock, Lab
from theorex_lab.search.lexical import LexicalIndex, tokenize
from theorex_lab.search.vectors import VectorIndex, exact_search

DOCUMENTS = 100_000
DIMENSIONS = 384
Tokens = list[list[str]]


@pytest.fixture(scope="module")
def corpus() -> Tokens:
    """A hundred thousand tokenised documents, which all the indexes share."""
    return [tokenize(text) for text in texts(DOCUMENTS)]


@pytest.fixture(scope="module")
def queries() -> Tokens:
    return [tokenize(text) for text in texts(50, length=3, seed=5)]


@pytest.fixture(scope="module")
def lexical(corpus: Tokens) -> LexicalIndex:
    index = LexicalIndex()
    index.add(corpus)
    return index


def _in_turn(call: Callable[[Any], object], things: list[Any]) -> Callable[[], object]:
    turns: Iterator[Any] = itertools.cycle(things)
    return lambda: call(next(turns))


def test_words_beside_rank_bm25(
    benchmark: BenchmarkFixture, corpus: Tokens, lexical: LexicalIndex, queries: Tokens
) -> None:
    from rank_bm25 import BM25Okapi

    peer = BM25Okapi(corpus, epsilon=0.0)

    def ten_best(tokens: list[str]) -> object:
        return np.argpartition(peer.get_scores(tokens), -10)[-10:]

    np.testing.assert_allclose(
        np.sort(lexical.search(queries[0], limit=10)[1])[::-1], np.sort(peer.get_scores(queries[0]))[::-1][:10]
    )
    compare(
        benchmark,
        "lexical search, 100,000 documents",
        _in_turn(lexical.search, queries),
        _in_turn(ten_best, queries),
        peer_name="rank_bm25",
        at_least=100,
        calls=5,
    )


def test_words_beside_bm25s(
    benchmark: BenchmarkFixture, corpus: Tokens, lexical: LexicalIndex, queries: Tokens
) -> None:
    import bm25s

    peer = bm25s.BM25(backend="numba")
    peer.index(corpus, show_progress=False)
    compare(
        benchmark,
        "lexical search, 100,000 documents",
        _in_turn(lexical.search, queries),
        _in_turn(lambda tokens: peer.retrieve([tokens], k=10, show_progress=False, n_threads=1), queries),
        peer_name="bm25s with numba",
        at_most=4,
        calls=50,
    )


def test_adding_a_document(benchmark: BenchmarkFixture, corpus: Tokens) -> None:
    """The mean over a thousand additions, merges of segments included."""
    from rank_bm25 import BM25Okapi

    def timed(call: Callable[[], object]) -> float:
        start = time.process_time()
        call()
        return time.process_time() - start

    ratios = []

    def one_round() -> None:
        index = LexicalIndex()
        index.add(corpus)
        rebuild = timed(lambda: BM25Okapi(corpus))
        ours = timed(lambda: [index.add([document]) for document in corpus[:1_000]]) / 1_000
        ratios.append(rebuild / ours)

    benchmark.pedantic(one_round, rounds=5)
    note(benchmark, "adding one document to 100,000", "rank_bm25's rebuild", ratios, at_least=1_000)


@pytest.mark.parametrize("rows", [10_000, 100_000])
def test_exact_vectors(benchmark: BenchmarkFixture, rows: int) -> None:
    matrix, query = unit_rows(rows, DIMENSIONS), unit_rows(1, DIMENSIONS, seed=1)[0]

    def bare() -> NDArray[Any]:
        scores = matrix @ query
        return np.argpartition(scores, -10)[-10:]

    assert set(exact_search(matrix, query)[0].tolist()) == set(bare().tolist())
    compare(
        benchmark,
        f"exact vector search, {rows:,} × {DIMENSIONS}",
        lambda: exact_search(matrix, query),
        bare,
        peer_name="matmul + argpartition",
        at_most=1.3,
        rounds=11,
        calls=500_000 // rows,
    )


@pytest.mark.slow
def test_approximate_vectors(benchmark: BenchmarkFixture) -> None:
    """With 64 dimensions, since building the graph takes most of a minute even so."""
    matrix, questions = unit_rows(100_000, 64), unit_rows(300, 64, seed=1)
    index = VectorIndex(64, approximate=True, payback_queries=0)
    index.add(matrix)
    while index.backend != "hnswlib":
        index.search(questions[0])
    nearest = [set(exact_search(matrix, question)[0].tolist()) for question in questions]
    recall: list[float] = []

    def one_round() -> None:
        part = slice(60 * len(recall), 60 * (len(recall) + 1))
        found = [set(index.search(question)[0].tolist()) for question in questions[part]]
        recall.append(float(np.mean([len(one & other) / 10 for one, other in zip(found, nearest[part], strict=True)])))

    benchmark.pedantic(one_round, rounds=5)
    assert index.backend == "hnswlib"
    note(benchmark, "hnswlib, 100,000 × 64: recall@10", "exact search", recall, at_least=0.97)


class GivenVectors:
    """An embedder that has its vectors ready: the query's is given, those of texts are drawn by their checksum."""

    kind = "semantic"
    id = "given"
    dimensions = DIMENSIONS

    def __init__(self) -> None:
        self.query = unit_rows(1, DIMENSIONS, seed=1)
        self._drawn = unit_rows(4_096, DIMENSIONS)

    def embed(self, texts: list[str]) -> NDArray[np.float32]:
        """The query's vector for a single text, else one of the drawn ones for each."""
        if len(texts) == 1:
            return self.query
        return self._drawn[[zlib.crc32(text.encode()) % len(self._drawn) for text in texts]]


@pytest.mark.parametrize("documents", [10_000, 100_000])
def test_hybrid_search(benchmark: BenchmarkFixture, home_of: HomeOf, queries: Tokens, documents: int) -> None:
    """Every document has a vector; the parts are given the same mask of what is awake, and find as many."""
    lab = Lab(home_of(documents), clock=FixedClock(NOW), embedder=GivenVectors())
    lab.theorex.scan()
    lab.searcher.embed_pending()
    index, searcher = lab.views.get(lab.home.item_view), lab.searcher
    vectors = VectorIndex(DIMENSIONS)
    searcher.coverage()
    vectors.add(searcher._vectors.matrix)  # as they lie in the search itself
    vector = lab.chosen_embedder[0].embed(["a query"])[0]
    allowed = index.allowed() & searcher._awake(index)
    questions = [" ".join(tokens) for tokens in queries]

    def parts(question: str) -> object:
        return index.lexical.search(tokenize(question), allowed, 200), vectors.search(vector, allowed, 200)

    compare(
        benchmark,
        f"hybrid search, {documents:,} observations ({len(index.documents):,} documents)",
        _in_turn(lambda question: searcher.search(question), questions),
        _in_turn(parts, questions),
        peer_name="its two parts",
        at_most=1.3,
        rounds=9,
        calls=20,
    )
    lab.close()
