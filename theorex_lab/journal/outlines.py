"""Outlines: tool calls without the texts that went in and came out.

These texts are most of a journal's bytes. A fold that counts tool calls, or notes when
they were made, reads none of them.
"""

from __future__ import annotations

TYPE_CHECKING = False  # what type checkers take for true
if TYPE_CHECKING:
    from theorex_lab.journal.event import Event

OUTLINED_KIND = "tool_used"
# The members of its bodies that an outline leaves out, each a text where it is there.
LEFT_OUT = ("input", "response", "command")


def outline_of(event: Event) -> Event:
    """Return an event as `Journal.outlines` gives it.

    >>> from theorex_lab.journal.event import new_event
    >>> body = {"tool": "Read", "source": "tool", "input": "a.py"}
    >>> outline_of(new_event("tool_used", body, agent="main", at=0)).body
    {'v': 2, 'tool': 'Read', 'source': 'tool'}
    """
    if event.kind != OUTLINED_KIND:
        return event
    outlined = {}
    for name, value in event.body.items():
        if name not in LEFT_OUT:
            outlined[name] = value
    return event._replace(body=outlined)
