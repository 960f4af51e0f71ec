"""Where a project has nothing, a person is told which others have something."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import NOW, Run

from theorex_lab import FixedClock, Lab
from theorex_lab.memory.contract import Home
from theorex_lab.memory.projects import note_of_other_projects

WRITTEN = "The parser keeps empty cells"


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path / "home", clock=FixedClock(NOW)) as opened:
        mill = opened.in_project("mill", new=True)
        for text in (WRITTEN, "The mill grinds oats"):
            mill.agent("main").write(text)
        yield opened


def test_a_search_names_the_projects_that_have_something(lab: Lab) -> None:
    shop = lab.in_project("shop", new=True)
    [note] = shop.search("parser").notes
    assert note == (
        "nothing is remembered of this project, but of others: mill (2 events);"
        " choose one with --project NAME or lab.in_project(NAME), or all with"
        " --all-projects"
    )
    assert shop.search("parser", all_projects=True)[0].text == WRITTEN


def test_a_project_with_memory_is_not_sent_elsewhere(lab: Lab) -> None:
    lab.in_project("shop", new=True).agent("main").write("The shop opens at nine")
    hits = lab.in_project("shop").search("zeppelin", vectors="never")
    assert (len(hits), hits.notes) == (0, ())
    assert note_of_other_projects(lab.home) == ""


def test_only_a_few_projects_are_named(lab: Lab) -> None:
    for number in range(7):
        lab.in_project(f"site{number}", new=True).agent("main").write("A wall is white")
    note = note_of_other_projects(lab.in_project("shop", new=True).home)
    assert note.count("event") == 5
    assert "3 more, see `theorex projects`" in note


def test_a_project_that_is_closed_to_others_is_not_named(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = lab.in_project("shop", new=True)
    assert "mill" in note_of_other_projects(shop.home)
    closed = property(lambda _home: frozenset({"mill"}))
    monkeypatch.setattr(Home, "closed_projects", closed)
    assert note_of_other_projects(shop.home) == ""


def test_commands_name_them_too(
    lab: Lab, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for arguments in (["search", "parser"], ["briefing"]):
        ended = run(*arguments)
        assert ended.code == 0
        assert "mill (2 events)" in ended.out + ended.err
    assert WRITTEN in run("search", "parser", "--project", "mill").out
