"""What a person said of lines and items, as the journal has it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from theorex_lab.journal.event import Event
from theorex_lab.memory.annotations import ItemState, known_item, line_of_item
from theorex_lab.memory.briefing.kept_events import newest_events
from theorex_lab.memory.briefing.marked_lines import LineMark, line_marks_of
from theorex_lab.memory.contract import Home
from theorex_lab.memory.observation import TRUST
from theorex_lab.search.items import MARKS


def line_marks(home: Home, now: int) -> list[LineMark]:
    """Return what a person says of lines and items of the home's project, or of none.

    Args:
        home: The home.
        now: Up to when (µs UTC).
    """
    marks: list[LineMark] = []
    for mark in line_marks_of(mark_events(home, now)):
        marks.append(_as_the_item_is_now(home, mark))
    return marks


def mark_events(home: Home, now: int) -> Iterator[Event]:
    """Yield what a person said in the home's project, or in none, up to a time.

    Args:
        home: The home.
        now: The time (µs UTC).
    """
    for event in newest_events(home, MARKS):
        if event.at <= now:
            yield event


def _as_the_item_is_now(home: Home, mark: LineMark) -> LineMark:
    """Return the mark of a pinned item with what the item says now.

    A superseded item says nothing, and neither does an untrusted one whose words changed
    after the person read them. A rule keeps the words that the person made a rule.
    """
    if mark.is_line or mark.trusted_at:
        return mark
    if not mark.is_pinned:
        return mark
    item = known_item(home, mark.id)
    if item is None or item.hidden:
        return replace(mark, text="")
    text = line_of_item(item)
    if text != mark.text and not _is_trusted(item):
        text = ""
    return replace(mark, text=text)


def _is_trusted(item: ItemState) -> bool:
    """Return whether all who wrote an item are an agent or a person."""
    least = TRUST["agent"]
    for event in item.events:
        if event.kind in MARKS:
            continue
        source = event.body["source"]
        if TRUST[source] < least:
            return False
    return True
