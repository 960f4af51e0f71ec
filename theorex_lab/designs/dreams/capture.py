"""Trajectories captured by hand: each action is in the journal when the call returns,
so that a killed process loses none.
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
    ISA_VERSION,
    Ended,
    Fault,
    Level,
)
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
    """A trajectory that goes on. id: its id.  outcome: how it came out, None until that
    is said.
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
        """Note what was done, why, and what came of it, at once; returns the id of the
        event.

        Long texts are cut (2,000, 8,000 and 4,000 characters); bytes that are no UTF-8
        are replaced. Raises InvalidInput for an action without words, or an `ok` other
        than True, False and None.
        """
        if ok not in (True, False, None) or (
            isinstance(ok, int) and not isinstance(ok, bool)
        ):
            raise InvalidInput(
                f"got ok={ok!r}; allowed are True, False, and None where it is not"
                " known"
            )
        texts = {"reasoning": reasoning, "action": action, "result": result}
        kept = {name: _text(text)[: _CHARACTERS[name]] for name, text in texts.items()}
        if not kept["action"].strip():
            raise InvalidInput(
                "got an action without words; say what was done, such as"
                " search(query='…')"
            )
        return self.log.append("acted", {"trajectory_id": self.id, **kept, "ok": ok})

    def end(self, outcome: str, confidence: float = 1.0, *, fault: str = "") -> None:
        """Say how it came out, how sure that is (0..1), and for a failure its class,
        one of `Fault`. Raises InvalidInput for another.
        """
        self.outcome = member_of(Ended, "outcome", outcome)
        self.fault = member_of(Fault, "fault", fault).value if fault else ""
        self.confidence = checked_share("confidence", confidence)


class SessionLog(AbstractContextManager["SessionLog"]):
    """Work for one goal, whose parts are traced. session: the id of all of it.

    origin: where it is lived, a key of `FIDELITY`.  source: who set the goal. Raises
    InvalidInput for what is outside the rules.
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
        self.home, self.agent, self.session = (
            home,
            check_agent(agent),
            new_event_id(home.clock.now()),
        )
        self.about = {
            "from": origin,
            "domain": domain,
            "tags": check_tags(tags),
            "source": source,
        }
        self.root_goal = checked_goal(goal)
        self._around: list[
            str
        ] = []  # ids of the traces that are open, the innermost last

    def __exit__(self, *_: object) -> None:
        """The traces end by themselves."""

    def append(self, kind: str, body: dict[str, Any]) -> str:
        """Append an event of this session; returns its id."""
        return (
            DesignApi(self.home)
            .append(kind, body, agent=self.agent, session=self.session)
            .id
        )

    @contextmanager
    def trace(
        self, level: Level | int = Level.TACTICAL, goal: str = ""
    ) -> Iterator[TraceLog]:
        """Trace work for a goal, by default the session's; it is part of the trace
        around it.

        It ends as a success unless it says otherwise. One that raises is a failure with
        its error, which goes on. Raises InvalidInput for a level outside 1..4.
        """
        trace = TraceLog(self, new_event_id(self.home.clock.now()))
        body: dict[str, Any] = {
            "trajectory_id": trace.id,
            "parent_id": self._around[-1] if self._around else "",
        }
        body |= {
            "goal": checked_goal(goal) if goal else self.root_goal,
            "root_goal": self.root_goal,
        }
        body |= {
            "level": int(member_of(Level, "level", level)),
            "isa_version": ISA_VERSION,
            **self.about,
        }
        self.append("trajectory_started", body)
        self._around.append(trace.id)
        try:
            yield trace
        except BaseException as error:
            fault = (
                Fault.TIMEOUT if isinstance(error, TimeoutError) else Fault.LOGIC_ERROR
            )
            trace.end(
                Ended.FAILURE if isinstance(error, Exception) else Ended.ABORTED,
                fault=fault,
            )
            self._close(trace, f"{type(error).__name__}: {error}")
            raise
        self._close(trace)

    def _close(self, trace: TraceLog, error: str = "") -> None:
        self._around.remove(trace.id)
        told = {
            "trajectory_id": trace.id,
            "confidence": trace.confidence,
            "fault": trace.fault,
        }
        told |= {
            "outcome": (trace.outcome or Ended.SUCCESS).value,
            "error": _text(error)[:_ERROR_CHARACTERS],
        }
        self.append("trajectory_ended", told)


def capture(
    home: Home,
    goal: str,
    actions: Iterable[Mapping[str, Any]],
    *,
    level: int = Level.TACTICAL,
    outcome: str = "success",
    confidence: float = 1.0,
    fault: str = "",
    **about: Any,
) -> tuple[str, str]:
    """Capture what is over: actions of {reasoning, action, result, ok}; returns the ids
    of the trajectory and of its session.

    about: what `SessionLog` takes. Raises InvalidInput for what is outside the rules,
    before anything is written.
    """
    known = {"reasoning", "action", "result", "ok"}
    done = list(actions)
    for number, given in enumerate(done, start=1):
        if (
            not isinstance(given, Mapping)
            or given.keys() - known
            or not str(given.get("action", "")).strip()
        ):
            raise InvalidInput(
                f"got {given!r:.200} for action {number}; allowed are reasoning,"
                " action, result and ok"
            )
    ended = (
        member_of(Ended, "outcome", outcome),
        checked_share("confidence", confidence),
    )
    with (
        SessionLog(home, goal, **about) as log,
        log.trace(member_of(Level, "level", level)) as trace,
    ):
        for given in done:
            trace.action(
                given.get("reasoning", ""),
                given["action"],
                given.get("result", ""),
                ok=given.get("ok"),
            )
        trace.end(*ended, fault=fault)
    return trace.id, log.session


def traced(
    home: Home, goal: str = "", **about: Any
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Trace each call of a function, its arguments and what it returns; by default its
    name is the goal.
    """

    def wrap(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*given: P.args, **named: P.kwargs) -> R:
            with (
                SessionLog(home, goal or function.__name__, **about) as log,
                log.trace() as trace,
            ):
                told = [
                    *map(repr, given),
                    *(f"{name}={value!r}" for name, value in named.items()),
                ]
                found = function(*given, **named)
                trace.action(
                    "", f"{function.__name__}({', '.join(told)})", repr(found), ok=True
                )
                return found

        return call

    return wrap


def checked_goal(goal: str) -> str:
    """A goal, cut to 2,000 characters. Raises InvalidInput for one without words."""
    if not isinstance(goal, str) or not (kept := _text(goal).strip()):
        raise InvalidInput(
            f"got the goal {goal!r:.100}; allowed is a text that says what is wanted"
        )
    return kept[:_GOAL_CHARACTERS]


def member_of(kind: Callable[[Any], R], name: str, given: object) -> R:
    """The member of an enumeration. Raises InvalidInput for none, naming those that are
    allowed.
    """
    try:
        if isinstance(given, bool):
            raise ValueError
        return kind(given)
    except ValueError as error:
        allowed = ", ".join(str(member.value) for member in kind)  # type: ignore[attr-defined]
        raise InvalidInput(
            f"got the {name} {given!r:.100}; allowed are {allowed}"
        ) from error


def checked_share(name: str, given: float) -> float:
    """A number from 0 to 1. Raises InvalidInput for another."""
    if (
        isinstance(given, bool)
        or not isinstance(given, int | float)
        or not 0 <= given <= 1
    ):
        raise InvalidInput(
            f"got the {name} {given!r:.100}; allowed are numbers from 0 to 1"
        )
    return float(given)


def _text(given: object) -> str:
    """A text that a journal can hold; bytes are read as UTF-8, and None is ''."""
    return clean(
        given.decode(errors="replace")
        if isinstance(given, bytes)
        else ""
        if given is None
        else str(given)
    )
