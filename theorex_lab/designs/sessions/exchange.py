"""Say what an export holds of sessions, and how an import reads it.

The captures themselves are not in it; `theorex backup` has them.
"""

from theorex_lab.files.formats.design_records import (
    DesignRecords,
    Numbers,
    OwnThing,
    RecordKind,
    RecordReading,
)
from theorex_lab.journal.event import Body, Event


def _digest(reading: RecordReading, event: Event) -> Body:
    # A stranger's word is no reason to pass over what was captured here.
    if reading.trusted:
        return event.body
    return {**event.body, "upto": 0}


def _renumbered(body: Body, number: Numbers) -> Body:
    return {**body, "upto": number(body["upto"])}


_OF_SESSION = OwnThing("session", lambda event: f"{event.agent}/{event.session}")
RECORDS = DesignRecords(
    {
        "digest": RecordKind(_OF_SESSION, _digest, renumber=_renumbered),
        "fixed": RecordKind(),
    }
)
