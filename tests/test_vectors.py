"""Exact and approximate search against a plain sort, and the cache's files under damage and company."""

from __future__ import annotations

import errno
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from theorex_lab.errors import StorageError
from theorex_lab.search.vectors import VectorCache, VectorIndex, exact_search, text_key


def unit_rows(count: int, dimensions: int = 16, seed: int = 0) -> np.ndarray:
    matrix = np.random.default_rng(seed).standard_normal((count, dimensions)).astype(np.float32)
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


@given(st.integers(0, 40), st.integers(0, 12), st.integers(0, 2**32 - 1), st.sampled_from([0.1, 0.6, None]))
def test_exact_search_is_a_sort(count: int, limit: int, seed: int, share: float | None) -> None:
    generator = np.random.default_rng(seed)
    # Small whole numbers: products are exact, and many are equal.
    matrix = generator.integers(-1, 2, (count, 4)).astype(np.float32)
    query = generator.integers(-1, 2, 4).astype(np.float32)
    allowed = None if share is None else generator.random(count) < share
    scores = [float(row @ query) for row in matrix]
    candidates = [row for row in range(count) if allowed is None or allowed[row]]
    expected = sorted(candidates, key=lambda row: (scores[row], row), reverse=True)[:limit]
    rows, found = exact_search(matrix, query, allowed, limit)
    assert rows.tolist() == expected
    assert found.tolist() == [scores[row] for row in expected]


def test_an_index_asked_nothing_special_stays_exact() -> None:
    index = VectorIndex(16, approximate_from_rows=1, payback_queries=0)
    index.add(unit_rows(50))
    for _ in range(5):
        index.search(unit_rows(1, seed=1)[0])
    assert index.backend == "exact"


def test_an_empty_index_finds_nothing() -> None:
    assert VectorIndex(3).search(np.ones(3, dtype=np.float32))[0].tolist() == []


needs_hnswlib = pytest.mark.skipif(importlib.util.find_spec("hnswlib") is None, reason="hnswlib is not installed")


def approximate_index(matrix: np.ndarray) -> VectorIndex:
    """An index whose graph holds every row."""
    index = VectorIndex(matrix.shape[1], approximate=True, approximate_from_rows=100, payback_queries=2)
    index.add(matrix)
    for row in matrix:
        if index.backend == "hnswlib":
            break
        index.search(row)
    return index


@needs_hnswlib
def test_the_graph_is_built_only_once_it_pays_back_and_over_several_queries() -> None:
    index = VectorIndex(16, approximate=True, approximate_from_rows=100, payback_queries=3)
    index.add(unit_rows(99))
    for _ in range(10):
        index.search(unit_rows(1)[0])
    index.add(unit_rows(1, seed=5))
    backends = []
    for _ in range(8):
        rows, _ = index.search(unit_rows(100)[7], limit=1)
        backends.append((index.backend, rows.tolist()))
    assert backends[0] == ("exact", [7])
    assert backends[-1] == ("hnswlib", [7])
    assert [name for name, _ in backends] == sorted(name for name, _ in backends)


@needs_hnswlib
def test_the_graph_finds_nearly_all_that_exact_search_finds() -> None:
    matrix = unit_rows(1500)
    index = approximate_index(matrix)
    hits = 0
    for query in unit_rows(50, seed=1):
        rows, scores = index.search(query, limit=10)
        exact_rows, exact_scores = exact_search(matrix, query, limit=10)
        hits += len(set(rows.tolist()) & set(exact_rows.tolist()))
        assert scores[0] <= exact_scores[0] + 1e-6
        assert (np.diff(scores) <= 0).all()
    assert hits >= 0.97 * 500


@needs_hnswlib
def test_rows_added_to_a_built_graph_are_found_at_once() -> None:
    index = approximate_index(unit_rows(200))
    later = unit_rows(300, seed=9)
    index.add(later)
    for number in range(0, 300, 20):
        assert index.search(later[number], limit=1)[0].tolist() == [200 + number]
    assert index.backend == "hnswlib"


@needs_hnswlib
@pytest.mark.parametrize("share", [0.0, 0.02, 0.4, 0.9])
def test_the_graph_respects_the_filter(share: float) -> None:
    matrix = unit_rows(400)
    index = approximate_index(matrix)
    allowed = np.random.default_rng(3).random(400) < share
    for query in unit_rows(10, seed=4):
        rows, _ = index.search(query, allowed, limit=5)
        assert allowed[rows].all()
        assert len(rows) == min(5, np.count_nonzero(allowed))


@needs_hnswlib
def test_more_may_be_asked_than_there_are_rows() -> None:
    index = approximate_index(unit_rows(120))
    assert sorted(index.search(unit_rows(1)[0], limit=1000)[0].tolist()) == list(range(120))


def test_without_hnswlib_the_index_says_so_and_stays_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    index = approximate_index(unit_rows(150))
    assert index.backend == "exact (hnswlib is not installed)"
    assert index.search(unit_rows(150)[3], limit=1)[0].tolist() == [3]


KEYS = [text_key(f"text {number}") for number in range(40)]


def filled(folder: Path, count: int = 3) -> VectorCache:
    cache = VectorCache(folder, "model", 16)
    cache.add(KEYS[:count], unit_rows(count))
    return cache


def damage(path: Path, offset: int) -> None:
    content = bytearray(path.read_bytes())
    content[offset] ^= 1
    path.write_bytes(content)


def test_what_was_added_is_found_by_another_cache_in_the_asked_order(tmp_path: Path) -> None:
    filled(tmp_path)
    found, matrix = VectorCache(tmp_path, "model", 16).get([KEYS[2], KEYS[9], KEYS[0], KEYS[2]])
    assert found.tolist() == [True, False, True, True]
    assert np.array_equal(matrix, np.stack([unit_rows(3)[2], np.zeros(16), unit_rows(3)[0], unit_rows(3)[2]]))


@given(st.lists(st.lists(st.integers(0, 39), max_size=6), max_size=8))
def test_a_reader_follows_a_writer(tmp_path_factory: pytest.TempPathFactory, batches: list[list[int]]) -> None:
    folder = tmp_path_factory.mktemp("cache")
    writer, reader = VectorCache(folder, "model", 16), VectorCache(folder, "model", 16)
    vectors, held = unit_rows(40), set()
    for batch in batches:
        writer.add([KEYS[number] for number in batch], vectors[batch])
        held |= set(batch)
        found, matrix = reader.get(KEYS)
        assert set(np.flatnonzero(found).tolist()) == held
        assert np.array_equal(matrix[found], vectors[found])


def test_keys_already_held_are_not_written_again(tmp_path: Path) -> None:
    cache = filled(tmp_path)
    cache.add(KEYS[:4], unit_rows(4))
    assert len(cache) == 4


@pytest.mark.parametrize("kept_bytes", [1, 40, 83])
def test_a_record_cut_short_is_ignored_then_replaced(tmp_path: Path, kept_bytes: int) -> None:
    cache = filled(tmp_path)
    whole = cache.path.read_bytes()
    record = len(whole) // 3
    assert record == 84
    cache.path.write_bytes(whole[: 2 * record + kept_bytes])
    torn = VectorCache(tmp_path, "model", 16)
    assert torn.get(KEYS[:3])[0].tolist() == [True, True, False]
    torn.add(KEYS[2:3], unit_rows(3)[2:])
    assert torn.path.read_bytes() == whole


@pytest.mark.parametrize("offset", [0, 20, 83])
def test_a_damaged_record_is_missing_and_can_be_added_again(tmp_path: Path, offset: int) -> None:
    damage(filled(tmp_path).path, 84 + offset)
    cache = VectorCache(tmp_path, "model", 16)
    assert cache.get(KEYS[:3])[0].tolist() == [True, False, True]
    cache.add(KEYS[:3], unit_rows(3))
    assert cache.get(KEYS[:3])[0].tolist() == [True, True, True]
    assert np.array_equal(cache.get(KEYS[:3])[1], unit_rows(3))


def test_zeros_left_by_a_power_cut_are_not_a_record(tmp_path: Path) -> None:
    path = filled(tmp_path).path
    path.write_bytes(path.read_bytes() + bytes(84))
    assert VectorCache(tmp_path, "model", 16).get([bytes(16)])[0].tolist() == [False]


def test_dropping_is_seen_by_others_and_a_new_file_starts(tmp_path: Path) -> None:
    cache, other = filled(tmp_path), VectorCache(tmp_path, "model", 16)
    assert other.get(KEYS[:3])[0].all()
    cache.path.unlink(missing_ok=True)
    assert not other.get(KEYS[:3])[0].any()
    assert not cache.path.exists()
    other.add(KEYS[5:9], unit_rows(4))
    assert cache.get(KEYS[:9])[0].tolist() == [False] * 5 + [True] * 4
    cache.path.unlink(missing_ok=True)
    cache.path.unlink(missing_ok=True)


def test_embedders_and_dimensions_have_files_of_their_own_with_safe_names(tmp_path: Path) -> None:
    names = [
        "http:a@http://127.0.0.1/v1",
        "http:a@http://127.0.0.1/v2",
        "../../etc/passwd",
        "模型",
        "x" * 500,
        "A",
        "a",
    ]
    paths = {VectorCache(tmp_path, name, 16).path for name in names} | {VectorCache(tmp_path, "a", 8).path}
    assert len(paths) == len(names) + 1
    assert all(path.parent == tmp_path and len(path.name) < 100 and path.name.isascii() for path in paths)


WRITER = """
import sys, numpy as np
from theorex_lab.search.vectors import VectorCache, text_key
folder, first = sys.argv[1], int(sys.argv[2])
cache = VectorCache(folder, "model", 16)
for number in range(first, first + 40):
    cache.add([text_key(str(number))], np.full((1, 16), number, np.float32))
"""


def test_two_processes_append_at_once_and_lose_nothing(tmp_path: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), str(first)]) for first in (0, 20)]
    assert [writer.wait() for writer in writers] == [0, 0]
    cache = VectorCache(tmp_path, "model", 16)
    found, matrix = cache.get([text_key(str(number)) for number in range(60)])
    assert found.all()
    assert np.array_equal(matrix[:, 0], np.arange(60))
    assert len(cache) == 60


def test_a_failed_write_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = filled(tmp_path)
    before = cache.path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match="No space left"):
        cache.add(KEYS[5:7], unit_rows(2))
    assert cache.path.read_bytes() == before


def test_a_folder_that_cannot_be_made_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot"):
        filled(tmp_path / "file" / "below")


def test_without_file_locks_reading_works_and_adding_says_why_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(tmp_path)
    monkeypatch.setitem(sys.modules, "fcntl", None)
    cache = VectorCache(tmp_path, "model", 16)
    assert cache.get(KEYS[:1])[0].all()
    with pytest.raises(StorageError, match="fcntl"):
        cache.add(KEYS[7:8], unit_rows(1))
