"""Evidence: sums that are the same however they came in, ageing on reading, intervals
with golden values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from conftest import DAY, NOW, erase
from hypothesis import given, settings
from hypothesis import strategies as st

from theorex_lab import Event, FixedClock, new_event
from theorex_lab.journal.sqlite.store import SqliteJournal
from theorex_lab.journal.view import Views, differing_columns, fold_into, verify
from theorex_lab.memory.evidence import EvidenceTable, EvidenceView
from theorex_lab.memory.intervals import wilson

amounts = st.none() | st.floats(0, 1e6)
runs = st.tuples(
    st.sampled_from(["query_type/code", "query_type/math", "signal/slow", ""]),
    st.sampled_from(["small", "large", "大"]),
    st.booleans(),
    st.integers(NOW - 300 * DAY, NOW + DAY),
    amounts,
    amounts,
    amounts,
)
Run = tuple[str, str, bool, int, float | None, float | None, float | None]


def one_by_one(given_runs: Sequence[Run]) -> EvidenceTable:
    table = EvidenceTable()
    for key, option, success, at, latency_ms, tokens, cost in given_runs:
        table.add(
            key, option, success, at=at, latency_ms=latency_ms, tokens=tokens, cost=cost
        )
    return table


def content(table: EvidenceTable, **how: float) -> dict[tuple[str, str], list[float]]:
    cells = table.cells(**how)
    names = zip(cells.keys, cells.options, strict=True)
    columns = (
        cells.n,
        cells.successes,
        cells.latency_ms,
        cells.tokens,
        cells.cost,
        cells.last,
    )
    return (
        dict(zip(names, np.column_stack(columns).tolist(), strict=True))
        if len(cells)
        else {}
    )


@settings(max_examples=40, deadline=None)
@given(st.lists(runs, max_size=20), st.lists(runs, max_size=20))
def test_a_table_goes_on_from_its_columns(before: list[Run], after: list[Run]) -> None:
    table = one_by_one(before)
    opened = EvidenceTable()
    opened.load(table.columns())
    for key, option, success, at, latency_ms, tokens, cost in after:
        opened.add(
            key, option, success, at=at, latency_ms=latency_ms, tokens=tokens, cost=cost
        )
    np.testing.assert_equal(content(opened), content(one_by_one([*before, *after])))


def test_an_amount_that_was_not_stated_is_not_nought() -> None:
    table = EvidenceTable()
    table.add("k", "m", False, at=NOW)
    table.add("k", "m", True, at=NOW, latency_ms=0.0, tokens=math.nan)
    table.add("k", "m", True, at=NOW, latency_ms=300.0, cost=0.5)
    cells = table.cells()
    assert (cells.latency_ms.tolist(), cells.cost.tolist(), cells.n.tolist()) == (
        [150.0],
        [0.5],
        [3.0],
    )
    assert np.isnan(cells.tokens).all()


def test_evidence_halves_with_each_half_life_since_the_last_run() -> None:
    table = EvidenceTable()
    for at in (NOW - 90 * DAY, NOW - 20 * DAY):
        table.add("old", "m", True, at=at, latency_ms=10)
    for success in (True, False, False):
        table.add("new", "m", success, at=NOW + DAY)
    aged = table.cells(now=NOW, half_life_days=10)
    assert aged.n.tolist() == [0.5, 3.0], (
        "two runs after two half-lives; a run of the future has no age"
    )
    assert aged.successes.tolist() == [0.5, 1.0]
    assert aged.latency_ms[0] == 10
    assert (aged.successes / aged.n).tolist() == [1.0, 1 / 3]
    assert table.cells(now=NOW).n.tolist() == table.cells().n.tolist() == [2.0, 3.0]
    gone = table.cells(now=NOW, half_life_days=1e-3)
    assert gone.n[0] == 0


def test_what_is_read_is_a_copy() -> None:
    table = EvidenceTable()
    table.add("k", "m", True, at=NOW)
    for column in (table.cells().n, table.cells().last, table.cells().successes):
        column[:] = 77
    assert content(table)["k", "m"][:2] == [1, 1]
    assert table.cells().last.tolist() == [NOW]


def test_only_keys_of_the_prefix() -> None:
    table = EvidenceTable()
    for key in ("query_type/code", "signal/code", "query_type/math"):
        table.add(key, "m", True, at=NOW)
    assert table.cells("query_type/").keys == ["query_type/code", "query_type/math"]
    assert table.cells("nothing").keys == []
    assert len(table) == 3


@pytest.mark.parametrize(
    ("successes", "n", "expected"),
    [
        (0, 10, (0.0, 0.27754)),
        (10, 10, (0.72246, 1.0)),
        (9, 10, (0.59584, 0.98212)),
        (50, 100, (0.40383, 0.59617)),
        (0, 0, (0.0, 1.0)),
        (0.25, 0.5, (0.02967, 0.97033)),
    ],
)
def test_wilson_golden_values(
    successes: float, n: float, expected: tuple[float, float]
) -> None:
    assert [float(bound) for bound in wilson(successes, n)] == pytest.approx(
        expected, abs=1e-5
    )


@given(st.floats(0, 1), st.floats(0, 1e9), st.floats(0.01, 8))
def test_wilson_bounds_hold_the_rate_and_are_the_roots_of_its_equation(
    share: float, n: float, z: float
) -> None:
    successes = min(share * n, n)
    low, high = (float(bound) for bound in wilson(successes, n, z))
    assert 0 <= low <= high <= 1
    if n > 1e-6:
        rate = successes / n
        assert low <= rate + 1e-9
        assert rate <= high + 1e-9
        for bound in (low, high):
            assert (rate - bound) ** 2 == pytest.approx(
                z * z * bound * (1 - bound) / n, abs=1e-6
            )


def ended(
    model: str,
    success: bool,
    *,
    lost: bool = False,
    at: int = NOW,
    query_type: str = "code",
    outcome_id: str | None = None,
) -> Event:
    """A trace's END after `other` failed without answering."""
    attempts = [
        {
            "model": "other",
            "success": False,
            "latency_ms": None,
            "tokens": None,
            "cost": None,
            "error": "timed out",
        },
        {
            "model": model,
            "success": success,
            "latency_ms": 120.5,
            "tokens": 30,
            "cost": 0.01,
            "error": None,
        },
    ]
    body = {
        "trace_id": "t",
        "query_type": query_type,
        "outcome_id": outcome_id,
        "success": success,
        "lost": lost,
        "model": model,
        "tokens": 30,
        "latency_ms": 120.5,
        "error": None,
        "response": "",
        "attempts": [] if lost else attempts,
    }
    return new_event("trace_ended", body, agent="main", at=at)


ends = st.builds(
    ended,
    st.sampled_from(["a", "b"]),
    st.booleans(),
    lost=st.booleans(),
    at=st.integers(NOW - 30 * DAY, NOW),
    query_type=st.sampled_from(["code", "math"]),
    outcome_id=st.sampled_from([None, "o1", "o2"]),
)


def outcome(outcome_id: str, success: bool, at: int = NOW + 1, **more: Any) -> Event:
    return new_event(
        "outcome",
        {
            "decision": "d",
            "result": "r",
            "success": success,
            "tags": [],
            "concepts": [],
            "source": "agent",
            **more,
        },
        agent="main",
        at=at,
        event_id=outcome_id,
    )


def of_call(model: str, success: bool) -> Event:
    """An outcome that was recorded of a call after its END."""
    return outcome(
        "o9", success, answer={"query_type": "code", "model": model, "at": NOW}
    )


def correction(outcome_id: str, success: bool | None, at: int = NOW + 2) -> Event:
    """A later score; without `success` it is a judge's."""
    body = {"outcome_id": outcome_id, "success": success, "judge": 0.1}
    return new_event("outcome_scored", body, agent="main", at=at)


outcome_ids = st.sampled_from(["o1", "o2", "o3"])
times = st.integers(NOW - 30 * DAY, NOW + DAY)
spoken = st.builds(outcome, outcome_ids, st.booleans(), times) | st.builds(
    correction, outcome_ids, st.sampled_from([True, False, None]), times
)
recorded_afterwards = st.builds(of_call, st.sampled_from(["a", "b"]), st.booleans())


@settings(max_examples=80, deadline=None)
@given(
    stream=st.lists(ends | spoken | recorded_afterwards, max_size=20),
    cuts=st.lists(st.integers(0, 20), max_size=4),
)
def test_the_view_does_not_depend_on_the_cuts(
    stream: list[Event], cuts: list[int]
) -> None:
    whole = EvidenceView()
    cut = EvidenceView()
    whole.apply(stream)
    for start, end in pairwise(
        sorted({0, len(stream), *(each for each in cuts if each < len(stream))})
    ):
        cut.apply(stream[start:end])
        reopened = EvidenceView()
        reopened.load(cut.columns())
        cut = reopened
    assert differing_columns(whole, cut) == []


def counted(stream: Sequence[Event]) -> dict[tuple[str, str], tuple[float, float]]:
    view = EvidenceView()
    view.apply(stream)
    return {
        cell: (values[0], values[1]) for cell, values in content(view.table).items()
    }


@settings(max_examples=80, deadline=None)
@given(
    calls=st.lists(ends, max_size=12),
    verdicts=st.lists(spoken, max_size=8),
    order=st.randoms(),
)
def test_it_does_not_matter_whether_call_or_outcome_arrives_first(
    calls: list[Event], verdicts: list[Event], order: Random
) -> None:
    expected: dict[tuple[str, str], list[int]] = {}
    for call in calls:
        of = call.body["outcome_id"]
        said = [
            each
            for each in verdicts
            if of in (each.id, each.body.get("outcome_id")) and of is not None
        ]
        last = next(
            (each for each in reversed(said) if each.body["success"] is not None), None
        )
        wrong = last is not None and last.at > call.at and not last.body["success"]
        for attempt in call.body["attempts"]:
            cell = expected.setdefault(
                (f"query_type/{call.body['query_type']}", attempt["model"]), [0, 0]
            )
            cell[0] += 1
            cell[1] += attempt["success"] and not wrong
    waiting = {True: list(calls), False: list(verdicts)}
    mixed = []
    while any(waiting.values()):
        which = order.choice([each for each, left in waiting.items() if left])
        mixed.append(waiting[which].pop(0))
    assert counted(mixed) == {cell: tuple(values) for cell, values in expected.items()}


def test_an_outcome_says_afterwards_whether_the_answer_was_any_good() -> None:
    code = ("query_type/code", "a")
    call = ended("a", True, outcome_id="o1")
    assert counted([call, outcome("o1", False)])[code] == (1, 0)
    assert counted([call, outcome("o1", True)])[code] == (1, 1)
    assert counted([call, outcome("o1", False), correction("o1", True)])[code] == (1, 1)
    assert counted([call, outcome("o1", True), correction("o1", False)])[code] == (1, 0)
    assert counted([call, outcome("o1", False), correction("o1", None)])[code] == (
        1,
        0,
    ), "a score is no verdict"
    assert counted([call, outcome("o2", False)])[code] == (1, 1), "it is another's"
    assert counted([ended("a", True), outcome("o1", False)])[code] == (1, 1), (
        "nobody linked them"
    )
    again = ended("a", True, outcome_id="o1", at=NOW + DAY)
    assert counted([call, again, outcome("o1", False)])[code] == (2, 1), (
        "the second answer was not there yet"
    )


def test_an_outcome_may_be_recorded_of_a_call_that_was_made_for_none() -> None:
    code = ("query_type/code", "a")
    call = ended("a", True)
    assert counted([call, call, of_call("a", False)])[code] == (2, 1)
    assert counted([call, call, of_call("a", True)])[code] == (2, 2)
    assert counted([call, call, of_call("a", False), correction("o9", True)])[code] == (
        2,
        2,
    )
    assert counted([call, call, of_call("a", True), correction("o9", False)])[code] == (
        2,
        1,
    )
    assert counted([call, of_call("b", False)])[code] == (1, 1), "that call was erased"


def test_a_failure_that_was_there_before_the_call_is_not_the_models() -> None:
    before = outcome("o1", False, at=NOW - 1)
    asked_why = ended("a", True, outcome_id="o1")
    assert counted([before, asked_why])["query_type/code", "a"] == (1, 1)
    assert counted([before, asked_why, correction("o1", False)])[
        "query_type/code", "a"
    ] == (1, 0)


def test_no_outcome_makes_a_model_answer_that_did_not() -> None:
    silent = ended("a", False, outcome_id="o1")
    assert counted([silent, outcome("o1", True)]) == {
        ("query_type/code", "other"): (1, 0),
        ("query_type/code", "a"): (1, 0),
    }
    answered_second = ended("a", True, outcome_id="o1")
    assert counted([answered_second, outcome("o1", False), correction("o1", True)])[
        "query_type/code", "other"
    ] == (
        1,
        0,
    )


def test_an_erased_verdict_is_taken_back(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "theorex.db", clock=FixedClock(NOW))
    views = Views(journal, tmp_path / "views")
    verdict = outcome("o1", False)
    journal.append([ended("a", True, outcome_id="o1"), verdict])
    assert content(views.get(EvidenceView).table)["query_type/code", "a"][1] == 0
    erase(journal, [verdict.id], agent="main", at=NOW + 2)
    assert content(views.get(EvidenceView).table)["query_type/code", "a"][1] == 1
    assert verify(views, [EvidenceView]).ok
    journal.close()


def test_every_attempt_of_a_trace_counts_and_lost_ones_do_not(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "theorex.db", clock=FixedClock(NOW))
    stream = [
        ended("a", True),
        ended("a", False),
        ended("a", False, lost=True),
        ended("b", True, query_type="math"),
    ]
    journal.append(stream)
    views = Views(journal, tmp_path / "views")
    assert views.snapshot(views.get(EvidenceView))
    found = content(views.get(EvidenceView).table)
    assert found == {
        ("query_type/code", "other"): pytest.approx(
            [2, 0, *[math.nan] * 3, NOW], nan_ok=True
        ),
        ("query_type/code", "a"): pytest.approx([2, 1, 120.5, 30, 0.01, NOW]),
        ("query_type/math", "other"): pytest.approx(
            [1, 0, *[math.nan] * 3, NOW], nan_ok=True
        ),
        ("query_type/math", "b"): pytest.approx([1, 1, 120.5, 30, 0.01, NOW]),
    }
    erase(journal, [stream[3].id], agent="main", at=NOW)
    assert views.get(EvidenceView).table.cells("query_type/math").keys == []
    assert verify(views, [EvidenceView]).ok
    fresh = EvidenceView()
    fold_into(fresh, journal, journal.last_seq())
    assert differing_columns(fresh, views.get(EvidenceView)) == []
    journal.close()
