"""Hold trajectories: a goal, what was done for it step by step, and how it came out.

Captured by hand, as a session of hook events, as a call of a dispatch, by an import or
in a recorded run, it is the same.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from difflib import get_close_matches
from itertools import groupby
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.light_dataclass import dataclass
from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.core.sections import read_sections
from theorex_lab.designs.dreams import (
    DEFAULT_DOMAIN,
    ISA_VERSION,
    Ended,
    Level,
    patterns,
)
from theorex_lab.designs.dreams.chosen_rows import Projects, rows_in
from theorex_lab.designs.dreams.tasks import task_in_words
from theorex_lab.designs.dreams.verdicts import (
    CORRECTED,
    SHORTEST_STANDING,
    STANDING_CHARACTERS,
    UNKNOWN_END,
    end_of,
    is_asked_again,
    verdict_of_reply,
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
_SEEN_BEFORE_STANDING = 2
TEXTS = read_sections(__file__, "prompts.txt")
# The input of a tool that was not recorded.
_BLANK = lazy_pattern(r'\{(?:"\w+": *""(?:, *)?)+\}')


class CapturedAction(NamedTuple):
    """Hold one action.

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
    """Hold a trajectory. Times in µs UTC, ended_at None while it goes on.

    Attributes:
        origin: Where it was lived, a key of `FIDELITY`.
        parent: The id of the one that it is part of, or ''.
        source: Who set the goal, a key of `TRUST`.
        goal_event: The id of the event that says the goal.
        upto: The seq of its last event.
        dreamt: Whether a dream has taken it in, or passed it over.
        evidence: What the outcome was read from, as `verdicts` names it; '' where it
            was stated, or is not known.
        is_task: Whether the goal names a task; a prompt may only carry on a
            conversation.
        is_of_session: Whether a prompt set the goal.
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
    evidence: str = ""
    is_task: bool = True
    is_of_session: bool = False
    isa_version: str = ISA_VERSION
    actions: tuple[CapturedAction, ...] = field(default=(), repr=False)


class CuratedTrajectory(NamedTuple):
    """Hold what a dreamer made of a trajectory.

    Attributes:
        critical: Indices of its actions, rising.
        constraints: Text, fault class, source of each.
        whys: What an action is for, by its index.
        source: Whose words the summary is told in, a key of `TRUST`.
        groups: Ids of strategies that are one.
        prunes: Ids of strategies to archive.
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


def _group_of(event: Event) -> tuple[str, str, str, bool]:
    """Return what events have alike that the fold of `Trajectories` takes together.

    It is the kind, the agent, the session, and whether a call of a model led to them.
    """
    return event.kind, event.agent, event.session, bool(event.body.get("trace_id"))


class Trajectories(View):
    """Hold a row a trajectory, in the order in which they began.

    Attributes:
        rows: goal, end and last (seqs of events; 0 for none), at, last_at and ended_at
            (µs; 0 while it goes on), agent, session and domain (numbers of names),
            project, outcome (place in `Ended`), confidence, task (number of its name),
            dreamt.
        actions: row and seq of each event; said: whether it is only a message.
        replies: row and seq of each prompt that followed in the session.
        openings: How long prompts begin, as checksums; opened: how often each came.
        tasks: The names of tasks; '' where no prompt names one.
    """

    name = "trajectories"
    code = 4
    reads_outlines = True
    kinds = (
        "trajectory_started",
        "acted",
        "trajectory_ended",
        "prompt",
        "tool_used",
        "turn_ended",
        "turn_message",
        "session_ended",
        "outcome",
        "trace_started",
        "trace_ended",
        "strategy",
        "strategy_merged",
        "dream",
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
            task="i4",
            dreamt="?",
        )
        self.actions = Table(row="i4", seq="i8", said="?")
        self.replies = Table(row="i4", seq="i8")
        self.openings = Names()
        self.opened = Table(n="i8")
        self.tasks = Names()
        self._open: dict[str, int] = {}  # by key, the row that further events are of

    def apply(self, events: Sequence[Event]) -> None:
        """Take in events; calls that follow each other in a session come together."""
        for (kind, _agent, session, has_trace), group in groupby(events, _group_of):
            if kind == "tool_used" and session and not has_trace:
                self._tools_used(list(group))
                continue
            take = getattr(self, f"_{kind}")
            for event in group:
                take(event)

    def _after_load(self) -> None:
        self._open = {}
        # A later row of a key takes the place of an earlier one.
        for row, number in enumerate(self.rows["key"].tolist()):
            self._open[self.keys[number]] = row

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
        domain = body.get("domain", DEFAULT_DOMAIN)
        project = body.get("project", "")
        row = self.rows.add(
            goal=event.seq,
            last=event.seq,
            at=event.at,
            last_at=event.at,
            agent=self.agents.number(event.agent),
            key=self.keys.number(key),
            domain=self.domains.number(domain),
            project=self.projects.number(project),
            outcome=_OUTCOMES.index(Ended.UNKNOWN),
            confidence=1.0,
            task=self.tasks.number(_task_of(event)),
        )
        self._open[key] = row
        return row

    def _touch(self, row: int, event: Event) -> int:
        self.rows.put(row, last=event.seq, last_at=event.at)
        return row

    def _row(self, key: str) -> int | None:
        """Return the row that goes on under a key: none once it was dreamt."""
        row = self._open.get(key)
        if row is None or self.rows["dreamt"][row]:
            return None
        return row

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
        if begins:
            return self._begin(agent_key, event)
        return None

    def _trajectory_started(self, event: Event) -> None:
        trajectory_id = event.body["trajectory_id"]
        if self.ids.find(trajectory_id) is None:
            self._begin(f"hand/{trajectory_id}", event, trajectory_id=trajectory_id)

    def _acted(self, event: Event) -> None:
        trajectory_id = event.body["trajectory_id"]
        row = self._row(f"hand/{trajectory_id}")
        if row is not None:
            self._touch(row, event)
            self.actions.add(row=row, seq=event.seq)

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
            number = _OUTCOMES.index(Ended(outcome))
            self.rows.put(row, outcome=number, confidence=confidence)

    def _prompt(self, event: Event) -> None:
        """Begin a trajectory, or go on with the one of the session.

        A prompt that sets a task of its own begins another; any other carries on, and
        may say how the work came out.
        """
        if event.body.get("subagent") or not event.session:
            return
        key = f"{event.agent}/{event.session}"
        row = self._row(key)
        is_standing = self._is_standing(event.body["text"])
        if row is None or is_standing:
            self._row_of(event, begins=True)
            return
        self.replies.add(row=row, seq=event.seq)
        if self._sets_another_task(row, event):
            self._end(row, event)
            self._begin(key, event)
        else:
            self.rows.put(row, ended_at=0)
            self._touch(row, event)

    def _is_standing(self, text: str) -> bool:
        """Return whether a program sends a prompt again and again, not a person.

        It is long, and began so twice before. It sets no task, and judges none.
        """
        if len(text) < SHORTEST_STANDING:
            return False
        checksum = f"{crc32(text[:STANDING_CHARACTERS].encode(errors='replace')):08x}"
        number = self.openings.number(checksum)
        if number == len(self.opened):
            self.opened.add()
        n_before = int(self.opened["n"][number])
        self.opened.put(number, n=n_before + 1)
        return n_before >= _SEEN_BEFORE_STANDING

    def _sets_another_task(self, row: int, event: Event) -> bool:
        """Return whether a prompt begins work of its own beside that of a row."""
        text = event.body["text"]
        task = task_in_words(text)
        if not task or verdict_of_reply(text) == CORRECTED:
            return False
        number = int(self.rows["task"][row])
        return not is_asked_again(text, self.tasks[number])

    def _tools_used(self, calls: Sequence[Event]) -> None:
        """Take in calls of an agent's session: the row of the first is that of all."""
        row = self._tool_used(calls[0])
        if row is None or len(calls) == 1:
            return
        self._touch(row, calls[-1])
        rows = [(row, event.seq) for event in calls[1:]]
        self.actions.extend(("row", "seq"), rows)

    def _tool_used(self, event: Event) -> int | None:
        """Take in a call; return its row, None where nothing began in its session."""
        row = self._row_of(event)
        trace_id = event.body.get("trace_id")
        if row is None and trace_id:
            row = self._row(f"trace/{trace_id}")
        if row is None and event.session:
            # What goes on without a new prompt goes on with the goal of what was
            # dreamt.
            row = self._again(event)
        if row is not None:
            self._touch(row, event)
            self.actions.add(row=row, seq=event.seq)
        return row

    def _again(self, event: Event) -> int | None:
        """Begin a trajectory with the goal of the last one of the agent's session."""
        key = f"{event.agent}/{event.session}"
        before = self._open.get(key)
        if before is None:
            return None
        row = self._begin(key, event)
        goal = self.rows["goal"][before]
        self.rows.put(row, goal=goal, task=self.rows["task"][before])
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
        trajectory_id = event.body.get("trajectory", "")
        upto = event.body.get("upto", 0)
        self._dreamt(trajectory_id, upto)

    _strategy_merged = _strategy

    def _dream(self, event: Event) -> None:
        for trajectory_id, upto, _why in event.body["passed"]:
            self._dreamt(trajectory_id, upto)

    def _dreamt(self, trajectory_id: str, upto: int) -> None:
        """Note that a trajectory was dreamt up to a seq.

        What came after it, while it was dreamt, becomes a trajectory of its own.
        """
        if not trajectory_id:
            return
        row = self.ids.find(trajectory_id)
        if row is None or self.rows["dreamt"][row]:
            return
        self.rows.put(row, dreamt=True)
        is_late_reply = (self.replies["row"] == row) & (self.replies["seq"] > upto)
        late_replies = np.flatnonzero(is_late_reply)
        is_of_row = self.actions["row"] == row
        is_late = self.actions["seq"] > upto
        late_actions = np.flatnonzero(is_of_row & is_late)
        if not len(late_actions):
            return
        cells = {name: self.rows[name][row] for name in _CARRIED}
        cells["at"] = cells["last_at"]
        cells["key"] = self.rows["key"][row]
        self.ids.number(f"{trajectory_id}#{cells['last']}")
        self.parents.append(trajectory_id)
        new_row = self.rows.add(**cells)
        key = self.keys[int(cells["key"])]
        self._open[key] = new_row
        self.actions["row"][late_actions] = new_row
        self.replies["row"][late_replies] = new_row

    def chosen(
        self, waiting: bool | None, domain: str | None, projects: Projects, idle: int
    ) -> list[int]:
        """Return rows, oldest first: of a domain, of these projects or of none.

        Args:
            waiting: Those not dreamt, and over or idle; with False the others.
            domain: Only of this domain.
            projects: Only of these projects, or of none.
            idle: The time (µs UTC) since which a trajectory without events is idle.
        """
        mask = np.ones(len(self.rows), np.bool_)
        if waiting is not None:
            has_ended = self.rows["ended_at"] > 0
            is_idle = self.rows["last_at"] <= idle
            is_waiting = ~self.rows["dreamt"] & (has_ended | is_idle)
            mask = is_waiting == waiting
        return rows_in(self, mask, domain, projects)


# What a trajectory that goes on after a dream has of the one that was dreamt.
_CARRIED = (
    "goal",
    "end",
    "last",
    "last_at",
    "ended_at",
    "agent",
    "domain",
    "project",
    "outcome",
    "confidence",
    "task",
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
        waiting: Those that are over, or without an event for sessionIdleHours, and were
            not dreamt; with False the others.
        domain: Only of this domain.
        limit: How many at most.
    """
    idle = home.clock.now() - round(home.settings.session_idle_hours * _HOUR)
    with home.views.reading(Trajectories) as view:
        rows = view.chosen(waiting, domain, home.projects, idle)[:limit]
        return _read(home, view, rows)


def trajectory_by_id(home: Home, trajectory_id: str) -> Trajectory:
    """Return the trajectory of this id.

    Raises:
        InvalidInput: There is none; it names the nearest.
    """
    with home.views.reading(Trajectories) as view:
        trajectories = []
        row = view.ids.find(trajectory_id)
        if row is not None:
            trajectories = _read(home, view, [row])
        if not trajectories:
            raise unknown_id("trajectory", trajectory_id, view.ids)
        return trajectories[0]


def unknown_id(kind: str, value: object, ids: Iterable[str]) -> InvalidInput:
    """Return the error that an id is none of these, naming the nearest.

    Args:
        kind: What the id is of, as the error calls it.
        value: The id that there is not.
        ids: The ids that there are.
    """
    hint = "there are none yet: capture, and dream first"
    last_ids = list(ids)[-_NEAREST_AMONG:]
    near = get_close_matches(str(value), last_ids, 1, 0)
    if near:
        hint = f"the nearest is {near[0]}"
    return InvalidInput(
        f"got the {kind} {value!r:.200}; allowed is the id of one: {hint}"
    )


def _read(home: Home, view: Trajectories, rows: Sequence[int]) -> list[Trajectory]:
    """Return the trajectories in these rows.

    Those whose goal was erased are left out.
    """
    seqs_by_row = _seqs_of_rows(view, view.actions, rows)
    replies_by_row = _seqs_of_rows(view, view.replies, rows)
    goals = view.rows["goal"]
    ends = view.rows["end"]
    event_seqs = {0}
    for row in rows:
        event_seqs.update(seqs_by_row[row], replies_by_row[row])
        event_seqs.add(int(goals[row]))
        event_seqs.add(int(ends[row]))
    event_seqs.discard(0)
    events: dict[int, Event] = {}
    if event_seqs:
        for event in home.journal.read(seqs=sorted(event_seqs)):
            events[event.seq] = event
    trajectories = []
    for row in rows:
        goal = events.get(int(goals[row]))
        if goal is None:
            continue
        end = events.get(int(ends[row]))
        acts = [events[seq] for seq in seqs_by_row[row] if seq in events]
        replies = [events[seq] for seq in replies_by_row[row] if seq in events]
        trajectory = _trajectory(view, row, goal, end, acts)
        trajectories.append(_with_end(trajectory, goal, acts, replies))
    return trajectories


def _with_end(
    trajectory: Trajectory,
    goal: Event,
    acts: Sequence[Event],
    replies: Sequence[Event],
) -> Trajectory:
    """Return a trajectory of a session with the outcome that followed it.

    What was stated stays, and so does what nothing tells.
    """
    if goal.kind != "prompt":
        return trajectory
    task = task_in_words(goal.body["text"])
    inferred = UNKNOWN_END
    if trajectory.outcome is Ended.UNKNOWN:
        followed = sorted([*acts, *replies], key=lambda event: event.seq)
        inferred = end_of(goal.body["text"], followed)
    named = replace(
        trajectory,
        goal=task or trajectory.goal,
        is_task=bool(task),
        is_of_session=True,
    )
    if inferred.outcome is Ended.UNKNOWN:
        return named
    return replace(
        named,
        outcome=inferred.outcome,
        confidence=inferred.confidence,
        evidence=inferred.evidence,
    )


def _seqs_of_rows(
    view: Trajectories, table: Table, rows: Sequence[int]
) -> dict[int, list[int]]:
    """Return the seqs that a table has for each row."""
    action_rows = table["row"]
    action_seqs = table["seq"]
    if len(rows) < len(view.rows):
        is_chosen = np.isin(action_rows, rows)
        numbers = np.flatnonzero(is_chosen)
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
    body = goal.body
    end_body: dict[str, Any] = end.body if end is not None else {}
    level = body.get("level", Level.TACTICAL)
    goal_text = _goal_text(body)
    error = str(end_body.get("error") or "")
    cells: dict[str, Any] = {}
    for name in _CELLS:
        cells[name] = view.rows[name][row].item()
    return Trajectory(
        id=view.ids[row],
        goal=one_line(goal_text, GOAL_CHARACTERS),
        level=Level(level),
        outcome=_OUTCOMES[cells["outcome"]],
        confidence=round(cells["confidence"], 6),
        origin=body.get("from", "agent"),
        domain=view.domains[cells["domain"]],
        project=view.projects[cells["project"]],
        agent=view.agents[cells["agent"]],
        session=goal.session,
        parent=view.parents[row],
        at=cells["at"],
        ended_at=cells["ended_at"] or None,
        goal_event=goal.id,
        source=body.get("source", "agent"),
        upto=cells["last"],
        dreamt=cells["dreamt"],
        tags=tuple(body.get("tags", ())),
        fault=end_body.get("fault", ""),
        error=one_line(error, GOAL_CHARACTERS),
        isa_version=body.get("isa_version", ISA_VERSION),
        actions=tuple(_actions(acts)),
    )


# Columns of `Trajectories.rows` that a trajectory is read from.
_CELLS = (
    "outcome",
    "confidence",
    "domain",
    "project",
    "agent",
    "at",
    "ended_at",
    "last",
    "dreamt",
)


def _task_of(event: Event) -> str:
    """Return the task of the event that begins a trajectory; '' for none."""
    if event.kind != "prompt":
        return ""
    return task_in_words(event.body["text"])


def _goal_text(body: dict[str, Any]) -> str:
    """Return the goal that the body of an event sets; '' where it has none."""
    for name in ("goal", "text", "task", "decision"):
        text: str = body.get(name, "")
        if text:
            return text
    return ""


# What a tool call may leave out.
_NO_PATHS: dict[str, list[str]] = {"read": [], "edited": []}
_UNTOLD = {
    "input": "",
    "response": "",
    "command": "",
    "ok": None,
    "paths": _NO_PATHS,
}


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
            yield CapturedAction(
                event=event.id,
                at=event.at,
                reasoning="",
                action=event.body["message"],
                result="",
                ok=None,
                tool=event.agent,
                changed=True,
            )
        else:
            message = event.body["message"]


def _hand_action(event: Event) -> CapturedAction:
    """Return an action that was captured by hand."""
    body = event.body
    has_failed = body["ok"] is False
    tool = ""
    only_looked = False
    call = patterns.NAMED.match(body["action"])
    if call:
        tool = call[1]
        only_looked = bool(tool) and _looks(tool)
    return CapturedAction(
        event=event.id,
        at=event.at,
        reasoning=body["reasoning"],
        action=body["action"],
        result=body["result"],
        ok=body["ok"],
        tool=tool,
        changed=not only_looked and not has_failed,
    )


def _tool_action(event: Event, message: str) -> CapturedAction:
    """Return a tool call as an action; the message before it is its reasoning."""
    call = {**_UNTOLD, **event.body}
    call["paths"] = {**_NO_PATHS, **call["paths"]}
    has_exited = bool(call["command"] and patterns.EXIT.match(call["response"]))
    has_failed = call["ok"] is False or has_exited
    return CapturedAction(
        event=event.id,
        at=event.at,
        reasoning=message,
        action=call["command"] or _call_of(call),
        result=call["response"],
        ok=False if has_failed else call["ok"],
        tool=call["tool"],
        changed=not has_failed and _has_changed(call),
    )


def _call_of(body: dict[str, Any]) -> str:
    """Return a tool call in short.

    It has the files that the call names, else its input.
    """
    paths = body["paths"]["edited"] or body["paths"]["read"]
    names = filter(None, map(shown_path, paths))
    files = ", ".join(names)
    if files:
        return f"{body['tool']} {files}"
    return f"{body['tool']}({body['input']})"


def _has_changed(body: dict[str, Any]) -> bool:
    """Return whether a tool call did more than look.

    It edited a file, ran a command, or has a name that says so.
    """
    if body["command"]:
        return patterns.LOOKING.match(body["command"].strip()) is None
    if body["paths"]["edited"]:
        return True
    if _looks(body["tool"]):
        return False
    return _BLANK.fullmatch(body["input"]) is None


def _looks(tool: str) -> bool:
    return patterns.LOOKS.match(tool_key(tool)) is not None
