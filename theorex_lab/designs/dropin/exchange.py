"""Say what an export holds of graphs and memory files, and how an import reads it.

A file never changes what is here: it removes and replaces what came in with it alone.
"""

from theorex_lab.designs.dropin.passages import file_number
from theorex_lab.files.formats.design_records import (
    DesignRecords,
    OwnThing,
    RecordKind,
    RecordReading,
)
from theorex_lab.journal.event import Body, Event

_ENTRY = "graph entry"
_FILE = "memory file"


def _file_id(event: Event) -> str:
    body = event.body
    return file_number(event.agent, body.get("project", ""), body["path"])


def _removed(reading: RecordReading, event: Event) -> Body | None:
    ids = reading.links(_ENTRY, event.body["ids"])
    return {**event.body, "ids": ids} if ids else None


def _file_removed(reading: RecordReading, event: Event) -> Body:
    reading.need(_FILE, _file_id(event))
    return event.body


_OF_ENTRY = OwnThing(_ENTRY, lambda event: event.id)
RECORDS = DesignRecords(
    {
        "graph_entity": RecordKind(_OF_ENTRY),
        "graph_observation": RecordKind(_OF_ENTRY),
        "graph_relation": RecordKind(_OF_ENTRY),
        "graph_removed": RecordKind(read=_removed),
        "memory_file": RecordKind(OwnThing(_FILE, _file_id)),
        "memory_file_removed": RecordKind(read=_file_removed),
    }
)
