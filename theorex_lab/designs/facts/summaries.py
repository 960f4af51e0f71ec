"""Sort facts into tiers, and show them.

They are shown as the page of an entity, the lines of a context, the status and the
reminders.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from theorex_lab.core.clock import MICROSECONDS_PER_DAY, to_iso, to_microseconds
from theorex_lab.core.errors import ConfigError, InvalidInput
from theorex_lab.designs.facts import TEXT_OF, channels, facts
from theorex_lab.designs.facts.facts import Fact, facts_of
from theorex_lab.designs.facts.items import told_of
from theorex_lab.designs.facts.settings import FactSettings, fact_settings
from theorex_lab.memory.briefing.token_budget import items_within
from theorex_lab.memory.contract import (
    ContextLine,
    ContextRequest,
    Home,
    Item,
)
from theorex_lab.memory.observation import TRUST
from theorex_lab.text.line import folded, one_line

if TYPE_CHECKING:
    from theorex_lab.memory.retrieve import Searcher

Tier = Literal["hot", "warm", "cold"]
_TIERS: tuple[Tier, ...] = ("hot", "warm", "cold")
_OVERVIEW = 3
_PAGE_CHARACTERS = 240  # of a fact on a page
_LINE_CHARACTERS = 400  # of a fact in a context
_MOST_HITS = 100
_MOST_LINES = 1_000
KNOWN = "known"  # of a line of a context: a fact


def zone_of(settings: FactSettings) -> tzinfo:
    """Return the time zone of days and weeks: the setting, else $ENGRAM_TZ, $TZ, UTC.

    Raises:
        ConfigError: The time zone is unknown.
    """
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError  # a status shows no days

    name = (
        settings.timezone
        or os.environ.get("ENGRAM_TZ")
        or os.environ.get("TZ", "").removeprefix(":")
        or "UTC"
    )
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        allowed = "one such as Europe/Moscow (designs.facts.timezone, ENGRAM_TZ, TZ)"
        raise ConfigError(
            f"got the time zone {name!r}; allowed is {allowed}"
        ) from error


def moment(
    time: int | str | None,
    settings: FactSettings,
) -> int | None:
    """Return a time in µs UTC.

    An ISO text without an offset is one in the time zone of the settings.

    Raises:
        InvalidInput: It is no time.
    """
    if time is None or isinstance(time, int):
        return time
    try:
        local_time = datetime.fromisoformat(time)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"got the time {time!r}; allowed is one such as 2026-03-01T09:00:00Z"
        ) from error
    if not local_time.tzinfo:
        local_time = local_time.replace(tzinfo=zone_of(settings))
    return to_microseconds(local_time)


def local_day(
    at: int,
    settings: FactSettings,
) -> datetime:
    """Return the moment (µs UTC) in the time zone of the settings."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at)
    return moment.astimezone(zone_of(settings))


def tier(
    fact: Fact,
    now: int,
    settings: FactSettings,
) -> Tier:
    """Return how near a fact is: hot, warm or cold (Engram's tiers).

    It goes by the days since its last use, else since it was written. A doubtful one is
    cold sooner; one that was used often is warm at least. What is dated ahead counts as
    of now.

    Args:
        fact: The fact.
        now: The time, µs UTC.
        settings: The bounds of the tiers.
    """
    age = now - _last_used(fact)
    days = age / MICROSECONDS_PER_DAY
    if days <= settings.hot_days:
        return "hot"
    is_doubtful = fact.confidence < settings.doubtful_below
    most_days = settings.warm_days
    if is_doubtful:
        most_days = settings.doubtful_days
    if days <= most_days:
        return "warm"
    if fact.access_count >= settings.warm_accesses:
        return "warm"
    return "cold"


def _last_used(fact: Fact) -> int:
    return max(fact.at, fact.last_accessed or 0)


def by_tier(
    facts: Iterable[Fact], now: int, settings: FactSettings
) -> dict[Tier, list[Fact]]:
    """Return facts by tier, each with what was used last first.

    Args:
        facts: The facts.
        now: The time, µs UTC.
        settings: The bounds of the tiers.
    """
    tiers: dict[Tier, list[Fact]] = {name: [] for name in _TIERS}
    in_order = sorted(facts, key=lambda fact: (-_last_used(fact), fact.id))
    for fact in in_order:
        name = tier(fact, now, settings)
        tiers[name].append(fact)
    return tiers


def summary(
    entity: str, facts: Iterable[Fact], now: int, settings: FactSettings
) -> str:
    """Return the page of an entity, as Markdown.

    It has what is hot, warm, and of what is cold the principles; and how many there
    are.

    Args:
        entity: Whom or what the facts are about.
        facts: The facts that hold.
        now: The time, µs UTC.
        settings: The bounds of the tiers.
    """
    tiers = by_tier(facts, now, settings)
    _, _, name = entity.partition("/")
    parts = [f"# {name}", ""]
    hottest = tiers["hot"][:_OVERVIEW]
    if hottest:
        sentences = [_sentence(fact.text) for fact in hottest]
        parts += [" ".join(sentences), ""]
    sections = {
        "Current (Hot)": tiers["hot"],
        "Background (Warm)": tiers["warm"],
        "Enduring (Principles)": _principles(tiers),
    }
    for title, section in sections.items():
        if not section:
            continue
        parts += [f"## {title}", ""]
        parts += [_line(fact) for fact in section]
        parts.append("")
    if not any(sections.values()):
        parts += [_all_cold(tiers["cold"]), ""]
    counts = [f"{len(tiers[tier_name])} {tier_name}" for tier_name in _TIERS]
    parts += [f"_{', '.join(counts)}; {entity}_", ""]
    return "\n".join(parts)


def _all_cold(facts: list[Fact]) -> str:
    """Return a sentence for the page of an entity whose facts are all cold."""
    if not facts:
        return "Nothing is known of it now."
    day = to_iso(_last_used(facts[0]))[:10]
    return (
        f"Nothing of it was used since {day}; what is older stands in items.json, and"
        " search finds it."
    )


def _principles(
    tiers: dict[Tier, list[Fact]],
) -> list[Fact]:
    """Return the principles of what is cold."""
    return [fact for fact in tiers["cold"] if fact.abstraction == "principle"]


def _sentence(text: str) -> str:
    flat = one_line(text, _PAGE_CHARACTERS)
    if flat.endswith((".", "!", "?", "…")):
        return flat
    return f"{flat}."


def _line(fact: Fact) -> str:
    text = one_line(fact.text, _PAGE_CHARACTERS)
    day = to_iso(fact.at)[:10]
    doubt = ""
    if fact.confidence < 1:
        doubt = f", {fact.confidence:.0%} sure"
    return f"- {text} ({fact.category}, {day}{doubt}; {fact.id})"


def fact_lines(home: Home, request: ContextRequest) -> Iterator[ContextLine]:
    """Yield the facts for a context, of the home's project and of none.

    With a query what fits it comes first, then the others by tier.
    """
    now = request.now
    facts = dict[str, Fact]()
    for fact in facts_of(home):
        if fact.at <= now and fact.holds_at(now):
            facts[fact.id] = fact
    reasons = dict[str, str]()
    for fact_id in _fitting_ids(home, request.query):
        if fact_id in facts:
            reasons[fact_id] = "fits the query"
    tiers = by_tier(facts.values(), now, fact_settings(home))
    sections = {
        "hot": tiers["hot"],
        "principle": _principles(tiers),
        "warm": tiers["warm"],
    }
    for name, section in sections.items():
        for fact in section:
            reasons.setdefault(fact.id, name)
    first_lines = islice(reasons.items(), _MOST_LINES)
    for fact_id, reason in first_lines:
        yield _context_line(facts[fact_id], reason)


def _fitting_ids(home: Home, query: str) -> list[str]:
    """Return the ids of the facts that fit a query, best first; none without one."""
    from theorex_lab.memory.retrieve import Searcher

    if not query:
        return []
    hits = Searcher(home).search(
        query,
        kinds=["fact"],
        limit=_MOST_HITS,
        projects=home.projects,
    )
    return [hit.id for hit in hits]


def _context_line(fact: Fact, reason: str) -> ContextLine:
    """Return a fact as a line of a context."""
    day = to_iso(fact.at)[:10]
    sentence = told_of(fact.entity, fact.text)
    text = f"{sentence} ({fact.category}, {day})"
    unverified = None
    trust = TRUST[fact.source]
    if trust < TRUST["agent"]:
        unverified = (fact.agent, trust)
    return ContextLine(
        KNOWN,
        fact.agent,
        one_line(text, _LINE_CHARACTERS),
        unverified,
        (fact.id,),
        (fact.event_id,),
        f"a {fact.category}, {reason}, {fact.confidence:.0%} sure",
        statement=folded(sentence),
        at=fact.at,
        automatic=fact.origin in TEXT_OF,
    )


def retrieve_facts(
    home: Home, searcher: Searcher, query: str, *, now: int, tokens: int
) -> list[Item]:
    """Return what a query gets within a budget of tokens, best first.

    It gets daily notes and the facts that no note says, then the other facts, as a
    context tells them. What is too long for the room that is left is passed over.

    Args:
        home: Whose facts they are.
        searcher: What searches the home.
        query: What is asked.
        now: The time of the query, µs UTC.
        tokens: The budget.
    """
    request = ContextRequest(now, tokens)
    return items_within(_fitting(home, searcher, query, request), tokens)


def _fitting(
    home: Home, searcher: Searcher, query: str, request: ContextRequest
) -> Iterator[Item]:
    """Yield the hits of a query, then the facts that none of them says."""
    hits = searcher.search(query, limit=_MOST_HITS, projects=home.projects)
    for hit, event_id in zip(hits, hits.events, strict=True):
        yield Item(hit.text, (event_id,))
    hit_events = set(hits.events)
    for line in fact_lines(home, request):
        if hit_events.isdisjoint(line.events):
            yield Item(line.text, line.events)


def status(home: Home, agent: str | None) -> dict[str, Any]:
    """Return how many facts hold, how many were superseded, of how many entities.

    It also says how many channels there are.
    """
    with home.views.reading(facts.Facts) as view:
        table = view.facts
        of_agent = [agent in (None, name) for name in view.agents]
        in_project = [_is_in_project(home, name) for name in view.projects]
        has_agent = np.array(of_agent, np.bool_)[table["agent"]]
        has_project = np.array(in_project, np.bool_)[table["project"]]
        is_counted = has_agent & has_project
        holds = table["superseded_at"] == 0
        n_active = int((is_counted & holds).sum())
        n_facts = int(is_counted.sum())
        # `np.unique` would import the masked arrays of numpy, for this alone.
        facts_of_entity = np.bincount(table["entity"][is_counted])
        n_entities = int(np.count_nonzero(facts_of_entity))
    counts = {
        "active": n_active,
        "superseded": n_facts - n_active,
        "entities": n_entities,
        "channels": len(channels.silos(home)),
    }
    return {"facts": counts}


def _is_in_project(home: Home, project: str) -> bool:
    """Return whether what is of a project, or of none, is seen from a home."""
    if not project or not home.project:
        return True
    return project == home.project


def agents_of(home: Home) -> list[str]:
    """Return the agents that wrote facts."""
    with home.views.reading(facts.Facts) as view:
        return list(view.agents)
