"""What facts tell of themselves: in the status, in the audit log, and at a prompt that they fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from theorex_lab.design import Reminder, Told
from theorex_lab.designs.facts import channels, facts, items
from theorex_lab.home import Home
from theorex_lab.journal.event import Event
from theorex_lab.memory.observation import TRUST

_WEIGHT = 1.5  # of a reminder of a fact that is sure


def status(home: Home, agent: str | None) -> dict[str, Any]:
    """How many facts hold and how many were superseded, of how many entities; how many channels."""
    with home.views.reading(facts.Facts) as view:
        own = np.array([agent in (None, name) for name in view.agents], np.bool_)
        near = np.array([home.project in ("", name) or not name for name in view.projects], np.bool_)
        kept, holds = own[view.facts["agent"]] & near[view.facts["project"]], view.facts["superseded_at"] == 0
        active, entities = int((kept & holds).sum()), len(np.unique(view.facts["entity"][kept]))
    told = {"active": active, "superseded": int(kept.sum()) - active, "entities": entities}
    return {"facts": {**told, "channels": len(channels.silos(home))}}


def agents_of(home: Home) -> list[str]:
    """Who wrote facts."""
    with home.views.reading(facts.Facts) as view:
        return list(view.agents)


def audit_reading() -> Callable[[Event], Iterable[Told]]:
    """Tells what superseded, contradicts or was archived."""

    def told(event: Event) -> Iterator[Told]:
        names = ("facts", "by", "why", "entity", "to", "note_id")
        yield (event.kind, event.agent, {name: event.body[name] for name in names if event.body.get(name)})

    return told


def fact_reminders(home: Home) -> Iterator[Reminder]:
    """The facts that hold and were written on purpose: what was made of a capture comes back in its own words."""
    for fact in facts.facts_of(home.in_project("")):
        if fact.origin not in ("prompt", "observation") and fact.holds_at(home.clock.now()):
            text, weight = items.told_of(fact.entity, fact.text), _WEIGHT * fact.confidence
            yield Reminder(fact.id, fact.project, "fact", text, weight, TRUST[fact.source], (fact.event_id,))
