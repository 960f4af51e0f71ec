"""The score of routing on a small set, computed by hand, and on the public set."""

from __future__ import annotations

import json
import os
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

from theorex_lab import InvalidInput
from theorex_lab.eval.datasets import sources
from theorex_lab.eval.datasets.repeats import repeated_queries
from theorex_lab.eval.datasets.routing_sets import RoutingSet, load_routing_set
from theorex_lab.eval.metrics import routing
from theorex_lab.eval.metrics.routing import (
    OURS,
    Queries,
    RoutingScore,
    TrainingScores,
    score_routing,
)
from theorex_lab.eval.metrics.routing_curve import score_curve
from theorex_lab.memory.intervals import bootstrap_means
from theorex_lab.routing.noninferiority import RouteRule

needs_data = pytest.mark.skipif(
    not os.environ.get(sources.DATA_VARIABLE),
    reason=f"{sources.DATA_VARIABLE} names no folder with the public sets",
)
SCORES = np.array(
    [[0.0, 1.0, 0.5], [1.0, 0.0, 0.25], [0.5, 0.5, 0.5], [0.0, 0.75, 1.0]]
)


def small_set(
    n: int = 120, *, models: int = 3, repeats: int = 0, seed: int = 0
) -> RoutingSet:
    """Two tasks, each with a model of its own that answers all of it, and a third task
    that none masters.
    """
    generator = np.random.default_rng(seed)
    tasks = generator.integers(3, size=2 * n)
    scores = generator.random((2 * n, models)) * 0.5
    for task in (0, 1):
        scores[tasks == task, task] = 1.0
    texts = [f"question {number} of {task}" for number, task in enumerate(tasks)]
    texts[n : n + repeats] = texts[:repeats]
    train, test = (
        TrainingScores(
            Queries(texts[part], [f"task {task}" for task in tasks[part]]), scores[part]
        )
        for part in (slice(0, n), slice(n, None))
    )
    cost = np.arange(models, dtype=np.float64)
    return RoutingSet(
        "small",
        tuple("abcdefghi"[:models]),
        cost,
        "coins",
        cost,
        train,
        test,
        {"best": 1.0},
        "none",
    )


def test_a_bootstrap_interval_covers_the_mean_as_often_as_it_says() -> None:
    generator = np.random.default_rng(5)
    covered = 0
    for seed in range(200):
        found = bootstrap_means(generator.random((60, 1)), seed=seed, draws=300)[0]
        covered += found.ci_low <= 0.5 <= found.ci_high
    assert 180 <= covered <= 200
    assert bootstrap_means(SCORES, seed=3) == bootstrap_means(SCORES, seed=3)


def test_a_small_set_is_scored_as_computed_by_hand() -> None:
    found = score_routing(small_set(), seed=1)
    scores = {each.policy: each for each in found.policies}
    tasks = np.array(small_set().test.queries.tasks)
    assert scores["oracle"].regret == 0.0
    assert scores["oracle"].score > scores[OURS].score > scores["best single"].score
    assert scores[OURS].gain == pytest.approx(
        scores[OURS].score - scores["task matrix"].score
    )
    assert scores["uniform"].score == pytest.approx(small_set().test.scores.mean())
    assert scores["uniform"].cost == 1.0
    # Task 0 goes to model 0 and task 1 to model 1, which answer all of them.
    mastered = (tasks != "task 2").mean()
    assert scores["task matrix"].score > mastered
    assert json.loads(json.dumps(found.result()))["metrics"]["policy"] == OURS
    assert {
        "best_single",
        "cheapest",
        "nearest_neighbours",
        "oracle",
        "route,_as_it_shipped_before",
        "task_matrix",
        "task_matrix,_not_worse",
        "uniform",
    } == set(found.result()["baselines"])
    assert scores["cheapest"].cost == 0.0
    assert score_routing(small_set(), seed=1) == found


def test_a_policy_of_ones_own_is_scored_beside_the_router() -> None:
    """It knows the two models that master a task, which stands at the end of a query."""
    models = {"0": "a", "1": "b", "2": "c"}
    found = score_routing(
        small_set(repeats=40),
        policies={"mine": lambda query: models[query[-1]]},
        seed=1,
    )
    scores = {each.policy: each for each in found.policies}
    assert scores["oracle"].score >= scores["mine"].score > scores["best single"].score
    assert (scores["mine"].gain, scores["mine"].regret) != (0.0, 0.0)
    with pytest.raises(
        InvalidInput, match=r"got 'gpt' from the policy 'mine'; allowed are a, b, c"
    ):
        score_routing(small_set(), policies={"mine": lambda _: "gpt"})


def test_test_queries_that_stand_in_the_training_are_left_out_of_it_and_flagged() -> (
    None
):
    found = score_routing(small_set(repeats=40))
    assert (found.n_repeated, found.n_left_out, found.n, found.n_train) == (
        40,
        40,
        120,
        80,
    )
    note = (
        "40 of 120 test queries stand in the training; 40 queries were left out of the"
        " training"
    )
    assert found.repeat_note == note
    assert note in str(found)
    assert found.result()["notes"] == [note]
    clean = score_routing(small_set())
    assert clean.repeat_note == "none of 120 test queries stands in the training"


def test_no_policy_gains_by_a_test_query_that_it_has_met() -> None:
    """A lookup table over the training answers what it has met, and nothing else."""
    met = small_set(repeats=120)
    with pytest.raises(InvalidInput, match="all stand in the test"):
        score_routing(met)


LONG = "Which of the twelve harbours on the northern coast has the oldest lighthouse"


@pytest.mark.parametrize(
    ("training", "test", "rows"),
    [
        ("Who is she?", " who IS\nshe", [0]),
        ("Who is she?", "Who is he?", []),
        (LONG, f"{LONG} today?", [0]),
        (f"{LONG} of 3?", f"{LONG} of 4?", []),
        (LONG, " ".join(reversed(LONG.split())), [0]),
        (LONG, LONG.replace("harbours", "towns").replace("coast", "shore"), []),
        ("?!", "!?", []),
        ("?!", " ?! ", [0]),
    ],
)
def test_queries_are_the_same_by_their_words_and_numbers(
    training: str, test: str, rows: list[int]
) -> None:
    repeats = repeated_queries([training, "Another one"], [test])
    assert repeats.training_rows.tolist() == rows
    assert repeats.test_rows.tolist() == rows


@pytest.fixture(scope="module")
def public_score() -> RoutingScore:
    """The score of llmrouter, which no test can change."""
    return score_routing("llmrouter")


@needs_data
def test_llmrouter_baselines_are_those_published(public_score: RoutingScore) -> None:
    found = load_routing_set("llmrouter")
    assert len(found.repeats.test_rows) >= 119
    for name in ("best_single", "oracle"):
        assert public_score.result()["baselines"][name] == pytest.approx(
            found.published[name], abs=0.001
        )
    # The figure is that of `route` itself; what beats it in an experiment is not
    # claimed.
    assert public_score.result()["metrics"]["policy"] == OURS
    assert public_score.result()["metrics"]["score"] >= 0.56


@needs_data
def test_on_the_public_set_the_router_is_no_worse_than_the_best_single_model_and_cheaper(
    public_score: RoutingScore,
) -> None:
    ours = next(each for each in public_score.policies if each.policy == OURS)
    assert ours.difference_ci_low > -RouteRule().margin
    assert ours.difference_ci_high > 0
    assert ours.cost_ratio_ci_high is not None
    assert ours.cost_ratio_ci_high < 0.95


def test_a_curve_goes_from_the_best_to_the_cheapest() -> None:
    curve = score_curve(small_set(), margins=(0.0, 1.0), seed=1)
    points = {(point.policy, point.value): point for point in curve}
    rule = "task matrix, not worse"
    assert points[rule, 1.0].cost == 0.0 < points[rule, 0.0].cost
    assert points[OURS, 1.0].cost <= points[OURS, 0.0].cost
    assert json.loads(json.dumps(curve.result()))["knob"] == "margin"
    worth = score_curve(small_set(), willingness=(1e-9, 1e9), seed=1)
    by_worth = {(point.policy, point.value): point.cost for point in worth}
    assert by_worth[rule, 1e-9] == 0.0 < by_worth[rule, 1e9]
    ax = curve.plot()
    assert "margin" in ax.get_title()
    plt.close("all")
    with pytest.raises(InvalidInput, match="got no margin"):
        score_curve(small_set(), margins=())


@needs_data
def test_the_command_gives_a_table_or_json(monkeypatch: pytest.MonkeyPatch) -> None:
    from click.testing import CliRunner

    from theorex_lab.app.cli import theorex

    # The table and the JSON show one score, which is computed for the first of them.
    scores: dict[str, RoutingScore] = {}

    def scored_once(found: RoutingSet, **options: Any) -> RoutingScore:
        asked = repr((found.name, options))
        if asked not in scores:
            scores[asked] = score_routing(found, **options)
        return scores[asked]

    monkeypatch.setattr(routing, "score_routing", scored_once)
    command = ["eval", "routing", "--dataset", "routellm_gsm8k"]
    shown = CliRunner().invoke(theorex, command, obj={})
    assert shown.exit_code == 0, shown.output
    for word in ("best single", "oracle", "95 % interval", "gain over the task matrix"):
        assert word in shown.output
    result = json.loads(
        CliRunner().invoke(theorex, [*command, "--json"], obj={}).output
    )
    assert {"dataset", "n", "metrics", "baselines", "published", "policies"} <= set(
        result
    )
    assert {"score", "regret", "cost", "ci_low", "ci_high"} <= set(result["metrics"])
    assert (
        CliRunner()
        .invoke(theorex, ["eval", "routing", "--dataset", "nowhere"], obj={})
        .exit_code
        != 0
    )
