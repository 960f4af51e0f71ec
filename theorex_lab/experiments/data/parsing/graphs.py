"""Mathematics as graphs of what follows from what: equational theories, the PFR blueprint, quantum logic in Metamath."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from theorex_lab.experiments.data.dataset_files import Content
from theorex_lab.experiments.data.parsing.fields import Record, json_of, json_records, numbered_lines, refused, text_of

Integers = NDArray[np.int64]
_EQUATION = re.compile(r"Equation([1-9]\d{0,8})\Z", re.ASCII)
_PROOF_ENVIRONMENT = "proof"
NODE_KINDS = ("definition", "lemma", "theorem", "proposition", "corollary")
_ENVIRONMENT = re.compile(
    rf"\\begin\{{({'|'.join((*NODE_KINDS, _PROOF_ENVIRONMENT))})\}}\s*(?:\[([^\]]*)\])?(.*?)\\end\{{\1\}}", re.DOTALL
)
_COMMENT = re.compile(r"(?<!\\)%[^\n]*")


@dataclass(frozen=True)
class Facts:
    """A counter-model: it satisfies the laws `satisfied` and refutes `refuted` (positions); finite: whether it is."""

    satisfied: Integers
    refuted: Integers
    finite: bool


@dataclass(frozen=True)
class EquationalTheories:
    """laws: equation n is laws[n - 1]; all else refers to positions in it.

    implications: shape (n, 2), each (law, law that follows from it), once, sorted; every pair that follows is in their
    closure, with "everything implies laws[0]" added.  facts: what does not follow.  duals: shape (n, 2).
    """

    laws: tuple[str, ...]
    implications: Integers
    facts: tuple[Facts, ...]
    duals: Integers
    licence: str


def equational_theories(files: Mapping[str, Content], licence: str) -> EquationalTheories:
    """Of laws, entries and duals; implications between finite magmas only, and from or to a law that is not among
    the listed ones, are left out."""
    laws = tuple(line for _, line in numbered_lines(files["equations.txt"]))
    entries = [each.record("variant") for each in json_records(files["full_entries.json"])]
    direct = [each.record("implication") for each in entries if "implication" in each.fields]
    edges = {(_law(each, "lhs"), _law(each, "rhs")) for each in direct if not each.flag("finite")}
    models = [each.record("facts") for each in entries if "facts" in each.fields]
    return EquationalTheories(
        laws=laws,
        implications=_pairs([edge for edge in sorted(edges) if max(edge) < len(laws)]),
        facts=tuple(_facts(each, len(laws)) for each in models),
        duals=_duals(files["duals.json"], len(laws)),
        licence=licence,
    )


def _pairs(pairs: list[tuple[int, int]]) -> Integers:
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def _law(given: Record, name: str) -> int:
    return _position(f"{given.place}: {name}", given.text(name))


def _position(place: str, name: str) -> int:
    match = _EQUATION.match(name)
    if not match:
        raise refused(place, name, "a name such as Equation7")
    return int(match[1]) - 1


def _facts(given: Record, n_laws: int) -> Facts:
    sides = [
        [_position(f"{given.place}: {side}", name) for name in given.texts(side)] for side in ("satisfied", "refuted")
    ]
    satisfied, refuted = (np.array([law for law in side if law < n_laws], dtype=np.int64) for side in sides)
    return Facts(satisfied, refuted, given.flag("finite"))


def _duals(content: Content, n_laws: int) -> Integers:
    value = json_of(content)
    for number, pair in enumerate(value if isinstance(value, list) else [value]):
        whole = (
            isinstance(pair, list) and len(pair) == 2 and all(type(law) is int and 1 <= law <= n_laws for law in pair)
        )
        if not whole:
            raise refused(f"{content.place}, item {number}", pair, f"two numbers of laws from 1 to {n_laws}")
    return _pairs(value) - 1


@dataclass(frozen=True, slots=True)
class BlueprintNode:
    """A definition or theorem. file: the chapter.  labels: its own first, then those of the formulas in it; empty where
    it has none.  uses, proof_uses: labels that the statement and the proofs refer to.  statement, proof: LaTeX, the
    proofs of a node one after the other.  lean: names in Lean.  formalised: whether the statement is."""

    kind: str
    title: str
    file: str
    labels: tuple[str, ...]
    statement: str
    proof: str
    uses: tuple[str, ...]
    proof_uses: tuple[str, ...]
    lean: tuple[str, ...]
    formalised: bool


@dataclass(frozen=True)
class Blueprint:
    """nodes: by chapter, in the order of the text.  owner: the position of the node that holds a label."""

    nodes: tuple[BlueprintNode, ...]
    owner: dict[str, int]
    licence: str


def blueprint(members: Mapping[str, Content], licence: str) -> Blueprint:
    """Of LaTeX chapters. Raises InvalidInput also for a label that two nodes hold, and a use of none that exists."""
    nodes = [node for name, content in members.items() for node in _chapter(name, content)]
    owner: dict[str, int] = {}
    for position, node in enumerate(nodes):
        for label in node.labels:
            if owner.setdefault(label, position) != position:
                raise refused(f"{members[node.file].place}: label", label, "a label of one node only")
    for node in nodes:
        for label in (*node.uses, *node.proof_uses):
            if label not in owner:
                raise refused(f"{members[node.file].place}: uses", label, "a label that a node holds")
    return Blueprint(tuple(nodes), owner, licence)


def _chapter(name: str, content: Content) -> list[BlueprintNode]:
    nodes: list[BlueprintNode] = []
    for match in _ENVIRONMENT.finditer(_COMMENT.sub("", text_of(content))):
        kind, title, body = match[1], match[2] or "", match[3].strip()
        labels, uses = _arguments("label", body), _arguments("uses", body)
        if kind != _PROOF_ENVIRONMENT:
            formalised, lean = "\\leanok" in body, _arguments("lean", body)
            nodes.append(BlueprintNode(kind, title, name, labels, body, "", uses, (), lean, formalised))
        elif nodes:
            node = nodes[-1]
            proof = f"{node.proof}\n\n{body}" if node.proof else body
            proof_uses = node.proof_uses + uses
            nodes[-1] = replace(node, proof=proof, proof_uses=proof_uses, labels=node.labels + labels)
        else:
            raise refused(content.place, body, "a proof after what it proves")
    return nodes


def _arguments(command: str, body: str) -> tuple[str, ...]:
    """The comma-separated arguments of every use of a command, in order."""
    given = ",".join(re.findall(rf"\\{command}\s*\{{([^}}]*)\}}", body))
    return tuple(each.strip() for each in given.split(",") if each.strip())


@dataclass(frozen=True, slots=True)
class Assertion:
    """An axiom or definition ($a) or a theorem ($p). statement: without the turnstile.  hypotheses: the statements
    in whose scope it stands.  comment: on one line.  uses: labels of the assertions its proof names, in order."""

    label: str
    axiom: bool
    statement: str
    hypotheses: tuple[str, ...]
    comment: str
    uses: tuple[str, ...]


@dataclass(frozen=True)
class Metamath:
    """assertions: in the order of the file, in which each uses only earlier ones."""

    assertions: tuple[Assertion, ...]
    licence: str


def metamath(content: Content, licence: str) -> Metamath:
    """Of a Metamath source whose proofs are compressed. Raises InvalidInput for statements that are not closed."""
    found: dict[str, Assertion] = {}
    scopes: list[list[str]] = [[]]
    label, comment = "", ""
    tokens = iter(text_of(content).split())
    for token in tokens:
        if token == "$(":
            comment = " ".join(_until(tokens, "$)", content))
        elif token == "${":
            scopes.append([])
        elif token == "$}":
            scopes.pop()
            if not scopes:
                raise refused(content.place, "$}", "a $} that closes a ${")
        elif token in ("$c", "$v", "$f", "$d"):
            _until(tokens, "$.", content)
        elif token == "$e":
            scopes[-1].append(" ".join(_until(tokens, "$.", content)[1:]))
        elif token in ("$a", "$p"):
            tail = _until(tokens, "$.", content)
            middle = tail.index("$=") if "$=" in tail else len(tail)
            statement, proof = tail[:middle], tail[middle + 1 :]
            if statement[:1] == ["|-"]:
                uses = tuple(each for each in _named(proof) if each in found)
                hypotheses = tuple(each for scope in scopes for each in scope)
                found[label] = Assertion(label, token == "$a", " ".join(statement[1:]), hypotheses, comment, uses)
            comment = ""
        else:
            label = token
    if len(scopes) > 1:
        raise refused(content.place, f"{len(scopes) - 1} open ${{", "a $} for each")
    return Metamath(tuple(found.values()), licence)


def _until(tokens: Iterator[str], end: str, content: Content) -> list[str]:
    taken: list[str] = []
    for token in tokens:
        if token == end:
            return taken
        taken.append(token)
    raise refused(content.place, " ".join(taken[:8]), f"a {end} at its end")


def _named(proof: list[str]) -> list[str]:
    """The labels in the parentheses at the head of a compressed proof."""
    return proof[1 : proof.index(")")] if proof[:1] == ["("] and ")" in proof else []
