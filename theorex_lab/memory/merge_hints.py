"""Projects that may be one: a repository that was moved before its memory knew it."""

from collections.abc import Iterable, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any, NamedTuple

from theorex_lab.journal.base import Journal
from theorex_lab.journal.places import ROOTS

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


def _has_folder(paths: Iterable[str]) -> bool:
    """Return whether one of the paths is a folder."""
    folders = map(Path, paths)
    return any(folder.is_dir() for folder in folders)


def merge_hints(journal: Journal, rows: Sequence[dict[str, Any]]) -> list[MergeHint]:
    """Return pairs of projects that begin with the same commit.

    In each pair the folder of the old one is gone, and that of the new one is there.
    """
    roots = first_commits(journal)
    is_present: dict[str, bool] = {}
    for row in rows:
        project = row["project"]
        paths = row["paths"]
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
