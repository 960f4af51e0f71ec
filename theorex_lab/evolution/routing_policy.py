"""The gate's part for routing: weights of the matrix, judged on recorded calls, each at its own time.

Of the recorded calls, those are kept whose model the policy would have chosen from the calls that ended before;
their mean success, shrunk to that of all, is the score. Where the matrix has nothing usable the heuristic decides, as it
did. Without randomised choices this is an estimate for the calls that resemble the policy's own, not for all: the replay
method of Li, Chu, Langford and Wang, Unbiased offline evaluation of contextual-bandit-based news article recommendation
algorithms (2011), is free of bias only where the recorded choices were made at random. Speed is not measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from theorex_lab.config import Settings
from theorex_lab.design import PolicyPart, Proposal
from theorex_lab.dispatch.traces import LOST, SUCCESS, UNAVAILABLE, Traces
from theorex_lab.evolution.proposals import GAIN_IN_STANDARD_ERRORS, MOST_RECORDS, best_of, candidates_of
from theorex_lab.home import Home
from theorex_lab.journal.base import Journal
from theorex_lab.journal.view import Views
from theorex_lab.memory.evidence import QUERY_TYPE_PREFIX, EvidenceTable, Floats, Integers, counted_type, is_heard
from theorex_lab.memory.outcome_lookup import outcome_lookup
from theorex_lab.routing.confidence import best, matrix

SETTINGS = ("matrixMinSamples", "matrixSuccessWeight", "matrixHalfLifeDays")
# What may be proposed.
SUCCESS_WEIGHTS = (0.4, 0.6, 0.8, 1.0)
MATRIX_HALF_LIVES_DAYS = (None, 7.0, 30.0, 90.0)
SHRINKING_CALLS = 5.0  # the mean of all calls counts as this many calls of the policy


def propose(home: Home, turned_down: frozenset[str] = frozenset()) -> Proposal:
    """The weights of the matrix whose choices did best among the earlier calls, scored on the later ones."""
    known = calls(home.views)
    earlier, later = _later_places(len(known))
    if len(later) < home.settings.gate_min_samples:
        return Proposal({}, None, None, len(later))
    pairs = product(SUCCESS_WEIGHTS, MATRIX_HALF_LIVES_DAYS)
    changes: Any = [{"matrixSuccessWeight": weight, "matrixHalfLifeDays": half_life} for weight, half_life in pairs]
    candidates = candidates_of(home.settings, changes, SETTINGS, turned_down)
    agrees = agreement(known, earlier, [policy for _, policy in candidates])
    tried = [known[place] for place in earlier]
    best = best_of(shrunk_success(agrees, tried)[0], candidates)
    changes, chosen = candidates[best if _stands_out(agrees[best], agrees[0], tried) else 0]
    agrees = agreement(known, later, [home.settings, chosen])
    (before, after), n = shrunk_success(agrees, [known[place] for place in later])
    return Proposal(changes, float(before), float(after), int(n.min()))


def score(home: Home) -> dict[str, float | int]:
    """{score, n} of the settings on the later half of the calls."""
    known = calls(home.views)
    _, asked = _later_places(len(known))
    success, matched = shrunk_success(agreement(known, asked, [home.settings]), [known[place] for place in asked])
    return {"score": float(success[0]), "n": int(matched[0])}


class Call(NamedTuple):
    """One ended call: when it started and ended (seqs), its time (µs), the query, the model asked, and its success."""

    started: int
    ended: int
    at: int
    query_type: str
    model: str
    success: bool
    latency_ms: float


def calls(views: Views) -> list[Call]:
    """The calls of models that ended with an answer or a failure, in the order of their starts.

    An answer that its outcome later calls wrong is no success, as in the confidence matrix; as there, calls that only
    an imported file tells of are left out.
    """
    wrong, heard = _wrong_and_heard(views.journal)
    with views.reading(Traces) as view:
        table = view.traces
        rows = np.flatnonzero((table["ended"] > 0) & ~np.isin(table["state"], (LOST, UNAVAILABLE)))
        types, models = [*view.query_types], [*view.models]
        names = ("started", "ended", "at", "query_type", "model", "state", "latency_ms")
        columns = [table[name][rows].tolist() for name in names]
    return sorted(
        Call(start, end, at, counted_type(types[kind]), models[model], state == SUCCESS and end not in wrong, latency)
        for start, end, at, kind, model, state, latency in zip(*columns, strict=True)
        if end not in heard and models[model]
    )


def _wrong_and_heard(journal: Journal) -> tuple[set[int], set[int]]:
    """Seqs of the ENDs of calls whose outcome was later recorded as a failure, and of calls known only by hearsay."""
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
            past, counted = by_end[counted], counted + 1
            key = QUERY_TYPE_PREFIX + past.query_type
            table.add(key, past.model, past.success, at=past.at, latency_ms=past.latency_ms)
        agrees[:, column] = [_choice(table, call, policy) in (None, call.model) for policy in policies]
    return agrees


def _choice(table: EvidenceTable, call: Call, policy: Settings) -> str | None:
    """The model that the matrix of a policy names for a call; None where it has nothing usable."""
    cells = table.cells(QUERY_TYPE_PREFIX + call.query_type, now=call.at, half_life_days=policy.matrix_half_life_days)
    scored = matrix(cells, min_samples=policy.matrix_min_samples, success_weight=policy.matrix_success_weight)
    found = best(scored, call.query_type, success_weight=policy.matrix_success_weight)
    return None if found is None else found.model


def shrunk_success(agrees: NDArray[np.bool_], asked: Sequence[Call]) -> tuple[Floats, Integers]:
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


def _stands_out(chosen: NDArray[np.bool_], now: NDArray[np.bool_], asked: Sequence[Call]) -> bool:
    """Whether calls that only the chosen policy agrees with did better than those that only the one in force does."""
    success = np.array([call.success for call in asked], np.float64)
    ours, theirs = success[chosen & ~now], success[now & ~chosen]
    if not len(ours) or not len(theirs):
        return False
    # One success and one failure more, so that two calls alone are no proof.
    rate = (ours.sum() + theirs.sum() + 1.0) / (len(ours) + len(theirs) + 2.0)
    noise = math.sqrt(rate * (1.0 - rate) * (1.0 / len(ours) + 1.0 / len(theirs)))
    return bool(ours.mean() - theirs.mean() > GAIN_IN_STANDARD_ERRORS * noise)


def _later_places(n: int) -> tuple[range, range]:
    """Places of the last calls before the middle and of the last ones after it."""
    middle = n // 2
    return range(max(0, middle - MOST_RECORDS), middle), range(max(middle, n - MOST_RECORDS), n)


def evidence(home: Home) -> list[Any]:
    """The start and success of every call; a new call or a changed success changes it."""
    return [[call.started, call.success] for call in calls(home.views)]


ROUTING = PolicyPart(SETTINGS, propose, score, evidence)
