"""Fitting: the protocol's figures on real logs, and a choice that holds up on logs of
every character.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from theorex_lab import make_law
from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.eval.metrics import fitting
from theorex_lab.eval.metrics.access import from_git_touches
from theorex_lab.eval.metrics.access_log import (
    AccessLog,
    LogReplay,
    Snapshots,
    score_snapshots,
    split,
)
from theorex_lab.eval.metrics.fitting import Fit, _law_scores, _ranks, fit
from theorex_lab.memory.decay import COUNT_HALF_LIVES_DAYS, Floats

DAY = MICROSECONDS_PER_DAY


def touches(name: str) -> AccessLog:
    folder = os.environ.get("THEOREX_DATA")
    if not folder:
        pytest.skip(
            "THEOREX_DATA is not set: the file touches of real repositories are not"
            " part of the project"
        )
    return from_git_touches(Path(folder) / f"git_touches_{name}" / "touches.log.gz")


def ratio_to_best_single(result: Fit) -> float:
    return result.scores[result.chosen].mrr / max(
        score.mrr for score in result.scores.values()
    )


# Logs of different character; each names items by number and draws from its own
# generator.


def log_of(
    draw: Callable[[np.random.Generator, int, list[int]], tuple[float, list[int]]],
    n: int,
    seed: int,
) -> AccessLog:
    random = np.random.default_rng(seed)
    now = 0.0
    rows = []
    history = []
    for event in range(n):
        wait, touched = draw(random, event, history)
        now += wait
        history.extend(touched)
        rows += [
            (round(now * DAY), f"folder{item % 7}/item{item}", event, False)
            for item in set(touched)
        ]
    return AccessLog.of(rows, of_files=True)


def recency_wins(
    random: np.random.Generator, event: int, history: list[int]
) -> tuple[float, list[int]]:
    """The next item is one of the few last ones by order alone; waits tell nothing."""
    recent = list(dict.fromkeys(reversed(history)))
    if not recent or random.random() < 0.15:
        return float(random.pareto(0.8)) / 50, [event % 400]
    return float(random.pareto(0.8)) / 50, [
        recent[min(int(random.geometric(0.5)) - 1, len(recent) - 1)]
    ]


def frequency_wins(
    random: np.random.Generator, event: int, history: list[int]
) -> tuple[float, list[int]]:
    """A fixed popularity, whatever came last."""
    return 0.2, [int(min(random.zipf(1.4), 300))]


def long_pauses(
    random: np.random.Generator, event: int, history: list[int]
) -> tuple[float, list[int]]:
    """Bursts on one topic with months between; topics return."""
    wait = 90.0 if event % 40 == 39 else 0.02
    topic = (event // 40 * 7) % 5
    return wait, [int(topic * 20 + min(random.geometric(0.2), 20))]


def many_items(
    random: np.random.Generator, event: int, history: list[int]
) -> tuple[float, list[int]]:
    """Thousands of items: mostly new ones, sometimes one of the last hundred."""
    size = int(random.integers(1, 8))
    again = [
        history[-int(random.integers(1, min(len(history), 100) + 1))]
        for _ in range(size)
        if history
    ]
    return float(random.exponential(0.1)), [
        *again[: size // 2 + 1],
        *random.integers(0, 6_000, size).tolist(),
    ]


def power_law(
    random: np.random.Generator, event: int, history: list[int]
) -> tuple[float, list[int]]:
    """An item of n steps ago returns with probability ~ 1 / n."""
    if not history or random.random() < 0.1:
        return 0.3, [event]
    back = int(np.exp(random.random() * np.log(len(history) + 1)))
    return 0.3, [history[-max(back, 1)]]


CHARACTERS = [
    (recency_wins, 600),
    (frequency_wins, 600),
    (long_pauses, 600),
    (many_items, 450),
    (power_law, 600),
]


@pytest.mark.parametrize(
    ("draw", "n"), CHARACTERS, ids=[draw.__name__ for draw, _ in CHARACTERS]
)
@pytest.mark.parametrize("seed", [1])
def test_chosen_law_is_near_the_best_single_law(
    draw: Callable[[np.random.Generator, int, list[int]], tuple[float, list[int]]],
    n: int,
    seed: int,
) -> None:
    result = fit(log_of(draw, n, seed))
    # 150 to 180 scored events: a few hundredths of MRR are noise.
    assert ratio_to_best_single(result) >= 0.95, result.frame


# first-hit MRR without a budget, equal scores by recency, recall@10; measured apart
# from this code
PUBLISHED = {
    "helm": {
        "recency": (0.202, 0.283),
        "half_life_0.5_days": (0.216, 0.298),
        "half_life_7_days": (0.253, 0.347),
        "half_life_30_days": (0.248, 0.366),
        "frequency": (0.141, 0.242),
    },
    "pfr": {
        "recency": (0.582, 0.718),
        "half_life_7_days": (0.567, 0.721),
        "half_life_30_days": (0.563, 0.704),
    },
}


@pytest.fixture(scope="module", params=list(PUBLISHED))
def real(request: pytest.FixtureRequest) -> tuple[str, Fit]:
    return request.param, fit(touches(request.param))


def by_recency(raw: Floats, snapshots: Snapshots) -> Floats:
    """Places from last to first: by score, then by the order of the rows, which is that
    of recency.
    """
    row = np.arange(len(raw))
    event = np.repeat(np.arange(len(snapshots)), np.diff(snapshots.offsets))
    return -np.argsort(np.lexsort((row, -raw, event))).astype(np.float64)


@pytest.mark.parametrize("name", list(PUBLISHED))
def test_figures_of_the_protocol_are_reproduced(name: str) -> None:
    log = touches(name)
    snapshots = LogReplay(log).snapshots(split(log)[1])
    for law, (mrr, recall) in PUBLISHED[name].items():
        half_life = law.removeprefix("half_life_").removesuffix("_days")
        counts = (
            snapshots.items.decayed_counts[
                :, COUNT_HALF_LIVES_DAYS.index(float(half_life))
            ]
            if half_life != law
            else None
        )
        raw = make_law(law).raw(snapshots.items) if counts is None else counts
        ranks, recalls = score_snapshots(
            snapshots, by_recency(raw, snapshots), context_tokens=10**9
        )
        assert ranks.mean() == pytest.approx(mrr, abs=0.002), law
        assert recalls.mean() == pytest.approx(recall, abs=0.0035), law


def test_fitted_law_on_real_logs(real: tuple[str, Fit]) -> None:
    name, result = real
    assert ratio_to_best_single(result) >= {"helm": 0.97, "pfr": 0.97}[name]
    assert result.scores[result.chosen].mrr >= {"helm": 0.245, "pfr": 0.61}[name]
    assert result.scores["constant"].mrr < 0.1 < result.scores["frequency"].mrr, (
        "it knows nothing of use"
    )
    assert result.n_scored == {"helm": 1500, "pfr": 422}[name]


# The replay against the plainest possible one, event by event.


def plain_replay(log: AccessLog, event: int) -> dict[str, tuple[float, float, int]]:
    """item -> (age in days, first age in days, mentions) before an event, deleted items
    left out.
    """
    now = log.time[log.event == event][0]
    state: dict[str, list[int]] = {}
    live: dict[str, bool] = {}
    for time, item, number, deleted in zip(
        log.time, log.item, log.event, log.deleted, strict=True
    ):
        if number < event:
            state.setdefault(log.items[item], []).append(time)
            live[log.items[item]] = not deleted
    return {
        name: ((now - times[-1]) / DAY, (now - times[0]) / DAY, len(times))
        for name, times in state.items()
        if live[name]
    }


def deleting_log() -> AccessLog:
    random = np.random.default_rng(5)
    rows = [
        (
            int(event * DAY // 3 + random.integers(0, DAY // 4)),
            f"f{item}",
            event,
            bool(random.random() < 0.2),
        )
        for event in range(60)
        for item in set(random.integers(0, 12, 4).tolist())
    ]
    return AccessLog.of(
        [(min(r[0] for r in rows if r[2] == row[2]), *row[1:]) for row in rows]
    )


def test_replay_agrees_with_a_plain_one() -> None:
    log = deleting_log()
    for event in (1, 7, 30, 59):
        snapshots = LogReplay(log).snapshots([event])
        plain = plain_replay(log, event)
        items = snapshots.items
        assert sorted(items.age_days.tolist()) == pytest.approx(
            sorted(age for age, _, _ in plain.values())
        )
        assert (np.diff(items.age_days) >= 0).all()
        assert sorted(items.first_age_days) == pytest.approx(
            sorted(first for _, first, _ in plain.values())
        )
        assert sorted(items.count.tolist()) == sorted(
            count for _, _, count in plain.values()
        )
        touched = {log.items[i] for i in log.item[log.event == event]} & set(plain)
        assert len(snapshots.touched) == len(touched)
        assert (snapshots.reuse_days[snapshots.touched] == 0).all()


def test_decayed_counts_of_the_replay_are_sums_over_mentions() -> None:
    log = AccessLog.of(
        [(0, "a", 0, False), (DAY, "a", 1, False), (3 * DAY, "b", 2, False)]
    )
    snapshots = LogReplay(log).snapshots([2])
    ages = np.array([3.0, 2.0])
    expected = [np.exp2(-ages / half_life).sum() for half_life in COUNT_HALF_LIVES_DAYS]
    assert snapshots.items.decayed_counts[0] == pytest.approx(np.array(expected))


def test_a_deleted_item_is_unknown_until_it_returns() -> None:
    log = AccessLog.of(
        [
            (0, "a", 0, False),
            (0, "b", 0, False),
            (1, "a", 1, True),
            (2, "a", 2, False),
            (3, "b", 3, False),
        ]
    )
    assert [len(LogReplay(log).snapshots([event]).items) for event in (1, 2, 3)] == [
        2,
        1,
        2,
    ]


def test_equal_scores_are_ordered_by_recency() -> None:
    log = AccessLog.of(
        [(0, "a", 0, False), (DAY, "b", 1, False), (2 * DAY, "a", 2, False)]
    )
    snapshots = LogReplay(log).snapshots([2])
    assert score_snapshots(snapshots, np.zeros(2))[0].tolist() == [0.5]
    assert score_snapshots(snapshots, snapshots.items.age_days)[0].tolist() == [1.0]


def test_choice_reads_nothing_of_the_scored_part() -> None:
    log = log_of(power_law, 300, 3)
    scored = split(log)[1]
    known = log.item[log.event < scored[0]].max() + 1
    drawn = np.random.default_rng(0).integers(0, known, len(log.item))
    item = np.where(np.isin(log.event, scored), drawn, log.item)
    other = AccessLog(log.items, log.time, item, log.event, log.deleted, log.of_files)
    assert np.array_equal(split(other)[0], split(log)[0])
    first = fit(log)
    second = fit(other)
    assert first.scores != second.scores
    assert (first.chosen, first.params) == (second.chosen, second.params)


def test_fit_is_deterministic_and_its_seed_moves_the_intervals_only() -> None:
    log = log_of(power_law, 120, 3)
    assert fit(log, seed=1) == fit(log, seed=1)
    first = fit(log, seed=1)
    second = fit(log, seed=2)
    assert (first.chosen, first.params) == (second.chosen, second.params)
    assert [each.mrr for each in first.scores.values()] == [
        each.mrr for each in second.scores.values()
    ]
    assert [each.ci_low for each in first.scores.values()] != [
        each.ci_low for each in second.scores.values()
    ]


def test_fit_shows_itself() -> None:
    result = fit(log_of(power_law, 120, 3))
    assert result.frame.columns.tolist() == [
        "law",
        "mrr",
        "ci_low",
        "ci_high",
        "recall_at_10",
        "chosen",
    ]
    assert result.frame["mrr"].is_monotonic_decreasing
    assert result.frame.loc[result.frame["chosen"], "law"].tolist() == [result.chosen]
    assert {"recency", "frequency", "constant", "power", "product"} <= set(
        result.scores
    )
    assert all(
        each.ci_low <= each.mrr <= each.ci_high for each in result.scores.values()
    )
    assert repr(result).startswith("Fit(")
    assert "<table" in result._repr_html_()


def test_fitted_importance_is_the_chance_of_use() -> None:
    log = log_of(frequency_wins, 500, 1)
    result = fit(log)
    law = make_law(result.law, **result.params)
    events = split(log)[1]
    events = events[
        log.time[log.starts[events]] <= log.time[-1] - result.horizon_days * DAY
    ]
    seen = LogReplay(log).snapshots(events)
    importance = law.importance(law.raw(seen.items))
    used = seen.reuse_days <= result.horizon_days
    assert len(used) > 1_000
    if result.law == "power":
        tenths = pd.DataFrame({"importance": importance, "used": used}).groupby(
            (importance * 10).astype(int)
        )
        error = (
            tenths.size() * (tenths["importance"].mean() - tenths["used"].mean()).abs()
        ).sum() / len(used)
        assert error < 0.1


def test_scores_of_laws_share_their_resamples() -> None:
    log = log_of(power_law, 100, 2)
    snapshots = LogReplay(log).snapshots(split(log)[1])
    laws = {"one": make_law("recency"), "two": make_law("recency")}
    twice = _law_scores(laws, *_ranks([snapshots], laws), seed=4)
    assert twice["one"] == twice["two"]


def test_big_logs_are_thinned_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    log = log_of(power_law, 200, 2)
    whole = split(log)[1]
    monkeypatch.setattr("theorex_lab.eval.metrics.access_log.MAX_ROWS", 200)
    thinned = split(log)[1]
    assert set(thinned) < set(whole)
    assert thinned[-1] == whole[-1]
    assert np.diff(thinned).max() <= 2 * np.diff(thinned).min() + 3
    assert len(LogReplay(log).snapshots(thinned).items) <= 1.3 * 200


def test_scored_events_in_small_parts_are_scored_alike(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = log_of(power_law, 200, 2)
    at_once = fit(log)
    parts: list[int] = []
    score_all = fitting._ranks

    def watched(snapshots: Iterable[Snapshots], laws: Any) -> tuple[Floats, Floats]:
        return score_all((parts.append(len(part)) or part for part in snapshots), laws)

    monkeypatch.setattr(fitting, "ROWS_AT_ONCE", 3 * len(log.items))
    monkeypatch.setattr(fitting, "_ranks", watched)
    assert fit(log) == at_once
    assert sum(parts) == at_once.n_scored
    assert max(parts) == 3, "no more are held than their rows allow"
