"""Bandits beside mabwiser: the same rewards, query by query, learning from each; time and what was earned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from measure import compare
from pytest_benchmark.fixture import BenchmarkFixture

from theorex_lab.experiments.scores.bandits import UCB1, Bandit, ThompsonSampling

QUERIES = 1_000
RATES = (0.30, 0.53, 0.56, 0.62, 0.58, 0.19, 0.17, 0.37, 0.52)  # of nine models on a public set, rounded
ONE = np.zeros(1, dtype=np.int64)


def rewards(seed: int = 0) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Success of every model on every query, drawn once for both sides, from a stream that no policy draws from."""
    return (np.random.default_rng([seed, 1]).random((QUERIES, len(RATES))) < RATES).astype(np.float64)


def ours(bandit: Bandit, given: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    """Mean reward; each model is tried once first, as the peer must be fitted before it predicts."""
    bandit.start(1, len(RATES))
    for model, reward in enumerate(given[0]):
        bandit.update(ONE, np.array([model]), np.array([reward]))
    earned = 0.0
    for row in given[1:]:
        models = bandit.pick(ONE)
        earned += row[models[0]]
        bandit.update(ONE, models, row[models])
    return earned / (len(given) - 1)


def theirs(policy: Any, given: np.ndarray[Any, np.dtype[np.float64]], seed: int = 0) -> float:
    """Mean reward of mabwiser, one prediction and one partial fit a query."""
    from mabwiser.mab import MAB

    learner = MAB(arms=list(range(len(RATES))), learning_policy=policy, seed=seed)
    learner.fit(decisions=list(range(len(RATES))), rewards=given[0].tolist())
    earned = 0.0
    for row in given[1:]:
        model = learner.predict()
        earned += row[model]
        learner.partial_fit([model], [row[model]])
    return earned / (len(given) - 1)


def policies() -> dict[str, tuple[Callable[[int], Bandit], Any]]:
    """Ours by seed, and the peer's of the same name."""
    from mabwiser.mab import LearningPolicy

    return {
        "Thompson sampling": (
            lambda seed: ThompsonSampling(per_task=False, seed=seed),
            LearningPolicy.ThompsonSampling(),
        ),
        "UCB1": (lambda seed: UCB1(per_task=False, seed=seed), LearningPolicy.UCB1(alpha=1.0)),
    }


@pytest.mark.parametrize("name", ["Thompson sampling", "UCB1"])
def test_bandit(benchmark: BenchmarkFixture, name: str) -> None:
    make, peer = policies()[name]
    pairs = np.array([(ours(make(seed), rewards(seed)), theirs(peer, rewards(seed), seed)) for seed in range(10)])
    earned, peer_earned = pairs.mean(axis=0)
    benchmark.extra_info.update({"earned": earned, "peer_earned": peer_earned, "best_model": max(RATES)})
    # Ten runs of a thousand queries differ by chance alone by less than this.
    assert earned >= peer_earned - 0.015
    given = rewards()
    compare(
        benchmark,
        f"{name}, {QUERIES:,} queries one by one (earns {earned:.3f}; peer {peer_earned:.3f})",
        lambda: ours(make(0), given),
        lambda: theirs(peer, given),
        peer_name="mabwiser",
        at_least=1,
    )
