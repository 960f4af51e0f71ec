"""The SQLite file of Evolving Memory, nine tables, written and read; tables.txt says which column holds what."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from theorex_lab.clock import to_iso, to_microseconds
from theorex_lab.designs.dreams import DEFAULT_DOMAIN, FIDELITY, Edge, Ended, Fault, Level, capture
from theorex_lab.designs.dreams import strategies as made
from theorex_lab.designs.dreams.trajectories import Trajectories, Trajectory, trajectories_of
from theorex_lab.errors import InvalidInput, StorageError
from theorex_lab.exchange.files import FileReport, Importing
from theorex_lab.exchange.flat_files import append_new, draft_of, each_noted, merged
from theorex_lab.home import Home
from theorex_lab.ids import check_agent, derived_event_id, session_of
from theorex_lab.journal.event import Body, Event, encode, new_event
from theorex_lab.journal.foreign import read_rows
from theorex_lab.journal.private import make_file
from theorex_lab.text.doors import kept_text
from theorex_lab.text.sections import read_sections

Row = dict[str, Any]
Placed = list[tuple[int | str, Row]]
_FILE = read_sections(__file__, "tables.txt")
_INDEXES, _MIGRATIONS, _KINDS = (_FILE.pop(name).splitlines() for name in ("indexes", "migrations", "kinds"))
_ALLOWED = dict(line.split(": ") for line in _KINDS)
_COLUMN = re.compile(
    r"(\w+) [A-Z]+(?P<rule>.*?)(?:DEFAULT '?(?P<default>[^',]*)'?)?,? -- (?P<kind>\w+) (?P<member>\w+)"
)
TABLES = {name: {found[1]: found for found in map(_COLUMN.match, lines.splitlines()) if found} for name, lines in _FILE.items()}  # fmt: skip
_WHOLE = 2**53
_SURE = {True: 1.0, None: 0.5, False: 0.1}  # a step's confidence there, by whether it did its work
_TOLD = {value: ok for ok, value in _SURE.items()}


def export_sqlite(home: Home, path: Path) -> dict[str, int]:
    """Write the trajectories, the strategies that hold and the dreams into Evolving Memory's file; how many rows by table.

    The file is replaced whole. Where a strategy was lived, whether an action did its work and who said what have no column
    there. Raises StorageError where it cannot be written.
    """
    rows = _rows(home, made.strategies_of(home), trajectories_of(home))
    with draft_of(path) as draft:
        make_file(str(draft))
        try:
            with closing(sqlite3.connect(draft)) as connection, connection:
                for table, columns in TABLES.items():
                    connection.execute(f"CREATE TABLE {table} (\n{_FILE[table]}\n)")
                    cells = [[_cell(found, row) for found in columns.values()] for row in rows[table]]
                    connection.executemany(f"INSERT INTO {table} VALUES (?{', ?' * (len(columns) - 1)})", cells)
                for statement in _INDEXES:
                    connection.execute(statement)
        except sqlite3.OperationalError as error:
            raise StorageError(f"cannot write {path}: {error}; what was there is untouched: make room") from error
    return {table: len(rows[table]) for table in TABLES}


def _cell(column: re.Match[str], row: Row) -> Any:
    value = row.get(column["member"], column["default"])
    if column["kind"] == "list":
        return encode([*value])
    return to_iso(value) if column["member"].endswith("at") and isinstance(value, int) else value


def _rows(home: Home, strategies: list[made.Strategy], found: list[Trajectory]) -> dict[str, list[Row]]:
    now, known, sessions = home.clock.now(), {one.id for one in strategies}, defaultdict[str, list[Trajectory]](list)
    for trace in found:
        sessions[trace.session or trace.id].append(trace)
    edges = [
        edge for edge in made.all_edges(home, strategies) if {node.partition(".")[0] for node in edge[1:3]} <= known
    ]
    begun = {
        name: {"at": of[0].at, "root_goal": of[0].goal, "ended_at": of[-1].ended_at} for name, of in sessions.items()
    }
    nodes = {one.id: _children(one) for one in strategies}
    warned = {one.id: [told.text for told in one.constraints] for one in strategies}
    return {
        "parent_nodes": [{**vars(one), "warnings": warned[one.id], "children": [row["id"] for row in nodes[one.id]]} for one in strategies],
        "child_nodes": [row for rows in nodes.values() for row in rows],
        "edges": [{**edge._asdict(), "at": now} for edge in edges],
        "trace_sessions": [{"id": name, **begun[name], "dreamt": all(one.dreamt for one in of)} for name, of in sessions.items()],
        "trace_entries": [{**vars(one), "session": one.session or one.id} for one in found],
        "action_entries": [{**done._asdict(), "of": one.id} for one in found for done in one.actions],
        "dream_journal": [event.body for event in home.journal.tail(0, kinds=["dream"], projects=home.projects)],
        "negative_constraints": [{**told._asdict(), "of": one.id} for one in strategies for told in one.constraints],
        "schema_version": [{"number": number, "told": told, "at": now} for number, told in enumerate(_MIGRATIONS, start=1)],
    }  # fmt: skip


def _children(one: made.Strategy) -> list[Row]:
    placed = [(f"{one.id}.{place}", place, step, 1) for place, step in enumerate(one.steps)]
    placed += [(f"{one.id}.b{number}", of.after, of.step, 0) for number, of in enumerate(one.branches)]
    about = {"of": one.id, "level": Level.REACTIVE, "at": one.created_at, "updated_at": one.updated_at}
    return [
        {**step._asdict(), **about, "id": node_id, "place": place, "critical": critical, "sure": _SURE[step.ok]}
        for node_id, place, step, critical in placed
    ]


def import_sqlite(home: Home, path: Path, *, agent: str = "main", trust_own: bool = False) -> FileReport:
    """Take in Evolving Memory's file, of any version, in one transaction; what is there already stays as it is.

    A row that is damaged is named by its table and number and passed over, with what hangs on it. `agent` has the records,
    their source is `import` unless `trust_own`. Trajectories that were dreamt there are not dreamt here. How often a strategy
    was given is not taken over. Raises InvalidInput for a file that is no such, StorageError on a full disk.
    """
    report = FileReport(path.name)
    rows = {table: [*_read(path, table, report.problems)] for table in TABLES}
    if not any(rows.values()):
        raise InvalidInput(f"got {path}, in which nothing can be read: {'; '.join(merged(report.problems))}")
    reading = _Reading(home, Importing(home.settings, home.clock.now(), check_agent(agent), trust_own), rows)
    report.imported, known = append_new(home.journal, reading.events(report.problems))
    report.skipped, report.problems = known + reading.there, merged(told.lstrip(": ") for told in report.problems)
    return report


def _read(path: Path, table: str, problems: list[str]) -> Iterator[tuple[int | str, Row]]:
    """The rows of a table that hold what they must, by member, with their places."""
    columns = TABLES[table]
    needed = tuple(name for name, found in columns.items() if "NOT NULL" in found["rule"] and found["default"] is None)
    try:
        rows = enumerate(read_rows(path, table, needed, tuple(columns)), start=1)
        yield from each_noted(problems, ((f"{table}:{number}", row) for number, row in rows), _checked, columns)
    except InvalidInput as error:
        problems.append(f"{table}: {error}")


def _checked(row: dict[str, bytes | None], columns: dict[str, re.Match[str]]) -> Row:
    checked = {}
    for name, found in columns.items():
        given, kind = row.get(name), found["kind"]
        try:
            checked[found["member"]] = _READ[kind](found["default"] or "" if given is None else given.decode())
        except (ValueError, RecursionError) as error:
            raise InvalidInput(f"{name} is {given!r:.80}; allowed is {_ALLOWED[kind]}") from error
    return checked


def _only(is_allowed: bool, value: Any) -> Any:
    if not is_allowed:
        raise ValueError
    return value


_READ: dict[str, Callable[[str], Any]] = {
    "text": kept_text, "words": lambda text: _only(bool(text.strip()), kept_text(text)),
    "list": lambda text: [_only(isinstance(one, str), one) and kept_text(one) for one in _only(text.startswith("["), json.loads(text))],
    "count": lambda text: _only(-1 <= int(text) <= _WHOLE, int(text)), "share": lambda text: capture.share("", float(text)),
    "level": lambda text: int(Level(int(text))), "time": to_microseconds, "outcome": Ended, "edge": Edge,
    "origin": lambda text: text if text in FIDELITY else "unknown_source", "fault": lambda text: text if text in [*Fault] else "",
}  # fmt: skip


class _Reading:
    """What the rows of a file become. there: how many of them the home has already."""

    def __init__(self, home: Home, how: Importing, rows: dict[str, Placed]) -> None:
        self.home, self.how, self.rows, self.there = home, how, rows, 0
        self.about = {"source": "agent" if how.trust_own else "import", "project": home.project}
        self.sessions = {row["id"]: row for _, row in rows["trace_sessions"]}
        self.origins = {row["goal"]: row["origin"] for _, row in rows["trace_entries"]}
        self.ids = {row["id"]: _own_id(row["id"]) for _, row in rows["parent_nodes"]}
        self.owned, self.passed = defaultdict[tuple[str, str], list[Row]](list), list[list[Any]]()
        for table in ("action_entries", "child_nodes", "negative_constraints"):
            for _, row in rows[table]:
                self.owned[table, row["of"]].append(row)
        if not rows["dream_journal"] and any(row["dreamt"] for row in self.sessions.values()):
            counts = {found["member"]: 0 for found in TABLES["dream_journal"].values() if found["kind"] == "count"}
            told = {
                "dream_id": derived_event_id(*self.sessions),
                "started_at": how.now,
                "ended_at": "",
                "phase_log": [],
            }
            rows["dream_journal"] = [("", {**counts, **told})]

    def events(self, problems: list[str]) -> Iterator[tuple[Event, int]]:
        """The events in an order in which they can be read."""
        self.traces, self.known = self.home.views.get(Trajectories).ids, self.home.views.get(made.Strategies)
        self.cycles = {event.body["dream_id"] for event in self.home.journal.tail(0, kinds=["dream"])}
        makers = {
            "trace_entries": self.trace,
            "parent_nodes": self.parent,
            "edges": self.edge,
            "dream_journal": self.cycle,
        }
        for table, make in makers.items():
            before = len(problems)
            found = [*each_noted(problems, self.rows[table], make)]
            self.there += len(self.rows[table]) - len(found) - (len(problems) - before)
            yield from ((event, 1) for _, events in found for event in events)

    def event(self, kind: str, at: int, body: Body, *key: object, session: str = "") -> Event:
        event_id, at = derived_event_id("evolving memory", kind, *key), min(at, self.how.latest)
        event = new_event(kind, {**body, **self.about}, agent=self.how.agent, at=at, session=session, event_id=event_id)
        self.how.check_size(event)
        return event

    def trace(self, row: Row) -> list[Event] | None:
        if self.traces.find(row["id"]) is not None:
            return None
        lived, named, session = (
            self.sessions.get(row["session"], {}),
            {"trajectory_id": row["id"]},
            session_of(row["session"] or None),
        )
        if lived.get("dreamt"):
            self.passed.append([row["id"], _WHOLE, "dreamt before it was imported"])
        begun = {name: row[name] for name in ("goal", "level", "tags", "isa_version")} | {
            "domain": DEFAULT_DOMAIN,
            "from": row["origin"],
        }
        told = [
            (
                "trajectory_started",
                row["at"],
                {**begun, "parent_id": row["parent"], "root_goal": lived.get("root_goal", "")},
            )
        ]
        done = self.owned["action_entries", row["id"]]
        told += [
            ("acted", act["at"], {"ok": None, **{name: act[name] for name in ("reasoning", "action", "result")}})
            for act in done
        ]
        ended = {name: row[name] for name in ("outcome", "confidence", "fault")} | {"error": ""}
        told.append(("trajectory_ended", max(at for _, at, _ in told), ended))
        return [
            self.event(kind, at, {**body, **named}, row["id"], place, session=session)
            for place, (kind, at, body) in enumerate(told)
        ]

    def parent(self, row: Row) -> list[Event] | None:
        named, at = {"strategy_id": self.ids[row["id"]]}, row["created_at"]
        if self.known.ids.find(named["strategy_id"]) is not None:
            return None
        children = sorted(self.owned["child_nodes", row["id"]], key=lambda child: int(child["place"]))
        state = made.Strategy(
            **{name: row[name] for name in row.keys() & made.Strategy.__dataclass_fields__.keys()}
        ).state()
        state |= {"source": self.about["source"], "origin": self.origins.get(row["goal"], "unknown_source")}
        state["steps"] = [_step(child) for child in children if child["critical"]]
        state["branches"] = [
            {"after": child["place"], "step": _step(child)} for child in children if not child["critical"]
        ]
        warned = self.owned["negative_constraints", row["id"]]
        known = {told["text"] for told in warned}
        plain = [
            {"id": text, "text": text, "fault": "", "trajectory": "", "at": at}
            for text in row["warnings"]
            if text not in known
        ]
        found = [self.event("strategy", at, {**named, "state": state, "trajectory": "", "upto": 0}, row["id"])]
        for told in warned + plain:
            own = told["id"] if self.how.trust_own else derived_event_id("constraint", told["id"])
            body = {name: told[name] for name in ("text", "fault", "trajectory")} | {"constraint_id": own, **named}
            found.append(self.event("constraint", told["at"], body, row["id"], told["id"]))
        return found

    def edge(self, row: Row) -> list[Event] | None:
        if row["type"] not in (Edge.CAUSAL, Edge.CONTEXT_JUMP):
            return []  # the others follow from the steps
        source, target = (self.ids.get(row[name]) for name in ("source", "target"))
        if source is None or target is None:
            raise InvalidInput(
                f"it links {row['source']!r:.80} to {row['target']!r:.80}; allowed are nodes of the file"
            )
        if self.known.link_ids.find(f"{source}>{target}>{row['type']}") is not None:
            return None
        body = {"from_id": source, "to_id": target, "type": row["type"], "weight": row["weight"]}
        return [self.event("strategy_linked", row["at"], body, row["edge_id"])]

    def cycle(self, row: Row) -> list[Event] | None:
        if row["dream_id"] in self.cycles:
            return None
        told = {"started_at": to_iso(row["started_at"]), "held": [], "domain": "", "dreamer": "import", "tokens": 0}
        told["passed"], self.passed = self.passed, []
        return [self.event("dream", row["started_at"], {**row, **told}, row["dream_id"])]


def _own_id(node_id: str) -> str:
    return node_id if re.fullmatch(r"st-[0-9a-f]{12}", node_id) else made.new_strategy_id("file", node_id)


def _step(child: Row) -> Row:
    told = {name: child[name] for name in ("reasoning", "action", "result", "why")}
    return {**told, "seen": max(1, child["seen"]), "event": "", "ok": _TOLD.get(child["sure"])}
