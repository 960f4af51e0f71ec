"""The arguments of tools, in the forms in which models send them.

A model sends null for what it leaves out, the text "3" for a whole number, and a list as
the text of its JSON. Only the type of a parameter says what such a value may become: a
text stays as it is wherever a text is taken.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NoReturn

from pydantic import ValidationError

from theorex_lab.core.errors import ConfigError
from theorex_lab.core.strict_json import unambiguous
from theorex_lab.text.redact.masking import mask

_Schema = Mapping[str, Any]
_WHOLE = re.compile(r"[+-]?\d{1,15}(\.0{1,15})?")
_NUMBER = re.compile(r"[+-]?\d{1,30}(\.\d{1,30})?([eE][+-]?\d{1,3})?")
_LARGEST_WHOLE = 1 << 53  # beyond it a float does not tell which number was meant
_NAMES = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "object": "an object",
    "null": "null",
}
_BOUNDS = {
    "minimum": " from {}",
    "maximum": " to {}",
    "minLength": " of at least {} characters",
    "maxLength": " of at most {} characters",
}
_TRUTHS = {
    "true": True,
    "false": False,
}
_MOST_DEPTH = 8
_MOST_WRONG = 3  # arguments that one error names
_LONGEST_GOT = 60  # characters


def read_arguments(schema: _Schema, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call as the types of its parameters have them.

    What has no such form stays as it is, and is refused when it is checked.

    Args:
        schema: The JSON schema of all parameters.
        arguments: The arguments as they were sent.

    >>> limit = {"type": "integer", "default": 10}
    >>> tags = {"type": "array", "items": {"type": "string"}, "default": []}
    >>> schema = {"properties": {"text": {"type": "string"}, "limit": limit, "tags": tags}}
    >>> read_arguments(schema, {"text": "3", "limit": "3", "tags": '["a", "7"]'})
    {'text': '3', 'limit': 3, 'tags': ['a', '7']}
    >>> read_arguments(schema, {"text": "3", "limit": None, "tags": "a"})
    {'text': '3', 'tags': ['a']}
    """
    properties = schema.get("properties", {})
    definitions = schema.get("$defs", {})
    values: dict[str, Any] = {}
    for name, value in arguments.items():
        parameter = properties.get(name, {})
        forms = _forms(parameter, definitions)
        meant = _read(value, forms, definitions, _MOST_DEPTH)
        takes_null = "null" in _types(forms)
        if meant is None and "default" in parameter and not takes_null:
            continue  # null stands for what is left out
        values[name] = meant
    return values


def refused_arguments(schema: _Schema, error: ValidationError) -> str:
    """Return which arguments were refused: what was got, and what is allowed."""
    properties = schema.get("properties", {})
    definitions = schema.get("$defs", {})
    texts: dict[str, str] = {}
    for detail in error.errors(include_url=False):
        path = [str(part) for part in detail["loc"]] or ["the arguments"]
        name = path[0]
        if name in texts:
            continue
        allowed = allowed_value(properties.get(name, {}), definitions)
        if detail["type"] == "missing" and len(path) == 1:
            texts[name] = f"{name} is missing; allowed is {allowed}"
            continue
        value = _shown(detail["input"])
        texts[name] = f"{'.'.join(path)}: got {value}; allowed is {allowed}"
    return "; ".join(list(texts.values())[:_MOST_WRONG])


def allowed_value(schema: _Schema, definitions: _Schema) -> str:
    """Return in words which values a schema allows.

    >>> allowed_value({"type": "integer", "minimum": 1, "maximum": 100}, {})
    'a whole number from 1 to 100'
    >>> allowed_value({"type": "array", "items": {"type": "string"}}, {})
    'a list of values, each a text'
    """
    texts: list[str] = []
    for form in _forms(schema, definitions):
        text = _allowed_form(form, definitions)
        if text not in texts:
            texts.append(text)
    return " or ".join(texts) or "any value"


def _allowed_form(form: _Schema, definitions: _Schema) -> str:
    if "enum" in form:
        choices = [str(choice) for choice in form["enum"]]
        return f"one of {', '.join(choices)}"
    if "const" in form:
        return str(form["const"])
    kind = form.get("type", "")
    if kind == "array":
        return _allowed_list(form, definitions)
    return _NAMES.get(kind, "any value") + _bounds(form)


def _allowed_list(form: _Schema, definitions: _Schema) -> str:
    most = form.get("maxItems")
    items = form.get("items", {})
    item = allowed_value(items, definitions)
    if most is None:
        return f"a list of values, each {item}"
    return f"a list of up to {most} values, each {item}"


def _bounds(form: _Schema) -> str:
    text = ""
    for key, words in _BOUNDS.items():
        if key in form:
            text += words.format(form[key])
    return text


def _shown(value: Any) -> str:
    """Return a value for an error, with what looks like a secret masked."""
    text = mask(json.dumps(value, ensure_ascii=False, default=repr))
    if len(text) <= _LONGEST_GOT:
        return text
    return f"{text[: _LONGEST_GOT - 1]}…"


def _forms(schema: _Schema, definitions: _Schema) -> list[_Schema]:
    """Return the forms that a value may have, each a schema without alternatives."""
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return _forms(definitions.get(name, {}), definitions)
    alternatives = schema.get("anyOf") or schema.get("oneOf")
    if alternatives is None:
        return [schema] if schema else []
    forms: list[_Schema] = []
    for alternative in alternatives:
        forms += _forms(alternative, definitions)
    return forms


def _types(forms: Sequence[_Schema]) -> set[str]:
    types: set[str] = set()
    for form in forms:
        if "type" in form:
            types.add(form["type"])
        elif any(isinstance(value, str) for value in form.get("enum", ())):
            types.add("string")
    return types


def _read(
    value: Any,
    forms: Sequence[_Schema],
    definitions: _Schema,
    depth: int,
) -> Any:
    """Return a value as one of its forms has it, or as it is."""
    types = _types(forms)
    if isinstance(value, str) and "string" not in types:
        value = _read_text(value, types)
    if isinstance(value, float):
        return _read_float(value, types)
    if not depth:
        return value
    if isinstance(value, list):
        return _read_items(value, forms, definitions, depth - 1)
    if isinstance(value, dict):
        return _read_members(value, forms, definitions, depth - 1)
    return value


def _read_float(value: float, types: set[str]) -> int | float:
    """Return a number that a whole number is meant by as such."""
    if "integer" not in types or "number" in types:
        return value
    if abs(value) >= _LARGEST_WHOLE:
        return value
    if not value.is_integer():
        return value
    return int(value)


def _read_text(text: str, types: set[str]) -> Any:
    """Return what a text stands for where no text is taken; the text if for nothing."""
    bare = text.strip()
    if bare == "null":
        return None
    if types & {"array", "object"}:
        return _read_list_or_object(bare, types)
    number = _read_number(bare, types)
    if number is not None:
        return number
    if "boolean" in types:
        return _TRUTHS.get(bare.lower(), text)
    return text


def _read_number(text: str, types: set[str]) -> int | float | None:
    """Return the number that a text holds, None where it holds none of these types."""
    if "integer" in types and _WHOLE.fullmatch(text):
        return int(text.partition(".")[0])
    if "number" not in types:
        return None
    if not _NUMBER.fullmatch(text):
        return None
    number = float(text)
    if not math.isfinite(number):
        return None
    return number


def _read_list_or_object(text: str, types: set[str]) -> Any:
    """Return the list or object in a text, else a list of the text itself."""
    value = _from_json(text)
    takes_list = "array" in types
    takes_object = "object" in types
    if takes_list and isinstance(value, list):
        return value
    if takes_object and isinstance(value, dict):
        return value
    if not takes_list:
        return text
    if not text:
        return []
    return [text]


def _from_json(text: str) -> Any:
    """Return the list or object in a text, None where it holds none."""
    if not text.startswith(("[", "{")):
        return None
    try:
        return json.loads(
            text,
            object_pairs_hook=partial(unambiguous, "the argument"),
            parse_constant=_refuse_constant,
        )
    except (ValueError, RecursionError, ConfigError):
        return None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _read_items(
    items: list[Any],
    forms: Sequence[_Schema],
    definitions: _Schema,
    depth: int,
) -> list[Any]:
    array = _only_form(forms, "array")
    item_forms = _forms(array.get("items", {}), definitions)
    values: list[Any] = []
    for item in items:
        value = _read(item, item_forms, definitions, depth)
        values.append(value)
    return values


def _only_form(forms: Sequence[_Schema], kind: str) -> _Schema:
    """Return the form of a type; nothing is known of it where there are several."""
    of_kind: list[_Schema] = []
    for form in forms:
        if form.get("type") == kind:
            of_kind.append(form)
    if len(of_kind) == 1:
        return of_kind[0]
    return {}


def _read_members(
    members: dict[str, Any],
    forms: Sequence[_Schema],
    definitions: _Schema,
    depth: int,
) -> dict[str, Any]:
    properties = _only_form(forms, "object").get("properties", {})
    values: dict[str, Any] = {}
    for name, member in members.items():
        parameter = properties.get(name, {})
        member_forms = _forms(parameter, definitions)
        values[name] = _read(member, member_forms, definitions, depth)
    return values
