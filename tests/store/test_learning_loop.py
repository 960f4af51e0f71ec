"""The loop closed: a task fails, the failure is reviewed, the fix comes back in the
next session, the task succeeds.

Once with a model behind HTTP and once without any. The agents know nothing but the
context that they are given.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from conftest import Run
from hostile_server import Exchange, HostileServer, completion
from test_failures import closed_port, models

from theorex_lab import Lab

TASK = "deploy the billing service to production"


def deployment(command: str) -> str:
    """The world: what running this command answers; a script that has renamed one of
    its options.
    """
    if "--help" in command:
        return "usage: deploy.sh [--replace]"
    if "--replace" in command:
        return "deployed version 2"
    return "error: unknown option --force; use --replace"


def reading_agent(context: str) -> str:
    """An agent that knows the old option, and looks it up where its context says so."""
    told = "look up in its help which options it takes" in context
    known = re.search(r"--\w+", deployment("./deploy.sh --help") if told else "")
    return f"./deploy.sh {known[0] if known else '--force'}"


def told(event: dict[str, Any], home: Path, **environment: str) -> str:
    """What the hook prints when a coding agent tells it of an event."""
    variables = {**os.environ, "THEOREX_HOME": str(home), **environment}
    program = [sys.executable, "-c", "from theorex_lab.app.hook import main; main()"]
    done = subprocess.run(
        program,
        input=json.dumps(event),
        capture_output=True,
        env=variables,
        text=True,
        check=True,
    )
    return done.stdout


def session_start(home: Path) -> str:
    """The context with which a session starts."""
    return told({"hook_event_name": "SessionStart", "session_id": "next"}, home)


def tool_used(command: str, answer: str, trace_id: str, home: Path) -> None:
    """A command is run for a trace."""
    event = {
        "hook_event_name": "PostToolUse",
        "session_id": "first",
        "tool_name": "Bash",
        "tool_input": {"command": command},
        "tool_response": {"stdout": "", "stderr": answer},
    }
    told(event, home, THEOREX_TRACE_ID=trace_id)


def record(run: Run, command: str, answer: str) -> dict[str, Any]:
    """The outcome of a command, as the agent reports it."""
    went = "--success" if answer.startswith("deployed") else "--fail"
    ended = run(
        "outcome",
        "--decision",
        f"{TASK} with {command}",
        "--result",
        answer,
        went,
        "--tags",
        "billing",
        "--json",
    )
    assert ended.code == 0, ended.err
    found: dict[str, Any] = ended.json
    return found


def save_briefing(run: Run, path: Path, *more: str) -> str:
    """The briefing of the home, which is written now."""
    ended = run("briefing", "--save", "--all-projects", "--json", *more)
    assert ended.code == 0, ended.err
    text: str = ended.json["text"]
    assert (path / "SHARED_CONTEXT.md").read_text() == text
    return text


def found_texts(run: Run, query: str) -> list[str]:
    """The texts that a search finds, sleeping ones too."""
    hits = run("search", query, "--cold", "--json").json["hits"]
    return [hit["text"] for hit in hits]


def written_fix(path: Path) -> str:
    """The one sentence that the memory now holds of it."""
    with Lab(path) as lab:
        found = [
            event
            for event in lab.journal.tail(0, kinds=["observation"])
            if event.body["type"] == "trace_fix"
        ]
        assert lab.verify().ok
    assert len(found) == 1
    text: str = found[0].body["text"]
    assert text.startswith("trace_fix: ")
    assert text.endswith(".")
    return text


def test_without_any_model(run: Run, home: Callable[..., Path]) -> None:
    path = home(**models(closed_port()))
    command = reading_agent(session_start(path))
    answer = deployment(command)
    assert answer.startswith("error")
    failure = record(run, command, answer)
    assert failure["score"] == 0

    asked = run("dispatch", TASK, "--outcome-id", failure["outcome_id"], "--json")
    assert asked.code == 1  # no model answers; its trace is kept all the same
    tool_used(command, answer, asked.json["trace_id"], path)

    evolved = run("tiers", "evolve-review", "--json")
    assert evolved.code == 0, evolved.err
    assert evolved.json["reviewer"].startswith(
        "heuristic: of the models that review, none of m0"
    )
    [review] = evolved.json["reviews"]
    assert (review["outcome_id"], review["trace_id"]) == (
        failure["outcome_id"],
        asked.json["trace_id"],
    )
    assert (review["written_to_axon"], review["model_used"]) == (True, "heuristic")
    text = written_fix(path)
    assert text == f"trace_fix: {review['fix_description']}"
    assert run("tiers", "promote", "--json").code == 0
    save_briefing(run, path)
    unconfirmed = session_start(path)
    assert review["fix_description"] not in unconfirmed, "it is made of a tool's words"
    assert reading_agent(unconfirmed) == reading_agent("")
    assert text in found_texts(run, "which options does deploy.sh take")
    assert run("trust", review["observation_id"][-8:]).code == 0
    save_briefing(run, path)

    context = session_start(path)
    assert review["fix_description"].rstrip(".") in context
    assert "use --replace" not in context, "what a tool answered is not handed on"
    assert reading_agent("") != reading_agent(context)
    answer = deployment(reading_agent(context))
    assert answer == "deployed version 2"
    assert record(run, reading_agent(context), answer)["score"] > 0.3
    assert run("tiers", "evolve-review", "--json").json["reviews"] == []
    written_fix(path)


def scripted_model(exchange: Exchange) -> bool:
    """A model that reads only its prompt: as a reviewer it reads the error in the
    steps, as an agent the fix.
    """
    prompt = exchange.request.body["messages"][0]["content"]
    if "fix_description" in prompt:
        told = re.search(r"unknown option (--\w+); use (--\w+)", prompt)
        assert told is not None
        assert "source=steps" in prompt
        fix = (
            f"Run deploy.sh with {told[2]} in place of {told[1]}, which it no longer"
            " knows."
        )
        said = {
            "score": 0.8,
            "fix_description": fix,
            "decisive_step": 1,
            "failure_class": "wrong_code",
        }
        return completion(f"Here it is:\n```json\n{json.dumps(said)}\n```")(exchange)
    known = re.search(r"with (--\w+) in place of", prompt)
    return completion(f"./deploy.sh {known[1] if known else '--force'}")(exchange)


def failing_reviewer(exchange: Exchange) -> bool:
    """The same model on a bad day: reviews are rambling."""
    if "fix_description" in exchange.request.body["messages"][0]["content"]:
        return completion(
            '{"score": "high", "fix_description": "It should work next time."}'
        )(exchange)
    return scripted_model(exchange)


def test_with_a_model_behind_http(run: Run, home: Callable[..., Path]) -> None:
    with HostileServer(failing_reviewer) as server:
        path = home(**models(server.url, server.url, modelTimeoutSeconds=60.0))
        failure = record(run, "./deploy.sh --force", deployment("--force"))
        asked = run(
            "dispatch",
            f"{session_start(path)}{TASK}",
            "--outcome-id",
            failure["outcome_id"],
            "--json",
        ).json
        assert (asked["success"], asked["response"]) == (True, "./deploy.sh --force")
        answer = deployment(asked["response"])
        assert answer.startswith("error")
        tool_used(asked["response"], answer, asked["trace_id"], path)

        [review] = run("tiers", "evolve-review", "--json").json["reviews"]
        assert (review["written_to_axon"], review["model_used"]) == (False, "m0")
        assert review["problem"] == "the score is 'high'; allowed is a number, 0 to 1"
        assert "next time" not in session_start(path)

        server.then(scripted_model)
        evolved = run("tiers", "evolve-review", "--json").json
        assert (
            evolved["reviewer"]
            == "model: m0 accepts connections; asked in turn are m0, m1"
        )
        [review] = evolved["reviews"]
        assert (
            review["written_to_axon"],
            review["score"],
            review["failure_class"],
        ) == (True, 0.8, "wrong_code")
        assert review["model_used"] == "m1", (
            "m0 had nothing to say of it, and is not asked again"
        )
        text = written_fix(path)
        assert (
            text
            == "trace_fix: Run deploy.sh with --replace in place of --force, which it"
            " no longer knows."
        )
        assert run("tiers", "promote", "--json").code == 0
        save_briefing(run, path)
        said = text.removeprefix("trace_fix: ").removesuffix(".")
        assert said not in session_start(path), "a model's word alone is no pitfall"
        assert text in found_texts(run, "Which option does deploy.sh know?")
        assert run("trust", review["observation_id"][-8:]).code == 0
        save_briefing(run, path)
        context = session_start(path)
        assert context.index("Known pitfalls:") < context.index(said)
        asked = run("dispatch", f"{context}{TASK}", "--json").json
        assert deployment(asked["response"]) == "deployed version 2"
        assert run("tiers", "evolve-review", "--json").json["reviews"] == []


def test_a_fix_fades_with_a_half_life_of_seven_days(
    run: Run, home: Callable[..., Path]
) -> None:
    path = home(**models(closed_port()))
    failure = record(run, "./deploy.sh --force", deployment("--force"))
    asked = run("dispatch", TASK, "--outcome-id", failure["outcome_id"], "--json").json
    tool_used("./deploy.sh --force", deployment("--force"), asked["trace_id"], path)
    [review] = run("tiers", "evolve-review", "--json").json["reviews"]
    assert run("trust", review["observation_id"]).code == 0
    text = written_fix(path)
    said = review["fix_description"].removesuffix(".")
    for days, there in ((6, True), (12, True), (13, False), (30, False)):
        later = (datetime.now(UTC) + timedelta(days=days)).isoformat()
        run("tiers", "scan", "--now", later)
        assert (said in save_briefing(run, path, "--now", later)) == there, days
    assert text in found_texts(run, "help which options")


def test_evolve_review_says_what_each_of_its_steps_did(
    run: Run, home: Callable[..., Path]
) -> None:
    path = home(**models(closed_port()))
    run(
        "write", "the deployment of billing waits for a release"
    )  # what only a model says of a failure is not promoted
    for _ in range(4):
        record(run, "./deploy.sh --force", deployment("--force"))
    evolved = run(
        "tiers", "evolve-review", "--agent", "all", "--days", "2", "--json"
    ).json
    assert evolved.keys() == {"reviews", "reviewer", "refined", "promoted", "briefing"}
    assert len(evolved["reviews"]) == 4
    [refined] = evolved["refined"]
    assert (refined["agent"], [tag for tag, _, _ in refined["lost"]]) == (
        "main",
        ["billing"],
    )
    assert evolved["promoted"]["concepts"] > 0
    assert evolved["briefing"]["path"] == str(path / "SHARED_CONTEXT.md")
    with Lab(path) as lab:
        before = lab.journal.last_seq()
    shown = run("tiers", "evolve-review", "--agent", "all", "--days", "2")
    assert shown.code == 0
    assert shown.out.splitlines()[1:3] == [
        (
            "4 outcomes  by nobody: not written: it waits for another reviewer; tried"
            " have: heuristic"
        ),
        "main: won nothing, lost billing; 0 observations written",
    ]
    with Lab(path) as lab:
        assert [event.kind for event in lab.journal.tail(before)] == []
