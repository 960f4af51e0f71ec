"""The branches of a git repository that hold work which HEAD has not."""

from __future__ import annotations

from typing import NamedTuple

from theorex_lab.core.git_repository import MICROSECONDS_PER_SECOND, GitRepository

_FIELDS = "%(objectname) %(committerdate:unix) %(symref) %(refname:short)"


class OpenBranch(NamedTuple):
    """A branch with commits that HEAD has not.

    Attributes:
        name: Its name, with that of its remote.
        at: When its last commit was made (µs UTC).
        n_ahead: How many commits it has that HEAD has not.
        n_behind: How many commits HEAD has that it has not.
    """

    name: str
    at: int
    n_ahead: int
    n_behind: int


def open_branches(repository: GitRepository, most: int) -> list[OpenBranch]:
    """Return the branches that have commits which HEAD has not, newest first.

    Branches with the same commit are listed once. Whether the commits of one came in
    under other ids, as a squash brings them, cannot be known.

    Args:
        repository: The repository.
        most: How many branches are looked at, the newest.

    Raises:
        InvalidInput: Git cannot read the repository, or it has no commit.
    """
    head = repository.head()
    listing = repository.run(
        "for-each-ref",
        f"--format={_FIELDS}",
        "--sort=-committerdate",
        f"--count={most}",
        "refs/heads",
        "refs/remotes",
    )
    branches: dict[str, OpenBranch] = {}
    for line in listing.decode("utf-8", "surrogateescape").splitlines():
        commit, time, symbolic, name = line.split(" ", 3)
        is_no_branch = symbolic or not time.isdecimal()
        if is_no_branch or commit == head or commit in branches:
            continue
        n_ahead, n_behind = _distance(repository, commit, head)
        if n_ahead:
            at = int(time) * MICROSECONDS_PER_SECOND
            branches[commit] = OpenBranch(
                name,
                at,
                n_ahead,
                n_behind,
            )
    return list(branches.values())


def _distance(repository: GitRepository, commit: str, other: str) -> tuple[int, int]:
    """Return how many commits one has that another has not, and the reverse."""
    output = repository.run(
        "rev-list",
        "--left-right",
        "--count",
        f"{commit}...{other}",
    )
    ahead, behind = output.split()
    return int(ahead), int(behind)
