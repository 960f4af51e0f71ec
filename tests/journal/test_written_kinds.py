"""Every declared kind of events is appended by some code of the package.

It is read from the source: which strings reach the kind of `new_event`, as a literal, a
constant of a module, a local, or through parameters of functions that hand it on.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import theorex_lab
from theorex_lab import installed
from theorex_lab.journal.kinds import KINDS
from theorex_lab.memory.hook_payloads import BODIES

PACKAGE = Path(theorex_lab.__file__).parent
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
# Kinds that no code appends any more, with what reads them where a journal, or an export
# of one, has them.
ONLY_READ = {
    "heard": "journal/kinds.py",  # by the check of bodies alone
}


def constants_in(node: ast.AST | None, names: dict[str, set[str]]) -> set[str]:
    """The strings that an expression may be, where they stand in the source."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return {node.value}
    if isinstance(node, ast.Name):
        return names.get(node.id, set())
    if isinstance(node, ast.Attribute):
        return names.get(node.attr, set())
    if isinstance(node, ast.IfExp):
        return constants_in(node.body, names) | constants_in(node.orelse, names)
    if isinstance(node, ast.Tuple | ast.List | ast.Dict):
        parts = node.values if isinstance(node, ast.Dict) else node.elts
        return set().union(*(constants_in(part, names) for part in parts))
    if isinstance(node, ast.Subscript):
        return constants_in(node.value, names)
    return set()


def assigned_in(node: ast.AST, names: dict[str, set[str]]) -> dict[str, set[str]]:
    """The strings that names may be after the assignments and loops in a part."""
    assigned = defaultdict(set)
    for inner in ast.walk(node):
        if isinstance(inner, ast.Assign):
            targets, value = inner.targets, inner.value
        elif isinstance(inner, ast.AnnAssign):
            targets, value = [inner.target], inner.value
        elif isinstance(inner, ast.For):
            targets, value = [inner.target], inner.iter
        else:
            continue
        for target in targets:
            if isinstance(target, ast.Name):
                assigned[target.id] |= constants_in(value, names)
    return assigned


def name_of(call: ast.Call) -> str:
    """The name of what is called."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


class Source:
    """The package's modules, and through which parameters a kind is handed on."""

    def __init__(self) -> None:
        self.trees = {
            path: ast.parse(path.read_text("utf-8")) for path in PACKAGE.rglob("*.py")
        }
        self.constants: dict[str, set[str]] = {}
        for tree in self.trees.values():
            for statement in tree.body:
                if not isinstance(statement, ast.Assign | ast.AnnAssign):
                    continue
                for name, values in assigned_in(statement, self.constants).items():
                    self.constants.setdefault(name, set()).update(values)
        # Each function with the calls in it.
        self.functions: list[tuple[FunctionNode, list[ast.Call]]] = []
        for tree in self.trees.values():
            for node in ast.walk(tree):
                if isinstance(node, FunctionNode):
                    calls = [n for n in ast.walk(node) if isinstance(n, ast.Call)]
                    self.functions.append((node, calls))
        # By function, the names and positions of parameters that become a kind.
        self.writers: dict[str, set[int | str]] = {"new_event": {0, "kind"}}
        size = 0
        while size != self._size():
            size = self._size()
            for function, calls in self.functions:
                self._note_writer(function, calls)

    def written(self) -> set[str]:
        """The strings that reach the kind of an event."""
        kinds = set()
        for function, calls in self.functions:
            arguments = [*self._kind_arguments(calls)]
            if arguments:
                names = self.constants | assigned_in(function, self.constants)
                for argument in arguments:
                    kinds |= constants_in(argument, names)
        return kinds

    def _size(self) -> int:
        return sum(map(len, self.writers.values()))

    def _kind_arguments(self, calls: list[ast.Call]) -> Iterator[ast.expr]:
        for call in calls:
            places = self.writers.get(name_of(call), ())
            for position, argument in enumerate(call.args):
                if position in places:
                    yield argument
            for keyword in call.keywords:
                if keyword.arg in places:
                    yield keyword.value

    def _note_writer(self, function: FunctionNode, calls: list[ast.Call]) -> None:
        """Note that a function hands a parameter on as a kind, where it does."""
        arguments = [*function.args.posonlyargs, *function.args.args]
        names = [argument.arg for argument in arguments]
        is_method = names[:1] in (["self"], ["cls"])
        handed_on = {
            argument.id
            for argument in self._kind_arguments(calls)
            if isinstance(argument, ast.Name)
        }
        for position, name in enumerate(names):
            if name in handed_on:
                places = self.writers.setdefault(function.name, set())
                places.update({position - is_method, name})
        for argument in function.args.kwonlyargs:
            if argument.arg in handed_on:
                self.writers.setdefault(function.name, set()).add(argument.arg)


@cache
def written() -> set[str]:
    """The strings that reach the kind of an event, anywhere in the package."""
    return Source().written()


def declared() -> set[str]:
    kinds = set(KINDS)
    for design in installed():
        kinds.update(design.kinds)
    return kinds


def test_every_kind_is_appended_by_some_code_or_named_with_its_reader() -> None:
    captured = {kind for kind, _ in BODIES.values()}
    unwritten = declared() - written() - captured
    assert unwritten == set(ONLY_READ)


@pytest.mark.parametrize("kind", ONLY_READ)
def test_what_reads_a_kind_that_nothing_appends_names_it(kind: str) -> None:
    source = (PACKAGE / ONLY_READ[kind]).read_text("utf-8")
    assert f'"{kind}"' in source


def test_a_kind_that_nothing_appends_is_noticed() -> None:
    assert {"dream", "nightly", "projects_merged"} <= written()
    assert not {"heard", "no such kind"} & written()
