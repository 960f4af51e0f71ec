"""Commands and settings that used to say yes to what nobody meant: empty names, words that are nearly known, values out of range."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Run, observation
from faults import opened

from theorex_lab.cli import COMMANDS, number
from theorex_lab.dispatch.tasks import MAX_LEASE_SECONDS
from theorex_lab.ids import CONCEPT_BITS
from theorex_lab.memory.retrieve import MAX_RESULTS

PRIVATE = "alice keeps the harbour code to herself"


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """A home where alice and bob have written."""
    home = tmp_path / "home"
    with opened(home) as lab:
        lab.journal.append(
            [
                observation(PRIVATE, labels=["harbour code"], agent="alice"),
                observation("bob likes the harbour", labels=["harbour"], agent="bob"),
            ]
        )
    return home


def texts(ended: Any) -> set[str]:
    return {hit["text"] for hit in ended.json["hits"]}


def test_a_search_is_the_own_agents(run: Run, two: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert texts(run("search", "harbour code", "--json")) == set()
    monkeypatch.setenv("THEOREX_AGENT", "bob")
    assert "bob likes the harbour" in texts(run("search", "harbour code", "--json"))
    assert PRIVATE not in run("search", "harbour code").out
    assert PRIVATE in texts(run("search", "harbour code", "--agent", "alice", "--json"))
    everything = texts(run("search", "harbour code", "--all-agents", "--json"))
    assert {PRIVATE, "bob likes the harbour"} <= everything
    assert run("search", "harbour", "--all-agents", "--agent", "bob").code == 2


def test_what_is_shared_is_found_by_everyone(run: Run, two: Path) -> None:
    with opened(two) as lab:
        assert lab.promote(agent="alice").concepts == 1
    found = texts(run("search", "harbour code", "--agent", "bob", "--json"))
    assert "harbour code" in found
    assert PRIVATE not in found


def test_a_search_for_somebody_who_never_wrote_says_so(run: Run, two: Path, tmp_path: Path) -> None:
    ended = run("search", "harbour", "--agent", "alise", "--json")
    assert (ended.code, ended.json["notes"]) == (
        0, ["the agent 'alise' has written nothing yet; the nearest who has is 'alice'"],
    )  # fmt: skip
    shown = run("search", "harbour", "--agent", "alise").out
    assert shown.startswith("nothing found\n(the agent 'alise'")
    assert run("search", "nothing of this", "--agent", "alice", "--json").json["notes"] == []
    empty = run("search", "harbour", "--home", str(tmp_path / "empty"), "--json")
    assert empty.json["notes"] == ["the agent 'main' has written nothing yet; nor has anybody else"]


AGENT_COMMANDS = [
    ["write", "x y"], ["search", "x"], ["status"], ["scan"], ["prune"], ["flush"], ["graduate"], ["promote"], ["flash-inject", "--session", "s"],
    ["boot-aware"], ["route", "x"], ["trace-stats"], ["dispatch", "x"], ["trace-review"], ["evolve-review"], ["nightly"], ["drift"], ["evolve-status"],
    ["outcome", "--decision", "d", "--result", "r", "--fail"], ["judge", "--pending"], ["context-monitor", "--session", "s", "--context", "5"],
    ["moment", "a story"], ["a2a-tasks"], ["a2a-claim"], ["mcp-start"], ["erase"], ["export", "out"], ["import", "x"], ["install-hooks", "--yes"],
]  # fmt: skip


@pytest.mark.parametrize("arguments", AGENT_COMMANDS, ids=lambda arguments: arguments[0])
def test_an_empty_agent_is_nobody(
    run: Run, arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("", " ", "../x"):
        ended = run(*arguments, "--agent", name, "--json")
        assert (ended.code, f"got the agent id {name!r}" in ended.json["error"]) == (1, True)
    assert list(tmp_path.rglob("*.db")) == []


def test_every_command_that_takes_an_agent_is_tried() -> None:
    from theorex_lab.cli import theorex

    commands = {name: theorex.get_command(None, name) for name in COMMANDS}  # type: ignore[arg-type]
    takers = {
        name for name, each in commands.items() if each and any("--agent" in option.opts for option in each.params)
    }
    assert takers == {arguments[0] for arguments in AGENT_COMMANDS}


@pytest.mark.parametrize("arguments", [["--to", ""], ["--to", "sage", "--from", ""]])
def test_nor_does_anybody_ask_or_answer_without_a_name(run: Run, arguments: list[str]) -> None:
    ended = run("a2a-send", *arguments, "--type", "review", "x", "--json")
    assert (ended.code, "got the agent id ''" in ended.json["error"]) == (1, True)


def test_a_new_type_is_written_and_its_nearest_named(run: Run) -> None:
    first = run("write", "--type", "decison", "we keep the queue", "--json")
    assert (first.code, first.json.keys()) == (0, {"event_id", "concepts"})
    assert first.err == "theorex: the type 'decison' is new here; the nearest that is known is 'decision'\n"
    assert run("write", "--type", "decison", "we keep the cache").err == ""  # a word of this home by now
    assert "'decison'" in run("write", "--type", "decisons", "we keep the lamp").err
    for known in ("decision", "discovery", "trace_fix", "change", "feature"):
        assert run("write", "--type", known, "a cache").err == ""
    refused = run("write", "--type", "No Type", "a cache")
    assert (refused.code, "is new here" in refused.err) == (1, False)


def test_a_model_without_a_budget_is_named_with_the_nearest(run: Run, home: Callable[..., Path]) -> None:
    home(models={"own-model": {"tier": "small"}})
    ended = run("boot-aware", "--model", "claude-sonet", "--json")
    assert (ended.code, ended.json["model"]) == (0, "claude-sonet")
    assert "no model 'claude-sonet' is known" in ended.err
    assert "the nearest is 'claude-sonnet'" in ended.err
    for known in ("claude-sonnet", "default", "own-model"):
        assert run("boot-aware", "--model", known).err == ""


OUT_OF_RANGE = [
    ["search", "x", "-k", "0"], ["search", "x", "-k", "1001"], ["query-shared", "x", "-k", "-1"], ["promote", "--force", "-1"],
    ["promote", "--force", str(1 << 53)], ["dispatch", "x", "--context", "101"], ["dispatch", "x", "--context", "nan"], ["dispatch", "x", "--tokens", "-1"],
    ["route", "x", "--context", "-1"], ["route", "x", "--tokens", "-5"], ["model", "start", "--port", "0"], ["model", "start", "--port", "70000"],
    ["matrix-show", "--half-life", "0"], ["matrix-show", "--half-life", "inf"], ["matrix-show", "--min-samples", "0"],
    ["context-monitor", "--session", "s", "--context", "100.5"], ["a2a-claim", "--lease", "0"], ["a2a-claim", "--lease", "nan"], ["a2a-claim", "--lease", "1e9"],
    ["evolve-review", "--days", "0"], ["embed", "--limit", "-1"], ["audit", "--limit", "-1"], ["mcp-start", "--port", "70000"],
]  # fmt: skip


@pytest.mark.parametrize("arguments", OUT_OF_RANGE, ids=" ".join)
def test_a_number_out_of_range_is_wrong_usage(run: Run, arguments: list[str]) -> None:
    ended = run(*arguments, "--json")
    assert (ended.code, "range" in ended.json["error"]) == (2, True)


def test_the_ranges_are_those_of_the_rooms_below() -> None:
    assert number.RESULTS.max == MAX_RESULTS
    assert number.LEASE_SECONDS.max == MAX_LEASE_SECONDS
    assert number.CONCEPT_ID.max == (1 << CONCEPT_BITS) - 1
