"""Search over everything that is remembered: words and vectors, put together."""

from __future__ import annotations

import difflib
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from theorex_lab.design import SearchPart
from theorex_lab.errors import InvalidInput, ModelUnavailable, StorageError
from theorex_lab.home import Home
from theorex_lab.journal.columns import Table
from theorex_lab.memory.observation import check_text
from theorex_lab.memory.rows import Rows
from theorex_lab.search.embed import HttpEmbedder
from theorex_lab.search.fuse import fuse_reciprocal_rank, fuse_standardised
from theorex_lab.search.index import ItemIndex
from theorex_lab.search.lexical import tokenize
from theorex_lab.search.vectors import VectorCache, VectorIndex, resting_backend, text_key

MAX_RESULTS = 1_000
_CANDIDATES = 200  # of each list; what stands deeper in both does not reach the top ten
_MIN_SIMILARITY = 0.15  # cosine; unrelated texts lie below it with each of the embedders
_EMBEDDED_AT_ONCE = 64
_MIXED = -1  # no file has this number


class Hit(NamedTuple):
    """One result. id: the item's: the event id of a text, the concept_id of a concept. score: higher is better."""

    id: str
    kind: str
    text: str
    agent: str
    score: float


@dataclass(frozen=True, repr=False)
class Hits(Rows[Hit]):
    """Results, best first; `notes` says what was left out and why (an embedder that did not answer, for instance).

    events: for each of them the id of the event that holds its text.
    """

    query: str
    hits: tuple[Hit, ...]
    notes: tuple[str, ...] = ()
    events: tuple[str, ...] = ()

    row_class = Hit

    def _records(self) -> Sequence[Hit]:
        return self.hits

    def __repr__(self) -> str:
        return "; ".join([f"Hits({len(self)} for {self.query!r})", *self.notes])


class Searcher:
    """Hybrid search over one home. Vectors are taken from the cache; a search adds a few that are missing."""

    def __init__(self, home: Home) -> None:
        self.home, self.embedder, self.folder = home, home.embedder, home.folder / "vectors"
        self._table: Table | None = None
        self._awake_at: tuple[Table, int] | None = None
        self._awake_mask: NDArray[np.bool_] = np.zeros(0, bool)
        self._forget()

    @cached_property
    def cache(self) -> VectorCache:
        """Vectors on disk. Raises ModelUnavailable where an endpoint must be asked for its dimensions and is silent."""
        return VectorCache(self.folder, self.embedder.id, self.embedder.dimensions)

    def search(
        self,
        query: str,
        *,
        agents: Sequence[str] | None = None,
        limit: int = 10,
        cold: bool = False,
        tag: str | None = None,
        spread: bool = False,
        kinds: Sequence[str] | None = None,
        projects: Sequence[str] | None = None,
    ) -> Hits:
        """The items that answer the query best: of these agents and what they share (or of all), with this tag (or any).

        Only items of these `kinds`, or of all; only those of these `projects` or of none, and what is shared, or of all.
        Sleeping ones are found only when `cold`. With `spread`, what belongs to those found is found too, as each design
        says: Theorex lets activation run from the concepts over their links (two hops, weaker by each link's strength);
        nothing of it is stored.
        Where the embedder does not answer in time, the order is that of the words alone, and `notes` says so.
        Raises InvalidInput for a blank query, a limit outside 1..1000, or a kind of item that no design here has.
        """
        if kinds is not None:
            self._check_kinds(kinds)

        def among(index: ItemIndex) -> NDArray[np.bool_]:
            allowed = index.allowed(agents=agents, tag=tag, projects=projects)
            if tag is None and not (agents is None and projects is None):
                for part in self._parts:
                    if part.visible is not None:
                        allowed |= part.visible(self.home, index, allowed)
            if kinds is not None:
                allowed &= index.of_kinds(kinds)
            return allowed if cold else allowed & self._awake(index)

        return self.search_among(query, among, limit=limit, spread=spread)

    def search_among(
        self, query: str, among: Callable[[ItemIndex], NDArray[np.bool_]], *, limit: int = 10, spread: bool = False
    ) -> Hits:
        """The items that answer the query best, of the documents in a mask; hidden ones never. Raises as `search` does."""
        index, vector, notes = self._asked(query, limit)
        with index.lock:
            allowed = among(index) & ~index.documents["hidden"]
            hits = self._search(index, query, vector, allowed, limit, now=self.home.clock.now() if spread else None)
        return Hits(query, tuple(hit for hit, _ in hits), notes, tuple(event_id for _, event_id in hits))

    def _search(
        self,
        index: ItemIndex,
        query: str,
        vector: NDArray[np.float32] | None,
        allowed: NDArray[np.bool_],
        limit: int,
        *,
        now: int | None = None,
    ) -> list[tuple[Hit, str]]:
        wanted = max(_CANDIDATES, 2 * limit)
        lists = [index.lexical.search(tokenize(query), allowed, wanted)]
        if vector is not None:
            self._follow(index)
            lists.append(self._near(index, vector, allowed, wanted))
        documents, scores = self._fuse(lists)
        if now is not None:
            found = documents[:limit]
            reached = [part.related(self.home, index, found, allowed, now) for part in self._parts if part.related]
            documents, scores = self._fuse([(documents, scores), *reached])
        return list(self._hits(index, documents[:limit], scores[:limit]))

    @property
    def _parts(self) -> list[SearchPart]:
        return [design.search for design in self.home.designs]

    def _check_kinds(self, kinds: Sequence[str]) -> None:
        known = [kind.name for kind in self.home.item_view.items]
        for kind in kinds:
            if kind not in known:
                near = "".join(difflib.get_close_matches(kind, known, n=1, cutoff=0))
                raise InvalidInput(
                    f"got the item kind {kind!r}; allowed are {', '.join(known) or 'none'}, of which {near!r} is nearest"
                )

    def _awake(self, index: ItemIndex) -> NDArray[np.bool_]:
        """A mask of the documents that do not sleep, kept until something is appended."""
        if self._awake_at != (index.documents, index.seq):
            asleep = index.documents["asleep"].copy()
            for part in self._parts:
                if part.asleep is not None:
                    asleep |= part.asleep(self.home, index)
            self._awake_at, self._awake_mask = (index.documents, index.seq), ~asleep
        return self._awake_mask

    @property
    def backend(self) -> str:
        """How vectors are searched now: exactly, or by hnswlib once enough queries have paid for its graph."""
        return resting_backend() if self._vectors is None else self._vectors.backend

    def embed_pending(self, limit: int | None = None) -> int:
        """Compute vectors that are still missing, newest first, up to `limit`; returns how many.

        Raises ModelUnavailable where the embedder does not answer; what was computed before is kept.
        """
        index = self.home.views.get(self.home.item_view)
        with index.lock:
            self._load(index)
            wanted = len(self._queued[:limit])
        done = 0
        while done < wanted:
            part, texts = self._pending(self.home.views.get(self.home.item_view), min(wanted - done, _EMBEDDED_AT_ONCE))
            if not texts:
                break
            self._keep(part, texts, self.embedder.embed(texts))
            done += len(part)
        return done

    def coverage(self) -> dict[str, int]:
        """How many documents have a vector of the embedder in use, and how many are queued for one."""
        index = self.home.views.get(self.home.item_view)
        with index.lock:
            self._load(index)
            return {"covered": len(self._covered), "queued": len(self._queued)}

    def _asked(self, query: str, limit: int) -> tuple[ItemIndex, NDArray[np.float32] | None, tuple[str, ...]]:
        """The index as it is now, and the vector of a query that may be asked, None where the embedder does not answer.

        In the time that is left, a few missing vectors are computed too.
        """
        check_text(query, self.home.settings.max_text_bytes)
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_RESULTS:
            raise InvalidInput(f"got the limit {limit!r}; allowed are 1 to {MAX_RESULTS}")
        deadline = time.monotonic() + self.home.settings.search_timeout_seconds
        try:
            vector: NDArray[np.float32] = self._embed([query], deadline)[0]
            # After the vector, which an endpoint may take its time for: what is searched is what is there then.
            index = self.home.views.get(self.home.item_view)
            part, texts = self._pending(index, _EMBEDDED_AT_ONCE)
            if not texts or time.monotonic() >= deadline:
                return index, vector, ()
            matrix = self._embed(texts, deadline)
        except ModelUnavailable as error:
            return self.home.views.get(self.home.item_view), None, (f"by words alone: {error}",)
        notes: tuple[str, ...] = ()
        try:
            self._keep(part, texts, matrix)
        except StorageError as error:
            notes = (f"new vectors were not kept: {error}",)
        return self.home.views.get(self.home.item_view), vector, notes

    def _embed(self, texts: list[str], deadline: float) -> NDArray[np.float32]:
        """Vectors from the embedder; an endpoint is not waited for beyond the deadline."""
        if not isinstance(self.embedder, HttpEmbedder):
            return self.embedder.embed(texts)
        answers: queue.Queue[NDArray[np.float32] | ModelUnavailable] = queue.Queue()

        def ask() -> None:
            try:
                answers.put(self.embedder.embed(texts))
            except ModelUnavailable as error:
                answers.put(error)

        # A daemon: a process that has its results must not hang at its end for an endpoint that never answers.
        threading.Thread(target=ask, daemon=True).start()
        try:
            answer = answers.get(timeout=max(deadline - time.monotonic(), 0.01))
        except queue.Empty:
            seconds = self.home.settings.search_timeout_seconds
            raise ModelUnavailable(f"{self.embedder.url} did not answer within {seconds:g} s") from None
        if isinstance(answer, ModelUnavailable):
            raise answer
        return answer

    def _pending(self, index: ItemIndex, limit: int) -> tuple[NDArray[np.int64], list[str]]:
        """The newest documents without a vector, and the texts of those that were not erased."""
        with index.lock:
            self._follow(index)
            documents = self._queued[::-1][:limit]
            return documents, self._texts(index, documents) if len(documents) else []

    def _keep(self, documents: NDArray[np.int64], texts: list[str], matrix: NDArray[np.float32]) -> None:
        index = self.home.views.get(self.home.item_view)
        with index.lock:
            numbered = self._table
            self._follow(index)
            # By the texts: an erasure meanwhile gives the documents other numbers.
            keys = [text_key(text) for text in texts]
            self.cache.add(keys, matrix, wanted=lambda: self._remembered(keys, numbered))
            known = len(self.cache), self.cache.file_number
            if self._table is not index.documents or self._renumbered():
                self._follow(index)
                return
            self._cache_state = known
            # What else is queued was not computed meanwhile: only these are looked up.
            same = self._table is numbered
            self._take_over(index, self._queued[np.isin(self._queued, documents)] if same else self._queued)

    def _remembered(self, keys: list[bytes], numbered: Table | None) -> NDArray[np.bool_]:
        """Which of the texts were not erased since they were read from documents numbered as in this table.

        Asked while the cache is locked: an erasure that comes later sweeps what is added now.
        """
        index = self.home.views.get(self.home.item_view)
        if index.documents is numbered:
            return np.ones(len(keys), bool)
        return index.holds(np.frombuffer(b"".join(keys), np.uint64).reshape(-1, 2))

    def _forget(self) -> None:
        # Vectors are loaded for a process' second search; the first reads them where they lie in the cache's file.
        self._vectors: VectorIndex | None = None
        self._searched = False
        self._covered: NDArray[np.int64] = np.zeros(0, np.int64)
        self._records: NDArray[np.int64] = np.zeros(0, np.int64)  # of the covered documents, until they are loaded
        self._records_file = 0  # which file they are in
        self._queued: NDArray[np.int64] = np.zeros(0, np.int64)
        self._followed = 0
        self._cache_state = 0, 0  # the cache's length and its file when it was last looked into

    def _follow(self, index: ItemIndex) -> None:
        """Take over vectors that the cache has got meanwhile."""
        known = len(self.cache), self.cache.file_number
        # A view that was folded anew has other numbers for its documents, another file other ones for its records.
        if self._table is not index.documents or self._renumbered():
            self._forget()
            self._table = index.documents
        new = np.arange(self._followed, len(index.documents))
        self._followed = len(index.documents)
        self._queued = np.concatenate([self._queued, new]) if len(new) else self._queued
        self._take_over(index, new if known == self._cache_state else self._queued)
        self._cache_state = known
        if self._renumbered():  # the file was swept while it was looked into
            self._follow(index)

    def _renumbered(self) -> bool:
        """Whether the records that were found have other numbers in the cache's file as it is now."""
        return self._vectors is None and len(self._records) > 0 and self._records_file != self.cache.file_number

    def _take_over(self, index: ItemIndex, documents: NDArray[np.int64]) -> None:
        """Move these queued documents, in rising order, to the covered ones where the cache holds their vectors."""
        if not len(documents):
            return
        if self._vectors is None:
            numbers = self.cache.find(index.keys(documents))
            found = numbers >= 0
            known = self._records_file if len(self._records) else self.cache.file_number
            self._records_file = known if known == self.cache.file_number else _MIXED
            self._records = np.concatenate([self._records, numbers[found]])
        else:
            found, matrix = self.cache.get(index.keys(documents))
            self._vectors.add(matrix[found])
        self._covered = np.concatenate([self._covered, documents[found]])
        self._queued = np.delete(self._queued, np.searchsorted(self._queued, documents[found]))

    def _load(self, index: ItemIndex) -> None:
        """Follow, and read the vectors into memory; a document whose vector is damaged is queued again."""
        self._follow(index)
        if self._vectors is None:
            found, matrix = self.cache.get(index.keys(self._covered))
            self._vectors = VectorIndex(self.cache.dimensions, approximate=True)
            self._vectors.add(matrix if found.all() else matrix[found])
            self._queued = np.sort(np.concatenate([self._queued, self._covered[~found]]))
            self._covered = self._covered[found]

    def _near(
        self, index: ItemIndex, vector: NDArray[np.float32], allowed: NDArray[np.bool_], wanted: int
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        if not len(self._covered):
            return np.zeros(0, np.int64), np.zeros(0)
        result = None
        if self._vectors is None and not self._searched:
            result = self.cache.nearest(self._records, vector, allowed[self._covered], wanted)
            self._searched = True
        if result is None:
            if self._vectors is None:
                self._load(index)
            assert self._vectors is not None
            result = self._vectors.search(vector, allowed[self._covered], wanted)
        rows, scores = result
        near = scores >= _MIN_SIMILARITY
        return self._covered[rows[near]], scores[near].astype(float)

    def _fuse(self, lists: list[tuple[NDArray[Any], NDArray[Any]]]) -> tuple[NDArray[Any], NDArray[Any]]:
        if self.home.settings.fusion == "reciprocal_rank":
            return fuse_reciprocal_rank(lists, k=int(self.home.settings.reciprocal_rank_k))
        return fuse_standardised(lists)

    def _hits(self, index: ItemIndex, documents: NDArray[Any], scores: NDArray[Any]) -> Iterator[tuple[Hit, str]]:
        seqs = index.documents["seq"][documents]
        events = {event.seq: event for event in self.home.journal.read(seqs=seqs.tolist())}
        for document, seq, score in zip(documents.tolist(), seqs.tolist(), scores.tolist(), strict=True):
            event = events.get(seq)
            item = index.item_of(document, event) if event is not None else None
            if event is None or item is None:  # erased since the index was looked into
                continue
            yield Hit(item.item_id, index.kind_of(document), item.text, event.agent, float(score)), event.id

    def _texts(self, index: ItemIndex, documents: NDArray[np.int64]) -> list[str]:
        """The texts of these documents, without erased ones; they stay in the journal until they are needed."""
        seqs = index.documents["seq"][documents].tolist()
        events = {event.seq: event for event in self.home.journal.read(seqs=sorted(set(seqs)))}
        pairs = zip(documents.tolist(), seqs, strict=True)
        items = [index.item_of(document, events[seq]) for document, seq in pairs if seq in events]
        return [item.text for item in items if item is not None]
