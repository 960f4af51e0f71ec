"""Flash, outcomes and moments in files, which come back, and tasks and policies, which are only shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import DAY, NOW, erase
from faults import tool_event
from test_exchange import export, home, records, take

from theorex_lab import InvalidInput
from theorex_lab.designs.theorex.axon import Axon
from theorex_lab.designs.theorex.moments import recent_moments, write_moment
from theorex_lab.dispatch.tasks import TaskBoard
from theorex_lab.evolution.outcomes import OutcomeLog
from theorex_lab.evolution.policy import policies, policy_settings, snapshot
from theorex_lab.exchange.home_files import OWN, layouts
from theorex_lab.ids import derived_event_id


@pytest.fixture
def worked(tmp_path: Path) -> Path:
    """The exported history of two agents, in the folder `out`: tasks in every state, policies, reviews, moments."""
    with home(tmp_path / "home") as lab:
        board = TaskBoard(lab.home)
        board.send("main", "sage", "summary", {"of": "the week", "pages": [1, 2.5, None]})
        done = board.send("sage", "main", "mend", "the cache")
        claimed = board.claim("main", worker="main-1")
        assert claimed is not None
        board.complete(claimed.id, {"mended": True}, worker="main-1")
        board.send("main", "main", "look", None)
        held = board.claim("main", lease_seconds=60)
        assert held is not None
        board.renew(held.id)
        assert done == claimed.id
        log = OutcomeLog(lab.home)
        log.record("sage", "raised the TTL", "still stale", success=False, explicit_score=0.1)
        log.record("sage", "cleared the disk", "it was full again", success=False)
        snapshot(lab.journal, policy_settings(lab.settings), at=NOW, reason="first")
        snapshot(lab.journal, {**policy_settings(lab.settings), "halfLifeDays": 7.0}, at=NOW, metrics={"recall": 0.5})
        write_moment(lab.home, "The cache was mended in Berlin", refs=["cache.py:12", "ttl.py"], session="s1")
        export(lab, tmp_path / "out")
    return tmp_path / "out"


def test_documents_are_written_and_flash_is_read(worked: Path, tmp_path: Path) -> None:
    with home(tmp_path / "home") as lab:
        lab.journal.append([tool_event("the session cache"), tool_event("its ttl", agent="sage", source="model")])
        board = TaskBoard(lab.home)
        expected = {task.id: task for agent in ("main", "sage") for task in board.tasks(agent)}
        kept = policies(lab.journal)
        export(lab, tmp_path / "out")
        export(lab, tmp_path / "sage", agent="sage")
    tasks = [json.loads(path.read_text()) for path in (tmp_path / "out").glob("a2a/*/*.json")]
    assert {task["id"]: (task["to_agent"], task["status"], task["payload"]) for task in tasks} == {
        task.id: (task.to, task.state, task.payload) for task in expected.values()
    }
    assert {task["status"] for task in tasks} == {"submitted", "working", "completed"}
    snapshots = [json.loads((tmp_path / "out" / f"policy-snapshots/{number}.json").read_text()) for number in (1, 2)]
    assert [(each["version"], each["settings"], each["metrics"]) for each in snapshots] == [
        (policy.number, policy.settings, policy.metrics) for policy in kept
    ]
    assert [path.parent.name for path in (tmp_path / "sage").glob("a2a/*/*.json")] == ["sage"]
    assert not (tmp_path / "sage" / "policy-snapshots").exists()
    for trusted, sources in ((True, {"tool", "model"}), (False, {"import"})):
        with home(tmp_path / f"other-{trusted}") as lab:
            for _ in range(2):
                reports = take(lab, tmp_path / "out", trust_own=trusted)
                assert [report.problems for report in reports if report.problems] == []
            assert sum(report.imported for report in reports) == 0
            assert ([*lab.journal.tail(0, kinds=["task_submitted"])], policies(lab.journal)) == ([], [])
            assert {each.body["source"] for each in lab.journal.tail(0, kinds=["tool_used"])} == sources
            assert lab.theorex.sessions(agent="sage") == ["s1"]
            assert lab.verify().ok


def test_of_what_was_erased_no_document_is_written(worked: Path, tmp_path: Path) -> None:
    with home(tmp_path / "home") as lab:
        done = next(task for task in TaskBoard(lab.home).tasks("main") if task.state == "completed")
        erase(lab.journal, [derived_event_id("task", done.id, 2)], agent="main", at=NOW)
        erase(lab.journal, [policies(lab.journal)[1].event_id], agent="main", at=NOW)
        export(lab, tmp_path / "again")
    files = [path.name for path in (tmp_path / "again").rglob("*.json")]
    assert (f"{done.id}.json" in files, "1.json" in files, "2.json" in files) == (False, True, False)


def test_documents_of_the_original_system(tmp_path: Path) -> None:
    number, at = "0b54a4c6-55a4-4d14-9b3e-000000000001", "2026-02-27T10:00:00.000Z"
    documents = {
        "flash/s1.json": {
            "session_id": "s1",
            "events": [{"tool_name": "Bash", "tool_input_preview": "make test", "tool_response_preview": "ok",
                        "timestamp": at, "significance_score": 1.0}],
        },
        f"moments/{number}.json": {
            "id": number, "timestamp": at, "story": "The cache was mended in Berlin", "code_refs": ["cache.py:1"],
            "concept_ids": [7],
        },
    }  # fmt: skip
    for name, document in documents.items():
        (tmp_path / "theirs" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "theirs" / name).write_text(json.dumps(document, indent=2))
    with home(tmp_path / "home") as lab:
        reports = take(lab, tmp_path / "theirs", trust_own=True)
        assert [(report.imported, len(report.problems)) for report in reports] == [(1, 0), (1, 0)]
        assert lab.theorex.sessions() == ["s1"]
        assert "The cache was mended in Berlin [cache.py:1]" in lab.theorex.flash_inject("s1")
        (tmp_path / "theirs" / "flash/s1.json").write_text("{")
        (report,) = take(lab, tmp_path / "theirs" / "flash/s1.json")
        assert report.problems[0].startswith("flash/s1.json: not JSON")


def test_a_moment_alone_keeps_what_it_tells(worked: Path, tmp_path: Path) -> None:
    with home(tmp_path / "home") as lab:
        (expected,) = recent_moments(lab.views.get(Axon), lab.journal, agent="main")
    (document,) = (worked / "moments").iterdir()
    for name in (f"moments/{document.name}", "."):
        with home(tmp_path / f"other{len(name)}") as lab:
            take(lab, worked / name, trust_own=True)
            (moment,) = recent_moments(lab.views.get(Axon), lab.journal, agent="main")
            assert moment == expected
            assert expected.story in [hit.text for hit in lab.search("Berlin", agents=["main"]).hits]
            (event,) = (each for each in lab.journal.tail(0) if each.id == moment.id)
            assert (event.session, "berlin" in {concept[1] for concept in event.body["concepts"]}) == ("s1", True)


def test_outcomes_as_lines_are_those_of_their_files(worked: Path, tmp_path: Path) -> None:
    lines = {line["id"]: line for line in records(worked / "outcomes.jsonl")}
    assert lines == {path.stem: json.loads(path.read_text()) for path in (worked / "outcomes").iterdir()}
    moved = (worked / "outcomes.jsonl").rename(tmp_path / "how-it-went.jsonl")
    with home(tmp_path / "other") as lab:
        (report,) = take(lab, moved)
        assert (report.file, report.imported) == ("how-it-went.jsonl", 2)
        moved.write_text('{"decision": 7, "success": true}\n[\n' + moved.read_text())
        (report,) = take(lab, moved)
        assert (report.imported, report.skipped) == (0, 2)
        assert report.problems[0].startswith("how-it-went.jsonl:1: decision is 7")
        assert report.problems[1].startswith("how-it-went.jsonl:2: not JSON")


def test_every_layout_is_in_one_table(tmp_path: Path) -> None:
    with home(tmp_path / "home") as lab:
        assert layouts(lab.home)[-1] is OWN
        with pytest.raises(InvalidInput) as refused:
            take(lab, tmp_path / "nowhere")
        assert all(name in str(refused.value) for name in ("outcomes.jsonl", "axon.json", "traces/*.json"))


def test_a_file_of_a_session_holds_what_its_flash_holds(tmp_path: Path) -> None:
    """Fifty events of a day at most; another day has a flash of its own."""
    days = (0,) * 60 + (1,) * 3
    with home(tmp_path / "home") as lab:
        lab.journal.append([tool_event("the session cache", at=NOW - (1 - day) * DAY) for day in days])
        export(lab, tmp_path / "out")
    events = json.loads((tmp_path / "out" / "flash" / "s1.json").read_text())["events"]
    assert len(events) == 50 + 3
