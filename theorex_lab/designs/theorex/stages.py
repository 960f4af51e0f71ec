"""The stages before and behind the axon: short-term memory, and the shared web.

What flushes kept over the last fourteen days, and which concepts graduate from it; then
what agents have given of their concepts to all. The shared web has ids and numbers; the
labels stay in the axon.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import derived_event_id
from theorex_lab.core.settings import Settings
from theorex_lab.designs.theorex.axon import Axon, Ints, Mask
from theorex_lab.designs.theorex.flash import ScoredEvent, said
from theorex_lab.designs.theorex.scores import items_of, law_of, policy, scores_of
from theorex_lab.journal.columns import Names, Table
from theorex_lab.journal.event import Event, encode, new_event
from theorex_lab.journal.view import View
from theorex_lab.memory.decay import Items, Tier, rank_order, tiers
from theorex_lab.memory.observation import TRUST, common_project
from theorex_lab.text.corroboration import is_worded, refused_concepts

RETENTION_DAYS = 14


class ShortTerm(View):
    """Records: one row an event kept and a concept in it.

    records: seq (of the short_term event), at (µs, of the event it came from), agent,
    session, concept_id, label and surface (numbers of texts), count, score (0..1),
    trust, project ('' for none).  graduated: agent, concept_id, upto (µs): records up
    to there were counted when the concept graduated.
    """

    name = "short_term"
    code = 4
    kinds = ("short_term", "graduated", "imported_links")

    def __init__(self) -> None:
        super().__init__()
        self.agents = Names()
        self.sessions = Names()
        self.labels = Names()
        self.projects = Names()
        self.records = Table(
            seq="i8",
            at="i8",
            agent="i4",
            session="i4",
            concept_id="i8",
            label="i4",
            surface="i4",
            count="i8",
            score="f8",
            trust="i1",
            project="i4",
        )
        self.graduated = Table(agent="i4", concept_id="i8", upto="i8")

    def _short_term(self, event: Event) -> None:
        body, trust = event.body, TRUST[event.body["source"]]
        of = {
            "seq": event.seq,
            "at": event.at,
            "agent": self.agents.number(event.agent),
            "score": body["score"],
            "session": self.sessions.number(event.session),
            "project": self.projects.number(body.get("project", "")),
        }
        # What was only said to be refused is believed no more than what a model says.
        refused = body.get("refused", ())
        doubted = min(trust, TRUST["model"])
        for concept, label, surface, count in body["concepts"]:
            of |= {
                "label": self.labels.number(label),
                "surface": self.labels.number(surface),
            }
            believed = doubted if concept in refused else trust
            self.records.add(concept_id=concept, count=count, trust=believed, **of)

    def _graduated(self, event: Event) -> None:
        body = event.body
        for concept, upto in (
            body["graduated"]
            if "graduated" in body
            else [[body["concept_id"], body["upto"]]]
        ):
            self.graduated.add(
                agent=self.agents.number(event.agent), concept_id=concept, upto=upto
            )

    _imported_links = _graduated

    def window(
        self, now: int, *, agent: str, projects: Sequence[str] | None = None
    ) -> Ints:
        """Rows of the agent's records that are not older than fourteen days, in order;
        exactly fourteen stays.

        `projects`: of these or of none; None: of all.
        """
        table = self.records
        recent = table["at"] >= now - RETENTION_DAYS * MICROSECONDS_PER_DAY
        if projects is not None:
            recent &= np.isin(table["project"], self.projects.numbers("", *projects))
        rows = np.flatnonzero(
            recent & (table["at"] <= now) & (table["agent"] == self.agents.find(agent))
        )
        return rows[np.argsort(table["at"][rows], kind="stable")]


def short_term_events(scored: ScoredEvent, weight: float) -> list[Event]:
    """The events that keep what one scored event was about, one for each who said it;
    the event itself stays.

    Their ids follow from that of their origin, so that nothing is kept twice.
    """
    origin = scored.event
    events = []
    texts = {part.source: part.text for part in said(origin.body)}
    for number, (source, concepts) in enumerate(
        pair for pair in scored.by_source if pair[1]
    ):
        body = {
            "concepts": [
                [concept.concept_id, concept.label, concept.surface, concept.count]
                for concept in concepts
            ],
            "score": round(scored.score, 6),
            "source": source,
            "weight": weight,
            "project": origin.body.get("project", ""),
        }
        if TRUST[source] >= TRUST["agent"]:
            refused = refused_concepts(texts[source], concepts)
            body |= {"refused": refused} if refused else {}
        made = derived_event_id("short_term", origin.id, *[number] * (number > 0))
        agent = origin.agent
        session = origin.session
        lineage = [origin.id]
        kept = new_event(
            "short_term",
            body,
            agent=agent,
            session=session,
            at=origin.at,
            lineage=lineage,
            event_id=made,
        )
        events.append(kept)
    return events


class Graduate(NamedTuple):
    """A concept on its way into the axon: rows of the records that count, and the days
    of its run (since 1970).
    """

    concept_id: int
    rows: Ints
    days: tuple[int, ...]


def graduates(
    view: ShortTerm, now: int, settings: Settings, *, agent: str
) -> list[Graduate]:
    """The agent's concepts whose best score of the day reached the threshold on
    `graduation_days` UTC days within any `graduation_window_days`.

    The run lies anywhere in the last fourteen days; records that were counted at an
    earlier graduation do not count again.
    """
    table = view.records
    rows = view.window(now, agent=agent)
    counted = counted_upto(view, agent)
    found = []
    concepts = table["concept_id"][rows]
    for concept in np.unique(concepts).tolist():
        own = rows[concepts == concept]
        own = own[table["at"][own] > counted.get(concept, -(2**62))]
        # What the agent itself said for a week does not graduate as hearsay because a
        # tool said it too.
        for rows_of_run in (own[table["trust"][own] >= TRUST["agent"]], own):
            if run := _run_of(view, rows_of_run, settings):
                found.append(Graduate(concept, rows_of_run, run))
                break
    return found


def _run_of(view: ShortTerm, rows: Ints, settings: Settings) -> tuple[int, ...]:
    good = rows[view.records["score"][rows] >= settings.graduation_threshold]
    days = np.unique(view.records["at"][good] // MICROSECONDS_PER_DAY)
    fewest = settings.graduation_days
    return first_run(
        days.tolist(), fewest, max(fewest, settings.graduation_window_days)
    )


def counted_upto(view: ShortTerm, agent: str) -> dict[int, int]:
    """concept_id -> up to when (µs) the agent's records of it were counted as it
    graduated.
    """
    mine = view.graduated["agent"] == view.agents.find(agent)
    columns = (view.graduated[name][mine].tolist() for name in ("upto", "concept_id"))
    return {concept: upto for upto, concept in sorted(zip(*columns, strict=True))}


def first_run(days: Sequence[int], fewest: int, within: int) -> tuple[int, ...]:
    """The first stretch of days where each has `fewest` within so many days, as far as
    it goes; empty where there is none.

    >>> first_run([1, 3, 4, 30], 3, 7), first_run([1, 3, 4], 3, 3)
    ((1, 3, 4), ())
    """
    starts = [
        start
        for start in range(len(days) - fewest + 1)
        if days[start + fewest - 1] - days[start] < within
    ]
    if not starts:
        return ()
    last = starts[0]
    while last + 1 in starts:
        last += 1
    return tuple(days[starts[0] : last + fewest])


def graduation_event(
    view: ShortTerm,
    graduate: Graduate,
    kept: Sequence[Event],
    settings: Settings,
    *,
    agent: str,
    at: int,
) -> Event:
    """The event of one graduation. `kept` are the short_term events it rests on."""
    table: dict[str, Any] = {
        name[1:]: column[graduate.rows]
        for name, column in view.records.columns("").items()
    }
    names = {number: name for name, number in TRUST.items()}
    body = {
        "concept_id": graduate.concept_id,
        **{name: view.labels[int(table[name][0])] for name in ("label", "surface")},
        "times": table["at"].tolist(),
        "counts": table["count"].tolist(),
        "days": list(graduate.days),
        "upto": int(table["at"].max()),
        "source": names[int(table["trust"].min())],
        "weight": settings.source_weight(agent),
        "project": common_project(kept),
    }
    return new_event(
        "graduated", body, agent=agent, at=at, lineage=[event.id for event in kept]
    )


_KEYS = {"concepts": ("agent", "concept_id"), "links": ("agent", "a", "b")}
_NUMBERS = ("count", "fix_count", "first_seen", "last_seen", "trust")


class SharedWeb(View):
    """What each agent contributes, as it stood when last promoted: setting it again
    changes nothing.

    concepts: agent, concept_id, count, fix_count, first_seen, last_seen (µs), trust,
    source_weight. links: agent, a < b (concept ids), count of texts, last_seen (µs).
    """

    name = "shared"
    code = 2
    kinds = ("promoted", "imported_shared")

    def __init__(self) -> None:
        super().__init__()
        self.agents = Names()
        self.concepts = Table(
            agent="i4",
            concept_id="i8",
            count="i8",
            fix_count="i8",
            first_seen="i8",
            last_seen="i8",
            trust="i8",
            source_weight="f8",
        )
        self.links = Table(agent="i4", a="i8", b="i8", count="i8", last_seen="i8")
        self._rows: dict[str, dict[tuple[int, ...], int]] = {}  # by table and key

    def fold(self, events: Sequence[Event]) -> None:
        """Take in promotions: each sets its agent's contributions. Of what a file
        states the larger number stays.
        """
        for event in events:
            agent = self.agents.number(event.agent)
            stated = event.kind == "imported_shared"
            table = self.concepts
            for concept in event.body["concepts"]:
                row = self._row("concepts", agent, concept["concept_id"])
                known = stated and table["count"][row] > 0
                for name in (*_NUMBERS, "source_weight"):
                    larger = min if name == "first_seen" else max
                    table[name][row] = (
                        larger(table[name][row], concept[name])
                        if known
                        else concept[name]
                    )
            for a, b, *numbers in event.body["links"]:
                row = self._row("links", agent, a, b)
                known = stated and self.links["count"][row] > 0
                for name, value in zip(("count", "last_seen"), numbers, strict=True):
                    self.links[name][row] = (
                        max(value, self.links[name][row]) if known else value
                    )

    def _after_load(self) -> None:
        self._rows = {}

    def contributed(self, agent: str) -> dict[int, tuple[int, ...]]:
        """concept_id -> (count, fix_count, first_seen, last_seen, trust) of what the
        agent gave.
        """
        mine = self.concepts["agent"] == self.agents.find(agent)
        ids, *columns = (
            self.concepts[name][mine].tolist() for name in ("concept_id", *_NUMBERS)
        )
        return dict(zip(ids, zip(*columns, strict=True), strict=True))

    def contributed_links(self, agent: str) -> dict[tuple[int, int], tuple[int, int]]:
        """(a, b) -> (count, last_seen) of the links that the agent gave."""
        mine = self.links["agent"] == self.agents.find(agent)
        columns = (
            self.links[name][mine].tolist() for name in ("a", "b", "count", "last_seen")
        )
        return {
            (a, b): (count, last_seen)
            for a, b, count, last_seen in zip(*columns, strict=True)
        }

    def _row(self, name: str, *key: int) -> int:
        """The row of a key in the table of this name; a new one gets its key here and
        its numbers afterwards.
        """
        table = vars(self)[name]
        columns = _KEYS[name]
        if name not in self._rows:
            keys = zip(*(table[column].tolist() for column in columns), strict=True)
            self._rows[name] = {known: row for row, known in enumerate(keys)}
        rows = self._rows[name]
        return (
            rows[key]
            if key in rows
            else rows.setdefault(key, table.extend(columns, [key]).start)
        )


def promotion(
    axon: Axon,
    shared: SharedWeb,
    now: int,
    settings: Settings,
    *,
    agent: str,
    force: Collection[int] = (),
    among: Mask | None = None,
) -> Event | None:
    """The event of one agent's promotion; None where nothing changed since the last.

    Promoted are concepts whose importance is strictly above promotionThreshold, and
    those forced by concept_id, awake or asleep; of what somebody below the trust of an
    agent said too, only what the agent affirmed, with the numbers of that. Links
    between two that were promoted now or before come along. Work grows with the agent's
    concepts and links. Raises InvalidInput where one that is forced is no concept of
    the agent.
    """
    current = scores_of(axon, now, settings, agents=[agent], among=among)
    forced = np.isin(axon.concepts["concept_id"][current.rows], list(force))
    if unknown := set(force).difference(
        axon.concepts["concept_id"][current.rows][forced].tolist()
    ):
        got = (
            f"the concept ids {', '.join(map(str, sorted(unknown)))}, which {agent} has"
            " no concept of"
        )
        raise InvalidInput(
            f"got {got}; allowed are the ids of concepts that its searches give"
        )
    chosen = (
        (current.importance > settings.promotion_threshold)
        & (current.tier != Tier.SLEEPING)
    ) | forced
    rows = current.rows[chosen]
    before = shared.contributed(agent)
    doubtful = zip(rows.tolist(), _hearsay(axon, rows).tolist(), strict=True)
    given = [_contribution(axon, row, heard) for row, heard in doubtful]
    concepts = [concept for concept in given if concept is not None]
    numbers = {
        concept["concept_id"]: tuple(concept[name] for name in _NUMBERS)
        for concept in concepts
    }
    changed = [
        concept
        for concept in concepts
        if before.get(concept["concept_id"]) != numbers[concept["concept_id"]]
    ]
    links = _changed_links(
        axon, shared, agent, current.rows, np.fromiter({*before, *numbers}, np.int64)
    )
    if not changed and not links:
        return None
    body = {"concepts": changed, "links": links, "policy": policy(settings)}
    event_id = derived_event_id("promoted", agent, shared.seq, encode([changed, links]))
    return new_event("promoted", body, agent=agent, at=now, event_id=event_id)


def _hearsay(axon: Axon, rows: Ints) -> Mask:
    """Whether somebody below the trust of an agent said the concepts of these rows: to
    this agent or to another.
    """
    ids = axon.concepts["concept_id"]
    heard = axon.concepts["heard"] >= 0
    return np.isin(ids[rows], ids[heard & axon.concepts["alive"]])


def _contribution(axon: Axon, row: int, own_alone: bool) -> dict[str, Any] | None:
    """What an agent gives of a concept: all of its numbers, or those of the agent's own
    affirming mentions alone.

    None where strangers say it, and the agent did not, other than to refuse it, or it
    does not look like words.
    """
    table = axon.concepts
    if own_alone and not (table["affirmed"][row] >= 0 and is_worded(axon.labels[row])):
        return None
    names = {name: f"own_{name}" if own_alone else name for name in _NUMBERS}
    names["trust"] = "affirmed" if own_alone else "trust"
    numbers: dict[str, Any] = {
        name: int(table[column][row]) for name, column in names.items()
    }
    return {
        "concept_id": int(table["concept_id"][row]),
        **numbers,
        "source_weight": float(table["source_weight"][row]),
    }


def _changed_links(
    axon: Axon, shared: SharedWeb, agent: str, own: Ints, given: Ints
) -> list[list[int]]:
    """The agent's links between given concepts that are new or have grown since they
    were given.
    """
    ids = axon.concepts["concept_id"]
    links = axon.links
    inside = np.zeros(len(axon.concepts), bool)
    inside[own] = np.isin(ids[own], given)
    present = (links["count"] > 0) & inside[links["a"]] & inside[links["b"]]
    ends = np.sort(
        np.stack([ids[links[end][present]] for end in ("a", "b")], axis=1)
    ).tolist()
    values = zip(
        ends,
        links["count"][present].tolist(),
        links["last_seen"][present].tolist(),
        strict=True,
    )
    before = shared.contributed_links(agent)
    return [
        [a, b, count, at]
        for (a, b), count, at in values
        if before.get((a, b)) != (count, at)
    ]


@dataclass(frozen=True)
class SharedConcept:
    """A concept of the shared web: the sum of the agents' own counts, and what the one
    of highest weight says of it.
    """

    concept_id: int
    text: str
    count: int
    agent: str
    tier: str
    importance: float
    last_seen: int
    trust: int


def shared_concepts(
    axon: Axon, shared: SharedWeb, now: int, settings: Settings
) -> list[SharedConcept]:
    """The shared web at `now` (µs), best first. What was erased from every agent's axon
    has no label and is left out.
    """
    agents = [shared.agents[number] for number in shared.concepts["agent"].tolist()]
    ids = shared.concepts["concept_id"].tolist()
    found = [
        axon.row(agent, concept) for agent, concept in zip(agents, ids, strict=True)
    ]
    known = np.array(
        [position for position, row in enumerate(found) if row is not None], np.int64
    )
    if not len(known):
        return []
    rows = np.array([found[position] for position in known], np.int64)
    law = law_of(settings)
    concept, group = np.unique(
        shared.concepts["concept_id"][known], return_inverse=True
    )
    # Of each concept the contribution of the highest source weight speaks; of equal
    # ones the latest.
    best = np.lexsort(
        (
            shared.concepts["last_seen"][known],
            shared.concepts["source_weight"][known],
            group,
        )
    )
    starts = np.searchsorted(group[best], np.arange(len(concept)))
    speaker = best[np.append(starts[1:], len(best)) - 1]
    items = _own_items(axon, items_of(axon, now, settings).take(rows), rows, now)
    items = _joined(items.take(best), starts, shared.concepts["count"][known][best])
    importance = law.importance(raw := law.raw(items))
    tier = tiers(importance, settings.active_threshold, settings.mild_threshold)
    given = (shared.concepts[name][known][best] for name in ("last_seen", "trust"))
    last_seen, trust = (np.maximum.reduceat(column, starts) for column in given)
    return [
        SharedConcept(
            int(concept[row]),
            axon.surfaces[int(rows[speaker[row]])],
            int(items.count[row]),
            agents[int(known[speaker[row]])],
            Tier(int(tier[row])).name,
            float(importance[row]),
            int(last_seen[row]),
            int(trust[row]),
        )
        for row in rank_order(raw, items.count, last_seen, concept).tolist()
    ]


def _own_items(axon: Axon, items: Items, rows: Ints, now: int) -> Items:
    """The items with the age and the share of the counts that the agents' own mentions
    have, where strangers' came in.
    """
    table = {
        name: axon.concepts[name][rows]
        for name in ("count", "own_count", "own_last_seen")
    }
    mixed = (axon.concepts["heard"][rows] >= 0) & (table["own_count"] > 0)
    share = np.where(mixed, table["own_count"] / np.maximum(table["count"], 1), 1.0)
    age = np.where(
        mixed, (now - table["own_last_seen"]) / MICROSECONDS_PER_DAY, items.age_days
    )
    return replace(
        items, age_days=age, decayed_counts=items.decayed_counts * share[:, None]
    )


def _joined(items: Items, starts: Ints, count: Ints) -> Items:
    """Several agents' rows of a concept as one: counts add up, the latest mention and
    the strongest links hold.

    The rows of a concept stand together, and begin at `starts`.
    """
    names = (
        "first_age_days",
        "link_strength",
        "mean_link_strength",
        "half_life_cap_days",
    )
    highest: Any = {
        name: np.maximum.reduceat(getattr(items, name), starts) for name in names
    }
    decayed = np.add.reduceat(items.decayed_counts, starts)
    age = np.minimum.reduceat(items.age_days, starts)
    total = np.add.reduceat(count, starts)
    return Items.of(age, total, decayed_counts=decayed, **highest)
