"""Short-term memory: what flushes kept over the last fourteen days, and which concepts graduate from it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from theorex_lab.clock import MICROSECONDS_PER_DAY
from theorex_lab.config import Settings
from theorex_lab.designs.theorex.axon import Ints, numbers_of
from theorex_lab.designs.theorex.flash import Scored, said
from theorex_lab.ids import derived_event_id
from theorex_lab.journal.columns import Names, Table
from theorex_lab.journal.event import Event, new_event
from theorex_lab.journal.view import View
from theorex_lab.memory.observation import TRUST, project_in
from theorex_lab.text.corroboration import refused_concepts

RETENTION_DAYS = 14


class ShortTerm(View):
    """Records: one row an event kept and a concept in it.

    records: seq (of the short_term event), at (µs, of the event it came from), agent, session, concept_id, label and
    surface (numbers of texts), count, score (0..1), trust, project ('' for none).  graduated: agent, concept_id, upto (µs): records up to
    there were counted when the concept graduated.
    """

    name = "short_term"
    code = 4
    kinds = ("short_term", "graduated", "imported_links")

    def __init__(self) -> None:
        super().__init__()
        self.agents, self.sessions, self.labels, self.projects = Names(), Names(), Names(), Names()
        self.records = Table(
            seq="i8", at="i8", agent="i4", session="i4", concept_id="i8", label="i4", surface="i4", count="i8",
            score="f8", trust="i1", project="i4")  # fmt: skip
        self.graduated = Table(agent="i4", concept_id="i8", upto="i8")

    def fold(self, events: Sequence[Event]) -> None:
        """Take in what flushes kept, and graduations."""
        rows, scores, done = list[tuple[int, ...]](), list[float](), list[tuple[int, int, int]]()
        for event in events:
            body, agent = event.body, self.agents.number(event.agent)
            if event.kind == "graduated":
                done.append((agent, body["concept_id"], body["upto"]))
                continue
            if event.kind == "imported_links":
                done += [(agent, concept, upto) for concept, upto in body["graduated"]]
                continue
            session, trust = self.sessions.number(event.session), TRUST[body["source"]]
            project = self.projects.number(body.get("project", ""))
            # What was only said to be refused is believed no more than what a model says.
            refused, doubted = body.get("refused", ()), min(trust, TRUST["model"])
            for concept, label, surface, count in body["concepts"]:
                texts = self.labels.number(label), self.labels.number(surface)
                believed = doubted if concept in refused else trust
                rows.append((event.seq, event.at, agent, session, concept, *texts, count, believed, project))
                scores.append(body["score"])
        names = ("seq", "at", "agent", "session", "concept_id", "label", "surface", "count", "trust", "project")
        where = self.records.extend(names, rows)
        self.records["score"][where] = scores
        self.graduated.extend(("agent", "concept_id", "upto"), done)

    def window(self, now: int, *, agent: str, projects: Sequence[str] | None = None) -> Ints:
        """Rows of the agent's records that are not older than fourteen days, in order; exactly fourteen stays.

        `projects`: of these or of none; None: of all.
        """
        table = self.records
        recent = table["at"] >= now - RETENTION_DAYS * MICROSECONDS_PER_DAY
        if projects is not None:
            recent &= np.isin(table["project"], numbers_of(self.projects, ("", *projects)))
        rows = np.flatnonzero(recent & (table["at"] <= now) & (table["agent"] == self.agents.find(agent)))
        return rows[np.argsort(table["at"][rows], kind="stable")]


def short_term_events(scored: Scored, weight: float) -> list[Event]:
    """The events that keep what one scored event was about, one for each who said it; the event itself stays.

    Their ids follow from that of their origin, so that nothing is kept twice.
    """
    origin = scored.event
    events, texts = [], {part.source: part.text for part in said(origin.body)}
    for number, (source, concepts) in enumerate(pair for pair in scored.by_source if pair[1]):
        body = {
            "concepts": [[concept.concept_id, concept.label, concept.surface, concept.count] for concept in concepts],
            "score": round(scored.score, 6), "source": source, "weight": weight, "project": origin.body.get("project", "")}  # fmt: skip
        if TRUST[source] >= TRUST["agent"]:
            refused = refused_concepts(texts[source], concepts)
            body |= {"refused": refused} if refused else {}
        made = derived_event_id("short_term", origin.id, *[number] * (number > 0))
        agent, session, lineage = origin.agent, origin.session, [origin.id]
        kept = new_event("short_term", body, agent=agent, session=session, at=origin.at, lineage=lineage, event_id=made)
        events.append(kept)
    return events


@dataclass(frozen=True)
class Graduate:
    """A concept on its way into the axon: rows of the records that count, and the days of its run (since 1970)."""

    concept_id: int
    rows: Ints
    days: tuple[int, ...]


def graduates(view: ShortTerm, now: int, settings: Settings, *, agent: str) -> list[Graduate]:
    """The agent's concepts whose best score of the day reached the threshold on `graduation_days` UTC days
    within any `graduation_window_days`.

    The run lies anywhere in the last fourteen days; records that were counted at an earlier graduation do not count again.
    """
    table, rows, counted = view.records, view.window(now, agent=agent), counted_upto(view, agent)
    found = []
    concepts = table["concept_id"][rows]
    for concept in np.unique(concepts).tolist():
        own = rows[concepts == concept]
        own = own[table["at"][own] > counted.get(concept, -(2**62))]
        # What the agent itself said for a week does not graduate as hearsay because a tool said it too.
        for rows_of_run in (own[table["trust"][own] >= TRUST["agent"]], own):
            if run := _run_of(view, rows_of_run, settings):
                found.append(Graduate(concept, rows_of_run, run))
                break
    return found


def _run_of(view: ShortTerm, rows: Ints, settings: Settings) -> tuple[int, ...]:
    good = rows[view.records["score"][rows] >= settings.graduation_threshold]
    days, fewest = np.unique(view.records["at"][good] // MICROSECONDS_PER_DAY), settings.graduation_days
    return first_run(days.tolist(), fewest, max(fewest, settings.graduation_window_days))


def counted_upto(view: ShortTerm, agent: str) -> dict[int, int]:
    """concept_id -> up to when (µs) the agent's records of it were counted as it graduated."""
    mine = view.graduated["agent"] == view.agents.find(agent)
    upto: dict[int, int] = {}
    pairs = zip(view.graduated["concept_id"][mine].tolist(), view.graduated["upto"][mine].tolist(), strict=True)
    for concept, at in pairs:
        upto[concept] = max(at, upto.get(concept, at))
    return upto


def first_run(days: Sequence[int], fewest: int, within: int) -> tuple[int, ...]:
    """The first stretch of days where each has `fewest` within so many days, as far as it goes; empty where there is none.

    >>> first_run([1, 3, 4, 30], 3, 7), first_run([1, 3, 4], 3, 3)
    ((1, 3, 4), ())
    """
    starts = [start for start in range(len(days) - fewest + 1) if days[start + fewest - 1] - days[start] < within]
    if not starts:
        return ()
    last = starts[0]
    while last + 1 in starts:
        last += 1
    return tuple(days[starts[0] : last + fewest])


def graduation_event(view: ShortTerm, graduate: Graduate, kept: Sequence[Event], settings: Settings, *, agent: str,
                     at: int) -> Event:  # fmt: skip
    """The event of one graduation. `kept` are the short_term events it rests on."""
    table: dict[str, Any] = {name[1:]: column[graduate.rows] for name, column in view.records.columns("").items()}
    names = {number: name for name, number in TRUST.items()}
    body = {
        "concept_id": graduate.concept_id, **{name: view.labels[int(table[name][0])] for name in ("label", "surface")},
        "times": table["at"].tolist(), "counts": table["count"].tolist(), "days": list(graduate.days),
        "upto": int(table["at"].max()), "source": names[int(table["trust"].min())],
        "weight": settings.source_weight(agent), "project": project_in(kept)}  # fmt: skip
    return new_event("graduated", body, agent=agent, at=at, lineage=[event.id for event in kept])
