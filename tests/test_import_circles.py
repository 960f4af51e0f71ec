"""No files of the package import each other in a circle, imports inside functions
included.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import networkx as nx

PACKAGE = Path(__file__).parents[1] / "theorex_lab"
# Packages whose `__init__` hands out names of the whole package when they are asked for.
FRONTS = {"theorex_lab", "theorex_lab.eval"}
# Still open; the list may only shrink.
CIRCLES_STILL_OPEN: list[set[str]] = []


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_for_types_alone(node: ast.AST) -> bool:
    """Whether it is `if TYPE_CHECKING:`, under either of its names."""
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


# What stands in a statement and holds statements itself. No expression holds an import.
HOLDER = ast.stmt | ast.excepthandler | ast.match_case


def statements_that_run(node: ast.AST) -> Iterator[ast.AST]:
    """A tree's statements without those that only type checkers see."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, HOLDER):
            continue
        if isinstance(child, ast.If) and is_for_types_alone(child):
            for other in child.orelse:
                yield other
                yield from statements_that_run(other)
            continue
        yield child
        yield from statements_that_run(child)


def imported_modules(tree: ast.Module, names: set[str]) -> Iterator[str]:
    """The files of the package that a file imports: of `from a import b` the module
    a.b where it is one, else a.
    """
    for node in statements_that_run(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in names)
        elif isinstance(node, ast.ImportFrom) and node.module in names:
            for alias in node.names:
                below = f"{node.module}.{alias.name}"
                yield below if below in names else str(node.module)


def import_circles() -> list[set[str]]:
    """Sets of files that import each other, in the order of their names."""
    paths = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}
    graph = nx.DiGraph()
    for name, path in paths.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for imported in imported_modules(tree, set(paths)):
            if imported not in FRONTS:
                graph.add_edge(name, imported)
    assert graph.number_of_edges() > 500
    circles = [set(part) for part in nx.strongly_connected_components(graph)]
    return sorted((part for part in circles if len(part) > 1), key=min)


def test_no_files_import_each_other_in_a_circle() -> None:
    unexpected = [
        sorted(circle)
        for circle in import_circles()
        if not any(circle <= expected for expected in CIRCLES_STILL_OPEN)
    ]
    assert unexpected == []
