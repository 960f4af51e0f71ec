"""What a transcript tells, as the captures that the hook would have made of it.

Each comes with its time and its place.
"""

import hashlib
import json
import ntpath
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from theorex_lab.core.clock import LATEST
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import derived_event_id, session_of
from theorex_lab.core.project import Repository
from theorex_lab.core.settings import Settings
from theorex_lab.files.transcripts.folders import SourceLine, Transcript, rows_of
from theorex_lab.files.transcripts.line_counts import EMPTY, LineCounts
from theorex_lab.files.transcripts.messages import (
    NOTE_CHARACTERS,
    NOTE_EVENT,
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
# Takes the number of a line, and why it cannot be read.
Problem = Callable[[int | str, str], None]
_MOST_UNTIMED = 100  # before the first time of a transcript
# How far lines that are written at once may be out of order.
_UNSTEADY_MICROSECONDS = 60_000_000


def is_captured(utterance: Utterance) -> bool:
    """Return whether an event is kept of what is told."""
    name = utterance.hook["hook_event_name"]
    return name in BODIES or name == NOTE_EVENT


class TimedCapture(NamedTuple):
    """What a transcript tells, with its time.

    Attributes:
        said: What is told.
        at: µs UTC.
        size: The bytes of its line.
        guess: '' where the transcript states the time plainly; `number` and
            `leap_second`, as `read_time` says; `backwards`, as stated, though more than
            a minute before what the session states before it; `neighbour`, the time
            of the line next to it, where it states none; `file`, the time of the file's
            last change, where nothing states any; `future`, where a time is not
            believed: the neighbour's, or the latest that is.
    """

    said: Utterance
    at: int
    size: int = 0
    guess: str = ""


@dataclass
class Captures:
    """Makes events of what transcripts tell.

    Attributes:
        latest: A later time (µs UTC) is not believed.
        project: The project of what names no folder.
        agent: Whose captures they are.
        trusted: Whether these are the user's own transcripts.
        keep_messages: As the setting keepMessages.
        named: Gives the project of a repository, by default that of its path alone.
        settings: The settings of the home.
    """

    latest: int
    project: str
    agent: str = "main"
    trusted: bool = False
    keep_messages: bool = True
    named: Callable[[Repository], str] | None = None
    settings: Settings = field(default_factory=Settings)
    _places: dict[tuple[str, str], WorkingFolder] = field(default_factory=dict)
    # By what a line names, the folder that it stands for.
    _stated: dict[str, str] = field(default_factory=dict)
    # By session, the folder that it began in.
    _first: dict[str, str] = field(default_factory=dict)

    def event(
        self, form: str, capture: TimedCapture, event_id: str = ""
    ) -> Event | None:
        """Return the capture of what was told, None where the hook keeps nothing of it.

        Args:
            form: The form of the transcript, a reader's name.
            capture: What was told.
            event_id: The id of its capture, '' where it is not known yet.
        """
        utterance = capture.said
        name = utterance.hook["hook_event_name"]
        session = session_of(utterance.session)
        if name == NOTE_EVENT:
            return self._note(form, capture, event_id)
        if name not in BODIES:
            return None
        kind, body_of = BODIES[name]
        body = body_of(utterance.hook, self._folder_of(session, utterance.cwd))
        if "source" in body and not self.trusted:
            body["source"] = "import"
        if not self.keep_messages and "message" in body:
            body["message"] = ""
        if kind == "tool_used" and not _STATED_PATHS.isdisjoint(utterance.hook):
            body["paths"] = {
                "read": _in_project(utterance.hook.get("reads")),
                "edited": _in_project(utterance.hook.get("edits")),
            }
        return new_event(
            kind,
            body,
            agent=self.agent,
            session=session,
            at=min(capture.at, self.latest),
            event_id=event_id or self.id_of(form, capture),
        )

    def _note(self, form: str, capture: TimedCapture, event_id: str) -> Event:
        """Return a note of another memory, which is nobody's own word here."""
        # Readers of files do without what finds concepts in texts.
        from theorex_lab.memory.observation import ObservationEntry, new_observation

        entry = ObservationEntry(
            capture.said.hook["text"],
            self.agent,
            at=min(capture.at, self.latest),
            source="import",
            session=session_of(capture.said.session),
            project=self.project_of(capture),
        )
        # Its reader has cut it to this length, which a home need not allow its writers.
        settings = replace(self.settings, max_text_bytes=4 * NOTE_CHARACTERS)
        event, _ = new_observation(entry, settings, capture.at)
        return event._replace(id=event_id or self.id_of(form, capture))

    def id_of(self, form: str, capture: TimedCapture) -> str:
        """Return the id of its capture.

        It is the same of each copy of the transcript, and of each session that repeats
        it.
        """
        utterance = capture.said
        stated_at = time_of(utterance.at) if utterance.is_unique else None
        if stated_at is None:
            return self.session_id_of(form, capture)
        own_id = _encodable(utterance.own)
        digest = _digest(utterance)
        return derived_event_id(
            "transcript",
            form,
            "",
            own_id,
            stated_at,
            digest,
        )

    def ids_of(self, form: str, capture: TimedCapture) -> tuple[str, str]:
        """Return what `id_of` and `session_id_of` do."""
        session_id = self.session_id_of(form, capture)
        if not capture.said.is_unique:
            return session_id, session_id
        return self.id_of(form, capture), session_id

    def session_id_of(self, form: str, capture: TimedCapture) -> str:
        """Return the id of its capture within its session.

        What has no id of its own has this one, and all that was imported by former
        releases.
        """
        session = session_of(capture.said.session)
        own_id = _encodable(capture.said.own)
        return derived_event_id("transcript", form, session, own_id)

    def project_of(self, capture: TimedCapture) -> str:
        """Return the project of what was told."""
        session = session_of(capture.said.session)
        folder = self._folder_of(session, capture.said.cwd)
        return folder.project

    def _folder_of(self, session: str, cwd: object) -> WorkingFolder:
        """Return where the session works.

        A folder that is not on this machine is its own root, with those below the
        first.
        """
        stated = self._stated_folder(cwd)
        if not stated:
            return WorkingFolder("", self.project)
        first = self._first.setdefault(session, stated)
        key = (first, stated)
        if key not in self._places:
            is_part = _is_below(stated, first) and not os.path.isdir(stated)
            root = first if is_part else stated
            self._places[key] = WorkingFolder(root, name_project=self.named)
        return self._places[key]

    def _stated_folder(self, cwd: object) -> str:
        """Return the folder that a line names, '' for none; most name the same."""
        if not isinstance(cwd, str):
            return ""
        stated = self._stated.get(cwd)
        if stated is None:
            stated = folder_of({"cwd": cwd})
            self._stated[cwd] = stated
        return stated


def _encodable(text: str) -> str:
    """Return the text with ? for what cannot be encoded."""
    if text.isascii():
        return text
    return text.encode("utf-8", "replace").decode()


def _is_below(folder: str, above: str) -> bool:
    """Return whether a folder lies in another, by their names alone.

    Both may be of Windows.
    """
    if os.path.isabs(above):
        return folder.startswith(above.rstrip("/") + "/")
    start = ntpath.normcase(above).rstrip("\\") + "\\"
    return ntpath.normcase(folder).startswith(start)


def _digest(utterance: Utterance) -> str:
    """Return what tells two events of one id and time apart.

    It is a hash of all that the transcript says of them.
    """
    content = utterance.written or json.dumps(utterance.hook, sort_keys=True)
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


def timed_captures(
    transcript: Transcript,
    file_time: int,
    *,
    is_over: Callable[[int], bool],
    problem: Problem,
    latest: int = LATEST,
    counts: LineCounts | None = None,
) -> Iterator[TimedCapture]:
    """Yield what a transcript tells, in order.

    A missing time is that of the line next to it, else the file's.

    Args:
        transcript: The transcript.
        file_time: When the file was changed last, in µs UTC.
        is_over: Returns whether a session is over whose last time (µs) this is.
        problem: Is called with the number of each line that cannot be read, and why.
        latest: A later time (µs UTC) is not believed.
        counts: Gets what became of each line.
    """
    times = _Times(file_time, latest)
    lines = _Lines(transcript, problem, latest, counts or LineCounts())
    for line in lines.told():
        yield from times.of(line)
    yield from times.end()
    if is_over(times.last):
        for line in lines.told_at_end():
            yield from times.of(line)
        yield from times.end()
    lines.counts.end()


class _Line(NamedTuple):
    """What a line tells.

    Attributes:
        said: What is told.
        size: The bytes of the line.
        is_earlier: Whether its time is before that of the lines above it.
    """

    said: Utterance
    size: int = 0
    is_earlier: bool = False


class _Lines:
    """What the lines of a transcript tell, with a count of what became of each."""

    def __init__(
        self,
        transcript: Transcript,
        problem: Problem,
        latest: int,
        counts: LineCounts,
    ) -> None:
        self.counts = counts
        self._reader = transcript.reader
        self._lines = transcript.lines
        self._problem = problem
        self._latest = latest
        # By who writes lines one after another, the last time that they state.
        self._before: dict[str, int] = {}
        counts.substituted += transcript.n_damaged

    def told(self) -> Iterator[_Line]:
        """Yield what the lines tell, and report those that cannot be read."""
        for line in self._lines:
            position = 0
            try:
                for position, row in enumerate(rows_of(line), start=1):
                    yield from self._told_in_row(line, position, row)
            except InvalidInput as error:
                self._unread(line.number, error)
            else:
                if position == 0:
                    self.counts.leave_out(EMPTY)
            if line.content and _is_damaged(line.content):
                self.counts.substituted += 1

    def told_at_end(self) -> Iterator[_Line]:
        """Yield what the end of the lines implies."""
        for utterance in self._reader.end():
            self._count(utterance)
            yield _Line(utterance)

    def _told_in_row(
        self, line: SourceLine, position: int, row: Row
    ) -> Iterator[_Line]:
        """Yield what an object tells, the first of its line or a later one."""
        size = len(line.content or b"")
        number = line.number if position == 1 else f"{line.number}.{position}"
        is_earlier = _runs_backwards(row, self._before, self._latest)
        has_told = False
        try:
            for utterance in self._reader.feed(row, number, size):
                has_told |= self._count(utterance, number)
                is_own_time = utterance.at is stated_in(row)
                yield _Line(utterance, size, is_earlier and is_own_time)
        except InvalidInput as error:
            self._unread(line.number, error)
            self.counts.with_captures += has_told
            return
        if has_told:
            self.counts.with_captures += 1
        else:
            self.counts.waits(number, self._reader.kind_of(row))

    def _count(self, utterance: Utterance, current: int | str = 0) -> bool:
        """Count the earlier lines that this stands for.

        Returns:
            Whether it stands for the current line as well.
        """
        if not is_captured(utterance):
            return False
        is_current = False
        for row in utterance.rows:
            if row == current:
                is_current = True
            else:
                self.counts.told_later(row)
        return is_current

    def _unread(self, number: int | str, error: InvalidInput) -> None:
        self.counts.unread += 1
        self._problem(number, str(error))


def _is_damaged(content: bytes) -> bool:
    """Return whether a line holds what no text has.

    It is bytes that are not UTF-8, or half of a pair of surrogates.
    """
    if not content.isascii():
        try:
            content.decode("utf-8")
        except UnicodeDecodeError:
            return True
    if b"\\u" not in content:
        return False  # nearly always, and found quickly
    without_pairs = _PAIR.sub(b"", content)
    return _SURROGATE.search(without_pairs) is not None


# An escape of JSON that stands for half of a pair, behind no backslash of its own.
_BACKSLASH = rb"(?<!\\)(?:\\\\)*\\u"
_SURROGATE = re.compile(_BACKSLASH + rb"[dD][89a-fA-F][0-9a-fA-F]{2}")
_PAIR = re.compile(
    _BACKSLASH + rb"[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)


def _runs_backwards(
    row: Row,
    before: dict[str, int],
    latest: int,
) -> bool:
    """Return whether a line's time is clearly earlier than that of the one before it.

    Compared are lines of the same session and helper.
    """
    at = time_of(stated_in(row))
    if at is None or at > latest:
        return False
    writer = f"{_session_in(row)} {row.get('agentId')} {row.get('isSidechain')}"
    last = before.get(writer, at)
    before[writer] = at
    return at < last - _UNSTEADY_MICROSECONDS


def _session_in(row: Row) -> object:
    """Return the session that a line names, '' where it names none."""
    for name in _SESSIONS:
        if name in row:
            return row[name]
    return ""


_STATED_PATHS = frozenset({"reads", "edits"})
_SESSIONS = ("sessionId", "session", "session_id")


class _Times:
    """Gives each line of a transcript its time.

    Attributes:
        last: The latest time that was stated, until then that of the file.
    """

    def __init__(self, file_time: int, latest: int) -> None:
        self.last = file_time
        self._latest = latest
        self._has_stated = False
        self._waiting: list[_Line] = []  # until something states a time

    def of(self, line: _Line) -> list[TimedCapture]:
        """Return the captures whose time is known after this line.

        They are the line itself, after those that waited for a time, or nothing yet.
        """
        stated = read_time(line.said.at)
        if stated is not None and stated.at <= self._latest:
            self.last = stated.at
            self._has_stated = True
            guess = stated.guess or ("backwards" if line.is_earlier else "")
            capture = TimedCapture(line.said, stated.at, line.size, guess)
            return [*self.end(), capture] if self._waiting else [capture]
        self._waiting.append(line)
        if self._has_stated or len(self._waiting) > _MOST_UNTIMED:
            return self.end()
        return []

    def end(self) -> list[TimedCapture]:
        """Return what still waits for a time."""
        captures = [self._untimed(line) for line in self._waiting]
        self._waiting.clear()
        return captures

    def _untimed(self, line: _Line) -> TimedCapture:
        """Return a capture with the time of its neighbour, or what stands for it."""
        is_future = read_time(line.said.at) is not None
        if self._has_stated:
            guess = "future" if is_future else "neighbour"
            return TimedCapture(line.said, self.last, line.size, guess)
        if is_future:
            return TimedCapture(line.said, self._latest, line.size, "future")
        return TimedCapture(line.said, self.last, line.size, "file")


def _in_project(paths: object) -> list[str]:
    """Return the project's paths that a line states.

    Those that lead elsewhere or look like a secret are left out.
    """
    if not isinstance(paths, list):
        return []
    project_paths = dict.fromkeys(map(project_path, paths))
    return [path for path in project_paths if path and mask(path) == path]
