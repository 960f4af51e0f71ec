"""What keeping costs in tokens and what forgetting costs in things asked for again; thresholds chosen by the two."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np

from theorex_lab.clock import MICROSECONDS_PER_DAY
from theorex_lab.config import Settings, check_settings
from theorex_lab.experiments.replay.event_log import EventLog
from theorex_lab.experiments.replay.replay import replay_all
from theorex_lab.experiments.replay.sweep import summaries, sweep
from theorex_lab.experiments.scores.access_log import AccessLog, split
from theorex_lab.memory.intervals import bootstrap_means

COST, LOSS = "mean_context_tokens", "absent_rate"
_SCANS = 60
# From the strictest on: of equal ones that is chosen. A law whose importance is a chance of use needs low ones, closely.
_THRESHOLDS = tuple(hundredths / 100 for hundredths in range(50, 0, -1))
_ACTIVE_OF_MILD = 2.0  # as the defaults have it: .6 of .3


def fitted_thresholds(log: AccessLog, law: Mapping[str, Any]) -> dict[str, float]:
    """activeThreshold and mildThreshold for a fitted law (the settings that name it), since laws differ in their scale.

    The threshold that forgets least at no higher cost than the default settings', on the events before those that a
    fit is scored on; ACTIVE begins at twice MILD, as by default. Empty where none costs so little.
    """
    recorded, scored_from = EventLog.of(log), split(log)[1][0]
    until = int(log.time[np.searchsorted(log.event, scored_from) - 1])
    metric = partial(summaries, every_days=_every_days(log, until), now=until)
    (default,) = metric(recorded, [Settings()])
    pairs = [{"mild_threshold": mild, "active_threshold": min(1.0, _ACTIVE_OF_MILD * mild)} for mild in _THRESHOLDS]
    swept = sweep(recorded, pairs, base=check_settings(dict(law)), metric=metric, progress=False)
    if min(each[COST] for each in swept.metrics) > default[COST]:
        return {}
    changes = swept.best(LOSS, at_most={COST: default[COST]}).changes
    return {"activeThreshold": changes["active_threshold"], "mildThreshold": changes["mild_threshold"]}


def held_back(log: AccessLog, fitted: Mapping[str, Any], seed: int = 0) -> dict[str, dict[str, Any]]:
    """Default and fitted settings, each also without thresholds (a context by rank until its budget is full), on the later part.

    For each: `config`, mean_context_tokens, the absent_rate on the events that a fit is scored on, how much lower that is
    than the default's (`mean`) with its paired bootstrap interval over scans (`low`, `high`), and `earlier`, the absent
    rate before those events, by which one of them is chosen. The most generous come first.
    """
    open_to_all = {"mildThreshold": 0.0}
    law = {name: value for name, value in fitted.items() if not name.endswith("Threshold")}
    configs = {"budget": open_to_all, "fitted_budget": {**law, **open_to_all}, "default": {}, "fitted": dict(fitted)}
    since = int(log.time[np.searchsorted(log.event, split(log)[1][0])])
    every_days = _every_days(log, int(log.time[-1])) / 3
    runs = replay_all(EventLog.of(log), [check_settings(each) for each in configs.values()], every_days=every_days)
    steps, later = np.stack([run.steps for run in runs]), runs[0].times > since
    asked, absent, tokens = steps[..., 6], steps[..., 8], steps[..., 5]
    least = (absent[[*configs].index("default")] - absent)[:, later] / max(float(asked[0, later].mean()), 1e-9)
    rates = [absent[:, part].sum(axis=1) / np.maximum(asked[:, part].sum(axis=1), 1) for part in (later, ~later)]
    columns = {COST: tokens[:, later].mean(axis=1), LOSS: rates[0], "earlier": rates[1]}
    found = {}
    for row, (name, gain) in enumerate(zip(configs, bootstrap_means(least.T, seed=seed), strict=True)):
        figures = {column: float(values[row]) for column, values in columns.items()}
        found[name] = {"config": configs[name], **figures, **asdict(gain)}
    return found


def _every_days(log: AccessLog, until: int) -> float:
    return max(1.0, (until - int(log.time[0])) / MICROSECONDS_PER_DAY / _SCANS)
