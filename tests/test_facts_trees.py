"""The folders life/, memory/ and ops/: written, taken in again, checked, mended, brought up to date, made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW, Run
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from theorex_lab import Entry, Lab
from theorex_lab.clock import FixedClock
from theorex_lab.designs.facts import CATEGORIES, notes
from theorex_lab.designs.facts.tree_read import check_home
from theorex_lab.errors import InvalidInput

OLD = {"id": "ann-001", "fact": "Lives in Bath", "category": "relationship", "timestamp": "2025-02-08"}


def opened(folder: Path, **given: Any) -> Lab:
    lab = Lab(folder, clock=FixedClock(NOW), **given)
    _ = lab.facts
    return lab


def files_in(folder: Path) -> dict[str, str]:
    """The files of the facts design below a folder, without those of other layouts."""
    found = {file.relative_to(folder).as_posix(): file for file in sorted(folder.rglob("*")) if file.is_file()}
    kept = ("life/", "memory/", "ops/", "MEMORY", "SOUL")
    return {name: file.read_text(encoding="utf-8") for name, file in found.items() if name.startswith(kept)}


def tree(folder: Path, files: dict[str, Any]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        data = content if isinstance(content, bytes | str) else json.dumps(content)
        (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    return folder


def record(number: int, text: str, **more: Any) -> dict[str, Any]:
    return {
        "id": f"ann-{number:03d}", "fact": text, "category": "status", "confidence": 0.6, "abstractionLevel": "pattern",
        "tags": ["home"], "timestamp": "2025-02-08T10:00:00Z", "status": "active", **more,
    }  # fmt: skip


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
    lab.write_all([
        Entry("We decided to use uv", "main", observation_type="decision"), Entry("The cat sleeps", "sage"),
        Entry("Only here", "main", project="telegram-77"),
    ])  # fmt: skip
    notes.observe(lab.home, "The till is slow")
    notes.observe(lab.home, "Reviews were quick", "quality")
    notes.review(lab.home, "obs-0002", "archive")
    notes.note_tension(lab.home, "ann-002", "ann-003")
    notes.add_line(lab.home, "MEMORY", "Ann owns the shop")
    notes.add_line(lab.home, "SOUL", "Be brief")
    return lab


def test_export_import_export_is_equal_and_the_tree_has_its_layout(tmp_path: Path) -> None:
    with lived(tmp_path / "one") as lab, opened(tmp_path / "two") as other:
        other.clock.advance(seconds=270)  # type: ignore[attr-defined]
        lab.export_files(tmp_path / "a")
        assert not [
            problem for report in other.import_files(tmp_path / "a", trust_own=True) for problem in report.problems
        ]
        other.export_files(tmp_path / "b")
        first, second = files_in(tmp_path / "a"), files_in(tmp_path / "b")
        assert [fact.id for fact in other.facts.list()] == ["ann-002", "ann-003", "shop-001"]
        assert other.facts.show("ann-002").access_count == 2
        assert other.verify().ok
    assert sorted(first) == [
        "MEMORY.md", "SOUL.md", "life/people/ann/items.json", "life/people/ann/summary.md", "life/projects/shop/items.json",
        "life/projects/shop/summary.md", "memory/main/2026-03-01.md",
        "memory/telegram-77/2026-03-01.md", "ops/observations/index.json", "ops/observations/obs-0001.json",
        "ops/observations/obs-0002.json", "ops/tensions/index.json", "ops/tensions/tension-0001.json",
    ]  # fmt: skip
    assert first == second
    assert first["memory/main/2026-03-01.md"] == (
        "# 2026-03-01\n\n## Events\n\n- 09:04 sage: The cat sleeps\n\n## Decisions\n\n- 09:04 main: We decided to use uv\n"
    )


def test_importing_twice_or_where_it_came_from_changes_nothing(tmp_path: Path) -> None:
    with lived(tmp_path / "one") as lab, opened(tmp_path / "two") as other:
        lab.export_files(tmp_path / "a")
        other.clock.advance(seconds=270)  # type: ignore[attr-defined]
        for home in (lab, other, other):
            before = home.journal.last_seq()
            reports = home.import_files(tmp_path / "a")
            after = home.journal.last_seq()
        assert (before, sum(report.imported for report in reports)) == (after, 0)
        home = lab
        before = lab.journal.last_seq()
        lab.import_files(tmp_path / "a")
        assert lab.journal.last_seq() == before


def test_what_comes_in_is_of_import_unless_it_is_ones_own(tmp_path: Path) -> None:
    with lived(tmp_path / "one") as lab:
        lab.export_files(tmp_path / "a")
    for trust_own, source in ((False, "import"), (True, "user")):
        with opened(tmp_path / f"home-{trust_own}") as other:
            other.clock.advance(seconds=270)  # type: ignore[attr-defined]
            other.import_files(tmp_path / "a", trust_own=trust_own)
            assert other.facts.show("ann-002").source == source
            sources = {
                event.body["source"]
                for event in other.journal.tail(0, kinds=["observation", "self_added", "domain_written"])
            }
            assert sources == ({"agent"} if trust_own else {"import"})


def test_an_untrusted_file_supersedes_nothing_that_is_here_from_others(tmp_path: Path) -> None:
    with opened(tmp_path / "home") as lab:
        lab.facts.write("people/ann", "Lives in York", source="user")
        lab.export_files(tmp_path / "a")
        file = tmp_path / "a" / "life" / "people" / "ann" / "items.json"
        document = json.loads(file.read_text())
        document["facts"][0] |= {"status": "superseded"}
        file.write_text(json.dumps(document))
        lab.import_files(tmp_path / "a")
        assert lab.facts.show("ann-001").active
        lab.import_files(tmp_path / "a", trust_own=True)
        assert not lab.facts.show("ann-001").active


@pytest.mark.parametrize(
    "content",
    [
        [OLD], {"facts": [OLD]}, {"entityId": "people/ann", "items": [OLD]}, b"\xef\xbb\xbf" + json.dumps([OLD]).encode(),
        {"schemaVersion": 2, "facts": [record(1, "Lives in Bath", category="relationship", confidence=0.7, tags=[])]},
    ],
)  # fmt: skip
def test_the_originals_files_come_in_bare_wrapped_or_with_a_mark(tmp_path: Path, content: Any) -> None:
    folder = tree(tmp_path / "a", {"life/people/ann/items.json": content})
    with opened(tmp_path / "home") as lab:
        lab.import_files(folder)
        (fact,) = lab.facts.list("people/ann")
    assert (fact.id, fact.text, fact.confidence, fact.abstraction, fact.source) == (
        "ann-001",
        "Lives in Bath",
        0.7,
        "pattern",
        "import",
    )
    assert fact.to_dict()["timestamp"].startswith("2025-02-08")


def test_a_broken_record_or_file_is_named_and_the_rest_comes_in(tmp_path: Path) -> None:
    facts = [
        record(1, "Lives in Bath"), record(2, "Too sure", confidence=2), "nonsense", record(3, "", status="active"),
        record(4, "Elsewhere", entity="people/../../etc"), record(5, "Lives in York", entity="people\\ann"),
        record(6, "A bad trust", trust="god"),
    ]  # fmt: skip
    files = {
        "life/people/ann/items.json": {"facts": facts}, "life/people/bob/items.json": "{broken", "life/projects/x/items.json": "3",
        "ops/observations/obs-0001.json": {"id": "obs-0001"}, "ops/observations/obs-0002.json": {"id": "obs-0002", "observation": "Slow"},
        "memory/main/2025-02-08.md": b"# day\n- said so\n- \xff", "memory/main/2025-02-09.md": "# day\n\n## Decisions\n- use uv\n",
    }  # fmt: skip
    with opened(tmp_path / "home") as lab:
        reports = lab.import_files(tree(tmp_path / "a", files))
        problems = "\n".join(problem for report in reports for problem in report.problems)
        assert [fact.text for fact in lab.facts.list()] == ["Lives in Bath", "Lives in York"]
        assert [note.id for note in notes.notes_of(lab.home)] == ["obs-0002"]
        said = [event.body["text"] for event in lab.journal.tail(0, kinds=["observation"])]
    for place in (
        "ann/items.json: fact 2: confidence is 2", "fact 3: got a str", "fact 4: fact is ''", "fact 5: got the entity", "fact 7: trust is 'god'",
        "bob/items.json: not JSON", "projects/x/items.json: got no facts", "obs-0001.json: got the note", "2025-02-08.md: not UTF-8",
    ):  # fmt: skip
        assert place in problems
    assert said == ["use uv"]


def test_chains_come_in_whole_and_circles_are_broken(tmp_path: Path) -> None:
    facts = [
        record(1, "Lives in Bath", status="superseded", supersededBy="ann-002"), record(2, "Lives in York", supersedes=["ann-001"]),
        record(3, "A", status="superseded", supersededBy="ann-004"), record(4, "B", status="superseded", supersededBy="ann-003"),
        record(5, "C", status="superseded", supersededBy="bob-001"),
    ]  # fmt: skip
    with opened(tmp_path / "home") as lab:
        (report,) = lab.import_files(tree(tmp_path / "a", {"life/people/ann/items.json": facts}))
        assert [fact.id for fact in lab.facts.chain("ann-001")] == ["ann-001", "ann-002"]
        assert lab.facts.show("ann-005").superseded_by == ""
        assert check_home(lab.home).problems == []
    assert "is a circle" in report.problems[0]
    assert "no fact that is there" in report.problems[1]


def test_an_id_that_another_fact_has_becomes_the_next_free_one(tmp_path: Path) -> None:
    facts = [record(1, "Prefers tea", status="superseded", supersededBy="ann-002"), record(2, "Prefers coffee")]
    tension = {"id": "tension-0001", "tension": "tea or coffee", "factRefs": ["ann-001", "ann-002"]}
    folder = tree(tmp_path / "a", {"life/people/ann/items.json": facts, "ops/tensions/tension-0001.json": tension})
    with opened(tmp_path / "home") as lab:
        lab.facts.write("people/ann", "Lives in York")
        for _ in range(2):
            lab.import_files(folder)
            known = {fact.id: (fact.text, fact.superseded_by) for fact in lab.facts.list(active=None)}
            assert known == {
                "ann-001": ("Lives in York", ""),
                "ann-003": ("Prefers tea", "ann-002"),
                "ann-002": ("Prefers coffee", ""),
            }
            assert notes.note_by_id(lab.home, "tension-0001").facts == ("ann-003", "ann-002")


def test_notes_of_the_original_and_its_silos_come_in(tmp_path: Path) -> None:
    day = "# 2025-02-08\n\n## Events\n- Met Bob\n- Met Bob\n<!-- extracted:L9 -->\n## Learnings\n* Bob is early\n"
    folder = tree(
        tmp_path / "a",
        {
            "memory/agent-main/telegram-77/2025-02-08.md": day,
            "memory/2025-02-09.md": "- Slept\n",
            "memory/readme.md": "x",
        },
    )
    with opened(tmp_path / "home") as lab:
        for _ in range(2):
            lab.import_files(folder)
        said = [
            (event.body["text"], event.body["project"], event.body["type"])
            for event in lab.journal.tail(0, kinds=["observation"])
        ]
    assert sorted(said) == [
        ("Bob is early", "telegram-77", "trace_fix"), ("Met Bob", "telegram-77", "discovery"), ("Met Bob", "telegram-77", "discovery"),
        ("Slept", "", "discovery"),
    ]  # fmt: skip


def test_days_that_are_none_and_bad_names_are_named_and_nothing_else_is_lost(tmp_path: Path) -> None:
    files = {
        "memory/main/2025-13-45.md": "- said\n", "memory/main/2025-02-08.md": "- 29:99 user: late\n- 10:00 user: in time\n",
        "life/people/..%2f/items.json": [OLD], "life/people/bob/items.json": [{**OLD, "id": ["x"]}],
    }  # fmt: skip
    with opened(tmp_path / "home") as lab:
        reports = lab.import_files(tree(tmp_path / "a", files))
        assert [event.body["text"] for event in lab.journal.tail(0, kinds=["prompt"])] == ["in time"]
        assert [report.imported for report in reports if not report.problems] == []
    assert len([problem for report in reports for problem in report.problems]) == 4


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    folder = tree(tmp_path / "a", {"memory/readme.md": "fine\n"})
    (tmp_path / "secret.md").write_text("- a secret\n")
    (folder / "memory" / "2025-02-08.md").symlink_to(tmp_path / "secret.md")
    with opened(tmp_path / "home") as lab:
        (report,) = lab.import_files(folder)
        assert "link" in report.problems[0]
        assert not list(lab.journal.tail(0, kinds=["observation", "prompt"]))


def test_nothing_is_written_where_the_design_was_never_used(tmp_path: Path) -> None:
    with Lab(tmp_path / "home", clock=FixedClock(NOW)) as lab:
        lab.agent("main").write("Lunch is at noon")
        lab.export_files(tmp_path / "a")
    assert files_in(tmp_path / "a") == {}


words = st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]), min_size=1, max_size=60).filter(
    lambda text: text.strip()
)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    facts=st.lists(
        st.tuples(words, st.sampled_from(CATEGORIES), st.floats(0, 1), st.integers(0, 5)), min_size=1, max_size=6
    )
)
def test_any_facts_survive_the_way_out_and_in(tmp_path_factory: pytest.TempPathFactory, facts: list[Any]) -> None:
    folder = tmp_path_factory.mktemp("round")
    with opened(folder / "one") as lab, opened(folder / "two") as other:
        for text, category, confidence, used in facts:
            wrote = lab.facts.write("people/ann", text, category=category, confidence=confidence)
            for _ in range(used):
                lab.facts.access(wrote.id)
        lab.export_files(folder / "a")
        other.import_files(folder / "a", trust_own=True)
        other.export_files(folder / "b")
    assert files_in(folder / "a") == files_in(folder / "b")


# Checking


def test_the_homes_own_chains_are_checked(tmp_path: Path) -> None:
    with lived(tmp_path / "home") as lab:
        assert check_home(lab.home).problems == []
        body = {"facts": ["ann-002"], "by": "ann-001", "why": "", "undo": False}
        lab.facts.append("fact_superseded", body)
        assert check_home(lab.home).problems == ["ann-001: the chain ann-001 → ann-002 → ann-001 is a circle"]


def test_what_was_erased_does_not_come_back(tmp_path: Path) -> None:
    with lived(tmp_path / "home") as lab:
        lab.export_files(tmp_path / "a")
        lab.erase(ids=[lab.facts.show("ann-003").event_id])
        lab.import_files(tmp_path / "a", trust_own=True)
        assert "Prefers tea" not in [fact.text for fact in lab.facts.list(active=None)]


def test_in_a_project_no_files_are_written_since_they_hold_what_is_of_all(tmp_path: Path) -> None:
    told = pytest.raises(InvalidInput, match="telegram-77; allowed is a lab without one")
    with lived(tmp_path / "home"), opened(tmp_path / "home", project="telegram-77") as chat, told:
        chat.export_files(tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_the_commands_of_what_is_here(run: Run, tmp_path: Path) -> None:
    folder = str(tree(tmp_path / "a", {"life/people/ann/items.json": [OLD]}))
    assert run("import", folder, "--json").json["imported"] == 1
    assert run("fact", "validate", "--json").json == {"facts": 1, "problems": []}
