"""One meaning a name, plain words: no public class is defined twice, no loop variable
is `each`.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "theorex_lab"

# Still open; the list may only shrink.
ROOMS_STILL_OPEN = (
    "eval/datasets",
    "eval/replay",
    "eval/metrics",
    "journal",
    "memory",
    "search",
    "text",
)
# Same name, different thing; still open, and the list may only shrink.
FUNCTIONS_DEFINED_TWICE = {
    "agents_of",
    "checked",
    "compacting",
    "damaged",
    "evidence",
    "fill",
    "folded",
    "in_turn",
    "installed",
    "is_untrusted",
    "items_of",
    "machine",
    "main",
    "moment",
    "note",
    "noted",
    "places",
    "preview",
    "prompt",
    "propose",
    "read_header",
    "read_lines",
    "restore",
    "run",
    "score",
    "sentences",
    "status",
    "text_of",
    "told",
    "words",
    "write_lines",
}
RIDDLES = re.compile(
    r"\banew\b|\bof\s+which\b|\bbefell\b|\bfor\s+ever\b", re.IGNORECASE
)


def modules() -> Iterator[tuple[str, str]]:
    """Path below the package, and text, of every module."""
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path.relative_to(PACKAGE).as_posix(), path.read_text(encoding="utf-8")


@cache
def top_level() -> list[tuple[str, ast.ClassDef | ast.FunctionDef]]:
    """Path and node of each public class and function at the top level of a module."""
    found = []
    for path, text in modules():
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                node.body = []  # its name is enough, and a whole tree takes memory
                if not node.name.startswith("_"):
                    found.append((path, node))
    return found


def defined_twice(
    kind: type[ast.ClassDef] | type[ast.FunctionDef],
) -> dict[str, list[str]]:
    """Public name -> the modules that define it at their top level, where there are
    several.
    """
    found: dict[str, list[str]] = defaultdict(list)
    for path, node in top_level():
        if isinstance(node, kind):
            found[node.name].append(path)
    return {name: paths for name, paths in found.items() if len(paths) > 1}


def room_of(path: str) -> str:
    """The room of a module: the first folder; below experiments/ and designs/ the first
    two.
    """
    first, *below = path.split("/")
    return (
        f"{first}/{below[0]}"
        if first in ("app", "eval", "files", "designs") and len(below) > 1
        else first
    )


def functions_of_several_rooms() -> set[str]:
    """Public functions of the same name in different rooms; a command is named like
    what it calls.
    """
    rooms = {
        name: {room_of(path) for path in paths}
        for name, paths in defined_twice(ast.FunctionDef).items()
    }
    return {name for name, found in rooms.items() if len(found - {"app/cli"}) > 1}


# What stands behind a name that a loop or a lambda binds, or a comment. Reading a module
# as a tree costs a hundred times as much as looking for it.
BOUND_EACH = re.compile(r"\beach\b[\s\\]*(?:[,)\]:=#.\[]|in\b)")


def loops_over_each(text: str) -> list[int]:
    """The lines where a loop, a comprehension or a lambda binds `each`."""
    if not BOUND_EACH.search(text):
        return []
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            found += [
                name.lineno
                for name in ast.walk(node.target)
                if isinstance(name, ast.Name) and name.id == "each"
            ]
        elif isinstance(node, ast.Lambda):
            found += [name.lineno for name in node.args.args if name.arg == "each"]
    return found


def complaints() -> dict[str, list[str]]:
    """Path -> the lines that bind `each` or hold one of the words."""
    found = {}
    for path, text in modules():
        said = [f"line {line}: each" for line in loops_over_each(text)]
        said += [
            f"line {text.count(chr(10), 0, hit.start()) + 1}: {hit[0]}"
            for hit in RIDDLES.finditer(text)
        ]
        if said:
            found[path] = said
    return found


def test_no_public_class_is_defined_twice() -> None:
    assert defined_twice(ast.ClassDef) == {}


def test_no_public_function_of_another_room_has_the_same_name() -> None:
    assert functions_of_several_rooms() - FUNCTIONS_DEFINED_TWICE == set()


def test_loop_variables_are_nouns_and_sentences_are_plain() -> None:
    assert {
        path: said
        for path, said in complaints().items()
        if room_of(path) not in ROOMS_STILL_OPEN
    } == {}


def test_a_loop_over_each_is_found_in_every_form() -> None:
    forms = [
        "for each in a: pass",
        "for number, each in a: pass",
        "for (\n    each,  # a comment\n    other,\n) in a: pass",
        "for each \\\n in a: pass",
        "for each.name in a: pass",
        "[each for each in a]",
        "lambda each: 1",
        "lambda other, each=2: 1",
    ]
    assert [form for form in forms if not loops_over_each(form)] == []
    assert loops_over_each("'for each of them'") == []
