"""Which repository a folder is of, whatever its `.git` looks like: what git itself
makes, and what others may write.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from theorex_lab.core.project import checkout_root, project_of, repository_of

NAMED = (
    "-c",
    "user.name=a",
    "-c",
    "user.email=a@example.org",
    "-c",
    "commit.gpgsign=false",
)
NAMED += ("-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main")


def git(folder: Path, *words: str) -> None:
    subprocess.run(
        ["git", "-C", str(folder), *NAMED, *words], check=True, capture_output=True
    )


def repository(folder: Path) -> Path:
    """A repository with one commit."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", folder.name)
    return folder


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path.resolve()


@pytest.fixture
def victim(place: Path) -> Path:
    folder = repository(place / "victim")
    git(folder, "worktree", "add", "-q", "-b", "other", str(place / "victims-tree"))
    return folder


def _file(target: Path) -> Callable[[Path], None]:
    return lambda folder: (folder / ".git").write_text(f"gitdir: {target}\n") and None


def _forged(victim: Path) -> dict[str, Callable[[Path], None]]:
    """By name, what may be written into a folder so that it passes for the victim."""
    tree = victim / ".git" / "worktrees" / "victims-tree"

    def forged_entry(folder: Path) -> None:
        entry = folder / "worktrees" / "x"
        entry.mkdir(parents=True)
        (entry / "HEAD").write_text("ref: refs/heads/main\n")
        (entry / "commondir").write_text(f"{victim}/.git\n")
        (entry / "gitdir").write_text(f"{folder}/.git\n")
        (folder / ".git").write_text(f"gitdir: {entry}\n")

    def own_folder(folder: Path) -> None:
        (folder / ".git").mkdir()
        (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        (folder / ".git" / "commondir").write_text(f"{victim}/.git\n")
        (folder / ".git" / "config").write_text(f"[core]\n\tworktree = {victim}\n")

    def link_inside(folder: Path) -> None:
        (folder / ".bare").symlink_to(victim / ".git")
        (folder / ".git").write_text("gitdir: ./.bare\n")

    return {
        "an entry that is not there": _file(victim / ".git" / "worktrees" / "none"),
        "another checkout's entry": _file(tree),
        "the repository itself": _file(victim / ".git"),
        "a link to the repository": lambda folder: (folder / ".git").symlink_to(
            victim / ".git"
        ),
        "a link to an entry": lambda folder: (folder / ".git").symlink_to(tree),
        "a link to another checkout's file": lambda folder: (
            folder / ".git"
        ).symlink_to(victim.parent / "victims-tree" / ".git"),
        "a link inside": link_inside,
        "an entry of its own": forged_entry,
        "a folder of its own": own_folder,
    }


@pytest.mark.parametrize(
    "name",
    [
        "an entry that is not there",
        "another checkout's entry",
        "the repository itself",
        "a link to the repository",
        "a link to an entry",
        "a link to another checkout's file",
        "a link inside",
        "an entry of its own",
        "a folder of its own",
    ],
)
def test_a_git_that_leads_to_another_repository_joins_nothing(
    place: Path, victim: Path, name: str
) -> None:
    evil = place / "evil"
    evil.mkdir()
    _forged(victim)[name](evil)
    assert repository_of(checkout_root(str(evil))).root == str(evil)
    assert project_of(str(evil)).startswith("evil-")
    assert project_of(str(victim)) == project_of(str(place / "victims-tree"))


def test_a_folder_around_a_repository_is_not_taken_for_it(
    place: Path, victim: Path
) -> None:
    (place / ".git").write_text("gitdir: ./victim/.git\n")
    assert repository_of(str(place)).git == ""
    assert project_of(str(place)) != project_of(str(victim))


def test_a_bare_repository_and_its_worktrees_are_one_project(place: Path) -> None:
    seed = repository(place / "seed")
    hub = place / "hub"
    hub.mkdir()
    subprocess.run(
        ["git", "clone", "-q", "--bare", str(seed), str(hub / ".bare")], check=True
    )
    (hub / ".git").write_text("gitdir: ./.bare\n")
    git(hub, "worktree", "add", "-q", "-b", "one", str(hub / "one"))
    git(hub, "worktree", "add", "-q", "-b", "two", str(place / "far"))
    names = {project_of(str(folder)) for folder in (hub, hub / "one", place / "far")}
    assert len(names) == 1
    assert names.pop().startswith("hub-")
    assert checkout_root(str(hub / "one")) == str(hub / "one")


def test_worktrees_of_a_bare_repository_alone_are_one_project(place: Path) -> None:
    seed = repository(place / "seed")
    bare = place / "shop.git"
    subprocess.run(["git", "clone", "-q", "--bare", str(seed), str(bare)], check=True)
    for name in ("one", "two"):
        git(bare, "worktree", "add", "-q", "-b", name, str(place / name))
    assert repository_of(str(place / "one")) == (str(bare), str(bare))
    assert project_of(str(place / "one")) == project_of(str(place / "two"))
    assert project_of(str(place / "one")).startswith("shop-")


def test_a_worktree_that_is_named_by_relative_paths_is_one(
    place: Path, victim: Path
) -> None:
    entry = victim / ".git" / "worktrees" / "victims-tree"
    (entry / "gitdir").write_text("../../../../victims-tree/.git\n")
    (place / "victims-tree" / ".git").write_text(
        "gitdir: ../victim/.git/worktrees/victims-tree\n"
    )
    assert repository_of(str(place / "victims-tree")).root == str(victim)


def test_a_worktree_that_was_moved_by_git_stays_one(place: Path, victim: Path) -> None:
    git(victim, "worktree", "move", str(place / "victims-tree"), str(place / "moved"))
    assert project_of(str(place / "moved")) == project_of(str(victim))


def test_a_worktree_that_was_moved_by_hand_is_one_again_once_git_repaired_it(
    place: Path, victim: Path
) -> None:
    (place / "victims-tree").rename(place / "moved")
    assert project_of(str(place / "moved")).startswith("moved-")
    git(victim, "worktree", "repair", str(place / "moved"))
    assert project_of(str(place / "moved")) == project_of(str(victim))


def test_a_submodule_and_its_worktree_are_a_project_of_their_own(place: Path) -> None:
    part = repository(place / "part")
    shop = repository(place / "shop")
    git(shop, "submodule", "add", "-q", str(part), "lib/part")
    inner = shop / "lib" / "part"
    git(inner, "worktree", "add", "-q", "-b", "tree", str(place / "tree"))
    assert repository_of(str(inner)) == (
        str(inner),
        str(shop / ".git/modules/lib/part"),
    )
    assert repository_of(str(place / "tree")) == repository_of(str(inner))
    assert project_of(str(inner)) != project_of(str(shop))


def test_a_git_directory_that_lies_apart_counts_where_it_names_the_checkout(
    place: Path,
) -> None:
    shop = place / "shop"
    apart = place / "apart"
    shop.mkdir()
    git(shop, "init", "-q", f"--separate-git-dir={apart}")
    assert repository_of(str(shop)).root == str(shop)
    git(apart, "config", "core.worktree", str(shop))
    assert repository_of(str(shop)) == (str(shop), str(apart))


@pytest.mark.parametrize(
    "content", [b"", b"gitdir:", b"gitdir: \0/x", b"\xff\xfe", b"gitdir: x\n" * 9_000]
)
def test_a_git_file_that_says_nothing_marks_a_root_alone(
    place: Path, content: bytes
) -> None:
    (place / ".git").write_bytes(content)
    assert repository_of(checkout_root(str(place))) == (str(place), "")


def test_what_is_no_repository_gives_way_to_the_one_above(place: Path) -> None:
    shop = repository(place / "shop")
    (shop / "empty" / ".git").mkdir(parents=True)
    (shop / "piped").mkdir()
    os.mkfifo(shop / "piped" / ".git")
    (shop / "dangling").mkdir()
    (shop / "dangling" / ".git").symlink_to("nowhere")
    for name in ("empty", "piped", "dangling"):
        assert checkout_root(str(shop / name)) == str(shop), name


def test_a_pipe_in_the_place_of_a_pointer_holds_nobody_up(
    place: Path, victim: Path
) -> None:
    entry = victim / ".git" / "worktrees" / "victims-tree" / "gitdir"
    entry.unlink()
    os.mkfifo(entry)
    assert repository_of(str(place / "victims-tree")).git == ""


def test_a_copied_worktree_is_none(place: Path, victim: Path) -> None:
    shutil.copytree(place / "victims-tree", place / "copy")
    assert repository_of(str(place / "copy")) == (str(place / "copy"), "")


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        (r"C:\Users\me\shop", "shop"),
        (r"\\server\share\x", "x"),
        ("C:/Users/me/my shop/", "my-shop"),
        ("D:\\", "D"),
    ],
)
def test_a_folder_of_windows_is_a_project_named_by_its_last_part(
    folder: str, name: str
) -> None:
    assert project_of(folder).rpartition("-")[0] == name
    assert project_of("c:/Users/me/shop") == project_of("C:\\Users\\me\\shop\\")
