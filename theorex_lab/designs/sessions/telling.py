"""Which earlier sentences tell most: by rare words that are still in use, each counted once, for the room they take."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from theorex_lab.designs.sessions.said import Said, event_of, item_id, word_weights, words
from theorex_lab.home import Home

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LINE_BYTES = 3  # a list's sign and the line break
_MOST_WEIGHED = 4_000  # sentences that are weighed against each other; the best of the others follow in their order
_ASKED_FACTOR = 4.0  # how much more a word counts that is asked for
import os
WORTH_FACTOR = float(os.environ.get('WF','1'))
DIRECTIVE_FACTOR = float(os.environ.get('DF','0'))
USER_FACTOR = float(os.environ.get('UF','0'))


class Told(NamedTuple):
    """A sentence: its item's id, its text, when (µs) and by whom it was said, its session, how far it is trusted, and
    whether it is a rule of its user's."""

    item: str
    text: str
    at: int
    agent: str
    session: str
    trust: int
    user: bool
    standing: float

    @property
    def event(self) -> str:
        """The id of the event that holds it."""
        return event_of(self.item)


def told(view: Said, row: int) -> Told:
    """The sentence of a row."""
    table = view.sentences
    session = view.sessions[int(table["session"][row])].partition("/")[2]
    return Told(
        item_id(view.events[row], int(table["number"][row])), view.texts[row], int(table["at"][row]),
        view.agents[int(table["agent"][row])], session, int(table["trust"][row]), bool(table["user"][row]),
        float(table["standing"][row]),
    )  # fmt: skip


def telling(home: Home, now: int, query: str = "") -> Iterator[Told]:
    """Earlier sentences of the home's project or of none, those first that tell most in the least room.

    A word's weight is its idf over sessions times how lately it was in use, Σ (age in days + .5)^-.5; a word that a
    sentence before has told counts no more (Lin & Bilmes 2011: greedy cover, within 1 - 1/e of the best). With a query
    its words weigh more.
    """
    view = home.views.get(Said)
    with view.lock:
        rows, gains, found = _candidates(home, view, now, query)
        yield from (told(view, int(row)) for row in _covering(view, rows, gains, found))


def _candidates(home: Home, view: Said, now: int, query: str) -> tuple[Ints, Floats, Floats]:
    table = view.sentences
    rows = np.flatnonzero(view.of_project(table["project"], home.projects) & (table["at"] <= now))
    weights = word_weights(view, home.projects, now)
    weight = weights.idf * weights.live
    for word in words(query):
        if (number := view.words.find(word)) is not None:
            weight[number] *= 1 + _ASKED_FACTOR
    if not len(rows):
        return rows, np.zeros(0), weight
    numbers, first = view.word_rows(rows)
    gains = np.add.reduceat(np.append(weight[numbers], 0.0), first) * (np.diff(np.append(first, len(numbers))) > 0)
    size = np.array([len(view.texts[int(row)]) for row in rows]) + LINE_BYTES
    rate = gains / size * (1 + WORTH_FACTOR * table["worth"][rows]) * (1 + DIRECTIVE_FACTOR * (table["standing"][rows] > 0)) * (1 + USER_FACTOR * table["user"][rows])
    order = np.lexsort((-table["seq"][rows], -rate))
    return rows[order], rate[order], weight


def _covering(view: Said, rows: Ints, rates: Floats, weight: Floats) -> Iterator[int]:
    """The rows, greedily by what each adds to those before it for its room; what adds nothing is left out."""
    rows, rates = rows[:_MOST_WEIGHED], rates[:_MOST_WEIGHED]
    if not len(rows):
        return
    numbers, first = view.word_rows(rows)
    held = [part.tolist() for part in np.split(numbers, first[1:])]
    total = [sum(weight[n] for n in part) for part in held]
    heap = [(-rate, place) for place, rate in enumerate(rates.tolist()) if rate > 0]
    seen: set[int] = set()
    while heap:
        rate, place = heapq.heappop(heap)
        left = sum(weight[n] for n in held[place] if n not in seen)
        now = rates[place] * left / total[place]
        if now < -rate - 1e-12:
            if now > 0:
                heapq.heappush(heap, (-float(now), place))
            continue
        seen.update(held[place])
        yield int(rows[place])
