"""Untrusted JSON, read into typed records: what is not as a type says is refused with its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from theorex_lab.errors import InvalidInput
from theorex_lab.experiments.data.dataset_files import Content

SHOWN_CHARACTERS = 60
T = TypeVar("T")


def refused(place: str, got: object, allowed: str) -> InvalidInput:
    """The error for something at `place`; the caller raises it.

    >>> refused("a.json: item 3", 7, "allowed is a text")
    InvalidInput('a.json: item 3: got 7; allowed is a text; replace the file by the unchanged one')
    """
    shown = repr(got)
    if len(shown) > SHOWN_CHARACTERS:
        shown = shown[:SHOWN_CHARACTERS] + "…"
    return InvalidInput(f"{place}: got {shown}; {allowed}; replace the file by the unchanged one")


def read_json(content: Content, kind: type[T]) -> T:
    """The content as JSON of this type. Raises InvalidInput naming the first value that is not as the type says.

    >>> read_json(Content("a.json", b'{"reward": 1}'), dict[str, float])
    {'reward': 1.0}
    """
    return _checked(content.place, TypeAdapter(kind).validate_json, content.data)


def read_json_lines(content: Content, kind: type[T]) -> list[T]:
    """The content as JSON Lines of this type each; blank lines are passed over. Raises as `read_json`."""
    read, lines = TypeAdapter(kind).validate_json, enumerate(content.data.split(b"\n"), start=1)
    return [_checked(f"{content.place}, line {number}", read, line) for number, line in lines if line.strip()]


def _checked(place: str, validate: Callable[[Any], T], value: object) -> T:
    try:
        return validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise refused(": ".join(map(str, (place, *first["loc"]))), first["input"], first["msg"]) from error
