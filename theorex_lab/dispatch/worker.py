"""The dispatcher: a task is routed, a model is asked, and what came of it is on disk
before the call returns.

Whose a running call is, and when a call that has no END is given up as lost, is told at
`close_lost`.
"""

import hashlib
import os
import re
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.files import exclusive, told
from theorex_lab.core.ids import derived_event_id, new_event_id
from theorex_lab.core.settings import Settings
from theorex_lab.dispatch.bus import CallEnd, CallStart, check_trace_id, clean
from theorex_lab.dispatch.llm import Attempt, ChainAnswer, ModelClient, ask
from theorex_lab.dispatch.traces import Traces
from theorex_lab.journal.base import append_once
from theorex_lab.journal.event import Body, Event
from theorex_lab.journal.view import Views
from theorex_lab.memory.contract import Home
from theorex_lab.memory.evidence import counted_type
from theorex_lab.memory.observation import (
    DEFAULT_TYPE,
    ObservationEntry,
    new_observation,
)
from theorex_lab.routing.cascade import Check, cascade_in, checker
from theorex_lab.routing.energy import Power
from theorex_lab.routing.heuristic import estimated_tokens
from theorex_lab.routing.router import Decision, route_in
from theorex_lab.text.redact.redaction_scope import door, kept_text
from theorex_lab.text.visible import visible

LARGEST_TASK_BYTES = 1 << 20
Ask = Callable[[Sequence[str], str, Settings], ChainAnswer]


@dataclass(frozen=True)
class DispatchTask:
    """A task for a model.

    `context_pct`: share of the agent's context in use, 0 to 100; `query_tokens`: length
    of the task, None to estimate it; the tag `urgent` asks for a quick answer;
    `outcome_id`: the outcome that the trace is linked to, however it goes;
    `keep_secrets`: neither what is sent nor what is kept is masked; `check`: which an
    answer must pass, as `cascade.checker` has it, None for none; `cascade`: a cheap
    model is asked first, and the strong one where its answer does not pass.
    """

    id: str
    agent_id: str
    task: str
    context_pct: float = 50.0
    query_tokens: int | None = None
    tags: Sequence[str] = ()
    outcome_id: str | None = None
    trace_id: str | None = None
    session: str = ""
    keep_secrets: bool = False
    check: Check | None = None
    cascade: bool = False


@dataclass(frozen=True)
class DispatchResult:
    """What came of a task; `trace_id` is None and `model_used` '' where no model was
    called.

    `latency_ms`: of the call that answered, None where none did; `written_to_axon`:
    whether the answer is remembered.
    """

    task_id: str
    model_used: str
    response: str
    latency_ms: float | None
    success: bool
    written_to_axon: bool
    trace_id: str | None
    error: str | None
    reasons: tuple[str, ...] = ()


class Dispatcher:
    """Hands tasks to models and keeps a trace of each call; threads may share it.

    Opening one closes, as lost, the traces of processes that have died (see
    `close_lost`). `power`: how the machine is powered, None to look each time; `ask`:
    `dispatch.llm.ask` or its like.

    >>> from theorex_lab import Lab
    >>> with Lab.temporary() as lab:
    ...     result = lab.dispatcher.dispatch(
    ...         DispatchTask("1", "main", "add 2 and 2", context_pct=20)
    ...     )
    >>> result.success, result.trace_id, result.error
    (False, None, 'nothing was called: 20 % of the context is in use, dispatchContextPct is 50')
    """

    def __init__(
        self, home: Home, *, power: Power | None = None, ask: Ask | None = None
    ) -> None:
        self.home = home
        self._power = power
        self._calls = home.folder / "calls"
        self._ask = ask
        self._begin()
        self.close_lost()

    def dispatch(self, task: DispatchTask) -> DispatchResult:
        """Route the task, ask a model and its fallbacks, and return when trace and
        answer are on disk.

        Below the setting dispatchContextPct nothing is called, and nothing is traced. A
        model whose answer does not pass the task's check has failed, and the next one
        is asked. Models that fail give a result without success; whatever else is
        raised during the call (KeyboardInterrupt too) stands in the trace and is raised
        on. Raises InvalidInput for a task outside the rules, StorageError where the
        trace cannot be written.
        """
        checked = self._check(task)
        with door(keep_secrets=checked.keep_secrets):
            return self._run(checked)

    def close_lost(self) -> list[str]:
        """Close the open traces whose process has died; returns their ids. See
        `close_lost` of this module.
        """
        return close_lost(self.home.views, self._calls, self.home.clock.now())

    def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        if self._pid == os.getpid():
            while self._clients:
                self._clients.popitem()[1].close()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._clients: dict[str, ModelClient] = {}

    def _check(self, task: DispatchTask) -> DispatchTask:
        """The task with a trace id, once every rule holds that its trace and its answer
        must meet.
        """
        if self._pid != os.getpid():
            self._begin()  # after a fork sockets and locks are the parent's
        now = self.home.clock.now()
        _check_given(task)
        if task.cascade and task.check is None:
            task = replace(task, check="not_empty")
        if task.check is not None:
            checker(task.check)
        with door(
            keep_secrets=task.keep_secrets
        ) as here:  # the model is sent what the trace keeps
            task = replace(
                task, task=kept_text(task.task), keep_secrets=here.keeps_secrets
            )
        if task.outcome_id is not None:
            check_trace_id(task.outcome_id, "outcome")
        # Refused now, not after the model has answered.
        tags = task.tags if isinstance(task.tags, str) else ["general", *task.tags]
        answer = ObservationEntry(
            "answer", task.agent_id, source="model", tags=tags, session=task.session
        )
        new_observation(answer, self.home.settings, now)
        task = replace(task, task=visible(task.task))
        if task.query_tokens is None:
            task = replace(task, query_tokens=estimated_tokens(task.task))
        if task.trace_id is None:
            return replace(task, trace_id=new_event_id(now))
        if self.home.journal.read(
            ids=[derived_event_id("trace started", check_trace_id(task.trace_id))],
            erased=True,
        ):
            raise InvalidInput(
                f"got the trace id {task.trace_id!r}, which is there already; every"
                " call needs its own"
            )
        return task

    def _run(self, task: DispatchTask) -> DispatchResult:
        if task.context_pct < (limit := self.home.settings.dispatch_context_pct):
            used = f"{task.context_pct:g} % of the context is in use"
            error = f"nothing was called: {used}, dispatchContextPct is {limit:g}"
            return DispatchResult(task.id, "", "", None, False, False, None, error)
        settings = self.home.settings
        how = {
            "agent": task.agent_id,
            "urgent": "urgent" in task.tags,
            "query_tokens": task.query_tokens,
        }
        decision = route_in(self.home, task.task, settings, power=self._power, **how)
        names, reasons = _callable(decision, settings)
        if task.cascade:
            pair = cascade_in(self.home, counted_type(decision.query_type), names)
            names = list(
                dict.fromkeys([*([pair.first, pair.then] if pair else []), *names])
            )
            none = "cascade: no two models whose costs and success are known make one"
            reasons = (*reasons, pair.reason if pair else none)
        with alive(self._calls, self.home.clock.now()) as owner:
            given_up = lost_after_seconds(len(names) * settings.model_timeout_seconds)
            start = self._start(
                task,
                decision,
                reasons=reasons,
                owner=owner,
                lost_after_seconds=given_up,
            )
            self.home.journal.append([start.event()])
            try:
                end = self._end(start, self._checked(names, task, settings))
                # False where another process has closed the trace meanwhile, its lock
                # file being gone.
                recorded = append_once(self.home.journal, [end.event(start), *end.kept])
            except (
                BaseException
            ) as error:  # an interruption too: a trace is written whatever happens
                what = " ".join(f"{type(error).__name__}: {error}".split())
                broken = CallEnd(
                    start.trace_id, self.home.clock.now(), success=False, error=what
                )
                append_once(self.home.journal, [broken.event(start)])
                raise
        written = recorded and bool(end.kept)
        said = end.model, end.response, end.latency_ms, end.success
        return DispatchResult(task.id, *said, written, end.trace_id, end.error, reasons)

    def _start(self, task: DispatchTask, decision: Decision, **known: Any) -> CallStart:
        assert task.trace_id is not None
        asked = (
            task.trace_id,
            task.agent_id,
            self.home.clock.now(),
            task.task,
            decision.query_type,
        )
        known |= {
            "session": task.session,
            "tags": tuple(map(kept_text, task.tags)),
            "outcome_id": task.outcome_id,
        }
        known |= {
            "context_pct": float(task.context_pct),
            "query_tokens": task.query_tokens,
        }
        return CallStart(
            *asked, model=decision.model or "", project=self.home.project, **known
        )

    def _checked(
        self, names: Sequence[str], task: DispatchTask, settings: Settings
    ) -> ChainAnswer:
        """The first answer that passes the task's check; one that does not is a failed
        attempt that was paid for.
        """
        asks: Ask = self._ask or partial(ask, clients=self._clients)
        if task.check is None:
            return asks(names, task.task, settings) if names else ChainAnswer(None, [])
        attempts: list[Attempt] = []
        for name in names:
            answer = asks([name], task.task, settings)
            attempts += answer.attempts
            if answer.completion is not None and checker(task.check)(
                answer.completion.text
            ):
                return replace(answer, attempts=attempts)
            if answer.completion is not None:
                failed = (
                    "the answer did not pass the check"
                    f" {getattr(task.check, '__name__', task.check)}"
                )
                attempts[-1] = replace(
                    attempts[-1], success=False, latency_ms=None, error=failed
                )
        return ChainAnswer(None, attempts)

    def _end(self, start: CallStart, answer: ChainAnswer) -> CallEnd:
        attempts = tuple(answer.attempts)
        completion = answer.completion
        model = attempts[-1].model if attempts else ""
        end = CallEnd(
            start.trace_id,
            self.home.clock.now(),
            success=completion is not None,
            model=model,
            attempts=attempts,
        )
        if completion is None:
            tried = "; ".join(
                f"{attempt.model}: {attempt.error}" for attempt in attempts
            )
            error = (
                clean(tried)
                or "no model that fits has a url; name one in config.json, under models"
            )
            return replace(
                end,
                error=error,
                unavailable=all(attempt.unavailable for attempt in attempts),
            )
        amounts: Any = {
            name: getattr(attempts[-1], name)
            for name in ("prompt_tokens", "completion_tokens", "tokens")
        }
        end = replace(
            end,
            **amounts,
            latency_ms=completion.latency_ms,
            response=clean(completion.text),
        )
        return replace(end, kept=self._observed(start, end))

    def _observed(self, start: CallStart, end: CallEnd) -> tuple[Event, ...]:
        """The answer as an observation, derived from its trace; none where it says
        nothing.
        """
        text = (
            end.response.strip()
            .encode()[: self.home.settings.max_text_bytes]
            .decode("utf-8", "ignore")
        )
        if not text.strip():
            return ()
        entry = ObservationEntry(
            text,
            start.agent,
            end.at,
            DEFAULT_TYPE,
            "model",
            start.all_tags,
            start.session,
            start.project,
        )
        event, _ = new_observation(entry, self.home.settings, end.at)
        return (event._replace(lineage=(end.event_id, start.event_id)),)


def _callable(
    decision: Decision, settings: Settings
) -> tuple[list[str], tuple[str, ...]]:
    """The models that can be called, in the order to try, and the decision's reasons
    with what was passed over.
    """
    ranked = list(dict.fromkeys([*filter(None, [decision.model]), *decision.fallbacks]))
    names = [name for name in ranked if settings.models[name].url is not None]
    passed_over = [name for name in ranked if name not in names]
    note = (
        [f"dispatch: no url is known of {', '.join(passed_over)}"]
        if passed_over
        else []
    )
    return names, (*decision.reasons, *note)


def _check_given(task: DispatchTask) -> None:
    if (
        not isinstance(task.context_pct, int | float)
        or not 0 <= task.context_pct <= 100
    ):
        raise InvalidInput(
            f"got a context of {task.context_pct!r} %; allowed is 0 to 100"
        )
    tokens = task.query_tokens
    if tokens is not None and (type(tokens) is not int or tokens < 0):
        raise InvalidInput(
            f"got {tokens!r} query tokens; allowed are whole numbers from 0, or None to"
            " estimate them"
        )

    if not isinstance(task.task, str) or not visible(task.task).strip():
        raise InvalidInput(
            f"got the task {task.task!r}; allowed is a text that says something"
        )
    try:
        size = len(task.task.encode())
    except UnicodeEncodeError as error:
        got = f"half a surrogate pair at position {error.start} of the task"
        raise InvalidInput(f"got {got}; allowed is whole Unicode text") from error
    if size > LARGEST_TASK_BYTES:
        raise InvalidInput(
            f"got a task of {size} bytes; allowed are up to {LARGEST_TASK_BYTES}: send"
            " its parts"
        )


LOST = "the process ended during the call"
OUT_OF_SIGHT = "no end came, and nobody here can see the process that made the call"
_LOCK = re.compile(r"[0-9a-f]{16}-[0-9a-f-]{36}")
_LONGEST_TIMES = 10.0
_SHORTEST_SECONDS = 3_600.0
# Containers often have no number of their machine, and may be given one name on
# several: then a boot tells them apart.
_MACHINE_FILES = (
    "/etc/machine-id",
    "/var/lib/dbus/machine-id",
    "/proc/sys/kernel/random/boot_id",
)
_HAS_FLOCK = find_spec("fcntl") is not None
_PID_NAMESPACE = Path("/proc/self/ns/pid")


def lost_after_seconds(longest_seconds: float) -> float:
    """How long after its START a call is waited for that nobody can see, where it takes
    `longest_seconds` at most.

    >>> lost_after_seconds(30), lost_after_seconds(1_800)
    (3600.0, 18000.0)
    """
    return max(_SHORTEST_SECONDS, _LONGEST_TIMES * longest_seconds)


@contextmanager
def alive(folder: Path, at: int) -> Iterator[Body]:
    """Hold the lock of a call inside: a sign of life that the system gives back when
    the process dies.

    Yields what a START says of its owner; `at`: µs UTC. Raises StorageError where the
    lock file cannot be made.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with alive(Path(folder), 0) as owner:
    ...         held = [path.stem == owner["lock"] for path in Path(folder).iterdir()]
    ...     left = list(Path(folder).iterdir())
    >>> held, left
    ([True], [])
    """
    lock = f"{this_place()}-{new_event_id(at)}"
    draft = folder / f".{lock}"
    with ExitStack() as held:
        with told(f"cannot lock {draft}", "make the folder one that can be written"):
            held.enter_context(exclusive(draft, wait=True))
            # Named once it is locked, so that nobody ever finds the file of a living
            # process without its lock.
            if draft.exists():  # it does not where the system has no flock
                draft.rename(_lock_file(folder, lock))
        try:
            yield {"lock": lock}
        finally:
            with suppress(
                OSError
            ):  # without its lock a file says nothing; the next who opens removes it
                _lock_file(folder, lock).unlink(missing_ok=True)


def close_lost(views: Views, folder: Path, at: int) -> list[str]:
    """Close the open traces that are lost; returns their ids, in the order of their
    STARTs.

    A START names its owner by a lock file, which its process holds until the call has
    ended; in the name is the place, a hash of machine and container.

    - The lock is of this place and nobody holds it: the call is lost. The system gives
      a lock back when a process dies; a
      child that was forked during a call holds it too.
    - The lock is of another place, or the system has no such locks: the call is lost
      once
      `lost_after_seconds` have passed since its START. The START states them: ten times
      what the call may take at most, and an hour at least, since clocks differ and
      machines sleep.
    - Nobody is named, as in a trace that was imported: the call is lost.

    `folder`: where the owners' lock files are; those of this place that nobody holds
    are removed. `at`: µs UTC.
    """
    with views.reading(Traces) as view:
        ids = [derived_event_id("trace started", trace_id) for trace_id in view.open]
    closed = []
    for start in views.journal.read(ids=ids):
        with _given_up(start, folder, at) as problem:
            body = start.body
            begun = CallStart(
                body["trace_id"],
                start.agent,
                start.at,
                "",
                body["query_type"],
                session=start.session,
            )
            end = CallEnd(
                begun.trace_id,
                at,
                success=False,
                model=body["model"] or "",
                error=problem,
                lost=True,
            )
            if problem and append_once(
                views.journal, [end.event(begun)]
            ):  # else it has ended meanwhile
                closed.append(begun.trace_id)
    for path in folder.glob(f"{this_place()}-*.lock"):
        with _is_free(folder, path.stem):
            pass
    return closed


@contextmanager
def _given_up(start: Event, folder: Path, at: int) -> Iterator[str]:
    """Why the call is lost, '' where it is not; its lock is held meanwhile."""
    owner = start.body.get("owner")
    lock = owner.get("lock") if isinstance(owner, dict) else None
    if not isinstance(owner, dict):
        yield LOST
    elif (
        _HAS_FLOCK
        and isinstance(lock, str)
        and _LOCK.fullmatch(lock)
        and lock.startswith(this_place())
    ):
        with _is_free(folder, lock) as free:
            yield LOST if free else ""
    else:
        yield (
            OUT_OF_SIGHT
            if (at - start.at) / 1e6 > start.body["lost_after_seconds"]
            else ""
        )


@contextmanager
def _is_free(folder: Path, lock: str) -> Iterator[bool]:
    """Whether nobody holds the lock; it is held meanwhile, and its file is removed."""
    path = _lock_file(folder, lock)
    with ExitStack() as held:
        try:
            free = held.enter_context(exclusive(path, wait=False))
        except OSError:  # another user's, for instance
            free = False
        yield free
        if free:
            with suppress(OSError):  # it is tried again when a home is opened
                path.unlink(missing_ok=True)


def _lock_file(folder: Path, lock: str) -> Path:
    return folder / f"{lock}.lock"


@cache
def this_place() -> str:
    """A hash of the machine and the container, in which the locks of processes are
    seen.

    >>> len(this_place()), this_place() == this_place()
    (16, True)
    """
    stated = (
        file.read_text().strip() for file in map(Path, _MACHINE_FILES) if file.is_file()
    )
    machine = next(filter(None, stated), "")
    container = str(_PID_NAMESPACE.stat().st_ino) if _PID_NAMESPACE.exists() else ""
    place = "\x1f".join((machine, socket.gethostname(), container))
    return hashlib.sha256(place.encode("utf-8", "surrogateescape")).hexdigest()[:16]
