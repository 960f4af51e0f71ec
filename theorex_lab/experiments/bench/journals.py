"""The journal and the views: a durable write, the fold, and opening a snapshot."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import count

import networkx as nx

from theorex_lab.clock import FixedClock
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.experiments.bench.computing import graph_of
from theorex_lab.experiments.bench.made import NOW, axon_of, lay_home, observations
from theorex_lab.experiments.bench.measure import Ground, Round, alternately, row
from theorex_lab.journal.event import encode
from theorex_lab.journal.snapshot import open_snapshots, write_snapshot
from theorex_lab.journal.view import fold_into
from theorex_lab.lab import Lab

_TEXT = "We agreed that TTL invalidation with jitter prevents the cache stampede on the checkout service after deploys."


@row(
    "durable-write", "a durable write in a process, extraction included", "a one-row transaction of SQLite, synced, WAL"
)
def _durable_write(ground: Ground) -> Iterator[Round]:
    numbers = count()
    with (
        closing(sqlite3.connect(ground.folder / "peer.db", isolation_level=None)) as peer,
        Lab(lay_home(ground.folder, ground.rows), clock=FixedClock(NOW)) as lab,
    ):
        peer.execute("PRAGMA journal_mode = WAL")
        peer.execute("PRAGMA synchronous = FULL")
        peer.execute("CREATE TABLE rows (n INTEGER PRIMARY KEY, id TEXT UNIQUE, at INTEGER, text TEXT)")

        def one_row() -> None:
            number = next(numbers)
            peer.execute("BEGIN IMMEDIATE")
            peer.execute("INSERT INTO rows (id, at, text) VALUES (?, ?, ?)", (f"{number:036d}", number, _TEXT))
            peer.execute("COMMIT")

        main = lab.agent("main")
        yield alternately(lambda: main.write(_TEXT), one_row, calls=50)


@row("fold", "the fold of search index and designs from nothing", "the json module on the same events", at_most=8)
def _fold(ground: Ground) -> Iterator[Round]:
    made = [encode(event.body) for event in observations(ground.rows)]
    with Lab(lay_home(ground.folder, ground.rows), clock=FixedClock(NOW)) as lab:
        journal = lab.journal
        views = [lab.home.item_view, *(view for design in lab.home.designs for view in design.views())]
        yield alternately(
            lambda: [fold_into(kind(), journal, journal.last_seq()) for kind in views],
            lambda: [json.loads(text) for text in made],
        )


@row("snapshot", "opening concepts and links from a snapshot", "JSON into networkx", at_most=0.1, target_from=100_000)
def _snapshot(ground: Ground) -> Iterator[Round]:
    axon = axon_of(ground.folder, ground.rows)
    text = json.dumps(nx.node_link_data(graph_of(axon), edges="edges"))
    write_snapshot(ground.folder, axon.columns(), code=Axon.code, seq=1, event_id="one", kinds=Axon.kinds)

    def ours() -> None:
        Axon().load(next(open_snapshots(ground.folder, Axon.code)).columns)

    yield alternately(ours, lambda: nx.node_link_graph(json.loads(text), edges="edges"))
