"""What the signs of a mistake are worth: a conditional logit over the steps of a run.

McFadden (1974), "Conditional logit analysis of qualitative choice behavior", with a
ridge penalty. It is fitted on the development half of Who&When's algorithm-generated
runs; the other half has no part in it. `python -m benchmarks.decisive_weights` writes
the packaged weights again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from theorex_lab.core.errors import InvalidInput
from theorex_lab.eval.datasets.parsing import FailedRun
from theorex_lab.eval.metrics.failures import half_of, run_steps
from theorex_lab.evolution import failure_signs
from theorex_lab.memory.decay import Floats

RIDGE = 3.0
SHARPNESS_GRID = tuple(round(0.5 + 0.1 * k, 1) for k in range(16))
_NEWTON_STEPS = 50
_CONVERGED = 1e-9
_DECIMALS = 2


@dataclass(frozen=True, eq=False)
class Choice:
    """The steps of one run that can be at fault, and which one was labelled.

    Attributes:
        features: Shape (n_candidates, n_signs).
        chosen: The row of the labelled step.
    """

    features: Floats
    chosen: int


class FittedWeights(NamedTuple):
    """What was learned, as `decisive_weights.json` holds it.

    Attributes:
        weights: The weight of each sign.
        sharpness: What the sums are multiplied by.
        n_runs: How many runs it was learned from.
        step_accuracy: The share of these runs whose labelled step comes first when the
            run is left out of the fit.
        log_loss: The mean of -ln(chance of the labelled step) of the same.
    """

    weights: dict[str, float]
    sharpness: float
    n_runs: int
    step_accuracy: float
    log_loss: float

    def to_json(self) -> str:
        """Return the text of `decisive_weights.json`."""
        content: dict[str, Any] = {
            "about": (
                "weights of the signs of a mistake: a conditional logit with a ridge,"
                " fitted on the runs of Who&When (algorithm-generated) whose question"
                " has an even SHA-1 and whose labelled step is a message of an agent"
            ),
            "made_by": "python -m benchmarks.decisive_weights",
            "n_runs": self.n_runs,
            "ridge": RIDGE,
            "leave_one_out": {
                "step_accuracy": self.step_accuracy,
                "log_loss": self.log_loss,
            },
            "sharpness": self.sharpness,
            "weights": self.weights,
        }
        return json.dumps(content, indent=2) + "\n"


def fit_decisive(runs: Sequence[FailedRun]) -> FittedWeights:
    """Return the weights that the development half of the runs gives.

    Runs whose labelled step cannot be at fault, a tool's answer, are left out. The
    sharpness is the one of `SHARPNESS_GRID` with the smallest log loss on runs that the
    weights were not fitted on.

    Args:
        runs: Runs with labels.

    Raises:
        InvalidInput: Fewer than two runs are left.
    """
    choices = development_choices(runs)
    if len(choices) < 2:
        raise InvalidInput(
            f"got {len(choices)} runs of the development half; allowed are 2 or more"
        )
    held_out_sums = []
    for position, choice in enumerate(choices):
        others = choices[:position] + choices[position + 1 :]
        held_out_sums.append(choice.features @ fit_choice(others, RIDGE))
    losses = [
        _log_loss(choices, held_out_sums, sharpness) for sharpness in SHARPNESS_GRID
    ]
    best = int(np.argmin(losses))
    right = [
        int(np.argmax(sums)) == choice.chosen
        for sums, choice in zip(held_out_sums, choices, strict=True)
    ]
    weights = fit_choice(choices, RIDGE).tolist()
    rounded = [round(weight, _DECIMALS) for weight in weights]
    return FittedWeights(
        dict(zip(failure_signs.SIGNS, rounded, strict=True)),
        SHARPNESS_GRID[best],
        len(choices),
        round(float(np.mean(right)), 3),
        round(losses[best], 3),
    )


def development_choices(runs: Sequence[FailedRun]) -> list[Choice]:
    """Return the runs of the development half as choices among their steps."""
    choices = []
    for run in runs:
        if half_of(run.question_id) != "development":
            continue
        readings = failure_signs.read_run(run_steps(run), run.question)
        positions = failure_signs.candidates(readings)
        if run.mistake_step not in positions:
            continue
        values = failure_signs.sign_values(readings, run.question)
        features = np.array(values, dtype=np.float64)
        choices.append(Choice(features, positions.index(run.mistake_step)))
    return choices


def fit_choice(choices: Sequence[Choice], ridge: float) -> Floats:
    """Return the weights under which the chosen rows are likeliest.

    The penalty is `ridge / 2` times the sum of the squared weights. Newton steps
    maximise the sum, which is concave.

    Args:
        choices: At least one, all with as many columns.
        ridge: Above 0.

    Returns:
        A weight for each column.

    >>> choice = Choice(np.array([[1.0], [0.0]]), 0)
    >>> fit_choice([choice] * 50, 1.0).round(1).tolist()
    [2.8]
    """
    n_signs = choices[0].features.shape[1]
    weights = np.zeros(n_signs)
    for _ in range(_NEWTON_STEPS):
        slope = -ridge * weights
        curvature = ridge * np.eye(n_signs)
        for choice in choices:
            chances = chances_of(choice.features @ weights)
            expected = chances @ choice.features
            centred = choice.features - expected
            slope += centred[choice.chosen]
            curvature += (centred * chances[:, None]).T @ centred
        step = np.linalg.solve(curvature, slope)
        weights += step
        if np.abs(step).max() < _CONVERGED:
            break
    return weights


def chances_of(sums: Floats) -> Floats:
    """Return the chance of each sum: its exponential's share.

    >>> chances_of(np.array([0.0, 0.0])).tolist()
    [0.5, 0.5]
    """
    masses: Floats = np.exp(sums - sums.max())
    chances: Floats = masses / masses.sum()
    return chances


def _log_loss(
    choices: Sequence[Choice], sums_by_run: Sequence[Floats], sharpness: float
) -> float:
    losses = [
        -np.log(chances_of(sharpness * sums)[choice.chosen])
        for choice, sums in zip(choices, sums_by_run, strict=True)
    ]
    return float(np.mean(losses))
