"""The project of a folder: its git root, a worktree's main repository, else the folder
itself.
"""

import subprocess
from pathlib import Path

import pytest

from theorex_lab import InvalidInput
from theorex_lab.core.project import (
    check_project,
    checkout_root,
    project_of,
    repository_of,
)


def git(folder: Path, *words: str) -> None:
    named = [
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@example.org",
        "-c",
        "commit.gpgsign=false",
    ]
    subprocess.run(
        ["git", "-C", str(folder), *named, *words], check=True, capture_output=True
    )


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = (tmp_path / "shop").resolve()
    (folder / "src" / "deep").mkdir(parents=True)
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "start")
    return folder


def test_a_folder_below_a_git_root_belongs_to_it(shop: Path) -> None:
    assert repository_of(checkout_root(str(shop / "src" / "deep"))).root == str(shop)
    assert project_of(str(shop / "src" / "gone")) == project_of(str(shop))
    assert project_of(str(shop)).startswith("shop-")


def test_a_worktree_counts_as_its_main_repository(shop: Path, tmp_path: Path) -> None:
    git(shop, "worktree", "add", "-q", str(tmp_path / "elsewhere"))
    assert project_of(str(tmp_path / "elsewhere")) == project_of(str(shop))


def test_a_submodule_is_a_project_of_its_own(shop: Path) -> None:
    part = shop / "part"
    part.mkdir()
    (part / ".git").write_text("gitdir: ../.git/modules/part\n")
    assert repository_of(checkout_root(str(part))).root == str(part)


@pytest.mark.parametrize(
    "content", [b"", b"gitdir:", b"gitdir: \0/.git/worktrees/x", b"\xff\xfe"]
)
def test_a_broken_git_file_marks_a_root_all_the_same(
    tmp_path: Path, content: bytes
) -> None:
    (tmp_path / ".git").write_bytes(content)
    assert repository_of(checkout_root(str(tmp_path))).root == str(tmp_path.resolve())


def test_a_folder_without_git_is_its_own_project_and_a_link_leads_to_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "a" / "shop").mkdir(parents=True)
    (tmp_path / "b" / "shop").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "a" / "shop")
    first = project_of(str(tmp_path / "a" / "shop"))
    second = project_of(str(tmp_path / "b" / "shop"))
    assert first != second
    assert first.rpartition("-")[0] == second.rpartition("-")[0] == "shop"
    assert project_of(str(tmp_path / "link")) == first


@pytest.mark.parametrize("folder", [None, 3, "", "shop", "./shop", "/a\0b"])
def test_what_is_no_absolute_path_has_no_project(folder: object) -> None:
    assert project_of(folder) == ""


def test_any_folder_name_gives_a_project_that_the_rule_allows(tmp_path: Path) -> None:
    for name in ("Größe der Welt", "-", "…", "x" * 200, ".hidden"):
        assert check_project(project_of(str(tmp_path / name))) != ""


@pytest.mark.parametrize("project", ["a b", "x" * 65, "ä", None])
def test_a_project_outside_the_rule_is_refused(project: object) -> None:
    with pytest.raises(InvalidInput, match="allowed are up to 64"):
        check_project(project)  # type: ignore[arg-type]
