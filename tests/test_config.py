"""Settings as records, and config.json beside the note of its last check."""

from __future__ import annotations

import json
import os
import pickle
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic.alias_generators import to_camel as pydantic_to_camel

from theorex_lab import ConfigError, Lab, Settings, config
from theorex_lab.config import (
    DEFAULT_MODELS,
    PRESETS,
    ModelSettings,
    RoleSettings,
    check_settings,
    describe_settings,
    load_settings,
    save_settings,
)
from theorex_lab.config_record import SettingsRecord, to_camel, to_snake
from theorex_lab.config_schema import validated

GIVEN = {
    "halfLifeDays": 7,
    "sourceWeights": {"sage": 0.9},
    "models": {"m": {"tier": "small", "url": "http://localhost:1"}},
    "roles": [{"agentId": "sage", "role": "operative", "capabilities": ["code"], "modelPreference": "m"}],
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(GIVEN))
    return path


def note(file: Path) -> Path:
    return file.with_name(".config.json.checked")


def refuse_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the settings were checked again")

    monkeypatch.setattr("theorex_lab.config_schema.validated", refuse)


def loaded_by(home: Path, *arguments: str) -> set[str]:
    """Which of the slow packages a command imports."""
    code = """
import sys
sys.argv = ["theorex", *sys.argv[1:]]
from theorex_lab.cli import main
try:
    main()
finally:
    print(*{"pydantic", "pydantic_core", "numpy", "httpx", "onnxruntime", "Stemmer"} & set(sys.modules))
"""
    command = [sys.executable, "-c", code, "--home", str(home), *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("configured", [False, True])
def test_short_commands_import_what_they_use(tmp_path: Path, configured: bool) -> None:
    if configured:
        (tmp_path / "config.json").write_text(json.dumps(GIVEN))
        assert loaded_by(tmp_path, "write", "a cache") == {"pydantic", "pydantic_core"}
    assert loaded_by(tmp_path, "write", "a cache") == set()
    assert loaded_by(tmp_path, "status") == {"numpy", "Stemmer"}, "it counts the texts that are searched"


def test_defaults_are_allowed_themselves() -> None:
    for record in (Settings(), *Settings().models.values(), *Settings().roles):
        assert validated(type(record), record.model_dump(by_alias=True)) == record.model_dump()


def test_names_are_spelt_as_pydantic_would() -> None:
    for kind in (Settings, ModelSettings, RoleSettings):
        for name in kind.tunables:
            assert to_camel(name) == pydantic_to_camel(name)
            assert to_snake(to_camel(name)) == name


def test_a_record_tells_what_was_given_and_never_changes() -> None:
    settings = check_settings(GIVEN)
    assert settings.model_fields_set == {"half_life_days", "source_weights", "models", "roles"}
    assert settings.is_set("models")
    assert not settings.is_set("mild_threshold")
    assert (settings.half_life_days, type(settings.half_life_days)) == (7.0, float)
    assert settings.source_weight("sage") == 0.9
    assert settings.models["m"] == ModelSettings(tier="small", url="http://localhost:1")
    assert settings.models["m"] != ModelSettings(tier="small")
    assert settings.roles[0].active
    assert settings.model_dump(by_alias=True, exclude_unset=True) == GIVEN
    assert settings.model_dump(include={"fusion"}) == {"fusion": "standardised"}
    assert check_settings(settings.model_dump(by_alias=True)) == settings
    assert pickle.loads(pickle.dumps(settings)) == settings
    copy = settings.model_copy(update={"mild_threshold": 0.1})
    assert (copy.mild_threshold, copy.is_set("mild_threshold"), settings.mild_threshold) == (0.1, True, 0.3)
    with pytest.raises(AttributeError, match="never changes"):
        settings.half_life_days = 3.0  # type: ignore[misc]
    assert repr(Settings(half_life_days=3)) == "Settings(half_life_days=3.0)"


def test_a_default_that_is_changed_in_place_stays_the_others() -> None:
    Settings().models.clear()
    Settings().reviewers.append("x")
    assert Settings().models == DEFAULT_MODELS
    assert Settings().reviewers == ["qwen3-32b", "ministral-3b"]


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        (Settings, {"half_life_days": "7"}, "half_life_days is '7'; allowed is above 0 to 36500"),
        (Settings, {"colour": 1}, "colour is 1, but there is no such setting"),
        (Settings, {"models": {"m": {"tier": "huge"}}}, "models.m.tier: input should be 'small'"),
        (ModelSettings, {}, "tier: field required"),
        (ModelSettings, {"tier": "huge"}, "tier is 'huge'; allowed is small | medium | large"),
    ],
)
def test_what_is_wrong_with_a_record_is_named(
    kind: type[SettingsRecord], values: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError) as error:
        kind(**values)
    assert message in str(error.value)


def test_what_was_checked_is_not_checked_again(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load_settings(file)
    assert note(file).stat().st_mode & 0o777 == 0o600
    refuse_checks(monkeypatch)
    again = load_settings(file)
    assert again == first
    assert again.model_fields_set == first.model_fields_set


def test_another_content_is_checked(file: Path) -> None:
    load_settings(file)
    times = file.stat()
    file.write_text(file.read_text().replace("7", "9"))
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert load_settings(file).half_life_days == 9.0, "of the same size and time, yet another"
    file.write_text('{"halfLifeDays": -1}')
    with pytest.raises(ConfigError, match="halfLifeDays is -1"):
        load_settings(file)
    with pytest.raises(ConfigError, match="halfLifeDays is -1"):
        save_settings(file, {"mildThreshold": 0.2})
    assert file.read_text() == '{"halfLifeDays": -1}'


def test_other_bounds_are_other_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    before = config._rules()
    tighter = Settings.tunables["half_life_days"]._replace(bounds={"gt": 1})
    monkeypatch.setitem(Settings.tunables, "half_life_days", tighter)
    assert config._rules() != before


def test_other_rules_check_again(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load_settings(file)
    monkeypatch.setattr(config, "_CHECKS", 0)
    refuse_checks(monkeypatch)
    with pytest.raises(AssertionError, match="checked again"):
        load_settings(file)


def test_a_damaged_note_is_passed_over_and_mended(file: Path) -> None:
    expected = load_settings(file)
    sound = note(file).read_bytes()
    damages = [sound[:size] for size in (0, 10, 64, 65, 66, len(sound) - 1)]
    damages += [sound[:place] + bytes([sound[place] ^ 1]) + sound[place + 1 :] for place in range(0, len(sound), 7)]
    for damaged in (*damages, b"\xff\xfe", sound.replace(b"7.0", b"8.0"), b"{" * 100_000):
        note(file).write_bytes(damaged)
        assert load_settings(file) == expected
        assert note(file).read_bytes() == sound


def test_a_note_that_is_no_file_holds_nobody_up(file: Path) -> None:
    os.mkfifo(note(file))
    assert load_settings(file).half_life_days == 7.0


def test_a_note_that_cannot_be_written_is_done_without(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("theorex_lab.journal.files.write_atomically", refuse)
    assert load_settings(file).half_life_days == 7.0
    assert not note(file).exists()


@pytest.mark.parametrize("what", ["a named pipe", "a folder", "a socket"])
def test_only_a_regular_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket is short
    file = Path("config.json")
    with socket.socket(socket.AF_UNIX) as listening:
        if what == "a named pipe":
            os.mkfifo(file)
        elif what == "a folder":
            file.mkdir()
        else:
            listening.bind(str(file))
        with pytest.raises(ConfigError, match=f"config.json is {what}; allowed is a regular file"):
            load_settings(file)
        with pytest.raises(ConfigError, match=what):
            Lab(tmp_path)
    assert not (tmp_path / "theorex.db").exists()


def test_text_that_is_no_utf_8_is_named(file: Path) -> None:
    file.write_bytes('{"sharedAxonPath": "é"}'.encode("latin-1"))
    with pytest.raises(ConfigError, match=r"config.json cannot be read: 'utf-8' codec .*; mend it"):
        load_settings(file)


def test_a_preset_is_a_named_set_of_settings_and_explicit_keys_win(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text('{"preset": "document", "recallCalls": 7}')
    for _ in range(2):  # checked, then remembered
        settings = load_settings(file)
        assert (settings.matrix_success_weight, settings.recall_calls, settings.fusion) == (0.6, 7, "reciprocal_rank")
    rows = {row["key"]: row["source"] for row in describe_settings(settings)}
    assert (rows["recallCalls"], rows["matrixSuccessWeight"]) == ("config.json", "preset document")
    assert rows["maxTextBytes"] == "default"
    assert not settings.is_set("lm_studio_url"), "a preset is no consent to ask an endpoint"
    assert load_settings(file, preset="none").matrix_success_weight == 1.0


def test_the_preset_of_the_document_can_be_written_into_a_file_and_names_settings_alone() -> None:
    checked = check_settings(PRESETS["document"])
    assert checked.model_dump(exclude_unset=True).keys() == PRESETS["document"].keys() <= Settings.tunables.keys()


@pytest.mark.parametrize("name", ["documents", ""])
def test_an_unknown_preset_is_refused_with_the_known_ones(tmp_path: Path, name: str) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"preset": name}))
    with pytest.raises(ConfigError, match=r"preset is .*none \| document"):
        load_settings(tmp_path / "config.json")
    with pytest.raises(ConfigError, match=f"got the preset '{name}'; allowed are none, document"):
        load_settings(tmp_path / "other.json", preset=name)
