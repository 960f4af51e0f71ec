"""What Theorex brings to a home: each part is imported when it is first asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from theorex_lab.designs.theorex import KINDS, UPCASTERS
from theorex_lab.designs.theorex.declarations import MEMORY_SETTINGS, READ_FROM
from theorex_lab.designs.theorex.items import (
    CONCEPT,
    FAILED,
    MOMENT,
    SENTENCES,
)
from theorex_lab.memory.contract import (
    AuditPart,
    CapturesPart,
    Design,
    EventsPart,
    FileLayout,
    MaintenanceStep,
    PolicyPart,
    SearchPart,
    Section,
)
from theorex_lab.search.items import OBSERVATION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path
    from typing import Any

    from theorex_lab.core.settings import Settings
    from theorex_lab.files.formats.design_records import DesignRecords
    from theorex_lab.files.formats.reports import Exported, FileReport
    from theorex_lab.journal.event import Event
    from theorex_lab.journal.view import View
    from theorex_lab.memory.contract import (
        AgentTool,
        AuditMatch,
        AuditQuery,
        AuditRecord,
        ContextLine,
        ContextRequest,
        DesignApi,
        Floats,
        FlushResult,
        Holding,
        Home,
        Ints,
        Mask,
        Proposal,
    )
    from theorex_lab.search.index import ItemIndex


def _sentence_lines(home: Home, request: ContextRequest) -> Iterable[ContextLine]:
    from theorex_lab.designs.theorex.sections import sentence_lines

    return sentence_lines(home, request)


def _failure_lines(home: Home, request: ContextRequest) -> Iterable[ContextLine]:
    from theorex_lab.evolution.briefing import what_failed

    return what_failed(home, request)


def _waiting_sessions(home: Home, agent: str) -> Sequence[str]:
    from theorex_lab.designs.theorex.flash import Flash

    waiting = home.views.get(Flash).waiting(home, agent)
    return [session for session, _ in waiting]


def _check_session(home: Home, agent: str, session: str) -> object:
    from theorex_lab.designs.theorex.upkeep import check_turns

    return check_turns(home, session, agent=agent)


def _flush(home: Home, agent: str, session: str) -> FlushResult:
    from theorex_lab.designs.theorex.lifecycle import flush

    return flush(home, session, agent=agent)


def _refine_all(home: Home, agent: str | None) -> str:
    from theorex_lab.designs.theorex.upkeep import refine_all

    return refine_all(home, agent)


def _flush_all(home: Home, agent: str | None) -> str:
    from theorex_lab.designs.theorex.upkeep import flush_all

    return flush_all(home, agent)


def _scan_all(home: Home, agent: str | None) -> str:
    from theorex_lab.designs.theorex.upkeep import scan_all

    return scan_all(home, agent)


def _graduate_all(home: Home, agent: str | None) -> str:
    from theorex_lab.designs.theorex.upkeep import graduate_all

    return graduate_all(home, agent)


def _promote_all(home: Home, agent: str | None) -> str:
    from theorex_lab.designs.theorex.upkeep import promote_all

    return promote_all(home, agent)


def _export_files(
    home: Home, searcher: object, folder: Path, *, agent: str | None = None
) -> Exported:
    from theorex_lab.designs.theorex.files import export_files

    return export_files(home, searcher, folder, agent=agent)


def _files_of(path: Path) -> list[Path]:
    from theorex_lab.designs.theorex.files import files_of

    return files_of(path)


def _import_files(
    home: Home,
    searcher: object,
    path: Path,
    *,
    agent: str = "main",
    trusted: bool = False,
) -> list[FileReport]:
    from theorex_lab.designs.theorex.files import import_files

    return import_files(home, searcher, path, agent=agent, trusted=trusted)


def _places(settings: Settings) -> list[Path]:
    from theorex_lab.designs.theorex.files import places

    return places(settings)


def _export_places(home: Home, *, agent: str | None = None) -> Exported:
    from theorex_lab.designs.theorex.files import export_places

    return export_places(home, agent=agent)


def _in_places(home: Home, *, agent: str | None = None) -> list[Path]:
    from theorex_lab.designs.theorex.files import in_places

    return in_places(home, agent=agent)


def _api(home: Home, searcher: Callable[[], Any]) -> DesignApi:
    from theorex_lab.designs.theorex.face import Theorex

    return Theorex(home, searcher)


def _tools() -> Sequence[AgentTool]:
    from theorex_lab.designs.theorex.tools import tools

    return tools()


def _settled(captures: Sequence[Event]) -> Sequence[Event]:
    from theorex_lab.designs.theorex.files_read import settled

    return settled(captures)


def _asleep(home: Home, index: ItemIndex) -> Mask:
    from theorex_lab.designs.theorex.answers import asleep

    return asleep(home, index)


def _shared_documents(home: Home, index: ItemIndex, visible: Mask) -> Mask:
    from theorex_lab.designs.theorex.answers import shared_documents

    return shared_documents(home, index, visible)


def _related(
    home: Home, index: ItemIndex, hits: Ints, allowed: Mask, now: int
) -> tuple[Ints, Floats]:
    from theorex_lab.designs.theorex.answers import related

    return related(home, index, hits, allowed=allowed, now=now)


def _agents_of(home: Home) -> Iterable[str]:
    from theorex_lab.designs.theorex.upkeep import agents_of

    return agents_of(home)


def _holdings(home: Home, agent: str | None) -> Iterable[Holding]:
    from theorex_lab.designs.theorex.holdings import concept_holdings

    return concept_holdings(home, agent)


def _status(home: Home, agent: str | None) -> Mapping[str, Any]:
    from theorex_lab.designs.theorex.holdings import status

    return status(home, agent)


def _reading() -> Callable[[Event], Iterable[AuditRecord]]:
    from theorex_lab.designs.theorex.answers import reading

    return reading()


def _audit_entries(
    home: Home, query: AuditQuery, take: Callable[[Event], Iterable[AuditRecord]]
) -> list[AuditMatch]:
    from theorex_lab.designs.theorex.answers import audit_entries

    return audit_entries(home, query, take)


def _propose(home: Home, turned_down: frozenset[str]) -> Proposal:
    from theorex_lab.designs.theorex.upkeep import propose

    return propose(home, turned_down)


def _score(home: Home) -> Mapping[str, float | int]:
    from theorex_lab.designs.theorex.upkeep import score

    return score(home)


def _evidence(home: Home) -> list[Any]:
    from theorex_lab.designs.theorex.upkeep import evidence

    return evidence(home)


def _records() -> DesignRecords:
    from theorex_lab.designs.theorex.exchange import RECORDS

    return RECORDS


def _views() -> Sequence[type[View]]:
    from theorex_lab.designs.theorex.axon import Axon
    from theorex_lab.designs.theorex.flash import Flash
    from theorex_lab.designs.theorex.stages import SharedWeb, ShortTerm

    return [Axon, Flash, ShortTerm, SharedWeb]


def _status_views(_is_active: bool) -> Sequence[type[View]]:
    from theorex_lab.designs.theorex.axon import Axon
    from theorex_lab.designs.theorex.flash import Flash

    return [Axon, Flash]


FILES = FileLayout(
    "axon.json, agents/*/axon.json, shared-axon.json, observations.jsonl,"
    " moments/*.json, short-term/*.jsonl, stm.jsonl",
    export=_export_files,
    files_of=_files_of,
    take=_import_files,
    places=_places,
    export_places=_export_places,
    in_places=_in_places,
)


def _consolidated(home: Home) -> Mapping[tuple[str, str], int]:
    from theorex_lab.designs.theorex.flash import flushed_upto

    return flushed_upto(home.journal)


DESIGN = Design(
    name="theorex",
    api=_api,
    tools=_tools,
    kinds=KINDS,
    upcasters=UPCASTERS,
    events=EventsPart(settled=_settled),
    views=_views,
    status_views=_status_views,
    records=_records,
    items=(OBSERVATION, CONCEPT, MOMENT),
    shared_kinds=("promoted", "imported_shared", "prune", "scan"),
    search=SearchPart(asleep=_asleep, visible=_shared_documents, related=_related),
    sections=(
        Section(_sentence_lines, SENTENCES),
        Section(_failure_lines, FAILED),
    ),
    captures=CapturesPart(waiting=_waiting_sessions, check=_check_session),
    flush=_flush,
    agents=_agents_of,
    status=_status,
    holdings=_holdings,
    files=(FILES,),
    steps=(
        MaintenanceStep("refine", _refine_all, before_policy_test=True),
        MaintenanceStep("flush", _flush_all),
        MaintenanceStep("scan", _scan_all),
        MaintenanceStep("graduate", _graduate_all),
        MaintenanceStep("promote", _promote_all),
    ),
    results={"graduated": "concepts promoted to long-term"},
    audit=AuditPart(READ_FROM, reading=_reading, entries=_audit_entries),
    policies={
        "memory": PolicyPart(
            MEMORY_SETTINGS, propose=_propose, score=_score, evidence=_evidence
        )
    },
    processed_up_to=_consolidated,
)
