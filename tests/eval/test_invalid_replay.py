"""Replays that are refused, and what the refusal says."""

from __future__ import annotations

import pytest
from conftest import DAY, NOW

from theorex_lab import InvalidInput, Settings
from theorex_lab.eval.metrics.access_log import AccessLog
from theorex_lab.eval.replay.decay_replay import replay_log
from theorex_lab.eval.replay.event_log import EventLog

LOG = EventLog.of(
    AccessLog.of([(NOW + day * DAY, f"f{day % 5}", None, False) for day in range(20)])
)
EMPTY = EventLog.of(AccessLog.of([]))


def test_nothing_to_replay() -> None:
    with pytest.raises(InvalidInput, match="without a mention"):
        replay_log(EMPTY, Settings())
    with pytest.raises(InvalidInput, match="no mention up to 2026-02"):
        replay_log(LOG, Settings(), now=NOW - DAY)
    with pytest.raises(InvalidInput, match="no mention"):
        replay_log(EMPTY, Settings(), now=NOW)


@pytest.mark.parametrize("every_days", [0.0, -1.0, float("nan"), float("inf"), 1e-9])
def test_grids_of_time(every_days: float) -> None:
    with pytest.raises(InvalidInput, match="every_days"):
        replay_log(LOG, Settings(), every_days=every_days)


def test_laws_that_settings_get_wrong() -> None:
    with pytest.raises(
        InvalidInput, match="got the law 'prodcut'; allowed are product"
    ):
        replay_log(LOG, Settings(decay_law="prodcut"))
    with pytest.raises(InvalidInput, match="speed"):
        replay_log(LOG, Settings(decay_params={"speed": 1.0}))
