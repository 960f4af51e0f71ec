"""Compare memories: the same logs are replayed to designs and baselines.

They are asked the same questions.

>>> from theorex_lab.memory.contract import Item
>>> from theorex_lab.eval.adapters.protocol import EvalLog, EvalQuery
>>> from theorex_lab.journal.event import new_event
>>> said = new_event(
...     "prompt",
...     {"text": "The port is 8080", "source": "user", "project": ""},
...     agent="main",
...     at=1,
... )
>>> log = EvalLog(
...     "tiny", [said], [EvalQuery(2, "which port?", frozenset({said.id}), ("8080",))]
... )
>>> compared = compare([log], ["nothing", "bm25"], budgets=(150,))
>>> compared.value("bm25", "retrieve", 150, "evidence_recall").value
1.0
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from pydantic import TypeAdapter

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.files import told, write_atomically, writing
from theorex_lab.core.progress import bar
from theorex_lab.core.readable import short_repr
from theorex_lab.eval.adapters.protocol import EvalLog
from theorex_lab.eval.metrics.comparison_jobs import (
    LOST,
    Job,
    NeedsRow,
    Sources,
    TrialJob,
    adapter_of,
    finished_jobs,
    result_of,
)
from theorex_lab.eval.replay.baselines import Memory, names_of
from theorex_lab.eval.replay.kept_calls import log_folder
from theorex_lab.eval.replay.trial_files import TrialFolder
from theorex_lab.eval.replay.trials import (
    INJECT,
    LOWER_IS_BETTER,
    NEITHER,
    RETRIEVE,
    Plan,
    Trial,
)
from theorex_lab.files.isolated.limits import unpacked
from theorex_lab.memory.rows import table_html, table_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes


BETTER = "better"
WORSE = "worse"
OPEN = "not enough evidence"
RESAMPLES = 1_000
_FEW_LOGS = 5  # below, sessions and probes are resampled; from here on, logs
# below, nothing is said of which is better: five that all say the same are the fewest
# that tell
_FEW_PAIRS = 5

Cell = tuple[str, str, int, str]  # design, mode, budget, score


class MeanInterval(NamedTuple):
    """A mean with its 95 % bootstrap interval, over `n` sessions or probes.

    NaN without any.
    """

    value: float
    ci_low: float
    ci_high: float
    n: int = 0


class ScoreDifference(NamedTuple):
    """How much more a design scored than another, and what that says.

    Both are scored on the same sessions and probes.
    """

    value: float
    ci_low: float
    ci_high: float
    n: int
    verdict: str


def compare(
    logs: Iterable[EvalLog],
    designs: Sequence[Memory] | Mapping[str, Memory],
    *,
    budgets: Sequence[int] = (150, 500, 2_000, 8_000),
    every_days: float = 1.0,
    seed: int = 0,
    timeout: float | None = None,
    executor: Executor | None = None,
    workers: int = 1,
    out: str | Path | None = None,
    progress: bool | None = None,
) -> Comparison:
    """Replay each log to each design, and score what it gives.

    It is asked at every session's start and at every probe. Where readers wrote down
    what the sessions of a log needed to know, the systems of `eval.replay.needs_systems`
    are scored by that too: the briefing, each published design by itself, and baselines.

    Args:
        logs: The logs, as `load_logs` gives them. One after the other is taken, and let
            go where it is written to a file.
        designs: Names of designs and baselines, `module:Name` of classes of one's own,
            objects `Design`, or functions that make a `MemoryDesign`; in a mapping, under
            the names that they are to have.
        budgets: The budgets of a context, in tokens.
        every_days: The days between two maintenances.
        seed: Draws the intervals.
        timeout: The seconds that a call may take; a design that takes longer gives
            nothing from there on. None is any time.
        executor: Any of `concurrent.futures`, Dask's too. References to logs and names
            go to processes, not a `Design` with functions of its own.
        workers: How many processes share the work, where no executor is given. A job
            whose process dies is tried twice more, by itself, and then told as a
            problem of its trial.
        out: A folder in which every trial is kept as it ends. A trial that is there for
            the same log, memory, code and plan is not run again.
        progress: Whether there is a bar (None: in a terminal or notebook).

    Returns:
        The scores of every design. Its `frame` has a row for each log, design, mode,
        budget and score.

    Raises:
        InvalidInput: An argument is outside its range, or a design is unknown. It is
            raised before anything is run.
    """
    memories = names_of(designs)
    plan = _plan(budgets, every_days, seed, timeout)
    is_shared = executor is not None or workers > 1
    files = None if out is None else TrialFolder(Path(out))
    with log_folder(files.folder if files else None, are_shared=is_shared) as folder:
        jobs = Sources(logs, folder).jobs(memories, plan, files)
        return _compared(jobs, plan, executor, workers, files, progress)


def _compared(
    jobs: Sequence[Job],
    plan: Plan,
    executor: Executor | None,
    workers: int,
    files: TrialFolder | None,
    progress: bool | None,
) -> Comparison:
    """Run the jobs that are not done yet, and return the comparison of all."""
    results = _of_earlier_runs(jobs, files)
    left = [job for job in jobs if id(job) not in results]
    progress_bar = bar(len(left), unit="trials", what="compare", progress=progress)
    with closing(progress_bar):
        for done in finished_jobs(left, executor=executor, workers=workers):
            results[id(done.job)] = result_of(done)
            progress_bar.update(1)
    trials: list[Trial] = []
    needs: list[NeedsRow] = []
    for job in jobs:
        if isinstance(job, TrialJob):
            trials.append(results[id(job)])
        else:
            needs += results[id(job)]
    return Comparison(
        tuple(trials),
        plan,
        tuple(needs),
        n_taken_over=len(jobs) - len(left),
        file_problems=tuple(files.problems) if files else (),
    )


def _of_earlier_runs(jobs: Sequence[Job], files: TrialFolder | None) -> dict[int, Any]:
    """Return what is kept of earlier runs, by the identity of the job."""
    results: dict[int, Any] = {}
    if files is None:
        return results
    for job in jobs:
        result = files.read(job.key, adapter_of(job)) if job.key else None
        if result is not None:
            results[id(job)] = result
    return results


def _plan(
    budgets: Sequence[int],
    every_days: float,
    seed: int,
    timeout: float | None,
) -> Plan:
    """Return the plan of a comparison.

    Raises:
        InvalidInput: The plan cannot be followed.
    """
    are_valid = all(isinstance(tokens, int) and tokens >= 1 for tokens in budgets)
    if not budgets or not are_valid:
        raise InvalidInput(
            f"got the budgets {budgets!r}; allowed are whole numbers of tokens from 1"
        )
    if not (every_days > 0 and math.isfinite(every_days)):
        raise InvalidInput(
            f"got every_days {every_days!r}; allowed is a number above 0"
        )
    return Plan(tuple(budgets), every_days, timeout, seed)


@dataclass(frozen=True, eq=False)
class Comparison:
    """What designs were worth on logs.

    `.frame` has a row for each log, design, mode, budget and score.

    Attributes:
        trials: How each design did on each log.
        plan: How they were tried.
        needs: How much of what sessions needed to know systems cover, of the logs of
            which that is known.
        n_taken_over: How many trials and scores of needs were finished by an earlier
            run.
        file_problems: What was wrong with files of an earlier run.
    """

    trials: tuple[Trial, ...]
    plan: Plan
    needs: tuple[NeedsRow, ...] = ()
    n_taken_over: int = 0
    file_problems: tuple[str, ...] = ()

    def __repr__(self) -> str:
        n_designs = f"{len(self.designs)} designs"
        return short_repr(self, n_designs, f"{len(self.logs)} logs")

    def __str__(self) -> str:
        """Return the scores of each design as a table."""
        return f"{self!r}\n{table_text(self._shown())}"

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{table_html(self._shown())}"

    def _shown(self) -> pd.DataFrame:
        """Return a row a design, mode and budget, with a column a score."""
        rows: dict[tuple[str, str, int], dict[str, Any]] = {}
        for design, mode, budget, score in self.cells:
            names = {"design": design, "mode": mode, "budget": budget}
            row = rows.setdefault((design, mode, budget), names)
            row[score] = self.value(design, mode, budget, score).value
        return pd.DataFrame(list(rows.values()))

    @property
    def logs(self) -> list[str]:
        """Return the names of the logs."""
        return list(dict.fromkeys(trial.log for trial in self.trials))

    @property
    def designs(self) -> list[str]:
        """Return the names of the designs."""
        return list(dict.fromkeys(trial.design for trial in self.trials))

    @property
    def datasets(self) -> list[str]:
        """Return the data sets that the logs are of: their names up to a slash."""
        return list(dict.fromkeys(log.partition("/")[0] for log in self.logs))

    @cached_property
    def _values(self) -> dict[Cell, dict[str, dict[str, float]]]:
        """Return what was scored, by cell, log and unit; NaN is left out."""
        values: dict[Cell, dict[str, dict[str, float]]] = {}
        for trial in self.trials:
            for answer in trial.given:
                for score, value in answer.scores.items():
                    if not math.isnan(value):
                        cell = values.setdefault(
                            (trial.design, answer.mode, answer.budget, score), {}
                        )
                        cell.setdefault(trial.log, {})[answer.unit] = value
        return values

    @property
    def cells(self) -> list[Cell]:
        """Return what was scored, as (design, mode, budget, score)."""
        return list(self._values)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """Return columns log, design, mode, budget, score, value, ci_low, ci_high, n."""
        rows: list[tuple[Any, ...]] = []
        for cell, logs in self._values.items():
            rows += [
                (log, *cell, *self._interval([list(units.values())]))
                for log, units in logs.items()
            ]
        return pd.DataFrame(
            rows,
            columns=[
                "log",
                "design",
                "mode",
                "budget",
                "score",
                "value",
                "ci_low",
                "ci_high",
                "n",
            ],
        )

    @property
    def lost(self) -> list[Trial]:
        """Return the trials that no worker survived, of which nothing was scored."""
        lost: list[Trial] = []
        for trial in self.trials:
            first_problem = next(iter(trial.problems), "")
            if first_problem.startswith(LOST):
                lost.append(trial)
        return lost

    @property
    def needs_frame(self) -> pd.DataFrame:
        """Return columns log, system, column, value, ci_low, ci_high, n.

        There is a row for each of `eval.replay.needs.NEEDS_COLUMNS`.
        """
        return pd.DataFrame(self.needs, columns=list(NeedsRow._fields))

    @property
    def costs(self) -> pd.DataFrame:
        """Return what each design cost on each log.

        The columns are log, design, cpu_seconds (of all calls), bytes (at the end; NaN
        where it does not tell), and problems.
        """
        rows = []
        for trial in self.trials:
            spent = sum(trial.cpu_seconds.values())
            size = trial.sizes[-1][1] if trial.sizes else math.nan
            rows.append(
                (trial.log, trial.design, spent, size, sum(trial.problems.values()))
            )
        return pd.DataFrame(
            rows, columns=["log", "design", "cpu_seconds", "bytes", "problems"]
        )

    @property
    def survivors(self) -> pd.DataFrame:
        """Return the share of questions that are still answered after quiet time.

        It is the share of a sample of questions for which some evidence still came
        back after maintenances without events. A row is a design, with its mean over
        the logs; a column is a number of maintenances, 0 first.
        """
        rows: list[dict[str | int, Any]] = []
        for trial in self.trials:
            row: dict[str | int, Any] = {"design": trial.design}
            for n_runs, share in trial.survivors.items():
                row[int(n_runs)] = share
            rows.append(row)
        by_design = pd.DataFrame(rows).groupby("design", sort=False)
        return by_design.mean()

    def of(self, dataset: str) -> Comparison:
        """Return what was compared on the logs of one data set.

        Their names are its own or begin with it and a slash.

        Args:
            dataset: The name of the data set.
        """
        if dataset not in self._by_dataset:
            self._by_dataset[dataset] = Comparison(
                tuple(trial for trial in self.trials if _is_of(trial.log, dataset)),
                self.plan,
                tuple(row for row in self.needs if _is_of(row.log, dataset)),
            )
        return self._by_dataset[dataset]

    @cached_property
    def _by_dataset(self) -> dict[str, Comparison]:
        """Return what `of` was asked for: a table asks for a data set again and again."""
        return {}

    def value(
        self,
        design: str,
        mode: str,
        budget: int,
        score: str,
    ) -> MeanInterval:
        """Return a design's score over all logs; `mode` is inject or retrieve.

        NaN where nothing of the kind was asked.

        Args:
            design: The name of the design or baseline.
            mode: inject or retrieve.
            budget: The budget of the context (tokens).
            score: The name of the score.
        """
        logs = self._values.get((design, mode, budget, score), {})
        return self._interval([list(units.values()) for units in logs.values()])

    def difference(
        self,
        design: str,
        baseline: str,
        *,
        mode: str,
        budget: int,
        score: str,
    ) -> ScoreDifference:
        """Return how much more `design` scored than `baseline`.

        Both are paired by session and probe.

        Args:
            design: The name of the design.
            baseline: The name of the other.
            mode: inject or retrieve.
            budget: The budget of a context, in tokens.
            score: The name of the score.
        """
        ours, theirs = (
            self._values.get((name, mode, budget, score), {})
            for name in (design, baseline)
        )
        both = [(units, theirs[log]) for log, units in ours.items() if log in theirs]
        pairs = [
            [value - other[unit] for unit, value in units.items() if unit in other]
            for units, other in both
        ]
        value, ci_low, ci_high, n = self._interval(pairs)
        return ScoreDifference(
            value,
            ci_low,
            ci_high,
            n,
            _verdict(
                ci_low,
                ci_high,
                score,
            )
            if n >= _FEW_PAIRS
            else OPEN,
        )

    def paired(self, baseline: str) -> pd.DataFrame:
        """Return every other design beside one.

        The columns are design, mode, budget, score, value, ci_low, ci_high, n and verdict.

        Raises:
            InvalidInput: The baseline was not compared.
        """
        if baseline not in self.designs:
            raise InvalidInput(
                f"got the baseline {baseline!r}; allowed are {', '.join(self.designs)}"
            )
        rows: list[tuple[Any, ...]] = []
        for design, mode, budget, score in self._values:
            if design == baseline:
                continue
            difference = self.difference(
                design,
                baseline,
                mode=mode,
                budget=budget,
                score=score,
            )
            rows.append((design, mode, budget, score, *difference))
        return pd.DataFrame(
            rows,
            columns=[
                "design",
                "mode",
                "budget",
                "score",
                "value",
                "ci_low",
                "ci_high",
                "n",
                "verdict",
            ],
        )

    def plot(
        self, score: str = "", mode: str = "inject", ax: Axes | None = None
    ) -> Axes:
        """Draw a score against the tokens that were given, a line for each design.

        Args:
            score: The name of the score; '' is `mean`, or `evidence_recall` where no
                session was scored.
            mode: inject or retrieve.
            ax: Where it is drawn; a new figure by default.

        Returns:
            The Axes.
        """
        from theorex_lab.eval.plots.comparison import plot_comparison

        return plot_comparison(self, score=score, mode=mode, ax=ax)

    def to_dict(self, baseline: str = "") -> dict[str, Any]:
        """Return the figures as values for JSON.

        They are needs (log → system → column → value, ci_low, ci_high, n), logs,
        designs (name → budget → mode → score → value, ci_low, ci_high), paired, and trials.

        Args:
            baseline: The name with which the others are compared; '' for none.
        """
        designs: dict[str, Any] = {name: {} for name in self.designs}
        for design, mode, budget, score in self._values:
            by_mode = designs[design].setdefault(
                str(budget), {name: {} for name in (INJECT, RETRIEVE)}
            )
            value, ci_low, ci_high, _ = self.value(
                design,
                mode,
                budget,
                score,
            )
            by_mode[mode][score] = {
                "value": value,
                "ci_low": ci_low,
                "ci_high": ci_high,
            }
        trials = [
            {**trial.to_dict(), "given": len(trial.given)} for trial in self.trials
        ]
        paired = self._paired_dict(baseline) if baseline else {}
        return {
            "needs": self._needs_dict(),
            "logs": self.logs,
            "designs": designs,
            "paired": paired,
            "trials": trials,
        }

    def _needs_dict(self) -> dict[str, Any]:
        """Return `needs` as JSON values: log → system → column → figures."""
        logs: dict[str, Any] = {}
        for row in self.needs:
            systems = logs.setdefault(row.log, {})
            columns = systems.setdefault(row.system, {})
            columns[row.column] = {
                "value": row.value,
                "ci_low": row.ci_low,
                "ci_high": row.ci_high,
                "n": row.n,
            }
        return logs

    def _paired_dict(self, baseline: str) -> dict[str, Any]:
        """Return `paired` as JSON values: design → budget → mode → score → figures."""
        designs: dict[str, Any] = {}
        rows: Iterable[Any] = self.paired(baseline).itertuples(index=False)
        for row in rows:
            by_budget = designs.setdefault(row.design, {})
            by_mode = by_budget.setdefault(str(row.budget), {})
            by_score = by_mode.setdefault(row.mode, {})
            by_score[row.score] = {
                "value": _number_or_none(row.value),
                "ci_low": _number_or_none(row.ci_low),
                "ci_high": _number_or_none(row.ci_high),
                "verdict": row.verdict,
            }
        return {"baseline": baseline, "designs": designs}

    def save(self, path: str | Path) -> None:
        """Write the comparison as one JSON file.

        Args:
            path: The file.

        Raises:
            StorageError: The file cannot be written.
        """
        with writing(path, "give another file"):
            write_atomically(Path(path), TypeAdapter(Comparison).dump_json(self))

    def write_report(self, folder: str | Path, baseline: str) -> None:
        """Write comparison.json, scores.csv and report.html.

        Args:
            folder: An existing folder.
            baseline: The name with which the others are compared.

        Raises:
            StorageError: A file cannot be written.
        """
        from theorex_lab.eval.metrics.comparison_report import report_html

        self.save(Path(folder) / "comparison.json")
        page = report_html(self, baseline)
        texts = {"scores.csv": self.frame.to_csv(index=False), "report.html": page}
        for name, text in texts.items():
            file = Path(folder) / name
            with writing(file, "give another folder"):
                write_atomically(file, text.encode())

    @classmethod
    def load(cls, path: str | Path) -> Comparison:
        """Return the comparison that `save` wrote, or gzip made of that.

        Args:
            path: The file.

        Raises:
            InvalidInput: The file holds no comparison.
            StorageError: There is no such file.
        """
        with told(f"cannot read {path}", "give the file of a comparison"):
            data = Path(path).read_bytes()
        try:
            if str(path).endswith(".gz"):
                data = unpacked(io.BytesIO(data)).read()
            return TypeAdapter(cls).validate_json(data)
        except (ValueError, OSError, EOFError) as error:
            raise InvalidInput(
                f"{path} holds no comparison ({error}); give one that `compare --out` wrote"
            ) from error

    def _interval(self, by_log: Sequence[Sequence[float]]) -> MeanInterval:
        """Return the mean of all values with its interval.

        From five logs on, logs are drawn; below that, values within each.
        """
        if not (values := [np.asarray(log, float) for log in by_log if len(log)]):
            return MeanInterval(math.nan, math.nan, math.nan)
        rng = np.random.default_rng(self.plan.seed)
        n = sum(map(len, values))
        if len(values) >= _FEW_LOGS:
            sums = np.array([log.sum() for log in values])
            counts = np.array([len(log) for log in values])
            draws = rng.integers(
                0,
                len(values),
                (RESAMPLES, len(values)),
            )
            means = sums[draws].sum(1) / counts[draws].sum(1)
        else:
            means = (
                np.sum(
                    [
                        log[rng.integers(0, len(log), (RESAMPLES, len(log)))].sum(1)
                        for log in values
                    ],
                    axis=0,
                )
                / n
            )
        ci_low, ci_high = np.percentile(means, [2.5, 97.5])
        return MeanInterval(
            float(sum(log.sum() for log in values) / n),
            float(ci_low),
            float(ci_high),
            n,
        )


def _is_of(log: str, dataset: str) -> bool:
    """Return whether a log is of a data set: its name up to a slash."""
    return log.partition("/")[0] == dataset


def _number_or_none(value: float) -> float | None:
    """Return a number as JSON holds it: None for NaN."""
    return None if math.isnan(value) else float(value)


def _verdict(
    ci_low: float,
    ci_high: float,
    score: str,
) -> str:
    """Return what the interval of a difference says of which is better."""
    is_distinct = ci_low > 0 or ci_high < 0
    if score in NEITHER or not is_distinct:
        return OPEN
    is_higher = ci_low > 0
    lower_is_better = score in LOWER_IS_BETTER
    return BETTER if is_higher != lower_is_better else WORSE
