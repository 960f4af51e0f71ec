"""Files that others made: whatever they are, an import reads them to an end or says why not, and names the file."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from test_exchange import home, take

from theorex_lab.errors import InvalidInput, StorageError
from theorex_lab.exchange.flat_files import read_cold
from theorex_lab.journal import foreign

needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"
PAGE = 512


@pytest.fixture(autouse=True)
def ends() -> Iterator[None]:
    """What hangs fails."""

    def late(*_: object) -> None:
        raise AssertionError("it has not ended")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(120)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def store(path: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)
    return path


TABLE = "CREATE TABLE cold_nodes (archive_id TEXT, data TEXT)"
ROWS = """INSERT INTO cold_nodes VALUES ('a', '{"n": 2}'), ('b', '{"n": 1}')"""


@pytest.mark.parametrize(
    ("statements", "reason"),
    [
        ([f"CREATE VIEW cold_nodes AS {ENDLESS} SELECT x AS archive_id, '{{}}' AS data FROM n WHERE x < 0"], "a view"),
        ([f"CREATE VIEW COLD_NODES AS {ENDLESS} SELECT x AS archive_id, '{{}}' AS data FROM n"], "a view"),
        (["CREATE VIRTUAL TABLE cold_nodes USING fts5(archive_id, data)"], "a virtual table"),
        (
            ["CREATE TABLE cold_nodes (archive_id TEXT, data TEXT AS (printf('%.*c', 9999, archive_id)))"],
            "computes some",
        ),
        (["CREATE TABLE cold_nodes (archive_id TEXT, data TEXT, size INT AS (length(data)) STORED)"], "computes some"),
        (["CREATE TABLE cold_nodes (archive_id TEXT)"], "lacks columns"),
        (["CREATE TABLE hot_nodes (archive_id TEXT, data TEXT)"], "without the table cold_nodes"),
        ([TABLE, "INSERT INTO cold_nodes VALUES ('a', zeroblob(20000000))"], "too big"),
    ],
)
def test_what_is_no_plain_table_is_refused(tmp_path: Path, statements: list[str], reason: str) -> None:
    file = store(tmp_path / "cold-store.db", *statements)
    with pytest.raises(InvalidInput, match=reason) as raised:
        list(read_cold(file, []))
    assert str(file) in str(raised.value)
    with home(tmp_path / "home") as lab:
        (report,) = take(lab, file)
        assert (report.imported, len(report.problems), reason in report.problems[0]) == (0, 1, True)


@pytest.mark.parametrize(
    "more",
    [
        f"CREATE TRIGGER x BEFORE INSERT ON cold_nodes BEGIN SELECT count(*) FROM ({ENDLESS} SELECT x FROM n); END",
        f"CREATE VIEW x AS {ENDLESS} SELECT x FROM n",
        "CREATE INDEX x ON cold_nodes (CAST(data AS BLOB))",
        "CREATE INDEX x ON cold_nodes (data, archive_id)",
    ],
)
def test_what_lies_beside_the_table_is_not_used(tmp_path: Path, more: str) -> None:
    file = store(tmp_path / "cold-store.db", TABLE, ROWS, more)
    assert list(read_cold(file, [])) == [(1, {"n": 2}), (2, {"n": 1})]


def test_a_table_in_the_order_of_its_key(tmp_path: Path) -> None:
    table = "CREATE TABLE Cold_Nodes (archive_id TEXT PRIMARY KEY, Data TEXT, more INT) WITHOUT ROWID"
    file = store(
        tmp_path / "cold-store.db", table, ROWS.replace("VALUES", "SELECT column1, column2, 0 FROM (VALUES") + ")"
    )
    assert [record for _, record in read_cold(file, [])] == [{"n": 2}, {"n": 1}]


def test_a_logged_file_is_read_with_its_log_and_without_one_nothing_is_made_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "cold-store.db"
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(TABLE)
        connection.execute(ROWS)
        assert len(list(read_cold(file, []))) == 2
    assert [path.name for path in tmp_path.iterdir()] == [file.name]
    assert len(list(read_cold(file, []))) == 2
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_pages_that_are_held_many_times_end(tmp_path: Path) -> None:
    """Each of eight levels leads to the next one fifty times: 50**8 rows in five kilobytes."""
    file = tmp_path / "cold-store.db"
    store(file, f"PRAGMA page_size = {PAGE}", TABLE, ROWS)
    pages = [file.read_bytes()[at : at + PAGE] for at in range(0, file.stat().st_size, PAGE)]
    assert len(pages) == 2
    leaf, levels = pages[1], 8
    for level in range(levels):
        child = struct.pack(">I", 3 + level)
        cells = [PAGE - 5 * (n + 1) for n in range(50)]
        head = b"\5" + struct.pack(">HHHB", 0, len(cells), cells[-1], 0) + child
        page = bytearray(head + b"".join(struct.pack(">H", at) for at in cells))
        page += bytes(PAGE - len(page))
        for at in cells:
            page[at : at + 5] = child + b"\1"
        pages[1 + level : 2 + level] = [bytes(page)]
    pages.append(leaf)
    pages[0] = pages[0][:28] + struct.pack(">I", len(pages)) + pages[0][32:]
    file.write_bytes(b"".join(pages))
    with pytest.raises(InvalidInput, match="more than fits into its 5120 bytes"):
        list(read_cold(file, []))


def test_a_file_that_is_locked_is_not_called_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, connect = store(tmp_path / "cold-store.db", TABLE), sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *given, **more: connect(*given, **more, timeout=0))
    with closing(connect(file, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StorageError, match="locked"):
            list(read_cold(file, []))


NAMES = [
    "axon.json", "agents/a/axon.json", "shared-axon.json", "observations.jsonl", "short-term/2026-01-01.jsonl", "stm.jsonl",
    "cold-store.db", "outcomes/a.json", "traces/a.json",
]  # fmt: skip


@needs_pipes
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["a pipe", "a folder", "a device"])
def test_what_is_no_file_is_told_and_the_others_are_imported(tmp_path: Path, name: str, kind: str) -> None:
    path, good = tmp_path / "given" / name, tmp_path / "given" / "outcomes" / "z.json"
    for each in (path, good):
        each.parent.mkdir(parents=True, exist_ok=True)
    good.write_text(json.dumps({"decision": "x", "result": "y", "success": True}))
    make = {"a pipe": os.mkfifo, "a folder": os.mkdir, "a device": lambda at: at.symlink_to("/dev/zero")}
    make[kind](path)
    with home(tmp_path / "home") as lab:
        reports = take(lab, tmp_path / "given")
        (problem,) = (problem for report in reports for problem in report.problems)
        assert f"{path}, which is {kind}" in problem
        assert sum(report.imported for report in reports) == 1
        if kind == "a folder":
            return
        with pytest.raises(InvalidInput, match=f"got {path}"):
            take(lab, path)


@needs_pipes
def test_a_file_that_becomes_a_pipe_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "x")
    found = Path(__file__).stat()
    monkeypatch.setattr(Path, "stat", lambda *_, **__: found)
    with pytest.raises(InvalidInput, match="a pipe"):
        foreign.read_file(tmp_path / "x")
