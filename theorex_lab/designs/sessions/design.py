"""What sessions bring to a home: each part is imported when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from theorex_lab.designs.sessions import KINDS
from theorex_lab.designs.sessions.items import DIGEST, FIX, SENTENCE
from theorex_lab.designs.sessions.settings import SessionSettings
from theorex_lab.memory.contract import Design, MaintenanceStep
from theorex_lab.search.items import OBSERVATION

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from theorex_lab.files.formats.design_records import DesignRecords
    from theorex_lab.journal.view import View
    from theorex_lab.memory.contract import DesignApi, Holding, Home, Item


def _digest_idle(home: Home, agent: str | None) -> str:
    from theorex_lab.designs.sessions.digests import digest_idle

    return digest_idle(home, agent)


def _api(home: Home, searcher: Callable[[], Any]) -> DesignApi:
    from theorex_lab.designs.sessions.face import Sessions

    return Sessions(home, searcher)


def _keep_digest(home: Home, agent: str, session: str) -> object:
    from theorex_lab.designs.sessions.digests import keep_digest

    return keep_digest(home, agent, session)


def _retrieve(
    home: Home, searcher: Any, query: str, now: int, tokens: int
) -> Sequence[Item]:
    from theorex_lab.designs.sessions.retrieval import retrieve

    return retrieve(home, searcher, query, now=now, tokens=tokens)


def _holdings(home: Home, agent: str | None) -> Iterable[Holding]:
    from theorex_lab.designs.sessions.session_ends import session_holdings

    return session_holdings(home, agent)


def _agents_of(home: Home) -> Iterable[str]:
    from theorex_lab.designs.sessions.digests import agents_of

    return agents_of(home)


def _records() -> DesignRecords:
    from theorex_lab.designs.sessions.exchange import RECORDS

    return RECORDS


def _views() -> Sequence[type[View]]:
    from theorex_lab.designs.sessions.said import FileTouches, SessionWords
    from theorex_lab.designs.sessions.session_ends import SessionEnds

    return [SessionEnds, SessionWords, FileTouches]


def _status_views(_is_active: bool) -> Sequence[type[View]]:
    from theorex_lab.designs.sessions.session_ends import SessionEnds

    return [SessionEnds]


DESIGN = Design(
    name="sessions",
    api=_api,
    kinds=KINDS,
    settings=SessionSettings,
    views=_views,
    status_views=_status_views,
    records=_records,
    items=(OBSERVATION, SENTENCE, DIGEST, FIX),
    steps=(MaintenanceStep("digest", _digest_idle),),
    results={"digest": "sessions in short"},
    flush=_keep_digest,
    retrieve=_retrieve,
    reads_sessions=True,
    agents=_agents_of,
    holdings=_holdings,
)
