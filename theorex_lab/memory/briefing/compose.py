"""Compose a briefing out of recorded sessions: candidates of every kind, then a choice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import is_
from threading import local
from typing import TYPE_CHECKING

from theorex_lab.core.clock import MICROSECONDS_PER_HOUR
from theorex_lab.journal.event import Event
from theorex_lab.memory.briefing.candidates import Candidate
from theorex_lab.memory.briefing.cards import work_candidates
from theorex_lab.memory.briefing.commands import command_candidates
from theorex_lab.memory.briefing.pitfalls import pitfall_candidates
from theorex_lab.memory.briefing.places import place_candidates
from theorex_lab.memory.briefing.prompt_index import kept_index_of
from theorex_lab.memory.briefing.prompt_lines import (
    PromptLine,
    lines_for_prompt,
    words_of_line,
)
from theorex_lab.memory.briefing.rendered_text import section_texts
from theorex_lab.memory.briefing.rule_sayings import Saying
from theorex_lab.memory.briefing.rules import rule_candidates, rules_of_sayings
from theorex_lab.memory.briefing.selection import choose
from theorex_lab.memory.briefing.session_log import (
    MOST_KEPT_EVENTS,
    GrowingLog,
    Session,
    sessions_of,
)

if TYPE_CHECKING:
    from theorex_lab.memory.briefing.prompt_lines import Similarity

# The last log that was composed, of each thread: it is asked for at many prompts.
_last = local()
_MOST_STARTS = 8  # whose lines are kept, such as those of several projects
_StartKey = tuple[int, ...]
# The lines of the last starts, and the sessions that they were made of.
_Start = tuple[list[Session], list[Candidate]]
_kept_starts: dict[_StartKey, _Start] = {}


def start_candidates(
    sessions: Sequence[Session],
    now: int,
    sayings: Callable[[], Sequence[Saying]] | None = None,
) -> list[Candidate]:
    """Return the lines that a session may start with.

    Args:
        sessions: The earlier sessions of the project.
        now: The time of the start (µs UTC).
        sayings: Gives what may state a rule in the sessions; None reads it from them.
    """
    rules = (
        rule_candidates(sessions, now)
        if sayings is None
        else rules_of_sayings(sayings(), now)
    )
    return [
        *rules,
        *command_candidates(sessions, now),
        *work_candidates(sessions, now),
        *pitfall_candidates(sessions, now),
        *place_candidates(sessions, now),
    ]


def kept_start_candidates(
    sessions: Sequence[Session],
    now: int,
    sayings: Callable[[], Sequence[Saying]] | None = None,
) -> list[Candidate]:
    """Return `start_candidates`, those made before where the sessions are the same.

    Making them costs seconds for thousands of events. What was made within the hour is
    given again.

    Args:
        sessions: The earlier sessions of the project.
        now: The time of the start (µs UTC).
        sayings: See `start_candidates`.
    """
    key = (*map(id, sessions), now // MICROSECONDS_PER_HOUR)
    start = _kept_starts.pop(key, None)
    if start is None:
        # The sessions live as long as their ids are compared.
        start = (list(sessions), start_candidates(sessions, now, sayings))
    _keep_start(key, start)
    return list(start[1])


def _keep_start(key: _StartKey, start: _Start) -> None:
    """Keep the lines of a start, and let go of earlier ones where there are too many.

    The sessions of the others are bounded as those of all projects are.
    """
    n_steps = 0
    latest_first = list(reversed(_kept_starts))
    for number, old_key in enumerate(latest_first, start=2):
        old_start = _kept_starts.get(old_key)
        if old_start is not None:
            n_steps += sum(len(session.steps) for session in old_start[0])
        if number > _MOST_STARTS or n_steps > MOST_KEPT_EVENTS:
            _kept_starts.pop(old_key, None)
    _kept_starts[key] = start  # the last one that was asked for is the last here


def start_lines(
    sessions: Sequence[Session],
    now: int,
    *,
    tokens: int,
    further: Sequence[Candidate] = (),
) -> list[Candidate]:
    """Return what a session starts with, within a budget.

    Args:
        sessions: The earlier sessions of the project.
        now: The time of the start (µs UTC).
        tokens: The budget.
        further: Further lines to choose from, such as those that designs offer.
    """
    return choose([*start_candidates(sessions, now), *further], tokens)


def prompt_lines(
    sessions: Sequence[Session],
    prompt: str,
    now: int,
    *,
    tokens: int,
    shown: Sequence[Candidate] = (),
    further: Sequence[Candidate] = (),
    similarity: Similarity | None = None,
) -> list[PromptLine]:
    """Return what a prompt brings beside what the session started with.

    Args:
        sessions: The earlier sessions of the project.
        prompt: What the user asks.
        now: The time of the prompt (µs UTC).
        tokens: The budget.
        shown: What the session started with.
        further: Further lines to choose from, such as those that designs offer.
        similarity: Tells how like texts are to the prompt in meaning; None counts words
            alone.
    """
    words = [words_of_line(line.text) for line in shown]
    return lines_for_prompt(
        kept_index_of(sessions, further),
        "",
        prompt,
        now,
        tokens=tokens,
        shown=words,
        similarity=similarity,
    )


def as_text(lines: Iterable[Candidate | PromptLine]) -> str:
    """Return lines as sections, without the fence that every door puts around them."""
    return "".join(f"{text}\n" for text in section_texts(lines))


def compose(
    events: Iterable[Event],
    now: int,
    *,
    query: str = "",
    tokens: int,
    further: Sequence[Candidate] = (),
    similarity: Similarity | None = None,
) -> str:
    """Return the briefing that recorded events give.

    Args:
        events: The events of one project before the time, oldest first.
        now: The time (µs UTC).
        query: What the user asks; '' at the start of a session. With a query only what
            the prompt brings beside the start is returned.
        tokens: The budget.
        further: Further lines to choose from, such as those that designs offer.
        similarity: Tells how like texts are to the query in meaning; None counts words
            alone.
    """
    sessions = _kept_sessions(list(events))
    at_start = choose([*_kept_start_of(sessions, now), *further], tokens)
    if not query:
        return as_text(at_start)
    lines = prompt_lines(
        sessions,
        query,
        now,
        tokens=tokens,
        shown=at_start,
        further=further,
        similarity=similarity,
    )
    return as_text(lines)


def _kept_sessions(events: list[Event]) -> list[Session]:
    """Return the sessions of events; those of the same ones again are kept."""
    last_events: list[Event] = getattr(_last, "events", [])
    is_same = len(last_events) == len(events) and all(map(is_, last_events, events))
    if not is_same or not events:
        _last.sessions = _sessions_of_growing(events)
        _last.events = events
        _last.start = None
    sessions: list[Session] = _last.sessions
    return sessions


def _sessions_of_growing(events: list[Event]) -> list[Session]:
    """Return the sessions of events; a log that was added to is read on."""
    last_events: list[Event] = getattr(_last, "events", [])
    n_last = len(last_events)
    log: GrowingLog | None = getattr(_last, "log", None)
    _last.log = None  # should it raise
    if len(events) > MOST_KEPT_EVENTS:
        return sessions_of(events)
    is_longer = n_last <= len(events) and all(map(is_, last_events, events))
    if log is None or not is_longer:
        log = GrowingLog()
        n_last = 0
    log.add(events[n_last:])
    sessions = log.sessions()
    _last.log = log
    return sessions


def _kept_start_of(sessions: Sequence[Session], now: int) -> list[Candidate]:
    """Return the lines of a start of the sessions that are kept.

    Those of the same time again are kept: what is composed of other further lines, and
    at a prompt, has them too.
    """
    if _last.start is None or _last.start[0] != now:
        _last.start = now, start_candidates(sessions, now)
    candidates: list[Candidate] = _last.start[1]
    return candidates
