"""The audit log: what befell the memory, read from the journal, which is the only record of it.

The latest entries are read backwards, as far as they need; see `audit_newest`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from theorex_lab.clock import EARLIEST, to_iso
from theorex_lab.designs.theorex.moments import MOMENT_TYPE
from theorex_lab.errors import InvalidInput
from theorex_lab.journal.base import Journal
from theorex_lab.journal.event import Event
from theorex_lab.memory.decay import Tier

if TYPE_CHECKING:
    from theorex_lab.journal.view import Views

_CONCEPTS = ("observation", "graduated", "imported", "prune")
# Kind of an entry -> the kinds of events that it is read from.
READ_FROM = {
    "tier_change": (*_CONCEPTS, "scan"),
    "sentiment_flip": _CONCEPTS,
    "graduation": ("graduated",),
    "prune": _CONCEPTS,
    "moment_capture": ("observation",),
    "outcome_record": ("outcome",),
    "review": ("reviewed",),
    "gate": ("gated",),
    "erasure": ("erasure",),
    "salvage": ("salvaged",),
}
KINDS = tuple(READ_FROM)
_ROUNDING = 1e-9  # a sum this close to zero has no sign
_WORDS_CHARACTERS = 200
_SIGNS = {-1: "negative", 1: "positive"}

Detail = dict[str, Any]


@dataclass(frozen=True)
class Entry:
    """One thing that happened: when (ISO 8601, UTC), to which agent, its kind (one of KINDS) and what there is to say."""

    at: str
    agent: str
    kind: str
    detail: Detail

    def to_dict(self) -> dict[str, Any]:
        """The entry as JSON holds it."""
        return asdict(self)


def audit(
    journal: Journal,
    *,
    since: int | None = None,
    kinds: Sequence[str] | None = None,
    limit: int | None = None,
    views: Views | None = None,
) -> list[Entry]:
    """What happened, in the journal's order: from a time on (µs UTC), of these kinds or all, the last `limit`.

    With a limit and the journal's `views` only the end of the journal is read, where that tells as much. Detail names the
    event it was read from in `event_id`; concept ids are texts, since they exceed what some readers keep exact. What
    was erased is told only as an erasure. Raises InvalidInput for an unknown kind or a negative limit.

    >>> from theorex_lab import Lab
    >>> with Lab.temporary() as lab:
    ...     _ = lab.agent("main").write("a stale cache", observation_type="moment")
    ...     [each.kind for each in audit(lab.journal)]
    ['moment_capture']
    """
    chosen = KINDS if kinds is None else tuple(kinds)
    if unknown := [kind for kind in chosen if kind not in KINDS]:
        raise InvalidInput(f"got the kind {unknown[0]!r}; allowed are {', '.join(KINDS)}")
    if limit is not None and limit < 0:
        raise InvalidInput(f"got a limit of {limit} entries; allowed is 0 or more")
    if limit == 0 or not chosen:
        return []
    asked = Asked(chosen, EARLIEST if since is None else since, limit)
    if limit is not None and views is not None:
        from theorex_lab.evolution.audit_newest import NeedsAll, Newest

        try:
            return Newest(journal, views, asked).entries()
        except NeedsAll:
            pass  # what is shown hangs on what was long ago
    read = sorted({each for kind in chosen for each in READ_FROM[kind]})
    return asked.of(Reading(), journal.tail(0, kinds=read))


@dataclass(frozen=True)
class Asked:
    """Which entries are wanted: of these kinds, from this time on (µs UTC), the last `limit` or all."""

    kinds: tuple[str, ...]
    since: int
    limit: int | None

    def of(self, reading: Reading, events: Iterable[Event]) -> list[Entry]:
        """The wanted entries among what these events did."""
        found: deque[tuple[Event, str, str, Detail]] = deque(maxlen=self.limit)
        for event in events:
            for kind, agent, detail in reading.take(event):
                if kind in self.kinds and event.at >= self.since:
                    found.append((event, agent, kind, detail))
        return [
            Entry(to_iso(event.at), agent, kind, {**detail, "event_id": event.id})
            for event, agent, kind, detail in found
        ]


_Told = Iterator[tuple[str, str, Detail]]  # kind, agent, detail


@dataclass
class Concept:
    """What an agent's concept was when the journal was read up to here."""

    label: str
    tier: str
    count: int = 0
    sentiment_sum: float = 0.0
    sign: int = 0  # of the sum when it last had one


class Reading:
    """Reads events in order and tells what each of them did.

    `tier`: what a concept's is before the first event that names it; NEUTRAL where the journal is read from its start.
    """

    def __init__(self, tier: str = Tier.NEUTRAL.name) -> None:
        self.concepts: dict[tuple[str, int], Concept] = {}
        self._tier = tier
        self._by_kind: dict[str, Callable[[Event], _Told]] = {
            "observation": self._observation, "graduated": self._graduated, "imported": self._imported,
            "scan": self._scan, "prune": self._prune, "outcome": _outcome, "reviewed": _reviewed, "gated": _gated,
            "erasure": _erasure, "salvaged": _salvage,
        }  # fmt: skip

    def take(self, event: Event) -> _Told:
        """What one event did, as (kind, agent, detail)."""
        return self._by_kind[event.kind](event)

    def _observation(self, event: Event) -> _Told:
        body = event.body
        for number, label, _, count in body["concepts"]:
            concept = self._concept(event.agent, number, label)
            # What came with a file that states its concepts' numbers counts nothing anew.
            if body.get("counted", True):
                before = concept.sign
                _feel(concept, count, body["sentiment"] * count)
                if before and concept.sign != before:
                    told = {"from": _SIGNS[before], "to": _SIGNS[concept.sign]}
                    yield "sentiment_flip", event.agent, {"concept_id": str(number), "label": concept.label, **told}
        if body["type"] == MOMENT_TYPE:
            yield "moment_capture", event.agent, {"story": _cut(body["text"]), "refs": body.get("refs", [])}

    def _graduated(self, event: Event) -> _Told:
        body = event.body
        concept = self._concept(event.agent, body["concept_id"], body["label"])
        _feel(concept, sum(body["counts"]), 0.0)
        told = {"concept_id": str(body["concept_id"]), "label": concept.label, "days": len(body["days"])}
        yield "graduation", event.agent, told

    def _imported(self, event: Event) -> _Told:
        """The numbers that a file states are where the running ones go on from; they are no change themselves."""
        number, label, _, count = event.body["concepts"][0]
        concept = self._concept(event.agent, number, label)
        if count > concept.count:
            concept.count = concept.sign = 0
            concept.sentiment_sum = 0.0
            _feel(concept, count, event.body["sentiment_sum"])
            concept.tier = event.body["tier"]
        return iter(())

    def _scan(self, event: Event) -> _Told:
        for agent, by_tier in event.body["tiers"].items():
            for tier, numbers in by_tier.items():
                for number in numbers:
                    concept = self._concept(agent, number, "")
                    told = {"from": concept.tier, "to": tier}
                    concept.tier = tier
                    yield "tier_change", agent, {"concept_id": str(number), "label": concept.label, **told}

    def _prune(self, event: Event) -> _Told:
        for agent, gone in event.body["concepts"].items():
            for each in gone:
                concept = self._concept(agent, each["concept_id"], "")
                self.concepts[agent, each["concept_id"]] = Concept("", Tier.NEUTRAL.name)
                told = {"concept_id": str(each["concept_id"]), "label": concept.label, "count": each.get("count")}
                yield "prune", agent, told

    def _concept(self, agent: str, number: int, label: str) -> Concept:
        """The agent's concept; its label is '' where all texts that named it were erased."""
        concept = self.concepts.setdefault((agent, number), Concept(label, self._tier))
        concept.label = concept.label or label
        return concept


def sign_of(total: float) -> int:
    """The sign of a sum of sentiments; 0 where it is as good as none."""
    return 0 if abs(total) <= _ROUNDING else 1 if total > 0 else -1


def _feel(concept: Concept, count: int, sentiment: float) -> None:
    concept.count += count
    concept.sentiment_sum += sentiment
    concept.sign = sign_of(concept.sentiment_sum) or concept.sign


def _outcome(event: Event) -> _Told:
    told = {"decision": _cut(event.body["decision"]), "success": event.body["success"], "tags": event.body["tags"]}
    yield "outcome_record", event.agent, told


def _reviewed(event: Event) -> _Told:
    body = event.body
    told = {name: body[name] for name in ("outcome_id", "score", "failure_class", "model_used")}
    yield "review", event.agent, {**told, "fix": _cut(body["fix_description"])}


def _gated(event: Event) -> _Told:
    names = ("decision", "before", "after", "n", "policy")
    yield "gate", event.agent, {name: event.body.get(name) for name in names}


def _erasure(event: Event) -> _Told:
    yield "erasure", event.agent, {"events": len(event.body["ids"])}


def _salvage(event: Event) -> _Told:
    lost = ", ".join(f"{first}–{last}" if last > first else f"{first}" for first, last in event.body["lost"])
    yield (
        "salvage",
        event.agent,
        {"kept": event.body["events"], "lost": lost or "nothing", "set_aside": event.body["set_aside"]},
    )


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _WORDS_CHARACTERS else f"{line[: _WORDS_CHARACTERS - 1]}…"
