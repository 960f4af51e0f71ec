"""Which agent a query goes to, by the agents' roles."""

from collections.abc import Sequence
from typing import NamedTuple

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.settings import QueryType, RoleSettings


class RoleChoice(NamedTuple):
    """The agent that was chosen, with its role and the model it prefers (None: any),
    and why.
    """

    agent_id: str
    role: str
    model_preference: str | None
    reason: str


def route_to_agent(
    query_type: QueryType, roles: Sequence[RoleSettings], asker: str | None = None
) -> RoleChoice:
    """The active operative that takes this type of query and has the highest priority;
    list order breaks ties.

    An operative that asks (`asker`) and takes the type itself comes before the others.
    Without one, the active orchestrator: one that takes the type before others, then by
    priority and list order. Raises InvalidInput where there is neither.

    >>> from theorex_lab.core.settings import DEFAULT_ROLES
    >>> route_to_agent("code", DEFAULT_ROLES)[:3]
    ('qwen-sage', 'operative', 'qwen3-32b')
    >>> route_to_agent("safety", DEFAULT_ROLES).reason
    'no active operative takes safety; main orchestrates'
    """
    active = [role for role in roles if role.active]
    if operatives := [
        role
        for role in active
        if role.role == "operative" and query_type in role.capabilities
    ]:
        own = [role for role in operatives if role.agent_id == asker]
        chosen = max(own or operatives, key=lambda role: role.priority)
        others = f", before {len(operatives) - 1} other" if len(operatives) > 1 else ""
        reason = (
            f"operative that takes {query_type}, priority {chosen.priority}{others}"
        )
        return RoleChoice(chosen.agent_id, chosen.role, chosen.model_preference, reason)
    if not (orchestrators := [role for role in active if role.role == "orchestrator"]):
        allowed = "types that an operative has among its capabilities, or any with an orchestrator"
        got = f"a query of type {query_type}, which no active agent takes"
        raise InvalidInput(
            f"got {got}; allowed are {allowed}: add one to roles in config.json"
        )
    takers = [role for role in orchestrators if query_type in role.capabilities]
    chosen = max(takers or orchestrators, key=lambda role: role.priority)
    reason = f"no active operative takes {query_type}; {chosen.agent_id} orchestrates"
    return RoleChoice(chosen.agent_id, chosen.role, chosen.model_preference, reason)
