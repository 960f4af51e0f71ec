"""How results look when they are printed: short in a list, whole when printed alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
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
    name = type(value).__name__
    known_facts = filter(None, facts)
    listed = ", ".join(known_facts)
    room = LONGEST_REPR - len(name)
    shortened = _shortened(listed, room - 2)
    return f"{name}({shortened})"


class Report:
    """A dataclass that is one line in a list, and a line a field when it is printed.

    A subclass says in `_facts` what matters of it. Its decorator has `repr=False`.
    """

    __slots__ = ()

    def _facts(self) -> tuple[str, ...]:
        """Return what matters of it, each in a few words."""
        raise NotImplementedError

    def __repr__(self) -> str:
        facts = self._facts()
        return short_repr(self, *facts)

    def __str__(self) -> str:
        """Return a line for each field that holds something."""
        lines = [repr(self)]
        lines += _field_lines(self)
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from html import escape  # notebooks alone ask for it

        text = str(self)
        escaped = escape(text)
        return f"<pre>{escaped}</pre>"


def _field_lines(report: Any) -> Iterator[str]:
    for field in fields(report):
        name = field.name
        value = getattr(report, name)
        if _is_empty(value):
            continue
        if isinstance(value, list | tuple):
            yield f"  {name}:"
            yield from _item_lines(value)
        else:
            text = str(value)
            line = _shortened(text, _LONGEST_LINE)
            yield f"  {name}: {line}"


def _is_empty(value: object) -> bool:
    """Return whether a field holds nothing; False and 0 are something."""
    if value is None:
        return True
    if isinstance(value, str | list | tuple | dict):
        return not value
    return False


def _item_lines(items: list[Any] | tuple[Any, ...]) -> Iterator[str]:
    first = items[:_MOST_ITEMS]
    for item in first:
        text = str(item)
        line = _shortened(text, _LONGEST_LINE)
        yield f"    {line}"
    n_left = len(items) - _MOST_ITEMS
    if n_left > 0:
        yield f"    … {n_left} more"


def _shortened(text: str, limit: int) -> str:
    """Return a text on one line, … at its cut."""
    words = text.split()
    line = " ".join(words)
    if len(line) <= limit:
        return line
    beginning = line[: limit - 1]
    return f"{beginning}…"
