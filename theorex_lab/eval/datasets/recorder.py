"""The recorder: the events of a log, as they would have been captured live.

Readers of data sets record into a `Recorder`, with ids that two loads agree on.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any

from theorex_lab.core.clock import to_microseconds
from theorex_lab.core.ids import derived_event_id
from theorex_lab.core.settings import Settings
from theorex_lab.eval.adapters.protocol import EvalLog, EvalQuery, SessionLine
from theorex_lab.evolution.outcomes import outcome_event
from theorex_lab.journal.event import Event, new_event
from theorex_lab.memory.hook_payloads import BODIES
from theorex_lab.memory.observation import (
    DEFAULT_TYPE,
    ObservationEntry,
    new_observation,
)
from theorex_lab.text.paths import is_project_path
from theorex_lab.text.redact.redaction_scope import door

Given = Mapping[str, Any]  # what a hook was given
Parts = Iterable[
    tuple[str, Callable[[], EvalLog]]
]  # the name of each log, and what makes it

SECOND = 1_000_000
MINUTE = 60_000_000
# Sets that do not say when: their logs begin here.
UNDATED = to_microseconds("2024-01-01T00:00:00Z")
_SETTINGS = Settings()


def informative(answer: str, question: str = "") -> tuple[str, ...]:
    """Return the words of an answer that tell something.

    They have four letters or a digit, and the question does not say them.

    >>> informative("on 7 May 2023, in the Blue Mill", "Which mill?")
    ('2023', 'Blue')
    """
    question_text = question.casefold()
    words = dict.fromkeys(re.findall(r"\w+(?:[-'.:/]\w+)*", answer))
    long = (
        word
        for word in words
        if len(word) > 3 or (len(word) > 1 and any(sign.isdigit() for sign in word))
    )
    return tuple(word for word in long if word.casefold() not in question_text)


def session_line(
    at: int,
    session: str,
    hook: Given,
    *,
    reads: Iterable[str] = (),
    edits: Iterable[str] = (),
) -> SessionLine:
    """Return what a hook was given, as a line of a session.

    Args:
        at: When it was given, in µs UTC.
        session: The id of the session.
        hook: The payload of the hook.
        reads: The paths that the tool reads, from the project's root.
        edits: The paths that it edits, from the project's root.
    """
    tool_input = hook.get("tool_input")
    values = [tool_input]
    if isinstance(tool_input, dict):
        values = list(tool_input.values())
    texts = [_text(value) for value in values]
    return SessionLine(
        at,
        session,
        prompt=_text(hook.get("prompt")),
        message=_text(hook.get("last_assistant_message")),
        inputs=" ".join(text for text in texts if text),
        reads=tuple(reads),
        edits=tuple(edits),
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


class Recorder:
    """A log that grows.

    A key names what is captured within the log; ids are made of both.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.project = name.partition("/")[0]
        self.events = list[Event]()
        self.probes = list[EvalQuery]()
        self.lines = list[SessionLine]()
        self._ids = set[str]()

    def id(self, key: object) -> str:
        """Return the id of the event of this key."""
        return derived_event_id("log", self.name, key)

    def ids(self, keys: Iterable[object]) -> frozenset[str]:
        """Return the ids of the events of these keys that were captured."""
        return frozenset(self._ids.intersection(map(self.id, keys)))

    def probe(
        self,
        at: int,
        query: str,
        answers: Iterable[object],
        *,
        words: tuple[str, ...] = (),
        stale: Iterable[object] = (),
        kind: str = "",
    ) -> None:
        """Record a question, and the keys of the events that answer it.

        Args:
            at: When it is asked, in µs UTC.
            query: Its text.
            answers: The keys of the events that answer it.
            words: Words that the answer must hold.
            stale: The keys of the events that answer it no longer.
            kind: What makes it hard.
        """
        self.probes.append(
            EvalQuery(
                at,
                query,
                self.ids(answers),
                words,
                self.ids(stale),
                kind,
            )
        )

    def wrote(
        self,
        key: object,
        at: int,
        text: str,
        *,
        agent: str = "main",
        source: str = "user",
        session: str = "",
        kind: str = DEFAULT_TYPE,
    ) -> None:
        """Record that a text was written into the memory; nothing where it is blank."""
        if text.strip():
            with door():
                entry = ObservationEntry(
                    text, agent, at, kind, source, (), session, self.project
                )
                self._add(key, new_observation(entry, _SETTINGS, at)[0])

    def asked(
        self,
        key: object,
        at: int,
        text: str,
        *,
        session: str,
    ) -> None:
        """Record that a person asked something of an agent."""
        self.hook("UserPromptSubmit", key, at, {"prompt": text}, session=session)

    def answered(
        self, key: object, at: int, text: str, *, agent: str = "main", session: str
    ) -> None:
        """Record that an agent ended its turn with a message."""
        self.hook(
            "Stop",
            key,
            at,
            {"last_assistant_message": text},
            agent=agent,
            session=session,
        )

    def used(
        self,
        key: object,
        at: int,
        tool: str,
        given: dict[str, Any],
        *,
        response: str | None,
        session: str,
        agent: str = "main",
        ok: bool = True,
        edits: Iterable[str] = (),
    ) -> None:
        """Record that an agent used a tool, which did its work or failed.

        Args:
            key: Names the event within the log.
            at: When it was, in µs UTC.
            tool: The name of the tool.
            given: The input of the tool.
            response: What the tool gave back, or its error.
            session: The id of the session.
            agent: Who used it.
            ok: Whether the tool did its work.
            edits: The paths that it wrote to, from the project's root.
        """
        payload = {
            "tool_name": tool,
            "tool_input": given,
            "tool_response" if ok else "error": response,
        }
        name = "PostToolUse" if ok else "PostToolUseFailure"
        self.hook(
            name, key, at, payload, agent=agent, session=session, edits=tuple(edits)
        )

    def came_out(
        self,
        key: object,
        at: int,
        decision: str,
        result: str,
        *,
        success: bool,
        session: str,
    ) -> None:
        """Record how a run ended, as its surroundings judged it."""
        by: dict[str, Any] = {
            "agent": "main",
            "session": session,
            "source": "tool",
            "project": self.project,
        }
        with door():
            event = outcome_event(
                decision=decision,
                result=result,
                success=success,
                settings=_SETTINGS,
                at=at,
                **by,
            )
        self._add(key, event)

    def log(self) -> EvalLog:
        """Return what was captured, in the order of time."""
        in_time = attrgetter("at")
        return EvalLog(
            self.name,
            sorted(self.events, key=in_time),
            sorted(self.probes, key=in_time),
            self.lines,
        )

    def hook(
        self,
        name: str,
        key: object,
        at: int,
        given: Given,
        *,
        agent: str = "main",
        session: str,
        reads: tuple[str, ...] = (),
        edits: tuple[str, ...] = (),
    ) -> None:
        """Record what a coding agent's hook of this name was given.

        Args:
            name: The name of the hook.
            key: Names the event within the log.
            at: When it was, in µs UTC.
            given: The payload of the hook.
            agent: Whose hook it is.
            session: The id of the session.
            reads: The paths that the tool reads, from the project's root.
            edits: The paths that it edits, from the project's root.
        """
        self.lines.append(
            session_line(
                at,
                session,
                given,
                reads=reads,
                edits=edits,
            )
        )
        if name not in BODIES:
            return
        kind, body_of = BODIES[name]
        with door():
            body = {
                **body_of({"hook_event_name": name, **given}),
                "project": self.project,
            }
        if reads or edits:
            uses = {"read": reads, "edited": edits}
            body["paths"] = {
                use: list(filter(is_project_path, paths)) for use, paths in uses.items()
            }
        self._add(
            key,
            new_event(
                kind,
                body,
                agent=agent,
                session=session,
                at=at,
            ),
        )

    def add(self, event: Event) -> None:
        """Record an event that has its id."""
        self.events.append(event)
        self._ids.add(event.id)

    def _add(self, key: object, event: Event) -> None:
        self.add(event._replace(id=self.id(key)))


def part(
    name: str, fill: Callable[..., None], *arguments: Any
) -> tuple[str, Callable[[], EvalLog]]:
    """Return the name of a log, and what makes it.

    Args:
        name: The name of the log.
        fill: Records into the log; called with it and `arguments`.
        arguments: What `fill` is given besides.
    """

    def make() -> EvalLog:
        log = Recorder(name)
        fill(log, *arguments)
        return log.log()

    return name, make
