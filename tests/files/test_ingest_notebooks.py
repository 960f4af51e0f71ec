"""Notebooks of every format: a broken cell is named, and the others are read."""

from __future__ import annotations

import codecs
import json
from pathlib import Path
from typing import Any

import pytest
from ingested import told

from theorex_lab import InvalidInput
from theorex_lab.files.ingest.documents import Account
from theorex_lab.files.ingest.text import read_document
from theorex_lab.memory.documents import Part


def read_book(book: Any, mark: bytes = b"") -> tuple[list[Part], list[str], Account]:
    """The parts of a notebook, its problems in words, and its account."""
    content = mark + json.dumps(book).encode()
    parts, problems = read_document(Path("a.ipynb"), "a.ipynb", content)
    words = [problem for problem in problems if isinstance(problem, str)]
    (account,) = (problem for problem in problems if isinstance(problem, Account))
    return parts, words, account


def cell(kind: object = "markdown", source: object = "Tides.", **more: Any) -> Any:
    return {"cell_type": kind, "source": source, **more}


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        (cell("code", None), "cell 2 was left out: its source is null"),
        (cell("code", 3), "cell 2 was left out: its source is a number"),
        (
            cell("code", ["a", None]),
            "cell 2 was left out: its source is a list of other things than texts",
        ),
        ({"cell_type": "code"}, "cell 2 was left out: it has no source"),
        (None, "cell 2 was left out: it is null"),
        ("text", "cell 2 was left out: it is a text"),
        (
            {"source": "kept"},
            "cell 2: its type is null, and it was read as plain text",
        ),
        (
            cell(["code"], "kept"),
            'cell 2: its type is ["code"], and it was read as plain text',
        ),
    ],
)
def test_a_broken_cell_is_named_and_the_others_are_read(
    broken: Any, problem: str
) -> None:
    book = {"nbformat": 4, "cells": [cell(), broken, cell("code", "f()", outputs=3)]}
    parts, problems, _ = read_book(book)
    assert problems == [problem]
    texts = [part.text for part in parts]
    assert texts[0] == "Tides."
    assert texts[-1] == "```\nf()\n```"
    assert ("kept" in texts) == ("read as" in problem)


def test_worksheets_of_old_formats_are_read() -> None:
    cells = [
        {"cell_type": "heading", "level": 1, "source": ["On sluices"]},
        {"cell_type": "markdown", "source": ["The sluice ", "opens."]},
        {"cell_type": "code", "input": ["def open():\n", "    pass"], "outputs": []},
        {"cell_type": "heading", "level": 9, "source": "At night"},
    ]
    book = {"nbformat": 3, "worksheets": [{"cells": cells[:2]}, {"cells": cells[2:]}]}
    parts, problems, _ = read_book(book)
    assert problems == []
    assert told(parts) == [
        ("On sluices", "The sluice opens.", 2),
        ("On sluices (2)", "```\ndef open():\n    pass\n```", 3),
        ("On sluices › At night", "At night", 4),
    ]


def test_cells_of_the_first_format_are_read() -> None:
    book = {
        "cells": [
            {"cell_type": "text", "text": "x"},
            {"cell_type": "code", "code": "y"},
        ]
    }
    parts, problems, _ = read_book(book)
    assert ([part.text for part in parts], problems) == (["x", "```\ny\n```"], [])


def test_a_byte_order_mark_does_no_harm() -> None:
    parts, problems, _ = read_book({"cells": [cell()]}, codecs.BOM_UTF8)
    assert (told(parts), problems) == ([("a.ipynb", "Tides.", 1)], [])


def test_outputs_and_attachments_are_counted() -> None:
    picture = {"image.png": {"image/png": "iVBORw0KGgo="}}
    outputs = [{"output_type": "stream", "text": ["1 2\n", "3"]}]
    book = {
        "cells": [
            cell("markdown", "See ![](attachment:image.png)", attachments=picture),
            cell("code", "count()", outputs=outputs),
            cell("raw", "\\begin{x}"),
        ]
    }
    parts, problems, account = read_book(book)
    assert (len(parts), problems) == (3, [])
    assert account.left_out == {
        "attachments of cells": 12,
        "outputs of cells": len("stream123"),
    }
    n_sources = len("See![](attachment:image.png)") + len("count()") + len("\\begin{x}")
    assert account.characters == n_sources + 12 + 9


@pytest.mark.parametrize(
    ("book", "why"),
    [
        ([], "it is no notebook: it is a list"),
        (3, "it is no notebook: it is a number"),
        ({"nbformat": 4}, "it has no list of cells; `jupyter nbconvert"),
        ({"cells": {}}, "it has no list of cells"),
        ({"cells": [None]}, r"its only cell cannot be read \(cell 1: it is null\)"),
    ],
)
def test_what_is_no_notebook_is_refused_with_a_hint(book: Any, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        read_book(book)
