"""What results look like when they are printed, or stand at the end of a cell."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from compared_logs import Remembers, asked_log
from conftest import NOW

from theorex_lab import Briefing, FixedClock, Lab
from theorex_lab.dispatch.traces import Trace
from theorex_lab.dispatch.worker import DispatchResult
from theorex_lab.eval import Comparison, compare
from theorex_lab.eval.metrics.access import Tuning
from theorex_lab.eval.metrics.costs import CostScore
from theorex_lab.eval.metrics.failures import FailureScores
from theorex_lab.eval.metrics.fitting import Fit, LawScore
from theorex_lab.eval.metrics.retrieval import METRICS, Retrieval
from theorex_lab.eval.metrics.routing import OURS, PolicyScore, RoutingScore
from theorex_lab.evolution.outcomes import Outcome
from theorex_lab.files.formats.reports import Exported, FileReport
from theorex_lab.files.ingest.documents import Ingested
from theorex_lab.files.transcripts.importing import Imported

WRITTEN = "We chose PostgreSQL because of its JSON support"
LONGEST_REPR = 200
LONG = "The till rounds half up because the ledger does so. " * 20
TRACE_TIME = "2026-03-01T09:00:00.000000Z"


def a_briefing(lab: Lab) -> Briefing:
    return lab.in_project("shop").briefing()


def a_trace(_: Lab) -> Trace:
    return Trace(
        id="t1",
        agent_id="main",
        model="qwen",
        start_time=TRACE_TIME,
        end_time=TRACE_TIME,
        total_tokens=10,
        prompt_tokens=4,
        completion_tokens=6,
        latency_ms=12.0,
        success=True,
        lost=False,
        unavailable=False,
        error=None,
        tags=(),
        query_type="code",
        task=LONG,
        response=LONG,
        events=(),
        outcome_id=None,
        attempts=({"model": "qwen", "success": True},),
        reasons=(LONG,),
    )


def an_import(lab: Lab) -> Imported:
    path = lab.folder / "transcripts"
    path.mkdir()
    line = {"session": "s1", "hook_event_name": "UserPromptSubmit", "prompt": LONG}
    line |= {"at": TRACE_TIME, "cwd": "shop"}
    (path / "s1.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    return lab.import_transcripts(path)


def an_outcome(lab: Lab) -> Outcome:
    lab.outcomes.record(
        agent="main", decision=LONG, result=LONG, success=False, tags=["till"]
    )
    return lab.outcomes.outcomes()[0]


def an_export(lab: Lab) -> Exported:
    return lab.export_files(lab.folder / "exported")


def a_file_report(lab: Lab) -> FileReport:
    an_export(lab)
    return lab.import_files(lab.folder / "exported")[0]


def an_ingestion(lab: Lab) -> Ingested:
    (lab.folder / "till.md").write_text(f"# Till\n\n{LONG}\n", encoding="utf-8")
    return lab.ingest(lab.folder / "till.md")


def an_answer(_: Lab) -> DispatchResult:
    return DispatchResult("1", "qwen", LONG, 12.0, True, False, "t1", None, (LONG,))


def a_comparison(_: Lab) -> Comparison:
    return compare([asked_log()], {"keeps": Remembers}, budgets=(500,))


def a_retrieval(_: Lab) -> Retrieval:
    return Retrieval(2, {"lexical": np.ones((2, len(METRICS)))})


def a_tuning(_: Lab) -> Tuning:
    score = LawScore(0.5, 0.4, 0.6, 0.7)
    return Tuning(Fit("recency", "recency", {}, {"recency": score}, 6, 3, 7.0))


def a_routing_score(_: Lab) -> RoutingScore:
    names = (OURS, "best single")
    rows = tuple(PolicyScore(name, 0.5, 0.4, 0.6, 0.1, 1.0, 0, 0, 0) for name in names)
    return RoutingScore("set", 9, 9, 0, 0, ("qwen",), "dollars", rows, {}, "", ())


def a_cost_score(_: Lab) -> CostScore:
    rows = (PolicyScore("cheapest", 0.5, 0.4, 0.6, 0.1, 1.0, 0, 0, 0),)
    return CostScore("set", 9, 9, "dollars", rows)


def failure_scores(_: Lab) -> FailureScores:
    halves = np.array([0.0, 1.0])
    hits = {"find_decisive": (halves, halves)}
    return FailureScores("all", 2, hits, 0, halves, halves)


# What a user prints, and a word that printing it must show.
RESULTS: dict[str, tuple[Callable[[Lab], Any], str]] = {
    "Lab": (lambda lab: lab, "Lab"),
    "Agent": (lambda lab: lab.agent("main"), "main"),
    "Hits": (lambda lab: lab.search("PostgreSQL"), WRITTEN),
    "Hit": (lambda lab: lab.search("PostgreSQL")[0], WRITTEN),
    "Briefing": (a_briefing, "PostgreSQL"),
    "BriefingLine": (lambda lab: a_briefing(lab).lines[0], "PostgreSQL"),
    "MaintenanceReport": (lambda lab: lab.maintain(reviewer="heuristic"), "acceptance"),
    "Decision": (lambda lab: lab.route("Sort a list in Python"), "heuristic"),
    "MatrixResult": (lambda lab: lab.matrix(), "query_type"),
    "TraceStatistics": (lambda lab: lab.trace_stats(), "0 calls"),
    "Verification": (lambda lab: lab.verify(), "kinds"),
    "Trace": (a_trace, "attempts"),
    "Outcome": (an_outcome, "decision"),
    "Imported": (an_import, "sessions: 1"),
    "Ingested": (an_ingestion, "parts: 1"),
    "Exported": (an_export, "exported"),
    "FileReport": (a_file_report, "file"),
    "DispatchResult": (an_answer, "response"),
    "Comparison": (a_comparison, "keeps"),
    "Tuning": (a_tuning, "recency"),
    "Retrieval": (a_retrieval, "lexical"),
    "RoutingScore": (a_routing_score, "best single"),
    "CostScore": (a_cost_score, "policy"),
    "FailureScores": (failure_scores, "find_decisive"),
}
TABLES = ("Hits", "MaintenanceReport", "Comparison", "Tuning", "Retrieval")
TABLES += ("RoutingScore", "CostScore", "FailureScores", "Lab")


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path, clock=FixedClock(NOW)) as opened:
        opened.in_project("shop", new=True).agent("main").write(WRITTEN)
        yield opened


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_short_in_a_list_and_whole_when_printed(
    name: str, lab: Lab
) -> None:
    make, word = RESULTS[name]
    result = make(lab)
    assert type(result).__name__ == name
    shown = repr(result)
    assert shown.startswith(f"{name}(")
    assert len(shown) <= LONGEST_REPR
    assert "\n" not in shown
    assert word in str(result)
    assert len(max(str(result).splitlines(), key=len)) < 2 * LONGEST_REPR


@pytest.mark.parametrize("name", TABLES)
def test_what_has_rows_is_a_table_in_a_notebook(name: str, lab: Lab) -> None:
    make, _ = RESULTS[name]
    assert "<table" in make(lab)._repr_html_()


def test_printed_hits_show_their_texts_and_notes(lab: Lab) -> None:
    hits = lab.search("PostgreSQL")
    assert (
        str(hits) == f"{hits[0].score:.2f}  {WRITTEN}  ({', '.join(hits.signals[0])})"
    )
    assert len(repr(hits)) < LONGEST_REPR
    other = lab.in_project("mill", new=True).search("PostgreSQL")
    first, note = str(other).splitlines()
    assert first == "nothing found"
    assert note.startswith("(nothing is remembered of this project, but of others: ")


def test_times_are_timestamps(lab: Lab) -> None:
    times = lab.search("PostgreSQL").frame["timestamp"]
    assert str(times.dtype) == "datetime64[us, UTC]"
    assert times[0] == pd.Timestamp(NOW, unit="us", tz="UTC")
    nothing = lab.search("zeppelin", vectors="never").frame
    assert len(nothing) == 0
    assert "timestamp" in nothing.columns


def test_a_briefing_is_short_in_a_list_and_whole_when_printed(lab: Lab) -> None:
    briefing = lab.in_project("shop").briefing()
    assert repr(briefing) == f"Briefing(1 lines, {briefing.tokens} tokens)"
    assert str(briefing) == briefing.text


def test_a_maintenance_report_has_a_line_for_each_step(lab: Lab) -> None:
    report = lab.maintain(reviewer="heuristic")
    heading, *lines = str(report).splitlines()
    assert heading == repr(report) == f"MaintenanceReport({len(lines)} steps, all well)"
    for line, step in zip(lines, report.steps, strict=True):
        assert line.split() == ["ok", f"{step.name}:", *step.detail.split()]
    assert "all well" in report._repr_html_()


def test_a_lab_shows_its_projects_in_a_notebook(lab: Lab) -> None:
    html = lab._repr_html_()
    assert "shop" in html
    assert len(repr(lab)) < LONGEST_REPR + len(str(lab.folder))


def test_an_empty_lab_shows_where_it_is(tmp_path: Path) -> None:
    with Lab(tmp_path / "empty") as lab:
        assert lab._repr_html_().startswith("<p>Lab(")
