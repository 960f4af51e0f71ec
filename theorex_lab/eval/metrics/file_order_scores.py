"""Score the order of a project's files by the files that its next steps change.

Every step of the last third, a commit or a session, is predicted from the steps before
it. The order in force is what a briefing would have had then: its law was chosen by
those steps alone. The fixed half-life is the one that did best before the scored steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from theorex_lab.core.errors import InvalidInput
from theorex_lab.eval.adapters.protocol import EvalLog
from theorex_lab.eval.metrics.access_log import AccessLog
from theorex_lab.memory.decay import Floats
from theorex_lab.memory.file_order import (
    FILE_LAWS,
    FREQUENCY,
    MOST_FILES_OF_A_STEP,
    RECENCY,
    FileWalk,
    WorkStep,
)
from theorex_lab.memory.intervals import bootstrap_means
from theorex_lab.memory.rows import Rows

IN_FORCE = "in force"
BEST_HALF_LIFE = "best half-life"
MOST_SCORED_STEPS = 1_500
FEWEST_PREDICTED = 6
_RECALL_AT = 10
_SENTENCE = (
    "briefings order the files by {of.law}: MRR {mrr:.3f} [{ci_low:.3f}, {ci_high:.3f}]"
    " on the last {of.n_scored:,} of {of.n_steps:,} {unit}"
)
_BESIDE = "{law} {mrr:.3f} ({gain:+.3f} [{gain_low:+.3f}, {gain_high:+.3f}])"


@dataclass(frozen=True)
class FileOrderScores(Rows[dict[str, Any]]):
    """How well orders of files predict the last third of a project's steps.

    A row has law, mrr with its 95 % interval (ci_low, ci_high), recall_at_10, and how
    much higher the MRR of the order in force is (gain, gain_low, gain_high; paired).
    The rows are those in force, of recency, frequency and the best half-life, then
    those of the other laws, best first.

    Attributes:
        rows: The rows.
        law: The law in force at the end.
        half_life: The half-life that did best before the scored steps.
        n_steps: All steps.
        n_scored: The scored ones.
    """

    rows: tuple[dict[str, Any], ...]
    law: str
    half_life: str
    n_steps: int
    n_scored: int

    def _records(self) -> Sequence[dict[str, Any]]:
        return self.rows

    def row_of(self, law: str) -> dict[str, Any]:
        """Return the row of a law."""
        return next(row for row in self.rows if row["law"] == law)

    def in_words(self, unit: str) -> str:
        """Return the order in force beside recency and frequency, in a sentence.

        Args:
            unit: What a step is, in the plural.
        """
        mine = self.row_of(IN_FORCE)
        parts = [_SENTENCE.format(**mine, of=self, unit=unit)]
        for law in (RECENCY, FREQUENCY):
            row = self.row_of(law)
            parts.append(_BESIDE.format(**row))
        return "; ".join(parts)

    def __repr__(self) -> str:
        return f"FileOrderScores({self.in_words('steps')})"


def steps_of_access_log(log: AccessLog) -> list[WorkStep]:
    """Return the events of a log of files as steps."""
    bounds = [*log.starts.tolist(), len(log.time)]
    names = [log.items[item] for item in log.item.tolist()]
    removed = log.deleted.tolist()
    times = log.time.tolist()
    steps: list[WorkStep] = []
    for start, end in pairwise(bounds):
        gone: set[str] = set()
        changed: set[str] = set()
        for row in range(start, end):
            if removed[row]:
                gone.add(names[row])
            else:
                changed.add(names[row])
        steps.append(WorkStep(times[start], frozenset(changed), frozenset(gone)))
    return steps


def steps_of_sessions(log: EvalLog) -> list[WorkStep]:
    """Return the sessions of a recorded log that edited files, as steps."""
    began_at: dict[str, int] = {}
    edited: dict[str, set[str]] = {}
    for line in sorted(log.lines, key=lambda line: line.at):
        began_at.setdefault(line.session, line.at)
        if line.edits:
            edited.setdefault(line.session, set()).update(line.edits)
    in_time = sorted(edited, key=lambda session: (began_at[session], session))
    return [WorkStep(began_at[name], frozenset(edited[name])) for name in in_time]


def score_file_order(steps: Iterable[WorkStep], seed: int = 0) -> FileOrderScores:
    """Score the order of files in force, and every law by itself.

    Args:
        steps: The commits or sessions of one project.
        seed: Draws the intervals.

    Raises:
        InvalidInput: Fewer than six steps change a file that was known before.

    >>> steps = [WorkStep(n, frozenset({"a.py" if n % 3 else "b.py"})) for n in range(30)]
    >>> score_file_order(steps).row_of("frequency")["recall_at_10"]
    1.0
    """
    all_steps = list(steps)
    walk = FileWalk(all_steps, most_scored=len(all_steps))
    reciprocals: list[Floats] = []
    recalls: list[Floats] = []
    in_force: list[int] = []
    for position, step in enumerate(walk.steps):
        walk.go_to(position)
        touched = step.changed | step.removed
        if len(touched) > MOST_FILES_OF_A_STEP:
            continue
        ranks = walk.ranks_of(touched, step.at)
        if not len(ranks):
            continue
        reciprocals.append(1.0 / ranks.min(axis=0))
        recalls.append((ranks <= _RECALL_AT).mean(axis=0))
        # It is compared anew just before this step is predicted.
        walk.go_to(position + 1)
        in_force.append(FILE_LAWS.index(walk.law))
    if len(reciprocals) < FEWEST_PREDICTED:
        raise InvalidInput(
            f"got {len(reciprocals)} steps that change a known file; allowed are"
            f" {FEWEST_PREDICTED} and more: use a longer history"
        )
    return _scores(walk, np.array(reciprocals), np.array(recalls), in_force, seed=seed)


def _scores(
    walk: FileWalk,
    reciprocals: Floats,
    recalls: Floats,
    in_force: Sequence[int],
    *,
    seed: int,
) -> FileOrderScores:
    """Return the figures of the last third.

    Args:
        walk: The walk through all steps.
        reciprocals: Reciprocal ranks, shape (steps, laws).
        recalls: Recall at 10, shape (steps, laws).
        in_force: The column of the law in force before each step.
        seed: Draws the intervals.
    """
    n_steps = len(reciprocals)
    n_scored = min(n_steps // 3, MOST_SCORED_STEPS)
    earlier = reciprocals[: n_steps - n_scored].mean(axis=0)
    half_life = _best_half_life(earlier)
    columns = _columns(
        reciprocals,
        in_force,
        half_life,
    )
    recall_columns = _columns(
        recalls,
        in_force,
        half_life,
    )
    scored = [column[-n_scored:] for column in columns.values()]
    later = np.stack(scored, axis=1)
    means = bootstrap_means(later, seed=seed)
    differences = later[:, :1] - later
    gains = bootstrap_means(differences, seed=seed)
    rows: list[dict[str, Any]] = []
    for law, mean, gain in zip(columns, means, gains, strict=True):
        recall = recall_columns[law][-n_scored:]
        row = {
            "law": law,
            "mrr": mean.mean,
            "ci_low": mean.ci_low,
            "ci_high": mean.ci_high,
            "recall_at_10": float(recall.mean()),
            "gain": gain.mean,
            "gain_low": gain.ci_low,
            "gain_high": gain.ci_high,
        }
        rows.append(row)
    return FileOrderScores(
        rows=tuple(sorted(rows, key=_row_order)),
        law=walk.law,
        half_life=half_life,
        n_steps=len(walk.steps),
        n_scored=n_scored,
    )


def _best_half_life(means: Floats) -> str:
    """Return the half-life that did best, of means by law."""
    best = ""
    best_mean = -1.0
    for law, mean in zip(
        FILE_LAWS,
        means.tolist(),
        strict=True,
    ):
        if law.startswith("half-life") and mean > best_mean:
            best = law
            best_mean = mean
    return best


def _columns(
    figures: Floats,
    in_force: Sequence[int],
    half_life: str,
) -> dict[str, Floats]:
    """Return the figures of each step by the name of a row.

    Args:
        figures: Shape (steps, laws).
        in_force: The column of the law in force before each step.
        half_life: The law of the best half-life.
    """
    all_steps = np.arange(len(figures))
    columns = {IN_FORCE: figures[all_steps, in_force]}
    for column, law in enumerate(FILE_LAWS):
        columns[law] = figures[:, column]
    columns[BEST_HALF_LIFE] = columns[half_life]
    return columns


def _row_order(row: dict[str, Any]) -> tuple[int, float]:
    """Return where a row stands: what ships and the baselines first."""
    first = (IN_FORCE, RECENCY, FREQUENCY, BEST_HALF_LIFE)
    law = row["law"]
    position = first.index(law) if law in first else len(first)
    return position, -row["mrr"]
