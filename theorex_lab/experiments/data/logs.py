"""Recorded logs by the name of their data set: the events that a memory lives through, and what it is asked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from theorex_lab.config import Settings
from theorex_lab.design import Log, Probe, SessionLine
from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.data import datasets
from theorex_lab.experiments.data.sources import data_folder
from theorex_lab.ids import derived_event_id, session_of
from theorex_lab.ingest.captures import Timed
from theorex_lab.ingest.importing import FORMS, read_transcripts
from theorex_lab.ingest.said import Row
from theorex_lab.journal.event import Event
from theorex_lab.memory.observation import Entry, new_observation
from theorex_lab.text.doors import door

_SETTINGS = Settings()


def load_logs(name: str) -> list[Log]:
    """The logs of a data set, each `set/part` where it has several, or of the transcripts at a path, one a project.

    Raises InvalidInput for an unknown name, and for a path without transcripts.
    """
    if name not in LOGS and Path(name).expanduser().exists():
        return transcript_logs(Path(name).expanduser())
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
    name = "coding_sessions"
    return transcript_logs(folder / name / "getspecstory.jsonl.gz", project=name)


def transcript_logs(path: Path, *, project: str = "") -> list[Log]:
    """Of what coding agents kept of their sessions, one log a project; prompts are the user's word.

    project: of sessions that name no absolute folder. Raises InvalidInput where no transcript is found.
    """
    found: dict[str, list[tuple[Timed, Event | None]]] = defaultdict(list)
    for told, event, name in read_transcripts(path, project=project):
        found[name].append((told, event))
    if not found:
        raise InvalidInput(f"got {path}, in which no transcript was found; allowed are {FORMS}")
    return [_log(name, rows) for name, rows in found.items()]


def _log(name: str, rows: list[tuple[Timed, Event | None]]) -> Log:
    rows.sort(key=lambda row: row[0].at)
    return Log(name, [event for _, event in rows if event], (), [_line(*row) for row in rows])


def _line(told: Timed, event: Event | None) -> SessionLine:
    hook, paths = told.said.hook, event.body.get("paths", {}) if event else {}
    given = hook.get("tool_input")
    texts = given.values() if isinstance(given, dict) else [given]
    return SessionLine(
        told.at,
        session_of(told.said.session),
        _text(hook, "prompt"),
        _text(hook, "last_assistant_message"),
        " ".join(text for text in texts if isinstance(text, str)),
        tuple(paths.get("read", ())),
        tuple(paths.get("edited", ())),
    )


def _text(hook: Row, name: str) -> str:
    return text if isinstance(text := hook.get(name), str) else ""


LOGS: dict[str, Callable[[], list[Log]]] = {"coding_sessions": _coding_sessions, "locomo": _locomo}
