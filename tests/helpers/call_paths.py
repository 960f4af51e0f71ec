"""Lists of functions in a text, and whether each function still names the next one.

A list is numbered; a hop is `module:qualname` in backticks at the beginning of an item.
A function names the next one of its list where its own source refers to it:

- by a name that it imports or its module defines, or by an attribute of a module;
- for a method, by an attribute of that name;
- by a table at the top level of a module, such as one of functions by names, in which
  the next one stands;
- for a command, by the word that calls it, where the function starts it in a process of
  its own.

A function that stands indented is named by the one that it stands under. One that is
followed by `(from N)` is named by number N of its list, not by the one before it.
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

_ITEM = re.compile(
    r"(?P<indent> *)(?P<number>\d+)\. `(?P<hop>[\w.]+:[\w.]+)`"
    r"(?: \(from (?P<caller>\d+)\))?"
)
_HEADING = re.compile(r"#+ (?P<title>.+)")


@dataclass
class Hop:
    """A function of a list.

    Attributes:
        name: Its module and its name in the module, with a colon between.
        indent: By how many spaces it is indented.
        number: Its number in the list.
        caller: The number of the function that names it; 0 where that is the one
            before it, or the one above it.
    """

    name: str
    indent: int = 0
    number: int = 0
    caller: int = 0

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

        The first function of a list is named by none. An indented function is named by
        the one that it stands under. Any other is named by the last one before it that
        is not indented, or by the one whose number it gives.
        """
        by_number = {hop.number: hop for hop in self.hops if not hop.indent}
        above: list[Hop] = []
        for hop in self.hops:
            while above and above[-1].indent > hop.indent:
                above.pop()
            caller = above[-1] if above else None
            if caller is not None and caller.indent == hop.indent:
                above.pop()
                if above:
                    caller = above[-1]
            if hop.caller:
                caller = by_number[hop.caller]
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
        hop = Hop(
            item["hop"],
            indent=len(item["indent"]),
            number=int(item["number"]),
            caller=int(item["caller"] or 0),
        )
        paths[-1].hops.append(hop)
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
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
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
    if _refers(source, hop, bindings) or _starts(source, hop):
        return True
    targets = (_target(node, bindings) for node in ast.walk(source))
    return any(_is_table_with(target, hop) for target in targets if target)


def _refers(tree: ast.AST, hop: Hop, bindings: dict[str, str]) -> bool:
    """Return whether a tree refers to a function, by its name or by an attribute."""
    owner, _, method = hop.qualname.rpartition(".")
    for node in ast.walk(tree):
        if _target(node, bindings) == hop.name:
            return True
        is_of_the_name = isinstance(node, ast.Attribute) and node.attr == method
        if owner and is_of_the_name and _target(node, bindings) is None:
            return True
    return False


def _target(node: ast.AST, bindings: dict[str, str]) -> str | None:
    """Return what a name, or an attribute of a module, stands for: `module:name`."""
    if isinstance(node, ast.Name):
        return bindings.get(node.id)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        module = bindings.get(node.value.id, "").replace(":", ".")
        if module and _tree_of(module) is not None:
            return f"{module}:{node.attr}"
    return None


def _is_table_with(target: str, hop: Hop) -> bool:
    """Return whether `module:NAME` is a table at the top of a module with a function."""
    module, _, name = target.partition(":")
    tree = _tree_of(module) if name else None
    if tree is None:
        return False
    bindings = _bindings(module, tree)
    return any(
        name in _assigned_names(node) and _refers(node, hop, bindings)
        for node in tree.body
    )


def _assigned_names(node: ast.stmt) -> list[str]:
    """Return the names that a statement assigns."""
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign):
        targets = [node.target]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _starts(source: FunctionNode, hop: Hop) -> bool:
    """Return whether a function has the word by which a command is called."""
    command = _source_of(hop)
    assert command is not None
    words = [node.value for node in ast.walk(source) if isinstance(node, ast.Constant)]
    for decorator in command.decorator_list:
        is_call = isinstance(decorator, ast.Call) and bool(decorator.args)
        if is_call and ast.unparse(decorator.func) == "command":
            name = decorator.args[0]
            return isinstance(name, ast.Constant) and name.value in words
    return False


def _bindings(module: str, tree: ast.Module) -> dict[str, str]:
    """Return by name what the top level of a module defines or imports."""
    bindings: dict[str, str] = {}
    for node in tree.body:
        names = _assigned_names(node)
        if isinstance(node, FunctionNode):
            names = [node.name]
        bindings |= {name: f"{module}:{name}" for name in names}
    return bindings | _imports(tree)


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
            if module:
                imports |= dict.fromkeys(_assigned_names(node), module)
    return imports


def _lazy_module(call: ast.Call) -> str:
    """Return the module of a `LazyModule("module")`, '' for another call."""
    is_lazy = isinstance(call.func, ast.Name) and call.func.id == "LazyModule"
    if is_lazy and call.args and isinstance(call.args[0], ast.Constant):
        return str(call.args[0].value)
    return ""
