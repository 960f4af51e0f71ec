"""What a memory does in a process: a durable write, the fold, opening a snapshot; search by words, vectors and both."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from importlib import import_module
from itertools import count

import networkx as nx
import numpy as np
from rank_bm25 import BM25Okapi

from theorex_lab.clock import FixedClock
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.experiments.bench import made
from theorex_lab.experiments.bench.computing import graph_of
from theorex_lab.experiments.bench.made import NOW, GivenVectors, lay_home, texts, unit_rows
from theorex_lab.experiments.bench.measure import Ground, Round, alternately, in_turn, row
from theorex_lab.journal.event import encode
from theorex_lab.journal.snapshot import open_snapshots, write_snapshot
from theorex_lab.journal.view import fold_into
from theorex_lab.lab import Lab
from theorex_lab.search.fuse import best_first
from theorex_lab.search.lexical import LexicalIndex, tokenize
from theorex_lab.search.vectors import VectorCache, text_key

_TEXT = "We agreed that TTL invalidation with jitter prevents the cache stampede on the checkout service after deploys."


@row(
    "durable-write", "a durable write in a process, extraction included", "a one-row transaction of SQLite, synced, WAL"
)
def _durable_write(ground: Ground) -> Iterator[Round]:
    numbers = count()
    with (
        closing(sqlite3.connect(ground.folder / "peer.db", isolation_level=None)) as peer,
        Lab(lay_home(ground.folder, ground.rows), clock=FixedClock(NOW)) as lab,
    ):
        peer.execute("PRAGMA journal_mode = WAL")
        peer.execute("PRAGMA synchronous = FULL")
        peer.execute("CREATE TABLE rows (n INTEGER PRIMARY KEY, id TEXT UNIQUE, at INTEGER, text TEXT)")

        def one_row() -> None:
            number = next(numbers)
            peer.execute("BEGIN IMMEDIATE")
            peer.execute("INSERT INTO rows (id, at, text) VALUES (?, ?, ?)", (f"{number:036d}", number, _TEXT))
            peer.execute("COMMIT")

        main = lab.agent("main")
        yield alternately(lambda: main.write(_TEXT), one_row, calls=50)


@row("fold", "the fold of search index and designs from nothing", "the json module on the same events", at_most=8)
def _fold(ground: Ground) -> Iterator[Round]:
    stored = [encode(event.body) for event in made.observations(ground.rows)]
    with Lab(lay_home(ground.folder, ground.rows), clock=FixedClock(NOW)) as lab:
        journal = lab.journal
        views = [lab.home.item_view, *(view for design in lab.home.designs for view in design.views())]
        yield alternately(
            lambda: [fold_into(kind(), journal, journal.last_seq()) for kind in views],
            lambda: [json.loads(text) for text in stored],
        )


@row("snapshot", "opening concepts and links from a snapshot", "JSON into networkx", at_most=0.1, target_from=100_000)
def _snapshot(ground: Ground) -> Iterator[Round]:
    axon = made.axon_of(ground.folder, ground.rows)
    text = json.dumps(nx.node_link_data(graph_of(axon), edges="edges"))
    write_snapshot(ground.folder, axon.columns(), code=Axon.code, seq=1, event_id="one", kinds=Axon.kinds)

    def ours() -> None:
        Axon().load(next(open_snapshots(ground.folder, Axon.code)).columns)

    yield alternately(ours, lambda: nx.node_link_graph(json.loads(text), edges="edges"))


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

    def ours(query: made.Matrix) -> object:
        likely = cache.likely(numbers, query, 10)
        return best_first(likely, cache.read(likely)[1] @ query, 10)

    def theirs(query: made.Matrix) -> object:
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
