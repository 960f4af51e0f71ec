"""The agent and project of a call to the server.

Here too is the record of what the call was given.
"""

import re
import sys
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import Field

from theorex_lab.app.server.line_budget import LineBudget
from theorex_lab.core.errors import (
    ConfigError,
    InvalidInput,
    ServerAway,
    TheorexError,
)
from theorex_lab.core.ids import check_agent
from theorex_lab.designs.theorex.rendering import Context
from theorex_lab.memory.briefing.briefing import Briefing
from theorex_lab.memory.projects import find_project
from theorex_lab.memory.retrieval_log import note_recalled
from theorex_lab.memory.retrieve import Hits
from theorex_lab.store.lab import Lab

_TOLD = LineBudget(lines=20)  # to the owner; callers may repeat what fails
_WHOLE_PROJECT = re.compile(r"[A-Za-z0-9._-]{1,55}-[0-9a-f]{8}")

_WHOSE = (
    "Whose memory; leave it out for the agent that the server was started for. Another"
    " is refused unless the server is for any agent."
)
_WHICH = (
    "The project's name; leave it out for the one that the server was started for, else"
    " all."
)
AgentId = Annotated[str | None, Field(description=_WHOSE, max_length=64)]
ProjectName = Annotated[str | None, Field(description=_WHICH, max_length=64)]

Tag = Annotated[str, Field(max_length=64)]


def naming(own_agent: str, *, any_agent: bool) -> Callable[[str | None], str]:
    """Return whom a call speaks of, by the name in it.

    That is `own_agent` without a name.

    Raises:
        InvalidInput: Another's memory is not open.
    """

    def named(agent_id: str | None) -> str:
        name = own_agent if agent_id is None else check_agent(agent_id)
        if name != own_agent and not any_agent:
            allowed = f"{own_agent!r}, for whom this server was started"
            advice = f"start one for {name!r}, or this one with --any-agent"
            raise InvalidInput(
                f"got the agent {name!r}; allowed is {allowed}: {advice}"
            )
        return name

    return named


def scoped(lab: Lab, project: str | None, *, new: bool = False) -> Lab:
    """Return the lab for the project that a call names.

    The name is one that is known; with `new` it may also be a whole one that is not yet.
    """
    if project is None:
        return lab
    is_whole_id = new and _WHOLE_PROJECT.fullmatch(project)
    if is_whole_id:
        return lab.in_project(project, new=True)
    return lab.in_project(find_project(lab.home, project, folders=False))


def lab_for_agent(lab: Lab, project: str | None, agent: str) -> Lab:
    """Return the lab that every answer to an agent is made from.

    It gives the agent's own memory, and what agents shared.

    Args:
        lab: The lab of the server.
        project: The project that the call names, None for the lab's own.
        agent: The agent, whom `naming` let pass.
    """
    return scoped(lab, project).as_read_by(agent)


def shown_hits(hits: Hits, agent: str) -> list[dict[str, Any]]:
    """Return results of a search as an agent may read them.

    What another agent shared is a concept alone, not the sentence that named it.
    """
    rows: list[dict[str, Any]] = []
    for row in hits.to_dict():
        is_own = row["agent"] == agent
        rows.append(row if is_own else {**row, "subject": ""})
    return rows


def design_for(lab: Lab, design: str, agent: str, *, changes: bool) -> Any:
    """Return a design for a call of an agent.

    Args:
        lab: The lab of the server.
        design: The name of the design.
        agent: The agent.
        changes: Whether the call writes, and works on the whole memory for that.
    """
    asked_lab = lab if changes else lab_for_agent(lab, None, agent)
    return asked_lab.design(design)


def noted(
    lab: Lab,
    trigger: str,
    agent: str,
    recalled: dict[str, Any] | Briefing | Context,
    *,
    query: str = "",
) -> list[str]:
    """Note what is given to the agent; return what stood in the way.

    Args:
        lab: The lab.
        trigger: By which door, as mcp_search.
        agent: The agent.
        recalled: What is given: ids of items, and tokens; or a briefing.
        query: What was asked, '' for nothing.
    """
    details = (
        recalled
        if isinstance(recalled, dict)
        else {"items": list(recalled.items), "tokens": recalled.tokens}
    )
    if problem := note_recalled(lab.home, trigger, query=query, agent=agent, **details):
        tell_owner(problem)
    return [problem] if problem else []


_DOES_NOT_WORK = (
    "the memory cannot be read or written now; the server's own output says why"
)
_DOES_NOT_READ = (
    "the memory cannot be read now, since the database that it shares with other"
    " machines is away; what is written to it waits on this machine and is kept; the"
    " server's own output says more"
)


def tell_owner(problem: object) -> str:
    """Say in the server's own output what is wrong with the memory.

    Returns:
        What the callers of the server are told of it.
    """
    lines = _TOLD.summaries()
    if _TOLD.admits(str(problem)):
        lines.append(str(problem))
    for line in lines:
        print(f"theorex: {line}", file=sys.stderr)  # noqa: T201 - for who runs the server
    return _DOES_NOT_READ if isinstance(problem, ServerAway) else _DOES_NOT_WORK


def is_the_owners(error: Exception) -> bool:
    """Return whether an error is of the memory and its settings.

    Then it is no matter of what the caller asked.
    """
    is_callers = isinstance(error, InvalidInput) and not isinstance(error, ConfigError)
    return isinstance(error, TheorexError) and not is_callers
