"""Measure how readable the package is, and refuse what makes it less so.

    python .ci/readability.py           compare with .ci/readability.json
    python .ci/readability.py --write   take out of that file what was mended
    python .ci/readability.py --table   print every file's measures, and the totals
    python .ci/readability.py --json    print them as JSON

The file lists the exceptions: what broke a rule when the rule was made. It may only
shrink. Where there is no such file, `--write` makes it of the present tree; where a
file of the package is moved, its path is changed there by hand.

It needs the packages radon and cognitive-complexity.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from cognitive_complexity.api import get_cognitive_complexity
from radon.visitors import ComplexityVisitor

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "theorex_lab"
EXCEPTIONS = ".ci/readability.json"
MOST_NODES_A_LINE = 5.5
MOST_CYCLOMATIC = 10
HIGH_CYCLOMATIC = 15
MOST_COGNITIVE = 12
MOST_POSITIONAL = 4
VAGUE_NAMES = frozenset(
    {
        "found",
        "told",
        "known",
        "said",
        "given",
        "kept",
        "there",
        "seen",
        "own",
        "one",
        "place",
    }
)

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

# What each rule counts, and what to do about it. The limit stands with the counting.
RULES = {
    "density": (
        f"syntax nodes a line (allowed: {MOST_NODES_A_LINE:g})",
        "put one thought on a line",
    ),
    "tuple_assignments": (
        "assignments `a, b = x, y` that are no swap (allowed: none)",
        "write one assignment a line",
    ),
    "nested_comprehensions": (
        "comprehensions with a comprehension or a second `for` inside (allowed: none)",
        "write a loop, or name the inner one",
    ),
    "conditionals": (
        "statements with more than one conditional expression (allowed: none)",
        "write an if statement",
    ),
    "walrus": (
        "assignment expressions in a comprehension (allowed: none)",
        "write a loop",
    ),
    "cyclomatic": (
        f"cyclomatic complexity (allowed: {MOST_CYCLOMATIC})",
        "split the function",
    ),
    "cognitive": (
        f"cognitive complexity (allowed: {MOST_COGNITIVE})",
        "split the function, or nest less",
    ),
    "positional": (
        f"positional parameters of a public function (allowed: {MOST_POSITIONAL})",
        "make options keyword-only",
    ),
    "vague_names": (
        "locals named found, told, known … (allowed: none)",
        "name what the variable holds",
    ),
}
Excesses = dict[str, dict[str, float]]


@dataclass
class FileMeasures:
    """The measures of one file.

    Attributes:
        path: Relative to the root, with slashes.
        lines: Lines of code: not blank, comment or docstring.
        nodes: Syntax nodes, without contexts and docstrings.
        by_file: How often the file as a whole breaks a rule.
        by_function: The same by function, or its measure, for each rule.
    """

    path: str
    lines: int
    nodes: int
    by_file: Counter[str] = field(default_factory=Counter)
    by_function: dict[str, Counter[str]] = field(default_factory=dict)

    @property
    def density(self) -> float:
        """Syntax nodes a line of code."""
        return round(self.nodes / self.lines, 2) if self.lines else 0.0

    def count(self, rule: str) -> int:
        """Return how often the file breaks a rule that is no measure of size."""
        if rule in ("cyclomatic", "cognitive", "positional"):
            return len(self.by_function.get(rule, {}))
        return self.by_file[rule] + sum(self.by_function.get(rule, {}).values())

    def note(self, rule: str, function: str, number: int) -> None:
        """Note how often a function breaks a rule, or by which measure."""
        if number:
            self.by_function.setdefault(rule, Counter())[function] += number


def measure(path: str, source: str) -> FileMeasures:
    """Measure one file."""
    tree = ast.parse(source)
    docstrings = set(_docstrings(tree))
    lines = _code_lines(source) - _lines_of(docstrings)
    measures = FileMeasures(path, len(lines), _count_nodes(tree, docstrings))
    _measure_statements(tree, "", measures)
    for name, function, is_public in _functions(tree, "", True):
        _measure_function(name, function, is_public, measures)
    _measure_cyclomatic(tree, measures)
    return measures


def _docstrings(tree: ast.Module) -> Iterator[ast.Expr]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | FunctionNode):
            continue
        first = node.body[0] if node.body else None
        if not isinstance(first, ast.Expr) or not isinstance(first.value, ast.Constant):
            continue
        if isinstance(first.value.value, str):
            yield first


def _lines_of(nodes: Iterable[ast.stmt]) -> set[int]:
    lines: set[int] = set()
    for node in nodes:
        lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines


def _code_lines(source: str) -> set[int]:
    ignored = {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    }
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in ignored:
            lines.update(range(token.start[0], token.end[0] + 1))
    return lines


def _count_nodes(tree: ast.Module, docstrings: set[ast.Expr]) -> int:
    nodes = 0
    for node in ast.walk(tree):
        if not isinstance(node, ast.expr_context):
            nodes += 1
    return nodes - 2 * len(docstrings)


def _functions(
    node: ast.AST, prefix: str, is_public: bool
) -> Iterator[tuple[str, FunctionNode, bool]]:
    """Yield each function with its dotted name, and whether others may call it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            is_shown = is_public and not child.name.startswith("_")
            yield from _functions(child, f"{prefix}{child.name}.", is_shown)
        elif isinstance(child, FunctionNode):
            is_private = child.name.startswith("_") and child.name != "__init__"
            yield f"{prefix}{child.name}", child, is_public and not is_private
            yield from _functions(child, f"{prefix}{child.name}.", False)
        else:
            yield from _functions(child, prefix, is_public)


def _measure_function(
    name: str, function: FunctionNode, is_public: bool, measures: FileMeasures
) -> None:
    cognitive = get_cognitive_complexity(function)
    if cognitive > MOST_COGNITIVE:
        measures.note("cognitive", name, cognitive)
    positional = _positional_parameters(function)
    if is_public and positional > MOST_POSITIONAL and not _is_command(function):
        measures.note("positional", name, positional)
    measures.by_file["vague_names"] += len(_locals(function) & VAGUE_NAMES)


def _positional_parameters(function: FunctionNode) -> int:
    names = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    if names and names[0] in ("self", "cls"):
        return len(names) - 1
    return len(names)


def _is_command(function: FunctionNode) -> bool:
    """Say whether click calls the function, which names its parameters by itself."""
    for decorator in function.decorator_list:
        text = ast.unparse(decorator)
        if "command" in text or text.startswith("click."):
            return True
    return False


def _locals(function: FunctionNode) -> set[str]:
    """Return the names that the function itself assigns, not those inside it."""
    names = set()
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.ClassDef | FunctionNode):
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        waiting.extend(ast.iter_child_nodes(node))
    return names


def _measure_cyclomatic(tree: ast.Module, measures: FileMeasures) -> None:
    visitor = ComplexityVisitor.from_ast(tree)
    functions = list(visitor.functions)
    for each in visitor.classes:
        functions.extend(each.methods)
    for function in functions:
        if function.complexity > MOST_CYCLOMATIC:
            name = function.fullname.removeprefix(".")
            measures.note("cyclomatic", name, function.complexity)


def _measure_statements(node: ast.AST, name: str, measures: FileMeasures) -> None:
    """Count what single statements break, by the function that they stand in."""
    for child in ast.iter_child_nodes(node):
        inner = name
        if isinstance(child, ast.ClassDef | FunctionNode):
            inner = f"{name}.{child.name}" if name else child.name
        if isinstance(child, ast.stmt):
            _measure_statement(child, inner or "<module>", measures)
        _measure_statements(child, inner, measures)


def _measure_statement(
    statement: ast.stmt, function: str, measures: FileMeasures
) -> None:
    if isinstance(statement, ast.Assign) and _is_tuple_assignment(statement):
        measures.note("tuple_assignments", function, 1)
    expressions = list(_expressions_of(statement))
    conditionals = sum(isinstance(node, ast.IfExp) for node in expressions)
    if conditionals > 1:
        measures.note("conditionals", function, 1)
    for node in expressions:
        if not isinstance(node, COMPREHENSIONS):
            continue
        inside = [inner for inner in ast.walk(node) if inner is not node]
        has_inner = any(isinstance(inner, COMPREHENSIONS) for inner in inside)
        is_nested = has_inner or len(node.generators) > 1
        measures.note("nested_comprehensions", function, int(is_nested))
        has_walrus = any(isinstance(inner, ast.NamedExpr) for inner in inside)
        measures.note("walrus", function, int(has_walrus))


def _expressions_of(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yield the nodes of a statement without the statements inside it."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        yield node
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.stmt):
                waiting.append(child)


def _is_tuple_assignment(statement: ast.Assign) -> bool:
    target = statement.targets[0]
    value = statement.value
    if not isinstance(target, ast.Tuple) or not isinstance(value, ast.Tuple):
        return False
    left = sorted(ast.unparse(part) for part in target.elts)
    right = sorted(ast.unparse(part) for part in value.elts)
    return left != right  # a swap has the same names on both sides


def measure_package(root: Path) -> list[FileMeasures]:
    """Measure every file of the package, in the order of their paths."""
    files = []
    for path in sorted(root.glob(f"{PACKAGE}/**/*.py")):
        name = path.relative_to(root).as_posix()
        files.append(measure(name, path.read_text(encoding="utf-8")))
    return files


def excesses(files: Iterable[FileMeasures]) -> Excesses:
    """Return what breaks each rule, by file or by `file:function`."""
    result: Excesses = {rule: {} for rule in RULES}
    for file in files:
        if file.density > MOST_NODES_A_LINE:
            result["density"][file.path] = file.density
        for rule, number in file.by_file.items():
            if number:
                result[rule][file.path] = number
        for rule, functions in file.by_function.items():
            for function, number in functions.items():
                result[rule][f"{file.path}:{function}"] = number
    return result


def worse(present: Excesses, exceptions: Excesses) -> list[str]:
    """Say what is new or worse than the exceptions, and what to do about it."""
    problems = []
    for rule, (what, remedy) in RULES.items():
        allowed = exceptions.get(rule, {})
        for name, number in sorted(present[rule].items()):
            if name not in allowed:
                problems.append(f"{name}: {number:g} {what}; {remedy}")
            elif number > allowed[name]:
                before = allowed[name]
                problems.append(
                    f"{name}: {number:g} {what}, before {before:g}; {remedy}"
                )
    return problems


def shrunk(present: Excesses, exceptions: Excesses) -> Excesses:
    """Return the exceptions without what was mended."""
    result: Excesses = {}
    for rule in RULES:
        allowed = exceptions.get(rule, {})
        result[rule] = {}
        for name in sorted(allowed):
            if name in present[rule]:
                result[rule][name] = min(allowed[name], present[rule][name])
    return result


def totals(files: list[FileMeasures]) -> dict[str, float]:
    """Return the measures of the whole package."""
    lines = sum(file.lines for file in files)
    nodes = sum(file.nodes for file in files)
    result: dict[str, float] = {"files": len(files), "lines": lines}
    result["density"] = round(nodes / lines, 2) if lines else 0.0
    for rule in RULES:
        if rule != "density":
            result[rule] = sum(file.count(rule) for file in files)
    complexities: list[int] = []
    for file in files:
        complexities.extend(file.by_function.get("cyclomatic", {}).values())
    high = [number for number in complexities if number > HIGH_CYCLOMATIC]
    result["cyclomatic_high"] = len(high)
    return result


def as_json(files: list[FileMeasures]) -> str:
    """Return the totals, every file's measures and the excesses as JSON."""
    rows = {}
    for file in files:
        row: dict[str, float] = {"lines": file.lines, "density": file.density}
        for rule in RULES:
            if rule != "density":
                row[rule] = file.count(rule)
        rows[file.path] = row
    content = {"totals": totals(files), "files": rows, "excesses": excesses(files)}
    return json.dumps(content, indent=1)


def as_table(files: list[FileMeasures]) -> str:
    """Return a line of measures a file, and the totals."""
    columns = {
        "tuple_assignments": "tuples",
        "nested_comprehensions": "nested",
        "conditionals": "if-else",
        "walrus": "walrus",
        "cyclomatic": f"cyclo>{MOST_CYCLOMATIC}",
        "cognitive": f"cogn>{MOST_COGNITIVE}",
        "positional": f"args>{MOST_POSITIONAL}",
        "vague_names": "vague",
    }
    width = max(len(file.path) for file in files)
    heads = " ".join(f"{head:>8}" for head in columns.values())
    lines = [f"{'':{width}} {'lines':>6} {'density':>8} {heads}"]
    for file in files:
        counts = " ".join(f"{file.count(rule):>8}" for rule in columns)
        start = f"{file.path:{width}} {file.lines:>6} {file.density:>8.2f}"
        lines.append(f"{start} {counts}")
    total = totals(files)
    counts = " ".join(f"{total[rule]:>8}" for rule in columns)
    start = f"{'total':{width}} {total['lines']:>6} {total['density']:>8.2f}"
    lines.append(f"{start} {counts}")
    high = total["cyclomatic_high"]
    lines.append(f"functions of cyclomatic complexity above {HIGH_CYCLOMATIC}: {high}")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return 1 where something is new or worse."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--root", type=Path, default=ROOT, help="folder of the project")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--write", action="store_true", help="shrink the exceptions")
    what.add_argument("--table", action="store_true", help="print the measures")
    what.add_argument("--json", action="store_true", help="print them as JSON")
    options = parser.parse_args(arguments)

    files = measure_package(options.root)
    if not files:
        parser.error(f"{options.root} has no folder {PACKAGE} with Python files")
    if options.json:
        print(as_json(files))
        return 0
    if options.table:
        print(as_table(files))
        return 0
    return _compare(files, options.root / EXCEPTIONS, is_written=options.write)


def _compare(files: list[FileMeasures], file: Path, *, is_written: bool) -> int:
    present = excesses(files)
    exceptions: Excesses = {}
    if file.exists():
        exceptions = json.loads(file.read_text(encoding="utf-8"))
    elif is_written:
        exceptions = present
    left = shrunk(present, exceptions)
    if is_written:
        file.write_text(json.dumps(left, indent=1) + "\n", encoding="utf-8")
    problems = worse(present, exceptions)
    for problem in problems:
        print(problem)
    if problems:
        print(f"{len(problems)} things are harder to read than {EXCEPTIONS} allows")
        return 1
    if left != exceptions and not is_written:
        print(f"some exceptions are mended: run {Path(__file__).name} --write")
    numbers = ", ".join(f"{rule} {len(left[rule])}" for rule in RULES)
    print(f"nothing is harder to read than before; exceptions: {numbers}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
