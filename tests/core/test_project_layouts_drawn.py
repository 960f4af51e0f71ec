"""Whatever is done to repositories, folders share a project exactly where git itself
says that they share a repository.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from test_project_layouts import git, repository

from theorex_lab import Lab
from theorex_lab.core.project import checkout_root, repository_of
from theorex_lab.journal.identity import project_in

STEPS = (
    "repository",
    "worktree",
    "bare hub",
    "move",
    "copy",
    "forge file",
    "forge link",
    "empty",
)


def _git_directory(folder: Path) -> str:
    """The git directory that a folder shares, as git itself tells it."""
    command = ["git", "-C", str(folder), "rev-parse", "--git-common-dir"]
    told = subprocess.run(
        command, check=True, capture_output=True, text=True
    ).stdout.strip()
    return os.path.realpath(folder / told)


class Model:
    """Folders with the project that each must have, by names of our own."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.projects: dict[Path, str] = {}
        self.mains: list[Path] = []
        self.count = 0

    def new_folder(self) -> Path:
        self.count += 1
        return self.place / f"f{self.count}"

    def take(self, step: str, number: int) -> None:
        """Do one step, to the repository of that number where it needs one."""
        main = self.mains[number % len(self.mains)] if self.mains else None
        folder = self.new_folder()
        if step == "repository" or main is None:
            self.own(repository(folder))
            self.mains.append(folder)
        elif step == "worktree":
            git(main, "worktree", "add", "-q", "-b", folder.name, str(folder))
            self.projects[folder] = self.projects[main]
        elif step == "bare hub":
            folder.mkdir()
            git(main, "clone", "-q", "--bare", str(main), str(folder / ".bare"))
            (folder / ".git").write_text("gitdir: ./.bare\n")
            self.own(folder)
            git(folder, "worktree", "add", "-q", "-b", folder.name, str(folder / "one"))
            self.projects[folder / "one"] = self.projects[folder]
        elif step == "move":
            main.rename(folder)
            git(folder, "worktree", "repair", *map(str, self.trees_of(main)))
            self.projects[folder] = self.projects.pop(main)
            self.mains[self.mains.index(main)] = folder
        elif step == "copy":
            shutil.copytree(main, folder, symlinks=True)
            shutil.rmtree(folder / ".git" / "worktrees", ignore_errors=True)
            self.own(folder)
        else:
            folder.mkdir()
            if step == "forge file":
                (folder / ".git").write_text(f"gitdir: {main}/.git\n")
            elif step == "forge link":
                (folder / ".git").symlink_to(main / ".git")
            self.own(folder)

    def own(self, folder: Path) -> None:
        self.projects[folder] = folder.name

    def trees_of(self, main: Path) -> list[Path]:
        project = self.projects[main]
        return [
            each
            for each, name in self.projects.items()
            if name == project and each != main
        ]


@settings(max_examples=12)
@given(
    st.lists(
        st.tuples(st.sampled_from(STEPS), st.integers(0, 3)), min_size=2, max_size=6
    )
)
def test_folders_share_a_project_exactly_where_they_share_a_repository(
    steps: list[tuple[str, int]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder).resolve()
        with Lab(place / "home") as lab:
            model = Model(place)
            ids: dict[str, str] = {}
            for step, number in steps:
                model.take(step, number)
                for each, name in model.projects.items():
                    at = repository_of(checkout_root(str(each)))
                    project = project_in(lab.journal, at, bind=True)
                    assert ids.setdefault(name, project) == project, (each, name)
                    if at.git:
                        assert at.git == _git_directory(each)
            assert len(set(ids.values())) == len(ids)
