"""Names of code in texts: find them, and look each of them up."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import theorex_lab

ROOT = Path(__file__).parents[2]
PACKAGE = Path(theorex_lab.__file__).parent
ROOMS = tuple(sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py")))

_CODE_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_FENCE = re.compile(r"^( *)```.*?^\1```", re.DOTALL | re.MULTILINE)
_DOTTED = re.compile(
    rf"(?:theorex_lab|{'|'.join(ROOMS)})(?:\.[A-Za-z_]\w*)+"
    r"(?::[A-Za-z_][\w.]*)?"
)
_FILE_ENDINGS = ("py", "md", "sql", "json", "jsonl", "toml", "db", "txt", "html")
_PLACEHOLDERS = ("NAME", "DESIGN", "ROOM")


def code_spans(text: str) -> Iterator[str]:
    """Yield what stands in single backticks, outside of fenced blocks."""
    for match in _CODE_SPAN.finditer(_FENCE.sub("", text)):
        yield match[1]


def references_in(text: str) -> list[str]:
    """Return the dotted names of the package in backticks, in their order.

    They begin with a room or with `theorex_lab`. Names of files and names that hold
    a placeholder are left out.

    >>> references_in("see `memory.decay.Law`, `x.py` and `designs.NAME`")
    ['memory.decay.Law']
    """
    references = []
    for span in code_spans(text):
        name = span.removesuffix("()")
        if not _DOTTED.fullmatch(name):
            continue
        parts = re.split(r"[.:]", name)
        is_file = parts[-1] in _FILE_ENDINGS
        if not is_file and not set(parts) & set(_PLACEHOLDERS):
            references.append(name)
    return references


def resolve(reference: str) -> Any:
    """Return what a dotted name stands for.

    Args:
        reference: Such as `memory.decay.Law`, with or without `theorex_lab.`, and with
            a dot or a colon after the module.

    Raises:
        LookupError: Nothing has the name.

    >>> resolve("memory.decay.Law").__name__
    'Law'
    """
    name = reference.replace(":", ".")
    if not name.startswith("theorex_lab."):
        name = f"theorex_lab.{name}"
    parts = name.split(".")
    module, n_parts = _longest_module(parts)
    value: Any = module
    for part in parts[n_parts:]:
        if not _has(value, part):
            raise LookupError(f"{reference}: {value!r:.80} has no {part!r}")
        value = getattr(value, part, None)
    return value


def _longest_module(parts: list[str]) -> tuple[Any, int]:
    """Return the module that a name begins with, and how many parts name it."""
    for n_parts in range(len(parts), 0, -1):
        module_name = ".".join(parts[:n_parts])
        try:
            return importlib.import_module(module_name), n_parts
        except ModuleNotFoundError as error:
            if error.name is None or not module_name.startswith(error.name):
                raise
    raise LookupError(f"{parts[0]} is no module")


def _has(value: Any, name: str) -> bool:
    """Return whether a value has an attribute, or its instances have."""
    if hasattr(value, name):
        return True
    if not isinstance(value, type):
        return False
    for base in value.__mro__:
        if name in vars(base).get("__annotations__", {}):
            return True
        init = vars(base).get("__init__")
        code = getattr(init, "__code__", None)
        if code is not None and name in code.co_names:
            return True
    return False


def unresolved(text: str) -> list[str]:
    """Return what is wrong with each dotted name in a text that stands for nothing."""
    problems = []
    for reference in references_in(text):
        try:
            resolve(reference)
        except LookupError as error:
            problems.append(str(error))
    return problems
