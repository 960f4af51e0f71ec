"""Snapshots are written when they are worth it: few bytes in all, and no process folds
what another could have kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import DAY, NOW, observation
from faults import VIEWS, opened, quick_folder, tool_event

from theorex_lab import Event
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.journal import view
from theorex_lab.journal.sqlite.store import SqliteJournal
from theorex_lab.journal.view import Views


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with quick_folder() as folder:
        yield folder


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """(view, bytes) of each snapshot that is written, by a look at its files."""
    found: list[tuple[str, int]] = []
    write = view.write_snapshot

    def counting(folder: Path, *arguments: object, **options: object) -> Path:
        path = write(folder, *arguments, **options)  # type: ignore[arg-type]
        found.append((folder.name, sum(file.stat().st_size for file in path.iterdir())))
        return path

    monkeypatch.setattr(view, "write_snapshot", counting)
    return found


def many(count: int, first: int = 0, days: int = 0) -> list[Event]:
    """Observations of six words and three concepts, of which every third text brings a
    new one.
    """
    return [
        observation(
            f"text {number} tells of cache {number % 97} and queue {number % 53}",
            labels=[
                f"concept {number // 3}",
                f"cache {number % 97}",
                f"queue {number % 53}",
            ],
            at=NOW - days * DAY,
        )
        for number in range(first, first + count)
    ]


@pytest.mark.parametrize("scans", [False, True])
def test_all_snapshots_together_take_less_than_three_times_the_journal(
    tmp_path: Path, written: list[tuple[str, int]], scans: bool
) -> None:
    """Of a journal that grows while one short process after the other looks at every
    view, and none folds much again.
    """
    batch = 150
    shares = []
    for number in range(40):
        with opened(tmp_path, snapshotAfterEvents=100) as lab:
            lab.journal.append(
                [
                    *many(batch, number * batch, days=40 - number),
                    tool_event("make test", session="s"),
                ]
            )
            last = lab.journal.last_seq()
            for kind in VIEWS:
                before = lab.views._from_snapshot(kind).seq
                if before:
                    shares.append((last - before - batch) / last)
                lab.views.get(kind)
            if scans and number % 5 == 4:
                lab.theorex.scan()
    size = (tmp_path / "theorex.db").stat().st_size
    assert sum(bytes_ for _, bytes_ in written) <= 3 * size
    assert max(shares) <= 0.55, "of all events, beside those of the last batch"
    axons = [name for name, _ in written].count("axon")
    assert 4 <= axons <= 20, "few, and yet enough"


def test_processes_that_find_it_worth_at_once_write_one_snapshot(
    tmp_path: Path, written: list[tuple[str, int]]
) -> None:
    journal = SqliteJournal(tmp_path / "theorex.db")
    journal.append(many(300))
    together = [
        Views(journal, tmp_path / "views", snapshot_after_events=250) for _ in range(4)
    ]
    for views in together:
        views._open[Axon] = views._from_snapshot(Axon)
    for number, views in enumerate(together):
        views.get(Axon)
        journal.append(many(1, 300 + number))
    assert [name for name, _ in written] == ["axon"]
    assert all(views._kept[Axon] == 300 for views in together)
    journal.close()


def test_a_view_of_few_events_need_not_pass_over_all_the_others_each_time(
    tmp_path: Path, written: list[tuple[str, int]]
) -> None:
    journal = SqliteJournal(tmp_path / "theorex.db")
    for _ in range(6):
        journal.append([tool_event("make test") for _ in range(500)])
        Views(journal, tmp_path / "views", snapshot_after_events=400).get(Axon)
    assert len(written) >= 3
    assert Views(journal, tmp_path / "views")._from_snapshot(Axon).seq >= 1_500
    journal.close()
