"""Events of one's own file in a home where other events are there already: new ones get the seqs that follow.

Seqs in bodies are rewritten: erasure.first_seqs, salvaged.lost, and those of the designs (`design.EventsPart`). Ids
that are derived from seqs become others: an own step would find its id taken. The names of segments in `archived` stay
as they were: bodies come whole, and no segment is needed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

from theorex_lab.design import Design
from theorex_lab.ids import derived_event_id
from theorex_lab.journal.event import Event


def moved_id(event: Event, designs: Iterable[Design]) -> str:
    """The id of an event that was appended under another seq, where its own is derived from the seq."""
    is_named = any(event.kind in design.events.named_by_seq for design in designs)
    return derived_event_id("moved", event.id) if is_named else event.id


class Own:
    """Takes events in as they are, and knows under which seqs."""

    def __init__(self, designs: Sequence[Design]) -> None:
        self._designs = designs
        self._members = {kind: names for design in designs for kind, names in design.events.seqs.items()}
        self._starts: list[int] = []  # the first seq in the file of each run of events that moved equally far
        self._runs: list[tuple[int, int]] = []  # the last seq of it in the file, and how far it moved

    def made(self, event: Event) -> Event | None:
        """What is appended of it."""
        if event.erased or not any(shift for _, shift in self._runs):
            return event
        return event._replace(id=moved_id(event, self._designs), body={**event.body, **self._seqs(event)})

    def noted(self, event: Event, made: Event) -> None:
        """It is there now, as `made`, under that one's seq."""
        shift = made.seq - event.seq
        if self._runs and self._runs[-1] == (event.seq - 1, shift):
            self._runs[-1] = event.seq, shift
        else:
            self._starts.append(event.seq)
            self._runs.append((event.seq, shift))

    def _seqs(self, event: Event) -> dict[str, object]:
        body = event.body
        if event.kind == "erasure" and body["first_seqs"] is not None:
            return {"first_seqs": {kind: self._seq(seq) for kind, seq in body["first_seqs"].items()}}
        if event.kind == "salvaged":
            return {"lost": [[self._seq(seq) for seq in gap] for gap in body["lost"]]}
        held = {name: body.get(name) for name in self._members.get(event.kind, ())}
        return {name: self._seq(seq) for name, seq in held.items() if seq is not None}

    def _seq(self, seq: int) -> int:
        """The seq here of an event of the file; one above all of them stands for whatever comes."""
        place = bisect_right(self._starts, seq) - 1
        if place < 0 or seq > self._runs[-1][0]:
            return seq
        last, shift = self._runs[place]
        return min(seq, last) + shift
