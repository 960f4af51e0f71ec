"""Replays and sweeps that are refused, and what the refusal says."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import DAY, NOW

from theorex_lab import Settings
from theorex_lab.errors import ConfigError, InvalidInput
from theorex_lab.experiments.replay.event_log import EventLog
from theorex_lab.experiments.replay.replay import replay
from theorex_lab.experiments.replay.sweep import settings_of, sweep
from theorex_lab.experiments.scores.access_log import AccessLog
from theorex_lab.journal.sqlite.store import SqliteJournal

LOG = EventLog.of(AccessLog.of([(NOW + day * DAY, f"f{day % 5}", None, False) for day in range(20)]))
EMPTY = EventLog.of(AccessLog.of([]))


@pytest.mark.parametrize("source", [None, "theorex.db", 3, []])
def test_what_is_no_recording(source: Any) -> None:
    with pytest.raises(InvalidInput, match="allowed are a Journal, a Lab or an AccessLog"):
        EventLog.of(source)


def test_nothing_to_replay(journal: SqliteJournal) -> None:
    for recorded in (EMPTY, EventLog.of(journal)):
        with pytest.raises(InvalidInput, match="without a mention"):
            replay(recorded, Settings())
    with pytest.raises(InvalidInput, match="no mention up to 2026-02"):
        replay(LOG, Settings(), now=NOW - DAY)
    with pytest.raises(InvalidInput, match="no mention"):
        replay(EMPTY, Settings(), now=NOW)


@pytest.mark.parametrize("every_days", [0.0, -1.0, float("nan"), float("inf"), 1e-9])
def test_grids_of_time(every_days: float) -> None:
    with pytest.raises(InvalidInput, match="every_days"):
        replay(LOG, Settings(), every_days=every_days)


def test_laws_that_settings_get_wrong() -> None:
    with pytest.raises(ConfigError, match="decayLaw is 'prodcut'"):
        replay(LOG, Settings(decay_law="prodcut"))
    with pytest.raises(ConfigError, match="speed"):
        replay(LOG, Settings(decay_params={"speed": 1.0}))


def test_every_wrong_setting_is_named_before_anything_runs() -> None:
    def metric(recorded: EventLog, settings: Any) -> Any:
        raise AssertionError("nothing may run")

    with pytest.raises(ConfigError) as caught:
        sweep(LOG, {"halfLifeDays": [-1.0, 5.0], "mild_threshold": [0.2, 0.9]}, metric=metric)
    text = str(caught.value)
    assert "3 of 4 settings are refused" in text
    assert "half_life_days is -1.0" in text
    assert "mildThreshold is 0.9; allowed is up to activeThreshold (0.6)" in text
    with pytest.raises(ConfigError, match="halfLive"):
        sweep(LOG, {"halfLive": [1.0]}, metric=metric)
    with pytest.raises(ConfigError, match="'exponential'"):
        settings_of([{"decay_law": "exponential"}])
    with pytest.raises(ConfigError, match=r"8 of 8 settings are refused.*Mend the grid"):
        settings_of([{"half_life_days": -float(days)} for days in range(8)])


@pytest.mark.parametrize(
    ("grid", "says"),
    [
        ({}, "list of dictionaries"),
        ({"half_life_days": []}, "no list of values for half_life_days"),
        ({"half_life_days": 3.0}, "no list of values for half_life_days"),
        ([], "list of dictionaries"),
        ("half_life_days", "list of dictionaries"),
        ([{"half_life_days": 1.0}, {"mild_threshold": 0.1}], "same keys"),
        ([{"half_life_days": 1.0, "halfLifeDays": 2.0}], "named twice"),
        (lambda seed: seed, "list of dictionaries"),
    ],
)
def test_grids(grid: Any, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        sweep(LOG, grid)


def test_names_that_a_sweep_does_not_have() -> None:
    done = sweep(LOG, {"half_life_days": [1.0, 2.0], "active_threshold": [0.5, 0.6]})
    both = ("half_life_days", "active_threshold")
    for draw in (
        lambda: done.plot("half_life_days", "mild_threshold", metric="active"),
        lambda: done.plot(*both, metric="joy"),
    ):
        with pytest.raises(InvalidInput, match=r"mild_threshold|joy"):
            draw()


LAWS = sweep(LOG, {"decay_law": ["product", "power"], "decay_params": [{}], "mild_threshold": [0.1, 0.2]})


@pytest.mark.parametrize(("x", "y"), [("decay_law", "decay_law"), ("decay_params", "mild_threshold")])
def test_what_a_sweep_cannot_draw(x: str, y: str) -> None:
    with pytest.raises(InvalidInput, match="allowed are"):
        LAWS.plot(x, y, metric="active")


def test_a_metric_of_other_names_for_other_settings() -> None:
    def metric(recorded: EventLog, settings: Any) -> Any:
        return [{f"at {each.half_life_days}": 1} for each in settings]

    with pytest.raises(InvalidInput, match="the same for each"):
        sweep(LOG, {"half_life_days": [1.0, 2.0]}, metric=metric)


def test_a_metric_that_is_never_a_number() -> None:
    def metric(recorded: EventLog, settings: Any) -> Any:
        return [{"x": float("nan")}]

    done = sweep(LOG, {"half_life_days": [1.0], "mild_threshold": [0.1]}, metric=metric)
    with pytest.raises(InvalidInput, match="no x that is a number"):
        done.plot("half_life_days", "mild_threshold", metric="x")
