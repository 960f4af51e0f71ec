r"""The statements and proofs of a LaTeX blueprint, and which of them use which.

A proof belongs to the statement that `\proves` names, else to the one that its title
refers to, else to the last one before it in its section. Where that is in doubt, its
dependencies are left out and reported: a wrong one is worse than a missing one.
"""

import re
from collections.abc import Iterable, Iterator

from theorex_lab.designs.research.omissions import OmissionList

_TITLE_REFERENCE = re.compile(
    r"\\(?:[cC]ref|[vV]ref|ref|autoref|nameref|eqref|thmref|lemref|zcref)\*?\s*"
    r"\{([^{}]*)\}|\\hyperref\s*\[([^\[\]]*)\]"
)
_TITLE_WORD = re.compile(r"[^\W_]+")
# A title of these words alone names no statement.
_NEAR_WORDS = frozenset(
    "proof proofs sketch idea outline the this above claim lemma theorem proposition"
    " corollary statement result previous preceding of a first second third alternative"
    " another direct formal short beweis preuve démonstration".split()
)
_OF = frozenset(("of", "von", "de", "du", "des"))
# What follows one of these is no statement that a proof proves.
_OTHER_ROLE = frozenset(
    "using assuming from via by given modulo with without implies to avoiding through"
    " after under".split()
)


class TexStatement:
    """A statement while its file is read.

    Attributes:
        kind: The name of its environment.
        title: What stands in brackets behind its beginning.
        where: Its file and line.
        own_labels: The labels that stand directly in it.
        inner_labels: Those of equations and lists in it.
        pieces: Its text.
        is_formalized: Whether it is marked as formalized.
        is_marked: Whether it has any mark of a blueprint.
        is_closed: Whether its end was found.
        is_dropped: Whether it turned out to be no statement.
        uses: What it cites, by label.
        name: The label that it is kept under; '' where it is left out.
    """

    def __init__(self, kind: str, where: str) -> None:
        self.kind = kind
        self.title = ""
        self.where = where
        self.own_labels = list[str]()
        self.inner_labels = list[str]()
        self.pieces = list[str]()
        self.is_formalized = False
        self.is_marked = False
        self.is_closed = False
        self.is_dropped = False
        self.uses = list[str]()
        self.name = ""

    def text(self) -> str:
        """Return its text behind its title, in single spaces."""
        text = _spaced("".join(self.pieces))
        if self.title:
            text = f"{self.title}: {text}"
        return text or self.name

    def tags(self) -> tuple[str, ...]:
        """Return its kind, and whether it is formalized."""
        kind = self.kind.rstrip("*")
        return (kind, "formalized") if self.is_formalized else (kind,)


class TexProof:
    """A proof while its file is read.

    Attributes:
        title: What stands in brackets behind its beginning.
        where: Its file and line.
        near: The statement before it, None for none.
        proves: The labels that it names.
        labels: The labels in it.
        uses: What it cites, by label.
        is_marked: Whether it has any mark of a blueprint.
        is_dropped: Always false.
    """

    is_dropped = False

    def __init__(self, where: str, near: TexStatement | None) -> None:
        self.title = ""
        self.where = where
        self.near = near
        self.is_marked = False
        self.proves = list[str]()
        self.labels = list[str]()
        self.uses = list[str]()


def link_parts(
    parts: Iterable[TexStatement | TexProof], left_out: OmissionList
) -> list[tuple[str, str]]:
    """Name the statements, and return who uses what, by their labels.

    Args:
        parts: The statements and proofs, in their order.
        left_out: Is added to.
    """
    linker = _Linker(left_out)
    all_parts = list(parts)
    for part in all_parts:
        if isinstance(part, TexStatement):
            linker.name_statement(part)
    links = list[tuple[str, str]]()
    for part in all_parts:
        links += linker.links_of(part)
    return linker.resolved(links)


class _Linker:
    """Find which statement a label means, and to which one a proof belongs."""

    def __init__(self, left_out: OmissionList) -> None:
        self._left_out = left_out
        self._holders = dict[str, TexStatement]()

    def name_statement(self, statement: TexStatement) -> None:
        """Give a statement the first of its labels that no other one has."""
        where = f"{statement.where} ({statement.kind})"
        if not statement.is_closed:
            self._left_out.add("unclosed", where)
            return
        labels = statement.own_labels or statement.inner_labels
        if not labels:
            self._left_out.add("unlabelled", where)
            return
        free = [label for label in labels if label not in self._holders]
        if not free:
            where = f"{statement.where} ({labels[0]})"
            self._left_out.add("duplicate", where)
            return
        statement.name = free[0]
        for label in [*statement.own_labels, *statement.inner_labels]:
            self._hold(label, statement)

    def _hold(self, label: str, statement: TexStatement) -> None:
        holder = self._holders.setdefault(label, statement)
        if holder is statement:
            return
        where = f"{statement.where} ({label})"
        self._left_out.add("same label", where)

    def links_of(self, part: TexStatement | TexProof) -> list[tuple[str, str]]:
        """Return what a part cites, each time with the statement that it belongs to."""
        if isinstance(part, TexStatement):
            statements = [part] if part.name else []
        else:
            statements = list(self._proved(part))
        links = []
        for statement in statements:
            if isinstance(part, TexProof):
                for label in part.labels:
                    self._hold(label, statement)
            for cited in part.uses:
                links.append((statement.name, cited))
        return links

    def resolved(self, links: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """Return links whose ends are the names of statements, where there are such."""
        resolved_links = []
        for start, cited in links:
            holder = self._holders.get(cited)
            end = holder.name if holder else cited
            if start == end:
                self._left_out.add("itself", start)
                continue
            resolved_links.append((start, end))
        return resolved_links

    def _proved(self, proof: TexProof) -> Iterator[TexStatement]:
        """Yield the statements that a proof proves."""
        if proof.proves:
            yield from self._named_by_mark(proof)
            return
        references = list(_TITLE_REFERENCE.finditer(proof.title))
        if references:
            statement = self._named_by_title(proof.title, references)
            reason = "unsure proof"
        elif _names_a_statement(proof.title):
            statement = None
            reason = "unsure proof"
        else:
            statement = proof.near
            reason = "homeless proof" if proof.near is None else "lost proof"
        if statement is not None and statement.name:
            yield statement
        elif proof.uses:
            self._left_out.add(reason, proof.where)

    def _named_by_mark(self, proof: TexProof) -> Iterator[TexStatement]:
        for label in proof.proves:
            statement = self._holders.get(label)
            if statement is not None:
                yield statement
                continue
            where = f"{proof.where} ({label})"
            self._left_out.add("unknown proves", where)

    def _named_by_title(
        self, title: str, references: list[re.Match[str]]
    ) -> TexStatement | None:
        """Return the one statement that a title refers to; None where it is unsure."""
        first = references[0]
        if _words(title[: first.start()]) & _OTHER_ROLE:
            return None
        if len(references) > 1:
            between = _words(title[first.end() : references[1].start()])
            if not between & _OTHER_ROLE:
                return None
        label = first[1] or first[2] or ""
        return self._holders.get(label.strip())


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _TITLE_WORD.findall(text)}


def _names_a_statement(title: str) -> bool:
    """Return whether a title without a reference seems to name a statement."""
    words = _words(title)
    has_number = any(character.isdigit() for character in title)
    if has_number:
        return True
    is_of = not words.isdisjoint(_OF)
    return is_of and not words <= _NEAR_WORDS


def _spaced(text: str) -> str:
    """Return the words of a text with a space between each two."""
    return " ".join(text.split())
