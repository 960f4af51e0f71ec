"""Hold trajectories: a goal, what was done for it step by step, and how it came out.

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
# The input of a tool that was not recorded.
_BLANK = re.compile(r'\{(?:"\w+": *""(?:, *)?)+\}')


class CapturedAction(NamedTuple):
    """One action.

    Attributes:
        event: The id of what captured it.
        at: In µs UTC.
        action: What was done, as it was recorded.
        ok: Whether it did its work; None where that is not known.
        tool: Its name, '' where none is known.
        changed: Whether it did more than look.
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

    Attributes:
        origin: Where it was lived, a key of `FIDELITY`.
        parent: The id of the one that it is part of, or ''.
        source: Who set the goal, a key of `TRUST`.
        goal_event: The id of the event that says the goal.
        upto: The seq of its last event.
        dreamt: Whether a dream has taken it in, or passed it over.
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
    """What a dreamer made of a trajectory.

    Attributes:
        critical: Indices of its actions, rising.
        constraints: Text, fault class, source of each.
        whys: What an action is for, by its index.
        source: Whose words the summary is told in, a key of `TRUST`.
        groups: Ids of strategies that are one.
        prunes: Ids of strategies to be put to sleep.
        program: The answer of a model, of so many `tokens`.
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
        """Begin a trajectory under a key; return its row."""
        body = event.body
        free_id = trajectory_id or key
        number = 2
        while self.ids.find(free_id) is not None:
            free_id = f"{key}#{number}"
            number += 1
        self.ids.number(free_id)
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
        """Return the row that goes on under a key: none once it was dreamt."""
        row = self._open.get(key)
        return None if row is None or self.rows["dreamt"][row] else row

    def _row_of(self, event: Event, *, begins: bool = False) -> int | None:
        """Return the row of what an agent's session, or whoever works for it, did."""
        if not event.session:
            return None
        agent_key = f"{event.agent}/{event.session}"
        row = self._row(agent_key)
        if row is None:
            row = self._row(f"session/{event.session}")
        if row is not None:
            if begins:
                self.rows.put(row, ended_at=0)
            return self._touch(row, event)
        return self._begin(agent_key, event) if begins else None

    def _trajectory_started(self, event: Event) -> None:
        trajectory_id = event.body["trajectory_id"]
        if self.ids.find(trajectory_id) is None:
            self._begin(f"hand/{trajectory_id}", event, trajectory_id=trajectory_id)

    def _acted(self, event: Event) -> None:
        row = self._row(f"hand/{event.body['trajectory_id']}")
        if row is not None:
            self.actions.add(row=self._touch(row, event), seq=event.seq)

    def _trajectory_ended(self, event: Event) -> None:
        body = event.body
        row = self._row(f"hand/{body['trajectory_id']}")
        if row is not None:
            self._touch(row, event)
            self._end(row, event, body["outcome"], body["confidence"])

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
        trace_id = event.body.get("trace_id")
        if row is None and trace_id:
            row = self._row(f"trace/{trace_id}")
        if row is None and event.session:
            # What goes on without a new prompt goes on with the goal of what was
            # dreamt.
            row = self._again(event)
        if row is not None:
            self.actions.add(row=self._touch(row, event), seq=event.seq)

    def _again(self, event: Event) -> int | None:
        """Begin a trajectory with the goal of the last one of the agent's session."""
        key = f"{event.agent}/{event.session}"
        before = self._open.get(key)
        if before is None:
            return None
        row = self._begin(key, event)
        self.rows.put(row, goal=self.rows["goal"][before])
        return row

    def _turn_ended(self, event: Event) -> None:
        if not event.body.get("message"):
            return
        row = self._row_of(event)
        if row is not None:
            self.actions.add(row=row, seq=event.seq, said=True)

    _turn_message = _turn_ended

    def _session_ended(self, event: Event) -> None:
        row = self._row_of(event)
        if row is not None and not self.rows["ended_at"][row]:
            self.rows.put(row, ended_at=event.at)

    def _outcome(self, event: Event) -> None:
        row = self._row_of(event)
        if row is not None:
            self._end(row, event, _outcome_of(event))

    def _trace_started(self, event: Event) -> None:
        if not event.session or self._row_of(event) is None:
            self._begin(_shared(event), event)

    def _trace_ended(self, event: Event) -> None:
        row = self._row(_shared(event))
        if row is None:
            return
        self._touch(row, event)
        if event.session:  # whoever dispatched it goes on
            outcome = Ended(_outcome_of(event))
            self.rows.put(row, outcome=_OUTCOMES.index(outcome))
        elif event.body["lost"] or event.body.get("unavailable"):
            self._end(row, event, "aborted")
        else:
            self._end(row, event, _outcome_of(event))

    def _strategy(self, event: Event) -> None:
        self._dreamt(event.body.get("trajectory", ""), event.body.get("upto", 0))

    _strategy_merged = _strategy

    def _dream(self, event: Event) -> None:
        for trajectory_id, upto, _why in event.body["passed"]:
            self._dreamt(trajectory_id, upto)

    def _dreamt(self, trajectory_id: str, upto: int) -> None:
        """Note that a trajectory was dreamt up to a seq.

        What came after it, while it was dreamt, becomes a trajectory of its own.
        """
        row = self.ids.find(trajectory_id) if trajectory_id else None
        if row is None or self.rows["dreamt"][row]:
            return
        self.rows.put(row, dreamt=True)
        is_late = (self.actions["row"] == row) & (self.actions["seq"] > upto)
        late_actions = np.flatnonzero(is_late)
        if not len(late_actions):
            return
        cells = {name: self.rows[name][row] for name in _CARRIED}
        cells["at"] = cells["last_at"]
        cells["key"] = self.rows["key"][row]
        self.ids.number(f"{trajectory_id}#{self.rows['last'][row]}")
        self.parents.append(trajectory_id)
        new_row = self.rows.add(**cells)
        self._open[self.keys[int(cells["key"])]] = new_row
        self.actions["row"][late_actions] = new_row

    def chosen(
        self, waiting: bool | None, domain: str | None, projects: Projects, idle: int
    ) -> list[int]:
        """Return rows, oldest first: of a domain, of these projects or of none.

        waiting: those not dreamt, and over or idle since `idle`; with False the others.
        """
        rows = self.rows
        mask = np.ones(len(rows), np.bool_)
        if waiting is not None:
            is_over = (rows["ended_at"] > 0) | (rows["last_at"] <= idle)
            mask = (~rows["dreamt"] & is_over) == waiting
        return rows_in(self, mask, domain, projects)


def rows_in(view: Any, mask: Any, domain: str | None, projects: Projects) -> list[int]:
    """Return rows of a view that a mask chooses.

    They are of a domain, and of these projects or of none.
    """
    if domain is not None:
        mask &= view.rows["domain"] == view.domains.find(domain)
    if projects is not None:
        mask &= np.isin(view.rows["project"], view.projects.numbers("", *projects))
    rows: list[int] = np.flatnonzero(mask).tolist()
    return rows


_CARRIED = (
    "goal end last last_at ended_at agent domain project outcome confidence".split()
)


def _shared(event: Event) -> str:
    """Return the key under which a dispatched call goes on."""
    if event.session:
        return f"session/{event.session}"
    return f"trace/{event.body['trace_id']}"


def _outcome_of(event: Event) -> str:
    return "success" if event.body["success"] else "failure"


def trajectories_of(
    home: Home,
    *,
    waiting: bool | None = None,
    domain: str | None = None,
    limit: int | None = None,
) -> list[Trajectory]:
    """Return trajectories of the home's project or of none, oldest first.

    Args:
        home: Whose trajectories they are.
        waiting: Those that are over, or without an event for flushIdleHours, and were
            not dreamt; with False the others.
        domain: Only of this domain.
        limit: How many at most.
    """
    idle = home.clock.now() - round(home.settings.flush_idle_hours * _HOUR)
    with home.views.reading(Trajectories) as view:
        rows = view.chosen(waiting, domain, home.projects, idle)[:limit]
        return _read(home, view, rows)


def trajectory_by_id(home: Home, trajectory_id: str) -> Trajectory:
    """Return the trajectory of this id.

    Raises:
        InvalidInput: There is none; it names the nearest.
    """
    with home.views.reading(Trajectories) as view:
        row = view.ids.find(trajectory_id)
        trajectories = [] if row is None else _read(home, view, [row])
        if not trajectories:
            raise unknown_id("trajectory", trajectory_id, view.ids)
        return trajectories[0]


def unknown_id(kind: str, value: object, ids: Iterable[str]) -> InvalidInput:
    """Return the error that an id is none of these, naming the nearest."""
    hint = "there are none yet: capture, and dream first"
    near = get_close_matches(str(value), [*ids][-_NEAREST_AMONG:], 1, 0)
    if near:
        hint = f"the nearest is {near[0]}"
    return InvalidInput(
        f"got the {kind} {value!r:.200}; allowed is the id of one: {hint}"
    )


def _read(home: Home, view: Trajectories, rows: Sequence[int]) -> list[Trajectory]:
    """Return what the journal says of these rows, without those whose goal was erased."""
    seqs_by_row = _action_seqs(view, rows)
    event_seqs = {0}
    for row in rows:
        event_seqs.update(seqs_by_row[row])
        event_seqs.add(int(view.rows["goal"][row]))
        event_seqs.add(int(view.rows["end"][row]))
    event_seqs.discard(0)
    events: dict[int, Event] = {}
    if event_seqs:
        for event in home.journal.read(seqs=sorted(event_seqs)):
            events[event.seq] = event
    trajectories = list[Trajectory]()
    for row in rows:
        goal = events.get(int(view.rows["goal"][row]))
        if goal is None:
            continue
        end = events.get(int(view.rows["end"][row]))
        acts = [events[seq] for seq in seqs_by_row[row] if seq in events]
        trajectories.append(_trajectory(view, row, goal, end, acts))
    return trajectories


def _action_seqs(view: Trajectories, rows: Sequence[int]) -> dict[int, list[int]]:
    """Return the seqs of the actions of each row."""
    action_rows = view.actions["row"]
    action_seqs = view.actions["seq"]
    if len(rows) < len(view.rows):
        numbers = np.flatnonzero(np.isin(action_rows, rows))
        action_rows = action_rows[numbers]
        action_seqs = action_seqs[numbers]
    seqs_by_row: dict[int, list[int]] = {row: [] for row in rows}
    for row, seq in zip(action_rows.tolist(), action_seqs.tolist(), strict=True):
        seqs_by_row[row].append(seq)
    return seqs_by_row


def _trajectory(
    view: Trajectories, row: int, goal: Event, end: Event | None, acts: Sequence[Event]
) -> Trajectory:
    """Return the trajectory in a row, by its goal, its end and what was done."""
    table = view.rows
    body = goal.body
    end_body: dict[str, Any] = end.body if end is not None else {}
    goal_texts = (body.get(name) for name in ("goal", "text", "task", "decision"))
    return Trajectory(
        id=view.ids[row],
        goal=one_line(next(filter(None, goal_texts), ""), GOAL_CHARACTERS),
        level=Level(body.get("level", Level.TACTICAL)),
        outcome=_OUTCOMES[int(table["outcome"][row])],
        confidence=round(float(table["confidence"][row]), 6),
        origin=body.get("from", "agent"),
        domain=view.domains[int(table["domain"][row])],
        project=view.projects[int(table["project"][row])],
        agent=view.agents[int(table["agent"][row])],
        session=goal.session,
        parent=view.parents[row],
        at=int(table["at"][row]),
        ended_at=int(table["ended_at"][row]) or None,
        goal_event=goal.id,
        source=body.get("source", "agent"),
        upto=int(table["last"][row]),
        dreamt=bool(table["dreamt"][row]),
        tags=tuple(body.get("tags", ())),
        fault=end_body.get("fault", ""),
        error=one_line(str(end_body.get("error") or ""), GOAL_CHARACTERS),
        isa_version=body.get("isa_version", ISA_VERSION),
        actions=tuple(_actions(acts)),
    )


# What a tool call may leave out.
_NO_PATHS: dict[str, list[str]] = {"read": [], "edited": []}
_UNTOLD = {"input": "", "response": "", "command": "", "ok": None, "paths": _NO_PATHS}


def _actions(events: Sequence[Event]) -> Iterator[CapturedAction]:
    """Yield each act with the message before it.

    Where nothing but messages was recorded, these are the acts.
    """
    only_messages = not any(event.kind in ("acted", "tool_used") for event in events)
    message = ""
    for event in events:
        if event.kind == "acted":
            yield _hand_action(event)
        elif event.kind == "tool_used":
            yield _tool_action(event, message)
            message = ""
        elif only_messages:
            text = event.body["message"]
            yield CapturedAction(
                event.id, event.at, "", text, "", None, event.agent, True
            )
        else:
            message = event.body["message"]


def _hand_action(event: Event) -> CapturedAction:
    """Return an action that was captured by hand."""
    body = event.body
    call = patterns.NAMED.match(body["action"])
    tool = call[1] if call else ""
    only_looked = bool(tool) and _looks(tool)
    return CapturedAction(
        event.id,
        event.at,
        body["reasoning"],
        body["action"],
        body["result"],
        body["ok"],
        tool,
        changed=not only_looked and body["ok"] is not False,
    )


def _tool_action(event: Event, message: str) -> CapturedAction:
    """Return a tool call as an action; the message before it is its reasoning."""
    call = {**_UNTOLD, **event.body}
    call["paths"] = {**_NO_PATHS, **call["paths"]}
    exited = bool(call["command"] and patterns.EXIT.match(call["response"]))
    failed = call["ok"] is False or exited
    return CapturedAction(
        event.id,
        event.at,
        message,
        call["command"] or _call_of(call),
        call["response"],
        False if failed else call["ok"],
        call["tool"],
        changed=not failed and _has_changed(call),
    )


def _call_of(body: dict[str, Any]) -> str:
    """Return a tool call in short: with the files that it names, else with its input."""
    paths = body["paths"]["edited"] or body["paths"]["read"]
    files = ", ".join(filter(None, map(shown_path, paths)))
    return f"{body['tool']} {files}" if files else f"{body['tool']}({body['input']})"


def _has_changed(body: dict[str, Any]) -> bool:
    """Return whether a tool call did more than look.

    It edited a file, ran a command, or has a name that says so.
    """
    if body["command"]:
        return patterns.LOOKING.match(body["command"].strip()) is None
    if body["paths"]["edited"]:
        return True
    return not (_looks(body["tool"]) or _BLANK.fullmatch(body["input"]))


def _looks(tool: str) -> bool:
    return patterns.LOOKS.match(tool_key(tool)) is not None
