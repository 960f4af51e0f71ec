"""Lists of functions in a text, and whether each function still names the next one.

A list is numbered; a hop is `module:qualname` in backticks at the beginning of an item.
A function names the next one of its list where its own source refers to it: by a name
that it imports or its module defines, by an attribute of a module, or, for a method, by
an attribute of that name. A function that stands indented is named by the one that it
stands under.
"""

from __future__ import annotations

import ast
import importlib.util
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

_ITEM = re.compile(r"(?P<indent> *)\d+\. `(?P<hop>[\w.]+:[\w.]+)`")
_HEADING = re.compile(r"#+ (?P<title>.+)")


@dataclass
class Hop:
    """A function of a list.

    Attributes:
        name: Its module and its name in the module, with a colon between.
        indent: By how many spaces it is indented.
    """

    name: str
    indent: int = 0

    @property
    def module(self) -> str:
        """The name of its module."""
        return self.name.partition(":")[0]

    @property
    def qualname(self) -> str:
        """Its name in the module."""
        return self.name.partition(":")[2]


@dataclass
class CallPath:
    """A list of functions: the heading that it stands under, and its hops in order."""

    title: str
    hops: list[Hop] = field(default_factory=list)

    def pairs(self) -> Iterator[tuple[Hop, Hop]]:
        """Yield each function that must name another one, and that one.

        The first function of a list is named by none. Of several indented functions
        each is named by the one that they stand under; the next function that is not
        indented is named by the last one before it that is not either.
        """
        above: list[Hop] = []
        for hop in self.hops:
            while above and above[-1].indent > hop.indent:
                above.pop()
            if above and above[-1].indent == hop.indent:
                former = above.pop()
                caller = above[-1] if above else former
            elif above:
                caller = above[-1]
            else:
                caller = None
            if caller is not None:
                yield caller, hop
            above.append(hop)


def call_paths(text: str) -> list[CallPath]:
    """Return the lists of functions in a text of Markdown."""
    paths: list[CallPath] = []
    title = ""
    for line in text.splitlines():
        heading = _HEADING.match(line)
        if heading:
            title = heading["title"]
            continue
        item = _ITEM.match(line)
        if item is None:
            continue
        if not paths or paths[-1].title != title:
            paths.append(CallPath(title))
        paths[-1].hops.append(Hop(item["hop"], len(item["indent"])))
    return paths


def problems_of(path: CallPath) -> list[str]:
    """Return what is not true of a list, one sentence each."""
    problems = [
        f"{path.title}: {hop.name} does not exist"
        for hop in path.hops
        if _source_of(hop) is None
    ]
    if problems:
        return problems
    for caller, hop in path.pairs():
        if not _names(caller, hop):
            problems.append(f"{path.title}: {caller.name} does not name {hop.name}")
    return problems


@lru_cache(maxsize=256)
def _tree_of(module: str) -> ast.Module | None:
    """Return the syntax tree of a module, which is not run; None where there is none."""
    try:
        spec = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        return None
    if spec is None or spec.origin is None:
        return None
    return ast.parse(Path(spec.origin).read_text(encoding="utf-8"))


def _source_of(hop: Hop) -> FunctionNode | None:
    """Return the syntax tree of a function, None where there is no such function."""
    tree = _tree_of(hop.module)
    if tree is None:
        return None
    node: ast.Module | FunctionNode = tree
    for name in hop.qualname.split("."):
        definitions = [
            child
            for child in node.body
            if isinstance(child, FunctionNode) and child.name == name
        ]
        if not definitions:
            return None
        node = definitions[-1]
    assert isinstance(node, FunctionNode)
    return node


def _names(caller: Hop, hop: Hop) -> bool:
    """Return whether a function's source refers to another one."""
    tree = _tree_of(caller.module)
    source = _source_of(caller)
    assert tree is not None
    assert source is not None
    bindings = _bindings(caller.module, tree) | _imports(source)
    owner, _, method = hop.qualname.rpartition(".")
    for node in ast.walk(source):
        if isinstance(node, ast.Name):
            if bindings.get(node.id) == hop.name:
                return True
        elif isinstance(node, ast.Attribute):
            module = _module_named(node.value, bindings)
            if module is not None and f"{module}:{node.attr}" == hop.name:
                return True
            if owner and module is None and node.attr == method:
                return True
    return False


def _module_named(node: ast.expr, bindings: dict[str, str]) -> str | None:
    """Return the module that an expression stands for, None where it is none."""
    if not isinstance(node, ast.Name):
        return None
    target = bindings.get(node.id, "")
    module = target.replace(":", ".")
    if module and _tree_of(module) is not None:
        return module
    return None


def _bindings(module: str, tree: ast.Module) -> dict[str, str]:
    """Return by name what the top level of a module defines or imports."""
    bindings = _imports(tree)
    for node in tree.body:
        if isinstance(node, FunctionNode):
            bindings[node.name] = f"{module}:{node.name}"
    return bindings


def _imports(tree: ast.AST) -> dict[str, str]:
    """Return by name what is imported anywhere in a tree: `module:name`, or a module.

    A `LazyModule("module")` that is given a name is an import too.
    """
    imports: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                imports[alias.asname or alias.name] = f"{node.module}:{alias.name}"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname:
                    imports[alias.asname] = alias.name
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            module = _lazy_module(node.value)
            for target in node.targets:
                if module and isinstance(target, ast.Name):
                    imports[target.id] = module
    return imports


def _lazy_module(call: ast.Call) -> str:
    """Return the module of a `LazyModule("module")`, '' for another call."""
    is_lazy = isinstance(call.func, ast.Name) and call.func.id == "LazyModule"
    if is_lazy and call.args and isinstance(call.args[0], ast.Constant):
        return str(call.args[0].value)
    return ""
