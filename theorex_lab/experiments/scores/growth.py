"""How a memory of facts grows, day by day: what a session's start costs as all daily notes, as summaries, as one query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from theorex_lab.clock import MICROSECONDS_PER_DAY
from theorex_lab.design import Log
from theorex_lab.designs.facts.design import DESIGN
from theorex_lab.designs.facts.facts import Fact, facts_of
from theorex_lab.designs.facts.items import fact_settings
from theorex_lab.designs.facts.summaries import summary, tier
from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.data.logs import load_logs
from theorex_lab.experiments.replay.baselines import Housed, text_of
from theorex_lab.experiments.replay.trials import text_of as as_read
from theorex_lab.ids import derived_event_id
from theorex_lab.journal.event import Event
from theorex_lab.search.embed import Embedder
from theorex_lab.text.line import count_tokens

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# What Engram's document claims: tokens after ten days with 25 entities and 183 facts, and how many times less one query
# costs than all notes.
DOCUMENT = {"day": 10, "entities": 25, "facts": 183, "notes": 27_000, "summaries": 8_000, "query": 600}
TIMES_LESS = (60, 100)  # after a month
_MONTH = 30
_SHOWN = (10, 30, 90, 180)


class Day(NamedTuple):
    """A session's start after so many days. notes, summaries, query: tokens.  facts: active; in_view: of these hot or warm.

    repeated: whether the log had ended, and its days came again.
    """

    day: int
    notes: int
    summaries: int
    query: int
    entities: int
    facts: int
    in_view: int
    repeated: bool


@dataclass(frozen=True, eq=False)
class Growth:
    """How a memory of facts grew on a log, a `Day` each day. own_days: how many the log itself has."""

    dataset: str
    days: Sequence[Day]
    own_days: int

    @property
    def frame(self) -> pd.DataFrame:
        """Columns as the members of `Day`."""

        return pd.DataFrame(self.days, columns=Day._fields)

    @property
    def metrics(self) -> dict[str, Any]:
        """What stood at a session's start after 10 and 30 days and at the log's own end, and how many times 600 tokens the notes are."""
        own = self.days[: self.own_days]
        at = {f"day_{day}": own[min(day, len(own)) - 1] for day in (DOCUMENT["day"], _MONTH)} | {"end": own[-1]}
        return {name: {**day._asdict(), "ratio": day.notes / DOCUMENT["query"]} for name, day in at.items()}

    def result(self) -> dict[str, Any]:
        """JSON values: dataset, days, own_days, metrics, document, curve."""
        told = {"dataset": self.dataset, "days": len(self.days), "own_days": self.own_days, "metrics": self.metrics}
        return {**told, "document": {**DOCUMENT, "ratio": TIMES_LESS}, "curve": self.frame.to_dict(orient="list")}

    def __str__(self) -> str:
        shown = self.frame[self.frame["day"].isin({*_SHOWN, self.own_days})]
        again = f", from day {self.own_days + 1} on again word for word" if self.own_days < len(self.days) else ""
        head = f"{self.dataset}: {self.own_days} days{again}; tokens at a session's start"
        claims = (
            f"claimed: after {DOCUMENT}; after a month {TIMES_LESS[0]} to {TIMES_LESS[1]} times less than all notes"
        )
        return "\n".join([head, shown.to_string(index=False), claims])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the three curves beside the document's figures; returns the Axes."""
        from theorex_lab.experiments.draw.facts_plots import plot_growth

        return plot_growth(self, ax)


def measure_growth(dataset: str | Log = "simulated_sessions", *, days: int = 180, tokens: int = 600,
                   embedder: Embedder | None = None) -> Growth:  # fmt: skip
    """Let a memory of facts live through the last `days` days of a log, and count what a session's start costs after each.

    notes: all that was said until then, as daily notes hold it.  summaries: the pages of all entities.  query: what one query
    of at most `tokens` gives, which is the first thing said on the next day. A log that ends sooner begins anew, word for
    word, which the result says. Raises InvalidInput for an unknown log, one in which nothing was said, and days below 1.
    """
    log = dataset if isinstance(dataset, Log) else load_logs(dataset)[0]
    since = log.events[-1].at - days * MICROSECONDS_PER_DAY if log.events else 0
    log = Log(log.name, [event for event in log.events if event.at > since])
    said = [event for event in log.events if text_of(event)]
    if not said or days < 1:
        got = f"got {days} days of {log.name}, in which {len(said)} texts were said"
        raise InvalidInput(f"{got}; allowed is one or more of both")
    span = (log.events[-1].at - log.events[0].at) // MICROSECONDS_PER_DAY + 1
    with closing(Housed([DESIGN], embedder=embedder)) as memory:
        told = [*_lived(memory, log, days, span, tokens)]
    return Growth(log.name, told, min(span, days))


def _lived(memory: Housed, log: Log, days: int, span: int, tokens: int) -> Iterator[Day]:
    home, notes, facts, query = memory.lab.home, 0, list[Fact](), 0
    settings, by_day = fact_settings(home), _by_day(log, days, span)
    for day, events in enumerate(by_day):
        now = log.events[0].at + (day + 1) * MICROSECONDS_PER_DAY
        if events:
            memory.observe(events)
            memory.consolidate(now)
            notes += sum(count_tokens(f"- {text}\n") for event in events if (text := text_of(event)))
            facts = facts_of(home)
        asked = next((text_of(event) for later in by_day[day + 1 :] for event in later if text_of(event)), "")
        if asked and events:
            query = count_tokens(as_read(memory.retrieve(asked, now, tokens)))
        entities = dict.fromkeys(fact.entity for fact in facts)
        pages = [summary(of, [fact for fact in facts if fact.entity == of], now, settings) for of in entities]
        in_view = sum(tier(fact, now, settings) != "cold" for fact in facts)
        yield Day(day + 1, notes, sum(map(count_tokens, pages)), query, len(entities), len(facts), in_view, day >= span)


def _by_day(log: Log, days: int, span: int) -> list[list[Event]]:
    """The events of each day; where the log has ended, those of its first day come again under ids of their own."""
    found: list[list[Event]] = [[] for _ in range(days)]
    for times in range(-(-days // span)):
        for event in log.events:
            at = event.at + times * span * MICROSECONDS_PER_DAY
            if (day := (at - log.events[0].at) // MICROSECONDS_PER_DAY) < days:
                id = derived_event_id("again", event.id, times) if times else event.id
                found[day].append(event._replace(id=id, at=at))
    return found
