"""The rows beside stores that others use: FTS5, an array of numpy, chroma and mem0.

Every peer gets the same texts, the same queries and, where it takes vectors, the same
vectors, all of them different. The model's time is in none of the figures. The stores
are set up as the adapters set them up for a comparison.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from importlib import import_module
from itertools import count
from typing import Any

import numpy as np

from benchmarks.measure import (
    NOW,
    GivenVectors,
    Ground,
    Round,
    alternately,
    in_turn,
    lay_home,
    row,
    texts,
    unit_rows,
)
from theorex_lab.core.clock import FixedClock
from theorex_lab.store.lab import Lab

_N_HITS = 10
_ADDED = "The till of the shop prints the tax on each receipt, note {number}."
_ASKED = "till receipt tax note"


def distinct_vectors(ground: Ground) -> GivenVectors:
    """Return an embedder that gives every text of the ground a vector of its own."""
    embedder = GivenVectors()
    known = texts(ground.rows)
    embedder.known = dict(zip(known, unit_rows(len(known), seed=2), strict=True))
    return embedder


def queries() -> list[str]:
    """Return the fifty queries of three words that every store answers."""
    return texts(50, length=3, seed=5)


@row(
    "words-fts5",
    "a search of a home by words, hits as they are shown",
    "SQLite's FTS5: rank, ten rows",
)
def _fts5(ground: Ground) -> Iterator[Round]:
    home = lay_home(ground.folder, ground.rows)
    with (
        Lab(home, clock=FixedClock(NOW), embedder=None) as lab,
        closing(sqlite3.connect(ground.folder / "fts5.db")) as peer,
    ):
        peer.execute("CREATE VIRTUAL TABLE notes USING fts5(text)")
        rows = [(text,) for text in texts(ground.rows)]
        peer.executemany("INSERT INTO notes VALUES (?)", rows)
        peer.commit()

        def find(query: str) -> list[Any]:
            words = " OR ".join(query.split())
            return peer.execute(
                "SELECT text FROM notes WHERE notes MATCH ? ORDER BY rank LIMIT ?",
                (words, _N_HITS),
            ).fetchall()

        asked = queries()
        yield alternately(in_turn(lab.search, asked), in_turn(find, asked), calls=20)


@row(
    "search-numpy",
    "a search of a home by words and vectors",
    "ten lines of numpy: one product with all vectors, the ten best",
)
def _numpy(ground: Ground) -> Iterator[Round]:
    embedder = distinct_vectors(ground)
    home = lay_home(ground.folder, ground.rows, embedder)
    kept = texts(ground.rows)
    matrix = embedder.embed(kept)

    def find(query: str) -> list[str]:
        scores = matrix @ embedder.embed([query])[0]
        best = np.argpartition(scores, -_N_HITS)[-_N_HITS:]
        return [kept[number] for number in best[np.argsort(-scores[best])]]

    with Lab(home, clock=FixedClock(NOW), embedder=embedder) as lab:
        asked = queries()
        yield alternately(in_turn(lab.search, asked), in_turn(find, asked), calls=20)


def filled(store: Any, ground: Ground) -> Any:
    """Return an adapter's store that holds the texts of the ground."""
    kept = texts(ground.rows)
    store.add(kept, [NOW] * len(kept))
    return store


@row(
    "search-chroma",
    "a search of a home by words and vectors",
    "chroma: a query by vector alone",
    at_most=1.3,
    needs=("chromadb",),
)
def _chroma(ground: Ground) -> Iterator[Round]:
    chroma = import_module("theorex_lab.eval.adapters.chroma").Chroma
    embedder = distinct_vectors(ground)
    yield from _beside(ground, embedder, chroma(embedder), calls=20)


@row(
    "add-and-find-chroma",
    "a text written and found by words and vectors",
    "chroma: a text added and found by its vector",
    at_most=0.7,
    needs=("chromadb",),
)
def _chroma_add(ground: Ground) -> Iterator[Round]:
    chroma = import_module("theorex_lab.eval.adapters.chroma").Chroma
    embedder = distinct_vectors(ground)
    home = lay_home(ground.folder, ground.rows, embedder)
    with (
        Lab(home, clock=FixedClock(NOW), embedder=embedder) as lab,
        closing(filled(chroma(embedder), ground)) as store,
    ):
        ours = count()
        theirs = count()

        def write() -> None:
            lab.agent("main").write(_ADDED.format(number=next(ours)))
            lab.search(_ASKED)

        def add() -> None:
            store.add([_ADDED.format(number=next(theirs))], [NOW])
            store.find(_ASKED, _N_HITS)

        yield alternately(write, add, calls=5)


@row(
    "search-mem0",
    "a search of a home by words and vectors",
    "mem0 with its store on disk (qdrant), no model: a search",
    needs=("mem0",),
)
def _mem0(ground: Ground) -> Iterator[Round]:
    mem0 = import_module("theorex_lab.eval.adapters.mem0_memory").Mem0
    embedder = distinct_vectors(ground)
    yield from _beside(ground, embedder, mem0(embedder), calls=5)


def _beside(
    ground: Ground, embedder: GivenVectors, store: Any, *, calls: int
) -> Iterator[Round]:
    """Measure the search of a home beside that of a store with the same texts."""
    home = lay_home(ground.folder, ground.rows, embedder)
    with (
        Lab(home, clock=FixedClock(NOW), embedder=embedder) as lab,
        closing(filled(store, ground)),
    ):

        def find(query: str) -> Any:
            return store.find(query, _N_HITS)

        asked = queries()
        yield alternately(in_turn(lab.search, asked), in_turn(find, asked), calls=calls)
