"""Made-up memories of any size, the same for the same seed: texts, events, homes, and axons as columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from theorex_lab.clock import FixedClock
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.ids import concept_id, new_event_id
from theorex_lab.journal.event import Event, encode, new_event
from theorex_lab.journal.sqlite.store import SqliteJournal, checksum
from theorex_lab.memory.decay import COUNT_HALF_LIVES_DAYS

DAY = 86_400_000_000
NOW = FixedClock.at("2026-03-01T09:00:00Z").now()
_WORDS = 30_000
_COMMONEST = 50  # ranks of words left out at the top of Zipf's law: those of the stop words
_YEAR = 365 * DAY


def words() -> list[str]:
    """Distinct made-up words, from the most frequent to the rarest."""
    syllables = [first + second for first in "bdfgklmnprstvz" for second in "aeiou"]
    made = [one + two + three for one in syllables for two in syllables for three in syllables[::7]]
    order = np.random.default_rng(1).permutation(len(made))
    return [made[position] for position in order[:_WORDS].tolist()]


def texts(count: int, *, length: int = 12, seed: int = 0) -> list[str]:
    """Texts of `length` words each, drawn as in Zipf's law."""
    vocabulary = words()
    weights = 1.0 / (np.arange(len(vocabulary)) + _COMMONEST)
    chosen = np.random.default_rng(seed).choice(len(vocabulary), (count, length), p=weights / weights.sum())
    return [" ".join(vocabulary[word] for word in row) for row in chosen.tolist()]


def observations(count: int, *, seed: int = 0) -> Iterator[Event]:
    """Observations of the year before NOW, each with three of its words as concepts, by three agents."""
    generator = np.random.default_rng(seed)
    times = np.sort(NOW - generator.integers(0, _YEAR, count)).tolist()
    for number, (text, at) in enumerate(zip(texts(count, seed=seed), times, strict=True)):
        labels = sorted(set(text.split()[:3]))
        body = {
            "text": text,
            "type": "discovery",
            "source": "agent",
            "tags": [],
            "concepts": [[concept_id(label), label, label, 1] for label in labels],
            "extractor": 1,
            "sentiment": 0.0,
            "weight": 0.7,
        }
        yield new_event("observation", body, agent=("main", "sage", "scout")[number % 3], at=at)


def fill(journal: SqliteJournal, events: Iterable[Event]) -> None:
    """Insert events in one transaction, row by row as `append` does, without its checks."""
    connection = journal.connection()
    connection.execute("BEGIN IMMEDIATE")
    connection.executemany(
        "INSERT INTO events (id, at, agent, session, kind, lineage, body, crc) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (_row(event.id, event.at, event.agent, event.session, event.kind, encode(event.body)) for event in events),
    )
    connection.execute("COMMIT")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def fill_with_tool_events(journal: SqliteJournal, count: int) -> None:
    """Insert `count` tool events of one session."""
    body = encode({"v": 1, "tool": "Bash", "input": "make test", "response": "ok", "source": "tool"})
    connection = journal.connection()
    connection.execute("BEGIN IMMEDIATE")
    connection.executemany(
        "INSERT INTO events (id, at, agent, session, kind, lineage, body, crc) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (_row(new_event_id(NOW + n * 1000), NOW + n * 1000, "main", "s", "tool_used", body) for n in range(count)),
    )
    connection.execute("COMMIT")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _row(event_id: str, at: int, agent: str, session: str, kind: str, body: str) -> tuple[object, ...]:
    row = (event_id, at, agent, session, kind, "[]", body)
    return (*row, checksum(*row))


def bodies(journal: SqliteJournal) -> list[str]:
    """Every event's body as the JSON that the journal holds."""
    return [body for (body,) in journal.connection().execute("SELECT body FROM events ORDER BY seq")]


def axon_of(concepts: int, links_each: int, *, seed: int = 0) -> Axon:
    """An axon of one agent whose columns are drawn at random: a year of mentions, links between any two concepts."""
    generator = np.random.default_rng(seed)
    axon = Axon()
    axon.agents.number("main")
    axon.types.number("discovery")
    table = axon.concepts
    table.grow(concepts)
    table["concept_id"][:] = np.arange(concepts) * 7919 + 1
    table["count"][:] = generator.geometric(0.2, concepts)
    table["last_seen"][:] = NOW - (generator.exponential(15.0, concepts) * DAY).astype(np.int64)
    table["first_seen"][:] = table["last_seen"] - 30 * DAY
    table["source_weight"][:], table["trust"][:], table["alive"][:] = 0.7, 2, True
    table["decayed"][:] = table["count"][:, None] * np.linspace(0.2, 1.0, len(COUNT_HALF_LIVES_DAYS))
    for _ in range(concepts if concepts <= 100_000 else 0):
        axon.labels.append("label")
        axon.surfaces.append("Label")
    ends = _pairs(generator, concepts, links_each)
    links = axon.links
    links.grow(len(ends))
    links["a"][:], links["b"][:] = ends[:, 0], ends[:, 1]
    links["count"][:] = generator.geometric(0.3, len(ends))
    links["last_seen"][:] = np.minimum(table["last_seen"][ends[:, 0]], table["last_seen"][ends[:, 1]])
    axon._row_of = axon._link_of = None
    return axon


def _pairs(generator: np.random.Generator, concepts: int, links_each: int) -> NDArray[np.int64]:
    first = np.repeat(np.arange(concepts), links_each)
    second = (first + generator.integers(1, concepts, len(first))) % concepts
    keys = np.unique(np.minimum(first, second) << 32 | np.maximum(first, second))
    return np.stack([keys >> 32, keys & 0xFFFFFFFF], axis=1)


def node_link_json(axon: Axon) -> str:
    """The axon as one JSON text in networkx' node-link form."""
    table, links = axon.concepts, axon.links
    ids = table["concept_id"].tolist()
    columns = zip(ids, table["count"].tolist(), table["last_seen"].tolist(), table["tier"].tolist(), strict=True)
    ends = zip(*(links[name].tolist() for name in ("a", "b", "count", "last_seen")), strict=True)
    nodes = [{"id": n, "concept": "label", "count": c, "last_seen": at, "tier": t} for n, c, at, t in columns]
    edges = [{"source": ids[a], "target": ids[b], "count": c, "last_seen": at} for a, b, c, at in ends]
    return json.dumps({"directed": False, "multigraph": False, "graph": {}, "nodes": nodes, "edges": edges})


def unit_rows(count: int, dimensions: int, *, seed: int = 0) -> NDArray[np.float32]:
    """Vectors of length one around a thousand centres, as sentence vectors lie around their subjects."""
    generator = np.random.default_rng(seed)
    centres = np.random.default_rng(7).standard_normal((1_000, dimensions), dtype=np.float32)
    rows = centres[generator.integers(0, 1_000, count)]
    rows += 0.8 * generator.standard_normal((count, dimensions), dtype=np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def home_path(folder: Path) -> Path:
    """The journal's file in a home."""
    return folder / "theorex.db"
