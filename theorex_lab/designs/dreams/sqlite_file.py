"""What dreams give to files and take from them: Evolving Memory's SQLite file, and trajectories as data to train a model on.

Of the nine tables, tables.txt says which column holds what. In a chat to train on, the reasoning asks and the action answers.
"""

import json
import random
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import closing
from itertools import groupby
from pathlib import Path
from typing import Any

from theorex_lab.clock import to_iso, to_microseconds
from theorex_lab.designs.dreams import DEFAULT_DOMAIN, FIDELITY, Ended, Level
from theorex_lab.designs.dreams import strategies as made
from theorex_lab.designs.dreams.capture import member_of
from theorex_lab.designs.dreams.engine import COUNTED
from theorex_lab.designs.dreams.trajectories import Act, Trajectories, Trajectory, trajectories_of
from theorex_lab.errors import InvalidInput, StorageError
from theorex_lab.exchange.files import FileReport, Importing
from theorex_lab.exchange.flat_files import append_new, draft_of, each_noted, merged, write_lines
from theorex_lab.home import Home
from theorex_lab.ids import check_agent, derived_event_id, session_of
from theorex_lab.journal.event import Body, Event, encode, new_event
from theorex_lab.journal.files import make_file
from theorex_lab.journal.foreign import read_rows
from theorex_lab.text.doors import kept_value
from theorex_lab.text.masking import mask
from theorex_lab.text.sections import read_sections

Row = dict[str, Any]
Rows = dict[str, list[tuple[int | str, Row]]]  # by table, with their places
_FILE = read_sections(__file__, "tables.txt")
# What a column's text must look like, by its kind, and how that is told.
_KINDS = {kind: (re.compile(form), told) for kind, form, told in (line.split("\t") for line in _FILE["kinds"].splitlines())}  # fmt: skip
_COLUMN = re.compile(_FILE["column"])
TABLES = {name: {found[1]: found for found in _COLUMN.finditer(_FILE[name])} for name in _FILE["tables"].split()}
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
                connection.executescript(_FILE["indexes"])
        except sqlite3.OperationalError as error:
            raise StorageError(f"cannot write {path}: {error}; what was there is untouched: make room") from error
    return {table: len(rows[table]) for table in TABLES}


def _cell(column: re.Match[str], row: Row) -> Any:
    value: Any = row.get(column["member"], column["default"])
    if column["kind"] == "list":
        return encode(list(value))
    return to_iso(value) if column["member"].endswith("at") and isinstance(value, int) else value


def _rows(home: Home, strategies: list[made.Strategy], found: list[Trajectory]) -> dict[str, list[Row]]:
    now, sessions = home.clock.now(), defaultdict[str, list[Trajectory]](list)
    for trace in found:
        sessions[trace.session or trace.id].append(trace)
    nodes, edges = {one.id: _children(one) for one in strategies}, made.all_edges(home, strategies)
    return {
        "parent_nodes": [{**vars(one), "children": [row["id"] for row in nodes[one.id]], "warnings": [told.text for told in one.constraints]} for one in strategies],
        "child_nodes": [row for rows in nodes.values() for row in rows],
        "edges": [{**edge._asdict(), "id": edge.edge_id, "at": now} for edge in edges if {node.partition(".")[0] for node in edge[1:3]} <= nodes.keys()],
        "trace_sessions": [{**vars(of[0]), "id": name, "ended_at": of[-1].ended_at, "dreamt": all(one.dreamt for one in of)} for name, of in sessions.items()],
        "trace_entries": [{**vars(one), "session": one.session or one.id} for one in found],
        "action_entries": [{**done._asdict(), "of": one.id} for one in found for done in one.actions],
        "dream_journal": [{**event.body, "id": event.body["dream_id"]} for event in home.journal.tail(0, kinds=["dream"])],
        "negative_constraints": [{**told._asdict(), "of": one.id} for one in strategies for told in one.constraints],
        "schema_version": [{"number": number, "told": told, "at": now} for number, told in enumerate(_FILE["migrations"].splitlines(), start=1)]}  # fmt: skip


def _children(one: made.Strategy) -> list[Row]:
    """Its steps, then what was done instead of them, which is not on the critical path."""
    placed = [(str(place), place, step, 1) for place, step in enumerate(one.steps)]
    placed += [(f"b{number}", of.after, of.step, 0) for number, of in enumerate(one.branches)]
    about = {"of": one.id, "level": Level.REACTIVE, "at": one.created_at, "updated_at": one.updated_at}
    told = [{**step._asdict(), "sure": _SURE[step.ok], "place": place, "critical": on} for _, place, step, on in placed]
    return [{**row, **about, "id": f"{one.id}.{name}"} for row, (name, *_) in zip(told, placed, strict=True)]


def import_sqlite(home: Home, path: Path, *, agent: str = "main", trust_own: bool = False) -> FileReport:
    """Take in Evolving Memory's file, of any version, in one transaction; what is there already stays as it is.

    A row that is damaged is named by its table and number and passed over, with what hangs on it. `agent` has the records,
    their source is `import` unless `trust_own`. Trajectories that were dreamt there are not dreamt here. How often a strategy
    was given, its links to others and the notes of dreams are not taken over. Raises InvalidInput for an agent outside the
    rule, StorageError on a full disk.
    """
    report = FileReport(path.name)
    rows = {table: [*_read(path, table, report.problems)] for table in _FILE["read"].split()}
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


def _checked(row: dict[str, bytes | None], columns: Mapping[str, re.Match[str]]) -> Row:
    checked = {}
    for name, found in columns.items():
        given, (form, told) = row.get(name), _KINDS[found["kind"]]
        try:
            text = (found["default"] or "") if given is None else given.decode()
            if not form.fullmatch(text):
                raise InvalidInput("another form")
            value = _READ.get(found["kind"], str)(text)
            checked[found["member"]] = value if found["kind"] == "id" else kept_value(value)
        except ValueError as error:
            raise InvalidInput(f"{name} is {given!r:.80}; allowed is {told}") from error
    return checked


_READ: Row = {"count": int, "place": int, "level": int, "share": float, "list": json.loads, "time": to_microseconds}


class _Reading:
    """What the rows of a file become. there: how many of them the home has already."""

    def __init__(self, home: Home, how: Importing, rows: Rows) -> None:
        self.home, self.how, self.rows, self.there = home, how, rows, 0
        self.about = {"source": "agent" if how.trust_own else "import", "project": home.project}
        self.sessions = {row["id"]: row for _, row in rows["trace_sessions"]}
        self.origins = {row["goal"]: row["origin"] for _, row in rows["trace_entries"]}
        self.ids = {row["id"]: _own_id(row["id"]) for _, row in rows["parent_nodes"]}
        self.owned, self.passed = defaultdict[tuple[str, str], list[Row]](list), list[list[Any]]()
        for table in ("action_entries", "child_nodes", "negative_constraints"):
            for _, row in rows[table]:
                self.owned[table, row["of"]].append(row)

    def events(self, problems: list[str]) -> Iterator[tuple[Event, int]]:
        """The events in an order in which they can be read, of what the home does not have."""
        traces, strategies = self.home.views.get(Trajectories).ids, self.home.views.get(made.Strategies).ids
        for table, known, make in (("trace_entries", traces, self.trace), ("parent_nodes", strategies, self.parent)):
            there = {*known}
            new = [(place, row) for place, row in self.rows[table] if self.ids.get(row["id"], row["id"]) not in there]
            self.there += len(self.rows[table]) - len(new)
            yield from ((event, 1) for _, events in each_noted(problems, new, make) for event in events)
        if self.passed:
            named, times = derived_event_id(self.passed), dict.fromkeys(("started_at", "ended_at"), self.how.now)
            about = {"dream_id": named, "domain": "", "dreamer": "import", "phase_log": [], "held": []}
            body = {**dict.fromkeys(COUNTED, 0), **times, **about, "passed": self.passed}
            yield self.event("dream", self.how.now, body, named), 1

    def event(self, kind: str, at: int, body: Body, *key: object, session: str = "") -> Event:
        event_id, at = derived_event_id("evolving memory", kind, *key), min(at, self.how.latest)
        event = new_event(kind, {**body, **self.about}, agent=self.how.agent, at=at, session=session, event_id=event_id)
        self.how.check_size(event)
        return event

    def trace(self, row: Row) -> list[Event]:
        lived, named, session = self.sessions.get(row["session"], {}), row["id"], session_of(row["session"] or None)
        if lived.get("dreamt"):
            self.passed.append([named, 2**53, "dreamt before it was imported"])
        begun = {**_of(row, "goal level tags isa_version"), "domain": DEFAULT_DOMAIN, "from": row["origin"]}
        begun |= {"parent_id": row["parent"], "root_goal": lived.get("goal", "")}
        told = [("trajectory_started", row["at"], begun)]
        done = self.owned["action_entries", named]
        told += [("acted", act["at"], {**_of(act, "reasoning action result"), "ok": None}) for act in done]
        last = max(at for _, at, _ in told)
        told.append(("trajectory_ended", last, {**_of(row, "outcome confidence fault"), "error": ""}))
        bodies = enumerate((kind, at, {**body, "trajectory_id": named}) for kind, at, body in told)
        return [self.event(*one, named, number, session=session) for number, one in bodies]

    def parent(self, row: Row) -> list[Event]:
        named, at, children = self.ids[row["id"]], row["created_at"], self.owned["child_nodes", row["id"]]
        state = made.Strategy(**_of(row, " ".join(row.keys() & made.Strategy.__dataclass_fields__.keys()))).state()
        steps = sorted((child for child in children if child["critical"]), key=lambda child: int(child["place"]))
        branches = [{"after": child["place"], "step": _step(child)} for child in children if not child["critical"]]
        lived = {"source": self.about["source"], "origin": self.origins.get(row["goal"], "unknown_source")}
        state |= {"steps": [_step(child) for child in steps], "branches": branches, **lived}
        body = {"strategy_id": named, "state": state, "trajectory": "", "upto": 0}
        found = [self.event("strategy", at, body, row["id"])]
        warned = {text: {"id": text, "text": text, "fault": "", "trajectory": "", "at": at} for text in row["warnings"]}
        warned |= {told["text"]: told for told in self.owned["negative_constraints", row["id"]]}
        for told in warned.values():
            own = told["id"] if self.how.trust_own else derived_event_id("constraint", told["id"])
            body = {**_of(told, "text fault trajectory"), "strategy_id": named, "constraint_id": own}
            found.append(self.event("constraint", told["at"], body, row["id"], told["id"]))
        return found


def _of(row: Row, names: str) -> Row:
    return {name: row[name] for name in names.split()}


def _own_id(node_id: str) -> str:
    return node_id if re.fullmatch(r"st-[0-9a-f]{12}", node_id) else made.new_strategy_id("file", node_id)


def _step(child: Row) -> Row:
    told = _of(child, "reasoning action result why")
    return {**told, "seen": max(1, child["seen"]), "event": "", "ok": _TOLD.get(child["sure"])}


SYSTEM = "You work towards a goal with tools, one call at a time. Goal: {goal}"
_EVERY, _HELD_BACK = 3, 0.1
Chat = dict[str, Any]
Chosen = tuple[Trajectory, list[Act]]


def training_data(home: Home, *, min_actions: int = 1, agent: str | None = None, **of: str | None) -> Iterator[Chat]:
    """Yield a chat for each action that has reasoning: the goal as the system's word, the reasoning as the user's, the action.

    min_actions: fewer are left out.  agent: whose they are, None for all's.  of: `outcome` of the trajectories, one of
    `Ended`; `source`, where they were lived, a key of `FIDELITY`. Secrets are masked. Raises InvalidInput for others.
    """
    for trajectory, actions in _chosen(home, **of):
        if len(trajectory.actions) >= min_actions and agent in (None, trajectory.agent):
            yield from (_chat(trajectory, action) for action in actions)


def export_training(home: Home, folder: Path, *, min_actions: int = 3, seed: int = 42,
                    **of: str | None) -> dict[str, Any]:  # fmt: skip
    """Write train.jsonl, validation.jsonl and stats.json below a folder; returns the stats. Each file is replaced whole.

    Taken are calls of tools, of trajectories (by default those that succeeded) that have `min_actions` of them: of the same call in a row every third, of one
    tool at most 60 % where there are others, drawn by `seed`. A tenth of the chats is held back. Raises as `training_data`,
    StorageError where nothing can be written.
    """
    chats, used = list[tuple[str, Chat]](), 0
    for trajectory, actions in _chosen(home, **{"outcome": "success", **of}):
        calls = [action for action in actions if action.tool]
        if len(calls) >= min_actions:
            kept = [one for _, run in groupby(calls, lambda call: call.action) for one in [*run][::_EVERY]]
            chats += [(action.tool, _chat(trajectory, action)) for action in kept]
            used += 1
    random.Random(seed).shuffle(chats)
    (tool, count), *others = Counter(tool for tool, _ in chats).most_common() or [("", 0)]
    most = sum(number for _, number in others) * 3 // 2 if others else count  # three fifths of the whole
    chats = [pair for pair in chats if pair[0] != tool] + [pair for pair in chats if pair[0] == tool][:most]
    random.Random(seed).shuffle(chats)
    held = round(_HELD_BACK * len(chats))
    parts = {"validation": chats[:held], "train": chats[held:]}
    for name, pairs in parts.items():
        write_lines(folder / f"{name}.jsonl", [encode(chat) for _, chat in pairs])
    stats: dict[str, Any] = {"trajectories": used, "chats": len(chats), **{name: len(parts[name]) for name in parts}}
    stats |= {"seed": seed, "tools": dict(Counter(tool for tool, _ in chats).most_common())}
    write_lines(folder / "stats.json", [encode(stats)])
    return stats


def _chosen(home: Home, outcome: str | None = None, source: str | None = None) -> Iterator[Chosen]:
    """Trajectories that came out so and were lived there, with their actions that say why and what."""
    wanted = member_of(Ended, "outcome", outcome) if outcome else None
    if (source or "agent") not in FIDELITY:
        raise InvalidInput(f"got the source {source!r}; allowed are {', '.join(FIDELITY)}")
    for found in trajectories_of(home):
        if wanted in (None, found.outcome) and (source or found.origin) == found.origin:
            yield found, [action for action in found.actions if action.reasoning.strip() and action.action.strip()]


def _chat(trajectory: Trajectory, action: Act) -> Chat:
    texts = {"system": SYSTEM.format(goal=trajectory.goal), "user": action.reasoning, "assistant": action.action}
    return {"messages": [{"role": role, "content": mask(text)} for role, text in texts.items()]}
