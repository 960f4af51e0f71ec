"""Bad input: refused with what was got and what is allowed, and nothing is written."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from conftest import NOW

from theorex_lab import (
    ConfigError,
    FixedClock,
    HashedNgramEmbedder,
    InvalidInput,
    Lab,
    ObservationEntry,
    Settings,
)
from theorex_lab.core.clock import to_datetime
from theorex_lab.core.ids import check_agent, check_session
from theorex_lab.core.settings import load_settings, save_settings


@pytest.fixture
def lab(clock: FixedClock) -> Iterator[Lab]:
    with Lab.temporary(clock=clock, embedder=HashedNgramEmbedder()) as lab:
        yield lab
        assert lab.journal.last_seq() == 0, "something was written"


@pytest.mark.parametrize(
    "name",
    [
        "",
        "Main",
        "-x",
        ".x",
        "a/b",
        "../x",
        "a..b",
        "a b",
        "a\n",
        "é",
        "x" * 65,
        "a\0",
        None,
        7,
        b"main",
        "con:",
        "a\\b",
    ],
)
def test_agent_ids_outside_the_rule(lab: Lab, name: Any) -> None:
    with pytest.raises(InvalidInput, match="allowed are 1 to 64 of a-z 0-9"):
        lab.agent(name)


@pytest.mark.parametrize("name", ["a", "main", "qwen-sage", "0", "a.b_c-d", "x" * 64])
def test_agent_ids_within_the_rule(name: str) -> None:
    assert check_agent(name) == name


@pytest.mark.parametrize("session", ["a b", "x" * 129, "a/b", None])
def test_sessions_outside_the_rule(session: Any) -> None:
    with pytest.raises(InvalidInput, match="session id"):
        check_session(session)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        (" \n\t", "empty"),
        ("a\0b", "NUL byte at position 1"),
        ("a\ud800b", "half a surrogate pair at position 1"),
        ("x" * 65_537, "65537 bytes; allowed are up to 65536"),
        ("é" * 40_000, "80000 bytes"),
        (None, "a NoneType to write"),
        (b"bytes", "a bytes to write"),
        (["x"], "a list to write"),
    ],
)
def test_texts(lab: Lab, text: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        lab.agent("main").write(text)
    with pytest.raises(InvalidInput):
        lab.search(text)


def test_the_longest_text_is_accepted_and_configurable(clock: FixedClock) -> None:
    with Lab.temporary(clock=clock, max_text_bytes=10) as lab:
        lab.agent("main").write("0123456789")
        with pytest.raises(InvalidInput, match="11 bytes; allowed are up to 10"):
            lab.agent("main").write("0123456789a")
    with Lab.temporary(clock=clock) as lab:
        lab.agent("main").write("cache " * 10_922)


@pytest.mark.parametrize(
    ("details", "message"),
    [
        ({"observation_type": "Decision"}, "observation type 'Decision'"),
        ({"observation_type": ""}, "observation type"),
        ({"observation_type": "x" * 33}, "observation type"),
        ({"source": "web"}, "allowed are import, tool, model, agent, user"),
        ({"session": "a b"}, "session id"),
        ({"tags": "tag"}, "allowed is a list"),
        ({"tags": ["x"] * 33}, "allowed is a list of up to 32"),
        ({"tags": ["x" * 65]}, "up to 64 characters"),
        ({"tags": [" x"]}, "without space"),
        ({"tags": ["a\0"]}, "NUL"),
        ({"at": "2026-01-01T00:00:00"}, "without an offset"),
        ({"at": datetime(2026, 1, 1)}, "without an offset"),  # noqa: DTZ001
        ({"at": "yesterday"}, "allowed is ISO 8601"),
        (
            {"at": to_datetime(NOW) + timedelta(minutes=5, seconds=1)},
            "more than 5 minutes ahead",
        ),
    ],
)
def test_details_of_a_write(lab: Lab, details: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        lab.agent("main").write("a cache", **details)


def test_one_bad_entry_refuses_them_all(lab: Lab) -> None:
    with pytest.raises(InvalidInput, match="NUL"):
        lab.write_all(
            [ObservationEntry("good", "main"), ObservationEntry("b\0ad", "main")]
        )


def test_an_import_may_bear_dates_of_the_future(clock: FixedClock) -> None:
    with Lab.temporary(clock=clock) as lab:
        entry = ObservationEntry(
            "a cache from tomorrow", "main", at=to_datetime(NOW) + timedelta(days=1)
        )
        lab.write_all([entry], imported=True)
        assert lab.agent("main").axon.tiers()["ACTIVE"] == 1, "the future counts as now"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "cannot be read"),
        ("[]", "holds a list"),
        ("\udcff", "cannot be read"),
        ('{"halfLifeDays": "7"}', "halfLifeDays is '7'; allowed is above 0 to 36500"),
        ('{"halfLifeDays": true}', "halfLifeDays is True"),
        ('{"half_life_days": -1}', "half_life_days is -1; allowed is above 0"),
        ('{"halfLifeDays": NaN}', "halfLifeDays is nan"),
        ('{"activeTreshold": 0.5}', "no such setting; the nearest is activeThreshold"),
        (
            '{"activeThreshold": 0.2}',
            "mildThreshold is 0.3; allowed is up to activeThreshold",
        ),
        ('{"fusion": "magic"}', "allowed is standardised | reciprocal_rank"),
        (
            '{"sourceWeights": {"main": 2}}',
            "sourceWeights.main is 2.0; allowed is 0 to 1",
        ),
        ('{"sourceWeights": {"../x": 1}}', "agent id '../x'"),
    ],
)
def test_config_files(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "config.json"
    file.write_bytes(content.encode(errors="surrogateescape"))
    import re

    with pytest.raises(InvalidInput, match=re.escape(message)):
        load_settings(file)
    with pytest.raises(InvalidInput, match=re.escape(message)):
        save_settings(file, {"pruneThresholdDays": 20})
    assert file.read_bytes() == content.encode(errors="surrogateescape"), (
        "a broken file is not overwritten"
    )


def test_all_that_is_wrong_is_named_at_once(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text('{"halfLifeDays": 0, "mildThreshold": 7, "colour": "red"}')
    with pytest.raises(ConfigError) as error:
        load_settings(file)
    for key in ("halfLifeDays is 0", "mildThreshold is 7", "colour is 'red'"):
        assert key in str(error.value)


def test_settings_are_saved_beside_what_was_there(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text('{"half_life_days": 3, "mildThreshold": 0.2}')
    saved = save_settings(file, {"halfLifeDays": 9.0, "decayLaw": "power"})
    assert (saved.half_life_days, saved.mild_threshold, saved.decay_law) == (
        9.0,
        0.2,
        "power",
    )
    assert load_settings(file) == saved
    assert Settings().path("agent_axon_dir") == Path.home() / ".openclaw" / "agents"
