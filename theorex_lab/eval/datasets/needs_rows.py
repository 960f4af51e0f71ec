"""The rows of what sessions needed to know, and how files of them are read.

It says nothing of where the files are: see `eval.datasets.session_needs`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError

from theorex_lab.core.clock import to_microseconds
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.files import told
from theorex_lab.core.ids import session_of
from theorex_lab.eval.datasets.sources import damaged
from theorex_lab.files.transcripts.folders import lines_of, opened, rows_of

if TYPE_CHECKING:
    from theorex_lab.eval.adapters.protocol import EvalLog

START: Literal["start"] = "start"


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


@dataclass(frozen=True, eq=False)
class LogNeeds:
    """What the sessions of a log needed to know.

    Attributes:
        sessions: The sessions in the order of the file.
        touched_files: By session, the paths that it reads or edits, in lower case.
    """

    sessions: Sequence[SessionNeeds]
    touched_files: Mapping[str, frozenset[str]]


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


def touched_files_of(log_file: Path) -> dict[str, frozenset[str]]:
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
