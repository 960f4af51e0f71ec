"""Score what ways to choose a model cost, beside what they bring.

They are scored on queries that every model answered.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from theorex_lab.core.clock import to_microseconds
from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.settings import (
    ROUTE_CONFIDENCE,
    ROUTE_MARGIN,
    ModelSettings,
    ModelTier,
    Settings,
)
from theorex_lab.eval.datasets.recorded_runs import LocalRuns, load_local_runs, prompts
from theorex_lab.eval.datasets.routing_sets import (
    ROUTING_SETS,
    TEST_SHARE,
    Ints,
    Queries,
    RoutingSet,
    TrainingScores,
    load_routing_set,
)
from theorex_lab.eval.metrics import routing as scored
from theorex_lab.eval.metrics.routing import Paid, PolicyScore, models_of
from theorex_lab.eval.metrics.routing_policies import (
    SUCCESS_FROM,
    BestSingle,
    TaskMatrix,
    TaskRule,
)
from theorex_lab.memory.evidence import QUERY_TYPE_PREFIX, EvidenceTable, evidence_view
from theorex_lab.memory.rows import Rows
from theorex_lab.routing.cascade import cascade_of
from theorex_lab.routing.confidence import (
    Cell,
    MatrixResult,
    best,
    highest_score,
    matrix,
    query_types,
)
from theorex_lab.routing.heuristic import classify
from theorex_lab.routing.noninferiority import RouteRule
from theorex_lab.store.lab import DEFAULT_HOME, Lab

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COST_SETS = ("llmrouter", "routellm", "simulated_calls", "local_runs")
CHEAPEST = TaskRule.name
THOMPSON = "Thompson sampling"
FALSE_PASS = FALSE_ALARM = 0.1  # of the noisy check
CHECKS = {"perfect check": (0.0, 0.0), "noisy check": (FALSE_PASS, FALSE_ALARM)}
ANY_TASK = ""
Cells = dict[str, list[Cell]]


@dataclass(frozen=True, eq=False)
class CostScore(Rows[PolicyScore]):
    """The policies of a set.

    Attributes:
        n: The number of test queries.
        n_train: The number of training queries; none of them is a test query.
        policies: A row a policy.
        models: A row a model that is asked every query.
    """

    row_class = PolicyScore
    dataset: str
    n: int
    n_train: int
    cost_unit: str
    policies: tuple[PolicyScore, ...]
    models: tuple[PolicyScore, ...] = ()

    def _records(self) -> tuple[PolicyScore, ...]:
        return self.policies

    def __repr__(self) -> str:
        return f"CostScore({self.dataset}, {len(self)} policies, {self.n} queries)"

    def result(self) -> dict[str, Any]:
        """Return the figures as values for JSON."""
        about = {
            name: getattr(self, name)
            for name in ("dataset", "n", "n_train", "cost_unit")
        }
        return {
            **about,
            "false_pass": FALSE_PASS,
            "false_alarm": FALSE_ALARM,
            "policies": self.to_dict(),
        }

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the mean score of each policy against its mean cost.

        The score has its 95 % interval.
        """
        from theorex_lab.eval.plots.routing import plot_costs

        return plot_costs(
            self.policies, self.cost_unit, self.dataset, models=self.models, ax=ax
        )


def score_costs(
    dataset: str | RoutingSet = "llmrouter",
    *,
    rule: RouteRule | None = None,
    seed: int = 0,
) -> CostScore:
    """Return what policies bring and cost on the test queries of a set.

    They learn from the training without the queries that are in both. Evidence is
    pooled by the set's tasks. Thompson sampling starts from the training and learns on
    from its own answers alone. A cascade's check knows the truth, or errs at the rates
    FALSE_PASS and FALSE_ALARM; the one without a check asks the strong model at once
    where the cheap one's success on such tasks is below that of the strong one on all
    tasks.

    Args:
        dataset: llmrouter, routellm, simulated_calls, local_runs (whose cost is
            latency), or a set.
        rule: When a cheaper model is taken; None for the default (see
            `routing.noninferiority`).
        seed: Draws samples, errors of the check and the bootstrap.

    Returns:
        A row a policy with its mean score (0 to 1), the 95 % interval, and its mean
        cost in the set's unit. The same for each model alone, as `models`.

    Raises:
        InvalidInput: The set is unknown, or not the published one.
        StorageError: The set is nowhere and cannot be downloaded.
    """
    dataset = load_cost_set(dataset, seed=seed) if isinstance(dataset, str) else dataset
    training = dataset.train_without_repeats
    test = dataset.test
    cells = cells_of(training, dataset)
    choices = {
        each.name: each.fit(training).choose(test.queries)
        for each in (BestSingle(), TaskMatrix(), TaskRule(dataset.costs, rule))
    }
    choices[THOMPSON] = thompson(dataset, cells, seed=seed)
    values = (
        scored.taken(dataset, choices)
        | cascades(dataset, cells, seed=seed)
        | scored.bounds_of(dataset)
    )
    everywhere = {
        name: np.full(len(test.scores), number, np.int64)
        for number, name in enumerate(dataset.models)
    }
    rows = scored.policy_scores(
        values | scored.taken(dataset, everywhere),
        test.scores.max(axis=1),
        seed,
    )
    return CostScore(
        dataset.name,
        len(test.scores),
        len(training.scores),
        dataset.cost_unit,
        rows[: len(values)],
        rows[len(values) :],
    )


def load_cost_set(name: str, *, seed: int = 0) -> RoutingSet:
    """Return a set by its name: one of ROUTING_SETS, or local_runs.

    Raises:
        InvalidInput: The name is another; whatever else loading a set raises.
    """
    if name not in (*ROUTING_SETS, *COST_SETS):
        raise InvalidInput(f"got the set {name!r}; allowed are {', '.join(COST_SETS)}")
    return (
        local_routing_set(load_local_runs())
        if name == "local_runs"
        else load_routing_set(name, seed=seed)
    )


def cells_of(training: TrainingScores, dataset: RoutingSet) -> Cells:
    """Return how each model did, by task, and on all of them under ANY_TASK.

    The latter is for tasks that the training does not know.
    """
    table = EvidenceTable()
    for task, row in zip(
        training.queries.tasks, (training.scores >= SUCCESS_FROM).tolist(), strict=True
    ):
        for name, success, cost in zip(
            dataset.models, row, dataset.costs.tolist(), strict=True
        ):
            for key in (task, ANY_TASK):
                table.add(
                    QUERY_TYPE_PREFIX + key,
                    name,
                    success,
                    at=0,
                    cost=cost,
                )
    cells: Cells = {}
    for cell in matrix(table.cells(), min_samples=0):
        cells.setdefault(cell.query_type, []).append(cell)
    return cells


def _by_task(models: Mapping[str, str], dataset: RoutingSet) -> Ints:
    """Return the number of the model that each test query goes to by its task."""
    names = [models.get(task, models[ANY_TASK]) for task in dataset.test.queries.tasks]
    return np.array([dataset.models.index(name) for name in names], np.int64)


def thompson(
    dataset: RoutingSet,
    cells: Cells,
    *,
    seed: int = 0,
) -> Ints:
    """Return the model for each test query, one after the other.

    It is chosen by one draw a model from the Beta distribution of its cell.
    """
    generator = np.random.default_rng(seed)
    number = {name: index for index, name in enumerate(dataset.models)}
    counts = {
        task: np.ones((2, len(number)))
        for task in {*cells, *dataset.test.queries.tasks}
    }
    for cell in chain(*cells.values()):
        n_right = cell.success_rate * cell.n
        counts[cell.query_type][:, number[cell.model]] += n_right, cell.n - n_right
    choices = np.zeros(len(dataset.test.scores), np.int64)
    for index, task in enumerate(dataset.test.queries.tasks):
        model = choices[index] = np.argmax(generator.beta(*counts[task]))
        counts[task][int(dataset.test.scores[index, model] < SUCCESS_FROM), model] += (
            1.0
        )
    return choices


def cascades(
    dataset: RoutingSet,
    cells: Cells,
    *,
    seed: int = 0,
) -> dict[str, Paid]:
    """Return what cascades bring and cost.

    They work with a check that knows the truth, with a noisy one, and by expected
    success alone.
    """
    noise = np.random.default_rng(seed).random(len(dataset.test.scores))
    paid = {}
    for name, (false_pass, false_alarm) in CHECKS.items():
        first_models: dict[str, str] = {}
        second_models: dict[str, str] = {}
        for task, task_cells in cells.items():
            first_model, second_model = _pair(task_cells, false_pass, false_alarm)
            first_models[task] = first_model
            second_models[task] = second_model
        first = _by_task(first_models, dataset)
        second = _by_task(second_models, dataset)
        taken = scored.taken(dataset, {"first": first, "then": second})
        score, cost = taken["first"]
        strong, extra_cost = taken["then"]
        # The check refuses a wrong answer unless it passes it falsely.
        is_right = score >= SUCCESS_FROM
        chance_of_refusal = np.where(is_right, false_alarm, 1.0 - false_pass)
        is_escalated = (first != second) & (noise < chance_of_refusal)
        paid[f"cascade, {name}"] = (
            np.where(is_escalated, strong, score),
            np.where(is_escalated, cost + extra_cost, cost),
        )
    choices = _by_expected_success(dataset, cells)
    return paid | scored.taken(dataset, {"cascade, expected success": choices})


def _by_expected_success(dataset: RoutingSet, cells: Cells) -> Ints:
    """Return the model for each test query of a cascade without a check.

    It is the strong one where the cheap one's success on such tasks is below that of
    the strong one on all tasks.
    """
    weak, best = _pair(cells[ANY_TASK], 0.0, 0.0)
    needed_rate = _success_rate(cells[ANY_TASK], best)
    models = {}
    for task, task_cells in cells.items():
        is_below = _success_rate(task_cells, weak) < needed_rate
        models[task] = best if is_below else weak
    return _by_task(models, dataset)


def _success_rate(cells: list[Cell], model: str) -> float:
    """Return the share of successes of a model."""
    rates = {cell.model: cell.success_rate for cell in cells}
    return rates[model]


def _pair(
    cells: list[Cell],
    false_pass: float,
    false_alarm: float,
) -> tuple[str, str]:
    """Return whom a cascade asks first and then.

    It is the best model for both where no cascade pays.
    """
    offered = cascade_of(cells, false_pass=false_pass, false_alarm=false_alarm)
    best = highest_score(cells).model
    return (offered.first, offered.then) if offered else (best, best)


HOME_VARIABLE = "THEOREX_HOME"
# Of one small model and a set of rules none is large; the sizes stand for what a call
# takes.
LOCAL_SIZES: dict[str, ModelTier] = {
    "rules": "small",
    "smollm2-135m greedy": "medium",
    "smollm2-135m sampled": "large",
}


class MatrixSettings(NamedTuple):
    """How a matrix is made.

    Attributes:
        success_weight: The weight of success, 0 to 1; the rest is speed.
        min_samples: The runs that make a cell usable.
        half_life_days: The half-life of evidence (None: it never ages).
        margin: By how much the success of a cheaper model may be lower, 0 to 1.
        confidence: How sure that must be, 0.5 to below 1.
    """

    success_weight: float = 1.0
    min_samples: int = 5
    half_life_days: float | None = None
    margin: float = ROUTE_MARGIN
    confidence: float = ROUTE_CONFIDENCE

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Return the matrix settings of a home."""
        return cls(
            success_weight=settings.matrix_success_weight,
            min_samples=settings.matrix_min_samples,
            half_life_days=settings.matrix_half_life_days,
            margin=settings.route_margin,
            confidence=settings.route_confidence,
        )


@dataclass(frozen=True, eq=False)
class ModelRuns:
    """Runs of models, summed by query type and model.

    Attributes:
        evidence: The sums.
        settings: The settings that route among the models: their sizes, the roles, how
            the matrix is made.
        now: The time at which evidence is looked at, in µs UTC.
    """

    evidence: EvidenceTable
    settings: Settings
    now: int

    @classmethod
    def of(
        cls,
        rows: Iterable[tuple[str, str, bool, int, float]],
        settings: Settings,
        now: int,
        *,
        costs: Mapping[str, float] | None = None,
    ) -> Self:
        """Return the sums of some rows.

        Args:
            rows: The runs, each (query type, model, success, time in µs UTC, latency in
                ms). The latency is NaN where none was measured.
            settings: The settings that route among the models.
            now: The time at which evidence is looked at, in µs UTC.
            costs: What a run costs, by model; None where that is not known.
        """
        costs = costs or {}
        table = EvidenceTable()
        for query_type, model, success, at, latency_ms in rows:
            table.add(
                QUERY_TYPE_PREFIX + query_type,
                model,
                success,
                at=at,
                latency_ms=latency_ms,
                cost=costs.get(model, math.nan),
            )
        return cls(table, settings, now)

    def matrix(self, matrix_settings: MatrixSettings | None = None) -> MatrixResult:
        """Return the confidence matrix under these settings (None: the home's own).

        Args:
            matrix_settings: The settings; None is the home's own.

        Raises:
            InvalidInput: A setting is outside its range.
        """
        in_force = matrix_settings or MatrixSettings.of(self.settings)
        cells = self.evidence.cells(
            QUERY_TYPE_PREFIX, now=self.now, half_life_days=in_force.half_life_days
        )
        return matrix(
            cells,
            min_samples=in_force.min_samples,
            success_weight=in_force.success_weight,
        )

    def choices(
        self, matrix_settings: MatrixSettings | None = None
    ) -> dict[str, str | None]:
        """Return the model that the matrix picks for each type that was asked.

        It is None where the matrix leaves it to the heuristic.

        Args:
            matrix_settings: The settings of the matrix; None is the home's own.

        >>> local_runs().choices(MatrixSettings(success_weight=1.0))["general"]
        'rules'
        """
        in_force = matrix_settings or MatrixSettings.of(self.settings)
        cells = self.matrix(in_force)
        rule = RouteRule(
            margin=in_force.margin,
            confidence=in_force.confidence,
            takes_cheaper=self.settings.route_prefers == "cheapest",
        )
        best_cells = {}
        for kind in query_types(cell.query_type for cell in cells):
            best_cells[kind] = best(
                cells,
                kind,
                self.settings.models,
                success_weight=in_force.success_weight,
                rule=rule,
            )
        return {kind: cell.model if cell else None for kind, cell in best_cells.items()}


def local_runs(recorded: LocalRuns | None = None) -> ModelRuns:
    """Return the packaged recording (or another) as runs.

    They come one after the other, from its date on. The recording states no time a run;
    these follow from the latencies, since runs were made one at a time.
    """
    runs = recorded or load_local_runs()
    latencies = runs.frame["latency_ms"].astype(float)
    times = to_microseconds(runs.header["date"]) + (
        latencies.fillna(0.0).cumsum() * 1_000
    ).astype(np.int64)
    frame = runs.frame.assign(at=times, latency_ms=latencies)
    columns = (
        frame[name].tolist()
        for name in ("query_type", "model", "success", "at", "latency_ms")
    )
    models = {
        name: ModelSettings(tier=LOCAL_SIZES.get(name, "medium"))
        for name in runs.header["solvers"]
    }
    return ModelRuns.of(
        zip(*columns, strict=True), Settings(models=models, roles=[]), int(times.max())
    )


def set_runs(dataset: RoutingSet) -> ModelRuns:
    """Return the training of a public set as runs of every model.

    Each is a success from the score that the router asks for. Types are those that the
    router reads from the words of a query. Costs are those of the set; latencies too,
    where it states them. Times as well: the evidence is looked at as it is at the last of
    them.
    """
    kinds = [classify(text).query_type for text in dataset.train.queries.texts]
    scores = dataset.train.scores
    query_kinds = np.repeat(kinds, scores.shape[1]).tolist()
    models = np.tile(dataset.models, len(scores)).tolist()
    latencies = np.full(scores.shape, math.nan)
    if dataset.train.latency_ms is not None:
        latencies = dataset.train.latency_ms
    times = np.zeros(len(scores), np.int64)
    if dataset.train.at is not None:
        times = dataset.train.at
    rows = zip(
        query_kinds,
        models,
        (scores.ravel() >= SUCCESS_FROM).tolist(),
        np.repeat(times, scores.shape[1]).tolist(),
        latencies.ravel().tolist(),
        strict=True,
    )
    settings = Settings(models=models_of(dataset.models, dataset.sizes), roles=[])
    costs = dict(zip(dataset.models, dataset.costs.tolist(), strict=True))
    return ModelRuns.of(rows, settings, int(times.max()), costs=costs)


def home_runs(home: str | Path) -> ModelRuns:
    """Return every attempt of every call that a home's journal holds.

    Only attempts that got an answer count; they come with the home's settings. Lost
    calls and untrusted ones are left out. An answer that an outcome later calls wrong is
    no success.
    """
    with Lab(home) as lab:
        return ModelRuns(
            lab.views.get(evidence_view(lab.home)).table, lab.settings, lab.clock.now()
        )


def run_sources(home: str | Path | None = None) -> dict[str, Callable[[], ModelRuns]]:
    """Return the runs at hand by name: your home's, if it has any, and the recording.

    The recording is read when it is called. Opening a home may raise.

    Args:
        home: The home; by default $THEOREX_HOME, else ~/.theorex. None is made.

    `home`: default $THEOREX_HOME, else ~/.theorex; none is made. Raises what opening a
    home raises.

    >>> list(run_sources("/nowhere"))
    ['recorded local runs']
    """
    folder = Path(home or os.environ.get(HOME_VARIABLE) or DEFAULT_HOME).expanduser()
    sources: dict[str, Callable[[], ModelRuns]] = {}
    if (folder / "theorex.db").exists() and len((runs := home_runs(folder)).matrix()):
        sources[f"your home: {folder}"] = lambda: runs
    return sources | {"recorded local runs": local_runs}


def local_routing_set(recorded: LocalRuns, *, seed: int = 0) -> RoutingSet:
    """Return the recording in the form of the public sets.

    Tasks are split in halves; success is the score (0 or 1), the mean latency the cost.

    Args:
        recorded: The runs, as `load_local_runs` gives them.
        seed: Splits the tasks.

    Returns:
        The halves as training and test.
    """
    tasks = recorded.frame.astype({"success": float, "latency_ms": float}).groupby(
        ["task_id", "model"]
    )
    scores, latencies = (
        tasks[column].mean().unstack() for column in ("success", "latency_ms")
    )
    kinds = recorded.frame.groupby("task_id")["query_type"].first()
    costs = latencies.mean().to_numpy()
    order = np.random.default_rng(seed).permutation(len(scores))
    parts = np.split(order, [round(len(order) * TEST_SHARE)])
    queries = Queries(
        [prompts()[task] for task in scores.index],
        [kinds[task] for task in scores.index],
    )
    test, train = (
        TrainingScores(queries, scores.to_numpy()).take(rows) for rows in parts
    )
    sizes = costs.argsort().argsort().astype(np.float64)
    licence = str(recorded.header["licence"])
    return RoutingSet(
        "recorded local runs",
        tuple(scores.columns),
        costs,
        "ms, mean",
        sizes,
        train,
        test,
        {},
        licence,
    )
