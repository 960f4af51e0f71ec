"""Which vectors are compared with a query, against a plain sort, and the cache's files
under damage and company.
"""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from faults import at_once
from hypothesis import given
from hypothesis import strategies as st

from theorex_lab import StorageError
from theorex_lab.search.vectors import VectorCache, text_key


def unit_rows(count: int, dimensions: int = 16, seed: int = 0) -> np.ndarray:
    matrix = (
        np.random.default_rng(seed)
        .standard_normal((count, dimensions))
        .astype(np.float32)
    )
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def nearest(
    cache: VectorCache, query: np.ndarray, limit: int, allowed: np.ndarray | None = None
) -> list[int]:
    """The numbers of the records nearest to a query among the allowed ones, best first."""
    numbers = np.arange(len(cache)) if allowed is None else np.flatnonzero(allowed)
    numbers = numbers[cache.likely(numbers, query, limit)]
    order = np.argsort(-(cache.read(numbers)[1] @ query), kind="stable")[:limit]
    return numbers[order].tolist()


def stored(folder: Path, matrix: np.ndarray) -> VectorCache:
    cache = VectorCache(folder, "model", matrix.shape[1])
    cache.add([text_key(str(number)) for number in range(len(matrix))], matrix)
    cache.refresh()
    return cache


@pytest.mark.parametrize("dimensions", [3, 16, 128, 200])
def test_a_small_or_flat_store_is_compared_whole(
    tmp_path: Path, dimensions: int
) -> None:
    count = 100 if dimensions >= 128 else 2_000
    matrix = unit_rows(count, dimensions)
    cache = stored(tmp_path, matrix)
    for query in unit_rows(5, dimensions, seed=1):
        assert (
            nearest(cache, query, 10)
            == np.argsort(-(matrix @ query), kind="stable")[:10].tolist()
        )


def test_an_empty_store_finds_nothing(tmp_path: Path) -> None:
    assert nearest(VectorCache(tmp_path, "model", 384), unit_rows(1, 384)[0], 10) == []


@pytest.mark.parametrize("share", [1.0, 0.0, 0.02, 0.4])
def test_equal_signs_name_nearly_all_that_are_nearest(
    tmp_path: Path, share: float
) -> None:
    """Of vectors around subjects, as sentences' are; 384 dimensions, and 100 of them
    wanted as search wants them.
    """
    subjects = unit_rows(200, 384, seed=2)
    matrix = subjects[np.arange(6_000) % 200] + 0.9 * unit_rows(6_000, 384, seed=3)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    cache = stored(tmp_path, matrix)
    hits = 0
    compared = []
    allowed = np.random.default_rng(4).random(6_000) < share
    for query in matrix[:40]:
        expected = np.flatnonzero(allowed)[
            np.argsort(-(matrix[allowed] @ query))[:10]
        ].tolist()
        found = nearest(cache, query, 100, allowed)
        assert allowed[found].all()
        hits += len(set(found[:10]) & set(expected))
        compared.append(len(cache.likely(np.flatnonzero(allowed), query, 100)))
    assert max(compared) <= 1_000
    assert hits >= 0.98 * 40 * min(10, np.count_nonzero(allowed))


def test_what_is_added_later_is_found_at_once(tmp_path: Path) -> None:
    cache = stored(tmp_path, unit_rows(3_000, 384))
    later = unit_rows(40, 384, seed=9)
    other = VectorCache(tmp_path, "model", 384)
    for number in range(0, 40, 4):
        other.add(
            [text_key(f"later {row}") for row in range(number, number + 4)],
            later[number : number + 4],
        )
        cache.refresh()
        assert nearest(cache, later[number], 1) == [3_000 + number]


KEYS = [text_key(f"text {number}") for number in range(40)]


def filled(folder: Path, count: int = 3) -> VectorCache:
    cache = VectorCache(folder, "model", 16)
    cache.add(KEYS[:count], unit_rows(count))
    return cache


def damage(path: Path, offset: int) -> None:
    content = bytearray(path.read_bytes())
    content[offset] ^= 1
    path.write_bytes(content)


def test_what_was_added_is_found_by_another_cache_in_the_asked_order(
    tmp_path: Path,
) -> None:
    filled(tmp_path)
    found, matrix = VectorCache(tmp_path, "model", 16).get(
        [KEYS[2], KEYS[9], KEYS[0], KEYS[2]]
    )
    assert found.tolist() == [True, False, True, True]
    assert np.array_equal(
        matrix,
        np.stack([unit_rows(3)[2], np.zeros(16), unit_rows(3)[0], unit_rows(3)[2]]),
    )


@given(st.lists(st.lists(st.integers(0, 39), max_size=6), max_size=8))
def test_a_reader_follows_a_writer(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[int]]
) -> None:
    folder = tmp_path_factory.mktemp("cache")
    writer = VectorCache(folder, "model", 16)
    reader = VectorCache(folder, "model", 16)
    vectors = unit_rows(40)
    held = set()
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
def test_a_record_cut_short_is_ignored_then_replaced(
    tmp_path: Path, kept_bytes: int
) -> None:
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
def test_a_damaged_record_is_missing_and_can_be_added_again(
    tmp_path: Path, offset: int
) -> None:
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
    cache = filled(tmp_path)
    other = VectorCache(tmp_path, "model", 16)
    assert other.get(KEYS[:3])[0].all()
    cache.path.unlink(missing_ok=True)
    assert not other.get(KEYS[:3])[0].any()
    assert not cache.path.exists()
    other.add(KEYS[5:9], unit_rows(4))
    assert cache.get(KEYS[:9])[0].tolist() == [False] * 5 + [True] * 4
    cache.path.unlink(missing_ok=True)
    cache.path.unlink(missing_ok=True)


def test_embedders_and_dimensions_have_files_of_their_own_with_safe_names(
    tmp_path: Path,
) -> None:
    names = [
        "http:a@http://127.0.0.1/v1",
        "http:a@http://127.0.0.1/v2",
        "../../etc/passwd",
        "模型",
        "x" * 500,
        "A",
        "a",
    ]
    paths = {VectorCache(tmp_path, name, 16).path for name in names} | {
        VectorCache(tmp_path, "a", 8).path
    }
    assert len(paths) == len(names) + 1
    assert all(
        path.parent == tmp_path and len(path.name) < 100 and path.name.isascii()
        for path in paths
    )


def _add_forty(folder: Path, first: int) -> None:
    cache = VectorCache(folder, "model", 16)
    for number in range(first, first + 40):
        cache.add([text_key(str(number))], np.full((1, 16), number, np.float32))


def test_two_processes_append_at_once_and_lose_nothing(tmp_path: Path) -> None:
    assert at_once(_add_forty, (tmp_path, 0), (tmp_path, 20)) == [0, 0]
    cache = VectorCache(tmp_path, "model", 16)
    found, matrix = cache.get([text_key(str(number)) for number in range(60)])
    assert found.all()
    assert np.array_equal(matrix[:, 0], np.arange(60))
    assert len(cache) == 60


def test_a_failed_write_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
