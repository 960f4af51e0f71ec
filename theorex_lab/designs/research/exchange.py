"""Say what an export holds of the research tiers, and how an import reads it.

The folders that EurekaClaw has are written beside it. They are read after it, so that
what was edited in them counts.
"""

from theorex_lab.core.errors import InvalidInput
from theorex_lab.designs.research.items import record_id_of
from theorex_lab.designs.research.skills import SKILL_NAME
from theorex_lab.files.formats.design_records import (
    DesignRecords,
    Numbers,
    OwnThing,
    RecordKind,
    RecordReading,
    member_id,
)
from theorex_lab.journal.event import Body, Event

_THEOREM = "theorem"
_INSIGHT = "insight"
_RECORD = "record"


def _record(_reading: RecordReading, event: Event) -> Body:
    body = event.body
    record_id = record_id_of(body.get("project", ""), body["key"])
    if body["record_id"] != record_id:
        raise InvalidInput(
            f"record_id is {body['record_id']!r:.60}; allowed is that of its key and"
            f" project, {record_id}"
        )
    return body


def _deleted(reading: RecordReading, event: Event) -> Body:
    record_id = reading.need(_RECORD, event.body["record_id"])
    return {**event.body, "record_id": record_id}


def _theorem(_reading: RecordReading, event: Event) -> Body:
    if event.body["node_id"] != event.id:
        raise InvalidInput(
            f"node_id is {event.body['node_id']!r:.60}; allowed is the id of the record"
        )
    return event.body


def _link(reading: RecordReading, event: Event) -> Body:
    body = event.body
    return {
        **body,
        "from_id": reading.need(_THEOREM, body["from_id"]),
        "to_id": reading.need(_THEOREM, body["to_id"]),
    }


def _insight(reading: RecordReading, event: Event) -> Body:
    body = dict(event.body)
    for name in ("replaces", "like"):
        if name in body:
            body[name] = reading.links(_INSIGHT, body[name])
    return body


def _skill(_reading: RecordReading, event: Event) -> Body:
    name = event.body["name"]
    if not SKILL_NAME.fullmatch(name):
        raise InvalidInput(f"name is {name!r:.60}; allowed are 1 to 64 of a-z 0-9 - _")
    return event.body


def _post_run(reading: RecordReading, event: Event) -> Body:
    # A stranger's word is no reason to pass over what was captured here.
    if reading.trusted:
        return event.body
    return {**event.body, "upto": 0}


def _renumbered(body: Body, number: Numbers) -> Body:
    return {**body, "upto": number(body["upto"])}


def _skill_id(event: Event) -> str:
    project = event.body.get("project", "")
    return f"{project}\0{event.body['name']}"


_OF_SESSION = OwnThing("session", lambda event: f"{event.agent}/{event.session}")
_OF_RECORD = member_id(_RECORD, "record_id")
_OF_INSIGHT = OwnThing(_INSIGHT, lambda event: event.id)
RECORDS = DesignRecords(
    {
        "episode": RecordKind(),
        "session_begun": RecordKind(_OF_SESSION),
        "record": RecordKind(_OF_RECORD, _record),
        "record_deleted": RecordKind(read=_deleted),
        "theorem": RecordKind(member_id(_THEOREM, "node_id"), _theorem),
        "theorem_link": RecordKind(read=_link),
        "insight": RecordKind(_OF_INSIGHT, _insight),
        "skill": RecordKind(OwnThing("skill", _skill_id), _skill),
        # What a stranger says of a skill is no evidence.
        "skill_outcome": RecordKind(needs_trust=True),
        "post_run": RecordKind(read=_post_run, renumber=_renumbered),
    }
)
