"""Refining: what won is said again, so that its concepts gain; what lost is written as a thing to avoid."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from theorex_lab.clock import MICROSECONDS_PER_DAY
from theorex_lab.designs.theorex.axon import Ints
from theorex_lab.errors import InvalidInput
from theorex_lab.evolution.outcomes import Outcomes
from theorex_lab.evolution.review import TagRate, look_back, rows_between, rows_by_tag
from theorex_lab.home import Home
from theorex_lab.ids import check_agent, derived_event_id
from theorex_lab.journal.base import append_once
from theorex_lab.journal.event import Event, new_event
from theorex_lab.memory.observation import AVOID_TYPE, TRUST, Entry, new_observation, project_in
from theorex_lab.text.line import one_line

WON_TYPE = "feature"
WORDS_CHARACTERS = 300  # of a decision, and of a result, as they are quoted
_MOST_DAYS = 3_650


@dataclass(frozen=True)
class Refined:
    """What one refinement looked at and wrote: tags that won and lost, and ids of the observations made of them.

    since, until: the window, µs UTC.  Without observations nothing was written.
    """

    agent: str
    since: int
    until: int
    won: list[TagRate]
    lost: list[TagRate]
    observations: list[str]

    def to_dict(self) -> dict[str, Any]:
        """The refinement as its event holds it."""
        tags = {name: [[tag.tag, tag.n, round(tag.rate, 6)] for tag in getattr(self, name)] for name in ("won", "lost")}
        return {"agent": self.agent, "since": self.since, "until": self.until, **tags, "observations": self.observations}  # fmt: skip


def refine(home: Home, *, agent: str = "main", days: float | None = None) -> Refined:
    """Act on the win rates of the last `days` (default: the setting evolveWindowDays) of an agent's outcomes.

    Of each top tag the best success is written as an observation of type `feature`, whose concepts gain by it; of each
    weak tag the worst failure as one of type `avoid`, which has no concepts, so that none is heard of more often. A tag
    that nothing was decided about since it was last written is passed over: repeating changes nothing. The evidence
    `tag/<tag>` of what lost has fallen with each failure; see `Outcomes.evidence`. Raises InvalidInput for an agent or a
    number of days outside the rules.
    """
    until = home.clock.now()
    days = home.settings.evolve_window_days if days is None else days
    if not 0 < days <= _MOST_DAYS:
        raise InvalidInput(f"got {days} days to look back on; allowed is above 0 to {_MOST_DAYS}")
    since = until - round(days * MICROSECONDS_PER_DAY)
    with home.views.reading(Outcomes) as outcomes:
        review = look_back(outcomes, agent=check_agent(agent), since=since, until=until)
        rows = rows_between(outcomes, agent=agent, since=since, until=until)
        last = int(outcomes.rows["decided"][rows].max()) if len(rows) else 0
        own = rows_by_tag(outcomes, rows)
        tags = [*((tag, True) for tag in review.top), *((tag, False) for tag in review.weak)]
        chosen = [_choice(outcomes, tag, own[tag.tag], won) for tag, won in tags]
    known = {event.id for event in home.journal.read(ids=[choice.event_id(agent) for choice in chosen], erased=True)}
    new = [choice for choice in chosen if choice.event_id(agent) not in known]
    events = [event for choice in new if (event := _observation(home, agent, choice, until)) is not None]
    refined = Refined(agent, since, until, review.top, review.weak, [event.id for event in events])
    if not events:
        return refined
    body, made = refined.to_dict(), derived_event_id("refined", agent, last)
    done = new_event("refined", body, agent=agent, at=until, lineage=refined.observations, event_id=made)
    # Another process may have refined this very window, or outcomes that were erased stood in it.
    return refined if append_once(home.journal, [*events, done]) else replace(refined, observations=[])


@dataclass(frozen=True)
class _Choice:
    """A tag that stands out: its outcomes' seqs, that of the one to quote, and of the last that was decided."""

    tag: TagRate
    won: bool
    seqs: list[int]
    quoted: int
    last: int

    def event_id(self, agent: str) -> str:
        return derived_event_id("refined tag", agent, self.tag.tag, self.won, self.last)


def _choice(view: Outcomes, tag: TagRate, own: Ints, won: bool) -> _Choice:
    decisive = own[view.rows["success"][own] == won]
    scores = view.scores()[decisive]
    # The best success or the worst failure, the latest of equals.
    best = decisive[np.lexsort((np.arange(len(decisive)), scores if won else -scores))[-1]]
    seqs = view.rows["seq"]
    return _Choice(tag, won, seqs[own].tolist(), int(seqs[best]), int(view.rows["decided"][own].max()))


def _observation(home: Home, agent: str, choice: _Choice, at: int) -> Event | None:
    """What is written of a tag; None where one of its outcomes was erased meanwhile."""
    outcomes = {event.seq: event for event in home.journal.read(seqs=choice.seqs)}
    if len(outcomes) < len(choice.seqs):
        return None
    tag, quoted = choice.tag, outcomes[choice.quoted].body
    texts = tag.tag, quoted["decision"], quoted["result"]
    name, decision, result = (one_line(text, WORDS_CHARACTERS) for text in texts)
    won = round(tag.n * tag.rate)
    if choice.won:
        text = f"What won for {name} ({won} of {tag.n}): {decision}"
    else:
        text = f"Avoid for {name} ({tag.n - won} of {tag.n} failed): {decision}. It ended with: {result}"
    # A summary is trusted no further than a model, and than the least of what it was made from.
    source = min(("model", *(event.body["source"] for event in outcomes.values())), key=lambda name: TRUST[name])
    kind, project = WON_TYPE if choice.won else AVOID_TYPE, project_in(outcomes.values())
    event, _ = new_observation(Entry(text, agent, at, kind, source, [tag.tag], project=project), home.settings, at)
    return event._replace(id=choice.event_id(agent), lineage=tuple(outcome.id for outcome in outcomes.values()))
