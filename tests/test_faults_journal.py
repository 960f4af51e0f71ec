"""What happens to the journal when processes are killed, disks are full and files are damaged."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import NOW, observation

from theorex_lab.clock import FixedClock
from theorex_lab.errors import CorruptJournal, StorageError
from theorex_lab.journal.check import check_rows
from theorex_lab.journal.sqlite import Journal

_WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from conftest import observation
from theorex_lab.clock import FixedClock
from theorex_lab.journal.sqlite import Journal
from conftest import NOW
home, name = Path(sys.argv[1]), sys.argv[2]
done = int(sys.argv[4])
journal = Journal(home / "theorex.db", clock=FixedClock(NOW))
with open(home / f"acknowledged-{name}", "a", buffering=1) as acknowledged:
    for number in range(done, 1000):
        event = observation(f"{name} {number}")
        journal.append([event])
        acknowledged.write(event.id + "\\n")
"""


def _start(home: Path, name: int) -> subprocess.Popen[bytes]:
    file = home / f"acknowledged-{name}"
    done = len(file.read_text().splitlines()) if file.exists() else 0
    arguments = [sys.executable, "-c", _WRITER, str(home), str(name), str(Path(__file__).parent), str(done)]
    return subprocess.Popen(arguments)


def test_every_acknowledged_event_survives_eight_writers_that_are_killed(tmp_path: Path) -> None:
    chance = random.Random(20260301)
    writers = {name: _start(tmp_path, name) for name in range(8)}
    kills = 0
    while writers:
        name = chance.choice(sorted(writers))
        try:
            code = writers[name].wait(timeout=chance.uniform(0.0, 0.6))
        except subprocess.TimeoutExpired:
            if kills >= 24:
                continue
            writers[name].send_signal(signal.SIGKILL)
            writers[name].wait()
            kills += 1
            writers[name] = _start(tmp_path, name)
            continue
        assert code == 0
        del writers[name]
    assert kills >= 8, "the writers were too quick to be killed"
    journal = Journal(tmp_path / "theorex.db", clock=FixedClock(NOW))
    stored = [event.id for event in journal.tail(0)]
    journal.close()
    acknowledged = [line for name in range(8) for line in (tmp_path / f"acknowledged-{name}").read_text().splitlines()]
    assert len(acknowledged) >= 8_000
    assert len(set(stored)) == len(stored)
    assert set(acknowledged) <= set(stored)
    # At a kill one event may be stored whose acknowledgement was not written any more.
    assert len(stored) - len(acknowledged) <= kills
    assert check_rows(tmp_path / "theorex.db")[0] == []


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """A journal's file of some 200 kB, closed and checkpointed."""
    path = tmp_path / "theorex.db"
    journal = Journal(path, clock=FixedClock(NOW))
    journal.append([observation("x" * 400) for _ in range(300)])
    journal.connection().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    journal.close()
    return path


def _expect_refusal(path: Path) -> None:
    with pytest.raises(CorruptJournal, match=r"theorex\.db.*backup"):
        list(Journal(path, clock=FixedClock(NOW)).tail(0))


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
        Journal(damaged)
    assert not damaged.exists()


_LIMITED = """
import resource, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from conftest import NOW, observation
from theorex_lab.clock import FixedClock
from theorex_lab.errors import StorageError
from theorex_lab.journal.sqlite import Journal
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
journal = Journal(Path(sys.argv[1]), clock=FixedClock(NOW))
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
def test_a_full_disk_is_named_and_writing_goes_on_when_there_is_room(tmp_path: Path) -> None:
    path = tmp_path / "theorex.db"
    output = subprocess.run(
        [sys.executable, "-c", _LIMITED, str(path), str(Path(__file__).parent)],
        capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    assert output[0].startswith("refused:")
    assert "disk is full or failing" in output[0]
    done, last = map(int, output[1].split())
    assert 3 <= done == last - 1
    assert check_rows(path)[0] == []


def test_a_home_that_cannot_be_made_is_named() -> None:
    with pytest.raises(StorageError, match="choose a home that can be written"):
        Journal(Path("/proc/nowhere/theorex.db"))
