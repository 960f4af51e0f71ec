"""The journal: order, atomicity, append-only, erasure, versions."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import threading

import pytest
from conftest import DAY, NOW, erase, observation

from theorex_lab import Event, FixedClock, InvalidInput
from theorex_lab.core.errors import NewerVersion
from theorex_lab.journal import event as events_module
from theorex_lab.journal.erasing import select
from theorex_lab.journal.event import encode, upcast
from theorex_lab.journal.sqlite.check import check_rows
from theorex_lab.journal.sqlite.store import SqliteJournal


def test_events_come_back_as_they_were_appended(journal: SqliteJournal) -> None:
    written = [
        observation(f"text {number} ✓", labels=["cache"], tags=["a"])
        for number in range(3)
    ]
    assert journal.append(written) == [1, 2, 3]
    assert list(journal.tail(0)) == [
        event._replace(seq=seq) for seq, event in enumerate(written, 1)
    ]
    assert [event.seq for event in journal.tail(1, upto=2)] == [2]
    assert journal.read(ids=[written[2].id], seqs=[1]) == [
        event._replace(seq=s) for s, event in ((1, written[0]), (3, written[2]))
    ]
    assert journal.last_seq() == 3


def test_an_append_is_all_or_nothing(journal: SqliteJournal) -> None:
    first = observation("one")
    journal.append([first])
    with pytest.raises(InvalidInput, match="id of its own"):
        journal.append([observation("two"), first])
    bad = observation("three")._replace(body={"v": 1, "text": "\ud800"})
    with pytest.raises(InvalidInput, match="surrogates"):
        journal.append([observation("four"), bad])
    assert journal.last_seq() == 1


def test_the_file_refuses_changes_and_deletions(journal: SqliteJournal) -> None:
    journal.append([observation("one")])
    connection = sqlite3.connect(journal.path)
    for statement in (
        "DELETE FROM events",
        "UPDATE events SET at = 0",
        "UPDATE events SET body = '{}'",
        """UPDATE events SET agent = 'x', body = '{"erased":1}'""",
        (
            "INSERT OR REPLACE INTO events SELECT seq, 'x', at, agent, session, kind,"
            " lineage, body, crc FROM events"
        ),
    ):
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute(statement)
    connection.close()
    assert [event.body["text"] for event in journal.tail(0)] == ["one"]


def test_events_from_the_future_are_refused_unless_imported(
    journal: SqliteJournal, clock: FixedClock
) -> None:
    journal.append([observation("in four minutes", at=NOW + 4 * 60 * 1_000_000)])
    late = observation("tomorrow", at=NOW + DAY)
    with pytest.raises(InvalidInput, match="more than 5 minutes ahead"):
        journal.append([late])
    journal.append([late], allow_future=True)
    assert journal.last_seq() == 2


def test_threads_share_a_journal(journal: SqliteJournal) -> None:
    def work(number: int) -> None:
        for step in range(20):
            journal.append([observation(f"{number} {step}")])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(event.body["text"] for event in journal.tail(0)) == sorted(
        f"{n} {s}" for n in range(4) for s in range(20)
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_process_opens_a_connection_of_its_own(journal: SqliteJournal) -> None:
    journal.append([observation("before")])
    parent = journal.connection()
    context = multiprocessing.get_context("fork")
    same = context.Value("b", 1)

    def child() -> None:
        same.value = int(journal.connection() is parent)
        journal.append([observation("in the child")])

    process = context.Process(target=child)
    process.start()
    process.join()
    assert (process.exitcode, same.value) == (0, 0)
    assert [event.body["text"] for event in journal.tail(0)] == [
        "before",
        "in the child",
    ]


def test_erasure_follows_lineage_and_leaves_no_bytes(journal: SqliteJournal) -> None:
    secret = observation("the password is hunter2", labels=["hunter2 password"])
    derived = observation("it began with hunter2", lineage=[secret.id])
    twice = observation("as was said", lineage=[derived.id])
    other = observation("nothing to see")
    journal.append([secret, derived, twice, other])
    reached = select(journal, match="hunter2 password")
    assert reached == [secret.id, derived.id, twice.id]
    erase(journal, reached, agent="main", at=NOW)
    kept = list(journal.tail(0, erased=True))
    assert [event.id for event in journal.tail(0)] == [other.id, kept[-1].id]
    assert (
        journal.read(ids=[secret.id])
        == []
        != journal.read(ids=[secret.id], erased=True)
    )
    assert [event.erased for event in kept] == [True, True, True, False, False]
    assert (kept[-1].kind, kept[-1].body["ids"]) == ("erasure", reached)
    for file in journal.path.parent.iterdir():
        assert b"hunter2" not in file.read_bytes(), file
    assert select(journal, match="hunter2") == []
    erase(journal, reached, agent="main", at=NOW)
    assert journal.last_seq() == 5, "repeating changes nothing"
    assert check_rows(journal.path)[0] == []


def test_erasure_by_agent_and_of_an_unknown_id(journal: SqliteJournal) -> None:
    journal.append([observation("mine"), observation("theirs", agent="sage")])
    assert len(select(journal, agent="sage")) == 1
    with pytest.raises(InvalidInput, match="not in the journal"):
        select(journal, ids=["0190-nowhere"])
    with pytest.raises(InvalidInput, match="nothing to erase by"):
        select(journal)


def test_old_bodies_are_upcast_and_newer_ones_refused(
    journal: SqliteJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = observation("old")
    old = old._replace(body={**old.body, "v": 1})
    journal.append([old])
    monkeypatch.setitem(events_module.VERSIONS, "observation", 3)
    monkeypatch.setitem(
        events_module.UPCASTERS,
        ("observation", 1),
        lambda body: {**body, "mood": "calm"},
    )
    monkeypatch.setitem(
        events_module.UPCASTERS,
        ("observation", 2),
        lambda body: {**body, "mood": body["mood"].upper()},
    )
    assert next(journal.tail(0)).body == {**old.body, "v": 3, "mood": "CALM"}
    monkeypatch.setitem(events_module.VERSIONS, "observation", 0)
    with pytest.raises(NewerVersion, match="has version 1, this release reads up to 0"):
        list(journal.tail(0))


def test_an_unknown_kind_is_passed_on_untouched() -> None:
    event = Event(1, "i", 0, "main", "", "from_the_future", (), {"v": 9})
    assert upcast(event) is event


def test_only_json_is_stored() -> None:
    for bad in (float("nan"), {1, 2}, "\udfff"):
        with pytest.raises(InvalidInput):
            encode({"value": bad})
