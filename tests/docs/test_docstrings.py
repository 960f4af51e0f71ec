"""Docstrings of the package are true: the names in them exist, and those of public
callables name every parameter.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from doc_references import PACKAGE, resolve, unresolved

import theorex_lab
import theorex_lab.eval
from theorex_lab.core.settings import SettingsRecord

# Names that begin like a room and are none: git's settings.
OTHER_NAMES = frozenset({"core.worktree"})
# Objects that docstrings call by these names.
OBJECTS = {
    "journal": "journal.base.Journal",
    "lab": "store.lab.Lab",
    "home": "memory.contract.Home",
}
# Rooms of earlier releases; nothing has their names any more.
FORMER_ROOMS = ("exchange", "experiments", "serve", "console", "ingest", "scores")
FORMER = re.compile(rf"`((?:{'|'.join(FORMER_ROOMS)})(?:\.[A-Za-z_]\w*)+)`")

Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


# What stands in a statement and holds statements itself.
Holder = ast.stmt | ast.excepthandler | ast.match_case


def statements(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield a module and every statement in it; no expression holds a docstring."""
    nodes: list[ast.AST] = [tree]
    for node in nodes:
        yield node
        for child in ast.iter_child_nodes(node):
            if isinstance(child, Holder):
                nodes.append(child)


def docstrings() -> Iterator[tuple[str, str]]:
    """Yield where a docstring of the package stands, and its text."""
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in statements(tree):
            if isinstance(node, Documented):
                text = ast.get_docstring(node) or ""
                yield f"{name} {getattr(node, 'name', '')}".strip(), text


def wrong_names(text: str) -> list[str]:
    """Return what is wrong with the names in a docstring."""
    problems = []
    for problem in unresolved(text):
        reference = problem.partition(":")[0]
        if reference not in OTHER_NAMES and not _is_of_an_object(reference):
            problems.append(problem)
    for name in FORMER.findall(text):
        if not _exists(f"files.{name}"):
            problems.append(f"{name}: nothing has the name of that room any more")
        else:
            problems.append(f"{name}: say files.{name}")
    return problems


def _is_of_an_object(reference: str) -> bool:
    """Return whether a name is that of a method of a well-known object."""
    head, _, rest = reference.partition(".")
    return head in OBJECTS and _exists(f"{OBJECTS[head]}.{rest}")


def _exists(reference: str) -> bool:
    try:
        resolve(reference)
    except LookupError:
        return False
    return True


def places_with_wrong_names() -> dict[str, list[str]]:
    """Return by place what is wrong with the names in its docstring."""
    problems = {}
    for place, text in docstrings():
        wrong = wrong_names(text)
        if wrong:
            problems[place] = wrong
    return problems


def test_every_name_of_the_package_in_a_docstring_exists() -> None:
    assert places_with_wrong_names() == {}


def public_callables() -> Iterator[tuple[str, Callable[..., Any], str]]:
    """Yield the name, the signature's function and the docstring of every public
    callable: functions, classes and their public methods.
    """
    for module in (theorex_lab, theorex_lab.eval):
        yield from _callables_of(module)


def _callables_of(module: ModuleType) -> Iterator[tuple[str, Callable[..., Any], str]]:
    for name in module.__all__:
        value = getattr(module, name)
        if isinstance(value, type):
            yield from _class_and_methods(value)
        elif inspect.isfunction(value):
            yield name, value, inspect.getdoc(value) or ""


def _class_and_methods(
    value: type,
) -> Iterator[tuple[str, Callable[..., Any], str]]:
    # A record of settings explains each field where it is declared.
    if not issubclass(value, SettingsRecord):
        init_text = inspect.getdoc(value.__init__) or ""
        yield value.__name__, value, f"{inspect.getdoc(value)}\n{init_text}"
    for base in value.__mro__:
        if not base.__module__.startswith("theorex_lab"):
            continue
        for name, member in vars(base).items():
            method = getattr(member, "__func__", member)
            if not name.startswith("_") and inspect.isfunction(method):
                yield f"{base.__name__}.{name}", method, inspect.getdoc(method) or ""


def parameters_of(function: Callable[..., Any]) -> list[str]:
    """Return the names of a function's parameters, without `self` and `cls`.

    A class that says nothing of its own has those of any object: none.
    """
    try:
        names = list(inspect.signature(function).parameters)
    except ValueError:  # an exception's, which is built in
        return []
    return [name for name in names if name not in ("self", "cls", "args", "kwargs")]


def named_in(text: str) -> set[str]:
    """Return the names that a docstring explains under `Args:` or `Attributes:`.

    >>> sorted(named_in("Add.\\n\\nArgs:\\n    a, b: Numbers.\\n    **more: Others."))
    ['a', 'b', 'more']
    """
    names: set[str] = set()
    sections = re.findall(
        r"^ *(?:Args|Attributes):\n((?:(?: {4,}.*)?\n?)+)", text, re.MULTILINE
    )
    for section in sections:
        for line in section.splitlines():
            entry = re.match(r" +((?:\*{0,2}\w+(?:, )?)+)(?: \([^)]*\))?:", line)
            if entry:
                names |= set(re.findall(r"\w+", entry[1]))
    return names


def missing_parameters(function: Callable[..., Any], text: str) -> list[str]:
    """Return the parameters that a docstring does not explain."""
    parameters = parameters_of(function)
    if not text:
        return ["a docstring"]
    if len(parameters) == 1 and re.search(rf"\b{parameters[0]}\b", text):
        return []
    return [name for name in parameters if name not in named_in(text)]


def callables_with_missing_parameters() -> dict[str, list[str]]:
    """Return by public callable the parameters that its docstring does not explain."""
    problems = {}
    for name, function, text in public_callables():
        missing = missing_parameters(function, text)
        if missing:
            problems[name] = missing
    return problems


def test_the_docstring_of_a_public_callable_names_every_parameter() -> None:
    assert callables_with_missing_parameters() == {}


# The checks themselves.


@pytest.mark.parametrize(
    ("text", "n_problems"),
    [
        ("See `memory.retrieve.Searcher.search` and `theorex_lab.Lab`.", 0),
        ("See `memory.retrieve.Searcher.seek`.", 1),
        ("See `journal.exclusive`, and git's `core.worktree`.", 0),
        ("See `journal.inclusive`.", 1),
        ("See `exchange.home_files.import_home` and `ingest.code.CODE`.", 2),
        ("See `files.ingest.code.CODE`, in `memory.py` or `designs.NAME`.", 0),
    ],
)
def test_names_in_a_docstring_are_looked_up(text: str, n_problems: int) -> None:
    assert len(wrong_names(text)) == n_problems


def test_parameters_are_looked_for_under_args() -> None:
    def add(first: int, second: int, **more: int) -> None:
        """Do nothing."""

    def double(number: int) -> None:
        """Do nothing."""

    text = "Add.\n\nArgs:\n    first: A number.\n    second (int): Another.\n"
    assert missing_parameters(add, text) == ["more"]
    assert missing_parameters(add, f"{text}    **more: Others.\n") == []
    assert missing_parameters(add, "Add first and second.") == [
        "first",
        "second",
        "more",
    ]
    assert missing_parameters(double, "Double the number.") == []
    assert missing_parameters(double, "Double it.") == ["number"]
    assert missing_parameters(double, "") == ["a docstring"]


def test_methods_of_bases_in_the_package_are_looked_at() -> None:
    names = {name for name, _, _ in public_callables()}
    assert {"Lab", "Lab.search", "make_law", "compare", "Hits"} <= names
    assert Path(PACKAGE, "store").is_dir()
