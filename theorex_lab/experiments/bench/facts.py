"""Facts: a write with all its checks, and what was believed at a moment."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from theorex_lab.clock import FixedClock
from theorex_lab.designs.facts.facts import Facts, facts_of
from theorex_lab.experiments.bench.made import NOW, texts
from theorex_lab.experiments.bench.measure import Ground, Round, alternately, elapsed, row
from theorex_lab.journal.event import Event, new_event
from theorex_lab.journal.view import fold_into
from theorex_lab.lab import Lab

_OF_EACH = 20  # facts an entity


def _event(number: int, text: str, at: int) -> Event:
    entity, turn = f"p{number // _OF_EACH}", number % _OF_EACH + 1
    body = {
        "fact_id": f"{entity}-{turn:03d}", "entity": f"people/{entity}", "text": text, "category": "context", "confidence": 0.8,
        "abstraction": "episode", "tags": [], "source": "agent", "origin": "", "supersedes": [], "valid_from": None,
        "valid_to": None, "project": "",
    }  # fmt: skip
    return new_event("fact", body, agent="main", at=at)


def _laid(ground: Ground) -> Lab:
    """A home of so many facts."""
    lab = Lab(ground.folder / "home", clock=FixedClock(NOW))
    _ = lab.facts  # its kinds of events are known from here on
    made = texts(ground.rows, length=8)
    lab.journal.append([_event(number, text, NOW - ground.rows + number) for number, text in enumerate(made)])
    return lab


@row("fact-write", "a fact written to one of 50 entities, time that passes", "a bare durable append", at_most=3)
def _fact_write(ground: Ground) -> Iterator[Round]:
    new, numbers = texts(5_000, length=8, seed=3), count()
    with _laid(ground) as lab:

        def ours() -> None:
            number = next(numbers) % len(new)
            lab.facts.write(f"people/p{number % min(50, ground.rows)}", new[number])

        def bare() -> None:
            lab.journal.append([new_event("flushed", {"upto": 0}, agent="main", at=NOW)])

        yield alternately(ours, bare, calls=50, meter=elapsed)


@row("fact-as-of", "what was believed at a moment", "a fold of the same facts", at_most=2, target_from=100_000)
def _as_of(ground: Ground) -> Iterator[Round]:
    with _laid(ground) as lab:
        home, last = lab.home, lab.journal.last_seq()
        yield alternately(lambda: facts_of(home, as_of=NOW), lambda: fold_into(Facts(), lab.journal, last))
