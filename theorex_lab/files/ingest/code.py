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
    """Return the symbols of a source file, the file itself first as a module, and how
    many places of it do not parse.

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
        """Yield the module, then its symbols in the order of the file."""
        self._assign_owners()
        counts = Counter[str]()
        in_order = sorted(
            self._symbols.values(), key=lambda symbol: symbol.node.start_byte
        )
        for symbol in [self._module, *in_order]:
            name = symbol.qualified
            counts[name] += 1
            if counts[name] > 1:  # defined again, as under a condition
                name = f"{name}'{counts[name]}"
            yield self._part(symbol, name)

    def _part(self, symbol: _Symbol, name: str) -> Part:
        """Return a symbol as it is kept: signature, comment, what the comments around
        it begin with, and its words, to be searched.
        """
        is_file = symbol is self._module
        owner = ".".join(symbol.owners)
        calls = [
            call for call in _once(symbol.calls, _MOST_LINKS) if _DOTTED.fullmatch(call)
        ]
        imports = [text.strip("\"'") for text in _once(symbol.imports, _MOST_LINKS)]
        doc, docstring = _doc(symbol, is_file)
        self._says[name] = folded(doc.partition("\n\n")[0])[:_FIRST]
        around = "" if is_file else self._comments_around(owner)
        all_words = dict.fromkeys(_WORD.findall(_own_source(symbol, docstring)))
        words = " ".join([*all_words][:_MOST_WORDS])
        paragraphs = [
            "module " + name if is_file else _signature(symbol),
            doc,
            around and f"In: {around}",
            words and f"· {words}",
        ]
        links = [("calls", call) for call in calls]
        links += [("imports", text) for text in imports]
        if owner:
            links.append(("in", owner))
        line = symbol.node.start_point[0] + 1
        return Part(
            f"code_{symbol.kind}",
            name,
            "\n".join(filter(None, paragraphs)),
            line,
            tuple(links),
        )

    def _comments_around(self, owner: str) -> str:
        """Return how the comments of the module and of a symbol's owner begin."""
        names = dict.fromkeys((self._module.name, owner))
        return " ".join(filter(None, map(self._says.get, names)))

    def _assign_owners(self) -> None:
        """Give each symbol its owners, and each call, import and symbol to the
        innermost one around it.
        """
        opened: list[tuple[int, _Symbol | str]] = []
        for start, end, _, entry in self._entries():
            while opened and opened[-1][0] <= start:
                opened.pop()
            around = [scope for _, scope in opened[-_DEEPEST:]]
            symbols_around = [scope for scope in around if isinstance(scope, _Symbol)]
            inner = symbols_around[-1] if symbols_around else self._module
            if isinstance(entry, tuple):
                kind, text = entry
                getattr(inner, _NAMED[kind]).append(text)
                continue
            if isinstance(entry, _Symbol):
                inner.inner.append(entry.node)
                _set_owners(entry, around)
            opened.append((-end, entry))

    def _entries(self) -> list[tuple[int, int, int, Any]]:
        """Return the names, owners and symbols with their spans, outer ones first."""
        spans = [(symbol.node, symbol) for symbol in self._symbols.values()]
        entries: list[tuple[int, int, int, Any]] = [
            (at, 0, 1, (kind, text)) for at, kind, text in self._named
        ]
        for node, scope in [*self._owners, *spans]:
            entries.append((node.start_byte, -node.end_byte, 0, scope))
        return sorted(entries, key=lambda entry: entry[:3])


def _set_owners(symbol: _Symbol, around: list[_Symbol | str]) -> None:
    """Note what stands around a symbol; a function in a class is a method."""
    symbol.owners = [
        scope if isinstance(scope, str) else scope.name for scope in around
    ]
    if symbol.kind != "function" or not around:
        return
    innermost = around[-1]
    if isinstance(innermost, str) or innermost.kind == "class":
        symbol.kind = "method"


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


def _own_source(symbol: _Symbol, docstring: Node | None) -> str:
    """Return the source of a symbol behind its signature, without the symbols in it and
    what its docstring says.
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
    """Return what the comment or docstring of a symbol says, and the docstring."""
    inside = symbol.node if is_file else symbol.body
    named = inside.named_children if inside is not None else []
    docstring = _docstring(named)
    if docstring is not None:
        return cleandoc(_QUOTES.sub("", _text(docstring)))[:_DOC], docstring
    if is_file:
        lines = _comment_lines(next(iter(named), None), forward=True)
    else:
        lines = _comment_lines(_before(symbol.node), forward=False)[::-1]
    comment = "\n".join(line.strip() for line in lines)
    return comment[:_DOC].strip(), None


def _docstring(named: list[Node]) -> Node | None:
    """Return the string that the first statement of a body is, or None."""
    for node in named:
        if node.children and "comment" not in node.type:
            statement = node.children[0]
            parts = statement.children[:1]
            is_string = bool(parts) and parts[0].type == "string_start"
            return statement if is_string else None
    return None


def _comment_lines(node: Node | None, *, forward: bool) -> list[str]:
    """Return the comments from a node on, as long as nothing but marks is between."""
    lines = list[str]()
    while node is not None:
        is_comment = "comment" in node.type
        if not is_comment and node.type not in ("attribute_item", "decorator"):
            break
        if is_comment:
            lines.append(_COMMENT.sub("", _text(node)))
        node = node.next_named_sibling if forward else node.prev_named_sibling
    return lines


def _before(node: Node) -> Node | None:
    """Return what stands before a symbol with its decorators, or before the statement
    that it is the first of, as of an export.
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
