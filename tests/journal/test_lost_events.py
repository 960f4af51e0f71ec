"""Logs that were cut, older copies put back and rows that were swapped: never silent.

Each of them is a sound file for SQLite, which ends early or tells another story.
"""

from __future__ import annotations

import io
import json
import os
import random
import shutil
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from conftest import NOW, observation
from faults import forked, quick_folder

from theorex_lab import CorruptJournal, FixedClock
from theorex_lab.app import hook
from theorex_lab.journal.sqlite.backup import backup, restore
from theorex_lab.journal.sqlite.check import check_rows
from theorex_lab.journal.sqlite.inserting import INSERT
from theorex_lab.journal.sqlite.last_written import (
    LAST_WRITTEN_FILE,
    last_written,
    write_last,
)
from theorex_lab.journal.sqlite.salvage import salvage
from theorex_lab.journal.sqlite.store import SqliteJournal
from theorex_lab.journal.stored import checksum

EARLY = 60
LATE = 40
CUTS = 60
SWAPS = 30
PAGE_BYTES = 4_096
FRAME_BYTES = PAGE_BYTES + 24
LOG_HEADER_BYTES = 32

needs_fork = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="needs processes that are forked"
)


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with quick_folder() as folder:
        yield folder


def opened(home: Path) -> SqliteJournal:
    return SqliteJournal(home / "theorex.db", clock=FixedClock(NOW))


def put(folder: Path, files: dict[str, bytes]) -> Path:
    """Make a home of these files alone."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def files_of(home: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in home.iterdir() if path.is_file()}


def outcome(home: Path, last: int) -> str:
    """How a home opens: 'whole', 'refused' with a way out, or 'silent'."""
    try:
        with closing(opened(home)) as journal:
            return "whole" if journal.last_seq() == last else "silent"
    except CorruptJournal as error:
        ways = ("theorex restore", "theorex verify --salvage")
        return "refused" if all(way in str(error) for way in ways) else "no way out"


@pytest.fixture(scope="module")
def killed() -> Iterator[dict[str, bytes]]:
    """The files of a home that was killed with many commits in its log."""
    with quick_folder() as home:

        def live() -> None:
            journal = opened(home)
            journal.append([observation(f"early {n}") for n in range(EARLY)])
            journal.connection().execute("PRAGMA wal_checkpoint(TRUNCATE)")
            for number in range(LATE):
                journal.append([observation(f"late {number}")])
            journal.keep_places()
            os.kill(os.getpid(), signal.SIGKILL)

        assert forked(live) == -signal.SIGKILL
        yield files_of(home)


def knowing(files: dict[str, bytes], witness: str) -> dict[str, bytes]:
    """The journal's own files, and one file that knows of its newest event."""
    names = {"theorex.db", "theorex.db-wal", witness}
    return {name: content for name, content in files.items() if name in names}


@needs_fork
@pytest.mark.parametrize("witness", [LAST_WRITTEN_FILE, "projects.json"])
def test_a_log_that_was_cut_anywhere_is_refused(
    killed: dict[str, bytes], tmp_path: Path, witness: str
) -> None:
    files = knowing(killed, witness)
    assert outcome(put(tmp_path / "home", files), EARLY + LATE) == "whole"
    log = files["theorex.db-wal"]
    n_silent = 0
    for number in range(CUTS):
        cut = log[: len(log) * number // CUTS]
        home = put(tmp_path / "home", {**files, "theorex.db-wal": cut})
        n_silent += outcome(home, EARLY + LATE) != "refused"
    assert n_silent == 0


@needs_fork
def test_a_snapshot_alone_tells_that_a_log_was_cut(
    killed: dict[str, bytes], tmp_path: Path
) -> None:
    files = knowing(killed, "")
    home = put(tmp_path / "home", {**files, "theorex.db-wal": b""})
    (home / "views" / "items" / f"1-{EARLY + LATE:012d}").mkdir(parents=True)
    with pytest.raises(CorruptJournal, match=r"a snapshot in views goes up to"):
        opened(home)


@needs_fork
def test_a_log_that_is_gone_is_refused_and_salvage_gives_no_number_twice(
    killed: dict[str, bytes], tmp_path: Path
) -> None:
    files = knowing(killed, LAST_WRITTEN_FILE)
    del files["theorex.db-wal"]
    home = put(tmp_path / "home", files)
    expected = f"it ends at event {EARLY}, yet {LAST_WRITTEN_FILE} goes up to event 100"
    with pytest.raises(CorruptJournal, match=expected):
        opened(home)
    done = salvage(home, aside="aside", at=NOW)
    assert (done.events, done.lost) == (EARLY, [(EARLY + 1, EARLY + LATE)])
    assert (home / "aside" / LAST_WRITTEN_FILE).exists()
    with closing(opened(home)) as journal:
        (seq,) = journal.append([observation("it goes on")])
    assert seq == EARLY + LATE + 2


def test_an_older_copy_of_the_file_is_refused_also_once_it_has_grown(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    with closing(opened(home)) as journal:
        journal.append([observation(f"early {n}") for n in range(EARLY)])
    old = (home / "theorex.db").read_bytes()
    with closing(opened(home)) as journal:
        journal.append([observation("the newest")])
    newest = files_of(home)[LAST_WRITTEN_FILE]
    (home / "theorex.db").write_bytes(old)
    assert outcome(home, EARLY + 1) == "refused"
    # Another event takes the number where nothing knows better.
    (home / LAST_WRITTEN_FILE).unlink()
    with closing(opened(home)) as journal:
        journal.append([observation("another"), observation("and one more")])
    (home / LAST_WRITTEN_FILE).write_bytes(newest)
    with pytest.raises(CorruptJournal, match="is not the one that was written here"):
        opened(home)


def test_a_journal_that_is_gone_is_no_new_memory(tmp_path: Path) -> None:
    with closing(opened(tmp_path / "home")) as journal:
        journal.append([observation("one")])
    (tmp_path / "home" / "theorex.db").unlink()
    with pytest.raises(CorruptJournal, match=f"gone, yet {LAST_WRITTEN_FILE} goes up"):
        opened(tmp_path / "home")


def test_a_restored_backup_may_end_earlier(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with closing(opened(home)) as journal:
        journal.append([observation("kept")])
        backup(journal, tmp_path / "old.db")
        journal.append([observation("later")])
    restore(home, tmp_path / "old.db", aside="aside")
    with closing(opened(home)) as journal:
        assert journal.append([observation("anew")]) == [2]
    assert outcome(home, 2) == "whole"


def test_a_slot_that_is_torn_or_damaged_tells_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "theorex.db")
    write_last(path, 7, "an id")
    write_last(path, 8, "another id")
    write_last(path, 6, "of a process that was slower")
    assert last_written(path).seq == 8
    file = tmp_path / LAST_WRITTEN_FILE
    sound = file.read_bytes()
    chance = random.Random(3)
    for _ in range(200):
        damaged = bytearray(sound)
        damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
        file.write_bytes(damaged)
        assert last_written(path).seq in (7, 8)
    file.write_bytes(b"9" * 10_000)
    assert last_written(path).seq == 0


def test_a_home_without_the_file_gets_one_and_none_is_made_of_nothing(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    with closing(opened(home)) as journal:
        assert not (home / LAST_WRITTEN_FILE).exists()
        with journal.writing():
            pass
        assert not (home / LAST_WRITTEN_FILE).exists()
        journal.append([observation("one")])
    (home / LAST_WRITTEN_FILE).unlink()
    opened(home).close()
    assert last_written(str(home / "theorex.db")).seq == 1


def test_a_note_that_cannot_be_written_loses_no_event(tmp_path: Path) -> None:
    (tmp_path / LAST_WRITTEN_FILE).mkdir()
    with closing(opened(tmp_path)) as journal:
        assert journal.append([observation("one")]) == [1]


def test_the_hook_writes_nothing_beside_a_journal_that_lost_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes on, prints nothing, and says in its log what helps."""
    home = tmp_path / "home"
    with closing(opened(home)) as journal:
        journal.append([observation(f"early {n}") for n in range(EARLY)])
    old = (home / "theorex.db").read_bytes()
    with closing(opened(home)) as journal:
        journal.append([observation("the newest")])
    (home / "theorex.db").write_bytes(old)
    payload = {
        "hook_event_name": "UserPromptSubmit",
        "session_id": "s",
        "cwd": str(tmp_path),
        "prompt": "how do we mend the cache?",
    }
    encoded = json.dumps(payload).encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(encoded)))
    monkeypatch.setenv("THEOREX_HOME", str(home))
    hook.run()
    log = (home / "hook.log").read_text()
    assert "theorex verify --salvage" in log
    assert (home / "theorex.db").read_bytes() == old, "no number was given again"


# Rows in the wrong place


def rows(home: Path, query: str, *parameters: object) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(home / "theorex.db")) as connection:
        return connection.execute(query, parameters).fetchall()


def swap_rows(home: Path, one: int, other: int) -> None:
    """Let two rows have each other's content, their checksums included."""
    names = "id, at, agent, session, kind, lineage, body, crc"
    query = f"SELECT {names} FROM events WHERE seq = ?"
    contents = {seq: rows(home, query, seq)[0] for seq in (one, other)}
    with (
        closing(sqlite3.connect(home / "theorex.db")) as connection,
        connection,
    ):
        connection.execute("DROP TRIGGER events_are_not_deleted")
        for seq in (one, other):
            connection.execute("DELETE FROM events WHERE seq = ?", [seq])
        for seq, content in ((one, contents[other]), (other, contents[one])):
            connection.execute(INSERT, (seq, *content))


def is_refused(home: Path) -> bool:
    """Whether reading all of a journal raises."""
    try:
        with closing(opened(home)) as journal:
            list(journal.tail(0))
            list(journal.tail(0, kinds=["observation"]))
    except CorruptJournal:
        return True
    return False


def filled(home: Path) -> Path:
    chance = random.Random(1)
    with closing(opened(home)) as journal:
        texts = [f"{n} {'word ' * chance.randrange(5, 60)}" for n in range(400)]
        journal.append([observation(text) for text in texts])
        journal.append([observation("long " * 9_000)])
    return home


def test_rows_that_were_swapped_are_found(tmp_path: Path) -> None:
    sound = files_of(filled(tmp_path / "sound"))
    chance = random.Random(2)
    n_silent = 0
    for _ in range(SWAPS):
        home = put(tmp_path / "home", sound)
        one, other = chance.sample(range(1, 400), 2)
        swap_rows(home, one, other)
        problems = check_rows(home / "theorex.db")[0]
        n_silent += not (problems and is_refused(home))
    assert n_silent == 0


def test_pages_that_were_swapped_are_found(tmp_path: Path) -> None:
    """`verify` names them all; a reader is refused, or reads what was written."""
    sound = files_of(filled(tmp_path / "sound"))
    with closing(opened(tmp_path / "sound")) as journal:
        written = list(journal.tail(0))
    content = sound["theorex.db"]
    chance = random.Random(4)
    n_silent = 0
    n_wrong = 0
    for _ in range(SWAPS):
        one, other = chance.sample(range(1, len(content) // PAGE_BYTES), 2)
        swapped = bytearray(content)
        for page, source in ((one, other), (other, one)):
            start = source * PAGE_BYTES
            part = content[start : start + PAGE_BYTES]
            swapped[page * PAGE_BYTES : (page + 1) * PAGE_BYTES] = part
        home = put(tmp_path / "home", {"theorex.db": bytes(swapped)})
        n_silent += not check_rows(home / "theorex.db")[0]
        if not is_refused(home):
            with closing(opened(home)) as journal:
                n_wrong += list(journal.tail(0)) != written
    assert (n_silent, n_wrong) == (0, 0)


def made_old(home: Path) -> Path:
    """Let a home be as earlier releases left it: no seq in the checksums, layout 1."""
    with closing(opened(home)) as journal:
        journal.append([observation(f"old {n}") for n in range(5)])
    names = "seq, id, at, agent, session, kind, lineage, body"
    with (
        closing(sqlite3.connect(home / "theorex.db")) as connection,
        connection,
    ):
        old = connection.execute(f"SELECT {names} FROM events").fetchall()
        (trigger,) = connection.execute(
            "SELECT sql FROM sqlite_schema WHERE name = 'events_are_not_deleted'"
        ).fetchone()
        connection.execute("DROP TRIGGER events_are_not_deleted")
        connection.execute("DELETE FROM events")
        for row in old:
            connection.execute(INSERT, (*row, checksum(*row[1:])))
        connection.execute(trigger)
        connection.execute("PRAGMA user_version = 1")
    (home / LAST_WRITTEN_FILE).unlink()
    return home


def test_rows_of_earlier_releases_load_and_stay_beside_new_ones(tmp_path: Path) -> None:
    home = made_old(tmp_path / "home")
    before = rows(home, "SELECT * FROM events")
    with closing(opened(home)) as journal:
        assert len(list(journal.tail(0))) == 5
        assert rows(home, "PRAGMA user_version") == [(1,)], "reading changes nothing"
        journal.append([observation("new")])
        assert len(list(journal.tail(0))) == 6
        backup(journal, tmp_path / "both.db")
    assert rows(home, "PRAGMA user_version") == [(2,)], "an older release refuses it"
    assert rows(home, "SELECT * FROM events WHERE seq <= 5") == before
    assert check_rows(home / "theorex.db")[0] == []
    restore(tmp_path / "restored", tmp_path / "both.db", aside="aside")
    assert rows(tmp_path / "restored", "SELECT * FROM events WHERE seq <= 5") == before
    swap_rows(home, 5, 6)
    assert check_rows(home / "theorex.db")[0], "one of them is new"
