"""Read a git repository so that nobody's settings steer what is read.

Neither the user's settings nor the repository's count. Only plumbing commands are run
(`rev-parse`, `rev-list`, `for-each-ref`, `ls-tree`, `cat-file`, `diff-tree`,
`hash-object`), with fixed options and variables: no configuration but the repository's
own is read, and nothing of that is run. No program is started for the repository (hooks,
filters, text conversions, pagers, monitors, transports), replaced objects and grafts are
not followed, and nothing is fetched.

Git tells what is a rename, for half of the content and more. Besides, it is one where a
file took another's place with its content unchanged, and where its content went on
under a new path while an unlike file has its old one. A copy is no rename.
"""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from theorex_lab.core.clock import EARLIEST, LATEST
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.processes import (
    ProgramResult,
    find_program,
    plain_variables,
    run_program,
)

MICROSECONDS_PER_SECOND = 1_000_000
_RENAME_CANDIDATES = (
    1_000  # of a commit; beyond them only files that kept their content are followed
)
_RENAMES = ("-M50%", f"-l{_RENAME_CANDIDATES}")
_EXACT_RENAMES = ("-M100%", f"-l{_RENAME_CANDIDATES}")
_AUTHOR_BYTES = 8  # of the number that stands for an author
_NO_PROTOCOL = "none"
_NO_INDEX = "no-such-index"

# Whatever the repository's own configuration says, these hold.
_SETTINGS = {
    "core.attributesFile": os.devnull,
    "core.commitGraph": "false",
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.bigFileThreshold": "512m",
    "diff.renameLimit": str(_RENAME_CANDIDATES),
    "gc.auto": "0",
}
# Of the variables that begin with GIT_, the user's own are not handed on.
_VARIABLES = {
    "GIT_ALLOW_PROTOCOL": _NO_PROTOCOL,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_GRAFT_FILE": os.devnull,
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "LANGUAGE": "C",
    "LC_ALL": "C",
}


class NoRepository(InvalidInput):
    """A folder lies in no git repository."""


class NoCommit(InvalidInput):
    """A git repository has no commit yet."""


@dataclass(frozen=True)
class GitRepository:
    """A repository, and the one way in which git is run on it.

    Attributes:
        path: The path as the caller named it.
        folder: Where its objects are.
        program: The path of git.
        settings: The settings that hold besides the repository's own.
        seconds: How long one run of git may take; None is without limit.
    """

    path: str
    folder: str
    program: str
    settings: Mapping[str, Sequence[str]]
    seconds: float | None = None

    @classmethod
    def at(cls, path: str | Path, *, seconds: float | None = None) -> GitRepository:
        """Return the repository around a folder.

        Args:
            path: A folder in the repository, of any depth.
            seconds: How long one run of git may take; None is without limit. A run that
                takes longer raises `core.processes.ProgramTimeout`.

        Raises:
            NoRepository: The folder lies in no repository.
            InvalidInput: Git is not installed, or cannot read the repository.
        """
        program = find_program("git")
        if program is None:
            raise InvalidInput(
                "git was not found on this machine; install it, or export the log as"
                " JSON Lines"
            )
        name = str(path)
        if "\0" in name or not Path(name).is_dir():
            raise InvalidInput(
                f"got the repository {name!r}, which is no folder; give a folder of a"
                " git repository"
            )
        settings = {key: [value] for key, value in _SETTINGS.items()}
        arguments = ["-C", os.path.realpath(name), "rev-parse", "--absolute-git-dir"]
        result = _run_git(program, arguments, settings, seconds=seconds)
        if result.code != 0 and b"dubious ownership" in result.errors:
            # The user has allowed folders of others in a configuration that is not read
            # otherwise.
            settings["safe.directory"] = _allowed_folders(program)
            result = _run_git(program, arguments, settings, seconds=seconds)
        if result.code != 0:
            raise _unreadable(name, result.errors)
        folder = os.fsdecode(result.output.removesuffix(b"\n").removesuffix(b"\r"))
        return cls(name, folder, program, settings, seconds)

    def run(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """Return what a plumbing command prints.

        Raises:
            InvalidInput: The command fails.
        """
        result = self.attempt(*arguments, stdin=stdin)
        if result.code != 0:
            raise _unreadable(self.path, result.errors)
        return result.output

    def attempt(self, *arguments: str, stdin: bytes = b"") -> ProgramResult:
        """Return how a plumbing command ended."""
        # Neither the checked-out files nor the index are part of the history, and both
        # could tell git how to read it.
        variables = {
            "GIT_DIR": self.folder,
            "GIT_WORK_TREE": self.folder,
            "GIT_INDEX_FILE": f"{self.folder}/{_NO_INDEX}",
        }
        return _run_git(
            self.program,
            arguments,
            self.settings,
            variables,
            stdin=stdin,
            seconds=self.seconds,
        )

    def read_commits(self, limit: int | None) -> list[StoredCommit]:
        """Return the commits up to HEAD, newest first, merges among them.

        Args:
            limit: At least so many that are no merges are read; None for all.
        """
        start = self.head()
        if limit is None:
            return self._commits_of(self._listed(start, []))
        most = limit
        while True:
            lines = self._listed(start, [f"--max-count={most}"])
            commits = self._commits_of(lines)
            n_own = sum(not commit.is_merge for commit in commits)
            if len(lines) < most or n_own >= limit:
                return commits
            most = 2 * most + 1

    def head(self) -> str:
        """Return the id of the commit at HEAD.

        Raises:
            InvalidInput: There is none.
        """
        head = self.attempt(
            "rev-parse", "--verify", "--quiet", "--end-of-options", "HEAD^{commit}"
        )
        if head.code == 0:
            return head.output.decode("ascii").strip()
        if head.errors.strip():
            raise _unreadable(self.path, head.errors)
        if self.attempt("rev-parse", "--verify", "--quiet", "HEAD").code == 0:
            raise _unreadable(self.path, b"HEAD names what is no commit of it")
        raise NoCommit(
            f"got the repository {self.path!r}, which has no commit; give one that"
            " has commits"
        )

    def _listed(self, start: str, options: Sequence[str]) -> list[str]:
        """Return a line for each commit up to one: its id, and those of its parents."""
        output = self.run("rev-list", "--parents", *options, start, "--")
        return output.decode("ascii").splitlines()

    def _commits_of(self, lines: Sequence[str]) -> list[StoredCommit]:
        """Return the commits that `rev-list --parents` lists."""
        ids = [line.split() for line in lines]
        request = "".join(f"{commit_id}\n" for commit_id, *_ in ids).encode()
        contents = self._objects(request)
        commits = []
        for (commit_id, *parents), content in zip(ids, contents, strict=True):
            commits.append(_parse_commit(commit_id, parents, content))
        _fill_times(commits)
        return commits

    def _objects(self, request: bytes) -> Iterator[bytes]:
        output = self.run("cat-file", "--batch", "--buffer", stdin=request)
        for content in _batch(output):
            if content is None:
                raise _unreadable(self.path, b"a commit is missing")
            yield content

    def trees_of(self, commits: Iterable[str]) -> dict[str, str]:
        """Return the tree of each of these commits."""
        commit_ids = list(commits)
        request = "".join(f"{commit}\n" for commit in commit_ids).encode()
        objects = self._objects(request)
        trees = {}
        for commit, content in zip(commit_ids, objects, strict=True):
            first_line = content.partition(b"\n")[0]
            trees[commit] = first_line.removeprefix(b"tree ").decode("ascii")
        return trees

    def differences(
        self, pairs: Sequence[tuple[str, str]], *, by_content: bool = True
    ) -> list[list[Change]]:
        """Return what changes from the first tree of each pair to the second.

        Renames are among the changes.

        Args:
            pairs: The ids of two trees or commits each.
            by_content: Whether contents are read, to tell renames of files that changed
                as well. Without it only those that kept their content are told, in a
                fraction of the time.

        Returns:
            The changes of each pair, in the order of the pairs.

        Raises:
            InvalidInput: Git cannot compare them.
        """
        request = "".join(f"{before} {after}\n" for before, after in pairs).encode()
        options = [
            "--stdin",
            "-r",
            "-z",
            "--raw",
            "--no-abbrev",
            "--no-ext-diff",
            "--no-textconv",
        ]
        options += ["--ignore-submodules=none", "--no-relative", f"-O{os.devnull}"]
        renames = _RENAMES if by_content else _EXACT_RENAMES
        result = self.attempt("diff-tree", *options, *renames, stdin=request)
        if result.code != 0:
            # A partial clone has not the contents that likeness is told from; which
            # content is the same, it knows.
            result = self.attempt("diff-tree", *options, *_EXACT_RENAMES, stdin=request)
        if result.code != 0:
            raise _unreadable(self.path, result.errors)
        differences = _parse_differences(result.output, len(pairs))
        if not by_content:
            return [_with_places_taken(changes) for changes in differences]
        made_again: list[tuple[Change, Change]] = []
        for changes in differences:
            made_again += _perhaps_made_again(changes)
        renewed = self._renewed(made_again)
        final = []
        for changes in differences:
            with_renames = _with_made_again(changes, renewed)
            final.append(_with_places_taken(with_renames))
        return final

    def _renewed(
        self, pairs: Sequence[tuple[Change, Change]]
    ) -> set[tuple[bytes, bytes]]:
        """Return those pairs of contents that share less than half of their lines.

        Each pair holds the content of a path before and after.
        """
        contents = set()
        for _, modified in pairs:
            contents.add((modified.content_before, modified.content_after))
        ordered = sorted(contents)
        request = b"".join(b"%s\n%s\n" % pair for pair in ordered)
        if not request:
            return set()
        output = self.run("cat-file", "--batch", "--buffer", stdin=request)
        blobs = list(_batch(output))
        unlike = set()
        for pair, before, after in zip(ordered, blobs[::2], blobs[1::2], strict=True):
            if _is_unlike(before, after):
                unlike.add(pair)
        return unlike

    def empty_tree(self) -> str:
        """Return the id of the tree without files.

        It depends on how the repository hashes.
        """
        output = self.run("hash-object", "-t", "tree", "--stdin")
        return output.decode("ascii").strip()


def _run_git(
    program: str,
    arguments: Sequence[str],
    settings: Mapping[str, Sequence[str]],
    variables: Mapping[str, str] | None = None,
    *,
    stdin: bytes = b"",
    seconds: float | None = None,
) -> ProgramResult:
    """Run git, with fixed variables and none of the user's; nothing else runs it."""
    pairs: list[tuple[str, str]] = []
    for key, values in settings.items():
        pairs += [(key, value) for value in values]
    environment = {
        **plain_variables(),
        **_VARIABLES,
        **(variables or {}),
        "GIT_CONFIG_COUNT": str(len(pairs)),
    }
    for number, (key, value) in enumerate(pairs):
        environment[f"GIT_CONFIG_KEY_{number}"] = key
        environment[f"GIT_CONFIG_VALUE_{number}"] = value
    return run_program(
        program,
        ["--no-pager", *arguments],
        variables=environment,
        given=stdin,
        seconds=seconds,
    )


def _allowed_folders(program: str) -> list[str]:
    """Return the folders of others that git may read (`safe.directory`).

    The user's and the machine's configuration list them.
    """
    variables = plain_variables()
    for name in ("HOME", "XDG_CONFIG_HOME", "USERPROFILE"):
        if name in os.environ:
            variables[name] = os.environ[name]
    allowed: list[str] = []
    for scope in ("--system", "--global"):
        arguments = ["config", scope, "--includes", "-z", "--get-all", "safe.directory"]
        listed = run_program(program, arguments, variables=variables)
        if listed.code == 0:
            allowed += [os.fsdecode(value) for value in listed.output.split(b"\0")[:-1]]
    return allowed


def _unreadable(path: str, errors: bytes) -> InvalidInput:
    reason = " ".join(errors.decode(errors="replace").split())
    if "not a git repository" in reason and not _has_git_folder(path):
        return NoRepository(
            f"got the folder {path!r}, which lies in no git repository; give one that"
            " does"
        )
    got = f"got the repository {path!r}, which git cannot read: {reason}"
    return InvalidInput(f"{got}; give a folder of a git repository with a commit")


def _has_git_folder(path: str) -> bool:
    path_on_disk = Path(os.path.realpath(path))
    folders = [path_on_disk, *path_on_disk.parents]
    return any((folder / ".git").exists() for folder in folders)


class Change(NamedTuple):
    """A path that differs between two trees.

    Attributes:
        status: Git's letter.
        path: The path, in bytes.
        old: The old name where it was renamed.
        content_before: The id of its content before.
        content_after: The id of its content after.
    """

    status: str
    path: bytes
    old: bytes
    content_before: bytes
    content_after: bytes


@dataclass(eq=False)
class StoredCommit:
    """A commit as git holds it.

    Attributes:
        parents: Those that are in the repository.
        is_cut: It has parents that are not, in a shallow clone.
        author: A number for whoever wrote it, the same in each of their commits; it
            tells neither name nor address. '' where that is not told.
        changes: What differs, by parent; a commit without parents has one such list.
    """

    id: str
    tree: str
    parents: list[str]
    is_merge: bool
    is_cut: bool
    time: int | None
    subject: str
    author: str = ""
    changes: list[list[Change]] = field(default_factory=list)


def _batch(output: bytes) -> Iterator[bytes | None]:
    """Yield the contents of objects, as `cat-file --batch` prints them.

    It yields None for an object that the repository has not.
    """
    offset = 0
    while offset < len(output):
        end = output.index(b"\n", offset)
        if output[offset:end].endswith(b" missing"):
            yield None
            offset = end + 1
            continue
        size = int(output[offset:end].split(b" ")[-1])
        yield output[end + 1 : end + 1 + size]
        offset = end + size + 2


def _parse_commit(
    commit: str,
    parents: list[str],
    content: bytes,
) -> StoredCommit:
    head, _, message = content.partition(b"\n\n")
    fields: dict[bytes, list[bytes]] = {}
    for line in head.split(b"\n"):
        # A line that goes on begins with a blank, and has no name.
        name, _, value = line.partition(b" ")
        fields.setdefault(name, []).append(value)
    own_parents = fields.get(b"parent", [])
    encoding = fields.get(b"encoding", [b"utf-8"])[0].decode("ascii", "replace")
    return StoredCommit(
        commit,
        fields[b"tree"][0].decode("ascii"),
        parents,
        is_merge=len(own_parents) > 1,
        is_cut=len(own_parents) != len(parents),
        time=_time(fields.get(b"committer", [b""])[0]),
        subject=_subject(message, encoding),
        author=_author_number(fields.get(b"author", [b""])[0]),
    )


def _author_number(author: bytes) -> str:
    """Return a number for the address in an author line, the same for each spelling.

    >>> _author_number(b"Ada <ada@x.org> 1 +0000") == _author_number(b"A <ADA@x.org>")
    True
    """
    before_time = author.rpartition(b">")[0]
    address = before_time.rpartition(b"<")[2]
    spelling = address.strip().lower()
    if not spelling:
        return ""
    digest = blake2b(spelling, digest_size=_AUTHOR_BYTES)
    return digest.hexdigest()


def _time(committer: bytes) -> int | None:
    """Return the time of a committer line, in µs UTC.

    It is None where there is no time that a calendar holds.
    """
    words = committer.rpartition(b">")[2].split()
    try:
        at = int(words[0]) * MICROSECONDS_PER_SECOND
    except (IndexError, ValueError):
        return None
    return at if EARLIEST <= at < LATEST else None


def _subject(message: bytes, encoding: str) -> str:
    """Return the lines of a message's first paragraph, as one."""
    whole = message.partition(b"\0")[0]
    try:
        text = whole.decode(encoding, "replace")
    except (LookupError, ValueError):  # an encoding that Python does not know
        text = whole.decode("utf-8", "replace")
    lines: list[str] = []
    for line in text.replace("\r\n", "\n").split("\n"):
        if line.strip():
            lines.append(line.strip())
        elif lines:
            break
    return " ".join(lines)


def _parse_differences(output: bytes, count: int) -> list[list[Change]]:
    """Return the changes of each pair of trees that `diff-tree` prints.

    A pair of trees is a line; what follows are fields that end with NUL.
    """
    differences: list[list[Change]] = []
    offset = 0

    def next_field() -> bytes:
        nonlocal offset
        end = output.index(b"\0", offset)
        text = output[offset:end]
        offset = end + 1
        return text

    while offset < len(output):
        if output[offset : offset + 1] != b":":
            offset = output.index(b"\n", offset) + 1
            differences.append([])
            continue
        _, _, before, after, letter = next_field().split(b" ")
        first = next_field()
        status = letter[:1].decode("ascii")
        path = next_field() if status == "R" else first
        differences[-1].append(
            Change(
                status,
                path,
                first,
                before,
                after,
            )
        )
    assert len(differences) == count
    return differences


def _perhaps_made_again(changes: Sequence[Change]) -> list[tuple[Change, Change]]:
    """Yield pairs of an added path and a modified one whose content it has.

    It is a copy, or a rename and another file in its place.
    """
    modified: dict[bytes, list[Change]] = {}
    for change in changes:
        if change.status == "M":
            modified.setdefault(change.content_before, []).append(change)
    added: dict[bytes, list[Change]] = {}
    for change in changes:
        if change.status == "A" and change.content_after in modified:
            added.setdefault(change.content_after, []).append(change)
    return [
        (news[0], modified[content][0])
        for content, news in added.items()
        if len(news) == 1 and len(modified[content]) == 1
    ]


def _with_made_again(
    changes: list[Change], renewed: set[tuple[bytes, bytes]]
) -> list[Change]:
    """Return the changes, with a rename where a content went on under a new path.

    It is one where an unlike file has the old path.
    """
    for new, before in _perhaps_made_again(changes):
        if (before.content_before, before.content_after) in renewed:
            changes = [change for change in changes if change not in (new, before)]
            changes.append(new._replace(status="R", old=before.path))
            changes.append(before._replace(status="A"))
    return changes


def _is_unlike(before: bytes | None, after: bytes | None) -> bool:
    """Return whether two contents have less than half of their lines in common."""
    # An empty file is like any other one, and of a partial clone nothing can be said.
    if not before or after is None:
        return False
    lines = Counter(before.splitlines())
    common = (lines & Counter(after.splitlines())).total()
    return 2 * common < lines.total()


def _with_places_taken(changes: list[Change]) -> list[Change]:
    """Return the changes, with a rename where an unchanged file took another's place.

    For git a path that is there before and after was modified, whatever came into it,
    as long as its file is small. A file took another's place where its own was left: it
    is there no more, or was taken by a third in turn.
    """
    source_of = _moved_files(changes)
    if not source_of:
        return changes
    moved_away = set(source_of.values())
    result: list[Change] = []
    for change in changes:
        source = source_of.get(change.path)
        if change.status == "D" and change.path in moved_away:
            continue
        if source is None:
            result.append(change)
            continue
        if change.path not in moved_away:
            result.append(change._replace(status="D", content_after=b""))
        result.append(change._replace(status="R", old=source))
    return result


def _moved_files(changes: Sequence[Change]) -> dict[bytes, bytes]:
    """Return the old path of each file that took another's place, by its new path."""
    left = {
        change.path: change
        for change in changes
        if change.status in "DM" and change.content_before.strip(b"0")
    }
    source_of = _sources(changes, left)
    _remove_copies(source_of, left)
    uses_of_source = Counter(source_of.values())
    return {
        path: source
        for path, source in source_of.items()
        if uses_of_source[source] == 1
    }


def _sources(
    changes: Sequence[Change],
    left: Mapping[bytes, Change],
) -> dict[bytes, bytes]:
    """Return the path that each modified file has its content from.

    It is one of the paths that were left, if just one of them had that content.
    """
    by_content: dict[bytes, list[bytes]] = {}
    for change in left.values():
        by_content.setdefault(change.content_before, []).append(change.path)
    source_of: dict[bytes, bytes] = {}
    for change in changes:
        sources = by_content.get(change.content_after, [])
        is_new_content = change.content_after != change.content_before
        if change.status == "M" and is_new_content and len(sources) == 1:
            source_of[change.path] = sources[0]
    return source_of


def _remove_copies(source_of: dict[bytes, bytes], left: Mapping[bytes, Change]) -> None:
    """Remove what came from a path that the same file still has: it is a copy.

    Without a copy, others may be copies as well.
    """
    while True:
        copies = [
            path
            for path, source in source_of.items()
            if left[source].status == "M" and source not in source_of
        ]
        if not copies:
            return
        for path in copies:
            del source_of[path]


def read_changes(
    repository: GitRepository,
    commits: Sequence[StoredCommit],
    *,
    by_content: bool = True,
) -> None:
    """Put into each commit how it differs from each of its parents.

    Args:
        repository: The repository.
        commits: The commits, whose `changes` are filled.
        by_content: As `GitRepository.differences` has it.
    """
    trees = _all_trees(repository, commits)
    empty = repository.empty_tree()
    # What a commit changed is unknown where its parents were cut off.
    readable = [commit for commit in commits if commit.parents or not commit.is_cut]
    pairs: list[tuple[str, str]] = []
    for commit in readable:
        before = [trees[parent] for parent in commit.parents] or [empty]
        pairs += [(tree, commit.tree) for tree in before]
    if not pairs:
        return
    differences = iter(repository.differences(pairs, by_content=by_content))
    for commit in readable:
        n_pairs = max(len(commit.parents), 1)
        commit.changes = list(islice(differences, n_pairs))


def _all_trees(
    repository: GitRepository,
    commits: Sequence[StoredCommit],
) -> dict[str, str]:
    """Return the tree of each commit, and of those parents that are not among them."""
    trees = {commit.id: commit.tree for commit in commits}
    outside: set[str] = set()
    for commit in commits:
        outside.update(parent for parent in commit.parents if parent not in trees)
    trees.update(repository.trees_of(sorted(outside)))
    return trees


def children_first(commits: Sequence[StoredCommit]) -> Iterator[StoredCommit]:
    """Yield every commit after all that come from it, whatever their clocks said."""
    by_id = {commit.id: commit for commit in commits}
    parents_of: dict[str, list[str]] = {}
    n_waiting: Counter[str] = Counter()
    for commit in commits:
        parents = [parent for parent in commit.parents if parent in by_id]
        parents_of[commit.id] = parents
        n_waiting.update(parents)
    ready = deque(commit for commit in commits if not n_waiting[commit.id])
    while ready:
        commit = ready.popleft()
        yield commit
        for parent in parents_of[commit.id]:
            n_waiting[parent] -= 1
            if not n_waiting[parent]:
                ready.append(by_id[parent])


def _fill_times(commits: Sequence[StoredCommit]) -> None:
    """Give a commit without a time the latest time of its parents, else 0."""
    by_id = {commit.id: commit for commit in commits}
    parents_first = list(children_first(commits))[::-1]
    for commit in parents_first:
        if commit.time is not None:
            continue
        times = [by_id[parent].time for parent in commit.parents if parent in by_id]
        commit.time = max((time for time in times if time is not None), default=0)
