"""Search over everything that is remembered: words and vectors, put together."""

import difflib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeVar, cast

import numpy as np

from theorex_lab.core.errors import InvalidInput
from theorex_lab.journal.columns import Table
from theorex_lab.memory.contract import Home
from theorex_lab.memory.embedded import EmbeddedTexts
from theorex_lab.memory.observation import check_text
from theorex_lab.memory.rows import Rows
from theorex_lab.search.blend import (
    Passages,
    WordScores,
    blend,
    likeliest,
    shown,
    weights_for,
    word_scores,
)
from theorex_lab.search.embed import Matrix
from theorex_lab.search.fuse import Ids, Mask, Scores, best_first, fuse_reciprocal_rank
from theorex_lab.search.index import ItemIndex
from theorex_lab.search.items import OWN_ITEMS, SYMBOL
from theorex_lab.search.lexical import tokenize

MAX_RESULTS = 1_000
VectorUse = Literal["auto", "always", "never"]
Use = VectorUse | None
Among = Callable[[ItemIndex], Mask]
Vector = Matrix | None
T = TypeVar("T")
_CANDIDATES = (
    100  # of each signal; what stands deeper in all does not reach the top ten
)
_HOLDS_ALL = 0.8  # of the query's words, by idf
# of them, in one text: then no model is loaded for a search that may go without
_SUFFICES = 0.6
_STAND_IN = 3  # texts whose vectors stand in for the query's
_REACHED_SHARE = (
    0.5  # of the best text's score, that a text gets which full activation reaches
)
_WORD = re.compile(r"\w+")


class Hit(NamedTuple):
    """One result. id: the item's: the event id of a text, the concept_id of a concept.
    score: 0..1, higher is better.

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
    """Results, best first; `notes` says what was left out and why (an embedder that did
    not answer, for instance).

    events: for each of them the id of the event that holds its text.  why: for each of
    them what each signal added to its sum (see `search.blend.WEIGHTS`), of which the
    score is made.
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
    """Documents, best first, their scores 0..1, by signal what it added to each, and
    the share of the query's words that one holds.
    """

    documents: Ids
    scores: Scores
    parts: Mapping[str, Scores]
    held: float = 0.0


class Searcher:
    """Search over one home: of texts by words and vectors, of labels by words. Vectors
    are taken from the cache.
    """

    def __init__(self, home: Home) -> None:
        self.home, self.vectors = home, EmbeddedTexts(home)
        self._made: dict[tuple[str, str], tuple[Table, int, Any]] = {}

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
        vectors: Use = None,
    ) -> Hits:
        """The items that answer the query best: of these agents and what they share (or
        of all), with this tag (or any).

        Texts of all kinds, or only items of these `kinds`; labels, such as concepts,
        and what echoes another text are found where their kind is named. Only those of
        these `projects` or of none, and what is shared, or of all. Sleeping ones are
        found only when `cold`. With `spread`, texts that belong to those found are
        found too, as each design says: Theorex lets activation run from their concepts
        over links (two hops, weaker by each link's strength); nothing of it is stored.
        Nothing comes back where nothing fits (`searchFloor`). Where the embedder does
        not answer in time, or some vectors are missing, words decide instead, and
        `notes` says so. `vectors`: whether the query's vector is computed, see the
        setting `searchVectors`; None is always, unless that is never. Raises
        InvalidInput for a blank query, a limit outside 1..1000, or a kind of item that
        no design here has.
        """
        if kinds is not None:
            self._check_kinds(kinds)

        def among(index: ItemIndex) -> Mask:
            allowed = index.allowed(agents=agents, tag=tag, projects=projects)
            if tag is None and not (agents is None and projects is None):
                for visible in self._asked("visible"):
                    allowed |= visible(self.home, index, allowed)
            if closed := self.home.closed_projects:
                allowed &= ~index.only_within(closed)
            if kinds is not None:
                allowed &= index.of_kinds(kinds)
            allowed = allowed if cold else allowed & self._awake(index)
            return allowed & ~self._echoes(index, allowed) if kinds is None else allowed

        labels = [
            kind.name
            for kind in self.home.label_view.items
            if kinds is not None and kind.name in kinds
        ]
        found = []
        if not labels or len(labels) < len(kinds or ()):
            found.append(
                self.search_among(
                    query, among, limit=limit, spread=spread, vectors=vectors
                )
            )
        if labels:
            found.append(self.search_among(query, among, limit=limit, labels=True))
        return found[0] if len(found) == 1 else _merged(found[0], found[1], limit)

    def search_among(
        self,
        query: str,
        among: Among,
        *,
        limit: int,
        spread: bool = False,
        labels: bool = False,
        vectors: Use = None,
    ) -> Hits:
        """The texts, or the labels, that answer the query best, of the documents in a
        mask; hidden ones never.

        Raises as `search` does.
        """
        check_text(query, self.home.settings.max_text_bytes)
        if (
            isinstance(limit, bool)
            or not isinstance(limit, int)
            or not 1 <= limit <= MAX_RESULTS
        ):
            raise InvalidInput(
                f"got the limit {limit!r}; allowed are 1 to {MAX_RESULTS}"
            )
        use = (
            "never"
            if labels
            else vectors
            or ("never" if self.home.settings.search_vectors == "never" else "always")
        )
        waits = not labels and use != "always" and self.vectors.must_load
        vector, notes = (
            (None, []) if waits or use == "never" else self.vectors.vector_of(query)
        )
        # After the vector, which an endpoint may take its time for: what is searched is
        # what is there then.
        index = self.home.views.get(
            self.home.label_view if labels else self.home.item_view
        )
        wanted = max(_CANDIDATES, 4 * limit)
        with index.lock:
            allowed = among(index) & ~(
                index.documents["hidden"] | index.documents["corrected"]
            )
            if waits:
                ranked = self._ranked(index, query, None, allowed, wanted)
                if ranked.held >= _SUFFICES:
                    vector = self.vectors.mean_of(
                        index, ranked.documents[:_STAND_IN], ranked.scores[:_STAND_IN]
                    )
                elif use == "auto":
                    return self.search_among(
                        query, among, limit=limit, spread=spread, vectors="always"
                    )
            if vector is not None:
                covered = self.vectors.follow(index)
                if covered < len(index.documents):
                    notes.append(
                        f"{covered} of {len(index.documents)} texts have vectors"
                    )
            ranked = self._ranked(index, query, vector, allowed, wanted)
            if spread:
                ranked = self._spread(index, ranked, allowed, limit)
            found = list(self._hits(index, ranked, limit))
        return _hits_of(query, found, notes)

    def _ranked(
        self, index: ItemIndex, query: str, vector: Vector, allowed: Mask, wanted: int
    ) -> _Ranked:
        """The documents that fit the query, best first."""
        documents, columns, held = self._candidates(
            index, query, vector, allowed, wanted
        )
        if not len(documents):
            return _Ranked(documents, np.zeros(0), {})
        if self.home.settings.fusion == "reciprocal_rank":
            lists = [
                (documents, columns[name])
                for name in ("words", "vector")
                if name in columns
            ]
            kept = [
                (ids[~np.isnan(column)], column[~np.isnan(column)])
                for ids, column in lists
            ]
            return _Ranked(
                *fuse_reciprocal_rank(
                    kept, k=int(self.home.settings.reciprocal_rank_k)
                ),
                {},
            )
        total, parts = blend(
            columns, weights_for(columns, self.home.settings.search_weights)
        )
        # A text that holds the words of the query fits, also where all texts hold them
        # and none stands out.
        fits = (shown(total) >= self.home.settings.search_floor) | (held >= _HOLDS_ALL)
        ids, ordered = best_first(documents[fits], total[fits], int(fits.sum()))
        rows = np.searchsorted(documents, ids)
        return _Ranked(
            ids,
            shown(ordered),
            {name: part[rows] for name, part in parts.items()},
            float(held.max()),
        )

    def _candidates(
        self, index: ItemIndex, query: str, vector: Vector, allowed: Mask, wanted: int
    ) -> tuple[Ids, dict[str, Scores], Scores]:
        """The documents that one of the signals puts among the first, their signals,
        and the share of the words they hold.
        """
        texts = index.documents["session"], index.lexical.lengths
        passages = self._kept(
            index, "passages", len(index.documents), lambda: Passages(*texts)
        )
        scored = word_scores(
            index.lexical, tokenize(query), passages, index.documents["echo"] != 0
        )
        found = [
            likeliest(scored.words, allowed, wanted),
            likeliest(scored.passage, allowed, wanted),
        ]
        if vector is not None:
            found.append(self.vectors.near(vector, allowed, wanted))
        documents = np.unique(np.concatenate(found))
        columns = (
            self._signals(index, query, vector, documents, passages, scored)
            if len(documents)
            else {}
        )
        return documents, columns, scored.held[documents]

    def _signals(
        self,
        index: ItemIndex,
        query: str,
        vector: Vector,
        documents: Ids,
        passages: Passages,
        scored: WordScores,
    ) -> dict[str, Scores]:
        """By signal, a value a candidate."""
        sides = (
            [passages.before(documents), passages.after(documents)]
            if passages.any
            else []
        )
        around = sum(
            (np.where(side >= 0, scored.words[side], 0.0) for side in sides),
            np.zeros(len(documents)),
        )
        speaker = _named(index, query)[index.documents["speaker"][documents]]
        columns = {
            "words": scored.words[documents],
            "passage": scored.passage[documents],
            "around": around,
        }
        columns |= {
            "speaker": speaker,
            "asked": index.documents["asked"][documents].astype(float),
        }
        columns["length"] = np.log1p(index.lexical.lengths[documents].astype(float))
        if vector is not None:
            near = np.stack([documents, *sides])
            known, matrix = self.vectors.of(np.maximum(near, 0).ravel())
            known = known.reshape(near.shape) & (near >= 0)
            if not known[0].any():
                return columns
            rows = matrix.reshape(*near.shape, -1) * known[:, :, None]
            together = rows.sum(axis=0)
            lengths = np.maximum(np.linalg.norm(together, axis=1), 1e-9)
            columns["vector"] = np.where(known[0], rows[0] @ vector, np.nan).astype(
                float
            )
            columns["passage_vector"] = np.where(
                known[0], together @ vector / lengths, np.nan
            ).astype(float)
        return columns

    def _spread(
        self, index: ItemIndex, ranked: _Ranked, allowed: Mask, limit: int
    ) -> _Ranked:
        """With the texts that belong to the first of those found, weaker than the best
        of them.
        """
        if not len(ranked.documents):
            return ranked
        now = self.home.clock.now()
        found = ranked.documents[:limit]
        scores = dict(
            zip(ranked.documents.tolist(), ranked.scores.tolist(), strict=True)
        )
        for related in self._asked("related"):
            for document, activation in zip(
                *related(self.home, index, found, allowed, now), strict=True
            ):
                reached = float(activation) * _REACHED_SHARE * float(ranked.scores[0])
                scores[int(document)] = max(reached, scores.get(int(document), 0.0))
        ids = np.array(list(scores), np.int64)
        documents, ordered = best_first(ids, np.array(list(scores.values())), len(ids))
        place = {
            document: row for row, document in enumerate(ranked.documents.tolist())
        }
        rows = np.array([place.get(document, -1) for document in documents.tolist()])
        return _Ranked(
            documents,
            ordered,
            {name: np.append(part, 0.0)[rows] for name, part in ranked.parts.items()},
        )

    def _kept(self, index: ItemIndex, what: str, at: int, make: Callable[[], T]) -> T:
        """What was made of an index, made again where it is another one, or was at
        another place.
        """
        table, known_at, made = self._made.get((what, index.name), (None, 0, None))
        if table is not index.documents or known_at != at:
            made = make()
            self._made[what, index.name] = index.documents, at, made
        return cast(T, made)

    def _echoes(self, index: ItemIndex, allowed: Mask) -> Mask:
        """A mask of the documents that echo one of the allowed."""
        mask = np.zeros(len(index.documents), bool)
        echoing, said = self._kept(index, "echoes", len(mask), lambda: _echoing(index))
        mask[echoing] = allowed[said]
        return mask

    def _asked(self, what: str) -> list[Callable[..., Any]]:
        """What the designs answer to a question of `SearchPart`, by its name."""
        parts = (design.search for design in self.home.designs)
        return [answer for part in parts if (answer := getattr(part, what)) is not None]

    def _check_kinds(self, kinds: Sequence[str]) -> None:
        items = (kind for design in self.home.designs for kind in design.items)
        known = list(
            dict.fromkeys(kind.name for kind in (*items, *OWN_ITEMS))
        )  # designs may share a kind
        for kind in kinds:
            if kind not in known:
                near = "".join(difflib.get_close_matches(kind, known, n=1, cutoff=0))
                there = ", ".join(known) or "none"
                raise InvalidInput(
                    f"got the item kind {kind!r}; allowed are {there}; {near!r} is nearest"
                )

    def _awake(self, index: ItemIndex) -> Mask:
        """A mask of the documents that do not sleep."""

        def awake() -> Mask:
            asleep = [sleeping(self.home, index) for sleeping in self._asked("asleep")]
            return np.asarray(
                ~np.logical_or.reduce(
                    [index.documents["asleep"], index.documents["dismissed"], *asleep]
                )
            )

        return self._kept(index, "awake", index.seq, awake)

    def _hits(self, index: ItemIndex, ranked: _Ranked, limit: int) -> Iterator[_Row]:
        documents = ranked.documents[:limit]
        seqs = index.documents["seq"][documents]
        events = {
            event.seq: event for event in self.home.journal.read(seqs=seqs.tolist())
        }
        for row, (document, seq) in enumerate(
            zip(documents.tolist(), seqs.tolist(), strict=True)
        ):
            if (event := events.get(seq)) is None or (
                item := index.item_of(document, event)
            ) is None:
                continue  # erased since the index was looked into
            score = round(float(ranked.scores[row]), 6)
            kind = index.kind_of(document)
            text = (
                item.text.partition("\n· ")[0] if kind == SYMBOL.name else item.text
            )  # the words of its source are no text
            hit = Hit(
                item.item_id, kind, text, event.agent, score, item.about, event.at
            )
            yield (
                hit,
                event.id,
                {
                    name: round(float(part[row]), 4)
                    for name, part in ranked.parts.items()
                    if part[row]
                },
            )


def _echoing(index: ItemIndex) -> Ids:
    """The documents that echo another one, and those which they echo."""
    echo = index.documents["echo"]
    order = np.argsort(index.documents["item"], kind="stable")
    rows = np.flatnonzero(echo)
    items = index.documents["item"][order]
    places = np.minimum(np.searchsorted(items, echo[rows]), max(len(items) - 1, 0))
    known = items[places] == echo[rows]
    return np.stack([rows[known], order[places[known]]])


def _named(index: ItemIndex, query: str) -> Scores:
    """By number of a speaker, and at the end of nobody, 1 where the query names the
    speaker, else 0.
    """
    words = set(_WORD.findall(query))
    found = [
        float(any(word in words for word in _WORD.findall(name) if len(word) > 2))
        for name in index.speakers
    ]
    return np.array([*found, 0.0])


def _merged(texts: Hits, labels: Hits, limit: int) -> Hits:
    """Texts and labels by their scores, at most `limit`."""
    rows = [
        row
        for hits in (texts, labels)
        for row in zip(hits.hits, hits.events, hits.why, strict=True)
    ]
    return _hits_of(
        texts.query, sorted(rows, key=lambda row: -row[0].score)[:limit], texts.notes
    )


def _hits_of(query: str, rows: Sequence[_Row], notes: Sequence[str]) -> Hits:
    hits, events, why = zip(*rows, strict=True) if rows else ((), (), ())
    return Hits(query, hits, tuple(notes), events, why)
