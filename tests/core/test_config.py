"""Settings as dataclasses, their one check, and the file config.json."""

from __future__ import annotations

import json
import os
import pickle
import socket
import subprocess
import sys
from dataclasses import FrozenInstanceError, asdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic.alias_generators import to_camel as pydantic_to_camel

from theorex_lab import ConfigError, Lab, Settings, installed
from theorex_lab.core.settings import (
    PRESETS,
    PUBLISHED_MODELS,
    ModelSettings,
    RoleSettings,
    SettingsRecord,
    check,
    check_settings,
    describe_settings,
    load_settings,
    rules_of,
    save_settings,
    to_camel,
    to_snake,
)

GIVEN = {
    "halfLifeDays": 7,
    "sourceWeights": {"sage": 0.9},
    "models": {"m": {"tier": "small", "url": "http://localhost:1"}},
    "roles": [
        {
            "agentId": "sage",
            "role": "operative",
            "capabilities": ["code"],
            "modelPreference": "m",
        }
    ],
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(GIVEN))
    return path


def loaded_by(home: Path, *arguments: str) -> set[str]:
    """Which of the slow packages a command imports."""
    code = """
import sys
sys.argv = ["theorex", *sys.argv[1:]]
from theorex_lab.app.cli import main
try:
    main()
finally:
    print(*{"pydantic", "pydantic_core", "numpy", "httpx", "onnxruntime", "Stemmer"} & set(sys.modules))
"""  # noqa: E501
    command = [sys.executable, "-c", code, "--home", str(home), *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("configured", [False, True])
def test_short_commands_import_what_they_use(tmp_path: Path, configured: bool) -> None:
    if configured:
        (tmp_path / "config.json").write_text(json.dumps(GIVEN))
    assert loaded_by(tmp_path, "write", "a cache") == set()
    assert loaded_by(tmp_path, "status") == {
        "numpy",
        "Stemmer",
    }, "it counts the texts that are searched"


def test_defaults_are_allowed_themselves() -> None:
    for record in (Settings(), *Settings().models.values(), *Settings().roles):
        assert asdict(check(type(record), record.to_dict())) == asdict(record)


def test_names_are_spelt_as_pydantic_would() -> None:
    for kind in (Settings, ModelSettings, RoleSettings):
        for name in rules_of(kind):
            assert to_camel(name) == pydantic_to_camel(name)
            assert to_snake(to_camel(name)) == name


def test_a_record_tells_what_was_given_and_never_changes() -> None:
    settings = check_settings(GIVEN)
    assert settings.given == {"half_life_days", "source_weights", "models", "roles"}
    assert settings.is_set("models")
    assert not settings.is_set("mild_threshold")
    assert (settings.half_life_days, type(settings.half_life_days)) == (7.0, float)
    assert settings.source_weight("sage") == 0.9
    assert settings.models["m"] == ModelSettings(tier="small", url="http://localhost:1")
    assert settings.models["m"] != ModelSettings(tier="small")
    assert settings.roles[0].active
    assert settings.to_dict(only_given=True) == GIVEN
    assert settings.to_dict(names={"fusion"}) == {"fusion": "standardised"}
    assert check_settings(settings.to_dict()) == settings
    assert pickle.loads(pickle.dumps(settings)) == settings
    copy = settings.replaced(mild_threshold=0.1)
    assert (
        copy.mild_threshold,
        copy.is_set("mild_threshold"),
        settings.mild_threshold,
    ) == (0.1, True, 0.3)
    with pytest.raises(FrozenInstanceError):
        settings.half_life_days = 3.0  # type: ignore[misc]
    assert repr(Settings(half_life_days=3)) == "Settings(half_life_days=3.0)"


def test_a_default_that_is_changed_in_place_stays_the_others() -> None:
    Settings(preset="paper").models.clear()
    Settings(preset="paper").reviewers.append("x")
    Settings().reviewers.append("x")
    published = Settings(preset="paper")
    assert published.models == PUBLISHED_MODELS
    assert published.reviewers == ["qwen3-32b", "ministral-3b"]
    assert Settings().reviewers == []


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        (
            Settings,
            {"half_life_days": "7"},
            "half_life_days is '7'; allowed is above 0 to 36500",
        ),
        (Settings, {"colour": 1}, "colour is 1, but there is no such setting"),
        (
            Settings,
            {"models": {"m": {"tier": "huge"}}},
            "models.m.tier is 'huge'; allowed is small | medium | large",
        ),
        (ModelSettings, {}, "tier: field required"),
        (
            ModelSettings,
            {"tier": "huge"},
            "tier is 'huge'; allowed is small | medium | large",
        ),
    ],
)
def test_what_is_wrong_with_a_record_is_named(
    kind: type[SettingsRecord], values: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError) as error:
        check(kind, values)
    assert message in str(error.value)


def test_another_content_is_read(file: Path) -> None:
    load_settings(file)
    times = file.stat()
    file.write_text(file.read_text().replace("7", "9"))
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert load_settings(file).half_life_days == 9.0, (
        "of the same size and time, yet another"
    )
    file.write_text('{"halfLifeDays": -1}')
    with pytest.raises(ConfigError, match="halfLifeDays is -1"):
        load_settings(file)
    with pytest.raises(ConfigError, match="halfLifeDays is -1"):
        save_settings(file, {"mildThreshold": 0.2})
    assert file.read_text() == '{"halfLifeDays": -1}'


def test_a_record_checks_its_values_when_it_is_made() -> None:
    with pytest.raises(
        ConfigError,
        match=r"half_life_days is '7'; allowed is above 0 to 36500 \(a number\)",
    ):
        Settings(half_life_days="7")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="colour"):
        Settings(colour=1)  # type: ignore[call-arg]


def test_every_wrong_value_is_named_also_of_those_that_depend_on_each_other() -> None:
    values = {
        "halfLifeDays": 0,
        "keepMessages": 1,
        "maxTextBytes": 7.0,
        "activeDesigns": [3],
        "mildThreshold": 0.9,
        "sourceWeights": {"main": 2, "../x": 0.5},
        "searchWeights": {"charm": 1},
        "models": {"m": {"tier": "huge", "colour": 1}},
        "roles": [{"agentId": "sage"}],
    }
    with pytest.raises(ConfigError) as error:
        check_settings(values)
    for expected in (
        "halfLifeDays is 0; allowed is above 0",
        "keepMessages is 1; allowed is boolean (true or false)",
        "maxTextBytes is 7.0; allowed is 1 to 16777216 (a whole number)",
        "activeDesigns.0 is 3; allowed is string (a text)",
        "mildThreshold is 0.9; allowed is up to activeThreshold (0.6)",
        "sourceWeights.main is 2.0; allowed is 0 to 1",
        "agent id '../x'",
        "searchWeights.charm is 1.0; allowed is 0 to 5 for each of words",
        "models.m.tier is 'huge'",
        "models.m.colour is 1, but there is no such setting",
        "roles.0.role: field required",
        "roles.0.capabilities: field required",
    ):
        assert expected in str(error.value)


def test_what_depends_on_a_wrong_value_is_not_judged() -> None:
    with pytest.raises(ConfigError) as error:
        check_settings({"activeThreshold": 7, "mildThreshold": 0.9})
    assert "mildThreshold" not in str(error.value)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None)),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
KINDS = [
    Settings,
    *(design.settings for design in installed() if design.settings is not None),
]


@given(st.sampled_from(KINDS), st.data())
def test_any_value_is_taken_as_it_stands_or_refused(
    kind: type[SettingsRecord], data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(sorted(rules_of(kind))))
    value = data.draw(JSON)
    key = to_camel(name)
    try:
        record = check(kind, {key: value})
    except ConfigError:
        return
    taken = record.to_dict(only_given=True)
    assert taken.keys() == {key}
    assert json.loads(json.dumps(taken)) == taken
    assert check(kind, taken) == record


def test_a_file_may_begin_with_a_byte_order_mark(file: Path) -> None:
    expected = load_settings(file)
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    assert load_settings(file) == expected
    assert save_settings(file, {"mildThreshold": 0.2}).half_life_days == 7.0
    assert load_settings(file).mild_threshold == 0.2


def test_a_list_of_a_design_is_read(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(
        '{"designs": {"causal": {"errorTokens": ["oops"]}}}'
    )
    with Lab(tmp_path) as lab:
        causal = next(design for design in lab.home.designs if design.name == "causal")
        assert lab.home.settings_of(causal).error_tokens == ("oops",)


@pytest.mark.parametrize("what", ["a named pipe", "a folder", "a socket"])
def test_only_a_regular_file_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket is short
    file = Path("config.json")
    with socket.socket(socket.AF_UNIX) as listening:
        if what == "a named pipe":
            os.mkfifo(file)
        elif what == "a folder":
            file.mkdir()
        else:
            listening.bind(str(file))
        with pytest.raises(
            ConfigError, match=f"config.json is {what}; allowed is a regular file"
        ):
            load_settings(file)
        with pytest.raises(ConfigError, match=what):
            Lab(tmp_path)
    assert not (tmp_path / "theorex.db").exists()


def test_text_that_is_no_utf_8_is_named(file: Path) -> None:
    file.write_bytes('{"sharedAxonPath": "é"}'.encode("latin-1"))
    with pytest.raises(
        ConfigError, match=r"config.json cannot be read: 'utf-8' codec .*; mend it"
    ):
        load_settings(file)


def test_a_preset_is_a_named_set_of_settings_and_explicit_keys_win(
    tmp_path: Path,
) -> None:
    file = tmp_path / "config.json"
    file.write_text('{"preset": "paper", "recallCalls": 7}')
    settings = load_settings(file)
    assert (settings.matrix_success_weight, settings.recall_calls, settings.fusion) == (
        0.6,
        7,
        "reciprocal_rank",
    )
    rows = {row["key"]: row["source"] for row in describe_settings(settings)}
    assert (rows["recallCalls"], rows["matrixSuccessWeight"]) == (
        "config.json",
        "preset paper",
    )
    assert rows["maxTextBytes"] == "default"
    assert not settings.is_set("lm_studio_url"), (
        "a preset is no consent to ask an endpoint"
    )
    assert load_settings(file, preset="none").matrix_success_weight == 1.0


def test_the_preset_of_the_document_can_be_written_into_a_file_and_names_settings_alone() -> (
    None
):
    checked = check_settings(PRESETS["paper"])
    assert checked.given == PRESETS["paper"].keys() <= rules_of(Settings).keys()


def test_older_names_are_read_with_one_warning_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    older = {"preset": "document", "gateMargin": 0.5, "flush_idle_hours": 3}
    file.write_text(json.dumps(older))
    with pytest.warns(FutureWarning) as caught:
        settings = load_settings(file)
    (warning,) = caught
    assert str(warning.message) == (
        f"{file} has older names of settings, use the newer ones: gateMargin ->"
        " acceptanceMargin, flush_idle_hours -> sessionIdleHours, preset document ->"
        " paper"
    )
    assert settings.preset == "paper"
    assert (settings.acceptance_margin, settings.session_idle_hours) == (0.5, 3.0)
    with pytest.warns(FutureWarning, match="gateMargin -> acceptanceMargin"):
        save_settings(file, {"recallCalls": 7})
    assert json.loads(file.read_text()) == {
        "preset": "paper",
        "acceptanceMargin": 0.5,
        "sessionIdleHours": 3,
        "recallCalls": 7,
    }
    assert load_settings(file).acceptance_margin == 0.5, "now without a warning"


def test_the_older_name_of_the_preset_is_read_from_the_command_line(
    tmp_path: Path,
) -> None:
    with pytest.warns(FutureWarning, match="preset document -> paper"):
        settings = load_settings(tmp_path / "config.json", preset="document")
    assert settings.source("fusion") == "preset paper"


def test_a_file_with_the_older_and_the_newer_name_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text('{"gateMargin": 0.5, "acceptanceMargin": 0.1}')
    with pytest.raises(ConfigError, match="gateMargin is 0.5, but there is no such"):
        load_settings(file)


@pytest.mark.parametrize("name", ["documents", ""])
def test_an_unknown_preset_is_refused_with_the_known_ones(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"preset": name}))
    with pytest.raises(ConfigError, match=r"preset is .*none \| paper"):
        load_settings(tmp_path / "config.json")
    with pytest.raises(
        ConfigError, match=f"got the preset '{name}'; allowed are none, paper"
    ):
        load_settings(tmp_path / "other.json", preset=name)


# As the published description of Theorex prints it.
PUBLISHED_CONFIG = """{
  "halfLifeDays": 14,
  "activeThreshold": 0.6,
  "mildThreshold": 0.3,
  "pruneThresholdDays": 30,
  "promotionThreshold": 0.5,
  "evolveWindowDays": 7,
  "lmStudioUrl": "http://localhost:1234",
  "lmStudioEmbedModel": "nomic-embed-text-v1.5",
  "agentAxonDir": "~/.openclaw/agents",
  "sharedAxonPath": "~/.openclaw/workspace/theorex/shared-axon.json",
  "outcomesDir": "data/outcomes",
  "coldStorePath": "data/cold-store.db"
}
"""


def test_the_published_config_is_read_and_what_has_no_effect_is_told_once(
    tmp_path: Path,
) -> None:
    file = tmp_path / "config.json"
    file.write_text(PUBLISHED_CONFIG)
    with pytest.warns(FutureWarning, match="without effect: coldStorePath") as caught:
        settings = load_settings(file)
    assert len(caught) == 1
    stated = json.loads(PUBLISHED_CONFIG)
    del stated["coldStorePath"]
    assert settings.to_dict(only_given=True) == stated
    assert load_settings(file) == settings, "and nothing is told again"


def test_a_setting_without_effect_stays_in_the_file_until_it_is_taken_out(
    tmp_path: Path,
) -> None:
    file = tmp_path / "config.json"
    file.write_text('{"cold_store_path": "data/cold-store.db"}')
    with pytest.warns(FutureWarning, match="cold_store_path"):
        save_settings(file, {"recallCalls": 7})
    assert json.loads(file.read_text()) == {
        "cold_store_path": "data/cold-store.db",
        "recallCalls": 7,
    }
    save_settings(file, {}, unset=["coldStorePath"])
    assert json.loads(file.read_text()) == {"recallCalls": 7}
