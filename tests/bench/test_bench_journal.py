"""What the journal, its views and their snapshots cost, beside bare SQLite and the json module."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

from conftest import HomeOf
from corpus import NOW, axon_of, bodies, home_path, node_link_json
from measure import compare, note, processor_seconds
from pytest_benchmark.fixture import BenchmarkFixture

from theorex_lab import FixedClock, Lab
from theorex_lab.designs import installed
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.designs.theorex.flash import Flash
from theorex_lab.designs.theorex.shared import SharedWeb
from theorex_lab.designs.theorex.short_term import ShortTerm
from theorex_lab.dispatch.tasks import Tasks
from theorex_lab.dispatch.traces import Traces
from theorex_lab.evolution.outcomes import Outcomes
from theorex_lab.home import item_view
from theorex_lab.journal.snapshot import open_snapshots, write_snapshot
from theorex_lab.journal.sqlite.store import SqliteJournal
from theorex_lab.journal.view import fold_into
from theorex_lab.memory.evidence import Evidence

TEXT = "We agreed that TTL invalidation with jitter prevents the cache stampede on the checkout service after a deploy."
VIEWS = (Axon, item_view(installed()), Flash, ShortTerm, SharedWeb, Traces, Evidence, Tasks, Outcomes)


def test_durable_write(benchmark: BenchmarkFixture, tmp_path: Path, home_of: HomeOf) -> None:
    """Extraction included, in a process that runs already; the peer's rows are as long as an item's are."""
    peer = sqlite3.connect(tmp_path / "peer.db", isolation_level=None)
    peer.execute("PRAGMA journal_mode = WAL")
    peer.execute("PRAGMA synchronous = FULL")
    peer.execute("CREATE TABLE rows (n INTEGER PRIMARY KEY, id TEXT UNIQUE, at INTEGER, text TEXT)")
    numbers = iter(range(10**9))

    def six_rows() -> None:
        peer.execute("BEGIN IMMEDIATE")
        for _ in range(6):
            number = next(numbers)
            peer.execute("INSERT INTO rows (id, at, text) VALUES (?, ?, ?)", (f"{number:036d}", number, TEXT))
        peer.execute("COMMIT")

    with Lab(_copied(home_of(1_000), tmp_path), clock=FixedClock(NOW)) as lab:
        main = lab.agent("main")
        compare(
            benchmark,
            "durable write in a process, extraction included",
            lambda: main.write(TEXT),
            six_rows,
            peer_name="a bare six-row SQLite transaction",
            at_most=3,
            rounds=7,
            calls=50,
        )
    peer.close()


def test_durable_write_in_a_large_memory(benchmark: BenchmarkFixture, tmp_path: Path, home_of: HomeOf) -> None:
    small = Lab(_copied(home_of(1_000), tmp_path / "small"), clock=FixedClock(NOW))
    large = Lab(_copied(home_of(100_000), tmp_path / "large"), clock=FixedClock(NOW))
    compare(
        benchmark,
        "durable write at 100,000 items",
        lambda: large.agent("main").write(TEXT),
        lambda: small.agent("main").write(TEXT),
        peer_name="at 1,000",
        at_most=1.5,
        rounds=7,
        calls=50,
    )
    small.close()
    large.close()


def test_opening_a_snapshot(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    import networkx as nx

    axon = axon_of(100_000, 2)
    text = node_link_json(axon)
    write_snapshot(tmp_path, axon.columns(), code=Axon.code, seq=1, event_id="one")

    def ours() -> Axon:
        _, _, columns = next(open_snapshots(tmp_path, Axon.code))
        view = Axon()
        view.load(columns)
        return view

    assert len(ours().concepts) == 100_000
    compare(
        benchmark,
        "opening 100,000 concepts from a snapshot",
        ours,
        lambda: nx.node_link_graph(json.loads(text), edges="edges"),
        peer_name="JSON into networkx",
        at_least=10,
        rounds=5,
    )


def test_fold_of_all_views(benchmark: BenchmarkFixture, home_of: HomeOf) -> None:
    journal = SqliteJournal(home_path(home_of(20_000)), clock=FixedClock(NOW))
    texts = bodies(journal)
    compare(
        benchmark,
        "fold of all views from nothing, 20,000 events",
        lambda: _fold(journal),
        lambda: [json.loads(text) for text in texts],
        peer_name="the json module on the same events",
        at_most=8,
        rounds=5,
    )
    journal.close()


def test_fold_is_linear(benchmark: BenchmarkFixture, home_of: HomeOf) -> None:
    """Seconds an event at 100,000 events over those at 20,000."""
    small = SqliteJournal(home_path(home_of(20_000)), clock=FixedClock(NOW))
    large = SqliteJournal(home_path(home_of(100_000)), clock=FixedClock(NOW))
    ratios = []

    def one_round() -> None:
        one = processor_seconds(lambda: [_fold(small) for _ in range(2)]) / 2 / small.last_seq()
        ratios.append(processor_seconds(lambda: _fold(large)) / large.last_seq() / one)

    benchmark.pedantic(one_round, rounds=5)
    note(benchmark, "fold of one of 100,000 events", "one of 20,000", ratios, at_most=1.3)
    small.close()
    large.close()


def _fold(journal: SqliteJournal) -> None:
    for kind in VIEWS:
        fold_into(kind(), journal, journal.last_seq())


def _copied(home: Path, folder: Path) -> Path:
    """A copy of the home that may be written to."""
    return Path(shutil.copytree(home, folder / "home", ignore=shutil.ignore_patterns("views", "vectors")))
