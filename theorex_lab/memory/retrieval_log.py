"""Note what an agent is given of its memory: the notes show what was of use."""

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
    """Return what a search gave: ids of items, and tokens.

    >>> given([])
    {'items': [], 'tokens': 0}
    """
    all_hits = list(hits)
    return {
        "items": [hit.id for hit in all_hits],
        "tokens": sum(count_tokens(hit.text) for hit in all_hits),
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
    """Append the event of what is given to an agent.

    Returns:
        Why nothing could be written, else ''.
    """
    event = recalled_event(
        how,
        query=query,
        items=items,
        tokens=tokens,
        project=home.project,
        at=home.clock.now(),
        agent=agent,
        session=session,
    )
    try:
        home.journal.append([event])
    except StorageError as error:
        return f"what was given is not noted: {error}"
    return ""
