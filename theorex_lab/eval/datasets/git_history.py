"""The history of a git repository: its commits, and its files followed through renames.

A file's name is by default the one that it has at HEAD, in every commit, also in those
before it was renamed. Who scores a past moment by such commits compares like with like:
what is known and what is then touched have the same names. With `names="then"` each
commit has the names of its own moment. Where a file is deleted, and one of its name is
created later, that one is another file of the same name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from theorex_lab.core.git_repository import (
    Change,
    GitRepository,
    NoRepository,
    StoredCommit,
    children_first,
    read_changes,
)
from theorex_lab.text.paths import kept_path

__all__ = ["Commit", "NoRepository", "git_commits"]


class Commit(NamedTuple):
    """A commit of a git repository.

    Attributes:
        sha: Its id.
        at: Its committer time, in µs UTC.
        subject: The first paragraph of its message, as one line.
        files: Its (status, path) pairs.
        moves: What was renamed in it, as (old path, new path) of that moment.
        gone: Of the paths in `files`, those whose file is not there any more at HEAD.
    """

    sha: str
    at: int
    subject: str
    files: Sequence[tuple[str, str]]
    moves: Sequence[tuple[str, str]] = ()
    gone: frozenset[str] = frozenset()


def git_commits(
    path: str | Path,
    limit: int | None = None,
    *,
    names: Literal["head", "then"] = "head",
) -> list[Commit]:
    """Return the last commits of the repository's current branch, oldest first.

    Merges are left out. Statuses are git's letters: A added, M modified, D deleted, R
    renamed, T another type. A path whose bytes are no UTF-8 is in the form in which
    events keep it. A time that is none, or outside of the years 1 to 9999, is that of
    the commits before. What the oldest commits of a shallow clone touched is not known;
    they have no files.

    Args:
        path: A folder in the repository, of any depth.
        limit: How many commits, the newest; all by default.
        names: Files are named as at HEAD, or as they were called in the commit
            ("then").

    Raises:
        NoRepository: The folder lies in no repository.
        InvalidInput: Git is not installed, or cannot read the repository; or that has
            no commit.
    """
    repository = GitRepository.at(path)
    newest_first = repository.read_commits(limit)
    read_changes(repository, newest_first)
    lives = _Lives(newest_first)
    commits = [
        _commit(commit, lives, names) for commit in newest_first if not commit.is_merge
    ]
    if limit is not None:
        commits = commits[:limit]
    return commits[::-1]


class _File(NamedTuple):
    """A file through all its names.

    It holds the last of them, and the commit that deleted it ('' where HEAD has it).
    """

    path: bytes
    deleted_in: str = ""


class _Use(NamedTuple):
    """A path that a commit changed.

    Attributes:
        deleted: What is meant is the file that is gone, not one that took its place.
    """

    commit: str
    path: bytes
    deleted: bool


class _Lives:
    """Every file followed back from HEAD.

    It is followed through the commits that renamed, replaced or deleted it.
    """

    def __init__(self, commits: Sequence[StoredCommit]) -> None:
        self._files: dict[_Use, _File] = {}
        self._same: dict[_File, _File] = {}
        # By commit, of its tree: which file a path is, where that is not the file that
        # has the path at HEAD.
        self._files_of: dict[str, dict[bytes, _File]] = {}
        self._order: list[StoredCommit] = list(children_first(commits))
        self._listed = {commit.id for commit in commits}
        for commit in self._order:
            self._step_back(commit)
        self._labels = self._make_labels()

    def file(self, use: _Use) -> _File:
        """Return the file that a changed path is."""
        file = self._files[use]
        while file in self._same:
            file = self._same[file]
        return file

    def label(self, file: _File) -> str:
        """Return the text that stands for a file, and for no other at the same time."""
        return self._labels[file]

    def _step_back(self, commit: StoredCommit) -> None:
        files = self._files_of.pop(commit.id, {})
        for parent, changes in zip(
            commit.parents or [""], commit.changes, strict=False
        ):
            before = self._before(commit, changes, files)
            if parent in self._listed:
                self._join(parent, before)

    def _before(
        self, commit: StoredCommit, changes: Sequence[Change], files: dict[bytes, _File]
    ) -> dict[bytes, _File]:
        """Return the files of the tree before some changes.

        They follow from the files of the commit's own tree.
        """
        before = files if len(commit.parents) == 1 else dict(files)
        left: dict[bytes, _File] = {}
        for change in changes:
            is_gone = change.status == "D"
            if is_gone:
                file = _File(change.path, deleted_in=commit.id)
                left[change.path] = file
            else:
                file = files.get(change.path, _File(change.path))
            if change.status == "R":
                left[change.old] = file
            if not commit.is_merge:
                self._files[_Use(commit.id, change.path, is_gone)] = file
        for change in changes:
            if change.status in "AR":
                before.pop(change.path, None)  # it was not there yet
        before.update(left)
        return before

    def _join(self, parent: str, files: dict[bytes, _File]) -> None:
        """Join the files of several commits that come from one.

        A file that one of them keeps is kept.
        """
        earlier = self._files_of.setdefault(parent, files)
        if earlier is files:
            return
        for path in sorted(earlier.keys() | files.keys()):
            first = earlier.get(path, _File(path))
            other = files.get(path, _File(path))
            if first == other:
                continue
            if first.deleted_in and not other.deleted_in:
                first, other = other, first
                earlier[path] = first
            if other.deleted_in:
                self._say_same(first, other)

    def _say_same(self, file: _File, other: _File) -> None:
        while file in self._same:
            file = self._same[file]
        while other in self._same:
            other = self._same[other]
        if file != other:
            self._same[other] = file

    def _make_labels(self) -> dict[_File, str]:
        """Return a file's last path.

        Where another file has it while this one lived, the label says when this one
        ended.
        """
        oldest_first = reversed(self._order)
        position = {commit.id: number for number, commit in enumerate(oldest_first)}
        first: dict[_File, int] = {}
        last: dict[_File, int] = {}
        for use in self._files:
            file = self.file(use)
            at = position[use.commit]
            first[file] = min(at, first.get(file, at))
            last[file] = max(at, last.get(file, at))
        by_path: dict[bytes, list[_File]] = {}
        for file in first:
            by_path.setdefault(file.path, []).append(file)

        def overlap(file: _File, other: _File) -> bool:
            """Return whether both files lived at one time."""
            return last[file] >= first[other] and last[other] >= first[file]

        def begins_later(file: _File) -> tuple[bool, int]:
            is_deleted = file.deleted_in != ""
            return is_deleted, -first[file]

        labels: dict[_File, str] = {}
        for path, files in by_path.items():
            # The one at HEAD comes first, then those that began last.
            files.sort(key=begins_later)
            plain: list[_File] = []
            for file in files:
                labels[file] = _text(path)
                if not any(overlap(file, other) for other in plain):
                    plain.append(file)
                elif file.deleted_in:
                    labels[file] = f"{_text(path)} (until {file.deleted_in[:12]})"
        return labels


def _text(path: bytes) -> str:
    return kept_path(path.decode("utf-8", "surrogateescape"))


def _commit(
    commit: StoredCommit,
    lives: _Lives,
    names: str,
) -> Commit:
    """Return a commit with its files, named as at HEAD or as they were then."""
    as_at_head = names == "head"
    files: list[tuple[str, str]] = []
    removed_names: set[str] = set()
    changes = next(iter(commit.changes), [])
    present_paths = {change.path for change in changes if change.status != "D"}
    for change in changes:
        is_gone = change.status == "D"
        file = lives.file(_Use(commit.id, change.path, is_gone))
        name = lives.label(file) if as_at_head else _text(change.path)
        is_replaced = is_gone and change.path in present_paths
        if as_at_head or not is_replaced:
            files.append((change.status, name))
        if file.deleted_in:
            removed_names.add(name)
    return Commit(
        sha=commit.id,
        at=commit.time or 0,
        subject=commit.subject,
        files=files,
        moves=_moves(changes),
        gone=frozenset(removed_names),
    )


def _moves(changes: Iterable[Change]) -> list[tuple[str, str]]:
    """Return the old and the new path of each rename."""
    moves = []
    for change in changes:
        if change.status == "R":
            moves.append((_text(change.old), _text(change.path)))
    return moves
