"""A full disk, once and lasting, at every write: a clear error, nothing lost, and on it
goes when there is room.
"""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import NOW, Meanings
from faults import (
    STEPS,
    VIEWS,
    checkpoint,
    documented,
    forked,
    homes_before_each_step,
    quick_folder,
    state,
)

from theorex_lab import FixedClock, Lab, StorageError
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.journal.snapshot import open_snapshots

pytestmark = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="needs processes that are forked"
)
WRITES: dict[str, Callable[[Lab], object]] = {
    "write": lambda lab: lab.agent("main").write("the vault was sealed", at=NOW),
    **{name: step for name, step in STEPS.items() if name != "snapshot"},
}
TEMPLATES = {"write": "flush"}
_MS_NOSUID = 2
_MS_PRIVATE_REC = 0x44000
_CLONE_NEWNS = 0x20000


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with quick_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def homes() -> Iterator[dict[str, Path]]:
    with quick_folder() as folder:
        found = homes_before_each_step(folder)
        for home in found.values():
            checkpoint(home)
        yield found


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """No file of this process may grow beyond `size` bytes: writing fails as it does on
    a full disk.
    """
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def _done(home: Path, step: Callable[[Lab], object]) -> Path:
    with documented(home) as lab:
        step(lab)
    return home


@pytest.mark.parametrize("name", WRITES)
def test_without_room_a_step_is_refused_and_does_the_same_when_there_is_room(
    name: str, homes: dict[str, Path], tmp_path: Path
) -> None:
    """At every size of file that the step cannot do with: nothing at all, the journal's
    log, the file of the briefing.
    """
    template = homes[TEMPLATES.get(name, name)]
    step = WRITES[name]
    before = state(template)
    expected = state(_done(shutil.copytree(template, tmp_path / "expected"), step))
    assert expected != before
    refused = []
    for size in (0, 400, 5_000, 33_000, 34_000, 37_000, 41_500, 80_000):
        home = shutil.copytree(template, tmp_path / f"home-{size}")

        def full(home: Path = home, size: int = size) -> None:
            with documented(home) as lab:
                lab.views  # noqa: B018
                for _ in ("once", "lasting"):
                    with files_of_at_most(size):
                        try:
                            step(lab)
                            return
                        except StorageError as error:
                            text = str(error)
                            assert (
                                "make room" in text or "old file is untouched" in text
                            ), text
                    (tmp_path / f"refused-{size}").touch()
                    assert lab.journal.last_seq() == len(before["events"])
                    assert lab.context_file.read_bytes() == before["context"]
                step(lab)

        assert forked(full) == 0
        refused.append((tmp_path / f"refused-{size}").exists())
        assert state(home) == expected, size
    assert refused[0], "no room at all is noticed"
    assert not refused[-1], "there is enough room in the end"


@pytest.mark.parametrize("name", WRITES)
def test_a_home_opened_without_room_says_so(
    name: str, homes: dict[str, Path], tmp_path: Path
) -> None:
    """Also the first thing that a process does, or a thread: to open the journal is to
    write beside it.
    """
    home = shutil.copytree(homes[TEMPLATES.get(name, name)], tmp_path / "home")
    expected = state(_done(shutil.copytree(home, tmp_path / "expected"), WRITES[name]))

    def full() -> None:
        with (
            files_of_at_most(0),
            pytest.raises(StorageError, match="make room"),
            documented(home) as lab,
        ):
            WRITES[name](lab)
        with documented(home) as lab:
            lab.journal.close()
            with files_of_at_most(0), pytest.raises(StorageError, match="make room"):
                WRITES[name](lab)
            WRITES[name](lab)

    assert forked(full) == 0
    assert state(home) == expected


def test_a_snapshot_without_room_is_left_out_and_written_later(
    homes: dict[str, Path], tmp_path: Path
) -> None:
    for size in (0, 100, 140, 300, 1_000):
        home = shutil.copytree(homes["end"], tmp_path / f"home-{size}")

        def full(home: Path = home, size: int = size) -> None:
            with documented(home, snapshotAfterEvents=1) as lab, files_of_at_most(size):
                for kind in VIEWS:
                    assert lab.views.get(kind).seq == lab.journal.last_seq()
                assert not lab.views.snapshot(lab.views.get(Axon)), size
                assert "shorten the TTL" in lab.briefing().text
                # Nothing half written stays, and nothing is taken for a snapshot.
                assert not list(home.glob("views/axon/[.0-9]*"))
            with documented(home, snapshotAfterEvents=1) as lab:
                lab.views.get(Axon)
                assert (
                    len(list(open_snapshots(home / "views" / "axon", Axon.code))) == 1
                )

        assert forked(full) == 0
        assert state(home) == state(homes["end"])


def test_vectors_without_room_are_done_without_and_kept_later(
    homes: dict[str, Path], tmp_path: Path
) -> None:
    for size in (0, 2_000, 5_000):
        home = shutil.copytree(homes["end"], tmp_path / f"home-{size}")

        def full(home: Path = home, size: int = size) -> None:
            with Lab(home, clock=FixedClock(NOW), embedder=Meanings()) as lab:
                lab.journal.last_seq()
                queued = lab.searcher.vectors.coverage()["queued"]
                with files_of_at_most(size):
                    for _ in ("once", "lasting"):
                        assert [
                            hit
                            for hit in lab.search("cache", kinds=["concept"])
                            if hit.text == "cache"
                        ]
                        first, second = lab.search("cache").notes
                        assert first.startswith("some texts wait for a vector: ")
                        assert "check space" in first
                        assert second.startswith(f"0 of {queued} texts have vectors;")
                    with pytest.raises(StorageError, match="check space"):
                        lab.searcher.vectors.embed_pending()
                    assert lab.searcher.vectors.coverage()["covered"] == 0
                lab.searcher.vectors.embed_pending()
                assert lab.search("cache").notes == ()
                assert lab.searcher.vectors.coverage()["queued"] == 0

        assert forked(full) == 0


# A disk that is really full


def _small_disk(folder: Path, size: str) -> bool:
    """Mount a file system in memory that only this process sees; False where the system
    does not let it.
    """
    system = ctypes.CDLL(None, use_errno=True)
    if system.unshare(_CLONE_NEWNS) or system.mount(
        b"none", b"/", None, _MS_PRIVATE_REC, None
    ):
        return False
    return not system.mount(
        b"tmpfs", bytes(folder), b"tmpfs", _MS_NOSUID, f"size={size}".encode()
    )


@pytest.mark.skipif(
    not Path("/proc/self/mounts").exists(), reason="needs the mounts of Linux"
)
def test_every_step_on_a_disk_that_is_full_and_then_is_not(
    homes: dict[str, Path], tmp_path: Path
) -> None:
    """Where nothing can be mounted, the same with a limit on the size of files."""
    disk = tmp_path / "disk"
    disk.mkdir()

    def live() -> None:
        mounted = _small_disk(disk, "3m")
        for name, step in WRITES.items():
            template = homes[TEMPLATES.get(name, name)]
            home = shutil.copytree(template, disk / name)
            expected = state(_done(shutil.copytree(template, tmp_path / name), step))
            context = (home / "SHARED_CONTEXT.md").read_bytes()
            with documented(home) as lab:
                for _ in ("once", "lasting"):
                    with (
                        _full(disk) if mounted else files_of_at_most(0),
                        pytest.raises(StorageError),
                    ):
                        step(lab)
                    assert (home / "SHARED_CONTEXT.md").read_bytes() == context
                step(lab)
            assert state(home) == expected
            shutil.rmtree(home)

    assert forked(live) == 0


@contextmanager
def _full(disk: Path) -> Iterator[None]:
    """Take all the room that is left."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (65_536, 4_096, 1):
            try:
                while file.write(b"x" * size):
                    pass
            except OSError:
                continue
    try:
        yield
    finally:
        ballast.unlink()
