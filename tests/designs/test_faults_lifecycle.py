"""Each step of the life cycle killed at every change that it makes: repeating it ends
where an undisturbed run ends.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import DAY, NOW, drop_views, observation
from faults import (
    STEPS,
    VIEWS,
    boundaries,
    documented,
    files,
    fill,
    forked,
    holding,
    homes_before_each_step,
    killed_at,
    quick_folder,
    state,
    tool_event,
)
from killed_homes import every, killed_homes
from small_process import in_small_process

from theorex_lab import Lab, ObservationEntry
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.designs.theorex.flash import Flash
from theorex_lab.journal.snapshot import open_snapshots, write_snapshot
from theorex_lab.journal.sqlite import erase as erasing
from theorex_lab.journal.view import Views

pytestmark = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="needs processes that are forked"
)
DRAFT = ".SHARED_CONTEXT.md."


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with quick_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def module_path() -> Iterator[Path]:
    with quick_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def homes(module_path: Path) -> dict[str, Path]:
    return homes_before_each_step(module_path)


def _after(name: str, homes: dict[str, Path]) -> Path:
    return homes[[*homes][[*homes].index(name) + 1]]


def _is_draft(file: str) -> bool:
    """Whether it is what a killed process left of a context or of the note beside it."""
    drafts = (DRAFT, f".{DRAFT}", "contexts/.none.md.", "contexts/..none.md.")
    return file.startswith(drafts) and not file.endswith(".items.json")


# kill -9


@pytest.mark.parametrize("name", [name for name in STEPS if name != "snapshot"])
def test_a_step_that_was_killed_is_repeated_as_if_nothing_had_happened(
    name: str, homes: dict[str, Path], tmp_path: Path
) -> None:
    undisturbed = state(_after(name, homes))
    assert undisturbed != state(homes[name]), "the step does something"
    passed = boundaries(homes[name], tmp_path, STEPS[name])
    assert len(passed) >= 4
    for killed in killed_homes(homes[name], tmp_path, STEPS[name], every(passed)):
        with documented(killed.home) as lab:
            STEPS[name](lab)
        assert state(killed.home) == undisturbed, killed.boundaries
        assert {file for file in files(killed.home) if not _is_draft(file)} == files(
            _after(name, homes)
        )


def test_a_killed_save_leaves_the_old_briefing_or_the_new(
    homes: dict[str, Path], tmp_path: Path
) -> None:
    home = homes["save_briefing"]
    old = state(home)["context"]
    new = state(_after("save_briefing", homes))["context"]
    assert old != new
    seen = []
    for number in range(1, len(boundaries(home, tmp_path, STEPS["save_briefing"])) + 1):
        killed = killed_at(number, home, tmp_path, STEPS["save_briefing"])
        seen.append((killed / "SHARED_CONTEXT.md").read_bytes() == new)
        assert seen[-1] or (killed / "SHARED_CONTEXT.md").read_bytes() == old
    assert seen == sorted(seen)
    assert {True, False} == set(seen)


@in_small_process
def test_snapshots_that_were_killed_are_written_when_repeated(
    homes: dict[str, Path], tmp_path: Path
) -> None:
    """Beside a damaged snapshot of the same seq, which is to be replaced, and two older
    ones, one to be removed.
    """
    home = shutil.copytree(homes["snapshot"], tmp_path / "template")
    folder = home / "views" / Flash.name
    with documented(home) as lab:
        drop_views(lab)
        assert lab.views.snapshot(lab.views.get(Flash))
        for seq in (1, 2):
            event_id = lab.journal.read(seqs=[seq])[0].id
            write_snapshot(
                folder,
                Flash().columns(),
                code=0,
                seq=seq,
                event_id=event_id,
                kinds=Flash.kinds,
            )
    damaged = next(folder.glob(f"{Flash.code}-*/events.seq.npy"))
    damaged.write_bytes(damaged.read_bytes()[:-1])
    undisturbed = shutil.copytree(home, tmp_path / "undisturbed")
    with documented(undisturbed) as lab:
        assert STEPS["snapshot"](lab)
    names = files(undisturbed)
    assert "views/flash/0-000000000001/manifest.json" not in names
    assert _sound(undisturbed) == {Flash.name}
    passed = boundaries(home, tmp_path, STEPS["snapshot"])
    assert {"os.rmdir", "os.rename", "fsync"} <= {name.split()[0] for name in passed}
    expected = state(undisturbed)
    for killed in killed_homes(home, tmp_path, STEPS["snapshot"], every(passed)):
        with documented(killed.home) as lab:
            assert lab.views.get(Flash).columns().keys() == Flash().columns().keys(), (
                "usable before it is repeated"
            )
        with documented(killed.home) as lab:
            assert STEPS["snapshot"](lab)
        assert files(killed.home) == names, killed.boundaries
        assert _sound(killed.home) == {Flash.name}
        assert state(killed.home) == expected, killed.boundaries


# Damaged snapshots


@pytest.fixture(scope="module")
def with_snapshots(homes: dict[str, Path], module_path: Path) -> Path:
    home = shutil.copytree(homes["end"], module_path / "snapshots")
    with documented(home) as lab:
        drop_views(lab)
        for kind in VIEWS:
            assert lab.views.snapshot(lab.views.get(kind))
    return home


def _sound(home: Path) -> set[str]:
    return {
        kind.name
        for kind in VIEWS
        if any(open_snapshots(home / "views" / kind.name, kind.code))
    }


def _flip(content: bytes, bit: int) -> bytes:
    flipped = bytearray(content)
    flipped[bit // 8] ^= 1 << bit % 8
    return bytes(flipped)


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_a_flipped_bit_in_any_file_of_a_snapshot_is_found_and_the_snapshot_is_written_anew(
    view: Any, with_snapshots: Path, tmp_path: Path
) -> None:
    home = shutil.copytree(with_snapshots, tmp_path / "home")
    chance = np.random.default_rng(20260301)
    folder = home / "views" / view.name
    names = sorted(folder.glob("*/*.*"))
    assert any(name.name == "manifest.json" for name in names)
    assert len(names) >= 5
    with documented(home) as lab:
        expected = lab.views.get(view).columns()
        for name in names:
            content = name.read_bytes()
            name.write_bytes(_flip(content, int(chance.integers(8 * len(content)))))
            assert not list(open_snapshots(folder, view.code)), name
            rebuilt = (
                Views(lab.journal, home / "views", snapshot_after_events=1)
                .get(view)
                .columns()
            )
            assert all(
                np.array_equal(rebuilt[key], array) for key, array in expected.items()
            )
            assert list(open_snapshots(folder, view.code)), f"{name} was not rebuilt"
            assert name.read_bytes() == content
        assert lab.verify().ok


def test_no_flipped_bit_and_no_missing_end_goes_unseen_or_stops_the_reader(
    tmp_path: Path,
) -> None:
    """Each single bit of a small snapshot, its .npy headers and its manifest included,
    and each shorter length.
    """
    columns = {"a.x": np.arange(6), "a.y": np.zeros((2, 2))}
    folder = write_snapshot(tmp_path, columns, code=1, seq=5, event_id="e", kinds=[])
    for path in sorted(folder.iterdir()):
        content = path.read_bytes()
        for bit in range(8 * len(content)):
            path.write_bytes(_flip(content, bit))
            assert not list(open_snapshots(tmp_path, 1)), (path.name, bit)
        for length in range(len(content)):
            path.write_bytes(content[:length])
            assert not list(open_snapshots(tmp_path, 1)), (path.name, length)
        path.write_bytes(content)
    assert len(list(open_snapshots(tmp_path, 1))) == 1


def test_a_snapshot_without_one_of_its_files_or_half_written_is_rebuilt(
    with_snapshots: Path, tmp_path: Path
) -> None:
    home = shutil.copytree(with_snapshots, tmp_path / "home")
    expected = state(home)
    for kind in VIEWS:
        folder = next((home / "views" / kind.name).glob(f"{kind.code}-*"))
        for number, path in enumerate(sorted(folder.iterdir())):
            if number % 3 == 0 or path.name == "manifest.json":
                path.unlink()
            elif number % 3 == 1:
                path.write_bytes(b"")
        (folder.parent / ".draft-999-0badcafe").mkdir()
        (folder.parent / ".draft-999-0badcafe" / "half.npy").write_bytes(b"half")
    assert _sound(home) == set()
    with documented(home, snapshotAfterEvents=1) as lab:
        for kind in VIEWS:
            lab.views.get(kind)
    assert _sound(home) == {kind.name for kind in VIEWS}
    assert state(home) == expected
    assert not list(home.glob("views/*/.draft-*"))


# The clock


def test_a_clock_set_back_an_hour_between_steps_is_no_error(tmp_path: Path) -> None:
    hour = 3_600_000_000
    with documented(tmp_path) as lab:
        fill(lab)
        lab.theorex.scan()
    with documented(tmp_path, at=NOW - hour) as lab:
        written = lab.agent("main").write("the cache was warm again")
        lab.journal.append([observation("z", labels=["cache", "ttl"], at=NOW - hour)])
        lab.journal.append(
            [tool_event("the scheduler lost its lease", at=NOW - hour, session="d0")]
        )
        assert lab.theorex.flush("d0").kept >= 2
        lab.theorex.graduate()
        lab.theorex.promote()
        lab.save_briefing()
        lab.theorex.scan()
        last = lab.journal.last_seq()
        again = lab.theorex.scan()
        assert (again.changed, again.slept, again.links_dropped) == (0, 0, 0)
        assert lab.journal.last_seq() == last, "a second scan notes nothing"
        axon = lab.views.get(Axon)
        frame = lab.agent("main").axon.frame().set_index("canonical_form")
        assert frame.loc["cache", "last_seen"].timestamp() * 1e6 == NOW, (
            "the latest mention, not the last one"
        )
        assert frame.loc["cache", "frequency_count"] == 3
        assert (frame["importance_weight"] <= 1).all()
        assert written.event_id in [hit.id for hit in lab.agent("main").search("warm")]
        assert int(axon.links["last_seen"].max()) == NOW
        assert lab.verify().ok
    with documented(tmp_path, at=NOW + 1) as lab:
        assert lab.theorex.flush("d0").kept == 0
        lab.theorex.graduate()
        frame = lab.agent("main").axon.frame().set_index("canonical_form")
        assert frame.loc["upload worker", "frequency_count"] == 7, (
            "graduated once, with each of its days"
        )
        assert lab.verify().ok


def test_a_clock_set_back_by_more_than_a_step_refuses_only_what_is_dated_ahead(
    tmp_path: Path,
) -> None:
    with documented(tmp_path) as lab:
        fill(lab)
    with documented(tmp_path, at=NOW - 2 * DAY) as lab:
        before = lab.journal.last_seq()
        with pytest.raises(ValueError, match="more than 5 minutes ahead"):
            lab.write_all([ObservationEntry("dated ahead", "main", at=NOW)])
        assert lab.journal.last_seq() == before
        assert lab.theorex.flush("d0").kept == 2
        lab.theorex.scan()
        lab.theorex.promote()
        assert lab.verify().ok


# Erasure

SECRET = "zq9secretcanary7"


def _live_with_a_secret(lab: Lab) -> None:
    """The secret goes every way there is: written, hooked, flushed, graduated,
    promoted, rendered, searched.
    """
    fill(lab)
    lab.agent("main").write(
        f"the {SECRET} vault holds the signing key", observation_type="trace_fix"
    )
    lab.journal.append(
        [
            tool_event(f"the {SECRET} gateway", at=NOW - day * DAY, session=f"s{day}")
            for day in range(7)
        ]
    )
    for day in range(7):
        assert lab.theorex.flush(f"s{day}").kept
    assert any(SECRET in label for label in lab.theorex.graduate())
    lab.theorex.promote()
    assert any(SECRET in each.text.lower() for each in lab.theorex.query_shared(SECRET))
    lab.save_briefing()
    lab.search(SECRET)
    lab.searcher.vectors.embed_pending()
    assert lab.archive(NOW - 3 * DAY).events >= 4
    lab.journal.append(
        [tool_event(f"not yet flushed: the {SECRET} gateway", session="open")]
    )
    for kind in VIEWS:
        lab.views.snapshot(lab.views.get(kind))


@pytest.fixture(scope="module")
def with_secret(module_path: Path) -> Path:
    home = module_path / "secret"

    def live() -> None:
        lab = documented(
            home
        )  # not closed: the write-ahead log is full, as with an agent that still runs
        _live_with_a_secret(lab)

    assert forked(live) == 0
    # What a killed save of a briefing left.
    (home / f"{DRAFT}999-0badcafe").write_text(f"half a context with the {SECRET}")
    return home


def _erase(lab: Lab) -> list[str]:
    """By words that no derived event holds: those are reached by lineage alone."""
    return lab.erase(match=f"the {SECRET}")


def _expect_gone(home: Path) -> None:
    assert holding(home, SECRET) == []
    with documented(home) as lab:
        assert lab.verify().ok
        assert lab.search("cache", kinds=["concept"]).hits
        assert not any(
            SECRET in hit.text.lower()
            for kind in (None, ["concept"])
            for hit in lab.search(SECRET, kinds=kind)
        )
        assert SECRET not in lab.briefing().text.lower()
        assert (
            SECRET
            not in lab.theorex.boot_aware().text.lower()
            + lab.theorex.flash_inject("open").lower()
        )
        assert lab.theorex.flush("open").kept == 0, (
            "what was erased before its flush is not flushed"
        )
        kinds = [
            event.kind for event in lab.journal.tail(0, erased=True) if event.erased
        ]
        assert {kind: kinds.count(kind) for kind in set(kinds)} == {
            "observation": 1,
            "tool_used": 8,
            "short_term": 7,
            "graduated": 1,
        }


def test_a_secret_that_went_all_the_way_is_erased_from_every_file(
    with_secret: Path, tmp_path: Path
) -> None:
    home = shutil.copytree(with_secret, tmp_path / "home")
    held = holding(home, SECRET)
    assert {"theorex.db", "theorex.db-wal", "SHARED_CONTEXT.md"} <= set(held)
    assert any(name.startswith("views/axon") for name in held)
    assert any(name.startswith("archive/") for name in held)
    with documented(home) as lab, documented(home) as other:
        assert SECRET in other.briefing().text.lower()
        _erase(lab)
        assert SECRET not in other.briefing().text.lower(), (
            "who has the views open forgets it too"
        )
        assert holding(home, SECRET) == [], "before the journal is closed"
    _expect_gone(home)


def test_what_is_left_after_an_erasure_may_graduate_again(tmp_path: Path) -> None:
    """One of eight days is erased, and with it the graduation that rested on it; seven
    days in a row are left.
    """
    with documented(tmp_path) as lab:
        for day in range(7, -1, -1):
            lab.journal.append(
                [
                    tool_event(
                        "the upload worker met a wall",
                        at=NOW - day * DAY,
                        session=f"d{day}",
                    )
                ]
            )
            lab.theorex.flush(f"d{day}")
        assert "upload worker" in lab.theorex.graduate()
        newest = [event.id for event in lab.journal.tail(0, kinds=["tool_used"])][-1]
        lab.erase(ids=[newest])
        assert len(lab.agent("main").axon.frame()) == 0
        assert "upload worker" in lab.theorex.graduate()
        assert lab.theorex.graduate() == []
        frame = lab.agent("main").axon.frame().set_index("canonical_form")
        assert frame.loc["upload worker", "frequency_count"] == 7
        assert lab.verify().ok


@pytest.mark.parametrize("is_rewritten", [False, True])
@in_small_process
def test_an_erasure_that_was_killed_is_finished_by_repeating_it(
    with_secret: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_rewritten: bool,
) -> None:
    if is_rewritten:
        monkeypatch.setattr(erasing, "free_space", lambda _path: (True, 0.0))
    passed = boundaries(with_secret, tmp_path, _erase)
    assert {"COMMIT", "PRAGMA wal_checkpoint"} <= set(passed)
    assert ("VACUUM" in passed) is is_rewritten
    numbers = [
        number
        for number, name in enumerate(passed, 1)
        if not name.startswith(("os.remove", "UPDATE"))
    ]
    numbers += range(2, len(passed), 11)
    places = {number: passed[number - 1] for number in sorted(set(numbers))}
    for killed in killed_homes(with_secret, tmp_path, _erase, places):
        with documented(killed.home) as lab:
            _erase(lab)
        assert holding(killed.home, SECRET) == [], killed.boundaries
        if any(number % 5 == 0 for number in killed.boundaries):
            _expect_gone(killed.home)
