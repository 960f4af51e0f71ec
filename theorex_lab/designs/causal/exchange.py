"""Say what an export holds of the causal graph, and how an import reads it."""

from theorex_lab.designs.causal.capture import asset_id
from theorex_lab.designs.causal.genes import checked_asset
from theorex_lab.files.formats.design_records import (
    DesignRecords,
    RecordKind,
    RecordReading,
    member_id,
)
from theorex_lab.journal.event import Body, Event


def _asset(_reading: RecordReading, event: Event) -> Body:
    asset = checked_asset(event.body["asset"])
    return {**event.body, "asset": asset, "asset_id": asset_id(asset)}


_OF_ATTEMPT = member_id("attempt", "action.id")
RECORDS = DesignRecords(
    {
        "signal_snapshot": RecordKind(),
        "hypothesis": RecordKind(),
        "attempt": RecordKind(_OF_ATTEMPT),
        "attempt_closed": RecordKind(_OF_ATTEMPT),
        "external_candidate": RecordKind(),
        "asset": RecordKind(member_id("gene or capsule", "asset.id"), _asset),
        # It is how this home chooses.
        "personality": RecordKind(needs_trust=True),
        # It may be a state, which says what is closed next.
        "graph_kept": RecordKind(needs_trust=True),
    }
)
