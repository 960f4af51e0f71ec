"""Declare what research tiers bring to a home.

Each part is imported when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from theorex_lab.designs.research import KINDS
from theorex_lab.designs.research.items import (
    INSIGHT,
    RECORD,
    SKILL,
    THEOREM,
    skill_runs,
)
from theorex_lab.designs.research.settings import ResearchSettings
from theorex_lab.memory.briefing.candidates import (
    COMMANDS,
    DECISIONS,
    PITFALLS,
    WORK,
)
from theorex_lab.memory.contract import (
    AuditPart,
    BriefingPart,
    Design,
    FileLayout,
    MaintenanceStep,
    Section,
    audit_telling,
)
from theorex_lab.search.items import OBSERVATION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path
    from typing import Any

    from theorex_lab.core.settings import Settings
    from theorex_lab.files.formats.design_records import DesignRecords
    from theorex_lab.files.formats.reports import Exported, FileReport
    from theorex_lab.journal.view import View
    from theorex_lab.memory.contract import (
        ContextLine,
        ContextRequest,
        DesignApi,
        Holding,
        Home,
    )


_BRIEFING = {
    "domain_knowledge": BriefingPart(DECISIONS, 0.4, "it was found out"),
    "pitfalls": BriefingPart(PITFALLS, 0.5, "it failed"),
    "proof_strategy": BriefingPart(DECISIONS, 0.25, "it worked"),
    "open_problems": BriefingPart(WORK, 0.35, "it was left open"),
    "skill": BriefingPart(COMMANDS, 0.35, "it is a skill that did well"),
}
READ_FROM = {kind: (kind,) for kind in ("insight", "skill", "post_run")}


def _insight_lines(home: Home, request: ContextRequest) -> Iterable[ContextLine]:
    from theorex_lab.designs.research.sections import insight_lines

    return insight_lines(home, request)


def _learn_in_maintenance(home: Home, agent: str | None) -> str:
    from theorex_lab.designs.research.learning import learn_in_maintenance

    return learn_in_maintenance(home, agent)


def _places(settings: Settings) -> list[Path]:
    from theorex_lab.designs.research.files import places

    return places(settings)


def _export_named_tiers(home: Home, *, agent: str | None = None) -> Exported:
    from theorex_lab.designs.research.files import export_named_tiers

    return export_named_tiers(home, agent=agent)


def _named_tier_files(home: Home, *, agent: str | None = None) -> list[Path]:
    from theorex_lab.designs.research.files import named_tier_files

    return named_tier_files(home, agent=agent)


def _face(home: Home, searcher: Callable[[], Any]) -> DesignApi:
    from theorex_lab.designs.research.face import MemoryManager

    return MemoryManager(home, searcher)


def _learn_of_session(home: Home, agent: str, session: str) -> None:
    from theorex_lab.designs.research.learning import learn_of_session

    learn_of_session(home, agent, session)


def _agents_of(home: Home) -> Iterable[str]:
    from theorex_lab.designs.research.insights import agents_of

    return agents_of(home)


def _holdings(home: Home, agent: str | None) -> Iterable[Holding]:
    from theorex_lab.designs.research.holdings import research_holdings

    return research_holdings(home, agent)


def _status(home: Home, agent: str | None) -> Mapping[str, Any]:
    from theorex_lab.designs.research.holdings import status

    return status(home, agent)


def _export_tiers(
    home: Home, searcher: object, folder: Path, *, agent: str | None = None
) -> Exported:
    from theorex_lab.designs.research.files import export_tiers

    return export_tiers(home, searcher, folder, agent=agent)


def _tier_files(path: Path) -> list[Path]:
    from theorex_lab.designs.research.files import tier_files

    return tier_files(path)


def _import_tiers(
    home: Home,
    searcher: object,
    path: Path,
    *,
    agent: str = "main",
    trusted: bool = False,
) -> list[FileReport]:
    from theorex_lab.designs.research.files import import_tiers

    return import_tiers(home, searcher, path, agent=agent, trusted=trusted)


def _records() -> DesignRecords:
    from theorex_lab.designs.research.exchange import RECORDS

    return RECORDS


def _views() -> Sequence[type[View]]:
    from theorex_lab.designs.research.insights import Insights
    from theorex_lab.designs.research.learning import SessionProgress
    from theorex_lab.designs.research.records import Episodes, Records
    from theorex_lab.designs.research.skills import Skills
    from theorex_lab.designs.research.theorems import Theorems

    return [Episodes, Records, Theorems, Insights, Skills, SessionProgress]


def _status_views(is_active: bool) -> Sequence[type[View]]:
    from theorex_lab.designs.research.insights import Insights
    from theorex_lab.designs.research.records import Records
    from theorex_lab.designs.research.skills import Skills
    from theorex_lab.designs.research.theorems import Theorems

    views: list[type[View]] = [Records, Theorems, Insights, Skills]
    if is_active:
        from theorex_lab.designs.research.learning import SessionProgress

        views.append(SessionProgress)
    return views


FILES = FileLayout(
    "memory/*.json, memories/*/*.md, skills/*/SKILL.md, runs/*/*.json",
    _export_tiers,
    _tier_files,
    _import_tiers,
    places=_places,
    export_places=_export_named_tiers,
    in_places=_named_tier_files,
    is_copy=True,
)
DESIGN = Design(
    name="research",
    api=_face,
    kinds=KINDS,
    settings=ResearchSettings,
    views=_views,
    status_views=_status_views,
    records=_records,
    items=(OBSERVATION, INSIGHT, THEOREM, RECORD, SKILL),
    evidence={"skill_outcome": skill_runs},
    files=(FILES,),
    sections=(Section(_insight_lines, _BRIEFING),),
    flush=_learn_of_session,
    steps=(MaintenanceStep("learn", _learn_in_maintenance),),
    active_by_default=False,
    audit=AuditPart(
        READ_FROM,
        audit_telling(
            "category", "title", "name", "domain", "session_id", "status", "learnt"
        ),
    ),
    agents=_agents_of,
    status=_status,
    holdings=_holdings,
)
