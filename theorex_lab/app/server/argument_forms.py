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

_Schema = Mapping[str, Any]
_WHOLE = re.compile(r"[+-]?\d{1,15}(\.0{1,15})?")
_NUMBER = re.compile(r"[+-]?\d{1,30}(\.\d{1,30})?([eE][+-]?\d{1,3})?")
_LARGEST_WHOLE = 1 << 53  # beyond it a float does not tell which number was meant
_TRUTHS = {"true": True, "false": False}
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
        read = _read(value, forms, definitions, _MOST_DEPTH)
        takes_null = "null" in _types(forms)
        if read is None and "default" in parameter and not takes_null:
            continue  # null stands for what is left out
        values[name] = read
    return values


def refused_arguments(schema: _Schema, error: ValidationError) -> str:
    """Return which arguments were refused: what was got, and what is allowed."""
    definitions = schema.get("$defs", {})
    texts: dict[str, str] = {}
    for detail in error.errors(include_url=False):
        name = str(detail["loc"][0]) if detail["loc"] else "the arguments"
        if name in texts:
            continue
        allowed = allowed_value(schema.get("properties", {}).get(name, {}), definitions)
        if detail["type"] == "missing" and len(detail["loc"]) == 1:
            texts[name] = f"{name} is missing; allowed is {allowed}"
            continue
        place = ".".join(map(str, detail["loc"])) or name
        got = _shown(detail["input"])
        texts[name] = f"{place}: got {got}; allowed is {allowed}"
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
        return f"one of {', '.join(map(str, form['enum']))}"
    if "const" in form:
        return str(form["const"])
    kind = form.get("type", "")
    if kind == "array":
        most = f"up to {form['maxItems']} values" if "maxItems" in form else "values"
        each = allowed_value(form.get("items", {}), definitions)
        return f"a list of {most}, each {each}"
    names = {
        "string": "a text",
        "integer": "a whole number",
        "number": "a number",
        "boolean": "true or false",
        "object": "an object",
        "null": "null",
    }
    return names.get(kind, "any value") + _bounds(form)


def _bounds(form: _Schema) -> str:
    low = form.get("minimum")
    high = form.get("maximum")
    parts: list[str] = []
    if low is not None:
        parts.append(f" from {low}")
    if high is not None:
        parts.append(f" to {high}")
    if "minLength" in form:
        parts.append(f" of at least {form['minLength']} characters")
    if "maxLength" in form:
        parts.append(f" of at most {form['maxLength']} characters")
    return "".join(parts)


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= _LONGEST_GOT else f"{text[: _LONGEST_GOT - 1]}…"


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
    value: Any, forms: Sequence[_Schema], definitions: _Schema, depth: int
) -> Any:
    """Return a value as one of its forms has it, or as it is."""
    types = _types(forms)
    if isinstance(value, str) and "string" not in types:
        value = _read_text(value, types)
    if isinstance(value, float) and "integer" in types and "number" not in types:
        is_whole = value.is_integer() and abs(value) < _LARGEST_WHOLE
        return int(value) if is_whole else value
    if depth and isinstance(value, list):
        return _read_items(value, forms, definitions, depth - 1)
    if depth and isinstance(value, dict):
        return _read_members(value, forms, definitions, depth - 1)
    return value


def _read_text(text: str, types: set[str]) -> Any:
    """Return what a text stands for where no text is taken; the text if for nothing."""
    bare = text.strip()
    if "boolean" in types and bare.lower() in _TRUTHS:
        return _TRUTHS[bare.lower()]
    if "integer" in types and _WHOLE.fullmatch(bare):
        return int(bare.partition(".")[0])
    if "number" in types and _NUMBER.fullmatch(bare) and math.isfinite(float(bare)):
        return float(bare)
    if bare == "null":
        return None
    if not types & {"array", "object"}:
        return text
    value = _from_json(bare)
    if isinstance(value, list) and "array" in types:
        return value
    if isinstance(value, dict) and "object" in types:
        return value
    if "array" in types:
        return [text] if bare else []
    return text


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
    items: list[Any], forms: Sequence[_Schema], definitions: _Schema, depth: int
) -> list[Any]:
    arrays = [form for form in forms if form.get("type") == "array"]
    if len(arrays) != 1:
        return items
    item_forms = _forms(arrays[0].get("items", {}), definitions)
    return [_read(item, item_forms, definitions, depth) for item in items]


def _read_members(
    members: dict[str, Any], forms: Sequence[_Schema], definitions: _Schema, depth: int
) -> dict[str, Any]:
    objects = [form for form in forms if form.get("type") == "object"]
    if len(objects) != 1:
        return members
    properties = objects[0].get("properties", {})
    read: dict[str, Any] = {}
    for name, member in members.items():
        member_forms = _forms(properties.get(name, {}), definitions)
        read[name] = _read(member, member_forms, definitions, depth)
    return read
