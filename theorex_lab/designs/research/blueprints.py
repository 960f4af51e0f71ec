r"""Read the statements of a LaTeX blueprint, and which of them use which.

A statement is an environment that the document declares as a theorem's, one of the
usual names, or one with a label and a mark such as `\lean`.
"""

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from theorex_lab.designs.research.blueprint_parts import (
    TexProof,
    TexStatement,
    link_parts,
)
from theorex_lab.designs.research.omissions import OmissionList, OmissionReason
from theorex_lab.designs.research.tex_library import (
    INCLUDING_WORDS,
    FileReference,
    FindText,
    TexLibrary,
    file_references,
    leads_outside,
)
from theorex_lab.designs.research.tex_macros import (
    DECLARING_WORDS,
    DEFINING_WORDS,
    TexMacro,
    TheoremNames,
    declare_theorems,
    followed_macros,
    read_definition,
)
from theorex_lab.designs.research.tex_tokens import (
    COMMENT,
    VERBATIM_ENVIRONMENTS,
    TexArgument,
    TexText,
    TexToken,
)

_KNOWN_THEOREMS = frozenset(
    "theorem thm theo lemma lem lemme proposition prop corollary cor coro definition"
    " defn dfn defi conjecture conj remark rem rmk example claim fact axiom assumption"
    " hypothesis notation observation question problem sublemma criterion principle"
    " convention construction satz hilfssatz korollar behauptung bemerkung beispiel"
    " vermutung théorème corollaire définition remarque".split()
)
_PROOFS = frozenset(("proof", "proof*", "Proof", "beweis", "Beweis"))
# These hold text of the statement around them, whatever marks they hold.
_ORDINARY = frozenset(
    "document abstract center flushleft flushright quote quotation verse itemize"
    " enumerate description list trivlist figure table tabular tabularx longtable array"
    " minipage math displaymath equation align alignat flalign gather multline eqnarray"
    " aligned alignedat gathered split cases dcases rcases matrix pmatrix bmatrix"
    " Bmatrix vmatrix Vmatrix smallmatrix subequations tikzpicture tikzcd CD picture"
    " algorithm algorithmic multicols thebibliography small footnotesize"
    " appendix".split()
).union(VERBATIM_ENVIRONMENTS)
_SECTIONS = frozenset("part chapter section subsection subsubsection".split())
_CONDITIONS = frozenset(
    "if ifcat ifnum ifdim ifodd ifvmode ifhmode ifmmode ifinner ifvoid ifhbox ifvbox ifx"
    " ifeof iftrue iffalse ifcase ifdefined ifcsname ifpdf ifxetex ifluatex"
    " ifplastex".split()
)
_SURVEYED = frozenset(["newif"]).union(DECLARING_WORDS, DEFINING_WORDS, INCLUDING_WORDS)
_LEFT_OUT_STATEMENTS = ("unlabelled", "unclosed", "duplicate", "unfollowed")
_MOST_EXPANSIONS = 20_000
_MOST_EXPANDED = 4_000_000  # characters
_FORMALIZED = frozenset(("leanok", "mathlibok"))
_FLAGS = frozenset(("leanok", "mathlibok", "notready"))
_REMOVED = frozenset(("lean", "discussion", "alsoIn"))
_OPTION_KEY = re.compile(
    r"\s*(name|title|label|note|continues|restate|style|description)\s*="
)
_LABEL = re.compile(r"\\label\s*\{([^{}]*)\}")
# A comma that stands in no braces (which may stand in others).
_COMMA = re.compile(r",(?![^{}]*\})")
_OPTION = re.compile(r"\s*([a-z ]+?)\s*=\s*(\{.*\}|.*?)\s*", re.DOTALL)
_REASONS = {
    "unlabelled": OmissionReason(
        "environment without a label",
        "environments without a label",
        r"give each a \label",
    ),
    "unclosed": OmissionReason(
        "environment that is not closed",
        "environments that are not closed",
        r"close each by \end",
    ),
    "duplicate": OmissionReason(
        "environment whose label another one has",
        "environments whose labels others have",
        "give each its own label",
    ),
    "unfollowed": OmissionReason(
        "environment of a macro that could not be followed",
        "environments of macros that could not be followed",
        r"write \begin and \end in the text",
    ),
    "unfollowed mark": OmissionReason(
        "mark of a macro that could not be followed",
        "marks of macros that could not be followed",
        "write it in the text",
    ),
    "same label": OmissionReason(
        "label that stands twice",
        "labels that stand twice",
        "the first one counts",
    ),
    "homeless proof": OmissionReason(
        "proof with dependencies and without a statement",
        "proofs with dependencies and without a statement",
        r"name its statement by \proves",
    ),
    "unsure proof": OmissionReason(
        "proof whose title names a statement, but no single label,",
        "proofs whose titles name a statement, but no single label,",
        r"name the statement by \proves",
    ),
    "lost proof": OmissionReason(
        "proof with dependencies, whose statement was left out,",
        "proofs with dependencies, whose statements were left out,",
    ),
    "unknown proves": OmissionReason(
        r"proof whose \proves names no statement",
        r"proofs whose \proves name no statement",
        "check the label",
    ),
    "homeless uses": OmissionReason(
        r"\uses outside of a statement and its proof",
        r"\uses outside of a statement and its proof",
        "move them into one",
    ),
    "itself": OmissionReason(
        "dependency of a statement on itself",
        "dependencies of statements on themselves",
    ),
    "no argument": OmissionReason(
        "command whose argument has no end",
        "commands whose arguments have no end",
        "close the brace",
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
    "circle": OmissionReason(
        "file that includes itself",
        "files that include themselves",
    ),
    "skipped": OmissionReason(
        r"part behind \iffalse without \fi",
        r"parts behind \iffalse without \fi",
        r"close each by \fi",
    ),
    "verbatim": OmissionReason(
        "part behind an environment of verbatim text that is not closed",
        "parts behind environments of verbatim text that are not closed",
    ),
    "behind the end": OmissionReason(
        r"part with environments behind \end{document} or \endinput",
        r"parts with environments behind \end{document} or \endinput",
    ),
}


class _Environment:
    """An environment that is open.

    Attributes:
        name: Its name.
        statement: The statement that it is, or may be.
        proof: The proof that it is.
        is_sure: Whether it is a statement whatever it holds.
    """

    def __init__(
        self,
        name: str,
        *,
        statement: TexStatement | None = None,
        proof: TexProof | None = None,
        is_sure: bool = False,
    ) -> None:
        self.name = name
        self.statement = statement
        self.proof = proof
        self.is_sure = is_sure

    def take_over(self, statement: TexStatement) -> None:
        """Hold the text, labels and citations of an environment that is no statement."""
        labels = [*statement.own_labels, *statement.inner_labels]
        if self.proof is not None:
            self.proof.labels += labels
            self.proof.uses += statement.uses
        elif self.statement is not None:
            self.statement.pieces.append("".join(statement.pieces))
            self.statement.inner_labels += labels
            self.statement.uses += statement.uses
            self.statement.is_marked |= statement.is_marked
            self.statement.is_formalized |= statement.is_formalized


class _Cursor:
    """How far a text is read.

    Attributes:
        tex: The text.
        file: The name of the file that its inclusions are looked for beside.
        number: The number of the next token.
        copied: Up to where its text belongs to somebody.
        branches: By each open condition, whether its other branch is skipped.
        macros: The macros that it stands for.
    """

    def __init__(self, tex: TexText, file: str) -> None:
        self.tex = tex
        self.file = file
        self.number = 0
        self.copied = 0
        self.branches = list[bool]()
        self.macros = frozenset[str]()

    def go_to(self, offset: int) -> None:
        """Go on at an offset; what is before it belongs to nobody."""
        self.copied = max(self.copied, offset)
        self.number = max(self.number, self.tex.token_at(offset))

    def where(self, token: TexToken) -> str:
        """Return the file and the line of a token."""
        return self.tex.place(token.start)

    def argument(self, token: TexToken) -> TexArgument | None:
        """Return the argument behind a token."""
        return self.tex.argument(token.end)

    def stop(self) -> None:
        """Read no further."""
        self.copied = len(self.tex.text)
        self.number = len(self.tex.tokens)


class BlueprintRead(NamedTuple):
    """Hold what a blueprint holds.

    Attributes:
        statements: Those that are kept, in their order.
        links: Label and label of what uses what.
        n_statements: How many environments of statements the source has.
        n_left_out: How many of them are left out.
        problems: What is left out, and why.
    """

    statements: list[TexStatement]
    links: list[tuple[str, str]]
    n_statements: int
    n_left_out: int
    problems: list[str]


class BlueprintReader:
    """Read the files of a blueprint in the order of the document."""

    def __init__(
        self, texts: Iterable[tuple[str, str]], find: FindText | None = None
    ) -> None:
        self._library = TexLibrary(texts, find)
        self._names = TheoremNames()
        self._conditions = set(_CONDITIONS)
        self._macros = dict[str, TexMacro]()
        self._roots = list[str]()
        self._left_out = OmissionList(_REASONS)
        self._read_files = set[str]()
        self._n_unfollowed = 0
        self._n_expansions = 0
        self._n_expanded = 0
        self._root = ""
        self._cursors = list[_Cursor]()
        self._begin_root()
        self._parts = list[TexStatement | TexProof]()
        self._words: dict[str, Callable[[_Cursor, TexToken], None]] = {
            COMMENT: self._comment,
            "begin": self._begin,
            "end": self._end,
            "label": self._label,
            "uses": self._uses,
            "proves": self._proves,
            "else": self._else,
            "fi": self._fi,
            "endinput": self._endinput,
            "newif": self._newif,
        }
        for word in _FLAGS:
            self._words[word] = self._flag
        for word in _REMOVED:
            self._words[word] = self._removed
        for word in _SECTIONS:
            self._words[word] = self._section

    def read(self) -> BlueprintRead:
        """Read all files, and return what they hold."""
        self._survey()
        waiting = dict.fromkeys([*self._roots, *self._library.listed])
        for name in waiting:
            if name not in self._read_files:
                self._read_root(name)
        parts = [part for part in self._parts if not part.is_dropped]
        links = link_parts(parts, self._left_out)
        statements = [part for part in parts if isinstance(part, TexStatement)]
        n_left_out = self._left_out.count(*_LEFT_OUT_STATEMENTS)
        return BlueprintRead(
            [statement for statement in statements if statement.name],
            links,
            len(statements) + self._n_unfollowed,
            n_left_out,
            self._left_out.problems(),
        )

    # -- what the document declares

    def _survey(self) -> None:
        """Find what the files declare, and which of them are documents.

        A document is included by no other file; those with a class come first.
        """
        macros = list[TexMacro]()
        included = set[str]()
        with_class = list[str]()
        surveyed = set[str]()
        waiting = list(self._library.listed)
        while waiting:
            for name in waiting:
                surveyed.add(name)
                if self._survey_file(name, macros, included):
                    with_class.append(name)
            names = self._library.names()
            waiting = [name for name in names if name not in surveyed]
        free = [name for name in self._library.listed if name not in included]
        documents = [name for name in with_class if name in free]
        self._roots = [*documents, *free]
        words = frozenset([*self._words, "input", "include", "subfile", "import"])
        environments = [*self._names.theorems, *self._names.proofs]
        environments += [*_KNOWN_THEOREMS, *_PROOFS, "restatable"]
        sought = words - {COMMENT, "begin", "end", "else", "fi", *_SECTIONS}
        self._macros = followed_macros(macros, sought, environments)

    def _survey_file(
        self, name: str, macros: list[TexMacro], included: set[str]
    ) -> bool:
        """Note what a file declares and includes; return whether it has a class."""
        tex = self._library[name]
        has_class = False
        end = 0
        for token in tex.tokens:
            word = token.word.rstrip("*")
            if word not in _SURVEYED or token.start < end:
                continue
            has_class |= word == "documentclass"
            if word == "newif":
                self._declare_condition(tex, token)
            elif word in DEFINING_WORDS:
                end = self._survey_definition(tex, token, macros)
            elif word in INCLUDING_WORDS:
                end = self._survey_references(tex, token, included)
            else:
                end = declare_theorems(tex, token, self._names) or end
        for environment, offset in tex.unclosed:
            self._left_out.add("verbatim", f"{tex.place(offset)} ({environment})")
        return has_class

    def _survey_definition(
        self, tex: TexText, token: TexToken, macros: list[TexMacro]
    ) -> int:
        """Note a macro; return where its definition ends."""
        definition = read_definition(tex, token)
        if definition is None:
            return token.end
        if definition.macro is not None:
            macros.append(definition.macro)
        return definition.end

    def _survey_references(
        self, tex: TexText, token: TexToken, included: set[str]
    ) -> int:
        """Note which files are included; return where the command ends."""
        end = token.end
        for reference in file_references(tex, token):
            target = self._library.resolved(reference, tex.file, tex.file)
            if target and target != tex.file:
                included.add(target)
            end = reference.end
        return end

    def _declare_condition(self, tex: TexText, token: TexToken) -> None:
        r"""Note the condition that \newif declares."""
        argument = tex.one_argument(token.end)
        if argument is not None:
            self._conditions.add(argument.text.strip().lstrip("\\"))

    # -- the walk through the files

    def _begin_root(self) -> None:
        self._environments = list[_Environment]()
        self._holders = list[_Environment]()  # those of statements and proofs
        self._n_open = dict[str, int]()
        self._macro_arguments = dict[str, list[list[str]]]()
        # The last statement, in the text and in each statement and proof around.
        self._near: list[TexStatement | None] = [None]

    def _read_root(self, name: str) -> None:
        """Read a document and what it includes."""
        self._root = name
        self._begin_root()
        self._open_file(name)
        while self._cursors:
            cursor = self._cursors[-1]
            if cursor.number >= len(cursor.tex.tokens):
                self._close_cursor(cursor)
                continue
            token = cursor.tex.tokens[cursor.number]
            cursor.number += 1
            self._take(cursor, token)
        while self._environments:
            self._close(self._environments[-1], is_closed=False)

    def _open_file(self, name: str) -> None:
        self._read_files.add(name)
        self._cursors.append(_Cursor(self._library[name], name))

    def _close_cursor(self, cursor: _Cursor) -> None:
        self._copy(cursor, len(cursor.tex.text))
        self._cursors.pop()

    def _take(self, cursor: _Cursor, token: TexToken) -> None:
        """Read a token, and what belongs to it."""
        word = token.word.rstrip("*")
        handler = self._words.get(word)
        if handler is not None:
            handler(cursor, token)
        elif word in self._conditions:
            self._condition(cursor, token)
        elif f"\\{word}" in self._macros:
            self._call(cursor, token)
        elif word in _SURVEYED:
            self._declaration(cursor, token)

    def _declaration(self, cursor: _Cursor, token: TexToken) -> None:
        """Go behind a declaration, or into the file that a token includes."""
        end = declare_theorems(cursor.tex, token, self._names)
        if end is None:
            definition = read_definition(cursor.tex, token)
            end = definition.end if definition else None
        if end is not None:
            self._copy(cursor, token.start)
            cursor.go_to(end)
            return
        for reference in file_references(cursor.tex, token):
            self._copy(cursor, token.start)
            cursor.go_to(reference.end)
            if reference.ending == ".tex":
                self._include(cursor, token, reference)

    def _copy(self, cursor: _Cursor, end: int) -> None:
        """Give the text up to here to the statement that is open."""
        if self._holders and end > cursor.copied:
            statement = self._holders[-1].statement
            if statement is not None:
                statement.pieces.append(cursor.tex.text[cursor.copied : end])
        cursor.copied = max(cursor.copied, end)

    def _include(
        self, cursor: _Cursor, token: TexToken, reference: FileReference
    ) -> None:
        """Read a file where another one includes it; each file is read once."""
        where = f"{cursor.where(token)} ({reference.name[:80]})"
        name = self._library.resolved(reference, cursor.file, self._root)
        if not name:
            if leads_outside(reference, cursor.file, self._root):
                self._left_out.add("outside", where)
            elif token.word != "InputIfFileExists":
                self._left_out.add("missing file", where)
        elif name not in self._read_files:
            self._open_file(name)
        elif any(opened.file == name for opened in self._cursors):
            self._left_out.add("circle", where)

    def _comment(self, cursor: _Cursor, token: TexToken) -> None:
        self._copy(cursor, token.start)
        cursor.go_to(token.end)

    def _section(self, _cursor: _Cursor, _token: TexToken) -> None:
        """End the part of the text in which a proof looks for its statement."""
        self._near[-1] = None

    def _endinput(self, cursor: _Cursor, token: TexToken) -> None:
        """Read no more of a file."""
        self._copy(cursor, token.start)
        if any(later.word == "begin" for later in cursor.tex.tokens[cursor.number :]):
            self._left_out.add("behind the end", cursor.where(token))
        cursor.stop()

    # -- conditions

    def _newif(self, cursor: _Cursor, token: TexToken) -> None:
        argument = cursor.tex.one_argument(token.end)
        if argument is not None:
            cursor.go_to(argument.end)

    def _condition(self, cursor: _Cursor, token: TexToken) -> None:
        r"""Begin a condition; \iffalse alone is known to skip what follows."""
        if token.word != "iffalse":
            cursor.branches.append(token.word == "iftrue")
            return
        self._copy(cursor, token.start)
        if self._skip_branch(cursor, token) == "else":
            cursor.branches.append(False)

    def _else(self, cursor: _Cursor, token: TexToken) -> None:
        if cursor.branches and cursor.branches[-1]:
            self._copy(cursor, token.start)
            self._skip_branch(cursor, token)
            cursor.branches.pop()

    def _fi(self, cursor: _Cursor, _token: TexToken) -> None:
        if cursor.branches:
            cursor.branches.pop()

    def _skip_branch(self, cursor: _Cursor, opening: TexToken) -> str:
        r"""Go behind the branch of a condition; return its end, `else` or `fi`."""
        depth = 0
        tokens = cursor.tex.tokens
        for number in range(cursor.number, len(tokens)):
            token = tokens[number]
            if token.word in self._conditions:
                depth += 1
            elif token.word == "fi" and depth:
                depth -= 1
            elif token.word == "fi" or (token.word == "else" and not depth):
                cursor.go_to(token.end)
                return token.word
        self._left_out.add("skipped", cursor.tex.place(opening.start))
        cursor.stop()
        return "fi"

    # -- environments

    def _begin(self, cursor: _Cursor, token: TexToken) -> None:
        argument = cursor.argument(token)
        if argument is None:
            self._left_out.add("no argument", cursor.where(token))
            return
        name = argument.text.strip()
        self._copy(cursor, token.start)
        if self._is_theorem(name) or name.startswith("restatable"):
            self._begin_theorem(cursor, token, name)
        elif name in self._macros:
            self._begin_macro(cursor, token, name)
        elif name in _PROOFS or name in self._names.proofs:
            self._begin_proof(cursor, token, name)
        elif name.rstrip("*") in _ORDINARY:
            self._push(_Environment(name))
            if name == "comment":
                cursor.copied = self._next_start(cursor)
        else:
            self._begin_other(cursor, token, name)

    def _is_theorem(self, name: str) -> bool:
        if name in _PROOFS or name in self._names.proofs:
            return False
        plain = name.rstrip("*")
        if name in self._names.theorems or plain in self._names.theorems:
            return True
        return plain.casefold() in _KNOWN_THEOREMS and name not in self._macros

    def _next_start(self, cursor: _Cursor) -> int:
        """Return where the next token begins, or the text ends."""
        if cursor.number < len(cursor.tex.tokens):
            return cursor.tex.tokens[cursor.number].start
        return len(cursor.tex.text)

    def _push(self, environment: _Environment) -> None:
        self._environments.append(environment)
        n_open = self._n_open.get(environment.name, 0)
        self._n_open[environment.name] = n_open + 1
        if environment.statement is not None or environment.proof is not None:
            self._holders.append(environment)

    def _begin_theorem(self, cursor: _Cursor, token: TexToken, name: str) -> None:
        """Begin what is a statement, whatever it holds."""
        tex = cursor.tex
        heading = read_heading(tex, token, self._names.prefixes)
        statement = TexStatement(heading.kind, cursor.where(token))
        statement.title = heading.title
        statement.own_labels += heading.labels
        cursor.go_to(heading.end)
        self._parts.append(statement)
        self._push(_Environment(name, statement=statement, is_sure=True))
        self._near.append(statement)

    def _begin_proof(self, cursor: _Cursor, token: TexToken, name: str) -> None:
        tex = cursor.tex
        heading = read_heading(tex, token, {})
        proof = TexProof(cursor.where(token), self._statement_before())
        proof.title = heading.title
        cursor.go_to(heading.end)
        self._parts.append(proof)
        self._push(_Environment(name, proof=proof))
        self._near.append(proof.near)

    def _statement_before(self) -> TexStatement | None:
        """Return the statement before a proof that begins, or around it."""
        if self._holders:
            statement = self._holders[-1].statement
            if statement and (statement.is_marked or statement.own_labels):
                return statement
        return self._near[-1]

    def _begin_other(self, cursor: _Cursor, token: TexToken, name: str) -> None:
        """Begin an environment that is a statement if it has a label and a mark."""
        tex = cursor.tex
        heading = read_heading(tex, token, {})
        statement = TexStatement(name, cursor.where(token))
        statement.title = heading.title
        statement.pieces.append(tex.text[token.start : heading.end])
        cursor.go_to(heading.end)
        self._parts.append(statement)
        self._push(_Environment(name, statement=statement))

    def _end(self, cursor: _Cursor, token: TexToken) -> None:
        argument = cursor.argument(token)
        if argument is None:
            self._left_out.add("no argument", cursor.where(token))
            return
        name = argument.text.strip()
        if self._macro_arguments.get(name):
            self._copy(cursor, token.start)
            cursor.go_to(argument.end)
            arguments = self._macro_arguments[name].pop()
            self._expand(cursor, token, self._macros[name], arguments, finish=True)
        elif name == "document":
            self._endinput(cursor, token)
        elif self._n_open.get(name):
            self._end_open(cursor, token, name, argument.end)

    def _end_open(self, cursor: _Cursor, token: TexToken, name: str, end: int) -> None:
        """End an environment, and those that were left open in it."""
        self._copy(cursor, token.start)
        while self._environments[-1].name != name:
            self._close(self._environments[-1], is_closed=False)
        environment = self._environments[-1]
        if environment in self._holders[-1:] or name == "comment":
            cursor.go_to(end)
        self._close(environment, is_closed=True)

    def _close(self, environment: _Environment, *, is_closed: bool) -> None:
        """Close the innermost environment."""
        self._environments.pop()
        self._n_open[environment.name] -= 1
        if not self._holders or self._holders[-1] is not environment:
            return
        self._holders.pop()
        statement = environment.statement
        if statement is None:
            self._near.pop()
            return
        statement.is_closed = is_closed
        if environment.is_sure:
            self._near.pop()
            self._near[-1] = statement
        else:
            self._close_other(environment.name, statement)

    def _close_other(self, name: str, statement: TexStatement) -> None:
        """Keep an environment of another name as a statement, or give away its text."""
        has_label = bool(statement.own_labels)
        if statement.is_marked and (has_label or not self._holders):
            statement.pieces.pop(0)
            self._near[-1] = statement
            return
        statement.is_dropped = True
        if not self._holders or not statement.is_closed:
            return
        statement.pieces.append(f"\\end{{{name}}}")
        self._holders[-1].take_over(statement)

    # -- marks

    def _marked(
        self, cursor: _Cursor, token: TexToken
    ) -> tuple[_Environment | None, list[str]]:
        """Go behind a mark, and return what is around it, and what it lists."""
        argument = cursor.argument(token)
        holder = self._holders[-1] if self._holders else None
        if argument is None:
            self._left_out.add("no argument", cursor.where(token))
            return holder, []
        self._copy(cursor, token.start)
        cursor.go_to(argument.end)
        if holder is not None and holder.statement is not None:
            holder.statement.pieces.append(" ")
        names = [" ".join(name.split()) for name in argument.text.split(",")]
        return holder, list(filter(None, names))

    def _label(self, cursor: _Cursor, token: TexToken) -> None:
        holder, names = self._marked(cursor, token)
        if holder is None or not names:
            return
        label = ", ".join(names)
        if holder.proof is not None:
            holder.proof.labels.append(label)
        elif holder.statement is not None:
            is_own = self._environments[-1] is holder
            statement = holder.statement
            labels = statement.own_labels if is_own else statement.inner_labels
            labels.append(label)

    def _uses(self, cursor: _Cursor, token: TexToken) -> None:
        holder, names = self._marked(cursor, token)
        part = (holder.statement or holder.proof) if holder else None
        if part is not None:
            part.uses += names
            part.is_marked = True
        elif names:
            self._left_out.add("homeless uses", cursor.where(token))

    def _proves(self, cursor: _Cursor, token: TexToken) -> None:
        holder, names = self._marked(cursor, token)
        proof = holder.proof if holder else None
        if proof is not None:
            proof.proves += names
            return
        where = cursor.where(token)
        for name in names:
            self._left_out.add("unknown proves", f"{where} ({name})")

    def _flag(self, cursor: _Cursor, token: TexToken) -> None:
        """Note a mark without an argument."""
        self._copy(cursor, token.start)
        cursor.go_to(token.end)
        statement = self._holders[-1].statement if self._holders else None
        if statement is not None:
            statement.pieces.append(" ")
            statement.is_marked = True
            if token.word in _FORMALIZED:
                statement.is_formalized = True

    def _removed(self, cursor: _Cursor, token: TexToken) -> None:
        """Leave out a mark that is no part of the text."""
        holder, _ = self._marked(cursor, token)
        if holder is not None and holder.statement is not None:
            holder.statement.is_marked = True

    # -- macros

    def _begin_macro(self, cursor: _Cursor, token: TexToken, name: str) -> None:
        """Begin an environment that a macro makes of others."""
        argument = cursor.argument(token)
        offset = argument.end if argument else token.end
        macro = self._macros[name]
        arguments = self._arguments(cursor, macro, offset)
        if arguments is None:
            self._unfollowed(cursor, token, macro)
            return
        self._macro_arguments.setdefault(name, []).append(arguments)
        self._expand(cursor, token, macro, arguments)

    def _call(self, cursor: _Cursor, token: TexToken) -> None:
        """Read what a macro stands for."""
        macro = self._macros[f"\\{token.word.rstrip('*')}"]
        start = token.start + 1 + len(token.word.rstrip("*"))
        self._copy(cursor, token.start)
        arguments = self._arguments(cursor, macro, start)
        if arguments is None:
            self._unfollowed(cursor, token, macro)
        else:
            self._expand(cursor, token, macro, arguments)

    def _arguments(
        self, cursor: _Cursor, macro: TexMacro, offset: int
    ) -> list[str] | None:
        """Go behind the arguments of a macro, and return them; None without them."""
        if macro.kinds is None:
            return None
        texts = []
        defaults = iter(macro.defaults)
        for kind in macro.kinds:
            argument = _argument_of_kind(cursor.tex, offset, kind)
            if argument is not None:
                texts.append(argument.text)
                offset = argument.end
            elif kind == "o":
                texts.append(next(defaults, ""))
            else:
                return None
        cursor.go_to(offset)
        return texts

    def _expand(
        self,
        cursor: _Cursor,
        token: TexToken,
        macro: TexMacro,
        arguments: list[str],
        *,
        finish: bool = False,
    ) -> None:
        text = macro.expanded(arguments, finish=finish)
        self._n_expansions += 1
        self._n_expanded += len(text)
        is_too_much = (
            self._n_expansions > _MOST_EXPANSIONS or self._n_expanded > _MOST_EXPANDED
        )
        if is_too_much or macro.name in cursor.macros:
            self._unfollowed(cursor, token, macro)
            return
        tex = cursor.tex
        first_line = tex.line(token.start)
        expanded = TexText(tex.file, text, first_line=first_line)
        deeper = _Cursor(expanded, cursor.file)
        deeper.macros = cursor.macros.union([macro.name])
        self._cursors.append(deeper)

    def _unfollowed(self, cursor: _Cursor, token: TexToken, macro: TexMacro) -> None:
        """Report a macro that is not followed."""
        where = f"{cursor.where(token)} ({macro.name})"
        if "\\begin" in macro.begin:
            self._n_unfollowed += 1
            self._left_out.add("unfollowed", where)
        else:
            self._left_out.add("unfollowed mark", where)


def _argument_of_kind(tex: TexText, offset: int, kind: str) -> TexArgument | None:
    """Return the argument of a macro that stands at an offset; None for none."""
    if kind == "o":
        return tex.option(offset)
    if kind == "m":
        return tex.one_argument(offset)
    star = tex.text[offset : offset + 1]
    if star == "*":
        return TexArgument(star, offset + 1)
    return TexArgument("", offset)


class TexHeading(NamedTuple):
    """Hold what stands behind the beginning of a statement.

    Attributes:
        kind: The name of its environment.
        title: Its title; '' for none.
        labels: The labels that are given with it.
        end: Where it ends.
    """

    kind: str
    title: str
    labels: list[str]
    end: int


def read_heading(tex: TexText, token: TexToken, prefixes: dict[str, str]) -> TexHeading:
    """Return the heading of an environment that a token begins.

    Args:
        tex: The text.
        token: The token `begin`.
        prefixes: By environments whose title and label are arguments, what stands
            before the label.
    """
    argument = tex.argument(token.end)
    if argument is None:
        return TexHeading("", "", [], token.end)
    kind = argument.text.strip()
    end = argument.end
    option = tex.option(end)
    title = ""
    labels = list[str]()
    if option is not None:
        end = option.end
        title, labels = _title_and_labels(option.text)
    if kind.startswith("restatable"):
        theorem = tex.argument(end)
        macro = tex.argument(theorem.end) if theorem else None
        if theorem is not None:
            kind = theorem.text.strip()
            end = macro.end if macro else theorem.end
    elif kind in prefixes or kind.rstrip("*") in prefixes:
        return _boxed_heading(tex, TexHeading(kind, title, labels, end), prefixes)
    return TexHeading(kind, title, labels, end)


def _boxed_heading(
    tex: TexText, heading: TexHeading, prefixes: dict[str, str]
) -> TexHeading:
    """Return the heading of a theorem of tcolorbox: its title and label in braces."""
    title = tex.argument(heading.end)
    if title is None:
        return heading
    if heading.kind not in prefixes:  # a starred one has no label
        return heading._replace(title=title.text, end=title.end)
    label = tex.argument(title.end)
    labels = list(heading.labels)
    if label is not None and label.text.strip():
        prefix = prefixes[heading.kind]
        name = label.text.strip()
        labels.append(f"{prefix}:{name}" if prefix else name)
    end = label.end if label else title.end
    return TexHeading(heading.kind, title.text, labels, end)


def _title_and_labels(text: str) -> tuple[str, list[str]]:
    """Return the title that an option is or holds, and the labels in it."""
    labels = [match[1].strip() for match in _LABEL.finditer(text)]
    text = _LABEL.sub("", text)
    if not _OPTION_KEY.match(text):
        return text, labels
    title = ""
    for piece in _COMMA.split(text):
        match = _OPTION.fullmatch(piece)
        if match is None:
            continue
        value = match[2].strip()
        if value.startswith("{") and value.endswith("}"):
            value = value[1:-1]
        if match[1] in ("name", "title", "note"):
            title = value
        elif match[1] == "label":
            labels.append(value)
    return title, labels
