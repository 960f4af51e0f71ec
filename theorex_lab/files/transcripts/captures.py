"""What a transcript tells, as the captures that the hook would have made of it, each
with its time and its place.
"""

import hashlib
import json
import ntpath
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from theorex_lab.core.clock import LATEST
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import derived_event_id, session_of
from theorex_lab.core.project import Repository
from theorex_lab.files.transcripts.folders import Transcript, rows_of
from theorex_lab.files.transcripts.messages import (
    Row,
    Utterance,
    read_time,
    stated_in,
    time_of,
)
from theorex_lab.journal.event import Event, new_event
from theorex_lab.memory.hook_payloads import BODIES, WorkingFolder, folder_of
from theorex_lab.text.paths import project_path
from theorex_lab.text.redact.masking import mask

REST_MICROSECONDS = 3_600_000_000  # a session that has been silent for so long is over
Problem = Callable[
    [int, str], None
]  # takes the number of a line, and why it cannot be read
_MOST_UNTIMED = 100  # before the first time of a transcript
_UNSTEADY_MICROSECONDS = (
    60_000_000  # how far lines that are written at once may be out of order
)


class TimedCapture(NamedTuple):
    """What a transcript tells, with its time in µs UTC and the bytes of its line.

    guess: '' where the transcript states the time plainly; `number` and `leap_second`,
    as `read_time` says; `backwards`, as stated, though more than a minute before what
    the session states before it; `neighbour`, of what stands beside it, where it states
    none; `file`, of the file's last change, where nothing states any; `future`, where a
    time is not believed: the neighbour's, or the latest that is.
    """

    said: Utterance
    at: int
    size: int = 0
    guess: str = ""


@dataclass
class Captures:
    """Makes events of what transcripts tell.

    latest: a later time (µs UTC) is not believed.  project: of what names no folder.
    trust_own: whether these are the user's own transcripts.  keep_messages: as the
    setting.  named: gives the project of a repository, by default that of its path
    alone.
    """

    latest: int
    project: str
    agent: str = "main"
    trust_own: bool = False
    keep_messages: bool = True
    named: Callable[[Repository], str] | None = None
    _places: dict[tuple[str, str], WorkingFolder] = field(default_factory=dict)
    _first: dict[str, str] = field(
        default_factory=dict
    )  # by session, the folder that it began in

    def event(self, form: str, capture: TimedCapture) -> Event | None:
        """The capture of what was told in a form of transcripts; None for what the hook
        keeps nothing of.
        """
        utterance = capture.said
        name = utterance.hook["hook_event_name"]
        if name not in BODIES:
            return None
        kind, body_of = BODIES[name]
        session = session_of(utterance.session)
        body = body_of(utterance.hook, self._place(session, utterance.cwd))
        body.pop("trace_id", None)  # of the process that runs now
        if "source" in body and not self.trust_own:
            body["source"] = "import"
        if not self.keep_messages and "message" in body:
            body["message"] = ""
        if kind == "tool_used" and (
            "reads" in utterance.hook or "edits" in utterance.hook
        ):
            body["paths"] = {
                use: _in_project(utterance.hook.get(name))
                for use, name in (("read", "reads"), ("edited", "edits"))
            }
        event_id = self.id_of(form, capture)
        at = min(capture.at, self.latest)
        return new_event(
            kind, body, agent=self.agent, session=session, at=at, event_id=event_id
        )

    def id_of(self, form: str, capture: TimedCapture) -> str:
        """The id of its capture: the same of each copy of the transcript, and of each
        session that repeats it.
        """
        stated = time_of(capture.said.at) if capture.said.is_unique else None
        if stated is None:
            return self.session_id_of(form, capture)
        own_id = capture.said.own.encode("utf-8", "replace").decode()
        return derived_event_id(
            "transcript", form, "", own_id, stated, _digest(capture.said)
        )

    def session_id_of(self, form: str, capture: TimedCapture) -> str:
        """The id within its session: of what has no id of its own, and of all that was
        imported by former releases.
        """
        own_id = capture.said.own.encode("utf-8", "replace").decode()
        return derived_event_id(
            "transcript", form, session_of(capture.said.session), own_id
        )

    def project_of(self, capture: TimedCapture) -> str:
        """The project of what was told."""
        return self._place(session_of(capture.said.session), capture.said.cwd).project

    def _place(self, session: str, cwd: object) -> WorkingFolder:
        """Where the session works: a folder that is not on this machine is its own
        root, with those below the first.
        """
        stated = folder_of({"cwd": cwd})
        if not stated:
            return WorkingFolder("", self.project)
        key = first, _ = self._first.setdefault(session, stated), stated
        if key not in self._places:
            below = _is_below(stated, first) and not os.path.isdir(stated)
            self._places[key] = WorkingFolder(
                first if below else stated, name_project=self.named
            )
        return self._places[key]


def _is_below(folder: str, above: str) -> bool:
    """Whether a folder lies in another, by their names alone; both may be of Windows."""
    if os.path.isabs(above):
        return folder.startswith(above.rstrip("/") + "/")
    return ntpath.normcase(folder).startswith(
        ntpath.normcase(above).rstrip("\\") + "\\"
    )


def _digest(utterance: Utterance) -> str:
    """What tells two events of one id and time apart: all that the transcript says of
    them.
    """
    content = utterance.written or json.dumps(utterance.hook, sort_keys=True)
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


def told(
    transcript: Transcript,
    file_time: int,
    is_over: Callable[[int], bool],
    problem: Problem,
    latest: int = LATEST,
) -> Iterator[TimedCapture]:
    """What a transcript tells, in order; a time that is missing is that of what stands
    beside it, else `written` (µs).

    is_over: whether a session is whose last time (µs) this is.  problem: called with
    the number of each line that cannot be read, and why.  latest: a later time (µs) is
    not believed.
    """
    times = _Times(file_time, latest)
    for line in _lines_told(transcript, problem, latest):
        yield from times.of(line)
    yield from times.end()
    if is_over(times.last):
        for utterance in transcript.reader.end():
            yield from times.of(_Line(utterance))
        yield from times.end()


class _Line(NamedTuple):
    """What a line tells: the bytes of the line, and whether its time is before that of
    the lines above it.
    """

    said: Utterance
    size: int = 0
    is_earlier: bool = False


def _lines_told(
    transcript: Transcript, problem: Problem, latest: int
) -> Iterator[_Line]:
    before: dict[
        str, int
    ] = {}  # by who writes lines one after another, the last time that they state
    for line in transcript.lines:
        size = len(line.content or b"")
        try:
            for position, row in enumerate(rows_of(line), start=1):
                number = line.number if position == 1 else f"{line.number}.{position}"
                is_earlier = _runs_backwards(row, before, latest)
                for utterance in transcript.reader.feed(row, number, size):
                    is_own = utterance.at is stated_in(row)
                    yield _Line(utterance, size, is_earlier and is_own)
        except InvalidInput as error:
            problem(line.number, str(error))


def _runs_backwards(row: Row, before: dict[str, int], latest: int) -> bool:
    """Whether a line's time is clearly earlier than that of the one before it of the
    same session and helper.
    """
    at = time_of(stated_in(row))
    if at is None or at > latest:
        return False
    session = next((row[name] for name in _SESSIONS if name in row), "")
    writer = f"{session} {row.get('agentId')} {row.get('isSidechain')}"
    earlier = at < before.get(writer, at) - _UNSTEADY_MICROSECONDS
    before[writer] = at
    return earlier


_SESSIONS = ("sessionId", "session", "session_id")


class _Times:
    """Gives each thing that is told its time. last: the latest one that was stated,
    until then that of the file.
    """

    def __init__(self, file_time: int, latest: int) -> None:
        self.last = file_time
        self._latest = latest
        self._has_stated = False
        self._waiting: list[_Line] = []  # until something states a time

    def of(self, line: _Line) -> Iterator[TimedCapture]:
        """What can be told now that this comes: itself, behind what waited for a time,
        or nothing yet.
        """
        stated = read_time(line.said.at)
        if stated is not None and stated.at <= self._latest:
            self.last = stated.at
            self._has_stated = True
            yield from self.end()
            guess = stated.guess or ("backwards" if line.is_earlier else "")
            yield TimedCapture(line.said, stated.at, line.size, guess)
            return
        self._waiting.append(line)
        if self._has_stated or len(self._waiting) > _MOST_UNTIMED:
            yield from self.end()

    def end(self) -> Iterator[TimedCapture]:
        """What still waits for a time."""
        for utterance, size, _ in self._waiting:
            is_future = read_time(utterance.at) is not None
            if self._has_stated:
                yield TimedCapture(
                    utterance, self.last, size, "future" if is_future else "neighbour"
                )
            elif is_future:
                yield TimedCapture(utterance, self._latest, size, "future")
            else:
                yield TimedCapture(utterance, self.last, size, "file")
        self._waiting.clear()


def _in_project(paths: object) -> list[str]:
    """The project's paths that a line states, without those that lead elsewhere or look
    like a secret.
    """
    project_paths = (
        [project_path(path) for path in paths] if isinstance(paths, list) else []
    )
    return [
        path for path in dict.fromkeys(project_paths) if path and mask(path) == path
    ]
