"""How a memory of facts grows, day by day: what a session's start costs as all daily notes, as summaries, as one query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
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
from theorex_lab.text.sections import read_sections

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# What Engram's document claims: tokens after ten days with 25 entities and 183 facts, and how many times less one query
# costs than all notes.
DOCUMENT = {"day": 10, "entities": 25, "facts": 183, "notes": 27_000, "summaries": 8_000, "query": 600}
TIMES_LESS = (60, 100)  # after a month
_MONTH, _FACTOR = 30, 2.0  # a figure within this factor of the document's reproduces it
_SHOWN = (10, 30, 90, 180)
_GOES_WITH = 0.5  # R² from which the size goes with something


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
        """Tokens after 10 and 30 days and at the log's own end, how many times 600 the notes are, and what the size of the summaries goes with.

        r2: by column, the share of the variance of the summaries' size that a straight line through it explains, on the
        log's own days after the first month; null where the column or the size does not change.
        """
        own = self.days[: self.own_days]
        at = {f"day_{day}": own[min(day, len(own)) - 1] for day in (DOCUMENT["day"], _MONTH)} | {"end": own[-1]}
        own_fields = {name: dict(zip(Day._fields[:7], found, strict=False)) for name, found in at.items()}
        told: dict[str, Any] = {n: {**own_fields[n], "ratio": at[n].notes / DOCUMENT["query"]} for n in at}
        late = self.frame.iloc[_MONTH : self.own_days]
        r2 = {name: _explained(late[name], late["summaries"]) for name in ("day", "entities", "facts", "in_view")}
        grown = {name: told["end"][name] / max(told[f"day_{_MONTH}"][name], 1) for name in ("notes", "summaries")}
        return {**told, "grown_after_a_month": grown, "r2": r2}

    @property
    def verdicts(self) -> dict[str, str]:
        """For each claim of the document whether this log reproduces it, within a factor of two, or has more or less of it.

        days, entities: that the size of the summaries does not go with those and does with these: reproduced or refuted.
        """
        told = self.metrics
        tenth, month, end = (told[name] for name in (f"day_{DOCUMENT['day']}", f"day_{_MONTH}", "end"))
        r2 = {name: value or 0.0 for name, value in told["r2"].items()}
        sizes = ("notes", "summaries", "query")
        words = {name: _word(tenth[name] / DOCUMENT[name], 1 / _FACTOR, _FACTOR) for name in sizes}
        words["ratio"] = _word(month["ratio"], *TIMES_LESS)
        words["days"] = "reproduced" if r2["day"] < _GOES_WITH else "refuted"
        words["entities"] = "reproduced" if r2["entities"] > max(r2["in_view"], _GOES_WITH) else "refuted"
        given = {
            "tenth": tenth, "month": month, "end": end, "grown": told["grown_after_a_month"], "r2": r2, "times": TIMES_LESS,
            "a_day": tenth["notes"] / tenth["day"], "a_fact": end["summaries"] / max(end["in_view"], 1), "document": DOCUMENT,
            "their_day": DOCUMENT["notes"] / DOCUMENT["day"],
            "their_fact": DOCUMENT["summaries"] / DOCUMENT["facts"]}  # fmt: skip
        texts = dict(line.split(" = ") for line in read_sections(__file__, "growth_claims.txt")["claims"].splitlines())
        return {claim: f"{words[claim]}: {text.format(**given)}" for claim, text in texts.items()}

    def result(self) -> dict[str, Any]:
        """JSON values: dataset, days, own_days, metrics, document, verdicts, curve."""
        return {
            "dataset": self.dataset, "days": len(self.days), "own_days": self.own_days, "metrics": self.metrics,
            "document": {**DOCUMENT, "ratio": TIMES_LESS}, "verdicts": self.verdicts,
            "curve": self.frame.to_dict(orient="list")}  # fmt: skip

    def __str__(self) -> str:
        shown = self.frame[self.frame["day"].isin({*_SHOWN, self.own_days})]
        again = f", from day {self.own_days + 1} on again word for word" if self.own_days < len(self.days) else ""
        head = f"{self.dataset}: {self.own_days} days{again}; tokens at a session's start"
        verdicts = (f"{claim}: {verdict}" for claim, verdict in self.verdicts.items())
        return "\n".join([head, shown.to_string(index=False), *verdicts])

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


def _word(value: float, low: float, high: float) -> str:
    return "reproduced" if low <= value <= high else "more" if value > high else "less"


def _explained(cause: pd.Series[Any], effect: pd.Series[Any]) -> float | None:
    if len(cause) < 3 or cause.nunique() < 2 or effect.nunique() < 2:
        return None
    return float(np.corrcoef(cause, effect)[0, 1] ** 2)
