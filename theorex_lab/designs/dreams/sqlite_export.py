"""Write Evolving Memory's SQLite file.

What came out of such a file goes back as it was read, where nothing changed it since.
Everything else is written from the trajectories, the strategies that hold, and the
dreams.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

from theorex_lab.core.clock import to_iso
from theorex_lab.core.errors import StorageError
from theorex_lab.core.files import drafted, make_file, make_folder, writing
from theorex_lab.designs.dreams import Edge, Level
from theorex_lab.designs.dreams.sqlite_tables import (
    INDEXES,
    SCHEMA_MIGRATIONS,
    TABLES,
    Cell,
    FileRow,
)
from theorex_lab.designs.dreams.strategies import (
    Strategy,
    StrategyStep,
    all_edges,
    strategies_of,
)
from theorex_lab.designs.dreams.strategy_view import EdgeRow
from theorex_lab.designs.dreams.trajectories import Trajectory, trajectories_of
from theorex_lab.journal.event import Body, encode
from theorex_lab.memory.contract import Home

# The confidence of a step in the file, by whether it did its work.
STEP_CONFIDENCE = {True: 1.0, None: 0.5, False: 0.1}
# Who dreamt, of a dream that only notes what was dreamt before an import.
IMPORTED_DREAMER = "import"
_ADVICE = "what was there is untouched: make room, or choose another file"
FileRows = dict[str, list[FileRow]]


def export_sqlite(home: Home, path: Path) -> dict[str, int]:
    """Write the file; return how many rows each table has.

    The file is replaced as a whole. Where a strategy was lived, and who said what, have
    no column there.

    Args:
        home: Whose memory it is.
        path: The file.

    Raises:
        StorageError: It cannot be written.
    """
    _ = home.designs  # the designs bring the kinds of events
    rows = _Export(home).rows()
    with writing(path, _ADVICE):
        make_folder(str(path.parent))
        with drafted(path) as draft:
            make_file(str(draft))
            _write_tables(draft, path, rows)
    return {table: len(rows[table]) for table in TABLES}


def _write_tables(draft: Path, path: Path, rows: FileRows) -> None:
    """Write all tables into an empty file.

    Raises:
        StorageError: It cannot be written.
    """
    try:
        with closing(sqlite3.connect(draft)) as connection, connection:
            for table, columns in TABLES.items():
                declared = ", ".join(column.sql for column in columns)
                connection.execute(f"CREATE TABLE {table} ({declared})")
            for table, columns in TABLES.items():
                names = [column.name for column in columns]
                places = ", ".join(f":{name}" for name in names)
                statement = f"INSERT INTO {table} VALUES ({places})"
                connection.executemany(statement, rows[table])
            for statement in INDEXES:
                connection.execute(statement)
    except sqlite3.OperationalError as error:
        raise StorageError(f"cannot write {path}: {error}; {_ADVICE}") from error


class _Export:
    """The rows of a file, table by table."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.now = to_iso(home.clock.now())
        self.tables: FileRows = {table: [] for table in TABLES}
        # By the event that rows of a file became.
        self.rows_by_event: dict[str, FileRows] = {}
        # Rows that became no event.
        self.loose: FileRows = defaultdict(list)
        self.row_numbers: set[Any] = set()
        # The id in the file, by the id of a strategy.
        self.node_ids: dict[str, str] = {}
        self._read_kept()

    def _read_kept(self) -> None:
        """Read the rows that were imported into this project."""
        projects = self.home.projects
        for event in self.home.journal.tail(0, kinds=["sqlite_rows"]):
            body = event.body
            if projects is not None and body["project"] not in ("", *projects):
                continue
            if body["of"]:
                self.rows_by_event[body["of"]] = body["rows"]
                continue
            for table, rows in body["rows"].items():
                self.loose[table] += rows

    def rows(self) -> FileRows:
        """Return all rows."""
        strategies = strategies_of(self.home)
        first_events = self._first_events()
        for strategy in strategies:
            first_event = first_events.get(strategy.id, "")
            self._add_strategy(
                strategy, self.rows_by_event.get(first_event, {}), first_event
            )
        self._add_links(strategies)
        self._add_traces()
        self._add_journal()
        self._add_schema()
        return self.tables

    def _first_events(self) -> dict[str, str]:
        """Return the event that made each strategy."""
        first_events: dict[str, str] = {}
        for event in self.home.journal.tail(0, kinds=["strategy"]):
            first_events.setdefault(event.body["strategy_id"], event.id)
        return first_events

    def _add_strategy(
        self, strategy: Strategy, as_read: FileRows, first_event: str
    ) -> None:
        """Add a strategy, its steps, its own edges and its constraints."""
        kept_parents = as_read.get("parent_nodes", [])
        parent = _parent_row(strategy)
        if kept_parents:
            parent["node_id"] = kept_parents[0]["node_id"]
            parent["created_at"] = kept_parents[0]["created_at"]
        self.node_ids[strategy.id] = str(parent["node_id"])
        is_as_read = bool(kept_parents) and strategy.event == first_event
        if is_as_read:
            self._add_as_read(strategy, as_read)
            return
        children = _child_rows(strategy, str(parent["node_id"]))
        ids = [str(row["node_id"]) for row in children]
        parent["child_node_ids"] = encode(ids)
        self.tables["parent_nodes"].append(parent)
        self.tables["child_nodes"] += children
        n_steps = len(strategy.steps)
        edges = own_edge_rows(str(parent["node_id"]), ids[:n_steps])
        for row in edges:
            row["created_at"] = parent["created_at"]
        self.tables["edges"] += edges
        self._add_constraints(strategy, as_read)

    def _add_as_read(self, strategy: Strategy, as_read: FileRows) -> None:
        """Add a strategy that is as it was read; recalls and warnings may be new."""
        parent = dict(as_read["parent_nodes"][0])
        parent["access_count"] = int(parent["access_count"] or 0) + strategy.accesses
        n_new = self._add_constraints(strategy, as_read)
        if n_new:
            texts = [constraint.text for constraint in strategy.constraints]
            parent["negative_constraints"] = encode(texts)
        self.tables["parent_nodes"].append(parent)
        for table in ("child_nodes", "edges"):
            self.tables[table] += as_read.get(table, [])

    def _add_constraints(self, strategy: Strategy, as_read: FileRows) -> int:
        """Add what a strategy warns of; return how many warnings are new."""
        rows = as_read.get("negative_constraints", [])
        self.tables["negative_constraints"] += rows
        texts = {row["description"] for row in rows}
        if as_read.get("parent_nodes"):
            # In the file some stand only in the list of their node.
            texts.update(_texts_in(as_read["parent_nodes"][0]["negative_constraints"]))
        n_new = 0
        for constraint in strategy.constraints:
            if constraint.text in texts:
                continue
            n_new += 1
            self.tables["negative_constraints"].append(
                {
                    "constraint_id": constraint.id,
                    "parent_node_id": self.node_ids[strategy.id],
                    "description": constraint.text,
                    "failure_class": constraint.fault or None,
                    "source_trace_id": constraint.trajectory,
                    "created_at": to_iso(constraint.at),
                }
            )
        return n_new

    def _add_links(self, strategies: list[Strategy]) -> None:
        """Add the edges between strategies."""
        as_read: dict[str, list[FileRow]] = {}
        linked = self.home.journal.tail(0, kinds=["strategy_linked"])
        for event in linked:
            rows = self.rows_by_event.get(event.id, {}).get("edges", [])
            if rows:
                as_read[_link_key(event.body)] = rows
        for edge in all_edges(self.home, strategies):
            if edge.type not in (Edge.CAUSAL, Edge.CONTEXT_JUMP):
                continue
            ends = {edge.source, edge.target}
            if ends <= self.node_ids.keys():
                self.tables["edges"] += as_read.get(edge.edge_id) or [self._link(edge)]

    def _link(self, edge: EdgeRow) -> FileRow:
        return {
            "edge_id": edge.edge_id,
            "source_node_id": self.node_ids[edge.source],
            "target_node_id": self.node_ids[edge.target],
            "edge_type": edge.type,
            "weight": edge.weight,
            "created_at": self.now,
        }

    def _add_traces(self) -> None:
        """Add the trajectories, what was done, and the sessions."""
        traces = trajectories_of(self.home)
        sessions: dict[str, list[Trajectory]] = defaultdict(list)
        for trace in traces:
            as_read = self.rows_by_event.get(trace.goal_event, {})
            entries = as_read.get("trace_entries") or [_trace_row(trace)]
            self.tables["trace_entries"] += entries
            session_id = entries[0]["session_id"]
            sessions[str(session_id)].append(trace)
            actions = as_read.get("action_entries", [])
            for row in actions or _action_rows(trace):
                self.tables["action_entries"].append(self._numbered(row))
        self._add_sessions(sessions)

    def _numbered(self, row: FileRow) -> FileRow:
        """Return a row of an action; its number is new where it is taken."""
        if row["rowid"] in self.row_numbers:
            return {**row, "rowid": None}
        if row["rowid"] is not None:
            self.row_numbers.add(row["rowid"])
        return row

    def _add_sessions(self, sessions: dict[str, list[Trajectory]]) -> None:
        for row in self.loose["trace_sessions"]:
            traces = sessions.pop(str(row["session_id"]), [])
            if traces:
                row = {**row, "processed": _processed(traces)}
            self.tables["trace_sessions"].append(row)
        for session_id, traces in sessions.items():
            if session_id == str(None):
                continue  # entries without a session
            self.tables["trace_sessions"].append(_session_row(session_id, traces))

    def _add_journal(self) -> None:
        """Add the dreams."""
        for event in self.home.journal.tail(0, kinds=["dream"]):
            as_read = self.rows_by_event.get(event.id, {}).get("dream_journal", [])
            if as_read:
                self.tables["dream_journal"] += as_read
            elif event.body["dreamer"] != IMPORTED_DREAMER:
                self.tables["dream_journal"].append(_journal_row(event.body))

    def _add_schema(self) -> None:
        rows: dict[Cell, FileRow] = {}
        for row in self.loose["schema_version"]:
            rows[row["version"]] = row
        for number, description in enumerate(SCHEMA_MIGRATIONS, start=1):
            row = {"version": number, "description": description}
            rows.setdefault(number, {**row, "applied_at": self.now})
        self.tables["schema_version"] += rows.values()


def _texts_in(cell: Any) -> list[str]:
    """Return the texts of a list in a cell, which was checked when it was read."""
    texts: list[str] = json.loads(cell)
    return texts


def _link_key(body: Body) -> str:
    """Return the id that an edge has here."""
    return f"{body['from_id']}>{body['to_id']}>{body['type']}"


def _parent_row(strategy: Strategy) -> FileRow:
    """Return the row of a strategy, yet without the ids of its steps."""
    texts = [constraint.text for constraint in strategy.constraints]
    row: FileRow = {
        "trigger_goals": encode(list(strategy.goals)),
        "negative_constraints": encode(texts),
        "child_node_ids": "[]",
        "created_at": to_iso(strategy.created_at),
        "updated_at": to_iso(strategy.updated_at),
    }
    for column, member in PARENT_COLUMNS.items():
        row[column] = getattr(strategy, member)
    return row


# Columns of a node that hold a member of its strategy as it is.
PARENT_COLUMNS = {
    "node_id": "id",
    "hierarchy_level": "level",
    "content": "content",
    "summary": "summary",
    "confidence": "confidence",
    "access_count": "accesses",
    "goal": "goal",
    "outcome": "outcome",
    "success_count": "success",
    "failure_count": "failure",
    "version": "version",
    "isa_version": "isa_version",
    "domain": "domain",
}


def _child_rows(strategy: Strategy, parent_id: str) -> list[FileRow]:
    """Return the steps of a strategy, then what was done instead of them."""
    rows = []
    for number, step in enumerate(strategy.steps):
        row = _child_row(strategy, step)
        rows.append({**row, "node_id": f"{parent_id}.{number}", "step_index": number})
    for number, branch in enumerate(strategy.branches):
        row = _child_row(strategy, branch.step)
        row["node_id"] = f"{parent_id}.b{number}"
        row["step_index"] = branch.after
        row["is_critical_path"] = 0
        rows.append(row)
    for row in rows:
        row["parent_node_id"] = parent_id
    return rows


def _child_row(strategy: Strategy, step: StrategyStep) -> FileRow:
    """Return the row of a step, yet without its id and its place."""
    return {
        "hierarchy_level": int(Level.REACTIVE),
        "content": "",
        "summary": step.why,
        "confidence": STEP_CONFIDENCE[step.ok],
        "access_count": step.seen,
        "reasoning": step.reasoning,
        "action": step.action,
        "result": step.result,
        "is_critical_path": 1,
        "created_at": to_iso(strategy.created_at),
        "updated_at": to_iso(strategy.updated_at),
    }


def own_edge_rows(parent_id: str, child_ids: list[str]) -> list[FileRow]:
    """Return the edges between a node and its children, without their time.

    Args:
        parent_id: The node.
        child_ids: The children, in the order of their steps.
    """
    pairs: list[tuple[str, str, Edge]] = []
    for child_id in child_ids:
        pairs.append((child_id, parent_id, Edge.IS_CHILD_OF))
    for child_id, next_id in pairwise(child_ids):
        pairs.append((child_id, next_id, Edge.NEXT_STEP))
        pairs.append((next_id, child_id, Edge.PREVIOUS_STEP))
    return [
        {
            "edge_id": f"{source}>{target}>{kind}",
            "source_node_id": source,
            "target_node_id": target,
            "edge_type": kind.value,
            "weight": 1.0,
        }
        for source, target, kind in pairs
    ]


def _trace_row(trace: Trajectory) -> FileRow:
    """Return the row of a trajectory.

    One without a session is a session of its own.
    """
    row: FileRow = {
        "session_id": trace.session or trace.id,
        "parent_trace_id": trace.parent or None,
        "tags": encode(list(trace.tags)),
        "failure_class": trace.fault or None,
        "created_at": to_iso(trace.at),
    }
    for column, member in _TRACE_COLUMNS.items():
        row[column] = getattr(trace, member)
    return row


# Columns of a trace that hold a member of its trajectory as it is.
_TRACE_COLUMNS = {
    "trace_id": "id",
    "hierarchy_level": "level",
    "goal": "goal",
    "outcome": "outcome",
    "confidence": "confidence",
    "source": "origin",
    "isa_version": "isa_version",
}


def _session_row(session_id: str, traces: Sequence[Trajectory]) -> FileRow:
    """Return the row of a session.

    Args:
        session_id: Its id in the file.
        traces: Its trajectories, the first one first.
    """
    ended_at = traces[-1].ended_at
    return {
        "session_id": session_id,
        "started_at": to_iso(traces[0].at),
        "ended_at": to_iso(ended_at) if ended_at else None,
        "root_goal": traces[0].goal,
        "processed": _processed(traces),
    }


def _processed(traces: Sequence[Trajectory]) -> int:
    """Return 1 where all of a session was dreamt, else 0."""
    return int(all(trace.dreamt for trace in traces))


def _action_rows(trace: Trajectory) -> Iterator[FileRow]:
    """Yield the rows of what was done, which get their numbers in the file."""
    for action in trace.actions:
        yield {
            "rowid": None,
            "trace_id": trace.id,
            "timestamp": to_iso(action.at),
            "reasoning": action.reasoning,
            "action_payload": action.action,
            "result": action.result,
        }


def _journal_row(body: Body) -> FileRow:
    """Return the row of a dream by the body of its event."""
    row: FileRow = {}
    for column in TABLES["dream_journal"]:
        value: Any = body.get(column.name, column.default)
        if column.kind == "list":
            value = encode(_as_list(value))
        if column.kind == "time":
            value = to_iso(value)
        row[column.name] = value
    row["journal_id"] = body["dream_id"]
    return row


def _as_list(values: Iterable[Any] | str) -> list[Any]:
    return [] if isinstance(values, str) else list(values)
