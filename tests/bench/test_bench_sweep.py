"""A sweep over settings beside a replay in pure Python, which is timed on a hundredth of the settings."""

from __future__ import annotations

import math

import numpy as np
from corpus import DAY, NOW
from measure import note, processor_seconds
from pytest_benchmark.fixture import BenchmarkFixture

from theorex_lab import Settings
from theorex_lab.experiments.replay.event_log import EventLog
from theorex_lab.experiments.replay.sweep import Sweep, final_tiers, sweep
from theorex_lab.experiments.scores.access_log import AccessLog

EVENTS, ITEMS = 1_000_000, 50_000
HALF_LIVES = np.geomspace(0.5, 180.0, 1_000).tolist()
SAMPLE = 100  # every hundredth setting is replayed


def replayed(events: list[tuple[int, int]], settings: Settings, at: int) -> list[float]:
    """Items by tier after one scan at `at`: event by event, then item by item."""
    count: dict[int, int] = {}
    last: dict[int, int] = {}
    for time, item in events:
        count[item] = count.get(item, 0) + 1
        last[item] = time
    held = [0.0, 0.0, 0.0, 0.0]
    for item, times in count.items():
        age = (at - last[item]) / DAY
        importance = min(1.0, 2.0 ** (-age / settings.half_life_days) * (1.0 + math.log(times)))
        if importance >= settings.active_threshold:
            held[0] += 1
        elif importance >= settings.mild_threshold:
            held[1] += 1
        else:
            held[3 if age >= settings.sleep_after_days else 2] += 1
    return held


def test_sweep(benchmark: BenchmarkFixture) -> None:
    generator = np.random.default_rng(0)
    times = np.sort(NOW - generator.integers(0, 365 * DAY, EVENTS)).tolist()
    # Items have their season, so that some were last seen long ago.
    season = np.arange(EVENTS) * ITEMS // EVENTS
    items = ((season + generator.geometric(1 / 4_000, EVENTS)) % ITEMS).tolist()
    rows = ((time, f"item {item}", number, False) for number, (time, item) in enumerate(zip(times, items, strict=True)))
    recorded = EventLog.of(AccessLog.of(rows))
    events, at = list(zip(times, items, strict=True)), times[-1]
    ratios: list[float] = []

    def one_round() -> None:
        theirs: list[list[float]] = []
        sampled = [Settings(half_life_days=days) for days in HALF_LIVES[::SAMPLE]]
        peer = processor_seconds(lambda: theirs.extend(replayed(events, each, at) for each in sampled)) * SAMPLE
        done: list[Sweep] = []
        ours = processor_seconds(
            lambda: done.append(
                sweep(recorded, {"half_life_days": HALF_LIVES}, metric=final_tiers, chunk_size=len(HALF_LIVES))
            )
        )
        assert [list(each.values()) for each in done[0].metrics[::SAMPLE]] == theirs
        ratios.append(peer / ours)

    benchmark.pedantic(one_round, rounds=5)
    note(benchmark, "sweep of 1,000 settings over 1,000,000 events", "a replay in pure Python", ratios, at_least=100)
