"""Which files the commits of a repository touched, from a saved log."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from theorex_lab.clock import LATEST
from theorex_lab.experiments.data.dataset_files import Content
from theorex_lab.experiments.data.parsing.fields import numbered_lines, refused
from theorex_lab.experiments.scores.access import MICROSECONDS_PER_SECOND, Commit, log_of_commits
from theorex_lab.experiments.scores.access_log import AccessLog


@dataclass(frozen=True)
class GitTouches:
    """commits: oldest first, those that touch no file included; their subjects are not in the data and are empty."""

    commits: tuple[Commit, ...]
    licence: str

    @cached_property
    def log(self) -> AccessLog:
        """The access log: an event a commit, its files the items, their folders the groups."""
        return log_of_commits(self.commits)


def git_touches(content: Content, licence: str) -> GitTouches:
    """Of blocks, newest first: byte 1, sha, blank, unix seconds; then a line a file: status, tab, path."""
    commits: list[Commit] = []
    files: list[tuple[str, str]] = []
    for number, line in numbered_lines(content):
        place = f"{content.place}, line {number}"
        if line.startswith("\x01"):
            files = []
            commits.append(_commit(place, line, files))
        elif line:
            status, tab, path = line.partition("\t")
            if status not in ("A", "M", "D", "T") or not tab or not path or not commits:
                raise refused(place, line, "A, M, D or T, a tab and a path, after the line of a commit")
            files.append((status, path))
    return GitTouches(tuple(reversed(commits)), licence)


def _commit(place: str, line: str, files: list[tuple[str, str]]) -> Commit:
    sha, _, seconds = line[1:].partition(" ")
    at = int(seconds) * MICROSECONDS_PER_SECOND if seconds.isascii() and seconds.isdigit() and len(seconds) < 15 else -1
    if not sha or not 0 <= at <= LATEST:
        raise refused(place, line, "byte 1, a sha, a blank and unix seconds")
    return Commit(sha, at, "", files)
