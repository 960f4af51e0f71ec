"""The graph of neighbours: what it finds, and what becomes of its file under damage,
growth and erasure.
"""

from __future__ import annotations

import shutil
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import NOW

from theorex_lab import FixedClock, Lab
from theorex_lab.journal.event import Event
from theorex_lab.search import vectors
from theorex_lab.search.embed import EmbedderKind
from theorex_lab.search.vectors import VectorCache, sweep_vectors, text_key

DIMENSIONS = 128
COUNT = 3_000


def around_subjects(count: int, seed: int = 0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    subjects = np.random.default_rng(7).standard_normal((100, DIMENSIONS))
    rows = subjects[generator.integers(0, 100, count)]
    rows = rows + 0.8 * generator.standard_normal((count, DIMENSIONS))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows.astype(np.float32)


MATRIX = around_subjects(COUNT)
KEYS = [text_key(str(number)) for number in range(COUNT)]
WANTED = 100  # as a search wants more than it shows
QUERIES = around_subjects(20, seed=1)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "GRAPH_FROM", 1_000)
    monkeypatch.setattr(vectors, "_MOST_BEHIND", 50)
    monkeypatch.setattr(vectors, "_GRAPH_AFTER", 0)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of vectors with their graph; tests work on copies."""
    folder = tmp_path_factory.mktemp("built")
    made = VectorCache(folder, "model", DIMENSIONS)
    made.add(KEYS[:2_500], MATRIX[:2_500])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vectors, "GRAPH_FROM", 1_000)
        assert made.update_graph() == 2_500
    return folder


@pytest.fixture
def cache(tmp_path: Path, built: Path) -> VectorCache:
    folder = tmp_path / "vectors"
    shutil.copytree(built, folder)
    copied = VectorCache(folder, "model", DIMENSIONS)
    copied.refresh()
    return copied


def reopened(cache: VectorCache) -> VectorCache:
    other = VectorCache(cache.path.parent, "model", DIMENSIONS)
    other.refresh()
    return other


def nearest(cache: VectorCache, query: np.ndarray, numbers: np.ndarray) -> list[int]:
    chosen = numbers[cache.likely(numbers, query, WANTED)]
    _, matrix = cache.read(chosen)
    order = np.argsort(-(matrix @ query), kind="stable")[:10]
    found: list[int] = chosen[order].tolist()
    return found


def recall(cache: VectorCache, numbers: np.ndarray) -> float:
    """Of the ten nearest of these records to each query, the share that is found."""
    n_found = 0
    for query in QUERIES:
        order = np.argsort(-(MATRIX[numbers] @ query))[:10]
        n_found += len(set(nearest(cache, query, numbers)) & set(numbers[order]))
    return n_found / (10 * len(QUERIES))


def served_by_graph(cache: VectorCache, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether a search of all records asks no signs."""
    asked: list[int] = []
    by_signs = VectorCache._near_by_signs

    def note(self: VectorCache, *given: object) -> np.ndarray:
        asked.append(1)
        return by_signs(self, *given)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(VectorCache, "_near_by_signs", note)
        nearest(cache, QUERIES[0], np.arange(len(cache)))
    return not asked


def graph_files(cache: VectorCache) -> list[Path]:
    return sorted(cache.path.parent.glob("*.graph*"))


def test_a_graph_finds_the_nearest_and_is_kept_on_disk(
    cache: VectorCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    for opened in (cache, reopened(cache)):
        assert served_by_graph(opened, monkeypatch)
        assert recall(opened, np.arange(2_500)) >= 0.98


def test_a_process_of_few_searches_does_not_read_the_graph(
    cache: VectorCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "_GRAPH_AFTER", 2)
    opened = reopened(cache)
    served = [served_by_graph(opened, monkeypatch) for _ in range(4)]
    assert served == [False, False, True, True]


def test_its_files_are_their_owners_alone(cache: VectorCache) -> None:
    assert len(graph_files(cache)) == 2
    for path in graph_files(cache):
        assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("share", [0.9, 0.6, 0.1, 0.0])
def test_only_allowed_records_are_found_and_as_many_as_there_are(
    cache: VectorCache, share: float
) -> None:
    is_allowed = np.random.default_rng(3).random(2_500) < share
    numbers = np.flatnonzero(is_allowed)
    assert recall(cache, numbers) >= 0.98 * min(1.0, len(numbers))
    if len(numbers):
        assert len(nearest(cache, QUERIES[0], numbers)) == 10


def test_a_record_of_two_documents_is_found_twice(cache: VectorCache) -> None:
    numbers = np.repeat(np.arange(2_500), 2)
    found = numbers[cache.likely(numbers, MATRIX[7], 10)].tolist()
    assert found.count(7) == 2


def test_what_is_added_is_found_at_once_and_joins_when_it_is_much(
    cache: VectorCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.add(KEYS[2_500:2_540], MATRIX[2_500:2_540])
    assert served_by_graph(cache, monkeypatch)
    assert nearest(cache, MATRIX[2_520], np.arange(2_540))[0] == 2_520
    assert cache.update_graph() == 0
    cache.add(KEYS[2_540:], MATRIX[2_540:])
    assert not served_by_graph(cache, monkeypatch)
    assert recall(cache, np.arange(COUNT)) >= 0.98
    assert reopened(cache).update_graph() == 500
    later = reopened(cache)
    assert served_by_graph(later, monkeypatch)
    assert recall(later, np.arange(COUNT)) >= 0.98


@pytest.mark.parametrize("harm", ["torn", "flipped", "foreign", "no state", "no graph"])
def test_a_damaged_graph_is_made_again_and_signs_answer_meanwhile(
    cache: VectorCache, monkeypatch: pytest.MonkeyPatch, harm: str
) -> None:
    graph, state = graph_files(cache)
    content = graph.read_bytes()
    if harm == "torn":
        graph.write_bytes(content[: len(content) // 2])
    elif harm == "flipped":
        middle = len(content) // 2
        flipped = bytes([content[middle] ^ 1])
        graph.write_bytes(content[:middle] + flipped + content[middle + 1 :])
    elif harm == "foreign":
        state.write_text('{"format": 9, "records": "many"}')
    elif harm == "no state":
        state.unlink()
    else:
        graph.unlink()
    opened = reopened(cache)
    assert not served_by_graph(opened, monkeypatch)
    assert recall(opened, np.arange(2_500)) >= 0.98
    assert opened.update_graph() == 2_500
    assert served_by_graph(reopened(cache), monkeypatch)


def test_a_removed_vector_stays_in_no_file_and_in_no_reader(
    cache: VectorCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = reopened(cache)
    assert served_by_graph(reader, monkeypatch)
    removed = MATRIX[4].tobytes()
    graph, _ = graph_files(cache)
    assert removed in graph.read_bytes()
    gone = np.frombuffer(KEYS[4], np.uint64)
    assert (
        sweep_vectors(cache.path.parent, lambda keys: (keys != gone[None]).any(axis=1))
        == 1
    )
    assert not graph_files(cache)
    for path in cache.path.parent.iterdir():
        assert removed not in path.read_bytes()
    reader.refresh()
    assert not served_by_graph(reader, monkeypatch)
    assert cache.update_graph() == 2_499
    assert removed not in graph.read_bytes()
    assert served_by_graph(reopened(cache), monkeypatch)


def test_a_sweep_that_removes_nothing_keeps_the_graph(cache: VectorCache) -> None:
    everything = lambda keys: np.ones(len(keys), bool)  # noqa: E731
    assert sweep_vectors(cache.path.parent, everything) == 0
    assert len(graph_files(cache)) == 2
    cache.path.unlink()
    sweep_vectors(cache.path.parent, everything)
    assert not graph_files(cache)


def test_a_vector_that_is_removed_while_a_graph_is_made_does_not_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = VectorCache(tmp_path, "model", DIMENSIONS)
    cache.add(KEYS, MATRIX)
    grow = VectorCache._add_to_graph
    gone = np.frombuffer(KEYS[4], np.uint64)

    def with_an_erasure(self: VectorCache, *given: object) -> int:
        n_added = grow(self, *given)  # type: ignore[arg-type]
        sweep_vectors(tmp_path, lambda keys: (keys != gone[None]).any(axis=1))
        return n_added

    monkeypatch.setattr(VectorCache, "_add_to_graph", with_an_erasure)
    assert cache.update_graph() == 0
    assert not graph_files(cache)


def test_a_small_store_has_no_graph(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path, "model", DIMENSIONS)
    cache.add(KEYS[:900], MATRIX[:900])
    assert cache.update_graph() == 0
    assert not graph_files(cache)


class DrawnVectors:
    """An embedder that draws a text's vector by its checksum."""

    id = "drawn"
    kind: EmbedderKind = "semantic"
    dimensions = DIMENSIONS

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        rows = [MATRIX[zlib.crc32(text.encode()) % COUNT] for text in texts]
        return np.array(rows, np.float32).reshape(-1, DIMENSIONS)


def test_maintenance_makes_a_homes_graph_and_an_erasure_removes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "GRAPH_FROM", 550)
    embedder = DrawnVectors()
    with Lab(tmp_path, clock=FixedClock(NOW), embedder=embedder) as lab:
        agent = lab.agent("main")
        written = [agent.write(f"till {number} rounds up") for number in range(600)]
        found = lab.searcher.vectors
        found.embed_some(60.0)
        assert not graph_files(found.cache)
        found.embed_pending()
        assert len(graph_files(found.cache)) == 2
        before = lab.search("till 7 rounds up", limit=3)
        assert before[0].text == "till 7 rounds up"
        lab.erase(ids=[written[7].event_id])
        assert not graph_files(found.cache)
        after = lab.search("till 7 rounds up", limit=3)
        assert "till 7 rounds up" not in [hit.text for hit in after]
        found.embed_pending()
        assert len(graph_files(found.cache)) == 2


def test_a_search_reads_each_event_of_its_results_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Lab(tmp_path, clock=FixedClock(NOW), embedder=DrawnVectors()) as lab:
        agent = lab.agent("main")
        for number in range(40):
            agent.write(f"till {number} rounds up")
        lab.search("till rounds up")
        asked: list[list[int]] = []
        journal = lab.home.journal
        read = journal.read

        def note(*, seqs: Sequence[int] = (), **options: Any) -> list[Event]:
            asked.append(list(seqs))
            return read(seqs=seqs, **options)

        monkeypatch.setattr(journal, "read", note)
        assert len(lab.search("till rounds up")) == 10
    assert len(asked) == 1
    assert len(set(asked[0])) == len(asked[0]) <= 25
