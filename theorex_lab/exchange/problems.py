"""What could not be imported, told briefly: equal problems stand in one line with a count, however many there are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ParamSpec, TypeVar

from theorex_lab.errors import InvalidInput, NewerVersion

MOST_SHOWN = 100
_PLACE = re.compile(r"(?P<place>[^:]*:(?: ?(?:node |edge )?\d+:)? )(?P<reason>.*)", re.DOTALL)


P = ParamSpec("P")
T = TypeVar("T")


def noted(problems: list[str], where: int | str, read: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
    """What `read` returns, or None where it refuses; the reason is noted with its place."""
    try:
        return read(*args, **kwargs)
    except (InvalidInput, NewerVersion) as error:
        place = f":{where}" if isinstance(where, int) else where and f": {where}"
        problems.append(f"{place}: {error}")
        return None


def each_noted(
    problems: list[str], numbered: Iterable[tuple[int | str, Any]], read: Callable[..., T | None], *args: Any
) -> Iterator[tuple[int | str, T]]:
    """The place of each thing with what `read(thing, *args)` makes of it; what it refuses is noted and passed over."""
    for where, given in numbered:
        found = noted(problems, where, read, given, *args)
        if found is not None:
            yield where, found


def merged(problems: Iterable[str]) -> list[str]:
    """One line a kind of problem, with the first place where it is met and how often it is met elsewhere.

    >>> merged(["a.jsonl:1: not JSON", "a.jsonl:2: key is 'x'", "a.jsonl:9: not JSON"])
    ['a.jsonl:1: not JSON (and 1 more like it)', "a.jsonl:2: key is 'x'"]
    """
    first: dict[str, str] = {}
    count: dict[str, int] = {}
    for problem in problems:
        found = _PLACE.fullmatch(problem)
        kind = found["reason"] if found else problem
        first.setdefault(kind, problem)
        count[kind] = count.get(kind, 0) + 1
    shown = list(first)[:MOST_SHOWN]
    lines = [first[kind] + (f" (and {count[kind] - 1} more like it)" if count[kind] > 1 else "") for kind in shown]
    left = sum(count.values()) - sum(count[kind] for kind in shown)
    return [*lines, f"{left} more problems, of {len(first) - len(shown)} other kinds"] if left else lines
