"""Personalities and mutations as attempts name them: keys and rules."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as draw

from theorex_lab import InvalidInput
from theorex_lab.designs.causal.capture import (
    PARAMETERS,
    checked_mutation,
    checked_state,
    personality_key,
)

GENE = {"id": "gene_a", "category": "repair"}
ERRORS = ["log_error", "errsig:TypeError: undefined"]


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
