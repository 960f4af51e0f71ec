"""What a line of events must hold, and the body of one that is taken in as heard, by its kind."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, JsonValue

from theorex_lab.dispatch.bus import check_trace_id, clean
from theorex_lab.exchange import schema
from theorex_lab.exchange.flat_files import FlatRecord, parse_object
from theorex_lab.exchange.run_records import AttemptRecord
from theorex_lab.memory.observation import DEFAULT_TYPE
from theorex_lab.project import check_project
from theorex_lab.text.doors import kept_text

LABEL_CHARACTERS = 128


def _ids_of(stated: Any) -> list[str]:
    if not isinstance(stated, str):
        raise ValueError
    return stated.split()


def _object_of(stated: Any) -> FlatRecord:
    """The object that a text holds as JSON. Raises ValueError."""
    if not isinstance(stated, str):
        raise ValueError
    return parse_object(stated.encode("utf-8", "surrogatepass"))


class Bodied(schema.FileRecord):
    """A line of a file of events; only its body is read."""

    body: Annotated[dict[str, Any], BeforeValidator(_object_of), Field(description="a JSON object as text")]


class EventRow(Bodied):
    """A line of a file of events: one event, its lineage and its body as texts."""

    seq: Annotated[int, schema.whole(1)]
    id: schema.EventId
    at: schema.Moment
    agent: schema.Agent
    session: schema.Session = ""
    kind: Annotated[str, Field(pattern="^[a-z][a-z0-9_]{0,63}$", description="1 to 64 of a-z 0-9 _")]
    lineage: Annotated[
        list[schema.EventId],
        BeforeValidator(_ids_of),
        Field(description="UUIDs in lower case with a space between them"),
    ] = Field(default=[])


class DesignLine(schema.FileRecord):
    """A line of a design's own file: one event."""

    id: schema.EventId
    at: schema.Moment
    agent: schema.Agent | None = Field(default=None, description="the id of an agent")
    session: schema.Session = ""
    kind: schema.Text
    lineage: schema.EventIds = Field(default=[], max_length=100_000)
    body: dict[str, JsonValue] = Field(description="a JSON object")


Label = Annotated[schema.Text, AfterValidator(lambda text: clean(kept_text(text))[:LABEL_CHARACTERS])]
Kept = Annotated[schema.Text, AfterValidator(kept_text)]


class Heard(schema.FileRecord):
    """A body that is heard; `project`: what it was in, '' for nothing."""

    project: Annotated[schema.Text, AfterValidator(lambda text: check_project(kept_text(text)))] = ""


class Observation(Heard):
    text: Any = ""
    type: schema.Text = DEFAULT_TYPE
    tags: schema.Items
    weight: schema.Share = 1.0
    concepts: schema.Items
    sentiment: Annotated[int | float, schema.within(-1, 1)] = 0.0
    extractor: Annotated[int, schema.whole(1)] = 1


class ConceptRow(schema.FileRecord):
    """A concept of a text: a row, its members in this order."""

    concept_id: schema.ConceptId
    label: Kept
    surface: Kept
    count: Annotated[int, schema.whole(1)]


class Captured(Heard):
    """What a hook notes. Members that nobody knows stay, as far as the size of a body allows."""

    model_config = ConfigDict(extra="allow")


class Paths(schema.FileRecord):
    read: list[str] = Field(default=[])
    edited: list[str] = Field(default=[])


class ToolUsed(Captured):
    tool: schema.Text
    input: schema.Text
    response: schema.Text
    ok: bool | None = Field(default=None, description="true, false or null")
    paths: Paths = Field(default=Paths(), description="an object with the lists of texts read and edited")
    command: schema.Text = ""
    trace_id: schema.Text = ""


class Prompt(Captured):
    text: schema.Text


class TurnEnded(Captured):
    message: schema.Text = ""
    subagent: schema.Truth = False


class TurnMessage(Captured):
    turn: schema.EventId
    text: schema.Text


class Compacting(Captured):
    trigger: schema.Text = ""


class TraceStarted(Heard):
    trace_id: Annotated[str, BeforeValidator(check_trace_id)] = Field(default="", validate_default=True)
    task: schema.Text = ""
    query_type: Kept = "general"
    model: Label = ""
    tags: schema.Items
    reasons: Annotated[list[schema.Text], Field(description="a list of texts")] = Field(default=[])
    context_pct: Annotated[int | float, schema.within(0, 100)] = 0.0
    query_tokens: Annotated[int, schema.whole(0)] = 0
    outcome_id: schema.Text = ""


class Attempted(AttemptRecord):
    model: Label = ""


class TraceEnded(Attempted, TraceStarted):
    success: schema.Truth = False
    lost: schema.Truth = False
    response: schema.Text = ""
    attempts: schema.Items


class OutcomeBody(Heard):
    decision: schema.Text = ""
    result: schema.Text = ""
    success: schema.Truth
    tags: schema.Items
    explicit: Any = None
    thumbs: Any = None
    judge: Any = None
    concepts: schema.ConceptIds = Field(default=[])
    decided_at: schema.Time = 0


class OutcomeScored(Heard):
    outcome_id: schema.Text = ""
    success: schema.Truth = False
    explicit: Any = None
    thumbs: Any = None
    judge: Any = None
    reason: Kept = ""
    model: Kept = ""
