"""Read which files of a git repository changed, and when, by their present names.

The newest commits are read, as many as a briefing has time for. A file that was renamed
counts under its present name, one that is gone counts no more. Of what people wrote
into a commit only two things are looked at, and neither is kept as written: whether the
subject says that it mends something, and whether two commits are by the same person.
"""

from __future__ import annotations

import math
import posixpath
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from theorex_lab.core.git_repository import (
    Change,
    GitRepository,
    StoredCommit,
    read_changes,
)
from theorex_lab.core.light_dataclass import dataclass
from theorex_lab.core.patterns import lazy_pattern
from theorex_lab.core.processes import ProgramTimeout

MOST_COMMITS = 2_000
_SECONDS = 0.5  # for reading; what was read by then is what there is
_SECONDS_OF_ONE_RUN = 1.5
_SECONDS_OF_A_PATIENT_RUN = 300.0
_FIRST_COMMITS = 100  # that are read at once, then twice as many each time

# A commit that changes more files than this says of none of them when it changes.
MOST_FILES_OF_A_COMMIT = 30

# A folder is too large for one area where at least this share of the commits is in it.
_SHARE_TO_SPLIT = 0.4
# It then has several areas, where at most this share of its commits changes files that
# lie in none of its folders.
_SHARE_OF_OWN_FILES = 0.5
_MOST_AREAS = 12
# How a subject says that a commit mends what was wrong; a slip of spelling is no fault.
_MENDS = lazy_pattern(
    r"^(?!.*\b(?:typos?|lint|docs?|spelling|formatting)\b)"
    r".*\b(?:fix(?:e[sd]|ing)?|hotfix|bug(?:fix)?|regression|reverts?|crash(?:es|ed)?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Touch:
    """One commit that is no merge, with the files that it changed.

    Attributes:
        at: When it was committed (µs UTC).
        changed: The changed files that are there, by their present names.
        added: Those of them that it added.
        author: A number for whoever wrote it; '' where that is not told.
        is_fix: Whether its subject says that it mends something.
    """

    at: int
    changed: frozenset[str]
    added: frozenset[str]
    author: str = ""
    is_fix: bool = False

    @property
    def is_sweeping(self) -> bool:
        """Whether it changed so many files that it tells nothing of a single one."""
        return len(self.changed) > MOST_FILES_OF_A_COMMIT


@dataclass(frozen=True)
class FolderMove:
    """Files that went from one folder to another in one commit.

    Attributes:
        at: When (µs UTC).
        old: The folder that they left.
        new: The folder that they are in.
        n_files: How many files they were.
    """

    at: int
    old: str
    new: str
    n_files: int


@dataclass(frozen=True)
class RepositoryHistory:
    """What the newest commits of a repository changed.

    Attributes:
        touches: The commits, newest first.
        moves: The folders that were moved, newest first.
        files: The files that are there.
        is_whole: Whether all commits were read.
    """

    touches: tuple[Touch, ...]
    moves: tuple[FolderMove, ...]
    files: frozenset[str]
    is_whole: bool

    @property
    def telling(self) -> list[Touch]:
        """The commits that tell of single files, newest first."""
        return [touch for touch in self.touches if not touch.is_sweeping]


def read_history(
    folder: str | Path, now: int, *, in_haste: bool = True
) -> RepositoryHistory:
    """Return what the newest commits of the repository around a folder changed.

    Args:
        folder: A folder in the repository, of any depth.
        now: The time (µs UTC); later commits are left out.
        in_haste: Whether somebody waits for it, as a session that starts does: then
            the oldest commits are left out where reading takes long.

    Raises:
        NoRepository: The folder lies in no repository.
        NoCommit: The repository has no commit.
        ProgramTimeout: Git takes too long to be waited for.
        InvalidInput: Git is not installed, or cannot read the repository.
    """
    deadline = math.inf
    seconds = _SECONDS_OF_A_PATIENT_RUN
    if in_haste:
        deadline = time.monotonic() + _SECONDS
        seconds = _SECONDS_OF_ONE_RUN
    repository = GitRepository.at(folder, seconds=seconds)
    commits = repository.read_commits(MOST_COMMITS)
    listing = repository.run(
        "ls-tree", "-r", "-z", "--name-only", "--full-tree", "HEAD"
    )
    files = frozenset(_name(path) for path in listing.split(b"\0") if path)
    # The newest come first, so that what is left out is older.
    single = [commit for commit in commits if not commit.is_merge]
    read = _read_in_time(repository, single, deadline)
    touches: list[Touch] = []
    moves: list[FolderMove] = []
    names = _PresentNames(files)
    for commit in read:
        changes = next(iter(commit.changes), [])
        touch = names.step_back(commit, changes)
        if touch.at <= now:
            touches.append(touch)
            moves += _folder_moves(commit, changes)
    touches.sort(key=lambda touch: -touch.at)
    moves.sort(key=lambda move: -move.at)
    is_whole = len(read) == len(single) and not _is_cut_off(commits)
    return RepositoryHistory(
        tuple(touches),
        tuple(moves),
        files,
        is_whole,
    )


def _is_cut_off(commits: Sequence[StoredCommit]) -> bool:
    """Return whether there are older commits than these."""
    ids = {commit.id for commit in commits}
    return any(
        commit.is_cut or not ids.issuperset(commit.parents) for commit in commits
    )


def _read_in_time(
    repository: GitRepository, commits: Sequence[StoredCommit], deadline: float
) -> list[StoredCommit]:
    """Return the first of these commits with their changes, as many as there is time for."""
    read: list[StoredCommit] = []
    n_at_once = _FIRST_COMMITS
    while len(read) < len(commits):
        if read and time.monotonic() > deadline:
            break
        part = commits[len(read) : len(read) + n_at_once]
        try:
            read_changes(repository, part, by_content=False)
        except ProgramTimeout:
            if not read:
                raise
            break
        read += part
        n_at_once *= 2
    return read


def _name(path: bytes) -> str:
    """Return a path as a text; bytes that are no UTF-8 are surrogates in it."""
    return path.decode("utf-8", "surrogateescape")


class _PresentNames:
    """The present names of files, followed back from the newest commit.

    Args:
        files: The files that are there.
    """

    def __init__(self, files: frozenset[str]) -> None:
        self._files = files
        # The present name of a path of an earlier commit, where it is another; '' of
        # one that is gone.
        self._later: dict[str, str] = {}

    def step_back(self, commit: StoredCommit, changes: Sequence[Change]) -> Touch:
        """Return what a commit changed, and go on to the commits before it."""
        changed: set[str] = set()
        added: set[str] = set()
        for change in changes:
            name = self._present(_name(change.path))
            if change.status == "D" or not name:
                continue
            changed.add(name)
            if change.status == "A":
                added.add(name)
        self._rename(changes)
        return Touch(
            commit.time or 0,
            frozenset(changed),
            frozenset(added),
            commit.author,
            _MENDS.search(commit.subject) is not None,
        )

    def _rename(self, changes: Sequence[Change]) -> None:
        """Take in what the paths before a commit are called now."""
        renamed = [change for change in changes if change.status == "R"]
        earlier: dict[str, str] = {}
        for change in renamed:
            earlier[_name(change.path)] = ""
        for change in changes:
            if change.status == "D":
                earlier[_name(change.path)] = ""
        for change in renamed:
            earlier[_name(change.old)] = self._present(_name(change.path))
        self._later.update(earlier)

    def _present(self, path: str) -> str:
        """Return the present name of a path; '' where its file is gone."""
        name = self._later.get(path, path)
        return name if name in self._files else ""


def _folder_moves(
    commit: StoredCommit, changes: Sequence[Change]
) -> Iterable[FolderMove]:
    """Yield the folders whose files a commit moved to another folder."""
    counts: Counter[tuple[str, str]] = Counter()
    for change in changes:
        if change.status != "R":
            continue
        pair = _differing_folders(_name(change.old), _name(change.path))
        if pair is not None:
            counts[pair] += 1
    for (old, new), n_files in counts.items():
        yield FolderMove(
            commit.time or 0,
            old,
            new,
            n_files,
        )


def _differing_folders(old: str, new: str) -> tuple[str, str] | None:
    """Return the outermost folders of a file's two paths that differ.

    Returns:
        The old and the new folder; None where the file kept its folder, lies in the
        root, or has another name.

    >>> _differing_folders("app/ui/a/b.py", "src/ui/a/b.py")
    ('app', 'src')
    >>> _differing_folders("ui/a.py", "src/ui/a.py")
    ('ui', 'src/ui')
    """
    old_folder, old_name = posixpath.split(old)
    new_folder, new_name = posixpath.split(new)
    if old_folder == new_folder or old_name != new_name:
        return None
    old_parts = old_folder.split("/")
    new_parts = new_folder.split("/")
    while old_parts[-1] == new_parts[-1] and min(len(old_parts), len(new_parts)) > 1:
        old_parts.pop()
        new_parts.pop()
    pair = "/".join(old_parts), "/".join(new_parts)
    return pair if all(pair) else None


def folder_of(path: str) -> str:
    """Return the folder that a file lies in; '' is the root."""
    return posixpath.dirname(path)


def areas_in(history: RepositoryHistory) -> list[str]:
    """Return the folders by which work is grouped, those of most commits first.

    A folder with most of the work says nothing: its folders are taken in its
    place, as far as the work is in them.
    """
    counts: Counter[str] = Counter()
    own_counts: Counter[str] = Counter()
    telling = history.telling
    for touch in telling:
        folders = {folder_of(path) for path in touch.changed}
        own_counts.update(folders)
        above: set[str] = set()
        for folder in folders:
            above.update(_with_parents(folder))
        counts.update(above)
    children: dict[str, list[str]] = defaultdict(list)
    for folder in counts:
        if folder:
            children[folder_of(folder)].append(folder)
    areas: list[str] = []
    waiting = list(children[""])
    while waiting:
        folder = waiting.pop()
        is_large = counts[folder] >= _SHARE_TO_SPLIT * len(telling)
        is_spread = own_counts[folder] <= _SHARE_OF_OWN_FILES * counts[folder]
        if is_large and is_spread and children[folder]:
            waiting += children[folder]
        else:
            areas.append(folder)
    areas.sort(key=lambda folder: (-counts[folder], folder))
    return areas[:_MOST_AREAS]


def _with_parents(folder: str) -> list[str]:
    """Return a folder, and all above it but the root."""
    parts = folder.split("/") if folder else []
    return ["/".join(parts[:length]) for length in range(1, len(parts) + 1)]


def area_of(path: str, areas: Iterable[str]) -> str:
    """Return the innermost of the areas that a file lies in; '' for none."""
    inside = [area for area in areas if path.startswith(f"{area}/")]
    return max(inside, key=len, default="")
