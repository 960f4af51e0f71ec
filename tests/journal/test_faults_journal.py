"""What happens to the journal when processes are killed, disks are full and files are
damaged.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
import writing_processes
from conftest import NOW, observation
from faults import holding, opened
from writing_processes import SECRET, acknowledged_ids, keep, write

from theorex_lab import CorruptJournal, FixedClock, StorageError
from theorex_lab.journal.sqlite.check import check_rows
from theorex_lab.journal.sqlite.store import SqliteJournal

KILLS = 200
WRITERS = 8
WRITES = 250
# How long at most a process is waited for before it is killed: long enough that each
# gets through its work, short enough that it is killed at any point of it.
LONGEST_WAIT = 0.03


def _start(folder: Path, name: str, target: int) -> BaseProcess:
    """Start a writer up to its target, or a keeper.

    Each goes on where the one before it was killed. It is a copy of a process that has
    imported the package, so that it is killed at its work.
    """
    context = writing_processes.context()
    if name in ("scan", "erase"):
        process = context.Process(target=keep, args=(folder, name))
    else:
        done = len(acknowledged_ids(folder, name))
        process = context.Process(target=write, args=(folder, name, done, target))
    process.start()
    return process


def test_every_acknowledged_event_survives_eight_writers_and_their_keepers_that_are_killed(
    tmp_path: Path,
) -> None:
    chance = random.Random(20260301)
    targets = dict.fromkeys([f"writer-{number}" for number in range(WRITERS)], WRITES)
    running = {
        name: _start(tmp_path, name, WRITES) for name in (*targets, "scan", "erase")
    }
    kills = 0
    while targets.keys() & running.keys():
        name = chance.choice(sorted(running))
        running[name].join(timeout=chance.uniform(0.0, LONGEST_WAIT))
        if running[name].is_alive():
            if kills < KILLS:
                running[name].kill()
                running[name].join()
                kills += 1
                running[name] = _start(tmp_path, name, targets.get(name, 0))
            continue
        assert running[name].exitcode == 0, name
        del running[name]
        if (
            kills < KILLS
        ):  # a quick machine: it writes on until all were killed that should be
            targets[name] += WRITES
            running[name] = _start(tmp_path, name, targets[name])
    (tmp_path / "stop").touch()
    for keeper in running.values():
        keeper.join()
    assert [keeper.exitcode for keeper in running.values()] == [0, 0]
    assert kills == KILLS

    with opened(tmp_path / "home") as lab:
        lab.erase(match=SECRET)  # the one before may have been killed
        events = list(lab.journal.tail(0, kinds=["observation"], erased=True))
        stored = [event.id for event in events]
        acknowledged = [
            event_id
            for name in targets
            for event_id in acknowledged_ids(tmp_path, name)
        ]
        assert len(acknowledged) >= WRITERS * WRITES
        assert len(set(stored)) == len(stored)
        assert set(acknowledged) <= set(stored)
        erased = sum(event.erased for event in events)
        # At a kill one event may be stored whose acknowledgement was not written any
        # more.
        assert len(stored) - erased - len(acknowledged) <= kills
        report = lab.verify()
        assert report.ok, report.problems
    assert check_rows(tmp_path / "home" / "theorex.db")[0] == []
    assert holding(tmp_path / "home", SECRET) == []


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """A journal's file of some 200 kB, closed and checkpointed."""
    path = tmp_path / "theorex.db"
    journal = SqliteJournal(path, clock=FixedClock(NOW))
    journal.append([observation("x" * 400) for _ in range(300)])
    journal.connection().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    journal.close()
    return path


def _expect_refusal(path: Path) -> None:
    with pytest.raises(CorruptJournal, match=r"theorex\.db.*backup"):
        list(SqliteJournal(path, clock=FixedClock(NOW)).tail(0))


def test_a_file_of_noise_is_an_error(damaged: Path) -> None:
    damaged.write_bytes(os.urandom(50_000))
    _expect_refusal(damaged)


def test_an_emptied_file_is_an_error(damaged: Path) -> None:
    damaged.write_bytes(b"")
    _expect_refusal(damaged)


def test_a_truncated_file_is_an_error(damaged: Path) -> None:
    damaged.write_bytes(damaged.read_bytes()[:40_000])
    _expect_refusal(damaged)


def test_a_foreign_database_is_an_error(damaged: Path) -> None:
    import sqlite3

    damaged.unlink()
    with sqlite3.connect(damaged) as connection:
        connection.execute("CREATE TABLE events (x)")
    connection.close()
    _expect_refusal(damaged)


def test_overwritten_pages_are_an_error(damaged: Path) -> None:
    content = bytearray(damaged.read_bytes())
    content[4096 : 20 * 4096] = b"\xff" * (19 * 4096)
    damaged.write_bytes(content)
    _expect_refusal(damaged)


def test_a_flipped_bit_in_a_text_is_found_by_verification(damaged: Path) -> None:
    content = bytearray(damaged.read_bytes())
    content[content.index(b"xxxx", 100_000)] ^= 1
    damaged.write_bytes(content)
    problems, _ = check_rows(damaged)
    assert len(problems) == 1
    assert "checksum" in problems[0]


def test_a_missing_file_beside_snapshots_is_an_error(damaged: Path) -> None:
    snapshot = damaged.parent / "views" / "axon" / "1-000000000300"
    snapshot.mkdir(parents=True)
    (snapshot / "manifest.json").write_text("{}")
    damaged.unlink()
    with pytest.raises(CorruptJournal, match="is gone"):
        SqliteJournal(damaged)
    assert not damaged.exists()


_LIMITED = """
import resource, sys
from pathlib import Path
sys.path[:0] = sys.argv[2].split(":")
from conftest import NOW, observation
from theorex_lab.core.clock import FixedClock
from theorex_lab.core.errors import StorageError
from theorex_lab.journal.sqlite.store import SqliteJournal
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
journal = SqliteJournal(Path(sys.argv[1]), clock=FixedClock(NOW))
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, hard))
done = 0
try:
    while True:
        journal.append([observation("y" * 900)])
        done += 1
except StorageError as error:
    print("refused:", error)
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
journal.append([observation("there is room again")])
print(done, journal.last_seq())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on file sizes")
def test_a_full_disk_is_named_and_writing_goes_on_when_there_is_room(
    tmp_path: Path,
) -> None:
    path = tmp_path / "theorex.db"
    output = subprocess.run(
        [
            sys.executable,
            "-c",
            _LIMITED,
            str(path),
            ":".join(path for path in sys.path if path),
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert output[0].startswith("refused:")
    assert "disk is full or failing" in output[0]
    done, last = map(int, output[1].split())
    assert 3 <= done == last - 1
    assert check_rows(path)[0] == []


def test_a_home_that_cannot_be_made_is_named() -> None:
    with pytest.raises(StorageError, match="choose a home that can be written"):
        SqliteJournal(Path("/proc/nowhere/theorex.db"))
