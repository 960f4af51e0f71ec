"""What scoring and policies of routing refuse, and that the refusal names what was got."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from theorex_lab import InvalidInput
from theorex_lab.eval.datasets.routing_sets import load_routing_set
from theorex_lab.eval.metrics.routing import Queries, TrainingScores
from theorex_lab.memory.intervals import bootstrap_means

SCORES = np.zeros((2, 3))
QUERIES = Queries(["a", "b"], ["x", "x"])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bootstrap_means(np.zeros((0, 1))), "0 values"),
        (lambda: bootstrap_means(np.zeros((2, 1)), draws=0), "0 draws"),
        (lambda: Queries(["a"], []), "1 texts and 0 tasks"),
        (
            lambda: TrainingScores(QUERIES, np.zeros((3, 2))),
            r"scores \(3, 2\) of 2 queries",
        ),
        (lambda: TrainingScores(QUERIES, np.zeros((2, 0))), r"scores \(2, 0\)"),
        (lambda: TrainingScores(Queries([], []), np.zeros((0, 3))), r"scores \(0, 3\)"),
        (lambda: TrainingScores(QUERIES, np.full((2, 2), np.nan)), "from 0 to 1"),
        (lambda: TrainingScores(QUERIES, np.full((2, 2), 1.5)), "from 0 to 1"),
        (lambda: load_routing_set("nowhere"), "'nowhere'"),
    ],
)
def test_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        call()
