"""Sessions that coding agents kept, as logs: one a project."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from pathlib import Path

from theorex_lab.design import Log, SessionLine
from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.data.log_sets.recorder import Parts, session_line
from theorex_lab.ids import session_of
from theorex_lab.ingest.captures import Timed
from theorex_lab.ingest.importing import FORMS, read_transcripts
from theorex_lab.journal.event import Event


def transcripts(path: Path) -> Parts:
    """A log for each project; prompts are the user's word. Raises InvalidInput where no transcript is found."""
    found: dict[str, list[tuple[Timed, Event | None]]] = defaultdict(list)
    for told, event, name in read_transcripts(path):
        found[name].append((told, event))
    if not found:
        raise InvalidInput(f"got {path}, in which no transcript was found; allowed are {FORMS}")
    return [(name, partial(log_of, name, rows)) for name, rows in found.items()]


def log_of(name: str, rows: list[tuple[Timed, Event | None]]) -> Log:
    """What transcripts told of one project, with the captures of it, in order of time."""
    rows.sort(key=lambda row: row[0].at)
    return Log(name, [event for _, event in rows if event], (), [_line(*row) for row in rows])


def _line(told: Timed, event: Event | None) -> SessionLine:
    paths = event.body.get("paths", {}) if event else {}
    session = session_of(told.said.session)
    return session_line(told.at, session, told.said.hook, paths.get("read", ()), paths.get("edited", ()))
