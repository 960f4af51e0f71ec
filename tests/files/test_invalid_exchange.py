"""What an import refuses: line by line with the reason, and the good lines are kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW
from test_exchange import home, take

from theorex_lab import InvalidInput
from theorex_lab.core.ids import concept_id

OBSERVED = {
    "text": "a cache went stale",
    "timestamp": "2026-02-01T00:00:00Z",
    "agent_id": "main",
}
KEPT = {
    "surface_form": "Cache",
    "composite_score": 0.5,
    "timestamp": "2026-02-01T00:00:00Z",
    "agent_id": "main",
}
NODE = {
    "surface_form": "Cache",
    "last_seen": "2026-02-01T00:00:00Z",
    "frequency_count": 2,
}
EDGE = {
    "source": "a",
    "target": "b",
    "attributes": {"strength": 0.1, "last_co_occurrence": "2026-02-01T00:00:00Z"},
}

CALLED = {
    "agent_id": "main",
    "model": "small",
    "start_time": "2026-02-01T00:00:00Z",
    "end_time": "2026-02-01T00:00:01Z",
    "latency_ms": 10,
    "success": True,
    "tags": ["code", "small"],
}
CONCLUDED = {
    "agent_id": "main",
    "decision": "raised the TTL",
    "result": "stale",
    "success": False,
    "timestamp": "2026-02-01T00:00:00Z",
}


def lines(*records: Any) -> bytes:
    encoded = [
        record if isinstance(record, bytes) else json.dumps(record).encode()
        for record in records
    ]
    return b"\n".join(encoded) + b"\n"


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (b'{"text": "cut', "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b'{"text": "a cache", "source_weight": NaN}', "NaN"),
        (b"[1, 2]", "got a list"),
        ({**OBSERVED, "text": " "}, "empty text"),
        ({**OBSERVED, "text": 7}, "got a int"),
        ({**OBSERVED, "text": "a\0b"}, "NUL"),
        ({**OBSERVED, "text": "\ud800"}, "surrogate"),
        ({**OBSERVED, "text": "x" * 70_000}, "maxTextBytes"),
        ({**OBSERVED, "timestamp": "yesterday"}, "got the time 'yesterday'"),
        ({**OBSERVED, "timestamp": "2026-02-01T00:00:00"}, "without an offset"),
        ({**OBSERVED, "timestamp": 1}, "timestamp is 1"),
        ({**OBSERVED, "timestamp": "0001-01-01T00:00:00+14:00"}, "years 1 to 9999"),
        ({**OBSERVED, "agent_id": "../x"}, "'../x'"),
        ({**OBSERVED, "agent_id": None}, "agent id None"),
        ({**OBSERVED, "session_id": "a b"}, "session id"),
        ({**OBSERVED, "session_id": 1}, "session_id is 1"),
        ({**OBSERVED, "observation_type": "De cision"}, "observation type"),
        ({**OBSERVED, "source": "god"}, "source is 'god'"),
        ({**OBSERVED, "source": ["user"]}, "source is ['user']"),
        ({**OBSERVED, "tags": "x"}, "tags is 'x'"),
        ({**OBSERVED, "tags": [1]}, "got a int"),
        ({**OBSERVED, "source_weight": 2}, "source_weight is 2"),
        ({**OBSERVED, "source_weight": True}, "source_weight is True"),
        ({**OBSERVED, "concepts": {}}, "concepts is {}; allowed is a list of [id,"),
        (
            {**OBSERVED, "concepts": [[1, "cache", "Cache"]]},
            "allowed is a list of [id,",
        ),
        ({**OBSERVED, "concepts": [[1, "", "Cache", 1]]}, "empty text"),
        ({**OBSERVED, "concepts": [[1, "cache", "Cache", 0]]}, "count is 0"),
        ({**OBSERVED, "concepts": [[1, "cache", "Cache", 1.5]]}, "count is 1.5"),
        ({**OBSERVED, "concepts": [], "sentiment": -2}, "sentiment is -2"),
        ({**OBSERVED, "lineage": ["x"]}, "lineage is ['x']"),
    ],
)
def test_a_damaged_sentence_is_named_and_the_good_ones_are_kept(
    tmp_path: Path, record: Any, reason: str
) -> None:
    file = tmp_path / "observations.jsonl"
    file.write_bytes(lines(OBSERVED, b"", record, {**OBSERVED, "text": "a second one"}))
    with home(tmp_path / "home") as lab:
        (report,) = take(lab, file)
        assert (report.imported, report.skipped, len(report.problems)) == (2, 0, 1)
        assert report.problems[0].startswith("observations.jsonl:3: ")
        assert reason in report.problems[0]
        assert [event.body["text"] for event in lab.journal.tail(0)] == [
            "a cache went stale",
            "a second one",
        ]
        assert lab.verify().ok


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"composite_score": 1.5}, "composite_score is 1.5"),
        ({"composite_score": None}, "composite_score is None"),
        ({"surface_form": ""}, "empty text"),
        ({"surface_form": {}}, "surface_form is {}"),
        ({"timestamp": "2026-13-01"}, "2026-13-01"),
        ({"agent_id": "A"}, "'A'"),
        ({"frequency_count": 0}, "frequency_count is 0"),
        ({"frequency_count": 10**30}, "frequency_count is 1000"),
        ({"session_id": "\n"}, "session id"),
        ({"source": "x"}, "source is 'x'"),
    ],
)
def test_a_damaged_short_term_record_is_named(
    tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    file = tmp_path / "stm.jsonl"
    file.write_bytes(lines({**KEPT, **change}, KEPT))
    with home(tmp_path / "home") as lab:
        (report,) = take(lab, file)
        assert report.imported == 1
        assert report.problems[0].startswith("stm.jsonl:1: ")
        assert reason in report.problems[0]
        assert lab.verify().ok


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        (None, "allowed is an object with attributes"),
        ({"key": "c", "attributes": []}, "allowed is an object with attributes"),
        ({"key": "c", "attributes": {}}, "empty text"),
        (
            {"key": "c", "attributes": {**NODE, "frequency_count": 0}},
            "frequency_count is 0",
        ),
        (
            {"key": "c", "attributes": {**NODE, "frequency_count": "2"}},
            "frequency_count is '2'",
        ),
        (
            {"key": "c", "attributes": {**NODE, "relevance_tier": "HOT"}},
            "the tier is 'HOT'",
        ),
        ({"key": "c", "attributes": {**NODE, "sentiment": 3}}, "sentiment is 3"),
        (
            {"key": "c", "attributes": {**NODE, "sentiment_sum": 3}},
            "sentiment_sum is 3",
        ),
        (
            {"key": "c", "attributes": {**NODE, "source_weight": -1}},
            "source_weight is -1",
        ),
        (
            {"key": "c", "attributes": {**NODE, "decayed_counts": [1]}},
            "decayed_counts is [1]",
        ),
        (
            {"key": "c", "attributes": {**NODE, "decayed_counts": [-1] * 6}},
            "decayed_counts is [-1, -1",
        ),
        (
            {"key": "c", "attributes": {**NODE, "observation_type": "A B"}},
            "observation type",
        ),
        ({"key": "c", "attributes": {**NODE, "trust": "all"}}, "trust is 'all'"),
    ],
)
def test_a_damaged_node_is_named_and_the_good_ones_are_kept(
    tmp_path: Path, node: Any, reason: str
) -> None:
    good = [
        {"key": name, "attributes": {**NODE, "surface_form": name * 3}} for name in "ab"
    ]
    graph = {
        "nodes": [good[0], node, good[1]],
        "edges": [EDGE, {**EDGE, "target": "c"}, {**EDGE, "target": "a"}, 7],
    }
    file = tmp_path / "axon.json"
    file.write_text(json.dumps(graph))
    with home(tmp_path / "home") as lab:
        (report,) = take(lab, file)
        assert report.imported == 3, "two nodes and a link"
        assert report.problems[0].startswith("axon.json: node 1: ")
        assert reason in report.problems[0]
        assert [problem.split(":")[1] for problem in report.problems[1:]] == [
            " edge 1",
            " edge 2",
            " edge 3",
        ]
        assert lab.verify().ok


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b'{"nodes": 1}', b'{"nodes": [], "attributes": 1}', b"\xff"],
)
def test_a_damaged_document_is_named_and_the_others_go_on(
    tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "agents" / "main").mkdir(parents=True)
    (tmp_path / "agents" / "main" / "axon.json").write_bytes(content)
    (tmp_path / "observations.jsonl").write_bytes(lines(OBSERVED))
    with home(tmp_path / "home") as lab:
        axon, observations = take(lab, tmp_path)
        assert (axon.imported, observations.imported) == (0, 1)
        assert [
            problem.startswith("agents/main/axon.json: ") for problem in axon.problems
        ] == [True]
        assert len(lab.theorex.axon().frame()) > 0, (
            "without their axon the sentences count"
        )


@pytest.mark.parametrize("name", ["..x", "A", ".hidden", "a b"])
def test_a_folder_named_outside_the_rule_is_refused(tmp_path: Path, name: str) -> None:
    for agent in (name, "sage"):
        (tmp_path / "agents" / agent).mkdir(parents=True)
        (tmp_path / "agents" / agent / "axon.json").write_text(
            json.dumps({"nodes": [{"key": "a", "attributes": NODE}]})
        )
    with home(tmp_path / "home") as lab:
        reports = {report.file: report for report in take(lab, tmp_path)}
        refused = reports[f"agents/{name}/axon.json"]
        assert (refused.imported, len(refused.problems)) == (0, 1)
        assert repr(name) in refused.problems[0]
        assert lab.agents() == ["sage"]


def test_a_graph_that_names_an_agent_outside_the_rule_is_refused(
    tmp_path: Path,
) -> None:
    file = tmp_path / "axon.json"
    file.write_text(json.dumps({"attributes": {"agent_id": "../x"}, "nodes": []}))
    with home(tmp_path / "home") as lab:
        assert "'../x'" in take(lab, file)[0].problems[0]
        assert lab.journal.last_seq() == 0


def test_contributions_are_checked(tmp_path: Path) -> None:
    file = tmp_path / "shared-axon.json"
    given = {
        "agent_id": "sage",
        "frequency_count": 2,
        "first_seen": NODE["last_seen"],
        "last_seen": NODE["last_seen"],
    }
    nodes = [
        {"key": "a", "attributes": {**NODE, "contributions": contributions}}
        for contributions in (
            [given],
            7,
            [7],
            [{**given, "agent_id": "A B"}],
            [{**given, "frequency_count": -2}],
        )
    ]
    nameless = {
        "key": "b",
        "attributes": {"concept_id": 2**53, "contributions": [given]},
    }
    edge = {**EDGE, "attributes": {**EDGE["attributes"], "contributions": 1}}  # type: ignore[dict-item]
    file.write_text(json.dumps({"nodes": [*nodes, nameless], "edges": [edge]}))
    with home(tmp_path / "home") as lab:
        (report,) = take(lab, file)
        assert report.imported == 1
        assert len(report.problems) == 5
        assert lab.verify().ok


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (b"{", "not JSON"),
        (b"\xff", "not JSON"),
        (b"[1]", "got a list"),
        (b'{"latency_ms": NaN}', "NaN"),
        ({"id": None}, "trace id ''"),
        ({"id": "../x"}, "'../x'"),
        ({"id": 7}, "trace id 7"),
        ({"id": "x" * 129}, "128"),
        ({"agent_id": "A B"}, "'A B'"),
        ({"start_time": None}, "start_time is None"),
        ({"start_time": "now"}, "'now'"),
        ({"end_time": None}, "end_time is None"),
        ({"success": 1}, "success is 1"),
        ({"success": None}, "success is None"),
        ({"latency_ms": -1}, "latency_ms is -1"),
        ({"latency_ms": "9"}, "latency_ms is '9'"),
        ({"total_tokens": 1.5}, "tokens is 1.5"),
        ({"model": 7}, "model is 7"),
        ({"model": "a\0"}, "NUL"),
        ({"task": "\ud800"}, "surrogates"),
        ({"tags": "code"}, "tags is 'code'"),
        ({"tags": [1]}, "got a int"),
        ({"events": {}}, "events is {}"),
        ({"events": [7]}, "got a int"),
        ({"events": [{"at": "x"}]}, "'x'"),
        ({"events": [{"source": "god"}]}, "source is 'god'"),
        ({"attempts": [{"model": "m"}]}, "success is None"),
        ({"attempts": [{"success": True, "cost": -1}]}, "cost is -1"),
        ({"lost": "no"}, "lost is 'no'"),
        ({"reasons": [7]}, "reasons is [7]"),
        ({"context_pct": 101}, "context_pct is 101"),
        ({"session_id": "a b"}, "session id"),
        ({"error": ["x"]}, "error is ['x']"),
        ({"source": "god"}, "source is 'god'"),
    ],
)
def test_a_damaged_trace_is_named_and_the_others_are_kept(
    tmp_path: Path, change: Any, reason: str
) -> None:
    refused(tmp_path, "traces", CALLED, change, reason)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (b"", "not JSON"),
        ({"agent_id": "../x"}, "'../x'"),
        ({"decision": " "}, "empty text"),
        ({"result": 7}, "result is 7"),
        ({"success": "yes"}, "success is 'yes'"),
        ({"tags": [" x"]}, "' x'"),
        ({"explicit_score": "high"}, "explicit score 'high'"),
        ({"judge_score": True}, "judge's score True"),
        ({"thumbs_up": 1}, "thumbs_up is 1"),
        ({"timestamp": "2026-02-01"}, "2026-02-01"),
        ({"concept_ids": "1"}, "concept_ids is '1'"),
        ({"session_id": "\n"}, "session id"),
        ({"source": 1}, "source is 1"),
    ],
)
def test_a_damaged_outcome_is_named_and_the_others_are_kept(
    tmp_path: Path, change: Any, reason: str
) -> None:
    refused(tmp_path, "outcomes", CONCLUDED, change, reason)


def refused(
    tmp_path: Path, kind: str, good: dict[str, Any], change: Any, reason: str
) -> None:
    (tmp_path / kind).mkdir()
    bad = (
        change
        if isinstance(change, bytes)
        else json.dumps({**good, "id": "bad", **change}).encode()
    )
    for name, content in (
        ("a", {**good, "id": "a"}),
        ("b", bad),
        ("c", {**good, "id": "c"}),
    ):
        (tmp_path / kind / f"{name}.json").write_bytes(
            content if isinstance(content, bytes) else lines(content)
        )
    with home(tmp_path / "home") as lab:
        (report,) = take(lab, tmp_path)
        assert (report.imported, report.skipped, len(report.problems)) == (2, 0, 1)
        assert report.problems[0].startswith(f"{kind}/b.json: ")
        assert reason in report.problems[0]
        assert lab.verify().ok


def test_a_path_that_is_nothing_known_is_refused(tmp_path: Path) -> None:
    with home(tmp_path / "home") as lab:
        for path in (tmp_path / "missing", tmp_path):
            with pytest.raises(InvalidInput, match=r"holds none of .*axon\.json"):
                take(lab, path)
        (tmp_path / "notes.txt").write_text("no record\n")
        assert (
            "in which nothing is known"
            in take(lab, tmp_path / "notes.txt")[0].problems[0]
        )
        with pytest.raises(InvalidInput, match="'A B'"):
            take(lab, tmp_path, agent="A B")


def test_ids_of_the_file_are_never_taken_for_ours(tmp_path: Path) -> None:
    """The id of a concept is that of its canonical form, whatever the file says."""
    file = tmp_path / "observations.jsonl"
    file.write_bytes(lines({**OBSERVED, "concepts": [[7, "cache", "Cache", 1]]}))
    with home(tmp_path / "home") as lab:
        take(lab, file)
        assert lab.theorex.axon().frame()["concept_id"].tolist() == [
            concept_id("cache")
        ]
        assert next(lab.journal.tail(0)).at < NOW


def test_an_edge_to_which_nobody_contributed_is_no_link(tmp_path: Path) -> None:
    nodes = [
        {"key": name, "attributes": {**NODE, "surface_form": name * 3}} for name in "ab"
    ]
    edges = [{**EDGE, "attributes": {"contributions": given}} for given in ([], 7)]
    file = tmp_path / "axon.json"
    file.write_text(json.dumps({"nodes": nodes, "edges": edges}))
    with home(tmp_path / "home") as lab:
        (report,) = take(lab, file)
        assert (
            report.imported,
            [problem.split(":")[1] for problem in report.problems],
        ) == (2, [" edge 1"])
