"""The audit log's entries about an agent's concepts and moments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from theorex_lab.design import Asked, SearchFound, Told
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.designs.theorex.design import COUNTED, READ_FROM
from theorex_lab.evolution.audit import cut, found_in
from theorex_lab.home import Home
from theorex_lab.journal.event import Event
from theorex_lab.memory.decay import Tier
from theorex_lab.search.items import MOMENT_TYPE

_ROUNDING = 1e-9  # a sum this close to zero has no sign
# A text without feeling changes no sign; where it is not a moment, it is not even read. Texts of an observation as stored.
_NEUTRAL = ('"sentiment":0.0,', '"type":"moment"')
_SIGNS = {-1: "negative", 1: "positive"}


@dataclass
class Concept:
    """What an agent's concept was when the journal was read up to here."""

    label: str
    tier: str
    count: int = 0
    sentiment_sum: float = 0.0
    sign: int = 0  # of the sum when it last had one


class AuditReader:
    """Reads events in order, from the journal's start, and tells what each of them did."""

    def __init__(self) -> None:
        self.concepts: dict[tuple[str, int], Concept] = {}
        self._by_kind: dict[str, Callable[[Event], Iterator[Told]]] = {
            "observation": self._observation, "graduated": self._graduated, "imported": self._imported,
            "scan": self._scan, "prune": self._prune,
        }  # fmt: skip

    def take(self, event: Event) -> Iterator[Told]:
        """What one event did, as (kind, agent, detail)."""
        return self._by_kind[event.kind](event)

    def _observation(self, event: Event) -> Iterator[Told]:
        body = event.body
        for number, label, _, count in body["concepts"]:
            concept = self._concept(event.agent, number, label)
            # An observation from a file that states its concepts' numbers is not counted again.
            if body.get("counted", True):
                before = concept.sign
                _feel(concept, count, body["sentiment"] * count)
                if before and concept.sign != before:
                    told = {"from": _SIGNS[before], "to": _SIGNS[concept.sign]}
                    yield "sentiment_flip", event.agent, {"concept_id": str(number), "label": concept.label, **told}
        if body["type"] == MOMENT_TYPE:
            yield "moment_capture", event.agent, {"story": cut(body["text"]), "refs": body.get("refs", [])}

    def _graduated(self, event: Event) -> Iterator[Told]:
        body = event.body
        concept = self._concept(event.agent, body["concept_id"], body["label"])
        _feel(concept, sum(body["counts"]), 0.0)
        told = {"concept_id": str(body["concept_id"]), "label": concept.label, "days": len(body["days"])}
        yield "graduation", event.agent, told

    def _imported(self, event: Event) -> Iterator[Told]:
        """The numbers that a file states are where the running ones go on from; they are no change themselves."""
        number, label, _, count = event.body["concepts"][0]
        concept = self._concept(event.agent, number, label)
        if count > concept.count:
            concept.count = concept.sign = 0
            concept.sentiment_sum = 0.0
            _feel(concept, count, event.body["sentiment_sum"])
            concept.tier = event.body["tier"]
        return iter(())

    def _scan(self, event: Event) -> Iterator[Told]:
        for agent, by_tier in event.body["tiers"].items():
            for tier, numbers in by_tier.items():
                for number in numbers:
                    concept = self._concept(agent, number, "")
                    told = {"from": concept.tier, "to": tier}
                    concept.tier = tier
                    yield "tier_change", agent, {"concept_id": str(number), "label": concept.label, **told}

    def _prune(self, event: Event) -> Iterator[Told]:
        for agent, gone in event.body["concepts"].items():
            for pruned in gone:
                concept = self._concept(agent, pruned["concept_id"], "")
                self.concepts[agent, pruned["concept_id"]] = Concept("", Tier.NEUTRAL.name)
                told = {"concept_id": str(pruned["concept_id"]), "label": concept.label, "count": pruned.get("count")}
                yield "prune", agent, told

    def _concept(self, agent: str, number: int, label: str) -> Concept:
        """The agent's concept; its label is '' where all texts that named it were erased."""
        concept = self.concepts.setdefault((agent, number), Concept(label, Tier.NEUTRAL.name))
        concept.label = concept.label or label
        return concept


def sign_of(total: float) -> int:
    """The sign of a sum of sentiments; 0 where it is as good as none."""
    return 0 if abs(total) <= _ROUNDING else 1 if total > 0 else -1


def _feel(concept: Concept, count: int, sentiment: float) -> None:
    concept.count += count
    concept.sentiment_sum += sentiment
    concept.sign = sign_of(concept.sentiment_sum) or concept.sign


def reading() -> Callable[[Event], Iterator[Told]]:
    """What tells of the journal's events from its start, in order."""
    return AuditReader().take


def audit_entries(home: Home, asked: Asked, take: Callable[[Event], Iterable[Told]]) -> list[SearchFound]:
    """The entries. Once no file states numbers any more, what only counts mentions is not read.

    A concept that nothing named that was read has its label from the axon.
    """
    tail, kinds = home.journal.tail, sorted({kind for wanted in asked.kinds for kind in READ_FROM[wanted]})
    stated = max((event.seq for event in tail(0, kinds=["imported"], upto=asked.upto)), default=0)
    counted = tail(0, kinds=[*COUNTED, *kinds], upto=stated)
    found = found_in(chain(counted, tail(stated, kinds=kinds, upto=asked.upto, lacking=_NEUTRAL)), take, asked)
    unnamed = {int(told[2]["concept_id"]) for _, told in found if told[2].get("label") == ""}
    labels = _labels(home.views.get(Axon), unnamed) if unnamed else {}

    def labelled(told: Mapping[str, Any]) -> Mapping[str, Any]:
        return {**told, "label": labels.get(told["concept_id"], "")} if told.get("label") == "" else told

    return [(event, (kind, agent, labelled(told))) for event, (kind, agent, told) in found]


def _labels(axon: Axon, concepts: set[int]) -> dict[str, str]:
    """What the axon calls these concepts, also those that are gone."""
    with axon.lock:
        rows = np.flatnonzero(np.isin(axon.concepts["concept_id"], list(concepts))).tolist()
        return {str(axon.concepts["concept_id"][row]): axon.labels[row] for row in rows}
