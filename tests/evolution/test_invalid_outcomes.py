"""What outcomes, refinement, the audit log and the context monitor refuse; nothing is
written then.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import NOW

from theorex_lab import FixedClock, InvalidInput, Lab
from theorex_lab.designs.theorex.upkeep import check_context, refine
from theorex_lab.evolution.audit import audit
from theorex_lab.evolution.outcomes import check_score


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Lab.temporary(clock=FixedClock(NOW)) as lab:
        yield lab
        assert lab.journal.last_seq() == 0


@pytest.mark.parametrize(
    "score", [math.nan, math.inf, -math.inf, "0.5", True, b"1", [0.5]]
)
def test_scores_that_are_no_numbers(lab: Lab, score: Any) -> None:
    with pytest.raises(InvalidInput, match="allowed is a number, 0 to 1"):
        check_score(score, "explicit score")
    with pytest.raises(InvalidInput, match="explicit score"):
        lab.outcomes.record("main", "d", "r", success=True, explicit_score=score)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"agent": "../etc"}, "agent id"),
        ({"agent": None}, "agent id"),
        ({"decision": ""}, "empty text"),
        ({"result": " \n"}, "empty text"),
        ({"decision": 7}, "allowed is text"),
        ({"result": "a\0b"}, "NUL byte"),
        ({"decision": "\ud800"}, "surrogate"),
        ({"result": "x" * 65_537}, "maxTextBytes"),
        ({"success": 1}, "success 1"),
        ({"success": None}, "allowed are True and False"),
        ({"success": "yes"}, "success 'yes'"),
        ({"tags": "cache"}, "tags"),
        ({"tags": ["x" * 65]}, "64 characters"),
        ({"tags": [""]}, "empty text"),
        ({"tags": ["t"] * 33}, "up to 32"),
        ({"tags": [" t"]}, "without space"),
        ({"session": "a b"}, "session id"),
    ],
)
def test_outcomes(lab: Lab, changes: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {
        "agent": "main",
        "decision": "d",
        "result": "r",
        "success": True,
        **changes,
    }
    with pytest.raises(InvalidInput, match=message):
        lab.outcomes.record(
            arguments.pop("agent"),
            arguments.pop("decision"),
            arguments.pop("result"),
            **arguments,
        )


@pytest.mark.parametrize("name", ["", "nowhere", "' OR 1=1", "../x", "\0"])
def test_corrections_of_unknown_outcomes(lab: Lab, name: str) -> None:
    with pytest.raises(InvalidInput, match="no such outcome"):
        lab.outcomes.correct(name, success=False)


def test_an_id_of_another_kind_of_event_is_no_outcome() -> None:
    with Lab.temporary(clock=FixedClock(NOW)) as lab:
        written = lab.agent("main").write("a cache")
        with pytest.raises(InvalidInput, match="no such outcome"):
            lab.outcomes.correct(written.event_id, success=False)
        assert lab.journal.last_seq() == 1


@pytest.mark.parametrize("agent", ["../etc", "", "A", "a b"])
def test_agents(lab: Lab, agent: str) -> None:
    for call in (
        lambda: lab.outcomes.outcomes(agent=agent),
        lambda: lab.outcomes.queue(agent=agent),
        lambda: lab.outcomes.pending(agent=agent),
        lambda: refine(lab.home, agent=agent),
        lambda: check_context(lab.home, session="s", context_pct=60, agent=agent),
        lambda: lab.theorex.flash_inject("s", agent=agent),
    ):
        with pytest.raises(InvalidInput, match="agent id"):
            call()


@pytest.mark.parametrize("days", [0, -1, math.nan, math.inf, 3_651])
def test_windows_of_a_refinement(lab: Lab, days: float) -> None:
    with pytest.raises(InvalidInput, match="allowed is above 0 to 3650"):
        refine(lab.home, agent="main", days=days)


def test_the_audit_log(lab: Lab) -> None:
    with pytest.raises(InvalidInput, match="'everything'; allowed are tier_change"):
        audit(lab.home, kinds=["everything"])
    with pytest.raises(InvalidInput, match="limit of -1"):
        audit(lab.home, limit=-1)


@pytest.mark.parametrize("context_pct", [-0.1, 100.1, math.nan, math.inf])
def test_how_full_a_context_is(lab: Lab, context_pct: float) -> None:
    with pytest.raises(InvalidInput, match="allowed is 0 to 100"):
        check_context(lab.home, session="s", context_pct=context_pct)


@pytest.mark.parametrize("session", ["", "a b", "../x", "x" * 129])
def test_sessions(lab: Lab, session: str) -> None:
    with pytest.raises(InvalidInput, match="session"):
        check_context(lab.home, session=session, context_pct=60)
