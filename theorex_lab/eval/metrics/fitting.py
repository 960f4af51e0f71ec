"""Fit decay laws to a log of accesses.

The fit says which law, with which parameters, ranks best what is used next. Law and
parameters are chosen on the training events alone; the scored events (see `access_log`)
only tell how well the choice did. Recency, frequency, ACT-R's power law and a constant
(which knows nothing of use: the items in the order of their first appearance) are
always among the scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.core.errors import InvalidInput
from theorex_lab.designs.sessions.settings import SessionSettings
from theorex_lab.eval.metrics.access_log import (
    AccessLog,
    LogReplay,
    Snapshots,
    score_snapshots,
    split,
)
from theorex_lab.memory import decay
from theorex_lab.memory.decay import Floats, Law, LogisticLaw, make_law
from theorex_lab.memory.intervals import bootstrap_means
from theorex_lab.memory.rows import Rows

Order = Law | Callable[[Snapshots], Floats]

# Of equal ones the first, which forgets least.
FILE_POWERS = {"power_0.25": 0.25, "power": 0.5, "power_0.75": 0.75, "power_1": 1.0}
PRESENT = next(
    name for name, power in FILE_POWERS.items() if power == SessionSettings().age_power
)
# over a month nearly everything in a busy log is used again, and nothing would ever
# fade
REUSE_DAYS = 7.0
CALIBRATION_EVENTS = 60
SINGLE_LAWS = ("recency", "frequency", "weighted_sum")
CONSTANT = "constant"
MIN_EVENTS_FOR_CHANGE = 40
GAIN_IN_STANDARD_ERRORS = 0.75
NEWTON_STEPS = 50
ROWS_AT_ONCE = 250_000


@dataclass(frozen=True)
class LawScore:
    """How a law did on the scored events.

    It has MRR with its 95 % bootstrap interval, and recall@10, all 0..1.
    """

    mrr: float
    low: float
    high: float
    recall_at_10: float


@dataclass(frozen=True)
class Fit(Rows[dict[str, Any]]):
    """The law chosen on the training events, and a row a law with its score.

    The scores are on the events after them, best MRR first. The columns of a row are
    law, mrr, low, high, recall_at_10 and chosen.

    Attributes:
        chosen: Its name among the scores.
        law: The name of the law to adopt: the choice, or where that is the constant,
            the best of the others.
        params: The parameters of `law`.
        scores: The LawScore of each law.
        n_train: The events trained on.
        n_scored: The events scored on.
        days: The days from the first event to the last.
        files: Of FILE_POWERS the one that ranks best before the scored events, by more
            than its noise; else the default.
        gains: By candidate, how much more its MRR is than that of the present order of
            files (mean, low, high).
        horizon_days: Where the law is logistic, its importance is the chance of use
            within this time.
    """

    chosen: str
    law: str
    params: dict[str, float]
    scores: dict[str, LawScore]
    n_train: int
    n_scored: int
    horizon_days: float
    days: float = math.inf
    files: str = PRESENT
    gains: dict[str, dict[str, float]] = field(default_factory=dict)

    def _records(self) -> Sequence[dict[str, Any]]:
        best_first = sorted(self.scores.items(), key=lambda pair: -pair[1].mrr)
        return [
            {"law": law, **asdict(each), "chosen": law == self.chosen}
            for law, each in best_first
        ]

    def __repr__(self) -> str:
        best = self.scores[self.chosen]
        figures = (
            f"MRR {best.mrr:.3f} [{best.low:.3f}, {best.high:.3f}], recall@10"
            f" {best.recall_at_10:.3f}"
        )
        return (
            f"Fit({self.chosen}: {figures}; {self.n_train} events trained on,"
            f" {self.n_scored} scored)"
        )


def fit(log: AccessLog, seed: int = 0, laws: Sequence[Law] = ()) -> Fit:
    """Choose the law that ranks a log's next accesses best; score every law.

    Candidates are compared on the later two thirds of the training events. Scores are
    of the log's last third.

    Args:
        log: What was used when.
        seed: Draws the bootstrap.
        laws: Laws of one's own. They are scored as they are, and not chosen: a home's
            config.json knows the others alone.

    Raises:
        InvalidInput: The log is too short (see `split`), or a law has the name of a
            candidate.
    """
    training_events, scored_events = split(log)
    horizon = min(REUSE_DAYS, float(np.ptp(log.days(training_events))) / 10)
    calibration = _calibration_events(log, training_events, scored_events[0], horizon)
    whole = LogReplay(log).snapshots(calibration)
    replayed = LogReplay(log)
    training = replayed.snapshots(training_events, foremost=True)
    candidates = _candidates(training)
    chosen_name = _choose(candidates)
    adoptable = {
        name: candidate for name, candidate in candidates.items() if name != CONSTANT
    }
    adopted = _choose(adoptable)
    law = _with_logistic(candidates[adopted][0], whole, horizon)
    orders = {name: order for name, (order, _) in candidates.items()}
    orders[adopted] = law
    for user_law in laws:
        if user_law.name in orders:
            raise InvalidInput(
                f"got a law named {user_law.name!r}; allowed is a name other than"
                f" {', '.join(orders)}"
            )
        orders[user_law.name] = user_law
    ranks, recalls = _ranks(_in_turn(replayed, scored_events), orders)
    present_rank = ranks[:, [[*orders].index(PRESENT)]]
    advantages = bootstrap_means(ranks - present_rank, seed=seed)
    gains = {name: asdict(gain) for name, gain in zip(orders, advantages, strict=True)}
    return Fit(
        chosen_name,
        law.name,
        law.params,
        _law_scores(orders, ranks, recalls, seed),
        n_train=len(training),
        n_scored=len(scored_events),
        horizon_days=horizon,
        days=float(np.ptp(log.time)) / MICROSECONDS_PER_DAY,
        files=_age_power(candidates),
        gains=gains,
    )


def _calibration_events(
    log: AccessLog,
    training_events: NDArray[np.int64],
    first_scored: int,
    horizon_days: float,
) -> NDArray[np.int64]:
    """Return training events to fit logistic constants on, spread evenly.

    They are of the later half of those whose horizon ends before the scored events.
    """
    scored_from = log.days(np.array([first_scored]))[0]
    ended = training_events[log.days(training_events) + horizon_days < scored_from]
    later: NDArray[np.int64] = ended[len(ended) // 2 :]
    if not len(later):
        return later
    positions = np.linspace(0, len(later) - 1, CALIBRATION_EVENTS).astype(np.int64)
    calibration: NDArray[np.int64] = later[np.unique(positions)]
    return calibration


def _in_turn(replaying: LogReplay, events: NDArray[np.int64]) -> Iterator[Snapshots]:
    """Yield snapshots before these events, a few at a time.

    All of them would take half a gigabyte of a big log.
    """
    size = max(1, ROWS_AT_ONCE // max(len(replaying.log.items), 1))
    for start in range(0, len(events), size):
        yield replaying.snapshots(events[start : start + size])


def _ranks(
    parts: Iterable[Snapshots], laws: Mapping[str, Order]
) -> tuple[Floats, Floats]:
    """Return reciprocal ranks and recall@10 of each event, (n, laws) each."""
    scores = []
    for part in parts:
        if len(part):
            orders = (raw_of(law, part) for law in laws.values())
            scores.append([score_snapshots(part, raw) for raw in orders])
    if not scores:
        raise InvalidInput("got no events to score; allowed is one or more")
    ranks, recalls = np.ascontiguousarray(
        np.concatenate(scores, axis=2).transpose(1, 2, 0)
    )
    return ranks, recalls


def _law_scores(
    laws: Iterable[str], ranks: Floats, recalls: Floats, seed: int
) -> dict[str, LawScore]:
    """Return by law the mean rank with its interval, and the mean recall."""
    intervals = bootstrap_means(ranks, seed=seed)
    mean_recalls = recalls.mean(axis=0).tolist()
    scores = {}
    for name, mrr, recall in zip(laws, intervals, mean_recalls, strict=True):
        scores[name] = LawScore(mrr.mean, mrr.low, mrr.high, recall)
    return scores


def _candidates(training: Snapshots) -> dict[str, tuple[Order, Floats]]:
    """Return each candidate's order, and its reciprocal ranks on the later two thirds.

    Orders are fitted on all training events.
    """
    later = training.part(len(training) // 3, len(training))

    def validated(order: Order) -> tuple[Order, Floats]:
        return order, score_snapshots(later, raw_of(order, later))[0]

    candidates = {}
    for name, power in FILE_POWERS.items():
        candidates[name] = validated(make_law("power", exponent=power))
    for name in SINGLE_LAWS:
        candidates[name] = validated(make_law(name))
    candidates[CONSTANT] = validated(_first_seen)
    by_half_life = [
        validated(make_law("product", half_life_days=days))
        for days in decay.PRODUCT_HALF_LIVES_DAYS
    ]
    candidates["product"] = max(
        by_half_life, key=lambda candidate: float(candidate[1].mean())
    )
    return candidates


def _first_seen(snapshots: Snapshots) -> Floats:
    """Return the order of first appearance.

    It is what a memory that knows nothing of use would show.
    """
    return -snapshots.id.astype(np.float64)


def raw_of(order: Order, snapshots: Snapshots) -> Floats:
    """Return what a law, or an order that is not one, makes of snapshots' rows."""
    return order.raw(snapshots.items) if isinstance(order, Law) else order(snapshots)


def _choose(candidates: Mapping[str, tuple[Order, Floats]]) -> str:
    return max(candidates, key=lambda name: float(candidates[name][1].mean()))


def _age_power(candidates: Mapping[str, tuple[Order, Floats]]) -> str:
    best = max(FILE_POWERS, key=lambda name: float(candidates[name][1].mean()))
    return (
        best if _beyond_noise(candidates[best][1] - candidates[PRESENT][1]) else PRESENT
    )


def _beyond_noise(gain: Floats) -> bool:
    noise = gain.std() / math.sqrt(len(gain))
    return len(gain) >= MIN_EVENTS_FOR_CHANGE and bool(
        gain.mean() > GAIN_IN_STANDARD_ERRORS * noise
    )


def _with_logistic(law: Order, before: Snapshots, horizon_days: float) -> Law:
    """Return the law with fitted logistic constants.

    By them, importance is the chance of use within the horizon. Without both outcomes
    the stated constants stay.

    Args:
        law: The law.
        before: Whole snapshots, the idle items included, whose horizon ends before the
            scored events: fitted on the foremost items alone, importance would never
            fall.
        horizon_days: The horizon, in days.
    """
    if not isinstance(law, LogisticLaw) or not len(before):
        return law if isinstance(law, Law) else make_law("constant")
    raw = law.raw(before.items)
    used = (before.reuse_days <= horizon_days).astype(np.float64)
    spread = float(raw.std())
    if spread == 0.0 or used.min() == used.max():
        return law
    # A slight pull to 0 keeps separable data finite.
    intercept, weights = fit_logistic(
        ((raw - raw.mean()) / spread)[:, None], used, ridge=1.0, intercept_ridge=1.0
    )
    slope = float(np.clip(weights[0] / spread, 1e-3, 100.0))
    bound = law.parameters["logistic_midpoint"].high
    midpoint = float(np.clip(raw.mean() - intercept / slope, -bound, bound))
    return make_law(
        law.name,
        **(law.params | {"logistic_midpoint": midpoint, "logistic_slope": slope}),
    )


def fit_logistic(
    features: Floats, hits: Floats, ridge: float, intercept_ridge: float = 1e-6
) -> tuple[float, Floats]:
    """Return (intercept, weights) of a logistic regression by Newton steps.

    It has a ridge on the weights and one on the intercept.

    Args:
        features: Shape (n, k).
        hits: The outcomes, shape (n,), 0 or 1.
        ridge: The ridge on the weights, above 0.
        intercept_ridge: The ridge on the intercept, above 0.

    Raises:
        InvalidInput: The rows do not match the outcomes, or a ridge is not above 0.
    """
    if len(features) != len(hits) or not len(hits) or not ridge > 0:
        got = f"got {len(features)} rows, {len(hits)} outcomes and ridge {ridge!r}"
        raise InvalidInput(
            f"{got}; allowed is one outcome a row, one or more, and a ridge above 0"
        )
    design = np.column_stack([np.ones(len(features)), features])
    penalty = np.r_[intercept_ridge, np.full(features.shape[1], ridge)]
    weights = np.zeros(design.shape[1])
    for _ in range(NEWTON_STEPS):
        chance = 0.5 * (1.0 + np.tanh(0.5 * (design @ weights)))
        slope = design.T @ (hits - chance) - penalty * weights
        curvature = (design * (chance * (1.0 - chance))[:, None]).T @ design + np.diag(
            penalty
        )
        step = np.clip(
            np.linalg.solve(curvature, slope), -2.0, 2.0
        )  # a full step can overshoot without end
        weights += step
        if np.abs(step).max() < 1e-9:
            break
    return float(weights[0]), weights[1:]
