"""Homes that share a PostgreSQL database, used as people use them."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import psycopg
import pytest
from conftest import NOW, Meanings, Run, observation
from postgres_server import PostgresServer
from shared_machines import Machine, machines_at

from theorex_lab import Event, InvalidInput, Lab, StorageError
from theorex_lab.app.server.scoped import tell_owner
from theorex_lab.core.clock import SystemClock, to_iso
from theorex_lab.core.errors import ServerAway
from theorex_lab.core.settings import check_settings
from theorex_lab.evolution.lease import Lease
from theorex_lab.journal.erasing import EraseSelection
from theorex_lab.journal.postgres.answering import AnsweringConnection
from theorex_lab.journal.shared_postgres import SharedPostgres
from theorex_lab.journal.stored import StoredJournal

SECRET = "zebrastripes"
# Longer than what an index of PostgreSQL holds, even compressed.
LONG_ID = f"{random.Random(0).getrandbits(36_000):x}"


@pytest.fixture
def machine(tmp_path: Path, postgres_url: str) -> Iterator[Machine]:
    """Return a function that opens a machine's home; all share one database."""
    with machines_at(tmp_path, postgres_url, embedder=Meanings()) as opened:
        yield opened


def _holding(folder: Path, text: str) -> list[str]:
    """Return the files below a folder that hold a text."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return [
        str(path.relative_to(folder))
        for path in files
        if text.encode() in path.read_bytes()
    ]


def _holding_in_database(server: PostgresServer, url: str, text: str) -> list[str]:
    """Return the files of a database that hold a text, when all is on disk."""
    name = url.partition("@/")[2].partition("?")[0]
    server.execute("CHECKPOINT")
    return _holding(server.data / "base" / _number_of(url, name), text)


def _number_of(url: str, name: str) -> str:
    """Return the number by which the server names the folder of a database."""
    import psycopg

    with psycopg.connect(url) as connection:
        query = "SELECT oid::text FROM pg_database WHERE datname = %s"
        row = connection.execute(query, [name]).fetchone()
    assert row is not None
    return str(row[0])


def _use(lab: Lab) -> None:
    """Make every cache of a home that is made of its journal."""
    lab.search(f"{SECRET} rollout")
    lab.searcher.vectors.embed_pending()
    lab.briefing()
    lab.maintain()
    lab.search(f"{SECRET} rollout")


def test_an_erasure_leaves_no_byte_on_any_machine(
    machine: Machine,
    tmp_path: Path,
    postgres_server: PostgresServer,
    postgres_url: str,
) -> None:
    """Also not in the snapshots that homes had made before they joined."""
    text = f"{SECRET} are the word for the rollout"
    for name in "ab":
        alone = machine(name, journalUrl="", snapshotAfterEvents=1)
        alone.agent("main").write(text if name == "b" else "The till rounds half up")
        _use(alone)
        alone.close()
    assert any("views/" in path for path in _holding(tmp_path / "b", SECRET))
    first = machine("a", snapshotAfterEvents=1)
    second = machine("b", snapshotAfterEvents=1)
    for lab in (second, first):
        lab.sync()
        _use(lab)
    held_by_second = _holding(tmp_path / "b", SECRET)
    assert any("shared-views/" in path for path in held_by_second)
    assert _holding(tmp_path / "a", SECRET)
    assert _holding_in_database(postgres_server, postgres_url, SECRET)

    first.erase(match=SECRET)
    first.close()
    assert _holding(tmp_path / "a", SECRET) == []
    assert second.sync().erased >= 1
    second.close()
    assert _holding(tmp_path / "b", SECRET) == []
    assert _holding_in_database(postgres_server, postgres_url, SECRET) == []
    for lab in (first, second):
        assert [hit.text for hit in lab.search("till", limit=1)] == [
            "The till rounds half up"
        ]
        assert lab.verify().ok


def _said(text: str, event_id: str | None = None) -> Event:
    return observation(text, event_id=event_id)


def test_what_the_shared_journal_refuses_is_shown_and_can_be_erased(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    """An id that PostgreSQL cannot keep, and one that another machine had before."""
    first, second = machine("a"), machine("b")
    same_id = _said("of the first").id
    first.journal.append([_said("of the first", same_id)])
    first.sync()
    second.journal.append([_said(f"{SECRET} of the second", same_id)])
    second.journal.append([_said(f"{SECRET} with a bad id", LONG_ID), _said("x")])
    report = second.sync()
    assert report.sent == 1
    assert set(report.refused) == {same_id, LONG_ID}
    assert "another event of this id" in report.refused[same_id]
    second.close()

    monkeypatch.setenv("THEOREX_HOME", str(tmp_path / "b"))
    assert second.settings.journal_url
    content = {"journalUrl": second.settings.journal_url}
    (tmp_path / "b" / "config.json").write_text(json.dumps(content))
    (tmp_path / "b" / "config.json").chmod(0o600)
    shown = run("status")
    assert "stays in this machine's spool" in shown.out
    assert same_id in shown.out
    assert run("status", "--json").json["spool"]["refused"] == report.refused
    assert f"it refused '{same_id}'" in run("doctor").out
    reached = run("erase", "--match", SECRET, "--dry-run", "--json").json
    assert set(reached["selected"]) == {same_id, LONG_ID}
    assert SECRET in run("erase", "--match", SECRET, "--dry-run").out
    erased = run("erase", "--match", SECRET, "--json").json
    assert set(erased["erased"]) == {same_id, LONG_ID}
    assert _holding(tmp_path / "b", SECRET) == []
    assert run("status", "--json").json["spool"]["refused"] == {}
    assert [hit.text for hit in first.search("first", limit=1)] == ["of the first"]


def test_an_erasure_by_id_reaches_an_event_that_stayed_in_the_spool(
    machine: Machine,
) -> None:
    lab = machine("a")
    lab.journal.append([_said(SECRET, LONG_ID), _said("kept")])
    lab.sync()
    assert lab.erase(ids=[LONG_ID]) == [LONG_ID]
    assert lab.sync().refused == {}


def test_what_is_sent_twice_is_not_taken_for_another_event(machine: Machine) -> None:
    lab = machine("a")
    lab.agent("main").write("The till rounds half up")
    lab.sync()
    (lab.folder / "spool-sent.json").unlink()
    again = lab.sync()
    assert (again.sent, again.refused) == (0, {})


@pytest.mark.parametrize("here", [True, False], ids=["by a command", "in the spool"])
def test_an_erasure_that_was_killed_before_it_wiped_is_wiped_by_the_next_sync(
    machine: Machine,
    postgres_server: PostgresServer,
    postgres_url: str,
    monkeypatch: pytest.MonkeyPatch,
    here: bool,
) -> None:
    lab = machine("a")
    event_id = lab.agent("main").write(f"{SECRET} are secret").event_id
    lab.sync()

    def killed(_: SharedPostgres) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(SharedPostgres, "_wipe", killed)
        if here:
            with pytest.raises(KeyboardInterrupt):
                lab.erase(match=SECRET)
        else:
            spool = lab.journal.local
            assert isinstance(spool, StoredJournal)
            chosen = EraseSelection(ids=[event_id])
            spool.erase_part(chosen, agent="main", at=NOW)
            with pytest.raises(KeyboardInterrupt):
                lab.sync()
    assert _holding_in_database(postgres_server, postgres_url, SECRET)
    lab.sync()
    assert _holding_in_database(postgres_server, postgres_url, SECRET) == []


def test_a_server_that_goes_before_an_erasure_is_wiped_is_told_as_such(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = machine("a")
    lab.agent("main").write(f"{SECRET} are secret")

    def gone(*_: object) -> None:
        raise psycopg.OperationalError("the server closed the connection")

    with monkeypatch.context() as patch:
        patch.setattr("theorex_lab.journal.postgres.erase._rows_left_in", gone)
        with pytest.raises(StorageError, match="the bodies are erased, but old bytes"):
            lab.erase(match=SECRET)
    assert lab.sync().refused == {}


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE theorex.mine (x integer)",
        "CREATE TABLE theorex.events (x integer)",
        "CREATE TABLE theorex.journal (x integer)",
        "CREATE TABLE theorex.journal (x integer); CREATE VIEW theorex.events AS SELECT 1",
    ],
)
def test_a_schema_that_another_program_made_is_named_as_such(
    machine: Machine, postgres_server: PostgresServer, postgres_url: str, statement: str
) -> None:
    name = postgres_url.partition("@/")[2].partition("?")[0]
    postgres_server.execute(f"CREATE SCHEMA theorex; {statement}", database=name)
    lab = machine("a")
    lab.agent("main").write("The till rounds half up")
    if "mine" in statement:
        with pytest.raises(StorageError, match="that another program made"):
            lab.sync()
        return
    with pytest.raises(StorageError, match="name another database in journalUrl"):
        lab.sync()


def test_an_empty_schema_is_taken(
    machine: Machine, postgres_server: PostgresServer, postgres_url: str
) -> None:
    name = postgres_url.partition("@/")[2].partition("?")[0]
    postgres_server.execute("CREATE SCHEMA theorex", database=name)
    assert machine("a").sync().sent == 0


def test_a_connection_that_is_refused_is_told_from_a_server_that_is_away(
    machine: Machine, postgres_server: PostgresServer
) -> None:
    for name, url in [
        ("a", postgres_server.url("no_such_database")),
        ("b", postgres_server.url("postgres", role="no_such_role")),
    ]:
        with pytest.raises(StorageError, match="refuses the connection") as caught:
            machine(name, journalUrl=url).sync()
        assert "createdb" in str(caught.value)


def test_a_role_that_may_not_use_the_schema_is_told_who_grants_it(
    machine: Machine, postgres_server: PostgresServer, postgres_url: str
) -> None:
    machine("a").sync()
    name = postgres_url.partition("@/")[2].partition("?")[0]
    postgres_server.execute(f"CREATE ROLE {name}_stranger LOGIN")
    url = postgres_server.url(name, role=f"{name}_stranger")
    with pytest.raises(StorageError, match="let its owner grant this role") as caught:
        machine("b", journalUrl=url).sync()
    assert "LINE 1" not in str(caught.value)


def test_a_database_that_is_read_only_can_be_read_and_shows_what_waits(
    machine: Machine, postgres_server: PostgresServer, postgres_url: str
) -> None:
    first = machine("a")
    first.agent("main").write("The till rounds half up")
    first.sync()
    first.close()
    name = postgres_url.partition("@/")[2].partition("?")[0]
    postgres_server.execute(
        f"ALTER DATABASE {name} SET default_transaction_read_only = on"
    )
    second = machine("b")
    assert second.search("till", limit=1)[0].text == "The till rounds half up"
    second.agent("main").write("It waits")
    status = second.spool_status()
    assert status is not None
    assert status["waiting"] == 1
    assert "set to read only" in status["problem"]


def test_an_id_that_the_database_cannot_hold_is_no_event_of_it(
    machine: Machine,
) -> None:
    lab = machine("a")
    event_id = lab.agent("main").write("The till rounds half up").event_id
    lab.sync()
    assert [event.id for event in lab.journal.read(ids=["a\0b", event_id])] == [
        event_id
    ]
    with pytest.raises(InvalidInput, match="which is not in the journal"):
        lab.erase(ids=["a\0b"])


def test_a_role_that_cannot_wipe_says_what_the_owner_does_and_goes_on(
    machine: Machine, postgres_server: PostgresServer, postgres_url: str
) -> None:
    """With the rights that docs/how-to/team.md grants."""
    owner = machine("a")
    owner.agent("main").write(f"{SECRET} are secret")
    owner.sync()
    name = postgres_url.partition("@/")[2].partition("?")[0]
    for statement in (
        f"CREATE ROLE {name}_laptop LOGIN",
        f"GRANT USAGE ON SCHEMA theorex TO {name}_laptop",
        f"GRANT SELECT, INSERT, UPDATE ON theorex.events TO {name}_laptop",
        f"GRANT SELECT ON theorex.journal TO {name}_laptop",
    ):
        postgres_server.execute(statement, database=name)
    url = postgres_server.url(name, role=f"{name}_laptop")
    laptop = machine("b", journalUrl=url)
    with pytest.raises(StorageError, match="VACUUM FULL theorex.events"):
        laptop.erase(match=SECRET)
    laptop.agent("main").write("The till rounds half up")
    assert laptop.sync().sent == 1
    assert [*laptop.search(SECRET, limit=1)] == []
    postgres_server.execute("VACUUM FULL theorex.events", database=name)
    assert not _holding_in_database(postgres_server, postgres_url, SECRET)


class OffClock(SystemClock):
    """The clock of a machine that goes wrong."""

    def __init__(self, *, hours: int) -> None:
        self.offset = hours * 3_600_000_000

    def now(self) -> int:
        return super().now() + self.offset


@pytest.mark.parametrize("hours", [-30, -1, 1, 30])
def test_a_lease_holds_though_the_clocks_of_machines_differ(
    tmp_path: Path, postgres_url: str, hours: int
) -> None:
    settings = check_settings({"journalUrl": postgres_url})
    with (
        Lab(tmp_path / "a", settings=settings) as first,
        Lab(tmp_path / "b", settings=settings, clock=OffClock(hours=hours)) as second,
    ):
        for one_lab, other in ((first, second), (second, first)):
            lease = Lease(one_lab.home, "nightly")
            assert lease.take()
            assert not Lease(other.home, "nightly").take()
            report = other.maintain()
            assert not report.ran
            assert report.holder is not None
            assert report.holder.owner == lease.owner
            lease.renew()
            lease.release()
        assert second.maintain().ran


def test_a_lease_that_another_machine_holds_is_not_said_to_be_held_in_this_home(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    first, second = machine("a"), machine("b")
    content = {"journalUrl": second.settings.journal_url}
    second.agent("main").write("The till rounds half up")
    second.close()
    (tmp_path / "b" / "config.json").write_text(json.dumps(content))
    (tmp_path / "b" / "config.json").chmod(0o600)
    monkeypatch.setenv("THEOREX_HOME", str(tmp_path / "b"))
    lease = Lease(first.home, "nightly")
    assert lease.take()
    ended = run("maintain", "--now", to_iso(NOW)).out
    shared = f"the memory that {tmp_path / 'b'} shares with other machines"
    assert f"another maintenance is under way in {shared}, held by" in ended


def test_callers_of_a_server_are_told_that_what_they_write_waits_here(
    machine: Machine, postgres_server: PostgresServer, tmp_path: Path
) -> None:
    lab = machine("a", journalUrl=f"postgresql://team@/memory?host={tmp_path}")
    assert lab.agent("main").write("It waits").event_id
    with pytest.raises(ServerAway) as caught:
        lab.search("waits")
    text = tell_owner(caught.value)
    assert "cannot be read now" in text
    assert "what is written to it waits on this machine" in text
    assert str(tmp_path) not in text
    assert "read or written" in tell_owner(StorageError("the disk is full"))


class CutCursor(psycopg.Cursor[Any]):
    """A cursor to a server that goes away after some statements, all in all."""

    n_left: ClassVar[int | None] = None

    def _count(self) -> None:
        if CutCursor.n_left == 0:
            self.connection.close()
            raise psycopg.OperationalError("the server closed the connection")
        if CutCursor.n_left is not None:
            CutCursor.n_left -= 1

    def execute(self, *arguments: Any, **options: Any) -> Any:
        self._count()
        return super().execute(*arguments, **options)

    def copy(self, *arguments: Any, **options: Any) -> Any:
        self._count()
        return super().copy(*arguments, **options)


def test_a_server_that_goes_at_any_statement_of_a_sync_loses_and_doubles_nothing(
    machine: Machine,
    postgres_server: PostgresServer,
    postgres_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And what was erased is wiped by the sync that is run when it is back."""
    connect = AnsweringConnection.connect

    def cut_connect(*arguments: Any, **options: Any) -> psycopg.Connection[Any]:
        if CutCursor.n_left == 0:
            raise psycopg.OperationalError("connection refused")
        connection = connect(*arguments, **options)
        connection.cursor_factory = CutCursor
        return connection

    monkeypatch.setattr(AnsweringConnection, "connect", cut_connect)
    ids: list[str] = []
    n_cut = 0
    lab = machine("a")
    spool = lab.journal.local
    assert isinstance(spool, StoredJournal)
    for number in itertools.count():
        secret = _said(f"{SECRET}{number}x is secret")
        spool.append([secret])
        lab.sync()
        chosen = EraseSelection(ids=[secret.id])
        spool.erase_part(chosen, agent="main", at=NOW)
        events = [_said(f"text {number} {each}") for each in range(3)]
        spool.append(events)
        ids += [secret.id, *(event.id for event in events)]
        lab.close()
        monkeypatch.setattr(CutCursor, "n_left", n_cut)
        try:
            lab.sync()
            is_over = True
        except StorageError:
            is_over = False
        monkeypatch.setattr(CutCursor, "n_left", None)
        if number % 4 == 0 or is_over:
            lab.sync()
            assert not _holding_in_database(postgres_server, postgres_url, SECRET)
        if is_over:
            break
        n_cut += 4
    assert n_cut > 12
    stored = [event.id for event in lab.journal.tail(0, erased=True)]
    assert sorted(each for each in stored if each in ids) == sorted(ids)
    assert len(set(stored)) == len(stored) == lab.journal.last_seq()
    assert lab.sync().sent == 0
