"""The fields of a command's JSON, as its help says them.

A help says "{hits: [{id, text, …}], notes}; with --why …": the fields of the object, of
the objects in its lists, and … where there are more. Several forms may follow each
other, each for the options before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

MORE = "…"
_TOKEN = re.compile(r"[{}\[\],:…]|\w+")


class Form(NamedTuple):
    """The fields of an object.

    Attributes:
        fields: Each field with the form of the objects in it, None where they have none.
        is_open: Whether there may be more.
    """

    fields: dict[str, Form | None]
    is_open: bool


def forms_in(text: str) -> list[Form]:
    """Return the forms that a help names, in their order.

    >>> [[*form.fields] for form in forms_in("{a, b: [{c, …}]}; with --x {d}")]
    [['a', 'b'], ['d']]
    """
    forms = []
    for part in _objects_of(text):
        tokens = _TOKEN.findall(part)
        form, _ = _object_at(tokens, 0)
        forms.append(form)
    return forms


def remarks_in(text: str) -> set[str]:
    """Return the words of a help outside of its forms.

    >>> sorted(remarks_in("{a}, and error where there is one"))
    ['and', 'error', 'is', 'one', 'there', 'where']
    """
    for part in _objects_of(text):
        text = text.replace(part, " ")
    return set(re.findall(r"\w+", text))


def _objects_of(text: str) -> Iterator[str]:
    """Yield what stands in braces, each outermost pair for itself."""
    depth = 0
    start = 0
    for position, letter in enumerate(text):
        if letter == "{":
            if depth == 0:
                start = position
            depth += 1
        elif letter == "}":
            depth -= 1
            if depth == 0:
                yield text[start : position + 1]


def _object_at(tokens: list[str], position: int) -> tuple[Form, int]:
    """Return the object that begins at a token, and the position after its end."""
    fields: dict[str, Form | None] = {}
    is_open = False
    position += 1
    while tokens[position] != "}":
        token = tokens[position]
        if token == MORE:
            is_open = True
        elif token == ":":
            inner, position = _value_at(tokens, position + 1)
            fields[[*fields][-1]] = inner
            continue
        elif token != ",":
            fields[token] = None
        position += 1
    return Form(fields, is_open), position + 1


def _value_at(tokens: list[str], position: int) -> tuple[Form | None, int]:
    """Return the form of a field's value, None where it has none, and what follows."""
    depth = 0
    while tokens[position] == "[":
        depth += 1
        position += 1
    form = None
    if tokens[position] == "{":
        form, position = _object_at(tokens, position)
    while depth:
        depth -= {"]": 1, "[": -1}.get(tokens[position], 0)
        position += 1
    return form, position


def differences(form: Form, value: Any, path: str = "") -> list[str]:
    """Return what an object has that its form does not name, and the other way round.

    >>> differences(forms_in("{a, b: [{c}]}")[0], {"a": 1, "b": [{"c": 1}, {"d": 2}]})
    ['b: lacks c', 'b: d is not named']
    """
    problems = []
    prefix = f"{path}: " if path else ""
    missing = [field for field in form.fields if field not in value]
    unknown = [] if form.is_open else [key for key in value if key not in form.fields]
    problems += [f"{prefix}lacks {field}" for field in missing]
    problems += [f"{prefix}{key} is not named" for key in unknown]
    for field, inner in form.fields.items():
        if inner is None:
            continue
        for item in objects_in(value.get(field)):
            problems += differences(inner, item, f"{path}.{field}".lstrip("."))
    return problems


def nested_fields(form: Form) -> dict[str, Form]:
    """Return the fields whose objects have a form of their own."""
    return {field: inner for field, inner in form.fields.items() if inner is not None}


def objects_in(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a field: itself, those of a list, or none."""
    if isinstance(value, dict):
        return [value]
    items = value if isinstance(value, list) else []
    return [item for item in items if isinstance(item, dict)]
