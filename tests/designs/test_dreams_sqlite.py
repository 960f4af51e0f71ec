"""Evolving Memory's SQLite file: what goes in comes out equal, and the other way."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import NOW, Meanings
from theorex_lab import FixedClock, InvalidInput, Lab
from theorex_lab.designs.dreams.sqlite_export import export_sqlite
from theorex_lab.designs.dreams.sqlite_import import import_sqlite
from theorex_lab.designs.dreams.sqlite_tables import INDEXES, TABLES
from theorex_lab.memory.retrieval_log import note_recalled

AT = "2025-03-01T10:00:00.250000+00:00"
LATER = "2025-03-01T10:05:00+00:00"
JWT, BREAD = "8d0f2c6e-jwt", "0b9e11aa-bread"
STEPS = ("Read RFC 7519", "Write jwt_utils.py", 'Run "pytest -q"')


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path / "home", clock=FixedClock(NOW), embedder=Meanings()) as opened:
        yield opened


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path / "other", clock=FixedClock(NOW), embedder=Meanings()) as opened:
        yield opened


def parent_row(node_id: str, goal: str, **values: Any) -> dict[str, Any]:
    row = {
        "node_id": node_id,
        "hierarchy_level": 3,
        "content": "",
        "summary": f"How to {goal}",
        "confidence": 0.897,
        "access_count": 4,
        "goal": goal,
        "outcome": "success",
        "trigger_goals": json.dumps([goal, "déployer"]),
        "negative_constraints": '["Do not skip the tests"]',
        "child_node_ids": "[]",
        "success_count": 2,
        "failure_count": 1,
        "version": 3,
        "isa_version": "1.0",
        "domain": "default",
        "created_at": AT,
        "updated_at": LATER,
    }
    return row | values


def child_rows(parent_id: str) -> list[dict[str, Any]]:
    rows = []
    for number, action in enumerate(STEPS):
        rows.append(
            {
                "node_id": f"c-{parent_id}-{number}",
                "parent_node_id": parent_id,
                "hierarchy_level": 4,
                "content": "",
                "summary": f"step {number}",
                "confidence": 0.8,
                "access_count": 0,
                "step_index": number,
                "reasoning": "it is needed",
                "action": action,
                "result": "done\nwell",
                "is_critical_path": 1,
                "created_at": AT,
                "updated_at": AT,
            }
        )
    return rows


def edge(number: int, source: str, target: str, kind: str, weight: float) -> Any:
    return {
        "edge_id": f"e-{number}",
        "source_node_id": source,
        "target_node_id": target,
        "edge_type": kind,
        "weight": weight,
        "created_at": AT,
    }


def memory_rows() -> dict[str, list[dict[str, Any]]]:
    """A small memory as the document's engine writes it."""
    children = child_rows(JWT)
    ids = [row["node_id"] for row in children]
    edges = [edge(0, JWT, BREAD, "causal", 0.61)]
    for number, child_id in enumerate(ids, start=1):
        edges.append(edge(number, child_id, JWT, "is_child_of", 1.0))
    edges.append(edge(9, ids[0], ids[1], "next_step", 1.0))
    trace = {
        "trace_id": "t-1",
        "session_id": "a session, named freely",
        "hierarchy_level": 3,
        "parent_trace_id": None,
        "goal": "implement JWT",
        "outcome": "success",
        "confidence": 1.0,
        "source": "real_world",
        "tags": '["auth"]',
        "isa_version": "1.0",
        "failure_class": None,
        "created_at": AT,
    }
    action = {"trace_id": "t-1", "timestamp": AT, "reasoning": "see", "result": "ok"}
    journal = dict.fromkeys(
        [column.name for column in TABLES["dream_journal"] if column.kind == "count"], 1
    )
    return {
        "parent_nodes": [
            parent_row(JWT, "implement JWT", child_node_ids=json.dumps(ids)),
            parent_row(
                BREAD, "bake bread", negative_constraints="[]", domain="kitchen"
            ),
        ],
        "child_nodes": children,
        "edges": edges,
        "trace_sessions": [
            {
                "session_id": "a session, named freely",
                "started_at": AT,
                "ended_at": LATER,
                "root_goal": "build the sign-in",
                "processed": 1,
            },
            {
                "session_id": "empty",
                "started_at": AT,
                "ended_at": None,
                "root_goal": "",
                "processed": 0,
            },
        ],
        "trace_entries": [
            trace,
            trace
            | {
                "trace_id": "t-2",
                "session_id": "empty",
                "parent_trace_id": "t-1",
                "outcome": "failure",
                "failure_class": "timeout",
            },
        ],
        "action_entries": [
            action | {"rowid": 7, "action_payload": "read()"},
            action | {"rowid": 9, "action_payload": "write(x=1)"},
        ],
        "dream_journal": [
            journal
            | {
                "journal_id": "j-1",
                "started_at": AT,
                "ended_at": LATER,
                "phase_log": '["SWS: curating 1 traces"]',
            }
        ],
        "negative_constraints": [
            {
                "constraint_id": "n-1",
                "parent_node_id": JWT,
                "description": "Do not skip the tests",
                "failure_class": "logic_error",
                "source_trace_id": "t-1",
                "created_at": AT,
            }
        ],
        "schema_version": [
            {"version": 1, "description": "the first", "applied_at": AT}
        ],
    }


def write_file(path: Path, rows: dict[str, list[dict[str, Any]]]) -> Path:
    with closing(sqlite3.connect(path)) as file, file:
        for table, columns in TABLES.items():
            declared = ", ".join(column.sql for column in columns)
            file.execute(f"CREATE TABLE {table} ({declared})")
            names = ", ".join(f":{column.name}" for column in columns)
            file.executemany(f"INSERT INTO {table} VALUES ({names})", rows[table])
        for statement in INDEXES:
            file.execute(statement)
    return path


def read_tables(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert file.execute("PRAGMA foreign_key_check").fetchall() == []
        return {
            table: sorted(file.execute(f"SELECT * FROM {table}").fetchall(), key=repr)
            for table in TABLES
        }


def test_a_file_made_after_the_document_comes_out_equal(
    lab: Lab, tmp_path: Path
) -> None:
    file = write_file(tmp_path / "memory.db", memory_rows())
    report = import_sqlite(lab.home, file)
    assert report.problems == []
    export_sqlite(lab.home, tmp_path / "out.db")
    expected = read_tables(file)
    # The schema here has four migrations; the file had one.
    given = read_tables(tmp_path / "out.db")
    assert (1, "the first", AT) in given.pop("schema_version")
    expected.pop("schema_version")
    assert given == expected


def test_what_came_in_is_recalled_and_followed(lab: Lab, tmp_path: Path) -> None:
    import_sqlite(lab.home, write_file(tmp_path / "memory.db", memory_rows()))
    found = lab.dreams.strategy(JWT)
    assert [step.action for step in found.steps] == list(STEPS)
    assert [warning.text for warning in found.constraints] == ["Do not skip the tests"]
    assert found.origin == "real_world"
    assert found.source == "import"
    out, _ = lab.dreams.edges(JWT)
    assert [(link.target, link.type, link.weight) for link in out] == [
        (BREAD, "causal", 0.61)
    ]
    first, second = lab.dreams.trajectories()
    assert (first.dreamt, second.dreamt, second.parent) == (True, False, "t-1")
    assert lab.dreams.dream().nodes_created == 0  # one action is too few, or it is old


def test_importing_twice_is_importing_once(lab: Lab, tmp_path: Path) -> None:
    file = write_file(tmp_path / "memory.db", memory_rows())
    first = import_sqlite(lab.home, file)
    seq = lab.journal.last_seq()
    again = import_sqlite(lab.home, file)
    assert first.imported > 0
    assert (again.imported, again.problems) == (0, [])
    assert again.skipped >= 5
    assert [event.kind for event in lab.journal.tail(seq)] == []


def test_what_changes_here_changes_in_the_file_and_nothing_else(
    lab: Lab, tmp_path: Path
) -> None:
    file = write_file(tmp_path / "memory.db", memory_rows())
    import_sqlite(lab.home, file)
    note_recalled(lab.home, "dream_recall", query="x", items=[JWT], agent="main")
    lab.dreams.append(
        "constraint",
        {
            "constraint_id": "n-2",
            "strategy_id": JWT,
            "text": "Do not log tokens",
            "fault": "",
            "trajectory": "",
            "source": "agent",
            "project": "",
        },
    )
    export_sqlite(lab.home, tmp_path / "out.db")
    before, after = read_tables(file), read_tables(tmp_path / "out.db")
    with closing(sqlite3.connect(tmp_path / "out.db")) as out:
        row = out.execute(
            "SELECT access_count, negative_constraints FROM parent_nodes"
            " WHERE node_id = ?",
            [JWT],
        ).fetchone()
    assert row[0] == 5
    assert json.loads(row[1]) == ["Do not skip the tests", "Do not log tokens"]
    assert after["child_nodes"] == before["child_nodes"]
    assert len(after["negative_constraints"]) == 2


def test_what_was_dreamt_here_comes_back_the_same(
    lab: Lab, other: Lab, tmp_path: Path
) -> None:
    done = [
        {"action": "make(target='all')", "reasoning": "to build", "ok": True},
        {"action": "upload(place='web')", "result": "é\n" * 3, "ok": True},
    ]
    lab.dreams.capture("deploy the site", done, tags=["web"])
    lab.dreams.dream()
    lab.dreams.capture("mend the till", done, outcome="failure", fault="timeout")
    counts = export_sqlite(lab.home, tmp_path / "one.db")
    assert (counts["parent_nodes"], counts["trace_entries"]) == (1, 2)
    report = import_sqlite(other.home, tmp_path / "one.db", trusted=True)
    assert report.problems == []
    assert state_of(other) == state_of(lab)
    assert [
        (each.id, each.goal, each.outcome, each.fault, each.dreamt)
        for each in other.dreams.trajectories()
    ] == [
        (each.id, each.goal, each.outcome, each.fault, each.dreamt)
        for each in lab.dreams.trajectories()
    ]
    export_sqlite(other.home, tmp_path / "two.db")
    assert read_tables(tmp_path / "two.db") == read_tables(tmp_path / "one.db")
    # In the home that wrote it nothing is new.
    assert import_sqlite(lab.home, tmp_path / "one.db").imported == 0


def state_of(lab: Lab) -> list[dict[str, Any]]:
    """What the file holds of strategies."""
    states = []
    for strategy in lab.dreams.strategies():
        steps = tuple(step._replace(event="") for step in strategy.steps)
        plain = replace(strategy, steps=steps, source="agent", tags=(), evidence={})
        states.append(plain.state())
    return states


def test_damaged_rows_are_named_and_passed_over(lab: Lab, tmp_path: Path) -> None:
    rows = memory_rows()
    rows["parent_nodes"] += [
        parent_row("n-1", "x", confidence=99.0),
        parent_row("n-2", "x", hierarchy_level=9),
        parent_row("n-3", "x", outcome="won"),
        parent_row("n-4", " "),
        parent_row("n-5", "x", trigger_goals="[1]"),
        parent_row("n-6", "x", created_at="yesterday"),
    ]
    rows["edges"].append(edge(20, JWT, "nowhere", "causal", 0.5))
    report = import_sqlite(lab.home, write_file(tmp_path / "memory.db", rows))
    assert len(lab.dreams.strategies()) == 2
    assert len(report.problems) == 7
    assert any("confidence is b'99.0'" in problem for problem in report.problems)
    assert any("nowhere" in problem for problem in report.problems)


def test_a_file_of_the_first_version_is_read(lab: Lab, tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path)) as file, file:
        file.executescript(
            "CREATE TABLE parent_nodes (node_id TEXT PRIMARY KEY,"
            " hierarchy_level INTEGER NOT NULL, summary TEXT, confidence REAL,"
            " goal TEXT, outcome TEXT, created_at TEXT NOT NULL,"
            " updated_at TEXT NOT NULL);"
        )
        file.execute(
            "INSERT INTO parent_nodes VALUES ('n', 3, 'Mix', 0.9, 'bake', 'success',"
            " '2025-01-01T00:00:00', '2025-01-01T00:00:00')"
        )
    report = import_sqlite(lab.home, path)
    (found,) = lab.dreams.strategies()
    assert (found.id, found.summary, found.isa_version) == ("n", "Mix", "1.0")
    (problem,) = report.problems
    assert problem.endswith(
        "a database without the table"
        " trace_entries(trace_id, hierarchy_level, created_at)"
    )


def test_views_are_not_read_and_other_files_are_refused(
    lab: Lab, tmp_path: Path
) -> None:
    path = tmp_path / "view.db"
    with closing(sqlite3.connect(path)) as file, file:
        file.execute(
            "CREATE VIEW parent_nodes AS SELECT 'n' AS node_id, 3 AS hierarchy_level"
        )
    with pytest.raises(InvalidInput, match="view"):
        import_sqlite(lab.home, path)
    (tmp_path / "text.db").write_text("no database " * 99)
    for other_path in (tmp_path / "text.db", tmp_path):
        with pytest.raises(InvalidInput, match="allowed is"):
            import_sqlite(lab.home, other_path)
    assert lab.journal.last_seq() == 0


def test_secrets_of_a_file_are_masked(lab: Lab, tmp_path: Path) -> None:
    rows = memory_rows()
    rows["child_nodes"][0]["action"] = "export API_KEY=3x4mpl3k3y99"
    import_sqlite(lab.home, write_file(tmp_path / "memory.db", rows))
    export_sqlite(lab.home, tmp_path / "out.db")
    assert b"3x4mpl3k3y99" not in (tmp_path / "out.db").read_bytes()
    stored = [event.body for event in lab.journal.tail(0)]
    assert "3x4mpl3k3y99" not in json.dumps(stored)
