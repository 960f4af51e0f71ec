"""Measure how the tokens of a session's start grow over the days of a log.

Engram's document claims three curves: all daily notes grow with the days, the pages of
entities with the entities, and a query stays at its budget.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

from theorex_lab.core.clock import MICROSECONDS_PER_DAY, to_iso
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.readable import Report
from theorex_lab.designs.facts.design import DESIGN
from theorex_lab.designs.facts.facts import Fact
from theorex_lab.designs.facts.files import lines_by_day
from theorex_lab.designs.facts.settings import fact_settings
from theorex_lab.designs.facts.summaries import summary
from theorex_lab.eval.adapters.protocol import EvalLog
from theorex_lab.eval.replay.baselines import ReplayAdapter
from theorex_lab.journal.event import Event
from theorex_lab.text.line import count_tokens


class GrowthPoint(NamedTuple):
    """What a session's start costs on a day, in tokens.

    Attributes:
        day: The day, as YYYY-MM-DD.
        n_days: The days since the log begins.
        notes: All daily notes until then.
        summaries: The pages of all entities.
        query: What the next prompt finds within the budget.
        entities: How many entities have facts.
        facts: How many facts hold.
    """

    day: str
    n_days: int
    notes: int
    summaries: int
    query: int
    entities: int
    facts: int


@dataclass(frozen=True, eq=False, repr=False)
class TokenGrowth(Report):
    """The three curves of a log; `.frame` has a row for each day that was measured.

    Attributes:
        log: The name of the log.
        tokens: The budget of the query.
        points: The measurements, in order of time.
    """

    log: str
    tokens: int
    points: Sequence[GrowthPoint]

    def _facts(self) -> tuple[str, ...]:
        """Return what matters of it, each in a few words."""
        return self.log, f"{len(self.points)} days measured"

    @property
    def frame(self) -> pd.DataFrame:
        """Return a row for each point, its members as columns."""
        return pd.DataFrame(self.points, columns=list(GrowthPoint._fields))


def token_growth(
    log: EvalLog, *, tokens: int = 600, every_days: int = 7
) -> TokenGrowth:
    """Replay a log to a home of facts, and measure what a session's start costs.

    Nothing later than a day is known to it on that day. The query is the next prompt,
    and days that no prompt follows are left out.

    Args:
        log: The log.
        tokens: The budget of the query.
        every_days: The days between two measurements, each after maintenance.

    Raises:
        InvalidInput: The log has no events, or a number is below 1.
    """
    if tokens < 1 or every_days < 1 or not log.events:
        raise InvalidInput(
            f"got {tokens} tokens, every {every_days} days, and {len(log.events)}"
            " events; allowed is 1 or more of each"
        )
    with closing(ReplayAdapter([DESIGN])) as memory:
        points = [*_points(memory, log.events, tokens, every_days)]
    return TokenGrowth(log.name, tokens, points)


def _points(
    memory: ReplayAdapter, events: Sequence[Event], tokens: int, every_days: int
) -> Iterator[GrowthPoint]:
    """Yield what is measured at each step of days."""
    ordered = sorted(events, key=lambda event: event.at)
    start = ordered[0].at
    step = every_days * MICROSECONDS_PER_DAY
    n_read = 0
    prompt_times = [event.at for event in ordered if event.kind == "prompt"]
    last = max(prompt_times, default=start)
    for now in range(start + step, last + 1, step):
        n_before = n_read
        while n_read < len(ordered) and ordered[n_read].at < now:
            n_read += 1
        memory.observe(ordered[n_before:n_read])
        memory.consolidate(now)
        query = _next_prompt(ordered[n_read:])
        yield _point(memory, (now - start) // MICROSECONDS_PER_DAY, query, tokens)


def _next_prompt(events: Sequence[Event]) -> str:
    """Return the text of the first prompt, which must be there."""
    prompts = (event for event in events if event.kind == "prompt")
    return str(next(prompts).body["text"])


def _point(memory: ReplayAdapter, n_days: int, query: str, tokens: int) -> GrowthPoint:
    lab = memory.lab
    now = lab.clock.now()
    settings = fact_settings(lab.home)
    facts = lab.facts.list()
    by_entity: dict[str, list[Fact]] = {}
    for fact in facts:
        by_entity.setdefault(fact.entity, []).append(fact)
    pages = [
        summary(entity, of_entity, now, settings)
        for entity, of_entity in by_entity.items()
    ]
    items = memory.retrieve(query, now, tokens)
    return GrowthPoint(
        day=to_iso(now)[:10],
        n_days=n_days,
        notes=_tokens_of_notes(memory),
        summaries=sum(count_tokens(page) for page in pages),
        query=sum(count_tokens(f"{item.text}\n") for item in items),
        entities=len(by_entity),
        facts=len(facts),
    )


def _tokens_of_notes(memory: ReplayAdapter) -> int:
    """Return the tokens of all daily notes."""
    total = 0
    for sections in lines_by_day(memory.lab.home).values():
        for lines in sections.values():
            total += sum(count_tokens(f"{line}\n") for line in lines)
    return total
