"""Score how well search finds the texts that answer questions.

Every method goes through the search that ships, in a home of its own.

>>> from theorex_lab.eval.adapters.protocol import EvalLog, EvalQuery
>>> from theorex_lab.journal.event import new_event
>>> from theorex_lab.search.embed import HashedNgramEmbedder
>>> said = [
...     new_event("prompt", {"text": text, "source": "user", "project": ""}, agent="main", at=1)
...     for text in ("the port is 8080", "it rains")
... ]
>>> log = EvalLog("tiny", said, [EvalQuery(2, "which port?", frozenset({said[0].id}))])
>>> score_retrieval([log], embedder=HashedNgramEmbedder()).value(
...     "default", "recall@5"
... )
1.0
"""

import json
import math
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from html import escape
from operator import is_
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from theorex_lab.core.clock import FixedClock
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.readable import short_repr
from theorex_lab.core.settings import Settings, check_settings
from theorex_lab.eval.adapters.protocol import EvalLog, EvalQuery
from theorex_lab.eval.datasets.dataset_files import cache_folder
from theorex_lab.eval.datasets.log_sets.said import locomo, precisionmembench
from theorex_lab.eval.datasets.logs import load_logs
from theorex_lab.journal.event import Event
from theorex_lab.memory.briefing.token_budget import count_tokens
from theorex_lab.memory.contract import Design, ItemKind, ItemText
from theorex_lab.memory.retrieve import Hits
from theorex_lab.memory.rows import table_html, table_text
from theorex_lab.search.blend import WEIGHTS
from theorex_lab.search.embed import Embedder, EmbedderKind, choose_embedder
from theorex_lab.search.fuse import Scores
from theorex_lab.search.vectors import VectorCache, text_key
from theorex_lab.store.lab import Lab

Weights = Mapping[str, float]
SETS = (
    "locomo",
    "qmsum",
    "fact_updates",
    "precisionmembench",
    "simulated_questions",
)
# Another way of searching: it reads all texts once, and returns for a query the
# positions of those it finds, best first.
PeerSearch = Callable[[Sequence[str]], Callable[[str], Sequence[int]]]
DEPTHS = (5, 10, 25, 50)
HIT_DEPTHS = (5, 10)
_RECALL = [f"recall@{depth}" for depth in DEPTHS]
_HIT = [f"hit@{depth}" for depth in HIT_DEPTHS]
METRICS = (*_RECALL, *_HIT, "ndcg@10", "tokens", "precision")
_PARTS = {
    "locomo": partial(locomo, unanswerable=True),
    "precisionmembench": partial(precisionmembench, searched=True),
}
_FIGURES = Path(__file__).with_name("retrieval_figures.json")
# Of the homes whose files are kept, all together.
_MOST_BYTES_KEPT = 32 * 2**20


def _text(member: str) -> Callable[[Event], list[ItemText]]:
    return lambda event: (
        [ItemText(event.id, event.body[member])] if event.body.get(member) else []
    )


# What people and agents said, and nothing else: the smallest memory that can be
# searched.
_SAID = {
    "observation": _text("text"),
    "prompt": _text("text"),
    "turn_ended": _text("message"),
}
TEXTS = Design("texts", items=(ItemKind("text", _SAID),))


def only(*names: str) -> dict[str, float]:
    """Return weights of 1 for these signals and of 0 for all others."""
    return {name: float(name in names) for name in WEIGHTS}


# By method: its weights (None: those in force), and whether it has vectors. All but
# what ships go without the floor, and find what a newer statement replaces.
METHODS: Mapping[str, tuple[Weights | None, bool]] = {
    "lexical": (only("words"), False),
    "vector": (only("vector"), True),
    "fused": (only("words", "vector"), True),
    "default_words": (None, False),
    "default": (None, True),
}


@dataclass(frozen=True, eq=False)
class Retrieval:
    """What each method found.

    Attributes:
        n: The number of questions.
        scores: By method, shape (questions, METRICS); tokens and precision are of ten
            texts.
        kinds: What makes each question hard, where the set says so.
        stale_first: By method, whether a text that answers no longer comes before
            each of those that do; NaN for a question without such texts.
    """

    n: int
    scores: Mapping[str, Scores]
    kinds: Sequence[str] = ()
    stale_first: Mapping[str, Scores] = field(default_factory=dict)

    def __repr__(self) -> str:
        methods = ", ".join(self.scores)
        return short_repr(self, f"{self.n} questions", methods)

    def __str__(self) -> str:
        return f"{self!r}\n{table_text(self._shown())}"

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{table_html(self._shown())}"

    def _shown(self) -> pd.DataFrame:
        """Return the frame with its names in a column."""
        return self.frame.rename_axis("method").reset_index()

    def value(self, method: str, metric: str) -> float:
        """Return the mean of a metric over the questions."""
        return float(np.mean(self.scores[method][:, METRICS.index(metric)]))

    @property
    def frame(self) -> pd.DataFrame:
        """Return a row a method, a column a metric of METRICS."""
        rows = {
            name: [self.value(name, metric) for metric in METRICS]
            for name in self.scores
        }
        return pd.DataFrame.from_dict(rows, orient="index", columns=list(METRICS))

    def by_kind(self, metric: str = "recall@5") -> pd.DataFrame:
        """Return the mean of a metric: a row a kind of question, a column a method.

        Raises:
            InvalidInput: The metric is none of METRICS.
        """
        if metric not in METRICS:
            raise InvalidInput(
                f"got the metric {metric!r}; allowed are {', '.join(METRICS)}"
            )
        column = METRICS.index(metric)
        values = {}
        for name, scores in self.scores.items():
            values[name] = scores[:, column]
        table = pd.DataFrame(values)
        return table.groupby(list(self.kinds), sort=False).mean()

    def result(self) -> dict[str, Any]:
        """Return recall_at, hit_at (depth → share), ndcg_at_10, tokens and precision.

        Tokens are those of the ten texts together.
        """
        by_method = {}
        for name in self.scores:
            by_method[name] = {
                "recall_at": self._by_depth(name, _RECALL),
                "hit_at": self._by_depth(name, _HIT),
                "ndcg_at_10": self.value(name, "ndcg@10"),
                "tokens": self.value(name, "tokens"),
                "precision": self.value(name, "precision"),
            }
        return by_method

    def _by_depth(self, method: str, metrics: Sequence[str]) -> dict[str, float]:
        return {
            metric.partition("@")[2]: self.value(method, metric) for metric in metrics
        }


def retrieval_logs(dataset: str, path: str = "") -> list[EvalLog]:
    """Return the logs of a set: its texts, and every question that some of them answer.

    Raises:
        InvalidInput: The set is unknown, or a path is given: no set here is one of your
            own.
    """
    if dataset not in SETS or path:
        got = f"got the data set {dataset!r}{f' at {path}' if path else ''}"
        raise InvalidInput(f"{got}; allowed are {', '.join(SETS)}, without a path")
    return (
        [make() for _, make in _PARTS[dataset]()]
        if dataset in _PARTS
        else load_logs(dataset)
    )


def known_figures(dataset: str) -> dict[str, Any]:
    """Return baselines, published and source: what is known of a set from elsewhere.

    It is empty where nothing is.
    """
    figures: dict[str, dict[str, Any]] = json.loads(
        _FIGURES.read_text(encoding="utf-8")
    )
    return figures.get(
        dataset,
        {
            "baselines": {},
            "published": {},
            "source": "",
        },
    )


def score_retrieval(
    logs: Sequence[EvalLog],
    *,
    embedder: Embedder | None = None,
    methods: Sequence[str] = tuple(METHODS),
    search_floor: float | None = None,
    search_weights: Mapping[str, float] | None = None,
    peers: Mapping[str, PeerSearch] | None = None,
) -> Retrieval:
    """Ask each log's questions, by each of these methods.

    Args:
        logs: Texts and questions.
        embedder: None is the one that is installed, its vectors kept in the user's
            cache. Where it is a lexical one, methods with vectors go by words.
        methods: Names of METHODS.
        search_floor: The setting of this name, in the place of the one that ships.
        search_weights: The setting of this name, in the place of the one that ships.
        peers: By name, other ways of searching the same texts.

    Returns:
        The scores of each method on every question, each 0..1 but the tokens.

    Raises:
        InvalidInput: No question has an answer among the texts.
    """
    embedder_used = embedder or kept_embedder()
    searches = peers or {}
    answered = _Answered((*searches, *methods))
    for log in logs:
        texts = log_texts(log)
        peer_searches = {name: make(texts) for name, make in searches.items()}
        with remembering(
            log,
            embedder_used,
            search_floor=search_floor,
            search_weights=search_weights,
        ) as lab:
            for probe in _answerable(log):
                results = {}
                for name, search in peer_searches.items():
                    results[name] = _texts_at(log, search(probe.query))
                for name in methods:
                    results[name] = _texts_of(found_by(lab, probe.query, name))
                answered.add(probe, results)
    if not answered.kinds:
        raise InvalidInput(
            "got no question that a text answers; allowed are logs with questions and"
            " their evidence"
        )
    return answered.result()


def _answerable(log: EvalLog) -> Iterator[EvalQuery]:
    """Yield the questions that some text answers."""
    for probe in log.probes:
        if probe.answers and probe.query.strip():
            yield probe


def _texts_at(log: EvalLog, positions: Sequence[int]) -> list[tuple[str, str]]:
    """Return the event and the text at the first of these positions of a log."""
    rows = []
    for position in positions[: DEPTHS[-1]]:
        event = log.events[position]
        text = event.body.get("text", "")
        rows.append((event.id, text))
    return rows


def _texts_of(hits: Hits) -> list[tuple[str, str]]:
    """Return the event and the text of each hit."""
    texts = [hit.text for hit in hits.hits]
    return list(zip(hits.events, texts, strict=True))


class _Answered:
    """The scores of every question so far, by method."""

    def __init__(self, methods: Sequence[str]) -> None:
        self.kinds = list[str]()
        self._rows: dict[str, list[list[float]]] = {name: [] for name in methods}
        self._stale_first: dict[str, list[float]] = {name: [] for name in methods}

    def add(
        self,
        probe: EvalQuery,
        results: Mapping[str, Sequence[tuple[str, str]]],
    ) -> None:
        """Score what the methods find for a question.

        Args:
            probe: The question.
            results: By method, the event and the text of each, best first.
        """
        self.kinds.append(probe.kind)
        for method, texts in results.items():
            event_ids = [event_id for event_id, _ in texts]
            tokens = [count_tokens(text) for _, text in texts[:10]]
            scores = _scores_of(event_ids, tokens, probe.answers)
            stale_first = _stale_first(event_ids, probe)
            self._rows[method].append(scores)
            self._stale_first[method].append(stale_first)

    def result(self) -> Retrieval:
        """Return all scores."""
        scores = {}
        stale_first = {}
        for name, rows in self._rows.items():
            scores[name] = np.array(rows)
            stale_first[name] = np.array(self._stale_first[name])
        return Retrieval(
            n=len(self.kinds),
            scores=scores,
            kinds=tuple(self.kinds),
            stale_first=stale_first,
        )


def _stale_first(event_ids: Sequence[str], probe: EvalQuery) -> float:
    """Return whether a text that answers no longer comes before those that do.

    It is NaN where the question has no such text.
    """
    if not probe.stale:
        return math.nan
    for event_id in event_ids:
        if event_id in probe.answers:
            return 0.0
        if event_id in probe.stale:
            return 1.0
    return 0.0


def log_texts(log: EvalLog) -> list[str]:
    """Return the text of each event of a log, '' for one without."""
    return [event.body.get("text", "") for event in log.events]


def found_without_answer(
    logs: Sequence[EvalLog],
    *,
    embedder: Embedder | None = None,
    method: str = "default",
    search_floor: float | None = None,
) -> tuple[float, float]:
    """Ask what nothing answers.

    Args:
        logs: Texts, and questions without answers among others.
        embedder: As `score_retrieval` has it.
        method: A name of METHODS.
        search_floor: The setting of this name, in the place of the one that ships.

    Returns:
        The share of those questions that get no text, 0..1, and how many of at most ten
        texts come back on average.

    Raises:
        InvalidInput: Every question has an answer.
    """
    embedder_used = kept_embedder() if embedder is None else embedder
    counts = []
    for log in logs:
        with remembering(log, embedder_used, search_floor=search_floor) as lab:
            for probe in log.probes:
                if probe.answers or not probe.query.strip():
                    continue
                hits = found_by(lab, probe.query, method)
                n_texts = len(hits.hits[:10])
                counts.append(n_texts)
    if not counts:
        raise InvalidInput(
            "got no question without an answer; allowed are logs with such questions,"
            " as simulated_questions has them"
        )
    n_questions = len(counts)
    n_silent = counts.count(0)
    return n_silent / n_questions, sum(counts) / n_questions


@contextmanager
def remembering(
    log: EvalLog,
    embedder: Embedder,
    *,
    search_floor: float | None = None,
    search_weights: Mapping[str, float] | None = None,
) -> Iterator[Lab]:
    """Yield a lab in a folder of its own that remembers the log's texts.

    Their vectors are computed. Homes of the logs that came last are not made anew.

    Args:
        log: The texts.
        embedder: Computes the vectors.
        search_floor: The setting of this name, in the place of the one that ships.
        search_weights: The setting of this name, in the place of the one that ships.
    """
    settings: dict[str, Any] = {}
    if search_floor is not None:
        settings["search_floor"] = search_floor
    if search_weights is not None:
        settings["search_weights"] = dict(search_weights)
    checked_settings = check_settings(settings)
    files = _home_files(log, embedder)
    with _scratch_folder() as folder:
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(mode=0o700, exist_ok=True)
            path.touch(mode=0o600)
            path.write_bytes(content)
        with _home_of(log, folder, embedder, checked_settings) as lab:
            lab.searcher.keep_read()
            yield lab


class _HomeFiles(NamedTuple):
    """The files of a home that remembers a log's texts.

    Attributes:
        events: The events of the log.
        embedder: What computed the vectors.
        files: What each file holds, by its path in the home.
    """

    events: Sequence[Event]
    embedder: Embedder
    files: Mapping[str, bytes]

    @property
    def size(self) -> int:
        """How many bytes the files have."""
        return sum(map(len, self.files.values()))

    def is_of(self, events: Sequence[Event], embedder: Embedder) -> bool:
        """Return whether they are those of the very same events and embedder."""
        if self.embedder is not embedder or len(self.events) != len(events):
            return False
        return all(map(is_, self.events, events))


# Of the logs that were remembered last: several scores ask the same texts.
_homes_kept: list[_HomeFiles] = []


def _home_files(log: EvalLog, embedder: Embedder) -> Mapping[str, bytes]:
    """Return the files of a home that remembers the log's texts, with their vectors."""
    for home in list(_homes_kept):
        if home.is_of(log.events, embedder):
            return home.files
    files = {}
    with _scratch_folder() as folder:
        with _home_of(log, folder, embedder, check_settings({})) as lab:
            lab.journal.append(log.events)
            if embedder.kind == "semantic":
                lab.searcher.vectors.embed_pending()
        for path in folder.rglob("*"):
            if path.is_file():
                files[str(path.relative_to(folder))] = path.read_bytes()
    _homes_kept.append(_HomeFiles(tuple(log.events), embedder, files))
    while sum(home.size for home in _homes_kept) > _MOST_BYTES_KEPT:
        del _homes_kept[0]
    return files


@contextmanager
def _scratch_folder() -> Iterator[Path]:
    """Yield a folder that is removed afterwards."""
    scratch = tempfile.TemporaryDirectory(prefix="theorex-", ignore_cleanup_errors=True)
    with scratch as folder:
        yield Path(folder)


def _home_of(log: EvalLog, folder: Path, embedder: Embedder, settings: Settings) -> Lab:
    """Return a lab in a folder, just after the log's last event."""
    last = max((event.at for event in log.events), default=0)
    return Lab(
        folder,
        designs=[TEXTS],
        clock=FixedClock(last + 1),
        settings=settings,
        embedder=embedder,
    )


def found_by(
    lab: Lab,
    query: str,
    method: str = "default",
) -> Hits:
    """Return what a method of METHODS finds."""
    weights, with_vectors = METHODS[method]
    ships = lab.settings
    try:
        if weights is not None:
            lab.settings = ships.replaced(
                search_weights=weights,
                search_floor=0.0,
                search_superseding=False,
            )
        return lab.search(
            query, limit=DEPTHS[-1], vectors="always" if with_vectors else "never"
        )
    finally:
        lab.settings = ships


def question_scores(hits: Hits, answers: frozenset[str]) -> list[float]:
    """Return the METRICS of what came back for one question."""
    tokens = [count_tokens(hit.text) for hit in hits.hits[:10]]
    return _scores_of(hits.events, tokens, answers)


def _scores_of(
    event_ids: Sequence[str],
    tokens: Sequence[int],
    answers: frozenset[str],
) -> list[float]:
    """Return the METRICS of the events that came back for one question.

    Args:
        event_ids: The events, best first.
        tokens: The tokens of the first ten texts.
        answers: The events that answer it.
    """
    right = np.array([event in answers for event in event_ids], bool)
    ten = right[:10]
    discounts = 1 / np.log2(np.arange(2, 12))
    return [
        *(right[:depth].sum() / len(answers) for depth in DEPTHS),
        *(float(right[:depth].any()) for depth in HIT_DEPTHS),
        (ten * discounts[: len(ten)]).sum() / discounts[: len(answers)].sum(),
        float(sum(tokens)),
        ten.mean() if len(ten) else 0.0,
    ]


class KeptEmbedder:
    """An embedder whose vectors are kept on disk, by text hash.

    None is computed twice.
    """

    def __init__(self, embedder: Embedder, folder: Path) -> None:
        self._embedder = embedder
        self.id = embedder.id
        self.dimensions = embedder.dimensions
        self.kind: EmbedderKind = embedder.kind
        self._cache = VectorCache(folder, self.id, self.dimensions)

    def embed(self, texts: Sequence[str]) -> Any:
        """Return the vectors of the texts, as every Embedder does."""
        keys = [text_key(text) for text in texts]
        is_cached, matrix = self._cache.get(keys)
        missing = np.flatnonzero(~is_cached).tolist()
        if missing:
            matrix[missing] = self._embedder.embed([texts[row] for row in missing])
            self._cache.add([keys[row] for row in missing], matrix[missing])
        return matrix


def kept_embedder() -> Embedder:
    """Return the embedder that is installed, its vectors kept in the user's cache."""
    embedder = choose_embedder()[0]
    return (
        KeptEmbedder(embedder, cache_folder() / "vectors")
        if embedder.kind == "semantic"
        else embedder
    )
