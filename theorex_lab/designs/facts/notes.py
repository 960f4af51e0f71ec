"""Tensions."""

from __future__ import annotations

from collections.abc import Sequence

from theorex_lab.home import Home
from theorex_lab.journal.event import Event, new_event


def tension_event(
    home: Home, facts: Sequence[str], *, at: int, agent: str, source: str, lineage: Sequence[str], text: str = ""
) -> Event:
    """The event of a tension between facts; called inside `journal.exclusive`."""
    taken = [event.body["note_id"] for event in home.journal.tail(0, kinds=["tension_noted"])]
    body = {
        "note_id": f"tension-{len(taken) + 1:04d}", "text": text or f"{', '.join(facts)} may not hold side by side", "facts": list(facts),
        "source": source, "project": home.project,
    }  # fmt: skip
    return new_event("tension_noted", body, agent=agent, at=at, lineage=lineage)
