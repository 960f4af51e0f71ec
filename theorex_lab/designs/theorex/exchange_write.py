"""What the exchange files hold: records made from the views and the journal, in the original system's fields."""

from collections.abc import Iterator
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from theorex_lab.clock import MICROSECONDS_PER_DAY, to_iso
from theorex_lab.config import Settings
from theorex_lab.designs.theorex.axon import NODE_TYPE, Axon, numbers_of
from theorex_lab.designs.theorex.items import MOMENT
from theorex_lab.designs.theorex.scores import scores_of
from theorex_lab.designs.theorex.shared import SharedWeb, shared_concepts
from theorex_lab.designs.theorex.short_term import RETENTION_DAYS, ShortTerm, counted_upto
from theorex_lab.exchange.flat_files import FlatRecord
from theorex_lab.journal.base import Journal
from theorex_lab.journal.columns import Table
from theorex_lab.journal.event import Event, encode
from theorex_lab.memory.decay import Tier, stored_link_strength
from theorex_lab.memory.observation import TRUST
from theorex_lab.memory.retrieve import Searcher
from theorex_lab.search.index import ItemIndex
from theorex_lab.search.items import OBSERVATION

_DIGITS = 6  # decimal places of values that every export recomputes
_VECTORS_AT_ONCE = 1_000
# The name of each level of trust; of two names the one that may come from anybody's file.
SOURCES = {number: name for name, number in reversed(TRUST.items())}


class WrittenMemory(NamedTuple):
    """What an export reads: views whose locks are held, journal and settings, the present (µs), and whose memory it is."""

    axon: Axon
    shared: SharedWeb
    short_term: ShortTerm
    journal: Journal
    settings: Settings
    now: int
    agents: list[str]

    @property
    def owners(self) -> list[str]:
        """Those of the agents who have an axon."""
        return [name for name in self.agents if self.axon.agents.find(name) is not None]


def axon_attributes(agent: str, short_term: ShortTerm) -> FlatRecord:
    """Attributes of an agent's graph: whose it is, and up to when each graduated concept's records were counted."""
    upto = sorted((str(concept), to_iso(at)) for concept, at in counted_upto(short_term, agent).items())
    return {"agent_id": agent, "graduated": dict(upto)}


def axon_nodes(memory: WrittenMemory, agent: str) -> Iterator[FlatRecord]:
    """A node a living concept of the agent, in the axon's order; weight and tier are those of the present.

    `scanned_tier` is the tier that the last scan noted, `decayed_counts` stand at `last_seen`.
    """
    axon = memory.axon
    current = scores_of(axon, memory.now, memory.settings, agents=[agent])
    rows = current.rows.tolist()
    for position, (row, told) in enumerate(zip(rows, _told(axon.concepts, rows), strict=True)):
        attributes = {
            "canonical_form": axon.labels[row], "surface_form": axon.surfaces[row], "concept_id": told["concept_id"],
            "node_type": axon.node_types[told["node_type"]], "observation_type": axon.types[told["type"]],
            "importance_weight": round(float(current.importance[position]), _DIGITS),
            "relevance_tier": Tier(int(current.tier[position])).name, "frequency_count": told["count"],
            "last_seen": to_iso(told["last_seen"]), "sentiment": round(told["sentiment_sum"] / max(told["count"], 1), _DIGITS),
            "agent_id": agent, "source_weight": told["source_weight"], "first_seen": to_iso(told["first_seen"]),
            "fix_count": told["fix_count"], "sentiment_sum": told["sentiment_sum"], "trust": SOURCES[told["trust"]],
            "scanned_tier": Tier(told["tier"]).name, "decayed_counts": told["decayed"], **_said(told)}  # fmt: skip
        yield {"key": str(told["concept_id"]), "attributes": attributes}


def _told(table: Table, rows: list[int]) -> Iterator[FlatRecord]:
    """The values of each of these rows of a table, by the names of its columns."""
    columns = {name[1:]: column[rows].tolist() for name, column in table.columns("").items()}
    return (dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True))


def _said(told: FlatRecord) -> FlatRecord:
    """Who said a concept, where not all of its mentions are the owner's own, or all a stranger's: levels of trust, own numbers."""
    if told["refused"] < 0 and (told["affirmed"] < 0 or told["heard"] < 0):
        return {}
    own: FlatRecord = {name: SOURCES.get(told[name]) for name in ("affirmed", "refused", "heard")}
    if told["affirmed"] >= 0:
        own |= {name: told[f"own_{name}"] for name in ("count", "fix_count")}
        own |= {name: to_iso(told[f"own_{name}"]) for name in ("first_seen", "last_seen")}
    return {"said": own}


def cold_nodes(memory: WrittenMemory) -> Iterator[tuple[str, FlatRecord]]:
    """An archive id and the attributes of each concept that sleeps."""
    for node in (node for owner in memory.owners for node in axon_nodes(memory, owner)):
        if node["attributes"]["relevance_tier"] == Tier.SLEEPING.name:
            yield f"{node['key']}_{memory.now // 1_000}", node["attributes"]


def axon_edges(axon: Axon, agent: str) -> Iterator[FlatRecord]:
    """An edge a present link between the agent's concepts, in the axon's order."""
    links, ids = axon.links, axon.concepts["concept_id"]
    mine = axon.concepts["agent"][links["a"]] == axon.agents.find(agent)
    for row in np.flatnonzero(mine & (links["count"] > 0)).tolist():
        ends = int(ids[links["a"][row]]), int(ids[links["b"][row]])
        yield _edge(*ends, int(links["count"][row]), int(links["last_seen"][row]))


def _edge(source: int, target: int, count: int, last_seen: int, **more: Any) -> FlatRecord:
    strength = round(float(stored_link_strength(count)), _DIGITS)
    attributes = {"strength": strength, "co_occurrence_count": count, "last_co_occurrence": to_iso(last_seen), **more}
    return {"key": f"{source}-{target}", "source": str(source), "target": str(target), "attributes": attributes}


def shared_nodes(memory: WrittenMemory) -> list[FlatRecord]:
    """A node a concept of the shared web with what each agent contributed.

    A contribution is `forgotten` where its agent's axon holds the concept no more; a concept that all have forgotten
    has no text. In order of concept_id. Of several contributions the one of the highest source weight speaks, of equal ones the latest.
    """
    axon, shared, table = memory.axon, memory.shared, memory.shared.concepts
    summed = {concept.concept_id: concept for concept in shared_concepts(axon, shared, memory.now, memory.settings)}
    given: dict[int, list[FlatRecord]] = {}
    spoken: dict[int, tuple[Any, ...]] = {}
    for told in _told(table, _rows_of_agents(shared, table["agent"], memory.agents)):
        agent, concept = shared.agents[told["agent"]], told["concept_id"]
        known = axon.row(agent, concept)
        contribution = {
            "agent_id": agent, "frequency_count": told["count"], "fix_count": told["fix_count"],
            "first_seen": to_iso(told["first_seen"]), "last_seen": to_iso(told["last_seen"]),
            "trust": SOURCES[told["trust"]], "source_weight": told["source_weight"]}  # fmt: skip
        given.setdefault(concept, []).append(contribution | ({"forgotten": True} if known is None else {}))
        if known is not None:
            claim = (told["source_weight"], told["last_seen"], agent, known)
            spoken[concept] = max(claim, spoken.get(concept, claim))
    nodes = []
    for concept, contributions in sorted(given.items()):
        attributes: FlatRecord = {"concept_id": concept, "node_type": NODE_TYPE}
        if concept in spoken:
            weight, _, agent, known = spoken[concept]
            numbers, node_type = summed[concept], axon.node_types[int(axon.concepts["node_type"][known])]
            attributes |= {
                "canonical_form": axon.labels[known], "node_type": node_type, "surface_form": axon.surfaces[known],
                "importance_weight": round(numbers.importance, _DIGITS), "relevance_tier": numbers.tier,
                "frequency_count": numbers.count, "last_seen": to_iso(numbers.last_seen), "agent_id": agent,
                "source_weight": weight}  # fmt: skip
        attributes["contributions"] = sorted(contributions, key=itemgetter("agent_id"))
        nodes.append({"key": str(concept), "attributes": attributes})
    return nodes


def shared_edges(memory: WrittenMemory) -> list[FlatRecord]:
    """An edge a link of the shared web with what each agent contributed, in order of its ends."""
    shared, table = memory.shared, memory.shared.links
    given: dict[tuple[int, int], list[FlatRecord]] = {}
    numbers: dict[tuple[int, int], tuple[int, int]] = {}
    for told in _told(table, _rows_of_agents(shared, table["agent"], memory.agents)):
        ends, count, last_seen = (told["a"], told["b"]), told["count"], told["last_seen"]
        contribution = {"agent_id": shared.agents[told["agent"]], "co_occurrence_count": count}
        given.setdefault(ends, []).append({**contribution, "last_co_occurrence": to_iso(last_seen)})
        before = numbers.get(ends, (0, last_seen))
        numbers[ends] = before[0] + count, max(before[1], last_seen)
    by_agent = {ends: sorted(given[ends], key=itemgetter("agent_id")) for ends in sorted(given)}
    return [_edge(*ends, *numbers[ends], contributions=given) for ends, given in by_agent.items()]


def _rows_of_agents(view: SharedWeb | ShortTerm, column: NDArray[Any], agents: list[str]) -> list[int]:
    rows: list[int] = np.flatnonzero(np.isin(column, numbers_of(view.agents, agents))).tolist()
    return rows


def short_term_days(memory: WrittenMemory) -> dict[str, list[int]]:
    """day (YYYY-MM-DD) -> seqs of the events that were kept on it, both in order."""
    table = memory.short_term.records
    mine = _rows_of_agents(memory.short_term, table["agent"], memory.agents)
    days, seqs = table["at"][mine] // MICROSECONDS_PER_DAY, table["seq"][mine]
    midnights = {int(day) * MICROSECONDS_PER_DAY: np.unique(seqs[days == day]).tolist() for day in np.unique(days)}
    return {to_iso(at)[:10]: found for at, found in midnights.items()}


def short_term_records(memory: WrittenMemory, seqs: list[int], *, recent: bool = False) -> Iterator[FlatRecord]:
    """A record a concept of each event; where `recent`, only of the last fourteen days."""
    oldest = memory.now - RETENTION_DAYS * MICROSECONDS_PER_DAY
    for start in range(0, len(seqs), _VECTORS_AT_ONCE):
        for event in memory.journal.read(seqs=seqs[start : start + _VECTORS_AT_ONCE]):
            if not recent or oldest <= event.at <= memory.now:
                yield from _short_term_of(event)


def _short_term_of(event: Event) -> Iterator[FlatRecord]:
    moment, body = to_iso(event.at), event.body
    for position, (number, label, surface, count) in enumerate(body["concepts"]):
        yield {
            "id": f"{event.id}:{position}", "concept_id": number, "surface_form": surface, "canonical_form": label,
            "composite_score": body["score"], "source_weight": body["weight"], "timestamp": moment, "date": moment[:10],
            "agent_id": event.agent, "session_id": event.session, "frequency_count": count, "source": body["source"],
        }  # fmt: skip


def observation_records(memory: WrittenMemory, only: str | None = None) -> Iterator[FlatRecord]:
    """Whole sentences, of one type or of all, in journal order. `faded` are those of its concepts that were pruned."""
    axon, names = memory.axon, set(memory.agents)
    gone = ~axon.concepts["alive"][axon.mentions["concept"]]
    seqs = axon.observations["seq"][axon.mentions["observation"][gone]].tolist()
    faded: dict[int, list[int]] = {}
    for seq, row in zip(seqs, axon.mentions["concept"][gone].tolist(), strict=True):
        faded.setdefault(seq, []).append(int(axon.concepts["concept_id"][row]))
    for event in memory.journal.tail(0, kinds=["observation"], upto=axon.seq):
        if event.agent in names and only in (None, event.body["type"]):
            yield _observation_of(event, faded.get(event.seq, []))


def _observation_of(event: Event, faded: list[int]) -> FlatRecord:
    body = event.body
    return {
        "id": event.id, "timestamp": to_iso(event.at), "agent_id": event.agent, "session_id": event.session,
        "observation_type": body["type"], **{name: body[name] for name in ("text", "tags", "source")},
        "source_weight": body["weight"], **{name: body[name] for name in ("sentiment", "extractor", "concepts")},
        "faded": faded, "lineage": list(event.lineage),
        **{name: body[name] for name in ("refs", "refused", "project") if body.get(name)}}  # fmt: skip


def moment_document(record: FlatRecord) -> FlatRecord:
    """A moment as a document: `story` and `code_refs` in place of the sentence's text and refs, and its concepts' ids."""
    kept = {name: value for name, value in record.items() if name not in ("text", "refs")}
    ids = [concept[0] for concept in record["concepts"]]
    return {**kept, "story": record["text"], "code_refs": record.get("refs", []), "concept_ids": ids}


def vector_lines(searcher: Searcher, agents: list[str]) -> Iterator[str]:
    """A line an observation of these agents that has a vector of the embedder in use, in order of arrival."""
    with searcher.home.views.reading(searcher.home.item_view) as index:
        texts = np.flatnonzero(index.allowed(agents=agents) & index.of_kinds([OBSERVATION.name, MOMENT.name]))
        for start in range(0, len(texts), _VECTORS_AT_ONCE):
            yield from _vectors_of(searcher, index, texts[start : start + _VECTORS_AT_ONCE])


def _vectors_of(searcher: Searcher, index: ItemIndex, documents: NDArray[np.int64]) -> Iterator[str]:
    found, matrix = searcher.vectors.cache.get(index.keys(documents))
    documents, matrix = documents[found], matrix[found]
    seqs = index.documents["seq"][documents].tolist()
    ids = {event.seq: event.id for event in searcher.home.journal.read(seqs=seqs)}
    # Nine significant digits give every float32 back.
    pattern = ",".join(["%.9g"] * matrix.shape[1])
    for key, seq, vector in zip(index.keys(documents), seqs, matrix.tolist(), strict=True):
        head = {"id": ids[seq], "text_hash": key.tobytes().hex(), "embedder": searcher.vectors.embedder.id}
        yield f'{encode(head)[:-1]},"vector":[{pattern % tuple(vector)}]}}'
