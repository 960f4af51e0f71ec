"""Commands of outcomes, the judge, the audit log, drift, moments and the context
monitor: stable keys, exit codes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW, Run
from hostile_server import HostileServer, completion, status

from theorex_lab import Event, FixedClock, Lab, new_event

DEPLOY = (
    "--decision",
    "raised the TTL",
    "--result",
    "the cache went stale",
    "--tags",
    "cache, db",
    "--tag",
    "deploy",
)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[HostileServer]:
    """A home whose second reviewer is the server; of the first there is none."""
    with HostileServer(completion('{"score": 80}')) as server:
        models = {
            name: {"tier": "medium", "url": server.url} for name in ("first", "second")
        }
        models["first"]["url"] = "http://127.0.0.1:9"
        settings = {
            "models": models,
            "reviewers": ["first", "second"],
            "reviewTimeoutSeconds": 60,
            "roles": [],
        }
        (tmp_path / "home").mkdir()
        (tmp_path / "home" / "config.json").write_text(json.dumps(settings))
        yield server


def test_an_outcome_is_recorded_and_corrected(run: Run) -> None:
    made = run("outcome", "--agent", "sage", *DEPLOY, "--fail", "--json")
    assert (made.code, made.json.keys(), made.json["score"]) == (
        0,
        {"id", "outcome_id", "score"},
        0.0,
    )
    name = made.json["outcome_id"]
    assert made.json["id"] == name
    recorded = run("outcomes", "--json").json["recent"][0]
    assert recorded["id"] == recorded["outcome_id"] == name
    assert (recorded["agent_id"], recorded["success"], recorded["tags"]) == (
        "sage",
        False,
        ["cache", "db", "deploy"],
    )
    assert run("outcome", "--id", name, "--score", "0.8", "--json").json["score"] == 0.8
    assert (
        run("outcome", "--id", name, "--agent", "sage", "--thumbs-down", "--json").json[
            "score"
        ]
        == 0.533333
    )
    assert run("outcome", "--id", name, "--success", "--json").json["score"] == 0.533333
    (now,) = run("outcomes", "--json").json["recent"]
    assert (now["success"], now["explicit_score"], now["thumbs_up"]) == (
        True,
        0.8,
        False,
    )
    assert run("outcome", "--id", name, "--thumbs-up").out == f"{name}  score 0.87\n"
    liked = run(
        "outcome", *DEPLOY, "--success", "--score", "0.9", "--thumbs-up", "--json"
    ).json
    assert liked["score"] == 0.933333


def test_the_agent_of_the_environment(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THEOREX_AGENT", "sage")
    run("outcome", *DEPLOY, "--fail")
    assert run("outcomes", "--agent", "sage", "--json").json["outcomes"] == 1
    assert run("tiers", "drift", "--json").json["agent"] == "sage"


@pytest.mark.parametrize(
    "arguments",
    [
        [*DEPLOY],
        [*DEPLOY, "--success", "--fail"],
        ["--decision", "d", "--fail"],
        ["--result", "r", "--fail"],
        [*DEPLOY, "--fail", "--score", "1.01"],
        [*DEPLOY, "--fail", "--score", "-0.1"],
        [*DEPLOY, "--fail", "--score", "nan"],
        [*DEPLOY, "--fail", "--score", "inf"],
        [*DEPLOY, "--fail", "--score", "high"],
        [*DEPLOY, "--fail", "--score", ""],
        ["--trace-id", "t", "--fail"],
        ["--trace-id", "t", "--result", "r"],
        ["--id", "x", "--trace-id", "t", "--fail"],
        [*DEPLOY, "--fail", "--thumbs-up", "--thumbs-down"],
        ["--id", "x"],
        ["--id", "x", *DEPLOY, "--fail"],
    ],
)
def test_wrong_usage_of_outcome_ends_with_2(run: Run, arguments: list[str]) -> None:
    ended = run("outcome", *arguments, "--json")
    assert (ended.code, ended.json.keys()) == (2, {"error"})
    assert run("outcomes", "--json").json["outcomes"] == 0


def test_refusals_end_with_1(run: Run) -> None:
    name = run("outcome", *DEPLOY, "--fail", "--json").json["outcome_id"]
    for arguments, said in (
        (["outcome", "--id", "nowhere", "--fail"], "no such outcome"),
        (["outcome", "--id", name, "--agent", "sage", "--fail"], "is of main"),
        (
            ["outcome", "--trace-id", "t", "--result", "r", "--fail"],
            "there are no traces yet",
        ),
        (["outcome", "--decision", " ", "--result", "r", "--fail"], "empty text"),
        (["outcome", "--agent", "../etc", *DEPLOY, "--fail"], "agent id"),
        (["outcome", *DEPLOY, "--fail", "--tag", "x" * 65], "tag"),
        (["audit", "--kind", "nothing"], "allowed are tier_change"),
        (["audit", "--since", "yesterday"], "ISO 8601"),
        (
            ["tiers", "context-monitor", "--session", "", "--context", "50"],
            "name the session",
        ),
        (
            ["tiers", "context-monitor", "--session", "a b", "--context", "50"],
            "session id",
        ),
        (["tiers", "moment", " "], "empty text"),
        (["tiers", "drift", "--agent", "No"], "agent id"),
        (["outcomes", "--agent", "No"], "agent id"),
        (["outcomes", "--judge", "--agent", "No"], "agent id"),
    ):
        ended = run(*arguments, "--json")
        assert (ended.code, ended.json.keys()) == (1, {"error"}), arguments
        assert said in ended.json["error"], arguments
    for percent in ("nan", "101", "-1"):
        assert (
            run("tiers", "context-monitor", "--session", "s", "--context", percent).code
            == 2
        )
    assert run("verify", "--json").json["events"] == 1


def test_judge_pending(run: Run, server: HostileServer) -> None:
    names = [
        run("outcome", *DEPLOY, "--fail", "--json").json["outcome_id"] for _ in range(3)
    ]
    other = run("outcome", "--agent", "sage", *DEPLOY, "--success", "--json").json[
        "outcome_id"
    ]
    server.then(
        completion('{"score": 25}'),
        completion("I would say 80"),
        completion('{"score": "80"}'),
    )
    done = run("outcomes", "--judge", "--agent", "main", "--json")
    assert done.code == 0
    assert done.json["judged"] == [
        {"outcome_id": names[0], "judge_score": 0.25, "score": 0.25}
    ]
    assert done.json["pending"] == 2
    assert [each["outcome_id"] for each in done.json["problems"]] == names[1:]
    assert all("second: " in each["problem"] for each in done.json["problems"])
    tried = ["first: " in each["problem"] for each in done.json["problems"]]
    assert tried == [True, False], (
        "where nobody listened twice in a row nobody is asked again"
    )
    asked = server.requests[0].body
    assert (
        asked["response_format"]["json_schema"]["schema"]["properties"]["score"]["type"]
        == "number"
    )
    assert "raised the TTL" in asked["messages"][0]["content"]
    server.then(completion('{"score": 100}'))
    assert [
        each["outcome_id"]
        for each in run("outcomes", "--judge", "--json").json["judged"]
    ] == [*names[1:], other]
    assert run("outcomes", "--judge", "--json").json == {
        "judged": [],
        "pending": 0,
        "problems": [],
    }
    assert run("outcomes", "--judge").out == "0 pending\n"


def test_a_judge_who_is_silent_twice_in_a_row_is_asked_no_more(
    run: Run, server: HostileServer
) -> None:
    server.then(status(429, Retry_After="3600"))
    for _ in range(5):
        run("outcome", *DEPLOY, "--fail")
    shown = run("outcomes", "--judge")
    assert (shown.code, len(server.requests)) == (0, 2)
    assert shown.out.count("  not judged: nobody was asked") == 3
    assert shown.out.splitlines()[-1] == "5 pending"
    assert len(run("outcomes", "--judge", "--json").json["problems"]) == 5


def test_judge_at_once(run: Run, server: HostileServer) -> None:
    made = run("outcome", *DEPLOY, "--success", "--thumbs-up", "--judge", "--json").json
    assert (made["judge_score"], made["score"], made["problem"]) == (
        0.8,
        0.866667,
        None,
    )
    server.then(status(400, "no"))
    made = run("outcome", *DEPLOY, "--success", "--judge", "--json")
    assert (made.code, made.json["judge_score"], made.json["score"]) == (0, None, 0.6)
    assert "second: " in made.json["problem"]
    assert (
        "the judge did not score it"
        in run("outcome", "--id", made.json["outcome_id"], "--judge").out
    )
    server.then(completion('{"score": 0}'))
    assert (
        run("outcome", "--id", made.json["outcome_id"], "--judge", "--json").json[
            "score"
        ]
        == 0.0
    )


@pytest.mark.parametrize(
    "text",
    [
        '{"score": 101}',
        '{"score": -1}',
        '{"score": 1.5}',
        '{"score": true}',
        '{"score": 5, "x": 1}',
        "[5]",
        "5",
        "",
    ],
)
def test_what_is_no_score_is_none(run: Run, server: HostileServer, text: str) -> None:
    run("outcome", *DEPLOY, "--fail")
    server.then(completion(text))
    done = run("outcomes", "--judge", "--json").json
    assert (done["judged"], done["pending"], len(done["problems"])) == ([], 1, 1)


def test_evolve_status(run: Run) -> None:
    empty = {
        "outcomes": 0,
        "success_rate": None,
        "tags": [],
        "queue": 0,
        "reviewed": 0,
        "recent": [],
    }
    assert run("outcomes", "--json").json == empty
    for went in ("--fail", "--fail", "--success", "--success"):
        run(
            "outcome",
            "--decision",
            f"d{went}",
            "--result",
            "r",
            went,
            "--tags",
            "cache",
        )
    found = run("outcomes", "--limit", "1", "--json").json
    assert found.keys() == empty.keys()
    assert found["tags"] == [
        {
            "tag": "cache",
            "n": 4,
            "rate": 0.5,
            "ci_low": pytest.approx(0.15, abs=0.001),
            "ci_high": pytest.approx(0.85, abs=0.001),
            "trend": "rising",
        }
    ]
    assert (
        found["outcomes"],
        found["success_rate"],
        found["queue"],
        found["reviewed"],
    ) == (4, 0.5, 2, 0)
    assert [each["decision"] for each in found["recent"]] == ["d--success"]
    assert run("outcomes", "--limit", "0", "--json").json["recent"] == []
    lines = run("outcomes").out.splitlines()
    assert lines[:2] == [
        "4 outcomes, 50% of them successes; 2 failures wait for a review, 0 were reviewed",
        "  cache: 50% of 4 (15% – 85%), rising",
    ]
    assert run("outcomes", "--agent", "sage").out.startswith("0 outcomes; 0 failures")


def test_moments_drift_and_audit(run: Run) -> None:
    told = run("tiers", "moment", "the", "scheduler", "lost", "tasks", "--json").json
    assert told.keys() == {"event_id", "concepts"}
    assert told["concepts"] == ["scheduler", "task"]
    found = run("tiers", "drift", "--agent", "main", "--json").json
    assert found == {
        "agent": "main",
        "coverage": 1.0,
        "state": "stable",
        "anchors": 2,
        "active": 2,
        "left": [],
    }
    later = ("--now", "2126-03-01T09:00:00Z")
    assert (
        run("tiers", "drift", *later).out
        == "main: drifting, 0 of 2 anchors are ACTIVE\n"
    )
    run("outcome", *DEPLOY, "--fail")
    run("tiers", "scan")
    entries = run("audit", "--json").json["entries"]
    assert all(
        entry.keys() == {"timestamp", "agent", "kind", "detail"} for entry in entries
    )
    kinds = [entry["kind"] for entry in entries]
    assert kinds == ["moment_capture", "outcome_record", "tier_change", "tier_change"]
    assert (
        len(
            run(
                "audit",
                "--kind",
                "tier_change",
                "--kind",
                "policy_test",
                "--limit",
                "1",
                "--json",
            ).json["entries"]
        )
        == 1
    )
    assert run("audit", "--since", "2126-01-01T00:00:00Z", "--json").json == {
        "entries": []
    }
    assert run("audit", "--kind", "prune").out == "nothing happened\n"
    assert "from NEUTRAL, to ACTIVE" in run("audit").out


def test_people_see_no_control_characters(run: Run) -> None:
    run("tiers", "moment", "a \x1b[2J story")
    run(
        "outcome",
        "--decision",
        "a\x1b[2J\nb",
        "--result",
        "r",
        "--fail",
        "--tags",
        "t\x1bt",
    )
    for _ in range(3):
        run("outcome", "--decision", "a", "--result", "r", "--fail", "--tags", "t\x1bt")
    run("policy", "--snapshot", "--reason", "a\x1b[2J\nb")
    assert "lost t?t;" in run("tiers", "evolve-review").out
    for command in (
        "audit",
        "evolve-status",
        "evolve-review",
        "policy-list",
        "nightly",
    ):
        assert run(command).out.replace("\n", "").isprintable()
    assert run("policy").out.splitlines()[0].endswith("a?[2J b")


def test_context_monitor(run: Run, tmp_path: Path) -> None:
    with Lab(tmp_path / "home", clock=FixedClock(NOW)) as lab:
        body = {
            "tool": "Bash",
            "input": "the session cache",
            "response": "",
            "source": "tool",
        }
        lab.journal.append(
            [new_event("tool_used", body, agent="main", session="s", at=NOW)]
        )
    call = ("tiers", "context-monitor", "--session", "s", "--context")
    first = {
        "fired": False,
        "context_pct": 40.0,
        "calls": 1,
        "written": None,
        "estimated": False,
    }
    assert run(*call, "40", "--json").json == first
    fired = run(*call, "60", "--json").json
    assert (fired["fired"], fired["calls"]) == (True, 2)
    hits = run("search", "session cache", "--agent", "main", "--json").json["hits"]
    assert fired["written"] in [hit["id"] for hit in hits]
    assert run(*call, "60").out == "60 % of the context, 1 calls: not due\n"
    assert run(
        "tiers", "context-monitor", "--session", "t", "--context", "50"
    ).out.endswith("nothing to sum up\n")


def test_context_monitor_estimates_what_it_is_not_told(
    run: Run, home: Callable[..., Path]
) -> None:
    def captured(kind: str, **body: Any) -> Event:
        return new_event(
            kind,
            {"source": "agent", "project": "", **body},
            agent="main",
            session="s",
            at=NOW,
        )

    call = ("tiers", "context-monitor", "--session", "s")
    with Lab(home(contextWindowTokens=1_000), clock=FixedClock(NOW)) as lab:
        tool = {
            "tool": "Bash",
            "input": "the session cache",
            "response": "x" * 1_182,
            "source": "tool",
        }
        lab.journal.append(
            [
                captured("tool_used", **tool),
                captured("turn_ended", message="y" * 400, subagent=False),
            ]
        )
        assert lab.theorex.check_turns("s") is None, (
            "nothing tells how large the transcript is"
        )
        found = run(*call, "--json").json
        assert (found["context_pct"], found["estimated"], found["fired"]) == (
            40.0,
            True,
            False,
        )
        lab.journal.append(
            [captured("turn_ended", message="", subagent=False, transcript_bytes=2_400)]
        )
        assert run(*call).out.startswith("about 60 % of the context, ")
        lab.journal.append(
            [
                captured("compacting", trigger="auto"),
                captured("prompt", text="go on", source="user"),
            ]
        )
        lab.journal.append(
            [captured("turn_ended", message="", subagent=False, transcript_bytes=2_800)]
        )
        assert run(*call, "--json").json["context_pct"] == 10.0


def test_the_flush_of_a_session_checks_it_where_its_transcript_was_measured(
    run: Run, home: Callable[..., Path]
) -> None:
    with Lab(home(contextWindowTokens=1_000), clock=FixedClock(NOW)) as lab:
        turn = {
            "message": "",
            "source": "agent",
            "subagent": False,
            "project": "",
            "transcript_bytes": 2_000,
        }
        body = {
            "tool": "Bash",
            "input": "the session cache",
            "response": "",
            "source": "tool",
        }
        kinds = (("tool_used", body), ("turn_ended", turn))
        lab.journal.append(
            [
                new_event(kind, each, agent="main", session="s", at=NOW)
                for kind, each in kinds
            ]
        )
        for _ in range(2):
            assert run("tiers", "flush", "--session", "s").code == 0
        (check,) = lab.journal.tail(0, kinds=["context_checked"])
        assert (
            check.body["context_pct"],
            check.body["fired"],
            check.body["estimated"],
        ) == (50.0, True, True)
        (summary,) = lab.journal.read(ids=[check.body["written"]])
        assert summary.body["text"].startswith(
            "Session s filled 50 % of its context in 1 tool calls"
        )


def test_search_finds_moments_by_their_kind(run: Run) -> None:
    run("write", "the cache was drained before the deploy")
    told = run("tiers", "moment", "the day the cache was mended", "--json").json[
        "event_id"
    ]
    hits = run("search", "cache", "--kind", "moment", "--json").json["hits"]
    assert [(hit["id"], hit["kind"]) for hit in hits] == [(told, "moment")]
    found = {
        hit["id"]: hit["kind"] for hit in run("search", "cache", "--json").json["hits"]
    }
    assert found[told] == "moment"
    assert "moment" not in {
        hit["kind"]
        for hit in run("search", "cache", "--kind", "observation", "--json").json[
            "hits"
        ]
    }
