"""Noting what an agent is given of its memory: by it one can see what was of use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from theorex_lab.core.errors import StorageError
from theorex_lab.memory.briefing.token_budget import count_tokens
from theorex_lab.memory.context_served import recalled_event
from theorex_lab.memory.contract import Home

if TYPE_CHECKING:
    from theorex_lab.memory.retrieve import Hit


def given(hits: Iterable[Hit]) -> dict[str, Any]:
    """What a search gave: ids of items, and tokens.

    >>> given([])
    {'items': [], 'tokens': 0}
    """
    found = list(hits)
    return {
        "items": [hit.id for hit in found],
        "tokens": sum(count_tokens(hit.text) for hit in found),
    }


def note_recalled(
    home: Home,
    how: str,
    *,
    query: str = "",
    items: Iterable[str] = (),
    tokens: int = 0,
    agent: str,
    session: str = "",
) -> str:
    """Append the event of what is given to an agent; where nothing can be written it
    says so, else ''.
    """
    who = {"agent": agent, "session": session, "project": home.project}
    event = recalled_event(
        how, query=query, items=items, tokens=tokens, at=home.clock.now(), **who
    )
    try:
        home.journal.append([event])
    except StorageError as error:
        return f"what was given is not noted: {error}"
    return ""
