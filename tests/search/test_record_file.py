"""Records of a growing file, of which the newest are read rather than mapped."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from theorex_lab.search import record_file
from theorex_lab.search.record_file import RecordFile
from theorex_lab.search.vectors import record_type

RECORD = record_type(3)


def records(count: int) -> np.ndarray:
    """So many records, each with another key, vector and checksum."""
    made = np.zeros(count, RECORD)
    made["key"] = np.arange(2 * count).reshape(-1, 2)
    made["vector"] = np.random.default_rng(count).random((count, 3), np.float32)
    made["crc"] = np.arange(count)
    return made


@given(sizes=st.lists(st.integers(1, 300), min_size=1, max_size=6), seed=st.integers(0))
def test_however_it_grew_it_reads_as_the_whole_file(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], seed: int
) -> None:
    path = tmp_path_factory.mktemp("grown") / "records"
    whole = records(sum(sizes))
    random = np.random.default_rng(seed)
    file_records = RecordFile(RECORD)
    end = 0
    for size in sizes:
        start, end = end, end + size
        with path.open("ab") as file:
            file.write(whole[start:end].tobytes())
        with path.open("rb") as file:
            new = file_records.take_in(file, end)
        assert new.tobytes() == whole[start:end].tobytes()
        assert len(file_records) == end
        numbers = random.integers(0, end, 20)
        chosen = file_records.chosen(numbers)
        assert chosen.tobytes() == whole[numbers].tobytes()
        first, last = sorted(random.integers(0, end + 1, 2).tolist())
        between = file_records.between(first, last)
        assert between.tobytes() == whole[first:last].tobytes()


def test_a_file_is_mapped_again_only_where_many_records_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_mapped = []
    mapped = record_file._mapped
    monkeypatch.setattr(
        record_file,
        "_mapped",
        lambda *arguments: n_mapped.append(arguments[-1]) or mapped(*arguments),
    )
    path = tmp_path / "records"
    path.write_bytes(records(1_000).tobytes())
    file_records = RecordFile(RECORD)
    with path.open("rb") as file:
        for n_records in range(400, 1_000):
            file_records.take_in(file, n_records)
    assert n_mapped == [400, 657, 914]


def test_of_a_file_that_was_cut_meanwhile_what_is_there_is_taken_in() -> None:
    whole = records(5)
    file_records = RecordFile(RECORD)
    file_records._mapped = whole[:2]
    cut = io.BytesIO(whole.tobytes()[: 4 * RECORD.itemsize + 7])
    assert file_records.take_in(cut, 5).tobytes() == whole[2:4].tobytes()
    assert len(file_records) == 4
    assert file_records.chosen(np.zeros(0, np.int64)).tobytes() == b""
