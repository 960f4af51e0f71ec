"""A call of a model as messages START, TOOL and END of one trace id, and the recorder that writes them down.

A trace whose process died stays open in the journal until `close_lost` finds that nobody holds its owner's lock.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from theorex_lab.errors import AlreadyThere, InvalidInput, StorageError
from theorex_lab.ids import check_session, derived_event_id, new_event_id
from theorex_lab.journal.event import Event, new_event
from theorex_lab.journal.files import exclusive
from theorex_lab.journal.sqlite import Journal

if TYPE_CHECKING:
    from theorex_lab.dispatch.llm import Attempt
    from theorex_lab.journal.view import Views

TASK_CHARACTERS = 4_000
RESPONSE_CHARACTERS = 2_000
ERROR_CHARACTERS = 1_000
TOOL_CHARACTERS, TOOL_INPUT_CHARACTERS, TOOL_RESPONSE_CHARACTERS = 128, 300, 500
LOST = "the process ended during the call"
_OWNER = re.compile(r"[0-9a-f-]{36}")


@dataclass(frozen=True)
class Start:
    """A model is about to be called. `at`: µs UTC; `model`: the first choice; `owner`: whose lock shows that it lives."""

    trace_id: str
    agent: str
    at: int
    task: str
    query_type: str
    model: str = ""
    session: str = ""
    tags: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    context_pct: float = 0.0
    query_tokens: int = 0
    outcome_id: str | None = None
    owner: str = ""

    @property
    def event_id(self) -> str:
        """The id of its event: a trace starts once."""
        return derived_event_id("trace started", self.trace_id)

    @property
    def all_tags(self) -> list[str]:
        """The query type, then the other tags."""
        return list(dict.fromkeys([self.query_type, *self.tags]))

    def event(self) -> Event:
        """The `trace_started` event."""
        body = {
            "trace_id": self.trace_id,
            "task": preview(self.task, TASK_CHARACTERS),
            "query_type": self.query_type,
            "tags": self.all_tags,
            "model": self.model,
            "reasons": list(self.reasons),
            "context_pct": self.context_pct,
            "query_tokens": self.query_tokens,
            "outcome_id": self.outcome_id,
            "owner": self.owner,
        }
        return new_event(
            "trace_started", body, agent=self.agent, session=self.session, at=self.at, event_id=self.event_id
        )


@dataclass(frozen=True)
class Tool:
    """A tool was used during a call; `input` and `response` are kept as previews of 300 and 500 characters."""

    trace_id: str
    at: int
    tool: str
    input: str = ""
    response: str = ""

    def event(self, start: Start) -> Event:
        """The `tool_used` event, as the hook would write it, with the trace that it belongs to."""
        body = {
            "tool": preview(self.tool, TOOL_CHARACTERS),
            "input": preview(self.input, TOOL_INPUT_CHARACTERS),
            "response": preview(self.response, TOOL_RESPONSE_CHARACTERS),
            "source": "tool",
            "trace_id": self.trace_id,
        }
        return new_event(
            "tool_used", body, agent=start.agent, session=start.session, at=self.at, lineage=[start.event_id]
        )


@dataclass(frozen=True)
class End:
    """How a call went. `model`: which answered, else the last that was tried; `latency_ms`: None where none answered.

    `kept`: events that are appended together with this one, or not at all.
    """

    trace_id: str
    at: int
    success: bool
    model: str = ""
    tokens: int | None = None
    latency_ms: float | None = None
    error: str | None = None
    response: str = ""
    attempts: tuple[Attempt, ...] = ()
    lost: bool = False
    kept: tuple[Event, ...] = ()

    @property
    def event_id(self) -> str:
        """The id of its event: a trace ends once."""
        return derived_event_id("trace ended", self.trace_id)

    def event(self, start: Start) -> Event:
        """The `trace_ended` event."""
        body = {
            "trace_id": self.trace_id,
            "query_type": start.query_type,
            "outcome_id": start.outcome_id,
            "success": self.success,
            "lost": self.lost,
            "model": self.model,
            "tokens": self.tokens,
            "latency_ms": self.latency_ms,
            "error": _error(self.error),
            "response": preview(self.response, RESPONSE_CHARACTERS),
            "attempts": [{**asdict(each), "error": _error(each.error)} for each in self.attempts],
        }
        return new_event(
            "trace_ended",
            body,
            agent=start.agent,
            session=start.session,
            at=self.at,
            lineage=[start.event_id],
            event_id=self.event_id,
        )


Message = Start | Tool | End
Subscriber = Callable[[Message, Start], None]


class EventBus:
    """Hands messages to subscribers in the order of their subscription, each with the START of its trace.

    START and END are paired by trace id, so that calls of one agent may overlap. Threads may share a bus.

    >>> bus, heard = EventBus(), []
    >>> bus.subscribe(lambda message, start: heard.append(type(message).__name__))
    >>> bus.publish(End("a", at=1, success=True))
    False
    >>> bus.publish(Start("a", "main", at=0, task="add 2 and 2", query_type="math"))
    True
    >>> bus.publish(End("a", at=1, success=True)), heard
    (True, ['Start', 'End'])
    """

    def __init__(self) -> None:
        self._open: dict[str, Start] = {}
        self._subscribers: list[Subscriber] = []

    def subscribe(self, subscriber: Subscriber) -> None:
        """Hand every later message to `subscriber` too."""
        self._subscribers.append(subscriber)

    def publish(self, message: Message) -> bool:
        """Hand the message on; False, and nobody hears it, where it belongs to no open trace.

        Raises InvalidInput for a second START of an open id or an id outside the rule, and what a subscriber raises:
        then a START opened nothing, and an END may be published again.
        """
        if isinstance(message, Start):
            return self._started(message)
        if isinstance(message, Tool):
            start = self._open.get(message.trace_id)
            if start is not None:
                self._hand_on(message, start)
            return start is not None
        return self._ended(message)

    def _started(self, start: Start) -> bool:
        if self._open.setdefault(check_trace_id(start.trace_id), start) is not start:
            raise InvalidInput(f"got a second start of the trace {start.trace_id!r}; every call needs an id of its own")
        try:
            self._hand_on(start, start)
        except BaseException:  # whatever broke, a call that was not recorded is not open
            self._open.pop(start.trace_id, None)
            raise
        return True

    def _ended(self, end: End) -> bool:
        start = self._open.pop(end.trace_id, None)
        if start is None:
            return False
        try:
            self._hand_on(end, start)
        except AlreadyThere:
            raise  # it is over
        except BaseException:  # whatever broke, a call whose END was not recorded is still open
            self._open[end.trace_id] = start
            raise
        return True

    def _hand_on(self, message: Message, start: Start) -> None:
        for subscriber in self._subscribers:
            subscriber(message, start)


def recorder(journal: Journal) -> Subscriber:
    """A subscriber that appends each message to the journal before `publish` returns.

    It raises AlreadyThere where the trace was started, or ended, before: by this process or another.
    """

    def record(message: Message, start: Start) -> None:
        if isinstance(message, Start):
            journal.append([message.event()])
        elif isinstance(message, Tool):
            journal.append([message.event(start)])
        else:
            journal.append([message.event(start), *message.kept])

    return record


class Owner:
    """A process's sign of life while it has open traces: a lock that the system gives back when the process dies.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Owner(Path(folder)).alive(0) as owner:
    ...         held = [path.stem == owner for path in Path(folder).iterdir()]
    ...     left = list(Path(folder).iterdir())
    >>> held, left
    ([True], [])
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._guard = threading.Lock()
        self._id, self._calls, self._held = "", 0, ExitStack()

    @contextmanager
    def alive(self, at: int) -> Iterator[str]:
        """Hold the lock inside; calls that overlap share it. Yields the owner's id; `at`: µs UTC.

        Raises StorageError where the lock file cannot be made.
        """
        with self._guard:
            if self._calls == 0:
                self._take(at)
            self._calls += 1
            owner = self._id
        try:
            yield owner
        finally:
            with self._guard:
                self._calls -= 1
                if self._calls == 0:
                    self._give_back()

    def _take(self, at: int) -> None:
        self._id = new_event_id(at)
        draft = self._folder / f".{self._id}"
        try:
            self._held.enter_context(exclusive(draft, wait=True))
            # Named once it is locked, so that nobody ever finds the file of a living process without its lock.
            if draft.exists():  # it does not where the system has no flock
                draft.rename(_lock_file(self._folder, self._id))
        except OSError as error:
            self._held.close()
            raise StorageError(
                f"cannot lock {draft}: {error.strerror}; make the folder one that can be written"
            ) from error

    def _give_back(self) -> None:
        _lock_file(self._folder, self._id).unlink(missing_ok=True)
        self._held.close()


def close_lost(views: Views, folder: Path, at: int) -> list[str]:
    """Close, as lost, the open traces whose process has died; returns their ids.

    `folder`: where the owners' lock files are; those of the dead are removed. A trace whose owner lives is left alone.
    Where the system has no flock (Windows) nobody can tell, and nothing is closed.
    """
    from theorex_lab.memory.traces import Traces, open_traces

    if os.name == "nt":
        return []
    view = views.get(Traces)
    by_owner: dict[str, list[str]] = {path.stem: [] for path in folder.glob("*.lock")}
    with view.lock:
        for trace_id, owner in open_traces(view):
            by_owner.setdefault(owner, []).append(trace_id)
    closed: list[str] = []
    for owner, trace_ids in by_owner.items():
        with _dead(folder, owner) as dead:
            if dead:
                closed += [trace_id for trace_id in trace_ids if _close(views.journal, trace_id, at)]
    return closed


@contextmanager
def _dead(folder: Path, owner: str) -> Iterator[bool]:
    """Whether the owner has died; its lock is held meanwhile, and its file is removed."""
    if not _OWNER.fullmatch(owner):  # such an id names no file, so that nobody can hold its lock
        yield True
        return
    path = _lock_file(folder, owner)
    with exclusive(path, wait=False) as held:
        yield held
        if held:
            path.unlink(missing_ok=True)


def _close(journal: Journal, trace_id: str, at: int) -> bool:
    """Append the END of a lost trace; False where it has ended meanwhile or was erased."""
    found = journal.read(ids=[derived_event_id("trace started", trace_id)])
    if not found or found[0].erased:
        return False
    started, body = found[0], found[0].body
    start = Start(trace_id, started.agent, started.at, "", body["query_type"], session=started.session)
    end = End(trace_id, at, success=False, model=body["model"] or "", error=LOST, lost=True)
    try:
        journal.append([end.event(start)])
    except AlreadyThere:
        return False
    return True


def check_trace_id(trace_id: str) -> str:
    """Return `trace_id`, or raise InvalidInput where it is outside the rule.

    >>> check_trace_id("run-7:a")
    'run-7:a'
    """
    return _checked_id(trace_id, "trace")


def check_outcome_id(outcome_id: str) -> str:
    """Return `outcome_id`, or raise InvalidInput where it is outside the rule, which is that of trace ids.

    >>> check_outcome_id("o-1")
    'o-1'
    """
    return _checked_id(outcome_id, "outcome")


def _checked_id(given: str, what: str) -> str:
    try:
        allowed = bool(check_session(given))
    except InvalidInput:
        allowed = False
    if not allowed:
        raise InvalidInput(f"got the {what} id {given!r}; allowed are 1 to 128 of A-Z a-z 0-9 . _ : -")
    return given


def clean(text: str) -> str:
    """The text with ? for what cannot be stored: NUL, and halves of surrogate pairs.

    >>> clean("four\\0letters")
    'four?letters'
    """
    return text.replace("\0", "?").encode("utf-8", "replace").decode()


def preview(text: str, limit: int) -> str:
    """At most `limit` characters of a text, … at its cut, without what cannot be stored.

    >>> preview("four letters", 6)
    'four …'
    """
    return clean(text if len(text) <= limit else text[: limit - 1] + "…")


def _error(error: str | None) -> str | None:
    return None if error is None else preview(error, ERROR_CHARACTERS)


def _lock_file(folder: Path, owner: str) -> Path:
    return folder / f"{owner}.lock"
