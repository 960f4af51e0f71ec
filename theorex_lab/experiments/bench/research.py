"""Rows of the research tiers: a record beside a bare append, theorems near one beside networkx, the closure beside sets."""

from collections.abc import Iterator
from itertools import count

import networkx as nx
import numpy as np

from theorex_lab.clock import FixedClock
from theorex_lab.designs.research.theorems import closed
from theorex_lab.experiments.bench.measure import NOW, Ground, Round, alternately, elapsed, in_turn, row
from theorex_lab.journal.event import new_event
from theorex_lab.lab import Lab

_LAWS, _LINKS_OF_LAW, _LINKS_OF_NODE, _DEPTH = 1_000, 2, 3, 3
_PUBLISHED = "the published way: every level looks through all links"


@row(
    "remember",
    "a record kept, after as many as rows, time that passes",
    "a bare durable append of the same event",
    at_most=1.5,
)
def _remember(ground: Ground) -> Iterator[Round]:
    with Lab(ground.folder / "home", clock=FixedClock(NOW)) as lab:
        _ = lab.home.designs
        lab.research.remember("key.0", {"value": 0})
        (first,) = lab.journal.tail(0, kinds=["record"])
        about = {"agent": "main", "at": NOW}
        laid = [{**first.body, "key": f"key.{number}", "record_id": f"rec_{number}"} for number in range(ground.rows)]
        lab.journal.append([new_event("record", body, **about) for body in laid])  # type: ignore[arg-type]
        numbers = count()
        yield alternately(
            lambda: lab.research.remember(f"new.{next(numbers)}", {"value": "a text of some words"}, ["tag"]),
            lambda: lab.journal.append([new_event("record", first.body, **about)]), calls=200, meter=elapsed)  # type: ignore[arg-type]  # fmt: skip


@row("related", "theorems within three links, three links a theorem", _PUBLISHED, at_most=0.25)
def _related(ground: Ground) -> Iterator[Round]:
    rng = np.random.default_rng(0)
    ends = rng.integers(0, ground.rows, (_LINKS_OF_NODE * ground.rows, 2)).tolist()
    names = [f"theorem {number}" for number in range(ground.rows)]

    def published(start: int) -> set[int]:
        seen, level = {start}, {start}
        for _ in range(_DEPTH):
            level = {far for a, b in ends for near, far in ((a, b), (b, a)) if near in level} - seen
            seen |= level
        return seen - {start}

    with Lab(ground.folder / "home", clock=FixedClock(NOW)) as lab:
        links = [(names[a], names[b], "uses") for a, b in ends]
        lab.research.import_theorems([(name, name, ()) for name in names], links)
        asked = [lab.research.theorem(name).node_id for name in names[:20]]
        lab.research.find_related_theorems(asked[0], _DEPTH)
        ours = in_turn(lambda node: lab.research.find_related_theorems(node, _DEPTH), asked)
        yield alternately(ours, in_turn(published, range(20)), calls=20)


@row("closure", "what follows from 1,000 laws of two links each", "networkx's transitive closure", at_most=0.25)
def _closure(ground: Ground) -> Iterator[Round]:  # noqa: ARG001 - of one size
    starts = np.repeat(np.arange(1, _LAWS), _LINKS_OF_LAW)
    ends = np.random.default_rng(0).integers(0, starts)  # what comes before, so that there is no circle
    names, graph = list(map(str, range(_LAWS))), nx.DiGraph(zip(starts.tolist(), ends.tolist(), strict=True))
    yield alternately(lambda: closed(names, starts, ends), lambda: nx.transitive_closure(graph, reflexive=True))
