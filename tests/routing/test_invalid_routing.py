"""What routing refuses."""

from __future__ import annotations

import math
from typing import Any

import pytest

from theorex_lab import InvalidInput, Lab, Settings
from theorex_lab.routing.energy import Power
from theorex_lab.routing.router import route


@pytest.mark.parametrize("percent", [-0.1, 100.1, math.nan, math.inf])
def test_a_charge_outside_its_range(percent: float) -> None:
    with pytest.raises(InvalidInput, match="allowed is 0 to 100"):
        Power(percent, True)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"query": ""}, "a text that is not blank"),
        ({"query": " \n\t"}, "a text that is not blank"),
        ({"query": None}, "a text that is not blank"),
        ({"query": b"debug"}, "a text that is not blank"),
        ({"context_pct": -1.0}, "context_pct -1.0; allowed is 0 to 100"),
        ({"context_pct": 100.5}, "context_pct 100.5"),
        ({"context_pct": math.nan}, "context_pct nan"),
        ({"query_tokens": -1}, "query_tokens -1; allowed is a whole number from 0"),
        ({"query_tokens": 1.5}, "query_tokens 1.5"),
        ({"query_tokens": True}, "query_tokens True"),
    ],
)
def test_arguments_of_a_route(changes: dict[str, Any], message: str) -> None:
    arguments = {
        "query": "debug this",
        "settings": Settings(),
        "evidence": None,
        "power": Power(None, False),
        "now": 0,
    }
    with pytest.raises(InvalidInput, match=message):
        route(**{**arguments, **changes})


@pytest.mark.parametrize(
    "changes",
    [{"half_life_days": 0.0}, {"half_life_days": math.nan}, {"min_samples": -1}],
)
def test_arguments_of_the_matrix(changes: dict[str, Any]) -> None:
    with Lab.temporary() as lab, pytest.raises(InvalidInput, match="allowed"):
        lab.matrix(**changes)


def test_the_agent_of_statistics() -> None:
    with Lab.temporary() as lab, pytest.raises(InvalidInput, match="agent id"):
        lab.trace_stats(agent="No Agent")
