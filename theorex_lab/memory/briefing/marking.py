"""Mark a line of a briefing, or an item, by its id: pin, dismiss, correct or trust it.

A line is looked up among all that its home could show. Its mark keeps its words, and is
erased where the events that say them are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import SCANNER
from theorex_lab.journal.event import Event, new_event
from theorex_lab.memory.annotations import ItemState, known_item, mark, whole_id
from theorex_lab.memory.briefing.candidates import (
    COMPUTED_SECTIONS,
    LINE_MARK,
    LONGEST_LINE,
    Candidate,
    bare_text,
    dated,
    fits_a_line,
)
from theorex_lab.memory.briefing.lines_by_id import line_at_start, lines_by_id
from theorex_lab.memory.briefing.recorded_marks import line_marks
from theorex_lab.memory.contract import Home
from theorex_lab.memory.observation import check_text
from theorex_lab.text.line import folded
from theorex_lab.text.redact.redaction_scope import kept_text
from theorex_lab.text.wording import content_words

_LINE_ID = re.compile(r"[0-9a-f]{12}")


def mark_by_id(
    home: Home,
    kind: str,
    prefix: str,
    *,
    text: str = "",
    undo: bool = False,
    also: Callable[[], Iterable[str]] = tuple,
) -> str:
    """Append what a person says of a line of a briefing or of an item.

    Args:
        home: The home. One of a project knows the lines that the project may be shown;
            one of none those of every project.
        kind: One of `search.items.MARKS`.
        prefix: The id of the line or item, or the beginning that it alone has.
        text: The person's words in its place, of a correction.
        undo: Whether the mark is taken back.
        also: Gives ids of items beside those that search knows.

    Returns:
        The whole id.

    Raises:
        InvalidInput: Nothing has the id (the message names the nearest), several begin
            with it, or the text cannot be kept or be a line.
    """
    target = _find(home, prefix, also)
    if isinstance(target, Candidate):
        _mark_line(home, kind, target, text=text, undo=undo)
        return target.id
    if kind == "trusted" and not undo:
        _check_item(home, target)
    mark(home, kind, target, text=text, undo=undo)
    return target.id


def _find(
    home: Home, prefix: str, also: Callable[[], Iterable[str]]
) -> Candidate | ItemState:
    """Return the line or item of an id, or of the beginning of one.

    Raises:
        InvalidInput: Nothing has the id, or several begin with it.
    """
    if _LINE_ID.fullmatch(prefix):
        line = line_at_start(home, prefix)
        if line is not None:
            return line
    elif prefix:
        item = known_item(home, prefix)
        if item is not None:
            return item
    lines = lines_by_id(home)
    target_id = prefix
    if prefix not in lines:
        target_id = whole_id(home, prefix, [*lines, *also()])
    if target_id in lines:
        return lines[target_id]
    item = known_item(home, target_id)
    if item is None:
        raise InvalidInput(f"got the id {prefix!r}, of which nothing is left to mark")
    return item


def _mark_line(
    home: Home, kind: str, line: Candidate, *, text: str, undo: bool
) -> None:
    """Append what a person says of a line.

    Raises:
        InvalidInput: The text of a correction cannot be kept, or is no line.
    """
    now = home.clock.now()
    sources = home.journal.read(ids=line.events)
    body: dict[str, Any] = {
        "item": line.id,
        "undo": undo,
        "source": "user",
        "project": _project_of(home, sources),
        "line": {"section": line.section, "text": line.text},
    }
    if kind == "corrected" and not undo:
        body["text"] = kept_text(check_text(text, home.settings.max_text_bytes))
        _check_line(body["text"], now)
    if kind == "trusted" and not undo:
        _check_line(_statement_of(home, line.id) or bare_text(line.text), now)
    saying_events = _events_that_say(line, sources)
    agent = saying_events[0].agent if saying_events else SCANNER
    event = new_event(
        kind,
        body,
        agent=agent,
        at=now,
        lineage=[source.id for source in saying_events],
    )
    home.journal.append([event])


def _project_of(home: Home, sources: Iterable[Event]) -> str:
    """Return the project of a line: that of its events, or the home's for several."""
    places = home.journal.places()
    projects = {places.current(source.body.get("project", "")) for source in sources}
    if len(projects) == 1:
        return projects.pop()
    return home.project


def _events_that_say(line: Candidate, sources: list[Event]) -> list[Event]:
    """Return the events whose erasure takes the mark of a line along.

    They are those that its words are of: all for what is put together from several, of
    a statement the one that says it best. That a rule was said once more elsewhere does
    not end a mark.
    """
    if line.section in COMPUTED_SECTIONS or not sources:
        return sources
    words = content_words(bare_text(line.text))

    def n_shared(source: Event) -> int:
        body = source.body
        text = f"{body.get('text', '')} {body.get('message', '')}"
        return len(words & content_words(text))

    return [max(sources, key=n_shared)]


def _statement_of(home: Home, item_id: str) -> str:
    """Return a person's words for a line or item, '' where there are none."""
    for line_mark in line_marks(home, home.clock.now()):
        if line_mark.id == item_id:
            return line_mark.correction
    return ""


def _check_item(home: Home, item: ItemState) -> None:
    """Raise InvalidInput for an item that cannot be a rule."""
    statement = _statement_of(home, item.id) or item.text
    if item.label or not statement:
        raise InvalidInput(
            f"got the id {item.id!r}, which is no statement; allowed is the id of a"
            " line of `theorex briefing --why` or of a text that `theorex search` finds"
        )
    _check_line(statement, home.clock.now())


def _check_line(text: str, now: int) -> None:
    """Raise InvalidInput for a text that is too long for a line with its date."""
    line = dated(folded(text), now)
    if fits_a_line(line):
        return
    n_bytes = len(f"{LINE_MARK}{line}".encode())
    raise InvalidInput(
        f"got a text that makes a line of {n_bytes} bytes; allowed are"
        f" {LONGEST_LINE}: shorten it, with `theorex correct ID TEXT`"
    )
