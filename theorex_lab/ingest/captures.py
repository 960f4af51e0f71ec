"""What a transcript tells, as the captures that the hook would have made of it, each with its time and its place."""

import ntpath
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from theorex_lab.errors import InvalidInput
from theorex_lab.ids import derived_event_id, session_of
from theorex_lab.ingest.files import Transcript, row_of
from theorex_lab.ingest.said import Utterance, time_of
from theorex_lab.journal.event import Event, new_event
from theorex_lab.memory.captured import BODIES, Place, folder_of
from theorex_lab.project import Repository
from theorex_lab.text.masking import mask
from theorex_lab.text.paths import shown_path

REST_MICROSECONDS = 3_600_000_000  # a session that has been silent for so long is over
Problem = Callable[[int, str], None]  # takes the number of a line, and why it cannot be read
_MOST_UNTIMED = 100  # before the first time of a transcript


class Timed(NamedTuple):
    """What a transcript tells, with its time in µs UTC and the bytes of its line."""

    said: Utterance
    at: int
    size: int = 0


@dataclass
class Captures:
    """Makes events of what transcripts tell.

    latest: a later time (µs UTC) is not believed.  project: of what names no folder.  trust_own: whether these are the
    user's own transcripts.  keep_messages: as the setting.  named: gives the project of a repository, by default that of
    its path alone.
    """

    latest: int
    project: str
    agent: str = "main"
    trust_own: bool = False
    keep_messages: bool = True
    named: Callable[[Repository], str] | None = None
    _places: dict[tuple[str, str], Place] = field(default_factory=dict)
    _first: dict[str, str] = field(default_factory=dict)  # by session, the folder that it began in

    def event(self, form: str, told: Timed) -> Event | None:
        """The capture of what was told in a form of transcripts; None for what the hook keeps nothing of."""
        said = told.said
        name = said.hook["hook_event_name"]
        if name not in BODIES:
            return None
        kind, body_of = BODIES[name]
        session = session_of(said.session)
        body = body_of(said.hook, self._place(session, said.cwd))
        body.pop("trace_id", None)  # of the process that runs now
        if "source" in body and not self.trust_own:
            body["source"] = "import"
        if not self.keep_messages and "message" in body:
            body["message"] = ""
        if kind == "tool_used" and ("reads" in said.hook or "edits" in said.hook):
            body["paths"] = {use: _shown(said.hook.get(name)) for use, name in (("read", "reads"), ("edited", "edits"))}
        own, at = self.id_of(form, told), min(told.at, self.latest)
        return new_event(kind, body, agent=self.agent, session=session, at=at, event_id=own)

    def id_of(self, form: str, told: Timed) -> str:
        """The id of its capture: the same of each copy of the transcript."""
        own = told.said.own.encode("utf-8", "replace").decode()
        return derived_event_id("transcript", form, session_of(told.said.session), own)

    def project_of(self, told: Timed) -> str:
        """The project of what was told."""
        return self._place(session_of(told.said.session), told.said.cwd).project

    def _place(self, session: str, cwd: object) -> Place:
        """Where the session works: a folder that is not on this machine is its own root, with those below the first."""
        stated = folder_of({"cwd": cwd})
        if not stated:
            return Place("", self.project)
        key = first, _ = self._first.setdefault(session, stated), stated
        if key not in self._places:
            below = _is_below(stated, first) and not os.path.isdir(stated)
            self._places[key] = Place(first if below else stated, named=self.named)
        return self._places[key]


def _is_below(folder: str, above: str) -> bool:
    """Whether a folder lies in another, by their names alone; both may be of Windows."""
    if os.path.isabs(above):
        return folder.startswith(above.rstrip("/") + "/")
    return ntpath.normcase(folder).startswith(ntpath.normcase(above).rstrip("\\") + "\\")


def told(found: Transcript, written: int, is_over: Callable[[int], bool], problem: Problem) -> Iterator[Timed]:
    """What a transcript tells, in order; a time that is missing is that of what stands beside it, else `written` (µs).

    is_over: whether a session is whose last time (µs) this is.  problem: called with the number of each line that cannot
    be read, and why.
    """
    last = _Last(written)
    yield from _timed(_said(found, problem), last)
    if is_over(last.at):
        yield from _timed(((said, 0) for said in found.reader.end()), last)


@dataclass
class _Last:
    """The time of what was told last; whether it was stated."""

    at: int
    stated: bool = False


def _said(found: Transcript, problem: Problem) -> Iterator[tuple[Utterance, int]]:
    for line in found.lines:
        try:
            row = row_of(line)
            if row is not None:
                size = len(line.content or b"")
                yield from ((said, size) for said in found.reader.feed(row, line.number, size))
        except InvalidInput as error:
            problem(line.number, str(error))


def _timed(said: Iterable[tuple[Utterance, int]], last: _Last) -> Iterator[Timed]:
    waiting: list[Utterance] = []
    for utterance, size in said:
        at = time_of(utterance.at)
        if at is not None:
            last.at, last.stated = at, True
        elif not last.stated and len(waiting) < _MOST_UNTIMED:
            waiting.append(utterance)
            continue
        yield from (Timed(one, last.at) for one in waiting)
        waiting.clear()
        yield Timed(utterance, last.at, size)
    yield from (Timed(one, last.at) for one in waiting)


def _shown(paths: object) -> list[str]:
    """The project's paths that a line states, without those that lead elsewhere or look like a secret."""
    found = [shown_path(path) for path in paths] if isinstance(paths, list) else []
    return [path for path in dict.fromkeys(found) if path and mask(path) == path]
