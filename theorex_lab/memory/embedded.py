"""Vectors of the texts that are remembered: which have one, which wait for it, and
which are near to a query.
"""

import math
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from functools import cached_property
from typing import cast

import numpy as np

from theorex_lab.core.errors import ModelUnavailable, TheorexError
from theorex_lab.journal.columns import Table
from theorex_lab.memory.contract import Home
from theorex_lab.search.embed import Matrix, OnnxEmbedder
from theorex_lab.search.fuse import Ids, Mask, Scores, best_first
from theorex_lab.search.index import ItemIndex
from theorex_lab.search.vectors import VectorCache, text_key

_EMBEDDED_AT_ONCE = 64
_MIN_SIMILARITY = (
    0.15  # cosine; unrelated texts lie below it with each of the embedders
)
_OFF_LENGTH = 1e-3


class EmbeddedTexts:
    """The documents of a home's index of texts, and the records of the embedder's cache
    that hold their vectors.

    What takes an index is called while its lock is held.
    """

    def __init__(self, home: Home) -> None:
        self.home, self.embedder = home, home.embedder
        self._records = np.zeros(0, np.int64)  # of each document, -1 without one
        self._table: Table | None = None  # whose documents these are,
        self._generation, self._looked_into = (
            0,
            0,
        )  # and what of the cache's file was looked into
        self._asked_last: tuple[str, Matrix] | None = None

    @cached_property
    def cache(self) -> VectorCache:
        """Vectors on disk. Raises ModelUnavailable where an endpoint must be asked for
        its dimensions and is silent.
        """
        return VectorCache(
            self.home.folder / "vectors", self.embedder.id, self.embedder.dimensions
        )

    @property
    def no_vectors(self) -> str:
        """Why the embedder in use makes no vectors of texts; '' where it does.

        Hashed n-grams know spelling, which the words know better.
        """
        lexical = self.embedder.kind == "lexical"
        return (
            "no vectors are made of texts: the embedder in use knows spelling, not meaning"
            if lexical
            else ""
        )

    @property
    def must_load(self) -> bool:
        """Whether a query's vector needs a model that this process has not loaded yet."""
        return isinstance(self.embedder, OnnxEmbedder) and self.embedder.must_load

    def follow(self, index: ItemIndex) -> int:
        """Take over what the index and the cache have got meanwhile; returns how many
        documents have a vector.
        """
        self.cache.refresh()
        # A view that was folded again has other numbers for its documents, another file
        # other ones for its records.
        if (
            self._table is not index.documents
            or self._generation != self.cache.generation
        ):
            self._table = index.documents
            self._generation = self.cache.generation
            self._records = np.zeros(0, np.int64)
        first = len(self._records)
        count = len(index.documents)
        if first < count:
            self._records = np.append(self._records, np.full(count - first, -1))
        self._look_up(
            index,
            np.arange(first, count)
            if len(self.cache) == self._looked_into
            else self._queued,
        )
        return int(np.count_nonzero(self._records >= 0))

    def near(self, vector: Matrix, allowed: Mask, wanted: int) -> Ids:
        """The documents among the allowed ones whose vectors are nearest to this one,
        after `follow`.
        """
        documents = np.flatnonzero(allowed & (self._records >= 0))
        documents = documents[
            self.cache.likely(self._records[documents], vector, wanted)
        ]
        held, matrix = self.of(documents)
        scores = np.einsum("ij,j->i", matrix, vector)
        fits = held & (scores >= _MIN_SIMILARITY)
        return best_first(documents[fits], scores[fits], wanted)[0]

    def of(self, documents: Ids) -> tuple[Mask, Matrix]:
        """Which of these documents have a vector, and the vectors, zeros where there is
        none; a damaged one is queued.
        """
        held, matrix = self.cache.read(self._records[documents])
        self._records[documents[~held]] = -1
        return held, matrix

    def likeness(
        self, query: str, items: Sequence[str], *, seconds: float
    ) -> dict[str, float] | None:
        """By id, the cosine of these items' texts to a query, of those that have a
        vector by then; None where there are no vectors.

        What is queued is embedded first, as far as so many seconds reach.
        """
        vector, _ = self.vector_of(query)
        if vector is None or self.embed_some(seconds):
            return None
        with self.home.views.reading(self.home.item_view) as index:
            self.follow(index)
            rows = {
                item: index.rows_of(item)[-1]
                for item in items
                if len(index.rows_of(item))
            }
            held, matrix = self.of(np.array([*rows.values()], np.int64))
            return {
                item: float(row @ vector)
                for item, has, row in zip(rows, held, matrix, strict=True)
                if has
            }

    def mean_of(
        self, index: ItemIndex, documents: Ids, weights: Scores
    ) -> Matrix | None:
        """A vector that stands in for a query's: the mean of those of these texts,
        weighted; None where they have none.

        From Rocchio, "Relevance feedback in information retrieval" (1971), without
        anybody's judgement.
        """
        self.follow(index)
        mean = weights @ self.of(documents)[1]
        length = float(np.linalg.norm(mean))
        return (mean / length).astype(np.float32) if length > 0 else None

    def vector_of(self, query: str) -> tuple[Matrix | None, list[str]]:
        """The query's vector, None where words alone decide, and what there is to say
        of it.
        """
        if self.no_vectors:
            return None, []
        if self._asked_last is None or self._asked_last[0] != query:
            try:
                self._asked_last = query, self._in_time(query)
            except ModelUnavailable as error:
                return None, [f"by words alone: {error}"]
        return self._asked_last[1], []

    def embed_pending(
        self, limit: int | None = None, *, seconds: float = math.inf
    ) -> int:
        """Compute vectors that are still missing, newest first, up to `limit`, and no
        batch begun after so many seconds; returns how many.

        Raises ModelUnavailable where the embedder does not answer, or not with vectors;
        what was computed before is kept.
        """
        end = time.monotonic() + seconds
        done = 0
        wanted = self.coverage()["queued"]
        wanted = wanted if limit is None else min(wanted, limit)
        while done < wanted and time.monotonic() < end:
            with self.home.views.reading(self.home.item_view) as index:
                self.follow(index)
                documents = self._queued[::-1][: min(wanted - done, _EMBEDDED_AT_ONCE)]
                texts = document_texts(self.home, index, documents)
                numbered = index.documents
            if not texts:
                break
            self._keep(documents, texts, self._checked(texts), numbered)
            done += len(documents)
        return done

    def embed_some(self, seconds: float) -> str:
        """`embed_pending` where time is free; returns what went wrong, so that some
        wait on, else ''.
        """
        try:
            self.embed_pending(seconds=seconds)
        except TheorexError as error:
            return str(error)
        return ""

    def told(self) -> str:
        """How many texts have a vector of how many, as `follow` finds them; the
        embedder is asked nothing.
        """
        if self.no_vectors or not getattr(self.embedder, "is_sized", True):
            return (
                self.no_vectors
                or "what has vectors is known once the embedder has told its dimensions"
            )
        with self.home.views.reading(self.home.item_view) as index:
            return f"{self.follow(index)} of {len(index.documents)} texts embedded"

    def coverage(self) -> dict[str, int]:
        """How many texts have a sound vector of the embedder in use, and how many are
        queued for one; see `no_vectors`.
        """
        if self.no_vectors:
            return {"covered": 0, "queued": 0}
        with self.home.views.reading(self.home.item_view) as index:
            self.follow(index)
            covered = np.flatnonzero(self._records >= 0)
            self._records[covered[~self.cache.sound(self._records[covered])]] = -1
            queued = len(self._queued)
            return {"covered": len(self._records) - queued, "queued": queued}

    @property
    def _queued(self) -> Ids:
        return np.flatnonzero(self._records < 0)

    def _look_up(self, index: ItemIndex, documents: Ids) -> None:
        if len(documents):
            self._records[documents] = self.cache.find(index.keys(documents))
        self._looked_into = len(self.cache)

    def _keep(
        self, documents: Ids, texts: Sequence[str], matrix: Matrix, numbered: Table
    ) -> None:
        with self.home.views.reading(self.home.item_view) as index:
            # By the texts: an erasure meanwhile gives the documents other numbers.
            keys = [text_key(text) for text in texts]
            self.cache.add(
                keys, matrix, wanted=lambda: self._remembered(keys, numbered)
            )
            if (
                self._table is index.documents is numbered
                and self._generation == self.cache.generation
            ):
                # What else is queued was not computed meanwhile: only these are looked
                # up.
                self._look_up(index, documents)

    def _remembered(self, keys: list[bytes], numbered: Table) -> Mask:
        """Which of the texts were not erased since they were read from documents
        numbered as in this table.

        Asked while the cache is locked: an erasure that comes later sweeps what is
        added now.
        """
        index = self.home.views.get(self.home.item_view)
        if index.documents is numbered:
            return np.ones(len(keys), bool)
        return index.holds(np.frombuffer(b"".join(keys), np.uint64).reshape(-1, 2))

    def _in_time(self, query: str) -> Matrix:
        """The query's vector; the model of this process is waited for, others not
        beyond the timeout of the settings.
        """
        if isinstance(self.embedder, OnnxEmbedder):
            return cast(Matrix, self._checked([query])[0])
        done: Future[Matrix] = Future()

        def ask() -> None:
            try:
                done.set_result(self._checked([query])[0])
            except BaseException as error:  # noqa: BLE001 - whatever broke in it, words decide
                silent = (
                    error
                    if isinstance(error, ModelUnavailable)
                    else ModelUnavailable(f"{self.embedder.id} failed")
                )
                done.set_exception(silent)

        # A daemon: a process that has its results must not hang at its end for a model
        # that never answers.
        threading.Thread(target=ask, daemon=True).start()
        seconds = self.home.settings.search_timeout_seconds
        try:
            return done.result(seconds)
        except TimeoutError:
            raise ModelUnavailable(
                f"{self.embedder.id} did not answer within {seconds:g} s"
            ) from None

    def _checked(self, texts: Sequence[str]) -> Matrix:
        """Vectors from the embedder. Raises ModelUnavailable where they are not one a
        text, finite, and of length one.
        """
        matrix = np.asarray(self.embedder.embed(texts), np.float32)
        allowed = len(texts), self.cache.dimensions
        if matrix.shape != allowed:
            raise ModelUnavailable(
                f"{self.embedder.id} gave vectors of the shape {matrix.shape}; allowed is {allowed}"
            )
        lengths = np.linalg.norm(matrix, axis=1)
        wrong = np.flatnonzero(
            ~((np.abs(lengths - 1.0) < _OFF_LENGTH) | (lengths == 0.0))
        )
        if len(wrong):
            raise ModelUnavailable(
                f"{self.embedder.id} gave a vector of length {lengths[wrong[0]]}; allowed is 1, 0"
            )
        return matrix


def document_texts(home: Home, index: ItemIndex, documents: Ids) -> list[str]:
    """The texts of these documents, without erased ones; they stay in the journal until
    they are needed.
    """
    seqs: list[int] = index.documents["seq"][documents].tolist()
    events = (
        {event.seq: event for event in home.journal.read(seqs=sorted(set(seqs)))}
        if seqs
        else {}
    )
    pairs = zip(documents.tolist(), seqs, strict=True)
    items = [
        index.item_of(document, events[seq]) for document, seq in pairs if seq in events
    ]
    return [item.text for item in items if item is not None]
