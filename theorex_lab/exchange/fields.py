"""Members of records that come from files: each is returned as what it must be, or refused with InvalidInput."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from theorex_lab.clock import EARLIEST, LATEST, to_microseconds
from theorex_lab.errors import InvalidInput
from theorex_lab.exchange.flat_files import Record
from theorex_lab.ids import CONCEPT_BITS

LARGEST = 2**62
EVENT_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_DIGITS = re.compile(r"[0-9]{1,16}")
P = ParamSpec("P")
T = TypeVar("T")


def noted(problems: list[str], where: int | str, read: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
    """What `read` returns, or None where it refuses; the reason is noted with its place."""
    try:
        return read(*args, **kwargs)
    except InvalidInput as error:
        problems.append(f":{where}: {error}" if isinstance(where, int) else f": {where}: {error}")
        return None


def text_of(record: Record, key: str, default: str) -> str:
    """The text under `key`; `default` where it is missing. Raises InvalidInput for anything else.

    >>> text_of({"agent": "main"}, "agent", "")
    'main'
    """
    value = record.get(key, default)
    if not isinstance(value, str):
        raise InvalidInput(f"{key} is {value!r:.80}; allowed is text")
    return value


def number_of(record: Record, key: str, default: float | None, low: float, high: float) -> float:
    """The number under `key`, `low` to `high`; `default` where it is missing, None for one that must be there.

    Raises InvalidInput for anything else, NaN and truth values among it.

    >>> number_of({}, "sentiment", 0.0, -1, 1)
    0.0
    """
    value = record.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high or math.isnan(value):
        raise InvalidInput(f"{key} is {value!r:.80}; allowed is a number from {low} to {high}")
    return value


def integer_of(record: Record, key: str, default: int | None, low: int) -> int:
    """The whole number under `key`, `low` to 2^62; see `number_of`.

    >>> integer_of({"tokens": 7}, "tokens", None, 0)
    7
    """
    value = number_of(record, key, default, low, LARGEST)
    if not isinstance(value, int):
        raise InvalidInput(f"{key} is {value!r}; allowed is a whole number")
    return value


def concept_ids_of(values: Any) -> list[int]:
    """The concept ids of a list, as numbers. Raises InvalidInput where one is none.

    >>> concept_ids_of(["12", 7])
    [12, 7]
    """
    if not isinstance(values, list):
        raise InvalidInput(f"got {values!r:.80}; allowed is a list of concept ids")
    return [concept_id_of({"concept_id": each}) for each in values]


def concept_id_of(record: Record) -> int:
    """The `concept_id` of a record, a number or its digits, below 2^53. Raises InvalidInput for anything else.

    >>> concept_id_of({"concept_id": "12"})
    12
    """
    stated = record.get("concept_id")
    if isinstance(stated, bool) or not _DIGITS.fullmatch(str(stated)) or int(str(stated)) >= 2**CONCEPT_BITS:
        raise InvalidInput(f"concept_id is {stated!r:.80}; allowed is a whole number below 2^{CONCEPT_BITS}")
    return int(str(stated))


def time_of(record: Record, key: str) -> int:
    """The time under `key` in µs UTC. Raises InvalidInput for what is no ISO 8601 time with an offset.

    >>> time_of({"at": "1970-01-01T00:00:01Z"}, "at")
    1000000
    """
    stated = record.get(key)
    at = to_microseconds(stated) if isinstance(stated, str) else None
    if at is None or not EARLIEST <= at <= LATEST:
        raise InvalidInput(
            f"{key} is {stated!r:.80}; allowed is an ISO 8601 time with an offset, of the years 1 to 9999"
        )
    return at


def time_or_earliest(record: Record, key: str) -> int:
    """As `time_of`, but the year 1 for what cannot be read.

    >>> time_or_earliest({"at": "yesterday"}, "at") == EARLIEST
    True
    """
    try:
        return time_of(record, key)
    except InvalidInput:
        return EARLIEST


def truth_of(record: Record, key: str) -> bool:
    """The truth value under `key`. Raises InvalidInput for anything else."""
    value = record.get(key)
    if not isinstance(value, bool):
        raise InvalidInput(f"{key} is {value!r:.80}; allowed are true and false")
    return value


def list_of(record: Record, key: str) -> list[Any]:
    """The list under `key`, empty where it is missing. Raises InvalidInput for anything else."""
    value = record.get(key, [])
    if not isinstance(value, list):
        raise InvalidInput(f"{key} is {value!r:.80}; allowed is a list")
    return value


def object_of(value: Any) -> Record:
    """A JSON object without its members that are null: they say no more than missing ones."""
    if not isinstance(value, dict):
        raise InvalidInput(f"got a {type(value).__name__}; allowed is a JSON object")
    return {key: each for key, each in value.items() if each is not None}
