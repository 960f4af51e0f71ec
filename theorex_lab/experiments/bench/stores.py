"""Other memories and databases on the same texts and given vectors, each system in a process of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from theorex_lab.experiments.bench.measure import PYTHON, Amounts, Ground, Round, child_seconds, row, run

_SYSTEMS = "theorex_lab.experiments.bench.systems"


def figures(system: str, folder: Path, rows: int) -> dict[str, float]:
    """What a system takes, by what it does: processor seconds, bytes on disk, and bytes of memory at the most."""

    def process(act: str) -> bytes:
        return run(PYTHON, "-m", _SYSTEMS, system, act, folder, str(rows), cwd=folder)

    folder.mkdir(parents=True)
    measured: dict[str, float] = json.loads(process("fill").splitlines()[-1])
    measured["open and search, process"] = child_seconds(lambda: process("find"))
    return measured


def _beside(peer: str, ground: Ground) -> Iterator[Round]:
    def one_round() -> Iterator[Amounts]:
        number = len(list(ground.folder.iterdir()))
        theirs = figures(peer, ground.folder / f"{number}-{peer}", ground.rows)
        ours = figures("theorex", ground.folder / f"{number}-theorex", ground.rows)
        for what, amount in ours.items():
            yield Amounts(amount, theirs[what], what)

    yield one_round


for _name, _title, _targets, _needs in (
    ("chroma", "Chroma, by vectors", {"search": 1.5, "bytes on disk": 1.5, "add one and find it": 1.5}, ("chromadb",)),
    ("mem0", "mem0 with faiss, by vectors", {"search": 1.5, "add one and find it": 1.5}, ("mem0", "faiss")),
    ("fts5", "SQLite FTS5, by words", None, ()),
):
    row(f"store-{_name}", "the same texts and given vectors", _title, at_most=_targets, needs=_needs, most_rounds=3)(
        partial(_beside, _name)
    )
