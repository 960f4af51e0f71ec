"""An Engram folder as its document describes it: read, written back equal, and told of
where something in it is wrong.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW, Run

from theorex_lab import FixedClock, InvalidInput, Lab, ObservationEntry
from theorex_lab.designs.facts import channels, note_view, notes
from theorex_lab.designs.facts.domains import DomainFacts, add_domain, domain_called
from theorex_lab.designs.facts.facts import check_home
from theorex_lab.designs.facts.folder_read import MOST_ACCESSES, import_domains
from theorex_lab.designs.facts.kept_files import check_kept_path

# The schema that the document prints, with its eight members.
FACT = {
    "id": "sergey-001",
    "fact": "Prefers Bun over Node.js",
    "category": "preference",
    "confidence": 0.85,
    "abstractionLevel": "pattern",
    "tags": ["tools", "runtime"],
    "timestamp": "2026-02-08",
    "status": "active",
}
OLD = {
    "id": "ann-001",
    "fact": "Lives in Bath",
    "category": "relationship",
    "timestamp": "2025-02-08",
}
DAY = """# 2026-02-24

## Events

- 09:15 user: The build broke again
- 09:20 main: Cleared the cache
- Lunch with Ann

## Decisions

- Ship on Monday

## Active Threads

- The parser

## Next
<!-- extracted:L9:2026-02-24T10:00:00Z -->
"""


def in_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def engram_files() -> dict[str, str]:
    """The files of a folder, made by hand after the document."""
    superseded = {
        **FACT,
        "id": "sergey-002",
        "fact": "Lives in Moscow",
        "category": "status",
        "status": "superseded",
        "supersededBy": "sergey-003",
        "mood": {"of": "the writer"},
    }
    newer = {**FACT, "id": "sergey-003", "fact": "Lives in Tbilisi", "confidence": 0.9}
    observation = {
        "id": "obs-0001",
        "observation": "KG extraction missed facts",
        "category": "friction",
        "status": "pending",
        "createdAt": "2026-02-24T10:00:00.000Z",
        "promotedAt": None,
    }
    tension = {
        "id": "tension-0001",
        "tension": "Two facts contradict each other",
        "factRefs": ["sergey-001", "sergey-003"],
        "status": "archived",
        "createdAt": "2026-02-24T11:00:00.000Z",
    }
    registry = {
        "domains": {
            "digest": {
                "type": "cron-task",
                "cadenceDays": 3,
                "description": "Daily digest",
            }
        }
    }
    return {
        "MEMORY.md": "# MEMORY\n\n<!-- keep it short -->\n- Sergey owns the build\n",
        "SOUL.md": "# Who I am\n\nBe brief.\n",
        "life/people/sergey/items.json": in_json(
            {
                "entityId": "people/sergey",
                "entityType": "people",
                "facts": [FACT, superseded, newer],
            }
        ),
        "life/people/sergey/summary.md": (
            "# Sergey\n\n> Last updated: 2026-02-24\n\n## Key Facts\n\n- Bun\n"
        ),
        "life/projects/engram/items.json": in_json(
            [{**FACT, "id": "engram-001", "fact": "Ships as a skill"}]
        ),
        "life/projects/engram/summary.md": "# Engram\n\nA skill.\n",
        "memory/agent-main/main/2026-02-24.md": DAY,
        "memory/agent-main/telegram-77/2026-02-25.md": (
            "# 2026-02-25\n\n## Events\n\n- 08:00 user: Only in the group\n"
        ),
        "memory/domains/digest/decisions.md": "# Decisions\n\n- At most ten items\n",
        "memory/domains/digest/workflow.md": "# Workflow\n\n1. Read the feeds\n",
        "memory/domains/digest/status.md": "Last run: fine\n",
        "memory/domains/digest/changelog.md": "- 2026-02-24 ran\n",
        "memory/domains/digest/archives/changelog-2025.md": "- 2025-12-01 ran\n",
        "memory/domains/registry.json": in_json(registry),
        "ops/observations/index.json": in_json(
            {"observations": ["obs-0001"], "lastId": 1}
        ),
        "ops/observations/obs-0001.json": in_json(observation),
        "ops/tensions/index.json": in_json({"tensions": ["tension-0001"], "lastId": 1}),
        "ops/tensions/tension-0001.json": in_json(tension),
    }


def tree(folder: Path, files: dict[str, Any]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not isinstance(content, bytes | str):
            content = json.dumps(content)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def files_in(folder: Path) -> dict[str, str]:
    """The files of the facts design below a folder, without those of other layouts."""
    kept = ("life/", "memory/", "ops/", "MEMORY", "SOUL")
    files = {}
    for file in sorted(folder.rglob("*")):
        name = file.relative_to(folder).as_posix()
        if file.is_file() and name.startswith(kept):
            files[name] = file.read_text(encoding="utf-8")
    return files


def without_records(folder: Path) -> Path:
    """The folder of an export, without the file that tells more than it does."""
    (folder / "facts.jsonl").unlink()
    return folder


def opened(folder: Path, **given: Any) -> Lab:
    lab = Lab(folder, clock=FixedClock(NOW), **given)
    _ = lab.facts
    return lab


def problems_of(reports: Any) -> str:
    return "\n".join(problem for report in reports for problem in report.problems)


# There and back


def test_a_folder_made_after_the_document_comes_out_equal(tmp_path: Path) -> None:
    files = engram_files()
    folder = tree(tmp_path / "engram", files)
    with opened(tmp_path / "home") as lab:
        reports = lab.import_files(folder, trusted=True)
        assert problems_of(reports) == ""
        lab.export_files(tmp_path / "out")
        assert lab.verify().ok
    assert files_in(tmp_path / "out") == files


def test_what_the_folder_says_is_in_the_memory(tmp_path: Path) -> None:
    folder = tree(tmp_path / "engram", engram_files())
    with opened(tmp_path / "home") as lab:
        lab.import_files(folder, trusted=True)
        assert [fact.text for fact in lab.facts.list("people/sergey")] == [
            "Prefers Bun over Node.js",
            "Lives in Tbilisi",
        ]
        chain = [fact.id for fact in lab.facts.chain("sergey-002")]
        assert chain == ["sergey-002", "sergey-003"]
        assert lab.facts.list("projects/engram")[0].abstraction == "pattern"
        noted = [(note.id, note.status) for note in note_view.notes_of(lab.home)]
        assert noted == [("obs-0001", "pending"), ("tension-0001", "archived")]
        digest = domain_called(lab.home, "digest")
        assert digest.about.description == "Daily digest"
        assert digest.files["status"] == "Last run: fine"
        assert notes.self_lines(lab.home, "SOUL") == ["# Who I am", "Be brief."]
        assert channels.silos(lab.home) == {"telegram-77"}
        assert check_home(lab.home).problems == []
        said = [
            (event.body["text"], event.body.get("type", event.kind))
            for event in lab.journal.tail(0, kinds=["prompt", "observation"])
        ]
    assert said == [
        ("The build broke again", "prompt"),
        ("Cleared the cache", "discovery"),
        ("Lunch with Ann", "discovery"),
        ("Ship on Monday", "decision"),
        ("The parser", "discovery"),
        ("Only in the group", "prompt"),
    ]


def test_reading_a_folder_twice_changes_nothing(tmp_path: Path) -> None:
    folder = tree(tmp_path / "engram", engram_files())
    with opened(tmp_path / "home") as lab:
        lab.import_files(folder, trusted=True)
        before = lab.journal.last_seq()
        reports = lab.import_files(folder, trusted=True)
        assert lab.journal.last_seq() == before
        assert sum(report.imported for report in reports) == 0
        assert sum(report.skipped for report in reports) > 0


def test_an_untrusted_folder_comes_out_equal_too_and_gives_no_orders(
    tmp_path: Path,
) -> None:
    files = engram_files()
    folder = tree(tmp_path / "engram", files)
    with opened(tmp_path / "home") as lab:
        reports = lab.import_files(folder)
        told = problems_of(reports)
        assert "MEMORY.md: got lines of MEMORY.md from a file" in told
        assert "digest/decisions.md: got a domain from a file" in told
        assert {fact.source for fact in lab.facts.list(active=None)} == {"import"}
        assert notes.self_lines(lab.home, "MEMORY") == []
        lab.export_files(tmp_path / "out")
    assert files_in(tmp_path / "out") == files


def test_what_changed_since_stands_in_the_files_and_the_rest_stays(
    tmp_path: Path,
) -> None:
    files = engram_files()
    folder = tree(tmp_path / "engram", files)
    with opened(tmp_path / "home") as lab:
        lab.import_files(folder, trusted=True)
        lab.facts.write(
            "people/sergey", "Prefers Deno over Bun", supersedes=["sergey-001"]
        )
        notes.review(lab.home, "obs-0001", "archive")
        lab.facts.observe("Reviews were quick", "quality")
        lab.export_files(tmp_path / "out")
    written = files_in(tmp_path / "out")
    path = "life/people/sergey/items.json"
    document = json.loads(written[path])
    original = json.loads(files[path])
    assert document["entityType"] == "people"
    assert document["facts"][1:3] == original["facts"][1:]
    first = document["facts"][0]
    assert (first["status"], first["supersededBy"]) == ("superseded", "sergey-004")
    assert first["timestamp"] == "2026-02-08"
    assert document["facts"][3]["fact"] == "Prefers Deno over Bun"
    note = json.loads(written["ops/observations/obs-0001.json"])
    assert (note["status"], note["promotedAt"]) == ("archived", None)
    index = json.loads(written["ops/observations/index.json"])
    assert index == {"observations": ["obs-0001", "obs-0002"], "lastId": 2}
    assert "Deno" in written["life/people/sergey/summary.md"]
    day = "memory/agent-main/main/2026-02-24.md"
    assert written[day] == DAY


def test_a_line_that_is_said_later_joins_the_page_of_its_day(tmp_path: Path) -> None:
    day = (
        "# 2026-03-01\n\n## Events\n\n- 08:00 user: Good morning\n\n## Next\n\n- Rest\n"
    )
    folder = tree(tmp_path / "a", {"memory/agent-main/main/2026-03-01.md": day})
    with opened(tmp_path / "home") as lab:
        lab.facts.write("people/ann", "Sings")
        lab.agent("sage").write("Before the import")
        lab.import_files(folder)
        lab.agent("sage").write("The cat sleeps")
        lab.agent("sage").write("Use uv", observation_type="decision")
        lab.export_files(tmp_path / "out")
    written = files_in(tmp_path / "out")["memory/agent-main/main/2026-03-01.md"]
    assert written == (
        "# 2026-03-01\n\n## Events\n\n- 08:00 user: Good morning\n- 09:00 sage: Before"
        " the import\n- 09:00 sage: The cat sleeps\n\n## Next\n\n- Rest\n\n##"
        " Decisions\n\n- 09:00 sage: Use uv\n"
    )


def test_an_export_carries_the_files_as_they_were_read(tmp_path: Path) -> None:
    files = engram_files()
    folder = tree(tmp_path / "engram", files)
    with opened(tmp_path / "one") as lab, opened(tmp_path / "two") as other:
        lab.import_files(folder, trusted=True)
        lab.export_files(tmp_path / "a")
        reports = other.import_files(tmp_path / "a", trusted=True)
        assert problems_of(reports) == ""
        other.export_files(tmp_path / "b")
        hostile = tmp_path / "a" / "facts.jsonl"
        hostile.write_text(
            hostile.read_text().replace("life/people/sergey", "life/../..")
        )
        with opened(tmp_path / "three") as third:
            told = problems_of(third.import_files(tmp_path / "a", trusted=True))
    written = files_in(tmp_path / "b")
    # Its one line is a prompt, and an export holds no prompts.
    del files["memory/agent-main/telegram-77/2026-02-25.md"]
    assert {name: written.get(name) for name in files} == files
    assert "allowed are files below life/" in told


def test_what_the_toolkit_wrote_comes_in_and_out_equal(tmp_path: Path) -> None:
    with opened(tmp_path / "one") as lab:
        lab.facts.write("people/ann", "Lives in Bath", source="user", tags=["home"])
        lab.facts.write("people/ann", "Ann moved to York", source="user")
        lab.facts.access("ann-002")
        add_domain(lab.home, "digest", DomainFacts(description="Daily"))
        notes.observe(lab.home, "The till is slow")
        notes.add_line(lab.home, "MEMORY", "Ann owns the shop")
        lab.export_files(tmp_path / "a")
    first = files_in(tmp_path / "a")
    folder = tree(tmp_path / "copy", dict(first))
    with opened(tmp_path / "two") as other:
        reports = other.import_files(folder, trusted=True)
        assert problems_of(reports) == ""
        other.export_files(tmp_path / "b")
    assert files_in(tmp_path / "b") == first
    # The whole export, with the records of the design.
    with opened(tmp_path / "three") as third:
        assert problems_of(third.import_files(tmp_path / "a", trusted=True)) == ""
        third.export_files(tmp_path / "c")
    assert files_in(tmp_path / "c") == first


# What is wrong


def record(number: int, text: str, **more: Any) -> dict[str, Any]:
    return {
        **FACT,
        "id": f"ann-{number:03d}",
        "fact": text,
        "category": "status",
        **more,
    }


def test_a_broken_record_is_told_and_kept_and_the_rest_comes_in(tmp_path: Path) -> None:
    facts = [
        record(1, "Lives in Bath"),
        record(2, "Too sure", confidence=2),
        "nonsense",
        record(3, ""),
        record(4, "Elsewhere", entity="people/../../etc"),
        record(5, "Likes tea", entity="people\\ann"),
        record(6, "A bad trust", trust="god"),
    ]
    files = {
        "life/people/ann/items.json": in_json({"facts": facts}),
        "life/people/bob/items.json": "{broken",
        "life/projects/x/items.json": "3",
        "ops/observations/obs-0001.json": in_json({"id": "obs-0001"}),
        "memory/main/2025-13-45.md": "- 10:00 user: said\n",
    }
    folder = tree(tmp_path / "a", files)
    tree(folder, {"memory/main/2025-02-08.md": b"# day\n- \xff"})
    with opened(tmp_path / "home") as lab:
        told = problems_of(lab.import_files(folder))
        assert [fact.text for fact in lab.facts.list()] == [
            "Lives in Bath",
            "Likes tea",
        ]
        lab.export_files(tmp_path / "out")
    for place in (
        "ann/items.json: fact 2: confidence is 2",
        "fact 3: got a str",
        "fact 4: fact is ''",
        "fact 5: got the entity",
        "fact 7: trust is 'god'",
        "bob/items.json: not JSON",
        "projects/x/items.json: got no facts",
        "obs-0001.json: got the note",
        "2025-02-08.md: not UTF-8",
        "2025-13-45.md:1: got the time",
    ):
        assert place in told
    written = files_in(tmp_path / "out")
    for name, text in files.items():
        assert written[name] == text


def test_a_broken_file_stands_beside_what_is_here(tmp_path: Path) -> None:
    folder = tree(tmp_path / "a", {"life/people/ann/items.json": "{broken\n"})
    with opened(tmp_path / "home") as lab:
        lab.facts.write("people/ann", "Lives in Bath")
        lab.import_files(folder)
        lab.export_files(tmp_path / "out")
    written = files_in(tmp_path / "out")
    assert written["life/people/ann/items.json.unread"] == "{broken\n"
    assert "Lives in Bath" in written["life/people/ann/items.json"]


def test_chains_come_in_whole_and_circles_are_broken(tmp_path: Path) -> None:
    facts = [
        record(1, "Lives in Bath", status="superseded", supersededBy="ann-002"),
        record(2, "Lives in York", supersedes=["ann-001"]),
        record(3, "A", status="superseded", supersededBy="ann-004"),
        record(4, "B", status="superseded", supersededBy="ann-003"),
        record(5, "C", status="superseded", supersededBy="bob-001"),
    ]
    folder = tree(tmp_path / "a", {"life/people/ann/items.json": facts})
    with opened(tmp_path / "home") as lab:
        (report,) = lab.import_files(folder)
        chain = [fact.id for fact in lab.facts.chain("ann-001")]
        assert chain == ["ann-001", "ann-002"]
        assert lab.facts.show("ann-005").superseded_by == ""
        assert check_home(lab.home).problems == []
    assert "is a circle" in report.problems[0]
    assert "no fact that is there" in report.problems[1]


def test_an_id_that_another_fact_has_becomes_the_next_free_one(tmp_path: Path) -> None:
    facts = [
        record(1, "Prefers tea", status="superseded", supersededBy="ann-002"),
        record(2, "Prefers coffee"),
        record(7, "Lives in York"),
    ]
    tension = {
        "id": "tension-0001",
        "tension": "tea or coffee",
        "factRefs": ["ann-001", "ann-002"],
    }
    files = {
        "life/people/ann/items.json": facts,
        "ops/tensions/tension-0001.json": tension,
    }
    folder = tree(tmp_path / "a", files)
    with opened(tmp_path / "home") as lab:
        lab.facts.write("people/ann", "Lives in York")
        for _ in range(2):
            lab.import_files(folder)
            known = {
                fact.id: (fact.text, fact.superseded_by)
                for fact in lab.facts.list(active=None)
            }
            assert known == {
                "ann-001": ("Lives in York", ""),
                "ann-003": ("Prefers tea", "ann-002"),
                "ann-002": ("Prefers coffee", ""),
            }
            refs = note_view.note_by_id(lab.home, "tension-0001").facts
            assert refs == ("ann-003", "ann-002")
        lab.export_files(tmp_path / "out")
    items = json.loads((tmp_path / "out/life/people/ann/items.json").read_text())
    assert [fact["id"] for fact in items] == ["ann-003", "ann-002", "ann-001"]


def test_an_untrusted_file_ends_nothing_that_is_here_from_others(
    tmp_path: Path,
) -> None:
    with opened(tmp_path / "home") as lab:
        lab.facts.write("people/ann", "Lives in York", source="user")
        lab.export_files(tmp_path / "a")
        without_records(tmp_path / "a")
        file = tmp_path / "a" / "life" / "people" / "ann" / "items.json"
        document = json.loads(file.read_text())
        document["facts"][0] |= {"status": "superseded"}
        file.write_text(json.dumps(document))
        lab.import_files(tmp_path / "a")
        assert lab.facts.show("ann-001").active
        lab.import_files(tmp_path / "a", trusted=True)
        assert not lab.facts.show("ann-001").active


def test_a_file_cannot_pass_its_fact_for_another_event(tmp_path: Path) -> None:
    with opened(tmp_path / "home") as lab:
        lab.facts.write("people/ann", "Lives in York", source="user")
        event = lab.facts.show("ann-001").event_id
        facts = [record(1, "Owes money", event=event)]
        folder = tree(tmp_path / "a", {"life/people/ann/items.json": facts})
        lab.import_files(folder)
        known = {fact.id: fact.source for fact in lab.facts.list()}
    assert known == {"ann-001": "user", "ann-002": "import"}


def test_what_was_erased_does_not_come_back_by_a_folder(tmp_path: Path) -> None:
    folder = tree(tmp_path / "engram", engram_files())
    with opened(tmp_path / "home") as lab:
        lab.import_files(folder, trusted=True)
        lab.erase(ids=[lab.facts.show("sergey-003").event_id])
        lab.import_files(folder, trusted=True)
        lab.export_files(tmp_path / "out")
        known = [fact.text for fact in lab.facts.list(active=None)]
    assert "Lives in Tbilisi" not in known
    assert "Tbilisi" not in "".join(files_in(tmp_path / "out").values())


def test_a_folder_does_not_isolate_a_project_that_is_in_use(tmp_path: Path) -> None:
    day = "## Events\n- 08:00 user: Hello\n"
    files = {
        "memory/agent-main/shop-2024/2026-02-25.md": day,
        "memory/agent-main/discord-9/2026-02-25.md": day,
    }
    folder = tree(tmp_path / "a", files)
    with opened(tmp_path / "home") as lab:
        entry = ObservationEntry("The till rounds", "main", project="shop-2024")
        lab.write_all([entry])
        lab.import_files(folder)
        assert channels.silos(lab.home) == {"discord-9"}


def test_links_out_of_the_folder_and_paths_of_others_are_refused(
    tmp_path: Path,
) -> None:
    folder = tree(tmp_path / "a", {"life/people/bob/items.json": [OLD]})
    secret = tree(tmp_path / "b", {"items.json": [{**OLD, "fact": "A secret"}]})
    (folder / "life/people/ann").symlink_to(secret)
    with opened(tmp_path / "home") as lab:
        told = problems_of(lab.import_files(folder))
        assert [fact.text for fact in lab.facts.list()] == ["Lives in Bath"]
    assert "a link takes from outside" in told
    for path in (
        "life/../../etc/passwd.json",
        "/etc/passwd.md",
        "life/people/../items.json",
        "ops/observations/../../x.json",
        "memory\\x.md",
        "other/a/b/items.json",
    ):
        with pytest.raises(InvalidInput, match="allowed are files below life/"):
            check_kept_path(path)


def test_a_file_that_is_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from theorex_lab.designs.facts import folder_json

    monkeypatch.setattr(folder_json, "MOST_FILE_BYTES", 100)
    folder = tree(tmp_path / "a", {"life/people/ann/items.json": [OLD, OLD]})
    with opened(tmp_path / "home") as lab:
        told = problems_of(lab.import_files(folder))
        assert lab.facts.list(active=None) == []
    assert "got a file of more than 100 bytes" in told


def test_uses_come_in_up_to_a_bound_and_the_file_keeps_its_number(
    tmp_path: Path,
) -> None:
    files = {
        "life/people/ann/items.json": in_json(
            [record(1, "Sings", accessCount=5_000, lastAccessed="2026-02-20")]
        )
    }
    folder = tree(tmp_path / "a", files)
    with opened(tmp_path / "home") as lab:
        lab.import_files(folder)
        assert lab.facts.show("ann-001").access_count == MOST_ACCESSES
        lab.export_files(tmp_path / "out")
    written = files_in(tmp_path / "out")
    assert written["life/people/ann/items.json"] == files["life/people/ann/items.json"]


@pytest.mark.parametrize(
    "content",
    [
        [OLD],
        {"facts": [OLD]},
        {"entityId": "people/ann", "items": [OLD]},
        b"\xef\xbb\xbf" + json.dumps([OLD]).encode(),
        [
            {
                "id": "ann-001",
                "text": "Lives in Bath",
                "category": "relationship",
                "createdAt": "2025-02-08T00:00:00",
            }
        ],
    ],
)
def test_older_files_come_in_bare_wrapped_or_with_a_mark(
    tmp_path: Path, content: Any
) -> None:
    folder = tree(tmp_path / "a", {"life/people/ann/items.json": content})
    with opened(tmp_path / "home") as lab:
        lab.import_files(folder / "life" / "people" / "ann" / "items.json")
        (fact,) = lab.facts.list("people/ann")
    assert (fact.id, fact.confidence, fact.abstraction) == ("ann-001", 0.7, "pattern")
    assert fact.to_dict()["timestamp"].startswith("2025-02-08")


def test_a_domain_file_edited_by_hand_comes_in_on_request(tmp_path: Path) -> None:
    with opened(tmp_path / "home") as lab:
        add_domain(lab.home, "digest", DomainFacts())
        lab.export_files(tmp_path / "a")
        without_records(tmp_path / "a")
        file = tmp_path / "a" / "memory" / "domains" / "digest" / "status.md"
        file.write_text("# digest: status\n\nAll is well\n")
        lab.import_files(tmp_path / "a", trusted=True)
        assert domain_called(lab.home, "digest").files["status"].endswith("All is well")
        file.write_text("Another text\n")
        told = problems_of(lab.import_files(tmp_path / "a", trusted=True))
        assert "it differs from what is here" in told
        with pytest.raises(InvalidInput, match="subagents obey them"):
            import_domains(lab.home, tmp_path / "a")
        for imported in (1, 0):
            reports = import_domains(lab.home, tmp_path / "a", trusted=True)
            assert sum(report.imported for report in reports) == imported
        assert domain_called(lab.home, "digest").files["status"] == "Another text"


def test_the_command_reads_a_folder_and_writes_it_back(
    run: Run, tmp_path: Path
) -> None:
    files = engram_files()
    folder = tree(tmp_path / "engram", files)
    read = run("--now", "2026-03-01T09:04:00Z", "import", str(folder), "--trusted")
    assert read.code == 0, read.err
    assert (
        run("--now", "2026-03-01T09:04:00Z", "export", str(tmp_path / "out")).code == 0
    )
    assert files_in(tmp_path / "out") == files
