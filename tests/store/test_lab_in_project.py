"""A lab is opened for a project by what people call it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from theorex_lab import InvalidInput, Lab
from theorex_lab.app.cli import theorex
from theorex_lab.core.clock import FixedClock
from theorex_lab.core.project import checkout_root, repository_of
from theorex_lab.journal.identity import project_in

TRANSCRIPT = (
    '{"hook_event_name": "UserPromptSubmit", "session_id": "one",'
    ' "prompt": "Count the tills", "timestamp": "2026-03-01T09:00:00+00:00"}\n'
)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    clock = FixedClock.at("2026-03-02T09:00:00+00:00")
    with Lab(tmp_path / "home", clock=clock) as opened:
        yield opened


def checkout(folder: Path) -> Path:
    """Make a folder look like a git repository."""
    git = folder / ".git"
    (git / "objects").mkdir(parents=True)
    (git / "refs").mkdir()
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "description").write_text("a repository\n")
    return folder


def bound(lab: Lab, folder: Path) -> str:
    """Give a folder its id, as the hook does."""
    repository = repository_of(checkout_root(str(folder)))
    return project_in(lab.journal, repository, bind=True)


def test_a_project_is_opened_by_its_id_its_name_and_its_folders(
    lab: Lab, tmp_path: Path
) -> None:
    shop = checkout(tmp_path / "shop")
    inside = shop / "src"
    inside.mkdir()
    project = bound(lab, shop)
    assert project != "shop"
    for name in (project, "shop", str(shop), shop, inside, f"{shop}/"):
        assert lab.in_project(name).home.project == project
    assert lab.in_project("").home.project == ""


def test_an_unknown_project_is_refused_with_the_nearest(
    lab: Lab, tmp_path: Path
) -> None:
    with pytest.raises(
        InvalidInput, match="got the project 'shop'; no project is known"
    ):
        lab.in_project("shop")
    bound(lab, checkout(tmp_path / "shop"))
    with pytest.raises(
        InvalidInput,
        match=r"got the project 'shap'; the nearest that is known is 'shop': give that,"
        r" or give '' for all, or new=True to begin one",
    ):
        lab.in_project("shap")
    outside = checkout(tmp_path / "mill")
    with pytest.raises(InvalidInput, match=r"mill', where nothing is recorded"):
        lab.in_project(outside)


def test_a_name_that_several_projects_have_is_refused_with_their_ids(
    lab: Lab, tmp_path: Path
) -> None:
    ids = [bound(lab, checkout(tmp_path / place / "shop")) for place in ("a", "b")]
    several = ", ".join(sorted(ids))
    with pytest.raises(InvalidInput, match=f"as which {several} are known"):
        lab.in_project("shop")
    assert lab.in_project(tmp_path / "b" / "shop").home.project == ids[1]


def test_a_project_that_was_merged_is_the_one_that_it_is_now(
    lab: Lab, tmp_path: Path
) -> None:
    old = bound(lab, checkout(tmp_path / "kiosk"))
    new = bound(lab, checkout(tmp_path / "shop"))
    lab.merge_projects("kiosk", "shop")
    assert lab.in_project(old).home.project == new
    assert lab.in_project("shop").home.project == new


def test_a_new_project_is_begun_only_when_asked_for(lab: Lab, tmp_path: Path) -> None:
    shop = lab.in_project("shop", new=True)
    assert shop.home.project == "shop"
    shop.agent("main").write("The till rounds prices up")
    assert lab.in_project("shop").home.project == "shop"
    folder = checkout(tmp_path / "mill")
    mill = lab.in_project(folder, new=True).home.project
    assert mill.startswith("mill-")
    assert lab.in_project(folder).home.project == mill
    assert lab.in_project("mill", new=True).home.project == mill
    with pytest.raises(InvalidInput, match="allowed"):
        lab.in_project("a b", new=True)


def test_transcripts_without_a_folder_are_of_the_project_that_is_named(
    lab: Lab, tmp_path: Path
) -> None:
    project = bound(lab, checkout(tmp_path / "shop"))
    file = tmp_path / "one.jsonl"
    file.write_text(TRANSCRIPT)
    report = lab.import_transcripts(file, project="shop", trusted=True, progress=False)
    assert (report.events, report.trusted) == (1, True)
    (prompt,) = lab.journal.tail(0, kinds=["prompt"])
    assert prompt.body["project"] == project
    assert prompt.body["source"] == "user"
    other = tmp_path / "two.jsonl"
    other.write_text(TRANSCRIPT.replace('"one"', '"two"'))
    lab.import_transcripts(other, project="bakery", progress=False)
    *_, prompt = lab.journal.tail(0, kinds=["prompt"])
    assert (prompt.body["project"], prompt.body["source"]) == ("bakery", "import")


def test_the_command_takes_the_same_names(lab: Lab, tmp_path: Path) -> None:
    shop = checkout(tmp_path / "shop")
    lab.in_project(shop, new=True).agent("main").write("The till rounds prices up")
    home = ["--home", str(lab.folder)]
    for name in ("shop", str(shop)):
        asked = ["search", "till rounds", "--project", name]
        assert "rounds prices up" in CliRunner().invoke(theorex, [*home, *asked]).output
    refused = CliRunner().invoke(
        theorex, [*home, "search", "till", "--project", "shap"]
    )
    assert isinstance(refused.exception, InvalidInput)
    assert "the nearest that is known is 'shop'" in str(refused.exception)
