"""The rows beside stores that others use: FTS5, an array of numpy, chroma and mem0.

Every peer gets the same texts, the same queries and, where it takes vectors, the same
vectors, all of them different. The model's time is in none of the figures.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import (
    DIMENSIONS,
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
# Texts that chroma takes in one call.
_AT_ONCE = 5_000
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


@contextmanager
def chroma_of(
    folder: Path, kept: Sequence[str], embedder: GivenVectors
) -> Iterator[Any]:
    """Give a collection of chroma on disk that holds texts with their vectors."""
    settings = import_module("chromadb.config").Settings(anonymized_telemetry=False)
    client = import_module("chromadb").PersistentClient(str(folder), settings=settings)
    notes = client.create_collection("notes", metadata={"hnsw:space": "cosine"})
    for start in range(0, len(kept), _AT_ONCE):
        part = list(kept[start : start + _AT_ONCE])
        ids = [str(start + number) for number in range(len(part))]
        notes.add(ids=ids, documents=part, embeddings=embedder.embed(part))
    yield notes


@row(
    "search-chroma",
    "a search of a home by words and vectors",
    "chroma: a query by vector alone",
    at_most=1.3,
    needs=("chromadb",),
)
def _chroma(ground: Ground) -> Iterator[Round]:
    embedder = distinct_vectors(ground)
    home = lay_home(ground.folder, ground.rows, embedder)
    folder = ground.folder / "chroma"
    with (
        Lab(home, clock=FixedClock(NOW), embedder=embedder) as lab,
        chroma_of(folder, texts(ground.rows), embedder) as notes,
    ):

        def find(query: str) -> Any:
            vectors = embedder.embed([query])
            return notes.query(query_embeddings=vectors, n_results=_N_HITS)

        asked = queries()
        yield alternately(in_turn(lab.search, asked), in_turn(find, asked), calls=20)


@row(
    "add-and-find-chroma",
    "a text written and found by words and vectors",
    "chroma: a text added and found by its vector",
    at_most=0.7,
    needs=("chromadb",),
)
def _chroma_add(ground: Ground) -> Iterator[Round]:
    embedder = distinct_vectors(ground)
    home = lay_home(ground.folder, ground.rows, embedder)
    folder = ground.folder / "chroma"
    with (
        Lab(home, clock=FixedClock(NOW), embedder=embedder) as lab,
        chroma_of(folder, texts(ground.rows), embedder) as notes,
    ):
        ours = count()
        theirs = count()

        def write() -> None:
            lab.agent("main").write(_ADDED.format(number=next(ours)))
            lab.search(_ASKED)

        def add() -> None:
            number = next(theirs)
            text = _ADDED.format(number=number)
            vectors = embedder.embed([text])
            notes.add(ids=[f"added-{number}"], documents=[text], embeddings=vectors)
            query = embedder.embed([_ASKED])
            notes.query(query_embeddings=query, n_results=_N_HITS)

        yield alternately(write, add, calls=5)


@contextmanager
def mem0_of(folder: Path, kept: Sequence[str], embedder: GivenVectors) -> Iterator[Any]:
    """Give mem0's memory on disk, its texts taken as they are and asked of no model."""
    os.environ["MEM0_TELEMETRY"] = "False"
    os.environ["MEM0_DIR"] = str(folder / "settings")
    store = {
        "collection_name": "notes",
        "path": str(folder / "vectors"),
        "embedding_model_dims": DIMENSIONS,
        "on_disk": True,
    }
    given = {
        "vector_store": {"provider": "qdrant", "config": store},
        "history_db_path": str(folder / "history.db"),
        # Neither is asked: the vectors are given, and nothing is inferred.
        "llm": {"provider": "openai", "config": {"api_key": "none"}},
        "embedder": {"provider": "openai", "config": {"api_key": "none"}},
    }
    memory = import_module("mem0").Memory.from_config(given)

    class Given:
        """The vectors of this ground, in the form that mem0 asks for them.

        It says besides what the vector is for, which changes nothing here.
        """

        config = memory.embedding_model.config

        def embed(self, text: str, *_: object) -> list[float]:
            return list(map(float, embedder.embed([text])[0]))

        def embed_batch(self, texts: Sequence[str], *_: object) -> list[list[float]]:
            return [self.embed(text) for text in texts]

    memory.embedding_model = Given()
    for text in kept:
        memory.add(text, user_id="reader", infer=False)
    yield memory


@row(
    "search-mem0",
    "a search of a home by words and vectors",
    "mem0 with its store on disk (qdrant), no model: a search",
    needs=("mem0",),
)
def _mem0(ground: Ground) -> Iterator[Round]:
    embedder = distinct_vectors(ground)
    home = lay_home(ground.folder, ground.rows, embedder)
    folder = ground.folder / "mem0"
    folder.mkdir()
    with (
        Lab(home, clock=FixedClock(NOW), embedder=embedder) as lab,
        mem0_of(folder, texts(ground.rows), embedder) as memory,
    ):

        def find(query: str) -> Any:
            filters = {"user_id": "reader"}
            return memory.search(query, filters=filters, top_k=_N_HITS)

        asked = queries()
        yield alternately(in_turn(lab.search, asked), in_turn(find, asked), calls=5)
