"""The dispatcher: a task is routed, and a model is asked.

The result is on disk before the call returns.

`close_lost` describes whose a running call is, and when a call that has no END is given
up as lost.
"""

import hashlib
import os
import re
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import TypeGuard

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.files import exclusive, told
from theorex_lab.core.ids import derived_event_id, new_event_id
from theorex_lab.core.light_dataclass import dataclass
from theorex_lab.core.readable import Report
from theorex_lab.core.settings import NO_MODEL, Settings
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

    Attributes:
        context_pct: Share of the agent's context in use, 0 to 100.
        query_tokens: Length of the task, None to estimate it.
        tags: The tag `urgent` asks for a quick answer.
        outcome_id: The outcome that the trace is linked to, however it goes.
        keep_secrets: Whether secrets are sent and stored unmasked.
        check: Which an answer must pass, as `routing.cascade.checker` has it, None for
            none.
        cascade: A cheap model is asked first, and the strong one where its answer does
            not pass.
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


@dataclass(frozen=True, repr=False)
class DispatchResult(Report):
    """The result of a task.

    Attributes:
        model_used: '' where no model was called.
        latency_ms: The latency of the call that answered; None where none did.
        written_to_axon: Whether the answer is remembered.
        trace_id: None where no model was called.
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

    def _facts(self) -> tuple[str, ...]:
        outcome = "answered" if self.success else f"failed: {self.error}"
        return (self.model_used or "no model", outcome, self.trace_id or "")


class Dispatcher:
    """Hands tasks to models and keeps a trace of each call; threads may share it.

    Opening one closes, as lost, the traces of processes that have died (see
    `close_lost`).

    Args:
        home: The home of the traces.
        power: How the machine is powered, None to read it each time.
        ask: `dispatch.llm.ask` or its like.

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
        """Route the task, and ask a model and its fallbacks.

        Trace and answer are on disk when it returns. Below the setting
        dispatchContextPct nothing is called, and nothing is traced. A model whose answer
        does not pass the task's check has failed, and the next one is asked. Models that
        fail give a result without success. Whatever else is raised during the call
        (KeyboardInterrupt too) stands in the trace and is raised on.

        Raises:
            InvalidInput: For a task outside the rules.
            StorageError: Where the trace cannot be written.
        """
        checked = self.checked_task(task)
        with door(keep_secrets=checked.keep_secrets):
            return self._run(checked)

    def close_lost(self) -> list[str]:
        """Close the open traces whose process has died, and return their ids.

        See `close_lost` of this module.
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

    def checked_task(self, task: DispatchTask) -> DispatchTask:
        """Return the task as it is sent, with a trace id.

        Every rule is checked that its trace and its answer must meet.

        Raises:
            InvalidInput: For a task outside the rules.
        """
        if self._pid != os.getpid():
            self._begin()  # after a fork sockets and locks are the parent's
        now = self.home.clock.now()
        _check_values(task)
        if task.cascade and task.check is None:
            task = replace(task, check="not_empty")
        if task.check is not None:
            checker(task.check)
        # The model is sent what the trace keeps.
        with door(keep_secrets=task.keep_secrets) as scope:
            task = replace(
                task, task=kept_text(task.task), keep_secrets=scope.keeps_secrets
            )
        if task.outcome_id is not None:
            check_trace_id(task.outcome_id, "outcome")
        self._check_answer(task, now)
        task = replace(task, task=visible(task.task))
        if task.query_tokens is None:
            task = replace(task, query_tokens=estimated_tokens(task.task))
        if task.trace_id is None:
            return replace(task, trace_id=new_event_id(now))
        self._check_new(task.trace_id)
        return task

    def _check_answer(self, task: DispatchTask, now: int) -> None:
        """Raise InvalidInput where no answer to the task could be remembered.

        It is refused now, not after the model has answered.
        """
        tags = task.tags if isinstance(task.tags, str) else ["general", *task.tags]
        answer = ObservationEntry(
            "answer", task.agent_id, source="model", tags=tags, session=task.session
        )
        new_observation(answer, self.home.settings, now)

    def _check_new(self, trace_id: str) -> None:
        """Raise InvalidInput where the journal has a trace of this id."""
        start_id = derived_event_id("trace started", check_trace_id(trace_id))
        if self.home.journal.read(ids=[start_id], erased=True):
            raise InvalidInput(
                f"got the trace id {trace_id!r}, which is there already; every"
                " call needs its own"
            )

    def _run(self, task: DispatchTask) -> DispatchResult:
        """Route a checked task, ask the models, and keep the trace and the answer."""
        settings = self.home.settings
        least_pct = settings.dispatch_context_pct
        if task.context_pct < least_pct:
            used = f"{task.context_pct:g} % of the context is in use"
            error = f"nothing was called: {used}, dispatchContextPct is {least_pct:g}"
            return DispatchResult(task.id, "", "", None, False, False, None, error)
        decision = route_in(
            self.home,
            task.task,
            settings,
            power=self._power,
            agent=task.agent_id,
            urgent="urgent" in task.tags,
            query_tokens=task.query_tokens or 0,
        )
        names, reasons = _callable(decision, settings)
        if task.cascade:
            names, cascade_reason = self._cascaded(decision, names)
            reasons = (*reasons, cascade_reason)
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
            end, is_recorded = self._call(start, names, task)
        return DispatchResult(
            task.id,
            end.model,
            end.response,
            end.latency_ms,
            end.success,
            is_recorded and bool(end.kept),
            end.trace_id,
            end.error,
            reasons,
        )

    def _cascaded(self, decision: Decision, names: list[str]) -> tuple[list[str], str]:
        """Return the models with those of a cascade first, and the reason."""
        cascade = cascade_in(self.home, counted_type(decision.query_type), names)
        if cascade is None:
            return (
                names,
                "cascade: no two models whose costs and success are known make one",
            )
        ordered = dict.fromkeys([cascade.first, cascade.then, *names])
        return list(ordered), cascade.reason

    def _call(
        self, start: CallStart, names: Sequence[str], task: DispatchTask
    ) -> tuple[CallEnd, bool]:
        """Ask the models and append the END of the call.

        Returns:
            The END, and whether it was appended. It is not where another process has
            closed the trace meanwhile, its lock file being gone.
        """
        try:
            answer = self._checked(names, task, self.home.settings)
            end = self._end(start, answer)
            is_recorded = append_once(self.home.journal, [end.event(start), *end.kept])
        except BaseException as error:
            # An interruption too: a trace is written whatever happens.
            problem = " ".join(f"{type(error).__name__}: {error}".split())
            broken_end = CallEnd(
                start.trace_id, self.home.clock.now(), success=False, error=problem
            )
            append_once(self.home.journal, [broken_end.event(start)])
            raise
        return end, is_recorded

    def _start(
        self,
        task: DispatchTask,
        decision: Decision,
        *,
        reasons: tuple[str, ...],
        owner: Body,
        lost_after_seconds: float,
    ) -> CallStart:
        """Return the START of a call."""
        assert task.trace_id is not None
        assert task.query_tokens is not None
        return CallStart(
            task.trace_id,
            task.agent_id,
            self.home.clock.now(),
            task.task,
            decision.query_type,
            model=decision.model or "",
            session=task.session,
            tags=tuple(map(kept_text, task.tags)),
            reasons=reasons,
            context_pct=float(task.context_pct),
            query_tokens=task.query_tokens,
            outcome_id=task.outcome_id,
            owner=owner,
            lost_after_seconds=lost_after_seconds,
            project=self.home.project,
        )

    def _checked(
        self, names: Sequence[str], task: DispatchTask, settings: Settings
    ) -> ChainAnswer:
        """Return the first answer that passes the task's check.

        An answer that does not pass is a failed attempt that was paid for.
        """
        ask_models: Ask = self._ask or partial(ask, clients=self._clients)
        if task.check is None:
            if not names:
                return ChainAnswer(None, [])
            return ask_models(names, task.task, settings)
        passes = checker(task.check)
        attempts: list[Attempt] = []
        for name in names:
            answer = ask_models([name], task.task, settings)
            attempts += answer.attempts
            if answer.completion is None:
                continue
            if passes(answer.completion.text):
                return replace(answer, attempts=attempts)
            check_name = getattr(task.check, "__name__", task.check)
            problem = f"the answer did not pass the check {check_name}"
            attempts[-1] = replace(
                attempts[-1], success=False, latency_ms=None, error=problem
            )
        return ChainAnswer(None, attempts)

    def _end(self, start: CallStart, answer: ChainAnswer) -> CallEnd:
        """Return the END of a call, with the observation of its answer."""
        attempts = tuple(answer.attempts)
        end = CallEnd(
            start.trace_id,
            self.home.clock.now(),
            success=answer.completion is not None,
            model=attempts[-1].model if attempts else "",
            attempts=attempts,
        )
        if answer.completion is None:
            return replace(
                end,
                error=_why_none(attempts, self.home.settings),
                unavailable=all(attempt.unavailable for attempt in attempts),
            )
        last = attempts[-1]
        end = replace(
            end,
            prompt_tokens=last.prompt_tokens,
            completion_tokens=last.completion_tokens,
            tokens=last.tokens,
            latency_ms=answer.completion.latency_ms,
            response=clean(answer.completion.text),
        )
        return replace(end, kept=self._observed(start, end))

    def _observed(self, start: CallStart, end: CallEnd) -> tuple[Event, ...]:
        """Return the answer as an observation, derived from its trace.

        An answer that says nothing gives none.
        """
        most_bytes = self.home.settings.max_text_bytes
        text = end.response.strip().encode()[:most_bytes].decode("utf-8", "ignore")
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


def _why_none(attempts: Sequence[Attempt], settings: Settings) -> str:
    """Return why no model answered."""
    errors = "; ".join(f"{attempt.model}: {attempt.error}" for attempt in attempts)
    if errors:
        return clean(errors)
    if not settings.models:
        return NO_MODEL
    return "no model that fits has a url; name one in config.json, under models"


def _callable(
    decision: Decision, settings: Settings
) -> tuple[list[str], tuple[str, ...]]:
    """Return the models that can be called, in the order to try, and the reasons.

    The reasons are those of the decision, and which models were passed over.
    """
    ranked = list(dict.fromkeys([*filter(None, [decision.model]), *decision.fallbacks]))
    names = [name for name in ranked if settings.models[name].url is not None]
    passed_over = [name for name in ranked if name not in names]
    if not passed_over:
        return names, tuple(decision.reasons)
    reason = f"dispatch: no url is known of {', '.join(passed_over)}"
    return names, (*decision.reasons, reason)


def _check_values(task: DispatchTask) -> None:
    """Raise InvalidInput for a task whose numbers or text are outside the rules."""
    context_pct = task.context_pct
    if not isinstance(context_pct, int | float) or not 0 <= context_pct <= 100:
        raise InvalidInput(f"got a context of {context_pct!r} %; allowed is 0 to 100")
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
    """Return how long a call is waited for that nobody can see.

    It is counted from its START, and the call takes `longest_seconds` at most.

    >>> lost_after_seconds(30), lost_after_seconds(1_800)
    (3600.0, 18000.0)
    """
    return max(_SHORTEST_SECONDS, _LONGEST_TIMES * longest_seconds)


@contextmanager
def alive(folder: Path, at: int) -> Iterator[Body]:
    """Hold the lock of a call inside.

    It is a sign of life that the system gives back when the process dies. What a START
    says of its owner is yielded.

    Args:
        folder: Where the lock files are.
        at: µs UTC.

    Raises:
        StorageError: Where the lock file cannot be made.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with alive(Path(folder), 0) as owner:
    ...         held = [path.stem == owner["lock"] for path in Path(folder).iterdir()]
    ...     left = list(Path(folder).iterdir())
    >>> held, left
    ([True], [])
    """
    lock = f"{machine_hash()}-{new_event_id(at)}"
    draft = folder / f".{lock}"
    with ExitStack() as stack:
        with told(f"cannot lock {draft}", "make the folder one that can be written"):
            stack.enter_context(exclusive(draft, wait=True))
            # Named once it is locked, so that nobody ever finds the file of a living
            # process without its lock.
            if draft.exists():  # it does not where the system has no flock
                draft.rename(_lock_file(folder, lock))
        try:
            yield {"lock": lock}
        finally:
            # Without its lock a file says nothing; the next who opens removes it.
            with suppress(OSError):
                _lock_file(folder, lock).unlink(missing_ok=True)


def close_lost(views: Views, folder: Path, at: int) -> list[str]:
    """Close the open traces that are lost.

    A START names its owner by a lock file, which its process holds until the call has
    ended. The name begins with a hash of machine and container.

    - The lock is of this machine and container, and nobody holds it: the call is lost.
      The system gives a lock back when a process dies. A child that was forked during a
      call holds it too.
    - The lock is of another machine or container, or the system has no such locks: the
      call is lost once `lost_after_seconds` have passed since its START. The START
      states them: ten times what the call may take at most, and an hour at least, since
      clocks differ and machines are suspended.
    - Nobody is named, as in a trace that was imported: the call is lost.

    Args:
        views: The views of the home.
        folder: Where the owners' lock files are. Those of this machine and container
            that nobody holds are removed.
        at: µs UTC.

    Returns:
        The ids of the closed traces, in the order of their STARTs.
    """
    with views.reading(Traces) as view:
        ids = [derived_event_id("trace started", trace_id) for trace_id in view.open]
    closed_ids = []
    for start in views.journal.read(ids=ids):
        with _given_up(start, folder, at) as problem:
            # An END that another process has appended meanwhile stays.
            if problem and _close(views, start, problem, at):
                closed_ids.append(start.body["trace_id"])
    for path in folder.glob(f"{machine_hash()}-*.lock"):
        with _is_free(folder, path.stem):
            pass
    return closed_ids


def _close(views: Views, start: Event, problem: str, at: int) -> bool:
    """Append the END of a lost call; return False where it has ended meanwhile."""
    body = start.body
    call = CallStart(
        body["trace_id"],
        start.agent,
        start.at,
        "",
        body["query_type"],
        session=start.session,
    )
    end = CallEnd(
        call.trace_id,
        at,
        success=False,
        model=body["model"] or "",
        error=problem,
        lost=True,
    )
    return append_once(views.journal, [end.event(call)])


@contextmanager
def _given_up(start: Event, folder: Path, at: int) -> Iterator[str]:
    """Yield why the call is lost, '' where it is not; its lock is held meanwhile."""
    owner = start.body.get("owner")
    if not isinstance(owner, dict):
        yield LOST
        return
    lock = owner.get("lock")
    if _is_visible(lock):
        with _is_free(folder, lock) as is_free:
            yield LOST if is_free else ""
        return
    seconds = (at - start.at) / 1e6
    yield OUT_OF_SIGHT if seconds > start.body["lost_after_seconds"] else ""


def _is_visible(lock: object) -> TypeGuard[str]:
    """Return whether this process would see that another holds the lock."""
    if not _HAS_FLOCK or not isinstance(lock, str) or not _LOCK.fullmatch(lock):
        return False
    return lock.startswith(machine_hash())


@contextmanager
def _is_free(folder: Path, lock: str) -> Iterator[bool]:
    """Yield whether nobody holds the lock.

    A free one is held meanwhile, and its file is removed.
    """
    path = _lock_file(folder, lock)
    with ExitStack() as stack:
        try:
            is_free = stack.enter_context(exclusive(path, wait=False))
        except OSError:  # another user's, for instance
            is_free = False
        yield is_free
        if is_free:
            with suppress(OSError):  # it is tried again when a home is opened
                path.unlink(missing_ok=True)


def _lock_file(folder: Path, lock: str) -> Path:
    return folder / f"{lock}.lock"


@cache
def machine_hash() -> str:
    """Return a hash of the machine and the container.

    The locks of processes are visible inside both.

    >>> len(machine_hash()), machine_hash() == machine_hash()
    (16, True)
    """
    machine = ""
    for file in map(Path, _MACHINE_FILES):
        if file.is_file():
            machine = file.read_text().strip()
        if machine:
            break
    container = str(_PID_NAMESPACE.stat().st_ino) if _PID_NAMESPACE.exists() else ""
    text = "\x1f".join((machine, socket.gethostname(), container))
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]
