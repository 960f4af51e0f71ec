"""The folders life/, memory/ and ops/, as the toolkit writes them; and the chains of
facts, checked.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW, Run

from theorex_lab import FixedClock, InvalidInput, Lab, ObservationEntry
from theorex_lab.designs.facts import notes
from theorex_lab.designs.facts.facts import check_home


def opened(folder: Path, **given: Any) -> Lab:
    lab = Lab(folder, clock=FixedClock(NOW), **given)
    _ = lab.facts
    return lab


def files_in(folder: Path) -> dict[str, str]:
    """The files of the facts design below a folder, without those of other layouts."""
    found = {
        file.relative_to(folder).as_posix(): file
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }
    kept = ("life/", "memory/", "ops/", "MEMORY", "SOUL")
    return {
        name: file.read_text(encoding="utf-8")
        for name, file in found.items()
        if name.startswith(kept)
    }


def lived(folder: Path) -> Lab:
    """A home in which all of it was used."""
    lab = opened(folder)
    for text in ("Lives in Bath", "Lives in York", "Prefers tea"):
        lab.facts.write("people/ann", text, source="user", tags=["home"])
        lab.clock.advance(seconds=90)  # type: ignore[attr-defined]
    lab.facts.access("ann-002")
    lab.facts.access("ann-002")
    lab.facts.write("projects/shop", "Opens at nine", valid_from="2026-01-01T00:00:00Z")
    lab.facts.add_channel("telegram", "77")
    lab.write_all(
        [
            ObservationEntry(
                "We decided to use uv", "main", observation_type="decision"
            ),
            ObservationEntry("The cat sleeps", "sage"),
            ObservationEntry("Only here", "main", project="telegram-77"),
        ]
    )
    notes.observe(lab.home, "The till is slow")
    notes.observe(lab.home, "Reviews were quick", "quality")
    notes.review(lab.home, "obs-0002", "archive")
    notes.note_tension(lab.home, "ann-002", "ann-003")
    notes.add_line(lab.home, "MEMORY", "Ann owns the shop")
    notes.add_line(lab.home, "SOUL", "Be brief")
    return lab


def test_the_tree_has_its_layout_and_what_is_known_stands_in_it(tmp_path: Path) -> None:
    with lived(tmp_path / "one") as lab:
        lab.export_files(tmp_path / "a")
        first = files_in(tmp_path / "a")
        known = [fact.to_dict() for fact in lab.facts.list("people/ann", active=None)]
    assert sorted(first) == [
        "MEMORY.md",
        "SOUL.md",
        "life/people/ann/items.json",
        "life/people/ann/summary.md",
        "life/projects/shop/items.json",
        "life/projects/shop/summary.md",
        "memory/agent-main/main/2026-03-01.md",
        "memory/agent-main/telegram-77/2026-03-01.md",
        "ops/observations/index.json",
        "ops/observations/obs-0001.json",
        "ops/observations/obs-0002.json",
        "ops/tensions/index.json",
        "ops/tensions/tension-0001.json",
    ]
    document = json.loads(first["life/people/ann/items.json"])
    assert document == {"schemaVersion": 2, "entity": "people/ann", "facts": known}
    assert [fact["accessCount"] for fact in document["facts"]] == [0, 2, 0]
    assert (
        first["memory/agent-main/main/2026-03-01.md"]
        == "# 2026-03-01\n\n## Events\n\n- 09:04 sage: The cat sleeps\n\n##"
        " Decisions\n\n- 09:04 main: We decided to use uv\n"
    )


def test_nothing_is_written_where_the_design_was_never_used(tmp_path: Path) -> None:
    with Lab(tmp_path / "home", clock=FixedClock(NOW)) as lab:
        lab.agent("main").write("Lunch is at noon")
        lab.export_files(tmp_path / "a")
    assert files_in(tmp_path / "a") == {}


# Checking


def test_the_homes_own_chains_are_checked(tmp_path: Path) -> None:
    with lived(tmp_path / "home") as lab:
        assert check_home(lab.home).problems == []
        body = {"facts": ["ann-002"], "by": "ann-001", "why": "", "undo": False}
        lab.facts.append("fact_superseded", body)
        assert check_home(lab.home).problems == [
            "ann-001: the chain ann-001 → ann-002 → ann-001 is a circle"
        ]


def test_in_a_project_no_files_are_written_since_they_hold_what_is_of_all(
    tmp_path: Path,
) -> None:
    told = pytest.raises(
        InvalidInput, match="telegram-77; allowed is a lab without one"
    )
    with (
        lived(tmp_path / "home"),
        opened(tmp_path / "home", project="telegram-77") as chat,
        told,
    ):
        chat.export_files(tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_the_command_that_checks(run: Run) -> None:
    run("facts", "write", "--entity", "people/ann", "--fact", "Lives in Bath")
    checked = run("facts", "validate", "--json").json
    assert (checked["facts"], checked["problems"]) == (1, [])
