"""What research tiers bring to a home: each part is imported when it is first asked for."""

from theorex_lab.design import AuditPart, Design, FileLayout, NightStep, Section, audit_telling, later, object_at
from theorex_lab.designs.research import KINDS
from theorex_lab.designs.research.items import INSIGHT, RECORD, SKILL, THEOREM, skill_runs
from theorex_lab.designs.research.settings import ResearchSettings
from theorex_lab.search.items import OBSERVATION

_HERE = "theorex_lab.designs.research"
_TITLES = {
    "domain_knowledge": "What was found out", "pitfalls": "What failed, and why", "proof_strategy": "What worked before",
    "open_problems": "What is open", "skill": "Skills"}  # fmt: skip
READ_FROM = {kind: (kind,) for kind in ("insight", "skill", "post_run")}
_VIEWS = (
    "records:Episodes",
    "records:Records",
    "theorems:Theorems",
    "insights:Insights",
    "skills:Skills",
    "learning:LearntSessions",
)
FILES = FileLayout(
    "memory/*.json, memories/*/*.md, skills/*/SKILL.md, runs/*/*.json", later(f"{_HERE}.files:export_tiers"),
    later(f"{_HERE}.files:tier_files"), later(f"{_HERE}.files:import_tiers"), places=later(f"{_HERE}.files:places"),
    export_places=later(f"{_HERE}.files:export_named_tiers"), in_places=later(f"{_HERE}.files:named_tier_files"))  # fmt: skip
DESIGN = Design(
    name="research", face=later(f"{_HERE}.face:MemoryManager"), kinds=KINDS, settings=ResearchSettings, leads=False,
    views=lambda: [object_at(f"{_HERE}.{place}") for place in _VIEWS], items=(OBSERVATION, INSIGHT, THEOREM, RECORD, SKILL),
    evidence={"skill_outcome": skill_runs}, files=(FILES,),
    sections=(Section(later(f"{_HERE}.sections:insight_lines"), _TITLES, lambda _: 0.6),),
    flush=later(f"{_HERE}.learning:learn_of_session"), steps=(NightStep("learn", later(f"{_HERE}.learning:learn_at_night")),),
    audit=AuditPart(READ_FROM, audit_telling("category", "title", "name", "domain", "session_id", "status", "learnt")),
    agents=later(f"{_HERE}.insights:agents_of"), status=later(f"{_HERE}.insights:status"))  # fmt: skip
