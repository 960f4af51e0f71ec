"""Serve dreams over HTTP: the endpoints of Evolving Memory, with its bodies.

http.json has the schema of each answer.
"""

# No `from __future__ import annotations`: what serves these functions reads their
# annotations.
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, Field

from theorex_lab.core.errors import InvalidInput
from theorex_lab.designs.dreams import (
    DEFAULT_DOMAIN,
    FIDELITY,
    Ended,
    Level,
)
from theorex_lab.designs.dreams.face import Dreams
from theorex_lab.designs.dreams.opcodes import LATEST, get_registry
from theorex_lab.designs.dreams.strategies import RecallResult
from theorex_lab.designs.dreams.training import TrainingFilter
from theorex_lab.memory.contract import Route, RouteRefused

Answer = dict[str, Any]
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


def domains(dreams: Dreams) -> Answer:
    """Names of domains."""
    return {"domains": dreams.domains()}


def isa_version(dreams: Dreams) -> Answer:  # noqa: ARG001
    """The version of the instruction set that is written.

    And those that can be read.
    """
    registry = get_registry()
    return {"current": registry.current(), "supported": registry.all_versions()}


def add_trace(
    dreams: Dreams,
    goal: _Text,
    *,
    hierarchy_level: Level = Level.TACTICAL,
    outcome: Ended = Ended.UNKNOWN,
    confidence: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.0,
    source: _Origin = "unknown_source",
    actions: Annotated[list[ActionBody], Field(max_length=10_000)] = [],  # noqa: B006
    tags: list[str] = [],  # noqa: B006
    domain: _Domain = DEFAULT_DOMAIN,
    isa_version: Annotated[str, Field(max_length=64)] = LATEST,
    agent_id: str = "",
) -> Answer:
    """Capture a trajectory that is over.

    isa_version: the version of the instruction set that it was captured by.
    """
    trace_id, session_id = dreams.capture(
        goal,
        [action.model_dump() for action in actions],
        level=hierarchy_level,
        outcome=outcome,
        confidence=confidence,
        origin=source,
        domain=domain,
        tags=tags,
        agent=agent_id,
        isa_version=isa_version,
    )
    return {"trace_id": trace_id, "session_id": session_id}


def dream(
    dreams: Dreams, domain: _Domain | None = None, progress: Any = None
) -> Answer:
    """Dream a cycle, of a domain or of all."""
    report = dreams.dream(domain=domain, progress=progress)
    if not report.ran:
        raise RouteRefused(
            409,
            f"another process is at work, {report.holder}; ask again when it is done",
        )
    answer: Answer = report.to_dict()
    return answer


def query(dreams: Dreams, q: _Text, domain: _Domain | None = None) -> Answer:
    """What answers a task, with scores."""
    result = dreams.query(q, domain=domain)
    scores = {
        "similarity_score": result.similarity,
        "composite_score": result.confidence,
    }
    return _answer(result, scores)


def answering(
    dreams: Dreams,
    query: _Text,
    top_k: _Many | None = None,
    domain: _Domain | None = None,
) -> Answer:
    """What answers a task.

    top_k: among how many strategies it is looked for, by default recallTop.
    """
    result = dreams.query(query, domain=domain, top=top_k)
    return _answer(result, {})


def _answer(result: RecallResult, scores: Mapping[str, float | None]) -> Answer:
    """Return the result of a recall as JSON holds it.

    Its entry point has the scores.
    """
    answer: Answer = {
        "path": result.path,
        "reasoning": result.reasoning,
        "confidence": result.confidence,
    }
    if result.entry_point is not None:
        entry = result.entry_point.to_dict()
        answer["entry_point"] = {
            "node_id": entry["node_id"],
            "goal": entry["goal"],
            "summary": entry["summary"],
            **scores,
        }
    return answer


def node(dreams: Dreams, node_id: str) -> Answer:
    """A strategy, or a step of one.

    The id of a step is the strategy's, a dot and the step's number.
    """
    nodes = _nodes(dreams, node_id)
    if node_id not in nodes:
        raise RouteRefused(
            404, f"got the node {node_id!r:.100}; allowed are {', '.join(nodes):.400}"
        )
    return nodes[node_id]


def children(dreams: Dreams, node_id: str) -> list[dict[str, Any]]:
    """The steps of a strategy; none where there is no such strategy."""
    if "." in node_id:
        return []
    try:
        nodes = _nodes(dreams, node_id)
    except RouteRefused:
        return []
    return list(nodes.values())[1:]


def traverse(dreams: Dreams, node_id: str) -> Answer:
    """The edges that lead out of a node, and those that lead to it."""
    node(dreams, node_id)
    out, into = dreams.edges(node_id)
    return {
        "node_id": node_id,
        "edges_out": [edge._asdict() for edge in out],
        "edges_in": [edge._asdict() for edge in into],
    }


def training_data(
    dreams: Dreams,
    *,
    outcome: Ended | None = None,
    source: _Origin | None = None,
    format: Literal["jsonl", "messages"] = "jsonl",  # noqa: ARG001 - as documented
    min_actions: _Many = 1,
    agent_id: str = "",
) -> list[Any]:
    """The actions of an agent's trajectories, as chats to train a model on."""
    chosen = TrainingFilter(
        outcome=outcome.value if outcome else "",
        source=source or "",
        min_actions=min_actions,
        agent=agent_id,
    )
    return list(dreams.training_data(chosen))


def _nodes(dreams: Dreams, node_id: str) -> dict[str, dict[str, Any]]:
    """Return the strategy that a node is or belongs to, and its steps, by their ids.

    Raises:
        RouteRefused: There is none (404).
    """
    try:
        strategy = dreams.strategy(node_id.partition(".")[0])
    except InvalidInput as error:
        raise RouteRefused(404, str(error)) from error
    nodes = {strategy.id: strategy.to_dict()}
    for number, step in enumerate(strategy.steps):
        step_id = f"{strategy.id}.{number}"
        nodes[step_id] = {
            "type": "child",
            "parent_node_id": strategy.id,
            "confidence": strategy.confidence,
            "is_critical_path": True,
            "node_id": step_id,
            "step_index": number,
            "summary": step.why or step.reasoning,
            **step._asdict(),
            "hierarchy_level": int(strategy.level),
        }
    return nodes


_ROUTES = (
    ("GET", "/stats", stats),
    ("GET", "/domains", domains),
    ("GET", "/isa/version", isa_version),
    ("POST", "/traces", add_trace),
    ("POST", "/dream/run", dream),
    ("POST", "/domains/{domain}/dream", dream),
    ("GET", "/query", query),
    ("POST", "/route", answering),
    ("GET", "/nodes/{node_id}", node),
    ("GET", "/nodes/{node_id}/children", children),
    ("GET", "/nodes/{node_id}/traverse", traverse),
    ("GET", "/export/training-data", training_data),
    ("WS", "/ws/dream", dream),
)
# Paths whose answer is sent as one item a line.
_LINES = ("/export/training-data",)
_CHANGES = (add_trace, dream)


def routes() -> list[Route]:
    """Return the routes that dreams bring."""
    answers = json.loads(Path(__file__).with_name("http.json").read_bytes())
    return [
        Route(
            method,
            path,
            run,
            answers[f"{method} {path}"],
            lines=path in _LINES,
            changes=run in _CHANGES,
        )
        for method, path, run in _ROUTES
    ]
