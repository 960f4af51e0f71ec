"""What a line of tasks.jsonl, policies.jsonl and reviews.jsonl must hold, by the kind of its event."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, create_model

from theorex_lab.config import check_settings
from theorex_lab.dispatch.tasks import check_json, check_type, check_worker
from theorex_lab.errors import InvalidInput
from theorex_lab.evolution.cases import FIX_CHARACTERS, PROBLEM_CHARACTERS
from theorex_lab.exchange import schema
from theorex_lab.exchange.files import Importing, upcast_of_file
from theorex_lab.exchange.flat_files import FlatRecord
from theorex_lab.ids import derived_event_id
from theorex_lab.journal.event import Event
from theorex_lab.text.doors import kept_value

_Number = Annotated[int, schema.whole(1, schema.LARGEST_STEP)]
_SHORT = Field(max_length=PROBLEM_CHARACTERS, description=f"text of up to {PROBLEM_CHARACTERS} characters")
_Line = Annotated[str, _SHORT]
_Object = Annotated[dict[str, Any], Field(description="a JSON object")]
_Objects = Annotated[list[_Object], Field(description="a list of objects")]


def _check_kind(kind: str) -> str:
    if kind not in _MEMBERS:
        allowed = "the kind of an event of tasks, policies, reviews or nights"
        raise InvalidInput(f"kind is {kind!r:.80}; allowed is {allowed}")
    return kind


class _Head(schema.FileRecord):
    """Members that every line has: those of the event beside its body."""

    id: schema.EventId
    kind: Annotated[str, AfterValidator(_check_kind)]
    timestamp: schema.Time
    agent_id: schema.Agent
    session_id: schema.Session = ""
    lineage: schema.EventIds
    source: Annotated[Literal["import"], Field(description="import, or none")] = Field(default="import")
    v: Annotated[int, schema.whole(1)] = 1


class _Body(schema.FileRecord):
    """Members of an event's body; `project`: what it was in, '' for nothing."""

    project: schema.Text = ""


_TASK = {"task_id": schema.EventId, "step": _Number}
_WORKED = {**_TASK, "worker": Annotated[str, BeforeValidator(check_worker)]}
_STATE = Annotated[Literal["completed", "failed"], Field(description="completed or failed")]
_CALL = Annotated[str | None, Field(description="text or null")]
_REVIEW = {"outcome_id": schema.EventId, "trace_id": _CALL, "model_used": schema.Text}
_FIX = Annotated[str, Field(max_length=2 * FIX_CHARACTERS, description="a sentence")]
_STEP = Annotated[schema.StepNumber | None, Field(description="the number of a step, or null")]
# By the kind of an event: what its body must have.
_MEMBERS: dict[str, dict[str, Any]] = {
    "task_submitted": {
        **_TASK, "step": Annotated[int, schema.whole(0, 0)], "from": schema.Agent, "to": schema.Agent,
        "type": Annotated[str, BeforeValidator(check_type)], "payload": Any,
    },
    "task_claimed": {**_WORKED, "attempt": _Number, "lease_until": schema.Moment},
    "task_ended": {**_WORKED, "state": _STATE, "result": Any},
    "policy": {
        "number": _Number, "settings": _Object, "metrics": _Object, "reason": _Line,
        "parent": Annotated[_Number | None, Field(description="the number of a policy, or null")],
    },
    "reviewed": {
        **_REVIEW, "score": schema.Share, "fix_description": _FIX, "decisive_step": _STEP, "failure_class": schema.Text,
        "observation_id": schema.EventId,
        "confidence": Annotated[schema.Share | None, Field(description="a number from 0 to 1, or null")],
    },
    "review_failed": {**_REVIEW, "problem": _Line, "reply": _Line, "reviewer": schema.Text},
    "nightly": {
        "steps": _Objects, "gate": _Objects,
        "fixes": Annotated[Annotated[int, schema.whole(0)] | None, Field(description="a whole number, or null")],
    },
}  # fmt: skip
_MODELS = {
    kind: create_model(kind, __base__=_Body, **dict[str, Any]((name, (form, ...)) for name, form in members.items()))
    for kind, members in _MEMBERS.items()
}
# Where the id of an event follows from what it says, another one would take the place of a step that is yet to come.
_IDS = {"task": ("task_id", "step"), "policy": ("number",)}


def read_event(record: FlatRecord, how: Importing) -> Event:
    """The event that a line states, at its own time.

    Secrets in its texts are masked. Raises InvalidInput for a line that is none, NewerVersion for one of a newer release.
    """
    record = kept_value(record)
    head = schema.checked(_Head, record)
    if "source" in head.model_fields_set:
        raise InvalidInput("another home told it of others, which is no history of this one; it is left out")
    body = {"v": head.v} | {name: value for name, value in record.items() if name not in _Head.model_fields}
    named = head.agent_id, head.session_id, head.kind, tuple(head.lineage)
    event = upcast_of_file(Event(0, head.id, head.timestamp, *named, body))
    schema.checked(model := _MODELS[head.kind], event.body)
    _check_whole(event, how)
    members = {"v", *model.model_fields}
    return event._replace(body={name: value for name, value in event.body.items() if name in members})


def _check_whole(event: Event, how: Importing) -> None:
    """What no model tells: sizes, the settings of a policy, and an id that follows from the body."""
    for name in ("payload", "result", "settings", "metrics", "steps", "gate"):
        if name in event.body:
            # A secret may have been shorter than the mask in its place.
            check_json(event.body[name], name, 2 * how.settings.max_text_bytes)
    if event.kind == "policy":
        check_settings(event.body["settings"], where="settings")
    what = event.kind.partition("_")[0]
    if what in _IDS and event.id != (expected := derived_event_id(what, *(event.body[name] for name in _IDS[what]))):
        raise InvalidInput(f"id is {event.id!r}; allowed is {expected}, which follows from what the line says")
