"""The instruction set in which a model says what of a trajectory is worth keeping: 17
opcodes, one a line, as text.

A program is read line by line. Opcodes may be written in any case; blank lines and
those that begin with `#` or `//` are skipped. Words are split as a POSIX shell does;
where a quote has no end, by quoted or plain words. Written out, an operand that holds a
line break or another control character stands as `$'…'`, as in bash. Where a program is
run, what it asks for is gathered, and nothing is changed; whoever runs one applies it,
or does not.
"""

import re
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from types import SimpleNamespace
from typing import Any, NamedTuple, Self

from theorex_lab.core.errors import InvalidInput
from theorex_lab.designs.dreams import Edge, Fault
from theorex_lab.text.line import one_line

LAST_PARENT = "$LAST_PARENT"  # as a node: the one that the latest BUILD_PARENT made


class Opcode(IntEnum):
    """What an instruction does: its operands by kind (`words` and `constraint` are all
    that are left), and what it adds to.
    """

    kinds: tuple[str, ...]
    adds_to: str  # a list of `ProgramEffects`

    def __new__(cls, code: int, kinds: str = "", adds_to: str = "") -> Self:
        """A member of the value `code`."""
        member = int.__new__(cls, code)
        member._value_, member.kinds, member.adds_to = (
            code,
            tuple(kinds.split()),
            adds_to,
        )
        return member

    MEM_PTR = 0x10, "words", "reads"
    MEM_READ = 0x11, "node", "reads"
    MEM_NEXT = 0x12, "node", "reads"
    MEM_PREV = 0x13, "node", "reads"
    MEM_PARENT = 0x14, "node", "reads"
    MEM_JMP = 0x15, "node", "reads"
    EXTRACT_CONSTRAINT = 0x20, "trace constraint", "constraints"
    MARK_CRITICAL = 0x21, "trace index", "critical"
    MARK_NOISE = 0x22, "trace index", "noise"
    BUILD_PARENT = 0x23, "goal summary confidence", "parents"
    BUILD_CHILD = 0x24, "node index reasoning action result", "children"
    LNK_NODE = 0x25, "node node edge", "links"
    GRP_NODE = 0x26, "node node", "groups"
    PRN_NODE = 0x27, "node", "prunes"
    NOP = 0xF0
    YIELD = 0xF1, "words", "yields"
    HALT = 0xF2


# Kind of an operand -> its form, and what an error says of it; the others are any text.
_FORMS = {
    "index": ("[0-9]{1,9}", "a whole number from 0"),
    "edge": ("|".join(Edge), ", ".join(Edge)),
    "confidence": (r"0?\.[0-9]+|[01]\.?|1\.0+", "a number from 0 to 1"),
}


@dataclass(frozen=True, slots=True)
class Instruction:
    """An opcode and its operands; `line`: where it stood, which makes it no other
    instruction.
    """

    opcode: Opcode
    operands: tuple[str, ...] = ()
    line: int = field(default=0, compare=False)

    @property
    def problem(self) -> str:
        """Why it cannot be run, by its operands alone; '' where it can.

        >>> Instruction(Opcode.BUILD_PARENT, ("deploy", "Deploy it.", "nan")).problem
        "got the confidence 'nan'; allowed is a number from 0 to 1"
        """
        kinds = self.opcode.kinds
        if len(self.operands) < len(kinds):
            return (
                f"got {len(self.operands)} operands; allowed are {len(kinds)} or more:"
                f" {' '.join(kinds)}"
            )
        for kind, operand in zip(kinds, self.operands, strict=False):
            if kind in _FORMS and not re.fullmatch(_FORMS[kind][0], operand):
                return (
                    f"got the {kind} {one_line(operand, 40)!r}; allowed is"
                    f" {_FORMS[kind][1]}"
                )
        return ""

    def __str__(self) -> str:
        return " ".join([self.opcode.name, *map(_quoted, self.operands)])


@dataclass(frozen=True)
class Program:
    """Instructions. warnings: what of the text was passed over or read leniently, by
    its line.
    """

    instructions: tuple[Instruction, ...]
    warnings: tuple[str, ...] = field(default=(), compare=False)

    @property
    def errors(self) -> tuple[str, ...]:
        """Instructions that will be rejected whatever the program is run on, with their
        lines.
        """
        return tuple(
            f"L{one.line}: {one.opcode.name}: {one.problem}"
            for one in self.instructions
            if one.problem
        )


# What a word is made of: $'…', "…", '…', an escaped sign, plain signs. A quote without
# an end is no part of one.
_PART = re.compile(
    r"""\$'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+"|'[^']*'|\\.|\$|[^ \t\r\n"'\\$]+"""
)
_WORD = re.compile(rf"(?:{_PART.pattern})++|(?P<open>[\"'\\])")
_LENIENT = re.compile(r'"([^"]*)"|(\S+)')
_LIST_MARK = re.compile(r"(?:\d{1,4}[.)]|[-*•])\s+(?=[A-Za-z_])")
_PLAIN_OPERAND = re.compile(r"[\w$.,:/@%+=-]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f'\\]")


def parse(text: str) -> Program:
    """The program in a text; what is no instruction becomes a warning, and the rest
    stands.

    Markdown fences, list marks before and a semicolon after an instruction are passed
    over, with a warning.

    >>> found = parse(
    ...     '1. mark_critical trace_001 0\\nDELETE everything\\nYIELD "all done"'
    ... )
    >>> found.instructions[1].operands, found.warnings[1]
    (('all done',), "L2: unknown opcode 'DELETE'")
    """
    found = list[Instruction]()
    warnings = list[str]()
    for number, line in enumerate(text.split("\n"), 1):
        if not (bare := line.strip()) or bare.startswith(("#", "//")):
            continue
        read, said = _read_line(bare)
        name = read[0].upper() if read else ""
        if name in Opcode.__members__:
            found.append(Instruction(Opcode[name], tuple(read[1:]), number))
        elif read:
            said.append(f"unknown opcode {one_line(read[0], 40)!r}")
        warnings += [f"L{number}: {one}" for one in said]
    return Program(tuple(found), tuple(warnings))


def _read_line(line: str) -> tuple[list[str], list[str]]:
    """The words of a line, none where it is to be skipped, and what was passed over."""
    if line.startswith(("```", "~~~")):
        return [], ["a Markdown fence was passed over"]
    said = []
    if mark := _LIST_MARK.match(line):
        line = line[mark.end() :]
        said.append("a list mark was passed over")
    if line.endswith(";"):
        line = line.rstrip("; \t")
        said.append("a semicolon was passed over")
    words = [*_WORD.finditer(line)]
    if any(word["open"] for word in words):
        return [quoted or plain for quoted, plain in _LENIENT.findall(line)], [
            *said,
            "a quote has no end",
        ]
    return [_PART.sub(_unquoted, word[0]) for word in words], said


def _unquoted(match: re.Match[str]) -> str:
    part = match[0]
    if part.startswith("$'"):
        return re.sub(
            r"\\(?:x([0-9a-f]{2})|(.))",
            lambda hit: chr(int(hit[1], 16)) if hit[1] else hit[2],
            part[2:-1],
        )
    if part.startswith('"'):
        return re.sub(r'\\(["\\])', r"\1", part[1:-1])
    return part[1:-1] if part.startswith("'") else part.removeprefix("\\")


def _quoted(operand: str) -> str:
    if _PLAIN_OPERAND.fullmatch(operand):
        return operand
    if not re.search(r"[\x00-\x1f\x7f]", operand):
        return '"' + re.sub(r'(["\\])', r"\\\1", operand) + '"'
    return "$'" + _CONTROL.sub(lambda hit: f"\\x{ord(hit[0]):02x}", operand) + "'"


MOST_INSTRUCTIONS = 500
_LOG_CHARACTERS = 200
_CLASSES = frozenset(Fault)
_MADE: dict[str, Callable[[str], Any]] = {
    "index": int,
    "confidence": float,
    "edge": Edge,
}


class ProgramEffects(SimpleNamespace):
    """What a program asks for, a list for each that an opcode adds to, in the program's
    order.

    critical, noise: indices of actions.  constraints: (text, fault class).  parents:
    (goal, summary, confidence).  children: (node, index, reasoning, action, result).
    links: (node, node, edge).  groups: (node, node).  prunes: nodes.  reads: (opcode,
    query or node).  yields: messages.  A node that the program built is `$0`, `$1` and
    so on.
    """

    def __init__(self) -> None:
        super().__init__(**{opcode.adds_to: [] for opcode in Opcode if opcode.adds_to})


class ProgramRun(NamedTuple):
    """What came of a program. success: it came to its end within the limit; without it
    `effects` are empty.

    instructions_executed: instructions that were looked at, a HALT and those that were
    rejected among them.  warnings: of the parser. errors: instructions that were
    rejected, with their lines, and a limit that was hit.  side_effects: a log of what
    was gathered.
    """

    success: bool
    instructions_executed: int
    warnings: list[str]
    errors: list[str]
    side_effects: list[str]
    effects: ProgramEffects

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it, without the effects."""
        return {
            name: told for name, told in self._asdict().items() if name != "effects"
        }


def run(
    program: Program,
    *,
    actions: int | None = None,
    nodes: Container[str] | None = None,
    max_instructions: int = MOST_INSTRUCTIONS,
) -> ProgramRun:
    """Run a program. actions, nodes: how many actions and which nodes there are; None:
    any index or name will do.

    >>> from theorex_lab.designs.dreams.isa import parse
    >>> done = run(
    ...     parse("MARK_CRITICAL t 0\\nMARK_CRITICAL t 7\\nHALT\\nMARK_NOISE t 1"),
    ...     actions=2,
    ... )
    >>> done.effects.critical, done.instructions_executed, done.errors
    ([0], 3, ["L2: MARK_CRITICAL: got the index '7'; allowed is 0 to 1"])
    """
    effects = ProgramEffects()
    executed = 0
    success = True
    errors = list[str]()
    log = list[str]()
    for instruction in program.instructions:
        opcode = instruction.opcode
        where = f"L{instruction.line}:"
        if not (success := executed < max_instructions):
            errors.append(
                f"{where} got more instructions than max_instructions allows,"
                f" {max_instructions}"
            )
            effects = ProgramEffects()
            break
        executed += 1
        if opcode is Opcode.HALT:
            break
        try:
            values = _values(instruction, len(effects.parents), actions, nodes)
        except InvalidInput as error:
            errors.append(f"{where} {opcode.name}: {error}")
            continue
        if opcode.adds_to:
            getattr(effects, opcode.adds_to).append(
                tuple(values) if len(values) > 1 else values[0]
            )
            log.append(f"{where} {instruction}"[:_LOG_CHARACTERS])
    return ProgramRun(success, executed, [*program.warnings], errors, log, effects)


def _values(
    instruction: Instruction,
    parents: int,
    actions: int | None,
    nodes: Container[str] | None,
) -> list[Any]:
    """The operands as what they stand for, without that of the trace. Raises
    InvalidInput for one that is wrong or not there.
    """
    if problem := instruction.problem:
        raise InvalidInput(problem)
    given = instruction.operands
    opcode = instruction.opcode
    values: list[Any] = [opcode] if opcode.adds_to == "reads" else []
    for place, (kind, operand) in enumerate(zip(opcode.kinds, given, strict=False)):
        if kind == "index" and actions is not None and int(operand) >= actions:
            raise InvalidInput(
                f"got the index {operand!r}; allowed is"
                f" {f'0 to {actions - 1}' if actions else 'none'}"
            )
        built = operand == LAST_PARENT and parents > 0
        if (
            kind == "node"
            and not built
            and (operand == LAST_PARENT or (nodes is not None and operand not in nodes))
        ):
            allowed = "those that were offered, or built before"
            raise InvalidInput(
                f"got the node {one_line(operand, 40)!r}; allowed are {allowed}"
            )
        if kind != "trace":
            values.append(_value(kind, given[place:], parents))
    return values


def _value(kind: str, left: Sequence[str], parents: int) -> Any:
    if kind == "constraint":
        classed = len(left) > 1 and left[-1] in _CLASSES
        return " ".join(left[: -1 if classed else None]), Fault(
            left[-1] if classed else "unknown_failure"
        )
    if kind == "words":
        return " ".join(left)
    return (
        f"${parents - 1}"
        if kind == "node" and left[0] == LAST_PARENT
        else _MADE.get(kind, str)(left[0])
    )
