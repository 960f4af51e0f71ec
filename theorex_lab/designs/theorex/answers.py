"""What Theorex answers to search, to people and to the audit log.

Search learns which texts and concepts sleep, are shared, or belong to a concept. People
get tables and graphs. The audit log gets the entries about an agent's concepts and
moments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from theorex_lab.designs.theorex import scores
from theorex_lab.designs.theorex.axon import Axon, Floats, Ints, Mask
from theorex_lab.designs.theorex.declarations import READ_FROM
from theorex_lab.designs.theorex.items import CONCEPT, MOMENT
from theorex_lab.designs.theorex.stages import SharedConcept, SharedWeb, shared_concepts
from theorex_lab.evolution.audit import cut, matches_in
from theorex_lab.journal.columns import Names, Table
from theorex_lab.journal.event import Event
from theorex_lab.memory.contract import (
    AuditMatch,
    AuditQuery,
    AuditRecord,
    Home,
)
from theorex_lab.memory.decay import Tier
from theorex_lab.memory.rows import table_html
from theorex_lab.search.items import MOMENT_TYPE, OBSERVATION

if TYPE_CHECKING:
    from theorex_lab.memory.retrieve import Searcher
    from theorex_lab.search.index import ItemIndex


def query_shared(
    searcher: Searcher, query: str, *, limit: int = 10
) -> list[SharedConcept]:
    """Return the concepts of the shared web that answer the query best.

    Args:
        searcher: What searches the home.
        query: What is asked; for '' the concepts are the best of all.
        limit: How many are returned at most.

    Returns:
        The concepts with their numbers, the best first.

    Raises:
        InvalidInput: As `memory.retrieve.Searcher.search` does.
    """
    home = searcher.home

    def among(index: ItemIndex) -> Mask:
        nothing_visible = np.zeros(len(index.documents), bool)
        return shared_documents(home, index, nothing_visible)

    hits = None
    if query:
        hits = searcher.search_among(query, among, limit=limit, labels=True)
    views = home.views
    with views.reading(Axon) as axon, views.reading(SharedWeb) as shared:
        now = home.clock.now()
        concepts = shared_concepts(axon, shared, now, home.settings)
    if hits is None:
        return concepts[:limit]
    concept_by_id: dict[str, SharedConcept] = {}
    for concept in concepts:
        item_id = str(concept.concept_id)
        concept_by_id[item_id] = concept
    return [concept_by_id[hit.id] for hit in hits if hit.id in concept_by_id]


def asleep(home: Home, index: ItemIndex) -> Mask:
    """Return a mask of the documents that sleep.

    Concepts sleep by their tier, texts when all of their concepts do.
    """
    documents = index.documents
    mask = np.zeros(len(documents), bool)
    with home.views.reading(Axon, upto=index.seq) as axon:
        concepts, observations = axon.asleep()
        if not len(concepts):
            return mask
        sleeping_texts = axon.observations["seq"][observations]
        last_seq = max(axon.seq, index.seq)
        is_concept = index.of_kinds([CONCEPT.name])
        if is_concept.any():  # an index has texts or concepts
            all_keys = _concept_keys(index, axon.agents, axon.concepts)
            awake_keys = np.delete(all_keys, concepts)
            agent = documents["agent"][is_concept]
            concept_id = documents["item"][is_concept]
            keys = _keys(agent, concept_id)
            is_awake = np.isin(keys, awake_keys)
            mask[is_concept] = ~is_awake
    is_text = index.of_kinds([OBSERVATION.name])
    # By seq of an event. `np.isin` goes through the documents several times more.
    n_seqs = last_seq + 1
    is_sleeping = np.zeros(n_seqs, bool)
    is_sleeping[sleeping_texts] = True
    text_sleeps = is_sleeping[documents["seq"]]
    mask |= is_text & text_sleeps
    return mask


def shared_documents(
    home: Home,
    index: ItemIndex,
    visible: Mask,
) -> Mask:
    """Return a mask of the documents of promoted concepts, one a concept.

    Concepts that are among the `visible` documents already are left out.
    """
    documents = index.documents
    mask = np.zeros(len(documents), bool)
    is_concept = index.of_kinds([CONCEPT.name])
    if not is_concept.any():  # texts are not shared, and search asks for each index
        return mask
    with home.views.reading(SharedWeb) as shared:
        shared_keys = _concept_keys(index, shared.agents, shared.concepts)
    rows = np.flatnonzero(is_concept)
    concept_ids = documents["item"]
    agent = documents["agent"][rows]
    keys = _keys(agent, concept_ids[rows])
    is_shared = np.isin(keys, shared_keys)
    rows = rows[is_shared]
    visible_concepts = concept_ids[visible & is_concept]
    is_visible = np.isin(concept_ids[rows], visible_concepts)
    rows = rows[~is_visible]
    _, first_of_concept = np.unique(concept_ids[rows], return_index=True)
    first_rows = rows[first_of_concept]
    mask[first_rows] = True
    return mask


def related(
    home: Home, index: ItemIndex, hits: Ints, *, allowed: Mask, now: int
) -> tuple[Ints, Floats]:
    """Return the texts that are about the same as the hits of a search.

    They mention what activation reaches from the concepts of the hits.

    Args:
        home: Whose concepts they are.
        index: The index in which the documents are.
        hits: Rows of documents.
        allowed: A mask of the documents that may be returned.
        now: The time of the search, µs UTC.

    Returns:
        The rows of the texts, and of each the mean activation of what it mentions.
    """
    with home.views.reading(Axon, upto=index.seq) as axon:
        seqs = axon.observations["seq"]
        n_texts = len(seqs)
        observation = axon.mentions["observation"]
        concept = axon.mentions["concept"]
        hit_seqs = index.documents["seq"][hits]
        is_hit = np.isin(seqs, hit_seqs)
        is_hit_mention = is_hit[observation]
        hit_concepts = np.unique(concept[is_hit_mention])
        is_alive = axon.concepts["alive"][hit_concepts]
        seeds = hit_concepts[is_alive]
        settings = home.settings
        activation = scores.spread_activation(axon, seeds, now, settings)
        n_mentions = np.bincount(observation, minlength=n_texts)
        mentioned = activation[concept]
        total = np.bincount(observation, mentioned, minlength=n_texts)
        means = total / np.maximum(n_mentions, 1)
    is_text = index.of_kinds([OBSERVATION.name, MOMENT.name])
    texts = np.flatnonzero(allowed & is_text)
    text_seqs = index.documents["seq"][texts]
    rows = np.searchsorted(seqs, text_seqs)
    mean_activation = means[rows]
    is_reached = mean_activation > 0
    return texts[is_reached], mean_activation[is_reached]


def _concept_keys(
    index: ItemIndex, agents: Names, concepts: Table
) -> NDArray[np.uint64]:
    """Return the keys of a table's concepts, by the agents' numbers in the index."""
    unknown = len(index.agents)
    numbers = np.full(len(agents), unknown, np.int64)
    for row, name in enumerate(agents):
        number = index.agents.find(name)
        if number is not None:
            numbers[row] = number
    agent = numbers[concepts["agent"]]
    return _keys(agent, concepts["concept_id"])


def _keys(agent: NDArray[Any], concept_id: NDArray[Any]) -> NDArray[np.uint64]:
    """Return one key for an agent's concept: 53 bits of concept, the agent above them."""
    high = agent.astype(np.uint64) << np.uint64(53)
    low = concept_id.astype(np.uint64)
    return high + low


class AxonView:
    """Concepts as they stand now, for people: a table, a graph, counts by tier."""

    def __init__(
        self,
        home: Home,
        agents: Sequence[str] | None,
    ) -> None:
        self._home = home
        self._agents = agents

    def frame(self) -> Any:
        """Return a pandas DataFrame, best first; see `designs.theorex.scores.frame`."""
        now = self._home.clock.now()
        with self._home.views.reading(Axon) as axon:
            current = self._scores(axon, now)
            return scores.frame(axon, current)

    def graph(self) -> Any:
        """Return a networkx Graph; see `designs.theorex.scores.graph`."""
        now = self._home.clock.now()
        with self._home.views.reading(Axon) as axon:
            current = self._scores(axon, now)
            return scores.graph(axon, current, now, self._home.settings)

    def tiers(self) -> dict[str, int]:
        """Return how many concepts are in each tier."""
        now = self._home.clock.now()
        with self._home.views.reading(Axon) as axon:
            current = self._scores(axon, now)
            return current.counts()

    def _scores(
        self,
        axon: Axon,
        now: int,
    ) -> scores.Scores:
        settings = self._home.settings
        return scores.scores_of(axon, now, settings, agents=self._agents)

    def _repr_html_(self) -> str:
        frame = self.frame()
        return table_html(frame)


# Of the observations those that are no moments are not even read. Texts of an
# observation as stored.
_NO_MOMENT = ('"sentiment":', f'"type":"{MOMENT_TYPE}"')


def reading() -> Callable[[Event], Iterator[AuditRecord]]:
    """Return what reads the journal's events as records: (kind, agent, detail).

    It is to get them from the journal's start on, in order.
    """
    tiers: dict[tuple[str, int], str] = {}

    def records(event: Event) -> Iterator[AuditRecord]:
        body = event.body
        agent = event.agent
        if event.kind == "scan":
            yield from _tier_changes(body["tiers"], tiers)
        elif event.kind == "prune":
            yield from _pruned_concepts(body["concepts"], tiers)
        elif event.kind == "imported":
            # The tier that a file states is no change itself.
            concept_id = body["concepts"][0][0]
            key = (agent, concept_id)
            tiers.setdefault(key, body["tier"])
        elif event.kind == "graduated":
            detail = {
                "concept_id": str(body["concept_id"]),
                "label": body["label"],
                "days": len(body["days"]),
            }
            yield "graduation", agent, detail
        elif body["type"] == MOMENT_TYPE:
            story = cut(body["text"])
            yield "moment_capture", agent, {"story": story}

    return records


def _tier_changes(
    changes: Mapping[str, Mapping[str, list[int]]], tiers: dict[tuple[str, int], str]
) -> Iterator[AuditRecord]:
    """Yield a record a concept that a scan moved, and note its tier in `tiers`."""
    for agent, by_tier in changes.items():
        for tier, concept_ids in by_tier.items():
            for concept_id in concept_ids:
                key = (agent, concept_id)
                before = tiers.get(key, Tier.NEUTRAL.name)
                tiers[key] = tier
                detail = {
                    "concept_id": str(concept_id),
                    "from": before,
                    "to": tier,
                }
                yield "tier_change", agent, detail


def _pruned_concepts(
    pruned: Mapping[str, list[dict[str, Any]]], tiers: dict[tuple[str, int], str]
) -> Iterator[AuditRecord]:
    """Yield a record a concept that was pruned, and take it out of `tiers`."""
    for agent, concepts in pruned.items():
        for concept in concepts:
            concept_id = concept["concept_id"]
            tiers.pop((agent, concept_id), None)
            detail = {
                "concept_id": str(concept_id),
                "count": concept.get("count"),
            }
            yield "prune", agent, detail


def audit_entries(
    home: Home, query: AuditQuery, take: Callable[[Event], Iterable[AuditRecord]]
) -> list[AuditMatch]:
    """Return the entries that match the query.

    A concept that was scanned or pruned has its label from the axon, '' where all that
    named it was erased.
    """
    event_kinds: set[str] = set()
    for entry_kind in query.kinds:
        event_kinds.update(READ_FROM[entry_kind])
    events = home.journal.tail(
        0, kinds=sorted(event_kinds), upto=query.upto, lacking=_NO_MOMENT
    )
    matches = matches_in(events, take, query)
    unnamed_ids = set[int]()
    for _, record in matches:
        kind, _, detail = record
        if kind in ("tier_change", "prune"):
            unnamed_ids.add(int(detail["concept_id"]))
    labels: dict[str, str] = {}
    if unnamed_ids:
        axon = home.views.get(Axon)
        labels = _labels(axon, unnamed_ids)
    entries: list[AuditMatch] = []
    for event, record in matches:
        kind, agent, detail = record
        labelled = _labelled(detail, labels)
        entries.append((event, (kind, agent, labelled)))
    return entries


def _labelled(
    detail: Mapping[str, Any], labels: Mapping[str, str]
) -> Mapping[str, Any]:
    """Return the detail of a record, with the label of the concept that it names."""
    if "concept_id" not in detail:
        return detail
    label = labels.get(detail["concept_id"], "")
    return {"label": label, **detail}


def _labels(axon: Axon, concept_ids: set[int]) -> dict[str, str]:
    """Return what the axon calls these concepts, also those that are gone."""
    labels: dict[str, str] = {}
    with axon.lock:
        ids = axon.concepts["concept_id"]
        is_asked = np.isin(ids, list(concept_ids))
        for row in np.flatnonzero(is_asked).tolist():
            concept_id = str(ids[row])
            labels[concept_id] = axon.labels[row]
    return labels
