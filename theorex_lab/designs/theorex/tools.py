"""What agents may ask of Theorex over MCP."""

# No `from __future__ import annotations`: the protocol's SDK reads the annotations.
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from theorex_lab.design import AgentTool
from theorex_lab.designs.theorex import lifecycle
from theorex_lab.designs.theorex.face import Theorex
from theorex_lab.errors import InvalidInput
from theorex_lab.ids import check_agent

_LONGEST_ID = 16


class PromotedConcepts(BaseModel):
    """What a promotion changed."""

    model_config = ConfigDict(extra="forbid")

    concepts: int
    links: int


def promote(
    theorex: Theorex,
    agent_id: str | None = None,
    force: Annotated[list[str], Field(description="concept ids to promote in any case.", max_length=1_000)] = [],  # noqa: B006
) -> PromotedConcepts:
    """Give the agent's concepts to the shared web. Raises InvalidInput for what is no concept id."""
    for text in force:
        if not (text.isascii() and text.isdecimal()) or len(text) > _LONGEST_ID:
            raise InvalidInput(f"got the concept id {text[:64]!r}; allowed is a whole number, as search gives it")
    everywhere = theorex.home.in_project("")  # an agent gives what it knows, wherever it is asked to
    done = lifecycle.promote(everywhere, agent=check_agent(agent_id or "main"), force=[int(text) for text in force])
    return PromotedConcepts(**done._asdict())


def tools() -> list[AgentTool]:
    """The tools that Theorex brings."""
    about = "Give the agent's concepts above the threshold to the memory that all agents share."
    return [AgentTool("promote", about, promote, changes=True, repeatable=True)]
