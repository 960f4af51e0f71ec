"""Read Evolving Memory's SQLite file.

A file is somebody's: its rows are checked one by one, and what is damaged is named and
passed over with what hangs on it. What is sound comes in at once, in one transaction.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import check_agent, derived_event_id, session_of
from theorex_lab.designs.dreams import DEFAULT_DOMAIN, Edge
from theorex_lab.designs.dreams.consolidate import MOST_GOALS, MOST_STEPS
from theorex_lab.designs.dreams.sqlite_export import (
    IMPORTED_DREAMER,
    PARENT_COLUMNS,
    STEP_CONFIDENCE,
)
from theorex_lab.designs.dreams.sqlite_rows import table_rows
from theorex_lab.designs.dreams.sqlite_tables import (
    TABLES,
    Cell,
    FileRow,
    file_time,
    read_row,
)
from theorex_lab.designs.dreams.strategies import (
    Strategy,
    StrategyBranch,
    StrategyStep,
    new_strategy_id,
)
from theorex_lab.designs.dreams.strategy_view import Strategies
from theorex_lab.designs.dreams.trajectories import Trajectories
from theorex_lab.files.formats.flat_files import append_new, each_noted
from theorex_lab.files.formats.reports import FileReport, ImportOptions
from theorex_lab.journal.event import Body, Event, encode, new_event
from theorex_lab.memory.contract import Home
from theorex_lab.text.redact.redaction_scope import kept_value

# An id that a path of the server can hold; a dot stands before the number of a step.
_PLAIN_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")
_OK = {confidence: ok for ok, confidence in STEP_CONFIDENCE.items()}
_MOST_PHASES = 1_000
# A file has one of these at least.
_NEEDED_TABLES = ("parent_nodes", "trace_entries")
_ANY_SEQ = 2**53
_SQLITE_HEADER = b"SQLite format 3\0"
Placed = list[tuple[str, FileRow]]
Made = tuple[Event, int]


def is_sqlite_file(path: Path) -> bool:
    """Whether a path is a SQLite file by its first bytes; not where it is unreadable."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE_HEADER)) == _SQLITE_HEADER
    except OSError:
        return False


def import_sqlite(
    home: Home, path: Path, *, agent: str = "main", trusted: bool = False
) -> FileReport:
    """Take in a file of any version; what is here already stays as it is.

    Trajectories that were dreamt there are not dreamt here.

    Args:
        home: Where it is taken in.
        path: The file.
        agent: Whose the records are.
        trusted: Whether the file is one's own; otherwise its words are of the source
            `import`.

    Returns:
        How many records are new, how many were here, and what is damaged.

    Raises:
        InvalidInput: The agent is outside the rule, or the file is no SQLite file.
        StorageError: The file cannot be read, or the disk is full.
    """
    _ = home.designs  # the designs bring the kinds of events
    options = ImportOptions(
        home.settings, home.clock.now(), check_agent(agent), trusted=trusted
    )
    problems: list[str] = []
    unread: dict[str, str] = {}
    tables = {}
    for table in TABLES:
        tables[table] = list(_rows_of(path, table, problems, unread))
    missing = [unread[table] for table in _NEEDED_TABLES if table in unread]
    if len(missing) == len(_NEEDED_TABLES):
        raise InvalidInput(missing[0])
    problems += missing
    reading = _Reading(home, options, tables, problems)
    report = FileReport(path.name)
    report.imported, n_known = append_new(home.journal, reading.events())
    report.skipped = n_known + reading.n_known
    report.keep_problems(problems)
    return report


def _rows_of(
    path: Path, table: str, problems: list[str], unread: dict[str, str]
) -> Iterator[tuple[str, FileRow]]:
    """Yield the sound rows of a table with their places.

    Args:
        path: The file.
        table: The table.
        problems: Is added to: what is wrong with other rows.
        unread: Is added to: why the table cannot be read.
    """
    columns = TABLES[table]
    needed = [column.name for column in columns if column.is_needed]
    if table == "action_entries":
        needed.remove("rowid")  # every table has it, named or not
    wanted = [column.name for column in columns]
    rows = enumerate(table_rows(path, table, needed=needed, wanted=wanted), start=1)
    numbered = ((f"{table}:{number}", (table, cells)) for number, cells in rows)
    try:
        for where, row in each_noted(problems, numbered, _sound_row):
            yield str(where), row
    except InvalidInput as error:
        unread[table] = f"{table}: {error}"


def _sound_row(tabled: tuple[str, Any]) -> FileRow:
    table, cells = tabled
    if table == "action_entries":
        cells = {"rowid": b"0", **cells}
    row = read_row(table, cells)
    masked: FileRow = {}
    for column in TABLES[table]:
        value = row[column.name]
        masked[column.name] = value if column.kind == "id" else kept_value(value)
    return masked


class _EventOfRows(NamedTuple):
    """An event with the rows of the file that it stands for."""

    event: Event
    rows: dict[str, list[FileRow]]
    lineage: Sequence[str] = ()


class _Reading:
    """Make events of the rows of a file.

    Attributes:
        n_known: How many things of the file are here already.
    """

    def __init__(
        self,
        home: Home,
        options: ImportOptions,
        tables: dict[str, Placed],
        problems: list[str],
    ) -> None:
        self.home = home
        self.options = options
        self.tables = tables
        self.problems = problems
        self.n_known = 0
        source = "agent" if options.trusted else "import"
        self.about = {"source": source, "project": home.project}
        self.sessions = {row["session_id"]: row for _, row in tables["trace_sessions"]}
        self.origins = {
            row["goal"]: row["source"] for _, row in tables["trace_entries"]
        }
        self.node_ids = {
            str(row["node_id"]): _strategy_id(str(row["node_id"]))
            for _, row in tables["parent_nodes"]
        }
        self.passed: list[list[Any]] = []
        self.strategy_events: dict[str, str] = {}
        self.new_ids: set[str] = set()
        self.owned: dict[tuple[str, str], list[FileRow]] = defaultdict(list)
        self._group()

    def _group(self) -> None:
        """Group the rows that hang on others by what they hang on."""
        owners = {
            "action_entries": "trace_id",
            "child_nodes": "parent_node_id",
            "negative_constraints": "parent_node_id",
        }
        family: dict[str, str] = {}
        for node_id in self.node_ids:
            family[node_id] = node_id
        for table, owner in owners.items():
            for _, row in self.tables[table]:
                self.owned[table, str(row[owner])].append(row)
                if table == "child_nodes":
                    family[str(row["node_id"])] = str(row[owner])
        self.links: Placed = []
        for where, row in self.tables["edges"]:
            source = family.get(str(row["source_node_id"]))
            target = family.get(str(row["target_node_id"]))
            if source is not None and source == target:
                self.owned["edges", source].append(row)
            else:
                self.links.append((where, row))

    def events(self) -> Iterator[Made]:
        """Yield the events of what the home lacks, in an order in which they can stand."""
        yield from self._traces()
        yield from self._parents()
        yield from self._links()
        yield from self._journal()
        yield from self._passed()
        yield from self._loose()

    def _traces(self) -> Iterator[Made]:
        ids: set[Cell] = set(self.home.views.get(Trajectories).ids)
        rows = []
        for where, row in self.tables["trace_entries"]:
            if row["trace_id"] in ids:
                self.n_known += 1
            else:
                ids.add(row["trace_id"])
                rows.append((where, row))
        yield from self._noted(rows, self._trace)

    def _parents(self) -> Iterator[Made]:
        ids = set(self.home.views.get(Strategies).ids)
        rows = []
        for where, row in self.tables["parent_nodes"]:
            strategy_id = self.node_ids[str(row["node_id"])]
            if strategy_id in ids:
                self.n_known += 1
            else:
                ids.add(strategy_id)
                self.new_ids.add(strategy_id)
                rows.append((where, row))
        yield from self._noted(rows, self._parent)

    def _noted(self, rows: Placed, make: Any) -> Iterator[Made]:
        """Yield the events of rows; what is refused is noted and passed over."""
        for _, things in each_noted(self.problems, rows, make):
            for event in things:
                yield event, 1

    def _links(self) -> Iterator[Made]:
        rows = []
        for where, row in self.links:
            if self._was_here(row):
                self.n_known += 1
            elif row["edge_type"] in (Edge.CAUSAL, Edge.CONTEXT_JUMP):
                rows.append((where, row))
            else:
                self.problems.append(f"{where}: its nodes are not both in the file")
        yield from self._noted(rows, self._link)

    def _was_here(self, row: FileRow) -> bool:
        """Return whether an edge joins strategies that were here before the file."""
        ends = [
            self.node_ids.get(str(row[column]), "")
            for column in ("source_node_id", "target_node_id")
        ]
        return all(end and end not in self.new_ids for end in ends)

    def _journal(self) -> Iterator[Made]:
        """Yield the dreams that the home does not know."""
        dream_ids = set()
        for event in self.home.journal.tail(0, kinds=["dream"]):
            dream_ids.add(event.body["dream_id"])
        rows = []
        for where, row in self.tables["dream_journal"]:
            if row["journal_id"] in dream_ids:
                self.n_known += 1
            else:
                rows.append((where, row))
        yield from self._noted(rows, self._dream)

    def _passed(self) -> Iterator[Made]:
        """Yield a dream that notes which trajectories were dreamt before."""
        if not self.passed:
            return
        key = derived_event_id(*[trajectory_id for trajectory_id, *_ in self.passed])
        body = _dream_body({}, self.options.now, self.options.now)
        body |= {"dream_id": key, "dreamer": IMPORTED_DREAMER, "passed": self.passed}
        yield self._event("dream", self.options.now, body, key), 0

    def _loose(self) -> Iterator[Made]:
        """Yield the rows of sessions and of the schema, which become no event."""
        for table in ("trace_sessions", "schema_version"):
            for _, row in self.tables[table]:
                key = row[TABLES[table][0].name]
                yield self._rows_event("", {table: [row]}, (), table, key), 0

    def _event(
        self, kind: str, at: int, body: Body, *key: object, session: str = ""
    ) -> Event:
        """Return an event that is the same for the same row.

        Raises:
            InvalidInput: Its body is too large.
        """
        event = new_event(
            kind,
            {**body, **self.about},
            agent=self.options.agent,
            at=min(at, self.options.latest),
            session=session,
            event_id=derived_event_id("evolving memory", kind, *key),
        )
        self._check_size(event)
        return event

    def _check_size(self, event: Event) -> None:
        """Raise an error for a body that is larger than some texts may be.

        Raises:
            InvalidInput: It is too large.
        """
        most = 64 * self.options.settings.max_text_bytes
        size = len(encode(event.body).encode())
        if size > most:
            raise InvalidInput(
                f"got a record of {size} bytes; allowed are {most}, 64 times the setting"
                " maxTextBytes"
            )

    def _rows_event(
        self,
        of: str,
        rows: dict[str, list[FileRow]],
        lineage: Sequence[str],
        *key: object,
    ) -> Event:
        body = {"of": of, "rows": rows}
        event = self._event("sqlite_rows", self.options.now, body, *key)
        return event._replace(lineage=tuple(lineage))

    def _trace(self, row: FileRow) -> list[Event]:
        """Return the events of a trajectory."""
        trace_id = str(row["trace_id"])
        session_row = self.sessions.get(row["session_id"], {})
        session = session_of(row["session_id"])
        if session_row.get("processed"):
            self.passed.append([trace_id, _ANY_SEQ, "dreamt before it was imported"])
        at = _time_of(row, "created_at")
        started = {
            "goal": row["goal"],
            "level": row["hierarchy_level"],
            "tags": json.loads(str(row["tags"])),
            "isa_version": row["isa_version"],
            "domain": DEFAULT_DOMAIN,
            "from": row["source"],
            "parent_id": row["parent_trace_id"] or "",
            "root_goal": session_row.get("root_goal") or "",
        }
        parts: list[tuple[str, int, Body]] = [("trajectory_started", at, started)]
        actions = self.owned["action_entries", trace_id]
        for action in actions:
            at = _time_of(action, "timestamp")
            parts.append(("acted", at, _acted(action)))
        ended = {
            "outcome": row["outcome"],
            "confidence": row["confidence"],
            "fault": row["failure_class"] or "",
            "error": "",
        }
        last_at = max(at for _, at, _ in parts)
        parts.append(("trajectory_ended", last_at, ended))
        events = []
        for number, (kind, at, body) in enumerate(parts):
            body["trajectory_id"] = trace_id
            events.append(
                self._event(kind, at, body, trace_id, number, session=session)
            )
        lineage = [event.id for event in events]
        rows = {"trace_entries": [row], "action_entries": actions}
        as_read = self._rows_event(events[0].id, rows, lineage, "trace", trace_id)
        return [*events, as_read]

    def _parent(self, row: FileRow) -> list[Event]:
        """Return the events of a strategy with its steps and what it warns of."""
        node_id = str(row["node_id"])
        strategy_id = self.node_ids[node_id]
        children = self.owned["child_nodes", node_id]
        at = _time_of(row, "created_at")
        origin = str(self.origins.get(row["goal"], "unknown_source"))
        strategy = _strategy_of(row, children, origin, self.about["source"])
        body = {
            "strategy_id": strategy_id,
            "state": strategy.state(),
            "trajectory": "",
            "upto": 0,
        }
        made = self._event("strategy", at, body, node_id)
        events = [made]
        for warning in self._warnings(row):
            constraint_id = str(warning["constraint_id"])
            if not self.options.trusted:
                constraint_id = f"co-{derived_event_id(node_id, constraint_id)[-12:]}"
            warned = {
                "constraint_id": constraint_id,
                "strategy_id": strategy_id,
                "text": warning["description"],
                "fault": warning["failure_class"] or "",
                "trajectory": warning["source_trace_id"],
            }
            event = self._event(
                "constraint",
                _time_of(warning, "created_at"),
                warned,
                node_id,
                warning["constraint_id"],
            )
            events.append(event)
        rows = {"parent_nodes": [row], "child_nodes": children}
        for table in ("edges", "negative_constraints"):
            rows[table] = self.owned[table, node_id]
        lineage = [event.id for event in events]
        self.strategy_events[strategy_id] = made.id
        as_read = self._rows_event(made.id, rows, lineage, "parent", node_id)
        return [*events, as_read]

    def _warnings(self, row: FileRow) -> list[FileRow]:
        """Return the warnings of a node; some stand only in its list."""
        warnings = list(self.owned["negative_constraints", str(row["node_id"])])
        texts = {warning["description"] for warning in warnings}
        for text in json.loads(str(row["negative_constraints"])):
            if not text.strip() or text in texts:
                continue
            texts.add(text)
            warnings.append(
                {
                    "constraint_id": f"co-{derived_event_id(row['node_id'], text)[-12:]}",
                    "description": text,
                    "failure_class": None,
                    "source_trace_id": "",
                    "created_at": row["updated_at"],
                }
            )
        return warnings

    def _link(self, row: FileRow) -> list[Event]:
        """Return the events of an edge between two strategies of the file.

        Raises:
            InvalidInput: One of them is not in the file, or came from elsewhere.
        """
        ends = []
        for column in ("source_node_id", "target_node_id"):
            strategy_id = self.node_ids.get(str(row[column]), "")
            if strategy_id not in self.strategy_events:
                raise InvalidInput(
                    f"{column} is {row[column]!r:.80}; allowed is a node of the file"
                    " that came in with it"
                )
            ends.append(strategy_id)
        from_id, to_id = ends
        body = {
            "strategy_id": from_id,
            "from_id": from_id,
            "to_id": to_id,
            "type": row["edge_type"],
            "weight": row["weight"],
        }
        at = _time_of(row, "created_at")
        linked = self._event("strategy_linked", at, body, row["edge_id"])
        lineage = [linked.id, *(self.strategy_events[end] for end in ends)]
        linked = linked._replace(lineage=tuple(lineage[1:]))
        as_read = self._rows_event(
            linked.id, {"edges": [row]}, lineage, "edge", row["edge_id"]
        )
        return [linked, as_read]

    def _dream(self, row: FileRow) -> list[Event]:
        """Return the events of a dream that was dreamt elsewhere."""
        started_at = _time_of(row, "started_at")
        ended_at = _time_of(row, "ended_at") if row["ended_at"] else started_at
        body = _dream_body(row, started_at, ended_at)
        body["dream_id"] = row["journal_id"]
        dreamt = self._event("dream", ended_at, body, row["journal_id"])
        as_read = self._rows_event(
            dreamt.id, {"dream_journal": [row]}, [dreamt.id], "dream", row["journal_id"]
        )
        return [dreamt, as_read]


def _strategy_id(node_id: str) -> str:
    """Return the id of the strategy that a node becomes: its own where a path holds it."""
    if _PLAIN_ID.fullmatch(node_id):
        return node_id
    return new_strategy_id("file", node_id)


def _time_of(row: FileRow, column: str) -> int:
    return file_time(str(row[column]))


def _acted(action: FileRow) -> Body:
    return {
        "reasoning": action["reasoning"],
        "action": action["action_payload"],
        "result": action["result"],
        "ok": None,
    }


def _strategy_of(
    row: FileRow, children: Sequence[FileRow], origin: str, source: str
) -> Strategy:
    """Return the strategy that a node and its children are."""
    steps = []
    branches = []
    for child in sorted(children, key=_step_index):
        step = _step_of(child)
        if child["is_critical_path"]:
            steps.append(step)
        else:
            branches.append(StrategyBranch(_step_index(child), step))
    goal = str(row["goal"])
    goals = dict.fromkeys([goal, *json.loads(str(row["trigger_goals"]))])
    values: dict[str, Any] = {}
    for column, member in PARENT_COLUMNS.items():
        values[member] = row[column]
    values["accesses"] = 0
    return Strategy(
        steps=tuple(steps[:MOST_STEPS]),
        branches=tuple(branches[:MOST_STEPS]),
        goals=tuple(list(goals)[:MOST_GOALS]),
        origin=origin,
        source=source,
        **values,
    )


def _step_index(child: FileRow) -> int:
    return int(child["step_index"] or 0)


def _step_of(child: FileRow) -> StrategyStep:
    return StrategyStep(
        reasoning=str(child["reasoning"]),
        action=str(child["action"]),
        result=str(child["result"]),
        why=str(child["summary"]),
        seen=max(1, int(child["access_count"] or 0)),
        ok=_OK.get(float(child["confidence"] or 0)),
    )


def _dream_body(row: FileRow, started_at: int, ended_at: int) -> Body:
    """Return the body of a dream that counts what a row of the journal counts."""
    body: Body = {"started_at": started_at, "ended_at": ended_at}
    for column in TABLES["dream_journal"]:
        if column.kind == "count":
            body[column.name] = row.get(column.name, 0)
    phases = json.loads(str(row.get("phase_log", "[]")))
    body |= {
        "domain": "",
        "dreamer": "evolving-memory",
        "tokens": 0,
        "phase_log": phases[:_MOST_PHASES],
        "passed": [],
        "held": [],
    }
    return body
