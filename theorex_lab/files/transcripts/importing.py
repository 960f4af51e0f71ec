"""Transcripts into the journal: what is new of them, some hundred captures a
transaction, as often as one likes.
"""

import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from theorex_lab.core.clock import LATEST, to_microseconds
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import check_agent, session_of
from theorex_lab.core.progress import bar
from theorex_lab.core.project import (
    Repository,
    check_project,
    checkout_root,
    project_by_path,
    repository_of,
)
from theorex_lab.files.formats.flat_files import merged
from theorex_lab.files.transcripts.captures import (
    REST_MICROSECONDS,
    Captures,
    TimedCapture,
    told,
)
from theorex_lab.files.transcripts.folders import (
    BROKEN,
    Transcript,
    files_in,
    in_time_order,
    opened,
    stem_of,
    transcript,
)
from theorex_lab.journal.base import FUTURE_TOLERANCE_MICROSECONDS, Journal
from theorex_lab.journal.event import Event
from theorex_lab.journal.identity import project_in
from theorex_lab.memory.contract import Home
from theorex_lab.memory.hook_payloads import BODIES

OWN_FOLDERS = ("~/.claude", "~/.codex")
FORMS = "Claude Code's .jsonl, Codex's rollout-*.jsonl, or lines in a hook's form, plain or .gz"
_AT_ONCE = 500
_BYTES_AT_ONCE = 64 << 20
_LINES_A_STEP = 256  # of the progress bar
_MOST_PROBLEMS = 10_000
_WHERE_ANY = ("replayed", "guessed", "unread", "suggestion")
_COUNTED = {"prompt": "prompts", "tool_used": "tools", "turn_ended": "messages"}


@dataclass
class Imported:
    """What came in, or would by a dry run.

    files: transcripts.  sessions, events: new ones.  already: captures that were there.
    replayed: those that were there of another session, which this one resumed or was
    forked from.  skipped: those that the hook itself had recorded. earlier: those
    before `since`. All that the transcripts tell is one of events, already, replayed,
    skipped, earlier.

    guessed: of the events, how many have a time that no line states plainly, by how it
    was guessed (see `TimedCapture`). projects: by name, how many sessions, prompts, tools,
    messages.  unread: lines that could not be read, wholly or from some place on.
    problems: what could not be read, and where.  trusted: whether prompts came in as
    the user's own.
    """

    files: int = 0
    sessions: int = 0
    events: int = 0
    already: int = 0
    replayed: int = 0
    skipped: int = 0
    earlier: int = 0
    guessed: dict[str, int] = field(default_factory=dict)
    projects: dict[str, dict[str, int]] = field(default_factory=dict)
    unread: int = 0
    problems: list[str] = field(default_factory=list)
    trusted: bool = False
    suggestion: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON holds it; `replayed`, `guessed`, `unread` and
        `suggestion` where there are any.
        """
        return {
            name: value
            for name, value in asdict(self).items()
            if value or name not in _WHERE_ANY
        }


def import_transcripts(
    home: Home,
    path: Path,
    *,
    project: str = "",
    since: str | datetime | None = None,
    trust_own: bool = False,
    dry_run: bool = False,
    agent: str = "main",
    progress: bool | None = None,
) -> Imported:
    """Take in the transcripts of a file or folder, as captures of the hook; what is
    there already stays as it is.

    project: of sessions that name no absolute folder; without it their file's name.
    since: leave out what is earlier. trust_own: prompts are the user's word; otherwise
    all that comes in has the source `import`.  dry_run: nothing is written.  progress:
    a bar by bytes (None: in a terminal or notebook).

    Each 500 captures are one transaction; an import that was killed is repeated, and
    does the rest. Raises InvalidInput where there is no transcript, StorageError on a
    full disk.
    """
    named = _by_path if dry_run else partial(project_in, home.journal, bind=True)
    if os.sep in project:
        project_id = named(repository_of(checkout_root(str(Path(project).absolute()))))
    else:
        project_id = check_project(project)
    report = Imported(
        trusted=trust_own, suggestion="" if trust_own else _suggestion(path)
    )
    files = in_time_order(files_in(path, report.problems))
    captures = partial(
        Captures, agent=check_agent(agent), trust_own=trust_own, named=named
    )
    run = _ImportRun(
        home,
        report,
        project_id,
        captures,
        None if since is None else to_microseconds(since),
        dry_run,
    )
    progress_bar = bar(sum(files.values()), unit="B", what="import", progress=progress)
    with closing(progress_bar):
        for file in files:
            run.take(file, progress_bar)
    run.write()
    if not report.files:
        reasons = "".join(f"; {problem}" for problem in merged(report.problems))
        raise InvalidInput(
            f"got {path}, in which no transcript was found; allowed are {FORMS}{reasons}"
        )
    report.problems = merged(report.problems)
    return report


def read_transcripts(
    path: Path, *, project: str = ""
) -> Iterator[tuple[TimedCapture, Event | None, str]]:
    """Yield what the transcripts of a file or folder tell, in full, with its capture
    and its project; nothing is written.

    project: as in `import_transcripts`. Prompts are the user's word, and every session
    is over. Lines that cannot be read are left out. Raises InvalidInput where there is
    no such file or folder.
    """
    event_ids: set[str] = set()
    for file in in_time_order(files_in(path, [])):
        with opened(file) as (content, _):
            source = transcript(file, content)
            if source is None:
                continue
            captures = Captures(LATEST, project or stem_of(file), trust_own=True)
            for utterance in told(
                source,
                file.stat().st_mtime_ns // 1_000,
                lambda _: True,
                lambda *_: None,
            ):
                event = captures.event(source.reader.name, utterance)
                if event is None or event.id not in event_ids:
                    yield utterance, event, captures.project_of(utterance)
                event_ids |= {event.id} if event else set()


def _by_path(repository: Repository) -> str:
    return project_by_path(repository.root)


class _ImportRun:
    """One import: takes files one by one, and writes what is new of them."""

    def __init__(
        self,
        home: Home,
        report: Imported,
        project: str,
        captures: Callable[..., Captures],
        since: int | None,
        dry: bool,
    ) -> None:
        self._journal = home.journal
        self._report = report
        self._project = project
        self._since = since
        self._now = home.clock.now()
        self._dry_run = dry
        self._recorded = HookedCaptures(home.journal)
        latest = self._now + FUTURE_TOLERANCE_MICROSECONDS
        keep = home.settings.keep_messages
        self._latest = latest
        self._captures = partial(captures, latest, keep_messages=keep)
        self._seen: dict[str, str] = {}  # by a dry run: the session of each id
        self._hooked: set[str] = set()  # the ids of what the hook has recorded
        self._sessions: dict[str, set[str]] = defaultdict(set)
        self._batch = list[tuple[Captures, str, TimedCapture]]()
        self._bytes = 0

    def take(self, file: Path, progress_bar: Any) -> None:
        """Read a file to its end; one that is no transcript is left out."""
        try:
            file_time = file.stat().st_mtime_ns // 1_000
            with opened(file) as (content, raw):
                source = transcript(file, content)
                if source is None:
                    self._problem(file, 1, "no transcript of a form that is known")
                    return
                self._report.files += 1
                self._read(
                    file,
                    source._replace(lines=_tracked(source.lines, raw, progress_bar)),
                    file_time,
                )
        except BROKEN as error:
            self._problem(file, 0, f"cannot be read further: {error}")

    def write(self) -> None:
        """Write what waits, without what is there or was recorded by the hook; what is
        there already is not built again.
        """
        ids = [
            captures.id_of(form, utterance) for captures, form, utterance in self._batch
        ]
        former = [
            captures.session_id_of(form, utterance)
            for captures, form, utterance in self._batch
        ]
        sessions = self._known_sessions({*ids, *former})
        new: dict[str, Event] = {}
        guesses: dict[str, str] = {}
        for number, old, (captures, form, utterance) in zip(
            ids, former, self._batch, strict=True
        ):
            hooked_session = sessions.get(number, sessions.get(old))
            if hooked_session is not None:
                self._count_known(hooked_session == session_of(utterance.said.session))
                continue
            if number in self._hooked:
                self._report.skipped += 1
                continue
            event = captures.event(form, utterance)
            if event is None:
                self._report.already += 1
            elif self._recorded.holds(event, anywhere=utterance.said.is_unique):
                self._report.skipped += 1
                self._hooked.add(number)
            else:
                new[number] = event
                sessions[number] = event.session
                guesses[number] = utterance.guess
        self._append(new)
        for number in new:
            if guess := guesses[number]:
                self._report.guessed[guess] = self._report.guessed.get(guess, 0) + 1
        self._batch = []
        self._bytes = 0

    def _known_sessions(self, ids: set[str]) -> dict[str, str]:
        """Return the sessions of those ids that are there, or were seen by a dry run."""
        sessions = {
            event.id: event.session
            for event in self._journal.read(ids=sorted(ids), erased=True)
        }
        return sessions | {
            number: self._seen[number] for number in ids if number in self._seen
        }

    def _count_known(self, is_same_session: bool) -> None:
        if is_same_session:
            self._report.already += 1
        else:
            self._report.replayed += 1

    def _append(self, new: dict[str, Event]) -> None:
        if self._dry_run:
            self._seen.update((number, event.session) for number, event in new.items())
        elif new:
            with self._journal.exclusive() as append:
                for event in self._journal.read(
                    ids=list(new), erased=True
                ):  # by another import meanwhile
                    del new[event.id]
                    self._report.already += 1
                for event in new.values():
                    append(event)
        for event in new.values():
            self._count(event)

    def _read(self, file: Path, opened: Transcript, file_time: int) -> None:
        captures = self._captures(self._project or stem_of(file))
        rested = self._now - REST_MICROSECONDS
        unread = partial(self._unread, file)
        for utterance in told(
            opened, file_time, lambda last: last < rested, unread, self._latest
        ):
            if utterance.said.hook["hook_event_name"] not in BODIES:
                continue
            if self._since is not None and utterance.at < self._since:
                self._report.earlier += 1
                continue
            self._batch.append((captures, opened.reader.name, utterance))
            self._bytes += utterance.size
            if len(self._batch) >= _AT_ONCE or self._bytes >= _BYTES_AT_ONCE:
                self.write()

    def _count(self, event: Event) -> None:
        self._report.events += 1
        project = event.body.get("project", "")
        counts = self._report.projects.setdefault(
            project, dict.fromkeys(("sessions", *_COUNTED.values()), 0)
        )
        if event.session not in self._sessions[project]:
            self._sessions[project].add(event.session)
            counts["sessions"] += 1
            self._report.sessions += 1
        if event.kind in _COUNTED:
            counts[_COUNTED[event.kind]] += 1

    def _unread(self, file: Path, number: int, why: str) -> None:
        self._report.unread += 1
        self._problem(file, number, why)

    def _problem(self, file: Path, number: int, why: str) -> None:
        if len(self._report.problems) < _MOST_PROBLEMS:
            self._report.problems.append(f"{file.name}:{number}: {why}")


def _tracked(lines: Iterator[Any], raw: Any, progress_bar: Any) -> Iterator[Any]:
    """Yield the lines; the bar is moved by how far the file was read."""
    offset = 0
    for number, line in enumerate(lines):
        yield line
        if number % _LINES_A_STEP == 0:
            progress_bar.update(raw.tell() - offset)
            offset = raw.tell()
    progress_bar.update(raw.tell() - offset)


def _suggestion(path: Path) -> str:
    """Return what to say of transcripts in the user's own folder of an agent."""
    resolved = path.resolve()
    folders = (
        folder
        for folder in OWN_FOLDERS
        if resolved.is_relative_to(Path(folder).expanduser().resolve())
    )
    advice = "if you wrote the prompts in them, --trust-own takes them for your word"
    return next((f"these lie in {folder}: {advice}" for folder in folders), "")


_SAYS = {
    "prompt": ("text",),
    "turn_ended": ("message",),
    "turn_message": ("text",),
    "tool_used": ("tool", "input"),
}
_DRAWN = "7"  # the version in an id that was drawn; those of imports are derived


_SAME_MICROSECONDS = (
    10_000_000  # between the hook's time of an event and its transcript's
)


class HookedCaptures:
    """The hook's captures by what they say, each with its session, time and project;
    each stands for one event.
    """

    def __init__(self, journal: Journal) -> None:
        kinds = [*_SAYS, "compacting", "session_ended"]
        self._left: dict[int, dict[str, list[tuple[int, str]]]] = defaultdict(dict)
        for event in journal.tail(0, kinds=kinds):
            if event.session and (
                event.id[14] == _DRAWN or event.kind == "turn_message"
            ):
                moment = event.at, event.body.get("project", "")
                self._left[_key(event)].setdefault(event.session, []).append(moment)

    def holds(self, event: Event, *, anywhere: bool = False) -> bool:
        """Return whether the hook has recorded this; each of its captures stands for
        one.

        anywhere: also in another session of the project, at the same time: one that was
        resumed is repeated by the next.
        """
        sessions = self._left.get(_key(event), {})
        if sessions.get(event.session):
            sessions[event.session].pop(0)
            return True
        if not anywhere:
            return False
        for moments in sessions.values():
            for index, (at, project) in enumerate(moments):
                if (
                    abs(at - event.at) <= _SAME_MICROSECONDS
                    and project == event.body["project"]
                ):
                    del moments[index]
                    return True
        return False


def _key(event: Event) -> int:
    kind = "turn_ended" if event.kind == "turn_message" else event.kind
    return hash(
        (kind, *(str(event.body.get(name)) for name in _SAYS.get(event.kind, ())))
    )
