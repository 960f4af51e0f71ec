"""What a policy would have been worth: recorded outcomes and calls of models, each judged at its own time.

Memory. An outcome needs its concepts. At its time, with nothing folded but what the journal held before it, the concepts
are ranked as the boot context ranks them, and the context is filled from the first on until its budget of tokens is
spent. The score is the share of the outcome's known concepts that are in it, averaged with (1 + score of the outcome) / 2
as weight. A policy that forgets what later outcomes needed scores lower, and one that lists everything gains nothing,
since the budget is the same for all. Not measured: sentences of fixes (they have a part of the budget of their own), what
flush and graduation would have taken in under other thresholds (the intake is as recorded), ACTIVE against MILD, speed.

Routing. Of the recorded calls, those are kept whose model the policy would have chosen from the calls that ended before;
their mean success, shrunk to that of all, is the score. Where the matrix has nothing usable the heuristic decides, as it
did. Without randomised choices this is an estimate for the calls that resemble the policy's own, not for all: the replay
method of Li, Chu, Langford and Wang, Unbiased offline evaluation of contextual-bandit-based news article recommendation
algorithms (2011), is free of bias only where the recorded choices were made at random. Speed is not measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from theorex_lab.config import Settings
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.designs.theorex.scores import scores_of
from theorex_lab.dispatch.traces import LOST, SUCCESS, UNAVAILABLE, Traces
from theorex_lab.evolution.outcomes import Outcomes
from theorex_lab.journal.base import Journal
from theorex_lab.journal.event import Event
from theorex_lab.journal.view import Views, fold_into
from theorex_lab.memory.context import escape
from theorex_lab.memory.decay import rank_order
from theorex_lab.memory.evidence import QUERY_TYPE_PREFIX, EvidenceTable, is_heard
from theorex_lab.memory.filling import count_tokens
from theorex_lab.memory.outcome_lookup import outcome_lookup
from theorex_lab.routing.confidence import best, matrix

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

HEADING_TOKENS = 48  # the context's first lines and its sections
_SHORTEST_LINE_TOKENS = 6
_READ_OUTCOMES = 500
SHRINKING_CALLS = 5.0  # the mean of all calls counts as this many calls of the policy


class Need(NamedTuple):
    """What one outcome needed: its place and time (µs) in the journal, its concepts and its weight."""

    seq: int
    at: int
    concepts: Ints
    weight: float


def needs(views: Views) -> list[Need]:
    """What each recorded outcome needed, oldest first; those without concepts are left out."""
    view = views.get(Outcomes)
    with view.lock:
        rows = view.select()
        seqs, times = (view.rows[name][rows].tolist() for name in ("seq", "at"))
        weights = dict(zip(seqs, ((1.0 + view.scores()[rows]) / 2.0).tolist(), strict=True))
    at = dict(zip(seqs, times, strict=True))
    found = []
    for start in range(0, len(seqs), _READ_OUTCOMES):
        for event in views.journal.read(seqs=seqs[start : start + _READ_OUTCOMES]):
            if event.body["concepts"]:
                concepts = np.unique(np.array(event.body["concepts"], np.int64))
                found.append(Need(event.seq, at[event.seq], concepts, weights[event.seq]))
    return found


class _Untouched(Axon):
    """The axon without what scans and prunes of the policies of that time put away."""

    def fold(self, events: Sequence[Event]) -> None:
        """See View."""
        super().fold([event for event in events if event.kind not in ("scan", "prune")])


class MemoryReplay:
    """The memory as it was at one outcome after the other; the journal is folded once, forwards."""

    def __init__(self, journal: Journal, *, context_tokens: int) -> None:
        self._journal, self._axon = journal, _Untouched()
        self._budget = context_tokens - HEADING_TOKENS
        self._prices: list[int] = []

    def shares(self, needed: Sequence[Need], policies: Sequence[Settings]) -> Floats:
        """The share of each need that each policy would have had in its context, shape (policies, needs).

        NaN where no concept of a need was known by then. `needed` are in order, after those asked about before.
        """
        shares = np.full((len(policies), len(needed)), np.nan)
        for column, need in enumerate(needed):
            fold_into(self._axon, self._journal, need.seq - 1)
            known = np.intersect1d(need.concepts, self._axon.concepts["concept_id"])
            if len(known):
                shares[:, column] = self._shares(known, need.at, policies)
        return shares

    def _shares(self, concepts: Ints, now: int, policies: Sequence[Settings]) -> list[float]:
        # Policies that differ in their thresholds alone rank alike, and ranking is what takes time.
        reached: dict[object, Floats] = {}
        shares = []
        for policy in policies:
            params = tuple(sorted(policy.decay_params.items()))
            same = policy.decay_law, params, policy.half_life_days, policy.fix_half_life_days
            if same not in reached:
                reached[same] = self._reached(concepts, now, policy)
            shares.append(float(np.mean(reached[same] >= policy.mild_threshold)))
        return shares

    def _reached(self, concepts: Ints, now: int, policy: Settings) -> Floats:
        """The importance with which each of these concepts stands within the budget, -1 where it does not."""
        axon, most = self._axon, self._budget // _SHORTEST_LINE_TOKENS + 1
        current = scores_of(axon, now, policy)
        chosen = np.arange(len(current.rows))
        if len(chosen) > most:
            chosen = np.flatnonzero(current.raw >= np.partition(current.raw, -most)[-most])
        order = rank_order(current.raw[chosen], *(column[chosen] for column in current.among_equals))
        positions = chosen[order[:most]]
        rows = current.rows[positions]
        inside = np.cumsum([self._price(row) for row in rows.tolist()]) <= self._budget
        # Agents may know the same concept: the hottest, which stands first, counts.
        ids, importance = (
            column[inside].tolist() for column in (axon.concepts["concept_id"][rows], current.importance[positions])
        )
        first = dict(zip(reversed(ids), reversed(importance), strict=True))
        return np.array([first.get(concept, -1.0) for concept in concepts.tolist()])

    def _price(self, row: int) -> int:
        """Tokens of a concept's line in the context."""
        for new in range(len(self._prices), row + 1):
            line = f"- {escape(self._axon.surfaces[new])} _(13 days)_\n"
            self._prices.append(max(count_tokens(line), _SHORTEST_LINE_TOKENS))
        return self._prices[row]


def weighted_mean(shares: Floats, needed: Sequence[Need]) -> tuple[Floats, int]:
    """Each policy's mean share over the needs that were known, and how many those are; 0 where there are none.

    >>> need = Need(1, 0, np.array([1]), 0.5)
    >>> mean, n = weighted_mean(np.array([[1.0, np.nan], [0.0, np.nan]]), [need, need])
    >>> mean.tolist(), n
    ([1.0, 0.0], 1)
    """
    known = ~np.isnan(shares[:1]).all(axis=0) if len(shares) else np.zeros(len(needed), np.bool_)
    weights = np.array([need.weight for need in needed])[known]
    if not known.any():
        return np.zeros(len(shares)), 0
    return shares[:, known] @ weights / weights.sum(), int(known.sum())


class Call(NamedTuple):
    """One ended call: when it started and ended (seqs), its time (µs), what was asked of which model, how it went."""

    started: int
    ended: int
    at: int
    query_type: str
    model: str
    success: bool
    latency_ms: float


def calls(views: Views) -> list[Call]:
    """The calls of models that ended with an answer or a failure, in the order of their starts.

    An answer that its outcome later calls wrong is no success, as in the confidence matrix; as there, calls of which
    only a file tells count for nothing.
    """
    view, (wrong, heard) = views.get(Traces), _wrong_and_heard(views.journal)
    with view.lock:
        table = view.traces
        rows = np.flatnonzero((table["ended"] > 0) & ~np.isin(table["state"], (LOST, UNAVAILABLE))).tolist()
        types, models = [*view.query_types], [*view.models]
        found = [
            Call(
                int(table["started"][row]),
                int(table["ended"][row]),
                int(table["at"][row]),
                types[int(table["query_type"][row])],
                models[int(table["model"][row])],
                bool(table["state"][row] == SUCCESS) and int(table["ended"][row]) not in wrong,
                float(table["latency_ms"][row]),
            )
            for row in rows
            if int(table["ended"][row]) not in heard
        ]
    return sorted(each for each in found if each.model)


def _wrong_and_heard(journal: Journal) -> tuple[set[int], set[int]]:
    """Seqs of the ENDs of calls of which the outcome says afterwards that they went wrong, and of those only heard of."""
    counts_as_good = outcome_lookup(journal)
    wrong, heard = set(), set()
    for end in journal.tail(0, kinds=("trace_ended",)):
        if not counts_as_good(end):
            wrong.add(end.seq)
        if is_heard(end.body):
            heard.add(end.seq)
    return wrong, heard


def agreement(known: Sequence[Call], asked: range, policies: Sequence[Settings]) -> NDArray[np.bool_]:
    """Whether each policy would have chosen the recorded model of the calls `asked` (places in `known`).

    Shape (policies, calls). Evidence are the calls that had ended when one started.
    """
    agrees = np.ones((len(policies), len(asked)), np.bool_)
    by_end = sorted(known, key=lambda call: call.ended)
    table, counted = EvidenceTable(), 0
    for column, place in enumerate(asked):
        call = known[place]
        while counted < len(by_end) and by_end[counted].ended < call.started:
            past = by_end[counted]
            table.add(
                QUERY_TYPE_PREFIX + past.query_type, past.model, past.success, at=past.at, latency_ms=past.latency_ms
            )
            counted += 1
        for row, policy in enumerate(policies):
            choice = _choice(table, call, policy)
            agrees[row, column] = choice in (None, call.model)
    return agrees


def _choice(table: EvidenceTable, call: Call, policy: Settings) -> str | None:
    """The model that the matrix of a policy names for a call; None where it has nothing usable."""
    cells = table.cells(QUERY_TYPE_PREFIX + call.query_type, now=call.at, half_life_days=policy.matrix_half_life_days)
    scored = matrix(cells, min_samples=policy.matrix_min_samples, success_weight=policy.matrix_success_weight)
    found = best(scored, call.query_type)
    return None if found is None else found.model


def shrunk_success(agrees: NDArray[np.bool_], asked: Sequence[Call]) -> tuple[Floats, Ints]:
    """Each policy's mean success over the calls it agrees with, shrunk to the mean of all, and how many those are.

    >>> call = Call(1, 2, 0, "code", "quick", True, 5.0)
    >>> mean, n = shrunk_success(np.array([[True, True], [True, False]]), [call, call._replace(success=False)])
    >>> mean.round(3).tolist(), n.tolist()
    ([0.5, 0.583], [2, 1])
    """
    success = np.array([call.success for call in asked], np.float64)
    overall = float(success.mean()) if len(asked) else 0.0
    n = agrees.sum(axis=1)
    return (agrees @ success + SHRINKING_CALLS * overall) / (n + SHRINKING_CALLS), n
