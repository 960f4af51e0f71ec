"""Tasks from agent to agent: sent, claimed for as long as a lease lasts, completed or
failed.

The steps of one task form a chain: step 0 sends it, and the event of step k has an id
made of the task's id and k. So whichever process appends step k first has taken it, and
every other one is told that it came too late.
"""

import re
from collections import namedtuple
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from theorex_lab.core.clock import LATEST, to_iso
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import check_agent, check_name, derived_event_id, new_event_id
from theorex_lab.journal.base import append_once
from theorex_lab.journal.columns import Names, Table
from theorex_lab.journal.event import Body, Event, encode, new_event
from theorex_lab.journal.view import ERASURE, View
from theorex_lab.memory.contract import Home
from theorex_lab.text.redact.redaction_scope import door, kept_value

STATES = ("submitted", "working", "completed", "failed")
SUBMITTED, WORKING, COMPLETED, FAILED = range(4)
_ERASED = -1
MAX_LEASE_SECONDS = 864_000.0
# what was written at a shallow point of a program must be readable at a deep one
_MAX_NESTING = 64
_TYPE = re.compile(r"[a-z][a-z0-9_]{0,31}")
_WORKER = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_TASK_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_A2A_NAMES = {
    "from_agent": "from",
    "to_agent": "to",
    "task_type": "type",
    "status": "state",
}
_A2A_NAMES |= {"submitted_at": "created_at"}
Name = str | None
_TIMES = ("created_at", "claimed_at", "lease_until", "completed_at")


@dataclass(frozen=True)
class Task:
    """Work that one agent asked of another, as it stands now.

    state: a name in STATES; a task whose lease ran out is submitted again.  payload,
    result: JSON values; the result of a failed task is the reason.  attempt: how often
    it was claimed.  *_at, lease_until: microseconds UTC. claimed_at, lease_until,
    worker: None while nobody holds it.  completed_at: when it was completed or failed.
    """

    id: str
    sender: str
    to: str
    type: str
    payload: Any
    state: str
    attempt: int
    created_at: int
    claimed_at: int | None = None
    lease_until: int | None = None
    completed_at: int | None = None
    worker: str | None = None
    result: Any = None

    def as_dict(self) -> dict[str, Any]:
        """For JSON: the sender is `from`, times are ISO 8601; what A2A calls otherwise
        stands under both names.
        """
        values = {
            "from" if name == "sender" else name: value
            for name, value in vars(self).items()
        }
        values |= {
            name: to_iso(values[name]) for name in _TIMES if values[name] is not None
        }
        return values | {name: values[own] for name, own in _A2A_NAMES.items()}


# Columns of one task, whole numbers all.
_Standing = namedtuple(
    "_Standing", "state step attempt seq step_seq claimed_at lease_until"
)


class Tasks(View):
    """The state of every task: the seqs of its first and latest step, attempt, lease;
    no texts.

    A task's row is the number of its id.
    """

    name = "tasks"
    code = 2
    kinds = ("task_submitted", "task_claimed", "task_ended", ERASURE)

    def __init__(self) -> None:
        super().__init__()
        self.ids = Names()
        self.agents = Names()
        times = dict.fromkeys(("seq", "step_seq", "claimed_at", "lease_until"), "i8")
        self.tasks = Table(to="i4", state="i1", step="i4", attempt="i4", **times)

    def apply(self, events: Sequence[Event]) -> None:
        """Take in steps of tasks; a task with an erased step is gone, and one that was
        submitted is not submitted again.
        """
        erased: set[str] = set()
        for event in events:
            if event.kind == ERASURE:
                erased.update(event.body["ids"])
            elif event.kind == "task_submitted":
                self._submit(event)
            else:
                self._advance(event)
        # The end of the batch will do, since a step after an erased one is not taken
        # in.
        for row in (
            np.flatnonzero(np.isin(self.tasks["state"], (SUBMITTED, WORKING))).tolist()
            if erased
            else ()
        ):
            if (
                derived_event_id(
                    "task", self.ids[row], int(self.tasks["step"][row]) + 1
                )
                in erased
            ):
                self.tasks.put(row, state=_ERASED)

    def find(self, task_id: str) -> int | None:
        """The row of a task; None where there is none, or a step of it was erased."""
        row = self.ids.find(task_id)
        return None if row is None or self.tasks["state"][row] == _ERASED else row

    def rows_of(self, agent: str, claimable_at: int | None = None) -> list[int]:
        """Rows of the tasks that were sent to an agent, oldest first; of those that
        wait, or whose lease is over, at a time (µs UTC).
        """
        table = self.tasks
        chosen = (table["to"] == self.agents.find(agent)) & (table["state"] != _ERASED)
        if claimable_at is not None:
            over = (table["state"] == WORKING) & (table["lease_until"] <= claimable_at)
            chosen &= (table["state"] == SUBMITTED) | over
        return [*map(int, np.flatnonzero(chosen))]

    def standing(self, row: int, now: int) -> _Standing:
        """How the task in this row stands at `now` (µs UTC): once its lease is over it
        is submitted again.
        """
        found = _Standing(*(int(self.tasks[name][row]) for name in _Standing._fields))
        if found.state == WORKING and found.lease_until <= now:
            return found._replace(state=SUBMITTED)
        return found

    def _submit(self, event: Event) -> None:
        task_id = event.body["task_id"]
        if self.ids.find(task_id) is None:
            self.ids.number(task_id)
            self.tasks.add(
                to=self.agents.number(event.body["to"]),
                seq=event.seq,
                step_seq=event.seq,
            )

    def _advance(self, event: Event) -> None:
        body = event.body
        row = self.find(body["task_id"])
        if row is None or body["step"] != self.tasks["step"][row] + 1:
            return  # a step before it was erased
        self.tasks.put(row, step=body["step"], step_seq=event.seq)
        if event.kind == "task_ended":
            self.tasks.put(row, state=STATES.index(body["state"]))
            return
        if body["attempt"] != self.tasks["attempt"][row]:
            self.tasks.put(row, attempt=body["attempt"], claimed_at=event.at)
        self.tasks.put(row, state=WORKING, lease_until=body["lease_until"])


class TaskBoard:
    """Send, claim and finish the tasks of one home; any number of processes may do so
    at once.

    >>> from theorex_lab import Lab
    >>> with Lab.temporary() as lab:
    ...     board = TaskBoard(lab.home)
    ...     task_id = board.send("main", "sage", "summary", {"of": "the week"})
    ...     task = board.claim("sage", worker="sage-1")
    ...     done = board.complete(task.id, "a quiet week", worker="sage-1")
    >>> task.payload, task.state, done.state, done.result
    ({'of': 'the week'}, 'working', 'completed', 'a quiet week')
    """

    def __init__(self, home: Home) -> None:
        self.home = home

    def send(
        self,
        sender: str,
        to: str,
        task_type: str,
        payload: Any,
        *,
        keep_secrets: bool = False,
    ) -> str:
        """Ask the agent `to` for work; the task is on disk when its id is returned.

        task_type: 1 to 32 of a-z 0-9 _ starting with a letter.  payload: a JSON value
        of up to maxTextBytes. What looks like a secret is masked, unless `keep_secrets`
        is given. Raises InvalidInput for anything outside the rules, and then nothing
        was written.
        """
        check_name(
            task_type, _TYPE, "task type", "1 to 32 of a-z 0-9 _ starting with a letter"
        )
        _check_json(payload, "payload", self.home.settings.max_text_bytes)
        with door(keep_secrets=keep_secrets):
            payload = kept_value(payload)
        now = self.home.clock.now()
        task_id = new_event_id(now)
        body = {
            "from": check_agent(sender),
            "to": check_agent(to),
            "type": task_type,
            "payload": payload,
        }
        body["project"] = self.home.project
        self.home.journal.append(
            [_step("task_submitted", task_id, 0, body, agent=sender, at=now)]
        )
        return task_id

    def task(self, task_id: str) -> Task:
        """One task as it stands now. Raises InvalidInput for an unknown id."""
        return self._task(task_id, self.home.clock.now())

    def tasks(self, agent: str, *, state: str | None = None) -> list[Task]:
        """The tasks that were sent to an agent, oldest first: all of them, or those in
        one of STATES.
        """
        if state is not None and state not in STATES:
            raise InvalidInput(
                f"got the task state {state!r}; allowed are {', '.join(STATES)}"
            )
        check_agent(agent)
        now = self.home.clock.now()
        with self.home.views.reading(Tasks) as view:
            found = [view.standing(row, now) for row in view.rows_of(agent)]
        return self._read(
            [standing for standing in found if state in (None, STATES[standing.state])]
        )

    def claim(
        self,
        agent: str,
        *,
        worker: str | None = None,
        lease_seconds: float | None = None,
    ) -> Task | None:
        """Take the agent's oldest task that is submitted; None where there is none.

        worker: who takes it, by default the agent; workers that share a name are one to
        the board, and each of them may finish what another holds.  lease_seconds: above
        0 up to 864,000, by default the setting taskLeaseSeconds; when it is over the
        task may be claimed again.  Raises InvalidInput for anything outside the rules.
        """
        name = check_agent(agent) if worker is None else _check_worker(worker)
        lease = _lease_microseconds(
            self.home.settings.task_lease_seconds
            if lease_seconds is None
            else lease_seconds
        )
        lost: set[str] = set()  # steps that others took, or that were erased
        while True:
            now = self.home.clock.now()
            event = self._next_claim(
                check_agent(agent), now, lost, worker=name, lease=lease
            )
            if event is None:
                return None
            if append_once(self.home.journal, [event]):
                return self._task(event.body["task_id"], now)
            lost.add(event.id)

    def complete(
        self,
        task_id: str,
        result: Any = None,
        *,
        worker: Name = None,
        keep_secrets: bool = False,
    ) -> Task:
        """Report a task as done. result: a JSON value of up to maxTextBytes.  worker:
        by default the agent asked.

        After the end of the lease this is accepted as long as nobody has claimed the
        task again: the work is done, and to refuse it would only have it done twice.
        Raises InvalidInput for an unknown id, or where the worker does not hold the
        task; then nothing was written.
        """
        return self._end(task_id, worker, "completed", "result", result, keep_secrets)

    def fail(
        self,
        task_id: str,
        reason: str,
        *,
        worker: str | None = None,
        keep_secrets: bool = False,
    ) -> Task:
        """Report a task as failed; the reason is its result. Otherwise as `complete`."""
        if not isinstance(reason, str) or not reason.strip():
            raise InvalidInput(
                f"got the reason {reason!r}; allowed is a text that says why the task"
                " failed"
            )
        return self._end(task_id, worker, "failed", "reason", reason, keep_secrets)

    def _end(
        self,
        task_id: str,
        worker: Name,
        state: str,
        what: str,
        result: Any,
        keep_secrets: bool,
    ) -> Task:
        _check_json(result, what, self.home.settings.max_text_bytes)
        with door(keep_secrets=keep_secrets):
            body = {"state": state, "result": kept_value(result)}
        lost = ""  # the step that was taken; then it is looked again who holds the task
        while True:
            now = self.home.clock.now()
            claim = self._claim_of(task_id, worker, now)
            whole = {"worker": claim.body["worker"], **body}
            event = _step(
                "task_ended",
                task_id,
                claim.body["step"] + 1,
                whole,
                agent=claim.agent,
                at=now,
            )
            if event.id == lost:
                raise _unknown(task_id)  # the step that stands in the way was erased
            if append_once(self.home.journal, [event]):
                return self._task(task_id, now)
            lost = event.id

    def _next_claim(
        self, agent: str, now: int, lost: set[str], *, worker: str, lease: int
    ) -> Event | None:
        with self.home.views.reading(Tasks) as view:
            for row in view.rows_of(agent, now):
                standing = view.standing(row, now)
                lease_until = min(now + lease, LATEST)
                body = {
                    "worker": worker,
                    "attempt": standing.attempt + 1,
                    "lease_until": lease_until,
                }
                event = _step(
                    "task_claimed",
                    view.ids[row],
                    standing.step + 1,
                    body,
                    agent=agent,
                    at=now,
                )
                if event.id not in lost:
                    return event
        return None

    def _claim_of(self, task_id: str, worker: str | None, now: int) -> Event:
        """The latest step of a task, where it is a claim by this worker. Raises
        InvalidInput where it is not.
        """
        standing = self._standing(task_id, now)
        if standing.state in (COMPLETED, FAILED):
            raise InvalidInput(
                f"the task {task_id} is {STATES[standing.state]}; what is finished"
                " stays as it is"
            )
        if not standing.attempt:
            raise InvalidInput(
                f"the task {task_id} is submitted and nobody holds it; claim it first"
            )
        if not (found := self.home.journal.read(seqs=[standing.step_seq])):
            raise _unknown(task_id)
        claim = found[0]
        name = claim.agent if worker is None else _check_worker(worker)
        if claim.body["worker"] != name:
            what = (
                "claim it first"
                if standing.state == SUBMITTED
                else "leave it to that worker"
            )
            holds = f"the task {task_id} was claimed by {claim.body['worker']!r}"
            raise InvalidInput(f"got the worker {name!r}; {holds}: {what}")
        return claim

    def _standing(self, task_id: str, now: int) -> _Standing:
        if not isinstance(task_id, str) or not _TASK_ID.fullmatch(task_id):
            raise _unknown(task_id)
        with self.home.views.reading(Tasks) as view:
            if (row := view.find(task_id)) is None:
                raise _unknown(task_id)
            return view.standing(row, now)

    def _task(self, task_id: str, now: int) -> Task:
        for task in self._read([self._standing(task_id, now)]):
            return task
        raise _unknown(task_id)

    def _read(self, found: Sequence[_Standing]) -> list[Task]:
        """The tasks with their texts, without those erased meanwhile."""
        seqs = {seq for standing in found for seq in (standing.seq, standing.step_seq)}
        events = {
            event.seq: event for event in self.home.journal.read(seqs=sorted(seqs))
        }
        there = [
            standing
            for standing in found
            if standing.seq in events and standing.step_seq in events
        ]
        return [
            _as_task(standing, events[standing.seq], events[standing.step_seq])
            for standing in there
        ]


def _check_json(value: Any, what: str, allowed: int) -> None:
    """Raise InvalidInput for what is no JSON, has more than `allowed` bytes, or is
    nested too deeply to be read everywhere.
    """
    if (size := len(encode(value).encode())) > allowed:
        limit = (
            f"allowed are up to {allowed} (setting maxTextBytes): shorten it, or name a"
            " file in it"
        )
        raise InvalidInput(f"got a {what} of {size} bytes as JSON; {limit}")
    level = [value]
    for _ in range(_MAX_NESTING + 1):
        nested = (held for held in level if isinstance(held, dict | list | tuple))
        level = [
            part
            for held in nested
            for part in (held.values() if isinstance(held, dict) else held)
        ]
        if not level:
            return
    raise InvalidInput(
        f"got a {what} nested deeper than {_MAX_NESTING} lists and objects; make it"
        " flatter"
    )


def _step(
    kind: str, task_id: str, step: int, body: Body, *, agent: str, at: int
) -> Event:
    """The event of a task's step, derived from the step before it."""
    lineage = [derived_event_id("task", task_id, step - 1)] if step else []
    whole = {"task_id": task_id, "step": step, **body}
    event_id = derived_event_id("task", task_id, step)
    return new_event(
        kind, whole, agent=agent, at=at, lineage=lineage, event_id=event_id
    )


def _as_task(standing: _Standing, sent: Event, last: Event) -> Task:
    held = standing.state == WORKING
    ended = standing.state in (COMPLETED, FAILED)
    known: Any = (
        {"claimed_at": standing.claimed_at, "worker": last.body["worker"]}
        if held or ended
        else {}
    )
    known |= {"completed_at": last.at, "result": last.body["result"]} if ended else {}
    known |= {"lease_until": standing.lease_until} if held else {}
    task_id, sender, to, kind, payload = (
        sent.body[name] for name in ("task_id", "from", "to", "type", "payload")
    )
    return Task(
        task_id,
        sender,
        to,
        kind,
        payload,
        STATES[standing.state],
        standing.attempt,
        sent.at,
        **known,
    )


def _check_worker(worker: str) -> str:
    """Return the name of a worker, or raise InvalidInput where it is outside the rule."""
    return check_name(worker, _WORKER, "worker", "1 to 128 of A-Z a-z 0-9 . _ : -")


def _lease_microseconds(seconds: float) -> int:
    if (
        isinstance(seconds, bool)
        or not isinstance(seconds, int | float)
        or not 0 < seconds <= MAX_LEASE_SECONDS
    ):
        raise InvalidInput(
            f"got a lease of {seconds!r} seconds; allowed is above 0 up to"
            f" {MAX_LEASE_SECONDS:,.0f}"
        )
    return max(1, round(seconds * 1_000_000))


def _unknown(task_id: object) -> InvalidInput:
    return InvalidInput(
        f"got the task id {task_id!r}, which is not known; `theorex a2a-tasks` lists an"
        " agent's tasks"
    )
