"""An Engram folder is checked and mended where it lies, brought to version two, made."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from test_engram_folders import FACT, OLD, engram_files, files_in, opened, record, tree

from theorex_lab import InvalidInput
from theorex_lab.core.errors import StorageError
from theorex_lab.designs.facts.folder_check import (
    check_folder,
    init_folder,
    mend_home,
    migrate_folder,
)

BROKEN = [
    record(1, "Lives in Bath", status="superseded", supersededBy="ann-009"),
    record(2, "Sure", confidence=1.5, category="Mood"),
    record(2, "Twice", accessCount=-1),
    record(4, "A", supersededBy="ann-005"),
    record(5, "B", supersededBy="ann-004"),
    {"id": "ann-006", "fact": "Likes tea", "category": "preference"},
    record(7, ""),
    3,
    {**FACT, "id": "no number"},
]


def test_validate_tells_what_is_wrong_and_writes_nothing(tmp_path: Path) -> None:
    files = {
        "life/people/ann/items.json": BROKEN,
        "life/people/bob/items.json": "{",
        "ops/observations/obs-0001.json": {"id": "obs-0001", "status": "open"},
        "ops/observations/obs-0002.json": {"id": "obs-0002", "observation": "Slow"},
        "memory/domains/digest/status.md": "Well",
        "memory/domains/Bad Name/status.md": "Well",
    }
    folder = tree(tmp_path, files)
    before = files_in(folder)
    check = check_folder(folder)
    told = "\n".join(check.problems)
    for place in (
        "it is a bare list",
        "fact 2: confidence is 1.5; allowed is a number from 0 to 1",
        "fact 2: category is 'Mood'",
        "the id ann-002 is there twice",
        "fact 3: accessCount is -1",
        "fact 6: it lacks confidence, abstractionLevel, tags",
        "fact 7: fact is ''",
        "fact 8: it is no object",
        "fact 9: id is 'no number'",
        "ann-001: supersededBy is 'ann-009'",
        "ann-004 → ann-005 → ann-004 is a circle",
        "bob/items.json: not JSON",
        "obs-0001.json: status is 'open'",
        "index.json: it lacks obs-0001, obs-0002",
        "memory/domains/digest/decisions.md is missing",
        "memory/domains/Bad Name: got the domain",
        "life/projects/ is missing",
    ):
        assert place in told
    assert (files_in(folder), check.written, check.mended) == (before, [], [])


def test_fix_mends_what_can_be_and_tells_what_cannot(tmp_path: Path) -> None:
    content = b"\xef\xbb\xbf" + json.dumps(BROKEN).encode()
    files = {
        "life/people/ann/items.json": content,
        "ops/observations/obs-0002.json": {"id": "obs-0002", "observation": "Slow"},
        "memory/domains/digest/status.md": "Well",
    }
    folder = tree(tmp_path, files)
    check = check_folder(folder, fix=True)
    again = check_folder(folder)
    assert check.problems == again.problems
    assert len(check.problems) == 4
    document = json.loads((folder / "life/people/ann/items.json").read_text())
    facts = document["facts"]
    assert document["entityId"] == "people/ann"
    ids = [fact["id"] for fact in facts if isinstance(fact, dict)]
    assert ids == [
        "ann-001",
        "ann-002",
        "ann-003",
        "ann-004",
        "ann-005",
        "ann-006",
        "ann-007",
        "ann-008",
    ]
    assert (facts[1]["confidence"], facts[1]["category"]) == (1, "context")
    assert facts[5]["abstractionLevel"] == "pattern"
    assert (folder / "life/people/ann/items.json.before").read_bytes() == content
    index = json.loads((folder / "ops/observations/index.json").read_text())
    assert index == {"observations": ["obs-0002"], "lastId": 2}
    assert (folder / "memory/domains/digest/changelog.md").is_file()
    assert (folder / "memory/domains/digest/status.md").read_text() == "Well"
    # What is mended comes in.
    with opened(tmp_path / "home") as lab:
        lab.import_files(folder)
        assert len(lab.facts.list(active=None)) == 7


def test_of_a_file_that_was_cut_off_the_whole_facts_are_kept(tmp_path: Path) -> None:
    whole = json.dumps({"facts": [record(1, "Lives in Bath"), record(2, "Sings")]})
    folder = tree(tmp_path, {"life/people/ann/items.json": whole[:-40]})
    assert "not JSON" in check_folder(folder).problems[0]
    check = check_folder(folder, fix=True)
    assert "1 facts of it are whole" in "\n".join(check.mended)
    document = json.loads((folder / "life/people/ann/items.json").read_text())
    assert [fact["fact"] for fact in document["facts"]] == ["Lives in Bath"]
    before = folder / "life/people/ann/items.json.before"
    assert before.read_text() == whole[:-40]
    assert check_folder(folder).problems == []


def test_a_sound_folder_has_no_problem_and_stays_as_it_is(tmp_path: Path) -> None:
    files = engram_files()
    del files["life/projects/engram/items.json"]
    folder = tree(tmp_path, files)
    for name in ("life/projects", "life/archives"):
        (folder / name).mkdir(exist_ok=True)
    for fix in (False, True):
        check = check_folder(folder, fix=fix)
        assert (check.problems, check.mended, check.written) == ([], [], [])
    assert files_in(folder) == files


def test_migrate_brings_bare_and_wrapped_files_up_and_changes_nothing_else(
    tmp_path: Path,
) -> None:
    newer = {
        "schemaVersion": 2,
        "facts": [{**record(1, "Has a cat"), "supersededBy": None}],
    }
    bob = {"facts": [{**OLD, "id": "bob-001", "category": "status", "mood": 3}]}
    files = {
        "life/people/ann/items.json": [OLD],
        "life/people/bob/items.json": bob,
        "life/people/cay/items.json": newer,
    }
    folder = tree(tmp_path, files)
    assert migrate_folder(folder).written == [
        "life/people/ann/items.json",
        "life/people/bob/items.json",
    ]
    first = json.loads((folder / "life/people/ann/items.json").read_text())
    added = {"confidence": 0.7, "abstractionLevel": "pattern", "tags": []}
    assert first["facts"] == [{**OLD, **added}]
    second = json.loads((folder / "life/people/bob/items.json").read_text())
    assert second["facts"][0]["abstractionLevel"] == "episode"
    assert second["facts"][0]["mood"] == 3
    before = json.loads((folder / "life/people/ann/items.json.before").read_text())
    assert before == [OLD]
    assert migrate_folder(folder).written == []


def test_a_folder_without_facts_is_refused_and_a_full_disk_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InvalidInput, match="holds no life/"):
        check_folder(tmp_path)
    folder = tree(tmp_path, {"life/people/ann/items.json": [OLD]})

    def full(*_given: Any, **_named: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match="No space left"):
        migrate_folder(folder)
    assert json.loads((folder / "life/people/ann/items.json").read_text()) == [OLD]


def test_fix_writes_nothing_through_a_link_out_of_the_folder(tmp_path: Path) -> None:
    folder = tree(tmp_path / "a", {"life/people/ann/items.json": [FACT]})
    outside = tmp_path / "outside"
    outside.mkdir()
    (folder / "memory").symlink_to(outside)
    with pytest.raises(InvalidInput, match="a link leads out of the folder"):
        check_folder(folder, fix=True)
    assert list(outside.iterdir()) == []


def test_init_makes_what_is_not_there_and_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("mine")
    result = init_folder(tmp_path)
    assert ("SOUL.md" in result["made"], result["kept"]) == (True, ["MEMORY.md"])
    assert (tmp_path / "MEMORY.md").read_text() == "mine"
    assert (tmp_path / "references" / "HB-EXTRACT.md").is_file()
    assert init_folder(tmp_path)["made"] == []
    assert check_folder(tmp_path).problems == []


def test_a_circle_in_the_memory_is_opened(tmp_path: Path) -> None:
    with opened(tmp_path) as lab:
        lab.facts.write("people/ann", "Lives in Bath")
        lab.clock.advance(seconds=9)  # type: ignore[attr-defined]
        lab.facts.write("people/ann", "Ann moved to York", supersedes=["ann-001"])
        body = {"facts": ["ann-002"], "by": "ann-001", "why": "", "undo": False}
        lab.facts.append("fact_superseded", body)
        assert lab.facts.list() == []
        check = mend_home(lab.home)
        assert check.problems == []
        assert check.mended == ["ann-002 holds again: its chain was a circle"]
        assert [fact.id for fact in lab.facts.list()] == ["ann-002"]
        assert mend_home(lab.home).mended == []


def test_the_documents_commands(run: Run, tmp_path: Path) -> None:
    folder = str(tree(tmp_path / "a", {"life/people/ann/items.json": [OLD]}))
    wrong = run("facts", "validate", folder, "--json")
    assert (wrong.code, "it is a bare list" in wrong.json["problems"][0]) == (1, True)
    migrated = run("facts", "migrate-v2", folder, "--json")
    assert migrated.json["written"] == ["life/people/ann/items.json"]
    fixed = run("facts", "validate", folder, "--fix")
    assert (fixed.code, "no problem is left" in fixed.out) == (0, True)
    assert run("facts", "validate", folder).out == "1 facts, and no problem is left\n"
    assert run("import", folder, "--json").json["imported"] == 1
    assert run("facts", "validate", "--json").json["facts"] == 1
    assert run("facts", "validate", "--fix").code == 0
    made = run("facts", "init", str(tmp_path / "new"), "--json").json
    assert "life/people" in made["made"]
    nothing = run("facts", "migrate-v2", str(tmp_path / "none"))
    assert (nothing.code, "holds no life/" in nothing.err) == (1, True)
