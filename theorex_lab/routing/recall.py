"""Recall: how the models did when (nearly) the same query was asked before.

It also says how they did on each type of query, pair by pair where several of them
answered one query.

The calls are those in the journal. Queries are as alike as the cosine of their words,
each weighed by how few calls hold it: 1 for the same words, 0 for none in common.
"""

import math
import zlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.journal.columns import Names, Table
from theorex_lab.journal.event import Event
from theorex_lab.journal.view import View
from theorex_lab.memory import outcome_lookup as verdicts
from theorex_lab.memory.evidence import counted_type, is_untrusted
from theorex_lab.routing.noninferiority import Scope, scored_scope

Floats = NDArray[np.float64]
Hashes = NDArray[np.uint32]
Ints = NDArray[np.int64]
# Calls that are compared with a query, so that its cost is bounded.
NEWEST_CALLS = 20_000
# A run weighs likeness / (1 − likeness + this): 3.3 for the same query, 0.1 for a
# likeness of 0.12. This and the setting recallCalls were chosen on halves of the
# training queries of llmrouter, routellm and simulated_calls.
NEARNESS = 0.3
SAME = 1.0 - 1e-9  # the likeness from which a call has the words of the query
_WORD = lazy_pattern(r"\w+")


class RecalledRuns(NamedTuple):
    """The weights of a model's recalled runs on similar queries: all and successful."""

    weight: float
    successes: float


NOTHING_RECALLED = RecalledRuns(0.0, 0.0)


class Nearest(NamedTuple):
    """The calls that are most like a query, the most alike first.

    Attributes:
        calls: Their numbers.
        likeness: How alike each is, 0 to 1.
    """

    calls: Ints
    likeness: Floats

    @property
    def weights(self) -> Floats:
        """Return what each call weighs."""
        distance = 1.0 - self.likeness + NEARNESS
        return self.likeness / distance


class _Answers(NamedTuple):
    """How models did on calls.

    Attributes:
        models: The names of the models.
        scores: Whether each succeeded, shape (calls, models); NaN where it was not
            asked.
        by_choice: Which two models were asked one query by choice, shape (models,
            models). A model that is asked only where another failed forms no pairs with
            that one: the query is known to be hard. Such models have no call on which
            both succeeded.
    """

    models: tuple[str, ...]
    scores: Floats
    by_choice: NDArray[np.bool_]

    def with_pairs_of_choice(self, scope: Scope) -> Scope:
        """Return a scope with the pairs of models that were asked by choice alone."""
        return scope._replace(
            pair_n=scope.pair_n * self.by_choice,
            pair_sum=scope.pair_sum * self.by_choice,
            pair_square=scope.pair_square * self.by_choice,
        )


class _Index(NamedTuple):
    """The newest calls by word.

    The calls of words[i] stand in `calls` from starts[i] to starts[i + 1], counted from
    `first`.
    """

    first: int
    words: Hashes
    starts: Ints
    calls: Ints
    rarity: Floats  # of each word
    lengths: Floats  # of each call


class Recall(View):
    """Every call that was not lost, and a run for each attempt that was answered.

    The words of a call's task are held as hashes. A run succeeds as in
    `memory.evidence.EvidenceView`; untrusted runs are left out.

    Attributes:
        asked: key (of the trace's id), type of query and time (µs UTC), one row a call.
        words: word (its hash) and call.
        runs: call, model and success.
    """

    name = "recall"
    code = 2
    kinds = ("trace_started", "trace_ended", *verdicts.KINDS)

    def __init__(self) -> None:
        super().__init__()
        self.models = Names()
        self.types = Names()
        self.asked = Table(key="u4", type="i4", at="i8")
        self.words = Table(word="u4", call="i4")
        self.runs = Table(call="i4", model="i4", success="?")
        self.verdicts = verdicts.Verdicts()
        self._open: dict[int, int] = {}
        self._index: _Index | None = None
        self._answers: _Answers | None = None
        self._scopes: dict[str, Scope] | None = None

    def apply(self, events: Sequence[Event]) -> None:
        """Take in what was asked, how it went, and what outcomes say of that."""
        self._forget_answers()
        for event in events:
            if event.kind == "trace_started":
                self._start(event)
            elif event.kind == "trace_ended":
                self._answer(event)
            else:
                self._take_verdict(event)

    def _start(self, event: Event) -> None:
        """Take in the words of a call."""
        key = _hash(event.body["trace_id"])
        words = words_of(event.body["task"])
        query_type = counted_type(event.body.get("query_type", ""))
        number = self.types.number(query_type)
        call = self.asked.add(key=key, type=number, at=event.at)
        self._open[key] = call
        rows = self.words.grow(len(words))
        self.words.put(rows, word=words, call=call)

    def _take_verdict(self, event: Event) -> None:
        """Take in what an outcome says of the answers of its calls."""
        verdict = verdicts.verdict_of(event)
        if not verdict:
            return
        success = self.runs["success"]
        for run, change in self.verdicts.say(*verdict):
            success[run] = change > 0
        if event.kind != "outcome" or "answer" not in event.body:
            return
        if event.body.get("trace_id"):
            self._judge(event)

    def nearest(self, query: str, most: int) -> Nearest:
        """Return the calls that are most like a query.

        Args:
            query: The query; its words count.
            most: How many calls are taken.
        """
        if not len(self.runs):
            return Nearest(np.zeros(0, np.int64), np.zeros(0))
        index = self._current()
        likeness = _likeness(index, words_of(query))
        order = np.argsort(-likeness, kind="stable")
        nearest = order[:most]
        return Nearest(index.first + nearest, likeness[nearest])

    def like(self, query: str, most: int) -> dict[str, RecalledRuns]:
        """Return what is recalled of each model from the calls most like a query.

        Args:
            query: The query; its words count.
            most: How many calls are taken.
        """
        return self.runs_of(self.nearest(query, most))

    def runs_of(self, nearest: Nearest) -> dict[str, RecalledRuns]:
        """Return what is recalled of each model from these calls."""
        if not len(nearest.calls):
            return {}
        call_weights = np.zeros(len(self.asked))
        call_weights[nearest.calls] = nearest.weights
        run_weights = call_weights[self.runs["call"]]
        success_weights = run_weights * self.runs["success"]
        run_models = self.runs["model"]
        n_models = len(self.models)
        weights = np.bincount(
            run_models,
            run_weights,
            n_models,
        )
        successes = np.bincount(
            run_models,
            success_weights,
            n_models,
        )
        recalled_runs = {}
        rows = zip(self.models, weights.tolist(), successes.tolist(), strict=True)
        for name, weight, success in rows:
            if weight > 0:
                recalled_runs[name] = RecalledRuns(
                    weight,
                    success,
                )
        return recalled_runs

    def scope_of(self, nearest: Nearest, models: Sequence[str]) -> Scope:
        """Return how these models did on these calls, each by its likeness."""
        answers = self._answers_of(models)
        scope = scored_scope(answers.scores[nearest.calls], nearest.weights)
        return answers.with_pairs_of_choice(scope)

    def repeats(self, nearest: Nearest, models: Sequence[str]) -> Scope:
        """Return how these models did on the calls that have the words of the query."""
        calls = nearest.calls[nearest.likeness >= SAME]
        return scored_scope(self._answers_of(models).scores[calls])

    def scopes(
        self,
        models: Sequence[str],
        *,
        now: int,
        half_life_days: float | None = None,
    ) -> dict[str, Scope]:
        """Return how these models did on each type of query.

        Args:
            models: The models, in the order of the columns.
            now: µs UTC.
            half_life_days: The time in which a call counts half as much; each call by
                its own age. None: they do not age.
        """
        answers = self._answers_of(models)
        if half_life_days is not None:
            ages = now - self.asked["at"]
            half_life = half_life_days * MICROSECONDS_PER_DAY
            half_lives = np.maximum(ages, 0) / half_life
            return self._scopes_of(answers, 0.5**half_lives)
        if self._scopes is None:
            self._scopes = self._scopes_of(answers, None)
        return self._scopes

    def _scopes_of(self, answers: _Answers, weights: Floats | None) -> dict[str, Scope]:
        """Return how models did on each type of query that they were asked."""
        scopes = {}
        asked_types = self.asked["type"]
        for number, query_type in enumerate(self.types):
            of_type = np.flatnonzero(asked_types == number)
            type_weights = None if weights is None else weights[of_type]
            scope = scored_scope(answers.scores[of_type], type_weights)
            if scope.n.any():
                scopes[query_type] = answers.with_pairs_of_choice(scope)
        return scopes

    def _answers_of(self, models: Sequence[str]) -> _Answers:
        """Return how these models did on every call.

        Of several runs of a call the last counts.
        """
        names = tuple(models)
        if self._answers is not None and self._answers.models == names:
            return self._answers
        scores = np.full((len(self.asked), len(names)), np.nan)
        run_models = self.runs["model"]
        run_calls = self.runs["call"]
        run_successes = self.runs["success"]
        for column, name in enumerate(names):
            model = self.models.find(name)
            if model is None:
                continue
            of_model = run_models == model
            calls = run_calls[of_model]
            scores[calls, column] = run_successes[of_model]
        successes = np.nan_to_num(scores)
        both_successes = successes.T @ successes
        by_choice = both_successes > 0
        self._answers = _Answers(names, scores, by_choice)
        self._scopes = None
        return self._answers

    def _forget_answers(self) -> None:
        """Forget how models did on the calls, since there are others."""
        self._answers = None
        self._scopes = None

    def _answer(self, event: Event) -> None:
        """Take in a run for each model that answered a call."""
        body = event.body
        key = _hash(body["trace_id"])
        call = self._open.get(key)
        if call is None or body["lost"]:
            return
        if is_untrusted(body):
            return
        outcome_id = body.get("outcome_id")
        for attempt in body["attempts"]:
            if attempt.get("unavailable"):
                continue
            success = attempt["success"]
            if success and outcome_id:
                success = self.verdicts.answer(
                    outcome_id, cell=len(self.runs), at=event.at
                )
            model = self.models.number(attempt["model"])
            self.runs.add(call=call, model=model, success=success)

    def _judge(self, outcome: Event) -> None:
        """Let an outcome say how the answer went that it is about."""
        key = _hash(outcome.body["trace_id"])
        call = self._open.get(key)
        answer = outcome.body["answer"]
        model = self.models.find(answer["model"])
        success = self.runs["success"]
        of_call = self.runs["call"] == call
        of_model = self.runs["model"] == model
        successful_runs = np.flatnonzero(of_call & of_model & success)
        for run in successful_runs.tolist():
            success[run] = self.verdicts.answer(outcome.id, cell=run, at=answer["at"])

    def _after_load(self) -> None:
        self._open = {}
        self._forget_answers()
        keys = self.asked["key"].tolist()
        for call, key in enumerate(keys):
            self._open[key] = call

    def _current(self) -> _Index:
        """Return the index, rebuilt when calls were added."""
        first = max(len(self.asked) - NEWEST_CALLS, 0)
        n_calls = len(self.asked) - first
        index = self._index
        if index is not None:
            is_current = len(index.lengths) == n_calls
            if is_current and index.first == first:
                return index
        is_indexed = self.words["call"] >= first
        words = self.words["word"][is_indexed]
        calls = self.words["call"][is_indexed]
        index = _index(
            words,
            calls - first,
            first,
            n_calls,
        )
        self._index = index
        return index


def words_of(text: str) -> Hashes:
    """Return the words of a text as hashes, each once, in order.

    >>> len(words_of("To be, or not to be"))
    4
    """
    words = _WORD.findall(text.casefold())
    hashes = [_hash(word) for word in words]
    return np.unique(np.array(hashes, np.uint32))


def _index(words: Hashes, calls: NDArray[np.int32], first: int, n_calls: int) -> _Index:
    """Return the calls by word, with the rarity of each word and each call's length."""
    order = np.argsort(words, kind="stable")
    sorted_words = words[order]
    distinct_words, starts = np.unique(
        sorted_words,
        return_index=True,
    )
    bounds = np.append(starts, len(words))
    calls_per_word = np.diff(bounds)
    rarity = np.log1p(n_calls / calls_per_word)
    calls_by_word = calls[order].astype(np.int64)
    squares = np.repeat(
        rarity**2,
        calls_per_word,
    )
    squared_lengths = np.bincount(
        calls_by_word,
        squares,
        n_calls,
    )
    return _Index(
        first=first,
        words=distinct_words,
        starts=bounds,
        calls=calls_by_word,
        rarity=rarity,
        lengths=np.sqrt(squared_lengths),
    )


def _likeness(index: _Index, words: Hashes) -> Floats:
    """Return the similarity of every indexed call to the query's words, 0 to 1."""
    n_calls = len(index.lengths)
    shared_words = _indexed(index, words)
    shared = np.zeros(n_calls)
    for word in shared_words.tolist():
        start = index.starts[word]
        end = index.starts[word + 1]
        calls = index.calls[start:end]
        shared[calls] += index.rarity[word] ** 2
    # A word that no call holds is as rare as a word can be.
    n_unknown_words = len(words) - len(shared_words)
    greatest_rarity = math.log1p(n_calls)
    unknown = n_unknown_words * greatest_rarity**2
    shared_rarity = index.rarity[shared_words]
    square = float((shared_rarity**2).sum()) + unknown
    length = math.sqrt(square) or 1.0
    call_lengths = np.where(
        index.lengths > 0,
        index.lengths,
        1.0,
    )
    cosines = shared / (call_lengths * length)
    return np.minimum(
        cosines,
        1.0,
    )


def _indexed(index: _Index, words: Hashes) -> NDArray[np.intp]:
    """Return the positions in the index of those of these words that it has."""
    positions = np.searchsorted(
        index.words,
        words,
    )
    inside = positions < len(index.words)
    words = words[inside]
    positions = positions[inside]
    is_indexed = index.words[positions] == words
    return np.asarray(positions[is_indexed])


def _hash(text: str) -> int:
    return zlib.crc32(text.encode())
