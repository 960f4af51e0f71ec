"""How results look when they are printed: short in a list, whole when printed alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from html import escape
from typing import Any

LONGEST_REPR = 200
_LONGEST_LINE = 200
_MOST_ITEMS = 10  # of a list that is printed


def short_repr(value: object, *facts: str) -> str:
    """Return the class of a value and the facts that matter, at most 200 characters.

    Args:
        value: The value.
        facts: What matters of it, each in a few words; '' is left out.

    >>> short_repr(3, "odd", "", "prime")
    'int(odd, prime)'
    """
    listed = ", ".join(fact for fact in facts if fact)
    name = type(value).__name__
    return f"{name}({_shortened(listed, LONGEST_REPR - len(name) - 2)})"


class Report:
    """A dataclass that is one line in a list, and a line a field when it is printed.

    A subclass says in `_facts` what matters of it. Its decorator has `repr=False`.
    """

    __slots__ = ()

    def _facts(self) -> tuple[str, ...]:
        """Return what matters of it, each in a few words."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return short_repr(self, *self._facts())

    def __str__(self) -> str:
        """Return a line for each field that holds something."""
        return "\n".join([repr(self), *_field_lines(self)])

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def _field_lines(report: Any) -> Iterator[str]:
    for field in fields(report):
        value = getattr(report, field.name)
        if value in ("", None) or value == [] or value == () or value == {}:
            continue
        if isinstance(value, list | tuple):
            yield f"  {field.name}:"
            yield from _item_lines(value)
        else:
            yield f"  {field.name}: {_shortened(str(value), _LONGEST_LINE)}"


def _item_lines(items: list[Any] | tuple[Any, ...]) -> Iterator[str]:
    for item in items[:_MOST_ITEMS]:
        yield f"    {_shortened(str(item), _LONGEST_LINE)}"
    n_left = len(items) - _MOST_ITEMS
    if n_left > 0:
        yield f"    … {n_left} more"


def _shortened(text: str, limit: int) -> str:
    """Return a text on one line, … at its cut."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
