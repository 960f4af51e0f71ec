"""Source code: modules, classes, functions and methods, read by tree-sitter.

Each symbol comes with its signature, comments, calls and imports.
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
from typing import TYPE_CHECKING, NamedTuple

from theorex_lab.core.errors import InvalidInput
from theorex_lab.files.ingest.code_queries import (
    owner_names,
    query_text,
    shown_lines,
    symbol_names,
)
from theorex_lab.files.ingest.file_reader import FileReader
from theorex_lab.files.isolated.readers import reads_apart
from theorex_lab.memory.document_part import Part
from theorex_lab.text.encoding import decode_bytes
from theorex_lab.text.line import folded

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Query


class Grammar(NamedTuple):
    """How a language is parsed.

    Attributes:
        language: Its name among the queries.
        package: The package that parses it.
        function: The function there that gives the grammar.
    """

    language: str
    package: str
    function: str


_PYTHON = Grammar(
    language="python",
    package="tree_sitter_python",
    function="language",
)
_JAVASCRIPT = Grammar(
    language="javascript",
    package="tree_sitter_javascript",
    function="language",
)
_TYPESCRIPT = Grammar(
    language="typescript",
    package="tree_sitter_typescript",
    function="language_typescript",
)
_TSX = Grammar(
    language="typescript",
    package="tree_sitter_typescript",
    function="language_tsx",
)
_GO = Grammar(
    language="go",
    package="tree_sitter_go",
    function="language",
)
_RUST = Grammar(
    language="rust",
    package="tree_sitter_rust",
    function="language",
)
# By the ending of a file's name.
LANGUAGES = {
    ".py": _PYTHON,
    ".pyi": _PYTHON,
    ".js": _JAVASCRIPT,
    ".jsx": _JAVASCRIPT,
    ".mjs": _JAVASCRIPT,
    ".cjs": _JAVASCRIPT,
    ".ts": _TYPESCRIPT,
    ".mts": _TYPESCRIPT,
    ".cts": _TYPESCRIPT,
    ".tsx": _TSX,
    ".go": _GO,
    ".rs": _RUST,
}
# What counts for the innermost symbol around it.
_NAMES = ("call", "import")
_SYMBOLS = ("class", "function", "module")
_MOST_WORDS = 120
_MOST_LINKS = 60
_SIGNATURE = 400
_DOC = 2_000
_MOST_COMMENTS = 400
# How many things may stand beside each other where they do not parse. The time for
# them grows with the square of their number.
_MOST_BROKEN = 20_000
_FIRST = 200
_COMMENT = re.compile(r"^\s*(?:///?!?|/\*+!?|\*+/?|#+)\s?|\s*\*+/\s*$", re.MULTILINE)
_WORD = re.compile(r"\b\w{1,60}\b")
_CALL_BYTES = 320
_DEEPEST = 20
_CODING = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]{1,40})")
_DOTTED = re.compile(r"[\w.:!$?]{1,80}")
_QUOTES = re.compile(r"^[a-zA-Z]*(\"\"\"|'''|\"|')|(\"\"\"|'''|\"|')$")


@dataclass
class _Symbol:
    """A symbol while its file is read.

    Attributes:
        kind: class, function, method or module.
        node: Its part of the file.
        name: Its name, without those of its owners.
        body: Its body, None where it has none.
        owners: The names around it, outermost first.
        calls: The calls in it, as they are written.
        imports: The imports in it, as they are written.
        inner: The parts of the symbols that lie directly in it.
        source: The content of the whole file.
        prefix: What it is assigned to, as the class of a prototype.
    """

    kind: str
    node: Node
    name: str
    body: Node | None = None
    owners: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    imports: list[str] = field(default_factory=list)
    inner: list[Node] = field(default_factory=list)
    source: bytes = b""
    prefix: list[str] = field(default_factory=list)

    @property
    def qualified(self) -> str:
        """Return the name behind those of its owners."""
        return ".".join([*self.owners, self.name])


class _Name(NamedTuple):
    """A call or an import: at which byte it starts, which it is, and its text."""

    start: int
    kind: str
    text: str


# What may stand around a symbol: another one, or the name of an owner that is none.
_Scope = _Symbol | str
_Scopes = list[_Scope]
Links = tuple[tuple[str, str], ...]


class _Entry(NamedTuple):
    """A place of a file in its order: a scope, or a name in one.

    Attributes:
        start: The byte at which it starts.
        minus_end: The end of a scope, negated, so that outer ones come first.
        rank: 0 for a scope, 1 for a name, so that a scope comes first.
        item: A symbol, the name of an owner that is none, or a call or import.
    """

    start: int
    minus_end: int
    rank: int
    item: _Scope | _Name


def read_code(file: str, source: bytes) -> tuple[list[Part], int]:
    r"""Return the symbols of a source file, and how many places do not parse.

    The file itself comes first, as a module.

    Args:
        file: Its name in the memory; the ending says its language.
        source: Its content.

    Raises:
        ImportError: Where the extra `ingest` is not installed.

    >>> parts, broken = read_code(
    ...     "a.py", b"class Cache:\n    def get(self, key):\n        return load(key)"
    ... )
    >>> [part.name for part in parts], parts[2].node_type, broken
    (['a', 'Cache', 'Cache.get'], 'code_method', 0)
    """
    symbols = _symbols_in(file, source)
    parts = list(symbols.parts())
    return parts, symbols.broken


def _symbols_in(file: str, source: bytes) -> _CodeSymbols:
    """Return what the query of its language finds in a file."""
    from tree_sitter import QueryCursor

    ending = file.rpartition(".")[2]
    suffix = "." + ending.lower()
    parser, query = _parser_and_query(LANGUAGES[suffix])
    root = parser.parse(source).root_node
    _check_breadth(root)
    base_name = file.rpartition("/")[2]
    stem = base_name.rpartition(".")[0]
    symbols = _CodeSymbols(stem, root, source)
    matches = QueryCursor(query).matches(root)
    for _, captured in matches:
        first_nodes = {name: nodes[0] for name, nodes in captured.items()}
        symbols.add(first_nodes)
    return symbols


def _check_breadth(root: Node) -> None:
    """Raise InvalidInput for a place that does not parse and holds very much."""
    waiting = [root] if root.has_error else []
    while waiting:
        node = waiting.pop()
        if node.is_error and node.child_count > _MOST_BROKEN:
            raise InvalidInput(
                f"{node.child_count:,} signs beside each other do not parse; is it"
                " another kind of file?"
            )
        waiting += [child for child in node.children if child.has_error]


@cache
def _parser_and_query(grammar: Grammar) -> tuple[Parser, Query]:
    from tree_sitter import Language, Parser, Query

    module = import_module(grammar.package)
    function = getattr(module, grammar.function)
    language = Language(function())
    return Parser(language), Query(language, query_text(grammar.language))


class _CodeSymbols:
    """What the query finds in a file.

    Attributes:
        broken: How many places do not parse; what lies in another is the same place.
    """

    def __init__(self, stem: str, root: Node, source: bytes) -> None:
        self._source = source
        self._module = _Symbol("module", root, stem, source=source)
        self.broken = 0
        self._broken_to = 0
        # By the node of its body, or its own.
        self._symbols: dict[int, _Symbol] = {}
        self._definitions: dict[int, Node] = {}
        self._hidden: list[Node] = []
        self._owners: list[tuple[Node, str]] = []
        self._names: list[_Name] = []
        self._n_links_left_out = 0
        self._says: dict[str, str] = {}  # by a symbol's name, how its comment begins

    def add(self, captured: dict[str, Node]) -> None:
        """Take in one match of the query."""
        for kind, node in captured.items():
            if kind in _SYMBOLS:
                self._add_symbol(kind, node, captured)
            elif kind == "owner":
                self._add_owner(node, captured)
            elif kind == "definition":
                self._definitions[node.id] = node
            elif kind == "hidden":
                self._hidden.append(node)
            elif kind == "error":
                self._add_broken(node)
            elif kind in _NAMES:
                self._add_name(kind, node)

    def _add_symbol(
        self,
        kind: str,
        node: Node,
        captured: dict[str, Node],
    ) -> None:
        body = captured.get("body")
        key = node.id if body is None else body.id
        before = self._symbols.get(key)
        if before is not None and not _names_better(node, captured, before):
            return
        names = symbol_names(captured)
        symbol = _Symbol(
            kind, node, names[-1], body, source=self._source, prefix=names[:-1]
        )
        self._symbols[key] = symbol

    def _add_owner(self, node: Node, captured: dict[str, Node]) -> None:
        names = owner_names(captured)
        if names:
            name = ".".join(names)
            self._owners.append((node, name))

    def _add_broken(self, node: Node) -> None:
        is_new_place = node.start_byte >= self._broken_to
        if is_new_place:
            self.broken += 1
        self._broken_to = max(self._broken_to, node.end_byte)

    def _add_name(self, kind: str, node: Node) -> None:
        n_bytes = node.end_byte - node.start_byte
        if kind == "call" and n_bytes > _CALL_BYTES:
            return
        text = _text(node)
        self._names.append(_Name(node.start_byte, kind, text))

    def problems(self) -> list[str]:
        """Return what of the file is no symbol, or not all of one, once it is read."""
        n_symbols = len(self._symbols)
        problems = []
        if self.broken:
            problems.append(
                f"{self.broken} places do not parse; {n_symbols} symbols were read"
            )
        symbol_ids = {symbol.node.id for symbol in self._symbols.values()}
        nameless = [
            node for key, node in self._definitions.items() if key not in symbol_ids
        ]
        if nameless:
            lines = shown_lines(nameless)
            problems.append(f"definitions without a name were left out: {lines}")
        if self._hidden:
            lines = shown_lines(self._hidden)
            problems.append(f"definitions in macros were left out: {lines}")
        if self._n_links_left_out:
            problems.append(
                f"{self._n_links_left_out} calls and imports were left out: a symbol"
                f" keeps {_MOST_LINKS} of each"
            )
        return problems

    def parts(self) -> Iterator[Part]:
        """Yield the module, then its symbols in the order of the file."""
        self._assign_owners()
        counts = Counter[str]()
        symbols = list(self._symbols.values())
        symbols.sort(key=lambda symbol: symbol.node.start_byte)
        for symbol in [self._module, *symbols]:
            name = symbol.qualified
            counts[name] += 1
            if counts[name] > 1:  # defined again, as under a condition
                name = f"{name}'{counts[name]}"
            yield self._part(symbol, name)

    def _part(self, symbol: _Symbol, name: str) -> Part:
        """Return a symbol as it is kept, to be searched.

        It holds the signature, the comment, what the comments around it begin with,
        and the words of its source.
        """
        is_file = symbol is self._module
        owner = ".".join(symbol.owners)
        doc, docstring = _doc(symbol, is_file)
        first_paragraph = folded(doc.partition("\n\n")[0])
        self._says[name] = first_paragraph[:_FIRST]
        if is_file:
            paragraphs = ["module " + name, doc]
        else:
            paragraphs = [_signature(symbol), doc]
            around = self._comments_around(owner)
            if around:
                paragraphs.append(f"In: {around}")
        words = _words(symbol, docstring)
        if words:
            paragraphs.append(f"· {words}")
        text = "\n".join(filter(None, paragraphs))
        first_line = symbol.node.start_point[0] + 1
        links = _links(symbol, owner)
        self._n_links_left_out += _n_beyond(symbol.calls) + _n_beyond(symbol.imports)
        return Part(
            f"code_{symbol.kind}",
            name,
            text,
            first_line,
            links,
        )

    def _comments_around(self, owner: str) -> str:
        """Return how the comments of the module and of a symbol's owner begin."""
        names = dict.fromkeys((self._module.name, owner))
        comments = map(self._says.get, names)
        filled = filter(None, comments)
        return " ".join(filled)

    def _assign_owners(self) -> None:
        """Give each symbol its owners, and each thing the symbol around it.

        A call, an import or a symbol counts for the innermost symbol around it.
        """
        ends = list[int]()
        scopes = list[_Scope]()
        for entry in self._entries():
            while ends and ends[-1] <= entry.start:
                ends.pop()
                scopes.pop()
            around = scopes[-_DEEPEST:]
            inner = self._innermost(around)
            item = entry.item
            if isinstance(item, _Name):
                _add_to(inner, item)
                continue
            if isinstance(item, _Symbol):
                inner.inner.append(item.node)
                _set_owners(item, around)
            ends.append(-entry.minus_end)
            scopes.append(item)

    def _innermost(self, around: _Scopes) -> _Symbol:
        """Return the innermost symbol of these scopes, else the module."""
        for scope in reversed(around):
            if isinstance(scope, _Symbol):
                return scope
        return self._module

    def _entries(self) -> list[_Entry]:
        """Return the names, owners and symbols with their spans, outer ones first."""
        entries = list[_Entry]()
        for call_or_import in self._names:
            entries.append(_Entry(call_or_import.start, 0, 1, call_or_import))
        for node, name in self._owners:
            entries.append(_scope_entry(node, name))
        for symbol in self._symbols.values():
            entries.append(_scope_entry(symbol.node, symbol))
        return sorted(entries, key=lambda entry: entry[:3])


def _add_to(symbol: _Symbol, name: _Name) -> None:
    """Count a call or an import for a symbol."""
    if name.kind == "call":
        symbol.calls.append(name.text)
    else:
        symbol.imports.append(name.text)


def _scope_entry(node: Node, scope: _Scope) -> _Entry:
    return _Entry(node.start_byte, -node.end_byte, 0, scope)


def _set_owners(symbol: _Symbol, around: _Scopes) -> None:
    """Note what stands around a symbol; a function in a class is a method."""
    for scope in around:
        if isinstance(scope, str):
            symbol.owners.append(scope)
        else:
            symbol.owners += [*scope.prefix, scope.name]
    symbol.owners += symbol.prefix
    if symbol.kind != "function":
        return
    if symbol.prefix:
        symbol.kind = "method"
    if not around:
        return
    innermost = around[-1]
    if isinstance(innermost, str) or innermost.kind == "class":
        symbol.kind = "method"


def _names_better(node: Node, captured: dict[str, Node], before: _Symbol) -> bool:
    """Return whether a match says more of the name of a symbol than the one before.

    What a function is assigned to names it, rather than its own name.
    """
    if node.start_byte != before.node.start_byte:
        return node.start_byte < before.node.start_byte
    return "target" in captured


def _n_beyond(names: list[str]) -> int:
    """Return how many calls or imports are more than a symbol keeps."""
    if len(names) <= _MOST_LINKS:
        return 0
    n_all = len(_once(names, len(names)))
    return max(0, n_all - _MOST_LINKS)


def _links(symbol: _Symbol, owner: str) -> Links:
    """Return what a symbol calls and imports, and what it lies in."""
    links = list[tuple[str, str]]()
    for call in _once(symbol.calls, _MOST_LINKS):
        if _DOTTED.fullmatch(call):
            links.append(("calls", call))
    for text in _once(symbol.imports, _MOST_LINKS):
        name = text.strip("\"'")
        links.append(("imports", name))
    if owner:
        links.append(("in", owner))
    return tuple(links)


def _text(node: Node) -> str:
    source = node.text or b""
    return source.decode("utf-8", "replace")


def _once(names: list[str], most: int) -> list[str]:
    """Return the first `most` names, each once, none of them blank."""
    folded_names = map(folded, names)
    filled = filter(None, folded_names)
    return list(dict.fromkeys(filled))[:most]


def _words(symbol: _Symbol, docstring: Node | None) -> str:
    """Return the first words of a symbol's own source, each once."""
    source = _own_source(symbol, docstring)
    all_words = _WORD.findall(source)
    words = list(dict.fromkeys(all_words))
    return " ".join(words[:_MOST_WORDS])


def _signature(symbol: _Symbol) -> str:
    """Return what stands before the body of a symbol, on one line."""
    node = symbol.node
    end = node.end_byte if symbol.body is None else symbol.body.start_byte
    start = node.start_byte
    end = min(end, start + 4 * _SIGNATURE)
    head = symbol.source[start:end].decode("utf-8", "replace")
    signature = folded(head)[:_SIGNATURE]
    return signature.removesuffix("=>").rstrip(" {:=")


def _own_source(symbol: _Symbol, docstring: Node | None) -> str:
    """Return the source of a symbol behind its signature.

    The symbols in it and its docstring are left out.
    """
    source = symbol.source
    left_out = list(symbol.inner)
    if docstring is not None:
        left_out.append(docstring)
    left_out.sort(key=lambda node: node.start_byte)
    offset = (symbol.body or symbol.node).start_byte
    pieces = list[bytes]()
    for node in left_out:
        pieces.append(source[offset : node.start_byte])
        offset = max(offset, node.end_byte)
    pieces.append(source[offset : symbol.node.end_byte])
    return b" ".join(pieces).decode("utf-8", "replace")


def _doc(symbol: _Symbol, is_file: bool) -> tuple[str, Node | None]:
    """Return what the comment or docstring of a symbol says, and the docstring."""
    inside = symbol.node if is_file else symbol.body
    named = inside.named_children if inside is not None else []
    docstring = _docstring(named)
    if docstring is not None:
        content = _QUOTES.sub("", _text(docstring))
        return cleandoc(content)[:_DOC], docstring
    if is_file:
        first = named[0] if named else None
        lines = _comment_lines(first, forward=True)
    else:
        lines = _comment_lines(_before(symbol.node), forward=False)
        lines.reverse()
    stripped = [line.strip() for line in lines]
    comment = "\n".join(stripped)
    return comment[:_DOC].strip(), None


def _docstring(named: list[Node]) -> Node | None:
    """Return the string that the first statement of a body is, or None."""
    for node in named:
        if not node.children or "comment" in node.type:
            continue
        statement = node.children[0]
        if not statement.children:
            return None
        first = statement.children[0]
        return statement if first.type == "string_start" else None
    return None


def _comment_lines(node: Node | None, *, forward: bool) -> list[str]:
    """Return the comments from a node on, as long as nothing but marks is between."""
    lines = list[str]()
    # A step to the next sibling looks at all of them.
    while node is not None and len(lines) < _MOST_COMMENTS:
        is_comment = "comment" in node.type
        if not is_comment and node.type not in ("attribute_item", "decorator"):
            break
        if is_comment:
            comment = _text(node)
            lines.append(_COMMENT.sub("", comment))
        node = node.next_named_sibling if forward else node.prev_named_sibling
    return lines


def _before(node: Node) -> Node | None:
    """Return what stands before a symbol with its decorators.

    Where a symbol begins a statement, as that of an export, it is what stands before
    the statement.
    """
    while True:
        before = node.prev_named_sibling or node.parent
        if before is None:
            break
        if before.type != "decorator" and not _begins(node, before):
            break
        node = before
    return node.prev_named_sibling


def _begins(node: Node, statement: Node) -> bool:
    """Return whether a statement is around a node and begins on the same line."""
    if statement != node.parent:
        return False
    return statement.start_point[0] == node.start_point[0]


@reads_apart()
def read_symbols(
    path: Path | str,
    name: str,
    content: bytes,
) -> tuple[list[Part], list[str]]:
    """Return the symbols of a file; see `files.ingest.file_reader.FileReader`."""
    if Path(path).suffix.lower() not in LANGUAGES:
        raise InvalidInput(
            f"its language is not known; allowed are {', '.join(LANGUAGES)}"
        )
    source, problem = utf8_source(name, content)
    symbols = _symbols_in(name, source)
    parts = list(symbols.parts())
    problems = [problem] if problem else []
    return parts, [*problems, *symbols.problems()]


def utf8_source(file: str, content: bytes) -> tuple[bytes, str]:
    r"""Return a source in UTF-8, and what is to be said of its encoding.

    Args:
        file: Its name; of Python the encoding is that which the source names.
        content: Its content, in whatever encoding.

    Raises:
        InvalidInput: It is no text.

    >>> source = "# coding: latin-1\ndef grüße(): pass".encode("latin-1")
    >>> utf8_source("a.py", source)[0].decode()
    '# coding: latin-1\ndef grüße(): pass'
    """
    declared = ""
    if file.lower().endswith((".py", ".pyi")):
        for line in content.split(b"\n", 2)[:2]:
            match = _CODING.match(line)
            if match is not None:
                declared = match[1].decode()
                break
    decoded = decode_bytes(content, declared)
    if not decoded.is_text:
        raise InvalidInput("it holds bytes that no source code has")
    text = decoded.text.replace("\0", "\ufffd")
    return text.encode("utf-8", "replace"), decoded.problem


CODE = FileReader("code 3", lambda: LANGUAGES, read_symbols, "ingest")
