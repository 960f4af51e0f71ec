"""One memory's way, from what an agent does to the context of its next session.

    tool event  →  flash  →  short-term  →  graduate  →  axon  →  promote  →  shared web
    →  context
                                     write  ───────────┘

A write is `memory.observation.write_all`. Read this file first: each step is one
function, leaves whole transactions in the journal, and may be repeated.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.core.ids import check_agent
from theorex_lab.designs.theorex import flash as flashes
from theorex_lab.designs.theorex import flushing, scores, stages
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.designs.theorex.stages import SharedWeb, ShortTerm
from theorex_lab.journal.base import append_once
from theorex_lab.journal.event import Event
from theorex_lab.journal.view import View, Views, set_aside_view
from theorex_lab.memory.contract import FlushResult, Home
from theorex_lab.memory.observation import common_project
from theorex_lab.memory.projects import projects_view

MICROSECONDS_PER_HOUR = 3_600_000_000
# Concepts and links that a scan changes: to read and fold so many takes each process
# longer than to map a snapshot, see record 071.
_MANY_CHANGES = 50_000
V = TypeVar("V", bound=View)


class PromotionResult(NamedTuple):
    """How many concepts and links a promotion updated in the shared web."""

    concepts: int
    links: int


def flush(
    home: Home, session: str, *, agent: str = "main", before: int | None = None
) -> FlushResult:
    """Move the best of a session's flash to short-term memory, and let go of the rest.

    The best is what scored at least flushThreshold. Each UTC day of a session has a
    flash of its own, so that no day crowds out another.

    Args:
        home: The home whose memory it is.
        session: The session that is flushed.
        agent: Whose session it is.
        before: A time (µs UTC): only the events until the first that is not older are
            flushed; None: all.
    """
    with home.views.reading(flashes.Flash) as view:
        pending = view.pending(check_agent(agent), session)
    waiting = flushing.waiting_events(home, pending, before)
    if not waiting:
        return FlushResult(0, 0)
    background = flushing.background_of(home, agent)
    flushed = flushing.flushed_session(home, waiting, background)
    if not append_once(home.journal, flushed.events):
        return FlushResult(0, 0)
    return flushed.result


def flush_idle(home: Home, agent: str) -> list[FlushResult]:
    """Flush the agent's sessions without an event for sessionIdleHours.

    Of the others the days that are over are flushed.
    """
    now = home.clock.now()
    today = now - now % MICROSECONDS_PER_DAY
    idle_time = round(home.settings.session_idle_hours * MICROSECONDS_PER_HOUR)
    idle_since = now - idle_time
    with home.views.reading(flashes.Flash) as flash:
        sessions = flash.waiting(home, agent)
        pending_by_session = flash.pending_by_session(agent)
    flushes = flushing.FlushBatches(home, agent)
    for session, last_at in sessions:
        before = None
        if last_at > idle_since:
            before = min(today, idle_since)
        flushes.add(pending_by_session[session], before)
    flushes.append()
    return flushes.results


def graduate(home: Home, *, agent: str = "main") -> list[str]:
    """Let concepts that were kept on enough days enter the agent's axon.

    Enough are `graduation_days` UTC days within `graduation_window_days`. In a project
    those alone enter that were kept in no other.

    Returns:
        The labels of the concepts that graduated.
    """

    def decide(view: ShortTerm) -> Iterator[Event]:
        now = home.clock.now()
        settings = home.settings
        graduates = stages.graduates(view, now, settings, agent=check_agent(agent))
        for graduate in graduates:
            seqs = np.unique(view.records["seq"][graduate.rows])
            events = home.journal.read(seqs=seqs.tolist())
            if home.project in ("", common_project(events)):
                yield stages.graduation_event(
                    view,
                    graduate,
                    events,
                    settings,
                    agent=agent,
                    at=now,
                )

    graduated = _decided(home.views, ShortTerm, decide)
    return [str(event.body["label"]) for event in graduated]


def promote(
    home: Home, *, agent: str = "main", force: Sequence[int] = ()
) -> PromotionResult:
    """Give the agent's best concepts to the shared web; as `scan` by project.

    Args:
        home: The home whose memory it is.
        agent: Whose concepts they are: those above promotionThreshold.
        force: Ids of concepts that are given in any case.
    """
    with home.views.reading(Axon) as axon, home.views.reading(SharedWeb) as shared:
        event = stages.promotion(
            axon,
            shared,
            home.clock.now(),
            home.settings,
            agent=check_agent(agent),
            force=force,
            among=axon.within(home.projects, alone=True),
        )
    if event is None or not append_once(home.journal, [event]):
        return PromotionResult(0, 0)
    n_concepts = len(event.body["concepts"])
    n_links = len(event.body["links"])
    return PromotionResult(n_concepts, n_links)


def scan(home: Home, *, agents: Sequence[str] | None = None) -> scores.TierUpdate:
    """Recompute tiers, put LESS concepts that are long unseen to sleep, drop faded links.

    Repeating changes nothing. In a project this is done to the concepts that were
    mentioned there and nowhere else.
    """
    scans = _decided_on_axon(home, scores.scan, agents)
    event = scans[0] if scans else None
    n_moved, n_slept, n_dropped = scores.changes(event)
    if n_moved + n_dropped >= _MANY_CHANGES:
        _save_scanned(home)
    with home.views.reading(Axon) as axon:
        current = scores.scores_of(
            axon,
            home.clock.now(),
            home.settings,
            agents=agents,
            among=axon.within(home.projects, alone=True),
        )
        counts = current.counts()
    return scores.TierUpdate(
        counts,
        n_moved,
        n_slept,
        n_dropped,
    )


def _save_scanned(home: Home) -> None:
    """Write snapshots of the views that a status reads and that take in a scan."""
    whole_views = home.views.whole
    for kind in (Axon, set_aside_view(), projects_view(home)):
        with whole_views.reading(kind) as view:
            whole_views.snapshot(view)


def prune(home: Home, *, agents: Sequence[str] | None = None) -> int:
    """Take LESS concepts unseen for longer than pruneThresholdDays out of the axon.

    As `scan` by project.

    Returns:
        How many concepts were taken out.
    """
    count = 0
    for event in _decided_on_axon(home, scores.prune, agents):
        for concepts in event.body["concepts"].values():
            count += len(concepts)
    return count


def _decided_on_axon(
    home: Home, decide: Callable[..., Event | None], agents: Sequence[str] | None
) -> list[Event]:
    """Append what a scan or a prune decides on these agents' concepts.

    In a project it decides on those that are the project's alone.
    """

    def decide_event(axon: Axon) -> Iterator[Event]:
        among = axon.within(home.projects, alone=True)
        now = home.clock.now()
        event = decide(axon, now, home.settings, agents=agents, among=among)
        if event is not None:
            yield event

    return _decided(home.views, Axon, decide_event)


def _decided(
    views: Views, kind: type[V], decide: Callable[[V], Iterable[Event]]
) -> list[Event]:
    """Append what is decided on a view, while no other process writes.

    Else a concept that is mentioned between the two would be put to sleep, pruned with
    its new count, or would graduate without its latest day.
    """
    views.get(kind)  # the bulk is folded before others have to wait
    with views.journal.exclusive() as append:
        with views.reading(kind) as view:
            events = list(decide(view))
        for event in events:
            append(event)
    return events
