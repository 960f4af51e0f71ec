"""The latest of Theorex's entries of the audit log, read backwards: the journal's end, and before it only what they need.

What a concept's sentiment was before the part that is read follows from the axon, which knows what it is now: the mentions
since are taken off. Where only a reading from the start can tell, `NeedsAll` is raised.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from theorex_lab.clock import EARLIEST
from theorex_lab.design import Asked, SearchFound, Told
from theorex_lab.designs.theorex.audit import AuditReader, Concept, sign_of
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.designs.theorex.design import READ_FROM
from theorex_lab.evolution.audit import found_in
from theorex_lab.home import Home
from theorex_lab.journal.event import Event
from theorex_lab.memory.decay import Tier

Key = tuple[str, int]  # agent, concept id

# A text without feeling changes no sign; where it is not a moment, it is not even read. Texts of an observation as stored.
_NEUTRAL = ('"sentiment":0.0,', '"type":"moment"')
# Kinds of events that these entries are read from where the axon tells the concepts' labels.
_READ_FROM = {"tier_change": ("imported", "prune", "scan"), "prune": ("prune",)}
_LEAST_EVENTS = 1_024
_GROWTH = 4  # how much more is read when what was read does not hold enough entries
_MOST_EVENTS = 50_000  # beyond, a reading from the start is quicker, and holds none of them
_EVENTS_AT_ONCE = 500
_SCANS_AT_ONCE = 4  # a scan may name every concept
_UNKNOWN = ""
_NAMING = frozenset(("observation", "graduated", "imported"))


class NeedsAll(Exception):
    """The entries hang on events that only a reading from the journal's start finds."""


class Newest:
    """The last entries that are asked for; `asked` has a limit."""

    def __init__(self, home: Home, asked: Asked) -> None:
        self.journal, self.views, self.asked = home.journal, home.views, asked
        self.last = asked.upto
        self.kinds = sorted({read_kind for kind in asked.kinds for read_kind in _READ_FROM.get(kind, READ_FROM[kind])})

    def entries(self) -> list[SearchFound]:
        """The entries, oldest first. Raises NeedsAll."""
        window: list[Event] = []
        start, size = self.last, _LEAST_EVENTS
        while True:
            before, start = start + 1, max(start - size, 0)
            window = self._page(start, before) + window
            found = self._told(window)
            if len(found) == self.asked.limit or self._is_all(start):
                return self._completed(found, start + 1)
            if len(window) > _MOST_EVENTS:
                raise NeedsAll
            size *= _GROWTH

    def _page(self, start: int, before: int) -> list[Event]:
        """The events with `start` < seq < `before`, oldest first, or so many of them that they are too many."""
        return self.journal.newest(_MOST_EVENTS + 1, after=start, before=before, kinds=self.kinds, lacking=_NEUTRAL)[
            ::-1
        ]

    def _is_all(self, start: int) -> bool:
        """Whether no event up to this one may be shown."""
        dated = self.asked.since > EARLIEST
        return start <= self.asked.after or (
            dated and not self.journal.newest(1, before=start + 1, kinds=self.kinds, since=self.asked.since)
        )

    def _told(self, window: Sequence[Event]) -> list[SearchFound]:
        reading = AuditReader(tier=_UNKNOWN)
        if "sentiment_flip" in self.asked.kinds:
            reading.concepts = self._before(window)
        found = found_in(window, reading.take, self.asked)
        # Whether a file's tier was taken over hangs on how often the concept had been mentioned.
        if _imported(window) & {_key(told) for _, told in found if told[0] == "tier_change"}:
            raise NeedsAll
        return found

    def _before(self, window: Sequence[Event]) -> dict[Key, Concept]:
        """The concepts whose signs may change in these events, as they were before them."""
        felt = _felt(window)
        if not felt:
            return {}
        axon = self.views.get(Axon)
        with axon.lock:
            since = [*self.journal.tail(self.last, kinds=self.kinds, upto=axon.seq)]
            if felt.keys() & (_imported([*window, *since]) | _pruned([*window, *since])):
                raise NeedsAll
            taken_off = _felt([*window, *since])
            rows = {key: axon.row(*key) for key in felt}
            sums = axon.concepts["sentiment_sum"]
            totals = {key: float(sums[row]) - taken_off[key] for key, row in rows.items() if row is not None}
            if len(totals) < len(felt):
                raise NeedsAll
            signs = {key: sign_of(total) for key, total in totals.items()}
            open_rows = {key: row for key, row in rows.items() if not signs[key] and row is not None}
            signs |= self._earlier_signs(axon, open_rows, window[0].seq)
        return {key: Concept("", _UNKNOWN, 0, totals[key], signs[key]) for key in felt}

    def _earlier_signs(self, axon: Axon, rows: dict[Key, int], before: int) -> dict[Key, int]:
        """The signs that sums which are 0 now had last, from earlier mentions."""
        if not rows:
            return {}
        if rows.keys() & _imported(self._earlier(("imported",), before)):
            raise NeedsAll
        mentioned = np.isin(axon.mentions["concept"], list(rows.values()))
        seqs = np.unique(axon.observations["seq"][axon.mentions["observation"][mentioned]])
        seqs = seqs[seqs < before][::-1]
        totals, found = dict.fromkeys(rows, 0.0), dict.fromkeys(rows, 0)
        for start in range(0, len(seqs), _EVENTS_AT_ONCE):
            for event in self.journal.read(seqs=seqs[start : start + _EVENTS_AT_ONCE].tolist())[::-1]:
                for key, felt in _felt([event]).items():
                    if key in totals:
                        totals[key] -= felt
                        found[key] = found[key] or sign_of(totals[key])
            if all(found.values()):
                break
        return found

    def _completed(self, found: list[SearchFound], before: int) -> list[SearchFound]:
        """The entries with the tiers from which concepts came, and with the labels that the part read did not name."""
        tiers = self._earlier_tiers({_key(told) for _, told in found if told[2].get("from") == _UNKNOWN}, before)
        labels = self._labels({int(told[2]["concept_id"]) for _, told in found if told[2].get("label") == ""})
        completed: list[SearchFound] = []
        for event, (kind, agent, detail) in found:
            more = {"from": tiers[_key((kind, agent, detail))]} if detail.get("from") == _UNKNOWN else {}
            if detail.get("label") == "":
                more["label"] = labels[int(detail["concept_id"])]
            completed.append((event, (kind, agent, {**detail, **more})))
        return completed

    def _labels(self, concepts: set[int]) -> dict[int, str]:
        """What the axon calls these concepts; '' where it knows nothing of them."""
        if not concepts:
            return {}
        erasures = self.journal.tail(0, kinds=["erasure"], upto=self.last)
        if any(not _NAMING.isdisjoint(event.body["first_seqs"] or _NAMING) for event in erasures):
            raise NeedsAll  # what named a concept may be gone, and only a later text name it
        axon, found = self.views.get(Axon), dict.fromkeys(concepts, "")
        with axon.lock:
            for concept in concepts:
                rows = np.flatnonzero(axon.concepts["concept_id"] == concept)
                found[concept] = axon.labels[int(rows[0])] if len(rows) else ""
        return found

    def _earlier_tiers(self, wanted: set[Key], before: int) -> dict[Key, str]:
        """The tiers of these concepts before an event; NEUTRAL where none had been set."""
        found: dict[Key, str] = {}
        if not wanted:
            return found
        for event in self._earlier(("imported", "prune", "scan"), before):
            if event.kind == "imported":
                if wanted & _imported([event]):
                    raise NeedsAll
            else:
                named = _tiers(event) if event.kind == "scan" else dict.fromkeys(_pruned([event]), Tier.NEUTRAL.name)
                found = {**{key: tier for key, tier in named.items() if key in wanted}, **found}
            if len(found) == len(wanted):
                break
        return {**dict.fromkeys(wanted, Tier.NEUTRAL.name), **found}

    def _earlier(self, kinds: Sequence[str], before: int) -> Iterator[Event]:
        """The events of these kinds before one, newest first."""
        while page := self.journal.newest(_SCANS_AT_ONCE, before=before, kinds=kinds):
            yield from page
            before = page[-1].seq


def _key(told: Told) -> Key:
    _, agent, detail = told
    return agent, int(detail["concept_id"])


def _felt(events: Iterable[Event]) -> dict[Key, float]:
    """What observations added to the sums of the concepts that they name, where they added anything."""
    found: dict[Key, float] = {}
    for event in events:
        if event.kind == "observation" and event.body["sentiment"] and event.body.get("counted", True):
            for number, _, _, count in event.body["concepts"]:
                key = event.agent, number
                found[key] = found.get(key, 0.0) + event.body["sentiment"] * count
    return found


def _imported(events: Iterable[Event]) -> set[Key]:
    return {(event.agent, event.body["concepts"][0][0]) for event in events if event.kind == "imported"}


def _pruned(events: Iterable[Event]) -> set[Key]:
    return {
        (agent, pruned["concept_id"])
        for event in events
        if event.kind == "prune"
        for agent, gone in event.body["concepts"].items()
        for pruned in gone
    }


def _tiers(scan: Event) -> dict[Key, str]:
    return {
        (agent, number): tier
        for agent, by_tier in scan.body["tiers"].items()
        for tier, numbers in by_tier.items()
        for number in numbers
    }
