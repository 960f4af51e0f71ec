"""The commands `dispatch` and `trace-show`, and the trace that the hook is told of."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import Ended, Run
from hostile_server import HostileServer, completion, status

from theorex_lab.app import hook
from theorex_lab.journal.sqlite.store import SqliteJournal

TASK = ["refactor", "the", "python", "function"]
KEYS = {
    "task_id",
    "model_used",
    "success",
    "trace_id",
    "latency_ms",
    "response",
    "written_to_axon",
}


@pytest.fixture
def server() -> Iterator[HostileServer]:
    with HostileServer(completion("extract a method")) as server:
        yield server


@pytest.fixture
def dispatch(run: Run, server: HostileServer, tmp_path: Path) -> Callable[..., Ended]:
    """`theorex dispatch` in a home whose one model is the server."""
    home = tmp_path / "home"
    home.mkdir()
    settings = {
        "models": {"only": {"tier": "medium", "url": server.url}},
        "modelTimeoutSeconds": 60,
        "roles": [],
    }
    (home / "config.json").write_text(json.dumps(settings))
    return lambda *arguments: run("dispatch", *arguments)


def test_a_task_is_answered_and_its_trace_shown(
    dispatch: Callable[..., Ended], run: Run, server: HostileServer
) -> None:
    ended = dispatch(
        *TASK,
        "--agent",
        "sage",
        "--tag",
        "billing",
        "--outcome-id",
        "o-1",
        "--session",
        "s",
        "--json",
    )
    assert ended.code == 0
    assert ended.json.keys() == KEYS
    assert (ended.json["success"], ended.json["written_to_axon"]) == (True, True)
    assert (ended.json["model_used"], ended.json["response"]) == (
        "only",
        "extract a method",
    )
    assert server.requests[0].body["messages"] == [
        {"role": "user", "content": " ".join(TASK)}
    ]
    trace = run("traces", ended.json["trace_id"], "--json").json
    assert (trace["agent_id"], trace["outcome_id"], trace["tags"]) == (
        "sage",
        "o-1",
        ["code", "billing"],
    )
    assert trace["latency_ms"] == ended.json["latency_ms"]
    shown = run("traces", ended.json["trace_id"])
    assert shown.code == 0
    lines = shown.out.splitlines()
    assert lines[0] == f"id: {ended.json['trace_id']}"
    assert {
        "task: refactor the python function",
        "total_tokens: 15",
        "response: extract a method",
    } <= {*lines}
    hits = run("search", "method", "--agent", "sage", "--json").json["hits"]
    assert "extract a method" in [hit["text"] for hit in hits]


def test_people_are_shown_the_answer_and_no_control_characters(
    dispatch: Callable[..., Ended], run: Run, server: HostileServer
) -> None:
    server.then(completion("one\n\x1b[2Jtwo\u202e"))
    ended = dispatch(*TASK)
    assert ended.code == 0
    assert ended.out.startswith("one\n?[2Jtwo\n(only, ")
    assert "kept, trace " in ended.out
    trace_id = ended.out.rstrip(")\n").rpartition(" ")[2]
    assert "\x1b" not in run("traces", trace_id).out


def test_a_failure_ends_with_1_and_is_printed_and_traced(
    dispatch: Callable[..., Ended], run: Run, server: HostileServer
) -> None:
    server.then(status(401, "go away"))
    ended = dispatch(*TASK, "--outcome-id", "o-1", "--json")
    assert ended.code == 1
    assert ended.json.keys() == KEYS | {"error"}
    assert (
        ended.json["success"],
        ended.json["latency_ms"],
        ended.json["response"],
    ) == (False, None, "")
    assert "401" in ended.json["error"]
    assert ended.json["error"] in ended.err
    trace = run("traces", ended.json["trace_id"], "--json").json
    assert (trace["success"], trace["outcome_id"]) == (False, "o-1")
    shown = run("traces", ended.json["trace_id"]).out
    assert "success: False\n" in shown
    assert "error: only: " in shown
    assert dispatch(*TASK).code == 1


def test_below_the_threshold_nothing_is_called_and_nothing_failed(
    dispatch: Callable[..., Ended], run: Run, server: HostileServer
) -> None:
    ended = dispatch(*TASK, "--context", "20", "--json")
    assert ended.code == 0
    assert ended.json.keys() == KEYS | {"error"}
    assert (
        ended.json["success"],
        ended.json["trace_id"],
        ended.json["model_used"],
    ) == (False, None, "")
    assert "dispatchContextPct is 50" in ended.json["error"]
    assert dispatch(*TASK, "--context", "20").out.startswith("nothing was called: 20 %")
    assert server.requests == []
    assert run("status", "--json").json["events"] == 0


def test_what_is_outside_the_rules_ends_with_1(
    dispatch: Callable[..., Ended], run: Run, server: HostileServer
) -> None:
    for arguments in (
        ["--agent", "../etc"],
        ["--tag", " x"],
        ["--session", "a b"],
        ["--outcome-id", "../x"],
    ):
        ended = dispatch(*TASK, *arguments, "--json")
        assert (ended.code, ended.json.keys()) == (1, {"error"}), arguments
    assert (
        "the outcome id '../x'; allowed"
        in dispatch(*TASK, "--outcome-id", "../x", "--json").json["error"]
    )
    for trace_id in ("no-such-trace", "../etc/passwd", ""):
        ended = run("traces", trace_id, "--json")
        assert (ended.code, ended.json.keys()) == (1, {"error"})
    assert dispatch("--json").code == 2
    for arguments in (
        ["--context", "half"],
        ["--context", "nan"],
        ["--context", "101"],
        ["--tokens", "-1"],
    ):
        assert dispatch(*TASK, *arguments, "--json").code == 2
    assert server.requests == []


def test_the_agent_of_the_environment_is_asked_for(
    dispatch: Callable[..., Ended], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THEOREX_AGENT", "sage")
    trace_id = dispatch(*TASK, "--json").json["trace_id"]
    assert run("traces", trace_id, "--json").json["agent_id"] == "sage"


@pytest.mark.parametrize("outcome_first", [True, False])
def test_a_model_that_answers_wrongly_loses_its_cell_to_one_that_answers_rightly(
    dispatch: Callable[..., Ended],
    run: Run,
    server: HostileServer,
    tmp_path: Path,
    outcome_first: bool,
) -> None:
    """What came of each call is said afterwards: of the outcome that it was made for,
    or of the call itself.
    """
    settings = {
        "models": {
            name: {"tier": "large", "url": server.url} for name in ("glib", "sound")
        }
    }
    operative = {"role": "operative", "capabilities": ["code"]}
    given = []
    for number in range(10):
        agent = ("glib", "sound")[number % 2]
        options = ["--agent", agent]
        roles = [{**operative, "agentId": agent, "modelPreference": agent}]
        (tmp_path / "home" / "config.json").write_text(
            json.dumps({**settings, "roles": roles})
        )
        if outcome_first:
            failed = run(
                "outcome",
                *options,
                "--decision",
                "ship it",
                "--result",
                "it broke",
                "--fail",
                "--json",
            )
            options += ["--outcome-id", failed.json["outcome_id"]]
        called = dispatch(*TASK, *options, "--json").json
        assert called["model_used"] == agent
        what = (
            ["--id", options[-1]]
            if outcome_first
            else ["--trace-id", called["trace_id"], "--result", "as seen"]
        )
        given.append((agent, what))
    cells = run("matrix", "--json").json["cells"]
    assert [(cell["model"], cell["n"], cell["success_rate"]) for cell in cells] == [
        ("glib", 5, 1),
        ("sound", 5, 1),
    ]
    (tmp_path / "home" / "config.json").write_text(
        json.dumps({**settings, "roles": []})
    )
    for agent, what in given:
        assert (
            run("outcome", *what, "--success" if agent == "sound" else "--fail").code
            == 0
        )
    cells = run("matrix", "--json").json["cells"]
    assert [(cell["model"], cell["n"], cell["success_rate"]) for cell in cells] == [
        ("glib", 5, 0),
        ("sound", 5, 1),
    ]
    assert run("route", *TASK, "--json").json["model"] == "sound"
    (tmp_path / "home" / "config.json").write_text(
        json.dumps({**settings, "roles": [], "recallCalls": 0})
    )
    assert run("route", *TASK, "--json").json["model"] == "sound"
    assert run("traces", "--json").json["stats"][0]["success_rate"] == 1, (
        "the calls themselves went well"
    )
    assert run("verify", "--json").json["ok"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("run-7:a", "run-7:a"),
        ("", None),
        ("../x", None),
        ("a b", None),
        ("x" * 129, None),
    ],
)
def test_the_hook_takes_the_trace_of_its_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, expected: str | None
) -> None:
    monkeypatch.setenv("THEOREX_HOME", str(tmp_path))
    monkeypatch.setenv("THEOREX_TRACE_ID", given)
    event = {
        "hook_event_name": "PostToolUse",
        "session_id": "s",
        "tool_name": "Bash",
        "tool_input": "ls",
    }
    for name in ("PostToolUse", "Stop"):
        data = json.dumps({**event, "hook_event_name": name}).encode()
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
        hook.run()
    journal = SqliteJournal(tmp_path / "theorex.db")
    tool, turn = journal.tail(0)
    journal.close()
    assert tool.body.get("trace_id") == expected
    assert "trace_id" in tool.body or expected is None
    assert "trace_id" not in turn.body
    assert not (tmp_path / "hook.log").exists()
