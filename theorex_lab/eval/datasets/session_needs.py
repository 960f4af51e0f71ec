"""Read what sessions needed to know when they began, each project with its log.

Readers of recorded sessions wrote down, for the start of a session, what an agent would
have wanted to be told of earlier sessions. A file holds the needs of one project, a
session a line; the log of the project holds the sessions themselves.

The needs quote the logs, so they do not come with the package. They are read from the
folder that THEOREX_DATA names: `session_needs/NAME.jsonl` are the needs of the project
NAME, and its log is `coding_sessions/NAME.jsonl.gz`, or `NAME.jsonl.gz` beside the
needs. Whatever pairs of this form the folder holds can be read; the data set's table
lists those that are published.

The needs of the packaged simulation of coding sessions come with the package, as the
project `simulated_sessions`. Nobody read them: a program wrote them down, which knows
what it simulated.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from theorex_lab.core.errors import InvalidInput, StorageError
from theorex_lab.core.ids import session_of
from theorex_lab.eval.datasets.dataset_table import SESSION_NEEDS
from theorex_lab.eval.datasets.logs import hook_form_log, load_logs
from theorex_lab.eval.datasets.needs_rows import (
    ProjectNeeds,
    SessionNeeds,
    read_needs,
    touched_files_of,
)
from theorex_lab.eval.datasets.sources import (
    DATA_VARIABLE,
    damaged,
    data_folder,
    packaged,
    read_lines,
)

if TYPE_CHECKING:
    from theorex_lab.eval.adapters.protocol import EvalLog

# The project whose log and needs are packaged.
SIMULATED_SESSIONS = "simulated_sessions"
SIMULATED_NEEDS = "simulated_needs"
LOGS_FOLDER = "coding_sessions"
_HEADER = {"simulation": True, "of": "needs of coding sessions"}
_FILE_VERSION = 1
_LAYOUT = (
    f"{SESSION_NEEDS.name}/NAME.jsonl and its log {LOGS_FOLDER}/NAME.jsonl.gz (or"
    " NAME.jsonl.gz beside the needs)"
)


def load_session_needs(project: str = "", *, path: str = "") -> list[ProjectNeeds]:
    """Return the needs of sessions, and the logs of their projects.

    Args:
        project: The name of one project; '' for all that there are in the folder.
            `simulated_sessions` is packaged, and is read from no folder.
        path: A folder that is laid out as the data set's, or one file of needs; '' for
            the folder `session_needs` in the one that THEOREX_DATA names.

    Returns:
        The projects in the order of their names.

    Raises:
        StorageError: The needs or a log are not there.
        InvalidInput: There is no such project, or rows are damaged; each is named with
            its line and the reason.
    """
    if project == SIMULATED_SESSIONS and not path:
        return [_simulated_project()]
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


def _simulated_project() -> ProjectNeeds:
    """Return the needs of the packaged simulation.

    Raises:
        InvalidInput: Rows are damaged.
    """
    file = packaged(f"{SIMULATED_NEEDS}.jsonl.gz")
    _, sessions = read_lines(file, SessionNeeds, _HEADER, _FILE_VERSION)
    (log,) = load_logs(SIMULATED_SESSIONS)
    return ProjectNeeds(SIMULATED_SESSIONS, sessions, log, _files_of_lines(log))


def _files_of_lines(log: EvalLog) -> Mapping[str, frozenset[str]]:
    """Return by session the paths that its tools read or edit, in lower case."""
    paths: dict[str, set[str]] = defaultdict(set)
    for line in log.lines:
        names = [*line.reads, *line.edits]
        paths[line.session].update(name.lower() for name in names)
    return {session: frozenset(names) for session, names in paths.items()}


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
            f" that holds {_LAYOUT}, or take the packaged project {SIMULATED_SESSIONS}"
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
        touched_files_of(log_file),
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
