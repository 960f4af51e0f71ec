"""What keeping and forgetting cost, and the thresholds that are chosen by it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from conftest import DAY, NOW

from theorex_lab import InvalidInput
from theorex_lab.core.settings import check_settings
from theorex_lab.eval.metrics.access import COST, LOSS, fitted_thresholds, tune
from theorex_lab.eval.metrics.access_log import AccessLog, split
from theorex_lab.eval.replay.decay_replay import replay_log
from theorex_lab.eval.replay.event_log import EventLog

# Under this law hardly anything reaches the default thresholds: an importance of .3
# needs fifteen mentions on one day.
STRICT = {
    "decayLaw": "power",
    "decayParams": {"exponent": 0.5, "logistic_midpoint": 3.0, "logistic_slope": 1.0},
}


def work(n_days: int = 240, seed: int = 5) -> list[tuple[int, str, str, bool]]:
    """Days of work on a few of three hundred files each, most of them among those of
    the days before.
    """
    random = np.random.default_rng(seed)
    rows = []
    for day in range(n_days):
        for number in (day // 4 + random.geometric(0.12, size=6)) % 300:
            rows.append(
                (
                    NOW + day * DAY,
                    f"src/module_{number}/implementation.py",
                    f"e{day}",
                    False,
                )
            )
    return list(dict.fromkeys(rows))


def spent(log: AccessLog, changes: dict[str, Any]) -> dict[str, float]:
    """What the settings cost on the events before those that a fit is scored on, the
    others being gone.
    """
    earlier = log.event < split(log)[1][0]
    rows = zip(
        log.time[earlier].tolist(),
        log.item[earlier].tolist(),
        log.event[earlier].tolist(),
        strict=True,
    )
    recorded = EventLog.of(
        AccessLog.of(
            [(time, log.items[item], str(event), False) for time, item, event in rows]
        )
    )
    every = max(1.0, int(np.ptp(log.time[earlier])) / DAY / 60)
    return replay_log(recorded, check_settings(changes), every_days=every).summary()


def test_the_threshold_forgets_least_at_no_higher_cost_than_the_default() -> None:
    log = AccessLog.of(work())
    found = fitted_thresholds(log, STRICT)
    default = spent(log, {})
    kept = spent(log, STRICT)
    fitted = spent(log, {**STRICT, **found})
    assert kept[COST] < fitted[COST] <= default[COST]
    assert fitted[LOSS] < kept[LOSS]
    assert found["activeThreshold"] == pytest.approx(2 * found["mildThreshold"])
    lower = {name: value - 0.01 for name, value in found.items()}
    tried = spent(log, {**STRICT, **lower})
    assert tried[COST] > default[COST] or tried[LOSS] == fitted[LOSS]


def test_where_no_threshold_costs_so_little_the_default_ones_stay() -> None:
    """Under a law that keeps everything, a context is full at any threshold."""
    everything = {"decayLaw": "constant"}
    assert fitted_thresholds(AccessLog.of(work()), everything) == {}


def test_a_tuning_adopts_its_thresholds() -> None:
    log = AccessLog.of(work())
    tuning = tune(log)
    assert tuning.thresholds == fitted_thresholds(
        log, {k: v for k, v in tuning.config_lines().items() if "Thres" not in k}
    )
    assert tuning.thresholds.items() <= tuning.config_lines().items()


def test_a_log_that_is_too_short_is_refused() -> None:
    with pytest.raises(InvalidInput, match="use a longer log"):
        fitted_thresholds(
            AccessLog.of([(NOW, "a", None, False), (NOW + DAY, "a", None, False)]),
            STRICT,
        )


def test_what_the_held_back_part_calls_worse_is_not_advised() -> None:
    """Every advised change is better there with its whole interval; all candidates are
    told with their figures.
    """
    tuning = tune(AccessLog.of(work()))
    advice = tuning.advice
    assert advice["adopt"] == (advice["ci_low"] > 0)
    assert bool(advice["config"]) == advice["adopt"]
    assert advice["why"].startswith(
        "adopt" if advice["adopt"] else "keep what you have"
    )
    assert {"default", "fitted", "budget", "fitted_budget"} == tuning.held_back.keys()
    assert tuning.held_back["default"]["mean"] == 0
    assert tuning.result()["advice"] == advice


def test_a_short_history_keeps_what_one_has() -> None:
    log = AccessLog.of(
        [
            (NOW + minute * DAY // 1440, f"f{minute % 7}", None, False)
            for minute in range(300)
        ]
    )
    advice = tune(log).advice
    assert not advice["adopt"]
    assert "over 0.2 days; a fit needs 60 over 14 days" in advice["why"]


def test_a_log_of_files_is_advised_the_law_of_files() -> None:
    log = AccessLog.of(work(), of_files=True)
    tuning = tune(log)
    assert set(tuning.advice["config"]) <= {"designs"}
    assert "files" in tuning.advice["why"]
    assert tuning.advice["gain"] == tuning.fit.gains[tuning.fit.files]["mean"]
