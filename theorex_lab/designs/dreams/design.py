"""What dreams bring to a home: each part is imported when it is first asked for."""

from theorex_lab.design import AuditPart, Design, NightStep, Section, audit_telling, later, object_at
from theorex_lab.designs.dreams import KINDS
from theorex_lab.designs.dreams.items import CONSTRAINT, STRATEGY
from theorex_lab.designs.dreams.settings import DreamSettings
from theorex_lab.search.items import OBSERVATION

_HERE = "theorex_lab.designs.dreams"
# Kind of an entry of the audit log -> the kinds of events that it is read from.
_TITLES = {"avoid": "What failed before", "strategy": "What worked before"}
READ_FROM = {kind: (kind,) for kind in ("strategy_merged", "strategy_compacted", "strategy_migrated")}


DESIGN = Design(
    name="dreams", face=later(f"{_HERE}.face:Dreams"), kinds=KINDS, settings=DreamSettings, leads=False,
    views=lambda: [object_at(f"{_HERE}.{place}") for place in ("trajectories:Trajectories", "strategies:Strategies")],
    items=(OBSERVATION, STRATEGY, CONSTRAINT),
    sections=(Section(later(f"{_HERE}.sections:strategy_lines"), _TITLES, lambda _: 0.6),),
    retrieve=later(f"{_HERE}.sections:retrieve_strategies"),
    steps=(NightStep("dream", later(f"{_HERE}.engine:dream_at_night")),),
    audit=AuditPart(READ_FROM, audit_telling("strategy_id", "absorbed", "why", "undo", "pruned", "from", "to", "ok", "problem")),
    agents=later(f"{_HERE}.strategies:agents_of"), needs=later(f"{_HERE}.strategies:undreamt"),
    status=later(f"{_HERE}.strategies:status"), routes=later(f"{_HERE}.http:routes"))  # fmt: skip
