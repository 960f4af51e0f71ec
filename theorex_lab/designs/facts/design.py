"""What facts bring to a home: each part is imported when it is first asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from theorex_lab.designs.facts import KINDS
from theorex_lab.designs.facts.items import FACT
from theorex_lab.designs.facts.settings import FactSettings
from theorex_lab.memory.briefing.candidates import DECISIONS
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

    from theorex_lab.files.formats.design_records import DesignRecords
    from theorex_lab.files.formats.reports import Exported, Reports
    from theorex_lab.journal.view import View
    from theorex_lab.memory.contract import (
        ContextLine,
        ContextRequest,
        DesignApi,
        Holding,
        Home,
        Item,
    )


_KNOWN = {"known": BriefingPart(DECISIONS, 0.45, "it was written down as a fact", 120)}
# Kind of an entry of the audit log -> the kinds of events that it is read from.
READ_FROM = {
    kind: (kind,) for kind in ("fact_superseded", "tension_noted", "entity_archived")
}


def _fact_lines(home: Home, request: ContextRequest) -> Iterable[ContextLine]:
    from theorex_lab.designs.facts.summaries import fact_lines

    return fact_lines(home, request)


def _maintenance_step(home: Home, agent: str | None) -> str:
    from theorex_lab.designs.facts.heartbeat import maintenance_step

    return maintenance_step(home, agent)


def _face(home: Home, searcher: Callable[[], Any]) -> DesignApi:
    from theorex_lab.designs.facts.face import FactsMemory

    return FactsMemory(home, searcher)


def _retrieve_facts(
    home: Home, searcher: Any, query: str, now: int, tokens: int
) -> Sequence[Item]:
    from theorex_lab.designs.facts.summaries import retrieve_facts

    return retrieve_facts(home, searcher, query, now=now, tokens=tokens)


def _extract_new(home: Home, agent: str, session: str) -> object:
    from theorex_lab.designs.facts.heartbeat import extract_new

    return extract_new(home, agent, session)


def _holdings(home: Home, agent: str | None) -> Iterable[Holding]:
    from theorex_lab.designs.facts.unread import fact_holdings

    return fact_holdings(home, agent)


def _status(home: Home, agent: str | None) -> Mapping[str, Any]:
    from theorex_lab.designs.facts.summaries import status

    return status(home, agent)


def _agents_of(home: Home) -> Iterable[str]:
    from theorex_lab.designs.facts.summaries import agents_of

    return agents_of(home)


def _silos(home: Home) -> frozenset[str]:
    from theorex_lab.designs.facts.channels import silos

    return silos(home)


def _export_tree(
    home: Home, searcher: object, folder: Path, *, agent: str | None = None
) -> Exported:
    from theorex_lab.designs.facts.files import export_tree

    return export_tree(home, searcher, folder, agent=agent)


def _records() -> DesignRecords:
    from theorex_lab.designs.facts.exchange import RECORDS

    return RECORDS


def _views() -> Sequence[type[View]]:
    from theorex_lab.designs.facts.channels import Channels
    from theorex_lab.designs.facts.facts import Facts
    from theorex_lab.designs.facts.note_view import Notes

    return [Facts, Channels, Notes]


def _status_views(_is_active: bool) -> Sequence[type[View]]:
    return _views()


def _folder_files(path: Path) -> list[Path]:
    from theorex_lab.designs.facts.folder_read import folder_files

    return folder_files(path)


def _import_folder(
    home: Home,
    searcher: object,
    path: Path,
    *,
    agent: str = "main",
    trusted: bool = False,
) -> Reports:
    from theorex_lab.designs.facts.folder_read import import_folder

    return import_folder(home, searcher, path, agent=agent, trusted=trusted)


# An export tells the same in the design's records, which are read first.
TREES = FileLayout(
    "life/*/*/items.json, memory/*/YYYY-MM-DD.md, ops/*/*.json",
    _export_tree,
    files_of=_folder_files,
    take=_import_folder,
    is_copy=True,
)
DESIGN = Design(
    name="facts",
    api=_face,
    kinds=KINDS,
    settings=FactSettings,
    files=(TREES,),
    views=_views,
    status_views=_status_views,
    records=_records,
    items=(OBSERVATION, FACT),
    shared_kinds=("entity_archived",),
    sections=(Section(_fact_lines, _KNOWN),),
    retrieve=_retrieve_facts,
    flush=_extract_new,
    steps=(MaintenanceStep("heartbeat", _maintenance_step),),
    active_by_default=False,
    results={"fact": "facts"},
    audit=AuditPart(
        READ_FROM, audit_telling("facts", "by", "why", "entity", "to", "note_id")
    ),
    status=_status,
    holdings=_holdings,
    agents=_agents_of,
    silos=_silos,
)
