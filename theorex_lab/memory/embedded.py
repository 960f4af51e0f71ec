"""Vectors of the texts that are remembered.

This says which texts have one, which wait for it, and which are near to a query.
"""

import math
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import cached_property
from typing import cast

import numpy as np

from theorex_lab.core.errors import ModelUnavailable, TheorexError
from theorex_lab.core.progress import bar
from theorex_lab.journal.columns import Table
from theorex_lab.journal.event import Event
from theorex_lab.memory.contract import Home
from theorex_lab.search.embed import Matrix, OnnxEmbedder
from theorex_lab.search.fuse import Ids, Mask, Scores, best_first
from theorex_lab.search.index import ItemIndex
from theorex_lab.search.vectors import VectorCache, text_key

_EMBEDDED_AT_ONCE = 64
# So many texts without a vector are embedded by the search that misses them: a small
# model takes about 5 ms for each.
_FEW_TEXTS = 128
# Of the best texts by words, so many get a vector by the search that has them: see
# ADR 050 for what more of them would add.
CANDIDATES_EMBEDDED = 64
# So many of the texts whose vectors are made on demand get one in each maintenance, the
# newest first: a small model takes about five seconds for them.
_ON_DEMAND_AT_ONCE = 500
# A maintenance lets a model go that it loaded for so many texts or more. To load it again
# takes as long as about thirty.
_MANY_TEXTS = 200
# Cosine; unrelated texts lie below it with each of the embedders.
_MIN_SIMILARITY = 0.15
_OFF_LENGTH = 1e-3


class EmbeddedTexts:
    """The documents of a home's index of texts, and the records of their vectors.

    The records are those of the embedder's cache.

    What takes an index is called while its lock is held.
    """

    def __init__(self, home: Home) -> None:
        self.home = home
        self.embedder = home.embedder
        # By document, the record of its vector, -1 without one.
        self._records = np.zeros(0, np.int64)
        # The documents without a vector; None where a record changed since.
        self._lacking: Ids | None = None
        # By document, whether its vector is made on demand.
        self._on_demand = np.zeros(0, np.bool_)
        # Whose documents these are, and what of the cache's file was looked into.
        self._table: Table | None = None
        self._generation = 0
        self._looked_into = 0
        self._last_query: tuple[str, Matrix] | None = None

    @cached_property
    def cache(self) -> VectorCache:
        """Vectors on disk.

        Raises:
            ModelUnavailable: An endpoint must be asked for its dimensions and is
                silent.
        """
        folder = self.home.folder / "vectors"
        return VectorCache(folder, self.embedder.id, self.embedder.dimensions)

    @property
    def no_vectors(self) -> str:
        """Why the embedder in use makes no vectors of texts; '' where it does.

        Hashed n-grams know spelling, which the words know better.
        """
        if self.embedder.kind != "lexical":
            return ""
        return (
            "no vectors are made of texts: the embedder in use knows spelling, not"
            " meaning"
        )

    @property
    def must_load(self) -> bool:
        """Whether a query's vector needs a model that is not loaded yet."""
        if isinstance(self.embedder, OnnxEmbedder):
            return self.embedder.must_load
        return False

    def follow(self, index: ItemIndex) -> None:
        """Bring the records up to date with the index and the cache."""
        self.cache.refresh()
        # A view that was built again has other numbers for its documents, another file
        # other ones for its records.
        if not self._is_of(index.documents):
            self._table = index.documents
            self._generation = self.cache.generation
            self._records = np.zeros(0, np.int64)
            self._on_demand = np.zeros(0, np.bool_)
            self._lacking = None
        first = len(self._records)
        count = len(index.documents)
        has_new_records = len(self.cache) != self._looked_into
        if first == count and not has_new_records:
            return
        new_documents = np.arange(first, count)
        new_records = np.full_like(
            new_documents,
            -1,
        )
        self._records = np.append(
            self._records,
            new_records,
        )
        self._on_demand = np.append(
            self._on_demand,
            index.on_demand(new_documents),
        )
        self._lacking = None
        wanted = new_documents
        if has_new_records:
            wanted = self._documents_lacking()
        self._look_up(index, wanted)

    def _is_of(self, documents: Table) -> bool:
        """Return whether the records are of these documents and of the cache's file."""
        if self._table is not documents:
            return False
        return self._generation == self.cache.generation

    def near(self, vector: Matrix, allowed: Mask, limit: int) -> Ids:
        """Return the allowed documents whose vectors are nearest to this one.

        To be called after `follow`.
        """
        has_record = self._records >= 0
        documents = np.flatnonzero(allowed & has_record)
        records = self._records[documents]
        likely = self.cache.likely(
            records,
            vector,
            limit,
        )
        documents = documents[likely]
        has_vector, matrix = self.of(documents)
        scores = np.einsum("ij,j->i", matrix, vector)
        fits = has_vector & (scores >= _MIN_SIMILARITY)
        nearest, _ = best_first(documents[fits], scores[fits], limit)
        return nearest

    def of(self, documents: Ids) -> tuple[Mask, Matrix]:
        """Return which of these documents have a vector, and the vectors.

        The vector is zeros where there is none; a damaged one is queued.
        """
        records = self._records[documents]
        has_vector, matrix = self.cache.read(records)
        has_record = records >= 0
        is_damaged = has_record & ~has_vector
        if is_damaged.any():
            damaged = documents[is_damaged]
            self._put(damaged, -1)
        return has_vector, matrix

    def likeness(
        self, query: str, items: Sequence[str], *, seconds: float
    ) -> dict[str, float] | None:
        """Return by id the cosine of these items' texts to a query.

        They are those that have a vector by then; None where there are no vectors.

        What is queued is embedded first, as far as so many seconds reach.
        """
        vector, _ = self.vector_of(query)
        if vector is None or self.embed_some(seconds):
            return None
        with self.home.views.reading(self.home.item_view) as index:
            self.follow(index)
            newest: dict[str, int] = {}
            for item in items:
                documents = index.rows_of(item)
                if len(documents):
                    newest[item] = documents[-1]
            newest_documents = np.array([*newest.values()], np.int64)
            has_vector, matrix = self.of(newest_documents)
            cosines: dict[str, float] = {}
            for number, item in enumerate(newest):
                if has_vector[number]:
                    cosine = matrix[number] @ vector
                    cosines[item] = float(cosine)
            return cosines

    def mean_of(
        self, index: ItemIndex, documents: Ids, weights: Scores
    ) -> Matrix | None:
        """Return a vector that stands in for a query's; None where there is none.

        It is the weighted mean of those of these texts, which may have none.

        From Rocchio, "Relevance feedback in information retrieval" (1971), without
        anybody's judgement.
        """
        self.follow(index)
        _, matrix = self.of(documents)
        mean = weights @ matrix
        length = float(np.linalg.norm(mean))
        if length > 0:
            return (mean / length).astype(np.float32)
        return None

    def vector_of(self, query: str) -> tuple[Matrix | None, list[str]]:
        """Return the query's vector, and what there is to say of it.

        The vector is None where words alone decide.
        """
        if self.no_vectors:
            return None, []
        if self._last_query is not None:
            last_query, vector = self._last_query
            if last_query == query:
                return vector, []
        try:
            vector = self._in_time(query)
        except ModelUnavailable as error:
            return None, [f"by words alone: {error}"]
        self._last_query = (query, vector)
        return vector, []

    def embed_pending(
        self,
        limit: int | None = None,
        *,
        seconds: float = math.inf,
        n_on_demand: int | None = 0,
    ) -> int:
        """Compute vectors that are still missing, newest first; return how many.

        Where no time is set, the graph of very many vectors is brought up to date too.

        Args:
            limit: How many at most; None for all.
            seconds: No batch begins after so many.
            n_on_demand: How many at most, after those that wait, of the texts whose
                vectors are made on demand; None for all.

        Raises:
            ModelUnavailable: The embedder does not answer, or not with vectors; what
                was computed before is kept.
        """
        end = time.monotonic() + seconds
        n_done = 0
        n_pending = self._n_pending(n_on_demand)
        if limit is not None:
            n_pending = min(n_pending, limit)
        progress = None if n_pending > _FEW_TEXTS else False
        progress_bar = bar(
            n_pending,
            unit="texts",
            what="vectors",
            progress=progress,
        )
        with closing(progress_bar):
            while n_done < n_pending and time.monotonic() < end:
                n_batch = min(n_pending - n_done, _EMBEDDED_AT_ONCE)
                n_embedded = self._embed_batch(n_batch)
                if not n_embedded:
                    break
                n_done += n_embedded
                progress_bar.update(n_embedded)
        has_time = math.isinf(seconds)
        if has_time and not self.no_vectors:
            self.cache.update_graph()
        return n_done

    def _n_pending(self, n_on_demand: int | None) -> int:
        """Return how many texts `embed_pending` has to embed.

        Args:
            n_on_demand: As there.
        """
        if self.no_vectors:
            return 0
        with self.home.views.reading(self.home.item_view) as index:
            self.follow(index)
            self._queue_damaged()
            n_queued = len(self._queued)
            on_demand = self._without_vector(on_demand=True)
            first = on_demand[:n_on_demand]
            return n_queued + len(first)

    def embed_maintained(self) -> int:
        """Compute what a maintenance computes; return how many vectors those were.

        These are all that wait, and some of those that are made on demand. A model that
        was loaded for many of them is let go, since the steps that follow need room.

        Raises:
            ModelUnavailable: As `embed_pending`.
        """
        was_in_memory = self._model_in_memory() is not None
        n_embedded = self.embed_pending(n_on_demand=_ON_DEMAND_AT_ONCE)
        model = self._model_in_memory()
        if model is not None and not was_in_memory and n_embedded >= _MANY_TEXTS:
            model.let_go()
        return n_embedded

    def _model_in_memory(self) -> OnnxEmbedder | None:
        """Return the embedder whose model this process holds; None for another."""
        embedder = self.embedder
        if isinstance(embedder, OnnxEmbedder) and embedder.is_in_memory:
            return embedder
        return None

    def embed_for_search(self, seconds: float, best: Callable[[ItemIndex], Ids]) -> str:
        """Compute the vectors that a search misses.

        They are those that wait, unless they are more than a search should wait for,
        and those that are made on demand of the best texts.

        Args:
            seconds: No batch of those that wait begins after so many.
            best: Returns the best documents of an index, which is locked meanwhile. It
                is not asked where no vector is missing that is made on demand.

        Returns:
            What went wrong, so that some wait on, else ''.
        """
        with self.home.views.reading(self.home.item_view) as index:
            self.follow(index)
            if not len(self._documents_lacking()):
                return ""
            upto = index.seq
            n_queued = len(self._queued)
            if n_queued > _FEW_TEXTS:
                n_queued = 0
            if n_queued:
                self._queue_damaged()
                n_queued = len(self._queued)
        try:
            self._embed_batches(n_queued, seconds, upto=upto)
            self._embed_candidates(best, upto)
        except TheorexError as error:
            return str(error)
        return ""

    def _embed_batches(self, n_texts: int, seconds: float, *, upto: int) -> None:
        """Compute the vectors of so many texts that wait.

        Args:
            n_texts: How many wait.
            seconds: No batch begins after so many.
            upto: Events up to this seq at least are looked at.
        """
        end = time.monotonic() + seconds
        while n_texts > 0 and time.monotonic() < end:
            n_batch = min(n_texts, _EMBEDDED_AT_ONCE)
            n_embedded = self._embed_batch(n_batch, upto=upto)
            if not n_embedded:
                break
            n_texts -= n_embedded

    def _embed_candidates(self, best: Callable[[ItemIndex], Ids], upto: int) -> None:
        """Compute the vectors that are made on demand of the best texts.

        Args:
            best: As in `embed_for_search`.
            upto: Events up to this seq at least are looked at.
        """

        def lacking(index: ItemIndex) -> Ids:
            missing = self._without_vector(on_demand=True)
            if not len(missing):
                return missing
            documents = best(index)
            documents = documents[:CANDIDATES_EMBEDDED]
            is_missing = np.zeros(len(index.documents), np.bool_)
            is_missing[missing] = True
            return documents[is_missing[documents]]

        self._embed_chosen(lacking, upto=upto)

    def _embed_batch(self, n_texts: int, *, upto: int | None = None) -> int:
        """Compute the vectors of so many texts; return how many.

        Those that wait come first, then those that are made on demand, the newest of
        each first.

        Args:
            n_texts: How many.
            upto: Events up to this seq at least are looked at, None for all.
        """

        def newest(_: ItemIndex) -> Ids:
            waiting = self._queued
            on_demand = self._without_vector(on_demand=True)
            # The newest come last in each.
            newest_last = np.append(on_demand, waiting)
            newest_first = newest_last[::-1]
            return newest_first[:n_texts]

        return self._embed_chosen(newest, upto=upto)

    def _embed_chosen(
        self, choose: Callable[[ItemIndex], Ids], *, upto: int | None = None
    ) -> int:
        """Compute the vectors of chosen documents; return how many those are.

        Args:
            choose: Returns the documents of an index, which is locked meanwhile.
            upto: Events up to this seq at least are looked at, None for all.
        """
        with self.home.views.reading(self.home.item_view, upto=upto) as index:
            self.follow(index)
            documents = choose(index)
            if not len(documents):
                return 0
            # Much is said twice: the vector of a sentence serves all that say it.
            is_on_demand = self._on_demand[documents]
            on_demand = documents[is_on_demand]
            self._look_up(index, on_demand)
            is_lacking = self._records[documents] < 0
            lacking = documents[is_lacking]
            distinct = _distinct(index, lacking)
            texts = document_texts(self.home, index, distinct)
            table = index.documents
        if texts:
            self._keep(lacking, texts, self._checked(texts), table)
        elif len(lacking):
            return 0  # they were erased
        return len(documents)

    def embed_some(self, seconds: float) -> str:
        """Embed what is pending where time is free.

        Returns:
            What went wrong, so that some wait on, else ''.
        """
        try:
            self.embed_pending(seconds=seconds)
        except TheorexError as error:
            return str(error)
        return ""

    def told(self) -> str:
        """Return in words how many of the texts have a vector.

        They are counted as `follow` does; the embedder is asked nothing.
        """
        if self.no_vectors:
            return self.no_vectors
        if not getattr(self.embedder, "is_sized", True):
            return "what has vectors is known once the embedder has told its dimensions"
        with self.home.views.reading(self.home.item_view) as index:
            self.follow(index)
            n_waiting, n_texts = self.n_waiting()
            n_sentences = int(np.count_nonzero(self._on_demand))
            without_vector = self._without_vector(on_demand=True)
        n_embedded = n_texts - n_waiting
        embedded = f"{n_embedded} of {n_texts} texts embedded"
        if not n_sentences:
            return embedded
        n_reached = n_sentences - len(without_vector)
        return (
            f"{embedded}, and {n_reached} of {n_sentences} sentences,"
            " which follow where a search comes near them"
        )

    def coverage(self) -> dict[str, int]:
        """Return how many texts have a sound vector of the embedder in use.

        It returns as well how many are queued for one; see `no_vectors`.
        """
        if self.no_vectors:
            return {"covered": 0, "queued": 0}
        with self.home.views.reading(self.home.item_view) as index:
            self.follow(index)
            self._queue_damaged()
            n_queued = len(self._queued)
            n_covered = len(self._records) - len(self._documents_lacking())
        return {"covered": n_covered, "queued": n_queued}

    def _queue_damaged(self) -> None:
        """Let documents wait for another vector whose own is damaged."""
        if not self.cache.has_damaged():
            return
        covered = np.flatnonzero(self._records >= 0)
        is_sound = self.cache.sound(self._records[covered])
        self._put(covered[~is_sound], -1)

    def n_waiting(self) -> tuple[int, int]:
        """Return how many texts wait for a vector, of how many that get one at once.

        To be called after `follow`.
        """
        n_at_once = int(np.count_nonzero(~self._on_demand))
        return len(self._queued), n_at_once

    @property
    def _queued(self) -> Ids:
        """The documents that wait for a vector, without those that get it on demand."""
        return self._without_vector(on_demand=False)

    def _without_vector(self, *, on_demand: bool) -> Ids:
        """Return the documents without a vector.

        Args:
            on_demand: Whether those whose vectors are made on demand; else the others.
        """
        lacking = self._documents_lacking()
        is_on_demand = self._on_demand[lacking]
        is_asked_for = is_on_demand == on_demand
        return np.asarray(lacking[is_asked_for])

    def _documents_lacking(self) -> Ids:
        """Return all documents without a vector."""
        lacking = self._lacking
        if lacking is None:
            is_missing = self._records < 0
            lacking = np.flatnonzero(is_missing)
            self._lacking = lacking
        return lacking

    def _put(self, documents: Ids, records: Ids | int) -> None:
        """Set the records of documents."""
        self._records[documents] = records
        self._lacking = None

    def _look_up(self, index: ItemIndex, documents: Ids) -> None:
        """Look for the vectors of these documents in the cache."""
        if len(documents):
            keys = index.keys(documents)
            self._put(documents, self.cache.find(keys))
        self._looked_into = len(self.cache)

    def _keep(
        self, documents: Ids, texts: Sequence[str], matrix: Matrix, table: Table
    ) -> None:
        """Add vectors to the cache.

        Args:
            documents: The documents.
            texts: Their texts.
            matrix: Their vectors.
            table: The table that numbers the documents.
        """
        with self.home.views.reading(self.home.item_view) as index:
            # By the texts: an erasure meanwhile gives the documents other numbers.
            keys = [text_key(text) for text in texts]

            def wanted() -> Mask:
                return self._remembered(keys, table)

            self.cache.add(keys, matrix, wanted=wanted)
            if index.documents is table and self._is_of(table):
                # What else is queued was not computed meanwhile: only these are looked
                # up.
                self._look_up(index, documents)

    def _remembered(self, keys: list[bytes], table: Table) -> Mask:
        """Return which of the texts were not erased since they were read.

        They were read from documents numbered as in this table.

        Asked while the cache is locked: an erasure that comes later sweeps what is
        added now.
        """
        index = self.home.views.get(self.home.item_view)
        if index.documents is table:
            return np.ones(len(keys), bool)
        numbers = np.frombuffer(b"".join(keys), np.uint64)
        return index.holds(numbers.reshape(-1, 2))

    def _in_time(self, query: str) -> Matrix:
        """Return the query's vector.

        A model of this process is waited for, others not beyond the timeout of the
        settings.
        """
        is_local = getattr(
            self.embedder,
            "is_local",
            False,
        )
        if is_local:
            return self._vector(query)
        # Imported here: most one-off searches ask no endpoint.
        from concurrent.futures import Future

        answer: Future[Matrix] = Future()

        def ask() -> None:
            try:
                answer.set_result(self._vector(query))
            except ModelUnavailable as error:
                answer.set_exception(error)
            except BaseException:  # noqa: BLE001 - handed to the thread that waits
                answer.set_exception(ModelUnavailable(f"{self.embedder.id} failed"))

        # A daemon: a process that has its results must not hang at its end for a model
        # that never answers.
        threading.Thread(target=ask, daemon=True).start()
        seconds = self.home.settings.search_timeout_seconds
        try:
            return answer.result(seconds)
        except TimeoutError:
            raise ModelUnavailable(
                f"{self.embedder.id} did not answer within {seconds:g} s"
            ) from None

    def _vector(self, text: str) -> Matrix:
        """Return the vector of a text from the embedder.

        Raises:
            ModelUnavailable: As `_checked`.
        """
        matrix = self._checked([text])
        return cast(Matrix, matrix[0])

    def _checked(self, texts: Sequence[str]) -> Matrix:
        """Return vectors from the embedder.

        Raises:
            ModelUnavailable: They are not one for each text, finite, and of length one.
        """
        vectors = self.embedder.embed(texts)
        matrix = np.asarray(vectors, np.float32)
        embedder_id = self.embedder.id
        allowed = (len(texts), self.cache.dimensions)
        if matrix.shape != allowed:
            raise ModelUnavailable(
                f"{embedder_id} gave vectors of the shape {matrix.shape}; allowed is"
                f" {allowed}"
            )
        lengths = np.linalg.norm(matrix, axis=1)
        is_zero = lengths == 0.0
        is_one = np.abs(lengths - 1.0) < _OFF_LENGTH
        wrong_lengths = lengths[~(is_one | is_zero)]
        if len(wrong_lengths):
            raise ModelUnavailable(
                f"{embedder_id} gave a vector of length {wrong_lengths[0]}; allowed is"
                " 1, 0"
            )
        return matrix


def _distinct(index: ItemIndex, documents: Ids) -> Ids:
    """Return one of these documents for each text, in their order."""
    if len(documents) < 2:
        return documents
    keys = index.keys(documents)
    _, first = np.unique(keys, axis=0, return_index=True)
    return documents[np.sort(first)]


def document_texts(home: Home, index: ItemIndex, documents: Ids) -> list[str]:
    """Return the texts of these documents, without erased ones.

    They stay in the journal until they are needed.
    """
    event_seqs: list[int] = index.documents["seq"][documents].tolist()
    if not event_seqs:
        return []
    unique_seqs = sorted(set(event_seqs))
    events: dict[int, Event] = {}
    for event in home.journal.read(seqs=unique_seqs):
        events[event.seq] = event
    texts: list[str] = []
    for document, event_seq in zip(documents.tolist(), event_seqs, strict=True):
        if event_seq not in events:
            continue
        item = index.item_of(document, events[event_seq])
        if item is not None:
            texts.append(item.text)
    return texts
