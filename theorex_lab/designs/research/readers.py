"""Read graphs of theorems that others published, as theorems and links.

They are LaTeX blueprints, Metamath and equational theories.

Nothing is extracted to disk, and nothing is read beyond what such a file may hold.
"""

import gzip
import io
import json
import re
import tarfile
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple
from zlib import error as zlib_error

import numpy as np

from theorex_lab.core.errors import InvalidInput
from theorex_lab.designs.research.theorems import UNCONDITIONAL, Closure, Ints, closed
from theorex_lab.files.formats.foreign import check_inside, open_file

_MOST_BYTES = 1 << 26  # of one file, unpacked
_MOST_FILES = 2_000
_ENVIRONMENT = re.compile(
    r"\\begin\{(definition|lemma|theorem|proposition|corollary|proof)\}(?:\[((?:[^\[\]{}]|\{[^{}]*\})*)\])?(.*?)\\end\{\1\}",
    re.S,
)
_LABEL = re.compile(r"\\label\{([^}]*)\}")
_USES = re.compile(r"\\uses\{([^}]*)\}")
_COMMENT = re.compile(r"(?<!\\)%.*")
_SIGNS = re.compile(
    r"\\(?:label|lean|uses|proves)\{[^}]*\}|\\(?:leanok|notready|mathlibok)\b"
)
_METAMATH = re.compile(
    r"\$\((.*?)\$\)|(\$\{)|(\$\})|(\S+)\s+\$([eap])\s(.*?)\$\.", re.S
)
_EQUATION = re.compile(r"Equation(\d+)")
Node = tuple[str, str, tuple[str, ...]]  # name, statement, tags
Link = tuple[str, str, str]  # name, name, relation


class ReadTheorems(NamedTuple):
    """Hold what files tell of theorems.

    Attributes:
        domain: As it may be called.
        nodes: The theorems.
        links: The links between them.
        problems: What could not be read.
        comments: By name, what is said of a theorem beside its statement.
    """

    domain: str
    nodes: list[Node]
    links: list[Link]
    problems: list[str]
    comments: dict[str, str]


def read_theorems(path: Path | str) -> ReadTheorems:
    """Return the theorems of a file or a folder.

    It is a LaTeX blueprint (a folder of .tex or a .tar.gz of them), a Metamath file, or
    a folder of equational theories.

    Raises:
        InvalidInput: It is anything else, or larger than such files are.
    """
    source = Path(path)
    laws = source / "equations.txt"
    if laws.is_file():
        return equational(source)
    name, _, _ = source.name.partition(".")
    unpacked_name = source.name.removesuffix(".gz")
    if unpacked_name.endswith(".mm"):
        return metamath(_text(source), name)
    patterns = ["*.tar.gz", "*.tar"]
    archives = _files(source, patterns, (".tar.gz", ".tgz", ".tar"))
    if archives:
        return blueprint(_members(archives[0]), name)
    texts = list[Path]()
    if source.is_dir():
        texts += source.rglob("*.tex")
    elif source.suffix == ".tex":
        texts.append(source)
    if texts:
        chosen = sorted(texts)[:_MOST_FILES]
        named_texts = ((file.name, _inside(source, file)) for file in chosen)
        return blueprint(named_texts, source.stem)
    databases = _files(source, ["*.mm", "*.mm.gz"], ())
    if databases:
        return metamath(_text(databases[0]), source.name)
    raise InvalidInput(
        f"got {path}, which holds no theorems; allowed are .tex, .mm, and a folder with"
        " equations.txt"
    )


def _files(source: Path, patterns: list[str], endings: tuple[str, ...]) -> list[Path]:
    """Return the files of a folder by patterns, or the file itself by its ending."""
    if source.is_dir():
        files: list[Path] = []
        for pattern in patterns:
            files += source.glob(pattern)
        return files
    if source.name.endswith(endings):
        return [source]
    return []


def blueprint(texts: Iterable[tuple[str, str]], domain: str) -> ReadTheorems:
    r"""Return the statements of LaTeX texts with their \uses.

    They are those of the statement and of the proofs that follow it. A name is the
    label of the whole; what cites a label within it, such as an equation's, uses the
    statement that holds it.

    Args:
        texts: The name and the text of each file.
        domain: The domain of the statements.

    >>> text = (
    ...     r"\begin{lemma}\label{a}A\end{lemma} "
    ...     r"\begin{theorem}\label{b}B\end{theorem}\begin{proof}\uses{a}C\end{proof}"
    ... )
    >>> blueprint([("one.tex", text)], "x").links
    [('b', 'a', 'uses')]
    """
    reader = _BlueprintReader()
    for file, text in texts:
        reader.read(file, text)
    return ReadTheorems(domain, reader.nodes, reader.links(), reader.problems, {})


class _BlueprintReader:
    """Read the files of a blueprint one after the other.

    Attributes:
        nodes: The statements, in their order.
        problems: What could not be read.
    """

    def __init__(self) -> None:
        self.nodes = list[Node]()
        self.problems = list[str]()
        self._uses = list[tuple[str, str]]()
        self._holders = dict[str, str]()  # by label, the statement that holds it

    def read(self, file: str, text: str) -> None:
        """Read a file: its statements, and what they and their proofs use."""
        current = ""
        for kind, title, body in _ENVIRONMENT.findall(_COMMENT.sub("", text)):
            if kind != "proof":
                current = self._statement(file, kind, title, body)
            if current:
                self._cite(current, body)

    def links(self) -> list[Link]:
        """Return the links: who uses the statement that holds a label."""
        links = []
        for start, cited in self._uses:
            end = self._holders.get(cited, cited)
            links.append((start, end, "uses"))
        return links

    def _statement(self, file: str, kind: str, title: str, body: str) -> str:
        """Keep a statement; return its name, '' for one that has none of its own."""
        label_match = _LABEL.search(body)
        label = label_match[1] if label_match else ""
        if not label:
            self.problems.append(f"{file}: a {kind} without a label")
            return ""
        if label in self._holders:
            self.problems.append(f"{file}: a {kind} named {label} again")
            return ""
        text = _spaced(_SIGNS.sub(" ", body))
        if title:
            text = f"{title}: {text}"
        tags: tuple[str, ...] = (kind,)
        if r"\leanok" in body:
            tags = (kind, "formalized")
        self.nodes.append((label, text or label, tags))
        return label

    def _cite(self, name: str, body: str) -> None:
        """Note the labels that a part of a statement holds, and those that it uses."""
        for label in _LABEL.findall(body):
            self._holders[label] = name
        for names in _USES.findall(body):
            for cited in map(str.strip, names.split(",")):
                if cited:
                    self._uses.append((name, cited))


def _spaced(text: str) -> str:
    """Return the words of a text with a space between each two."""
    return " ".join(text.split())


def metamath(text: str, domain: str) -> ReadTheorems:
    """Return the assertions that begin with |- of a Metamath file.

    Each has its hypotheses and its statement, the comment before it, and what its proof
    names.

    Args:
        text: What the file holds.
        domain: The domain of the assertions.

    >>> theorems = metamath(
    ...     "one $a |- 1 $. $( From one. $) two $p |- 2 $= ( one ) A $.", "x"
    ... )
    >>> theorems.links, theorems.comments["two"]
    ([('two', 'one', 'uses')], 'From one.')
    """
    reader = _MetamathReader()
    comment = ""
    for next_comment, opening, closing, label, kind, body in _METAMATH.findall(text):
        if opening:
            reader.open_block()
        elif closing:
            reader.close_block()
        elif kind:
            reader.read(label, kind, body, comment)
        comment = next_comment
    nodes = list(reader.nodes.values())
    return ReadTheorems(domain, nodes, reader.links, [], reader.comments)


class _MetamathReader:
    """Read the statements of a Metamath file one after the other.

    Attributes:
        nodes: The assertions by their labels.
        links: Which assertion uses which.
        comments: By label, the comment before an assertion.
    """

    def __init__(self) -> None:
        self.nodes = dict[str, Node]()
        self.links = list[Link]()
        self.comments = dict[str, str]()
        # The hypotheses of each block that is open.
        self._scopes = [list[str]()]

    def open_block(self) -> None:
        """Begin a block, whose hypotheses hold within it."""
        self._scopes.append([])

    def close_block(self) -> None:
        """End a block; the outermost one is emptied, never closed."""
        self._scopes.pop()
        if not self._scopes:
            self._scopes.append([])

    def read(self, label: str, kind: str, body: str, comment: str) -> None:
        """Read a hypothesis (e), an axiom (a) or a theorem (p)."""
        statement, _, proof = body.partition("$=")
        assertion = _spaced(statement)
        if kind == "e":
            self._scopes[-1].append(assertion)
            return
        if not assertion.startswith("|-"):
            return
        self.nodes[label] = self._node(label, kind, assertion)
        self.comments[label] = _spaced(comment)
        for name in _named_in_proof(proof):
            if name in self.nodes:
                self.links.append((label, name, "uses"))

    def _node(self, label: str, kind: str, assertion: str) -> Node:
        """Return an assertion with the hypotheses of the blocks around it."""
        hypotheses = list(chain.from_iterable(self._scopes))
        if hypotheses:
            premise = " & ".join(hypotheses)
            assertion = f"{premise} => {assertion}"
        tag = "theorem" if kind == "p" else "axiom"
        return label, assertion, (tag,)


def _named_in_proof(proof: str) -> list[str]:
    """Return the labels that a proof names, each once."""
    if "(" in proof:  # a compressed proof lists them between parentheses
        start = proof.find("(") + 1
        end = proof.find(")")
        proof = proof[start:end]
    names = dict.fromkeys(proof.split())
    return list(names)


def equational(folder: Path) -> ReadTheorems:
    """Return the laws of equations.txt, a line each, and which implies which.

    The implications are those of full_entries.json (or its .gz).
    """
    laws, starts, ends, unconditional = _laws(folder)
    nodes = []
    always_true = set(unconditional)
    for number, law in enumerate(laws):
        name = _equation(number)
        tags: tuple[str, ...] = ()
        if number in always_true:
            tags = (UNCONDITIONAL,)
        nodes.append((name, law, tags))
    links = []
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        start_name = _equation(start)
        end_name = _equation(end)
        links.append((start_name, end_name, "generalizes"))
    return ReadTheorems(folder.name, nodes, links, [], {})


def _equation(number: int) -> str:
    """Return the name of a law by its number from 0."""
    return f"Equation{number + 1}"


def closure_of_theories(folder: Path) -> Closure:
    """Return what follows from which of the laws of such a folder.

    Nothing is remembered of it.
    """
    laws, starts, ends, unconditional = _laws(folder)
    numbers = range(len(laws))
    names = list(map(_equation, numbers))
    return closed(names, starts, ends, unconditional)


def _laws(folder: Path) -> tuple[list[str], Ints, Ints, list[int]]:
    """Return the laws and what implies what in all magmas.

    Returns:
        The laws; the numbers (from 0) of those that imply, and of those that they
        imply; the numbers of those that always hold.

    Raises:
        InvalidInput: The folder lacks a file, or a file is broken.
    """
    laws_file = folder / "equations.txt"
    entries_file = folder / "full_entries.json"
    if not entries_file.is_file():
        entries_file = folder / "full_entries.json.gz"
    if not entries_file.is_file() or not laws_file.is_file():
        raise InvalidInput(
            f"got {folder}, which lacks equations.txt or full_entries.json; set"
            " THEOREX_DATA, or give the folder"
        )
    laws = _text(laws_file).splitlines()
    try:
        entries = json.loads(_text(entries_file))
        pairs, unconditional = _implications(entries, len(laws))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidInput(
            f"got {entries_file}, which lists no implications ({error!r:.100}); allowed"
            " is full_entries.json"
        ) from error
    table = np.array(pairs, np.int64).reshape(-1, 2)
    return laws, table[:, 0], table[:, 1], unconditional


def _implications(entries: Any, n_laws: int) -> tuple[list[tuple[int, int]], list[int]]:
    """Return which law implies which, and which always hold, each once."""
    pairs = dict[tuple[int, int], None]()
    unconditional = dict[int, None]()
    for entry in entries:
        variant = entry["variant"]
        implied = variant.get("implication")
        if implied and not implied["finite"]:
            start = _number(implied["lhs"], n_laws)
            end = _number(implied["rhs"], n_laws)
            if start is None or end is None or start == end:
                continue
            pairs[start, end] = None
        else:
            name = variant.get("unconditional", "")
            number = _number(name, n_laws)
            if number is not None:
                unconditional[number] = None
    return list(pairs), list(unconditional)


def _number(name: str, most: int) -> int | None:
    """Return the number (from 0) of a law by its name; None where there is none."""
    match = _EQUATION.fullmatch(name)
    if match is None:
        return None
    number = int(match[1])
    if not 1 <= number <= most:
        return None
    return number - 1


def _text(path: Path) -> str:
    """Return a text file, unpacked where it ends in .gz.

    Raises:
        InvalidInput: It is broken or too large.
    """
    with open_file(path) as file:
        if not path.name.endswith(".gz"):
            return _decoded(file, path)
        unpacked = gzip.GzipFile(fileobj=file)
        return _decoded(unpacked, path)


def _inside(folder: Path, file: Path) -> str:
    """Return the text of a file, which has to stand inside the folder."""
    if folder.is_dir():
        check_inside(folder, file)
    return _text(file)


def _decoded(file: IO[bytes] | gzip.GzipFile, path: Path | str) -> str:
    """Return the text that a file holds; bytes that are no UTF-8 are replaced."""
    data = _bytes(file, path)
    return data.decode("utf-8", "replace")


def _bytes(file: IO[bytes] | gzip.GzipFile, path: Path | str) -> bytes:
    """Return what a file holds.

    Raises:
        InvalidInput: It is damaged or too large.
    """
    try:
        data = file.read(_MOST_BYTES + 1)
    except (OSError, EOFError, zlib_error) as error:
        raise InvalidInput(
            f"got {path}, which is damaged ({error}); give a whole file"
        ) from error
    if len(data) > _MOST_BYTES:
        raise InvalidInput(
            f"got {path}, which holds more than {_MOST_BYTES:,} bytes; give its parts"
        )
    return data


def _members(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the .tex files of an archive, by name, in their order.

    What it says of folders and links counts for nothing.
    """
    with open_file(path) as packed:
        if path.suffix == ".tar":
            data = _bytes(packed, path)
        else:
            data = _bytes(gzip.GzipFile(fileobj=packed), path)
    unpacked = io.BytesIO(data)
    try:
        with tarfile.open(fileobj=unpacked) as archive:
            members = archive.getmembers()
            for member in members[:_MOST_FILES]:
                name = member.name
                if not member.isfile() or not name.endswith(".tex"):
                    continue
                file = archive.extractfile(member)
                if file is not None:
                    yield name, _decoded(file, name)
    except tarfile.TarError as error:
        raise InvalidInput(
            f"got {path}, which is no archive ({error}); give a .tar.gz of .tex files"
        ) from error
