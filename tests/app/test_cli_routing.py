"""Commands of routing: stable JSON keys, exit codes, tables for people."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest
from conftest import NOW, Run
from test_route import ended_call
from test_traces import started

from theorex_lab import FixedClock, Lab
from theorex_lab.app import cli
from theorex_lab.core.settings import PUBLISHED_MODELS, PUBLISHED_ROLES
from theorex_lab.routing import energy

PUBLISHED = {
    "models": {name: {"tier": model.tier} for name, model in PUBLISHED_MODELS.items()},
    "roles": [asdict(role) for role in PUBLISHED_ROLES],
}


@pytest.fixture(autouse=True)
def _on_mains(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(energy, "read_power", lambda: energy.Power(None, False))


@pytest.fixture
def published(home: Callable[..., Path]) -> None:
    """A home with the models and roles of Theorex's description."""
    home(**PUBLISHED)


@pytest.fixture
def recorded(tmp_path: Path) -> None:
    """A home with ten calls of one model on code, of which two failed, and three of
    another.
    """
    with Lab(tmp_path / "home", clock=FixedClock(NOW)) as lab:
        lab.journal.append(
            [
                ended_call(number, success=number > 1, model="qwen3-32b")
                for number in range(10)
            ]
        )
        lab.journal.append(
            [ended_call(number, model="ministral-3b") for number in range(10, 13)]
        )


def test_route_without_a_model_says_how_to_add_one(run: Run) -> None:
    found = run("route", "debug this", "--json").json
    assert (found["model"], found["confidence"], found["fallbacks"]) == (None, 0.0, [])
    lines = run("route", "debug this").out.splitlines()
    assert lines[0].startswith("no model is configured; add one with `theorex config")
    command = lines[0].split("`")[1]
    added = run(*shlex.split(command)[1:])
    assert added.code == 0
    assert run("route", "debug this").out.startswith("NAME  (large, code, ")


@pytest.mark.usefixtures("published")
def test_route(run: Run) -> None:
    found = run("route", "debug", "this", "parser", "--json").json
    assert found.keys() == {
        "query_type",
        "tier",
        "model",
        "confidence",
        "reasons",
        "fallbacks",
        "is_measured",
        "is_guessed",
    }
    assert (
        found["query_type"],
        found["tier"],
        found["model"],
        found["confidence"],
    ) == (
        "code",
        "large",
        "qwen3-32b",
        1.0,
    )
    assert len(found["reasons"]) == 5
    assert run("route", "a haiku", "--urgent", "--json").json["tier"] == "medium", (
        "there is no small one"
    )
    assert (
        run("route", "a haiku", "--context", "50", "--json").json["confidence"] == 0.9
    )
    assert (
        run("route", "a haiku", "--tokens", "501", "--json").json["confidence"] == 0.85
    )
    shown = run("route", "debug this").out
    assert shown.startswith(
        "qwen3-32b  (large, code, confidence 1.00, by rule, not measured)\n"
        "  role preference: "
    )
    assert shown.endswith("  then: claude-sonnet, ministral-3b\n")


@pytest.mark.usefixtures("published", "recorded")
def test_route_goes_by_what_was_recorded(run: Run) -> None:
    assert run("route", "debug this", "--json").json["model"] == "qwen3-32b"


def test_route_refuses(run: Run) -> None:
    ended = run("route", " ", "--json")
    assert (ended.code, ended.json.keys()) == (1, {"error"})
    assert run("route").code == run("route", "x", "--context", "101").code == 2


@pytest.mark.usefixtures("published")
def test_role_route(run: Run, tmp_path: Path) -> None:
    assert run("tiers", "role-route", "debug", "this", "--json").json == {
        "agent": "qwen-sage",
        "role": "operative",
        "model": "qwen3-32b",
        "query_type": "code",
        "reason": "operative that takes code, priority 0",
    }
    assert (
        run("tiers", "role-route", "a poem").out
        == "main (orchestrator, claude-sonnet): no active operative takes creative;"
        " main orchestrates\n"
    )
    (tmp_path / "home" / "config.json").write_text('{"roles": []}')
    ended = run("tiers", "role-route", "a poem", "--json")
    assert (ended.code, ended.json["agent"]) == (0, None)
    assert "no role is configured" in ended.json["reason"]


@pytest.mark.usefixtures("published")
def test_roles(run: Run, tmp_path: Path) -> None:
    rows = run("tiers", "roles", "--json").json["roles"]
    assert [row["agent_id"] for row in rows] == ["main", "qwen-sage", "secretarius"]
    assert rows[1] == {
        "agent_id": "qwen-sage",
        "role": "operative",
        "capabilities": ["retrieval", "code", "math"],
        "model_preference": "qwen3-32b",
        "priority": 0,
        "active": True,
    }
    assert "qwen-sage operative [retrieval, code, math] qwen3-32b 0 True" in " ".join(
        run("tiers", "roles").out.split()
    )
    role = {
        "agentId": "x",
        "role": "operative",
        "capabilities": ["code"],
        "active": False,
    }
    (tmp_path / "home" / "config.json").write_text(json.dumps({"roles": [role]}))
    assert run("tiers", "roles").out.splitlines()[1].split()[-3:] == [
        "None",
        "0",
        "False",
    ]
    (tmp_path / "home" / "config.json").write_text('{"roles": []}')
    assert run("tiers", "roles").out.startswith(
        "no role is configured; add some under roles"
    )


@pytest.mark.usefixtures("published")
def test_energy_check(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("tiers", "energy-check", "--json").json == {
        "percent": None,
        "on_battery": False,
        "source": "given",
        "allowed": {"small": True, "medium": True, "large": True},
        "reason": "mains: every size may run",
    }
    monkeypatch.setattr(energy, "read_power", lambda: energy.Power(50.0, True, "pmset"))
    assert run("tiers", "energy-check", "--json").json["allowed"]["large"] is True
    low = run("tiers", "energy-check", "--complexity", "low", "--json").json
    assert (low["allowed"]["large"], low["reason"]) == (
        False,
        "on battery, and the query is of low complexity",
    )
    monkeypatch.setattr(energy, "read_power", lambda: energy.Power(8.0, True, "pmset"))
    assert (
        run("tiers", "energy-check").out
        == "small, medium  (battery at 8 %, below 20 %; source: pmset)\n"
    )
    assert run("route", "debug this", "--json").json["model"] == "ministral-3b"
    assert run("tiers", "energy-check", "--complexity", "some").code == 2


def test_the_matrix(run: Run, recorded: None) -> None:
    built = run("tiers", "matrix-build", "--json").json
    assert built == {"records": 13, "cells": 2}
    assert run("tiers", "matrix-build").out == "13 runs in 2 cells\n"
    starved, usable = run("matrix", "--json").json["cells"]
    keys = {
        "query_type",
        "model",
        "n",
        "success_rate",
        "ci_low",
        "ci_high",
        "latency_ms",
        "score",
        "usable",
    }
    assert keys <= usable.keys()
    assert (
        usable["model"],
        usable["n"],
        usable["success_rate"],
        usable["latency_ms"],
    ) == ("qwen3-32b", 10, 0.8, 200)
    assert (usable["score"], usable["usable"]) == (pytest.approx(0.8), True)
    assert (starved["score"], starved["usable"]) == (None, False)
    head, first, second = (line.split() for line in run("matrix").out.splitlines())
    assert [*zip(head, second, strict=True)][:4] == [
        ("query_type", "code"),
        ("model", "qwen3-32b"),
        ("n", "10"),
        ("success_rate", "0.8"),
    ]
    assert (first[1], first[head.index("score")]) == ("ministral-3b", "–")
    assert [
        row["usable"]
        for row in run("matrix", "--min-samples", "3", "--json").json["cells"]
    ] == [True, True]
    later = run(
        "matrix", "--half-life", "1", "--now", "2026-03-02T09:00:00Z", "--json"
    ).json["cells"]
    assert [row["n"] for row in later] == [1.5, 5.0]
    assert run("matrix", "--half-life", "0").code == 2
    assert run("matrix", "--min-samples", "0").code == 2


def test_a_model_named_by_a_file_does_not_rule_the_terminal(tmp_path: Path) -> None:
    from click.testing import CliRunner

    with Lab(tmp_path, clock=FixedClock(NOW)) as lab:
        lab.journal.append(
            [started("trace-1"), ended_call(1, model="evil\x1b[2J\x9b31m\u202e")]
        )
    for name in ("matrix", "traces"):
        shown = (
            CliRunner()
            .invoke(cli.theorex, [name, "--home", str(tmp_path)], color=True)
            .output
        )
        assert "evil?[2J?31m" in shown
        assert not [each for each in ("\x1b[2J", "\x9b", "\u202e") if each in shown]


def test_the_matrix_is_kept_for_the_next_start(
    run: Run, recorded: None, tmp_path: Path
) -> None:
    run("tiers", "matrix-build")
    assert list((tmp_path / "home" / "views" / "evidence").glob("*/manifest*"))


def test_without_evidence(run: Run) -> None:
    assert run("tiers", "matrix-build", "--json").json == {"records": 0, "cells": 0}
    assert run("matrix").out.startswith("no evidence yet: `theorex dispatch`")
    assert run("matrix", "--json").json == {"cells": [], "untrusted": []}
    assert run("traces", "--json").json == {"stats": [], "open": 0}
    assert run("traces").out == (
        "no call has ended: `theorex dispatch` makes one\n0 calls are open\n"
    )


def test_a_preset_holds_for_one_command(run: Run, recorded: None) -> None:
    assert run("matrix", "--preset", "paper", "--json").json["cells"][1][
        "score"
    ] == pytest.approx(0.88)
    assert run("matrix", "--json").json["cells"][1]["score"] == pytest.approx(0.8)
    sources = {
        row["key"]: row["source"]
        for row in run("config", "--preset", "paper", "--json").json["settings"]
    }
    assert (sources["recallCalls"], sources["maxTextBytes"]) == (
        "preset paper",
        "default",
    )
    ended = run("route", "x", "--preset", "published", "--json")
    assert (ended.code, ended.json["error"]) == (
        1,
        "got the preset 'published'; allowed are none, paper",
    )
