"""Whether old bytes are left in the free room of a journal's file."""

import sqlite3
from contextlib import closing

from theorex_lab import Lab
from theorex_lab.core.clock import FixedClock
from theorex_lab.journal.event import new_event
from theorex_lab.journal.sqlite import erase as erasing
from theorex_lab.journal.sqlite.free_space import free_space

NOW = 1_770_000_000_000_000
OLD_TEXT = "the old till of the corner shop rounds half up"


def _table(path, *, secure):
    """Fill a table, and delete every fortieth of its rows."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA secure_delete = {secure}")
        connection.execute("CREATE TABLE rows (number INTEGER PRIMARY KEY, text TEXT)")
        for number in range(400):
            text = f"{OLD_TEXT} {number} " * (1 + number % 9)
            connection.execute("INSERT INTO rows VALUES (?, ?)", [number, text])
        connection.execute("DELETE FROM rows WHERE number % 40 = 7")


def test_text_that_was_deleted_but_not_overwritten_is_found(tmp_path):
    _table(tmp_path / "left.db", secure="OFF")
    assert free_space(str(tmp_path / "left.db"))[0]


def test_what_sqlite_overwrote_is_not_left(tmp_path):
    _table(tmp_path / "clean.db", secure="ON")
    is_left, share = free_space(str(tmp_path / "clean.db"))
    assert not is_left
    assert 0 < share < 0.3


def test_a_file_that_cannot_be_read_counts_as_holding_old_bytes(tmp_path):
    assert free_space(str(tmp_path / "none.db")) == (True, 1.0)


def _journal_of(tmp_path, n_events):
    lab = Lab(tmp_path, clock=FixedClock(NOW))
    events = []
    for number in range(n_events):
        text = f"{OLD_TEXT} {number:05} " * (1 + number % 40)
        body = {"text": text, "source": "user", "project": "till"}
        events.append(new_event("prompt", body, agent="main", session="s", at=NOW))
    lab.journal.append(events)
    return lab, events


def test_one_of_many_is_erased_without_rewriting_the_file_or_reading_the_others(
    tmp_path, monkeypatch
):
    lab, events = _journal_of(tmp_path, 3_000)
    statements = []
    with lab:
        lab.journal.connection().set_trace_callback(statements.append)
        for number in (2_951, 17, 1_400):
            before = events[number].body["text"].encode()[:52]
            assert (
                before
                in (tmp_path / "theorex.db").read_bytes()
                + (tmp_path / "theorex.db-wal").read_bytes()
            )
            lab.erase(ids=[events[number].id])
    for number in (2_951, 17, 1_400):
        text = f"{OLD_TEXT} {number:05} ".encode()
        for file in tmp_path.rglob("*"):
            assert file.is_dir() or text not in file.read_bytes(), file
    assert "VACUUM" not in statements
    assert not any(
        "session, kind, lineage, body FROM events ORDER BY" in text
        for text in statements
    )


def test_old_bytes_that_were_left_are_wiped_by_a_rewriting(tmp_path, monkeypatch):
    lab, events = _journal_of(tmp_path, 300)
    statements = []
    with lab:
        lab.journal.connection().set_trace_callback(statements.append)
        monkeypatch.setattr(erasing, "free_space", lambda _: (True, 0.0))
        lab.erase(ids=[events[3].id])
    assert "VACUUM" in statements
