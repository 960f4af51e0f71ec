"""Tasks from agent to agent.

They are sent, claimed for as long as a lease lasts, completed or failed. The steps of
one task form a chain: step 0 sends it, and the event of step k has an id made of the
task's id and k. So whichever process appends step k first has taken it, and every other
one gets the answer that it came too late.
"""

from collections import namedtuple
from collections.abc import Sequence
from typing import Any

import numpy as np

from theorex_lab.core.clock import LATEST, to_iso
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import check_agent, check_name, derived_event_id, new_event_id
from theorex_lab.core.light_dataclass import dataclass
from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.journal.base import append_once
from theorex_lab.journal.columns import Names, Table
from theorex_lab.journal.event import Body, Event, encode, new_event
from theorex_lab.journal.view import ERASURE, View
from theorex_lab.memory.contract import Home
from theorex_lab.text.redact.redaction_scope import door

STATES = ("submitted", "working", "completed", "failed")
SUBMITTED, WORKING, COMPLETED, FAILED = range(4)
_ERASED = -1
MAX_LEASE_SECONDS = 864_000.0
# what was written at a shallow point of a program must be readable at a deep one
_MAX_NESTING = 64
_TYPE = lazy_pattern(r"[a-z][a-z0-9_]{0,31}")
_WORKER = lazy_pattern(r"[A-Za-z0-9._:-]{1,128}")
_TASK_ID = lazy_pattern(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_A2A_NAMES = {
    "from_agent": "from",
    "to_agent": "to",
    "task_type": "type",
    "status": "state",
    "submitted_at": "created_at",
}
Name = str | None
_TIMES = ("created_at", "claimed_at", "lease_until", "completed_at")


@dataclass(frozen=True)
class Task:
    """Work that one agent asked of another, as it stands now.

    Times are microseconds UTC.

    Attributes:
        payload: A JSON value.
        state: A name in STATES; a task whose lease ran out is submitted again.
        attempt: How often it was claimed.
        claimed_at: None while nobody holds it.
        lease_until: None while nobody holds it.
        completed_at: When it was completed or failed.
        worker: None while nobody holds it.
        result: A JSON value; of a failed task the reason.
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
        """Return the task for JSON.

        The sender is `from`, times are ISO 8601. What A2A calls otherwise stands under
        both names.
        """
        values: dict[str, Any] = {}
        for name, value in vars(self).items():
            values["from" if name == "sender" else name] = value
        for name in _TIMES:
            if values[name] is not None:
                values[name] = to_iso(values[name])
        for a2a_name, name in _A2A_NAMES.items():
            values[a2a_name] = values[name]
        return values


# Columns of one task, whole numbers all.
_Standing = namedtuple(
    "_Standing", "state step attempt seq step_seq claimed_at lease_until"
)


class Tasks(View):
    """The state of every task, without texts.

    It holds the seqs of a task's first and latest step, its attempt and its lease. A
    task's row is the number of its id.
    """

    name = "tasks"
    code = 2
    kinds = ("task_submitted", "task_claimed", "task_ended", ERASURE)

    def __init__(self) -> None:
        super().__init__()
        self.ids = Names()
        self.agents = Names()
        times = dict.fromkeys(("seq", "step_seq", "claimed_at", "lease_until"), "i8")
        self.tasks = Table(
            to="i4",
            state="i1",
            step="i4",
            attempt="i4",
            **times,
        )

    def apply(self, events: Sequence[Event]) -> None:
        """Take in steps of tasks.

        A task with an erased step is gone, and one that was submitted is not submitted
        again.
        """
        erased_ids: set[str] = set()
        for event in events:
            if event.kind == ERASURE:
                erased_ids.update(event.body["ids"])
            elif event.kind == "task_submitted":
                self._submit(event)
            else:
                self._advance(event)
        # The end of the batch will do, since a step after an erased one is not taken
        # in.
        if erased_ids:
            self._drop_erased(erased_ids)

    def _submit(self, event: Event) -> None:
        """Add a task, unless one has its id."""
        task_id = event.body["task_id"]
        if self.ids.find(task_id) is not None:
            return
        self.ids.number(task_id)
        self.tasks.add(
            to=self.agents.number(event.body["to"]),
            seq=event.seq,
            step_seq=event.seq,
        )

    def _drop_erased(self, erased_ids: set[str]) -> None:
        """Mark the unfinished tasks as gone whose next step was erased."""
        is_unfinished = np.isin(self.tasks["state"], (SUBMITTED, WORKING))
        for row in np.flatnonzero(is_unfinished).tolist():
            next_step = int(self.tasks["step"][row]) + 1
            if derived_event_id("task", self.ids[row], next_step) in erased_ids:
                self.tasks.put(row, state=_ERASED)

    def find(self, task_id: str) -> int | None:
        """Return the row of a task; None without one, or where a step was erased."""
        row = self.ids.find(task_id)
        if row is None or self.tasks["state"][row] == _ERASED:
            return None
        return row

    def rows_of(self, agent: str, claimable_at: int | None = None) -> list[int]:
        """Return the rows of the tasks that were sent to an agent, oldest first.

        Args:
            agent: To whom they were sent.
            claimable_at: A time (µs UTC). Only those count that wait then, or whose
                lease is over. None for all.
        """
        table = self.tasks
        chosen = (table["to"] == self.agents.find(agent)) & (table["state"] != _ERASED)
        if claimable_at is not None:
            is_over = (table["state"] == WORKING) & (
                table["lease_until"] <= claimable_at
            )
            chosen &= (table["state"] == SUBMITTED) | is_over
        return [*map(int, np.flatnonzero(chosen))]

    def standing(self, row: int, now: int) -> _Standing:
        """Return how the task in this row stands at `now` (µs UTC).

        Once its lease is over it is submitted again.
        """
        values = (int(self.tasks[name][row]) for name in _Standing._fields)
        standing = _Standing(*values)
        if standing.state == WORKING and standing.lease_until <= now:
            return standing._replace(state=SUBMITTED)
        return standing

    def _advance(self, event: Event) -> None:
        """Take in a claim or the end of a task."""
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
    """Send, claim and finish the tasks of one home.

    Any number of processes may do so at once.

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

        Args:
            sender: Who asks.
            to: Who is asked.
            task_type: 1 to 32 of a-z 0-9 _ starting with a letter.
            payload: A JSON value of up to maxTextBytes.
            keep_secrets: Do not mask what looks like a secret.

        Raises:
            InvalidInput: For anything outside the rules, and then nothing was written.
        """
        check_name(
            task_type, _TYPE, "task type", "1 to 32 of a-z 0-9 _ starting with a letter"
        )
        _check_json(payload, "payload", self.home.settings.max_text_bytes)
        now = self.home.clock.now()
        task_id = new_event_id(now)
        body = {
            "from": check_agent(sender),
            "to": check_agent(to),
            "type": task_type,
            "payload": payload,
            "project": self.home.project,
        }
        with door(keep_secrets=keep_secrets):
            self.home.journal.append(
                [
                    _step(
                        "task_submitted",
                        task_id,
                        0,
                        body,
                        agent=sender,
                        at=now,
                    )
                ]
            )
        return task_id

    def task(self, task_id: str) -> Task:
        """Return one task as it stands now, or raise InvalidInput for an unknown id."""
        return self._task(task_id, self.home.clock.now())

    def tasks(self, agent: str, *, state: str | None = None) -> list[Task]:
        """Return the tasks that were sent to an agent, oldest first.

        Args:
            agent: To whom they were sent.
            state: One of STATES, None for all.

        Raises:
            InvalidInput: For an unknown state, or an agent outside the rule.
        """
        if state is not None and state not in STATES:
            raise InvalidInput(
                f"got the task state {state!r}; allowed are {', '.join(STATES)}"
            )
        check_agent(agent)
        now = self.home.clock.now()
        with self.home.views.reading(Tasks) as view:
            standings = [view.standing(row, now) for row in view.rows_of(agent)]
        if state is not None:
            standings = [
                standing for standing in standings if STATES[standing.state] == state
            ]
        return self._read(standings)

    def claim(
        self,
        agent: str,
        *,
        worker: str | None = None,
        lease_seconds: float | None = None,
    ) -> Task | None:
        """Take the agent's oldest task that is submitted; None where there is none.

        Args:
            agent: Whose task is taken.
            worker: Who takes it, by default the agent. Workers that share a name are
                one to the board, and each of them may finish what another holds.
            lease_seconds: Above 0 up to 864,000, by default the setting
                taskLeaseSeconds. When it is over the task may be claimed again.

        Raises:
            InvalidInput: For anything outside the rules.
        """
        name = check_agent(agent) if worker is None else _check_worker(worker)
        if lease_seconds is None:
            lease_seconds = self.home.settings.task_lease_seconds
        lease = _lease_microseconds(lease_seconds)
        check_agent(agent)
        lost_ids: set[str] = set()  # steps that others took, or that were erased
        while True:
            now = self.home.clock.now()
            event = self._next_claim(
                agent,
                now,
                lost_ids,
                worker=name,
                lease=lease,
            )
            if event is None:
                return None
            if append_once(self.home.journal, [event]):
                return self._task(event.body["task_id"], now)
            lost_ids.add(event.id)

    def complete(
        self,
        task_id: str,
        result: Any = None,
        *,
        worker: Name = None,
        keep_secrets: bool = False,
    ) -> Task:
        """Report a task as done.

        After the end of the lease this is accepted as long as nobody has claimed the
        task again: the work is done, and to refuse it would only have it done twice.

        Args:
            task_id: The id of the task.
            result: A JSON value of up to maxTextBytes.
            worker: Who did it, by default the agent that the task was sent to.
            keep_secrets: Do not mask what looks like a secret.

        Raises:
            InvalidInput: For an unknown id, or where the worker does not hold the task.
                Then nothing was written.
        """
        return self._end(
            task_id,
            worker,
            "completed",
            "result",
            result,
            keep_secrets,
        )

    def fail(
        self,
        task_id: str,
        reason: str,
        *,
        worker: str | None = None,
        keep_secrets: bool = False,
    ) -> Task:
        """Report a task as failed; otherwise as `complete`.

        Args:
            task_id: The task.
            reason: Why it failed, which is its result.
            worker: Who worked on it, as in `complete`.
            keep_secrets: Do not mask what looks like a secret.

        Raises:
            InvalidInput: For a blank reason, and as `complete` does.
        """
        if not isinstance(reason, str) or not reason.strip():
            raise InvalidInput(
                f"got the reason {reason!r}; allowed is a text that says why the task"
                " failed"
            )
        return self._end(
            task_id,
            worker,
            "failed",
            "reason",
            reason,
            keep_secrets,
        )

    def _end(
        self,
        task_id: str,
        worker: Name,
        state: str,
        what: str,
        result: Any,
        keep_secrets: bool,
    ) -> Task:
        """Append the last step of a task.

        Args:
            task_id: The id of the task.
            worker: Who ends it, None for the agent.
            state: completed or failed.
            what: What the result is called in an error.
            result: A JSON value.
            keep_secrets: Do not mask what looks like a secret.
        """
        _check_json(result, what, self.home.settings.max_text_bytes)
        lost_id = ""  # of a step that another process took
        while True:
            now = self.home.clock.now()
            claim = self._claim_of(task_id, worker, now)
            body = {
                "worker": claim.body["worker"],
                "state": state,
                "result": result,
            }
            event = _step(
                "task_ended",
                task_id,
                claim.body["step"] + 1,
                body,
                agent=claim.agent,
                at=now,
            )
            if event.id == lost_id:
                raise _unknown(task_id)  # the step that stands in the way was erased
            with door(keep_secrets=keep_secrets):
                is_appended = append_once(self.home.journal, [event])
            if is_appended:
                return self._task(task_id, now)
            lost_id = event.id  # who holds the task is read again

    def _next_claim(
        self,
        agent: str,
        now: int,
        lost_ids: set[str],
        *,
        worker: str,
        lease: int,
    ) -> Event | None:
        """Return the claim of the agent's oldest task that may be claimed, or None.

        Args:
            agent: Whose tasks count.
            now: µs UTC.
            lost_ids: Ids of the steps that cannot be appended.
            worker: Who claims it.
            lease: For how long, µs.
        """
        lease_until = min(now + lease, LATEST)
        with self.home.views.reading(Tasks) as view:
            for row in view.rows_of(agent, now):
                standing = view.standing(row, now)
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
                if event.id not in lost_ids:
                    return event
        return None

    def _claim_of(
        self,
        task_id: str,
        worker: str | None,
        now: int,
    ) -> Event:
        """Return the latest step of a task, where it is a claim by this worker.

        Raises:
            InvalidInput: Where it is not.
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
        steps = self.home.journal.read(seqs=[standing.step_seq])
        if not steps:
            raise _unknown(task_id)
        claim = steps[0]
        name = claim.agent if worker is None else _check_worker(worker)
        if claim.body["worker"] != name:
            advice = "leave it to that worker"
            if standing.state == SUBMITTED:
                advice = "claim it first"
            raise InvalidInput(
                f"got the worker {name!r}; the task {task_id} was claimed by"
                f" {claim.body['worker']!r}: {advice}"
            )
        return claim

    def _standing(self, task_id: str, now: int) -> _Standing:
        """Return how a task stands, or raise InvalidInput for an unknown id."""
        if not isinstance(task_id, str) or not _TASK_ID.fullmatch(task_id):
            raise _unknown(task_id)
        with self.home.views.reading(Tasks) as view:
            row = view.find(task_id)
            if row is None:
                raise _unknown(task_id)
            return view.standing(row, now)

    def _task(self, task_id: str, now: int) -> Task:
        """Return a task, or raise InvalidInput for an unknown id."""
        tasks = self._read([self._standing(task_id, now)])
        if not tasks:
            raise _unknown(task_id)
        return tasks[0]

    def _read(self, standings: Sequence[_Standing]) -> list[Task]:
        """Return the tasks with their texts, without those erased meanwhile."""
        seqs: set[int] = set()
        for standing in standings:
            seqs.update((standing.seq, standing.step_seq))
        events = {
            event.seq: event for event in self.home.journal.read(seqs=sorted(seqs))
        }
        tasks = []
        for standing in standings:
            submission = events.get(standing.seq)
            last_step = events.get(standing.step_seq)
            if submission is not None and last_step is not None:
                tasks.append(_as_task(standing, submission, last_step))
        return tasks


def _check_json(
    value: Any,
    what: str,
    allowed: int,
) -> None:
    """Raise InvalidInput for a value that cannot be stored.

    It is no JSON, has too many bytes, or is nested too deeply to be read everywhere.

    Args:
        value: The value.
        what: What it is called in an error.
        allowed: The most bytes as JSON.
    """
    size = len(encode(value).encode())
    if size > allowed:
        limit = (
            f"allowed are up to {allowed} (setting maxTextBytes): shorten it, or name a"
            " file in it"
        )
        raise InvalidInput(f"got a {what} of {size} bytes as JSON; {limit}")
    level = [value]
    for _ in range(_MAX_NESTING + 1):
        level = _next_level(level)
        if not level:
            return
    raise InvalidInput(
        f"got a {what} nested deeper than {_MAX_NESTING} lists and objects; make it"
        " flatter"
    )


def _next_level(values: list[Any]) -> list[Any]:
    """Return what stands in these values that are lists or objects."""
    parts: list[Any] = []
    for value in values:
        if isinstance(value, dict):
            parts.extend(value.values())
        elif isinstance(value, list | tuple):
            parts.extend(value)
    return parts


def _step(
    kind: str,
    task_id: str,
    step: int,
    body: Body,
    *,
    agent: str,
    at: int,
) -> Event:
    """Return the event of a task's step, derived from the step before it."""
    lineage = [derived_event_id("task", task_id, step - 1)] if step else []
    return new_event(
        kind,
        {
            "task_id": task_id,
            "step": step,
            **body,
        },
        agent=agent,
        at=at,
        lineage=lineage,
        event_id=derived_event_id("task", task_id, step),
    )


def _as_task(
    standing: _Standing,
    submission: Event,
    last_step: Event,
) -> Task:
    """Return a task with the texts of its first and its last step."""
    is_held = standing.state == WORKING
    is_ended = standing.state in (COMPLETED, FAILED)
    progress: dict[str, Any] = {}
    if is_held or is_ended:
        progress["claimed_at"] = standing.claimed_at
        progress["worker"] = last_step.body["worker"]
    if is_ended:
        progress["completed_at"] = last_step.at
        progress["result"] = last_step.body["result"]
    if is_held:
        progress["lease_until"] = standing.lease_until
    body = submission.body
    return Task(
        id=body["task_id"],
        sender=body["from"],
        to=body["to"],
        type=body["type"],
        payload=body["payload"],
        state=STATES[standing.state],
        attempt=standing.attempt,
        created_at=submission.at,
        **progress,
    )


def _check_worker(worker: str) -> str:
    """Return the name of a worker, or raise InvalidInput where it is outside the rule."""
    return check_name(worker, _WORKER, "worker", "1 to 128 of A-Z a-z 0-9 . _ : -")


def _lease_microseconds(seconds: float) -> int:
    """Return a lease in µs, or raise InvalidInput where it is outside the rule."""
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not is_number or not 0 < seconds <= MAX_LEASE_SECONDS:
        raise InvalidInput(
            f"got a lease of {seconds!r} seconds; allowed is above 0 up to"
            f" {MAX_LEASE_SECONDS:,.0f}"
        )
    return max(1, round(seconds * 1_000_000))


def _unknown(task_id: object) -> InvalidInput:
    return InvalidInput(
        f"got the task id {task_id!r}, which is not known; `theorex tiers a2a-tasks` lists an"
        " agent's tasks"
    )
