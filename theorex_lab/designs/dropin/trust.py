"""Whose word changes a graph or a tree of files."""

from __future__ import annotations

from theorex_lab.journal.event import Event
from theorex_lab.memory.observation import TRUST


def is_agents_word(event: Event) -> bool:
    """Return whether an event is trusted as much as an agent's word."""
    return TRUST[event.body["source"]] >= TRUST["agent"]
