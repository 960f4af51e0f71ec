"""What ways to choose a model cost, beside what they bring: scored on queries that every model answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from theorex_lab.config import WORSE_AT
from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.data.datasets import load_local_runs
from theorex_lab.experiments.data.routing_sets import Ints, RoutingSet, Training, load_routing_set
from theorex_lab.experiments.scores import routing as scored
from theorex_lab.experiments.scores.routing import SUCCESS_FROM, BestSingle, Paid, PolicyScore, TaskMatrix
from theorex_lab.experiments.scores.routing_runs import local_routing_set
from theorex_lab.memory.evidence import QUERY_TYPE_PREFIX, EvidenceTable
from theorex_lab.memory.rows import Rows
from theorex_lab.routing.cascade import cascade_of
from theorex_lab.routing.confidence import Cell, cheapest, matrix, near_best

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COST_SETS = ("llmrouter", "routellm", "local_runs")
CHEAPEST, THOMPSON = "cheapest not worse", "Thompson sampling"
FALSE_PASS = FALSE_ALARM = 0.1  # of the noisy check
CHECKS = {"perfect check": (0.0, 0.0), "noisy check": (FALSE_PASS, FALSE_ALARM)}
ANY_TASK = ""
Cells = dict[str, list[Cell]]


@dataclass(frozen=True, eq=False)
class CostScore(Rows[PolicyScore]):
    """The policies of a set. n, n_train: queries of the test and of the training, none of which is in both."""

    row_class = PolicyScore
    dataset: str
    n: int
    n_train: int
    cost_unit: str
    policies: tuple[PolicyScore, ...]

    def _records(self) -> tuple[PolicyScore, ...]:
        return self.policies

    def result(self) -> dict[str, Any]:
        """For JSON."""
        about = {name: getattr(self, name) for name in ("dataset", "n", "n_train", "cost_unit")}
        return {**about, "false_pass": FALSE_PASS, "false_alarm": FALSE_ALARM, "policies": self.to_dict()}

    def plot(self, ax: Axes | None = None) -> Axes:
        """The mean score of each policy against its mean cost, with the 95 % interval of the score."""
        from theorex_lab.experiments.draw.routing_plots import plot_costs

        return plot_costs(self.policies, self.cost_unit, self.dataset, ax=ax)


def score_costs(dataset: str | RoutingSet = "llmrouter", *, level: float = WORSE_AT, seed: int = 0) -> CostScore:
    """What policies bring and cost on the test queries of a set, after the training without the queries that are in both.

    `dataset`: llmrouter, routellm, local_runs (whose cost is latency), or a set. Evidence is pooled by the set's tasks; `level`: at
    which a model counts as worse (see `evidence.not_worse`). Thompson sampling starts from the training and learns on
    from its own answers alone. A cascade's check knows the truth, or errs at the rates FALSE_PASS and FALSE_ALARM; the one without a check
    asks the strong model at once where the cheap one's success on such tasks is below that of the strong one on all tasks. `seed` draws samples,
    errors of the check and the bootstrap. Raises what `load_cost_set` does.
    """
    dataset = load_cost_set(dataset, seed=seed) if isinstance(dataset, str) else dataset
    training, test = dataset.train_without_repeats, dataset.test
    cells = cells_of(training, dataset)
    chosen = {each.name: each.fit(training).choose(test.queries) for each in (BestSingle(), TaskMatrix())}
    cheap = {task: cheapest(near_best(known, level)).model for task, known in cells.items()}
    chosen[CHEAPEST] = _by_task(cheap, dataset)
    chosen[THOMPSON] = thompson(dataset, cells, seed=seed)
    values = scored.taken(dataset, chosen) | cascades(dataset, cells, seed=seed) | scored.bounds_of(dataset)
    rows = scored.policy_scores(values, test.scores.max(axis=1), seed)
    return CostScore(dataset.name, len(test.scores), len(training.scores), dataset.cost_unit, rows)


def load_cost_set(name: str, *, seed: int = 0) -> RoutingSet:
    """A set by its name, one of COST_SETS; raises InvalidInput for another, and what loading a set raises."""
    if name not in COST_SETS:
        raise InvalidInput(f"got the set {name!r}; allowed are {', '.join(COST_SETS)}")
    return local_routing_set(load_local_runs()) if name == "local_runs" else load_routing_set(name, seed=seed)


def cells_of(training: Training, found: RoutingSet) -> Cells:
    """How each model did, by task, and on all of them under ANY_TASK, for tasks that the training does not know."""
    table = EvidenceTable()
    for task, row in zip(training.queries.tasks, (training.scores >= SUCCESS_FROM).tolist(), strict=True):
        for name, success, cost in zip(found.models, row, found.costs.tolist(), strict=True):
            for key in (task, ANY_TASK):
                table.add(QUERY_TYPE_PREFIX + key, name, success, at=0, cost=cost)
    cells: Cells = {}
    for cell in matrix(table.cells(), min_samples=0):
        cells.setdefault(cell.query_type, []).append(cell)
    return cells


def _by_task(models: Mapping[str, str], found: RoutingSet) -> Ints:
    """The number of the model that each test query goes to by its task."""
    names = [models.get(task, models[ANY_TASK]) for task in found.test.queries.tasks]
    return np.array([found.models.index(name) for name in names], np.int64)


def thompson(found: RoutingSet, cells: Cells, *, seed: int = 0) -> Ints:
    """The model for each test query, one after the other, by one draw a model from the Beta distribution of its cell."""
    generator, number = np.random.default_rng(seed), {name: place for place, name in enumerate(found.models)}
    counts = {task: np.ones((2, len(number))) for task in {*cells, *found.test.queries.tasks}}
    for cell in chain(*cells.values()):
        right = cell.success_rate * cell.n
        counts[cell.query_type][:, number[cell.model]] += right, cell.n - right
    chosen = np.zeros(len(found.test.scores), np.int64)
    for place, task in enumerate(found.test.queries.tasks):
        model = chosen[place] = np.argmax(generator.beta(*counts[task]))
        counts[task][int(found.test.scores[place, model] < SUCCESS_FROM), model] += 1.0
    return chosen


def cascades(found: RoutingSet, cells: Cells, *, seed: int = 0) -> dict[str, Paid]:
    """What cascades bring and cost: with a check that knows the truth, with a noisy one, and by expected success alone."""
    noise = np.random.default_rng(seed).random(len(found.test.scores))
    told = {}
    for name, (false_pass, false_alarm) in CHECKS.items():
        pairs = {task: _pair(known, false_pass, false_alarm) for task, known in cells.items()}
        first, then = (_by_task({task: pair[place] for task, pair in pairs.items()}, found) for place in (0, 1))
        (score, cost), (strong, more) = scored.taken(found, {"first": first, "then": then}).values()
        right = score >= SUCCESS_FROM
        asked = (first != then) & (noise < np.where(right, false_alarm, 1.0 - false_pass))
        told[f"cascade, {name}"] = np.where(asked, strong, score), np.where(asked, cost + more, cost)
    overall = {cell.model: cell.success_rate for cell in cells[ANY_TASK]}
    weak, best = _pair(cells[ANY_TASK], 0.0, 0.0)
    rates = {task: {cell.model: cell.success_rate for cell in known}[weak] for task, known in cells.items()}
    sent = _by_task({task: best if rate < overall[best] else weak for task, rate in rates.items()}, found)
    return told | scored.taken(found, {"cascade, expected success": sent})


def _pair(cells: list[Cell], false_pass: float, false_alarm: float) -> tuple[str, str]:
    """Whom a cascade asks first and then; the best model for both where none pays."""
    offered = cascade_of(cells, false_pass=false_pass, false_alarm=false_alarm)
    best = near_best(cells, 0.5)[0].model
    return (offered.first, offered.then) if offered else (best, best)
