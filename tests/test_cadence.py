"""Snapshots are written when they are worth it: few bytes in all, and no process folds what another could have kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from conftest import DAY, NOW, observation
from faults import ITEMS, VIEWS, opened, quick_folder, tool_event

from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.designs.theorex.flash import Flash
from theorex_lab.designs.theorex.shared import SharedWeb
from theorex_lab.journal import view
from theorex_lab.journal.cadence import Ledger
from theorex_lab.journal.event import Event
from theorex_lab.journal.sqlite.store import SqliteJournal
from theorex_lab.journal.view import View, Views


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


@pytest.fixture
def folded(monkeypatch: pytest.MonkeyPatch) -> list[Event]:
    """The events that the axon and the shared web fold."""
    found: list[Event] = []
    for kind in (Axon, SharedWeb):

        def counting(self: View, events: Sequence[Event], fold: object = kind.fold) -> None:
            found.extend(events)
            fold(self, events)  # type: ignore[operator]

        monkeypatch.setattr(kind, "fold", counting)
    return found


def many(count: int, first: int = 0, days: int = 0) -> list[Event]:
    """Observations of six words and three concepts, of which every third text brings a new one."""
    return [
        observation(
            f"text {number} tells of cache {number % 97} and queue {number % 53}",
            labels=[f"concept {number // 3}", f"cache {number % 97}", f"queue {number % 53}"],
            at=NOW - days * DAY,
        )
        for number in range(first, first + count)
    ]


@pytest.mark.parametrize("scans", [False, True])
def test_all_snapshots_together_take_less_than_three_times_the_journal(
    tmp_path: Path, written: list[tuple[str, int]], scans: bool
) -> None:
    """Of a journal that grows while one short process after the other looks at every view, and none folds much again."""
    batch, shares = 150, []
    for number in range(40):
        with opened(tmp_path, snapshotAfterEvents=100) as lab:
            lab.journal.append([*many(batch, number * batch, days=40 - number), tool_event("make test", session="s")])
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


@pytest.mark.parametrize("step", ["scan", "prune", "promote"])
def test_what_a_large_step_decided_is_folded_by_no_other_process(
    tmp_path: Path, folded: list[Event], step: str
) -> None:
    with opened(tmp_path, snapshotAfterEvents=100_000) as lab:
        lab.journal.append(many(400, days=60 if step != "promote" else 0))
        getattr(lab.theorex, step)()
        kinds = [event.kind for event in lab.journal.tail(0)]
        assert kinds.count({"promote": "promoted"}.get(step, step)) == 1
        assert {"scan", "prune", "promoted"} & {event.kind for event in folded}
    folded.clear()
    with opened(tmp_path) as lab:
        for kind in VIEWS:
            lab.views.get(kind)
        assert [event.kind for event in folded if event.kind in ("scan", "prune", "promoted")] == []
        assert lab.verify().ok


def test_a_step_that_changed_little_writes_nothing(tmp_path: Path, written: list[tuple[str, int]]) -> None:
    with opened(tmp_path) as lab:
        lab.journal.append(many(400))
        lab.theorex.scan()
        assert [name for name, _ in written] == ["axon"]
        lab.agent("main").write("one more")
        lab.theorex.scan()
        assert [name for name, _ in written] == ["axon"]


def test_a_scan_killed_before_its_snapshot_gets_one_when_it_is_repeated(
    tmp_path: Path, written: list[tuple[str, int]], monkeypatch
) -> None:
    with opened(tmp_path) as lab:
        lab.journal.append(many(400))
        with monkeypatch.context() as patch:
            patch.setattr(Views, "snapshot_after_step", lambda *_: None)
            lab.theorex.scan()
    assert written == []
    with opened(tmp_path) as lab:
        lab.theorex.scan()
    assert [name for name, _ in written] == ["axon"]


def test_processes_that_find_it_worth_at_once_write_one_snapshot(
    tmp_path: Path, written: list[tuple[str, int]]
) -> None:
    journal = SqliteJournal(tmp_path / "theorex.db")
    journal.append(many(300))
    together = [Views(journal, tmp_path / "views", snapshot_after_events=250) for _ in range(4)]
    for views in together:
        views._open[Axon] = views._from_snapshot(Axon)
    for number, views in enumerate(together):
        views.get(Axon)
        journal.append(many(1, 300 + number))
    assert [name for name, _ in written] == ["axon"]
    assert all(views._ledgers[Axon].snapshot_seq == 300 for views in together)
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


def test_a_ledger_counts_bodies_events_and_what_is_passed_over(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "theorex.db")
    journal.append([tool_event("x") for _ in range(10)])
    (body,) = journal.connection().execute("SELECT max(length(body)) FROM events").fetchone()
    one, in_two = Ledger(), Ledger()
    one.count(journal, Flash.kinds, 10)
    in_two.count(journal, Flash.kinds, 4)
    in_two.count(journal, Flash.kinds, 10)
    assert one == in_two
    assert one.folded == 10 * (body + 64 + 16)
    passed = Ledger()
    passed.count(journal, ITEMS.kinds, 10)
    assert passed.folded == 160
    journal.close()
