"""Read graphs of theorems that others published, as theorems and links.

They are LaTeX blueprints, Metamath databases and equational theories. What a source
holds is what is returned and what the problems name as left out.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from theorex_lab.core.errors import InvalidInput, StorageError
from theorex_lab.designs.research.blueprints import BlueprintReader
from theorex_lab.designs.research.metamath import (
    MetamathRead,
    MetamathReader,
    metamath_roots,
)
from theorex_lab.designs.research.tex_library import TEX_ENDINGS, FindText
from theorex_lab.designs.research.theorem_files import (
    TexArchive,
    TextFolder,
    document_text,
    file_bytes,
)
from theorex_lab.designs.research.theorems import UNCONDITIONAL, Closure, Ints, closed
from theorex_lab.files.formats.foreign import check_inside
from theorex_lab.files.isolated.readers import reads_apart

_METAMATH_ENDINGS = (".mm", ".mm.gz")
_ARCHIVE_ENDINGS = (".tar.gz", ".tgz", ".tar")
_ALLOWED = "allowed are .tex, .tar.gz of .tex, .mm, and a folder with equations.txt"
_SHOWN_NAMES = 5
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
        in_source: How many theorems the files hold.
        left_out: How many of them are left out; the problems say why.
    """

    domain: str
    nodes: list[Node]
    links: list[Link]
    problems: list[str]
    comments: dict[str, str]
    in_source: int
    left_out: int


@reads_apart()
def read_theorems(path: Path | str) -> ReadTheorems:
    """Return the theorems of a file or a folder.

    It is a LaTeX blueprint (.tex files or archives of them), Metamath databases, a
    folder of equational theories, or a folder of several of them: all are read. What a
    file includes is read with it where it stands in the same folder.

    Raises:
        InvalidInput: It is anything else, or larger than such files are.
    """
    source = Path(path)
    if not source.exists():
        raise InvalidInput(f"got {path}, which is not there; {_ALLOWED}")
    if source.is_dir():
        return _folder_theorems(source)
    domain, _, _ = source.name.partition(".")
    if source.name.endswith(_METAMATH_ENDINGS):
        file_bytes(source)  # what is broken is refused
        return _databases(TextFolder(source.parent), [source.name], domain)
    if source.name.endswith(_ARCHIVE_ENDINGS):
        return _archive(source, domain)
    if source.name.endswith(TEX_ENDINGS):
        problems = list[str]()
        text = document_text(file_bytes(source), source.name, problems)
        find = TextFolder(source.parent).text
        return blueprint([(source.name, text)], domain, find=find, problems=problems)
    raise InvalidInput(f"got {path}, which holds no theorems; {_ALLOWED}")


def _folder_theorems(folder: Path) -> ReadTheorems:
    """Return all theorems of a folder, whatever their forms."""
    texts = TextFolder(folder)
    reads = list[ReadTheorems]()
    if (folder / "equations.txt").is_file():
        reads.append(equational(folder))
    for archive in sorted(folder.iterdir()):
        if archive.name.endswith(_ARCHIVE_ENDINGS) and archive.is_file():
            reads.append(_archive_or_problem(archive, folder))
    tex_files = texts.names(TEX_ENDINGS)
    if tex_files:
        named_texts = texts.read(tex_files)
        reads.append(blueprint(named_texts, folder.name, find=texts.text))
    databases = texts.names(_METAMATH_ENDINGS)
    if databases:
        reads.append(_databases(texts, databases, folder.name))
    if not reads:
        raise InvalidInput(f"got {folder}, which holds no theorems; {_ALLOWED}")
    return _merged(folder.name, reads, list(dict.fromkeys(texts.problems)))


def _archive_or_problem(archive: Path, folder: Path) -> ReadTheorems:
    """Return the theorems of an archive in a folder; note why it cannot be read."""
    try:
        check_inside(folder, archive)
        return _archive(archive, folder.name)
    except (InvalidInput, StorageError) as error:
        problem = f"{archive.name} was left out: {error}"
        return ReadTheorems(folder.name, [], [], [problem], {}, 0, 0)


def _archive(path: Path, domain: str) -> ReadTheorems:
    """Return the statements of an archive of LaTeX files."""
    archive = TexArchive(path)
    texts = list(archive.read(TEX_ENDINGS))
    return blueprint(texts, domain, find=archive.text, problems=archive.problems)


class _Names:
    """Say which theorem has a name first, over several sources.

    Attributes:
        again: What is left out as its name stands before, with where it does.
    """

    def __init__(self) -> None:
        self._statements = dict[str, tuple[str, str]]()
        self.again = dict[str, str]()

    def is_new(self, name: str, statement: str, where: str) -> bool:
        """Return whether nothing has the name yet; note what has it again."""
        first = self._statements.setdefault(name, (statement, where))
        if first[1] == where:
            return first[0] == statement
        self.again[where] = name
        return False

    def is_other(self, name: str, statement: str) -> bool:
        """Return whether the name stands for another statement."""
        return self._statements[name][0] != statement

    def problem(self, advice: str) -> str:
        """Return what is to be said of them; '' for nothing."""
        if not self.again:
            return ""
        names = list(self.again.values())
        shown = ", ".join(names[:_SHOWN_NAMES])
        n_more = len(names) - _SHOWN_NAMES
        more = f" and {n_more:,} more" if n_more > 0 else ""
        subject = f"{len(names):,} theorems whose names stand before were"
        if len(names) == 1:
            subject = "1 theorem whose name stands before was"
        return f"{subject} left out: {shown}{more}; {advice}"


def _merged(
    domain: str, reads: list[ReadTheorems], problems: list[str]
) -> ReadTheorems:
    """Return what several sources hold; the first of a name counts."""
    names = _Names()
    nodes = list[Node]()
    links = list[Link]()
    comments = dict[str, str]()
    all_problems = dict.fromkeys(problems)
    for number, read in enumerate(reads):
        new = _new_nodes(read, names, str(number))
        new_names = {name for name, *_ in new}
        others = _other_names(read, names)
        nodes += new
        for link in read.links:
            if link[0] in new_names and link[1] not in others:
                links.append(link)
        comments = {**read.comments, **comments}
        all_problems.update(dict.fromkeys(read.problems))
    problem = names.problem("give each file alone, with its own --domain")
    if problem:
        all_problems[problem] = None
    in_source = sum(read.in_source for read in reads)
    left_out = sum(read.left_out for read in reads)
    return ReadTheorems(
        domain,
        nodes,
        links,
        list(all_problems),
        comments,
        in_source,
        left_out + len(names.again),
    )


def _new_nodes(read: ReadTheorems, names: _Names, source: str) -> list[Node]:
    """Return the nodes of a source whose names are new."""
    nodes = []
    for node in read.nodes:
        if names.is_new(node[0], node[1], f"{source} {node[0]}"):
            nodes.append(node)
    return nodes


def _other_names(read: ReadTheorems, names: _Names) -> set[str]:
    """Return the names that stand for other statements in the sources before."""
    return {node[0] for node in read.nodes if names.is_other(node[0], node[1])}


def blueprint(
    texts: Iterable[tuple[str, str]],
    domain: str,
    *,
    find: FindText | None = None,
    problems: Iterable[str] = (),
) -> ReadTheorems:
    r"""Return the statements of LaTeX texts with their \uses.

    They are those of the statement and of its proofs. A name is the label of the whole;
    what cites a label within it, such as an equation's, uses the statement that holds
    it.

    Args:
        texts: The name and the text of each file.
        domain: The domain of the statements.
        find: Returns the text of another file that these may include, by its name.
        problems: What could not be read of the files.

    >>> text = (
    ...     r"\begin{lemma}\label{a}A\end{lemma} "
    ...     r"\begin{theorem}\label{b}B\end{theorem}\begin{proof}\uses{a}C\end{proof}"
    ... )
    >>> blueprint([("one.tex", text)], "x").links
    [('b', 'a', 'uses')]
    """
    read = BlueprintReader(texts, find).read()
    nodes = list[Node]()
    for statement in read.statements:
        nodes.append((statement.name, statement.text(), statement.tags()))
    links = [(start, end, "uses") for start, end in read.links]
    return ReadTheorems(
        domain,
        nodes,
        links,
        [*problems, *read.problems],
        {},
        read.n_statements,
        read.n_left_out,
    )


def metamath(text: str, domain: str) -> ReadTheorems:
    """Return the assertions that begin with |- of a Metamath text.

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
    file = f"{domain}.mm"
    read = MetamathReader({file: text}.get).read(file, text)
    return _of_databases([read], domain, [])


def _databases(folder: TextFolder, files: list[str], domain: str) -> ReadTheorems:
    """Return the assertions of Metamath files and of what they include."""
    reads = []
    roots = metamath_roots(files, folder.text) if len(files) > 1 else files
    for root in roots:
        text = folder.text(root)
        if text is not None:
            reads.append(MetamathReader(folder.text).read(root, text))
    problems = folder.problems if len(files) == 1 else []
    return _of_databases(reads, domain, problems)


def _of_databases(
    reads: list[MetamathRead], domain: str, problems: list[str]
) -> ReadTheorems:
    """Return what databases hold; of a label that several have the first counts.

    A file that two of them include is read for each, and counts once.
    """
    names = _Names()
    nodes = dict[str, Node]()
    links = dict[Link, None]()
    comments = dict[str, str]()
    identities = set[str]()
    left_out = set[str]()
    all_problems = dict.fromkeys(problems)
    for read in reads:
        others = set[str]()
        for assertion in read.assertions:
            label, statement, tags, comment, identity = assertion
            if names.is_new(label, statement, identity):
                nodes[label] = (label, statement, tags)
                comments[label] = comment
            elif names.is_other(label, statement):
                others.add(label)
        links.update(dict.fromkeys(_links_without(read, others)))
        identities.update(read.identities)
        left_out.update(read.left_out)
        all_problems.update(dict.fromkeys(read.problems))
    problem = names.problem("import each database alone, with its own --domain")
    if problem:
        all_problems[problem] = None
    return ReadTheorems(
        domain,
        list(nodes.values()),
        list(links),
        list(all_problems),
        comments,
        len(identities),
        len(left_out.union(names.again)),
    )


def _links_without(read: MetamathRead, labels: set[str]) -> list[Link]:
    """Return the links of a database that have none of these labels."""
    links = []
    for start, end in read.links:
        if start not in labels and end not in labels:
            links.append((start, end, "uses"))
    return links


def equational(folder: Path) -> ReadTheorems:
    """Return the laws of equations.txt, a line each, and which implies which.

    The implications are those of full_entries.json (or its .gz).
    """
    laws, implications = _laws(folder)
    nodes = []
    problems = []
    always_true = set(implications.unconditional)
    blank = list[str]()
    for number, law in enumerate(laws):
        name = _equation(number)
        tags: tuple[str, ...] = ()
        if number in always_true:
            tags = (UNCONDITIONAL,)
        if law.strip():
            nodes.append((name, law, tags))
        else:
            blank.append(str(number + 1))
    if blank:
        shown = ", ".join(blank[:_SHOWN_NAMES])
        problems.append(f"{len(blank)} lines of equations.txt are empty: {shown}")
    links = []
    for start, end in implications.pairs:
        links.append((_equation(start), _equation(end), "generalizes"))
    for what, count in implications.left_out.items():
        problems.append(f"{count:,} entries of full_entries.json were left out: {what}")
    return ReadTheorems(folder.name, nodes, links, problems, {}, len(laws), len(blank))


def _equation(number: int) -> str:
    """Return the name of a law by its number from 0."""
    return f"Equation{number + 1}"


def closure_of_theories(folder: Path) -> Closure:
    """Return what follows from which of the laws of such a folder.

    Nothing is remembered of it.
    """
    laws, implications = _laws(folder)
    numbers = range(len(laws))
    names = list(map(_equation, numbers))
    table: Ints = np.array(implications.pairs, np.int64).reshape(-1, 2)
    return closed(names, table[:, 0], table[:, 1], implications.unconditional)


class _Implications(NamedTuple):
    """Hold what is known of laws, which are numbered from 0.

    Attributes:
        pairs: Which implies which, in all magmas.
        unconditional: Those that always hold.
        left_out: By what they are, how many entries are neither.
    """

    pairs: list[tuple[int, int]]
    unconditional: list[int]
    left_out: dict[str, int]


def _laws(folder: Path) -> tuple[list[str], _Implications]:
    """Return the laws and what implies what.

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
    laws = _text(laws_file).removesuffix("\n").split("\n")
    try:
        entries = json.loads(_text(entries_file))
        implications = _implications(entries, len(laws))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidInput(
            f"got {entries_file}, which lists no implications ({error!r:.100}); allowed"
            " is full_entries.json"
        ) from error
    return laws, implications


def _implications(entries: Any, n_laws: int) -> _Implications:
    """Return which law implies which, and which always hold, each once."""
    pairs = dict[tuple[int, int], None]()
    unconditional = dict[int, None]()
    left_out = Counter[str]()
    for entry in entries:
        variant = entry["variant"]
        implied = variant.get("implication")
        name = variant.get("unconditional", "")
        number = _number(name, n_laws)
        if implied and implied["finite"]:
            left_out["implications for finite magmas alone"] += 1
        elif implied:
            pair = _pair(implied, n_laws)
            if pair is None:
                left_out["implications of laws that equations.txt lacks"] += 1
            elif pair[0] != pair[1]:
                pairs[pair] = None
        elif number is not None:
            unconditional[number] = None
        elif "facts" in variant:
            left_out["facts of magmas, which refute implications"] += 1
        else:
            left_out["neither implications nor laws that always hold"] += 1
    return _Implications(list(pairs), list(unconditional), dict(left_out))


def _pair(implied: Any, n_laws: int) -> tuple[int, int] | None:
    start = _number(implied["lhs"], n_laws)
    end = _number(implied["rhs"], n_laws)
    if start is None or end is None:
        return None
    return start, end


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
    return document_text(file_bytes(path), path.name, [])
