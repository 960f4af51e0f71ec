"""The rows: what the toolkit's paths cost beside peers, in a process and as whole
processes.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from importlib import import_module
from itertools import count, cycle
from pathlib import Path

import numpy as np
from rank_bm25 import BM25Okapi

from benchmarks import measure
from benchmarks.measure import (
    NOW,
    Ground,
    Round,
    alternately,
    in_turn,
    lay_home,
    row,
    texts,
)
from theorex_lab.core.clock import FixedClock
from theorex_lab.journal.event import encode
from theorex_lab.journal.folding import View
from theorex_lab.journal.view import Views, fold_into
from theorex_lab.memory.contract import Home
from theorex_lab.search.fuse import best_first
from theorex_lab.search.lexical import LexicalIndex, tokenize
from theorex_lab.store.lab import Lab

_EVENT = {
    "hook_event_name": "PostToolUse",
    "session_id": "a-session",
    "tool_name": "Bash",
    "tool_input": {"command": "make test", "description": "Run the tests"},
    "tool_response": {
        "stdout": "203 passed in 8.1 s",
        "stderr": "",
        "interrupted": False,
    },
}
_HOOK = (
    "import os, sys; os.environ['THEOREX_HOME'] = sys.argv[1]; from theorex_lab.app.hook"
    " import main; main()"
)
_TEXT = (
    "We agreed that TTL invalidation with jitter prevents the cache stampede on the"
    " checkout service after deploys."
)


@row(
    "durable-write",
    "a durable write in a process, extraction included",
    "a one-row transaction of SQLite, synced, WAL",
)
def _durable_write(ground: Ground) -> Iterator[Round]:
    rows = ((f"{number:036d}", number, _TEXT) for number in count())
    database = sqlite3.connect(
        ground.folder / "peer.db", isolation_level=None
    )  # a statement is a transaction
    with (
        closing(database) as peer,
        Lab(lay_home(ground.folder, ground.rows), clock=FixedClock(NOW)) as lab,
    ):
        columns = "(n INTEGER PRIMARY KEY, id TEXT UNIQUE, at INTEGER, text TEXT)"
        peer.executescript(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE rows"
            f" {columns}"
        )
        main = lab.agent("main")
        insert = "INSERT INTO rows (id, at, text) VALUES (?, ?, ?)"
        yield alternately(
            lambda: main.write(_TEXT),
            lambda: peer.execute(insert, next(rows)),
            calls=50,
        )


@row(
    "fold",
    "the fold of search index and designs from nothing",
    "the json module on the same events",
    at_most=8,
)
def _fold(ground: Ground) -> Iterator[Round]:
    stored = [encode(event.body) for event in measure.observations(ground.rows)]
    with Lab(lay_home(ground.folder, ground.rows), clock=FixedClock(NOW)) as lab:
        journal = lab.journal
        kinds = folded_kinds(lab.home)
        yield alternately(
            lambda: [fold_into(kind(), journal, journal.last_seq()) for kind in kinds],
            lambda: [json.loads(text) for text in stored],
        )


@row(
    "fold-one-pass",
    "the same views opened in one pass, as in a home without snapshots, and saved",
    "the json module on the same events",
)
def _fold_one_pass(ground: Ground) -> Iterator[Round]:
    stored = [encode(event.body) for event in measure.observations(ground.rows)]
    with Lab(lay_home(ground.folder, ground.rows), clock=FixedClock(NOW)) as lab:
        numbers = count()
        yield alternately(
            lambda: opened_in_one_pass(
                lab.home, ground.folder / f"views-{next(numbers)}"
            ),
            lambda: [json.loads(text) for text in stored],
        )


def folded_kinds(home: Home) -> list[type[View]]:
    """Return the views of a home's search index and designs."""
    kinds: list[type[View]] = [home.item_view]
    for design in home.designs:
        kinds += design.views()
    return kinds


def opened_in_one_pass(home: Home, folder: Path) -> list[View]:
    """Open the views of a home's search index and designs as its commands do.

    Args:
        home: The home.
        folder: Where their snapshots are; where there are none, the views are folded
            from nothing and saved.
    """
    views = Views(home.journal, folder)
    kinds = folded_kinds(home)
    views.open_together(kinds)
    return [views.get(kind) for kind in kinds]


def _corpus(ground: Ground) -> tuple[list[list[str]], LexicalIndex, list[list[str]]]:
    """Return tokenised documents, an index of them, and tokenised queries."""
    corpus = [tokenize(text) for text in texts(ground.rows)]
    index = LexicalIndex()
    index.add(corpus)
    return corpus, index, [tokenize(text) for text in texts(50, length=3, seed=5)]


@row(
    "words-rank-bm25", "search by words", "rank_bm25", at_most=0.01, target_from=100_000
)
def _rank_bm25(ground: Ground) -> Iterator[Round]:
    corpus, index, queries = _corpus(ground)
    peer = BM25Okapi(corpus, epsilon=0.0)
    ten_best = in_turn(
        lambda tokens: np.argpartition(peer.get_scores(tokens), -10)[-10:], queries
    )
    yield alternately(in_turn(index.search, queries), ten_best, calls=5)


@row(
    "words-bm25s",
    "search by words",
    "bm25s with numba",
    at_most=4,
    needs=("bm25s", "numba"),
)
def _bm25s(ground: Ground) -> Iterator[Round]:
    corpus, index, queries = _corpus(ground)
    peer = import_module("bm25s").BM25(backend="numba")
    peer.index(corpus, show_progress=False)
    ten_best = in_turn(
        lambda tokens: peer.retrieve([tokens], k=10, show_progress=False, n_threads=1),
        queries,
    )
    yield alternately(in_turn(index.search, queries), ten_best, calls=50)


@row(
    "hybrid",
    "search by words and vectors",
    "BM25 of all, and a product with all vectors",
)
def _hybrid(ground: Ground) -> Iterator[Round]:
    """Measure search beside its parts: BM25 of every text, and the products of the
    query's vector and all others, as they lie in one array.
    """
    embedder = measure.GivenVectors()
    home = lay_home(ground.folder, ground.rows, embedder)
    questions = texts(50, length=3, seed=5)
    vector = measure.unit_rows(1, seed=1)[0]
    matrix = embedder.embed(texts(ground.rows))
    with Lab(home, clock=FixedClock(NOW), embedder=embedder) as lab:
        words = lab.views.get(lab.home.item_view).lexical
        queries = cycle(questions)
        yield alternately(
            in_turn(lab.search, questions),
            lambda: (
                words.search(tokenize(next(queries)), limit=100),
                best_first(np.arange(len(matrix)), matrix @ vector, 100),
            ),
            calls=20,
        )


def _process(arguments: tuple[str, ...], ground: Ground) -> Iterator[Round]:
    """Measure the command of these arguments, the hook without any, beside an interpreter
    that does nothing.
    """
    home = lay_home(ground.folder, ground.rows, measure.as_installed())
    request = texts(ground.rows)[-1].split()[:3] if "search" in arguments else ()
    command = (
        measure.theorex(home, *arguments, *request)
        if arguments
        else (measure.PYTHON, "-c", _HOOK, home)
    )
    nothing = partial(measure.run, measure.PYTHON, "-c", "pass")
    ours = partial(
        measure.run, *command, stdin=json.dumps(_EVENT).encode(), cwd=ground.folder
    )
    yield alternately(ours, nothing, meter=measure.child_seconds)


_PROCESSES: tuple[tuple[str, str, int | None, tuple[str, ...]], ...] = (
    ("hook", "theorex-hook PostToolUse", 3, ()),
    ("write", "theorex write", 10, ("write", "TTLs prevent cache stampedes")),
    ("status", "theorex status", 25, ("status",)),
    (
        "search-words",
        "theorex search for words that a text holds",
        25,
        ("search", "--all-agents"),
    ),
    (
        "search-process",
        "theorex search --vectors always",
        None,
        ("search", "--all-agents", "--vectors", "always"),
    ),
)
for _name, _about, _at_most, _arguments in _PROCESSES:
    row(_name, f"{_about}, process", "python -c pass", at_most=_at_most)(
        partial(_process, _arguments)
    )
