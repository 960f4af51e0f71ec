"""Memories that each do one thing wrong, around one that does nothing wrong.

`MUTANTS` has them by what is wrong. They say what a test of memories has to notice.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.eval.replay.baselines import Bm25
from theorex_lab.journal.event import Event
from theorex_lab.memory.contract import Item


class Sound:
    """Ranks what was said by its words, the newer of equal ones first."""

    def __init__(self) -> None:
        self.inner = Bm25()

    def observe(self, events: Sequence[Event]) -> None:
        self.inner.observe(events)

    def consolidate(self, now: int) -> None:
        self.inner.consolidate(now)

    def inject(self, now: int, tokens: int) -> Sequence[Item]:
        return self.inner.inject(now, tokens)

    def retrieve(self, query: str, now: int, tokens: int) -> Sequence[Item]:
        return self.inner.retrieve(query, now, tokens)


class DropsEveryThirdWrite(Sound):
    def __init__(self) -> None:
        super().__init__()
        self.n_prompts = 0

    def observe(self, events: Sequence[Event]) -> None:
        kept = []
        for event in events:
            self.n_prompts += event.kind == "prompt"
            if event.kind != "prompt" or self.n_prompts % 3:
                kept.append(event)
        super().observe(kept)


class FirstValueWins(Sound):
    """Takes no statement about what it already knows something of."""

    def __init__(self) -> None:
        super().__init__()
        self.topics: set[str] = set()

    def observe(self, events: Sequence[Event]) -> None:
        for event in events:
            topic = str(event.body.get("text", event.id)).partition(" is ")[0]
            if topic not in self.topics:
                self.topics.add(topic)
                super().observe([event])


class StaleFirst(Sound):
    """Gives what matches in the order in which it was said."""

    def __init__(self) -> None:
        super().__init__()
        self.ages: dict[str, int] = {}

    def observe(self, events: Sequence[Event]) -> None:
        for event in events:
            self.ages[event.id] = event.at
        super().observe(events)

    def retrieve(self, query: str, now: int, tokens: int) -> Sequence[Item]:
        items = super().retrieve(query, now, tokens)
        return sorted(items[:2], key=lambda item: self.ages[item.events[0]]) + list(
            items[2:]
        )


class Leaks(Sound):
    """Shares what it was told with all others of its kind, without saying whence."""

    everything: list[str] = []  # noqa: RUF012

    def observe(self, events: Sequence[Event]) -> None:
        super().observe(events)
        for event in events:
            if event.kind == "prompt":
                Leaks.everything.append(event.body["text"])

    def retrieve(self, query: str, now: int, tokens: int) -> Sequence[Item]:
        items = super().retrieve(query, now, tokens // 2)
        words = set(query.lower().split())
        best = sorted(
            Leaks.everything, key=lambda text: -len(words & set(text.lower().split()))
        )
        texts = {item.text for item in items}
        return [*items, *[Item(text) for text in best[:3] if text not in texts]][
            : tokens // 10
        ]


class Answers(Sound):
    """Changes what is answered."""

    def changed(self, items: list[Item], query: str, tokens: int) -> list[Item]:
        raise NotImplementedError

    def retrieve(self, query: str, now: int, tokens: int) -> Sequence[Item]:
        items = list(super().retrieve(query, now, tokens))
        return self.changed(items, query, tokens)


class Truncates(Answers):
    def changed(self, items: list[Item], query: str, tokens: int) -> list[Item]:
        return [item._replace(text=item.text[:24]) for item in items]


class Shuffles(Answers):
    random = random.Random(0)

    def changed(self, items: list[Item], query: str, tokens: int) -> list[Item]:
        self.random.shuffle(items)
        return items


class WorstFirst(Answers):
    def changed(self, items: list[Item], query: str, tokens: int) -> list[Item]:
        return items[::-1]


class LowersCase(Answers):
    def changed(self, items: list[Item], query: str, tokens: int) -> list[Item]:
        return [item._replace(text=item.text.lower()) for item in items]


class LosesDigits(Answers):
    def changed(self, items: list[Item], query: str, tokens: int) -> list[Item]:
        digits = str.maketrans("", "", "0123456789")
        return [item._replace(text=item.text.translate(digits)) for item in items]


class Denies(Answers):
    def changed(self, items: list[Item], query: str, tokens: int) -> list[Item]:
        return [
            item._replace(text=item.text.replace(" is ", " isn't ")) for item in items
        ]


class WithoutEvidence(Answers):
    def changed(self, items: list[Item], query: str, tokens: int) -> list[Item]:
        return [item._replace(events=()) for item in items]


class OthersEvidence(Answers):
    def changed(self, items: list[Item], query: str, tokens: int) -> list[Item]:
        events = [item.events for item in items]
        moved = [*events[1:], *events[:1]]
        return [Item(item.text, ids) for item, ids in zip(items, moved, strict=True)]


class InventsEvidence(Answers):
    def changed(self, items: list[Item], query: str, tokens: int) -> list[Item]:
        return [item._replace(events=("an-id-of-nothing",)) for item in items]


class PassesTheBudget(Answers):
    def changed(self, items: list[Item], query: str, tokens: int) -> list[Item]:
        return [*items, Item("and so on " * tokens)]


class RepeatsItself(Answers):
    def changed(self, items: list[Item], query: str, tokens: int) -> list[Item]:
        half = items[: max(1, len(items) // 2)]
        return [item for item in half for _ in range(2)][: max(1, tokens // 20)]


class StumblesOverOddQuestions(Answers):
    def changed(self, items: list[Item], query: str, tokens: int) -> list[Item]:
        query.encode("ascii")
        return items


class NewestWhateverIsAsked(Sound):
    def retrieve(self, query: str, now: int, tokens: int) -> Sequence[Item]:
        newest = [event for event in self.inner.events if event.kind == "prompt"][::-1]
        return [Item(e.body["text"], (e.id,)) for e in newest[: tokens // 25]]


class KeepsFive(Sound):
    def observe(self, events: Sequence[Event]) -> None:
        said = [e for e in (*self.inner.events, *events) if e.kind == "prompt"]
        self.inner = Bm25()
        self.inner.observe(said[-5:])


class ForgetsAfterAWeek(Sound):
    def consolidate(self, now: int) -> None:
        week = 7 * MICROSECONDS_PER_DAY
        kept = [event for event in self.inner.events if event.at > now - week]
        self.inner = Bm25()
        self.inner.observe(kept)


class MaintenanceEats(Sound):
    """Loses an event at each maintenance, even one that is repeated."""

    def consolidate(self, now: int) -> None:
        kept = [event for event in self.inner.events if event.kind == "prompt"][1:]
        self.inner = Bm25()
        self.inner.observe(kept)


class MaintenanceTalks(Sound):
    """Says at the end of each answer how often it was maintained."""

    def __init__(self) -> None:
        super().__init__()
        self.counter = itertools.count(1)
        self.line = Item("never maintained")

    def consolidate(self, now: int) -> None:
        self.line = Item(f"maintained {next(self.counter)} times")

    def retrieve(self, query: str, now: int, tokens: int) -> Sequence[Item]:
        return [*super().retrieve(query, now, tokens - 8), self.line]


class FailsAtTheSecondBatch(Sound):
    def observe(self, events: Sequence[Event]) -> None:
        if self.inner.events:
            raise RuntimeError("the store is locked")
        super().observe(events)


MUTANTS: dict[str, Callable[[], Sound]] = {
    mutant.__name__: mutant
    for mutant in (
        DropsEveryThirdWrite,
        FirstValueWins,
        StaleFirst,
        Leaks,
        Truncates,
        Shuffles,
        WorstFirst,
        LowersCase,
        LosesDigits,
        Denies,
        WithoutEvidence,
        OthersEvidence,
        InventsEvidence,
        PassesTheBudget,
        RepeatsItself,
        StumblesOverOddQuestions,
        NewestWhateverIsAsked,
        KeepsFive,
        ForgetsAfterAWeek,
        MaintenanceEats,
        MaintenanceTalks,
        FailsAtTheSecondBatch,
    )
}
