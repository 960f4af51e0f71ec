"""Where the weights of `find_decisive` come from: a conditional logit, fitted on the
development half of Who&When.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from theorex_lab.eval.datasets.parsing import FailedRun
from theorex_lab.eval.metrics.failures import half_of, run_steps
from theorex_lab.evolution import failure_signs

Floats = NDArray[np.float64]

RIDGE = 3.0
_NEWTON_STEPS = 50


def fit_weights(runs: Sequence[FailedRun]) -> dict[str, float]:
    """The weights, fitted on the development half of the runs; those whose labelled
    step is a tool's answer are left out.
    """
    options = []
    chosen = []
    for run in runs:
        readings = failure_signs.read_run(run_steps(run), run.question)
        positions = failure_signs.candidates(readings)
        if half_of(run.question_id) == "development" and run.mistake_step in positions:
            options.append(
                np.array(failure_signs.sign_values(readings, run.question), np.float64)
            )
            chosen.append(positions.index(run.mistake_step))
    return dict(
        zip(
            failure_signs.SIGNS,
            fit_choice(options, chosen, RIDGE).tolist(),
            strict=True,
        )
    )


def fit_choice(
    options: Sequence[Floats], chosen: Sequence[int], ridge: float
) -> Floats:
    """Weights of a conditional logit: each row of features in `options[i]` is a choice,
    and `chosen[i]` was taken.

    McFadden (1974), with a ridge penalty of `ridge / 2` times the squared weights,
    maximised by Newton steps.
    """
    weights = np.zeros(options[0].shape[1])
    for _ in range(_NEWTON_STEPS):
        slope = -ridge * weights
        curvature = ridge * np.eye(len(weights))
        for features, row in zip(options, chosen, strict=True):
            raw = features @ weights
            chance = np.exp(raw - raw.max())
            chance /= chance.sum()
            expected = chance @ features
            slope += features[row] - expected
            curvature += (features * chance[:, None]).T @ features - np.outer(
                expected, expected
            )
        step = np.linalg.solve(curvature, slope)
        weights += step
        if np.abs(step).max() < 1e-9:
            break
    return weights


if __name__ == "__main__":
    from theorex_lab.eval.datasets.recorded_runs import fetch_whoandwhen

    print(
        {
            name: round(weight, 2)
            for name, weight in fit_weights(fetch_whoandwhen().runs).items()
        }
    )
