"""Projects that may be one: a repository that was moved before its memory knew it."""

from collections.abc import Iterable, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any, NamedTuple

from theorex_lab.core.errors import TheorexError
from theorex_lab.core.git_repository import GitRepository
from theorex_lab.core.ids import SCANNER
from theorex_lab.journal.base import Journal
from theorex_lab.journal.event import new_event
from theorex_lab.journal.places import ROOTS

_MOST_ROOTS = 100
Roots = dict[str, set[str]]  # project -> its first commits


class MergeHint(NamedTuple):
    """Two projects that may be one.

    Attributes:
        old: The project whose folder is gone.
        new: The project whose folder is there.
        do: The command that makes the two one.
    """

    old: str
    new: str
    do: str


def first_commits(journal: Journal) -> Roots:
    """Return the first commits of each project, as far as they were noted."""
    roots: Roots = {}
    for event in journal.tail(0, kinds=[ROOTS]):
        project = event.body.get("project")
        commits = event.body.get("roots")
        if not isinstance(project, str):
            continue
        if not isinstance(commits, list):
            continue
        roots_of_project = roots.setdefault(project, set())
        for commit in commits:
            roots_of_project.add(str(commit))
    return roots


def note_roots_of(journal: Journal, projects: Iterable[str] | None = None) -> None:
    """Note the first commits of projects of this machine, of each once.

    By them a project is recognized where its folder is another, or on another machine.

    Args:
        journal: The journal of the home.
        projects: The projects; None for all that have a folder on this machine.
    """
    places = journal.local.places()
    if projects is None:
        current_projects = map(places.current, places.bound)
        projects = dict.fromkeys(current_projects)
    noted = first_commits(journal.local)
    for project in projects:
        paths = places.paths_of(project)
        commits: list[str] = []
        if paths and project not in noted:
            commits = _first_commits_at(paths[-1])
        if commits:
            roots = commits[:_MOST_ROOTS]
            body = {"project": project, "roots": roots}
            now = journal.clock.now()
            event = new_event(ROOTS, body, agent=SCANNER, at=now)
            journal.append([event])


def _first_commits_at(path: str) -> list[str]:
    """Return the first commits of the repository in a folder; none where it has none."""
    try:
        repository = GitRepository.at(path)
        output = repository.run("rev-list", "--max-parents=0", "HEAD", "--")
    except TheorexError:  # no git, no commit, or not ours to read
        return []
    text = output.decode("ascii", "replace")
    return text.split()


def _has_folder(paths: Iterable[str]) -> bool:
    """Return whether one of the paths is a folder."""
    folders = map(Path, paths)
    return any(folder.is_dir() for folder in folders)


def merge_hints(journal: Journal, rows: Sequence[dict[str, Any]]) -> list[MergeHint]:
    """Return pairs of projects that begin with the same commit.

    In each pair the folder of the old one is gone, and that of the new one is there.
    What another machine captured has no folder here: where machines share a journal,
    its project is the old one.
    """
    roots = first_commits(journal)
    local_places = journal.local.places()
    is_present: dict[str, bool] = {}
    for row in rows:
        project = row["project"]
        paths = local_places.paths_of(project)
        is_present[project] = _has_folder(paths)
    hints: list[MergeHint] = []
    for old, new in permutations(is_present, 2):
        has_moved = is_present[new] and not is_present[old]
        if not has_moved:
            continue
        old_roots = roots.get(old, set())
        new_roots = roots.get(new, set())
        if old_roots & new_roots:
            do = f"theorex projects merge {old} {new}"
            hints.append(MergeHint(old, new, do))
    return hints
