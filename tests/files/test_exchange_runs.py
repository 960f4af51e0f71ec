"""Traces and outcomes in files: what comes back, whose they are, and what they count."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW, erase
from test_exchange import contents, export, heard, home, runs, state, take

from theorex_lab import Design, Event, FixedClock, InvalidInput, Lab, new_event
from theorex_lab.core.clock import to_iso
from theorex_lab.designs.theorex.flash import Flash
from theorex_lab.dispatch.bus import CallEnd, CallStart, ToolCall
from theorex_lab.dispatch.llm import Attempt
from theorex_lab.dispatch.traces import Traces, trace
from theorex_lab.evolution.outcomes import OutcomeLog
from theorex_lab.files.formats.home_files import import_runs
from theorex_lab.files.formats.reports import file_name
from theorex_lab.memory.contract import EventsPart
from theorex_lab.memory.evidence import EvidenceView

MINUTE = 60_000_000
TRACE = {
    "id": "5f0c",
    "agent_id": "sage",
    "model": "qwen3-32b",
    "start_time": "2026-02-01T10:00:00.000Z",
    "end_time": "2026-02-01T10:00:02.000Z",
    "total_tokens": 90,
    "latency_ms": 2000,
    "success": True,
    "tags": ["code", "qwen3-32b"],
    "events": [],
    "version": 3,
}
OUTCOME = {
    "id": "out-1",
    "agent_id": "sage",
    "decision": "raised the TTL",
    "result": "the cache stayed stale",
    "success": False,
    "concept_ids": ["17363312637263152637"],
    "tags": ["cache"],
    "explicit_score": 0.2,
    "thumbs_up": False,
    "trace_id": "5f0c",
    "timestamp": "2026-02-01T11:00:00.000Z",
    "mood": "sour",
}


def log(lab: Lab) -> OutcomeLog:
    return OutcomeLog(lab.home)


def call(
    lab: Lab,
    trace_id: str,
    *,
    end: bool = True,
    success: bool = True,
    lost: bool = False,
    **more: Any,
) -> None:
    start = CallStart(
        trace_id,
        "sage",
        NOW - MINUTE,
        "mend the cache",
        "code",
        "large",
        "s1",
        ("x",),
        ("rule",),
        60,
        9,
        **more,
    )
    used = (
        ToolCall(trace_id, NOW - 2, "Bash", "ls", "cache.py"),
        ToolCall(trace_id, NOW - 1, "Edit", "cache.py", "done"),
    )
    lab.journal.append([start.event(), *(tool.event(start) for tool in used)])
    attempts = (
        Attempt("large", False, error="gone"),
        Attempt("small", success, 12.5 if success else None, 7, 0.25),
    )
    if end:
        told = (
            12.5 if success else None,
            None if success else "gone",
            "mended",
            () if lost else attempts,
            lost,
        )
        lab.journal.append(
            [CallEnd(trace_id, NOW, success, "small", 7, *told).event(start)]
        )


@pytest.fixture
def worked(tmp_path: Path) -> Path:
    """The exported runs of an agent, in the folder `out`: calls of every kind, an
    outcome that two were made for.
    """
    with home(tmp_path / "home") as lab:
        made = log(lab).record(
            "sage",
            "raised the TTL",
            "still stale",
            success=False,
            tags=["cache"],
            explicit_score=0.2,
        )
        call(lab, "second", outcome_id=made.outcome_id)
        call(lab, "first", outcome_id=made.outcome_id, success=False)
        call(lab, "run-7:A")
        call(lab, "open", end=False)
        call(lab, "lost", success=False, lost=True)
        log(lab).correct(made.outcome_id, judge_score=0.5, thumbs_up=True, success=True)
        lab.agent("main").write("The cache was mended", observation_type="moment")
        export(lab, tmp_path / "out")
    return tmp_path / "out"


def test_runs_come_back_the_same(worked: Path, tmp_path: Path) -> None:
    with home(tmp_path / "home") as lab:
        before = runs(lab)
        events = lab.journal.last_seq()
        take(lab, worked)
        new = {event.kind for event in lab.journal.tail(events)}
        assert new <= {"imported", "imported_links"}, (
            "an axon states its numbers; of runs there is nothing new"
        )
        assert runs(lab) == before
    with home(tmp_path / "other") as lab:
        reports = {report.file: report for report in take(lab, worked)}
        assert (
            reports["traces/*.json"].imported,
            reports["traces/*.json"].problems,
        ) == (5, [])
        (outcome_file,) = [
            report for name, report in reports.items() if name.startswith("outcomes/")
        ]
        assert (outcome_file.imported, outcome_file.skipped, outcome_file.problems) == (
            1,
            0,
            [],
        )
        assert runs(lab) == heard(before)
        assert {
            name: len(each.events) for name, each in before["traces"].items()
        } == dict.fromkeys(before["traces"], 2)
        (outcome,) = log(lab).outcomes()
        assert (
            outcome.trace_id,
            outcome.judge_score,
            outcome.thumbs_up,
            outcome.success,
        ) == ("first", 0.5, True, True)
        last = lab.journal.last_seq()
        assert sum(report.imported for report in take(lab, worked)) == 0
        assert lab.journal.last_seq() == last
        assert lab.verify().ok
        kinds = ("trace_started", "trace_ended", "tool_used", "outcome", "observation")
        assert {event.body["source"] for event in lab.journal.tail(0, kinds=kinds)} == {
            "import"
        }
        assert lab.views.get(Flash).waiting(lab.home, "sage") == [], (
            "imported tool events wait for no flush"
        )


@pytest.mark.usefixtures("forgets_kinds")
def test_only_a_design_that_waits_for_tool_events_marks_those_of_runs(
    worked: Path, tmp_path: Path
) -> None:
    asked: list[list[str]] = []

    def settled(captures: Sequence[Event]) -> list[Event]:
        asked.append([event.body["trace_id"] for event in captures])
        first = captures[0]
        return [
            new_event("seen", {}, agent=first.agent, session=first.session, at=first.at)
        ]

    waits = Design("waits", kinds={"seen": 1}, events=EventsPart(settled=settled))
    for name, designs, marks in (
        ("none", [], 0),
        ("other", [Design("other")], 0),
        ("waits", [waits], 5),
    ):
        with Lab(tmp_path / name, clock=FixedClock(NOW), designs=designs) as lab:
            for again in (False, True):
                reports = {
                    each.file: each for each in lab.import_files(worked, trusted=True)
                }
                assert reports["traces/*.json"].imported == (0 if again else 5)
            kinds = [event.kind for event in lab.journal.tail(0)]
            assert (
                kinds.count("seen"),
                kinds.count("flushed"),
                kinds.count("tool_used"),
            ) == (marks, 0, 10)
    assert sorted(asked) == sorted(
        [each, each] for each in ("second", "first", "run-7:A", "open", "lost")
    )


def test_tokens_of_prompt_and_answer_stay_apart_and_make_their_sum(
    tmp_path: Path,
) -> None:
    record = {
        "id": "t",
        "start_time": to_iso(NOW),
        "end_time": to_iso(NOW),
        "success": True,
        "model": "m",
        "task": "why",
        "query_type": "weather",
        "prompt_tokens": 30,
        "completion_tokens": 12,
    }
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "t.json").write_text(json.dumps(record))
    with home(tmp_path / "home") as lab:
        import_runs(lab.home, None, tmp_path, trusted=True)
        found = lab.trace("t")
        assert (found.prompt_tokens, found.completion_tokens, found.total_tokens) == (
            30,
            12,
            42,
        )
        assert [
            (cell.query_type, cell.tokens) for cell in lab.matrix(min_samples=1)
        ] == [("general", 42.0)], "of no type"
        export(lab, tmp_path / "again")
    told = json.loads((tmp_path / "again" / "traces" / "t.json").read_text())
    assert {
        key: told[key]
        for key in ("prompt_tokens", "completion_tokens", "total_tokens", "query_type")
    } == {
        "prompt_tokens": 30,
        "completion_tokens": 12,
        "total_tokens": 42,
        "query_type": "weather",
    }


def test_a_correction_still_speaks_of_the_answer_that_it_followed(
    tmp_path: Path,
) -> None:
    """The file of an outcome has its first time, before the call; what it says of the
    call was said after it.
    """
    with home(tmp_path / "home") as lab:
        made = log(lab).record("sage", "asked for help", "none came", success=True)
        lab.clock.advance(seconds=1)
        call(lab, "wrong", outcome_id=made.outcome_id)
        lab.clock.advance(seconds=1)
        log(lab).correct(made.outcome_id, success=False)
        before = runs(lab)
        assert [cell[3] for cell in before["cells"] if cell[1] == "small"] == ["0.0"]
        export(lab, tmp_path / "out")
    with home(tmp_path / "other") as lab:
        take(lab, tmp_path / "out")
        assert runs(lab) == heard(before)
        export(lab, tmp_path / "again")
    with home(tmp_path / "third") as lab:
        take(lab, tmp_path / "again")
        assert runs(lab) == heard(before)


def test_trusted_runs_keep_their_sources(worked: Path, tmp_path: Path) -> None:
    with home(tmp_path / "other") as lab:
        take(lab, worked, trusted=True)
        found = {
            (event.kind, event.body["source"])
            for event in lab.journal.tail(
                0, kinds=("outcome", "tool_used", "trace_ended")
            )
        }
        assert found == {
            ("outcome", "agent"),
            ("tool_used", "tool"),
            ("trace_ended", "model"),
        }
        export(lab, tmp_path / "again")
    assert contents(tmp_path / "again") == contents(worked)


def test_names_of_files_come_from_no_unchecked_id(worked: Path) -> None:
    names = sorted(path.name for path in (worked / "traces").iterdir())
    hashed = file_name("run-7:A")
    assert names == sorted(
        ["first.json", "second.json", "open.json", "lost.json", hashed]
    )
    plain = file_name("run-7")
    assert plain == "run-7.json"
    unsafe = [
        "../x",
        "a/b",
        "",
        ".",
        "con",
        "A",
        "a",
        "a.id",
        hashed.removesuffix(".json"),
        "x" * 200,
        "nul",
        "a\n",
        "ä",
    ]
    made = [file_name(each) for each in unsafe]
    assert len(set(made)) == len(unsafe)
    assert [name for name in made if not name.endswith(".id.json")] == ["a.json"]
    assert all(len(name) < 60 and name.isascii() and "/" not in name for name in made)


def test_an_erased_trace_has_no_file(tmp_path: Path) -> None:
    with home(tmp_path / "home") as lab:
        call(lab, "kept")
        call(lab, "gone")
        call(lab, "half")
        ended = {
            event.body["trace_id"]: event.id
            for event in lab.journal.tail(0, kinds=("trace_ended",))
        }
        started = {
            event.body["trace_id"]: event.id
            for event in lab.journal.tail(0, kinds=("trace_started",))
        }
        erase(lab.journal, [started["gone"], ended["half"]], agent="main", at=NOW)
        done = export(lab, tmp_path / "out")
    assert done.files["traces/*.json"] == 1
    assert [path.name for path in (tmp_path / "out" / "traces").iterdir()] == [
        "kept.json"
    ]


def test_one_agent_s_runs_are_exported_alone(worked: Path, tmp_path: Path) -> None:
    with home(tmp_path / "home") as lab:
        assert "traces/*.json" not in export(lab, tmp_path / "main", agent="main").files
        files = export(lab, tmp_path / "sage", agent="sage").files
        assert (files["traces/*.json"], files["outcomes/*.json"]) == (5, 1)


def theirs(folder: Path) -> Path:
    """Runs as the original system writes them, indented; a call that failed has the
    latency 0.
    """
    failed = {
        **TRACE,
        "id": "77",
        "model": "ministral-3b",
        "success": False,
        "latency_ms": 0,
        "error": "timeout",
    }
    used = {
        "tool_name": "Read",
        "tool_input": {"path": "cache.py"},
        "tool_response": "ok",
        "score": 1,
    }
    for kind, records in (
        ("traces", [{**TRACE, "events": [used]}, failed]),
        ("outcomes", [OUTCOME]),
    ):
        (folder / kind).mkdir(parents=True)
        for record in records:
            (folder / kind / f"{record['id']}.json").write_text(
                json.dumps(record, indent=2)
            )
    return folder


def test_runs_of_the_original_system(tmp_path: Path) -> None:
    folder = theirs(tmp_path / "data")
    with home(tmp_path / "home") as lab:
        assert [report.imported for report in take(lab, folder)] == [1, 2]
        found = trace(lab.views, "5f0c")
        assert (found.query_type, found.tags, found.start_time) == (
            "code",
            ("code", "qwen3-32b"),
            "2026-02-01T10:00:00.000000Z",
        )
        (used,) = found.events
        assert (used["tool"], used["input"], used["response"]) == (
            "Read",
            '{"path":"cache.py"}',
            "ok",
        )
        (outcome,) = log(lab).outcomes()
        assert (outcome.trace_id, outcome.timestamp, round(outcome.score, 6)) == (
            "5f0c",
            "2026-02-01T11:00:00.000000Z",
            0.133333,
        )
        assert 17363312637263152637 not in outcome.concept_ids, (
            "ids of another kind mean nothing here"
        )
        assert outcome.concept_ids
        assert [each.outcome_id for each in log(lab).queue()] == [outcome.outcome_id]
        cells = lab.views.get(EvidenceView).table.cells()
        assert sorted(
            zip(
                cells.options,
                cells.n.tolist(),
                map(str, cells.latency_ms.tolist()),
                strict=True,
            )
        ) == [
            ("ministral-3b", 1.0, "nan"),
            ("qwen3-32b", 1.0, "2000.0"),
        ]
        before = state(lab)
        assert [report.imported for report in take(lab, folder)] == [0, 0]
        assert state(lab) == before


def test_single_files_are_known_by_what_is_in_them(tmp_path: Path) -> None:
    folder = theirs(tmp_path / "data")
    with home(tmp_path / "home") as lab:
        for source, name in (
            ("traces/5f0c.json", "a.json"),
            ("outcomes/out-1.json", "b.json"),
        ):
            assert take(lab, (folder / source).rename(tmp_path / name))[0].imported == 1
        assert take(lab, folder / "traces" / "77.json")[0].file == "traces/77.json"
        assert [*lab.views.get(Traces).ids] == ["5f0c", "77"]
        assert log(lab).outcomes()[0].trace_id is None, (
            "its call began before it was known"
        )
        with pytest.raises(InvalidInput, match=r"traces/\*\.json"):
            take(lab, tmp_path / "nowhere")


def test_a_failure_that_was_reviewed_is_not_reviewed_again_where_it_is_imported(
    tmp_path: Path,
) -> None:
    with home(tmp_path / "home") as lab:
        failures = [
            log(lab).record("sage", decision, "still stale", success=False)
            for decision in ("raised the TTL", "flushed the cache")
        ]
        reviewed, waiting = failures
        review = new_event(
            "reviewed", {"outcome_id": reviewed.outcome_id}, agent="sage", at=NOW
        )
        lab.journal.append([review])
        export(lab, tmp_path / "out")
    with home(tmp_path / "other") as lab:
        take(lab, tmp_path / "out")
        assert [each.decision for each in log(lab).queue()] == [waiting.decision]
        assert len(log(lab).queue(again=True)) == 2, "but again where it is asked"
        export(lab, tmp_path / "again")
    folders = [tmp_path / name / "outcomes" for name in ("out", "again")]
    marks = []
    for folder in folders:
        documents = [json.loads(file.read_text()) for file in folder.glob("*.json")]
        marks.append({each["decision"]: each.get("reviewed") for each in documents})
    assert marks == [{"raised the TTL": True, "flushed the cache": None}] * 2
