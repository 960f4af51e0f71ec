"""What causal memory brings to a home: each part is imported when it is first asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from theorex_lab.design import AuditPart, Design, NightStep, Section, audit_telling, later
from theorex_lab.designs.causal import KINDS
from theorex_lab.designs.causal.items import ATTEMPT, CAPSULE, GENE, CausalSettings, runs_of
from theorex_lab.search.items import OBSERVATION

if TYPE_CHECKING:
    from theorex_lab.journal.view import View

_HERE = "theorex_lab.designs.causal"
_TITLES = {"banned": "What did not help before", "gene": "What helped with errors like these"}
READ_FROM = {kind: (kind,) for kind in ("personality", "external_candidate")}


def _views() -> Sequence[type[View]]:
    from theorex_lab.designs.causal import filling, graph

    return graph.Graph, filling.Failures


DESIGN = Design(
    name="causal", face=later(f"{_HERE}.face:Causal"), kinds=KINDS, views=_views, settings=CausalSettings, leads=False,
    items=(OBSERVATION, GENE, CAPSULE, ATTEMPT), evidence={"attempt_closed": runs_of},
    sections=(Section(later(f"{_HERE}.advice:advice_lines"), _TITLES, lambda _: 0.6),),
    flush=later(f"{_HERE}.filling:fill"),
    steps=(NightStep("attempts", later(f"{_HERE}.filling:fill_at_night")), NightStep("genes", later(f"{_HERE}.genes:tend_at_night"))),
    audit=AuditPart(READ_FROM, audit_telling("state", "why", "asset", "external")),
    agents=later(f"{_HERE}.graph:agents_of"), status=later(f"{_HERE}.graph:status"))  # fmt: skip
