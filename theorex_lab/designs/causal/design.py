"""Declare what causal memory brings to a home.

Each part is imported when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from theorex_lab.designs.causal import KINDS
from theorex_lab.designs.causal.items import ATTEMPT, CAPSULE, GENE, runs_of
from theorex_lab.designs.causal.settings import CausalSettings
from theorex_lab.memory.briefing.candidates import PITFALLS
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
    from theorex_lab.files.formats.reports import Reports
    from theorex_lab.journal.view import View
    from theorex_lab.memory.contract import (
        ContextLine,
        ContextRequest,
        DesignApi,
        Holding,
        Home,
    )


_BRIEFING = {
    "banned": BriefingPart(PITFALLS, 0.5, "it was tried and failed too often"),
    "gene": BriefingPart(PITFALLS, 0.5, "it was tried and helped"),
}
READ_FROM = {kind: (kind,) for kind in ("personality", "external_candidate")}


def _advice_lines(home: Home, request: ContextRequest) -> Iterable[ContextLine]:
    from theorex_lab.designs.causal.sections import advice_lines

    return advice_lines(home, request)


def _fill_in_maintenance(home: Home, agent: str | None) -> str:
    from theorex_lab.designs.causal.filling import fill_in_maintenance

    return fill_in_maintenance(home, agent)


def _tend_in_maintenance(home: Home, agent: str | None) -> str:
    from theorex_lab.designs.causal.genes import tend_in_maintenance

    return tend_in_maintenance(home, agent)


def _face(home: Home, searcher: Callable[[], Any]) -> DesignApi:
    from theorex_lab.designs.causal.face import Causal

    return Causal(home, searcher)


def _fill(home: Home, agent: str, session: str) -> object:
    from theorex_lab.designs.causal.filling import fill

    return fill(home, agent, session)


def _agents_of(home: Home) -> Iterable[str]:
    from theorex_lab.designs.causal.graph import agents_of

    return agents_of(home)


def _holdings(home: Home, agent: str | None) -> Iterable[Holding]:
    from theorex_lab.designs.causal.graph import causal_holdings

    return causal_holdings(home, agent)


def _status(home: Home, agent: str | None) -> Mapping[str, Any]:
    from theorex_lab.designs.causal.graph import status

    return status(home, agent)


def _records() -> DesignRecords:
    from theorex_lab.designs.causal.exchange import RECORDS

    return RECORDS


def _views() -> Sequence[type[View]]:
    from theorex_lab.designs.causal.experience import Experience
    from theorex_lab.designs.causal.filling import Failures
    from theorex_lab.designs.causal.graph import Graph
    from theorex_lab.designs.causal.personalities import Personalities

    return [Graph, Failures, Experience, Personalities]


def _status_views(_is_active: bool) -> Sequence[type[View]]:
    from theorex_lab.designs.causal.graph import Graph

    return [Graph]


def _graph_files(path: Path) -> list[Path]:
    from theorex_lab.designs.causal.graph_reading import graph_files_at

    return graph_files_at(path)


def _import_graph(
    home: Home,
    _searcher: object,
    path: Path,
    *,
    agent: str = "main",
    trusted: bool = False,
) -> Reports:
    from theorex_lab.designs.causal.graph_reading import import_graph

    return import_graph(home, path, agent=agent, trusted=trusted)


# The records hold the same; the group's command `export` writes such files.
GRAPH = FileLayout(
    "memory_graph.jsonl, genes.json, capsules.json, memory_graph_state.json",
    files_of=_graph_files,
    take=_import_graph,
    is_copy=True,
)
DESIGN = Design(
    name="causal",
    api=_face,
    kinds=KINDS,
    settings=CausalSettings,
    views=_views,
    status_views=_status_views,
    records=_records,
    files=(GRAPH,),
    items=(OBSERVATION, GENE, CAPSULE, ATTEMPT),
    evidence={"attempt_closed": runs_of},
    sections=(Section(_advice_lines, _BRIEFING),),
    flush=_fill,
    steps=(
        MaintenanceStep("attempts", _fill_in_maintenance),
        MaintenanceStep("genes", _tend_in_maintenance),
    ),
    active_by_default=False,
    audit=AuditPart(READ_FROM, audit_telling("state", "why", "asset", "external")),
    agents=_agents_of,
    status=_status,
    holdings=_holdings,
)
