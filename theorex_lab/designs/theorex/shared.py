"""The shared web: what agents have given of their concepts to all. Ids and numbers; the labels stay in the axon."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theorex_lab.clock import MICROSECONDS_PER_DAY
from theorex_lab.config import Settings
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.designs.theorex.scores import items_of, law_of, policy, scores_of
from theorex_lab.errors import InvalidInput
from theorex_lab.ids import derived_event_id
from theorex_lab.journal.columns import Names, Table
from theorex_lab.journal.event import Event, encode, new_event
from theorex_lab.journal.view import View
from theorex_lab.memory.decay import Items, Tier, rank_order, tiers
from theorex_lab.text.corroboration import is_worded

_KEYS = {"concepts": ("agent", "concept_id"), "links": ("agent", "a", "b")}
_NUMBERS = ("count", "fix_count", "first_seen", "last_seen", "trust")


class SharedWeb(View):
    """What each agent contributes, as it stood when last promoted: setting it again changes nothing.

    concepts: agent, concept_id, count, fix_count, first_seen, last_seen (µs), trust, source_weight.
    links: agent, a < b (concept ids), count of texts, last_seen (µs).
    """

    name = "shared"
    code = 2
    kinds = ("promoted", "imported_shared")

    def __init__(self) -> None:
        super().__init__()
        self.agents = Names()
        self.concepts = Table(
            agent="i4", concept_id="i8", count="i8", fix_count="i8", first_seen="i8", last_seen="i8", trust="i8",
            source_weight="f8",
        )  # fmt: skip
        self.links = Table(agent="i4", a="i8", b="i8", count="i8", last_seen="i8")
        self._rows: dict[str, dict[tuple[int, ...], int]] = {}  # by table and key

    def fold(self, events: Sequence[Event]) -> None:
        """Take in promotions: each sets its agent's contributions. Of what a file states the larger number stays."""
        for event in events:
            agent, stated = self.agents.number(event.agent), event.kind == "imported_shared"
            for concept in event.body["concepts"]:
                row = self._row("concepts", agent, concept["concept_id"])
                known = stated and self.concepts["count"][row] > 0
                for name in (*_NUMBERS, "source_weight"):
                    larger = min if name == "first_seen" else max
                    value = larger(self.concepts[name][row], concept[name]) if known else concept[name]
                    self.concepts[name][row] = value
            for a, b, count, last_seen in event.body["links"]:
                row = self._row("links", agent, a, b)
                if stated and self.links["count"][row] > 0:
                    count = max(count, self.links["count"][row])
                    last_seen = max(last_seen, self.links["last_seen"][row])
                self.links.put(row, count=count, last_seen=last_seen)

    def _after_load(self) -> None:
        self._rows = {}

    def contributed(self, agent: str) -> dict[int, tuple[int, ...]]:
        """concept_id -> (count, fix_count, first_seen, last_seen, trust) of what the agent gave."""
        mine = self.concepts["agent"] == self.agents.find(agent)
        columns = [self.concepts[name][mine].tolist() for name in _NUMBERS]
        return dict(zip(self.concepts["concept_id"][mine].tolist(), zip(*columns, strict=True), strict=True))

    def contributed_links(self, agent: str) -> dict[tuple[int, int], tuple[int, int]]:
        """(a, b) -> (count, last_seen) of the links that the agent gave."""
        mine = self.links["agent"] == self.agents.find(agent)
        ends = zip(self.links["a"][mine].tolist(), self.links["b"][mine].tolist(), strict=True)
        values = zip(self.links["count"][mine].tolist(), self.links["last_seen"][mine].tolist(), strict=True)
        return dict(zip(ends, values, strict=True))

    def _row(self, name: str, *key: int) -> int:
        """The row of a key in the table of this name; a new one gets its key here and its numbers afterwards."""
        table, columns = vars(self)[name], _KEYS[name]
        if name not in self._rows:
            keys = zip(*(table[column].tolist() for column in columns), strict=True)
            self._rows[name] = {known: row for row, known in enumerate(keys)}
        row = self._rows[name].get(key)
        if row is None:
            row = self._rows[name][key] = table.extend(columns, [key]).start
        return row


def promotion(
    axon: Axon,
    shared: SharedWeb,
    now: int,
    settings: Settings,
    *,
    agent: str,
    force: Collection[int] = (),
    among: NDArray[np.bool_] | None = None,
) -> Event | None:
    """The event of one agent's promotion; None where nothing changed since the last.

    Promoted are concepts whose importance is strictly above promotionThreshold, and those forced by concept_id, awake or
    asleep; of what somebody below the trust of an agent said too, only what the agent affirmed, with the numbers of that. Links between two that were promoted now or before come along. Work grows with the agent's concepts and links.
    Raises InvalidInput where one that is forced is no concept of the agent.
    """
    current = scores_of(axon, now, settings, agents=[agent], among=among)
    forced = np.isin(axon.concepts["concept_id"][current.rows], list(force))
    if unknown := set(force).difference(axon.concepts["concept_id"][current.rows][forced].tolist()):
        raise InvalidInput(
            f"got the concept ids {', '.join(map(str, sorted(unknown)))}, which {agent} has no concept of; allowed are "
            "the ids of concepts that its searches give"
        )
    chosen = ((current.importance > settings.promotion_threshold) & (current.tier != Tier.SLEEPING)) | forced
    rows = current.rows[chosen]
    hearsay = _hearsay(axon, rows)
    before = shared.contributed(agent)
    concepts = [
        _contribution(axon, row, own_alone=doubtful)
        for row, doubtful in zip(rows.tolist(), hearsay.tolist(), strict=True)
        if not doubtful or _is_corroborated(axon, row)
    ]
    changed = [
        concept
        for concept in concepts
        if before.get(concept["concept_id"]) != tuple(concept[name] for name in _NUMBERS)
    ]
    given = np.fromiter({*before, *(concept["concept_id"] for concept in concepts)}, np.int64)
    links = _changed_links(axon, shared, agent, current.rows, given)
    if not changed and not links:
        return None
    body = {"concepts": changed, "links": links, "policy": policy(settings)}
    event_id = derived_event_id("promoted", agent, shared.seq, encode([changed, links]))
    return new_event("promoted", body, agent=agent, at=now, event_id=event_id)


def _hearsay(axon: Axon, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether somebody below the trust of an agent said the concepts of these rows: to this agent or to another."""
    ids, heard = axon.concepts["concept_id"], axon.concepts["heard"] >= 0
    return np.isin(ids[rows], ids[heard & axon.concepts["alive"]])


def _is_corroborated(axon: Axon, row: int) -> bool:
    """Whether the agent itself said what strangers say too, other than to refuse it, and it looks like words."""
    return bool(axon.concepts["affirmed"][row] >= 0) and is_worded(axon.labels[row])


def _contribution(axon: Axon, row: int, *, own_alone: bool) -> dict[str, Any]:
    """What an agent gives of a concept: all of its numbers, or those of the agent's own affirming mentions alone."""
    table = axon.concepts
    names = {name: f"own_{name}" if own_alone else name for name in _NUMBERS}
    names["trust"] = "affirmed" if own_alone else "trust"
    numbers: dict[str, Any] = {name: int(table[column][row]) for name, column in names.items()}
    return {"concept_id": int(table["concept_id"][row]), **numbers, "source_weight": float(table["source_weight"][row])}


def _changed_links(
    axon: Axon, shared: SharedWeb, agent: str, own: NDArray[np.int64], given: NDArray[np.int64]
) -> list[list[int]]:
    """The agent's links between given concepts that are new or have grown since they were given."""
    ids = axon.concepts["concept_id"]
    inside = np.zeros(len(axon.concepts), bool)
    inside[own] = np.isin(ids[own], given)
    links = axon.links
    present = np.flatnonzero((links["count"] > 0) & inside[links["a"]] & inside[links["b"]])
    before = shared.contributed_links(agent)
    changed = []
    for link in present.tolist():
        a, b = sorted((int(ids[links["a"][link]]), int(ids[links["b"][link]])))
        value = (int(links["count"][link]), int(links["last_seen"][link]))
        if before.get((a, b)) != value:
            changed.append([a, b, *value])
    return changed


@dataclass(frozen=True)
class SharedConcept:
    """A concept of the shared web: the sum of the agents' own counts, and what the one of highest weight says of it."""

    concept_id: int
    text: str
    count: int
    agent: str
    tier: str
    importance: float
    last_seen: int
    trust: int


def shared_concepts(axon: Axon, shared: SharedWeb, now: int, settings: Settings) -> list[SharedConcept]:
    """The shared web at `now` (µs), best first. What was erased from every agent's axon has no label and is left out."""
    agents = [shared.agents[number] for number in shared.concepts["agent"].tolist()]
    ids = shared.concepts["concept_id"].tolist()
    found = [axon.row(agent, concept) for agent, concept in zip(agents, ids, strict=True)]
    known = np.array([position for position, row in enumerate(found) if row is not None], np.int64)
    if not len(known):
        return []
    rows = np.array([found[position] for position in known], np.int64)
    law = law_of(settings)
    concept, group = np.unique(shared.concepts["concept_id"][known], return_inverse=True)
    items = _own_items(axon, items_of(axon, now, settings, law).take(rows), rows, now)
    items = _joined(items, group, shared.concepts["count"][known])
    raw = law.raw(items)
    importance = law.importance(raw)
    tier = tiers(importance, settings.active_threshold, settings.mild_threshold)
    weight = shared.concepts["source_weight"][known]
    # Of each concept the contribution of the highest source weight speaks; of equal ones the latest.
    best = np.lexsort((shared.concepts["last_seen"][known], weight, group))
    speaker = best[np.append(np.flatnonzero(np.diff(group[best])), len(best) - 1)]
    last_seen = np.full(len(concept), -(2**62))
    np.maximum.at(last_seen, group, shared.concepts["last_seen"][known])
    trust = np.zeros(len(concept), np.int64)
    np.maximum.at(trust, group, shared.concepts["trust"][known])
    return [
        SharedConcept(
            concept_id=int(concept[row]),
            text=axon.surfaces[int(rows[speaker[row]])],
            count=int(items.count[row]),
            agent=agents[int(known[speaker[row]])],
            tier=Tier(int(tier[row])).name,
            importance=float(importance[row]),
            last_seen=int(last_seen[row]),
            trust=int(trust[row]),
        )
        for row in rank_order(raw, items.count, last_seen, concept).tolist()
    ]


def _own_items(axon: Axon, items: Items, rows: NDArray[np.int64], now: int) -> Items:
    """The items with the age and the share of the counts that the agents' own mentions have, where strangers' came in."""
    table = {name: axon.concepts[name][rows] for name in ("count", "own_count", "own_last_seen")}
    mixed = (axon.concepts["heard"][rows] >= 0) & (table["own_count"] > 0)
    share = np.where(mixed, table["own_count"] / np.maximum(table["count"], 1), 1.0)
    own_age = (now - table["own_last_seen"]) / MICROSECONDS_PER_DAY
    age = np.where(mixed, own_age, items.age_days)
    return replace(items, age_days=age, decayed_counts=items.decayed_counts * share[:, None])


def _joined(items: Items, group: NDArray[np.int64], count: NDArray[np.int64]) -> Items:
    """Several agents' rows of a concept as one: counts add up, the latest mention and the strongest links hold."""
    n = int(group.max()) + 1
    age, first_age = np.full(n, np.inf), np.zeros(n)
    np.minimum.at(age, group, items.age_days)
    np.maximum.at(first_age, group, items.first_age_days)
    strongest = {
        name: np.zeros(n) for name in ("link_strength", "mean_link_strength", "linked_activity", "half_life_cap_days")
    }
    for name, column in strongest.items():
        np.maximum.at(column, group, getattr(items, name))
    decayed = np.zeros((n, items.decayed_counts.shape[1]))
    np.add.at(decayed, group, items.decayed_counts)
    total = np.bincount(group, weights=count, minlength=n)
    return Items.of(age, total, first_age_days=first_age, decayed_counts=decayed, **strongest)
