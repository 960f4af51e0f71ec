"""Read graphs of theorems in a process of its own."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from theorex_lab.designs.research.readers import (
    Link,
    Node,
    ReadTheorems,
    read_theorems,
)
from theorex_lab.files.isolated.limits import ReadLimits
from theorex_lab.files.isolated.process import ReaderProcess


def theorems_in(path: Path | str, limits: ReadLimits | None = None) -> ReadTheorems:
    """Return the theorems of a file or a folder; see `readers.read_theorems`.

    Args:
        path: The file or folder.
        limits: What reading it may cost.

    Raises:
        InvalidInput: It holds no theorems, or takes too much.
    """
    with ReaderProcess(limits) as process:
        members = process.call(read_theorems, Path(path))
    theorems = ReadTheorems(*members)
    # JSON has lists for tuples.
    nodes = [_as_node(*node) for node in theorems.nodes]
    links = [_as_link(*link) for link in theorems.links]
    return theorems._replace(nodes=nodes, links=links)


def _as_node(name: str, statement: str, tags: Iterable[str]) -> Node:
    return name, statement, tuple(tags)


def _as_link(start: str, end: str, relation: str) -> Link:
    return start, end, relation
