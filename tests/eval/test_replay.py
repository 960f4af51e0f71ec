"""Replays: step by step what a real lab does with the same events, and what they say of
forgetting and keeping.
"""

from __future__ import annotations

import math
import pickle
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import DAY, NOW, observation
from hypothesis import given
from hypothesis import strategies as st

from theorex_lab import Event, FixedClock, Lab, Settings
from theorex_lab.eval.metrics.access_log import MAX_EVENT_ITEMS, AccessLog
from theorex_lab.eval.replay.decay_replay import replay_all, replay_log
from theorex_lab.eval.replay.event_log import EventLog, Memory

DAYS = 46
SETTINGS: list[dict[str, Any]] = [
    {},
    {
        "half_life_days": 3.0,
        "fix_half_life_days": 2.0,
        "sleep_after_days": 5.0,
        "context_tokens": 150,
    },
    {
        "half_life_days": 1.0,
        "sleep_after_days": 0.0,
        "active_threshold": 0.9,
        "mild_threshold": 0.8,
    },
    {"decay_law": "power", "sleep_after_days": 9.0, "context_tokens": 220},
    {
        "decay_law": "power",
        "half_life_days": 5.0,
        "sleep_after_days": 3.0,
        "context_tokens": 100,
    },
    {
        "decay_law": "weighted_sum",
        "decay_params": {"half_life_days": 4.0},
        "sleep_after_days": 7.0,
    },
    {"decay_law": "recency", "sleep_after_days": 14.0},
]


def stream(seed: int) -> list[Event]:
    """An agent for some weeks: bursts of texts that share concepts."""
    rng = np.random.default_rng(seed)
    words = [f"concept *{number}* of {'x' * (number % 9)}" for number in range(40)]
    events = []
    for day in np.flatnonzero(rng.random(DAYS) < 0.6).tolist():
        centre = int(rng.integers(40))
        for _ in range(int(rng.integers(1, 5))):
            chosen = (centre + rng.permutation(8)[: int(rng.integers(1, 4))]) % 40
            at = NOW + day * DAY + int(rng.integers(DAY))
            events.append(
                observation(
                    "a text", labels=[words[number] for number in chosen], at=at
                )
            )
    return sorted(events, key=lambda event: event.at)


def recorded_of(events: list[Event]) -> EventLog:
    """The concepts of events in the order of time as items, numbered in the order of
    their ids.
    """
    found = [
        (event.at, number, concept)
        for number, event in enumerate(events)
        for concept in event.body["concepts"]
    ]
    names = {concept[0]: concept[2] for _, _, concept in found}
    order = sorted(names)
    times, numbers, items = zip(
        *((at, number, order.index(concept[0])) for at, number, concept in found),
        strict=True,
    )
    columns = (np.array(column, np.int64) for column in (times, items, numbers))
    return EventLog.of(
        AccessLog(
            tuple(names[id_] for id_ in order), *columns, np.zeros(len(times), np.bool_)
        )
    )


def drive(
    folder: Path, events: list[Event], settings: Settings, times: list[int]
) -> tuple[Lab, list[list[int]]]:
    """A lab that lives through the events, and scans at these times."""
    clock = FixedClock(times[0])
    rest = list(events)
    rows = []
    lab = Lab(folder, clock=clock, settings=settings)
    for now in times:
        clock.microseconds = now
        upto = sum(event.at <= now for event in rest)
        lab.journal.append(rest[:upto])
        rest = rest[upto:]
        held = lab.theorex.scan().tiers
        rows.append([held[name] for name in ("ACTIVE", "MILD", "LESS", "SLEEPING")])
    return lab, rows


@pytest.mark.parametrize(
    "changes", SETTINGS, ids=lambda changes: str(changes.get("decay_law", len(changes)))
)
def test_a_replay_scans_as_a_lab_does_step_by_step(
    changes: dict[str, Any], tmp_path: Path
) -> None:
    settings = Settings(**changes)
    events = stream(seed=len(str(changes)))
    times = list(range(events[-1].at, events[0].at - 1, -DAY))[::-1]
    lab, rows = drive(tmp_path, events, settings, times)
    with lab:
        seen = replay_log(recorded_of(events), settings)
    assert seen.times.tolist() == times
    assert seen.steps[:, :4].tolist() == rows
    assert np.all(seen.steps[:, 5] <= settings.context_tokens)


def test_the_streams_reach_what_they_test() -> None:
    """Sleep, waking, full contexts: without them the comparison above would show
    nothing.
    """
    recorded = recorded_of(stream(seed=6))
    all_seen = replay_all(recorded, [Settings(**changes) for changes in SETTINGS])
    assert len(recorded.link_ends) > 50
    assert all(seen.steps[:, 7].sum() > 0 for seen in all_seen[1:4])
    assert any(
        np.any(seen.steps[:, 4] < seen.steps[:, :2].sum(axis=1)) for seen in all_seen
    )


def test_replaying_together_or_alone_is_the_same() -> None:
    recorded = log_of(60)
    settings = [Settings(**changes) for changes in SETTINGS]
    for together, each in zip(replay_all(recorded, settings), settings, strict=True):
        alone = replay_log(recorded, each)
        assert alone.summary() == together.summary()
        assert alone.frame.equals(together.frame)


def log_of(n: int, *, seed: int = 0, items: int = 30) -> EventLog:
    rng = np.random.default_rng(seed)
    rows = [
        (
            NOW + int(event) * DAY // 2 + int(rng.integers(DAY // 2)),
            f"src/file_{int(item)}.py",
            int(event),
            False,
        )
        for event in range(n)
        for item in np.unique(np.minimum(rng.geometric(0.12, size=3), items))
    ]
    return EventLog.of(AccessLog.of(rows))


def by_hand(*rows: tuple[float, str]) -> EventLog:
    return EventLog.of(
        AccessLog.of(
            [(NOW + round(day * DAY), name, None, False) for day, name in rows]
        )
    )


def test_asked_for_again_by_hand() -> None:
    """a sleeps from day 31 and is asked for on day 40 and, awake, twice on day 41; b
    again within a day of its first use.
    """
    recorded = by_hand(
        (0, "a"), (31.5, "b"), (31.6, "b"), (40, "a"), (40.2, "a"), (41, "a"), (50, "c")
    )
    seen = replay_log(recorded, Settings(half_life_days=7.0))
    figures = seen.summary()
    assert (
        figures["asked_again"],
        figures["asked_asleep"],
        figures["asked_absent"],
    ) == (2, 1, 1)
    assert figures["asleep_rate"] == pytest.approx(1 / 2)
    assert seen.frame.loc[seen.frame["asked_asleep"] > 0, "timestamp"].dt.date.astype(
        str
    ).tolist() == ["2026-04-10"]


def test_a_budget_that_holds_less_shows_less() -> None:
    recorded = log_of(120)
    small, large = (
        replay_log(recorded, Settings(context_tokens=tokens)).summary()
        for tokens in (100, 2_000)
    )
    assert small["mean_context_tokens"] <= 100 < large["mean_context_tokens"] <= 2_000
    assert small["asked_absent"] > large["asked_absent"]
    assert small["asked_asleep"] == large["asked_asleep"]


def test_grid_and_now() -> None:
    recorded = by_hand((0, "a"), (3, "b"), (10, "a"))
    assert replay_log(recorded, Settings(), every_days=4.0).frame[
        "at_days"
    ].tolist() == [
        0.0,
        4.0,
        8.0,
    ]
    early = replay_log(recorded, Settings(), now=NOW + 5 * DAY)
    assert early.summary()["items"] == 2
    assert early.summary()["asked_again"] == 0
    late = replay_log(recorded, Settings(), now=NOW + 60 * DAY).summary()
    assert late["sleeping"] == 2


def test_a_recording_travels_by_pickle() -> None:
    recorded = log_of(40)
    copy = pickle.loads(pickle.dumps(recorded))
    assert (copy.names, copy.item.tolist()) == (recorded.names, recorded.item.tolist())
    assert replay_log(copy, Settings()).frame.equals(
        replay_log(recorded, Settings()).frame
    )


def test_memory_at_a_time_counts_nothing_later() -> None:
    memory = Memory(by_hand((0, "a"), (3, "b"), (10, "a")))
    memory.take_in(NOW + 4 * DAY, (14.0,))
    assert memory.count.tolist() == [1, 1]
    assert memory.age.tolist() == [4.0, 1.0]
    assert not memory.links[14.0].count.any()


def test_reprs_show_the_figures() -> None:
    seen = replay_log(log_of(40), Settings())
    assert "archived" in repr(seen)
    assert repr(seen) in seen._repr_html_()
    assert "<td>mean_context_tokens</td>" in seen._repr_html_()


@given(
    st.lists(
        st.tuples(
            st.integers(0, 4),
            st.integers(0, 30).map(str),
            st.sampled_from("uvwxyz"),
            st.booleans(),
        ),
        min_size=1,
        max_size=60,
    )
)
def test_items_of_an_event_are_linked_pair_by_pair(
    rows: list[tuple[int, str, object, bool]],
) -> None:
    log = AccessLog.of(rows)
    links: dict[tuple[int, int], int] = {}
    together = []
    for event in range(log.n_events):
        kept = (log.event == event) & ~log.deleted
        if np.count_nonzero(kept) <= MAX_EVENT_ITEMS:
            for ends in combinations(sorted(log.item[kept].tolist()), 2):
                together.append(
                    (int(log.time[kept][0]), links.setdefault(ends, len(links)))
                )
    recorded = EventLog.of(log)
    assert [tuple(ends) for ends in recorded.link_ends.tolist()] == list(links)
    found = zip(
        recorded.together_time.tolist(), recorded.together_link.tolist(), strict=True
    )
    assert list(found) == sorted(together, key=lambda each: each[0])
    assert recorded.item.tolist() == log.item[~log.deleted].tolist()


def recording(n: int = 60, *, per_event: int = 2, seed: int = 1) -> EventLog:
    rng = np.random.default_rng(seed)
    rows = [
        (NOW + event * DAY // 2, f"file {int(item)}", event, False)
        for event in range(n)
        for item in np.unique(rng.geometric(0.08, size=per_event))
    ]
    return EventLog.of(AccessLog.of(rows))


def by_items(recorded: EventLog, settings: Settings, at: int) -> list[int]:
    """Tiers after one scan at a time, event by event and item by item, without numpy;
    for recordings without links.
    """
    count: dict[int, int] = {}
    last: dict[int, int] = {}
    for time, item in zip(recorded.time.tolist(), recorded.item.tolist(), strict=True):
        if time <= at:
            count[item] = count.get(item, 0) + 1
            last[item] = max(time, last.get(item, time))
    held = [0, 0, 0, 0]
    for item, times in count.items():
        age = (at - last[item]) / DAY
        importance = min(
            1.0, 2.0 ** (-age / settings.half_life_days) * (1.0 + math.log(times))
        )
        if importance >= settings.active_threshold:
            held[0] += 1
        elif importance >= settings.mild_threshold:
            held[1] += 1
        else:
            held[3 if age >= settings.sleep_after_days else 2] += 1
    return held


def test_tiers_after_one_scan_are_those_of_a_pure_python_replay() -> None:
    recorded = recording(400, per_event=1)
    settings = [
        Settings(half_life_days=days, mild_threshold=mild, sleep_after_days=late)
        for days in np.geomspace(0.5, 90, 12).tolist()
        for mild in (0.1, 0.3)
        for late in (0.0, 10.0, 30.0)
    ]
    for at in (int(recorded.time[-1]), int(recorded.time[200]) + DAY // 3):
        once = replay_all(recorded, settings, every_days=1_000.0, now=at)
        assert [seen.steps[-1, :4].tolist() for seen in once] == [
            by_items(recorded, each, at) for each in settings
        ]
