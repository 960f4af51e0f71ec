"""Search over everything that is remembered: words and vectors, put together."""

from __future__ import annotations

import difflib
import queue
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from theorex_lab.design import SearchPart
from theorex_lab.errors import InvalidInput, ModelUnavailable
from theorex_lab.home import Home
from theorex_lab.journal.columns import Table
from theorex_lab.memory.observation import check_text
from theorex_lab.memory.rows import Rows
from theorex_lab.search.blend import WordScores, best, blend, shown, weights_for, word_scores
from theorex_lab.search.embed import HttpEmbedder
from theorex_lab.search.fuse import best_first, fuse_reciprocal_rank
from theorex_lab.search.index import ItemIndex
from theorex_lab.search.lexical import tokenize
from theorex_lab.search.passages import Passages
from theorex_lab.search.vectors import VectorCache, VectorIndex, resting_backend, text_key

MAX_RESULTS = 1_000
_CANDIDATES = 200  # of each signal; what stands deeper in all does not reach the top ten
_MIN_SIMILARITY = 0.15  # cosine; unrelated texts lie below it with each of the embedders
_EMBEDDED_AT_ONCE = 64
_MIXED = -1  # no file has this number
_HOLDS_ALL = 0.8  # of the query's words, by idf
_REACHED_SHARE = 0.5  # of the best text's score, that a text gets which full activation reaches
_WORD = re.compile(r"\w+")


class Hit(NamedTuple):
    """One result. id: the item's: the event id of a text, the concept_id of a concept.  score: 0..1, higher is better.

    about: what the item is about, see `ItemText`.  at: when its event happened, µs UTC.
    """

    id: str
    kind: str
    text: str
    agent: str
    score: float
    about: str
    at: int


@dataclass(frozen=True, repr=False)
class Hits(Rows[Hit]):
    """Results, best first; `notes` says what was left out and why (an embedder that did not answer, for instance).

    events: for each of them the id of the event that holds its text.  why: for each of them what each signal added to its
    sum (see `search.blend.WEIGHTS`), of which the score is made.
    """

    query: str
    hits: tuple[Hit, ...]
    notes: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    why: tuple[Mapping[str, float], ...] = ()

    row_class = Hit

    def _records(self) -> Sequence[Hit]:
        return self.hits

    def __repr__(self) -> str:
        return "; ".join([f"Hits({len(self)} for {self.query!r})", *self.notes])


_Row = tuple[Hit, str, Mapping[str, float]]  # with its event's id, and why


class _Ranked(NamedTuple):
    """Documents, best first, their scores 0..1, and by signal what it added to each."""

    documents: NDArray[np.int64]
    scores: NDArray[np.float64]
    parts: Mapping[str, NDArray[np.float64]]


class Searcher:
    """Search over one home: of texts by words and vectors, of labels by words. Vectors are taken from the cache."""

    def __init__(self, home: Home) -> None:
        self.home, self.embedder, self.folder = home, home.embedder, home.folder / "vectors"
        self._table: Table | None = None
        self._awake_at: dict[str, tuple[Table, int, NDArray[np.bool_]]] = {}
        self._passages: tuple[Table, int, Passages] | None = None
        self._asked_last: tuple[str, NDArray[np.float32]] | None = None
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

        Texts of all kinds, or only items of these `kinds`; labels, such as concepts, are found where their kind is named. Only
        those of these `projects` or of none, and what is shared, or of all. Sleeping ones are found only when `cold`. With
        `spread`, texts that belong to those found are found too, as each design says: Theorex lets activation run from
        their concepts over links (two hops, weaker by each link's strength); nothing of it is stored. Nothing comes back where
        nothing fits (`searchFloor`). Where the embedder does not answer in time, or some vectors are missing, words decide
        instead, and `notes` says so.
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

        labels = [kind.name for kind in self.home.label_view.items if kinds is not None and kind.name in kinds]
        only = bool(labels) and len(labels) == len(kinds or ())
        texts = None if only else self.search_among(query, among, limit=limit, spread=spread)
        if not labels:
            assert texts is not None
            return texts
        named = self.search_among(query, among, limit=limit, labels=True)
        return named if texts is None else _merged(texts, named, limit)

    def search_among(
        self,
        query: str,
        among: Callable[[ItemIndex], NDArray[np.bool_]],
        *,
        limit: int = 10,
        spread: bool = False,
        labels: bool = False,
    ) -> Hits:
        """The texts, or the labels, that answer the query best, of the documents in a mask; hidden ones never.

        Raises as `search` does.
        """
        check_text(query, self.home.settings.max_text_bytes)
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_RESULTS:
            raise InvalidInput(f"got the limit {limit!r}; allowed are 1 to {MAX_RESULTS}")
        vector, notes = (None, []) if labels else self._vector_of(query)
        # After the vector, which an endpoint may take its time for: what is searched is what is there then.
        index = self.home.views.get(self.home.label_view if labels else self.home.item_view)
        with index.lock:
            allowed = among(index) & ~index.documents["hidden"]
            if vector is not None:
                self._follow(index)
                if len(self._queued):
                    notes.append(f"{len(self._covered)} of {len(index.documents)} texts have vectors")
            ranked = self._ranked(index, query, vector, allowed, max(_CANDIDATES, 2 * limit))
            if spread:
                ranked = self._spread(index, ranked, allowed, limit)
            found = list(self._hits(index, ranked, limit))
        return _hits_of(query, found, notes)

    def _ranked(
        self,
        index: ItemIndex,
        query: str,
        vector: NDArray[np.float32] | None,
        allowed: NDArray[np.bool_],
        wanted: int,
    ) -> _Ranked:
        """The documents that fit the query, best first."""
        documents, columns, held = self._candidates(index, query, vector, allowed, wanted)
        if not len(documents):
            return _Ranked(documents, np.zeros(0), {})
        if self.home.settings.fusion == "reciprocal_rank":
            lists = [(documents, columns[name]) for name in ("words", "vector") if name in columns]
            kept = [(ids[~np.isnan(column)], column[~np.isnan(column)]) for ids, column in lists]
            return _Ranked(*fuse_reciprocal_rank(kept, k=int(self.home.settings.reciprocal_rank_k)), {})
        total, parts = blend(columns, weights_for(columns, self.home.settings.search_weights))
        # A text that holds the words of the query fits, also where all texts hold them and none stands out.
        fits = (shown(total) >= self.home.settings.search_floor) | (held >= _HOLDS_ALL)
        ids, ordered = best_first(documents[fits], total[fits], int(fits.sum()))
        rows = np.searchsorted(documents, ids)
        return _Ranked(ids, shown(ordered), {name: part[rows] for name, part in parts.items()})

    def signals(self, query: str) -> tuple[list[str], Mapping[str, NDArray[np.float64]]]:
        """The events of the texts that may answer a query, and the signals of each, as `search.blend.blend` takes them."""
        vector, _ = self._vector_of(query)
        index = self.home.views.get(self.home.item_view)
        with index.lock:
            if vector is not None:
                self._follow(index)
            allowed = self._awake(index) & ~index.documents["hidden"]
            documents, columns, _ = self._candidates(index, query, vector, allowed, _CANDIDATES)
            seqs = index.documents["seq"][documents].tolist()
        ids = {event.seq: event.id for event in self.home.journal.read(seqs=sorted(set(seqs)))}
        return [ids[seq] for seq in seqs], columns

    def _candidates(
        self,
        index: ItemIndex,
        query: str,
        vector: NDArray[np.float32] | None,
        allowed: NDArray[np.bool_],
        wanted: int,
    ) -> tuple[NDArray[np.int64], dict[str, NDArray[np.float64]], NDArray[np.float64]]:
        """The documents that one of the signals puts among the first, their signals, and the share of the words they hold."""
        passages = self._passages_of(index)
        scored = word_scores(index.lexical, tokenize(query), passages)
        found = [best(scored.words, allowed, wanted), best(scored.passage, allowed, wanted)]
        if vector is not None:
            found.append(self._near(index, vector, allowed, wanted))
        documents = np.unique(np.concatenate(found))
        columns = self._signals(index, query, vector, documents, passages, scored) if len(documents) else {}
        return documents, columns, scored.held[documents]

    def _signals(
        self,
        index: ItemIndex,
        query: str,
        vector: NDArray[np.float32] | None,
        documents: NDArray[np.int64],
        passages: Passages,
        scored: WordScores,
    ) -> dict[str, NDArray[np.float64]]:
        """By signal, a value a candidate."""
        sides = [passages.before(documents), passages.after(documents)]
        around = sum(np.where(side >= 0, scored.words[side], 0.0) for side in sides)
        asked = index.documents["asked"][documents].astype(float)
        columns = {
            "words": scored.words[documents],
            "passage": scored.passage[documents],
            "around": np.asarray(around),
            "speaker": _named(index, query)[index.documents["speaker"][documents]],
            "asked": asked,
            "length": np.log1p(index.lexical.lengths[documents].astype(float)),
        }
        if vector is not None:
            near = np.stack([documents, *sides])
            known, matrix = self._vectors_of(index, np.maximum(near, 0).ravel())
            known = known.reshape(near.shape) & (near >= 0)
            if not known[0].any():
                return columns
            rows = matrix.reshape(*near.shape, -1) * known[:, :, None]
            together = rows.sum(axis=0)
            lengths = np.maximum(np.linalg.norm(together, axis=1), 1e-9)
            columns["vector"] = np.where(known[0], rows[0] @ vector, np.nan).astype(float)
            columns["passage_vector"] = np.where(known[0], together @ vector / lengths, np.nan).astype(float)
        return columns

    def _spread(self, index: ItemIndex, ranked: _Ranked, allowed: NDArray[np.bool_], limit: int) -> _Ranked:
        """With the texts that belong to the first of those found, weaker than the best of them."""
        if not len(ranked.documents):
            return ranked
        now, found = self.home.clock.now(), ranked.documents[:limit]
        scores = dict(zip(ranked.documents.tolist(), ranked.scores.tolist(), strict=True))
        for part in self._parts:
            if part.related is not None:
                for document, activation in zip(*part.related(self.home, index, found, allowed, now), strict=True):
                    reached = float(activation) * _REACHED_SHARE * float(ranked.scores[0])
                    scores[int(document)] = max(reached, scores.get(int(document), 0.0))
        ids = np.array(list(scores), np.int64)
        documents, ordered = best_first(ids, np.array(list(scores.values())), len(ids))
        place = {document: row for row, document in enumerate(ranked.documents.tolist())}
        rows = np.array([place.get(document, -1) for document in documents.tolist()])
        parts = {name: np.append(part, 0.0)[rows] for name, part in ranked.parts.items()}
        return _Ranked(documents, ordered, parts)

    def _passages_of(self, index: ItemIndex) -> Passages:
        """The passages of the index's documents, kept until a document is added."""
        known = self._passages
        if known is None or known[0] is not index.documents or known[1] != len(index.documents):
            passages = Passages(index.documents["session"], index.lexical.lengths)
            known = (index.documents, len(index.documents), passages)
            if index.name == "items":
                self._passages = known
        return known[2]

    @property
    def _parts(self) -> list[SearchPart]:
        return [design.search for design in self.home.designs]

    def _check_kinds(self, kinds: Sequence[str]) -> None:
        known = [kind.name for design in self.home.designs for kind in design.items]
        for kind in kinds:
            if kind not in known:
                near = "".join(difflib.get_close_matches(kind, known, n=1, cutoff=0))
                raise InvalidInput(
                    f"got the item kind {kind!r}; allowed are {', '.join(known) or 'none'}; {near!r} is nearest"
                )

    def _awake(self, index: ItemIndex) -> NDArray[np.bool_]:
        """A mask of the documents that do not sleep, kept until something is appended."""
        table, seq, mask = self._awake_at.get(index.name, (None, 0, np.zeros(0, bool)))
        if table is not index.documents or seq != index.seq:
            asleep = index.documents["asleep"].copy()
            for part in self._parts:
                if part.asleep is not None:
                    asleep |= part.asleep(self.home, index)
            mask = ~asleep
            self._awake_at[index.name] = (index.documents, index.seq, mask)
        return mask

    @property
    def backend(self) -> str:
        """How vectors are searched now: exactly, or by hnswlib once enough queries have paid for its graph."""
        return resting_backend() if self._vectors is None else self._vectors.backend

    @property
    def no_vectors(self) -> str:
        """Why the embedder in use makes no vectors of texts; '' where it does.

        Hashed n-grams know spelling, which the words know better.
        """
        lexical = self.embedder.kind == "lexical"
        return "no vectors are made of texts: the embedder in use knows spelling, not meaning" if lexical else ""

    def embed_pending(self, limit: int | None = None) -> int:
        """Compute vectors that are still missing, newest first, up to `limit`; returns how many.

        Raises ModelUnavailable where the embedder does not answer; what was computed before is kept.
        """
        if self.no_vectors:
            return 0
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
        """How many texts have a vector of the embedder in use, and how many are queued for one; see `no_vectors`."""
        if self.no_vectors:
            return {"covered": 0, "queued": 0}
        index = self.home.views.get(self.home.item_view)
        with index.lock:
            self._load(index)
            return {"covered": len(self._covered), "queued": len(self._queued)}

    def _vector_of(self, query: str) -> tuple[NDArray[np.float32] | None, list[str]]:
        """The query's vector, None where words alone decide, and what there is to say of it."""
        if self.no_vectors:
            return None, []
        if self._asked_last is None or self._asked_last[0] != query:
            try:
                deadline = time.monotonic() + self.home.settings.search_timeout_seconds
                self._asked_last = query, self._embed([query], deadline)[0]
            except ModelUnavailable as error:
                return None, [f"by words alone: {error}"]
        return self._asked_last[1], []

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
        self._rows_of: tuple[int, NDArray[np.int64], NDArray[np.int64]] | None = None
        self._followed = 0
        self._cache_state = 0, 0  # the cache's length and its file when it was last looked into

    def _follow(self, index: ItemIndex) -> None:
        """Take over vectors that the cache has got meanwhile."""
        known = len(self.cache), self.cache.file_number
        # A view that was folded again has other numbers for its documents, another file other ones for its records.
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
    ) -> NDArray[np.int64]:
        """The documents nearest to a vector."""
        if not len(self._covered):
            return np.zeros(0, np.int64)
        result = None
        if self._vectors is None and not self._searched:
            result = self.cache.nearest(self._records, vector, allowed[self._covered], wanted)
            self._searched = True
        if result is None:
            self._load(index)
            assert self._vectors is not None
            result = self._vectors.search(vector, allowed[self._covered], wanted)
        rows, scores = result
        return self._covered[rows[scores >= _MIN_SIMILARITY]]

    def _vectors_of(
        self, index: ItemIndex, documents: NDArray[np.int64]
    ) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
        """Which of these documents have a vector, and the vectors, zeros where there is none."""
        if self._vectors is None:
            return self.cache.get(index.keys(documents))
        if not len(self._covered):
            return np.zeros(len(documents), bool), np.zeros((len(documents), self.cache.dimensions), np.float32)
        if self._rows_of is None or self._rows_of[0] != len(self._covered):
            order = np.argsort(self._covered, kind="stable")
            self._rows_of = len(self._covered), self._covered[order], order
        _, covered, order = self._rows_of
        places = np.minimum(np.searchsorted(covered, documents), len(covered) - 1)
        known = covered[places] == documents
        matrix = self._vectors.matrix[order[places]]
        matrix[~known] = 0.0
        return known, matrix

    def _hits(self, index: ItemIndex, ranked: _Ranked, limit: int) -> Iterator[_Row]:
        documents = ranked.documents[:limit]
        seqs = index.documents["seq"][documents]
        events = {event.seq: event for event in self.home.journal.read(seqs=seqs.tolist())}
        for row, (document, seq) in enumerate(zip(documents.tolist(), seqs.tolist(), strict=True)):
            event = events.get(seq)
            item = index.item_of(document, event) if event is not None else None
            if event is None or item is None:  # erased since the index was looked into
                continue
            why = {name: round(float(part[row]), 4) for name, part in ranked.parts.items() if part[row]}
            score = round(float(ranked.scores[row]), 6)
            hit = Hit(item.item_id, index.kind_of(document), item.text, event.agent, score, item.about, event.at)
            yield hit, event.id, why

    def _texts(self, index: ItemIndex, documents: NDArray[np.int64]) -> list[str]:
        """The texts of these documents, without erased ones; they stay in the journal until they are needed."""
        seqs = index.documents["seq"][documents].tolist()
        events = {event.seq: event for event in self.home.journal.read(seqs=sorted(set(seqs)))}
        pairs = zip(documents.tolist(), seqs, strict=True)
        items = [index.item_of(document, events[seq]) for document, seq in pairs if seq in events]
        return [item.text for item in items if item is not None]


def _named(index: ItemIndex, query: str) -> NDArray[np.float64]:
    """By number of a speaker, and at the end of nobody, 1 where the query names the speaker, else 0."""
    words = set(_WORD.findall(query))
    found = [float(any(word in words for word in _WORD.findall(name) if len(word) > 2)) for name in index.speakers]
    return np.array([*found, 0.0])


def _merged(texts: Hits, labels: Hits, limit: int) -> Hits:
    """Texts and labels by their scores, at most `limit`."""
    rows = [row for hits in (texts, labels) for row in zip(hits.hits, hits.events, hits.why, strict=True)]
    return _hits_of(texts.query, sorted(rows, key=lambda row: -row[0].score)[:limit], texts.notes)


def _hits_of(query: str, rows: Sequence[_Row], notes: Sequence[str]) -> Hits:
    return Hits(
        query, tuple(row[0] for row in rows), tuple(notes), tuple(row[1] for row in rows), tuple(row[2] for row in rows)
    )
