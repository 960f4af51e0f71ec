"""Which agent a query goes to."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theorex_lab import InvalidInput
from theorex_lab.core.settings import PUBLISHED_ROLES, QueryType, RoleSettings
from theorex_lab.memory.evidence import QUERY_TYPES
from theorex_lab.routing.roles import RoleChoice, route_to_agent


def _role(
    agent_id: str,
    role: str = "operative",
    takes: tuple[QueryType, ...] = ("code",),
    **more: Any,
) -> RoleSettings:
    return RoleSettings(agent_id=agent_id, role=role, capabilities=list(takes), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("query_type", "agent", "model"),
    [
        ("code", "qwen-sage", "qwen3-32b"),
        ("math", "qwen-sage", "qwen3-32b"),
        ("retrieval", "qwen-sage", "qwen3-32b"),
        ("general", "secretarius", "ministral-3b"),
        ("synthesis", "main", "claude-sonnet"),
        ("creative", "main", "claude-sonnet"),
        ("safety", "main", "claude-sonnet"),
    ],
)
def test_the_default_roles(query_type: QueryType, agent: str, model: str) -> None:
    assert route_to_agent(query_type, PUBLISHED_ROLES)[::2] == (agent, model)


def test_priority_goes_before_list_order() -> None:
    first = _role("first")
    second = _role("second")
    urgent = _role("urgent", priority=1)
    assert route_to_agent("code", [first, second]).agent_id == "first"
    assert route_to_agent("code", [second, first]).agent_id == "second"
    assert route_to_agent("code", [first, second, urgent]).agent_id == "urgent"
    assert (
        route_to_agent("code", [_role("below", priority=-1), first]).agent_id == "first"
    )
    assert route_to_agent("code", [first, urgent]) == RoleChoice(
        "urgent",
        "operative",
        None,
        "operative that takes code, priority 1, before 1 other",
    )


def test_an_inactive_operative_is_passed_over() -> None:
    away = _role("away", priority=9, active=False)
    boss = _role("boss", "orchestrator", ("math",))
    assert route_to_agent("code", [away, _role("here")]).agent_id == "here"
    assert route_to_agent("code", [away, boss]) == RoleChoice(
        "boss",
        "orchestrator",
        None,
        "no active operative takes code; boss orchestrates",
    )


def test_an_operative_goes_before_an_orchestrator_of_any_priority() -> None:
    assert (
        route_to_agent(
            "code", [_role("boss", "orchestrator", priority=9), _role("hand")]
        ).agent_id
        == "hand"
    )


def test_of_several_orchestrators_one_that_takes_the_type_goes_first() -> None:
    bosses = [
        _role("a", "orchestrator", ("math",), priority=5),
        _role("b", "orchestrator"),
        _role("c", "orchestrator"),
    ]
    assert route_to_agent("code", bosses).agent_id == "b"
    assert route_to_agent("safety", bosses).agent_id == "a"


@pytest.mark.parametrize(
    "roles",
    [
        [_role("hand", takes=("math",))],
        [_role("boss", "orchestrator", active=False)],
        [_role("x", active=False)],
    ],
)
def test_nobody_to_go_to_is_an_error(roles: list[RoleSettings]) -> None:
    with pytest.raises(
        InvalidInput, match="type code, which no active agent takes.*config.json"
    ):
        route_to_agent("code", roles)


def test_without_any_role_the_error_says_where_to_add_one() -> None:
    with pytest.raises(InvalidInput, match=r"no role is configured; .*config\.json"):
        route_to_agent("code", [])


_roles = st.lists(
    st.builds(
        _role,
        st.sampled_from(["a", "b", "c", "d"]),
        st.sampled_from(["operative", "orchestrator"]),
        st.lists(st.sampled_from(QUERY_TYPES), max_size=4).map(tuple),
        priority=st.integers(-3, 3),
        active=st.booleans(),
    ),
    min_size=1,
    max_size=6,
)


@given(_roles, st.sampled_from(QUERY_TYPES))
def test_what_holds_of_every_choice(
    roles: list[RoleSettings], query_type: QueryType
) -> None:
    able = [
        each
        for each in roles
        if each.active and each.role == "operative" and query_type in each.capabilities
    ]
    orchestrators = [
        each for each in roles if each.active and each.role == "orchestrator"
    ]
    if not able and not orchestrators:
        with pytest.raises(InvalidInput):
            route_to_agent(query_type, roles)
        return
    choice = route_to_agent(query_type, roles)
    assert choice.role == ("operative" if able else "orchestrator")
    if able:
        top = max(each.priority for each in able)
        assert choice.agent_id == next(
            each.agent_id for each in able if each.priority == top
        )


def test_the_first_of_equals_has_the_highest_priority() -> None:
    assert route_to_agent("code", [_role("a"), _role("b")]).agent_id == "a"
