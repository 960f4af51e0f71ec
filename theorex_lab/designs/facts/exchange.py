"""Say what an export holds of facts, and how an import reads it.

The folders that Engram has are written beside it. They are read where this file is not
beside them: they lack who replaced a fact, and its project. How far captures were read,
summaries and heartbeats stay where they are, since they speak of a home's own journal.
"""

import re

from theorex_lab.core.errors import InvalidInput
from theorex_lab.designs.facts.kept_files import check_kept_path
from theorex_lab.designs.facts.writing import (
    DESCRIPTION_CHARACTERS,
    check_entity,
    check_line,
)
from theorex_lab.files.formats.design_records import (
    DesignRecords,
    RecordKind,
    RecordReading,
    member_id,
)
from theorex_lab.journal.event import Body, Event

# Files are named by these ids.
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,80}-[0-9]{1,15}")
_NOTE = "note"
_FACT = "fact"


def _check_id(name: str, value: str) -> None:
    """Raise InvalidInput for an id that is none of a fact or a note."""
    if not _ID.fullmatch(value):
        raise InvalidInput(
            f"{name} is {value!r:.60}; allowed are a-z 0-9 - and a number at the end, as"
            " ann-001"
        )


def _check_text(reading: RecordReading, body: Body) -> None:
    """Raise InvalidInput for a text that no fact and no note may have."""
    check_line(reading.home, body["text"], body["source"], DESCRIPTION_CHARACTERS)


def _fact(reading: RecordReading, event: Event) -> Body:
    body = event.body
    _check_id("fact_id", body["fact_id"])
    _check_text(reading, body)
    return {
        **body,
        "entity": check_entity(body["entity"]),
        "supersedes": reading.links(_FACT, body["supersedes"]),
    }


def _superseded(reading: RecordReading, event: Event) -> Body | None:
    body = event.body
    facts = reading.links(_FACT, body["facts"])
    if not facts:
        return None
    by = reading.link(_FACT, body["by"])
    return {**body, "facts": facts, "by": by}


def _accessed(reading: RecordReading, event: Event) -> Body | None:
    facts = reading.links(_FACT, event.body["facts"])
    if not facts:
        return None
    return {**event.body, "facts": facts}


def _archived(_reading: RecordReading, event: Event) -> Body:
    body = event.body
    return {
        **body,
        "entity": check_entity(body["entity"]),
        "to": check_entity(body["to"]),
    }


def _friction(reading: RecordReading, event: Event) -> Body:
    _check_id("note_id", event.body["note_id"])
    _check_text(reading, event.body)
    return event.body


def _tension(reading: RecordReading, event: Event) -> Body:
    body = event.body
    _check_id("note_id", body["note_id"])
    if body["text"]:
        _check_text(reading, body)
    return {**body, "facts": reading.links(_FACT, body["facts"])}


def _reviewed(reading: RecordReading, event: Event) -> Body:
    body = event.body
    note_id = reading.need(_NOTE, body["note_id"])
    fact = reading.link(_FACT, body["fact"])
    return {**body, "note_id": note_id, "fact": fact}


def _kept(_reading: RecordReading, event: Event) -> Body:
    body = event.body
    return {
        **body,
        "path": check_kept_path(body["path"]),
        "ours": check_kept_path(body["ours"]),
    }


_OF_FACT = member_id(_FACT, "fact_id", can_change=True)
_OF_NOTE = member_id(_NOTE, "note_id", can_change=True)
RECORDS = DesignRecords(
    {
        "fact": RecordKind(_OF_FACT, _fact),
        "fact_superseded": RecordKind(read=_superseded),
        "facts_accessed": RecordKind(read=_accessed),
        # All facts of the entity are moved, those that are here too.
        "entity_archived": RecordKind(read=_archived, needs_trust=True),
        "friction_noted": RecordKind(_OF_NOTE, _friction),
        "tension_noted": RecordKind(_OF_NOTE, _tension),
        "note_reviewed": RecordKind(read=_reviewed),
        # A channel keeps a project's captures to itself.
        "channel_added": RecordKind(needs_trust=True),
        "domain_written": RecordKind(needs_trust=True),
        # These lines are shown always, as one's own.
        "self_added": RecordKind(needs_trust=True),
        # A text that an export writes as it stands.
        "file_kept": RecordKind(read=_kept, needs_trust=True),
    }
)
