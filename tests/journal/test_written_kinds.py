"""Every declared kind of events is appended by some code of the package.

It is read from the source: which strings reach the kind of `new_event`, as a literal, a
constant of a module, a local, or through parameters of functions that hand it on.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

import theorex_lab
from theorex_lab import installed
from theorex_lab.core.collector import collector_paused
from theorex_lab.journal.kinds import KINDS
from theorex_lab.memory.hook_payloads import BODIES

PACKAGE = Path(theorex_lab.__file__).parent
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
Assignment = ast.Assign | ast.AnnAssign | ast.For
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


def assigned_in(
    assignments: Iterable[Assignment], names: dict[str, set[str]]
) -> dict[str, set[str]]:
    """The strings that names may be after these assignments and loops."""
    assigned = defaultdict(set)
    for node in assignments:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        value = node.iter if isinstance(node, ast.For) else node.value
        for target in targets:
            if isinstance(target, ast.Name):
                assigned[target.id] |= constants_in(value, names)
    return assigned


def name_of(call: ast.Call) -> str:
    """The name of what is called."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


class Function(NamedTuple):
    """A function, with what stands in it, in functions within it too."""

    node: FunctionNode
    calls: dict[str, list[ast.Call]]  # by the name of what is called
    assignments: list[Assignment]


def note_functions(
    node: ast.AST, enclosing: Sequence[Function], functions: list[Function]
) -> None:
    """Note each function in a part of the source, which is gone through once."""
    for child in ast.iter_child_nodes(node):
        around = enclosing
        if isinstance(child, FunctionNode):
            function = Function(child, defaultdict(list), [])
            functions.append(function)
            around = [*enclosing, function]
        elif isinstance(child, ast.Call):
            for each in enclosing:
                each.calls[name_of(child)].append(child)
        elif isinstance(child, Assignment):
            for each in enclosing:
                each.assignments.append(child)
        note_functions(child, around, functions)


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
                for name, values in assigned_in([statement], self.constants).items():
                    self.constants.setdefault(name, set()).update(values)
        self.functions: list[Function] = []
        for tree in self.trees.values():
            note_functions(tree, (), self.functions)
        # By function, the names and positions of parameters that become a kind.
        self.writers: dict[str, set[int | str]] = {"new_event": {0, "kind"}}
        grown = {"new_event"}
        while grown:
            callers = [
                function
                for function in self.functions
                if not grown.isdisjoint(function.calls)
            ]
            grown = {each.node.name for each in callers if self._note_writer(each)}

    def written(self) -> set[str]:
        """The strings that reach the kind of an event."""
        kinds = set()
        for function in self.functions:
            arguments = [*self._kind_arguments(function)]
            if arguments:
                assigned = assigned_in(function.assignments, self.constants)
                names = self.constants | assigned
                for argument in arguments:
                    kinds |= constants_in(argument, names)
        return kinds

    def _kind_arguments(self, function: Function) -> Iterator[ast.expr]:
        for name in self.writers.keys() & function.calls.keys():
            places = self.writers[name]
            for call in function.calls[name]:
                for position, argument in enumerate(call.args):
                    if position in places:
                        yield argument
                for keyword in call.keywords:
                    if keyword.arg in places:
                        yield keyword.value

    def _note_writer(self, function: Function) -> bool:
        """Note that a function hands a parameter on as a kind; return whether it is new."""
        node = function.node
        arguments = [*node.args.posonlyargs, *node.args.args]
        names = [argument.arg for argument in arguments]
        is_method = names[:1] in (["self"], ["cls"])
        handed_on = {
            argument.id
            for argument in self._kind_arguments(function)
            if isinstance(argument, ast.Name)
        }
        places: set[int | str] = set()
        for position, name in enumerate(names):
            if name in handed_on:
                places.update({position - is_method, name})
        for argument in node.args.kwonlyargs:
            if argument.arg in handed_on:
                places.add(argument.arg)
        before = self.writers.get(node.name, set())
        if places <= before:
            return False
        self.writers[node.name] = before | places
        return True


@cache
def written() -> set[str]:
    """The strings that reach the kind of an event, anywhere in the package."""
    # Trees of the whole package are no garbage, and would be searched for it often.
    with collector_paused():
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
