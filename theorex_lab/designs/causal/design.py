"""What causal memory brings to a home: each part is imported when it is first asked for."""

from theorex_lab.design import AuditPart, Design, NightStep, Section, audit_telling, later, object_at
from theorex_lab.designs.causal import KINDS
from theorex_lab.designs.causal.items import ATTEMPT, CAPSULE, GENE, runs_of
from theorex_lab.designs.causal.settings import CausalSettings
from theorex_lab.search.items import OBSERVATION

_HERE = "theorex_lab.designs.causal"
_TITLES = {"banned": "What did not help before", "gene": "What helped with errors like these"}
READ_FROM = {kind: (kind,) for kind in ("personality", "external_candidate")}


DESIGN = Design(
    name="causal", face=later(f"{_HERE}.face:Causal"), kinds=KINDS, settings=CausalSettings, leads=False,
    views=lambda: [object_at(f"{_HERE}.{place}") for place in ("graph:Graph", "filling:Failures")],
    items=(OBSERVATION, GENE, CAPSULE, ATTEMPT), evidence={"attempt_closed": runs_of},
    sections=(Section(later(f"{_HERE}.sections:advice_lines"), _TITLES, lambda _: 0.6),),
    flush=later(f"{_HERE}.filling:fill"),
    steps=(NightStep("attempts", later(f"{_HERE}.filling:fill_at_night")), NightStep("genes", later(f"{_HERE}.genes:tend_at_night"))),
    audit=AuditPart(READ_FROM, audit_telling("state", "why", "asset", "external")),
    agents=later(f"{_HERE}.graph:agents_of"), status=later(f"{_HERE}.graph:status"))  # fmt: skip
