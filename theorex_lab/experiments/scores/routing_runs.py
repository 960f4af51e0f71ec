"""Runs of models to look at: those of a home, and of the packaged recording."""

import math
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
import pandas as pd

from theorex_lab.clock import to_microseconds
from theorex_lab.config import WORSE_AT, ModelSettings, ModelTier, Settings
from theorex_lab.experiments.data.datasets import LocalRuns, load_local_runs, prompts
from theorex_lab.experiments.data.routing_sets import TEST_SHARE, Queries, RoutingSet, Training
from theorex_lab.experiments.scores.routing import SUCCESS_FROM, models_of
from theorex_lab.lab import DEFAULT_HOME, Lab
from theorex_lab.memory.evidence import QUERY_TYPE_PREFIX, EvidenceTable, counted_type
from theorex_lab.memory.outcome_lookup import outcome_lookup
from theorex_lab.routing.confidence import QUERY_TYPES, MatrixResult, best, matrix
from theorex_lab.routing.heuristic import classify

COLUMNS = ("query_type", "model", "success", "at", "latency_ms")
HOME_VARIABLE = "THEOREX_HOME"
# Of one small model and a set of rules none is large; the sizes stand for what a call takes.
LOCAL_SIZES: dict[str, ModelTier] = {"rules": "small", "smollm2-135m greedy": "medium", "smollm2-135m sampled": "large"}


class MatrixSettings(NamedTuple):
    """How a matrix is made: weight of success (0 to 1; the rest is speed), runs that make a cell usable, half-life of
    evidence (None: it never ages), and the chance of error at which a model counts as worse than the best."""

    success_weight: float = 1.0
    min_samples: int = 5
    half_life_days: float | None = None
    worse_at: float = WORSE_AT

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Those that a home's settings hold."""
        made = settings.matrix_success_weight, settings.matrix_min_samples, settings.matrix_half_life_days
        return cls(*made, settings.worse_at)


@dataclass(frozen=True, eq=False)
class Runs:
    """Runs of models, and the settings that route among them.

    frame     a row a run: columns query_type, model, success, at (µs UTC), latency_ms (NaN where none was measured)
    settings  the models with their sizes, the roles, how the matrix is made
    now       µs UTC, the time at which evidence is looked at
    """

    frame: pd.DataFrame
    settings: Settings
    now: int

    @cached_property
    def evidence(self) -> EvidenceTable:
        """The runs summed by query type and model."""
        table, columns = EvidenceTable(), (self.frame[name].tolist() for name in COLUMNS)
        for query_type, model, success, at, latency_ms in zip(*columns, strict=True):
            table.add(QUERY_TYPE_PREFIX + query_type, model, bool(success), at=at, latency_ms=latency_ms)
        return table

    def matrix(self, chosen: MatrixSettings | None = None) -> MatrixResult:
        """The confidence matrix under these settings (None: the home's own). Raises InvalidInput as `matrix` does."""
        weight, min_samples, half_life_days, _ = chosen or MatrixSettings.of(self.settings)
        cells = self.evidence.cells(QUERY_TYPE_PREFIX, now=self.now, half_life_days=half_life_days)
        return matrix(cells, min_samples=min_samples, success_weight=weight)

    def choices(self, chosen: MatrixSettings | None = None) -> dict[str, str | None]:
        """The model that the matrix picks for each type that was asked; None where it leaves it to the heuristic.

        >>> local_runs().choices(MatrixSettings(success_weight=1.0))["general"]
        'smollm2-135m greedy'
        """
        made = chosen or MatrixSettings.of(self.settings)
        cells, how = self.matrix(made), {"success_weight": made.success_weight, "level": made.worse_at}
        kinds, models = query_types(self.frame["query_type"]), self.settings.models
        found = {kind: best(cells, kind, models, **how) for kind in kinds}
        return {kind: cell.model if cell else None for kind, cell in found.items()}


def query_types(names: Iterable[str]) -> list[str]:
    """The types among these names, in the order in which they are told apart, unknown ones last."""
    order = {name: place for place, name in enumerate(QUERY_TYPES)}
    return sorted(set(names), key=lambda name: (order.get(name, len(order)), name))


def local_runs(recorded: LocalRuns | None = None) -> Runs:
    """The packaged recording (or another) as runs, one after the other from its date on.

    The recording states no time a run; these follow from the latencies, since runs were made one at a time.
    """
    found = recorded or load_local_runs()
    frame = found.frame
    latencies = frame["latency_ms"].astype(float)
    elapsed = (latencies.fillna(0.0).cumsum() * 1_000).astype(np.int64)
    frame = frame.assign(at=to_microseconds(found.header["date"]) + elapsed, latency_ms=latencies)
    models = {name: ModelSettings(tier=LOCAL_SIZES.get(name, "medium")) for name in found.header["solvers"]}
    return Runs(frame[list(COLUMNS)], Settings(models=models, roles=[]), int(frame["at"].max()))


def set_runs(found: RoutingSet) -> Runs:
    """The training of a public set as runs of every model, each a success from the score that the router asks for.

    Types are those that the router tells from the words of a query; the sets state neither times nor latencies.
    """
    kinds = [classify(text).query_type for text in found.train.queries.texts]
    scores = found.train.scores
    asked, models = np.repeat(kinds, scores.shape[1]), np.tile(found.models, len(scores))
    rows = zip(asked, models, scores.ravel() >= SUCCESS_FROM, repeat(0), repeat(math.nan))
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    return Runs(frame, Settings(models=models_of(found.models, found.sizes), roles=[]), 0)


def home_runs(home: str | Path) -> Runs:
    """Every attempt of every call that a home's journal holds and that got an answer, with the home's settings.

    Lost calls are left out.

    An answer that an outcome later calls wrong is no success, as in the home's own matrix.
    """
    with Lab(home) as lab:
        counts_as_good, rows = outcome_lookup(lab.journal), []
        for event in lab.journal.tail(0, kinds=("trace_ended",)):
            for run in () if event.body["lost"] else event.body["attempts"]:
                if not run.get("unavailable"):
                    kind, good = counted_type(event.body["query_type"]), run["success"] and counts_as_good(event)
                    rows.append((kind, run["model"], good, event.at, run["latency_ms"]))
        frame = pd.DataFrame(rows, columns=list(COLUMNS)).astype({"latency_ms": float, "success": bool})
        return Runs(frame, lab.settings, lab.clock.now())


def run_sources(home: str | Path | None = None) -> dict[str, Callable[[], Runs]]:
    """The runs at hand by name, the recording read when it is called: your home's, where it has any, and the recording.

    `home`: default $THEOREX_HOME, else ~/.theorex; none is made. Raises what opening a home raises.

    >>> list(run_sources("/nowhere"))
    ['recorded local runs']
    """
    where = Path(home or os.environ.get(HOME_VARIABLE) or DEFAULT_HOME).expanduser()
    found: dict[str, Callable[[], Runs]] = {}
    if (where / "theorex.db").exists() and len((own := home_runs(where)).frame):
        found[f"your home: {where}"] = lambda: own
    return found | {"recorded local runs": local_runs}


def local_routing_set(recorded: LocalRuns, *, seed: int = 0) -> RoutingSet:
    """The recording in the form of the public sets: tasks split in halves, success as score, mean latency as cost."""
    tasks = recorded.frame.astype({"success": float, "latency_ms": float}).groupby(["task_id", "model"])
    scores, latencies = (tasks[column].mean().unstack() for column in ("success", "latency_ms"))
    kinds, costs = recorded.frame.groupby("task_id")["query_type"].first(), latencies.mean().to_numpy()
    order = np.random.default_rng(seed).permutation(len(scores))
    parts = np.split(order, [round(len(order) * TEST_SHARE)])
    asked = Queries([prompts()[task] for task in scores.index], [kinds[task] for task in scores.index])
    test, train = (Training(asked, scores.to_numpy()).take(rows) for rows in parts)
    sizes, licence = costs.argsort().argsort().astype(np.float64), str(recorded.header["licence"])
    return RoutingSet("recorded local runs", tuple(scores.columns), costs, "ms, mean", sizes, train, test, {}, licence)
