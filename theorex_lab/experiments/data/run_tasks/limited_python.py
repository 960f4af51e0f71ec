"""Python functions that a model wrote, evaluated on their syntax tree: a subset of the language, bounded in all it does.

Nothing is compiled or executed. Known are the statements and expressions below, some built-in functions and methods,
and names that the code assigned itself; everything else is refused. Steps, sizes and depths have limits, so that no code
takes long or much memory.
"""

from __future__ import annotations

import ast
import operator
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

_MAX_STEPS = 20_000
_MAX_SIZE = 1_000  # characters, elements and bits of any value, all that it holds counted
_MAX_DEPTH = 40
_MAX_SOURCE = 4_000

_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow,
}  # fmt: skip
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
    ast.In: lambda left, right: left in right, ast.NotIn: lambda left, right: left not in right,
}  # fmt: skip
_UNARY: Mapping[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Not: operator.not_,
}  # fmt: skip
_BUILTINS: Mapping[str, Callable[..., Any]] = {
    "abs": abs, "all": all, "any": any, "bool": bool, "dict": dict, "float": float, "int": int, "len": len,
    "list": list, "max": max, "min": min, "range": range, "round": round, "set": set, "sorted": sorted, "str": str,
    "sum": sum, "tuple": tuple, "enumerate": lambda *a, **k: list(enumerate(*a, **k)),
    "reversed": lambda values: list(reversed(values)), "zip": lambda *lists: list(zip(*lists, strict=False)),
}  # fmt: skip
_METHODS: Mapping[type, frozenset[str]] = {
    str: frozenset(
        "capitalize count endswith find index isalpha isdigit islower isupper join lower lstrip replace rstrip split"
        " startswith strip title upper".split()
    ),
    list: frozenset("append copy count extend index insert pop remove reverse sort".split()),
    dict: frozenset("copy get items keys pop setdefault update values".split()),
    set: frozenset("add discard union intersection difference".split()),
    tuple: frozenset("count index".split()),
}
_ERRORS = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError)


class Refused(Exception):
    """The code is not of the subset, went over a limit, or raised an error."""


class _Return(Exception):
    def __init__(self, value: Any) -> None:
        self.value = value


class _Leave(Exception):
    """A break or a continue."""

    def __init__(self, ends_loop: bool) -> None:
        self.ends_loop = ends_loop


def call_function(source: str, name: str, arguments: tuple[Any, ...]) -> Any:
    """The result of the function `name` that `source` defines; lines after it that do not parse are left out.

    Raises Refused for code outside the subset, over a limit, or in error.

    >>> call_function("def half(n):\\n    return n / 2\\nand so on", "half", (3,))
    1.5
    """
    return _Evaluator(_parsed(source)).run(name, arguments)


def evaluate(expression: str) -> Any:
    """The value of one expression. Raises Refused as `call_function` does.

    >>> evaluate("3 * (4 + 1)")
    15
    """
    return call_function(f"def value():\n    return ({expression.strip()})", "value", ())


def _parsed(source: str) -> ast.Module:
    # A model that talks on, or was cut off, leaves lines that are no code before and after its function.
    found = re.search(r"^def ", source, re.MULTILINE)
    lines = source[found.start() :][:_MAX_SOURCE].splitlines() if found else []
    for last in range(len(lines), 0, -1):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of odd escapes in the model's strings
                return ast.parse("\n".join(lines[:last]))
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            continue
    raise Refused("no function was found")


class _Evaluator:
    """Walks the tree; `depth` counts calls of the code's own functions."""

    def __init__(self, module: ast.Module) -> None:
        self.functions = {node.name: node for node in module.body if isinstance(node, ast.FunctionDef)}
        self.steps, self.depth = 0, 0

    def run(self, name: str, arguments: tuple[Any, ...]) -> Any:
        if name not in self.functions:
            raise Refused(f"the function {name} is not defined")
        try:
            return self._call(self.functions[name], list(arguments), {})
        except _ERRORS as error:
            raise Refused(f"{type(error).__name__}: {error}") from error
        except _Leave as error:
            raise Refused("a break or continue outside of a loop") from error

    def _call(self, function: ast.FunctionDef, arguments: list[Any], named: dict[str, Any]) -> Any:
        parameters = function.args
        names = [argument.arg for argument in parameters.args]
        if parameters.vararg or parameters.kwarg or parameters.kwonlyargs or parameters.posonlyargs:
            raise Refused("only plain parameters are known")
        defaults = dict(zip(names[::-1], [self.value(node, {}) for node in parameters.defaults[::-1]], strict=False))
        scope = {**defaults, **dict(zip(names, arguments, strict=False)), **named}
        self.depth += 1
        if scope.keys() != set(names) or len(arguments) > len(names) or self.depth > _MAX_DEPTH:
            raise Refused("wrong arguments, or calls too deep")
        try:
            self.body(function.body, scope)
        except _Return as result:
            return result.value
        finally:
            self.depth -= 1
        return None

    def body(self, statements: list[ast.stmt], scope: dict[str, Any]) -> None:
        for statement in statements:
            self.statement(statement, scope)

    def statement(self, node: ast.stmt, scope: dict[str, Any]) -> None:
        match node:
            case ast.Return():
                raise _Return(self.value(node.value, scope) if node.value else None)
            case ast.Assign():
                value = self.value(node.value, scope)
                for target in node.targets:
                    self.assign(target, value, scope)
            case ast.AnnAssign(value=ast.expr() as given):
                self.assign(node.target, self.value(given, scope), scope)
            case ast.AugAssign():
                old = ast.copy_location(ast.BinOp(_loaded(node.target), node.op, node.value), node)
                self.assign(node.target, self.value(old, scope), scope)
            case ast.If():
                self.body(node.body if self.value(node.test, scope) else node.orelse, scope)
            case ast.For() | ast.While():
                self.loop(node, scope)
            case ast.Break() | ast.Continue():
                raise _Leave(isinstance(node, ast.Break))
            case ast.Expr():
                self.value(node.value, scope)
            case ast.Pass():
                pass
            case _:
                raise Refused(f"{type(node).__name__} is not known here")

    def loop(self, node: ast.For | ast.While, scope: dict[str, Any]) -> None:
        for _ in self._turns(node, scope):
            try:
                self.body(node.body, scope)
            except _Leave as left:
                if left.ends_loop:
                    return
        self.body(node.orelse, scope)

    def _turns(self, node: ast.For | ast.While, scope: dict[str, Any]) -> Iterator[None]:
        if isinstance(node, ast.For):
            for value in self.value(node.iter, scope):
                self.assign(node.target, value, scope)
                self.count()
                yield
        else:
            while self.value(node.test, scope):
                yield

    def assign(self, target: ast.expr, value: Any, scope: dict[str, Any]) -> None:
        match target:
            case ast.Name():
                scope[target.id] = value
            case ast.Tuple() | ast.List():
                for part, one in zip(target.elts, value, strict=True):
                    self.assign(part, one, scope)
            case ast.Subscript():
                self.value(target.value, scope)[self.value(target.slice, scope)] = value
            case _:
                raise Refused(f"{type(target).__name__} cannot be assigned to")

    def count(self) -> None:
        self.steps += 1
        if self.steps > _MAX_STEPS:
            raise Refused(f"more than {_MAX_STEPS} steps")

    def value(self, node: ast.expr, scope: dict[str, Any]) -> Any:
        self.count()
        found = self._value(node, scope)
        self.steps += _size(found) // 50
        return found

    def _value(self, node: ast.expr, scope: dict[str, Any]) -> Any:
        match node:
            case ast.Constant():
                return node.value
            case ast.Name():
                return self._name(node.id, scope)
            case ast.BinOp():
                return self._binary(node.op, self.value(node.left, scope), self.value(node.right, scope))
            case ast.UnaryOp() if type(node.op) in _UNARY:
                return _UNARY[type(node.op)](self.value(node.operand, scope))
            case ast.BoolOp():
                return self._either(node, scope)
            case ast.Compare():
                return self._compare(node, scope)
            case ast.IfExp():
                return self.value(node.body if self.value(node.test, scope) else node.orelse, scope)
            case ast.Subscript():
                return self.value(node.value, scope)[self.value(node.slice, scope)]
            case ast.Slice():
                return slice(
                    *(self.value(part, scope) if part else None for part in (node.lower, node.upper, node.step))
                )
            case ast.Call():
                return self._called(node, scope)
            case ast.JoinedStr():
                return "".join(self._formatted(part, scope) for part in node.values)
            case _:
                return self._collection(node, scope)

    def _name(self, name: str, scope: dict[str, Any]) -> Any:
        if name in scope:
            return scope[name]
        if name in _BUILTINS:
            return _BUILTINS[name]
        raise Refused(f"the name {name} is not known")

    def _binary(self, kind: ast.operator, left: Any, right: Any) -> Any:
        if type(kind) not in _BINARY or (isinstance(kind, ast.Mod) and isinstance(left, str)):
            raise Refused(f"{type(kind).__name__} is not known here")
        if isinstance(kind, ast.Pow) and (abs(right) > _MAX_SIZE or _size(left) * abs(right) > _MAX_SIZE):
            raise Refused("a power is too large")
        if isinstance(kind, ast.Mult):
            for text, times in ((left, right), (right, left)):
                if isinstance(text, str | list | tuple) and _size(text) * times > _MAX_SIZE:
                    raise Refused("a repetition is too long")
        return _BINARY[type(kind)](left, right)

    def _either(self, node: ast.BoolOp, scope: dict[str, Any]) -> Any:
        stops_at = isinstance(node.op, ast.Or)
        for part in node.values:
            found = self.value(part, scope)
            if bool(found) is stops_at:
                break
        return found

    def _compare(self, node: ast.Compare, scope: dict[str, Any]) -> bool:
        left = self.value(node.left, scope)
        for kind, part in zip(node.ops, node.comparators, strict=True):
            right = self.value(part, scope)
            if not _COMPARISONS[type(kind)](left, right):
                return False
            left = right
        return True

    def _formatted(self, part: ast.expr, scope: dict[str, Any]) -> str:
        if isinstance(part, ast.FormattedValue):
            if part.format_spec or part.conversion != -1:
                raise Refused("format specifications are not known")
            return str(self.value(part.value, scope))
        return str(self.value(part, scope))

    def _called(self, node: ast.Call, scope: dict[str, Any]) -> Any:
        arguments = [self.value(argument, scope) for argument in node.args]
        named = {keyword.arg: self.value(keyword.value, scope) for keyword in node.keywords if keyword.arg}
        if len(named) != len(node.keywords):
            raise Refused("unpacked arguments are not known")
        if isinstance(node.func, ast.Attribute):
            owner = self.value(node.func.value, scope)
            if node.func.attr not in _METHODS.get(type(owner), ()):
                raise Refused(f"the method {node.func.attr} is not known")
            return _plain(getattr(owner, node.func.attr)(*arguments, **named))
        if isinstance(node.func, ast.Name) and node.func.id in self.functions and node.func.id not in scope:
            return self._call(self.functions[node.func.id], arguments, named)
        function = self.value(node.func, scope)
        if function not in _BUILTINS.values() and getattr(function, "__module__", None) != __name__:
            raise Refused("this cannot be called")
        return function(*arguments, **named)

    def _collection(self, node: ast.expr, scope: dict[str, Any]) -> Any:
        match node:
            case ast.List():
                return [self.value(part, scope) for part in node.elts]
            case ast.Tuple():
                return tuple(self.value(part, scope) for part in node.elts)
            case ast.Set():
                return {self.value(part, scope) for part in node.elts}
            case ast.Dict():
                return {self.value(key, scope): self.value(value, scope) for key, value in zip(node.keys, node.values, strict=True) if key}  # fmt: skip
            case ast.ListComp() | ast.GeneratorExp():
                return [self.value(node.elt, inner) for inner in self._scopes(node.generators, scope)]
            case ast.SetComp():
                return {self.value(node.elt, inner) for inner in self._scopes(node.generators, scope)}
            case ast.DictComp():
                inners = self._scopes(node.generators, scope)
                return {self.value(node.key, inner): self.value(node.value, inner) for inner in inners}
            case ast.Lambda():
                return self._lambda(node, scope)
            case _:
                raise Refused(f"{type(node).__name__} is not known here")

    def _lambda(self, node: ast.Lambda, scope: dict[str, Any]) -> Callable[..., Any]:
        names = [argument.arg for argument in node.args.args]
        return lambda *given: self.value(node.body, {**scope, **dict(zip(names, given, strict=True))})

    def _scopes(self, generators: list[ast.comprehension], scope: dict[str, Any]) -> Iterator[dict[str, Any]]:
        first, *others = generators
        for value in self.value(first.iter, scope):
            inner = dict(scope)
            self.assign(first.target, value, inner)
            if all(self.value(test, inner) for test in first.ifs):
                yield from self._scopes(others, inner) if others else [inner]


def _loaded(target: ast.expr) -> ast.expr:
    """The target of an augmented assignment as it is read."""
    match target:
        case ast.Name():
            return ast.copy_location(ast.Name(target.id, ast.Load()), target)
        case ast.Subscript():
            return ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target)
        case _:
            raise Refused(f"{type(target).__name__} cannot be added to")


def _plain(value: Any) -> Any:
    """Views of a dict as lists, so that every value is of a known type."""
    return list(value) if type(value).__name__ in ("dict_items", "dict_keys", "dict_values") else value


def _size(value: Any) -> int:
    """Characters, bits and elements of a value and of all that it holds. Raises Refused past the limit."""
    waiting, size = [value], 0
    while waiting:
        one = waiting.pop()
        match one:
            case bool() | None | float():
                size += 1
            case int():
                size += one.bit_length()
            case str() | range():
                size += len(one)
            case list() | tuple() | set():
                size += 1 + len(one)
                waiting.extend(one if size <= _MAX_SIZE else ())
            case dict():
                size += 1 + len(one)
                waiting.extend([*one.keys(), *one.values()] if size <= _MAX_SIZE else ())
            case slice():
                waiting.extend((one.start, one.stop, one.step))
            case _ if callable(one):
                pass
            case _:
                raise Refused(f"values of the type {type(one).__name__} are not known")
        if size > _MAX_SIZE:
            raise Refused(f"a value is larger than {_MAX_SIZE}")
    return size
