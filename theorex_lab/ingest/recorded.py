"""What the hook has recorded of sessions already, so that their transcripts double none of it."""

from __future__ import annotations

from collections import Counter

from theorex_lab.journal.base import Journal
from theorex_lab.journal.event import Event

_SAYS = {"prompt": ("text",), "turn_ended": ("message",), "turn_message": ("text",), "tool_used": ("tool", "input")}
_DRAWN = "7"  # the version in an id that was drawn; those of imports are derived


class Recorded:
    """Counts the hook's captures by session and by what they say."""

    def __init__(self, journal: Journal) -> None:
        kinds = [*_SAYS, "compacting", "session_ended"]
        hooked = (event for event in journal.tail(0, kinds=kinds) if event.session)
        self._left = Counter(_key(event) for event in hooked if event.id[14] == _DRAWN or event.kind == "turn_message")

    def holds(self, event: Event) -> bool:
        """Whether the hook has recorded this; each of its captures stands for one."""
        key = _key(event)
        if self._left[key] <= 0:
            return False
        self._left[key] -= 1
        return True


def _key(event: Event) -> int:
    kind = "turn_ended" if event.kind == "turn_message" else event.kind
    return hash((event.session, kind, *(str(event.body.get(name)) for name in _SAYS.get(event.kind, ()))))
