"""The simulated calls: made again byte for byte, and worth a choice by type and price."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conftest import DAY
from simulate_routing import CHANGES, DAYS, MODELS, save_calls, simulate_calls

from theorex_lab.eval import load_routing_set, score_costs
from theorex_lab.eval.datasets.routing_sets import RoutingSet
from theorex_lab.eval.datasets.sources import packaged
from theorex_lab.eval.metrics.costs import set_runs

NAME = "simulated_calls"


@pytest.fixture(scope="module")
def dataset() -> RoutingSet:
    return load_routing_set(NAME)


def test_the_packaged_calls_are_made_again_byte_for_byte(tmp_path: Path) -> None:
    made = tmp_path / "calls.jsonl.gz"
    assert save_calls(7, made) == 1_200
    assert made.read_bytes() == packaged(f"{NAME}.jsonl.gz").read_bytes()


def test_another_seed_gives_other_calls() -> None:
    assert simulate_calls(seed=3, queries=40) != simulate_calls(seed=4, queries=40)
    assert simulate_calls(seed=3, queries=40) == simulate_calls(seed=3, queries=40)


def test_halves_share_no_row_and_every_model_is_there(dataset: RoutingSet) -> None:
    assert len(dataset.train.queries) == len(dataset.test.queries) == 600
    assert set(dataset.models) == {model.name for model in MODELS}
    other = load_routing_set(NAME, seed=1)
    assert list(other.test.queries.texts) != list(dataset.test.queries.texts)


def test_specialists_equal_the_largest_in_their_type_and_nowhere_else(
    dataset: RoutingSet,
) -> None:
    tasks = np.array(dataset.train.queries.tasks)

    def rate(model: str, task: str) -> float:
        scores = dataset.train.scores[:, dataset.models.index(model)]
        return float(scores[tasks == task].mean())

    for model, own_type in (("forge-14b", "code"), ("abacus-14b", "math")):
        assert rate(model, own_type) > rate("sequoia-1t", own_type) - 0.05
        assert rate(model, "creative") < rate("fern-8b", "creative")
    assert rate("fern-8b", "retrieval") > rate("sequoia-1t", "retrieval") - 0.05


def test_the_slowest_model_is_cheap(dataset: RoutingSet) -> None:
    assert dataset.train.latency_ms is not None
    latencies = dataset.train.latency_ms.mean(axis=0)
    slowest = int(latencies.argmax())
    assert dataset.models[slowest] == "abacus-14b"
    assert dataset.costs[slowest] < dataset.costs.max() / 10


def test_models_change_on_their_day_and_only_in_their_type(dataset: RoutingSet) -> None:
    assert dataset.train.at is not None
    days = dataset.train.at // DAY
    tasks = np.array(dataset.train.queries.tasks)
    assert int(days.max()) == DAYS - 1
    for model, change in CHANGES.items():
        scores = dataset.train.scores[:, dataset.models.index(model)]
        is_late = days >= change.day
        is_own = tasks == change.query_type
        moved = scores[is_late & is_own].mean() - scores[~is_late & is_own].mean()
        former = next(each for each in MODELS if each.name == model).skills
        assert np.sign(moved) == np.sign(change.skill - former[change.query_type])
        assert abs(moved) > 0.15
        others = scores[is_late & ~is_own].mean() - scores[~is_late & ~is_own].mean()
        assert abs(others) < 0.15


def test_a_part_of_the_calls_keeps_its_times(dataset: RoutingSet) -> None:
    assert dataset.train.at is not None
    part = dataset.train.take(np.array([3, 5]))
    assert part.at is not None
    assert part.at.tolist() == dataset.train.at[[3, 5]].tolist()
    assert set_runs(dataset).now == int(dataset.train.at.max())


def test_choosing_by_type_saves_money_and_no_model_answers_everything(
    dataset: RoutingSet,
) -> None:
    by_policy = {row.policy: row for row in score_costs(dataset)}
    assert 0.6 < by_policy["best single"].score < 0.85
    not_worse = by_policy["task matrix, not worse"]
    assert not_worse.cost_ratio < 0.8
    assert not_worse.difference > 0
    assert by_policy["cascade, noisy check"].cost_ratio < 0.4
    assert by_policy["oracle"].score < 0.97, "some queries nobody answers"


def test_no_model_leads_in_every_type(dataset: RoutingSet) -> None:
    runs = set_runs(dataset)
    leaders = {}
    for cell in runs.matrix():
        best = leaders.get(cell.query_type)
        if best is None or cell.success_rate > best.success_rate:
            leaders[cell.query_type] = cell
    assert len({cell.model for cell in leaders.values()}) >= 3


def test_costs_are_scored_by_the_name_of_the_set() -> None:
    assert score_costs("simulated_calls").dataset == "simulated_calls"
