"""Archiving: raw events leave the journal's file, and nothing that reads the journal
can tell.
"""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import DAY, NOW, erase, observation
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from theorex_lab import CorruptJournal, Event, FixedClock, StorageError, new_event
from theorex_lab.designs.theorex.flash import Flash, flushed_upto
from theorex_lab.journal.event import RAW_KINDS
from theorex_lab.journal.sqlite import archive as archiving
from theorex_lab.journal.sqlite.archive import Archiving, archive, erase_from_segments
from theorex_lab.journal.sqlite.check import check_rows
from theorex_lab.journal.sqlite.connection import connect
from theorex_lab.journal.sqlite.store import SqliteJournal
from theorex_lab.journal.view import Views, fold_into, verify

SECRET = "the launch code is 4711"


def raw(
    number: int,
    *,
    session: str = "s",
    kind: str = "tool_used",
    day: int = -10,
    text: str = "",
) -> Event:
    body = {
        "tool": "Bash",
        "input": f"run {number}",
        "response": text or "x" * 200,
        "source": "tool",
    }
    body["text"] = body["message"] = f"run {number}"
    if kind == "recalled":
        body |= {"how": "context", "items": [], "tokens": 0}
    return new_event(
        kind, body, agent="main", session=session, at=NOW + day * DAY + number
    )


def flushed(upto: int, session: str = "s") -> Event:
    return new_event(
        "flushed",
        {"upto": upto, "kept": 0, "let_go": 1},
        agent="main",
        session=session,
        at=NOW,
    )


def move(journal: SqliteJournal, before: int = NOW) -> Archiving:
    return archive(
        journal, before, consolidated=flushed_upto(journal), agent="theorex", at=NOW
    )


def bodies(journal: SqliteJournal) -> list[str]:
    connection = connect(journal.path)
    rows = [
        row[0] for row in connection.execute("SELECT body FROM events ORDER BY seq")
    ]
    connection.close()
    return rows


def segments(journal: SqliteJournal) -> list[Path]:
    return sorted((journal.path.parent / "archive").glob("*"))


def test_only_flushed_or_ended_raw_events_before_the_date_move(
    journal: SqliteJournal,
) -> None:
    journal.append([raw(1), raw(2), raw(3, session="open"), raw(4, day=0), flushed(2)])
    journal.append(
        [
            raw(6),
            raw(7, session="over"),
            raw(8, session="over", kind="session_ended"),
            observation("a cache"),
        ]
    )
    before = list(journal.tail(0))
    assert move(journal, NOW - DAY) == (4, ["000000000001-000000000008.jsonl.gz"])
    assert [
        seq for seq, body in enumerate(bodies(journal), 1) if '"archived"' in body
    ] == [1, 2, 7, 8]
    after = list(journal.tail(0))
    assert after[:-1] == before
    assert (after[-1].kind, after[-1].body["events"], after[-1].body["before"]) == (
        "archived",
        4,
        NOW - DAY,
    )
    assert journal.read(seqs=[2], ids=[before[0].id]) == before[:2]
    assert check_rows(journal.path)[0] == []


def test_archiving_twice_archives_once(journal: SqliteJournal) -> None:
    journal.append([raw(1), flushed(1)])
    assert move(journal).events == 1
    seq = journal.last_seq()
    files = segments(journal)
    assert move(journal) == (0, [])
    assert (journal.last_seq(), segments(journal)) == (seq, files)


def test_a_segment_is_read_only_and_compressed_and_its_hash_is_noted_nowhere(
    journal: SqliteJournal,
) -> None:
    journal.append([raw(1), raw(2), flushed(2)])
    move(journal)
    (path,) = segments(journal)
    (note,) = next(journal.tail(0, kinds=["archived"])).body["segments"]
    assert note == {"name": path.name, "events": 2}
    assert path.stat().st_mode & 0o777 == 0o400
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    assert [json.loads(line)["body"]["input"] for line in lines] == ["run 1", "run 2"]


def test_the_file_becomes_smaller(journal: SqliteJournal) -> None:
    journal.append(
        [
            *(raw(number, text=f"{number} " * 200) for number in range(2_000)),
            flushed(2_000),
        ]
    )
    journal.connection().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    size = journal.path.stat().st_size
    move(journal)
    journal.connection().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert journal.path.stat().st_size < size / 2


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    kinds=st.lists(st.sampled_from([*RAW_KINDS, "flush"]), max_size=25),
    sessions=st.lists(st.sampled_from("ab"), min_size=25, max_size=25),
    days=st.lists(st.integers(-3, 0), min_size=25, max_size=25),
    size=st.integers(1, 6),
    at=st.integers(0, 25),
)
def test_the_journal_reads_the_same_before_and_after(
    tmp_path_factory,
    kinds: list[str],
    sessions: list[str],
    days: list[int],
    size: int,
    at: int,
) -> None:
    journal = SqliteJournal(
        tmp_path_factory.mktemp("home") / "theorex.db", clock=FixedClock(NOW)
    )
    views = Views(journal, journal.path.parent / "views")
    for number, kind in enumerate(kinds):
        session = sessions[number]
        day = days[number]
        if kind == "flush":
            journal.append([flushed(number, session)])
        else:
            journal.append([raw(number, session=session, kind=kind, day=day - 1)])
        if number == at:
            views.snapshot(views.get(Flash))
    before = list(journal.tail(0))
    pending = {session: views.get(Flash).pending("main", session) for session in "ab"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(archiving, "SEGMENT_EVENTS", size)
        done = move(journal, NOW - 2 * DAY)
        again = move(journal, NOW)
    assert len(done.segments) == -(-done.events // size)
    assert [event for event in journal.tail(0) if event.kind != "archived"] == before
    assert (
        sum('"archived":"' in body for body in bodies(journal))
        == done.events + again.events
    )
    opened = Views(journal, journal.path.parent / "views")
    assert {
        session: opened.get(Flash).pending("main", session) for session in "ab"
    } == pending
    fresh = Flash()
    fold_into(fresh, journal, journal.last_seq())
    assert {session: fresh.pending("main", session) for session in "ab"} == pending
    assert verify(opened, [Flash]).ok
    journal.close()


def test_a_missing_or_damaged_segment_is_named(journal: SqliteJournal) -> None:
    journal.append([raw(1), raw(2), flushed(2)])
    move(journal)
    (path,) = segments(journal)
    whole = path.read_bytes()
    path.chmod(0o600)
    path.write_bytes(whole[:40] + bytes([whole[40] ^ 1]) + whole[41:])
    assert [path.name in problem for problem in check_rows(journal.path)[0]] == [True]
    path.write_bytes(
        gzip.compress(b"".join(gzip.decompress(whole).splitlines(keepends=True)[1:]))
    )
    assert f"{path.name} lacks 1 events" in check_rows(journal.path)[0][0]
    fresh = SqliteJournal(journal.path, clock=FixedClock(NOW))
    with pytest.raises(CorruptJournal, match=f"{path.name} lacks the event .*backup"):
        fresh.read(seqs=[1])
    path.write_bytes(gzip.compress(gzip.decompress(whole).replace(b"run 2", b"run 3")))
    assert "or has them changed" in check_rows(journal.path)[0][0]
    path.unlink()
    assert "put a backup back" in check_rows(journal.path)[0][0]
    with pytest.raises(CorruptJournal, match=path.name):
        SqliteJournal(journal.path, clock=FixedClock(NOW)).read(seqs=[1])
    fresh.close()


def test_an_erased_event_leaves_its_segment(journal: SqliteJournal) -> None:
    journal.append([raw(1), raw(2, text=SECRET), raw(3), flushed(3)])
    move(journal)
    doomed = journal.read(seqs=[2])[0].id
    erase(journal, [doomed], agent="main", at=NOW)
    assert erase_from_segments(journal) == [doomed]
    assert erase_from_segments(journal) == []
    for path in [*journal.path.parent.glob("theorex.db*"), *segments(journal)]:
        content = path.read_bytes()
        assert SECRET.encode() not in (
            gzip.decompress(content) if path.suffix == ".gz" else content
        )
    assert [
        event.body.get("input")
        for event in SqliteJournal(journal.path).read(seqs=[1, 2, 3], erased=True)
    ] == [
        "run 1",
        None,
        "run 3",
    ]
    assert check_rows(journal.path)[0] == []
    erase(
        journal, [event.id for event in journal.read(seqs=[1, 3])], agent="main", at=NOW
    )
    erase_from_segments(journal)
    assert segments(journal) == [], "an empty segment goes"
    assert move(journal).events == 0, "what is erased is not archived"


def test_a_reader_meets_an_erasure_half_way(journal: SqliteJournal) -> None:
    """Another process erased the event after this one had read its row."""
    journal.append([raw(1), raw(2), flushed(2)])
    move(journal)
    stub = json.loads(bodies(journal)[0])
    doomed = journal.read(seqs=[1])[0].id
    erase(journal, [doomed], agent="main", at=NOW)
    erase_from_segments(journal)
    late = SqliteJournal(journal.path)
    assert "erased" in late._archived(doomed, stub)
    late.close()


def test_a_whole_body_cannot_be_changed_nor_a_stub(journal: SqliteJournal) -> None:
    import sqlite3

    journal.append([raw(1), raw(2), flushed(1)])
    move(journal)
    stub = {"v": 1, "archived": "x", "sha256": "y"}
    for seq, body in (
        (2, {"v": 1, "text": "other"}),
        (2, {"v": 1, "archived": 1}),
        (1, stub),
        (1, {"v": 1}),
    ):
        with pytest.raises(sqlite3.IntegrityError, match="never changed"):
            journal.connection().execute(
                "UPDATE events SET body = ? WHERE seq = ?", [json.dumps(body), seq]
            )
    erase(journal, [journal.read(seqs=[1])[0].id], agent="main", at=NOW)
    with pytest.raises(sqlite3.IntegrityError, match="never changed"):
        journal.connection().execute(
            "UPDATE events SET body = ? WHERE seq = 1", [json.dumps(stub)]
        )


_KILLED = """
import os, signal, sys
from pathlib import Path
sys.path[:0] = sys.argv[3].split(":")
from theorex_lab.designs.theorex.flash import flushed_upto
from theorex_lab.core.clock import FixedClock
from theorex_lab.journal.sqlite import archive as archiving
from theorex_lab.journal import segments
from theorex_lab.journal.sqlite.store import SqliteJournal
from conftest import NOW
archiving.SEGMENT_EVENTS = 2
step, left = sys.argv[2], int(sys.argv[4])
module = segments if step == "write_atomically" else archiving
genuine = getattr(module, step)
def dying(*args, **kwargs):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return genuine(*args, **kwargs)
setattr(module, step, dying)
journal = SqliteJournal(Path(sys.argv[1]), clock=FixedClock(NOW))
archiving.archive(journal, NOW, consolidated=flushed_upto(journal), agent="theorex", at=NOW)
"""


@pytest.mark.parametrize(
    ("step", "calls"),
    [
        ("write_atomically", 0),
        ("write_atomically", 1),
        ("row_checksum", 3),
        ("insert", 0),
        ("_remove_unused", 0),
        ("compact", 0),
    ],
)
def test_archiving_that_is_killed_is_completed_by_repeating_it(
    tmp_path: Path, monkeypatch, step: str, calls: int
) -> None:
    journal = SqliteJournal(tmp_path / "theorex.db", clock=FixedClock(NOW))
    journal.append([*(raw(number) for number in range(5)), flushed(5)])
    before = list(journal.tail(0))
    arguments = [
        str(journal.path),
        step,
        ":".join(path for path in sys.path if path),
        str(calls),
    ]
    assert (
        subprocess.run(
            [sys.executable, "-c", _KILLED, *arguments], check=False
        ).returncode
        == -signal.SIGKILL
    )
    assert list(journal.tail(0))[: len(before)] == before
    assert check_rows(journal.path)[0] == []
    (tmp_path / "archive").mkdir(exist_ok=True)
    (tmp_path / "archive" / "000000000001-000000000003.jsonl.gz").write_bytes(
        b"left by another crash"
    )
    monkeypatch.setattr(archiving, "SEGMENT_EVENTS", 2)
    move(journal)
    assert [path.name for path in segments(journal)] == [
        f"{first:012d}-{last:012d}.jsonl.gz" for first, last in ((1, 2), (3, 4), (5, 5))
    ]
    assert [event.kind for event in journal.tail(len(before))] == ["archived"]
    assert list(journal.tail(0))[: len(before)] == before
    assert check_rows(journal.path)[0] == []
    journal.close()


def test_a_full_disk_changes_nothing(journal: SqliteJournal, monkeypatch) -> None:
    journal.append([raw(1), flushed(1)])
    before = bodies(journal)

    def full(*args: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StorageError, match=r"cannot be written: No space.*repeat"):
            move(journal)
    assert (bodies(journal), segments(journal)) == (before, [])
    assert move(journal).events == 1
