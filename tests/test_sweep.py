"""Sweeps: the same rows from every executor; critical half-lives against scoring each item."""

from __future__ import annotations

import math
import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from conftest import DAY, NOW
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from theorex_lab import Settings
from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.replay.event_log import EventLog
from theorex_lab.experiments.replay.replay import replay, replay_all
from theorex_lab.experiments.replay.sweep import Sweep, settings_of, summaries, sweep
from theorex_lab.experiments.scores.access_log import AccessLog

GRID = {"halfLifeDays": [1.0, 4.0, 14.0], "mild_threshold": [0.1, 0.3], "sleep_after_days": [5.0, 30.0]}


def recording(n: int = 60, *, per_event: int = 2, seed: int = 1) -> EventLog:
    rng = np.random.default_rng(seed)
    rows = [
        (NOW + event * DAY // 2, f"file {int(item)}", event, False)
        for event in range(n)
        for item in np.unique(rng.geometric(0.08, size=per_event))
    ]
    return EventLog.of(AccessLog.of(rows))


LOG = recording()
WEEKLY = partial(summaries, every_days=3.0)
LAST = partial(summaries, every_days=1_000.0)  # one scan


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    yield
    plt.close("all")


def by_items(recorded: EventLog, settings: Settings, at: int) -> list[int]:
    """Tiers after one scan at a time, event by event and item by item, without numpy; for recordings without links."""
    count: dict[int, int] = {}
    last: dict[int, int] = {}
    for time, item in zip(recorded.time.tolist(), recorded.item.tolist(), strict=True):
        if time <= at:
            count[item] = count.get(item, 0) + 1
            last[item] = max(time, last.get(item, time))
    held = [0, 0, 0, 0]
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


def test_tiers_after_one_scan_are_those_of_a_pure_python_replay() -> None:
    recorded = recording(400, per_event=1)
    settings = settings_of(
        [
            {"half_life_days": days, "mild_threshold": mild, "sleep_after_days": late}
            for days in np.geomspace(0.5, 90, 12).tolist()
            for mild in (0.1, 0.3)
            for late in (0.0, 10.0, 30.0)
        ]
    )
    for at in (int(recorded.time[-1]), int(recorded.time[200]) + DAY // 3):
        once = replay_all(recorded, settings, every_days=1_000.0, now=at)
        assert [seen.steps[-1, :4].tolist() for seen in once] == [by_items(recorded, each, at) for each in settings]


# Running.


def same(one: Sweep, other: Sweep) -> bool:
    return one.frame.equals(other.frame) and one.settings == other.settings


def test_rows_are_the_grid_in_order_with_the_summaries_of_replays() -> None:
    done = sweep(LOG, GRID, metric=WEEKLY)
    assert done.parameters == ["half_life_days", "mild_threshold", "sleep_after_days"]
    assert done.frame.iloc[:3, :3].to_numpy().tolist() == [[1.0, 0.1, 5.0], [1.0, 0.1, 30.0], [1.0, 0.3, 5.0]]
    last = replay(LOG, Settings(half_life_days=14.0, mild_threshold=0.3), every_days=3.0).summary()
    assert done.metrics[-1] == last
    assert len(done.frame) == 12


def test_base_settings_are_kept() -> None:
    done = sweep(LOG, {"half_life_days": [3.0]}, base=Settings(sleep_after_days=2.0, context_tokens=99), metric=LAST)
    assert done.settings[0].context_tokens == 99
    assert done.metrics[0]["less"] < sweep(LOG, {"half_life_days": [3.0]}, metric=LAST).metrics[0]["less"]


def test_threads_and_processes_give_the_same_rows() -> None:
    alone = sweep(LOG, GRID, metric=WEEKLY)
    with ThreadPoolExecutor(2) as threads:
        assert same(sweep(LOG, GRID, metric=WEEKLY, executor=threads), alone)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as processes:
        assert same(sweep(LOG, GRID, metric=WEEKLY, executor=processes), alone)


class CountingExecutor(Executor):
    """Runs tasks at once and counts them."""

    def __init__(self) -> None:
        self.tasks = 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.tasks += 1
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def test_tasks_are_few_whatever_the_number_of_settings() -> None:
    counting = CountingExecutor()
    sweep(LOG, {"half_life_days": np.linspace(1, 9, 100)}, metric=LAST, executor=counting)
    assert counting.tasks <= 32


# Choosing, drawing.


def test_progress_is_shown_when_asked_for_and_not_by_default(capfd: pytest.CaptureFixture[str]) -> None:
    sweep(LOG, {"half_life_days": [1.0]}, metric=LAST)
    assert capfd.readouterr().err == ""
    sweep(LOG, {"half_life_days": [1.0, 2.0]}, metric=LAST, progress=True)
    assert "2/2" in capfd.readouterr().err


DONE = sweep(LOG, GRID, metric=WEEKLY)
SAMPLED = sweep(
    LOG, [{"half_life_days": 1.0 + 3.0 * n, "mild_threshold": 0.1 + 0.02 * (7 * n % 20)} for n in range(20)],
    metric=LAST,
)  # fmt: skip
DRAWINGS: dict[str, Any] = {
    "map": partial(DONE.plot, "half_life_days", "mild_threshold", metric="mean_awake"),
}  # fmt: skip


@pytest.mark.parametrize("name", DRAWINGS)
def test_plots_draw_on_the_axes_given_and_open_no_other(name: str) -> None:
    ax = Figure().add_subplot()
    assert DRAWINGS[name](ax=ax) is ax
    assert not plt.get_fignums()
    assert isinstance(DRAWINGS[name](), Axes)
    assert len(plt.get_fignums()) == 1


def test_settings_that_make_no_grid_are_not_drawn() -> None:
    with pytest.raises(InvalidInput, match="got 20 pairs of half_life_days and mild_threshold; allowed is each value"):
        SAMPLED.plot("half_life_days", "mild_threshold", metric="sleeping")


def test_the_heat_map_shows_the_best_over_what_else_varies() -> None:
    ax = DONE.plot("half_life_days", "mild_threshold", metric="mean_awake")
    frame = DONE.frame
    best = frame[(frame["half_life_days"] == 4.0) & (frame["mild_threshold"] == 0.3)]["mean_awake"].min()
    assert float(ax.images[0].get_array()[1, 1]) == best


def test_html_is_a_table_of_the_rows() -> None:
    text = DONE._repr_html_()
    assert "half_life_days" in text
    assert "12 settings" in text


def test_metric_rows_are_checked() -> None:
    def texts(recorded: EventLog, settings: Sequence[Settings]) -> Any:
        return [{"a": "b"}] * len(settings)

    with pytest.raises(InvalidInput, match="dictionary of numbers"):
        sweep(LOG, GRID, metric=texts)
