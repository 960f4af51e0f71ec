"""Recorded logs by the name of their data set: the events that a memory lives through, and what it is asked."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from theorex_lab.clock import to_microseconds
from theorex_lab.config import Settings
from theorex_lab.design import Log, Probe, SessionLine
from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.data import datasets
from theorex_lab.experiments.data.sources import data_folder
from theorex_lab.ids import derived_event_id
from theorex_lab.journal.event import Event, new_event
from theorex_lab.memory.captured import BODIES
from theorex_lab.memory.observation import Entry, new_observation
from theorex_lab.text.doors import door

_SETTINGS = Settings()


def load_logs(name: str) -> list[Log]:
    """The logs of a data set, each `set/part` where it has several. Raises InvalidInput for an unknown name."""
    if name not in LOGS:
        raise InvalidInput(f"got the log {name!r}; allowed are {', '.join(LOGS)}, or the path of one")
    return LOGS[name]()


def observation(key: str, at: int, text: str, *, agent: str = "main", source: str = "user", session: str = "") -> Event:
    """A text that was written into a memory, at a time in µs UTC; `key` is its id in the data set."""
    with door():
        event, _ = new_observation(Entry(text, agent, at, source=source, session=session), _SETTINGS, at)
    return event._replace(id=derived_event_id("log", key))


def _locomo() -> list[Log]:
    return [_conversation(talk) for talk in datasets.fetch_locomo().conversations]


def _conversation(talk: Any) -> Log:
    name = f"locomo/{talk.id}"
    events = [
        observation(f"{name}/{turn.id}", turn.at + number, f"{turn.speaker}: {turn.text}", session=f"s{turn.session}")
        for number, turn in enumerate(talk.turns)
        if turn.text.strip()
    ]
    last = events[-1].at + 1
    probes = [
        Probe(
            last,
            asked.text,
            frozenset(derived_event_id("log", f"{name}/{turn}") for turn in asked.evidence),
            _words(asked.answer),
        )
        for asked in talk.questions
        if asked.evidence and asked.category != "adversarial"
    ]
    return Log(name, events, probes)


def _words(answer: str | None) -> tuple[str, ...]:
    return tuple(word for word in (answer or "").split() if len(word) > 3)


def _coding_sessions() -> list[Log]:
    folder = data_folder()
    if folder is None:
        raise InvalidInput("got no folder of data; set THEOREX_DATA to one that holds coding_sessions")
    return [hook_form_log("coding_sessions", folder / "coding_sessions" / "getspecstory.jsonl.gz")]


def hook_form_log(name: str, path: Path) -> Log:
    """Of lines in a coding agent's hook form."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    timed = sorted(
        ((to_microseconds(row["at"]), number, row) for number, row in enumerate(rows)), key=lambda row: row[:2]
    )
    events = [event for at, number, row in timed for event in _captures(name, at, number, row)]
    return Log(name, events, (), [_line(at, row) for at, _, row in timed])


def _captures(name: str, at: int, number: int, row: dict[str, Any]) -> Iterator[Event]:
    hook = row["hook_event_name"]
    if hook not in BODIES:
        return
    kind, body_of = BODIES[hook]
    with door():
        body = body_of({**row, "cwd": None, "last_assistant_message": row.get("agent_text")})
    body["project"] = name
    if kind == "tool_used":
        body["paths"] = {"read": list(row.get("reads", ())), "edited": list(row.get("edits", ()))}
    yield new_event(
        kind, body, agent="main", session=row["session"], at=at, event_id=derived_event_id("log", name, number)
    )


def _line(at: int, row: dict[str, Any]) -> SessionLine:
    inputs = " ".join(value for value in row.get("tool_input", {}).values() if isinstance(value, str))
    return SessionLine(
        at,
        row["session"],
        row.get("prompt", ""),
        row.get("agent_text", ""),
        inputs,
        tuple(row.get("reads", ())),
        tuple(row.get("edits", ())),
    )


LOGS: dict[str, Callable[[], list[Log]]] = {"coding_sessions": _coding_sessions, "locomo": _locomo}
