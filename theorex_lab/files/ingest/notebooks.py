"""The cells of notebooks, of nbformat 1 to 4."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from theorex_lab.core.errors import InvalidInput

# Where the formats keep the source of a cell, the newest first.
_SOURCES = ("source", "input", "code", "text")
_KINDS = (
    "markdown",
    "code",
    "raw",
    "heading",
    "html",
    "text",
    "plaintext",
    "rst",
)
_DEEPEST_LEVEL = 6
_SHOWN_CHARACTERS = 40
_NO_NOTEBOOK = "it is no notebook"


class NotebookCell(NamedTuple):
    """A cell of a notebook.

    Attributes:
        number: Its number, from 1.
        kind: Its kind.
        source: Its source.
        level: The level of a heading.
        problem: Why it could not be read, '' where it could.
        outputs: The characters of its outputs.
        attachments: The characters of what is attached to it.
    """

    number: int
    kind: str = "raw"
    source: str = ""
    level: int = 0
    problem: str = ""
    outputs: int = 0
    attachments: int = 0


def notebook_cells(text: str) -> Iterator[NotebookCell]:
    """Yield the cells of a notebook; one that is broken says so, the others are read.

    Args:
        text: The file.

    Raises:
        InvalidInput: For what is no notebook.

    >>> broken = '{"cells": [{"cell_type": "code", "source": null}, 3]}'
    >>> [cell.problem for cell in notebook_cells(broken)]
    ['its source is null', 'it is a number']
    """
    try:
        notebook = json.loads(text)
    except RecursionError as error:
        raise InvalidInput(f"{_NO_NOTEBOOK}: it is nested too deep") from error
    except ValueError as error:
        raise InvalidInput(f"{_NO_NOTEBOOK}: it is no JSON ({error})") from error
    for number, cell in enumerate(_cells_of(notebook), start=1):
        yield _read_cell(number, cell)


def check_readable(cells: Sequence[NotebookCell]) -> None:
    """Raise InvalidInput where no cell of a notebook can be read, though it has some."""
    is_lost = all(cell.problem and not cell.source for cell in cells)
    if not cells or not is_lost:
        return
    first = f"cell 1: {cells[0].problem}"
    if len(cells) == 1:
        raise InvalidInput(f"its only cell cannot be read ({first})")
    raise InvalidInput(f"none of its {len(cells):,} cells can be read ({first})")


def _cells_of(notebook: Any) -> list[Any]:
    """Return the cells of a notebook, in order.

    Formats 2 and 3 have them in worksheets.
    """
    if not isinstance(notebook, Mapping):
        raise InvalidInput(f"{_NO_NOTEBOOK}: it is {_kind_name(notebook)}")
    holders = [notebook, *_worksheets_of(notebook)]
    lists = [holder.get("cells") for holder in holders]
    cells = list[Any]()
    for listed in lists:
        if isinstance(listed, list):
            cells += listed
    is_notebook = isinstance(notebook.get("worksheets"), list)
    is_notebook |= isinstance(notebook.get("cells"), list)
    if not is_notebook:
        raise InvalidInput(
            f"{_NO_NOTEBOOK}: it has no list of cells; `jupyter nbconvert --to notebook`"
            " repairs old ones"
        )
    return cells


def _worksheets_of(notebook: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the worksheets of an old notebook."""
    worksheets = notebook.get("worksheets")
    if not isinstance(worksheets, list):
        return []
    return [sheet for sheet in worksheets if isinstance(sheet, Mapping)]


def _read_cell(number: int, cell: Any) -> NotebookCell:
    """Return a cell, with its problem where it has one."""
    if not isinstance(cell, Mapping):
        return NotebookCell(number, problem=f"it is {_kind_name(cell)}")
    outputs = _n_characters(cell.get("outputs"))
    attachments = _n_characters(cell.get("attachments"))
    sized = NotebookCell(number, outputs=outputs, attachments=attachments)
    names = [name for name in _SOURCES if name in cell]
    if not names:
        return sized._replace(problem="it has no source")
    source = _joined(cell[names[0]])
    if source is None:
        problem = f"its source is {_kind_name(cell[names[0]])}"
        return sized._replace(problem=problem)
    kind = cell.get("cell_type")
    if kind not in _KINDS:
        stated_kind = json.dumps(kind, ensure_ascii=False)
        shown_kind = stated_kind[:_SHOWN_CHARACTERS]
        problem = f"its type is {shown_kind}, and it was read as plain text"
        return sized._replace(source=source, problem=problem)
    level = _level_of(cell) if kind == "heading" else 0
    return sized._replace(kind=str(kind), source=source, level=level)


def _level_of(cell: Mapping[str, Any]) -> int:
    """Return the level of a heading, 1 where it has none that is one."""
    level = cell.get("level")
    if not isinstance(level, int):
        return 1
    return min(max(level, 1), _DEEPEST_LEVEL)


def _joined(source: Any) -> str | None:
    """Return a source as one text, None where it is none."""
    if isinstance(source, str):
        return source
    if not isinstance(source, list):
        return None
    lines = [line for line in source if isinstance(line, str)]
    return "".join(lines) if len(lines) == len(source) else None


def _n_characters(value: Any) -> int:
    """Return how many characters that are no blanks the texts in a value have."""
    waiting = [value]
    n_characters = 0
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            words = part.split()
            n_characters += sum(map(len, words))
        elif isinstance(part, Mapping):
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
    return n_characters


def _kind_name(value: Any) -> str:
    """Return in words what kind of JSON value this is."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a text"
    if isinstance(value, list):
        return "a list of other things than texts"
    return "an object"
