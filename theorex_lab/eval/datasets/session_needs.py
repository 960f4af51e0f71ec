"""Read what sessions needed to know when they began, each project with its log.

Readers of recorded sessions wrote down, for the start of a session, what an agent would
have wanted to be told of earlier sessions. A file holds the needs of one project, a
session a line; the log of the project holds the sessions themselves.

The needs quote the logs, so they do not come with the package. They are read from the
folder that THEOREX_DATA names: `session_needs/NAME.jsonl` are the needs of the project
NAME, and its log is `coding_sessions/NAME.jsonl.gz`, or `NAME.jsonl.gz` beside the
needs. Whatever pairs of this form the folder holds can be read; the data set's table
lists those that are published.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError

from theorex_lab.core.clock import to_microseconds
from theorex_lab.core.errors import InvalidInput, StorageError
from theorex_lab.core.files import told
from theorex_lab.core.ids import session_of
from theorex_lab.eval.adapters.protocol import EvalLog
from theorex_lab.eval.datasets.dataset_table import SESSION_NEEDS
from theorex_lab.eval.datasets.logs import hook_form_log
from theorex_lab.eval.datasets.sources import DATA_VARIABLE, damaged, data_folder
from theorex_lab.files.transcripts.folders import lines_of, opened, rows_of

LOGS_FOLDER = "coding_sessions"
START: Literal["start"] = "start"
_LAYOUT = (
    f"{SESSION_NEEDS.name}/NAME.jsonl and its log {LOGS_FOLDER}/NAME.jsonl.gz (or"
    " NAME.jsonl.gz beside the needs)"
)


def _check_filled(text: str) -> str:
    """Return a text that says something.

    Raises:
        ValueError: It is blank.
    """
    if not text.strip():
        raise ValueError("a blank text; allowed is one that says something")
    return text


def _check_time(text: str) -> str:
    """Return a time as it is written.

    Raises:
        ValueError: It is no time.
    """
    try:
        to_microseconds(text)
    except InvalidInput as error:
        raise ValueError(str(error)) from error
    return text


_Text = Annotated[str, AfterValidator(_check_filled)]
_Time = Annotated[str, AfterValidator(_check_time)]


@dataclass(frozen=True, slots=True)
class NeedEvidence:
    """Where an earlier session holds what is needed.

    Attributes:
        session: The earlier session.
        quote: The words that stand there.
    """

    session: _Text
    quote: _Text


@dataclass(frozen=True, slots=True)
class Need:
    """Something that an agent would have wanted to be told.

    Attributes:
        id: Its name within the session.
        kind: rule, command, state, pitfall, decision, fact, location or another.
        grade: 2 where it is vital, 1 where it is useful.
        when: `start` where it is known to be needed before the first prompt is, `asked`
            once that is known.
        need: What the agent should be told, in the reader's words.
        evidence: Where it stands.
        match: Alternatives; a line that tells the need holds all strings of one.
    """

    id: _Text
    kind: _Text
    grade: Literal[1, 2]
    when: Literal["start", "asked"]
    need: _Text
    match: Annotated[
        tuple[Annotated[tuple[_Text, ...], Field(min_length=1)], ...],
        Field(min_length=1),
    ]
    evidence: tuple[NeedEvidence, ...] = ()


def _check_unique(needs: tuple[Need, ...]) -> tuple[Need, ...]:
    """Return needs whose ids differ.

    Raises:
        ValueError: Two have the same.
    """
    ids = [need.id for need in needs]
    repeated_ids = sorted({id for id in ids if ids.count(id) > 1})
    if repeated_ids:
        names = ", ".join(repeated_ids)
        raise ValueError(f"the id {names} twice; allowed is each id once a session")
    return needs


@dataclass(frozen=True, slots=True)
class SessionNeeds:
    """The needs of one session that begins.

    Attributes:
        session: The id of the session.
        at: When it starts, as it is written.
        needs: What it needs; there may be none.
        gist: What the session was about.
    """

    session: _Text
    at: _Time
    needs: Annotated[tuple[Need, ...], AfterValidator(_check_unique)]
    gist: str = ""

    @property
    def start(self) -> int:
        """Return when it starts, in µs UTC."""
        return to_microseconds(self.at)


@dataclass(frozen=True, eq=False)
class ProjectNeeds:
    """The needs of a project's sessions, with the log of the project.

    Attributes:
        name: The name of the project, which is that of its files.
        sessions: The sessions in the order of the file.
        log: The events of the project, and the lines of its sessions.
        touched_files: By session, the paths that it reads or edits, in lower case.
        is_published: Whether the needs are those that the data set's table lists.
    """

    name: str
    sessions: Sequence[SessionNeeds]
    log: EvalLog
    touched_files: Mapping[str, frozenset[str]]
    is_published: bool = False

    def first_prompt(self, session: str) -> str:
        """Return the first prompt of a session, '' where it has none.

        Args:
            session: The id of the session.
        """
        name = session_of(session)
        for line in self.log.lines:
            if line.session == name and line.prompt.strip():
                return line.prompt
        return ""


def load_session_needs(project: str = "", *, path: str = "") -> list[ProjectNeeds]:
    """Return the needs of sessions, and the logs of their projects.

    Args:
        project: The name of one project; '' for all that there are.
        path: A folder that is laid out as the data set's, or one file of needs; '' for
            the folder `session_needs` in the one that THEOREX_DATA names.

    Returns:
        The projects in the order of their names.

    Raises:
        StorageError: The needs or a log are not there.
        InvalidInput: There is no such project, or rows are damaged; each is named with
            its line and the reason.
    """
    files = _needs_files(path)
    if project and project not in files:
        raise InvalidInput(
            f"got the project {project!r}; allowed are {', '.join(files)}"
        )
    projects = []
    for name, file in files.items():
        if project in ("", name):
            projects.append(_project(name, file))
    return projects


def read_needs(file: Path) -> list[SessionNeeds]:
    """Return the rows of a file of needs in its order.

    Raises:
        StorageError: The file cannot be read.
        InvalidInput: Rows are damaged; each is named with its line and the reason.
    """
    with told(f"cannot read {file}", "give a file of needs that can be read"):
        content = file.read_bytes()
    adapter = TypeAdapter(SessionNeeds)
    rows: dict[str, SessionNeeds] = {}
    problems = []
    for number, line in enumerate(content.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            row = adapter.validate_json(line, strict=True)
        except ValidationError as error:
            problems.append(f"line {number}: {_first_problem(error)}")
            continue
        if row.session in rows:
            problems.append(f"line {number}: the session {row.session} again")
            continue
        rows[row.session] = row
    if problems:
        raise damaged(file, problems)
    return [*rows.values()]


def _first_problem(error: ValidationError) -> str:
    """Return where the first problem of a row is, what it is, and what was got."""
    problems = error.errors(include_url=False)
    first = problems[0]
    location = ".".join(str(part) for part in first["loc"])
    message = first["msg"]
    if location:
        message = f"{location}: {message}, got {first['input']!r:.60}"
    if len(problems) > 1:
        message += f" (and {len(problems) - 1} more in this row)"
    return message


def _needs_files(path: str) -> dict[str, Path]:
    """Return the files of needs by the names of their projects.

    Raises:
        StorageError: There are none.
    """
    if path:
        source = Path(path).expanduser()
        if source.is_file():
            return {source.name.removesuffix(".jsonl"): source}
        folder = source
    else:
        folder = _default_folder()
    files = sorted(folder.glob("*.jsonl"))
    if not files:
        raise StorageError(
            f"{folder} holds no needs of sessions, which are not packaged; a data"
            f" folder is expected to hold {_LAYOUT}"
        )
    return {file.name.removesuffix(".jsonl"): file for file in files}


def _default_folder() -> Path:
    """Return the folder of the data set.

    Raises:
        StorageError: THEOREX_DATA is not set.
    """
    folder = data_folder()
    if folder is None:
        raise StorageError(
            f"{SESSION_NEEDS.name} is not packaged, since its rows quote the recorded"
            f" sessions, and has no public address; set {DATA_VARIABLE} to a folder"
            f" that holds {_LAYOUT}"
        )
    return folder / SESSION_NEEDS.name


def _project(name: str, file: Path) -> ProjectNeeds:
    """Return a project's needs with its log.

    Raises:
        StorageError: The log is not there.
        InvalidInput: Rows are damaged, or the log has no such session.
    """
    sessions = read_needs(file)
    log_file = _log_file(name, file)
    log = hook_form_log(name, log_file)
    recorded_sessions = {line.session for line in log.lines}
    problems = []
    for row in sessions:
        if session_of(row.session) not in recorded_sessions:
            problems.append(f"the session {row.session} is not in {log_file}")
    if problems:
        raise damaged(file, problems)
    return ProjectNeeds(
        name,
        sessions,
        log,
        _touched_files(log_file),
        _is_published(file),
    )


def _log_file(name: str, needs_file: Path) -> Path:
    """Return the log of a project.

    Raises:
        StorageError: It is not there.
    """
    folder = needs_file.absolute().parent
    logs_folder = folder.parent / LOGS_FOLDER
    candidates = (
        folder / f"{name}.jsonl.gz",
        logs_folder / f"{name}.jsonl.gz",
        logs_folder / f"{name}.jsonl",
    )
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    places = ", ".join(str(candidate) for candidate in candidates)
    raise StorageError(f"{needs_file} has no log; it is expected to be one of {places}")


def _is_published(file: Path) -> bool:
    """Return whether a file is one that the data set's table lists, unchanged."""
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    for published in SESSION_NEEDS.files:
        if published.name == file.name:
            return published.sha256 == digest
    return False


def _touched_files(log_file: Path) -> dict[str, frozenset[str]]:
    """Return by session the paths that a log states as read or edited, in lower case.

    They are taken as the log states them: a memory may leave paths out that it does
    not keep.
    """
    paths: dict[str, set[str]] = defaultdict(set)
    with opened(log_file) as (content, _):
        for line in lines_of(content):
            for row in rows_of(line):
                session = str(row.get("session", ""))
                paths[session].update(_stated_paths(row))
    return {session: frozenset(names) for session, names in paths.items()}


def _stated_paths(row: Mapping[str, object]) -> Iterator[str]:
    """Yield the paths that a line of a log states, in lower case."""
    for member in ("reads", "edits"):
        names = row.get(member)
        if not isinstance(names, list):
            continue
        for name in names:
            if isinstance(name, str):
                yield name.lower()
