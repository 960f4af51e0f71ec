"""Recall: which model did best when (nearly) the same query was asked before."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from conftest import NOW
from hypothesis import given
from hypothesis import strategies as st

from theorex_lab import Event, FixedClock, Lab
from theorex_lab.dispatch.bus import CallEnd, CallStart
from theorex_lab.dispatch.llm import Attempt
from theorex_lab.routing.energy import Power
from theorex_lab.routing.recall import Recall
from theorex_lab.routing.router import Decision

MAINS = Power(None, False)
MODELS = {"quick": {"tier": "medium"}, "careful": {"tier": "medium"}}
ASKED = "Which supplier delivers brass hinges to the workshop in March?"
OTHER = "How tall is the lighthouse of Alexandria said to have been?"


def call(
    number: int,
    task: str,
    source: str = "model",
    outcome_id: str | None = None,
    **answers: bool,
) -> list[Event]:
    """START and END of a call that asked each of these models."""
    start = CallStart(
        f"call-{number}", "main", NOW, task, "general", "quick", outcome_id=outcome_id
    )
    attempts = tuple(Attempt(name, success, 100.0) for name, success in answers.items())
    end = CallEnd(
        start.trace_id, NOW, any(answers.values()), "quick", attempts=attempts
    ).event(start)
    return [start.event(), end._replace(body={**end.body, "source": source})]


def decided(
    events: Sequence[Event], query: str = ASKED, **settings: object
) -> Decision:
    with Lab.temporary(
        clock=FixedClock(NOW), models=MODELS, roles=[], **settings
    ) as lab:
        if events:
            lab.journal.append(events)
        assert lab.verify().ok
        return lab.route(query, power=MAINS)


def test_an_earlier_call_of_the_same_query_decides_before_the_type_of_query() -> None:
    many = [
        event
        for number in range(20)
        for event in call(number, OTHER, quick=True, careful=False)
    ]
    once = call(99, ASKED.upper(), quick=False, careful=True)
    assert decided(many).model == "quick", "by the matrix"
    decision = decided([*many, *once])
    assert decision.model == "careful"
    assert decision.reasons[2].startswith("recall: careful succeeds by 0.")
    assert decision.reasons[2].endswith("the best for queries like this general one")
    assert (
        decision.reasons[3]
        == "confidence matrix: not needed; recall takes it into account"
    )


def test_recall_is_a_setting_and_says_why_it_does_nothing() -> None:
    once = call(1, ASKED, quick=False, careful=True)
    off = decided(once, recall_calls=0)
    assert (off.model, off.reasons[2]) == ("quick", "recall: recallCalls is 0")
    assert (
        decided(once, OTHER).reasons[2]
        == "recall: no earlier call is enough like this query"
    )
    assert decided([]).reasons[2] == "recall: no earlier call is enough like this query"


def test_what_is_only_heard_of_or_never_answered_is_not_recalled() -> None:
    assert (
        decided(call(1, ASKED, source="import", quick=False, careful=True)).model
        == "quick"
    )
    start = CallStart("t", "main", NOW, ASKED, "general")
    for end in (
        CallEnd("t", NOW, False, lost=True, attempts=(Attempt("careful", True),)),
        CallEnd(
            "t", NOW, False, attempts=(Attempt("careful", False, unavailable=True),)
        ),
    ):
        assert (
            "no earlier call" in decided([start.event(), end.event(start)]).reasons[2]
        )


def test_an_outcome_corrects_what_is_recalled() -> None:
    with Lab.temporary(clock=FixedClock(NOW + 10)) as lab:
        lab.journal.append([*call(1, ASKED, quick=True), *call(2, OTHER, quick=True)])
        assert lab.views.get(Recall).like(ASKED, 1)["quick"].successes > 0
        lab.outcomes.record_of_trace("call-1", result="it was wrong", success=False)
        assert lab.views.get(Recall).like(ASKED, 1)["quick"].successes == 0
        assert lab.views.get(Recall).like(OTHER, 1)["quick"].successes > 0


def test_an_erased_call_is_not_recalled() -> None:
    with Lab.temporary(clock=FixedClock(NOW)) as lab:
        lab.journal.append(call(1, ASKED, quick=True))
        assert lab.views.get(Recall).like(ASKED, 5)
        lab.erase(
            ids=[event.id for event in lab.journal.tail(0, kinds=("trace_started",))]
        )
        assert lab.views.get(Recall).like(ASKED, 5) == {}


def test_only_the_nearest_calls_count() -> None:
    with Lab.temporary(clock=FixedClock(NOW)) as lab:
        lab.journal.append(
            [*call(1, ASKED, quick=True), *call(2, f"{ASKED} And April?", careful=True)]
        )
        recall = lab.views.get(Recall)
        assert recall.like(ASKED, 1).keys() == {"quick"}
        both = recall.like(ASKED, 2)
        assert both["quick"].weight > both["careful"].weight > 1


@given(
    st.lists(st.text("ab c", max_size=12), max_size=8),
    st.text("abc d", max_size=12),
    st.integers(1, 9),
)
def test_weights_hold_their_successes_and_grow_with_the_calls(
    tasks: list[str], query: str, most: int
) -> None:
    view = Recall()
    view.apply(
        [
            event
            for number, task in enumerate(tasks)
            for event in call(number, task, quick=number % 2 == 0)
        ]
    )
    found, all_of_it = (view.like(query, each).get("quick") for each in (most, 9))
    if found is not None:
        assert all_of_it is not None
        assert 0 <= found.successes <= found.weight <= all_of_it.weight + 1e-9


def test_a_view_that_was_loaded_recalls_the_same() -> None:
    first = Recall()
    second = Recall()
    first.apply([*call(1, ASKED, quick=True), *call(2, OTHER, careful=False)])
    second.load(first.columns())
    second.apply(call(3, ASKED, careful=True)[:1])
    first.apply(call(3, ASKED, careful=True)[:1])
    assert second.like(ASKED, 5).keys() == {"quick", "careful"}
    for name, recalled in first.like(ASKED, 5).items():
        assert second.like(ASKED, 5)[name] == pytest.approx(recalled)
