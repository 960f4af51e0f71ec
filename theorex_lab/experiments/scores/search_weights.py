"""Weights of search's signals, fitted to queries of which it is known which texts answer them.

A conditional logit: a query chooses among the texts that search considers, by the weighted sum of their signals (McFadden,
"Conditional logit analysis of qualitative choice behavior", 1974). A ridge holds the weights near those that ship.

Queries without labels come from the texts themselves: a few words of a sentence that are deleted from its text, which then
is to be found without them.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from theorex_lab.design import Design, Log, Probe
from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.scores.session_scores import sentences
from theorex_lab.journal.event import Event
from theorex_lab.search.blend import STANDARDISED, blend, shown, standardised, weights_for
from theorex_lab.search.index import SPEAKER
from theorex_lab.search.lexical import STOP_WORDS

Floats = NDArray[np.float64]
Weights = Mapping[str, float]
HEAVIEST = 5.0
_RIDGE, _FREE = 10.0, 1e-3  # as much as so many queries
_STEPS, _CLOSE = 30, 1e-6
FEWEST, MOST = 4, 7  # words of a query
DELETED = 0.7  # of them; all, or whole sentences, would leave nothing to fit weights of words to
_SHARE = 0.25  # of the texts at most: the others stay as they were said
_WORD = re.compile(r"\w+")
_TEXTUAL = ("text", "message")


class Considered(NamedTuple):
    """A query's texts. right: (texts,), which of them answer it.  columns: their signals, see `Searcher.signals`.

    wanted: how many texts answer it, considered or not.
    """

    right: NDArray[np.bool_]
    columns: Mapping[str, Floats]
    wanted: int = 1


def fit_weights(choices: Sequence[Considered], *, kept: Sequence[str] = (), trust: float = 1.0) -> dict[str, float]:
    """The weights, 0..5, under which the right texts stand out most.

    kept: signals that weigh what they ship with: how the queries were made, not what search needs, decides on what they are
    worth here.  trust: 0..1, how far to go from the weights that ship to those fitted. Queries of which search considers
    no right text say nothing. Raises InvalidInput where none is left.

    >>> columns = {"words": np.array([3.0, 1.0, 0.0]), "passage": np.array([1.0, 3.0, 0.0])}
    >>> fitted = fit_weights([Considered(np.array([True, False, False]), columns)] * 20)
    >>> fitted["words"] > fitted["passage"]
    True
    """
    if not (told := [choice for choice in choices if choice.right.any()]):
        raise InvalidInput(f"got {len(choices)} queries and no text that answers one; give a log with more texts")
    ships = {name: weight for name, weight in weights_for(told[0].columns, None).items() if name in told[0].columns}
    names, free = [*ships], np.array([name not in kept for name in ships])
    start = np.array([*ships.values()])
    scaled = [(columns, choice.right) for choice in told if (columns := standardised(choice.columns))]
    rows = [(np.stack([columns[name] for name in names], 1), right / right.sum()) for columns, right in scaled]
    # How sharply sums decide comes first: the ridge holds to weights that decide so.
    sharpness = _newton([(matrix @ start[:, None], right) for matrix, right in rows], np.ones(1), np.zeros(1))
    found = np.maximum(_newton(rows, start * max(sharpness[0], _FREE), np.where(free, _RIDGE, _FREE)), 0.0)
    among = free & np.isin(names, STANDARDISED)
    found *= start[among].sum() / max(found[among].sum(), _FREE)
    weights = np.where(free, start + trust * (np.minimum(found, HEAVIEST) - start), start)
    return dict(zip(names, weights.round(3).tolist(), strict=True))


def shown_right(considered: Considered, weights: Weights, floor: float = 0.0) -> NDArray[np.bool_]:
    """Which of the texts that come back are right, best first, without the rule for texts that hold all words of a query."""
    if not len(considered.right):
        return considered.right
    total, _ = blend(considered.columns, weights)
    order = np.argsort(-total, kind="stable")
    return considered.right[order[shown(total[order]) >= floor]]


def floor_table(asked: Sequence[Considered], weights: Weights, floors: Sequence[float]) -> pd.DataFrame:
    """Columns floor, precision and recall of ten texts at most, means over the queries that something answers."""
    rows = []
    for floor in floors:
        ten = [(shown_right(texts, weights, floor)[:10], texts.wanted) for texts in asked if texts.wanted]
        precision = np.mean([right.mean() if len(right) else 0.0 for right, _ in ten])
        rows.append((floor, float(precision), float(np.mean([right.sum() / wanted for right, wanted in ten]))))
    return pd.DataFrame(rows, columns=["floor", "precision", "recall"])


def _newton(rows: Sequence[tuple[Floats, Floats]], centre: Floats, ridge: Floats) -> Floats:
    """The weights of the least cross-entropy plus ridge, a convex problem; no step changes a weight by more than 1."""
    weights = centre.copy()
    for _ in range(_STEPS):
        slope, bend = ridge * (weights - centre), np.diag(ridge + 1e-6)
        for matrix, right in rows:
            sums = matrix @ weights
            powers = np.exp(sums - sums.max())
            chosen = powers / powers.sum()
            mean = chosen @ matrix
            slope += mean - right @ matrix
            bend += (matrix * chosen[:, None]).T @ matrix - np.outer(mean, mean)
        step = np.clip(np.linalg.solve(bend, slope), -1.0, 1.0)
        weights = weights - step
        if np.abs(step).max() <= _CLOSE:
            break
    return weights


def without_words(log: Log, design: Design, queries: int, seed: int = 0) -> Log:
    """The log with these texts shortened, and as its probes queries whose answer is such a text each.

    queries: how many at most; a quarter of the texts is shortened at most. Raises InvalidInput for a number below 1, and
    where no text holds a sentence of enough informative words.
    """
    if queries < 1:
        raise InvalidInput(f"got {queries} queries; allowed is 1 or more")
    rng = np.random.default_rng(seed)
    changed, probes = dict[int, Event](), list[Probe]()
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
