"""The confidence matrix: which model has done best on a type of query, and how far the
evidence reaches.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.settings import WORSE_AT, Settings
from theorex_lab.memory import evidence as counted
from theorex_lab.memory.contract import Home
from theorex_lab.memory.evidence import (
    HEARD_PREFIX,
    QUERY_TYPE_PREFIX,
    Cells,
    counted_type,
    evidence_view,
)
from theorex_lab.memory.evidence import QUERY_TYPES as QUERY_TYPES
from theorex_lab.memory.intervals import wilson_of_one
from theorex_lab.memory.rows import Rows

Models = Collection[str] | None
MIN_SAMPLES = 5
SUCCESS_ALONE = 1.0
FULL_CONFIDENCE_SAMPLES = 20
USUAL_TOKENS = 1_000.0  # of a call, where nothing says how many its model takes


class Cell(NamedTuple):
    """How a model did on a type of query.

    n: runs, a fraction where evidence is aged.  success_rate: 0..1, with its 95 %
    Wilson interval low..high. latency_ms, tokens, cost: means over the runs that stated
    them, NaN where none did.  score: 0..1, NaN where the cell is not usable.
    confidence: min(n / 20, 1).  usable: whether there are enough runs.
    """

    query_type: str
    model: str
    n: float
    success_rate: float
    low: float
    high: float
    latency_ms: float
    tokens: float
    cost: float
    score: float
    confidence: float
    usable: bool

    @property
    def option(self) -> counted.Option:
        """The cell as it is compared with others."""
        return counted.Option(
            self.model, self.n, self.success_rate * self.n, self.cost, self.latency_ms
        )


class MatrixResult(Rows[Cell]):
    """The cells of a matrix by query type and model: a sequence of `Cell`, with `frame`
    and `rows()`.
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
    heard: bool = False,
) -> MatrixResult:
    """The matrix of a home's evidence as it weighs now; None: as the settings say. See
    `matrix`.

    `heard`: of what was imported without trust instead; no route goes by that.
    """
    settings = home.settings
    half_life = (
        settings.matrix_half_life_days if half_life_days is None else half_life_days
    )
    needed = settings.matrix_min_samples if min_samples is None else min_samples
    before = HEARD_PREFIX if heard else ""
    with home.views.reading(evidence_view(home)) as evidence:
        cells = evidence.table.cells(
            before + QUERY_TYPE_PREFIX, now=home.clock.now(), half_life_days=half_life
        )
    cells = replace(cells, keys=[key.removeprefix(before) for key in cells.keys])
    return matrix(
        cells, min_samples=needed, success_weight=settings.matrix_success_weight
    )


def matrix(
    cells: Cells,
    *,
    min_samples: float = MIN_SAMPLES,
    success_weight: float = SUCCESS_ALONE,
) -> MatrixResult:
    """Score every cell: success_weight · success rate + (1 − success_weight) · (1 −
    scaled latency).

    `cells`: evidence; only its keys `query_type/…` count. The result is sorted by query
    type and model. A cell is usable from `min_samples` runs. Latency is min–max scaled
    over the usable cells of the same type: 0 for the fastest, 1 for the slowest, 0
    where they are equal or one. A cell without a known latency counts as the slowest.
    Raises InvalidInput for min_samples below 0 or a weight outside 0..1.

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
    # Plain numbers: there are some dozens of cells, and numpy pays from hundreds on.
    runs = cells.n.tolist()
    successes = cells.successes.tolist()
    latencies = cells.latency_ms.tolist()
    tokens = cells.tokens.tolist()
    costs = cells.cost.tolist()
    rates = [
        hits / n if n else math.nan for hits, n in zip(successes, runs, strict=True)
    ]
    usable = [n >= min_samples and n > 0 for n in runs]
    known = defaultdict[str, list[float]](
        list
    )  # latencies of the usable cells of each key, ms
    for key, latency_ms, counts in zip(cells.keys, latencies, usable, strict=True):
        if counts and not math.isnan(latency_ms):
            known[key].append(latency_ms)
    found = []
    for row, (key, model) in enumerate(zip(cells.keys, cells.options, strict=True)):
        if not key.startswith(QUERY_TYPE_PREFIX):
            continue
        score = math.nan
        low, high = wilson_of_one(successes[row], runs[row])
        if usable[row]:
            speed = 1.0 - _scaled(latencies[row], known[key])
            score = success_weight * rates[row] + (1.0 - success_weight) * speed
        did = (
            model,
            runs[row],
            rates[row],
            low,
            high,
            latencies[row],
            tokens[row],
            costs[row],
            score,
        )
        found.append(
            Cell(
                key.removeprefix(QUERY_TYPE_PREFIX),
                *did,
                confidence_of(runs[row]),
                usable[row],
            )
        )
    return MatrixResult(sorted(found, key=lambda cell: cell[:2]))


def best(
    cells: Iterable[Cell],
    query_type: str,
    allowed_models: Models = None,
    *,
    success_weight: float = SUCCESS_ALONE,
    level: float = WORSE_AT,
) -> Cell | None:
    """The usable cell of a query type with the highest score; of equals the one with
    more runs, then by name.

    Where success alone makes the score (`success_weight` 1), it is the cheapest, then
    the quickest, of the cells that are not distinguishably worse than the best at this
    `level`, as `evidence.not_worse` has it.

    A query type that is none of the seven is decided by the cells of `general`. Only
    `allowed_models` may win (None: all). None where no cell is usable.
    """
    wanted = counted_type(query_type)
    found = [cell for cell in cells if cell.usable and cell.query_type == wanted]
    found = [
        cell for cell in found if allowed_models is None or cell.model in allowed_models
    ]
    near = near_best(found, level, success_weight=success_weight)
    return cheapest(near) if near else None


def near_best(
    cells: Sequence[Cell], level: float, *, success_weight: float = SUCCESS_ALONE
) -> list[Cell]:
    """The cells among which cost decides, as `best` says, the best first; none of none."""
    if not cells or success_weight < SUCCESS_ALONE:
        return sorted(cells, key=lambda cell: (-cell.score, -cell.n, cell.model))[:1]
    return [
        cells[place]
        for place in counted.not_worse([cell.option for cell in cells], level)
    ]


def cheapest(cells: Iterable[Cell]) -> Cell:
    """The cell of the lowest known cost, then of the lowest known latency, then of the
    highest success.
    """
    return min(cells, key=lambda cell: counted.by_cost_and_speed(cell.option))


def priced(cells: Sequence[Cell], settings: Settings) -> list[Cell]:
    """The cells, with a cost by the price that the settings give where their runs
    stated none.

    Where a model's tokens are not known either, they are taken for the mean of the
    other cells.
    """
    known = [cell.tokens for cell in cells if not math.isnan(cell.tokens)]
    usual = sum(known) / len(known) if known else USUAL_TOKENS
    found = []
    for cell in cells:
        price = settings.price(cell.model) if math.isnan(cell.cost) else None
        tokens = usual if math.isnan(cell.tokens) else cell.tokens
        found.append(
            cell if price is None else cell._replace(cost=price * tokens / 1e6)
        )
    return found


def confidence_of(runs: float) -> float:
    """How far so many runs reach, 0 to 1: all the way from 20."""
    return min(runs / FULL_CONFIDENCE_SAMPLES, 1.0)


def _scaled(latency_ms: float, known: Sequence[float]) -> float:
    """Latency from 0 (the shortest of its type) to 1 (the longest); 1 where it is not
    known.
    """
    if math.isnan(latency_ms):
        return 1.0
    shortest = min(known)
    longest = max(known)
    return (latency_ms - shortest) / (longest - shortest) if longest > shortest else 0.0


def query_types(names: Iterable[str]) -> list[str]:
    """The types among these names, in the order in which they are told apart, unknown
    ones last.
    """
    order = {name: place for place, name in enumerate(QUERY_TYPES)}
    return sorted(set(names), key=lambda name: (order.get(name, len(order)), name))
