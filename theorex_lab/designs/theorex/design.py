"""What Theorex brings to a home: each part is imported when it is first asked for."""

from collections.abc import Callable
from typing import Any

from theorex_lab import design as parts
from theorex_lab.designs.theorex import KINDS, UPCASTERS
from theorex_lab.designs.theorex.items import CONCEPT, MOMENT, TITLES
from theorex_lab.search.items import OBSERVATION

# Kind of an entry of the audit log -> the kinds of events that it is read from.
READ_FROM = {
    "tier_change": ("imported", "prune", "scan"), "graduation": ("graduated",), "prune": ("prune",),
    "moment_capture": ("observation",)}  # fmt: skip
MEMORY_SETTINGS = (
    "decayLaw", "decayParams", "halfLifeDays", "fixHalfLifeDays", "activeThreshold", "mildThreshold", "contextTokens")  # fmt: skip
_VIEWS = ("axon:Axon", "flash:Flash", "stages:ShortTerm", "stages:SharedWeb")


def _own(place: str) -> Callable[..., Any]:
    return parts.later(f"theorex_lab.designs.theorex.{place}")


def _several(module: str, *names: str) -> list[Callable[..., Any]]:
    return [_own(f"{module}:{name}") for name in names]


FILES = parts.FileLayout(
    "axon.json, agents/*/axon.json, shared-axon.json, observations.jsonl, moments/*.json, short-term/*.jsonl, stm.jsonl",
    *_several("files", "export_files", "files_of", "import_files", "places", "export_places", "in_places"))  # fmt: skip
DESIGN = parts.Design(
    name="theorex", face=_own("face:Theorex"), tools=_own("tools:tools"), kinds=KINDS, upcasters=UPCASTERS, leads=False,
    events=parts.EventsPart(settled=_own("files_read:settled")),
    views=lambda: [parts.object_at(f"theorex_lab.designs.theorex.{place}") for place in _VIEWS],
    items=(OBSERVATION, CONCEPT, MOMENT), search=parts.SearchPart(*_several("answers", "asleep", "shared_documents", "related")),
    sections=(
        parts.Section(_own("sections:sentence_lines"), TITLES, always=True), parts.Section(_own("sections:concept_lines"))),
    reminders=_own("upkeep:reminders"), agents=_own("upkeep:agents_of"), status=_own("answers:status"), files=(FILES,),
    steps=(
        parts.NightStep("refine", _own("upkeep:refine_all"), before_gate=True),
        *(parts.NightStep(name, _own(f"upkeep:{name}_all")) for name in ("flush", "scan", "graduate", "promote"))),
    audit=parts.AuditPart(READ_FROM, *_several("answers", "reading", "audit_entries")),
    policies={"memory": parts.PolicyPart(MEMORY_SETTINGS, *_several("upkeep", "propose", "score", "evidence"))},
    consolidated=lambda home: _own("flash:flushed_upto")(home.journal))  # fmt: skip
