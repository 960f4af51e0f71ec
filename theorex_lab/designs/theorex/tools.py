"""What agents may ask of Theorex over MCP."""

# No `from __future__ import annotations`: the protocol's SDK reads the annotations.
from pydantic import BaseModel, ConfigDict

from theorex_lab.core.ids import check_agent
from theorex_lab.designs.theorex import lifecycle
from theorex_lab.designs.theorex.face import Theorex
from theorex_lab.memory.contract import AgentTool


class PromotedConcepts(BaseModel):
    """What a promotion changed."""

    model_config = ConfigDict(extra="forbid")

    concepts: int
    links: int


def promote(theorex: Theorex, agent_id: str | None = None) -> PromotedConcepts:
    """Give the agent's concepts to the shared web."""
    # An agent gives what it knows, wherever it is asked to.
    everywhere = theorex.home.in_project("")
    result = lifecycle.promote(everywhere, agent=check_agent(agent_id or "main"))
    return PromotedConcepts(**result._asdict())


def tools() -> list[AgentTool]:
    """Return the tools that Theorex brings."""
    description = (
        "Give the agent's concepts above the threshold to the memory that all agents"
        " share."
    )
    return [AgentTool("promote", description, promote, changes=True, repeatable=True)]
