"""All lines of a home by their ids, whether or not a briefing has room for them."""

from __future__ import annotations

from collections.abc import Iterator

from theorex_lab.journal.event import Event
from theorex_lab.memory.briefing.candidates import ASKED, Candidate
from theorex_lab.memory.briefing.cards import cards_of
from theorex_lab.memory.briefing.compose import kept_start_candidates
from theorex_lab.memory.briefing.passages import passages_of
from theorex_lab.memory.briefing.recorded_marks import mark_events
from theorex_lab.memory.briefing.session_log import Session, recorded_sessions
from theorex_lab.memory.contract import Home
from theorex_lab.memory.projects import known_projects
from theorex_lab.text.wording import content_words


def lines_by_id(home: Home) -> dict[str, Candidate]:
    """Return by id the lines that a home may show, and those that were marked.

    Those that a mark alone knows come first, so that a line which is still made stands
    in their place. Lines of items are left out.

    Args:
        home: The home. One of a project gives the lines that the project may be shown;
            one of none those of every project.
    """
    now = home.clock.now()
    homes = [home]
    if home.projects is None:
        homes += [home.in_project(project) for project in known_projects(home)]
    lines: dict[str, Candidate] = {}
    for mark_event in mark_events(home, now):
        line = _marked_line(mark_event)
        if line is not None:
            lines[line.own_id] = line
    for each_home in homes:
        sessions = recorded_sessions(each_home, now)
        for candidate in [*_lines_of(sessions), *kept_start_candidates(sessions, now)]:
            lines[candidate.id] = candidate
    return lines


def line_at_start(home: Home, line_id: str) -> Candidate | None:
    """Return the line of this whole id that a session of the home may start with.

    It is found at once where a briefing was made a moment ago; `lines_by_id` reads all
    that was ever said.
    """
    now = home.clock.now()
    sessions = recorded_sessions(home, now)
    for candidate in kept_start_candidates(sessions, now):
        if candidate.id == line_id:
            return candidate
    return None


def _marked_line(event: Event) -> Candidate | None:
    """Return the line that a mark event is of, None for that of an item."""
    line = event.body.get("line")
    if line is None:
        return None
    return _line(
        line["section"], line["text"], event.at, event.lineage, event.body["item"]
    )


def _lines_of(sessions: list[Session]) -> Iterator[Candidate]:
    """Yield what a prompt may bring of sessions, whatever it asks."""
    for session in sessions:
        for passage in passages_of(session):
            yield _line(ASKED, passage.line, passage.at, (passage.event,))
    for card in cards_of(sessions, ASKED):
        yield from card


def _line(
    section: str, text: str, at: int, events: tuple[str, ...], own_id: str = ""
) -> Candidate:
    return Candidate(
        section=section,
        kind="",
        text=text,
        weight=0.0,
        at=at,
        session="",
        words=content_words(text),
        events=events,
        why="",
        own_id=own_id,
    )
