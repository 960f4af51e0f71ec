"""Make a log of what a test gives: a name, a path, events, or just sentences."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from theorex_lab.core.clock import to_microseconds
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import derived_event_id
from theorex_lab.eval.adapters.protocol import EvalLog
from theorex_lab.eval.datasets.logs import load_logs
from theorex_lab.journal.event import Event, new_event

GivenLog = EvalLog | str | Path | Sequence[Event] | Sequence[str]

FIRST_TIME = to_microseconds("2026-03-02T09:00:00Z")
_HOUR = 3_600_000_000
_MINUTE = 60_000_000
_HOURS_APART = 6
_ALLOWED = (
    "allowed are an EvalLog, the name or path of a log, a list of events, or a list of"
    " what a user said"
)


def log_given(given_log: GivenLog) -> EvalLog:
    """Return the log that a test means.

    Args:
        given_log: An `EvalLog`; a name or path that `load_logs` takes and that stands
            for one log; events in the order of time; or sentences: a user
            says each in a session of its own, six hours apart.

    Raises:
        InvalidInput: It is nothing of these, or a name stands for several logs.

    >>> len(log_given(["The port is 8080."]).events)
    3
    """
    if isinstance(given_log, EvalLog):
        return given_log
    if isinstance(given_log, str | Path):
        return _log_named(str(given_log))
    sentences: list[str] = []
    events: list[Event] = []
    for row in given_log:
        if isinstance(row, str):
            sentences.append(row)
        elif isinstance(row, Event):
            events.append(row)
    if sentences and len(sentences) == len(given_log):
        return sentences_log(sentences)
    if events and len(events) == len(given_log):
        return EvalLog("events of a test", events)
    raise InvalidInput(f"got {given_log!r:.80} for a log; {_ALLOWED}")


def _log_named(name: str) -> EvalLog:
    """Return the one log of a name or path.

    Raises:
        InvalidInput: It stands for several logs.
    """
    logs = load_logs(name)
    if len(logs) != 1:
        names = ", ".join(log.name for log in logs[:5])
        raise InvalidInput(
            f"got the log {name!r}, which is {len(logs)} logs; allowed is one: give"
            f" one of {names}"
        )
    return logs[0]


def sentences_log(
    sentences: Sequence[str], *, name: str = "sentences", start: int = FIRST_TIME
) -> EvalLog:
    """Return the log of a user who says these sentences, one a session.

    Args:
        sentences: What is said, in order.
        name: The name of the log and of its project.
        start: When the first session begins, in µs UTC.
    """
    events: list[Event] = []
    for number, sentence in enumerate(sentences):
        at = start + number * _HOURS_APART * _HOUR
        session = f"{name}-{number + 1}"
        prompt = {"text": sentence, "source": "user", "project": name}
        answer = {
            "message": "Understood.",
            "source": "agent",
            "subagent": False,
            "project": name,
        }
        for kind, body in (
            ("prompt", prompt),
            ("turn_ended", answer),
            ("session_ended", {"project": name}),
        ):
            events.append(
                new_event(
                    kind,
                    body,
                    agent="main",
                    at=at,
                    session=session,
                    event_id=derived_event_id(name, number, kind, sentence),
                )
            )
            at += _MINUTE
    return EvalLog(name, events)
