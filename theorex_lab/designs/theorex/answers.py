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
from theorex_lab.designs.theorex.design import READ_FROM
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
    """The concepts of the shared web that answer the query best, with their numbers;
    for '' the best of all.

    Raises as `Searcher.search` does.
    """
    home = searcher.home

    def among(index: ItemIndex) -> Mask:
        return shared_documents(home, index, np.zeros(len(index.documents), bool))

    hits = (
        searcher.search_among(query, among, limit=limit, labels=True) if query else None
    )
    with home.views.reading(Axon) as axon, home.views.reading(SharedWeb) as shared:
        found = shared_concepts(axon, shared, home.clock.now(), home.settings)
    if hits is None:
        return found[:limit]
    known = {str(hit.concept_id): hit for hit in found}
    return [known[hit.id] for hit in hits if hit.id in known]


def asleep(home: Home, index: ItemIndex) -> Mask:
    """A mask of the documents that sleep: concepts by their tier, texts when all of
    their concepts do.
    """
    documents, mask = index.documents, np.zeros(len(index.documents), bool)
    with home.views.reading(Axon, upto=index.seq) as axon:
        concepts, observations = axon.asleep()
        if not len(concepts):
            return mask
        present = np.delete(_owned(index, axon.agents, axon.concepts), concepts)
        sleeping_texts = axon.observations["seq"][observations]
    is_concept = index.of_kinds([CONCEPT.name])
    mask[is_concept] = ~np.isin(
        _keys(documents["agent"][is_concept], documents["item"][is_concept]), present
    )
    mask |= index.of_kinds([OBSERVATION.name]) & np.isin(
        documents["seq"], sleeping_texts
    )
    return mask


def shared_documents(home: Home, index: ItemIndex, own: Mask) -> Mask:
    """Documents of promoted concepts, one a concept; none of those that stand among
    `own` already.
    """
    documents = index.documents
    mask = np.zeros(len(documents), bool)
    is_concept = index.of_kinds([CONCEPT.name])
    if not is_concept.any():  # texts are not shared, and search asks for each index
        return mask
    with home.views.reading(SharedWeb) as shared:
        given = _owned(index, shared.agents, shared.concepts)
    rows = np.flatnonzero(is_concept)
    rows = rows[
        np.isin(_keys(documents["agent"][rows], documents["item"][rows]), given)
    ]
    rows = rows[~np.isin(documents["item"][rows], documents["item"][own & is_concept])]
    mask[rows[np.unique(documents["item"][rows], return_index=True)[1]]] = True
    return mask


def related(
    home: Home, index: ItemIndex, found: Ints, allowed: Mask, now: int
) -> tuple[Ints, Floats]:
    """Texts that mention what activation reaches from the concepts of those found, with
    the mean of what each mentions.
    """
    with home.views.reading(Axon, upto=index.seq) as axon:
        seqs = axon.observations["seq"]
        observation = axon.mentions["observation"]
        concept = axon.mentions["concept"]
        named = np.unique(
            concept[np.isin(seqs, index.documents["seq"][found])[observation]]
        )
        activation = scores.spread_activation(
            axon, named[axon.concepts["alive"][named]], now, home.settings
        )
        mentioned = np.bincount(observation, minlength=len(seqs))
        reached = np.bincount(
            observation, activation[concept], minlength=len(seqs)
        ) / np.maximum(mentioned, 1)
    texts = np.flatnonzero(allowed & index.of_kinds([OBSERVATION.name, MOMENT.name]))
    rows = np.searchsorted(seqs, index.documents["seq"][texts])
    given = reached[rows] > 0
    return texts[given], reached[rows][given]


def _owned(index: ItemIndex, agents: Names, concepts: Table) -> NDArray[np.uint64]:
    """The keys of a table's concepts, by the agents' numbers in the index."""
    found = (index.agents.find(name) for name in agents)
    numbers = np.array(
        [len(index.agents) if number is None else number for number in found], np.int64
    )
    return _keys(numbers[concepts["agent"]], concepts["concept_id"])


def _keys(agent: NDArray[Any], concept_id: NDArray[Any]) -> NDArray[np.uint64]:
    """One key for an agent's concept: 53 bits of concept, the agent above them."""
    return (agent.astype(np.uint64) << np.uint64(53)) + concept_id.astype(np.uint64)


def status(home: Home, agent: str | None) -> dict[str, Any]:
    """Agents with their concepts by tier and hottest concepts, how many concepts and
    observations, and the decay law.

    Counted is what is of the home's project or of none.
    """
    with home.views.reading(Axon) as axon:
        names = [agent] if agent is not None else list(axon.agents)
        now = home.clock.now()
        known = scores.scores_of(
            axon, now, home.settings, agents=names, among=axon.within(home.projects)
        )
        owner = axon.concepts["agent"][known.rows]
        agents = list[dict[str, Any]]()
        for name in names:
            own = known.take(np.flatnonzero(owner == axon.agents.find(name)))
            top = [axon.surfaces[row] for row in own.rows[own.order[:5]].tolist()]
            agents.append(
                {
                    "agent": name,
                    "concepts": len(own.rows),
                    "tiers": own.counts(),
                    "top": top,
                }
            )
        observations = int(axon.observed_within(home.projects).sum())
    concepts = sum(row["concepts"] for row in agents)
    return {
        "concepts": concepts,
        "observations": observations,
        "agents": agents,
        "decay_law": home.settings.decay_law,
    }


class AxonView:
    """Concepts as they stand now, for people: a table, a graph, counts by tier."""

    def __init__(self, home: Home, agents: Sequence[str] | None) -> None:
        self._home = home
        self._agents = agents

    def frame(self) -> Any:
        """A pandas DataFrame, best first; see
        `theorex_lab.designs.theorex.scores.frame`.
        """
        return self._shown(lambda axon, current, _now: scores.frame(axon, current))

    def graph(self) -> Any:
        """A networkx Graph; see `theorex_lab.designs.theorex.scores.graph`."""
        return self._shown(
            lambda axon, current, now: scores.graph(
                axon, current, now, self._home.settings
            )
        )

    def tiers(self) -> dict[str, int]:
        """How many concepts are in each tier."""
        return dict(self._shown(lambda _axon, current, _now: current.counts()))

    def _shown(self, show: Callable[[Axon, scores.Scores, int], Any]) -> Any:
        now = self._home.clock.now()
        with self._home.views.reading(Axon) as axon:
            return show(
                axon,
                scores.scores_of(axon, now, self._home.settings, agents=self._agents),
                now,
            )

    def _repr_html_(self) -> str:
        return table_html(self.frame())


# Of the observations those that are no moments are not even read. Texts of an
# observation as stored.
_NO_MOMENT = ('"sentiment":', f'"type":"{MOMENT_TYPE}"')


def reading() -> Callable[[Event], Iterator[AuditRecord]]:
    """What tells of the journal's events from its start, in order, as (kind, agent,
    detail).
    """
    tiers: dict[tuple[str, int], str] = {}

    def told(event: Event) -> Iterator[AuditRecord]:
        body = event.body
        agent = event.agent
        if event.kind == "scan":
            yield from _changes(body["tiers"], tiers)
        elif event.kind == "prune":
            for owner, gone in body["concepts"].items():
                for pruned in gone:
                    tiers.pop((owner, pruned["concept_id"]), None)
                    yield (
                        "prune",
                        owner,
                        {
                            "concept_id": str(pruned["concept_id"]),
                            "count": pruned.get("count"),
                        },
                    )
        elif (
            event.kind == "imported"
        ):  # the tier that a file states is no change itself
            tiers.setdefault((agent, body["concepts"][0][0]), body["tier"])
        elif event.kind == "graduated":
            named = {"concept_id": str(body["concept_id"]), "label": body["label"]}
            yield "graduation", agent, {**named, "days": len(body["days"])}
        elif body["type"] == MOMENT_TYPE:
            yield "moment_capture", agent, {"story": cut(body["text"])}

    return told


def _changes(
    scanned: Mapping[str, Mapping[str, list[int]]], tiers: dict[tuple[str, int], str]
) -> Iterator[AuditRecord]:
    for agent, by_tier in scanned.items():
        for tier, numbers in by_tier.items():
            for number in numbers:
                before = tiers.get((agent, number), Tier.NEUTRAL.name)
                tiers[agent, number] = tier
                yield (
                    "tier_change",
                    agent,
                    {"concept_id": str(number), "from": before, "to": tier},
                )


def audit_entries(
    home: Home, asked: AuditQuery, take: Callable[[Event], Iterable[AuditRecord]]
) -> list[AuditMatch]:
    """The entries; a concept that was scanned or pruned has its label from the axon, ''
    where all that named it was erased.
    """
    kinds = sorted({kind for wanted in asked.kinds for kind in READ_FROM[wanted]})
    found = matches_in(
        home.journal.tail(0, kinds=kinds, upto=asked.upto, lacking=_NO_MOMENT),
        take,
        asked,
    )
    unnamed = {
        int(detail["concept_id"])
        for _, (kind, _, detail) in found
        if kind in ("tier_change", "prune")
    }
    labels = _labels(home.views.get(Axon), unnamed) if unnamed else {}

    def labelled(told: Mapping[str, Any]) -> Mapping[str, Any]:
        return (
            {"label": labels.get(told["concept_id"], ""), **told}
            if "concept_id" in told
            else told
        )

    return [
        (event, (kind, agent, labelled(told))) for event, (kind, agent, told) in found
    ]


def _labels(axon: Axon, concepts: set[int]) -> dict[str, str]:
    """What the axon calls these concepts, also those that are gone."""
    with axon.lock:
        rows = np.flatnonzero(
            np.isin(axon.concepts["concept_id"], list(concepts))
        ).tolist()
        return {str(axon.concepts["concept_id"][row]): axon.labels[row] for row in rows}
