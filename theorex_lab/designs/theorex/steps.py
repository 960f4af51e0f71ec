"""Theorex's steps of the night: outcomes acted on, tiers set, concepts graduated and given to the shared web; reminders."""

from collections.abc import Iterable
from functools import partial

from theorex_lab.clock import MICROSECONDS_PER_DAY
from theorex_lab.design import Reminder
from theorex_lab.designs.theorex import axon, flash, lifecycle, short_term
from theorex_lab.designs.theorex.learning import refine
from theorex_lab.evolution.nightly import for_each_agent, in_turn
from theorex_lab.home import Home
from theorex_lab.memory.observation import TRUST


def agents_of(home: Home) -> Iterable[str]:
    """Who has written, or had a session kept."""
    for view in (home.views.get(axon.Axon), home.views.get(short_term.ShortTerm)):
        with view.lock:
            yield from view.agents


def flush_all(home: Home, agent: str | None) -> str:
    """Flush what no session adds to any more."""
    names = [agent] if agent is not None else list(home.views.get(flash.Flash).agents)
    done = [session for flushed in in_turn(names, partial(lifecycle.flush_idle, home)) for session in flushed]
    return f"{sum(session.kept for session in done)} events kept, {sum(session.discarded for session in done)} let go"


def refine_all(home: Home, agent: str | None) -> str:
    """Write what stands out of many outcomes."""
    done = for_each_agent(home, agent, lambda name: refine(home, agent=name))
    return f"{sum(len(refinement.observations) for refinement in done)} observations written"


def scan_all(home: Home, agent: str | None) -> str:
    """Recompute tiers; put faded concepts to sleep."""
    found = lifecycle.scan(home, agents=None if agent is None else [agent])
    return f"{found.changed} concepts changed tier, {found.slept} fell asleep, {found.links_dropped} links dropped"


def graduate_all(home: Home, agent: str | None) -> str:
    """Take into the axon what was kept on enough days."""
    return f"{sum(map(len, for_each_agent(home, agent, lambda name: _graduate_one(home, name))))} concepts graduated"


def _graduate_one(home: Home, agent: str) -> list[str]:
    labels = lifecycle.graduate(home, agent=agent)
    if labels:  # what is new has its tier tonight, so that a second night finds nothing to do
        lifecycle.scan(home, agents=[agent])
    return labels


def promote_all(home: Home, agent: str | None) -> str:
    """Give concepts to the shared web."""
    done = for_each_agent(home, agent, lambda name: lifecycle.promote(home, agent=name))
    concepts, links = (sum(getattr(promotion, name) for promotion in done) for name in ("concepts", "links"))
    return f"{concepts} concepts, {links} links promoted"


def reminders(home: Home) -> Iterable[Reminder]:
    """The sentences that were written, where no other design has something to be reminded of."""
    if any(design.reminders is not None and design.name != "theorex" for design in home.designs):
        return
    now = home.clock.now()
    for event in home.journal.tail(0, kinds=["observation"]):
        body, days = event.body, max(now - event.at, 0) / MICROSECONDS_PER_DAY
        trust, weight = TRUST[body["source"]], round((1 + days) ** -0.3, 2)
        yield Reminder(event.id, body.get("project", ""), body["type"], body["text"], weight, trust, (event.id,))
