"""All texts that users read: docstrings, messages, help, pages and notebooks."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

import click
from doc_references import PACKAGE, ROOT

Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef

_FENCE = re.compile(r"^( *)```.*?^\1```", re.DOTALL | re.MULTILINE)
_CODE_SPAN = re.compile(r"(?<!`)`[^`\n]+`(?!`)")
# Examples in docstrings: their lines and the lines of what they print.
_DOCTEST = re.compile(r"^[ ]*>>> .*(?:\n[ ]*\S.*)*", re.MULTILINE)
_ARGUMENT = re.compile(r"^ +[*\w, ]+:(?= |$)", re.MULTILINE)
# In a help: its line of usage, names of commands, and keys of answers in JSON.
_USAGE = re.compile(r"^Usage: .*(?:\n {7,}.*)*|^  [\w-]+(?=  )", re.MULTILINE)
_KEYS = re.compile(r"\{[^{}]*\}|(?<=\[)[a-z_]+(?:, [a-z_…]+)*(?=\])")
_FIELD = re.compile(r"\{[^{}\n]*\}")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


class Role(StrEnum):
    """Where users meet a text."""

    HELP = "help of a command"
    MESSAGE = "message"
    DOCSTRING = "docstring"
    PAGE = "page"
    NOTEBOOK = "notebook"


class ShownText(NamedTuple):
    """A text that users read.

    Attributes:
        role: Where users meet it.
        path: The file that it stands in, from the repository's root.
        line: The line of the file, or the number of a notebook's cell.
        text: The text. Code is blanked out, so that lines keep their numbers.
    """

    role: Role
    path: str
    line: int
    text: str


def all_texts() -> list[ShownText]:
    """Return all texts of the repository that users read."""
    texts = [*help_texts()]
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        source = path.read_text(encoding="utf-8")
        nodes = _nodes(source)
        texts += _docstrings_in(name, nodes)
        texts += _messages_in(name, nodes)
    pages = [
        *(ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"),
        *sorted((ROOT / "docs").glob("*.md")),
    ]
    for path in pages:
        texts.append(page_text(path.relative_to(ROOT).as_posix(), path.read_text()))
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        texts += notebook_texts(path.relative_to(ROOT).as_posix(), path.read_text())
    return texts


def help_texts() -> Iterator[ShownText]:
    """Yield the help of each command, group and option, as `--help` prints it."""
    from theorex_lab.app.cli import theorex

    yield from _help_of(theorex, click.Context(theorex, info_name="theorex"))


def _help_of(command: click.Command, context: click.Context) -> Iterator[ShownText]:
    path = f"{context.command_path} --help"
    help_text = _USAGE.sub(_blank, command.get_help(context))
    yield ShownText(Role.HELP, path, 1, _without_keys(help_text))
    if isinstance(command, click.Group):
        for word in command.list_commands(context):
            child = command.get_command(context, word)
            if child is not None:
                inner = click.Context(child, info_name=word, parent=context)
                yield from _help_of(child, inner)


def _nodes(source: str) -> list[ast.AST]:
    """Return the nodes of a source, walked once for all who look at them."""
    return [*ast.walk(ast.parse(source))]


def docstring_texts(path: str, source: str) -> Iterator[ShownText]:
    """Yield the docstrings of modules, classes and functions, without code."""
    return _docstrings_in(path, _nodes(source))


def _docstrings_in(path: str, nodes: list[ast.AST]) -> Iterator[ShownText]:
    for node in nodes:
        if not isinstance(node, Documented):
            continue
        docstring = _docstring_node(node)
        if docstring is not None:
            text = docstring.value
            for pattern in (_DOCTEST, _ARGUMENT):
                text = pattern.sub(_blank, text)
            shown = _without_keys(_CODE_SPAN.sub(_blank_code, text))
            yield ShownText(Role.DOCSTRING, path, docstring.lineno, shown)


def message_texts(path: str, source: str) -> Iterator[ShownText]:
    """Yield the strings with a space that are shown; `{}` stands for what is filled in.

    Docstrings are left out, and lists of words that are split.
    """
    return _messages_in(path, _nodes(source))


def _messages_in(path: str, nodes: list[ast.AST]) -> Iterator[ShownText]:
    passed_over: set[ast.AST | None] = set()
    shown_nodes: list[ast.Constant | ast.JoinedStr] = []
    for node in nodes:
        if isinstance(node, Documented):
            passed_over.add(_docstring_node(node))
        elif isinstance(node, ast.Attribute) and node.attr in ("split", "splitlines"):
            passed_over.add(node.value)
        elif isinstance(node, ast.Constant | ast.JoinedStr):
            shown_nodes.append(node)
    for node in shown_nodes:
        if node in passed_over:
            continue
        if isinstance(node, ast.JoinedStr):
            passed_over |= set(node.values)
            text = "".join(_constant_text(part) for part in node.values)
        else:
            text = _constant_text(node, other="")
        if " " in text.strip():
            shown = _FIELD.sub("{}", _CODE_SPAN.sub(_blank_code, text))
            yield ShownText(Role.MESSAGE, path, node.lineno, shown)


def page_text(path: str, text: str) -> ShownText:
    """Return a page without its fenced blocks, code and comments."""
    for pattern in (_FENCE, _COMMENT):
        text = pattern.sub(_blank, text)
    return ShownText(Role.PAGE, path, 1, _CODE_SPAN.sub(_blank_code, text))


def notebook_texts(path: str, text: str) -> Iterator[ShownText]:
    """Yield the prose of a notebook, and the strings with a space of its code."""
    for number, cell in enumerate(json.loads(text)["cells"]):
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            prose = page_text(path, source).text
            yield ShownText(Role.NOTEBOOK, path, number, prose)
            continue
        code = re.sub(r"^[%!].*", "", source, flags=re.MULTILINE)
        for message in message_texts(path, code):
            yield ShownText(Role.NOTEBOOK, path, number, message.text)


def _without_keys(text: str) -> str:
    """Return a text without what stands in braces, from the inner ones outwards."""
    n_braces = -1
    while n_braces != text.count("{"):
        n_braces = text.count("{")
        text = _KEYS.sub(_blank, text)
    return text


def _docstring_node(node: Documented) -> ast.Constant | None:
    """Return the constant that is the docstring of a definition."""
    first = node.body[0] if node.body else None
    value = first.value if isinstance(first, ast.Expr) else None
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return value
    return None


def _constant_text(node: ast.AST, other: str = "{}") -> str:
    """Return the text of a constant; `other` for any other node."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    return other


def _blank_code(match: re.Match[str]) -> str:
    """Return a command as it is, and a sign for any other code."""
    return match[0] if match[0].startswith("`theorex ") else _blank(match)


def _blank(match: re.Match[str]) -> str:
    """Return as many lines as a match has, with nothing on them but a sign."""
    return "·" + "\n" * match[0].count("\n")
