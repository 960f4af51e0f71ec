"""A machine that joins a shared journal takes over the views of another."""

from __future__ import annotations

import json
import shutil
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest
from conftest import NOW
from postgres_server import PostgresServer
from shared_machines import Machine, machines_at

from theorex_lab import Lab, StorageError
from theorex_lab.evolution.view_sharing import home_views
from theorex_lab.journal import shared_snapshots
from theorex_lab.journal.postgres import snapshots as database_snapshots
from theorex_lab.journal.postgres.store import PostgresJournal
from theorex_lab.journal.shared_snapshots import SnapshotTransfer
from theorex_lab.journal.snapshot import newest_seq
from theorex_lab.journal.stored import StoredJournal
from theorex_lab.journal.view import differing_columns, fold_into
from theorex_lab.memory.session_list import SessionList

SECRET_WORD = "marzipan"


@pytest.fixture
def machine(tmp_path: Path, postgres_url: str) -> Iterator[Machine]:
    """Return a function that opens a machine's home; all share one database."""
    with machines_at(tmp_path, postgres_url) as opened:
        yield opened


class Pushed(NamedTuple):
    """A machine whose views are in the database.

    Attributes:
        first: The machine.
        transfer: What its push carried.
    """

    first: Lab
    transfer: SnapshotTransfer


class PushedOnce(NamedTuple):
    """What each test gets a copy of.

    Attributes:
        database: The name of a database with views.
        home: The home of the machine that pushed them.
        transfer: What its push carried.
    """

    database: str
    home: Path
    transfer: SnapshotTransfer


def database_of(url: str) -> str:
    """Return the name of a database."""
    return url.partition("@/")[2].partition("?")[0]


@pytest.fixture(scope="module")
def pushed_once(
    postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> PushedOnce:
    """Write, scan and push once: that costs more than what most tests look at."""
    folder = tmp_path_factory.mktemp("pushed")
    url = postgres_server.new_database()
    with machines_at(folder, url) as opened:
        transfer = with_memory(opened("a")).push_views()
    return PushedOnce(database_of(url), folder / "a", transfer)


@pytest.fixture
def pushed(
    machine: Machine,
    pushed_once: PushedOnce,
    postgres_server: PostgresServer,
    postgres_url: str,
    tmp_path: Path,
) -> Pushed:
    """Give a machine with some memory that has pushed its views."""
    name = database_of(postgres_url)
    postgres_server.execute(f"DROP DATABASE {name}")
    postgres_server.execute(f"CREATE DATABASE {name} TEMPLATE {pushed_once.database}")
    shutil.copytree(pushed_once.home, tmp_path / "a")
    return Pushed(machine("a"), pushed_once.transfer)


def with_memory(lab: Lab) -> Lab:
    """Write some texts, and let the designs take them in."""
    main = lab.agent("main")
    for number in range(12):
        main.write(f"The till {number} rounds to five cents", session=f"s{number}")
    main.write(f"The cache stampede came back in {SECRET_WORD}")
    lab.theorex.scan()
    return lab


def rows(url: str, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET search_path = theorex")
        return connection.execute(query).fetchall()  # type: ignore[arg-type]


def names_in(url: str) -> list[str]:
    return [name for (name,) in rows(url, "SELECT name FROM snapshots ORDER BY name")]


def equal_to_a_fold_from_nothing(lab: Lab) -> bool:
    views = lab.views.whole
    for kind in home_views(lab.home):
        fresh = kind()
        with views.reading(kind) as view:
            fold_into(fresh, lab.journal, view.seq)
            if differing_columns(view, fresh):
                return False
    return True


# --- Carried over ---


def test_a_new_machine_folds_only_what_came_after_the_snapshots(
    machine: Machine, pushed: Pushed, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = pushed.first
    assert (
        len(pushed.transfer.names)
        == len({kind.name for kind in home_views(first.home)}) + 1
    )
    pushed_seq = first.journal.last_seq()
    first.agent("main").write("The printer of the till jams")
    second = machine("b")
    pulled = second.pull_views()
    assert (sorted(pulled.names), pulled.refused) == (sorted(pushed.transfer.names), [])
    assert pulled.n_bytes == pushed.transfer.n_bytes > 0
    first.sync()
    decoded: list[int] = []
    as_written = StoredJournal._as_written

    def counted(journal: StoredJournal, row: Any) -> Any:
        decoded.append(row[0])
        return as_written(journal, row)

    monkeypatch.setattr(StoredJournal, "_as_written", counted)
    for kind in home_views(second.home):
        with second.views.reading(kind):
            pass
    assert decoded
    assert min(decoded) >= pushed_seq
    monkeypatch.undo()
    assert equal_to_a_fold_from_nothing(second)
    assert second.search("printer jams")
    assert second.verify().ok


def test_what_is_as_new_is_neither_pushed_nor_pulled_again(
    pushed: Pushed, postgres_url: str
) -> None:
    first = pushed.first
    assert first.push_views().names == []
    assert first.pull_views().names == []
    first.agent("main").write("The printer of the till jams")
    assert sorted(first.push_views().names) == sorted(pushed.transfer.names)
    assert names_in(postgres_url) == sorted(pushed.transfer.names)
    ((n_orphans,),) = rows(
        postgres_url,
        "SELECT count(*) FROM snapshot_parts WHERE snapshot NOT IN (SELECT id FROM snapshots)",
    )
    assert n_orphans == 0


def test_long_columns_go_in_parts(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_snapshots, "_PART_BYTES", 50)
    first = with_memory(machine("a"))
    pushed = first.push_views()
    second = machine("b")
    assert sorted(second.pull_views().names) == sorted(pushed.names)
    assert equal_to_a_fold_from_nothing(second)


def test_a_maintenance_pushes_and_the_first_sync_pulls(
    machine: Machine, postgres_url: str
) -> None:
    first = with_memory(machine("a", snapshotAfterEvents=1))
    report = first.maintain()
    details = {step.name: step.detail for step in report.steps}
    n_pushed = int(details["views"].removesuffix(" pushed"))
    assert n_pushed > 0
    assert len(names_in(postgres_url)) == n_pushed
    second = machine("b")
    second.sync()
    folders = {
        path.parent.name for path in (second.folder / "shared-views").glob("*/*-*")
    }
    assert {*names_in(postgres_url)} <= folders
    assert equal_to_a_fold_from_nothing(second)


def test_little_growth_is_not_pushed_by_a_maintenance(
    machine: Machine, postgres_url: str
) -> None:
    first = with_memory(machine("a"))
    report = first.maintain()
    details = {step.name: step.detail for step in report.steps}
    assert details["views"] == "0 pushed"
    assert names_in(postgres_url) == []


def test_views_of_a_project_are_carried_over_too(
    machine: Machine, postgres_url: str
) -> None:
    first = with_memory(machine("a", snapshotAfterEvents=1)).in_project(
        "shop-1a2b3c4d", new=True
    )
    first.agent("main").write("The shop closes at six")
    with first.views.reading(SessionList):
        pass
    first.push_views()
    scoped = [name for name in names_in(postgres_url) if "@" in name]
    assert scoped
    assert all("shop" not in name for name in scoped)
    second = machine("b")
    assert {*scoped} <= {*second.pull_views().names}
    assert second.in_project("shop-1a2b3c4d").verify().ok


# --- Erasures ---


def bytes_of_database(server: PostgresServer) -> bytes:
    """Return what the data files of all databases hold, without the write-ahead log."""
    server.execute("CHECKPOINT")
    files = [path for path in (server.data / "base").rglob("*") if path.is_file()]
    return b"".join(path.read_bytes() for path in sorted(files))


def test_an_erasure_leaves_no_byte_in_the_database(
    machine: Machine,
    monkeypatch: pytest.MonkeyPatch,
    postgres_server: PostgresServer,
    postgres_url: str,
) -> None:
    word = "quincejelly"  # in no other test's database
    first = with_memory(machine("a"))
    first.agent("main").write(f"The {word} recipe is in the ledger")
    monkeypatch.setattr(database_snapshots, "_PART_BYTES", 1 << 20)
    first.push_views()
    second = machine("b")
    second.pull_views()
    # What short columns hold stands in the files as it is.
    assert word.encode() in bytes_of_database(postgres_server)
    assert first.erase(match=word)
    assert word.encode() not in bytes_of_database(postgres_server)
    assert first.home.item_view.name not in names_in(postgres_url)
    second.sync()
    for path in second.folder.rglob("*"):
        assert not path.is_file() or word.encode() not in path.read_bytes(), path
    assert second.verify().ok
    again = machine("c")
    again.pull_views()
    assert not again.search(word)
    assert again.verify().ok


def test_only_what_an_erasure_reaches_is_removed(
    pushed: Pushed, postgres_url: str
) -> None:
    first = pushed.first
    before = {*names_in(postgres_url)}
    first.erase(match=SECRET_WORD)
    left = {*names_in(postgres_url)}
    assert left < before
    assert first.home.item_view.name not in left
    assert "tasks" in left


def test_whoever_may_erase_removes_snapshots_without_rights_on_them(
    machine: Machine, pushed: Pushed, postgres_server: PostgresServer, postgres_url: str
) -> None:
    first = pushed.first
    name = postgres_url.partition("@/")[2].partition("?")[0]
    rights = """
        DROP ROLE IF EXISTS eraser;
        CREATE ROLE eraser LOGIN;
        GRANT USAGE ON SCHEMA theorex TO eraser;
        GRANT SELECT ON theorex.journal TO eraser;
        GRANT SELECT, INSERT, UPDATE ON theorex.events TO eraser;
    """
    postgres_server.execute(rights, database=name)
    url = postgres_server.url(name, role="eraser")
    eraser = machine("b", journalUrl=url)
    with pytest.raises(StorageError, match=r"VACUUM FULL .*theorex\.snapshot_parts"):
        eraser.erase(match=SECRET_WORD)
    assert first.home.item_view.name not in names_in(postgres_url)
    with pytest.raises(StorageError, match="permission denied"):
        eraser.push_views()
    with pytest.raises(StorageError, match="permission denied"):
        eraser.pull_views()
    eraser.sync()
    step = next(step for step in eraser.maintain().steps if step.name == "views")
    assert step.ok
    assert "permission denied" in step.detail
    postgres_server.execute("DROP OWNED BY eraser; DROP ROLE eraser", database=name)


def test_what_is_erased_while_it_is_pushed_is_not_kept(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, postgres_url: str
) -> None:
    first = with_memory(machine("a"))
    insert = database_snapshots._insert
    monkeypatch.setattr(database_snapshots, "_insert", insert)
    other = PostgresJournal(postgres_url, first.folder / "other")
    erased: list[str] = []

    def erased_meanwhile(connection: Any, head: Any, *rest: Any) -> str:
        key = insert(connection, head, *rest)
        if head.name == first.home.item_view.name and not erased:
            selection = shared_snapshots_selection(SECRET_WORD)
            erased.extend(other.erase_part(selection, agent="main", at=NOW).ids)
        return key

    monkeypatch.setattr(database_snapshots, "_insert", erased_meanwhile)
    pushed = first.push_views()
    assert erased
    assert first.home.item_view.name not in pushed.names
    assert first.home.item_view.name not in names_in(postgres_url)
    other.close()


def shared_snapshots_selection(text: str) -> Any:
    from theorex_lab.journal.erasing import EraseSelection

    return EraseSelection(match=text)


# --- What is not taken ---


def forged(url: str, name: str, change: Callable[[dict[str, Any]], None]) -> None:
    """Change what the manifest of a snapshot says, with a checksum that holds."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET search_path = theorex")
        row = connection.execute(
            "SELECT manifest FROM snapshots WHERE name = %s", [name]
        ).fetchone()
        assert row is not None
        content = json.loads(row[0])["content"]
        change(content)
        crc = zlib.crc32(json.dumps(content).encode())
        manifest = json.dumps({"content": content, "crc": crc}).encode()
        connection.execute(
            "UPDATE snapshots SET manifest = %s WHERE name = %s", [manifest, name]
        )


def no_kinds(content: dict[str, Any]) -> None:
    content["kinds"] = []


def other_event(content: dict[str, Any]) -> None:
    content["event_id"] = "another"


def path_outside(content: dict[str, Any]) -> None:
    name, crc = content["columns"].popitem()
    content["columns"][f"../../{name}"] = crc


def fewer_columns(content: dict[str, Any]) -> None:
    content["columns"].popitem()


def columns_of_no_kind(content: dict[str, Any]) -> None:
    content["columns"] = 7


def other_seq(content: dict[str, Any]) -> None:
    content["seq"] -= 1


def passed_over_text(content: dict[str, Any]) -> None:
    content["passed_over"] = {"x": "y"}


@pytest.mark.parametrize(
    "change",
    [
        no_kinds,
        other_event,
        path_outside,
        fewer_columns,
        columns_of_no_kind,
        other_seq,
        passed_over_text,
    ],
)
def test_a_forged_manifest_is_refused_and_leaves_nothing(
    machine: Machine,
    pushed: Pushed,
    postgres_url: str,
    change: Callable[[dict[str, Any]], None],
) -> None:
    first = pushed.first
    name = first.home.item_view.name
    forged(postgres_url, name, change)
    second = machine("b")
    pulled = second.pull_views()
    assert pulled.refused == [name]
    assert len(pulled.names) == len(pushed.transfer.names) - 1
    folder = second.folder / "shared-views" / name
    assert newest_seq(folder, first.home.item_view.code) == 0
    assert [path.name for path in folder.iterdir()] == ["lock"]
    assert second.verify().ok


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE snapshot_parts SET data = '\\x00'",
        "UPDATE snapshot_parts SET data = data || '\\x00'",
        "DELETE FROM snapshot_parts",
        "UPDATE snapshots SET manifest = '{'",
        "UPDATE snapshots SET event_id = 'x', manifest = '[]'",
        "UPDATE snapshots SET n_bytes = 3",
    ],
)
def test_damaged_bytes_are_refused(
    machine: Machine, pushed: Pushed, postgres_url: str, statement: str
) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("SET search_path = theorex")
        connection.execute(statement)  # type: ignore[arg-type]
    second = machine("b")
    pulled = second.pull_views()
    assert pulled.names == []
    assert pulled.refused
    assert second.verify().ok


def test_offsets_outside_their_texts_are_refused(
    machine: Machine, pushed: Pushed, postgres_url: str
) -> None:
    first = pushed.first
    name = first.home.item_view.name
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("SET search_path = theorex")
        query = """
            SELECT p.column_name, p.data FROM snapshot_parts p JOIN snapshots s
            ON p.snapshot = s.id WHERE s.name = %s AND p.column_name LIKE '%%.offsets'
        """
        column, data = connection.execute(query, [name]).fetchall()[0]
        changed = data[:-8] + (1 << 40).to_bytes(8, "little")
        connection.execute(
            "UPDATE snapshot_parts p SET data = %s FROM snapshots s"
            " WHERE p.snapshot = s.id AND s.name = %s AND column_name = %s",
            [changed, name, column],
        )

    def with_checksum(content: dict[str, Any]) -> None:
        content["columns"][column] = zlib.crc32(changed)

    forged(postgres_url, name, with_checksum)
    assert machine("b").pull_views().refused == [name]


def test_a_snapshot_of_a_later_code_or_an_unknown_view_is_passed_over(
    machine: Machine, pushed: Pushed, postgres_url: str
) -> None:
    first = pushed.first
    name = first.home.item_view.name
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("SET search_path = theorex")
        connection.execute("UPDATE snapshots SET code = 9999 WHERE name = %s", [name])
        connection.execute("UPDATE snapshots SET name = '../x' WHERE name = 'tasks'")
    second = machine("b")
    pulled = second.pull_views()
    assert {*pushed.transfer.names} - {*pulled.names} == {name, "tasks"}
    assert not (second.folder / "x").exists()
    # A later release's stays where it is.
    assert name not in first.push_views().names


def test_more_bytes_than_are_allowed_are_not_carried(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = with_memory(machine("a"))
    monkeypatch.setattr(shared_snapshots, "MOST_BYTES", 2_000)
    pushed = first.push_views()
    assert first.home.item_view.name not in pushed.names
    monkeypatch.undo()
    first.push_views()
    monkeypatch.setattr(shared_snapshots, "MOST_BYTES", 2_000)
    assert first.home.item_view.name in machine("b").pull_views().refused


# --- Homes without ---


def test_a_home_of_its_own_shares_no_views(lab: Lab) -> None:
    with pytest.raises(StorageError, match="journalUrl names a PostgreSQL database"):
        lab.push_views()
    with pytest.raises(StorageError, match="keeps no snapshots"):
        lab.pull_views()


def as_layout_1(url: str) -> None:
    """Bring a database back to what an earlier release made."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET search_path = theorex")
        connection.execute("DROP TRIGGER erasures_remove_snapshots ON events")
        connection.execute("DROP FUNCTION remove_reached_snapshots")
        connection.execute("DROP TABLE snapshot_parts, snapshots")
        connection.execute("UPDATE journal SET layout = 1")


def test_the_owner_brings_an_earlier_database_up_to_date(
    machine: Machine, postgres_server: PostgresServer, postgres_url: str
) -> None:
    first = with_memory(machine("a"))
    first.sync()
    as_layout_1(postgres_url)
    name = postgres_url.partition("@/")[2].partition("?")[0]
    rights = """
        DROP ROLE IF EXISTS guest;
        CREATE ROLE guest LOGIN;
        GRANT USAGE ON SCHEMA theorex TO guest;
        GRANT SELECT ON theorex.journal TO guest;
        GRANT SELECT, INSERT, UPDATE ON theorex.events TO guest;
    """
    postgres_server.execute(rights, database=name)
    guest = machine("b", journalUrl=postgres_server.url(name, role="guest"))
    guest.sync()
    assert guest.search("till")
    with pytest.raises(StorageError, match="its owner has to open it once"):
        guest.pull_views()
    assert machine("c").push_views().names
    assert rows(postgres_url, "SELECT layout FROM journal") == [(2,)]
    postgres_server.execute("DROP OWNED BY guest; DROP ROLE guest", database=name)
