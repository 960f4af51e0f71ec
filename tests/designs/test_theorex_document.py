"""Theorex's files and commands as its document prints them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW, Run
from hostile_server import HostileServer, completion

from theorex_lab import FixedClock, Lab, new_event
from theorex_lab.core.clock import to_iso
from theorex_lab.core.errors import FilesThere
from theorex_lab.designs.theorex import bus_events, submission
from theorex_lab.designs.theorex.document_files import export_document


def documents(folder: Path) -> list[Any]:
    return [json.loads(file.read_text()) for file in sorted(folder.glob("*.json"))]


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """A home with something of each kind of file."""
    lab = Lab(tmp_path / "home", clock=FixedClock(NOW))
    lab.agent("main").write("TTL invalidation prevents cache stampedes")
    call = {
        "tool": "Bash",
        "input": "pytest tests of cache stampedes",
        "response": "x" * 600,
        "source": "tool",
        "project": "till-1",
    }
    lab.journal.append(
        [new_event("tool_used", call, agent="main", session="s-1", at=NOW)]
    )
    return lab


def test_a_session_that_was_not_flushed_is_a_file_with_scored_events(
    lab: Lab, tmp_path: Path
) -> None:
    exported = export_document(lab.home, tmp_path / "data")
    (session,) = documents(tmp_path / "data" / "flash")
    (event,) = session["events"]
    assert session["session_id"] == "s-1"
    assert event["tool_name"] == "Bash"
    assert event["tool_input_preview"] == "pytest tests of cache stampedes"
    assert len(event["tool_response_preview"]) == 500
    assert event["timestamp"] == to_iso(NOW)
    assert 0 < event["significance_score"] <= 1
    assert exported.files["flash/*.json"] == 1
    lab.end_session("s-1")
    export_document(lab.home, tmp_path / "later")
    assert not (tmp_path / "later" / "flash").exists()


def test_tasks_lie_in_the_folder_of_whom_they_were_sent_to(
    lab: Lab, tmp_path: Path
) -> None:
    payload = {"file": "till.py"}
    lab.tasks.send("main", "sage", "review", payload)
    done_id = lab.tasks.send("main", "sage", "summary", payload)
    for _ in range(2):
        lab.tasks.claim("sage")
    lab.tasks.complete(done_id, {"lines": 3})
    export_document(lab.home, tmp_path / "data")
    tasks = {task["status"]: task for task in documents(tmp_path / "data/a2a/sage")}
    shared = {"from_agent": "main", "to_agent": "sage", "payload": payload}
    assert tasks.keys() == {"working", "completed"}
    assert shared.items() <= tasks["working"].items()
    assert tasks["working"].keys() == {
        *shared,
        "id",
        "task_type",
        "status",
        "submitted_at",
    }
    done = tasks["completed"]
    assert (done["id"], done["result"]) == (done_id, {"lines": 3})
    assert done["completed_at"] >= done["submitted_at"]


def test_policies_and_maintenances_are_written_and_not_those_of_one_agent(
    lab: Lab, tmp_path: Path
) -> None:
    step = {"name": "scan", "ok": True, "seconds": 0.5, "detail": "nothing"}
    night = {"steps": [step], "fixes": 2, "gate": []}
    policy = {
        "number": 1,
        "settings": {"halfLifeDays": 14},
        "metrics": {"memory": {"score": 0.5, "n": 9}},
        "reason": "first",
        "parent": None,
    }
    lab.journal.append(
        [
            new_event("policy", policy, agent="main", at=NOW),
            new_event("nightly", night, agent="main", at=NOW),
        ]
    )
    data = tmp_path / "data"
    export_document(lab.home, data)
    (snapshot,) = documents(data / "policy-snapshots")
    assert (data / "policy-snapshots" / "1.json").exists()
    assert (snapshot["version"], snapshot["metrics"]) == (1, policy["metrics"])
    assert len(snapshot["config_hash"]) == 64
    (line,) = (data / "evolution.jsonl").read_text().splitlines()
    assert json.loads(line) == {"timestamp": to_iso(NOW), **night}
    export_document(lab.home, tmp_path / "one", agent="main")
    names = {path.name for path in (tmp_path / "one").iterdir()}
    assert "agents" in names
    assert not {"policy-snapshots", "evolution.jsonl", "SHARED_CONTEXT.md"} & names


def test_a_folder_that_is_not_empty_is_written_into_only_where_it_is_asked(
    lab: Lab, tmp_path: Path
) -> None:
    export_document(lab.home, tmp_path / "data")
    with pytest.raises(FilesThere, match="--replace"):
        export_document(lab.home, tmp_path / "data")
    export_document(lab.home, tmp_path / "data", replace=True)


def test_the_command_writes_the_files_and_import_reads_them(
    run: Run, tmp_path: Path
) -> None:
    run("tiers", "write", "--agent", "main", "TTL invalidation prevents stampedes")
    data = tmp_path / "data"
    ended = run("tiers", "export", str(data), "--layout", "files", "--json")
    assert ended.code == 0, ended.err
    assert ended.json["folder"] == str(data)
    assert ended.json["files"]["agents/main/axon.json"] == 3
    read = run("import", str(data), "--home", str(tmp_path / "other"), "--json")
    assert read.code == 0, read.err
    assert read.json["imported"] > 0
    assert run("tiers", "export", str(data)).code == 1


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that were started in the background, and run in none."""
    commands: list[list[str]] = []
    monkeypatch.setattr(
        submission,
        "start_in_background",
        lambda words, *_: commands.append(list(words)),
    )
    return commands


def test_a_submitted_task_has_its_trace_id_before_the_model_is_asked(
    run: Run, tmp_path: Path, started: list[list[str]]
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with HostileServer(completion("extract a method")) as server:
        models = {"only": {"tier": "medium", "url": server.url}}
        (home / "config.json").write_text(json.dumps({"models": models}))
        ended = run(
            *("tiers", "submit", "diagnose", "cache", "invalidation", "failure"),
            *("--agent", "main", "--context", "60", "--trace-id", "run-7:A", "--json"),
        )
        assert ended.json == {"trace_id": "run-7:A"}
        assert server.requests == []
        (words,) = started
        assert "diagnose" not in words, "what is asked stands in no list of processes"
        assert run(*words).code == 0
        assert len(server.requests) == 1
        assert run(*words).code == 1, "it is asked once"
    trace = run("traces", "run-7:A", "--json").json
    assert (trace["task"], trace["success"]) == (
        "diagnose cache invalidation failure",
        True,
    )
    assert [path.name for path in (home / "calls").iterdir()] == ["submit.log"]


def test_a_submitted_call_that_fails_is_traced_under_its_id(
    run: Run, started: list[list[str]]
) -> None:
    trace_id = run("tiers", "submit", "add 2 and 2", "--json").json["trace_id"]
    (words,) = started
    assert run(*words).code == 1
    assert run("traces", trace_id, "--json").json["success"] is False


def test_nothing_is_submitted_that_could_not_be_dispatched(
    run: Run, started: list[list[str]]
) -> None:
    below = run("tiers", "submit", "add 2 and 2", "--context", "20", "--json")
    assert below.json == {"trace_id": None}
    assert run("tiers", "submit", "add", "--trace-id", "no/id").code == 1
    assert run("tiers", "submit").code == 2
    assert run("tiers", "submit", "add", "--run", "x").code == 2
    assert started == []


def test_a_trace_file_is_named_by_the_id_that_was_given(
    run: Run, tmp_path: Path
) -> None:
    trace_id = "0b7e4c1a-9d52-4f6e-8a31-5c2f7d9e1b40"
    ended = run("dispatch", "add 2 and 2", "--trace-id", trace_id, "--json")
    assert ended.json["trace_id"] == trace_id
    assert run("tiers", "export", str(tmp_path / "data")).code == 0
    (file,) = (tmp_path / "data" / "traces").iterdir()
    trace = json.loads(file.read_text())
    assert (file.name, trace["id"]) == (f"{trace_id}.json", trace_id)
    assert trace["tags"][0] == trace["query_type"]


def bus_event(name: str, second: int, **members: Any) -> str:
    timestamp = to_iso(NOW + second * 1_000_000)
    return json.dumps({"event": name, "timestamp": timestamp, **members})


START, TOOL, END = bus_events.EVENT_NAMES
LARGE = {"agent_id": "main", "model": "qwen3-32b"}
SMALL = {"agent_id": "main", "model": "ministral-3b"}
CALLS = [
    bus_event(START, 0, **LARGE, prompt_tokens=12, query_type="code", trace_id="first"),
    bus_event(START, 1, **SMALL, prompt_tokens=7, query_type="math", trace_id="second"),
    bus_event(
        TOOL, 2, trace_id="first", tool_name="Bash", tool_input="ls", tool_response="ok"
    ),
    bus_event(END, 3, **SMALL, trace_id="second", success=False, error="timeout"),
    bus_event(END, 4, **LARGE, completion_tokens=30, success=True, latency_ms=4000),
    bus_event(END, 5, agent_id="sage", model="qwen3-32b", success=True),
    bus_event("LM_INFERENCE_MIDDLE", 6),
]


def test_overlapping_calls_give_two_traces_and_an_end_without_start_gives_none(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "calls.jsonl").write_text("\n".join(CALLS))
    emitted = ("tiers", "trace-emit", str(tmp_path / "calls.jsonl"), "--json")
    report = run(*emitted).json
    assert (report["imported"], report["skipped"]) == (2, 0)
    end, middle = report["problems"]
    assert "LM_INFERENCE_END of no open call" in end
    assert "got the event 'LM_INFERENCE_MIDDLE'" in middle
    first, second = (
        run("traces", trace_id, "--json").json for trace_id in ("first", "second")
    )
    assert (first["success"], first["total_tokens"], first["latency_ms"]) == (
        True,
        42,
        4000,
    )
    assert [tool["tool"] for tool in first["events"]] == ["Bash"]
    assert (first["tags"][0], second["tags"][0]) == ("code", "math")
    assert (second["success"], second["error"], second["latency_ms"]) == (
        False,
        "timeout",
        None,
    )
    assert run(*emitted).json["skipped"] == 2


def test_the_events_of_a_trace_make_the_same_trace_elsewhere(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "calls.jsonl").write_text("\n".join(CALLS))
    run("tiers", "trace-emit", str(tmp_path / "calls.jsonl"))
    printed = run("tiers", "trace-events", "first").out
    names = [json.loads(line)["event"] for line in printed.splitlines()]
    assert names == ["LM_INFERENCE_START", "TOOL_USE", "LM_INFERENCE_END"]
    (tmp_path / "first.jsonl").write_text(printed)
    other = ("--home", str(tmp_path / "other"))
    again = run("tiers", "trace-emit", str(tmp_path / "first.jsonl"), *other, "--json")
    assert (again.json["imported"], again.json["problems"]) == (1, [])
    assert run("tiers", "trace-events", "first", *other).out == printed
