"""The events that stand for what came in from files: concepts, links, and captures that no flush waits for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from theorex_lab.exchange.files import Importing
from theorex_lab.ids import derived_event_id
from theorex_lab.journal.event import Body, Event, encode, new_event

_ANY_SEQ = 2**62


def settled(captures: Sequence[Event]) -> list[Event]:
    """The mark that captures from files wait for no flush: what one kept of them is in the short-term files."""
    first, *_ = captures
    made = derived_event_id("flushed", *(event.id for event in captures))
    return [
        new_event("flushed", {"upto": _ANY_SEQ}, agent=first.agent, session=first.session, at=first.at, event_id=made)
    ]


def imported(how: Importing, kind: str, body: Body, agent: str) -> Event:
    """An event whose id is derived from what it says, in which no time is ahead of the clock."""
    made = derived_event_id(kind, agent, encode(body))
    return new_event(kind, _not_after(how.latest, body), agent=agent, at=how.now, event_id=made)


def _not_after(latest: int, value: Any, key: str = "") -> Any:
    """A body in which no time is later than `latest` (µs).

    Times stand under last_seen and first_seen, and at the end of links and of graduated concepts.
    """
    if isinstance(value, dict):
        return {name: _not_after(latest, part, name) for name, part in value.items()}
    if key in ("links", "graduated"):
        return [[*row[:-1], min(row[-1], latest)] for row in value]
    if key == "concepts":  # those of the shared web are objects, others hold no times
        return [_not_after(latest, element) if isinstance(element, dict) else element for element in value]
    return min(value, latest) if key in ("last_seen", "first_seen") else value
