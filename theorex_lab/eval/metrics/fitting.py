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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.core.errors import InvalidInput, TheorexError
from theorex_lab.designs.sessions.settings import SessionSettings
from theorex_lab.eval.metrics.access_log import (
    AccessLog,
    LogReplay,
    Snapshots,
    score_snapshots,
    split,
)
from theorex_lab.eval.replay.kept_calls import KeptCall, SharedCalls
from theorex_lab.eval.replay.trial_files import (
    NOT_KEPT,
    LogReference,
    file_key,
    memory_code,
    package_code,
)
from theorex_lab.memory import decay
from theorex_lab.memory.decay import Floats, Law, LogisticLaw, make_law
from theorex_lab.memory.intervals import bootstrap_means
from theorex_lab.memory.rows import Rows

Order = Law | Callable[[Snapshots], Floats]

# Of equal ones the first, which forgets least.
FILE_POWERS = {
    "power_0.25": 0.25,
    "power": 0.5,
    "power_0.75": 0.75,
    "power_1": 1.0,
}
PRESENT = next(
    name for name, power in FILE_POWERS.items() if power == SessionSettings().age_power
)
# over a month nearly everything in a busy log is used again, and nothing would ever
# fade
REUSE_DAYS = 7.0
CALIBRATION_EVENTS = 60
SIMPLE_LAWS = ("recency", "frequency")
SINGLE_LAWS = (*SIMPLE_LAWS, "weighted_sum")
CONSTANT = "constant"
CANDIDATES = (*FILE_POWERS, *SINGLE_LAWS, CONSTANT, "product")
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
    ci_low: float
    ci_high: float
    recall_at_10: float


@dataclass(frozen=True)
class Fit(Rows[dict[str, Any]]):
    """The law chosen on the training events, and a row a law with its score.

    The scores are on the events after them, best MRR first. The columns of a row are
    law, mrr, ci_low, ci_high, recall_at_10 and chosen.

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
            files (mean, ci_low, ci_high).
        horizon_days: Where the law is logistic, its importance is the chance of use
            within this time.
        simple_gains: By recency and frequency, how much more its MRR is than that of
            the law to adopt; for a log of files, than that of `files` (mean, ci_low,
            ci_high).
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
    simple_gains: dict[str, dict[str, float]] = field(default_factory=dict)

    def _records(self) -> Sequence[dict[str, Any]]:
        best_first = sorted(self.scores.items(), key=lambda pair: -pair[1].mrr)
        records: list[dict[str, Any]] = []
        for law, law_score in best_first:
            is_chosen = law == self.chosen
            records.append(
                {
                    "law": law,
                    **asdict(law_score),
                    "chosen": is_chosen,
                }
            )
        return records

    def __repr__(self) -> str:
        best = self.scores[self.chosen]
        figures = (
            f"MRR {best.mrr:.3f} [{best.ci_low:.3f}, {best.ci_high:.3f}], recall@10"
            f" {best.recall_at_10:.3f}"
        )
        return (
            f"Fit({self.chosen}: {figures}; {self.n_train} events trained on,"
            f" {self.n_scored} scored)"
        )


class LawTrial(NamedTuple):
    """How a law ranks the events of a log.

    Attributes:
        name: Its name among the scores.
        params: Its parameters.
        n_train: The events trained on.
        training: Reciprocal ranks of the later two thirds of these; none for a law of
            one's own, which is not chosen.
        ranks: Reciprocal ranks of the scored events.
        recalls: Their recall@10.
    """

    name: str
    params: dict[str, float]
    n_train: int
    training: list[float]
    ranks: list[float]
    recalls: list[float]


def try_laws(
    source: AccessLog | LogReference,
    names: Sequence[str] = CANDIDATES,
    laws: Sequence[Law] = (),
) -> list[LawTrial]:
    """Return how some laws rank the events of a log.

    Args:
        source: The log, or where it is.
        names: Of CANDIDATES those that are tried.
        laws: Laws of one's own, which are tried too.

    Raises:
        InvalidInput: The log is too short (see `split`), or a law has the name of a
            candidate.
    """
    log = source.read() if isinstance(source, LogReference) else source
    training_events, scored_events = split(log)
    replayed = LogReplay(log)
    training = replayed.snapshots(training_events, foremost=True)
    candidates = _candidates(training, names)
    orders = {name: order for name, (order, _) in candidates.items()}
    _add_laws(orders, laws)
    ranks, recalls = _ranks(_in_turn(replayed, scored_events), orders)
    trials = []
    for column, (name, order) in enumerate(orders.items()):
        training_ranks = candidates[name][1].tolist() if name in candidates else []
        trial = LawTrial(
            name=name,
            params=dict(order.params) if isinstance(order, Law) else {},
            n_train=len(training),
            training=training_ranks,
            ranks=ranks[:, column].tolist(),
            recalls=recalls[:, column].tolist(),
        )
        trials.append(trial)
    return trials


def _trials(
    source: AccessLog | LogReference, laws: Sequence[Law], shared: SharedCalls
) -> list[LawTrial]:
    """Return the trials of all laws; without those that no worker survived."""
    if isinstance(source, AccessLog):
        return try_laws(source, laws=laws)
    _add_laws(dict.fromkeys(CANDIDATES, _first_seen), laws)
    calls = []
    for name in CANDIDATES:
        calls.append(_kept_call(source, name, None, shared))
    for law in laws:
        calls.append(_kept_call(source, law.name, law, shared))
    trials = list[LawTrial]()
    for of_call in shared.results(calls, what="laws", progress=False):
        trials += of_call or ()
    return trials


def _kept_call(
    source: LogReference, name: str, law: Law | None, shared: SharedCalls
) -> KeptCall:
    """Return the call that tries one law, with the name of its file."""
    arguments = (source, [name], []) if law is None else (source, [], [law])
    call = KeptCall(f"the law {name}", try_laws, arguments, list[LawTrial])
    if shared.files is None:
        return call
    code = package_code() if law is None else memory_code(type(law))
    if code is None:
        shared.files.add_problem(f"{name} runs again each time: {NOT_KEPT}")
        return call
    params = "" if law is None else repr(sorted(law.params.items()))
    key = file_key(source.content, "law", name, code, params)
    return call._replace(key=key, folder=str(shared.files.folder))


def fit(
    log: AccessLog,
    seed: int = 0,
    laws: Sequence[Law] = (),
    *,
    source: LogReference | None = None,
    shared: SharedCalls | None = None,
) -> Fit:
    """Choose the law that ranks a log's next accesses best; score every law.

    Candidates are compared on the later two thirds of the training events. Scores are
    of the log's last third.

    Args:
        log: What was used when.
        seed: Draws the bootstrap.
        laws: Laws of one's own. They are scored as they are, and not chosen: a home's
            config.json knows the others alone.
        source: Where other processes read the log; None to try all laws in this one.
        shared: Who tries the laws then.

    Raises:
        InvalidInput: The log is too short (see `split`), or a law has the name of a
            candidate.
        TheorexError: No worker survived any of the candidates.
    """
    training_events, scored_events = split(log)
    training_days = float(np.ptp(log.days(training_events)))
    horizon = min(REUSE_DAYS, training_days / 10)
    calibration = _calibration_events(log, training_events, scored_events[0], horizon)
    whole = LogReplay(log).snapshots(calibration)
    trials = _trials(source or log, laws, shared or SharedCalls())
    candidates = _candidates_of(trials)
    chosen_name = _choose(candidates)
    adopted = _choose(_without_constant(candidates))
    law = _with_logistic(candidates[adopted][0], whole, horizon)
    names = [trial.name for trial in trials]
    ranks = np.array([trial.ranks for trial in trials]).T.copy()
    recalls = np.array([trial.recalls for trial in trials]).T.copy()
    files = _age_power(candidates)
    best = files if log.of_files else adopted
    gains_over_best = _gains(
        names,
        ranks,
        seed,
        over=best,
    )
    return Fit(
        chosen=chosen_name,
        law=law.name,
        params=law.params,
        scores=_law_scores(names, ranks, recalls, seed),
        n_train=trials[0].n_train,
        n_scored=len(scored_events),
        horizon_days=horizon,
        days=float(np.ptp(log.time)) / MICROSECONDS_PER_DAY,
        files=files,
        gains=_gains(names, ranks, seed, over=PRESENT),
        simple_gains=_of_simple_laws(gains_over_best),
    )


def _without_constant(
    candidates: Mapping[str, tuple[Order, Floats]],
) -> dict[str, tuple[Order, Floats]]:
    """Return the candidates that can be adopted."""
    adoptable = dict(candidates)
    adoptable.pop(CONSTANT, None)
    return adoptable


def _of_simple_laws(
    gains: Mapping[str, dict[str, float]],
) -> dict[str, dict[str, float]]:
    """Return the gains of recency and frequency, where they were tried."""
    return {name: gains[name] for name in SIMPLE_LAWS if name in gains}


def _candidates_of(trials: Iterable[LawTrial]) -> dict[str, tuple[Order, Floats]]:
    """Return the candidates that were tried, as `_candidates` does.

    Raises:
        TheorexError: There is none.
    """
    candidates: dict[str, tuple[Order, Floats]] = {}
    for trial in trials:
        if trial.name not in CANDIDATES:
            continue
        order: Order = _first_seen
        if trial.name != CONSTANT:
            law_name = "power" if trial.name in FILE_POWERS else trial.name
            order = make_law(law_name, **trial.params)
        candidates[trial.name] = (order, np.array(trial.training))
    if not candidates.keys() - {CONSTANT}:
        raise TheorexError(
            "got no law that was tried: every process died; give them more memory, or"
            " run without workers"
        )
    return candidates


def _add_laws(orders: dict[str, Order], laws: Sequence[Law]) -> None:
    """Add laws of one's own to the candidates.

    Raises:
        InvalidInput: A law has the name of another.
    """
    for law in laws:
        if law.name in orders:
            raise InvalidInput(
                f"got a law named {law.name!r}; allowed is a name other than"
                f" {', '.join(orders)}"
            )
        orders[law.name] = law


def _gains(
    names: Sequence[str],
    ranks: Floats,
    seed: int,
    *,
    over: str,
) -> dict[str, dict[str, float]]:
    """Return how much more each law's MRR is than that of one of them.

    Args:
        names: The laws.
        ranks: Reciprocal ranks, shape (events, laws).
        seed: Draws the intervals.
        over: The law that the others are compared with.
    """
    if over not in names:
        return {}
    column = names.index(over)
    advantages = ranks - ranks[:, [column]]
    intervals = bootstrap_means(advantages, seed=seed)
    gains = {}
    for name, interval in zip(names, intervals, strict=True):
        gains[name] = asdict(interval)
    return gains


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
    horizon_ends = log.days(training_events) + horizon_days
    ended = training_events[horizon_ends < scored_from]
    later: NDArray[np.int64] = ended[len(ended) // 2 :]
    if not len(later):
        return later
    positions = np.linspace(0, len(later) - 1, CALIBRATION_EVENTS)
    rows = np.unique(positions.astype(np.int64))
    calibration: NDArray[np.int64] = later[rows]
    return calibration


def _in_turn(replaying: LogReplay, events: NDArray[np.int64]) -> Iterator[Snapshots]:
    """Yield snapshots before these events, a few at a time.

    All of them would take half a gigabyte of a big log.
    """
    n_items = max(len(replaying.log.items), 1)
    n_at_once = max(1, ROWS_AT_ONCE // n_items)
    for start in range(0, len(events), n_at_once):
        chunk = events[start : start + n_at_once]
        yield replaying.snapshots(chunk)


def _ranks(
    parts: Iterable[Snapshots], laws: Mapping[str, Order]
) -> tuple[Floats, Floats]:
    """Return reciprocal ranks and recall@10 of each event, (n, laws) each."""
    scores = []
    for part in parts:
        if not len(part):
            continue
        part_scores = []
        for law in laws.values():
            raw = raw_of(law, part)
            part_scores.append(score_snapshots(part, raw))
        scores.append(part_scores)
    if not scores:
        raise InvalidInput("got no events to score; allowed is one or more")
    # Shape (laws, 2, events), turned into (2, events, laws).
    stacked = np.concatenate(scores, axis=2)
    ranks, recalls = np.ascontiguousarray(
        stacked.transpose(
            1,
            2,
            0,
        )
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
        scores[name] = LawScore(
            mrr.mean,
            mrr.ci_low,
            mrr.ci_high,
            recall,
        )
    return scores


def _candidates(
    training: Snapshots, names: Iterable[str]
) -> dict[str, tuple[Order, Floats]]:
    """Return each candidate's order, and its reciprocal ranks on the later two thirds.

    Orders are fitted on all training events.
    """
    later = training.part(len(training) // 3, len(training))

    def validated(order: Order) -> tuple[Order, Floats]:
        raw = raw_of(order, later)
        reciprocal_ranks, _ = score_snapshots(later, raw)
        return order, reciprocal_ranks

    candidates = {}
    for name in names:
        if name in FILE_POWERS:
            law = make_law("power", exponent=FILE_POWERS[name])
            candidates[name] = validated(law)
        elif name == CONSTANT:
            candidates[name] = validated(_first_seen)
        elif name in SINGLE_LAWS:
            candidates[name] = validated(make_law(name))
        else:
            by_half_life = [
                validated(make_law(name, half_life_days=days))
                for days in decay.PRODUCT_HALF_LIVES_DAYS
            ]
            candidates[name] = max(by_half_life, key=_mean_rank)
    return candidates


def _mean_rank(candidate: tuple[Order, Floats]) -> float:
    """Return the mean reciprocal rank of a candidate."""
    _, reciprocal_ranks = candidate
    return float(reciprocal_ranks.mean())


def _first_seen(snapshots: Snapshots) -> Floats:
    """Return the order of first appearance.

    It is what a memory that knows nothing of use would show.
    """
    return -snapshots.id.astype(np.float64)


def raw_of(order: Order, snapshots: Snapshots) -> Floats:
    """Return what a law, or an order that is not one, makes of snapshots' rows."""
    if isinstance(order, Law):
        return order.raw(snapshots.items)
    return order(snapshots)


def _choose(candidates: Mapping[str, tuple[Order, Floats]]) -> str:
    """Return the candidate that ranks best."""
    return max(candidates, key=lambda name: _mean_rank(candidates[name]))


def _age_power(candidates: Mapping[str, tuple[Order, Floats]]) -> str:
    """Return the order of files that ranks best, if beyond noise, else the present."""
    powers = [name for name in FILE_POWERS if name in candidates]
    if PRESENT not in powers:
        return PRESENT
    best = max(powers, key=lambda name: _mean_rank(candidates[name]))
    _, best_ranks = candidates[best]
    _, present_ranks = candidates[PRESENT]
    if _beyond_noise(best_ranks - present_ranks):
        return best
    return PRESENT


def _beyond_noise(gain: Floats) -> bool:
    """Return whether a gain is large beside its standard error, over enough events."""
    if len(gain) < MIN_EVENTS_FOR_CHANGE:
        return False
    standard_error = gain.std() / math.sqrt(len(gain))
    return bool(gain.mean() > GAIN_IN_STANDARD_ERRORS * standard_error)


def _with_logistic(
    law: Order,
    before: Snapshots,
    horizon_days: float,
) -> Law:
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
    standardized = (raw - raw.mean()) / spread
    # A slight pull to 0 keeps separable data finite.
    intercept, weights = fit_logistic(
        standardized[:, None],
        used,
        ridge=1.0,
        intercept_ridge=1.0,
    )
    slope = float(
        np.clip(
            weights[0] / spread,
            1e-3,
            100.0,
        )
    )
    bound = law.parameters["logistic_midpoint"].high
    midpoint = float(
        np.clip(
            raw.mean() - intercept / slope,
            -bound,
            bound,
        )
    )
    params = {
        **law.params,
        "logistic_midpoint": midpoint,
        "logistic_slope": slope,
    }
    return make_law(law.name, **params)


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
        log_odds = design @ weights
        chance = 0.5 * (1.0 + np.tanh(0.5 * log_odds))
        slope = design.T @ (hits - chance) - penalty * weights
        variance = chance * (1.0 - chance)
        information = (design * variance[:, None]).T @ design
        curvature = information + np.diag(penalty)
        full_step = np.linalg.solve(curvature, slope)
        # A full step can overshoot without end.
        step = np.clip(full_step, -2.0, 2.0)
        weights += step
        if np.abs(step).max() < 1e-9:
            break
    return float(weights[0]), weights[1:]
