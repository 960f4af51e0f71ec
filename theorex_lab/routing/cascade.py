"""A cascade: a cheap model answers first, its answer is checked, and a strong one is
asked only where the check fails.
"""

import json
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from theorex_lab.core.errors import InvalidInput
from theorex_lab.memory.contract import Home
from theorex_lab.routing.confidence import Cell, matrix_of, priced

Check = str | Callable[[str], bool]


@dataclass(frozen=True)
class Cascade:
    """Whom to ask first, and whom where the check fails.

    success: expected share of right answers, 0 to 1.  cost: expected of a query, in the
    unit of the cells.  fails: how often the check of the first answer is expected to
    fail, 0 to 1.  reason: why these two, for people.
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
    """The cascade that is expected to be cheapest, of those that succeed as often as
    the best model alone and cost less.

    `cells`: of one type of query; those that are not usable or whose cost is not known
    are left out.  false_pass, false_alarm: shares of wrong answers that pass the check
    and of right ones that fail it, 0 to 1. The two models are taken to fail
    independently, which flatters a cascade: what is hard for one is often hard for the
    other. None where no two models make such a cascade. Raises InvalidInput for a share
    outside 0..1.

    >>> from theorex_lab.memory.evidence import EvidenceTable
    >>> from theorex_lab.routing.confidence import matrix
    >>> table = EvidenceTable()
    >>> for number in range(10):
    ...     table.add("query_type/code", "strong", number < 9, at=0, cost=1.0)
    ...     table.add("query_type/code", "cheap", number < 6, at=0, cost=0.1)
    >>> found = cascade_of(matrix(table.cells()))
    >>> (
    ...     found.first,
    ...     found.then,
    ...     round(found.success, 2),
    ...     round(found.cost, 2),
    ...     round(found.fails, 2),
    ... )
    ('cheap', 'strong', 0.96, 0.5, 0.4)
    """
    if not (0 <= false_pass <= 1 and 0 <= false_alarm <= 1):
        got = f"a false pass of {false_pass!r} and a false alarm of {false_alarm!r}"
        raise InvalidInput(f"got {got}; allowed is 0 to 1")
    known = [cell for cell in cells if cell.usable and cell.cost == cell.cost]
    strong = min(
        known,
        key=lambda cell: (-cell.success_rate, cell.cost, cell.model),
        default=None,
    )
    if strong is None:
        return None
    offers = [
        _offer(cell, strong, false_pass, false_alarm)
        for cell in known
        if cell.cost < strong.cost
    ]
    offers = [
        offer
        for offer in offers
        if offer.success >= strong.success_rate and offer.cost < strong.cost
    ]
    return min(
        offers,
        key=lambda offer: (offer.cost, -offer.success, offer.first),
        default=None,
    )


def _offer(cheap: Cell, strong: Cell, false_pass: float, false_alarm: float) -> Cascade:
    right = cheap.success_rate
    fails = right * false_alarm + (1.0 - right) * (1.0 - false_pass)
    success = right * (1.0 - false_alarm) + fails * strong.success_rate
    cost = cheap.cost + fails * strong.cost
    share = f"{right:.0%} of {cheap.n:.4g} runs"
    runs = f"{strong.model} where the check fails, expected for {fails:.0%}"
    gives = f"{success:.0%} right at {cost / strong.cost:.0%} of the cost of {strong.model} alone"
    reason = f"cascade: {cheap.model} first ({share}), {runs}: {gives}"
    return Cascade(cheap.model, strong.model, success, cost, fails, reason)


def cascade_in(
    home: Home, query_type: str, models: Collection[str] | None = None
) -> Cascade | None:
    """The cascade that the evidence of a home offers for a type of query; `models`:
    those to choose from, None for all.
    """
    cells = [cell for cell in matrix_of(home) if cell.query_type == query_type]
    return cascade_of(
        priced(
            [cell for cell in cells if models is None or cell.model in models],
            home.settings,
        )
    )


def checker(check: Check) -> Callable[[str], bool]:
    """What says whether an answer's text passes: `not_empty`, `json`, `regex:PATTERN`,
    which is looked for anywhere, or a function of one's own. Raises InvalidInput for
    another name and for what is no pattern.

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
