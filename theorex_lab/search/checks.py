"""What an object that is handed in as an embedder must have; nothing of it is called, since it may ask a model."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from theorex_lab.errors import InvalidInput

_ABSENT = object()
_MEMBERS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "id": ("a text that is not empty", lambda value: isinstance(value, str) and bool(value.strip())),
    "dimensions": ("a whole number from 1", lambda value: type(value) is int and value > 0),
    "kind": ("'semantic' or 'lexical'", lambda value: value in ("semantic", "lexical")),
    "embed": ("a method", callable),
}


def check_embedder(given: Any) -> None:
    """Raises InvalidInput, naming all that is wrong, where `given` is no `search.embed.Embedder`.

    What is computed when it is asked for (a property) is only looked for.
    """
    if isinstance(given, type):
        raise InvalidInput(f"got the class {given.__name__} for an embedder; allowed is an object of it")
    wrong = []
    for name, (allowed, is_right) in _MEMBERS.items():
        if (found := inspect.getattr_static(given, name, _ABSENT)) is _ABSENT:
            wrong.append(f"it has no {name} (allowed: {allowed})")
        elif not hasattr(type(found), "__get__") and not is_right(found):
            wrong.append(f"{name} is {found!r:.100} (allowed: {allowed})")
    if wrong:
        raise InvalidInput(f"got a {type(given).__name__} for an embedder: {'; '.join(wrong)}")
