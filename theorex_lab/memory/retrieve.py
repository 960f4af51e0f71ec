"""Search everything that is remembered, by words and by vectors."""

import difflib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeVar, cast

import numpy as np

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.light_dataclass import dataclass
from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.journal.columns import Table
from theorex_lab.journal.event import Event
from theorex_lab.memory.briefing.token_budget import count_tokens
from theorex_lab.memory.contract import Home
from theorex_lab.memory.embedded import EmbeddedTexts
from theorex_lab.memory.observation import TRUST, check_text
from theorex_lab.memory.replaced_texts import (
    LONGEST_STATED,
    StoredText,
    newest_first,
    replaced_texts,
)
from theorex_lab.memory.rows import Rows
from theorex_lab.search.blend import (
    WordScores,
    blend,
    likeliest,
    shown,
    weights_for,
    word_scores,
)
from theorex_lab.search.embed import Matrix
from theorex_lab.search.fuse import (
    Ids,
    Mask,
    Scores,
    best_first,
    distinct_ids,
    fuse_reciprocal_rank,
)
from theorex_lab.search.index import ItemIndex
from theorex_lab.search.items import MARKS, OWN_ITEMS, SECTION, SYMBOL, ItemText
from theorex_lab.search.lexical import tokenize
from theorex_lab.search.passages import Passages
from theorex_lab.search.word_forms import WordsOfTexts, is_english
from theorex_lab.text.line import one_line

MAX_RESULTS = 1_000
VectorUse = Literal["auto", "always", "never"]
Use = VectorUse | None
Among = Callable[[ItemIndex], Mask]
Vector = Matrix | None
T = TypeVar("T")
# Of each signal. For up to 50 results they are the same, so that a greater limit shows
# further results and changes none of the first.
_CANDIDATES = 200
_HOLDS_ALL = 0.8  # of the query's words, by idf
# of them, in one text: then no model is loaded for a search that may go without
_SUFFICES = 0.6
_EMBEDDING_SECONDS = 1.0  # that a search spends on vectors that are missing
_STAND_IN = 3  # texts whose vectors stand in for the query's
# Of the best text's score, that a text gets which full activation reaches.
_REACHED_SHARE = 0.5
# By signal of `Hits.why`, what a person reads. The length of a text finds nothing.
_SIGNAL_NAMES = {
    "words": "words",
    "passage": "words",
    "around": "nearby words",
    "vector": "meaning",
    "passage_vector": "meaning",
    "speaker": "speaker",
    "asked": "asked",
    "links": "links",
}
# How many of the best texts are compared with newer ones, and how much of the query they
# hold at least, beside the one of them that holds most. On fact_updates 15, 20, 30 and
# 50 give the same figures, and so do all of them and those that hold half.
_COMPARED = 15
_COMPARED_SHARE = 0.5
_PARTS = (SECTION.name, SYMBOL.name)  # of files, which are read again as they change
# Of the newest texts, that are read where none has a word of the query.
_READ_FOR_FORMS = 2_000
_KEPT_FOR_FORMS = 5 * _READ_FOR_FORMS  # texts whose words stay in memory
_SHOWN_FORMS = 5
_SHOWN_CHARACTERS = 80  # of a text in a repr
_WORD = lazy_pattern(r"\w+")


class Hit(NamedTuple):
    """One result.

    Attributes:
        id: The item's id: the event id of a text, the concept_id of a concept.
        kind: The kind of item.
        text: The item's text.
        agent: Whose it is.
        score: 0..1, higher is better.
        subject: What the item is about, see `ItemText`.
        timestamp: When its event happened (µs UTC).
        replaced_at: When a newer text took its place (µs UTC); None while it stands.

    >>> hit = Hit("1", "observation", "The till rounds half up", "main", 0.9, "", 0)
    >>> hit
    Hit(0.90, observation, 'The till rounds half up')
    """

    id: str
    kind: str
    text: str
    agent: str
    score: float
    subject: str
    timestamp: int
    replaced_at: int | None = None

    def __repr__(self) -> str:
        text = one_line(
            self.text,
            _SHOWN_CHARACTERS,
        )
        score = f"{self.score:.2f}"
        return f"Hit({score}, {self.kind}, {text!r})"

    def __str__(self) -> str:
        """Return the score and the text in one line."""
        text = one_line(self.text)
        return f"{self.score:.2f}  {text}"


@dataclass(frozen=True, repr=False)
class Hits(Rows[Hit]):
    """Results, best first.

    Attributes:
        query: The query.
        hits: The results.
        notes: What was left out and why, such as an embedder that did not answer.
        events: By result, the id of the event that holds its text.
        why: By result, what each signal added to its sum (see `search.blend.WEIGHTS`),
            of which the score is made.

    >>> from theorex_lab import Lab
    >>> with Lab.temporary() as lab:
    ...     _ = lab.agent("main").write("The till rounds half up")
    ...     hits = lab.search("till")
    >>> hits, hits[0].text
    (Hits(1 for 'till'), 'The till rounds half up')
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

    @property
    def signals(self) -> tuple[tuple[str, ...], ...]:
        """By result, the signals that found it.

        They are words, nearby words, meaning, speaker, asked (a person said it to an
        agent) and links.
        """
        found_by = map(_signals_in, self.why)
        return tuple(found_by)

    def within(self, tokens: int, *, at_least: int = 1) -> "Hits":
        """Return the best results whose texts fit into a budget of tokens.

        Args:
            tokens: The budget.
            at_least: How many results are returned whatever they cost.

        >>> hits = Hits("till", (Hit("1", "memo", "The till", "main", 0.9, "", 0),))
        >>> len(hits.within(1)), len(hits.within(1, at_least=0))
        (1, 0)
        """
        n_hits = 0
        for hit in self.hits:
            tokens -= count_tokens(hit.text)
            if tokens < 0 and n_hits >= at_least:
                break
            n_hits += 1
        return replace(
            self,
            hits=self.hits[:n_hits],
            events=self.events[:n_hits],
            why=self.why[:n_hits],
        )

    def __str__(self) -> str:
        """Return a line for each result and what found it, then the notes."""
        lines: list[str] = []
        for number, hit in enumerate(self.hits):
            line = str(hit)
            parts: Mapping[str, float] = {}
            if self.why:
                parts = self.why[number]
            signals = _signals_in(parts)
            if signals:
                listed = ", ".join(signals)
                line += f"  ({listed})"
            lines.append(line)
        if not lines:
            lines.append("nothing found")
        for note in self.notes:
            lines.append(f"({note})")
        return "\n".join(lines)


def _signals_in(parts: Mapping[str, float]) -> tuple[str, ...]:
    """Return in plain words the signals that speak for a result.

    >>> _signals_in({"words": 0.4, "passage": 0.2, "vector": 0.3, "around": -0.1})
    ('words', 'meaning')
    """
    names: dict[str, None] = {}
    for signal, share in parts.items():
        name = _SIGNAL_NAMES.get(signal, "")
        if name and share > 0:
            names[name] = None
    return tuple(names)


_Row = tuple[Hit, str, Mapping[str, float]]  # with its event's id, and why


class _Ranked(NamedTuple):
    """Documents, best first.

    Attributes:
        documents: The documents.
        scores: Their scores, 0..1.
        parts: By signal, what it added to each score.
        held: The share of the query's words that each of them holds; of none of them
            where that is not counted.
        replaced_at: By document that a newer one replaces, when that was made (µs UTC).
    """

    documents: Ids
    scores: Scores
    parts: Mapping[str, Scores]
    held: Scores = np.zeros(0)
    replaced_at: Mapping[int, int] = MappingProxyType({})

    @property
    def most_held(self) -> float:
        """The greatest share of the query's words that one of them holds."""
        return float(self.held.max(initial=0.0))


class _Read(NamedTuple):
    """What one search has read of the journal, so that it reads nothing twice.

    Attributes:
        events: By seq, the events.
        items: By document, its item; None where its event does not hold it any more.
    """

    events: dict[int, Event]
    items: dict[int, ItemText | None]

    def item_of(self, index: ItemIndex, document: int, event: Event) -> ItemText | None:
        """Return a document's item from its event."""
        if document not in self.items:
            self.items[document] = index.item_of(document, event)
        return self.items[document]


class _Request(NamedTuple):
    """What one search looks for in one index.

    Attributes:
        query: The query.
        limit: The greatest number of results.
        spread: Whether related documents are results too.
        labels: Whether labels are searched, and not texts.
        history: Whether texts that a newer one replaces are results too.
    """

    query: str
    limit: int
    spread: bool
    labels: bool
    history: bool = False

    @property
    def n_candidates(self) -> int:
        """How many documents of each signal are candidates."""
        return max(_CANDIDATES, 4 * self.limit)


class Searcher:
    """Search over one home: of texts by words and vectors, of labels by words.

    Vectors are taken from the cache.
    """

    def __init__(self, home: Home) -> None:
        self.home = home
        self.vectors = EmbeddedTexts(home)
        self._cache: dict[tuple[str, str], tuple[Table, int, Any]] = {}
        self._keeps_read = False

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
        history: bool = False,
    ) -> Hits:
        """Return the items that answer the query best.

        Of short texts that give one thing different values the newest is a result, in
        the best place of them all; `notes` says how many older ones are left out.

        Nothing comes back where nothing fits (`searchFloor`). A few vectors that are
        missing are made first, as far as a second reaches. Where the embedder does not
        answer in time, or more vectors are missing, words decide instead, and `notes`
        says so.

        Args:
            query: The query.
            agents: Whose items are results, beside what they share; None for all.
            limit: The greatest number of results.
            cold: Whether archived items are results too.
            tag: A tag that the items carry; None for any.
            spread: Whether texts that belong to the results are results too, as each
                design says. Theorex lets activation run from their concepts over links
                (two hops, weaker by each link's strength); nothing of it is stored.
            kinds: The kinds of items; None for texts of all kinds. Labels, such as
                concepts, and what duplicates another text are results only where their
                kind is named.
            projects: The projects whose items are results, beside those of none and
                shared ones; None for all.
            vectors: Whether the query's vector is computed, see the setting
                `searchVectors`; None is always, unless that is never.
            history: Whether older texts that a newer one replaces are results too. They
                follow it, and `Hit.replaced_at` says when it took their place.

        Raises:
            InvalidInput: The query is blank, the limit is outside 1..1000, or no design
                here has a kind of item.
        """
        if kinds is not None:
            self._check_kinds(kinds)

        def among(index: ItemIndex) -> Mask:
            allowed = self._visible(index, agents, tag, projects)
            if kinds is not None:
                allowed &= index.of_kinds(kinds)
            if not cold:
                allowed = allowed & self._awake(index)
            if kinds is None:
                allowed = allowed & ~self._duplicates(index, allowed)
            return allowed

        labels = self._label_kinds(kinds)
        results = []
        if not labels or len(labels) < len(kinds or ()):
            texts = self.search_among(
                query,
                among,
                limit=limit,
                spread=spread,
                vectors=vectors,
                history=history,
            )
            results.append(texts)
        if labels:
            results.append(self.search_among(query, among, limit=limit, labels=True))
        if len(results) == 1:
            return results[0]
        return _merged(results[0], results[1], limit)

    def _visible(
        self,
        index: ItemIndex,
        agents: Sequence[str] | None,
        tag: str | None,
        projects: Sequence[str] | None,
    ) -> Mask:
        """Return a mask of the documents that these agents and projects may find."""
        visible = index.allowed(agents=agents, tag=tag, projects=projects)
        is_restricted = agents is not None or projects is not None
        if tag is None and is_restricted:
            for also_visible in self._answers("visible"):
                visible |= also_visible(self.home, index, visible)
        closed = self.home.closed_projects
        if closed:
            visible &= ~index.only_within(closed)
        return visible

    def _label_kinds(self, kinds: Sequence[str] | None) -> list[str]:
        """Return those of the kinds that are labels."""
        if kinds is None:
            return []
        label_kinds = self.home.label_view.items
        return [kind.name for kind in label_kinds if kind.name in kinds]

    def search_among(
        self,
        query: str,
        among: Among,
        *,
        limit: int,
        spread: bool = False,
        labels: bool = False,
        vectors: Use = None,
        history: bool = False,
    ) -> Hits:
        """Return the texts, or the labels, that answer the query best.

        Hidden documents are never results.

        Args:
            query: The query.
            among: Makes a mask of the documents of an index that may be results.
            limit: The greatest number of results.
            spread: Whether related documents are results too.
            labels: Whether labels are searched, and not texts.
            vectors: As in `search`.
            history: As in `search`.

        Raises:
            InvalidInput: As `search` does.
        """
        check_text(query, self.home.settings.max_text_bytes)
        _check_limit(limit)
        request = _Request(query, limit, spread, labels, history)
        use = self._vector_use(labels, vectors)
        if not labels and use != "always" and self.vectors.must_load:
            hits = self._search_without_model(request, among, use)
            if hits is not None:
                return hits
            use = "always"
        vector: Vector = None
        notes: list[str] = []
        if use != "never":
            vector, notes = self.vectors.vector_of(query)
        if vector is not None:
            problem = self.vectors.embed_for_search(
                _EMBEDDING_SECONDS,
                lambda index: self._best_by_words(index, request, among),
            )
            if problem:
                notes.append(f"some texts wait for a vector: {problem}")
        # After the vector, which an endpoint may take its time for: what is searched is
        # what is there then.
        index = self._index(request)
        with index.lock:
            return self._search_index(
                request, index, _searchable(index, among), vector, notes
            )

    def _best_by_words(self, index: ItemIndex, request: _Request, among: Among) -> Ids:
        """Return the documents that may be results, best first by words alone."""
        allowed = _searchable(index, among)
        return self._ranked(index, request, None, allowed).documents

    def _vector_use(self, labels: bool, vectors: Use) -> VectorUse:
        """Return whether the query's vector is computed."""
        if labels:
            return "never"
        if vectors:
            return vectors
        if self.home.settings.search_vectors == "never":
            return "never"
        return "always"

    def _index(self, request: _Request) -> ItemIndex:
        """Return the index that is searched, up to date."""
        if request.labels:
            return self.home.views.get(self.home.label_view)
        return self.home.views.get(self.home.item_view)

    def _search_without_model(
        self, request: _Request, among: Among, use: VectorUse
    ) -> Hits | None:
        """Search by words, so that no model is loaded; None where a model is needed.

        Where a text holds most of the query's words, the vectors of the best texts
        stand in for the query's.
        """
        index = self._index(request)
        with index.lock:
            allowed = _searchable(index, among)
            ranked = self._ranked(index, request, None, allowed)
            vector: Vector = None
            if not allowed.any():
                return self._search_index(request, index, allowed, None, [])
            if ranked.most_held >= _SUFFICES:
                vector = self.vectors.mean_of(
                    index, ranked.documents[:_STAND_IN], ranked.scores[:_STAND_IN]
                )
            elif use == "auto":
                return None
            return self._search_index(request, index, allowed, vector, [])

    def _search_index(
        self,
        request: _Request,
        index: ItemIndex,
        allowed: Mask,
        vector: Vector,
        notes: list[str],
    ) -> Hits:
        """Return the best of the allowed documents; the index is locked."""
        if vector is not None:
            self.vectors.follow(index)
            n_waiting, n_texts = self.vectors.n_waiting()
            if n_waiting:
                notes.append(
                    f"{n_texts - n_waiting} of {n_texts} texts have vectors;"
                    " `theorex embed` makes the others"
                )
        ranked = self._ranked(index, request, vector, allowed)
        if not len(ranked.documents) and not request.labels:
            ranked = self._by_other_forms(index, request, vector, allowed, notes)
        read = self._read_of(index)
        by_date = self.home.settings.search_superseding
        if by_date and not request.labels:
            best = ranked.documents[: request.limit].tolist()
            ranked = self._newest_first(index, request, ranked, read)
            if ranked.replaced_at and not request.history:
                notes += _notes_of_older(ranked.replaced_at.keys() & set(best))
                allowed = allowed.copy()
                allowed[list(ranked.replaced_at)] = False
        if request.spread:
            ranked = self._spread(index, ranked, allowed, request.limit)
        rows = list(self._hits(index, ranked, request.limit, read))
        return _hits_of(request.query, rows, notes)

    def keep_read(self) -> None:
        """Keep what searches read of the journal for those that follow.

        Only for a home in which nothing is erased meanwhile, such as that of a score.
        """
        self._keeps_read = True

    def _read_of(self, index: ItemIndex) -> _Read:
        """Return what was read of the documents of an index; nothing unless it is kept."""
        if not self._keeps_read:
            return _Read({}, {})
        return self._cached(index, "read", 0, lambda: _Read({}, {}))

    def _by_other_forms(
        self,
        index: ItemIndex,
        request: _Request,
        vector: Vector,
        allowed: Mask,
        notes: list[str],
    ) -> _Ranked:
        """Return what other forms of the query's words find; a note says which."""
        forms = self._other_forms(index, request, allowed)
        if not forms:
            return _Ranked(np.zeros(0, np.int64), np.zeros(0), {})
        shown_forms = ", ".join(forms[:_SHOWN_FORMS])
        notes.append(
            "No text has a word of the query; these texts have other forms of"
            f" one, or words that begin or end alike: {shown_forms}"
        )
        other_request = request._replace(query=" ".join(forms))
        return self._ranked(index, other_request, vector, allowed)

    def _other_forms(
        self, index: ItemIndex, request: _Request, allowed: Mask
    ) -> list[str]:
        """Return words of the newest texts that may be forms of a query's words."""
        if is_english(request.query):
            return []
        documents = np.flatnonzero(allowed)
        newest = documents[-_READ_FOR_FORMS:].tolist()
        words = self._words_of_texts(index, newest)
        return words.forms_of(request.query, newest)

    def _words_of_texts(self, index: ItemIndex, documents: list[int]) -> WordsOfTexts:
        """Return the words of texts, these among them.

        A document never changes, and an erasure makes another index.
        """
        words = self._cached(index, "words of texts", 0, WordsOfTexts)
        unread = [document for document in documents if document not in words]
        if len(words) + len(unread) > _KEPT_FOR_FORMS:
            words.forget()
            unread = documents
        read = _Read({}, {})
        rows = np.array(unread, np.int64)
        self._read_events(index, rows, read)
        for document in unread:
            stored = self._stored_text(index, document, read)
            words.add(document, stored.text)
        return words

    def _ranked(
        self, index: ItemIndex, request: _Request, vector: Vector, allowed: Mask
    ) -> _Ranked:
        """Return the documents that fit the query, best first."""
        candidates = self._candidates(index, request, vector, allowed)
        documents, columns, held = candidates
        if not len(documents):
            return _Ranked(documents, np.zeros(0), {})
        settings = self.home.settings
        if settings.fusion == "reciprocal_rank":
            return _by_reciprocal_rank(
                documents, columns, int(settings.reciprocal_rank_k)
            )
        is_symbol = index.of_kinds([SYMBOL.name], documents)
        weights = weights_for(
            columns,
            settings.search_weights,
            of_code=bool(is_symbol.all()),
        )
        total, parts = blend(columns, weights)
        # A text that holds the words of the query fits, also where all texts hold them
        # and none stands out.
        holds_words = held >= _HOLDS_ALL
        fits = (shown(total) >= settings.search_floor) | holds_words
        n_fitting = int(fits.sum())
        best, totals = best_first(documents[fits], total[fits], n_fitting)
        rows = np.searchsorted(documents, best)
        best_parts = {name: part[rows] for name, part in parts.items()}
        return _Ranked(best, shown(totals), best_parts, held[rows])

    def _candidates(
        self, index: ItemIndex, request: _Request, vector: Vector, allowed: Mask
    ) -> tuple[Ids, dict[str, Scores], Scores]:
        """Return the documents that one of the signals puts among the first.

        Returns:
            The documents, their signals, and the share of the query's words that each
            holds.
        """
        passages = self._passages(index)
        scored = word_scores(index.lexical, tokenize(request.query), passages)
        n_candidates = request.n_candidates
        by_signal = [
            likeliest(scored.words, allowed, n_candidates),
            likeliest(scored.passage, allowed, n_candidates),
        ]
        if vector is not None:
            by_signal.append(self.vectors.near(vector, allowed, n_candidates))
        documents = distinct_ids(by_signal, len(index.documents))
        columns: dict[str, Scores] = {}
        if len(documents):
            columns = self._signals(
                index, request.query, vector, documents, passages, scored
            )
        return documents, columns, scored.held[documents]

    def _passages(self, index: ItemIndex) -> Passages:
        """Return the passages of an index's documents."""
        session = index.documents["session"]
        words = index.lexical.lengths
        echo = index.documents["echo"] != 0

        def grown(passages: Passages) -> Passages:
            return passages.grown(session, words, echo)

        return self._cached(
            index,
            "passages",
            len(session),
            lambda: Passages(session, words, echo),
            grown,
        )

    def _signals(
        self,
        index: ItemIndex,
        query: str,
        vector: Vector,
        documents: Ids,
        passages: Passages,
        scored: WordScores,
    ) -> dict[str, Scores]:
        """Return by signal a value for each candidate."""
        neighbours: list[Ids] = []
        if passages.any:
            neighbours = [passages.before(documents), passages.after(documents)]
        around = np.zeros(len(documents))
        for neighbour in neighbours:
            has_neighbour = neighbour >= 0
            around = around + np.where(has_neighbour, scored.words[neighbour], 0.0)
        is_named = self._named_speakers(index, query)
        table = index.documents
        columns = {
            "words": scored.words[documents],
            "passage": scored.passage[documents],
            "around": around,
            "speaker": is_named[table["speaker"][documents]],
            "asked": table["asked"][documents].astype(float),
            "length": np.log1p(index.lexical.lengths[documents].astype(float)),
        }
        if vector is not None:
            columns |= self._vector_signals(vector, documents, neighbours)
        return columns

    def _vector_signals(
        self, vector: Matrix, documents: Ids, neighbours: Sequence[Ids]
    ) -> dict[str, Scores]:
        """Return the cosines of the candidates and of their passages.

        There are none where no candidate has a vector.
        """
        near = np.stack([documents, *neighbours])
        near_documents = np.maximum(near, 0).ravel()
        has_vector, matrix = self.vectors.of(near_documents)
        is_there = near >= 0
        has_vector = has_vector.reshape(near.shape) & is_there
        is_covered = has_vector[0]
        if not is_covered.any():
            return {}
        vectors = matrix.reshape(*near.shape, -1)
        vectors[~has_vector] = 0.0
        passages = vectors.sum(axis=0)
        squares = np.einsum("ij,ij->i", passages, passages)
        lengths = np.maximum(np.sqrt(squares), 1e-9)
        cosines = vectors[0] @ vector
        passage_cosines = passages @ vector / lengths
        return {
            "vector": _where(is_covered, cosines),
            "passage_vector": _where(is_covered, passage_cosines),
        }

    def _named_speakers(self, index: ItemIndex, query: str) -> Scores:
        """Return 1 where the query names a speaker, else 0, by number of the speaker.

        Nobody stands at the end.
        """
        n_speakers = len(index.speakers)
        speakers = self._cached(
            index, "speakers", n_speakers, lambda: _speakers_by_word(index)
        )
        is_named = np.zeros(n_speakers + 1)
        for word in _WORD.findall(query):
            is_named[speakers.get(word, [])] = 1.0
        return is_named

    def _spread(
        self, index: ItemIndex, ranked: _Ranked, allowed: Mask, limit: int
    ) -> _Ranked:
        """Add the texts that belong to the first results.

        They are weaker than the best of them.
        """
        if not len(ranked.documents):
            return ranked
        now = self.home.clock.now()
        first = ranked.documents[:limit]
        ranked_documents = ranked.documents.tolist()
        ranked_scores = ranked.scores.tolist()
        pairs = zip(ranked_documents, ranked_scores, strict=True)
        scores = dict(pairs)
        best_score = ranked_scores[0]
        full_activation = _REACHED_SHARE * best_score
        for related in self._answers("related"):
            documents, activations = related(self.home, index, first, allowed, now)
            for document, activation in zip(documents, activations, strict=True):
                number = int(document)
                score = float(activation) * full_activation
                score_before = scores.get(number, 0.0)
                scores[number] = max(score, score_before)
        ids = np.array(list(scores), np.int64)
        all_scores = np.array(list(scores.values()))
        best, ordered = best_first(ids, all_scores, len(ids))
        row_of = {document: row for row, document in enumerate(ranked_documents)}
        # A document that was reached has row -1, where the signals' zero is appended.
        best_rows = [row_of.get(document, -1) for document in best.tolist()]
        rows = np.array(best_rows)
        parts: dict[str, Scores] = {}
        for name, part in ranked.parts.items():
            with_zero = np.append(part, 0.0)
            parts[name] = with_zero[rows]
        parts["links"] = np.where(rows < 0, ordered, 0.0)
        return _Ranked(best, ordered, parts, replaced_at=ranked.replaced_at)

    def _newest_first(
        self,
        index: ItemIndex,
        request: _Request,
        ranked: _Ranked,
        read: _Read,
    ) -> _Ranked:
        """Return the ranking with newer texts in the place of those they replace.

        Compared are short texts among the best that hold about as many words of the
        query as another one does.

        Args:
            index: The index.
            request: What is searched.
            ranked: The documents, best first.
            read: What was read; what is read here is added.
        """
        rows = _compared_rows(index, ranked)
        if len(rows) < 2:
            return ranked
        # The order in which they came decides between texts of the same time.
        rows.sort(key=lambda row: int(ranked.documents[row]))
        documents = ranked.documents[rows]
        # With those that are probably shown: asking once is cheaper.
        first = ranked.documents[: request.limit]
        compared_or_shown = distinct_ids([documents, first], len(index.documents))
        self._read_events(index, compared_or_shown, read)
        texts = [
            self._stored_text(index, document, read) for document in documents.tolist()
        ]
        replaced_by: dict[int, int] = {}
        for position, newer in enumerate(replaced_texts(texts)):
            if newer is not None:
                replaced_by[rows[position]] = rows[newer]
        if not replaced_by:
            return ranked
        made_at = {
            row: text.at
            for row, text in zip(
                rows,
                texts,
                strict=True,
            )
        }
        ordered = newest_first(
            ranked.scores.tolist(),
            replaced_by,
            history=request.history,
        )
        replaced_at = {
            int(ranked.documents[row]): made_at[newer]
            for row, newer in ordered.newer.items()
        }
        order = np.array(ordered.rows)
        held = ranked.held[order] if len(ranked.held) else ranked.held
        return _Ranked(
            ranked.documents[order],
            np.array(ordered.scores),
            {name: part[order] for name, part in ranked.parts.items()},
            held,
            replaced_at,
        )

    def _read_events(self, index: ItemIndex, documents: Ids, read: _Read) -> None:
        """Read the events of documents from the journal that were not read yet."""
        event_seqs = index.documents["seq"][documents].tolist()
        missing = [seq for seq in event_seqs if seq not in read.events]
        if missing:
            for event in self.home.journal.read(seqs=missing):
                read.events[event.seq] = event

    def _stored_text(self, index: ItemIndex, document: int, read: _Read) -> StoredText:
        """Return a document as it is compared with newer ones; '' for an erased one."""
        event_seq = int(index.documents["seq"][document])
        event = read.events.get(event_seq)
        item = None
        if event is not None:
            item = read.item_of(index, document, event)
        if event is None or item is None:
            return StoredText("", 0)
        source = event.body.get("source", "agent")
        if event.kind in MARKS:
            source = "user"
        return StoredText(
            item.text,
            event.at,
            event.body.get("project", ""),
            TRUST.get(source, 0),
        )

    def _cached(
        self,
        index: ItemIndex,
        name: str,
        version: int,
        make: Callable[[], T],
        grow: Callable[[T], T] | None = None,
    ) -> T:
        """Return what was made of an index.

        It is made again where the index is another one or has another version.

        Args:
            index: The index.
            name: What it is.
            version: What it was made of: the number of documents, or of an event.
            make: Makes it.
            grow: Makes it of what was made of an earlier version; None for `make`.
        """
        nothing = (None, 0, None)
        table, made_version, value = self._cache.get((name, index.name), nothing)
        is_same_index = table is index.documents
        if is_same_index and made_version == version:
            return cast(T, value)
        if is_same_index and grow is not None and made_version < version:
            value = grow(cast(T, value))
        else:
            value = make()
        self._cache[name, index.name] = index.documents, version, value
        return value

    def _duplicates(self, index: ItemIndex, allowed: Mask) -> Mask:
        """Return a mask of the documents that duplicate one of the allowed."""
        mask = np.zeros(len(index.documents), bool)
        duplicates, originals = self._cached(
            index, "echoes", len(mask), lambda: _duplicate_pairs(index)
        )
        mask[duplicates] = allowed[originals]
        return mask

    def _answers(self, question: str) -> list[Callable[..., Any]]:
        """Return the functions by which designs answer a question of `SearchPart`.

        Args:
            question: The name of the question.
        """
        functions = (getattr(design.search, question) for design in self.home.designs)
        return [function for function in functions if function is not None]

    def _check_kinds(self, kinds: Sequence[str]) -> None:
        """Raise InvalidInput for a kind of item that no design here has."""
        names: dict[str, None] = {}  # designs may share a kind
        for design in self.home.designs:
            names.update(dict.fromkeys(kind.name for kind in design.items))
        names.update(dict.fromkeys(kind.name for kind in OWN_ITEMS))
        for kind in kinds:
            if kind not in names:
                near = "".join(difflib.get_close_matches(kind, names, n=1, cutoff=0))
                allowed = ", ".join(names) or "none"
                raise InvalidInput(
                    f"got the item kind {kind!r}; allowed are {allowed}; {near!r} is"
                    " nearest"
                )

    def _awake(self, index: ItemIndex) -> Mask:
        """Return a mask of the documents that are not archived."""

        def awake() -> Mask:
            masks = [index.documents["asleep"], index.documents["dismissed"]]
            masks += [asleep(self.home, index) for asleep in self._answers("asleep")]
            return np.asarray(~np.logical_or.reduce(masks))

        return self._cached(index, "awake", index.seq, awake)

    def _hits(
        self,
        index: ItemIndex,
        ranked: _Ranked,
        limit: int,
        read: _Read,
    ) -> Iterator[_Row]:
        """Read the texts of the best documents from the journal.

        Args:
            index: The index.
            ranked: The documents, best first.
            limit: The most rows.
            read: What was read already; what is read here is added.
        """
        documents = ranked.documents[:limit]
        self._read_events(index, documents, read)
        event_seqs = index.documents["seq"][documents].tolist()
        pairs = zip(documents.tolist(), event_seqs, strict=True)
        for row, (document, event_seq) in enumerate(pairs):
            event = read.events.get(event_seq)
            if event is None:
                continue  # erased since the index was looked into
            item = read.item_of(index, document, event)
            if item is None:
                continue
            score = round(float(ranked.scores[row]), 6)
            kind = index.kind_of(document)
            text = item.text
            if kind == SYMBOL.name:
                text = text.partition("\n· ")[0]  # the words of its source are no text
            hit = Hit(
                item.item_id,
                kind,
                text,
                event.agent,
                score,
                item.subject,
                event.at,
                ranked.replaced_at.get(document),
            )
            yield hit, event.id, _parts_of(ranked, row)


def _parts_of(ranked: _Ranked, row: int) -> dict[str, float]:
    """Return by signal what it adds to the score of a row, where it adds anything."""
    parts: dict[str, float] = {}
    for name, part in ranked.parts.items():
        share = float(part[row])
        if share:
            parts[name] = round(share, 4)
    return parts


def _compared_rows(index: ItemIndex, ranked: _Ranked) -> list[int]:
    """Return the rows of a ranking that may replace one another."""
    documents = ranked.documents[:_COMPARED]
    is_compared = index.lexical.lengths[documents] <= LONGEST_STATED
    is_compared &= ~index.of_kinds(_PARTS, documents)
    if len(ranked.held):
        held = ranked.held[:_COMPARED]
        most_held = held.max(initial=0.0)
        is_compared &= held >= _COMPARED_SHARE * most_held
    rows: list[int] = np.flatnonzero(is_compared).tolist()
    return rows


def _notes_of_older(documents: Collection[int]) -> list[str]:
    """Return a note on results that are left out, since newer ones replace them."""
    if not documents:
        return []
    if len(documents) == 1:
        return ["1 older statement left out; history shows it"]
    return [f"{len(documents)} older statements left out; history shows them"]


def _check_limit(limit: int) -> None:
    """Raise InvalidInput for a limit outside 1..MAX_RESULTS."""
    is_whole = isinstance(limit, int) and not isinstance(limit, bool)
    if not is_whole or not 1 <= limit <= MAX_RESULTS:
        raise InvalidInput(f"got the limit {limit!r}; allowed are 1 to {MAX_RESULTS}")


def _searchable(index: ItemIndex, among: Among) -> Mask:
    """Return a mask of the documents of `among` that are not hidden or corrected."""
    is_shut_out = index.documents["hidden"] | index.documents["corrected"]
    return np.asarray(among(index) & ~is_shut_out)


def _by_reciprocal_rank(
    documents: Ids, columns: Mapping[str, Scores], k: int
) -> _Ranked:
    """Rank the candidates by their ranks by words and by vectors."""
    rankings = {}
    for name in ("words", "vector"):
        if name in columns:
            column = columns[name]
            has_value = ~np.isnan(column)
            rankings[name] = (documents[has_value], column[has_value])
    best, scores = fuse_reciprocal_rank(list(rankings.values()), k=k)
    parts: dict[str, Scores] = {}
    best_first_ids = best.tolist()
    for name, ranking in rankings.items():
        ids, shares = fuse_reciprocal_rank([ranking], k=k)
        ranked_ids = ids.tolist()
        pairs = zip(ranked_ids, shares.tolist(), strict=True)
        share_of = dict(pairs)
        shares_by_rank = [share_of.get(number, 0.0) for number in best_first_ids]
        parts[name] = np.array(shares_by_rank)
    return _Ranked(best, scores, parts)


def _where(is_covered: Mask, cosines: Matrix) -> Scores:
    """Return the cosines of what is covered, NaN elsewhere."""
    return np.where(is_covered, cosines, np.nan).astype(float)


def _duplicate_pairs(index: ItemIndex) -> Ids:
    """Return the documents that duplicate another one, and those which they duplicate.

    The array is of shape (2, n).
    """
    duplicate_of = index.documents["echo"]
    duplicates = np.flatnonzero(duplicate_of)
    originals, number_of = np.unique(duplicate_of[duplicates], return_inverse=True)
    if not len(originals):
        return np.zeros((2, 0), np.int64)
    # Far fewer than all items, which would take long to sort.
    items = index.documents["item"]
    numbers = np.searchsorted(originals, items)
    last_number = len(originals) - 1
    numbers = np.minimum(numbers, last_number)
    is_original = originals[numbers] == items
    remembered = np.full(len(originals), -1)
    # The first document of an item is put there last.
    documents = np.flatnonzero(is_original)[::-1]
    remembered[numbers[documents]] = documents
    original_of = remembered[number_of]
    is_remembered = original_of >= 0
    return np.stack(
        [
            duplicates[is_remembered],
            original_of[is_remembered],
        ]
    )


def _speakers_by_word(index: ItemIndex) -> dict[str, list[int]]:
    """Return by word the numbers of the speakers whose names hold it.

    Short words, as initials, are left out.
    """
    speakers: dict[str, list[int]] = {}
    for number, name in enumerate(index.speakers):
        for word in _WORD.findall(name):
            if len(word) > 2:
                speakers.setdefault(word, []).append(number)
    return speakers


def _merged(texts: Hits, labels: Hits, limit: int) -> Hits:
    """Return texts and labels by their scores, at most `limit`."""
    rows: list[_Row] = []
    for hits in (texts, labels):
        rows += zip(hits.hits, hits.events, hits.why, strict=True)
    rows.sort(key=lambda row: -row[0].score)
    return _hits_of(texts.query, rows[:limit], texts.notes)


def _hits_of(query: str, rows: Sequence[_Row], notes: Sequence[str]) -> Hits:
    """Return the rows as results."""
    if not rows:
        return Hits(query, (), tuple(notes))
    hits, event_ids, parts = zip(*rows, strict=True)
    return Hits(query, hits, tuple(notes), event_ids, parts)
