"""Commands and settings that used to say yes to what nobody meant: empty names, words
that are nearly known, values out of range.
"""

from __future__ import annotations

import json
import multiprocessing
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Run, observation
from faults import opened

from theorex_lab import (
    ConfigError,
    FixedClock,
    HashedNgramEmbedder,
    InvalidInput,
    Lab,
    Settings,
)
from theorex_lab.app.cli.groups import COMMANDS, GROUPS, DesignCommands
from theorex_lab.core.ids import CONCEPT_BITS
from theorex_lab.core.settings import (
    LAW_PARAMETERS,
    check_settings,
    load_settings,
    save_settings,
)
from theorex_lab.dispatch.tasks import MAX_LEASE_SECONDS
from theorex_lab.files.command_line import options
from theorex_lab.memory.decay import LAWS
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


def test_a_search_is_the_own_agents(
    run: Run, two: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
        assert lab.theorex.promote(agent="alice").concepts == 1
    named = run(
        "search", "harbour code", "--agent", "bob", "--kind", "concept", "--json"
    )
    assert "harbour code" in texts(named)
    assert PRIVATE not in texts(named) | texts(
        run("search", "harbour code", "--agent", "bob", "--json")
    )


def test_a_search_for_somebody_who_never_wrote_says_so(
    run: Run, two: Path, tmp_path: Path
) -> None:
    assert run("embed").code == 0
    ended = run("search", "harbour", "--agent", "alise", "--json")
    assert (ended.code, ended.json["notes"]) == (
        0,
        ["the agent 'alise' has written nothing yet; the nearest who has is 'alice'"],
    )
    shown = run("search", "harbour", "--agent", "alise").out
    assert shown.startswith("nothing found\n(the agent 'alise'")
    assert (
        run("search", "nothing of this", "--agent", "alice", "--json").json["notes"]
        == []
    )
    empty = run("search", "harbour", "--home", str(tmp_path / "empty"), "--json")
    assert empty.json["notes"] == [
        "the agent 'main' has written nothing yet; no other agent has either"
    ]


AGENT_COMMANDS = [
    ["write", "x y"],
    ["search", "x"],
    ["status"],
    ["tiers", "scan"],
    ["tiers", "prune"],
    ["tiers", "scan-agent"],
    ["tiers", "prune-agent"],
    ["tiers", "flush"],
    ["tiers", "graduate"],
    ["tiers", "promote"],
    ["tiers", "flash-inject", "--session", "s"],
    ["tiers", "boot-aware"],
    ["route", "x"],
    ["traces"],
    ["dispatch", "x"],
    ["review"],
    ["tiers", "evolve-review"],
    ["maintain"],
    ["tiers", "drift"],
    ["outcomes"],
    ["outcome", "--decision", "d", "--result", "r", "--fail"],
    ["outcomes", "--judge"],
    ["tiers", "context-monitor", "--session", "s", "--context", "5"],
    ["tiers", "moment", "a story"],
    ["tiers", "a2a-tasks"],
    ["tiers", "a2a-claim"],
    ["mcp"],
    ["serve"],
    ["erase"],
    ["export", "out"],
    ["import", "x"],
    ["install-hooks", "--yes"],
    ["dreams", "recall", "x"],
    ["facts", "write", "--entity", "people/ann", "--fact", "x y"],
    ["facts", "observe", "--text", "x y"],
    ["causal", "snapshot"],
    ["causal", "hypothesis"],
    ["causal", "attempt"],
    ["causal", "close"],
    ["causal", "import", "x"],
    ["causal", "candidate", "x"],
    ["causal", "personality"],
    ["causal", "narrative"],
    ["dropin", "call", '{"command": "view", "path": "/memories"}'],
    ["dropin", "graph"],
    ["research", "remember", "k", "v"],
    ["research", "forget", "k"],
    ["research", "post-run", "--session", "s"],
    ["research", "import", "x"],
    ["ingest", "x"],
    ["ingest", "--kind", "code", "x"],
    ["ingest", "--kind", "image", "x"],
    ["ingest", "--kind", "video", "x"],
    ["tiers", "session-summary", "--next", "x"],
    ["tiers", "synthesize", "x"],
    ["tiers", "submit", "x"],
    ["tiers", "trace-emit", "x"],
    ["tiers", "export", "out"],
    ["facts", "tension", "--fact1", "a", "--fact2", "b", "--text", "x y"],
    ["facts", "review", "obs-0001", "archive"],
    ["facts", "add-domain", "reviews"],
    ["dreams", "import", "x"],
]


@pytest.mark.parametrize(
    "arguments", AGENT_COMMANDS, ids=lambda arguments: arguments[0]
)
def test_an_empty_agent_is_nobody(
    run: Run, arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("", " ", "../x"):
        ended = run(*arguments, "--agent", name, "--json")
        assert (ended.code, f"got the agent id {name!r}" in ended.json["error"]) == (
            1,
            True,
        )
    assert list(tmp_path.rglob("*.db")) == []


def test_every_command_that_takes_an_agent_is_tried() -> None:
    from theorex_lab.app.cli import theorex

    commands = {(name,): theorex.get_command(None, name) for name in COMMANDS}  # type: ignore[arg-type]
    for group in GROUPS:
        made = DesignCommands(group)
        for name in made.list_commands(None):  # type: ignore[arg-type]
            commands[group, name] = made.get_command(None, name)  # type: ignore[arg-type]
    takers = {
        words
        for words, each in commands.items()
        if each and any("--agent" in option.opts for option in each.params)
    }
    tried = set[tuple[str, ...]]()
    for arguments in AGENT_COMMANDS:
        tried.add(tuple(arguments[: 2 if arguments[0] in GROUPS else 1]))
    same = {  # under their own names without a group they are tried above
        ("tiers", name)
        for name in (
            "write status search dispatch route outcome trace-stats trace-review"
            " mcp-start ingest ingest-code ingest-image ingest-video evolve-status"
        ).split()
    }
    assert takers - same == tried


@pytest.mark.parametrize("arguments", [["--to", ""], ["--to", "sage", "--from", ""]])
def test_nor_does_anybody_ask_or_answer_without_a_name(
    run: Run, arguments: list[str]
) -> None:
    ended = run("tiers", "a2a-send", *arguments, "--type", "review", "x", "--json")
    assert (ended.code, "got the agent id ''" in ended.json["error"]) == (1, True)


def test_a_new_type_is_written_and_its_nearest_named(run: Run) -> None:
    first = run("write", "--type", "decison", "we keep the queue", "--json")
    assert (first.code, first.json.keys()) == (0, {"event_id", "concepts"})
    assert (
        first.err
        == "theorex: the type 'decison' is new here; the nearest that is known is 'decision'\n"
    )
    assert (
        run("write", "--type", "decison", "we keep the cache").err == ""
    )  # a word of this home by now
    assert "'decison'" in run("write", "--type", "decisons", "we keep the lamp").err
    for known in ("decision", "discovery", "trace_fix", "change", "feature"):
        assert run("write", "--type", known, "a cache").err == ""
    refused = run("write", "--type", "No Type", "a cache")
    assert (refused.code, "is new here" in refused.err) == (1, False)


def test_a_model_without_a_budget_is_named_with_the_nearest(
    run: Run, home: Callable[..., Path]
) -> None:
    home(models={"own-model": {"tier": "small"}})
    ended = run("tiers", "boot-aware", "--model", "claude-sonet", "--json")
    assert (ended.code, ended.json["model"]) == (0, "claude-sonet")
    assert "no model 'claude-sonet' is known" in ended.err
    assert "the nearest is 'claude-sonnet'" in ended.err
    for known in ("claude-sonnet", "default", "own-model"):
        assert run("tiers", "boot-aware", "--model", known).err == ""


OUT_OF_RANGE = [
    ["search", "x", "--limit", "0"],
    ["search", "x", "--limit", "1001"],
    ["tiers", "query-shared", "x", "--limit", "-1"],
    ["tiers", "promote", "--force", "-1"],
    ["tiers", "promote", "--force", str(1 << 53)],
    ["dispatch", "x", "--context", "101"],
    ["dispatch", "x", "--context", "nan"],
    ["dispatch", "x", "--tokens", "-1"],
    ["route", "x", "--context", "-1"],
    ["route", "x", "--tokens", "-5"],
    ["matrix", "--half-life", "0"],
    ["matrix", "--half-life", "inf"],
    ["matrix", "--min-samples", "0"],
    ["tiers", "context-monitor", "--session", "s", "--context", "100.5"],
    ["tiers", "a2a-claim", "--lease", "0"],
    ["tiers", "a2a-claim", "--lease", "nan"],
    ["tiers", "a2a-claim", "--lease", "1e9"],
    ["tiers", "evolve-review", "--days", "0"],
    ["embed", "--limit", "-1"],
    ["audit", "--limit", "-1"],
    ["mcp", "--port", "70000"],
]


@pytest.mark.parametrize("arguments", OUT_OF_RANGE, ids=" ".join)
def test_a_number_out_of_range_is_wrong_usage(run: Run, arguments: list[str]) -> None:
    ended = run(*arguments, "--json")
    assert (ended.code, "; allowed is a" in ended.json["error"]) == (2, True)


def test_the_ranges_are_those_of_the_rooms_below() -> None:
    assert options.RESULTS.max == MAX_RESULTS
    assert options.LEASE_SECONDS.max == MAX_LEASE_SECONDS
    assert options.CONCEPT_ID.max == (1 << CONCEPT_BITS) - 1


WRONG_SETTINGS = [
    (
        '{"decayLaw": "prodcut"}',
        "decayLaw is 'prodcut'; allowed are constant, frequency",
    ),
    ('{"decayParams": {"speed": 1}}', "decayParams: law 'product' got speed = 1"),
    ('{"decayLaw": "power", "decayParams": {"exponent": 7}}', "exponent = 7"),
    (
        '{"decayLaw": "constant", "decayParams": {"half_life_days": 7}}',
        "allowed names: level",
    ),
    ('{"halfLifeDays": 0.001}', "half_life_days = 0.001 (allowed: 0.01 to 36500 days)"),
    (
        '{"reviewers": ["nobody"]}',
        "reviewers.0 is 'nobody', but no model is configured",
    ),
    (
        '{"reviewers": ["qwen3-32b", "qwen3-32b"]}',
        "reviewers.1 is 'qwen3-32b', which stands there twice",
    ),
    ('{"reviewers": [""]}', "reviewers.0 is ''"),
    (
        '{"halfLifeDays": 3, "halfLifeDays": 30}',
        "the key 'halfLifeDays' stands there twice",
    ),
    (
        '{"halfLifeDays": 3, "half_life_days": 30}',
        "halfLifeDays stands there twice, also as half_life_days",
    ),
    (
        '{"models": {"m": {"tier": "small", "tier": "large"}}}',
        "the key 'tier' stands there twice",
    ),
    (
        '{"models": {"m": {"tier": "small", "apiKeyEnv": "A", "api_key_env": "B"}}}',
        "models.m: apiKeyEnv stands there twice",
    ),
]


@pytest.mark.parametrize(("content", "said"), WRONG_SETTINGS)
def test_wrong_settings_are_refused_when_they_are_loaded(
    run: Run, tmp_path: Path, content: str, said: str
) -> None:
    file = tmp_path / "home" / "config.json"
    file.parent.mkdir()
    file.write_text(content)
    with pytest.raises(ConfigError, match=re.escape(said)):
        load_settings(file)
    for command in (
        ["status"],
        ["write", "a cache"],
        ["config", "contextTokens", "500"],
    ):
        ended = run(*command, "--json")
        assert (ended.code, said in ended.json["error"]) == (1, True)
    assert file.read_text() == content


def test_right_settings_pass() -> None:
    for law, parameters in LAW_PARAMETERS.items():
        check_settings(
            {
                "decayLaw": law,
                "decayParams": {
                    name: each.default for name, each in parameters.items()
                },
            }
        )
    assert {name: law.parameters for name, law in LAWS.items()} == LAW_PARAMETERS
    models = {
        "m_1": {"tier": "small"},
        "m1": {"tier": "small"},
        "m_2": {"tier": "small"},
    }
    assert check_settings({"models": models, "reviewers": ["m_1", "m1"]}).reviewers == [
        "m_1",
        "m1",
    ]
    assert check_settings({"models": models}).reviewers == Settings().reviewers
    assert check_settings({"reviewers": []}).reviewers == []


def test_a_setting_is_set_and_unset(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "home" / "config.json"
    done = run("config", "half_life_days", "7", "--json")
    assert (done.code, done.json["file"]) == (0, str(file))
    assert (
        done.json["setting"]["key"],
        done.json["setting"]["value"],
        done.json["setting"]["source"],
    ) == (
        "halfLifeDays",
        7.0,
        "config.json",
    )
    for key, value in (
        ("decayLaw", "power"),
        ("decayParams", '{"exponent": 0.4}'),
        ("models", '{"claude-sonnet": {"tier": "large"}}'),
        ("reviewers", '["claude-sonnet"]'),
        ("lmStudioUrl", "http://localhost:9"),
        ("matrixHalfLifeDays", "null"),
        ("sharedAxonPath", '"a b"'),
        ("lmStudioEmbedModel", "123"),
    ):
        assert run("config", key, value).code == 0
    assert json.loads(file.read_text()) == {
        "halfLifeDays": 7,
        "decayLaw": "power",
        "decayParams": {"exponent": 0.4},
        "models": {"claude-sonnet": {"tier": "large"}},
        "reviewers": ["claude-sonnet"],
        "lmStudioUrl": "http://localhost:9",
        "matrixHalfLifeDays": None,
        "sharedAxonPath": "a b",
        "lmStudioEmbedModel": "123",
    }
    shown = run("config", "--json").json
    assert shown.keys() == {"file", "settings"}
    assert {row["key"]: row["value"] for row in shown["settings"]}[
        "decayLaw"
    ] == "power"
    assert "halfLifeDays = 7.0 days" in run("config").out
    row = run("--json", "config", "--unset", "halfLifeDays").json["setting"]
    assert (row["value"], row["source"]) == (14.0, "default")
    assert "halfLifeDays" not in json.loads(file.read_text())
    assert run("config", "--unset", "halfLifeDays").code == 0
    assert run("status", "--json").json["decay_law"] == "power"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["halfLifeDay", "7"], "the nearest is halfLifeDays"),
        (["--unset", "halfLifeDay"], "the nearest is halfLifeDays"),
        (["halfLifeDays", "-1"], "halfLifeDays is -1; allowed is above 0"),
        (["halfLifeDays", "a week"], "allowed is JSON"),
        (["halfLifeDays", '"7"'], "halfLifeDays is '7'"),
        (["halfLifeDays", "NaN"], "halfLifeDays is nan"),
        (["decayLaw", "prodcut"], "decayLaw is 'prodcut'"),
        (["decayParams", '{"half_life_days": 2, "speed": 1}'], "speed = 1"),
        (["reviewers", "qwen3-32b"], "allowed is JSON"),
        (["reviewers", '["qwen3"]'], "reviewers.0 is 'qwen3'"),
        (["fusion", "both"], "standardised | reciprocal_rank"),
        (["mildThreshold", "0.9"], "up to activeThreshold"),
    ],
)
def test_what_is_wrong_is_not_set(
    run: Run, home: Callable[..., Path], arguments: list[str], said: str
) -> None:
    file = home(contextTokens=500) / "config.json"
    before = file.read_bytes()
    ended = run("config", *arguments, "--json")
    assert (ended.code, said in ended.json["error"]) == (1, True), ended.json
    assert file.read_bytes() == before


def test_wrong_use_of_config(run: Run) -> None:
    for arguments in (
        ["halfLifeDays", "--unset", "halfLifeDays"],
        ["set", "halfLifeDays", "7"],
        ["a", "b", "c"],
    ):
        assert run("config", *arguments, "--json").code == 2


def test_a_file_that_is_wrong_is_put_right_with_unset(
    run: Run, home: Callable[..., Path]
) -> None:
    file = home(halfLifeDays=-1, contextTokens=500) / "config.json"
    assert run("status").code == 1
    assert run("config", "--unset", "halfLifeDays").code == 0
    assert run("status").code == 0
    file.write_text('{"colour": "red", "contextTokens": 500}')
    done = run("config", "--unset", "colour", "--json")
    assert (done.code, done.json["setting"]) == (0, None)
    assert json.loads(file.read_text()) == {"contextTokens": 500}


def _set(file: str, key: str) -> None:
    save_settings(Path(file), {key: 7})


def test_settings_that_several_processes_set_are_all_kept(tmp_path: Path) -> None:
    keys = [
        "halfLifeDays",
        "fixHalfLifeDays",
        "sleepAfterDays",
        "pruneThresholdDays",
        "evolveWindowDays",
        "driftWindowDays",
        "matrixMinSamples",
        "acceptanceMinSamples",
    ]
    context = multiprocessing.get_context("fork")
    processes = [
        context.Process(target=_set, args=(str(tmp_path / "config.json"), key))
        for key in keys
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert json.loads((tmp_path / "config.json").read_text()) == dict.fromkeys(keys, 7)


class Wrong:
    """Nearly an embedder."""

    id = ""
    dimensions = True
    kind = "clever"

    embed = "not a method"


class Asking:
    """An embedder whose dimensions are asked of a model, which nobody may do before
    they are needed.
    """

    id = "asking"
    kind = "semantic"

    @property
    def dimensions(self) -> int:
        raise AssertionError("the model was asked")

    def embed(self, texts: Any) -> Any:
        raise AssertionError(f"the model was asked for {texts}")


def test_what_is_handed_in_is_checked_at_once(tmp_path: Path) -> None:
    for given, said in (
        (object(), "it has no id"),
        (HashedNgramEmbedder, "got the class HashedNgramEmbedder"),
        ("minilm", "got a str for an embedder"),
        (Wrong(), "id is '' (allowed: a text that is not empty); dimensions is True"),
        (Wrong(), "kind is 'clever'"),
        (Wrong(), "embed is 'not a method'"),
    ):
        with pytest.raises(InvalidInput, match=re.escape(said)):
            Lab(tmp_path / "home", embedder=given)  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match=re.escape(said)):
            Lab.temporary(embedder=given)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="for a clock"):
        Lab(tmp_path / "home", clock=FixedClock)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="for settings"):
        Lab(tmp_path / "home", settings={"halfLifeDays": 7})  # type: ignore[arg-type]
    assert not (tmp_path / "home").exists()
    for right in (Asking(), HashedNgramEmbedder()):
        Lab(tmp_path / "home", embedder=right).close()  # type: ignore[arg-type]
