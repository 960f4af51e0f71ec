"""Trajectories: what was wanted, what was done for it step by step, and how it came
out, whoever captured it.

Captured by hand, as a session of hook events, as a call of a dispatch, by an import or
in a recorded run, it is the same.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.sections import read_sections
from theorex_lab.designs.dreams import (
    DEFAULT_DOMAIN,
    ISA_VERSION,
    Ended,
    Level,
    patterns,
)
from theorex_lab.journal.columns import Names, Strings, Table
from theorex_lab.journal.event import Event, tool_key
from theorex_lab.journal.view import View
from theorex_lab.memory.contract import Home
from theorex_lab.text.line import one_line
from theorex_lab.text.paths import shown_path

GOAL_CHARACTERS = 400
_HOUR = 3_600_000_000  # µs
_OUTCOMES = list(Ended)
_NEAREST_AMONG = 2_000
Projects = Sequence[str] | None
TEXTS = read_sections(__file__, "prompts.txt")
_BLANK = re.compile(
    r'\{(?:"\w+": *""(?:, *)?)+\}'
)  # what a tool was given was not recorded


class CapturedAction(NamedTuple):
    """One action. event: the id of what captured it.  at: µs UTC.  action: what was
    done, as it was recorded.

    ok: None where that is not known.  tool: its name, '' where none is known.  changed:
    whether it did more than look.
    """

    event: str
    at: int
    reasoning: str
    action: str
    result: str
    ok: bool | None
    tool: str
    changed: bool


@dataclass(frozen=True)
class Trajectory:
    """A trajectory. Times in µs UTC, ended_at None while it goes on.

    origin: where it was lived, a key of `FIDELITY`.  parent: the id of the one that it
    is part of, or ''.  source: who set the goal, a key of `TRUST`.  goal_event: the id
    of the event that says the goal.  upto: seq of its last event. dreamt: whether a
    dream has taken it in, or passed it over.
    """

    id: str
    goal: str
    level: Level
    outcome: Ended
    confidence: float
    origin: str
    domain: str
    project: str
    agent: str
    session: str
    parent: str
    at: int
    ended_at: int | None
    goal_event: str
    source: str
    upto: int
    dreamt: bool
    tags: tuple[str, ...] = ()
    error: str = ""
    fault: str = ""
    isa_version: str = ISA_VERSION
    actions: tuple[CapturedAction, ...] = field(default=(), repr=False)


class CuratedTrajectory(NamedTuple):
    """What a dreamer made of a trajectory. critical: indices of its actions, rising.
    constraints: text, fault class, source.

    whys: by index of an action, what it is for.  source: whose words the summary is
    told in, a key of `TRUST`.  groups, prunes: ids of strategies to be one, and to be
    put to sleep.  program: the answer of a model, of so many `tokens`.
    """

    critical: tuple[int, ...]
    constraints: tuple[tuple[str, str, str], ...]
    summary: str
    confidence: float
    whys: dict[int, str]
    source: str
    groups: tuple[tuple[str, str], ...] = ()
    prunes: tuple[str, ...] = ()
    program: str = ""
    tokens: int = 0


class Trajectories(View):
    """A row a trajectory, in the order in which they began.

    rows: goal, end and last (seqs of events; 0 for none), at, last_at and ended_at (µs;
    0 while it goes on), agent, session and domain (numbers of names), project, outcome
    (place in `Ended`), confidence, dreamt.  actions: row and seq of each event; said:
    whether it is only a message.
    """

    name = "trajectories"
    code = 2
    kinds = tuple(
        (
            "trajectory_started acted trajectory_ended prompt tool_used turn_ended"
            " turn_message session_ended outcome trace_started trace_ended strategy"
            " strategy_merged dream"
        ).split()
    )

    def __init__(self) -> None:
        super().__init__()
        self.ids = Names()
        self.agents = Names()
        self.keys = Names()
        self.domains = Names()
        self.projects = Names()
        self.parents = Strings()
        self.rows = Table(
            goal="i8",
            end="i8",
            last="i8",
            at="i8",
            last_at="i8",
            ended_at="i8",
            agent="i4",
            key="i4",
            domain="i4",
            project="i4",
            outcome="i1",
            confidence="f4",
            dreamt="?",
        )
        self.actions = Table(row="i4", seq="i8", said="?")
        self._open: dict[str, int] = {}  # by key, the row that further events are of

    def _after_load(self) -> None:
        self._open = {
            self.keys[key]: row for row, key in enumerate(self.rows["key"].tolist())
        }

    def _begin(self, key: str, event: Event, *, trajectory_id: str = "") -> int:
        body = event.body
        taken = trajectory_id or key
        number = 2
        while self.ids.find(taken) is not None:
            taken, number = f"{key}#{number}", number + 1
        self.ids.number(taken)
        self.parents.append(body.get("parent_id", ""))
        self._open[key] = self.rows.add(
            goal=event.seq,
            last=event.seq,
            at=event.at,
            last_at=event.at,
            agent=self.agents.number(event.agent),
            key=self.keys.number(key),
            domain=self.domains.number(body.get("domain", DEFAULT_DOMAIN)),
            project=self.projects.number(body.get("project", "")),
            outcome=_OUTCOMES.index(Ended.UNKNOWN),
            confidence=1.0,
        )
        return self._open[key]

    def _touch(self, row: int, event: Event) -> int:
        self.rows.put(row, last=event.seq, last_at=event.at)
        return row

    def _row(self, key: str) -> int | None:
        """The row that goes on under a key: none once it was dreamt."""
        row = self._open.get(key)
        return None if row is None or self.rows["dreamt"][row] else row

    def _row_of(self, event: Event, *, begins: bool = False) -> int | None:
        """The row of what an agent's session, or whoever works for it, did."""
        own = f"{event.agent}/{event.session}"
        shared = f"session/{event.session}"
        for key in (own, shared) if event.session else ():
            if (row := self._row(key)) is not None:
                self.rows.put(row, ended_at=0 if begins else self.rows["ended_at"][row])
                return self._touch(row, event)
        return self._begin(own, event) if event.session and begins else None

    def _trajectory_started(self, event: Event) -> None:
        named = event.body["trajectory_id"]
        if self.ids.find(named) is None:
            self._begin(f"hand/{named}", event, trajectory_id=named)

    def _acted(self, event: Event) -> None:
        if (row := self._row(f"hand/{event.body['trajectory_id']}")) is not None:
            self.actions.add(row=self._touch(row, event), seq=event.seq)

    def _trajectory_ended(self, event: Event) -> None:
        if (row := self._row(f"hand/{event.body['trajectory_id']}")) is not None:
            self._end(
                self._touch(row, event),
                event,
                event.body["outcome"],
                event.body["confidence"],
            )

    def _end(
        self, row: int, event: Event, outcome: str = "", confidence: float = 1.0
    ) -> None:
        self.rows.put(row, ended_at=event.at, end=event.seq)
        if outcome:
            self.rows.put(
                row, outcome=_OUTCOMES.index(Ended(outcome)), confidence=confidence
            )

    def _prompt(self, event: Event) -> None:
        if not event.body.get("subagent"):
            self._row_of(event, begins=True)

    def _tool_used(self, event: Event) -> None:
        row = self._row_of(event)
        if row is None and (trace := event.body.get("trace_id")):
            row = self._row(f"trace/{trace}")
        if row is None and event.session:
            # What goes on without a new prompt goes on with the goal of what was
            # dreamt.
            row = self._again(event)
        if row is not None:
            self.actions.add(row=self._touch(row, event), seq=event.seq)

    def _again(self, event: Event) -> int | None:
        if (before := self._open.get(key := f"{event.agent}/{event.session}")) is None:
            return None
        row = self._begin(key, event)
        self.rows.put(row, goal=self.rows["goal"][before])
        return row

    def _turn_ended(self, event: Event) -> None:
        if event.body.get("message") and (row := self._row_of(event)) is not None:
            self.actions.add(row=row, seq=event.seq, said=True)

    _turn_message = _turn_ended

    def _session_ended(self, event: Event) -> None:
        if (row := self._row_of(event)) is not None and not self.rows["ended_at"][row]:
            self.rows.put(row, ended_at=event.at)

    def _outcome(self, event: Event) -> None:
        if (row := self._row_of(event)) is not None:
            self._end(row, event, "success" if event.body["success"] else "failure")

    def _trace_started(self, event: Event) -> None:
        if not event.session or self._row_of(event) is None:
            self._begin(_shared(event), event)

    def _trace_ended(self, event: Event) -> None:
        if (row := self._row(_shared(event))) is None:
            return
        known = not (event.body["lost"] or event.body.get("unavailable"))
        self._touch(row, event)
        if event.session:  # whoever dispatched it goes on
            self.rows.put(
                row,
                outcome=_OUTCOMES.index(
                    Ended.SUCCESS if event.body["success"] else Ended.FAILURE
                ),
            )
        else:
            self._end(
                row,
                event,
                (
                    ("success" if event.body["success"] else "failure")
                    if known
                    else "aborted"
                ),
            )

    def _strategy(self, event: Event) -> None:
        self._dreamt(event.body.get("trajectory", ""), event.body.get("upto", 0))

    _strategy_merged = _strategy

    def _dream(self, event: Event) -> None:
        for named, upto, _why in event.body["passed"]:
            self._dreamt(named, upto)

    def _dreamt(self, named: str, upto: int) -> None:
        row = self.ids.find(named) if named else None
        if row is None or self.rows["dreamt"][row]:
            return
        self.rows.put(row, dreamt=True)
        if not len(
            late := np.flatnonzero(
                (self.actions["row"] == row) & (self.actions["seq"] > upto)
            )
        ):
            return
        # It went on while it was dreamt: what came since is a trajectory of its own.
        key = self.keys[int(self.rows["key"][row])]
        last = {name: self.rows[name][row] for name in _CARRIED}
        self.ids.number(f"{named}#{self.rows['last'][row]}")
        self.parents.append(named)
        last |= {"at": last["last_at"], "key": self.rows["key"][row]}
        self.actions["row"][late] = self._open[key] = self.rows.add(**last)

    def chosen(
        self, waiting: bool | None, domain: str | None, projects: Projects, idle: int
    ) -> list[int]:
        """Rows, oldest first: of a domain, of these projects or of none; waiting: not
        dreamt, and over or idle since `idle`.
        """
        rows = self.rows
        mask = np.ones(len(rows), np.bool_)
        if waiting is not None:
            over = (rows["ended_at"] > 0) | (rows["last_at"] <= idle)
            mask = (~rows["dreamt"] & over) if waiting else rows["dreamt"] | ~over
        return rows_in(self, mask, domain, projects)


def rows_in(view: Any, mask: Any, domain: str | None, projects: Projects) -> list[int]:
    """Rows of a view that a mask chooses, of a domain, and of these projects or of
    none.
    """
    if domain is not None:
        mask &= view.rows["domain"] == view.domains.find(domain)
    if projects is not None:
        mask &= np.isin(view.rows["project"], view.projects.numbers("", *projects))
    found: list[int] = np.flatnonzero(mask).tolist()
    return found


_CARRIED = (
    "goal end last last_at ended_at agent domain project outcome confidence".split()
)


def _shared(event: Event) -> str:
    return (
        f"session/{event.session}"
        if event.session
        else f"trace/{event.body['trace_id']}"
    )


def trajectories_of(
    home: Home,
    *,
    waiting: bool | None = None,
    domain: str | None = None,
    limit: int | None = None,
) -> list[Trajectory]:
    """Trajectories of the home's project or of none, oldest first.

    waiting: those that are over, or without an event for flushIdleHours, and were not
    dreamt; with False the others.
    """
    idle = home.clock.now() - round(home.settings.flush_idle_hours * _HOUR)
    with home.views.reading(Trajectories) as view:
        rows = view.chosen(waiting, domain, home.projects, idle)[:limit]
        return _read(home, view, rows)


def trajectory_by_id(home: Home, trajectory_id: str) -> Trajectory:
    """The trajectory of this id. Raises InvalidInput where there is none, naming the
    nearest.
    """
    with home.views.reading(Trajectories) as view:
        if (row := view.ids.find(trajectory_id)) is not None and (
            found := _read(home, view, [row])
        ):
            return found[0]
        raise unknown_id("trajectory", trajectory_id, view.ids)


def unknown_id(what: str, given: object, known: Iterable[str]) -> InvalidInput:
    """That an id is none of those that are known, naming the nearest."""
    near = get_close_matches(str(given), [*known][-_NEAREST_AMONG:], 1, 0)
    told = (
        f"the nearest is {near[0]}"
        if near
        else "there are none yet: capture, and dream first"
    )
    return InvalidInput(
        f"got the {what} {given!r:.200}; allowed is the id of one: {told}"
    )


def _read(home: Home, view: Trajectories, rows: Sequence[int]) -> list[Trajectory]:
    """What the journal says of these rows; those whose goal was erased are left out."""
    of = view.actions["row"]
    kept = (
        np.flatnonzero(np.isin(of, rows))
        if len(rows) < len(view.rows)
        else np.arange(len(of))
    )
    by_row: dict[int, list[int]] = {row: [] for row in rows}
    for row, seq in zip(
        of[kept].tolist(), view.actions["seq"][kept].tolist(), strict=True
    ):
        by_row[row].append(seq)
    ends = {
        row: [int(view.rows[name][row]) for name in ("goal", "end")] for row in rows
    }
    wanted = {seq for row in rows for seq in (*ends[row], *by_row[row])} - {0}
    events = (
        {event.seq: event for event in home.journal.read(seqs=sorted(wanted))}
        if wanted
        else {}
    )
    found = []
    for row in rows:
        goal, end = (events.get(seq) for seq in ends[row])
        if goal is not None:
            done = [events[seq] for seq in by_row[row] if seq in events]
            found.append(_trajectory(view, row, goal, end, done))
    return found


def _trajectory(
    view: Trajectories, row: int, goal: Event, end: Event | None, done: Iterable[Event]
) -> Trajectory:
    table = view.rows
    body = goal.body
    closing: dict[str, Any] = end.body if end is not None else {}
    names = ("agent", "project", "domain")
    agent, project, domain = (
        getattr(view, f"{name}s")[int(table[name][row])] for name in names
    )
    wanted = (
        body.get("goal")
        or body.get("text")
        or body.get("task")
        or body.get("decision")
        or ""
    )
    return Trajectory(
        id=view.ids[row],
        goal=one_line(wanted, GOAL_CHARACTERS),
        level=Level(body.get("level", Level.TACTICAL)),
        outcome=_OUTCOMES[int(table["outcome"][row])],
        confidence=round(float(table["confidence"][row]), 6),
        origin=body.get("from", "agent"),
        domain=domain,
        project=project,
        agent=agent,
        session=goal.session,
        parent=view.parents[row],
        at=int(table["at"][row]),
        ended_at=int(table["ended_at"][row]) or None,
        goal_event=goal.id,
        source=body.get("source", "agent"),
        upto=int(table["last"][row]),
        dreamt=bool(table["dreamt"][row]),
        tags=tuple(body.get("tags", ())),
        fault=closing.get("fault", ""),
        error=one_line(str(closing.get("error") or ""), GOAL_CHARACTERS),
        isa_version=body.get("isa_version", ISA_VERSION),
        actions=tuple(_actions(list(done))),
    )


# What a tool call may leave out.
_NO_PATHS: dict[str, list[str]] = {"read": [], "edited": []}
_UNTOLD = {"input": "", "response": "", "command": "", "ok": None, "paths": _NO_PATHS}


def _actions(events: Sequence[Event]) -> Iterator[CapturedAction]:
    """Each act with what was said before it; where nothing but words was recorded,
    these are the acts.
    """
    only_words = not any(event.kind in ("acted", "tool_used") for event in events)
    said = ""
    for event in events:
        body = event.body
        if event.kind == "acted":
            named = patterns.NAMED.match(body["action"])
            tool = named[1] if named else ""
            changed = not (tool and _looks(tool)) and body["ok"] is not False
            texts = body["reasoning"], body["action"], body["result"]
            yield CapturedAction(event.id, event.at, *texts, body["ok"], tool, changed)
        elif event.kind == "tool_used":
            call = {**_UNTOLD, **body}
            call["paths"] = {**_NO_PATHS, **call["paths"]}
            done = call["command"] or _call_of(call)
            exited = bool(call["command"] and patterns.EXIT.match(call["response"]))
            failed = call["ok"] is False or exited
            came = (
                False if failed else call["ok"],
                call["tool"],
                not failed and _has_changed(call),
            )
            yield CapturedAction(
                event.id, event.at, said, done, call["response"], *came
            )
            said = ""
        elif only_words:
            yield CapturedAction(
                event.id, event.at, "", body["message"], "", None, event.agent, True
            )
        else:
            said = body["message"]


def _call_of(body: dict[str, Any]) -> str:
    """A tool call in short: with the files that it names, else with what it was given."""
    paths = body["paths"]["edited"] or body["paths"]["read"]
    files = ", ".join(filter(None, map(shown_path, paths)))
    return f"{body['tool']} {files}" if files else f"{body['tool']}({body['input']})"


def _has_changed(body: dict[str, Any]) -> bool:
    """Whether a tool call did more than look: it edited a file, ran a command, or has a
    name that says so.
    """
    if body["command"]:
        return patterns.LOOKING.match(body["command"].strip()) is None
    return bool(body["paths"]["edited"]) or not (
        _looks(body["tool"]) or _BLANK.fullmatch(body["input"])
    )


def _looks(tool: str) -> bool:
    return patterns.LOOKS.match(tool_key(tool)) is not None
