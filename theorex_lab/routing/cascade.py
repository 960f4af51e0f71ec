"""A cascade: a cheap model answers first, and a strong one where a check fails.

The check is one of the cheap model's answer.
"""

import json
import math
import re
from collections.abc import Callable, Collection, Sequence

from theorex_lab.core.errors import InvalidInput
from theorex_lab.core.light_dataclass import dataclass
from theorex_lab.memory.contract import Home
from theorex_lab.routing.confidence import Cell, matrix_of, priced

Check = str | Callable[[str], bool]


@dataclass(frozen=True)
class Cascade:
    """Whom to ask first, and whom where the check fails.

    Attributes:
        first: The model that answers first.
        then: The model that is asked where the check fails.
        success: Expected share of right answers, 0 to 1.
        cost: Expected cost of a query, in the unit of the cells.
        fails: How often the check of the first answer is expected to fail, 0 to 1.
        reason: Why these two, for people.
    """

    first: str
    then: str
    success: float
    cost: float
    fails: float
    reason: str


def cascade_of(
    cells: Sequence[Cell], *, false_pass: float = 0.0, false_alarm: float = 0.0
) -> Cascade | None:
    """Return the cascade that is expected to be cheapest, None where there is none.

    Only cascades count that succeed as often as the best model alone and cost less. The
    two models are taken to fail independently. This flatters a cascade: what is hard
    for one is often hard for the other.

    Args:
        cells: Cells of one type of query. Those that are not usable or whose cost is
            not known are left out.
        false_pass: Share of wrong answers that pass the check, 0 to 1.
        false_alarm: Share of right answers that fail the check, 0 to 1.

    Raises:
        InvalidInput: For a share outside 0..1.

    >>> from theorex_lab.memory.evidence import EvidenceTable
    >>> from theorex_lab.routing.confidence import matrix
    >>> table = EvidenceTable()
    >>> for number in range(10):
    ...     table.add("query_type/code", "strong", number < 9, at=0, cost=1.0)
    ...     table.add("query_type/code", "cheap", number < 6, at=0, cost=0.1)
    >>> cascade = cascade_of(matrix(table.cells()))
    >>> (
    ...     cascade.first,
    ...     cascade.then,
    ...     round(cascade.success, 2),
    ...     round(cascade.cost, 2),
    ...     round(cascade.fails, 2),
    ... )
    ('cheap', 'strong', 0.96, 0.5, 0.4)
    """
    _check_shares(false_pass, false_alarm)
    priced_cells = []
    for cell in cells:
        if cell.usable and not math.isnan(cell.cost):
            priced_cells.append(cell)
    if not priced_cells:
        return None
    strong = min(priced_cells, key=_best_first)
    offers = []
    for cheap in priced_cells:
        if cheap.cost >= strong.cost:
            continue
        offer = _offer(cheap, strong, false_pass, false_alarm)
        is_as_good = offer.success >= strong.success_rate
        if is_as_good and offer.cost < strong.cost:
            offers.append(offer)
    if not offers:
        return None
    return min(offers, key=_cheapest_first)


def _best_first(cell: Cell) -> tuple[float, float, str]:
    """Return the sort key of a cell: success, then cost, then name."""
    return (-cell.success_rate, cell.cost, cell.model)


def _cheapest_first(cascade: Cascade) -> tuple[float, float, str]:
    """Return the sort key of a cascade: cost, then success, then name."""
    return (cascade.cost, -cascade.success, cascade.first)


def _check_shares(false_pass: float, false_alarm: float) -> None:
    """Raise InvalidInput for a share outside 0..1."""
    is_allowed = 0 <= false_pass <= 1 and 0 <= false_alarm <= 1
    if not is_allowed:
        got = f"a false pass of {false_pass!r} and a false alarm of {false_alarm!r}"
        raise InvalidInput(f"got {got}; allowed is 0 to 1")


def _offer(cheap: Cell, strong: Cell, false_pass: float, false_alarm: float) -> Cascade:
    """Return the cascade of two models, with what is expected of it."""
    right = cheap.success_rate
    wrong = 1.0 - right
    fails = right * false_alarm + wrong * (1.0 - false_pass)
    passes_rightly = right * (1.0 - false_alarm)
    success = passes_rightly + fails * strong.success_rate
    cost = cheap.cost + fails * strong.cost
    cost_share = cost / strong.cost
    reason = (
        f"cascade: {cheap.model} first ({right:.0%} of {cheap.n:.4g} runs),"
        f" {strong.model} where the check fails, expected for {fails:.0%}:"
        f" {success:.0%} right at {cost_share:.0%} of the cost of"
        f" {strong.model} alone"
    )
    return Cascade(cheap.model, strong.model, success, cost, fails, reason)


def cascade_in(
    home: Home, query_type: str, models: Collection[str] | None = None
) -> Cascade | None:
    """Return the cascade that the evidence of a home offers for a type of query.

    Args:
        home: The home whose evidence counts.
        query_type: The type of the query.
        models: The models to choose from, None for all.
    """
    cells = []
    for cell in matrix_of(home):
        is_allowed = models is None or cell.model in models
        if cell.query_type == query_type and is_allowed:
            cells.append(cell)
    return cascade_of(priced(cells, home.settings))


def checker(check: Check) -> Callable[[str], bool]:
    """Return the function that says whether an answer's text passes.

    Args:
        check: `not_empty`, `json`, `regex:PATTERN`, which is looked for anywhere, or
            the function itself.

    Raises:
        InvalidInput: For another name and for what is no pattern.

    >>> (
    ...     checker("json")('{"a": 1}'),
    ...     checker("json")("{a}"),
    ...     checker("regex:^def ")("def f(): ..."),
    ... )
    (True, False, True)
    """
    if callable(check):
        return check
    if check.startswith("regex:"):
        try:
            pattern = re.compile(check.removeprefix("regex:"))
        except re.error as error:
            raise InvalidInput(
                f"got the check {check!r}: {error}; allowed is a pattern after regex:"
            ) from error
        return lambda text: pattern.search(text) is not None
    if check not in _CHECKS:
        raise InvalidInput(
            f"got the check {check!r}; allowed are {', '.join(_CHECKS)}, regex:PATTERN"
        )
    return _CHECKS[check]


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


_CHECKS: dict[str, Callable[[str], bool]] = {
    "not_empty": lambda text: bool(text.strip()),
    "json": _is_json,
}
