"""A project keeps its id wherever its folder goes: moved, copied, made again, merged;
in every process at once.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import NOW, Run, observation
from faults import quick_context
from test_project_layouts import git, repository

from theorex_lab import FixedClock, InvalidInput, Lab
from theorex_lab.app import hook
from theorex_lab.app.cli.projects import note_roots
from theorex_lab.core.project import checkout_root, project_of, repository_of
from theorex_lab.journal import places
from theorex_lab.journal.identity import project_in
from theorex_lab.journal.places import CACHE_FILE


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path.resolve()


@pytest.fixture
def lab(place: Path) -> Iterator[Lab]:
    with Lab(place / "home", clock=FixedClock(NOW)) as lab:
        yield lab


def bound(lab: Lab, folder: Path) -> str:
    """The project of a folder to one who writes."""
    return project_in(lab.journal, repository_of(checkout_root(str(folder))), bind=True)


def seen(lab: Lab, folder: Path) -> str:
    """The project of a folder to one who reads."""
    return project_in(
        lab.journal, repository_of(checkout_root(str(folder))), bind=False
    )


def say(home: Path, name: str, folder: Path, prompt: str = "") -> None:
    event = {
        "hook_event_name": name,
        "session_id": "s",
        "cwd": str(folder),
        "prompt": prompt,
    }
    assert hook.take(json.dumps(event).encode(), str(home)) == ""


def test_a_repository_that_was_moved_is_the_same_project(lab: Lab, place: Path) -> None:
    shop = repository(place / "shop")
    project = bound(lab, shop)
    assert project.startswith("shop-")
    assert project != project_of(str(shop))
    shop.rename(place / "store")
    assert seen(lab, place / "store") == project
    assert bound(lab, place / "store") == project
    (place / "store").rename(place / "third")
    assert bound(lab, place / "third") == project
    (place / "third").rename(shop)
    assert bound(lab, shop) == project
    [row] = lab.projects()
    assert row["project"] == project
    assert set(row["paths"]) == {
        str(place / name) for name in ("shop", "store", "third")
    }


@pytest.mark.parametrize("first", ["old path", "new path"])
def test_a_repository_made_at_the_old_path_is_another_project(
    lab: Lab, place: Path, first: str
) -> None:
    shop = repository(place / "shop")
    project = bound(lab, shop)
    shop.rename(place / "store")
    repository(place / "shop")
    folders = [shop, place / "store"]
    names = {
        str(each): bound(lab, each)
        for each in (folders if first == "old path" else folders[::-1])
    }
    assert names[str(place / "store")] == project
    assert names[str(shop)] != project
    assert bound(lab, shop) == names[str(shop)]


def test_a_copied_repository_is_another_project(lab: Lab, place: Path) -> None:
    shop = repository(place / "shop")
    project = bound(lab, shop)
    shutil.copytree(shop, place / "copy", symlinks=True)
    assert bound(lab, place / "copy") != project
    shutil.copytree(shop, place / "restored", symlinks=True)
    shutil.rmtree(shop)
    assert bound(lab, place / "restored") != project


def test_a_repository_that_got_the_number_of_one_that_is_gone_is_another(
    lab: Lab, place: Path
) -> None:
    shop = repository(place / "shop")
    project = bound(lab, shop)
    shop.rename(place / "other")
    once = place / "other" / ".git" / "description"
    os.utime(once, ns=(1, 1))  # made at another time
    assert bound(lab, place / "other") != project


def test_a_folder_that_becomes_a_repository_stays_the_same_project(
    lab: Lab, place: Path
) -> None:
    (place / "notes").mkdir()
    before = bound(lab, place / "notes")
    assert before == project_of(str(place / "notes"))
    lab.journal.append([_written(before)])
    git(place / "notes", "init", "-q")
    assert seen(lab, place / "notes") == before
    assert bound(lab, place / "notes") == before
    shutil.rmtree(place / "notes" / ".git")
    git(place / "notes", "init", "-q")
    assert bound(lab, place / "notes") == before


def _written(project: str, text: str = "The lamp is red.") -> object:
    event = observation(text, labels=["lamp"])
    return event._replace(body={**event.body, "project": project})


def test_what_an_older_release_remembered_of_a_folder_is_adopted(
    lab: Lab, place: Path
) -> None:
    shop = repository(place / "shop")
    old = project_of(str(shop))
    lab.journal.append([_written(old)])
    assert seen(lab, shop) == old
    assert bound(lab, shop) == old
    shop.rename(place / "store")
    assert bound(lab, place / "store") == old
    assert bound(lab, repository(place / "shop")) != old


def test_a_folder_of_another_machine_is_bound_to_what_appears_there_later(
    lab: Lab, place: Path
) -> None:
    shop = place / "shop"
    old = bound(lab, shop)
    assert old == project_of(str(shop))
    lab.journal.append([_written(old)])
    assert bound(lab, repository(shop)) == old


def test_every_worktree_is_of_one_project(lab: Lab, place: Path) -> None:
    shop = repository(place / "shop")
    git(shop, "worktree", "add", "-q", "-b", "one", str(place / "one"))
    assert bound(lab, place / "one") == bound(lab, shop)


def test_who_reads_in_a_new_folder_writes_nothing(lab: Lab, place: Path) -> None:
    assert seen(lab, repository(place / "shop")) == ""
    assert lab.journal.last_seq() == 0
    assert not (place / "home" / CACHE_FILE).exists()


def test_a_known_folder_needs_the_homes_file_alone(lab: Lab, place: Path) -> None:
    shop = repository(place / "shop")
    project = bound(lab, shop)
    found, known = places.known_project(str(lab.folder), repository_of(str(shop)))
    assert (found, lab.journal.holds_places(known)) == (project, True)


@pytest.mark.parametrize(
    "content",
    [
        None,
        b"",
        b"{",
        b"[]",
        b'{"layout": 1}',
        b'{"layout": 1, "seq": 1, "event": "x", "bindings": [], "merged": {}}',
    ],
)
def test_a_file_that_is_gone_torn_or_of_another_journal_is_made_again(
    lab: Lab, place: Path, content: bytes | None
) -> None:
    shop = repository(place / "shop")
    project = bound(lab, shop)
    file = place / "home" / CACHE_FILE
    file.unlink() if content is None else file.write_bytes(content)
    say(lab.folder, "UserPromptSubmit", shop, "What now?")
    [prompt] = lab.journal.tail(0, kinds=["prompt"])
    assert prompt.body["project"] == project
    assert places.known_project(str(lab.folder), repository_of(str(shop)))[0] == project


def test_a_process_that_died_before_the_file_was_written_leaves_one_id(
    lab: Lab, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = repository(place / "shop")

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(places, "write_cache", die)
        with pytest.raises(KeyboardInterrupt):
            bound(lab, shop)
    project = seen(lab, shop)
    assert project
    say(lab.folder, "UserPromptSubmit", shop, "What now?")
    assert [event.body["project"] for event in lab.journal.tail(0)] == [
        project,
        project,
    ]


def _first_event(home: str, folder: str, barrier: object) -> None:
    barrier.wait()  # type: ignore[attr-defined]
    event = {
        "hook_event_name": "UserPromptSubmit",
        "cwd": folder,
        "prompt": "What now?",
    }
    hook.take(json.dumps(event).encode(), home)


def test_hooks_that_see_a_new_folder_at_once_give_it_one_id(place: Path) -> None:
    shop = repository(place / "shop")
    home = place / "home"
    context = quick_context()
    barrier = context.Barrier(8)
    arguments = (str(home), str(shop), barrier)
    processes = [context.Process(target=_first_event, args=arguments) for _ in range(8)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    with Lab(home) as lab:
        events = list(lab.journal.tail(0))
    assert len({event.body["project"] for event in events}) == 1
    kinds = sorted(event.kind for event in events)
    assert kinds.count("project_bound") == 1
    assert kinds.count("prompt") == 8


def test_the_rule_of_a_project_is_given_after_its_folder_was_moved(
    lab: Lab, place: Path
) -> None:
    shop = repository(place / "shop")
    say(
        lab.folder,
        "UserPromptSubmit",
        shop,
        "Always run the migrations with --dry-run first.",
    )
    shop.rename(place / "store")
    with Lab(
        lab.folder, project=seen(lab, place / "store")
    ) as store:  # the hook's clock
        assert "migrations with --dry-run" in store.briefing().text


def test_a_forged_git_file_reads_and_writes_nothing_of_another_project(
    lab: Lab, place: Path
) -> None:
    victim = repository(place / "victim")
    evil = place / "evil"
    evil.mkdir()
    say(lab.folder, "UserPromptSubmit", victim, "Always keep VICTIMWORD in mind.")
    (evil / ".git").write_text(f"gitdir: {victim}/.git/worktrees/none\n")
    say(lab.folder, "UserPromptSubmit", evil, "Always say EVILWORD.")
    own = {
        event.body["text"]: event.body["project"]
        for event in lab.journal.tail(0, kinds=["prompt"])
    }
    first, second = own.values()
    assert first.startswith("victim-")
    assert second.startswith("evil-")


def test_a_merged_project_is_found_as_the_other_everywhere(
    lab: Lab, place: Path
) -> None:
    old = bound(lab, repository(place / "old"))
    new = bound(lab, repository(place / "new"))
    lab.journal.append([_written(old), _written(new, "The door is blue.")])
    before = lab.in_project(new)
    assert [hit.text for hit in before.search("lamp", kinds=["observation"])] == []
    for name in (old, new):
        lab.in_project(name).save_briefing()
    assert lab.verify().ok
    done = lab.merge_projects(old, new)
    assert done == {"project": new, "from": old, "events": 1}
    assert [
        hit.text for hit in lab.in_project(new).search("lamp", kinds=["observation"])
    ] == ["The lamp is red."]
    assert [
        hit.text for hit in lab.in_project(old).search("door", kinds=["observation"])
    ] == ["The door is blue."]
    assert lab.verify().ok
    assert not (lab.folder / "contexts" / f"{old}.md").exists()
    assert "lamp" in (lab.folder / "contexts" / f"{new}.md").read_text()
    assert bound(lab, place / "old") == bound(lab, place / "new") == new
    assert [row["project"] for row in lab.projects()] == [new]
    assert lab.projects()[0]["merged"] == [old]
    with Lab(lab.folder, clock=lab.clock) as again:
        assert again.verify().ok
        assert (
            len(list(again.journal.tail(0, kinds=["observation"], projects=[new]))) == 2
        )
    assert len(lab.erase(project=new, match="is")) >= 2
    assert len(lab.search("lamp", kinds=["observation"])) == 0


def test_merges_follow_one_another_and_refuse_what_makes_no_sense(
    lab: Lab, place: Path
) -> None:
    a, b, c = (bound(lab, repository(place / name)) for name in "abc")
    lab.merge_projects(a, b)
    with pytest.raises(InvalidInput, match="the same project by now"):
        lab.merge_projects(b, a)
    with pytest.raises(InvalidInput, match="the same project by now"):
        lab.merge_projects("c", "c")
    with pytest.raises(InvalidInput, match="was merged into"):
        lab.merge_projects(a, c)
    lab.merge_projects(b, "c")
    assert bound(lab, place / "a") == c
    with pytest.raises(InvalidInput, match="nearest that is known"):
        lab.merge_projects("nobody", c)
    assert lab.projects()[0]["merged"] == [a, b]


def test_the_file_holds_no_path_of_what_was_erased(lab: Lab, place: Path) -> None:
    bound(lab, repository(place / "hushhush"))
    lab.erase(match="hushhush")
    file = lab.folder / CACHE_FILE
    assert not file.exists() or b"hushhush" not in file.read_bytes()


def test_a_repository_that_was_restored_elsewhere_is_only_suggested(
    lab: Lab, place: Path, run: Run
) -> None:
    shop = repository(place / "shop")
    old = bound(lab, shop)
    with Lab(lab.folder, clock=lab.clock, project=old) as here:
        note_roots(here)
        note_roots(here)
    shutil.copytree(shop, place / "restored", symlinks=True)
    shutil.rmtree(shop)
    new = bound(lab, place / "restored")
    assert new != old
    with Lab(lab.folder, clock=lab.clock, project=new) as here:
        note_roots(here)
    command = f"theorex projects merge {old} {new}"
    assert run("projects", "--json").json["hints"] == [
        {"old": old, "new": new, "do": command}
    ]
    assert command in run("projects").out
    assert run(*command.split()[1:], "--json").json == {
        "project": new,
        "from": old,
        "events": 0,
    }
    assert run("projects", "--json").json["hints"] == []
    assert len(list(lab.journal.tail(0, kinds=["project_roots"]))) == 2
