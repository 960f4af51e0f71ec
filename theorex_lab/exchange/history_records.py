"""What a line of tasks.jsonl, policies.jsonl and reviews.jsonl must hold, by the kind of its event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from theorex_lab.config import check_settings
from theorex_lab.dispatch.tasks import check_json, check_type, check_worker
from theorex_lab.errors import InvalidInput
from theorex_lab.evolution.cases import FIX_CHARACTERS, PROBLEM_CHARACTERS
from theorex_lab.exchange import schema
from theorex_lab.exchange.flat_files import FlatRecord
from theorex_lab.exchange.importing import Importing, upcast_of_file
from theorex_lab.ids import derived_event_id
from theorex_lab.journal.event import Event
from theorex_lab.text.doors import kept_value

_Number = Annotated[int, schema.whole(1, schema.LARGEST_STEP)]
_Line = Annotated[
    str, Field(max_length=PROBLEM_CHARACTERS, description=f"text of up to {PROBLEM_CHARACTERS} characters")
]
_Object = Annotated[dict[str, Any], Field(description="a JSON object")]


class _Head(schema.FileRecord):
    """Members that every line has: those of the event beside its body."""

    id: schema.EventId
    kind: Literal[
        "task_submitted", "task_claimed", "task_ended", "policy", "reviewed", "review_failed", "nightly"
    ] = Field(description="the kind of an event of tasks, policies, reviews or nights")  # fmt: skip
    timestamp: schema.Time
    agent_id: schema.Agent
    session_id: schema.Session = ""
    lineage: schema.EventIds
    source: Annotated[Literal["import"], Field(description="import, or none")] = Field(default="import")
    v: Annotated[int, schema.whole(1)] = 1


class _Body(schema.FileRecord):
    """Members of an event's body; `project`: what it was in, '' for nothing."""

    project: schema.Text = ""


class _Task(_Body):
    task_id: schema.EventId
    step: schema.StepNumber


class _Submitted(_Task):
    step: Annotated[int, schema.whole(0, 0)]
    sender: schema.Agent = Field(alias="from")
    to: schema.Agent
    type: Annotated[str, BeforeValidator(check_type)]
    payload: Any


class _Claimed(_Task):
    step: _Number
    worker: Annotated[str, BeforeValidator(check_worker)]
    attempt: _Number
    lease_until: schema.Moment


class _Ended(_Task):
    step: _Number
    worker: Annotated[str, BeforeValidator(check_worker)]
    state: Annotated[Literal["completed", "failed"], Field(description="completed or failed")]
    result: Any


class _Policy(_Body):
    number: _Number
    settings: _Object
    metrics: _Object
    reason: _Line
    parent: _Number | None = Field(description="the number of a policy, or null")


class _Review(_Body):
    outcome_id: schema.EventId
    trace_id: str | None = Field(description="text or null")
    model_used: schema.Text


class _Reviewed(_Review):
    score: schema.Share
    fix_description: Annotated[str, Field(max_length=2 * FIX_CHARACTERS, description="a sentence")]
    decisive_step: schema.StepNumber | None = Field(description="the number of a step, or null")
    failure_class: schema.Text
    observation_id: schema.EventId


class _ReviewFailed(_Review):
    problem: _Line
    reply: _Line
    reviewer: schema.Text


class _Nightly(_Body):
    steps: Annotated[list[_Object], Field(description="a list of objects")]
    fixes: Annotated[int, schema.whole(0)] | None = Field(description="a whole number, or null")
    gate: Annotated[list[_Object], Field(description="a list of objects")]


_MODELS: dict[str, type[_Body]] = {
    "task_submitted": _Submitted,
    "task_claimed": _Claimed,
    "task_ended": _Ended,
    "policy": _Policy,
    "reviewed": _Reviewed,
    "review_failed": _ReviewFailed,
    "nightly": _Nightly,
}
# Where the id of an event follows from what it says, another one would take the place of a step that is yet to come.
_IDS: dict[str, Callable[[FlatRecord], str]] = {
    **dict.fromkeys(
        ("task_submitted", "task_claimed", "task_ended"),
        lambda body: derived_event_id("task", body["task_id"], body["step"]),
    ),
    "policy": lambda body: derived_event_id("policy", body["number"]),
}


def event_of(record: FlatRecord, how: Importing) -> tuple[Event, bool]:
    """The event that a line states, at its own time, and whether it is taken as what it was: history otherwise.

    Secrets in its texts are masked. Raises InvalidInput for a line that is none, NewerVersion for one of a newer release.
    """
    record = kept_value(record)
    head = schema.checked(_Head, record)
    body = {"v": head.v} | {name: value for name, value in record.items() if name not in _Head.model_fields}
    event = Event(0, head.id, head.timestamp, head.agent_id, head.session_id, head.kind, tuple(head.lineage), body)
    event = upcast_of_file(event)
    model = _MODELS[head.kind]
    schema.checked(model, event.body)
    _check_whole(event, how)
    known = {"v", *(field.alias or name for name, field in model.model_fields.items())}
    own = how.trust_own and "source" not in head.model_fields_set
    return event._replace(body={name: value for name, value in event.body.items() if name in known}), own


def _check_whole(event: Event, how: Importing) -> None:
    """What no model tells: sizes, the settings of a policy, and an id that follows from the body."""
    for name in ("payload", "result", "settings", "metrics", "steps", "gate"):
        if name in event.body:
            # A secret may have been shorter than the mask in its place.
            check_json(event.body[name], name, 2 * how.settings.max_text_bytes)
    if event.kind == "policy":
        check_settings(event.body["settings"], where="settings")
    if event.kind in _IDS and event.id != (expected := _IDS[event.kind](event.body)):
        raise InvalidInput(f"id is {event.id!r}; allowed is {expected}, which follows from what the line says")
