"""What sessions bring to a home: each part is imported when it is first asked for."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from theorex_lab.designs.sessions import FILE, KINDS, LAST, RULE, SAID, TOPIC
from theorex_lab.designs.sessions.items import DIGEST, FIX, SENTENCE
from theorex_lab.designs.sessions.settings import SessionSettings
from theorex_lab.memory.contract import FIXED_KIND, Design, NightStep, Section
from theorex_lab.search.items import OBSERVATION

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from theorex_lab.journal.view import View
    from theorex_lab.memory.contract import (
        ContextLine,
        ContextRequest,
        DesignApi,
        Home,
        Item,
        Reminder,
    )


def _shares(shares: Mapping[int, float]) -> Callable[[int], float]:
    """Return the share of a budget, by the budgets for which one is set.

    It is that of the greatest of these budgets which it reaches, 0 below them.

    >>> _shares({150: 0.9, 2_000: 0.4})(600)
    0.9
    """
    budgets = sorted(shares)

    def share(tokens: int) -> float:
        n_reached = bisect_left(budgets, tokens + 1)
        return shares[budgets[n_reached - 1]] if n_reached else 0.0

    return share


def _rule_lines(home: Home, request: ContextRequest) -> Iterable[ContextLine]:
    from theorex_lab.designs.sessions.sections import rule_lines

    return rule_lines(home, request)


def _fix_lines(home: Home, request: ContextRequest) -> Iterable[ContextLine]:
    from theorex_lab.designs.sessions.sections import fix_lines

    return fix_lines(home, request)


def _last_lines(home: Home, request: ContextRequest) -> Iterable[ContextLine]:
    from theorex_lab.designs.sessions.sections import last_lines

    return last_lines(home, request)


def _spoken_lines(home: Home, request: ContextRequest) -> Iterable[ContextLine]:
    from theorex_lab.designs.sessions.sections import spoken_lines

    return spoken_lines(home, request)


def _file_lines(home: Home, request: ContextRequest) -> Iterable[ContextLine]:
    from theorex_lab.designs.sessions.sections import file_lines

    return file_lines(home, request)


def _topic_lines(home: Home, request: ContextRequest) -> Iterable[ContextLine]:
    from theorex_lab.designs.sessions.sections import topic_lines

    return topic_lines(home, request)


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
    from theorex_lab.designs.sessions.sections import retrieve

    return retrieve(home, searcher, query, now=now, tokens=tokens)


def _session_reminders(home: Home) -> Iterable[Reminder]:
    from theorex_lab.designs.sessions.sections import session_reminders

    return session_reminders(home)


def _agents_of(home: Home) -> Iterable[str]:
    from theorex_lab.designs.sessions.digests import agents_of

    return agents_of(home)


def _views() -> Sequence[type[View]]:
    from theorex_lab.designs.sessions.said import FileTouches, MessageStore

    return [MessageStore, FileTouches]


SECTIONS = (
    Section(
        _rule_lines,
        {RULE: "Rules that the user gave"},
        _shares({0: 0.0, 400: 0.03, 1_000: 0.08, 4_000: 0.04}),
    ),
    Section(
        _fix_lines,
        {FIXED_KIND: "What failed, and what helped"},
        _shares({0: 0.0, 1_000: 0.02}),
    ),
    Section(
        _last_lines,
        {LAST: "Where the last session stopped"},
        _shares({0: 0.0, 1_000: 0.04, 4_000: 0.02}),
    ),
    Section(
        _spoken_lines,
        {SAID: "Said and decided before"},
        _shares({0: 0.0, 400: 0.03, 1_000: 0.46, 4_000: 0.68}),
        by_event=True,
    ),
    Section(
        _file_lines,
        {FILE: "Files you will probably need"},
        _shares({0: 1.0, 400: 0.9, 1_000: 0.38, 4_000: 0.24}),
        inline=(FILE,),
    ),
    Section(_topic_lines, {TOPIC: "Topics of late"}, _shares({0: 0.0, 1_000: 0.02})),
)

DESIGN = Design(
    name="sessions",
    api=_api,
    kinds=KINDS,
    sections=SECTIONS,
    settings=SessionSettings,
    views=_views,
    items=(OBSERVATION, SENTENCE, DIGEST, FIX),
    steps=(NightStep("digest", _digest_idle),),
    flush=_keep_digest,
    retrieve=_retrieve,
    reminders=_session_reminders,
    agents=_agents_of,
)
