"""A part of a file, as its reader makes it.

Standard library only, since each process that reads files starts with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Part(NamedTuple):
    """A part of a file: a section, or a symbol of its code.

    Attributes:
        node_type: section, code_module, code_class, code_function, code_method, image
            or scene.
        name: Headings, or the qualified name.
        text: The text.
        line: Where it begins, from 1; of a PDF the page, of a film the second.
        links: Pairs of relation and target.
    """

    node_type: str
    name: str
    text: str
    line: int = 1
    links: Sequence[tuple[str, str]] = ()
