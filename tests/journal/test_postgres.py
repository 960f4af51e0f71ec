"""The journal in PostgreSQL: many processes, a server that dies, what is refused, and
the same memory as of a file.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from conftest import NOW, Run
from faults import together
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_views import VIEWS, streams

from theorex_lab import Event, FixedClock, Lab, new_event
from theorex_lab.core.errors import (
    AlreadyThere,
    ConfigError,
    CorruptJournal,
    InvalidInput,
    StorageError,
)
from theorex_lab.core.settings import check_settings
from theorex_lab.journal.base import append_once
from theorex_lab.journal.erasing import EraseSelection, select
from theorex_lab.journal.event import VERSIONS
from theorex_lab.journal.opened import open_journal
from theorex_lab.journal.stored import COLUMNS, row_checksum
from theorex_lab.journal.view import Views, differing_columns

if TYPE_CHECKING:
    from postgres_server import PostgresServer

    from theorex_lab.journal.postgres.store import PostgresJournal

SECRET_WORD = "zyxwabcd-the-quarry"
WRITERS = 8
EVENTS_OF_A_WRITER = 1_000


def said(text: str, *, project: str = "", event_id: str | None = None) -> Event:
    body = {"text": text, "source": "user", "project": project}
    return new_event("prompt", body, agent="main", at=NOW, event_id=event_id)


def opened(folder: Path, url: str) -> PostgresJournal:
    journal: Any = open_journal(folder, url=url, clock=FixedClock(NOW))
    return journal


@pytest.fixture
def database(tmp_path: Path, postgres_url: str) -> Iterator[PostgresJournal]:
    journal = opened(tmp_path, postgres_url)
    yield journal
    journal.close()


def run_sql(journal: PostgresJournal, statement: str, *values: Any) -> None:
    journal.connection().execute(statement, values)


def insert_raw(journal: PostgresJournal, seq: int, kind: str, body: str) -> None:
    """Put a row into the table that no append would have written."""
    row = (seq, f"raw-{seq}", NOW, "main", "", kind, "[]", body)
    marks = ", ".join(["%s"] * 9)
    statement = f"INSERT INTO events ({COLUMNS}, crc) VALUES ({marks})"
    run_sql(journal, statement, *row, row_checksum(*row))


# --- Many processes ---


def test_each_event_of_many_processes_reaches_a_tailing_reader_once(
    tmp_path: Path, postgres_url: str
) -> None:
    total = WRITERS * EVENTS_OF_A_WRITER
    opened(tmp_path, postgres_url).close()

    def write(number: int) -> None:
        journal = opened(tmp_path, postgres_url)
        for step in range(EVENTS_OF_A_WRITER):
            journal.append([said(f"{number}-{step}")])

    def read() -> None:
        journal = opened(tmp_path, postgres_url)
        texts: Counter[str] = Counter()
        after = 0
        while after < total:
            assert journal.wait_for_events(after, 60)
            for event in journal.tail(after):
                assert event.seq == after + 1
                after = event.seq
                texts[event.body["text"]] += 1
        assert len(texts) == total
        assert set(texts.values()) == {1}

    writers = [lambda number=number: write(number) for number in range(WRITERS)]
    assert together(read, *writers) == [0] * (WRITERS + 1)
    journal = opened(tmp_path, postgres_url)
    assert journal.last_seq() == total
    assert journal.check() == ([], {"prompt": total})
    journal.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that are forked")
def test_what_was_acknowledged_outlives_a_server_that_dies(
    tmp_path: Path, postgres_server: PostgresServer, postgres_url: str
) -> None:
    opened(tmp_path, postgres_url).close()
    n_writers = 3
    reading, writing = os.pipe()

    def write(number: int) -> None:
        journal = opened(tmp_path, postgres_url)
        with (tmp_path / f"acknowledged-{number}").open("w", buffering=1) as lines:
            for step in range(100_000):
                event_id = f"event-{number}-{step}"
                try:
                    journal.append([said("under load", event_id=event_id)])
                except StorageError:
                    return
                lines.write(f"{event_id}\n")
                os.write(writing, b".")

    def stop() -> None:
        for _ in range(300):
            os.read(reading, 1)
        postgres_server.stop("immediate")

    writers = [lambda number=number: write(number) for number in range(n_writers)]
    codes = together(stop, *writers)
    os.close(reading)
    os.close(writing)
    postgres_server.start()
    assert codes == [0] * (n_writers + 1)
    acknowledged: list[str] = []
    for number in range(n_writers):
        acknowledged += (tmp_path / f"acknowledged-{number}").read_text().split()
    assert len(acknowledged) >= 300
    journal = opened(tmp_path, postgres_url)
    ids = [event.id for event in journal.tail(0)]
    assert len(ids) == len(set(ids))
    assert set(acknowledged) <= set(ids)
    # A writer cannot know of at most one event each whether it was kept.
    assert len(ids) <= len(acknowledged) + n_writers
    again = [said("under load", event_id=event_id) for event_id in acknowledged]
    assert journal.append_batch([*again, said("new")]) == 1
    assert journal.check()[0] == []
    journal.close()


def test_an_open_journal_goes_on_after_the_server_was_started_again(
    database: PostgresJournal, postgres_server: PostgresServer
) -> None:
    database.append([said("before")])
    postgres_server.stop("immediate")
    with pytest.raises(StorageError, match="cannot be reached"):
        database.append([said("meanwhile")])
    with pytest.raises(StorageError, match="cannot be reached"):
        database.last_seq()
    postgres_server.start()
    assert database.append([said("after")]) == [2]
    postgres_server.stop("fast")
    postgres_server.start()
    assert [event.body["text"] for event in database.tail(0)] == ["before", "after"]


def test_a_forked_process_has_connections_of_its_own(
    database: PostgresJournal,
) -> None:
    database.append([said("before")])

    def write() -> None:
        assert database.append([said("in the child")])

    assert together(write, write) == [0, 0]
    assert database.append([said("after")]) == [4]


# --- Appending ---


def test_a_batch_leaves_out_what_is_there_already(database: PostgresJournal) -> None:
    events = [said(f"text {number}") for number in range(100)]
    assert database.append_batch(events[:30]) == 30
    assert database.append_batch([*events, events[-1]]) == 70
    assert database.append_batch(events) == 0
    assert database.known_ids([events[3].id, "none"]) == {events[3].id}
    assert [event.id for event in database.tail(0)] == [event.id for event in events]
    bad = said("bad")._replace(body={"v": VERSIONS["prompt"], "text": 7})
    with pytest.raises(InvalidInput):
        database.append_batch([said("good"), bad])
    assert database.last_seq() == 100


def test_events_of_one_step_are_appended_once(database: PostgresJournal) -> None:
    step = [said("first"), said("second")]
    assert append_once(database, step)
    assert not append_once(database, step)
    with database.exclusive() as append:
        with pytest.raises(AlreadyThere):
            append(step[0])
        assert append(said("third")) == 3, "what was refused leaves no gap"
    refused = pytest.raises(StorageError, match="writes to the journal already")
    with refused, database.exclusive():
        database.append([said("within")])
    assert database.append([said("fourth")]) == [4]


def test_secrets_are_masked_and_every_sign_comes_back(
    database: PostgresJournal,
) -> None:
    texts = ["a\0b", "\\u0000", 'quote " and \\', "парсер 缓存 🙂", "token=abc123def"]
    database.append([said(text, project="shop-1") for text in texts])
    texts_back = [event.body["text"] for event in database.tail(0, projects=["shop-1"])]
    assert texts_back[1:4] == texts[1:4]
    assert "abc123def" not in texts_back[4]
    rows = database.fetch("SELECT DISTINCT project FROM events", [])
    assert rows == [("shop-1",)]
    with pytest.raises(InvalidInput, match=r"U\+0000"):
        database.append([said("x")._replace(session="a\0b")])


# --- What is refused, and what is set aside ---


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET body = '{}'",
        "UPDATE events SET agent = 'eve'",
        """UPDATE events SET seq = seq + 1, body = '{"erased":1}'""",
        "UPDATE events SET session = 'other'",
        "DELETE FROM events",
        "TRUNCATE events",
        "SET session_replication_role = replica; DELETE FROM events",
    ],
)
def test_rows_are_never_changed_by_hand(
    database: PostgresJournal, statement: str
) -> None:
    import psycopg

    database.append([said("stays")])
    with pytest.raises(psycopg.errors.RestrictViolation, match="never"):
        run_sql(database, statement)
    assert [event.body["text"] for event in database.tail(0)] == ["stays"]


def test_bad_bodies_are_refused_at_append_and_set_aside_when_read(
    database: PostgresJournal,
) -> None:
    import psycopg

    with pytest.raises(InvalidInput, match="nothing was written"):
        database.append([said("x")._replace(body={"v": VERSIONS["prompt"]})])
    with pytest.raises(psycopg.errors.InvalidTextRepresentation):
        insert_raw(database, 1, "prompt", "{no JSON")
    insert_raw(database, 1, "prompt", json.dumps({"v": VERSIONS["prompt"]}))
    insert_raw(database, 2, "prompt", "[]")
    old = {"v": 1, "text": "of an earlier release", "source": "user"}
    insert_raw(database, 3, "prompt", json.dumps(old))
    database.append([said("good")])
    assert [event.seq for event in database.set_aside()] == [1, 2]
    texts = [event.body["text"] for event in database.tail(0)]
    assert texts == ["of an earlier release", "good"]
    assert [event.seq for event in database.tail(0, projects=[""])] == [3, 4]


def test_damage_is_named_and_never_passed_over(database: PostgresJournal) -> None:
    database.append([said(f"text {number}") for number in range(6)])
    run_sql(database, "ALTER TABLE events DISABLE TRIGGER ALL")
    run_sql(database, "UPDATE events SET agent = 'eve' WHERE seq = 2")
    run_sql(database, "DELETE FROM events WHERE seq = 4")
    problems, counts = database.check()
    assert counts == {"prompt": 5}
    assert len(problems) == 2
    assert "event 2 does not have its checksum" in problems[0]
    assert "events 4 to 4 are gone" in problems[1]
    with pytest.raises(CorruptJournal, match="5 events stand where events 1 to 6"):
        list(database.tail(0))
    with pytest.raises(CorruptJournal, match="does not have its checksum"):
        database.read(seqs=[2])
    with pytest.raises(CorruptJournal, match="event 4 of 6 is not found"):
        database.read(seqs=[4])


def test_a_server_that_lost_the_end_is_refused(
    database: PostgresJournal, tmp_path: Path
) -> None:
    database.append([said(f"text {number}") for number in range(6)])
    run_sql(database, "ALTER TABLE events DISABLE TRIGGER ALL")
    run_sql(database, "DELETE FROM events WHERE seq > 3")
    with pytest.raises(CorruptJournal, match="goes up to event 6"):
        opened(tmp_path, database.url)
    other = opened(tmp_path / "another-home", database.url)
    other.append([said("of another history") for _ in range(3)])
    other.close()
    with pytest.raises(CorruptJournal, match="is not the one that was written"):
        opened(tmp_path, database.url)


def test_a_later_layout_is_refused(database: PostgresJournal, tmp_path: Path) -> None:
    run_sql(database, "UPDATE journal SET layout = 9")
    with pytest.raises(StorageError, match="layout 9"):
        opened(tmp_path, database.url)


# --- Roles ---


def test_a_role_without_rights_is_told_what_it_lacks(
    database: PostgresJournal, postgres_server: PostgresServer, tmp_path: Path
) -> None:
    name = database.url.partition("@/")[2].partition("?")[0]
    rights = """
        CREATE ROLE writer LOGIN;
        GRANT USAGE ON SCHEMA theorex TO writer;
        GRANT SELECT ON theorex.journal TO writer;
        GRANT SELECT, INSERT ON theorex.events TO writer;
    """
    postgres_server.execute(rights, database=name)
    database.append([said("of the owner")])
    writer = opened(tmp_path, postgres_server.url(name, role="writer"))
    assert writer.append([said("as a writer")]) == [2]
    with pytest.raises(StorageError, match="permission denied"):
        writer.erase_part(EraseSelection(match="of the owner"), agent="main", at=NOW)
    update = "GRANT UPDATE (session, body, crc) ON theorex.events TO writer"
    postgres_server.execute(update, database=name)
    writer.erase_part(EraseSelection(match="of the owner"), agent="main", at=NOW)
    with pytest.raises(StorageError, match="let the owner run VACUUM FULL"):
        writer.wipe()
    writer.close()


# --- The same memory on both engines ---


@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    stream=streams,
    cuts=st.lists(st.integers(0, 40), max_size=3),
    erased=st.none() | st.integers(0, 39),
)
def test_a_view_of_either_engine_is_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    postgres_server: PostgresServer,
    stream: list[Event],
    cuts: list[int],
    erased: int | None,
) -> None:
    home = tmp_path_factory.mktemp("home")
    url = postgres_server.new_database()
    clock = FixedClock(NOW)
    in_file: Any = open_journal(home / "file", clock=clock)
    in_database = opened(home / "database", url)
    ends = sorted({len(stream), *(cut for cut in cuts if cut < len(stream))})
    start = 0
    for end in ends:
        in_file.append(stream[start:end])
        assert in_database.append_batch(stream[start:end]) == end - start
        start = end
    if erased is not None and erased < len(stream):
        chosen = EraseSelection(ids=[stream[erased].id])
        for journal in (in_file, in_database):
            journal.erase_part(chosen, agent="main", at=NOW)
    for kind in VIEWS:
        of_file = Views(in_file, home / "file" / "views").get(kind)
        of_database = Views(in_database, home / "database" / "views").get(kind)
        assert differing_columns(of_file, of_database) == []
    in_file.close()
    in_database.close()


def memory_of(lab: Lab) -> tuple[Any, ...]:
    """Return what a lab remembers of some texts, before and after an erasure."""
    main = lab.agent("main")
    texts = (
        "TTL invalidation prevents cache stampedes",
        f"the cache stampede came back in {SECRET_WORD}",
        "deploy on Mondays",
    )
    for text in texts:
        main.write(text, observation_type="decision")
    lab.theorex.scan()
    hits = [(hit.kind, hit.text) for hit in lab.search("stampede")]
    briefing = lab.briefing().text
    chosen = select(lab.journal, match=SECRET_WORD)
    assert lab.erase(match=SECRET_WORD) == chosen
    n_erased = len(chosen)
    assert n_erased
    left = [(hit.kind, hit.text) for hit in lab.search("stampede")]
    report = lab.verify()
    assert report.ok, report.problems
    return hits, briefing, n_erased, left, lab.briefing().text, report.kinds


def test_a_lab_does_its_work_on_a_database(
    tmp_path: Path, postgres_server: PostgresServer, postgres_url: str
) -> None:
    shared = check_settings({"journalUrl": postgres_url})
    with Lab(tmp_path / "file", clock=FixedClock(NOW)) as lab:
        expected = memory_of(lab)
    with Lab(tmp_path / "home", settings=shared, clock=FixedClock(NOW)) as lab:
        assert memory_of(lab) == expected
        with pytest.raises(StorageError, match="pg_dump"):
            lab.backup(tmp_path / "copy")
        with pytest.raises(StorageError, match="compresses long bodies itself"):
            lab.archive(NOW)
    # The tables hold nothing of it; the server's own log does until it is reused.
    postgres_server.execute("CHECKPOINT")
    tables = (postgres_server.data / "base").rglob("*")
    holding = [
        file
        for file in tables
        if file.is_file() and SECRET_WORD.encode() in file.read_bytes()
    ]
    assert holding == []
    in_home = [
        file
        for file in (tmp_path / "home").rglob("*")
        if file.is_file() and SECRET_WORD.encode() in file.read_bytes()
    ]
    assert in_home == []


# --- The setting ---


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("postgresql://team:hunter2hunter2@db.example/memory", "holds a password"),
        ("postgresql://db.example/memory?password=hunter2hunter2", "holds a password"),
        ("postgresql://team:hunter2/hunter2@db.example/memory", "holds a password"),
        ("postgresql://team%3Ahunter2hunter2@db.example/memory", "holds a password"),
        ("postgresql://db.example/memory?PASSWORD=hunter2hunter2", "holds a password"),
        (
            "postgresql://db.example/memory?a=b;password=hunter2hunter2",
            "holds a password",
        ),
        ("postgresql://db.example/memory#?password=hunter2hunter2", "holds a password"),
        (
            "postgresql://db.example/memory?oauth_client_secret=hunter2hunter2",
            "holds a password",
        ),
        ("mysql://db.example/memory", "does not begin with postgresql://"),
        ("postgresql://db.example/", "names no database"),
        ("postgresql://[db.example/memory", "is no URL"),
    ],
)
def test_a_url_that_is_not_allowed_is_refused(
    tmp_path: Path, url: str, problem: str
) -> None:
    with pytest.raises(ConfigError, match=f"journalUrl {problem}") as refused:
        check_settings({"journalUrl": url})
    assert "hunter2" not in str(refused.value)
    pytest.importorskip("psycopg")
    with pytest.raises(ConfigError, match=f"journalUrl {problem}"):
        open_journal(tmp_path, url=url)


def test_a_missing_package_is_named_with_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in list(sys.modules):
        if name.startswith("theorex_lab.journal.postgres"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StorageError, match=r"theorex-lab\[postgres\]"):
        open_journal(tmp_path, url="postgresql://db.example/memory")


def test_commands_of_a_file_say_what_is_done_on_a_database(
    run: Run, home: Callable[..., Path], tmp_path: Path, postgres_url: str
) -> None:
    home(journalUrl=postgres_url)
    assert run("write", "the till rounds half up").code == 0
    assert run("verify").code == 0
    doctor = run("doctor", "--json").json
    journal_rows = [row for row in doctor["findings"] if row["what"] == "journal"]
    assert [row["level"] for row in journal_rows] == ["ok"]
    commands: Sequence[tuple[Sequence[str], str]] = (
        (["backup", str(tmp_path / "copy")], "pg_dump"),
        (["restore", str(tmp_path / "copy")], "pg_restore"),
        (["verify", "--salvage"], "put a backup back"),
        (["archive", "--before", "2020-01-01"], "compresses long bodies itself"),
    )
    for command, instead in commands:
        ended = run(*command)
        assert ended.code != 0
        assert instead in ended.err
        assert "Traceback" not in ended.err
    shown = run("erase", "--match", "rounds half", "--dry-run")
    assert "1 event would be erased" in shown.out
    assert "1 event erased" in run("erase", "--match", "rounds half").out
