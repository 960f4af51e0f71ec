"""How a row is measured, turn by turn with its peer in one run, and on what: made-up
memories, the same for the same seed.
"""

import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from theorex_lab.core.clock import MICROSECONDS_PER_DAY, FixedClock
from theorex_lab.core.errors import TheorexError
from theorex_lab.core.ids import concept_id
from theorex_lab.core.processes import python_program, python_variables, run_program
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.journal.event import Event, new_event
from theorex_lab.search.embed import Embedder, EmbedderKind, bundled_embedder
from theorex_lab.store.lab import Lab

NOW_TEXT = "2026-03-01T09:00:00Z"
NOW = FixedClock.at(NOW_TEXT).now()
DIMENSIONS = 384
_COMMONEST = (
    50  # ranks of words left out at the top of Zipf's law: those of the stop words
)
Matrix = NDArray[np.float32]
PYTHON = python_program()
Timed = Callable[[], object]
Meter = Callable[[Timed], float]


@lru_cache(maxsize=1)
def words() -> list[str]:
    """Return distinct made-up words, from the most frequent to the rarest."""
    syllables = [first + second for first in "bdfgklmnprstvz" for second in "aeiou"]
    all_words = [
        begin + middle + third
        for begin in syllables
        for middle in syllables
        for third in syllables[::7]
    ]
    return [
        all_words[position]
        for position in np.random.default_rng(1).permutation(len(all_words)).tolist()
    ]


def texts(count: int, *, length: int = 12, seed: int = 0) -> list[str]:
    """Return texts of `length` words each, drawn as in Zipf's law."""
    vocabulary = words()
    weights = 1.0 / (np.arange(len(vocabulary)) + _COMMONEST)
    word_ranks = np.random.default_rng(seed).choice(
        len(vocabulary), (count, length), p=weights / weights.sum()
    )
    return [" ".join(vocabulary[word] for word in row) for row in word_ranks.tolist()]


def unit_rows(count: int, *, seed: int = 0) -> Matrix:
    """Return vectors of length one around a thousand centres, as sentence vectors lie
    around their subjects.
    """
    generator = np.random.default_rng(seed)
    centres = np.random.default_rng(7).standard_normal(
        (1_000, DIMENSIONS), dtype=np.float32
    )
    rows = centres[generator.integers(0, 1_000, count)]
    rows += 0.8 * generator.standard_normal((count, DIMENSIONS), dtype=np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


class GivenVectors:
    """An embedder whose vectors are given in `known`; those of other texts are drawn by
    their checksum.
    """

    kind: EmbedderKind = "semantic"
    dimensions = DIMENSIONS
    is_local = True  # as the bundled model is

    def __init__(self, name: str = "given") -> None:
        self.id = name
        self.known = dict[str, Matrix]()
        self._drawn = unit_rows(4_096)

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return the vectors of these texts, shape (n, 384)."""
        random_rows = self._drawn
        rows = [
            self.known.get(
                text, random_rows[zlib.crc32(text.encode()) % len(random_rows)]
            )
            for text in texts
        ]
        return np.array(rows, np.float32).reshape(-1, DIMENSIONS)


def observations(count: int) -> Iterator[Event]:
    """Yield observations of the year before NOW, each with three of its words as
    concepts, by three agents.
    """
    times = np.sort(
        NOW - np.random.default_rng(0).integers(0, 365 * MICROSECONDS_PER_DAY, count)
    ).tolist()
    for number, (text, at) in enumerate(zip(texts(count), times, strict=True)):
        labels = sorted(set(text.split()[:3]))
        body = {
            "text": text,
            "type": "discovery",
            "source": "agent",
            "tags": [],
            "extractor": 1,
            "sentiment": 0.0,
            "concepts": [[concept_id(label), label, label, 1] for label in labels],
            "weight": 0.7,
        }
        yield new_event(
            "observation", body, agent=("main", "sage", "scout")[number % 3], at=at
        )


def lay_home(folder: Path, count: int, embedder: Embedder | None = None) -> Path:
    """Return a home of so many observations, scanned, with their vectors and snapshots,
    as maintenance leaves one.
    """
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
    """Given vectors under the name of the default embedder, so that a search with that
    one finds them made.
    """
    default = bundled_embedder()
    return GivenVectors(default.id if default is not None else "given")


class Amounts(NamedTuple):
    """What one round measured: an amount of ours and of the peer's in the same unit."""

    ours: float
    peer: float


Round = Callable[[], Amounts]


class Ground(NamedTuple):
    """Where a row is measured: an empty folder, and how many rows of data it gets."""

    folder: Path
    rows: int


@dataclass(frozen=True)
class BenchRow:
    """A row of the table. `prepare` lays its data and gives the function that measures
    one round.

    at_most: the target for ours ÷ peer, from so many rows of data as `target_from`
    says.  needs: modules of the peer that may not be installed; the extra `bench`
    brings them.
    """

    name: str
    about: str
    peer: str
    prepare: Callable[[Ground], AbstractContextManager[Round]]
    at_most: float | None = None
    target_from: int = 10_000
    needs: Sequence[str] = field(default=())


ROWS: dict[str, BenchRow] = {}  # by name, as the module `peers` is imported


def row(
    name: str, about: str, peer: str, **more: Any
) -> Callable[[Callable[[Ground], Iterator[Round]]], None]:
    """Enter the function below, which lays the data, yields the round and cleans up, as
    a row; the rest as in `BenchRow`.
    """

    def enter(prepare: Callable[[Ground], Iterator[Round]]) -> None:
        ROWS[name] = BenchRow(name, about, peer, contextmanager(prepare), **more)

    return enter


def processor_seconds(call: Timed) -> float:
    """Return processor time that this process spends in `call`, all its threads
    together.
    """
    start = time.process_time()
    call()
    return time.process_time() - start


def child_seconds(call: Timed) -> float:
    """Return processor time of the processes that `call` starts and waits for."""
    import resource  # not on Windows

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    call()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def alternately(
    ours: Timed, peer: Timed, *, calls: int = 1, meter: Meter = processor_seconds
) -> Round:
    """Return a round of `calls` calls of the peer, then as many of ours."""

    def measured(call: Timed) -> float:
        return meter(lambda: [call() for _ in range(calls)])

    def one_round() -> Amounts:
        peers = measured(peer)
        return Amounts(measured(ours), peers)

    return one_round


def elapsed(call: Timed) -> float:
    """Return seconds that pass: most of what a durable append takes is waiting for the
    disk.
    """
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def in_turn(call: Callable[[Any], object], things: Sequence[Any]) -> Timed:
    """`call` with the next of the things, over and over."""
    turns = cycle(things)
    return lambda: call(next(turns))


def run(*command: str | Path, stdin: bytes = b"", cwd: Path | None = None) -> bytes:
    """Return what a process prints, run as a user's is: its modules compiled, offline.
    Raises TheorexError where it fails.
    """
    program, *arguments = command
    result = run_program(
        str(program), arguments, variables=environment(), folder=cwd, given=stdin
    )
    if result.code:
        errors = result.errors.decode(errors="replace").strip()[-500:]
        raise TheorexError(
            f"{' '.join(map(str, command))[:200]} ended with code {result.code}: {errors}"
        )
    return result.output


def environment() -> dict[str, str]:
    """Return the variables of a process that is measured; none of its imports asks the
    network for a model.
    """
    variables = python_variables(
        HF_HUB_OFFLINE="1", PYTHONPATH=str(Path(__file__).parents[1])
    )
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    return variables


def theorex(home: Path, *arguments: str) -> tuple[str, ...]:
    """Return the command `theorex` on a home, as its entry point runs it."""
    code = "from theorex_lab.app.cli import main; main()"
    return PYTHON, "-c", code, "--home", str(home), "--now", NOW_TEXT, *arguments
