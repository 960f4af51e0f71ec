"""Source code: modules, classes, functions and methods with their signatures, comments,
calls and imports, by tree-sitter.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Any

from theorex_lab.core.errors import InvalidInput
from theorex_lab.files.ingest.code_queries import ERRORS, QUERIES
from theorex_lab.files.ingest.documents import FileReader
from theorex_lab.memory.documents import Part
from theorex_lab.text.line import folded

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Query

# By the ending of a file's name: its language, the package that parses it, and the
# function there that gives the grammar.
LANGUAGES = {
    **dict.fromkeys((".py", ".pyi"), ("python", "tree_sitter_python", "language")),
    **dict.fromkeys(
        (".js", ".jsx", ".mjs", ".cjs"),
        ("javascript", "tree_sitter_javascript", "language"),
    ),
    **dict.fromkeys(
        (".ts", ".mts", ".cts"),
        ("typescript", "tree_sitter_typescript", "language_typescript"),
    ),
    ".tsx": ("typescript", "tree_sitter_typescript", "language_tsx"),
    ".go": ("go", "tree_sitter_go", "language"),
    ".rs": ("rust", "tree_sitter_rust", "language"),
}
_NAMED = {"call": "calls", "import": "imports"}  # what counts for the symbol around it
_SYMBOLS = ("class", "function", "module")
_MOST_WORDS = 120
_MOST_LINKS = 60
_SIGNATURE = 400
_DOC = 2_000
_FIRST = 200
_COMMENT = re.compile(r"^\s*(?:///?!?|/\*+!?|\*+/?|#+)\s?|\s*\*+/\s*$", re.MULTILINE)
_WORD = re.compile(r"\b\w{1,60}\b")
_CALL_BYTES = 320
_DEEPEST = 20
_DOTTED = re.compile(r"[\w.:!$?]{1,80}")
_QUOTES = re.compile(r"^[a-zA-Z]*(\"\"\"|'''|\"|')|(\"\"\"|'''|\"|')$")


@dataclass
class _Symbol:
    """A symbol while its file is read: its part of the file, the owners around it, and
    what it names itself.
    """

    kind: str
    node: Node
    name: str
    body: Node | None = None
    owners: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    imports: list[str] = field(default_factory=list)
    inner: list[Node] = field(default_factory=list)

    @property
    def qualified(self) -> str:
        """The name behind those of its owners."""
        return ".".join([*self.owners, self.name])


def read_code(file: str, source: bytes) -> tuple[list[Part], int]:
    """The symbols of a source file, the file itself first as a module, and how many
    places of it do not parse.

    Raises ImportError where the extra `ingest` is not installed.

    >>> parts, broken = read_code(
    ...     "a.py", b"class Cache:\\n    def get(self, key):\\n        return load(key)"
    ... )
    >>> [part.name for part in parts], parts[2].node_type, broken
    (['a', 'Cache', 'Cache.get'], 'code_method', 0)
    """
    from tree_sitter import QueryCursor

    parser, query = _grammar(*LANGUAGES["." + file.rpartition(".")[2].lower()])
    root = parser.parse(source).root_node
    symbols = _CodeSymbols(file.rpartition("/")[2].rpartition(".")[0], root)
    for _, captured in QueryCursor(query).matches(root):
        symbols.add({name: nodes[0] for name, nodes in captured.items()})
    return list(symbols.parts()), symbols.broken


@cache
def _grammar(language: str, package: str, function: str) -> tuple[Parser, Query]:
    from tree_sitter import Language, Parser, Query

    grammar = Language(getattr(import_module(package), function)())
    return Parser(grammar), Query(grammar, QUERIES[language] + ERRORS)


class _CodeSymbols:
    """What the query finds in a file."""

    def __init__(self, stem: str, root: Node) -> None:
        self._module = _Symbol("module", root, stem)
        self.broken = 0
        self._broken_to = 0
        self._symbols: dict[int, _Symbol] = {}
        self._owners: list[tuple[Node, str]] = []
        self._named: list[tuple[int, str, str]] = []
        self._says: dict[str, str] = {}  # by a symbol's name, how its comment begins

    def add(self, captured: dict[str, Node]) -> None:
        """Take in one match of the query."""
        for kind, node in captured.items():
            if kind in _SYMBOLS:
                self._symbols.setdefault(
                    node.id,
                    _Symbol(kind, node, _text(captured["name"]), captured.get("body")),
                )
            elif kind == "owner":
                self._owners.append((node, _text(captured["name"]).partition("<")[0]))
            elif kind == "error":  # one that lies in another is the same place
                self.broken += node.start_byte >= self._broken_to
                self._broken_to = max(self._broken_to, node.end_byte)
            elif kind in _NAMED and (
                kind != "call" or node.end_byte - node.start_byte <= _CALL_BYTES
            ):
                self._named.append((node.start_byte, kind, _text(node)))

    def parts(self) -> Iterator[Part]:
        """The module, then its symbols in the order of the file."""
        self._place()
        seen = Counter[str]()
        for symbol in [
            self._module,
            *sorted(self._symbols.values(), key=lambda one: one.node.start_byte),
        ]:
            name = symbol.qualified
            seen[name] += 1  # defined again, as under a condition
            yield self._part(symbol, f"{name}'{seen[name]}" if seen[name] > 1 else name)

    def _part(self, symbol: _Symbol, name: str) -> Part:
        """A symbol as it is kept: signature, comment, what the comments around it begin
        with, and its words, to be searched.
        """
        is_file = symbol is self._module
        owner = ".".join(symbol.owners)
        calls = [
            call for call in _once(symbol.calls, _MOST_LINKS) if _DOTTED.fullmatch(call)
        ]
        imports = [text.strip("\"'") for text in _once(symbol.imports, _MOST_LINKS)]
        doc, said = _doc(symbol, is_file)
        self._says[name] = folded(doc.partition("\n\n")[0])[:_FIRST]
        around = (
            ""
            if is_file
            else " ".join(
                filter(
                    None, map(self._says.get, dict.fromkeys((self._module.name, owner)))
                )
            )
        )
        words = " ".join(
            [*dict.fromkeys(_WORD.findall(_own(symbol, said)))][:_MOST_WORDS]
        )
        told = [
            "module " + name if is_file else _signature(symbol),
            doc,
            around and f"In: {around}",
            words and f"· {words}",
        ]
        links = [("calls", call) for call in calls] + [
            ("imports", text) for text in imports
        ]
        links += [("in", owner)] if owner else []
        line = symbol.node.start_point[0] + 1
        return Part(
            f"code_{symbol.kind}",
            name,
            "\n".join(filter(None, told)),
            line,
            tuple(links),
        )

    def _place(self) -> None:
        """Give each symbol its owners, and each call, import and symbol to the
        innermost one around it.
        """
        spans = [(symbol.node, symbol) for symbol in self._symbols.values()]
        found: list[tuple[int, int, int, Any]] = [
            (at, 0, 1, (kind, text)) for at, kind, text in self._named
        ]
        found += [
            (node.start_byte, -node.end_byte, 0, one)
            for node, one in [*self._owners, *spans]
        ]
        opened: list[tuple[int, _Symbol | str]] = []
        for start, end, _, what in sorted(found, key=lambda one: one[:3]):
            while opened and opened[-1][0] <= start:
                opened.pop()
            around = [one for _, one in opened[-_DEEPEST:]]
            inner = next(
                (one for one in reversed(around) if isinstance(one, _Symbol)),
                self._module,
            )
            if isinstance(what, tuple):
                getattr(inner, _NAMED[what[0]]).append(what[1])
                continue
            if isinstance(what, _Symbol):
                inner.inner.append(what.node)
                what.owners = [
                    one if isinstance(one, str) else one.name for one in around
                ]
                if (
                    what.kind == "function"
                    and around
                    and (isinstance(around[-1], str) or around[-1].kind == "class")
                ):
                    what.kind = "method"
            opened.append((-end, what))


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _once(names: list[str], most: int) -> list[str]:
    return [*dict.fromkeys(filter(None, map(folded, names)))][:most]


def _signature(symbol: _Symbol) -> str:
    start = symbol.node.start_byte
    end = symbol.body.start_byte if symbol.body is not None else symbol.node.end_byte
    head = folded(
        (symbol.node.text or b"")[: min(end - start, 4 * _SIGNATURE)].decode(
            "utf-8", "replace"
        )
    )
    return head[:_SIGNATURE].removesuffix("=>").rstrip(" {:=")


def _own(symbol: _Symbol, docstring: Node | None) -> str:
    """The source of a symbol behind its signature, without the symbols in it and what
    its docstring says.
    """
    source = symbol.node.text or b""
    at = (symbol.body or symbol.node).start_byte
    pieces = list[bytes]()
    start = symbol.node.start_byte
    for node in sorted(
        [*symbol.inner, *filter(None, [docstring])], key=lambda node: node.start_byte
    ):
        pieces.append(source[at - start : node.start_byte - start])
        at = max(at, node.end_byte)
    return b" ".join([*pieces, source[at - start :]]).decode("utf-8", "replace")


def _doc(symbol: _Symbol, is_file: bool) -> tuple[str, Node | None]:
    """What the comment or docstring of a symbol says, and the docstring."""
    inside = symbol.node if is_file else symbol.body
    named = inside.named_children if inside is not None else []
    said = next(
        (
            node.children[0]
            for node in named
            if node.children and "comment" not in node.type
        ),
        None,
    )
    if said is not None and [node.type for node in said.children[:1]] == [
        "string_start"
    ]:
        return cleandoc(_QUOTES.sub("", _text(said)))[:_DOC], said
    lines = list[str]()
    node = next(iter(named), None) if is_file else _before(symbol.node)
    while node is not None and (
        "comment" in node.type or node.type in ("attribute_item", "decorator")
    ):
        if "comment" in node.type:
            lines.append(_COMMENT.sub("", _text(node)))
        node = node.next_named_sibling if is_file else node.prev_named_sibling
    return "\n".join(line.strip() for line in (lines if is_file else lines[::-1]))[
        :_DOC
    ].strip(), None


def _before(node: Node) -> Node | None:
    """What stands before a symbol with its decorators, or before the statement that it
    is the first of, as of an export.
    """
    while (before := node.prev_named_sibling or node.parent) is not None and (
        before.type == "decorator"
        or (before == node.parent and before.start_point[0] == node.start_point[0])
    ):
        node = before
    return node.prev_named_sibling


def _read(path: Path, name: str, content: bytes) -> tuple[list[Part], list[str]]:
    if path.suffix.lower() not in LANGUAGES:
        raise InvalidInput(
            f"its language is not known; allowed are {', '.join(LANGUAGES)}"
        )
    if b"\0" in content[:8_192]:
        raise InvalidInput("it holds bytes that no source code has")
    parts, broken = read_code(name, content)
    return parts, [
        f"{broken} places do not parse; {len(parts) - 1} symbols were read"
    ] if broken else []


CODE = FileReader("code 2", lambda: LANGUAGES, _read, "ingest")
