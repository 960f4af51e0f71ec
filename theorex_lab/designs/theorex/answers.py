"""What Theorex answers: to search, which texts and concepts sleep, are shared, belong
to a concept; to people, tables and graphs.

And to the audit log, its entries about an agent's concepts and moments.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

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
from theorex_lab.memory.contract import AuditMatch, AuditQuery, AuditRecord, Home
from theorex_lab.memory.decay import Tier
from theorex_lab.memory.retrieve import Searcher
from theorex_lab.memory.rows import table_html
from theorex_lab.search.index import ItemIndex
from theorex_lab.search.items import MOMENT_TYPE, OBSERVATION


def query_shared(
    searcher: Searcher, query: str, *, limit: int = 10
) -> list[SharedConcept]:
    """Return the concepts of the shared web that answer the query best, with their
    numbers; for '' the best of all.

    Raises as `Searcher.search` does.
    """
    home = searcher.home

    def among(index: ItemIndex) -> Mask:
        return shared_documents(home, index, np.zeros(len(index.documents), bool))

    hits = None
    if query:
        hits = searcher.search_among(query, among, limit=limit, labels=True)
    with home.views.reading(Axon) as axon, home.views.reading(SharedWeb) as shared:
        concepts = shared_concepts(axon, shared, home.clock.now(), home.settings)
    if hits is None:
        return concepts[:limit]
    by_id = {str(concept.concept_id): concept for concept in concepts}
    return [by_id[hit.id] for hit in hits if hit.id in by_id]


def asleep(home: Home, index: ItemIndex) -> Mask:
    """Return a mask of the documents that sleep: concepts by their tier, texts when all
    of their concepts do.
    """
    documents = index.documents
    mask = np.zeros(len(documents), bool)
    with home.views.reading(Axon, upto=index.seq) as axon:
        concepts, observations = axon.asleep()
        if not len(concepts):
            return mask
        awake_keys = np.delete(
            _concept_keys(index, axon.agents, axon.concepts), concepts
        )
        sleeping_texts = axon.observations["seq"][observations]
    is_concept = index.of_kinds([CONCEPT.name])
    document_keys = _keys(documents["agent"][is_concept], documents["item"][is_concept])
    mask[is_concept] = ~np.isin(document_keys, awake_keys)
    is_text = index.of_kinds([OBSERVATION.name])
    mask |= is_text & np.isin(documents["seq"], sleeping_texts)
    return mask


def shared_documents(home: Home, index: ItemIndex, visible: Mask) -> Mask:
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
    keys = _keys(documents["agent"][rows], documents["item"][rows])
    rows = rows[np.isin(keys, shared_keys)]
    visible_concepts = documents["item"][visible & is_concept]
    rows = rows[~np.isin(documents["item"][rows], visible_concepts)]
    _, first_of_concept = np.unique(documents["item"][rows], return_index=True)
    mask[rows[first_of_concept]] = True
    return mask


def related(
    home: Home, index: ItemIndex, hits: Ints, allowed: Mask, now: int
) -> tuple[Ints, Floats]:
    """Return the texts that mention what activation reaches from the concepts of the
    hits, each with the mean activation of what it mentions.
    """
    with home.views.reading(Axon, upto=index.seq) as axon:
        seqs = axon.observations["seq"]
        observation = axon.mentions["observation"]
        concept = axon.mentions["concept"]
        is_hit = np.isin(seqs, index.documents["seq"][hits])
        hit_concepts = np.unique(concept[is_hit[observation]])
        seeds = hit_concepts[axon.concepts["alive"][hit_concepts]]
        activation = scores.spread_activation(axon, seeds, now, home.settings)
        n_mentions = np.bincount(observation, minlength=len(seqs))
        total = np.bincount(observation, activation[concept], minlength=len(seqs))
        mean_activation = total / np.maximum(n_mentions, 1)
    texts = np.flatnonzero(allowed & index.of_kinds([OBSERVATION.name, MOMENT.name]))
    rows = np.searchsorted(seqs, index.documents["seq"][texts])
    is_reached = mean_activation[rows] > 0
    return texts[is_reached], mean_activation[rows][is_reached]


def _concept_keys(
    index: ItemIndex, agents: Names, concepts: Table
) -> NDArray[np.uint64]:
    """Return the keys of a table's concepts, by the agents' numbers in the index."""
    unknown = len(index.agents)
    numbers = np.zeros(len(agents), np.int64)
    for row, name in enumerate(agents):
        number = index.agents.find(name)
        numbers[row] = unknown if number is None else number
    return _keys(numbers[concepts["agent"]], concepts["concept_id"])


def _keys(agent: NDArray[Any], concept_id: NDArray[Any]) -> NDArray[np.uint64]:
    """Return one key for an agent's concept: 53 bits of concept, the agent above them."""
    return (agent.astype(np.uint64) << np.uint64(53)) + concept_id.astype(np.uint64)


def status(home: Home, agent: str | None) -> dict[str, Any]:
    """Return the agents with their concepts by tier and hottest concepts, how many
    concepts and observations there are, and the decay law.

    Counted is what is of the home's project or of none.
    """
    with home.views.reading(Axon) as axon:
        names = [agent] if agent is not None else list(axon.agents)
        among = axon.within(home.projects)
        current = scores.scores_of(
            axon, home.clock.now(), home.settings, agents=names, among=among
        )
        agents = [_agent_status(axon, current, name) for name in names]
        observations = int(axon.observed_within(home.projects).sum())
    return {
        "concepts": sum(row["concepts"] for row in agents),
        "observations": observations,
        "agents": agents,
        "decay_law": home.settings.decay_law,
    }


def _agent_status(axon: Axon, current: scores.Scores, name: str) -> dict[str, Any]:
    """Return how many concepts an agent has, by tier too, and the hottest five."""
    owner = axon.concepts["agent"][current.rows]
    of_agent = current.take(np.flatnonzero(owner == axon.agents.find(name)))
    hottest = of_agent.rows[of_agent.order[:5]].tolist()
    return {
        "agent": name,
        "concepts": len(of_agent.rows),
        "tiers": of_agent.counts(),
        "top": [axon.surfaces[row] for row in hottest],
    }


class AxonView:
    """Concepts as they stand now, for people: a table, a graph, counts by tier."""

    def __init__(self, home: Home, agents: Sequence[str] | None) -> None:
        self._home = home
        self._agents = agents

    def frame(self) -> Any:
        """Return a pandas DataFrame, best first; see
        `theorex_lab.designs.theorex.scores.frame`.
        """
        with self._home.views.reading(Axon) as axon:
            return scores.frame(axon, self._scores(axon, self._home.clock.now()))

    def graph(self) -> Any:
        """Return a networkx Graph; see `theorex_lab.designs.theorex.scores.graph`."""
        now = self._home.clock.now()
        with self._home.views.reading(Axon) as axon:
            current = self._scores(axon, now)
            return scores.graph(axon, current, now, self._home.settings)

    def tiers(self) -> dict[str, int]:
        """Return how many concepts are in each tier."""
        with self._home.views.reading(Axon) as axon:
            return self._scores(axon, self._home.clock.now()).counts()

    def _scores(self, axon: Axon, now: int) -> scores.Scores:
        return scores.scores_of(axon, now, self._home.settings, agents=self._agents)

    def _repr_html_(self) -> str:
        return table_html(self.frame())


# Of the observations those that are no moments are not even read. Texts of an
# observation as stored.
_NO_MOMENT = ('"sentiment":', f'"type":"{MOMENT_TYPE}"')


def reading() -> Callable[[Event], Iterator[AuditRecord]]:
    """Return what reads the journal's events from its start, in order, as records:
    (kind, agent, detail).
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
            tiers.setdefault((agent, body["concepts"][0][0]), body["tier"])
        elif event.kind == "graduated":
            detail = {
                "concept_id": str(body["concept_id"]),
                "label": body["label"],
                "days": len(body["days"]),
            }
            yield "graduation", agent, detail
        elif body["type"] == MOMENT_TYPE:
            yield "moment_capture", agent, {"story": cut(body["text"])}

    return records


def _tier_changes(
    changes: Mapping[str, Mapping[str, list[int]]], tiers: dict[tuple[str, int], str]
) -> Iterator[AuditRecord]:
    """Yield a record a concept that a scan moved, and note its tier in `tiers`."""
    for agent, by_tier in changes.items():
        for tier, concept_ids in by_tier.items():
            for concept_id in concept_ids:
                before = tiers.get((agent, concept_id), Tier.NEUTRAL.name)
                tiers[agent, concept_id] = tier
                detail = {"concept_id": str(concept_id), "from": before, "to": tier}
                yield "tier_change", agent, detail


def _pruned_concepts(
    pruned: Mapping[str, list[dict[str, Any]]], tiers: dict[tuple[str, int], str]
) -> Iterator[AuditRecord]:
    """Yield a record a concept that was pruned, and take it out of `tiers`."""
    for agent, concepts in pruned.items():
        for concept in concepts:
            concept_id = concept["concept_id"]
            tiers.pop((agent, concept_id), None)
            detail = {"concept_id": str(concept_id), "count": concept.get("count")}
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
    unnamed_ids = {
        int(detail["concept_id"])
        for _, (kind, _, detail) in matches
        if kind in ("tier_change", "prune")
    }
    labels: dict[str, str] = {}
    if unnamed_ids:
        labels = _labels(home.views.get(Axon), unnamed_ids)

    def labelled(detail: Mapping[str, Any]) -> Mapping[str, Any]:
        if "concept_id" not in detail:
            return detail
        return {"label": labels.get(detail["concept_id"], ""), **detail}

    return [
        (event, (kind, agent, labelled(detail)))
        for event, (kind, agent, detail) in matches
    ]


def _labels(axon: Axon, concept_ids: set[int]) -> dict[str, str]:
    """Return what the axon calls these concepts, also those that are gone."""
    with axon.lock:
        ids = axon.concepts["concept_id"]
        rows = np.flatnonzero(np.isin(ids, list(concept_ids))).tolist()
        return {str(ids[row]): axon.labels[row] for row in rows}
