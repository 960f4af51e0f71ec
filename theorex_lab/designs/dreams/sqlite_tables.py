"""Name the nine tables of Evolving Memory's SQLite file, column by column.

Each column says what its values are, and what it stands for here.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from theorex_lab.core.clock import to_microseconds
from theorex_lab.core.errors import InvalidInput
from theorex_lab.designs.dreams import FIDELITY, Edge, Ended, Fault, Level

Cell = str | int | float | None
FileRow = dict[str, Cell]
_ID_CHARACTERS = 200
_MOST_COUNT = 10**15


class FileColumn(NamedTuple):
    """Hold a column of a table.

    Attributes:
        name: Its name.
        declared: Its type and its constraints, as SQL has them.
        kind: What its values are, a key of `CELL_KINDS`.
        default: The value of a file that lacks the column, or has no value there.
    """

    name: str
    declared: str
    kind: str
    default: Cell = None

    @property
    def is_needed(self) -> bool:
        """Whether a table without it is not read."""
        if "PRIMARY KEY" in self.declared:
            return True
        return "NOT NULL" in self.declared and self.default is None

    @property
    def sql(self) -> str:
        """The column as a statement declares it."""
        if self.default is None:
            return f"{self.name} {self.declared}"
        shown = self.default
        if isinstance(shown, str):
            shown = f"'{shown}'"
        return f"{self.name} {self.declared} DEFAULT {shown}"


def _text(name: str, kind: str = "text", default: Cell = "") -> FileColumn:
    return FileColumn(name, "TEXT NOT NULL", kind, default)


def _whole(name: str, kind: str = "count", default: Cell = 0) -> FileColumn:
    return FileColumn(name, "INTEGER NOT NULL", kind, default)


def _share(name: str, default: Cell = 0.0) -> FileColumn:
    return FileColumn(name, "REAL NOT NULL", "share", default)


def _key(name: str) -> FileColumn:
    return FileColumn(name, "TEXT PRIMARY KEY", "id")


def _time(name: str) -> FileColumn:
    return FileColumn(name, "TEXT NOT NULL", "time")


_LEVEL = FileColumn("hierarchy_level", "INTEGER NOT NULL", "level")
_OF_NODE = "TEXT NOT NULL REFERENCES parent_nodes(node_id)"
_COUNTS = (
    "traces_processed",
    "nodes_created",
    "nodes_merged",
    "edges_created",
    "cross_edges_created",
    "nodes_compacted",
    "constraints_extracted",
    "traces_migrated",
    "nodes_migrated",
)
TABLES: dict[str, tuple[FileColumn, ...]] = {
    "parent_nodes": (
        _key("node_id"),
        _LEVEL,
        _text("content"),
        _text("summary"),
        _share("confidence"),
        _whole("access_count"),
        _text("goal", "words"),
        _text("outcome", "outcome", "unknown"),
        _text("trigger_goals", "list", "[]"),
        _text("negative_constraints", "list", "[]"),
        _text("child_node_ids", "list", "[]"),
        _whole("success_count"),
        _whole("failure_count"),
        _whole("version", default=1),
        _text("isa_version", "version", "1.0"),
        _text("domain", "domain", "default"),
        _time("created_at"),
        _time("updated_at"),
    ),
    "child_nodes": (
        _key("node_id"),
        FileColumn("parent_node_id", _OF_NODE, "id"),
        _LEVEL,
        _text("content"),
        _text("summary"),
        _share("confidence"),
        _whole("access_count"),
        _whole("step_index", "index"),
        _text("reasoning"),
        _text("action"),
        _text("result"),
        _whole("is_critical_path", default=1),
        _time("created_at"),
        _time("updated_at"),
    ),
    "edges": (
        _key("edge_id"),
        FileColumn("source_node_id", "TEXT NOT NULL", "id"),
        FileColumn("target_node_id", "TEXT NOT NULL", "id"),
        FileColumn("edge_type", "TEXT NOT NULL", "edge"),
        _share("weight", 1.0),
        _time("created_at"),
    ),
    "trace_sessions": (
        _key("session_id"),
        _time("started_at"),
        FileColumn("ended_at", "TEXT", "time"),
        _text("root_goal"),
        _whole("processed"),
    ),
    "trace_entries": (
        _key("trace_id"),
        FileColumn("session_id", "TEXT REFERENCES trace_sessions(session_id)", "id"),
        _LEVEL,
        FileColumn("parent_trace_id", "TEXT", "text"),
        _text("goal", "words"),
        _text("outcome", "outcome", "unknown"),
        _share("confidence"),
        _text("source", "origin", "unknown_source"),
        _text("tags", "list", "[]"),
        _text("isa_version", "version", "1.0"),
        FileColumn("failure_class", "TEXT", "fault"),
        _time("created_at"),
    ),
    "action_entries": (
        FileColumn("rowid", "INTEGER PRIMARY KEY AUTOINCREMENT", "count"),
        FileColumn(
            "trace_id", "TEXT NOT NULL REFERENCES trace_entries(trace_id)", "id"
        ),
        _time("timestamp"),
        _text("reasoning"),
        _text("action_payload"),
        _text("result"),
    ),
    "dream_journal": (
        _key("journal_id"),
        _time("started_at"),
        FileColumn("ended_at", "TEXT", "time"),
        *map(_whole, _COUNTS),
        _text("phase_log", "list", "[]"),
    ),
    "negative_constraints": (
        _key("constraint_id"),
        FileColumn("parent_node_id", _OF_NODE, "id"),
        FileColumn("description", "TEXT NOT NULL", "words"),
        FileColumn("failure_class", "TEXT", "fault"),
        _text("source_trace_id"),
        _time("created_at"),
    ),
    "schema_version": (
        FileColumn("version", "INTEGER PRIMARY KEY", "count"),
        _text("description"),
        _time("applied_at"),
    ),
}
INDEXES = (
    "CREATE INDEX idx_parent_domain ON parent_nodes(domain)",
    "CREATE INDEX idx_child_parent ON child_nodes(parent_node_id)",
    "CREATE INDEX idx_edge_source ON edges(source_node_id)",
    "CREATE INDEX idx_edge_target ON edges(target_node_id)",
    "CREATE INDEX idx_trace_session ON trace_entries(session_id)",
    "CREATE INDEX idx_action_trace ON action_entries(trace_id)",
)
# What the migrations of the file's schema did, the first one first.
SCHEMA_MIGRATIONS = (
    "Create the table schema_version",
    "isa_version of parent_nodes and trace_entries;"
    " traces_migrated and nodes_migrated of dream_journal",
    "domain of parent_nodes",
    "source and failure_class of trace_entries; failure_class of negative_constraints",
)


def _checked_id(text: str) -> str:
    if not text.strip() or len(text) > _ID_CHARACTERS:
        raise ValueError
    return text


def _checked_words(text: str) -> str:
    if not text.strip():
        raise ValueError
    return text


def _checked_count(text: str) -> int:
    number = int(text)
    if not 0 <= number <= _MOST_COUNT:
        raise ValueError
    return number


def _checked_index(text: str) -> int:
    number = int(text)
    if not -1 <= number <= _MOST_COUNT:
        raise ValueError
    return number


def _checked_level(text: str) -> int:
    return int(Level(int(text)))


def _checked_share(text: str) -> float:
    number = float(text)
    # NaN fits into no range.
    if not 0 <= number <= 1 or math.isnan(number):
        raise ValueError
    return number


def _checked_list(text: str) -> str:
    values = json.loads(text)
    if not isinstance(values, list):
        raise ValueError
    if not all(isinstance(value, str) for value in values):
        raise ValueError
    return text


def _checked_time(text: str) -> str:
    file_time(text)
    return text


def _checked_version(text: str) -> str:
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9}){0,3}", text):
        raise ValueError
    return text


def _checked_domain(text: str) -> str:
    if not 0 < len(text) <= 64 or not text.isprintable():
        raise ValueError
    return text


def _member_of(words: Mapping[str, object] | list[str]) -> Callable[[str], str]:
    def check(text: str) -> str:
        if text not in words:
            raise ValueError
        return text

    return check


_EDGES = [edge.value for edge in Edge]
_OUTCOMES = [ended.value for ended in Ended]
_FAULTS = ["", *(fault.value for fault in Fault)]
# Kind of a cell -> what reads its text, and what an error says of it.
CELL_KINDS: dict[str, tuple[Callable[[str], Cell], str]] = {
    "id": (_checked_id, f"an id of 1 to {_ID_CHARACTERS} characters"),
    "text": (str, "text in UTF-8"),
    "words": (_checked_words, "a text with words"),
    "list": (_checked_list, "a JSON list of texts"),
    "count": (_checked_count, "a whole number from 0"),
    "index": (_checked_index, "a whole number from -1"),
    "share": (_checked_share, "a number from 0 to 1"),
    "level": (_checked_level, "1, 2, 3 or 4"),
    "time": (_checked_time, "an ISO 8601 time"),
    "version": (_checked_version, "numbers with dots, such as 1.0"),
    "domain": (_checked_domain, "a name of 1 to 64 characters"),
    "outcome": (_member_of(_OUTCOMES), ", ".join(_OUTCOMES)),
    "edge": (_member_of(_EDGES), ", ".join(_EDGES)),
    "origin": (_member_of(FIDELITY), ", ".join(FIDELITY)),
    "fault": (_member_of(_FAULTS), ", ".join(filter(None, _FAULTS))),
}


def file_time(text: str) -> int:
    """Return a time of the file, in µs UTC; one without an offset is UTC.

    Raises:
        InvalidInput: It is no time.

    >>> file_time("1970-01-01T00:00:01")
    1000000
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidInput(f"got the time {text!r:.60}; allowed is ISO 8601") from error
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return to_microseconds(moment)


def read_row(table: str, cells: Mapping[str, bytes | None]) -> FileRow:
    """Return a row of a table, its values checked.

    Args:
        table: The table.
        cells: The bytes of the columns that the file has.

    Raises:
        InvalidInput: A value is not allowed; it names the column.
    """
    row: FileRow = {}
    for column in TABLES[table]:
        row[column.name] = _read_cell(column, cells.get(column.name))
    return row


def _read_cell(column: FileColumn, data: bytes | None) -> Cell:
    """Return the value of a cell.

    Raises:
        InvalidInput: It is not allowed.
    """
    read, allowed = CELL_KINDS[column.kind]
    if data is None and not column.is_needed:
        return column.default
    try:
        if data is None:
            raise ValueError
        return read(data.decode())
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"{column.name} is {data!r:.80}; allowed is {allowed}"
        ) from error
