"""The history of a git repository, read so that neither the user's settings nor the repository's steer what is read.

Only plumbing commands are run (`rev-parse`, `rev-list`, `cat-file`, `diff-tree`, `hash-object`), with fixed options and
variables: no configuration but the repository's own is read, and of that nothing is run. No program is started for
the repository (hooks, filters, text conversions, pagers, monitors, transports), replaced objects and grafts are not
followed, and nothing is fetched.

A file is followed through renames. Its name is by default the one that it has at HEAD, in every commit, also in those
before it was renamed. Who scores a past moment by such commits compares like with like: what is known and what is then
touched have the same names. With `names="then"` each commit has the names of its own moment.

What is a rename is told by git, for half of the content and more, and beside that where a file took another's place with
its content unchanged. A copy is no rename. Where a file is deleted, and one of its name is created later, that one is
another file of the same name.
"""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from theorex_lab.clock import EARLIEST, LATEST
from theorex_lab.errors import InvalidInput
from theorex_lab.processes import Finished, find_program, plain_variables, run_program

MICROSECONDS_PER_SECOND = 1_000_000
_RENAME_CANDIDATES = 1_000  # of a commit; beyond them only files that kept their content are followed
_RENAMES = ("-M50%", f"-l{_RENAME_CANDIDATES}")
_EXACT_RENAMES = ("-M100%", f"-l{_RENAME_CANDIDATES}")
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


class Commit(NamedTuple):
    """A commit: its sha, its committer time in microseconds UTC, its subject, its (status, path) pairs.

    moves: what was renamed in it, as (old path, new path) of that moment.  gone: of the paths in `files`, those whose
    file is not there any more at HEAD.
    """

    sha: str
    at: int
    subject: str
    files: Sequence[tuple[str, str]]
    moves: Sequence[tuple[str, str]] = ()
    gone: frozenset[str] = frozenset()


def git_commits(path: str | Path, limit: int | None = None, *, names: Literal["head", "then"] = "head") -> list[Commit]:
    """The commits of the repository's current branch, oldest first, merges left out; the last `limit` of them.

    Statuses are git's letters: A added, M modified, D deleted, R renamed, T another type. A path whose bytes are no UTF-8
    has them as \\xNN. A time that is none, or outside of the years 1 to 9999, is that of the commits before. Of the oldest
    commits of a shallow clone it is not known what they touched; they have no files.

    Args:
        path: A folder in the repository, of any depth.
        limit: How many commits, the newest; all by default.
        names: Files are named as at HEAD, or as they were called in the commit ("then").

    Raises:
        NoRepository: The folder lies in no repository.
        InvalidInput: git is not installed, or cannot read the repository; or that has no commit.
    """
    repository = GitRepository.at(path)
    newest_first = repository.read_commits(limit)
    _read_changes(repository, newest_first)
    lives = _Lives(newest_first)
    commits = [_commit(commit, lives, names) for commit in newest_first if not commit.is_merge]
    if limit is not None:
        commits = commits[:limit]
    return commits[::-1]


@dataclass(frozen=True)
class GitRepository:
    """A repository, and the one way in which git is run on it.

    path: as it was named.  folder: where its objects are.  program: git.  settings: those that hold besides the
    repository's own.
    """

    path: str
    folder: str
    program: str
    settings: Mapping[str, Sequence[str]]

    @classmethod
    def at(cls, path: str | Path) -> GitRepository:
        """The repository around a folder. Raises InvalidInput as `git_commits` does."""
        program = find_program("git")
        if program is None:
            raise InvalidInput("git was not found on this machine; install it, or export the log as JSON Lines")
        name = str(path)
        if "\0" in name or not Path(name).is_dir():
            raise InvalidInput(f"got the repository {name!r}, which is no folder; give a folder of a git repository")
        settings = {key: [value] for key, value in _SETTINGS.items()}
        place = ["-C", os.path.realpath(name), "rev-parse", "--absolute-git-dir"]
        found = _run_git(program, place, settings)
        if found.code != 0 and b"dubious ownership" in found.errors:
            # The user has allowed folders of others in a configuration that is not read otherwise.
            settings["safe.directory"] = _allowed_folders(program)
            found = _run_git(program, place, settings)
        if found.code != 0:
            raise _unreadable(name, found.errors)
        folder = os.fsdecode(found.output.removesuffix(b"\n").removesuffix(b"\r"))
        return cls(name, folder, program, settings)

    def run(self, *arguments: str, given: bytes = b"") -> bytes:
        """What a plumbing command prints. Raises InvalidInput where it fails."""
        ended = self.attempt(*arguments, given=given)
        if ended.code != 0:
            raise _unreadable(self.path, ended.errors)
        return ended.output

    def attempt(self, *arguments: str, given: bytes = b"") -> Finished:
        """How a plumbing command ended."""
        # Neither the checked-out files nor the index are part of the history, and both could tell git how to read it.
        variables = {
            "GIT_DIR": self.folder,
            "GIT_WORK_TREE": self.folder,
            "GIT_INDEX_FILE": f"{self.folder}/{_NO_INDEX}",
        }
        return _run_git(self.program, arguments, self.settings, variables, given)

    def read_commits(self, limit: int | None) -> list[_Commit]:
        """The commits up to HEAD, newest first, with at least `limit` that are no merges; merges are among them."""
        head = self.attempt("rev-parse", "--verify", "--quiet", "--end-of-options", "HEAD^{commit}")
        if head.code != 0:
            if head.errors.strip():
                raise _unreadable(self.path, head.errors)
            raise InvalidInput(f"got the repository {self.path!r}, which has no commit; give one that has commits")
        start = head.output.decode("ascii").strip()
        most = limit
        while True:
            bound = [] if most is None else [f"--max-count={most}"]
            lines = self.run("rev-list", "--parents", *bound, start, "--").decode("ascii").splitlines()
            commits = self._commits_of(lines)
            if most is None or limit is None or len(lines) < most:
                return commits
            if sum(not commit.is_merge for commit in commits) >= limit:
                return commits
            most = 2 * most + 1

    def _commits_of(self, lines: Sequence[str]) -> list[_Commit]:
        ids = [line.split() for line in lines]
        asked = "".join(f"{own[0]}\n" for own in ids).encode()
        objects = _batch(self.run("cat-file", "--batch", "--buffer", given=asked))
        commits = [_parse_commit(own[0], own[1:], content) for own, content in zip(ids, objects, strict=True)]
        by_id = {commit.id: commit for commit in commits}
        for commit in _parents_first(commits):
            if commit.time is None:
                times = [by_id[parent].time for parent in commit.parents if parent in by_id]
                commit.time = max((time for time in times if time is not None), default=0)
        return commits

    def trees_of(self, commits: Iterable[str]) -> dict[str, str]:
        """The tree of each of these commits."""
        wanted = list(commits)
        asked = "".join(f"{commit}\n" for commit in wanted).encode()
        objects = _batch(self.run("cat-file", "--batch", "--buffer", given=asked))
        return {
            commit: content.partition(b"\n")[0].removeprefix(b"tree ").decode("ascii")
            for commit, content in zip(wanted, objects, strict=True)
        }

    def differences(self, pairs: Sequence[tuple[str, str]]) -> list[list[_Change]]:
        """What is changed from the first tree of each pair to the second, renames among it."""
        given = "".join(f"{before} {after}\n" for before, after in pairs).encode()
        options = ["--stdin", "-r", "-z", "--raw", "--no-abbrev", "--no-ext-diff", "--no-textconv"]
        options += ["--ignore-submodules=none", "--no-relative", f"-O{os.devnull}"]
        ended = self.attempt("diff-tree", *options, *_RENAMES, given=given)
        if ended.code != 0:
            # A partial clone has not the contents that likeness is told from; which content is the same, it knows.
            ended = self.attempt("diff-tree", *options, *_EXACT_RENAMES, given=given)
        if ended.code != 0:
            raise _unreadable(self.path, ended.errors)
        return _parse_differences(ended.output, len(pairs))

    def empty_tree(self) -> str:
        """The id of the tree without files, which depends on how the repository hashes."""
        return self.run("hash-object", "-t", "tree", "--stdin").decode("ascii").strip()


def _run_git(
    program: str,
    arguments: Sequence[str],
    settings: Mapping[str, Sequence[str]],
    variables: Mapping[str, str] | None = None,
    given: bytes = b"",
) -> Finished:
    """Run git, the only place that does: with fixed variables and none of the user's."""
    pairs = [(key, value) for key, values in settings.items() for value in values]
    environment = {**plain_variables(), **_VARIABLES, **(variables or {}), "GIT_CONFIG_COUNT": str(len(pairs))}
    for number, (key, value) in enumerate(pairs):
        environment[f"GIT_CONFIG_KEY_{number}"] = key
        environment[f"GIT_CONFIG_VALUE_{number}"] = value
    return run_program(program, ["--no-pager", *arguments], variables=environment, given=given)


def _allowed_folders(program: str) -> list[str]:
    """The folders of others that the user's and the machine's configuration allow git to read (`safe.directory`)."""
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
        return NoRepository(f"got the folder {path!r}, which lies in no git repository; give one that does")
    got = f"got the repository {path!r}, which git cannot read: {reason}"
    return InvalidInput(f"{got}; give a folder of a git repository with a commit")


def _has_git_folder(path: str) -> bool:
    place = Path(os.path.realpath(path))
    return any((folder / ".git").exists() for folder in (place, *place.parents))


class _Change(NamedTuple):
    """A path that differs between two trees: git's letter, the ids of its content, and its old name where it was renamed."""

    status: str
    path: bytes
    old: bytes
    content_before: bytes
    content_after: bytes


@dataclass(eq=False)
class _Commit:
    """A commit as git holds it.

    parents: those that are there.  is_cut: it has parents that are not, in a shallow clone.  changes: by parent what
    differs; a commit without parents has one such list.
    """

    id: str
    tree: str
    parents: list[str]
    is_merge: bool
    is_cut: bool
    time: int | None
    subject: str
    changes: list[list[_Change]] = field(default_factory=list)


def _batch(output: bytes) -> Iterator[bytes]:
    """The contents of objects, as `cat-file --batch` prints them."""
    place = 0
    while place < len(output):
        end = output.index(b"\n", place)
        size = int(output[place:end].split(b" ")[-1])
        yield output[end + 1 : end + 1 + size]
        place = end + size + 2


def _parse_commit(commit: str, parents: list[str], content: bytes) -> _Commit:
    head, _, message = content.partition(b"\n\n")
    fields: dict[bytes, list[bytes]] = {}
    for line in head.split(b"\n"):
        name, _, value = line.partition(b" ")
        fields.setdefault(name, []).append(value)  # a line that goes on begins with a blank, and has no name
    own_parents = fields.get(b"parent", [])
    encoding = fields.get(b"encoding", [b"utf-8"])[0].decode("ascii", "replace")
    return _Commit(
        commit,
        fields[b"tree"][0].decode("ascii"),
        parents,
        is_merge=len(own_parents) > 1,
        is_cut=len(own_parents) != len(parents),
        time=_time(fields.get(b"committer", [b""])[0]),
        subject=_subject(message, encoding),
    )


def _time(committer: bytes) -> int | None:
    """Microseconds; None where there is no time that a calendar holds."""
    words = committer.rpartition(b">")[2].split()
    try:
        at = int(words[0]) * MICROSECONDS_PER_SECOND
    except (IndexError, ValueError):
        return None
    return at if EARLIEST <= at < LATEST else None


def _subject(message: bytes, encoding: str) -> str:
    """The lines of a message's first paragraph, as one."""
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


def _parse_differences(output: bytes, count: int) -> list[list[_Change]]:
    """A pair of trees is a line; what follows are fields that end with NUL."""
    differences: list[list[_Change]] = []
    place = 0

    def next_field() -> bytes:
        nonlocal place
        end = output.index(b"\0", place)
        text = output[place:end]
        place = end + 1
        return text

    while place < len(output):
        if output[place : place + 1] != b":":
            place = output.index(b"\n", place) + 1
            differences.append([])
            continue
        _, _, before, after, letter = next_field().split(b" ")
        first = next_field()
        status = letter[:1].decode("ascii")
        path = next_field() if status == "R" else first
        differences[-1].append(_Change(status, path, first, before, after))
    assert len(differences) == count
    return [_with_places_taken(changes) for changes in differences]


def _with_places_taken(changes: list[_Change]) -> list[_Change]:
    """The changes, with a rename wherever an unchanged file took the place of another.

    For git a path that is there before and after was modified, whatever came into it, as long as its file is small.
    A file took another's place where its own was left: it is there no more, or was taken by a third in turn.
    """
    left = {change.path: change for change in changes if change.status in "DM" and change.content_before.strip(b"0")}
    by_content: dict[bytes, list[bytes]] = {}
    for change in left.values():
        by_content.setdefault(change.content_before, []).append(change.path)
    came_from: dict[bytes, bytes] = {}
    for change in changes:
        sources = by_content.get(change.content_after, [])
        if change.status == "M" and change.content_after != change.content_before and len(sources) == 1:
            came_from[change.path] = sources[0]
    # What came from a place that is still held by the same file is a copy; without it, others may be copies as well.
    while True:
        copies = [path for path, source in came_from.items() if left[source].status == "M" and source not in came_from]
        if not copies:
            break
        for path in copies:
            del came_from[path]
    sources_taken = Counter(came_from.values())
    came_from = {path: source for path, source in came_from.items() if sources_taken[source] == 1}
    if not came_from:
        return changes
    moved_away = set(came_from.values())
    read: list[_Change] = []
    for change in changes:
        source = came_from.get(change.path)
        if change.status == "D" and change.path in moved_away:
            continue
        if source is None:
            read.append(change)
            continue
        if change.path not in moved_away:
            read.append(change._replace(status="D", content_after=b""))
        read.append(change._replace(status="R", old=source))
    return read


def _read_changes(repository: GitRepository, commits: Sequence[_Commit]) -> None:
    """Put into each commit how it differs from each of its parents."""
    trees = {commit.id: commit.tree for commit in commits}
    outside = {parent for commit in commits for parent in commit.parents if parent not in trees}
    trees.update(repository.trees_of(sorted(outside)))
    empty = repository.empty_tree()
    pairs: list[tuple[str, str]] = []
    for commit in commits:
        if commit.is_cut and not commit.parents:
            continue
        before = [trees[parent] for parent in commit.parents] or [empty]
        pairs += [(tree, commit.tree) for tree in before]
    differences = iter(repository.differences(pairs) if pairs else [])
    for commit in commits:
        if commit.is_cut and not commit.parents:
            continue
        commit.changes = [next(differences) for _ in commit.parents or [empty]]


def _children_first(commits: Sequence[_Commit]) -> Iterator[_Commit]:
    """Every commit after all that come from it, whatever their clocks said."""
    by_id = {commit.id: commit for commit in commits}
    waiting = Counter(parent for commit in commits for parent in commit.parents if parent in by_id)
    ready = deque(commit for commit in commits if not waiting[commit.id])
    while ready:
        commit = ready.popleft()
        yield commit
        for parent in commit.parents:
            if parent in by_id:
                waiting[parent] -= 1
                if not waiting[parent]:
                    ready.append(by_id[parent])


def _parents_first(commits: Sequence[_Commit]) -> list[_Commit]:
    return list(_children_first(commits))[::-1]


class _File(NamedTuple):
    """A file through all its names: the last of them, and the commit that deleted it ('' where HEAD has it)."""

    path: bytes
    deleted_in: str = ""


class _Use(NamedTuple):
    """A path that a commit changed; deleted: what is meant is the file that is gone, not one that took its place."""

    commit: str
    path: bytes
    deleted: bool


class _Lives:
    """Every file followed back from HEAD, through the commits that renamed, replaced or deleted it."""

    def __init__(self, commits: Sequence[_Commit]) -> None:
        self._files: dict[_Use, _File] = {}
        self._same: dict[_File, _File] = {}
        # By commit, of its tree: which file a path is, where that is not the file that has the path at HEAD.
        self._files_of: dict[str, dict[bytes, _File]] = {}
        self._order: list[_Commit] = list(_children_first(commits))
        self._listed = {commit.id for commit in commits}
        for commit in self._order:
            self._step_back(commit)
        self._labels = self._make_labels()

    def file(self, use: _Use) -> _File:
        """The file that a changed path is."""
        file = self._files[use]
        while file in self._same:
            file = self._same[file]
        return file

    def label(self, file: _File) -> str:
        """The text that stands for a file, and for no other at the same time."""
        return self._labels[file]

    def _step_back(self, commit: _Commit) -> None:
        files = self._files_of.pop(commit.id, {})
        for parent, changes in zip(commit.parents or [""], commit.changes, strict=False):
            before = self._before(commit, changes, files)
            if parent in self._listed:
                self._join(parent, before)

    def _before(self, commit: _Commit, changes: Sequence[_Change], files: dict[bytes, _File]) -> dict[bytes, _File]:
        """The files of the tree before some changes, by those of the commit's own tree."""
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
        """Where several commits come from one, a file that one of them keeps is kept."""
        earlier = self._files_of.setdefault(parent, files)
        if earlier is files:
            return
        for path in sorted(earlier.keys() | files.keys()):
            first, other = earlier.get(path, _File(path)), files.get(path, _File(path))
            if first == other:
                continue
            if first.deleted_in and not other.deleted_in:
                first, other = other, first
                earlier[path] = first
            if other.deleted_in:
                self._say_same(first, other)

    def _say_same(self, kept: _File, other: _File) -> None:
        while kept in self._same:
            kept = self._same[kept]
        while other in self._same:
            other = self._same[other]
        if kept != other:
            self._same[other] = kept

    def _make_labels(self) -> dict[_File, str]:
        """A file's last path; where another file has it while this one lived, it is told when this one ended."""
        position = {commit.id: number for number, commit in enumerate(reversed(self._order))}
        first: dict[_File, int] = {}
        last: dict[_File, int] = {}
        for use in self._files:
            file, at = self.file(use), position[use.commit]
            first[file] = min(at, first.get(file, at))
            last[file] = max(at, last.get(file, at))
        by_path: dict[bytes, list[_File]] = {}
        for file in first:
            by_path.setdefault(file.path, []).append(file)
        labels: dict[_File, str] = {}
        for path, files in by_path.items():
            files.sort(key=lambda file: (file.deleted_in != "", -first[file]))
            plain: list[_File] = []  # the one at HEAD is the first of them
            for file in files:
                labels[file] = _text(path)
                if all(last[file] < first[other] or last[other] < first[file] for other in plain):
                    plain.append(file)
                elif file.deleted_in:
                    labels[file] = f"{_text(path)} (until {file.deleted_in[:12]})"
        return labels


def _text(path: bytes) -> str:
    return path.decode("utf-8", "backslashreplace")


def _commit(commit: _Commit, lives: _Lives, names: str) -> Commit:
    files: list[tuple[str, str]] = []
    moves: list[tuple[str, str]] = []
    gone: set[str] = set()
    changes = commit.changes[0] if commit.changes else []
    there = {change.path for change in changes if change.status != "D"}
    for change in changes:
        is_gone = change.status == "D"
        file = lives.file(_Use(commit.id, change.path, is_gone))
        name = lives.label(file) if names == "head" else _text(change.path)
        if names == "head" or not is_gone or change.path not in there:
            files.append((change.status, name))
        if change.status == "R":
            moves.append((_text(change.old), _text(change.path)))
        if file.deleted_in:
            gone.add(name)
    time = commit.time or 0
    return Commit(commit.id, time, commit.subject, files, moves, frozenset(gone))
