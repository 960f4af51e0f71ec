"""Transcripts into the journal: what is new of them, as often as one likes.

Some hundred captures make a transaction.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from theorex_lab.core.clock import LATEST, to_microseconds
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.ids import check_agent, session_of
from theorex_lab.core.progress import bar
from theorex_lab.core.project import (
    Repository,
    project_by_path,
)
from theorex_lab.core.readable import Report
from theorex_lab.files.formats.flat_files import merged
from theorex_lab.files.isolated.limits import ReadLimits
from theorex_lab.files.isolated.process import ReaderProcess
from theorex_lab.files.transcripts.captures import (
    REST_MICROSECONDS,
    Captures,
    TimedCapture,
    is_captured,
)
from theorex_lab.files.transcripts.folders import (
    files_in,
    in_time_order,
    project_stem,
)
from theorex_lab.files.transcripts.line_counts import LineCounts
from theorex_lab.files.transcripts.records import (
    ReadRequest,
    TranscriptReading,
    transcript_records,
)
from theorex_lab.files.transcripts.retold import RetoldTurns
from theorex_lab.journal.base import FUTURE_TOLERANCE_MICROSECONDS, Journal
from theorex_lab.journal.event import Event
from theorex_lab.journal.identity import project_in
from theorex_lab.memory.contract import Home

OWN_FOLDERS = ("~/.claude", "~/.codex")
FORMS = (
    "Claude Code's .jsonl, Codex's rollout-*.jsonl, SpecStory's or Cursor's .md,"
    " messages of OpenAI's or Anthropic's form, spans of OpenTelemetry, exports of"
    " ChatGPT, Gemini CLI, Langfuse, LangSmith and mem0, logs of inspect_ai and"
    " memory.jsonl of the MCP memory server in .json or .jsonl, or lines in a hook's"
    " form, plain or .gz"
)
_AT_ONCE = 500
_BYTES_AT_ONCE = 64 << 20
_MOST_PROBLEMS = 10_000
_WHERE_ANY = (
    "replayed",
    "retold",
    "doubled",
    "guessed",
    "unread",
    "substituted",
    "other_files",
    "suggestion",
)
_COUNTED = {
    "prompt": "prompts",
    "tool_used": "tools",
    "turn_ended": "messages",
    "observation": "notes",
}
_ALWAYS_COUNTED = ("sessions", "prompts", "tools", "messages")


@dataclass(repr=False)
class Imported(Report):
    """What came in, or would by a dry run.

    All that the transcripts tell is one of events, already, replayed, retold, skipped,
    earlier. Each of their lines is one of with_captures, left_out, unread.

    Attributes:
        files: How many transcripts.
        sessions: How many new sessions.
        events: How many new captures.
        already: How many captures were there.
        replayed: How many were there of another session, which this one resumed or was
            forked from.
        retold: How many belong to turns that a transcript of another form has told, by
            the same words at the same time in the same session.
        doubled: How many sessions came in from transcripts of two forms that share no
            prompt, so that they may count twice.
        skipped: How many the hook itself had recorded.
        earlier: How many were before `since`.
        guessed: How many events have a time that no line states plainly, by the way it
            was guessed (see `TimedCapture`).
        projects: By name, how many sessions, prompts, tools and messages, and notes
            where there are any.
        lines: How many lines the transcripts have; an object of JSON, a part of a
            Markdown file, or a piece of a message counts as one (see `pieces`).
        with_captures: How many lines told something that the hook captures.
        left_out: How many lines told nothing of the kind, by what they are.
        unread: How many lines could not be read, wholly or from some place on.
        substituted: How many lines hold characters that no text has; ? or \ufffd stands
            for them.
        other_files: How many files of a folder were not looked at, by their ending.
        problems: What could not be read, and where.
        trusted: Whether prompts came in as the user's own.
        suggestion: What to do about prompts that did not, '' for nothing.
    """

    files: int = 0
    sessions: int = 0
    events: int = 0
    already: int = 0
    replayed: int = 0
    retold: int = 0
    doubled: int = 0
    skipped: int = 0
    earlier: int = 0
    guessed: dict[str, int] = field(default_factory=dict)
    projects: dict[str, dict[str, int]] = field(default_factory=dict)
    lines: int = 0
    with_captures: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    unread: int = 0
    substituted: int = 0
    other_files: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    trusted: bool = False
    suggestion: str = ""

    def _facts(self) -> tuple[str, ...]:
        problems = f"{len(self.problems)} problems" if self.problems else ""
        n_sessions = f"{self.sessions} new sessions"
        return (f"{self.files} files", n_sessions, f"{self.events} events", problems)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON holds it.

        What is rare stands in it only where there is any (see `_WHERE_ANY`).
        """
        fields = asdict(self)
        for name in _WHERE_ANY:
            if not fields[name]:
                del fields[name]
        return fields


def import_transcripts(
    home: Home,
    path: Path,
    *,
    project: str = "",
    since: str | datetime | None = None,
    trusted: bool = False,
    dry_run: bool = False,
    agent: str = "main",
    progress: bool | None = None,
) -> Imported:
    """Take in the transcripts of a file or folder, as captures of the hook.

    What is there already stays as it is. Each 500 captures are one transaction; an
    import that was killed is repeated, and does the rest.

    Args:
        home: The home that they are kept in.
        path: A file or folder.
        project: The project of sessions that name no absolute folder: its id, its name,
            a folder, or the name of a new one; without it their file's name.
        since: Leave out what is earlier; ISO 8601 or a time with an offset.
        trusted: Prompts are the user's word; otherwise all that comes in has the
            source `import`.
        dry_run: Nothing is written.
        agent: Whose captures they are.
        progress: Show a bar by bytes; None in a terminal or notebook.

    Raises:
        InvalidInput: Where there is no transcript.
        StorageError: On a full disk.
    """
    named = _by_path if dry_run else partial(project_in, home.journal, bind=True)
    suggestion = "" if trusted else _suggestion(path)
    report = Imported(trusted=trusted, suggestion=suggestion)
    earliest = None if since is None else to_microseconds(since)
    with ReaderProcess(ReadLimits.of(home.settings)) as process:
        process.prepare(transcript_records)
        project_id = _project_id(home, project, bind=not dry_run)
        captures = partial(
            Captures,
            agent=check_agent(agent),
            trusted=trusted,
            named=named,
            settings=home.settings,
        )
        run = _ImportRun(
            home,
            report,
            project_id,
            captures,
            earliest,
            dry_run,
        )
        other_files = Counter[str]()
        all_files = files_in(path, report.problems, process, other_files)
        report.other_files = dict(other_files.most_common())
        files = in_time_order(all_files, report.problems, process)
        n_bytes = sum(files.values())
        progress_bar = bar(n_bytes, unit="B", what="import", progress=progress)
        with closing(progress_bar):
            for file in files:
                run.take(file, process, progress_bar)
    run.end()
    report.problems = merged(report.problems)
    if not report.files:
        reasons = "".join(f"; {problem}" for problem in report.problems)
        raise InvalidInput(
            f"got {path}, in which no transcript was found; allowed are {FORMS}{reasons}"
        )
    return report


def _project_id(home: Home, project: str, *, bind: bool) -> str:
    """Return the project that is called so, '' for none.

    The view of projects takes NumPy, which an import needs for nothing else.
    """
    if not project:
        return ""
    from theorex_lab.memory.projects import known_or_new_project

    return known_or_new_project(home, project, bind=bind)


def read_transcripts(
    path: Path, *, project: str = ""
) -> Iterator[tuple[TimedCapture, Event | None, str]]:
    """Yield what the transcripts of a file or folder tell, in full.

    Nothing is written. Prompts are the user's word, and every session is over. Lines
    that cannot be read are left out.

    Args:
        path: A file or folder.
        project: As in `import_transcripts`.

    Yields:
        What is told, its capture (None where the hook keeps nothing of it) and its
        project.

    Raises:
        InvalidInput: Where there is no such file or folder, or a file in it takes too
            much.
    """
    event_ids: set[str] = set()
    left_out = list[str]()
    with ReaderProcess() as process:
        files = in_time_order(files_in(path, [], process), left_out, process)
        if left_out:
            raise InvalidInput(f"got {path}: {left_out[0]}; take the file out of it")
        for file in files:
            for capture, event, project_id in _read_whole(file, process, project):
                if event is None:
                    yield capture, None, project_id
                elif event.id not in event_ids:
                    event_ids.add(event.id)
                    yield capture, event, project_id


def _read_whole(
    file: Path,
    process: ReaderProcess,
    project: str,
) -> Iterator[tuple[TimedCapture, Event | None, str]]:
    """Yield what a file tells, as `read_transcripts`; nothing of another form."""
    reading = TranscriptReading(process, file, ReadRequest())
    if not reading.begin():
        return
    captures = Captures(LATEST, project or project_stem(file), trusted=True)
    for capture in reading.captures(lambda *_: None):
        event = captures.event(reading.form, capture)
        yield capture, event, captures.project_of(capture)


def _by_path(repository: Repository) -> str:
    return project_by_path(repository.root)


class _Waiting(NamedTuple):
    """A capture that is not written yet, with who makes its event.

    Attributes:
        captures: Makes its event.
        form: The form of its transcript.
        capture: What is told.
        is_retold: Whether another form has told its turn.
    """

    captures: Captures
    form: str
    capture: TimedCapture
    is_retold: bool


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
        self._retold = RetoldTurns(home.journal)
        self._counts = LineCounts()
        latest = self._now + FUTURE_TOLERANCE_MICROSECONDS
        keep = home.settings.keep_messages
        self._latest = latest
        self._captures = partial(captures, latest, keep_messages=keep)
        self._seen: dict[str, str] = {}  # by a dry run: the session of each id
        self._hooked: set[str] = set()  # the ids of what the hook has recorded
        self._sessions: dict[str, set[str]] = defaultdict(set)
        self._batch = list[_Waiting]()
        self._bytes = 0
        self._looked_upto = 0  # the newest event when ids were looked for

    def take(
        self,
        file: Path,
        process: ReaderProcess,
        progress_bar: Any,
    ) -> None:
        """Read a file to its end; one that is no transcript is left out."""
        rested = self._now - REST_MICROSECONDS
        reading = TranscriptReading(process, file, ReadRequest(self._latest, rested))
        try:
            if not reading.begin():
                self._problem(file, 1, "no transcript of a form that is known")
                return
            self._report.files += 1
            self._read(file, reading, progress_bar)
        except EOFError as error:
            self._problem(file, 0, f"cannot be read further: {error}")
        except InvalidInput as error:
            why = f"cannot be read further: {error}" if reading.form else str(error)
            self._problem(file, 0, why)
        self._counts.add(reading.counts)

    def end(self) -> None:
        """Write what waits, and count the lines."""
        self.write()
        counts = self._counts
        report = self._report
        report.lines = counts.total
        report.with_captures = counts.with_captures
        report.left_out = dict(counts.left_out.most_common())
        report.unread = counts.unread
        report.substituted = counts.substituted
        report.doubled = len(self._retold.doubled_sessions())

    def write(self) -> None:
        """Write what waits, without what is there or was recorded by the hook.

        What is there already is not built again.
        """
        ids = list[str]()
        former_ids = list[str]()
        for captures, form, capture, _ in self._batch:
            capture_id, former_id = captures.ids_of(form, capture)
            ids.append(capture_id)
            former_ids.append(former_id)
        sessions = self._known_sessions({*ids, *former_ids})
        new: dict[str, Event] = {}
        guesses: dict[str, str] = {}
        for capture_id, former_id, (captures, form, capture, is_retold) in zip(
            ids, former_ids, self._batch, strict=True
        ):
            stored_session = sessions.get(capture_id, sessions.get(former_id))
            if stored_session is not None:
                session = session_of(capture.said.session)
                self._count_known(stored_session == session)
                continue
            if is_retold:
                self._report.retold += 1
                continue
            event = self._new_event(capture_id, captures, form, capture)
            if event is not None:
                new[capture_id] = event
                sessions[capture_id] = event.session
                guesses[capture_id] = capture.guess
        self._append(new)
        for capture_id in new:
            guess = guesses[capture_id]
            if guess:
                n_guessed = self._report.guessed.get(guess, 0)
                self._report.guessed[guess] = n_guessed + 1
        self._batch = []
        self._bytes = 0

    def _new_event(
        self,
        capture_id: str,
        captures: Captures,
        form: str,
        capture: TimedCapture,
    ) -> Event | None:
        """Return the event of a capture; None, which is counted, for no new one."""
        if capture_id in self._hooked:
            self._report.skipped += 1
            return None
        event = captures.event(form, capture, capture_id)
        if event is None:
            self._report.already += 1
            return None
        if self._recorded.holds(event, anywhere=capture.said.is_unique):
            self._report.skipped += 1
            self._hooked.add(capture_id)
            return None
        return event

    def _known_sessions(self, ids: set[str]) -> dict[str, str]:
        """Return the sessions of those ids that are there, or were seen by a dry run."""
        self._looked_upto = self._journal.last_seq()
        stored = self._journal.read(ids=sorted(ids), erased=True)
        sessions = {event.id: event.session for event in stored}
        for event_id in ids & self._seen.keys():
            sessions[event_id] = self._seen[event_id]
        return sessions

    def _count_known(self, is_same_session: bool) -> None:
        if is_same_session:
            self._report.already += 1
        else:
            self._report.replayed += 1

    def _append(self, new: dict[str, Event]) -> None:
        """Append the new events, by their ids, and count them."""
        if self._dry_run:
            for event_id, event in new.items():
                self._seen[event_id] = event.session
        elif new:
            with self._journal.exclusive() as append:
                self._leave_out_newer(new)
                for event in new.values():
                    append(event)
        for event in new.values():
            self._count(event)

    def _leave_out_newer(self, new: dict[str, Event]) -> None:
        """Leave out what another import has brought since the last look."""
        if self._journal.last_seq() == self._looked_upto:
            return
        for event in self._journal.read(ids=list(new), erased=True):
            del new[event.id]
            self._report.already += 1

    def _read(
        self,
        file: Path,
        reading: TranscriptReading,
        progress_bar: Any,
    ) -> None:
        captures = self._captures(self._project or project_stem(file))
        form = reading.form
        self._retold.begin_file()
        problem = partial(self._problem, file)
        for capture in reading.captures(problem, progress_bar.update):
            if not is_captured(capture.said):
                continue
            is_retold = self._retold.holds(form, capture, captures)
            if self._since is not None and capture.at < self._since:
                self._report.earlier += 1
                continue
            self._batch.append(_Waiting(captures, form, capture, is_retold))
            self._bytes += capture.size
            if len(self._batch) >= _AT_ONCE or self._bytes >= _BYTES_AT_ONCE:
                self.write()

    def _count(self, event: Event) -> None:
        self._report.events += 1
        project = event.body.get("project", "")
        no_counts = dict.fromkeys(_ALWAYS_COUNTED, 0)
        counts = self._report.projects.setdefault(project, no_counts)
        sessions = self._sessions[project]
        if event.session not in sessions:
            sessions.add(event.session)
            counts["sessions"] += 1
            self._report.sessions += 1
        count_name = _COUNTED.get(event.kind)
        if count_name is not None:
            counts[count_name] = counts.get(count_name, 0) + 1

    def _problem(
        self,
        file: Path,
        number: int | str,
        why: str,
    ) -> None:
        if len(self._report.problems) < _MOST_PROBLEMS:
            self._report.problems.append(f"{file.name}:{number}: {why}")


def _suggestion(path: Path) -> str:
    """Return what to say of transcripts in the user's own folder of an agent."""
    resolved = path.resolve()
    advice = "if you wrote the prompts in them, --trusted takes them for your word"
    for folder in OWN_FOLDERS:
        own_folder = Path(folder).expanduser().resolve()
        if resolved.is_relative_to(own_folder):
            return f"these lie in {folder}: {advice}"
    return ""


_SAYS = {
    "prompt": ("text",),
    "turn_ended": ("message",),
    "turn_message": ("text",),
    "tool_used": ("tool", "input"),
}
_DRAWN = "7"  # the version in an id that was drawn; those of imports are derived
# How far the hook's time of an event and its transcript's may lie apart.
_SAME_MICROSECONDS = 10_000_000


class _Moment(NamedTuple):
    """When a capture was made (µs UTC), and its project."""

    at: int
    project: str

    def is_of(self, event: Event) -> bool:
        """Return whether an event is of this project, at about this time."""
        if abs(self.at - event.at) > _SAME_MICROSECONDS:
            return False
        return bool(self.project == event.body["project"])


class HookedCaptures:
    """The hook's captures by what they say, with session, time and project.

    Each stands for one event.
    """

    def __init__(self, journal: Journal) -> None:
        kinds = [*_SAYS, "compacting", "session_ended"]
        self._left: dict[int, dict[str, list[_Moment]]] = defaultdict(dict)
        for event in journal.tail(0, kinds=kinds):
            is_hooked = event.id[14] == _DRAWN or event.kind == "turn_message"
            if event.session and is_hooked:
                moment = _Moment(event.at, event.body.get("project", ""))
                sessions = self._left[_key(event)]
                sessions.setdefault(event.session, []).append(moment)

    def holds(self, event: Event, *, anywhere: bool = False) -> bool:
        """Return whether the hook has recorded this.

        Each of its captures stands for one event, and is used up.

        Args:
            event: The capture.
            anywhere: Look also in other sessions of the project, at the same time: one
                that was resumed is repeated by the next.
        """
        if not self._left:
            return False
        sessions = self._left.get(_key(event), {})
        if sessions.get(event.session):
            sessions[event.session].pop(0)
            return True
        if not anywhere:
            return False
        for moments in sessions.values():
            for index, moment in enumerate(moments):
                if moment.is_of(event):
                    del moments[index]
                    return True
        return False


def _key(event: Event) -> int:
    """Return a hash of what an event says."""
    kind = "turn_ended" if event.kind == "turn_message" else event.kind
    names = _SAYS.get(event.kind, ())
    texts = [str(event.body.get(name)) for name in names]
    return hash((kind, *texts))
