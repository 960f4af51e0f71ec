"""Designs driven through the four methods by which whatever remembers is compared: observe, consolidate, inject, retrieve."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Self

from theorex_lab.clock import FixedClock
from theorex_lab.config import Settings
from theorex_lab.design import Design, Item
from theorex_lab.evolution.what_failed import WHAT_FAILED
from theorex_lab.journal.event import Event
from theorex_lab.lab import Lab
from theorex_lab.memory.context import choose
from theorex_lab.memory.filling import BYTES_PER_TOKEN
from theorex_lab.search.embed import Embedder

_MOST_HITS = 100


class Driven:
    """Designs in a home of their own, on a clock that stands where the log does; a `MemoryDesign`.

    It remembers what it observes as a home does: the night is the steps of the designs, what it injects are the lines of
    the context, what it retrieves are the finds of a search.
    """

    def __init__(
        self,
        designs: Sequence[Design],
        folder: str | Path,
        *,
        settings: Settings | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        """Opens the home at `folder`, an empty folder. Raises as `Lab` does."""
        self._clock, self._shown = FixedClock(0), set[str]()
        self.lab = Lab(folder, clock=self._clock, settings=settings, embedder=embedder, designs=designs)

    def observe(self, events: Sequence[Event]) -> None:
        """Append what happened, in journal order. Raises InvalidInput for an event that cannot be stored."""
        self.lab.journal.append(events, allow_future=True)
        self._shown.update(event.id for event in events)

    def consolidate(self, now: int) -> None:
        """Run the steps of the designs for all agents; `now` in µs UTC."""
        self._clock.microseconds = now
        for design in self.lab.home.designs:
            for step in design.steps:
                step.run(self.lab.home, None)

    def inject(self, now: int, tokens: int) -> list[Item]:
        """The lines of the context at `now` (µs UTC) within `tokens`."""
        self._clock.microseconds = now
        chosen = choose(self.lab.home, now, more=[WHAT_FAILED], tokens=tokens)
        return [*_within((Item(line.text, self._observed(line.items)) for line in chosen.lines), tokens)]

    def retrieve(self, query: str, now: int, tokens: int) -> list[Item]:
        """What a search finds at `now` (µs UTC), best first, as far as `tokens` reach."""
        self._clock.microseconds = now
        hits = self.lab.search(query, limit=_MOST_HITS)
        found = (Item(hit.text, self._observed([event])) for hit, event in zip(hits, hits.events, strict=True))
        return [*_within(found, tokens)]

    def _observed(self, ids: Iterable[str]) -> tuple[str, ...]:
        """The events that it was shown which these events rest on; ids of anything else rest on none."""
        found: dict[str, None] = {}
        asked, seen = set(ids), set[str]()
        while asked:
            events = list(self.lab.journal.read(ids=sorted(asked)))
            seen |= asked
            found.update(dict.fromkeys(event.id for event in events if event.id in self._shown))
            asked = {parent for event in events if event.id not in self._shown for parent in event.lineage} - seen
        return tuple(found)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.lab.close()


def _within(items: Iterator[Item], tokens: int) -> Iterator[Item]:
    """Items, a line each, as far as the tokens reach."""
    left = BYTES_PER_TOKEN * tokens + 1  # no line break after the last
    for item in items:
        left -= len(item.text.encode()) + 1
        if left < 0:
            return
        yield item
