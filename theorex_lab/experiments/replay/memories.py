"""Which memories can be compared: baselines, designs, and one's own, by name.

Each is driven through the four methods of a `MemoryDesign`: observe, consolidate, inject, retrieve.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from theorex_lab.clock import FixedClock
from theorex_lab.design import Design, Item, MemoryDesign, object_at
from theorex_lab.designs import installed
from theorex_lab.errors import InvalidInput, ModelUnavailable
from theorex_lab.evolution.boot import WHAT_FAILED
from theorex_lab.experiments.replay.baselines import BASELINES, make
from theorex_lab.journal.event import Event
from theorex_lab.lab import Lab
from theorex_lab.memory.context import render
from theorex_lab.text.line import BYTES_PER_TOKEN

Memory = str | Design | Callable[[], MemoryDesign]

_MOST_HITS = 100


class Housed:
    """Designs in a home of their own, on a clock that stands where the log does; a `MemoryDesign`.

    It remembers what it observes as a home does: the night is the steps of the designs, what it injects are the lines of
    the context, what it retrieves are the finds of a search. The home is in a temporary folder, which is gone when it is
    closed.
    """

    def __init__(self, designs: Sequence[Design], **given: Any) -> None:
        """`given`: settings and embedder. Raises as `Lab` does."""
        self._clock, self._shown = FixedClock(0), set[str]()
        self._folder = tempfile.TemporaryDirectory(prefix="theorex-compare-", ignore_cleanup_errors=True)
        self.lab = Lab(Path(self._folder.name) / "home", clock=self._clock, designs=designs, **given)

    def observe(self, events: Sequence[Event]) -> None:
        """Append what happened, in journal order. Raises InvalidInput for an event that cannot be stored."""
        self.lab.journal.append(events, allow_future=True)
        self._shown.update(event.id for event in events)

    def consolidate(self, now: int) -> None:
        """Run the steps of the designs for all agents, and embed what is queued; `now` in µs UTC."""
        self._clock.microseconds = now
        for design in self.lab.home.designs:
            for step in design.steps:
                step.run(self.lab.home, None)
        with suppress(ModelUnavailable):  # then words decide, as in any home
            self.lab.searcher.vectors.embed_pending()

    def inject(self, now: int, tokens: int) -> list[Item]:
        """The lines of the context at `now` (µs UTC) within `tokens`."""
        self._clock.microseconds = now
        context = render(self.lab.home, now, more=[WHAT_FAILED], tokens=tokens, query="")
        return [*_within((Item(text, self._observed(ids)) for text, ids in context.parts), tokens)]

    def retrieve(self, query: str, now: int, tokens: int) -> list[Item]:
        """What a search finds at `now` (µs UTC), best first, as far as `tokens` reach."""
        self._clock.microseconds = now
        for design in self.lab.home.shown:
            if design.retrieve is not None:
                own = design.retrieve(self.lab.home, self.lab.searcher, query, now, tokens)
                return [*_within((Item(item.text, self._observed(item.events)) for item in own), tokens)]
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

    def size(self) -> int:
        """Bytes of the home."""
        return sum(file.stat().st_size for file in self.lab.folder.rglob("*") if file.is_file())

    def close(self) -> None:
        """Close the home and remove it."""
        self.lab.close()
        self._folder.cleanup()


@dataclass(frozen=True)
class Maker:
    """Makes a fresh memory; can be sent to another process as long as what it makes it of can."""

    memory: Memory
    other: tuple[Event, ...] = ()  # the events of another log, for `shuffled`
    given: Mapping[str, Any] = field(default_factory=dict)  # settings and embedder of a design's home

    def __call__(self) -> MemoryDesign:
        """A memory that has seen nothing. Raises InvalidInput for an unknown name."""
        found = memory_named(self.memory, self.other) if isinstance(self.memory, str) else self.memory
        return Housed([found], **self.given) if isinstance(found, Design) else found()


def names_of(memories: Sequence[Memory] | Mapping[str, Memory]) -> dict[str, Memory]:
    """Each memory under its name. Raises InvalidInput for unknown names, and for two of one name."""
    given = memories.items() if isinstance(memories, Mapping) else ((_name_of(memory), memory) for memory in memories)
    named: dict[str, Memory] = {}
    for name, memory in given:
        if name in named:
            raise InvalidInput(f"got {name} twice; allowed is each memory once")
        if isinstance(memory, str):
            memory_named(memory)
        named[name] = memory
    return named


def _name_of(memory: Memory) -> str:
    return memory if isinstance(memory, str) else str(getattr(memory, "name", getattr(memory, "__name__", memory)))


def memory_named(name: str, other: tuple[Event, ...] = ()) -> Design | Callable[[], MemoryDesign]:
    """The baseline, design or class `module:Name` of this name. Raises InvalidInput where there is none."""
    if name in BASELINES:
        return partial(make, name, other)
    designs = {design.name: design for design in installed()}
    if name not in designs and ":" not in name:
        allowed = ", ".join([*designs, *BASELINES])
        raise InvalidInput(f"got the memory {name!r}; allowed are {allowed}, or a class of yours as module:Name")
    found: Any = designs.get(name) or object_at(name)
    if not (isinstance(found, Design) or callable(found)):
        raise InvalidInput(f"got the memory {name!r}; allowed is a class of the four methods, or a Design")
    memory: Design | Callable[[], MemoryDesign] = found
    return memory


def _within(items: Iterator[Item], tokens: int) -> Iterator[Item]:
    """Items, a line each, as far as the tokens reach."""
    left = BYTES_PER_TOKEN * tokens + 1  # no line break after the last
    for item in items:
        left -= len(item.text.encode()) + 1
        if left < 0:
            return
        yield item
