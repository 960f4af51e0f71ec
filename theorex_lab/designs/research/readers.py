"""Graphs of theorems that others published, as theorems and links: LaTeX blueprints,
Metamath, equational theories.

Nothing is extracted to disk, and nothing is read beyond what such a file may hold.
"""

import gzip
import io
import json
import re
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, NamedTuple
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
_LABEL, _USES = (re.compile(rf"\\{name}\{{([^}}]*)\}}") for name in ("label", "uses"))
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
    """What files hold. domain: as it may be called.  comments: by name, what is said of
    a theorem beside its statement.
    """

    domain: str
    nodes: list[Node]
    links: list[Link]
    problems: list[str]
    comments: dict[str, str]


def read_theorems(path: Path | str) -> ReadTheorems:
    """The theorems of a LaTeX blueprint (a folder of .tex or a .tar.gz of them), a
    Metamath file, or a folder of equational theories.

    Raises InvalidInput for anything else, and for what is larger than such files are.
    """
    place = Path(path)
    if (place / "equations.txt").is_file():
        return equational(place)
    if place.name.removesuffix(".gz").endswith(".mm"):
        return metamath(_text(place), place.name.partition(".")[0])
    if packed := (
        [*place.glob("*.tar.gz")]
        if place.is_dir()
        else [place] * place.name.endswith((".tar.gz", ".tgz"))
    ):
        return blueprint(_members(packed[0]), place.name.partition(".")[0])
    if texts := (
        [*place.rglob("*.tex")]
        if place.is_dir()
        else [place] * (place.suffix == ".tex")
    ):
        return blueprint(
            ((file.name, _inside(place, file)) for file in sorted(texts)[:_MOST_FILES]),
            place.stem,
        )
    if place.is_dir() and (files := [*place.glob("*.mm"), *place.glob("*.mm.gz")]):
        return metamath(_text(files[0]), place.name)
    raise InvalidInput(
        f"got {path}, which holds no theorems; allowed are .tex, .mm, and a folder with"
        " equations.txt"
    )


def blueprint(texts: Iterable[tuple[str, str]], domain: str) -> ReadTheorems:
    r"""The statements of LaTeX texts with their \uses: of the statement and of the
    proofs that follow it.

    A name is the label of the whole; what cites a label within it, such as an
    equation's, uses the statement that holds it.

    >>> lemma = r"\begin{lemma}\label{a}A\end{lemma}"
    >>> theorem = r"\begin{theorem}\label{b}B\end{theorem}"
    >>> text = lemma + theorem + r"\begin{proof}\uses{a}C\end{proof}"
    >>> blueprint([("one.tex", text)], "x").links
    [('b', 'a', 'uses')]
    """  # noqa: E501
    nodes = list[Node]()
    uses = list[tuple[str, str]]()
    holder = dict[str, str]()
    problems = list[str]()
    for file, text in texts:
        current = ""
        kept = _COMMENT.sub("", text)
        for kind, title, body in _ENVIRONMENT.findall(kept):
            labels = _LABEL.findall(body)
            if kind != "proof":
                current = labels[0] if labels else ""
                if not current or current in holder:
                    problems.append(
                        f"{file}: a {kind}"
                        f" {'named ' + current + ' again' if current else 'without a label'}"
                    )
                    current = ""
                    continue
                tags = (kind, *(["formalized"] if r"\leanok" in body else []))
                statement = " ".join(_SIGNS.sub(" ", body).split())
                nodes.append(
                    (
                        current,
                        f"{title}: {statement}" if title else statement or current,
                        tags,
                    )
                )
            if current:
                holder |= dict.fromkeys(labels, current)
                uses += [
                    (current, cited.strip())
                    for listed in _USES.findall(body)
                    for cited in listed.split(",")
                    if cited.strip()
                ]
    links = [(start, holder.get(cited, cited), "uses") for start, cited in uses]
    return ReadTheorems(domain, nodes, links, problems, {})


def metamath(text: str, domain: str) -> ReadTheorems:
    """The assertions that begin with |- of a Metamath file: hypotheses and statement,
    the comment before, what a proof names.

    >>> found = metamath(
    ...     "one $a |- 1 $. $( From one. $) two $p |- 2 $= ( one ) A $.", "x"
    ... )
    >>> found.links, found.comments["two"]
    ([('two', 'one', 'uses')], 'From one.')
    """
    nodes = dict[str, Node]()
    links = list[Link]()
    comments = dict[str, str]()
    scopes = [list[str]()]
    comment = ""
    for said, opened, ended, label, kind, body in _METAMATH.findall(text):
        if opened:
            scopes.append([])
        elif ended:
            scopes[-1:] = [] if len(scopes) > 1 else [[]]
        elif kind:
            statement, _, proof = body.partition("$=")
            whole = " ".join(statement.split())
            if kind == "e":
                scopes[-1].append(whole)
            elif whole.startswith("|-"):
                given = [hypothesis for scope in scopes for hypothesis in scope]
                nodes[label] = (
                    label,
                    " & ".join(given) + (" => " if given else "") + whole,
                    ("theorem" if kind == "p" else "axiom",),
                )
                comments[label] = " ".join(comment.split())
                named = (
                    proof[proof.find("(") + 1 : proof.find(")")].split()
                    if "(" in proof
                    else proof.split()
                )
                links += [
                    (label, premise, "uses")
                    for premise in dict.fromkeys(named)
                    if premise in nodes
                ]
        comment = said
    return ReadTheorems(domain, [*nodes.values()], links, [], comments)


def equational(folder: Path) -> ReadTheorems:
    """The laws of equations.txt, a line each, and which implies which, by
    full_entries.json (or its .gz).
    """
    nodes, starts, ends, free = _laws(folder)
    tags: dict[bool, tuple[str, ...]] = {False: (), True: (UNCONDITIONAL,)}
    found = [
        (f"Equation{number + 1}", law, tags[number in free])
        for number, law in enumerate(nodes)
    ]
    pairs = zip(starts.tolist(), ends.tolist(), strict=True)
    return ReadTheorems(
        folder.name,
        found,
        [(found[a][0], found[b][0], "generalizes") for a, b in pairs],
        [],
        {},
    )


def closure_of_theories(folder: Path) -> Closure:
    """What follows from which of the laws of such a folder; nothing is remembered of
    it.
    """
    nodes, starts, ends, free = _laws(folder)
    return closed(
        [f"Equation{number + 1}" for number in range(len(nodes))], starts, ends, free
    )


def _laws(folder: Path) -> tuple[list[str], Ints, Ints, list[int]]:
    """The laws, the numbers (from 0) of those that imply and are implied, in all
    magmas, and of those that always hold.
    """
    file = next(
        (
            file
            for name in ("full_entries.json", "full_entries.json.gz")
            if (file := folder / name).is_file()
        ),
        None,
    )
    if file is None or not (folder / "equations.txt").is_file():
        raise InvalidInput(
            f"got {folder}, which lacks equations.txt or full_entries.json; set"
            " THEOREX_DATA, or give the folder"
        )
    laws = _text(folder / "equations.txt").splitlines()
    pairs = dict[tuple[int, int], None]()
    free = dict[int, None]()
    try:
        for entry in json.loads(_text(file)):
            variant = entry["variant"]
            implied = variant.get("implication")
            if implied and not implied["finite"]:
                ends = (
                    _number(implied["lhs"], len(laws)),
                    _number(implied["rhs"], len(laws)),
                )
                pairs |= {ends: None} if None not in ends and ends[0] != ends[1] else {}  # type: ignore[dict-item]
            elif (
                always := _number(variant.get("unconditional", ""), len(laws))
            ) is not None:
                free[always] = None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidInput(
            f"got {file}, which lists no implications ({error!r:.100}); allowed is"
            " full_entries.json"
        ) from error
    both = np.array([*pairs], np.int64).reshape(-1, 2)
    return laws, both[:, 0], both[:, 1], [*free]


def _number(name: str, most: int) -> int | None:
    found = _EQUATION.fullmatch(name)
    return int(found[1]) - 1 if found and 1 <= int(found[1]) <= most else None


def _text(path: Path) -> str:
    """A text file, unpacked where it ends in .gz. Raises InvalidInput for one that is
    broken or too large.
    """
    with open_file(path) as file:
        return _decoded(
            gzip.GzipFile(fileobj=file) if path.name.endswith(".gz") else file, path
        )


def _inside(folder: Path, file: Path) -> str:
    if folder.is_dir():
        check_inside(folder, file)
    return _text(file)


def _decoded(file: IO[bytes] | gzip.GzipFile, path: Path | str) -> str:
    return _bytes(file, path).decode("utf-8", "replace")


def _bytes(file: IO[bytes] | gzip.GzipFile, path: Path | str) -> bytes:
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
    """The .tex files of an archive, by name, in their order; what it says of folders
    and links counts for nothing.
    """
    with open_file(path) as packed:
        unpacked = io.BytesIO(_bytes(gzip.GzipFile(fileobj=packed), path))
    try:
        with tarfile.open(fileobj=unpacked) as archive:
            for member in [
                one
                for one in archive.getmembers()[:_MOST_FILES]
                if one.isfile() and one.name.endswith(".tex")
            ]:
                if (held := archive.extractfile(member)) is not None:
                    yield member.name, _decoded(held, member.name)
    except tarfile.TarError as error:
        raise InvalidInput(
            f"got {path}, which is no archive ({error}); give a .tar.gz of .tex files"
        ) from error
