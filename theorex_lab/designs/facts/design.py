"""What facts bring to a home: each part is imported when it is first asked for."""

from theorex_lab.design import AuditPart, Design, FileLayout, NightStep, Section, audit_telling, later, object_at
from theorex_lab.designs.facts import KINDS
from theorex_lab.designs.facts.items import FACT, FactSettings
from theorex_lab.search.items import OBSERVATION

_HERE = "theorex_lab.designs.facts"
# Kind of an entry of the audit log -> the kinds of events that it is read from.
READ_FROM = {kind: (kind,) for kind in ("fact_superseded", "tension_noted", "entity_archived")}
TREES = FileLayout("", later(f"{_HERE}.files:export_tree"))
DESIGN = Design(
    name="facts", face=later(f"{_HERE}.face:FactsMemory"), kinds=KINDS, leads=False, settings=FactSettings, files=(TREES,),
    views=lambda: [object_at(f"{_HERE}.{place}") for place in ("facts:Facts", "channels:Channels", "note_view:Notes")],
    items=(OBSERVATION, FACT),
    sections=(Section(later(f"{_HERE}.summaries:fact_lines"), {"known": "What is known"}, lambda _: 0.5),),
    retrieve=later(f"{_HERE}.summaries:retrieve_facts"), reminders=later(f"{_HERE}.summaries:fact_reminders"),
    flush=later(f"{_HERE}.heartbeat:extract_new"), steps=(NightStep("heartbeat", later(f"{_HERE}.heartbeat:night_step")),),
    audit=AuditPart(READ_FROM, audit_telling("facts", "by", "why", "entity", "to", "note_id")),
    status=later(f"{_HERE}.summaries:status"), agents=later(f"{_HERE}.summaries:agents_of"),
    silos=later(f"{_HERE}.channels:silos"))  # fmt: skip
