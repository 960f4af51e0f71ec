"""Which earlier sentences tell most: by rare words that are still in use, each counted once, for the room they take."""

import heapq
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from theorex_lab.clock import MICROSECONDS_PER_DAY
from theorex_lab.designs.sessions.said import Floats, Ints, Said, word_weights
from theorex_lab.designs.sessions.sentences import holder_of, item_id, words
from theorex_lab.home import Home

LINE_BYTES = 3  # a list's sign and the line break
_MOST_WEIGHED = 20_000  # sentences that are weighed against each other; the best of the others follow in their order
ASKED_FACTOR = 4.0  # how much more a word counts that is asked for

# How much more a sentence counts that is worth keeping, one that its user says again, and a note; how much less one of few words.
WORTH_FACTOR, AGAIN_FACTOR, WRITTEN_FACTOR = 0.1, 1.0, 1.0
_FEWEST_WORDS, _SHORT_FACTOR = 5, 0.4


class Told(NamedTuple):
    """A sentence: its item's id, its text, when (µs) and by whom it was said last, in which session, how far it is
    trusted, how far it stands as a rule, and on how many days it was said."""

    item: str
    text: str
    at: int
    agent: str
    session: str
    trust: int
    standing: float
    days: int

    @property
    def event(self) -> str:
        """The id of the event that holds it."""
        return holder_of(self.item)


class Spoken(NamedTuple):
    """Texts that were said, each once: a row in which it was, and on how many days it was."""

    rows: Ints
    days: Ints


def spoken(view: Said, projects: Sequence[str] | None, now: int, *, by_users: bool = False) -> Spoken:
    """What was said up to a time (µs) in these projects (None: all) or in none, each where it was trusted most, then last.

    Left out is what may be pasted, unless its user said it on two days or more: then it is a text of their own. by_users:
    what is surely the word of users alone, in each project by itself.
    """
    table = view.sentences
    mine = view.of_project(table["project"], projects) & (table["at"] <= now)
    rows = np.flatnonzero(mine & (table["user"] > 0) & (table["own"] > 0) if by_users else mine)
    text = table["text"].astype(np.int64) + (table["project"] * len(view.texts) if by_users else 0)
    rows = rows[np.lexsort((table["seq"][rows], table["at"][rows], text[rows]))]
    text, day = text[rows], table["at"][rows] // MICROSECONDS_PER_DAY
    last = np.flatnonzero(np.diff(text, append=-1))
    new_day = (np.diff(text, prepend=-1) != 0) | (np.diff(day, prepend=-1) != 0)
    days = np.diff(np.cumsum(new_day)[last], prepend=0)
    best = rows[np.lexsort((np.arange(len(rows)), table["trust"][rows], table["own"][rows], text))[last]]
    kept = (table["own"][best] > 0) | (days > 1)
    return Spoken(best[kept], days[kept])


def told(view: Said, row: int, days: int) -> Told:
    """The sentence of a row."""
    table = view.sentences
    session = view.sessions[int(table["session"][row])].partition("/")[2]
    return Told(
        item_id(view.events[row], int(table["number"][row])), view.texts[int(table["text"][row])], int(table["at"][row]),
        view.agents[int(table["agent"][row])], session, int(table["trust"][row]), float(table["standing"][row]), days,
    )  # fmt: skip


def telling(home: Home, now: int, query: str = "") -> Iterator[Told]:
    """Earlier sentences of the home's project or of none, those first that tell most in the least room.

    A word's weight is its idf over sessions times how lately it was in use, Σ (age in days + .5)^-.5; a word that a
    sentence before has told counts no more (Lin & Bilmes 2011: greedy cover, within 1 - 1/e of the best). With a query
    its words weigh more.
    """
    with home.views.reading(Said) as view:
        found = spoken(view, home.projects, now)
        weights = word_weights(view, home.projects, now)
        weight = weights.idf * weights.live
        for word in words(query):
            if (number := view.words.find(word)) is not None:
                weight[number] *= 1 + ASKED_FACTOR
        rates = _rates(view, found, weight)
        order = np.lexsort((-view.sentences["seq"][found.rows], -rates))[:_MOST_WEIGHED]
        chosen = [int(order[place]) for place in _covering(view, found.rows[order], rates[order], weight)]
        yield from (told(view, int(found.rows[place]), int(found.days[place])) for place in chosen)


def _rates(view: Said, found: Spoken, weight: Floats) -> Floats:
    """What each text tells, for the room that it takes."""
    table, rows = view.sentences, found.rows
    if not len(rows):
        return np.zeros(0)
    numbers, first = view.words_of(table["text"][rows])
    held = np.diff(np.append(first, len(numbers)))
    gains = np.add.reduceat(np.append(weight[numbers], 0.0), first) * (held > 0)
    size = np.array([len(view.texts[number]) for number in table["text"][rows].tolist()]) + LINE_BYTES
    more = (1 + WORTH_FACTOR * table["worth"][rows]) * (1 + AGAIN_FACTOR * (found.days > 1) * table["user"][rows])
    rates: Floats = gains / size * more * np.where(held < _FEWEST_WORDS, _SHORT_FACTOR, 1.0)
    return rates * (1 + WRITTEN_FACTOR * table["written"][rows])


def _covering(view: Said, rows: Ints, rates: Floats, weight: Floats) -> Iterator[int]:
    """Places in the rows, greedily by what each adds to those before it for its room; what adds nothing is left out."""
    if not len(rows):
        return
    numbers, first = view.words_of(view.sentences["text"][rows])
    held = [part.tolist() for part in np.split(numbers, first[1:])]
    total = [sum(weight[n] for n in part) for part in held]
    heap = [(-rate, place) for place, rate in enumerate(rates.tolist()) if rate > 0]
    seen: set[int] = set()
    while heap:
        rate, place = heapq.heappop(heap)
        left = sum(weight[n] for n in held[place] if n not in seen)
        now = float(rates[place] * left / total[place])
        if now >= -rate - 1e-12:
            seen.update(held[place])
            yield place
        elif now > 0:
            heapq.heappush(heap, (-now, place))
