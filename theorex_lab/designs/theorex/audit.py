"""The audit log's entries about an agent's concepts and moments."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from theorex_lab.design import Asked, SearchFound, Told
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.designs.theorex.design import READ_FROM
from theorex_lab.evolution.audit import cut, found_in
from theorex_lab.home import Home
from theorex_lab.journal.event import Event
from theorex_lab.memory.decay import Tier
from theorex_lab.search.items import MOMENT_TYPE

# Of the observations those that are no moments are not even read. Texts of an observation as stored.
_NO_MOMENT = ('"sentiment":', f'"type":"{MOMENT_TYPE}"')


def reading() -> Callable[[Event], Iterator[Told]]:
    """What tells of the journal's events from its start, in order, as (kind, agent, detail)."""
    tiers: dict[tuple[str, int], str] = {}

    def told(event: Event) -> Iterator[Told]:
        body, agent = event.body, event.agent
        if event.kind == "scan":
            yield from _changes(body["tiers"], tiers)
        elif event.kind == "prune":
            for owner, gone in body["concepts"].items():
                for pruned in gone:
                    tiers.pop((owner, pruned["concept_id"]), None)
                    yield "prune", owner, {"concept_id": str(pruned["concept_id"]), "count": pruned.get("count")}
        elif event.kind == "imported":  # the tier that a file states is no change itself
            tiers.setdefault((agent, body["concepts"][0][0]), body["tier"])
        elif event.kind == "graduated":
            named = {"concept_id": str(body["concept_id"]), "label": body["label"]}
            yield "graduation", agent, {**named, "days": len(body["days"])}
        elif body["type"] == MOMENT_TYPE:
            yield "moment_capture", agent, {"story": cut(body["text"]), "refs": body.get("refs", [])}

    return told


def _changes(scanned: Mapping[str, Mapping[str, list[int]]], tiers: dict[tuple[str, int], str]) -> Iterator[Told]:
    for agent, by_tier in scanned.items():
        for tier, numbers in by_tier.items():
            for number in numbers:
                before = tiers.get((agent, number), Tier.NEUTRAL.name)
                tiers[agent, number] = tier
                yield "tier_change", agent, {"concept_id": str(number), "from": before, "to": tier}


def audit_entries(home: Home, asked: Asked, take: Callable[[Event], Iterable[Told]]) -> list[SearchFound]:
    """The entries; a concept that was scanned or pruned has its label from the axon, '' where all that named it was erased."""
    kinds = sorted({kind for wanted in asked.kinds for kind in READ_FROM[wanted]})
    found = found_in(home.journal.tail(0, kinds=kinds, upto=asked.upto, lacking=_NO_MOMENT), take, asked)
    unnamed = {int(detail["concept_id"]) for _, (kind, _, detail) in found if kind in ("tier_change", "prune")}
    labels = _labels(home.views.get(Axon), unnamed) if unnamed else {}

    def labelled(told: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"label": labels.get(told["concept_id"], ""), **told} if "concept_id" in told else told

    return [(event, (kind, agent, labelled(told))) for event, (kind, agent, told) in found]


def _labels(axon: Axon, concepts: set[int]) -> dict[str, str]:
    """What the axon calls these concepts, also those that are gone."""
    with axon.lock:
        rows = np.flatnonzero(np.isin(axon.concepts["concept_id"], list(concepts))).tolist()
        return {str(axon.concepts["concept_id"][row]): axon.labels[row] for row in rows}
