"""A repository's history is read alike whatever the user's settings say, and its files
are followed through renames.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theorex_lab import InvalidInput
from theorex_lab.eval.datasets.git_history import Commit, NoRepository, git_commits
from theorex_lab.eval.metrics.access import from_git
from theorex_lab.text.paths import named_path

START = 1_785_000_000
DAY = 86_400


def git(
    folder: Path,
    *words: str,
    at: int = START,
    given: bytes | None = None,
    **variables: str,
) -> bytes:
    date = f"@{at} +0000"
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_DATE": date,
        "GIT_COMMITTER_DATE": date,
        **variables,
    }
    person = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    command = ["git", "-C", str(folder), *person, *words]
    return subprocess.run(
        command, check=True, capture_output=True, env=environment, input=given
    ).stdout


def commit(folder: Path, number: int, **variables: str) -> None:
    git(folder, "add", "-A")
    words = ["commit", "-q", "--allow-empty", "--no-gpg-sign", "-m", f"change {number}"]
    git(folder, *words, at=START + number * DAY, **variables)


def write(folder: Path, name: str, content: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(content, encoding="utf-8")


def files(commits: list[Commit]) -> list[list[tuple[str, str]]]:
    return [sorted(each.files) for each in commits]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q")
    return folder


@pytest.fixture(scope="module")
def moved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a rename, a merge, an odd name and an odd subject, and hostile
    settings of its own.
    """
    folder = tmp_path_factory.mktemp("moved")
    git(folder, "init", "-q", "-b", "main")
    for number in range(4):
        write(folder, "lib/core.py", "line\n" * (number + 5))
        write(folder, f"docs/päge {number}.md", f"{number}")
        commit(folder, number)
    git(folder, "checkout", "-q", "-b", "side")
    write(folder, "lib/core.py", "line\n" * 9 + "side\n")
    commit(folder, 5)
    git(folder, "checkout", "-q", "main")
    git(folder, "mv", "lib", "src")
    commit(folder, 6)
    git(folder, "merge", "-q", "--no-edit", "side", at=START + 7 * DAY)
    write(folder, "src/core.py", "line\n" * 20)
    commit(folder, 8)
    return folder


def expected_of_moved() -> list[list[tuple[str, str]]]:
    first = [("A", "docs/päge 0.md"), ("A", "src/core.py")]
    later = [
        [("A", f"docs/päge {number}.md"), ("M", "src/core.py")] for number in (1, 2, 3)
    ]
    return [
        first,
        *later,
        [("M", "src/core.py")],
        [("R", "src/core.py")],
        [("M", "src/core.py")],
    ]


def test_a_file_is_named_as_at_head_before_its_rename_and_on_a_branch_that_knew_nothing_of_it(
    moved: Path,
) -> None:
    commits = git_commits(moved)
    assert files(commits) == expected_of_moved()
    assert [each.at for each in commits] == [
        (START + day * DAY) * 1_000_000 for day in (0, 1, 2, 3, 5, 6, 8)
    ]
    assert [each.moves for each in commits if each.moves] == [
        [("lib/core.py", "src/core.py")]
    ]
    assert "lib/core.py" not in from_git(moved).items


def test_names_of_the_moment_are_those_of_each_commit(moved: Path) -> None:
    names = [
        [path for _, path in each.files if path.endswith(".py")]
        for each in git_commits(moved, names="then")
    ]
    assert names == [["lib/core.py"]] * 5 + [["src/core.py"]] * 2


def test_the_last_commits_are_those_of_the_whole_history(moved: Path) -> None:
    whole = git_commits(moved)
    for limit in range(1, 9):
        assert git_commits(moved, limit=limit) == whole[-limit:]
    assert git_commits(moved / "docs") == whole, (
        "a folder in the repository stands for all of it"
    )


SETTINGS = st.dictionaries(
    st.sampled_from(
        [
            ("log.showSignature", "true"),
            ("diff.renames", "false"),
            ("diff.renames", "copies"),
            ("diff.renameLimit", "1"),
            ("core.quotePath", "false"),
            ("core.fsmonitor", "touch RAN"),
            ("core.pager", "touch RAN"),
            ("core.sshCommand", "touch RAN"),
            ("core.hooksPath", "hooks"),
            ("core.worktree", "/nowhere"),
            ("core.attributesFile", "/nowhere"),
            ("core.commitGraph", "true"),
            ("core.abbrev", "4"),
            ("core.precomposeUnicode", "true"),
            ("log.mailmap", "true"),
            ("log.date", "iso"),
            ("log.follow", "true"),
            ("format.pretty", "oneline"),
            ("i18n.logOutputEncoding", "latin-1"),
            ("diff.external", "touch RAN"),
            ("diff.x.textconv", "touch RAN"),
            ("diff.x.command", "touch RAN"),
            ("diff.relative", "true"),
            ("diff.noprefix", "true"),
            ("diff.orderFile", "order"),
            ("diff.ignoreSubmodules", "all"),
            ("gpg.program", "touch RAN"),
            ("alias.rev-list", "!touch RAN"),
            ("alias.diff-tree", "!touch RAN"),
            ("pager.diff-tree", "touch RAN"),
            ("color.ui", "always"),
        ]
    ),
    st.just(None),
    max_size=8,
)
VARIABLES = st.fixed_dictionaries(
    {},
    optional={
        "GIT_DIR": st.just("/nowhere"),
        "GIT_WORK_TREE": st.just("/nowhere"),
        "GIT_INDEX_FILE": st.just("/nowhere"),
        "GIT_OBJECT_DIRECTORY": st.just("/nowhere"),
        "GIT_NAMESPACE": st.just("other"),
        "GIT_CEILING_DIRECTORIES": st.just("/"),
        "GIT_CONFIG_PARAMETERS": st.just("'diff.renames'='false'"),
        "GIT_CONFIG_COUNT": st.sampled_from(["0", "x"]),
        "GIT_CONFIG_GLOBAL": st.just("/nowhere"),
        "GIT_EXTERNAL_DIFF": st.just("touch RAN"),
        "GIT_DIFF_OPTS": st.just("--no-renames"),
        "GIT_EXEC_PATH": st.just("/nowhere"),
        "GIT_LITERAL_PATHSPECS": st.just("1"),
        "GIT_TRACE": st.just("1"),
        "GIT_TRACE2_EVENT": st.just("1"),
        "GIT_PAGER": st.just("touch RAN"),
        "PAGER": st.just("touch RAN"),
        "LC_ALL": st.sampled_from(["de_DE.UTF-8", "C"]),
        "LANGUAGE": st.just("de"),
        "GIT_OPTIONAL_LOCKS": st.just("1"),
        "GIT_SHALLOW_FILE": st.just("/nowhere"),
        "GIT_REPLACE_REF_BASE": st.just("refs/heads/"),
        "GIT_DEFAULT_HASH": st.just("sha256"),
    },
)


@settings(max_examples=25, deadline=None)
@given(own=SETTINGS, of_user=SETTINGS, variables=VARIABLES)
def test_no_setting_and_no_variable_changes_what_is_read(
    moved: Path,
    own: dict[tuple[str, str], None],
    of_user: dict[tuple[str, str], None],
    variables: dict[str, str],
) -> None:
    with (
        tempfile.TemporaryDirectory() as place,
        pytest.MonkeyPatch.context() as patched,
    ):
        folder = Path(place) / "repository"
        home = Path(place) / "home"
        shutil.copytree(moved, folder)
        home.mkdir()
        write(folder, ".gitattributes", "* diff=x\n")
        for key, value in own:
            git(
                folder,
                "config",
                "--add",
                key,
                value,
                GIT_DIR=str(folder / ".git"),
                GIT_WORK_TREE=place,
            )
        for key, value in of_user:
            git(home, "config", "--file", str(home / ".gitconfig"), "--add", key, value)
        patched.setenv("HOME", str(home))
        for name, value in variables.items():
            patched.setenv(name, value)
        patched.chdir(place)
        assert files(git_commits(folder)) == expected_of_moved()
        assert list(Path(place).rglob("RAN")) == []


PATHS = st.lists(
    st.binary(min_size=1, max_size=12).filter(
        lambda name: (
            b"\0" not in name
            and b"/" not in name
            and name not in (b".", b"..")
            and b"git" not in name.lower()
        )
    ),
    min_size=1,
    max_size=6,
    unique=True,
)


def tree_of(folder: Path, paths: dict[bytes, bytes]) -> str:
    """A tree of files by path and content, made without a file system, which would
    refuse some of them.
    """
    lines = []
    for path, content in paths.items():
        blob = git(folder, "hash-object", "-w", "--stdin", given=content).strip()
        lines.append(b"100644 blob " + blob + b"\t" + path + b"\0")
    return git(folder, "mktree", "-z", given=b"".join(lines)).decode().strip()


def commit_tree(folder: Path, tree: str, parent: str, number: int) -> str:
    parents = ["-p", parent] if parent else []
    made = (
        git(
            folder,
            "commit-tree",
            tree,
            *parents,
            "-m",
            f"{number}",
            at=START + number * DAY,
        )
        .decode()
        .strip()
    )
    git(folder, "update-ref", "HEAD", made)
    return made


@settings(max_examples=25, deadline=None)
@given(PATHS)
def test_every_path_that_git_can_hold_is_read(paths: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        git(folder, "init", "-q", "--bare")
        commit_tree(
            folder, tree_of(folder, {path: b"x" + path for path in paths}), "", 0
        )
        (read,) = git_commits(folder)
    assert {status for status, _ in read.files} == {"A"}
    assert sorted(
        named_path(path).encode("utf-8", "surrogateescape") for _, path in read.files
    ) == sorted(paths)


class Model:
    """A small repository: which file each path holds, and which paths each file had."""

    def __init__(self) -> None:
        self.at: dict[str, int] = {}  # path -> file
        self.content: dict[int, str] = {}
        self.touched: list[set[int]] = []  # by commit
        self.files = 0

    def create(self, path: str) -> set[int]:
        self.files += 1
        self.at[path] = self.files
        self.content[self.files] = f"{self.files}:" + "".join(
            f"{self.files * 7919 + line}\n" for line in range(40)
        )
        return {self.files}

    def edit(self, path: str) -> set[int]:
        file = self.at[path]
        self.content[file] += f"more {len(self.touched)}\n"
        return {file}

    def remove(self, path: str) -> set[int]:
        return {self.at.pop(path)}

    def move(self, path: str, to: str) -> set[int]:
        replaced = {self.at[to]} if to in self.at else set()
        self.at[to] = self.at.pop(path)
        return {self.at[to]} | replaced

    def swap(self, path: str, other: str) -> set[int]:
        self.at[path], self.at[other] = self.at[other], self.at[path]
        return {self.at[path], self.at[other]}


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["create", "edit", "remove", "move", "swap"]),
        st.integers(0, 3),
        st.integers(0, 3),
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=40, deadline=None)
@given(STEPS)
def test_files_are_followed_as_in_a_small_model_of_a_repository(
    steps: list[tuple[str, int, int]],
) -> None:
    model = Model()
    names = ["a", "b", "c", "d"]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        git(folder, "init", "-q", "--bare")
        parent = ""
        for what, first, second in [("create", 0, 0), *steps]:
            path = names[first]
            other = names[second]
            if what == "create":
                touched = (
                    model.create(path) if path not in model.at else model.edit(path)
                )
            elif path not in model.at or (what in ("move", "swap") and path == other):
                continue
            elif what == "swap":
                touched = (
                    model.swap(path, other)
                    if other in model.at
                    else model.move(path, other)
                )
            elif what == "move":
                touched = model.move(path, other)
            else:
                touched = getattr(model, what)(path)
            model.touched.append(touched)
            tree = tree_of(
                folder,
                {
                    name.encode(): model.content[file].encode()
                    for name, file in model.at.items()
                },
            )
            parent = commit_tree(folder, tree, parent, len(model.touched))
        commits = git_commits(folder)
    at_head = {file: path for path, file in model.at.items()}
    for read, touched in zip(commits, model.touched, strict=True):
        living = sorted(path for _, path in read.files if path not in read.gone)
        assert living == sorted(at_head[file] for file in touched if file in at_head)
        assert len(read.files) == len(touched)
        assert len({path for _, path in read.files}) == len(touched), (
            "no two files of a moment have one name"
        )


def test_a_file_that_takes_the_place_of_another_keeps_its_history_and_the_other_is_gone(
    repository: Path,
) -> None:
    write(repository, "a", "one")
    write(repository, "b", "two")
    commit(repository, 0)
    git(repository, "mv", "-f", "a", "b")
    commit(repository, 1)
    first, second = git_commits(repository)
    (replaced,) = first.gone
    assert sorted(first.files) == [("A", "b"), ("A", replaced)]
    assert replaced.startswith("b (until ")
    assert sorted(second.files) == [("D", replaced), ("R", "b")]


def test_a_name_that_is_made_again_after_a_rename_is_another_file(
    repository: Path,
) -> None:
    write(repository, "a", "one\n" * 9)
    commit(repository, 0)
    git(repository, "mv", "a", "b")
    commit(repository, 1)
    write(repository, "a", "two")
    commit(repository, 2)
    assert files(git_commits(repository)) == [[("A", "b")], [("R", "b")], [("A", "a")]]


def test_a_name_that_is_made_again_after_it_was_deleted_is_there(
    repository: Path,
) -> None:
    write(repository, "a", "one")
    write(repository, "z", "z")
    commit(repository, 0)
    (repository / "a").unlink()
    commit(repository, 1)
    write(repository, "a", "two")
    commit(repository, 2)
    commits = git_commits(repository)
    assert files(commits) == [[("A", "a"), ("A", "z")], [("D", "a")], [("A", "a")]]
    assert [each.gone for each in commits] == [{"a"}, {"a"}, frozenset()]


def test_a_name_that_is_made_again_in_the_commit_that_renames_is_another_file(
    repository: Path,
) -> None:
    write(repository, "a", "one\ntwo\nthree\n")
    commit(repository, 0)
    git(repository, "mv", "a", "b")
    write(repository, "a", "of another kind\n")
    commit(repository, 1)
    assert files(git_commits(repository)) == [[("A", "b")], [("A", "a"), ("R", "b")]]


def test_a_copy_is_no_rename(repository: Path) -> None:
    write(repository, "a", "one\n" * 9)
    commit(repository, 0)
    write(repository, "b", "one\n" * 9)
    write(repository, "a", "one\n" * 10)
    commit(repository, 1)
    assert files(git_commits(repository)) == [[("A", "a")], [("A", "b"), ("M", "a")]]


def test_no_commit_and_no_repository_are_told_apart(
    repository: Path, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInput, match="has no commit"):
        git_commits(repository)
    (tmp_path / "plain").mkdir()
    with pytest.raises(NoRepository, match="lies in no git repository"):
        git_commits(tmp_path / "plain")
    with pytest.raises(InvalidInput, match="no folder"):
        git_commits(tmp_path / "nowhere")


def test_a_head_that_leads_nowhere_is_an_error_of_its_own(repository: Path) -> None:
    write(repository, "a", "1")
    commit(repository, 0)
    (repository / ".git" / "HEAD").write_text("1" * 40 + "\n")
    with pytest.raises(InvalidInput, match="cannot read: HEAD names what is no commit"):
        git_commits(repository)


def test_replaced_objects_are_not_followed(repository: Path) -> None:
    for number in range(3):
        write(repository, f"f{number}", "x" * number)
        commit(repository, number)
    before = git_commits(repository)
    ids = git(repository, "rev-list", "HEAD").decode().split()
    git(repository, "replace", ids[0], ids[2])
    (repository / ".git/info").mkdir(exist_ok=True)
    (repository / ".git/info/grafts").write_text(f"{ids[0]}\n")
    assert git_commits(repository) == before


@pytest.mark.parametrize("kind", ["bare", "worktree", "detached", "shallow", "sha256"])
def test_every_kind_of_repository_is_read(tmp_path: Path, kind: str) -> None:
    origin = tmp_path / "origin"
    origin.mkdir()
    git(origin, "init", "-q", *(["--object-format=sha256"] if kind == "sha256" else []))
    for number in range(3):
        write(origin, "a", f"{number}")
        commit(origin, number)
    place = tmp_path / kind
    if kind == "bare":
        git(tmp_path, "clone", "-q", "--bare", str(origin), str(place))
    elif kind == "worktree":
        git(origin, "worktree", "add", "-q", "--detach", str(place))
    elif kind == "shallow":
        git(tmp_path, "clone", "-q", "--depth=2", f"file://{origin}", str(place))
    else:
        git(origin, "checkout", "-q", "--detach")
        place = origin
    read = git_commits(place)
    expected = git_commits(origin)
    assert len(expected) == 3
    if kind == "shallow":
        assert read[1:] == expected[2:]
        assert read[0] == expected[1]._replace(files=[]), (
            "what the oldest commit touched is not known"
        )
    else:
        assert read == expected


def raw_commit(
    folder: Path, parent: str, committer: bytes, message: bytes, *headers: bytes
) -> str:
    tree = tree_of(folder, {b"a": committer + message})
    lines = [
        f"tree {tree}".encode(),
        *([f"parent {parent}".encode()] if parent else []),
    ]
    lines += [
        b"author A <a@example.org> 1 +0000",
        b"committer A <a@example.org> " + committer,
        *headers,
    ]
    words = ["hash-object", "-t", "commit", "-w", "--stdin", "--literally"]
    made = (
        git(folder, *words, given=b"\n".join(lines) + b"\n\n" + message)
        .decode()
        .strip()
    )
    git(folder, "update-ref", "HEAD", made)
    return made


def test_times_and_subjects_that_are_odd_are_read(repository: Path) -> None:
    parent = ""
    for committer, message, headers in (
        (b"-86400 +0000", b"\x01begins with a one\n", ()),
        (b"4102444800 +0000", b"two\nlines\n\nbody\n", ()),
        (b"99999999999999999999 +0000", b"\xff\xfe no text\n", ()),
        (b"soon", b"caf\xe9\n", (b"encoding ISO-8859-1",)),
        (b"1785000000 +0000", b"", (b"encoding no-such",)),
    ):
        parent = raw_commit(repository, parent, committer, message, *headers)
    commits = git_commits(repository)
    subjects = [
        "\x01begins with a one",
        "two lines",
        "\ufffd\ufffd no text",
        "café",
        "",
    ]
    assert [each.subject for each in commits] == subjects
    seconds = [-86400, 4102444800, 4102444800, 4102444800, 1785000000]
    assert [each.at // 1_000_000 for each in commits] == seconds
    assert from_git(repository).n_events == 5


def test_a_repository_of_somebody_else_is_a_clear_error_unless_the_user_allows_it(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.name == "nt" or os.geteuid() != 0:
        pytest.skip("only root may give a folder away")
    write(repository, "a", "1")
    commit(repository, 0)
    os.chown(repository, 12_345, 12_345)
    os.chown(repository / ".git", 12_345, 12_345)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(InvalidInput, match="dubious ownership"):
        git_commits(repository)
    write(tmp_path, ".gitconfig", f"[safe]\n\tdirectory = {repository}\n")
    assert len(git_commits(repository)) == 1
