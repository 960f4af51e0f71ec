"""Personality and mutations: keys, rules, and that it adapts to outcomes and to nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW, Run
from hypothesis import given, settings
from hypothesis import strategies as draw

from theorex_lab import FixedClock, Lab
from theorex_lab.designs.causal.personality import (
    CATEGORIES,
    PARAMETERS,
    RISKS,
    checked_mutation,
    checked_state,
    personality_key,
)
from theorex_lab.errors import InvalidInput

GENE = {"id": "gene_a", "category": "repair"}
ERRORS = ["log_error", "errsig:TypeError: undefined"]


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path / "home", clock=FixedClock(NOW)) as opened:
        yield opened


def lived(lab: Lab, *results: bool, state: dict[str, float] | None = None, mutation: Any = None) -> None:
    """Outcomes of one personality, the score of each the best or the worst."""
    for success in results:
        lab.causal.record_attempt(ERRORS, GENE, personality_state=state or PARAMETERS, mutation=mutation)
        lab.causal.close(lab.causal.open_attempts("main")[-1].action_id, "success" if success else "failed")


def test_a_key_rounds_halves_up_and_clips() -> None:
    assert personality_key({}) == "rigor=0.7|creativity=0.4|verbosity=0.3|risk_tolerance=0.4|obedience=0.9"
    assert personality_key({"rigor": 2, "creativity": -1, "type": "PersonalityState"}).startswith(
        "rigor=1.0|creativity=0.0|"
    )


@pytest.mark.parametrize("state", [{"rigour": 0.5}, {"rigor": "high"}, {"rigor": float("nan")}, {"rigor": True}])
def test_what_is_no_parameter_is_refused(state: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="in a personality; allowed are numbers from 0 to 1 for rigor"):
        personality_key(state)


@given(draw.fixed_dictionaries({name: draw.floats(-1, 2) for name in PARAMETERS}))
def test_a_key_is_within_half_a_tenth(state: dict[str, float]) -> None:
    shown = [float(part.partition("=")[2]) for part in personality_key(state).split("|")]
    assert all(abs(one - other) <= 0.05 + 1e-9 for one, other in zip(shown, checked_state(state).values(), strict=True))


@pytest.mark.parametrize(
    "wrong",
    [None, {}, [], {"category": "destroy"}, {"category": "repair", "risk_level": "extreme"}, {"category": "repair", "target": 5},
     {"category": "repair", "trigger_signals": "log_error"}, {"category": "repair", "trigger_signals": [5]}],
)  # fmt: skip
def test_an_invalid_mutation_is_none(wrong: Any) -> None:
    assert checked_mutation(wrong) is None


def test_the_same_mutation_has_the_same_id_and_what_is_known_of_it_stays() -> None:
    one, other = (checked_mutation({"category": "optimize", "target": target}) for target in ("a", "b"))
    assert one is not None
    assert other is not None
    assert one["id"] != other["id"]
    assert checked_mutation(one) == one


@pytest.mark.parametrize(
    ("signals", "more", "found"),
    [
        (ERRORS, {}, ("repair", "low")),
        (ERRORS, {"drift_enabled": True}, ("repair", "low")),
        (["slow"], {}, ("optimize", "low")),
        (["slow"], {"drift_enabled": True}, ("innovate", "medium")),
        (["user_feature_request"], {}, ("innovate", "medium")),
        (["capability_gap"], {"personality": {"rigor": 0.4}}, ("optimize", "low")),
        (["capability_gap"], {"personality": {"risk_tolerance": 0.7}, "risk_level": "high"}, ("optimize", "low")),
        (["slow"], {"risk_level": "high"}, ("optimize", "high")),
        (["slow"], {"risk_level": "high", "personality": {"rigor": 0.55}}, ("optimize", "medium")),
        (["slow"], {"risk_level": "high", "personality": {"risk_tolerance": 0.55}}, ("optimize", "medium")),
    ],
)
def test_what_signals_call_for(lab: Lab, signals: list[str], more: Any, found: tuple[str, str]) -> None:
    made = lab.causal.build_mutation(signals, target="x", **more)
    assert (made["category"], made["risk_level"]) == found
    assert made["trigger_signals"] == signals
    assert lab.causal.record_attempt(signals, GENE, mutation=made).event["mutation"] == made


@settings(max_examples=30)
@given(
    draw.floats(0, 1), draw.floats(0, 1), draw.booleans(), draw.sampled_from(["", *RISKS]),
    draw.lists(draw.sampled_from(["log_error", "slow", "capability_gap"])))  # fmt: skip
def test_no_mutation_breaks_the_rules(rigor: float, risk: float, drift: bool, level: str, signals: list[str]) -> None:
    with Lab.temporary(clock=FixedClock(NOW)) as lab:
        state = {"rigor": rigor, "risk_tolerance": risk}
        made = lab.causal.build_mutation(signals, drift_enabled=drift, personality=state, risk_level=level)
    assert made["category"] in CATEGORIES
    assert made["category"] != "innovate" or (rigor >= 0.5 and risk <= 0.6)
    assert made["risk_level"] != "high" or (rigor >= 0.6 and risk <= 0.5)
    assert ("log_error" in signals) == (made["category"] == "repair")


def test_a_score_begins_with_the_third_outcome(lab: Lab) -> None:
    lived(lab, True, True)
    key = personality_key(PARAMETERS)
    assert lab.causal.personality()["statistics"][key] == {"success": 2, "failed": 0, "score": None}
    lived(lab, False)
    found = lab.causal.personality()["statistics"][key]
    assert found["score"] == pytest.approx(0.75 * 3 / 5 + 0.25 * (2 / 3) * 3 / 8)


def test_it_goes_towards_the_personality_that_did_best_two_parameters_at_a_time(lab: Lab) -> None:
    best = {"rigor": 0.9, "creativity": 0.9, "verbosity": 0.3, "risk_tolerance": 0.0, "obedience": 0.9}
    lived(lab, True, True, True, True, state=best)
    found = lab.causal.adapt_personality()
    assert found["state"] == {**PARAMETERS, "creativity": 0.45, "risk_tolerance": pytest.approx(0.3)}
    event = next(lab.journal.tail(0, kinds=["personality"]))
    assert len(event.lineage) == 4
    assert event.body["why"] == "towards the personality that did best"


def test_it_does_not_follow_a_personality_that_failed(lab: Lab) -> None:
    lived(lab, False, True, False, True, False, state={"creativity": 0.9})
    assert lab.causal.adapt_personality()["state"] == PARAMETERS


@pytest.mark.parametrize("mutation", [None, {"category": "repair"}])
def test_failures_make_it_more_rigorous_and_less_daring(lab: Lab, mutation: Any) -> None:
    lived(lab, True, *([True] * 3 if mutation else [False, False]))
    assert lab.causal.adapt_personality()["state"] == PARAMETERS
    lived(lab, *[False] * 3, mutation=mutation)
    state = lab.causal.adapt_personality()["state"]
    assert (state["rigor"], state["risk_tolerance"]) == (pytest.approx(0.8), pytest.approx(0.3))


def test_three_failed_mutations_count_though_others_succeeded_between(lab: Lab) -> None:
    for _ in range(3):
        lived(lab, False, mutation={"category": "innovate"})
        lived(lab, True, True)
    assert lab.causal.adapt_personality()["state"]["rigor"] == pytest.approx(0.8)


def test_repeating_changes_nothing_also_by_drift(lab: Lab) -> None:
    assert lab.causal.adapt_personality(drift_enabled=True)["state"] == PARAMETERS  # nothing was lived through yet
    lived(lab, True)
    found = lab.causal.adapt_personality(drift_enabled=True, seed=3)
    moved = {name: abs(value - PARAMETERS[name]) for name, value in found["state"].items()}
    assert sum(by > 0 for by in moved.values()) == 1
    assert max(moved.values()) <= 0.2 + 1e-9
    assert lab.causal.adapt_personality(drift_enabled=True, seed=4) == found
    assert len(found["history"]) == 1


@settings(max_examples=15)
@given(draw.lists(draw.tuples(draw.booleans(), draw.booleans(), draw.integers(0, 99)), min_size=1, max_size=8))
def test_no_step_changes_a_parameter_by_more_than_a_fifth(turns: list[tuple[bool, bool, int]]) -> None:
    with Lab.temporary(clock=FixedClock(NOW)) as lab:
        before = lab.causal.personality()["state"]
        for success, drift, seed in turns:
            lived(lab, *[success] * 4, state=before)
            state = lab.causal.adapt_personality(drift_enabled=drift, seed=seed)["state"]
            assert all(abs(state[name] - before[name]) <= 0.2 + 1e-9 and 0 <= state[name] <= 1 for name in PARAMETERS)
            before = state


def test_the_history_ends_with_the_last_120(lab: Lab) -> None:
    for number in range(122):
        lab.causal.set_personality({"rigor": number / 200})
    found = lab.causal.personality()
    assert len(found["history"]) == 120
    assert found["history"][-1] == found["state"]


def test_the_command_shows_and_adapts(run: Run) -> None:
    run("causal", "attempt", "--signals", "log_error", "--gene", "g")
    assert run("causal", "personality", "--json").json["state"] == PARAMETERS
    shown = run("causal", "personality", "--adapt")
    assert shown.code == 0
    assert shown.out.startswith(personality_key(PARAMETERS))
