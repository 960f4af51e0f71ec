"""What a file of an outcome or a trace must hold, and the events that it becomes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from theorex_lab.clock import to_iso
from theorex_lab.dispatch.bus import End, Start, ToolUse, check_trace_id, clean
from theorex_lab.dispatch.llm import Attempt
from theorex_lab.errors import InvalidInput
from theorex_lab.evolution.outcomes import check_score, outcome_event
from theorex_lab.exchange import schema
from theorex_lab.exchange.flat_files import FlatRecord, without_nulls
from theorex_lab.exchange.importing import Importing
from theorex_lab.exchange.runs import TOOL_SESSION
from theorex_lab.journal.event import Event, encode, tells_no_answer
from theorex_lab.memory.observation import check_tags, check_text

_MODEL_BYTES = 1_024
# None is what stands for a missing member; nulls are taken out before.
_Amount = Annotated[int | float | None, schema.within(0, schema.LARGEST)]
_Count = Annotated[int | None, schema.whole(0)]
_Error = Annotated[str | None, Field(description="text")]


def _model_name(stated: str) -> str:
    return check_text(stated, _MODEL_BYTES) if stated else ""


_Model = Annotated[schema.Text, AfterValidator(_model_name)]


class _Outcome(schema.FileRecord):
    id: Any = None
    agent_id: schema.Agent = "main"
    decision: schema.Text = ""
    result: schema.Text = ""
    success: schema.Truth
    timestamp: schema.Time = 0
    tags: schema.Items
    concept_ids: schema.Items
    explicit_score: Any = None
    judge_score: Any = None
    thumbs_up: schema.Truth = False
    session_id: schema.Text = ""
    decided_at: schema.Time = 0


class _Concepts(schema.FileRecord):
    concept_ids: schema.ConceptIds


class AttemptRecord(schema.FileRecord):
    """How one model did."""

    model: _Model = ""
    success: schema.Truth
    latency_ms: _Amount = None
    cost: _Amount = None
    tokens: _Count = None
    prompt_tokens: _Count = None
    completion_tokens: _Count = None
    error: _Error = None
    unavailable: schema.Truth = False

    def attempt(self, *, lost: bool = False) -> Attempt:
        """How the model did. One that failed has no latency, whatever the file says: it would seem the fastest."""
        success = self.success and not lost
        unavailable = self.given("unavailable", tells_no_answer(self.error)) and not success
        latency_ms = self.latency_ms if success else None
        prompt, completion, tokens = self.prompt_tokens, self.completion_tokens, self.tokens
        if tokens is None and prompt is not None and completion is not None:
            tokens = prompt + completion
        return Attempt(self.model, success, latency_ms, tokens, self.cost, self.error, unavailable, prompt, completion)


class _End(AttemptRecord):
    end_time: schema.Time
    tokens: _Count = Field(default=None, alias="total_tokens")
    response: schema.Text = ""
    lost: schema.Truth = False
    attempts: schema.Items


class _Trace(schema.FileRecord):
    id: Annotated[str, BeforeValidator(check_trace_id)] = Field(default="", validate_default=True)
    agent_id: schema.Agent = "main"
    start_time: schema.Time
    task: schema.Text = ""
    query_type: Any = None
    model: _Model = ""
    session_id: schema.Text = ""
    tags: schema.Items
    reasons: schema.Items
    context_pct: Annotated[int | float, schema.within(0, 100)] = 0.0
    query_tokens: Annotated[int, schema.whole(0)] = 0
    outcome_id: Any = None
    events: schema.Items


class _Reason(schema.FileRecord):
    reason: schema.Text


class _Tool(schema.FileRecord):
    id: Any = None
    at: schema.Time = 0
    tool: schema.Text = ""
    tool_name: schema.Text = ""


def outcome_of(record: FlatRecord, how: Importing) -> Event:
    """The event of an outcome, with the scores that the record states. Raises InvalidInput.

    Of concepts only ids of our kind are taken; those of another mean nothing here, so those found in the texts.
    """
    stated = schema.checked(_Outcome, record)
    event = outcome_event(
        agent=stated.given("agent_id", how.agent),
        decision=stated.decision,
        result=stated.result,
        success=stated.success,
        settings=how.settings,
        at=stated.given("timestamp", how.now),
        tags=stated.tags,
        explicit_score=stated.explicit_score,
        thumbs_up=stated.given("thumbs_up"),
        session=stated.session_id,
        source=how.source(record, "source"),
    )
    body = {**event.body, "judge": check_score(stated.judge_score, "judge's score")}
    with suppress(InvalidInput):
        body["concepts"] = list(dict.fromkeys(schema.checked(_Concepts, record).concept_ids))
    if "decided_at" in record:
        body["decided_at"] = to_iso(stated.decided_at)
    return event._replace(id=_outcome_id(stated.given("id", encode(record))), body=body)


def _outcome_id(stated: Any) -> str:
    """The id of an outcome's event: what the file says where that is an event's id, else one made of it."""
    return schema.event_id_of(stated, "outcome", stated)


def trace_of(record: FlatRecord, how: Importing, links: dict[str, str]) -> list[Event]:
    """START, tool events and END of a trace; those of an open one without END. Raises InvalidInput.

    `links`: by the id of a trace, the event of the outcome that names it.
    """
    stated = schema.checked(_Trace, record)
    start, source = _start(stated, how, links), {"source": how.source(record, "source", "model")}
    steps = [_with(start.event(), source)]
    for position, event in enumerate(stated.events):
        steps.append(_tool(without_nulls(event), start, position, how))
    if "end_time" in record or "success" in record:
        steps.append(_with(_end(record, start).event(start), source))
    return steps


def _with(event: Event, more: FlatRecord) -> Event:
    return event._replace(body={**event.body, **more})


def _start(stated: _Trace, how: Importing, links: dict[str, str]) -> Start:
    tags = stated.tags
    (query_type,) = check_tags([stated.given("query_type", tags[0] if tags else "general")])
    outcome_id = _outcome_id(stated.outcome_id) if stated.outcome_id is not None else None
    return Start(
        stated.id,
        stated.given("agent_id", how.agent),
        stated.start_time,
        stated.task,
        query_type,
        stated.model,
        stated.session_id,
        tuple(check_tags([tag for tag in tags if tag != query_type])),
        tuple(clean(schema.checked(_Reason, {"reason": reason}).reason) for reason in stated.reasons),
        stated.context_pct,
        stated.query_tokens,
        links.get(stated.id, outcome_id),
    )


def _tool(record: FlatRecord, start: Start, position: int, how: Importing) -> Event:
    """One tool event, under our names or those that a coding agent's hook gives."""
    stated = schema.checked(_Tool, record)
    tool = ToolUse(
        start.trace_id,
        stated.given("at", start.at),
        stated.given("tool", stated.tool_name),
        _said(record, "input"),
        _said(record, "response"),
    )
    event = tool.event(start)
    return event._replace(
        id=schema.event_id_of(stated.id, "tool used", start.trace_id, position),
        session=TOOL_SESSION,
        body={**event.body, "source": how.source(record, "source")},
    )


def _said(record: FlatRecord, key: str) -> str:
    value = record.get(key, record.get(f"tool_{key}", ""))
    return value if isinstance(value, str) else encode(value)


def _end(record: FlatRecord, start: Start) -> End:
    stated = schema.checked(_End, record)
    how_it_went = stated.attempt(lost=stated.lost)
    attempts = [schema.checked(AttemptRecord, without_nulls(attempt)).attempt() for attempt in stated.attempts]
    if "attempts" not in record and start.model and not stated.lost:
        attempts = [how_it_went]
    answered = how_it_went.success or stated.lost
    silent = all(attempt.unavailable for attempt in attempts or [how_it_went]) and not answered
    return end_of(start, stated.end_time, how_it_went, attempts, stated.response, lost=stated.lost, unavailable=silent)


def end_of(
    start: Start, at: int, whole: Attempt, attempts: Sequence[Attempt], response: str, *, lost: bool, unavailable: bool
) -> End:
    """The END of a call that went as a whole as an attempt says."""
    return End(
        start.trace_id, at, whole.success, start.model, whole.tokens, whole.latency_ms, whole.error, response,
        tuple(attempts), lost, unavailable=unavailable, prompt_tokens=whole.prompt_tokens,
        completion_tokens=whole.completion_tokens,
    )  # fmt: skip
