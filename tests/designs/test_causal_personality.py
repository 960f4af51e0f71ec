"""Personalities and mutations: keys and rules, and that outcomes alone adapt them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as draw

from tests.conftest import NOW
from theorex_lab import FixedClock, InvalidInput, Lab
from theorex_lab.designs.causal.capture import (
    CATEGORIES,
    PARAMETERS,
    RISKS,
    checked_mutation,
    checked_state,
    personality_key,
)

GENE = {"id": "gene_a", "category": "repair"}
ERRORS = ["log_error", "errsig:TypeError: undefined"]


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path / "home", clock=FixedClock(NOW)) as opened:
        yield opened


def live(
    lab: Lab,
    *results: bool,
    state: dict[str, float] | None = None,
    mutation: Any = None,
) -> None:
    """Record outcomes of one personality, each of the best or the worst score."""
    for success in results:
        action = lab.causal.record_attempt(
            ERRORS,
            GENE,
            personality_state=state or PARAMETERS,
            mutation=mutation,
        )
        lab.causal.close(action.id, "success" if success else "failed")


def test_a_key_rounds_halves_up_and_clips() -> None:
    assert (
        personality_key({})
        == "rigor=0.7|creativity=0.4|verbosity=0.3|risk_tolerance=0.4|obedience=0.9"
    )
    assert personality_key(
        {"rigor": 2, "creativity": -1, "type": "PersonalityState"}
    ).startswith("rigor=1.0|creativity=0.0|")


@pytest.mark.parametrize(
    "state",
    [{"rigour": 0.5}, {"rigor": "high"}, {"rigor": float("nan")}, {"rigor": True}],
)
def test_what_is_no_parameter_is_refused(state: dict[str, Any]) -> None:
    with pytest.raises(
        InvalidInput,
        match="in a personality; allowed are numbers from 0 to 1 for rigor",
    ):
        personality_key(state)


@given(draw.fixed_dictionaries({name: draw.floats(-1, 2) for name in PARAMETERS}))
def test_a_key_is_within_half_a_tenth(state: dict[str, float]) -> None:
    shown = [
        float(part.partition("=")[2]) for part in personality_key(state).split("|")
    ]
    assert all(
        abs(one - other) <= 0.05 + 1e-9
        for one, other in zip(shown, checked_state(state).values(), strict=True)
    )


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        {},
        [],
        {"category": "destroy"},
        {"category": "repair", "risk_level": "extreme"},
        {"category": "repair", "target": 5},
        {"category": "repair", "trigger_signals": "log_error"},
        {"category": "repair", "trigger_signals": [5]},
    ],
)
def test_an_invalid_mutation_is_none(wrong: Any) -> None:
    assert checked_mutation(wrong) is None


def test_the_same_mutation_has_the_same_id_and_what_is_known_of_it_stays() -> None:
    one, other = (
        checked_mutation({"category": "optimize", "target": target})
        for target in ("a", "b")
    )
    assert one is not None
    assert other is not None
    assert one["id"] != other["id"]
    assert checked_mutation(one) == one


@pytest.mark.parametrize(
    ("signals", "options", "expected"),
    [
        (ERRORS, {}, ("repair", "low")),
        (ERRORS, {"drift_enabled": True}, ("repair", "low")),
        (["slow"], {}, ("optimize", "low")),
        (["slow"], {"drift_enabled": True}, ("innovate", "medium")),
        (["user_feature_request"], {}, ("innovate", "medium")),
        (
            ["capability_gap"],
            {"personality_state": {"rigor": 0.4}},
            ("optimize", "low"),
        ),
        (
            ["capability_gap"],
            {"personality_state": {"risk_tolerance": 0.7}, "risk_level": "high"},
            ("optimize", "low"),
        ),
        (["slow"], {"risk_level": "high"}, ("optimize", "high")),
        (
            ["slow"],
            {"risk_level": "high", "personality_state": {"rigor": 0.55}},
            ("optimize", "medium"),
        ),
        (
            ["slow"],
            {"risk_level": "high", "personality_state": {"risk_tolerance": 0.55}},
            ("optimize", "medium"),
        ),
    ],
)
def test_what_signals_call_for(
    lab: Lab, signals: list[str], options: Any, expected: tuple[str, str]
) -> None:
    made = lab.causal.build_mutation(signals, target="x", **options)
    assert (made["category"], made["risk_level"]) == expected
    assert made["trigger_signals"] == signals
    attempt = lab.causal.record_attempt(signals, GENE, mutation=made)
    assert attempt.event["mutation"] == made


@settings(max_examples=20, deadline=None)
@given(
    draw.floats(0, 1),
    draw.floats(0, 1),
    draw.booleans(),
    draw.sampled_from(["", *RISKS]),
    draw.lists(draw.sampled_from(["log_error", "slow", "capability_gap"])),
)
def test_no_mutation_breaks_the_rules(
    rigor: float, risk: float, drift: bool, level: str, signals: list[str]
) -> None:
    with Lab.temporary(clock=FixedClock(NOW)) as lab:
        made = lab.causal.build_mutation(
            signals,
            drift_enabled=drift,
            personality_state={"rigor": rigor, "risk_tolerance": risk},
            risk_level=level,
        )
    assert made["category"] in CATEGORIES
    assert made["category"] != "innovate" or (rigor >= 0.5 and risk <= 0.6)
    assert made["risk_level"] != "high" or (rigor >= 0.6 and risk <= 0.5)
    assert ("log_error" in signals) == (made["category"] == "repair")


def test_another_risk_is_refused(lab: Lab) -> None:
    with pytest.raises(InvalidInput, match="got the risk 'extreme'"):
        lab.causal.build_mutation(["slow"], risk_level="extreme")


def test_a_score_begins_with_the_third_outcome(lab: Lab) -> None:
    live(lab, True, True)
    key = personality_key(PARAMETERS)
    record = lab.causal.personality()["statistics"][key]
    assert record == {"success": 2, "failed": 0, "score": None}
    live(lab, False)
    record = lab.causal.personality()["statistics"][key]
    assert record["score"] == pytest.approx(0.75 * 3 / 5 + 0.25 * (2 / 3) * 3 / 8)


def test_it_goes_towards_the_personality_that_did_best(lab: Lab) -> None:
    best = {
        "rigor": 0.9,
        "creativity": 0.9,
        "verbosity": 0.3,
        "risk_tolerance": 0.0,
        "obedience": 0.9,
    }
    live(lab, True, True, True, True, state=best)
    state = lab.causal.adapt_personality()["state"]
    assert state == {
        **PARAMETERS,
        "creativity": 0.45,
        "risk_tolerance": pytest.approx(0.3),
    }
    event = next(iter(lab.journal.tail(0, kinds=["personality"])))
    assert len(event.lineage) == 4
    assert event.body["why"] == "towards the personality that did best"


def test_it_does_not_follow_a_personality_that_failed(lab: Lab) -> None:
    live(lab, False, True, False, True, False, state={"creativity": 0.9})
    assert lab.causal.adapt_personality()["state"] == PARAMETERS


@pytest.mark.parametrize("mutation", [None, {"category": "repair"}])
def test_failures_make_it_more_rigorous_and_less_daring(
    lab: Lab, mutation: Any
) -> None:
    live(lab, True, *([True] * 3 if mutation else [False, False]))
    assert lab.causal.adapt_personality()["state"] == PARAMETERS
    live(lab, *[False] * 3, mutation=mutation)
    state = lab.causal.adapt_personality()["state"]
    assert state["rigor"] == pytest.approx(0.8)
    assert state["risk_tolerance"] == pytest.approx(0.3)


def test_three_failed_mutations_count_though_others_succeeded(lab: Lab) -> None:
    for _ in range(3):
        live(lab, False, mutation={"category": "innovate"})
        live(lab, True, True)
    state = lab.causal.adapt_personality()["state"]
    assert state["rigor"] == pytest.approx(0.8)


def test_repeating_changes_nothing_also_under_drift(lab: Lab) -> None:
    first = lab.causal.adapt_personality(drift_enabled=True)
    assert first["state"] == PARAMETERS  # nothing was lived through yet
    live(lab, True)
    second = lab.causal.adapt_personality(drift_enabled=True, seed=3)
    moved = [abs(value - PARAMETERS[name]) for name, value in second["state"].items()]
    assert sum(distance > 0 for distance in moved) == 1
    assert max(moved) <= 0.2 + 1e-9
    assert lab.causal.adapt_personality(drift_enabled=True, seed=4) == second
    assert len(second["history"]) == 1


def test_maintenance_adapts_it(lab: Lab) -> None:
    live(lab, False, False, False)
    lab.maintain(designs=["causal"])
    assert lab.causal.personality()["state"]["rigor"] == pytest.approx(0.8)


def test_outcomes_of_an_import_do_not_adapt_it(lab: Lab) -> None:
    live(lab, False, False, False)
    bodies = [event.body for event in lab.journal.tail(0, kinds=["attempt_closed"])]
    with Lab.temporary(clock=FixedClock(NOW)) as other:
        for number, body in enumerate(bodies):
            action = {"id": f"act_{number}"}
            closed = {**body, "action": action, "source": "import"}
            other.causal.append("attempt_closed", closed)
        assert other.causal.adapt_personality()["state"] == PARAMETERS
        assert other.causal.personality()["statistics"] == {}


def test_the_history_ends_with_the_last_120(lab: Lab) -> None:
    for number in range(122):
        lab.causal.set_personality({"rigor": number / 200})
    shown = lab.causal.personality()
    assert len(shown["history"]) == 120
    assert shown["history"][-1] == shown["state"]
