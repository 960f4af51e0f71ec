"""One meaning a name: no public class is defined twice."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "theorex_lab"


def public_classes() -> dict[str, list[str]]:
    """Class -> the modules that define it at their top level."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(module)
    return found


def test_no_public_class_is_defined_twice() -> None:
    assert {name: modules for name, modules in public_classes().items() if len(modules) > 1} == {}
