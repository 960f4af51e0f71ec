"""Policies of routing: one contract for all, and what each learns."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from theorex_lab.eval.metrics.routing import (
    BestSingle,
    Queries,
    TaskMatrix,
    TrainingScores,
)

POLICIES: list[Callable[[], TaskMatrix]] = [BestSingle, TaskMatrix]


def training(
    n: int = 90, *, models: int = 3, tasks: int = 3, seed: int = 0
) -> TrainingScores:
    """Task t is mastered by model t, others answer half of it; texts name the task."""
    generator = np.random.default_rng(seed)
    codes = np.arange(n) % tasks
    scores = (generator.random((n, models)) < 0.5).astype(np.float64)
    scores[np.arange(n), codes % models] = 1.0
    words = ["sorting arrays", "adding fractions", "rhyming couplets"]
    texts = [f"{words[code % 3]} {number}" for number, code in enumerate(codes)]
    return TrainingScores(Queries(texts, [f"task {code}" for code in codes]), scores)


@pytest.mark.parametrize("make", POLICIES)
def test_contract(make: Callable[[], TaskMatrix]) -> None:
    """Fit returns the policy; a choice for each query, none included; unknown tasks
    too; the same when fitted anew.
    """
    given = training()
    policy = make()
    assert policy.name
    assert policy.fit(given) is policy
    asked = given.queries.take(np.arange(10))
    chosen = policy.choose(asked)
    assert chosen.shape == (10,)
    assert chosen.dtype == np.int64
    assert chosen.min() >= 0
    assert chosen.max() < 3
    assert policy.choose(asked.take(np.arange(0))).shape == (0,)
    unknown = Queries(["what is this"], ["never met"])
    assert 0 <= policy.choose(unknown)[0] < 3
    assert np.array_equal(
        make().fit(given).choose(asked), make().fit(given).choose(asked)
    )
    # Nothing of an earlier training is left.
    other = training(60, models=2, seed=1)
    assert np.array_equal(
        policy.fit(other).choose(other.queries), make().fit(other).choose(other.queries)
    )


@pytest.mark.parametrize("make", POLICIES)
def test_one_model_and_one_query_are_enough(make: Callable[[], TaskMatrix]) -> None:
    given = training(1, models=3, tasks=1)
    assert make().fit(given).choose(given.queries).shape == (1,)


def test_matrix_finds_the_model_of_each_task_and_recalls_the_plain_means() -> None:
    given = training(300)
    plain = TaskMatrix().fit(given)
    assert plain.choose(given.queries.take(np.arange(3))).tolist() == [0, 1, 2]
    assert plain.predict(given.queries.take(np.array([0])))[0] == pytest.approx(
        given.scores[::3].mean(axis=0)
    )
    assert plain.predict(Queries(["x"], ["never met"]))[0] == pytest.approx(
        given.scores.mean(axis=0)
    )
