"""What Theorex tells search: observations and concepts, which of them sleep, which are shared, and what belongs to a concept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from theorex_lab.designs.theorex.axon import Axon, Floats, Ints, Mask
from theorex_lab.designs.theorex.items import CONCEPT, MOMENT
from theorex_lab.designs.theorex.scores import spread_activation
from theorex_lab.designs.theorex.shared import SharedConcept, SharedWeb, shared_concepts
from theorex_lab.journal.columns import Names, Table
from theorex_lab.search.items import OBSERVATION

if TYPE_CHECKING:
    from theorex_lab.home import Home
    from theorex_lab.memory.retrieve import Searcher
    from theorex_lab.search.index import ItemIndex


def query_shared(searcher: Searcher, query: str, *, limit: int = 10) -> list[SharedConcept]:
    """The concepts of the shared web that answer the query best, with their numbers; for '' the best of all.

    Raises as `Searcher.search` does.
    """
    home = searcher.home

    def among(index: ItemIndex) -> Mask:
        return shared_documents(home, index, np.zeros(len(index.documents), bool))

    hits = searcher.search_among(query, among, limit=limit, labels=True) if query else None
    with home.views.reading(Axon) as axon, home.views.reading(SharedWeb) as shared:
        found = shared_concepts(axon, shared, home.clock.now(), home.settings)
    if hits is None:
        return found[:limit]
    known = {str(hit.concept_id): hit for hit in found}
    return [known[hit.id] for hit in hits if hit.id in known]


def asleep(home: Home, index: ItemIndex) -> Mask:
    """A mask of the documents that sleep: concepts by their tier, texts when all of their concepts do."""
    documents, mask = index.documents, np.zeros(len(index.documents), bool)
    with home.views.reading(Axon, upto=index.seq) as axon:
        concepts, observations = axon.asleep()
        if not len(concepts):
            return mask
        alive = np.zeros(len(axon.concepts), bool)
        alive[axon.rows_of()] = True
        alive[concepts] = False
        present = np.sort(_owned(index, axon.agents, axon.concepts)[alive])
        sleeping_texts = axon.observations["seq"][observations]
    is_concept = index.of_kinds([CONCEPT.name])
    wanted = _keys(documents["agent"][is_concept], documents["item"][is_concept])
    places = np.minimum(np.searchsorted(present, wanted), max(len(present) - 1, 0))
    mask[is_concept] = present[places] != wanted if len(present) else True
    mask |= index.of_kinds([OBSERVATION.name]) & np.isin(documents["seq"], sleeping_texts)
    return mask


def shared_documents(home: Home, index: ItemIndex, own: Mask) -> Mask:
    """Documents of promoted concepts, one a concept; none of those that stand among `own` already."""
    documents = index.documents
    mask, is_concept = np.zeros(len(documents), bool), index.of_kinds([CONCEPT.name])
    if not is_concept.any():  # texts are not shared, and search asks for each index
        return mask
    with home.views.reading(SharedWeb) as shared:
        given = _owned(index, shared.agents, shared.concepts)
    rows = np.flatnonzero(is_concept)
    rows = rows[np.isin(_keys(documents["agent"][rows], documents["item"][rows]), given)]
    rows = rows[~np.isin(documents["item"][rows], documents["item"][own & is_concept])]
    mask[rows[np.unique(documents["item"][rows], return_index=True)[1]]] = True
    return mask


def related(home: Home, index: ItemIndex, found: Ints, allowed: Mask, now: int) -> tuple[Ints, Floats]:
    """Texts that mention what activation reaches from the concepts of those found, with the mean of what each mentions."""
    with home.views.reading(Axon, upto=index.seq) as axon:
        seqs, observation, concept = axon.observations["seq"], axon.mentions["observation"], axon.mentions["concept"]
        named = np.unique(concept[np.isin(seqs, index.documents["seq"][found])[observation]])
        activation = spread_activation(axon, named[axon.concepts["alive"][named]], now, home.settings)
        mentioned = np.bincount(observation, minlength=len(seqs))
        reached = np.bincount(observation, activation[concept], minlength=len(seqs)) / np.maximum(mentioned, 1)
    texts = np.flatnonzero(allowed & index.of_kinds([OBSERVATION.name, MOMENT.name]))
    rows = np.searchsorted(seqs, index.documents["seq"][texts])
    given = reached[rows] > 0
    return texts[given], reached[rows][given]


def _owned(index: ItemIndex, agents: Names, concepts: Table) -> NDArray[np.uint64]:
    """The keys of a table's concepts, by the agents' numbers in the index."""
    found = (index.agents.find(name) for name in agents)
    numbers = np.array([len(index.agents) if number is None else number for number in found], np.int64)
    return _keys(numbers[concepts["agent"]], concepts["concept_id"])


def _keys(agent: NDArray[Any], concept_id: NDArray[Any]) -> NDArray[np.uint64]:
    """One key for an agent's concept: 53 bits of concept, the agent above them."""
    return (agent.astype(np.uint64) << np.uint64(53)) + concept_id.astype(np.uint64)
