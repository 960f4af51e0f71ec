"""Tiers of facts, what is shown of an entity, and what facts tell of themselves: in the
status, the audit log, at a prompt.
"""

import os
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import islice
from typing import Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from theorex_lab.core.clock import MICROSECONDS_PER_DAY, to_iso, to_microseconds
from theorex_lab.core.errors import ConfigError, InvalidInput
from theorex_lab.designs.facts import channels, facts, items
from theorex_lab.designs.facts.facts import Fact, facts_of
from theorex_lab.designs.facts.items import told_of
from theorex_lab.designs.facts.settings import FactSettings, fact_settings
from theorex_lab.memory.briefing.token_budget import items_within
from theorex_lab.memory.contract import (
    ContextLine,
    ContextRequest,
    Home,
    Item,
    Reminder,
)
from theorex_lab.memory.observation import TRUST
from theorex_lab.memory.retrieve import Searcher
from theorex_lab.text.line import one_line

Tier = Literal["hot", "warm", "cold"]
_TIERS: tuple[Tier, ...] = ("hot", "warm", "cold")
_OVERVIEW = 3
_MOST_HITS = 100
_MOST_LINES = 1_000
KNOWN = "known"  # of a line of a context: a fact
_WEIGHT = 1.5  # of a reminder of a fact that is sure


def zone_of(settings: FactSettings) -> tzinfo:
    """The time zone of days and weeks: the setting, else $ENGRAM_TZ, $TZ, UTC. Raises
    ConfigError for an unknown one.
    """
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


def moment(given: int | str | None, settings: FactSettings) -> int | None:
    """A time in µs UTC; an ISO text without an offset is one in the time zone of the
    settings. Raises InvalidInput for no time.
    """
    if given is None or isinstance(given, int):
        return given
    try:
        read = datetime.fromisoformat(given)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"got the time {given!r}; allowed is one such as 2026-03-01T09:00:00Z"
        ) from error
    return to_microseconds(
        read if read.tzinfo else read.replace(tzinfo=zone_of(settings))
    )


def local_day(at: int, settings: FactSettings) -> datetime:
    """The moment (µs UTC) in the time zone of the settings."""
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at)).astimezone(
        zone_of(settings)
    )


def tier(fact: Fact, now: int, settings: FactSettings) -> Tier:
    """How near a fact is: hot, warm or cold by the days since its last use, else since
    it was written (Engram's tiers).

    A doubtful one is cold sooner; one that was used often is warm at least. What is
    dated ahead counts as of now.
    """
    days = (now - max(fact.at, fact.last_accessed or 0)) / MICROSECONDS_PER_DAY
    if days <= settings.hot_days:
        return "hot"
    doubtful = fact.confidence < settings.doubtful_below
    if days <= (settings.doubtful_days if doubtful else settings.warm_days):
        return "warm"
    return "warm" if fact.access_count >= settings.warm_accesses else "cold"


def by_tier(
    facts: Iterable[Fact], now: int, settings: FactSettings
) -> dict[Tier, list[Fact]]:
    """Facts by tier, each with what was used last first."""
    found: dict[Tier, list[Fact]] = {name: [] for name in _TIERS}
    for fact in sorted(
        facts, key=lambda fact: (-max(fact.at, fact.last_accessed or 0), fact.id)
    ):
        found[tier(fact, now, settings)].append(fact)
    return found


def summary(
    entity: str, facts: Iterable[Fact], now: int, settings: FactSettings
) -> str:
    """The page of an entity, as Markdown: what is hot, warm, and of what is cold the
    principles; and how many there are.
    """
    tiers = by_tier(facts, now, settings)
    principles = [fact for fact in tiers["cold"] if fact.abstraction == "principle"]
    parts = [f"# {entity.partition('/')[2]}", ""]
    if tiers["hot"]:
        parts += [
            " ".join(_sentence(fact.text) for fact in tiers["hot"][:_OVERVIEW]),
            "",
        ]
    titles = ("Current (Hot)", "Background (Warm)", "Enduring (Principles)")
    for title, shown in zip(
        titles, (tiers["hot"], tiers["warm"], principles), strict=True
    ):
        if shown:
            parts += [f"## {title}", "", *map(_line, shown), ""]
    counts = ", ".join(f"{len(tiers[name])} {name}" for name in _TIERS)
    return "\n".join([*parts, f"_{counts}; {entity}_", ""])


def _sentence(text: str) -> str:
    flat = one_line(text, 240)
    return flat if flat.endswith((".", "!", "?", "…")) else f"{flat}."


def _line(fact: Fact) -> str:
    doubt = f", {fact.confidence:.0%} sure" if fact.confidence < 1 else ""
    return (
        f"- {one_line(fact.text, 240)} ({fact.category}, {to_iso(fact.at)[:10]}{doubt};"
        f" {fact.id})"
    )


def fact_lines(home: Home, wanted: ContextRequest) -> Iterator[ContextLine]:
    """What is known, for a context: with a query what fits it first, then by tier; of
    the home's project and of none.
    """
    facts = {
        fact.id: fact
        for fact in facts_of(home)
        if fact.at <= wanted.now and fact.holds_at(wanted.now)
    }
    search: dict[str, Any] = {
        "kinds": ["fact"],
        "limit": _MOST_HITS,
        "projects": home.projects,
    }
    found = Searcher(home).search(wanted.query, **search) if wanted.query else ()
    tiers = by_tier(facts.values(), wanted.now, fact_settings(home))
    principles = [fact for fact in tiers["cold"] if fact.abstraction == "principle"]
    shown = {hit.id: "fits the query" for hit in found if hit.id in facts}
    for name, listed in (
        ("hot", tiers["hot"]),
        ("principle", principles),
        ("warm", tiers["warm"]),
    ):
        shown = {**shown, **{fact.id: name for fact in listed if fact.id not in shown}}
    for fact_id, why in islice(shown.items(), _MOST_LINES):
        fact = facts[fact_id]
        heard = (
            None
            if TRUST[fact.source] >= TRUST["agent"]
            else (fact.agent, TRUST[fact.source])
        )
        text = one_line(
            f"{told_of(fact.entity, fact.text)} ({fact.category},"
            f" {to_iso(fact.at)[:10]})",
            400,
        )
        why = f"a {fact.category}, {why}, {fact.confidence:.0%} sure"
        yield ContextLine(
            KNOWN, fact.agent, text, heard, (fact.id,), (fact.event_id,), why
        )


def retrieve_facts(
    home: Home, searcher: Searcher, query: str, now: int, tokens: int
) -> list[Item]:
    """What a query gets within `tokens`, best first: daily notes and the facts that no
    note says, then what is known anyway, as a context tells it. What is too long for
    the room that is left is passed over.
    """
    return items_within(
        _fitting(home, searcher, query, ContextRequest(now, tokens)), tokens
    )


def _fitting(
    home: Home, searcher: Searcher, query: str, wanted: ContextRequest
) -> Iterator[Item]:
    hits = searcher.search(query, limit=_MOST_HITS, projects=home.projects)
    yield from (
        Item(hit.text, (event_id,))
        for hit, event_id in zip(hits, hits.events, strict=True)
    )
    given = set(hits.events)
    yield from (
        Item(line.text, line.events)
        for line in fact_lines(home, wanted)
        if given.isdisjoint(line.events)
    )


def status(home: Home, agent: str | None) -> dict[str, Any]:
    """How many facts hold and how many were superseded, of how many entities; how many
    channels.
    """
    with home.views.reading(facts.Facts) as view:
        own = np.array([agent in (None, name) for name in view.agents], np.bool_)
        near = np.array(
            [home.project in ("", name) or not name for name in view.projects], np.bool_
        )
        kept = own[view.facts["agent"]] & near[view.facts["project"]]
        holds = view.facts["superseded_at"] == 0
        active = int((kept & holds).sum())
        entities = len(np.unique(view.facts["entity"][kept]))
    told = {
        "active": active,
        "superseded": int(kept.sum()) - active,
        "entities": entities,
    }
    return {"facts": {**told, "channels": len(channels.silos(home))}}


def agents_of(home: Home) -> list[str]:
    """Who wrote facts."""
    with home.views.reading(facts.Facts) as view:
        return list(view.agents)


def fact_reminders(home: Home) -> Iterator[Reminder]:
    """The facts that hold and were written on purpose: what was made of a capture comes
    back in its own words.
    """
    for fact in facts.facts_of(home.in_project("")):
        if fact.origin not in ("prompt", "observation") and fact.holds_at(
            home.clock.now()
        ):
            text = items.told_of(fact.entity, fact.text)
            weight = _WEIGHT * fact.confidence
            yield Reminder(
                fact.id,
                fact.project,
                "fact",
                text,
                weight,
                TRUST[fact.source],
                (fact.event_id,),
            )
