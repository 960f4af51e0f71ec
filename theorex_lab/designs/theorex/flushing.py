"""What a flush makes of a session's events, and how many flushes are appended at once.

The flush itself is a step of `lifecycle`.
"""

from collections.abc import Sequence
from typing import NamedTuple

from theorex_lab.core.ids import derived_event_id
from theorex_lab.designs.theorex import flash as flashes
from theorex_lab.designs.theorex import scores, stages
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.designs.theorex.stages import ShortTerm
from theorex_lab.journal.base import append_each_once
from theorex_lab.journal.event import Event, new_event
from theorex_lab.memory.contract import FlushResult, Home

# After so many events that waited, the flushes of idle sessions are appended together.
_EVENTS_AT_ONCE = 500


class Background(NamedTuple):
    """What the events of an agent's sessions are scored against.

    Attributes:
        importance: concept_id -> importance of the concepts that the agent knows.
        asked: The ids of the concepts that people said to the agent.
        weight: How much what the agent says weighs.
    """

    importance: dict[int, float]
    asked: set[int]
    weight: float


class Flushed(NamedTuple):
    """What the flush of a session appends, and what it comes to."""

    events: list[Event]
    result: FlushResult


def background_of(home: Home, agent: str) -> Background:
    """Return what an agent's events are scored against now."""
    now = home.clock.now()
    settings = home.settings
    with home.views.reading(Axon) as axon:
        importance = scores.importance_by_concept(
            axon,
            now,
            settings,
            agent=agent,
        )
    with home.views.reading(ShortTerm) as short_term:
        asked = short_term.asked(agent)
    weight = settings.source_weight(agent)
    return Background(importance, asked, weight)


def waiting_events(
    home: Home, pending: Sequence[int], before: int | None
) -> list[Event]:
    """Return the events of a session's flash, until the first not older than a time.

    Args:
        home: The home whose memory it is.
        pending: The seqs of the events.
        before: A time (µs UTC); None: all of the events.
    """
    events: list[Event] = []
    for event in home.journal.read(seqs=pending):
        if before is not None and event.at >= before:
            break
        events.append(event)
    return events


def flushed_session(
    home: Home, waiting: Sequence[Event], background: Background
) -> Flushed:
    """Return what comes of a session's events, in order; nothing is appended.

    Args:
        home: The home whose memory it is.
        waiting: The events of one session that wait for a flush.
        background: What they are scored against.
    """
    chosen = _chosen(home, waiting, background)
    new_events: list[Event] = []
    for scored_event in chosen:
        new_events += stages.short_term_events(scored_event, background.weight)
    result = FlushResult(len(chosen), len(waiting) - len(chosen))
    last = waiting[-1]
    body = {
        "upto": last.seq,
        "kept": result.kept,
        "let_go": result.discarded,
    }
    flushed = new_event(
        "flushed",
        body,
        agent=last.agent,
        session=last.session,
        at=home.clock.now(),
        # Two processes that flush at once give this event one id, so that only one of
        # them is heard. The id is made of the last event's alone, which says whose
        # session it is: a session's id may be a secret that is erased.
        event_id=derived_event_id("flushed", last.id),
    )
    return Flushed([*new_events, flushed], result)


def _chosen(
    home: Home, waiting: Sequence[Event], background: Background
) -> list[flashes.ScoredEvent]:
    """Return the events of a session that are good enough to be kept."""
    settings = home.settings
    vocabulary = flashes.asked_in(waiting) | background.asked
    scored: list[flashes.ScoredEvent] = []
    for event in waiting:
        scored_event = flashes.score(
            event,
            background.importance,
            background.weight,
            vocabulary=vocabulary,
        )
        scored.append(scored_event)
    scored = flashes.echoed(scored, settings.flash_echo_weight)
    chosen: list[flashes.ScoredEvent] = []
    for scored_event in flashes.held_by_day(scored):
        is_good = scored_event.score >= settings.flush_threshold
        if is_good and scored_event.concepts:
            chosen.append(scored_event)
    return chosen


class FlushBatches:
    """Flushes of an agent's sessions, appended several in one transaction.

    All are scored against what the agent knew when the first was, and each against what
    people said in those before it.

    Attributes:
        results: What came of each session that was appended.
    """

    def __init__(self, home: Home, agent: str) -> None:
        self._home = home
        self._agent = agent
        self._background = background_of(home, agent)
        self._flushes: list[Flushed] = []
        self._n_waiting = 0
        self.results: list[FlushResult] = []

    def add(self, pending: Sequence[int], before: int | None) -> None:
        """Score a session's events, and append what has come together if it is much.

        Args:
            pending: The seqs of the session's events in its flash.
            before: As `lifecycle.flush` takes it.
        """
        waiting = waiting_events(self._home, pending, before)
        if not waiting:
            return
        flushed = flushed_session(self._home, waiting, self._background)
        asked = stages.asked_ids(flushed.events)
        self._background.asked.update(asked)
        self._flushes.append(flushed)
        self._n_waiting += len(waiting)
        if self._n_waiting >= _EVENTS_AT_ONCE:
            self.append()

    def append(self) -> None:
        """Append what has come together.

        What another process flushed meanwhile, or whose text was erased, is let be.
        """
        steps = [flushed.events for flushed in self._flushes]
        are_appended = append_each_once(self._home.journal, steps)
        for flushed, is_appended in zip(
            self._flushes,
            are_appended,
            strict=True,
        ):
            if is_appended:
                self.results.append(flushed.result)
        if not all(are_appended):
            self._background = background_of(self._home, self._agent)
        self._flushes.clear()
        self._n_waiting = 0
