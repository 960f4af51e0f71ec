"""One memory's way through the house, from what an agent does to the context of its
next session.

    tool event  →  flash  →  short-term  →  graduate  →  axon  →  promote  →  shared web
    →  context
                                     write  ───────────┘

A write is `memory.observation.write_all`. Read this file first: each step is one
function, leaves whole transactions in the journal, and may be repeated.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple, TypeVar

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.core.ids import check_agent, derived_event_id
from theorex_lab.designs.theorex import flash as flashes
from theorex_lab.designs.theorex import scores, stages
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.designs.theorex.stages import SharedWeb, ShortTerm
from theorex_lab.journal.base import append_once
from theorex_lab.journal.event import Event, new_event
from theorex_lab.journal.view import View, Views
from theorex_lab.memory.contract import Home
from theorex_lab.memory.observation import common_project

V = TypeVar("V", bound=View)


class FlushResult(NamedTuple):
    """What a flush did: events kept in short-term memory, and events let go."""

    kept: int
    discarded: int


class PromotionResult(NamedTuple):
    """How many concepts and links a promotion updated in the shared web."""

    concepts: int
    links: int


def flush(
    home: Home, session: str, *, agent: str = "main", before: int | None = None
) -> FlushResult:
    """Move what scored at least flushThreshold in the session's flash to short-term
    memory; the rest is let go.

    Each UTC day of a session has a flash of its own, so that no day crowds out another.
    `before` (µs UTC): only the events until the first that is not older.
    """
    with home.views.reading(flashes.Flash) as view:
        pending = view.pending(check_agent(agent), session)
    waiting = list(
        takewhile(
            lambda event: before is None or event.at < before,
            home.journal.read(seqs=pending),
        )
    )
    if not waiting:
        return FlushResult(0, 0)
    upto = waiting[-1].seq
    with home.views.reading(Axon) as axon:
        importance = scores.importance_by_concept(
            axon, home.clock.now(), home.settings, agent=agent
        )
    weight = home.settings.source_weight(agent)
    scored = [flashes.score(event, importance, weight) for event in waiting]
    held = flashes.held_by_day(flashes.echoed(scored, home.settings.flash_echo_weight))
    kept = [
        scored
        for scored in held
        if scored.concepts and scored.score >= home.settings.flush_threshold
    ]
    events = [
        event for scored in kept for event in stages.short_term_events(scored, weight)
    ]
    # Two processes that flush at once give this event one id, so that only one of them
    # is heard.
    # The id is made of the seq alone, which says whose session it is: a session's id
    # may be a secret that is erased.
    marker = derived_event_id("flushed", upto)
    done = FlushResult(len(kept), len(waiting) - len(kept))
    body = {"upto": upto, "kept": done.kept, "let_go": done.discarded}
    events.append(
        new_event(
            "flushed",
            body,
            agent=agent,
            session=session,
            at=home.clock.now(),
            event_id=marker,
        )
    )
    return done if append_once(home.journal, events) else FlushResult(0, 0)


def flush_idle(home: Home, agent: str) -> list[FlushResult]:
    """Flush the agent's sessions without an event for flushIdleHours; of the others the
    days that are over.
    """
    now = home.clock.now()
    today = now - now % MICROSECONDS_PER_DAY
    idle_since = now - round(home.settings.flush_idle_hours * 3_600_000_000)
    waiting = home.views.get(flashes.Flash).waiting(home, agent)
    before = {
        session: None if last <= idle_since else min(today, idle_since)
        for session, last in waiting
    }
    return [
        flush(home, session, agent=agent, before=before[session]) for session in before
    ]


def graduate(home: Home, *, agent: str = "main") -> list[str]:
    """Concepts that were kept on `graduation_days` UTC days within
    `graduation_window_days` enter the agent's axon; returns their labels.

    In a project those alone that were kept in no other.
    """

    def decide(view: ShortTerm) -> Iterator[Event]:
        now = home.clock.now()
        for graduate in stages.graduates(
            view, now, home.settings, agent=check_agent(agent)
        ):
            kept = home.journal.read(
                seqs=sorted(set(view.records["seq"][graduate.rows].tolist()))
            )
            if home.project in ("", common_project(kept)):
                yield stages.graduation_event(
                    view, graduate, kept, home.settings, agent=agent, at=now
                )

    return [
        str(event.body["label"]) for event in _decided(home.views, ShortTerm, decide)
    ]


def promote(
    home: Home, *, agent: str = "main", force: Sequence[int] = ()
) -> PromotionResult:
    """Give the agent's concepts above promotionThreshold, and the forced ones, to the
    shared web; as `scan` by project.
    """
    with home.views.reading(Axon) as axon, home.views.reading(SharedWeb) as shared:
        among = axon.within(home.projects, alone=True)
        now = home.clock.now()
        own = check_agent(agent)
        event = stages.promotion(
            axon, shared, now, home.settings, agent=own, force=force, among=among
        )
    done = (
        event.body
        if event is not None and append_once(home.journal, [event])
        else {"concepts": (), "links": ()}
    )
    return PromotionResult(len(done["concepts"]), len(done["links"]))


def scan(home: Home, *, agents: Sequence[str] | None = None) -> scores.TierUpdate:
    """Recompute tiers, put LESS concepts that are long unseen to sleep, drop faded
    links. Repeating changes nothing.

    In a project this is done to the concepts that were mentioned there and nowhere
    else.
    """
    done = _decided_on_axon(home, scores.scan, agents)
    with home.views.reading(Axon) as axon:
        among = axon.within(home.projects, alone=True)
        counts = scores.scores_of(
            axon, home.clock.now(), home.settings, agents=agents, among=among
        ).counts()
    return scores.TierUpdate(counts, *scores.changes(done[0] if done else None))


def prune(home: Home, *, agents: Sequence[str] | None = None) -> int:
    """Take LESS concepts unseen for longer than pruneThresholdDays out of the axon;
    returns how many. As `scan` by project.
    """
    done = _decided_on_axon(home, scores.prune, agents)
    return sum(
        len(concepts) for event in done for concepts in event.body["concepts"].values()
    )


def _decided_on_axon(
    home: Home, decide: Callable[..., Event | None], agents: Sequence[str] | None
) -> list[Event]:
    """`_decided` by a scan or a prune of these agents' concepts, in a project of those
    that are its alone.
    """

    def decided(axon: Axon) -> Iterable[Event]:
        among = axon.within(home.projects, alone=True)
        return filter(
            None,
            [decide(axon, home.clock.now(), home.settings, agents=agents, among=among)],
        )

    return _decided(home.views, Axon, decided)


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
