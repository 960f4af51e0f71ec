"""Say what an export holds beside axons and sentences: which fixes a person trusts."""

from theorex_lab.files.formats.design_records import (
    DesignRecords,
    RecordKind,
)

RECORDS = DesignRecords(
    {
        "confirmed": RecordKind(needs_trust=True),
    }
)
