"""The briefing over HTTP: the text that hooks, commands and MCP give as well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from theorex_lab.app.server.scoped import (
    AgentId,
    ProjectName,
    lab_for_agent,
    noted,
    scoped,
)
from theorex_lab.core.clock import to_iso
from theorex_lab.core.ids import check_agent
from theorex_lab.memory.briefing.briefing import DEFAULT_TOKENS, FEWEST_TOKENS
from theorex_lab.memory.contract import Route
from theorex_lab.store.lab import Lab

_MOST_TOKENS = 100_000
_LONGEST_QUERY = 100_000  # characters
Query = Annotated[
    str,
    Field(
        description="A prompt; leave it out for what a session starts with.",
        max_length=_LONGEST_QUERY,
    ),
]
Tokens = Annotated[
    int,
    Field(description="The budget in tokens.", ge=FEWEST_TOKENS, le=_MOST_TOKENS),
]
_LINE = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "section": {"type": "string"},
        "text": {"type": "string"},
        "why": {"type": "string"},
        "timestamp": {"type": "string", "format": "date-time"},
        "events": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["id", "section", "text", "why", "timestamp", "events"],
}
_ANSWER: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "tokens": {"type": "integer"},
        "problem": {"type": "string"},
        "lines": {"type": "array", "items": _LINE},
    },
    "required": ["text", "tokens", "problem", "lines"],
}


def briefing_answer(
    lab: Lab,
    *,
    query: Query = "",
    tokens: Tokens = DEFAULT_TOKENS,
    project: ProjectName = None,
    agent_id: AgentId = None,
) -> dict[str, Any]:
    """Return what an agent reads at a session's start, or at a prompt."""
    agent = check_agent(agent_id or "main")  # the server has put its own agent here
    briefing = lab_for_agent(lab, project, agent).briefing(query, tokens=tokens)
    noted(scoped(lab, project), "http_briefing", agent, briefing, query=query)
    return {
        "text": briefing.text,
        "tokens": briefing.tokens,
        "problem": briefing.problem,
        "lines": [
            {
                "id": line.id,
                "section": line.section,
                "text": line.text,
                "why": line.why,
                "timestamp": to_iso(line.timestamp),
                "events": list(line.events),
            }
            for line in briefing.lines
        ],
    }


BRIEFING = Route("GET", "/briefing", briefing_answer, _ANSWER)
