"""A memory of a comparison as a system that is scored by sessions' needs.

It gives its `inject` when a session starts, and its `retrieve` of the first prompt. Each
text is laid out on lines that are read whole, since a store returns messages as they were
said, and a reader of a context reads the beginning of a line alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.eval.adapters.protocol import MemoryDesign
from theorex_lab.eval.metrics.needs import LINE_BYTES
from theorex_lab.eval.replay.trials import (
    INJECT,
    RETRIEVE,
    GuardedMemory,
    MemoryFailure,
    Plan,
    checked,
)
from theorex_lab.journal.event import Event

_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+")


class MemoryContexts:
    """Asks a memory about the sessions of a log, in the order of their starts.

    A memory that fails gives nothing there. Its trial on the same log names the problem.
    """

    def __init__(self, make: Callable[[], MemoryDesign], plan: Plan) -> None:
        """Make the memory.

        Args:
            make: Makes a memory without events.
            plan: How often it has maintenance, and how long a call may take.

        Raises:
            MemoryFailure: The memory cannot be made.
        """
        self._plan = plan
        self._n_observed = 0
        self._last_maintenance = 0
        self._known_ids = set[str]()
        self._memory = GuardedMemory(make, plan.timeout)

    def __call__(
        self, events: Sequence[Event], now: int, prompt: str, tokens: int
    ) -> str:
        """Return the text that the session is given, as `NeedsSystem` says."""
        try:
            self._live(events, now)
            if prompt:
                answer = self._memory.items(RETRIEVE, prompt, now, tokens)
            else:
                answer = self._memory.items(INJECT, now, tokens)
            items = checked(answer, self._known_ids, tokens)
        except MemoryFailure:
            return ""
        lines = list[str]()
        for item in items:
            lines += readable_lines(item.text)
        return "\n".join(lines)

    def _live(self, events: Sequence[Event], now: int) -> None:
        """Let the memory observe what is new, with a maintenance after each period."""
        period = int(self._plan.every_days * MICROSECONDS_PER_DAY)
        pending = list[Event]()
        for event in events[self._n_observed :]:
            if not self._last_maintenance:
                self._last_maintenance = event.at
            while self._last_maintenance + period < event.at:
                self._observe(pending)
                pending = []
                self._last_maintenance += period
                self._memory.call("consolidate", self._last_maintenance)
            pending.append(event)
        self._observe(pending)
        while self._last_maintenance and self._last_maintenance + period < now:
            self._last_maintenance += period
            self._memory.call("consolidate", self._last_maintenance)

    def _observe(self, events: list[Event]) -> None:
        """Hand over events, which come next in the log."""
        if not events:
            return
        self._n_observed += len(events)
        self._known_ids.update(event.id for event in events)
        self._memory.call("observe", events)

    def close(self) -> None:
        """Close the memory."""
        try:
            self._memory.close()
        except MemoryFailure:
            # What it gave is scored already.
            return


def readable_lines(text: str) -> Iterator[str]:
    r"""Yield a text on lines of at most 240 bytes, broken between sentences or words.

    A word of more bytes stands on a line of its own. Nothing is left out but white
    space.

    >>> list(readable_lines("Run make.\nThe port is 8080."))
    ['Run make.', 'The port is 8080.']
    """
    for line in text.splitlines():
        pending = ""
        for part in _short_parts(line.strip()):
            longer = f"{pending} {part}" if pending else part
            if _fits(longer):
                pending = longer
                continue
            yield pending
            pending = part
        if pending:
            yield pending


def _short_parts(line: str) -> Iterator[str]:
    """Yield the sentences of a line, of a longer one its words."""
    for sentence in _SENTENCE_END.split(line):
        if not sentence:
            continue
        if _fits(sentence):
            yield sentence
        else:
            yield from sentence.split()


def _fits(text: str) -> bool:
    return len(text.encode("utf-8", "replace")) <= LINE_BYTES
