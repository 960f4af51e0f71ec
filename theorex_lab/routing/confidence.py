"""The confidence matrix: the best model for each type of query.

It says also how far the evidence reaches.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.settings import Settings
from theorex_lab.memory.contract import Home
from theorex_lab.memory.evidence import (
    QUERY_TYPE_PREFIX,
    UNTRUSTED_PREFIX,
    Cells,
    counted_type,
    evidence_view,
)
from theorex_lab.memory.evidence import QUERY_TYPES as QUERY_TYPES
from theorex_lab.memory.intervals import wilson_of_one
from theorex_lab.memory.rows import Rows
from theorex_lab.routing.noninferiority import (
    Differences,
    PooledDifferences,
    RouteRule,
    Scope,
    Verdict,
    choose_model,
    counted_scope,
    pooled,
)

Models = Collection[str] | None
MIN_SAMPLES = 5
SUCCESS_ALONE = 1.0
FULL_CONFIDENCE_SAMPLES = 20
USUAL_TOKENS = 1_000.0  # of a call, where nothing says how many its model takes


class Cell(NamedTuple):
    """How a model did on a type of query.

    Attributes:
        query_type: The type of query.
        model: The name of the model.
        n: Runs, a fraction where evidence is aged.
        success_rate: 0..1.
        ci_low: The lower end of its 95 % Wilson interval.
        ci_high: The upper end of it.
        latency_ms: Mean over the runs that stated it, NaN where none did.
        tokens: As `latency_ms`.
        cost: As `latency_ms`.
        score: 0..1, NaN where the cell is not usable.
        confidence: min(n / 20, 1).
        usable: Whether there are enough runs.
    """

    query_type: str
    model: str
    n: float
    success_rate: float
    ci_low: float
    ci_high: float
    latency_ms: float
    tokens: float
    cost: float
    score: float
    confidence: float
    usable: bool

    @property
    def costs(self) -> tuple[float, float]:
        """Return the cost and the latency, infinity where one is not known."""
        return _known_first(self.cost), _known_first(self.latency_ms)


class CellChoice(NamedTuple):
    """The cell whose model is chosen, and what was shown of it.

    Attributes:
        cell: The cell of the chosen model.
        best: The cell of the model that it was compared with.
        verdict: The comparison.
    """

    cell: Cell
    best: Cell
    verdict: Verdict


class MatrixResult(Rows[Cell]):
    """The cells of a matrix by query type and model.

    It is a sequence of `Cell`, with `frame` and `rows()`.
    """

    row_class = Cell

    def __repr__(self) -> str:
        return (
            f"MatrixResult({len(self)} cells, {sum(cell.usable for cell in self)} of"
            " them usable)"
        )


def matrix_of(
    home: Home,
    *,
    half_life_days: float | None = None,
    min_samples: int | None = None,
    untrusted: bool = False,
) -> MatrixResult:
    """Return the matrix of a home's evidence as it weighs now; see `matrix`.

    Args:
        home: The home whose evidence counts.
        half_life_days: After how long a run counts half, None as the settings say.
        min_samples: From how many runs a cell is usable, None as the settings say.
        untrusted: Take the untrusted evidence instead. No route uses it.
    """
    settings = home.settings
    if half_life_days is None:
        half_life_days = settings.matrix_half_life_days
    if min_samples is None:
        min_samples = settings.matrix_min_samples
    prefix = UNTRUSTED_PREFIX if untrusted else ""
    with home.views.reading(evidence_view(home)) as evidence:
        cells = evidence.table.cells(
            prefix + QUERY_TYPE_PREFIX,
            now=home.clock.now(),
            half_life_days=half_life_days,
        )
    cells = replace(cells, keys=[key.removeprefix(prefix) for key in cells.keys])
    return matrix(
        cells, min_samples=min_samples, success_weight=settings.matrix_success_weight
    )


def matrix(
    cells: Cells,
    *,
    min_samples: float = MIN_SAMPLES,
    success_weight: float = SUCCESS_ALONE,
) -> MatrixResult:
    """Score every cell by its success rate and its speed.

    The score is success_weight · success rate + (1 − success_weight) · (1 − scaled
    latency). Latency is min–max scaled over the usable cells of the same type: 0 for
    the fastest, 1 for the slowest, 0 where they are equal or one. A cell without a
    known latency counts as the slowest. The result is sorted by query type and model.

    Args:
        cells: Evidence; only its keys `query_type/…` count.
        min_samples: From how many runs a cell is usable.
        success_weight: What success weighs in the score, 0..1.

    Raises:
        InvalidInput: For min_samples below 0 or a weight outside 0..1.

    >>> from theorex_lab.memory.evidence import EvidenceTable
    >>> table = EvidenceTable()
    >>> for number in range(10):
    ...     table.add("query_type/code", "careful", number < 9, at=0, latency_ms=2_000)
    ...     table.add("query_type/code", "quick", number < 8, at=0, latency_ms=500)
    >>> [
    ...     (cell.model, round(cell.score, 2))
    ...     for cell in matrix(table.cells(), success_weight=0.6)
    ... ]
    [('careful', 0.54), ('quick', 0.88)]
    """
    if not 0 <= min_samples < math.inf or not 0 <= success_weight <= 1:
        got = f"min_samples {min_samples!r} and success_weight {success_weight!r}"
        raise InvalidInput(f"got {got}; allowed are numbers from 0, and 0 to 1")
    scored = []
    # Plain numbers: there are some dozens of cells, and numpy pays from hundreds on.
    columns = zip(
        cells.keys,
        cells.options,
        cells.n.tolist(),
        cells.successes.tolist(),
        cells.latency_ms.tolist(),
        cells.tokens.tolist(),
        cells.cost.tolist(),
        strict=True,
    )
    for key, model, n, successes, latency_ms, tokens, cost in columns:
        if not key.startswith(QUERY_TYPE_PREFIX):
            continue
        ci_low, ci_high = wilson_of_one(successes, n)
        cell = Cell(
            key.removeprefix(QUERY_TYPE_PREFIX),
            model,
            n,
            successes / n if n else math.nan,
            ci_low,
            ci_high,
            latency_ms,
            tokens,
            cost,
            math.nan,
            confidence_of(n),
            n >= min_samples and n > 0,
        )
        scored.append(cell)
    scored = _scored(scored, success_weight)
    return MatrixResult(sorted(scored, key=lambda cell: cell[:2]))


def _scored(cells: Sequence[Cell], success_weight: float) -> list[Cell]:
    """Return the cells, with a score for each that is usable."""
    latencies_by_type = defaultdict[str, list[float]](list)  # ms
    for cell in cells:
        if cell.usable and not math.isnan(cell.latency_ms):
            latencies_by_type[cell.query_type].append(cell.latency_ms)
    scored = []
    for cell in cells:
        if cell.usable:
            latencies = latencies_by_type[cell.query_type]
            speed = 1.0 - _scaled(cell.latency_ms, latencies)
            score = success_weight * cell.success_rate + (1.0 - success_weight) * speed
            cell = cell._replace(score=score)
        scored.append(cell)
    return scored


def best(
    cells: Iterable[Cell],
    query_type: str,
    allowed_models: Models = None,
    *,
    success_weight: float = SUCCESS_ALONE,
    rule: RouteRule | None = None,
) -> Cell | None:
    """Return the cell of the model for a query type, None without a usable one.

    Where success alone makes the score (`success_weight` 1), it is the cheapest, then
    the quickest, of the models that are shown to be not worse than the best (see
    `routing.noninferiority`). Otherwise it is the highest score; among equals the one
    with more runs, then the first by name. The cells of `general` decide for a query
    type outside the seven.

    Args:
        cells: The cells of all types: those of others say what to expect of a type.
        query_type: The type of the query.
        allowed_models: The models that may win, None for all.
        success_weight: What success weighs in the score.
        rule: When a cheaper model is taken; None for the default.
    """
    all_cells = list(cells)
    usable = usable_cells(all_cells, query_type, allowed_models)
    if not usable:
        return None
    if success_weight < SUCCESS_ALONE:
        return highest_score(usable)
    scopes = scopes_of(all_cells, [cell.model for cell in usable])
    return choose_cell(usable, pooled(scopes), rule or RouteRule()).cell


def usable_cells(
    cells: Iterable[Cell], query_type: str, allowed_models: Models = None
) -> list[Cell]:
    """Return the usable cells of a query type whose models may win."""
    cell_type = counted_type(query_type)
    usable = []
    for cell in cells:
        is_allowed = allowed_models is None or cell.model in allowed_models
        if cell.usable and cell.query_type == cell_type and is_allowed:
            usable.append(cell)
    return usable


def highest_score(cells: Iterable[Cell]) -> Cell:
    """Return the cell with the highest score.

    Among equals it is the one with more runs, then the first by name.
    """
    return min(cells, key=lambda cell: (-cell.score, -cell.n, cell.model))


def scopes_of(cells: Iterable[Cell], models: Sequence[str]) -> dict[str, Scope]:
    """Return how models did on each type of query by the counts of their cells."""
    columns = {model: column for column, model in enumerate(models)}
    counts: dict[str, tuple[list[float], list[float]]] = {}
    for cell in cells:
        column = columns.get(cell.model)
        if column is None or not cell.n:
            continue
        nothing = [0.0] * len(models)
        runs, successes = counts.setdefault(cell.query_type, (nothing, [*nothing]))
        runs[column] += cell.n
        successes[column] += cell.success_rate * cell.n
    scopes = {}
    for query_type, (runs, successes) in counts.items():
        scopes[query_type] = counted_scope(runs, successes)
    return scopes


def choose_cell(
    cells: Sequence[Cell],
    known: PooledDifferences,
    rule: RouteRule,
    differences: Differences | None = None,
) -> CellChoice:
    """Return the cell whose model a rule chooses.

    Args:
        cells: The cells to choose from, all of one type of query, one or more.
        known: How their models, in their order, differ on each type.
        rule: When a cheaper model is taken.
        differences: How they differ on the query, None for what is known of its type.
    """
    if differences is None:
        differences = known.on(cells[0].query_type)
    costs = [cell.costs for cell in cells]
    verdict = choose_model(differences, costs, rule, known=known.best(costs))
    return CellChoice(cells[verdict.chosen], cells[verdict.best], verdict)


def _known_first(amount: float) -> float:
    """Return an amount, infinity where it is not known."""
    return math.inf if math.isnan(amount) else amount


def priced(cells: Sequence[Cell], settings: Settings) -> list[Cell]:
    """Return the cells, with a cost by the settings' price where runs stated none.

    Where a model's tokens are not known either, they are taken for the mean of the
    other cells.
    """
    stated_tokens = [cell.tokens for cell in cells if not math.isnan(cell.tokens)]
    usual_tokens = USUAL_TOKENS
    if stated_tokens:
        usual_tokens = sum(stated_tokens) / len(stated_tokens)
    priced_cells = []
    for cell in cells:
        price = settings.price(cell.model) if math.isnan(cell.cost) else None
        if price is not None:
            tokens = usual_tokens if math.isnan(cell.tokens) else cell.tokens
            cell = cell._replace(cost=price * tokens / 1e6)
        priced_cells.append(cell)
    return priced_cells


def confidence_of(runs: float) -> float:
    """Return how far so many runs reach, 0 to 1: all the way from 20."""
    return min(runs / FULL_CONFIDENCE_SAMPLES, 1.0)


def _scaled(latency_ms: float, latencies: Sequence[float]) -> float:
    """Return a latency from 0 (the shortest of its type) to 1 (the longest).

    It is 1 where it is not known.
    """
    if math.isnan(latency_ms):
        return 1.0
    shortest = min(latencies)
    longest = max(latencies)
    if longest == shortest:
        return 0.0
    return (latency_ms - shortest) / (longest - shortest)


def query_types(names: Iterable[str]) -> list[str]:
    """Return the types among these names, in the order of the trials.

    Unknown ones come last.
    """
    order = {name: position for position, name in enumerate(QUERY_TYPES)}
    return sorted(set(names), key=lambda name: (order.get(name, len(order)), name))
