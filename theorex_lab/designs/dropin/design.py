"""What other products' memory tools bring to a home.

Each part is imported when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from theorex_lab.designs.dropin import KINDS
from theorex_lab.designs.dropin.items import (
    ENTITY,
    GRAPH_OBSERVATION,
    GRAPH_RELATION,
    MEMORY_FILE,
)
from theorex_lab.memory.briefing.candidates import DECISIONS
from theorex_lab.memory.contract import BriefingPart, Design, Section

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from theorex_lab.files.formats.design_records import DesignRecords
    from theorex_lab.journal.view import View
    from theorex_lab.memory.contract import (
        ContextLine,
        ContextRequest,
        DesignApi,
        Home,
    )

_BRIEFING = {
    "graph": BriefingPart(DECISIONS, 0.45, "an agent kept it in its graph", 120),
    "memory_file": BriefingPart(DECISIONS, 0.45, "an agent keeps it in a file", 120),
}


def _face(home: Home, searcher: Callable[[], Any]) -> DesignApi:
    from theorex_lab.designs.dropin.face import DropIn

    return DropIn(home, searcher)


def _views() -> Sequence[type[View]]:
    from theorex_lab.designs.dropin.file_view import MemoryFiles
    from theorex_lab.designs.dropin.graph_view import GraphEntries

    return [GraphEntries, MemoryFiles]


def _kept_lines(home: Home, request: ContextRequest) -> Iterable[ContextLine]:
    from theorex_lab.designs.dropin.sections import kept_lines

    return kept_lines(home, request)


def _agents_who_kept(home: Home) -> Iterable[str]:
    from theorex_lab.designs.dropin.sections import agents_who_kept

    return agents_who_kept(home)


def _records() -> DesignRecords:
    from theorex_lab.designs.dropin.exchange import RECORDS

    return RECORDS


DESIGN = Design(
    name="dropin",
    api=_face,
    kinds=KINDS,
    views=_views,
    records=_records,
    items=(ENTITY, GRAPH_OBSERVATION, GRAPH_RELATION, MEMORY_FILE),
    sections=(Section(_kept_lines, _BRIEFING),),
    active_by_default=False,
    agents=_agents_who_kept,
)
