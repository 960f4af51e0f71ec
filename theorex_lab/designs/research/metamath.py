"""Read the assertions of Metamath databases, and which of them use which.

Metamath is a sequence of tokens between blanks, and a token that begins with `$` is a
keyword: so it is cut by its keywords, in one pass, and no library is needed. An
included file is read where it is first named, and a file that no other one includes
begins a database of its own.
"""

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from theorex_lab.core.errors import InvalidInput, StorageError
from theorex_lab.designs.research.omissions import OmissionList, OmissionReason

_KEYWORD = re.compile(r"(?<![^ \t\r\n\f])\$[^ \t\r\n\f]+")
_COMMENT_END = re.compile(r"(?<![^ \t\r\n\f])\$\)(?![^ \t\r\n\f])")
_FILE_NAME_CHARACTERS = 1_000
_MOST_HYPOTHESES = 1_000
_STATEMENTS = frozenset(("$c", "$v", "$d", "$f", "$e", "$a", "$p"))
_UNLABELLED = frozenset(("$c", "$v", "$d"))
_ASSERTIONS = frozenset(("$a", "$p"))
_REASONS = {
    "syntax": OmissionReason(
        "assertion without |-",
        "assertions without |-",
        "they define the syntax",
    ),
    "unfinished": OmissionReason(
        "assertion without its end",
        "assertions without their ends",
        "end each by $.",
    ),
    "nameless": OmissionReason(
        "assertion without a label",
        "assertions without labels",
        "give each a label",
    ),
    "again": OmissionReason(
        "assertion whose label stands before",
        "assertions whose labels stand before",
        "give each its own label",
    ),
    "crowded": OmissionReason(
        f"assertion with more than {_MOST_HYPOTHESES:,} hypotheses",
        f"assertions with more than {_MOST_HYPOTHESES:,} hypotheses",
        "close the blocks before them by $}",
    ),
    "unknown": OmissionReason(
        "name in proofs that nothing before them has",
        "names in proofs that nothing before them has",
        "give the file that defines them",
    ),
    "stray": OmissionReason(
        "token outside of statements", "tokens outside of statements"
    ),
    "missing file": OmissionReason(
        "file that is not there",
        "files that are not there",
        "give the folder that holds them",
    ),
    "outside": OmissionReason(
        "file outside of the folder",
        "files outside of the folder",
        "give the folder that holds all",
    ),
    "comment": OmissionReason(
        "part behind a comment that is not closed",
        "parts behind comments that are not closed",
        "close each by $)",
    ),
    "unknown keyword": OmissionReason(
        "keyword that Metamath lacks", "keywords that Metamath lacks"
    ),
}


class MetamathAssertion(NamedTuple):
    """Hold an axiom or a theorem.

    Attributes:
        label: Its label.
        statement: What it says, behind its hypotheses.
        tags: Its kind.
        comment: The comment before it.
        identity: Its file and its place there.
    """

    label: str
    statement: str
    tags: tuple[str, ...]
    comment: str
    identity: str


class MetamathRead(NamedTuple):
    """Hold what a database holds.

    Attributes:
        assertions: Those that begin with |-, in their order.
        links: Label and label of what uses what.
        identities: The file and the place of each assertion of any kind.
        left_out: Those of them that are left out.
        problems: What is left out, and why.
    """

    assertions: list[MetamathAssertion]
    links: list[tuple[str, str]]
    identities: list[str]
    left_out: list[str]
    problems: list[str]


class _MetamathText:
    """A text that is read: its keywords, each with the tokens before it."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.text = text
        self.offset = 0
        self._counted_to = 0
        self._line = 1

    def place(self, offset: int) -> str:
        """Return the file and the line of an offset; they are asked for in order."""
        n_lines = self.text.count("\n", self._counted_to, offset)
        self._line += n_lines
        self._counted_to = max(self._counted_to, offset)
        return f"{self.file}:{self._line}"


class _OpenStatement:
    """A statement that is not ended yet.

    Attributes:
        kind: Its keyword.
        label: Its label.
        comment: The comment before it.
        where: The file and the line of an assertion.
        identity: Its file and its place there.
        tokens: Its tokens so far, those of its proof apart.
        proof: The tokens of its proof, None before it begins.
    """

    def __init__(self, kind: str, label: str, comment: str) -> None:
        self.kind = kind
        self.label = label
        self.where = ""
        self.identity = ""
        self.comment = comment
        self.tokens = list[str]()
        self.proof: list[str] | None = None

    def add(self, tokens: list[str]) -> None:
        """Take the tokens up to the next keyword."""
        target = self.tokens if self.proof is None else self.proof
        target += tokens


class MetamathReader:
    """Read a database from its first file on.

    Args:
        find: Returns the text of a file by its name in the folder; None for none.

    Attributes:
        files: The files that were read.
    """

    def __init__(self, find: Callable[[str], str | None]) -> None:
        self._find = find
        self.files = list[str]()
        self._root = ""
        self._texts = list[_MetamathText]()
        self._open: _OpenStatement | None = None
        self._tokens = list[str]()  # before a keyword, outside of statements
        self._comment = ""
        self._labels = set[str]()
        self._assertions = dict[str, MetamathAssertion]()
        self._links = list[tuple[str, str]]()
        self._identities = list[str]()
        self._lost = list[str]()
        self._unknown = dict[str, str]()
        # The hypotheses of each block that is open.
        self._scopes = [list[str]()]
        self._left_out = OmissionList(_REASONS)
        self._keywords: dict[str, Callable[[_MetamathText, int], None]] = {
            "$(": self._skip_comment,
            "$[": self._include,
            "${": self._open_block,
            "$}": self._close_block,
            "$=": self._begin_proof,
            "$.": self._end_statement,
        }

    def read(self, file: str, text: str) -> MetamathRead:
        """Read a file and what it includes, and return what they hold."""
        self._root = file
        self._open_text(file, text)
        while self._texts:
            self._step(self._texts[-1])
        self._abandon()
        for name, where in self._unknown.items():
            self._left_out.add("unknown", f"{name} ({where})")
        assertions = list(self._assertions.values())
        return MetamathRead(
            assertions,
            self._links,
            self._identities,
            self._lost,
            self._left_out.problems(),
        )

    def _open_text(self, file: str, text: str) -> None:
        self.files.append(file)
        self._texts.append(_MetamathText(file, text))

    def _step(self, current: _MetamathText) -> None:
        """Read up to the next keyword of a text, and the keyword."""
        match = _KEYWORD.search(current.text, current.offset)
        end = match.start() if match else len(current.text)
        offset = current.offset
        before = current.text[offset:end]
        tokens = before.split()
        if self._open is not None:
            self._open.add(tokens)
        else:
            self._tokens += tokens
        if match is None:
            self._texts.remove(current)
            return
        current.offset = match.end()
        keyword = match[0]
        handler = self._keywords.get(keyword)
        if handler is not None:
            handler(current, match.start())
        elif keyword in _STATEMENTS:
            self._begin_statement(keyword, current, match.start())
        else:
            where = current.place(match.start())
            shown = f"{where} ({keyword:.20})"
            self._left_out.add("unknown keyword", shown)

    def _skip_comment(self, current: _MetamathText, start: int) -> None:
        """Go behind a comment; it may describe the assertion that follows it."""
        end = _COMMENT_END.search(current.text, current.offset)
        if end is None:
            where = current.place(start)
            self._left_out.add("comment", where)
            current.offset = len(current.text)
            return
        if self._open is None:
            self._report_stray(current, start)
            comment = current.text[current.offset : end.start()]
            words = comment.split()
            self._comment = " ".join(words)
        current.offset = end.end()

    def _report_stray(self, current: _MetamathText, offset: int) -> None:
        """Report tokens that belong to no statement."""
        for token in self._tokens:
            where = current.place(offset)
            shown = f"{where} ({token:.40})"
            self._left_out.add("stray", shown)
        self._tokens = []

    def _include(self, current: _MetamathText, start: int) -> None:
        """Read a file where it is first named."""
        end = _include_end(current.text, current.offset)
        where = current.place(start)
        if end < 0:
            self._left_out.add("missing file", f"{where} ($[ without $])")
            return
        target = current.text[current.offset : end].strip()
        current.offset = end + 2
        names = included_names(target, current.file, self._root)
        if not names:
            shown = f"{where} ({target:.80})"
            self._left_out.add("outside", shown)
            return
        if any(name in self.files for name in names):
            return
        for name in names:
            text = _text_or_none(self._find, name)
            if text is not None:
                self._open_text(name, text)
                return
        shown = f"{where} ({target:.80})"
        self._left_out.add("missing file", shown)

    def _open_block(self, current: _MetamathText, start: int) -> None:
        """Begin a block, whose hypotheses hold within it."""
        self._between_statements(current, start)
        self._scopes.append([])

    def _close_block(self, current: _MetamathText, start: int) -> None:
        """End a block; the outermost one is emptied, never closed."""
        self._between_statements(current, start)
        self._scopes.pop()
        if not self._scopes:
            self._scopes.append([])

    def _between_statements(self, current: _MetamathText, start: int) -> None:
        self._abandon()
        self._report_stray(current, start)
        self._comment = ""

    def _begin_statement(self, kind: str, current: _MetamathText, start: int) -> None:
        if self._open is not None and self._open.tokens:
            # The label of this one was taken for a token of the one before.
            last = self._open.proof or self._open.tokens
            self._tokens = [last.pop()]
        self._abandon()
        label = ""
        if kind not in _UNLABELLED and self._tokens:
            label = self._tokens.pop()
        self._report_stray(current, start)
        self._open = _OpenStatement(kind, label, self._comment)
        if kind in _ASSERTIONS:
            self._open.where = current.place(start)
            self._open.identity = f"{current.file}@{start}"
            self._identities.append(self._open.identity)
        self._comment = ""

    def _abandon(self) -> None:
        """Leave out a statement whose end is missing."""
        statement = self._open
        self._open = None
        if statement is not None and statement.kind in _ASSERTIONS:
            self._leave_out("unfinished", statement)

    def _leave_out(self, reason: str, statement: _OpenStatement) -> None:
        self._lost.append(statement.identity)
        label = statement.label or "?"
        self._left_out.add(reason, f"{statement.where} ({label})")

    def _begin_proof(self, current: _MetamathText, start: int) -> None:
        if self._open is not None and self._open.kind == "$p":
            self._open.proof = []
        else:
            self._left_out.add("unknown keyword", f"{current.place(start)} ($=)")

    def _end_statement(self, current: _MetamathText, start: int) -> None:
        """Keep a hypothesis, an axiom or a theorem."""
        statement = self._open
        if statement is None:
            self._report_stray(current, start)
            return
        self._open = None
        text = " ".join(statement.tokens)
        if statement.kind in _ASSERTIONS:
            self._assert(statement, text)
        elif statement.kind == "$e":
            self._scopes[-1].append(text)
        if statement.label:
            self._labels.add(statement.label)

    def _assert(self, statement: _OpenStatement, text: str) -> None:
        """Keep an axiom or a theorem, unless it defines syntax."""
        label = statement.label
        if not label:
            self._leave_out("nameless", statement)
        elif not statement.tokens or statement.tokens[0] != "|-":
            self._leave_out("syntax", statement)
        elif label in self._labels:
            self._leave_out("again", statement)
        elif sum(map(len, self._scopes)) > _MOST_HYPOTHESES:
            self._leave_out("crowded", statement)
        else:
            self._keep(statement, text)

    def _keep(self, statement: _OpenStatement, text: str) -> None:
        """Keep an assertion with its hypotheses."""
        label = statement.label
        self._link(label, statement)
        of_scopes = chain.from_iterable(self._scopes)
        hypotheses = list(of_scopes)
        if hypotheses:
            premise = " & ".join(hypotheses)
            text = f"{premise} => {text}"
        tags = _tags(statement)
        assertion = MetamathAssertion(
            label,
            text,
            tags,
            statement.comment,
            statement.identity,
        )
        self._assertions[label] = assertion

    def _link(self, label: str, statement: _OpenStatement) -> None:
        """Note what a proof names of the assertions before it."""
        for name in _named_in_proof(statement.proof or []):
            if name in self._assertions:
                self._links.append((label, name))
            elif name not in self._labels and name != "?":
                self._unknown.setdefault(name, statement.where)


def _include_end(text: str, offset: int) -> int:
    """Return where the name of an included file ends; -1 where it does not."""
    return text.find("$]", offset, offset + _FILE_NAME_CHARACTERS)


def _tags(statement: _OpenStatement) -> tuple[str, ...]:
    if statement.kind == "$a":
        return ("axiom",)
    proof = statement.proof
    if not proof:
        return ("theorem", "unproved")
    has_gap = any("?" in token for token in proof)
    return ("theorem", "unproved") if has_gap else ("theorem",)


def _named_in_proof(proof: list[str]) -> list[str]:
    """Return the labels that a proof names, each once."""
    if proof and proof[0] == "(":  # a compressed proof lists them in parentheses
        end = proof.index(")") if ")" in proof else len(proof)
        proof = proof[1:end]
    return list(dict.fromkeys(proof))


def included_names(target: str, file: str, root: str) -> list[str]:
    """Return the names that an included file may have in the folder.

    It lies beside the first file of the database, or beside the one that includes it.
    None is outside of the folder.

    >>> included_names("b.mm", "x/a.mm", "x/a.mm"), included_names("../b.mm", "a", "a")
    (['x/b.mm', 'x/b.mm.gz', 'b.mm', 'b.mm.gz'], [])
    """
    names = dict[str, None]()
    if not target or posixpath.isabs(target) or "\0" in target:
        return []
    beside_root = posixpath.dirname(root)
    beside_file = posixpath.dirname(file)
    for base in (beside_root, beside_file, ""):
        path = posixpath.join(base, target)
        name = posixpath.normpath(path)
        if not name.startswith("..") and ":" not in name:
            names[name] = None
            names[f"{name}.gz"] = None
    return list(names)


def _text_or_none(find: Callable[[str], str | None], name: str) -> str | None:
    try:
        return find(name)
    except (InvalidInput, StorageError):
        return None


def included_targets(text: str) -> Iterator[str]:
    """Yield what a text includes, outside of its comments, as it is written there."""
    offset = 0
    while match := _KEYWORD.search(text, offset):
        offset = match.end()
        if match[0] == "$(":
            end = _COMMENT_END.search(text, offset)
            offset = end.end() if end else len(text)
        elif match[0] == "$[":
            close = _include_end(text, offset)
            if close >= 0:
                yield text[offset:close].strip()
                offset = close


def metamath_roots(
    files: Iterable[str], find: Callable[[str], str | None]
) -> list[str]:
    """Return the files that begin a database: no other one includes them.

    Files that include each other in a circle begin one by the first of their names.
    """
    names = list(files)
    included = dict[str, set[str]]()
    for name in names:
        text = _text_or_none(find, name) or ""
        included[name] = set()
        if "$[" in text:
            for target in included_targets(text):
                included[name].update(included_names(target, name, name))
    everywhere = set().union(*included.values())
    roots = [name for name in names if name not in everywhere]
    reached = set[str]()
    for name in [*roots, *names]:
        is_root = name in roots
        if name not in reached and not is_root:
            roots.append(name)
        _reach(name, included, reached)
    return roots


def _reach(name: str, included: dict[str, set[str]], reached: set[str]) -> None:
    """Add a file and what it includes to what is reached."""
    waiting = [name]
    while waiting:
        current = waiting.pop()
        if current not in reached:
            reached.add(current)
            names = included.get(current, set())
            waiting += names.intersection(included)
