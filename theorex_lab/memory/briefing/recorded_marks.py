"""What a person said of lines and items, as the journal has it."""

from __future__ import annotations

from collections.abc import Iterator

from theorex_lab.journal.event import Event
from theorex_lab.memory.briefing.marked_lines import LineMark, line_marks_of
from theorex_lab.memory.contract import Home
from theorex_lab.search.items import MARKS


def line_marks(home: Home, now: int) -> list[LineMark]:
    """Return what a person says of lines and items of the home's project, or of none.

    Args:
        home: The home.
        now: Up to when (µs UTC).
    """
    return line_marks_of(mark_events(home, now))


def mark_events(home: Home, now: int) -> Iterator[Event]:
    """Yield what a person said in the home's project, or in none, up to a time.

    Args:
        home: The home.
        now: The time (µs UTC).
    """
    projects = None
    if home.projects is not None:
        projects = [*home.projects, ""]
    for event in home.journal.tail(0, kinds=MARKS, projects=projects):
        if event.at <= now:
            yield event
