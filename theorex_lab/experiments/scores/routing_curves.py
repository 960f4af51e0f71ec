"""How routing does at each price: quality against cost.

Scores are 0 to 1, of shape (queries, models): how well each model answered each query.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.data.routing_sets import Floats, RoutingSet, load_routing_set
from theorex_lab.experiments.scores.routing import TaskMatrix
from theorex_lab.memory.intervals import bootstrap_means
from theorex_lab.memory.rows import Rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class CostQuality(NamedTuple):
    """The mean score when ever more queries go to the strong model, those of the largest expected gain first.

    share    of queries sent to the strong model, 0 to 1, rising
    quality  mean score at that share
    """

    share: Floats
    quality: Floats

    @property
    def area(self) -> float:
        """Mean quality over all shares: the area under the curve."""
        return float(np.diff(self.share) @ (self.quality[1:] + self.quality[:-1]) / 2)

    def at(self, share: float) -> float:
        """Quality at a share of strong answers, interpolated.

        >>> CostQuality(np.array([0.0, 1.0]), np.array([0.5, 0.75])).at(0.5)
        0.625
        """
        return float(np.interp(share, self.share, self.quality))


def cost_quality_curve(weak: Floats, strong: Floats, advantage: Floats) -> CostQuality:
    """The curve of sending queries to the strong model in the order of their expected advantage, highest first.

    `weak` and `strong` are both models' scores and `advantage` the expected difference, each (queries,). Queries of one
    advantage go in random order, in expectation: a constant advantage gives the line of random routing, and
    `strong - weak` itself the oracle's curve. Raises InvalidInput for shapes that differ or no queries.

    >>> cost_quality_curve(np.array([0.0, 1.0]), np.array([1.0, 1.0]), np.array([0.9, 0.1])).quality
    array([0.5, 1. , 1. ])
    """
    if not len(weak) or not weak.shape == strong.shape == advantage.shape == (len(weak),):
        shapes = f"{weak.shape}, {strong.shape} and advantages {advantage.shape}"
        raise InvalidInput(f"got scores {shapes}; allowed is one length from 1")
    n = len(weak)
    _, group, sizes = np.unique(-advantage, return_inverse=True, return_counts=True)
    gain = np.repeat(np.bincount(group, weights=strong - weak) / sizes, sizes)
    return CostQuality(np.arange(n + 1) / n, weak.mean() + np.concatenate([[0.0], np.cumsum(gain)]) / n)


def area_gains(weak: Floats, strong: Floats, advantage: Floats) -> Floats:
    """What each query adds to the area of `cost_quality_curve` over that of random routing, times their number: (queries,).

    Its mean is the difference of the areas, its bootstrap that difference's interval (the order of queries held fixed).

    >>> float(area_gains(np.array([0.0, 1.0]), np.array([1.0, 1.0]), np.array([0.9, 0.1])).mean())
    0.125
    """
    _, group, sizes = np.unique(-advantage, return_inverse=True, return_counts=True)
    middle = (np.cumsum(sizes) - sizes / 2) / len(advantage)
    return np.asarray((strong - weak) * (0.5 - middle[group]))


@dataclass(frozen=True)
class CostQualityScore(Rows[dict[str, Any]]):
    """Quality against the share sent to the strong model.

    Columns of a row: policy, area, quality_at_half, weak, strong, area_gain, low, high (of that gain).

    curves  name → curve, `random` and `oracle` among them
    gains   name → (mean, low, high): the area above that of random routing, with its 95 % bootstrap interval
    """

    dataset: str
    n: int
    curves: dict[str, CostQuality]
    gains: dict[str, tuple[float, float, float]]

    def _records(self) -> Sequence[dict[str, Any]]:
        names = ("policy", "area", "quality_at_half", "weak", "strong", "area_gain", "low", "high")
        rows = ((name, each.area, each.at(0.5), *each.quality[[0, -1]].tolist()) for name, each in self.curves.items())
        return [dict(zip(names, [*row, *self.gains[row[0]]], strict=True)) for row in rows]

    def plot(self, ax: Axes | None = None) -> Axes:
        """A curve a policy."""
        from theorex_lab.experiments.draw import axes

        ax = axes.new_axes(ax)
        for number, (name, curve) in enumerate(self.curves.items()):
            dashes = "--" if name in ("random", "oracle") else "-"
            ax.plot(curve.share, curve.quality, dashes, color=axes.colour_of(number), label=name)
        ax.set(xlabel="Share of queries sent to the strong model", ylabel="Mean score (0 to 1)")
        ax.set_title(f"Quality against cost on {self.dataset} ({self.n:,} test queries)")
        ax.legend(frameon=False, loc="lower right")
        return ax

    def __repr__(self) -> str:
        shown = "; ".join(f"{name} {curve.area:.4f}" for name, curve in self.curves.items())
        return f"CostQualityScore({self.dataset}, {self.n} queries, area: {shown})"


def cost_quality(dataset: str | RoutingSet = "routellm_mmlu", *, seed: int = 0) -> CostQualityScore:
    """The cost–quality curves of a set of two models, the second the strong one, beside random routing and the oracle.

    Policies send first the queries for which they expect most of the strong model; training queries that are also in the
    test are left out. Raises InvalidInput for a set of
    another number of models, and as `load_routing_set` does.
    """
    found = load_routing_set(dataset, seed=seed) if isinstance(dataset, str) else dataset
    if len(found.models) != 2:
        raise InvalidInput(f"got {found.name} with {len(found.models)} models; allowed are two, such as routellm_mmlu")
    weak, strong = found.test.scores.T
    advantages = {"random": np.zeros(len(weak)), "oracle": strong - weak}
    expected = TaskMatrix().fit(found.train_without_repeats).predict(found.test.queries)
    advantages[TaskMatrix.name] = expected[:, 1] - expected[:, 0]
    above = np.column_stack([area_gains(weak, strong, each) for each in advantages.values()])
    gains = dict(zip(advantages, bootstrap_means(above, seed=seed), strict=True))
    curves = {name: cost_quality_curve(weak, strong, each) for name, each in advantages.items()}
    spans = {name: (gain.mean, gain.low, gain.high) for name, gain in gains.items()}
    return CostQualityScore(found.name, len(weak), curves, spans)
