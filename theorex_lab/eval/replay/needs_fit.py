"""Compare the hand-set weights of a briefing's lines with fitted ones.

A logistic regression is fitted over the lines that briefings at starts of sessions could
have had: a line is a success where it tells a need of the session. One project is left
out at a time, and both the hand-set and the fitted weights are scored there. The fitted
weights only order the lines: the best line of a start gets the weight that was the
highest by hand, the next one the next, so that budgets and least weights mean the same.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.core.errors import InvalidInput
from theorex_lab.eval.datasets.needs_rows import Need, ProjectNeeds
from theorex_lab.eval.metrics.needs import (
    START_COVERED,
    USEFUL,
    ContextTexts,
    is_told,
    mean_interval,
    score_context,
)
from theorex_lab.memory.briefing.candidates import LINE_MARK, Candidate
from theorex_lab.memory.briefing.compose import as_text, start_candidates
from theorex_lab.memory.briefing.selection import choose
from theorex_lab.memory.briefing.session_log import sessions_of

HAND = "hand"
FITTED = "fitted"
RIDGE = 1.0
_NEWTON_STEPS = 25
_LEAST_CHANGE = 1e-8
_LEAST_VARIANCE = 1e-9
_SURE = 1e-3  # weights nearer to 0 or 1 are taken for this far
_BUDGETS = (150, 500, 2_000)
_USEFUL_BUDGET = 500

_Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class SessionStart:
    """A start of a session, with the lines that a briefing could have there.

    Attributes:
        needs: What the session needed to know.
        touched_files: The paths that it reads or edits, in lower case.
        at: When it began (µs UTC).
        candidates: The lines.
    """

    needs: tuple[Need, ...]
    touched_files: frozenset[str]
    at: int
    candidates: tuple[Candidate, ...]


class NeedsFitRow(NamedTuple):
    """How one kind of weights does on a project.

    Attributes:
        project: The project, on which nothing was fitted.
        weights: 'hand' or 'fitted'.
        start_150: The share of the needs known at the start that 150 tokens cover.
        start_500: The same of 500 tokens.
        start_2000: The same of 2,000 tokens.
        useful_500: The share of the bytes within 500 tokens that are of use.
    """

    project: str
    weights: str
    start_150: float
    start_500: float
    start_2000: float
    useful_500: float


def session_starts(project: ProjectNeeds) -> list[SessionStart]:
    """Return the annotated starts of a project, with their candidates.

    Args:
        project: The project, as `load_session_needs` gives it.
    """
    events = project.log.events
    times = [event.at for event in events]
    starts = []
    for row in project.sessions:
        sessions = sessions_of(events[: bisect_left(times, row.start)])
        touched_files = project.touched_files.get(row.session, frozenset())
        candidates = start_candidates(sessions, row.start)
        start = SessionStart(
            tuple(row.needs),
            frozenset(touched_files),
            row.start,
            tuple(candidates),
        )
        starts.append(start)
    return starts


def compare_needs_weights(
    starts_by_project: Mapping[str, Sequence[SessionStart]], *, ridge: float = RIDGE
) -> list[NeedsFitRow]:
    """Return how hand-set and fitted weights do on each project, left out of the fit.

    Args:
        starts_by_project: The starts of each project; two projects or more.
        ridge: How much large coefficients cost, above 0.

    Returns:
        Two rows a project, the hand-set weights first.

    Raises:
        InvalidInput: There are fewer than two projects, or the ridge is not above 0.
    """
    if len(starts_by_project) < 2:
        raise InvalidInput(
            f"got {len(starts_by_project)} projects; allowed are two and more, since one"
            " is left out"
        )
    if not ridge > 0:
        raise InvalidInput(f"got the ridge {ridge}; allowed are numbers above 0")
    rows = []
    for project, starts in starts_by_project.items():
        others: list[SessionStart] = []
        for name, other_starts in starts_by_project.items():
            if name != project:
                others += other_starts
        model = LineModel.fit(others, ridge=ridge)
        rows.append(_row(project, HAND, starts, _as_they_are))
        rows.append(_row(project, FITTED, starts, model.reweighted))
    return rows


@dataclass(frozen=True)
class LineModel:
    """A logistic regression that tells how likely a line tells a need.

    Attributes:
        names: The features that it knows, in order.
        means: The mean of each.
        scales: The standard deviation of each.
        coefficients: The intercept, then one for each.
    """

    names: tuple[str, ...]
    means: _Matrix
    scales: _Matrix
    coefficients: _Matrix

    @classmethod
    def fit(cls, starts: Iterable[SessionStart], *, ridge: float = RIDGE) -> LineModel:
        """Return the model that fits the lines of starts best.

        Args:
            starts: The starts; each counts the same, however many lines it has.
            ridge: How much large coefficients cost.
        """
        rows: list[dict[str, float]] = []
        labels: list[float] = []
        shares: list[float] = []
        for start in starts:
            for candidate in start.candidates:
                rows.append(line_signs(candidate, start.at))
                labels.append(float(_tells_a_need(candidate, start.needs)))
                shares.append(1 / len(start.candidates))
        names = tuple(sorted(set().union(*rows)))
        values = _matrix(rows, names)
        means = values.mean(axis=0) if rows else np.zeros(len(names))
        scales = values.std(axis=0) if rows else np.ones(len(names))
        scales[scales < _LEAST_VARIANCE] = 1.0
        n_starts = max(1.0, sum(shares))
        case_weights = np.asarray(shares) * len(rows) / n_starts
        coefficients = ridge_logistic(
            (values - means) / scales,
            np.asarray(labels),
            case_weights,
            ridge=ridge,
        )
        return cls(
            names,
            means,
            scales,
            coefficients,
        )

    def odds(self, start: SessionStart) -> _Matrix:
        """Return the log odds of each line of a start."""
        rows = [line_signs(candidate, start.at) for candidate in start.candidates]
        values = _matrix(rows, self.names)
        scaled = (values - self.means) / self.scales
        intercept = self.coefficients[0]
        log_odds: _Matrix = intercept + scaled @ self.coefficients[1:]
        return log_odds

    def reweighted(self, start: SessionStart) -> list[Candidate]:
        """Return the lines of a start, with its weights dealt out anew by the odds."""
        weights = [line.weight for line in start.candidates]
        weights.sort(reverse=True)
        log_odds = self.odds(start)
        order = np.argsort(-log_odds, kind="stable")
        lines = list(start.candidates)
        for rank, index in enumerate(order):
            lines[index] = replace(lines[index], weight=weights[rank])
        return lines


def line_signs(candidate: Candidate, now: int) -> dict[str, float]:
    """Return what speaks for a line, as numbers by name.

    Args:
        candidate: The line.
        now: The time of the briefing (µs UTC).
    """
    weight = min(1 - _SURE, max(_SURE, candidate.weight))
    age_days = max(0.0, (now - candidate.at) / MICROSECONDS_PER_DAY)
    n_bytes = len(candidate.text.encode())
    signs = {
        f"section: {candidate.section}": 1.0,
        f"kind: {candidate.kind}": 1.0,
        "weight": math.log(weight / (1 - weight)),
        "age": math.log1p(age_days),
        "length": math.log1p(n_bytes),
        "words": math.log1p(len(candidate.words)),
        "events": math.log1p(len(candidate.events)),
    }
    for name in ("sessions", "recency", "rank", "back"):
        signs[name] = candidate.features.get(name, 0.0)
    return signs


def ridge_logistic(
    values: _Matrix, labels: _Matrix, case_weights: _Matrix, *, ridge: float
) -> _Matrix:
    """Return the intercept and coefficients of a logistic regression.

    They are found by Newton's method. The intercept costs nothing.

    Args:
        values: A row a case, a column a feature.
        labels: 0 or 1 for each case.
        case_weights: How much each case counts.
        ridge: How much the square of a coefficient costs, above 0.
    """
    n_cases, n_features = values.shape
    design = np.hstack([np.ones((n_cases, 1)), values])
    penalty = np.full(n_features + 1, ridge)
    penalty[0] = _LEAST_VARIANCE
    coefficients = np.zeros(n_features + 1)
    for _ in range(_NEWTON_STEPS):
        log_odds = np.clip(design @ coefficients, -30, 30)
        chances = 1 / (1 + np.exp(-log_odds))
        slope = design.T @ (case_weights * (labels - chances))
        slope -= penalty * coefficients
        variances = case_weights * chances * (1 - chances)
        curvature = design.T @ (design * variances[:, None])
        curvature += np.diag(penalty)
        step = np.linalg.solve(curvature, slope)
        coefficients += step
        if np.abs(step).max() < _LEAST_CHANGE:
            break
    return coefficients


def _matrix(rows: Sequence[Mapping[str, float]], names: Sequence[str]) -> _Matrix:
    """Return the features of rows as columns in the order of their names."""
    values = np.zeros((len(rows), len(names)))
    columns = {name: number for number, name in enumerate(names)}
    for number, row in enumerate(rows):
        for name, value in row.items():
            if name in columns:
                values[number, columns[name]] = value
    return values


def _tells_a_need(candidate: Candidate, needs: Iterable[Need]) -> bool:
    """Return whether a line tells something that the session needed."""
    line = f"{LINE_MARK}{candidate.text}"
    return any(is_told(line, need) for need in needs)


def _as_they_are(start: SessionStart) -> list[Candidate]:
    return list(start.candidates)


def _row(
    project: str,
    weights: str,
    starts: Sequence[SessionStart],
    weigh: Callable[[SessionStart], list[Candidate]],
) -> NeedsFitRow:
    """Return how some weights do on the starts of a project."""
    weighed = [(start, weigh(start)) for start in starts]
    covered = []
    for tokens in _BUDGETS:
        figures = _figures(weighed, tokens)
        covered.append(mean_interval(figures).value)
    useful_figures = _figures(weighed, _USEFUL_BUDGET, figure=USEFUL)
    useful = mean_interval(useful_figures).value
    return NeedsFitRow(
        project=project,
        weights=weights,
        start_150=covered[0],
        start_500=covered[1],
        start_2000=covered[2],
        useful_500=useful,
    )


def _figures(
    weighed: Iterable[tuple[SessionStart, list[Candidate]]],
    tokens: int,
    *,
    figure: str = START_COVERED,
) -> Iterator[float]:
    """Yield a figure of the briefing of each start."""
    for start, candidates in weighed:
        text = as_text(choose(candidates, tokens))
        score = score_context(
            ContextTexts(text),
            start.needs,
            tokens,
            touched_files=start.touched_files,
        )
        yield score.figures[figure]
