"""What Theorex brings to a home: each part is imported when it is first asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from theorex_lab.design import (
    AuditPart,
    Design,
    EventsPart,
    FileLayout,
    NightStep,
    PolicyPart,
    SearchPart,
    Section,
    later,
)
from theorex_lab.designs.theorex import KINDS, UPCASTERS
from theorex_lab.designs.theorex.items import CONCEPT, MOMENT, TITLES
from theorex_lab.search.items import OBSERVATION

if TYPE_CHECKING:
    from theorex_lab.journal.view import View

_HERE = "theorex_lab.designs.theorex"
# Kind of an entry of the audit log -> the kinds of events that it is read from, beside those that count mentions.
COUNTED = ("observation", "graduated", "imported", "prune")
READ_FROM = {
    "tier_change": ("prune", "scan"),
    "sentiment_flip": ("observation", "prune"),
    "graduation": ("graduated",),
    "prune": ("prune",),
    "moment_capture": ("observation",),
}
MEMORY_SETTINGS = (
    "decayLaw", "decayParams", "halfLifeDays", "fixHalfLifeDays", "activeThreshold", "mildThreshold", "contextTokens",
)  # fmt: skip


def _views() -> Sequence[type[View]]:
    from theorex_lab.designs.theorex.axon import Axon
    from theorex_lab.designs.theorex.flash import Flash
    from theorex_lab.designs.theorex.shared import SharedWeb
    from theorex_lab.designs.theorex.short_term import ShortTerm

    return Axon, Flash, ShortTerm, SharedWeb


DESIGN = Design(
    name="theorex",
    face=later(f"{_HERE}.face:Theorex"),
    tools=later(f"{_HERE}.tools:tools"),
    kinds=KINDS,
    upcasters=UPCASTERS,
    events=EventsPart(settled=later(f"{_HERE}.imported:settled")),
    views=_views,
    items=(OBSERVATION, CONCEPT, MOMENT),
    search=SearchPart(
        asleep=later(f"{_HERE}.search:asleep"),
        visible=later(f"{_HERE}.search:shared_documents"),
        related=later(f"{_HERE}.search:related"),
    ),
    sections=(
        Section(later(f"{_HERE}.context:sentence_lines"), TITLES, always=True),
        Section(later(f"{_HERE}.context:concept_lines")),
    ),
    leads=False,
    reminders=later(f"{_HERE}.steps:reminders"),
    steps=(
        NightStep("refine", later(f"{_HERE}.steps:refine_all"), before_gate=True),
        NightStep("flush", later(f"{_HERE}.steps:flush_all")),
        NightStep("scan", later(f"{_HERE}.steps:scan_all")),
        NightStep("graduate", later(f"{_HERE}.steps:graduate_all")),
        NightStep("promote", later(f"{_HERE}.steps:promote_all")),
    ),
    files=(
        FileLayout(
            names="flash/*.json, a2a/*/*.json, policy-snapshots/*.json",
            export=later(f"{_HERE}.exchange_documents:export_documents"),
            files_of=later(f"{_HERE}.exchange_documents:document_files"),
            take=later(f"{_HERE}.exchange_documents:import_documents"),
        ),
        FileLayout(
            names="axon.json, agents/*/axon.json, shared-axon.json, observations.jsonl, moments/*.json, short-term/*.jsonl, "
            "stm.jsonl, cold-store.db",
            export=later(f"{_HERE}.exchange:export_files"),
            files_of=later(f"{_HERE}.exchange:files_of"),
            take=later(f"{_HERE}.exchange:import_files"),
            places=later(f"{_HERE}.exchange:places"),
            export_places=later(f"{_HERE}.exchange:export_places"),
            in_places=later(f"{_HERE}.exchange:in_places"),
        ),
    ),
    agents=later(f"{_HERE}.steps:agents_of"),
    audit=AuditPart(READ_FROM, later(f"{_HERE}.audit:reading"), later(f"{_HERE}.audit:audit_entries")),
    policies={
        "memory": PolicyPart(
            MEMORY_SETTINGS,
            propose=later(f"{_HERE}.memory_policy:propose"),
            score=later(f"{_HERE}.memory_policy:score"),
            evidence=later(f"{_HERE}.memory_policy:evidence"),
        )
    },
    status=later(f"{_HERE}.status:status"),
    consolidated=later(f"{_HERE}.flash:taken_in"),
)
