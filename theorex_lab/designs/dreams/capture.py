"""Capture trajectories by hand.

Each action is in the journal when the call returns, so that a killed process loses
none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import check_agent, new_event_id
from theorex_lab.designs.dreams import (
    DEFAULT_DOMAIN,
    FIDELITY,
    Ended,
    Fault,
    Level,
)
from theorex_lab.designs.dreams.opcodes import LATEST, get_registry
from theorex_lab.dispatch.bus import clean
from theorex_lab.memory.contract import DesignApi, Home
from theorex_lab.memory.observation import TRUST, check_tags

P = ParamSpec("P")
R = TypeVar("R")
_CHARACTERS = {"reasoning": 2_000, "action": 8_000, "result": 4_000}
_GOAL_CHARACTERS = 2_000
_ERROR_CHARACTERS = 500
_DOMAIN_CHARACTERS = 64


class TraceLog:
    """Hold a trajectory that goes on.

    Attributes:
        id: Its id.
        outcome: How it came out, None until that is noted.
    """

    def __init__(self, log: SessionLog, trajectory_id: str) -> None:
        self.log = log
        self.id = trajectory_id
        self.outcome: Ended | None = None
        self.confidence = 1.0
        self.fault = ""

    def action(
        self,
        reasoning: str,
        action: str,
        result: object = "",
        *,
        ok: bool | None = None,
    ) -> str:
        """Note what was done, why, and what came of it, at once.

        Long texts are cut (2,000, 8,000 and 4,000 characters); bytes that are no UTF-8
        are replaced.

        Args:
            reasoning: Why it was done.
            action: What was done, such as a call.
            result: What came of it.
            ok: Whether it did its work; None where that is not known.

        Returns:
            The id of the event.

        Raises:
            InvalidInput: The action has no words, or `ok` is none of True, False and
                None.
        """
        # 1 and 0 equal True and False, but are none of them.
        if not (ok is None or ok is True or ok is False):
            raise InvalidInput(
                f"got ok={ok!r}; allowed are True, False, and None where it is not"
                " known"
            )
        values = {"reasoning": reasoning, "action": action, "result": result}
        texts = {}
        for name, value in values.items():
            most = _CHARACTERS[name]
            texts[name] = _text(value)[:most]
        if not texts["action"].strip():
            raise InvalidInput(
                "got an action without words; say what was done, such as"
                " search(query='…')"
            )
        body = {"trajectory_id": self.id, **texts, "ok": ok}
        return self.log.append("acted", body)

    def end(self, outcome: str, confidence: float = 1.0, *, fault: str = "") -> None:
        """Note how it came out, how sure that is (0..1), and for a failure its class.

        Args:
            outcome: A value of `Ended`.
            confidence: How sure that is, 0 to 1.
            fault: The class of a failure, a value of `Fault`.

        Raises:
            InvalidInput: The class is none of `Fault`, or another value is not allowed.
        """
        self.outcome = member_of(Ended, "outcome", outcome)
        self.fault = member_of(Fault, "fault", fault).value if fault else ""
        self.confidence = checked_share("confidence", confidence)


class SessionLog(AbstractContextManager["SessionLog"]):
    """Work for one goal, whose parts are traced.

    Args:
        home: Where it is captured.
        goal: What it is for.
        domain: What it belongs to, a name of up to 64 characters.
        origin: Where it is lived, a key of `FIDELITY`.
        tags: What it is about.
        agent: Who works.
        source: Who set the goal, a key of `TRUST`.
        isa_version: The version of the instruction set that it is captured by.

    Attributes:
        session: The id of all of it.

    Raises:
        InvalidInput: Something is outside the rules.
    """

    def __init__(
        self,
        home: Home,
        goal: str,
        *,
        domain: str = DEFAULT_DOMAIN,
        origin: str = "agent",
        tags: Sequence[str] = (),
        agent: str = "main",
        source: str = "agent",
        isa_version: str = LATEST,
    ) -> None:
        if origin not in FIDELITY or source not in TRUST:
            allowed = f"{', '.join(FIDELITY)}; the source {', '.join(TRUST)}"
            raise InvalidInput(
                f"got the origin {origin!r} of source {source!r}; allowed are {allowed}"
            )
        if not domain or len(domain) > _DOMAIN_CHARACTERS or not domain.isprintable():
            raise InvalidInput(
                f"got the domain {domain!r}; allowed is a name of 1 to"
                f" {_DOMAIN_CHARACTERS} characters"
            )
        self.home = home
        self.agent = check_agent(agent)
        self.session = new_event_id(home.clock.now())
        self.about = {
            "from": origin,
            "domain": domain,
            "tags": check_tags(tags),
            "source": source,
            "isa_version": get_registry().resolve(isa_version),
        }
        self.root_goal = checked_goal(goal)
        # Ids of the traces that are open, the innermost last.
        self._around: list[str] = []

    def __exit__(self, *_: object) -> None:
        """Do nothing: the traces end by themselves."""

    def append(self, kind: str, body: dict[str, Any]) -> str:
        """Append an event of this session; return its id."""
        event = DesignApi(self.home).append(
            kind, body, agent=self.agent, session=self.session
        )
        return event.id

    @contextmanager
    def trace(
        self, level: Level | int = Level.TACTICAL, goal: str = ""
    ) -> Iterator[TraceLog]:
        """Trace work for a goal, by default the session's.

        It is part of the trace around it. It ends as a success unless it says
        otherwise. One that raises is a failure with its error, which goes on.

        Args:
            level: How much the goal is about, 1 to 4.
            goal: What it is for; '' is the session's goal.

        Raises:
            InvalidInput: The level is outside 1..4.
        """
        trace = TraceLog(self, new_event_id(self.home.clock.now()))
        parent_id = self._around[-1] if self._around else ""
        body: dict[str, Any] = {
            "trajectory_id": trace.id,
            "parent_id": parent_id,
            "goal": checked_goal(goal) if goal else self.root_goal,
            "root_goal": self.root_goal,
            "level": int(member_of(Level, "level", level)),
            **self.about,
        }
        self.append("trajectory_started", body)
        self._around.append(trace.id)
        try:
            yield trace
        except BaseException as error:
            outcome = Ended.FAILURE if isinstance(error, Exception) else Ended.ABORTED
            is_timeout = isinstance(error, TimeoutError)
            fault = Fault.TIMEOUT if is_timeout else Fault.LOGIC_ERROR
            trace.end(outcome, fault=fault)
            self._close(trace, f"{type(error).__name__}: {error}")
            raise
        self._close(trace)

    def _close(self, trace: TraceLog, error: str = "") -> None:
        self._around.remove(trace.id)
        body = {
            "trajectory_id": trace.id,
            "confidence": trace.confidence,
            "fault": trace.fault,
            "outcome": (trace.outcome or Ended.SUCCESS).value,
            "error": _text(error)[:_ERROR_CHARACTERS],
        }
        self.append("trajectory_ended", body)


def capture(
    home: Home,
    goal: str,
    actions: Iterable[Mapping[str, Any]],
    *,
    level: int = Level.TACTICAL,
    outcome: str = "success",
    confidence: float = 1.0,
    fault: str = "",
    domain: str = DEFAULT_DOMAIN,
    origin: str = "agent",
    tags: Sequence[str] = (),
    agent: str = "main",
    source: str = "agent",
    isa_version: str = LATEST,
) -> tuple[str, str]:
    """Capture what is over.

    Args:
        home: Where it is captured.
        goal: What it was for.
        actions: What was done, of {reasoning, action, result, ok}.
        level: How much the goal is about, 1..4.
        outcome: How it came out.
        confidence: How sure that is, 0..1.
        fault: The class of a failure.
        domain: What it belongs to, a name of up to 64 characters.
        origin: Where it was lived, a key of `FIDELITY`.
        tags: What it is about.
        agent: Who did it.
        source: Who set the goal, a key of `TRUST`.
        isa_version: The version of the instruction set that it was captured by.

    Returns:
        The ids of the trajectory and of its session.

    Raises:
        InvalidInput: Something is outside the rules; nothing is written then.
    """
    actions = list(actions)
    for number, action in enumerate(actions, start=1):
        if not _is_action(action):
            raise InvalidInput(
                f"got {action!r:.200} for action {number}; allowed are reasoning,"
                " action, result and ok"
            )
    ended = member_of(Ended, "outcome", outcome)
    share = checked_share("confidence", confidence)
    session = SessionLog(
        home,
        goal,
        domain=domain,
        origin=origin,
        tags=tags,
        agent=agent,
        source=source,
        isa_version=isa_version,
    )
    with session as log, log.trace(member_of(Level, "level", level)) as trace:
        for action in actions:
            trace.action(
                action.get("reasoning", ""),
                action["action"],
                action.get("result", ""),
                ok=action.get("ok"),
            )
        trace.end(ended, share, fault=fault)
    return trace.id, log.session


def _is_action(action: object) -> bool:
    """Return whether a mapping has an action, and no member that no action has."""
    if not isinstance(action, Mapping):
        return False
    if action.keys() - {"reasoning", "action", "result", "ok"}:
        return False
    return bool(str(action.get("action", "")).strip())


def traced(
    home: Home,
    goal: str = "",
    *,
    domain: str = DEFAULT_DOMAIN,
    origin: str = "agent",
    tags: Sequence[str] = (),
    agent: str = "main",
    source: str = "agent",
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Trace each call of a function, its arguments and what it returns.

    Args:
        home: Where the calls are captured.
        goal: What they are for; by default the name of the function.
        domain: As `SessionLog` takes it, like the following.
        origin: Where the calls are lived.
        tags: What they are about.
        agent: Who calls.
        source: Who set the goal.
    """

    def wrap(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            session = SessionLog(
                home,
                goal or function.__name__,
                domain=domain,
                origin=origin,
                tags=tags,
                agent=agent,
                source=source,
            )
            with session as log, log.trace() as trace:
                arguments = [repr(value) for value in args]
                arguments += [f"{name}={value!r}" for name, value in kwargs.items()]
                result = function(*args, **kwargs)
                action = f"{function.__name__}({', '.join(arguments)})"
                trace.action("", action, repr(result), ok=True)
                return result

        return call

    return wrap


def checked_goal(goal: str) -> str:
    """Return a goal, cut to 2,000 characters.

    Raises:
        InvalidInput: It has no words.
    """
    text = _text(goal).strip() if isinstance(goal, str) else ""
    if not text:
        raise InvalidInput(
            f"got the goal {goal!r:.100}; allowed is a text that says what is wanted"
        )
    return text[:_GOAL_CHARACTERS]


def member_of(kind: Callable[[Any], R], name: str, value: object) -> R:
    """Return the member of an enumeration.

    Args:
        kind: The enumeration.
        name: As an error calls it.
        value: The value of the member.

    Raises:
        InvalidInput: There is none; it names those that are allowed.
    """
    try:
        if isinstance(value, bool):
            raise ValueError
        return kind(value)
    except ValueError as error:
        allowed = ", ".join(str(member.value) for member in kind)  # type: ignore[attr-defined]
        raise InvalidInput(
            f"got the {name} {value!r:.100}; allowed are {allowed}"
        ) from error


def checked_share(name: str, value: float) -> float:
    """Return a number from 0 to 1.

    Args:
        name: As an error calls it.
        value: The number.

    Raises:
        InvalidInput: It is another.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= 1:
        raise InvalidInput(
            f"got the {name} {value!r:.100}; allowed are numbers from 0 to 1"
        )
    return float(value)


def _text(value: object) -> str:
    """Return a text that a journal can hold; bytes are read as UTF-8, None is ''."""
    if value is None:
        return clean("")
    if isinstance(value, bytes):
        return clean(value.decode(errors="replace"))
    return clean(str(value))
