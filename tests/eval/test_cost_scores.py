"""What policies cost: scores by hand on a small set."""

from __future__ import annotations

import json

import matplotlib.pyplot as plt
import numpy as np
import pytest
from click.testing import CliRunner
from test_routing_scoring import small_set

from theorex_lab import InvalidInput
from theorex_lab.app.cli import theorex
from theorex_lab.eval.datasets.routing_sets import RoutingSet
from theorex_lab.eval.metrics import costs
from theorex_lab.memory.intervals import bootstrap_ratio
from theorex_lab.routing.noninferiority import RouteRule


def test_policies_on_a_small_set_are_as_computed_by_hand() -> None:
    """Model a (cost 0) masters task 0, b (cost 1) task 1; c costs 2 and masters none."""
    found = small_set()
    scores = {each.policy: each for each in costs.score_costs(found, seed=1)}
    tasks = np.array(found.test.queries.tasks)
    test = found.test.scores
    assert scores["oracle"].regret == 0.0
    assert scores["uniform"].cost == 1.0
    cheap = scores[costs.CHEAPEST]
    matrix = scores["task matrix"]
    assert cheap.cost <= matrix.cost
    generous = RouteRule(margin=1.0)
    turned = {each.policy: each for each in costs.score_costs(found, rule=generous)}
    assert turned[costs.CHEAPEST].cost == 0.0, "any loss is allowed"
    mastered = tasks != "task 2"
    assert cheap.score >= float(
        np.where(tasks == "task 0", test[:, 0], test[:, 1])[mastered].sum()
    ) / len(tasks)
    assert scores["best single"].difference == 0.0
    assert (
        costs.score_costs(found, seed=1).policies
        == costs.score_costs(found, seed=1).policies
    )
    json.dumps(costs.score_costs(found, seed=1).result(), allow_nan=False)


def cascading_set() -> RoutingSet:
    """Of one task: cheap (cost 1) is right in half, strong (cost 4) nearly always,
    independently.
    """
    found = small_set(400, models=2)
    generator = np.random.default_rng(2)
    for part in (found.train, found.test):
        part.scores[:] = generator.random(part.scores.shape) < (0.5, 0.9)
    return RoutingSet(**{**vars(found), "costs": np.array([1.0, 4.0])})


def test_a_cascade_pays_the_first_model_always_and_the_second_where_the_check_fails() -> (
    None
):
    found = cascading_set()
    scores = {each.policy: each for each in costs.score_costs(found, seed=1)}
    first, strong = found.test.scores.T
    perfect = scores["cascade, perfect check"]
    noisy = scores["cascade, noisy check"]
    assert perfect.score == pytest.approx(np.maximum(first, strong).mean())
    assert perfect.cost == pytest.approx(1 + 4 * (1 - first.mean()))
    assert perfect.cost_ratio == pytest.approx(perfect.cost / 4)
    assert perfect.difference_ci_low > 0
    assert scores["best single"].score < noisy.score + 0.05 < perfect.score + 0.05
    assert perfect.cost < noisy.cost + 0.5 < 4.5
    assert scores["cascade, expected success"].cost == 4.0, (
        "half is below what the strong one brings"
    )


def test_thompson_sampling_finds_the_better_model() -> None:
    found = cascading_set()
    assert (
        costs.thompson(found, {costs.ANY_TASK: []}, seed=3)[-100:] == 1
    ).mean() > 0.9


def test_an_unknown_task_goes_by_all_of_them_and_an_unknown_set_is_refused() -> None:
    found = small_set()
    cells = costs.cells_of(
        found.train.take(
            np.flatnonzero(np.array(found.train.queries.tasks) == "task 1")
        ),
        found,
    )
    assert set(cells) == {"task 1", costs.ANY_TASK}
    assert costs.cascades(found, cells)["cascade, perfect check"][0].shape == (
        len(found.test.scores),
    )
    with pytest.raises(
        InvalidInput,
        match="got the set 'poems'; allowed are llmrouter, routellm, simulated_calls, local_runs",
    ):
        costs.score_costs("poems")


def test_the_ratio_of_costs_is_paired() -> None:
    base = np.random.default_rng(0).random(50) + 1
    ratio = bootstrap_ratio(base * 0.5, base)
    assert (ratio.mean, ratio.ci_low, ratio.ci_high) == pytest.approx((0.5, 0.5, 0.5))
    with pytest.raises(InvalidInput, match="got a base whose mean is 0"):
        bootstrap_ratio([1.0], [0.0])


def test_a_picture_is_drawn_on_the_axes_given() -> None:
    figure, ax = plt.subplots()
    assert costs.score_costs(small_set()).plot(ax) is ax
    assert "coins" in ax.get_xlabel()
    plt.close(figure)


def test_the_command_tells_policies() -> None:
    def told(*arguments: str) -> str:
        ended = CliRunner().invoke(
            theorex, ["eval", "costs", "--dataset", "local_runs", *arguments], obj={}
        )
        assert ended.exit_code == 0, ended.output
        return ended.output

    assert {"dataset", "policies", "cost_unit"} <= json.loads(told("--json")).keys()
    assert costs.CHEAPEST in told()
