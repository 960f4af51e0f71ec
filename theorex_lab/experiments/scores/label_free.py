"""Queries without labels: a few words of a sentence that are deleted from its text, which then is to be found without them."""

from __future__ import annotations

import re

import numpy as np

from theorex_lab.design import Design, Log, Probe
from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.scores.session_scores import sentences
from theorex_lab.journal.event import Event
from theorex_lab.search.index import SPEAKER
from theorex_lab.search.lexical import STOP_WORDS

FEWEST, MOST = 4, 7  # words of a query
DELETED = 0.7  # of them; all, or whole sentences, would leave nothing to fit weights of words to
_SHARE = 0.25  # of the texts at most: the others stay as they were said
_WORD = re.compile(r"\w+")
_TEXTUAL = ("text", "message")


def without_words(log: Log, design: Design, queries: int, seed: int = 0) -> Log:
    """The log with these texts shortened, and as its probes queries whose answer is such a text each.

    queries: how many at most; a quarter of the texts is shortened at most. Raises InvalidInput for a number below 1, and
    where no text holds a sentence of enough informative words.
    """
    if queries < 1:
        raise InvalidInput(f"got {queries} queries; allowed is 1 or more")
    rng = np.random.default_rng(seed)
    changed: dict[int, Event] = {}
    probes: list[Probe] = []
    places = [place for place, event in enumerate(log.events) if _texts(design, event)]
    last = log.events[-1].at + 1 if log.events else 0
    for place in rng.permutation(places):
        if len(probes) >= min(queries, max(1, int(_SHARE * len(places)))):
            break
        event = log.events[place]
        if query := _query(_texts(design, event)[0], rng):
            gone = [query[number] for number in rng.permutation(len(query))[: round(DELETED * len(query))]]
            changed[place] = _shortened(event, gone)
            probes.append(Probe(last, " ".join(query), frozenset({event.id})))
    if not probes:
        raise InvalidInput(f"got {len(places)} texts; allowed are some that hold a sentence of {FEWEST} long words")
    return Log(log.name, [changed.get(place, event) for place, event in enumerate(log.events)], probes)


def _texts(design: Design, event: Event) -> list[str]:
    found = [kind.texts[event.kind](event) for kind in design.items if event.kind in kind.texts]
    return [item.text for items in found for item in items]


def _query(text: str, rng: np.random.Generator) -> list[str]:
    """Informative words of one of its sentences, in their order; none where no sentence has enough."""
    speaker = SPEAKER.match(text)
    said = text[speaker.end() :] if speaker else text
    told = [words for sentence in sentences(said) if len(words := _informative(sentence)) >= FEWEST]
    if not told:
        return []
    words = told[rng.integers(len(told))]
    count = int(rng.integers(FEWEST, min(MOST, len(words)) + 1))
    return [words[place] for place in sorted(rng.permutation(len(words))[:count])]


def _informative(sentence: str) -> list[str]:
    words = dict.fromkeys(word.casefold() for word in _WORD.findall(sentence))
    return [word for word in words if word not in STOP_WORDS and (len(word) > 3 or any(map(str.isdigit, word)))]


def _shortened(event: Event, words: list[str]) -> Event:
    gone = re.compile(rf"\b(?:{'|'.join(map(re.escape, words))})\b", re.IGNORECASE)
    body = {**event.body, **{name: gone.sub("", event.body[name]) for name in _TEXTUAL if event.body.get(name)}}
    return event._replace(body=body)
