"""What Theorex brings to a home: each part is imported when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from theorex_lab import design as parts
from theorex_lab.designs.theorex import KINDS, UPCASTERS
from theorex_lab.designs.theorex.items import CONCEPT, MOMENT, TITLES
from theorex_lab.search.items import OBSERVATION

if TYPE_CHECKING:
    from theorex_lab.journal.view import View

# Kind of an entry of the audit log -> the kinds of events that it is read from.
READ_FROM = {
    "tier_change": ("imported", "prune", "scan"), "graduation": ("graduated",), "prune": ("prune",),
    "moment_capture": ("observation",),
}  # fmt: skip
MEMORY_SETTINGS = (
    "decayLaw", "decayParams", "halfLifeDays", "fixHalfLifeDays", "activeThreshold", "mildThreshold", "contextTokens",
)  # fmt: skip


def _views() -> Sequence[type[View]]:
    from theorex_lab.designs.theorex.axon import Axon
    from theorex_lab.designs.theorex.flash import Flash
    from theorex_lab.designs.theorex.shared import SharedWeb
    from theorex_lab.designs.theorex.short_term import ShortTerm

    return Axon, Flash, ShortTerm, SharedWeb


def _own(place: str) -> Callable[..., Any]:
    return parts.later(f"theorex_lab.designs.theorex.{place}")


DESIGN = parts.Design(
    name="theorex",
    face=_own("face:Theorex"),
    tools=_own("tools:tools"),
    kinds=KINDS,
    upcasters=UPCASTERS,
    events=parts.EventsPart(settled=_own("exchange_read:settled")),
    views=_views,
    items=(OBSERVATION, CONCEPT, MOMENT),
    search=parts.SearchPart(_own("search:asleep"), _own("search:shared_documents"), _own("search:related")),
    sections=(
        parts.Section(_own("context:sentence_lines"), TITLES, always=True),
        parts.Section(_own("context:concept_lines")),
    ),
    leads=False,
    reminders=_own("steps:reminders"),
    steps=(
        parts.NightStep("refine", _own("steps:refine_all"), before_gate=True),
        *(parts.NightStep(name, _own(f"steps:{name}_all")) for name in ("flush", "scan", "graduate", "promote")),
    ),
    files=(
        parts.FileLayout(
            "flash/*.json, a2a/*/*.json, policy-snapshots/*.json",
            *(
                _own(f"exchange_documents:{name}")
                for name in ("export_documents", "document_files", "import_documents")
            ),
        ),
        parts.FileLayout(
            "axon.json, agents/*/axon.json, shared-axon.json, observations.jsonl, moments/*.json, short-term/*.jsonl, "
            "stm.jsonl, cold-store.db",
            *(_own(f"exchange:{name}") for name in ("export_files", "files_of", "import_files")),
            *(_own(f"exchange:{name}") for name in ("places", "export_places", "in_places")),
        ),
    ),
    agents=_own("steps:agents_of"),
    audit=parts.AuditPart(READ_FROM, _own("audit:reading"), _own("audit:audit_entries")),
    policies={
        "memory": parts.PolicyPart(
            MEMORY_SETTINGS, *(_own(f"memory_policy:{name}") for name in ("propose", "score", "evidence"))
        )
    },
    status=_own("axon_view:status"),
    consolidated=lambda home: _own("flash:flushed_upto")(home.journal),
)
