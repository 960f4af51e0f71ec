"""Recall: how the models did when (nearly) the same query was asked before, from the
calls in the journal.

Queries are as alike as the cosine of their words, each weighed by how few calls hold
it: 1 for the same words, 0 for none in common.
"""

import math
import re
import zlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from theorex_lab.journal.columns import Names, Table
from theorex_lab.journal.event import Event
from theorex_lab.journal.view import View
from theorex_lab.memory import outcome_lookup as verdicts
from theorex_lab.memory.evidence import is_heard

Floats = NDArray[np.float64]
NEWEST_CALLS = (
    20_000  # calls that are compared with a query, so that its cost is bounded
)
# A run weighs likeness / (1 − likeness + this): 3.3 for the same query, 0.1 for a
# likeness of 0.12. This, the prior and
# the setting recallCalls were chosen by cross-validation on the training queries of
# llmrouter alone.
NEARNESS = 0.3
_WORD = re.compile(r"\w+")


class RecalledRuns(NamedTuple):
    """A model's recalled runs on similar queries: the weight of all and of the
    successful ones.
    """

    weight: float
    successes: float


NOTHING_RECALLED = RecalledRuns(0.0, 0.0)


class _Index(NamedTuple):
    """The newest calls by word: those of words[i] stand in `calls` from starts[i] to
    starts[i + 1], counted from `first`.
    """

    first: int
    words: NDArray[np.uint32]
    starts: NDArray[np.int64]
    calls: NDArray[np.int64]
    rarity: Floats  # of each word
    lengths: Floats  # of each call


class Recall(View):
    """Every call that was not lost, with the words of its task as hashes, and a run for
    each attempt that was answered.

    asked: key (of the trace's id), one row a call.  words: hash and call.  runs: call,
    model and success. A run succeeds as in `memory.evidence.Evidence`; what is only
    heard of is left out.
    """

    name = "recall"
    code = 1
    kinds = ("trace_started", "trace_ended", *verdicts.KINDS)

    def __init__(self) -> None:
        super().__init__()
        self.models = Names()
        self.asked = Table(key="u4")
        self.words = Table(word="u4", call="i4")
        self.runs = Table(call="i4", model="i4", success="?")
        self.verdicts = verdicts.Verdicts()
        self._open: dict[int, int] = {}
        self._index: _Index | None = None

    def apply(self, events: Sequence[Event]) -> None:
        """Take in what was asked, how it went, and what outcomes say of that."""
        for event in events:
            if event.kind == "trace_started":
                key = _hash(event.body["trace_id"])
                words = words_of(event.body["task"])
                call = self._open[key] = self.asked.add(key=key)
                self.words.put(self.words.grow(len(words)), word=words, call=call)
            elif event.kind == "trace_ended":
                self._answer(event)
            elif said := verdicts.verdict_of(event):
                for run, change in self.verdicts.say(*said):
                    self.runs["success"][run] = change > 0
                if (
                    event.kind == "outcome"
                    and "answer" in event.body
                    and event.body.get("trace_id")
                ):
                    self._judge(event)

    def like(self, query: str, most: int) -> dict[str, RecalledRuns]:
        """What is recalled of each model from the `most` calls whose words are most
        like those of the query.
        """
        if not len(self.runs):
            return {}
        index = self._current()
        likeness = _likeness(index, words_of(query))
        nearest = np.argsort(-likeness, kind="stable")[:most]
        weight = np.zeros(len(self.asked))
        weight[index.first + nearest] = likeness[nearest] / (
            1.0 - likeness[nearest] + NEARNESS
        )
        of_run = weight[self.runs["call"]]
        model = self.runs["model"]
        weights = np.bincount(model, of_run, len(self.models)).tolist()
        successes = np.bincount(
            model, of_run * self.runs["success"], len(self.models)
        ).tolist()
        found = zip(self.models, map(RecalledRuns, weights, successes), strict=True)
        return {name: recalled for name, recalled in found if recalled.weight > 0}

    def _answer(self, event: Event) -> None:
        body = event.body
        call = self._open.get(_hash(body["trace_id"]))
        if call is None or body["lost"] or is_heard(body):
            return
        outcome_id = body.get("outcome_id")
        for attempt in body["attempts"]:
            if attempt.get("unavailable"):
                continue
            good = attempt["success"]
            if good and outcome_id:
                good = self.verdicts.answer(
                    outcome_id, cell=len(self.runs), at=event.at
                )
            self.runs.add(
                call=call, model=self.models.number(attempt["model"]), success=good
            )

    def _judge(self, outcome: Event) -> None:
        """Let an outcome say how the answer went that it was recorded of."""
        call = self._open.get(_hash(outcome.body["trace_id"]))
        answer = outcome.body["answer"]
        model = self.models.find(answer["model"])
        runs = (
            (self.runs["call"] == call)
            & (self.runs["model"] == model)
            & self.runs["success"]
        )
        for run in np.flatnonzero(runs).tolist():
            self.runs["success"][run] = self.verdicts.answer(
                outcome.id, cell=run, at=answer["at"]
            )

    def _after_load(self) -> None:
        self._open = {key: call for call, key in enumerate(self.asked["key"].tolist())}

    def _current(self) -> _Index:
        """The index, rebuilt when calls were added."""
        first = max(len(self.asked) - NEWEST_CALLS, 0)
        calls = len(self.asked) - first
        if (
            self._index is None
            or len(self._index.lengths) != calls
            or self._index.first != first
        ):
            rows = self.words["call"] >= first
            self._index = _index(
                self.words["word"][rows], self.words["call"][rows] - first, first, calls
            )
        return self._index


def words_of(text: str) -> NDArray[np.uint32]:
    """The words of a text as hashes, each once, in order.

    >>> len(words_of("To be, or not to be"))
    4
    """
    return np.unique(
        np.array([_hash(word) for word in _WORD.findall(text.casefold())], np.uint32)
    )


def _index(
    words: NDArray[np.uint32], calls: NDArray[np.int32], first: int, count: int
) -> _Index:
    order = np.argsort(words, kind="stable")
    known, starts = np.unique(words[order], return_index=True)
    holding = np.diff(np.append(starts, len(words)))
    rarity = np.log1p(count / holding)
    by_word = calls[order].astype(np.int64)
    lengths = np.sqrt(np.bincount(by_word, np.repeat(rarity**2, holding), count))
    return _Index(first, known, np.append(starts, len(words)), by_word, rarity, lengths)


def _likeness(index: _Index, words: NDArray[np.uint32]) -> Floats:
    """The similarity of every call in the index to the query of these words, 0 to 1."""
    places = np.searchsorted(index.words, words)
    inside = places < len(index.words)
    known = places[inside][index.words[places[inside]] == words[inside]]
    shared = np.zeros(len(index.lengths))
    for place in known.tolist():
        shared[index.calls[index.starts[place] : index.starts[place + 1]]] += (
            index.rarity[place] ** 2
        )
    unknown = (len(words) - len(known)) * math.log1p(len(index.lengths)) ** 2
    length = math.sqrt(float((index.rarity[known] ** 2).sum()) + unknown)
    longest = np.where(index.lengths > 0, index.lengths, 1.0) * (length or 1.0)
    return np.minimum(shared / longest, 1.0)


def _hash(text: str) -> int:
    return zlib.crc32(text.encode())
