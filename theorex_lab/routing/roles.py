"""Which agent a query goes to, by the agents' roles."""

from collections.abc import Sequence
from typing import NamedTuple

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.settings import NO_ROLE, QueryType, RoleSettings


class RoleChoice(NamedTuple):
    """The agent that was chosen, and why.

    Attributes:
        agent_id: The agent.
        role: Its role.
        model_preference: The model it prefers, None for any.
        reason: Why it was chosen.
    """

    agent_id: str
    role: str
    model_preference: str | None
    reason: str


def route_to_agent(
    query_type: QueryType, roles: Sequence[RoleSettings], asker: str | None = None
) -> RoleChoice:
    """Return the agent that takes a type of query, by roles and priorities.

    The active operative that takes the type and has the highest priority is chosen. An
    operative that asks (`asker`) and takes the type itself comes before the others.
    Without an operative, the active orchestrator is chosen: one that takes the type
    before others, then by priority. List order breaks ties.

    Raises:
        InvalidInput: Where there is neither an operative nor an orchestrator.

    >>> from theorex_lab.core.settings import PUBLISHED_ROLES
    >>> route_to_agent("code", PUBLISHED_ROLES)[:3]
    ('qwen-sage', 'operative', 'qwen3-32b')
    >>> route_to_agent("safety", PUBLISHED_ROLES).reason
    'no active operative takes safety; main orchestrates'
    """
    if not roles:
        raise InvalidInput(NO_ROLE)
    operatives = _active(roles, "operative")
    takers = _takers(operatives, query_type)
    if takers:
        asking = [role for role in takers if role.agent_id == asker]
        chosen = _first_by_priority(asking or takers)
        reason = f"operative that takes {query_type}, priority {chosen.priority}"
        n_others = len(takers) - 1
        if n_others:
            reason += f", before {n_others} other"
        return _choice(chosen, reason)
    orchestrators = _active(roles, "orchestrator")
    if not orchestrators:
        got = f"a query of type {query_type}, which no active agent takes"
        allowed = (
            "types that an operative has among its capabilities, or any with an"
            " orchestrator"
        )
        raise InvalidInput(
            f"got {got}; allowed are {allowed}: add one to roles in config.json"
        )
    chosen = _first_by_priority(_takers(orchestrators, query_type) or orchestrators)
    reason = f"no active operative takes {query_type}; {chosen.agent_id} orchestrates"
    return _choice(chosen, reason)


def _active(roles: Sequence[RoleSettings], name: str) -> list[RoleSettings]:
    """Return the active roles of this name."""
    active = []
    for role in roles:
        if role.active and role.role == name:
            active.append(role)
    return active


def _takers(roles: Sequence[RoleSettings], query_type: QueryType) -> list[RoleSettings]:
    """Return the roles that take this type of query."""
    return [role for role in roles if query_type in role.capabilities]


def _first_by_priority(roles: Sequence[RoleSettings]) -> RoleSettings:
    """Return the role of the highest priority, the first of equals."""
    return max(roles, key=lambda role: role.priority)


def _choice(role: RoleSettings, reason: str) -> RoleChoice:
    return RoleChoice(role.agent_id, role.role, role.model_preference, reason)
