"""Where a tour finds what it shows: recorded sessions, a git history, the simulation."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.git_repository import GitRepository, NoRepository
from theorex_lab.eval.adapters.protocol import EvalLog
from theorex_lab.eval.datasets.logs import load_logs
from theorex_lab.eval.datasets.sources import describe_source, is_simulation, packaged
from theorex_lab.eval.tour.tables import counted, day

MIN_COMMITS = 30  # of a history that is shown
MAX_COMMITS = 5_000  # the newest; older ones change no fit
SIMULATION = "simulated_sessions"
_NO_WORD = re.compile(r"[^A-Za-z0-9]")


@dataclass(frozen=True)
class OwnSessions:
    """Sessions of a coding agent that lie on this machine.

    Attributes:
        path: The folder that holds them.
        n_files: How many transcripts it holds.
        of: Whose sessions they are, in words.
    """

    path: Path
    n_files: int
    of: str


@dataclass(frozen=True)
class SessionSource:
    """The sessions that a tour shows.

    Attributes:
        description: Where they come from, in words.
        log: The sessions of one project.
    """

    description: str
    log: EvalLog


def find_own_sessions(
    folder: Path, *, anywhere: bool, home: Path | None = None
) -> OwnSessions | None:
    """Return the sessions of coding agents that lie on this machine; nothing is read.

    Args:
        folder: The folder of the project.
        anywhere: Whether those of another project are taken where the folder has none:
            the one with the most transcripts.
        home: The home folder of the user; None: that of the process.

    Returns:
        None where there are none.
    """
    agents = _agents_folder(home)
    sessions = _of_project(agents, folder.resolve())
    if sessions is None and anywhere:
        sessions = _most_in(agents)
    return sessions


def _of_project(agents: Path, folder: Path) -> OwnSessions | None:
    """Return the sessions of a folder, or of those above it up to the repository's."""
    for project in (folder, *folder.parents):
        name = _NO_WORD.sub("-", str(project))
        sessions = _sessions_in(agents / name, f"the folder {project.name}")
        if sessions is not None:
            return sessions
        if (project / ".git").exists():
            break
    return None


def _most_in(agents: Path) -> OwnSessions | None:
    """Return the sessions of the project that has the most transcripts."""
    if not agents.is_dir():
        return None
    projects: list[OwnSessions] = []
    for path in sorted(agents.iterdir()):
        sessions = _sessions_in(path, "another project")
        if sessions is not None:
            projects.append(sessions)
    return max(projects, key=_n_transcripts, default=None)


def _n_transcripts(sessions: OwnSessions) -> int:
    return sessions.n_files


def _agents_folder(home: Path | None) -> Path:
    """Return where Claude Code keeps its sessions, a folder for each project."""
    if home is not None:
        return home / ".claude" / "projects"
    configured = os.environ.get("CLAUDE_CONFIG_DIR", "")
    base = Path(configured) if configured else Path.home() / ".claude"
    return base / "projects"


def _sessions_in(path: Path, of: str) -> OwnSessions | None:
    """Return the sessions in a folder, None where it holds none."""
    try:
        n_files = sum(file.suffix == ".jsonl" for file in path.iterdir())
    except OSError:  # it is not there, or is not ours to read
        return None
    return OwnSessions(path, n_files, of) if n_files else None


def sessions_at(path: Path) -> SessionSource:
    """Return the sessions of coding agents in a file or folder.

    Of several projects it is the one with the most sessions.

    Raises:
        InvalidInput: As `load_logs` does, or there is nothing at the path.
    """
    if not path.exists():
        raise InvalidInput(
            f"got the transcripts {path}, which do not exist; give a file or folder of"
            " agents' sessions"
        )
    logs = load_logs(f"transcripts:{path}")
    log = max(logs, key=_n_sessions)
    first_day = day(min(line.at for line in log.lines))
    last_day = day(max(line.at for line in log.lines))
    description = f"{counted(_n_sessions(log), 'session')} of {log.name}, {first_day} to {last_day}"
    if len(logs) > 1:
        description += f"; the largest of {len(logs)} projects"
    if is_simulation(path):
        description += "; a simulation, not recorded work"
    return SessionSource(description, log)


def simulated_sessions(why: str) -> SessionSource:
    """Return the packaged simulation, which stands in for a history.

    Args:
        why: Why it does.
    """
    simulation = describe_source(packaged(f"{SIMULATION}.jsonl.gz"))
    (log,) = load_logs(SIMULATION)
    return SessionSource(f"Simulation, since {why}. {simulation}", log)


def lacking_history(folder: Path, *, is_named: bool) -> str:
    """Return why a folder has no history to show; '' where it has.

    Args:
        folder: The folder.
        is_named: Whether the user named it: then it must lie in a repository.

    Raises:
        InvalidInput: The folder does not exist, or its repository is empty or cannot be
            read; or it lies in none and was named.
    """
    if not folder.is_dir():
        raise InvalidInput(
            f"got the repository {folder}, which is no folder; give one that holds a"
            " git repository"
        )
    try:
        commits = GitRepository.at(folder).read_commits(MIN_COMMITS)
    except NoRepository as error:
        if is_named:
            raise
        return str(error).partition(";")[0]
    n_commits = sum(not commit.is_merge for commit in commits)
    if n_commits >= MIN_COMMITS:
        return ""
    name = folder.resolve().name
    return f"the folder {name} has {n_commits} commits, fewer than {MIN_COMMITS}"


def _n_sessions(log: EvalLog) -> int:
    """Return how many sessions a log has."""
    return len({line.session for line in log.lines})
