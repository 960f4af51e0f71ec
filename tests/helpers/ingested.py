"""What the tests of documents share: files of each form, made here, and what a lab
finds of them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from theorex_lab import Lab
from theorex_lab.files.ingest.text import read_document
from theorex_lab.memory.document_part import Part


def read(name: str, content: str | bytes) -> list[Part]:
    """The sections of a file with this name and content."""
    parts, _ = read_document(
        Path(name), name, content.encode() if isinstance(content, str) else content
    )
    return parts


def told(parts: Sequence[Part]) -> list[tuple[str, str, int]]:
    return [(part.name, part.text, part.line) for part in parts]


def cited(parts: Sequence[Part]) -> list[str]:
    return [target for part in parts for _, target in part.links]


def pdf(*pages: bytes) -> bytes:
    """A PDF whose pages have these streams of operators."""
    from pypdf import PdfWriter
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    writer = PdfWriter()
    names = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
    font = DictionaryObject(
        {NameObject(key): NameObject(value) for key, value in names.items()}
    )
    for operators in pages:
        page = writer.add_blank_page(300, 300)
        stream = DecodedStreamObject()
        stream.set_data(operators)
        page[NameObject("/Contents")] = writer._add_object(stream)
        fonts = DictionaryObject(
            {NameObject("/Font"): DictionaryObject({NameObject("/F1"): font})}
        )
        page[NameObject("/Resources")] = fonts
    written = BytesIO()
    writer.write(written)
    return written.getvalue()


def page(*lines: str) -> bytes:
    """The operators that show these lines."""
    shown = " T* ".join(f"({line}) Tj" for line in lines)
    return f"BT /F1 12 Tf 14 TL 10 280 Td {shown} ET".encode()


def notebook(*cells: tuple[str, Any]) -> str:
    """A notebook of cells, each a kind and a source; those of code have an output."""
    made = [
        {"cell_type": kind, "source": source, "outputs": [{"text": "outputword"}]}
        for kind, source in cells
    ]
    return json.dumps({"nbformat": 4, "cells": made})


def folder(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """A folder with these files, by their paths in it."""
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(
            content.encode() if isinstance(content, str) else content
        )
    return root


def found(lab: Lab, query: str, **how: Any) -> set[tuple[str, str]]:
    """What a search for sections finds of a query: of each its file's place and
    headings, and its text.
    """
    hits = lab.search(query, kinds=["section"], **how)
    return {(hit.subject, hit.text.partition("\n")[2]) for hit in hits}


def ids(lab: Lab, query: str, **how: Any) -> dict[str, str]:
    """By headings, the ids of the sections that a query finds."""
    hits = lab.search(query, kinds=["section"], **how)
    return {hit.subject.partition(" › ")[2]: hit.id for hit in hits}
