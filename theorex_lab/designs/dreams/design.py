"""What dreams bring to a home: each part is imported when it is first asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from theorex_lab.designs.dreams import KINDS
from theorex_lab.designs.dreams.items import CONSTRAINT, STRATEGY
from theorex_lab.designs.dreams.settings import DreamSettings
from theorex_lab.memory.briefing.candidates import COMMANDS, PITFALLS
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
        Item,
        Route,
    )


_BRIEFING = {
    "avoid": BriefingPart(PITFALLS, 0.5, "a run like this failed by it"),
    "strategy": BriefingPart(COMMANDS, 0.35, "a run like this succeeded so"),
}
# Kind of an entry of the audit log -> the kinds of events that it is read from.
READ_FROM = {
    kind: (kind,)
    for kind in ("strategy_merged", "strategy_compacted", "strategy_migrated")
}


def _strategy_lines(home: Home, request: ContextRequest) -> Iterable[ContextLine]:
    from theorex_lab.designs.dreams.sections import strategy_lines

    return strategy_lines(home, request)


def _dream_in_maintenance(home: Home, agent: str | None) -> str:
    from theorex_lab.designs.dreams.engine import dream_in_maintenance

    return dream_in_maintenance(home, agent)


def _face(home: Home, searcher: Callable[[], Any]) -> DesignApi:
    from theorex_lab.designs.dreams.face import Dreams

    return Dreams(home, searcher)


def _retrieve_strategies(
    home: Home, searcher: Any, query: str, now: int, tokens: int
) -> Sequence[Item]:
    from theorex_lab.designs.dreams.sections import retrieve_strategies

    return retrieve_strategies(home, searcher, query, now=now, tokens=tokens)


def _agents_of(home: Home) -> Iterable[str]:
    from theorex_lab.designs.dreams.strategies import agents_of

    return agents_of(home)


def _undreamt(home: Home) -> Mapping[tuple[str, str], int]:
    from theorex_lab.designs.dreams.strategies import undreamt

    return undreamt(home)


def _holdings(home: Home, agent: str | None) -> Iterable[Holding]:
    from theorex_lab.designs.dreams.holdings import procedure_holdings

    return procedure_holdings(home, agent)


def _status(home: Home, agent: str | None) -> Mapping[str, Any]:
    from theorex_lab.designs.dreams.holdings import status

    return status(home, agent)


def _routes() -> Sequence[Route]:
    from theorex_lab.designs.dreams.http import routes

    return routes()


def _records() -> DesignRecords:
    from theorex_lab.designs.dreams.exchange import RECORDS

    return RECORDS


def _views() -> Sequence[type[View]]:
    from theorex_lab.designs.dreams.strategy_view import Strategies
    from theorex_lab.designs.dreams.trajectories import Trajectories

    return [Trajectories, Strategies]


def _status_views(is_active: bool) -> Sequence[type[View]]:
    from theorex_lab.designs.dreams.strategy_view import Strategies

    if not is_active:
        return [Strategies]
    from theorex_lab.designs.dreams.trajectories import Trajectories

    return [Trajectories, Strategies]


def _sqlite_files(path: Path) -> list[Path]:
    from theorex_lab.designs.dreams.sqlite_import import is_sqlite_file

    return [path] if is_sqlite_file(path) else []


def _import_sqlite(
    home: Home,
    _searcher: object,
    path: Path,
    *,
    agent: str = "main",
    trusted: bool = False,
) -> Reports:
    from theorex_lab.designs.dreams.sqlite_import import import_sqlite

    return [import_sqlite(home, path, agent=agent, trusted=trusted)]


# The records hold the same; the group's command `export` writes such files.
SQLITE = FileLayout(
    "a SQLite file with parent_nodes or trace_entries",
    files_of=_sqlite_files,
    take=_import_sqlite,
    is_copy=True,
)
DESIGN = Design(
    name="dreams",
    api=_face,
    kinds=KINDS,
    settings=DreamSettings,
    views=_views,
    status_views=_status_views,
    records=_records,
    files=(SQLITE,),
    items=(OBSERVATION, STRATEGY, CONSTRAINT),
    shared_kinds=("dream",),
    sections=(Section(_strategy_lines, _BRIEFING),),
    retrieve=_retrieve_strategies,
    steps=(MaintenanceStep("dream", _dream_in_maintenance),),
    active_by_default=False,
    results={"strategy": "procedures"},
    audit=AuditPart(
        READ_FROM,
        audit_telling(
            "strategy_id",
            "absorbed",
            "why",
            "undo",
            "pruned",
            "from",
            "to",
            "ok",
            "problem",
        ),
    ),
    agents=_agents_of,
    pending_from=_undreamt,
    status=_status,
    holdings=_holdings,
    routes=_routes,
)
