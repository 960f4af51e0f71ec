"""Made-up memories of any size, the same for the same seed: texts, vectors, events, homes, and axons as columns."""

import zlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from theorex_lab.clock import MICROSECONDS_PER_DAY, FixedClock
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.ids import concept_id
from theorex_lab.journal.event import Event, new_event
from theorex_lab.lab import Lab
from theorex_lab.search.embed import Embedder, EmbedderKind, bundled_embedder

NOW_TEXT = "2026-03-01T09:00:00Z"
NOW = FixedClock.at(NOW_TEXT).now()
DIMENSIONS = 384
_COMMONEST = 50  # ranks of words left out at the top of Zipf's law: those of the stop words
Matrix = NDArray[np.float32]


@lru_cache(maxsize=1)
def words() -> list[str]:
    """Distinct made-up words, from the most frequent to the rarest."""
    syllables = [first + second for first in "bdfgklmnprstvz" for second in "aeiou"]
    made = [one + two + three for one in syllables for two in syllables for three in syllables[::7]]
    return [made[position] for position in np.random.default_rng(1).permutation(len(made)).tolist()]


def texts(count: int, *, length: int = 12, seed: int = 0) -> list[str]:
    """Texts of `length` words each, drawn as in Zipf's law."""
    vocabulary = words()
    weights = 1.0 / (np.arange(len(vocabulary)) + _COMMONEST)
    chosen = np.random.default_rng(seed).choice(len(vocabulary), (count, length), p=weights / weights.sum())
    return [" ".join(vocabulary[word] for word in row) for row in chosen.tolist()]


def unit_rows(count: int, *, seed: int = 0) -> Matrix:
    """Vectors of length one around a thousand centres, as sentence vectors lie around their subjects."""
    generator = np.random.default_rng(seed)
    centres = np.random.default_rng(7).standard_normal((1_000, DIMENSIONS), dtype=np.float32)
    rows = centres[generator.integers(0, 1_000, count)]
    rows += 0.8 * generator.standard_normal((count, DIMENSIONS), dtype=np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


class GivenVectors:
    """An embedder whose vectors are given in `known`; those of other texts are drawn by their checksum."""

    kind: EmbedderKind = "semantic"
    dimensions = DIMENSIONS

    def __init__(self, name: str = "given") -> None:
        self.id = name
        self.known: dict[str, Matrix] = {}
        self._drawn = unit_rows(4_096)

    def embed(self, texts: Sequence[str]) -> Matrix:
        """The vectors of these texts, shape (n, 384)."""
        drawn = self._drawn
        rows = [self.known.get(text, drawn[zlib.crc32(text.encode()) % len(drawn)]) for text in texts]
        return np.array(rows, np.float32).reshape(-1, DIMENSIONS)


def observations(count: int) -> Iterator[Event]:
    """Observations of the year before NOW, each with three of its words as concepts, by three agents."""
    times = np.sort(NOW - np.random.default_rng(0).integers(0, 365 * MICROSECONDS_PER_DAY, count)).tolist()
    for number, (text, at) in enumerate(zip(texts(count), times, strict=True)):
        labels = sorted(set(text.split()[:3]))
        body = {
            "text": text, "type": "discovery", "source": "agent", "tags": [], "extractor": 1, "sentiment": 0.0,
            "concepts": [[concept_id(label), label, label, 1] for label in labels], "weight": 0.7,
        }  # fmt: skip
        yield new_event("observation", body, agent=("main", "sage", "scout")[number % 3], at=at)


def lay_home(folder: Path, count: int, embedder: Embedder | None = None) -> Path:
    """A home of so many observations, scanned, with their vectors and snapshots, as a night leaves one."""
    home = folder / f"home-{count}"
    with Lab(home, clock=FixedClock(NOW), embedder=embedder or GivenVectors()) as lab:
        lab.journal.append(list(observations(count)))
        lab.theorex.scan()
        lab.searcher.vectors.embed_pending()
        lab.search(texts(1)[0])
        for kind in (Axon, lab.home.item_view):
            lab.views.snapshot(lab.views.get(kind))
    return home


def as_installed() -> GivenVectors:
    """Given vectors under the name of the default embedder, so that a search with that one finds them made."""
    default = bundled_embedder()
    return GivenVectors(default.id if default is not None else "given")


def axon_of(folder: Path, count: int) -> Axon:
    """The axon of such a home: about two concepts for three observations, most of them with several links."""
    with Lab(lay_home(folder, count), clock=FixedClock(NOW)) as lab:
        return lab.views.get(Axon)
