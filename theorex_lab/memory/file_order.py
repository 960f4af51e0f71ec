"""Order the files of a project by how soon work will return to them.

A project's work comes in steps: commits, or sessions that edited files. Before each step
every law ranks the files that are known by then, and is scored by the rank of the first
file that the step changes. The law in force is the one that has predicted the past
best; a step is never predicted with anything that came after it.

The start is a power law over steps, which predicted best on the earlier parts of eight
open logs, and never significantly worse than last-touched-first or most-often-first on
the later ones. It is left for another law where that one is better beyond an interval
which is wide enough for all the laws that are compared. So a project with few steps
keeps the start, and a law does not change back and forth.

All laws are weighted sums of decayed counts. An exponential is one of the counts; a
power law age^-d is a sum of exponentials whose half-lives double, each with the weight
half-life^-d.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from theorex_lab.core.clock import MICROSECONDS_PER_DAY
from theorex_lab.core.light_dataclass import dataclass

Floats = NDArray[np.float64]

STEPS = "steps"
DAYS = "days"
HALF_LIVES_IN_STEPS = (
    1.0,
    2.0,
    4.0,
    8.0,
    16.0,
    32.0,
    64.0,
    128.0,
    256.0,
    512.0,
)
HALF_LIVES_IN_DAYS = (
    0.125,
    0.5,
    2.0,
    8.0,
    32.0,
    128.0,
    512.0,
)
_N_STEPS = len(HALF_LIVES_IN_STEPS)
_N_COUNTS = _N_STEPS + len(HALF_LIVES_IN_DAYS) + 1  # the last one never decays

RECENCY = "recency"
FREQUENCY = "frequency"
START_LAW = "power 1 of steps"
FEWEST_STEPS = 30  # that were predicted before another law is taken
MOST_FILES_OF_A_STEP = 20  # a step of more says little of what was needed
MOST_SCORED = 300  # steps, the newest
_STEPS_AT_ONCE = 1 << 12  # that are counted without being predicted
# From one comparison to the next: this share of the steps so far, and no fewer than so
# many.
_SHARE_BETWEEN = 0.1
_FEWEST_BETWEEN = 5
# Standard errors. Of 14 comparisons with a law that is no better, one in twenty finds a
# difference this large by chance (Bonferroni: .05 / 14, two-sided).
_BEYOND = 2.91
_SAME = 1e-9  # relative difference of two scores that are equal


class WorkStep(NamedTuple):
    """A commit, or a session that edited files.

    Attributes:
        at: When it was (µs UTC).
        changed: The files that it changed or edited.
        removed: The files that it removed.
    """

    at: int
    changed: frozenset[str]
    removed: frozenset[str] = frozenset()


def _single(position: int) -> Floats:
    """Return the weights of one decayed count alone."""
    weights = np.zeros(_N_COUNTS)
    weights[position] = 1.0
    return weights


def _power(clock: str, exponent: float) -> Floats:
    """Return the weights that make a power law of the ages in steps or days."""
    weights = np.zeros(_N_COUNTS)
    if clock == STEPS:
        of_steps = np.power(HALF_LIVES_IN_STEPS, -exponent)
        weights[:_N_STEPS] = of_steps
    else:
        of_days = np.power(HALF_LIVES_IN_DAYS, -exponent)
        weights[_N_STEPS:-1] = of_days
    return weights


_FITTED_STEPS = (
    2.0,
    8.0,
    32.0,
)
_FITTED_DAYS = (
    0.5,
    2.0,
    8.0,
    32.0,
)
_POWERS_OF_STEPS = (
    0.75,
    1.0,
    1.25,
)
_POWERS_OF_DAYS = (
    0.5,
    0.75,
    1.0,
)


def _file_laws() -> dict[str, Floats]:
    """Return the weights of each law; those of recency are zeros."""
    laws: dict[str, Floats] = {}
    laws[RECENCY] = np.zeros(_N_COUNTS)
    laws[FREQUENCY] = _single(-1)
    for half_life in _FITTED_STEPS:
        position = HALF_LIVES_IN_STEPS.index(half_life)
        name = f"half-life {half_life:g} steps"
        laws[name] = _single(position)
    for half_life in _FITTED_DAYS:
        position = HALF_LIVES_IN_DAYS.index(half_life)
        name = f"half-life {half_life:g} days"
        laws[name] = _single(_N_STEPS + position)
    for exponent in _POWERS_OF_STEPS:
        name = f"power {exponent:g} of steps"
        laws[name] = _power(STEPS, exponent)
    for exponent in _POWERS_OF_DAYS:
        name = f"power {exponent:g} of days"
        laws[name] = _power(DAYS, exponent)
    return laws


_WEIGHTS_OF = _file_laws()
FILE_LAWS = tuple(_WEIGHTS_OF)
_WEIGHTS = np.stack(list(_WEIGHTS_OF.values()), axis=1)
_RECENCY_COLUMN = FILE_LAWS.index(RECENCY)
_START_COLUMN = FILE_LAWS.index(START_LAW)
# Halvings, as negative numbers.
_PER_STEP = -1.0 / np.array(HALF_LIVES_IN_STEPS)
_PER_DAY = -1.0 / np.array(HALF_LIVES_IN_DAYS)


@dataclass(frozen=True)
class FileOrder:
    """The files of a project, those that work will probably return to first.

    Attributes:
        law: The law that orders them, one of FILE_LAWS.
        paths: The files that are there, best first.
        n_steps: The commits or sessions that it rests on.
        n_scored: How many of them were predicted.
        mrr: By law, the mean of 1 / rank of the first file that each of these changed.
        n_changes: How often the law in force was replaced by another.
    """

    law: str = START_LAW
    paths: tuple[str, ...] = ()
    n_steps: int = 0
    n_scored: int = 0
    mrr: Mapping[str, float] = field(default_factory=dict)
    n_changes: int = 0

    @property
    def position_of(self) -> dict[str, int]:
        """The position of each file, from 0 on."""
        return {path: position for position, path in enumerate(self.paths)}

    def in_words(self, unit: str) -> str:
        """Return the law, on what it rests, and how well it predicts.

        Args:
            unit: What a step is, in the plural: "sessions" or "commits".
        """
        text = f"{self.law} (a step is one of {self.n_steps:,} {unit})"
        if not self.n_scored:
            return f"{text}; nothing was predicted yet"
        figures = [f"MRR {self.mrr[self.law]:.3f} on the last {self.n_scored:,} {unit}"]
        for law in (RECENCY, FREQUENCY):
            if law != self.law:
                figures.append(f"{law} {self.mrr[law]:.3f}")
        if self.n_scored < FEWEST_STEPS:
            figures.append(f"other laws are tried from {FEWEST_STEPS} on")
        return f"{text}; {', '.join(figures)}"


def order_of_files(
    steps: Iterable[WorkStep],
    now: int | None = None,
    *,
    most_scored: int = MOST_SCORED,
) -> FileOrder:
    """Return the files of a project, those that work will probably return to first.

    Equal ones are ordered by how often and how late they were changed, then by path.

    Args:
        steps: The project's commits or sessions, with the present names of the files;
            those of one time in their order.
        now: The time (µs UTC); the last step by default.
        most_scored: How many steps are predicted, the newest; with 0 the law is that
            of the start.

    >>> steps = [WorkStep(n, frozenset({"a.py" if n % 3 else "b.py"})) for n in range(9)]
    >>> order_of_files(steps).paths
    ('a.py', 'b.py')
    """
    walk = FileWalk(steps, most_scored=most_scored)
    walk.finish()
    return walk.order(now)


class _FileTable(NamedTuple):
    """What every law makes of some files.

    Attributes:
        numbers: The files, ascending.
        scores: Shape (files, laws).
        standing: How files of equal scores are ordered, the first lowest.
    """

    numbers: NDArray[np.int64]
    scores: Floats
    standing: Floats

    def ranks(
        self,
        scores: Floats,
        standing: Floats | float,
    ) -> Floats:
        """Return by law the rank of a file with these scores and this standing."""
        slack = _SAME * np.abs(scores)
        distance = np.abs(self.scores - scores)
        is_same = distance <= slack
        stands_before = self.standing[:, None] < standing
        is_higher = self.scores > scores + slack
        is_ahead = is_higher | (is_same & stands_before)
        n_ahead = np.count_nonzero(is_ahead, axis=0)
        ranks: Floats = 1.0 + n_ahead
        return ranks


def _time_of(step: WorkStep) -> int:
    return step.at


class FileWalk:
    """Goes through a project's steps, and predicts each from those before it.

    Args:
        steps: The project's commits or sessions.
        most_scored: How many steps are predicted, the newest.
    """

    def __init__(
        self, steps: Iterable[WorkStep], *, most_scored: int = MOST_SCORED
    ) -> None:
        self.steps = sorted(steps, key=_time_of)
        names: set[str] = set()
        for step in self.steps:
            names |= step.changed
            names |= step.removed
        self.names = sorted(names)
        self._number_of: dict[str, int] = {}
        for number, name in enumerate(self.names):
            self._number_of[name] = number
        n_files = len(self.names)
        n_steps = len(self.steps)
        self._counts = np.zeros((n_files, _N_COUNTS))
        # The step that changed a file last.
        self._last = np.full(n_files, -1.0)
        self._is_there = np.zeros(n_files, np.bool_)
        self._next = 0
        self._at = 0
        if self.steps:
            self._at = self.steps[0].at
        self._first_scored = n_steps - most_scored
        # 1 / rank of each law, by predicted step.
        self._scores: list[Floats] = []
        self._compared_at = FEWEST_STEPS
        self._law = _START_COLUMN
        self.n_changes = 0

    @property
    def law(self) -> str:
        """The law in force."""
        return FILE_LAWS[self._law]

    def go_to(self, position: int) -> None:
        """Go on to before the step at a position."""
        first = min(self._first_scored, position)
        if self._next < first:
            self._skip_to(first)
        while self._next < position:
            self._take_next()

    def finish(self) -> None:
        """Go through all steps."""
        self.go_to(len(self.steps))

    def scores(
        self,
        law: str,
        at: int,
    ) -> Floats:
        """Return what a law makes of each name; -inf where the file is not there.

        Args:
            law: One of FILE_LAWS.
            at: The time (µs UTC).
        """
        column = FILE_LAWS.index(law)
        scores = self._last
        if column != _RECENCY_COLUMN:
            counts = self._counts_at(at)
            scores = counts @ _WEIGHTS[:, column]
        return np.where(
            self._is_there,
            scores,
            -math.inf,
        )

    def order(self, now: int | None = None) -> FileOrder:
        """Return the files in the order of the law in force."""
        at = self._at
        if now is not None:
            at = now
        scores = self.scores(self.law, at)
        # Scores that differ by rounding alone are the same.
        mantissas, exponents = np.frexp(scores)
        rounded_mantissas = np.round(mantissas, 9)
        rounded = np.ldexp(rounded_mantissas, exponents)
        # The last key is the one that counts first.
        best_first = np.lexsort(
            (
                -self._last,
                -self._counts[:, -1],
                -rounded,
            )
        )
        paths: list[str] = []
        for number in best_first.tolist():
            if self._is_there[number]:
                paths.append(self.names[number])
        return FileOrder(
            law=self.law,
            paths=tuple(paths),
            n_steps=self._next,
            n_scored=len(self._scores),
            mrr=self._mean_scores(),
            n_changes=self.n_changes,
        )

    def _mean_scores(self) -> dict[str, float]:
        """Return the mean reciprocal rank of each law; nothing before a prediction."""
        if not self._scores:
            return {}
        means = np.mean(self._scores, axis=0)
        by_law: dict[str, float] = {}
        for column, law in enumerate(FILE_LAWS):
            by_law[law] = float(means[column])
        return by_law

    def _counts_at(self, at: int) -> Floats:
        """Return the decayed counts before the next step, if it is at a time."""
        elapsed = at - self._at
        left = self._left(1, elapsed)
        return self._counts * left

    @staticmethod
    def _left(n_steps: ArrayLike, microseconds: ArrayLike) -> Floats:
        """Return what is left of each count after so many steps and so much time.

        Args:
            n_steps: A number, or shape (n,).
            microseconds: A number, or shape (n,); a negative one counts as 0.

        Returns:
            Shape (counts,) of numbers, (n, counts) of arrays.
        """
        past = np.maximum(microseconds, 0)
        days = past / MICROSECONDS_PER_DAY
        in_steps = np.multiply.outer(n_steps, _PER_STEP)
        in_days = np.multiply.outer(days, _PER_DAY)
        never = np.zeros_like(in_days[..., :1])
        halvings = np.concatenate(
            [
                in_steps,
                in_days,
                never,
            ],
            axis=-1,
        )
        left = np.exp2(halvings)
        return np.asarray(left)

    def _skip_to(self, until: int) -> None:
        """Count the steps before a position, and predict none of them."""
        last_step = self.steps[until - 1]
        n_steps = until - self._next
        elapsed = last_step.at - self._at
        self._counts *= self._left(n_steps, elapsed)
        while self._next < until:
            self._count_on(min(until, self._next + _STEPS_AT_ONCE), until)

    def _count_on(self, stop: int, until: int) -> None:
        """Count the steps before a position, as they count before a later one.

        Args:
            stop: The position.
            until: The later one.
        """
        last_step = self.steps[until - 1]
        numbers: list[int] = []
        steps_ago: list[int] = []
        ages: list[int] = []
        while self._next < stop:
            step = self.steps[self._next]
            age = last_step.at - step.at
            for number in self._note(step):
                numbers.append(number)
                steps_ago.append(until - self._next)
                ages.append(age)
        added = self._left(
            np.array(steps_ago, np.int64),
            np.array(ages, np.int64),
        )
        np.add.at(
            self._counts,
            np.array(numbers, np.int64),
            added,
        )

    def _take_next(self) -> None:
        """Predict the next step, then count it."""
        step = self.steps[self._next]
        elapsed = step.at - self._at
        self._counts *= self._left(1, elapsed)
        self._predict(step)
        changed = self._note(step)
        self._counts[changed] += 1.0

    def _note(self, step: WorkStep) -> list[int]:
        """Note what the next step changes and removes; return the changed files."""
        changed = self._numbers(step.changed)
        removed = self._numbers(step.removed)
        self._is_there[removed] = False
        self._is_there[changed] = True
        self._last[changed] = self._next
        self._at = step.at
        self._next += 1
        return changed

    def _numbers(self, names: Iterable[str]) -> list[int]:
        return [self._number_of[name] for name in names]

    def _predict(self, step: WorkStep) -> None:
        """Score every law by the first file of a step that was there before it."""
        touched = step.changed | step.removed
        needed: list[int] = []
        for number in self._numbers(touched):
            if self._is_there[number]:
                needed.append(number)
        is_sweeping = len(touched) > MOST_FILES_OF_A_STEP
        if is_sweeping or not needed:
            return
        if len(self._scores) >= self._compared_at:
            self._compare()
        ranks = self._first_ranks(needed)
        self._scores.append(1.0 / ranks)

    def _first_ranks(self, needed: Sequence[int]) -> Floats:
        """Return by law the rank of the first of some files, from 1 on."""
        table = self._table(self._counts)
        positions = np.searchsorted(table.numbers, needed)
        needed_scores = table.scores[positions]
        best = needed_scores.max(axis=0)
        slack = _SAME * np.abs(best)
        is_best = needed_scores >= best - slack
        standing = table.standing[positions, None]
        of_best = np.where(
            is_best,
            standing,
            math.inf,
        )
        first = of_best.min(axis=0)
        return table.ranks(best, first)

    def ranks_of(self, files: Iterable[str], at: int) -> Floats:
        """Return the ranks that files have before the next step, from 1 on.

        Args:
            files: The files; those that are not there are left out.
            at: When the next step is (µs UTC).

        Returns:
            Shape (files, laws), the laws as in FILE_LAWS.
        """
        counts = self._counts_at(at)
        table = self._table(counts)
        ranks: list[Floats] = []
        for number in self._numbers(files):
            if not self._is_there[number]:
                continue
            row = np.searchsorted(table.numbers, number)
            of_file = table.ranks(
                table.scores[row],
                table.standing[row],
            )
            ranks.append(of_file)
        n_laws = len(FILE_LAWS)
        return np.array(ranks).reshape(-1, n_laws)

    def _table(self, counts: Floats) -> _FileTable:
        """Return what every law makes of the files that are there."""
        numbers = np.flatnonzero(self._is_there)
        scores = counts[numbers] @ _WEIGHTS
        scores[:, _RECENCY_COLUMN] = self._last[numbers]
        standing = np.empty(len(numbers))
        by_use = np.lexsort(
            (
                -self._last[numbers],
                -counts[numbers, -1],
            )
        )
        standing[by_use] = np.arange(len(numbers))
        return _FileTable(
            numbers,
            scores,
            standing,
        )

    def _compare(self) -> None:
        """Take the law that predicted best, where it is better beyond its interval."""
        n_scored = len(self._scores)
        between = max(_FEWEST_BETWEEN, int(_SHARE_BETWEEN * n_scored))
        self._compared_at = n_scored + between
        recent = np.array(self._scores[-MOST_SCORED:])
        means = recent.mean(axis=0)
        best = int(means.argmax())
        gains = recent[:, best] - recent[:, self._law]
        spread = float(gains.std(ddof=1))
        standard_error = spread / math.sqrt(len(gains))
        needed_gain = _BEYOND * standard_error
        if gains.mean() > needed_gain:
            self._law = best
            self.n_changes += 1


def ranked_like(order: Sequence[str], worth: Mapping[str, float]) -> dict[str, float]:
    """Return the same amounts of worth, the largest for the file that is first.

    Args:
        order: Files, best first.
        worth: What each file is worth; those that the order lacks come last.

    >>> ranked_like(["b", "a"], {"a": 3.0, "b": 1.0})
    {'b': 3.0, 'a': 1.0}
    """
    ordered = [path for path in order if path in worth]
    named = set(ordered)
    ordered += sorted(path for path in worth if path not in named)
    amounts = sorted(worth.values(), reverse=True)
    return dict(zip(ordered, amounts, strict=True))
