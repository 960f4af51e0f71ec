"""What programs may ask of dreams over HTTP: the endpoints of Evolving Memory, with its
bodies; http.json has their places.
"""

# No `from __future__ import annotations`: what serves these functions reads their
# annotations.
import json
from pathlib import Path
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, Field

from theorex_lab.core.errors import InvalidInput
from theorex_lab.designs.dreams import (
    DEFAULT_DOMAIN,
    FIDELITY,
    ISA_VERSION,
    Ended,
    Level,
)
from theorex_lab.designs.dreams.face import Dreams
from theorex_lab.memory.contract import Route, RouteRefused

Told = dict[str, Any]
_Origin = Annotated[
    str, Field(pattern=f"^({'|'.join(FIDELITY)})$", description="Where it was lived.")
]
_Domain = Annotated[str, Field(min_length=1, max_length=64)]
_Text = Annotated[str, Field(min_length=1, max_length=20_000)]
_Many = Annotated[int, Field(ge=1, le=10_000)]


class ActionBody(BaseModel, extra="forbid"):
    """What was done, why, and what came of it."""

    reasoning: str = ""
    action: str = Field(
        validation_alias=AliasChoices("action_payload", "actionPayload")
    )
    result: str = ""
    ok: bool | None = None


stats = Dreams.stats


def domains(dreams: Dreams) -> Told:
    """Names of domains."""
    return {"domains": dreams.domains()}


def isa_version(dreams: Dreams) -> Told:  # noqa: ARG001 - as every route's function takes it
    """The version of the instruction set that is written, and those that can be read."""
    return {"current": ISA_VERSION, "supported": [ISA_VERSION]}


def add_trace(
    dreams: Dreams,
    goal: _Text,
    hierarchy_level: Level = Level.TACTICAL,
    outcome: Ended = Ended.UNKNOWN,
    confidence: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.0,
    source: _Origin = "unknown_source",
    actions: Annotated[list[ActionBody], Field(max_length=10_000)] = [],  # noqa: B006
    tags: list[str] = [],  # noqa: B006
    domain: _Domain = DEFAULT_DOMAIN,
    agent_id: str = "",
) -> Told:
    """Capture a trajectory that is over."""
    done = [action.model_dump() for action in actions]
    about: dict[str, Any] = {
        "level": hierarchy_level,
        "outcome": outcome,
        "confidence": confidence,
        "origin": source,
    }
    ids = dreams.capture(goal, done, domain=domain, tags=tags, agent=agent_id, **about)
    return dict(zip(("trace_id", "session_id"), ids, strict=True))


def dream(dreams: Dreams, domain: _Domain | None = None, progress: Any = None) -> Told:
    """Dream a cycle, of a domain or of all."""
    report = dreams.dream(domain=domain, progress=progress)
    if not report.ran:
        raise RouteRefused(
            409,
            f"another process is at work, {report.holder}; ask again when it is done",
        )
    told: dict[str, Any] = report.to_dict()
    return told


def query(dreams: Dreams, q: _Text, domain: _Domain | None = None) -> Told:
    """What answers a task, with scores."""
    found = dreams.query(q, domain=domain)
    return _told(
        found, similarity_score=found.similarity, composite_score=found.confidence
    )


def answering(
    dreams: Dreams,
    query: _Text,
    top_k: _Many | None = None,
    domain: _Domain | None = None,
) -> Told:
    """What answers a task; top_k: among how many strategies it is looked for, by
    default recallTop.
    """
    return _told(dreams.query(query, domain=domain, top=top_k))


def _told(found: Any, **scores: float) -> Told:
    told = {
        "path": found.path,
        "reasoning": found.reasoning,
        "confidence": found.confidence,
    }
    if found.entry_point is not None:
        entry = found.entry_point.to_dict()
        told["entry_point"] = {
            name: entry[name] for name in ("node_id", "goal", "summary")
        } | scores
    return told


def node(dreams: Dreams, node_id: str) -> Told:
    """A strategy; or a step of one, whose id is the strategy's, a dot and the step's
    number.
    """
    found = _nodes(dreams, node_id)
    if node_id not in found:
        raise RouteRefused(
            404, f"got the node {node_id!r:.100}; allowed are {', '.join(found):.400}"
        )
    return found[node_id]


def children(dreams: Dreams, node_id: str) -> list[dict[str, Any]]:
    """The steps of a strategy; none where there is no such strategy."""
    try:
        return [] if "." in node_id else [*_nodes(dreams, node_id).values()][1:]
    except RouteRefused:
        return []


def traverse(dreams: Dreams, node_id: str) -> Told:
    """The edges that lead out of a node, and those that lead to it."""
    node(dreams, node_id)
    out, into = ([edge._asdict() for edge in side] for side in dreams.edges(node_id))
    return {"node_id": node_id, "edges_out": out, "edges_in": into}


def _nodes(dreams: Dreams, node_id: str) -> dict[str, dict[str, Any]]:
    """The strategy that a node is or belongs to, and its steps, by their ids. Raises
    RouteRefused (404) where there is none.
    """
    try:
        found = dreams.strategy(node_id.partition(".")[0])
    except InvalidInput as error:
        raise RouteRefused(404, str(error)) from error
    of = {
        "type": "child",
        "parent_node_id": found.id,
        "confidence": found.confidence,
        "is_critical_path": True,
    }
    nodes = {found.id: found.to_dict()}
    for number, step in enumerate(found.steps):
        own = {
            "node_id": f"{found.id}.{number}",
            "step_index": number,
            "summary": step.why or step.reasoning,
        }
        nodes[f"{found.id}.{number}"] = {
            **of,
            **own,
            **step._asdict(),
            "hierarchy_level": int(found.level),
        }
    return nodes


def routes() -> list[Route]:
    """The routes that dreams bring."""
    table = json.loads(Path(__file__).with_name("http.json").read_bytes())
    return [Route(**{**row, "run": globals()[row["run"]]}) for row in table]
